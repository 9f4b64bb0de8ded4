"""Derivatives of the ufuncs of `scipy.special` by every argument, against mpmath's."""

from __future__ import annotations

import functools
import zlib

import numpy as np
import pytest

pytest.importorskip("scipy")
pytest.importorskip("mpmath")

import mpmath as mp
import scipy.special as sp
from special_oracle import DIGITS, FUNCTIONS, INVERSES, beta_lower, fisher

from tapegrad import grad, hessian

AT_MOST = 1e-10

# SciPy's, of counts that are floats
pytestmark = pytest.mark.filterwarnings("ignore:non-integer arg n:DeprecationWarning")


def drawn(name, ranges, count):
    """Points between the bounds, by a scale of their own where these are positive."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    columns = []
    for bounds in ranges:
        if bounds is None:
            columns.append(np.full(count, 3.0 + len(columns) * 4))
        else:
            low, high = bounds
            apart = low > 0 and high / low > 50
            column = np.exp(rng.uniform(*np.log(bounds), count)) if apart else None
            columns.append(rng.uniform(low, high, count) if column is None else column)
    return list(zip(*[column.tolist() for column in columns], strict=True))


def slope(value, args, place):
    """mpmath's derivative by one argument."""
    with mp.workdps(DIGITS):
        numbers = [mp.mpf(x) for x in args]
        step = mp.mpf(10) ** -(DIGITS // 3) * max(abs(numbers[place]), mp.mpf("0.01"))
        with mp.workdps(2 * DIGITS):

            def at(change):
                return value(*numbers[:place], numbers[place] + change, *numbers[place + 1 :])

            # the central difference, exact to the sixth order
            differences = [(at(k * step) - at(-k * step)) / (2 * k * step) for k in (1, 2)]
            return (4 * differences[0] - differences[1]) / 3


def worst_of(name, count):
    case = FUNCTIONS[name]
    ufunc = getattr(sp, name)
    worst = 0.0
    for args in drawn(name, case.ranges, count):
        for place, bounds in enumerate(case.ranges):
            with np.errstate(all="ignore"):
                found = grad(ufunc, place)(*map(np.float64, args))
            expected = 0 if bounds is None else slope(case.value, args, place)
            worst = max(worst, error(found, expected))
    return worst


def error(found, expected):
    if expected == 0:
        return float(abs(found))
    return float(abs((found - expected) / expected))


def worst_inverse(name, count):
    signature, value, ranges = INVERSES[name]
    arguments, _, solved = signature.partition(" -> ")
    worst, compared = 0.0, 0
    for point in drawn(name, list(ranges.values()), 4 * count):
        known = dict(zip(ranges, point, strict=True))
        with mp.workdps(DIGITS):
            p = float(value(*map(mp.mpf, point)))
            p = 1 - p if "q" in arguments.split() else p
        if not 1e-3 < p < 0.999:
            continue
        args = [p if n in "pq" else known[n] for n in arguments.split()]
        out = float(getattr(sp, name)(*args))
        if abs(out / known[solved] - 1) > 1e-5:
            continue  # SciPy's search ends elsewhere, as for fdtridfd
        compared += 1
        place_of = {n: i for i, n in enumerate(ranges)}
        at = [out if n == solved else known[n] for n in ranges]
        steep = slope(value, at, place_of[solved])
        for place, argument in enumerate(arguments.split()):
            found = grad(getattr(sp, name), place)(*map(np.float64, args))
            change = {"p": -1, "q": 1}.get(argument)
            if change is None:
                change = slope(value, at, place_of[argument])
            worst = max(worst, error(found, -change / steep))
        if compared == count:
            break
    assert compared == count
    return worst


@pytest.mark.part(2)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_derivatives_are_those_of_mpmath(name):
    assert worst_of(name, 1) < AT_MOST


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_derivatives_are_those_of_mpmath_at_many_points(name):
    assert worst_of(name, 6) < AT_MOST


@pytest.mark.parametrize("name", INVERSES)
def test_the_derivatives_of_inverses_are_those_of_mpmath(name):
    assert worst_inverse(name, 1) < AT_MOST


def chi_squared(x, df, nc):
    return mixture(nc, lambda j: mp.gammainc(df / 2 + j, 0, x / 2, regularized=True))


def noncentral_f(dfn, dfd, nc, f):
    at = dfn * f / (dfd + dfn * f)
    return mixture(nc, lambda j: mp.betainc(dfn / 2 + j, dfd / 2, 0, at, regularized=True))


def mixture(nc, term):
    weight = mp.exp(-nc / 2)
    return sum(weight * (nc / 2) ** j / mp.factorial(j) * term(j) for j in range(int(nc) + 50))


def student(df, nc, t):
    """The mean of the normal distribution over the scale."""

    def density(w):
        scale = mp.sqrt(2 * mp.exp(w) / df)
        return mp.exp(w * df / 2 - mp.exp(w) - mp.loggamma(df / 2)) * mp.ncdf(t * scale - nc)

    middle, width = mp.log(df / 2), mp.sqrt(2 / df)
    return mp.quad(density, [middle + width * i for i in (-60, -30, -9, -3, 0, 3, 9)])


# --- Inverses of the noncentral distributions: SciPy's have 5 digits at times, so that their
# derivatives are compared with those of the distribution at the point that SciPy found.

NONCENTRAL = [
    (sp.chndtr, "x df nc", sp.chndtrix, "p df nc -> x", (3.0, 2.5, 1.5)),
    (sp.chndtr, "x df nc", sp.chndtridf, "x p nc -> df", (3.0, 2.5, 1.5)),
    (sp.chndtr, "x df nc", sp.chndtrinc, "x df p -> nc", (3.0, 2.5, 1.5)),
    (sp.ncfdtr, "dfn dfd nc f", sp.ncfdtri, "dfn dfd nc p -> f", (3.0, 6.0, 1.5, 1.7)),
    (sp.ncfdtr, "dfn dfd nc f", sp.ncfdtridfn, "p dfd nc f -> dfn", (3.0, 6.0, 1.5, 1.7)),
    (sp.ncfdtr, "dfn dfd nc f", sp.ncfdtridfd, "dfn p nc f -> dfd", (3.0, 6.0, 1.5, 2.7)),
    (sp.ncfdtr, "dfn dfd nc f", sp.ncfdtrinc, "dfn dfd p f -> nc", (3.0, 6.0, 1.5, 1.7)),
    (sp.nctdtr, "df nc t", sp.nctdtrit, "df nc p -> t", (3.0, 0.5, 1.7)),
    (sp.nctdtr, "df nc t", sp.nctdtridf, "p nc t -> df", (3.0, 0.5, 1.7)),
    (sp.nctdtr, "df nc t", sp.nctdtrinc, "df p t -> nc", (3.0, 0.5, 1.7)),
]


@pytest.mark.parametrize(
    ("forward", "names", "inverse", "signature", "point"),
    NONCENTRAL,
    ids=[case[2].__name__ for case in NONCENTRAL],
)
def test_an_inverse_has_the_derivatives_of_its_implicit_function(
    forward, names, inverse, signature, point
):
    arguments, _, solved = signature.partition(" -> ")
    known = dict(zip(names.split(), map(np.float64, point), strict=True))
    known["p"] = forward(*point)
    args = [known[name] for name in arguments.split()]
    out = inverse(*args)
    assert np.isclose(out, known[solved], rtol=1e-4)
    at = [out if name == solved else known[name] for name in names.split()]
    slopes = dict(zip(names.split(), grad(forward, tuple(range(len(at))))(*at), strict=True))
    slopes["p"] = -1.0
    expected = [-slopes[name] / slopes[solved] for name in arguments.split()]
    found = grad(inverse, tuple(range(len(args))))(*args)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


# --- Second derivatives of inverses, by implicit differentiation at the point that SciPy found, so
# that its digits do not matter.


def second_derivatives(value, names, at, arguments, solved):
    slopes = {"p": -1, "q": 1}

    @functools.cache
    def of_equation(*by):
        by = tuple(sorted(by))
        if slopes.keys() & set(by):
            return slopes[by[0]] if len(by) == 1 else 0
        return mp.diff(value, tuple(map(mp.mpf, at)), tuple(by.count(name) for name in names))

    y, steep = solved, of_equation(solved)
    of_inverse = {i: -of_equation(i) / steep for i in arguments}

    def entry(i, j):
        total = of_equation(i, j) + of_equation(i, y) * of_inverse[j]
        total += of_equation(j, y) * of_inverse[i]
        return -(total + of_equation(y, y) * of_inverse[i] * of_inverse[j]) / steep

    return [[entry(i, j) for j in arguments] for i in arguments]


def check_second(inverse, signature, value, names, point, digits):
    arguments, _, solved = signature.partition(" -> ")
    known = dict(zip(names, point, strict=True))
    with mp.workdps(digits):
        known["p"] = float(value(*map(mp.mpf, point)))
    known["q"] = 1 - known["p"]
    args = np.array([known[name] for name in arguments.split()])
    known[solved] = inverse(*args)
    at = [known[name] for name in names]
    with mp.workdps(digits):
        expected = second_derivatives(value, names, at, arguments.split(), solved)
    expected = np.array(expected, float)
    found = hessian(lambda v: inverse(*v))(args)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12 * np.max(np.abs(expected)))


