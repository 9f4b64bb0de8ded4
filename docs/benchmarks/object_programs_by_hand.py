"""The programs of object_programs as NumPy's calls, with gradients that are derived by hand.

Code by one who knows the whole program, so that it tells the least cost of the program with
NumPy: no operation of the forward pass is left out, but several may be one call, and the gradients
are as short as they become with all that is known of the program. Where memory is no longer read
it is written over, and a sum is a product with ones. What is made once, before the steps, depends
on shapes alone. A step returns the loss and the gradients, which are new in each step.

Knows NumPy. Must not know tapegrad or PyTorch, nor how calls are timed. Networks are in
object_networks_by_hand and object_recurrent_by_hand, joins, views and products in
object_shapes_by_hand; this module's `BY_HAND` has all of them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import object_networks_by_hand  # noqa: F401  (these three add their programs)
import object_recurrent_by_hand  # noqa: F401
import object_shapes_by_hand  # noqa: F401
from by_hand import (
    ABOVE,
    BELOW,
    BY_HAND,
    ZERO,
    Arrays,
    Gradients,
    added_rows,
    by_hand,
    clip,
    number,
    ones,
)
from numpy import add, divide, exp, multiply, sqrt, subtract, tanh

HALF, ONE, TWO = number(0.5), number(1), number(2)
MOST = np.maximum.reduce
BLOCK = 1 << 15  # elements that go through all passes at once, so that they stay in the cache


@by_hand
def layer_norm(medium: bool) -> Gradients:
    """Twice the same closed form, whose sums are products of matrices."""
    draw = Arrays()
    rows, columns = shape = (256, 784) if medium else (8, 16)
    x, w, b = draw.leaf(*shape), draw.leaf(columns), draw.leaf(columns)
    weights = draw.constant(*shape)
    mean, tall, eps = ones(columns) / columns, ones(rows), number(1e-5)

    def norm(x: Any) -> tuple[Any, Any, Any]:
        apart = x - x.dot(mean)[:, None]
        out = apart * apart
        scale = out.dot(mean)
        scale += eps
        sqrt(scale, scale)
        scale = divide(ONE, scale, scale)[:, None]
        apart *= scale
        multiply(apart, w, out)
        out += b
        return out, apart, scale

    def pull(g: Any, y: Any, scale: Any) -> tuple[Any, Any, Any]:
        product = g * y
        each = w * mean
        of_w, of_b = tall.dot(product), tall.dot(g)
        multiply(y, product.dot(each)[:, None], product)
        product += g.dot(each)[:, None]
        out = g * w
        out -= product
        out *= scale
        return out, of_w, of_b

    def step() -> tuple[Any, list[Any]]:
        out, first, one_scale = norm(x)
        out, second, other_scale = norm(out)
        loss = out.ravel().dot(weights.ravel())
        g, of_w, of_b = pull(weights, second, other_scale)
        g, more_w, more_b = pull(g, first, one_scale)
        of_w += more_w
        of_b += more_b
        return loss, [g, of_w, of_b]

    return step


@by_hand
def pairwise_distances(medium: bool) -> Gradients:
    """The coordinates come first, and sums over points are products of matrices."""
    rows, other, columns = (256, 256, 3) if medium else (8, 8, 3)
    draw = Arrays()
    x, y = draw.leaf(rows, columns), draw.leaf(other, columns)
    count, tall, wide, every = rows * other, ones(rows), ones(other), ones(rows * other)
    eps, share = number(1e-6), number(-1 / count)

    def step() -> tuple[Any, list[Any]]:
        apart = x.T.copy()[:, :, None] - y.T.copy()[:, None]
        apart *= apart
        d = apart[0]
        d += apart[1]
        d += apart[2]
        d += eps
        sqrt(d, d)
        e = np.negative(d, apart[1])
        exp(e, e)
        loss = e.ravel().dot(every) / count
        g = divide(e, d, e)
        g *= share
        of_x = x * g.dot(wide)[:, None]
        of_x -= g.dot(y)
        of_y = y * tall.dot(g)[:, None]
        of_y -= g.T.dot(x)
        return loss, [of_x, of_y]

    return step


@by_hand
def softmax_cross_entropy(medium: bool) -> Gradients:
    """Two softmaxes, of which each row has one number to take away."""
    rows, classes = (256, 784) if medium else (16, 10)
    draw = Arrays()
    x, target = draw.leaf(rows, classes), draw.whole(classes, rows)
    starts, tall, wide = np.arange(rows) * classes, ones(rows), ones(classes)
    share, twice, thrice = number(1 / rows), number(2 / rows), number(3 / rows)

    def judge(x: Any, made: Any, own: Any, share: Any) -> Any:
        """The sum of the losses; x times a number becomes the gradient."""
        subtract(x, MOST(x, 1, None, None, True), made)
        chosen = made.ravel().take(own)
        exp(made, made)
        sums = made.dot(wide)
        loss = np.log(sums).dot(tall) - chosen.dot(tall)
        divide(share, sums, sums)
        made *= sums[:, None]
        return loss

    def step() -> tuple[Any, list[Any]]:
        own = starts + target
        g = np.empty_like(x)
        loss = judge(x, g, own, share)
        more = x * TWO
        loss = (loss + judge(more, more, own, twice)) / rows
        g += more
        g.ravel()[own] -= thrice
        return loss, [g]

    return step


@by_hand
def masks(medium: bool) -> Gradients:
    """Choices by bounds; where x is negative, the gradients of both terms cancel."""
    shape = (256, 784) if medium else (8, 8)
    draw = Arrays()
    x = draw.leaf(*shape)
    every, low, tenth = ones(x.size), number(-1), number(0.1)

    def step() -> tuple[Any, list[Any]]:
        positive = np.greater(x, ZERO)
        below, above = clip(x, BELOW, ZERO), clip(x, ZERO, ABOVE)
        y = multiply(positive, HALF, dtype=np.float32)
        y += below
        square = above * above
        square -= below
        y += square
        clipped = clip(y, low, ONE, square)
        clipped += clip(x, tenth, ABOVE, below)
        loss = clipped.ravel().dot(every)
        g = multiply(np.less_equal(y, ONE), above, y)
        g += g
        g += np.greater_equal(x, tenth)
        return loss, [g]

    return step


# erf(z) is tanh(z * q(z * z)) in float32, with a polynomial q that was fitted up to z = 4; here
# for erf(x / sqrt(2)).
FITTED = (1.12837898, 0.10277221, -1.97309495e-4, -6.16853709e-4, 8.71507378e-5, -5.67300225e-6)
ERF = [number(c * 0.5 ** (k + 0.5)) for k, c in enumerate((*FITTED, 1.46002205e-7))]


@by_hand
def activations(medium: bool) -> Gradients:
    """Values and slopes share their exponentials; blocks stay in the cache."""
    shape = (256, 784) if medium else (8, 8)
    draw = Arrays()
    x = draw.leaf(*shape)
    size = min(x.size, BLOCK)
    every, far = ones(size), number(32)
    density, minus, tenth, rest = (number(c) for c in (1 / math.sqrt(2 * math.pi), -0.5, 0.1, 0.9))

    def gelu(x: Any, g: Any, room: Any) -> Any:
        y = multiply(x, x)
        clip(y, ZERO, far, room)
        share = room * ERF[-1]
        for term in ERF[-2:0:-1]:
            share += term
            share *= room
        share += ERF[0]
        share *= x
        tanh(share, share)
        share *= HALF
        share += HALF
        y *= minus
        exp(y, y)
        y *= density
        y *= x
        add(share, y, g)
        return multiply(share, x, y)

    def block(x: Any, g: Any) -> Any:
        room = np.empty_like(x)
        y = gelu(x, g, room)
        share = y * HALF  # silu: y * s, with slopes s + y * s * (1 - s)
        tanh(share, share)
        share *= HALF
        share += HALF
        y *= share
        subtract(ONE, share, room)
        room *= y
        room += share
        g *= room
        multiply(np.greater(y, ZERO), rest, room)  # leaky_relu
        room += tenth
        y *= room
        g *= room
        exp(y, share)  # softplus, of numbers that are not large here or below
        np.log1p(share, y)
        room = add(share, ONE, room)
        share /= room
        g *= share
        y -= HALF
        clip(y, BELOW, ZERO, room)  # elu: y, or exp(y) - 1
        np.expm1(room, room)
        add(room, ONE, share)
        g *= share
        clip(y, ZERO, ABOVE, y)
        y += room
        return y.dot(every[: y.size])

    def step() -> tuple[Any, list[Any]]:
        g = np.empty_like(x)
        given, made = x.ravel(), g.ravel()
        loss = 0.0
        for start in range(0, x.size, size):
            loss += block(given[start : start + size], made[start : start + size])
        return loss, [g]

    return step


@by_hand
def clipped_norms(medium: bool) -> Gradients:
    """Norms are roots of products of vectors."""
    rows, size = (256, 784) if medium else (16, 16)
    draw = Arrays()
    w, b, x = draw.leaf(size, size, scale=0.1), draw.leaf(size), draw.constant(rows, size)
    tall, wide = ones(rows), ones(size)

    def step() -> tuple[Any, list[Any]]:
        z = x.dot(w)
        z += b
        flat = z.ravel()
        norm = math.sqrt(flat.dot(flat))
        square = w * w
        lengths = square.dot(wide)
        sqrt(lengths, lengths)
        loss = norm + lengths.dot(wide)
        z *= number(1 / norm)
        of_w = x.T.dot(z)
        of_w += divide(w, lengths[:, None], square)
        of_b = tall.dot(z)
        flat = of_w.ravel()
        factor = number(min(1.0, 1.0 / (math.sqrt(flat.dot(flat) + of_b.dot(of_b)) + 1e-6)))
        of_w *= factor
        of_b *= factor
        return loss, [of_w, of_b]

    return step


@by_hand
def matrix_factorisation(medium: bool) -> Gradients:
    """Few users and items: their errors are a matrix by which the tables are multiplied."""
    users, items, size, count = (784, 784, 64, 4096) if medium else (20, 30, 8, 32)
    draw = Arrays()
    left, right, bias = draw.leaf(users, size), draw.leaf(items, size), draw.leaf(users)
    of, to, rating = draw.whole(users, count), draw.whole(items, count), draw.constant(count)
    share, penalty, kind = number(2 / count), number(0.02), np.float32

    def step() -> tuple[Any, list[Any]]:
        rows, other_rows = left.take(of, 0), right.take(to, 0)
        error = np.vecdot(rows, other_rows)
        error += bias.take(of)
        error -= rating
        flat, other = left.ravel(), right.ravel()
        loss = error.dot(error) / count + 0.01 * (flat.dot(flat) + other.dot(other))
        error *= share
        if medium:
            column = error[:, None]
            of_left = added_rows(users, of, multiply(other_rows, column, other_rows))
            of_right = added_rows(items, to, multiply(rows, column, rows))
        else:
            at = of * items
            at += to
            table = np.bincount(at, error, users * items).astype(kind).reshape(users, items)
            of_left, of_right = table.dot(right), table.T.dot(left)
        of_left += left * penalty
        of_right += right * penalty
        return loss, [of_left, of_right, np.bincount(of, error, users).astype(kind)]

    return step


@by_hand
def logistic_regression(medium: bool) -> Gradients:
    """The slope of the loss is the logistic function less the target."""
    rows, size = (256, 784) if medium else (32, 8)
    draw = Arrays()
    w, b = draw.leaf(size, scale=0.1), draw.leaf(1)
    x, y = draw.constant(rows, size), (draw.constant(rows) > 0).astype(np.float32)
    tall, share, fifth = ones(rows), number(1 / rows), number(0.2)

    def step() -> tuple[Any, list[Any]]:
        z = x.dot(w)
        z += b
        e = np.absolute(z)
        np.negative(e, e)
        exp(e, e)
        loss = np.log1p(e).dot(tall) + np.maximum(z, ZERO).dot(tall) - z.dot(y)
        loss = loss / rows + 0.1 * w.dot(w)
        z *= HALF
        g = tanh(z, z)
        g *= HALF
        g += HALF
        g -= y
        g *= share
        of_w = g.dot(x)
        of_w += w * fifth
        return loss, [of_w, tall[:1] * g.dot(tall)]

    return step


@by_hand
def custom_function(medium: bool) -> Gradients:
    """Two exponentials, whose product is the gradient."""
    draw = Arrays()
    x = draw.leaf(*((256, 784) if medium else (8, 8)))
    every, tenth, share = ones(x.size), number(0.1), number(0.01)

    def step() -> tuple[Any, list[Any]]:
        first = x * tenth
        exp(first, first)
        second = first * tenth
        exp(second, second)
        loss = second.ravel().dot(every)
        second *= first
        second *= share
        return loss, [second]

    return step


__all__ = ["BY_HAND"]
