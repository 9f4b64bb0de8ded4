"""The repr of a value in a trace says by what it is traced; str and format are the value's."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tapegrad
from tapegrad import checkpoint, compile, grad, hessian, jvp, linearize, vjp, vmap

X = np.array([1.0, 2.0])
SEEN = []


@pytest.fixture(autouse=True)
def none_seen():
    SEEN.clear()


def loss(x):
    SEEN.append(repr(x))
    return np.sum(x * x)


def outer(x):
    def inner(y):
        SEEN.extend((repr(y), repr(x)))
        return np.sum(x * y)

    return np.sum(grad(inner)(x))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: grad(loss)(X), "Array([1., 2.], float64, traced by grad(loss))"),
        (lambda: grad(loss)(2.0), "Array(2., float64, traced by grad(loss))"),
        (
            lambda: grad(loss)(X.astype(np.float32)),
            "Array([1., 2.], float32, traced by grad(loss))",
        ),
        (lambda: vjp(loss, X), "Array([1., 2.], float64, traced by vjp(loss))"),
        (lambda: jvp(loss, (X,), (X,)), "Array([1., 2.], float64, traced by jvp(loss))"),
        (lambda: linearize(loss, X), "Array([1., 2.], float64, traced by linearize(loss))"),
        (
            lambda: hessian(loss)(X),
            "Array([1., 2.], float64, traced by grad(loss) in linearize(loss))",
        ),
        (
            lambda: jvp(grad(loss), (X,), (X,)),
            "Array([1., 2.], float64, traced by grad(loss), traced by jvp(loss))",
        ),
        (
            lambda: vmap(loss)(np.ones((2, 1))),
            "Batched([[1.],\n         [1.]], float64, 2 examples of vmap(loss))",
        ),
        (
            lambda: vmap(grad(loss))(np.ones(2)),
            "Array([1., 1.], float64, traced by grad(loss), 2 examples of vmap(loss))",
        ),
        (
            lambda: grad(lambda x: np.sum(vmap(loss)(x)))(X),
            "Batched([1., 2.], float64, 2 examples of vmap(loss), traced by grad(<lambda>))",
        ),
        (
            lambda: vmap(vmap(loss))(np.ones((1, 2))),
            "Batched([[1., 1.]], float64, 2 examples of vmap(loss), 1 examples of vmap(loss))",
        ),
        (lambda: grad(checkpoint(loss))(X), "array([1., 2.])"),
    ],
)
def test_by_what_a_value_is_traced(call, text):
    call()
    assert SEEN[0] == text


def test_a_value_of_the_transform_around():
    grad(outer)(X)
    assert SEEN == [
        "Array([1., 2.], float64, traced by grad(inner) in grad(outer))",
        "Array([1., 2.], float64, traced by grad(outer))",
    ]


def test_constants_and_values_that_are_left_over():
    kept = []

    def f(x):
        kept.append(x)
        SEEN.append(repr(np.zeros_like(x)))
        return np.sum(x)

    grad(f)(X)
    assert SEEN == ["Array([0., 0.], float64, constant in grad(f))"]
    assert repr(kept[0]) == "Array([1., 2.], float64, left over from grad(f))"


def test_views_and_parts():
    def f(x):
        SEEN.extend((repr(x[1:]), repr(x[0]), repr(x.T)))
        return np.sum(x)

    grad(f)(X)
    assert [text.partition(", float64")[0] for text in SEEN] == [
        *("Array([2.]", "Array(1.", "Array([1., 2.]")
    ]


def test_a_function_that_shows_values_is_no_program(capsys):
    def shows(x):
        print(repr(x))
        return np.sum(x * x)

    fast = compile(grad(shows))
    with pytest.warns(tapegrad.EagerWarning, match="it prints, or formats, a value"):
        fast(X)
    fast(X)
    assert capsys.readouterr().out.splitlines() == [
        "Array([1., 2.], float64, traced by grad(shows), recorded by compile)",
        "Array([1., 2.], float64, traced by grad(shows))",
    ]


def test_a_compiled_function_shows_its_own_values_as_they_are():
    fast = compile(loss)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tapegrad.EagerWarning)
        for _ in range(4):
            fast(X)
    assert SEEN == ["array([1., 2.])"] * 4


def test_long_arrays_are_shortened():
    grad(loss)(np.zeros(5000))
    assert len(SEEN[0]) < 200
    assert SEEN[0].endswith("float64, traced by grad(loss))")


@given(st.sampled_from(["", ".3f", "10.2e"]), st.floats(-1e6, 1e6))
def test_str_and_format_are_those_of_the_value(spec, number):
    def f(x):
        assert str(x) == str(np.float64(number))
        assert format(x, spec) == format(np.float64(number), spec)
        return x * 1.0

    grad(f)(number)
    jvp(f, (number,), (1.0,))


def test_tensors_are_shown_as_pytorchs():
    import tapegrad.torch as torch

    x = torch.ones(2, requires_grad=True)
    assert repr(x * 2) == "tensor([2., 2.], grad_fn=<MulBackward0>)"
