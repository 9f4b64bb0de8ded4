"""Remainders of divisions: of many numbers of single precision in a third of NumPy's time.

Knows NumPy arrays. NumPy calls C's fmod for one pair after another. In double precision a whole
quotient of float32 numbers and its product with the divisor are exact, up to 24 bits of it.
"""

from __future__ import annotations

import numpy as np

from tapegrad._core.quiet import silence
from tapegrad._core.types import Function, Value
from tapegrad.torch._rules.blockwise import in_parts, is_like
from tapegrad.torch._rules.declare import Declared, elementwise
from tapegrad.torch._rules.special import is_many_singles
from tapegrad.torch._rules.symbols import Symbol, is_own

_EXACT = 2.0**24  # a quotient in double precision is on the right side of whole numbers up to here


def _remainder(x: Value, y: Value) -> Value:
    """NumPy's, but a zero has the sign of the dividend, where NumPy gives it the divisor's."""
    out = np.remainder(x, y)
    if out.dtype.kind != "f" or np.count_nonzero(out) == out.size:
        return out
    return np.where(out == 0, x * 0, out)


def _of_singles(function: Function) -> Function:
    """The function of float32 numbers, by divisors that are an array like them or a number."""

    @in_parts
    def remainders(x: Value, y: Value) -> Value:
        by = y.astype(np.float64) if isinstance(y, np.ndarray) else np.float64(np.float32(y))
        with silence():
            wide = x.astype(np.float64)
            quotient = np.trunc(wide / by)
            rest = wide - quotient * by
            known = (np.absolute(quotient) < _EXACT) & np.isfinite(rest)
            out = np.copysign(rest.astype(np.float32), x)
            if function is _remainder:
                turned = (out != 0) & ((out < 0) != (by < 0))
                np.add(out, by.astype(np.float32), out, where=turned)
            if not np.all(known):
                other = ~known
                out[other] = function(x[other], y[other] if isinstance(y, np.ndarray) else y)
        return out

    return lambda x, y: remainders(x, float(y) if _is_number(y) else y)


def _is_number(y: Value) -> bool:
    """Whether a divisor is one number of Python's, or of single precision."""
    return type(y) in (int, float) or (y.ndim == 0 and y.dtype.char == "f")


def _declared(function: Function, label: str, by_divisor: Function) -> Declared:
    of_singles = _of_singles(function)

    @elementwise(label, 1, by_divisor, strong=True)
    def remainder(x: Value, y: Value) -> Value:
        are_like = _is_number(y) or (is_own(y) and is_like(x, y))
        run = of_singles if is_many_singles(x) and are_like else function
        symbol = next((part for part in (x, y) if type(part) is Symbol), None)
        return run(x, y) if symbol is None else symbol.trace.note("call", run, (x, y))

    return remainder


fmod = _declared(np.fmod, "FmodBackward0", lambda _out, x, y: -np.trunc(x / y))
remainder = _declared(_remainder, "RemainderBackward0", lambda _out, x, y: -np.floor(x / y))

__all__ = ["fmod", "remainder"]
