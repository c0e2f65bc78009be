"""Ready-made two-block problems, and the user's own functions as one."""

from minmin.problems.function import Function
from minmin.problems.glm import GLM
from minmin.problems.quadratic import Quadratic
from minmin.problems.softmax import Softmax

__all__ = ["GLM", "Function", "Quadratic", "Softmax"]
