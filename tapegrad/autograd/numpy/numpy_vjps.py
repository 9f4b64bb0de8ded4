"""What rules of HIPS autograd are made of, for packages that declare rules of their own.

The rules of NumPy's functions are tapegrad's (`tapegrad.rules`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.autograd._spaces import SparseObject, vspace
from tapegrad.autograd.numpy.numpy_wrapper import metadata

Function = Callable[..., Any]


def unbroadcast(x: Any, target_meta: Any, broadcast_idx: int = 0) -> Any:
    """A cotangent summed to the shape, and the real or complex kind, of `metadata(target)`."""
    shape, ndim, _dtype, iscomplex = target_meta
    while np.ndim(x) > ndim:
        x = np.sum(x, axis=broadcast_idx)
    for axis, size in enumerate(shape):
        if size == 1 and np.shape(x)[axis] != 1:
            x = np.sum(x, axis=axis, keepdims=True)
    return np.real(x) if np.iscomplexobj(x) and not iscomplex else x


def unbroadcast_f(target: Any, f: Function) -> Function:
    """A function that returns a cotangent, summed to the shape of a target."""
    target_meta = metadata(target)
    return lambda g: unbroadcast(f(g), target_meta)


def unbroadcast_einsum(x: Any, target_meta: Any, subscript: str) -> Any:
    """`unbroadcast`, where the axes that were added stand for the dots in a subscript."""
    if "..." not in subscript:
        return x
    if subscript.startswith("..."):
        return unbroadcast(x, target_meta, 0)
    if subscript.endswith("..."):
        return unbroadcast(x, target_meta, -1)
    return unbroadcast(x, target_meta, subscript.index("."))


def repeat_to_match_shape(
    g: Any, shape: Any, dtype: Any, axis: Any, keepdims: bool
) -> tuple[Any, Any]:
    """The cotangent of a reduction broadcast to its argument, and how many elements it had."""
    if shape == ():
        return g, 1
    axes = range(len(shape)) if axis is None else np.atleast_1d(axis)
    kept = [int(i) % len(shape) for i in axes]
    inner = [1 if i in kept else size for i, size in enumerate(shape)]
    count = int(np.prod([shape[i] for i in kept]))
    return np.broadcast_to(np.reshape(g, inner), shape).astype(dtype), count


def replace_zero(x: Any, val: Any) -> Any:
    """x with another value where it is zero."""
    return np.where(x, x, val)


def balanced_eq(x: Any, z: Any, y: Any) -> Any:
    """1 where x is z, shared with y where that is z as well."""
    return (x == z) / (1.0 + (x == y))


def match_complex(target: Any, x: Any) -> Any:
    """x as real as the target is."""
    if np.iscomplexobj(x) and not np.iscomplexobj(target):
        return np.real(x)
    if not np.iscomplexobj(x) and np.iscomplexobj(target):
        return x + 0j
    return x


def untake(x: Any, idx: Any, vs: Any) -> SparseObject:
    """The cotangent of an array, whose part at an index has the cotangent x."""

    def mut_add(total: Any) -> Any:
        np.add.at(total, idx, x)
        return total

    return SparseObject(vspace(x) if vs is None else vs, mut_add)


# Functions of NumPy whose derivative is zero wherever it exists.
nograd_functions = [
    np.floor, np.ceil, np.round, np.rint, np.around, np.trunc, np.all, np.any, np.argmax,
    np.argmin, np.argpartition, np.argsort, np.argwhere, np.nonzero, np.flatnonzero,
    np.count_nonzero, np.searchsorted, np.sign, np.ndim, np.shape, np.floor_divide,
    np.logical_and, np.logical_or, np.logical_not, np.logical_xor, np.isfinite, np.isinf, np.isnan,
    np.isneginf, np.isposinf, np.allclose, np.isclose, np.array_equal, np.array_equiv, np.greater,
    np.greater_equal, np.less, np.less_equal, np.equal, np.not_equal, np.iscomplexobj,
    np.iscomplex, np.size, np.isscalar, np.isreal, np.zeros_like, np.ones_like, np.result_type,
]  # fmt: skip

__all__ = [
    "balanced_eq",
    "match_complex",
    "metadata",
    "nograd_functions",
    "repeat_to_match_shape",
    "replace_zero",
    "unbroadcast",
    "unbroadcast_einsum",
    "unbroadcast_f",
    "untake",
]
