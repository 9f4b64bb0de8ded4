"""scipy.stats: statistics of samples, distributions of vectors, kernel densities, decisions."""

from __future__ import annotations

import copy
import inspect
import pickle
import warnings

import numpy as np
import pytest

pytest.importorskip("scipy")

import scipy.stats as theirs

from tapegrad import InputError, NotDifferentiableError, grad, jvp, vjp, vmap
from tapegrad.scipy import stats
from tapegrad.scipy._copied import NAMES
from tapegrad.scipy.stats._multivariate import FORMULAS, MULTIVARIATE
from tapegrad.scipy.stats._sample import CONSTANT, DEFINITIONS
from tapegrad.scipy.stats._univariate import DISTRIBUTIONS
from tapegrad.scipy.stats._variables import OF_VARIABLES as FUNCTIONS
from tapegrad.scipy.stats._variables import VARIABLES
from tapegrad.testing import check_grads

rng = np.random.default_rng(0)
X = rng.normal(size=9)
Y = X + rng.normal(size=9)
P = np.abs(X) + 0.5
A = rng.normal(size=(5, 3))

# Calls of each statistic; arrays, and the parameters in REAL, are differentiated.
CALLS = {
    "boxcox": [(P, 0.7)],
    "boxcox_llf": [(0.7, P)],
    "circmean": [(X,)],
    "circstd": [(X,), (A, 3.0, -3.0, 1)],
    "circvar": [(X,)],
    "describe": [(X,)],
    "differential_entropy": [(X,), (np.arange(12.0) ** 1.5,)],
    "directional_stats": [(A,)],
    "energy_distance": [(X, Y[:5])],
    "entropy": [(P,), (P, P[::-1].copy(), 2)],
    "gmean": [(P,), (np.abs(A) + 0.5, 1)],
    "gstd": [(P,)],
    "gzscore": [(P,)],
    "hmean": [(P,)],
    "iqr": [(X,), (A, 0)],
    "kstat": [(X, 1), (X, 2), (X, 3), (X, 4)],
    "kstatvar": [(X, 1), (X, 2)],
    "kurtosis": [(X,), (A, 1, False), (X, 0, True, False)],
    "linregress": [(X, Y)],
    "lmoment": [(X,), (A, 2)],
    "median_abs_deviation": [(X,)],
    "mode": [(X,), (A, 1)],
    "moment": [(X, 2), (A, 3, 1)],
    "pearsonr": [(X, Y)],
    "pmean": [(P, 1.7)],
    "scoreatpercentile": [(X, 30.0)],
    "sem": [(A, None)],
    "skew": [(X,), (A, 0, False)],
    "tmax": [(X, 0.4)],
    "tmean": [(X, (-0.5, 1.0))],
    "tmin": [(X, -0.4)],
    "trim1": [(X, 0.2)],
    "trim_mean": [(X, 0.2)],
    "trimboth": [(X, 0.2)],
    "tsem": [(X, (-0.5, 1.0))],
    "tstd": [(X, (-0.5, 1.0))],
    "tvar": [(X, (-0.5, 1.0))],
    "variation": [(P,)],
    "wasserstein_distance": [(X, Y[:5])],
    "yeojohnson": [(X, 0.7)],
    "yeojohnson_llf": [(0.7, X)],
    "zmap": [(X, Y), (A, A, None)],
    "zscore": [(A, 1)],
}
REAL = {"boxcox", "boxcox_llf", "pmean", "scoreatpercentile", "yeojohnson", "yeojohnson_llf"}


def arrays_of(result):
    """The arrays in a result, which may be an object."""
    if hasattr(result, "mean_direction"):
        return [result.mean_direction, result.mean_resultant_length]
    if isinstance(result, (tuple, list)):
        more = [result.intercept_stderr] if hasattr(result, "intercept_stderr") else []
        return [part for item in (*result, *more) for part in arrays_of(item)]
    return [result]


@pytest.mark.parametrize("name", [name for name in CALLS if hasattr(theirs, name)])
def test_statistics(name):
    for args in CALLS[name]:
        expected = arrays_of(getattr(theirs, name)(*args))
        found = arrays_of(DEFINITIONS[name](*args))
        for ours, scipys in zip(found, expected, strict=True):
            in_order = np.sort if name in ("trim1", "trimboth") else np.asarray
            np.testing.assert_allclose(in_order(ours), in_order(scipys), rtol=1e-9, atol=1e-12)
        active = [
            at
            for at, x in enumerate(args)
            if isinstance(x, np.ndarray) or (name in REAL and isinstance(x, float))
        ]

        def call(*given, args=args, active=active):
            whole = list(args)
            for at, value in zip(active, given, strict=True):
                whole[at] = value
            parts = arrays_of(getattr(stats, name)(*whole))
            return tuple(
                part for part in parts if getattr(part, "dtype", np.dtype(int)).kind == "f"
            )

        check_grads(call, tuple(args[at] for at in active), order=1)


NAN, B = np.where(X < -0.6, np.nan, X), np.abs(A) + 0.3
SINGLE = X.astype(np.float32)
OPTIONS = [
    ("boxcox_llf", (100.0, 1e4 * P), {}),  # whose powers overflow
    ("boxcox_llf", (-7.0, 2000 + X), {}),  # whose powers are one number
    ("boxcox_llf", (0.0, B), {"axis": None, "keepdims": True}),
    ("circmean", (A,), {"axis": None, "keepdims": True}),
    ("cumfreq", (X, 4), {}),
    ("describe", (A,), {"axis": (0, 1), "bias": False}),
    ("differential_entropy", (X,), {"window_length": 6}),
    ("differential_entropy", (SINGLE,), {"base": 2}),
    ("entropy", (B, B[:1] + 0.1), {"keepdims": True}),
    ("entropy", (B[0], B), {"axis": 1}),
    ("entropy", (SINGLE**2,), {"base": 2}),
    ("gmean", (B,), {"axis": None, "weights": B**2, "keepdims": True}),
    ("lmoment", (SINGLE,), {"axis": None, "keepdims": True}),
    ("linregress", (SINGLE, Y), {}),
    ("linregress", (X[:2], Y[:2]), {}),
    ("median_abs_deviation", (A,), {"axis": (0, 1), "scale": "normal"}),
    ("mode", (np.array([[2.0, 1, 5], [3, 4, np.nan]]),), {"axis": 1, "keepdims": True}),
    ("moment", (A, [0, 2]), {"axis": (1, 0), "keepdims": True}),
    ("pearsonr", (SINGLE, SINGLE[::-1]), {}),
    ("pearsonr", (X[:2], Y[:2]), {}),
    ("pmean", (P, 0.0), {}),
    ("pmean", (P, 1e-4), {"weights": P**2}),
    ("pmean", (X, 2.0), {}),
    ("relfreq", (X, 4), {}),
    ("skew", (A,), {"axis": (0, 1), "bias": False}),
    ("tmean", (NAN, (-0.5, 1.0)), {}),
    ("tmin", (np.array([[1.0, 2.0], [3.0, 5.0]]), 2.5), {"axis": 1}),
    ("trim_mean", (NAN, 0.2), {}),
    ("tsem", (SINGLE, (-0.5, 1.0)), {}),
]


