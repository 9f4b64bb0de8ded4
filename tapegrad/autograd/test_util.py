"""Checks of derivatives against differences, as HIPS autograd's tests and packages call them.

They draw directions from `np.random`, so that a seed fixes them. `tapegrad.testing.check_grads` is
stricter, and names what is wrong.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from tapegrad._core.types import Tree
from tapegrad.autograd._derivatives import as_floats, make_jvp, make_vjp
from tapegrad.autograd._spaces import vspace
from tapegrad.autograd.wrap_util import get_name, unary_to_nary

Function = Callable[..., Any]

TOL = RTOL = EPS = 1e-6


def scalar_close(a: Any, b: Any) -> bool:
    """Whether two numbers differ by less than 1e-6, or by that much of their sum.

    Parameters
    ----------
    a, b : scalar
        The numbers.

    Returns
    -------
    bool
        The answer.

    Examples
    --------
    >>> scalar_close(1.0, 1.0 + 1e-9), scalar_close(1.0, 1.1)
    (True, False)
    """
    return bool(abs(a - b) < TOL or abs(a - b) / abs(a + b) < RTOL)


def nd(f: Function, *args: Any) -> list[Any]:
    """The gradients of a real scalar function by all arguments, by differences.

    Parameters
    ----------
    f : callable
        The function.
    *args : pytree
        Its arguments.

    Returns
    -------
    list of pytree
        A gradient for each argument, like it.

    Examples
    --------
    >>> [round(float(g), 6) for g in nd(lambda x, y: x * y, 2.0, 3.0)]
    [3.0, 2.0]
    """
    gradients = []
    for position, x in enumerate(args):
        space = vspace(x)

        def at(x: Any, position: int = position) -> Any:
            return f(*args[:position], x, *args[position + 1 :])

        jvp = make_numerical_jvp(at, x)
        total = space.zeros()
        for unit in space.standard_basis():
            total = space.add(total, space.scalar_mul(unit, jvp(unit)))
        gradients.append(space.covector(total))
    return gradients


def make_numerical_jvp(f: Function, x: Tree) -> Function:
    """The derivative of a function along a vector, by a central difference.

    Parameters
    ----------
    f : callable
        A function of one argument.
    x : pytree
        Where.

    Returns
    -------
    callable
        `jvp(v)`, the tangent of the output; the difference is over 1e-6 times v.

    Examples
    --------
    >>> round(float(make_numerical_jvp(lambda x: x**2, 3.0)(1.0)), 6)
    6.0
    """
    x = as_floats(x)
    x_space, out_space = vspace(x), vspace(f(x))

    def jvp(v: Tree) -> Any:
        after = f(x_space.add(x, x_space.scalar_mul(v, EPS / 2)))
        before = f(x_space.add(x, x_space.scalar_mul(v, -EPS / 2)))
        change = out_space.add(after, out_space.scalar_mul(before, -1.0))
        return out_space.scalar_mul(change, 1.0 / EPS)

    return jvp


def check_vjp(f: Function, x: Tree) -> None:
    """Check the vjp of a function at a point, by a random product.

    Parameters
    ----------
    f : callable
        A function of one argument.
    x : pytree
        Where.

    Raises
    ------
    AssertionError
        If it is not the transpose of the differences, or its cotangent is not like x.

    Examples
    --------
    >>> import numpy as np
    >>> check_vjp(np.sin, 0.5)
    """
    vjp, out = make_vjp(f, x)
    x_space, out_space = vspace(x), vspace(out)
    x_dot, out_dot = x_space.randn(), out_space.randn()
    bar = x_space.covector(vjp(out_space.covector(out_dot)))
    assert vspace(bar) == x_space, f"VJP of {get_name(f)}: {vspace(bar)} for {x_space}"
    exact = x_space.inner_prod(x_dot, bar)
    numeric = out_space.inner_prod(out_dot, make_numerical_jvp(f, x)(x_dot))
    assert scalar_close(numeric, exact), (
        f"Derivative (VJP) check of {get_name(f)} failed at {x}: by the rule {exact}, by "
        f"differences {numeric}"
    )


def check_jvp(f: Function, x: Tree) -> None:
    """Check the jvp of a function at a point, along a random vector.

    Parameters
    ----------
    f : callable
        A function of one argument.
    x : pytree
        Where.

    Raises
    ------
    AssertionError
        If it differs from the differences.

    Examples
    --------
    >>> import numpy as np
    >>> check_jvp(np.sin, 0.5)
    """
    direction = vspace(x).randn()
    check_equivalent(make_jvp(f, x)(direction)[1], make_numerical_jvp(f, x)(direction))


def check_equivalent(x: Tree, y: Tree) -> None:
    """Check that two values are alike, by a random product.

    Parameters
    ----------
    x, y : pytree
        The values.

    Raises
    ------
    AssertionError
        If the values differ, or their shapes, dtypes or containers do.

    Examples
    --------
    >>> check_equivalent((1.0, 2.0), (1.0, 2.0))
    """
    x_space, y_space = vspace(x), vspace(y)
    assert x_space == y_space, f"VSpace mismatch: {x_space} and {y_space}"
    direction = x_space.randn()
    products = x_space.inner_prod(x, direction), x_space.inner_prod(y, direction)
    assert scalar_close(*products), f"Value mismatch: {x} and {y}"


@unary_to_nary
def check_grads(f: Function, x: Tree, modes: Sequence[str] | None = None, order: int = 2) -> None:
    """Check the derivatives of a function against differences, up to an order.

    Parameters
    ----------
    fun : callable
        The function.
    argnum : int, tuple of int or list of int, default 0
        The positional argument to differentiate by.
    modes : sequence of str, optional
        "fwd" and "rev"; by default both.
    order : int, default 2
        The highest order.

    Returns
    -------
    callable
        A function of the arguments of `fun` that checks there, and returns None. It raises
        AssertionError where a derivative is wrong.

    See Also
    --------
    tapegrad.testing.check_grads : Stricter, and it names what is wrong.

    Examples
    --------
    >>> import numpy as np
    >>> check_grads(np.sin)(0.5)
    """
    modes = ["fwd", "rev"] if modes is None else modes
    assert all(mode in ("fwd", "rev") for mode in modes), f'modes "fwd" and "rev", got {modes}'

    def jvp_of(x: Any, v: Any) -> Any:
        return make_jvp(f, x)(v)[1]

    def vjp_of(x: Any, v: Any) -> Any:
        return make_vjp(f, x)[0](v)

    x = as_floats(x)
    if "fwd" in modes:
        check_jvp(f, x)
        if order > 1:
            jvp_of.__name__ = f"jvp_{get_name(f)}"
            check_grads(jvp_of, (0, 1), modes, order=order - 1)(x, vspace(x).randn())
    if "rev" in modes:
        check_vjp(f, x)
        if order > 1:
            vjp_of.__name__ = f"vjp_{get_name(f)}"
            check_grads(vjp_of, (0, 1), modes, order=order - 1)(x, vspace(f(x)).randn())


def combo_check(fun: Function, *args: Any, **kwargs: Any) -> Function:
    """Check derivatives at every combination of arguments and keywords.

    Parameters
    ----------
    fun : callable
        The function.
    *args : object
        Further arguments of `check_grads`.
    **kwargs : object
        Keywords of `check_grads`.

    Returns
    -------
    callable
        `check_all(*args, **kwargs)`, each a list of values. It raises AssertionError where a
        derivative is wrong.

    Examples
    --------
    >>> import numpy as np
    >>> combo_check(np.sum, order=1)([np.ones((2, 2)), np.ones((1, 2))], axis=[0, 1])
    """
    check = check_grads(fun, *args, **kwargs)

    def check_all(*args: Any, **kwargs: Any) -> None:
        pairs = [[(name, value) for value in values] for name, values in kwargs.items()]
        for given in itertools.product(*args):
            for named in itertools.product(*pairs):
                check(*given, **dict(named))

    return check_all


__all__ = [
    "check_equivalent",
    "check_grads",
    "check_jvp",
    "check_vjp",
    "combo_check",
    "make_numerical_jvp",
    "nd",
    "scalar_close",
]
