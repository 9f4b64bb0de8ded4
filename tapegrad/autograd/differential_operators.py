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

from tapegrad._block import setting
from tapegrad._core.types import Tree
from tapegrad._core.values import in_trace, is_array, is_plain_number
from tapegrad._errors import InputError, OutputError, describe, message
from tapegrad._transforms.checkpoint import checkpoint
from tapegrad._transforms.jacobians import check_outputs, rows_by
from tapegrad._transforms.outputs import require_known
from tapegrad._transforms.reverse import IndependentOutputWarning, Pullback, run_with_map
from tapegrad._transforms.room import require_room, written
from tapegrad._tree import flatten, unflatten
from tapegrad._warning import warn
from tapegrad.autograd._boxes import INDEPENDENT
from tapegrad.autograd._calls import PULLS_ROWS
from tapegrad.autograd._completed import complete
from tapegrad.autograd._derivatives import as_floats, pull_back
from tapegrad.autograd._derivatives import make_jvp as make_jvp_of_one
from tapegrad.autograd._derivatives import make_vjp as make_vjp_of_one
from tapegrad.autograd._spaces import vspace
from tapegrad.autograd.wrap_util import get_name, unary_to_nary

Function = Callable[..., Any]


@unary_to_nary
def make_vjp(fun: Function, x: Tree) -> Any:
    """The value of a function and the map from cotangents of it to those of its argument.

    Parameters
    ----------
    fun : callable
        A function of arrays, numbers and containers of them.
    argnum : int, tuple of int or list of int, default 0
        The positional argument to differentiate by; of several, as in `grad`.

    Returns
    -------
    callable
        A function of the arguments of `fun` that returns `(vjp, value)`; `vjp(g)` takes a
        cotangent like the output, and may be called often. Integers count as floats.

    Warns
    -----
    tapegrad.IndependentOutputWarning
        If the output does not depend on the argument; the cotangent is then zero.

    See Also
    --------
    make_jvp : Forward mode.

    Examples
    --------
    >>> vjp, value = make_vjp(lambda x: x**2)(3.0)
    >>> float(value), float(vjp(1.0))
    (9.0, 6.0)
    """
    return make_vjp_of_one(fun, x)


