"""SciPy's special functions as they are: a ufunc is that, and not a function around it.

Under SCIPY_ARRAY_API=1, `scipy.special.erf` is a function that asks of which library its arguments
are. Rules belong to the ufunc, and call it.
"""

from __future__ import annotations

from typing import Any

import scipy.special
from scipy.special import _ufuncs


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    found = getattr(_ufuncs, name, None)
    return getattr(scipy.special, name) if found is None else found
