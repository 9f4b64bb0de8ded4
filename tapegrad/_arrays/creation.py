"""NumPy's functions that make arrays of numbers: np.full, np.arange and their kin.

Knows which of their arguments may be traced, and the table of all functions that NumPy dispatches
by their like= argument alone; `tapegrad.numpy` offers them under NumPy's names. Must not know
tapes or single rules. Without traced arguments each call is NumPy's own.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any, Literal

import numpy as np

from tapegrad._arrays.conversion import (
    array,
    asanyarray,
    asarray,
    ascontiguousarray,
    asfortranarray,
    converted,
    gather,
    not_none,
    refuse_device,
    refuse_objects,
    require,
)
from tapegrad._core.types import Value
from tapegrad._core.values import holds_in_trace, in_trace, is_mapped, untraced
from tapegrad._errors import BatchingError

_numpy: Any = np  # for calls whose arguments are passed on unchecked


def full(
    shape: Any,
    fill_value: Value,
    dtype: Any = None,
    order: Literal["C", "F"] = "C",
    *,
    device: Any = None,
    like: Value = None,
) -> Any:
    """An array filled with a value, as `numpy.full`, differentiable by the value.

    Parameters
    ----------
    shape : int or tuple of int
        The shape.
    fill_value : array_like
        What it is filled with, broadcast to the shape; it may be traced.
    dtype : dtype, optional
        Of the result; by default that of the value.
    order : {"C", "F"}, default "C"
        The memory order.
    device : {"cpu"}, optional
        As in NumPy.
    like : array, optional
        An array of the library that is to make the result, instead of NumPy.

    Returns
    -------
    ndarray
        The array.

    Raises
    ------
    NotDifferentiableError
        For a dtype of traced values that is not one of numbers.

    Examples
    --------
    >>> import tapegrad
    >>> import tapegrad.numpy as tnp
    >>> tapegrad.grad(lambda x: tnp.full(3, x).sum())(2.0)
    np.float64(3.0)
    """
    value = gather(fill_value, "np.full")
    if like is not None or not in_trace(value):
        return np.full(shape, fill_value, dtype, order, **not_none(device=device, like=like))
    refuse_device(device)
    value = converted(value, dtype, None, None, "np.full")
    return np.copy(np.broadcast_to(value, shape), order)


def arange(
    *bounds: Any, dtype: Any = None, device: Any = None, like: Value = None, **named: Any
) -> Any:
    """Numbers at equal distances, as `numpy.arange`, differentiable by the bounds.

    Parameters
    ----------
    start_or_stop : number
        The first number; of a call with this bound alone the end, and the first number is 0.
    stop : number, optional
        The end, which is not among the numbers.
    step : number, default 1
        The distance. It may be traced, as the bounds may.
    dtype : dtype, optional
        Of the result.
    device : {"cpu"}, optional
        As in NumPy.
    like : array, optional
        An array of the library that is to make the result, instead of NumPy.

    Returns
    -------
    ndarray
        The numbers. How many there are is constant.

    Raises
    ------
    BatchingError
        Where a bound may differ from example to example of a vmap.
    NotDifferentiableError
        For a dtype of traced values that is not one of numbers.

    Examples
    --------
    >>> import tapegrad
    >>> import tapegrad.numpy as tnp
    >>> tapegrad.grad(lambda x: tnp.arange(x, 3.0).sum())(0.0)
    np.float64(3.0)
    """
    given = (*bounds, *named.values())
    if like is not None or not any(map(in_trace, given)):
        return _numpy.arange(*bounds, **named, **not_none(dtype=dtype, device=device, like=like))
    if any(map(is_mapped, given)):
        raise BatchingError(
            "np.arange: how many numbers there are has to be the same for all examples of a vmap. "
            "Use start + step * np.arange(n)."
        )
    refuse_objects(dtype, "np.arange")
    fixed = {name: untraced(bound) for name, bound in named.items()}
    # NumPy's own call gives the errors, the dtype and the count.
    made = _numpy.arange(*map(untraced, bounds), **fixed, **not_none(dtype=dtype, device=device))
    names = ("stop",) if len(bounds) == 1 and "stop" not in named else ("start", "stop", "step")
    parts = {**dict(zip(names, bounds, strict=False)), **named}
    start = 0 if parts.get("stop") is None else parts.get("start", 0)
    step = 1 if parts.get("step") is None else parts["step"]
    # As in NumPy, the step is the rounded difference of the first two numbers.
    first, second = asarray(start, made.dtype), asarray(start + step, made.dtype)
    return first + np.arange(made.size, dtype=made.dtype) * (second - first)


arange.__signature__ = inspect.signature(  # type: ignore[attr-defined]
    lambda start_or_stop, /, stop=None, step=1, *, dtype=None, device=None, like=None: None
)


def fromiter(iter: Iterable[Any], dtype: Any, count: int = -1, *, like: Value = None) -> Any:
    """An array of the items of an iterable, as `numpy.fromiter`; they may be traced.

    Parameters
    ----------
    iter : iterable
        The items: numbers, traced or not.
    dtype : dtype
        Of the result.
    count : int, default -1
        How many items are read; -1 means all.
    like : array, optional
        An array of the library that is to make the result, instead of NumPy.

    Returns
    -------
    ndarray
        The array.

    Raises
    ------
    ValueError
        Where there are fewer items than `count`.

    Examples
    --------
    >>> import tapegrad
    >>> import tapegrad.numpy as tnp
    >>> tapegrad.grad(lambda x: tnp.fromiter((x * k for k in range(3)), float).sum())(2.0)
    np.float64(3.0)
    """
    if like is not None:
        return np.fromiter(iter, dtype, count, like=like)
    parts: list[Any] = []
    for part in iter:
        if len(parts) == count:
            break
        parts.append(part)
    if not holds_in_trace(parts):
        return np.fromiter(parts, dtype, count)
    if len(parts) < count:
        raise ValueError(
            f"iterator too short: Expected {count} but iterator had only {len(parts)} items."
        )
    return array(parts, dtype)


def fromfunction(
    function: Callable[..., Any],
    shape: Any,
    *,
    dtype: Any = float,
    like: Value = None,
    **kwargs: Any,
) -> Any:
    """An array of a function's values at indices, as `numpy.fromfunction`; they may be traced.

    Parameters
    ----------
    function : callable
        It is called once, with an array of indices for each axis and `kwargs`.
    shape : tuple of int
        The shape of the arrays of indices.
    dtype : dtype, default float
        Of the indices.
    like : array, optional
        An array of the library that is to make the result, instead of NumPy.
    **kwargs
        What else the function gets.

    Returns
    -------
    object
        What the function returns.

    Examples
    --------
    >>> import tapegrad
    >>> import tapegrad.numpy as tnp
    >>> tapegrad.grad(lambda x: tnp.fromfunction(lambda i: i * x, (3,)).sum())(2.0)
    np.float64(3.0)
    """
    return np.fromfunction(function, shape, dtype=dtype, **not_none(like=like), **kwargs)


# The functions that NumPy dispatches by like= alone, and their implementations here.
CREATION: dict[Any, Any] = {
    np.array: array,
    np.asarray: asarray,
    np.asanyarray: asanyarray,
    np.ascontiguousarray: ascontiguousarray,
    np.asfortranarray: asfortranarray,
    np.full: full,
    np.arange: arange,
    np.fromiter: fromiter,
    np.fromfunction: fromfunction,
    np.require: require,
} | {
    make: make
    for make in (
        np.zeros,
        np.ones,
        np.empty,
        np.eye,
        np.identity,
        np.tri,
        np.frombuffer,
        np.fromfile,
        np.fromstring,
        np.loadtxt,
        np.genfromtxt,
    )
}
