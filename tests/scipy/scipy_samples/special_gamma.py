"""Samples of tapegrad.scipy.special._gamma and ._zeta."""

from __future__ import annotations

import scipy.special as sp
from makers import beside
from sampling import X
from scipy_sampling import each, sample

POSITIVE = (0.3, 4)

each([sp.gamma, sp.rgamma, sp.loggamma, sp.psi], X, on=POSITIVE, dtypes="dfD")
each([sp.gammaln, sp.gammasgn], X, on=POSITIVE, dtypes="df")
each([sp.beta, sp.betaln, sp.poch], X, beside, on=[POSITIVE, POSITIVE], dtypes="df")
sample(sp.binom, X, beside, on=[(3, 8), (0.5, 2.5)], dtypes="df")
sample(sp.zetac, X, on=(1.5, 4))
sample(sp._ufuncs._riemann_zeta, X, on=(1.5, 4), dtypes="dD")
sample(sp._ufuncs._zeta, X, beside, on=[(1.5, 4), POSITIVE])
sample(sp.spence, X, on=(0.3, 1.8), dtypes="dfD")
