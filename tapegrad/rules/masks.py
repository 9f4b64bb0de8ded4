"""Cotangents where a condition holds, and zeros elsewhere.

Knows NumPy's own real arrays alone, as the rules of settled calls get them. Must not know which
functions choose between their arguments.
"""

from __future__ import annotations

import numpy as np

from tapegrad._core.types import Cotangent, Value

_BITS = {"f": np.dtype(np.int32), "d": np.dtype(np.int64)}


def chosen(mask: Value, g: Cotangent) -> Cotangent:
    """`np.where(mask, g, 0)` of an array g, at a quarter of its cost where there are many.

    The product of the mask with the bits of g: infinities and NaN leave zeros as well, which a
    product with g itself would turn into NaN.
    """
    dtype = g.dtype
    kind = _BITS[dtype.char]
    bits, given = mask.astype(kind), g.view(kind)
    if bits.shape != given.shape:
        return (bits * given).view(dtype)
    bits *= given
    return bits.view(dtype)


def parted(mask: Value, g: Cotangent) -> tuple[Cotangent, Cotangent]:
    """`chosen(mask, g)` and `chosen(~mask, g)`: each bit is in one of the two."""
    dtype = g.dtype
    kind = _BITS[dtype.char]
    given = g.view(kind)
    there = mask.astype(kind) * given
    return there.view(dtype), (given ^ there).view(dtype)


__all__ = ["chosen", "parted"]
