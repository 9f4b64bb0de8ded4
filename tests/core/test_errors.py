"""Every message, once: the call as written, what was expected, what came, what to do."""

from __future__ import annotations

import dataclasses
import functools
import math
import re
import threading
from typing import NamedTuple

import numpy as np
import pytest

import tapegrad
from tapegrad import (
    ChangedConstantError,
    ConversionError,
    InputError,
    LeakedValueError,
    MissingRuleError,
    NotDifferentiableError,
    OutputError,
    RuleError,
    ShapeMismatchError,
    TapegradError,
    custom_jvp,
    custom_vjp,
    ggnvp,
    grad,
    hessian,
    hvp,
    jacobian,
    jacrev,
    jvp,
    linearize,
    primitive,
    value_and_grad,
    vhp,
    vjp,
    vmap,
)
from tapegrad._errors import describe, message, name_of

X = np.array([1.0, 2.0, 3.0])


def loss(x):
    return np.sum(x**2)


def vector(x):
    return x * 2


def in_grad(f):
    """Run f on a traced array."""
    return grad(lambda x: f(x) or np.sum(x))(X)


def leak():
    kept = []

    def leaking(x):
        kept.append(x * 2)
        return np.sum(x)

    grad(leaking)(X)
    return kept[0]


def make(kind, name="f"):
    def f(x, y):
        return x * y

    f.__name__ = name
    return kind(f)


@primitive
def undeclared(x):
    return x


@primitive
def declared(x):
    return x


tapegrad.linear(declared, lambda g, _out, _x: np.ones(7))


@primitive
def wrong_tangent(x):
    return x


tapegrad.general(wrong_tangent, jvp=lambda dots, _out, _x: np.ones((2, 3)))


@primitive
def unclear(x):
    return x


tapegrad.unsupported(unclear, reason="nobody knows what it does")


@primitive
def with_option(x, option=None):
    return x


tapegrad.linear(with_option, lambda g, _out, _x, option=None: g)


def bad_backward():
    f = make(custom_vjp)
    f.defvjp(lambda x, y: (x * y, None), lambda _, g: (g,))
    return grad(f)(2.0, 3.0)


def keyword_only():
    @custom_vjp
    def f(x, *, scale):
        return x * scale

    f.defvjp(lambda x: (x, None), lambda _, g: (g,))
    return grad(lambda x: f(x, scale=2.0))(1.0)


def changed_constant():
    constant = np.ones(20_000)
    view = constant[:]

    def program(x):
        total = np.sum(x * constant)
        view[0] = 7.0
        return total

    return grad(program)(np.ones(20_000))


@dataclasses.dataclass
class Layer:
    weights: np.ndarray
    width: int


class Pair(NamedTuple):
    first: np.ndarray
    second: np.ndarray


class Unregistered:
    pass


class Frame:
    to_numpy = None


