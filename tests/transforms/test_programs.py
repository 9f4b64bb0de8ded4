"""Programs easily differentiated wrongly: nesting, kinks, branches not taken, singular points."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapegrad import (
    LeakedValueError,
    elementwise_grad,
    grad,
    hessian,
    hvp,
    jacfwd,
    jacobian,
    jacrev,
    jvp,
    linearize,
    value_and_grad,
    vhp,
    vjp,
)

X = np.array([0.3, -1.2, 2.0])
SCALARS = st.floats(-2, 2)


def derivative(f):
    """The derivative of a scalar function by forward mode, in grad's calling convention."""
    return lambda x: jvp(f, (x,), (1.0,))[1]


FIRST = {"grad": grad, "jvp": derivative, "jacrev": jacrev, "jacfwd": jacfwd}
SECOND = {
    "reverse over reverse": lambda f: jacrev(jacrev(f)),
    "forward over reverse": lambda f: jacfwd(jacrev(f)),
    "reverse over forward": lambda f: jacrev(jacfwd(f)),
    "forward over forward": lambda f: jacfwd(jacfwd(f)),
    "hessian": hessian,
}
pairs = pytest.mark.parametrize("outer", FIRST)
both = pytest.mark.parametrize("inner", FIRST)


# --- Perturbation confusion ---------------------------------------------------------------------


@pairs
@both
def test_inner_derivative_by_another_variable_is_one(outer, inner):
    def f(x):
        return x * FIRST[inner](lambda y: x + y)(1.0)

    assert FIRST[outer](f)(1.5) == 1.0


@pairs
@both
def test_inner_derivative_that_depends_on_the_outer_variable(outer, inner):
    # d/dx x * (d/dy x*y at 2) = d/dx x*x
    def f(x):
        return x * FIRST[inner](lambda y: x * y)(2.0)

    assert FIRST[outer](f)(3.0) == 6.0


@pairs
@both
def test_inner_derivative_at_the_outer_variable(outer, inner):
    # d/dx of x * cos(x) * x
    def f(x):
        return x * FIRST[inner](lambda y: np.sin(y) * x)(x)

    x = 0.7
    expected = 2 * x * np.cos(x) - x * x * np.sin(x)
    np.testing.assert_allclose(FIRST[outer](f)(x), expected, rtol=1e-13)


@pairs
@both
def test_closures_of_three_levels_do_not_mix(outer, inner):
    def f(x):
        return FIRST[inner](lambda y: y * grad(lambda z: x * y * z)(4.0))(x) * x

    # d/dy (y * x * y) at x = 2 x**2, times x
    np.testing.assert_allclose(FIRST[outer](f)(1.5), 6 * 1.5**2)


@given(SCALARS, SCALARS)
def test_mixed_partials_commute(x, y):
    def f(x, y):
        return np.sin(x * y) * np.exp(x) + x * y**3

    xy = grad(lambda y: grad(f, 0)(x, y))(y)
    yx = grad(lambda x: grad(f, 1)(x, y))(x)
    np.testing.assert_allclose(xy, yx, rtol=1e-10, atol=1e-10)


# --- Higher orders ------------------------------------------------------------------------------


@pytest.mark.parametrize("a", FIRST)
@pytest.mark.parametrize("b", FIRST)
@pytest.mark.parametrize("c", FIRST)
def test_third_derivative(a, b, c):
    third = FIRST[a](FIRST[b](FIRST[c](lambda x: np.sin(2 * x) * x)))
    x = 0.4
    expected = -8 * np.cos(2 * x) * x - 12 * np.sin(2 * x)
    np.testing.assert_allclose(third(x), expected, rtol=1e-12)


@pytest.mark.parametrize("order", range(1, 7))
def test_derivatives_of_exp_of_any_order(order):
    f = np.exp
    for _ in range(order):
        f = grad(f)
    np.testing.assert_allclose(f(0.5), np.exp(0.5), rtol=1e-12)


