"""Names that have moved to ``minmin.extend``: the old spellings work, and say where the name is now."""

import inspect
import pickle
import subprocess
import sys
from importlib import import_module

import pytest

import minmin
from minmin import extend

MOVED = {
    "methods": ["Candidate", "build", "check_method", "describe", "nag_ogm_g", "ogm_g", "require_constants"],
    "problems": [
        "AutodiffFunction",
        "CategoricalDesign",
        "Evaluation",
        "LinearModel",
        "MixedDesign",
        "SecondOrderEvaluation",
        "SecondOrderProblem",
        "SecondOrderSlice",
        "Slice",
    ],
    "terms": ["PartsTerm", "Scaled"],
    "federated": ["ClientTask", "Engine", "Envelope", "Outcome", "StateStore"],
    "theory": ["SolverError"],
}
OLD = [pytest.param(package, name, id=f"{package}.{name}") for package, names in MOVED.items() for name in names]
WHERE_CLASSES_ARE = {
    "core.evaluation": ["Evaluation"],
    "core.problem": ["Slice"],
    "core.second_order": ["SecondOrderEvaluation", "SecondOrderProblem", "SecondOrderSlice"],
    "federated.engines.base": ["Engine"],
    "federated.protocol": ["Envelope"],
    "federated.store": ["StateStore"],
    "federated.tasks": ["ClientTask", "Outcome"],
    "methods.base": ["Candidate"],
    "problems.autodiff.function": ["AutodiffFunction"],
    "problems.linear.categories": ["CategoricalDesign"],
    "problems.linear.mixed": ["MixedDesign"],
    "problems.linear.model": ["LinearModel"],
    "terms.parts": ["PartsTerm"],
    "terms.scaled": ["Scaled"],
    "theory.solving": ["SolverError"],
}


@pytest.mark.parametrize(("package", "name"), OLD)
def test_an_old_name_is_the_new_one_and_warns(package, name):
    message = rf"minmin\.{package}\.{name} is now minmin\.extend\.{name}; .* removed in minmin 0\.3"
    with pytest.warns(DeprecationWarning, match=message) as caught:
        old = getattr(import_module(f"minmin.{package}"), name)
    assert old is getattr(extend, name)
    assert [warning.filename for warning in caught] == [__file__]  # once, and where the name is used


@pytest.mark.parametrize(("package", "name"), OLD)
def test_an_old_name_can_be_imported(package, name):
    namespace = {}
    with pytest.warns(DeprecationWarning, match=rf"minmin\.{package}\.{name} is now"):
        exec(f"from minmin.{package} import {name}", namespace)
    assert namespace[name] is getattr(extend, name)


def test_a_place_warns_once_by_the_filters_that_python_has():
    lines = ["from minmin.terms import Scaled", "import minmin", "for _ in range(3):", "    minmin.problems.Slice"]
    command = [sys.executable, "-c", "\n".join(lines)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert done.stderr.count("DeprecationWarning") == 2
    assert done.stderr.count("minmin.terms.Scaled is now minmin.extend.Scaled") == 1
    assert done.stderr.count("minmin.problems.Slice is now minmin.extend.Slice") == 1


@pytest.mark.parametrize("package", [minmin, extend, *(getattr(minmin, name) for name in MOVED)])
def test_a_name_that_never_was_is_an_error(package):
    with pytest.raises(AttributeError, match=rf"module '{package.__name__}' has no attribute 'Skaled'"):
        _ = package.Skaled


def test_classes_are_where_earlier_pickles_look_for_them():
    for module, names in WHERE_CLASSES_ARE.items():
        for name in names:
            earlier = f"cminmin.{module}\n{name}\n.".encode()  # by protocol 0: a module and a name in it
            assert pickle.loads(earlier) is getattr(extend, name)
    classes = {name for name in extend.__all__ if inspect.isclass(getattr(extend, name))}
    listed = {name for names in WHERE_CLASSES_ARE.values() for name in names}
    assert classes - listed == {
        "Feature",
        "Need",
        "Outer",
        "Piece",
        "Tally",
        "Target",
        "Traits",
        "YTask",
    }  # those that were not public


def test_the_table_of_coefficients_has_a_former_name():
    with pytest.warns(DeprecationWarning, match=r"summary\.Summary is now called CoefficientTable; .* minmin 0\.3"):
        old = pickle.loads(b"cminmin.estimators.summary\nSummary\n.")  # as in a pickle of an earlier version
    assert old is import_module("minmin.estimators.summary").CoefficientTable
