"""Python numbers beside traced values: the value is NumPy's, the derivative that of its scalar."""

from __future__ import annotations

import math
import operator
import re
import sys
import types
import warnings

import numpy as np
import pytest
from draws import draws
from hypothesis import example, given
from hypothesis import strategies as st

import tapegrad
from tapegrad import grad, jvp, vmap
from tapegrad._core.rule import rules_of_form

OPERATORS = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.divide: operator.truediv,
    np.floor_divide: operator.floordiv,
    np.remainder: operator.mod,
    np.power: operator.pow,
}
UFUNCS = [
    rule.function
    for rule in rules_of_form("elementwise")
    if isinstance(rule.function, np.ufunc)
    and (rule.function.nin, rule.function.nout) == (2, 1)
    and rule.function is not np.ldexp  # whose other argument is an integer
    and getattr(np, rule.function.__name__, None) is rule.function  # tests/scipy
]
CALLS = {f"np.{ufunc.__name__}": (ufunc, ufunc) for ufunc in [*UFUNCS, np.floor_divide]}
CALLS |= {call.__name__: (call, ufunc) for ufunc, call in OPERATORS.items()}

SINGULAR = [
    0,
    0.0,
    -0.0,
    False,
    True,
    0j,
    -1,
    2,
    0.5,
    -2.0,
    10**30,
    10**400,
    1e300,
    np.inf,
    np.nan,
]
WHOLE_COMPLEX = st.builds(complex, st.integers(-5, 5), st.integers(-5, 5))
NUMBERS = st.sampled_from(SINGULAR) | st.integers(-5, 5) | st.floats(width=32) | WHOLE_COMPLEX
VALUES = {
    "number": np.float64(0.0),
    "another number": np.float64(-1.5),
    "array": np.array([0.0, 1.0, -2.0, 0.5]),
    "0-d array": np.array(0.5),
    "float32": np.float32(2.0),
    "array of float32": np.array([0.0, 1.5], np.float32),
    "complex": np.array([0.0, 1 + 2j]),
}


def outcome(f, *args):
    """The value of a call, or the kind of its error; and the warnings that it gave."""
    with warnings.catch_warnings(record=True) as given, np.errstate(all="warn"):
        warnings.simplefilter("always")
        try:
            out = f(*args)
        except Exception as error:  # noqa: BLE001
            out = TypeError if isinstance(error, TypeError) else type(error)
    return out, {re.sub("scalar ", "", str(each.message)) for each in given}


def same(found, expected):
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    tolerance = 64 * np.finfo(expected.dtype).eps if expected.dtype.kind in "fc" else 0
    # Real and imaginary parts that are added up may cancel.
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def derivatives(f, x):
    """Results of each transform for a real function of an array or number."""
    one = np.ones_like(x)[()] if isinstance(x, np.generic) else np.ones_like(x)
    examples = np.stack([x, x])
    with np.errstate(all="ignore"):  # in no generator, which would leave it to others in between
        found = [
            tapegrad.grad(f)(x),
            tapegrad.grad(tapegrad.checkpoint(f))(x),
            tapegrad.jvp(f, (x,), (one,))[1],
            tapegrad.linearize(f, x)[1](one),
            tapegrad.vmap(tapegrad.grad(f))(examples),
            tapegrad.grad(lambda xs: np.sum(tapegrad.vmap(f)(xs)))(examples),
        ]
        if x.dtype.kind != "c":
            found.append(tapegrad.jacobian(f)(x))
            found.append(tapegrad.hessian(f)(x))
            found.append(tapegrad.vmap(tapegrad.hessian(f))(examples))
    return found


@pytest.mark.part(4)
@pytest.mark.parametrize("name", CALLS)
@draws(4, 100)
@given(number=NUMBERS, value=st.sampled_from(sorted(VALUES)), left=st.booleans())
@example(number=0, value="number", left=False)
@example(number=0.0, value="array of float32", left=False)
@example(number=0j, value="array", left=False)
@example(number=10**200, value="array", left=False)
@example(number=10**400, value="number", left=True)
def test_a_python_number_is_as_the_scalar_that_numpy_makes_of_it(name, number, value, left):
    call, ufunc = CALLS[name]
    x = VALUES[value]

    def beside(n, call=call):
        return (lambda x: call(n, x)) if left else (lambda x: call(x, n))

    # Of a complex and np.float64, which is a float, Python computes the value, and not NumPy.
    by_numpy = ufunc if type(number) is complex else call
    expected, warned = outcome(beside(number, by_numpy), x)
    seen = []
    found, heard = outcome(tapegrad.grad(lambda x: seen.append(beside(number)(x)) or np.sum(x)), x)
    if isinstance(expected, type):
        assert found is expected
        return
    assert heard == warned
    same(tapegrad.stop_gradient(seen[0]), expected)
    with np.errstate(all="ignore"):
        same(tapegrad.vmap(beside(number))(np.stack([x, x])), np.stack([expected, expected]))
    if np.asarray(expected).dtype.kind not in "fc":
        return
    if ufunc is np.float_power and x.dtype != expected.dtype:
        return  # its partials are of the precision of x, and not of the result
    if left and call is not by_numpy and isinstance(x, float):
        return  # a checkpoint runs the function on plain numbers, where Python computes
    if x.dtype.kind == "c" and not number:
        return  # a complex number over zero is inf or nan by the zero's dtype

    def measured(n, call=call):
        def f(x):
            out = beside(n, call)(x)
            # The last terms make each output depend on x, as that of np.floor_divide does not.
            return np.sum(np.real(out)) + np.sum(np.imag(out)) + np.sum(np.real(x - x))

        return f

    with np.errstate(all="ignore"):
        scalar = np.result_type(x, number).type(number)
    for ours, theirs in zip(
        derivatives(measured(number), x), derivatives(measured(scalar, by_numpy), x), strict=True
    ):
        same(ours, theirs)


