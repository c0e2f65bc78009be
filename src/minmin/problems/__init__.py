"""Ready-made two-block problems, the user's own functions as one, and what a linear model is built from."""

from minmin.problems.function import Function
from minmin.problems.linear.designs import Design
from minmin.problems.linear.glm import GLM, Softmax
from minmin.problems.linear.losses import Loss
from minmin.problems.linear.model import LinearModel
from minmin.problems.quadratic import Quadratic
from minmin.problems.sum import Sum

__all__ = ["GLM", "Design", "Function", "LinearModel", "Loss", "Quadratic", "Softmax", "Sum"]
