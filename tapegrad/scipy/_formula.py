"""Functions whose values are SciPy's, and whose derivatives are those of a formula.

SciPy computes the value, to the last bit as without derivatives. A replay differentiates a formula
for the same function, written in functions that have rules. The formula needs to be right but for
a constant, and no more than that: it may be plain where SciPy's function is careful.

Knows the form `general`, of which this is a case, and how a composite is differentiated. Must not
know single functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad import stop_gradient
from tapegrad._core.composite import Composite
from tapegrad._core.forms import General
from tapegrad._core.quiet import silence
from tapegrad._core.rule import Rule, register
from tapegrad._core.types import Cotangent, Function, Params, Tangent, Value, Values, Wanted


class Formula(General):
    """A function by a formula `(*arrays, **params)` that is equal to it up to a constant."""

    def __init__(
        self,
        function: Function,
        formula: Function,
        *,
        quick: Function | None = None,
        reads_out: bool = False,
        **options: Any,
    ) -> None:
        """`quick(g, args, wanted)`: the cotangents of NumPy's own arrays, or None for others.

        `reads_out`: the formula gets the result before the arrays, as a constant.
        """
        self._quick = quick
        self._reads_out = reads_out
        self._formula = Composite(function, formula, arrays=options.get("arrays", 1))
        super().__init__(function, vjp=self.cotangents, jvp=self._tangent, **options)

    def needs(self, wanted: Wanted) -> tuple[Sequence[bool], bool]:
        return [True] * len(wanted), self._reads_out

    def cotangents(
        self, g: Cotangent, out: Value, args: Sequence[Any], params: Params, wanted: Wanted
    ) -> Sequence[Any]:
        if self._quick is not None and not params and _all_plain((g, *args)):
            found = self._quick(g, args, wanted)
            if found is not None:
                bars: Sequence[Any] = found
                return bars
        with silence():  # a formula passes over what its function avoids
            if self._reads_out:
                given, asked = (stop_gradient(out), *args), (False, *wanted)
                return self._formula.pull(g, out, given, params, asked)[1:]
            return self._formula.pull(g, out, args, params, wanted)

    def _tangent(self, dots: Sequence[Tangent], out: Value, *args: Value, **params: Any) -> Any:
        if self._reads_out:
            dots, args = (None, *dots), (stop_gradient(out), *args)
        with silence():
            return self._formula.push(dots, out, args, params)

    def definition_at(self, out: Value, args: Values, params: Params, wanted: Wanted) -> Any:
        """The formula as the definition, as of a composite."""
        if self._reads_out:
            args, wanted = (stop_gradient(out), *args), (False, *wanted)
        definition, values = self._formula.definition_at(out, args, params, wanted)

        def quietly(given: Sequence[Value]) -> Any:
            with silence():
                return definition(given)

        return quietly, values


_PLAIN = frozenset((np.ndarray, np.float64, float, int))


def _all_plain(values: Sequence[Any]) -> bool:
    return _PLAIN.issuperset(map(type, values))


def by_formula(function: Function, formula: Function, **options: Any) -> Rule:
    """Declare a function by a formula for it; `arrays=` says how many arrays come first."""
    options.setdefault("batch", "align")
    return register(Formula(function, formula, **options))


__all__ = ["by_formula"]
