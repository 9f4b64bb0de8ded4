"""vmap of programs as people write them, alone, nested, in chunks and with every derivative."""

from __future__ import annotations

import numpy as np
import pytest
from tolerances import assert_close

from tapegrad import grad, hessian, jvp, vmap

RANDOM = np.random.default_rng(1)
MATRICES = RANDOM.normal(size=(5, 3, 3))
POSITIVE = MATRICES @ MATRICES.swapaxes(1, 2) + 3 * np.eye(3)
VECTORS = RANDOM.normal(size=(5, 3))
ROWS = RANDOM.normal(size=(5, 6))
NUMBERS = RANDOM.normal(size=5)
LENGTHS = np.array([2, 6, 1, 3, 4])
LABELS = np.array([0, 2, 1, 1, 0])
TOKENS = RANDOM.integers(0, 7, size=(5, 4))
SEGMENTS = RANDOM.integers(0, 4, size=(5, 6))
EMBEDDINGS = RANDOM.normal(size=(7, 3))
GRID = np.linspace(-3, 3, 9)


def runge_kutta(x, w):
    def slope(t, y):
        return np.stack([y[1], -w * y[0] + np.sin(t), y[2] * y[0]])

    for t in (0.0, 0.1, 0.2):
        k1 = slope(t, x)
        k2 = slope(t + 0.05, x + 0.05 * k1)
        k3 = slope(t + 0.05, x + 0.05 * k2)
        x = x + 0.1 / 6 * (k1 + 2 * k2 + 2 * k3 + slope(t + 0.1, x + 0.1 * k3))
    return x


def kalman_filter(mean, covariance, observed):
    step = np.eye(3) + 0.1 * np.eye(3, k=1)
    seen = np.eye(3)[:2]
    total = 0.0
    for z in np.reshape(observed, (3, 2)):
        mean, covariance = step @ mean, step @ covariance @ step.T + 0.01 * np.eye(3)
        error = z - seen @ mean
        spread = seen @ covariance @ seen.T + 0.1 * np.eye(2)
        gain = np.linalg.solve(spread, seen @ covariance).T
        mean, covariance = mean + gain @ error, (np.eye(3) - gain @ seen) @ covariance
        total += error @ np.linalg.solve(spread, error) + np.linalg.slogdet(spread)[1]
    return total + np.sum(mean) + np.trace(covariance)


def cross_entropy(weights, x, label):
    z = weights @ x
    z -= np.max(z)
    return np.log(np.sum(np.exp(z))) - z[label]


def masked_loss(y, length):
    inside = np.arange(6) < length
    return np.sum(np.where(inside, y**2, 0)) / length + np.mean(np.sin(y), where=inside)


def embedded_attention(x, tokens):
    vectors = np.asarray(EMBEDDINGS, like=x)[tokens]
    scores = vectors @ x
    scores -= scores.max()
    weights = np.exp(scores)
    weights /= weights.sum()
    return weights @ vectors


def causal_attention(q):
    scores = np.where(np.tri(4, dtype=bool), np.einsum("id,jd->ij", q, q), -np.inf)
    weights = np.exp(scores - np.max(scores, -1, keepdims=True))
    return weights / np.sum(weights, -1, keepdims=True) @ q


def largest_three(y):
    best = np.argsort(-y)[:3]
    return y[best] * np.array([1.0, 0.5, 0.25]) + np.partition(y, 2)[:3]


def table_between_points(x, table):
    at = (np.clip(x, -2.9, 2.9) + 3) / 6 * 8
    left = np.floor(at).astype(int)
    share = at - left
    return table[left] * (1 - share) + table[left + 1] * share + np.interp(x, GRID, table)


def filtered(y):
    return np.abs(np.fft.ifft(np.fft.fft(y) * np.exp(-np.arange(6)))) ** 2


def complex_matrix(a):
    z = a + 1j * a.T @ a
    return np.real(np.linalg.det(z)) * np.imag(np.trace(z @ np.conj(z).T @ z))