MESSAGES = [
    # transforms: inputs
    (
        lambda: grad(loss)(3),
        InputError,
        (
            "grad(loss)(...): expected floating or complex inputs, got int 3. Pass floats "
            "(x.astype(float), or 3.0 for 3), or leave this argument out of argnums."
        ),
    ),
    (
        lambda: grad(loss)(np.arange(3)),
        InputError,
        (
            "grad(loss)(...): expected floating or complex inputs, got int64[3]. Pass floats "
            "(x.astype(float), or 3.0 for 3), or leave this argument out of argnums."
        ),
    ),
    (
        lambda: grad(loss, argnums=1)(X),
        InputError,
        (
            "grad(loss)(...): expected argnums within the 1 positional arguments, got 1. "
            "Pass that "
            "argument by position, or name it in argnames."
        ),
    ),
    (
        lambda: grad(loss, argnums="x")(X),
        InputError,
        (
            "grad(loss)(...): expected argnums of integers, got str 'x'. Pass positions like 0 "
            "or (0, 1)."
        ),
    ),
    (
        lambda: grad(loss, argnums=True)(X),
        InputError,
        (
            "grad(loss)(...): expected argnums of integers, got bool True. Pass positions like "
            "0 or (0, 1)."
        ),
    ),
    (
        lambda: grad(loss, argnames="w")(X, b=1.0),
        InputError,
        (
            "grad(loss)(...): expected the keyword argument 'w' (argnames), got keywords ['b']. "
            "Pass w=... by keyword."
        ),
    ),
    (lambda: grad(vector, holomorphic=True)(1.0), (InputError, OutputError), "holomorphic=True"),
    (
        lambda: grad(lambda z: z + 1j, holomorphic=True)(1.0),
        InputError,
        (
            "grad(<lambda>)(x): expected complex inputs, for holomorphic=True, got float64 "
            "scalar. "
            "Pass x.astype(complex)."
        ),
    ),
    # transforms: what is no function, or called in another library's way
    (
        lambda: grad(loss(X)),
        InputError,
        (
            "grad(f): expected a function, got float64 scalar. Pass the function itself: grad(f), "
            "not grad(f(x))."
        ),
    ),
    (lambda: vmap(3), InputError, "vmap(f): expected a function, got int 3."),
    (lambda: hessian(3.0), InputError, "hessian(f): expected a function, got float 3.0."),
    (lambda: vjp(3.0, X), InputError, "vjp(f): expected a function, got float 3.0."),
    (lambda: hvp(3.0, (X,), (X,)), InputError, "hvp(f): expected a function, got float 3.0."),
    (
        lambda: vmap(loss, X),
        InputError,
        (
            "vmap(loss): expected in_axes of integers or None, got float64[3]. Pass 0, or one an "
            "argument; the arguments of the function come in a second call, vmap(f)(x)."
        ),
    ),
    (
        lambda: vmap(loss, in_axes="a")(X),
        InputError,
        "vmap(loss): expected in_axes of integers or None, got str 'a'. Pass 0.",
    ),
    (
        lambda: jacobian(loss, X),
        InputError,
        (
            "jacobian(loss): expected argnums of integers, got float64[3]. Pass positions like 0 "
            "or (0, 1); the arguments of the function come in a second call, grad(f)(x)."
        ),
    ),
    (
        lambda: hessian(loss, X),
        InputError,
        "hessian(loss): expected argnums of integers, got float64[3].",
    ),
    (
        lambda: grad(loss, 1.5),
        InputError,
        "grad(loss)(...): expected argnums of integers, got float 1.5.",
    ),
    (
        lambda: grad(loss, argnames=3),
        InputError,
        "grad(loss)(...): expected argnames of strings, got int 3. Pass names of keywords.",
    ),
    (
        lambda: grad(loss)(x=X),
        InputError,
        (
            "grad(loss)(...): expected positional arguments, which argnums counts, got none. Pass "
            "the argument by position, or name it in argnames."
        ),
    ),
    # transforms: leaves that are not differentiated
    (
        lambda: grad(loss)({"w": X, "layers": [{"act": "tanh"}]}),
        InputError,
        (
            "grad(loss)(...): expected floating or complex inputs, got str 'tanh' at "
            "['layers'][0]['act'] of argument 0. A value that is not differentiated goes into an "
            "argument of its own (argnums), or into a static field of a dataclass: "
            'field(metadata={"static": True}).'
        ),
    ),
    (
        lambda: grad(loss, argnums=1)(X, Layer(X, 3)),
        InputError,
        (
            "grad(loss)(...): expected floating or complex inputs, got int 3 at .width of "
            "argument 1. Pass floats (x.astype(float), or 3.0 for 3). A value that is not "
            "differentiated goes into an argument of its own (argnums), or into a static field of "
            "a dataclass"
        ),
    ),
    (
        lambda: grad(loss, argnames="w")(X, w=[Pair(X, X > 0)]),
        InputError,
        "got bool[3] at [0].second of argument 'w'.",
    ),
    (
        lambda: grad(loss)([Unregistered()]),
        InputError,
        (
            "at [0] of argument 0. Make Unregistered a dataclass, or a container with "
            "tapegrad.register_pytree(Unregistered, flatten, unflatten)."
        ),
    ),
    (lambda: grad(loss)(Frame()), InputError, "Pass its values: x.to_numpy()."),
    # transforms: outputs
    (
        lambda: grad(lambda x: (np.sum(x), {"x": x}))(X),
        OutputError,
        (
            "grad(<lambda>)(x): expected a real scalar output, got tuple (float64 scalar, {'x': "
            "float64[3]}). Pass has_aux=True to differentiate the first and get the second as it "
            "is."
        ),
    ),
    (
        lambda: grad(lambda x: (np.sum(x), 1, 2))(X),
        OutputError,
        "Return (value, aux), with the rest in aux, and pass has_aux=True.",
    ),
    (
        lambda: grad(lambda x: None)(X),
        OutputError,
        (
            "grad(<lambda>)(x): expected a real scalar output, got None. Return the value: a "
            "return statement may be missing."
        ),
    ),
    (
        lambda: grad(lambda x: [np.sum(x)])(X),
        OutputError,
        "got list [float64 scalar]. Return the number alone, or use jacobian(<lambda>).",
    ),
    (
        lambda: grad(lambda x: np.sum(x > 1))(X),
        OutputError,
        (
            "got int64 scalar. Return a floating number: counts and truth values have no "
            "derivative."
        ),
    ),
    (lambda: grad(lambda x: "a")(X), OutputError, "got str 'a'. Return a number."),
    (
        lambda: jacobian(lambda x: None)(X),
        OutputError,
        "got None. Return an array: a return statement may be missing.",
    ),
    (
        lambda: jacobian(lambda x: (x, 1))(X),
        OutputError,
        ("got int 1. Return float arrays, or pass has_aux=True to differentiate the first alone."),
    ),
    (
        lambda: grad(vector)(X),
        OutputError,
        (
            "grad(vector)(x): expected a real scalar output, got float64[3]. Reduce it "
            "with np.sum, or "
            "use jacobian(vector)."
        ),
    ),
    (
        lambda: grad(vector)(1j),
        OutputError,
        (
            "grad(vector)(x): expected a real scalar output, got complex128 scalar. Return "
            "a real number "
            "(np.abs, np.real), or pass holomorphic=True."
        ),
    ),
    (
        lambda: grad(lambda z: np.abs(z), holomorphic=True)(1j),
        OutputError,
        (
            "grad(<lambda>)(x): expected a complex scalar output, got float64 scalar. Leave "
            "holomorphic=True away for a real output."
        ),
    ),
    (
        lambda: grad(loss, has_aux=True)(X),
        OutputError,
        (
            "grad(loss): expected a pair (value, aux), for has_aux=True, got float64 scalar. "
            "Return both."
        ),
    ),
    (
        lambda: jacrev(np.argmax)(X),
        OutputError,
        (
            "jacrev(argmax): expected floating or complex outputs, got int64 scalar. Return "
            "float arrays."
        ),
    ),
    (
        lambda: jacobian(vector, mode="both"),
        InputError,
        (
            'jacobian(vector): expected mode "auto", "forward" or "reverse", got \'both\'. '
            "Leave it away "
            "to have one chosen."
        ),
    ),
    # tangents and cotangents
    (
        lambda: jvp(vector, X, X),
        InputError,
        "jvp(vector): expected primals in a tuple, got ndarray. Write (x,) for one primal.",
    ),
    (
        lambda: hvp(loss, X, X),
        InputError,
        "hvp(loss): expected primals in a tuple, got ndarray. Write (x,) for one primal.",
    ),
    (
        lambda: vhp(loss, X, X),
        InputError,
        "vhp(loss): expected primals in a tuple, got ndarray. Write (x,) for one primal.",
    ),
    (
        lambda: ggnvp(vector, X, X),
        InputError,
        "ggnvp(vector): expected primals in a tuple, got ndarray. Write (x,) for one primal.",
    ),
    (
        lambda: hvp(loss, (X,), X),
        InputError,
        (
            "hvp(loss): expected a tuple of 1 vectors, one a primal, got ndarray. Pass a vector "
            "of the primal's shape for each."
        ),
    ),
    (
        lambda: vhp(loss, (X,), (X, X)),
        InputError,
        "vhp(loss): expected a tuple of 1 vectors, one a primal, got tuple of 2.",
    ),
    (
        lambda: jvp(vector, (X,), X),
        InputError,
        (
            "jvp(vector): expected a tuple of 1 tangents, one a primal, got ndarray. Pass "
            "a tangent of the "
            "primal's shape for each."
        ),
    ),
    (
        lambda: jvp(vector, (X,), (X, X)),
        InputError,
        (
            "jvp(vector): expected a tuple of 1 tangents, one a primal, got tuple of 2. "
            "Pass a tangent of "
            "the primal's shape for each."
        ),
    ),
    (
        lambda: jvp(vector, (X,), (X[:2],)),
        ShapeMismatchError,
        "jvp(vector): expected a tangent of shape (3,), got float64[2]. Pass one like float64[3].",
    ),
    (
        lambda: jvp(vector, (X,), ("a",)),
        InputError,
        "jvp(vector): expected a tangent like float64[3], got str 'a'. Pass an array.",
    ),
    (
        lambda: jvp(vector, (X,), (X * 1j,)),
        InputError,
        "jvp(vector): expected a real tangent, got complex128[3]. Pass one like float64[3].",
    ),
    (lambda: jvp(vector, (X,), ([X],)), InputError, "tangent"),
    (
        lambda: jvp(lambda t: t[0], ((X,),), ([X],)),
        InputError,
        (
            "jvp(<lambda>): expected the structure (*), got [*]. Pass a tree with the same "
            "containers."
        ),
    ),
    (
        lambda: linearize(vector, X)[1](X[:2]),
        ShapeMismatchError,
        (
            "pushforward of linearize(vector): expected a tangent of shape (3,), got "
            "float64[2]. Pass one "
            "like float64[3]."
        ),
    ),
    (
        lambda: vjp(vector, X)[1](X[:2]),
        ShapeMismatchError,
        (
            "pullback of vjp(vector): expected a cotangent of shape (3,), got float64[2]. "
            "Pass one like "
            "float64[3]."
        ),
    ),
    (
        lambda: vjp(loss, X)[1](1j),
        InputError,
        (
            "pullback of vjp(loss): expected a real cotangent, got complex128 scalar. Pass one "
            "like float64 scalar."
        ),
    ),
    (
        lambda: hvp(loss, (X,), (X[:2],)),
        ShapeMismatchError,
        "jvp(loss): expected a tangent of shape (3,), got float64[2]. Pass one like float64[3].",
    ),
    # leaks
    (
        lambda: leak() * 2,
        LeakedValueError,
        (
            "value from grad(leaking) used after grad(leaking) returned. A traced value "
            "lives as long as "
            "its transform: return it from the function (has_aux=True), or keep a plain "
            "copy made with "
            "tapegrad.stop_gradient."
        ),
    ),
    (
        changed_constant,
        ChangedConstantError,
        (
            "grad(program): float64[20000] was changed through a view while the function ran, "
            "after a derivative had come to depend on it. Copy it before the change."
        ),
    ),
    # conversions
    (
        lambda: in_grad(lambda x: float(x[0])),
        ConversionError,
        (
            "float(x): expected a plain value, got a traced one, whose derivative would be lost. "
            "Leave the conversion away: arithmetic and NumPy functions take traced values "
            "(np.sqrt for math.sqrt). To fill an array import tapegrad.numpy as np, or put "
            "@tapegrad.adopt over the function, or make it with np.zeros_like(x, "
            "shape=shape); for plain numbers use tapegrad.stop_gradient(x)."
        ),
    ),
    (
        lambda: in_grad(lambda x: complex(x[0])),
        ConversionError,
        (
            "complex(x): expected a plain value, got a traced one, whose derivative would "
            "be lost. Use "
            "x + 0j; for plain numbers use tapegrad.stop_gradient(x)."
        ),
    ),
    (
        lambda: in_grad(lambda x: range(x[0])),
        ConversionError,
        (
            "range(x): expected a plain value, got a traced one, whose derivative would be lost. "
            "Sizes and indices are integers, which have no derivative: use int(x)."
        ),
    ),
    (
        lambda: in_grad(lambda x: np.asarray(x)),
        ConversionError,
        (
            "np.asarray(x): expected a plain value, got a traced one, whose derivative would be "
            "lost. To build arrays of traced values, or to fill one, import tapegrad.numpy as "
            "np, or put @tapegrad.adopt over the function; NumPy's own way is np.stack, and "
            "np.zeros_like(x, shape=shape); for plain numbers use tapegrad.stop_gradient(x)."
        ),
    ),
    (
        lambda: in_grad(lambda x: x.__reduce__()),
        ConversionError,
        (
            "pickle.dumps(x): expected a plain value, got a traced one, whose derivative "
            "would be lost. "
            "Pickle tapegrad.stop_gradient(x)."
        ),
    ),
    (
        lambda: in_grad(lambda x: x.tobytes()),
        ConversionError,
        "Use tapegrad.stop_gradient(x).tobytes().",
    ),
    (
        lambda: in_grad(lambda x: x.tofile("f")),
        ConversionError,
        "Use tapegrad.stop_gradient(x).tofile(...).",
    ),
    (
        lambda: in_grad(lambda x: x.dump("f")),
        ConversionError,
        "Use tapegrad.stop_gradient(x).dump(...).",
    ),
    # functions
    (
        lambda: in_grad(lambda x: np.frompyfunc(math.sin, 1, 1)(x)),
        NotDifferentiableError,
        (
            "sin (vectorized): no derivative rule for it yet. Write it in terms of functions "
            "that have one, "
            "declare one with tapegrad.primitive, or pass tapegrad.stop_gradient(x) for a "
            "constant."
        ),
    ),
    (
        lambda: in_grad(unclear),
        NotDifferentiableError,
        "unclear: not differentiable (nobody knows what it does).",
    ),
    (
        lambda: in_grad(lambda x: with_option(X, option=x)),
        NotDifferentiableError,
        (
            "with_option: not differentiable by its argument 'option'. Pass "
            "tapegrad.stop_gradient(...) "
            "of it if it is a constant."
        ),
    ),
    (
        lambda: in_grad(lambda x: np.exp(x, out=np.ones(3))),
        NotDifferentiableError,
        (
            "np.exp: expected a traced array for out=, got a plain ndarray, which cannot carry a "
            "derivative. Leave out= away (z = z + x for z += x), or make the array with "
            "np.zeros_like(x, shape=shape) of a traced x."
        ),
    ),
    (
        lambda: in_grad(lambda x: np.add.at(np.ones(3), [0], x[0])),
        NotDifferentiableError,
        (
            "np.add.at: expected a traced array to write into, got a plain one, which "
            "cannot carry a "
            "derivative. Make it with np.zeros_like(x, shape=shape) of a traced x."
        ),
    ),
    (
        lambda: in_grad(lambda x: x.view(np.int64)),
        NotDifferentiableError,
        "x.view(dtype): not differentiable (it reinterprets memory). Use x.astype(dtype).",
    ),
    # writes
    (
        lambda: in_grad(lambda x: x.__setitem__(0, 1j)),
        TypeError,
        (
            "x[...] = v: expected real values for an array of float64, got complex ones. "
            "Use v.real, or "
            "make x complex."
        ),
    ),
    (
        lambda: in_grad(lambda x: np.add(x, 1j, out=x)),
        TypeError,
        "np.add: cannot cast the result from complex128 to float64 for out=.",
    ),
    (
        lambda: in_grad(lambda x: np.add(x, 1.0, out=x[:2])),
        ValueError,
        "np.add: the result of shape (3,) does not fit out= of shape (2,).",
    ),
    (
        lambda: in_grad(lambda x: x.astype(int, casting="safe")),
        TypeError,
        "Cannot cast array data from float64 to int64 by 'safe'",
    ),
    (
        lambda: in_grad(lambda x: with_option(x, 1, 2)),
        TypeError,
        "with_option: expected at most 2 positional arguments, got 3.",
    ),
    (
        lambda: in_grad(lambda x: with_option(x, x=x)),
        TypeError,
        "with_option: got two values for argument 'x'.",
    ),
    # rules
    (
        lambda: in_grad(undeclared),
        RuleError,
        (
            "undeclared: called on a traced value, but it has no rule. Declare one, for example "
            "tapegrad.elementwise(function, partial)."
        ),
    ),
    (
        lambda: grad(lambda x: np.sum(declared(x)))(X),
        RuleError,
        (
            "declared: its rule returned a cotangent of shape (7,) for an argument of "
            "shape (3,). A "
            "cotangent has the shape of its argument, or one that broadcasting made of it."
        ),
    ),
    (
        lambda: jvp(wrong_tangent, (X,), (X,)),
        RuleError,
        (
            "wrong_tangent: its rule returned a tangent of shape (2, 3) for a result of "
            "shape (3,). A "
            "tangent has the shape of its value."
        ),
    ),
    (
        lambda: tapegrad.linear(declared, lambda g, _out, _x: g),
        RuleError,
        "declared: already declared as linear. Declare it once.",
    ),
    (
        lambda: tapegrad.general(undeclared),
        RuleError,
        "undeclared: expected a vjp or a jvp, got neither.",
    ),
    (
        lambda: tapegrad.linear(undeclared, lambda g, _out, _x: g, batch="up"),
        RuleError,
        "undeclared: unknown batch='up'.",
    ),
    (
        lambda: grad(make(custom_vjp))(2.0, 3.0),
        RuleError,
        "f: no derivative yet. Call defvjp first.",
    ),
    (
        lambda: grad(make(custom_jvp))(2.0, 3.0),
        RuleError,
        "f: no derivative yet. Call defjvp first.",
    ),
    (
        bad_backward,
        RuleError,
        (
            "backward of f: expected a tuple of 2 cotangents, got 1. Return one (or None) "
            "for each "
            "argument that is differentiated."
        ),
    ),
    (
        keyword_only,
        RuleError,
        (
            "f: expected arguments that can be passed by position, got keywords ['scale']. "
            "Make them "
            "positional parameters."
        ),
    ),
    (
        lambda: tapegrad.register_pytree(dict, list, list),
        InputError,
        "register: expected a type without a registration, got dict. Register it once.",
    ),
]


