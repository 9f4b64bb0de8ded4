"""Functions that others express: a planned call of one has an entry of its own.

Kernels for NumPy arrays are compared with the rules in `test_call_plans`. Here is every other
replay of such an entry: derivatives of derivatives, pullbacks under vmap, forward mode, infinite
cotangents, writes to the arrays that the call has read; and the calls that must not be planned.
"""

from __future__ import annotations

import numpy as np
import pytest
from test_call_plans import unplanned

import tapegrad
from tapegrad._core.fast.call_plans import spec_of
from tapegrad.rules.positions import moved_by_positions

C = np.arange(1.0, 13.0).reshape(3, 4)

CALLS = {
    "roll": lambda x: np.roll(x, 1, 0),
    "roll, flat": lambda x: np.roll(x, 5),
    "tile": lambda x: np.tile(x, (2, 3)),
    "repeat": lambda x: np.repeat(x, 3, 1),
    "repeat, unequal": lambda x: np.repeat(x, [1, 0, 3], 0),
    "resize": lambda x: np.resize(x, (5, 3)),
    "flip": lambda x: np.flip(x, 1),
    "rot90": lambda x: np.rot90(x, 3),
    "fliplr": np.fliplr,
    "ravel": np.ravel,
    "triu": lambda x: np.triu(x, 1),
    "diag": lambda x: np.diag(x[0], -1),
    "diagonal": lambda x: np.diagonal(x, 1) * 2,
    "diagflat": np.diagflat,
    "pad": lambda x: np.pad(x, [(1, 0), (0, 2)]),
    "pad, numbers": lambda x: np.pad(x, 1, constant_values=7),
    "pad, reflect": lambda x: np.pad(x, 2, "reflect"),
    "pad, odd": lambda x: np.pad(x, 2, "reflect", reflect_type="odd"),
    "pad, maximum": lambda x: np.pad(x, 1, "maximum"),
    "sort": lambda x: np.sort(x, 0),
    "sort, flat": lambda x: np.sort(x, None),
    "partition": lambda x: np.partition(x, 2),
    "diff": np.diff,
    "diff, second": lambda x: np.diff(x, 2, 0),
    "trace": lambda x: np.trace(x, 1) * x,
    "take": lambda x: np.take(x, np.array([2, 0, -1, 2]), 1),
    "take, flat": lambda x: np.take(x, np.array([[2, 0], [-1, 2]])),
    "take_along_axis": lambda x: np.take_along_axis(x, np.array([[1, 1], [0, -1], [3, 3]]), 1),
    "hstack": lambda x: np.hstack([x, C, x]),
    "vstack": lambda x: np.vstack([x[0], x, C[:1]]),
    "dstack": lambda x: np.dstack([x, C]),
    "dstack of rows": lambda x: np.dstack([x[0], x[1]]),
    "column_stack": lambda x: np.column_stack([x[:, 0], x, C]),
    "append": lambda x: np.append(x, C, 1),
    "outer": lambda x: np.outer(x[0], x),
    "kron": lambda x: np.kron(x, C[:2]),
    "cross": lambda x: np.cross(x, C, axis=0),
    "tensordot": lambda x: np.tensordot(x, C, ([0, 1], [0, 1])) * x,
    "tensordot, one": lambda x: np.tensordot(x, x, ([1], [1])),
    "dot": lambda x: np.dot(x, x.T),
    "dot of vectors": lambda x: np.dot(x[0], x[1]) * x,
    "inner": lambda x: np.inner(x, C[0]),
    "vdot": lambda x: np.vdot(x, C) * x,
    "cumsum": lambda x: np.cumsum(x, 0),
    "trapezoid": lambda x: np.trapezoid(x, dx=2, axis=0),
    "meshgrid": lambda x: np.meshgrid(x[0], x[1])[0],
    "det": lambda x: np.linalg.det(x[:, :3] + 9 * np.eye(3)) * x,
}
X = np.random.default_rng(3).standard_normal((3, 4))

each_call = pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)


