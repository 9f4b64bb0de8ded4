"""Fixed points of iterations, with derivatives by the implicit function theorem."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapegrad.autograd.core import defvjp, make_vjp, vspace
from tapegrad.autograd.tracer import primitive

Function = Callable[..., Any]


@primitive
def fixed_point(f: Function, a: Any, x0: Any, distance: Function, tol: float) -> Any:
    """The limit of `x = f(a)(x)` from x0, when `distance(x, the x before)` is at most tol.

    Differentiable by a, to any order: the derivative is a fixed point as well. It does not depend
    on x0.

    >>> import numpy as np
    >>> from tapegrad.autograd import grad
    >>> def newton(a):
    ...     return lambda x: 0.5 * (x + a / x)
    >>> def root(a):
    ...     return fixed_point(newton, a, 1.0, lambda x, y: np.abs(x - y), 1e-12)
    >>> bool(np.isclose(grad(root)(4.0), 0.25))
    True
    """
    step = f(a)
    x, before = step(x0), x0
    while distance(x, before) > tol:
        x, before = step(x), x
    return x


def fixed_point_vjp(
    ans: Any, f: Function, a: Any, x0: Any, distance: Function, tol: float
) -> Function:
    """The vjp of `fixed_point` by a, a fixed point of the transposed step."""

    def backwards(params: Any) -> Function:
        a, x, x_bar = params
        vjp_x = make_vjp(f(a), x)[0]
        return lambda bar: vspace(x_bar).add(vjp_x(bar), x_bar)

    def vjp(g: Any) -> Any:
        start = vspace(x0).zeros()
        bar = fixed_point(backwards, (a, ans, g), start, distance, tol)
        return make_vjp(lambda pair: f(pair[0])(pair[1]), (a, ans))[0](bar)[0]

    return vjp


defvjp(fixed_point, None, fixed_point_vjp, None)

__all__ = ["fixed_point", "fixed_point_vjp"]
