"""Matrices by their eigenvalues or singular values: orthogonal factors around a chosen spectrum.

Knows plain NumPy, and choices. The simplest orthogonal matrix is the identity, so that the
matrices shrink to diagonal ones.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad.testing._strategies.asking import Shape
from tapegrad.testing._strategies.drawing import Draw, codes
from tapegrad.testing._strategies.grids import places, spread

_TURN = 2 * np.pi * np.arange(256, dtype=np.longdouble) / 256
COSINES, SINES = np.cos(_TURN), np.sin(_TURN)
COSINES[[64, 192]] = SINES[[0, 128]] = 0


def wide(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype in which matrices are made: they are rounded once, in the end."""
    return np.result_type(dtype, np.float64)


def adjoint(values: Value) -> Value:
    """The conjugate transposes."""
    return np.conjugate(np.swapaxes(values, -1, -2))


def rounded(values: Value, dtype: np.dtype[Any], *, hermitian: bool = False) -> Value:
    """The matrices in C order and their dtype; Hermitian to the last bit if they are to be."""
    if hermitian:
        values = (values + adjoint(values)) / 2
    return np.ascontiguousarray(values.astype(dtype)).reshape(values.shape)


def unitary(draw: Draw, stack: Shape, side: int, dtype: np.dtype[Any]) -> Value:
    """Orthogonal or unitary matrices: rotations of each two axes, then signs or phases."""
    pairs = [(i, j) for i in range(side) for j in range(i)]
    count, each = math.prod(stack), side + len(pairs) * (2 if dtype.kind == "c" else 1)
    raw = np.frombuffer(codes(draw, count * each), np.uint8).reshape(count, each).T
    made = np.zeros((count, side, side), wide(dtype))
    made[:, range(side), range(side)] = _phases(raw[:side], dtype).T
    for k, (i, j) in enumerate(pairs):
        angle = raw[side + k]
        cosine, sine = COSINES[angle][:, None], SINES[angle][:, None]
        if dtype.kind == "c":
            sine = sine * _phases(raw[side + len(pairs) + k], dtype)[:, None]
        upper, lower = made[:, i].copy(), made[:, j].copy()
        made[:, i] = cosine * upper - sine * lower
        made[:, j] = np.conjugate(sine) * upper + cosine * lower
    return made.reshape(*stack, side, side)


def _phases(raw: Value, dtype: np.dtype[Any]) -> Value:
    if dtype.kind == "c":
        return COSINES[raw] + 1j * SINES[raw]
    return np.where(raw < 128, 1.0, -1.0)


def spectrum(draw: Draw, stack: Shape, count: int, condition: float) -> Value:
    """Distinct numbers, in any order, of which the least is 1 and the largest the condition."""
    steps = max(16, 2 * count)
    found = np.empty((math.prod(stack), count), np.longdouble)
    raw = codes(draw, found.size)
    for row, line in enumerate(found):
        part = raw[row * count : (row + 1) * count]
        if count > 1:
            # The ends of the spectrum, then places between; the first byte exchanges the ends.
            inner = 1 + np.array(places(part[2:], steps - 2), np.longdouble)
            line[:] = [0, steps - 1, *inner]
            line[:2] = line[:2] if part[0] < 128 else line[1::-1].copy()
            line[:] = np.longdouble(condition) ** (line / (steps - 1))
        elif count:
            line[0] = np.longdouble(condition) ** (np.longdouble(part[0]) / 255)
    return found.reshape(*stack, count)


def repeated(draw: Draw, stack: Shape, side: int, multiplicity: int | None) -> Value:
    """Eigenvalues among which at least one stands as often as asked, or at least twice.

    Different ones are 0.25 or more apart.
    """
    found = np.empty((math.prod(stack), side))
    raw = codes(draw, found.shape[0] * (2 * side + 1))
    values = np.array([1, *(sign * k / 4 for k in range(1, 4 * side + 8) for sign in (1, -1))])
    values = np.concatenate([values[:1], values[values != 1]])
    for row, line in enumerate(found):
        part = raw[row * (2 * side + 1) : (row + 1) * (2 * side + 1)]
        distinct = values[places(part[:side], len(values))]
        if multiplicity is None:
            # With fewer values than sides, at least one stands twice.
            line[:] = distinct[spread(part[side : 2 * side], max(1, side - 1))]
        else:
            others = distinct[1 : 1 + side - multiplicity]
            line[:] = [*[distinct[0]] * multiplicity, *others]
    return found.reshape(*stack, side)
