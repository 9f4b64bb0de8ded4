"""Samples of tapegrad.scipy.special._polynomials and ._legendre."""

from __future__ import annotations

import numpy as np
import scipy.special as sp
from makers import array
from sampling import X, pick
from scipy_sampling import each, sample

from tapegrad.scipy import special

INSIDE, SHIFTED = (-0.8, 0.8), (0.1, 0.9)
PAIR = array(2)
DEGREES, WHOLE = [0.7, 2.3], np.array([0, 3])
A, B = [0.3, 1.2], [1.3, 0.6]

each([sp.eval_legendre, sp.eval_chebyt, sp.eval_chebyu], DEGREES, PAIR, on=INSIDE, dtypes="dfD")
each([sp.eval_chebyc, sp.eval_chebys, sp.eval_laguerre], DEGREES, PAIR, on=INSIDE, dtypes="df")
each([sp.eval_sh_legendre, sp.eval_sh_chebyt], DEGREES, PAIR, on=SHIFTED, dtypes="df")
sample(sp.eval_sh_chebyu, DEGREES, PAIR, on=SHIFTED, dtypes="df")
each([sp.eval_gegenbauer, sp.eval_genlaguerre], WHOLE, B, PAIR, on=INSIDE)
sample(sp.eval_jacobi, pick(WHOLE, np.array([0.7, 2.3])), B, A, PAIR, on=INSIDE)
sample(sp.eval_sh_jacobi, WHOLE, [3.3, 4.2], [1.5, 2.5], PAIR, on=SHIFTED)
each([sp.eval_hermite, sp.eval_hermitenorm], WHOLE, PAIR, on=INSIDE)

ORDERS = np.array([0, -2])
sample(sp.lpmv, np.array([0, 1]), DEGREES, PAIR, on=INSIDE)
sample(special.legendre_p, WHOLE, PAIR, diff_n=pick(0, 1, 2), on=INSIDE)
sample(special.legendre_p_all, 3, X, diff_n=pick(0, 2), on=INSIDE)
sample(special.assoc_legendre_p, WHOLE, ORDERS, PAIR, diff_n=pick(0, 1, 2), on=INSIDE, dtypes="dD")
sample(special.assoc_legendre_p_all, 2, 1, X, norm=pick(True, False), on=INSIDE)
sample(special.sph_legendre_p, WHOLE, ORDERS, PAIR, diff_n=pick(0, 1, 2), on=(0.4, 2))
sample(special.sph_legendre_p_all, 2, 1, X, on=(0.4, 2))
sample(special.sph_harm_y, WHOLE, ORDERS, PAIR, PAIR, diff_n=pick(0, 1, 2), on=(0.4, 2))
sample(special.sph_harm_y_all, 2, 1, PAIR, PAIR, on=(0.4, 2))
sample(special.assoc_laguerre, PAIR, WHOLE, B, on=INSIDE)
