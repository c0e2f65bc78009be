"""minimize(): how runs end, what they report, what they refuse."""

import pickle
import signal
import time

import array_api_strict
import numpy as np
import pytest

import minmin
from minmin.problems import Function, Quadratic
from reference import ExactQuadratic, as_function, glm_minimum, random_glm


@pytest.fixture(scope="module")
def problem():
    return Quadratic.random(d_x=20, d_y=5, coupling=1.0)


def test_tol_is_certified_and_absolute(problem):
    exact = ExactQuadratic(problem)
    for tol in (1e-1, 1e-4, 1e-9):
        r = minmin.minimize(problem, tol=tol)
        assert r.success
        assert r.status == "converged"
        assert exact.gap(r.x, r.y) <= r.gap_bound <= tol
        assert r.certified
        assert r.fun == problem.fix(r.x).at(r.y).value


def test_the_certificate_holds_on_logistic_regression():
    rng = np.random.default_rng(4)
    for _ in range(30):
        glm = random_glm(rng, sparse=bool(rng.integers(2)))
        _, minimum = glm_minimum(glm)
        r = minmin.minimize(glm, tol=1e-7)
        assert r.success
        assert r.fun - minimum <= r.gap_bound + 1e-15


def test_estimated_constants_do_not_certify(problem):
    c = problem.constants
    guess = minmin.Constants(c.L_x, c.L_y, c.mu_x, c.mu_y, source="estimated")
    r = minmin.minimize(Quadratic(problem.H, problem.b, problem.d_x, guess))
    assert r.success
    assert not r.certified


def test_target_value_stops_at_the_first_answer_that_reaches_it(problem):
    exact = ExactQuadratic(problem)
    target = 0.999 * exact.value
    r = minmin.minimize(problem, method="bam", tol=0, target_value=target)
    assert r.success
    assert r.fun <= target
    assert "target_value" in r.message
    earlier = minmin.minimize(problem, method="bam", tol=0, max_grad_x=r.calls["grad_x"] - 1)
    assert earlier.status == "budget"
    assert np.all(earlier.history.value[:-1] > target)


def test_a_start_that_meets_the_target_costs_nothing(problem):
    r = minmin.minimize(problem, target_value=0.0)
    assert r.success
    assert r.nit == r.calls["grad_x"] == 0


@pytest.mark.parametrize("budget", [0, 1, 7, 30])
def test_budgets_are_never_exceeded(problem, budget):
    for kind in ("grad_x", "grad_y"):
        r = minmin.minimize(problem, method="bam", tol=1e-12, **{f"max_{kind}": budget})
        assert r.status == "budget"
        assert not r.success
        assert r.calls[kind] == budget
        assert f"max_{kind} = {budget}" in r.message
        assert r.fun <= 0.0


def test_max_seconds_ends_a_run_in_the_middle_of_a_step():
    def slow(x, y):
        time.sleep(0.02)
        return y

    constants = minmin.Constants(1.0, 1e6, 1e-6, 1.0)
    lazy = Function(lambda x, y: 0.0, lambda x, y: x, slow, d_x=1, d_y=1, constants=constants)
    r = minmin.minimize(lazy, np.ones(1), np.ones(1), tol=1e-30, max_seconds=0.1)
    assert r.status == "budget"
    assert 0.1 <= r.seconds < 0.5


def test_looking_stops_the_clock(problem):
    def slow_value(x, y):
        time.sleep(0.01)
        return problem.fix(x).at(y).value

    f = as_function(problem)
    f.value = slow_value
    r = minmin.minimize(f, tol=1e-3)
    assert r.calls["monitor"] >= 10
    assert r.seconds < 0.01 * r.calls["monitor"] / 2


