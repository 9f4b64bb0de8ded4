"""Partials that a replay divides by, and the product of a cotangent or a tangent with a partial.

Must not know entries, or which functions exist.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from tapegrad._core.fit import is_finite
from tapegrad._core.types import Cotangent, Function, Value, Values
from tapegrad._core.values import in_trace


class Over:
    """A partial 1 / by(out, *args), or with `of_out` out / by(out, *args).

    A replay divides by it, in place of a product. So it stays in range where the partial does not:
    that of 1 / x at 1e200 is -1e-400, and along a tangent of 1e200 the change is -1e-200.
    """

    __slots__ = ("by", "of_out")

    def __init__(self, by: Function, *, of_out: bool = False) -> None:
        self.by = by
        self.of_out = of_out

    def __call__(self, out: Value, *args: Value) -> Any:
        return (out if self.of_out else 1) / self.by(out, *args)

    def along(self, g: Cotangent, out: Value, *args: Value) -> Any:
        """A plain product of g with the partial."""
        bar = g / self.by(out, *args)
        return bar * out if self.of_out else bar


_NUMPY = frozenset((np.ndarray, np.float64, np.float32))


def multiplied(times: Function, g: Cotangent, partial: Any, out: Value, args: Values) -> Any:
    """`times(g, partial(out, *args))`; an `Over` divides where the result is finite."""
    if type(partial) is not Over:
        return times(g, partial(out, *args))
    if times is operator.mul:
        return partial.along(g, out, *args)
    if type(g) in _NUMPY or in_trace(g):
        bar = partial.along(g, out, *args)
        if is_finite(bar):
            return bar
    return times(g, partial(out, *args))


__all__ = ["Over", "multiplied"]
