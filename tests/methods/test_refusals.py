"""Refusals name what is to blame, whatever the options, and methods of a user's own are refused like the others."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import minmin
from minmin.extend import Candidate, Need
from minmin.problems import Composite, Quadratic
from minmin.terms import L1

PROBLEM = Quadratic.random(d_x=3, d_y=2, coupling=1.0)


@dataclass(frozen=True)
class Own(minmin.Method):
    """A method of a user's own, with options of several kinds."""

    name: ClassVar[str] = "own"
    needs: ClassVar[frozenset[Need]] = frozenset({Need.ROWS})
    length: float
    inner: str = "own"
    weights: Any = None

    def __post_init__(self) -> None:
        if self.inner != "own":
            raise ValueError("inner must be own")
        if not self.length > 0.0:
            raise ValueError("length must be positive")

    def init(self, problem, x, y):
        return Candidate(x, y)

    def step(self, problem, state):
        return state


@dataclass(frozen=True)
class Nameless(minmin.Method):
    """A method without a name."""

    def init(self, problem, x, y):
        return Candidate(x, y)

    def step(self, problem, state):
        return state


@pytest.mark.parametrize("weights", [None, np.ones(2)])
def test_a_method_of_a_users_own_is_refused_whatever_its_options_are(weights):
    with pytest.raises(minmin.UnsupportedError, match=r"^method 'own' draws rows .*; take method='reduced-lbfgs'$"):
        minmin.minimize(PROBLEM, method=Own(0.1, weights=weights))


def test_a_method_without_a_name_is_an_error():
    with pytest.raises(minmin.InputError, match="Nameless has no name"):
        minmin.minimize(PROBLEM, method=Nameless())


def test_two_options_may_be_to_blame_together():
    words = (
        "so inner='nag-ogmg' with scheme='triple-momentum' does not support a term in y; take method='reduced-lbfgs'$"
    )
    with pytest.raises(minmin.UnsupportedError, match=words):
        minmin.minimize(Composite(PROBLEM, term_y=L1(0.1)), method="bam", inner="nag-ogmg", scheme="triple-momentum")


def test_a_term_in_x_is_called_so_where_the_blocks_are_exchanged():
    with pytest.raises(minmin.UnsupportedError, match="a term in y, and outer='y' exchanges x and y; take inner"):
        minmin.minimize(Composite(PROBLEM, term_x=L1(0.1)), method="bam", inner="nag-ogmg", outer="y")


def test_a_remedy_follows_other_advice():
    with pytest.raises(minmin.UnsupportedError, match=r"the expensive one; or give method='reduced-lbfgs'$"):
        minmin.minimize(PROBLEM, method="sliding")
    three = Quadratic(PROBLEM.H, PROBLEM.b, sizes=[2, 1, 2])
    with pytest.raises(minmin.UnsupportedError, match="takes two blocks; these methods take more: reduced-lbfgs"):
        minmin.minimize(three, method="sliding")
