"""scipy.stats: every distribution of the tables, every method, by every argument.

The reference are SciPy's functions: their values, and differences of these.
"""

from __future__ import annotations

import copy
import pickle
import re
import warnings

import numpy as np
import pytest

pytest.importorskip("scipy")

import scipy.stats as theirs
from scipy.special import digamma, gamma, kve
from scipy.stats._distr_params import distcont, distdiscrete

import tapegrad
from tapegrad import NotDifferentiableError, grad, hessian, jacrev, jvp, vjp, vmap
from tapegrad.scipy import stats
from tapegrad.scipy.stats._univariate import (
    CONTINUOUS,
    DISCRETE,
    DISTRIBUTIONS,
    WITHOUT,
    methods_of,
)
from tapegrad.testing import check_grads

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*:RuntimeWarning"),  # SciPy's own, in its tails
    pytest.mark.filterwarnings("ignore:.*:scipy.integrate.IntegrationWarning"),
]

SHAPES = {
    **{name: tuple(map(float, shapes)) for name, shapes in distcont if isinstance(name, str)},
    **{
        name: tuple(map(float, shapes))
        for name, shapes in distdiscrete
        if isinstance(name, str) and name in DISCRETE
    },
}
SHAPES["reciprocal"] = SHAPES["loguniform"]
# SciPy integrates, or searches, for each value
SLOW = {"dpareto_lognorm", "gausshyper", "genhyperbolic", "geninvgauss", "norminvgauss"}
SLOW |= {"kappa4", "ncx2", "ncf", "rel_breitwigner", "recipinvgauss"}
METHODS = ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf")
OF_COUNTS = ("pmf", "logpmf", "cdf", "logcdf", "sf", "logsf")
LEVELS = np.array([0.03, 0.3, 0.62, 0.97])
LOC, SCALE = 0.3, 1.7

continuous = sorted(name for name in CONTINUOUS if hasattr(theirs, name))
each_continuous = pytest.mark.parametrize("name", continuous)
each_discrete = pytest.mark.parametrize("name", sorted(DISCRETE))


def difference(function, args, at, step=1e-5):
    """The derivative by one argument, of fourth order in the step."""
    h = step * (1 + np.abs(args[at]))

    def moved(by):
        given = list(args)
        given[at] = np.asarray(given[at], float) + by
        return function(*given)

    return (8 * (moved(h) - moved(-h)) - (moved(2 * h) - moved(-2 * h))) / (12 * h)


def assert_slope(found, expected):
    size = np.nanmax(np.abs(expected))
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=1e-8 + 3e-8 * size)


def check(name, methods):
    own, reference, shapes = getattr(stats, name), getattr(theirs, name), SHAPES[name]
    x = reference.ppf(LEVELS, *shapes, LOC, SCALE)
    for method in methods:
        first = LEVELS if method in ("ppf", "isf") else x
        args = [first, *[np.full(4, value) for value in (*shapes, LOC, SCALE)]]
        out, pull = vjp(getattr(own, method), *args)
        np.testing.assert_array_equal(out, getattr(reference, method)(*args))
        for at, found in enumerate(pull(np.ones(4))):
            assert_slope(found, difference(getattr(reference, method), args, at))


@pytest.mark.part(2)
@each_continuous
def test_formulas_are_equal_to_scipys_functions(name):
    reference, shapes = getattr(theirs, name), SHAPES[name]
    y = reference.ppf(LEVELS, *shapes)
    formulas = methods_of(name).formulas
    for method in ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf"):
        found = getattr(formulas, method)(y, *shapes)
        np.testing.assert_allclose(found, getattr(reference, method)(y, *shapes), rtol=2e-9)


@pytest.mark.part(2)
@pytest.mark.parametrize("name", [name for name in continuous if name not in SLOW])
def test_derivatives_are_those_of_differences(name):
    check(name, ("logpdf", "ppf"))  # quantiles: by the slopes of the cdf


@pytest.mark.slow
@each_continuous
def test_derivatives_of_every_method_are_those_of_differences(name):
    if name == "kappa4":
        pytest.skip("SciPy's quantiles are too coarse for differences")
    check(name, METHODS)


@each_discrete
def test_derivatives_of_discrete_distributions_are_those_of_differences(name):
    own, reference, shapes = getattr(stats, name), getattr(theirs, name), SHAPES[name]
    k = reference.ppf(LEVELS, *shapes) + 2
    law = methods_of(own.name).law
    real = [at for at, shape in enumerate(methods_of(own.name).shapes) if shape not in law.fixed]
    for method in OF_COUNTS:
        if not methods_of(own.name).formulas.known and "pmf" not in method:
            continue
        whole = [k, *[np.full(4, value) for value in shapes], 2.0]

        def call(*given, method=method, whole=whole):
            args = list(whole)
            for at, value in zip(real, given, strict=True):
                args[at + 1] = value
            return getattr(own, method)(*args)

        out, pull = vjp(call, *[whole[at + 1] for at in real])
        np.testing.assert_array_equal(out, getattr(reference, method)(*whole))
        for at, found in zip(real, pull(np.ones(4)), strict=True):
            expected = difference(getattr(reference, method), whole, at + 1)
            known = np.isfinite(expected)  # not where a logarithm is of zero
            assert_slope(found[known], expected[known])
            assert np.all(found[~known] == 0)


