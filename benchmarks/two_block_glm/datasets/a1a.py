from benchmark_utils.real_dataset import RealDataset


class Dataset(RealDataset):
    """a1a, which comes with minmin; the last 19 columns are Y."""

    name = "a1a"
    requirements = ["pip::minmin", "pip::scikit-learn"]
    parameters = {"alpha_x, alpha_y": [(1e-3, 1e-5), (1e-5, 1e-7)]}