@pytest.mark.parametrize(("name", "args", "options"), OPTIONS)
def test_options_that_are_rarely_written(name, args, options):
    """Value, shape and dtype are SciPy's, and derivatives are differences of them."""
    places = [at for at, x in enumerate(args) if isinstance(x, np.ndarray) or (name, at) in POWERS]

    def parts(module, *given):
        whole = list(args)
        for at, x in zip(places, given, strict=True):
            whole[at] = x
        found = arrays_of(getattr(module, name)(*whole, **options))
        return tuple(x for x in found if getattr(x, "dtype", np.dtype(type(x))).kind == "f")

    given = tuple(args[at] for at in places)
    wide = tuple(np.asarray(x, float)[()] for x in given)
    draws = np.random.default_rng(3)  # its own: SciPy's pmean has few digits at small powers
    dots = tuple(draws.normal(size=np.shape(x))[()] for x in given)

    def moved(step):
        return parts(theirs, *(x + step * dot for x, dot in zip(wide, dots, strict=True)))

    def along(*x):
        return jvp(lambda *y: parts(stats, *y), x, dots)[1]

    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        single = any(getattr(x, "dtype", None) == np.float32 for x in given)
        own, _ = jvp(
            lambda *x: parts(stats, *x),
            given,
            tuple(
                np.asarray(dot, getattr(x, "dtype", float))[()]
                for x, dot in zip(given, dots, strict=True)
            ),
        )
        for found, expected in zip(own, parts(theirs, *given), strict=True):
            assert np.shape(found) == np.shape(expected)
            assert found.dtype == np.asarray(expected).dtype
            np.testing.assert_allclose(found, expected, rtol=1e-5 if single else 1e-9)
        slopes = along(*wide)
        for found, up, down in zip(slopes, moved(1e-5), moved(-1e-5), strict=True):
            found = np.where(np.isfinite(up), found, np.nan)
            np.testing.assert_allclose(found, (up - down) / 2e-5, rtol=1e-6, atol=1e-8)


POWERS = {("pmean", 1), ("boxcox_llf", 0)}


@pytest.mark.parametrize("power", [0.0, 1e-9, 1e-4, 0.0999])
def test_second_derivatives_of_power_means_by_small_powers(power):
    found = grad(grad(stats.pmean, 1), 1)(P, power)
    by_power = grad(stats.pmean, 1)
    expected = (by_power(P, power + 1e-3) - by_power(P, power - 1e-3)) / 2e-3
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_lines_along_an_axis():
    def parts(module, x):
        line = module.linregress(x, B, axis=0, keepdims=True)
        return (*line, line.intercept_stderr)

    found, dots = jvp(lambda x: parts(stats, x), (A,), (B,))
    ends = [parts(theirs, A + h * B) for h in (1e-5, -1e-5)]
    for own, dot, expected, *two in zip(found, dots, parts(theirs, A), *ends, strict=True):
        assert np.shape(own) == (1, 3)
        np.testing.assert_allclose(own, expected)
        np.testing.assert_allclose(dot, (two[0] - two[1]) / 2e-5, rtol=1e-6)


def test_a_line_without_residuals_has_the_slopes_of_its_coefficients():
    line = np.arange(5.0)
    found = jvp(lambda y: tuple(stats.linregress(line, y)), (2 * line + 1,), (line**2,))[1]
    np.testing.assert_allclose(found[:2], [4, -2])
    np.testing.assert_allclose(found[2:4], 0, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "args", "options"),
    [
        ("kstat", (X, 5), {}),
        ("kstatvar", (X, 3), {}),
        ("trim_mean", (X, 0.7), {}),
        ("pmean", (P, np.inf), {}),
        ("iqr", (X,), {"scale": "normal "}),
        ("tmean", (X, (50.0, 60.0)), {}),
        ("pearsonr", (X, Y), {"alternative": "larger"}),
        ("pearsonr", (A, A[:, :1]), {"axis": 1}),
    ],
)
def test_errors_are_scipys(name, args, options):
    with pytest.raises(Exception) as expected:  # noqa: PT011 - which one is SciPy's to say
        getattr(theirs, name)(*args, **options)
    with pytest.raises(type(expected.value)):
        grad(lambda x: getattr(stats, name)(x, *args[1:], **options))(args[0])


def test_every_definition_is_tested():
    assert set(CALLS) == set(DEFINITIONS)


def test_results_unpack_as_scipys():
    slope, intercept, r, p, error = stats.linregress(X, Y)
    assert len(theirs.linregress(X, Y)) == 5
    assert slope == theirs.linregress(X, Y).slope
    found = grad(lambda x: stats.linregress(x, Y)[0])(X)
    np.testing.assert_allclose(found, grad(lambda x: stats.linregress(x, Y).slope)(X))
    assert grad(lambda x: stats.pearsonr(x, Y).correlation)(X).shape == X.shape
    del intercept, r, p, error


# Results with attributes beside their items: what to call, and the attributes.
RESULTS = [
    (lambda L, x: L.pearsonr(x, Y), ["correlation"]),
    (lambda L, x: L.pearsonr(x, Y, alternative="less"), ["correlation"]),
    (lambda L, x: L.linregress(x, Y), ["intercept_stderr"]),
    (lambda L, x: L.ttest_1samp(x, 0.0), ["df"]),
    (lambda L, x: L.ttest_ind(x, Y), ["df"]),
    (lambda L, x: L.ks_2samp(x, Y), ["statistic_location", "statistic_sign"]),
    (lambda L, x: L.spearmanr(x, Y), ["correlation"]),
    (lambda L, x: L.jarque_bera(x), []),
    (lambda L, x: L.describe(x), []),
    (lambda L, x: L.mode(x), []),
]


