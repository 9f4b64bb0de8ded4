"""NumPy's functions that convert to arrays: np.array, np.asarray and their kin.

Knows how nested lists with traced parts become one array, and what a dtype, a memory order and a
copy mean for it. Must not know tapes or single rules. Without traced parts each call is NumPy's
own.
"""

from __future__ import annotations

from collections.abc import Iterator, ValuesView
from typing import Any, Literal

import numpy as np

from tapegrad._core.types import Value
from tapegrad._core.values import (
    Buffer,
    Mapped,
    Traced,
    as_order,
    branch_on,
    holds_in_trace,
    in_trace,
    is_ndarray,
    is_scalar,
    lift,
    memory_of,
)
from tapegrad._errors import NotDifferentiableError

Order = Literal["K", "A", "C", "F"] | None
_numpy: Any = np  # for calls whose arguments are passed on unchecked
_NO_COPY = "Unable to avoid copy while creating an array as requested."


def listed(value: Value) -> Any:
    """The items of an iterator or of a dict's view as a list; any other value unchanged.

    NumPy makes an array of such an object itself, which nobody wants. The array that an object of
    a program gives by `__array__` may be in a trace: then it is taken in the object's place.
    """
    kind = type(value)
    if kind in _PLAIN:
        return value
    if isinstance(value, (Iterator, ValuesView)):
        return list(value)
    if kind.__flags__ & _HEAP and hasattr(kind, "__array__") and not _is_of_ours(kind):
        made = getattr(kind.__array__, UNCONVERTED, kind.__array__)(value)
        return made if holds_in_trace(made) or issubclass(type(made), Buffer) else value
    return value


# The attribute of a method `__array__` of adopted code that holds the program's own: NumPy takes
# an ndarray alone from such a method.
UNCONVERTED = "_tapegrad_unconverted"
_PLAIN = frozenset((np.ndarray, list, tuple, float, int, np.float64, complex, bool))
_HEAP = 1 << 9  # the flag of classes of Python code


def _is_of_ours(kind: type) -> bool:
    return issubclass(kind, (Traced, Mapped, Buffer, np.ndarray, np.generic))


def gather(value: Value, call: str) -> Any:
    """A value with traced parts as one traced array; any other value unchanged.

    Raises ValueError for lists of unlike lengths, TypeError for parts that are not numbers.
    """
    gathered = lift(value)
    if isinstance(gathered, Traced) and gathered.dtype.kind not in "fc":
        raise TypeError(
            f"{call}: expected numbers beside traced values, got parts that make an array of "
            f"{gathered.dtype}."
        )
    return gathered


def refuse_objects(dtype: Any, call: str) -> None:
    if dtype is not None and np.dtype(dtype).kind not in "biufc":
        raise NotDifferentiableError(
            f"{call}: expected a dtype of numbers for traced values, got {np.dtype(dtype)}. Keep "
            "traced values in a list instead."
        )


def _row_of_objects(parts: Any, dtype: Any) -> Any:
    """The array of objects that NumPy makes of arrays of unlike lengths, or None for others.

    It is one of NumPy's, and its elements may be traced.
    """
    if dtype is None or not isinstance(parts, (list, tuple)) or np.dtype(dtype) != np.object_:
        return None
    lengths = {
        shape[0] if shape else -1 for shape in (getattr(part, "shape", ()) for part in parts)
    }
    if len(lengths) < 2 or -1 in lengths or not holds_in_trace(parts):
        return None
    row = np.empty(len(parts), object)
    for i, part in enumerate(parts):
        row[i] = part
    return row


def refuse_device(device: Any) -> None:
    if device not in (None, "cpu"):
        raise ValueError(f"Device not understood. Only 'cpu' is allowed, but got: {device!r}")


def not_none(**options: Any) -> dict[str, Any]:
    """The options of a call that are not None, because not every release of NumPy has all."""
    return {name: value for name, value in options.items() if value is not None}


