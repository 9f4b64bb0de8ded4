"""Programs that were once silently wrong, found by reading and by random search."""

import math
import operator
from fractions import Fraction

import numpy as np
import pytest

import tapegrad
import tapegrad.numpy
from tapegrad import (
    InputError,
    RuleError,
    custom_vjp,
    grad,
    hessian,
    jacfwd,
    jacobian,
    jacrev,
    jvp,
    vjp,
)

TABLE = np.arange(12.0).reshape(3, 4)


def transposed_ravel(x):
    x = x.copy()
    x[0] = 1
    x.T.ravel()[0] = 99
    return x


def sliced_reshape(x):
    x = x.copy()
    x[0] = 1
    x[:, 1:3].reshape(-1)[0] = 99
    return x


def fortran_ravel(x):
    x = x.T * 1
    x[0] = 1
    x.ravel()[0] = 99
    return x


def order_of_memory(x):
    x = x.T * 1
    x[0] = 1
    return np.ravel(x, "K") * np.arange(12.0)


@pytest.mark.parametrize(
    "program", [transposed_ravel, sliced_reshape, fortran_ravel, order_of_memory]
)
def test_a_copy_in_numpy_is_a_copy_after_a_write_too(program):
    np.testing.assert_array_equal(vjp(program, TABLE)[0], program(TABLE))


def test_a_view_of_a_buffer_that_an_inner_transform_writes():
    def program(x):
        buffer = x * 0.0
        view = buffer[:]

        def inner(t):
            buffer[0] = t * x[0]
            return (view * view).sum()

        return jvp(inner, (x[1],), (1.0,))[1]

    np.testing.assert_allclose(grad(program)(np.array([2.0, 3.0])), [24.0, 8.0])


@pytest.mark.parametrize("function", [np.power, np.float_power])
def test_second_derivative_of_a_power_at_exponent_zero(function):
    matrix = hessian(lambda v: function(v[0], v[1]))(np.array([2.0, 0.0]))
    np.testing.assert_allclose(matrix, [[0, 0.5], [0.5, np.log(2) ** 2]])


def test_complex_exponents_and_bases():
    x = np.array([0.3, 0.5])
    for f in (lambda x: np.sum(np.real(x**2j)), lambda x: np.sum(np.real((1 + 2j) ** x))):
        step = 1e-6
        expected = [(f(x + step * e) - f(x - step * e)) / (2 * step) for e in np.eye(2)]
        np.testing.assert_allclose(grad(f)(x), expected, rtol=1e-8)


def test_a_real_part_sees_later_writes():
    def program(z):
        y = z.copy()
        part = y.real
        y[0] = 5j * z[1]
        return y * part

    z = np.array([1 + 2j, 3 - 1j])
    np.testing.assert_allclose(vjp(program, z)[0], program(z))


def test_a_custom_function_that_closes_over_a_traced_value():
    def program(x):
        scaled = custom_vjp(lambda y: y * y * x)
        scaled.defvjp(lambda y: (y * y * x, y), lambda y, g: (2 * y * g,))
        return scaled(x * 3)

    with pytest.raises(RuleError, match="closes over a traced value"):
        grad(program)(2.0)


def test_an_argument_named_twice():
    with pytest.raises(InputError, match="each argument once"):
        grad(lambda a, b: a * b, argnums=(0, -2))(1.0, 2.0)


def test_out_and_what_follows_it_by_position():
    x = np.array([1.0, 2.0, 4.0])
    np.testing.assert_allclose(
        grad(lambda x: x.std(0, None, None, 1, True)[0])(x), grad(lambda x: x.std(ddof=1))(x)
    )
    np.testing.assert_array_equal(grad(lambda x: np.amax(x))(x), [0, 0, 1])
    np.testing.assert_allclose(grad(lambda x: np.average(x, 0, [1, 2, 1]))(x), [0.25, 0.5, 0.25])


