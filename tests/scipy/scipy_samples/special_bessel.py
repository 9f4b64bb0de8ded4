"""Samples of tapegrad.scipy.special._bessel, _airy and _struve."""

from __future__ import annotations

import numpy as np
import scipy.special as sp
from makers import array
from sampling import X
from scipy_sampling import each, sample

POSITIVE = (0.4, 3)
PAIR = array(2)
ORDERS = [0.3, 1.2]
WHOLE = np.array([1, 2])

each([sp.j0, sp.j1, sp.i0, sp.i1, sp.ber, sp.bei, sp.berp, sp.beip], X, dtypes="df")
each([sp.y0, sp.y1, sp.k0, sp.k1, sp.k0e, sp.k1e, sp.kelvin], X, on=POSITIVE, dtypes="df")
each([sp.i0e, sp.i1e, sp.ker, sp.kei, sp.kerp, sp.keip], X, on=POSITIVE, dtypes="df")
each([sp.jv, sp.yv, sp.iv, sp.kv, sp.jve, sp.yve], ORDERS, PAIR, on=POSITIVE, dtypes="dfD")
each([sp.ive, sp.kve], ORDERS, PAIR, on=POSITIVE, dtypes="dfD")
each([sp.hankel1, sp.hankel2, sp.hankel1e, sp.hankel2e], ORDERS, PAIR, on=POSITIVE, dtypes="DF")
each([sp.yn, sp.kn], WHOLE, PAIR, on=POSITIVE)
each([sp.itj0y0, sp.iti0k0, sp.it2j0y0, sp.it2i0k0], X, on=POSITIVE)
sample(sp.besselpoly, PAIR, 0.4, ORDERS, on=POSITIVE)

sample(sp.airy, X, on=POSITIVE, dtypes="dfD")
sample(sp.airye, X, on=POSITIVE, dtypes="dfD")
sample(sp.itairy, X, on=(0.05, 0.15))  # SciPy's has 5 digits elsewhere
each([sp.struve, sp.modstruve], ORDERS, PAIR, on=POSITIVE, dtypes="df")
each([sp.itstruve0, sp.it2struve0, sp.itmodstruve0], X, on=POSITIVE)
