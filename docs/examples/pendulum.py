"""A double pendulum from its Lagrangian alone: a jvp through a gradient, and a Hessian.

Nobody likes to derive the equations of motion of a double pendulum. Its energies fit in five
lines. The equations of Lagrange ask for derivatives of those, and a solver for the accelerations:
both are left to the machine. Then: how fast do two almost equal pendulums part?

    python docs/examples/pendulum.py [PICTURE]
"""

import sys
import time

import matplotlib.pyplot as plt
import numpy as np
from scipy.integrate import solve_ivp

import tapegrad

start = time.perf_counter()

# %%
# Two rods of length 1 with a mass of 1 at the end of each. `q` has the angles from the vertical,
# `speed` how fast these change; the heights and velocities follow.
gravity = 9.81


def lagrangian(q, speed):
    across, along = np.cumsum(np.cos(q) * speed), np.cumsum(np.sin(q) * speed)
    kinetic = np.sum(across**2 + along**2) / 2
    return kinetic - potential(q)


def potential(q):
    return -gravity * np.sum(np.cumsum(np.cos(q)))


# %%
# The equations of Lagrange: d/dt (dL/d speed) = dL/dq. Along the motion the left side is the mass
# matrix times the acceleration, and what the momentum changes as q moves: a `jvp` of a gradient,
# in the direction of the speed. The mass matrix is the Hessian by the speed.

momentum = tapegrad.grad(lagrangian, 1)
force = tapegrad.grad(lagrangian, 0)
mass = tapegrad.hessian(lagrangian, 1)


def acceleration(q, speed):
    _, drift = tapegrad.jvp(lambda q: momentum(q, speed), (q,), (speed,))
    return np.linalg.solve(mass(q, speed), force(q, speed) - drift)


# %%
# Check it against the equations as they stand in textbooks.


def by_the_book(q, speed):
    (a, b), (da, db) = q, speed
    c, s = np.cos(a - b), np.sin(a - b)
    below = 1 + s**2
    dda = (-2 * gravity * np.sin(a) + gravity * c * np.sin(b) - s * (db**2 + c * da**2)) / below
    ddb = (2 * gravity * (c * np.sin(a) - np.sin(b)) + s * (2 * da**2 + c * db**2)) / below
    return np.array([dda, ddb])


random = np.random.default_rng(0)
for _ in range(20):
    q, speed = random.normal(size=(2, 2)) * 2
    assert np.allclose(acceleration(q, speed), by_the_book(q, speed), rtol=1e-10)

# %%
# The derivative of a state, made a program once: SciPy's solver calls it some thousand times.


def flow(state):
    return np.concatenate([state[2:], acceleration(state[:2], state[2:])])


compiled = tapegrad.compile(flow, backend="numpy")
first = np.array([2.0, 2.5, 0.0, 0.0])
times = np.linspace(0.0, 20.0, 801)
motion = solve_ivp(
    lambda _t, state: compiled(state),
    times[[0, -1]],
    first,
    "DOP853",
    times,
    rtol=1e-10,
    atol=1e-10,
)
path = motion.y.T


def energy(state):
    q, speed = state[:2], state[2:]
    return lagrangian(q, speed) + 2 * potential(q)


drift = np.ptp([energy(state) for state in path])
print(f"in 20 seconds the energy changes by {drift:.1e} of {abs(energy(first)):.1f}")
assert drift < 1e-6

# %%
# Chaos. A small offset between two starts grows as exp(rate * t): the rate is Lyapunov's exponent.
# An offset follows the linearised flow, another `jvp`. State and offset go together in steps of
# Runge and Kutta's method; after each the offset is made short again, and its growth is counted.
# `vmap` runs starts of many energies at once.


def both(pair):
    return np.stack(tapegrad.jvp(flow, (pair[0],), (pair[1],)))


def step(pair, growth, h=0.02):
    a = both(pair)
    b = both(pair + h / 2 * a)
    c = both(pair + h / 2 * b)
    d = both(pair + h * c)
    state, offset = pair + h / 6 * (a + 2 * b + 2 * c + d)
    size = np.sqrt(np.sum(offset**2))
    return np.stack([state, offset / size]), growth + np.log(size)


lifts = np.linspace(0.05, np.pi - 0.05, 24)
pairs = np.zeros((len(lifts), 2, 4))
pairs[:, 0, :2] = lifts[:, None]
pairs[:, 1] = [0.5, -0.5, 0.5, -0.5]
growth = np.zeros(len(lifts))
together = tapegrad.compile(tapegrad.vmap(step), backend="numpy")
turns = 1000
for _ in range(turns):
    pairs, growth = together(pairs, growth)
rates = growth / (turns * 0.02)
print(f"exponents from {rates.min():.2f} (small swings) to {rates.max():.2f} per second")
assert rates[0] < 0.5 < 1.5 < rates.max()

# Check: the offset after a step is the difference between the steps of two starts.
h, offset = 1e-6, np.array([0.5, -0.5, 0.5, -0.5])
plus, minus = (step(np.stack([first + s * h * offset, offset]), 0.0)[0][0] for s in (1, -1))
pair, grown = step(np.stack([first, offset]), 0.0)
assert np.allclose((plus - minus) / (2 * h), pair[1] * np.exp(grown), atol=1e-8)

# %%
# The picture: the path of the lower mass, and where chaos begins.
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
ends = np.cumsum(np.sin(path[:, :2]), axis=1)[:, 1], -np.cumsum(np.cos(path[:, :2]), axis=1)[:, 1]
left.plot(*ends, linewidth=0.7)
rods = np.cumsum(np.r_[0, np.sin(first[:2])]), -np.cumsum(np.r_[0, np.cos(first[:2])])
left.plot(*rods, "o-", color="black")
left.set(aspect="equal", title="20 seconds of the lower mass")
right.plot(np.degrees(lifts), rates, "o-")
right.set(xlabel="angle from which both are let go (degrees)", ylabel="Lyapunov's exponent (1/s)")

# %%
# What it cost, and what to read next.
view = tapegrad.tape(tapegrad.grad(lagrangian, 1), first[:2], first[2:])
print(
    f"cost: {time.perf_counter() - start:.1f} s; {motion.nfev:,} accelerations for the path, "
    f"{4 * turns * len(lifts):,} with offsets for the exponents; one gradient is {len(view)} rows "
    "of tape"
)
print("read next: docs/which-transform.md, docs/guides/odes.md, docs/compile.md")
if len(sys.argv) > 1:  # a file for the picture
    figure.savefig(sys.argv[1])
else:
    plt.show()
