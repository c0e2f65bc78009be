r"""
Insurance claims
================

How many claims will a car insurance policy have? The data are 67,856 Australian policies of 2004 and 2005. A policy was
insured for a part :math:`e_i` of a year, its *exposure*. Its number of claims :math:`k_i` is modelled as Poisson, with
the mean :math:`e_i e^{m_i}`:

.. math::

   f(x, y) &= \frac1n \sum_i \bigl( e_i e^{m_i} - k_i (m_i + \log e_i) \bigr)
              + \tfrac{\alpha_x}{2} |x|^2 + \tfrac{\alpha_y}{2} |y|^2, \\
   m_i &= c + \sum_{t} x_{t,\,\text{text}_{it}} + \sum_j y_j\, b_j(\text{value}_i).

**The expensive block is x**: a coefficient for each of the 25 categories of the text columns: the body and the age of
the vehicle, and the gender and the age of the driver. The cheap block is y, the coefficients of a spline in the
value of the vehicle, with the intercept c. In truth neither is expensive; the end of this page says what that means.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas
import scipy.optimize
from sklearn.linear_model import PoissonRegressor
from sklearn.metrics import mean_poisson_deviance
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import SplineTransformer

from minmin.estimators import BlockPoissonRegressor, BlockPoissonRegressorCV, text_columns

DATA = Path(os.environ.get("MINMIN_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data")
TEXTS = ["DrivAge", "VehAge", "VehBody", "Gender"]
policies = pandas.read_csv(DATA / "tables" / "ausprivauto0405.csv.gz")
train, test = train_test_split(policies, test_size=0.25, random_state=0)
spline = SplineTransformer(n_knots=5, knots="quantile", extrapolation="constant", include_bias=False)
spline.set_output(transform="pandas").fit(train[["VehValue"]])
X, X_test = (part[TEXTS].join(spline.transform(part[["VehValue"]])) for part in (train, test))
claims, claims_test = train["ClaimNb"].to_numpy(float), test["ClaimNb"].to_numpy(float)
exposure, exposure_test = train["Exposure"].to_numpy(), test["Exposure"].to_numpy()
rate = claims.sum() / exposure.sum()

# %%
# Exposure
# --------
# The logarithm of the exposure is an *offset*, added to the margin :math:`m_i`. So somebody who was insured for half a
# year is expected to have half the claims. The penalties are chosen by cross-validation.

blocks, offset = {"categories": text_columns, "value": "VehValue_sp_*"}, np.log(exposure)
alphas = {block: [1e-2, 1e-3, 1e-4] for block in blocks}
chosen = BlockPoissonRegressorCV(blocks, alphas=alphas, cv=3).fit(X, claims, offset=offset).alpha_
model = BlockPoissonRegressor(blocks, alpha=chosen).fit(X, claims, offset=offset)
print("penalties:", chosen)

# %%
# To predict, give the offset again: ``predict(X, offset=...)`` is the number of claims of a policy in its time, and
# ``predict(X)`` that in a year. The other common way gives the same model: fit the claims per year, with the exposures
# as weights, and scale the penalties. To leave the exposure out is wrong: see the deviance of the test rows.

rescaled = {block: alpha / exposure.mean() for block, alpha in chosen.items()}
rates = BlockPoissonRegressor(blocks, alpha=rescaled).fit(X, claims / exposure, sample_weight=exposure)
predicted = model.predict(X_test, offset=np.log(exposure_test))
without = BlockPoissonRegressor(blocks, alpha=chosen).fit(X, claims).predict(X_test)
expectations = {"the same rate for all": rate * exposure_test, "the model": predicted, "no exposure": without}
deviance = {name: mean_poisson_deviance(claims_test, expected) for name, expected in expectations.items()}
print("deviance:", *deviance.items(), sep="\n")
print(f"largest difference of coefficients between offset and weights: {np.abs(model.coef_ - rates.coef_).max():.1e}")

# %%
# Relativities
# ------------
# :math:`e^{x}` says by which factor a category changes the number of claims. The coefficients of a text column sum to
# zero, since the intercept has no penalty; so 1 is the geometric mean of its categories. The penalty draws coefficients
# towards zero, those of rare categories most, such as buses, and the intervals do not say by how much.

table = model.summary(X, claims, offset=offset).to_pandas().query("block == 'categories'").iloc[::-1].reset_index()
figure, axis = plt.subplots(figsize=(8, 7), layout="constrained")
for number, name in enumerate(TEXTS):
    rows = table[table["name"].str.startswith(f"{name}=")]
    middle, low, high = (np.exp(rows[column]) for column in ("coefficient", "low", "high"))
    axis.errorbar(middle, rows.index, xerr=[middle - low, high - middle], fmt="o", capsize=2, color=f"C{number}")
axis.axvline(1.0, color="#888888", lw=1)
axis.set(xscale="log", xlabel="relativity, interval of 95 %", yticks=table.index, yticklabels=table["name"])
axis.set_xticks(ticks := [0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4], ticks)
axis.minorticks_off()

# %%
# The effect of the value of the vehicle; and the test policies in ten groups, from the lowest to the highest predicted
# rate. The bars are two standard errors of the observed rate.

values = pandas.DataFrame({"VehValue": np.linspace(0.0, 6.0, 200)})
effect = spline.transform(values) @ model.coef_[model.blocks_["value"]]
groups = np.array_split(np.argsort(predicted / exposure_test), 10)
sums = [[v[rows].sum() for rows in groups] for v in (exposure_test, claims_test, predicted)]
years, observed, expected = np.array(sums)
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
left.plot(values, np.exp(effect - effect.mean()))
left.set(xlabel="value of the vehicle, in units of the data", ylabel="relativity, 1 in the mean of the curve")
right.plot(range(1, 11), expected / years, "C1_", ms=18, mew=3, label="predicted")
right.errorbar(range(1, 11), observed / years, 2 * np.sqrt(observed) / years, fmt="o", capsize=3, label="observed")
right.set(xlabel="tenth of the policies", ylabel="claims per year", xticks=range(1, 11), ylim=(0, None))
right.legend(frameon=False)

# %%
# The cost
# --------
# A *pass* is a product of the categories' data, or their transpose, with a vector: a gradient takes two. We count until
# :math:`f - f^*` is 1e-6 of what the model gains over the intercept alone. minmin's fit proves that; the others are
# stopped as soon as they reach it. They get the columns one-hot, scaled so that one penalty is right for all. SciPy's
# L-BFGS-B also gets variables scaled by the curvature at the start; without this it takes about 200 passes. With so few
# columns a whole Hessian costs little, and scikit-learn's ``newton-cholesky`` is the better choice.

one_hot = pandas.get_dummies(X, columns=TEXTS, dtype=float)
alphas = [chosen["value" if name.startswith("VehValue") else "categories"] for name in one_hot]
Z, history = one_hot.to_numpy() / np.sqrt(alphas), []


def objective(u, scale=1.0):
    z = u / scale
    margin = Z @ z[:-1] + z[-1] + offset
    history.append(np.mean(np.exp(margin) - claims * margin) + z[:-1] @ z[:-1] / 2)
    slope = (np.exp(margin) - claims) / len(claims)
    return history[-1], np.append(Z.T @ slope + z[:-1], slope.sum()) / scale


start = np.append(np.zeros(Z.shape[1]), np.log(rate))
scale = np.sqrt(np.append(1.0 + rate * exposure @ Z**2 / len(Z), rate * exposure.mean()))
least = BlockPoissonRegressor(blocks, alpha=chosen, tol=1e-10).fit(X, claims, offset=offset).result_.fun
enough = least + 1e-6 * (objective(start)[0] - least)
history.clear()
settings = {"jac": True, "method": "L-BFGS-B", "options": {"ftol": 0.0, "gtol": 1e-8}}
scipy.optimize.minimize(objective, start * scale, scale, **settings)
evaluations = 1 + int(np.flatnonzero(np.array(history) <= enough)[0])
for tol in 10.0 ** -np.arange(1, 10):
    peer = PoissonRegressor(alpha=1 / exposure.mean(), solver="newton-cholesky", tol=tol)
    peer.fit(Z, claims / exposure, exposure)
    if objective(np.append(peer.coef_, peer.intercept_))[0] <= enough:
        break
counts = {
    "minmin: calls of ∇ₓ": model.calls_["grad_x"],
    "minmin: passes": model.calls_["passes"],
    "SciPy's L-BFGS-B: gradients": evaluations,
    "SciPy's L-BFGS-B: passes": 2 * evaluations,
    "scikit-learn's newton-cholesky: iterations": peer.n_iter_,
}
print(*counts.items(), sep="\n")
