"""Products against central differences: shapes, broadcasting, complex, einsum's notations."""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np
import pytest

import tapegrad
from tapegrad import grad, vjp
from tapegrad._numpy_versions import CROSSES_PAIRS, HAS_MATVEC
from tapegrad.testing import check_grads

RNG = np.random.default_rng(3)


def real(*shape):
    return RNG.standard_normal(shape)


def complex_(*shape):
    return real(*shape) + 1j * real(*shape)


SHAPES = [
    ((3,), (3,)),
    ((2, 3), (3,)),
    ((3,), (3, 4)),
    ((2, 3), (3, 4)),
    ((5, 2, 3), (3, 4)),
    ((2, 3), (5, 3, 4)),
    ((3,), (5, 3, 4)),
    ((5, 2, 3), (3,)),
    ((1, 2, 3), (5, 3, 4)),
    ((0, 3), (3, 4)),
    ((2, 0), (0, 4)),
]


@pytest.mark.parametrize(("x", "y"), SHAPES)
@pytest.mark.parametrize("make", [real, complex_])
def test_matmul(x, y, make):
    check_grads(np.matmul, (make(*x), make(*y)), order=2)


def test_matmul_of_real_and_complex_keeps_the_real_one_real():
    x, y = real(2, 3), complex_(3, 4)
    check_grads(np.matmul, (x, y), order=2)
    _, pullback = tapegrad.vjp(np.matmul, x, y)
    assert pullback(np.ones((2, 4), complex))[0].dtype == np.float64


def test_operators_with_plain_operands_and_lists():
    x = real(2, 3)
    check_grads(lambda x: real_matrix @ x @ vector, (x,), order=2)
    check_grads(lambda x: np.dot(x, [1.0, 2.0, 3.0]), (x,), order=1)


real_matrix = real(4, 2)
vector = real(3)


@pytest.mark.parametrize(
    ("x", "y"),
    [
        *(pair for pair in SHAPES if len(pair[0]) < 3),
        ((), (2, 3)),
        ((2, 3), ()),
        ((), ()),
        ((2, 3, 4), (5, 4, 2)),
        ((2, 3, 4), (4,)),
        ((2, 3, 4), (4, 2)),
    ],
)
@pytest.mark.parametrize("make", [real, complex_])
def test_dot(x, y, make):
    check_grads(np.dot, (make(*x), make(*y)), order=2)


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((2, 3), (4, 3)),
        ((2, 4, 3), (3,)),
        ((), (2, 3)),
        ((2, 3), ()),
        ((2, 4, 3), (5, 3)),
    ],
)
def test_inner(x, y):
    check_grads(np.inner, (real(*x), complex_(*y)), order=2)


@pytest.mark.parametrize(
    ("x", "y", "axes"),
    [
        ((2, 3), (4, 5), 0),
        ((2, 3), (3, 5), 1),
        ((4, 2, 3), (2, 3, 5), 2),
        ((2, 3, 4), (4, 5, 3), ([1, 2], [2, 0])),
        ((2, 3, 4), (4, 5, 3), ([-1, 1], [0, -1])),
        ((2, 3, 4), (5, 3), (1, 1)),
        ((2, 3), (2, 3), ([0, 1], [0, 1])),
        ((3, 2, 4), (4, 3, 2), ([2, 0, 1], [0, 1, 2])),
    ],
)
def test_tensordot(x, y, axes):
    check_grads(lambda x, y: np.tensordot(x, y, axes), (real(*x), complex_(*y)), order=2)
    check_grads(lambda x, y: np.linalg.tensordot(x, y, axes=axes), (real(*x), real(*y)), order=1)


PRODUCTS = {
    "vdot": (np.vdot, (2, 3), (3, 2)),
    "outer": (np.outer, (2, 2), (3,)),
    "linalg.outer": (np.linalg.outer, (2,), (3,)),
    "kron": (np.kron, (2, 3), (3, 2)),
    "kron of vector and matrix": (np.kron, (2,), (3, 2)),
    "cross": (np.cross, (2, 3), (3,)),
    "cross along axes": (lambda x, y: np.cross(x, y, 0, 1, 0), (3, 2), (2, 3)),
    "linalg.cross": (lambda x, y: np.linalg.cross(x, y, axis=0), (3, 2), (3, 2)),
    "linalg.matmul": (np.linalg.matmul, (2, 3), (3, 2)),
    "vecdot": (np.vecdot, (2, 3), (4, 1, 3)),
    "linalg.vecdot": (lambda x, y: np.linalg.vecdot(x, y, axis=0), (3, 2), (3, 2)),
}
if HAS_MATVEC:
    PRODUCTS["matvec"] = (np.matvec, (4, 2, 3), (3,))
    PRODUCTS["vecmat"] = (np.vecmat, (3,), (4, 3, 2))


@pytest.mark.part(3)
@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("make", [real, complex_])
def test_products(name, make):
    function, x, y = PRODUCTS[name]
    check_grads(function, (make(*x), make(*y)), order=2)


