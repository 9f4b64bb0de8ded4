"""Functions that compute by adopted copies of SciPy's code: a call of each, by differences."""

from __future__ import annotations

import copy
import importlib
import pickle
import sys
import warnings
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import numpy as np
import pytest

pytest.importorskip("scipy")

import scipy.signal
import scipy.stats

import tapegrad.scipy.signal
from tapegrad._tree import flatten
from tapegrad.scipy import stats
from tapegrad.scipy._copied import NAMES

RNG = np.random.default_rng(3)
A, B, NEAR = RNG.normal(size=9), RNG.normal(size=8) + 0.4, RNG.normal(size=9)
POSITIVE = np.abs(A) + 0.5
LONG = np.concatenate([A, A**2, A**3])
SQUARE, IMAGE = RNG.normal(size=(4, 4)), RNG.normal(size=(6, 7))
TABLE = np.array([[12.0, 5.0, 7.0], [9.0, 11.0, 6.0]])
COUNTS, PARTS = np.array([16.0, 18.0, 30.0]), np.array([0.2, 0.3, 0.5])
UNIT = np.array([[0.2, 0.4], [0.6, 0.9], [0.3, 0.1]])
LOW, HIGH = np.array([0.1, 0.9]), np.array([0.3, 0.6])
BANDS = np.array([0.01, 0.3, 0.5, 0.99])
NUMERATOR, DENOMINATOR = np.array([1.0, 0.5, 0.2]), np.array([1.0, -0.9, 0.3, 0.1])
RESIDUES, POLES = np.array([1.0, 0.4, 0.3]), np.array([-0.5, -0.2, -0.7])
TRUTHS = [1.0, 1.0, 0.0, 1.0]
GROUPS = np.arange(9.0), np.arange(9.0) % 3

# A function of the function and of arrays and floats, and these.
CALLS: dict[str, Any] = {}


def calls(module: str, names: str, call: Any, *at: Any) -> None:
    for name in names.split():
        CALLS.setdefault(f"{module}.{name}", []).append((call, at))


