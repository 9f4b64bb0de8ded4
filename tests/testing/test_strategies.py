"""Each strategy keeps its promise, whatever it is asked for; what it prints is what it drew."""

from __future__ import annotations

import re
import warnings
from collections import OrderedDict

import numpy as np
import pytest
from draws import draws
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

import tapegrad.tree
from tapegrad.testing import strategies as ts
from tapegrad.testing._strategies.domains import DOMAINS
from tapegrad.testing._strategies.drawing import source_of
from tapegrad.testing._strategies.layouts import ALL_LAYOUTS, LAYOUTS
from tapegrad.testing._strategies.trees import PYTREES

DTYPES = "efdgFDG"
FAST = draws(15, 300)
NAMES = {
    "np": np,
    "Point": ts.Point,
    "Layer": ts.Layer,
    "Registered": ts.Registered,
    "OrderedDict": OrderedDict,
}


def parts(x):
    return [x.real, x.imag] if x.dtype.kind == "c" else [x]


def wide(x):
    """In the precision of LAPACK."""
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


def same(x, y):
    """Whether two values are equal to the bit: containers, dtypes, shapes, elements."""
    if type(x) is not type(y):
        return False
    if isinstance(x, (list, tuple)):
        return len(x) == len(y) and all(map(same, x, y))
    if isinstance(x, dict):
        return list(x) == list(y) and all(map(same, x.values(), y.values()))
    if isinstance(x, ts.Registered):
        return same(x.parts, y.parts)
    if isinstance(x, ts.Layer):
        return same([x.weight, x.bias, x.name], [y.weight, y.bias, y.name])
    if isinstance(x, (np.ndarray, np.generic)):
        if x.dtype != y.dtype or x.shape != y.shape:
            return False
        return np.array_equal(x, y, equal_nan=x.dtype.kind in "fc")
    return x == y


def failing_text(strategy, condition=lambda x: True):
    """Text that Hypothesis prints for the smallest example that fails."""

    @settings(
        database=None,
        derandomize=True,
        phases=[Phase.generate, Phase.shrink],
        print_blob=False,  # Hypothesis prints one more line where CI is set
    )
    @given(strategy)
    def check(x):
        assert not condition(x)

    with pytest.raises(AssertionError) as caught:
        check()
    text = "\n".join(caught.value.__notes__)
    text = re.sub(r" *#.*", "", text)
    return re.search(r"check\(\s*x=(.*?),?\s*\)\s*$", text, re.DOTALL).group(1)


def smallest(strategy, condition):
    return find(strategy, condition, settings=settings(max_examples=100))


# --- Arrays by domain ---------------------------------------------------------------------------


@FAST
@given(st.data(), st.sampled_from(DTYPES), ts.shapes(max_side=4), st.sampled_from(LAYOUTS))
def test_arrays_are_distinct_and_within_their_bounds(data, dtype, shape, layout):
    low, high = data.draw(st.sampled_from([(-2, 2), (0.5, 1), (-8, -1), (0, 1e-3), (1e5, 9e8)]))
    if dtype == "e":
        low, high = max(low, -8), min(high, 4) if low < 4 else 4
        low = low if low < high else 0
    x = data.draw(ts.arrays(dtype, shape, low=low, high=high, layouts=(layout,)))
    assert x.dtype == dtype
    assert x.shape == shape
    for part in parts(x):
        assert np.all((part >= low) & (part <= high))
        assert len(np.unique(part)) == part.size or dtype == "e"


@FAST
@given(st.tuples(st.integers(0, 100), st.integers(0, 100)), st.data())
def test_arrays_of_two_phases_share_no_element(phases, data):
    """Whatever the bounds, and so the steps, of each are."""
    bounds = [(-2, 2), (0, 1), (0.1, 3), (-1, 50), (-7, 1), (-3, 0.25), (1, 1.0001), (-1e9, 1e9)]
    bounds = st.sampled_from(bounds)
    x, y = (
        data.draw(ts.arrays(shape=(7,), low=low, high=high, phase=phase / 100))
        for phase, (low, high) in zip(phases, data.draw(st.tuples(bounds, bounds)), strict=True)
    )
    if phases[0] != phases[1]:
        assert not set(x) & set(y)


@FAST
@given(st.data(), st.sampled_from(DTYPES), ts.shapes(max_side=4))
def test_each_domain_is_what_it_says(data, dtype, shape):
    words = data.draw(st.sampled_from([*DOMAINS, ("positive", "ties"), ("unit", "nonfinite")]))
    if "sorted" in words and dtype in "FDG":
        return
    x = data.draw(ts.arrays(dtype, shape, domain=words))
    assert x.dtype == dtype
    assert x.shape == shape
    for part in parts(np.asarray(x)):
        assert_domain(part, words)