def test_vdot_conjugates_its_first_argument():
    z = np.array([1 + 2j, 3j])
    gradient = tapegrad.grad(lambda z: np.vdot(z, z).real)(z)
    np.testing.assert_allclose(gradient, 2 * z.conj())


@pytest.mark.part(3)
@pytest.mark.parametrize(
    "shapes",
    [
        [(2, 3), (3, 4)],
        [(2, 3), (3, 4), (4, 2)],
        [(3,), (3, 4), (4, 2)],
        [(2, 3), (3, 4), (4,)],
        [(3,), (3, 4), (4,)],
        [(3,), (3,)],
        [(2, 3), (3, 1), (1, 4), (4, 2)],
    ],
)
@pytest.mark.parametrize("make", [real, complex_])
def test_multi_dot(shapes, make):
    args = tuple(make(*shape) for shape in shapes)
    check_grads(lambda *xs: np.linalg.multi_dot(xs), args, order=2)


def test_multi_dot_of_examples_multiplies_in_the_order_of_numpy():
    """Of bytes another order would overflow elsewhere; of one column it takes n times as long."""
    left = np.random.default_rng(0).integers(0, 100, (3, 2, 4), dtype=np.int8)
    middle = np.random.default_rng(1).integers(0, 100, (4, 4), dtype=np.int8)
    right = real(3, 4)

    def program(left, right):
        return np.linalg.multi_dot([left, middle, right])

    expected = np.stack([program(*rows) for rows in zip(left, right, strict=True)])
    np.testing.assert_allclose(tapegrad.vmap(program)(left, right), expected, rtol=1e-12)
    chains = [(2, 3), (3,), (3, 2)], [(2, 3)], [(), (2, 3)], [(2, 3), (5, 3, 2)]
    for shapes in chains:
        one = [real(*shape) for shape in shapes]
        try:
            expected = np.linalg.multi_dot(one)
        except (ValueError, np.linalg.LinAlgError) as error:
            with pytest.raises(type(error), match=str(error).split(".")[0]):
                tapegrad.vmap(lambda x, one=one: np.linalg.multi_dot([x, *one[1:]]))(one[0][None])
        else:
            out = tapegrad.vmap(lambda *xs: np.linalg.multi_dot(xs))(*(x[None] for x in one))
            np.testing.assert_allclose(out[0], expected)


@pytest.mark.parametrize(
    ("function", "x", "y"),
    [
        (np.vdot, np.ones((2, 3), bool), np.ones((2, 3), bool)),
        (np.inner, np.ones((2, 0, 5), np.int8), np.ones((2, 5), np.float32)),
        (lambda x, y: np.tensordot(x, y, 1), np.ones((2, 3), np.int8), np.ones((2, 3, 0), bool)),
    ],
)
def test_products_of_examples_have_the_dtype_of_one(function, x, y):
    expected = np.stack([function(*rows) for rows in zip(x, y, strict=True)])
    out = tapegrad.vmap(function)(x, y)
    assert out.dtype == expected.dtype
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("n", [-2, -1, 0, 1, 2, 3, 5, 6])
def test_matrix_power(n):
    check_grads(lambda a: np.linalg.matrix_power(a, n), (real(2, 3, 3) + 3 * np.eye(3),), order=2)


@pytest.mark.parametrize("offset", [-1, 0, 2, 7])
def test_trace(offset):
    check_grads(lambda x: np.trace(x, offset), (real(3, 4),), order=2)
    check_grads(lambda x: np.trace(x, offset, 2, 0), (complex_(3, 2, 4),), order=2)
    check_grads(lambda x: np.linalg.trace(x, offset=offset), (real(2, 3, 4),), order=1)


@pytest.mark.parametrize("offset", [-1, 0, 2])
def test_linalg_diagonal(offset):
    check_grads(lambda x: np.linalg.diagonal(x, offset=offset), (real(2, 3, 4),), order=2)


def test_float32_stays():
    x, y = real(2, 3).astype(np.float32), real(3, 4).astype(np.float32)
    for product in (np.matmul, np.dot, lambda x, y: np.einsum("ij,jk->ik", x, y)):
        out, pullback = tapegrad.vjp(product, x, y)
        assert [bar.dtype for bar in pullback(out)] == [np.float32, np.float32]


def test_third_derivative():
    gradient = tapegrad.grad
    f = gradient(gradient(gradient(lambda t: np.dot(np.stack([t, t]), np.stack([t * t, t]) * t))))
    np.testing.assert_allclose(f(2.0), 24 * 2.0 + 6)


