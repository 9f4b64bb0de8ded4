"""Passes over the data as functions that an outer transform can differentiate.

Knows how custom functions are logged. A value has a gradient, and a gradient has products with
vectors, each of which is a pass; what would need third derivatives is refused. Must not know Dask.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad._batched.batching_rules import call_one_by_one
from tapegrad._core.types import Cotangent, Function, Tangent, Value, Values
from tapegrad._core.values import Traced, in_trace, innermost, is_recorded, lift
from tapegrad._errors import NotDifferentiableError
from tapegrad._transforms.custom import CustomCall

Leaves = Sequence[Value]


class Objective:
    """A loss over all data and its derivatives, as functions of the leaves of the parameters.

    run: makes a pass of a kind (value, value_and_grad, hvp, vhp) at plain leaves, products with
    plain vectors; it returns plain leaves.
    """

    def __init__(self, call: str, run: Callable[..., list[Any]]) -> None:
        self.call, self.run = call, run

    def value(self, leaves: Leaves) -> Any:
        """The value. Where it is differentiated, its gradient comes of the same pass."""
        inner = innermost(leaves)
        if inner is None:
            return self.run("value", leaves)[0]
        if not isinstance(inner, Traced):
            return self._one_by_one(inner, self.value, leaves)[0]
        kept: list[Any] = []

        def forward(*plain: Value) -> tuple[Any, ...]:
            value, *kept[:] = self.value_and_grad(plain)
            return (value,)

        def slope(args: Values) -> list[Any]:
            return self.gradient(args) if innermost(args) is not None else kept

        def pull(g: Sequence[Cotangent], args: Values) -> list[Cotangent]:
            return [g[0] * bar for bar in slope(args)]

        def push(dots: Sequence[Tangent], args: Values) -> tuple[Tangent]:
            terms = [np.sum(np.real(a * b)) for a, b in zip(slope(args), dots, strict=True)]
            return (sum(terms[1:], start=terms[0]),)

        return self._logged("value", forward, pull, push, leaves)[0]

    def value_and_grad(self, leaves: Leaves) -> list[Any]:
        """The value, and the leaves of the gradient: one pass if nothing is traced."""
        if innermost(leaves) is None:
            return self.run("value_and_grad", leaves)
        return [self.value(leaves), *self.gradient(leaves)]

    def gradient(self, leaves: Leaves) -> list[Any]:
        """The leaves of the gradient."""
        inner = innermost(leaves)
        if inner is None:
            return self.run("value_and_grad", leaves)[1:]
        if not isinstance(inner, Traced):
            return self._one_by_one(inner, self.gradient, leaves)

        def forward(*plain: Value) -> tuple[Any, ...]:
            return tuple(self.gradient(plain))

        def pull(g: Sequence[Cotangent], args: Values) -> list[Cotangent]:
            return self.product("vhp", args, g)

        def push(dots: Sequence[Tangent], args: Values) -> list[Tangent]:
            return self.product("hvp", args, dots)

        return self._logged("gradient", forward, pull, push, leaves)

    def product(self, kind: str, leaves: Leaves, vector: Leaves) -> list[Any]:
        """The Hessian times a vector ("hvp"), or a vector times it ("vhp")."""
        inner = innermost([*leaves, *vector])
        if inner is None:
            return self.run(kind, leaves, vector)
        if isinstance(innermost(leaves), Traced):
            raise NotDifferentiableError(
                f"{self.call}: a third derivative over partitions is not defined: the Hessian's "
                "products are differentiated by the vector alone. Differentiate at most twice."
            )
        if not isinstance(inner, Traced):
            return self._one_by_one(
                inner, lambda both: self.product(kind, *both), [list(leaves), list(vector)]
            )
        other = {"hvp": "vhp", "vhp": "hvp"}[kind]

        def forward(*plain: Value) -> tuple[Any, ...]:
            return tuple(self.product(kind, leaves, plain))

        def pull(g: Sequence[Cotangent], _: Values) -> list[Cotangent]:
            return self.product(other, leaves, g)

        def push(dots: Sequence[Tangent], _: Values) -> list[Tangent]:
            return self.product(kind, leaves, dots)

        return self._logged(kind, forward, pull, push, vector)

    def _logged(
        self, name: str, forward: Function, pull: Function, push: Function, leaves: Leaves
    ) -> list[Any]:
        """One entry on the tape, by any of these leaves."""
        rule = CustomCall(f"{self.call}, {name}", forward, pull, push)
        return list(rule.apply_bound([lift(leaf) for leaf in leaves], {}))

    def _one_by_one(self, inner: Value, function: Function, leaves: Any) -> list[Any]:
        """A pass for each example of a vmap."""
        if is_recorded(inner):
            raise NotDifferentiableError(
                f"{self.call}: a pass over partitions is no part of a program. Compile the loss, "
                "or call it outside tapegrad.compile."
            )

        def one(leaves: Any) -> tuple[Any, ...]:
            found = function(leaves)
            return tuple(found) if isinstance(found, list) else (found,)

        return list(call_one_by_one(inner.vmap_level, one, (leaves,), {}))


def refuse_traced(call: str, values: Sequence[Value]) -> None:
    """Raise NotDifferentiableError for traced values where a pass takes plain ones alone."""
    if any(map(in_trace, values)):
        raise NotDifferentiableError(
            f"{call}: traced or batched values cannot be sent to the partitions. Take value, "
            "value_and_grad or grad, which may be differentiated, or call it with plain values."
        )


__all__ = ["Objective", "refuse_traced"]
