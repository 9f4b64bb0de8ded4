"""Samples of tapegrad.scipy.special._distributions, ._kolmogorov and ._noncentral."""

from __future__ import annotations

import scipy.special as sp
from makers import beside, like
from sampling import X, array
from scipy_sampling import each, sample, seldom

UNIT, SHAPE, MIDDLE = (0.1, 0.9), (0.6, 6), (0.3, 3)
X1 = array(dims=(0, 1))

sample(sp.betainc, X, beside, like, on=[SHAPE, SHAPE, UNIT])
seldom(sp.betaincc, X, beside, like, on=[SHAPE, SHAPE, UNIT])
seldom(sp.betaincinv, X, beside, like, on=[SHAPE, SHAPE, UNIT])
seldom(sp.betainccinv, X, beside, like, on=[SHAPE, SHAPE, UNIT])
each([sp.gammainc, sp.gammaincc], X, beside, on=[SHAPE, SHAPE], dtypes="df")
each([sp.gammaincinv, sp.gammainccinv], X, beside, on=[SHAPE, UNIT])
each([sp.gdtr, sp.gdtrc], X, beside, like, on=[MIDDLE, SHAPE, MIDDLE])
each([sp.chdtr, sp.chdtrc], X, beside, on=[SHAPE, SHAPE])
sample(sp.chdtri, X, beside, on=[SHAPE, UNIT])
seldom(sp.fdtr, X, beside, like, on=[SHAPE, SHAPE, MIDDLE])
seldom(sp.fdtrc, X, beside, like, on=[SHAPE, SHAPE, MIDDLE])
# Further out the differences are noise in the ninth digit: the first and second derivatives at
# 5.779, 1.997, 0.8716 are mpmath's to 2e-13.
seldom(sp.fdtri, X, beside, like, on=[(0.8, 3), (1.5, 4), (0.2, 0.7)])
sample(sp.stdtr, X, beside, on=[SHAPE, MIDDLE])
sample(sp.stdtrit, X, beside, on=[SHAPE, UNIT])
sample(sp.kolmogorov, X, on=(0.5, 2))
sample(sp.kolmogi, X, on=UNIT)
sample(sp.smirnov, 4, X, on=(0.3, 0.45))
sample(sp.smirnovi, 4, X, on=(0.2, 0.5))
sample(sp.tklmbda, X, beside, on=[(-0.3, 0.3), (0.2, 1.5)])
each([sp.bdtr, sp.bdtrc, sp.nbdtr, sp.nbdtrc], 2, 5, X, on=UNIT)
each([sp.bdtri, sp.nbdtri], 2, 5, X, on=UNIT)
each([sp.pdtr, sp.pdtrc], 2, X, on=MIDDLE)
sample(sp.pdtri, 2, X, on=UNIT)
seldom(sp.chndtr, X1, like, like, on=[(1, 8), (1, 8), (0.5, 6)])
seldom(sp.ncfdtr, X1, like, like, like, on=[(2, 6), (2, 6), (0.5, 3), MIDDLE])
seldom(sp.nctdtr, X1, like, like, on=[(2, 6), (-1, 1), (0.2, 2)])

# Inverses that SciPy finds by a search, as far as it goes on for enough digits for differences;
# the others are compared with their distribution in test_scipy_special_values.py.
P, MEAN = (0.3, 0.7), (1.5, 4)
seldom(sp.btdtria, X1, like, like, on=[P, MEAN, P])
seldom(sp.btdtrib, X1, like, like, on=[MEAN, P, P])
seldom(sp.gdtria, X1, like, like, on=[P, MEAN, MEAN])
seldom(sp.gdtrib, X1, like, like, on=[MEAN, P, MEAN])
seldom(sp.gdtrix, X1, like, like, on=[MEAN, MEAN, P])
sample(sp.chdtriv, X1, like, on=[P, MEAN])
sample(sp.pdtrik, X1, like, on=[P, (3, 8)])
seldom(sp.chndtrix, X1, like, like, on=[P, MEAN, MEAN])
seldom(sp.chndtridf, X1, like, like, on=[(5, 8), P, (1, 2)])
seldom(sp.ncfdtri, X1, like, like, like, on=[MEAN, (4, 8), (1, 2), P])
seldom(sp.nctdtrit, X1, like, like, on=[MEAN, (0.3, 2), P])