OFTEN = {"btdtria", "gdtrib", "stdtridf", "bdtrik", "nbdtrin", "pdtrik"}


@pytest.mark.parametrize(
    "name",
    [n if n in OFTEN else pytest.param(n, marks=pytest.mark.slow) for n in INVERSES],
)
def test_second_derivatives_of_inverses_are_those_of_mpmath(name):
    signature, value, ranges = INVERSES[name]
    for point in drawn(name, list(ranges.values()), 9):
        with mp.workdps(15):
            p = value(*map(mp.mpf, point))
        if 1e-3 < p < 0.999:
            check_second(getattr(sp, name), signature, value, list(ranges), point, DIGITS)
            return
    raise AssertionError("no point was compared")


@pytest.mark.parametrize(
    ("forward", "names", "inverse", "signature", "point"),
    [
        pytest.param(*case, id=case[2].__name__, marks=() if i == 2 else pytest.mark.slow)
        for i, case in enumerate(NONCENTRAL[:7])
    ],
)
def test_second_derivatives_of_noncentral_inverses_are_those_of_mpmath(
    forward, names, inverse, signature, point
):
    value = chi_squared if forward is sp.chndtr else noncentral_f
    check_second(inverse, signature, value, names.split(), point, 20)


@pytest.mark.parametrize(
    ("forward", "names", "inverse", "signature", "point"),
    NONCENTRAL[7:],
    ids=[case[2].__name__ for case in NONCENTRAL[7:]],
)
def test_second_derivatives_of_inverses_of_noncentral_t_are_those_of_its_implicit_function(
    forward, names, inverse, signature, point
):
    """mpmath's integrals take a minute: these are the distribution's own second derivatives."""
    names, (arguments, _, solved) = names.split(), signature.partition(" -> ")
    known = dict(zip(names, point, strict=True)) | {"p": forward(*point)}
    args = np.array([known[name] for name in arguments.split()])
    known[solved] = inverse(*args)
    at = np.array([known[name] for name in names])
    slope = dict(zip(names, grad(lambda v: forward(*v))(at), strict=True)) | {"p": -1.0}
    bend = np.zeros((4, 4))
    bend[:3, :3] = hessian(lambda v: forward(*v))(at)
    order = [[*names, "p"].index(name) for name in arguments.split()]
    y = names.index(solved)
    rise = np.array([-slope[name] / slope[solved] for name in arguments.split()])
    cross = np.outer(bend[order, y], rise)
    total = bend[np.ix_(order, order)] + cross + cross.T + bend[y, y] * np.outer(rise, rise)
    found = hessian(lambda v: inverse(*v))(args)
    np.testing.assert_allclose(found, -total / slope[solved], rtol=1e-9, atol=1e-12)


