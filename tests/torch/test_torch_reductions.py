"""Reductions, extrema, running and order statistics: as PyTorch's, call by call."""

from __future__ import annotations

import numpy as np
import pytest
from agreement import agree, numbers
from draws import draws
from hypothesis import given
from hypothesis import strategies as st

import tapegrad.torch as torch

X = numbers(3, 4, 2)
TIES = np.array([[1.0, 3.0, 3.0, 2.0], [5.0, 5.0, 0.0, 5.0], [1.0, 1.0, 1.0, 1.0]])
NAN = np.array([[1.0, np.nan, 3.0], [2.0, 0.0, 1.0], [np.nan, np.nan, np.nan]])
ZEROS = np.array([[2.0, 0.0, 3.0], [0.0, 4.0, 0.0], [1.0, 2.0, 3.0]])
EMPTY = np.zeros((0, 3))
NUMBER = np.array(2.5)
DIMS = [None, 0, 1, -1, (0, 1), (-1, 0), [1, 2], 3, (0, 0)]

OVER_DIMS = {
    "sum": lambda t, x, d: x.sum() if d is None else x.sum(d),
    "sum kept": lambda t, x, d: t.sum(x, dim=d, keepdim=True),
    "axis": lambda t, x, d: t.sum(x, axis=d) if d is not None else t.sum(x),
    "mean": lambda t, x, d: x.mean() if d is None else x.mean(d),
    "mean kept": lambda t, x, d: t.mean(x, d, True),
    "nansum": lambda t, x, d: x.nansum(d),
    "nanmean": lambda t, x, d: x.nanmean(d, keepdim=True),
    "var": lambda t, x, d: x.var(d),
    "var 0": lambda t, x, d: x.var(d, correction=0),
    "var biased": lambda t, x, d: x.var(d, unbiased=False, keepdim=True) if d is not None else 0,
    "std": lambda t, x, d: x.std(dim=d, keepdim=True),
    "var_mean": lambda t, x, d: t.var_mean(x, d),
    "std_mean": lambda t, x, d: t.std_mean(x, d, correction=2, keepdim=True),
    "amax": lambda t, x, d: x.amax(d) if d is not None else x.amax(),
    "amin": lambda t, x, d: x.amin(d, keepdim=True) if d is not None else x.amin(),
    "norm": lambda t, x, d: x.norm(dim=d),
    "norm 1": lambda t, x, d: t.norm(x, 1, d),
    "norm 3": lambda t, x, d: t.norm(x, 3, d, keepdim=True),
    "norm inf": lambda t, x, d: t.norm(x, float("inf"), d),
    "norm 0": lambda t, x, d: t.norm(x, 0, d),
    "logsumexp": lambda t, x, d: x.logsumexp(d) if d is not None else 0,
    "logsumexp kept": lambda t, x, d: x.logsumexp(d, keepdim=True) if d is not None else 0,
    "count_nonzero": lambda t, x, d: x.count_nonzero(d),
    "all": lambda t, x, d: x.all() if d is None else x.all(d),
    "any": lambda t, x, d: x.any() if d is None else x.any(d, keepdim=True),
}
OVER_DIM = {
    "prod": lambda t, x, d: x.prod() if d is None else x.prod(d, keepdim=True),
    "max": lambda t, x, d: x.max() if d is None else x.max(d),
    "min": lambda t, x, d: x.min() if d is None else t.min(x, dim=d, keepdim=True),
    "aminmax": lambda t, x, d: t.aminmax(x, dim=d, keepdim=d is not None),
    "argmax": lambda t, x, d: x.argmax(d),
    "argmin": lambda t, x, d: t.argmin(x, d, keepdim=True),
    "median": lambda t, x, d: x.median() if d is None else x.median(d),
    "nanmedian": lambda t, x, d: x.nanmedian() if d is None else x.nanmedian(d, True),
    "cumsum": lambda t, x, d: x.cumsum(d),
    "cumprod": lambda t, x, d: x.cumprod(d),
    "cummax": lambda t, x, d: x.cummax(d),
    "cummin": lambda t, x, d: x.cummin(d),
    "logcumsumexp": lambda t, x, d: x.logcumsumexp(d),
    "kthvalue": lambda t, x, d: x.kthvalue(2) if d is None else x.kthvalue(2, d, True),
    "mode": lambda t, x, d: x.mode() if d is None else x.mode(d)[0],
}
LOOSE = {"nanmean"}  # a quotient here and there, whose other argument has no node
CALLS = {**OVER_DIMS, **OVER_DIM}


# PyTorch's warning of var and std of one element, which is tested in test_torch_mends.py.
pytestmark = pytest.mark.filterwarnings("ignore:.*degrees of freedom is <= 0:UserWarning")


