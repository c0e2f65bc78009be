"""The docstrings of the estimators: the text that they share is written here once."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import TypeVar

_Class = TypeVar("_Class", bound=type)

_PATH = """\
In each fold the penalties are tried along a path from large to small. Each fit starts from the coefficients of the fit
before it, and the data of a fold are prepared once. A last fit, of all samples with the best penalties, sets the
attributes below."""

_PARAMETERS = """\
blocks : dict or list of column selectors, optional
    The columns of each block: slices, column numbers, boolean masks, column names, patterns of names
    (``"cat_*"``), lists of those, or callables of X such as ``make_column_selector``. A dict names the blocks; in a
    list their names are block0, block1, and so on. The remaining columns form a last block, "rest". By default all
    columns are one block, "all".
alpha : float, sequence or dict
    The penalties: one number for all blocks, a sequence in the order of the blocks, or a dict by the names of the
    blocks. 0 is allowed. {scale}
power : float
    The variance of the target is proportional to its mean to this power, above 1 and below 2.
delta : float
    Residuals beyond it count linearly; in the units of the target.
alphas : int, dict or sequence, optional
    The penalties to try. A dict has a list of values per block, of which all combinations are tried. In a sequence of
    numbers, each number is the penalty of all blocks at once. Any other sequence lists combinations, as tuples in the
    order of the blocks or as dicts. An int is the number of values per block, spread from 0.1 to 1e-7 times the mean
    |row|² of the block. The default is 10 values for one block, 5 each for two, 3 each for more.
cv : int, splitter or iterable, optional
    As in scikit-learn; {folds} by default.
scoring : str or callable, optional
    As in scikit-learn; by default minus the mean loss of the held-out samples.
n_jobs : int, optional
    The number of folds that are fitted at once, in threads; -1 for all processors. The result does not depend on it.
cheap : name or list of names of blocks, optional
    The blocks that Newton's method eliminates by a factorisation; () for none. By default those for which this is
    expected to be faster: small blocks or, if there are none, full columns of sparse data.
fit_intercept : bool
    Whether to add a constant to the margin. It is not penalised.
class_weight : dict or "balanced", optional
    As in scikit-learn.
tol : float
    A fit ends when f - f* <= tol·(f(null) - f) is proved, where f is the objective above, f* its minimum, and f(null)
    its value for the intercept alone, with offset and weights. So units of the features and of the target do not
    matter. It also ends where rounding errors in f hide the rest.
max_iter : int, optional
    A fit that takes more Newton steps stops with a ConvergenceWarning.
max_seconds : float, optional
    A fit that takes longer stops with a ConvergenceWarning.
missing : "category" or "error"
    What a missing value in a text column is: a category of its own, or an error.
unseen : "zero" or "error"
    What a category is that occurs in predictions but not in the fit: a coefficient of zero, or an error.
warm_start : bool
    Start from the coefficients of the last fit.
verbose : bool
    Show a progress line on standard error."""

_ATTRIBUTES = """\
coef_ : {coef}
    In the order of the columns of X; a text column of a frame has a coefficient per category.
intercept_ : {intercept}
classes_ : array of shape (n_classes,)
has_offset_ : bool
    Whether fit got an offset; predictions then need one, too.
blocks_, alpha_ : dict
    The numbers of the coefficients and the penalty of each block, by its name.
categories_ : dict
    The categories of every text column of a frame, by its name, sorted; None stands for missing values.
feature_names_out_ : array
    The names of the coefficients: those of columns of numbers, and "city=Oslo" for a category of a text column.
cv_results_ : dict
    As in GridSearchCV: "params", "mean_test_score", "split0_test_score" and so on; and "mean_passes".
best_index_, best_score_ : int, float
    The index of the chosen penalties in ``cv_results_``, and their mean score.
gap_bound_ : float
    f at ``coef_`` and ``intercept_`` is at most this above its minimum if ``result_.certified``, else an estimate.
calls_ : dict
    The number of gradients, Hessians and so on that the fit computed; "passes" are products with the columns that are
    not cheap.
n_iter_ : int
    The number of Newton steps.
result_ : minmin.Result
    How the run ended, whether the bound is proved (``certified``), and its history.
n_features_in_ : int
feature_names_in_ : array with one name per column
    Only if X is a data frame with column names."""

_NEEDS = {"classes_": "class_weight", "cv_results_": "cv", "best_index_, best_score_": "cv"}
"""Attributes that not all estimators have, and the parameter that such an estimator has."""


def document(
    objective: str,
    *,
    scale: str,
    coef: str = "array of shape (n_features,)",
    intercept: str = "float",
    folds: str = "five folds",
) -> Callable[[_Class], _Class]:
    """Complete the docstring of an estimator, of which only the first line and the examples are written by hand.

    ``scale`` compares alpha with scikit-learn's penalty, ``folds`` is the default of cv, ``coef`` and ``intercept`` are
    the types of these attributes.
    """
    texts = {"scale": scale, "coef": coef, "intercept": intercept, "folds": folds}

    def complete(cls: _Class) -> _Class:
        parameters = inspect.signature(cls).parameters
        summary, heading, examples = inspect.cleandoc(cls.__doc__ or "").partition("\n\nExamples\n")
        parts = [f"{summary}\n\n{objective}", *([_PATH] if "alphas" in parameters else [])]
        for title, section in (("Parameters", _PARAMETERS), ("Attributes", _ATTRIBUTES)):
            entries = re.split(r"\n(?=\S)", section.format(**texts))
            chosen = [entry for entry in entries if _required_parameter(entry.partition(" : ")[0]) in parameters]
            parts.append("\n".join([title, "-" * len(title), *chosen]))
        cls.__doc__ = "\n\n".join(parts) + heading + examples
        return cls

    return complete


def _required_parameter(name: str) -> str:
    """The parameter that an estimator must have for this parameter or attribute to apply to it."""
    return _NEEDS.get(name, "blocks") if name.endswith("_") else name
