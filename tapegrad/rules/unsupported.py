"""Functions without a derivative: of integers, text, dates and records, and output to files."""

from __future__ import annotations

import numpy as np
from numpy._core import umath

from tapegrad._core.forms import composite, constant, unsupported, unsupported_module
from tapegrad._numpy_versions import HAS_UFUNC_OF_PARTS

# NumPy itself refuses floating arrays for these, so a call on traced values is NumPy's TypeError.
_OF_INTEGERS = (
    "bitwise_and bitwise_or bitwise_xor bitwise_count invert left_shift right_shift gcd lcm"
).split()
constant(np.packbits, np.unpackbits, batch="flat")
constant(*(getattr(np, name) for name in _OF_INTEGERS))


# The ufuncs of text. np.strings has some of them, but is slow to import.
_OF_TEXT = "isalnum isalpha isdecimal isdigit islower isnumeric isspace istitle isupper str_len"
_BEHIND_STRINGS = """
    _center _expandtabs _expandtabs_length _ljust _lstrip_chars _lstrip_whitespace _partition
    _partition_index _replace _rjust _rpartition _rpartition_index _rstrip_chars
    _rstrip_whitespace _slice _strip_chars _strip_whitespace _zfill count endswith find index
    rfind rindex startswith
"""
_umath = vars(umath)
for _name in _OF_TEXT.split():
    constant(_umath[_name], name=f"np.strings.{_name}")
for _name in _BEHIND_STRINGS.split():
    if _name in _umath:
        constant(_umath[_name], name=f"np._core.umath.{_name}")

# Ufuncs that NumPy's own functions call.
composite(_umath["clip"], lambda x1, x2, x3: np.clip(x1, x2, x3))
composite(_umath["_ones_like"], np.ones_like)
if HAS_UFUNC_OF_PARTS:
    composite(_umath["real"], lambda x: np.real(x))
    composite(_umath["imag"], lambda x: np.imag(x))

unsupported(
    np.busday_count,
    np.busday_offset,
    np.is_busday,
    np.datetime_as_string,
    reason="dates carry no derivative",
)
unsupported(
    np.save,
    np.savez,
    np.savez_compressed,
    np.savetxt,
    reason="a file carries no derivative; save tapegrad.stop_gradient(x)",
)
unsupported_module("numpy.strings", "text carries no derivative")
unsupported_module("numpy.char", "text carries no derivative")
unsupported_module(
    "numpy.lib.recfunctions",
    "records hold no traced values; keep a dict of arrays, or np.stack the columns",
)