@each_discrete
def test_means_of_discrete_distributions(name):
    own, reference, shapes = getattr(stats, name), getattr(theirs, name), SHAPES[name]
    real = [
        at
        for at, shape in enumerate(methods_of(own.name).shapes)
        if shape not in methods_of(own.name).law.fixed
    ]
    for method in ("mean", "std", "entropy"):
        if name in ("betanbinom", "yulesimon", "zipf") and method == "entropy":
            with pytest.raises(NotDifferentiableError, match="slowly"):
                grad(getattr(own, method))(*shapes)
            continue

        def call(*given, method=method):
            args = list(shapes)
            for at, value in zip(real, given, strict=True):
                args[at] = value
            return getattr(own, method)(*args)

        found = grad(call, tuple(range(len(real))))(*[shapes[at] for at in real])
        for at, slope in zip(real, found, strict=True):
            expected = difference(getattr(reference, method), shapes, at, 1e-4)
            if np.isfinite(expected):
                np.testing.assert_allclose(slope, expected, rtol=1e-5, atol=1e-6)


OF_MEANS = (
    "norm gamma beta chi2 expon lognorm logistic t weibull_min gumbel_r skewnorm laplace "
    "laplace_asymmetric triang trapezoid truncexpon genpareto invgamma"
).split()


@pytest.mark.part(3)
@pytest.mark.parametrize("name", OF_MEANS)
def test_moments_and_entropy(name):
    own, reference, args = getattr(stats, name), getattr(theirs, name), (*SHAPES[name], LOC, SCALE)
    for method in ("mean", "var", "std", "entropy"):
        value = getattr(reference, method)(*args)
        if not np.isfinite(value):
            continue
        found = grad(getattr(own, method), tuple(range(len(args))))(*args)
        for at, slope in enumerate(found):
            expected = difference(getattr(reference, method), args, at, 1e-4)
            np.testing.assert_allclose(slope, expected, rtol=1e-6, atol=1e-7)


WITH_KINKS = [n for n in CONTINUOUS if CONTINUOUS[n].kinks is not None]


