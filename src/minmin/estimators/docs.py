"""The estimators' docstrings: what they share is written here once."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import TypeVar

_Class = TypeVar("_Class", bound=type)

_PATH = """\
Along a path from large to small penalties every fit starts from its neighbour's coefficients, and the data of a
fold are prepared once. The last fit, of all samples with the best penalties, sets what is said below."""

_PARAMETERS = """\
blocks : dict or list of column selectors, optional
    The columns of each block: slices, column numbers, boolean masks, column names, patterns of names
    (``"cat_*"``), lists of those, or callables of X such as ``make_column_selector``. A dict names the blocks; in a
    list they are block0, block1, and so on. Columns left over form a last block, "rest". Without it, all columns
    are one block.
alpha : float, sequence or dict
    The penalties: one for all blocks, one each in the blocks' order, or by the blocks' names. 0 is allowed.
    {scale}
alphas : int, dict or sequence, optional
    The penalties to try. A dict has a list of values for every block, of which all combinations are tried; a
    sequence of numbers is tried for all blocks alike; any other sequence lists combinations, as tuples in the
    blocks' order or as dicts. A number asks for so many values per block between 0.1 and 1e-7 times the mean |row|²
    of the block; without it, 10 where there is one block, 5 each for two, 3 each for more.
cv : int, splitter or iterable, optional
    As in scikit-learn; {folds} where not given.
scoring : str or callable, optional
    As in scikit-learn. Without it, minus the mean loss of the samples held out.
cheap : name or list of names of blocks, optional
    The blocks that Newton's method eliminates by a factorisation; () for none. Without it, those for which that
    is expected to pay: small ones and, where there are none, full columns of sparse data.
fit_intercept : bool
    Whether to add a constant to the margin. It is not penalised.
class_weight : dict or "balanced", optional
    As in scikit-learn.
tol : float
    A fit ends when f - f* <= tol is proved, f being what it minimises.
max_seconds : float, optional
    The time after which a fit ends anyway, with a ConvergenceWarning.
warm_start : bool
    Start from the last fit's coefficients.
verbose : bool
    Show a line on standard error while fitting."""

_ATTRIBUTES = """\
coef_ : {coef}
    In the order of X's columns.
intercept_ : {intercept}
classes_ : array of shape (n_classes,)
blocks_, alpha_ : dict
    Column numbers and penalty of every block, by its name.
cv_results_ : dict
    As GridSearchCV's: "params", "mean_test_score", "split0_test_score" and so on; and "mean_passes".
best_index_, best_score_ : int, float
    Which of them was chosen, and its mean score.
gap_bound_ : float
    f at the coefficients is at most this above its minimum.
calls_ : dict
    What the fit cost, by kind; "passes" are products with the columns that are not cheap.
n_iter_ : int
    Newton steps.
result_ : minmin.Result
    How the run ended, whether the bound is proved (``certified``), and its history.
n_features_in_ : int
feature_names_in_ : array of shape (n_features_in_,)
    Where X is a frame with names."""

_NEEDS = {"classes_": "class_weight", "cv_results_": "cv", "best_index_, best_score_": "cv"}
"""The parameters that bring attributes which not all models have."""


def document(
    objective: str,
    *,
    scale: str,
    coef: str = "array of shape (n_features,)",
    intercept: str = "float",
    folds: str = "five folds",
) -> Callable[[_Class], _Class]:
    """Complete the docstring of a model, which has a first line and examples of its own.

    ``scale`` compares alpha with scikit-learn's, ``folds`` is the default of cv, ``coef`` and ``intercept`` are types.
    """
    texts = {"scale": scale, "coef": coef, "intercept": intercept, "folds": folds}

    def complete(cls: _Class) -> _Class:
        taken = inspect.signature(cls).parameters
        summary, heading, examples = inspect.cleandoc(cls.__doc__ or "").partition("\n\nExamples\n")
        parts = [f"{summary}\n\n{objective}", *([_PATH] if "alphas" in taken else [])]
        for title, section in (("Parameters", _PARAMETERS), ("Attributes", _ATTRIBUTES)):
            entries = re.split(r"\n(?=\S)", section.format(**texts))
            chosen = [entry for entry in entries if _requirement(entry.partition(" : ")[0]) in taken]
            parts.append("\n".join([title, "-" * len(title), *chosen]))
        cls.__doc__ = "\n\n".join(parts) + heading + examples
        return cls

    return complete


def _requirement(name: str) -> str:
    """The parameter without which a model lacks a parameter or an attribute."""
    return _NEEDS.get(name, "blocks") if name.endswith("_") else name
