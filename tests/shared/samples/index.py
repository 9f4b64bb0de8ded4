"""Samples of tapegrad.rules.index."""

from __future__ import annotations

import numpy as np
from makers import array, beside, positions
from sampling import SIDES, SMALL, X2, N, X, each, pick, sample

sample(np.where, SIDES, array(2, 3), beside)
sample(np.take, N, positions(), axis=None, mode=pick("raise", "wrap", "clip"))
sample(np.take_along_axis, array(2, 3), np.array([[2, 0, 0, 1]]), axis=pick(1, -1))
sample(np.compress, SIDES, array(3, 3), axis=pick(None, 0, -1))
sample(np.extract, np.array([SIDES] * 2), array(2, 3))
sample(np.diagonal, X2, offset=SMALL)
sample(np.diag, array(dims=(1, 2)), k=SMALL)
sample(np.diagflat, X, k=SMALL)
each([np.tril, np.triu], X2, k=SMALL)
sample(np.ix_, array(dims=(1, 1), side=1), array(3))
sample(np.diag_indices_from, array(3, 3))
each([np.tril_indices_from, np.triu_indices_from], array(2, 3), k=SMALL)
sample(np.unravel_index, np.array([[1, 5], [0, 2]]), (2, 3), order=pick("C", "F"))
sample(
    np.ravel_multi_index, (np.array([1, 0]), np.array([2, 5])), (2, 3), mode=pick("clip", "wrap")
)
