"""Reductions along short axes, whose bits are those of NumPy's own."""

import numpy as np
import pytest

from tapegrad import grad
from tapegrad._core.fast.sums import (
    reducing,
    running_sums,
    runs_by_blocks,
    summing,
    summing_products,
)

SPECIAL = [0.0, -0.0, 1, -1, 2.5, 1e30, 1e-40, np.inf, -np.inf, np.nan]
UFUNCS = [np.add, np.multiply, np.maximum, np.minimum]


def _bits(x):
    x = np.where(np.isnan(x), np.nan, x).astype(x.dtype)  # a NaN's own bits mean nothing
    return x.view(np.dtype(f"i{x.dtype.itemsize}"))


@pytest.mark.part(3)
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("letter", "fd")
@pytest.mark.parametrize("ufunc", UFUNCS)
def test_reductions_of_short_axes_have_the_bits_of_numpy(ufunc, letter, keepdims):
    rng = np.random.default_rng(0)
    for count in range(2, 9):
        for shape, axis in (((600, count), -1), ((600, count, 5), 1), ((count, 40, 8), 0)):
            scale = 10.0 ** rng.integers(-9, 9, shape)
            for x in (rng.choice(SPECIAL, shape), rng.standard_normal(shape) * scale):
                x = x.astype(letter)
                run = reducing(ufunc, shape, axis, keepdims)
                for given in (x, np.asfortranarray(x), x[::-1], np.flip(x, axis)):
                    with np.errstate(all="ignore"):
                        expected = ufunc.reduce(given, axis, keepdims=keepdims)
                        found = run(given)
                    np.testing.assert_array_equal(_bits(found), _bits(expected))


@pytest.mark.parametrize("function", [np.sum, np.mean, np.var, np.std, np.prod, np.max, np.min])
def test_calls_of_short_axes_that_come_again(function):
    x = np.random.default_rng(0).standard_normal((400, 3))

    def f(x):
        y = function(x, axis=1)
        return np.sum(y * y)

    for factor in (1, 2, 3):
        g = grad(f)(x * factor)
        step = np.zeros_like(x)
        step[7, 2] = 1e-6
        change = (f(x * factor + step) - f(x * factor - step)) / 2e-6
        assert abs(g[7, 2] - change) <= 1e-4 * (1 + abs(change))


@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize("shape", [(64, 320), (3, 40, 98), (2, 16 * 300), (40_000,)])
def test_running_sums_by_blocks(shape, back):
    rng = np.random.default_rng(0)
    x = rng.integers(-9, 9, shape).astype(np.float32)  # whose sums are exact
    assert runs_by_blocks(shape, -1, x.dtype)
    turn = np.s_[..., :: -1 if back else 1]
    expected = np.cumsum(x[turn], -1)[turn]
    np.testing.assert_array_equal(running_sums(x, back=back), expected)
    x.reshape(-1)[x.size // 3], x.reshape(-1)[x.size // 2] = np.inf, np.nan
    with np.errstate(all="ignore"):
        expected = np.cumsum(x[turn], -1)[turn]
        np.testing.assert_array_equal(running_sums(x, back=back), expected)


@pytest.mark.parametrize("axis", [0, 1])
def test_gradients_of_running_sums_that_come_again(axis):
    x = np.random.default_rng(0).standard_normal((64, 320))
    for factor in (1, 2, 3):
        g = grad(lambda x: np.sum(np.cumsum(x, axis) ** 2) / 2)(x * factor)
        sums = np.cumsum(x * factor, axis)
        expected = np.flip(np.cumsum(np.flip(sums, axis), axis), axis)
        np.testing.assert_allclose(g, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("letter", "fd")
@pytest.mark.parametrize("to", [(), (1,), (1, 1, 1), (40, 30, 1)])
def test_sums_of_products_are_those_of_their_product(to, letter):
    rng = np.random.default_rng(0)
    shape = (40, 30, 9)
    g, p = (rng.integers(-9, 9, shape).astype(letter) for _ in range(2))
    total = summing(shape, to, g.dtype)
    product = summing_products(shape, to, g.dtype, total)
    for other in ((30, 1), (40, 1, 9), (9,)):  # by no product of vectors
        assert summing_products(shape, other, g.dtype, total) is None
    assert summing_products((8, 8), (8, 1), g.dtype, total) is None  # nor of few elements
    spread = np.broadcast_to(g[:1, :1, :1], shape)
    for one in (g, np.asfortranarray(g), spread):
        for other in (p, p[:, :1], p[:1], np.asfortranarray(p), p[0, 0, 0], p.astype("d")):
            found = product(one, other)
            np.testing.assert_array_equal(found, total(one * other))
            assert np.shape(found) == to


def test_gradients_by_what_broadcasts():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((40, 30))
    for shape in ((), (1,), (40, 1), (30,), (1, 1)):
        y = rng.uniform(0.5, 2, shape)
        for _ in range(3):
            by_product = grad(lambda y: np.sum(np.sin(x * y)))(y)
            by_quotient = grad(lambda y: np.sum(np.sin(x / y)))(y)
        axes = tuple(i for i in range(2) if i < 2 - len(shape) or shape[i - 2] == 1)
        kept = np.sum(np.cos(x * y) * x, axes).reshape(shape)
        np.testing.assert_allclose(by_product, kept, rtol=1e-9, atol=1e-9)
        kept = np.sum(np.cos(x / y) * -x / y**2, axes).reshape(shape)
        np.testing.assert_allclose(by_quotient, kept, rtol=1e-9, atol=1e-9)
