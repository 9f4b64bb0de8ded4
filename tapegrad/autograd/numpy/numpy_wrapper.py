"""HIPS autograd's own functions beside NumPy's, and its way to wrap a namespace."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tapegrad.numpy as _namespace
from tapegrad._core.rule import rule_of
from tapegrad._core.values import in_trace, is_array
from tapegrad._errors import NotDifferentiableError
from tapegrad._tree import flatten
from tapegrad.autograd._boxes import call_boxed, getval, holds_box
from tapegrad.autograd._completed import complete
from tapegrad.autograd._declarations import OVERRIDES
from tapegrad.autograd.tracer import primitive

Function = Callable[..., Any]

numpy_version = np.__version__
notrace_functions = [np.ndim, np.shape, np.iscomplexobj, np.result_type]


def wrap_namespace(old: dict[str, Any], new: dict[str, Any]) -> None:
    """Put the names of a module into another, with functions as primitives.

    Functions that tapegrad differentiates stay what they are, NumPy's those of `tapegrad.numpy`.
    Declare the derivatives of the others with `defvjp`.

    Parameters
    ----------
    old : dict
        The `__dict__` of the module.
    new : dict
        The `__dict__` of the other, which is written into. Modules and names that begin with two
        underscores are left out.

    Examples
    --------
    >>> import math
    >>> names = {}
    >>> wrap_namespace(vars(math), names)
    >>> names["floor"](2.5)
    2
    """
    wrapped: dict[int, Any] = {}
    for name, value in old.items():
        if name.startswith("__"):
            continue
        if id(value) not in wrapped:
            wrapped[id(value)] = _wrapped(name, value)
        if wrapped[id(value)] is not None:
            new[name] = wrapped[id(value)]


def _wrapped(name: str, value: Any) -> Any:
    """A name of another module as this package offers it; None for modules."""
    if isinstance(value, types.ModuleType):
        return None
    if isinstance(value, type) or not callable(value):
        return value
    if getattr(np, name, None) is value:
        return getattr(_namespace, name)
    known = rule_of(value) is not None if _has_hash(value) else False
    return value if known else primitive(value)


def _has_hash(value: Any) -> bool:
    return type(value).__hash__ is not None


def where(condition: Any, *args: Any, **kwargs: Any) -> Any:
    """As `numpy.where`; of Python's own values alone it returns such values.

    Parameters
    ----------
    condition : array_like
        Where to choose the first.
    *args : array_like
        Two arrays to choose from, or none.
    **kwargs : array_like
        The same by the names `x` and `y`.

    Returns
    -------
    ndarray, tuple of ndarray, list or number
        The chosen elements; without arrays to choose from, the indices where the condition holds.

    Raises
    ------
    ValueError
        If one of the two arrays is missing.

    Examples
    --------
    >>> where(True, 1.0, 2.0), where(np.array([True, False]), 1.0, 2.0)
    (1.0, array([1., 2.]))
    """
    if not args and not kwargs:
        return np.where(condition)
    if len(args) + len(kwargs) != 2:
        raise ValueError("either both or neither of x and y should be given")
    x = args[0] if args else kwargs["x"]
    y = args[1] if len(args) > 1 else kwargs["y"]
    chosen = _namespace.where(condition, x, y)
    given = condition, x, y
    if any(map(_is_array, given)) or any(map(_is_array, flatten(given)[0])):
        return chosen
    return chosen.tolist()


def _is_array(leaf: Any) -> bool:
    return in_trace(leaf) or is_array(leaf)


@functools.wraps(np.array)
def array(object: Any, *args: Any, **kwargs: Any) -> Any:
    """As `numpy.array`, of boxes too."""
    if type(object) in (list, tuple) and holds_box(object):
        return call_boxed(_namespace.array, (object, *args), kwargs)
    return _namespace.array(object, *args, **kwargs)


def concatenate_args(axis: int, *args: Any) -> Any:
    """The arrays joined along an axis, `np.concatenate(args, axis)`.

    Parameters
    ----------
    axis : int
        The axis.
    *args : array_like
        The arrays.

    Returns
    -------
    ndarray
        The joined array.

    Examples
    --------
    >>> concatenate_args(0, np.ones(1), np.zeros(1))
    array([1., 0.])
    """
    return np.concatenate(args, axis)


def array_from_args(array_args: Sequence[Any], array_kwargs: dict[str, Any], *args: Any) -> Any:
    """An array of items, `np.array(args, *array_args, **array_kwargs)`.

    Parameters
    ----------
    array_args : sequence
        Further arguments of `np.array`.
    array_kwargs : dict
        Its keywords.
    *args : array_like
        The items, which may be traced.

    Returns
    -------
    ndarray
        The array.

    Examples
    --------
    >>> array_from_args((), {"dtype": float}, 1, 2)
    array([1., 2.])
    """
    return array(args, *array_args, **array_kwargs)


def wrap_if_boxes_inside(raw_array: Any, slow_op_name: str | None = None) -> Any:
    """An array of objects, of which some are traced, as a traced array.

    Parameters
    ----------
    raw_array : ndarray
        The array; of another dtype it is returned as it is.
    slow_op_name : str, optional
        HIPS's name of what was called; not used.

    Returns
    -------
    ndarray
        The array of numbers.

    Examples
    --------
    >>> wrap_if_boxes_inside(np.ones(2))
    array([1., 1.])
    """
    if not is_array(raw_array) or raw_array.dtype != object:
        return raw_array
    return array(list(raw_array.ravel())).reshape(raw_array.shape)


def make_diagonal(D: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """Matrices, along the last two axes, with the last axis of an array on their diagonals.

    Parameters
    ----------
    D : ndarray
        Of shape (..., n).
    offset : int, default 0
        Has to be 0.
    axis1 : int, default 0
        Has to be -1.
    axis2 : int, default 1
        Has to be -2.

    Returns
    -------
    ndarray
        Of shape (..., n, n).

    Raises
    ------
    NotImplementedError
        For another offset or other axes.

    Examples
    --------
    >>> make_diagonal(np.array([1.0, 2.0]), axis1=-1, axis2=-2)
    array([[1., 0.],
           [0., 2.]])
    """
    if (offset, axis1, axis2) != (0, -1, -2):
        raise NotImplementedError(
            "make_diagonal: expected offset=0, axis1=-1, axis2=-2. Use np.diagflat."
        )
    return D[..., None] * np.eye(D.shape[-1])


def metadata(A: Any) -> tuple[Any, int, Any, bool]:
    """Shape, number of axes, dtype and whether complex.

    Parameters
    ----------
    A : array_like
        The array.

    Returns
    -------
    tuple
        `(shape, ndim, dtype, iscomplex)`.

    Examples
    --------
    >>> metadata(np.ones((2, 3)))
    ((2, 3), 2, dtype('float64'), False)
    """
    if issubclass(type(A), (np.ndarray, np.generic)):  # the frequent case
        return A.shape, A.ndim, A.dtype, A.dtype.kind == "c"
    return np.shape(A), np.ndim(A), np.result_type(A), bool(np.iscomplexobj(A))


def parse_einsum_input(*args: Any) -> Any:
    """Subscripts of the operands and of the result, and the operands, of a call of einsum.

    Parameters
    ----------
    *args : object
        The arguments: subscripts as a string, and the operands.

    Returns
    -------
    inputs : str
        The subscripts of the operands.
    output : str
        Those of the result.
    operands : list
        The operands, plain.

    Raises
    ------
    NotDifferentiableError
        If the subscripts are no string.

    Examples
    --------
    >>> parse_einsum_input("ij, jk", 1.0, 2.0)
    ('ij,jk', 'ik', [1.0, 2.0])
    """
    subscripts = args[0]
    if not isinstance(subscripts, str):
        raise NotDifferentiableError(
            "parse_einsum_input: expected subscripts as a string. Write them as letters."
        )
    operands = [getval(operand) for operand in args[1:]]
    inputs, arrow, output = subscripts.replace(" ", "").partition("->")
    if not arrow:
        letters = inputs.replace(",", "")
        output = "".join(sorted(x for x in set(letters) if letters.count(x) == 1))
    return inputs, output, operands


class _OfIntegers(type):
    """`isinstance(x, np.int64)` of a class made by `wrap_intdtype` means NumPy's own."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, cls.__mro__[1])


