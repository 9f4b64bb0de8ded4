"""Samples of tapegrad.scipy.special._errors."""

from __future__ import annotations

import scipy.special as sp
from makers import beside, like
from sampling import X
from scipy_sampling import each, sample, seldom

UNIT, WIDTH, COMPLEX = (0.1, 0.9), (0.4, 2), "dfDF"

each([sp.erf, sp.erfc, sp.erfcx, sp.erfi, sp.dawsn], X, dtypes=COMPLEX)
sample(sp.wofz, X, dtypes="D")
sample(sp.erfinv, X, on=(-0.9, 0.9), dtypes="df")
sample(sp.erfcinv, X, on=(0.1, 1.9), dtypes="df")
seldom(sp.voigt_profile, X, beside, like, on=[(-2, 2), WIDTH, WIDTH])
each([sp.ndtr, sp.log_ndtr], X, dtypes="dfD")
sample(sp.ndtri, X, on=UNIT, dtypes="df")
sample(sp.ndtri_exp, X, on=(-3, -0.2))
sample(sp.nrdtrimn, X, beside, like, on=[UNIT, WIDTH, (-2, 2)])
sample(sp.nrdtrisd, X, beside, like, on=[(-2, 0), (0.6, 0.9), (1, 3)])
sample(sp.owens_t, X, beside, dtypes="df")
each([sp.expit, sp.log_expit], X, dtypes="df")
sample(sp.logit, X, on=UNIT, dtypes="df")
