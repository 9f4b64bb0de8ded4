"""The closed ends of domains: every law of stats at the ends of its support and of its shapes,
every special function at 0, 1 and -1, by every argument; and functions of these, where zero meets
infinity.

The reference is a one-sided difference of SciPy's values, of fifth order, at several steps: two of
them that agree state its error. A slope is infinite where they grow with each step. Of functions
of functions it is known by hand, or from such differences: a derivative there is right, or NaN.
"""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest

pytest.importorskip("scipy")

import scipy.special as sp
import scipy.stats as theirs
from scipy.stats._distr_params import distcont, distdiscrete

from tapegrad import TapegradError, compile, grad, hessian, jvp, vmap
from tapegrad._core.rule import REGISTRY
from tapegrad.scipy import special, stats
from tapegrad.scipy.stats._univariate import CONTINUOUS, DISCRETE

pytest.importorskip("mpmath")  # the tables of special functions are in its terms

from backends import BACKENDS
from special_functions_oracle import CASES
from special_oracle import FUNCTIONS

WEIGHTS = np.array([-137 / 60, 5, -5, 10 / 3, -5 / 4, 1 / 5])
STEPS = (3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4)
METHODS = ("pdf", "logpdf", "cdf", "sf", "logcdf", "logsf")
OF_COUNTS = ("pmf", "logpmf", "cdf", "sf", "logcdf", "logsf")


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # SciPy's own
        yield


def one_sided(f, x, side):
    """The slope of f at x towards a side and its error; None where it is not known.

    There is none where the value jumps.
    """
    start = f(x)
    if not np.isfinite(start) or abs(f(x + side * 1e-9) - start) > 1e-3 * (1 + abs(start)):
        return None
    found = []
    for h in STEPS:
        values = np.array([start, *(f(x + side * h * k) for k in range(1, 6))])
        if np.all(np.isfinite(values)):
            found.append((side * (WEIGHTS @ values) / h, 1e-14 * np.max(np.abs(values)) / h))
    if len(found) < 3:
        return None
    pairs = itertools.pairwise(found)
    slope, error = min(
        ((b, abs(a - b) + noise) for (a, _), (b, noise) in pairs), key=lambda pair: pair[1]
    )
    if error <= 1e-3 * (abs(slope) + 1e-3):
        return slope, error
    sizes = [abs(slope) for slope, _ in found]
    if sizes[-1] > 1.2 * sizes[-2] > 1.44 * sizes[-3]:
        return np.inf * np.sign(found[-1][0]), 0.0
    if sizes[-1] < 0.9 * sizes[-2] < 0.81 * sizes[-3]:
        return 0.0, sizes[-1]
    return None


# An infinite slope at the end that their formula makes of zero times infinity comes out as NaN.
NAN_FOR_INFINITY = [getattr(stats.argus, method) for method in METHODS]


def assert_end(ours, reference, args, at, sides, *, or_nan=False):
    """The derivative by one argument is that of the sides on which there is a function.

    Where two sides differ there is a kink, which has a rule of its own. `or_nan`: it may be NaN.
    """

    def of_one(function):
        return lambda x: function(*args[:at], x, *args[at + 1 :])

    def plain(x):
        return float(of_one(reference)(x))

    found = [slope for side in sides if (slope := one_sided(plain, args[at], side)) is not None]
    if not found:
        return
    slopes = [slope for slope, _ in found]
    if len(found) == 2:
        known = np.all(np.isfinite(slopes))
        if not known or abs(slopes[0] - slopes[1]) > 1e-2 * (1 + abs(slopes[0])):
            return
    expected, error = found[0]
    got = float(grad(of_one(ours))(args[at]))
    if or_nan and np.isnan(got):
        return
    if np.isinf(expected) and ours in NAN_FOR_INFINITY:
        assert np.isnan(got) or got == expected, (args, at)
    elif np.isinf(expected):
        assert got == expected, (args, at)
    else:
        bound = 1e-4 * abs(expected) + 1e-5 + 5 * error
        assert abs(got - expected) <= bound, (args, at, got, expected, error)


