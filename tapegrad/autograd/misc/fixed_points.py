"""Fixed points of iterations, with derivatives by the implicit function theorem."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapegrad.autograd.core import defvjp, make_vjp, vspace
from tapegrad.autograd.tracer import primitive

Function = Callable[..., Any]


@primitive
def fixed_point(f: Function, a: Any, x0: Any, distance: Function, tol: float) -> Any:
    """The limit of an iteration, differentiable by the parameters of its step.

    The derivative, to any order, is a fixed point as well. It does not depend on x0.

    Parameters
    ----------
    f : callable
        `f(a)` returns the step, a function of x that returns the next x.
    a : pytree
        The parameters.
    x0 : pytree
        Where to start.
    distance : callable
        `distance(x, before)` returns a number.
    tol : float
        It ends where the distance of a step is at most this; if it never is, it does not end.

    Returns
    -------
    pytree
        The last x.

    See Also
    --------
    tapegrad.implicit.fixed_point : With acceleration, and an error where nothing converges.

    Examples
    --------
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
    """The vjp of `fixed_point` by a, a fixed point of the transposed step.

    Parameters
    ----------
    ans : pytree
        The fixed point.
    f, a, x0, distance, tol : object
        See `fixed_point`.

    Returns
    -------
    callable
        `vjp(g)`, the cotangent of a.

    Examples
    --------
    >>> import numpy as np
    >>> def step(a):
    ...     return lambda x: 0.5 * (x + a / x)
    >>> vjp = fixed_point_vjp(2.0, step, 4.0, 1.0, lambda x, y: np.abs(x - y), 1e-12)
    >>> float(vjp(1.0))
    0.25
    """

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
