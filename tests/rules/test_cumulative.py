"""Running sums and products: starts, whole numbers, zeros to high order."""

from __future__ import annotations

import numpy as np
import pytest

from tapegrad import grad, jvp, vjp
from tapegrad.rules.cumulative import cumprod_jvp, cumprod_vjp
from tapegrad.testing import check_grads, check_rule

X = np.array([[0.3, -1.2, 2.1], [1.7, 0.4, -0.6]])


@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
@pytest.mark.parametrize("start", [False, True])
def test_running_sums_and_products_from_a_start(name, start):
    function = getattr(np, name)
    check_rule(function, X, axis=1, include_initial=start)
    check_rule(function, X + 1j, axis=-2, include_initial=start)
    check_rule(function, X[0], include_initial=start)
    check_rule(function, np.array(1.5), include_initial=start)
    check_rule(function, X.astype(np.float32), axis=0, dtype=np.float64, include_initial=start)
    with pytest.raises(ValueError, match="argument is required"):
        grad(lambda x: np.sum(function(x)))(X)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 8, 9])
def test_running_products_of_any_count_with_zeros(size):
    x = np.linspace(-1, 2, size)
    x[::3] = 0
    check_grads(np.cumprod, (x,), order=3)


def test_running_products_of_nothing():
    assert grad(lambda x: np.sum(np.cumprod(x)))(np.zeros(0)).shape == (0,)
    assert grad(lambda x: np.sum(np.cumprod(x, axis=0)))(np.zeros((0, 2))).shape == (0, 2)
    assert grad(lambda x: np.sum(np.cumprod(x, axis=1)))(np.zeros((0, 2))).shape == (0, 2)


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("special", [1.0, 0.0, 1e-200, 1e200, np.inf, np.nan])
def test_planned_cumulative_products_are_those_of_the_rule(axis, special):
    """Quotients serve ordinary numbers alone; an initial call, which is general, says the rest."""
    x = np.array([[0.5, special, 2.0, special], [special, 1.5, 0.7, -1.2], [1.0, 2.0, 3.0, 4.0]])
    dot, bar = np.cos(x + 1) if np.isfinite(special) else np.ones((3, 4)), np.ones((3, 4))
    bar = bar.reshape(-1) if axis is None else bar
    with np.errstate(all="ignore"):
        unknown = np.isnan(np.cumprod(x, axis))  # what is NaN has derivatives of NaN
        wanted = cumprod_vjp(np.where(unknown, np.nan, bar), np.cumprod(x, axis), x, axis)
        pushed = np.where(unknown, np.nan, cumprod_jvp([dot], None, x, axis))
        for _ in range(2):
            out, pullback = vjp(lambda x: np.cumprod(x, axis), x)
            np.testing.assert_array_equal(out, np.cumprod(x, axis))
            np.testing.assert_allclose(pullback(bar)[0], wanted, 1e-12)
            found = jvp(lambda x: np.cumprod(x, axis), (x,), (dot,))[1]
            np.testing.assert_allclose(found, pushed, 1e-12)


@pytest.mark.parametrize(("dtype", "small"), [(np.float64, 1e-200), (np.float32, 1e-25)])
def test_cumulative_products_of_tiny_numbers_lose_no_digits(dtype, small):
    """A cotangent times a product, or a tangent over an element, may be less than any number."""
    x, bar = np.array([small, 2, 3], dtype), np.full(3, small, dtype)
    for _ in range(3):
        (found,) = vjp(np.cumprod, x)[1](bar)
        np.testing.assert_allclose(found[0], 9 * small, 1e-6)
        found = jvp(np.cumprod, (1 / x,), (np.array([small, 0, 0], dtype),))[1]
        np.testing.assert_allclose(found, np.array([small, small / 2, small / 6], dtype), 1e-6)
