"""`scipy.special`: the derivatives of its ufuncs, declared when this module is imported.

The first call of one of these ufuncs on a traced value imports it, so that plain
`scipy.special.expit(x)` needs no import of ours. Functions that SciPy writes in Python are here
with derivatives; all other names are SciPy's own objects.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import _ufuncs

from tapegrad.scipy._copied import copied
from tapegrad.scipy._mirror import namespace, shared_names
from tapegrad.scipy.special import (
    _airy,
    _bessel,
    _distributions,
    _elementary,
    _elliptic,
    _errors,
    _gamma,
    _hypergeometric,
    _information,
    _integrals,
    _kolmogorov,
    _noncentral,
    _polynomials,
    _struve,
    _waves,
    _zeta,
)
from tapegrad.scipy.special._combinatorics import (
    comb,
    diric,
    factorial,
    factorial2,
    factorialk,
    multigammaln,
    perm,
    polygamma,
)
from tapegrad.scipy.special._ellipsoidal import ellip_harm, ellip_harm_2
from tapegrad.scipy.special._exponentials import log_softmax, logsumexp, softmax, softplus
from tapegrad.scipy.special._legendre import (
    assoc_legendre_p,
    assoc_legendre_p_all,
    legendre_p,
    legendre_p_all,
    sph_harm_y,
    sph_harm_y_all,
    sph_legendre_p,
    sph_legendre_p_all,
)
from tapegrad.scipy.special._spherical import (
    assoc_laguerre,
    h1vp,
    h2vp,
    ivp,
    jvp,
    kvp,
    lmbda,
    lqmn,
    lqn,
    obl_cv_seq,
    pbdn_seq,
    pbdv_seq,
    pbvv_seq,
    pro_cv_seq,
    riccati_jn,
    riccati_yn,
    spherical_in,
    spherical_jn,
    spherical_kn,
    spherical_yn,
    yvp,
)
from tapegrad.scipy.special._unsupported import MADE

_look_up, __dir__ = namespace(__name__, "scipy.special")
globals().update(MADE | copied(__name__))


def __getattr__(name: str) -> Any:
    """SciPy's own object; the ufunc itself where SCIPY_ARRAY_API=1 hides it in a function."""
    found = _look_up(name)
    ufunc = getattr(_ufuncs, name, None)
    return ufunc if isinstance(ufunc, np.ufunc) else found


__all__ = list(shared_names(__name__, "scipy.special"))