def cubed(x):
    return x**3


@pytest.mark.parametrize("order", range(1, 6))
def test_derivatives_of_a_power_end_at_zero(order):
    f = cubed
    factor, power = 1.0, 3
    for _ in range(order):
        f = derivative(f)
        factor, power = factor * power, power - 1
    expected = factor * 2.0**power if power >= 0 else 0.0
    assert f(2.0) == expected


def wavy(x):
    return np.sum(np.sin(x[:-1] * x[1:])) + np.prod(x) * x[0] + np.sum(x**3)


WAVY_HESSIAN = np.array(
    [
        [
            2 * X[1] * X[2] - X[1] ** 2 * np.sin(X[0] * X[1]) + 6 * X[0],
            np.cos(X[0] * X[1]) - X[0] * X[1] * np.sin(X[0] * X[1]) + 2 * X[0] * X[2],
            2 * X[0] * X[1],
        ],
        [
            0.0,
            -(X[0] ** 2) * np.sin(X[0] * X[1]) - X[2] ** 2 * np.sin(X[1] * X[2]) + 6 * X[1],
            np.cos(X[1] * X[2]) - X[1] * X[2] * np.sin(X[1] * X[2]) + X[0] ** 2,
        ],
        [0.0, 0.0, -(X[1] ** 2) * np.sin(X[1] * X[2]) + 6 * X[2]],
    ]
)
WAVY_HESSIAN = np.triu(WAVY_HESSIAN) + np.triu(WAVY_HESSIAN, 1).T


@pytest.mark.parametrize("how", SECOND)
def test_hessian_by_every_pair_of_modes(how):
    matrix = SECOND[how](wavy)(X)
    np.testing.assert_allclose(matrix, WAVY_HESSIAN, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(matrix, matrix.T, rtol=1e-12, atol=1e-14)


PRODUCTS = {
    "hvp": lambda v: hvp(wavy, (X,), (v,)),
    "vhp": lambda v: vhp(wavy, (X,), (v,)),
    "jvp of grad": lambda v: jvp(grad(wavy), (X,), (v,))[1],
    "grad of jvp": lambda v: grad(lambda x: jvp(wavy, (x,), (v,))[1])(X),
    "grad of grad": lambda v: grad(lambda x: np.sum(grad(wavy)(x) * v))(X),
    "vjp of grad": lambda v: vjp(grad(wavy), X)[1](v)[0],
    "pushforward of grad": lambda v: linearize(grad(wavy), X)[1](v),
    "grad of pushforward": lambda v: grad(lambda x: linearize(wavy, x)[1](v))(X),
    "grad of pullback": lambda v: grad(lambda x: np.sum(vjp(wavy, x)[1](1.0)[0] * v))(X),
    "jvp of pullback": lambda v: jvp(lambda x: vjp(wavy, x)[1](1.0)[0], (X,), (v,))[1],
    "jvp of jvp": lambda v: np.array(
        [jvp(lambda x, e=e: jvp(wavy, (x,), (e,))[1], (X,), (v,))[1] for e in np.eye(3)]
    ),
}


@pytest.mark.parametrize("how", PRODUCTS)
def test_hessian_vector_products(how):
    v = np.array([1.0, -0.5, 2.0])
    np.testing.assert_allclose(PRODUCTS[how](v), WAVY_HESSIAN @ v, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("how", ["reverse", "forward"])
def test_third_derivative_tensor_is_symmetric(how):
    tensor = jacobian(hessian(wavy), mode=how)(X)
    assert tensor.shape == (3, 3, 3)
    for axes in [(0, 2, 1), (1, 0, 2), (2, 1, 0)]:
        np.testing.assert_allclose(tensor, tensor.transpose(axes), rtol=1e-12, atol=1e-12)


def test_gradient_of_a_gradient_step_sees_the_step():
    # One step of gradient descent on (w - x)**2 from w = 0, then the loss there: meta-learning.
    def after_step(x, rate):
        w = 0.0 - rate * grad(lambda w: (w - x) ** 2)(0.0)
        return (w - x) ** 2

    # w = 2 rate x, the loss is (2 rate - 1)**2 x**2
    by_rate = grad(after_step, argnums=1)(1.5, 0.1)
    np.testing.assert_allclose(by_rate, 4 * (0.2 - 1) * 1.5**2)


# --- Known wrong elsewhere ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        ([0.0, 2.0, 3.0], [6.0, 0.0, 0.0]),
        ([0.0, 0.0, 3.0], [0.0, 0.0, 0.0]),
        ([2.0, 5.0], [5.0, 2.0]),
        ([4.0], [1.0]),
    ],
)
@pytest.mark.parametrize("how", ["grad", "jacfwd"])
def test_prod_at_zeros(x, expected, how):
    np.testing.assert_array_equal(FIRST[how](np.prod)(np.array(x)), expected)


