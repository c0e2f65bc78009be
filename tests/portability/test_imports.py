"""`import minmin` loads nothing, `minmin.minimize` what every user needs, and the command's help only the command."""

import subprocess
import sys

import pytest

import minmin

LATER = ("cli", "estimators", "experiments", "extend", "federated", "lab", "theory")
OF_EXTRAS = (
    "PEPit",
    "click",
    "cvxpy",
    "flwr",
    "jax",
    "jinja2",
    "matplotlib",
    "pandas",
    "plotly",
    "pyarrow",
    "ray",
    "scipy.optimize",
    "scipy.stats",
    "skops",
    "sklearn",
    "torch",
)


def loaded_by(program):
    done = subprocess.run(
        [sys.executable, "-c", f"{program}; import sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return set(done.stdout.split())


def test_what_few_need_is_loaded_when_asked_for():
    assert not loaded_by("import minmin") & {"minmin.solve", "numpy"}
    modules = loaded_by("import minmin; minmin.minimize")
    assert "minmin.solve" in modules
    assert not modules & {*OF_EXTRAS, *(f"minmin.{name}" for name in LATER)}


def test_all_names_are_found():
    assert all(hasattr(minmin, name) for name in dir(minmin))


def test_help_loads_nothing_that_works():
    """All commands are in one module, so that one process tells of the help of each."""
    others = {"minmin.methods", "minmin.problems", "pandas", "pyarrow", "scipy", "sklearn", "skops"}
    pytest.importorskip("click")
    modules = loaded_by("import sys; from minmin.cli import app; code = app.run(['fit', '--help'])")
    assert {"minmin.cli.solve", "minmin.cli.federated"} <= modules
    assert not modules & others


def test_a_run_with_numpy_loads_no_other_array_library():
    run = "minmin.minimize(minmin.problems.Quadratic.random(d_x=2, d_y=2))"
    assert not loaded_by(f"import minmin; {run}") & {"jax", "torch"}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["estimators", "federated"])
def test_it_is_there_without_an_import_of_its_own(name):
    assert f"minmin.{name}" in loaded_by(f"import minmin; minmin.{name}")


def test_what_authors_need_loads_neither_federations_nor_extras():
    modules = loaded_by("import minmin; minmin.extend")
    assert "minmin.extend" in modules
    assert not modules & {*OF_EXTRAS, "minmin.federated", "minmin.theory"}
    assert not loaded_by("from minmin.extend import *") & {*OF_EXTRAS, "minmin.theory"}


def test_a_federation_needs_no_extra():
    assert not loaded_by("import minmin; minmin.federated") & set(OF_EXTRAS)
