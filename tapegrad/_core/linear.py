"""Linear and multilinear functions: what they compute is their tangent, too.

Knows transposes. Must not know which functions exist, nor the class of traced arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._core.elementwise import add_up
from tapegrad._core.reads import require_parameters
from tapegrad._core.rule import Rule
from tapegrad._core.types import Cotangent, Function, Params, Tangent, Value, Values, Wanted


class Linear(Rule):
    """A function linear in all its arrays together: its pushforward is the function itself."""

    form = "linear"
    planned_from_rule = 2

    def __init__(
        self,
        function: Function,
        transposes: Sequence[Function | None],
        *,
        fixed: int = 0,
        variadic: bool = False,
        **options: Any,
    ) -> None:
        """`fixed`: how many leading arrays are not differentiated (the condition of np.where)."""
        options.setdefault("arrays", fixed + len(transposes))
        super().__init__(function, **options)
        self.declared = None if variadic else fixed + len(transposes)
        for transpose in transposes:
            require_parameters(self.name, transpose, "g, out", function, self.declared or 0)
        self.transposes = transposes
        self.fixed = fixed
        self.variadic = variadic

    def needs(self, wanted: Wanted) -> tuple[Sequence[bool], bool]:
        return [position < self.fixed for position in range(len(wanted))], False

    def pull(
        self, g: Cotangent, out: Value, args: Values, params: Params, wanted: Wanted
    ) -> Sequence[Cotangent]:
        if self.variadic:
            transpose = self.transposes[0]
            assert transpose is not None
            return list(transpose(g, out, *args, wanted=wanted, **params))
        bars: list[Any] = [None] * self.fixed
        for transpose, want in zip(self.transposes, wanted[self.fixed :], strict=False):
            bars.append(transpose(g, out, *args, **params) if want and transpose else None)
        return bars + [None] * (len(args) - len(bars))

    def push(self, dots: Sequence[Tangent], out: Value, args: Values, params: Params) -> Tangent:
        given = next(dot for dot in dots if dot is not None)
        filled = [
            dot
            if dot is not None
            else arg
            if position < self.fixed or arg is None
            else _zero_tangent(arg, given)
            for position, (arg, dot) in enumerate(zip(args, dots, strict=True))
        ]
        return _called(self, filled, params)


def _zero_tangent(arg: Value, given: Tangent) -> Tangent:
    """The tangent of a constant argument of a linear function."""
    if not hasattr(arg, "shape"):
        return 0
    return np.zeros(arg.shape, arg.dtype if arg.dtype.kind in "fc" else given.dtype)


class Multilinear(Rule):
    """A function linear in each of its arrays, with one transpose per argument.

    Its tangent is the sum over the arguments of the function with that argument's tangent.
    """

    form = "multilinear"
    planned_from_rule = 2

    def __init__(
        self,
        function: Function,
        transposes: Sequence[Function],
        *,
        variadic: bool = False,
        **options: Any,
    ) -> None:
        options.setdefault("arrays", len(transposes))
        super().__init__(function, **options)
        self.declared = None if variadic else len(transposes)
        for transpose in transposes:
            require_parameters(self.name, transpose, "g, out", function, self.declared or 0)
        self.transposes = transposes
        self.variadic = variadic
        # A product reads every other argument, whatever its transposes look like.

    def needs(self, wanted: Wanted) -> tuple[Sequence[bool], bool]:
        others = [any(wanted[:i]) or any(wanted[i + 1 :]) for i in range(len(wanted))]
        return others, False

    def pull(
        self, g: Cotangent, out: Value, args: Values, params: Params, wanted: Wanted
    ) -> Sequence[Cotangent]:
        if self.variadic:
            return list(self.transposes[0](g, out, *args, wanted=wanted, **params))
        if len(args) == 2 == len(self.transposes):  # the frequent case
            by_x, by_y = self.transposes
            return (
                by_x(g, out, *args, **params) if wanted[0] else None,
                by_y(g, out, *args, **params) if wanted[1] else None,
            )
        bars = [
            transpose(g, out, *args, **params) if want else None
            for transpose, want in zip(self.transposes, wanted, strict=False)
        ]
        return bars + [None] * (len(args) - len(bars))

    def push(self, dots: Sequence[Tangent], out: Value, args: Values, params: Params) -> Tangent:
        terms = []
        for position, dot in enumerate(dots):
            if dot is not None:
                replaced = [*args[:position], dot, *args[position + 1 :]]
                terms.append(_called(self, replaced, params))
        return add_up(terms)


def _called(rule: Rule, arrays: list[Value], params: Params) -> Any:
    """The rule's function of tangents; of NumPy's own arrays without a search for traced ones."""
    for array in arrays:
        if type(array) is not np.ndarray:
            return rule.apply_bound(arrays, params)
    return rule.call(arrays, params)
