"""Derivatives that are infinite, or NaN, somewhere: such functions are programs, too.

The back end of NumPy's calls has the function's own bits, and machine code its infinities and
NaNs. No call of them is the function's own, once the program knows the way that it goes.
"""

from __future__ import annotations

import contextlib
import warnings
from importlib.util import find_spec

import numpy as np
import pytest
from compiled import rounded

import tapegrad
from tapegrad import _tree
from tapegrad._program.program import UnknownAnswer

CALLS = 8
W = np.random.default_rng(1).standard_normal((5, 3))


def with_zeros(draw, n):
    x = draw.standard_normal(5)
    if n % 2:
        x[n % 5] = 0
    return x


def not_negative(draw, n):
    return np.abs(with_zeros(draw, n))


def all_zero_at_times(draw, n):
    return np.zeros(5) if n % 3 == 1 else with_zeros(draw, n)


def up_to_one(draw, n):
    x = np.tanh(with_zeros(draw, n))
    x[1] = 1 if n % 2 else x[1]
    return x


def rows_with_zeros(draw, n):
    x = draw.standard_normal((3, 5))
    x[n % 3] = 0
    return x


def number(draw, n):
    return 0.0 if n % 2 else 0.3 + n


def numpys_number(draw, n):
    return np.float64(number(draw, n))


# By name, a function and what it is called with.
FUNCTIONS = {
    "sqrt": (lambda x: np.sum(np.sqrt(x)), not_negative),
    "power": (lambda x: np.sum(x**0.5), not_negative),
    "powers": (lambda x: np.sum(x ** np.abs(x)), all_zero_at_times),
    "norm": (lambda x: np.sqrt(np.sum(x * x)), all_zero_at_times),
    "linalg.norm": (lambda x: np.linalg.norm(x), all_zero_at_times),
    "norms": (lambda x: np.sum(np.linalg.norm(x, axis=-1)), rows_with_zeros),
    "log": (lambda x: np.sum(np.log(x)), not_negative),
    "log of negative": (lambda x: np.sum(np.log(x)), with_zeros),
    "nansum": (lambda x: np.nansum(np.log(x)), with_zeros),
    "arccos": (lambda x: np.sum(np.arccos(x)), up_to_one),
    "arcsin": (lambda x: np.sum(x * np.arcsin(x)), up_to_one),
    "masked log": (lambda x: np.sum(np.where(x > 0, np.log(x), x)), with_zeros),
    "masked sqrt": (lambda x: np.sum(np.where(x > 0, np.sqrt(x) * np.sin(x), x)), with_zeros),
    "masked quotient": (lambda x: np.sum(np.where(x != 0, np.sin(x) / x, 1.0)), with_zeros),
    "distances": (
        lambda x: np.sum(np.sqrt(np.sum((x[:, None] - x[None]) ** 2, axis=-1))),
        rows_with_zeros,
    ),
    "layers": (lambda x: np.sum(np.sqrt(np.maximum(x @ W, 0)) @ W.T), rows_with_zeros),
    "masked layers": (lambda x: np.sum(np.where(x > 0, np.log(x), 0) @ W), rows_with_zeros),
    "std": (np.std, all_zero_at_times),
    "products": (lambda x: np.sum(np.cumprod(np.sqrt(np.abs(x)))), all_zero_at_times),
    "product": (lambda x: np.prod(np.sqrt(np.abs(x))), all_zero_at_times),
    "arctan2": (lambda x: np.sum(np.arctan2(x, x[::-1])), all_zero_at_times),
    "hypot": (lambda x: np.sum(np.hypot(x, x[::-1])), all_zero_at_times),
    "a number": (lambda x: np.sqrt(x) * 2.0, number),
    "a number of NumPy's": (lambda x: np.sin((x * x) ** 0.5), numpys_number),
}

# Where a computed zero meets an infinity, the function itself finds the limit.
LIMITS = {"norm", "norms", "distances", "layers", "products", "product", "linalg.norm"}
LIMITS |= {"powers", "log of negative", "a number of NumPy's"}
TRANSFORMS = {
    "grad": tapegrad.grad,
    "value_and_grad": tapegrad.value_and_grad,
    "jvp": lambda f: lambda x: tapegrad.jvp(f, (x,), (np.cos(x),)),
    "linearize": lambda f: lambda x: tapegrad.linearize(f, x)[1](np.cos(x)),
    "of the gradient": lambda f: lambda x: tapegrad.jvp(tapegrad.grad(f), (x,), (np.cos(x),))[1],
    "of its square": lambda f: tapegrad.grad(lambda x: np.sum(tapegrad.grad(f)(x) ** 2)),
    "hessian": tapegrad.hessian,
    "vmap": lambda f: lambda x: tapegrad.vmap(tapegrad.grad(f))(np.stack([x, x * 0.5, x * 0])),
}


