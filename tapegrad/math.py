"""Python's `math`, whose functions take traced values too.

All names are those of `math`. Of plain numbers each function is Python's own. Of a value in a
trace it is NumPy's function of it, after Python's own has had its say about the number: a domain
error stays a ValueError.

>>> import tapegrad
>>> from tapegrad import math
>>> float(tapegrad.grad(math.sin)(0.0))
1.0
"""

from __future__ import annotations

import math as _math
from typing import Any

from tapegrad._adopt.scalars import mathematics as _mathematics

__all__ = [name for name in dir(_math) if not name.startswith("_")]


def __getattr__(name: str) -> Any:
    found = globals()[name] = _mathematics(name)
    return found


def __dir__() -> list[str]:
    return list(__all__)
