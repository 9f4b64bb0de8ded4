"""vmap: each rule against a loop over the examples, and how examples, axes and errors behave."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from draws import draws
from hypothesis import given, note
from hypothesis import strategies as st
from samples import SAMPLES
from sampling import Noted
from tolerances import assert_close

from tapegrad import BatchingError, grad, hessian, jacfwd, jacrev, jvp, vmap
from tapegrad._core.rule import REGISTRY
from tapegrad._numpy_versions import EXPIRING
from tapegrad._tree import flatten

each_sample = pytest.mark.parametrize(
    "entry", SAMPLES.values(), ids=lambda entry: REGISTRY[entry.function].name
)
EXAMPLES = 3
WRITES = (np.copyto, np.put, np.putmask, np.place, np.put_along_axis, np.fill_diagonal)
LOOPS = (
    "np.digitize np.histogram np.histogram2d np.histogram_bin_edges np.histogramdd np.interp "
    "np.isin np.linalg.lstsq np.poly np.roots np.searchsorted"
).split() + [f"np.{name}" for name in EXPIRING if name == "in1d"]
# Read when the module is imported: tests and the examples of docstrings declare functions later.
OTHERS = ("tapegrad.scipy", "tapegrad.implicit", "tapegrad.autograd")  # have tests of their own
HOMES = {rule: getattr(rule.function, "__module__", None) or "numpy" for rule in REGISTRY.values()}
OURS = [
    rule
    for rule, home in HOMES.items()
    if home.startswith(("numpy", "tapegrad."))
    and not home.startswith(OTHERS)
    and not rule.name.startswith("scipy.")
]
# NumPy asks the first argument alone which library's function to call.
FIRST_DECIDES = (*WRITES, np.full_like)


def is_float(x):
    return isinstance(x, np.ndarray) and x.dtype.kind in "fc"


def examples_of(x):
    """Three arrays like x, no two of them equal, inside the sample's domain."""
    return np.stack([x * (1 + 0.03 * i) for i in range(EXAMPLES)]).astype(x.dtype)


def leaves_of(result):
    """The leaves of a result; types and texts are no pytrees."""
    return [result] if isinstance(result, (type, np.dtype)) else flatten(result)[0]


def are_arrays(leaves):
    return all(isinstance(x, (np.ndarray, np.generic, bool, int)) for x in leaves)


class Case(NamedTuple):
    """A drawn call as a function of some of its arrays, and three examples of each of these."""

    one: Any
    batches: list


def drawn(entry, data):
    args, params = entry.draw(data)
    note(Noted(REGISTRY[entry.function].name, args, params))
    places = [i for i, x in enumerate(args) if is_float(x)]
    first_decides = entry.function in FIRST_DECIDES
    if not places or first_decides and places[0] != 0:
        return None  # NumPy's numbers cannot be written into
    mapped = (
        places if first_decides else data.draw(st.sampled_from([places, places[:1], places[-1:]]))
    )

    def one(*xs):
        whole = list(args)
        for i, x in zip(mapped, xs, strict=True):
            whole[i] = x
        return entry.call(*whole, **params)

    return Case(one, [examples_of(args[i]) for i in mapped])


def rows_of(case, f):
    """The leaves of f at each example, stacked."""
    each = [leaves_of(f(*xs)) for xs in zip(*case.batches, strict=True)]
    return [np.stack([np.asarray(row) for row in rows]) for rows in zip(*each, strict=True)]


def assert_maps(case, f):
    got = flatten(vmap(f)(*case.batches))[0]
    for part, wanted in zip(got, rows_of(case, f), strict=True):
        assert part.dtype == wanted.dtype
        # A tangent is rounded to the dtype of its argument, which may be coarser than the result.
        assert_close(part, wanted, *case.batches)


def check_value(entry, data):
    case = drawn(entry, data)
    if case is None:
        return
    word = REGISTRY[entry.function].batch
    if word == "ragged":
        with pytest.raises(BatchingError, match="may differ from example to example"):
            vmap(case.one)(*case.batches)
        return
    first = leaves_of(case.one(*(x[0] for x in case.batches)))
    if word == "example" and not are_arrays(first):
        seen = []
        vmap(lambda *xs: seen.append(case.one(*xs)) or xs[0])(*case.batches)
        assert leaves_of(seen[0]) == first
        return
    assert_maps(case, case.one)


