"""Linear functions and products of arrays with infinities and NaNs, told apart by drawn numbers.

Knows what such a function makes of each kind of element, from what it makes of numbers that do not
cancel. Must not know rules, tapes or replays.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import numpy as np

from tapegrad._block import Block, setting
from tapegrad._core.fit import holds_infinity, is_foreign, zeros_absorbing
from tapegrad._core.types import Cotangent, Value
from tapegrad._core.values import (
    Scatter,
    Traced,
    any_true,
    branch_on,
    is_scalar,
    unbatched,
    untraced,
)


@functools.cache
def _numbers() -> Any:
    return np.random.default_rng(0).uniform(1, 2, 65521)


_USED: ContextVar[list[int] | None] = ContextVar("tapegrad_used", default=None)


def numbers_anew() -> Block[None]:
    """A block that draws the same numbers in each replay: a program is the same in each call."""
    used = _USED.get()
    return setting(_USED, [0] if used is None else used)


def uniform(shape: Any) -> Any:
    """Numbers between 1 and 2, others than those that this replay has had."""
    used = _USED.get() or [0]
    count = math.prod(shape) if isinstance(shape, tuple) else shape
    start = used[0]
    used[0] += count
    return _numbers().take(np.arange(start, start + count), mode="wrap").reshape(shape)


def mapped(function: Callable[..., Any], *values: Any) -> Any:
    """A function of a value, or of each in a list."""
    if isinstance(values[0], (list, tuple)):
        return [
            None if parts[0] is None else mapped(function, *parts)
            for parts in zip(*values, strict=True)
        ]
    return function(*values)


def drawn(m: Any) -> Any:
    """Positive numbers, drawn, where a reach is positive."""
    return mapped(_drawn, m)


def _drawn(m: Any) -> Any:
    m = untraced(m)
    if not is_foreign(m):
        return np.where(m != 0, uniform(m.shape), 0.0)
    made = (m != 0) * 1.0  # of a lazy array no array of its size is made here
    for axis, count in enumerate(m.shape):
        weights = uniform(count)
        made = made * weights.reshape((-1,) + (1,) * (len(m.shape) - axis - 1))
    return made


def either(here: Any, nearby: Any) -> Any:
    """The first, and the second where that is zero or NaN, in each component."""
    value = untraced(here)
    return np.where((value != 0) & (value == value), here, nearby)


def selected(m: Any, value: Value) -> Any:
    """A value, and zero where nothing reaches; of a number a number."""
    made = np.where(m != 0, value, 0)
    return made[()] if is_scalar(value) else made


def has_zeros(found: Any) -> bool:
    """Whether a value may have a zero: a lazy one may."""
    if isinstance(found, (list, tuple)):
        return any(part is not None and has_zeros(part) for part in found)
    return any_true(untraced(found) == 0)


def has_some(parts: Any) -> bool:
    """Whether anything holds, in any part."""
    if isinstance(parts, (list, tuple)):
        return any(part is not None and has_some(part) for part in parts)
    return any_true(parts)


def has_others(g: Any) -> bool:
    """Whether a value has an infinity or a NaN."""
    if isinstance(g, (list, tuple)):
        return any(part is not None and has_others(part) for part in g)
    g = untraced(g)
    return not is_foreign(g) and any_true(~np.isfinite(g))


def _of_components(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function of real arrays, of the components of complex ones."""

    def apart(g: Value) -> Any:
        if g.dtype.kind != "c":
            return function(g)
        made = np.zeros_like(g)
        made.real, made.imag = function(g.real), function(g.imag)
        return made

    return apart


PARTS = (
    _of_components(lambda g: np.where(np.isfinite(untraced(g)), untraced(g), 0)),
    _of_components(lambda g: np.where(np.isinf(untraced(g)), np.sign(untraced(g)), 0.0)),
    _of_components(lambda g: np.isinf(untraced(g)) * 1.0),
    _of_components(lambda g: np.isnan(untraced(g)) * 1.0),
)
weighed = _of_components(drawn)


def joined(finite: Any, signs: Any, infinite: Any, nan: Any) -> Any:
    """The result of a linear function of a cotangent, from its results of the parts.

    finite: of its finite elements, zeros elsewhere; signs: of those of infinite ones; infinite,
    nan: of drawn numbers where elements are of either kind. Components of complex numbers are
    infinite each by itself.
    """
    if finite.dtype.kind == "c":
        made = np.zeros_like(finite)
        given = finite, signs, infinite, nan
        made.real = joined(*(part.real for part in given))
        made.imag = joined(*(part.imag for part in given))
        return made
    known = np.where(signs > 0, np.inf, np.where(signs < 0, -np.inf, np.nan))
    return np.where(nan != 0, np.nan, np.where(infinite != 0, known, finite))


