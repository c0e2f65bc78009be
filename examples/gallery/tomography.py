r"""
Tomography with drifting detectors
==================================

A scanner turns around an object and measures, from many directions, how much radiation passes through it. Minus the
logarithm of a reading is a line integral of the object, plus the log-gain of its detector, which drifts with time τ:

.. math::

    g_{ad} = (P x)_{ad} + c_d + e_d \tau_a + \varepsilon_{ad}.

All of this is linear. With normal noise and normal priors, the most probable image :math:`x \ge 0` and detectors
:math:`y = (c, e)` minimise

.. math::

    f(x, y) &= \frac{1}{2n} |P x + B y - g|^2
    + \frac{\alpha_x}{2} |x|^2 + \frac{\alpha_c}{2} |c|^2 + \frac{\alpha_e}{2} |e|^2, \\
    \alpha &= \frac{\text{variance of the noise}}{n \cdot \text{variance of the prior}}.

**x, the image, is the expensive block**: :math:`\nabla_x f` takes a projection P and a back-projection :math:`P^\top`.
**y, two numbers per detector, is the cheap block**: once Px is known, :math:`\nabla_y f` takes a few sums.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse
from scipy.optimize import minimize

import minmin

SIZE, ANGLES, DETECTORS = 64, 90, 101
NOISE, GAIN, DRIFT = 0.003, 0.03, 0.02  # standard deviations
centred = np.arange(SIZE) - (SIZE - 1) / 2
across, up = np.meshgrid(centred, -centred)


# %%
# The scanner
# -----------
# The shadow of a pixel falls between two detectors. Here P is a sparse matrix; a ``Design`` of your own need not store
# it. Log-gains that are symmetric around the axis of rotation look like the projections of an image of rings: no data
# can tell them apart. So the detectors are shifted sideways between measurements, by known steps.
def make_projector(shifts):
    angles = np.pi * np.arange(ANGLES)[:, None] / ANGLES
    place = np.cos(angles) * across.ravel() + np.sin(angles) * up.ravel() + (DETECTORS - 1) / 2 + shifts[:, None]
    first = np.floor(place).astype(int)
    rows, pixels = first + DETECTORS * np.arange(ANGLES)[:, None], np.broadcast_to(np.arange(SIZE**2), first.shape)
    entries = np.stack([first + 1 - place, place - first]) / SIZE
    where = np.stack([rows, rows + 1]).ravel(), np.stack([pixels, pixels]).ravel()
    return scipy.sparse.csr_array((entries.ravel(), where), shape=(ANGLES * DETECTORS, SIZE**2))


def draw_ellipse(brightness, a, b, x, y, angle):
    right, over = 2 * across / SIZE - x, 2 * up / SIZE - y
    u, v = right * np.cos(angle) + over * np.sin(angle), over * np.cos(angle) - right * np.sin(angle)
    return brightness * ((u / a) ** 2 + (v / b) ** 2 <= 1)


head = draw_ellipse(1.0, 0.69, 0.92, 0.0, 0.0, 0.0) - draw_ellipse(
    0.7, 0.65, 0.87, 0.0, -0.02, 0.0
)  # after Shepp and Logan
head = head - draw_ellipse(0.3, 0.11, 0.31, 0.22, 0.0, -0.3) - draw_ellipse(0.3, 0.16, 0.41, -0.22, 0.0, 0.3)
head = head + draw_ellipse(0.2, 0.21, 0.2, 0.0, 0.5, 0.0) + draw_ellipse(0.3, 0.06, 0.06, 0.0, -0.1, 0.0)
head = head + draw_ellipse(0.3, 0.06, 0.04, -0.1, -0.6, 0.0) + draw_ellipse(0.3, 0.04, 0.06, 0.1, -0.6, 0.0)
rng, n = np.random.default_rng(0), ANGLES * DETECTORS
gains = scipy.sparse.csr_array((np.ones(n), (np.arange(n), np.tile(np.arange(DETECTORS), ANGLES))))
drifts = scipy.sparse.diags_array(np.repeat(np.linspace(-1.0, 1.0, ANGLES), DETECTORS)) @ gains
B = scipy.sparse.hstack([gains, drifts], format="csr")
deviation = np.repeat([GAIN, DRIFT], DETECTORS)
truth, noise = deviation * rng.standard_normal(2 * DETECTORS), NOISE * rng.standard_normal(n)
alpha_x, alpha_y = NOISE**2 / (n * (head**2).mean()), NOISE**2 / (n * deviation**2)


# %%
# Images with and without y
# -------------------------
# A large penalty switches y off. The constants make the bound a proved one: :math:`|P|^2` is at most the largest column
# sum times the largest row sum, :math:`|B|^2` is the number of angles, and a sum of two blocks takes a factor of 2.
# ``reduced-newton``, which ``auto`` takes, needs less time but more products; here these count: each is a projection.
def reconstruct(shifts, alpha_y, rtol=1e-5):
    P = make_projector(shifts)
    g = P @ head.ravel() + B @ truth + noise
    L_x, L_y = 2 * P.sum(axis=0).max() * P.sum(axis=1).max() / n + alpha_x, 2 * ANGLES / n + np.max(alpha_y)
    constants = minmin.Constants(L_x=L_x, L_y=L_y, mu_x=alpha_x, mu_y=np.min(alpha_y))
    model = minmin.problems.GLM(P, B, g, "squared", alpha_x=alpha_x, alpha_y=alpha_y, constants=constants)
    return P, g, minmin.minimize(model, method="reduced-lbfgs", bounds_x=(0.0, None), tol=0.0, rtol=rtol)


def measure(x):
    """The error of an image, and the strength of its rings: how much their mean errors differ from one to the next."""
    error, ring = x.reshape(head.shape) - head, np.hypot(across, up).astype(int)
    means = np.bincount(ring.ravel(), error.ravel()) / np.bincount(ring.ravel())
    return np.sqrt((error**2).mean()), np.sqrt((np.diff(means[: SIZE // 2]) ** 2).mean())


steps = rng.integers(-4, 5, ANGLES)
P, g, r = reconstruct(steps, alpha_y, rtol=1e-6)
images = {"detectors fixed, without y": reconstruct(0 * steps, 1e3)[2].x}
images["detectors fixed, with y"] = reconstruct(0 * steps, alpha_y)[2].x
images["detectors shifted, without y"] = reconstruct(steps, 1e3)[2].x
images["detectors shifted, with y"] = r.x
quality = {name: np.round(measure(x), 3).tolist() for name, x in images.items()}
print(r)

# %%
figure, axes = plt.subplots(2, 3, figsize=(9.5, 6.8), layout="constrained")
axes[0, 0].imshow(g.reshape(ANGLES, DETECTORS), cmap="gray", aspect="auto")
axes[0, 0].set(title="measured by shifted detectors", xlabel="detector", ylabel="angle")
axes[1, 0].imshow(head, cmap="gray", vmin=0, vmax=0.7)
axes[1, 0].set(title="the object", xticks=[], yticks=[])
for axis, (name, x) in zip(axes[:, 1:].ravel(), images.items(), strict=True):
    axis.imshow(x.reshape(head.shape), cmap="gray", vmin=0, vmax=0.7)
    axis.set(title=name, xlabel="error {}, rings {}".format(*quality[name]), xticks=[], yticks=[])

# %%
# With fixed detectors, y removes two thirds of the rings, but a smooth and symmetric part of the gains stays in the
# image, as expected. If the detectors are shifted, the image is right. Without y, shifts alone turn rings into noise.


# %%
# How many projections?
# ---------------------
# SciPy's L-BFGS-B on all variables takes bounds, too. How many calls it needs depends on the unit of y. The second time
# it is the standard deviation of the gains. All run until f is within 1e-6 of its minimum, relative to the start. Every
# call takes a projection and a back-projection.
def minimize_jointly(unit):
    values = []

    def differentiate(z):
        x, y = z[: SIZE**2], unit * z[SIZE**2 :]
        rest = P @ x + B @ y - g
        values.append(0.5 * (rest @ rest) / n + 0.5 * alpha_x * (x @ x) + 0.5 * alpha_y @ y**2)
        return values[-1], np.concatenate([P.T @ rest / n + alpha_x * x, unit * (B.T @ rest / n + alpha_y * y)])

    start, bounds = np.zeros(SIZE**2 + 2 * DETECTORS), [(0, None)] * SIZE**2 + [(None, None)] * 2 * DETECTORS
    options = {"ftol": 0.0, "gtol": 1e-10, "maxfun": 1200, "maxiter": 1200}
    minimize(differentiate, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return np.array(values)


traces = {"minmin": r.history.value, "SciPy, jointly": minimize_jointly(1.0), "SciPy, y scaled": minimize_jointly(GAIN)}
least = min(values.min() for values in traces.values())
target = least + 1e-6 * (traces["minmin"][0] - least)
counts = {name: 1 + int(np.argmax(values <= target)) for name, values in traces.items()}
counts["minmin"] = int(r.history.grad_x[counts["minmin"] - 1])
counts["minmin, until it is proved"] = r.calls["grad_x"]
print(*quality.items(), counts, sep="\n")