calls("constants", "convert_temperature", lambda f, x: f(x, "Celsius", "Fahrenheit"), A)
calls("constants", "lambda2nu nu2lambda", lambda f, x: f(x), POSITIVE)
calls("differentiate", "derivative", lambda f, x, c: f(lambda y: np.exp(c * y), x).df, 0.6, 1.3)
calls(
    "differentiate",
    "jacobian",
    lambda f, x, c: f(lambda y: np.stack([c * y[0] ** 2, y[0] * y[1]]), x).df,
    np.array([0.6, 1.2]),
    1.3,
)
calls(
    "differentiate",
    "hessian",
    lambda f, x: f(lambda y: y[0] ** 3 * y[1], x).ddf,
    np.array([0.6, 1.2]),
)
calls(
    "integrate",
    "solve_bvp",
    lambda f, k, end: f(
        lambda _, y: np.vstack([y[1], -k * np.exp(y[0])]),
        lambda a, b: np.stack([a[0], b[0] - end]),
        np.linspace(0, 1, 5),
        np.ones((2, 5)),
        tol=1e-6,
    ).sol(0.4),
    1.5,
    0.1,
)
calls("linalg", "cdf2rdf", lambda f, a: f(*np.linalg.eig(a)), SQUARE)
calls("linalg", "expm_cond", lambda f, a: f(0.1 * a), SQUARE)
calls(
    "ndimage",
    "labeled_comprehension",
    lambda f, x: f(x, np.arange(42).reshape(6, 7) % 3, [0, 1, 2], np.mean, float, 0.0),
    IMAGE,
)
calls(
    "ndimage",
    "vectorized_filter",
    lambda f, x: f(x, lambda w, axis: np.sum(w**2, axis), size=3),
    IMAGE,
)
calls("optimize", "rosen rosen_der rosen_hess", lambda f, x: f(x), A)
calls("optimize", "rosen_hess_prod", lambda f, x, p: f(x, p), A, NEAR)
calls("optimize", "approx_fprime", lambda f, x: f(x, lambda y: np.sum(y**3), 1e-6), A)
calls("signal", "butter bessel", lambda f, w: f(3, w), 0.3)
calls("signal", "butter iirfilter", lambda f, w: f(2, w, btype="band", output="sos"), HIGH)
calls("signal", "cheby1", lambda f, r, w: f(3, r, w), 1.0, 0.3)
calls("signal", "cheby2", lambda f, r, w: f(3, r, w), 20.0, 0.3)
calls("signal", "ellip", lambda f, r, s, w: f(3, r, s, w), 1.0, 40.0, 0.3)
calls("signal", "cheb1ap cheb2ap", lambda f, r: f(3, r), 12.0)
calls("signal", "ellipap", lambda f, r, s: f(3, r, s), 1.0, 40.0)
calls(
    "signal",
    "buttord cheb1ord cheb2ord ellipord iirdesign",
    lambda f, *args: f(*args),
    0.2,
    0.3,
    3.0,
    40.0,
)
calls(
    "signal",
    "band_stop_obj",
    lambda f, w, p, s, r, a: f(w, 0, p, s, r, a, "butter"),
    0.15,
    LOW,
    HIGH,
    3.0,
    40.0,
)
calls("signal", "iirnotch iirpeak", lambda f, w, q: f(w, q), 0.3, 20.0)
calls("signal", "iircomb", lambda f, q: f(0.25, q), 20.0)
calls("signal", "gammatone", lambda f, w: f(w, "iir", fs=16.0), 4.4)
calls("signal", "firwin", lambda f, w: f(11, w), 0.3)
calls("signal", "firwin_2d", lambda f, w: f((5, 5), "hamming", fc=w, circular=True), 0.4)
calls(
    "signal",
    "firwin2",
    lambda f, at, gain: f(11, np.concatenate([[0.0], at, [1.0]]), gain),
    HIGH,
    np.array([1.0, 0.8, 0.3, 0.0]),
)
calls("signal", "firls", lambda f, x, y: f(11, x, y), BANDS, np.array([1.0, 0.9, 0.2, 0.1]))
calls("signal", "kaiserord", lambda f, r, w: f(r, w)[1], 60.0, 0.1)
calls("signal", "minimum_phase", lambda f, h: f(h, n_fft=64), np.array([1.0, 3, 5, 3, 1]) / 10)
calls(
    "signal",
    "place_poles",
    lambda f, a, p: f(a, np.eye(4)[:, :2], p).gain_matrix,
    SQUARE,
    -np.arange(1.0, 5.0),
)
calls("signal", "closest_STFT_dual_window", lambda f, w: f(w, 2), np.hanning(8) + 0.1)
calls("signal", "czt_points", lambda f, w, a: f(5, w, a), 0.9, 1.1)
calls("signal", "abcd_normalize", lambda f, a, b: f(a, b, np.ones((1, 4))), SQUARE, SQUARE[:, :1])
calls("signal", "invres invresz", lambda f, r, p: f(r, p, []), RESIDUES, POLES)
calls("signal", "tf2sos", lambda f, b, a: f(b, a), NUMERATOR, DENOMINATOR)
calls("signal", "zpk2sos", lambda f, z, p, k: f(z, p, k), np.array([-1.0, -0.3]), POLES, 2.0)
calls("signal", "cspline1d qspline1d", lambda f, x: f(x), A)
calls("signal", "cspline1d_eval qspline1d_eval", lambda f, c, x: f(c, x), A, np.array([0.3, 2.2]))
calls("signal.windows", "chebwin", lambda f, at: f(9, at), 60.0)
calls("signal.windows", "dpss", lambda f, at: f(9, at), 2.5)
calls("signal.windows", "taylor", lambda f, at: f(9, sll=at), 30.0)
calls("sparse.csgraph", "laplacian", lambda f, w: f(w + w.T), np.abs(SQUARE))
calls(
    "spatial.distance",
    "dice rogerstanimoto russellrao sokalsneath yule",
    lambda f, u, w: f(u, TRUTHS, w),
    np.array([0.9, 0.2, 0.7, 0.4]),
    np.array([0.5, 1.0, 1.5, 2.0]),
)
calls("special", "jacobi", lambda f, a, b: f(3, a, b)(0.3), 0.5, 1.5)
calls("special", "sh_jacobi", lambda f, a, b: f(3, a, b)(0.3), 1.7, 0.7)
calls("special", "gegenbauer genlaguerre", lambda f, a: f(3, a)(0.3), 0.7)
calls("special", "roots_jacobi", lambda f, a, b: f(4, a, b), 0.5, 1.5)
calls("special", "roots_sh_jacobi", lambda f, a, b: f(4, a, b), 1.7, 0.7)
calls("special", "roots_gegenbauer roots_genlaguerre", lambda f, a: f(4, a), 0.7)
calls(
    "stats",
    """
    alexandergovern ansari bartlett brunnermunzel cramervonmises_2samp epps_singleton_2samp
    f_oneway fligner kruskal ks_2samp levene mannwhitneyu median_test mood ranksums ttest_ind
    """,
    lambda f, a, b: f(a, b),
    A,
    B,
)
PERMUTED = scipy.stats.PermutationMethod(n_resamples=9, rng=1)  # a class that users name
calls("stats", "bws_test", lambda f, a, b: f(a, b).statistic, A, B)
calls("stats", "ttest_ind", lambda f, a, b: f(a, b, equal_var=False, alternative="less"), A, B)
calls("stats", "ttest_ind", lambda f, a, b: f(a, b).confidence_interval(), A, B)
calls("stats", "ttest_ind", lambda f, a, b: f(a, b, method=PERMUTED).statistic, A, B)
calls("stats", "ttest_1samp", lambda f, a: f(a, 0.1), A)
calls("stats", "ttest_rel wilcoxon theilslopes obrientransform", lambda f, a, b: f(a, b), A, NEAR)
calls("stats", "obrientransform", lambda f, a, b: list(f(a, b)), A, B)  # of unlike lengths
calls("stats", "pointbiserialr", lambda f, a: f(GROUPS[1] > 0, a), A)
calls(
    "stats",
    "ttest_ind_from_stats",
    lambda f, a, s, b, t: f(a, s, 12, b, t, 15),
    1.0,
    0.8,
    1.4,
    1.1,
)
calls("stats", "jarque_bera normaltest skewtest kurtosistest", lambda f, a: f(a), LONG)
calls("stats", "anderson", lambda f, a: f(a, "norm", method="interpolate").statistic, A)
calls("stats", "anderson_ksamp", lambda f, a, b: f([a, b]).statistic, A, B)
calls("stats", "cramervonmises", lambda f, a: f(a, "norm"), A)
calls("stats", "cramervonmises", lambda f, a: f(a, stats.norm.cdf), A)
calls("stats", "friedmanchisquare", lambda f, a, b: f(a, b, a + b), A, NEAR)
calls("stats", "chisquare", lambda f, n: f(n, n.sum() * PARTS), COUNTS)
calls("stats", "power_divergence", lambda f, n, k: f(n, lambda_=k), COUNTS, 0.7)
calls("stats", "chi2_contingency", lambda f, n: f(n), TABLE)
calls("stats.contingency", "chi2_contingency expected_freq", lambda f, n: f(n), TABLE)
calls("stats", "combine_pvalues false_discovery_control", lambda f, p: f(p), np.array([0.1, 0.3]))
calls("stats", "bayes_mvs", lambda f, a: f(a), A)
calls("stats", "mvsdist", lambda f, a: [law.mean() for law in f(a)], A)
calls("stats", "expectile", lambda f, a, t: f(a, t), A, 0.3)
calls("stats", "quantile", lambda f, a, p: f(a, p), A, HIGH)
calls("stats", "quantile_test", lambda f, a: f(a, q=0.1, p=0.4), A)
calls("stats", "boxcox_normplot", lambda f, a: f(a, -1, 1, N=4), POSITIVE)
calls("stats", "yeojohnson_normplot ppcc_plot", lambda f, a: f(a, -1, 1, N=4), A)
calls("stats", "probplot", lambda f, a: f(a), A)
calls("stats", "sigmaclip", lambda f, a: f(a, 1.5, 1.5), A)
calls("stats", "binned_statistic", lambda f, v: f(GROUPS[0], v, "std", bins=3).statistic, A)
calls("stats", "binned_statistic_2d", lambda f, v: f(*GROUPS, v, bins=2).statistic, A)
calls(
    "stats",
    "binned_statistic_dd",
    lambda f, v: f(np.stack(GROUPS, 1), v, bins=2).statistic,
    A,
)
calls("stats", "cumfreq relfreq", lambda f, a: f(a, 4)[1:3], A)
calls("stats", "cramervonmises_2samp", lambda f, a, b: f(a, b, method="asymptotic").pvalue, A, B)
calls("stats", "ecdf", lambda f, a: f(a).cdf.quantiles, A)
calls("stats", "logrank", lambda f, a, b: f(a, b), POSITIVE, np.abs(B) + 0.3)
calls("stats", "page_trend_test", lambda f, a: f(a), SQUARE)
calls("stats", "poisson_means_test", lambda f, m, n: f(4, m, 7, n), 10.0, 12.0)
calls(
    "stats",
    "bootstrap",
    lambda f, a: f((a,), np.mean, n_resamples=20, rng=1).standard_error,
    A,
)
calls(
    "stats",
    "permutation_test",
    lambda f, a, b: (
        f((a, b), lambda x, y: np.mean(x) - np.mean(y), n_resamples=9, rng=1).statistic
    ),
    A,
    B,
)
calls(
    "stats",
    "monte_carlo_test",
    lambda f, a: f(a, np.random.default_rng(1).normal, np.mean, n_resamples=9).statistic,
    A,
)
calls("stats.qmc", "scale", lambda f, x, low: f(x, low, np.array([2.0, 3.0])), UNIT, -POLES[:2])
calls("stats.qmc", "geometric_discrepancy", lambda f, x: f(x), UNIT)
# Where a maximum is, which differences know to few digits, as all that is found by iterations.
calls("stats", "boxcox_normmax", lambda f, a: f(a, method="mle"), POSITIVE)
calls("stats", "yeojohnson_normmax ppcc_max", lambda f, a: f(a), A)
COARSE = {
    "signal.place_poles",
    "stats.boxcox_normmax",
    "stats.ppcc_max",
    "stats.yeojohnson_normmax",
}


