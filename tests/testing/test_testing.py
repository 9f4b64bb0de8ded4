"""The checks themselves: right derivatives pass, each kind of wrong one fails and is named."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from draws import draws
from hypothesis import given
from hypothesis import strategies as st

import tapegrad
from tapegrad._core.rule import declared_rules
from tapegrad.testing import arrays, check_grads, check_rule, shapes
from tapegrad.testing._strategies.layouts import LAYOUTS, laid_out

POINT = np.array([0.3, -0.7, 1.1])


def gradient_scaled(factor):
    """x**2 with a gradient that is wrong by a factor."""
    square = tapegrad.custom_vjp(lambda x: x * x)
    square.defvjp(lambda x: (x * x, x), lambda x, g: (factor * 2 * x * g,))
    return square


@pytest.fixture
def declare():
    """Declares rules for a test."""
    return lambda form, function, *args, **options: form(
        tapegrad.primitive(function), *args, **options
    )


# --- Hermitian matrices -------------------------------------------------------------------------


@draws(20, 300)
@given(st.data(), st.sampled_from([np.float64, np.complex128, np.float32]), st.integers(0, 3))
def test_hermitian_matrices_are_drawn(data, dtype, side):
    lead = data.draw(st.sampled_from([(), (2,), (0,)]))
    layout = data.draw(st.sampled_from(LAYOUTS))
    a = data.draw(arrays(dtype, (*lead, side, side), hermitian=True, layouts=(layout,)))
    assert a.dtype == dtype
    assert a.shape == (*lead, side, side)
    np.testing.assert_array_equal(a, np.conj(np.swapaxes(a, -1, -2)))
    upper = a[..., *np.triu_indices(side)]
    assert len(np.unique(upper)) == upper.size
    if layout == "C":
        assert a.flags.c_contiguous


@pytest.mark.parametrize("shape", [(), (2,), (2, 3)])
def test_hermitian_matrices_are_square(shape):
    with pytest.raises(tapegrad.InputError, match="square matrices, for hermitian=True"):
        given(arrays(shape=shape, hermitian=True))(lambda a: None)()


# --- check_grads --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "dtype", [np.float32, np.float64, np.longdouble, np.complex64, np.complex128]
)
def test_right_gradients_pass_in_every_dtype(dtype):
    x = (POINT + (0.4j if np.dtype(dtype).kind == "c" else 0)).astype(dtype)
    check_grads(lambda x: np.sin(x) * x, (x,))


@pytest.mark.parametrize("modes", [("fwd",), ("rev",), ("fwd", "rev"), ["rev"]])
def test_each_mode_alone_finds_a_wrong_gradient(modes):
    check_grads(gradient_scaled(1.0), (POINT,), modes=modes)
    with pytest.raises(AssertionError, match=r"order 1: the (jvp|vjp) by argument 0"):
        check_grads(gradient_scaled(1.001), (POINT,), modes=modes)


def test_a_mode_that_is_not_asked_for_is_not_looked_at():
    wrong_forward = tapegrad.custom_jvp(lambda x: x * x)

    @wrong_forward.defjvp
    def tangent(primals, tangents):
        return primals[0] ** 2, np.multiply(3 * primals[0], tangents[0])

    with pytest.raises(AssertionError, match="the jvp"):
        check_grads(wrong_forward, (POINT,), order=1, modes=("fwd",))
    with pytest.raises(AssertionError, match="adjoint of the differences"):
        check_grads(wrong_forward, (POINT,), order=1, modes=("rev",))


def test_the_second_order_is_that_of_the_gradient_itself():
    # Right to first order, but the gradient hides its dependence on x from the second.
    hidden = tapegrad.custom_vjp(lambda x: x * x)
    hidden.defvjp(lambda x: (x * x, x), lambda x, g: (2 * tapegrad.stop_gradient(x) * g,))
    check_grads(hidden, (POINT,), order=1)
    with pytest.raises(AssertionError, match="at order 2"):
        check_grads(hidden, (POINT,), order=2)


def test_the_message_names_the_argument_and_both_values():
    wrong = gradient_scaled(2.0)
    with pytest.raises(AssertionError) as caught:
        check_grads(lambda a, b: a * wrong(b["c"]), (2.0, {"c": POINT}), order=1)
    text = str(caught.value)
    assert "argument 1, leaf 0 (float64[3])" in text
    assert "expected" in text
    assert "got" in text


def test_trees_of_arguments_and_results():
    def f(pair, scale):
        return {"a": pair[0] * scale, "b": [np.sum(pair[1]), 3.0, "not a number"]}

    check_grads(f, ((POINT, np.ones((2, 2))), 1.5))


def test_third_order():
    check_grads(lambda x: x**5, (1.2,), order=3)


def test_tolerances_and_step_of_the_callers_own():
    slightly_wrong = gradient_scaled(1 + 1e-4)
    check_grads(slightly_wrong, (POINT,), order=1, rtol=1e-2, atol=0)
    with pytest.raises(AssertionError):
        check_grads(slightly_wrong, (POINT,), order=1, rtol=1e-5, atol=0)
    with pytest.raises(AssertionError):  # at this step abs looks smooth at 0
        check_grads(np.abs, (np.array([1e-3, 1.0]),), order=1, eps=1e-2)


def test_a_nan_never_passes():
    nan = tapegrad.custom_vjp(lambda x: x * x)
    nan.defvjp(lambda x: (x * x, x), lambda x, g: (np.nan * g,))
    with pytest.raises(AssertionError), np.errstate(invalid="ignore"):
        check_grads(nan, (POINT,), order=1)


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (lambda x: np.log(np.abs(x - 1)), 1 + 1e-6),
        (lambda x: np.abs(x - 1), 1 + 1e-7),
        (np.sqrt, 1e-12),
        (np.tan, np.pi / 2 - 1e-5),
        (lambda x: np.exp(x) * 1e9 - 1e9, 1e-4),
    ],
)
@pytest.mark.parametrize("modes", [("fwd",), ("rev",)])
def test_steps_are_as_small_as_the_function_asks(f, x, modes):
    check_grads(f, (x,), order=1, modes=modes)
    with pytest.raises(AssertionError, match="by argument 0"):
        check_grads(lambda x: f(x) + 0.01 * _held(f(x)), (x,), order=1, modes=modes)


def _held(y):
    """y, of which derivatives see nothing."""
    return tapegrad.stop_gradient(y)


def test_a_kink_and_noise_are_named():
    with pytest.raises(AssertionError, match="a kink lies here: one-sided slopes 0 and") as caught:
        check_grads(lambda x: np.where(x > 0, x, 0), (0.0,), order=1, modes=("fwd",))
    assert "differs from central differences" in str(caught.value)
    random = np.random.default_rng(0)
    with pytest.raises(AssertionError, match=r"lost in the noise|do not settle"):
        check_grads(lambda x: 1e-3 * x + random.normal(), (1.0,), order=1)


def test_modes_that_do_not_exist_are_refused():
    with pytest.raises(
        tapegrad.InputError, match=r"check_grads: expected modes .* got \('forward',\)"
    ):
        check_grads(np.sin, (POINT,), modes=("forward",))
    with pytest.raises(tapegrad.InputError, match="modes"):
        check_grads(np.sin, (POINT,), modes=())


# --- check_rule: one wrong rule for each law ----------------------------------------------------


def test_a_right_rule_passes(declare):
    rule = declare(tapegrad.elementwise, lambda x: x**3, lambda _out, x: 3 * x**2)
    check_rule(rule, POINT)
    check_rule(rule.function, POINT)


def test_a_wrong_partial(declare):
    rule = declare(tapegrad.elementwise, lambda x: x**3, lambda _out, x: 2 * x**2)
    with pytest.raises(AssertionError, match=r"array 0 .* differs from central differences"):
        check_rule(rule, POINT)


def test_a_wrong_partial_of_the_second_argument(declare):
    rule = declare(tapegrad.elementwise, lambda x, y: x - y, 1, 1)
    with pytest.raises(AssertionError, match="the jvp by array 1"):
        check_rule(rule, POINT, POINT + 1)


def test_a_transpose_that_is_not_one(declare):
    rule = declare(tapegrad.linear, lambda x: 2 * x[::-1], lambda g, _out, _x: 2 * g)
    with pytest.raises(AssertionError, match="not the adjoint of the jvp"):
        check_rule(rule, POINT)


def test_a_derivative_that_cannot_be_differentiated(declare):
    rule = declare(
        tapegrad.elementwise, lambda x: x**3, lambda _out, x: 3 * tapegrad.stop_gradient(x) ** 2
    )
    with pytest.raises(AssertionError, match=r"squared, (jvp|vjp): the jvp by array 0"):
        check_rule(rule, POINT)


def test_a_value_that_is_another_when_traced(declare):
    rule = declare(tapegrad.composite, lambda x: x + 1, lambda x: x + 2)
    with pytest.raises(AssertionError, match="the value under jvp is not the plain one"):
        check_rule(rule, POINT)


def test_a_value_that_is_another_in_its_last_bits(declare):
    rule = declare(
        tapegrad.composite, lambda x: np.float64(x.sum() * (1 + 1e-15)), lambda x: x.sum()
    )
    check_rule(rule, POINT)  # a composite may round otherwise

    def bitwise(x):
        return x.sum() * (1 + 1e-15) if type(x) is np.ndarray else x.sum()

    with pytest.raises(AssertionError, match="is not the plain one"):
        check_rule(bitwise, POINT)
    turn = np.random.default_rng(0).random((40, 40))
    check_rule(lambda x: np.einsum("ij,jk,k->i", turn, turn, x), turn[0])  # calls a composite


def test_a_value_of_another_dtype_or_container(declare):
    rule = declare(tapegrad.composite, lambda x: x.astype(np.float32), lambda x: x)
    with pytest.raises(AssertionError, match="is not the plain one"):
        check_rule(rule, POINT)
    rule = declare(tapegrad.composite, lambda x: [x, x], lambda x: (x, x))
    with pytest.raises(AssertionError, match="is not the plain one"):
        check_rule(rule, POINT)


def test_an_argument_that_is_written_to(declare):
    def add_one(x):
        x += 1
        return x * 1

    rule = declare(tapegrad.elementwise, add_one, 1)
    with pytest.raises(AssertionError, match="an argument was written to"):
        check_rule(rule, POINT.copy())

    def scribble(x, notes):
        notes[0] += 1
        return x * 1

    with pytest.raises(AssertionError, match="an argument was written to"):
        check_rule(scribble, POINT, np.zeros(1, int))


def test_a_constant_rule_passes_at_any_point_and_a_sloped_one_does_not():
    def steep(x):
        return np.sin(x)

    steep = tapegrad.primitive(steep)  # whose rule lives as long as it does
    tapegrad.constant(steep)  # which returns nothing
    rule = next(rule for rule in declared_rules() if rule.name == "steep")
    check_rule(rule, POINT)  # what is declared constant is believed to be
    check_rule(np.floor, np.array([1.0]))
    with pytest.raises(AssertionError, match="differs from central differences"):
        check_rule(lambda x: rule.function(x), POINT)


def test_arrays_in_lists_and_keywords_are_differentiated():
    check_rule(np.concatenate, [POINT, POINT], axis=0)
    with pytest.raises(AssertionError, match="by array 1"):
        check_rule(
            lambda xs, weight: xs[0] * tapegrad.stop_gradient(weight), [POINT], weight=POINT
        )


def test_infinite_derivatives_do_not_pass_as_right():
    with np.errstate(all="ignore"), pytest.raises(AssertionError):
        check_rule(np.sqrt, np.zeros(1))


# --- The strategies -----------------------------------------------------------------------------


@given(arrays(shape=shapes(max_side=4)), arrays(shape=(5, 5), phase=0.25))
@draws(15, 300)
def test_arrays_have_distinct_values_that_are_not_round(x, y):
    values = np.concatenate([np.ravel(x), np.ravel(y)])
    assert len(np.unique(values)) == values.size
    assert not np.any(values % 0.5 == 0)
    assert np.all(np.abs(values) <= 2)


@given(st.data(), st.sampled_from("efdgFDG"))
@draws(15, 300)
def test_arrays_have_the_dtype_shape_and_bounds_asked_for(data, dtype):
    x = data.draw(arrays(dtype, (2, 3), low=1.0, high=3.0))
    assert x.dtype == np.dtype(dtype)
    assert x.shape == (2, 3)
    parts = [x.real, x.imag] if x.dtype.kind == "c" else [x]
    assert all(np.all((part >= 1) & (part <= 3)) for part in parts)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 0, 3)])
def test_a_layout_changes_memory_and_not_values(layout, shape):
    values = np.arange(np.prod(shape, dtype=int), dtype=float).reshape(shape)
    made = laid_out(values, layout)
    np.testing.assert_array_equal(made, values)
    if values.size > 1 and values.ndim > 1:
        assert made.flags.c_contiguous == (layout == "C")


def test_shapes_keep_their_bounds():
    @given(shapes(min_dims=1, max_dims=2, min_side=2, max_side=4))
    @draws(15, 300)
    def check(shape):
        assert 1 <= len(shape) <= 2
        assert all(2 <= side <= 4 for side in shape)

    check()


def test_without_hypothesis_the_strategies_name_the_extra_and_the_rest_works():
    program = """
import sys
sys.modules["hypothesis"] = None
import numpy as np
from tapegrad.testing import *
from tapegrad.testing.strategies import *
import tapegrad.testing
from tapegrad.testing import check_grads
check_grads(np.sin, (1.0,))
check(np.sin, (1.0,), "gradient")
machine = lambda: tapegrad.testing.GraphMachine
for missing in (arrays, programs, positive_definite_matrices, machine):
    try:
        missing()
    except ImportError as error:
        print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.count("Install tapegrad[test].") == 4, done.stdout
