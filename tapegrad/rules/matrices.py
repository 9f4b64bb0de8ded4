"""Operations of linear algebra that its rules share. The last two axes are those of a matrix."""

from __future__ import annotations

import numpy as np

from tapegrad._core.types import Value
from tapegrad._core.values import is_plain_array


def transposed(x: Value) -> Value:
    """The transpose."""
    if is_plain_array(x):  # the frequent case, here and below, at a fraction of the cost
        return x.T if x.ndim == 2 else x.swapaxes(-1, -2)
    return np.swapaxes(x, -1, -2)


def adjoint(x: Value) -> Value:
    """The conjugate transpose."""
    return np.conjugate(transposed(x)) if x.dtype.kind == "c" else transposed(x)


def conjugated(x: Value) -> Value:
    """The conjugate; of real arrays nothing is copied."""
    return np.conjugate(x) if x.dtype.kind == "c" else x


def hermitian_part(x: Value) -> Value:
    """The Hermitian matrix nearest to a matrix."""
    return (x + adjoint(x)) / 2


def column(x: Value) -> Value:
    """Vectors as matrices of one column."""
    return x[..., None] if type(x) is np.ndarray else np.expand_dims(x, -1)


def row(x: Value) -> Value:
    """Vectors as matrices of one row."""
    return x[..., None, :] if type(x) is np.ndarray else np.expand_dims(x, -2)


def diagonal(x: Value) -> Value:
    """The diagonals of a stack of matrices."""
    return x.diagonal(0, -2, -1) if type(x) is np.ndarray else np.diagonal(x, 0, -2, -1)


def scalar(x: Value) -> Value:
    """Numbers, one per matrix, in a shape that broadcasts with the matrices."""
    return x[..., None, None] if type(x) is np.ndarray else column(column(x))


def unit(x: Value) -> Value:
    """The unit matrix, of the size and dtype of square matrices."""
    return np.eye(x.shape[-1], dtype=x.dtype)


def shaped(x: Value) -> Value:
    """Lists and numbers as arrays; any other value unchanged."""
    return x if type(x) is np.ndarray or hasattr(x, "shape") else np.asarray(x)


def times(x: Value, y: Value) -> Value:
    """np.matmul; of vectors and matrices by the method, which takes half the time if small."""
    if type(x) is type(y) is np.ndarray and x.ndim <= 2 and y.ndim <= 2:
        return x.dot(y)
    if y.ndim <= 2 and is_plain_array(x) and is_plain_array(y):
        if type(x) is np.ndarray is not type(y):
            return np.dot(x, y)  # whose method would convert a value whose calls are recorded
        if x.ndim <= 2:
            return x.dot(y)
        if y.ndim == 2 and x.size and y.size:
            return x.reshape(-1, x.shape[-1]).dot(y).reshape(*x.shape[:-1], y.shape[1])
    return np.matmul(x, y)


def outer(x: Value, y: Value) -> Value:
    """Products of all pairs of two vectors; of NumPy's as one of matrices, at half the cost."""
    if x.ndim == y.ndim == 1 and is_plain_array(x) and is_plain_array(y):
        return times(column(x), row(y))
    return column(x) * row(y)
