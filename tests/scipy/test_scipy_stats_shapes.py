"""Every law of scipy.stats where a shape is infinite, at a value at which SciPy's code or ours has
a branch, and beside one: derivatives of methods and moments, first and second, by every parameter.

First derivatives are compared with differences of SciPy's values, second ones with differences of
our first. Two steps state a difference's error. A derivative may be refused (nan, or an error); a
number that is wrong may not be.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

pytest.importorskip("scipy")

import scipy.stats as theirs
from scipy.stats._distr_params import distcont, distdiscrete

from tapegrad import TapegradError, jvp
from tapegrad.scipy import stats
from tapegrad.scipy.stats._univariate import CONTINUOUS, DISCRETE, methods_of

SHAPES = {name: shapes for name, shapes in [*distcont, *distdiscrete] if isinstance(name, str)}
SHAPES["reciprocal"] = SHAPES["loguniform"]
SPECIAL = (0.0, 1.0, 2.0, np.inf, -np.inf)
BESIDE = (1e-5, -1e-3)  # of 0
LEVELS = np.array([0.03, 0.3, 0.62, 0.97])
LOC, SCALE = 0.3, 1.7
NAMES = sorted(name for name in {**CONTINUOUS, **DISCRETE} if hasattr(theirs, name))
# Of these SciPy solves an equation, or integrates, for each moment: to fewer digits than steps
# need, or (kappa4) for seconds.
COARSE = {"dpareto_lognorm", "genhyperbolic", "geninvgauss", "norminvgauss", "gausshyper"}
COARSE |= {"kappa4"}
QUICK = ("binom", "truncexpon")
SLOW = ("mielke", "trapezoid")


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # SciPy's own, and of refusals
        yield


def settings(name):
    """The shapes to look at: those of SciPy's tests, with one of them at a special value."""
    reference, usual = getattr(theirs, name), tuple(map(float, SHAPES[name]))
    methods = methods_of(name)
    yield usual
    for at, shape in enumerate(methods.shapes):
        if shape in methods.law.fixed:
            continue
        zero = is_allowed(reference, moved(usual, at, -usual[at]))
        for value in SPECIAL + (BESIDE if zero else ()):
            shapes = moved(usual, at, 0.0, value)
            if value != usual[at] and is_allowed(reference, shapes):
                yield shapes


def is_allowed(reference, shapes):
    try:
        return bool(np.all(reference._argcheck(*shapes)))
    except (TypeError, ValueError, OverflowError):
        return False


def moved(args, at, by, start=None):
    """Arguments of which one is moved, from where it is or from a start."""
    return tuple(
        (x if start is None else start) + by if k == at else x for k, x in enumerate(args)
    )


# Weights of values at steps: from both sides, from above, from below.
SIDES = (
    (np.array([-2, -1, 1, 2]), np.array([1, -8, 8, -1]) / 12),
    (np.arange(5), np.array([-25, 48, -36, 16, -3]) / 12),
    (-np.arange(5), -np.array([-25, 48, -36, 16, -3]) / 12),
)


def difference(function, args, at, width):
    """The derivative by one argument; its error; nan where it is not known."""
    step = 1e-3 * width
    wide = narrow = np.nan
    for steps, weights in SIDES:
        places = np.union1d(steps, 2 * steps)  # in one call, as calls take most of the time
        by = (places * step).reshape(-1, *[1] * np.ndim(args[at]))
        given = moved(args, at, by)
        if np.ndim(args[at]):  # SciPy's dpareto_lognorm does not broadcast by each shape
            given = np.broadcast_arrays(*given)
        values = np.asarray(function(*given), float)
        at_wide, at_narrow = (values[np.searchsorted(places, k * steps)] for k in (2, 1))
        wide = np.where(np.isfinite(wide), wide, weights @ at_wide / (2 * step))
        narrow = np.where(np.isfinite(narrow), narrow, weights @ at_narrow / step)
        if np.all(np.isfinite(wide) & np.isfinite(narrow)):
            break
    return narrow, abs(wide - narrow)


def slope(function, args, at):
    def along(x):
        return function(*moved(args, at, 0.0, x))

    return jvp(along, (args[at],), (np.ones(np.shape(args[at])),))[1]


def wrong(found, expected, error, size):
    """Where a number is not the derivative, of those whose derivative is known."""
    size = abs(size) + 1e-3 * np.nanmax(abs(expected), initial=0.0)
    settled = np.isfinite(expected) & (error <= 2e-2 * abs(expected) + 1e-4 * size)
    far = abs(found - expected) > 1e-3 * abs(expected) + 10 * error + 1e-5 * size
    return settled & np.isfinite(found) & far


def mistakes(own, reference, args, where, twice, least=0.0):
    """The derivatives of a function that are wrong, as (arguments, found, expected).

    where: how far steps may go, by the places of arguments; least: a size that counts as 0
    """
    try:
        value = np.asarray(reference(*args), float)
    except ArithmeticError:  # SciPy's own
        return
    if not np.any(np.isfinite(value)):
        return
    for at, width in where.items():
        try:
            found = slope(own, args, at)
            expected, error = difference(reference, args, at, width)
            if np.any(wrong(found, expected, error, (abs(value) + least) / width)):
                yield (at,), found, expected
            for by in twice if at in twice else ():

                def first(*args, by=by):
                    return slope(own, args, by)

                found, height = slope(first, args, at), first(*args)
                expected, error = difference(first, args, at, width)
                size = (abs(height) + least) / width + 1e-3 * abs(value)
                if np.any(wrong(found, expected, error, size)):
                    yield (at, by), found, expected
        except TapegradError:  # a refusal
            continue