@pytest.mark.parametrize(("call", "attributes"), RESULTS)
def test_results_keep_class_and_attributes_when_a_transform_returns_them(call, attributes):
    expected = call(theirs, X)
    value, slope = jvp(lambda x: call(stats, x), (X,), (Y,))
    for result in (value, slope):
        assert isinstance(result, type(expected))
    np.testing.assert_allclose(value[-1], expected[-1])
    for name in attributes:
        np.testing.assert_allclose(getattr(value, name), getattr(expected, name), rtol=1e-9)
    if hasattr(expected, "confidence_interval"):
        np.testing.assert_allclose(
            value.confidence_interval(0.9), expected.confidence_interval(0.9), rtol=1e-9
        )


def test_attributes_of_a_result_have_derivatives_and_are_mapped():
    def line(x):
        return stats.linregress(x, Y)

    def error(x):
        return theirs.linregress(x, Y).intercept_stderr

    slope = jvp(line, (X,), (Y,))[1].intercept_stderr
    step = 1e-6
    np.testing.assert_allclose(slope, (error(X + step * Y) - error(X - step * Y)) / (2 * step))
    both = np.stack([X, X**2])
    np.testing.assert_allclose(vmap(line)(both).intercept_stderr, [error(x) for x in both])
    found = vmap(lambda x: stats.spearmanr(x, Y))(both)
    np.testing.assert_allclose(found.correlation, found.statistic)
    ends = vmap(lambda x: stats.pearsonr(x, Y))(both).confidence_interval()
    np.testing.assert_allclose(ends.low[1], theirs.pearsonr(both[1], Y).confidence_interval().low)


@pytest.mark.parametrize("name", ["tstd", "tsem", "sem"])
@pytest.mark.parametrize("scale", [1e200, 1e-200])
def test_deviations_of_samples_whose_squares_under_or_overflow(name, scale):
    slope = grad(getattr(stats, name))
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(slope(X * scale), slope(X), rtol=1e-12)


@pytest.mark.parametrize("scale", [1e200, 1e-200])
def test_a_coefficient_of_samples_whose_squares_under_or_overflow(scale):
    def f(x):
        return stats.pearsonr(x, Y).statistic

    value, pull = vjp(f, X * scale)
    np.testing.assert_allclose(value, theirs.pearsonr(X * scale, Y).statistic)
    np.testing.assert_allclose(pull(1.0)[0] * scale, grad(f)(X), rtol=1e-12)


def test_ranks_and_counts_are_constants():
    np.testing.assert_array_equal(
        grad(lambda x: np.sum(x * stats.rankdata(x)))(X), stats.rankdata(X)
    )
    np.testing.assert_array_equal(vmap(stats.rankdata)(A), theirs.rankdata(A, axis=1))
    np.testing.assert_allclose(vmap(stats.skew)(A), theirs.skew(A, axis=1))


def test_what_statistics_refuse():
    with pytest.raises(InputError, match="nan_policy"):
        grad(lambda x: stats.skew(x, nan_policy="omit"))(X)
    with pytest.raises(InputError, match="nan_policy"):
        grad(lambda x: stats.iqr(x, axis=0, nan_policy="omit"))(X)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "options"), [("boxcox", {}), ("boxcox", {"alpha": 0.1}), ("yeojohnson", {})]
)
def test_transforms_by_the_lmbda_that_is_searched(name, options):
    def parts(module, t):
        y, lmbda, *ends = getattr(module, name)(P + t * X, **options)
        return np.concatenate([y, [lmbda], *ends])

    value, slope = jvp(lambda t: parts(stats, t), (0.0,), (1.0,))
    np.testing.assert_allclose(value, parts(theirs, 0.0), rtol=1e-9)
    # Of fourth order: SciPy's search leaves errors of 1e-7, which a smaller step would enlarge.
    far, near = ((parts(theirs, h) - parts(theirs, -h)) / (2 * h) for h in (0.02, 0.01))
    np.testing.assert_allclose(slope, (4 * near - far) / 3, rtol=1e-4)


@pytest.mark.parametrize("name", ["boxcox", "yeojohnson"])
def test_transforms_have_a_policy_of_nan(name):
    f = getattr(stats, name)
    if "nan_policy" not in inspect.signature(getattr(theirs, name)).parameters:
        pytest.skip("SciPy before 1.18 has none")
    slope = grad(lambda x: np.sum(f(x, 0.7, nan_policy="omit")[1:]))(P)
    np.testing.assert_allclose(slope, grad(lambda x: np.sum(f(x, 0.7)[1:]))(P))
    with pytest.raises(ValueError, match="nan"):
        grad(lambda x: np.sum(f(x, 0.7, nan_policy="raise")))(np.append(P, np.nan))


# --- vectors and matrices ---------------------------------------------------------------------


def positive(n):
    a = rng.normal(size=(n, n))
    return a @ a.T + n * np.eye(n)


M3, C3, R2, W3, M23 = X[:3], positive(3), positive(2), positive(3), A[:2]
ALPHA, SHARES = np.array([1.5, 2.0, 0.7]), np.array([0.2, 0.5, 0.3])
UNIT = np.array([0.6, 0.8, 0.0])

OF_VECTORS = {
    "dirichlet.cov": (ALPHA,),
    "dirichlet.entropy": (ALPHA,),
    "dirichlet.mean": (ALPHA,),
    "dirichlet.var": (ALPHA,),
    "invwishart.entropy": (5.5, C3),
    "invwishart.logpdf": (W3, 5.5, C3),
    "invwishart.mean": (5.5, C3),
    "invwishart.mode": (5.5, C3),
    "invwishart.var": (9.5, C3),
    "matrix_normal.entropy": (R2, C3),
    "matrix_normal.logpdf": (M23, M23 + 0.1, R2, C3),
    "matrix_t.logpdf": (M23, M23 + 0.1, R2, C3, 4.5),
    "multivariate_normal.entropy": (M3, C3),
    "multivariate_normal.logpdf": (A, M3, C3),
    "multivariate_normal.pdf": (A[0], M3, C3),
    "multivariate_t.entropy": (M3, C3, 3.5),
    "multivariate_t.logpdf": (A, M3, C3, 3.5),
    "multivariate_t.pdf": (A[0], M3, C3, 3.5),
    "normal_inverse_gamma.logpdf": (0.4, 1.3, 0.2, 1.1, 2.3, 0.7),
    "wishart.entropy": (5.5, C3),
    "wishart.logpdf": (W3, 5.5, C3),
    "wishart.mean": (5.5, C3),
    "wishart.mode": (5.5, C3),
    "wishart.pdf": (W3, 5.5, C3),
    "wishart.var": (5.5, C3),
}


