"""Samples of tapegrad.scipy.special._elementary and ._information."""

from __future__ import annotations

import scipy.special as sp
from makers import beside, like
from sampling import X
from scipy_sampling import each, sample

POSITIVE = (0.3, 3)

each([sp.cbrt, sp.entr], X, on=POSITIVE, dtypes="df")
each([sp.exp2, sp.exp10, sp.exprel, sp.cosm1, sp.sindg, sp.cosdg, sp.tandg], X, dtypes="df")
sample(sp.expm1, X, dtypes="dfDF")
sample(sp.log1p, X, on=(-0.7, 2), dtypes="dfDF")
sample(sp.cotdg, X, on=(30, 90), dtypes="df")
sample(sp.radian, X, beside, like)
sample(sp.round, X, on=(0.1, 0.4), dtypes="df")
sample(sp.powm1, X, beside, on=[POSITIVE, (-2, 2)], dtypes="df")
sample(sp.boxcox, X, beside, on=[POSITIVE, (-2, 2)], dtypes="df")
sample(sp.boxcox1p, X, beside, on=[(-0.7, 2), (-2, 2)], dtypes="df")
each([sp.inv_boxcox, sp.inv_boxcox1p], X, beside, on=[(0.1, 2), (0.1, 2)], dtypes="df")
sample(sp.agm, X, beside, on=[POSITIVE, (0.3, 3)])
each([sp.xlogy], X, beside, on=[(-2, 2), POSITIVE], dtypes="dfD")
each([sp.xlog1py], X, beside, on=[(-2, 2), (-0.7, 2)], dtypes="dfD")
each([sp.rel_entr, sp.kl_div], X, beside, on=[POSITIVE, POSITIVE], dtypes="df")
sample(sp.huber, X, beside, on=[(1.2, 3), (-1, 1)], dtypes="df")
sample(sp.pseudo_huber, X, beside, on=[(0.5, 3), (-2, 2)], dtypes="df")
