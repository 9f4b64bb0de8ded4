"""The networks of object_programs as NumPy's calls, as object_programs_by_hand says.

Knows NumPy. Must not know tapegrad or PyTorch, nor how calls are timed.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from by_hand import (
    ABOVE,
    ZERO,
    Arrays,
    Gradients,
    added_rows,
    by_hand,
    clip,
    number,
    ones,
    rectify,
)
from numpy import add, divide, exp, matmul, maximum, multiply, sqrt, subtract, tanh

ONE = number(1)
MOST = np.maximum.reduce


class CrossEntropy:
    """The mean cross entropy of rows of numbers, which become its gradient."""

    def __init__(self, rows: int, classes: int) -> None:
        self.rows, self.share = rows, number(1 / rows)
        self.starts = np.arange(rows) * classes
        self.tall, self.wide = ones(rows), ones(classes)

    def __call__(self, z: Any, classes: Any) -> Any:
        z -= MOST(z, 1, None, None, True)
        own, flat = self.starts + classes, z.ravel()
        chosen = flat.take(own)
        exp(z, z)
        sums = z.dot(self.wide)
        loss = np.log(sums).dot(self.tall) - chosen.dot(self.tall)
        divide(self.share, sums, sums)
        z *= sums[:, None]
        flat[own] -= self.share
        return loss / self.rows


@by_hand
def mlp_step(medium: bool) -> Gradients:
    """Two products forward, three back."""
    rows, (inputs, hidden, outputs) = (256, (784, 256, 10)) if medium else (32, (10, 64, 10))
    draw = Arrays()
    w, b, v, c = parameters = draw.parameters(
        (hidden, inputs), (hidden,), (outputs, hidden), (outputs,)
    )
    x, classes = draw.constant(rows, inputs), draw.whole(10, rows)
    judge, tall, rate = CrossEntropy(rows, outputs), ones(rows), number(1e-6)

    def step() -> tuple[Any, list[Any]]:
        h = x.dot(w.T)
        h += b
        tanh(h, h)
        z = h.dot(v.T)
        z += c
        loss = judge(z, classes)
        g = z.dot(v)
        of_v, of_c = z.T.dot(h), tall.dot(z)
        h *= h
        subtract(ONE, h, h)
        g *= h
        found = [g.T.dot(x), tall.dot(g), of_v, of_c]
        for parameter, slope in zip(parameters, found, strict=True):
            parameter -= slope * rate
        return loss, found

    return step


@by_hand
def attention(medium: bool) -> Gradients:
    """Products of matrices write heads where they belong."""
    batch, length, heads, size = (8, 64, 8, 64) if medium else (1, 16, 4, 8)
    width, rows = heads * size, batch * length
    draw = Arrays()
    x = draw.leaf(batch, length, width)
    w, u, v, p = (draw.leaf(width, width, scale=0.1) for _ in range(4))
    mask = np.where(np.tri(length, dtype=bool), np.float32(0), np.float32(-np.inf))
    root, share, wide = number(size**-0.5), number(2 / (rows * width)), ones(length)
    split, whole = (batch, length, heads, size), (rows, width)

    def apart(part: Any) -> Any:
        return part.reshape(split).transpose(0, 2, 1, 3)

    def step() -> tuple[Any, list[Any]]:
        given = x.reshape(whole)
        q, k, values = apart(given.dot(w)), apart(given.dot(u)), apart(given.dot(v))
        shares = matmul(q, k.swapaxes(2, 3))
        shares *= root
        shares += mask
        shares -= MOST(shares, 3, None, None, True)
        exp(shares, shares)
        sums = shares.dot(wide)
        divide(ONE, sums, sums)
        shares *= sums[..., None]
        y = np.empty(whole, np.float32)
        of_heads = matmul(shares, values, apart(y))
        out = y.dot(p)
        flat = out.ravel()
        loss = flat.dot(flat) / flat.size
        out *= share
        g = out.dot(p.T)
        of_p = y.T.dot(out)
        of_y = apart(g)
        of_q, of_k, of_v = np.empty((3, *whole), np.float32)
        matmul(shares.swapaxes(2, 3), of_y, apart(of_v))
        slopes = matmul(of_y, values.swapaxes(2, 3))
        slopes -= np.vecdot(of_y, of_heads)[..., None]
        slopes *= shares
        slopes *= root
        matmul(slopes, k, apart(of_q))
        matmul(slopes.swapaxes(2, 3), q, apart(of_k))
        of_x = of_q.dot(w.T)
        of_x += of_k.dot(u.T)
        of_x += of_v.dot(v.T)
        turned = given.T
        return loss, [
            of_x.reshape(x.shape),
            turned.dot(of_q),
            turned.dot(of_k),
            turned.dot(of_v),
            of_p,
        ]

    return step


@by_hand
def embedding(medium: bool) -> Gradients:
    """Few words: the gradient is how often they occur in each row, times the rows' gradients."""
    words, size, rows, length = (2000, 128, 256, 32) if medium else (50, 16, 8, 4)
    draw = Arrays()
    table, w = draw.leaf(words, size), draw.leaf(10, size, scale=0.1)
    text, classes = draw.whole(words, rows, length), draw.whole(10, rows)
    judge, share = CrossEntropy(rows, 10), number(1 / length)
    starts = np.arange(rows)[:, None] * words

    def means() -> Any:
        if not medium:
            y = add.reduce(table.take(text, 0), 1)
        else:  # word by word, in the cache
            y = table.take(text[:, 0], 0)
            for k in range(1, length):
                y += table.take(text[:, k], 0)
        y *= share
        return y

    def step() -> tuple[Any, list[Any]]:
        y = means()
        z = y.dot(w.T)
        loss = judge(z, classes)
        of_w = z.T.dot(y)
        g = z.dot(w)
        g *= share
        if medium:
            return loss, [added_rows(words, text.ravel(), g, length), of_w]
        counts = np.bincount((text + starts).ravel(), None, rows * words).astype(np.float32)
        return loss, [counts.reshape(rows, words).T.dot(g), of_w]

    return step


