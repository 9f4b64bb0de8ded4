"""Samples of tapegrad.rules.series."""

from __future__ import annotations

from makers import array, like
from numpy.polynomial import polynomial
from sampling import sample

from tapegrad._numpy_versions import POLYNOMIALS_DISPATCH

if POLYNOMIALS_DISPATCH:
    sample(polynomial.polyval2d, array(dims=(0, 2)), like, array(3, 2))
    sample(polynomial.polygrid2d, array(dims=(0, 1)), array(dims=(0, 1)), array(2, 3))