# --- Laws at the ends of their support -----------------------------------------------------------

SHAPES = {name: tuple(map(float, s)) for name, s in distcont if isinstance(name, str)}
SHAPES["reciprocal"] = SHAPES["loguniform"]
# Shapes for which the density begins as the power 0, 1, 2 or one between.
POWERS = {
    "beta": [(1, 1), (2, 3), (3, 2), (1, 3), (0.5, 0.5), (1.5, 2)],
    "betaprime": [(2, 3), (3, 2)],
    "burr": [(1, 1), (2, 1), (1, 2)],
    "burr12": [(1, 2), (2, 3)],
    "chi": [(1,), (2,), (3,)],
    "chi2": [(2,), (4,), (6,), (3,)],
    "erlang": [(1,), (2,)],
    "exponpow": [(1,), (2,)],
    "exponweib": [(1, 1), (2, 1), (1, 2)],
    "f": [(2, 5), (4, 5)],
    "fisk": [(1,), (2,)],
    "gamma": [(1,), (2,), (3,), (0.5,), (1.5,)],
    "gausshyper": [(2, 3, 1, 0.5), (1, 2, 1, 0.5)],
    "gengamma": [(1, 1), (2, 1), (1, 2)],
    "genpareto": [(-0.5,), (-1 / 3,), (-0.8,)],
    "loglaplace": [(1,), (2,)],
    "mielke": [(1, 2), (2, 3)],
    "nakagami": [(0.5,), (1,)],
    "ncf": [(2, 5, 1), (4, 5, 1)],
    "ncx2": [(2, 1), (4, 1)],
    "powerlaw": [(1,), (2,), (1.5,)],
    "rdist": [(2,), (4,)],
    "rice": [(0.0,)],
    "trapezoid": [(0, 1), (0, 0.5), (0.5, 1), (0.5, 0.5)],
    "triang": [(0,), (1,)],
    "truncweibull_min": [(1, 0, 2), (2, 0, 2)],
    "weibull_max": [(1,), (2,)],
    "weibull_min": [(1,), (2,), (3,)],
}
# SciPy's values are too coarse for differences, or are integrals that take seconds.
COARSE = {"kappa4", "levy_stable", "studentized_range"}
NOT_EXACT = {"anglit"}  # the ends are multiples of pi, which no number is
laws = sorted(name for name in CONTINUOUS if hasattr(theirs, name) and name not in COARSE)
CHEAP = {"expon", "gamma", "rayleigh", "truncnorm"}
SHARED = [
    name if name in CHEAP else pytest.param(name, marks=pytest.mark.slow)
    for name in laws
    if name not in NOT_EXACT and np.any(np.isfinite(getattr(theirs, name).support(*SHAPES[name])))
]


def jumps(method, args, inwards):
    """Whether SciPy has another value at the end than beside it: 0 where a density is not."""
    at_end, beside = method(*args), method(args[0] + inwards * 1e-9, *args[1:])
    return abs(at_end - beside) > 1e-3 * (1 + abs(at_end))


def sides_inside(law, args, at):
    """The sides on which the point stays in the support as an argument moves."""

    def is_inside(side):
        x, *parameters = [*args[:at], args[at] + side * 1e-6, *args[at + 1 :]]
        low, high = law.support(*parameters)
        return low <= x <= high

    return [side for side in (1, -1) if is_inside(side)]


