"""Ends of domains, zeros and infinities: the elementwise rules of `scipy.special` there."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

pytest.importorskip("scipy")

import scipy.special as sp

from tapegrad import compile, grad, hessian, jvp, vjp, vmap
from tapegrad._core.rule import rule_of

SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 1e150, -1e150, np.inf, -np.inf])
BY_COUNT = {3: SPECIAL[[0, 2, 3, 4, 6, 8]], 4: SPECIAL[[0, 4]], 5: SPECIAL[[0, 4]]}

# How many leading arguments stand for whole numbers: asking for their derivatives is an error.
WHOLE = {"yn": 1, "kn": 1, "expn": 1, "lpmv": 1, "mathieu_a": 1, "mathieu_b": 1}
# SciPy's own functions crash, or do not come back, at some of these points.
NEVER_RETURN = {sp.hyp1f1, sp.pro_cv, sp.obl_cv}


def elementwise_rules():
    """Those of the ufuncs, which the first question declares."""
    ufuncs = {value for value in vars(sp).values() if isinstance(value, np.ufunc)} - NEVER_RETURN
    rules = [rule for rule in map(rule_of, ufuncs) if rule.form == "elementwise"]
    return sorted(rules, key=lambda rule: rule.name)


each_elementwise = pytest.mark.parametrize("rule", elementwise_rules(), ids=lambda rule: rule.name)


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # SciPy truncates orders with a warning
        yield


def special_arguments(rule):
    """Each combination of special points, one place of the arrays each."""
    count = len(rule.partials)
    points = BY_COUNT.get(count, SPECIAL)
    types = [t.partition("->")[0] for t in rule.function.types]
    grids = [grid.ravel() for grid in np.meshgrid(*[points] * count)]
    if "d" * count in types:
        first = WHOLE.get(rule.function.__name__, 0)
        given = [x.clip(0, 9) if i < first else x for i, x in enumerate(grids)]
        return given, list(range(first, count))
    if "dD" in types:  # the order of a Hankel function is real
        return [grids[0], grids[1] + 0j], [0, 1]
    if "D" in types:
        return [grid + 0j for grid in grids], list(range(count))
    (kinds,) = (t for t in types if "d" in t and "D" not in t)
    kept = [i for i, kind in enumerate(kinds) if kind == "d"]
    whole = [grid.clip(0, 9).astype(int) for grid in grids]
    return [grids[i] if i in kept else whole[i] for i in range(count)], kept


def called(rule, args, kept):
    """The function of those arguments that are floats."""

    def call(*floats):
        given = list(args)
        for place, x in zip(kept, floats, strict=True):
            given[place] = x
        return rule.function(*given)

    return call, [args[i] for i in kept]


@pytest.mark.part(8)
@each_elementwise
def test_a_zero_cotangent_and_a_zero_tangent_stay_zero_at_every_special_point(rule):
    call, floats = called(rule, *special_arguments(rule))
    out, pullback = vjp(call, *floats)
    for bar in pullback(np.zeros_like(out)):
        np.testing.assert_array_equal(bar, np.zeros_like(bar))
    out_dot = jvp(call, tuple(floats), tuple(np.zeros_like(x) for x in floats))[1]
    np.testing.assert_array_equal(out_dot, np.zeros_like(out_dot))


@pytest.mark.part(4)
@each_elementwise
def test_the_branch_that_where_did_not_take_adds_nothing(rule):
    args, kept = special_arguments(rule)
    taken = args[kept[0]] == 0.5

    def masked(*floats):
        out = called(rule, args, kept)[0](*floats)
        chosen = np.where(taken, floats[0], out)
        return np.sum(np.where(taken, chosen, 0).real)  # no value is NaN

    call_args = called(rule, args, kept)[1]
    bars = grad(masked, tuple(range(len(kept))))(*call_args)
    for place, bar in enumerate(bars):
        at = bar[taken]
        np.testing.assert_array_equal(at, np.ones_like(at) if place == 0 else np.zeros_like(at))


# --- Values at the ends -------------------------------------------------------------------------

inf = np.inf
AT_ENDS = [
    (sp.xlogy, (0.0, 0.0), (-inf, 0)),
    (sp.xlogy, (0.0, 2.0), (np.log(2), 0)),
    (sp.xlog1py, (0.0, -1.0), (-inf, 0)),
    (sp.entr, (0.0,), (inf,)),
    (sp.rel_entr, (0.0, 2.0), (-inf, 0)),
    (sp.kl_div, (0.0, 2.0), (-inf, 1)),
    (sp.logit, (0.0,), (inf,)),
    (sp.logit, (1.0,), (inf,)),
    (sp.expit, (inf,), (0,)),
    (sp.expit, (-inf,), (0,)),
    (sp.log_expit, (-inf,), (1,)),
    (sp.log_expit, (inf,), (0,)),
    (sp.ndtri, (0.0,), (inf,)),
    (sp.ndtri, (1.0,), (inf,)),
    (sp.ndtr, (inf,), (0,)),
    (sp.log_ndtr, (inf,), (0,)),
    (sp.log_ndtr, (-inf,), (inf,)),
    (sp.erfinv, (-1.0,), (inf,)),
    (sp.erfcinv, (2.0,), (-inf,)),
    (sp.erfcx, (inf,), (0,)),
    (sp.dawsn, (inf,), (0,)),
    (sp.exprel, (0.0,), (0.5,)),
    (sp.exprel, (-inf,), (0,)),
    (sp.spence, (1.0,), (-1,)),
    (sp.spence, (0.0,), (-inf,)),
    (sp.rgamma, (0.0,), (1,)),
    (sp.rgamma, (-3.0,), (-6,)),
    (sp.gammaln, (inf,), (inf,)),
    (sp.gammaln, (0.0,), (-inf,)),
    (sp.cbrt, (0.0,), (inf,)),
    (sp.boxcox, (2.0, 0.0), (0.5, np.log(2) ** 2 / 2)),
    (sp.boxcox, (0.0, 2.0), (0, 0.25)),
    (sp.boxcox1p, (1.0, 0.0), (0.5, np.log(2) ** 2 / 2)),
    (sp.inv_boxcox, (2.0, 0.0), (np.exp(2), -2 * np.exp(2))),
    (sp.inv_boxcox1p, (2.0, 0.0), (np.exp(2), -2 * np.exp(2))),
    (sp.powm1, (0.0, 2.0), (0, 0)),
    (sp.powm1, (0.0, 0.0), (0, -inf)),
    (sp.pseudo_huber, (2.0, 0.0), (0, 0)),
    (sp.huber, (2.0, 0.0), (0, 0)),
    (sp.binom, (3.0, 5.0), (sp.gamma(4) / sp.gamma(6) * -1, sp.gamma(4) / sp.gamma(6))),
    (sp.poch, (-2.0, 3.0), (2, 0)),
    (sp.poch, (-2.0, 1.0), (1, np.nan)),
    (sp.zetac, (0.0,), (-np.log(2 * np.pi) / 2,)),
    (sp.zetac, (-2.0,), (-0.030448457058393270780,)),
    (sp.gammainc, (2.0, 0.0), (0, 0)),
    (sp.gammainc, (1.0, 0.0), (0, 1)),
    (sp.gammainc, (0.5, 0.0), (0, inf)),
    (sp.gammainc, (2.0, inf), (0, 0)),
    (sp.gammaincinv, (2.0, 0.0), (0, inf)),
    (sp.gammaincinv, (1.0, 0.0), (0, 1)),
    (sp.betainc, (2.0, 3.0, 0.0), (0, 0, 0)),
    (sp.betainc, (1.0, 3.0, 0.0), (0, 0, 3)),
    (sp.betainc, (2.0, 1.0, 1.0), (0, 0, 2)),
    (sp.betainc, (0.5, 0.5, 1.0), (0, 0, inf)),
    (sp.betaincinv, (2.0, 3.0, 0.0), (0, 0, inf)),
    (sp.betainc, (2.0, 0.0, 0.4), (0, -np.log(0.6) - 0.4, 0)),
    (sp.betainc, (0.0, 2.0, 0.4), (np.log(0.4) + 0.6, 0, 0)),
    (sp.agm, (2.0, 0.0), (0, inf)),
    (sp.agm, (0.0, 2.0), (inf, 0)),
    (sp.pseudo_huber, (1e-300, 0.0), (0, 0)),
    (sp.stdtr, (30.0, -1e-300), (0, sp.gamma(15.5) / np.sqrt(30 * np.pi) / sp.gamma(15))),
    (sp.stdtr, (3.0, 0.0), (0, sp.gamma(2) / np.sqrt(3 * np.pi) / sp.gamma(1.5))),
    (sp.stdtr, (3.0, inf), (0, 0)),
    (sp.chdtr, (2.0, 0.0), (0, 0.5)),
    (sp.fdtr, (2.0, 3.0, 0.0), (0, 0, 1)),
    (sp.kolmogorov, (0.0,), (0,)),
    (sp.kolmogorov, (inf,), (0,)),
    (sp.voigt_profile, (0.0, 0.0, 1.0), (0, 0, -1 / np.pi)),
    (sp.voigt_profile, (0.0, 1.0, 0.0), (0, -1 / np.sqrt(2 * np.pi), -1 / np.pi)),
    (sp.owens_t, (0.0, inf), (0, 0)),
    (sp.owens_t, (0.0, 0.0), (0, 1 / (2 * np.pi))),
    (sp.tklmbda, (0.0, 0.0), (0.25, 0)),
    (sp.tklmbda, (2.0, 1.5), (0, 0)),  # beyond the support, where the density has jumped to 0
    (sp.tklmbda, (-2.0, 1.5), (0, 0)),
    (sp.gdtr, (1.5, 0.5, 0.0), (0, 0, inf)),
    (sp.gdtr, (1.5, 1.0, 0.0), (0, 0, 1.5)),
    (sp.gdtr, (1.5, 0.5, inf), (0, 0, 0)),
    (sp.fdtr, (1.0, 0.3, 0.0), (0, 0, inf)),
    (sp.fdtr, (1.0, 0.3, inf), (0, 0, 0)),
    (sp.chndtr, (0.0, 3.0, 1.0), (0, 0, 0)),
    (sp.chndtr, (0.0, 2.0, 1.0), (np.exp(-0.5) / 2, 0, 0)),
    (sp.ncfdtr, (3.0, 0.7, 1.4, 0.0), (0, 0, 0, 0)),
    (sp.ncfdtr, (3.0, 0.7, 1.4, inf), (0, 0, 0, 0)),
    (sp.nctdtr, (2.0, 1.0, inf), (0, 0, 0)),
    (sp.nrdtrisd, (0.0, 0.7, 0.0), (-1 / sp.ndtri(0.7), 0, 1 / sp.ndtri(0.7))),
    (sp.it2struve0, (0.0,), (-2 / np.pi,)),
    (sp.chndtr, (2.0, 3.0, 0.0), None),
    (sp.chndtr, (2.0, 3.0, 0.0), None),
    (sp.ncfdtr, (2.0, 3.0, 0.0, 1.0), None),
    (sp.nctdtr, (3.0, 0.0, 0.0), None),
    (sp.bdtr, (5.0, 5.0, 0.3), (0, 0, 0)),
]


@pytest.mark.parametrize(("ufunc", "args", "expected"), AT_ENDS)
def test_the_derivative_at_an_end_is_the_limit(ufunc, args, expected):
    found = grad(ufunc, tuple(range(len(args))))(*map(np.float64, args))
    if expected is None:  # it exists
        assert np.all(np.isfinite(found))
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)


# --- Second derivatives where a rule chooses between two formulas

CORNERS = [
    (sp.xlogy, (0.0, 2.0)),
    (sp.xlog1py, (0.0, 2.0)),
    (sp.kl_div, (0.5, 0.5)),
    (sp.powm1, (2.0, 0.0)),
    (sp.boxcox, (2.0, 0.0)),
    (sp.boxcox, (1.0, 2.0)),
    (sp.boxcox1p, (0.0, 2.0)),
    (sp.inv_boxcox, (2.0, 0.0)),
    (sp.poch, (-2.0, 3.0)),
    (sp.poch, (-2.0, 2.5)),
    (sp.binom, (3.0, 5.0)),
    (sp.binom, (2.5, -2.0)),
    (sp.owens_t, (0.0, 1.0)),
    (sp.stdtr, (3.0, 0.0)),
    (sp.stdtrit, (3.0, 0.5)),
    (sp.nctdtr, (3.0, 0.5, 0.0)),
    (sp.voigt_profile, (0.5, 0.0, 1.0)),
    (sp.voigt_profile, (0.5, 1.0, 0.0)),
    (sp.gammainc, (2.0, 0.0)),
    (sp.betainc, (2.0, 3.0, 0.0)),
    (sp.betainc, (2.0, 3.0, 1.0)),
    (sp.tklmbda, (0.3, 0.0)),
]


@pytest.mark.parametrize(("ufunc", "args"), CORNERS)
def test_second_derivatives_at_corners_are_those_beside_them(ufunc, args):
    at = np.array(args)
    found = hessian(lambda v: ufunc(*v))(at)
    beside = np.mean(
        [hessian(lambda v: ufunc(*v))(at + s * STEP[: at.size]) for s in SIDES], axis=0
    )
    inside = np.isfinite(beside)
    np.testing.assert_allclose(found, found.T, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found[inside], beside[inside], rtol=1e-3, atol=1e-3)


STEP, SIDES = 1e-5 * np.array([1.0, 0.7, 0.4]), (1.0, -1.0)


BY_DEGREE = "chebyt chebyu chebyc chebys sh_chebyt sh_chebyu legendre sh_legendre laguerre".split()


@pytest.mark.parametrize("function", [getattr(sp, f"eval_{name}") for name in BY_DEGREE])
def test_whole_degrees_that_are_floats_have_the_derivatives_of_integers(function):
    degrees, x = np.arange(6), np.array([[-3.4], [-1.0], [-0.3], [1.0], [2.9]])

    def slopes(n):
        first = vjp(lambda z: function(n, z), x + 0 * degrees)[1]
        second = grad(lambda z: np.sum(grad(lambda y: np.sum(function(n, y)))(z)))
        return first(np.ones((5, 6))), second(x + 0 * degrees)

    for found, expected in zip(slopes(degrees * 1.0), slopes(degrees), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", [name for name in BY_DEGREE if name != "laguerre"])
@pytest.mark.parametrize("kind", [int, float])
def test_negative_degrees_have_slopes_as_their_mirror_images(name, kind):
    n, x = np.arange(-5, 1).astype(kind), np.array([[-0.8], [0.3], [1.7]]) + np.zeros(6)
    function = getattr(sp, f"eval_{name}")
    found = vjp(lambda z: function(n, z), x)[1](np.ones_like(x))[0]
    expected = (function(n, x + 1e-5) - function(n, x - 1e-5)) / 2e-5
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


def test_second_derivatives_of_log_ndtr_and_losses_outside_of_their_domain():
    x = np.array([-50.0, -1.0, 0.0, 3.0, 30.0, 40.0])
    slope = vmap(grad(sp.log_ndtr))(x)
    np.testing.assert_allclose(vmap(grad(grad(sp.log_ndtr)))(x), -slope * (x + slope), rtol=1e-9)
    for loss in (sp.huber, sp.pseudo_huber):  # both are infinite there
        assert np.isnan(grad(loss, (0, 1))(-1.0, 2.0)).all()
    found = grad(sp.voigt_profile, 1)(0.6, -2.0, 0.3)
    ends = [sp.voigt_profile(0.6, -2.0 + h, 0.3) for h in (1e-5, -1e-5)]
    np.testing.assert_allclose(found, (ends[0] - ends[1]) / 2e-5, rtol=1e-7)


def test_a_struve_integral_near_zero_has_the_series_of_its_quotient():
    x = np.array([1e-4, 0.0099, 0.0101, 0.5])
    np.testing.assert_allclose(vmap(grad(sp.it2struve0))(x), -sp.struve(0, x) / x, rtol=1e-14)
    slopes = sp.struve(0, x) / x**2 - (2 / np.pi - sp.struve(1, x)) / x
    np.testing.assert_allclose(vmap(grad(grad(sp.it2struve0)))(x)[1:], slopes[1:], rtol=1e-9)


@pytest.mark.parametrize(
    ("function", "by_x"),
    [(sp.kn, lambda n, x: sp.kvp(np.trunc(n), x)), (sp.yn, lambda n, x: sp.yvp(np.trunc(n), x))],
)
def test_a_truncated_order_is_truncated_in_the_derivative_too(function, by_x):
    n, x = np.array([-1.97, -0.97, 1e-8, 0.5, 0.97, 1.5, 3.7]), 0.7
    found = grad(lambda z: np.sum(function(n, z)))(np.full(n.shape, x))
    np.testing.assert_allclose(found, by_x(n, x), rtol=1e-13)


def test_noncentral_t_at_zero_whatever_the_degrees_of_freedom():
    df = np.array([0.05, 0.2, 0.5, 1.0, 2.0, 40.0])
    nc = np.full(df.shape, 0.8)
    found = grad(lambda z: np.sum(sp.nctdtr(df, z, np.zeros(df.shape))))(nc)
    np.testing.assert_allclose(found, -np.exp(-nc * nc / 2) / np.sqrt(2 * np.pi), rtol=1e-6)


def test_noncentral_t_of_next_to_no_degrees_of_freedom_is_nan_not_wrong():
    for i in range(2):
        arguments = [1e-3, 1.0, 1.0]
        assert np.isnan(
            grad(lambda z: sp.nctdtr(*arguments[:i], z, *arguments[i + 1 :]))(arguments[i])  # noqa: B023
        )


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (sp.bdtrik, (0.4, 2.0, 1e-3)),
        (sp.nbdtrik, (0.6, 2.0, 0.99)),
        (sp.pdtrik, (0.1, 0.01)),
        (sp.chndtrinc, (0.001, 2.0, 0.8)),
        (sp.chndtridf, (2.5, 0.3, 100.0)),
        (sp.ncfdtrinc, (0.5, 8.0, 0.3, 0.001)),
        (sp.stdtridf, (0.9, 0.1)),
    ],
)
def test_an_equation_without_a_solution_has_the_derivative_of_scipys_constant(function, arguments):
    for i, x in enumerate(arguments):

        def by_one(z, i=i):
            return function(*arguments[:i], z, *arguments[i + 1 :])

        if by_one(x * 1.01) == by_one(x):
            assert grad(by_one)(x) == 0
            assert grad(grad(by_one))(x) == 0


def test_a_complex_result_of_a_real_argument_keeps_both_parts():
    """wofz has no loop for real numbers: also at the second call, which takes a shorter path."""

    def imaginary(x):
        return np.sum(sp.wofz(x).imag)

    for x in (0.5, np.array([0.5, -0.2]), np.float32(0.5)):
        expected = 2 / np.sqrt(np.pi) - 2 * x * sp.wofz(x).imag
        for _ in range(2):
            np.testing.assert_allclose(grad(imaginary)(x), expected, rtol=1e-6)
            along = jvp(sp.wofz, (x,), (np.ones_like(x),))[1]
            np.testing.assert_allclose(along, -2 * x * sp.wofz(x) + 2j / np.sqrt(np.pi), rtol=1e-6)
    x = np.array([0.5, -0.2])
    for transform in (vmap, compile):
        found = transform(grad(imaginary))
        for _ in range(2):
            np.testing.assert_allclose(found(x), grad(imaginary)(x))
    slope = -2 * sp.wofz(x).imag - 2 * x * grad(imaginary)(x)
    np.testing.assert_allclose(np.diag(hessian(imaginary)(x)), slope, rtol=1e-12)


@pytest.mark.part(3)
@pytest.mark.parametrize(
    ("ufunc", "args", "at", "expected"),
    [
        (sp.hyperu, (0.25, 156.0, 32.0), 2, -1.5480283178642337e52),
        (sp.hyperu, (0.03125, 258.0, 12.0), 2, -4.2441589103044731e234),
        (sp.hyperu, (1.5, 22.75, 0.03125), 0, -5.7321882191500679e50),
        (sp.eval_jacobi, (65.0625, 49.0, 98.0, -0.3125), 3, -1.7464621322054174e20),
        (sp.eval_jacobi, (325.375, 0.75, 57.5, -0.703125), 3, -7.2757887277249171e24),
        (sp.eval_genlaguerre, (58.375, 1.25, 99.0), 2, -5.0586155289942557e19),
        (sp.eval_genlaguerre, (63.75, 0.03125, 85.0), 2, 8.0577073890402635e16),
    ],
)
def test_a_narrow_integrand_and_an_unstable_recurrence_are_not_wrong(ufunc, args, at, expected):
    """Values of mpmath; NaN says that a derivative is not known, with a warning."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = grad(ufunc, argnums=at)(*args)
    assert len(told) == (ufunc is not sp.hyperu)
    assert np.isnan(found) == (ufunc is not sp.hyperu or np.isnan(ufunc(*args)))
    assert np.isnan(found) or np.isclose(found, expected, rtol=1e-9)


def test_a_density_of_beta_variables_has_a_series_beside_a_kink():
    """As the p-values of tests that compare deviations from a median, which is one of them."""
    x, by = np.array([1.0, 0.5, -1.0]), np.array([0.3, 0.5, -0.2])

    def p(t):
        z = np.abs(x + by * t - (x + by * t)[1])
        return sp.fdtrc(1.0, 15.0, (np.mean(z) - 1) ** 2 / np.var(z))

    second = (grad(p)(1e-4) - grad(p)(-1e-4)) / 2e-4
    np.testing.assert_allclose(grad(grad(p))(0.0), second, rtol=1e-6)


@pytest.mark.parametrize("ufunc", [sp.ncfdtr, sp.ncfdtrinc])
def test_a_quotient_by_a_zero_of_numbers_is_no_error(ufunc):
    assert np.isnan(grad(lambda x: ufunc(0.3, 0.3, x, -1.0))(0.3))
