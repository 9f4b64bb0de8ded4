"""Values as Python source: what a failing example prints can be pasted, the same to the bit.

Knows plain NumPy only.
"""

from __future__ import annotations

from typing import Any

import numpy as np

# Dtypes that np.array finds from the elements.
_FOUND = {np.dtype(kind) for kind in (np.float64, np.complex128, np.bool_, np.int_)}


def dtype_source(dtype: np.dtype[Any]) -> str:
    """`np.float32`, or `np.dtype('>f8')` for what has no name."""
    name = dtype.type.__name__
    named = getattr(np, name, None) is dtype.type and np.dtype(dtype.type) == dtype
    return f"np.{name}" if named else f"np.dtype({dtype.str!r})"


def array_source(value: Any) -> str:
    """An array or a NumPy scalar in C order, with all of its digits."""
    if not isinstance(value, np.ndarray):
        return f"{dtype_source(value.dtype)}({_element(value)})"
    dtype = dtype_source(value.dtype)
    if not value.size:
        return f"np.zeros({value.shape}, dtype={dtype})"
    given = "" if value.dtype in _FOUND else f", dtype={dtype}"
    return f"np.array({_nested(value)}{given})"


def _nested(value: Any) -> str:
    if np.ndim(value) == 0:
        return _element(value[()])
    return "[" + ", ".join(_nested(part) for part in value) + "]"


def _element(value: Any) -> str:
    if value.dtype.kind == "c":
        real, imaginary = _real(value.real), _real(value.imag)
        if "longdouble" in real + imaginary:  # more digits than Python's complex has
            return f"{real} + 1j * {imaginary}"
        return f"complex({real}, {imaginary})"
    if value.dtype.kind == "f":
        return _real(value)
    return repr(value.item())


def _real(value: Any) -> str:
    if not np.isfinite(value):
        return "np.nan" if np.isnan(value) else "np.inf" if value > 0 else "-np.inf"
    if value.dtype.itemsize > 8 and value != type(value)(float(value)):
        return f"np.longdouble({str(value)!r})"  # which reads all digits
    return str(value) if value.dtype.itemsize < 8 else repr(float(value))
