"""`tapegrad.math`, `tapegrad.cmath`, and `statistics` in adopted code, held to Python's own."""

from __future__ import annotations

import cmath
import math
import statistics

import numpy as np
import pytest

import tapegrad
from tapegrad import cmath as ours_of_complex
from tapegrad import grad, jvp, vmap
from tapegrad import math as ours
from tapegrad._adopt.scalars import of_statistics

POINT = {"acosh": 1.7, "gcd": None}
# Functions of more than a number, as functions of one.
CALLS = {
    "atan2": lambda m, x: m.atan2(x, 2.0) + m.atan2(1.5, x),
    "copysign": lambda m, x: m.copysign(x, -1.0),
    "dist": lambda m, x: m.dist([x, 1.0], [0.0, 3.0 * x]),
    "fma": lambda m, x: m.fma(x, x, 2.0),
    "fmod": lambda m, x: m.fmod(7.3, x) + m.fmod(5.0 * x, 1.1),
    "frexp": lambda m, x: m.frexp(x)[0] + m.frexp(x)[1],
    "fsum": lambda m, x: m.fsum([x, 2.0, x * x]),
    "hypot": lambda m, x: m.hypot(x, 2.0) + m.hypot(x, 1.0, x) + m.hypot(x),
    "isclose": lambda m, x: x if m.isclose(x, x + 1e-12) and not m.isclose(x, 2.0) else 0.0,
    "ldexp": lambda m, x: m.ldexp(x, 3),
    "log": lambda m, x: m.log(x) + m.log(x, 3.0) + m.log(3.0, x),
    "modf": lambda m, x: m.modf(3.0 * x)[0] + m.modf(3.0 * x)[1],
    "nextafter": lambda m, x: m.nextafter(x, 2.0),
    "pow": lambda m, x: m.pow(x, 3) + m.pow(2.0, x),
    "prod": lambda m, x: m.prod([x, 2.0, x], start=2.0),
    "remainder": lambda m, x: m.remainder(7.3, x) + m.remainder(5.0 * x, 1.1),
    "sumprod": lambda m, x: m.sumprod([x, 1.0], [2.0, x]),
    "ulp": lambda m, x: x + m.ulp(x),
    "rect": lambda m, x: m.rect(x, 2.0 * x).real,
    "polar": lambda m, x: sum(m.polar(x + 2j)),
    "phase": lambda m, x: m.phase(x + 2j),
}
OF_INTEGERS = ("comb", "factorial", "gcd", "isqrt", "lcm", "perm")
QUESTIONS = ("ceil", "floor", "isfinite", "isinf", "isnan", "trunc")


def slope(f, x, h=1e-5):
    return (8 * (f(x + h) - f(x - h)) - (f(x + 2 * h) - f(x - 2 * h))) / (12 * h)


def functions_of(module):
    return [
        name
        for name in dir(module)
        if callable(getattr(module, name)) and name[0] != "_" and name not in OF_INTEGERS
    ]


@pytest.mark.parametrize("name", functions_of(math))
def test_a_function_of_math(name):
    if name in ("gamma", "lgamma"):
        pytest.importorskip("scipy")
    x = 1.7 if name == "acosh" else 0.6
    call = CALLS.get(name, lambda m, x: getattr(m, name)(x))
    known = call(math, x)
    if name in QUESTIONS:
        assert grad(lambda x: x if call(ours, x) == known else 0.0 * x)(x) == 1.0
        assert type(call(ours, 0.5)) is type(call(math, 0.5))
        return
    value, found = jvp(lambda x: call(ours, x), (x,), (1.0,))
    np.testing.assert_allclose(
        value, known, 1e-14 if name in ("gamma", "lgamma", "remainder") else 4e-16
    )
    expected = slope(lambda x: call(math, x), x)
    np.testing.assert_allclose(found, expected, 1e-8, 1e-8)
    np.testing.assert_allclose(grad(lambda x: call(ours, x))(x), expected, 1e-8, 1e-8)
    assert call(ours, x) == known  # of a plain number Python's own
    if name not in ("frexp", "isclose", "nextafter", "ulp"):  # these ask for the value
        many = vmap(lambda x: call(ours, x))(np.array([x, x]))
        np.testing.assert_allclose(many, [known] * 2, 1e-14)


@pytest.mark.parametrize("name", functions_of(cmath))
def test_a_function_of_cmath(name):
    def parts(m, x):
        z = CALLS[name](m, x) if name in CALLS else getattr(m, name)(x)
        return z.real + 2.0 * z.imag if isinstance(z, complex | np.complexfloating) else z

    if name.startswith("is"):
        assert grad(lambda x: x * parts(ours_of_complex, x) if name != "isclose" else x)(0.6) in (
            0,
            1,
        )
        return
    x = 1.7 if name == "acosh" else 0.6
    found = grad(lambda x: parts(ours_of_complex, x))(x)
    np.testing.assert_allclose(found, slope(lambda x: parts(cmath, x), x), 1e-8, 1e-8)


def test_all_names_are_there():
    for module, mine in ((math, ours), (cmath, ours_of_complex)):
        for name in dir(module):
            if name[0] != "_":
                assert hasattr(mine, name)
                assert name in dir(mine)
        assert mine.pi == math.pi
    assert ours.factorial(5) == 120
    assert ours.gcd(12, 18) == 6
    with pytest.raises(AttributeError):
        ours.sine  # noqa: B018


@pytest.mark.parametrize(
    ("f", "error"),
    [
        (lambda x: ours.sqrt(x - 2.0), ValueError),
        (lambda x: ours.log(x - 1.0), ValueError),
        (lambda x: ours.exp(1e3 * x), OverflowError),
        (lambda x: ours.acos(x + 1.0), ValueError),
        (lambda x: ours.pow(0.0 * x, -1.0), ValueError),
        (lambda x: ours_of_complex.log(0.0 * x), ValueError),
    ],
)
def test_errors_are_pythons(f, error):
    with pytest.raises(error):
        f(1.0)
    with pytest.raises(error):
        grad(f)(1.0)


def test_a_program_that_catches_an_overflow():
    def safe(x):
        try:
            return ours.exp(x)
        except OverflowError:
            return 1e308

    assert grad(lambda x: x * safe(1e4 * x))(1.0) == 1e308


@pytest.mark.parametrize(
    "name",
    "fmean geometric_mean harmonic_mean mean median pstdev pvariance stdev variance".split(),
)
def test_a_function_of_statistics(name):
    plain, mine = getattr(statistics, name), of_statistics(name)

    def f(function, x):
        return function([x, 2.0, 3.0 * x, 0.7])

    np.testing.assert_allclose(
        grad(lambda x: f(mine, x))(1.1), slope(lambda x: f(plain, x), 1.1), 1e-7
    )
    assert f(mine, 1.1) == f(plain, 1.1)


def test_integers_are_refused_by_name():
    with pytest.raises(tapegrad.ConversionError, match=r"math\.factorial"):
        grad(lambda x: ours.factorial(x))(3.0)