@pytest.mark.parametrize("x", [1.0, np.ones(2), np.ones(2, np.float32)], ids=repr)
@pytest.mark.parametrize("nothing", [0, 0.0, False, len([])])
def test_a_quotient_by_zero_is_infinite_with_the_warning_of_numpy(x, nothing):
    with pytest.warns(RuntimeWarning, match="divide by zero"), np.errstate(all="warn"):
        out, derivative = tapegrad.value_and_grad(lambda x: np.sum(x / nothing))(x)
    assert np.all(out == np.inf)
    assert np.all(np.asarray(derivative) == np.inf)
    assert np.asarray(derivative).dtype == np.asarray(x).dtype


def test_a_branch_not_taken_may_divide_by_zero():
    def f(x, count):
        return np.sum(np.where(count > 0, x / count, 0.0))

    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(tapegrad.grad(f)(np.ones(2), 0), [0.0, 0.0])


def test_an_exponent_of_ldexp_stays_an_integer():
    assert tapegrad.grad(lambda x: np.ldexp(x, 3))(0.5) == 8.0
    assert tapegrad.jvp(lambda x: np.ldexp(x, True), (0.5,), (1.0,))[1] == 2.0


# --- Libraries that convert what isinstance calls a number ---------------------------------------


def library(name, source, monkeypatch):
    """A module of a library, whose package counts as imported."""
    monkeypatch.setitem(sys.modules, name.partition(".")[0], types.ModuleType("library"))
    module = {"np": np, "math": math, "__name__": name}
    exec(source, module)
    return module["take"]


# As xarray's `as_compatible_data`: arrays of NumPy's are converted, others that speak NumPy's
# protocols are taken as they are.
CONVERTS = """
def take(x):
    is_numpy = type(x) is np.ndarray or isinstance(x, np.generic)
    if not is_numpy and hasattr(x, "__array_function__"):
        return x
    return np.asarray(x)
"""

# As mpmath's `from_float`, which takes whatever math.frexp refuses for nan.
DROPS = """
def take(x):
    if not isinstance(x, (float, np.floating)):
        raise TypeError("cannot create mpf")
    try:
        mantissa, exponent = math.frexp(x)
    except Exception:
        return math.nan
    return mantissa * 2.0**exponent
"""


def test_a_container_of_arrays_takes_a_traced_number(monkeypatch):
    take = library("xarray.core.variable", CONVERTS, monkeypatch)
    assert grad(lambda x: take(np.mean(x * x)))(np.array([3.0])) == 6.0
    slopes = vmap(grad(lambda x: take(np.sum(x * x))))(np.array([[3.0], [4.0]]))
    assert np.array_equal(slopes, [[6.0], [8.0]])
    assert np.array_equal(vmap(lambda x: take(np.sum(x)))(np.ones((2, 3))), [3.0, 3.0])


@pytest.mark.parametrize("transform", [grad, lambda f: grad(lambda x: np.sum(vmap(f)(x)))])
def test_a_traced_number_is_never_nan_to_a_library_that_drops_errors(transform, monkeypatch):
    take = library("mpmath.ctx_mp_python", DROPS, monkeypatch)
    assert take(2.0) == 2.0
    x = np.array(2.0) if transform is grad else np.array([2.0])
    with pytest.raises(TypeError, match="cannot create mpf"):
        transform(lambda x: take(x * 1.0) * x)(x)


@pytest.mark.parametrize("kind", [np.float32, np.float16, np.complex64, np.asarray])
def test_tangents_of_numbers_keep_their_digits_beside_narrower_numbers(kind):
    """One of Python's floats would take the dtype of the other number."""
    narrow = kind(np.float32(0.1))
    x, dot = np.float64(1 / 3), np.float64(1 / 7)
    wide = narrow.astype(np.result_type(narrow, x))
    found = jvp(lambda x: x * narrow, (x,), (dot,))[1]
    np.testing.assert_allclose(found, dot * wide, 1e-13)
    if wide.dtype.kind == "f":
        found = jvp(lambda x: x / narrow, (x,), (dot,))[1]
        np.testing.assert_allclose(found, dot / wide, 1e-13)
    narrow_dot = narrow.dtype.type(0.7)
    found = jvp(np.multiply, (x, narrow), (dot, narrow_dot))[1]
    np.testing.assert_allclose(found, dot * wide + x * wide.dtype.type(narrow_dot), 1e-13)


@pytest.mark.parametrize(
    ("y", "slope"),
    [(np.float64(1e-310), 1e300), (np.float32(0.1), 1e-10 / float(np.float32(0.1)))],
)
def test_a_gradient_within_another_divides(y, slope):
    """A product with 1 / y would be infinite, or have the digits of a float32."""

    def inner(x):
        with np.errstate(over="ignore"):  # the value of z / y
            return grad(lambda z: z / y * 1e-10)(x)

    np.testing.assert_allclose(inner(2.0), slope, 1e-13)
    np.testing.assert_allclose(grad(lambda x: inner(x) * x)(2.0), slope, 1e-13)
    np.testing.assert_allclose(jvp(lambda x: inner(x) * x, (2.0,), (1.0,))[1], slope, 1e-13)
