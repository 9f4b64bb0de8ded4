"""Samples of tapegrad.scipy.special._waves."""

from __future__ import annotations

import numpy as np
import scipy.special as sp
from makers import array
from scipy_sampling import each, sample

PAIR = array(2)
SCALAR = array(dims=(0, 0))
M, N = np.array([0, 1]), np.array([1, 2])

each([sp.mathieu_cem, sp.mathieu_sem], N, [1.1, 2.3], PAIR, on=(-60, 60))
each([sp.mathieu_modcem1, sp.mathieu_modsem1], N, [5.1, 6.3], PAIR, on=(0.4, 0.8))
each([sp.mathieu_modcem2, sp.mathieu_modsem2], N, [5.1, 6.3], PAIR, on=(0.4, 0.8))
each([sp.pro_ang1, sp.obl_ang1], M, N, [1.1, 2.3], PAIR, on=(-0.7, 0.7))
each([sp.pro_rad1, sp.pro_rad2], M, N, [2.4, 3.1], PAIR, on=(2, 2.6))
each([sp.obl_rad1, sp.obl_rad2], M, N, 3.0, PAIR, on=(2, 2.6))
each([sp.pbdv, sp.pbvv, sp.pbwa], [0.7, 1.8], PAIR, on=(-1.5, 1.5))
for _kind, _x in (("ang1", (-0.7, 0.7)), ("rad1", (2, 2.6)), ("rad2", (2, 2.6))):
    for _body, _value in (("pro", sp.pro_cv), ("obl", sp.obl_cv)):
        _cv = _value(M, N, 3.0).tolist()
        sample(getattr(sp, f"{_body}_{_kind}_cv"), M, N, 3.0, _cv, PAIR, on=_x)
