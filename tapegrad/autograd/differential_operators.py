"""The curried operators: `grad(f, argnum=0)` returns a function of f's arguments.

`argnum` is an integer, or a tuple or list of them, which makes the derivative a tuple. Arguments
and results may be containers; integers count as floats. Knows `core` and tapegrad's transforms.
Must not know tapes.
"""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad._core.types import Tree
from tapegrad._core.values import in_trace, is_array, is_plain_number
from tapegrad._errors import InputError, OutputError, describe, message
from tapegrad._transforms.checkpoint import checkpoint
from tapegrad._transforms.derived import jacfwd, jacrev
from tapegrad._transforms.outputs import require_known
from tapegrad._transforms.reverse import IndependentOutputWarning
from tapegrad._tree import flatten, unflatten
from tapegrad._warning import warn
from tapegrad.autograd._boxes import INDEPENDENT
from tapegrad.autograd._derivatives import as_floats, pull_back
from tapegrad.autograd._derivatives import make_jvp as make_jvp_of_one
from tapegrad.autograd._derivatives import make_vjp as make_vjp_of_one
from tapegrad.autograd._spaces import vspace
from tapegrad.autograd.wrap_util import get_name, unary_to_nary

Function = Callable[..., Any]

make_vjp = unary_to_nary(make_vjp_of_one)
make_jvp = unary_to_nary(make_jvp_of_one)


def _require_scalar(operator: str, fun: Function, out: Tree) -> None:
    """Raise OutputError for an output that is not one real number."""
    leaves = flatten(out)[0]
    if len(leaves) == 1 and (is_array(leaves[0]) or is_plain_number(leaves[0])):
        (leaf,) = leaves
        if np.size(leaf) == 1 and np.result_type(leaf).kind == "f":
            return
    raise OutputError(
        message(
            f"{operator}({get_name(fun)})",
            "a real scalar output",
            describe(out),
            "Try jacobian, elementwise_grad or holomorphic_grad",
        )
    )


def _ones(out: Tree) -> Any:
    leaves, structure = flatten(out)
    return unflatten(structure, map(np.ones_like, leaves))


@unary_to_nary
def grad(fun: Function, x: Tree) -> Any:
    """
    Returns a function which gives the gradient of a real scalar function.

    The gradient has the containers, shapes and dtypes of the argument (of several, in a tuple).
    Raises TypeError for an output that is not one real number; warns where it does not depend on
    the argument, and the gradient is zero.

    >>> grad(lambda x, y: x * y, argnum=1)(2.0, 3.0)
    np.float64(2.0)
    """  # noqa: D212 - as programs that compare docstrings expect
    vjp, out = pull_back(fun, x, copies=False, check=lambda out: _require_scalar("grad", fun, out))
    return vjp(_ones(out))


@unary_to_nary
def value_and_grad(fun: Function, x: Tree) -> Any:
    """`(value, gradient)` of a real scalar function.

    >>> value_and_grad(lambda x: x**2)(3.0)
    (np.float64(9.0), np.float64(6.0))
    """
    vjp, out = pull_back(
        fun, x, copies=False, check=lambda out: _require_scalar("value_and_grad", fun, out)
    )
    return out, vjp(_ones(out))


@unary_to_nary
def grad_and_aux(fun: Function, x: Tree) -> Any:
    """`(gradient, aux)` of a function that returns `(value, aux)`.

    >>> grad_and_aux(lambda x: (x**2, x + 1))(3.0)
    (np.float64(6.0), np.float64(4.0))
    """
    vjp, out = pull_back(fun, x, copies=False)
    value, aux = out
    _require_scalar("grad_and_aux", fun, value)
    leaves, structure = flatten(aux)
    return vjp((_ones(value), unflatten(structure, map(np.zeros_like, leaves)))), aux


@unary_to_nary
def elementwise_grad(fun: Function, x: Tree) -> Any:
    """The sums of the columns of the Jacobian, its diagonal where it is diagonal, in one pass.

    >>> elementwise_grad(np.sin)(np.zeros(2))
    array([1., 1.])
    """
    vjp, out = pull_back(fun, x, copies=False)
    if any(np.iscomplexobj(leaf) for leaf in flatten(out)[0]):
        raise OutputError(
            message(
                f"elementwise_grad({get_name(fun)})",
                "a real output",
                describe(out),
                "Try holomorphic_grad",
            )
        )
    return vjp(_ones(out))


@unary_to_nary
def deriv(fun: Function, x: Tree) -> Any:
    """The derivative along a tangent of ones, in forward mode."""
    return make_jvp_of_one(fun, x)(vspace(x).ones())[1]


def _jacobian_by(transform: Function, fun: Function, x: Tree) -> Any:
    """The output's containers of blocks, each in the argument's containers."""
    leaves, structure = flatten(as_floats(x))
    outer: Any = None

    def of_leaves(*leaves: Any) -> Any:
        nonlocal outer
        found, outer = flatten(as_floats(fun(unflatten(structure, leaves))))
        for leaf in found:
            require_known(f"jacobian({get_name(fun)})", leaf, leaves)
        if not any(map(in_trace, found)):
            warn(INDEPENDENT, IndependentOutputWarning)
        return [leaf if is_array(leaf) else np.asarray(leaf)[()] for leaf in found]

    of_leaves.__name__ = get_name(fun)
    rows = transform(of_leaves, tuple(range(len(leaves))))(*leaves)
    return unflatten(outer, [unflatten(structure, row) for row in rows])


