"""Worst cases of BAM and NAG without PEPit: two Gram matrices in cvxpy, and the methods on NumPy's arrays."""

from itertools import permutations

import cvxpy as cp
import numpy as np

from minmin.lab.metric import metric
from minmin.lab.nag import nag_half, nag_steps
from minmin.methods.bam_steps import XState
from minmin.methods.theory import block_parameters

MOST = 20


class Form:
    """A weighted sum of inner products in x, inner products in y, and values of f."""

    def __init__(self, x=0.0, y=0.0, f=0.0):
        self.x, self.y, self.f = x + np.zeros((MOST, MOST)), y + np.zeros((MOST, MOST)), f + np.zeros(MOST)

    def __add__(self, other):
        return Form(self.x + other.x, self.y + other.y, self.f + other.f)

    def __rmul__(self, number):
        return Form(number * self.x, number * self.y, number * self.f)

    def __sub__(self, other):
        return self + -1.0 * other


def product(block, a, b):
    outer = 0.5 * (np.outer(a, b) + np.outer(b, a))
    return Form(x=outer) if block == "x" else Form(y=outer)


class Direct:
    """f with its unknown points: coefficient vectors, one unit vector per unknown. The minimum is 0 at the origin."""

    def __init__(self, constants):
        self.constants = constants
        self.unknowns = {"x": 0, "y": 0, "f": 0}
        zero = np.zeros(MOST)
        self.samples = [(zero, zero, zero, zero, Form())]
        self.not_positive = []

    def new(self, block):
        self.unknowns[block] += 1
        return np.eye(MOST)[self.unknowns[block] - 1]

    def at(self, x, y, grad_y):
        """∇ₓf, and the value of f, at a point where ∇ᵧf is this vector."""
        grad_x, value = self.new("x"), Form(f=self.new("f"))
        self.samples.append((x, y, grad_x, grad_y, value))
        return grad_x, value

    def condition(self, a, b):
        """Theorem 4 of Taylor, Hendrickx and Glineur (2017), with the constants of each block."""
        x, y, grad_x, grad_y, f = zip(a, b, strict=True)
        c = self.constants
        total = f[1] - f[0]
        for block, z, g, L, mu in (("x", x, grad_x, c.L_x, c.mu_x), ("y", y, grad_y, c.L_y, c.mu_y)):
            dz, dg = z[0] - z[1], g[0] - g[1]
            squares = 1.0 / L * product(block, dg, dg) + mu * product(block, dz, dz)
            squares -= 2.0 * mu / L * product(block, dg, dz)
            total += product(block, g[1], dz) + 1.0 / (2.0 * (1.0 - mu / L)) * squares
        return total

    def worst(self, first, last):
        n_x, n_y, n_f = self.unknowns.values()
        gram_x, gram_y, f = cp.Variable((n_x, n_x), PSD=True), cp.Variable((n_y, n_y), PSD=True), cp.Variable(n_f)

        def value(form):
            in_x, in_y = form.x[:n_x, :n_x], form.y[:n_y, :n_y]
            return cp.sum(cp.multiply(in_x, gram_x)) + cp.sum(cp.multiply(in_y, gram_y)) + form.f[:n_f] @ f

        forms = [*self.not_positive, *(self.condition(a, b) for a, b in permutations(self.samples, 2))]
        program = cp.Problem(cp.Maximize(value(last)), [value(first) <= 1, *(value(form) <= 0 for form in forms)])
        return program.solve(solver="CLARABEL")


def bam(constants, steps, *, exact):
    direct, p = Direct(constants), block_parameters(constants)

    def psi(x, y, y_bar):
        distances = 1 / p.eta_x * product("x", x.x, x.x) + 1 / p.eta_y * product("y", y, y)
        return (1 + p.alpha) * distances + 2 / p.alpha * direct.at(x.x_bar, y_bar, direct.new("y"))[1]

    x, y, y_bar = XState(direct.new("x"), direct.new("x")), direct.new("y"), direct.new("y")
    first = psi(x, y, y_bar)
    for _ in range(steps):
        x_under, y_under, grad_y = p.extrapolate(*x), p.extrapolate(y, y_bar), direct.new("y")
        y_bar = y_under - p.lam * grad_y if exact else direct.new("y")
        grad_x, _ = direct.at(x_under, y_bar, grad_y)
        away = y_bar - y_under
        rest = p.lam * grad_y + away
        direct.not_positive.append(product("y", rest, rest) - product("y", away, away))
        x, (y, _) = XState(*p.x_half(x, x_under, grad_x)[:2]), p.y_half((y, y_bar), y_bar, grad_y)
    return direct.worst(first, psi(x, y, y_bar))


def nag(constants, steps, *, rescale):
    direct, m = Direct(constants), metric(constants, rescale)
    x, y = direct.new("x"), direct.new("y")
    first = direct.at(x, y, direct.new("y"))[1] + 0.5 * m.mu * (product("x", x, x) + m.weight_y * product("y", y, y))
    x_bar, x_under, y_bar, y_under = x, x, y, y
    for _ in range(steps):
        grad_y = direct.new("y")
        grad_x, _ = direct.at(x_under, y_under, grad_y)
        x_bar, x_under = nag_half(m, nag_steps(m)[0], x_under, x_bar, grad_x)
        y_bar, y_under = nag_half(m, nag_steps(m)[1], y_under, y_bar, grad_y)
    return direct.worst(first, direct.at(x_bar, y_bar, direct.new("y"))[1])
