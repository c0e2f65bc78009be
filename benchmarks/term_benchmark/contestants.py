"""Every contestant by its name: how many gradients in x it computes on an instance."""

from __future__ import annotations

from collections.abc import Callable

import minmin
from minmin.terms import Box
from term_benchmark.instances import Instance
from term_benchmark.joint import JointFunction, JointTerm
from term_benchmark.peers.fista import run_fista
from term_benchmark.peers.joint_lbfgs import count_joint_lbfgs
from term_benchmark.peers.lbfgsb import run_lbfgsb
from term_benchmark.peers.panoc import run_panoc
from term_benchmark.race import Count, Race
from term_benchmark.reduced import ReducedFunction

PANOC_ON_F, FISTA_ON_F, LBFGSB_ON_F = "PANOC on F", "FISTA on F", "L-BFGS-B on F"
JOINT_LBFGS, JOINT_PANOC, JOINT_FISTA = "joint proximal L-BFGS", "joint PANOC", "joint FISTA"
PEERS = (PANOC_ON_F, FISTA_ON_F, LBFGSB_ON_F, JOINT_LBFGS, JOINT_PANOC, JOINT_FISTA)
_MOST_CALLS, _MOST_CALLS_OF_JOINT_LBFGS = 5_000, 300
"""Where peers give up; the second value for the joint proximal L-BFGS, whose steps take long."""


def count_ours(instance: Instance, target: float) -> Count:
    """Calls until f + p + q is at most the target."""
    r = minmin.minimize(instance.composite, tol=0.0, target_value=target)
    return Count(r.calls["grad_x"], r.status == "converged")


def count_certified(instance: Instance, tol: float) -> Count:
    """Calls until f + p + q is proved to be at most tol above its minimum."""
    r = minmin.minimize(instance.composite, tol=tol)
    return Count(r.calls["grad_x"], r.status == "converged" and r.certified)


def count_peers(instance: Instance, target: float) -> dict[str, Count]:
    """Calls of each peer that applies, until f + p + q is at most the target."""

    def on_reduced(method: Callable[[Race], None]) -> Count:
        return Race(ReducedFunction(instance), instance.term_x, target, _MOST_CALLS).run(method)

    def jointly(method: Callable[[Race], None]) -> Count:
        return Race(JointFunction(instance), JointTerm(instance), target, _MOST_CALLS).run(method)

    counts = {PANOC_ON_F: on_reduced(run_panoc), FISTA_ON_F: on_reduced(run_fista)}
    if isinstance(instance.term_x, Box):
        counts[LBFGSB_ON_F] = on_reduced(run_lbfgsb)
    counts[JOINT_LBFGS] = count_joint_lbfgs(instance, target, _MOST_CALLS_OF_JOINT_LBFGS)
    return counts | {JOINT_PANOC: jointly(run_panoc), JOINT_FISTA: jointly(run_fista)}
