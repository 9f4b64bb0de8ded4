"""numpy.emath: real arguments outside of the real domain have complex results.

A real argument lies on the upper side of a branch cut, as in NumPy, and its cotangent is real. One
element outside of the real domain makes the whole result complex.
"""

from __future__ import annotations

import numpy as np

from tapegrad._core.forms import composite
from tapegrad._core.types import Function, Value
from tapegrad._core.values import any_true, untraced
from tapegrad.rules.differences import as_array

_SMALL = np.dtype("f"), np.dtype("F"), np.dtype("b"), np.dtype("B"), np.dtype("h"), np.dtype("H")


def _complex_where(x: Value, outside: Function) -> Value:
    """x unchanged, or complex if some of its real elements are outside of the domain."""
    values = untraced(x)
    if not any_true(np.isreal(values) & outside(values)):
        return x
    return x.astype(np.complex64 if x.dtype in _SMALL else np.complex128)


def _negative_as_complex(x: Value) -> Value:
    return _complex_where(as_array(x), lambda values: values < 0)


def _large_as_complex(x: Value) -> Value:
    return _complex_where(as_array(x), lambda values: np.absolute(values) > 1)


def _power(x: Value, p: Value) -> Value:
    p = as_array(p)
    if p.dtype.kind == "i" and any_true(p < 0):
        p = p * 1.0  # integers have no negative powers
    return np.power(_negative_as_complex(x), p)


composite(np.emath.sqrt, lambda x: np.sqrt(_negative_as_complex(x)), name="np.emath.sqrt")
composite(np.emath.log, lambda x: np.log(_negative_as_complex(x)), name="np.emath.log")
composite(np.emath.log2, lambda x: np.log2(_negative_as_complex(x)), name="np.emath.log2")
composite(np.emath.log10, lambda x: np.log10(_negative_as_complex(x)), name="np.emath.log10")
composite(
    np.emath.logn,
    lambda n, x: np.log(_negative_as_complex(x)) / np.log(_negative_as_complex(n)),
    name="np.emath.logn",
)
composite(np.emath.power, _power, name="np.emath.power")
composite(np.emath.arccos, lambda x: np.arccos(_large_as_complex(x)), name="np.emath.arccos")
composite(np.emath.arcsin, lambda x: np.arcsin(_large_as_complex(x)), name="np.emath.arcsin")
composite(np.emath.arctanh, lambda x: np.arctanh(_large_as_complex(x)), name="np.emath.arctanh")