@pytest.mark.parametrize("call", OF_VECTORS)
def test_distributions_of_vectors(call):
    name, method = call.split(".")
    if not hasattr(theirs, name):
        pytest.skip("this SciPy lacks it")
    args, reference = OF_VECTORS[call], getattr(getattr(theirs, name), method)
    np.testing.assert_allclose(FORMULAS[name][method](*args), reference(*args), rtol=1e-10)
    own = getattr(getattr(stats, name), method)
    np.testing.assert_array_equal(vjp(own, *args)[0], reference(*args))
    check_grads(own, args, order=1)


def test_points_on_a_simplex_or_a_sphere():
    found = grad(stats.dirichlet.logpdf)(SHARES, ALPHA)
    np.testing.assert_allclose(found, (ALPHA - 1) / SHARES)
    check_grads(lambda a: stats.dirichlet.logpdf(SHARES, a), (ALPHA,))
    check_grads(lambda a: stats.dirichlet_multinomial.logpmf([1, 2, 1], a, 4), (ALPHA,))
    for method in ("mean", "var", "cov"):
        check_grads(lambda a, m=method: getattr(stats.dirichlet_multinomial, m)(a, 4), (ALPHA,))

    def of_logits(z):
        return stats.multinomial.logpmf([1, 2, 1], 4, np.exp(z) / np.sum(np.exp(z)))

    counts = np.array([1, 2, 1])
    z = np.log(SHARES)
    np.testing.assert_allclose(grad(of_logits)(z), counts - 4 * SHARES, rtol=1e-12)
    found = grad(stats.vonmises_fisher.logpdf)(UNIT[::-1], UNIT, 2.5)
    np.testing.assert_allclose(found, 2.5 * UNIT)
    check_grads(lambda k: stats.vonmises_fisher.logpdf(UNIT[::-1], UNIT, k), (2.5,))
    check_grads(lambda k: stats.vonmises_fisher.entropy(UNIT, k), (2.5,))


def test_frozen_distributions_of_vectors():
    def frozen(m, c):
        return np.sum(stats.multivariate_normal(m, c).logpdf(A))

    def free(m, c):
        return np.sum(stats.multivariate_normal.logpdf(A, m, c))

    for found, expected in zip(
        grad(frozen, (0, 1))(M3, C3), grad(free, (0, 1))(M3, C3), strict=True
    ):
        np.testing.assert_array_equal(found, expected)
    plain = stats.multivariate_normal(M3, cov=C3)
    np.testing.assert_array_equal(plain.logpdf(A), theirs.multivariate_normal(M3, C3).logpdf(A))
    np.testing.assert_array_equal(plain.mean, M3)
    np.testing.assert_allclose(grad(plain.logpdf)(A[0]), -np.linalg.solve(C3, A[0] - M3))
    found = vmap(grad(stats.multivariate_normal.logpdf), (0, None, None))(A, M3, C3)
    np.testing.assert_allclose(found, -np.linalg.solve(C3, (A - M3).T).T)


def test_covariances_in_other_forms():
    x = A[0]
    by_number = grad(lambda c: stats.multivariate_normal.logpdf(x, np.zeros(3), c))(2.0)
    np.testing.assert_allclose(by_number, np.sum(x**2) / 8 - 3 / 4)
    found = grad(lambda c: stats.multivariate_normal.logpdf(x, M3, c))(np.array([1.0, 2.0, 3.0]))
    np.testing.assert_allclose(found, ((x - M3) ** 2 / [1, 4, 9] - 1 / np.arange(1.0, 4)) / 2)
    cov = theirs.Covariance.from_cholesky(np.linalg.cholesky(C3))
    found = grad(lambda x: stats.multivariate_normal.logpdf(x, M3, cov))(x)
    np.testing.assert_allclose(found, -np.linalg.solve(C3, x - M3))
    flat = np.diag([1.0, 2.0, 0.0])

    def call(x):
        return stats.multivariate_normal.logpdf(x, None, flat, allow_singular=True)

    np.testing.assert_allclose(grad(call)(np.array([1.0, 2.0, 0.0])), [-1, -1, 0])
    assert np.all(grad(call)(np.array([1.0, 2.0, 1.0])) == 0)  # outside of the plane


@pytest.mark.slow
def test_gradients_of_expectations_along_draws():
    """Of the mean of the squares of many draws, against its closed form."""
    n, df = 40_000, 5.5

    def slopes(name, args):
        draw = getattr(stats, name).rvs
        out, pull = vjp(lambda *p: draw(*p, size=n, random_state=1), *args)
        plain = getattr(theirs, name).rvs(*args, size=n, random_state=1)
        np.testing.assert_array_equal(out, plain)
        return pull(2 * out / n)

    mean, cov = slopes("multivariate_normal", (M3, C3))
    np.testing.assert_allclose(mean, 2 * M3, atol=0.1)
    np.testing.assert_allclose(cov, np.eye(3), atol=0.05)
    loc, shape, by_df = slopes("multivariate_t", (M3, C3, df))
    np.testing.assert_allclose(shape, np.eye(3) * df / (df - 2), atol=0.1)
    np.testing.assert_allclose(by_df, -2 * np.trace(C3) / (df - 2) ** 2, rtol=0.1)

    def of_shares(a):
        return np.sum(a * (a + 1)) / (np.sum(a) * (np.sum(a) + 1))

    np.testing.assert_allclose(slopes("dirichlet", (ALPHA,))[0], grad(of_shares)(ALPHA), atol=0.01)

    def of_wishart(df, c):
        d = np.diag(c)
        return np.sum(df * (c**2 + np.outer(d, d)) + df**2 * c**2)

    for found, expected in zip(
        slopes("wishart", (df, C3)), grad(of_wishart, (0, 1))(df, C3), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=0.05, atol=0.02 * np.max(abs(expected)))