def assert_domain(part, words):
    finite = part[np.isfinite(part)]
    several = part.size > 1
    if "positive" in words:
        assert np.all((finite > 0) & (finite <= 2))
    if "negative" in words:
        assert np.all((finite < 0) & (finite >= -2))
    if "unit" in words:
        assert np.all((finite > 0) & (finite < 1))
    if words in ("distinct", "subnormal"):
        assert len(np.unique(part)) == part.size
    if "ties" in words and several:
        assert len(np.unique(part)) < part.size
    if words == "sorted" and part.ndim:
        assert np.all(np.diff(part, axis=-1) > 0)
    if words == "nan" and part.size:
        assert np.any(np.isnan(part))
        assert not np.any(np.isinf(part))
    if words == "infinite" and part.size:
        assert np.any(np.isinf(part))
        assert not np.any(np.isnan(part))
    if "nonfinite" in words and part.size:
        assert finite.size < part.size
    if not {"nan", "infinite", "nonfinite"} & ({words} if isinstance(words, str) else {*words}):
        assert finite.size == part.size
    if words == "subnormal":
        assert np.all(part != 0)
        assert np.all(np.abs(part) < np.finfo(part.dtype).smallest_normal)


@FAST
@given(st.data(), st.sampled_from(DTYPES), st.lists(st.floats(-3, 3), max_size=4))
def test_arrays_keep_away_from_kinks(data, dtype, kinks):
    margin = data.draw(st.sampled_from([0.0, 0.01, 0.1, 0.3]))
    x = data.draw(ts.arrays(dtype, (2, 3), away_from=kinks, margin=margin))
    for part in parts(wide(x)):
        for kink in kinks:
            assert np.all(np.abs(part - kink) >= margin)
        assert len(np.unique(part)) == part.size


@pytest.mark.parametrize("dtype", ["b", "h", "l", "B", "L", "?"])
def test_integers_and_booleans_are_between_the_bounds(dtype):
    low = 0 if dtype in "BL" else -3

    @FAST
    @given(ts.arrays(dtype, low=low, high=5))
    def check(x):
        assert x.dtype == dtype
        assert np.all((x >= low) & (x <= 5))

    check()


@FAST
@given(st.sampled_from([(300,), (70, 80), (20, 3, 17)]), st.data(), st.sampled_from("fdgD"))
def test_many_elements_are_distinct_as_well(shape, data, dtype):
    x = data.draw(ts.arrays(dtype, shape))
    assert x.shape == shape
    assert len(np.unique(x.real)) == x.size
    for part in parts(data.draw(ts.arrays(dtype, shape, domain="ties"))):
        assert len(np.unique(part)) < part.size


@FAST
@given(ts.arrays(ts.dtypes(), ts.shapes(max_dims=2)))
def test_dtypes_and_shapes_may_be_drawn(x):
    assert x.dtype.char in DTYPES
    assert x.ndim <= 2


def test_each_dtype_is_drawn():
    seen = set()

    @settings(max_examples=300, database=None)
    @given(ts.dtypes("fciub"))
    def check(dtype):
        seen.add(dtype.char)

    check()
    assert seen >= set("efdgFDG?bhilBHIL")


# --- Memory -------------------------------------------------------------------------------------


@FAST
@given(st.data(), ts.arrays(ts.dtypes(), layouts=("C",)), st.sampled_from(ALL_LAYOUTS))
def test_a_layout_is_equal_values_in_the_memory_it_names(data, x, layout):
    y = data.draw(ts.layouts(x, layout))
    assert same(np.asarray(x), y)
    assert not np.shares_memory(x, y) or not x.size
    if x.size > 1 and min(x.shape) > 1:
        flags = {
            "C": y.flags.c_contiguous,
            "F": y.flags.f_contiguous,
            "strided": y.strides[-1] == 2 * y.itemsize,
            "reversed": max(y.strides) < 0,
            "rolled": x.ndim < 3 or not (y.flags.c_contiguous or y.flags.f_contiguous),
            "unaligned": not y.flags.aligned or y.dtype.alignment == 1,
            "readonly": not y.flags.writeable,
        }
        assert flags[layout]


def addresses(x):
    """The address of each element."""
    offsets = np.zeros(x.shape, np.intp)
    for axis, stride in enumerate(x.strides):
        steps = np.arange(x.shape[axis]) * stride
        offsets += steps.reshape([-1 if k == axis else 1 for k in range(x.ndim)])
    return x.__array_interface__["data"][0] + offsets


