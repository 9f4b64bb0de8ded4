"""Hamiltonian Monte Carlo: what eight schools have in common.

Eight schools tried to prepare their pupils for a test. What did each gain, and how much of the
differences between schools is chance? The answer is a distribution of ten unknowns. Samples of it
are drawn by letting a ball roll over its landscape, which takes a gradient at each step.

    python docs/examples/hmc.py [PICTURE]
"""

import sys
import time

import matplotlib.pyplot as plt
import numpy as np

import tapegrad

start = time.perf_counter()

# %%
# The data: gains and their standard errors (D. Rubin 1981; A. Gelman et al., Bayesian data
# analysis, chapter 5).
gains = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
errors = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])

# %%
# The model: the true effects are spread around a mean by some deviation. Both are unknown, with
# wide priors: normal of deviation 10 for the mean, half-Cauchy of scale 5 for the deviation. The
# effects are written as mean + deviation * z, and the mean in units of 4, which makes the
# landscape about as wide in all directions. Constants of the density do not matter.


def named(p):
    mean, deviation = 4 * p[0], np.exp(p[1])
    return mean, deviation, mean + deviation * p[2:]


def log_posterior(p):
    mean, deviation, effects = named(p)
    prior = -(mean**2) / 200 - np.log1p((deviation / 5) ** 2) + p[1] - np.sum(p[2:] ** 2) / 2
    return prior - np.sum(((gains - effects) / errors) ** 2) / 2


# %%
# One sample (S. Duane et al. 1987): give the ball a random kick, let it roll for a while, and
# accept where it is with the chance that its energy allows. The leapfrog method rolls: its error
# in the energy stays small. Random numbers come from outside, so that this is a function.
leaps = 12


def sample(p, kick, luck, size):
    gradient = tapegrad.grad(log_posterior)
    q, speed = p, kick + size / 2 * gradient(p)
    for _ in range(leaps):
        q = q + size * speed
        speed = speed + size * gradient(q)
    speed = speed - size / 2 * gradient(q)
    gained = log_posterior(q) - log_posterior(p) + np.sum(kick**2 - speed**2) / 2
    accepted = np.log(luck) < gained
    return np.where(accepted, q, p), accepted


# %%
# A hundred chains at once by `vmap`, as one program by `compile`. The first half of the samples
# only finds the way to where the distribution is.
chains, samples = 100, 600
random = np.random.default_rng(0)
p = random.normal(size=(chains, 10))
together = tapegrad.compile(tapegrad.vmap(sample), backend="numpy")
drawn, share = [], 0.0
for turn in range(samples):
    kick, luck = random.normal(size=p.shape), random.uniform(size=chains)
    size = random.uniform(0.1, 0.35, chains)  # of different lengths, so that no orbit closes
    p, accepted = together(p, kick, luck, size)
    if turn >= samples // 2:
        drawn.append(p)
        share += accepted.mean() / (samples - samples // 2)
sampling = time.perf_counter() - start
kept = np.stack(drawn)
means, deviations, effects = (np.array(a) for a in tapegrad.vmap(tapegrad.vmap(named))(kept))
print(f"{share:.0%} accepted; mean effect {means.mean():.2f}, deviation {deviations.mean():.2f}")
assert 0.7 < share < 0.999

# Have the chains forgotten where they began? Gelman and Rubin compare them: 1 is perfect.
for what in (means, np.log(deviations)):
    within, between = what.var(axis=0, ddof=1).mean(), what.mean(axis=0).var(ddof=1)
    assert np.sqrt((within * (len(kept) - 1) / len(kept) + between) / within) < 1.03

# %%
# A check without chance: given mean and deviation, the effects can be integrated by hand, and the
# two that are left on a grid.
m, d = np.meshgrid(np.linspace(-30, 40, 400), np.exp(np.linspace(-7, 5, 600)))
variance = errors**2 + d[..., None] ** 2
log_weight = -np.sum((gains - m[..., None]) ** 2 / variance + np.log(variance), axis=-1) / 2
log_weight += -(m**2) / 200 - np.log1p((d / 5) ** 2) + np.log(d)
weight = np.exp(log_weight - log_weight.max())
weight /= weight.sum()
pull = d[..., None] ** 2 / variance
expected = {
    "mean": np.sum(weight * m),
    "deviation": np.sum(weight * d),
    "effect of the first": np.sum(weight * (m + (gains[0] - m) * pull[..., 0])),
}
sampled = {
    "mean": means,
    "deviation": deviations,
    "effect of the first": effects[..., 0],
}
for name, exact in expected.items():
    by_chain = sampled[name].mean(axis=0)
    found, error = by_chain.mean(), by_chain.std(ddof=1) / np.sqrt(chains)
    print(f"{name:20} {found:6.3f} ± {error:.3f}, exact {exact:.3f}")
    assert abs(found - exact) < 4 * error < 1.0

# The energy's error grows with the square of the step: the gradient fits the landscape.
state = kept[-1][0]
kick = random.normal(size=10)


def energy_error(size):
    gradient = tapegrad.grad(log_posterior)
    q, speed = state, kick + size / 2 * gradient(state)
    q = q + size * speed
    speed = speed + size / 2 * gradient(q)
    return log_posterior(q) - log_posterior(state) + np.sum(kick**2 - speed**2) / 2


assert np.isclose(energy_error(1e-2) / energy_error(5e-3), 8, rtol=0.1)  # of one step: the cube

# %%
# The picture: the deviation between schools, and each school's effect beside its own numbers.
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
edges = np.linspace(0, 20, 41)
left.hist(deviations.ravel(), edges, density=True, alpha=0.5, label="samples")
exact, _ = np.histogram(d.ravel(), edges, weights=weight.ravel(), density=False)
left.stairs(exact / np.diff(edges), edges, color="black", label="by integration")
left.set(xlabel="deviation between schools")
left.legend()
place = np.arange(8)
low, middle, high = np.quantile(effects.reshape(-1, 8), [0.025, 0.5, 0.975], axis=0)
right.errorbar(gains, place, xerr=1.96 * errors, fmt=".", color="grey", label="alone")
right.errorbar(
    middle, place - 0.25, xerr=[middle - low, high - middle], fmt="o", label="in the model"
)
right.set(yticks=place, yticklabels=list("ABCDEFGH"), xlabel="gain of a school")
right.legend()

# %%
# What it cost, and what to read next.
gradients = samples * chains * (leaps + 2)
print(
    f"cost: {time.perf_counter() - start:.1f} s, of which {sampling:.1f} s for {gradients:,} "
    f"gradients; one keeps {tapegrad.memory_report(log_posterior, state).kept:,} bytes"
)
print("read next: docs/guides/random.md, docs/compile.md, docs/vmap.md")
if len(sys.argv) > 1:  # a file for the picture
    figure.savefig(sys.argv[1])
else:
    plt.show()
