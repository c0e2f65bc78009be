r"""
Mixed effects: students, lecturers and patients
===============================================

Students rate lecturers. A rating has a part that belongs to the student, a part that belongs to the lecturer, and a
part for everyone. In a linear mixed model, the first two are *random effects* with variances of their own:

.. math::

    t = F\beta + Z_1 u_1 + Z_2 u_2 + \varepsilon, \qquad
    u_b \sim \mathcal N(0, \sigma_b^2 I), \quad \varepsilon \sim \mathcal N(0, \sigma^2 I).

If the variances are known, the most probable effects minimise a least-squares function with a penalty per block:

.. math::

    f(u, \beta) = \frac{1}{2n} |F\beta + Z_1 u_1 + Z_2 u_2 - t|^2 + \sum_b \frac{\alpha_b}{2} |u_b|^2,
    \qquad \alpha_b = \frac{\sigma^2}{n \sigma_b^2} .

**x, the effects of 2,972 students, is the larger block and the more expensive one**: we count its products. **y, the
effects of 1,128 lecturers and** :math:`\beta`, is eliminated at every x, by conjugate gradients of its own.
"""

import os
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas
import scipy.sparse
from scipy.sparse.linalg import cg, splu
from sklearn.model_selection import KFold
from statsmodels.api import MixedLM, add_constant

import minmin
from minmin.estimators import BlockRidge, BlockRidgeCV
from minmin.extend import CategoricalDesign, MixedDesign
from minmin.problems import GLM