@FAST
@given(ts.views())
def test_a_view_shows_the_memory_of_its_base(drawn):
    base, view, source = drawn
    assert same(np.asarray(view), eval(source, {"np": np, "base": base}))
    assert set(addresses(view).ravel()) <= set(addresses(np.asarray(base)).ravel())


@FAST
@given(ts.overlapping_views(), st.sampled_from(["windows", "broadcast"]), st.data())
def test_overlapping_views_overlap(drawn, kind, data):
    for base, view, _ in (drawn, data.draw(ts.overlapping_views(kinds=kind))):
        places = addresses(view).ravel()
        assert len(np.unique(places)) < places.size
        assert set(places) <= set(addresses(np.asarray(base)).ravel())


def test_each_kind_of_view_is_drawn():
    seen = set()

    @settings(max_examples=200, database=None)
    @given(ts.views(ts.arrays(shape=(3, 3, 1))))
    def check(drawn):
        seen.add(drawn[2])

    check()
    text = " ".join(seen)
    for word in ("::-1", "transpose", "::2", "reshape", "expand_dims", "diagonal", "sliding"):
        assert word in text
    assert "broadcast_to" in text


# --- Matrices -----------------------------------------------------------------------------------

SQUARE = ts.square_shapes(max_side=4)
ANY = st.builds(
    lambda stack, m, n: (*stack, m, n),
    st.sampled_from([(), (2,), (0,), (1, 2)]),
    st.integers(1, 4),
    st.integers(1, 4),
)


def adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


def error_of(x, norm=1.0):
    """How far an eigenvalue or singular value of a matrix of this norm is from what was asked.

    Rounding to the dtype changes each element by a unit roundoff of its own at most, so the matrix
    by no more than that of its Frobenius norm, which is at most sqrt(n) of its norm; and neither
    an eigenvalue of a Hermitian matrix nor a singular value moves by more than the norm of it
    (Weyl). To that comes what products and LAPACK round in double precision, and the floor of half
    precision, below which the error of an element is no longer relative.
    """
    side = max(*x.shape[-2:], 1)
    rounding = max(float(np.finfo(x.dtype).eps), 2.0**-52) / 2
    floor = side * float(np.finfo(x.dtype).smallest_subnormal)
    return (np.sqrt(side) * rounding + 50 * side * 2.0**-52) * norm + floor


@FAST
@given(st.data(), st.sampled_from(DTYPES), st.sampled_from([(0, 0), (2, 0, 3, 3)]) | SQUARE)
def test_symmetric_orthogonal_and_triangular_matrices(data, dtype, shape):
    a = data.draw(ts.symmetric_matrices(dtype, shape))
    np.testing.assert_array_equal(a, adjoint(a))
    q = wide(data.draw(ts.orthogonal_matrices(dtype, shape)))
    identity = np.broadcast_to(np.eye(shape[-1]), shape)
    np.testing.assert_allclose(q @ adjoint(q), identity, rtol=0, atol=3 * error_of(a))
    lower = data.draw(st.booleans())
    unit = data.draw(st.booleans())
    t = data.draw(ts.triangular_matrices(dtype, shape, lower=lower, unit_diagonal=unit))
    np.testing.assert_array_equal(t, np.tril(t) if lower else np.triu(t))
    diagonal = np.abs(np.diagonal(t, 0, -2, -1))
    assert np.all(diagonal == 1) if unit else np.all((diagonal >= 0.5) & (diagonal <= 2))
    for x in (a, t):
        assert (x.dtype, x.shape) == (np.dtype(dtype), shape)


@FAST
@given(st.data(), st.sampled_from(DTYPES), SQUARE, st.sampled_from([1.0, 10.0, 1e2, 1e5, 1e12]))
def test_positive_definite_matrices_have_the_condition_number(data, dtype, shape, condition):
    if condition > 0.1 / float(np.finfo(dtype).eps):
        with pytest.raises(tapegrad.InputError, match="a condition number of at most"):
            ts.positive_definite_matrices(dtype, shape, condition=condition)
        return
    a = data.draw(ts.positive_definite_matrices(dtype, shape, condition=condition))
    assert a.dtype == dtype
    np.testing.assert_array_equal(a, adjoint(a))
    values = np.linalg.eigvalsh(wide(a))
    close = error_of(a, condition)
    assert np.all(values > 0)
    if shape[-1] > 1:
        np.testing.assert_allclose(values[..., 0], 1, rtol=0, atol=close)
        np.testing.assert_allclose(values[..., -1], condition, rtol=0, atol=close)
    else:
        assert np.all((values >= 1 - close) & (values <= condition + close))


