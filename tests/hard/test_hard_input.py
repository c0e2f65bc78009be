"""Hard input: every case ends in a right answer, a true status, or a MinMinError.

A run that says ``converged`` is compared with the exact minimum. The cases are listed at the end of the test run.
"""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import minmin
from minmin.core.bound import Constants
from minmin.problems import GLM, Function, Quadratic
from reference import ExactQuadratic, as_function, glm_minimum

METHODS = {
    "auto": {},
    "bam": {"method": "bam"},
    "bam-newton": {"method": "bam", "inner": "newton"},
    "bam-paper": {"method": "bam", "inner": "nag-ogmg"},
    "nag": {"method": "nag", "rescale": True},
    "acdm": {"method": "acdm", "rescale": True},
    "lincoupling": {"method": "lincoupling", "rescale": True},
}
BUDGET = {"max_grad_x": 30_000, "max_grad_y": 60_000}


class Judged:
    """A problem with the exact gap of any answer, up to a rounding slack."""

    def __init__(self, problem, gap, slack=0.0):
        self.problem, self.gap, self.slack = problem, gap, slack

    def run(self, *start, **arguments):
        r = minmin.minimize(self.problem, *start, **{**BUDGET, **arguments})
        gap = self.gap(r.x, r.y)
        assert np.isfinite(r.fun) or np.isnan(r.fun)
        assert gap <= r.gap_bound * (1 + 1e-6) + self.slack, f"certificate {r.gap_bound:g} below the gap {gap:g}"
        if r.status == "converged" and arguments.get("target_value") is None:
            assert r.gap_bound <= arguments.get("tol", 1e-6)
        assert r.status in ("converged", "budget", "stalled", "interrupted")
        return r.status


def quadratic(scale=1.0, y_scale=1.0, dtype=np.float64, **parameters):
    """f times ``scale``, with y measured in units of ``y_scale``."""
    base = Quadratic.random(**{"d_x": 8, "d_y": 4, "L_x": 5.0, "L_y": 20.0, "coupling": 1.0, **parameters})
    units = np.repeat([1.0, y_scale], [base.d_x, base.d_y])
    H, b = scale * base.H * units * units[:, None], scale * base.b * units
    c = base.constants
    constants = Constants(scale * c.L_x, scale * y_scale**2 * c.L_y, scale * c.mu_x, scale * y_scale**2 * c.mu_y)
    exact = ExactQuadratic(Quadratic(H, b, base.d_x, constants))
    problem = Quadratic(H.astype(dtype), b.astype(dtype), base.d_x, constants)
    # Data rounded to the dtype describe a slightly different function.
    slack = (0.0 if dtype == np.float64 else 1e-5) * abs(exact.value) + 1e-30 * scale
    return Judged(problem, exact.gap, slack)


def logistic(X, Y, labels=None, alpha=0.1, **options):
    n = X.shape[0]
    labels = np.where(np.arange(n) % 3 == 0, 1.0, -1.0) if labels is None else labels
    problem = GLM(X, Y, labels, alpha_x=alpha, alpha_y=alpha, **options)
    _, minimum = glm_minimum(problem)
    return Judged(problem, lambda x, y: problem.fix(x).at(y).value - minimum, 1e-14)


CASES = {}


def case(name, run):
    assert name not in CASES, name
    CASES[name] = run


SCALES = {
    "f times 1e10": {"scale": 1e10},
    "f times 1e-10": {"scale": 1e-10},
    "y times 1e5": {"y_scale": 1e5},
    "y times 1e-5": {"y_scale": 1e-5},
    "float32": {"dtype": np.float32},
    "kappa 1": {"L_x": 0.1, "L_y": 0.1},
    "kappa_x 1e8": {"L_x": 1.0, "mu_x": 1e-8},
    "kappa_y 1e8": {"L_y": 1.0, "mu_y": 1e-8},
    "kappa 1e12": {"L_x": 1.0, "mu_x": 1e-12, "L_y": 1.0, "mu_y": 1e-12},
    "float32, kappa 1e6": {"dtype": np.float32, "L_x": 1.0, "mu_x": 1e-6},
}
HARDEST = ("kappa_x 1e8", "kappa_y 1e8", "kappa 1e12")
"""Methods that do not arrive early do not arrive at all."""
SMALL_BUDGET = {"max_grad_x": 10_000, "max_grad_y": 20_000}
for m, options in METHODS.items():
    for s, parameters in SCALES.items():
        tol = 1e-6 * parameters.get("scale", 1.0)
        budget = SMALL_BUDGET if s in HARDEST else {}
        arguments = {"tol": tol, **budget, **options}
        case(f"{m}: {s}", lambda p=parameters, a=arguments: quadratic(**p).run(**a))
    case(f"{m}: a start 1e6 away", lambda o=options: quadratic().run(np.full(8, 1e6), np.full(4, -1e6), **o))
    case(f"{m}: d_x = 1", lambda o=options: quadratic(d_x=1).run(**o))
    case(f"{m}: d_y = 1", lambda o=options: quadratic(d_y=1).run(**o))
    case(f"{m}: already optimal", lambda o=options: optimal_start(o))
    case(f"{m}: zero is optimal", lambda o=options: zero_is_optimal(o))