DATA = Path(os.environ.get("MINMIN_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data")

# %%
# Crossed effects, variances given
# --------------------------------
# The variances are estimates by restricted maximum likelihood, computed beforehand. ``CategoricalDesign`` stores one
# whole number per rating. Fixed effects are an intercept and ``service``, for lectures in another department.
ratings = pandas.read_csv(DATA / "tables" / "InstEval.csv.gz", dtype={"s": str, "d": str})
n, target = len(ratings), ratings["y"].to_numpy(float)
noise, variances = 1.387, {"students": 0.106, "lecturers": 0.271}
alpha = {name: noise / (n * variance) for name, variance in variances.items()}
students, lecturers = (pandas.factorize(ratings[column], sort=True)[0] for column in "sd")
fixed = np.column_stack([ratings["service"], np.ones(n)])
sizes = students.max() + 1, lecturers.max() + 1
penalties = np.repeat([alpha["students"], alpha["lecturers"], 0.0], [*sizes, 2])
X = CategoricalDesign(students[:, None], sizes[:1])
Y = MixedDesign([CategoricalDesign(lecturers[:, None], sizes[1:]), fixed])
model = GLM(X, Y, target, "squared", alpha_x=penalties[: sizes[0]], alpha_y=penalties[sizes[0] :])
begin = time.perf_counter()
r = minmin.minimize(model, tol=0.0, gtol=1e-11)
seconds = [time.perf_counter() - begin]

# %%
# The closed form
# ---------------
# f is quadratic, so its minimum solves a linear system. A sparse factorisation gives the exact answer. Two other
# methods run until no effect is wrong by more than 1e-8: conjugate gradients on all effects together, with the diagonal
# as preconditioner, and alternating minimisation over the students and the rest.
begin = time.perf_counter()
Z = scipy.sparse.csr_array((np.ones(n), (np.arange(n), students)))
Y = scipy.sparse.hstack([scipy.sparse.csr_array((np.ones(n), (np.arange(n), lecturers))), fixed], format="csr")
A = scipy.sparse.hstack([Z, Y])
system, right_side = (A.T @ A / n + scipy.sparse.diags_array(penalties)).tocsc(), A.T @ target / n
exact = splu(system, "MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}).solve(right_side)
seconds.append(time.perf_counter() - begin)
error = np.abs(np.concatenate([r.x, r.y]) - exact).max()
print(f"minmin differs from the closed form by {error:.0e} and takes {seconds[0] / seconds[1]:.2f} of its time")

errors, x, rounds, solve_y = [], np.zeros(sizes[0]), 0, splu(system[sizes[0] :, sizes[0] :]).solve
preconditioner = scipy.sparse.diags_array(1.0 / system.diagonal())
cg(system, right_side, M=preconditioner, rtol=1e-14, callback=lambda w: errors.append(np.abs(w - exact).max()))
while np.abs(x - exact[: sizes[0]]).max() > 1e-8:
    y = solve_y(Y.T @ (target - Z @ x) / n)
    x, rounds = Z.T @ (target - Y @ y) / n / system.diagonal()[: sizes[0]], rounds + 1

# %%
# We count products with the students' matrix or its transpose. minmin takes the fewest, for a more exact answer, but
# more with the lecturers' matrix than the others. Here these cost as much: conjugate gradients do the least in all.
of_cg = 3 + 2 * int(np.argmax(np.array(errors) <= 1e-8))  # one at the start, and two per iteration
counts = {"minmin": r.calls["passes"], "conjugate gradients": of_cg, "alternating minimisation": 2 * rounds}
print("products with the lecturers' matrix, minmin:", r.calls["passes_y"])

# %%
# Variances chosen on held-out data
# ---------------------------------
# An estimator needs no designs by hand: text columns have an effect per category. Cross-validation tries 25 pairs of
# penalties. Its fits see two thirds of the ratings, for which the given variances mean penalties 1.5 times as large.
factors = 2.0 ** np.arange(-2, 3)
frame = ratings[["s", "d", "service"]].rename(columns={"s": "students", "d": "lecturers"})
alphas = {name: (value * factors).tolist() for name, value in alpha.items()} | {"rest": [0.0]}
blocks = {name: name for name in alpha}
chosen = BlockRidgeCV(blocks, alphas=alphas, cv=KFold(3, shuffle=True, random_state=0)).fit(frame, target)
ratios = {name: chosen.alpha_[name] / value for name, value in alpha.items()}
print("chosen penalties, divided by the given ones:", {name: round(ratio, 2) for name, ratio in ratios.items()})

# %%
# Patients
# --------
# 42 patients with Parkinson's disease were examined 101 to 168 times each. statsmodels estimates the two variances, and
# with them minmin finds the same effects. It takes less time, but it does not estimate variances.
exams = pandas.read_csv(DATA / "tables" / "parkinsons_updrs.csv.gz")
features = exams[["age", "sex", "test_time", "Jitter(%)", "Shimmer", "NHR", "HNR", "RPDE", "DFA", "PPE"]]
begin = time.perf_counter()
mixed = MixedLM(exams["motor_UPDRS"], add_constant(features), groups=exams["subject#"]).fit()
middle = time.perf_counter()
penalty = mixed.scale / (len(exams) * mixed.cov_re.iloc[0, 0])
patients = BlockRidge({"patient": "patient"}, alpha={"patient": penalty, "rest": 0.0}, tol=1e-12)
patients.fit(features.assign(patient=exams["subject#"].astype(str)), exams["motor_UPDRS"])
end = time.perf_counter()
effects = pandas.Series(patients.coef_, patients.feature_names_out_)
levels = pandas.Series({group: effect.iloc[0] for group, effect in mixed.random_effects.items()})
agreement = np.abs(effects[[f"patient={group}" for group in levels.index]].to_numpy() - levels.to_numpy()).max()
print(
    f"minmin differs from statsmodels by {agreement:.0e} and takes {(end - middle) / (middle - begin):.2f} of its time"
)

# %%
fig, (left, centre, right) = plt.subplots(1, 3, figsize=(12.5, 3.9), layout="constrained")
number = np.bincount(lecturers)
raw = np.bincount(lecturers, target - fixed @ r.y[-2:] - r.x[students]) / number
shown = left.scatter(raw, r.y[:-2], c=number, s=8, norm="log", cmap="viridis")
left.axline((0, 0), slope=1, color="0.6", lw=1, zorder=0)
left.set(xlabel="mean of the lecturer's ratings, adjusted", ylabel="effect of the lecturer", title="shrinkage")
fig.colorbar(shown, ax=left, label="ratings")
loss = -chosen.cv_results_["mean_test_score"].reshape(5, 5)
image = centre.imshow(loss, origin="lower", cmap="viridis_r", aspect="auto")
centre.plot(2, 2, "ko", mfc="none", ms=12, label="given")
centre.plot(*(2 + np.log2([ratios["lecturers"], ratios["students"]])), "kx", label="chosen")
centre.set(xlabel="penalty of lecturers / given", ylabel="penalty of students / given", title="held-out ratings")
centre.set(xticks=range(5), yticks=range(5), xticklabels=factors, yticklabels=factors)
centre.legend(loc="lower right")
fig.colorbar(image, ax=centre, label="half the mean squared error")
order = levels.sort_values().index
rest = exams["motor_UPDRS"] - patients.intercept_ - features @ effects[features.columns]
places = exams["subject#"].map({group: place for place, group in enumerate(order)})
right.plot(places, rest, ".", color="0.75", ms=3, label="an examination, adjusted")
right.plot(range(42), levels[order], "o", ms=5, label="level of a patient")
right.set(xlabel="patients, sorted", ylabel="motor score above the mean", title="patients")
_ = right.legend(frameon=False)
print(counts)