def test_a_callback_sees_every_iteration_and_can_stop(problem):
    seen = []

    def callback(record):
        seen.append(record)
        return len(seen) == 5

    r = minmin.minimize(problem, callback=callback, tol=1e-12)
    assert r.status == "interrupted"
    assert "callback" in r.message
    assert r.nit == 5
    assert [s.grad_x for s in seen] == [1, 2, 3, 4, 5]
    assert seen[-1].value == problem.fix(seen[-1].x).at(seen[-1].y).value


def test_a_callback_that_raises_is_named_and_the_answer_kept(problem):
    def callback(record):
        if record.grad_x == 3:
            raise RuntimeError("no more")

    with pytest.raises(minmin.UserCodeError, match="callback raised RuntimeError: no more") as caught:
        minmin.minimize(problem, callback=callback)
    assert caught.value.result.nit == 3
    assert isinstance(caught.value.__cause__, RuntimeError)


@pytest.mark.parametrize("where", ["callback", "gradient"])
def test_ctrl_c_gives_the_best_answer_so_far(problem, where):
    f = as_function(problem)
    gradient, count = f.grad_y, [0]

    def interrupting(*_):
        count[0] += 1
        if count[0] == 20:
            signal.raise_signal(signal.SIGINT)

    if where == "callback":
        r = minmin.minimize(f, tol=1e-12, callback=interrupting)
    else:
        f.grad_y = lambda x, y: (interrupting(), gradient(x, y))[1]
        r = minmin.minimize(f, tol=1e-12)
    assert r.status == "interrupted"
    assert "keyboard" in r.message
    assert r.nit > 0
    assert r.fun < 0.0
    assert r.gap_bound == min(r.history.gap_bound)


def test_the_history_is_whole_at_first_and_thin_later(problem):
    r = minmin.minimize(problem, method="nag", tol=1e-9)
    assert r.nit > 500
    columns = r.history
    assert list(columns.grad_x[:101]) == list(range(101))
    assert len(columns) < 101 + 100 * np.log(r.nit / 100) * 1.4
    assert r.calls["monitor"] <= len(columns) + 1
    for name in ("grad_x", "grad_y", "seconds"):
        assert np.all(np.diff(columns[name]) >= 0)
    assert columns.value[-1] == r.fun
    assert columns.gap_bound[-1] == r.gap_bound
    assert columns.gap_bound[0] == np.inf
    frame = columns.to_pandas()
    assert list(frame.columns) == ["grad_x", "grad_y", "value", "gap_bound", "seconds"]
    assert len(frame) == len(columns)


def test_history_names_its_columns_when_asked_for_another(problem):
    history = minmin.minimize(problem, max_grad_x=2).history
    with pytest.raises(KeyError, match="grad_x, grad_y, value"):
        history["loss"]
    with pytest.raises(AttributeError, match="columns are"):
        history.loss  # noqa: B018


def test_a_result_pickles_and_reads_well(problem):
    r = minmin.minimize(problem)
    again = pickle.loads(pickle.dumps(r))
    assert np.array_equal(again.x, r.x)
    assert np.array_equal(again.history.value, r.history.value)
    text = str(r)
    assert "converged" in text
    assert "certified" in text
    assert f"grad_x {r.calls['grad_x']}" in text


def test_plot_shows_both_curves_on_three_axes(problem):
    figure = minmin.minimize(problem).plot()
    assert [a.get_xlabel() for a in figure.axes] == ["calls of $\\nabla_x f$", "calls of $\\nabla_y f$", "seconds"]
    for axis in figure.axes:
        assert len(axis.lines) == 2
        assert all(len(line.get_xdata()) > 10 for line in axis.lines)


def test_progress_goes_to_standard_error(problem, capsys):
    r = minmin.minimize(problem, progress=True)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert f"∇x {r.calls['grad_x']}" in captured.err
    assert "gap ≤" in captured.err


