"""Bundle adjustment: where were the cameras, and where are the points, with a sparse Jacobian.

Twelve photographs of one object give the places of some points in each picture. Where was each
camera, how was it turned, and where are the points? A thousand unknowns, four thousand equations;
each equation knows one camera and one point, so 99 % of the Jacobian is zero. It is found as such.

    python docs/examples/bundle_adjustment.py [PICTURE]
"""

import sys
import time

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse import csr_array, diags_array
from scipy.sparse.linalg import spsolve
from scipy.spatial.transform import Rotation

import tapegrad
import tapegrad.sparse
from tapegrad import tree

start = time.perf_counter()

# %%
# A scene: points on a torus, seen by cameras on a ring. A point is seen from half of the ring.
random = np.random.default_rng(0)
cameras, points = 12, 320
u, v = random.uniform(0, 2 * np.pi, (2, points))
radius = 2 + 0.7 * np.cos(v)
torus = np.stack([radius * np.cos(u), radius * np.sin(u), 0.7 * np.sin(v)], axis=1)
angles = 2 * np.pi * np.arange(cameras) / cameras
centres = np.stack([7 * np.cos(angles), 7 * np.sin(angles), 2 + np.sin(3 * angles)], axis=1)

# %%
# A camera is a place and a rotation vector: its direction is the axis, its length the angle
# (O. Rodrigues 1840). The formula divides zero by zero where nothing is turned; a series of the
# squared angle, behind `np.where`, takes over there.


def rotated(vector, x):
    squared = np.sum(vector**2, axis=-1, keepdims=True)
    small = squared < 1e-8
    safe = np.where(small, 1.0, squared)
    angle = np.sqrt(safe)
    first = np.where(small, 1 - squared / 6, np.sin(angle) / angle)
    second = np.where(small, 0.5 - squared / 24, (1 - np.cos(angle)) / safe)
    across = np.cross(vector, x)
    return x + first * across + second * np.cross(vector, across)


def projected(p, camera, point):
    """Where cameras see points: a focal length of 1, the optical axis along z."""
    seen = rotated(p["turns"][camera], p["points"][point] - p["places"][camera])
    return seen[:, :2] / seen[:, 2:]


def facing_centre(centre):
    """The rotation vector of a camera that looks at the origin."""
    forward = -centre / np.linalg.norm(centre)
    right = np.cross(forward, [0, 0, 1.0])
    right /= np.linalg.norm(right)
    matrix = np.stack([right, np.cross(forward, right), forward])
    return Rotation.from_matrix(matrix).as_rotvec()


truth = {
    "points": torus,
    "places": centres,
    "turns": np.stack([facing_centre(centre) for centre in centres]),
}
facing = (torus / np.linalg.norm(torus, axis=1)[:, None]) @ (centres / 7).T > 0
point, camera = np.nonzero(facing)
noise = 1e-3
seen = projected(truth, camera, point)
seen = seen + noise * random.normal(size=seen.shape)

# %%
# The residuals. A scene that is moved, turned or enlarged as a whole looks the same, so the first
# camera stays where it is, and the second at its distance: those are constants here.


def unpacked(p):
    whole = dict(p)
    whole["places"] = np.concatenate([truth["places"][:2], p["places"]])
    whole["turns"] = np.concatenate([truth["turns"][:1], p["turns"]])
    return whole


def residuals(p):
    return (projected(unpacked(p), camera, point) - seen) / noise


guess = {
    "points": torus + 0.3 * random.normal(size=torus.shape),
    "places": centres[2:] + 0.3 * random.normal(size=centres[2:].shape),
    "turns": truth["turns"][1:] + 0.05 * random.normal(size=truth["turns"][1:].shape),
}

# %%
# The Jacobian, as a sparse matrix, needs some products with vectors; differences need one run for
# each unknown.
J = tapegrad.sparse.jacobian(residuals)(guess)
assert isinstance(J, csr_array)
equations, unknowns = seen.size, tree.size(guess)
assert J.shape == (equations, unknowns)
filled = J.nnz / (equations * unknowns)
colours = tapegrad.sparse.colour(tapegrad.sparse.pattern(residuals)(guess))
print(f"{equations} residuals, {unknowns} unknowns, {filled:.1%} of the Jacobian is not zero")
print(f"{colours.max() + 1} products give all of it")
assert np.diff(J.indptr).max() <= 9  # 6 numbers of a camera, 3 of a point

