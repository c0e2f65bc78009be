"""Generalised linear models with a penalty per block, for scikit-learn (needs ``minmin[sklearn]``)."""

try:
    import sklearn as _  # noqa: F401
except ImportError as error:
    raise ImportError("minmin.estimators needs scikit-learn: pip install 'minmin[sklearn]'") from error

from minmin.estimators.logistic import BlockLogisticRegression
from minmin.estimators.poisson import BlockPoissonRegressor
from minmin.estimators.ridge import BlockRidge

__all__ = ["BlockLogisticRegression", "BlockPoissonRegressor", "BlockRidge"]