def test_without_values_a_run_still_certifies():
    p = Quadratic.random(d_x=4, d_y=3)
    f = as_function(p)
    silent = Function(None, f.grad_x, f.grad_y, d_x=4, d_y=3, constants=p.constants)
    r = minmin.minimize(silent)
    assert r.success
    assert np.isnan(r.fun)
    assert r.calls["monitor"] == 0
    assert ExactQuadratic(p).gap(r.x, r.y) <= r.gap_bound
    with pytest.raises(minmin.UnsupportedError, match="target_value needs values"):
        minmin.minimize(silent, target_value=0.0)


def test_starts_may_be_lists_integers_and_read_only(problem):
    start = np.ones(20)
    start.flags.writeable = False
    for x0, y0 in [(start, [1] * 5), (np.ones(20, dtype=int), None), (None, np.ones(10)[::2])]:
        r = minmin.minimize(problem, x0, y0)
        assert r.success
        assert r.x.dtype == r.y.dtype == np.float64


def test_a_user_who_returns_one_buffer_every_time_is_served(problem):
    buffers = {}

    def reusing(name, function):
        def wrapped(x, y):
            answer = function(x, y)
            buffer = buffers.setdefault(name, np.empty_like(answer))
            buffer[:] = answer
            return buffer

        return wrapped

    f = as_function(problem)
    g = Function(f.value, reusing("x", f.grad_x), reusing("y", f.grad_y), d_x=20, d_y=5, constants=f.constants)
    a, b = minmin.minimize(f), minmin.minimize(g)
    assert np.array_equal(a.x, b.x)
    assert a.calls == b.calls


def nan_after(function, calls):
    count = [0]

    def wrapped(x, y):
        count[0] += 1
        answer = function(x, y)
        return answer * np.nan if count[0] > calls else answer

    return wrapped


def test_gradients_may_be_of_another_library(problem):
    f = as_function(problem)

    def grad_x(x, y):
        return array_api_strict.asarray(f.grad_x(x, y))

    r = minmin.minimize(broken(problem, grad_x=grad_x))
    assert r.success
    assert np.array_equal(r.x, minmin.minimize(f).x)


def test_a_function_that_refuses_numpy_arrays_names_the_start_that_it_needs(problem):
    def grad_x(x, y):
        raise TypeError("must be Tensor, not numpy.ndarray")

    with pytest.raises(minmin.UserCodeError, match=r"not numpy.ndarray; x and y are NumPy arrays.*x0=torch.zeros"):
        minmin.minimize(broken(problem, grad_x=grad_x))


@pytest.mark.parametrize("name", ["value", "grad_x", "grad_y"])
def test_nan_during_a_run_carries_the_last_finite_answer(problem, name):
    f = as_function(problem)
    setattr(f, name, nan_after(getattr(f, name), 10))
    with pytest.raises(minmin.NonFiniteError, match="nan") as caught:
        minmin.minimize(f, tol=1e-9)
    assert isinstance(caught.value, ArithmeticError)
    result = caught.value.result
    assert np.isfinite(result.fun)
    assert np.all(np.isfinite(result.x))
    assert result.status == "interrupted"
    assert not result.success


def broken(problem, **replaced):
    f = as_function(problem)
    for name, function in replaced.items():
        setattr(f, name, function)
    return f


def raising(x, y):
    raise KeyError("lost")


