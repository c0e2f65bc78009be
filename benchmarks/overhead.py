"""The time of minimize() relative to a bare NumPy loop of the same arithmetic, on the quadratics of arXiv:2212.14439.

The bare loop is BAM with the same inner L-BFGS and the same certified stop, written inline: no objects, no counting, no
history, no checks. It runs twice: with the two-loop recursion that most people would write, and with the compact form
that minmin uses, which takes fewer NumPy calls. Both must need as many gradients as minimize(), up to 5 % for rounding
errors; otherwise the benchmark stops.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg.lapack import dtrtrs

import minmin
from report import interleaved_medians, print_machine

Array = np.ndarray[Any, Any]
KEPT = 30


class TwoLoop:
    """L-BFGS by the two-loop recursion."""

    def __init__(self, d: int):
        self.S: list[Array] = []
        self.R: list[Array] = []
        self.P: list[float] = []

    def add(self, s: Array, r: Array, product: float) -> None:
        self.S, self.R, self.P = [*self.S, s][-KEPT:], [*self.R, r][-KEPT:], [*self.P, product][-KEPT:]

    def step(self, g: Array, L: float) -> Array:
        if not self.S:
            return g * (-1 / L)
        weights = []
        for s, r, p in zip(reversed(self.S), reversed(self.R), reversed(self.P), strict=True):
            w = (s @ g) / p
            g = g - w * r
            weights.append(w)
        g = (self.P[-1] / (self.R[-1] @ self.R[-1])) * g
        for s, r, p, w in zip(self.S, self.R, self.P, reversed(weights), strict=True):
            g = g + (w - (r @ g) / p) * s
        return -g


class Compact:
    """The same in compact form."""

    def __init__(self, d: int):
        self.S = self.R = np.zeros((0, d))
        self.SR = self.RR = np.zeros((0, 0))

    def add(self, s: Array, r: Array, product: float) -> None:
        if len(self.S) >= KEPT:
            self.S, self.R, self.SR, self.RR = self.S[1:], self.R[1:], self.SR[1:, 1:], self.RR[1:, 1:]
        self.S, self.R = np.concatenate([self.S, s[None]]), np.concatenate([self.R, r[None]])
        of_s, of_r = self.S @ r, self.R @ r
        below = np.concatenate([self.SR, np.zeros((1, len(self.SR)))])
        self.SR = np.concatenate([below, of_s[:, None]], axis=1)
        self.RR = np.concatenate([np.concatenate([self.RR, of_r[None, :-1]]), of_r[:, None]], axis=1)

    def step(self, g: Array, L: float) -> Array:
        if not len(self.S):
            return g * (-1 / L)
        gamma = float(self.SR[-1, -1] / self.RR[-1, -1])
        first, _ = dtrtrs(self.SR, self.S @ g)
        second, _ = dtrtrs(self.SR, np.diagonal(self.SR) * first + gamma * (self.RR @ first - self.R @ g), trans=1)
        return -(gamma * g + second @ self.S - (gamma * first) @ self.R)


def bare_bam(problem: minmin.problems.Quadratic, tol: float, memory: Callable[[int], Any]) -> tuple[int, int]:
    H, b, d_x, c = problem.H, problem.b, problem.d_x, problem.constants
    H_xx, H_xy, H_yx, H_yy = H[:d_x, :d_x], H[:d_x, d_x:], H[d_x:, :d_x], H[d_x:, d_x:]
    b_x, b_y = b[:d_x], b[d_x:]
    alpha = math.sqrt(c.mu_x / c.L_x)
    eta_x, eta_y = 1 / math.sqrt(c.mu_x * c.L_x), alpha / c.mu_y
    lam = eta_y * alpha
    x = x_bar = np.zeros(d_x)
    y = y_bar = offset = np.zeros(len(b) - d_x)
    pairs = memory(len(y))
    steps = gradients = 0
    while True:
        steps += 1
        x_under = alpha * x + (1 - alpha) * x_bar
        y_under = alpha * y + (1 - alpha) * y_bar
        slope = H_yx @ x_under + b_y
        v = y_under + offset
        g_y = H_yy @ v + slope
        g = g_y + (v - y_under) * (1 / lam)
        gradients += 1
        while lam * math.sqrt(g @ g) > math.sqrt((v - y_under) @ (v - y_under)):
            d = pairs.step(g, c.L_y + 1 / lam)
            start_slope = g @ d
            while True:
                v_new = v + d
                g_y = H_yy @ v_new + slope
                g_new = g_y + (v_new - y_under) * (1 / lam)
                gradients += 1
                r = g_new - g
                product = float(d @ r)
                pairs.add(d, r, product)
                end_slope = start_slope + product
                away = v_new - y_under
                if lam * math.sqrt(g_new @ g_new) <= math.sqrt(away @ away) or end_slope <= -0.9 * start_slope:
                    break
                shorter = min(max(start_slope / (start_slope - end_slope), 0.05), 0.95)
                d, start_slope = shorter * d, shorter * start_slope
            v, g = v_new, g_new
        offset, y_bar = v - y_under, v
        g_x = H_xx @ x_under + b_x + H_xy @ v
        x_bar = x_under - (eta_x * alpha) * g_x
        x = (x + alpha * x_under - eta_x * g_x) * (1 / (1 + alpha))
        y = (y + alpha * v - eta_y * g_y) * (1 / (1 + alpha))
        squared = g_x @ g_x
        if squared / (2 * c.mu_x) + (g_y @ g_y) / (2 * c.mu_y) - squared / (2 * c.L_x) <= tol:
            return steps, gradients


def main() -> None:
    print_machine()
    for name, coupling in {"block-diagonal": 0.0, "coupled": 1.0}.items():
        for L_y in (500.0, 5000.0, 50000.0):
            problem = minmin.problems.Quadratic.random(L_y=L_y, coupling=coupling)

            def ours(problem: minmin.problems.Quadratic = problem) -> minmin.Result:
                return minmin.minimize(problem, method="bam", tol=1e-8)

            calls = ours().calls
            seconds = {}
            for kind in (TwoLoop, Compact):
                bare = bare_bam(problem, 1e-8, kind)
                if any(abs(a / calls[k] - 1) > 0.05 for a, k in zip(bare, ("grad_x", "grad_y"), strict=True)):
                    raise SystemExit(f"the bare loop computes something else: {bare} gradients, minimize() {calls}")
                seconds[kind] = interleaved_medians(ours, lambda p=problem, kind=kind: bare_bam(p, 1e-8, kind))
            (ours_s, two_loop), (ours_again, compact) = seconds.values()
            print(
                f"{name:>15}, L_y = {L_y:>6g}: minimize {1e3 * ours_s:6.1f} ms; ratio to the bare loop: two-loop "
                f"({1e3 * two_loop:5.1f} ms) {ours_s / two_loop:.2f}, compact ({1e3 * compact:5.1f} ms) "
                f"{ours_again / compact:.2f} (∇x {calls['grad_x']}, ∇y {calls['grad_y']})"
            )


if __name__ == "__main__":
    main()