TURN = np.array([[0.3, 0.5, -0.2], [0.5, -0.4, 0.1], [-0.2, 0.1, 0.2]])
OF_ONE_SEED = {
    "multivariate_normal": lambda s, t, **o: s.multivariate_normal.rvs(M3, C3 + t * TURN, **o),
    "frozen": lambda s, t, **o: s.multivariate_normal(M3 + t, C3 + t * TURN).rvs(**o),
    "isotropic": lambda s, t, **o: s.multivariate_normal.rvs(M3, (1 + t) * np.eye(3), **o),
    "singular": lambda s, t, **o: s.multivariate_normal(
        M3 + t, np.diag([1.0, 2, 0]), allow_singular=True
    ).rvs(**o),
    "multivariate_t": lambda s, t, **o: s.multivariate_t.rvs(M3 + t, C3 + t * TURN, 5.5, **o),
    "matrix_normal": lambda s, t, **o: s.matrix_normal.rvs(None, C3 + t * TURN, C3 - t, **o),
    "wishart": lambda s, t, **o: s.wishart.rvs(5.5, C3 + t * TURN, **o),
    "invwishart": lambda s, t, **o: s.invwishart.rvs(5.5, C3 + t * TURN, **o),
}


@pytest.mark.parametrize("name", OF_ONE_SEED)
@pytest.mark.parametrize("size", [1, 3])
def test_draws_move_with_locations_and_matrices_as_those_of_one_seed(name, size):
    def f(t, module=theirs):
        return OF_ONE_SEED[name](module, t, size=size, random_state=4)

    out, dot = jvp(lambda t: f(t, stats), (0.0,), (1.0,))
    np.testing.assert_array_equal(out, f(0.0))
    expected = (f(1e-5) - f(-1e-5)) / 2e-5
    np.testing.assert_allclose(dot, expected, rtol=1e-7, atol=1e-8)
    if size == 1:
        second = jvp(lambda t: jvp(lambda t: f(t, stats), (t,), (1.0,))[1], (0.0,), (1.0,))[1]
        expected = (f(1e-3) - 2 * f(0.0) + f(-1e-3)) / 1e-6
        np.testing.assert_allclose(second, expected, rtol=1e-4, atol=1e-4)


def test_draws_of_equal_eigenvalues_keep_their_distribution():
    """The gradient of a mean of products over draws, in all directions of the covariance."""

    def mean(cov):
        x = stats.multivariate_normal.rvs(np.zeros(3), cov, size=20_000, random_state=1)
        return np.mean(x[:, 0] * x[:, 1] + 2 * x[:, 0] * x[:, 2])

    found = grad(mean)(np.diag([1.0, 1, 2]))
    np.testing.assert_allclose(found, [[0, 0.5, 1], [0.5, 0, 0], [1, 0, 0]], atol=0.05)


def test_rvs_says_how_draws_move():
    for draw in (stats.gamma.rvs, stats.multivariate_normal.rvs, stats.dirichlet.rvs):
        assert "implicit" in draw.__doc__


def test_what_distributions_of_vectors_refuse():
    draw = stats.multivariate_normal.rvs
    with pytest.raises(NotDifferentiableError, match="singular"):
        grad(lambda c: np.sum(draw(M3, c * np.diag([1.0, 2, 0]), random_state=1)))(1.0)
    with pytest.raises(NotDifferentiableError, match=r"multivariate_normal.cdf"):
        grad(lambda x: stats.multivariate_normal.cdf(x, M3, C3))(A[0])
    with pytest.raises(NotDifferentiableError, match=r"multinomial.rvs.*whole numbers"):
        grad(lambda p: np.sum(stats.multinomial.rvs(4, p)))(SHARES)


# --- plain objects are SciPy's -----------------------------------------------------------------


def state(L, name, *args):
    """Draws of a law that has a state, and of the same law frozen."""
    law = copy.deepcopy(getattr(L, name))
    law.random_state = 1234
    frozen, seeded = law(*args), law(*args, seed=7) if "multi" in name else law(*args)
    frozen.random_state = 12
    drawn = [law.rvs(*args), law.rvs(*args), frozen.rvs(3), frozen.rvs(3)]
    if "multi" in name:
        drawn += [seeded.rvs(2), seeded.rvs(2)]
    np.random.seed(5)  # noqa: NPY002 - what SciPy reads
    return [*drawn, getattr(L, name)(*args).rvs(3), getattr(L, name).rvs(*args)]


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("norm", (1.0, 2.0)),
        ("poisson", (3.0,)),
        ("gamma", (2.0,)),
        ("multivariate_normal", (A[0], np.eye(3))),
        ("multivariate_t", (A[0], np.eye(3), 4.0)),
        ("multinomial", (9, P[:3] / P[:3].sum())),
    ],
)
def test_random_states_are_scipys(name, args):
    for own, expected in zip(state(stats, name, *args), state(theirs, name, *args), strict=True):
        np.testing.assert_array_equal(own, expected)


def test_the_state_of_a_frozen_law_with_traced_parameters():
    def draws(m):
        law, other = stats.norm(m, 2.0), stats.multivariate_normal(np.ones(2) * m, seed=3)
        law.random_state = 12
        return np.concatenate([law.rvs(2), law.rvs(2), other.rvs(), other.rvs()])

    value, slope = jvp(draws, (1.0,), (1.0,))
    np.testing.assert_allclose(value, draws(1.0), rtol=1e-15)
    np.testing.assert_allclose(slope, 1.0)


