"""Zeros in forward mode: where a result has a NaN, the function runs a second time.

Then the replay tells zeros of elements that do not move from those that were computed.
"""

from __future__ import annotations

import numpy as np
import pytest

import tapegrad
from tapegrad import jvp, vmap

NAN, INF = np.nan, np.inf
MISSING = np.array([1.0, NAN, 3.0])


def zero_second(x):
    """x with a derivative of zero by the second element."""
    return np.where([True, False, True], x, 2.0)


# Programs whose second element has a tangent of zero beside an infinity or a NaN.
INFINITE = {
    "log": lambda x: np.log(np.where([True, False, True], x, 0.0)),
    "root": lambda x: np.sqrt(np.where([True, False, True], x, 0.0)),
    "quotient": lambda x: 1.0 / np.where([True, False, True], x, 0.0),
    "product": lambda x: zero_second(x) * np.array([1.0, INF, 3.0]),
    "two": lambda x: np.maximum(zero_second(x) * np.array([1.0, INF, 3.0]), x),
    "rows": lambda x: (zero_second(x) * np.array([[1.0, INF, 3.0], [1.0, 2.0, 3.0]]))[0],
    "hypot": lambda x: np.hypot(zero_second(x), np.array([1.0, INF, 3.0])),
    "outer": lambda x: np.outer(zero_second(x), np.array([1.0, INF]))[:, 1],
}
MISSED = {
    "product": lambda x: zero_second(x) * MISSING,
    "rows": lambda x: (zero_second(x) * np.array([MISSING, MISSING]))[0],
    "chain": lambda x: np.sin(zero_second(x) * MISSING) * 2.0,
    "quotient": lambda x: zero_second(x) / MISSING,
}


def run(f, x, dot):
    calls = []

    def counted(x):
        calls.append(1)
        return f(x)

    with np.errstate(all="ignore"):
        return jvp(counted, (x,), (dot,))[1], len(calls)


@pytest.mark.parametrize(
    "f", [*INFINITE.values(), *MISSED.values()], ids=[*INFINITE, *map("missed {}".format, MISSED)]
)
def test_a_zero_beside_an_infinity_or_a_nan_is_zero(f):
    x = np.array([1.0, 2.0, 3.0])
    for _ in range(3):
        dot, calls = run(f, x, np.ones(3))
        assert dot[1] == 0 or f is INFINITE["two"]
        assert np.isfinite(dot).all() or f is INFINITE["outer"]
        assert calls <= 2
        with np.errstate(all="ignore"):
            many = vmap(lambda x: jvp(f, (x,), (np.ones(3),))[1])(np.array([x, x]))
        np.testing.assert_array_equal(many, [dot, dot])


def test_a_nan_that_reaches_no_result_costs_no_second_run():
    x = np.array([1.0, -2.0, 3.0])
    dot, calls = run(lambda x: np.where(x > 0, np.sqrt(x) * MISSING[0], 0.0), x, np.ones(3))
    np.testing.assert_allclose(dot, [0.5, 0.0, 0.5 / np.sqrt(3.0)])
    assert calls == 1


def test_a_nan_that_counts_stays():
    dot, _ = run(lambda x: x * MISSING, np.ones(3), np.ones(3))
    np.testing.assert_array_equal(dot, MISSING)


NUMBERS = {
    "product": lambda x, c: 2.0 * x * c * x,
    "sum": lambda x, c: (x + c) - x * x,
    "quotient": lambda x, c: x / c + c / x + x / 2.0 + 3.0 / x,
    "power": lambda x, c: x**2 + x**0.5 + x**3 * c,
    "element": lambda x, c: (np.array([c, c]) * x)[0] * x,
    "written": lambda x, c: written(x) * c,
    "stack": lambda x, c: np.sum(np.stack([x, x * x * c])),
    "functions": lambda x, c: np.exp(x) * np.tanh(c * x) + np.maximum(x, c),
    "norm": lambda x, c: np.hypot(x, c),
    "0-d array": lambda x, c: np.asarray(c) * x * x,
}


def written(x):
    made = np.zeros_like(x, shape=3)
    made[0] = x
    made[1] = x * made[0]
    return made[0] + made[1] * 2.0


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("f", NUMBERS.values(), ids=NUMBERS)
def test_tangents_of_numbers(f, dtype):
    x, c, one = dtype(0.7), dtype(1.3), dtype(1)

    def g(x):
        return f(x, c)

    out, dot = jvp(g, (x,), (one,))
    assert type(dot) is type(tapegrad.grad(g)(x))
    assert dot.dtype == out.dtype == dtype
    double = dtype is np.float64
    np.testing.assert_allclose(dot, tapegrad.grad(g)(x), 1e-12 if double else 1e-5)
    second = jvp(lambda x: jvp(g, (x,), (one,))[1], (x,), (one,))[1]
    again = tapegrad.grad(tapegrad.grad(g))(x)
    np.testing.assert_allclose(second, again, 1e-9 if double else 1e-3)


@pytest.mark.parametrize("factor", [INF, np.float64(INF), NAN, np.float64(NAN)])
def test_a_number_whose_tangent_is_zero(factor):
    def f(x):
        return (x * 0.0) * factor + factor * (x - x) + x

    with np.errstate(all="ignore"):
        assert np.isnan(jvp(f, (2.0,), (1.0,))[1])  # as the value is


def test_large_numbers_overflow_in_silence():
    with np.errstate(all="raise"):
        assert jvp(lambda x: x * 1e-200, (1e250,), (1e308,))[1] == 1e108
        assert jvp(lambda x: x * 2.0, (1.0,), (1.7e308,))[1] == INF
        assert jvp(lambda x: x + x, (1.0,), (1.7e308,))[1] == INF


def test_warnings_of_the_program_are_its_own():
    with pytest.warns(RuntimeWarning, match="divide by zero encountered in log"):
        jvp(lambda x: np.log(x * 0.0), (np.ones(2),), (np.ones(2),))
