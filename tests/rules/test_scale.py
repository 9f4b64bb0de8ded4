"""The elementwise rules from the smallest numbers to the largest: no relative accuracy is lost.

The reference is a difference of mpmath's, by so many digits that no step is too small.
"""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("mpmath")

import mpmath as mp
from backends import BACKENDS

import tapegrad
from tapegrad import compile, grad, hessian, jvp, vjp, vmap

DIGITS = 1400
MAGNITUDES = [10.0**e for e in (-300, -200, -160, -100, -20, -8, -3, -1, 0, 0.7, 1.2, 1.5)]
MAGNITUDES += [10.0**e for e in (2, 2.6, 5, 8, 20, 50, 100, 154, 160, 200, 300)]
SINGLE = [10.0**e for e in (-37, -25, -20, -10, -3, -1, 0, 0.7, 1.2, 1.5, 5, 10, 20, 25, 37)]


def _log_sum(x, y):
    top, rest = max(x, y), min(x, y)
    return top + mp.log1p(mp.exp(rest - top)) if rest - top > -1e5 else top


ONE = {
    "sqrt": mp.sqrt,
    "cbrt": lambda x: mp.sign(x) * mp.cbrt(abs(x)),
    "exp": mp.exp,
    "exp2": lambda x: mp.mpf(2) ** x,
    "expm1": mp.expm1,
    "log": mp.log,
    "log2": lambda x: mp.log(x) / mp.log(2),
    "log10": mp.log10,
    "log1p": mp.log1p,
    "sin": mp.sin,
    "cos": mp.cos,
    "tan": mp.tan,
    "arcsin": mp.asin,
    "arccos": mp.acos,
    "arctan": mp.atan,
    "sinh": mp.sinh,
    "cosh": mp.cosh,
    "tanh": mp.tanh,
    "arcsinh": mp.asinh,
    "arccosh": mp.acosh,
    "arctanh": mp.atanh,
    "reciprocal": lambda x: 1 / x,
    "square": lambda x: x * x,
}
TWO = {
    "arctan2": (mp.atan2, (1e-200, 1e-5, -1.0, 1e200)),
    "logaddexp": (_log_sum, (1e-200, -1.0, 30.0)),
    "power": (lambda x, y: x**y, (2.0, 3.0, -1.0, -2.0, 0.5, -0.5, 1.5)),
}
PERIODIC = ("sin", "cos", "tan")  # a step of `derivatives` is longer than a period far out
BESIDE = {"divide": (lambda x, y: x / y, (1e-5, 1.0, -1e5)), "arctan2": (mp.atan2, (1e-5, -1e9))}
CASES = [(name, value, None) for name, value in ONE.items()]
CASES += [(name, value, beside) for name, (value, others) in TWO.items() for beside in others]
CASES += [
    (f"{name} by the second", lambda x, y, f=value: f(y, x), beside)
    for name, (value, others) in BESIDE.items()
    for beside in others
]


