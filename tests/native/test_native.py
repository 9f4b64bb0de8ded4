"""The native back end: a program's results are the function's, but for rounding in sums."""

from __future__ import annotations

import importlib.util
import operator
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from draws import draws
from hypothesis import given
from hypothesis import strategies as st

import tapegrad
from tapegrad import _tree

pytest.importorskip("llvmlite")


X = np.random.default_rng(0).standard_normal(6)
NAN, INF = np.nan, np.inf


def leaves(value):
    return _tree.flatten(value)[0]


def runner_of(fast):
    (*_, last) = fast.call.programs.values()
    return last.runner


def assert_close(got, expected, rounding=0.0):
    """Equal in class, dtype and shape, and, but for rounding, in bits."""
    for a, b in zip(leaves(got), leaves(expected), strict=True):
        assert type(a) is type(b)
        x, y = np.asarray(a), np.asarray(b)
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        if y.dtype.kind not in "fc" or not rounding:
            np.testing.assert_array_equal(x, y)
            if y.dtype.kind == "f":
                known = ~np.isnan(y)
                np.testing.assert_array_equal(np.signbit(x)[known], np.signbit(y)[known])
        else:
            known = y[np.isfinite(y)]
            scale = np.max(np.abs(known)) if known.size else 1.0
            small = rounding * np.finfo(y.dtype).eps
            np.testing.assert_allclose(x, y, rtol=small, atol=small * scale)


def check(f, *inputs, rounding=0.0, calls=5, native=True):
    """Call f and its native form with several arguments each. `inputs` are functions of the call
    that make an argument, or are arguments."""
    fast = tapegrad.compile(f, backend="llvm")
    for n in range(calls):
        args = [make(n) if callable(make) else make for make in inputs]
        with np.errstate(all="ignore"):
            expected = f(*[np.copy(x) if isinstance(x, np.ndarray) else x for x in args])
            assert_close(fast(*args), expected, rounding)
    if native:
        assert runner_of(fast).paths
    return fast


def moved(x):
    """Arguments near x, another in each call."""
    return lambda n: x + 0.25 * n


# --- Elementwise functions keep NumPy's bits -----------------------------------------------------

ONE = [
    np.negative,
    np.absolute,
    np.sqrt,
    np.square,
    np.reciprocal,
    np.floor,
    np.ceil,
    np.trunc,
    np.rint,
    np.sign,
    np.isnan,
    np.isinf,
    np.isfinite,
    np.logical_not,
    np.positive,
]
TWO = [
    np.add,
    np.subtract,
    np.multiply,
    np.divide,
    np.maximum,
    np.minimum,
    np.less,
    np.less_equal,
    np.greater,
    np.greater_equal,
    np.equal,
    np.not_equal,
    np.logical_and,
    np.logical_or,
    np.logical_xor,
    np.copysign,
]
SPECIAL = np.array([0.0, -0.0, 1.0, -1.5, NAN, INF, -INF, 5e-324, 1e308, -2.5, 0.5, 3.5])


@pytest.mark.part(3)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("ufunc", ONE, ids=lambda f: f.__name__)
def test_a_function_keeps_numpys_bits(ufunc, dtype):
    with np.errstate(all="ignore"):
        x = SPECIAL.astype(dtype)
    for n in (1, 3, 12, 12 * 5):
        check(lambda x: ufunc(x), np.resize(x, n))


@pytest.mark.part(3)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("ufunc", TWO, ids=lambda f: f.__name__)
def test_a_function_of_two_keeps_numpys_bits(ufunc, dtype):
    with np.errstate(all="ignore"):
        x = SPECIAL.astype(dtype)
    a, b = [part.ravel() for part in np.meshgrid(x, x)]
    check(lambda a, b: ufunc(a, b), a, b)
    check(lambda a: ufunc(a, 0.5), a)
    check(lambda a: ufunc(0, a), a)


@pytest.mark.parametrize("dtype", ["int64", "bool"])
@pytest.mark.parametrize(
    "ufunc", [np.add, np.multiply, np.maximum, np.less, np.equal, np.bitwise_and, np.logical_or]
)
def test_integers(ufunc, dtype):
    a = np.arange(-4, 9).astype(dtype)
    check(lambda a, b: ufunc(a, b), a, a[::-1].copy())


def test_dtypes_meet_as_in_numpy():
    def f(a, b, c):
        return a + b, b * 2, np.where(a > 0, b, 1), c + a, c.astype(np.float32) / 3, (a > b) * c

    check(f, X, X.astype(np.float32), np.arange(6))


