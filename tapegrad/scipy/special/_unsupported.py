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


_COEFFICIENTS = (
    "its coefficients are those of one polynomial; write the function of SciPy's that starts with "
    "eval_, which is differentiable by the parameters too"
)
jacobi = _declared("jacobi", _COEFFICIENTS)
sh_jacobi = _declared("sh_jacobi", _COEFFICIENTS)
gegenbauer = _declared("gegenbauer", _COEFFICIENTS)
genlaguerre = _declared("genlaguerre", _COEFFICIENTS)

_NODES = "its nodes are computed by an iteration, without derivatives by the parameters"
roots_jacobi = _declared("roots_jacobi", _NODES)
roots_sh_jacobi = _declared("roots_sh_jacobi", _NODES)
roots_gegenbauer = _declared("roots_gegenbauer", _NODES)
roots_genlaguerre = _declared("roots_genlaguerre", _NODES)

_MATHIEU = (
    "how many coefficients it returns depends on q; write scipy.special.mathieu_cem or mathieu_sem"
)
mathieu_even_coef = _declared("mathieu_even_coef", _MATHIEU)
mathieu_odd_coef = _declared("mathieu_odd_coef", _MATHIEU)
ellip_normal = _declared("ellip_normal", "it is computed by adaptive quadrature")

__all__ = [
    "ellip_normal",
    "gegenbauer",
    "genlaguerre",
    "jacobi",
    "mathieu_even_coef",
    "mathieu_odd_coef",
    "roots_gegenbauer",
    "roots_genlaguerre",
    "roots_jacobi",
    "roots_sh_jacobi",
    "sh_jacobi",
]
