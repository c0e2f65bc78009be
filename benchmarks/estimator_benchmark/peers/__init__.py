"""The peers: the solvers of other packages, by name. Each package is imported on first use: it may not be installed.

The module of a package has ``prepare(objective, matrix form, solver)``, which converts the data to the form of the
package and returns ``solve(tol) -> coefficients``. What ``tol`` means depends on the package.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from types import ModuleType

import scipy.sparse

from estimator_benchmark.losses import Vector
from estimator_benchmark.objective import Objective

Solve = Callable[[float], Vector]

_DENSE_FROM = 0.05
"""Data with at least this share of non-zeros are given to the packages as a dense array, too."""
_SPARSE_UP_TO = 0.6
"""Data with at most this share of non-zeros are given to the packages as a sparse matrix, too."""
_MOST_ENTRIES = 30_000_000
"""The limit for a dense array."""
_MOST_FACTORED = 4000
"""The limit for the coefficients of solvers that form a dense Hessian."""
_FACTORED_FIRST = 400
"""With at most this many coefficients, solvers that form a dense Hessian are tried first: they are often fast."""


@dataclass(frozen=True)
class Peer:
    """A solver of a package that gets the data in one form.

    Attributes
    ----------
    package : str
        Its name on the Python package index.
    solver : str
        The solver, as the package calls it; "" if there is only one.
    form : str
        "CSR", "C" or "F" (dense, by rows or by columns), or "split" (tabmat's own).
    """

    package: str
    solver: str
    form: str

    @property
    def name(self) -> str:
        return f"{self.package} {self.solver}".strip()

    @property
    def title(self) -> str:
        return f"{self.name} [{self.form}]"

    @property
    def version(self) -> str:
        return version(self.package)

    @property
    def installed(self) -> bool:
        return find_spec(_MODULES[self.package]) is not None

    def load(self) -> ModuleType:
        """Import its module. Do this before limiting threads: limits apply only to libraries that are loaded."""
        return import_module(f"estimator_benchmark.peers.{self.package.replace('-', '_')}")

    def prepare(self, objective: Objective) -> Solve:
        prepared: Solve = self.load().prepare(objective, self.form, self.solver)
        return prepared


_MODULES = {"scikit-learn": "sklearn", "liblinear-official": "liblinear", "glum": "glum", "cyanure": "cyanure"}
_FACTORING = ("newton-cholesky", "irls-ls", "cholesky")
_WITHOUT_WEIGHTS = ("liblinear-official", "cyanure")
_SKLEARN_LOGISTIC = [("scikit-learn", solver) for solver in ("newton-cholesky", "newton-cg", "lbfgs")]
_GLUM = [("glum", solver) for solver in ("irls-ls", "lbfgs")]
_SOLVERS = {
    "logistic": [
        ("liblinear-official", ""),
        ("scikit-learn", "liblinear"),
        *_GLUM,
        *_SKLEARN_LOGISTIC,
        ("cyanure", ""),
    ],
    "poisson": [*_GLUM, ("scikit-learn", "newton-cholesky"), ("scikit-learn", "lbfgs")],
    "squared": [
        ("scikit-learn", "cholesky"),
        ("scikit-learn", "lsqr"),
        ("scikit-learn", "sparse_cg"),
        ("liblinear-official", ""),
        *_GLUM,
        ("cyanure", ""),
    ],
    "softmax": [*_SKLEARN_LOGISTIC, ("cyanure", "")],
}
"""The packages and solvers for each loss, in the order in which they are tried; fast ones first."""


def find_peers(objective: Objective) -> list[Peer]:
    """All solvers that can minimise this objective, with the data in all forms that may suit them."""
    forms = _choose_forms(objective)
    peers = []
    size = math.prod(objective.shape)
    order = sorted(_SOLVERS[objective.loss], key=lambda pair: size <= _FACTORED_FIRST and pair[1] not in _FACTORING)
    for package, solver in order:
        too_many = solver in _FACTORING and size > _MOST_FACTORED
        if too_many or (package in _WITHOUT_WEIGHTS and objective.data.weights is not None):
            continue
        if package == "glum":
            is_split = scipy.sparse.issparse(objective.data.matrix) or objective.data.one_hot
            chosen = ["split", "F"] if is_split and "F" in forms else ["split"]
        elif package == "liblinear-official" or solver == "liblinear":
            chosen = ["CSR"]  # it has only one form, a list of (index, value), to which others are converted
        elif objective.loss in ("poisson", "squared") and package == "scikit-learn":
            chosen = forms
        else:
            chosen = [form for form in forms if form != "F"]  # these copy arrays that are not C-contiguous
        peers += [Peer(package, solver, form) for form in chosen]
    return peers


def _choose_forms(objective: Objective) -> list[str]:
    density, entries = objective.data.density, objective.data.matrix.shape[0] * objective.data.matrix.shape[1]
    sparse = ["CSR"] if density <= _SPARSE_UP_TO else []
    dense = ["C", "F"] if density >= _DENSE_FROM and entries <= _MOST_ENTRIES else []
    return [*sparse, *dense] or ["CSR"]
