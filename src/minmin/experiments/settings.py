"""What they are run on: every setting of the paper's figures, and of the scaling that its theory promises."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse.linalg

from minmin.core.constants import Constants
from minmin.core.problem import Problem
from minmin.datasets import load_a1a
from minmin.experiments.clients import clients_of_a9a, clients_of_squares, data_name
from minmin.experiments.contestants import CENTRAL, FEDERATED
from minmin.problems import GLM, Quadratic

EXPERIMENTS = ("quadratic", "logistic", "scaling", "federated")
PAPERS = EXPERIMENTS[:3]
"""What "all" stands for; the application has a run of its own."""
GROUPS = {
    "diagonal": "Quadratics, block-diagonal",
    "coupled": "Quadratics, coupled",
    "paper": "Logistic regression on a1a, the paper's constants",
    "tight": "Logistic regression on a1a, tight constants",
    "kappa_x": "Against κ_x",
    "kappa_y": "Against κ_y",
    "clients": "Federated logistic regression, dissimilar clients",
    "squares": "Federated least squares, 8 clients",
}
"""Groups of settings, each a row of panels; a group belongs to one experiment."""

_A1A_COLUMNS_IN_X = 100
_SCALING_METHODS = ("bam", "bam-paper", "nag", "acdm-rescaled", "lincoupling-rescaled", "joint-lbfgs", "reduced-lbfgs")
_SCALING_INSTANCES = 3


@dataclass(frozen=True)
class Setting:
    """One problem, or a family of random ones.

    Attributes
    ----------
    experiment, group : str
    label : str
        What changes within the group.
    varied : float
        The same as a number.
    build : callable
        The problem for a seed.
    is_random : bool
        Whether the seed matters to ``build``.
    methods : tuple of str
        Keys of the contestants that take part.
    most_seeds : int
        No more seeds than this are worth their time here.
    data : str
        What the rows are, where a user may choose them.
    """

    experiment: str
    group: str
    label: str
    varied: float
    build: Callable[[int], Problem]
    is_random: bool = True
    methods: tuple[str, ...] = CENTRAL
    most_seeds: int = 10**6
    data: str = ""

    @property
    def key(self) -> str:
        """Its name in files."""
        return f"{self.group}/{self.varied:g}"


def a1a_smoothness() -> float:
    """λ_max(AᵀA)/4n: the paper's L of a1a."""
    A, _ = load_a1a()
    largest = scipy.sparse.linalg.svds(A, k=1, return_singular_vectors=False, random_state=0)[0]
    return float(largest**2 / (4 * A.shape[0]))


def description(setting: Setting) -> str:
    """What the problems of a setting's group are, for a reader."""
    group = setting.group
    if group in ("paper", "tight"):
        return f"Columns 1 to 100 are x, the last 19 are y; μ_x = 0.01. {_a1a_constants(group)}"
    return {
        "clients": f"{setting.data}, sorted by a random feature and cut into clients: x is the first 100 columns, y_i "
        "the other 23 and an intercept; α_x = 1e-3, α_y = 1e-4. A call of ∇ₓ is a round of communication.",
        "squares": "Least squares, d_x = 100, d_y = 50, 100 rows per client, α = 1e-3 in both blocks; three instances.",
        "diagonal": "As in the paper: eigenvalues of each block drawn uniformly between μ and L, and blocks that do "
        "not interact. μ_x = μ_y = 0.1, L_x = 50, d_x = 100, d_y = 10. Since μ_x = μ_y, rescaled is the same as plain.",
        "coupled": "The same constants, exactly valid, for blocks that do interact. Rescaled is the same as plain.",
        "kappa_x": "Coupled quadratics, L_x = L_y = 1, κ_y = 10⁴, three instances each. Dotted: what Theorem 2.2 "
        "allows BAM, up to a constant.",
        "kappa_y": "The same with κ_x = 100. Dotted: what Theorem 2.2 allows BAM, up to a constant.",
    }[group]