@pytest.mark.usefixtures("no_other_threads")
def test_a_large_buffer_that_is_reused_says_what_to_do():
    buffer = np.ones(20000)

    def program(x):
        total = np.sum(x * buffer)
        buffer[:] = 2
        return total + np.sum(x * buffer)

    with pytest.raises(ValueError, match="read-only") as caught:
        grad(program)(np.ones(20000))
    assert "locks large plain arrays" in caught.value.__notes__[0]
    buffer[:] = 0  # unlocked again


@pytest.mark.parametrize("transform", [jacrev, jacfwd, jacobian])
def test_jacobian_of_a_complex_function_of_real_inputs(transform):
    x = np.array([0.3, 0.5, 0.7])
    matrix = transform(lambda x: np.exp(1j * x) * x[0])(x)
    expected = np.diag(1j * np.exp(1j * x) * x[0]) + np.outer(np.exp(1j * x), [1, 0, 0])
    np.testing.assert_allclose(matrix, expected)


def test_a_rule_that_returns_too_few_cotangents_is_refused():
    @tapegrad.primitive
    def add_all(parts):
        return parts[0] + parts[1]

    tapegrad.linear(
        add_all,
        lambda g, _out, *_xs, wanted: [g for w in wanted if w],
        variadic=True,
        sequence=True,
    )
    with pytest.raises(tapegrad.RuleError, match="returned 1 cotangents, expected 2"):
        tapegrad.grad(lambda b: np.sum(add_all([np.ones(2), b])))(np.ones(2))


def test_the_bounds_of_a_slice_may_change_after_the_read():
    def program(x):
        start, stop = np.array(0), np.array(1)
        y = x[start:stop]
        start += 1
        stop += 1
        return y.sum()

    np.testing.assert_array_equal(tapegrad.grad(program)(np.arange(3.0)), [1, 0, 0])


def test_a_primitive_may_return_a_python_number():
    @tapegrad.primitive
    def total(a):
        return float(np.sum(a))

    tapegrad.general(total, vjp=lambda g, _out, a: g * np.ones(a.shape))
    np.testing.assert_array_equal(tapegrad.grad(total)(np.ones(3)), np.ones(3))


def test_a_new_axis_of_a_single_element_is_read_and_written():
    def program(x):
        y = x * 1.0
        v = y[..., 0]
        v[None] = v[None] + np.sin(x[1])
        return np.sum(y**2) + 3 * v

    x = np.array([0.1, 0.2, 0.3])
    first = 0.1 + np.sin(0.2)
    expected = [2 * first + 3, (2 * first + 3) * np.cos(0.2) + 0.4, 0.6]
    np.testing.assert_allclose(grad(program)(x), expected)


@pytest.mark.parametrize("dtype", [object, str, "S8"])
def test_a_conversion_that_would_detach_is_refused(dtype):
    with pytest.raises(tapegrad.NotDifferentiableError, match=r"x\.astype"):
        grad(lambda x: np.sum(x.astype(dtype).astype(float)))(np.ones(2))


@pytest.mark.parametrize("order", ["C", "F", "A", "K"])
@pytest.mark.parametrize("part", [slice(None, None, -1), slice(None, None, 2), slice(None)])
def test_ravel_copies_where_numpy_does(order, part):
    def program(y):
        row = y[part].ravel(order)
        y[0] = 9.0
        y[-1] = 7.0
        return row * 1.0

    for shape in ((4,), (3, 2)):
        x = np.arange(1.0, 1 + np.prod(shape)).reshape(shape)
        np.testing.assert_array_equal(vjp(program, x)[0], program(x.copy()))
        np.testing.assert_array_equal(vjp(lambda x: program(x.T), x)[0], program(x.copy().T))


# --- Numbers do not change, arrays do -----------------------------------------------------------


def running_sums(x):
    total, sums = 0.0, []
    for value in x:
        total += value
        sums.append(total)
    return np.sum(np.stack(sums) * np.array([1.0, 10.0, 100.0]))


