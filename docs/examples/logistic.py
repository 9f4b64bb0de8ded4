"""Logistic regression, with standard errors from the exact Hessian.

Which measurements of a cell tell a malignant tumour from a benign one, and how sure is the answer?
The log-likelihood is four lines of NumPy. `optimize.minimize` finds its maximum, and the inverse
of the Hessian there is the covariance of the estimate: no formula is derived by hand.

    python docs/examples/logistic.py [PICTURE]
"""

import sys
import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression

import tapegrad
from tapegrad import optimize, tree

start = time.perf_counter()

# %%
# The data are 569 tumours (W. Street, W. Wolberg, O. Mangasarian 1993), which scikit-learn ships.
# Five of the thirty measurements will do. Each is centred, and divided by its standard deviation.
names = ["mean radius", "mean texture", "mean smoothness", "mean symmetry", "worst concavity"]
all_measured, kinds = map(np.asarray, load_breast_cancer(return_X_y=True))
measured = all_measured[:, [0, 1, 4, 8, 26]]
x = (measured - measured.mean(axis=0)) / measured.std(axis=0)
malignant = (kinds == 0).astype(float)

# %%
# The negative logarithm of the likelihood. `np.logaddexp(0, s)` is log(1 + exp(s)), which does not
# overflow.


def negative_log_likelihood(p, x, y):
    score = x @ p["weights"] + p["intercept"]
    return np.sum(np.logaddexp(0.0, score) - y * score)


guess = {"intercept": np.zeros(()), "weights": np.zeros(len(names))}
fit = optimize.minimize(negative_log_likelihood, guess, (x, malignant), tol=1e-6)
assert fit.success
print(fit)

# %%
# The standard errors come with the result: square roots of the diagonal of the inverse Hessian.
errors = fit.standard_errors
for name, weight, error in zip(names, fit.x["weights"], errors["weights"], strict=True):
    print(f"{name:16} {weight:6.2f} ± {error:.2f}")

# %%
# Two checks. scikit-learn finds the same weights; and textbooks derive the Hessian of this one
# model by hand: X^T diag(p (1 - p)) X, with a column of ones in X.
peer = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(x, malignant)
assert np.allclose(fit.x["weights"], peer.coef_[0], atol=1e-4)
assert np.isclose(fit.x["intercept"], peer.intercept_[0], atol=1e-4)

design = np.column_stack([np.ones(len(x)), x])
chance = 1 / (1 + np.exp(-(x @ fit.x["weights"] + fit.x["intercept"])))
by_hand = np.linalg.inv(design.T @ (design * (chance * (1 - chance))[:, None]))
assert np.allclose(fit.covariance, by_hand, rtol=1e-9)

# %%
# What follows from the weights has an error too. By the delta method it is the length of the
# gradient, measured by the covariance. So for the chance that a tumour is malignant:


def chance_of(p, x):
    return 1 / (1 + np.exp(-(x @ p["weights"] + p["intercept"])))


def with_error(x):
    value, gradient = tapegrad.value_and_grad(chance_of)(fit.x, x)
    slope, _ = tree.ravel(gradient)
    return value, np.sqrt(slope @ fit.covariance @ slope)


path = np.zeros((50, len(names)))
path[:, 0] = np.linspace(-2.5, 2.5, 50)  # by the radius, all else as in the mean
middle, half = tapegrad.vmap(with_error)(path)

# %%
# The errors hold for many data. Do they for these? The bootstrap answers without theory: draw the
# tumours anew, with repetition, and fit again. `vmap` does two hundred fits at once, each by six
# steps of Newton's method from the first fit.


def refit(counts):
    def loss(w):
        score = design @ w
        return np.sum(counts * (np.logaddexp(0.0, score) - malignant * score))

    w = np.append(fit.x["intercept"], fit.x["weights"])
    for _ in range(6):
        w = w - np.linalg.solve(tapegrad.hessian(loss)(w), tapegrad.grad(loss)(w))
    return w


random = np.random.default_rng(0)
counts = random.multinomial(len(x), np.full(len(x), 1 / len(x)), size=200).astype(float)
bootstrap = np.std(tapegrad.vmap(refit)(counts)[:, 1:], axis=0)
assert np.all(np.abs(np.log(bootstrap / errors["weights"])) < np.log(1.6))

# %%
# The picture: weights with 95 % intervals by both ways, and the chance along the radius.
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
place = np.arange(len(names))
style = {"fmt": "o", "capsize": 3}
left.errorbar(fit.x["weights"], place, xerr=1.96 * errors["weights"], **style, label="Hessian")
left.errorbar(fit.x["weights"], place - 0.2, xerr=1.96 * bootstrap, **style, label="bootstrap")
left.axvline(0, color="grey", linewidth=0.8)
left.set_yticks(place, names)
left.set_xlabel("weight, by a standard deviation of the measurement")
left.legend()
radius = measured[:, 0].mean() + path[:, 0] * measured[:, 0].std()
right.plot(radius, middle)
right.fill_between(radius, middle - 1.96 * half, middle + 1.96 * half, alpha=0.3)
right.plot(measured[:, 0], malignant, "|", color="black", alpha=0.3)
right.set(xlabel="mean radius", ylabel="chance that it is malignant", ylim=(-0.05, 1.05))

# %%
# What it cost, and what to read next.
kept = tapegrad.memory_report(negative_log_likelihood, fit.x, x, malignant).kept
print(
    f"cost: {time.perf_counter() - start:.1f} s; the fit ran the likelihood {fit.runs} times; "
    f"a gradient keeps {kept / 1e3:.0f} kB"
)
print("read next: docs/guides/fitting.md, docs/optimize.md, docs/vmap.md")
if len(sys.argv) > 1:  # a file for the picture
    figure.savefig(sys.argv[1])
else:
    plt.show()
