"""Sums over sliding windows of NumPy arrays as products of matrices: what convolutions compute.

Knows NumPy's own arrays. Must not know rules, tensors or modules, nor how windows are copied
(`im2col`).

The result is a sum of products of matrices, one for each row of the kernel (each element of its
first axis), or one product where all that lies under the kernel is copied into a matrix.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad.torch._rules import recorded_windows
from tapegrad.torch._rules.im2col import Im2col, Part, add_windows, parts_of
from tapegrad.torch._rules.kernels import Kernel, Phase, Sizes
from tapegrad.torch._rules.symbols import is_own

# OpenBLAS has kernels for products of at most so many multiplications, which do not copy what
# they multiply. They are up to twice as fast as the others where a matrix has few rows.
SMALL = 1_000_000
NARROW = 64  # columns, below which they are not
MANY = 4096  # columns with which it takes longer to multiply matrices than to turn the result


# --- Products -----------------------------------------------------------------------------------


def _stretches(rows: int, elements: int, columns: int, least: int) -> list[slice]:
    """The columns that are multiplied at once in a product of two matrices."""
    width = SMALL // max(1, rows * elements) // 16 * 16
    if rows == 1 or not least <= width < columns:
        return [slice(0, columns)]
    return [slice(first, first + width) for first in range(0, columns, width)]


def _multiply(rows: Value, matrix: Value, out: Value) -> None:
    """The products (n, groups, outputs, columns) of weights and matrices, into an array."""
    _, outputs, elements = rows.shape
    for columns in _stretches(outputs, elements, matrix.shape[3], NARROW):
        np.matmul(rows, matrix[..., columns], out=out[..., columns])


def _multiply_over_columns(g: Value, matrix: Value, is_turned: bool, out: Value = None) -> Value:
    """The sum of products (groups, outputs, elements) of g (n, groups, outputs, ...) and matrices.

    is_turned: whether its last axes lie in memory in turned order; out: where it is put, if it
    is not turned, or None.
    """
    outputs = g.shape[2]
    _, _, elements, length = matrix.shape
    if outputs == 1:  # as products of vectors: faster than those of a vector and a matrix
        products = np.matmul(matrix[..., np.newaxis, :], g.swapaxes(2, 3)[:, :, np.newaxis])
        return np.sum(
            products[..., 0], 0, out=None if out is None else out.swapaxes(1, 2)
        ).swapaxes(1, 2)
    one, other = (matrix, g) if is_turned else (g, matrix)
    stretches = _stretches(outputs, elements, length, 8 * NARROW)
    if len(stretches) == len(g) == 1:
        total = np.matmul(one[0], other[0].swapaxes(1, 2), out=out)
    else:
        total = sum(
            np.matmul(one[..., columns], other[..., columns].swapaxes(2, 3))
            for columns in stretches
        )
        total = np.sum(total, 0, out=out)
    return total.swapaxes(1, 2) if is_turned else total


# --- The three maps -----------------------------------------------------------------------------


def correlate(x: Value, weight: Value, bias: Value, kernel: Kernel) -> Value:
    """Sums over windows: x (n, c, *sizes), weight (o, c / groups, *kernel) -> (n, o, *places).

    bias: a number for each of o, or None.
    """
    places = kernel.places(x.shape[2:], weight.shape[2:])
    dtype = np.result_type(x, weight)
    if _is_low(dtype):
        made = correlate(x.astype(np.float32), weight.astype(np.float32), bias, kernel)
        return made.astype(dtype)
    if not is_own(x) or not is_own(weight):
        return recorded_windows.correlate(x, weight, bias, kernel)
    out = np.empty((x.shape[0], weight.shape[0], *places), dtype)
    _correlate(x, weight, bias, kernel, out)
    return out


def _correlate(x: Value, weight: Value, bias: Value, kernel: Kernel, out: Value) -> None:
    """Put the sums over windows into an array, which may be a view of others."""
    if not weight.size or not out.size:
        out[...] = _beside(bias, out)
        return
    groups, places = kernel.groups, out.shape[2:]
    beside = None if bias is None else bias.reshape(groups, -1, 1)
    patches = Im2col(x, weight.shape[0] // groups, kernel, weight.shape[2:])
    rows = patches.rows_of(weight)
    is_direct = out.flags.c_contiguous
    flat = out.reshape(len(out), groups, -1, math.prod(places)) if is_direct else None
    for part, matrices in patches:
        count, some, _, length = matrices[0].shape
        in_place = is_direct and not part.runs
        made = (
            part.of(flat, places)
            if in_place
            else np.empty((count, some, rows[0].shape[1], length), out.dtype)
        )
        _multiply(rows[0][part.groups], matrices[0], made)
        if len(rows) > 1:
            product = np.empty_like(made)
            for row, matrix in zip(rows[1:], matrices[1:], strict=True):
                _multiply(row[part.groups], matrix, product)
                made += product
        if beside is not None:
            made += beside[part.groups]
        if not in_place:
            part.scatter(out, made)


def _beside(bias: Value, out: Value) -> Value:
    """The bias as it is added to arrays (n, channels, *sizes)."""
    return 0 if bias is None else bias.reshape(-1, *(1,) * (out.ndim - 2))


def correlate_weight(x: Value, g: Value, kernel: Kernel, sizes: Sizes) -> Value:
    """The transpose of `correlate` by the weight, whose kernel has these sizes."""
    groups = kernel.groups
    channels, outputs = x.shape[1] // groups, g.shape[1]
    dtype = np.result_type(x, g)
    if _is_low(dtype):
        x, g = x.astype(np.float32), g.astype(np.float32)
        return correlate_weight(x, g, kernel, sizes).astype(dtype)
    if not x.size or not g.size or not outputs:
        return np.zeros((outputs, channels, *sizes), dtype)
    if not is_own(x) or not is_own(g):
        return recorded_windows.correlate_weight(x, g, kernel, sizes)
    places = g.shape[2:]
    flat = g.reshape(g.shape[0], groups, outputs // groups, -1)
    patches = Im2col(x, outputs // groups, kernel, sizes)
    # products with more rows than columns are faster, but their result has to be turned
    rows = channels * math.prod(sizes[1:]) * (sizes[0] if patches.is_whole else 1)
    is_turned = rows > outputs // groups and len(g) * math.prod(places) >= MANY
    made = np.empty((outputs, channels, *sizes), dtype)
    targets = patches.parts_of_weight(made)
    out = targets[0] if patches.is_whole and not is_turned else None
    totals: list[Value] = []  # (groups, outputs, elements) for each matrix
    for part, matrices in patches:
        columns = part.gathered(flat, places)
        is_first = not totals and part.groups == slice(0, groups)
        products = [
            _multiply_over_columns(columns, matrix, is_turned, out if is_first else None)
            for matrix in matrices
        ]
        if is_first:
            totals = products
            continue
        if not totals:
            shape = (groups, *products[0].shape[1:])
            totals = [np.zeros_like(product, shape=shape) for product in products]
        for total, product in zip(totals, products, strict=True):
            total[part.groups] += product
    if totals[0] is not out:
        for target, total in zip(targets, totals, strict=True):
            target[...] = total.reshape(target.shape)
    return made


def correlate_input(g: Value, weight: Value, bias: Value, kernel: Kernel, sizes: Sizes) -> Value:
    """The transpose of `correlate` by x, which has these spatial sizes; plus a bias or None."""
    dtype = np.result_type(g, weight)
    if _is_low(dtype):
        g, weight = g.astype(np.float32), weight.astype(np.float32)
        return correlate_input(g, weight, bias, kernel, sizes).astype(dtype)
    groups = kernel.groups
    outputs, channels, *widths = weight.shape
    places = g.shape[2:]
    shape = (g.shape[0], channels * groups, *sizes)
    split = weight.reshape(groups, outputs // groups, channels, *widths)
    if not g.size or not weight.size:
        out = np.zeros(shape, dtype)
        out += _beside(bias, out)
        return out
    if not is_own(g) or not is_own(weight):
        return recorded_windows.correlate_input(g, weight, bias, kernel, sizes)
    is_spread = math.prod(kernel.stride) > 1 or math.prod(places) == 1
    if is_spread and kernel.is_apart(tuple(widths), places):
        out = _input_apart(g, split, kernel, shape)
        if bias is not None:
            out += _beside(bias, out)
        return out
    out = np.empty(shape, dtype)
    axes = [
        kernel.phases(axis, widths[axis], size, places[axis]) for axis, size in enumerate(sizes)
    ]
    for phases in itertools.product(*axes):
        target = out[:, :, *(phase.elements for phase in phases)]
        if all(phase.is_reached for phase in phases):
            _put_input(g, split, bias, kernel, phases, target)
        else:
            target[...] = _beside(bias, out)
    return out


def _put_input(
    g: Value, split: Value, bias: Value, kernel: Kernel, phases: Sequence[Phase], out: Value
) -> None:
    """Put in the elements of a phase along each axis; split: the weight (groups, outputs, ...)."""
    taps = split[:, :, :, *(phase.taps for phase in phases)]
    turned = np.flip(taps, tuple(range(3, split.ndim))).swapaxes(1, 2)
    turned = turned.reshape(-1, split.shape[1], *taps.shape[3:])
    ahead, after, dilation = zip(*((p.before, p.after, p.dilation) for p in phases), strict=True)
    moves = Kernel((1,) * len(phases), ahead, after, dilation, kernel.groups)
    _correlate(g, np.ascontiguousarray(turned), bias, moves, out)


def _input_apart(g: Value, split: Value, kernel: Kernel, shape: Sizes) -> Value:
    """The same where no two places of the kernel share an element."""
    count, places = g.shape[0], g.shape[2:]
    groups, outputs, _, *widths = split.shape
    rows = split.reshape(groups, outputs, -1).swapaxes(1, 2)
    flat = g.reshape(count, groups, outputs, -1)
    dtype = np.result_type(g, split)
    bytes_of_row = rows.shape[1] * groups * math.prod(places[1:]) * dtype.itemsize
    product = np.multiply if outputs == 1 else np.matmul  # of a column and a row

    def matrices() -> Iterator[tuple[Part, Value]]:
        for part in parts_of(count, 1, places, bytes_of_row):
            whole = part._replace(groups=slice(0, groups))
            yield part, product(rows, whole.of(flat, places))

    return add_windows(matrices(), shape, dtype, tuple(widths), places, kernel)


def _is_low(dtype: np.dtype[Any]) -> bool:
    """Whether NumPy's products of a dtype are neither fast nor accurate."""
    return dtype.kind == "f" and dtype.itemsize < 4