BAD_ANSWERS = {
    "wrong length": ({"grad_x": lambda x, y: np.ones(3)}, minmin.InputError, r"grad_x\(x, y\) returned shape \(3,\)"),
    "a matrix": (
        {"grad_y": lambda x, y: np.ones((5, 1))},
        minmin.InputError,
        r"grad_y.*\(5, 1\); it must return \(5,\)",
    ),
    "text": ({"grad_y": lambda x, y: "up"}, minmin.InputError, r"grad_y\(x, y\) holds <U2"),
    "nothing": ({"grad_x": lambda x, y: None}, minmin.InputError, r"grad_x\(x, y\) holds object"),
    "complex": ({"grad_x": lambda x, y: 1j * x}, minmin.InputError, r"grad_x\(x, y\) has dtype complex128"),
    "value is a vector": ({"value": lambda x, y: x}, minmin.InputError, r"value\(x, y\) returned.*one number"),
    "value is text": ({"value": lambda x, y: "1.5"}, minmin.InputError, r"value\(x, y\) returned '1.5'; .*one number"),
    "value is bytes": (
        {"value": lambda x, y: np.array(b"1.5")},
        minmin.InputError,
        r"value\(x, y\) returned .*one num",
    ),
    "value is masked": ({"value": lambda x, y: np.ma.masked}, minmin.InputError, r"value\(x, y\) returned masked"),
    "masked entries": (
        {"grad_x": lambda x, y: np.ma.masked_array(x, mask=np.arange(len(x)) == 1)},
        minmin.InputError,
        r"grad_x\(x, y\) is a masked array with masked entries; fill them",
    ),
    "raises": ({"grad_x": raising}, minmin.UserCodeError, r"grad_x\(x, y\) raised KeyError: 'lost'"),
    "infinite": ({"grad_y": lambda x, y: y + np.inf}, minmin.NonFiniteError, r"grad_y\(x, y\) returned inf at index 0"),
}


@pytest.mark.parametrize("case", BAD_ANSWERS)
def test_bad_answers_of_callables_are_named(problem, case):
    replaced, error, words = BAD_ANSWERS[case]
    with pytest.raises(error, match=words):
        minmin.minimize(broken(problem, **replaced))


BAD_ARGUMENTS = {
    "no problem": (lambda p: minmin.minimize(3), r"must be a minmin problem or a function of \(x, y\).*got int"),
    "nothing": (lambda p: minmin.minimize(None), r"must be a minmin problem or a function of \(x, y\).*got NoneType"),
    "a class": (
        lambda p: minmin.minimize(Quadratic),
        r"must be a minmin problem or a function.*got the class Quadratic",
    ),
    "short x0": (lambda p: minmin.minimize(p, np.ones(3)), r"x0 has shape \(3,\); this problem needs \(20,\)"),
    "matrix y0": (lambda p: minmin.minimize(p, y0=np.ones((5, 1))), r"y0 has shape \(5, 1\).*flatten it with reshape"),
    "named arrays": (lambda p: minmin.minimize(p, {"w": np.ones(20)}), r"x0 is a dict.*needs one flat array.*from_jax"),
    "several arrays": (
        lambda p: minmin.minimize(p, [np.ones(12), np.ones(8)]),
        r"x0 is a list of arrays.*needs one flat array.*from_jax",
    ),
    "NaN in y0": (lambda p: minmin.minimize(p, y0=[0, 0, np.nan, 0, 0]), r"y0 holds nan at index 2"),
    "complex x0": (lambda p: minmin.minimize(p, 1j * np.ones(20)), r"x0 has dtype complex128"),
    "two dtypes": (
        lambda p: minmin.minimize(p, np.ones(20, np.float32), np.ones(5)),
        r"x0 is float32 of .* and y0 is float64 of .*; give both in one dtype and library",
    ),
    "unknown method": (lambda p: minmin.minimize(p, method="bma"), r"unknown method 'bma': did you mean 'bam'"),
    "method of another kind": (lambda p: minmin.minimize(p, method=3), r"unknown method 3"),
    "unknown option": (
        lambda p: minmin.minimize(p, method="bam", iner="nag"),
        r"no option 'iner': did you mean 'inner'",
    ),
    "another's option": (
        lambda p: minmin.minimize(p, method="nag", inner="nag"),
        r"no option 'inner'.*rescale",
    ),
    "unknown inner": (lambda p: minmin.minimize(p, method="bam", inner="lbgfs"), r"unknown inner 'lbgfs'.*'lbfgs'"),
    "unknown outer": (lambda p: minmin.minimize(p, method="bam", outer="z"), r"unknown outer 'z'"),
    "rescale as text": (lambda p: minmin.minimize(p, method="nag", rescale="yes"), r"rescale must be True or False"),
    "negative tol": (lambda p: minmin.minimize(p, tol=-1.0), r"tol = -1.0 must be a number >= 0"),
    "tol as text": (lambda p: minmin.minimize(p, tol="small"), r"tol must be a number, got 'small'"),
    "NaN tol": (lambda p: minmin.minimize(p, tol=float("nan")), r"tol = nan"),
    "fractional budget": (lambda p: minmin.minimize(p, max_grad_x=1.5), r"max_grad_x = 1.5 must be a whole number"),
    "negative budget": (lambda p: minmin.minimize(p, max_grad_y=-1), r"max_grad_y = -1"),
    "negative seconds": (lambda p: minmin.minimize(p, max_seconds=-1), r"max_seconds = -1"),
    "NaN target": (lambda p: minmin.minimize(p, target_value=float("nan")), r"target_value = nan"),
    "NumPy's tol": (lambda p: minmin.minimize(p, tol=np.float64(-1.0)), r"tol = -1.0 must"),
    "NumPy's budget": (lambda p: minmin.minimize(p, max_grad_x=np.int64(-1)), r"max_grad_x = -1 must"),
    "NumPy's text": (lambda p: minmin.minimize(p, method="bam", inner=np.str_("lbgfs")), r"unknown inner 'lbgfs'"),
    "callback of another kind": (lambda p: minmin.minimize(p, callback=3), r"callback must be callable"),
    "bad seed": (lambda p: minmin.minimize(p, seed="one"), r"seed = 'one'"),
    "sum with short y0": (
        lambda p: minmin.minimize(minmin.Sum([p, p]), y0=[np.zeros(5)]),
        r"y0 has 1 arrays; give one per term",
    ),
    "sum with a bad part": (
        lambda p: minmin.minimize(minmin.Sum([p, p]), y0=[np.zeros(5), np.zeros(4)]),
        r"term 1: y0 has shape \(4,\)",
    ),
}


