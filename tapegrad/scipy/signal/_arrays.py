"""Common code of the rules of signals. Must not know single functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._core.values import innermost, lift

HERE = "tapegrad.scipy.signal"


def as_array(x: Any) -> Any:
    """A traced value as it is, a list as an array."""
    x = lift(x)
    return x if hasattr(x, "ndim") else np.asarray(x)


def require_numpy(xp: Any, device: Any) -> None:
    """ValueError for arrays of another library than NumPy, which `xp=` and `device=` ask for."""
    word = getattr(xp, "__name__", "numpy").rpartition(".")[2]
    if word != "numpy":
        raise ValueError(f"expected xp=None or NumPy with traced values, got {word}")
    if device not in (None, "cpu"):
        raise ValueError(f"Unsupported device for NumPy: {device!r}")


def is_constant(*values: Any) -> bool:
    """Whether no value among these is in a trace."""
    return innermost(values) is None


def along(values: Any, ndim: int, axis: int) -> Any:
    """A vector so shaped that it lies along an axis of an array with `ndim` axes."""
    return np.reshape(values, (-1,) + (1,) * (ndim - 1 - axis % ndim))


def part(x: Any, start: int | None, stop: int | None, axis: int, step: int | None = None) -> Any:
    """x[start:stop:step] along an axis."""
    return x[(slice(None),) * (axis % x.ndim) + (slice(start, stop, step),)]


def padded(x: Any, before: int, after: int, axis: int) -> Any:
    """The array with zeros before and after it along an axis."""
    if not before and not after:
        return x
    shape = list(x.shape)
    pieces = []
    for count in (before, after):
        shape[axis] = count
        pieces.append(np.zeros(shape, x.dtype))
    return np.concatenate([pieces[0], x, pieces[1]], axis=axis)


def real_like(x: Any) -> np.dtype[Any]:
    """The real dtype of an array's own precision; float64 for integers."""
    if x.dtype.kind not in "fc":
        return np.dtype(np.float64)
    kind: np.dtype[Any] = x.dtype.type(0).real.dtype
    return kind


__all__ = ["HERE", "along", "as_array", "is_constant", "padded", "part", "real_like"]