# --- Points at which derivatives were wrong, or lost digits


def symmetric_student(df, t):
    return (1 + mp.sign(t) * beta_lower(mp.mpf(1) / 2, df / 2, t * t / (df + t * t))) / 2


CORRECTED = [
    (sp.beta, mp.beta, (1.7, -3.70000000001)),
    (sp.stdtr, symmetric_student, (1e6, 1.7)),
    (sp.stdtr, symmetric_student, (3e7, -2.2)),
    (sp.fdtr, fisher, (5.0, 1e8, 1.3)),
    (sp.fdtr, fisher, (1e6, 7.0, 0.8)),
    (sp.fdtrc, lambda *args: 1 - fisher(*args), (300.0, 2e5, 1.1)),
    (sp.poch, mp.rf, (-14.0, 2.3412151639616516e-12)),
    (sp.poch, mp.rf, (-3.174015097227402, -1.1029186027855769e-11)),
    (sp.zetac, lambda s: mp.zeta(s) - 1, (-2.0488793370038104e-12,)),
    (sp.zetac, lambda s: mp.zeta(s) - 1, (-0.3,)),
    (sp.spence, lambda z: mp.polylog(2, 1 - z), (2.0488793370038104e-12,)),
    (sp.powm1, lambda x, y: x**y - 1, (106.5288780346477, -7.122194816038339)),
]


