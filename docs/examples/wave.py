"""Seeing through a body with sound: an inverse wave problem, stepped in place, in little memory.

A plate holds something in which sound is slower. Hammers strike its rim, microphones listen there.
Where is it, and how slow? The simulation is an ordinary one, with in-place updates. Its gradient
by the map of speeds goes backward through all steps, of which checkpoints keep a few.

    python docs/examples/wave.py [PICTURE]
"""

import sys
import time
import tracemalloc

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import tapegrad

start = time.perf_counter()

# %%
# The wave equation on a grid: the pressure now and before, four neighbours, a rim that does not
# move. Three hammers strike, each a copy of the plate, along the first axis. Microphones stand
# along a square inside the rim.
n, steps, h = 36, 100, 0.5
age = (np.arange(steps) - 12) / 5
strike = (1 - age**2) * np.exp(-(age**2) / 2)
hammers = np.arange(3), np.array([4, 18, 30]), np.array([18, 4, 30])
side = np.arange(3, n - 3, 2)
low, high = np.full_like(side, 3), np.full_like(side, n - 4)
ears = np.concatenate([low, high, side, side]), np.concatenate([side, side, low, high])


def advance(now, before, speed, k):
    """The pressure after step k: the leapfrog method, written in place."""
    after = 2 * now - before
    after[:, [0, -1]] = 0.0
    after[:, :, [0, -1]] = 0.0
    neighbours = now[:, :-2, 1:-1] + now[:, 2:, 1:-1] + now[:, 1:-1, :-2] + now[:, 1:-1, 2:]
    after[:, 1:-1, 1:-1] += (h * speed[1:-1, 1:-1]) ** 2 * (neighbours - 4 * now[:, 1:-1, 1:-1])
    after[hammers] += strike[k]
    return after


# %%
# What is heard of the true plate, with a little noise: the data.
at = np.arange(n)
blob = np.exp(-((at[:, None] - 21) ** 2 + (at - 15) ** 2) / 18)
truth = 1 - 0.3 * blob
random = np.random.default_rng(0)
now = before = np.zeros((3, n, n))
heard = np.zeros((steps, 3, len(side) * 4))
for k in range(steps):
    now, before = advance(now, before, truth, k), now
    heard[k] = now[:, ears[0], ears[1]]
heard += 0.01 * heard.std() * random.normal(size=heard.shape)

# %%
# The misfit of a map of speeds is added up on the way. `checkpoint_sequence` runs the steps, and
# keeps ten states; the others are computed again when the derivative needs them.


def step(state, speed):
    now, before, misfit, k = state
    after = advance(now, before, speed, k)
    return after, now, misfit + np.sum((after[:, ears[0], ears[1]] - heard[k]) ** 2), k + 1


def begin(speed):
    rest = np.zeros_like(speed, shape=(3, n, n))  # traced where the speed is: steps write into it
    return rest, rest, 0.0, 0


def misfit(speed, snapshots=10):
    end = tapegrad.checkpoint_sequence(step, begin(speed), steps, speed, snapshots=snapshots)
    return end[2]


def misfit_in_a_loop(speed):
    state = begin(speed)
    for _ in range(steps):
        state = step(state, speed)
    return state[2]


# Three checks: the gradient is that of the plain loop; along a direction it is a difference; and
# of the memory, of course, only a part is needed.
guess = np.ones((n, n))
value, gradient = tapegrad.value_and_grad(misfit)(guess)
assert np.allclose(gradient, tapegrad.grad(misfit_in_a_loop)(guess), rtol=1e-12, atol=1e-12)
toward = random.normal(size=(n, n))
difference = (misfit(guess + 1e-6 * toward) - misfit(guess - 1e-6 * toward)) / 2e-6
assert np.isclose(np.sum(gradient * toward), difference, rtol=1e-6)


def peak(f):
    tracemalloc.start()
    tapegrad.grad(f)(guess)
    found = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return found


peaks = peak(misfit), peak(misfit_in_a_loop)
print(f"memory of a gradient: {peaks[0] / 1e6:.1f} MB, of the plain loop {peaks[1] / 1e6:.1f} MB")
assert peaks[0] < peaks[1] / 3

# %%
# The search. Value and gradient, with all steps, become one program: `compile`. SciPy's L-BFGS
# calls it as any function. The speeds are made smooth, as the waves are too long for details.


def smooth(x):
    for axis in (0, 1):
        for _ in range(2):
            wide = np.pad(x, [(1, 1) if i == axis else (0, 0) for i in range(2)], mode="edge")
            ahead, behind = (wide[2:], wide[:-2]) if axis == 0 else (wide[:, 2:], wide[:, :-2])
            x = (ahead + behind + 2 * x) / 4
    return x


def objective(x):
    x = x.reshape(n, n)
    return misfit(1 + 0.1 * smooth(x)) + 1e-3 * np.sum(x**2)


eager = tapegrad.value_and_grad(objective)
fast = tapegrad.compile(eager, backend="numpy")
x = np.zeros(n * n)
for _ in range(3):
    fast(x)  # it watches two calls, and makes the program
slow_value, slow_gradient = eager(x)
fast_value, fast_gradient = fast(x)
assert slow_value == fast_value
assert np.array_equal(slow_gradient, fast_gradient)  # to the last bit


def seconds(f):
    """Of a call: the least of three, of this process alone."""
    found = []
    for _ in range(3):
        before = time.process_time()
        f(x)
        found.append(time.process_time() - before)
    return min(found)


ratio = seconds(eager) / seconds(fast)
fit = minimize(fast, x, jac=True, method="L-BFGS-B", options={"maxiter": 15})
found = 1 + 0.1 * smooth(fit.x.reshape(n, n))
alike = np.corrcoef((found - 1).ravel(), (truth - 1).ravel())[0, 1]
print(f"misfit {objective(x):.2f} before, {fit.fun:.3f} after; correlation {alike:.3f}")
assert fit.fun < 0.05 * objective(x)
assert alike > 0.85

# %%
# The picture.
figure, axes = plt.subplots(1, 4, figsize=(12, 3.2), layout="constrained")
for axis, (title, picture) in zip(
    axes, {"true speed": truth, "found": found, "a gradient": gradient}.items(), strict=False
):
    if title == "a gradient":
        top = np.abs(gradient).max()
        axis.imshow(picture, cmap="RdBu", vmin=-top, vmax=top)
    else:
        axis.imshow(picture, vmin=0.65, vmax=1.05)
    axis.set(title=title, xticks=[], yticks=[])
axes[1].plot(ears[1], ears[0], ".", color="white", markersize=2)
axes[1].plot(hammers[2], hammers[1], "*", color="red")
axes[3].imshow(heard[:, 0].T, cmap="RdBu", aspect="auto", interpolation="nearest")
axes[3].set(title="what is heard of one strike", xlabel="step", yticks=[])

# %%
# What it cost, and what to read next.
print(
    f"cost: {time.perf_counter() - start:.1f} s; {fit.nfev} gradients of {steps} steps; one takes "
    f"{peaks[0] / 1e6:.1f} MB with 10 snapshots, and is {ratio:.1f} times as fast compiled"
)
print("read next: docs/guides/long-simulations.md, docs/guides/in-place.md, docs/compile.md")
if len(sys.argv) > 1:  # a file for the picture
    figure.savefig(sys.argv[1])
else:
    plt.show()
