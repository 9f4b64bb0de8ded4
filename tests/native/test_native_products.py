"""Products, decompositions and triangular systems by machine code of our own."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

import tapegrad

pytest.importorskip("llvmlite")

from tapegrad._native import expansion, routines
from tapegrad._native.llvm import Code, unit
from tapegrad._native.products import Factors, Product
from tapegrad._native.tiles import Unit
from tapegrad._program.functions import METHODS

UNITS = [Unit(16, 4, 3, False), Unit(32, 4, 3, False), unit()]
DRAW = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def _one_thread(monkeypatch):
    """A BLAS with more threads than the program keeps large products."""
    monkeypatch.setattr(routines, "blas_threads", lambda: 1)


def strides(x):
    return tuple(s // x.itemsize for s in x.strides)


def laid_out(rows, columns, how, dtype):
    """A matrix by rows, by columns, or with gaps."""
    if how == "columns":
        return DRAW.standard_normal((columns, rows)).astype(dtype).T
    if how == "gaps":
        return DRAW.standard_normal((rows, 2 * columns)).astype(dtype)[:, ::2]
    return DRAW.standard_normal((rows, columns)).astype(dtype)


def product(a, b, which):
    """The product by machine code, within a frame that it must not write to."""
    frame = np.full((a.shape[0], b.shape[1] + 3), 7.0, a.dtype)
    out = frame[:, : b.shape[1]]
    right = strides(b) if b.shape[1] > 1 else (strides(b)[0], 1)
    sizes = (a.shape[0], a.shape[1], b.shape[1])
    factors = Factors(a.dtype, (), *sizes, strides(a), right, strides(out)[:1])
    made = Product(factors, which)
    text = made.text.replace("internal void @KERNEL", "void @go")
    code = Code("\n".join([*made.declarations, *made.helpers.values(), text]), ["go"])
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(code.library["go"])  # scratch last
    scratch = np.zeros(made.scratch + 64, np.uint8)
    start = scratch.ctypes.data
    function(a.ctypes.data, b.ctypes.data, frame.ctypes.data, start + -start % 64)
    assert (frame[:, b.shape[1] :] == 7.0).all()
    return out


@pytest.mark.part(4)
@pytest.mark.parametrize("which", UNITS, ids=str)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("sizes", [(1, 1, 1), (7, 9, 17), (17, 520, 70)], ids=str)
def test_products_of_all_orders_in_memory(sizes, dtype, which):
    rows, middle, columns = sizes
    for left, right in (("rows", "rows"), ("columns", "columns"), ("gaps", "gaps")):
        a = laid_out(rows, middle, left, dtype)
        b = laid_out(middle, columns, right, dtype)
        bound = 4 * middle * np.finfo(dtype).eps * (abs(a) @ abs(b))
        assert (abs(product(a, b, which) - a @ b) <= bound).all()


def test_a_wide_product_is_made_of_several_blocks():
    a, b = laid_out(20, 300, "rows", np.float64), laid_out(300, 4500, "columns", np.float64)
    np.testing.assert_allclose(product(a, b, UNITS[0]), a @ b, rtol=1e-10, atol=1e-10)


def test_infinities_and_nans_stay_in_their_rows_and_columns():
    a, b = laid_out(20, 30, "rows", np.float64), laid_out(30, 21, "columns", np.float64)
    a[3, 4], a[5, 6], b[7, 20] = np.inf, np.nan, -np.inf
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(product(a, b, unit()), a @ b, rtol=1e-12, atol=1e-12)


def compiled(f, *args, **options):
    fast = tapegrad.compile(f, backend="llvm", **options)
    for _ in range(4):
        got = fast(*args)
    (*_, last) = fast.call.programs.values()
    (way,) = last.runner.paths
    return got, way.path


def is_ours(path):
    return all(type(call) is routines.Routine for call in path.lowered.calls)


def test_a_column_is_read_where_it_lies_with_the_same_bits():
    a, b = laid_out(9, 700, "rows", np.float64), laid_out(6, 700, "rows", np.float64)
    calls = [
        lambda a, b: a @ b[1:2].T,
        lambda a, b: a @ (b.T * 1)[:, 1:2],
        lambda a, b: a @ (b.T * 1)[:, 1::6],
        lambda a, b: a @ (b * 1)[1:2].T,
        lambda a, b: (a @ np.stack([b, b])[:, 1:2].transpose(0, 2, 1))[1],
    ]
    made = [compiled(call, a, b) for call in calls]
    for got, path in made:
        assert is_ours(path)
        np.testing.assert_array_equal(got, made[0][0])
        parts = [part for call in path.lowered.calls for part in call.parts]
        assert all(len(part.memories) == 3 for part in parts)  # no scratch for a copy


@pytest.mark.parametrize(
    ("left", "right"),
    [((3, 20, 30), (3, 30, 25)), ((20, 30), (4, 30, 25)), ((2, 1, 20, 30), (5, 30, 25))],
    ids=str,
)
def test_stacks(left, right):
    a, b = DRAW.standard_normal(left), DRAW.standard_normal(right)
    got, path = compiled(lambda a, b: np.tanh(a @ b), a, b)
    assert is_ours(path)
    np.testing.assert_allclose(got, np.tanh(a @ b), rtol=1e-13, atol=1e-13)


def test_gradients_of_a_network_need_no_call_of_numpys():
    x, v, w = [DRAW.standard_normal(s) for s in ((32, 30), (30, 40), (40, 10))]
    f = tapegrad.value_and_grad(lambda x, v, w: np.sum(np.tanh(x @ v) @ w) ** 2, argnums=(0, 1, 2))
    (value, bars), path = compiled(f, x, v, w)
    assert is_ours(path)
    expected, slopes = f(x, v, w)
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    for a, b in zip(bars, slopes, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("sizes", [(300, 64, 96), (65, 300, 300)], ids=str)
def test_parts_of_a_large_product_are_done_at_once(monkeypatch, sizes):
    monkeypatch.setattr(routines, "blas_threads", lambda: 2)
    rows, middle, columns = sizes
    a, b = laid_out(rows, middle, "columns", np.float64), laid_out(middle, columns, "rows", float)
    got, path = compiled(lambda a, b: (a @ b) * 2.0, a, b, threads=2)
    assert is_ours(path)
    assert path.divided == [2]
    np.testing.assert_allclose(got, (a @ b) * 2.0, rtol=1e-12, atol=1e-12)


def test_a_large_product_is_blas_if_that_has_more_threads(monkeypatch):
    monkeypatch.setattr(routines, "blas_threads", lambda: 8)
    a, b = laid_out(200, 200, "rows", np.float64), laid_out(200, 200, "rows", np.float64)
    got, path = compiled(lambda a, b: a @ b, a, b)
    assert not is_ours(path)
    np.testing.assert_array_equal(got, a @ b)


@pytest.mark.part(2)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("n", "columns"), [(2, 0), (9, 3), (23, 1), (60, 60), (129, 0)], ids=str)
def test_decompositions_and_triangular_systems(n, columns, dtype):
    x = DRAW.standard_normal((n, n)).astype(dtype)
    b = DRAW.standard_normal((n, columns) if columns else n).astype(dtype)

    def f(x, b):
        lower = np.linalg.cholesky(x @ x.T + n * np.eye(n, dtype=x.dtype))
        z = np.linalg.solve(lower, b)
        return lower, z, np.linalg.solve(lower.T, z)

    got, path = compiled(f, x, b)
    assert is_ours(path)
    for a, c in zip(got, f(x, b), strict=True):
        assert (a.dtype, a.shape) == (c.dtype, c.shape)
        np.testing.assert_allclose(a, c, atol=100 * np.finfo(dtype).eps * np.max(np.abs(c)))


@pytest.mark.parametrize(
    "x", [-np.eye(9), np.diag([1.0, 0.0, 1.0]), np.full((4, 4), np.nan), np.diag([1.0, np.inf])]
)
def test_what_is_not_positive_definite_is_numpys(x):
    fast = tapegrad.compile(np.linalg.cholesky, backend="llvm")
    for _ in range(4):
        fast(np.eye(len(x)))
    try:
        expected = np.linalg.cholesky(x)
    except np.linalg.LinAlgError:
        with pytest.raises(np.linalg.LinAlgError):
            fast(x)
    else:
        np.testing.assert_array_equal(fast(x), expected)


def test_a_solution_that_is_not_finite_is_numpys():
    def f(x, b):
        return np.linalg.solve(np.linalg.cholesky(x), b)

    fast = tapegrad.compile(f, backend="llvm")
    x = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 1.0], [0.0, 1.0, 2.0]])
    for b in (np.ones(3), np.arange(3.0), np.ones(3), np.array([1.0, np.inf, 0.0]), np.eye(3)[0]):
        with np.errstate(invalid="ignore"):
            np.testing.assert_allclose(fast(x, b), f(x, b), rtol=1e-14)


SMALL = {
    "pivots": np.array([[0.0, 2.0, 1.0], [1e-30, 1.0, 3.0], [4.0, 0.5, 1.0]]),
    "beyond range": np.diag([1e-200, -1e-200, 1e300]),
    "stack": DRAW.standard_normal((5, 2, 2)),
    "four": DRAW.standard_normal((2, 4, 4)),
    "one": DRAW.standard_normal((3, 1, 1)),
    "float32": DRAW.standard_normal((2, 3, 3)).astype(np.float32),
}


@pytest.mark.parametrize("name", SMALL)
def test_small_matrices_are_ours(name):
    a = SMALL[name]

    def f(a, b):
        return np.linalg.solve(a, b), np.linalg.solve(a[0], b[:, 0]), inv(a), np.linalg.det(a)

    inv = np.linalg.inv
    a = a[None] if a.ndim == 2 else a
    b = DRAW.standard_normal((a.shape[-1], 5)).astype(a.dtype)
    got, path = compiled(f, a, b)
    assert is_ours(path)
    for x, y in zip(got, f(a, b), strict=True):
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        room = 200 * np.finfo(a.dtype).eps * np.linalg.cond(a).max()
        np.testing.assert_allclose(x, y, rtol=min(room, 1e-3), atol=1e-300)


def test_small_singular_matrices_are_numpys():
    def f(a, b):
        return np.linalg.solve(a, b)

    singular, one = np.array([[1.0, 2.0], [2.0, 4.0]]), np.eye(2)
    for g in (f, lambda a, b: np.linalg.inv(a) @ b):
        fast = tapegrad.compile(g, backend="llvm")
        for _ in range(4):
            fast(one, one)
        for b in (one, 0 * one):
            with pytest.raises(np.linalg.LinAlgError):
                fast(singular, b)
    fast = tapegrad.compile(tapegrad.value_and_grad(np.linalg.det), backend="llvm")
    for a in (one, one + 1, one, singular, 0 * one):
        value, gradient = fast(a)
        np.testing.assert_allclose(value, np.linalg.det(a), atol=1e-15)
        np.testing.assert_allclose(gradient, [[a[1, 1], -a[1, 0]], [-a[0, 1], a[0, 0]]])


def test_taking_calls_apart_computes_no_product_again(monkeypatch):
    seen = []

    def noted(node, values):
        seen.append(METHODS.get(node.function, getattr(node.function, "__name__", "")))
        return value_of(node, values)

    value_of = expansion.value_of
    monkeypatch.setattr(expansion, "value_of", noted)
    given = [DRAW.standard_normal(shape) for shape in ((6, 4), (4, 5), (5, 3))]

    def loss(given):
        x, w, v = given
        return np.sum(np.max(np.tanh(x @ w) @ v, 1) ** 2)  # the pullback of np.max is taken apart

    fast = tapegrad.compile(tapegrad.grad(loss), backend="llvm")
    for _ in range(5):
        for found, wanted in zip(fast(given), tapegrad.grad(loss)(given), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-13, atol=1e-15)
    assert seen.count("matmul") == 2
    products = fast.program(given).count(".dot(")  # not again and again, to look into them
    assert products <= seen.count("dot") <= products + 1
