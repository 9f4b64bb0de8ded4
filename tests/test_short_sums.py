"""Reductions along short axes, whose bits are those of NumPy's own."""

import numpy as np
import pytest

from tapegrad import grad
from tapegrad._core.sums import reducing

SPECIAL = [0.0, -0.0, 1, -1, 2.5, 1e30, 1e-40, np.inf, -np.inf, np.nan]
UFUNCS = [np.add, np.multiply, np.maximum, np.minimum]


def _bits(x):
    x = np.where(np.isnan(x), np.nan, x).astype(x.dtype)  # a NaN's own bits mean nothing
    return x.view(np.dtype(f"i{x.dtype.itemsize}"))


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