def converted(x: Value, dtype: Any, order: Order, copy: bool | None, call: str) -> Any:
    """A traced array in a dtype and a memory order; `copy` means what it means in np.asarray."""
    refuse_objects(dtype, call)
    cast = x if dtype is None else x.astype(dtype, copy=False)
    if not in_trace(cast):
        return cast
    ordered = not is_scalar(cast) and _is_ordered(memory_of(cast), order)
    if copy is False and (not ordered or cast is not x):
        raise ValueError(_NO_COPY)
    return cast if ordered and not (copy and cast is x) else _numpy.copy(cast, order or "K")


def _is_ordered(value: Value, order: Order) -> bool:
    """Whether a value has the memory order `order`."""
    order = as_order(order)
    if not is_ndarray(value) or type(order) is not str or order not in ("C", "F"):
        return True
    return bool(value.flags.c_contiguous if order == "C" else value.flags.f_contiguous)


def array(
    object: Value,
    dtype: Any = None,
    *,
    copy: bool | None = True,
    order: Order = "K",
    subok: bool = False,
    ndmin: int = 0,
    ndmax: int = 0,
    like: Value = None,
) -> Any:
    """Make an array, as `numpy.array`; nested lists may have traced parts.

    Parameters
    ----------
    object : array_like
        Arrays, numbers and nested lists of them, with traced parts or not: `[x, [1.0, y]]`. Of a
        generator or of `d.values()` it makes the array of the items.
    dtype : dtype, optional
        Of the result, as in NumPy; of traced values a dtype of numbers. Of arrays of unlike
        lengths `object` makes an array of these arrays.
    copy : bool or None, default True
        Whether there is a copy always, never (False), or where one is needed (None).
    order : {"K", "A", "C", "F"}, default "K"
        The memory order.
    subok : bool, default False
        Whether a subclass of ndarray stays one, without traced parts.
    ndmin : int, default 0
        The least number of axes; new ones come first.
    ndmax : int, default 0
        The largest number of axes, in releases of NumPy that have it; 0 means as many as there
        are. Of traced values no axis can be left out.
    like : array, optional
        An array of the library that is to make the result, instead of NumPy.

    Returns
    -------
    ndarray
        The array, which is traced if a part is.

    Raises
    ------
    ValueError
        Where a copy is needed and `copy` is False, and for lists of unlike lengths.
    NotDifferentiableError
        For a dtype of traced values that is not one of numbers, and an `ndmax` that would leave an
        axis out.

    Examples
    --------
    >>> import tapegrad
    >>> import tapegrad.numpy as tnp
    >>> tapegrad.grad(lambda x: tnp.sum(tnp.array([x, [1.0, 2.0]]) ** 2))(np.ones(2))
    array([2., 2.])
    """
    given = listed(object)
    row = _row_of_objects(given, dtype) if like is None and ndmin < 2 else None
    if row is not None:
        return row
    gathered = gather(given, "np.array")
    if like is not None or not in_trace(gathered):
        rest = not_none(like=like, ndmax=ndmax or None)
        return np.array(given, dtype, copy=copy, order=order, subok=subok, ndmin=ndmin, **rest)
    if ndmax and len(gathered.shape) > ndmax:
        raise NotDifferentiableError(
            f"np.array: ndmax={ndmax} would make an object array of traced values. Leave it away."
        )
    if gathered is not given and copy is False:
        raise ValueError(_NO_COPY)
    made = converted(gathered, dtype, order, copy if gathered is given else None, "np.array")
    missing = ndmin - made.ndim
    return np.reshape(made, (1,) * missing + made.shape) if missing > 0 else made


