"""The problems of the experiments.

They are those in the figures of Kovalev, Gasnikov and Malinovsky, arXiv:2212.14439; sweeps over the condition numbers
in their theorem; and a federated application.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse.linalg

from minmin.core.bound import Constants
from minmin.core.problem import Problem
from minmin.datasets import load_a1a
from minmin.experiments.clients import clients_of_a9a, clients_of_squares, data_name
from minmin.experiments.contestants import CENTRAL, FEDERATED
from minmin.problems import GLM, Quadratic

EXPERIMENTS = ("quadratic", "logistic", "scaling", "federated", "relatives")
PAPERS = EXPERIMENTS[:3]
"""The experiments of the paper, which "all" means; the others are run separately."""
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
"""The titles of the groups of settings. A group is a row of panels and belongs to one experiment."""

_A1A_COLUMNS_IN_X = 100
_SCALING_METHODS = ("bam", "bam-paper", "nag", "acdm-rescaled", "lincoupling-rescaled", "joint-lbfgs", "reduced-lbfgs")
_SCALING_INSTANCES = 3


@dataclass(frozen=True)
class Setting:
    """One problem, or a family of random problems.

    Attributes
    ----------
    experiment, group : str
    label : str
        The parameter that varies within the group, such as "L_y = 500".
    varied : float
        The value of that parameter.
    build : callable
        Builds the problem for a seed.
    is_random : bool
        Whether the problem depends on the seed.
    methods : tuple of str
        The keys of the contestants.
    most_seeds : int
        The largest number of seeds to run, to save time.
    data : str
        The name of the data, if the user can choose them.
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
        """The name of the setting in files."""
        return f"{self.group}/{self.varied:g}"


def a1a_smoothness() -> float:
    """λ_max(AᵀA)/4n, the paper's L of a1a."""
    A, _ = load_a1a()
    largest = scipy.sparse.linalg.svds(A, k=1, return_singular_vectors=False, random_state=0)[0]
    return float(largest**2 / (4 * A.shape[0]))


def describe_group(setting: Setting) -> str:
    """A description of the problems in a setting's group, for the page."""
    group = setting.group
    if group in ("paper", "tight"):
        return f"x has columns 1 to 100, y the last 19; μ_x = 0.01. {_describe_a1a_constants(group)}"
    return {
        "clients": f"Data: {setting.data}. The rows are sorted by a random combination of columns and split among the "
        "clients. x has the first 100 columns, y_i the other 23 and an intercept; α_x = 1e-3, α_y = 1e-4. One call of "
        "∇ₓ is one round of communication.",
        "squares": "d_x = 100, d_y = 50, 100 rows per client, α = 1e-3 in both blocks; three random problems.",
        "diagonal": "As in the paper, x and y do not interact, and the eigenvalues of each block are drawn uniformly "
        "between μ and L. μ_x = μ_y = 0.1, L_x = 50, d_x = 100, d_y = 10. Since μ_x = μ_y, the rescaled methods equal "
        "the plain ones.",
        "coupled": "x and y interact; the constants are the same and exact. The rescaled methods equal the plain ones.",
        "kappa_x": "Coupled quadratics with L_x = L_y = 1 and κ_y = 10⁴, three random problems per point. Here κ grows "
        "as μ falls. In Figure 1, κ_y grows with L_y: methods that move x and y together then need shorter steps in x "
        "and more calls. BAM's calls of ∇ₓ depend on κ_x alone. Dotted: the bound of Theorem 2.2, up to a constant.",
        "kappa_y": "The same with κ_x = 100 in place of κ_y = 10⁴, and κ_y growing.",
    }[group]


def _describe_a1a_constants(group: str) -> str:
    if group == "paper":
        return f"Methods that need constants get L_x = L_y = {a1a_smoothness():.3f}, as in the paper."
    proved = [setting.build(0).constants for setting in select_settings(("logistic",)) if setting.group == "tight"]
    kappas = "; ".join(f"{c.kappa_x:.0f}, {c.kappa_y:.0f}" for c in proved if c is not None)
    return f"The constants of each block are proved from the data: (κ_x, κ_y) = {kappas}."


def select_settings(experiments: tuple[str, ...], a9a: Path | None = None) -> list[Setting]:
    """The settings of some experiments, in a fixed order; ``a9a`` is the file of a9a, if there is one."""
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
    """d_x = 100, d_y = 19, μ_x = 0.01; the paper's penalty λ|·|² is alpha = 2λ = μ here."""
    return [
        Setting(
            "logistic",
            group,
            f"μ_y = {np.format_float_positional(mu_y, trim='-')}",
            mu_y,
            partial(_a1a, mu_y=mu_y, tight=group == "tight"),
            is_random=False,
        )
        for group in ("paper", "tight")
        for mu_y in (0.002, 0.0001, 0.00005)
    ]


def _scaling() -> list[Setting]:
    """One condition number varies and the other is fixed; the blocks are coupled, and L = 1 in both."""
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
    """Dissimilar clients that share x; each has its own y."""
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


def _quadratic(seed: int, **parameters: Any) -> Problem:
    return Quadratic.random(d_x=100, d_y=10, seed=seed, **parameters)


def _a1a(seed: int, mu_y: float, tight: bool) -> Problem:
    A, labels = load_a1a()
    X, Y = A[:, :_A1A_COLUMNS_IN_X], A[:, _A1A_COLUMNS_IN_X:]
    L = a1a_smoothness()
    constants = None if tight else Constants(L_x=L, L_y=L, mu_x=0.01, mu_y=mu_y)
    return GLM(X, Y, labels, alpha_x=0.01, alpha_y=mu_y, constants=constants)
