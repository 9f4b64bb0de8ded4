"""compile of arrays that lie backwards, of results in lists, of functions that call functions."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest
from test_compile import assert_same, by_numpy, check, has_program, moved

import tapegrad

RNG = np.random.default_rng(3)
X = RNG.uniform(0.1, 0.9, 40)
NATIVELY = pytest.mark.skipif(find_spec("llvmlite") is None, reason="llvmlite is not installed")

# Elementary functions whose last bits depend on how their arguments lie in memory.
FUNCTIONS = [np.exp, np.arctan, np.cbrt, np.tan, np.log1p]
LAYOUTS = {
    "backwards": lambda x: x[::-1],
    "with gaps": lambda x: np.repeat(x, 3)[::3],
    "a column": lambda x: np.repeat(x[:, None], 500, axis=1)[:, 7],
    "upwards": lambda x: x.reshape(8, 5)[::-1],
    "transposed": lambda x: x.reshape(8, 5)[::-1, ::2].T,
    "broadcast": lambda x: np.broadcast_to(x[::-1], (3, 40)),
}


# --- How arrays lie in memory -------------------------------------------------------------------


@pytest.mark.part(3)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_arguments_and_constants_lie_as_they_came(function, layout):
    made = LAYOUTS[layout](X)
    assert_same_program(lambda x: function(x), made)
    assert_same_program(tapegrad.grad(lambda x: np.sum(function(x * made))), made)
    assert_same_program(lambda x: tapegrad.vjp(function, x)[1](made), made)
    assert_same_program(lambda x: tapegrad.jvp(function, (x,), (made,)), made)
    assert_same_program(lambda x: function(np.multiply(made, x[:1, ...] * 0 + 1)), made)


def assert_same_program(f, x):
    """As `check`, which copies its arguments: here they lie as they are given."""
    fast = by_numpy(f)
    for _ in range(8):
        assert_same(fast(x), f(x))
    assert has_program(fast)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_what_is_written_backwards_is_computed_forwards(function):
    def written(x):
        y = np.zeros_like(x)
        y[::-1] = function(x)
        y[1::2] *= function(x[::-2])
        return y

    check(written, moved(X))
    check(tapegrad.grad(lambda x: np.sum(written(x) ** 2)), moved(X))


def test_an_argument_that_lies_backwards_is_written_to():
    def changed(x):
        x[1:] *= 2
        return np.exp(x), np.arctan(x[3:])

    check(changed, lambda n: (X + n)[::-1])
    check(lambda x: changed(x + 0.0), lambda n: (X + n)[::-1])


def test_the_program_of_an_argument_that_lies_backwards_is_shown():
    fast = by_numpy(np.exp)
    assert "exp" in fast.program(X[::-1])
    assert "exp" in fast.source(X.reshape(8, 5)[::-2, 1:3])


def test_a_column_of_a_large_matrix_is_copied_alone():
    from tapegrad._program.program import copied

    column = np.broadcast_to(X[:, None], (40, 1 << 20))[::-2, :1][:, 0]
    strided = np.lib.stride_tricks.as_strided(np.zeros(2), (2,), (8,))
    for x in (column, strided, np.lib.stride_tricks.sliding_window_view(X, 5)[:, ::-1]):
        made = copied(x)
        np.testing.assert_array_equal(made, x)
        assert [np.sign(step) for step in made.strides] == [np.sign(step) for step in x.strides]
        assert (made.base if made.base is not None else made).nbytes < 4096


def test_room_between_long_doubles_is_no_value():
    def padded(n):
        x = np.array([1, 2], np.longdouble)
        room = x.view(np.uint8).reshape(2, -1)[:, 10:]
        if np.finfo(x.dtype).nmant == 63:  # as on x86: ten bytes
            room[...] = n
        return x

    def f(x):
        f.calls += 1
        return x * padded(f.calls % 7)

    f.calls = 0
    fast = by_numpy(tapegrad.grad(lambda x: np.sum(f(x))))
    for n in range(4):
        assert_same(fast(padded(n)), np.array([1, 2], np.longdouble))
    assert all(program.restarts == 0 for program in fast.call.programs.values())


# --- Results and calls --------------------------------------------------------------------------


def second(f, *bars):
    def both(x):
        def gradient(x):
            return tapegrad.vjp(f, x)[1](*bars)[0]

        out, pullback = tapegrad.vjp(gradient, x)
        return out, pullback(out), tapegrad.jvp(gradient, (x,), (x,))

    return both


def test_derivatives_that_run_transforms_are_calls_of_the_program():
    rows = X[:6].reshape(2, 3)
    places = np.array([[2, 0, 0, 1]])
    check(second(lambda x: np.take_along_axis(x, places, 1), np.ones((2, 4))), moved(rows))
    check(second(np.flipud, rows), moved(rows))
    check(second(np.diagflat, np.ones((3, 3))), moved(X[:3]))
    check(second(np.unique, np.ones(3)), moved(X[:3]))
    check(
        lambda x, p, v: tapegrad.vjp(np.interp, x, p, v)[1](x),
        moved(X[:3]),
        np.array([0.0, 0.5, 1.5]),
        moved(X[4:7]),
    )
    check(lambda x: tapegrad.jvp(np.poly, (x,), (x,)), moved(X[:3]))


def test_results_that_are_lists_of_lists():
    pairs = X[:20].reshape(10, 2)
    check(lambda x: np.histogramdd(x, 3), moved(pairs))
    check(lambda x: tapegrad.jvp(lambda x: np.histogram2d(*x.T, 2), (x,), (x,)), moved(pairs))
    check(lambda x: x @ x.T if np.einsum_path("ij,kj", x, x)[0] else x, moved(pairs))


def test_functions_that_call_functions():
    def pieces(x):
        return np.piecewise(x, [x < 0.4, x > 0.7], [lambda v: v * v, np.sin, 7.0])

    rows = X.reshape(8, 5)
    check(pieces, moved(X))
    check(tapegrad.grad(lambda x: np.sum(pieces(x))), moved(X))
    check(lambda x: np.apply_along_axis(lambda row: np.cumsum(row) * x[0, 0], 0, x), moved(rows))
    check(lambda x: np.apply_over_axes(np.sum, x, [0, 1]), moved(rows))


def test_what_two_sets_share():
    check(tapegrad.grad(lambda x: np.sum(np.intersect1d([0.5, 1.0], x))), np.array([1.0, 3, 0.5]))
    check(tapegrad.grad(lambda x: np.sum(np.setdiff1d(x, [0.5, 1.0]))), np.array([1.0, 3, 0.5]))


def test_a_derivative_whose_square_overflows_is_finite():
    check(tapegrad.grad(lambda x: np.sum(np.sin(x) * 1e200)), moved(X))
    check(
        tapegrad.grad(lambda x: np.sum(np.sin(x) * np.float32(1e25))),
        lambda n: (X + n).astype(np.float32),
    )


@pytest.mark.parametrize("f", [np.flip, lambda x: x * np.ones(3), lambda x: np.broadcast_to(x, 3)])
def test_a_gradient_at_a_scalar_is_one_within_another_transform(f):
    x = np.float64(0.5)
    bar = np.ones_like(f(x))

    def gradient(x):
        return tapegrad.vjp(f, x)[1](bar)[0]

    kinds = [gradient(x), tapegrad.vjp(gradient, x)[0], *tapegrad.jvp(gradient, (x,), (x,))]
    assert [type(kind) for kind in kinds] == [np.float64] * 4
    check(lambda x: tapegrad.vjp(gradient, x)[0], x)


# --- Natively -----------------------------------------------------------------------------------


def natively(f, *args):
    fast = tapegrad.compile(f, backend="llvm")
    for _ in range(4):
        got = fast(*args)
    assert has_program(fast)
    assert_same(got, f(*args))


@NATIVELY
def test_a_number_natively_has_its_own_class():
    natively(lambda x: (x[()], x + 0, np.copy(x), x), np.array(2.0))
    natively(lambda x: (np.copy(x), x * 1), np.float64(2.0))
    natively(lambda x: tapegrad.jvp(np.positive, (x,), (x,))[1], np.array(2.0))
    natively(lambda x: np.broadcast_to(x, ()), np.float64(2.0))


@NATIVELY
def test_writes_by_a_mask_into_zeros_natively():
    mask = np.array([True, False, True])

    def written(x):
        y = np.zeros_like(x)
        y[mask] = x[mask] * 2
        return y

    natively(written, X[:3])


@NATIVELY
def test_parts_of_a_list_natively():
    places = np.array([0, 2, 0])

    def extremum(x, v):
        y = np.copy(x)
        np.maximum.at(y, places, v)
        return y

    x, v = np.array([0.3, -1.2, 0.7, 2.1]), np.array([1.5, -0.5, 0.25])
    natively(lambda x, v, g: tapegrad.vjp(extremum, x, v)[1](g), x, v, np.arange(1.0, 5.0))


def test_second_derivatives_of_quantiles():
    x = np.random.default_rng(0).standard_normal((3, 2)).astype(np.float32)

    def f(x):
        return np.sum(np.quantile(x, np.float64(0.4), axis=(1, 0), keepdims=True) ** 2)

    check(tapegrad.grad(lambda x: np.sum(tapegrad.grad(f)(x) ** 2)), moved(x))