def asarray(
    a: Value,
    dtype: Any = None,
    order: Order = None,
    *,
    device: Any = None,
    copy: bool | None = None,
    like: Value = None,
) -> Any:
    """Make an array of what is none, as `numpy.asarray`; lists may have traced parts.

    Parameters
    ----------
    a : array_like
        Arrays, numbers and nested lists of them, with traced parts or not.
    dtype : dtype, optional
        Of the result, as in NumPy; of traced values a dtype of numbers.
    order : {"K", "A", "C", "F"}, optional
        The memory order; by default as it is.
    device : {"cpu"}, optional
        As in NumPy.
    copy : bool, optional
        Whether there is a copy always (True), never (False), or where one is needed (None).
    like : array, optional
        An array of the library that is to make the result, instead of NumPy.

    Returns
    -------
    ndarray
        The array, or `a` itself where it is one already; a traced array stays as it is.

    Raises
    ------
    ValueError
        Where a copy is needed and `copy` is False, and for lists of unlike lengths.
    NotDifferentiableError
        For a dtype of traced values that is not one of numbers.

    Examples
    --------
    >>> import tapegrad
    >>> import tapegrad.numpy as tnp
    >>> tapegrad.grad(lambda x: tnp.asarray([x, 2.0]).prod())(3.0)
    np.float64(2.0)
    """
    return _as_array(np.asarray, a, dtype, order, not_none(device=device, copy=copy, like=like))


def asanyarray(
    a: Value,
    dtype: Any = None,
    order: Order = None,
    *,
    device: Any = None,
    copy: bool | None = None,
    like: Value = None,
) -> Any:
    """Make an array of what is none, as `numpy.asanyarray`; lists may have traced parts.

    Parameters
    ----------
    a : array_like
        Arrays, numbers and nested lists of them, with traced parts or not.
    dtype : dtype, optional
        Of the result, as in NumPy; of traced values a dtype of numbers.
    order : {"K", "A", "C", "F"}, optional
        The memory order; by default as it is.
    device : {"cpu"}, optional
        As in NumPy.
    copy : bool, optional
        Whether there is a copy always (True), never (False), or where one is needed (None).
    like : array, optional
        An array of the library that is to make the result, instead of NumPy.

    Returns
    -------
    ndarray
        The array, or `a` itself where it is one already; a traced array stays as it is.

    Raises
    ------
    ValueError
        Where a copy is needed and `copy` is False, and for lists of unlike lengths.
    NotDifferentiableError
        For a dtype of traced values that is not one of numbers.

    Examples
    --------
    >>> import tapegrad
    >>> import tapegrad.numpy as tnp
    >>> tapegrad.grad(lambda x: tnp.asanyarray([x, 2.0]).prod())(3.0)
    np.float64(2.0)
    """
    return _as_array(np.asanyarray, a, dtype, order, not_none(device=device, copy=copy, like=like))


def _as_array(function: Any, a: Value, dtype: Any, order: Order, options: dict[str, Any]) -> Any:
    call = f"np.{function.__name__}"
    a = listed(a)
    row = None if "like" in options else _row_of_objects(a, dtype)
    if row is not None:
        return row
    gathered = gather(a, call)
    if "like" in options or not in_trace(gathered):
        return function(a, dtype, order, **options)
    refuse_device(options.get("device"))
    copy = options.get("copy")
    if gathered is not a and copy is False:
        raise ValueError(_NO_COPY)
    return converted(gathered, dtype, order, copy if gathered is a else None, call)


def ascontiguousarray(a: Value, dtype: Any = None, *, like: Value = None) -> Any:
    """An array in C order, as `numpy.ascontiguousarray`; lists may have traced parts.

    Parameters
    ----------
    a : array_like
        Arrays, numbers and nested lists of them, with traced parts or not.
    dtype : dtype, optional
        Of the result, as in NumPy; of traced values a dtype of numbers.
    like : array, optional
        An array of the library that is to make the result, instead of NumPy.

    Returns
    -------
    ndarray
        The array, of one axis at least.

    Raises
    ------
    NotDifferentiableError
        For a dtype of traced values that is not one of numbers.

    Examples
    --------
    >>> import tapegrad
    >>> import tapegrad.numpy as tnp
    >>> tapegrad.grad(lambda x: tnp.ascontiguousarray([x, 2.0]).prod())(3.0)
    np.float64(2.0)
    """
    return _laid_out(np.ascontiguousarray, a, dtype, "C", like)


