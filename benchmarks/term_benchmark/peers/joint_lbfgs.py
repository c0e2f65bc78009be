"""Proximal L-BFGS on all variables: minmin's own, where x holds all variables and y is one number that f ignores."""

from __future__ import annotations

import numpy as np

import minmin
from term_benchmark.instances import Instance
from term_benchmark.joint import JointTerm
from term_benchmark.race import Count


def count_joint_lbfgs(instance: Instance, target: float, most_calls: int) -> Count:
    f, term = instance.f, JointTerm(instance)
    mu = min(instance.f.problem.constants.mu_x, instance.f.problem.constants.mu_y)
    smooth = minmin.problems.Function(
        lambda z, w: f.value(z) + 0.5 * float(w @ w),
        lambda z, w: f.gradient(z),
        lambda z, w: w,
        d_x=f.d_x + f.d_y,
        d_y=1,
        constants=minmin.Constants(L_x=f.largest_curvature, L_y=1.0, mu_x=mu, mu_y=1.0),
    )
    r = minmin.minimize(
        minmin.problems.Composite(smooth, term),
        instance.start,
        np.zeros(1),
        method="reduced-lbfgs",
        tol=0.0,
        target_value=target,
        max_grad_x=most_calls,
    )
    return Count(r.calls["grad_x"], r.status == "converged")