def newton(x):
    root = x[1] * 1.0
    for _ in range(50):
        old = root
        root -= (root * root - x[1]) / (2 * root)
        if abs(root - old) < 1e-12:
            break
    return root


def kept_best(x):
    best = current = np.sum(x)
    current *= x[0]
    current **= 2
    current /= 3.0
    current -= x[1]
    return best * current


@pytest.mark.parametrize("program", [running_sums, newton, kept_best])
def test_an_operator_in_place_makes_a_new_number(program):
    x = np.array([1.0, 2.0, 3.0])
    value, gradient = tapegrad.value_and_grad(program)(x)
    assert value == program(x)
    np.testing.assert_allclose(gradient, tapegrad.jacfwd(program)(x), rtol=1e-12)
    eps = 1e-6 * np.eye(3)
    differences = [(program(x + e) - program(x - e)) / 2e-6 for e in eps]
    np.testing.assert_allclose(gradient, differences, rtol=1e-6, atol=1e-6)


def test_an_array_of_no_dimensions_still_changes_in_place():
    def program(x):
        y = x.copy()
        z = y
        y += 1.0
        return z * x

    np.testing.assert_array_equal(grad(program)(np.array(3.0)), 7.0)


def test_a_number_takes_no_writes():
    with pytest.raises(TypeError, match="does not support item assignment"):
        grad(lambda x: operator.setitem(np.sum(x), ..., 3.0))(np.ones(2))


# --- Views that are older than the last write to their parent -----------------------------------


def stale(x):
    x = x * 1
    v = x[:1].reshape(())
    x[0] = x[2] ** 2
    return v


def test_a_view_taken_before_a_write_may_be_the_result():
    x = np.array([1.0, 2.0, 3.0])
    expected = np.zeros((3, 3))
    expected[2, 2] = 2
    np.testing.assert_array_equal(grad(stale)(x), [0, 0, 6])
    np.testing.assert_array_equal(jacrev(stale)(x), [0, 0, 6])
    np.testing.assert_array_equal(vjp(stale, x)[1](1.0)[0], [0, 0, 6])
    np.testing.assert_array_equal(hessian(stale)(x), expected)
    np.testing.assert_array_equal(jacrev(jacfwd(stale))(x), expected)
    np.testing.assert_array_equal(grad(lambda x: np.sum(grad(stale)(x)))(x), [0, 0, 2])


def test_a_part_of_flat_is_a_copy():
    def program(x):
        y = x * 1
        part = y.flat[1:]
        part *= 2
        return y.sum()

    np.testing.assert_array_equal(grad(program)(np.ones(3)), [1, 1, 1])


def test_third_derivatives_of_a_determinant_at_a_singular_matrix():
    def scaled(t):
        return np.linalg.det(np.eye(3) * t)

    assert grad(grad(grad(scaled)))(0.0) == 6
    steep = np.array([[1.0, 2.0, 0.5], [0.3, -1.0, 1.0], [2.0, 1.0, 1.5]])
    near = np.diag([1, 1e-3, 1e-6])
    third = grad(grad(grad(lambda t: np.linalg.det(near + t * steep))))(0.0)
    np.testing.assert_allclose(third, 6 * np.linalg.det(steep), rtol=1e-10)


def test_labels_of_an_interleaved_einsum_are_sorted_as_numpy_does():
    a, b = np.arange(6.0).reshape(2, 3), np.arange(6.0).reshape(3, 2) ** 2
    expected = np.einsum(a, [27, 1], b, [1, 2])
    np.testing.assert_array_equal(vjp(lambda a: np.einsum(a, [27, 1], b, [1, 2]), a)[0], expected)