@pytest.mark.parametrize(
    ("call", "error", "text"), MESSAGES, ids=[text[:50] for *_, text in MESSAGES]
)
def test_message(call, error, text, monkeypatch):
    # Beside other threads, as a test of a cluster leaves them, constants are copied, not locked.
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    with pytest.raises(error, match=re.escape(text)):
        call()


@pytest.mark.parametrize(
    "f",
    [
        lambda x: 3.0,
        lambda x: (x * 2, 5.0)[1],
        lambda x: np.mean((x > 1) == np.array([True, False, True])),
        lambda x: np.sum(x * 2) * 0 if np.sum(x) < 0 else np.mean(np.floor(x * 2)),
        lambda x: np.sum(np.zeros_like(x * 2) + 1.0),
        lambda x: np.sum(tapegrad.stop_gradient(x * 2)),
        lambda x: [z := np.zeros_like(x), z.__setitem__(0, 1.0), np.sum(z * 2)][-1],
    ],
    ids=["number", "other", "accuracy", "floor", "zeros", "stopped", "written"],
)
@pytest.mark.parametrize(
    "transform",
    [grad, value_and_grad, hessian],
    ids=["grad", "value_and_grad", "hessian"],
)
def test_a_warning_for_outputs_that_do_not_depend_on_inputs(f, transform):
    text = "grad(<lambda>): the output does not depend on the input; the gradient is zero."
    with pytest.warns(tapegrad.IndependentOutputWarning, match=re.escape(text)) as caught:
        transform(f)(X)
    assert len(caught) == 1


