"""Keywords that minmin does not have, and those that it has: the error and help() say what to give."""

import inspect
import json
import re
from dataclasses import fields

import pytest

import minmin
from minmin import federated
from minmin.federated.keywords import OF_RUN
from minmin.methods.keywords import OF_MINIMIZE
from minmin.problems import Quadratic
from reference import as_function

PROBLEM = Quadratic.random(d_x=4, d_y=3)
INSTEAD = {
    "maxiter": "max_iterations, max_grad_x, max_grad_y and max_seconds",
    "max_iter": "max_iterations, max_grad_x, max_grad_y and max_seconds",
    "n_iter": "max_iterations, max_grad_x, max_grad_y and max_seconds",
    "ftol": "tolerances are tol and rtol .* and gtol",
    "xtol": "tolerances are tol and rtol .* and gtol",
    "atol": "tolerances are tol and rtol .* and gtol",
    "eps": "tolerances are tol and rtol .* and gtol",
    "constraints": "bounds_x and bounds_y; .*minmin.terms",
    "fun": r"minimize\(f, x0, y0, grad_x=",
    "jac": r"minimize\(f, x0, y0, grad_x=",
    "hess": "belong to the problem",
    "args": "functools.partial",
    "options": "a keyword of its own",
    "disp": "progress=True",
    "verbose": "progress=True",
    "random_state": "is seed",
    "max_time": "max_seconds",
    "time_limit": "max_seconds",
    "x_0": "the start is x0",
    "solver": "method=",
    "term_x": r"Composite\(problem, term_x=",
    "terms": r"Composite\(problem, term_x=",
}
INSTEAD_IN_A_FEDERATION = {name: words for name, words in INSTEAD.items() if name != "term_x"} | {
    "maxiter": "rounds and max_seconds",
    "max_iter": "rounds and max_seconds",
    "n_iter": "rounds and max_seconds",
    "fun": "belong to a client's problem: .*minmin.problems.Function",
    "jac": "belong to a client's problem: .*minmin.problems.Function",
    "grad_x": "belong to a client's problem: .*minmin.problems.Function",
    "constants": "belong to a client's problem: .*minmin.problems.Function",
    "max_iterations": "rounds and max_seconds",
    "max_grad_x": "rounds and max_seconds",
    "y0": "minmin.federated.Client",
    "bounds": r"term_x= and bounds_x=; .*Composite\(problem, term_y=",
    "constraints": r"term_x= and bounds_x=; .*Composite\(problem, term_y=",
    "random_state": "only 'proxskip' draws",
    "target_value": "callback",
    "terms": r"term_x= and bounds_x=; .*Composite\(problem, term_y=",
    "fraction": "every client takes part in each round",
    "clients_per_round": "every client takes part in each round",
    "fraction_train": "every client takes part in each round",
    "min_fit_clients": "every client takes part in each round",
}


@pytest.mark.parametrize("option", INSTEAD)
@pytest.mark.parametrize("method", ["auto", "bam", minmin.methods.Bam()], ids=str)
def test_names_of_other_packages_are_met_with_ours(method, option):
    with pytest.raises(minmin.InputError, match=rf"no option '{option}': .*{INSTEAD[option]}"):
        minmin.minimize(PROBLEM, method=method, **{option: 3})


@pytest.mark.parametrize("option", INSTEAD_IN_A_FEDERATION)
@pytest.mark.parametrize("method", ["reduced-lbfgs", "fedavg", minmin.methods.Bam()], ids=str)
def test_a_federation_has_names_of_its_own(method, option):
    with pytest.raises(minmin.InputError, match=rf"no option '{option}': .*{INSTEAD_IN_A_FEDERATION[option]}"):
        federated.run([federated.Client(PROBLEM)], method, **{option: 3})


def test_an_option_of_a_method_object_is_set_in_the_object():
    with pytest.raises(minmin.InputError, match=r"'inner' is an option of a method given by name; set it in Bam"):
        minmin.minimize(PROBLEM, method=minmin.methods.Bam(), inner="nag")


@pytest.mark.parametrize(("function", "keywords"), [(minmin.minimize, OF_MINIMIZE), (federated.run, OF_RUN)])
def test_all_keywords_of_a_function_are_suggested(function, keywords):
    parameters = inspect.signature(function).parameters.values()
    assert set(keywords.names.split()) == {p.name for p in parameters if p.kind is p.KEYWORD_ONLY}


def test_help_of_minimize_names_every_keyword():
    for name in inspect.signature(minmin.minimize).parameters:
        assert re.search(rf"^(\w+, )*\**{name}\b", inspect.getdoc(minmin.minimize), re.MULTILINE), name


@pytest.mark.parametrize("method", [name for name in minmin.methods.names() if name != "auto"])
def test_help_of_minimize_names_every_option_with_its_default(method):
    kind = type(minmin.extend.build(method, PROBLEM, {}, None)[0])
    for field in fields(kind):
        if field.name != "seed":  # a keyword of minimize() itself
            default = json.dumps(field.default) if isinstance(field.default, str) else repr(field.default)
            assert f"``{field.name}={default}``" in minmin.minimize.__doc__
    assert f'"{method}"' in minmin.minimize.__doc__


@pytest.mark.parametrize("kind", [minmin.methods.Bam, minmin.methods.ReducedLbfgs])
def test_the_help_of_a_method_names_the_default_inner_solver(kind):
    assert f'default "{kind().inner}"' in kind.__doc__


def test_without_constants_a_bound_is_an_estimate_as_help_says():
    f = as_function(PROBLEM)
    r = minmin.minimize(minmin.problems.Function(f.value, f.grad_x, f.grad_y, d_x=4, d_y=3))
    assert r.success
    assert not r.certified
    assert r.bound.basis == "estimate"