@FAST
@given(st.data(), st.sampled_from(DTYPES), ANY, st.sampled_from([1.0, 10.0, 80.0]))
def test_matrices_of_full_and_low_rank(data, dtype, shape, condition):
    a = data.draw(ts.full_rank_matrices(dtype, shape, condition=condition))
    values = np.linalg.svd(wide(a), compute_uv=False)
    assert (a.dtype, a.shape) == (np.dtype(dtype), shape)
    close = error_of(a, condition)
    if min(shape[-2:]) > 1:
        np.testing.assert_allclose(values[..., 0], condition, rtol=0, atol=close)
        np.testing.assert_allclose(values[..., -1], 1, rtol=0, atol=close)
    rank = data.draw(st.integers(0, min(shape[-2:]) - 1))
    a = data.draw(ts.low_rank_matrices(dtype, shape, rank=rank, condition=condition))
    values = np.linalg.svd(wide(a), compute_uv=False)
    assert np.all(values[..., rank:] <= close)
    if rank > 1:
        np.testing.assert_allclose(values[..., rank - 1], 1, rtol=0, atol=close)
    assert np.all(values[..., :rank] >= 1 - close)


@FAST
@given(st.data(), st.sampled_from(DTYPES), st.integers(2, 5), st.sampled_from([(), (2,), (0,)]))
def test_degenerate_matrices_have_the_multiplicity(data, dtype, side, stack):
    multiplicity = data.draw(st.none() | st.integers(2, side))
    shape = (*stack, side, side)
    a = data.draw(ts.degenerate_matrices(dtype, shape, multiplicity=multiplicity))
    np.testing.assert_array_equal(a, adjoint(a))
    close = error_of(a, side + 2)
    for values in np.linalg.eigvalsh(wide(a)).reshape(-1, side):
        assert np.all(np.abs(values) <= side + 2 + close)
        gaps = np.diff(values)
        equal = gaps <= 2 * close
        assert np.all(equal | (gaps >= 0.25 - 2 * close))
        assert equal.sum() >= 1 if multiplicity is None else equal.sum() == multiplicity - 1


@FAST
@given(st.data(), st.sampled_from("efdg"), ANY, st.sampled_from([-1, -2]))
def test_stochastic_matrices_have_sums_of_one(data, dtype, shape, axis):
    p = data.draw(ts.stochastic_matrices(dtype, shape, axis=axis))
    assert (p.dtype, p.shape) == (np.dtype(dtype), shape)
    assert np.all(p > 0)
    np.testing.assert_allclose(wide(p).sum(axis=axis), 1, rtol=0, atol=error_of(p))


@FAST
@given(st.data(), st.sampled_from(DTYPES), ts.shapes(max_side=5), st.floats(0, 1))
def test_sparse_arrays_are_mostly_zeros(data, dtype, shape, density):
    x = data.draw(ts.sparse_arrays(dtype, shape, density=density))
    assert (x.dtype, x.shape) == (np.dtype(dtype), shape)
    assert np.count_nonzero(x) <= density * x.size


@FAST
@given(st.data(), st.booleans())
def test_scipy_sparse_arrays_are_what_tapegrad_takes(data, matrices):
    pytest.importorskip("scipy")
    a = data.draw(ts.scipy_sparse_arrays(shape=(3, 4), matrices=matrices))
    x = np.arange(4.0)
    value, gradient = tapegrad.value_and_grad(lambda x: np.sum(a @ x))(x)
    np.testing.assert_allclose(value, (a @ x).sum())
    np.testing.assert_allclose(gradient, a.toarray().sum(axis=0))
    assert a.count_nonzero() <= 0.4 * 12
    assert type(a).__name__ == f"{a.format}_{'matrix' if matrices else 'array'}"


# --- Shapes, axes, indices ----------------------------------------------------------------------


@FAST
@given(st.data(), st.integers(1, 4))
def test_shapes_broadcast_as_they_say(data, count):
    found = data.draw(ts.broadcastable_shapes(count, 0, 3, 0, 4))
    wide_shape = np.broadcast_shapes(*found)
    assert len(found) == count
    assert all(len(shape) <= 3 and max(shape, default=0) <= 4 for shape in found)
    narrow = data.draw(ts.shapes_broadcasting_to(wide_shape))
    assert np.broadcast_shapes(narrow, wide_shape) == wide_shape
    wider = data.draw(ts.shapes_broadcast_from(wide_shape, max_side=5))
    assert np.broadcast_shapes(wider, wide_shape) == wider
    assert len(wide_shape) <= len(wider) <= len(wide_shape) + 1


