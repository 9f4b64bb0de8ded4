"""Functions of SciPy's without a derivative here, and why."""

from __future__ import annotations

from typing import Any

import scipy.special

from tapegrad._core.forms import unsupported
from tapegrad.scipy._mirror import mirror


def _declared(name: str, reason: str) -> Any:
    made = mirror(getattr(scipy.special, name), "tapegrad.scipy.special")
    unsupported(made, reason=reason)
    return made


_MATHIEU = (
    "how many coefficients it returns depends on q; write scipy.special.mathieu_cem or mathieu_sem"
)
mathieu_even_coef = _declared("mathieu_even_coef", _MATHIEU)
mathieu_odd_coef = _declared("mathieu_odd_coef", _MATHIEU)
ellip_normal = _declared("ellip_normal", "it is computed by adaptive quadrature")

__all__ = ["ellip_normal", "mathieu_even_coef", "mathieu_odd_coef"]