def test_vectors_of_two_elements_are_crossed_as_numpy_does():
    x, y, z = np.array([1.0, 2.0]), np.array([3.0, 5.0]), np.array([1.0, 0.5, 2.0])
    if not CROSSES_PAIRS:
        for other in (y, z):
            with pytest.raises(ValueError, match="expected vectors of 3 elements, got 2 and"):
                grad(lambda x, other=other: np.sum(np.cross(x, other)))(x)
        return
    with pytest.warns(DeprecationWarning, match="2-dimensional"):
        assert grad(lambda x: np.cross(x, y))(x).tolist() == [5.0, -3.0]
    with pytest.warns(DeprecationWarning, match="2-dimensional"):
        crossed = vjp(lambda x: np.cross(x, z), x)[0]
    np.testing.assert_array_equal(crossed, [4.0, -2.0, -1.5])


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda a: np.linalg.matrix_power(a, 1.5), TypeError),
        (lambda a: np.linalg.matrix_power(a[:1], 2), np.linalg.LinAlgError),
        (lambda a: np.linalg.outer(a, a), ValueError),
        (lambda a: np.linalg.cross(a, a), ValueError),
    ],
)
def test_bad_calls_raise_what_numpy_raises(call, error):
    with pytest.raises(error):
        call(np.eye(2))
    with pytest.raises(error):
        vjp(call, np.eye(2))


# --- axis=, axes= and keepdims= of ufuncs with core dimensions

ALONG_AXES = {
    "vecdot axis": lambda x: np.vecdot(x, 2 * x, axis=0),
    "vecdot keepdims": lambda x: np.vecdot(x, x, axis=1, keepdims=True),
    "vecdot axes": lambda x: np.vecdot(x, x, axes=[0, 1, ()]),
    "matmul axes": lambda x: np.matmul(x, x, axes=[(1, 0), (0, 1), (0, 1)]),
    "linalg.vecdot": lambda x: np.linalg.vecdot(x, x, axis=0),
}
if HAS_MATVEC:
    ALONG_AXES["matvec axes"] = lambda x: np.matvec(x, x[0], axes=[(1, 0), 0, 0])
    ALONG_AXES["vecmat axes"] = lambda x: np.vecmat(x[0], x, axes=[0, (1, 0), 0])


@pytest.mark.parametrize("call", ALONG_AXES.values(), ids=ALONG_AXES)
def test_axes_are_those_of_one_example(call):
    x = real(3, 3, 3)
    np.testing.assert_allclose(tapegrad.vmap(call)(x), np.stack([call(one) for one in x]))
    nested = tapegrad.vmap(tapegrad.vmap(call))(x[None])
    np.testing.assert_allclose(nested[0], np.stack([call(one) for one in x]))
    check_grads(call, (x[0],), order=2)
    check_grads(tapegrad.vmap(call), (x,), order=1)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.matmul(x, x, axis=0),
        lambda x: np.matmul(x, x, keepdims=True),
        lambda x: np.vecdot(x, x, axis=2),
    ],
)
def test_axes_that_do_not_fit_are_numpys_errors(call):
    x = real(3, 3)
    with pytest.raises((TypeError, np.exceptions.AxisError)) as expected:
        call(x)
    for run in (lambda: tapegrad.vjp(call, x), lambda: tapegrad.vmap(call)(x[None])):
        with pytest.raises(type(expected.value)):
            run()


@pytest.mark.parametrize("in_axes", [(0, None), (None, 0), (0, 0)])
@pytest.mark.parametrize("ranks", list(itertools.product(range(4), repeat=2)))
@pytest.mark.parametrize("product", [np.matmul, np.dot, np.inner, np.vdot, np.tensordot])
def test_examples_of_products_may_share_an_operand(product, ranks, in_axes):
    """Also where the result of one example is an error."""
    x, y = (real(*(2,) * rank) for rank in ranks)
    whole = [
        np.stack([z, 3 * z]) if axis == 0 else z for z, axis in zip((x, y), in_axes, strict=True)
    ]
    rows = [
        [z[i] if axis == 0 else z for z, axis in zip(whole, in_axes, strict=True)] for i in (0, 1)
    ]
    try:
        expected = np.stack([product(*row) for row in rows])
    except (ValueError, IndexError) as error:
        with pytest.raises(type(error)):
            tapegrad.vmap(product, in_axes)(*whole)
        return
    np.testing.assert_allclose(tapegrad.vmap(product, in_axes)(*whole), expected, rtol=1e-12)


@pytest.mark.parametrize("make", [list, np.asarray, None])
@pytest.mark.parametrize("product", [np.matmul, np.dot, np.inner, np.vdot, np.tensordot])
def test_examples_of_products_with_lists_and_numbers(product, make):
    rows, other = real(3, 2), 2.0 if make is None else make([1.5, 2.0])
    if product is np.tensordot:
        product = partial(np.tensordot, axes=0)
    elif product in (np.matmul, np.vdot) and make is None:
        product = np.multiply
    for call in (lambda x: product(x, other), lambda x: product(other, x)):
        np.testing.assert_allclose(tapegrad.vmap(call)(rows), [call(x) for x in rows], rtol=1e-12)