def test_classes_are_derived_from_scipys():
    assert isinstance(stats.norm, theirs.rv_continuous)
    assert issubclass(type(stats.poisson), theirs.rv_discrete)
    assert isinstance(stats.norm(1.0), type(theirs.norm(1.0)))
    assert isinstance(stats.poisson(1.0), type(theirs.poisson(1.0)))
    covariance = np.eye(2)
    own, plain = (L.multivariate_normal(np.ones(2), covariance) for L in (stats, theirs))
    assert isinstance(own, type(plain))
    assert np.array_equal(own.cov, plain.cov)
    assert stats.norm(1.0, 2.0).ppf(q=0.3) == theirs.norm(1.0, 2.0).ppf(q=0.3)
    trials = [0.1, 0.6, 0.7]  # whose distribution reads its arguments by a method of its own
    assert stats.poisson_binom.ppf(0.4, trials) == theirs.poisson_binom.ppf(0.4, trials)
    assert stats.poisson_binom(trials).pmf(1) == theirs.poisson_binom(trials).pmf(1)
    assert (stats.norm(3.0).dist.name, stats.norm(3.0).args) == ("norm", (3.0,))
    data = np.array([0.3, 1.2, 2.9, 0.4, 1.1])
    for name in ("norm", "expon", "rayleigh"):
        own, plain = getattr(stats, name), getattr(theirs, name)
        assert own.fit(data) == plain.fit(data)
        assert own.fit(data, method="mm") == plain.fit(data, method="mm")
        assert super(type(own), own).fit(data) == super(type(plain), plain).fit(data)
    with pytest.raises(TypeError) as plain:
        theirs.norm.pdf()
    with pytest.raises(TypeError) as own:
        stats.norm.pdf()
    assert str(own.value) == str(plain.value)
    for function in ("kstest", "ks_1samp", "ppcc_max"):
        extra = {"dist": stats.tukeylambda} if function == "ppcc_max" else {"cdf": stats.norm.cdf}
        if function == "ppcc_max":
            want = theirs.ppcc_max(data, dist=theirs.tukeylambda)
        else:
            want = getattr(theirs, function)(data, theirs.norm.cdf)
        assert getattr(stats, function)(data, **extra) == want
    fits = [L.goodness_of_fit(L.norm, data, n_mc_samples=9, rng=1) for L in (stats, theirs)]
    assert fits[0].pvalue == fits[1].pvalue
    assert fits[0].statistic == fits[1].statistic  # by a table of fits


def test_distributions_equal_scipys_of_their_name():
    assert {theirs.norm: "by SciPy's"}[stats.norm] == "by SciPy's"
    assert theirs.norm == stats.norm
    assert stats.norm != theirs.gamma
    assert stats.norm != stats.gamma
    another = copy.copy(stats.norm)
    assert another != stats.norm
    assert another != theirs.norm
    assert len({stats.norm, theirs.norm, another}) == 2


def test_hooks_of_classes_derived_from_ours():
    def kernels(L):
        class Narrow(L.gaussian_kde):
            def covariance_factor(self):
                return 0.1

        return Narrow([1.0, 2.0, 3.5])

    def law(L):
        class Doubled(type(L.norm)):
            def _pdf(self, x):
                return 2 * super()._pdf(x)

        return Doubled(name="doubled")

    assert kernels(stats)(1.3) == kernels(theirs)(1.3)
    h = 1e-6
    difference = (kernels(theirs)(1.3 + h) - kernels(theirs)(1.3 - h)) / (2 * h)
    np.testing.assert_allclose(grad(lambda x: kernels(stats)(x)[0])(1.3), difference[0], rtol=1e-8)
    assert law(stats).pdf(0.3) == law(theirs).pdf(0.3)
    with pytest.raises(NotDifferentiableError, match="Doubled derives"):
        grad(law(stats).pdf)(0.3)


def test_hooks_of_an_object_are_refused():
    own = copy.copy(stats.gamma)
    own.random_state, own.note = 3, "no method"
    assert grad(own.logpdf)(2.0, 3.0) == grad(stats.gamma.logpdf)(2.0, 3.0)
    own._logpdf = lambda x, a: -x * x
    assert own.logpdf(2.0, 3.0) == -4.0
    for call in (own.logpdf, own.cdf, lambda x, a: own(a).logpdf(x)):
        with pytest.raises(NotDifferentiableError, match="set on it"):
            grad(call, 1)(2.0, 3.0)


# --- kernel densities and random variables ----------------------------------------------------


def test_kernel_densities():
    data, points, weights = A.T, A[:2].T + 0.1, P[:5]
    own, reference = stats.gaussian_kde, theirs.gaussian_kde
    expected = reference(data, weights=weights).logpdf(points)
    np.testing.assert_allclose(own(data, weights=weights)._log_density(points), expected)
    np.testing.assert_array_equal(own(data, weights=weights).logpdf(points), expected)
    np.testing.assert_array_equal(own(X, "silverman")(Y), reference(X, "silverman")(Y))
    check_grads(lambda d, x, w: own(d, weights=w).logpdf(x), (data, points, weights), order=1)
    check_grads(lambda d, x, b: own(d, b)(x), (X, Y[:2], 0.4))
    assert own(X).integrate_box_1d(-1, 1) == reference(X).integrate_box_1d(-1, 1)
    with pytest.raises(NotDifferentiableError, match="integrate_box_1d"):
        grad(lambda d: own(d).integrate_box_1d(-1, 1))(X)


@pytest.mark.skipif(not hasattr(theirs, "Normal"), reason="an older SciPy")
def test_random_variables():
    def normal(method):
        return grad(lambda m, s: getattr(stats.Normal(mu=m, sigma=s), method)(1.0), (0, 1))

    def classic(method):
        return grad(lambda m, s: getattr(stats.norm, method)(1.0, m, s), (0, 1))

    for new, old in (("logpdf", "logpdf"), ("cdf", "cdf"), ("logccdf", "logsf")):
        assert normal(new)(0.2, 2.0) == classic(old)(0.2, 2.0)
    assert grad(lambda b: stats.Uniform(a=0.0, b=b).variance())(3.0) == 0.5
    assert grad(lambda b: stats.Uniform(a=0.0, b=b).icdf(0.25))(3.0) == 0.25
    gamma = stats.make_distribution(stats.gamma)
    assert gamma.__doc__ == theirs.make_distribution(theirs.gamma).__doc__
    np.testing.assert_allclose(grad(lambda a: gamma(a=a).kurtosis())(2.0), -1.5)
    plain = stats.Normal(mu=1.0, sigma=2.0)
    assert (plain * 2 + 1).mean() == 3
    assert plain.pdf(0.5) == theirs.Normal(mu=1.0, sigma=2.0).pdf(0.5)
    with pytest.raises(NotDifferentiableError, match=r"Normal.sample"):
        grad(lambda m: np.sum(stats.Normal(mu=m).sample(3)))(0.0)
    with pytest.raises(NotDifferentiableError, match=r"tapegrad.scipy.stats.gamma"):
        grad(lambda a: gamma(a=a).mode())(2.0)
    assert grad(lambda m: stats.Normal(mu=m, sigma=2.0).mu)(0.5) == 1.0


