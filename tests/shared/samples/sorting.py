"""Samples of tapegrad.rules.sorting."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from makers import array, axis, axis_or_none, like, settled
from sampling import FLAGS, REAL, X1, X, each, pick, sample


def with_part_of_itself(function):
    """A function of two sets, on an array and some of its elements: only so they have any."""
    return lambda x: function(x, np.ravel(x)[1:3])


sample(np.sort, X1, axis=axis_or_none, dtypes=REAL)
sample(np.partition, array(3, 4), st.integers(0, 2), axis=axis, dtypes=REAL, via=settled)
sample(np.sort_complex, X1)
sample(
    np.unique,
    X,
    return_index=FLAGS,
    return_inverse=FLAGS,
    return_counts=FLAGS,
    axis=lambda d: d(pick(None, 0)) if d.x.ndim and d.x.size else None,
    equal_nan=FLAGS,
)
sample(np.unique_values, X, dtypes=REAL)
each([np.unique_all, np.unique_counts, np.unique_inverse], X)
each([np.setdiff1d, np.setxor1d, np.union1d], X, like)
sample(np.intersect1d, X, via=with_part_of_itself)
