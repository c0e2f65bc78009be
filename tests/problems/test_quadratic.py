"""What Quadratic promises besides its gradients."""

from __future__ import annotations

from unittest.mock import patch

import minmin
from minmin.problems import spectrum


def test_a_run_chooses_the_constants_once():
    given = minmin.problems.Quadratic.random(d_x=8, d_y=3, coupling=1.0)
    problem = minmin.problems.Quadratic(given.H, given.b, given.d_x)
    with patch.object(spectrum, "choose_cheapest", wraps=spectrum.choose_cheapest) as choose:
        assert minmin.minimize(problem, method="bam").nit > 10
    assert choose.call_count == 1