def assert_same(got, expected, backend):
    for a, b in zip(_tree.flatten(got)[0], _tree.flatten(expected)[0], strict=True):
        assert type(a) is type(b)
        x, y = np.asarray(a), np.asarray(b)
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        if backend == "numpy":
            assert rounded(a, b, least=1.0), f"{a!r}, not {b!r}"
        else:
            scale = np.max(np.abs(y), initial=1.0, where=np.isfinite(y))
            np.testing.assert_allclose(x, y, rtol=1e-10, atol=1e-13 * scale)


def check(f, make, backend, calls=CALLS, *, by_program=True):
    """Call f and its program, which most calls are made by."""
    fast = tapegrad.compile(f, backend=backend)
    draw = np.random.default_rng(0)
    inputs = [make(draw, n) for n in range(calls)]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("error", tapegrad.EagerWarning)
        for x in inputs:
            f(x)  # which plans calls
        for x in inputs:
            assert_same(fast(x), f(x), backend)
        (program,) = fast.call.programs.values()
        known = 0
        for x in inputs:  # the program itself: errors in it would be calls of f
            with contextlib.suppress(UnknownAnswer):
                if program.runner is not None:
                    assert_same(program.runner.run([x]), f(x), backend)
                    known += 1
        assert known > calls // 2 or not by_program


@pytest.mark.part(24)
@pytest.mark.parametrize("transform", ["grad", "jvp", "of the gradient", "vmap"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_numpy(name, transform):
    f, make = FUNCTIONS[name]
    check(TRANSFORMS[transform](f), make, "numpy", by_program=name not in LIMITS)


# A limit for each of 15 rows.
HEAVY = {(name, "hessian") for name in ("distances", "norms", "layers")}


@pytest.mark.slow
@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("backend", ["numpy", "interpreter"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_all_of_numpy(name, backend, transform):
    f, make = FUNCTIONS[name]
    count = 4 if (name, transform) in HEAVY else 12
    check(TRANSFORMS[transform](f), make, backend, count, by_program=name not in LIMITS)


NATIVE = pytest.mark.skipif(find_spec("llvmlite") is None, reason="llvmlite is not installed")


@pytest.mark.part(16)
@NATIVE
@pytest.mark.parametrize("name", FUNCTIONS)
def test_native(name):
    f, make = FUNCTIONS[name]
    check(tapegrad.grad(f), make, "llvm", by_program=name not in LIMITS)


@NATIVE
@pytest.mark.slow
@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_all_native(name, transform):
    f, make = FUNCTIONS[name]
    count = 4 if (name, transform) in HEAVY else 12
    check(TRANSFORMS[transform](f), make, "llvm", count, by_program=name not in LIMITS)


@NATIVE
@pytest.mark.parametrize("name", ["sqrt", "masked log", "masked quotient"])
def test_such_calls_are_native(name):
    """No call of a known way is made by NumPy's program, nor by the function itself."""
    f, make = FUNCTIONS[name]
    f = tapegrad.grad(f)
    fast = tapegrad.compile(f, backend="llvm")
    draw = np.random.default_rng(0)
    inputs = [make(draw, n) for n in range(6)]
    with np.errstate(all="ignore"):
        for x in 4 * inputs:
            fast(x)
        (program,) = fast.call.programs.values()
        assert program.careful
        assert not program.eager
        fast.call.f = program.runner.usual = None
        for x in inputs:
            assert_same(fast(x), f(x), "llvm")


def test_a_program_begins_anew_after_some_such_calls():
    """Derivatives are finite at first; a few calls are the function's own, then none is."""
    f = tapegrad.grad(lambda x: np.sum(np.sqrt(x)))
    fast = tapegrad.compile(f, backend="numpy")
    for x in (np.ones(3), np.ones(3), np.full(3, 2.0)):
        assert_same(fast(x), f(x), "numpy")
    (program,) = fast.call.programs.values()
    assert not program.careful
    x = np.array([0.0, 1.0, 4.0])
    for _ in range(10):
        assert_same(fast(x), f(x), "numpy")
    assert program.careful
    for _ in range(3):  # the way of finite derivatives is recorded once more
        assert_same(fast(np.ones(3)), f(np.ones(3)), "numpy")
    fast.call.f = None
    for _ in range(3):
        assert_same(fast(x), np.array([np.inf, 0.5, 0.25]), "numpy")
        assert_same(fast(np.ones(3)), f(np.ones(3)), "numpy")
