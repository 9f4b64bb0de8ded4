"""Values whose derivative nothing tells: it is NaN, where a number would be made up.

Must not know single functions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad import stop_gradient
from tapegrad._core.forms import elementwise
from tapegrad._core.types import Value
from tapegrad._transforms.primitives import primitive


@primitive
def _zero(x: Value) -> Any:
    return np.zeros(np.shape(x))


elementwise(_zero, lambda _out, x: np.full_like(x, np.nan))


def without_derivative(value: Value, source: Value) -> Value:
    """The value, with the derivative NaN by all that a source depends on.

    source: real; its shape broadcasts with that of the value
    """
    return stop_gradient(value) + _zero(source)


__all__ = ["without_derivative"]
