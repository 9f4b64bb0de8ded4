"""The fast Hankel transform on a logarithmic grid.

It is a convolution on a circle, then a reversal, between two diagonal scalings that are powers of
the same numbers: a symmetric matrix, which is its own transpose. A. J. S. Hamilton, Uncorrelated
modes of the non-linear power spectrum, MNRAS 312 (2000), appendix B.
"""

from __future__ import annotations

from typing import Any

import scipy.fft as sf

from tapegrad._core.forms import linear
from tapegrad._core.types import Cotangent, Function, Value
from tapegrad.scipy._mirror import mirror

fht, ifht = mirror(sf.fht, "tapegrad.scipy.fft"), mirror(sf.ifht, "tapegrad.scipy.fft")


def _own_transpose(function: Function) -> Function:
    """The matrix of either is symmetric."""

    def transpose(g: Cotangent, _out: Value, _a: Value, **given: Any) -> Cotangent:
        return function(g, **given)

    return transpose


linear(fht, _own_transpose(fht), batch="(n)")
linear(ifht, _own_transpose(ifht), batch="(n)")