@by_hand
def batch_norm(medium: bool) -> Gradients:
    """The gradient of the squares of ReLU is ReLU again."""
    rows, size = (256, 784) if medium else (16, 16)
    draw = Arrays()
    w, scale, bias = draw.parameters((size, size), (size,), (size,))
    x = draw.constant(rows, size)
    mean, tall = ones(rows) / rows, ones(rows)
    eps, share, old = number(1e-5), number(2 / (rows * size)), number(0.9)
    new, unbiased, part = number(0.1), number(0.1 * rows / (rows - 1)), number(1 / rows)
    running, spread = np.zeros(size, np.float32), ones(size)

    def step() -> tuple[Any, list[Any]]:
        y = x.dot(w.T)
        middle = mean.dot(y)
        y -= middle
        out = y * y
        variance = mean.dot(out)
        middle *= new
        running.__imul__(old).__iadd__(middle)
        spread.__imul__(old).__iadd__(variance * unbiased)
        variance += eps
        sqrt(variance, variance)
        r = divide(ONE, variance, variance)
        y *= r
        multiply(y, scale, out)
        out += bias
        rectify(out)
        flat = out.ravel()
        loss = flat.dot(flat) / flat.size
        out *= share
        product = y * out
        of_bias, of_scale = tall.dot(out), tall.dot(product)
        y *= of_scale * part
        out -= y
        out -= of_bias * part
        r *= scale
        out *= r
        return loss, [out.T.dot(x), of_scale, of_bias]

    return step


