"""Special functions where a formula would cancel, under- or overflow: against mpmath."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("scipy")
pytest.importorskip("mpmath")

import mpmath as mp
import scipy.special as sp

from tapegrad import grad, jvp


def gamma_lower(a, x):
    return mp.gammainc(a, 0, x, regularized=True)


CASES = {
    "a mean of distant numbers": (sp.agm, mp.agm, (1e-200, 4.1), 0),
    "a mean of distant numbers, the other": (sp.agm, mp.agm, (1e200, 4.1), 1),
    "a mean beside a huge number": (sp.agm, mp.agm, (1e200, 4.1), 0),
    "an incomplete gamma far below its shape": (sp.gammainc, gamma_lower, (30.6, 1e-8), 1),
    "chi-squared far below its shape": (
        sp.chdtr, lambda v, x: gamma_lower(v / 2, x / 2), (30.6, 1e-8), 1,
    ),
    "kei near 0": (sp.kei, lambda x: mp.kei(0, x), (1e-8,), 0),
    "bei near 0": (sp.bei, lambda x: mp.bei(0, x), (1e-8,), 0),
    "ber near 0": (sp.ber, lambda x: mp.ber(0, x), (1e-3,), 0),
}  # fmt: skip


@pytest.mark.part(3)
@pytest.mark.parametrize("name", CASES)
def test_slopes_at_the_scales_where_formulas_fail(name):
    ufunc, of_mpmath, args, at = CASES[name]

    def of_one(function, of=lambda x: x):
        rest = [of(x) for x in args]
        return lambda x: function(*rest[:at], x, *rest[at + 1 :])

    with mp.workdps(60):
        step = mp.mpf(args[at]) * mp.mpf(10) ** -30
        right = float(mp.diff(of_one(of_mpmath, mp.mpf), mp.mpf(args[at]), h=step))
    np.testing.assert_allclose(grad(of_one(ufunc))(args[at]), right, rtol=1e-12)
    np.testing.assert_allclose(jvp(of_one(ufunc), (args[at],), (1.0,))[1], right, rtol=1e-12)
