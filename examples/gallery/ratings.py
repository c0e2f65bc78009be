r"""
Ratings over a federation
=========================

Some people rate films on their phones. Each phone keeps its ratings. Together they want to know which films are good.
Person :math:`i` gives film :math:`j` the rating :math:`r_{ij} \approx m + x_j + y_i`. The effect :math:`x_j` of a film
is shared. The level :math:`y_i` of a person, who may be strict or generous, is private. :math:`m` is the mean rating,
known to all. With :math:`n` ratings in all, the federation minimises

.. math::

   f(x, y) = \frac{1}{n} \Bigl[\, \sum_{i,j} \tfrac12 (r_{ij} - m - x_j - y_i)^2
             + \tfrac{\alpha_x}{2} |x|^2 + \tfrac{\alpha_y}{2} |y|^2 \Bigr].

**The expensive block is x**: to evaluate :math:`\nabla_x f` at a new x, every phone gets a message and answers it. This
is a *round*. The cheap block is y: a phone finds its best level by itself.

The data are `MovieTweetings <https://github.com/sidooms/MovieTweetings>`_, ratings that people have tweeted. We take 60
people who have rated 5 to 30 of the 100 most rated films. Each keeps one of these ratings back, for a test.
"""

import gzip
import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import scipy.optimize
import scipy.sparse

import minmin

