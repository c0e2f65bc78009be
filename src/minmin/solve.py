"""minimize(), the function that users call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minmin.core.bound import Constants
from minmin.core.orientation import Outer
from minmin.core.precision import full_float32
from minmin.core.problem import Problem
from minmin.core.start import describe_projection, is_flat, make_start
from minmin.core.vectors import first_array
from minmin.errors import InputError, UnsupportedError, show
from minmin.loop.checkpoint import Checkpoint, fingerprint
from minmin.loop.loop import Loop
from minmin.loop.progress import Clock, Progress
from minmin.loop.stopping import StoppingCriteria
from minmin.methods.base import Method
from minmin.methods.registry import build, check_method
from minmin.problems.composite import Composite, make_box
from minmin.problems.function import Function
from minmin.result import Record, Result


def minimize(
    problem: Problem | Callable[[Any, Any], float] | None,
    x0: Any = None,
    y0: Any = None,
    method: str | Method = "auto",
    *,
    grad_x: Callable[[Any, Any], Any] | None = None,
    grad_y: Callable[[Any, Any], Any] | None = None,
    constants: Constants | None = None,
    bounds_x: Any = None,
    bounds_y: Any = None,
    bounds: Any = None,
    tol: float = 1e-6,
    rtol: float = 0.0,
    rtol_from: float | None = None,
    gtol: float | None = None,
    target_value: float | None = None,
    max_iterations: int | None = None,
    max_grad_x: int | None = None,
    max_grad_y: int | None = None,
    max_seconds: float | None = None,
    assume_convex: bool = True,
    seed: int | None = None,
    callback: Callable[[Record], Any] | None = None,
    progress: bool = False,
    checkpoint: Any = None,
    **options: Any,
) -> Result:
    """Minimise f(x, y) with few calls of its expensive gradient ∇ₓf.

    Parameters
    ----------
    problem : Problem, or callable, or None
        One of :mod:`minmin.problems`, a :class:`minmin.Sum` of them, or your own :class:`minmin.Problem`. Or a function
        of (x, y) that returns f(x, y), then with ``grad_x``, ``grad_y``, ``x0`` and ``y0``; None if f itself cannot be
        computed. ``minimize(f, x0, y0, grad_x=..., grad_y=...)`` builds a :class:`minmin.problems.Function`.
    x0, y0 : arrays, optional
        The start; zero by default, or the examples that the problem was made with. The result has its array library,
        dtype and device; the start is not modified. Functions have no default, since the start says how many variables
        there are; they also take nested dicts, lists and tuples of arrays of any shape, as
        :class:`minmin.problems.Function` does. A problem with ``sizes=[...]`` takes all its blocks as one list, x0.
    method : str or Method
        An object such as ``minmin.methods.Bam(inner="nag")``, or a name: "auto" (default), "reduced-newton",
        "reduced-lbfgs", "bam", "nag", "acdm", "lincoupling", "inexact-outer", "alternating", "cutting-plane" or
        "sliding". See :class:`minmin.methods.ReducedNewton`, :class:`~minmin.methods.ReducedLbfgs`,
        :class:`~minmin.methods.Bam`, :class:`~minmin.methods.Nag`, :class:`~minmin.methods.Acdm`,
        :class:`~minmin.methods.LinCoupling`, :class:`~minmin.methods.InexactOuter`,
        :class:`~minmin.methods.Alternating`, :class:`~minmin.methods.CuttingPlane`, :class:`~minmin.methods.Sliding`,
        or your own :class:`minmin.Method`.
    grad_x, grad_y : callables, optional
        Only with a function: functions of (x, y) that return ∇ₓf and ∇ᵧf, like x and y.
    constants : Constants, optional
        Only with functions: what is known of the curvature of f. With it the bound is proved; see
        :class:`minmin.Constants`.
    bounds_x, bounds_y : scipy.optimize.Bounds, or pairs, or nested dicts, lists and tuples of these, optional
        Bounds on the variables: one pair (low, high) for all of a block, or one per variable, with None for a free
        side. If x is nested arrays, they may be nested in the same way: ``bounds_x={"w": (0, 1), "b": None}``. They
        build a :class:`minmin.problems.Composite` with a :class:`minmin.terms.Box`. Of several blocks, ``bounds_x``
        bounds the first, and ``bounds_y`` the second if there are two.
    bounds : list, optional
        The bounds of every block in one list, with None for a block without: ``bounds=[(0, 1), None, (0, None)]``.
    tol : float
        Stop as ``converged`` when the bound on f(x, y) - f* is at most tol. It is absolute, in units of f; 0 switches
        it off. If the problem's constants are unknown and its data prove no bound, the bound is an estimate from the
        curvature that the run has seen, and ``r.certified`` is False.
    rtol : float
        Stop as ``converged`` also when the bound is at most rtol times f(start) - f(x, y), the decrease of f so far. It
        needs f after every iteration; 0, the default, switches it off.
    rtol_from : float, optional
        A value of f from which ``rtol`` measures the decrease, in place of f(start): a run from a good start has little
        left to gain, and would end late. Estimators give f of a model without features.
    gtol : float, optional
        Stop as ``converged`` also when no entry of ∇ₓf or ∇ᵧf is larger than gtol in absolute value. The run ends
        at tol, rtol or gtol, whichever comes first; ``tol=0, gtol=1e-8`` looks at the gradients alone. For a
        :class:`minmin.Sum` the entries of ∇ᵧ are those of each term's own gradient, without its weight.
    target_value : float, optional
        Stop as ``converged`` when f(x, y) is at or below it.
    max_iterations : int, optional
        Budget of outer iterations, ``r.nit``. An iteration may compute several gradients.
    max_grad_x, max_grad_y : int, optional
        Budgets of gradient calls, never exceeded; the run then ends as ``budget``. Hessian products do not count.
    max_seconds : float, optional
        Budget of time. The time for values of f that only the history needs does not count; if they are expensive, give
        the problem no values.
    assume_convex : bool
        If a run sees that f is not convex, its point may be a local minimum or a saddle point, and there is no bound.
        By default it then ends as ``stalled`` where tol, rtol or gtol would end it; with False as ``converged``.
    seed : int, optional
        For methods that draw random numbers, 0 by default; other methods ignore it.
    callback : callable, optional
        ``callback(record)`` is called after every iteration with a :class:`minmin.Record`; returning True ends
        the run as ``interrupted``.
    progress : bool
        Whether to show one line on standard error during the run.
    checkpoint : path, optional
        A file that is written during the run and at its end, and kept. A later run with the same problem, method and
        start resumes from it. That run may have other stopping criteria; its budgets include what was spent before.
    **options
        Options of a method that is given by name, with their defaults.

        "auto":

        - ``cost_ratio=1.0``: the cost of ∇ₓf in units of ∇ᵧf. Below 1, y is the outer block.
        - Any option of "reduced-lbfgs", which it then takes.

        "reduced-newton":

        - ``first_y_steps=3``: the most Newton steps in y alone before the first one in x.
        - ``loosest=0.2``: the largest relative residual at which conjugate gradients may stop.
        - ``forcing_power=0.5``: how fast that residual falls with the gradient, from 0 to 1.
        - ``most_cg_steps=1000``: the most steps of conjugate gradients in one Newton step.

        "reduced-lbfgs":

        - ``inner="auto"``: the solver in y; one of "auto", "lbfgs", "newton", "nag".
        - ``outer="x"``: the block that F is a function of; its gradient should be the expensive one; one of "x", "y".
        - ``inner_tolerance_ratio=None``: how inexactly y is solved at first, as a fraction of the expected gain of the
          next step in x.
        - ``stateless=False``: whether y starts from zero at every x, and nothing is kept from the previous x.

        "bam":

        - ``inner="lbfgs"``: the solver in y; one of "lbfgs", "nag", "nag-ogmg", "newton", "katyusha".
        - ``outer="x"``: the block that is moved once per iteration; the other is the inner block; one of "x", "y",
          "auto".
        - ``radius=None``: for a convex f with mu_x = 0 or mu_y = 0: a distance from the start within which a minimiser
          lies, in every such block; or "auto", then the bound is an estimate.
        - ``adaptive=False``: whether to estimate the constants during the run; the problem needs none, and the bound is
          an estimate.
        - ``scheme="nesterov"``: the outer steps; one of "nesterov", "triple-momentum".

        "nag":

        - ``rescale=False``: whether to rescale y, so that both blocks have the same strong convexity.
        - ``radius=None``: for a convex f with mu_x = 0 or mu_y = 0: a distance from the start within which a minimiser
          lies, in every such block; or "auto", then the bound is an estimate.
        - ``adaptive=False``: whether to estimate the constants during the run; the problem needs none, and the bound is
          an estimate.

        "acdm":

        - ``rescale=False``: whether to rescale y, so that both blocks have the same strong convexity.
        - ``certify_every=None``: the number of iterations between two bounds; 0 for none, None for that within which
          the gap falls by a factor e in theory.
        - ``radius=None``: for a convex f with mu_x = 0 or mu_y = 0: a distance from the start within which a minimiser
          lies, in every such block; or "auto", then the bound is an estimate.

        "lincoupling":

        - ``rescale=False``: whether to rescale y, so that both blocks have the same strong convexity.
        - ``certify_every=None``: the number of iterations between two bounds; 0 for none, None for that within which
          the gap falls by a factor e in theory.
        - ``radius=None``: for a convex f with mu_x = 0 or mu_y = 0: a distance from the start within which a minimiser
          lies, in every such block; or "auto", then the bound is an estimate.

        "inexact-outer":

        - ``accuracy=None``: how far f may be above its minimum over y after an inner solve, δ. By default tol/(10
          κ_x^{3/2}), with the tol of the run; without a tol, y is solved as exactly as rounding allows.

        "alternating":

        - ``accelerated=True``: whether to extrapolate x between minimisations; False is plain alternation.

        "cutting-plane":

        - ``radius=None``: the distance from the start within which x has a minimum; None if the run is to find one.
        - ``inner="lbfgs"``: the solver in y; one of "lbfgs", "newton", "nag".

        "sliding":

        - ``inner="lbfgs"``: the solver that asks for ∇g; one of "lbfgs", "nag", "nag-ogmg".

    Returns
    -------
    Result
        Also on Ctrl-C: the best point so far, as ``interrupted``.

    Raises
    ------
    MinMinError
        If something is wrong with the input, before any work if possible. An error during a run has the last finite
        result as ``.result``.
    """
    clock = Clock()
    if isinstance(x0, str):
        raise InputError(f"x0 is the text {x0!r}; give a method by keyword: method={x0!r}")
    if not isinstance(problem, Problem) and {"grads", "sizes"} & options.keys():
        raise InputError(
            "give a function of several blocks as a problem: minmin.problems.Function(f, grads=[...], sizes=[...])"
        )
    problem = _make_problem(problem, x0, y0, {"grad_x": grad_x, "grad_y": grad_y, "constants": constants})
    each = _list_bounds(problem, bounds_x, bounds_y, bounds)
    if any(entry is not None for entry in each):
        problem = _add_bounds(problem, each)
    criteria = StoppingCriteria(
        tol=tol,
        rtol=rtol,
        rtol_from=rtol_from,
        gtol=gtol,
        target_value=target_value,
        max_iterations=max_iterations,
        max_grad_x=max_grad_x,
        max_grad_y=max_grad_y,
        max_seconds=max_seconds,
        assume_convex=assume_convex,
    )
    if callback is not None and not callable(callback):
        raise InputError(f"callback must be callable as callback(record), got {show(callback)}")
    criteria.check(problem)
    x, y = make_start(problem, x0, y0)
    with full_float32(problem.prototype_at(x)):
        problem = problem.to_like(first_array(x))
        built, why = build(method, problem, options, seed)
        outer = built.outer_block(problem)
        if problem.blocks is not None and outer is Outer.Y:
            raise UnsupportedError(
                "leave outer and cost_ratio out: costs=[...] of the problem says which block is outside; "
                "method='reduced-lbfgs' follows them"
            )
        check_method(built, outer.orient(problem))
        loop = Loop(
            problem,
            built.aim(tol),
            outer,
            (x, y),
            criteria,
            clock,
            callback=callback,
            progress=Progress(built.name) if progress else None,
            extra_metrics=problem.make_metrics(),
            file=None if checkpoint is None else Checkpoint(checkpoint, fingerprint(problem, built, x, y)),
            why=why,
            about_start=describe_projection(problem, x0, y0),
        )
        return loop.run()


def _list_bounds(problem: Problem, bounds_x: Any, bounds_y: Any, bounds: Any) -> list[Any]:
    """The bounds that a user gave of every block, or None."""
    count = 2 if problem.blocks is None else len(problem.blocks.sizes)
    if bounds is None:
        if bounds_y is not None and count > 2:
            raise InputError(f"bounds_y is for two blocks; give all in one list, bounds=[...] with {count} entries")
        return [bounds_x, bounds_y][:count] + [None] * (count - 2)
    if bounds_x is not None or bounds_y is not None:
        raise InputError("give bounds of all blocks in one list, bounds=[...], or bounds_x and bounds_y, not both")
    if not isinstance(bounds, list | tuple) or len(bounds) != count:
        raise InputError(
            f"bounds must be a list with one entry for each of the {count} blocks, got {show(bounds)}; a block's own "
            "bounds are bounds_x and bounds_y"
        )
    return list(bounds)


def _add_bounds(problem: Problem, bounds: Sequence[Any]) -> Problem:
    """The problem with a box in every block that has bounds."""
    if problem.has_terms:
        raise InputError("this problem has terms already; give its bounds as terms: Composite(..., term_x=Box(...))")
    if problem.blocks is not None:
        sizes = enumerate(zip(bounds, problem.blocks.sizes, strict=True))
        first, *others = [make_box(entry, f"bounds of block {i}", (size,)) for i, (entry, size) in sizes]
        return Composite(problem, first, others)
    bounds_x, bounds_y = bounds
    box_x = make_box(bounds_x, "bounds_x", (problem.d_x,), problem.structure_x)
    box_y = make_box(bounds_y, "bounds_y", None if problem.part_sizes else (problem.d_y,), problem.structure_y)
    return Composite(problem, box_x, box_y)


def _make_problem(problem: Any, x0: Any, y0: Any, given: dict[str, Any]) -> Problem:
    """The problem that the user gave, or one of the functions that they gave instead."""
    names = [name for name, value in given.items() if value is not None]
    if isinstance(problem, Problem):
        if names:
            raise InputError(
                f"leave {' and '.join(names)} out: what describes f belongs to the problem, here {problem.kind}"
            )
        return problem.for_start(x0, y0) if isinstance(problem, Function) else problem
    if isinstance(problem, type) or not (callable(problem) or (problem is None and names)):
        got = f"the class {problem.__name__}" if isinstance(problem, type) else type(problem).__name__
        raise InputError(f"problem must be a minmin problem or a function of (x, y) that returns f, got {got}")
    for block, gradient in (("x", "∇ₓf"), ("y", "∇ᵧf")):
        if given[f"grad_{block}"] is None:
            raise InputError(
                f"give grad_{block}=, a function of (x, y) that returns {gradient}; for a function of JAX or PyTorch "
                "give minmin.problems.from_jax(f, x0, y0) or from_torch(f, x0, y0) instead of f"
            )
    if x0 is None or y0 is None:
        raise InputError("give both x0 and y0, the start: with functions, they say how many variables x and y have")
    if is_flat(x0) and is_flat(y0):
        return Function(problem, d_x=len(x0), d_y=len(y0), **given)
    return Function(problem, x0=x0, y0=y0, **given)
