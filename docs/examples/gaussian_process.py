"""A Gaussian process that learns its kernel, one length scale a feature.

How does diabetes progress, and which of ten measurements foretell it? A Gaussian process answers
with a curve and its uncertainty. How fast the curve may bend along each measurement is learned: by
the gradient of the marginal likelihood, through a Cholesky decomposition.

    python docs/examples/gaussian_process.py [PICTURE]
"""

import sys
import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

import tapegrad
from tapegrad import optimize
from tapegrad.scipy import linalg

start = time.perf_counter()

# %%
# The data: 442 patients (B. Efron et al. 2004), all scaled to mean 0 and deviation 1. The last 142
# are kept for the test.
names = ["age", "sex", "bmi", "pressure", "tc", "ldl", "hdl", "tch", "ltg", "glucose"]
measured, progression = map(np.asarray, load_diabetes(return_X_y=True, scaled=False))
x = (measured - measured.mean(axis=0)) / measured.std(axis=0)
y = (progression - progression.mean()) / progression.std()
x, y, new_x, new_y = x[:300], y[:300], x[300:], y[300:]

# %%
# The kernel has a size, a length scale for each feature, and noise. All of these are positive, so
# their logarithms are learned. `linalg.cho_factor` and `cho_solve` are SciPy's, with derivatives.


def kernel(p, a, b):
    a, b = a * np.exp(-p["scales"]), b * np.exp(-p["scales"])
    apart = np.sum(a**2, 1)[:, None] + np.sum(b**2, 1) - 2 * a @ b.T
    return np.exp(p["size"] - apart / 2)


def factor(p, x):
    return linalg.cho_factor(kernel(p, x, x) + np.exp(p["noise"]) * np.eye(len(x)), lower=True)


def surprise(p, x, y):
    """The negative logarithm of the marginal likelihood."""
    lower = factor(p, x)
    half_log_det = np.sum(np.log(np.diag(lower[0])))
    return y @ linalg.cho_solve(lower, y) / 2 + half_log_det + len(y) / 2 * np.log(2 * np.pi)


# %%
# Check value and gradient against scikit-learn, which has the gradient of this kernel by hand.
p = {"size": np.zeros(()), "scales": np.full(10, 1.0), "noise": np.full((), -0.5)}
value, gradient = tapegrad.value_and_grad(surprise)(p, x, y)
rbf = RBF().set_params(length_scale=np.exp(np.ones(10)))
theirs = ConstantKernel(1.0) * rbf + WhiteKernel(np.exp(-0.5))
peer = GaussianProcessRegressor(theirs).set_params(optimizer=None).fit(x, y)
both = peer.log_marginal_likelihood(theirs.theta, eval_gradient=True)
assert isinstance(both, tuple)
their_value, their_gradient = both
assert np.isclose(value, -their_value)
mine = np.concatenate([[gradient["size"]], gradient["scales"], [gradient["noise"]]])
assert np.allclose(mine, -their_gradient, rtol=1e-7, atol=1e-8)

# %%
# Learn. A weak prior on the scales' logarithms keeps those finite that do not matter.


def objective(p, x, y):
    return surprise(p, x, y) + np.sum((p["scales"] - 1.5) ** 2) / 8


fit = optimize.minimize(objective, p, (x, y), method="L-BFGS-B", tol=1e-6)
assert fit.success
assert fit.fun < objective(p, x, y)
p = fit.x

# %%
# Predict, and compare with what happened. A model that knows its error has 95 % of the new
# patients within 1.96 standard deviations; a straight line (least squares) is what is to be
# beaten.


def predict(p, at):
    lower = factor(p, x)
    across = kernel(p, at, x)
    mean = across @ linalg.cho_solve(lower, y)
    reduced = linalg.solve_triangular(lower[0], across.T, lower=True)
    return mean, np.exp(p["size"]) - np.sum(reduced**2, 0) + np.exp(p["noise"])


mean, variance = predict(p, new_x)
inside = np.mean(np.abs(new_y - mean) < 1.96 * np.sqrt(variance))
error = np.sqrt(np.mean((new_y - mean) ** 2))
line = (
    np.column_stack([np.ones(len(new_x)), new_x])
    @ np.linalg.lstsq(np.column_stack([np.ones(len(x)), x]), y, rcond=None)[0]
)
line_error = np.sqrt(np.mean((new_y - line) ** 2))
print(f"error on new patients {error:.3f}, of a straight line {line_error:.3f}")
print(f"{inside:.0%} of them are within the 95 % interval")
assert error < line_error
assert 0.9 < inside < 0.99

# %%
# How does the prediction for the mean patient change with each measurement? Ask its gradient.
slopes = tapegrad.grad(lambda at: predict(p, at[None])[0][0])(np.zeros(10))
h = 1e-5 * np.eye(10)
by_differences = (predict(p, h)[0] - predict(p, -h)[0]) / 2e-5
assert np.allclose(slopes, by_differences, atol=1e-8)

# %%
# The picture: what matters, and the prediction along the feature that matters most.
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
relevance = np.exp(-p["scales"])
order = np.argsort(relevance)
best = order[-1]
left.barh(np.array(names)[order], relevance[order])
left.set_xlabel("relevance: 1 / length scale")
path = np.zeros((100, 10))
path[:, best] = np.linspace(-2.5, 3, 100)
mean, variance = predict(p, path)
sure = np.sqrt(variance - np.exp(p["noise"]))
right.plot(new_x[:, best], new_y, ".", color="grey", label="new patients")
right.plot(path[:, best], mean, label="the mean patient")
right.fill_between(path[:, best], mean - 1.96 * sure, mean + 1.96 * sure, alpha=0.3)
right.set(xlabel=f"{names[best]}, scaled", ylabel="progression, scaled")
right.legend()

# %%
# What it cost, and what to read next.
report = tapegrad.memory_report(surprise, p, x, y)
print(
    f"cost: {time.perf_counter() - start:.1f} s; {fit.runs} runs of the likelihood; "
    f"a gradient keeps {report.kept / 1e6:.1f} MB"
)
print("read next: docs/scipy.md, docs/optimize.md, docs/guides/performance.md")
if len(sys.argv) > 1:  # a file for the picture
    figure.savefig(sys.argv[1])
else:
    plt.show()
