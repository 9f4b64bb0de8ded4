"""Samples of tapegrad.rules.index."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from makers import array, axis, axis_or_none, beside, mask, maybe, positions, settled, written
from sampling import REAL, SIDES, SMALL, X1, X2, N, X, each, pick, sample

sample(np.where, SIDES, array(2, 3), beside)
sample(np.take, N, positions(), axis=None, mode=pick("raise", "wrap", "clip"))
sample(np.take_along_axis, array(2, 3), np.array([[2, 0, 0, 1]]), axis=pick(1, -1))
sample(np.compress, SIDES, array(3, 3), axis=pick(None, 0, -1))
sample(np.extract, np.array([SIDES] * 2), array(2, 3))
sample(np.diagonal, X2, offset=SMALL)
sample(np.diag, array(dims=(1, 2)), k=SMALL)
sample(np.diagflat, X, k=SMALL)
each([np.tril, np.triu], X2, k=SMALL)
sample(np.copyto, X, lambda d: d.array(d.x.shape[-1:]), where=maybe(mask), via=written)
sample(np.put, N, positions(3), array(2), mode=pick("raise", "wrap", "clip"), via=written)
sample(np.putmask, N, mask, array(2), via=written)
sample(np.place, array(2, 3), np.array([SIDES] * 2), array(2), via=written)
sample(np.fill_diagonal, array(3, 4), lambda d: d.array(()), via=written)
sample(np.sort, X1, axis=axis_or_none, dtypes=REAL)
sample(np.partition, array(3, 4), st.integers(0, 2), axis=axis, dtypes=REAL, via=settled)
