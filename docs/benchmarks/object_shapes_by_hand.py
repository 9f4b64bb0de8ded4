"""The programs of object_programs that join, view, read, write, add up and multiply, by hand.

Knows NumPy, and what object_programs_by_hand says. Must not know tapegrad or PyTorch, nor how
calls are timed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from by_hand import Arrays, Gradients, by_hand, number, ones
from numpy import add, multiply, subtract, tanh

HALF, ONE, TWO = number(0.5), number(1), number(2)
MOST = np.maximum.reduce


@by_hand
def views(medium: bool) -> Gradients:
    """The views are one transpose; the gradient is the sum of the weights, and numbers."""
    rows, columns = (256, 784) if medium else (8, 16)
    draw = Arrays()
    x, weights = draw.leaf(rows, columns), draw.constant(columns, 2, rows)
    every, tall = ones(2 * rows * columns), ones(rows)

    def step() -> tuple[Any, list[Any]]:
        y = np.empty((columns, 2, rows), np.float32)
        y[:, 0] = x.T
        y[:, 1] = x.T  # flatten() of the expanded array makes it
        flat = y.ravel()
        loss = flat.dot(weights.ravel()) + y[0, 1].dot(tall) + flat[1:].dot(every[1:])
        g = weights[:, 0] + weights[:, 1]
        g += TWO
        g[0] += ONE
        g[0, 0] -= ONE
        return loss, [g.T]

    return step


@by_hand
def cat(medium: bool) -> Gradients:
    """The second join is made by the calls that make its parts."""
    rows, columns = (256, 784) if medium else (8, 8)
    draw = Arrays()
    parts = [draw.leaf(rows, columns) for _ in range(3)]
    every = ones(3 * rows * columns)

    def step() -> tuple[Any, list[Any]]:
        y = np.concatenate(parts, 1)
        z = np.empty((3, rows, columns), np.float32)
        one, two, three = z
        for part, made in zip(parts, (one, two, three), strict=True):
            tanh(part, made)
        flat = y.ravel()
        loss = flat.dot(flat) + z.ravel().dot(every)
        z *= z
        subtract(ONE, z, z)
        y += y
        one += y[:, :columns]
        two += y[:, columns : 2 * columns]
        three += y[:, 2 * columns :]
        return loss, [one, two, three]

    return step


@by_hand
def stack(medium: bool) -> Gradients:
    """Both stacks are made; the gradients need neither."""
    rows, columns = (256, 784) if medium else (8, 8)
    draw = Arrays()
    parts = [draw.leaf(rows, columns) for _ in range(3)]
    count, every = rows * columns, ones(rows * columns)
    share, twice = number(1 / count), number(2 / count)

    def step() -> tuple[Any, list[Any]]:
        one, two, three = parts
        y = np.concatenate(parts, 1).reshape(rows, 3, columns)
        product = y[:, 0] * y[:, 1]
        product += y[:, 2]
        loss = product.ravel().dot(every)
        total = add.reduce(np.concatenate(parts).reshape(3, rows, columns), 0)
        flat = total.ravel()
        loss = (loss + flat.dot(flat)) / count
        total *= twice
        of_one = multiply(two, share, product)
        of_one += total
        of_two = one * share
        of_two += total
        total += share
        return loss, [of_one, of_two, total]

    return step


@by_hand
def max_over_dim(medium: bool) -> Gradients:
    """The sum of the ones where the extrema are; extrema without positions share ties."""
    rows, columns = shape = (256, 784) if medium else (8, 8)
    draw = Arrays()
    x = draw.leaf(*shape)
    starts, across = np.arange(rows) * columns, np.arange(columns)
    tall, wide = ones(rows), ones(columns)

    def step() -> tuple[Any, list[Any]]:
        flat = x.ravel()
        greatest = x.argmax(1)
        greatest += starts
        least = x.argmin(0)
        least *= columns
        least += across
        peaks, top = MOST(x, 1), MOST(x, None)
        loss = flat.take(greatest).dot(tall) + flat.take(least).dot(wide) + peaks.dot(tall) + top
        ties = np.equal(x, peaks[:, None])
        g = ties.astype(np.float32)
        if np.count_nonzero(ties) != rows:
            g /= g.dot(wide)[:, None]
        whole = g.ravel()
        whole[greatest] += ONE
        whole[least] += ONE
        (own,) = (flat == top).nonzero()
        whole[own] += 1 / len(own)
        return loss, [g]

    return step


@by_hand
def gather_select(medium: bool) -> Gradients:
    """The gradient is x times how often its elements are read."""
    rows, columns = (256, 784) if medium else (8, 8)
    draw = Arrays()
    x = draw.leaf(rows, columns)
    places, chosen = draw.whole(columns, rows, 4), draw.whole(rows, rows)
    starts, tall = np.arange(rows)[:, None] * columns, ones(rows)
    kind = np.float32

    def step() -> tuple[Any, list[Any]]:
        flat = x.ravel()
        at = places + starts
        single = chosen * columns
        single += places[:, 0]
        y, z = flat.take(at).ravel(), x.take(chosen, 0).ravel()
        loss = y.dot(y) + z.dot(z) + flat.take(single).dot(tall)
        size = flat.size
        counts = np.bincount(at.ravel(), None, size).astype(kind)
        g = counts.reshape(rows, columns)
        g += np.bincount(chosen, None, rows).astype(kind)[:, None]
        g *= x
        g += g
        counts += np.bincount(single, None, size).astype(kind)
        return loss, [g]

    return step


@by_hand
def einsum(medium: bool) -> Gradients:
    """The cotangent of the first product is one number, so that its gradients are sums."""
    rows, columns = (256, 784) if medium else (8, 8)
    draw = Arrays()
    x, y, d = draw.leaf(rows, columns), draw.leaf(rows, columns), draw.leaf(columns)
    tall, every, tenth = ones(rows) * np.float32(0.1), ones(rows * rows), number(0.02)

    def step() -> tuple[Any, list[Any]]:
        inner, scaled = x.dot(y.T), x.dot(d)
        loss = inner.ravel().dot(every) * 0.1 + scaled.dot(scaled) * 0.01
        scaled *= tenth
        of_x = scaled[:, None] * d
        of_x += tall.dot(y)
        of_y = np.empty_like(y)
        of_y[...] = tall.dot(x)
        return loss, [of_x, of_y, scaled.dot(x)]

    return step


@by_hand
def bmm(medium: bool) -> Gradients:
    """Two products of the gradient are sums of rows and columns."""
    batch, rows, columns = (16, 64, 196) if medium else (4, 8, 8)
    draw = Arrays()
    x, y = draw.leaf(batch, rows, columns), draw.leaf(batch, columns, rows)
    count = batch * rows * rows
    every, wide, share, twice = ones(count), ones(rows), number(1 / count), number(2)

    def step() -> tuple[Any, list[Any]]:
        z = np.matmul(x, y)
        loss = np.matmul(z, z).ravel().dot(every)
        again = np.matmul(x, y)
        again += z
        loss = (loss + again.ravel().dot(every)) / count
        within, across = z.dot(wide), add.reduce(z, 1)
        within += twice
        g = add(within[:, None], across[:, :, None], again)
        g *= share
        return loss, [np.matmul(g, y.swapaxes(1, 2)), np.matmul(x.swapaxes(1, 2), g)]

    return step


@by_hand
def cumsum(medium: bool) -> Gradients:
    """Sums within blocks are products with triangles, to which the blocks before are added.

    The cotangents of the second sum are how many rows follow.
    """
    (rows, high), (columns, wide) = ((256, 16), (784, 28)) if medium else ((8, 8), (8, 8))
    draw = Arrays()
    x, weights = draw.leaf(rows, columns), draw.constant(rows, columns)
    every = ones(x.size)
    follow = np.arange(rows, 0, -1, dtype=np.float32)[:, None] * np.float32(0.01)
    left, right = np.tril(ones(high, high)), np.triu(ones(wide, wide))

    def across(x: Any, triangle: Any, last: int, turn: int) -> Any:
        made = x.reshape(-1, wide).dot(triangle)
        if wide < columns:
            blocks = made.reshape(rows, -1, wide)[:, ::turn]
            before = add.accumulate(blocks[:, :-1, last], 1)
            blocks[:, 1:] += before[:, :, None]
        return made

    def step() -> tuple[Any, list[Any]]:
        y = across(x, right, -1, 1).reshape(rows, columns)
        y *= weights
        if high == rows:
            z = left.dot(y)
        else:
            z = np.matmul(left, y.reshape(-1, high, columns))
            z[1:] += add.accumulate(z[:-1, -1], 0)[:, None]
        loss = z.ravel().dot(every) * 0.01
        g = multiply(weights, follow, y)
        return loss, [across(g, right.T, 0, -1).reshape(rows, columns)]

    return step


@by_hand
def writes(medium: bool) -> Gradients:
    """The gradient is written in the opposite order."""
    rows, columns = (256, 784) if medium else (8, 8)
    draw = Arrays()
    x, v = draw.leaf(rows, columns), draw.leaf(columns)
    three = number(3)

    def step() -> tuple[Any, list[Any]]:
        y = x * TWO
        y[0] = v
        column = y[:, 1]
        column += ONE
        y *= HALF
        multiply(x[2:, 2:], three, y[1:-1, 2:])
        even = y[::2]
        square = even * even
        loss = add.reduce(square, None) + y[-1, -1]
        g = np.zeros_like(x)
        add(even, even, g[::2])
        g[-1, -1] += ONE
        written = g[1:-1, 2:]
        part = written * three
        written.fill(0)
        of_v = g[0] * HALF
        g[0] = 0
        g[2:, 2:] += part
        return loss, [g, of_v]

    return step