PEOPLE, FILMS, ROUNDS, ALPHA_X, ALPHA_Y = 60, 100, 70, 3.0, 1.0
DATA = Path(os.environ.get("MINMIN_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data")
with gzip.open(DATA / "ratings" / "movietweetings_100k.dat.gz", "rt") as file:  # sorted by person
    person, film, rating = np.array([line.split("::")[:3] for line in file], dtype=int).T

often_rated = np.argsort(-np.bincount(film), kind="stable")[:FILMS]
times = np.bincount(person[np.isin(film, often_rated)])
people = np.random.default_rng(0).choice(np.flatnonzero((times >= 5) & (times <= 30)), PEOPLE, replace=False)
rows = np.isin(film, often_rated) & np.isin(person, people)
films, film = np.unique(film[rows], return_inverse=True)
person, rating = np.unique(person[rows], return_inverse=True)[1], rating[rows].astype(float)
is_test = np.append(person[1:] != person[:-1], True)
train, test = np.flatnonzero(~is_test), np.flatnonzero(is_test)
n, mean = len(train), rating[train].mean()
X = scipy.sparse.csr_array((np.ones(n), (np.arange(n), film[train])), shape=(n, len(films)))
target = rating[train] - mean
print(f"{n} ratings of {len(films)} films by {PEOPLE} people, mean {mean:.2f}")

# %%
# A phone is a client: a least-squares problem :math:`f_i(x, y_i)` and its weight, the number of ratings. The weighted
# mean of all is the f above. A client may also have metrics: computed at the phone, only the numbers leave it.


def make_problem(own):
    alphas = {"alpha_x": ALPHA_X / n, "alpha_y": ALPHA_Y / own.sum()}
    return minmin.problems.GLM(X[own], np.ones((own.sum(), 1)), target[own], "squared", **alphas)


def make_clients():
    for number, kept in enumerate(test):
        own = person[train] == number
        metrics = {"squared error": lambda x, y, i=kept: (rating[i] - mean - x[film[i]] - y.item()) ** 2}
        yield minmin.federated.Client(make_problem(own), weight=own.sum(), metrics=metrics)


clients = list(make_clients())
r = minmin.federated.run(clients, tol=1e-7)
print(r)
error = np.sqrt(np.mean(minmin.federated.evaluate(clients, r.x)["squared error"]))
print(f"root mean square error of the test ratings: {error:.2f}, with the mean alone {np.std(rating[test] - mean):.2f}")

# %%
# What leaves a phone
# -------------------
# In a round a phone sends one number per film and a few scalars, such as :math:`f_i`. It never sends its level or a
# rating. But this is no strict privacy: the numbers are :math:`\nabla_x f_i`, and they reveal a lot. At x = 0 those of
# unrated films are zero. The others, times the number of ratings, differ as the ratings do, with the opposite sign:

own = train[person[train] == 0]
sent = make_problem(person[train] == 0).fix(np.zeros(len(films))).at(clients[0].y).grad_x
print("ratings minus the first:", rating[own] - rating[own[0]])
print("guessed by the server:  ", np.round(len(own) * (sent[film[own[0]]] - sent[film[own]]), 6) + 0.0)

# %%
# To keep this from the server, it would have to see only the sum of the vectors. minmin has no such secure sum.
#
# Rounds of other methods
# -----------------------
# The library's baselines take steps in x at the phones. They need a number of local steps and their length, in units of
# 1/L. We tried 1, 5 and 20 steps of 0.5/L to 2/L, and single steps of up to 32/L. The best are below, and 5 steps of
# FedAvg. minmin's methods need no settings, but BAM loses to the best Federated Reconstruction here. SciPy's L-BFGS-B
# minimises over x and y together; for that, all ratings must be in one place.

Y = np.eye(PEOPLE)[person[train]]
central = minmin.problems.GLM(X, Y, target, "squared", alpha_x=ALPHA_X / n, alpha_y=ALPHA_Y / n)
least, values = minmin.minimize(central, tol=1e-14).fun, []


def objective(z):
    at = central.fix(z[: len(films)]).at(z[len(films) :])
    values.append(at.value)
    return at.value, np.append(at.grad_x, at.grad_y)


paths, baseline = {}, {"certify_every": 0}  # no further rounds for a bound
for name, method, options in [
    ("minmin: reduced-lbfgs", "reduced-lbfgs", {}),
    ("minmin: BAM", "bam", {}),
    ("Federated Reconstruction, 1 step of 8/L", "fedrecon", {"local_steps": 1, "step_size": 8} | baseline),
    ("FedAvg, 1 step of 8/L", "fedavg", {"local_steps": 1, "step_size": 8} | baseline),
    ("FedAvg, 5 steps of 0.5/L", "fedavg", {"local_steps": 5, "step_size": 0.5} | baseline),
    ("SCAFFOLD, 5 steps of 2/L", "scaffold", {"local_steps": 5, "step_size": 2} | baseline),
    ("ProxSkip, random numbers of steps of 2/L", "proxskip", {"step_size": 2} | baseline),
]:
    settings = {"tol": 1e-10, "rounds": ROUNDS, "callback": lambda now: now.value - least < 1e-9}
    history = minmin.federated.run(list(make_clients()), method, **settings, **options).history
    paths[name] = history.grad_x, history.value
scipy.optimize.minimize(objective, np.zeros(len(films) + PEOPLE), jac=True, method="L-BFGS-B", options={"gtol": 1e-7})
paths["SciPy's L-BFGS-B, in one place"] = np.arange(1, len(values) + 1), np.array(values)

counts, (figure, axis) = {}, plt.subplots(figsize=(10, 4.6), layout="constrained")
for name, (rounds, values) in paths.items():
    gaps = (values - least) / (values[0] - least)
    counts[name] = next((int(count) for count, gap in zip(rounds, gaps, strict=True) if gap <= 1e-6), f"> {ROUNDS}")
    axis.semilogy(rounds, gaps, lw=3 if name.startswith("minmin") else 1.5, label=name)
axis.axhline(1e-6, color="#888888", lw=1, ls=":")
axis.set(xlabel="rounds", ylabel="(f - f*) / (f(0) - f*)", xlim=(0, ROUNDS), ylim=(1e-9, 2))
figure.legend(loc="outside right upper", frameon=False)

# %%
# The best films
# --------------
# The films with the highest mean ratings. The fewer ratings a film has, the more its effect is pulled towards zero. The
# effects also allow for who rated the film: strict people, or generous ones.

times = np.bincount(film[train], minlength=len(films))
means = mean + np.bincount(film[train], target, minlength=len(films)) / np.maximum(times, 1)
best = sorted(np.argsort(means)[-20:], key=lambda i: r.x[i])
figure, axis = plt.subplots(figsize=(9, 5.5), layout="constrained")
axis.hlines(range(20), means[best], mean + r.x[best], color="#BBBBBB")
axis.plot(means[best], range(20), "o", mfc="white", color="C1", label="mean of the ratings")
axis.plot(mean + r.x[best], range(20), "o", color="C0", label="mean of all ratings + effect of the film")
axis.axvline(mean, color="#888888", ls=":", label="mean of all ratings")
axis.set_yticks(range(20), [f"tt{films[i]:07}, ratings: {times[i]}" for i in best])
axis.set_xlabel("rating; films by their numbers at IMDb")
figure.legend(loc="outside lower center", ncols=3, frameon=False)
print("rounds to a relative gap of 1e-6:", *counts.items(), sep="\n")
