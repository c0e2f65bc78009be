r"""
Clicks on advertisements
========================

Will somebody click on an advertisement? Criteo's sample has 7,200 impressions, each with 13 numbers and 26 texts. What
they mean is a secret. The text columns have some 28,000 categories. The model is a logistic regression with one
coefficient for each of them:

.. math::

   f(x, y) &= \frac1n \sum_i \log\bigl(1 + e^{-s_i m_i}\bigr)
              + \tfrac{\alpha_x}{2} |x|^2 + \tfrac{\alpha_y}{2} |y|^2, \\
   m_i &= c + \sum_{t=1}^{26} x_{t,\,\text{text}_{it}} + \sum_{j=1}^{13} y_j\, \text{number}_{ij},

where :math:`s_i` is 1 for a click and -1 otherwise. **The expensive block is x**, the coefficients of the categories:
most data are there. The cheap block is y, the coefficients of the numbers, with the intercept c. Each block has its
own penalty.
"""

# %%
# The text columns stay text: the estimators need no encoder, and store no matrix of zeros and ones. A missing text is a
# category of its own. Missing numbers become 0.

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas
import scipy.optimize
import scipy.sparse
import scipy.special
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import OneHotEncoder

from minmin.estimators import BlockLogisticRegression, BlockLogisticRegressionCV, text_columns

DATA = Path(os.environ.get("MINMIN_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data")
NUMBERS = [f"I{i}" for i in range(1, 14)]
TEXTS = [f"C{i}" for i in range(1, 27)]
file = DATA / "clicks" / "criteo_7200.tsv.gz"
frame = pandas.read_csv(file, sep="\t", names=["click", *NUMBERS, *TEXTS], dtype=dict.fromkeys(TEXTS, "str"))
frame[NUMBERS] = np.log1p(frame[NUMBERS].fillna(0.0).clip(lower=0.0))
train, test = train_test_split(frame, test_size=0.25, random_state=0, stratify=frame["click"])
centre, spread = train[NUMBERS].mean(), train[NUMBERS].std()
train, test = (part.assign(**(part[NUMBERS] - centre) / spread) for part in (train, test))
clicks, test_clicks = train.pop("click").to_numpy(), test.pop("click").to_numpy()
print(f"{len(train)} impressions to fit, {len(test)} to test; {clicks.mean():.1%} were clicked")

# %%
# Two penalties
# -------------
# They are chosen by cross-validation within the training rows, and so is a single penalty for comparison. On these data
# the second penalty does not predict better; ``benchmarks/two_penalties.py`` studies this in more splits.

blocks = {"numbers": NUMBERS, "categories": text_columns}
values = [3e-2, 1e-2, 3e-3, 1e-3]
model = BlockLogisticRegressionCV(blocks, alphas=dict.fromkeys(blocks, values), cv=3).fit(train, clicks)
single = BlockLogisticRegressionCV(blocks, alphas=values, cv=3).fit(train, clicks)
losses = {"the same probability for all": log_loss(test_clicks, np.full(len(test), clicks.mean()))}
for name, fitted in {"one penalty": single, "two penalties": model}.items():
    losses[f"{name}, {fitted.alpha_}"] = log_loss(test_clicks, fitted.predict_proba(test))
for name, loss in losses.items():
    print(f"held-out log loss {loss:.4f} with {name}")

# %%
# Are the probabilities right?
# ----------------------------
# The test rows in ten groups, from the lowest to the highest predicted probability. The bars are two standard errors of
# the observed share.

probability = model.predict_proba(test)[:, 1]
groups = np.array_split(np.argsort(probability), 10)
predicted, observed = (np.array([values[rows].mean() for rows in groups]) for values in (probability, test_clicks))
error = np.sqrt(observed * (1 - observed) / len(groups[0]))
figure, axis = plt.subplots(figsize=(5.5, 5), layout="constrained")
axis.axline((0, 0), slope=1, color="#888888", ls=":")
axis.errorbar(predicted, observed, 2 * error, fmt="o", capsize=3)
axis.set(xlabel="predicted probability of a click", ylabel="share of clicks", xlim=(0, 0.75), ylim=(0, 0.75))

# %%
# The coefficients
# ----------------
# ``summary`` gives intervals for chosen columns. With 28,000 coefficients, each takes a run of conjugate gradients. The
# picture on the right shows what the penalty does to the categories: the rarer, the closer to zero.

summary = model.summary(train, clicks, columns=NUMBERS)
table = summary.to_pandas().query("block == 'numbers'").iloc[::-1]
times = pandas.concat(
    [(column + "=" + train[column]).fillna(f"{column} is missing").value_counts() for column in TEXTS]
)
coefficients = pandas.Series(model.coef_[0], model.feature_names_out_)[times.index]
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.5), width_ratios=[2, 3], layout="constrained")
left.errorbar(table["coefficient"], table["name"], xerr=(table["high"] - table["low"]) / 2, fmt="o", capsize=2)
left.axvline(0.0, color="#888888", lw=1)
left.set(xlabel="coefficient, interval of 95 %", title="numbers, standardised")
right.semilogx(times, coefficients, ".", ms=3, alpha=0.5)
right.axhline(0.0, color="#888888", lw=1)
right.set(xlabel="impressions with this category", ylabel="coefficient", title=f"{len(times):,} categories")

