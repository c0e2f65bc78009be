"""Ready-made two-block problems, and base classes for your own: see docs/extending.md."""

from minmin.deprecation import names_elsewhere
from minmin.problems.autodiff import from_jax, from_torch
from minmin.problems.composite import Composite
from minmin.problems.function import Function
from minmin.problems.linear.designs import Design
from minmin.problems.linear.glm import GLM, Softmax
from minmin.problems.linear.losses import Huber, Loss, NegativeBinomial, Tweedie
from minmin.problems.quadratic import Quadratic
from minmin.problems.split import Split
from minmin.problems.sum import Sum

__all__ = [
    "GLM",
    "Composite",
    "Design",
    "Function",
    "Huber",
    "Loss",
    "NegativeBinomial",
    "Quadratic",
    "Softmax",
    "Split",
    "Sum",
    "Tweedie",
    "from_jax",
    "from_torch",
]

__dir__ = __all__.copy  # dir() lists public names only
__getattr__ = names_elsewhere(
    __name__,
    in_extend=[
        "AutodiffFunction",
        "CategoricalDesign",
        "Evaluation",
        "LinearModel",
        "MixedDesign",
        "SecondOrderEvaluation",
        "SecondOrderProblem",
        "SecondOrderSlice",
        "Slice",
    ],
)