@pytest.mark.part(6)
@each_sample
@draws(3, 60)
@given(data=st.data())
def test_a_rule_maps_as_a_loop_does(entry, data):
    check_value(entry, data)


# --- Derivatives --------------------------------------------------------------------------------


def total_of(one):
    """A scalar of all floating results, each with a slope of its own."""

    def total(*xs):
        leaves = [x for x in flatten(one(*xs))[0] if getattr(x, "dtype", None) is not None]
        terms = [
            np.real(np.sum(x * x)) + np.real(np.sum(x)) for x in leaves if x.dtype.kind in "fc"
        ]
        return sum(terms[1:], start=terms[0]) if terms else None

    return total


def check_derivatives(entry, data):
    case = drawn(entry, data)
    word = REGISTRY[entry.function].batch
    if case is None or word in ("ragged", "example"):
        return
    total = total_of(case.one)
    first = [x[0] for x in case.batches]
    if REGISTRY[entry.function].form in ("constant", "unsupported") or total(*first) is None:
        return
    places = tuple(range(len(first)))
    gradient = grad(total, places)
    wanted = rows_of(case, gradient)
    for part, rows in zip(flatten(vmap(gradient)(*case.batches))[0], wanted, strict=True):
        assert part.dtype == rows.dtype
        assert_close(part, rows)

    def all_of_them(*batches):
        return np.sum(vmap(total)(*batches))

    for part, rows in zip(grad(all_of_them, places)(*case.batches), wanted, strict=True):
        assert_close(part, rows)
    assert_maps(case, lambda *xs: jvp(total, xs, xs)[1])


@pytest.mark.part(6)
@pytest.mark.filterwarnings("ignore::tapegrad.IndependentOutputWarning")
@each_sample
@draws(2, 40)
@given(data=st.data())
def test_derivatives_map_as_a_loop_does(entry, data):
    check_derivatives(entry, data)


# --- Examples of several kinds ------------------------------------------------------------------

# How many numbers they give depends on values: the examples of a vmap have as many as the longest.
OF_SOME_LENGTH = (
    np.histogram_bin_edges,
    np.linalg.lstsq,
    np.poly,
    np.polydiv,
    np.polymul,
    np.roots,
)
# A batch is complex as soon as one example leaves the real domain: on its edge NaN, not infinite.
OF_SOME_DTYPE = tuple(f for f in vars(np.emath).values() if callable(f))
each_of_one_kind = pytest.mark.parametrize(
    "entry",
    [SAMPLES[f] for f in SAMPLES if f not in (*OF_SOME_LENGTH, *OF_SOME_DTYPE)],
    ids=lambda entry: REGISTRY[entry.function].name,
)


def kinds_of(x):
    """Arrays like x at which rules have cases of their own: zeros, ties, dependent rows."""
    holed = x.copy()
    holed[(slice(1),) * x.ndim] = 0
    tied, rows = (np.array(np.broadcast_to(part, x.shape)) for part in (x[..., :1], x[:1]))
    return [x, np.zeros_like(x), np.ones_like(x), tied, rows, holed, np.round(x)]


def check_kinds(entry, data):
    args, params = entry.draw(data)
    places = [i for i, x in enumerate(args) if is_float(x) and x.ndim]
    if not places or REGISTRY[entry.function].batch in ("ragged", "example"):
        return
    places = data.draw(st.sampled_from([places, places[:1], places[-1:]]))
    chosen = data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=3))

    def one(*xs):
        whole = list(args)
        for i, x in zip(places, xs, strict=True):
            whole[i] = x
        return entry.call(*whole, **params)

    total, argnums = total_of(one), tuple(range(len(places)))
    batch = [tuple(kinds_of(args[i])[kind] for i in places) for kind in (0, *chosen)]
    if REGISTRY[entry.function].form in ("constant", "unsupported") or total(*batch[0]) is None:
        return
    for f in (grad(total, argnums), lambda *xs: jvp(total, xs, xs)[1]):
        kept, rows = [], []
        for xs in batch:
            try:
                row = flatten(f(*xs))[0]
            except (np.linalg.LinAlgError, ValueError, ArithmeticError, TypeError):
                continue  # outside of the domain
            kept.append(xs)
            rows.append(row)
        if kept:
            found = flatten(vmap(f)(*map(np.stack, zip(*kept, strict=True))))[0]
            for part, each in zip(found, zip(*rows, strict=True), strict=True):
                assert_close(part, np.stack(each), *map(np.asarray, each))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.part(6)
