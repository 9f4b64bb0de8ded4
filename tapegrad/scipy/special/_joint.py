"""How a ufunc with several results is declared: one function of partials for each argument.

Must not know single functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._core.forms import general, resolved_product
from tapegrad._core.rule import Rule
from tapegrad._core.types import Cotangent, Function, Tangent, Value


def joint(function: np.ufunc, *partials: Function | None) -> Rule:
    """Declare a ufunc with several results by `(out, *args)`, one function for each argument.

    Each returns one partial (or None, for zero) a result.
    """

    def pull(partial: Function | None) -> Function | None:
        if partial is None:
            return None

        def vjp(g: Sequence[Cotangent], out: Sequence[Value], *args: Value) -> Cotangent:
            parts = zip(g, partial(out, *args), strict=True)
            return _total([resolved_product(bar, p) for bar, p in parts if p is not None])

        return vjp

    def jvp(dots: Sequence[Tangent], out: Sequence[Value], *args: Value) -> list[Any]:
        terms: list[list[Any]] = [[] for _ in out]
        for dot, partial in zip(dots, partials, strict=True):
            if dot is None:
                continue
            if partial is None:
                continue
            for term, p in zip(terms, partial(out, *args), strict=True):
                if p is not None:
                    term.append(resolved_product(dot, p))
        return [_total(term) if term else None for term in terms]

    return general(
        function, vjp=[pull(p) for p in partials], jvp=jvp, arrays=len(partials), batch="align"
    )


def _total(terms: Sequence[Any]) -> Any:
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


__all__ = ["joint"]