def optimal_start(options):
    judged = quadratic()
    z = np.linalg.solve(judged.problem.H, -judged.problem.b)
    assert judged.run(z[:8], z[8:], **options) == "converged"
    return judged.run(z[:8], z[8:], tol=1e-300, **options)


def zero_is_optimal(options):
    base = quadratic().problem
    problem = Quadratic(base.H, 0.0 * base.b, 8, base.constants)
    judged = Judged(problem, ExactQuadratic(problem).gap)
    assert judged.run(**options) == "converged"
    return judged.run(tol=0, max_grad_x=50, **options)


RNG = np.random.default_rng(0)
WIDE, TALL = RNG.standard_normal((5, 40)), RNG.standard_normal((40, 3))
DATA = {
    "one row": lambda: logistic(np.ones((1, 2)), np.ones((1, 1))),
    "zero columns": lambda: logistic(np.zeros((9, 2)), np.c_[np.zeros(9), np.ones(9)]),
    "all zero": lambda: logistic(np.zeros((9, 2)), np.zeros((9, 2))),
    "duplicate columns": lambda: logistic(np.repeat(TALL[:, :1], 3, axis=1), np.repeat(TALL[:, 1:2], 2, axis=1)),
    "duplicated across the blocks": lambda: logistic(TALL, TALL),
    "more columns than rows": lambda: logistic(WIDE, WIDE[:, :9]),
    "one class": lambda: logistic(TALL, TALL, np.ones(40)),
    "separable, small penalty": lambda: logistic(100 * TALL[:, :1], TALL, np.sign(TALL[:, 0]), alpha=1e-4),
    "weights from 1e-12 to 1": lambda: logistic(TALL, TALL, sample_weight=np.geomspace(1e-12, 1, 40)),
    "columns from 1e-8 to 1e3": lambda: logistic(TALL * np.geomspace(1e-8, 1e3, 3), TALL),
    "an empty sparse row": lambda: logistic(
        scipy.sparse.csr_array(np.vstack([TALL, np.zeros((1, 3))])), np.ones((41, 1))
    ),
    "CSC and COO": lambda: logistic(scipy.sparse.csc_array(TALL), scipy.sparse.coo_array(TALL)),
    "integer data": lambda: logistic(np.arange(8).reshape(4, 2) % 3, np.arange(4).reshape(4, 1) % 2),
    "a data frame": lambda: logistic(pd.DataFrame(TALL).to_numpy(), TALL),
    "Fortran order": lambda: logistic(np.asfortranarray(TALL), np.asfortranarray(TALL)),
}
for name, make in DATA.items():
    for m in ("bam", "nag", "acdm"):
        case(f"{m}: {name}", lambda make=make, o=METHODS[m]: make().run(**{**o, "tol": 1e-7}))


class Subclass(np.ndarray):
    """An array of a user's own class."""


def read_only(a):
    a.flags.writeable = False
    return a


STARTS = {
    "lists": ([1] * 8, [0.5] * 4),
    "tuples of integers": (tuple(range(8)), (1, 2, 3, 4)),
    "read-only": (read_only(np.ones(8)), read_only(np.ones(4))),
    "non-contiguous": (np.ones(16)[::2], np.ones((4, 3))[:, 1]),
    "reversed": (np.arange(8.0)[::-1], None),
    "a subclass": (np.ones(8).view(Subclass), np.ones(4).view(Subclass)),
    "a masked array": (np.ma.masked_array(np.ones(8)), None),
    "a pandas series": (pd.Series(np.ones(8)), pd.Series(np.ones(4))),
    "truth values": (np.ones(8, dtype=bool), None),
    "float32 on a float64 problem": (np.ones(8, np.float32), None),
    "big-endian": (np.ones(8, dtype=">f8"), None),
}
for name, start in STARTS.items():
    case(f"start: {name}", lambda start=start: quadratic().run(*start, tol=1e-3))

STOPS = {
    "no calls of the expensive gradient": {"max_grad_x": 0},
    "no calls of the cheap gradient": {"max_grad_y": 0},
    "one call": {"max_grad_x": 1},
    "a huge budget": {"max_grad_x": 10**30, "max_grad_y": 10**30},
    "no time": {"max_seconds": 0},
    "a nanosecond": {"max_seconds": 1e-9},
    "years": {"max_seconds": 1e9},
    "an infinity of time": {"max_seconds": np.inf},
    "a huge tol": {"tol": 1e300},
    "the least tol there is": {"tol": 5e-324},
    "tol off, budget on": {"tol": 0, "max_grad_x": 20},
    "tol off, nothing else": {"tol": 0},
    "an unreachable target": {"tol": 0, "target_value": -1e300},
    "a target that is met at once": {"target_value": 1e300},
    "NumPy numbers": {"tol": np.float32(1e-3), "max_grad_x": np.int64(100), "max_seconds": np.float64(5)},
}
for name, stops in STOPS.items():
    case(f"stops: {name}", lambda stops=stops: quadratic().run(**stops))


