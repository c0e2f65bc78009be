r"""
Soft clustering by elections
============================

Nesterov ("Soft clustering by convex electoral model", Soft Computing, 2020) clusters points by elections. Every point
:math:`v_i` is a voter. Party k has a home :math:`c_k` and a position :math:`x_k`. Voter i chooses party k with the
probability :math:`p_{ik}`, which is higher for closer parties. Between elections, each party moves towards the mean of
its voters, but not too far from home. With squared distances, this is alternating minimisation of

.. math::

    f(x, p) &= \frac1N \sum_{i,k} \left( \tfrac12 |x_k - v_i|^2\, p_{ik} + \mu\, p_{ik} \ln p_{ik} \right)
               + \frac{\tau}{2} \sum_k |x_k - c_k|^2, \\
    p_{ik} &\ge 0, \qquad \sum_k p_{ik} = 1.

**x, the positions, is the expensive block**: a new x takes all distances, and :math:`\nabla_x f` takes sums over all
voters. Each is N·K·m operations, for N points in m dimensions and K parties. **y, the probabilities, is the cheap
block**: given the distances, :math:`\nabla_y f` takes N·K operations.
"""

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from scipy.special import logsumexp, softmax
from sklearn.cluster import KMeans, kmeans_plusplus
from sklearn.datasets import load_digits, load_iris
from sklearn.metrics import adjusted_rand_score

import minmin

jax.config.update("jax_enable_x64", True)


# %%
# The problem
# -----------
# y holds the probabilities of all parties but the last. Where one is negative, f is NaN: minmin shortens its step.
def make_problem(voters, homes, tau, mu):
    def prepare(x):  # runs once for every new x
        return 0.5 * ((x[None] - voters[:, None]) ** 2).sum(axis=2), 0.5 * tau * ((x - homes) ** 2).sum()

    def fun(prepared, y):
        distances, bend = prepared
        p = jnp.column_stack([y, 1.0 - y.sum(axis=1)])
        return (p * distances + mu * p * jnp.log(p)).sum() / len(voters) + bend

    y0 = jnp.full((len(voters), len(homes) - 1), 1.0 / len(homes))
    return minmin.problems.from_jax(fun, jnp.asarray(homes), y0, prepare=prepare)


# %%
# When is f convex?
# -----------------
# Take the second derivative of f in a direction (h, q), and minimise it over q. What is left is
#
# .. math::
#
#     \sum_k (\tau + \bar p_k) |h_k|^2 - \frac{1}{\mu N} \sum_i \mathrm{Var}_{k \sim p_i} \langle x_k - v_i, h_k \rangle
#
# with :math:`\bar p_k` the mean of :math:`p_{ik}` over i. A variance is at most half the sum of squares. If all voters
# and positions are within R of the mean of the voters, the mean of :math:`\langle x_k - v_i, h_k\rangle^2` over i is at
# most :math:`(\lambda + R^2) |h_k|^2`, with λ the largest eigenvalue of the voters' covariance. So f is convex there if
# :math:`\mu \ge \mu_0 = (\lambda + R^2) / 2\tau`. The condition is derived here; Nesterov's may differ.
def convex_from(voters, tau):
    return (np.linalg.eigvalsh(voters.T @ voters / len(voters))[-1] + (voters**2).sum(axis=1).max()) / (2.0 * tau)


data = {"iris": load_iris(return_X_y=True), "digits": load_digits(return_X_y=True)}
data = {name: (points - points.mean(axis=0), kinds) for name, (points, kinds) in data.items()}
iris, tau = data["iris"][0], 0.1
mu = convex_from(iris, tau)
print(f"mu_0 = {mu:.1f} for iris; {convex_from(data['digits'][0], tau):.0f} for digits")


# %%
# How many positions are tried?
# -----------------------------
# Elections are the natural alternative. Another is to insert the best p, a softmax, by hand: SciPy's L-BFGS-B then
# minimises over x alone. All run until f is within 1e-8 of its minimum, relative to the first election.
def elect(voters, x, homes, tau, mu):
    """The probabilities, the least f at x, and its gradient."""
    distances = 0.5 * cdist(voters, x, "sqeuclidean")
    p = softmax(-distances / mu, axis=1)
    value = 0.5 * tau * ((x - homes) ** 2).sum() - mu * logsumexp(-distances / mu, axis=1).mean()
    return p, value, tau * (x - homes) + p.mean(axis=0)[:, None] * x - p.T @ voters / len(p)