@unary_to_nary
def make_jvp(fun: Function, x: Tree) -> Any:
    """A function and its derivative along a tangent, in forward mode.

    Parameters
    ----------
    fun : callable
        A function of arrays, numbers and containers of them.
    argnum : int, tuple of int or list of int, default 0
        The positional argument to differentiate by; of several, as in `grad`.

    Returns
    -------
    callable
        A function of the arguments of `fun` that returns `jvp`; `jvp(v)` takes a tangent like the
        argument, runs `fun` and returns `(value, tangent)`.

    See Also
    --------
    make_vjp : Reverse mode.

    Examples
    --------
    >>> make_jvp(lambda x: x**2)(3.0)(1.0)
    (np.float64(9.0), np.float64(6.0))
    """
    return make_jvp_of_one(fun, x)


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

    Parameters
    ----------
    fun : callable
        A function of arrays, numbers and containers of them, which returns one real number.
    argnum : int, tuple of int or list of int, default 0
        The positional argument to differentiate by; of several the gradients are a tuple.

    Returns
    -------
    callable
        A function of the arguments of `fun` that returns the gradient, with the containers,
        shapes and dtypes of the argument; integers count as floats.

    Raises
    ------
    InputError
        If argnum is no integer, nor a tuple or list of them, or no argument stands there.
    OutputError
        If the output is not one real number; it is a TypeError.

    Warns
    -----
    tapegrad.IndependentOutputWarning
        If the output does not depend on the argument. The gradient is zero then.

    See Also
    --------
    value_and_grad : The value too.
    tapegrad.grad : The same with tapegrad's options.

    Examples
    --------
    >>> grad(lambda x, y: x * y, argnum=1)(2.0, 3.0)
    np.float64(2.0)
    """  # noqa: D212 - as programs that compare docstrings expect
    vjp, out = pull_back(fun, x, copies=False, check=lambda out: _require_scalar("grad", fun, out))
    return vjp(_ones(out))


@unary_to_nary
def value_and_grad(fun: Function, x: Tree) -> Any:
    """The value and the gradient of a real scalar function.

    What is raised and warned of is as in `grad`.

    Parameters
    ----------
    fun : callable
        A function of arrays, numbers and containers of them. It returns one
        real number.
    argnum : int, tuple of int or list of int, default 0
        The positional argument to differentiate by; of several, as in `grad`.

    Returns
    -------
    callable
        A function of the arguments of `fun` that returns `(value, gradient)`.

    See Also
    --------
    grad : The gradient alone.

    Examples
    --------
    >>> value_and_grad(lambda x: x**2)(3.0)
    (np.float64(9.0), np.float64(6.0))
    """
    vjp, out = pull_back(
        fun, x, copies=False, check=lambda out: _require_scalar("value_and_grad", fun, out)
    )
    return out, vjp(_ones(out))


@unary_to_nary
def grad_and_aux(fun: Function, x: Tree) -> Any:
    """The gradient of a function that returns something beside its value.

    Parameters
    ----------
    fun : callable
        A function of arrays, numbers and containers of them. It returns
        `(value, aux)`, the value one real number.
    argnum : int, tuple of int or list of int, default 0
        The positional argument to differentiate by; of several, as in `grad`.

    Returns
    -------
    callable
        A function of the arguments of `fun` that returns `(gradient, aux)`.

    Raises
    ------
    OutputError
        If the value is not one real number.

    Examples
    --------
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
    """The sums of the columns of the Jacobian, in one pass.

    Of a function of each element by itself they are its derivative, the diagonal.

    Parameters
    ----------
    fun : callable
        A function of arrays, numbers and containers of them.
    argnum : int, tuple of int or list of int, default 0
        The positional argument to differentiate by; of several, as in `grad`.

    Returns
    -------
    callable
        A function of the arguments of `fun` that returns the sums, like the argument.

    Raises
    ------
    OutputError
        If the output is complex.

    See Also
    --------
    jacobian : All entries.

    Examples
    --------
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
    """The derivative along a tangent of ones (of complex numbers 1 + 1j), in forward mode.

    Parameters
    ----------
    fun : callable
        A function of arrays, numbers and containers of them.
    argnum : int, tuple of int or list of int, default 0
        The positional argument to differentiate by; of several, as in `grad`.

    Returns
    -------
    callable
        A function of the arguments of `fun` that returns the tangent of the output.

    See Also
    --------
    make_jvp : Along any tangent.

    Examples
    --------
    >>> deriv(lambda x: x**3)(2.0)
    np.float64(12.0)
    """
    return make_jvp_of_one(fun, x)(vspace(x).ones())[1]


def _jacobian_of(fun: Function, x: Tree) -> Any:
    """`jacobian`: the output's containers of blocks, each in the argument's containers."""
    leaves, structure = flatten(as_floats(x))
    name = f"jacobian({get_name(fun)})"

    def of_leaves(*leaves: Any) -> Any:
        out = as_floats(fun(unflatten(structure, leaves)))
        found, outer = flatten(out)
        for leaf in found:
            require_known(name, leaf, leaves)
        if not any(map(in_trace, found)):
            warn(INDEPENDENT, IndependentOutputWarning)
        if all(map(is_array, found)):
            return out
        return unflatten(outer, [x if is_array(x) else np.asarray(x)[()] for x in found])

    of_leaves.__name__ = get_name(fun)
    out, pullback = run_with_map(Pullback, of_leaves, tuple(leaves), False, copies=False)
    found, outer = flatten(out)
    check_outputs(name, out, found)
    require_room(name, found, leaves, "", forward=False)
    with setting(PULLS_ROWS, True):
        rows = rows_by(pullback, found)
    return unflatten(outer, [unflatten(structure, row) for row in rows])


@unary_to_nary
def jacobian(fun: Function, x: Tree) -> Any:
    """The Jacobian of a function by reverse mode: all rows in batched replays.

    Parameters
    ----------
    fun : callable
        A function of arrays, numbers and containers of them.
    argnum : int, tuple of int or list of int, default 0
        The positional argument to differentiate by; of several, as in `grad`.

    Returns
    -------
    callable
        A function of the arguments of `fun` that returns an array of shape out + in; of
        containers, the output's containers of blocks, each in the argument's.

    Warns
    -----
    tapegrad.IndependentOutputWarning
        If the output does not depend on the argument.

    See Also
    --------
    hessian : Second derivatives.
    tapegrad.jacobian : In either mode.

    Examples
    --------
    >>> jacobian(lambda x: x**2)(np.array([1.0, 3.0]))
    array([[2., 0.],
           [0., 6.]])
    """
    with written(f"jacobian({get_name(fun)})", "Take make_jvp or make_vjp for its products"):
        return _jacobian_of(fun, x)


@unary_to_nary
def hessian(fun: Function, x: Tree) -> Any:
    """The second derivatives of a function, reverse over reverse: by declared vjps alone.

    Parameters
    ----------
    fun : callable
        A function of arrays, numbers and containers of them.
    argnum : int, tuple of int or list of int, default 0
        The positional argument to differentiate by; of several, as in `grad`.

    Returns
    -------
    callable
        A function of the arguments of `fun` that returns an array of shape out + in + in; of
        containers as in `jacobian`.

    See Also
    --------
    hessian_tensor_product : Products, without the Hessian.

    Examples
    --------
    >>> hessian(lambda x: np.sum(x**3))(np.array([1.0, 2.0]))
    array([[ 6.,  0.],
           [ 0., 12.]])
    """
    with written(f"hessian({get_name(fun)})", "Take hessian_vector_product, or make_hvp"):
        return _jacobian_of(lambda x: _jacobian_of(fun, x), x)


@unary_to_nary
def holomorphic_grad(fun: Function, x: Tree) -> Any:
    """The complex derivative of an analytic function.

    Parameters
    ----------
    fun : callable
        A function of complex arrays or numbers that returns one number.
    argnum : int, tuple of int or list of int, default 0
        The positional argument to differentiate by; of several, as in `grad`.

    Returns
    -------
    callable
        A function of the arguments of `fun` that returns the derivative.

    Warns
    -----
    UserWarning
        If the argument is not complex.

    Examples
    --------
    >>> holomorphic_grad(lambda z: z**2)(1j)
    np.complex128(2j)
    """
    if not vspace(x).iscomplex:
        warn("Input to holomorphic_grad is not complex")
    return grad(lambda x: np.real(fun(x)))(x)


def grad_named(fun: Function, argname: str) -> Function:
    """The gradient by the positional argument of a name.

    Parameters
    ----------
    fun : callable
        A function that returns one real number.
    argname : str
        The name of one of its parameters.

    Returns
    -------
    callable
        A function of the arguments of `fun`, that one by position, that returns the gradient.

    Raises
    ------
    InputError
        If no parameter has the name.

    See Also
    --------
    multigrad_dict : By all arguments.

    Examples
    --------
    >>> grad_named(lambda x, y: x * y, "y")(2.0, 3.0)
    np.float64(2.0)
    """
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
    """Products with the Hessian at a point, of which the gradient runs once.

    Parameters
    ----------
    fun : callable
        A function of real arrays, numbers and containers of them, which returns one real number.
    argnum : int, tuple of int or list of int, default 0
        The positional argument to differentiate by; of several, as in `grad`.

    Returns
    -------
    callable
        A function of the arguments of `fun` that returns `(hvp, gradient)`; `hvp(v)` takes a
        vector like the argument.

    See Also
    --------
    hessian_tensor_product : The vector as a further argument.

    Examples
    --------
    >>> hvp, gradient = make_hvp(lambda x: np.sum(x**3))(np.array([1.0, 2.0]))
    >>> hvp(np.ones(2))
    array([ 6., 12.])
    """
    return make_vjp_of_one(grad(fun), x)


def hessian_tensor_product(fun: Function, argnum: int = 0) -> Function:
    """The Hessian by one argument times a tensor of its shape.

    Parameters
    ----------
    fun : callable
        A function of arrays and numbers that returns one real number.
    argnum : int, default 0
        The positional argument to differentiate by, an array.

    Returns
    -------
    callable
        A function of `(*args, tensor)` that returns the product, of the argument's shape.

    See Also
    --------
    make_hvp : Several products at one point.

    Examples
    --------
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
    """A tensor times the Jacobian by one argument.

    Parameters
    ----------
    fun : callable
        A function of arrays and numbers that returns an array.
    argnum : int, default 0
        The positional argument to differentiate by, an array.

    Returns
    -------
    callable
        A function of `(*args, tensor)`. The leading axes of the output are summed over with those
        of the tensor; the result has its other axes, then those of the argument.

    See Also
    --------
    make_vjp : The same for tensors of the output's shape, with less work.

    Examples
    --------
    >>> tensor_jacobian_product(lambda x: x**2)(np.array([1.0, 2.0]), np.ones(2))
    array([2., 4.])
    """

    def vector_dot_fun(*args: Any, **kwargs: Any) -> Any:
        *given, vector = args
        return np.tensordot(vector, fun(*given, **kwargs), axes=np.ndim(vector))

    return jacobian(vector_dot_fun, argnum)


