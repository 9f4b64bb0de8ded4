"""Samples of tapegrad.rules.polynomials."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from makers import ABSENT, array, maybe
from sampling import FLAGS, LAPACK, LAPACK_REAL, X, each, pick, sample


def row(d):
    return d.array((d(pick(1, 2, 3, 4)),))


def places(d):
    """Places that are apart."""
    made = d.array((6,))
    d.arrays[-1] = (made / 8 + np.linspace(-1, 1, 6)).astype(d.dtype)
    return d.arrays[-1]


def apart(d):
    """Coefficients of a polynomial whose zeros are real and apart, also in size.

    The order in which NumPy returns zeros of nearly one size changes from call to call.
    """
    made = row(d).real
    sizes = np.array([0.4, -0.9, 1.5, -2.2])[: len(made)]
    return np.poly(made / 32 + sizes).astype(d.dtype)


def weights(d):
    return d.array((6,)).real / 8 + d.dtype.type(1) if d(FLAGS) else ABSENT


def values(d):
    return d.array((6, 2) if d(FLAGS) else (6,))


each([np.polyadd, np.polysub, np.polymul], row, row)
sample(np.polydiv, row, row, on=[(-2, 2), (1, 2)], dtypes="dD")
sample(np.polyder, row, m=st.integers(0, 3))
sample(np.polyint, row, m=st.integers(0, 3), k=maybe(lambda d: d.array(())))
sample(np.polyval, row, X)
sample(np.vander, array(3), N=st.integers(0, 4) | st.none(), increasing=FLAGS, on=(0.3, 2))
sample(np.roots, apart, dtypes=LAPACK_REAL)
sample(np.poly, lambda d: row(d) if d(FLAGS) else d.array((3, 3)), dtypes=LAPACK)
covariance = pick(False, True, "unscaled")
sample(np.polyfit, places, values, pick(0, 1, 2), w=weights, cov=covariance, dtypes=LAPACK_REAL)