@pytest.mark.part(4)
@pytest.mark.parametrize("name", SHARED)
def test_a_law_at_the_ends_of_its_support(name):
    reference, ours = getattr(theirs, name), getattr(stats, name)
    for shapes in [SHAPES[name], *POWERS.get(name, [])]:
        shapes = tuple(map(float, shapes))
        for end, inwards in zip(map(float, reference.support(*shapes)), (1, -1), strict=True):
            if not np.isfinite(end):
                continue
            args = [end, *shapes, 0.0, 1.0]
            for method in METHODS:
                pair = getattr(ours, method), getattr(reference, method)
                if jumps(pair[1], args, inwards):
                    continue
                for at in range(len(args)):
                    assert_end(*pair, args, at, sides_inside(reference, args, at))


# --- Laws at the closed ends of their shapes -----------------------------------------------------


def closed_ends():
    """Each law, its shapes with one at a closed end, which one, and the side that is inside."""
    of_counts = {
        name: tuple(map(float, s))
        for name, s in distdiscrete
        if isinstance(name, str) and name in DISCRETE
    }
    for table in (SHAPES, of_counts):
        for name, shapes in sorted(table.items()):
            if (
                not hasattr(stats, name)
                or name in COARSE
                or name not in {**CONTINUOUS, **DISCRETE}
            ):
                continue
            for k, info in enumerate(getattr(theirs, name)._shape_info()[: len(shapes)]):
                for end, closed, side in zip(info.domain, info.inclusive, (1, -1), strict=True):
                    if closed and np.isfinite(end) and not info.integrality:
                        at_end = (*shapes[:k], float(end), *shapes[k + 1 :])
                        yield pytest.param(name, at_end, k, side, id=f"{name}-{info.name}={end}")


def agrees_with_itself(law, x, shapes):
    """Whether SciPy's two tails sum to 1: those of ncf without noncentrality do not."""
    return np.isclose(law.cdf(x, *shapes) + law.sf(x, *shapes), 1)


@pytest.mark.part(12)
@pytest.mark.parametrize(("name", "shapes", "k", "side"), list(closed_ends()))
def test_a_law_at_a_closed_end_of_a_shape(name, shapes, k, side):
    reference, ours = getattr(theirs, name), getattr(stats, name)
    inside = (*shapes[:k], shapes[k] + side * 1e-3, *shapes[k + 1 :])
    continuous = name in CONTINUOUS
    for x in map(float, reference.ppf([0.2, 0.9], *inside)):
        args = [x, *shapes, 0.0, *([1.0] if continuous else [])]
        asked = range(len(args)) if continuous else range(1, len(args) - 1)
        for method in METHODS if continuous else OF_COUNTS:
            if method not in ("pdf", "logpdf") and not agrees_with_itself(reference, x, shapes):
                continue
            for at in asked:
                whole = 0 < at <= len(shapes) and reference._shape_info()[at - 1].integrality
                if not whole:
                    pair = getattr(ours, method), getattr(reference, method)
                    assert_end(*pair, args, at, (side,) if at == k + 1 else (1, -1))


# --- Special functions ---------------------------------------------------------------------------


def special_functions():
    """By name: the function, a point inside, and the arguments that are no whole numbers."""
    found = {}
    for name, case in FUNCTIONS.items():
        if None not in case.ranges:
            found[name] = (name, case.ranges)
    for name, _, *ranges in CASES:
        found.setdefault(name, (name, tuple(ranges)))
    for name, ranges in found.values():
        real = [i for i, r in enumerate(ranges) if not isinstance(r[0], int) or name in FUNCTIONS]
        middle = [
            (low + high) / 2 * 1.02 + 0.013 if i in real else low + 2
            for i, (low, high) in enumerate(ranges)
        ]
        yield pytest.param(name, middle, real, id=name)


# At these the derivative is NaN, or is taken numerically: no closed form is at hand.
UNKNOWN = {("wright_bessel", 0), ("wright_bessel", 1), ("eval_legendre", 0)}
UNKNOWN |= {("eval_sh_legendre", 0), ("eval_chebyt", 1), ("eval_sh_chebyt", 1), ("gdtr", 0)}
UNKNOWN |= {("gdtrc", 0), ("voigt_profile", 1), ("modfresnelp:1", 0)}


