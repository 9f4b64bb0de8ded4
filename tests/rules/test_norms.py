"""Norms of vectors and matrices, of every order and over any axes, and at zero."""

from __future__ import annotations

import numpy as np
import pytest
from matrices import MAKERS, nth_derivative, real

import tapegrad
from tapegrad.testing import check_grads

# --- norms

NORMS = [
    *({"ord": order} for order in (None, "fro", 1, 2, -1, -2, np.inf, -np.inf, "nuc")),
    *({"ord": order, "axis": 1} for order in (None, 0, 1, 2, 3, -1, 2.5, np.inf, -np.inf)),
    {"axis": -1, "keepdims": True},
    {"ord": 2, "axis": (1, 0), "keepdims": True},
    {"ord": 1, "axis": (1, 0), "keepdims": True},
    {"axis": (0, 1)},
    {"keepdims": True},
]


@pytest.mark.part(2)
@pytest.mark.parametrize("options", NORMS, ids=str)
@MAKERS
def test_norm(options, make):
    x = make(3, 4)
    np.testing.assert_array_equal(
        tapegrad.vjp(lambda x: np.linalg.norm(x, **options), x)[0], np.linalg.norm(x, **options)
    )
    check_grads(lambda x: np.linalg.norm(x, **options), (x,), order=2)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"ord": "fro"},
        {"axis": (0, 2)},
        {"ord": 2, "axis": (2, 0)},
        {"ord": "nuc", "axis": (1, 2)},
    ],
    ids=str,
)
def test_norm_of_a_stack(options):
    x = real(2, 3, 4) if options.get("axis") or not options else real(3, 4)
    check_grads(lambda x: np.linalg.norm(x, **options), (x,), order=2)


def test_vector_norm_and_matrix_norm():
    x = real(2, 3, 4)
    check_grads(np.linalg.vector_norm, (x,), order=2)
    check_grads(lambda x: np.linalg.vector_norm(x, axis=(0, 2), ord=3, keepdims=True), (x,))
    check_grads(lambda x: np.linalg.matrix_norm(x, ord=2), (x,), order=2)
    check_grads(lambda x: np.linalg.matrix_norm(x, keepdims=True), (x,), order=2)


@pytest.mark.parametrize("order", [None, 1, 2, 3, np.inf])
def test_gradient_of_a_norm_at_zero_is_zero(order):
    gradient = tapegrad.grad(lambda x: np.linalg.norm(x, order))(np.zeros(3))
    np.testing.assert_array_equal(gradient, np.zeros(3))
    _, out_dot = tapegrad.jvp(lambda x: np.linalg.norm(x, order), (np.zeros(3),), (np.ones(3),))
    assert out_dot == 0


def test_norm_at_zero_along_an_axis():
    x = np.array([[0.0, 0.0], [3.0, 4.0]])
    gradient = tapegrad.grad(lambda x: np.sum(np.linalg.norm(x, axis=1)))(x)
    np.testing.assert_allclose(gradient, [[0, 0], [0.6, 0.8]])


def _square(size):
    return size * size


SMOOTH = {
    "squared": (lambda x: np.linalg.norm(x) ** 2, 2.0),
    "product": (lambda x: _square(np.linalg.norm(x)), 2.0),
    "cosine": (lambda x: np.cos(np.linalg.norm(x)), -1.0),
    "cubed": (lambda x: np.linalg.norm(x) ** 3, 0.0),
    "rows": (lambda x: np.sum(np.linalg.norm(x.reshape(2, 2), axis=1) ** 2), 2.0),
}


@pytest.mark.part(4)
@pytest.mark.parametrize("name", SMOOTH)
def test_hessian_at_zero_of_smooth_functions_of_a_norm(name):
    f, factor = SMOOTH[name]
    zero, direction = np.zeros(4), real(4)
    expected = factor * np.eye(4)
    np.testing.assert_allclose(tapegrad.hessian(f)(zero), expected)
    np.testing.assert_allclose(tapegrad.jacrev(tapegrad.grad(f))(zero), expected)
    np.testing.assert_allclose(tapegrad.hvp(f, (zero,), (direction,)), factor * direction)
    along = tapegrad.jvp(tapegrad.grad(f), (zero,), (direction,))[1]
    np.testing.assert_allclose(along, factor * direction)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*NaN in the derivative")
@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize(
    ("function", "taylor"),
    [(np.cos, [0, -1, 0, 1]), (lambda r: r**4, [0, 0, 0, 24]), (lambda r: r * r, [0, 2, 0, 0])],
)
def test_higher_derivatives_at_zero_of_smooth_functions_of_a_norm(function, taylor, order):
    direction = np.array([0.6, 0.0, -0.8])
    found = nth_derivative(lambda t: function(np.linalg.norm(t * direction)), order)(0.0)
    if order < 4 or not np.isnan(found):  # beyond that a limit may not tell
        np.testing.assert_allclose(found, taylor[order - 1], atol=1e-12)


@pytest.mark.parametrize("order", [-1, -2, -0.5])
def test_a_zero_under_a_negative_order_has_no_slope(order):
    with np.errstate(all="ignore"):
        gradient = tapegrad.grad(lambda x: np.linalg.norm(x, order))(np.array([0.0, 2.0, 3.0]))
    np.testing.assert_array_equal(gradient, 0)


MATRIX_ORDERS = ["fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf]


@pytest.mark.part(5)
@pytest.mark.parametrize("order", MATRIX_ORDERS)
@pytest.mark.parametrize("axis", [(0, 1), (2, 0), (-1, -3)])
@MAKERS
def test_matrix_norms_over_any_pair_of_axes(axis, order, make):
    x = make(2, 3, 4)
    for keepdims in (False, True):

        def f(x, keepdims=keepdims):
            return np.linalg.norm(x, order, axis, keepdims)

        out = tapegrad.vjp(f, x)[0]
        np.testing.assert_allclose(out, f(x), rtol=1e-13)
        check_grads(f, (x,), order=2)


@pytest.mark.parametrize(
    "options",
    [
        {"axis": 5},
        {"axis": (0, 0)},
        {"axis": "a"},
        {"ord": "nuc", "axis": 0},
        {"ord": 7, "axis": (0, 1)},
        {"axis": (0, 1, 2)},
        {"ord": 2},
    ],
    ids=str,
)
def test_errors_are_numpys(options):
    x = real(2, 3, 4)
    with pytest.raises((ValueError, TypeError)) as plain:
        np.linalg.norm(x, **options)
    with pytest.raises(plain.type, match=str(plain.value).replace("(", ".")):
        tapegrad.vjp(lambda x: np.linalg.norm(x, **options), x)
