"""Samples of tapegrad.rules.reduction."""

from __future__ import annotations

import numpy as np
from makers import axes, axis_or_none, beside, like, mask_or_absent, maybe
from sampling import FLAGS, REAL, X1, N, X, each, sample

sample(np.sum, X, axis=axes, keepdims=FLAGS, where=mask_or_absent, initial=maybe(2.5))
sample(np.mean, N, axis=axes, keepdims=FLAGS)
sample(np.average, N, axis=axis_or_none, weights=maybe(like), on=[(-2, 2), (0.3, 2)])
each([np.var, np.std], N, axis=axes, keepdims=FLAGS)
sample(np.prod, X, axis=axes, keepdims=FLAGS, where=mask_or_absent, initial=maybe(2.5))
each([np.max, np.min, np.amax, np.amin], N, axis=axes, keepdims=FLAGS, dtypes=REAL)
sample(np.ptp, N, axis=axes, keepdims=FLAGS, dtypes=REAL)
sample(np.clip, X, beside, lambda d: d.array(()), on=[(-2, 2), (-1, 0), (0.2, 1)], dtypes=REAL)
each([np.cumsum, np.cumprod], X1, axis=axis_or_none)