@pytest.mark.part(3)
@pytest.mark.filterwarnings("ignore:.*does not depend on the input")  # of a slope that is constant
@pytest.mark.parametrize("name", WITH_KINKS)
def test_second_derivatives_where_a_kink_moves_with_a_shape(name):
    own, shapes = getattr(stats, name), SHAPES[name]
    moments = [own.mean, own.var, own.entropy]
    if name in ("trapezoid", "triang"):  # which have these in closed form
        moments.append(lambda *p: own.stats(*p, moments="s"))
    for moment in moments:
        slope = grad(moment)
        expected = difference(slope, shapes, 0, 1e-4)
        np.testing.assert_allclose(grad(slope)(*shapes), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("c", [-0.1, -1e-3])
def test_moments_of_a_law_whose_end_is_far_off_and_moves_fast(c):
    """The support of genextreme begins at 1 / c; its entropy is 1 + 0.577... (1 - c)."""
    found = grad(stats.genextreme.entropy)(c)
    np.testing.assert_allclose(found, -np.euler_gamma, rtol=1e-7)
    for method in ("mean", "var"):
        expected = difference(getattr(theirs.genextreme, method), (c,), 0, 1e-2 * abs(c))
        found = grad(getattr(stats.genextreme, method))(c)
        np.testing.assert_allclose(found, expected, rtol=1e-4)


@pytest.mark.parametrize(("shapes", "at"), [((0.3, np.inf), 0), ((-np.inf, 0.3), 1)])
def test_moments_where_an_end_is_infinite(shapes, at):
    for call in (
        lambda law: law.mean,
        lambda law: law.var,
        lambda law: lambda *p: law.stats(*p, moments="s"),
        lambda law: lambda *p: law.moment(3, *p),
    ):
        expected = difference(call(theirs.truncnorm), shapes, at, 1e-3)
        found = grad(call(stats.truncnorm), at)(*shapes)
        np.testing.assert_allclose(found, expected, rtol=3e-6)


@pytest.mark.parametrize(
    "shapes", [(0.5, 0.01), (0.1, 1e-4), (-2.5, 0.01), (-2.0, 0.01), (3.0, 40.0), (0.0, 0.1)]
)
def test_moments_of_geninvgauss_of_any_shapes(shapes):
    """The mean is a ratio of Bessel functions."""

    def mean(p, b):
        return kve(p + 1, b) / kve(p, b)

    for at in (0, 1):
        step = 1e-3 * shapes[1] / (1 + shapes[1]) if at else 1e-3
        expected = difference(mean, shapes, at, step)
        found = grad(stats.geninvgauss.mean, at)(*shapes)
        np.testing.assert_allclose(found, expected, rtol=1e-7)


@pytest.mark.parametrize("shapes", [(-2.0, 0.01), (-1.0, 0.01), (-2.0, 1e-4)])
def test_every_moment_of_geninvgauss(shapes):
    """Where SciPy's search for quantiles fails, and where the mass of a moment is far off."""
    mp = pytest.importorskip("mpmath")

    def central(n, p, b):
        powers = [mp.besselk(p + k, b) / mp.besselk(p, b) for k in range(n + 1)]
        return sum(mp.binomial(n, k) * powers[k] * (-powers[1]) ** (n - k) for k in range(n + 1))

    formulas = {
        "m": lambda *s: mp.besselk(s[0] + 1, s[1]) / mp.besselk(*s),
        "v": lambda *s: central(2, *s),
        "s": lambda *s: central(3, *s) / central(2, *s) ** 1.5,
        "k": lambda *s: central(4, *s) / central(2, *s) ** 2,
    }
    jacobian = jacrev(lambda s: np.stack(stats.geninvgauss.stats(*s, moments="mvsk")))
    found = jacobian(np.array(shapes))
    with mp.workdps(50):
        for row, formula in zip(found, formulas.values(), strict=True):
            for at, slope in enumerate(row):
                step = mp.mpf(10) ** -15 * abs(shapes[at])
                ends = [
                    formula(*(x + sign * step * (i == at) for i, x in enumerate(shapes)))
                    for sign in (1, -1)
                ]
                expected = float((ends[0] - ends[1]) / (2 * step))
                assert abs(slope - expected) <= 1e-8 * abs(expected) + 1e-9 * abs(row).max()


def test_moments_of_one_call_are_of_one_call_of_scipys(monkeypatch):
    """Of some laws each is an integral, which needs those of lower order."""
    kind, calls = type(theirs.gamma), []
    plain = kind.stats

    def counted(self, *args, **kwds):
        calls.append(kwds["moments"])
        return plain(self, *args, **kwds)

    monkeypatch.setattr(kind, "stats", counted)
    grad(lambda a: sum(stats.gamma.stats(a, moments="mvsk")))(2.0)
    vmap(lambda a: stats.gamma.stats(a, moments="vk"))(np.array([0.6, 0.7]))
    assert calls == ["mvsk", "vk"]


def test_a_moment_that_the_nodes_miss_is_refused():
    """Nearly all of gamma's mass is below the smallest number; the skewness was constant."""
    with pytest.warns(RuntimeWarning, match="NaN in the derivative"):
        assert np.isnan(grad(lambda a: stats.gamma.stats(a, moments="s"))(1e-5))
    with pytest.warns(RuntimeWarning, match="NaN in the derivative"):
        assert np.isnan(grad(stats.crystalball.var)(2.0, 3.0))  # infinite


def test_moments_of_laws_whose_end_is_farther_off_than_any_weight():
    curve = grad(grad(stats.genextreme.var))
    np.testing.assert_allclose(curve(1e-5), curve(0.0), rtol=1e-4)
    for skew in (1e-3, -1e-3):
        found = grad(lambda s: stats.pearson3.stats(s, moments="k"))(skew)
        np.testing.assert_allclose(found, 3 * skew, atol=2e-5)


def test_slopes_by_shapes_in_a_far_tail_are_those_of_what_is_left():
    for name, point, shapes in (("betaprime", 7.6e30, (2.0, 0.05)), ("f", 7.6e30, (4.0, 0.1))):
        own = getattr(stats, name)
        for at in (1, 2):
            found = grad(own.cdf, at)(point, *shapes)
            expected = difference(getattr(theirs, name).cdf, (point, *shapes), at, 1e-4)
            np.testing.assert_allclose(found, expected, rtol=1e-4)
            np.testing.assert_allclose(grad(own.sf, at)(point, *shapes), -found, rtol=1e-9)


@pytest.mark.parametrize("skew", [0.0, 1e-9, -1e-5, 1e-3, 0.3])
def test_pearson3_of_little_skew_to_second_order(skew):
    """By the series of its log density in the skewness: Stirling's, and of log(1 + s y / 2)."""
    y, s = np.array([-1.3, 0.7, 2.0]), skew
    k = np.arange(1.0, 60)
    terms = -((-y[:, None] / 2) ** (k + 2)) * 4 / (k + 2)
    first = np.sum(terms * k * s ** (k - 1), axis=-1) - y / 2 / (1 + s * y / 2)
    second = np.sum(terms[:, 1:] * (k * (k - 1) * s ** np.abs(k - 2))[1:], axis=-1)
    second += y * y / 4 / (1 + s * y / 2) ** 2
    first = first - s / 24 + s**5 / 3840
    second = second - 1 / 24 + s**4 / 768
    each = jvp(lambda p: stats.pearson3.logpdf(y, p), (s,), (1.0,))[1]
    np.testing.assert_allclose(each, first, rtol=1e-6)

    def along(method, p):
        return jvp(lambda q: getattr(stats.pearson3, method)(y, q), (p,), (1.0,))[1]

    np.testing.assert_allclose(jvp(lambda p: along("logpdf", p), (s,), (1.0,))[1], second, 1e-5)
    density = theirs.norm.pdf(y)
    if s == 0:  # Cornish and Fisher's series
        hermite = [y**2 - 1, y**3 - 3 * y, y**5 - 10 * y**3 + 15 * y]
        np.testing.assert_allclose(along("cdf", s), -hermite[0] / 6 * density, rtol=1e-7)
        curve = -(hermite[1] / 8 + hermite[2] / 36) * density
        for method, sign in (("cdf", 1), ("sf", -1)):
            found = jvp(lambda p, m=method: along(m, p), (s,), (1.0,))[1]
            np.testing.assert_allclose(found, sign * curve, rtol=1e-6)


@pytest.mark.parametrize(("b", "c"), [(-2.0, 5.0), (1.8, 5.3)])
def test_moments_of_a_law_that_ends_where_a_shape_says(b, c):
    """The mean of truncpareto is b / (b - 1) (1 - c**(1 - b)) / (1 - c**-b)."""

    def mean(b, c):
        return b / (b - 1) * (1 - c ** (1 - b)) / (1 - c**-b)

    found = grad(stats.truncpareto.mean, (0, 1))(b, c)
    np.testing.assert_allclose(found, grad(mean, (0, 1))(b, c), rtol=1e-9)
    found = grad(stats.truncnorm.mean, (0, 1))(0.25, 5.0)
    density, mean = theirs.truncnorm.pdf([0.25, 5.0], 0.25, 5.0), theirs.truncnorm.mean(0.25, 5.0)
    np.testing.assert_allclose(found, density * [mean - 0.25, 5.0 - mean], rtol=1e-9)


def test_moments_of_powers_at_the_ends_and_of_heavy_tails():
    for name, shapes in {"beta": (2, 0.05), "gamma": (0.05,), "rdist": (0.3,)}.items():
        for method in ("var", "entropy"):
            found = grad(getattr(getattr(stats, name), method))(*map(float, shapes))
            expected = difference(getattr(getattr(theirs, name), method), shapes, 0, 1e-4)
            np.testing.assert_allclose(found, expected, rtol=1e-6)
    for name in ("weibull_min", "powerlaw", "fisk"):
        shape = {"fisk": 3.1}.get(name, 0.1)
        found = grad(lambda c, n=name: getattr(stats, n).stats(c, moments="s"))(shape)
        skewness = lambda c, n=name: getattr(theirs, n).stats(c, moments="s")  # noqa: E731
        np.testing.assert_allclose(found, difference(skewness, (shape,), 0, 1e-4), rtol=1e-5)
    assert np.isnan(grad(lambda c: stats.fisk.stats(c, moments="k"))(3.1))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gamma", "beta", "genextreme"])
def test_higher_moments(name):
    own, reference = getattr(stats, name), getattr(theirs, name)
    args = (*SHAPES[name], LOC, SCALE)
    for letter in "sk":
        for at, slope in enumerate(
            grad(lambda *p, letter=letter: own.stats(*p, moments=letter), (0, -1))(*args)
        ):
            where = (0, len(args) - 1)[at]
            expected = difference(
                lambda *p, letter=letter: reference.stats(*p, moments=letter), args, where, 1e-4
            )
            np.testing.assert_allclose(slope, expected, rtol=1e-5, atol=1e-7)
    for order in (1, 2, 3, 4):
        found = grad(lambda a, n=order: own.moment(n, a, *args[1:]))(args[0])
        expected = difference(
            lambda a, n=order: reference.moment(n, a, *args[1:]), args[:1], 0, 1e-4
        )
        np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.part(3)
@each_continuous
def test_outside_of_the_support_all_derivatives_are_zero(name):
    own, reference, shapes = getattr(stats, name), getattr(theirs, name), SHAPES[name]
    low, high = map(float, reference.support(*shapes))
    beyond = [low - 0.5, -np.inf] if np.isfinite(low) else []
    beyond += [high + 0.5, np.inf] if np.isfinite(high) else []
    for method in ("logpdf", "logsf"):
        _, pull = vjp(getattr(own, method), np.array(beyond), *shapes, 0.0, 1.0)
        for found in pull(np.ones(len(beyond))):
            np.testing.assert_array_equal(found, np.zeros_like(found))


@pytest.mark.part(3)
@each_continuous
def test_at_infinity_a_logarithm_has_no_slope_and_no_parameter_moves_it(name):
    own, reference, shapes = getattr(stats, name), getattr(theirs, name), SHAPES[name]
    for end in map(float, reference.support(*shapes)):
        if not np.isinf(end):
            continue
        for method in ("pdf", "logpdf", "cdf", "logsf"):
            f = getattr(own, method)
            value = getattr(reference, method)(end, *shapes)
            if np.isinf(value):
                with pytest.warns(RuntimeWarning, match="NaN in the derivative"):
                    assert np.isnan(grad(f)(end, *shapes))
            if np.isnan(value):
                continue
            assert np.isinf(value) or grad(f)(end, *shapes) == 0
            others = tuple(range(1, len(shapes) + 3))
            assert np.all(np.array(grad(f, others)(end, *shapes, 0.0, 1.0)) == 0)


# SciPy has another density at these ends than beside them.
JUMPS = ("tukeylambda",)


@each_continuous
def test_where_the_density_vanishes_at_an_end_its_logarithm_has_no_finite_slope(name):
    own, reference, shapes = getattr(stats, name), getattr(theirs, name), SHAPES[name]
    for end in map(float, reference.support(*shapes)):
        if np.isfinite(end) and reference.pdf(end, *shapes) == 0 and name not in JUMPS:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)
                found = grad(own.logpdf, (0, len(shapes) + 1))(end, *shapes, 0.0, 1.0)
            assert not np.any(np.isfinite(found))


