"""Samples of tapegrad.rules.histogram: elements well inside of their bins."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from makers import maybe
from sampling import FLAGS, pick, sample

DOUBLE = "d"  # NumPy counts in float64
PLACES = np.array([-1.3, 2.2, 0.4, -2.0, 0.9, -0.8, 1.7])


def inside(d):
    """Elements of which none comes near an edge, whichever of BINS there are."""
    made = PLACES + 0.02 * d.array(PLACES.shape)
    d.arrays[-1] = made
    return made


def points(d):
    return np.stack([inside(d), -inside(d)[::-1]], axis=1)


def weights(d):
    return d.array(PLACES.shape)


def counted(d):
    """Bins of as many weights as there are places."""
    return np.array(d(st.lists(st.integers(0, 6), min_size=7, max_size=7)))


EVEN = pick(2, 3)
BINS = pick(2, 3, [-2.5, -0.5, 0.2, 3], np.array([-1, 0, 2]))
COUNTED = {"weights": maybe(weights), "density": FLAGS, "dtypes": DOUBLE}
ONE = [(-2, 2), (0.3, 2)]  # positive weights: a density divides by their sum
TWO = [(-2, 2), (-2, 2), (0.3, 2)]

sample(np.histogram, inside, bins=BINS, range=maybe((-2.4, 2.8)), on=ONE, **COUNTED)
sample(np.histogram_bin_edges, inside, bins=pick(2, 3, "sqrt"), dtypes=DOUBLE)
sample(np.histogramdd, points, bins=pick(2, [2, 3]), on=TWO, **COUNTED)
sample(np.histogram2d, inside, inside, bins=pick(2, [3, 2], [-2.5, 0.1, 2.8]), on=TWO, **COUNTED)
sample(np.bincount, counted, weights=maybe(weights), minlength=st.integers(0, 9), dtypes=DOUBLE)
