"""Random directions in which arrays move, and their sizes.

Knows plain NumPy only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad._core.quiet import silence
from tapegrad._core.types import Value
from tapegrad.testing._measuring.tolerances import real_dtype

# A function of leaves that returns a tuple of leaves, all floating or complex.
FlatFunction = Callable[..., tuple[Any, ...]]


def direction(random: np.random.Generator, like: Value) -> Value:
    """A random array of the shape and dtype of another, with entries around 1."""
    values = random.uniform(0.5, 1.5, like.shape) * (2 * random.integers(0, 2, like.shape) - 1)
    if like.dtype.kind == "c":
        values = values + 1j * random.uniform(-1.5, 1.5, like.shape)
    return np.asarray(values).astype(like.dtype)


def scaled(dots: Sequence[Any], leaves: Sequence[Any]) -> list[Any]:
    """Directions of size 1, in the size of each leaf: that of its largest element, or 1 for 0."""
    return [
        (dot * np.asarray(scale_of(leaf)).astype(real_dtype(leaf.dtype))).astype(leaf.dtype)
        for dot, leaf in zip(dots, leaves, strict=True)
    ]


def scale_of(leaf: Any) -> float:
    """The size of the largest finite element, and 1 where all are 0."""
    with silence():
        sizes = np.abs(np.ravel(leaf)).astype(np.float64)
    return float(np.max(sizes, initial=0.0, where=np.isfinite(sizes))) or 1.0