FAR = "norm expon logistic gumbel_r gumbel_l weibull_min gamma beta t lognorm invgauss".split()


@pytest.mark.parametrize("name", FAR)
def test_tails(name):
    own, reference, shapes = getattr(stats, name), getattr(theirs, name), SHAPES[name]
    for level in (1e-20, 1e-100):
        for method, point, sign in (
            ("logcdf", reference.ppf(level, *shapes), 1),
            ("logsf", reference.isf(level, *shapes), -1),
        ):
            value = getattr(reference, method)(point, *shapes)
            if np.isfinite(value) and abs(value / np.log(level) - 1) < 1e-6:
                ratio = sign * np.exp(reference.logpdf(point, *shapes) - value)
                np.testing.assert_allclose(grad(getattr(own, method))(point, *shapes), ratio, 1e-7)


def test_far_tails_of_the_normal_distribution():
    mp = pytest.importorskip("mpmath")
    with mp.workdps(40):
        for x in (5.0, 40.0, 1e4):
            mills = mp.npdf(x) / (mp.erfc(mp.mpf(x) / mp.sqrt(2)) / 2)
            for method, sign in (("logsf", -1), ("logcdf", 1)):
                found = grad(getattr(stats.norm, method))(-sign * x)
                np.testing.assert_allclose(found, float(sign * mills), rtol=1e-12)
                curved = grad(grad(getattr(stats.norm, method)))(-sign * x)
                np.testing.assert_allclose(curved, float(mills * (x - mills)), rtol=1e-5)


