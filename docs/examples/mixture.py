"""A mixture of Gaussians: expectation-maximisation beside the exact gradient.

Three kinds of iris, from the sizes of their petals alone. The EM algorithm is derived with pencil
and paper; a gradient needs only the likelihood. Both climb the same hill: what EM computes in its
E step is a derivative, and where EM crawls, second derivatives run.

    python docs/examples/mixture.py [PICTURE]
"""

import sys
import time

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Ellipse
from sklearn.datasets import load_iris
from sklearn.mixture import GaussianMixture

import tapegrad
from tapegrad import optimize, tree
from tapegrad.scipy import special

start = time.perf_counter()

# %%
# The data: lengths and widths of 150 petals (E. Anderson 1935, R. A. Fisher 1936), in centimetres.
# They are rounded to millimetres; noise of that size keeps points from lying on one another.
flowers, kinds = map(np.asarray, load_iris(return_X_y=True))
random = np.random.default_rng(0)
x = flowers[:, 2:] + random.uniform(-0.05, 0.05, (150, 2))
count, size = 3, 2

# %%
# Free parameters, of which each value is allowed: logits for the weights of the components, and
# the Cholesky factors of their precisions, with logarithms on the diagonal.


def log_densities(p, x):
    """Of each point, by each component, with the component's weight."""
    log_weights = p["logits"] - special.logsumexp(p["logits"])
    diagonal = p["factors"][:, range(size), range(size)]
    lower = np.tril(p["factors"], -1) + np.exp(diagonal)[:, None] * np.eye(size)
    apart = np.einsum("nki,kij->nkj", x[:, None] - p["means"], lower)
    inner = np.sum(diagonal, axis=1) - np.sum(apart**2, axis=2) / 2
    return log_weights + inner - size / 2 * np.log(2 * np.pi)


def surprise(p, x):
    """The negative logarithm of the likelihood."""
    return -np.sum(special.logsumexp(log_densities(p, x), axis=1))


def free(weights, means, precisions):
    """Free parameters, of those that EM has."""
    lower = np.linalg.cholesky(precisions)
    logarithms = np.log(lower[:, range(size), range(size)])
    factors = np.tril(lower, -1) + logarithms[:, None] * np.eye(size)
    return {"logits": np.log(weights), "means": means, "factors": factors}


# %%
# EM, in plain NumPy.


def em(x, means, steps):
    weights, precisions = np.full(count, 1 / count), np.tile(np.eye(size), (count, 1, 1))
    history = []
    for _ in range(steps):
        logs = log_densities(free(weights, means, precisions), x)
        history.append(-np.sum(special.logsumexp(logs, axis=1)))
        share = np.exp(logs - special.logsumexp(logs, axis=1, keepdims=True))  # the E step
        total = share.sum(axis=0)
        weights, means = total / len(x), share.T @ x / total[:, None]
        off = x[:, None] - means
        spread = np.einsum("nk,nki,nkj->kij", share, off, off) / total[:, None, None]
        precisions = np.linalg.inv(spread)
    return free(weights, means, precisions), np.array(history)


first = x[[10, 70, 120]]
by_em, em_history = em(x, first, 400)

# %%
# The E step is a derivative. By how much the likelihood of a point changes with the logarithm of a
# component's density is that component's share in it.
logs = log_densities(by_em, x)
shares = tapegrad.grad(lambda logs: np.sum(special.logsumexp(logs, axis=1)))(logs)
assert np.allclose(
    shares, np.exp(logs - special.logsumexp(logs, axis=1, keepdims=True)), rtol=1e-12
)

# And where EM stands still, the gradient is zero.
slope = tree.norm(tapegrad.grad(surprise)(by_em, x))
assert slope < 1e-3

# %%
# The same from the gradient alone (BFGS), and with the exact Hessian (Newton's method in a trust
# region). The callback keeps the values on the way.
begin = free(np.full(count, 1 / count), first, np.tile(np.eye(size), (count, 1, 1)))


def watched(method):
    history = [surprise(begin, x)]
    found = optimize.minimize(
        surprise,
        begin,
        (x,),
        method=method,
        tol=1e-6,
        callback=lambda p: history.append(surprise(p, x)),
    )
    return found, np.array(history)


bfgs, bfgs_history = watched("BFGS")
newton, newton_history = watched("trust-exact")
for name, value in (("EM", em_history[-1]), ("BFGS", bfgs.fun), ("Newton", newton.fun)):
    print(f"{name:7} {value:.6f}")
assert np.isclose(bfgs.fun, em_history[-1], atol=1e-5)
assert np.isclose(newton.fun, em_history[-1], atol=1e-5)

# scikit-learn's EM, from the same start, ends there too.
peer = GaussianMixture(
    count,
    tol=1e-10,
    reg_covar=0.0,
    max_iter=1000,
    weights_init=np.full(count, 1 / count),
    means_init=first,
    precisions_init=np.tile(np.eye(size), (count, 1, 1)),
).fit(x)
assert np.isclose(-peer.score(x) * len(x), newton.fun, atol=1e-5)

# How many steps to be within 1e-4 of the end?
steps = {
    name: int(np.argmax(history < newton.fun + 1e-4))
    for name, history in (("EM", em_history), ("BFGS", bfgs_history), ("Newton", newton_history))
}
print("steps to within 1e-4:", steps)
assert steps["Newton"] < steps["BFGS"] < steps["EM"]

# The components are the species, but for a few flowers.
kind = np.argmax(log_densities(newton.x, x), axis=1)
right = np.mean(kind == kinds)
print(f"{right:.1%} of the flowers are with their species")
assert right > 0.95

# %%
# The picture: the components, and how each method came down to the least.
figure, (left, right_side) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
left.scatter(*x.T, c=kinds, s=8, cmap="viridis")
p = newton.x
for mean, factor in zip(p["means"], p["factors"], strict=True):
    lower = np.tril(factor, -1) + np.diag(np.exp(np.diag(factor)))
    lengths, axes = np.linalg.eigh(np.linalg.inv(lower @ lower.T))
    angle = np.degrees(np.arctan2(axes[1, 1], axes[0, 1]))
    width, height = 4 * np.sqrt(lengths[::-1])
    left.add_patch(Ellipse(mean, width, height, angle=angle, fill=False))
left.set(xlabel="petal length (cm)", ylabel="petal width (cm)")
for name, history in (("EM", em_history), ("BFGS", bfgs_history), ("Newton", newton_history)):
    right_side.loglog(np.arange(1, len(history) + 1), history - newton.fun + 1e-9, label=name)
right_side.set(xlabel="step", ylabel="above the least", ylim=(1e-7, None))
right_side.legend()

# %%
# What it cost, and what to read next.
kept = tapegrad.memory_report(surprise, p, x).kept
print(
    f"cost: {time.perf_counter() - start:.1f} s; runs of the likelihood: BFGS {bfgs.runs}, "
    f"Newton {newton.runs}; a gradient keeps {kept / 1e3:.0f} kB"
)
print("read next: docs/guides/curvature.md, docs/optimize.md, docs/scipy.md")
if len(sys.argv) > 1:  # a file for the picture
    figure.savefig(sys.argv[1])
else:
    plt.show()