@pytest.mark.part(3)
@pytest.mark.parametrize("word", CALLS)
def test_reductions_along_dimensions(word):
    for dim in DIMS if word in OVER_DIMS else [None, 0, 1, -1, -3, 3]:
        if isinstance(dim, list) and word == "axis":
            continue
        usual = word != "std_mean"  # which divides by zero somewhere
        agree(lambda t, x, d=dim: CALLS[word](t, x, d), X, order=2, nan_gradients=usual)


@pytest.mark.parametrize("word", CALLS)
def test_numbers_and_empty_tensors(word):
    for dim in (None, 0, -1):
        if word in ("kthvalue", "mode"):
            continue
        agree(
            lambda t, x, dim=dim: CALLS[word](t, x, dim), NUMBER, name=False, nan_gradients=False
        )
        agree(lambda t, x, dim=dim: CALLS[word](t, x, dim), EMPTY, name=False)


@pytest.mark.part(3)
@pytest.mark.parametrize("word", CALLS)
@pytest.mark.parametrize("dtype", ["float32", "int32", "int64", "uint8", "bool", "complex128"])
def test_dtypes_of_reductions(word, dtype):
    if dtype == "complex128" and (
        word
        in ("norm 0", "nansum", "nanmean", "logsumexp", "logcumsumexp", "logsumexp kept", "mode")
    ):
        pytest.skip("PyTorch differs by version, or knows it for real numbers alone")
    if dtype in ("int32", "int64", "uint8", "bool") and word == "nansum":
        pytest.skip("PyTorch's nansum of integers")
    x = numbers(3, 5, dtype=dtype)
    if word in ("kthvalue", "mode") and dtype != "float32":
        pytest.skip("ties")
    agree(lambda t, x: CALLS[word](t, x, 1), x, name=False)
    agree(lambda t, x: CALLS[word](t, x, None), x, name=False)


@pytest.mark.part(3)
@pytest.mark.parametrize(
    "word", sorted(CALLS.keys() - {"kthvalue", "median", "nanmedian", "mode", "norm 0"})
)
@pytest.mark.parametrize(
    "x",
    [TIES, NAN, ZEROS, np.zeros((2, 2)), np.full((2, 2), -np.inf)],
    ids=["ties", "nan", "zeros", "all zeros", "infinite"],
)
def test_gradients_at_kinks(word, x):
    if (x is NAN and word in ("cumprod", "norm 1", "norm inf")) or (
        np.isinf(x).any() and word.endswith("_mean")
    ):
        pytest.skip("the derivative at NaN, the mean of infinities: PyTorch's own")
    for dim in (None, 0, 1):
        agree(lambda t, x, dim=dim: CALLS[word](t, x, dim), x, name=False, nan_gradients=False)


def test_medians_of_everything_share_and_nan_wins():
    for x in (TIES, NAN, ZEROS):
        agree(lambda t, x: x.median(), x)
        agree(lambda t, x: x.nanmedian(), x)
        agree(lambda t, x: x.median(1).values, x, name=False) if x is NAN else None
        agree(lambda t, x: x.nanmedian(1).values, NAN[:2])


