"""Functions of each element, and operators, inside the domains where they are smooth.

Knows NumPy's names and domains. Must not know how a program is put together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad.testing._programs.operations import (
    Chooser,
    Draft,
    Operation,
    fits_with,
    is_real,
    nearest,
)

_ALL = (-np.inf, np.inf)

# name: the values that it takes as they are, and the text for all others.
UNARY: dict[str, tuple[tuple[float, float], str]] = {
    "np.sin": (_ALL, ""),
    "np.cos": (_ALL, ""),
    "np.tanh": (_ALL, ""),
    "np.exp": ((-8, 3), "np.exp(np.tanh({a}))"),
    "np.square": (_ALL, ""),
    "np.negative": (_ALL, ""),
    "np.log": ((0.1, np.inf), "np.log(1.0 + {a} ** 2)"),
    "np.sqrt": ((0.1, np.inf), "np.sqrt(1.0 + {a} ** 2)"),
    "np.reciprocal": ((0.3, np.inf), "np.reciprocal(1.0 + {a} ** 2)"),
    "np.arctan": (_ALL, ""),
    "np.arcsinh": (_ALL, ""),
    "np.tan": ((-1.2, 1.2), "np.tan(np.tanh({a}))"),
    "np.sinh": ((-3, 3), "np.sinh(np.tanh({a}))"),
    "np.cosh": ((-3, 3), "np.cosh(np.tanh({a}))"),
    "np.expm1": ((-8, 3), "np.expm1(np.tanh({a}))"),
    "np.exp2": ((-8, 4), "np.exp2(np.tanh({a}))"),
    "np.log1p": ((-0.8, np.inf), "np.log1p({a} ** 2)"),
    "np.log2": ((0.1, np.inf), "np.log2(1.0 + {a} ** 2)"),
    "np.log10": ((0.1, np.inf), "np.log10(1.0 + {a} ** 2)"),
    "np.cbrt": ((0.1, np.inf), "np.cbrt(2.0 + np.tanh({a}))"),
    "np.arcsin": ((-0.9, 0.9), "np.arcsin(0.8 * np.tanh({a}))"),
    "np.arccos": ((-0.9, 0.9), "np.arccos(0.8 * np.tanh({a}))"),
    "np.arctanh": ((-0.9, 0.9), "np.arctanh(0.8 * np.tanh({a}))"),
    "np.arccosh": ((1.2, np.inf), "np.arccosh(2.0 + {a} ** 2)"),
    "np.sinc": (_ALL, ""),
    "np.radians": (_ALL, ""),
    "np.positive": (_ALL, ""),
    "np.nan_to_num": (_ALL, ""),
}
COMPLEX_TOO = (
    "np.sin np.cos np.exp np.square np.negative np.positive np.conjugate np.real np.imag"
).split()

# name: the text, and how near the operands are to a kink.
Near = Callable[[Any, Any], float]
BINARY: dict[str, tuple[str, Near | None]] = {
    "+": ("{a} + {b}", None),
    "*": ("{a} * {b}", None),
    "-": ("{a} - {b}", None),
    "/": ("{a} / (1.0 + {b} ** 2)", None),
    "np.add": ("np.add({a}, {b})", None),
    "np.subtract": ("np.subtract({a}, {b})", None),
    "np.multiply": ("np.multiply({a}, {b})", None),
    "np.divide": ("np.divide({a}, 2.0 + np.sin({b}))", None),
    "np.arctan2": ("np.arctan2({a}, 1.5 + {b} ** 2)", None),
    "np.hypot": ("np.hypot({a}, 1.0 + {b} ** 2)", None),
    "np.logaddexp": ("np.logaddexp({a}, {b})", None),
    "np.logaddexp2": ("np.logaddexp2({a}, {b})", None),
    "np.power": ("np.power(1.0 + {a} ** 2, np.tanh({b}))", None),
    "np.float_power": ("np.float_power(1.5 + np.tanh({a}), np.sin({b}))", None),
    "np.maximum": ("np.maximum({a}, {b})", lambda a, b: nearest(a - b)),
    "np.minimum": ("np.minimum({a}, {b})", lambda a, b: nearest(a - b)),
    "np.fmax": ("np.fmax({a}, {b})", lambda a, b: nearest(a - b)),
    "np.fmin": ("np.fmin({a}, {b})", lambda a, b: nearest(a - b)),
    "np.copysign": (
        "np.copysign({a}, {b})",
        lambda a, b: min(nearest(a), nearest(b)),
    ),
    "np.where": ("np.where({a} > {b}, {a} * 0.5, np.sin({b}))", lambda a, b: nearest(a - b)),
}
COMPLEX_PAIRS = ("+", "*", "-", "np.add", "np.subtract", "np.multiply")


def _unary(name: str) -> Operation:
    (low, high), guarded = UNARY.get(name, (_ALL, ""))
    complex_too = name in COMPLEX_TOO

    def draft(choose: Chooser) -> Draft:
        a = choose.pick(None if complex_too else is_real)
        x = choose[a]
        inside = x.dtype.kind == "c" or bool(np.all((x >= low) & (x <= high)))
        return Draft((f"{name}({{a}})" if inside else guarded).format(a=a))

    return Operation(name, draft)


def _binary(name: str) -> Operation:
    text, near = BINARY[name]
    complex_too = name in COMPLEX_PAIRS

    def draft(choose: Chooser) -> Draft:
        a = choose.pick(None if complex_too else is_real)
        fits = fits_with(choose[a])
        b = choose.pick(lambda y: fits(y) and (complex_too or is_real(y)))
        margin = near(choose[a], choose[b]) if near else np.inf
        return Draft(text.format(a=a, b=b), margin)

    return Operation(name, draft, "kink" if near else "plain")


def _with_numbers(choose: Chooser) -> Draft:
    a = choose.pick()
    texts = ("{c} * {a}", "{a} + {c}", "({a} - {c}) / 2", "{c} - {a}", "3 * {a} - {c}")
    return Draft(choose.one_of(texts).format(a=a, c=choose.constant()))


def _power(choose: Chooser) -> Draft:
    a = choose.pick(is_real)
    texts = ("{a} ** 2", "{a} ** 3", "(1.0 + {a} ** 2) ** 0.5", "(2.0 + np.tanh({a})) ** -1.5")
    return Draft(choose.one_of(texts).format(a=a))


def _absolute(choose: Chooser) -> Draft:
    a = choose.pick()
    return Draft(f"np.abs({a})", nearest(choose[a]))


def _clip(choose: Chooser) -> Draft:
    a = choose.pick(is_real)
    return Draft(f"np.clip({a}, -0.8, 1.2)", min(nearest(choose[a] - c) for c in (-0.8, 1.2)))


def _relu(choose: Chooser) -> Draft:
    a = choose.pick(is_real)
    c = choose.constant()
    return Draft(f"np.maximum({a}, {c})", nearest(choose[a] - float(c)))


def _select(choose: Chooser) -> Draft:
    a = choose.pick(is_real)
    text = f"np.select([{a} > 0.5, {a} < -0.5], [np.sin({a}), 2.0 * {a}], 0.1 * {a})"
    return Draft(text, min(nearest(choose[a] - c) for c in (-0.5, 0.5)))


def _planted(text: str) -> Callable[[Chooser], Draft]:
    """A kink exactly at the arguments: of an argument beside one of its own elements."""

    def draft(choose: Chooser) -> Draft:
        if not choose.variables:
            choose.pick(is_real)
        names = [
            v.name for v in choose.variables if v.group < 0 and is_real(v.value) and v.value.size
        ]
        a = choose.one_of(names)
        choose.read.append(a)
        values: Value = np.ravel(choose[a])
        at = float(str(choose.one_of([str(v) for v in values])))
        return Draft(text.format(a=a, c=at), 0.0)

    return draft


def operations() -> Iterator[Operation]:
    """The simplest first: what a failing program shrinks towards."""
    yield Operation("number", _with_numbers)
    for name in UNARY:
        yield _unary(name)
    for name in ("np.conjugate", "np.real", "np.imag"):
        yield _unary(name)
    for name in BINARY:
        yield _binary(name)
    yield Operation("**", _power)
    yield Operation("np.abs", _absolute, "kink")
    yield Operation("np.clip", _clip, "kink")
    yield Operation("relu", _relu, "kink")
    yield Operation("np.select", _select, "kink")
    yield Operation("planted np.abs", _planted("np.abs({a} - {c})"), "planted")
    yield Operation("planted np.maximum", _planted("np.maximum({a}, {c})"), "planted")
    yield Operation("planted np.sign", _planted("{a} * np.sign({a} - {c})"), "planted")


__all__ = ["operations"]