def test_an_axis_of_size_one_is_stretched_by_einsum():
    b = np.arange(6.0).reshape(3, 2)
    gradient = grad(lambda b: np.sum(np.einsum("ij,jk->ik", np.ones((2, 1)), b)))(b)
    np.testing.assert_array_equal(gradient, np.full((3, 2), 2.0))


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_a_matrix_beside_a_traced_array_is_refused(side):
    matrix = np.ones((2, 2)).view(np.matrix)
    errors = (tapegrad.NotDifferentiableError, tapegrad.ConversionError)
    with pytest.raises(errors, match="matrix"):
        grad(lambda x: np.sum(matrix * x if side == "left" else x * matrix))(np.ones((2, 2)))


def test_an_unsigned_exponent_of_zero():
    assert grad(lambda t: np.power(t, np.uint8(0)))(100.0) == 0


def test_lists_beside_traced_parameters():
    assert grad(lambda q: np.quantile([1.0, 2.0, 4.0], q))(0.3) == 2
    padded = grad(lambda v: np.sum(tapegrad.numpy.pad([1.0, 2.0], 1, constant_values=v)))(3.0)
    assert padded == 2


def test_the_mean_of_nothing_has_the_tangent_zero():
    with np.errstate(invalid="ignore"), pytest.warns(RuntimeWarning):
        tangent = jvp(lambda x: np.mean(x, where=False), (np.ones(2),), (np.ones(2),))[1]
    assert tangent == 0


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.absolute(x + 1j, dtype=float),
        lambda x: np.sin(x, signature="f->f", casting="same_kind"),
        lambda x: np.add(x, x, sig="ff->f", casting="same_kind"),
        lambda x: np.sin(x, dtype=int),
        lambda x: np.add(x, 1, dtype=int),
        lambda x: np.add(x, 1j, dtype=float),
        lambda x: np.add(x, 1, dtype=np.float32),
        lambda x: np.add(x, [1, 2, 3.0], dtype=np.longdouble),
        lambda x: np.multiply(x, 2, dtype=complex),
    ],
)
@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
def test_the_loop_of_a_ufunc_is_the_one_that_numpy_takes(call):
    x = np.array([0.5, 1.3, 2.0])
    try:
        expected = call(x)
    except TypeError:
        with pytest.raises(TypeError):
            vjp(call, x)
        return
    got = vjp(call, x)[0]
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(got, expected)


def test_a_write_through_a_turned_view_leaves_the_order_in_memory():
    def program(x):
        y = x * 1
        v = np.rot90(y)
        v[-1:] *= 2
        row = y.ravel()
        row[0] = 50
        return y

    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_array_equal(vjp(program, x)[0], program(x))


# --- vmap and checkpoint ------------------------------------------------------------------------

X = np.arange(1.0, 7.0).reshape(2, 3)


def filled_from_outside(w, x):
    z = np.zeros_like(x)
    z[0] = w[0] * x[1]
    return np.sum(z**2)


@pytest.mark.parametrize("transform", [grad, hessian, jacrev])
def test_a_buffer_of_a_vmap_takes_no_value_of_a_transform_inside(transform):
    with pytest.raises(tapegrad.BatchingError, match="from outside that transform"):
        tapegrad.vmap(transform(filled_from_outside), (None, 0))(np.ones(3), X)


def test_a_buffer_of_a_vmap_takes_values_of_a_transform_around():
    def total(w):
        return np.sum(tapegrad.vmap(filled_from_outside, (None, 0))(w, X))

    np.testing.assert_array_equal(grad(total)(np.ones(3)), [58, 0, 0])


@pytest.mark.parametrize("view", [lambda z: z[1:], lambda z: z.reshape(3, 1), lambda z: z[::-1]])
def test_a_buffer_with_views_does_not_become_traced(view):
    def body(w, x):
        z = np.zeros_like(x)
        v = view(z)
        z[1] = w
        return np.sum(v)

    with pytest.raises(tapegrad.BatchingError, match="that has views"):
        grad(lambda w: np.sum(tapegrad.vmap(lambda x: body(w, x))(X)))(2.0)