vector_jacobian_product = tensor_jacobian_product


@unary_to_nary
def make_jvp_reversemode(fun: Function, x: Tree) -> Any:
    """The derivative along a tangent by the transpose of the vjp.

    Parameters
    ----------
    fun : callable
        A function of arrays, numbers and containers of them.
    argnum : int, tuple of int or list of int, default 0
        The positional argument to differentiate by; of several, as in `grad`.

    Returns
    -------
    callable
        A function of the arguments of `fun` that returns `jvp`; `jvp(v)` is the tangent of the
        output.

    See Also
    --------
    make_jvp : In forward mode, with the value.

    Examples
    --------
    >>> float(make_jvp_reversemode(lambda x: x**2)(3.0)(1.0))
    6.0
    """
    vjp, out = make_vjp_of_one(fun, x)
    return make_vjp_of_one(vjp, vspace(out).zeros())[0]


def _half_square(x: Any) -> Any:
    return 0.5 * np.sum(x**2, axis=-1)


def make_ggnvp(f: Function, g: Function = _half_square, f_argnum: int = 0) -> Function:
    """Products with the Gauss-Newton matrix J^T H J.

    J is the Jacobian of f, and H the Hessian of g at f's output.

    Parameters
    ----------
    f : callable
        A function of arrays and numbers that returns an array.
    g : callable, optional
        A function of that array that returns one real number; by default half the sum of squares
        along the last axis.
    f_argnum : int, tuple of int or list of int, default 0
        The positional argument of f to differentiate by.

    Returns
    -------
    callable
        A function of f's arguments that returns `ggnvp`; `ggnvp(v)` takes a vector like the
        argument.

    See Also
    --------
    tapegrad.ggnvp : The same, with the vector as an argument.

    Examples
    --------
    >>> make_ggnvp(lambda x: x**2)(np.array([1.0, 2.0]))(np.ones(2))
    array([ 4., 16.])
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

    Parameters
    ----------
    fun : callable
        A function that returns one real number.

    Returns
    -------
    callable
        A function of the arguments of `fun` that returns an OrderedDict of gradients. Those of
        `*args` are a tuple, those of `**kwargs` a dict.

    See Also
    --------
    grad_named : By one argument.

    Examples
    --------
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


complete(__name__)

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
