"""The native back end: places that are data, running sums, searches, contractions, moves."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import mmap
import sys
import threading
import warnings
import weakref

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from test_native import SPECIAL, assert_close, check, moved, runner_of

import tapegrad
from tapegrad._native import workers
from tapegrad._native.native_program import Workspace

DRAW = np.random.default_rng(3)
X = DRAW.standard_normal((4, 6))
I = np.array([1, 3, -1, 0, 1])  # noqa: E741


def natively(f, *inputs, rounding=0.0, calls=4, python=()):
    """`check`, and that no call but those named is made by Python."""
    fast = check(f, *inputs, rounding=rounding, calls=calls)
    path = runner_of(fast).paths[0].path
    called = [call.node.function.__name__ for call in path.lowered.calls if call.node is not None]
    kinds = [call.kind for call in path.lowered.calls]
    assert "check" not in kinds
    named = [name for name, kind in zip(called, kinds, strict=True) if kind == "call"]
    assert sorted(named) == sorted(python)
    args = [make(3) if callable(make) else make for make in inputs]
    workspace = Workspace(path)
    with np.errstate(all="ignore"):
        assert_close(workspace.run(*args), f(*args), rounding)  # and not NumPy's program instead
    return fast


def some(names, *kept):
    """Names as parameters, of which all but those kept are slow together."""
    return [name if name in kept else pytest.param(name, marks=pytest.mark.slow) for name in names]


READS = {
    "rows": lambda x, i: x[i],
    "columns": lambda x, i: x[:, i],
    "both": lambda x, i: x[i, i],
    "apart": lambda x, i: np.stack([x, x])[i % 2, :, i],
    "with a slice": lambda x, i: x[1:, ::-2][i % 2],
    "with a new axis": lambda x, i: x[i, None, 1:],
    "outer": lambda x, i: x[i[:, None], i],
    "one": lambda x, i: x[i[0], i[1]] * 2,
    "take": lambda x, i: np.take(x, i, axis=1),
    "take of all": lambda x, i: np.take(x, i),
    "take along": lambda x, i: np.take_along_axis(x, np.stack([i, i % 3, i, i]), axis=1),
    "constant": lambda x, i: x[[1, 1, 2]] + x[np.array([[0], [2], [3]]), 1],
    "wrapped": lambda x, i: np.take(x, [7, -9], mode="wrap"),
}


@pytest.mark.parametrize("name", some(READS, "apart", "take along"))
def test_reads_at_places(name):
    for dtype in ("float64", "float32", "int64", "bool"):
        natively(lambda x, i: READS[name](x, i), (X > 0.5).astype(dtype), I)
    natively(lambda x, i: READS[name](x * 2, i + 0), moved(X), I.astype(np.int32))


@pytest.mark.parametrize("name", some(READS, "rows"))
def test_derivatives_of_reads(name):
    def f(x, i):
        return np.sum(READS[name](x, i) ** 3)

    def twice(x, i):
        return np.sum(tapegrad.grad(f)(x, i) * np.cos(x))

    natively(tapegrad.grad(f), moved(X), I, rounding=64, calls=9)
    if name != "one":
        check(tapegrad.grad(twice), moved(X), I, rounding=64, calls=9)


def test_a_place_beyond_an_axis_is_an_error():
    def f(x, i):
        return np.sum(x[i] * 2)

    for g in (f, tapegrad.grad(f)):
        fast = natively(g, X, I, rounding=8)
        for wrong in (4, -5, 10**12):
            with pytest.raises(IndexError):
                fast(X, np.array([0, wrong, 1, 0, 0]))
        assert_close(fast(X, I), g(X, I), 8)


def test_an_array_without_elements_has_no_places():
    fast = tapegrad.compile(lambda x: np.sum(x[:, None, 0:0][[], 0]) + np.sum(x), backend="llvm")
    for _ in range(4):
        assert_close(fast(X), np.sum(X), 8)


def stored(x, i):
    y = np.zeros_like(x)
    y[i] = x[i] * 2 + np.arange(5.0)[:, None]
    y[0] = 3.0
    return y


def added(x, i):
    y = x * 1.0
    np.add.at(y, i, x[i])
    np.add.at(y[1:, ::2], (i % 3, i % 2), 0.5)
    y[i] += 10.0
    np.multiply.at(y, i, 2.0)
    return y


@pytest.mark.parametrize("f", some([stored, added], added), ids=lambda f: f.__name__)
def test_writes_at_places(f):
    natively(f, moved(X), I)
    if f is stored:
        natively(tapegrad.grad(lambda x, i: np.sum(f(x, i) ** 2)), moved(X), I, rounding=64)


def test_many_are_added_in_order():
    i = DRAW.integers(0, 50, 3000)

    def f(x, w):
        y = np.zeros_like(x)
        np.add.at(y, i, w)
        return y + x, np.bincount(i, w, 50)

    check(f, np.ones(50), moved(DRAW.standard_normal(3000)))


@pytest.mark.parametrize("axis", some([None, 0, 1, -1], 0))
def test_running_sums(axis):
    natively(lambda x: (np.cumsum(x, axis), np.cumprod(x, axis=axis)), moved(X))
    natively(lambda x: np.cumsum(x * 2, axis), (X * 10).astype(int))
    natively(lambda x: np.cumsum(x.T[::-1], axis), moved(X.astype(np.float32)))
    natively(tapegrad.grad(lambda x: np.sum(np.cumsum(x, axis) ** 2)), moved(X), rounding=64)
    natively(lambda x: np.maximum.accumulate(x), SPECIAL)


@pytest.mark.parametrize("axis", some([None, 0, 1], 1))
@pytest.mark.parametrize("name", some(["argmax", "argmin"], "argmax"))
def test_places_of_extrema(name, axis):
    f = getattr(np, name)
    for x in (X, np.zeros((3, 5)), np.round(X), SPECIAL.reshape(3, 4), (X * 3).astype(int)):
        natively(lambda x: f(x, axis=axis) + 0, x)
    natively(lambda x: x * (f(x, axis) == 1).sum(), moved(X))


SUBSCRIPTS = [
    "ij,kj->ik",
    "ij,ij->",
    "ij->ji",
    "ij->",
    "ij,ij->i",
    "ij,kj->",
    "ii,ij->ij",
    "ij,kl->",
]
SUBSCRIPTS += ["ij,kj,lj->ikl", "ij,jk,kl->il"]
DIAGONALS = ["ii->", "ii->i", "ii,ij->j", "ij,jj->i", "ii,jj->ij", "ii,ii->i"]


@pytest.mark.parametrize("text", some(SUBSCRIPTS, "ij,kj->ik", "ij,jk,kl->il"))
def test_contractions(text):
    a = DRAW.standard_normal((4, 4))

    def f(a, b):
        given = (a, b, a - b)[: text.count(",") + 1]
        return np.einsum(text, *given)

    natively(f, moved(a), a.T.copy(), rounding=64)
    natively(tapegrad.grad(lambda a, b: np.sum(f(a, b) ** 2)), moved(a), a + 1, rounding=256)


def test_a_letter_that_comes_twice_walks_a_diagonal():
    a, cube = DRAW.standard_normal((4, 4)), DRAW.standard_normal((3, 3, 3))

    def diagonals(a, b, cube):
        products = [np.einsum(text, *(a, b)[: text.count(",") + 1]) for text in DIAGONALS]
        return products + [
            np.einsum(text, cube) for text in ("iij->j", "iji->j", "jii->ij", "iii")
        ]

    natively(diagonals, moved(a), a.T.copy(), moved(cube), rounding=64)


@pytest.mark.slow
def test_large_contractions_are_products():
    a, b = DRAW.standard_normal((5, 40, 30)), DRAW.standard_normal((5, 30, 20))
    natively(lambda a, b: np.einsum("bij,bjk->bik", a, b), a, b, rounding=64)
    natively(lambda a, b: np.einsum("bij,bjk->kbi", a, b), a, b, rounding=64)
    natively(lambda a, b: (np.inner(a[0], a[1]), np.vdot(a, a * 2), a @ b), a, b, rounding=128)


def test_small_stacks_are_loops():
    a, b = DRAW.standard_normal((7, 3, 4)), DRAW.standard_normal((4, 2))
    natively(lambda a, b: (a @ b, a @ a.swapaxes(1, 2)), moved(a), b, rounding=64)


@pytest.mark.parametrize(
    "dtype", some(["float64", "float32", "int64", "int32"], "float64", "int64")
)
def test_quotients_and_remainders(dtype):
    with np.errstate(all="ignore"):
        x = SPECIAL.astype(dtype) if dtype[0] == "f" else np.arange(-7, 8).astype(dtype)
    if dtype[0] == "i":
        x = np.append(x, [np.iinfo(dtype).min, np.iinfo(dtype).max])
    a, b = [part.ravel() for part in np.meshgrid(x, x)]
    natively(lambda a, b: (a // b, a % b, np.remainder(a, 3)), a, b)
    if dtype[0] == "i":
        natively(lambda a, b: (a << (b & 31), a >> 2, abs(a), a & b, a ^ b, ~a), a, b)


def test_bits():
    natively(lambda x: (x.view(np.int64) + 1).view(float) * 2, SPECIAL)
    natively(lambda x: np.where(x > 0, x, 2 * x).view(np.int64), moved(X))


MOVES = {
    "roll": lambda x: np.roll(x, (1, -2), (0, 1)),
    "pad": lambda x: np.pad(x, 1, constant_values=2.0),
    "tile": lambda x: np.tile(x, (2, 1)),
    "repeat": lambda x: np.repeat(x, 2, axis=1),
    "triu": lambda x: np.triu(x),
    "diag": lambda x: np.diag(x[0]) + np.diag(x[:, 0])[0, 0],
    "diff": lambda x: np.diff(x, axis=1),
    "trace": lambda x: np.trace(x) * x,
    "diagonal": lambda x: np.diagonal(x, 1) * 1.0,
    "norm": lambda x: np.linalg.norm(x, axis=1) + np.linalg.norm(x),
    "var": lambda x: np.var(x, axis=0) + np.std(x),
    "cross": lambda x: np.cross(x[:, :3], x[:, 3:]),
    "kron": lambda x: np.kron(x[:2, :2], x[:1]),
    "max": lambda x: np.max(x, axis=1) * np.min(x),
    "prod": lambda x: np.prod(x, axis=1),
    "clip": lambda x: np.clip(x, -0.5, 0.5) * x,
    "maximum": lambda x: np.maximum(x, 0) + np.minimum(x, x[::-1]),
    "where": lambda x: np.where(x > 0, x, np.exp(x)),
    "select": lambda x: np.select([x > 1, x > 0], [x, x * 2], x * 3),
    "logaddexp": lambda x: np.logaddexp(x, x[::-1]),
    "power": lambda x: np.power(np.abs(x) + 1, x),
}


@pytest.mark.parametrize("name", some(MOVES, "pad", "max"))
def test_calls_of_our_own_are_taken_apart(name):
    def f(x):
        return np.sum(MOVES[name](x) ** 2)

    natively(lambda x: MOVES[name](x), moved(X), rounding=64)
    natively(tapegrad.grad(f), moved(X), rounding=1e4, calls=9)
    check(lambda x: tapegrad.hvp(f, (x,), (np.cos(X),)), moved(X), rounding=1e4, calls=9)


@pytest.mark.slow
def test_ties_are_met_in_numpy():
    g = tapegrad.grad(lambda x: np.sum(np.max(x, axis=1) ** 2))
    fast = natively(g, moved(X), rounding=8, calls=9)
    tied = np.round(X)
    assert_close(fast(tied), g(tied))


@pytest.mark.slow
def test_long_programs_repeat():
    def f(x, w):
        for _ in range(300):
            x = np.sin(x) * w + 0.1 * x
        return np.sum(x)

    x = np.linspace(0, 1, 7)
    fast = check(tapegrad.value_and_grad(f), moved(x), np.full(7, 0.9), rounding=1e4, calls=4)
    path = runner_of(fast).paths[0].path
    assert path.kernels < len(path.steps) / 2
    check(f, moved(x), np.array(0.9), rounding=1e4, calls=4)


@pytest.mark.parametrize("threads", some([2, 3], 2))
def test_parts_at_once(threads):
    def f(x):
        y = np.exp(-x * x) + x
        return y, np.sum(y), np.max(x), np.any(x > 3), np.mean(y * x)

    def rows(x):
        return np.sum(x, axis=1), x * np.sum(x * x), np.sum(x, axis=0)

    def between(x):  # sums that are filled with zeros, of which each part has its own
        return np.sum(np.sin(x) * np.cos(x), axis=1)

    cases = ((f, (120_007,)), (rows, (3001, 403)), (between, (400, 30, 40)))
    for f_, shape in cases:
        x = DRAW.standard_normal(shape)
        fast = tapegrad.compile(f_, backend="llvm", threads=threads)
        for _ in range(4):
            assert_close(fast(x), f_(x), 64)
        path = runner_of(fast).paths[0].path
        assert path.divided


class Memory:
    """Stands for a workspace."""


def test_memory_lives_until_all_parts_are_done():
    """Also where the thread that waits is interrupted, and a worker goes on."""
    begun, go_on, done = threading.Event(), threading.Event(), threading.Event()

    def function(_, part):
        if part == 0:
            assert begun.wait(60)
            raise KeyboardInterrupt
        begun.set()
        assert go_on.wait(60)
        assert alive() is not None
        done.set()

    memory = Memory()
    alive = weakref.ref(memory)
    with contextlib.suppress(KeyboardInterrupt):
        workers.at_once(function, 0, 2, 2, memory)
    del memory
    gc.collect()
    assert alive() is not None
    go_on.set()
    assert done.wait(60)


def test_an_interrupted_call_leaves_its_workspace(monkeypatch):
    fast = natively(lambda x: x * x + 1, X)
    (way,) = runner_of(fast).paths
    (workspace,) = way.free

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(workspace, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fast(X)
    assert not way.free  # threads may still write into that one
    assert np.array_equal(fast(X), X * X + 1)
    assert way.free


# --- Drawn places, of arrays at the edge of memory that cannot be touched ------------------------


def at_the_edge(array, kept, *, end):
    """A copy of an array, before or after which lies a page that the system guards."""
    page = mmap.PAGESIZE
    size = -(-max(array.nbytes, 1) // page) * page
    room = mmap.mmap(-1, size + 2 * page)
    kept.append(room)
    address = ctypes.addressof(ctypes.c_char.from_buffer(room))
    for at in (0, page + size):
        assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(address + at), page, 0) == 0
    start = page + size - array.nbytes if end else page
    made = np.frombuffer(room, array.dtype, array.size, start).reshape(array.shape)
    made[...] = array
    return made


def _written(x, i):
    y = x * 1
    y[i] = 3
    return y


def _added(x, i):
    y = x * 1
    np.add.at(y, (slice(None), i), 2)
    return y


DRAWN = [
    *READS.values(),
    _written,
    _added,
    lambda x, i: x[i * 2 - 1],
    lambda x, i: np.bincount(i % 97, np.ones(i.shape) * x[0, 0], len(x))[: len(x)],
    tapegrad.grad(lambda x, i: np.sum(np.sin(x[i]))),
]


def outcome(f, *args):
    try:
        return f(*args)
    except (IndexError, ValueError) as error:
        return type(error)


@pytest.mark.skipif(sys.platform == "win32", reason="pages are guarded by another call there")
@pytest.mark.parametrize("count", [25, pytest.param(500, marks=pytest.mark.slow)])
def test_drawn_places_are_those_of_numpy_or_refused(count):
    """A place of data beyond an axis is an error as in NumPy, and nothing is read there."""
    draw = np.random.default_rng(count)
    for _ in range(count):
        f = DRAWN[draw.integers(len(DRAWN))]
        x = draw.normal(size=draw.integers(0 if draw.random() < 0.1 else 4, 30, 2))
        x = x.astype(draw.choice(["f8", "f4"]))
        most = max(1, min(x.shape))
        places = draw.integers(-most, most, draw.integers(0 if draw.random() < 0.1 else 2, 20))
        places = places.astype(draw.choice(["i8", "i4", "i2", "u1", "u4"]))
        fast, end, kept = tapegrad.compile(f, backend="llvm"), bool(draw.integers(2)), []
        for call in range(5):
            i = places.copy()
            if call >= 3 and i.size:
                bounds = np.iinfo(i.dtype)
                far = [bounds.min, bounds.max, *np.clip([30, -31], bounds.min, bounds.max)]
                i[draw.integers(i.size)] = draw.choice(far)
            given = [at_the_edge(a, kept, end=end) for a in (x, i)]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                expected, found = outcome(f, x, i), outcome(fast, *given)
            if isinstance(expected, type):
                assert found is expected
            else:
                np.testing.assert_allclose(found, expected, rtol=1e-5)


def _filled(x):
    x[...] = np.linspace(-1, 1, x.size).reshape(x.shape)
    return x


LAYOUTS = {
    "whole": lambda a: a,
    "Fortran": lambda a: a.T,
    "reversed": lambda a: a[::-1, ::-1],
    "gaps": lambda a: a[::2, 1::3],
    "last of each": lambda a: a[:, -1:],
    "repeated": lambda a: np.broadcast_to(a[-1], a.shape),
    "odd address": lambda a: _filled(
        a.reshape(-1).view("u1")[1 : 1 - a.itemsize].view(a.dtype)[None]
    ),
    "other order of bytes": lambda a: _filled(a.view(a.dtype.newbyteorder())),
    "read-only": lambda a: np.lib.stride_tricks.as_strided(a, a.shape, writeable=False),
    "parts": lambda a: a.view(f"c{2 * a.itemsize}").imag if a.shape[1] % 2 == 0 else a,
    "none": lambda a: a[:0],
}
WHOLE = [
    lambda x: np.sqrt(np.abs(x)) + 1,
    lambda x: np.sum(x * 2, axis=0),
    lambda x: np.cumsum(x + 1, axis=-1),
    lambda x: x[..., ::-1] @ x.T,
    tapegrad.grad(lambda x: np.sum(np.tanh(x) * x)),
]


@pytest.mark.skipif(sys.platform == "win32", reason="pages are guarded by another call there")
@pytest.mark.parametrize("count", [6, pytest.param(150, marks=pytest.mark.slow)])
def test_drawn_layouts_are_those_that_the_code_was_made_for(count):
    """A call with other shapes, strides, dtypes or addresses is none of the code made before."""
    draw = np.random.default_rng(count)
    for _ in range(count):
        f = WHOLE[draw.integers(len(WHOLE))]
        fast, kept = tapegrad.compile(f, backend="llvm"), []
        wide = draw.random() < 0.4  # then it is large, and read where it lies
        size = draw.integers(145, 200, 2) if wide else draw.integers(2, 12, 2)
        for _ in range(3):
            a = draw.normal(size=size).astype(draw.choice(["f8", "f4"]))
            layout = LAYOUTS[draw.choice(list(LAYOUTS))]
            x = layout(at_the_edge(a, kept, end=bool(draw.integers(2))))
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                for _ in range(4):
                    np.testing.assert_allclose(fast(x), f(x), rtol=1e-4, atol=1e-4)


@pytest.mark.part(2)
@pytest.mark.parametrize("counts", [(3, 1), (1, 3), (2, 5), (4, 0)])
def test_shapes_by_a_mask_are_those_of_the_call(counts):
    """The paths are taken apart with the values of one call, which went one of them."""

    def f(x, n):
        return np.sum(x[n > 1]) * np.roll(x, 1) * np.sum(np.cos(x[n > 1]) * 2.0)

    x = np.random.default_rng(0).standard_normal(5)
    masks = [np.where(np.arange(5) < count, 2, 0) for count in counts]
    fast = tapegrad.compile(f, backend="llvm")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n in (0, 0, 0, 1, 1, 1, 1, 0, 0, 1, 0):
            np.testing.assert_allclose(fast(x + n, masks[n]), f(x + n, masks[n]), rtol=1e-12)


SELECTED = {
    "product": lambda x: np.prod(x[x != 0]),
    "logarithms": lambda x: np.sum(np.log(x[x > 0])),
    "rows": lambda x: np.sum(np.prod(x.reshape(2, 3)[x.reshape(2, 3)[:, 0] > 0], axis=0)),
    "running": lambda x: np.cumprod(x[x > 0])[-1],
    "two": lambda x: np.sum(x[x > 0]) * np.prod(x[x <= 3] + 2),
}


@pytest.mark.part(2)
@pytest.mark.parametrize("name", SELECTED)
def test_what_a_mask_selects_is_machine_code_of_the_shape_that_it_has(name):
    slope = tapegrad.grad(SELECTED[name])
    for numbers in (
        [1, 0, 3, 2, 0, 5],
        [1, 2, 3, 4, 5, 6],
        [2, 0, 0, 0, 0, 4],
        [3, 0, 0, 0, 0, 0],
    ):
        fast, x = tapegrad.compile(slope, backend="llvm"), np.array(numbers, float)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for given in (x, x * 2, x[::-1].copy(), x + 1):
                np.testing.assert_allclose(fast(given), slope(given), rtol=1e-13)
            first = tapegrad.compile(slope, backend="llvm")
            for _ in range(3):
                first(x)
        (way,) = runner_of(first).paths
        np.testing.assert_allclose(Workspace(way.path).run(x), slope(x), rtol=1e-13)


@pytest.mark.parametrize("transform", [tapegrad.grad, tapegrad.hessian, "vmap"])
def test_what_np_interp_looks_up_is_added_up_in_machine_code(transform):
    x, knots = np.linspace(-0.5, 4.5, 37), np.arange(5.0)

    def loss(y):
        return np.sum(np.interp(x, knots, y) ** 3)

    y = np.array([0.3, -1.0, 2.0, 0.5, 1.5])
    if transform == "vmap":
        f, y = tapegrad.vmap(tapegrad.grad(loss)), np.stack([y, y[::-1]])
    else:
        f = transform(loss)
    fast = tapegrad.compile(f, backend="llvm")
    for _ in range(4):
        got = fast(y)
    np.testing.assert_allclose(got, f(y), rtol=1e-12, atol=1e-12)
    (way,) = runner_of(fast).paths
    called = [call.node.function for call in way.path.lowered.calls if call.kind == "call"]
    assert not any("add_at" in getattr(function, "__qualname__", "") for function in called)