@by_hand
def conv1d(medium: bool) -> Gradients:
    """Channels first, and the sequences one after another with two zeros between them.

    So what lies under an element of the kernel is a slice of whole rows, also with a stride of 2.
    """
    rows, channels, length = (64, 32, 98) if medium else (2, 4, 16)
    draw = Arrays()
    x, w = draw.leaf(rows, channels, length), draw.leaf(channels, channels, 3, scale=0.1)
    b = draw.leaf(channels)
    places, each = (length - 3) // 2 + 1, length // 2 + 1
    size, columns, half = channels * rows * places, rows * (length + 2), rows * each
    share, wide, narrow = number(2 / size), ones(columns), ones(half)

    work = np.zeros((2, channels, columns + 2), np.float32)  # has zeros that stay
    below, above = (np.empty((3 * channels, count), np.float32) for count in (columns, half))
    made = np.empty((channels, columns), np.float32)
    mask = np.empty((channels, columns), bool)

    def copy_windows(y: Any, made: Any) -> None:
        """The rows of y (channels, columns and two zeros) under each element of the kernel."""
        step = columns // made.shape[1]
        for k, part in enumerate(made.reshape(3, channels, -1)):
            part[...] = y[:, k : k + columns : step]

    def forward(flat: Any) -> Any:
        padded, y = work
        padded[:, 1:-1].reshape(channels, rows, -1)[:, :, :length] = x.transpose(1, 0, 2)
        copy_windows(padded, below)
        inner = y[:, :-2]
        flat.dot(below, made)
        add(made, b[:, None], inner)
        rectify(inner)
        np.greater(inner, ZERO, mask)
        copy_windows(y, above)
        z = flat.dot(above)
        z += b[:, None]
        z.reshape(channels, rows, each)[:, :, places:] = 0
        return z

    def step() -> tuple[Any, list[Any]]:
        flat = w.transpose(0, 2, 1).reshape(channels, -1)
        z = forward(flat)
        every = z.ravel()
        loss = every.dot(every) / size
        z *= share
        of_w, of_b = z.dot(above.T), z.dot(narrow)
        one, two, three = flat.T.dot(z, above).reshape(3, channels, half)
        one[:, 1:] += three[:, :-1]
        g = work[1, :, :columns]
        g[:, ::2], g[:, 1::2] = one, two
        g *= mask
        of_w += below.dot(g.T).T
        of_b += g.dot(wide)
        one, two, three = flat.T.dot(g, below).reshape(3, channels, columns)
        two[:, :-1] += one[:, 1:]
        two[:, 1:] += three[:, :-1]
        of_x = two.reshape(channels, rows, -1)[:, :, :length].transpose(1, 0, 2).copy()
        return loss, [of_x, of_w.reshape(channels, 3, channels).transpose(0, 2, 1), of_b]

    return step


@by_hand
def conv2d(medium: bool) -> Gradients:
    """Windows as a matrix; ReLU after the pooling is ReLU before it."""
    rows, channels, side = (256, 8, 28) if medium else (2, 4, 8)
    half = side // 2
    draw = Arrays()
    w, b, v, c = draw.parameters((channels, 1, 3, 3), (channels,), (10, channels * half**2), (10,))
    x, classes = draw.constant(rows, 1, side, side), draw.whole(10, rows)
    judge, tall = CrossEntropy(rows, 10), ones(rows)
    corners = [
        (slice(None), slice(None), slice(i, None, 2), slice(j, None, 2))
        for i in range(2)
        for j in range(2)
    ]

    def windows() -> Any:
        padded = np.zeros((rows, side + 2, side + 2), np.float32)
        padded[:, 1:-1, 1:-1] = x[:, 0]
        made = np.empty((rows, 9, side, side), np.float32)
        for k in range(9):
            i, j = divmod(k, 3)
            made[:, k] = padded[:, i : i + side, j : j + side]
        return made.reshape(rows, 9, -1)

    def step() -> tuple[Any, list[Any]]:
        under, flat = windows(), w.reshape(channels, 9)
        y = matmul(flat, under)
        y += b[:, None]
        y = y.reshape(rows, channels, side, side)
        parts = [y[corner] for corner in corners]
        top = maximum(parts[0], parts[1])
        maximum(top, maximum(parts[2], parts[3]), out=top)
        inner = clip(top, ZERO, ABOVE).reshape(rows, -1)
        z = inner.dot(v.T)
        z += c
        loss = judge(z, classes)
        of_v, of_c = z.T.dot(inner), tall.dot(z)
        g = z.dot(v)
        g *= np.greater(inner, ZERO)
        g = g.reshape(top.shape)
        rest = np.ones(top.shape, bool)  # the first of equal elements gets it
        for part in parts:
            own = np.equal(part, top)
            own &= rest
            rest ^= own
            multiply(g, own, part)
        y = y.reshape(rows, channels, -1)
        of_w = add.reduce(matmul(y, under.swapaxes(1, 2)), 0)
        return loss, [of_w.reshape(w.shape), add.reduce(y, (0, 2)), of_v, of_c]

    return step


