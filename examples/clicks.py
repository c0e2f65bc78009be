"""Do two penalties predict better than one? Held-out log-loss over a grid of two penalties, on clicks and a census.

- Clicks: Criteo's sample where it lies beside the project (../shared/data), generated ones otherwise. Block one: the
  numeric columns, standardised; block two: the hashed categories.
- Census: the Adult data (2,000 rows of a9a to learn from, where it lies there; otherwise a1a, which comes with
  minmin). Block one: its columns, all 0 or 1; block two: the products of every two of them.

For every split into rows to learn from and rows held out, all pairs of penalties are fitted with warm starts. Which
pair to use, and which single penalty, is chosen by cross-validation within the rows to learn from, so neither choice
sees the rows held out.
"""

from __future__ import annotations

import argparse
import gzip
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.feature_extraction import FeatureHasher
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

import minmin
from minmin.estimators import BlockLogisticRegressionCV

SHARED = Path(__file__).parents[2] / "shared" / "data"
NUMERIC, HASHED = 13, 2**15
MOST_EXCESS = 0.02
"""Of the colours in the picture."""


@dataclass(frozen=True)
class Question:
    """Data, their two blocks, and what to try: penalties for each block, and how many rows to learn from."""

    name: str
    X: Any
    labels: np.ndarray[Any, Any]
    blocks: dict[str, slice]
    values: np.ndarray[Any, Any]
    train_rows: int
    test_rows: int

    def pairs(self) -> list[tuple[float, float]]:
        """All pairs of values; then more single penalties, between the values, so that those are chosen as finely."""
        between = np.sqrt(self.values[1:] * self.values[:-1])
        return [*product(self.values, self.values), *zip(between, between, strict=True)]


@dataclass(frozen=True)
class Answer:
    """Held-out losses of every split and pair, and the pairs that cross-validation chose in every split."""

    losses: np.ndarray[Any, Any]
    chosen_two: list[int]
    chosen_one: list[int]

    @property
    def gains(self) -> np.ndarray[Any, Any]:
        """What the second penalty took off the held-out log-loss, by split."""
        rows = np.arange(len(self.losses))
        return self.losses[rows, self.chosen_one] - self.losses[rows, self.chosen_two]