def numbers(result: Any) -> Any:
    """All numbers of a result, its parts one after another."""
    found: list[Any] = []
    waiting = [result]
    while waiting:
        part = waiting.pop()
        if isinstance(part, (list, tuple)):
            waiting += part[::-1]
        elif isinstance(part, Mapping):
            waiting += [part[key] for key in sorted(part)]
        elif isinstance(part, ModuleType):  # the arrays' library, which a result may know
            continue
        elif hasattr(part, "dtype"):
            halves = [np.real(part), np.imag(part)] if np.iscomplexobj(part) else [part]
            found += [np.ravel(half) * 1.0 for half in halves]
        elif isinstance(part, (int, float)):
            found.append(np.array([float(part)]))
        elif hasattr(part, "__dict__"):
            waiting.append(vars(part))
    return np.concatenate(found)


def function_of(name: str, package: str) -> Any:
    module, _, last = name.rpartition(".")
    return getattr(importlib.import_module(f"{package}.{module}"), last)


def is_there(name: str) -> bool:
    """Whether this version of SciPy has the function."""
    module, _, last = name.rpartition(".")
    return hasattr(importlib.import_module(f"scipy.{module}"), last)


ALL = [(name, *each) for name, several in CALLS.items() if is_there(name) for each in several]


@pytest.mark.parametrize("name", sorted(NAMES))
def test_each_function_is_listed_by_its_module_among_public_names(name):
    listed = importlib.import_module(f"tapegrad.scipy.{name}").__all__
    theirs = importlib.import_module(f"scipy.{name}")
    assert {x for x in NAMES[name].split() if hasattr(theirs, x)} <= set(listed)
    assert len(listed) == len(set(listed))
    assert not [x for x in listed if x.startswith("_")]


