"""Products: matmul, dot, tensordot, einsum and their relatives, and the trace.

A transpose takes no conjugates: the cotangent of x in `x @ y` is `g @ y.T`, also for complex x, y.
Functions that conjugate an argument themselves (vdot, vecdot, vecmat) conjugate its cotangent.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from tapegrad._core.fast.call_plans import Kernels, Spec
from tapegrad._core.forms import composite, linear, multilinear
from tapegrad._core.types import Cotangent, Function, Tangent, Value
from tapegrad._core.values import is_plain_array
from tapegrad._numpy_versions import CROSSES_PAIRS, HAS_MATVEC
from tapegrad._warning import warn
from tapegrad.rules.einsum import LETTERS, einsum
from tapegrad.rules.index import plan_diagonals
from tapegrad.rules.matrices import column, outer, shaped, times, transposed

# --- matmul


def _matmul_x(g: Cotangent, _out: Value, _x: Value, y: Value) -> Cotangent:
    if type(g) is type(y) is np.ndarray and g.ndim == y.ndim == 2:
        return g.dot(y.T)  # the frequent case
    y = shaped(y)
    if y.ndim == 1:
        return g * y if len(_x.shape) == 1 else outer(g, y)
    if len(_x.shape) == 1:
        return times(y, g) if y.ndim == 2 else np.matmul(y, column(g))[..., 0]
    return times(g, transposed(y))


def _matmul_y(g: Cotangent, _out: Value, x: Value, _y: Value) -> Cotangent:
    if type(g) is type(x) is np.ndarray and g.ndim == x.ndim == 2:
        return x.T.dot(g)  # the frequent case
    x = shaped(x)
    if len(_y.shape) == 1:
        if x.ndim <= 2:
            return g * x if x.ndim == 1 else times(g, x)
        return np.matmul(transposed(x), column(g))[..., 0]
    if x.ndim == 1:
        return outer(x, g)
    stack = x.ndim > 2 and len(_y.shape) == 2 and is_plain_array(x) and is_plain_array(g)
    if stack and g.size and x.size:
        rows, columns = _y.shape  # one product of matrices, not the sum of a stack of them
        return times(x.reshape(-1, rows).T, g.reshape(-1, columns))
    return times(transposed(x), g)


# By the rules' own functions a gradient of `w @ w` costs 1.12 times this (8 x 8 tensors), and one
# of np.dot(x, y) 1.12 (8 x 8).
def _plan_matmul(
    specs: tuple[Spec, ...], out: Spec, wanted: Sequence[bool], /, **params: Any
) -> Kernels | None:
    """The kernels of the product of two matrices; any other is planned from its rule."""
    x, y = specs
    if params or not x.dtype is y.dtype is out.dtype or not x.ndim == y.ndim == 2:
        return None
    by_x, by_y = wanted

    def pull(g: Cotangent, _out: Value, x: Value, y: Value) -> tuple[Cotangent, Cotangent]:
        return g.dot(y.T) if by_x else None, x.T.dot(g) if by_y else None

    return Kernels(None, pull, _sum_of_two(operator.matmul))


def _matmul_of_examples(x: Value, y: Value, mapped: tuple[bool, bool]) -> Value:
    """Products of matrices; examples that share a matrix are the rows of one product."""
    x_rank, y_rank = (len(z.shape) - stacked for z, stacked in zip((x, y), mapped, strict=True))
    if not x_rank or not y_rank:  # NumPy says why not
        return np.matmul(x[0] if mapped[0] else x, y[0] if mapped[1] else y)
    if not mapped[1] and y_rank <= 2:
        if x_rank == 1:
            return np.matmul(x, y)
        rows = np.matmul(np.reshape(x, (math.prod(x.shape[:-1]), x.shape[-1])), y)
        return np.reshape(rows, (*x.shape[:-1], *y.shape[1:]))
    if not mapped[0] and x_rank <= 2 and (y_rank == 1 or x_rank == 2 and y.shape[-1] == 1):
        columns = y if y_rank == 1 else np.reshape(y, y.shape[:-1])
        product = np.matmul(columns, np.swapaxes(x, 0, 1) if x_rank == 2 else x)
        return product if y_rank == 1 else np.expand_dims(product, -1)
    rank = max(x_rank, y_rank)

    def aligned(z: Value, own: int, stacked: bool, vector: int) -> Value:
        if own == 1:
            z, own = np.expand_dims(z, vector), 2
        return np.reshape(z, (len(z), *(1,) * (rank - own), *z.shape[1:])) if stacked else z

    product = np.matmul(aligned(x, x_rank, mapped[0], -2), aligned(y, y_rank, mapped[1], -1))
    dropped = (*((-2,) if x_rank == 1 else ()), *((-1,) if y_rank == 1 else ()))
    return np.squeeze(product, dropped) if dropped else product


multilinear(
    np.matmul,
    _matmul_x,
    _matmul_y,
    signature="x1, x2",
    batch=_matmul_of_examples,
    plan=_plan_matmul,
)
composite(np.linalg.matmul, lambda x1, x2: np.matmul(x1, x2))

# --- contractions of any pair of axes


def _contracted(x: Value, y: Value, axes: int | Sequence[Any]) -> tuple[list[int], list[int]]:
    """The axes of x and of y that a tensordot sums over, none negative, pair by pair."""
    if isinstance(axes, (int, np.integer)):
        count = int(axes)
        return list(range(len(x.shape) - count, len(x.shape))), list(range(count))
    x_axes, y_axes = (np.atleast_1d(part).tolist() for part in axes)
    return (
        [axis + x.ndim if axis < 0 else axis for axis in x_axes],
        [axis + y.ndim if axis < 0 else axis for axis in y_axes],
    )


def _others(ndim: int, axes: Sequence[int]) -> list[int]:
    return [axis for axis in range(ndim) if axis not in axes]


def _tensordot_x(
    g: Cotangent, _out: Value, _x: Value, y: Value, axes: int | Sequence[Any] = 2
) -> Cotangent:
    y = shaped(y)
    x_axes, y_axes = _contracted(_x, y, axes)
    x_kept, y_kept = _others(len(_x.shape), x_axes), _others(y.ndim, y_axes)
    g_axes = list(range(len(x_kept), g.ndim))
    bar = np.tensordot(g, y, (g_axes, y_kept))
    # Of y only the summed axes are left, in their order in y; each stands for an axis of x.
    came = x_kept + [x_axes[pair] for pair in np.argsort(y_axes)]
    return np.transpose(bar, tuple(np.argsort(came)))


def _tensordot_y(
    g: Cotangent, _out: Value, x: Value, _y: Value, axes: int | Sequence[Any] = 2
) -> Cotangent:
    x = shaped(x)
    x_axes, y_axes = _contracted(x, _y, axes)
    x_kept, y_kept = _others(x.ndim, x_axes), _others(len(_y.shape), y_axes)
    bar = np.tensordot(x, g, (x_kept, list(range(len(x_kept)))))
    came = [y_axes[pair] for pair in np.argsort(x_axes)] + y_kept
    return np.transpose(bar, tuple(np.argsort(came)))


def _tensordot_examples(
    a: Value, b: Value, axes: int | Sequence[Any] = 2, *, mapped: tuple[bool, bool]
) -> Value:
    """One einsum over all examples: summed axes share a letter, the examples have one too."""
    x, y = (z[0] if stacked else z for z, stacked in zip((a, b), mapped, strict=True))
    x_axes, y_axes = _contracted(x, y, axes)
    within = (0 <= axis < z.ndim for z, part in ((x, x_axes), (y, y_axes)) for axis in part)
    if not all(within):  # NumPy's errors: those of an einsum are others
        raise IndexError("tuple index out of range")
    if [x.shape[i] for i in x_axes] != [y.shape[i] for i in y_axes]:
        raise ValueError("shape-mismatch for sum")
    letters = iter(LETTERS[1:])
    x_labels = [next(letters) for _ in range(a.ndim - mapped[0])]
    shared = {y: x_labels[x] for x, y in zip(x_axes, y_axes, strict=True)}
    y_labels = [shared[i] if i in shared else next(letters) for i in range(b.ndim - mapped[1])]
    kept = [label for i, label in enumerate(x_labels) if i not in x_axes]
    kept += [label for i, label in enumerate(y_labels) if i not in shared]
    x_labels, y_labels = ["a"] * mapped[0] + x_labels, ["a"] * mapped[1] + y_labels
    if not (a.size and b.size):  # NumPy 2.4's einsum leaves what it finds in memory
        sides = dict(zip([*x_labels, *y_labels], [*a.shape, *b.shape], strict=True))
        shape = [sides[label] for label in ("a", *kept)]
        dtype = np.result_type(a, b)
        return np.zeros(shape, dtype) + np.sum(b if a.size else a, dtype=dtype)
    return einsum("".join(x_labels) + "," + "".join(y_labels) + "->a" + "".join(kept), a, b)


def _dot_examples(a: Value, b: Value, mapped: tuple[bool, bool]) -> Value:
    a_rank, b_rank = a.ndim - mapped[0], b.ndim - mapped[1]
    if not a_rank or not b_rank:
        return _padded_to(a, b_rank, mapped[0]) * _padded_to(b, a_rank, mapped[1])
    if b_rank <= 2 or a_rank == 1:
        return _matmul_of_examples(a, b, mapped)
    return _tensordot_examples(a, b, ([-1], [-2]), mapped=mapped)


def _inner_examples(a: Value, b: Value, mapped: tuple[bool, bool]) -> Value:
    if a.ndim == mapped[0] or b.ndim == mapped[1]:
        return _dot_examples(a, b, mapped)
    return _tensordot_examples(a, b, ([-1], [-1]), mapped=mapped)


def _vdot_examples(a: Value, b: Value, mapped: tuple[bool, bool]) -> Value:
    a, b = (
        np.reshape(x, (len(x), -1) if stacked else (-1,))
        for x, stacked in zip((a, b), mapped, strict=True)
    )
    a = np.conjugate(a) if a.dtype.kind == "c" else a  # of truth values it would be int8
    return _matmul_of_examples(a, b, mapped)


def _padded_to(x: Value, rank: int, stacked: bool) -> Value:
    """Numbers as arrays of `rank` axes of one element; other values unchanged."""
    return np.reshape(x, (len(x), *(1,) * rank)) if stacked and x.ndim == 1 else x


def _plan_contraction(
    x: Spec, y: Spec, out: Spec, x_axes: list[int], y_axes: list[int], wanted: Sequence[bool]
) -> Kernels | None:
    """The kernels of a tensordot: products of matrices, made as NumPy makes the first of them."""
    if not x.dtype is y.dtype is out.dtype or not (x.size and y.size and x.ndim and y.ndim):
        return None
    x_kept, y_kept = _others(x.ndim, x_axes), _others(y.ndim, y_axes)
    x_order, y_order = (*x_kept, *x_axes), (*y_axes, *y_kept)
    depth = math.prod(x.shape[i] for i in x_axes)
    x_sides, y_sides = (x.size // depth, depth), (depth, y.size // depth)
    sides, shape = (x_sides[0], y_sides[1]), out.shape
    x_moved, y_moved = (
        [spec.shape[i] for i in order] for spec, order in ((x, x_order), (y, y_order))
    )
    x_back, y_back = (
        tuple(sorted(range(len(order)), key=order.__getitem__)) for order in (x_order, y_order)
    )
    by_x, by_y = wanted

    def run(x: Value, y: Value) -> Value:
        matrices = x.transpose(x_order).reshape(x_sides), y.transpose(y_order).reshape(y_sides)
        return np.dot(*matrices).reshape(shape)

    def pull(g: Cotangent, _out: Value, x: Value, y: Value) -> tuple[Cotangent, Cotangent]:
        g = g.reshape(sides)
        x_bar = y_bar = None
        if by_x:
            x_bar = np.dot(g, y.transpose(y_order).reshape(y_sides).T)
            x_bar = x_bar.reshape(x_moved).transpose(x_back)
        if by_y:
            y_bar = np.dot(x.transpose(x_order).reshape(x_sides).T, g)
            y_bar = y_bar.reshape(y_moved).transpose(y_back)
        return x_bar, y_bar

    return Kernels(run, pull, _sum_of_two(run))


def _sum_of_two(run: Function) -> Function:
    """The tangent of a product of two arrays."""

    def push(dots: Sequence[Tangent], _out: Value, x: Value, y: Value) -> Tangent:
        x_dot, y_dot = dots
        if x_dot is None:
            return run(x, y_dot)
        return run(x_dot, y) if y_dot is None else run(x_dot, y) + run(x, y_dot)

    return push


# By the rule's own functions a gradient costs 2.4 times this (8 elements), 2.2 (8 x 8).
def _plan_tensordot(
    specs: tuple[Spec, ...], out: Spec, wanted: Sequence[bool], /, axes: Any = 2
) -> Kernels | None:
    x, y = specs
    return _plan_contraction(x, y, out, *_contracted(x, y, axes), wanted)


multilinear(
    np.tensordot,
    _tensordot_x,
    _tensordot_y,
    batch=_tensordot_examples,
    plan=_plan_tensordot,
)
composite(np.linalg.tensordot, lambda x1, x2, /, *, axes=2: np.tensordot(x1, x2, axes))


def _dot_x(g: Cotangent, out: Value, x: Value, y: Value) -> Cotangent:
    y = shaped(y)
    if y.ndim == 0:
        return g * y
    if len(x.shape) == 0:
        return np.sum(g * y)
    if y.ndim == 1 or len(x.shape) == y.ndim == 2:
        return _matmul_x(g, out, x, y)
    return _tensordot_x(g, out, x, y, ([-1], [-2]))


def _dot_y(g: Cotangent, out: Value, x: Value, y: Value) -> Cotangent:
    x = shaped(x)
    if x.ndim == 0:
        return x * g
    if len(y.shape) == 0:
        return np.sum(x * g)
    if x.ndim == 1 and len(y.shape) < 3 or len(y.shape) == x.ndim == 2:
        return _matmul_y(g, out, x, y)
    return _tensordot_y(g, out, x, y, ([-1], [-2 if len(y.shape) > 1 else 0]))


def _inner_x(g: Cotangent, out: Value, x: Value, y: Value) -> Cotangent:
    y = shaped(y)
    if y.ndim == 0 or len(x.shape) == 0 or len(x.shape) == y.ndim == 1:
        return _dot_x(g, out, x, y)
    if len(x.shape) == y.ndim == 2:
        return times(g, y)
    return _tensordot_x(g, out, x, y, ([-1], [-1]))


def _inner_y(g: Cotangent, out: Value, x: Value, y: Value) -> Cotangent:
    x = shaped(x)
    if x.ndim == 0 or len(y.shape) == 0 or x.ndim == len(y.shape) == 1:
        return _dot_y(g, out, x, y)
    if x.ndim == len(y.shape) == 2:
        return times(transposed(g), x)
    return _tensordot_y(g, out, x, y, ([-1], [-1]))


multilinear(
    np.dot,
    _dot_x,
    _dot_y,
    signature="a, b, out",
    batch=_dot_examples,
    plan=_plan_matmul,
)
multilinear(
    np.inner,
    _inner_x,
    _inner_y,
    signature="a, b",
    batch=_inner_examples,
)

# --- products that conjugate their first argument


def _vdot_x(g: Cotangent, _out: Value, _x: Value, y: Value) -> Cotangent:
    bar = g * shaped(y)
    bar = np.conjugate(bar) if bar.dtype.kind == "c" else bar
    return bar if bar.shape == _x.shape else np.reshape(bar, _x.shape)


def _vdot_y(g: Cotangent, _out: Value, x: Value, _y: Value) -> Cotangent:
    x = shaped(x)
    bar = g * (np.conjugate(x) if x.dtype.kind == "c" else x)
    return bar if bar.shape == _y.shape else np.reshape(bar, _y.shape)


multilinear(
    np.vdot,
    _vdot_x,
    _vdot_y,
    signature="a, b",
    batch=_vdot_examples,
)

multilinear(
    np.vecdot,
    lambda g, _out, _x, y: np.conjugate(column(g) * shaped(y)),
    lambda g, _out, x, _y: column(g) * np.conjugate(shaped(x)),
    signature="x1, x2",
    batch="(n),(n)",
)

if HAS_MATVEC:
    multilinear(
        np.matvec,
        lambda g, _out, _x, y: outer(g, shaped(y)),
        lambda g, _out, x, _y: np.matmul(transposed(shaped(x)), column(g))[..., 0],
        signature="x1, x2",
        batch="(m,n),(n)",
    )
    multilinear(
        np.vecmat,
        lambda g, _out, _x, y: np.conjugate(np.matmul(shaped(y), column(g))[..., 0]),
        lambda g, _out, x, _y: outer(np.conjugate(shaped(x)), g),
        signature="x1, x2",
        batch="(m),(m,n)",
    )


def _vecdot(x1: Value, x2: Value, /, *, axis: int = -1) -> Value:
    return np.vecdot(np.moveaxis(shaped(x1), axis, -1), np.moveaxis(shaped(x2), axis, -1))


composite(np.linalg.vecdot, _vecdot)

# --- outer products


def _outer(a: Value, b: Value) -> Value:
    return column(np.ravel(a)) * np.ravel(b)


def _kron(a: Value, b: Value) -> Value:
    a, b = shaped(a), shaped(b)
    ndim = max(a.ndim, b.ndim)
    a_shape = (1,) * (ndim - a.ndim) + a.shape
    b_shape = (1,) * (ndim - b.ndim) + b.shape
    apart = np.reshape(a, [size for n in a_shape for size in (n, 1)]) * np.reshape(
        b, [size for n in b_shape for size in (1, n)]
    )
    return np.reshape(apart, [n * m for n, m in zip(a_shape, b_shape, strict=True)])


def _cross(
    a: Value, b: Value, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Value:
    if axis is not None:
        axisa = axisb = axisc = axis
    x = np.moveaxis(shaped(a), axisa, 0)
    y = np.moveaxis(shaped(b), axisb, 0)
    sizes = {x.shape[0], y.shape[0]}
    if not sizes <= ({2, 3} if CROSSES_PAIRS else {3}):
        raise ValueError(
            f"np.cross: expected vectors of {'2 or ' * CROSSES_PAIRS}3 elements, got "
            f"{x.shape[0]} and {y.shape[0]}."
        )
    if 2 in sizes:
        warn(
            "Arrays of 2-dimensional vectors are deprecated. Use arrays of "
            "3-dimensional vectors instead. (deprecated in NumPy 2.0)",
            DeprecationWarning,
        )
    if sizes == {2}:
        return x[0] * y[1] - x[1] * y[0]
    x, y = (v if len(v) == 3 else np.concatenate([v, np.zeros_like(v[:1])]) for v in (x, y))
    parts = [x[j] * y[k] - x[k] * y[j] for j, k in ((1, 2), (2, 0), (0, 1))]
    return np.stack(parts, axisc)


# By the definition a gradient costs 1.7 times this (8 elements), 1.7 (64 elements).
def _plan_outer(
    specs: tuple[Spec, ...], out: Spec, wanted: Sequence[bool], /, **others: Any
) -> Kernels | None:
    """The kernels of an outer product: each cotangent is a product of a matrix and a vector."""
    x, y = specs
    if others or not x.dtype is y.dtype is out.dtype or not (x.size and y.size):
        return None
    by_x, by_y = wanted
    x_shape, y_shape = x.shape, y.shape

    def pull(g: Cotangent, _out: Value, x: Value, y: Value) -> tuple[Cotangent, Cotangent]:
        return (
            np.dot(g, y.reshape(-1)).reshape(x_shape) if by_x else None,
            np.dot(x.reshape(-1), g).reshape(y_shape) if by_y else None,
        )

    def run(x: Value, y: Value) -> Value:
        return x.reshape(-1, 1) * y.reshape(-1)

    return Kernels(run, pull, _sum_of_two(run))


composite(np.outer, _outer, arrays=2, plan=_plan_outer)


def _outer_of_vectors(x1: Value, x2: Value, /) -> Value:
    x1, x2 = shaped(x1), shaped(x2)
    if x1.ndim != 1 or x2.ndim != 1:
        raise ValueError(
            f"np.linalg.outer: expected two vectors, got arrays of {x1.ndim} and {x2.ndim} "
            "dimensions. np.outer flattens them."
        )
    return np.outer(x1, x2)


# By the definition a gradient costs 2.4 times this (8 elements), 2.0 (8 x 8).
def _plan_kron(specs: tuple[Spec, ...], out: Spec, wanted: Sequence[bool], /) -> Kernels | None:
    """The kernels of a Kronecker product of matrices: an outer product whose axes are moved."""
    x, y = specs
    if not x.ndim == y.ndim == 2 or not x.dtype is y.dtype is out.dtype or not out.size:
        return None
    by_x, by_y = wanted
    (m, n), (p, q) = x.shape, y.shape
    x_shape, y_shape, apart, shape = x.shape, y.shape, (m, p, n, q), out.shape

    def pull(g: Cotangent, _out: Value, x: Value, y: Value) -> tuple[Cotangent, Cotangent]:
        g = g.reshape(apart).transpose(0, 2, 1, 3).reshape(m * n, p * q)
        return (
            np.dot(g, y.reshape(-1)).reshape(x_shape) if by_x else None,
            np.dot(x.reshape(-1), g).reshape(y_shape) if by_y else None,
        )

    def run(x: Value, y: Value) -> Value:
        return (x[:, None, :, None] * y[:, None, :]).reshape(shape)

    return Kernels(run, pull, _sum_of_two(run))


composite(np.linalg.outer, _outer_of_vectors, arrays=2, signature="x1, x2")
composite(np.kron, _kron, arrays=2, plan=_plan_kron)
_ABOUT = ([1, 2, 0], [2, 0, 1])


# By the definition a gradient costs 5.0 times this (3 elements), 2.0 (1000 x 3).
def _plan_cross(
    specs: tuple[Spec, ...],
    out: Spec,
    wanted: Sequence[bool],
    /,
    axisa: int = -1,
    axisb: int = -1,
    axisc: int = -1,
    axis: int | None = None,
) -> Kernels | None:
    """Kernels of products of as many vectors of three elements, along one axis of all arrays."""
    x, y = specs
    along = axisa if axis is None else axis
    same = axis is not None or axisa == axisb == axisc
    if not same or x is not y or x.dtype is not out.dtype or x.shape[along] != 3:
        return None
    one, two = map(np.array, _ABOUT)
    by_x, by_y = wanted

    def crossed(x: Value, y: Value) -> Value:
        made = x.take(one, -1) * y.take(two, -1)
        made -= x.take(two, -1) * y.take(one, -1)
        return made

    def run(x: Value, y: Value) -> Value:
        if along in (-1, x.ndim - 1):
            return crossed(x, y)
        return np.moveaxis(crossed(*(np.moveaxis(v, along, -1) for v in (x, y))), -1, along)

    def pull(g: Cotangent, _out: Value, x: Value, y: Value) -> tuple[Cotangent, Cotangent]:
        return run(y, g) if by_x else None, run(g, x) if by_y else None

    return Kernels(run, pull, _sum_of_two(run))


composite(np.cross, _cross, arrays=2, plan=_plan_cross)


def _cross_of_three(x1: Value, x2: Value, /, *, axis: int = -1) -> Value:
    x1, x2 = shaped(x1), shaped(x2)
    if x1.shape[axis] != 3 or x2.shape[axis] != 3:
        raise ValueError(
            "np.linalg.cross: expected vectors of 3 elements, got "
            f"{x1.shape[axis]} and {x2.shape[axis]}."
        )
    return np.cross(x1, x2, axis=axis)


composite(
    np.linalg.cross,
    _cross_of_three,
    arrays=2,
    signature="x1, x2, axis",
)

# --- chains of matrices


def _chain(matrices: Sequence[Value]) -> Value:
    return matrices[0] if len(matrices) == 1 else np.linalg.multi_dot(list(matrices))


def _chain_transpose(
    g: Cotangent, _out: Value, *xs: Value, wanted: Sequence[bool]
) -> list[Cotangent]:
    """One cotangent per factor: g between the transposed products to its left and right."""
    shapes = [shaped(x).shape for x in xs]
    sizes = [(1, s[0]) if i == 0 else (s[0], 1) for i, s in enumerate(shapes) if len(s) == 1]
    flat = iter(sizes)
    matrix_shapes = [next(flat) if len(s) == 1 else s for s in shapes]
    whole = np.reshape(g, (matrix_shapes[0][0], matrix_shapes[-1][1]))

    def factor_bar(i: int) -> Cotangent:
        left = [_matrix(xs[k], matrix_shapes[k]).T for k in reversed(range(i))]
        right = [_matrix(xs[k], matrix_shapes[k]).T for k in reversed(range(i + 1, len(xs)))]
        return np.reshape(_chain([*left, whole, *right]), shapes[i])

    return [factor_bar(i) if want else None for i, want in enumerate(wanted)]


def _matrix(x: Value, shape: tuple[int, ...]) -> Value:
    return np.reshape(shaped(x), shape)


def _multi_dot_examples(arrays: Sequence[Value], mapped: tuple[bool, ...]) -> Value:
    """The products of each two neighbours in NumPy's order: the one of fewest operations."""
    if len(arrays) == 2:
        return _dot_examples(arrays[0], arrays[1], (mapped[0], mapped[1]))
    shapes = [x.shape[stacked:] for x, stacked in zip(arrays, mapped, strict=True)]
    ranks = [len(shape) for shape in shapes]
    if len(ranks) < 2 or set(ranks) - {1, 2} or 1 in ranks[1:-1]:
        np.linalg.multi_dot([np.empty(shape) for shape in shapes])  # NumPy says why not
    rows = [1 if ranks[0] == 1 else shapes[0][0], *(shape[0] for shape in shapes[1:])]
    sizes = [*rows, 1 if ranks[-1] == 1 else shapes[-1][1]]

    @cache
    def cheapest(first: int, last: int) -> tuple[int, int]:
        """The multiplications of a stretch, and the matrix after which it is divided."""
        if first == last:
            return 0, first
        ends = sizes[first] * sizes[last + 1]
        return min(
            (cheapest(first, at)[0] + cheapest(at + 1, last)[0] + ends * sizes[at + 1], at)
            for at in range(first, last)
        )

    def product(first: int, last: int) -> tuple[Value, bool]:
        if first == last:
            return arrays[first], mapped[first]
        at = cheapest(first, last)[1]
        (x, x_mapped), (y, y_mapped) = product(first, at), product(at + 1, last)
        if x_mapped or y_mapped:
            return _matmul_of_examples(x, y, (x_mapped, y_mapped)), True
        return np.matmul(x, y), False

    return product(0, len(arrays) - 1)[0]


