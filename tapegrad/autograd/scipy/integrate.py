"""`scipy.integrate` with derivatives: `tapegrad.scipy.integrate` by another name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapegrad.autograd.scipy._names import namespace

__getattr__, __dir__ = namespace("integrate")


def argnums_unpack(all_vjp_builder: Callable[..., Any]) -> Callable[..., Any]:
    """A maker for `defvjp_argnums` of one `(ans, *args, **kwargs)` for all arguments at once."""

    def maker(argnums: Any, ans: Any, args: Any, kwargs: Any) -> Callable[..., Any]:
        vjp = all_vjp_builder(ans, *args, **kwargs)

        def chosen(g: Any) -> Any:
            bars = vjp(g)
            return [bars[argnum] for argnum in argnums]

        return chosen

    return maker