def test_slopes_by_quadrature_against_mpmath():
    mp = pytest.importorskip("mpmath")

    def ncx2(x, df, nc):
        def term(j):
            weight = mp.exp(-nc / 2) * (nc / 2) ** j / mp.factorial(j)
            return weight * mp.gammainc(df / 2 + j, 0, x / 2, regularized=True)

        return mp.fsum(term(j) for j in range(40))

    with mp.workdps(25):
        expected = mp.diff(ncx2, (mp.mpf(3.5), mp.mpf(2.5), mp.mpf(1.25)), (0, 1, 0))
        found = grad(stats.ncx2.cdf, 1)(3.5, 2.5, 1.25)
        np.testing.assert_allclose(found, float(expected), rtol=1e-10)

        def inverse_gauss(p, b):
            whole = 2 * mp.besselk(p, b)

            def density(u):
                return u ** (p - 1) * mp.exp(-b * (u + 1 / u) / 2)

            return mp.quad(density, [0, 0.5, 1.5]) / whole

        expected = mp.diff(inverse_gauss, (mp.mpf(1.75), mp.mpf(0.75)), (1, 0))
        found = grad(stats.geninvgauss.cdf, 1)(1.5, 1.75, 0.75)
        np.testing.assert_allclose(found, float(expected), rtol=1e-10)


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("ncx2", (0.01, 0.3, 4.18)),
        ("ncx2", (1e-20, 0.18, 0.17)),
        ("ncf", (0.5, 0.3, 1.5, 0.7)),
        ("nct", (-5e30, 0.12, 0.02)),
        ("nct", (0.557, 3.975, 0.611)),
        ("gausshyper", (1e-4, 0.2, 0.3, 2.0, 0.5)),
    ],
)
def test_slopes_by_quadrature_at_small_shapes_and_in_heavy_tails(name, args):
    found = grad(getattr(stats, name).cdf, 1)(*args)
    np.testing.assert_allclose(
        found, difference(getattr(theirs, name).cdf, args, 1, 1e-4), rtol=5e-6
    )


def test_slopes_of_the_noncentral_student_density_of_few_degrees_of_freedom():
    mp = pytest.importorskip("mpmath")

    def log_density(y, df, nc):  # an integral over w > 0
        square = df + y * y
        shift = nc * y / mp.sqrt(square)
        area = mp.quad(lambda w: w**df * mp.exp(-((w - shift) ** 2) / 2), [0, 1, 2, 4, 12])
        height = df * mp.log(df) / 2 - mp.log(mp.pi) / 2 - (df - 1) / 2 * mp.log(2)
        height -= mp.loggamma(df / 2) + (df + 1) / 2 * mp.log(square)
        return height - df * nc * nc / (2 * square) + mp.log(area)

    with mp.workdps(20):
        for args in ((0.56, 0.4, 0.61), (-2.0, 3.98, 1.5)):
            expected = mp.diff(log_density, tuple(map(mp.mpf, args)), (0, 1, 0))
            np.testing.assert_allclose(grad(stats.nct.logpdf, 1)(*args), float(expected), 1e-7)


def test_tails_that_lose_no_digits():
    c, y = 0.00135, -960.0  # exp(y) underflows
    mass = np.exp(c * y) / gamma(c + 1)
    found = grad(stats.loggamma.cdf, (0, 1))(y, c)
    np.testing.assert_allclose(found, (c * mass, (y - digamma(c + 1)) * mass))
    np.testing.assert_allclose(grad(stats.loggamma.sf, (0, 1))(y, c), -np.array(found))
    np.testing.assert_allclose(grad(stats.loggamma.logcdf)(y, c), c)
    found = grad(stats.jf_skew_t.logpdf, (0, 1))(-5e5, 0.6, 1.4)
    np.testing.assert_allclose(found, (2.2 / 5e5, -24.674470386388145), rtol=1e-9)  # mpmath
    np.testing.assert_allclose(grad(stats.zipfian.logsf, 1)(1, 52.0, 5), -np.log(2), rtol=1e-6)


@pytest.mark.slow
def test_quantiles_at_the_ends_have_infinite_slopes():
    for name in ("genlogistic", "gumbel_l", "gumbel_r", "lognorm", "gibrat"):
        own, shapes = getattr(stats, name), SHAPES[name]
        for level in (0.0, 1.0):
            assert grad(own.ppf)(level, *shapes) == np.inf
            assert grad(own.isf)(level, *shapes) == -np.inf
    assert grad(stats.gompertz.ppf)(1.0, *SHAPES["gompertz"]) == np.inf
    assert grad(stats.genextreme.ppf, 1)(1.0, 0.5) == -4
    assert grad(stats.genextreme.ppf, 1)(0.0, -0.5) == -4
    assert grad(stats.tukeylambda.isf, 1)(0.0, 2.0) == -0.25
    assert np.isnan(grad(stats.triang.ppf)(0.3, 0.5, 0.0, -1.0))
    found = vmap(grad(stats.gumbel_r.ppf))(np.array([0.0, 0.5, 1.0]))
    np.testing.assert_allclose(found, [np.inf, 2 / np.log(2), np.inf])