def weighted(call):
    def f(x):
        out = call(x * x + x)
        return np.sum(out * np.cos(np.arange(out.size).reshape(out.shape)) * out)

    return f


TRANSFORMS = {
    "grad": lambda f, _: tapegrad.grad(f),
    "jvp": lambda f, _: lambda x: tapegrad.jvp(f, (x,), (np.cos(x),))[1],
    "hessian": lambda f, _: tapegrad.hessian(f),
    "grad of grad": lambda f, _: tapegrad.grad(lambda x: np.sum(np.sin(tapegrad.grad(f)(x)))),
    "jvp of grad": lambda f, _: lambda x: tapegrad.jvp(tapegrad.grad(f), (x,), (x,))[1],
    "jacobian": lambda _, call: tapegrad.jacobian(call),
    "vmap of grad": lambda f, _: lambda x: tapegrad.vmap(tapegrad.grad(f))(np.stack([x, 2 * x])),
    "grad of vmap": lambda _, call: tapegrad.grad(
        lambda x: np.sum(np.cos(tapegrad.vmap(call)(np.stack([x, x * x]))))
    ),
}


@pytest.mark.part(5)
@each_call
@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("dtype", ["d", "f"])
def test_every_transform_agrees_with_the_definition(transform, call, dtype):
    x = X.astype(dtype)
    with unplanned():
        wanted = TRANSFORMS[transform](weighted(call), call)(x)
    made = TRANSFORMS[transform](weighted(call), call)
    for _ in range(3):
        found = made(x)
    eps = np.finfo(dtype).eps
    scale = np.max(np.abs(wanted), initial=1)
    np.testing.assert_allclose(found, wanted, rtol=1e3 * eps, atol=1e3 * eps * scale)
    assert found.dtype == wanted.dtype


AT = np.random.default_rng(4).integers(-40, 40, (40, 60))
LARGE = {
    name: CALLS[name]
    for name in (
        "roll",
        "roll, flat",
        "tile",
        "repeat",
        "triu",
        "pad",
        "pad, reflect",
        "sort",
        "sort, flat",
        "partition",
        "diff, second",
        "trace",
        "take",
        "take, flat",
        "cumsum",
        "trapezoid",
    )
} | {
    "roll, two": lambda x: np.roll(x, (3, -70), (0, 1)),
    "diag": lambda x: np.diag(np.ravel(x[:, :2]), 2),
    "take_along_axis": lambda x: np.take_along_axis(x, AT, 0),
    "cumsum of wide rows": lambda x: np.cumsum(x.reshape(12, 200), 0),
    "det": lambda x: np.linalg.det(x[:, :40] + 20 * np.eye(40)) * 1e-52,
    "det, ill-conditioned": lambda x: np.linalg.det(x[:6, :6] * 10.0 ** np.arange(6)) * x[0],
    "sort with ties": lambda x: np.sort(np.repeat(x, 2, 0), 0),
}


@pytest.mark.parametrize("call", LARGE.values(), ids=LARGE)
@pytest.mark.parametrize("transform", ["grad", "jvp"])
def test_large_arrays_agree_with_the_definition(transform, call):
    x = np.random.default_rng(5).standard_normal((40, 60))
    with unplanned():
        wanted, value = TRANSFORMS[transform](weighted(call), call)(x), weighted(call)(x)
    made = TRANSFORMS[transform](weighted(call), call)
    for _ in range(3):
        found = made(x)
    scale = np.max(np.abs(wanted))
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-11 * scale)
    assert tapegrad.value_and_grad(weighted(call))(x)[0] == value


def test_positions_out_of_bounds_are_refused():
    at = np.zeros((40, 60), int)

    def f(x):
        return np.sum(np.take_along_axis(x, at, 0))

    x = np.ones((40, 60))
    for _ in range(3):
        tapegrad.grad(f)(x)
    for wrong in (40, -41):
        at[3, 3] = wrong
        with pytest.raises(IndexError):
            tapegrad.grad(f)(x)