@by_hand
def adam_step(medium: bool) -> Gradients:
    """The step of Adam in place."""
    rows, size = (256, 784) if medium else (16, 16)
    draw = Arrays()
    w, b = draw.parameters((size, size), (size,))
    x, y = draw.constant(rows, size), draw.constant(rows, size)
    states = [(p, np.zeros_like(p), np.zeros_like(p)) for p in (w, b)]
    tall, share, eps = ones(rows), number(2 / (rows * size)), number(1e-8)
    keep, take, hold, gain = number(0.9), number(0.1), number(0.999), number(0.001)
    count = [0]

    def advance(found: list[Any]) -> None:
        count[0] += 1
        rate = number(1e-9 / (1 - 0.9 ** count[0]))
        unbias = number(1 / math.sqrt(1 - 0.999 ** count[0]))
        for (p, mean, square), g in zip(states, found, strict=True):
            room = g * take
            mean *= keep
            mean += room
            multiply(g, g, room)
            room *= gain
            square *= hold
            square += room
            sqrt(square, room)
            room *= unbias
            room += eps
            divide(mean, room, room)
            room *= rate
            p -= room

    def step() -> tuple[Any, list[Any]]:
        z = x.dot(w.T)
        z += b
        z -= y
        flat = z.ravel()
        loss = flat.dot(flat) / flat.size
        z *= share
        found = [z.T.dot(x), tall.dot(z)]
        advance(found)
        return loss, found

    return step


@by_hand
def penalties(medium: bool) -> Gradients:
    """Each gradient begins with its penalty."""
    size, rows = (784, 256) if medium else (8, 8)
    draw = Arrays()
    parameters = w, b, v, c, u, d = draw.parameters(
        (64, size), (64,), (64, 64), (64,), (4, 64), (4,)
    )
    x = draw.constant(rows, size)
    tall, share, square, absolute = (
        ones(rows),
        number(2 / (rows * 4)),
        number(2e-3),
        number(1e-4),
    )
    sides = [ones(p.size) for p in parameters]

    def step() -> tuple[Any, list[Any]]:
        h = x.dot(w.T)
        h += b
        rectify(h)
        k = h.dot(v.T)
        k += c
        y = k.dot(u.T)
        y += d
        flat = y.ravel()
        loss = flat.dot(flat) / flat.size
        y *= share
        of_u, of_d = y.T.dot(k), tall.dot(y)
        g = y.dot(u)
        of_v, of_c = g.T.dot(h), tall.dot(g)
        g = g.dot(v)
        g *= np.greater(h, ZERO)
        found = [g.T.dot(x), tall.dot(g), of_v, of_c, of_u, of_d]
        for p, slope, every in zip(parameters, found, sides, strict=True):
            flat, room = p.ravel(), np.absolute(p)
            loss += 1e-3 * flat.dot(flat) + 1e-4 * room.ravel().dot(every)
            np.sign(p, room)
            room *= absolute
            slope += room
            multiply(p, square, room)
            slope += room
        return loss, found

    return step