@pytest.mark.part(12)
@pytest.mark.parametrize(("name", "middle", "real"), list(special_functions()))
def test_a_special_function_at_0_and_1(name, middle, real):
    base, _, part = name.partition(":")
    ufunc = getattr(sp, base)

    def function(*args):
        return ufunc(*args)[int(part)] if part else ufunc(*args)

    for at in real:
        if (name, at) not in UNKNOWN:
            for point in (0.0, 1.0, -1.0):
                args = [*middle[:at], point, *middle[at + 1 :]]
                if np.isfinite(function(*args)):
                    assert_end(function, function, args, at, (1, -1))


# --- Functions of functions ---------------------------------------------------------------------

# At the lower end of its support a density is c * y**p, in first order.
POWERS_OF_DENSITIES = [
    (stats.gamma, (0.5,), -0.5, 1 / sp.gamma(0.5)),
    (stats.gamma, (2.0,), 1.0, 1.0),
    (stats.gamma, (3.0,), 2.0, 0.5),
    (stats.gamma, (1.5,), 0.5, 1 / sp.gamma(1.5)),
    (stats.chi2, (1.0,), -0.5, (2 * np.pi) ** -0.5),
    (stats.chi2, (4.0,), 1.0, 0.25),
    (stats.beta, (2.0, 3.0), 1.0, 12.0),
    (stats.beta, (0.5, 0.5), -0.5, 1 / np.pi),
    (stats.expon, (), 0.0, 1.0),
    (stats.powerlaw, (0.5,), -0.5, 0.5),
    (stats.powerlaw, (2.0,), 1.0, 2.0),
    (stats.weibull_min, (2.0,), 1.0, 2.0),
    (stats.rayleigh, (), 1.0, 1.0),
    (stats.arcsine, (), -0.5, 1 / np.pi),
    (stats.triang, (0.5,), 1.0, 4.0),
    (stats.maxwell, (), 2.0, np.sqrt(2 / np.pi)),
]


def slope_of_power(c, p, q):
    """The slope of (c * y**p)**q at 0."""
    power = p * q
    return c**q if power == 1 else 0.0 if power > 1 else np.inf * np.sign(power)


def both_modes(f, x):
    return float(grad(f)(x)), float(jvp(f, (x,), (1.0,))[1])


COMMON = [
    pytest.param(
        *case,
        id=f"{case[0].name}{case[1]}",
        marks=[] if i in (0, 2, 6, 7) else pytest.mark.slow,
    )
    for i, case in enumerate(POWERS_OF_DENSITIES)
]


@pytest.mark.part(4)
@pytest.mark.parametrize(("law", "shapes", "p", "c"), COMMON)
def test_powers_of_what_vanishes_at_an_end(law, shapes, p, c):
    for q in (1 / (p + 1), 0.5, 2.0):
        expected = slope_of_power(c / (p + 1), p + 1, q)
        for found in both_modes(lambda x: law.cdf(x, *shapes) ** q, np.float64(0)):  # noqa: B023
            np.testing.assert_allclose(found, expected, rtol=1e-9)
    if p > 0:
        for found in both_modes(lambda x: law.pdf(x, *shapes) ** (1 / p), np.float64(0)):
            np.testing.assert_allclose(found, c ** (1 / p), rtol=1e-9)
    f = lambda x: np.cbrt(law.cdf(x**3, *shapes) ** (1 / (p + 1)))  # noqa: E731
    expected = (c / (p + 1)) ** (1 / (p + 1) / 3)
    for found in both_modes(f, np.float64(0)):  # a limit keeps powers of x up to the fifth
        assert (p > 0 and np.isnan(found)) or abs(found - expected) <= 1e-9 * expected