@pytest.mark.parametrize("how", SECOND)
def test_hessian_of_prod_at_two_zeros(how):
    matrix = SECOND[how](np.prod)(np.array([0.0, 0.0, 3.0]))
    np.testing.assert_array_equal(matrix, [[0, 3, 0], [3, 0, 0], [0, 0, 0]])


@pytest.mark.parametrize("how", FIRST)
@pytest.mark.parametrize("exponent", [0.0, 0, np.float64(0)])
def test_power_zero_at_zero(how, exponent):
    assert FIRST[how](lambda x: x**exponent)(0.0) == 0.0


@pytest.mark.parametrize("how", FIRST)
def test_power_by_its_exponent_at_base_zero(how):
    assert FIRST[how](lambda y: np.power(0.0, y))(2.0) == 0.0


def test_square_of_the_absolute_value_of_a_complex_number():
    assert grad(lambda z: np.abs(z) ** 2)(1 + 2j) == 2 - 4j


def test_holomorphic_function():
    z = 0.3 + 0.4j
    np.testing.assert_allclose(
        grad(lambda z: np.sin(z) * z, holomorphic=True)(z), np.cos(z) * z + np.sin(z)
    )


@pytest.mark.parametrize("how", ["grad", "jacrev", "jacfwd"])
def test_float32_in_float32_out(how):
    x = np.array([1.0, 2.0], np.float32)
    gradient = FIRST[how](lambda x: np.sum(np.sin(x) * 2.5 + x**2 / 3))(x)
    assert gradient.dtype == np.float32


def test_float32_stays_beside_float64_constants():
    x = np.array([1.0, 2.0], np.float32)
    value, gradient = value_and_grad(lambda x: np.sum(x * np.array([1.0, 2.0])))(x)
    assert value.dtype == np.float64
    assert gradient.dtype == np.float32


def test_a_value_kept_from_a_finished_grad_is_refused_in_another():
    kept = []
    grad(lambda x: kept.append(x * 2) or x * x)(1.0)
    with pytest.raises(LeakedValueError, match=r"value from grad\(<lambda>\) used after"):
        grad(lambda x: x * kept[0])(1.0)


# --- Norms and eigenvalues ----------------------------------------------------------------------


@pytest.mark.parametrize("how", ["grad", "jacfwd"])
@pytest.mark.parametrize(
    "norm",
    [
        np.linalg.norm,
        lambda x: np.sqrt(np.sum(x**2)),
        lambda x: np.sqrt(np.sum(x * x)),
        lambda x: np.sqrt(np.sum(np.square(x))),
        lambda x: np.sqrt(x @ x),
    ],
    ids=["norm", "x**2", "x*x", "square", "x@x"],
)
def test_norm_at_zero_has_gradient_zero(how, norm):
    np.testing.assert_array_equal(FIRST[how](norm)(np.zeros(3)), np.zeros(3))


