"""Samples of tapegrad.scipy.special._elliptic and ._ellipsoidal."""

from __future__ import annotations

import scipy.special as sp
from makers import array, beside, like
from sampling import X
from scipy_sampling import each, sample

from tapegrad.scipy import special

FAR, APART, LARGE = (0.4, 0.9), (1.2, 1.9), (2.5, 3.5)
PAIR = array(2)

each([sp.ellipk, sp.ellipe, sp.ellipkm1], X, on=(0.1, 0.8), dtypes="df")
each([sp.ellipkinc, sp.ellipeinc], X, beside, on=[(-2, 2), (-0.5, 0.6)], dtypes="df")
sample(sp.ellipj, X, beside, on=[(-2, 2), (0.1, 0.8)], dtypes="df")
sample(sp.elliprc, X, beside, on=[FAR, APART], dtypes="dfD")
sample(sp.elliprd, PAIR, like, like, on=[FAR, APART, LARGE], dtypes="dfD")
sample(sp.elliprf, PAIR, like, like, on=[FAR, APART, LARGE], dtypes="dfD")
sample(sp.elliprg, PAIR, like, like, on=[FAR, APART, LARGE], dtypes="df")
sample(sp.elliprj, PAIR, like, like, like, on=[FAR, APART, LARGE, (4.5, 5.5)], dtypes="d")
sample(special.ellip_harm, [5.0], [8.0], 3, 2, PAIR, on=(5, 7))