@pytest.mark.parametrize(("ufunc", "value", "point"), CORRECTED)
def test_what_was_wrong_once_is_right(ufunc, value, point):
    for place in range(len(point)):
        with mp.workdps(60):
            orders = tuple(int(i == place) for i in range(len(point)))
            expected = mp.diff(value, tuple(map(mp.mpf, point)), orders)
        assert error(grad(ufunc, place)(*map(np.float64, point)), expected) < AT_MOST


@pytest.mark.parametrize(
    ("ufunc", "point"),
    [
        (sp.stdtr, (515509.8125, 3.0)),
        (sp.fdtr, (5.0, 99999.0, 1.25)),
        (sp.poch, (-2620.08203125, 1.5397080183029175)),
        (sp.zetac, (-47.86359787,)),
        (sp.spence, (1e-8,)),
    ],
)
def test_single_precision_loses_no_more_than_it_must(ufunc, point):
    single = [np.float32(x) for x in point]
    for place in range(len(point)):
        found = grad(ufunc, place)(*single)
        assert found.dtype == np.float32
        assert np.isclose(found, grad(ufunc, place)(*map(np.float64, single)), rtol=1e-6)


@pytest.mark.parametrize(
    ("ufunc", "value", "point"),
    [
        (sp.chndtr, chi_squared, (3.0, 2.5, 1.5)),
        (sp.chndtr, chi_squared, (60.0, 3.0, 20.0)),
        (sp.ncfdtr, noncentral_f, (5.0, 7.5, 10.0, 3.0)),
        pytest.param(sp.nctdtr, student, (5.0, 1.5, 1.0), marks=pytest.mark.slow),
    ],
)
def test_the_derivatives_of_noncentral_distributions_are_those_of_mpmath(ufunc, value, point):
    found = grad(ufunc, tuple(range(len(point))))(*map(np.float64, point))
    with mp.workdps(15):
        for place in range(len(point)):
            at = [mp.mpf(x) for x in point]

            def moved(x, place=place, at=at):
                return value(*at[:place], x, *at[place + 1 :])

            expected = mp.diff(moved, at[place], h=mp.mpf("1e-8"))
            assert error(found[place], expected) < AT_MOST
