"""Ready-made two-block problems, and base classes for your own: see docs/extending.md."""

from minmin.core.evaluation import Evaluation
from minmin.core.problem import Slice
from minmin.core.second_order import SecondOrderEvaluation, SecondOrderProblem, SecondOrderSlice
from minmin.problems.autodiff import AutodiffFunction, from_jax, from_torch
from minmin.problems.composite import Composite
from minmin.problems.function import Function
from minmin.problems.linear.categories import CategoricalDesign
from minmin.problems.linear.designs import Design
from minmin.problems.linear.glm import GLM, Softmax
from minmin.problems.linear.losses import Huber, Loss, NegativeBinomial, Tweedie
from minmin.problems.linear.mixed import MixedDesign
from minmin.problems.linear.model import LinearModel
from minmin.problems.quadratic import Quadratic
from minmin.problems.split import Split
from minmin.problems.sum import Sum

__all__ = [
    "GLM",
    "AutodiffFunction",
    "CategoricalDesign",
    "Composite",
    "Design",
    "Evaluation",
    "Function",
    "Huber",
    "LinearModel",
    "Loss",
    "MixedDesign",
    "NegativeBinomial",
    "Quadratic",
    "SecondOrderEvaluation",
    "SecondOrderProblem",
    "SecondOrderSlice",
    "Slice",
    "Softmax",
    "Split",
    "Sum",
    "Tweedie",
    "from_jax",
    "from_torch",
]

__dir__ = __all__.copy  # dir() lists public names only