def test_where_and_out_inside_vmap():
    def safe(x):
        return np.divide(1.0, x, out=np.zeros_like(x), where=x != 2)

    np.testing.assert_array_equal(tapegrad.vmap(safe)(X), np.stack([safe(x) for x in X]))


def test_a_condition_of_fewer_axes_chooses_rows():
    def clear(a, condition):
        b = a.copy()
        b[condition] = 0
        return b

    a, conditions = np.ones((2, 2, 2)), np.array([[1, 0], [0, 1]], bool)
    expected = np.stack([clear(*each) for each in zip(a, conditions, strict=True)])
    np.testing.assert_array_equal(tapegrad.vmap(clear)(a, conditions), expected)
    with pytest.raises(tapegrad.BatchingError, match=r"np\.where"):
        tapegrad.vmap(lambda x, c: x.__setitem__(c, np.ones(2)))(X, X > 2)


def test_a_checkpointed_function_that_writes_into_its_argument_is_refused():
    def change(y):
        y[0] = 5.0
        return y * 2

    def program(x):
        y = x * 1.0
        tapegrad.checkpoint(change)(y)
        return np.sum(y**2)

    with pytest.raises(RuleError, match="writes into an argument"):
        grad(program)(np.array([1.0, 2.0]))


def test_a_checkpointed_function_that_shuffles_is_refused():
    order = [np.arange(4)]

    def program(y):
        z = tapegrad.checkpoint(lambda y: y[order[0]])(y)
        order[0] = np.arange(4)[::-1]
        return np.sum(z * np.arange(4.0))

    with pytest.raises(RuleError, match="something else"):
        grad(program)(np.array([0.3, -1.0, 2.0, 0.7]))


def test_jacobians_of_complex_inputs_have_one_convention():
    z = np.array([1 + 2j])
    both = jacobian(lambda z: np.concatenate([np.abs(z) ** 2] * 2))(z)
    np.testing.assert_array_equal(both, jacobian(lambda z: np.abs(z) ** 2)(z)[[0, 0]])


def test_rounding_an_example_by_math_is_refused():
    for function in (math.floor, math.ceil, math.trunc):
        with pytest.raises(tapegrad.BatchingError, match="math"):
            tapegrad.vmap(lambda x, f=function: f(x[0]))(X)


@pytest.mark.parametrize(
    "rearranged",
    [
        lambda x: np.ravel(x[:, 1]),
        lambda x: x[::-1, ::-1].ravel(),
        lambda x: np.ravel(x[:, 1:2], "F"),
        lambda x: x[::-1].ravel("K"),
        lambda x: x.T.ravel("A"),
        lambda x: x.T.reshape(-1, order="A"),
        lambda x: x[1].ravel(),
    ],
)
def test_a_row_of_an_example_is_a_view_where_numpy_has_one(rearranged):
    def program(x):
        x = x * 1.0
        row = rearranged(x)
        row *= 3.0
        x[1] += 2.0
        return np.sum(np.ravel(x) * np.arange(6.0)) + np.sum(np.sin(row))

    examples = np.random.default_rng(0).normal(size=(2, 2, 3))
    by_loop = [program(x) for x in examples]
    slopes = [tapegrad.grad(program)(x) for x in examples]
    assert np.allclose(tapegrad.vmap(program)(examples), by_loop)
    assert np.allclose(tapegrad.vmap(tapegrad.grad(program))(examples), slopes)
    of_all = tapegrad.grad(lambda x: np.sum(tapegrad.vmap(program)(x)))
    assert np.allclose(of_all(examples), slopes)


def written_row(y, i, v):
    y = y * 1.0
    y[i][0] = v
    return y


def row_before_a_write(y, i, v):
    y = y * 1.0
    row = y[i]
    y *= 2.0
    return row * v


