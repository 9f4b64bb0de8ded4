"""Networks and losses of machine learning, written without a framework."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from field_programs import normal, program, uniform


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


@program(normal(1, 4, 6), {k: normal(i, 6, 6, scale=0.4) for i, k in enumerate("qkvo")})
def multi_head_attention(x, p):
    def heads(w):
        return (x @ w).reshape(4, 2, 3).transpose(1, 0, 2)

    q, k, v = (heads(p[name]) for name in "qkv")
    distance = np.abs(np.subtract.outer(np.arange(4), np.arange(4)))
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(3) - np.array([0.5, 0.25])[:, None, None] * distance
    scores[:, np.triu_indices(4, 1)[0], np.triu_indices(4, 1)[1]] = -1e9
    joined = (softmax(scores) @ v).transpose(1, 0, 2).reshape(4, 6)
    return x + joined @ p["o"]


@program(normal(2, 3, 5), normal(3, 5, shift=1.0), normal(4, 5))
def layer_norm_and_gelu(x, gain, bias):
    mean = x.mean(axis=-1, keepdims=True)
    centred = x - mean
    inverse = 1 / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5)
    h = gain * centred * inverse + bias
    return 0.5 * h * (1 + np.tanh(np.sqrt(2 / np.pi) * (h + 0.044715 * h**3)))


class GatedUnit:
    """A recurrent cell with its weights and its state."""

    def __init__(self, w, u, b):
        self.w, self.u, self.b = w, u, b
        self.h = np.zeros(3)

    def step(self, x):
        gates = self.w @ x + self.b
        recurrent = self.u[:6] @ self.h
        z, r = np.split(sigmoid(gates[:6] + recurrent), 2)
        candidate = np.tanh(gates[6:] + self.u[6:] @ (r * self.h))
        self.h = (1 - z) * self.h + z * candidate
        return self.h


@program(normal(5, 5, 2), normal(6, 9, 2), normal(7, 9, 3), normal(8, 9))
def gated_recurrent_network(xs, w, u, b):
    cell = GatedUnit(w, u, b)
    states = np.stack([cell.step(x) for x in xs])
    return states[-1] - states.mean(0)


class State(NamedTuple):
    h: Any
    c: Any


@program(normal(9, 4, 2).astype("f4"), normal(10, 8, 4, scale=0.5).astype("f4"))
def peephole_memory_in_single_precision(xs, weights):
    state = State(np.zeros_like(xs[0]), np.zeros_like(xs[0]))
    for x in xs:
        i, f, g, o = (weights @ np.concatenate([x, state.h])).reshape(4, 2)
        c = sigmoid(f + np.float32(0.1) * state.c) * state.c + sigmoid(i) * np.tanh(g)
        state = State(h=sigmoid(o) * np.tanh(c), c=c)
    return state


@program(normal(11, 2, 6, 6), normal(12, 3, 2, 3, 3), normal(13, 3))
def convolution_by_windows(image, kernels, bias):
    windows = np.lib.stride_tricks.sliding_window_view(image, (3, 3), axis=(1, 2))
    out = np.einsum("chwij,kcij->khw", windows, kernels) + bias[:, None, None]
    out = np.where(out > 0, out, 0.1 * out)
    return out.reshape(3, 2, 2, 2, 2).mean(axis=(2, 4))


@program(normal(14, 3, 4, 4), normal(15, 2, 3))
def depthwise_convolution_by_columns(image, mixing):
    padded = np.pad(image, ((0, 0), (1, 1), (1, 1)))
    columns = np.stack([padded[:, i : i + 4, j : j + 4] for i in range(3) for j in range(3)], 1)
    blurred = np.tensordot(columns, np.outer([1, 2, 1], [1, 2, 1]).ravel() / 16, (1, 0))
    return np.tensordot(mixing, blurred, axes=([1], [0])).reshape(2, -1).max(axis=1)


@program(normal(16, 6, 2), normal(17, 6, 3))
def stochastic_neighbour_embedding(low, high):
    def squared(z):
        return np.sum((z[:, None] - z[None]) ** 2, -1)

    off = ~np.eye(6, dtype=bool)
    p = np.where(off, np.exp(-squared(high) / 2), 0)
    p /= p.sum(1, keepdims=True)
    p = (p + p.T) / 12
    q = np.where(off, 1 / (1 + squared(low)), 0)
    q /= q.sum()
    return np.sum(p[off] * np.log(p[off] / q[off]))


@program(normal(18, 8, 2), normal(19, 3, 2), 0.7, unbatched="each query has its own neighbours")
def soft_nearest_neighbours(train, query, temperature):
    labels = np.array([0, 1, 2, 0, 1, 2, 0, 1])
    distance = np.linalg.norm(query[:, None, :] - train[None, :, :], axis=-1)
    nearest = np.argpartition(distance, 5, axis=1)[:, :5]
    weights = softmax(-np.take_along_axis(distance, nearest, axis=1) / temperature, axis=1)
    votes = np.zeros_like(query, shape=(3, 3))
    np.add.at(votes, (np.arange(3)[:, None], labels[nearest]), weights)
    return votes


@program(normal(20, 5, 4), normal(21, 5, 4), np.log(0.3))
def contrastive_pairs(a, b, log_temperature):
    a = a / np.linalg.norm(a, axis=1, keepdims=True)
    b = b / np.linalg.norm(b, axis=1, keepdims=True)
    logits = a @ b.T / np.exp(log_temperature)
    rows = np.logaddexp.reduce(logits, axis=1)
    columns = np.logaddexp.reduce(logits, axis=0)
    return np.mean(rows + columns - 2 * np.diagonal(logits)) / 2


@program(normal(22, 6, 4))
def connectionist_temporal_classification(logits):
    log_p = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
    extended = [0, 2, 0, 1, 0, 1, 0]
    size = len(extended)
    alpha = np.full_like(logits, -1e30, shape=(6, size))
    alpha[0, :2] = log_p[0, extended[:2]]
    for t in range(1, 6):
        for s in range(size):
            total = np.logaddexp(alpha[t - 1, s], alpha[t - 1, s - 1]) if s else alpha[t - 1, 0]
            if s > 1 and extended[s] not in (0, extended[s - 2]):
                total = np.logaddexp(total, alpha[t - 1, s - 2])
            alpha[t, s] = total + log_p[t, extended[s]]
    return -np.logaddexp(alpha[-1, -1], alpha[-1, -2])


@program(normal(23, 5), {"encode": normal(24, 4, 5), "decode": normal(25, 5, 2)})
def variational_autoencoder_bound(x, p):
    mean, log_variance = np.split(np.tanh(p["encode"] @ x), 2)
    noise = np.random.default_rng(1).normal(size=(3, 2))
    z = mean + np.exp(log_variance / 2) * noise
    reconstructed = z @ p["decode"].T
    likelihood = -0.5 * np.sum((x - reconstructed) ** 2, axis=1).mean()
    divergence = 0.5 * np.sum(np.exp(log_variance) + mean**2 - 1 - log_variance)
    return likelihood - divergence


@program(normal(26, 7, 3), normal(27, 3, shift=1.0))
def batch_norm_with_running_statistics(batch, gain):
    running = {"mean": np.zeros(3), "var": np.ones(3)}
    out = batch
    for _ in range(2):
        mean, var = out.mean(0), out.var(0)
        running["mean"] = 0.9 * running["mean"] + 0.1 * mean
        running["var"] = 0.9 * running["var"] + 0.1 * np.var(out, axis=0, ddof=1)
        out = np.tanh(gain * (out - mean) / np.sqrt(var + 1e-5))
    return out[:2], running


@program(normal(28, 7, 3), normal(29, 3, 3))
def skip_gram_with_negative_samples(table, context):
    words, negatives = np.array([0, 3, 6, 3]), np.array([[1, 2], [4, 4], [0, 1], [5, 2]])
    centre = table[words] @ context
    positive = np.einsum("wd,wd->w", centre, table[np.roll(words, 1)])
    negative = np.einsum("wd,wnd->wn", centre, table[negatives])
    return np.sum(np.log1p(np.exp(-positive))) + np.sum(np.logaddexp(0, negative))


@program(normal(30, 5, 3), normal(31, 3, 3), normal(32, 6))
def graph_attention(features, weight, vector):
    adjacency = np.eye(5, dtype=bool)
    adjacency[[0, 1, 2, 3, 4, 0], [1, 2, 3, 4, 0, 3]] = True
    adjacency |= adjacency.T
    h = features @ weight
    raw = np.add.outer(h @ vector[:3], h @ vector[3:])
    scores = np.where(raw > 0, raw, 0.2 * raw)
    attention = softmax(np.where(adjacency, scores, -np.inf), axis=1)
    return np.where(attention @ h > 0, attention @ h, np.expm1(attention @ h))


@program(uniform(33, 5, 2), uniform(34, 4, 2), 0.2)
def sinkhorn_transport(x, y, epsilon):
    cost = np.sum((x[:, None] - y) ** 2, axis=-1)
    f, g = np.zeros(5), np.zeros(4)
    for _ in range(3):
        f = -epsilon * np.logaddexp.reduce((g - cost) / epsilon - np.log(4), axis=1)
        g = -epsilon * np.logaddexp.reduce((f[:, None] - cost) / epsilon - np.log(5), axis=0)
    plan = np.exp((f[:, None] + g - cost) / epsilon) / 20
    return np.vdot(plan, cost), plan.sum(1)


@program(normal(35, 3, 2), {"planes": normal(36, 7, 2), "leaves": normal(37, 8)})
def soft_decision_tree(x, tree):
    def descend(node, reach):
        if node >= 7:
            return reach * tree["leaves"][node - 7]
        right = sigmoid(x @ tree["planes"][node])
        return descend(2 * node + 1, reach * (1 - right)) + descend(2 * node + 2, reach * right)

    return descend(0, np.ones(3))


@program(uniform(38, 6, low=0.1, high=2), uniform(39, 6, 3), np.array([0.2, 0.3, 0.7]))
def volume_rendering(density, colour, background):
    depth = np.linspace(1, 4, 7)
    alpha = 1 - np.exp(-density * np.diff(depth))
    transmitted = np.cumprod(np.concatenate([[1.0], 1 - alpha + 1e-10]))
    weights = alpha * transmitted[:-1]
    rgb = np.sum(weights[:, None] * colour, axis=0) + transmitted[-1] * background
    return rgb, weights @ (0.5 * (depth[1:] + depth[:-1]))


@program(normal(40, 4), normal(41, 2, 2, 2), normal(42, 2, 2, 2))
def coupling_flow(x, scales, shifts):
    z = x.copy()
    log_det = 0.0
    for k in range(2):
        fixed, moving = (z[:2], z[2:]) if k % 2 == 0 else (z[2:], z[:2])
        s = np.tanh(scales[k] @ fixed)
        moving *= np.exp(s)
        moving += shifts[k] @ fixed
        log_det += s.sum()
    return 0.5 * z @ z - log_det, z


@program(normal(43, 5, 4), normal(44, 4), 2.0)
def modern_hopfield_retrieval(patterns, probe, beta):
    for _ in range(3):
        probe = softmax(beta * patterns @ probe) @ patterns
    energy = -np.log(np.exp(beta * patterns @ probe).sum()) / beta + probe @ probe / 2
    return probe, energy


@program(normal(45, 2, 3), normal(46, 3, 2), 0.3)
def unrolled_adam(w1, w2, rate):
    x, y = normal(47, 6, 2), normal(48, 6, 2)
    m, v = [np.zeros((2, 3)), np.zeros((3, 2))], [np.zeros((2, 3)), np.zeros((3, 2))]
    weights = [w1, w2]
    for t in range(1, 4):
        hidden = np.tanh(x @ weights[0])
        error = (hidden @ weights[1] - y) / 6
        gradients = [x.T @ (error @ weights[1].T * (1 - hidden**2)), hidden.T @ error]
        for k, g in enumerate(gradients):
            m[k] = 0.9 * m[k] + 0.1 * g
            v[k] = 0.99 * v[k] + 0.01 * g**2
            step = rate * (m[k] / (1 - 0.9**t)) / (np.sqrt(v[k] / (1 - 0.99**t)) + 1e-3)
            weights[k] = weights[k] - step
    return weights


@program(normal(49, 6, 3), normal(50, 3, 3))
def conditional_random_field(emissions, transitions):
    tags = np.array([0, 2, 1, 1, 0, 2])
    gold = emissions[np.arange(6), tags].sum() + transitions[tags[:-1], tags[1:]].sum()
    alpha = best = emissions[0]
    for row in emissions[1:]:
        alpha = np.logaddexp.reduce(alpha[:, None] + transitions, axis=0) + row
        best = np.max(best[:, None] + transitions, axis=0) + row
    return np.logaddexp.reduce(alpha) - gold, best.max() - gold