OTHERS = {
    "sum dtype": (lambda t, x: x.sum(dtype=t.float32), X),
    "sum to int": (lambda t, x: x.sum(0, dtype=t.int64), X),
    "mean dtype": (lambda t, x: x.mean(dtype=t.float64), numbers(3, dtype=np.int64)),
    "prod dtype": (lambda t, x: x.detach().prod(1, dtype=t.float32), X),
    "prod zeros": (lambda t, x: x.prod(1), ZEROS),
    "cumprod zeros": (lambda t, x: x.cumprod(1), ZEROS),
    "cumsum dtype": (lambda t, x: x.detach().cumsum(1, dtype=t.float32), X),
    "var of one": (lambda t, x: x[:1].var(0), X),
    "var false": (lambda t, x: x.var(False), X),
    "std true": (lambda t, x: x.std(True), X),
    "norm fro": (lambda t, x: x.norm("fro", (0, 1)), X),
    "norm nuc": (lambda t, x: x.norm("nuc", (0, 1)), X),
    "norm half": (lambda t, x: x.norm(0.5, 1), X),
    "norm -inf": (lambda t, x: x.norm(-float("inf"), 1), X),
    "norm dtype": (lambda t, x: x.norm(dtype=t.float32), X),
    "renorm": (lambda t, x: (t.renorm(x, 2, 0, 1.5), x.renorm(1, 1, 2.0)), X),
    "dist": (lambda t, x, y: t.dist(x, y), X, numbers(3, 4, 2, seed=1)),
    "dist 1": (lambda t, x, y: x.dist(y, 1), X, numbers(4, 2, seed=1)),
    "dist itself": (lambda t, x: x.dist(x), X),
    "max of two": (lambda t, x, y: t.max(x, y), X, numbers(4, 2, seed=1)),
    "min of two": (lambda t, x, y: x.min(y), X, numbers(4, 2, seed=1)),
    "max of integers": (lambda t, x: x.max(0), numbers(4, 3, dtype=np.int64)),
    "diff": (lambda t, x: x.diff(), X),
    "diff twice": (lambda t, x: t.diff(x, 2, 0), X),
    "diff all": (lambda t, x: t.diff(x, 9, 0), X),
    "diff ends": (lambda t, x, y: t.diff(x, dim=1, prepend=y, append=y), X, X[:, :1]),
    "diff of bools": (lambda t, x: x.diff(), numbers(7, dtype=bool)),
    "trapezoid": (lambda t, x: t.trapezoid(x), X),
    "trapezoid dx": (lambda t, x: t.trapezoid(x, dx=0.5, dim=0), X),
    "trapezoid x": (lambda t, y, x: t.trapezoid(y, x, dim=1), X, numbers(4, seed=2)),
    "trapezoid x along 0": (lambda t, y, x: t.trapezoid(y, x, dim=0), X, numbers(3, seed=2)),
    "trapezoid xs": (lambda t, y, x: t.trapz(y, x, dim=1), X, numbers(3, 4, 2, seed=2)),
    "cumulative": (lambda t, y: t.cumulative_trapezoid(y, dim=1), X),
    "quantile": (lambda t, x: x.quantile(0.3), X),
    "quantiles": (lambda t, x, q: x.quantile(q, 1), X, np.array([0.0, 0.25, 0.6, 1.0])),
    "quantiles kept": (lambda t, x, q: x.quantile(q, 1, True), X, np.array([0.25, 0.6])),
    "quantile kept": (lambda t, x: x.quantile(0.3, keepdim=True), X),
    "quantile ties": (lambda t, x: x.quantile(0.4, 1), TIES),
    "quantile nan": (lambda t, x: x.quantile(0.4, 1), NAN),
    "nanquantile": (lambda t, x: x.nanquantile(0.4, 1), NAN),
    "quantile range": (lambda t, x: x.quantile(1.4, 1), NAN),
    "quantile lower": (lambda t, x: x.quantile(0.4, 1, interpolation="lower"), X),
    "quantile higher": (lambda t, x: x.quantile(0.4, 1, interpolation="higher"), X),
    "quantile nearest": (lambda t, x: x.quantile(0.4, 1, interpolation="nearest"), X),
    "quantile midpoint": (lambda t, x: x.quantile(0.4, 1, interpolation="midpoint"), X),
    "quantile wrong": (lambda t, x: x.quantile(0.4, 1, interpolation="foo"), X),
    "histc": (lambda t, x: t.histc(x.detach(), 5), X),
    "histc range": (lambda t, x: x.detach().histc(4, -1, 1), X),
    "bincount": (lambda t, x: x.bincount(minlength=9), np.array([1, 4, 4, 0])),
    "bincount weights": (
        lambda t, x, w: t.bincount(x, w.detach()),
        np.array([1, 4, 4]),
        np.ones(3),
    ),
    "bincount negative": (lambda t, x: x.bincount(), np.array([1, -4])),
    "unique": (
        lambda t, x: x.unique(return_inverse=True, return_counts=True),
        numbers(4, 4, dtype=np.int64),
    ),
    "unique dim": (lambda t, x: t.unique(x, dim=0), np.array([[1, 2], [1, 2], [0, 5]])),
    "unique dim all": (
        lambda t, x: t.unique(x, dim=1, return_inverse=True, return_counts=True),
        np.array([[1, 1, 2], [1, 1, 0]]),
    ),
    "consecutive": (
        lambda t, x: t.unique_consecutive(x, return_inverse=True, return_counts=True),
        np.array([1, 1, 2, 1, 1]),
    ),
    "consecutive dim": (
        lambda t, x: t.unique_consecutive(x, dim=0),
        np.array([[1, 1], [1, 1], [1, 2]]),
    ),
    "cov": (lambda t, x: x.cov(), X[0]),
    "cov correction": (lambda t, x: t.cov(x, correction=0), X[0]),
    "cov of one": (lambda t, x: t.cov(x), X[0, :, 0]),
    "cov weights": (
        lambda t, x, f, a: t.cov(x, fweights=f, aweights=a.detach()),
        X[0],
        np.array([1, 3]),
        np.array([0.3, 0.6]),
    ),
    "corrcoef": (lambda t, x: x.corrcoef(), X[:, :, 0]),
    "cov complex": (lambda t, x: x.cov(), numbers(3, 4, dtype=np.complex128)),
    "kth out of range": (lambda t, x: x.kthvalue(9), X),
    "mode": (lambda t, x: x.mode(1), np.array([[1.0, 2.0, 2.0, 1.0, 5.0]])),
    "mode of integers": (lambda t, x: x.mode(0, True), np.array([[3, 1], [3, 0], [2, 1]])),
    "nuc": (lambda t, x: t.norm(x, "nuc"), X[0]),
    "sum of nothing": (lambda t, x: x.sum([]), X),
    "mean of integers": (lambda t, x: x.mean(), numbers(3, dtype=np.int64)),
    "argmax of ties": (lambda t, x: (x.argmax(1), x.argmin(1)), TIES),
    "half": (lambda t, x: (x.sum(), x.mean(0), x.var()), numbers(50, 3, dtype=np.float16)),
    "out": (lambda t, x: t.sum(x.detach(), 0, out=t.zeros(4, 2, dtype=t.float64)), X),
}
INNER = (
    "trapezoid",
    "cov",
    "corr",
    "quantile",
    "diff",
    "cumulative",
    "nuc",
    "norm nuc",
    "half",
    "sum of nothing",
)


