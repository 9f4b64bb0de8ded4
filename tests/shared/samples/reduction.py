"""Samples of tapegrad.rules.reduction."""

from __future__ import annotations

import numpy as np
from makers import axes, beside, mask_or_absent, maybe
from sampling import FLAGS, REAL, N, X, each, sample

WIDER = maybe("G")  # dtype=: of more precision than any, and complex
START = maybe(2.5)

each(
    [np.sum, np.prod],
    X,
    axis=axes,
    keepdims=FLAGS,
    where=mask_or_absent,
    initial=START,
    dtype=WIDER,
)
each([np.max, np.min], N, axis=axes, keepdims=FLAGS, dtypes=REAL, initial=maybe(0.01))
each([np.amax, np.amin, np.ptp], N, axis=axes, keepdims=FLAGS, dtypes=REAL)
sample(np.clip, X, beside, lambda d: d.array(()), on=[(-2, 2), (-1, 0), (0.2, 1)], dtypes=REAL)
