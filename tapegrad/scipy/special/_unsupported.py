"""Functions of SciPy's without a derivative here, and why."""

from __future__ import annotations

from tapegrad.scipy._mirror import constant_or_refused

_MATHIEU = (
    "how many coefficients it returns depends on q; write scipy.special.mathieu_cem or mathieu_sem"
)
MADE = constant_or_refused(
    "tapegrad.scipy.special",
    (),
    {
        "mathieu_even_coef": _MATHIEU,
        "mathieu_odd_coef": _MATHIEU,
        "ellip_normal": "it is computed by adaptive quadrature",
    },
)

__all__ = ["MADE"]