def test_no_warning_for_derivatives_that_are_zero():
    def linear(x):
        return np.sum(3.0 * x)

    assert not np.any(hessian(linear)(X))
    assert not np.any(jacobian(grad(linear))(X))
    assert not np.any(hvp(linear, (X,), (X,)))
    assert not np.any(vhp(linear, (X,), (X,)))
    assert not np.any(grad(lambda x: np.sum(x * 0.0))(X))
    assert not np.any(jacobian(lambda x: np.ones(2))(X))


@pytest.mark.parametrize("transform", [vjp, linearize])
@pytest.mark.parametrize(
    "f", [lambda x: x**2, lambda x: x.sum(), lambda x, y: x, lambda x: 2.0 * x, lambda x: -x]
)
def test_a_tuple_where_arrays_belong_is_refused(transform, f):
    name = transform.__name__
    text = f"Pass primals one by one: {name}(f, x, y)"
    with pytest.raises(tapegrad.InputError, match=re.escape(text)) as caught:
        transform(f, (X,))
    assert isinstance(caught.value.__cause__, (TypeError, AttributeError))


@pytest.mark.parametrize("transform", [vjp, linearize])
def test_another_error_of_a_function_of_a_tuple_gets_a_note(transform):
    def of_pair(x, y):
        return x + y

    with pytest.raises(TypeError, match="missing 1 required positional argument: 'y'") as caught:
        transform(lambda pair: of_pair(pair[0]), (X,))
    assert not isinstance(caught.value, tapegrad.InputError)
    name = transform.__name__
    (note,) = caught.value.__notes__
    assert note == (
        f"{name}(<lambda>): f got its only primal as one tuple. Pass primals one by one: "
        f"{name}(f, x, y)."
    )