def test_student_of_infinite_freedom_is_normal():
    for method in ("pdf", "logpdf", "cdf", "logsf"):
        by_x, by_df = grad(getattr(stats.t, method), (0, 1))(0.7, np.inf)
        np.testing.assert_allclose(by_x, grad(getattr(stats.norm, method))(0.7), rtol=1e-12)
        assert by_df == 0


def test_a_bad_parameter_gives_nan():
    assert np.isnan(stats.norm.logpdf(1.0, 0.0, -1.0))
    assert np.all(np.isnan(grad(stats.norm.logpdf, (0, 1, 2))(1.0, 0.0, -1.0)))
    assert np.isnan(grad(stats.gamma.logpdf, 1)(1.0, -2.0))
    assert np.isnan(grad(stats.gamma.cdf, 1)(1.0, -2.0))
    assert np.all(np.isnan(grad(stats.loggamma.pdf, (0, 1, 2, 3))(-9.0, 0.4, 0.0, -1.0)))
    assert np.all(np.isnan(grad(stats.ncf.pdf, (0, 1, 2, 3))(1.0, -2.0, 3.0, 0.4)))
    found = vmap(grad(stats.loggamma.pdf, 3), (None, None, None, 0))(
        -9.0, 0.4, 0.0, np.array([-1, 1.0])
    )
    np.testing.assert_allclose(found, [np.nan, grad(stats.loggamma.pdf, 3)(-9.0, 0.4, 0.0, 1.0)])


# --- calls ------------------------------------------------------------------------------------

X = np.array([0.5, 1.0, 2.0])


@pytest.mark.parametrize(
    ("name", "shapes", "end"),
    [
        ("bernoulli", (), 0.0),
        ("bernoulli", (), 1.0),
        ("binom", (5,), 0.0),
        ("binom", (5,), 1.0),
        ("geom", (), 1.0),
        ("nbinom", (3.5,), 1.0),
        ("poisson", (), 0.0),
    ],
)
def test_probabilities_where_a_parameter_is_at_its_end(name, shapes, end):
    scipys, ours = getattr(theirs, name), getattr(stats, name)
    k, step = np.arange(7.0), 1e-4 * (1 - 2 * (end == 1))
    for method in ("pmf", "cdf", "sf"):
        f0, f1, f2, f3 = (getattr(scipys, method)(k, *shapes, end + i * step) for i in range(4))

        def each(p, method=method):
            return getattr(ours, method)(k, *shapes, p)

        along = jvp(each, (end,), (1.0,))[1]
        np.testing.assert_allclose(along, (4 * f1 - 3 * f0 - f2) / (2 * step), atol=1e-5)
        curve = jvp(lambda p: jvp(each, (p,), (1.0,))[1], (end,), (1.0,))[1]
        if method == "pmf":
            second = (2 * f0 - 5 * f1 + 4 * f2 - f3) / step**2
            np.testing.assert_allclose(curve, second, atol=1e-3)
    points = np.array([end, 0.3, end, 0.6])
    found = vmap(grad(lambda p: np.sum(ours.pmf(k, *shapes, p) * k)))(points)
    alone = [grad(lambda p: np.sum(ours.pmf(k, *shapes, p) * k))(p) for p in points]
    np.testing.assert_allclose(found, alone, rtol=1e-12)


def test_frozen_distributions_are_the_same():
    for method in (*METHODS[:6], "ppf"):
        x = X / 4

        def free(a, loc, scale, method=method, x=x):
            return np.sum(getattr(stats.gamma, method)(x, a, loc, scale))

        def frozen(a, loc, scale, method=method, x=x):
            return np.sum(getattr(stats.gamma(a, scale=scale, loc=loc), method)(x))

        assert grad(frozen, (0, 1, 2))(2.0, 0.1, 1.5) == grad(free, (0, 1, 2))(2.0, 0.1, 1.5)
    frozen = stats.norm(1.0, 2.0)
    np.testing.assert_array_equal(frozen.logpdf(X), theirs.norm(1.0, 2.0).logpdf(X))
    assert frozen.mean() == 1.0
    assert frozen.support() == (-np.inf, np.inf)
    assert grad(frozen.logpdf)(2.0) == grad(stats.norm.logpdf)(2.0, 1.0, 2.0)
    assert grad(lambda a: stats.gamma(a).mean())(2.0) == 1
    assert grad(lambda p: stats.poisson(p).pmf(2))(1.5) == grad(stats.poisson.pmf, 1)(2, 1.5)


def test_plain_calls_are_scipys():
    assert stats.gamma.logpdf(1.0, 2.0) == theirs.gamma.logpdf(1.0, 2.0)
    assert stats.norm.a == -np.inf
    assert stats.norm.name == "norm"
    np.testing.assert_array_equal(stats.norm.fit(X), theirs.norm.fit(X))
    assert stats.norm.expect(lambda x: x**2) == theirs.norm.expect(lambda x: x**2)