multilinear(
    np.linalg.multi_dot,
    _chain_transpose,
    batch=_multi_dot_examples,
    arrays=1,
    sequence=True,
    variadic=True,
    signature="arrays, out",
)


def _matrix_power(a: Value, n: int) -> Value:
    """The power by squaring, in the order in which NumPy multiplies."""
    try:
        n = operator.index(n)
    except TypeError as error:
        raise TypeError("np.linalg.matrix_power: the exponent must be an integer.") from error
    a = shaped(a)
    if a.ndim < 2 or a.shape[-2] != a.shape[-1]:
        raise np.linalg.LinAlgError(
            f"np.linalg.matrix_power: expected square matrices, got shape {a.shape}."
        )
    if n == 0:
        return np.zeros_like(a) + np.eye(a.shape[-1], dtype=a.dtype)
    if n < 0:
        a, n = np.linalg.inv(a), -n
    if n == 3:
        return np.matmul(np.matmul(a, a), a)
    square = result = None
    while n > 0:
        square = a if square is None else np.matmul(square, square)
        n, bit = divmod(n, 2)
        if bit:
            result = square if result is None else np.matmul(result, square)
    return result


composite(np.linalg.matrix_power, _matrix_power)

# --- diagonals


def _trace_transpose(
    g: Cotangent,
    _out: Value,
    _x: Value,
    offset: int = 0,
    axis1: int = 0,
    axis2: int = 1,
    dtype: Any = None,
) -> Cotangent:
    rows, columns = _x.shape[axis1], _x.shape[axis2]
    on_diagonal = np.eye(rows, columns, offset, dtype=bool)  # a product would spread NaN
    bar = np.where(on_diagonal, column(column(g)), 0)
    return np.moveaxis(bar, (-2, -1), (axis1, axis2))


def _trace(x: Value, /, *, offset: int = 0, dtype: Any = None) -> Value:
    return np.trace(x, offset, -2, -1, dtype)


def _plan_trace(
    x: Spec,
    out: Spec,
    /,
    offset: int = 0,
    axis1: int = 0,
    axis2: int = 1,
    dtype: Any = None,
) -> Kernels | None:
    if dtype is not None or x.dtype is not out.dtype:
        return None
    return plan_diagonals(
        x, offset, axis1, axis2, lambda a: a.trace(offset, axis1, axis2), summed=True
    )


linear(np.trace, _trace_transpose, batch="axis", plan=_plan_trace)
composite(np.linalg.trace, _trace)
composite(np.linalg.diagonal, lambda x, /, *, offset=0: np.diagonal(x, offset, -2, -1))
composite(np.linalg.matrix_transpose, lambda x, /: np.swapaxes(x, -1, -2))