def hold_elections(voters, homes, tau, mu, rounds=150):
    x, values = homes, []
    for _ in range(rounds):
        p, value, gradient = elect(voters, x, homes, tau, mu)
        values.append(value)
        x = x - gradient / (tau + p.mean(axis=0))[:, None]  # the weighted mean of home and voters
    return x, p, values


def count_positions(voters, homes, tau, mu):
    by_hand, (*_, elections) = [], hold_elections(voters, homes, tau, mu)
    target = elections[-1] + 1e-8 * (elections[0] - elections[-1])

    def insert_best_p(z):
        _, value, gradient = elect(voters, z.reshape(homes.shape), homes, tau, mu)
        by_hand.append(value)
        return value, gradient.ravel()

    minimize(insert_best_p, homes.ravel(), jac=True, method="L-BFGS-B", options={"ftol": 0.0, "gtol": 1e-10})
    r = minmin.minimize(make_problem(voters, homes, tau, mu), tol=0.0, target_value=target, assume_convex=False)
    others = {"elections": elections, "SciPy, best p by hand": by_hand}
    return {"minmin": r.calls["grad_x"]} | {k: 1 + int(np.argmax(np.array(v) <= target)) for k, v in others.items()}


homes = kmeans_plusplus(iris, 3, random_state=0)[0]
counts = count_positions(iris, homes, tau, mu)
not_convex = count_positions(iris, homes, 0.01, 0.005 * convex_from(iris, 0.01))

# %%
# Does it find clusters?
# ----------------------
fig, (left, middle, right) = plt.subplots(1, 3, figsize=(12.5, 3.9), layout="constrained")
for axes, factor, title in ((left, 1.0, "convex: μ = μ₀"), (middle, 0.02, "not convex: μ = 0.02 μ₀")):
    x, p, _ = hold_elections(iris, homes, tau, factor * mu)
    axes.scatter(iris[:, 2], iris[:, 3], c=p @ [[0.9, 0.5, 0.0], [0.1, 0.6, 0.2], [0.1, 0.3, 0.9]], s=14)
    axes.plot(*np.stack([homes, x])[:, :, 2:].transpose(2, 0, 1), color="black", lw=1)
    axes.plot(*homes[:, 2:].T, "s", color="black", mfc="white", label="home of a party")
    axes.plot(*x[:, 2:].T, "*", color="black", ms=13, label="its position")
    axes.set(title=title, xlabel="petal length, centred", ylabel="petal width, centred")
scores, factors = {}, np.geomspace(1e-3, 1.0, 7)
for name, (points, kinds) in data.items():
    starts = [kmeans_plusplus(points, len(set(kinds)), random_state=seed)[0] for seed in range(5)]
    soft = [[hold_elections(points, c, tau, f * convex_from(points, tau), 30)[0] for c in starts] for f in factors]
    centres = [*soft, [KMeans(len(c), init=c, n_init=1).fit(points).cluster_centers_ for c in starts]]
    found = [[adjusted_rand_score(kinds, cdist(points, x).argmin(axis=1)) for x in xs] for xs in centres]
    *curve, level = np.median(found, axis=1).round(3).tolist()
    (line,) = right.plot(factors, curve, "o-", ms=4, label=name)
    right.axhline(level, ls="--", color=line.get_color(), label=f"{name}, k-means")
    scores[name] = {"convex": curve[-1], "best": max(curve), "k-means": level}
right.axvspan(1.0, 3.0, color="0.88", label="f is convex")
right.set(xscale="log", xlim=(7e-4, 3), ylim=(0.38, 0.82), xlabel="μ / μ₀", title="adjusted Rand index, 5 starts")
_ = left.legend(frameon=False), right.legend(frameon=False, fontsize=8, loc="lower left")

# %%
# In the convex model, voters have no clear preference, and all parties move to the centre: it clusters worse than
# k-means, on both data sets. With a smaller μ clusters appear, but they may depend on the start. Where f is convex,
# elections try the fewest positions. Where they are slow, minmin tries fewer. To insert the best p by hand is better
# still: where y is known in closed form, there is no inner problem to solve.
print("scores:", *scores.items(), "positions, not convex, τ = 0.01:", not_convex, "convex:", counts, sep="\n")