INVERSES = {
    "expit": (sp.expit, sp.logit),
    "ndtr": (sp.ndtr, sp.ndtri),
    "erf": (lambda x: (1 + sp.erf(x)) / 2, lambda p: sp.erfinv(2 * p - 1)),
    "erfc": (lambda x: sp.erfc(x) / 2, lambda p: sp.erfcinv(2 * p)),
    "gammainc": (lambda x: sp.gammainc(2.0, x), lambda p: sp.gammaincinv(2.0, p)),
    "gammainc steep": (lambda x: sp.gammainc(0.5, x), lambda p: sp.gammaincinv(0.5, p)),
    "gammaincc": (lambda x: sp.gammaincc(2.0, x), lambda p: sp.gammainccinv(2.0, p)),
    "betainc": (lambda x: sp.betainc(2.0, 3.0, x), lambda p: sp.betaincinv(2.0, 3.0, p)),
    "betainc steep": (lambda x: sp.betainc(0.5, 0.5, x), lambda p: sp.betaincinv(0.5, 0.5, p)),
    "log_ndtr": (lambda x: np.exp(sp.log_ndtr(x)), sp.ndtri),
    "log_expit": (lambda x: np.exp(sp.log_expit(x)), sp.logit),
    "logsumexp": (lambda x: np.exp(special.logsumexp(np.stack([x, x]))) / 2, np.log),
    "stdtr": (lambda t: sp.stdtr(3.0, t), lambda p: sp.stdtrit(3.0, p)),
}


@pytest.mark.part(6)
@pytest.mark.parametrize("name", INVERSES)
def test_a_special_function_of_its_inverse_at_an_end(name):
    function, inverse = INVERSES[name]
    for p in (np.float64(0), np.float64(1)):
        if function(inverse(p)) == p:  # SciPy's stdtrit has the wrong sign at 0
            for found in both_modes(lambda p: function(inverse(p)), p):
                assert np.isnan(found) or abs(found - 1) < 1e-9
        for found in both_modes(lambda p: inverse(p) ** -2.0, p):  # -0.0 for a finite inverse
            assert found != 0 or np.isfinite(inverse(p))


SOME = ("norm", "gamma", "powerlaw", "pareto")
IN_TURN = [
    name if name in SOME else pytest.param(name, marks=pytest.mark.slow)
    for name in laws
    if name not in NOT_EXACT
]


@pytest.mark.part(4)
@pytest.mark.parametrize("name", IN_TURN)
def test_a_law_of_its_quantile_at_an_end(name):
    """Neither tail of a quantile may come to a slope that is not 1."""
    law, shapes = getattr(stats, name), SHAPES[name]
    for p in (np.float64(0), np.float64(1)):
        for method, inverse in (("cdf", "ppf"), ("sf", "isf")):
            plain = getattr(theirs, name)
            if getattr(plain, method)(getattr(plain, inverse)(p, *shapes), *shapes) != p:
                continue
            f = lambda p: getattr(law, method)(getattr(law, inverse)(p, *shapes), *shapes)  # noqa: B023, E731
            for found in both_modes(f, p):
                assert np.isnan(found) or abs(found - 1) < 1e-6, (p, method, found)


OUTER = {
    "square": np.square,
    "sqrt": np.sqrt,
    "cbrt": np.cbrt,
    "exp": np.exp,
    "log": np.log,
    "reciprocal": np.reciprocal,
    "arctan": np.arctan,
    "fourth power": lambda u: u**4,
    "root of the rest": lambda u: np.sqrt(1 - u),
    "log of the rest": lambda u: np.log1p(-u),
    "odds": lambda u: u / (1 - u),
    "entropy": lambda u: -u * np.log(u),
}


# Differences show rounding of a constant density, or one that rises within their steps.
UNSEEN = {("beta", (1.0, 1.0)), ("fatiguelife", (29.0,))}