def test_parameters_by_keyword_and_broadcasting():
    by_name = grad(lambda s, m: np.sum(stats.norm.logpdf(X, scale=s, loc=m)), (0, 1))
    assert by_name(2.0, 0.5) == grad(lambda s, m: np.sum(stats.norm.logpdf(X, m, s)), (0, 1))(
        2.0, 0.5
    )
    found = grad(lambda m: np.sum(stats.norm.logpdf(X, m)))(np.zeros((2, 1)))
    np.testing.assert_allclose(found, np.full((2, 1), 3.5))
    assert grad(lambda x: stats.norm.logpdf(x))(np.float32(1.0)).dtype == np.float32


@pytest.mark.parametrize("name", ["norm", "gamma", "beta", "t"])
def test_log_densities_of_arguments_of_other_shapes(name):
    """The gradient of a law with a score, whichever argument is an array."""
    own = getattr(stats, name).logpdf
    args = (0.6, *SHAPES[name], 0.1, 1.5)
    for at in range(len(args)):
        for shape in ((), (2,), (2, 1)):
            given = [np.full(shape, 1.01 * x) if i == at else x for i, x in enumerate(args)]
            _, pull = vjp(own, *given)
            for i, found in enumerate(pull(np.ones(shape))):
                moved = [np.sum(x) if i == j and not shape else x for j, x in enumerate(given)]
                if np.ndim(moved[i]) == 0:
                    change = difference(lambda *p: np.sum(own(*p)), moved, i)
                    np.testing.assert_allclose(found, change, rtol=1e-7, atol=1e-8)


def test_transforms_compose():
    at = (0.1, 1.2)

    def loss(p):
        return np.sum(stats.norm.logpdf(X, *p))

    found = tapegrad.compile(grad(loss))(at)
    np.testing.assert_allclose(found, grad(loss)(at))
    np.testing.assert_allclose(tapegrad.compile(grad(loss))((0.3, 2.0)), grad(loss)((0.3, 2.0)))
    (by_loc, mixed), (again, by_scale) = hessian(loss)(at)
    np.testing.assert_allclose([by_loc, mixed, again], [-3 / 1.44, *[-2 * 3.2 / 1.2**3] * 2])
    value, tangent = jvp(lambda p: stats.norm.logpdf(X, *p), (at,), ((1.0, 0.0),))
    np.testing.assert_allclose(tangent, (X - 0.1) / 1.44)
    np.testing.assert_array_equal(value, theirs.norm.logpdf(X, *at))
    moving = tapegrad.compile(grad(lambda a, x: np.sum(stats.gamma.logpdf(x, a))))
    for x in (X, X - 0.75, X + 1):  # also where points leave the support
        expected = grad(lambda a, x: np.sum(stats.gamma.logpdf(x, a)))(2.0, x)
        np.testing.assert_allclose(moving(2.0, x), expected)


@pytest.mark.parametrize("name", ["gamma", "t", "nct", "truncnorm", "vonmises", "rice"])
def test_vmap_of_gradients(name):
    own, shapes = getattr(stats, name), SHAPES[name]
    points = getattr(theirs, name).ppf(np.array([0.2, 0.7]), *shapes)
    for method in ("logpdf", "logcdf"):
        slope = grad(getattr(own, method), tuple(range(len(shapes) + 1)))
        found = vmap(slope, (0, *[None] * len(shapes)))(points, *shapes)
        for at, point in enumerate(points):
            np.testing.assert_allclose([part[at] for part in found], slope(point, *shapes))
    np.testing.assert_array_equal(vmap(grad(stats.gamma.logpdf))(X - 0.75, X)[0], 0)


SECOND = [("norm", "logpdf"), ("norm", "logsf"), ("gamma", "cdf"), ("genpareto", "ppf")]


@pytest.mark.parametrize(("name", "method"), SECOND)
def test_second_derivatives(name, method):
    check_twice(name, method)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["logpdf", "cdf", "logsf", "ppf"])
@pytest.mark.parametrize("name", ["norm", "gamma", "t", "genpareto", "beta", "ncx2"])
def test_second_derivatives_of_more(name, method):
    check_twice(name, method)


def check_twice(name, method):
    own, shapes = getattr(stats, name), SHAPES[name]
    point = 0.3 if method == "ppf" else getattr(theirs, name).ppf(0.7, *shapes)
    check_grads(getattr(own, method), (float(point), *shapes, 0.1, 1.5), order=2)


def test_draws_are_scipys_and_move_along_their_level():
    for name in ("norm", "gamma", "beta", "t", "chi2", "weibull_min", "vonmises"):
        own, reference, shapes = getattr(stats, name), getattr(theirs, name), SHAPES[name]
        args = (*shapes, 0.1, 1.5)
        out, pull = vjp(lambda *p, own=own: own.rvs(*p, size=5, random_state=1), *args)
        np.testing.assert_array_equal(out, reference.rvs(*args, size=5, random_state=1))
        levels = reference.cdf(out, *args)
        _, along = vjp(lambda *p, own=own, q=levels: own.ppf(q, *p), *args)
        for found, expected in zip(pull(np.ones(5)), along(np.ones(5)), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)
    frozen = grad(lambda a: np.sum(stats.gamma(a).rvs(3, random_state=2)))(2.0)
    assert frozen == grad(lambda a: np.sum(stats.gamma.rvs(a, size=3, random_state=2)))(2.0)
    with pytest.raises(NotDifferentiableError, match=re.escape("scipy.stats.poisson.rvs")):
        grad(lambda mu: stats.poisson.rvs(mu))(3.0)