@pytest.mark.part(3)
@pytest.mark.parametrize("how", SECOND)
@pytest.mark.parametrize("x", [np.zeros(3), X], ids=["zero", "elsewhere"])
def test_hessian_of_norm_squared(how, x):
    matrix = SECOND[how](lambda x: np.linalg.norm(x) ** 2)(x)
    np.testing.assert_allclose(matrix, 2 * np.eye(3), atol=1e-14)


WEIGHTS = np.array([[1.0, 2.0, 0.5], [0.0, -1.0, 3.0], [2.0, 1.0, 1.0]])


def through_eigh(a):
    w, v = np.linalg.eigh(a)
    return np.sum(WEIGHTS * ((v * np.exp(w)) @ v.T))


@pytest.mark.parametrize("how", ["grad", "jacfwd"])
def test_matrix_function_from_eigh_at_the_identity(how):
    # exp(A) at I: its derivative in a symmetric direction T is e T.
    gradient = FIRST[how](through_eigh)(np.eye(3))
    symmetric = (gradient + gradient.T) / 2
    np.testing.assert_allclose(symmetric, np.e * (WEIGHTS + WEIGHTS.T) / 2, atol=1e-12)


def test_matrix_function_from_svd_at_the_identity():
    def f(a):
        u, s, vh = np.linalg.svd(a, full_matrices=False)
        return np.sum(WEIGHTS * ((u * s**3) @ vh))

    # a a.T a at I in the direction T: 2 T + T.T
    np.testing.assert_allclose(grad(f)(np.eye(3)), 2 * WEIGHTS + WEIGHTS.T, atol=1e-12)


# --- No NaN from the branch not taken (FEATURES B6) ---------------------------------------------

# name: (function, its derivative, its second derivative) where taken; the point not taken is
# 0 for all of them, or beyond the domain.
TAKEN_ABOVE_ZERO = {
    "sqrt": (np.sqrt, lambda x: 0.5 * x**-0.5, lambda x: -0.25 * x**-1.5),
    "log": (np.log, lambda x: 1 / x, lambda x: -1 / x**2),
    "log2": (np.log2, lambda x: 1 / x / np.log(2), lambda x: -1 / x**2 / np.log(2)),
    "log10": (np.log10, lambda x: 1 / x / np.log(10), lambda x: -1 / x**2 / np.log(10)),
    "1/x": (lambda x: 1 / x, lambda x: -1 / x**2, lambda x: 2 / x**3),
    "reciprocal": (np.reciprocal, lambda x: -1 / x**2, lambda x: 2 / x**3),
    "x/x**2": (lambda x: x / x**2, lambda x: -1 / x**2, lambda x: 2 / x**3),
    "x**0.5": (lambda x: x**0.5, lambda x: 0.5 * x**-0.5, lambda x: -0.25 * x**-1.5),
    "x**-1": (lambda x: x**-1, lambda x: -1 / x**2, lambda x: 2 / x**3),
    "x**1.5": (lambda x: x**1.5, lambda x: 1.5 * x**0.5, lambda x: 0.75 * x**-0.5),
    "x**array": (
        lambda x: x ** np.array([0.5, 0.5, 0.5]),
        lambda x: 0.5 * x**-0.5,
        lambda x: -0.25 * x**-1.5,
    ),
    "x**x": (
        lambda x: x**x,
        lambda x: x**x * (np.log(x) + 1),
        lambda x: x**x * ((np.log(x) + 1) ** 2 + 1 / x),
    ),
    "cbrt": (np.cbrt, lambda x: x ** (-2 / 3) / 3, lambda x: -2 / 9 * x ** (-5 / 3)),
    "log of log": (
        lambda x: np.log(-np.log(x / 4)),
        lambda x: 1 / (x * np.log(x / 4)),
        lambda x: -(np.log(x / 4) + 1) / (x * np.log(x / 4)) ** 2,
    ),
    "arccosh": (
        lambda x: np.arccosh(x + 1),
        lambda x: ((x + 1) ** 2 - 1) ** -0.5,
        lambda x: -(x + 1) * ((x + 1) ** 2 - 1) ** -1.5,
    ),
}
TAKEN_BELOW_ONE = {
    "exp": (
        lambda x: np.exp(1e3 * x - 999),
        lambda x: 1e3 * np.exp(1e3 * x - 999),
        lambda x: 1e6 * np.exp(1e3 * x - 999),
    ),
    "arcsin": (np.arcsin, lambda x: (1 - x**2) ** -0.5, lambda x: x * (1 - x**2) ** -1.5),
    "arccos": (np.arccos, lambda x: -((1 - x**2) ** -0.5), lambda x: -x * (1 - x**2) ** -1.5),
    "arctanh": (np.arctanh, lambda x: 1 / (1 - x**2), lambda x: 2 * x / (1 - x**2) ** 2),
    "sqrt(1-x**2)": (
        lambda x: np.sqrt(1 - x**2),
        lambda x: -x * (1 - x**2) ** -0.5,
        lambda x: -((1 - x**2) ** -1.5),
    ),
    "log1p": (lambda x: np.log1p(-x), lambda x: -1 / (1 - x), lambda x: -1 / (1 - x) ** 2),
}
LOW = np.array([0.0, 0.5, 1.5])
HIGH = np.array([1.0, 0.5, 3.0])
BRANCHES = [
    pytest.param(f, d, dd, x, taken, id=name)
    for table, x, taken in [
        (TAKEN_ABOVE_ZERO, LOW, lambda x: x > 0),
        (TAKEN_BELOW_ONE, HIGH, lambda x: x < 1),
    ]
    for name, (f, d, dd) in table.items()
]
OTHERWISE = {
    "where": lambda c, y: np.sum(np.where(c, y, 0.0)),
    "mask": lambda c, y: np.sum(y[c]),
    "sum where": lambda c, y: np.sum(y, where=c),
    "write": lambda c, y: np.sum(_overwritten(y, ~c)),
}


