"""Central differences along directions: what derivatives are measured against.

Knows plain NumPy only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad._core.types import Tangent, Value
from tapegrad.testing._measuring.tolerances import real_dtype, resolution_of

# A function of leaves that returns a tuple of leaves, all floating or complex.
FlatFunction = Callable[..., tuple[Any, ...]]


def central_differences(
    function: FlatFunction, leaves: Sequence[Value], dots: Sequence[Tangent], step: float
) -> list[Tangent]:
    """The derivative along a direction by the five-point formula: its error is of order step^4."""

    def at(steps: int) -> tuple[Value, ...]:
        moved = [
            x + np.asarray(steps * step).astype(real_dtype(x.dtype)) * dot
            for x, dot in zip(leaves, dots, strict=True)
        ]
        return function(*moved)

    # Differences of neighbours first: they cancel before anything is scaled.
    return [
        (8 * (after - before) - (later - earlier))
        / np.asarray(12 * step).astype(real_dtype(after.dtype))
        for earlier, before, after, later in zip(at(-2), at(-1), at(1), at(2), strict=True)
    ]


def widened(function: FlatFunction, leaves: Sequence[Value]) -> list[Value]:
    """The leaves in the widest precision that the function computes in.

    In longdouble the differences of a smooth function are exact to all digits of float64.
    """
    for dtype in (np.longdouble, np.float64):
        wide = [leaf.astype(np.result_type(leaf.dtype, dtype)) for leaf in leaves]
        outs = _tried(function, wide)
        # LAPACK knows float32 and float64 only; some functions make float64 of what they get.
        if outs is None or dtype is np.longdouble and not any(map(_is_wide, outs)):
            continue
        return wide
    return list(leaves)


def _tried(function: FlatFunction, leaves: Sequence[Value]) -> Sequence[Value] | None:
    """The results, or None if the function does not take such dtypes: each has its own error."""
    try:
        return function(*leaves)
    except Exception:  # noqa: BLE001
        return None


def _is_wide(out: Value) -> bool:
    return bool(np.result_type(out.dtype, np.longdouble) == out.dtype)


def step_of(leaves: Sequence[Value], power: float) -> float:
    """A step that balances rounding against the curvature of the function."""
    return float(resolution_of(*leaves)) ** power


def direction(random: np.random.Generator, like: Value) -> Value:
    """A random array of the shape and dtype of another, with entries around 1."""
    values = random.uniform(0.5, 1.5, like.shape) * (2 * random.integers(0, 2, like.shape) - 1)
    if like.dtype.kind == "c":
        values = values + 1j * random.uniform(-1.5, 1.5, like.shape)
    return np.asarray(values).astype(like.dtype)