def test_each_function_has_a_call():
    names = {f"{module}.{name}" for module, names in NAMES.items() for name in names.split()}
    assert set(CALLS) == names


@pytest.mark.part(9)
@pytest.mark.parametrize(("name", "call", "at"), ALL, ids=[name for name, *_ in ALL])
def test_values_are_scipys_and_gradients_those_of_differences(name, call, at):
    ours, theirs = function_of(name, "tapegrad.scipy"), function_of(name, "scipy")
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value = numbers(call(theirs, *at))
        weights = np.where(np.isfinite(value), np.random.default_rng(5).normal(size=value.size), 0)

        def total(function, *at):
            return np.sum(np.where(weights == 0, 0.0, numbers(call(function, *at))) * weights)

        everything = tuple(range(len(at)))
        inside, slopes = tapegrad.value_and_grad(lambda *at: total(ours, *at), everything)(*at)
        assert np.array_equal(numbers(call(ours, *at)), value, equal_nan=True)
        assert np.isclose(inside, total(theirs, *at), rtol=1e-6 if name in COARSE else 1e-12)
        step = 1e-3 if name in COARSE else 1e-5
        for i, (x, slope) in enumerate(zip(at, slopes, strict=True)):
            along = np.random.default_rng(i).normal(size=np.shape(x))
            ends = [
                total(theirs, *at[:i], x + sign * step * along, *at[i + 1 :]) for sign in (1, -1)
            ]
            expected = (ends[0] - ends[1]) / (2 * step)
            close = (
                {"rtol": 1e-3, "atol": 1e-4} if name in COARSE else {"rtol": 1e-4, "atol": 1e-6}
            )
            assert np.allclose(np.sum(slope * along), expected, **close)