@pytest.mark.skipif(not hasattr(theirs, "Binomial"), reason="an older SciPy")
def test_a_discrete_variable_takes_whole_points():
    slope = grad(lambda p: np.sum(stats.Binomial(n=4, p=p).cdf([1.0, 2.0])))(0.3)
    assert np.isclose(slope, grad(lambda p: np.sum(stats.binom.cdf([1, 2], 4, p)))(0.3))
    with pytest.raises(NotDifferentiableError, match="expected whole numbers"):
        grad(lambda p: stats.Binomial(n=4, p=p).cdf(1.5))(0.3)  # SciPy's is .81, binom's .65


OF_PARAMETERS = ("mean", "variance", "median", "entropy", "skewness", "kurtosis")
# Laws, parameters that may move among those that their domains have, have at an end, and have not;
# and the constant ones.
DOMAINS = {
    "Normal": ({"mu": (0.5, np.inf, np.nan), "sigma": (2.0, 0.0, -1.0, np.inf, np.nan)}, {}),
    "Uniform": ({"a": (0.5, 2.0, -np.inf, np.nan), "b": (2.0, 0.0, np.inf, np.nan)}, {}),
    "Binomial": ({"p": (0.3, 0.0, 1.0, -0.5, 1.5, np.nan)}, {"n": (3.0, 0.0, -1.0, 2.5)}),
}


@pytest.mark.skipif(not hasattr(theirs, "Binomial"), reason="an older SciPy")
@pytest.mark.parametrize("law", DOMAINS)
def test_values_of_variables_are_scipys_in_and_outside_of_domains(law):
    moving, fixed = DOMAINS[law]
    names = list(moving)
    grid = np.meshgrid(*moving.values(), *fixed.values(), indexing="ij")
    arrays, constants = grid[: len(names)], dict(zip(fixed, grid[len(names) :], strict=True))
    points = [(m, (x,)) for m in ("icdf", "iccdf") for x in (0.0, 0.3, 1.0, -1.0, np.nan)]
    densities = ("pmf", "logpmf") if law == "Binomial" else ("pdf", "logpdf")
    of_points = (*densities, "cdf", "logcdf", "ccdf", "logccdf")
    points += [(m, (x,)) for m in of_points for x in (0.0, 1.0, -1.0, np.inf, np.nan)]
    moments = [("moment", (n, kind)) for n in range(5) for kind in ("raw", "central")]
    for method, args in [*points, *moments, *((m, ()) for m in OF_PARAMETERS)]:

        def own(*arrays, method=method, args=args):
            made = getattr(stats, law)(**constants, **dict(zip(names, arrays, strict=True)))
            return getattr(made, method)(*args)

        plain = getattr(theirs, law)(**constants, **dict(zip(names, arrays, strict=True)))
        expected = getattr(plain, method)(*args)
        value, slope = jvp(own, tuple(arrays), (np.ones(arrays[0].shape),) * len(names))
        np.testing.assert_allclose(value, expected, rtol=1e-12, atol=1e-15)
        assert np.all(np.isnan(slope[np.isnan(expected)])), method


@pytest.mark.skipif(not hasattr(theirs, "Normal"), reason="an older SciPy")
def test_variables_keep_float32():
    one = np.float32(1)
    for method, args in (("logpdf", (one,)), ("icdf", (np.float32(0.4),)), ("mean", ())):
        made = theirs.Normal(mu=one, sigma=one)
        value, slope = jvp(
            lambda m, method=method, args=args: getattr(stats.Normal(mu=m, sigma=one), method)(
                *args
            ),
            (one,),
            (one,),
        )
        assert value.dtype == slope.dtype == getattr(made, method)(*args).dtype == np.float32


OF_VARIABLES = {
    "affine": lambda L, m: (2 * L.Normal(mu=m, sigma=1.3) + 1).logcdf(0.3),
    "by an array": lambda L, m: (m * L.Normal(mu=0.2, sigma=1.3)).pdf(m),
    "quotient": lambda L, m: (1 / (L.Uniform(a=m, b=3.0) - 0.1)).ccdf(1.1),
    "power": lambda L, m: (abs(-L.Normal(mu=m, sigma=0.4)) ** 2).pdf(0.7),
    "truncate": lambda L, m: L.truncate(L.Normal(mu=m, sigma=1.3), -1.0, 2 * m).logpdf(0.3),
    "between": lambda L, m: L.Normal(mu=m, sigma=1.3).logcdf(0.1, 2 * m).real,
    "order_statistic": lambda L, m: L.order_statistic(L.Normal(mu=m), r=2, n=5).pdf(0.3),
    "exp": lambda L, m: L.exp(L.Normal(mu=0.2, sigma=1.3)).logpdf(m),
    "log": lambda L, m: L.log(L.Uniform(a=m, b=3.0)).cdf(0.9),
    "abs": lambda L, m: L.abs(L.Normal(mu=m)).cdf(0.3),
    "moment": lambda L, m: L.Normal(mu=m, sigma=m).moment(3) + L.Normal(mu=m).moment(3, "central"),
    "moment of order 5": lambda L, m: L.Normal(mu=m, sigma=0.4).moment(5),
    "lists": lambda L, m: L.Normal(mu=[m, 1.0], sigma=[0.4, m]).logpdf(0.4)[1],
    "options": lambda L, m: L.Normal(mu=m, sigma=2 * m * m, tol=1e-9).ilogcdf(-1.1),
    "logentropy": lambda L, m: L.Normal(mu=0.0, sigma=m).logentropy().real,
}
if hasattr(theirs, "Mixture"):
    OF_VARIABLES["Mixture"] = lambda L, m: L.Mixture(
        [L.Normal(mu=m, sigma=1.3), L.Normal(mu=1.0)], weights=[m, 1 - m]
    ).logpdf(m)


