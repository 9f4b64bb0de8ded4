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
    """Whether two numbers differ by less than 1e-6, or by that much of their sum."""
    return bool(abs(a - b) < TOL or abs(a - b) / abs(a + b) < RTOL)


def nd(f: Function, *args: Any) -> list[Any]:
    """The gradients of a real scalar function by all arguments, by differences."""
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
    """`jvp(v)`, by a central difference along v."""
    x = as_floats(x)
    x_space, out_space = vspace(x), vspace(f(x))

    def jvp(v: Tree) -> Any:
        after = f(x_space.add(x, x_space.scalar_mul(v, EPS / 2)))
        before = f(x_space.add(x, x_space.scalar_mul(v, -EPS / 2)))
        change = out_space.add(after, out_space.scalar_mul(before, -1.0))
        return out_space.scalar_mul(change, 1.0 / EPS)

    return jvp


def check_vjp(f: Function, x: Tree) -> None:
    """Raise AssertionError where the vjp of f at x is not the transpose of its differences."""
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
    """Raise AssertionError where the jvp of f at x differs from its differences."""
    direction = vspace(x).randn()
    check_equivalent(make_jvp(f, x)(direction)[1], make_numerical_jvp(f, x)(direction))


def check_equivalent(x: Tree, y: Tree) -> None:
    """Raise AssertionError where two values differ, or their shapes, dtypes or containers do."""
    x_space, y_space = vspace(x), vspace(y)
    assert x_space == y_space, f"VSpace mismatch: {x_space} and {y_space}"
    direction = x_space.randn()
    products = x_space.inner_prod(x, direction), x_space.inner_prod(y, direction)
    assert scalar_close(*products), f"Value mismatch: {x} and {y}"


@unary_to_nary
def check_grads(f: Function, x: Tree, modes: Sequence[str] | None = None, order: int = 2) -> None:
    """Check the derivatives of f at x up to an order, in modes "fwd" and "rev".

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
    """`check_grads(fun, ...)` at every combination of the arguments and keywords given."""
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
