"""How much minimize() costs above a bare NumPy loop of the same arithmetic, on the paper's quadratic.

The bare loop is BAM with the same inner L-BFGS and the same certified stop, written inline: no objects, no counting, no
history, no checks. It must take as many gradients as minimize(), or the comparison is refused.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.linalg.lapack import dtrtrs

import minmin
from report import interleaved_medians, print_machine

Array = np.ndarray[Any, Any]


def bare_bam(H: Array, b: Array, d_x: int, c: minmin.Constants, tol: float, kept: int = 30) -> tuple[int, int]:
    H_xx, H_xy, H_yx, H_yy = H[:d_x, :d_x], H[:d_x, d_x:], H[d_x:, :d_x], H[d_x:, d_x:]
    b_x, b_y = b[:d_x], b[d_x:]
    alpha = math.sqrt(c.mu_x / c.L_x)
    eta_x, eta_y = 1 / math.sqrt(c.mu_x * c.L_x), alpha / c.mu_y
    lam = eta_y * alpha
    x = x_bar = np.zeros(d_x)
    y = y_bar = offset = np.zeros(len(b) - d_x)
    S = R = np.zeros((0, len(y)))
    SR = RR = np.zeros((0, 0))
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
            if len(S):
                gamma = float(SR[-1, -1] / RR[-1, -1])
                first, _ = dtrtrs(SR, S @ g)
                second, _ = dtrtrs(SR, np.diagonal(SR) * first + gamma * (RR @ first - R @ g), trans=1)
                d = -(gamma * g + second @ S - (gamma * first) @ R)
            else:
                d = g * (-1 / (c.L_y + 1 / lam))
            start_slope = g @ d
            while True:
                v_new = v + d
                g_y = H_yy @ v_new + slope
                g_new = g_y + (v_new - y_under) * (1 / lam)
                gradients += 1
                r = g_new - g
                product = float(d @ r)
                if len(S) >= kept:
                    S, R, SR, RR = S[1:], R[1:], SR[1:, 1:], RR[1:, 1:]
                S, R = np.concatenate([S, d[None]]), np.concatenate([R, r[None]])
                SR = np.concatenate([np.concatenate([SR, np.zeros((1, len(SR)))]), (S @ r)[:, None]], axis=1)
                RR = np.concatenate([np.concatenate([RR, (R @ r)[None, :-1]]), (R @ r)[:, None]], axis=1)
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
            constants = problem.constants

            def ours(problem: minmin.problems.Quadratic = problem) -> minmin.Result:
                return minmin.minimize(problem, method="bam", tol=1e-8)

            def bare(
                problem: minmin.problems.Quadratic = problem, constants: minmin.Constants = constants
            ) -> tuple[int, int]:
                return bare_bam(problem.H, problem.b, problem.d_x, constants, 1e-8)

            calls = ours().calls
            if (calls["grad_x"], calls["grad_y"]) != bare():
                raise SystemExit(f"not the same arithmetic: {calls} against {bare()}")
            ours_s, bare_s = interleaved_medians(ours, bare)
            print(
                f"{name:>15}, L_y = {L_y:>6g}: minimize {1e3 * ours_s:6.1f} ms, bare {1e3 * bare_s:6.1f} ms, "
                f"ratio {ours_s / bare_s:.2f} (∇x {calls['grad_x']}, ∇y {calls['grad_y']})"
            )


if __name__ == "__main__":
    main()