# Laws of which this takes more than five seconds each.
LONG = set("beta gausshyper gengamma genpareto ncf ncx2 rdist trapezoid triang".split())


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.scheduled] * (name in LONG))
        for name in (getattr(each, "values", (each,))[0] for each in SHARED)
    ],
)
def test_functions_of_a_law_at_the_ends_of_its_support(name):
    reference, ours = getattr(theirs, name), getattr(stats, name)
    for shapes in [SHAPES[name], *POWERS.get(name, [])]:
        shapes = tuple(map(float, shapes))
        if (name, shapes) in UNSEEN:
            continue
        for end, inwards in zip(map(float, reference.support(*shapes)), (1, -1), strict=True):
            if not np.isfinite(end):
                continue
            args = [np.float64(end), *shapes, 0.0, 1.0]
            for method in METHODS:
                own, plain = getattr(ours, method), getattr(reference, method)
                if jumps(plain, args, inwards):
                    continue
                for outer in OUTER.values():
                    pair = [lambda *args, f=f: outer(f(*args)) for f in (own, plain)]  # noqa: B023
                    assert_end(*pair, args, 0, (inwards,), or_nan=True)


# --- The same in all transforms ------------------------------------------------------------------

AT_AN_END = {
    "gamma": (lambda x: stats.gamma.pdf(x, 2.0), 0.0, 1.0, -2.0),
    "chi2": (lambda x: stats.chi2.pdf(x, 4.0), 0.0, 0.25, -0.25),
    "rayleigh": (stats.rayleigh.pdf, 0.0, 1.0, 0.0),
    "weibull_min": (lambda x: stats.weibull_min.pdf(x, 2.0), 0.0, 2.0, 0.0),
    "beta": (lambda x: stats.beta.pdf(x, 2.0, 3.0), 0.0, 12.0, -48.0),
    "beta at 1": (lambda x: stats.beta.pdf(x, 3.0, 2.0), 1.0, -12.0, -48.0),
    "expon": (stats.expon.pdf, 0.0, -1.0, 1.0),
    "a distribution function": (lambda x: stats.gamma.cdf(x, 2.0), 0.0, 0.0, 1.0),
    "its complement": (lambda x: stats.expon.logsf(x), 0.0, -1.0, 0.0),
    "rice": (lambda b: stats.rice.logpdf(1.3, b), 0.0, 0.0, 1.3**2 / 2 - 1),
    "vonmises": (lambda k: stats.vonmises.logpdf(1.3, k), 0.0, np.cos(1.3), -0.5),
    "ncx2": (lambda nc: stats.ncx2.logpdf(1.0, 2.0, nc), 0.0, -0.25, -1 / 32),
    "logsumexp": (
        lambda b: special.logsumexp(np.array([0.0, np.log(6.0), 0.0]), b=np.stack([b, 1.0, 1.0])),
        0.0,
        1 / 7,
        -1 / 49,
    ),
}