# --- Shapes, views and writes --------------------------------------------------------------------


def views(x):
    a = x.reshape(4, 6).T
    b = a[1:, ::-1] * 2 + a[:-1]
    return b.ravel(), a[2, 1] * b[::2, 1:], np.swapaxes(x.reshape(2, 3, 4), 0, 2) + 1, a


def writes(x):
    y = np.zeros_like(x)
    for i in range(len(x)):
        y[i] = x[i] * i
    y[1:] += x[:-1]
    y[::2] *= 3
    z = np.concatenate([y, x[:2]])
    z[2:-2] = np.stack([x, y])[1, 2:-1][: len(z) - 4].sum()
    return y, z


def broadcasts(x):
    a = x.reshape(4, 6)
    return a * a[:1] + a[:, :1], a[:, None, :] - a[None], np.broadcast_to(a[0], (3, 6)) * 2


@pytest.mark.parametrize("f", [views, writes, broadcasts], ids=lambda f: f.__name__)
def test_shapes(f):
    check(f, moved(np.arange(24.0)))
    check(f, moved(np.arange(48.0)[::2]))


@pytest.mark.part(3)
@pytest.mark.parametrize("axis", [None, 0, 1, 2, (0, 2), (1, 2), ()])
@pytest.mark.parametrize("shape", [(3, 5, 7), (1, 40, 1), (20, 2, 33)])
def test_reductions(axis, shape):
    def f(x):
        found = [getattr(np, name)(x, axis=axis) for name in ("sum", "mean", "max", "min", "prod")]
        return [*found, x.sum(axis=axis, keepdims=True), np.any(x > 0, axis=axis)]

    x = np.random.default_rng(1).uniform(0.9, 1.1, shape)
    check(f, moved(x), rounding=64)
    check(f, lambda n: (x.T + n).T.astype(np.float32), rounding=64)


def test_long_sums_are_as_near_as_numpys():
    x = np.random.default_rng(1).standard_normal(1_000_003) + 1
    fast = check(lambda x: np.sum(x), moved(x), rounding=8)
    exact = np.sum(x.astype(np.longdouble))
    assert abs(fast(x) - exact) < 1e-9


def test_extremes_have_numpys_nans():
    for x in (SPECIAL, SPECIAL[:4], np.array([-0.0, -0.0]), np.array([NAN])):
        check(lambda x: (np.max(x), np.min(x), np.sum(x)), x)


@pytest.mark.parametrize("n", [1, 2, 3, 8, 15, 16, 17, 33, 1000, 30_001])
def test_lengths(n):
    x = np.linspace(-1, 1, n)
    check(lambda x: (x * 2 + 1, np.sum(x * x), np.maximum(x, 0)), moved(x), rounding=8)


def test_large_results_are_new_arrays():
    fast = check(lambda x: x * 2, moved(np.ones(50_000)))
    a, b = fast(np.ones(50_000)), fast(np.zeros(50_000))
    assert a[0] == 2
    assert b[0] == 0


def test_products():
    draw = np.random.default_rng(0)
    for shapes in [((3, 4), (4, 5)), ((4,), (4, 5)), ((30, 40), (40, 50)), ((2, 6, 8), (2, 8, 3))]:
        a, b = [draw.standard_normal(shape) for shape in shapes]
        check(lambda a, b: a @ b * 2, a, b, rounding=64)
        check(lambda a, b: (np.sin(a) @ b, np.dot(a[..., ::-1], b)), a, b, rounding=64)


# --- Derivatives ---------------------------------------------------------------------------------


