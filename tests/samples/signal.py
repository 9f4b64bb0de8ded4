"""Samples of tapegrad.rules.signal."""

from __future__ import annotations

import numpy as np
from makers import array, maybe
from sampling import REAL, X, each, pick, sample


def row(d):
    return d.array((d(pick(1, 2, 3, 4, 5)),))


def knots(d):
    """Places that increase, with distances around 1."""
    steps = d.array((4,)).real
    return (np.cumsum(1 + steps / 8) - 2.5).astype(d.dtype)


mode = pick("full", "same", "valid")
each([np.convolve, np.correlate], row, row, mode=mode)
number = maybe(lambda d: d.array(()))
sample(np.interp, X, knots, array(4), left=number, right=number, dtypes="df", on=(-3.1, 3.2))
sample(np.i0, X, on=(-9, 12), dtypes=REAL)
sample(np.sinc, X, on=(-3, 3))
