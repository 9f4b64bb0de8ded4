"""NumPy's iterators over elements, and its functions that write or compare these.

The elements may be traced. Must not know tapes: everything here is made of reads, and of the
values where these alone count.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from tapegrad._arrays.buffers import value_of
from tapegrad._core.types import Function, Value
from tapegrad._core.values import holds_in_trace, lift, untraced
from tapegrad._errors import NotDifferentiableError
from tapegrad.numpy._vectorize import vectorize


def _plain(x: Any) -> Any:
    return untraced(value_of(x))


def by_values(function: Function) -> Function:
    """A function that takes values: of a traced array it gets the plain one."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*map(_plain, args), **{key: _plain(x) for key, x in kwargs.items()})

    return call


# Functions of NumPy that write the values of arrays, or compare them for a test.
WRITING = frozenset("array_repr array_str save savetxt savez savez_compressed".split())


class _Testing(types.ModuleType):
    """`numpy.testing`, whose assertions take the values of traced arrays."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(np.testing, name)
        if name.startswith("assert_") and name not in ("assert_raises", "assert_warns"):
            found = by_values(found)
        self.__dict__[name] = found
        return found


testing = _Testing("numpy.testing", np.testing.__doc__)


class ndenumerate:
    """Pairs of a position and an element, as `numpy.ndenumerate`; the elements may be traced.

    Parameters
    ----------
    arr : array_like
        The array.

    Examples
    --------
    >>> import tapegrad
    >>> import tapegrad.numpy as tnp
    >>> def f(x):
    ...     return sum(i * v for (i,), v in tnp.ndenumerate(x))
    >>> tapegrad.grad(f)(np.ones(3))
    array([0., 1., 2.])
    """

    def __init__(self, arr: Value) -> None:
        self._array = lift(arr) if holds_in_trace(arr) else np.asarray(arr)
        self._positions = np.ndindex(self._array.shape)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        at = next(self._positions)
        return at, self._array[at]


class _Read:
    """`numpy.nditer` that only reads, over arrays of which some are traced."""

    def __init__(self, operands: list[Any], flags: Any, args: Any, kwargs: Any) -> None:
        if "external_loop" in flags or "buffered" in flags:
            raise NotDifferentiableError(
                "np.nditer: expected to read elements one by one of traced arrays, got a flag for "
                "blocks of memory. Leave external_loop and buffered away."
            )
        plain = [_plain(x) for x in operands]
        self._walk: Any = np.nditer(plain, [*flags, "multi_index"], *args, **kwargs)
        self._arrays = [np.broadcast_to(lift(x), self._walk.shape) for x in operands]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._walk, name)

    @property
    def value(self) -> Any:
        """The element of each array at the present position."""
        parts = tuple([array[self._walk.multi_index] for array in self._arrays])
        return parts[0] if len(parts) == 1 else parts

    def __getitem__(self, at: Any) -> Any:
        return self._arrays[at][self._walk.multi_index]

    def __iter__(self) -> Iterator[Any]:
        for _ in self._walk:
            yield self.value

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._walk.close()


def nditer(op: Any, flags: Any = (), *args: Any, **kwargs: Any) -> Any:
    """An iterator over elements, as `numpy.nditer`; where it only reads, they may be traced.

    Parameters
    ----------
    op : array_like or sequence of array_like
        The arrays.
    flags : sequence of str, optional
        As in NumPy; for traced arrays none that iterates over blocks.
    *args, **kwargs
        The rest, as in NumPy.

    Returns
    -------
    nditer
        NumPy's own, or one over traced arrays.

    Raises
    ------
    NotDifferentiableError
        For blocks of traced arrays, and for traced arrays that are written to.

    Examples
    --------
    >>> import tapegrad
    >>> import tapegrad.numpy as tnp
    >>> tapegrad.grad(lambda x: sum(v * v for v in tnp.nditer(x)))(np.ones(2))
    array([2., 2.])
    """
    operands = list(op) if isinstance(op, (list, tuple)) else [op]
    if not holds_in_trace(operands):
        return np.nditer(value_of(op), flags, *args, **kwargs)
    modes = kwargs.get("op_flags", args[0] if args else None) or ()
    if any(
        mode in ("readwrite", "writeonly")
        for each in modes
        for mode in (each if isinstance(each, (list, tuple)) else (each,))
    ):
        raise NotDifferentiableError(
            "np.nditer: expected to read traced arrays, got an operand to write to. Write "
            "x[index] = value."
        )
    return _Read(operands, list(flags or ()), args, kwargs)


def frompyfunc(func: Function, /, nin: int, nout: int, **kwargs: Any) -> Any:
    """A function of numbers as one of arrays, as `numpy.frompyfunc`; they may be traced.

    Parameters
    ----------
    func : callable
        The function.
    nin, nout : int
        How many arguments and results it has.
    **kwargs
        As in NumPy.

    Returns
    -------
    callable
        NumPy's ufunc for plain arrays; for traced ones that of `vectorize`.

    Examples
    --------
    >>> import tapegrad
    >>> import tapegrad.numpy as tnp
    >>> tapegrad.grad(lambda x: tnp.frompyfunc(lambda v: v * v, 1, 1)(x).sum())(np.ones(2))
    array([2., 2.])
    """
    plain: Any = np.frompyfunc(func, nin, nout, **kwargs)
    each = vectorize(func)

    @functools.wraps(func)
    def call(*args: Any, **options: Any) -> Any:
        if not options and holds_in_trace(args):
            return each(*args)
        return plain(*args, **options)

    return call


__all__ = ["WRITING", "by_values", "frompyfunc", "ndenumerate", "nditer", "testing"]
