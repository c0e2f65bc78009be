"""Logistic regression with a penalty per block."""

from __future__ import annotations

from typing import Any

from minmin.estimators.families import Logistic
from minmin.estimators.model import SingleFit
from minmin.estimators.path import PathFit


class BlockLogisticRegression(Logistic, SingleFit):
    """Logistic regression with a penalty per block of columns, and a proof of how far from the minimum it is.

    Minimises the weighted mean of log(1 + exp(-margin)), for more than two classes of the softmax loss, plus
    Σ_b alpha_b/2 |w_b|² over the blocks b. The intercept is not penalised.

    Parameters
    ----------
    blocks : dict or list of column selectors, optional
        The columns of each block: slices, column numbers, boolean masks, column names, patterns of names
        (``"cat_*"``), lists of those, or callables of X such as ``make_column_selector``. A dict names the blocks; in a
        list they are block0, block1, and so on. Columns left over form a last block, "rest". Without it, all columns
        are one block.
    alpha : float, sequence or dict
        The penalties: one for all blocks, one each in the blocks' order, or by the blocks' names. 0 is allowed.
        scikit-learn's C is 1/(n·alpha) for n samples.
    cheap : name or list of names of blocks, optional
        The blocks that Newton's method eliminates by a factorisation; () for none. Without it, those for which that
        is expected to pay: small ones and, where there are none, full columns of sparse data.
    fit_intercept : bool
    class_weight : dict or "balanced", optional
        As in scikit-learn.
    tol : float
        A fit ends when f - f* <= tol is proved, f being what it minimises.
    max_seconds : float, optional
        The time after which a fit ends anyway, with a ConvergenceWarning.
    warm_start : bool
        Start from the last fit's coefficients.
    verbose : bool
        Show a line on standard error while fitting.

    Attributes
    ----------
    coef_ : array of shape (1, n_features), or (n_classes, n_features) for more than two classes
        In the order of X's columns.
    intercept_ : array of shape (1,) or (n_classes,)
    classes_ : array of shape (n_classes,)
    blocks_, alpha_ : dict
        Column numbers and penalty of every block, by its name.
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
        Where X is a frame with names.

    Examples
    --------
    >>> import minmin
    >>> X, labels = minmin.datasets.load_a1a()
    >>> model = minmin.estimators.BlockLogisticRegression([slice(0, 100), slice(100, None)], alpha=(1e-2, 1e-4))
    >>> model.fit(X, labels).gap_bound_ <= model.tol
    True
    >>> model.coef_.shape
    (1, 119)
    """

    def __init__(
        self,
        blocks: Any = None,
        *,
        alpha: Any = 1e-3,
        cheap: Any = None,
        fit_intercept: bool = True,
        class_weight: Any = None,
        tol: float = 1e-6,
        max_seconds: float | None = None,
        warm_start: bool = False,
        verbose: bool = False,
    ):
        super().__init__(
            blocks,
            alpha=alpha,
            cheap=cheap,
            fit_intercept=fit_intercept,
            tol=tol,
            max_seconds=max_seconds,
            warm_start=warm_start,
            verbose=verbose,
        )
        self.class_weight = class_weight


class BlockLogisticRegressionCV(Logistic, PathFit):
    """Logistic regression with a penalty per block of columns, chosen by cross-validation.

    Minimises the weighted mean of log(1 + exp(-margin)), for more than two classes of the softmax loss, plus
    Σ_b alpha_b/2 |w_b|² over the blocks b. The intercept is not penalised.

    Along a path from large to small penalties every fit starts from its neighbour's coefficients, and the data of a
    fold are prepared once. The last fit, of all samples with the best penalties, sets what is said below.

    Parameters
    ----------
    blocks : dict or list of column selectors, optional
        The columns of each block: slices, column numbers, boolean masks, column names, patterns of names
        (``"cat_*"``), lists of those, or callables of X such as ``make_column_selector``. A dict names the blocks; in a
        list they are block0, block1, and so on. Columns left over form a last block, "rest". Without it, all columns
        are one block.
    alphas : int, dict or sequence, optional
        The penalties to try. A dict has a list of values for every block, of which all combinations are tried; a
        sequence of numbers is tried for all blocks alike; any other sequence lists combinations, as tuples in the
        blocks' order or as dicts. A number asks for so many values a block between 0.1 and 1e-7 times the mean |row|²
        of the block; without it, 10 where there is one block, 5 each for two, 3 each for more.
    cv : int, splitter or iterable, optional
        As in scikit-learn; five folds where not given, stratified.
    scoring : str or callable, optional
        As in scikit-learn. Without it, minus the mean loss of the samples held out.
    cheap : name or list of names of blocks, optional
        The blocks that Newton's method eliminates by a factorisation; () for none. Without it, those for which that
        is expected to pay: small ones and, where there are none, full columns of sparse data.
    fit_intercept : bool
    class_weight : dict or "balanced", optional
        As in scikit-learn.
    tol : float
        A fit ends when f - f* <= tol is proved, f being what it minimises.
    max_seconds : float, optional
        The time after which every fit ends anyway, with a ConvergenceWarning.
    verbose : bool
        Show a line on standard error while fitting.

    Attributes
    ----------
    coef_ : array of shape (1, n_features), or (n_classes, n_features) for more than two classes
        In the order of X's columns.
    intercept_ : array of shape (1,) or (n_classes,)
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
        Where X is a frame with names.

    Examples
    --------
    >>> import minmin
    >>> X, labels = minmin.datasets.load_a1a()
    >>> blocks = {"many": slice(0, 100), "few": slice(100, None)}
    >>> grid = {"many": [1e-1, 1e-2, 1e-3], "few": [1e-3, 1e-4]}
    >>> model = minmin.estimators.BlockLogisticRegressionCV(blocks, alphas=grid).fit(X, labels)
    >>> sorted(model.alpha_)
    ['few', 'many']
    """

    def __init__(
        self,
        blocks: Any = None,
        *,
        alphas: Any = None,
        cv: Any = None,
        scoring: Any = None,
        cheap: Any = None,
        fit_intercept: bool = True,
        class_weight: Any = None,
        tol: float = 1e-6,
        max_seconds: float | None = None,
        verbose: bool = False,
    ):
        super().__init__(
            blocks,
            alphas=alphas,
            cv=cv,
            scoring=scoring,
            cheap=cheap,
            fit_intercept=fit_intercept,
            tol=tol,
            max_seconds=max_seconds,
            verbose=verbose,
        )
        self.class_weight = class_weight