def test_quantiles_at_the_ends():
    assert grad(stats.expon.ppf)(0.0) == 1
    assert np.isinf(grad(stats.norm.ppf)(0.0))
    assert grad(stats.genpareto.ppf, 1)(1.0, -0.5) == 4  # the end -1/c
    assert grad(stats.gamma.ppf, 1)(0.0, 2.0) == 0
    lower, upper = grad(lambda s: stats.norm.interval(0.9, 0.0, s)[1])(2.0), theirs.norm.ppf(0.95)
    np.testing.assert_allclose(lower, upper)


def test_a_median_where_the_density_vanishes_moves_with_no_shape():
    for name in ("dgamma", "dweibull"):
        for method in ("ppf", "isf", "median"):
            level = () if method == "median" else (0.5,)

            def call(*p, name=name, method=method, level=level):
                return getattr(getattr(stats, name), method)(*level, *p)

            np.testing.assert_array_equal(grad(call, (0, 1, 2))(1.1, 0.3, 1.7), (0, 1, 0))
    assert np.isfinite(grad(grad(stats.dgamma.ppf, 1), 1)(0.6, 1.1))


@pytest.mark.parametrize(
    ("name", "method", "shapes", "point"),
    [
        ("expon", "cdf", (), 27.6),
        ("burr12", "cdf", (10.0, 4.0), 3.7),
        ("burr", "sf", (10.5, 4.3), 0.53),
    ],
)
def test_slopes_at_the_far_side_keep_their_digits(name, method, shapes, point):
    """1 - cdf is as small as 1e-12 there, and its slope is the density all the same."""
    density = getattr(theirs, name).pdf(point, *shapes)
    found = grad(getattr(getattr(stats, name), method))(point, *shapes)
    np.testing.assert_allclose(found, density if method == "cdf" else -density, rtol=1e-12)


def test_objects_are_pickled_and_copied():
    for law in (stats.gamma, pickle.loads(pickle.dumps(stats.gamma)), copy.deepcopy(stats.gamma)):
        assert grad(law.logpdf)(2.0, 3.0) == grad(stats.gamma.logpdf)(2.0, 3.0)
    frozen = pickle.loads(pickle.dumps(stats.norm(1.0)))
    assert frozen.mean() == 1.0
    assert grad(frozen.logpdf)(2.0) == -1.0
    for several in (stats.multivariate_normal, stats.multivariate_normal(np.zeros(2))):
        for law in (pickle.loads(pickle.dumps(several)), copy.copy(several)):
            assert type(law) is type(several)
            found = grad(lambda x, p=law.logpdf: np.sum(p(x)))(np.ones(2))
            np.testing.assert_array_equal(found, -np.ones(2))


def test_whole_numbers_have_no_derivative():
    with pytest.raises(NotDifferentiableError, match=r"binom.pmf: not differentiable by 'n'"):
        grad(lambda n: stats.binom.pmf(1, n, 0.3))(10.0)
    assert jvp(lambda k: stats.poisson.logpmf(k, 2.0), (3.0,), (1.0,))[1] == 0
    for name in WITHOUT:
        if hasattr(theirs, name) and name != "poisson_binom":
            own = DISTRIBUTIONS[name]
            method = "pmf" if hasattr(getattr(theirs, name), "pmf") else "pdf"
            with pytest.raises(NotDifferentiableError, match=f"scipy.stats.{name}.{method}"):
                grad(lambda x, own=own, method=method: getattr(own, method)(x))(0.5)


def test_every_distribution_is_decided():
    assert not set(CONTINUOUS) & set(DISCRETE)
    assert not set(WITHOUT) & {*CONTINUOUS, *DISCRETE}
    assert set(DISTRIBUTIONS) == {*CONTINUOUS, *DISCRETE, *WITHOUT} & set(dir(theirs))
    assert len(CONTINUOUS) >= 40
    assert len(DISCRETE) >= 10
    with pytest.raises(NotDifferentiableError, match="optimum"):
        grad(lambda x: stats.norm.fit(x)[0])(X)


def test_scipys_own_object_names_the_way_out():
    with pytest.raises(tapegrad.ConversionError, match=r"from tapegrad.scipy import stats"):
        grad(lambda x: theirs.norm.logpdf(x))(1.0)


@pytest.mark.parametrize(
    ("frozen", "name", "value"),
    [
        (
            stats.multivariate_normal([0.0, 0.0]),
            "cov_object",
            theirs.Covariance.from_diagonal([4.0, 4.0]),
        ),
        (stats.wishart(5, np.eye(2)), "scale", 2 * np.eye(2)),
        (stats.multivariate_t([0.0, 0.0], np.eye(2)), "shape", 4 * np.eye(2)),
        (stats.matrix_normal(np.zeros((2, 2))), "rowcov", 2 * np.eye(2)),
    ],
)
def test_a_vector_law_whose_attribute_was_set_is_refused(frozen, name, value):
    """SciPy's methods read attributes that were made of it: `C`, `shape_info`, `rowpsd`."""
    at = np.eye(2) if "matrix" in repr(frozen) or "wishart" in repr(frozen) else np.ones(2)
    copied = pickle.loads(pickle.dumps(frozen))
    for law in (frozen, copied):
        assert np.isfinite(grad(lambda a, law=law: law.logpdf(a * at))(1.0))
        setattr(law, name, value)
        with pytest.raises(NotDifferentiableError, match=f"{name} was set"):
            grad(lambda a, law=law: law.logpdf(a * at))(1.0)
