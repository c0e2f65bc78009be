"""Do two penalties predict better than one? Held-out log-loss over a grid of two penalties, on clicks and a census.

- Clicks: a sample of Criteo's clicks if it is in ../shared/data, otherwise generated clicks. The first block has the
  standardised numeric columns, the second the hashed categories.
- Census: the Adult data, 2,000 training rows of a9a if it is in ../shared/data, otherwise a1a, which comes with minmin.
  The first block has the columns, all 0 or 1; the second the products of every two columns.

For each split into training and test rows, all pairs of penalties are fitted with warm starts. The best pair and the
best single penalty are chosen by cross-validation within the training rows, so neither choice uses the test rows.
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
"""The end of the colour scale in the picture."""


@dataclass(frozen=True)
class Question:
    """Data, their two blocks, the penalties to try for each block, and the numbers of training and test rows."""

    name: str
    X: Any
    labels: np.ndarray[Any, Any]
    blocks: dict[str, slice]
    values: np.ndarray[Any, Any]
    train_rows: int
    test_rows: int

    def pairs(self) -> list[tuple[float, float]]:
        """All pairs of values; then single penalties between the values, for a finer choice among these."""
        between = np.sqrt(self.values[1:] * self.values[:-1])
        return [*product(self.values, self.values), *zip(between, between, strict=True)]


@dataclass(frozen=True)
class Answer:
    """The test loss of each split and pair, and the pairs that cross-validation chose in each split."""

    losses: np.ndarray[Any, Any]
    chosen_two: list[int]
    chosen_one: list[int]

    @property
    def gains(self) -> np.ndarray[Any, Any]:
        """By how much the second penalty lowered the test log-loss, for each split."""
        rows = np.arange(len(self.losses))
        return self.losses[rows, self.chosen_one] - self.losses[rows, self.chosen_two]


def clicks() -> Question:
    path = SHARED / "clicks" / "criteo_7200.tsv.gz"
    name, (labels, numeric, categories) = (
        ("Criteo's clicks", read_criteo(path)) if path.exists() else ("generated clicks", generate_clicks())
    )
    hasher = FeatureHasher(HASHED, input_type="string", alternate_sign=False)
    hashed = hasher.transform([f"{i}={value}" for i, value in enumerate(row)] for row in categories)
    numbers = scipy.sparse.csr_array(StandardScaler().fit_transform(np.log1p(numeric)))
    X = scipy.sparse.hstack([numbers, hashed], format="csr")
    blocks = {"numbers": slice(0, NUMERIC), "categories": slice(NUMERIC, None)}
    rows = len(labels)
    return Question(name, X, labels, blocks, np.geomspace(1e-1, 1e-4, 7), rows * 4 // 5, rows // 5)


def read_criteo(path: Path) -> tuple[Any, Any, list[list[str]]]:
    """Labels, 13 numeric columns (missing and negative numbers become 0) and 26 categories."""
    with gzip.open(path, "rt") as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    numeric = np.array([[max(float(text or 0.0), 0.0) for text in row[1 : NUMERIC + 1]] for row in rows])
    return np.array([int(row[0]) for row in rows]), numeric, [row[NUMERIC + 1 :] for row in rows]


def generate_clicks(rows: int = 6000, columns: int = 20, seed: int = 0) -> tuple[Any, Any, list[list[str]]]:
    """Labels, numeric columns and categories from a model in which the categories, mostly rare, matter less."""
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


def answer_question(question: Question, splits: int) -> Answer:
    pairs = question.pairs()
    single = [i for i, (one, other) in enumerate(pairs) if one == other]
    outer = StratifiedShuffleSplit(splits, train_size=question.train_rows, test_size=question.test_rows, random_state=0)
    parts = list(outer.split(question.X, question.labels))
    losses = [compute_test_losses(question, train, test, pairs) for train, test in parts]
    chosen_two, chosen_one = [], []
    for train, _ in parts:
        inner = cross_validate(question, train, pairs)
        chosen_two.append(int(inner.argmin()))
        chosen_one.append(min(single, key=lambda i: inner[i]))
    return Answer(np.array(losses), chosen_two, chosen_one)


def compute_test_losses(
    question: Question, train: Any, test: Any, pairs: list[tuple[float, float]]
) -> np.ndarray[Any, Any]:
    """The log-loss of the test rows for each pair."""
    rows = np.concatenate([train, test])
    fold = (np.arange(len(train)), np.arange(len(train), len(rows)))
    return fit_path(question, rows, pairs, cv=[fold])


def cross_validate(question: Question, train: Any, pairs: list[tuple[float, float]]) -> np.ndarray[Any, Any]:
    """The mean log-loss of each pair over three folds of the training rows."""
    return fit_path(question, train, pairs, cv=3)


def fit_path(question: Question, rows: Any, pairs: list[tuple[float, float]], cv: Any) -> np.ndarray[Any, Any]:
    model = BlockLogisticRegressionCV(question.blocks, alphas=pairs, cv=cv, tol=1e-5)
    model.fit(question.X[rows], question.labels[rows])
    losses: np.ndarray[Any, Any] = -model.cv_results_["mean_test_score"]
    return losses


def describe(question: Question, answer: Answer) -> Iterator[str]:
    """The lines to print."""
    gains, rows = answer.gains, np.arange(len(answer.losses))
    two, one = (answer.losses[rows, chosen].mean() for chosen in (answer.chosen_two, answer.chosen_one))
    error = gains.std(ddof=1) / np.sqrt(len(gains))
    yield (f"{question.name}: {question.train_rows} training rows, {question.test_rows} test rows, {len(gains)} splits")
    yield f"  test log-loss with two penalties {two:.4f}, with one {one:.4f}"
    yield (
        f"  gain {gains.mean():+.4f} ± {error:.4f} (standard error if splits shared no rows), "
        f"from {gains.min():+.4f} to {gains.max():+.4f}; better in {(gains > 0).sum()} splits"
    )
    if gains.mean() > 2.0 * error:
        yield "  Two penalties beat one here."
    elif gains.mean() < -2.0 * error:
        yield "  Two penalties are worse than one here: choosing among more pairs costs more than it gains."
    else:
        yield "  Two penalties do not beat one here: the gain is within the variation between splits."


def draw(answers: list[tuple[Question, Answer]], file: Path) -> None:
    from matplotlib.colors import TwoSlopeNorm
    from matplotlib.figure import Figure

    count = len(answers)
    figure = Figure(figsize=(5.0 * count + 3.4, 4.6), layout="constrained")
    panels: Any = figure.subplots(1, count + 1, width_ratios=[1.0] * count + [0.62])
    for axis, (question, answer) in zip(panels, answers, strict=False):
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
        figure.colorbar(colours, ax=axis, extend="max", ticks=ticks, format="%.4f", label="test log-loss minus that")
    axis = panels[-1]
    for place, (_, answer) in enumerate(answers):
        spread = np.linspace(-0.12, 0.12, len(answer.gains))
        axis.plot(place + spread, answer.gains, "o", color="#0072B2", alpha=0.7)
        axis.plot([place - 0.25, place + 0.25], [answer.gains.mean()] * 2, color="black", lw=2)
    axis.axhline(0.0, color="#888888", lw=1)
    axis.set_xticks(range(count), [question.name.split(" ")[0] for question, _ in answers])
    axis.set(xlim=(-0.6, count - 0.4), ylabel="log-loss, one penalty minus two")
    axis.set_title("gain in each split;\nthe bar is the mean", fontsize=11)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(file, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=8, help="how many random splits to average over")
    parser.add_argument("--picture", type=Path, default=Path("two_penalties.png"), help="where to write the picture")
    arguments = parser.parse_args()
    answers = []
    for question in (clicks(), census()):
        answer = answer_question(question, arguments.splits)
        print("\n".join(describe(question, answer)), flush=True)
        answers.append((question, answer))
    draw(answers, arguments.picture)
    print(f"a picture of the losses over the grid of penalties: {arguments.picture}")


if __name__ == "__main__":
    main()
