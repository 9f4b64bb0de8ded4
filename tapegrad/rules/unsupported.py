"""Functions that no derivative goes through: of integers, text, dates, records, and to files."""

from __future__ import annotations

import numpy as np
from numpy._core import umath

from tapegrad._forms import composite, constant, unsupported
from tapegrad._rule import unsupported_module

# NumPy itself refuses floating arrays for these, so a call on traced values is NumPy's TypeError.
_OF_INTEGERS = (
    "bitwise_and bitwise_or bitwise_xor bitwise_count invert left_shift right_shift gcd lcm"
).split()
constant(np.packbits, np.unpackbits, batch="flat")
constant(*(getattr(np, name) for name in _OF_INTEGERS if hasattr(np, name)))


# The ufuncs of text have no numeric loop. np.strings shows some, but takes its time to import.
for _name, _ufunc in vars(umath).items():
    if isinstance(_ufunc, np.ufunc) and not _ufunc.types:
        _shown = _name.startswith("is") or _name == "str_len"
        constant(_ufunc, name=f"np.strings.{_name}" if _shown else f"np._core.umath.{_name}")

composite(vars(umath)["clip"], lambda x1, x2, x3: np.clip(x1, x2, x3))  # what np.clip calls
composite(vars(umath)["_ones_like"], np.ones_like)

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