def result_of(call, function, at):
    """The result of the function itself in a call of the table."""
    found = []

    def kept(*args, **kwargs):
        found.append(function(*args, **kwargs))
        return found[-1]

    call(kept, *at)
    return found[-1]


def objects(result):
    """The objects of SciPy's classes in a result."""
    if isinstance(result, tuple | list):
        for part in result:
            yield from objects(part)
    if type(result).__module__.partition(".")[0] == "scipy":
        yield result
        for name, part in sorted(getattr(result, "__dict__", {}).items()):
            if not name.startswith("_"):
                yield from objects(part)


# Results that hold functions, laws or lists of unlike arrays, and one that depends on a draw.
NO_TREES = {"integrate.solve_bvp", "stats.mvsdist", "stats.obrientransform", "stats.bws_test"}
TREES = [case for case in ALL if case[0] not in NO_TREES]


@pytest.mark.part(9)
@pytest.mark.parametrize(("name", "call", "at"), TREES, ids=[name for name, *_ in TREES])
def test_results_are_of_scipys_classes(name, call, at):
    ours, theirs = function_of(name, "tapegrad.scipy"), function_of(name, "scipy")
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = result_of(call, theirs, at)
        along = tuple(np.ones(np.shape(x)) for x in at)
        value, slope = tapegrad.jvp(lambda *at: result_of(call, ours, at), at, along)
    for result in (value, slope):
        for own, other in zip(objects(result), objects(plain), strict=True):
            assert isinstance(own, type(other))
            assert not isinstance(own, tuple) or own._fields == other._fields
    close = {"rtol": 1e-3 if name in COARSE else 1e-6}
    np.testing.assert_allclose(numbers(flatten(value)[0]), numbers(flatten(plain)[0]), **close)
    if hasattr(plain, "confidence_interval") and callable(plain.confidence_interval):
        found, expected = value.confidence_interval(0.9), plain.confidence_interval(0.9)
        assert isinstance(found, type(expected))
        np.testing.assert_allclose(found, expected, rtol=1e-9)
    try:
        pickle.dumps(plain)
    except (AttributeError, TypeError):  # SciPy's own hold functions, or modules
        return
    for found in (pickle.loads(pickle.dumps(value)), copy.deepcopy(value)):
        assert type(found) is type(plain) or not list(objects(plain))
        np.testing.assert_allclose(numbers(flatten(found)[0]), numbers(flatten(plain)[0]), **close)