def _overwritten(y, where):
    y = y.copy()
    y[where] = 0.0
    return y


@pytest.mark.part(3)
@pytest.mark.parametrize("select", OTHERWISE)
@pytest.mark.parametrize(("f", "d", "dd", "x", "taken"), BRANCHES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_branch_not_taken_first_order(f, d, dd, x, taken, select):
    def program(x):
        return OTHERWISE[select](taken(x), f(x))

    expected = np.where(taken(x), d(np.where(taken(x), x, 0.5)), 0)
    for mode in (
        grad,
        jacfwd,
        jacrev,
        lambda f: lambda x: np.array([jvp(f, (x,), (e,))[1] for e in np.eye(3)]),
    ):
        np.testing.assert_allclose(mode(program)(x), expected, rtol=1e-12)


@pytest.mark.part(3)
@pytest.mark.parametrize("how", SECOND)
@pytest.mark.parametrize(("f", "d", "dd", "x", "taken"), BRANCHES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_branch_not_taken_second_order(f, d, dd, x, taken, how):
    def program(x):
        return np.sum(np.where(taken(x), f(x), 0.0))

    expected = np.where(taken(x), dd(np.where(taken(x), x, 0.5)), 0)
    np.testing.assert_allclose(SECOND[how](program)(x), np.diag(expected), rtol=1e-10)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("how", ["grad", "jacfwd"])
@pytest.mark.parametrize(
    "program",
    [
        lambda x: np.sum(np.maximum(np.sqrt(x), 0.1)),
        lambda x: np.sum(np.clip(np.sqrt(x), 0.1, None)),
        lambda x: np.max(np.concatenate([np.sqrt(x), np.ones(1)])),
    ],
    ids=["maximum", "clip", "max"],
)
def test_the_smaller_of_two_does_not_count(how, program):
    np.testing.assert_array_equal(FIRST[how](program)(np.zeros(2)), np.zeros(2))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("x", [-800.0, -1.0, 0.0, 1.0, 800.0])
@pytest.mark.parametrize("how", [*FIRST, "elementwise"])
def test_softplus_written_with_where(x, how):
    def softplus(x):
        return np.where(x > 30, x, np.log1p(np.exp(x)))

    transform = {**FIRST, "elementwise": elementwise_grad}[how]
    np.testing.assert_allclose(transform(softplus)(x), 1 / (1 + np.exp(-x)), rtol=1e-12)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("how", SECOND)
@pytest.mark.parametrize("x", [-1.0, 1.0, 800.0])
def test_softplus_second_derivative(x, how):
    def softplus(x):
        return np.where(x > 30, x, np.log1p(np.exp(x)))

    s = 1 / (1 + np.exp(-x))
    np.testing.assert_allclose(SECOND[how](softplus)(x), s * (1 - s), rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("shift", [0.0, 1e4, -1e4])
def test_log_sum_exp_idiom(shift):
    def log_sum_exp(x):
        top = np.max(x)
        return top + np.log(np.sum(np.exp(x - top)))

    x = X + shift
    p = np.exp(x - x.max()) / np.sum(np.exp(x - x.max()))
    np.testing.assert_allclose(grad(log_sum_exp)(x), p, rtol=1e-12)
    np.testing.assert_allclose(
        hessian(log_sum_exp)(x), np.diag(p) - np.outer(p, p), rtol=1e-9, atol=1e-12
    )


# --- Kinks --------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", FIRST)
@pytest.mark.parametrize(
    ("f", "x", "expected"),
    [
        (np.abs, 0.0, 0.0),
        (lambda x: np.sign(x) + 0 * x, 0.0, 0.0),
        (lambda x: np.maximum(x, 1.0), 1.0, 0.5),
        (lambda x: np.minimum(x, 1.0), 1.0, 0.5),
        (lambda x: np.maximum(x, x), 1.0, 1.0),
        (lambda x: np.hypot(x, 0.0), 0.0, 0.0),
        (lambda x: np.arctan2(x, 0.0 * x), 0.0, 0.0),
        (lambda x: np.std(np.stack([x, x])), 1.0, 0.0),
        (lambda x: np.max(np.stack([x, 2 * x])), 0.0, 1.5),
    ],
    ids=["abs", "sign", "maximum", "minimum", "maximum(x,x)", "hypot", "arctan2", "std", "max"],
)
def test_kinks(how, f, x, expected):
    assert FIRST[how](f)(x) == expected


def test_ties_of_max_share_evenly():
    np.testing.assert_array_equal(
        grad(np.max)(np.array([1.0, 3.0, 3.0, 0.0])), [0.0, 0.5, 0.5, 0.0]
    )


# --- Control flow and Python --------------------------------------------------------------------


@given(st.floats(0.1, 3), st.integers(0, 12))
def test_loops_and_branches(x, n):
    def f(x):
        y = x
        for i in range(n):
            y = np.sin(y) if i % 2 else y * x
        return y

    h = 1e-6
    difference = (f(x + h) - f(x - h)) / (2 * h)
    np.testing.assert_allclose(grad(f)(x), difference, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(derivative(f)(x), grad(f)(x), rtol=1e-12, atol=1e-12)


def test_newton_iteration_until_convergence():
    def root(a):
        x = a
        while abs(x * x - a) > 1e-14 * a:
            x = (x + a / x) / 2
        return x

    np.testing.assert_allclose(grad(root)(3.0), 0.5 / np.sqrt(3.0), rtol=1e-8)


def test_recursive_function():
    def power(x, n):
        return 1.0 if n == 0 else x * power(x, n - 1)

    assert grad(power)(2.0, 5) == 80.0


def test_functions_of_plain_values_return_what_numpy_returns():
    def f(x):
        assert isinstance(x, np.ndarray)
        return np.sum(x)

    assert type(f(X)) is np.float64
    assert hessian(lambda x: np.sum(np.ones(3) * x))(X).tolist() == np.zeros((3, 3)).tolist()