def derivatives(f, x):
    """The first three derivatives of mpmath's function at x; None where it is not real."""
    with mp.workdps(DIGITS):
        x = mp.mpf(x)
        h = abs(x) * mp.mpf(10) ** (-DIGITS // 8)
        try:
            before2, before, at, after, after2 = (mp.mpf(f(x + k * h)) for k in range(-2, 3))
        except (TypeError, ValueError, OverflowError, ZeroDivisionError):
            return None
        third = (after2 - 2 * after + 2 * before - before2) / (2 * h**3)
        return (after - before) / (2 * h), (after - 2 * at + before) / h**2, third


def assert_accurate(got, right, x, condition, limits, eps):
    """Equal to 1e5 roundings, and as many more as a rounding of x changes."""
    low, high = limits
    if not low < abs(right) < high:  # it under- or overflows, if not exactly so
        assert abs(right) >= high or abs(got) < 2 * low
        return
    error = abs(mp.mpf(float(got)) - right) / abs(right)
    assert error <= 1e5 * eps * (1 + condition), (x, got, float(right), float(error))


@pytest.mark.part(24)
@pytest.mark.parametrize(("name", "value", "beside"), CASES, ids=lambda x: str(x)[:12])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_first_and_second_derivatives_at_every_magnitude(name, value, beside, dtype):
    ufunc, reverse = getattr(np, name.split()[0]), " " in name
    if beside is not None and dtype is np.float32:
        beside = np.clip(beside, -1e30, 1e30)
    other = beside and float(dtype(beside))
    if other == 0:
        return  # no number of single precision

    def f(x):
        args = (x,) if other is None else (x, dtype(other))
        return ufunc(*(args[::-1] if reverse else args))

    def of_mpmath(x):
        return value(x) if other is None else value(x, mp.mpf(other))

    eps, info = float(np.finfo(dtype).eps), np.finfo(dtype)
    limits = float(info.tiny) / eps, float(info.max) * eps
    for x in MAGNITUDES if dtype is np.float64 else SINGLE:
        for at in (dtype(x), dtype(-x)):
            with np.errstate(all="ignore"):
                if not np.isfinite(f(at)) or (name in PERIODIC and x > 1e100):
                    continue
                right = derivatives(of_mpmath, float(at))
                if right is None:
                    continue
                first = [grad(f)(at), jvp(f, (at,), (dtype(1),))[1]]
                second = [grad(grad(f))(at), hessian(f)(at)]
            for order, found in enumerate((first, second)):
                true, next_one = right[order], right[order + 1]
                condition = abs(float(at) * next_one / true) if true else 0
                for got in found:
                    assert_accurate(got, true, float(at), condition, limits, eps)


def reciprocals(f):
    """The change of 1 / x at 1e200 along 1e200, whose partial is 1e-400."""
    big = np.array([1e200, -1e200])
    yield jvp(f, (1e200,), (1e200,))[1]
    yield vjp(f, 1e200)[1](1e200)[0]
    yield jvp(f, (big,), (np.abs(big),))[1]
    yield vjp(f, big)[1](np.abs(big))[0]
    yield vmap(lambda x, dot: jvp(f, (x,), (dot,))[1])(big, np.abs(big))
    for backend in BACKENDS:
        yield compile(lambda x: jvp(f, (x,), (np.abs(x),))[1], backend=backend)(big)
        yield compile(lambda x: vjp(f, x)[1](np.abs(x))[0], backend=backend)(big)


@pytest.mark.parametrize("f", [lambda x: 1 / x, np.reciprocal, lambda x: np.divide(1.0, x)])
def test_the_slope_of_a_reciprocal_is_no_square(f):
    for found in reciprocals(f):
        np.testing.assert_allclose(found, -1e-200, rtol=1e-14)
    single = jvp(f, (np.float32(1e30),), (np.float32(1e30),))[1]
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, -1e-30, rtol=1e-6)


def test_the_hessian_of_the_logarithm_of_a_large_sum():
    def f(x):
        return np.log(np.sum(np.exp(x)))

    x = np.array([700.0, 1.0, -700.0])
    for found in (hessian(f)(x), tapegrad.jacrev(grad(f))(x), tapegrad.jacfwd(grad(f))(x)):
        np.testing.assert_allclose(found, np.zeros((3, 3)), atol=1e-300)


def test_arctan2_at_any_radius():
    for scale in (1e-200, 1e-30, 1.0, 1e160, 1e300):
        by_y, by_x = grad(np.arctan2, (0, 1))(3 * scale, 4 * scale)
        np.testing.assert_allclose([by_y, by_x], [0.16 / scale, -0.12 / scale], rtol=1e-14)
    turned = grad(np.angle)(4e-200 + 3e-200j)
    np.testing.assert_allclose([turned.real, turned.imag], [-1.2e199, -1.6e199], rtol=1e-14)

    def f(v):
        return np.arctan2(v[0], v[1])

    with np.errstate(all="ignore"):
        assert np.array_equal(hessian(f)(np.zeros(2)), np.zeros((2, 2)))
    found = hessian(f)(np.array([3e-100, 4e-100]))
    np.testing.assert_allclose(found, [[-3.84e198, -1.12e198], [-1.12e198, 3.84e198]], rtol=1e-13)


@pytest.mark.parametrize("backend", BACKENDS)
def test_saturated_and_large_elements_beside_others_in_programs(backend):
    for f, x, right in [
        (np.tanh, [0.1, 25.0], [1 / np.cosh(0.1) ** 2, 7.714999391855671e-22]),
        (np.arcsinh, [0.0, 1e200], [1.0, 1e-200]),
        (lambda x: np.arctan2(x, 1e-200), [1e-200, 1.0], [5e199, 1e-200]),
    ]:
        slope = grad(lambda x, f=f: np.sum(f(x)))
        compiled = compile(slope, backend=backend)
        np.testing.assert_allclose(compiled(np.array([0.1, 0.2])), slope(np.array([0.1, 0.2])))
        for call in (slope, compiled, vmap(grad(f))):
            np.testing.assert_allclose(call(np.array(x)), right, rtol=1e-12)