# Polynomials, which hold a function of their own each.
POLYNOMIALS = {f"special.{name}" for name in "jacobi sh_jacobi gegenbauer genlaguerre".split()}
MAPPED = [case for case in TREES if case[0] not in POLYNOMIALS]


@pytest.mark.part(9)
@pytest.mark.parametrize(("name", "call", "at"), MAPPED, ids=[name for name, *_ in MAPPED])
def test_a_vmap_gives_what_each_example_does(name, call, at):
    function = function_of(name, "tapegrad.scipy")
    rows = [np.stack([x, x * 1.005]) for x in at]
    examples = list(zip(*rows, strict=True))
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")

        def parts(*at):
            return flatten(result_of(call, function, at))[0]

        found = tapegrad.vmap(parts)(*rows)
        for together, *each in zip(found, *(parts(*at) for at in examples), strict=True):
            if hasattr(together, "dtype") and together.dtype.kind in "biufc":
                np.testing.assert_allclose(together, np.stack(each), rtol=1e-7, atol=1e-12)


def spread(x):
    """A number of results whose values decide how SciPy goes on."""
    found = stats.ttest_1samp(x, 0.1)
    return found.pvalue + found.confidence_interval().high * stats.levene(x, B).statistic


INSIDE = {
    "grad": tapegrad.grad,
    "hessian": tapegrad.hessian,
    "jacfwd": tapegrad.jacfwd,
    "grad of vmap": lambda f: tapegrad.grad(
        lambda x: np.sum(tapegrad.vmap(f)(np.stack([x, 2 * x])))
    ),
    "compile": lambda f: tapegrad.compile(tapegrad.grad(f)),
    "vmap": lambda f: lambda x: tapegrad.vmap(tapegrad.grad(f))(np.stack([x, x + 0.1])),
}


@pytest.mark.part(6)
@pytest.mark.parametrize("name", INSIDE)
def test_transforms_inside_of_a_vmap_go_each_examples_way(name):
    of = INSIDE[name](spread)
    rows = np.stack([A[:5], NEAR[:5]])
    one_by_one = [of(x) for x in rows]
    np.testing.assert_allclose(tapegrad.vmap(of)(rows), one_by_one, rtol=1e-10, atol=1e-13)


def test_a_result_that_is_a_function_is_not_stacked():
    with pytest.raises(tapegrad.BatchingError, match="jacobi's result that are no numbers differ"):
        tapegrad.vmap(lambda a: tapegrad.scipy.special.jacobi(3, a, 0.5)(0.3))(NEAR[:2] ** 2)


def test_modules_of_scipy_stay_what_they_are_for_others():
    before, finders = dict(sys.modules), list(sys.meta_path)
    tapegrad.grad(lambda w: np.sum(tapegrad.scipy.signal.butter(3, w)[0]))(0.3)
    assert sys.meta_path == finders
    assert all(sys.modules[name] is module for name, module in before.items())
    assert "__tapegrad_float__" not in vars(scipy.signal._filter_design).get("__builtins__", {})


