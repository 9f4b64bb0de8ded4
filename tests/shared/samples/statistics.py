"""Samples of tapegrad.rules.statistics."""

from __future__ import annotations

import numpy as np
from makers import axes
from sampling import ALL, FLAGS, REAL, N, each, pick, sample

# Fractions that meet no element of up to 27, by any method.
FRACTIONS = [0.13, [0.21, 0.83], np.float64(0.4237), np.array([0.37, 0.61]), np.array([[0.37]])]
METHODS = pick(
    "linear",
    "linear",
    "lower",
    "higher",
    "midpoint",
    "nearest",
    "inverted_cdf",
    "averaged_inverted_cdf",
    "closest_observation",
    "interpolated_inverted_cdf",
    "hazen",
    "weibull",
    "median_unbiased",
    "normal_unbiased",
)
PERCENT = [100 * np.asarray(q) if isinstance(q, np.ndarray) else q for q in FRACTIONS]

sample(np.median, N, axis=axes, keepdims=FLAGS, dtypes=ALL)
each(
    [np.quantile, np.nanquantile],
    N,
    pick(*FRACTIONS),
    axis=axes,
    keepdims=FLAGS,
    method=METHODS,
    dtypes=REAL,
)
each(
    [np.percentile, np.nanpercentile],
    N,
    pick(*PERCENT),
    axis=axes,
    keepdims=FLAGS,
    method=METHODS,
    dtypes=REAL,
)