def gaussian(covariance, x):
    root = np.linalg.cholesky(covariance)
    z = np.linalg.solve(root, x)
    return z @ z + np.sum(np.log(np.diag(root))) + np.linalg.inv(covariance)[0] @ x


def recurrence(y):
    out = np.zeros_like(y)
    out[0] = y[0]
    for i in range(1, len(y)):
        out[i] = 0.5 * out[i - 1] + y[i] * out[i - 1]
    return np.cumsum(out) * np.logaddexp.accumulate(y)


def kernel_matrix(x):
    made = np.zeros((3, 3), like=x)
    for i in range(3):
        for k in range(3):
            made[i, k] = np.exp(-((x[i] - x[k]) ** 2))
    return np.linalg.inv(made + np.eye(3))


def tridiagonal(d):
    diagonal = np.full(5, 4.0 + d[1] ** 2, like=d)
    right, above = np.ones(5, like=d) * d[0], np.ones(5, like=d) * 0.5
    for i in range(1, 5):
        factor = 1 / diagonal[i - 1]
        diagonal[i] -= factor * above[i - 1]
        right[i] -= factor * right[i - 1]
    x = np.zeros_like(right)
    x[-1] = right[-1] / diagonal[-1]
    for i in range(3, -1, -1):
        x[i] = (right[i] - above[i] * x[i + 1]) / diagonal[i]
    return x


def elimination(b, a):
    a, b = a + 4 * np.eye(3), b * 1
    for i in range(3):
        for k in range(i + 1, 3):
            factor = a[k, i] / a[i, i]
            a[k] -= factor * a[i]
            b[k] -= factor * b[i]
    x = np.zeros_like(b)
    for i in (2, 1, 0):
        x[i] = (b[i] - a[i, i + 1 :] @ x[i + 1 :]) / a[i, i]
    return x


def pivoted(b, a):
    a, b = a * 1, b * 1
    first = np.argmax(np.abs(a[:, 0]))
    a[[0, first]] = a[[first, 0]]
    b[[0, first]] = b[[first, 0]]
    return a[1:, 0] / a[0, 0] * b[0] - b[1:]


def clipped_in_place(y):
    z = y * 2
    z[z < 0] = 0
    z[z > 1] = 1
    z[(z > 0) & (z < 1)] **= 2
    return z


def segments(y, number):
    total, largest = np.zeros(4, like=y) * y[0], np.zeros(4, like=y) * y[0] - 9
    np.add.at(total, number, y)
    np.maximum.at(largest, number, y)
    return total * largest + np.bincount(number, y, minlength=4)


def window(y, start):
    z = y * 1
    z[start + np.arange(2)] = 0
    z[np.arange(2)] += y[start]
    return z * np.roll(y, start)


def one_of_three(x, label):
    picked = np.select([label == 0, label == 1], [np.sin(x), np.cos(x)], x)
    return picked * np.choose(label, [x, 2 * x, 3 * x])


def views(y):
    z = y * 1
    halves = z.reshape(2, 3)
    halves[0] *= 2
    turned = halves.T
    turned[1] += z[0]
    z[::2] = np.sin(z[::2])
    return halves


def outputs(y):
    buffer = np.empty_like(y)
    np.multiply(y, 2, out=buffer)
    np.add(buffer, y, out=buffer, where=y > 0)
    np.cumsum(buffer, out=buffer)
    return buffer


def bubbles(y):
    z = y * 1
    for i in range(5):
        z[i], z[i + 1] = np.minimum(z[i], z[i + 1]), np.maximum(z[i], z[i + 1])
    return z


def margin(x, label):
    others = np.where(np.arange(3) == label, -np.inf, x)
    return np.maximum(0, 1 + np.max(others) - x[label])


def newton_step(x):
    curve = hessian(lambda z: np.sum(np.exp(z)) + np.prod(z) ** 2)(x)
    return np.linalg.solve(curve + 3 * np.eye(3), grad(lambda z: np.sum(np.sin(z) * z))(x))