@each_call
def test_complex_arrays_agree_with_the_definition(call):
    x = X + 1j * X[::-1]
    seed = np.ones_like(call(x)) * (1 - 2j)

    def answers():
        tangent = tapegrad.jvp(call, (x,), (x * 1j,))[1]
        return [tangent, *np.atleast_1d(tapegrad.vjp(call, x)[1](seed))]

    with unplanned():
        wanted = answers()
    for _ in range(2):
        for ours, rules in zip(answers(), wanted, strict=True):
            np.testing.assert_allclose(ours, rules, rtol=1e-12, atol=1e-12)


@each_call
def test_a_recording_of_planned_calls_is_pulled_for_many_cotangents(call):
    """A pullback that was made by planned calls gets batched and traced cotangents."""
    for _ in range(2):
        out, pullback = tapegrad.vjp(call, X)
    seeds = np.random.default_rng(0).standard_normal((2, *np.shape(out)))
    found = tapegrad.vmap(lambda g: pullback(g))(seeds)
    found = found[0] if isinstance(found, tuple) else found
    for seed, bar in zip(seeds, found, strict=True):
        one = pullback(seed)
        np.testing.assert_allclose(bar, one[0] if isinstance(one, tuple) else one, atol=1e-12)


@each_call
def test_an_infinite_cotangent_stays_where_it_belongs(call):
    """np.sqrt at 0 makes one; elements that it does not reach keep a finite derivative."""

    def f(x):
        return np.sum(np.sqrt(np.ravel(call(x))[:1] - first))

    first = np.ravel(call(X))[:1]
    with np.errstate(all="ignore"), unplanned():
        wanted = tapegrad.grad(f)(X)
    with np.errstate(all="ignore"):
        for _ in range(2):
            found = tapegrad.grad(f)(X)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)