def product_of(multiplied: Callable[..., Any], factors: list[Any], alive: list[Any]) -> Any:
    """A product of arrays in which an infinity counts only where no factor is a structural zero.

    Each element of it is a sum of products. Those without an infinity or NaN are summed as they
    are. The others are infinite if all of them have one sign and no zero, else NaN: products of
    drawn numbers tell whether there are others, and of which signs. A factor for which alive is
    None is left as it is.
    """

    def of(make: Callable[..., Any]) -> Any:
        return multiplied(
            [
                x if live is None else make(x, live, weight)
                for x, live, weight in zip(factors, alive, weights, strict=True)
            ]
        )

    def sound(x: Any, live: Any) -> Any:
        return np.isfinite(untraced(x)) & live

    def sign(x: Any) -> Any:
        x = untraced(x)
        return np.where(np.isnan(x), 0.0, np.sign(x))

    weights = [None if live is None else uniform(live.shape) for live in alive]
    total = of(lambda x, live, _: np.where(sound(x, live), x, 0))
    count = of(lambda _, live, w: np.where(live, w, 0.0))
    others = count - of(lambda x, live, w: np.where(sound(x, live), w, 0.0))
    signs = of(lambda x, live, w: np.where(live, w * sign(x), 0.0))
    signs = signs - of(lambda x, live, w: np.where(sound(x, live), w * sign(x), 0.0))
    same = np.abs(np.abs(signs) - np.abs(others)) <= 1e-9 * np.abs(count)
    signs = np.real(signs)
    infinite = np.where(signs > 0, np.inf, np.where(signs < 0, -np.inf, np.nan))
    infinite = np.where(same, infinite, np.nan)
    # Equal sums may differ by rounding: BLAS goes by where in memory its arguments lie.
    return np.where(np.abs(others) <= 1e-11 * np.abs(count), total, infinite)


def has_infinities(g: Cotangent) -> bool:
    g = unbatched(g)
    return not isinstance(g, Traced) and bool(branch_on(holds_infinity, g))


def pull_infinite(rule: Any, g: Cotangent, *call: Any) -> list[Cotangent]:
    """Cotangents for a g with infinities, which must not turn zeros of the arguments into NaN.

    A pull is linear in g. So the finite part of g and the signs of its infinite part are pulled
    separately, and the result is infinite only where the pulled signs are not zero.
    """
    finite, signs = _parts_of_infinite(g)
    with zeros_absorbing():
        parts = zip(rule.pull(finite, *call), rule.pull(signs, *call), strict=True)
    return [a if a is None or isinstance(a, Scatter) else _infinite(a, b) for a, b in parts]


def _parts_of_infinite(g: Cotangent) -> tuple[Cotangent, Cotangent]:
    """The finite part of a cotangent and the signs of its infinite part."""
    infinite = np.isinf(g)
    if g.dtype.kind == "c":  # its components are infinite each by itself
        parts = zip(_parts_of_infinite(g.real), _parts_of_infinite(g.imag), strict=True)
        finite, signs = (_complex(g, *part) for part in parts)
        return np.where(infinite, finite, g), np.where(infinite, signs, 0)
    return np.where(infinite, 0, g), np.where(infinite, np.sign(g), 0)


def _infinite(finite: Cotangent, signs: Cotangent) -> Cotangent:
    """A cotangent that is infinite where the signs are not zero."""
    if signs.dtype.kind == "c":
        parts = ((finite.real, signs.real), (finite.imag, signs.imag))
        return _complex(signs, *(_infinite(*part) for part in parts))
    return np.where(signs == 0, finite, signs * np.inf)


def _complex(like: Cotangent, real: Cotangent, imag: Cotangent) -> Cotangent:
    """A complex cotangent of two components: a sum would make NaN of infinite ones."""
    made = np.zeros_like(like)
    made.real, made.imag = real, imag
    return made


__all__ = [
    "PARTS",
    "drawn",
    "either",
    "has_infinities",
    "has_others",
    "has_some",
    "has_zeros",
    "joined",
    "mapped",
    "numbers_anew",
    "product_of",
    "pull_infinite",
    "selected",
    "weighed",
]
