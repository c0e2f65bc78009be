"""What to say of an unknown keyword: many are other packages' names for something that minmin has, or has not."""

from __future__ import annotations

from typing import NamedTuple

from minmin.errors import near_names


class Keywords(NamedTuple):
    """What a function takes beside the options of a method.

    Attributes
    ----------
    names : str
        Separated by spaces, as in the hints.
    hints : tuple of pairs of str
        Unknown names, and what to do instead. Case and underscores of a name do not matter; the first pair counts.
    """

    names: str
    hints: tuple[tuple[str, str], ...]

    def explain(self, option: str, known: list[str]) -> str:
        """What to do instead of giving this option to a method that has the ``known`` ones."""
        plain = _simplify(option)
        hints = (hint for names, hint in self.hints if plain in map(_simplify, names.split()))
        return next(hints, None) or near_names(option, [*known, *self.names.split()])


def _simplify(name: str) -> str:
    return name.lower().replace("_", "")


ITERATIONS = "maxiter n_iter iterations max_steps n_steps epochs maxfun maxfev"

HINTS = (
    (ITERATIONS, "the budgets are max_iterations, max_grad_x, max_grad_y and max_seconds"),
    ("max_time time_limit timeout", "the budget of time is max_seconds"),
    (
        "ftol xtol atol eps epsilon tolerance",
        "the tolerances are tol and rtol for the bound on f(x, y) - f*, and gtol for the gradients",
    ),
    (
        "term term_x term_y terms",
        "terms belong to the problem: minmin.problems.Composite(problem, term_x=..., term_y=...)",
    ),
    ("constraints", "bounds are bounds_x and bounds_y; for others see minmin.terms and minmin.problems.Composite"),
    ("fun func f objective value", "f is the first argument: minimize(f, x0, y0, grad_x=..., grad_y=...)"),
    ("jac grad gradient", "there are two gradients: minimize(f, x0, y0, grad_x=..., grad_y=...)"),
    (
        "hess hessp hessian",
        "second derivatives belong to the problem: Quadratic, GLM and Softmax have them, Function needs none",
    ),
    ("args", "the problem's functions are called with (x, y) alone; functools.partial can fix other arguments"),
    ("options", "give every option as a keyword of its own: minimize(problem, method='bam', inner='nag')"),
    ("disp verbose", "progress=True shows a line while running, print(r) how the run ended"),
    ("random_state random_seed rng", "the seed of random numbers is seed"),
    ("x_0 y_0 start init", "the start is x0 and y0"),
    ("solver algorithm", "a method is given as method='bam'"),
)
"""Names that users bring from other packages; several in one string where the answer is the same."""

OF_MINIMIZE = Keywords(
    "grad_x grad_y constants bounds_x bounds_y bounds tol rtol rtol_from gtol target_value max_iterations max_grad_x "
    "max_grad_y max_seconds assume_convex callback progress seed checkpoint",
    HINTS,
)