vector, into_tree = tree.ravel(guess)
for column in random.choice(unknowns, 5, replace=False):
    h = np.zeros(unknowns)
    h[column] = 1e-6
    plus, minus = (residuals(into_tree(vector + s * h)) for s in (1, -1))
    measured = np.ravel(plus - minus) / 2e-6
    assert np.allclose(J[:, [column]].toarray()[:, 0], measured, atol=1e-5 * abs(measured).max())

# %%
# Least squares by the method of K. Levenberg and D. Marquardt: steps of Gauss and Newton, damped
# where they do not go down. The normal equations are sparse as well.
parameters, damping, history = vector, 1e-3, [np.sum(residuals(guess) ** 2)]
for _ in range(25):
    J = tapegrad.sparse.jacobian(residuals)(into_tree(parameters))
    r = np.ravel(residuals(into_tree(parameters)))
    normal = (J.T @ J).tocsc()
    while True:
        damped = normal + damping * diags_array(normal.diagonal(), format="csc")
        ahead = parameters - spsolve(damped, J.T @ r)
        squares = np.sum(residuals(into_tree(ahead)) ** 2)
        if squares <= history[-1]:
            break
        damping *= 10
    parameters, damping = ahead, damping / 10
    history.append(squares)
    if history[-2] - squares < 1e-9 * squares:
        break
print("sum of squares on the way:", *(f"{value:.4g}" for value in history))
slope = tapegrad.grad(lambda p: np.sum(residuals(p) ** 2) / 2)(into_tree(parameters))
assert tree.norm(slope) < 1e-4 * tree.norm(
    tapegrad.grad(lambda p: np.sum(residuals(p) ** 2) / 2)(guess)
)

# With independent noise of size 1 in the residuals, the sum of their squares is about the number
# of residuals less that of the unknowns: it differs by a few times sqrt(2 * that).
freedom = equations - unknowns
print(f"sum of squares {history[-1]:.0f}, expected {freedom} ± {np.sqrt(2 * freedom):.0f}")
assert abs(history[-1] - freedom) < 4 * np.sqrt(2 * freedom)
found = unpacked(into_tree(parameters))


def off(p):
    return np.sqrt(np.mean(np.sum((p["points"] - torus) ** 2, axis=1)))


print(f"points are off by {off(guess):.3f} before, {off(found):.4f} after")
assert off(found) < 0.05 * off(guess)

# %%
# The picture: before, after, and where the Jacobian is not zero.
figure = plt.figure(figsize=(12, 3.8), layout="constrained")
for place, (title, p) in enumerate({"before": unpacked(guess), "after": found}.items(), 1):
    axis = figure.add_subplot(1, 3, place, projection="3d")
    axis.scatter(*p["points"].T, s=4, c=u, cmap="twilight")
    axis.scatter(*p["places"].T, marker="^", color="black")
    axis.set_title(f"{title}: points off by {off(p):.3f}")
    axis.set_aspect("equal")
axis = figure.add_subplot(1, 3, 3)
axis.spy(J.toarray(), markersize=0.2, aspect="auto", rasterized=True)
axis.set(title="the Jacobian", xlabel="unknowns", ylabel="residuals", xticks=[], yticks=[])

# %%
# What it cost, and what to read next.
print(
    f"cost: {time.perf_counter() - start:.1f} s; {len(history) - 1} Jacobians of "
    f"{J.data.nbytes / 1e6:.1f} MB (dense: {8 * equations * unknowns / 1e6:.0f} MB); "
    f"differences would have run {(len(history) - 1) * unknowns:,} times"
)
print("read next: docs/sparse.md, docs/optimize.md")
if len(sys.argv) > 1:  # a file for the picture
    figure.savefig(sys.argv[1])
else:
    plt.show()