@pytest.mark.parametrize("case", BAD_ARGUMENTS)
def test_bad_arguments(problem, case):
    call, words = BAD_ARGUMENTS[case]
    with pytest.raises(minmin.InputError, match=words):
        call(problem)


@pytest.mark.parametrize("method", ["bam", "nag", "acdm"])
def test_a_method_says_what_the_problem_lacks(method):
    rng = np.random.default_rng(0)
    poisson = random_glm(rng, "poisson")
    with pytest.raises(minmin.UnsupportedError, match="needs a finite L_x"):
        minmin.minimize(poisson, method=method)
    unpenalised = minmin.problems.GLM(
        rng.standard_normal((9, 2)), rng.standard_normal((9, 2)), np.ones(9), "logistic", alpha_x=1.0, alpha_y=0.0
    )
    with pytest.raises(minmin.UnsupportedError, match=r"needs mu_y > 0.*small penalty on y"):
        minmin.minimize(unpenalised, method=method)


FOREIGN = {
    "inner as a list": lambda p: minmin.minimize(p, method="bam", inner=["lbfgs"]),
    "method as a list": lambda p: minmin.minimize(p, method=["bam"]),
    "constants as a tuple": lambda p: Quadratic(p.H, p.b, 20, (1, 2, 3, 4)),
    "sum of numbers": lambda p: minmin.Sum([1, 2]),
    "sum of nothing iterable": lambda p: minmin.Sum(5),
    "sum of sums": lambda p: minmin.Sum([minmin.Sum([p]), p]),
    "weights as a number": lambda p: minmin.Sum([p, p], weights=1.0),
    "weights as text": lambda p: minmin.Sum([p, p], weights=["a", 1]),
    "y0 of a sum as a number": lambda p: minmin.minimize(minmin.Sum([p, p]), y0=5),
    "mixed dtypes in y0 of a sum": lambda p: minmin.minimize(minmin.Sum([p, p]), y0=[np.zeros(5), np.zeros(5, "f4")]),
    "negative seed": lambda p: Quadratic.random(seed=-1),
    "coupling as text": lambda p: Quadratic.random(coupling="a"),
    "tol as an array": lambda p: minmin.minimize(p, tol=np.array([1e-3, 1.0])),
    "budget as an array": lambda p: minmin.minimize(p, max_grad_x=np.array([3, 4])),
    "two libraries": lambda p: minmin.minimize(p, np.zeros(20), array_api_strict.zeros(5)),
    "method as x0": lambda p: minmin.minimize(p, "bam"),
}


