"""`scipy.signal` with derivatives; `convolve` is HIPS autograd's, of its own signature."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_letters
from typing import Any, NamedTuple

import numpy as np

from tapegrad._errors import ShapeMismatchError, message
from tapegrad.autograd._completed import complete
from tapegrad.autograd.scipy._names import namespace

Axes = Sequence[Sequence[int]]


def convolve(
    A: Any, B: Any, axes: Axes | None = None, dot_axes: Axes | None = None, mode: str = "full"
) -> Any:
    """Convolution along pairs of axes, sums of products along other pairs, outer on the rest.

    Parameters
    ----------
    A, B : array_like
        Arrays, or traced arrays.
    axes : sequence of two sequences of int, optional
        The axes of A and of B that are convolved with each other; by default all.
    dot_axes : sequence of two sequences of int, optional
        The axes of A and of B over which products are summed; by default none.
    mode : {"full", "valid", "same"}, default "full"
        a + b - 1 elements along an axis, those without padding, or as many as A has.

    Returns
    -------
    ndarray
        It has the other axes of A, those of B, then the convolved ones.

    Raises
    ------
    ShapeMismatchError
        For "valid" where neither array is the larger one along all convolved axes, and for unlike
        sizes of `dot_axes`.
    ValueError
        For another mode.

    Examples
    --------
    >>> convolve(np.array([1.0, 2.0]), np.array([1.0, 1.0, 1.0]))
    array([1., 3., 3., 2.])
    """
    if mode not in ("full", "valid", "same"):
        raise ValueError(f'convolve: expected mode "full", "valid" or "same", got {mode!r}')
    conv_a, conv_b = axes or (range(np.ndim(A)), range(np.ndim(B)))
    conv = [
        (int(i) % np.ndim(A), int(j) % np.ndim(B)) for i, j in zip(conv_a, conv_b, strict=True)
    ]
    dots = [
        (int(i) % np.ndim(A), int(j) % np.ndim(B))
        for i, j in zip(*(dot_axes or ((), ())), strict=True)
    ]
    _check_shapes(np.shape(A), np.shape(B), conv, dots, mode)
    letters = iter(ascii_letters)
    a, b = _Operand(A, {}, []), _Operand(B, {}, [])
    for i, j in dots:
        a.names[i] = b.names[j] = next(letters)
    outer = ""
    for operand in (a, b):
        taken = {pair[0 if operand is a else 1] for pair in (*conv, *dots)}
        for axis in range(np.ndim(operand.array)):
            if axis not in taken:
                operand.names[axis] = next(letters)
                outer += operand.names[axis]
    spans = ""
    for i, j in conv:
        shift, span = next(letters), next(letters)
        size_a, size_b = np.shape(A)[i], np.shape(B)[j]
        large, small = ((a, i), (b, j)) if size_a >= size_b else ((b, j), (a, i))
        large[0].windows.append((large[1], _windows(size_a, size_b, mode), shift, span))
        small[0].names[small[1]] = span
        spans += shift
    (first, names), (second, more) = a.spread(), b.spread()
    return np.einsum(f"{names},{more}->{outer}{spans}", first, second)


class _Operand(NamedTuple):
    """An array, the letters of its axes, and the axes of which windows are taken."""

    array: Any
    names: dict[int, str]
    windows: list[Any]

    def spread(self) -> tuple[Any, str]:
        """The array with each such axis replaced by two, and the letters of its axes."""
        array, names = self.array, dict(self.names)
        for axis, _, shift, span in self.windows:
            names[axis] = shift + span
        # From the last axis on, so that the positions of those before stay.
        for axis, positions, _, _ in sorted(self.windows, key=lambda window: -window[0]):
            pads = [(0, 0)] * np.ndim(array)
            size = np.shape(array)[axis]
            pads[axis] = (max(0, -positions.min()), max(0, positions.max() - size + 1))
            index = (slice(None),) * axis + (positions + pads[axis][0],)
            array = np.pad(array, pads)[index]
        return array, "".join(names[axis] for axis in range(len(names)))


def _windows(size_a: int, size_b: int, mode: str) -> Any:
    """For each element of the result, the positions in the larger array: row n holds n - k."""
    small = min(size_a, size_b)
    full = np.arange(size_a + size_b - 1)
    if mode == "valid":
        full = full[small - 1 : max(size_a, size_b)]
    elif mode == "same":
        start = (size_b - 1) // 2
        full = full[start : start + size_a]
    return full[:, None] - np.arange(small)


def _check_shapes(
    a: tuple[int, ...],
    b: tuple[int, ...],
    conv: Sequence[tuple[int, int]],
    dots: Sequence[tuple[int, int]],
    mode: str,
) -> None:
    got = f"shapes {a} and {b}"
    if any(a[i] != b[j] for i, j in dots):
        raise ShapeMismatchError(
            message("convolve", "equal sizes along dot_axes", got, "Choose other axes")
        )
    larger, smaller = (
        all(a[i] >= b[j] for i, j in conv),
        all(a[i] <= b[j] for i, j in conv),
    )
    if mode == "valid" and not (larger or smaller):
        raise ShapeMismatchError(
            message(
                "convolve",
                'one array at least as large along all convolved axes, for mode="valid"',
                got,
                'Use mode="full"',
            )
        )


_look_up, __dir__ = namespace("signal")


def __getattr__(name: str) -> Any:
    return _look_up(name)


complete(__name__)
