"""Estimators that choose their penalties by cross-validation, with warm starts along a path."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.stats import rankdata
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.parallel import Parallel, delayed

from minmin.errors import InputError
from minmin.estimators.cluster import refuse_collections
from minmin.estimators.model import BlockModel, Sample
from minmin.estimators.null_model import fit_null_model
from minmin.estimators.partitions import refuse_partitions
from minmin.estimators.penalties import Alphas, path_order, resolve_grid
from minmin.estimators.targets import read_given
from minmin.log import LOG
from minmin.result import Result

_Array = np.ndarray[Any, Any]
_Score = Callable[[Result], float]


class _Run(NamedTuple):
    """The outcome of one fit along a path."""

    score: float
    proved: bool
    seconds: float
    passes: int
    message: str


@dataclass(eq=False, repr=False, kw_only=True)
class CrossValidated(BlockModel):
    """An estimator whose penalties are chosen from a grid."""

    alphas: Any = None
    cv: Any = None
    scoring: Any = None
    n_jobs: int | None = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None, offset: Any = None) -> Self:
        """Choose the penalties by cross-validation, then fit all samples with them.

        Parameters
        ----------
        X : array, scipy.sparse or frame of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional
            At least 0; only their ratios matter. They apply to the held-out samples, too.
        groups : array of shape (n_samples,), optional
            For splitters that keep groups together.
        offset : array of shape (n_samples,), optional
            Added to the margins, of the held-out samples, too. It excludes ``scoring``, which cannot use it.

        Returns
        -------
        self
        """
        refuse_partitions(X, type(self).__name__)
        refuse_collections(X, type(self).__name__)
        y, sample_weight = read_given(y, "y"), read_given(sample_weight, "sample_weight")
        if offset is not None and self.scoring is not None:
            raise InputError("scoring cannot use an offset; leave scoring out: the score is then minus the mean loss")
        matrix, rows, blocks = self._check_data(X, y, sample_weight, offset)
        self.has_offset_ = offset is not None
        names = list(blocks)
        points = resolve_grid(self.alphas, blocks, matrix, rows.weights)
        alphas = [dict(zip(names, point, strict=True)) for point in points.tolist()]
        unpenalised = [name for name, tried in zip(names, points.T, strict=True) if 0.0 in tried]
        sample = Sample(self._split_features(matrix, blocks, unpenalised), rows)
        order = path_order(points, [len(columns) for columns in blocks.values()])
        splits = check_cv(self.cv, y, classifier=is_classifier(self)).split(X, y, groups)
        data = X, y, sample_weight
        tasks = (delayed(self._fit_fold)(i, split, sample, alphas, order, data) for i, split in enumerate(splits))
        # Threads share the data, and use as many threads of BLAS as one job does: the results have the same bits.
        runs = Parallel(n_jobs=self.n_jobs, prefer="threads")(tasks)
        if not runs:
            raise InputError("cv yields no split; give at least one pair of training and test samples")
        self._set_results(alphas, runs)
        best = alphas[self.best_index_]
        result, _ = self._minimise(self._problem(sample, best), sample, best, None)
        self._set_attributes(result, sample, best)
        return self

    def _fit_fold(
        self,
        number: int,
        split: tuple[Any, Any],
        sample: Sample,
        alphas: list[Alphas],
        order: list[int],
        data: tuple[Any, Any, Any],
    ) -> list[_Run]:
        """Fit the training part of a split with each of the penalties; ``data`` are X, y and weights as given."""
        train, test = split
        LOG.info("split %d: %d fits", number, len(alphas))
        part = sample.select_rows(train)
        self._require_classes(part.rows.target, part.rows.weights, f"the training part of split {number}")
        if self.scoring is None:
            score = self._score_by_loss(sample.select_rows(test))
        else:
            score = self._score_by_user(sample, test, *data)
        return self._fit_path(part, alphas, order, score)

    def _fit_path(self, sample: Sample, alphas: list[Alphas], order: list[int], score: _Score) -> list[_Run]:
        """Fit with each of the penalties; every fit starts where the fit before it ended."""
        problem = self._problem(sample, alphas[0])
        null = fit_null_model(problem, bool(self.fit_intercept))
        runs: dict[int, _Run] = {}
        start = None
        for index in order:
            problem = problem.with_penalties(**sample.features.penalties(alphas[index]))
            result, problem = self._minimise(problem, sample, alphas[index], start, null)
            start = result.x, result.y
            proved = result.success and result.certified
            runs[index] = _Run(score(result), proved, result.seconds, result.calls.get("passes", 0), result.message)
        return [runs[index] for index in range(len(alphas))]

    def _score_by_loss(self, held_out: Sample) -> _Score:
        """A score: minus the mean loss of the held-out samples."""
        problem = self._problem(held_out, dict.fromkeys(held_out.features.blocks, 0.0))
        return lambda result: -problem.fix(result.x).at(result.y).value

    def _score_by_user(self, sample: Sample, test: Any, X: Any, y: Any, sample_weight: Any) -> _Score:
        """A score: the user's scoring of the held-out samples."""
        scorer = check_scoring(self, self.scoring)
        (X,) = indexable(X)  # not all sparse formats have row indexing
        X, y = _safe_indexing(X, test), _safe_indexing(y, test)
        weights = {} if sample_weight is None else {"sample_weight": _safe_indexing(sample_weight, test)}
        model = copy(self)

        def score(result: Result) -> float:
            model.coef_, model.intercept_ = self._solution(sample, result)
            return float(scorer(model, X, y, **weights))

        return score

    def _set_results(self, alphas: list[Alphas], runs: list[list[_Run]]) -> None:
        """Set the results of cross-validation, from one list of runs per fold; warn if some did not reach tol."""
        every = [run for of_fold in runs for run in of_fold]
        unproved = [run for run in every if not run.proved]
        if unproved:
            warnings.warn(
                f"{len(unproved)} of {len(every)} fits along the path did not prove f - f* <= tol = {self.tol:g} times "
                f"the gain over the null model; the message of the first: {unproved[0].message}",
                ConvergenceWarning,
                stacklevel=3,
            )
        scores, seconds, passes = (
            np.array([[getattr(run, name) for run in of_fold] for of_fold in runs])
            for name in ("score", "seconds", "passes")
        )
        mean = scores.mean(axis=0)
        ranked = _replace_nan(mean)
        self.best_index_ = int(ranked.argmax())
        self.best_score_ = float(mean[self.best_index_])
        self.cv_results_ = {
            "params": alphas,
            **{f"split{i}_test_score": of_fold for i, of_fold in enumerate(scores)},
            "mean_test_score": mean,
            "std_test_score": scores.std(axis=0),
            "rank_test_score": rankdata(-ranked, method="min").astype(int),
            "mean_fit_time": seconds.mean(axis=0),
            "mean_passes": passes.mean(axis=0),
        }


def _replace_nan(scores: _Array) -> _Array:
    """The mean scores with NaN replaced by minus infinity, so that it ranks last, as in GridSearchCV."""
    missing = np.isnan(scores)
    if missing.all():
        raise InputError("scoring returned NaN for all penalties; give another scoring, or leave it out")
    if missing.any():
        warnings.warn(
            f"scoring returned NaN for {missing.sum()} of {len(scores)} penalties, which are ranked last",
            UserWarning,
            stacklevel=4,
        )
    return np.where(missing, -np.inf, scores)