def asfortranarray(a: Value, dtype: Any = None, *, like: Value = None) -> Any:
    """An array in Fortran order, as `numpy.asfortranarray`; lists may have traced parts.

    Parameters
    ----------
    a : array_like
        Arrays, numbers and nested lists of them, with traced parts or not.
    dtype : dtype, optional
        Of the result, as in NumPy; of traced values a dtype of numbers.
    like : array, optional
        An array of the library that is to make the result, instead of NumPy.

    Returns
    -------
    ndarray
        The array, of one axis at least.

    Raises
    ------
    NotDifferentiableError
        For a dtype of traced values that is not one of numbers.

    Examples
    --------
    >>> import tapegrad
    >>> import tapegrad.numpy as tnp
    >>> tapegrad.grad(lambda x: tnp.asfortranarray([x, 2.0]).prod())(3.0)
    np.float64(2.0)
    """
    return _laid_out(np.asfortranarray, a, dtype, "F", like)


def _laid_out(function: Any, a: Value, dtype: Any, order: Order, like: Value) -> Any:
    a = listed(a)
    gathered = gather(a, f"np.{function.__name__}")
    if like is not None or not in_trace(gathered):
        return function(a, dtype, **not_none(like=like))
    made = converted(gathered, dtype, order, None, f"np.{function.__name__}")
    return made if made.ndim else np.reshape(made, (1,))


def asarray_chkfinite(a: Value, dtype: Any = None, order: Order = None) -> Any:
    """An array of finite numbers, as `numpy.asarray_chkfinite`; lists may have traced parts.

    Parameters
    ----------
    a : array_like
        Arrays, numbers and nested lists of them, with traced parts or not.
    dtype : dtype, optional
        Of the result, as in NumPy; of traced values a dtype of numbers.
    order : {"K", "A", "C", "F"}, optional
        The memory order; by default as it is.

    Returns
    -------
    ndarray
        The array.

    Raises
    ------
    ValueError
        Where an element is NaN or infinite.

    Examples
    --------
    >>> import tapegrad
    >>> import tapegrad.numpy as tnp
    >>> tapegrad.grad(lambda x: tnp.asarray_chkfinite([x, 2.0]).prod())(3.0)
    np.float64(2.0)
    """
    a = listed(a)
    made = asarray(a, dtype, order)
    if not in_trace(made):
        return np.asarray_chkfinite(a, dtype, order)
    branch_on(_require_finite, made)
    return made


def _require_finite(value: Value) -> None:
    np.asarray_chkfinite(value)


def require(a: Value, dtype: Any = None, requirements: Any = None, *, like: Value = None) -> Any:
    """An array with the memory that is required, as `numpy.require`; lists may have traced parts.

    Parameters
    ----------
    a : array_like
        Arrays, numbers and nested lists of them, with traced parts or not.
    dtype : dtype, optional
        Of the result, as in NumPy; of traced values a dtype of numbers.
    requirements : str or sequence of str, optional
        As in NumPy: "C", "F", "A", "W", "O", "E" and their long names.
    like : array, optional
        An array of the library that is to make the result, instead of NumPy.

    Returns
    -------
    ndarray
        The array.

    Raises
    ------
    ValueError
        Where both C and Fortran order are required.

    Examples
    --------
    >>> import tapegrad
    >>> import tapegrad.numpy as tnp
    >>> tapegrad.grad(lambda x: tnp.require([x, 2.0], requirements="C").prod())(3.0)
    np.float64(2.0)
    """
    a = listed(a)
    gathered = gather(a, "np.require")
    if like is not None or not in_trace(gathered):
        return np.require(a, dtype, requirements, **not_none(like=like))
    letters = {str(flag).upper()[0] for flag in requirements or ()}
    if {"C", "F"} <= letters:
        raise ValueError("Cannot specify both 'C' and 'F' order")
    order: Order = "C" if "C" in letters else "F" if "F" in letters else "K"
    made = converted(gathered, dtype, order, None, "np.require")
    return made.copy() if letters & {"O", "W"} and made is a else made
