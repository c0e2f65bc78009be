"""Against scipy's L-BFGS-B on data that lie beside the project."""

import pytest

import real_data


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "alpha_x", "alpha_y", "most"),
    [("a9a", 1e-2, 1e-3, 1.0), ("a9a", 1e-2, 1e-7, 0.5), ("criteo", 1e-4, 1e-5, 0.5)],
)
def test_fewer_calls_than_joint_lbfgs(name, alpha_x, alpha_y, most):
    """Never more calls of ∇ₓ, and at most half where κ_y is 100 times κ_x."""
    if (reason := real_data.missing(name)) is not None:
        pytest.skip(reason)
    ((*_, kappa_x, kappa_y, ours, raw, scaled),) = real_data.rows(name, [alpha_x], [alpha_y])
    assert most == 1.0 or kappa_y >= 100 * kappa_x
    assert ours["grad_x"] <= most * min(raw or 5000, scaled or 5000)