@each_of_one_kind
@draws(3, 60)
@given(data=st.data())
def test_examples_of_several_kinds_map_as_a_loop_does(entry, data):
    """A rule that goes one way for some examples goes that way for these alone."""
    with np.errstate(all="ignore"):
        check_kinds(entry, data)


@pytest.mark.parametrize(
    "function",
    [
        np.linalg.det,
        lambda a: np.sum(np.linalg.qr(a)[1] ** 2),
        lambda a: np.sum(np.linalg.qr(a[:, :2])[1]),
        lambda a: np.sum(np.linalg.qr(a[:2])[1]),
        lambda a: np.sum(np.real(np.linalg.eigvals(a)) ** 2),
        lambda a: np.sum(np.linalg.lstsq(a, a[:, 0] + 1)[0]),
    ],
)
def test_matrices_some_of_which_are_singular(function):
    batch = np.random.default_rng(0).normal(size=(5, 3, 3))
    batch[1] = 0
    batch[2, 1] = 2 * batch[2, 0]
    batch[3] = np.eye(3)
    for every in (batch, batch[1:3], batch[:1]):
        gradient = grad(function)
        np.testing.assert_allclose(
            vmap(gradient)(every), np.stack([gradient(a) for a in every]), 1e-9, 1e-9
        )
        tangents = vmap(lambda a: jvp(function, (a,), (a + 1,))[1])(every)
        each = [jvp(function, (a,), (a + 1,))[1] for a in every]
        np.testing.assert_allclose(tangents, each, 1e-9, 1e-9)


def test_second_derivatives_of_eigenvalues_in_the_order_of_eigvals():
    batch = np.random.default_rng(0).normal(size=(3, 3, 3))
    batch[1] = np.diag([3.0, 1.0, 2.0])

    def along(a):
        return jvp(grad(lambda a: np.sum(np.real(np.linalg.eigvals(a)) ** 3)), (a,), (a + 1,))[1]

    np.testing.assert_allclose(vmap(along)(batch), np.stack([along(a) for a in batch]), 1e-9, 1e-9)


def test_second_derivatives_of_determinants_some_of_which_are_zero():
    batch = np.zeros((3, 2, 2))
    batch[1:] = [[1.0, 2.0], [2.0, 4.0]], [[2.0, 0.5], [0.5, 1.0]]
    wanted = np.zeros((2, 2, 2, 2))
    wanted[0, 0, 1, 1] = wanted[1, 1, 0, 0] = 1
    wanted[0, 1, 1, 0] = wanted[1, 0, 0, 1] = -1
    np.testing.assert_allclose(vmap(hessian(np.linalg.det))(batch), [wanted] * 3, atol=1e-12)


def test_residuals_of_examples_without_full_rank_are_nan():
    """A loop has no residuals there; those of the other examples were left out as well."""
    batch = np.random.default_rng(0).normal(size=(3, 5, 2))
    batch[1, :, 1] = batch[1, :, 0]

    def left(a):
        return np.sum(np.linalg.lstsq(a, np.arange(5.0))[1])

    found = vmap(grad(left))(batch)
    for i in (0, 2):
        np.testing.assert_allclose(found[i], grad(left)(batch[i]))
    assert np.isnan(found[1]).all()


# --- Loops --------------------------------------------------------------------------------------


def test_few_functions_are_called_once_an_example():
    loops = [rule for rule in OURS if rule.batch == "loop" and rule.form != "unsupported"]
    assert {rule.name for rule in loops} == set(LOOPS)
    assert len(loops) <= 0.05 * len(OURS)


# --- Axes of numbers ----------------------------------------------------------------------------

