"""Shared by the rules of images: axes, modes, outputs and extensions. Must not know filters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad._core.values import in_trace, lift
from tapegrad.scipy._questions import agreed

HERE = "tapegrad.scipy.ndimage"

# The extensions of SciPy's modes, by NumPy's names.
PADDED = {
    "reflect": "symmetric",
    "grid-mirror": "symmetric",
    "mirror": "reflect",
    "nearest": "edge",
    "wrap": "wrap",
    "grid-wrap": "wrap",
    "constant": "constant",
    "grid-constant": "constant",
}


def as_array(x: Any) -> Any:
    """A traced value as it is, a list as an array."""
    x = lift(x)
    return x if hasattr(x, "ndim") else np.asarray(x)


def as_image(x: Any) -> Any:
    """An array of floating or complex numbers."""
    x = as_array(x)
    if x.dtype.kind not in "fc":
        raise TypeError(
            f"scipy.ndimage: a result of dtype {x.dtype}, as the input, has no derivative. Pass "
            "input.astype(np.float64)."
        )
    return x


def finished(result: Value, output: Any, image: Any = None) -> Value:
    """The result in the dtype that `output` asks for. An array to write into is refused.

    image: what a filter was given that may leave it as it is: the result is a copy then, as
    SciPy's is, so that a write into one is none into the other.
    """
    if image is not None and result is lift(image):
        result = np.copy(result)
    if output is None:
        return result
    if isinstance(output, np.ndarray) or in_trace(output):
        raise TypeError(
            "scipy.ndimage: output=array cannot hold a result that has a derivative. Leave output "
            "away, and use the result."
        )
    kind = np.dtype(output)
    return result if result.dtype == kind else result.astype(kind)


def axes_of(axes: Any, ndim: int) -> list[int]:
    if axes is None:
        return list(range(ndim))
    given = [axes] if isinstance(axes, (int, np.integer)) else list(axes)
    chosen = [range(ndim)[axis] for axis in given]
    if len(set(chosen)) < len(chosen):
        raise ValueError(f"scipy.ndimage: expected axes that differ, got {axes}.")
    return chosen


def axes_of_window(axes: Any, ndim: int) -> list[int]:
    """The axes whose windows, origins and sigmas are given together, as SciPy expands these.

    They are in the order of `axes` where some are left out, and in the image's where none is.
    """
    chosen = axes_of(axes, ndim)
    return chosen if len(chosen) < ndim else list(range(ndim))


def for_each(value: Any, count: int, name: str) -> list[Any]:
    """A value for each axis, from one or from as many."""
    value = lift(value)
    if isinstance(value, str) or not isinstance(value, Iterable) or getattr(value, "ndim", 1) == 0:
        return [value] * count
    values = list(value)
    if len(values) != count:
        raise RuntimeError(f"scipy.ndimage: expected {count} values of {name}, got {len(values)}.")
    return values


def number(question: Any, value: Any, name: str) -> Any:
    """Answer to a predicate on one number; the numbers of a vmap may differ."""
    return agreed(question, value, "scipy.ndimage", name)


def extended(x: Value, widths: Sequence[tuple[int, int]], modes: Any, cval: Any) -> Value:
    """The array as its mode goes on beyond its sides, so many elements before and after."""
    for axis, (width, mode) in enumerate(
        zip(widths, for_each(modes, x.ndim, "mode"), strict=True)
    ):
        if not any(width):
            continue
        pads = [(0, 0)] * x.ndim
        pads[axis] = width
        if mode not in PADDED:
            raise RuntimeError(
                f"scipy.ndimage: expected a mode among {', '.join(PADDED)}, got {mode!r}."
            )
        name: Any = PADDED[mode]
        if name == "constant" and in_trace(cval):
            x = np.pad(x - cval, pads) + cval
        elif name == "constant":
            x = np.pad(x, pads, name, constant_values=cval)
        elif x.shape[axis] == 1:
            x = np.pad(x, pads, "edge")
        else:
            x = np.pad(x, pads, name)
    return x


def window_widths(size: int, origin: int) -> tuple[int, int]:
    """How far a window reaches before and after its element."""
    before = size // 2 + origin
    if not 0 <= before < max(size, 1):
        raise ValueError(
            f"scipy.ndimage: expected an origin from {-(size // 2)} to {(size - 1) // 2}, got "
            f"{origin}."
        )
    return before, size - 1 - before


__all__ = [
    "HERE",
    "as_array",
    "as_image",
    "axes_of",
    "axes_of_window",
    "extended",
    "finished",
    "for_each",
    "number",
    "window_widths",
]