def row_in_place(y, i, v):
    y = y * 1.0
    row = y[:, i]
    row += v
    part = row[1:]
    part[0] *= row[2]
    return y


def turned_row_before_a_write(y, i, v):
    y = y * 1.0
    turned = y[i].T
    y[...] = y * np.sum(v)
    return turned * 1.0


def row_added_at(y, i, v):
    y = y * 1.0
    np.add.at(y[i], [0, 0], v)
    return y


def rows_that_change_places(y, i, v):
    y = y * 1.0
    y[i], y[0] = y[0].copy(), y[i].copy() * v
    return y


@pytest.mark.parametrize(
    "program",
    [
        written_row,
        row_before_a_write,
        row_in_place,
        turned_row_before_a_write,
        row_added_at,
        rows_that_change_places,
    ],
)
def test_a_row_by_a_number_of_each_example_is_a_view(program):
    draw = np.random.default_rng(0)
    y, v, i = draw.normal(size=(4, 3, 3, 2)), draw.normal(size=(4, 2)), np.array([2, 0, 1, 2])

    def total(y, i, v):
        return np.sum(np.sin(program(y + 0 * np.sum(v), i, v + 0 * np.sum(y))))

    expected = np.stack([program(*each) for each in zip(y, i, v, strict=True)])
    slopes = np.stack([grad(total)(*each) for each in zip(y, i, v, strict=True)])
    assert np.allclose(tapegrad.vmap(program)(y, i, v), expected)
    assert np.allclose(tapegrad.vmap(grad(total))(y, i, v), slopes)
    assert np.allclose(grad(lambda y: np.sum(tapegrad.vmap(total)(y, i, v)))(y), slopes)


def test_a_turned_row_of_each_example_is_not_written_to():
    def program(y, i):
        y = y * 1.0
        y[i].T[0] = 0.0
        return y

    with pytest.raises(tapegrad.BatchingError, match="rearranged"):
        tapegrad.vmap(program)(np.ones((2, 3, 3, 2)), np.array([0, 1]))


@pytest.mark.parametrize("index", [[1, 0, 1], (slice(None), [0, 0]), (1, [2, 0])])
def test_elements_picked_by_a_list_lie_in_memory_as_those_of_one_example(index):
    def program(x):
        x = np.sin((x * 1.0)[index])
        rows = [x.ravel(), x.T.ravel(), x.reshape(-1)]
        for factor, row in enumerate(rows):
            row *= factor + 2.0
        return np.sum(np.sin(x))

    x = np.random.default_rng(0).normal(size=(2, 2, 3))
    expected = [program(each) for each in x]
    assert np.allclose(tapegrad.vmap(program)(x), expected)
    assert np.allclose(vjp(tapegrad.vmap(program), x)[0], expected)
    nested = tapegrad.vmap(lambda x: tapegrad.vmap(lambda z: program(x + 0 * z))(np.ones(2)))
    assert np.allclose(nested(x)[:, 1], expected)


def test_a_number_does_not_change_with_the_array_made_of_it():
    def program(x):
        total = np.sum(x)
        row = total[None]
        row *= 2.0
        np.add.at(row, [0, 0], x[0])
        return total * row[0]

    x = np.random.default_rng(0).normal(size=(3, 4))
    assert np.allclose(tapegrad.vmap(program)(x), [program(each) for each in x])


def test_a_write_leaves_an_array_of_each_example_as_it_lies_in_memory():
    def program(x):
        turned = np.sin(x[:, [0, 2, 1]])
        turned[0] = turned[1] * 2.0
        row = turned.reshape(-1)
        row *= 3.0
        return np.sum(turned * np.arange(3.0))

    x = np.random.default_rng(0).normal(size=(3, 2, 3))
    by_loop = np.stack([grad(program)(each) for each in x])
    assert np.allclose(tapegrad.vmap(grad(program))(x), by_loop)