def error_of(error, call):
    """The case ends in this MinMinError, which then keeps what was reached."""
    with pytest.raises(error) as caught:
        call()
    assert isinstance(caught.value, minmin.MinMinError)
    assert len(str(caught.value)) > 20
    return error.__name__


def raising(error):
    def function(*_):
        raise error

    return function


for error in (ValueError("v"), StopIteration(), MemoryError("m"), ZeroDivisionError("z"), RecursionError("r")):
    kind = type(error).__name__
    case(
        f"callback raises {kind}",
        lambda e=error: error_of(minmin.UserCodeError, lambda: quadratic().run(callback=raising(e))),
    )
    case(
        f"gradient raises {kind}",
        lambda e=error: error_of(minmin.UserCodeError, lambda: minmin.minimize(oracle(grad_x=raising(e)))),
    )
case("callback interrupts", lambda: quadratic().run(callback=raising(KeyboardInterrupt())))
case("callback returns an array", lambda: quadratic().run(callback=lambda record: np.ones(3)))
case("callback returns text", lambda: quadratic().run(callback=lambda record: "stop"))
case("callback returns NumPy's true", lambda: quadratic().run(callback=lambda record: np.True_))


def oracle(**replaced):
    f = as_function(quadratic().problem)
    for name, function in replaced.items():
        setattr(f, name, function)
    return f


def noisy(f, size, rng):
    return lambda x, y: f(x, y) + size * rng.standard_normal(len(f(x, y)))


def noisy_run(size):
    judged, rng = quadratic(), np.random.default_rng(0)
    f = as_function(judged.problem)
    f.grad_x, f.grad_y = noisy(f.grad_x, size, rng), noisy(f.grad_y, size, rng)
    # Noise makes the bound off by what it hides: |noise|²/2μ, and cross terms.
    loose = Judged(f, judged.gap, slack=12 * size**2 / 0.1 + 12 * size)
    try:
        return loose.run(tol=1e-7, max_grad_x=3000)
    except minmin.ConstantsError:
        return "ConstantsError"


for size in (1e-12, 1e-6, 1e-2):
    case(f"gradients with noise of {size:g}", lambda size=size: noisy_run(size))

WRONG_ANSWERS = {
    "a list": (lambda x, y: [0.0] * 8, None),
    "float32": (lambda x, y: x.astype(np.float32), None),
    "integers": (lambda x, y: np.zeros(8, dtype=int), None),
    "None": (lambda x, y: None, minmin.InputError),
    "a number": (lambda x, y: 1.0, minmin.InputError),
    "a matrix": (lambda x, y: np.ones((8, 1)), minmin.InputError),
    "too short": (lambda x, y: np.ones(7), minmin.InputError),
    "the other block's": (lambda x, y: y, minmin.InputError),
    "text": (lambda x, y: "up", minmin.InputError),
    "complex numbers": (lambda x, y: 1j * x, minmin.InputError),
    "NaN": (lambda x, y: np.nan * x, minmin.NonFiniteError),
    "infinity": (lambda x, y: x + np.inf, minmin.NonFiniteError),
    "a dictionary": (lambda x, y: {"x": x}, minmin.InputError),
    "numbers of 1e200": (lambda x, y: np.full(8, 1e200), minmin.MinMinError),
}
for name, (function, error) in WRONG_ANSWERS.items():
    if error is None:
        case(f"gradient returns {name}", lambda f=function: run_or_error(oracle(grad_x=f)))
    else:
        case(
            f"gradient returns {name}",
            lambda f=function, e=error: error_of(e, lambda: minmin.minimize(oracle(grad_x=f))),
        )


def run_or_error(problem):
    """No exact answer is known; the run must end with a true status or say what is wrong."""
    try:
        return minmin.minimize(problem, **BUDGET).status
    except minmin.MinMinError as error:
        return type(error).__name__


def flat():
    """No curvature at all: the constants are a lie."""
    one = Constants(L_x=1.0, L_y=1.0, mu_x=1.0, mu_y=1.0)
    ones = lambda x, y: np.ones_like(x)  # noqa: E731
    return Function(
        lambda x, y: float(x.sum() + y.sum()), ones, lambda x, y: np.ones_like(y), d_x=2, d_y=2, constants=one
    )


case("a function without a minimum", lambda: run_or_error(flat()))
case("value returns a one-element array", lambda: run_or_error(oracle(value=lambda x, y: np.zeros(1))))
case(
    "value returns infinity",
    lambda: error_of(minmin.NonFiniteError, lambda: minmin.minimize(oracle(value=lambda x, y: np.inf))),
)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_hard_input(name, record_property):
    record_property("hard input", f"{name}: {CASES[name]()}")


def test_there_are_at_least_a_hundred_cases():
    assert len(CASES) >= 100
