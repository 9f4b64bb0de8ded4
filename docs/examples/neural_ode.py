"""A neural ODE: what drives hares and lynxes, learned from twenty years of furs.

The furs that trappers brought to the Hudson's Bay Company rise and fall in waves. Lotka and
Volterra have an equation for that, and it does not quite fit. A neural ODE keeps it, adds a small
network that learns what is missing, and is trained through the steps of a solver.

    python docs/examples/neural_ode.py [PICTURE]
"""

import sys
import time

import matplotlib.pyplot as plt
import numpy as np

import tapegrad
from tapegrad import optimize, tree
from tapegrad.scipy.integrate import solve_ivp

start = time.perf_counter()

# %%
# Thousands of furs, 1900 to 1920 (C. Elton, M. Nicholson 1942, as given by J. Howard). The program
# works with their logarithms, so that no population is ever negative.
hares = [30, 47.2, 70.2, 77.4, 36.3, 20.6, 18.1, 21.4, 22, 25.4, 27.1, 40.3, 57, 76.6, 52.3, 19.5]
hares += [11.2, 7.6, 14.6, 16.2, 24.7]
lynxes = [4, 6.1, 9.8, 35.2, 59.4, 41.7, 19, 13, 8.3, 9.1, 7.4, 8, 12.3, 19.5, 45.7, 51.1, 29.7]
lynxes += [15.8, 9.7, 10.1, 8.6]
years = np.arange(1900, 1921)
seen = np.log(np.stack([hares, lynxes], axis=1))

# %%
# What changes the logarithms: Lotka and Volterra's terms, and a network with one hidden layer that
# starts at zero.
random = np.random.default_rng(0)
p = {
    "rates": np.log([0.5, 0.025, 0.025, 0.8]),
    "hidden": random.normal(0, 0.5, (2, 8)),
    "bias": np.zeros(8),
    "output": np.zeros((8, 2)),
}


def flow(p, state):
    born, eaten, fed, died = np.exp(p["rates"])
    hare, lynx = np.exp(state[..., 0]), np.exp(state[..., 1])
    known = np.stack([born - eaten * lynx, fed * hare - died], axis=-1)
    return known + np.tanh((state - 3.0) @ p["hidden"] + p["bias"]) @ p["output"]


def year(p, state, steps=4):
    """One year, in steps of Runge and Kutta's method."""
    h = 1 / steps
    for _ in range(steps):
        a = flow(p, state)
        b = flow(p, state + h / 2 * a)
        c = flow(p, state + h / 2 * b)
        state = state + h / 6 * (a + 2 * b + 2 * c + flow(p, state + h * c))
    return state


# %%
# Is the gradient through the steps right? SciPy's solver chooses steps of its own, and its
# gradient comes from the adjoint equation, integrated backward: another way to the same number.


def end_by_steps(p, state):
    return np.sum(year(p, year(p, state, 20), 20))


def end_by_adjoint(p, state):
    solution = solve_ivp(
        lambda t, y: flow(p, y), (0.0, 2.0), state, method="RK45", rtol=1e-8, atol=1e-8
    )
    return np.sum(solution.y[:, -1])


random_p = {**p, "output": random.normal(0, 0.2, (8, 2))}
by_steps = tapegrad.grad(end_by_steps)(random_p, seen[0])
by_adjoint = tapegrad.grad(end_by_adjoint)(random_p, seen[0])
apart = tree.norm(tree.map(np.subtract, by_steps, by_adjoint))
print(f"gradients by steps and by the adjoint differ by {apart / tree.norm(by_steps):.1e}")
assert apart < 1e-5 * tree.norm(by_steps)

# %%
# Train. From each year's furs the model foretells the next four, all windows at once as the rows
# of an array. Long ways are hard to learn from: they go through the chaos of an untrained network.
window = 4
targets = np.stack([seen[i : i + window + 1] for i in range(len(seen) - window)], axis=1)


def loss(p, targets):
    state, total = targets[0], 0.0
    for k in range(1, window + 1):
        state = year(p, state)
        total = total + np.mean((state - targets[k]) ** 2)
    return total / window + 1e-3 * np.sum(p["output"] ** 2)


def rms(p):
    penalty = 1e-3 * np.sum(p["output"] ** 2)
    return np.sqrt(loss(p, targets) - penalty)


# The equation alone first, its four rates by BFGS; then the whole by Adam, as one program.
plain = optimize.minimize(lambda rates: loss({**p, "rates": rates}, targets), p["rates"], tol=1e-5)
p["rates"] = plain.x
steps = 250
trained = optimize.run(
    loss,
    p,
    optimize.adam(optimize.schedules.cosine(0.05, steps)),
    steps=steps,
    args=(targets,),
    compile=True,
)
print(f"error of the logarithms: the equation alone {rms(p):.3f}, with a network ", end="")
print(f"{rms(trained.params):.3f}")
assert rms(trained.params) < 0.8 * rms(p)

# %%
# The picture: four years ahead from each year, and what the network adds.
figure, axes = plt.subplots(1, 3, figsize=(12, 3.4), layout="constrained")
for axis, q, title in zip(
    axes, (p, trained.params), ("Lotka and Volterra", "with a network"), strict=False
):
    state, paths = targets[0], [targets[0]]
    for _ in range(window):
        state = year(q, state)
        paths.append(state)
    paths = np.exp(np.stack(paths))
    for k in range(2):
        colour = f"C{k}"
        axis.plot(years, np.exp(seen[:, k]), "o", color=colour, label=("hares", "lynxes")[k])
        for i in range(paths.shape[1]):
            axis.plot(years[i : i + window + 1], paths[:, i, k], color=colour, alpha=0.4)
    axis.set(title=title, xlabel="year", ylabel="furs (thousands)", ylim=(0, 100))
    axis.xaxis.get_major_locator().set_params(integer=True)
axes[0].legend()
axes[2].semilogy(trained.losses)
axes[2].set(title="loss", xlabel="step")

# %%
# What it cost, and what to read next.
kept = tapegrad.memory_report(loss, p, targets).kept
print(
    f"cost: {time.perf_counter() - start:.1f} s; {plain.runs} runs for the rates, "
    f"{trained.steps} steps for the network; a gradient keeps {kept / 1e6:.1f} MB"
)
print("read next: docs/guides/odes.md, docs/optimize.md, docs/guides/long-simulations.md")
if len(sys.argv) > 1:  # a file for the picture
    figure.savefig(sys.argv[1])
else:
    plt.show()
