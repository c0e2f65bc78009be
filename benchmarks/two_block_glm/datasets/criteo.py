from benchmark_utils.real_dataset import RealDataset


class Dataset(RealDataset):
    """7200 clicks of Criteo; X has the hashed categories, Y the numeric columns. Left out if the file is missing."""

    name = "criteo"
    requirements = ["pip::minmin", "pip::scikit-learn"]
    parameters = {"alpha_x, alpha_y": [(1e-3, 1e-5), (1e-5, 1e-7)]}
