"""Functions of a user's own in drawn programs, by a signature of their dimensions.

Knows signatures as NumPy's gufuncs have them. Must not know how a program is put together.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from tapegrad._core.types import Value
from tapegrad._errors import InputError, message, name_of
from tapegrad.testing._programs.operations import Chooser, Draft, Operation, fits_with, is_real


class Own(NamedTuple):
    """A function of a user's own that programs may call."""

    name: str
    function: Callable[..., Any]
    signature: tuple[tuple[str, ...], ...]  # the dimensions of each argument
    low: float | None
    high: float | None


def own_operation(
    function: Callable[..., Any],
    signature: str = "()",
    *,
    name: str | None = None,
    low: float | None = None,
    high: float | None = None,
) -> Own:
    """Declare a function that `programs(own=[...])` may call.

    Parameters
    ----------
    function : callable
        A primitive, a custom_vjp, any function of real arrays. Arrays of just the dimensions of
        the signature are passed, of any shape for "()".
    signature : str, default "()"
        The dimensions of its arguments, as NumPy's gufuncs have them: "(),()" for two that
        broadcast, "(m,n),(n)" for a matrix and a vector, "(n,n)" for a square matrix; what follows
        "->" is not needed.
    name : str, optional
        How programs call it; its own name by default.
    low, high : float, optional
        Bounds of the elements that it takes, outside of which what is passed is mapped into them
        by a smooth function.

    Returns
    -------
    Own
        What `programs` takes.

    Raises
    ------
    InputError
        If the signature cannot be read, or the name is no identifier.

    See Also
    --------
    programs : Random programs that call it.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> @tapegrad.primitive
    ... def cube(x):
    ...     return x * x * x
    >>> rule = tapegrad.elementwise(cube, lambda _, x: 3 * x**2)
    >>> own_operation(cube, "()").name
    'cube'
    """
    left = signature.replace(" ", "").partition("->")[0]
    if not re.fullmatch(r"\((\w+(,\w+)*)?\)(,\((\w+(,\w+)*)?\))*", left):
        raise InputError(
            message("own_operation", 'a signature like "(m,n),(n)"', repr(signature), "Mend it")
        )
    dims = tuple(tuple(filter(None, part.split(","))) for part in re.findall(r"\(([^)]*)\)", left))
    called = name or name_of(function)
    if not called.isidentifier():
        raise InputError(message("own_operation", "a name", repr(called), "Pass name="))
    return Own(called, function, dims, low, high)


def operation_of(own: Own) -> Operation:
    """The kind of statement that calls it."""

    def draft(choose: Chooser) -> Draft:
        sides: dict[str, int] = {}
        names: list[str] = []
        for dims in own.signature:
            names.append(_argument(choose, dims, sides, names))
        return Draft(f"{own.name}({', '.join(_within(own, choose, n) for n in names)})")

    return Operation(own.name, draft)


def _argument(
    choose: Chooser, dims: tuple[str, ...], sides: dict[str, int], before: list[str]
) -> str:
    """A variable with these dimensions, whose sides become known."""

    def fits(x: Value) -> bool:
        if not is_real(x) or not x.size:
            return False
        if not dims:
            return not before or fits_with(choose[before[-1]])(x)
        known = dict(sides)
        return x.ndim == len(dims) and all(
            known.setdefault(k, n) == n for k, n in zip(dims, x.shape, strict=True)
        )

    name = choose.pick(fits)
    sides.update(zip(dims, choose[name].shape, strict=False))
    return name


def _within(own: Own, choose: Chooser, name: str) -> str:
    """The argument as it is, or mapped smoothly into the domain."""
    x, low, high = choose[name], own.low, own.high
    if (low is None or x.min() > low) and (high is None or x.max() < high):
        return name
    if low is not None and high is not None:
        return f"{(low + high) / 2!r} + {(high - low) * 0.45!r} * np.tanh({name})"
    if low is not None:
        return f"{low + 0.1!r} + {name} ** 2"
    return f"{(high or 0.0) - 0.1!r} - {name} ** 2"


__all__ = ["Own", "operation_of", "own_operation"]
