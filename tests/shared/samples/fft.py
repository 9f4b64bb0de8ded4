"""Samples of tapegrad.rules.fft."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from makers import ABSENT, Draw, array, axis, axis_or_none
from sampling import N1, N2, REAL, X1, each, pick

ANY = "dfgDFG"
NORM = pick(None, "backward", "ortho", "forward")
LENGTH = pick(None, 1, 2, 3, 4, 5, 6)
TO_REAL = array(2, 3)


def some_axes(d: Draw) -> list[int]:
    """Distinct axes in any order, some of them negative."""
    count = d.__dict__["count"] = d(st.integers(1, d.x.ndim))
    chosen = d(st.permutations(range(d.x.ndim)))[:count]
    return [a - d.x.ndim if d(st.booleans()) else a for a in chosen]


def sides(d: Draw) -> object:
    """Lengths for the axes drawn before, or none; -1 keeps an axis as long as it is."""
    made = d(st.lists(pick(-1, 1, 2, 3, 4, 5), min_size=d.count, max_size=d.count))
    return made if d(st.booleans()) else ABSENT


def certain_sides(d: Draw) -> object:
    return [d(st.integers(1, 5)) for _ in range(d.count)]


def shifted_axes(d: Draw) -> object:
    return axis_or_none(d) if d(st.booleans()) else tuple(some_axes(d))


def two_sides(d: Draw) -> object:
    return d(st.none() | st.lists(pick(-1, 1, 2, 3, 4), min_size=2, max_size=2))


each([np.fft.fft, np.fft.ifft], N1, n=LENGTH, axis=axis, norm=NORM, dtypes=ANY)
each([np.fft.rfft, np.fft.ihfft], N1, n=LENGTH, axis=axis, norm=NORM, dtypes=REAL)
each([np.fft.irfft, np.fft.hfft], TO_REAL, n=LENGTH, axis=axis, norm=NORM, dtypes=ANY)
each([np.fft.fftn, np.fft.ifftn], N1, axes=some_axes, s=sides, norm=NORM, dtypes=ANY)
each([np.fft.rfftn], N1, axes=some_axes, s=sides, norm=NORM, dtypes=REAL)
each([np.fft.irfftn], N1, axes=some_axes, s=certain_sides, norm=NORM, dtypes=ANY)
each([np.fft.fft2, np.fft.ifft2], N2, s=two_sides, norm=NORM, dtypes=ANY)
each([np.fft.rfft2], N2, s=two_sides, norm=NORM, dtypes=REAL)
each([np.fft.irfft2], array(2, 3, 4), s=two_sides, norm=NORM, dtypes=ANY)
each([np.fft.fftshift, np.fft.ifftshift], X1, axes=shifted_axes, dtypes=ANY)