def clicks() -> Question:
    path = SHARED / "clicks" / "criteo_7200.tsv.gz"
    name, (labels, numeric, categories) = (
        ("Criteo's clicks", criteo(path)) if path.exists() else ("generated clicks", generated())
    )
    hasher = FeatureHasher(HASHED, input_type="string", alternate_sign=False)
    hashed = hasher.transform([f"{i}={value}" for i, value in enumerate(row)] for row in categories)
    numbers = scipy.sparse.csr_array(StandardScaler().fit_transform(np.log1p(numeric)))
    X = scipy.sparse.hstack([numbers, hashed], format="csr")
    blocks = {"numbers": slice(0, NUMERIC), "categories": slice(NUMERIC, None)}
    rows = len(labels)
    return Question(name, X, labels, blocks, np.geomspace(1e-1, 1e-4, 7), rows * 4 // 5, rows // 5)


def criteo(path: Path) -> tuple[Any, Any, list[list[str]]]:
    """Labels, 13 numeric columns (what is missing or negative is 0) and 26 categories."""
    with gzip.open(path, "rt") as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    numeric = np.array([[max(float(text or 0.0), 0.0) for text in row[1 : NUMERIC + 1]] for row in rows])
    return np.array([int(row[0]) for row in rows]), numeric, [row[NUMERIC + 1 :] for row in rows]


def generated(rows: int = 6000, columns: int = 20, seed: int = 0) -> tuple[Any, Any, list[list[str]]]:
    """The same, of a model whose categories, a few frequent ones and many rare ones, matter less than its numbers."""
    rng = np.random.default_rng(seed)
    numeric = rng.gamma(1.0, 10.0, size=(rows, NUMERIC))
    kinds = rng.zipf(1.5, size=(rows, columns)) % 1000
    effects = rng.normal(size=(columns, 1000))
    margin = np.log1p(numeric) @ rng.normal(size=NUMERIC) + 0.4 * effects[np.arange(columns), kinds].sum(axis=1)
    labels = (rng.random(rows) < 1.0 / (1.0 + np.exp(margin.mean() + 1.0 - margin))).astype(int)
    return labels, numeric, [[str(kind) for kind in row] for row in kinds]


def census() -> Question:
    path = SHARED / "libsvm" / "a9a.gz"
    A, labels = minmin.datasets.load_libsvm(path) if path.exists() else minmin.datasets.load_a1a()
    rows, columns = A.shape
    name = f"Adult ({'a9a' if path.exists() else 'a1a'}) with products"
    train, test = (2000, 6000) if path.exists() else (rows * 4 // 5, rows // 5)
    X = PolynomialFeatures(2, interaction_only=True, include_bias=False).fit_transform(scipy.sparse.csr_matrix(A))
    blocks = {"columns": slice(0, columns), "products": slice(columns, None)}
    return Question(name, scipy.sparse.csr_array(X), labels, blocks, np.geomspace(1.0, 1e-3, 7), train, test)


def answered(question: Question, splits: int) -> Answer:
    pairs = question.pairs()
    single = [i for i, (one, other) in enumerate(pairs) if one == other]
    outer = StratifiedShuffleSplit(splits, train_size=question.train_rows, test_size=question.test_rows, random_state=0)
    divided = list(outer.split(question.X, question.labels))
    losses = [fitted(question, train, test, pairs) for train, test in divided]
    chosen_two, chosen_one = [], []
    for train, _ in divided:
        inner = losses_within(question, train, pairs)
        chosen_two.append(int(inner.argmin()))
        chosen_one.append(min(single, key=lambda i: inner[i]))
    return Answer(np.array(losses), chosen_two, chosen_one)


def fitted(question: Question, train: Any, test: Any, pairs: list[tuple[float, float]]) -> np.ndarray[Any, Any]:
    """The log-loss of the test rows under every pair."""
    rows = np.concatenate([train, test])
    fold = (np.arange(len(train)), np.arange(len(train), len(rows)))
    return path(question, rows, pairs, cv=[fold])


def losses_within(question: Question, train: Any, pairs: list[tuple[float, float]]) -> np.ndarray[Any, Any]:
    """The mean log-loss of every pair in three folds of the rows to learn from."""
    return path(question, train, pairs, cv=3)


def path(question: Question, rows: Any, pairs: list[tuple[float, float]], cv: Any) -> np.ndarray[Any, Any]:
    model = BlockLogisticRegressionCV(question.blocks, alphas=pairs, cv=cv, tol=1e-5)
    model.fit(question.X[rows], question.labels[rows])
    losses: np.ndarray[Any, Any] = -model.cv_results_["mean_test_score"]
    return losses


def words(question: Question, answer: Answer) -> Iterator[str]:
    """What was found, said plainly."""
    gains, rows = answer.gains, np.arange(len(answer.losses))
    two, one = (answer.losses[rows, chosen].mean() for chosen in (answer.chosen_two, answer.chosen_one))
    error = gains.std(ddof=1) / np.sqrt(len(gains))
    yield (
        f"{question.name}: {question.train_rows} rows to learn from, {question.test_rows} held out, {len(gains)} splits"
    )
    yield f"  held-out log-loss with two penalties {two:.4f}, with one {one:.4f}"
    yield (
        f"  gain {gains.mean():+.4f} ± {error:.4f} (standard error, as if splits shared no rows), "
        f"from {gains.min():+.4f} to {gains.max():+.4f}; better in {(gains > 0).sum()} splits"
    )
    if gains.mean() > 2.0 * error:
        yield "  Two penalties beat one here."
    elif gains.mean() < -2.0 * error:
        yield "  Two penalties are worse than one here: choosing among more pairs costs more than it gains."
    else:
        yield "  Two penalties do not beat one here, beyond what splits differ by."


def draw(found: list[tuple[Question, Answer]], file: Path) -> None:
    from matplotlib.colors import TwoSlopeNorm
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.0 * len(found) + 3.4, 4.6), layout="constrained")
    panels: Any = figure.subplots(1, len(found) + 1, width_ratios=[1.0] * len(found) + [0.62])
    for axis, (question, answer) in zip(panels, found, strict=False):
        pairs, mean, size = np.array(question.pairs()), answer.losses.mean(axis=0), len(question.values)
        single = np.flatnonzero(pairs[:, 0] == pairs[:, 1])
        best_two, best_one = pairs[mean[: size**2].argmin()], pairs[single[mean[single].argmin()]]
        excess = mean[: size**2].reshape(size, size) - mean[single].min()
        least = min(-1e-3, float(excess.min()))
        colouring = TwoSlopeNorm(0.0, least, MOST_EXCESS)
        colours = axis.pcolormesh(question.values, question.values, excess, norm=colouring, cmap="RdBu_r")
        axis.plot(question.values, question.values, color="#333333", lw=1.2, ls="--", label="one penalty for both")
        axis.plot(*best_one[::-1], "o", ms=10, mfc="white", mec="black", label="best single penalty")
        axis.plot(*best_two[::-1], "*", ms=15, mfc="#F0E442", mec="black", label="best pair")
        first, second = question.blocks
        axis.set(xscale="log", yscale="log", xlabel=f"penalty of the {second}", ylabel=f"penalty of the {first}")
        axis.set_title(f"{question.name}\nlog-loss of the best single penalty: {mean[single].min():.4f}", fontsize=11)
        ticks = [least, least / 2, 0.0, MOST_EXCESS / 4, MOST_EXCESS / 2, MOST_EXCESS]
        figure.colorbar(
            colours, ax=axis, extend="max", ticks=ticks, format="%.4f", label="held-out log-loss above that"
        )
    axis = panels[-1]
    for place, (_, answer) in enumerate(found):
        spread = np.linspace(-0.12, 0.12, len(answer.gains))
        axis.plot(place + spread, answer.gains, "o", color="#0072B2", alpha=0.7)
        axis.plot([place - 0.25, place + 0.25], [answer.gains.mean()] * 2, color="black", lw=2)
    axis.axhline(0.0, color="#888888", lw=1)
    axis.set_xticks(range(len(found)), [question.name.split(" ")[0] for question, _ in found])
    axis.set(xlim=(-0.6, len(found) - 0.4), ylabel="log-loss, one penalty minus two")
    axis.set_title("gain in every split;\nthe bar is the mean", fontsize=11)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(file, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=8)
    parser.add_argument("--picture", type=Path, default=Path("clicks.png"))
    arguments = parser.parse_args()
    found = []
    for question in (clicks(), census()):
        answer = answered(question, arguments.splits)
        print("\n".join(words(question, answer)), flush=True)
        found.append((question, answer))
    draw(found, arguments.picture)
    print(f"the grid of penalties: {arguments.picture}")


if __name__ == "__main__":
    main()