def wrap_intdtype(cls: type) -> type:
    """A class of integers, whose call takes traced values for the numbers that they are.

    It is made of `cls`, a class of NumPy's integers.

    Returns
    -------
    type
        The class to call; `isinstance` of it asks for NumPy's own.

    Examples
    --------
    >>> isinstance(np.int64(3), wrap_intdtype(np.int64))
    True
    """

    def make(_cls: type, *args: Any, **kwargs: Any) -> Any:
        return cls(*map(getval, args), **kwargs)

    scope = {"__new__": make, "__module__": cls.__module__, "__doc__": cls.__doc__}
    return _OfIntegers(cls.__name__, (cls,), scope)


_INTEGERS = ("int8", "int16", "int32", "int64", "integer")


def _astype(A: Any, dtype: Any, **options: Any) -> Any:
    return A.astype(dtype, **options)


def __getattr__(name: str) -> Any:
    found = getattr(_namespace, name)
    if name in _INTEGERS:
        found = globals()[name] = wrap_intdtype(found)
    return OVERRIDES.get(found, found) if _has_hash(found) else found


def __dir__() -> list[str]:
    return sorted({*globals(), *dir(_namespace)})


complete(__name__)

__all__ = [
    "array",
    "array_from_args",
    "concatenate_args",
    "make_diagonal",
    "metadata",
    "notrace_functions",
    "numpy_version",
    "parse_einsum_input",
    "where",
    "wrap_if_boxes_inside",
    "wrap_intdtype",
    "wrap_namespace",
]
