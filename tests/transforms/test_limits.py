"""Programs f(g(h(x))) drawn from a table, at points where one of them is singular or has a kink.

mpmath finds the right derivative beside the point, on each side. Ours is that of both sides, of
the only one, infinite with it, or at a kink between both. No other finite number may come out.
"""

from __future__ import annotations

import itertools
from contextlib import suppress

import numpy as np
import pytest

pytest.importorskip("mpmath")

import mpmath as mp

from tapegrad import grad, hessian, jacfwd, jacrev, jvp, vjp
from tapegrad._core import limits
from tapegrad._transforms.recording import Recording


class OutsideError(Exception):
    """An argument is outside of the domain of real numbers."""


TABLE = {
    "sqrt": (np.sqrt, mp.sqrt),
    "cbrt": (np.cbrt, lambda x: mp.sign(x) * mp.cbrt(abs(x))),
    "square": (np.square, lambda x: x**2),
    "cube": (lambda x: x**3, lambda x: x**3),
    "three halves": (lambda x: x**1.5, lambda x: mp.sqrt(x) ** 3),
    "reciprocal": (lambda x: 1 / x, lambda x: 1 / x),
    "abs": (np.abs, abs),
    "root of square": (lambda x: np.sqrt(x * x), abs),
    "relu": (lambda x: np.maximum(x, 0), lambda x: max(x, mp.mpf(0))),
    "least": (lambda x: np.minimum(x, 0.5), lambda x: min(x, mp.mpf(0.5))),
    "exp": (np.exp, lambda x: mp.exp(min(x, mp.mpf(100)))),
    "expm1": (np.expm1, lambda x: mp.expm1(min(x, mp.mpf(100)))),
    "log": (np.log, mp.log),
    "log1p": (np.log1p, lambda x: mp.log(1 + x)),
    "sin": (np.sin, mp.sin),
    "cos": (np.cos, mp.cos),
    "tan": (np.tan, mp.tan),
    "arcsin": (np.arcsin, mp.asin),
    "arccos": (np.arccos, mp.acos),
    "arctan": (np.arctan, mp.atan),
    "cosh": (np.cosh, lambda x: mp.cosh(min(abs(x), mp.mpf(100)))),
    "tanh": (np.tanh, mp.tanh),
    "arccosh": (np.arccosh, mp.acosh),
    "arctanh": (np.arctanh, mp.atanh),
    "signed root": (
        lambda x: np.sign(x) * np.sqrt(np.abs(x)),
        lambda x: mp.sign(x) * mp.sqrt(abs(x)),
    ),
    "one less": (lambda x: 1 - x, lambda x: 1 - x),
    "one more": (lambda x: 1 + x, lambda x: 1 + x),
}
COMMON = list(itertools.product(TABLE, TABLE, TABLE, [0.0, 1.0, -1.0]))
with suppress(ImportError):  # functions whose series are those of their derivatives
    import scipy.special as sp

    TABLE |= {
        "erf": (sp.erf, mp.erf),
        "j0": (sp.j0, lambda x: mp.besselj(0, x)),
        "i0e": (sp.i0e, lambda x: mp.besseli(0, x) * mp.exp(-abs(x))),
        "gamma of one more": (lambda x: sp.gamma(1 + x), lambda x: mp.gamma(1 + x)),
        "dawsn": (
            sp.dawsn,
            lambda x: mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x),
        ),
    }
TRIPLES = list(itertools.product(TABLE, TABLE, TABLE, [0.0, 1.0, -1.0]))
DISTANCES = [mp.mpf(10) ** -k for k in (14, 18, 22, 26)]


def composed(names, which):
    def f(x):
        for name in reversed(names):
            x = TABLE[name][which](x)
            if isinstance(x, mp.mpc):
                raise OutsideError
            if isinstance(x, mp.mpf) and abs(x) > 1e30:
                raise OverflowError
        return x

    return f