@pytest.mark.parametrize("name", AT_AN_END)
def test_first_and_second_derivatives_at_an_end(name):
    f, at, first, second = AT_AN_END[name]
    np.testing.assert_allclose(grad(f)(at), first, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(jvp(f, (at,), (1.0,))[1], first, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(hessian(f)(at), second, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("name", ["gamma", "beta at 1", "vonmises", "logsumexp"])
def test_ends_beside_inner_points_in_all_transforms(name):
    f, at, first, _ = AT_AN_END[name]
    batch = np.array([at, 0.3])
    slopes = [first, grad(f)(0.3)]
    np.testing.assert_allclose(vmap(grad(f))(batch), slopes, rtol=1e-12)
    if name != "logsumexp":
        np.testing.assert_allclose(grad(lambda x: np.sum(f(x)))(batch), slopes, rtol=1e-12)
    for backend in BACKENDS:
        compiled = compile(grad(f), backend=backend)
        np.testing.assert_allclose([compiled(0.3), compiled(at)], slopes[::-1], rtol=1e-12)
    single = grad(f)(np.float32(at))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, first, rtol=1e-6)


def test_a_weight_of_zero_beside_a_term_that_overflows():
    """Its slope is exp(1000), and nothing else is touched by it."""
    a, b = np.array([1000.0, 0.0, 0.0]), np.array([0.0, 1.0, 2.0])
    with np.errstate(over="ignore"):
        by_a, by_b = grad(lambda a, b: special.logsumexp(a, b=b), (0, 1))(a, b)
    np.testing.assert_allclose(by_a, [0, 1 / 3, 2 / 3])
    np.testing.assert_allclose(by_b, [np.inf, 1 / 3, 1 / 3])


@pytest.mark.parametrize("df", [0.5, 39.0, 41.0, 1e3, 1e7, 1e15])
@pytest.mark.parametrize("x", [0.0, 0.3, 5.0])
def test_student_by_many_degrees_of_freedom(x, df):
    import mpmath as mp

    with mp.workdps(80):

        def logpdf(df):
            height = mp.loggamma((df + 1) / 2) - mp.loggamma(df / 2) - mp.log(df) / 2
            return height - (df + 1) / 2 * mp.log1p(mp.mpf(x) ** 2 / df)

        right = [mp.diff(logpdf, mp.mpf(df), n, h=mp.mpf(df) * mp.mpf(10) ** -20) for n in (1, 2)]
    f = lambda df: stats.t.logpdf(x, df)  # noqa: E731
    np.testing.assert_allclose(float(grad(f)(df)), float(right[0]), rtol=1e-12)
    np.testing.assert_allclose(float(grad(grad(f))(df)), float(right[1]), rtol=1e-12)
    together = grad(lambda df: np.sum(stats.t.logpdf(np.full(2, x), df)))(df)
    np.testing.assert_allclose(together, 2 * float(right[0]), rtol=1e-12)


def test_a_limit_at_an_end_in_all_transforms():
    f = lambda x: stats.chi2.cdf(x, 1.0) ** 2  # noqa: E731
    batch, at_end = np.array([0.0, 0.3]), 2 / np.pi
    slopes = [at_end, grad(f)(0.3)]
    np.testing.assert_allclose(vmap(grad(f))(batch), slopes, rtol=1e-12)
    np.testing.assert_allclose(grad(lambda x: np.sum(f(x)))(batch), slopes, rtol=1e-12)
    for backend in BACKENDS:
        compiled = compile(grad(f), backend=backend)
        np.testing.assert_allclose([compiled(0.3), compiled(0.0)], slopes[::-1], rtol=1e-12)
    np.testing.assert_allclose(grad(f)(np.float32(0)), at_end, rtol=1e-6)


@pytest.mark.parametrize("of", [lambda f: grad(grad(f)), hessian, lambda f: grad(jvp_of(f))])
def test_second_derivatives_of_what_is_infinite_are_no_zeros(of):
    assert of(lambda x: stats.powerlaw.cdf(x, 0.5))(0.0) == -np.inf
    found = of(lambda x: stats.chi2.cdf(x, 1.0) ** 2)(0.0)
    np.testing.assert_allclose(found, -4 / (3 * np.pi), rtol=1e-12)


def jvp_of(f):
    return lambda x: jvp(f, (x,), (1.0,))[1]


def test_results_of_one_function_have_zeros_of_their_own():
    """The cosine integral is infinite at 0, where the sine integral has the slope 1."""
    x = np.float64(0)
    assert grad(lambda x: sp.sici(x)[0])(x) == 1
    chosen = lambda x: sp.sici(x)[0] + np.where(x > 0, sp.sici(x)[1], 0.0)  # noqa: E731
    for found in both_modes(chosen, x):
        assert found == 1
    for found in both_modes(lambda x: np.exp(sp.sici(x)[1]), x):  # exp(gamma)
        assert np.isnan(found)


# Of functions without a series of their own, that of Taylor; first derivatives, or second ones.
ROOT = np.sqrt
SERIES = {
    "huber": (lambda x: sp.huber(ROOT(x), 1) ** 2, 1, 1),
    "huber beyond": (lambda x: sp.huber(1 + ROOT(x) ** 2, 1.3), 1, 0.3),
    "logistic": (lambda x: stats.logistic.cdf(ROOT(x) ** 2), 1, 0.25),
    "agm": (lambda x: sp.agm(ROOT(x) ** 2, 1.0), 1, np.nan),  # infinite
    "j1": (lambda x: sp.j1(ROOT(x)) ** 2, 1, 0.25),
    "dawsn": (lambda x: sp.dawsn(ROOT(x)) ** 2, 1, 1),
    "iv by order": (lambda x: sp.iv(ROOT(x) ** 2, 1.3), 1, -0.2782476463000178),
    "ellipk": (lambda x: sp.ellipk(ROOT(x) ** 2), 1, np.pi / 8),
    "j0 of abs": (lambda x: sp.j0(np.abs(x)), 2, -0.5),
    "gamma of abs": (lambda x: sp.gamma(1 + ROOT(x * x) ** 2), 2, -2 * np.euler_gamma),
    "i0e of a square": (lambda x: sp.i0e(x * x), 2, -2),
    "i0e without its kink": (lambda x: sp.i0e(x) * np.exp(np.abs(x)), 2, 0.5),
    "i1e without its kink": (lambda x: sp.i1e(np.sin(x)) * np.exp(np.abs(np.sin(x))), 2, 0),
    "ellipk of abs": (lambda x: sp.ellipk(np.abs(x)), 2, 9 * np.pi / 64),
    "copysign": (lambda x: np.copysign(x**2, x), 2, 0),
}


QUICK = "huber", "agm", "j0 of abs", "copysign"


@pytest.mark.part(2)
@pytest.mark.parametrize(
    "name",
    [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in SERIES],
)
def test_a_limit_through_a_function_without_a_series(name):
    f, order, slope = SERIES[name]
    for found in both_modes(f if order == 1 else grad(f), np.float64(0)):
        np.testing.assert_allclose(found, slope, rtol=1e-7, atol=1e-12)


def test_an_inverse_at_a_certain_chance():
    """SciPy's search ends at 0, from which the solution of a neighbour moves away."""
    assert np.isnan(grad(sp.chdtriv)(1.0, 0.75))


@pytest.mark.parametrize("p", [0.0, 1.0])
def test_the_inverse_of_kolmogorov_falls_without_end(p):
    assert grad(sp.kolmogi)(p) == -np.inf
    assert not np.isfinite(grad(grad(sp.kolmogi))(p))


def test_a_series_of_several_results_tells_of_a_nan():
    with np.errstate(invalid="warn"), pytest.warns(RuntimeWarning, match="fresnel"):
        jvp(lambda x: sp.fresnel(ROOT(x))[0] ** 2, (0.0,), (1.0,))


# --- Second derivatives where the first is infinite ---------------------------------------------

SCALARS = [
    f
    for f, rule in REGISTRY.items()
    if rule.form == "elementwise" and isinstance(f, np.ufunc) and f.nout == 1
]


@pytest.mark.slow
def test_where_the_slope_is_infinite_the_second_derivative_is_not_finite():
    """It was 0 for `agm` and inverse distributions, of a slope that `np.where` chose."""
    wrong, count = [], 0
    for f in SCALARS:
        for at, c, x in itertools.product(range(f.nin), (0.5, 2.0), (0.0, 1.0, -1.0, 2.0, 0.5)):

            def g(x, f=f, at=at, c=c):
                args = [c + 0.25 * i for i in range(f.nin)]
                args[at] = x
                return f(*args)

            try:
                if not np.isrealobj(g(x)) or not np.isinf(grad(g)(x)):
                    continue
                count += 1
                if np.isfinite(grad(grad(g))(x)):
                    wrong.append((f.__name__, at, c, x))
            except (TapegradError, TypeError):
                continue
    assert wrong == []
    assert count > 100
