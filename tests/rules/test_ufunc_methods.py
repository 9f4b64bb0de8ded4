"""Methods of ufuncs, accumulate, reduceat and at, against the steps that define them.

The rules are in `rules/recurrence.py`, `segments.py` and `ufunc_at.py`. The definitions here, one
call of the ufunc a step, give values and derivatives of any order.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapegrad import grad, hessian, jvp, stop_gradient, vjp, vmap
from tapegrad._core.fit import zeros_absorbing
from tapegrad._transforms.recording import CURRENT
from tapegrad.rules.recurrence import recurrence, solve
from tapegrad.testing import check_grads

UFUNCS = [
    np.add,
    np.subtract,
    np.multiply,
    np.divide,
    np.maximum,
    np.minimum,
    np.fmax,
    np.logaddexp,
    np.logaddexp2,
    np.hypot,
    np.arctan2,
    np.power,
]
by_ufunc = pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda ufunc: ufunc.__name__)


# --- The definitions ----------------------------------------------------------------------------


def folded(ufunc, x):
    total = x[0]
    for row in x[1:]:
        total = ufunc(total, row)
    return total


def accumulated(ufunc, x):
    return np.stack(list(itertools.accumulate(x, ufunc)))


def reduced_at(ufunc, x, indices):
    """Extrema by segments share ties evenly, as np.max does."""
    known = {np.maximum: lambda u, x: np.max(x, 0), np.minimum: lambda u, x: np.min(x, 0)}
    fold = known.get(ufunc, folded)
    ends = [*indices[1:], x.shape[0]]
    return np.stack(
        [fold(ufunc, x[i:j]) if i < j else x[i] for i, j in zip(indices, ends, strict=True)]
    )


def changed_at(ufunc, x, positions, values):
    parts = [x[i] for i in range(x.shape[0])]
    for position, value in zip(positions, values, strict=True):
        parts[position] = ufunc(parts[position], value)
    return np.stack(parts)


def at(ufunc, x, index, values):
    y = x * 1
    ufunc.at(y, index, values)
    return y


def same(ours, theirs, *args, rtol=1e-9):
    """Values, tangents, gradients, and second derivatives along a direction."""
    found, expected = (derivatives(f, *args) for f in (ours, theirs))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-9)


def derivatives(f, x, *rest):
    dot = np.cos(1 + np.arange(x.size)).reshape(x.shape)

    def weighed(x):
        out = f(x, *rest)
        return np.sum(np.sin(out) * (1 + np.arange(out.size).reshape(out.shape)))

    out, out_dot = jvp(lambda x: f(x, *rest), (x,), (dot,))
    first = grad(weighed)
    return [
        out,
        out_dot,
        first(x),
        jvp(first, (x,), (dot,))[1],
        grad(lambda x: np.sum(first(x) ** 2))(x),
    ]


def positive(*shape, seed=0):
    return np.random.default_rng(seed).uniform(0.6, 1.6, shape)


# --- Running values and reductions --------------------------------------------------------------


@pytest.mark.part(4)
@by_ufunc
@pytest.mark.parametrize("count", [1, 2, 3, 16, 17, 18, 35])
def test_running_values_are_those_of_the_steps(ufunc, count):
    x = positive(count)
    same(ufunc.accumulate, lambda x: accumulated(ufunc, x), x, rtol=1e-8)


@pytest.mark.part(3)
@by_ufunc
def test_running_values_along_axes(ufunc):
    x = positive(2, 19, 2)
    for axis in (1, -2):
        expected = lambda x: np.swapaxes(accumulated(ufunc, np.swapaxes(x, 0, 1)), 0, 1)  # noqa: E731
        same(lambda x, axis=axis: ufunc.accumulate(x, axis=axis), expected, x, rtol=1e-8)
    same(
        lambda x: ufunc.reduce(x, axis=1, keepdims=True, initial=1.3),
        lambda x: folded(ufunc, np.concatenate([np.full((1, 2, 2), 1.3), np.swapaxes(x, 0, 1)]))[
            :, None
        ],
        x,
        rtol=1e-8,
    )


@pytest.mark.parametrize("ufunc", [np.maximum, np.minimum, np.fmax, np.fmin])
@given(x=st.lists(st.sampled_from([0.0, 1.0, 2.0, -1.0, np.nan]), min_size=1, max_size=40))
def test_running_extrema_share_ties_and_take_nan_as_the_steps_do(ufunc, x):
    x = np.array(x)
    g = np.arange(1.0, 1 + x.size)
    for method, steps in ((ufunc.accumulate, accumulated), (np.fmax.reduce, folded)):
        of = np.fmax if steps is folded else ufunc
        found, expected = (
            (grad(lambda x, f=f: np.sum(f(x) * g))(x), jvp(f, (x,), (g,))[1])
            for f in (method, lambda x, of=of, steps=steps: steps(of, x))
        )
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)


@pytest.mark.parametrize("ufunc", [np.logaddexp, np.hypot, np.maximum, np.divide])
def test_running_values_keep_their_dtype_and_may_be_empty(ufunc):
    x = positive(20).astype(np.float32)
    assert grad(lambda x: np.sum(ufunc.accumulate(x)))(x).dtype == np.float32
    assert grad(lambda x: ufunc.accumulate(x)[-1])(x).dtype == np.float32
    assert grad(lambda x: np.sum(ufunc.accumulate(x, 1)))(np.ones((2, 0))).shape == (2, 0)


def test_running_values_of_complex_numbers():
    z = positive(20) + 0.2j * positive(20, seed=1)
    for ufunc in (np.subtract, np.divide):
        found, expected = (
            jvp(f, (z,), (1j * z**2,))[1]
            for f in (ufunc.accumulate, lambda z, u=ufunc: accumulated(u, z))
        )
        np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_reductions_at_infinity():
    x = np.array([-np.inf, -np.inf, 0.3, -np.inf, 1.2])
    same(np.logaddexp.accumulate, lambda x: accumulated(np.logaddexp, x), x[2:][::2])
    for f in (np.logaddexp.reduce, lambda x: np.sum(np.logaddexp.accumulate(x)[2:])):
        found = grad(f)(x)
        assert np.isfinite(found).all()
    share = np.exp([0.3, 1.2]) / np.sum(np.exp([0.3, 1.2]))
    np.testing.assert_allclose(grad(np.logaddexp.reduce)(x)[[2, 4]], share)


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [0, 1, -1, None, (0, 2)])
def test_a_reduction_by_logaddexp_is_the_logarithm_of_a_sum(axis, keepdims):
    x = np.random.default_rng(0).normal(size=(3, 4, 2))

    def reduced(x):
        return np.sin(np.logaddexp.reduce(x, axis, keepdims=keepdims))

    def by_sums(x):
        return np.sin(np.log(np.sum(np.exp(x), axis, keepdims=keepdims)))

    for _ in range(2):  # the second call is planned
        check_grads(reduced, (x,), order=2)
        np.testing.assert_allclose(
            grad(lambda x: np.sum(reduced(x)))(x), grad(lambda x: np.sum(by_sums(x)))(x)
        )
    assert grad(lambda x: np.sum(reduced(x)))(x.astype(np.float32)).dtype == np.float32


def test_a_reduction_by_logaddexp_of_infinities():
    x = np.array([[-np.inf, -np.inf, 0.0], [-np.inf, 1.0, 0.0]])
    for _ in range(2):
        gradient = grad(lambda x: np.sum(np.logaddexp.reduce(x)))(x)
        np.testing.assert_array_equal(gradient, [[0, 0, 0.5], [0, 1, 0.5]])
        _, along = jvp(np.logaddexp.reduce, (x,), (np.where(np.isinf(x), np.inf, 1.0),))
        np.testing.assert_array_equal(along, [np.nan, np.nan, 1])  # a share of 0 was computed


@pytest.mark.parametrize("ufunc", [np.logaddexp, np.divide, np.maximum])
def test_running_values_of_examples(ufunc):
    x = positive(3, 20)

    def f(x):
        return ufunc.accumulate(x * x)

    def slope(x):
        return grad(lambda x: np.sum(f(x) ** 2))(x)

    for each in (f, slope):
        np.testing.assert_allclose(vmap(each)(x), [each(row) for row in x], rtol=1e-10)
    found = grad(lambda x: np.sum(vmap(f)(x) ** 2))(x)
    np.testing.assert_allclose(found, [slope(row) for row in x], rtol=1e-10)
    found = hessian(lambda x: np.sum(vmap(f)(x)[1] ** 2))(x[:2, :3])[1, :, 1]
    np.testing.assert_allclose(found, hessian(lambda x: np.sum(f(x) ** 2))(x[1, :3]), rtol=1e-9)


@pytest.mark.parametrize("count", [1, 2, 15, 16, 17, 18, 31, 32, 33, 100, 1000])
@pytest.mark.parametrize("width", [(), (3,), (600,)])
def test_the_recurrence_is_that_of_its_steps(count, width):
    random = np.random.default_rng(count)
    a, b = random.normal(size=(count - 1, *width)), random.normal(size=(count, *width))
    s = [b[0]]
    for factor, term in zip(a, b[1:], strict=True):
        s.append(factor * s[-1] + term)
    np.testing.assert_allclose(solve(a, b), s, rtol=1e-7, atol=1e-9)


def test_the_recurrence_stays_finite_where_its_steps_do():
    a, b = np.full(39, 1e200), np.zeros(40)
    b[-1] = 1
    np.testing.assert_array_equal(solve(a, b), b)
    a[3] = np.inf
    with zeros_absorbing():
        np.testing.assert_array_equal(solve(a, b), b)
    with np.errstate(invalid="ignore"):
        assert np.isnan(solve(a, b)[4])


def test_the_recurrence_to_third_order():
    random = np.random.default_rng(0)
    check_grads(recurrence, (random.normal(size=18), random.normal(size=19)), order=3)
    check_grads(recurrence, (random.normal(size=(3, 2)), random.normal(size=(4, 2))), order=3)


# --- Segments -----------------------------------------------------------------------------------

INDICES = [[0], [0, 2, 5], [1, 4], [3, 1, 1, 0], [0, 5, 2, 6], [6], [6, 0], [0, 1, 2, 3, 4, 5, 6]]


@pytest.mark.part(4)
@by_ufunc
@pytest.mark.parametrize("indices", INDICES, ids=str)
def test_segments_are_reduced_by_the_steps(ufunc, indices):
    x = positive(7)
    same(lambda x: ufunc.reduceat(x, indices), lambda x: reduced_at(ufunc, x, indices), x)


@by_ufunc
def test_segments_along_an_axis(ufunc):
    x = positive(2, 7, 2)
    same(
        lambda x: ufunc.reduceat(x, np.array([1, 3, 4]), axis=-2),
        lambda x: np.swapaxes(reduced_at(ufunc, np.swapaxes(x, 0, 1), [1, 3, 4]), 0, 1),
        x,
    )


@pytest.mark.parametrize("ufunc", [np.multiply, np.maximum, np.minimum])
@given(
    x=st.lists(st.sampled_from([0.0, 1.0, 2.0, -1.5]), min_size=1, max_size=30),
    data=st.data(),
)
def test_segments_with_zeros_and_ties(ufunc, x, data):
    x = np.array(x)
    places = st.integers(0, x.size - 1)
    indices = data.draw(st.lists(places, min_size=1, max_size=6))

    def expected(x):
        reduce = {np.multiply: np.prod, np.maximum: np.max, np.minimum: np.min}[ufunc]
        return reduced_by(reduce, x, indices)

    same(lambda x: ufunc.reduceat(x, indices), expected, x)


def reduced_by(reduce, x, indices):
    ends = [*indices[1:], x.shape[0]]
    return np.stack([reduce(x[i : max(i + 1, j)]) for i, j in zip(indices, ends, strict=True)])


def test_extrema_of_segments_with_nan():
    x = np.array([1.0, np.nan, 2.0, 0.5, np.nan, np.nan])
    found = vjp(lambda x: np.maximum.reduceat(x, [0, 2, 4]), x)[1](np.array([1.0, 2.0, 3.0]))[0]
    np.testing.assert_array_equal(found, [0, np.nan, 2, 0, np.nan, np.nan])


@pytest.mark.parametrize("ufunc", [np.add, np.multiply, np.maximum, np.logaddexp])
def test_segments_of_examples(ufunc):
    x = positive(3, 7)

    def f(x):
        return ufunc.reduceat(x * x, [0, 2, 5])

    def slope(x):
        return grad(lambda x: np.sum(f(x) ** 2))(x)

    for each in (f, slope):
        np.testing.assert_allclose(vmap(each)(x), [each(row) for row in x], rtol=1e-10)
    found = grad(lambda x: np.sum(vmap(f)(x) ** 2))(x)
    np.testing.assert_allclose(found, [slope(row) for row in x], rtol=1e-10)


@pytest.mark.parametrize("ufunc", [np.add, np.logaddexp])
def test_indices_that_numpy_refuses(ufunc):
    for indices, error in (([7], IndexError), ([-1], IndexError), ([[0]], ValueError)):
        for f in (ufunc.reduceat, lambda x, i: grad(lambda x: np.sum(ufunc.reduceat(x, i)))(x)):
            with pytest.raises(error):
                f(np.ones(7), indices)
    with pytest.raises(np.exceptions.AxisError):
        grad(lambda x: np.sum(ufunc.reduceat(x, [0], axis=2)))(np.ones(7))


# --- Values for positions -----------------------------------------------------------------------


@pytest.mark.part(3)
@by_ufunc
@pytest.mark.parametrize("count", [3, 40])
def test_values_change_their_positions_one_after_another(ufunc, count):
    """In a row that is short beside the values, and in one that is long."""
    x, values = positive(count), positive(7, seed=1)
    positions = np.array([2, 0, 2, 2, -count, 1, 0])
    same(
        lambda x: at(ufunc, x, positions, values),
        lambda x: changed_at(ufunc, x, positions, values),
        x,
    )
    same(
        lambda v: at(ufunc, v[:3] * v[1:4], positions % 3, v),
        lambda v: changed_at(ufunc, v[:3] * v[1:4], positions % 3, v),
        values,
    )


@pytest.mark.parametrize("ufunc", [np.add, np.subtract, np.multiply, np.maximum, np.logaddexp])
def test_indices_of_any_kind(ufunc):
    x, v = positive(4, 3), positive(5, seed=1)
    rows, columns = np.array([0, 1, 0, 3, 0]), np.array([1, 1, 1, -1, 1])
    flat = rows * 3 + columns % 3
    same(
        lambda x: at(ufunc, x, (rows, columns), v),
        lambda x: changed_at(ufunc, x.reshape(-1), flat, v).reshape(4, 3),
        x,
    )
    same(
        lambda x: at(ufunc, x, (slice(None), [0, 0, 2]), v[:3]),
        lambda x: changed_at(ufunc, x.T, [0, 0, 2], v[:3]).T,
        x,
    )
    same(
        lambda x: at(ufunc, x, [1, 1, 0], x[2]),
        lambda x: changed_at(ufunc, x, [1, 1, 0], [x[2]] * 3),
        x,
    )
    same(
        lambda x: at(ufunc, x, x > 1, 1.25),
        lambda x: np.where(x > 1, ufunc(x, 1.25), x),
        x,
    )
    same(lambda x: at(ufunc, x, np.zeros(0, int), 1.25), lambda x: x * 1, x)
    same(lambda x: at(ufunc, x, [1, 1], 2), lambda x: changed_at(ufunc, x, [1, 1], [2, 2]), x)


def test_products_at_positions_with_zeros():
    x, values = np.array([0.0, 2.0, 3.0]), np.array([0.0, 2.0, 0.0, 5.0, 0.0])
    positions = [0, 0, 1, 1, 2]
    same(
        lambda v: at(np.multiply, np.concatenate([v[:1], x[1:]]), positions, v),
        lambda v: changed_at(np.multiply, np.concatenate([v[:1], x[1:]]), positions, v),
        values,
    )


def test_extrema_at_positions_share_ties_evenly_and_take_nan():
    values = np.array([1.0, 1.0, 0.5, np.nan, 2.0])
    positions = [0, 0, 0, 1, 1]

    def f(v):
        return at(np.maximum, v[:1] * np.ones(2), positions, v)

    with np.errstate(invalid="ignore"):  # NumPy's own warning
        found = vjp(f, values)[1](np.array([3.0, 5.0]))[0]
        along = jvp(f, (values,), (np.arange(5.0),))[1]
    np.testing.assert_array_equal(found, [2, 1, 0, np.nan, 0])
    np.testing.assert_array_equal(along, [1 / 3, np.nan])


@pytest.mark.parametrize("ufunc", [np.add, np.multiply, np.maximum])
@pytest.mark.parametrize("values", [positive(4, seed=1), np.array([2, 3, 2, 1]), 2, 1.5])
def test_values_of_another_dtype(ufunc, values):
    x, index = positive(3).astype(np.float32), [0, 0, 2, 1]
    seen = []

    def program(x):
        made = at(ufunc, x, index, values)
        seen.append(stop_gradient(made))
        return np.sum(made**2)

    assert grad(program)(x).dtype == np.float32
    plain = x.copy()
    ufunc.at(plain, index, values)
    np.testing.assert_array_equal(seen[0], plain, strict=True)


@pytest.mark.parametrize("ufunc", [np.add, np.multiply, np.maximum, np.divide])
def test_complex_values_at_real_positions_are_refused(ufunc):
    refused = pytest.raises(TypeError, match=r"expected real values|same_kind")
    with refused, np.errstate(all="ignore"):
        grad(lambda x: np.sum(at(ufunc, x, [0, 0], [1j, 1j])))(np.ones(2))


@pytest.mark.parametrize("ufunc", [np.add, np.multiply, np.maximum, np.minimum, np.logaddexp])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_one_side_is_constant(ufunc, dtype):
    """The tangents of the other were added to integers once, which cut them off."""
    v, row = positive(5).astype(dtype), positive(3, seed=1).astype(dtype)
    dot = np.array([0.25, 0.5, 0.75, 0.125, 0.375], dtype)
    index = np.array([0, 1, 1, 2, 1])
    programs = [
        (lambda v: at(ufunc, np.zeros_like(v, shape=3) + row, index, v), v, dot),
        (lambda v: at(ufunc, np.zeros_like(v, shape=3) + row, index, v[:1]), v, dot),
        (lambda x: at(ufunc, x, index, v), row, dot[:3]),
    ]
    for program, x, along in programs:
        found = jvp(program, (x,), (along,))[1]
        _, pullback = vjp(program, x)
        expected = [np.dot(pullback(unit)[0], along) for unit in np.eye(3, dtype=dtype)]
        np.testing.assert_allclose(found, expected, rtol=1e-5)
        assert found.dtype == dtype
        mapped = vmap(lambda x, along, f=program: jvp(f, (x,), (along,))[1])(
            np.stack([x, x]), np.stack([along, along])
        )
        np.testing.assert_allclose(mapped, [found, found], rtol=1e-5)


def test_an_index_that_changes_later():
    index = np.arange(20_000) % 3

    def program(x):
        y = np.zeros_like(x, shape=3) + 1.0
        np.multiply.at(y, index, x)
        index[:] = 0
        return y

    x = np.full(20_000, 1 + 1e-5)
    before = index.copy()
    found = vjp(program, x)[1](np.array([1.0, 2.0, 3.0]))[0]
    np.testing.assert_allclose(found, (before + 1) * np.exp(np.log(x[0]) * (20_000 // 3)), 1e-4)


def test_many_positions_and_few():
    """16 bits number up to 65,536 positions when they are sorted."""
    for count in (3, 1 << 16, (1 << 16) + 1):
        index = np.array([count - 1, 0, count - 1])

        def program(v, index=index, count=count):
            return at(np.logaddexp, np.zeros_like(v, shape=count), index, v)[[0, count - 1]]

        same(
            program,
            lambda v: np.stack(
                [np.logaddexp(0.0, v[1]), np.logaddexp(np.logaddexp(0.0, v[0]), v[2])]
            ),
            positive(3),
        )


def test_sums_at_positions_of_complex_numbers():
    z = positive(4) + 1j * positive(4, seed=1)
    same_dots = [
        jvp(f, (z,), (1j * z,))[1]
        for f in (
            lambda z: at(np.add, z[:2] * z[2:], [0, 1, 1, 0], z * z),
            lambda z: changed_at(np.add, z[:2] * z[2:], [0, 1, 1, 0], z * z),
        )
    ]
    np.testing.assert_allclose(*same_dots)


@pytest.mark.parametrize("ufunc", [np.add, np.subtract, np.multiply, np.maximum, np.logaddexp])
def test_positions_of_examples(ufunc):
    x, v = positive(3, 4), positive(3, 6, seed=1)
    own = np.random.default_rng(0).integers(0, 4, (3, 6))
    for index in (own, np.broadcast_to(own[:1], (3, 6))):

        def slope(x, v, index):
            return grad(lambda x, v: np.sum(at(ufunc, x, index, v) ** 2), (0, 1))(x, v)

        expected = [slope(*row) for row in zip(x, v, index, strict=True)]
        found = vmap(slope)(x, v, index)
        summed = grad(
            lambda x, v, i=index: np.sum(vmap(lambda *r: at(ufunc, *r))(x, i, v) ** 2), (0, 1)
        )(x, v)
        for k in (0, 1):
            rows = [row[k] for row in expected]
            np.testing.assert_allclose(found[k], rows, rtol=1e-10)
            np.testing.assert_allclose(summed[k], rows, rtol=1e-10)


# --- How many calls ------------------------------------------------------------------------------

PROGRAMS = {
    "add.at": lambda x: at(np.add, x[:10], np.arange(x.shape[0]) % 10, x),
    "maximum.at": lambda x: at(np.maximum, x[:10], np.arange(x.shape[0]) % 10, x),
    "multiply.at": lambda x: at(np.multiply, x[:10], np.arange(x.shape[0]) % 10, x),
    "logaddexp.at": lambda x: at(np.logaddexp, x[:10], np.arange(x.shape[0]) % 10, x),
    "maximum.accumulate": np.maximum.accumulate,
    "logaddexp.reduce": np.logaddexp.reduce,
    "hypot.reduce": np.hypot.reduce,
    "add.reduceat": lambda x: np.add.reduceat(x, np.arange(0, x.shape[0], 4)),
    "multiply.reduceat": lambda x: np.multiply.reduceat(x, np.arange(0, x.shape[0], 4)),
    "logaddexp.reduceat": lambda x: np.logaddexp.reduceat(x, np.arange(0, x.shape[0], 4)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_more_elements_take_no_more_calls(name):
    """Of the program and of its gradient, as an enclosing transform logs them."""

    def entries(count):
        seen = []

        def slope(x):
            found = grad(lambda x: np.sum(PROGRAMS[name](x)))(x)
            seen.append(len(CURRENT.get().entries))
            return np.sum(found**2)

        for _ in range(
            2
        ):  # a first call of its kind is logged twice, before and after it is planned
            vjp(slope, positive(count))
        return seen[1:]

    assert entries(400) == entries(40)
    assert max(entries(40)) < 60