@pytest.mark.parametrize("word", OTHERS)
def test_reductions(word):
    call, *inputs = OTHERS[word]
    usual = word not in ("var of one", "dist itself")
    agree(
        call,
        *inputs,
        nan_gradients=usual,
        order=2 if word != "half" else 1,
        name=not word.startswith(INNER),
    )


@pytest.mark.peers("torch")
@draws(30, 300)
@given(
    st.sampled_from(sorted(OVER_DIMS.keys() - {"axis"})),
    st.lists(st.integers(1, 4), max_size=3),
    st.lists(st.integers(-3, 2), max_size=3),
    st.sampled_from(["float32", "float64", "int64"]),
    st.booleans(),
)
def test_any_shape_and_dims(word, shape, dims, dtype, ties):
    x = numbers(*shape, dtype=dtype)
    x = np.asarray(np.round(x)) if ties else x
    count = max(len(shape), 1)
    places = [dim % count for dim in dims if -count <= dim < count]
    if len(places) < len(dims) and len({dim % count for dim in dims}) < len(dims):
        dims = places[:1]  # of two mistakes PyTorch finds now the one first, now the other
    for dim in (dims, dims[0] if dims else None):
        if word.startswith(("var", "std", "nan")) or (
            word.startswith("log") and not (shape and dims)
        ):
            continue  # degrees of freedom, integers
        agree(lambda t, x, d=dim: OVER_DIMS[word](t, x, d), x, name=False, nan_gradients=False)


@pytest.mark.parametrize("word", ["all", "any"])
@pytest.mark.parametrize("shape", [(), (3,), (0, 2), (2, 3)])
def test_truth_values_are_reduced_as_by_numpy(word: str, shape: tuple[int, ...]) -> None:
    x = numbers(*shape) > 0.3
    axes = (None, *range(-len(shape), len(shape)))
    for logs in (True, False):
        with torch.set_grad_enabled(logs):
            for axis in axes:
                args = () if axis is None else (axis,)
                found = getattr(torch.from_numpy(np.array(x)), word)(*args)
                assert found.dtype is torch.bool
                np.testing.assert_array_equal(found.numpy(), getattr(np, word)(x, axis))
            with pytest.raises(IndexError):
                getattr(torch.ones(2, dtype=torch.bool), word)(2)


@pytest.mark.parametrize("skip_nan", [False, True])
def test_a_median_is_the_middle_one_of_places_in_order(skip_nan):
    rng = np.random.default_rng(0)
    values = rng.integers(0, 4, (40, 7)).astype(np.float32)
    values[rng.random(values.shape) < 0.2] = np.nan
    values[0], values[1] = np.nan, 1.0
    median = torch.nanmedian if skip_nan else torch.median
    for rows in (values, values[1:2], np.nan_to_num(values)):
        order, missing = np.argsort(rows, 1, kind="stable"), np.isnan(rows)
        count = np.sum(~missing, 1)
        rank = np.maximum(count - 1, 0) // 2
        if not skip_nan:
            rank = np.where(missing.any(1), count, (rows.shape[1] - 1) // 2)
        found = median(torch.tensor(rows), 1)
        expected = np.take_along_axis(order, rank[:, None], 1)[:, 0]
        np.testing.assert_array_equal(found.indices.numpy(), expected)
        all_of = median(torch.tensor(rows)).numpy()
        ordered = np.sort(rows[~np.isnan(rows)])
        middle = (
            ordered[(ordered.size - 1) // 2] if skip_nan or ordered.size == rows.size else None
        )
        np.testing.assert_array_equal(all_of, np.nan if middle is None else middle)
