"""The first call of a function gives the same bits as later ones, which have learned from it."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest

import tapegrad
from tapegrad._arrays import ufuncs
from tapegrad._core.rule import rules_of_form

if find_spec("scipy") is not None:  # whose ufuncs have rules then, too
    import tapegrad.scipy.special

X = np.random.default_rng(3).uniform(0.1, 0.9, 40)
BAR = np.random.default_rng(4).uniform(-2, 2, 40)
UNARY = [
    rule.function
    for rule in rules_of_form("elementwise")
    if rule.unary and isinstance(rule.function, np.ufunc)
]


def derivatives(ufunc, x):
    with np.errstate(all="ignore"):
        out, pullback = tapegrad.vjp(ufunc, x)
        bar = BAR.astype(out.dtype)
        first = pullback(bar)[0]
        by_jvp = tapegrad.jvp(ufunc, (x,), (BAR.astype(x.dtype),))[1]
        second = tapegrad.vjp(lambda x: tapegrad.vjp(ufunc, x)[1](bar)[0], x)[1](first)[0]
    return out, first, by_jvp, second


@pytest.mark.part(3)
@pytest.mark.parametrize("ufunc", UNARY, ids=lambda ufunc: ufunc.__name__)
def test_the_first_call_of_a_ufunc_gives_the_bits_of_later_ones(ufunc, monkeypatch):
    for dtype in "fdgD":
        for table in ("UNARY", "REAL", "LOOPS", "PAIRS"):
            monkeypatch.setattr(ufuncs, table, {})
        x = X.astype(dtype) + (1 if ufunc is np.arccosh else 0)
        try:
            first = derivatives(ufunc, x)
        except TypeError:
            assert not has_loop(ufunc, x.dtype)
            continue
        for a, b in zip(first, derivatives(ufunc, x), strict=True):
            np.testing.assert_array_equal(a, b, strict=True)


def has_loop(ufunc, dtype):
    try:
        ufunc.resolve_dtypes((dtype, None))
    except TypeError:
        return False
    return True