def reach(shape):
    return 1.0 if shape in (0.0, *BESIDE) else min(abs(shape), 1.0)


def moments(law, name):
    """The moments for which SciPy has a formula."""
    base = theirs.rv_discrete if name in DISCRETE else theirs.rv_continuous
    kind = type(getattr(theirs, name))
    if kind._stats is not base._stats:
        yield law.mean
        yield law.var
        yield lambda *p: law.stats(*p, moments="s")
        yield lambda *p: law.stats(*p, moments="k")
    if kind._entropy is not base._entropy:
        yield law.entropy


def mistakes_of(name, shapes):
    own, reference = getattr(stats, name), getattr(theirs, name)
    methods, is_discrete = methods_of(name), name in DISCRETE
    rest = (2.0,) if is_discrete else (LOC, SCALE)
    try:
        x = reference.ppf(LEVELS, *shapes, *rest)
    except (ValueError, RuntimeError, OverflowError):  # SciPy's own search
        return
    if not np.all(np.isfinite(x)):
        return
    real = [
        at
        for at, shape in enumerate(shapes)
        if methods.shapes[at] not in methods.law.fixed and np.isfinite(shape)
    ]
    given = [np.float64(p) for p in (*shapes, *rest)]
    places = {at: reach(shapes[at]) for at in real}
    if not is_discrete:
        places |= {len(shapes): 1.0, len(shapes) + 1: 1.0}
    if name not in COARSE:
        pairs = zip(moments(own, name), moments(reference, name), strict=True)
        for kind, (ours, scipys) in enumerate(pairs):
            for case in mistakes(ours, scipys, given, places, real, least=10.0):
                yield ("moment", kind, shapes), case
    args = [x, *[np.full(4, p) for p in given]]
    places = {at + 1: reach(shapes[at]) for at in real}
    twice = [at + 1 for at in real]
    if not is_discrete:
        near = min(1.0, float(np.min(np.abs(x - LOC))))  # where 0 may be an end, or a kink
        places |= {0: near, len(args) - 2: near, len(args) - 1: 1.0}
        twice.append(0)
    names = ("pmf", "logpmf", "cdf", "sf") if is_discrete else ("pdf", "logpdf", "cdf", "sf")
    for method in names:
        ours, scipys = getattr(own, method), getattr(reference, method)
        for case in mistakes(ours, scipys, args, places, twice):
            yield (method, shapes), case


def marked(name):
    """All laws take a quarter of an hour: most are of the weekly run."""
    marks = () if name in QUICK else (pytest.mark.slow,)
    return pytest.param(
        name, marks=marks if name in (*QUICK, *SLOW) else (*marks, pytest.mark.scheduled)
    )


@pytest.mark.parametrize("name", [marked(name) for name in NAMES])
def test_derivatives_where_shapes_are_special(name):
    found = [case for shapes in settings(name) for case in mistakes_of(name, shapes)]
    assert not found, found[:5]


def test_kappa3_of_an_infinite_shape_is_uniform():
    y = np.array([0.03, 0.5, 1.2])
    for method, sign in (("cdf", 1.0), ("sf", -1.0)):
        found = slope(getattr(stats.kappa3, method), (y, np.inf), 0)
        np.testing.assert_allclose(found, [sign, sign, np.nan])  # above 1 SciPy's cdf exceeds 1


def test_kappa4_whose_ends_move_with_its_shapes():
    """Its moments at k = 1, and at h = 1, in closed form; SciPy's take seconds."""
    central = methods_of("kappa4").central
    one = np.array([1.0, 1.0])
    h = np.array([0.4, 1.0])
    found = slope(lambda h: central(1, h, one), (h,), 0)
    np.testing.assert_allclose(found, 1 / (h + 1) ** 2, rtol=1e-9)
    found = slope(lambda h: central(2, h, one), (h,), 0)
    variance = 1 / ((2 * h + 1) * (h + 1) ** 2)
    np.testing.assert_allclose(found, -variance * (2 / (2 * h + 1) + 2 / (h + 1)), rtol=1e-5)
    k = np.array([0.5, 1.0])
    found = slope(lambda k: central(1, one, k), (k,), 0)
    np.testing.assert_allclose(found, -1 / (k + 1) ** 2, rtol=1e-9)
    ends = np.array([0.0, 1.0])
    found = slope(stats.kappa4.ppf, (ends, np.array([0.1, 0.1]), one), 1)
    np.testing.assert_allclose(found, [100.0, 0.0])
    low, high = theirs.kappa4.support(0.1, 1.0)
    for at in range(3):  # an inner point's derivatives, before the ends were known
        found = slope(stats.kappa4.cdf, (np.array([low, 0.2, high]), np.full(3, 0.1), 1.0), at)
        np.testing.assert_array_equal(np.isnan(found), [True, False, True])


def test_a_tail_without_a_density_is_refused():
    """At an infinite number of degrees of freedom, where SciPy has a value."""
    at = (np.array([-1.0, 0.5]), np.inf, 0.25)
    assert np.all(np.isfinite(theirs.nct.cdf(*at)))
    for method in (stats.nct.cdf, stats.nct.sf):
        assert np.all(np.isnan(slope(method, at, 2)))


@pytest.mark.parametrize("p", [0.7, -1.3])
def test_genhyperbolic_of_other_orders(p):
    """Far nodes, where a Bessel function's integral has no width, were an OverflowError."""
    given = (np.array([-3.0, 0.3]), np.full(2, p), 2.0, -0.5)
    expected, _ = difference(theirs.genhyperbolic.cdf, given, 1, 0.1)
    np.testing.assert_allclose(slope(stats.genhyperbolic.cdf, given, 1), expected, rtol=1e-6)