@unary_to_nary
def jacobian(fun: Function, x: Tree) -> Any:
    """The Jacobian, of shape out + in, by reverse mode: all rows in batched replays.

    >>> jacobian(lambda x: x**2)(np.array([1.0, 3.0]))
    array([[2., 0.],
           [0., 6.]])
    """
    return _jacobian_by(jacrev, fun, x)


@unary_to_nary
def hessian(fun: Function, x: Tree) -> Any:
    """The second derivatives, of shape out + in + in, forward over reverse.

    >>> hessian(lambda x: np.sum(x**3))(np.array([1.0, 2.0]))
    array([[ 6.,  0.],
           [ 0., 12.]])
    """
    return _jacobian_by(jacfwd, lambda x: _jacobian_by(jacrev, fun, x), x)


@unary_to_nary
def holomorphic_grad(fun: Function, x: Tree) -> Any:
    """The complex derivative of an analytic function.

    >>> holomorphic_grad(lambda z: z**2)(1j)
    np.complex128(2j)
    """
    if not vspace(x).iscomplex:
        warn("Input to holomorphic_grad is not complex")
    return grad(lambda x: np.real(fun(x)))(x)


def grad_named(fun: Function, argname: str) -> Function:
    """The gradient by the positional argument of a name."""
    names = list(inspect.signature(fun).parameters)
    if argname not in names:
        raise InputError(
            message(
                f"grad_named({get_name(fun)})",
                f"one of the parameters {names}",
                repr(argname),
                "Name a parameter of the function",
            )
        )
    return grad(fun, names.index(argname))


@unary_to_nary
def make_hvp(fun: Function, x: Tree) -> Any:
    """`(hvp, gradient)`: products with the Hessian at a point, of which the gradient runs once."""
    return make_vjp_of_one(grad(fun), x)


def hessian_tensor_product(fun: Function, argnum: int = 0) -> Function:
    """A function of `(*args, tensor)`: the Hessian by one argument, times a tensor of its shape.

    >>> hessian_vector_product(lambda x: np.sum(x**3))(np.array([1.0, 2.0]), np.ones(2))
    array([ 6., 12.])
    """
    gradient = grad(fun, argnum)

    def vector_dot_grad(*args: Any, **kwargs: Any) -> Any:
        *given, vector = args
        return np.tensordot(gradient(*given, **kwargs), vector, np.ndim(vector))

    return grad(vector_dot_grad, argnum)


hessian_vector_product = hessian_tensor_product


def tensor_jacobian_product(fun: Function, argnum: int = 0) -> Function:
    """A function of `(*args, tensor)`: a tensor times the Jacobian by one argument."""

    def vector_dot_fun(*args: Any, **kwargs: Any) -> Any:
        *given, vector = args
        return np.tensordot(vector, fun(*given, **kwargs), axes=np.ndim(vector))

    return jacobian(vector_dot_fun, argnum)


vector_jacobian_product = tensor_jacobian_product


@unary_to_nary
def make_jvp_reversemode(fun: Function, x: Tree) -> Any:
    """`jvp(v)`, the tangent of the output, by the transpose of the vjp."""
    vjp, out = make_vjp_of_one(fun, x)
    return make_vjp_of_one(vjp, vspace(out).zeros())[0]


def _half_square(x: Any) -> Any:
    return 0.5 * np.sum(x**2, axis=-1)


def make_ggnvp(f: Function, g: Function = _half_square, f_argnum: int = 0) -> Function:
    """`make_ggnvp(f)(*args)(v)`: products with the Gauss-Newton matrix J^T H J.

    J is the Jacobian of f, and H the Hessian of g at f's output; that of half the sum of squares
    by default.
    """

    @unary_to_nary
    def make(f: Function, x: Tree) -> Function:
        f_vjp, out = make_vjp_of_one(f, x)
        g_hvp, slope = make_vjp_of_one(grad(g), out)
        f_jvp = make_vjp_of_one(f_vjp, vspace(slope).zeros())[0]
        return lambda v: f_vjp(g_hvp(f_jvp(v)))

    return make(f, f_argnum)


def multigrad_dict(fun: Function) -> Function:
    """The gradients by all arguments at once, in a dict by their names.

    >>> dict(multigrad_dict(lambda x, y=2.0: x * y)(3.0))
    {'x': np.float64(2.0), 'y': np.float64(3.0)}
    """
    parameters = inspect.signature(fun).parameters

    def gradients(*args: Any, **kwargs: Any) -> Any:
        bound = inspect.signature(fun).bind(*args, **kwargs)
        bound.apply_defaults()
        arguments = dict(bound.arguments)

        def of_dict(given: dict[str, Any]) -> Any:
            positional: list[Any] = []
            named: dict[str, Any] = {}
            for name, parameter in parameters.items():
                if parameter.kind is parameter.VAR_POSITIONAL:
                    positional.extend(given[name])
                elif parameter.kind is parameter.VAR_KEYWORD:
                    named.update(given[name])
                elif parameter.kind is parameter.KEYWORD_ONLY:
                    named[name] = given[name]
                else:
                    positional.append(given[name])
            return fun(*positional, **named)

        found = grad(of_dict)(arguments)
        return OrderedDict((name, found[name]) for name in arguments)

    return gradients


__all__ = [
    "checkpoint",
    "deriv",
    "elementwise_grad",
    "grad",
    "grad_and_aux",
    "grad_named",
    "hessian",
    "hessian_tensor_product",
    "hessian_vector_product",
    "holomorphic_grad",
    "jacobian",
    "make_ggnvp",
    "make_hvp",
    "make_jvp",
    "make_jvp_reversemode",
    "make_vjp",
    "multigrad_dict",
    "tensor_jacobian_product",
    "value_and_grad",
    "vector_jacobian_product",
]