@FAST
@given(ts.arrays(shape=ts.shapes(max_dims=4)), st.data())
def test_axes_are_those_of_the_array(x, data):
    axes = data.draw(ts.axes(x))
    np.sum(x, axis=axes)
    order = data.draw(ts.permutations(x, negative=True))
    assert np.transpose(x, order).ndim == x.ndim
    if x.ndim:
        axis = data.draw(ts.axes(x.shape, "one", negative=False))
        assert 0 <= axis < x.ndim
        several = data.draw(ts.axes(x.ndim, "several"))
        assert len({a % x.ndim for a in several}) == len(several)
    else:
        assert axes in (None, ())


@draws(60, 1000)
@given(ts.shapes(max_dims=4), st.data())
def test_an_index_is_valid_for_its_shape(shape, data):
    x = np.arange(np.prod(shape)).reshape(shape)
    kind = data.draw(st.sampled_from(["basic", "fancy", "boolean", "mixed"]))
    index = data.draw(ts.indices(x, kind))
    found = x[index]
    assert set(np.ravel(found)) <= set(np.ravel(x))
    if kind == "basic":
        assert not isinstance(found, np.ndarray) or np.shares_memory(found, x) or not found.size
    if kind in ("basic", "fancy", "mixed"):
        options = ["newaxis", "ellipsis", "negative", "negative_steps", "repeats", "empty"]
        left_out = data.draw(st.sampled_from(options))
        index = data.draw(ts.indices(shape, kind, **{left_out: False}))
        assert_without(left_out, index, x)


def assert_without(left_out, index, x):
    found = x[index]
    listed = index if isinstance(index, tuple) else (index,)
    if left_out == "newaxis":
        assert not any(part is None for part in listed)
    if left_out == "ellipsis":
        assert not any(part is Ellipsis for part in listed)
    if left_out == "negative_steps":
        assert not any(isinstance(p, slice) and p.step is not None and p.step < 0 for p in listed)
    if left_out == "negative":
        numbers = [p for p in listed if p is not None and p is not ... and type(p) is not slice]
        assert all(np.min(p, initial=0) >= 0 for p in numbers)
    if left_out == "empty" and x.size:
        assert np.size(found)
    if left_out == "repeats":
        assert len(np.unique(found)) == np.size(found)


def test_indices_of_many_kinds_are_drawn():
    seen = set()
    x = np.arange(24).reshape(2, 3, 4)

    @settings(max_examples=400, database=None)
    @given(ts.indices(x))
    def check(index):
        listed = index if isinstance(index, tuple) else (index,)
        seen.update(type(part).__name__ for part in listed)
        seen.update(part.dtype.kind for part in listed if isinstance(part, np.ndarray))
        seen.update("negative" for part in listed if isinstance(part, int) and part < 0)
        arrays = [k for k, part in enumerate(listed) if isinstance(part, np.ndarray)]
        if len(arrays) == 2 and arrays[1] - arrays[0] > 1:
            seen.add("arrays apart")
        if index == () if isinstance(index, tuple) else False:
            seen.add("()")

    check()
    kinds = {"int", "slice", "NoneType", "ellipsis", "ndarray", "i", "b", "list", "int64"}
    assert seen >= kinds | {"negative", "arrays apart", "()"}


@draws(40, 500)
@given(ts.einsums(), st.data())
def test_an_einsum_is_one_that_numpy_takes(drawn, data):
    subscripts, operands = drawn
    found = np.einsum(subscripts, *operands)
    assert len(operands) == subscripts.split("->")[0].count(",") + 1
    assert np.shape(found) == np.einsum(subscripts, *operands, optimize=False).shape
    left_out = data.draw(st.sampled_from(["ellipsis", "repeated", "broadcast", "implicit"]))
    subscripts, operands = data.draw(ts.einsums(**{left_out: False}))
    np.einsum(subscripts, *operands)
    terms = subscripts.replace(" ", "").split("->")[0].split(",")
    if left_out == "ellipsis":
        assert "..." not in subscripts
    if left_out == "implicit":
        assert "->" in subscripts
    if left_out == "repeated":
        assert all(len({*term} - {"."}) == len(term.replace(".", "")) for term in terms)