def gated(x):
    weights = np.reshape(np.sin(np.arange(48.0)), (16, 3))
    h, c = np.zeros(4), np.zeros(4)
    for t in range(4):
        z = weights @ np.stack([x[t], 1.0 + 0 * x[t], x[t] ** 2]) + np.concatenate([h] * 4)
        i, f, o, g = np.split(z, 4)
        c = c / (1 + np.exp(-f)) + np.tanh(g) / (1 + np.exp(-i))
        h = np.tanh(c) / (1 + np.exp(-o))
    return h


def convolved(image, kernel):
    out = sum(kernel[i, j] * image[i : i + 6, j : j + 6] for i in range(3) for j in range(3))
    return np.maximum(out, 0).reshape(3, 2, 3, 2).max(axis=(1, 3))


def horner(x):
    s = 0.0
    for v in x:
        s = s * 0.5 + v**2
    s += 1
    s *= x[0]
    return s


PROGRAMS = {
    runge_kutta: (VECTORS, NUMBERS),
    kalman_filter: (VECTORS, POSITIVE, ROWS),
    cross_entropy: (MATRICES, VECTORS, LABELS),
    masked_loss: (ROWS, LENGTHS),
    embedded_attention: (VECTORS, TOKENS),
    causal_attention: (RANDOM.normal(size=(5, 4, 3)),),
    largest_three: (ROWS,),
    table_between_points: (NUMBERS, RANDOM.normal(size=(5, 9))),
    filtered: (ROWS,),
    complex_matrix: (MATRICES,),
    gaussian: (POSITIVE, VECTORS),
    recurrence: (ROWS,),
    kernel_matrix: (VECTORS,),
    tridiagonal: (VECTORS,),
    elimination: (VECTORS, MATRICES),
    pivoted: (VECTORS, MATRICES),
    clipped_in_place: (ROWS,),
    segments: (ROWS, SEGMENTS),
    window: (ROWS, np.arange(5)),
    one_of_three: (VECTORS, LABELS),
    views: (ROWS,),
    outputs: (ROWS,),
    bubbles: (ROWS,),
    margin: (VECTORS, LABELS),
    newton_step: (VECTORS,),
    gated: (RANDOM.normal(size=(5, 4)),),
    convolved: (RANDOM.normal(size=(5, 8, 8)), MATRICES),
    horner: (VECTORS,),
}
each_program = pytest.mark.parametrize(
    ("f", "batches"), PROGRAMS.items(), ids=[f.__name__ for f in PROGRAMS]
)


def loop(f, batches):
    return np.stack([f(*(np.copy(x) for x in xs)) for xs in zip(*batches, strict=True)])


@each_program
def test_a_program_maps_as_a_loop_does(f, batches):
    wanted = loop(f, batches)
    assert_close(vmap(f)(*batches), wanted)
    assert_close(vmap(f, chunk_size=2)(*batches), wanted)
    turned = [np.moveaxis(x, 0, -1) for x in batches]
    assert_close(vmap(f, -1, -1)(*turned), np.moveaxis(wanted, 0, -1))
    twice = [np.stack([x, x[::-1]]) for x in batches]
    assert_close(vmap(vmap(f))(*twice), np.stack([wanted, wanted[::-1]]))
    none = vmap(f)(*(x[:0] for x in batches))
    assert none.shape == (0, *wanted.shape[1:])


@pytest.mark.part(3)
@each_program
def test_derivatives_of_a_program_map_as_a_loop_does(f, batches):
    def total(*xs):
        return np.sum(np.sin(f(*xs)))

    def along(x, *rest):
        return jvp(lambda x: f(x, *rest), (x,), (np.cos(x),))[1]

    slopes = loop(grad(total), batches)
    assert_close(vmap(grad(total))(*batches), slopes)
    assert_close(grad(lambda x: np.sum(vmap(total)(x, *batches[1:])))(batches[0]), slopes)
    assert_close(vmap(along)(*batches), loop(along, batches))
    if f is not convolved:  # the largest
        assert_close(vmap(hessian(total))(*batches), loop(hessian(total), batches))