@pytest.mark.skipif(not hasattr(theirs, "Normal"), reason="an older SciPy")
@pytest.mark.parametrize(
    "name", [x if x == "affine" else pytest.param(x, marks=pytest.mark.slow) for x in OF_VARIABLES]
)
def test_what_is_computed_with_variables(name):
    f = OF_VARIABLES[name]

    def own(m):
        return f(stats, m)

    value, slope = jvp(own, (0.7,), (1.0,))
    np.testing.assert_allclose(value, f(theirs, 0.7), rtol=1e-9)
    np.testing.assert_allclose(slope, (f(theirs, 0.7001) - f(theirs, 0.6999)) / 2e-4, rtol=1e-6)
    second = (grad(own)(0.7001) - grad(own)(0.6999)) / 2e-4
    np.testing.assert_allclose(grad(grad(own))(0.7), second, rtol=1e-6)
    examples = np.array([0.7, 0.65])
    np.testing.assert_allclose(vmap(own)(examples), [f(theirs, m) for m in examples], rtol=1e-9)
    each = [grad(own)(m) for m in examples]
    np.testing.assert_allclose(vmap(grad(own))(examples), each, rtol=1e-9)
    np.testing.assert_allclose(grad(lambda m: np.sum(vmap(own)(m)))(examples), each, rtol=1e-9)


@pytest.mark.skipif(not hasattr(theirs, "Mixture"), reason="an older SciPy")
@pytest.mark.parametrize("library", [stats, theirs])
def test_scipy_takes_a_plain_random_variable_as_one_of_its_own(library):
    own, reference = stats.Normal(mu=1.0, sigma=2.0), theirs.Normal(mu=1.0, sigma=2.0)
    assert isinstance(own, theirs.Normal)
    assert isinstance(own, stats.Normal)
    assert repr(own) == repr(reference)
    for made in (copy.deepcopy(own), pickle.loads(pickle.dumps(own))):
        assert type(made) is stats.Normal
        assert made.mean() == 1
    assert stats.Normal._num_parameterizations() == theirs.Normal._num_parameterizations()
    own.tol = 1e-3
    assert own._theirs.tol == pickle.loads(pickle.dumps(own))._theirs.tol == 1e-3
    with pytest.raises(AttributeError):
        own.mu = 2.0
    assert str(own) == str(reference)
    assert reference.__class__ == own.__class__ == stats.Normal
    assert len({stats.Normal, theirs.Normal}) == 1

    class Flat(stats.Uniform):
        def _pdf_formula(self, x, *, a, b, **kwargs):
            return np.full_like(x, 7.0)

    assert Flat(a=0.0, b=1.0).pdf(0.5) == 7
    twice = 2 * own + 1
    assert repr(twice) == repr(2 * reference + 1)
    assert isinstance(twice, type(2 * reference))
    assert pickle.loads(pickle.dumps(twice)).mean() == 3
    for f in (
        lambda x: library.Mixture([x, x], weights=[0.3, 0.7]).pdf(0.5),
        lambda x: library.truncate(x, 0, 1).mean(),
        lambda x: library.exp(x).pdf(2.0),
        lambda x: library.order_statistic(x, r=2, n=4).cdf(0.5),
    ):
        assert f(own) == f(reference)


@pytest.mark.parametrize("alternative", ["two-sided", "less", "greater"])
@pytest.mark.parametrize("count", [3, 9])
def test_confidence_interval_of_a_correlation(alternative, count):
    def ends(a, L=stats):
        found = L.pearsonr(X[:count], a * Y[:count] ** 2 + X[:count], alternative=alternative)
        return np.stack(found.confidence_interval(0.9))

    value, slope = jvp(ends, (0.7,), (1.0,))
    np.testing.assert_allclose(value, ends(0.7, theirs), rtol=1e-12)
    difference = (ends(0.7 + 1e-6, theirs) - ends(0.7 - 1e-6, theirs)) / 2e-6
    np.testing.assert_allclose(slope, difference, atol=1e-8)
    method = theirs.BootstrapMethod()
    with pytest.raises(NotDifferentiableError, match="draws samples"):
        grad(lambda a: stats.pearsonr(X, a * Y).confidence_interval(method=method).low)(1.0)


# --- decisions --------------------------------------------------------------------------------

# Names that are SciPy's own objects here, and why.
OTHERS = {
    "tests of counts, in C code, or of laws without a derivative": """barnard_exact binomtest
        boschloo_exact dunnett fisher_exact goodness_of_fit ks_1samp kstest multiscale_graphcorr
        power shapiro tukey_hsd""".split(),
    "searches": "fit siegelslopes wasserstein_distance_nd".split(),
    "tables": "estimated_cdf random_table".split(),
    "draws and resampling": """ortho_group random_correlation sobol_indices special_ortho_group
        unitary_group""".split(),
    "classes and errors": """BootstrapMethod CensoredData ConstantInputWarning Covariance
        DegenerateDataWarning FitError MonteCarloMethod NearConstantInputWarning
        PermutationMethod rv_continuous rv_discrete rv_histogram""".split(),
    "modules": """biasedurn distributions kde morestats mstats mstats_basic mstats_extras mvn stats
        test""".split(),
}


def test_every_name_of_scipy_stats_is_decided():
    own = {*DISTRIBUTIONS, *MULTIVARIATE, *VARIABLES, *FUNCTIONS, *DEFINITIONS, *CONSTANT}
    own |= {"contingency", "gaussian_kde", "make_distribution", "qmc", *NAMES["stats"].split()}
    others = [name for names in OTHERS.values() for name in names]
    assert len(others) == len(set(others))
    assert not own & (set(others) - {"random_table"})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        public = {name for name in dir(theirs) if not name.startswith("_")}
    assert public <= own | set(others), f"undecided: {sorted(public - own - set(others))}"
    for name in public - own:
        if name not in ("mvn", "biasedurn", "kde", "morestats", "mstats_basic", "mstats_extras"):
            assert getattr(stats, name) is getattr(theirs, name)
    for name in own & public:
        assert getattr(stats, name) is not getattr(theirs, name)
        assert name in stats.__all__


def test_degrees_of_freedom_are_mapped_and_may_be_arrays_of_no_dimension():
    dfs = np.array([2.5, 40.0, np.inf])
    found = vmap(lambda df: stats.multivariate_t.logpdf(A, M3, C3, df))(dfs)
    expected = [theirs.multivariate_t.logpdf(A, M3, C3, df) for df in dfs]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    by_df = [grad(lambda df: stats.wishart.entropy(df, C3))(df) for df in (4.5, np.array(4.5))]
    assert by_df[0] == by_df[1]
