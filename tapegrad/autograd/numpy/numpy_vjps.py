"""Building blocks of rules of HIPS autograd, for packages that declare rules of their own.

The rules of NumPy's functions are tapegrad's (`tapegrad.rules`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.autograd._completed import complete
from tapegrad.autograd._derivatives import nograd_functions
from tapegrad.autograd._spaces import SparseObject, vspace
from tapegrad.autograd.numpy.numpy_wrapper import metadata

Function = Callable[..., Any]


def unbroadcast(x: Any, target_meta: Any, broadcast_idx: int = 0) -> Any:
    """A cotangent summed to the shape, and the real or complex kind, of a target.

    Parameters
    ----------
    x : array_like
        The cotangent.
    target_meta : tuple
        What `metadata(target)` returned.
    broadcast_idx : int, default 0
        Where the axes are that broadcasting added.

    Returns
    -------
    ndarray
        The cotangent of the target.

    Examples
    --------
    >>> unbroadcast(np.ones((3, 2)), metadata(np.zeros(2)))
    array([3., 3.])
    """
    shape, ndim, _dtype, iscomplex = target_meta
    if type(x) is np.ndarray and x.dtype.kind == "f":  # the frequent cases
        if x.shape == shape:
            return x
        if not shape:
            return x.sum()
    while np.ndim(x) > ndim:
        x = np.sum(x, axis=broadcast_idx)
    for axis, size in enumerate(shape):
        if size == 1 and np.shape(x)[axis] != 1:
            x = np.sum(x, axis=axis, keepdims=True)
    return np.real(x) if np.iscomplexobj(x) and not iscomplex else x


def unbroadcast_f(target: Any, f: Function) -> Function:
    """A function that returns a cotangent, summed to the shape of a target.

    Parameters
    ----------
    target : array_like
        The target.
    f : callable
        A function that returns a cotangent.

    Returns
    -------
    callable
        The function, of the same argument.

    See Also
    --------
    unbroadcast : What is done with its result.

    Examples
    --------
    >>> unbroadcast_f(np.zeros(2), lambda g: 2 * g)(np.ones((3, 2)))
    array([6., 6.])
    """
    target_meta = metadata(target)
    return lambda g: unbroadcast(f(g), target_meta)


def unbroadcast_einsum(x: Any, target_meta: Any, subscript: str) -> Any:
    """A cotangent summed to the shape of an operand of einsum.

    Parameters
    ----------
    x : array_like
        The cotangent.
    target_meta : tuple
        What `metadata(operand)` returned.
    subscript : str
        The operand's subscript, whose dots stand for the axes that were added.

    Returns
    -------
    ndarray
        The cotangent of the operand.

    Examples
    --------
    >>> unbroadcast_einsum(np.ones((3, 2)), metadata(np.zeros(2)), "...i")
    array([3., 3.])
    """
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
    """The cotangent of a reduction broadcast to its argument.

    Parameters
    ----------
    g : array_like
        The cotangent.
    shape : tuple of int
        The shape of the argument.
    dtype : dtype
        Its dtype.
    axis : int, tuple of int or None
        The axes of the reduction; None for all.
    keepdims : bool
        Whether the reduction kept its axes; either is seen to.

    Returns
    -------
    bar : ndarray
        The cotangent of the argument.
    count : int
        How many elements were reduced to one.

    Examples
    --------
    >>> repeat_to_match_shape(np.array([1.0, 2.0]), (2, 3), float, 1, False)
    (array([[1., 1., 1.],
           [2., 2., 2.]]), 3)
    """
    if shape == ():
        return g, 1
    axes = range(len(shape)) if axis is None else np.atleast_1d(axis)
    kept = [int(i) % len(shape) for i in axes]
    inner = [1 if i in kept else size for i, size in enumerate(shape)]
    count = int(np.prod([shape[i] for i in kept]))
    return np.broadcast_to(np.reshape(g, inner), shape).astype(dtype), count


def replace_zero(x: Any, val: Any) -> Any:
    """An array with another value where it is zero.

    Parameters
    ----------
    x : array_like
        The array.
    val : array_like
        The value.

    Returns
    -------
    ndarray
        The new array.

    Examples
    --------
    >>> replace_zero(np.array([0.0, 2.0]), 1.0)
    array([1., 2.])
    """
    return np.where(x, x, val)


def balanced_eq(x: Any, z: Any, y: Any) -> Any:
    """1 where x is z, shared with y where that is z as well.

    Parameters
    ----------
    x, z, y : array_like
        The arrays: an argument of a maximum, the maximum, and the other argument.

    Returns
    -------
    ndarray
        The factors 1, 1/2 and 0.

    Examples
    --------
    >>> balanced_eq(np.array([1.0, 2.0, 3.0]), 2.0, np.array([2.0, 2.0, 0.0]))
    array([0. , 0.5, 0. ])
    """
    return (x == z) / (1.0 + (x == y))


def match_complex(target: Any, x: Any) -> Any:
    """An array as real or complex as a target is.

    Parameters
    ----------
    target : array_like
        The target.
    x : array_like
        The array.

    Returns
    -------
    ndarray
        The array, its real part, or a complex array.

    Examples
    --------
    >>> match_complex(1.0, np.array([1 + 2j]))
    array([1.])
    """
    if np.iscomplexobj(x) and not np.iscomplexobj(target):
        return np.real(x)
    if not np.iscomplexobj(x) and np.iscomplexobj(target):
        return x + 0j
    return x


def untake(x: Any, idx: Any, vs: Any) -> SparseObject:
    """The cotangent of an array, of whose part at an index it is known.

    Parameters
    ----------
    x : array_like
        The cotangent of the part.
    idx : object
        The index.
    vs : VSpace or None
        The space of the array.

    Returns
    -------
    SparseObject
        The cotangent.

    Examples
    --------
    >>> untake(5.0, 1, vspace(np.zeros(3))).dense()
    array([0., 5., 0.])
    """

    def mut_add(total: Any) -> Any:
        np.add.at(total, idx, x)
        return total

    return SparseObject(vspace(x) if vs is None else vs, mut_add)


complete(__name__)

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