def side(f, x, order, sign):
    """The derivative beside x: its limit, infinite, None outside of the domain, or "unknown"."""
    found = []
    with mp.workdps(120):
        for distance in DISTANCES:
            at, h = mp.mpf(x) + sign * distance, distance * mp.mpf(10) ** -20
            try:
                right, here, left = f(at + h), f(at), f(at - h)
            except (OutsideError, ValueError):
                return None
            except (OverflowError, ZeroDivisionError):
                return "unknown"
            found.append(
                (right - left) / (2 * h) if order == 1 else (right - 2 * here + left) / h**2
            )
        *_, before, last = found
        if not mp.isfinite(last):
            return "unknown"
        if abs(last) > 100 and abs(last) > 1.5 * abs(before):
            return float(mp.sign(last)) * np.inf
        near = abs(last - before) <= 1e-5 * max(abs(last), mp.mpf(10) ** -3)
        return float(last) if near else "unknown"


def is_right(found, f, x, order):
    if not np.abs(found) < 1e15:  # a pole beside which rounding has led, as of tan at pi / 2
        return True
    sides = [side(f, x, order, sign) for sign in (1, -1)]
    if "unknown" in sides or sides == [None, None]:
        return True
    known = [value for value in sides if value is not None]
    room = 1e-5 * abs(found) + 2e-3 * (abs(found) < 1e-2)
    return min(known) - room <= found <= max(known) + room


def is_regular(names, x):
    """Whether all values and slopes are finite, so that no limit is asked for."""
    value = x
    for name in reversed(names):
        function = TABLE[name][0]
        if not np.isfinite(grad(function)(value)) or value == 0.0:
            return False
        value = function(value)
    return True


def draw(count, seed, triples):
    dice = np.random.default_rng(seed)
    with np.errstate(all="ignore"):
        drawn = (triples[i] for i in dice.permutation(len(triples)))
        singular = (entry for entry in drawn if not is_regular(entry[:3], entry[3]))
        yield from itertools.islice(singular, count)


def wrong(count, seed, derivative, order, triples=TRIPLES):
    """The programs of which a derivative is finite and wrong."""
    for *names, x in draw(count, seed, triples):
        if order > 1 and {"relu", "least"} & set(names):
            continue  # a tie of a maximum gives a half to each
        f = composed(names, 0)
        with np.errstate(all="ignore"):
            found = float(derivative(f)(x))
        if not is_right(found, composed(names, 1), x, order):
            yield (*names, x, found)


def pushed(f):
    return lambda x: jvp(f, (x,), (1.0,))[1]


FIRST = {"grad": grad, "jvp": pushed}
SECOND = {
    "grad of grad": lambda f: grad(grad(f)),
    "jvp of grad": lambda f: pushed(grad(f)),
    "jvp of jvp": lambda f: pushed(pushed(f)),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("way", FIRST)
def test_no_slope_is_finite_and_wrong(way):
    assert list(wrong(60, 0, FIRST[way], 1, COMMON)) == []


@pytest.mark.filterwarnings("ignore")
def test_no_second_derivative_is_finite_and_wrong():
    assert list(wrong(30, 0, SECOND["jvp of grad"], 2, COMMON)) == []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("way", FIRST)
def test_no_slope_of_many_is_finite_and_wrong(way):
    assert list(wrong(1000, 1, FIRST[way], 1)) == []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("way", SECOND)
def test_no_second_derivative_of_many_is_finite_and_wrong(way):
    assert list(wrong(300, 2, SECOND[way], 2)) == []


# Limits within limits, and of what another variable moves: right, or NaN where there is none.
COMPLEX = np.array([1j, 2j])
NESTED = {
    "scale within": (lambda y: grad(lambda x: np.sqrt(x) ** 2 * y)(0.0), 1.0, 1),
    "scale of a square": (lambda s: grad(lambda m: s * np.arccos(1 - m) ** 2)(0.0), 2.0, 2),
    "scale of abs": (lambda a: grad(grad(lambda x: a * np.abs(x) ** 2))(0.0), 1.0, 2),
    "argument scaled": (lambda s: grad(lambda m: np.cbrt((m * s) ** 3))(0.0), 2.0, 1),
    "complex read": (lambda x: np.cbrt(np.imag((x * COMPLEX)[0]) ** 3), 0.0, 1),
    "complex pole": (lambda x: np.arctan(1 / np.imag((x * COMPLEX)[0])), 0.0, -1),
    "real of exp": (grad(lambda x: np.real(np.exp(1j * np.abs(x)))), 0.0, -1),
    "imag of log": (grad(lambda x: np.imag(np.log(1 + 1j * np.abs(x))) * np.abs(x)), 0.0, 2),
    "abs of exp": (grad(lambda x: np.abs(np.exp(1j * np.abs(x)) + 1)), 0.0, -0.5),
    "one side of several": (lambda x: np.sum(np.tanh(np.sqrt(x)) ** 2), np.zeros(2), [1, 1]),
}
HESSIANS = {
    "root times another": (
        lambda x: np.sqrt(x[0]) * np.sqrt(x[0]) * x[1],
        [0.0, 1.0],
        [0, 1, 1, 0],
    ),
    "cubes": (lambda x: np.cbrt(x[0] ** 3) * x[1] ** 2, [0.0, 1.0], [0, 2, 2, 0]),
    "two cubes": (lambda x: np.cbrt(x[0] ** 3) * np.cbrt(x[1] ** 3), [0.0, 0.0], [0, 1, 1, 0]),
    "a kink of a product": (lambda x: np.abs(x[0] * x[1]), [0.0, 0.0], np.nan),
}


@pytest.mark.part(3)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NESTED)
def test_limits_within_limits(name):
    f, x, expected = NESTED[name]
    found = grad(f)(x)
    assert name == "argument scaled" and np.isnan(found) or np.allclose(found, expected)