@pytest.mark.parametrize(
    "masked",
    [
        lambda x, data: np.where(np.isfinite(data), (x - data) ** 2, 0.0),
        lambda x, data: np.where(np.isfinite(data), np.tanh(x * data) * x * data, 0.0),
        lambda x, data: np.sum((x - data) ** 2, where=np.isfinite(data)),
        lambda x, data: ((x - data) ** 2)[np.isfinite(data)],
    ],
)
def test_missing_data_in_the_branch_not_taken(masked):
    x, data = np.array([0.5, 0.6, 0.7]), np.array([2.0, np.nan, np.inf])

    def total(x):
        return np.sum(masked(x, data))

    slope = grad(lambda x: np.sum(masked(x, data[:1])))(x[:1])[0]
    curvature = hessian(lambda x: np.sum(masked(x, data[:1])))(x[:1])[0, 0]
    for transform in (grad, jacrev, jacfwd, lambda f: lambda x: vjp(f, x)[1](1.0)[0]):
        assert np.allclose(transform(total)(x), [slope, 0.0, 0.0])
    assert np.allclose(tapegrad.vmap(grad(total))(x[None]), [[slope, 0.0, 0.0]])
    assert np.allclose(grad(tapegrad.checkpoint(total))(x), [slope, 0.0, 0.0])
    assert np.allclose(hessian(total)(x), np.diag([curvature, 0.0, 0.0]))
    assert np.allclose(jacrev(grad(total))(x), np.diag([curvature, 0.0, 0.0]))


def test_a_nan_that_counts_stays():
    assert np.isnan(grad(lambda x: x * np.nan)(1.0))
    assert np.isnan(grad(lambda x: np.sum(x * np.array([1.0, np.nan])))(np.ones(2))[1])

    def masked(x, data):
        return np.sum(x * np.where(x > 0.0, x * data, 1.0)) * data

    x, data = np.array([[0.0, 1.0], [0.0, 1.0]]), np.array([np.nan, 2.0])
    assert np.isnan(grad(masked)(x[0], data[0])).all()
    slopes = tapegrad.vmap(grad(masked))(x, data)
    assert np.isnan(slopes[0]).all()
    assert np.allclose(slopes[1], grad(masked)(x[1], data[1]))


FRACTIONS = np.array([Fraction(1, 2), 1], dtype=object)


def masked_array():
    return np.ma.array([1.0, 2.0], mask=[0, 1])


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x * FRACTIONS,
        lambda x: np.where([True, False], x, FRACTIONS),
        lambda x: np.concatenate([x, FRACTIONS]),
        lambda x: np.concatenate([x, np.array(["1"])]),
        lambda x: np.sum(x, dtype=object),
        lambda x: np.cumsum(x, dtype=object),
        lambda x: x * np.timedelta64(1, "s"),
    ],
)
def test_results_of_objects_text_or_times_are_refused(call):
    for transform in (
        lambda: vjp(call, np.ones(2)),
        lambda: jvp(call, [np.ones(2)], [np.ones(2)]),
    ):
        with pytest.raises(tapegrad.NotDifferentiableError):
            transform()


def test_an_example_beside_an_array_with_operators_of_its_own_is_refused():
    with pytest.raises(tapegrad.NotDifferentiableError):
        tapegrad.vmap(lambda x: x * masked_array())(np.ones((3, 2)))


def test_missing_data_among_many():
    """A replay that has freed its entries on the way runs the program again."""
    runs = []
    y = np.ones(100_000)
    y[::7] = np.nan

    def loss(x):
        runs.append(1)
        return np.sum(np.where(np.isnan(y), 0, (x - y) ** 2))

    x = np.full(100_000, 3.0)
    np.testing.assert_array_equal(grad(loss)(x), np.where(np.isnan(y), 0, 4.0))
    assert len(runs) == 2
    value, gradient = tapegrad.value_and_grad(lambda x: np.sum(x * y))(x)
    assert np.isnan(value)
    assert np.isnan(gradient).all()