@FAST
@given(st.data(), st.integers(0, 6), st.integers(0, 3))
def test_pytrees_have_as_many_leaves_as_they_may(data, most, depth):
    least = data.draw(st.integers(0, most))
    kinds = data.draw(st.sampled_from([PYTREES, ("dict",), ("namedtuple", "dataclass")]))
    asked = {"min_leaves": least, "max_leaves": most, "max_depth": depth}
    room = 1 << 9 if "dict" in kinds and depth else 1 << depth
    if max(least, "dict" not in kinds or not depth) > min(room, most):
        with pytest.raises(tapegrad.InputError, match="room for"):
            ts.pytrees(kinds=kinds, **asked)
        return
    tree = data.draw(ts.pytrees(ts.arrays(shape=()), kinds, **asked))
    leaves, structure = tapegrad.tree.flatten(tree)
    assert least <= len(leaves) <= max(most, 1)
    assert depth_of(structure) <= depth
    assert tapegrad.tree.structure(tapegrad.tree.unflatten(structure, leaves)) == structure


def depth_of(structure):
    if structure.kind is None:
        return 0
    return 1 + max(map(depth_of, structure.children), default=0)


def test_each_container_is_drawn():
    seen = set()

    def note(structure):
        seen.add(structure.kind)
        for child in structure.children:
            note(child)

    @settings(max_examples=300, database=None)
    @given(ts.pytrees(st.floats(0, 1), max_leaves=4))
    def check(tree):
        note(tapegrad.tree.structure(tree))

    check()
    wanted = {list, tuple, dict, ts.Point, ts.Layer, ts.Registered, type(None), None}
    assert seen >= wanted


# --- Bad arguments ------------------------------------------------------------------------------

