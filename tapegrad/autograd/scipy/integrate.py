"""`scipy.integrate` with derivatives: `tapegrad.scipy.integrate` by another name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapegrad.autograd._completed import complete
from tapegrad.autograd.scipy._names import namespace

__getattr__, __dir__ = namespace("integrate")


def argnums_unpack(all_vjp_builder: Callable[..., Any]) -> Callable[..., Any]:
    """A maker for `defvjp_argnums` of a maker for all arguments at once.

    Parameters
    ----------
    all_vjp_builder : callable
        `all_vjp_builder(ans, *args, **kwargs)` returns `vjp(g)`, the cotangents of all arguments.

    Returns
    -------
    callable
        The maker.

    Examples
    --------
    >>> maker = argnums_unpack(lambda ans, x, y: lambda g: (g * y, g * x))
    >>> maker((1,), 6.0, (2.0, 3.0), {})(1.0)
    [2.0]
    """

    def maker(argnums: Any, ans: Any, args: Any, kwargs: Any) -> Callable[..., Any]:
        vjp = all_vjp_builder(ans, *args, **kwargs)

        def chosen(g: Any) -> Any:
            bars = vjp(g)
            return [bars[argnum] for argnum in argnums]

        return chosen

    return maker


complete(__name__)