def rosenbrock(x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def mixed(x):
    s = np.sort(x)[::-1]
    return (
        np.max(s) * np.var(x) + np.linalg.norm(x - np.mean(x)) + np.sum(np.where(x > 0, x, 2 * x))
    )


def softmax(x):
    a = x.reshape(2, 3)
    e = np.exp(a - np.max(a, axis=1, keepdims=True))
    return np.sum((e / np.sum(e, axis=1, keepdims=True)) ** 2) + np.sum(np.tanh(a @ a.T))


TRANSFORMS = {
    "itself": lambda f: f,
    "value_and_grad": tapegrad.value_and_grad,
    "jvp": lambda f: lambda x: tapegrad.jvp(f, (x,), (np.cos(x),)),
    "hessian": tapegrad.hessian,
    "hvp": lambda f: lambda x: tapegrad.hvp(f, (x,), (np.ones_like(x),)),
    "vmap": lambda f: lambda x: tapegrad.vmap(tapegrad.grad(f))(np.stack([x, x[::-1] * 2])),
}


@pytest.mark.part(3)
@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("f", [rosenbrock, mixed, softmax], ids=lambda f: f.__name__)
def test_derivatives(f, transform):
    check(TRANSFORMS[transform](f), moved(X), rounding=500)


def test_a_nan_is_met_again_in_numpy():
    def f(x):
        return np.sum(np.sqrt(x) * x[::-1])

    fast = check(tapegrad.grad(f), moved(np.abs(X)), rounding=64)
    with np.errstate(all="ignore"):
        for x in (np.array([0.0, 1, 2, 0, 3, 4]), np.array([NAN, 1, 2, 0, INF, 4])):
            assert_close(fast(x), tapegrad.grad(f)(x), 64)


def test_a_path_that_is_seldom_gone_stays():
    g = tapegrad.grad(lambda x: np.max(x) ** 2)
    fast = check(g, moved(X), rounding=8, calls=9)
    tied, before = np.ones(6), fast(X)
    for _ in range(30):
        assert_close(fast(tied), g(tied), 8)
    assert runner_of(fast).paths
    np.testing.assert_array_equal(fast(X), before)


HOLDING = {
    "loops": tapegrad.value_and_grad(lambda x: np.sum(x * x)),
    "a product": lambda x: np.tanh(x @ x.T),
    "a call of NumPy's": lambda x: np.sin(np.linalg.eigvalsh(x)),
    "one of a value": lambda x: x * np.linalg.slogdet(x * 2 + 1)[1],
    "the input": lambda x: (x, x * 2),
    "a view of it": lambda x: (x[0], x[::-1] * 2),
    "another branch": lambda x: x * 2 if x[0, 0] > 0 else x * 3,
}


@pytest.mark.parametrize("n", [3, 130])
@pytest.mark.parametrize("name", HOLDING)
def test_neither_inputs_nor_results_are_held(name, n):
    """Small ones lie in the workspace, large ones where they are."""
    x = np.eye(n) + 1 / n
    fast = check(HOLDING[name], x, rounding=1e4)
    x = -x if name == "another branch" else x * 1  # one that no call has seen
    before = sys.getrefcount(x)
    results = leaves(fast(x))
    assert sys.getrefcount(x) == before
    mine = [np.empty(1) for _ in results]
    assert [sys.getrefcount(r) for r in results] == [sys.getrefcount(r) for r in mine]


def test_branches():
    def f(x):
        return x * 2 if np.sum(x) > 0 else np.sin(x)

    signs = [1, -1, 1, -1, 1, 1, -1, -1, 1]
    check(f, lambda n: np.full(5, float(signs[n]) + n / 100), calls=9, rounding=4)


def test_numbers_and_trees():
    def step(p, rate):
        slope = tapegrad.grad(lambda p: np.sum(np.tanh(p["a"] @ p["b"])))(p)
        return {k: v - rate * slope[k] for k, v in p.items()}, rate * 2

    fast = tapegrad.compile(step, backend="llvm")
    for n in range(5):
        p = {"a": np.full((2, 3), n / 10), "b": np.ones((3, 2))}
        assert_close(fast(p, 0.1 * n), step(p, 0.1 * n), 64)


def test_writes_into_arguments():
    def f(x):
        x[1:] *= 2
        return np.sum(x)

    fast = tapegrad.compile(f, backend="llvm")
    for _ in range(5):
        a, b = X.copy(), X.copy()
        assert_close(fast(a), f(b), 8)
        np.testing.assert_array_equal(a, b)


def test_threads_share_code_and_no_workspace():
    f = tapegrad.grad(lambda x: np.sum(np.sin(x) * np.cumsum(x)))
    fast = tapegrad.compile(f, backend="llvm")
    for _ in range(3):
        fast(X)
    wrong = []

    def work(k):
        for n in range(200):
            x = X + k + n / 7
            if not np.allclose(fast(x), f(x), rtol=1e-12, atol=1e-12):
                wrong.append((k, n))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# --- Drawn programs ------------------------------------------------------------------------------

SMOOTH = [np.sin, np.cos, np.tanh, np.exp, np.arctan, np.square, np.abs, np.negative, np.floor]
BOTH = [np.add, np.subtract, np.multiply, np.maximum, np.minimum, np.less, np.arctan2]
VIEWS = [
    lambda x: x[1:],
    lambda x: x[::-1],
    lambda x: x.T,
    lambda x: x[..., :2],
    lambda x: np.reshape(x, -1),
    lambda x: x[0],
    lambda x: x[:, None] if x.ndim < 3 else x,
    lambda x: np.ravel(x.T),
    lambda x: np.roll(x, 1, 0),
    lambda x: np.concatenate([x, x * 2]),
]


def shifted(x):
    y = np.zeros_like(x)
    y[1:] = x[:-1]
    y[:1] += 1.5
    y[:-1] -= x[1:]
    return y


def scaled(x):
    y = np.copy(x)
    y[::2] *= 3
    y[-1:] = 0.5
    return y


@st.composite
def programs(draw):
    """A shape, and a function of an array that returns all that it computes on the way."""
    shape = draw(st.sampled_from([(7,), (3, 4), (2, 3, 5), (40,), (1,), (17, 3)]))
    kinds = st.sampled_from("uubbnrvvwwdc")
    small = st.integers(0, 9)
    steps = draw(st.lists(st.tuples(kinds, small, small, small), min_size=2, max_size=10))

    def f(x):
        values = [x]
        for kind, i, j, k in steps:
            a = values[-1 - i % min(3, len(values))]
            b = values[j % len(values)]
            try:
                made = _step(kind, a, b, j, k)
            except (ValueError, TypeError, IndexError):
                continue
            if np.size(made) and np.size(made) < 2000:
                values.append(made)
        return values[1:]

    return shape, f


def _step(kind, a, b, j, k):
    if kind == "u":
        return SMOOTH[k % len(SMOOTH)](a)
    if kind == "b":
        return BOTH[k % len(BOTH)](a, b)
    if kind == "n":
        return [operator.add, operator.mul, operator.sub, operator.truediv][k % 4](a, j - 4.5)
    if kind == "r":
        axis = [None, 0, -1][k % 3]
        return [np.sum, np.mean, np.max][j % 3](a * 1.0, axis=axis, keepdims=k > 4)
    if kind == "v":
        return VIEWS[k % len(VIEWS)](a)
    if kind == "w":
        return (shifted if k % 2 else scaled)(a * 1.0)
    if kind == "d":
        return (a * 0.1) @ np.swapaxes(b * 0.1, -1, -2)
    return np.where(a > 0.1 * j, a, b)


def total(f):
    return lambda x: sum(np.sum(np.tanh(part * 1.0)) for part in f(x))


@pytest.mark.filterwarnings("ignore::tapegrad.EagerWarning")
# A drawn program may not read its input: the warning is true.
@pytest.mark.filterwarnings("ignore::tapegrad.IndependentOutputWarning")
@draws(10, 200)
@given(programs(), st.sampled_from(["itself", "grad", "jvp"]), st.integers(0, 2**16))
def test_drawn_programs(program, kind, seed):
    shape, f = program
    h = {
        "itself": f,
        "grad": tapegrad.grad(total(f)),
        "jvp": lambda x: tapegrad.jvp(total(f), (x,), (np.cos(x),)),
    }[kind]
    draw = np.random.default_rng(seed)
    usual = tapegrad.compile(h, backend="interpreter")
    fast = tapegrad.compile(h, backend="llvm")
    for _ in range(4):
        x = draw.uniform(-1, 1, shape)
        with np.errstate(all="ignore"):
            try:
                expected = usual(x)
            except (tapegrad.InputError, tapegrad.OutputError):
                return
            assert_close(fast(x), expected, 1e5)


@pytest.mark.part(2)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 6, 7, 8, 11, 15, 16, 17, 18, 19, 25, 31, 33])
def test_what_is_left_over_is_right(n):
    def f(x, s):
        return np.where(s > 0, s, x * 2), np.where(x > 0, x[::-1], s), np.sum(x * x), x > s

    for sign in (-1.0, 1.0):
        check(f, moved(np.linspace(-4, 3, n)), np.array(sign), rounding=8)
    check(f, np.linspace(-4, 3, n).astype(np.float32), np.float32(1), rounding=8)


@pytest.mark.parametrize("n", [3, 4, 18, 20, 25, 660])
def test_lanes_that_do_not_count_are_not_seen(n):
    def f(x):
        return np.sum(x / x), np.sum(np.log(x - 1)), np.max(1 / (x - 2)), np.sum(np.sqrt(x - 1.5))

    check(f, moved(np.linspace(3, 4, n)), rounding=64)


def test_the_picture_of_a_program_is_up_to_date():
    docs = Path(__file__).parents[2] / "docs"
    spec = importlib.util.spec_from_file_location("fusion", docs / "fusion.py")
    fusion = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fusion)
    drawn = (docs / "fusion.svg").read_text(encoding="utf-8")
    assert fusion.picture() + "\n" == drawn, "run: python docs/fusion.py > docs/fusion.svg"