@pytest.mark.parametrize("transform", [vjp, linearize])
def test_a_tuple_is_a_primal_of_a_function_that_takes_one(transform):
    value, _ = transform(lambda pair: np.sum(pair[0] * pair[1]), (X, X))
    assert value == np.sum(X * X)


def test_static_fields_of_dataclasses_are_carried_along():
    @dataclasses.dataclass
    class Model:
        weights: np.ndarray
        activation: str = dataclasses.field(default="tanh", metadata={"static": True})

    def output(model):
        return np.sum(getattr(np, model.activation)(model.weights))

    found = grad(output)(Model(X, "sin"))
    assert found.activation == "sin"
    np.testing.assert_array_equal(found.weights, np.cos(X))
    with pytest.raises(InputError, match="structure"):
        jvp(output, (Model(X, "sin"),), (Model(X, "cos"),))


@pytest.mark.parametrize(
    ("error", "builtin"),
    [
        (InputError, TypeError),
        (OutputError, TypeError),
        (ShapeMismatchError, ValueError),
        (LeakedValueError, RuntimeError),
        (NotDifferentiableError, TypeError),
        (ConversionError, TypeError),
        (RuleError, TypeError),
        (MissingRuleError, NotImplementedError),
    ],
)
def test_errors_are_tapegrads_and_pythons(error, builtin):
    assert issubclass(error, TapegradError)
    assert issubclass(error, builtin)


def test_the_four_parts_of_a_message():
    assert message("f(x)", "a", "b", "Do c") == "f(x): expected a, got b. Do c."


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (X, "float64[3]"),
        (np.ones((2, 3), np.float32), "float32[2,3]"),
        (np.float64(1), "float64 scalar"),
        (np.array(1), "int64 scalar"),
        (np.ones((0,)), "float64[0]"),
        (None, "None"),
        ("abc", "str 'abc'"),
        (3, "int 3"),
        ((np.ones(2), {"a": None}), "tuple (float64[2], {'a': None})"),
        ([(1.0,)], "list [(1.0,)]"),
        (list(range(100)), "list [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11..."),
    ],
)
def test_descriptions_of_values(value, text):
    assert describe(value) == text


def test_descriptions_of_traced_values():
    seen = []
    in_grad(lambda x: seen.append(describe(x)))
    assert seen == ["float64[3]"]


def test_names_of_callables():
    class Model:
        def __call__(self):
            """Unused."""

    assert name_of(loss) == "loss"
    assert name_of(np.sin) == "sin"
    assert name_of(Model()) == "Model"
    assert name_of(functools.partial(loss)) in ("loss", "partial")
    assert name_of(lambda: 0) == "<lambda>"
