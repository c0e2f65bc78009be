from benchmark_utils.real_dataset import RealDataset


class Dataset(RealDataset):
    """a9a; the last 23 columns are Y. Left out if the file is not in ../shared/data."""

    name = "a9a"
    requirements = ["pip::minmin", "pip::scikit-learn"]
    parameters = {"alpha_x, alpha_y": [(1e-3, 1e-5), (1e-5, 1e-7)]}