@pytest.mark.part(4)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("of", [hessian, lambda f: jacrev(grad(f)), lambda f: jacfwd(jacfwd(f))])
@pytest.mark.parametrize("name", HESSIANS)
def test_hessians_are_symmetric_or_unknown(name, of):
    f, x, expected = HESSIANS[name]
    found = np.ravel(of(f)(np.array(x)))
    assert np.all(
        np.isclose(found, expected) | np.isnan(found) | (name[:6] == "a kink") * (found == 0)
    )


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("f", [np.arcsin, lambda x: np.log(x - 3) * x**2])
def test_all_derivatives_of_nan_are_nan(f):
    for of in (jacfwd, jacrev, grad, pushed):
        assert np.isnan(of(f)(2.0))
        for again in (jacfwd, jacrev, pushed):
            assert np.isnan(again(of(f))(2.0))


def test_no_limit_is_sought_where_the_value_is_infinite(monkeypatch):
    """As at the edge of what exp holds: an optimizer goes there, and the search takes seconds."""

    def f(x):
        return -np.sum(np.log(np.exp(-1e3 * x**2)))

    x = np.array([1.0, 0.5])
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = grad(f)(x)
        assert np.any(np.isnan(expected))
        monkeypatch.setattr(Recording, "_resolved", None)
        value, pullback = vjp(f, x)
        assert value == np.inf
        np.testing.assert_array_equal(pullback(1.0)[0], expected)


def of_power_of_zero(p):
    return np.log(p[0] * p[1] + 1 / (1 + (np.array(0.0) / p[0]) ** -p[1]))


ASKED = {  # how many sides of lines are asked for a limit, with as few and with more powers
    "a power of zero, of which none has a series": (of_power_of_zero, [2.0, 3.0], [0.5, 1 / 3], 1),
    "a limit of few powers": (lambda p: np.sqrt(p[0] * p[0]) * p[1], [0.0, 3.0], [0.0, 0.0], 6),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ASKED)
def test_more_is_asked_only_where_it_can_tell_a_limit(name, monkeypatch):
    f, x, expected, most = ASKED[name]
    asked = []

    def counted(*args):
        asked.append(args)
        return limits_forward(*args)

    limits_forward = limits.forward
    monkeypatch.setattr(limits, "forward", counted)
    found = grad(f)(np.array(x))
    assert np.all(np.isnan(found) | np.isclose(found, expected))
    assert 0 < len(asked) <= most


@pytest.mark.filterwarnings("ignore")
def test_a_constant_zero_over_what_moves_is_zero_on_every_line():
    def f(p):
        return 1 / (1 + (np.array(0.0) / p[0]) ** -p[1])

    assert grad(f)(np.array([2.0, 3.0]))[0] == 0
