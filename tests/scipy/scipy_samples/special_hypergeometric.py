"""Samples of tapegrad.scipy.special._hypergeometric and ._integrals."""

from __future__ import annotations

import numpy as np
import scipy.special as sp
from makers import array
from sampling import X
from scipy_sampling import each, sample

POSITIVE = (0.4, 3)
PAIR = array(2)
A, B, C = [0.3, 1.2], [1.3, 0.6], [2.2, 2.7]

sample(sp.hyp0f1, C, PAIR, on=POSITIVE, dtypes="dfD")
sample(sp.hyp1f1, A, C, PAIR, on=(-2, 2), dtypes="dfD")
sample(sp.hyp2f1, A, B, C, PAIR, on=(-0.6, 0.6), dtypes="dfD")
sample(sp.hyperu, B, C, PAIR, on=POSITIVE)

each([sp.exp1, sp.expi, sp.sici, sp.shichi], X, on=POSITIVE, dtypes="dfD")
sample(sp.expn, np.array([0, 3]), PAIR, on=POSITIVE)
sample(sp.fresnel, X, on=(-1.5, 1.5), dtypes="dfD")
each([sp.modfresnelp, sp.modfresnelm], X, on=(0.1, 1.5), dtypes="df")
sample(sp.wrightomega, X, dtypes="dfD")
sample(sp._ufuncs._lambertw, X, 0, 1e-8, on=POSITIVE, dtypes="DF")
each([sp.wright_bessel, sp.log_wright_bessel], B, C, PAIR, on=POSITIVE)
