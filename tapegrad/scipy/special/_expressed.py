"""How a function that SciPy writes in Python is mirrored by functions that have rules.

Must not know single functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special

from tapegrad._core.forms import composite
from tapegrad._core.values import lift
from tapegrad._transforms.primitives import primitive
from tapegrad.scipy._mirror import mirror


def expressed(name: str, definition: Callable[..., Any]) -> primitive:
    """SciPy's function of that name; of traced values the definition, which gets lists as arrays.

    Where SciPy is older than the function, the definition serves plain values too.
    """

    def of_arrays(*args: Any, **kwargs: Any) -> Any:
        named = {key: _as_array(value) for key, value in kwargs.items()}
        return definition(*map(_as_array, args), **named)

    made = mirror(getattr(scipy.special, name, definition), "tapegrad.scipy.special")
    vars(made).update(__name__=name, __qualname__=name)
    composite(made, of_arrays)
    return made


def _as_array(x: Any) -> Any:
    if not isinstance(x, (list, tuple)):
        return x
    lifted = lift(list(x))  # of traced parts
    if not isinstance(lifted, list):
        return lifted
    return np.asarray(x) if isinstance(x, list) else x  # a tuple may be of axes


__all__ = ["expressed"]