BAD = [
    ("arrays", lambda: ts.arrays("int9"), "a dtype of numbers"),
    ("arrays", lambda: ts.arrays("U3"), "a dtype of numbers"),
    ("arrays", lambda: ts.arrays(shape=(2, -1)), "a shape, or a strategy"),
    ("arrays", lambda: ts.arrays(shape="ab"), "a shape, or a strategy"),
    ("arrays", lambda: ts.arrays(low=1, high=1), "low below high"),
    ("arrays", lambda: ts.arrays(low=np.nan), "a finite number for low"),
    ("arrays", lambda: ts.arrays(phase=2), "a phase from 0 to 1"),
    ("arrays", lambda: ts.arrays(layouts=("X",)), "layouts from 'C'"),
    ("arrays", lambda: ts.arrays(layouts=()), "layouts from 'C'"),
    ("arrays", lambda: ts.arrays(domain="odd"), "domain from 'real'"),
    ("arrays", lambda: ts.arrays(domain=("nan", "sorted")), "without contradiction"),
    ("arrays", lambda: ts.arrays(domain=("positive", "unit")), "without contradiction"),
    ("arrays", lambda: ts.arrays(domain="unit", high=3), "bounds within 'unit'"),
    ("arrays", lambda: ts.arrays(domain="positive", low=-1), "bounds within 'positive'"),
    ("arrays", lambda: ts.arrays(complex, domain="sorted"), "a real dtype"),
    ("arrays", lambda: ts.arrays(int, domain="nan"), "a floating dtype"),
    ("arrays", lambda: ts.arrays(np.uint8), "low of 0 or more"),
    ("arrays", lambda: ts.arrays(int, low=0.2, high=0.8), "an integer between"),
    ("arrays", lambda: ts.arrays("e", (200, 200), domain="distinct"), "room for 40000"),
    ("arrays", lambda: ts.arrays(away_from=0, margin=3), "room beside the kinks"),
    ("arrays", lambda: ts.arrays(away_from=["a"]), "each of away_from"),
    ("arrays", lambda: ts.arrays(margin=-1), "a margin of 0 or more"),
    ("arrays", lambda: ts.arrays(domain="subnormal", low=0), "no low, high or away_from"),
    ("arrays", lambda: ts.arrays(shape=(3, 2), hermitian=True), "square matrices"),
    ("arrays", lambda: ts.arrays(shape=(3, 3), hermitian=True, domain="ties"), "bounds alone"),
    ("shapes", lambda: ts.shapes(3, 2), "min_dims of at most max_dims"),
    ("shapes", lambda: ts.shapes(min_side=1.5), "min_side of 0 or more"),
    ("square_shapes", lambda: ts.square_shapes(max_stack=-1), "max_stack of 0 or more"),
    ("dtypes", lambda: ts.dtypes("z"), "kinds from 'f'"),
    ("dtypes", lambda: ts.dtypes(half=1), "True or False for half"),
    ("layouts", lambda: ts.layouts(np.ones(2), "Q"), "kinds from 'C'"),
    ("layouts", lambda: ts.layouts([None]), "an array of numbers"),
    ("views", lambda: ts.views(kinds="no"), "kinds from 'part'"),
    ("overlapping_views", lambda: ts.overlapping_views(kinds="part"), "kinds from 'windows'"),
    ("overlapping_views", lambda: ts.overlapping_views(np.ones(0)), "an array with elements"),
    ("symmetric_matrices", lambda: ts.symmetric_matrices(shape=(3,)), "square matrices"),
    ("symmetric_matrices", lambda: ts.symmetric_matrices(int), "a floating or complex dtype"),
    ("symmetric_matrices", lambda: ts.symmetric_matrices(low=3), "low below high"),
    ("triangular_matrices", lambda: ts.triangular_matrices(lower="x"), "True, False or None"),
    ("orthogonal_matrices", lambda: ts.orthogonal_matrices(shape=(2, 3)), "square matrices"),
    (
        "positive_definite_matrices",
        lambda: ts.positive_definite_matrices(condition=0.5),
        "a condition number of 1 or more",
    ),
    (
        "positive_definite_matrices",
        lambda: ts.positive_definite_matrices("f", (2, 2), condition=1e9),
        "a condition number of at most",
    ),
    ("degenerate_matrices", lambda: ts.degenerate_matrices(multiplicity=1), "multiplicity of 2"),
    ("degenerate_matrices", lambda: ts.degenerate_matrices(shape=(1, 1)), "2 rows or more"),
    ("low_rank_matrices", lambda: ts.low_rank_matrices(shape=(2, 3), rank=2), "more than 2 rows"),
    ("full_rank_matrices", lambda: ts.full_rank_matrices(shape=(3,)), "the shape of matrices"),
    ("stochastic_matrices", lambda: ts.stochastic_matrices(axis=0), "axis -1"),
    ("stochastic_matrices", lambda: ts.stochastic_matrices(complex), "a floating"),
    ("stochastic_matrices", lambda: ts.stochastic_matrices(shape=(2, 0)), "sums of one element"),
    ("sparse_arrays", lambda: ts.sparse_arrays(density=2), "a density from 0 to 1"),
    ("scipy_sparse_arrays", lambda: ts.scipy_sparse_arrays(formats="x"), "formats from"),
    ("scipy_sparse_arrays", lambda: ts.scipy_sparse_arrays("e"), "SciPy's sparse formats"),
    ("scipy_sparse_arrays", lambda: ts.scipy_sparse_arrays(shape=(3,)), "two sides"),
    ("broadcastable_shapes", lambda: ts.broadcastable_shapes(0), "count of 1 or more"),
    ("shapes_broadcasting_to", lambda: ts.shapes_broadcasting_to(-1), "a shape"),
    ("shapes_broadcast_from", lambda: ts.shapes_broadcast_from((1, 1), 1), "at most 1 dimensions"),
    ("axes", lambda: ts.axes(-1), "a number of dimensions"),
    ("axes", lambda: ts.axes((), "one"), "at least one dimension"),
    ("axes", lambda: ts.axes(2, "two"), "kinds from 'one'"),
    ("permutations", lambda: ts.permutations("a"), "a shape"),
    ("indices", lambda: ts.indices((2,), "odd"), "kinds from 'basic'"),
    ("indices", lambda: ts.indices((2,), repeats=0), "True or False for repeats"),
    ("indices", lambda: ts.indices(2.5), "a shape"),
    ("einsums", lambda: ts.einsums(max_operands=0), "min_operands of at most max_operands"),
    ("einsums", lambda: ts.einsums(max_dims=9), "max_dims of 0 to 6"),
    ("einsums", lambda: ts.einsums(int), "a floating or complex dtype"),
    ("pytrees", lambda: ts.pytrees(3), "a strategy for leaves"),
    ("pytrees", lambda: ts.pytrees(kinds="set"), "kinds from 'list'"),
    ("pytrees", lambda: ts.pytrees(kinds="none", min_leaves=2), "room for 2 leaves"),
]


@pytest.mark.parametrize(("name", "call", "text"), BAD, ids=[f"{n}-{t}" for n, _, t in BAD])
def test_what_cannot_be_met_is_refused_at_the_call(name, call, text):
    if name == "scipy_sparse_arrays":
        pytest.importorskip("scipy")
    with pytest.raises(tapegrad.InputError, match=re.escape(text)) as caught:
        call()
    assert str(caught.value).startswith(f"tapegrad.testing.{name}: expected ")
    assert ", got " in str(caught.value)


# --- Printed forms, and the ends of shrinking ---------------------------------------------------

