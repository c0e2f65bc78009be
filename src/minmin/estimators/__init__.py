"""scikit-learn estimators: generalised linear models with a penalty per block of columns (extra ``sklearn``)."""

from minmin.errors import needs_extra

try:
    import sklearn as _  # noqa: F401
except ImportError as error:
    raise ImportError(needs_extra("minmin.estimators", "scikit-learn", "sklearn")) from error

from minmin.estimators.log_link import (
    BlockGammaRegressor,
    BlockGammaRegressorCV,
    BlockPoissonRegressor,
    BlockPoissonRegressorCV,
    BlockTweedieRegressor,
    BlockTweedieRegressorCV,
)
from minmin.estimators.logistic import BlockLogisticRegression, BlockLogisticRegressionCV
from minmin.estimators.ridge import BlockHuberRegressor, BlockHuberRegressorCV, BlockRidge, BlockRidgeCV
from minmin.estimators.text import text_columns

__all__ = [
    "BlockGammaRegressor",
    "BlockGammaRegressorCV",
    "BlockHuberRegressor",
    "BlockHuberRegressorCV",
    "BlockLogisticRegression",
    "BlockLogisticRegressionCV",
    "BlockPoissonRegressor",
    "BlockPoissonRegressorCV",
    "BlockRidge",
    "BlockRidgeCV",
    "BlockTweedieRegressor",
    "BlockTweedieRegressorCV",
    "text_columns",
]

__dir__ = __all__.copy  # dir() lists public names only
