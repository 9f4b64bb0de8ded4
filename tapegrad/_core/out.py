"""How a result is written into `out=`.

Knows which arrays can carry a derivative. Must not know rules.
"""

from __future__ import annotations

import numpy as np

from tapegrad._core.types import Value
from tapegrad._core.values import Buffer, in_trace, is_mapped
from tapegrad._errors import BatchingError, NotDifferentiableError


def write_out(out: Value, result: Value, call: str, *, broadcast: bool = False) -> Value:
    """Write a traced result into `out=`, which must be traced too, and return it.

    `broadcast`: the result is broadcast to a larger `out`, as NumPy's ufuncs do.
    """
    targets = out if isinstance(out, tuple) else (out,)
    results = result if isinstance(result, tuple) else (result,)
    delivered = list(results)
    for i, (target, part) in enumerate(zip(targets, results, strict=False)):
        if target is None:
            continue
        held = issubclass(type(target), Buffer)
        if not (held or in_trace(target)) and is_mapped(part):
            raise BatchingError(
                f"{call}: expected a batched array for out= (or on the left of +=), got a plain "
                f"{type(target).__name__}, which all examples share. Leave out= away (x = x + y "
                "for x += y), or make the array with a + np.zeros_like(y, shape=a.shape)."
            )
        if not (held or in_trace(target)):
            raise NotDifferentiableError(
                f"{call}: expected a traced array for out=, got a plain {type(target).__name__}, "
                "which cannot carry a derivative. Leave out= away (z = z + x for z += x), or make "
                "the array with np.zeros_like(x, shape=shape) of a traced x."
            )
        if not np.can_cast(part.dtype, target.dtype, "same_kind"):
            raise TypeError(
                f"{call}: cannot cast the result from {part.dtype} to {target.dtype} for out=."
            )
        if target.shape != part.shape and not (broadcast and stretches(part.shape, target.shape)):
            raise ValueError(
                f"{call}: the result of shape {part.shape} does not fit out= of shape "
                f"{target.shape}."
            )
        target[...] = part
        delivered[i] = target
    return tuple(delivered) if isinstance(result, tuple) else delivered[0]


def stretches(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    """Whether an array of one shape broadcasts to another shape."""
    sides = zip(shape[::-1], to[::-1], strict=False)
    return shape != to and len(shape) <= len(to) and all(a in (1, b) for a, b in sides)


__all__ = ["stretches", "write_out"]