# %%
# The cost
# --------
# A *pass* is a product of the categories' data, or their transpose, with a vector: a gradient takes two. We count until
# :math:`f - f^*` is 1e-6 of what the model gains over the intercept alone. minmin's fit ends when that is *proved*. The
# others do not know the gap, and are stopped as soon as they reach it. They get the columns one-hot, scaled so that one
# penalty is right for all. SciPy's L-BFGS-B also starts from the intercept alone, and is scaled by the curvature there.
# Without this it takes about 150 passes. scikit-learn's ``newton-cg`` counts iterations, not the products with the
# Hessian in each; ``newton-cholesky`` would need a Hessian with 28,000 rows.

fit, exact = (BlockLogisticRegression(blocks, alpha=model.alpha_, tol=tol).fit(train, clicks) for tol in (1e-6, 1e-10))
categories = OneHotEncoder().fit_transform(train[TEXTS].fillna("missing"))
alpha_y, alpha_x = model.alpha_.values()
X = scipy.sparse.hstack([train[NUMBERS] / np.sqrt(alpha_y), categories / np.sqrt(alpha_x)], format="csr")
values = []


def objective(u, scale=1.0):
    z = u / scale
    margin = X @ z[:-1] + z[-1]
    values.append(np.mean(np.logaddexp(0.0, margin) - clicks * margin) + z[:-1] @ z[:-1] / 2)
    slope = (scipy.special.expit(margin) - clicks) / len(clicks)
    return values[-1], np.append(X.T @ slope + z[:-1], slope.sum()) / scale


share = clicks.mean()
start = np.append(np.zeros(X.shape[1]), scipy.special.logit(share))
scale = np.sqrt(np.append(1.0 + share * (1 - share) * X.power(2).mean(axis=0).A1, share * (1 - share)))
null = objective(start)[0]
enough = exact.result_.fun + 1e-6 * (null - exact.result_.fun)
values.clear()
settings = {"jac": True, "method": "L-BFGS-B", "options": {"ftol": 0.0, "gtol": 1e-7}}
scipy.optimize.minimize(objective, start * scale, scale, **settings)
evaluations = 1 + np.flatnonzero(np.array(values) <= enough)[0]
for tol in 10.0 ** -np.arange(1, 8):
    peer = LogisticRegression(C=1 / len(clicks), solver="newton-cg", tol=tol).fit(X, clicks)
    if objective(np.append(peer.coef_[0], peer.intercept_))[0] <= enough:
        break
counts = {
    "minmin: calls of ∇ₓ": fit.calls_["grad_x"],
    "minmin: passes": fit.calls_["passes"],
    "SciPy's L-BFGS-B: gradients": int(evaluations),
    "SciPy's L-BFGS-B: passes": 2 * int(evaluations),
    "scikit-learn's newton-cg: iterations": int(peer.n_iter_[0]),
}
print(fit.result_)
print(*counts.items(), sep="\n")
