"""Python's `cmath`, whose functions take traced values too.

All names are those of `cmath`. Of plain numbers each function is Python's own. Of a value in a
trace it is NumPy's function of it, after Python's own has had its say about the number: a domain
error stays a ValueError.

>>> import tapegrad
>>> from tapegrad import cmath
>>> float(tapegrad.grad(lambda x: abs(cmath.exp(1j * x) + 1.0))(0.5)) < 0
True
"""

from __future__ import annotations

import cmath as _cmath
from typing import Any

from tapegrad._adopt.scalars import of_complex as _of_complex

__all__ = [name for name in dir(_cmath) if not name.startswith("_")]


def __getattr__(name: str) -> Any:
    found = globals()[name] = _of_complex(name)
    return found


def __dir__() -> list[str]:
    return list(__all__)
