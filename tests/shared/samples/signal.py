"""Samples of tapegrad.rules.signal."""

from __future__ import annotations

import numpy as np
from sampling import REAL, X, each, pick, sample


def row(d):
    return d.array((d(pick(1, 2, 3, 4, 5)),))


mode = pick("full", "same", "valid")
each([np.convolve, np.correlate], row, row, mode=mode)
sample(np.i0, X, on=(-9, 12), dtypes=REAL)
sample(np.sinc, X, on=(-3, 3))