@pytest.mark.parametrize("case", FOREIGN)
def test_no_foreign_exceptions(problem, case):
    with pytest.raises(minmin.InputError):
        FOREIGN[case](problem)


def test_lists_go_to_the_library_of_what_stands_beside_them():
    p = Quadratic.random(d_x=4, d_y=3)
    strict = Quadratic(array_api_strict.asarray(p.H), array_api_strict.asarray(p.b), 4)
    for r in (minmin.minimize(strict, [0.0] * 4), minmin.minimize(p, array_api_strict.zeros(4), [0.0] * 3)):
        assert type(r.x) is type(r.y) is type(array_api_strict.zeros(1))


def test_convergence_wins_over_a_callback_that_stops(problem):
    assert minmin.minimize(problem, tol=1e9, callback=lambda record: True).status == "converged"
    assert minmin.minimize(problem, tol=0, target_value=-1e-9, callback=lambda record: True).status == "converged"


def test_a_callback_cannot_spoil_the_run(problem):
    spoilt = minmin.minimize(problem, callback=lambda record: record.x.fill(0))
    assert np.array_equal(spoilt.x, minmin.minimize(problem).x)


def test_a_failed_run_keeps_its_best_answer(problem):
    f = as_function(problem)
    f.grad_x = nan_after(f.grad_x, 300)
    with pytest.raises(minmin.NonFiniteError) as caught:
        minmin.minimize(f, method="nag", tol=1e-12)
    assert caught.value.result.gap_bound == minmin.minimize(problem, method="nag", tol=1e-12, max_grad_x=300).gap_bound


def test_plot_without_values():
    p = Quadratic.random(d_x=4, d_y=3)
    f = as_function(p)
    silent = Function(None, f.grad_x, f.grad_y, d_x=4, d_y=3, constants=p.constants)
    assert all(len(axis.lines) == 1 for axis in minmin.minimize(silent).plot().axes)


def test_exchanged_blocks_keep_given_constants_and_computed_ones_suit_the_new_order():
    p = Quadratic.random(d_x=4, d_y=3, coupling=1.0)
    assert p.swapped().constants == p.constants.swapped()
    for problem in (Quadratic(p.H, p.b, 4), random_glm(np.random.default_rng(3))):
        exchanged = problem.swapped().constants
        assert exchanged.blocks == ("y", "x")
        assert exchanged.source == "proved"
        assert exchanged.kappa_x <= problem.constants.swapped().kappa_x
        assert minmin.check(problem.swapped()).ok


def test_errors_name_the_block_as_the_user_does():
    glm = random_glm(np.random.default_rng(0))
    free_y = minmin.problems.GLM(glm.X, glm.Y, glm.target, alpha_x=0.1, alpha_y=0.0)
    for outer in ("x", "y"):
        with pytest.raises(minmin.UnsupportedError, match=r"needs mu_y > 0.*penalty on y"):
            minmin.minimize(free_y, method="bam", outer=outer)
    with pytest.raises(minmin.UnsupportedError, match="y-Hessian, which a Function does not have"):
        minmin.minimize(as_function(Quadratic.random(d_x=3, d_y=2)), method="bam", inner="newton", outer="y")


def test_sparse_data_want_numpy_vectors():
    glm = random_glm(np.random.default_rng(0), sparse=True)
    with pytest.raises(minmin.InputError, match=r"X is scipy\.sparse"):
        minmin.minimize(glm, array_api_strict.zeros(glm.d_x, dtype=array_api_strict.float64))
