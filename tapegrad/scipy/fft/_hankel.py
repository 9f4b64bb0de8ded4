"""The fast Hankel transform on a logarithmic grid.

It is a convolution on a circle, then a reversal, between two diagonal scalings that are powers of
the same numbers: a symmetric matrix, which is its own transpose. A. J. S. Hamilton, Uncorrelated
modes of the non-linear power spectrum, MNRAS 312 (2000), appendix B.
"""

from __future__ import annotations

import scipy.fft as sf

from tapegrad._core.forms import linear
from tapegrad._core.types import Cotangent, Value
from tapegrad.scipy._mirror import mirror

fht, ifht = mirror(sf.fht, "tapegrad.scipy.fft"), mirror(sf.ifht, "tapegrad.scipy.fft")


def _fht_transpose(
    g: Cotangent,
    _out: Value,
    _a: Value,
    dln: float,
    mu: float,
    offset: float = 0.0,
    bias: float = 0.0,
) -> Cotangent:
    return fht(g, dln, mu, offset, bias)


def _ifht_transpose(
    g: Cotangent,
    _out: Value,
    _a: Value,
    dln: float,
    mu: float,
    offset: float = 0.0,
    bias: float = 0.0,
) -> Cotangent:
    return ifht(g, dln, mu, offset, bias)


linear(fht, _fht_transpose, batch="(n)")
linear(ifht, _ifht_transpose, batch="(n)")
