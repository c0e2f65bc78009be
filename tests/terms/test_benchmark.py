"""The benchmark of terms: its peers find the same minimum, and it runs as a command."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from minmin.terms import Box
from term_benchmark.instances import make_instances
from term_benchmark.joint import JointFunction, JointTerm
from term_benchmark.minimum import find_minimum
from term_benchmark.peers.fista import run_fista
from term_benchmark.peers.joint_lbfgs import count_joint_lbfgs
from term_benchmark.peers.lbfgsb import run_lbfgsb
from term_benchmark.peers.panoc import run_panoc
from term_benchmark.race import Race
from term_benchmark.reduced import ReducedFunction

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "terms.py"
INSTANCES = list(make_instances(quick=True))
BOXES = [instance for instance in INSTANCES if isinstance(instance.term_x, Box)]
CLOSE = 1e-10
"""How near to the minimum each peer must come, relative to the gap at the start; the benchmark asks for 1e-8."""


@pytest.fixture(scope="module", params=INSTANCES, ids=lambda instance: instance.name)
def case(request):
    """An instance and a value that is just above its minimum."""
    minimum = find_minimum(request.param)
    return request.param, minimum, minimum + CLOSE * (request.param.value(request.param.start) - minimum)


@pytest.mark.parametrize("method", [run_panoc, run_fista])
def test_a_peer_finds_the_minimum_on_the_reduced_function_and_jointly(method, case):
    instance, _, target = case
    assert Race(ReducedFunction(instance), instance.term_x, target, 5_000).run(method).reached
    assert Race(JointFunction(instance), JointTerm(instance), target, 20_000).run(method).reached


@pytest.mark.parametrize("case", BOXES, indirect=True, ids=lambda instance: instance.name)
def test_lbfgsb_finds_the_minimum_in_a_box(case):
    instance, _, target = case
    assert Race(ReducedFunction(instance), instance.term_x, target, 5_000).run(run_lbfgsb).reached


def test_the_joint_proximal_lbfgs_finds_the_minimum(case):
    instance, _, target = case
    assert count_joint_lbfgs(instance, target, 1_000).reached


@pytest.mark.parametrize("method", [run_panoc, run_fista])
def test_no_peer_goes_below_the_minimum(method, case):
    instance, minimum, _ = case
    below = minimum - CLOSE * (instance.value(instance.start) - minimum)
    race = Race(ReducedFunction(instance), instance.term_x, below, 200)
    assert not race.run(method).reached


@pytest.mark.parametrize("instance", INSTANCES, ids=lambda instance: instance.name)
def test_the_gradient_of_the_reduced_function_is_that_of_its_values(instance):
    F = ReducedFunction(instance)
    rng = np.random.default_rng(0)
    x, direction = rng.standard_normal((2, instance.f.d_x))
    slope = float(F.gradient(x) @ direction)
    difference = (F.value(x + 1e-5 * direction) - F.value(x - 1e-5 * direction)) / 2e-5
    assert difference == pytest.approx(slope, rel=1e-5)


@pytest.mark.slow
def test_the_benchmark_prints_its_tables_and_ratios():
    command = [sys.executable, "-X", "utf8", str(BENCHMARK), "--quick"]
    run = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=True)
    assert "| ours against |" in run.stdout
    assert "- ours / PANOC on F: median" in run.stdout
    assert "- not reached or not proved by us: none" in run.stdout