def _a1a_constants(group: str) -> str:
    if group == "paper":
        return f"L_x = L_y = {a1a_smoothness():.3f}, as the paper sets them, for methods that need constants."
    proved = [setting.build(0).constants for setting in settings(("logistic",)) if setting.group == "tight"]
    kappas = "; ".join(f"{c.kappa_x:.0f}, {c.kappa_y:.0f}" for c in proved if c is not None)
    return f"Constants per block, as minmin proves them from the data: κ_x, κ_y = {kappas}."


def settings(experiments: tuple[str, ...], a9a: Path | None = None) -> list[Setting]:
    """All settings of some experiments, in a fixed order; ``a9a`` is that file, where a user gave it."""
    every = [*_quadratics(), *_logistic(), *_scaling(), *_federated(a9a)]
    return [setting for setting in every if setting.experiment in experiments]


def _quadratics() -> list[Setting]:
    """μ_x = μ_y = 0.1, L_x = 50, d_x = 100, d_y = 10."""
    return [
        Setting(
            "quadratic",
            group,
            f"L_y = {L_y:g}",
            L_y,
            partial(_quadratic, mu_x=0.1, L_x=50.0, mu_y=0.1, L_y=L_y, coupling=coupling),
        )
        for group, coupling in (("diagonal", 0.0), ("coupled", 1.0))
        for L_y in (500.0, 5000.0, 50000.0)
    ]


def _logistic() -> list[Setting]:
    """d_x = 100, d_y = 19, μ_x = 0.01; a penalty λ|·|² of the paper is alpha = 2λ = μ here."""
    return [
        Setting(
            "logistic",
            group,
            f"μ_y = {_decimal(mu_y)}",
            mu_y,
            partial(_a1a, mu_y=mu_y, tight=group == "tight"),
            is_random=False,
        )
        for group in ("paper", "tight")
        for mu_y in (0.002, 0.0001, 0.00005)
    ]


def _scaling() -> list[Setting]:
    """One condition number moves, the other stays; L = 1 in both blocks, coupled."""
    sweeps = {
        "kappa_x": [(kappa, 1e4) for kappa in (1e1, 1e2, 1e3, 1e4)],
        "kappa_y": [(1e2, kappa) for kappa in (1e2, 1e3, 1e4, 1e5, 1e6)],
    }
    return [
        Setting(
            "scaling",
            group,
            f"{group.replace('kappa', 'κ')} = {varied:g}",
            varied,
            partial(_quadratic, mu_x=1 / kappa_x, L_x=1.0, mu_y=1 / kappa_y, L_y=1.0, coupling=1.0),
            methods=_SCALING_METHODS,
            most_seeds=_SCALING_INSTANCES,
        )
        for group, points in sweeps.items()
        for kappa_x, kappa_y in points
        for varied in [kappa_x if group == "kappa_x" else kappa_y]
    ]


def _federated(a9a: Path | None) -> list[Setting]:
    """Dissimilar clients share x; each has a y of its own."""
    setting = partial(Setting, experiment="federated", methods=FEDERATED)
    return [
        *(
            setting(
                group="clients",
                label=f"{count} clients",
                varied=count,
                build=partial(clients_of_a9a, count=count, a9a=a9a),
                is_random=False,
                data=data_name(a9a),
            )
            for count in (20, 100)
        ),
        setting(group="squares", label="8 clients", varied=8, build=clients_of_squares, most_seeds=3),
    ]


def _decimal(value: float) -> str:
    return np.format_float_positional(value, trim="-")


def _quadratic(seed: int, **parameters: Any) -> Problem:
    return Quadratic.random(d_x=100, d_y=10, seed=seed, **parameters)


def _a1a(seed: int, mu_y: float, tight: bool) -> Problem:
    A, labels = load_a1a()
    X, Y = A[:, :_A1A_COLUMNS_IN_X], A[:, _A1A_COLUMNS_IN_X:]
    L = a1a_smoothness()
    constants = None if tight else Constants(L_x=L, L_y=L, mu_x=0.01, mu_y=mu_y)
    return GLM(X, Y, labels, alpha_x=0.01, alpha_y=mu_y, constants=constants)