PRINTED = {
    "arrays": ts.arrays(ts.dtypes("fciub"), low=0, high=5, layouts=ALL_LAYOUTS),
    "nonfinite": ts.arrays(ts.dtypes(), domain="nonfinite"),
    "subnormal": ts.arrays(ts.dtypes(), domain="subnormal"),
    "layouts": ts.layouts(ts.arrays(ts.dtypes(), ts.shapes())),
    "positive": ts.positive_definite_matrices(ts.dtypes()),
    "orthogonal": ts.orthogonal_matrices(ts.dtypes()),
    "stochastic": ts.stochastic_matrices(),
    "low rank": ts.low_rank_matrices(ts.dtypes()),
    "sparse": ts.sparse_arrays(),
    "indices": ts.indices((2, 3, 4)),
    "einsums": ts.einsums(ts.dtypes()),
    "pytrees": ts.pytrees(ts.arrays(shape=ts.shapes(0, 1))),
    "views": ts.views(),
}


@pytest.mark.part(3)
@pytest.mark.parametrize("name", PRINTED)
def test_what_is_printed_is_what_was_drawn(name):
    """Values of an example, pasted, are the same to the bit, in the same memory."""

    @settings(max_examples=30, database=None, derandomize=True)
    @given(PRINTED[name])
    def check(x):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pasted = eval(source_of(x), dict(NAMES))
        if name == "views":
            assert same(pasted, tuple(x))
            return
        if name == "einsums":
            x = tuple(x)
        assert same(pasted, x)
        if isinstance(x, np.ndarray) and x.size > 1 and x.dtype.char not in "gG":
            assert pasted.strides == x.strides
            assert pasted.flags.writeable == x.flags.writeable

    check()


def test_a_failing_example_is_printed_as_code_to_paste():
    assert failing_text(ts.arrays(shape=(2,), layouts=("C",))) == "np.array([0.37415, -1.97985])"
    text = failing_text(ts.arrays("f", (2, 2), layouts=("F",)))
    assert text.startswith("np.asfortranarray(np.array([[0.37415, ")
    assert failing_text(
        ts.pytrees(ts.arrays(shape=()), "dict"), lambda t: isinstance(t, dict) and t
    ) == ("{'a': np.array(0.37415)}")


def test_elements_shrink_one_by_one():
    """The one element that matters comes as close to the bound as the grid has it; no other."""
    found = smallest(ts.arrays(shape=(3,)), lambda x: np.any(x > 1.3))
    assert np.sum(found > 1.3) == 1
    assert found.max() < 1.36
    found = smallest(ts.arrays(), lambda x: np.any(x > 1.3))
    assert found.shape == ()
    # Where the last of several elements is the one, and the first the simplest, that is an end.
    assert_shrunk(lambda x: np.any(x < -0.7), 1, 2)
    assert_shrunk(lambda x: (x > 1).sum() >= 2, 2, 12)
    assert_shrunk(lambda x: x.ndim == 2 and np.any(x > 0.5), 1, 4)


def assert_shrunk(condition, count, size):
    """So many elements at most are not the simplest ones, of an array of at most so many."""
    found = smallest(ts.arrays(), condition)
    simplest = smallest(ts.arrays(shape=found.shape), lambda x: True)
    assert np.sum(found != simplest) <= count
    assert found.size <= size


def test_matrices_shrink_to_diagonal_ones():
    a = smallest(ts.positive_definite_matrices(), lambda a: np.linalg.cond(a).max() > 5)
    np.testing.assert_array_equal(a, np.diag([1.0, 10.0]))
    q = smallest(ts.orthogonal_matrices(shape=(3, 3)), lambda q: np.any(q < 0))
    assert np.count_nonzero(q) <= 5
    p = smallest(ts.sparse_arrays(shape=(3, 3), density=1), lambda x: x[1, 1] != 0)
    assert np.count_nonzero(p) <= 2


@pytest.mark.slow
def test_indices_einsums_and_trees_shrink():
    assert smallest(ts.indices((2, 3)), lambda index: True) in ((), 0)
    index = smallest(ts.indices((4, 4)), lambda i: isinstance(i, np.ndarray) and i.dtype == int)
    assert index.tolist() == [0]
    subscripts, operands = smallest(ts.einsums(), lambda e: len(e[1]) == 2)
    assert subscripts == ",->"
    assert [x.shape for x in operands] == [(), ()]
    tree = smallest(ts.pytrees(st.just(1.0)), lambda t: "Registered" in repr(t))
    assert tree == ts.Registered(1.0)


@draws(30, 500)
@given(ts.arrays(np.complex128, (40,)))
def test_complex_elements_have_absolute_values_of_their_own(x):
    assert np.unique(np.abs(x)).size == x.size
