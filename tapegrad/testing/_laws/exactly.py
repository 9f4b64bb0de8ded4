"""Slopes in more digits than differences in floating point have: for those who ask for them.

Knows steps along the imaginary axis, long doubles, and numbers of fifty digits (mpmath, which is
imported at the first call). What was found so is believed only where it agrees with differences:
of a function that is not analytic, as abs is not, an imaginary step tells something else.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad._tree import flatten
from tapegrad.testing._laws.report import Skipped
from tapegrad.testing._measuring.lines import pack
from tapegrad.testing._measuring.verdicts import SMOOTH, Measured

DIGITS = 50
IMAGINARY = 2.0**-100
FUNCTIONS = """exp expm1 log log1p log10 sqrt cbrt sin cos tan sinh cosh tanh arcsin arccos arctan
arcsinh arccosh arctanh square reciprocal log2 exp2""".split()


def improved(measured: Measured, slope: Any, error: Any, what: str) -> Measured:
    """Measurement, with a slope that is known better; where it is smooth."""
    is_smooth = measured.verdict == SMOOTH
    apart = np.abs(slope - measured.slope) > 3 * (measured.error + error)
    if np.any(is_smooth & (apart | ~np.isfinite(slope))):
        raise Skipped(f"{what} is no derivative of this function: differences disagree")
    return measured._replace(
        slope=np.where(is_smooth, slope, measured.slope),
        error=np.where(is_smooth, error, measured.error),
    )


def by_complex_step(
    function: Callable[..., Any], leaves: Sequence[Any], dots: Sequence[Any], measured: Measured
) -> Measured:
    """Im f(x + i h t) / h, of real leaves: exact to all digits, if the function is analytic."""
    if any(leaf.dtype.kind == "c" for leaf in leaves):
        raise Skipped("a complex step is for real arguments")
    moved = [x + 1j * (IMAGINARY * dot) for x, dot in zip(leaves, dots, strict=True)]
    try:
        outs = function(*moved)
    except Exception as error:
        raise Skipped(f"it does not take complex numbers: {error}") from error
    slope = pack([np.imag(out) for out in outs]) / IMAGINARY
    if slope.shape != measured.slope.shape:
        raise Skipped("its results are not real functions of its arguments")
    eps = float(np.finfo(np.float64).eps)
    return improved(measured, slope, 64 * eps * np.abs(slope), "a complex step")


def by_digits(
    tree: Callable[..., Any], leaves: Sequence[Any], dots: Sequence[Any], measured: Measured
) -> Measured:
    """Differences in numbers of fifty digits, which travel through NumPy as objects."""
    import mpmath  # type: ignore[import-untyped]

    context = mpmath.mp.clone()
    context.dps = DIGITS
    number = _number_class(context)
    step = context.mpf(10) ** -12

    def at(steps: int) -> list[Any]:
        moved = [
            _objects(x, dot, lambda a, d: number(context.mpf(a) + steps * step * context.mpf(d)))
            for x, dot in zip(leaves, dots, strict=True)
        ]
        parts = [np.ravel(np.asarray(part, object)) for part in flatten(tree(*moved))[0]]
        return [getattr(each, "value", each) for part in parts for each in part]

    if any(leaf.dtype.kind == "c" for leaf in leaves):
        raise Skipped("numbers of fifty digits are for real arguments")
    try:
        rows = [at(steps) for steps in (-2, -1, 1, 2)]
    except Exception as error:
        raise Skipped(f"it does not take arrays of objects: {error}") from error
    slope = np.array(
        [
            float((8 * (after - before) - (later - earlier)) / (12 * step))
            for earlier, before, after, later in zip(*rows, strict=True)
        ]
    )
    if slope.shape != measured.slope.shape:
        raise Skipped("its results are not real functions of its arguments")
    eps = float(np.finfo(np.float64).eps)
    return improved(measured, slope, eps * np.abs(slope), "a difference of fifty digits")


def _objects(x: Any, dot: Any, make: Callable[[Any, Any], Any]) -> Any:
    made = np.empty(np.shape(x), object)
    for index in np.ndindex(made.shape):
        made[index] = make(float(x[index]), float(dot[index]))
    return made if made.ndim else made[()]


def _turned(operation: Callable[..., Any]) -> Callable[..., Any]:
    return lambda a, b: operation(b, a)


def _same(x: Any) -> Any:
    return x


def _number_class(context: Any) -> Any:
    """Numbers with the methods that NumPy's functions ask objects for."""

    class Number:
        __slots__ = ("value",)

        def __init__(self, value: Any) -> None:
            self.value = value

        def __float__(self) -> float:
            return float(self.value)

    def unary(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self: Number(function(self.value))

    def plain(x: Any) -> Any:
        return x.value if isinstance(x, Number) else context.mpf(float(x))

    def binary(operation: Callable[..., Any], wrap: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, other: wrap(operation(plain(self), plain(other)))

    for sign in ("add", "sub", "mul", "truediv", "pow"):
        found = getattr(operator, sign)
        setattr(Number, f"__{sign}__", binary(found, Number))
        setattr(Number, f"__r{sign}__", binary(_turned(found), Number))
    for sign in ("lt", "le", "gt", "ge", "eq", "ne"):
        setattr(Number, f"__{sign}__", binary(getattr(operator, sign), bool))
    named = {
        "square": lambda x: x * x,
        "reciprocal": lambda x: 1 / x,
        "log2": lambda x: context.log(x) / context.log(2),
        "exp2": lambda x: context.mpf(2) ** x,
        "neg": operator.neg,
        "abs": abs,
    }
    for name in FUNCTIONS:
        short = name.replace("arc", "a")
        setattr(Number, name, unary(named.get(name) or getattr(context, short)))
    for name, function in (("__neg__", operator.neg), ("__abs__", abs), ("conjugate", _same)):
        setattr(Number, name, unary(function))
    return Number
