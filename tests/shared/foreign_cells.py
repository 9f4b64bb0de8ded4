"""Each call of NumPy with a value of another library in it: right, refused, or wrong.

A call is of a generic pattern, whose plain arguments are replaced by values of a library. A result
in a library's wrapper is taken out as the error message of an output advises. test_foreign.py
judges the cells; docs/coverage_foreign.py tables them.
"""

from __future__ import annotations

import functools
import operator
import traceback
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from foreign import Library
from generic_calls import (
    is_floating,
    leaves_of,
    meaningful_calls,
    plain_arguments,
    public_ufuncs,
)
from judging import inputs_of, tangents_of

from tapegrad import jvp, vjp
from tapegrad._errors import TapegradError

REPLACED = ("V", "M", "S")
OPERATORS = {
    f"operator.{name}": getattr(operator, name)
    for name in "add sub mul truediv floordiv mod pow matmul iadd imul itruediv".split()
}
FOR_OPERATORS = "f(v, V)  f(V, v)  f(m, M)  f(M, m)  f(s, S)  f(S, s)  f(v, S)  f(S, v)"
ELEMENTWISE = {**OPERATORS, **public_ufuncs()}


class Cell(NamedTuple):
    """A call and its outcome: right, refused, unclear (an error without advice), or wrong."""

    function: str
    pattern: str
    outcome: str
    error: str


class Call:
    """A function called as a pattern says, with the plain arguments made anew by `make`."""

    def __init__(self, function, pattern, make, used: Library | None = None) -> None:
        self.function, self.pattern, self.make, self.used = function, pattern, make, used

    def __call__(self, *xs):
        plain = {
            name: self.make(np.asarray(value)) if name in REPLACED else value
            for name, value in plain_arguments(self.pattern.call).items()
        }
        leaves = []
        for leaf in leaves_of(self.pattern.call(self.function, *xs, **plain)):
            if self.used is not None and isinstance(leaf, self.used.kinds):
                leaf = self.used.elements(leaf)
            if is_floating(leaf):
                leaves.append(leaf)
        return tuple(leaves)


def weights(out):
    return np.cos(np.arange(np.size(out))).reshape(np.shape(out)).astype(np.asarray(out).dtype)


def reverse(call, inputs, _tangents):
    out, pullback = vjp(call, *inputs)
    return pullback(tuple(map(weights, map(plain_of, out))))


def forward(call, inputs, tangents):
    out, dots = jvp(call, inputs, tangents)
    return [
        np.sum(weights(plain_of(part)) * plain_of(dot))
        for part, dot in zip(out, dots, strict=True)
        if np.any(plain_of(dot))  # a constant leaf is one in one library and none in another
    ]


def plain_of(array):
    return (
        array.compute(scheduler="synchronous") if hasattr(array, "compute") else np.asarray(array)
    )


@functools.cache
def expected(mode, function, pattern, plain):
    """The derivative with NumPy's own values in their place; None if NumPy raises."""
    inputs = inputs_of(pattern, symmetric=False), tangents_of(pattern, symmetric=False)
    try:
        return mode(Call(function, pattern, plain), *inputs)
    except Exception:  # noqa: BLE001
        return None


def cells(
    name: str, used: Library, functions: dict[str, Any], text: str, mode: Any
) -> Iterator[Cell]:
    """The cells of the row of a library, for calls that NumPy's own values are fit for."""
    for label, function in functions.items():
        for _, pattern, _ in meaningful_calls(function, text):
            if not set(REPLACED) & plain_arguments(pattern.call).keys():
                continue
            wanted = expected(mode, function, pattern, used.plain)
            if wanted is not None:
                outcome, error = _outcome(name, used, function, pattern, mode, wanted)
                yield Cell(label, pattern.text, outcome, error)


def _outcome(
    name: str, used: Library, function: Any, pattern: Any, mode: Any, wanted: Any
) -> tuple[str, str]:
    inputs = inputs_of(pattern, symmetric=False), tangents_of(pattern, symmetric=False)
    try:
        found = mode(Call(function, pattern, used.make, used), *inputs)
    except Exception as error:  # noqa: BLE001
        words = f"{type(error).__name__}: {error}"
        return ("refused" if says_why(error, name) else "unclear"), words
    try:
        for ours, known in zip(found, wanted, strict=True):
            np.testing.assert_allclose(plain_of(ours), known, rtol=1e-9, atol=1e-12)
    except (AssertionError, ValueError) as error:
        return "wrong", str(error)
    return "right", ""


def says_why(error: Exception, name: str) -> bool:
    """Whether an error is ours, NumPy's of the types or shapes, or raised by the library."""
    if isinstance(error, TapegradError) or any(
        isinstance(cause, TapegradError) for cause in (error.__cause__, error.__context__)
    ):
        return True
    files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    packages = [name.split(word, maxsplit=1)[0] for word in (",", ".", " ")]
    return (
        any(f"/{package}/" in file for file in files for package in packages)
        or isinstance(error, (TypeError, ValueError))  # NumPy's, of a dtype, a shape, a class
        or (isinstance(error, AttributeError) and "numpy" in files[-1])
    )