def test_tanh_of_a_complex_number_far_out():
    for z in (25 + 1j, -25 + 1j):
        right = complex(1 / mp.cosh(z) ** 2)
        np.testing.assert_allclose(vjp(np.tanh, z)[1](1 + 0j)[0], right, rtol=1e-12)


LENGTHS = {
    "norm": np.linalg.norm,
    "rows": lambda x: np.sum(np.linalg.norm(x.reshape(2, 2), axis=1)),
    "matrix": lambda x: np.linalg.norm(x.reshape(2, 2), keepdims=True)[0, 0],
    "complex": lambda x: np.linalg.norm(x[:2] + 1j * x[2:]),
    "third": lambda x: np.linalg.norm(x, 3),
    "negative": lambda x: np.sum(np.linalg.norm(x.reshape(2, 2), -2, axis=0, keepdims=True)),
    "vector": lambda x: np.linalg.vector_norm(x, ord=2.5),
    "deviation": np.std,
    "deviations": lambda x: np.sum(np.std(x.reshape(2, 2), axis=1, ddof=1)),
    "corrected": lambda x: np.std(x, correction=1),
    "some": lambda x: np.std(x, where=[True, False, True, True]),
    "around": lambda x: np.std(x, mean=np.mean(x * 2, keepdims=True)),
    "present": lambda x: np.nanstd(np.concatenate([x, [x.dtype.type(np.nan)]])),
}


def _slopes_of(f, x, dot):
    yield "grad", np.sum(grad(f)(x) * dot)
    yield "jvp", jvp(f, (x,), (dot,))[1]
    yield "vmap", np.sum(vmap(grad(f))(x[None])[0] * dot)
    for backend in BACKENDS:
        yield backend, np.sum(compile(grad(f), backend=backend)(x) * dot)
        yield backend, compile(lambda x: jvp(f, (x,), (dot,))[1], backend=backend)(x)


@pytest.mark.part(3)
@pytest.mark.parametrize("name", LENGTHS)
@pytest.mark.parametrize("scale", [1e200, 1e-200, 1e-160, np.float32(1e25), np.float32(1e-25)])
def test_the_slope_of_a_length_whose_squares_under_or_overflow(name, scale):
    f, at = LENGTHS[name], np.array([3.0, 4.0, -2.0, 5.0])
    x, dot = (at * scale).astype(np.result_type(scale)), np.array([1.0, 0.5, 2.0, -1.0])
    dot = dot.astype(x.dtype)
    right = np.sum(grad(f)(at) * dot)
    with np.errstate(all="ignore"):
        for way, found in _slopes_of(f, x, dot):
            assert np.result_type(found) == x.dtype
            np.testing.assert_allclose(found, right, rtol=100 * np.finfo(x.dtype).eps, err_msg=way)


@pytest.mark.parametrize("f", [np.linalg.norm, np.std, lambda x: np.linalg.norm(x, 3)])
def test_the_hessian_of_a_length_whose_squares_underflow(f):
    at = np.array([3.0, 4.0, -2.0, 5.0])
    with np.errstate(all="ignore"):
        found = hessian(f)(at * 1e-200), tapegrad.jacfwd(grad(f))(at * 1e-200)
        large = hessian(f)(at * 1e200)
    for one in found:
        np.testing.assert_allclose(one * 1e-200, hessian(f)(at), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(large * 1e200, hessian(f)(at), rtol=1e-12, atol=1e-14)


def test_lengths_beside_others_whose_squares_under_or_overflow():
    x = np.array([[3e200, 4e200], [3.0, 4.0], [0.0, 0.0], [3e-200, 4e-200], [np.inf, 1.0]])
    for f in (lambda x: np.linalg.norm(x, axis=1), lambda x: np.linalg.norm(x, 2.0, axis=1)):
        with np.errstate(all="ignore"):
            out, pull = vjp(f, x)
            np.testing.assert_array_equal(out, np.linalg.norm(x, axis=1))
            (bar,) = pull(np.ones(5))
        right = [[0.6, 0.8], [0.6, 0.8], [0.0, 0.0], [0.6, 0.8], [np.nan, 0.0]]
        np.testing.assert_allclose(bar, right)
    equal = np.array([[1e-200] * 3, [1e200] * 3, [1.0, 2.0, 3.0]])
    with np.errstate(all="ignore"):
        bar = grad(lambda x: np.sum(np.std(x, axis=1)))(equal)
    np.testing.assert_array_equal(bar[:2], np.zeros((2, 3)))
    np.testing.assert_allclose(bar[2], np.array([-1, 0, 1]) / np.sqrt(6), atol=1e-15)