def test_warnings_and_errors_are_those_of_scipy():
    slope = tapegrad.grad(lambda a: stats.bootstrap((a,), np.mean, n_resamples=9).standard_error)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", category=scipy.stats.DegenerateDataWarning)
        with pytest.raises(scipy.stats.DegenerateDataWarning):
            slope(np.ones(3))


def test_errors_of_scipy_about_arguments_have_no_advice():
    with pytest.raises(ValueError, match="gpass should be smaller than gstop") as raised:
        tapegrad.grad(lambda w: tapegrad.scipy.signal.buttord(w, 0.3, 5.0, 3.0)[1])(0.2)
    assert not hasattr(raised.value, "__notes__")


def test_a_function_that_closes_over_a_traced_value_is_differentiated():
    slope = tapegrad.grad(
        lambda c: (
            stats.bootstrap(
                (A,), lambda x, axis: c * np.mean(x, axis), rng=1, n_resamples=9
            ).confidence_interval.low
        )
    )(2.0)
    found = scipy.stats.bootstrap((A,), np.mean, rng=1, n_resamples=9).confidence_interval.low
    assert np.isclose(slope, found)


def test_plain_values_inside_a_transform_are_scipys():
    def scaled(x):
        b, a = tapegrad.scipy.signal.butter(3, 0.3)
        assert type(b) is np.ndarray
        return x * np.sum(b) + np.sum(a)

    assert tapegrad.grad(scaled)(1.0) == np.sum(scipy.signal.butter(3, 0.3)[0])


def test_copies_change_no_compiled_module():
    from scipy.spatial import distance

    compiled = distance._distance_wrap
    before = dict(vars(compiled))
    yule = importlib.import_module("tapegrad.scipy.spatial.distance").yule
    u, v = np.array([1, 0, 1, 1], bool), np.array([1, 1, 0, 1], bool)
    tapegrad.grad(lambda w: yule(u, v, w))(np.ones(4))
    assert vars(compiled) == before


def test_second_derivatives_of_a_boundary_problem_whose_solution_is_zero_somewhere():
    def middle(k):
        found = tapegrad.scipy.integrate.solve_bvp(
            lambda x, y: np.stack([y[1], -k * np.exp(y[0])]),
            lambda a, b: np.stack([a[0], b[0]]),
            np.linspace(0, 1, 11),
            np.zeros((2, 11)),
            tol=1e-9,
        )
        return found.sol(0.5)[0]

    def frequency(length):
        start = np.zeros((2, 11))
        start[0, [3, 6]] = 1.0, -1.0
        return tapegrad.scipy.integrate.solve_bvp(
            lambda x, y, p: np.stack([y[1], -((p[0] * length) ** 2) * y[0]]),
            lambda a, b, p: np.stack([a[0], b[0], a[1] - p[0]]),
            np.linspace(0, 1, 11),
            start,
            p=[6.0],
            tol=1e-6,
        ).p[0]

    slope = tapegrad.grad(middle)
    expected = (slope(1.001) - slope(0.999)) / 0.002
    np.testing.assert_allclose(tapegrad.hessian(middle)(1.0), expected, rtol=1e-5)
    np.testing.assert_allclose(tapegrad.hessian(frequency)(1.3), 4 * np.pi / 1.3**3, rtol=1e-5)


@pytest.mark.parametrize("statistic", ["mean", "sum", "std", "count"])
def test_binned_statistics_of_the_examples_of_a_vmap(statistic):
    def binned(values):
        return stats.binned_statistic(LONG, values, statistic, bins=4).statistic

    rows = np.stack([LONG, LONG**2])
    np.testing.assert_allclose(tapegrad.vmap(binned)(rows), [binned(row) for row in rows])
