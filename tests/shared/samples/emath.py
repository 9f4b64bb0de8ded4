"""Samples of tapegrad.rules.emath."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from makers import array
from sampling import each, sample


def signed(d):
    """Numbers of both signs, none near 0."""
    made = array()(d)
    signs = np.resize([1, -1, -1], made.shape)
    d.arrays[-1] = (made * signs).astype(d.dtype)
    return d.arrays[-1]


def inside_and_outside(d):
    """Numbers of both signs, with absolute values below and above 1, none near 1."""
    made = signed(d)
    return np.where(np.resize([True, False, True, True, False], made.shape), made, 1 / made)


TYPES = "dfDF"
positive = (0.3, 2)
each([np.emath.sqrt, np.emath.log, np.emath.log2], signed, on=positive, dtypes=TYPES)
sample(np.emath.log10, signed, on=positive, dtypes=TYPES)
sample(np.emath.logn, lambda d: d.array(()), signed, on=[(2, 4), positive], dtypes=TYPES)
sample(np.emath.power, signed, st.integers(-2, 3), on=positive, dtypes=TYPES)
each([np.emath.arccos, np.emath.arcsin], inside_and_outside, on=(1.3, 3), dtypes=TYPES)
sample(np.emath.arctanh, inside_and_outside, on=(1.3, 3), dtypes=TYPES)