@each_call
def test_a_write_after_the_call_changes_nothing(call):
    def f(x):
        y = x * 2.0
        out = call(y)
        total = np.sum(out * out)
        y[0] = 0.0
        return total + np.sum(y)

    with unplanned():
        wanted = tapegrad.grad(f)(X)
    for _ in range(2):
        np.testing.assert_allclose(tapegrad.grad(f)(X), wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("function", [np.fliplr, np.flipud, np.ravel, np.rot90])
def test_views_are_written_through(function):
    def f(x):
        y = x * 1.0
        view = function(y)
        view[0] = view[1] * 3.0
        return np.sum(y * y)

    with unplanned():
        wanted = tapegrad.grad(f)(X)
    for _ in range(2):
        np.testing.assert_allclose(tapegrad.grad(f)(X), wanted)


def test_a_diagonal_cannot_be_written_to():
    def f(x):
        np.diagonal(x * 1.0)[0] = 1.0

    for _ in range(3):
        with pytest.raises(ValueError, match="cannot be written to"):
            tapegrad.grad(f)(X)


def test_positions_may_change_after_the_call():
    at = np.array([0, 1, 2])

    def f(x):
        at[:] = [0, 1, 2]
        out = np.take(x * x, at, 1) * C[:, :3]
        at[:] = 3
        return np.sum(out)

    for _ in range(3):
        wanted = 2 * X * C
        wanted[:, 3] = 0
        wanted[:, :3] = 2 * X[:, :3] * C[:, :3]
        np.testing.assert_allclose(tapegrad.grad(f)(X), wanted)


def test_lists_are_told_from_tuples_and_from_what_they_held():
    shift = [1, 2]

    def f(x):
        return np.sum(np.roll(x * x, shift, (0, 1)) * C)

    for step in (1, 2, 1, 2):
        shift[0] = step
        with unplanned():
            wanted = tapegrad.grad(f)(X)
        np.testing.assert_allclose(tapegrad.grad(f)(X), wanted)

    def summed(axis):
        return tapegrad.grad(lambda x: np.sum(np.sum(x, axis)))(X)

    summed((0,))
    summed((0,))
    with pytest.raises(TypeError):
        summed([0])


@pytest.mark.fast_path
def test_memory_order_is_numpys():
    fortran = np.asfortranarray(X)
    for name, call in CALLS.items():
        seen = []

        def f(x, call=call, seen=seen):
            out = call(x)
            seen.append(out.flags)
            return np.sum(out)

        for _ in range(3):
            tapegrad.grad(f)(fortran)
        wanted = call(fortran).flags
        for flags in seen[1:]:  # the first call is the definition's
            assert flags.f_contiguous == wanted.f_contiguous, name
            assert flags.c_contiguous == wanted.c_contiguous, name


@pytest.mark.parametrize(
    "function",
    [
        lambda a: np.pad(a, 2, "reflect", reflect_type="odd"),
        lambda a: np.pad(a, 1, "mean"),
        lambda a: np.cumsum(a, 0),
        lambda a: a * 2,
        lambda a: a + 1,
        lambda a: 2 * a[::-1] - a,
        lambda a: a * a,
    ],
)
def test_what_computes_is_not_taken_for_a_move(function):
    assert moved_by_positions(spec_of(X), spec_of(function(X)), function) is None


def test_a_padding_of_minus_zero_is_told_from_one_of_zero():
    x = np.ones((2, 3))
    for zero in (0, (0, 0), 0, (0, 0), -0.0, (-0.0, -0.0)):
        out, _ = tapegrad.vjp(lambda x, zero=zero: np.pad(x, 1, constant_values=zero), x)
    assert np.signbit(out[0]).all()


@pytest.mark.parametrize("many", [2**70, (2**70, 1)])
def test_a_padding_by_more_than_an_integer_holds(many):
    x = np.ones((2, 3))
    for _ in range(3):
        out, pull = tapegrad.vjp(lambda x: np.pad(x, 1, constant_values=many), x)
        np.testing.assert_array_equal(out, np.pad(x, 1, constant_values=many))
        np.testing.assert_array_equal(pull(np.ones(out.shape))[0], x)


@pytest.mark.parametrize("times", range(3))
def test_a_list_that_the_program_changes_after_the_call_is_kept_as_it_was(times):
    def rolled(x):
        shifts, repeats = [1, 2], [1, 0, 2, 1]
        made = np.sum(np.roll(x, shifts, [0, 1]) * C) + np.sum(np.repeat(x, repeats, 1) ** 2)
        shifts[0], repeats[0] = 0, 7
        return made

    x = np.cos(C) + times
    for _ in range(times):
        tapegrad.grad(rolled)(x)
    wanted = np.roll(C, [-1, -2], [0, 1]) + 2 * x * [1, 0, 2, 1]
    np.testing.assert_allclose(tapegrad.grad(rolled)(x), wanted, rtol=1e-14)


@pytest.mark.parametrize("function", [np.outer, np.kron, np.cross, np.linalg.outer, np.hypot])
@pytest.mark.parametrize("both", [True, False])
def test_zero_tangents_beside_infinities_stay_zero_in_planned_calls(function, both):
    def call(x):
        x = x[None] if function is np.kron else x
        return function(x, x if both else np.array([[np.inf, 1.0, np.inf]])[0].reshape(x.shape))

    x, dot = np.array([np.inf, 1.0, 2.0]), np.array([0.0, 1.0, 0.0])
    with np.errstate(invalid="ignore"):
        with unplanned():
            wanted = tapegrad.jvp(call, (x,), (dot,))[1]
        for _ in range(3):
            np.testing.assert_array_equal(tapegrad.jvp(call, (x,), (dot,))[1], wanted)


@pytest.mark.parametrize("function", [np.maximum, np.fmin, np.hypot, np.logaddexp, np.matmul])
def test_a_call_of_traced_constants_alone_gives_no_cotangents(function):
    c = C[:3, :3] * 0.3

    def total(x):
        return np.sum(function(np.zeros_like(x), c)) + np.sum(function(x, c))

    for _ in range(3):
        found = tapegrad.grad(total)(C[:3, :3] + 1)
        np.testing.assert_array_equal(
            found, tapegrad.grad(lambda x: np.sum(function(x, c)))(C[:3, :3] + 1)
        )
