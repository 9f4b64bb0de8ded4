"""Padding: corners, pads longer than the array, traced values, functions, and NumPy's errors."""

from __future__ import annotations

import numpy as np
import pytest

from tapegrad import grad, vjp, vmap
from tapegrad._core import fast
from tapegrad._numpy_versions import PADS_BY_AXIS
from tapegrad.testing import check_rule

X = np.array([[0.3, -1.2, 2.1], [1.7, 0.4, -0.6]])
MODES = "constant edge linear_ramp maximum mean median minimum reflect symmetric wrap".split()
STATISTICS = ["maximum", "mean", "median", "minimum"]


@pytest.mark.part(4)
@pytest.mark.parametrize("width", [1, (1, 2), ((0, 1), (2, 0)), ((1, 1),), ((1,), (2,)), 0])
@pytest.mark.parametrize("mode", MODES)
def test_unequal_amounts(width, mode):
    check_rule(np.pad, X, width, mode=mode)


@pytest.mark.part(3)
@pytest.mark.parametrize("mode", MODES)
def test_pads_longer_than_the_array(mode):
    check_rule(np.pad, X, ((5, 7), (11, 4)), mode=mode)
    check_rule(np.pad, X[0], (0, 9), mode=mode)
    check_rule(np.pad, X[:, :1], 3, mode=mode)


@pytest.mark.part(3)
@pytest.mark.parametrize("mode", ["reflect", "symmetric"])
@pytest.mark.parametrize("width", [1, 2, (9, 4), (0, 13)])
def test_odd_reflections(mode, width):
    check_rule(np.pad, X, width, mode=mode, reflect_type="odd")
    check_rule(np.pad, X, width, mode=mode, reflect_type="even")


@pytest.mark.part(3)
@pytest.mark.parametrize("mode", STATISTICS)
@pytest.mark.parametrize("length", [1, 2, (1, 2), ((2, 1), (3, 1)), 9, None])
def test_statistics_of_the_ends(mode, length):
    check_rule(np.pad, X, ((1, 2), (3, 0)), mode=mode, stat_length=length)


def test_the_maximum_of_equal_ends_is_shared():
    out, pullback = vjp(lambda x: np.pad(x, (1, 0), "maximum"), np.array([2.0, 1.0, 2.0]))
    np.testing.assert_array_equal(out, [2, 2, 1, 2])
    np.testing.assert_array_equal(pullback(np.array([1.0, 0, 0, 0]))[0], [0.5, 0, 0.5])


@pytest.mark.parametrize("name", ["constant_values", "end_values"])
@pytest.mark.parametrize(
    "values",
    [
        np.array(2.5),
        np.array([2.5, 1.5]),
        np.array([[2.5], [1.5]]),
        np.array([[2.5, 1.5], [-0.5, 0.25]]),
    ],
)
def test_values_that_are_differentiated(name, values):
    mode = "constant" if name == "constant_values" else "linear_ramp"
    check_rule(np.pad, X, ((1, 2), (2, 1)), mode=mode, **{name: values})


def test_values_in_nested_lists_and_constants():
    gradient = grad(lambda v: np.sum(np.pad(v * X, 1, constant_values=((v, 2), (3, v)))))(1.0)
    assert gradient == np.sum(X) + 5 + 2
    check_rule(np.pad, X, 1, constant_values=((1, 2), (3, 4)))
    padded = vjp(lambda x: np.pad(x, 1, constant_values=-0.0), X)[0]
    assert np.signbit(padded[0, 0])


@pytest.mark.parametrize("value", [None, np.nan, 1 << 70, 1.5])
def test_values_that_are_no_integers(value):
    f = lambda x: np.pad(x * X, 1, constant_values=value)  # noqa: E731
    for _ in range(3):  # the later calls are planned
        out, pullback = vjp(f, X)
        np.testing.assert_array_equal(out, np.pad(X * X, 1, constant_values=value))
        np.testing.assert_array_equal(pullback(np.ones_like(out))[0], X)
    z = X + 1j
    with fast.off():  # which is not NumPy's own call
        np.testing.assert_array_equal(
            vjp(lambda x: np.pad(x, 1, constant_values=value), z)[0],
            np.pad(z, 1, constant_values=value),
        )


def test_values_of_another_dtype_are_cast_as_numpy_does():
    single = X.astype(np.float32)
    for mode in MODES:
        made = vjp(lambda x, mode=mode: np.pad(x, 2, mode), single)[0]
        assert made.dtype == np.float32
        np.testing.assert_allclose(made, np.pad(single, 2, mode), rtol=1e-6)


def test_complex_arrays():
    for mode in ("edge", "linear_ramp", "mean", "reflect", "wrap"):
        check_rule(np.pad, X + 1j * X[::-1], ((1, 2), (0, 4)), mode=mode)
    check_rule(np.pad, X * 1j, 2, mode="linear_ramp", end_values=np.array(1.5 - 0.5j))


def test_an_empty_pad_is_zero_where_numpy_leaves_it_open():
    out, pullback = vjp(lambda x: np.pad(x, 1, "empty"), X)
    np.testing.assert_array_equal(out, np.pad(X, 1))
    np.testing.assert_array_equal(pullback(np.ones((4, 5)))[0], np.ones((2, 3)))


def test_a_function_that_writes_the_pads():
    def framed(vector, width, axis, kwargs):
        scale = kwargs.get("scale", 1.0)
        vector[: width[0]] = scale * vector[width[0]] ** 2
        vector[len(vector) - width[1] :] = (axis + 1) * np.sum(vector)

    check_rule(lambda x: np.pad(x, ((1, 2), (2, 0)), framed), X)
    check_rule(lambda x, s: np.pad(x, 1, framed, scale=s), X, np.array(0.5))


def test_widths_by_axis():
    if PADS_BY_AXIS:
        check_rule(lambda x: np.pad(x, {-1: (1, 2)}), X)
        check_rule(lambda x: np.pad(x, {0: 1}, "edge"), X)


def test_arrays_without_elements_and_without_axes():
    check_rule(np.pad, np.zeros((0, 2)), ((0, 0), (1, 1)), mode="edge")
    check_rule(np.pad, np.zeros(0), 2)
    check_rule(np.pad, np.array(1.5), 0)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.pad(x, 1, "sideways"),
        lambda x: np.pad(x, 1, "edge", constant_values=1),
        lambda x: np.pad(x, 1, "constant", stat_length=1),
        lambda x: np.pad(x, -1),
        lambda x: np.pad(x, 1.5),
        lambda x: np.pad(x, ((1, 1), (1, 1), (1, 1))),
        lambda x: np.pad(x[:, :0], 1, "edge"),
        lambda x: np.pad(x, 1, "maximum", stat_length=0),
    ],
)
def test_bad_calls_are_numpys_errors(call):
    with pytest.raises((TypeError, ValueError)) as expected:
        call(X)
    with pytest.raises(expected.type):
        grad(lambda x: np.sum(call(x)))(X)


def test_a_complex_pad_of_real_examples_loses_its_imaginary_part():
    with pytest.warns(np.exceptions.ComplexWarning):
        expected = np.pad(X[0], 1, constant_values=2 + 1j)
    with pytest.warns(np.exceptions.ComplexWarning):
        found = vmap(lambda x: np.pad(x, 1, constant_values=2 + 1j))(X)
    np.testing.assert_array_equal(found[0], expected)