OF_NUMBERS = [
    np.sum,
    np.prod,
    np.max,
    np.min,
    np.any,
    np.all,
    np.argmax,
    np.argsort,
    np.cumsum,
    np.cumprod,
    np.count_nonzero,
    np.squeeze,
    np.ptp,
    np.nansum,
    np.nanmean,
    np.nanvar,
    np.nancumsum,
    np.add.reduce,
    np.maximum.reduce,
    np.logaddexp.reduce,
    np.subtract.reduce,
]


@pytest.mark.parametrize(
    "function", OF_NUMBERS, ids=lambda function: getattr(function, "__self__", function).__name__
)
@pytest.mark.parametrize("axis", [0, -1])
def test_numbers_have_an_axis_where_numpy_gives_them_one(function, axis):
    x = np.array([0.3, -0.7, 0.0])
    wanted = [function(each, axis=axis) for each in x]
    found = vmap(lambda x: function(x, axis=axis))(x)
    np.testing.assert_allclose(found, wanted)
    assert found.shape == (3, *np.shape(wanted[0]))
    assert found.dtype == np.asarray(wanted).dtype
    nested = vmap(vmap(lambda x: function(x, axis=axis)))(x[:, None])
    np.testing.assert_allclose(nested[:, 0], wanted)
    if found.dtype == float:
        bars = vmap(grad(lambda x: np.sum(function(x, axis=axis))))(x)
        slopes = [grad(lambda x: np.sum(function(x, axis=axis)))(each) for each in x]
        np.testing.assert_allclose(bars, slopes)
        np.testing.assert_allclose(
            grad(lambda x: np.sum(vmap(lambda x: function(x, axis=axis))(x)))(x), slopes
        )


@pytest.mark.parametrize(
    "function", [np.mean, np.sort, np.flip, np.var, np.sum, np.squeeze, np.add.reduce]
)
def test_numbers_have_no_other_axis(function):
    for axis in (1, -2) if function in (np.sum, np.squeeze, np.add.reduce) else (0, -1):
        with pytest.raises(np.exceptions.AxisError):
            function(0.5 + np.float64(1), axis=axis)
        with pytest.raises(np.exceptions.AxisError):
            vmap(lambda x, axis=axis: function(x, axis=axis))(np.ones(3))


@pytest.mark.parametrize("call", [np.inner, lambda x, y: np.tensordot(x, y, ([-1], [-1]))])
@pytest.mark.parametrize("dtype", ["f", "d", "g", "F", "G"])
def test_a_contraction_of_no_elements_is_zero(call, dtype):
    """NumPy 2.4's einsum, by which examples are contracted, leaves there what memory held."""
    x, y = np.zeros((3, 2, 0), dtype), np.zeros((3, 1, 0), dtype)
    for _ in range(5):
        held = [np.full((3, 2, 1), np.nan, dtype) for _ in range(20)]
        del held
        found = vmap(call)(x, y)
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, np.zeros((3, 2, 1)))


PLACES = {
    "reshape": lambda x: np.reshape(x, np.array([3, -1])),
    "sides": lambda x: x.reshape(np.array(2), np.array(3)),
    "broadcast": lambda x: np.broadcast_to(x, np.array([2, 6])),
    "zeros": lambda x: np.zeros_like(x, shape=np.array([2, 2])) + x[0],
    "full": lambda x: np.full_like(x, x[0], shape=np.array([2, 2])),
    "sum": lambda x: np.sum(x.reshape(2, 3), axis=np.array(1)),
    "swap": lambda x: np.swapaxes(x.reshape(2, 3), np.array(0), np.array(1)),
    "transpose": lambda x: np.transpose(x.reshape(2, 3), np.array([1, 0])),
}


@pytest.mark.parametrize("name", PLACES)
def test_shapes_and_axes_that_are_arrays(name):
    f, x = PLACES[name], np.arange(12.0).reshape(2, 6)
    np.testing.assert_array_equal(vmap(f)(x), np.stack([f(row) for row in x]))
    jacobian = jacfwd(f)(x[0])
    np.testing.assert_array_equal(jacobian, jacrev(f)(x[0]))
