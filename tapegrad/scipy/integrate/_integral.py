"""An integral as a function of its limits and of the parameters of its integrand, to any order.

Knows Leibniz's rule. Must not know SciPy's routines: an `Integrand` brings the one that computes
it. The derivative of an integral is made of integrals of derivatives, which the same routine
computes to the same tolerances.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad._core.forms import constant, general
from tapegrad._core.types import Cotangent, Function, Tangent, Value
from tapegrad._core.values import in_trace, raw_value
from tapegrad._errors import RuleError
from tapegrad._transforms.forward import jvp
from tapegrad._transforms.primitives import primitive
from tapegrad._transforms.reverse import vjp

_NEXT, _LEAST = 2.0**-51, 1e-300  # what moves a limit inside, by itself and beside zero


class Integrand:
    """An integrand that depends on parameters.

    bind: of the parameters, the function f(u), whose results all have one shape
    routine: `routine(f, a, b)` returns the integral and an estimate of its error
    moves: whether derivatives may ask for the lower and the upper limit
    known: the arrays and the result of a call that was made already

    `sides` says at which limits the integrand may jump: there it counts just inside.
    """

    def __init__(
        self,
        name: str,
        bind: Function,
        routine: Callable[[Function, Any, Any], tuple[Any, Any]],
        moves: tuple[bool, bool],
        known: tuple[Sequence[Any], Any] | None = None,
    ) -> None:
        self.name, self.bind, self.routine, self.moves = name, bind, routine, moves
        self.known = known
        self.sides = (False, False)

    def computed(self, a: Any, b: Any, parameters: Sequence[Any]) -> Any:
        """The integral and its error, of plain numbers."""
        if self.known is not None:
            given, result = self.known
            pairs = zip(given, (a, b, *parameters), strict=True)
            if all(x is y or np.array_equal(x, y, equal_nan=True) for x, y in pairs):
                return result
        f = self.bind(parameters)

        def checked(u: Any) -> Any:
            out = f(u)
            if in_trace(out):
                raise RuleError(
                    f"{self.name}: the integrand depends on a traced value that was not found in "
                    "its closure, its defaults or the attributes of its object. Pass it in args."
                )
            return out

        return self.routine(checked, a, b)

    def tangent(self, moved: Sequence[bool]) -> Integrand:
        """That of the tangent, whose parameters are these and the tangents of those that move."""

        def bind(parameters: Sequence[Value]) -> Function:
            count = len(moved)
            given, dots = parameters[:count], iter(parameters[count:])
            filled = [
                next(dots) if moves else np.zeros_like(x)
                for x, moves in zip(given, moved, strict=True)
            ]

            def f(u: Any) -> Any:
                return jvp(lambda *p: self.bind(p)(u), tuple(given), tuple(filled))[1]

            return f

        return self._with(bind)

    def cotangent(self) -> Integrand:
        """That of the cotangents of all parameters in a row; its last parameter is that of f."""

        def bind(parameters: Sequence[Value]) -> Function:
            *given, g = parameters

            def f(u: Any) -> Any:
                _, pull = vjp(lambda *p: self.bind(p)(u) + np.zeros(np.shape(g)), *given)
                return np.concatenate([np.reshape(bar, (-1,)) for bar in pull(g)])

            return f

        return self._with(bind)

    def _with(self, bind: Function) -> Integrand:
        made = Integrand(self.name, bind, self.routine, self.moves)
        made.sides = self.sides
        return made

    def at_limit(self, which: int, limits: Sequence[Value], parameters: Sequence[Value]) -> Any:
        """The integrand at a limit; zero at one that is infinite, which cannot move."""
        end = limits[which]
        if not np.all(np.isfinite(raw_value(end))):
            return 0.0
        if self.sides[which]:
            end = end + np.sign(limits[1 - which] - end) * (np.abs(end) * _NEXT + _LEAST)
        return self.bind(parameters)(end)


@primitive
def integral(a: Any, b: Any, *parameters: Value, integrand: Integrand) -> Value:
    """The integral from a to b."""
    return np.asarray(integrand.computed(a, b, parameters)[0])


@primitive
def error(a: Any, b: Any, *parameters: Value, integrand: Integrand) -> Value:
    """The estimate of its error."""
    return np.asarray(integrand.computed(a, b, parameters)[1])


constant(error, batch="loop")


def _integral_jvp(
    dots: Sequence[Tangent], _out: Value, a: Any, b: Any, *parameters: Value, integrand: Integrand
) -> Tangent:
    a_dot, b_dot, *rest = dots
    terms = []
    if a_dot is not None and integrand.moves[0]:
        terms.append(-integrand.at_limit(0, (a, b), parameters) * a_dot)
    if b_dot is not None and integrand.moves[1]:
        terms.append(integrand.at_limit(1, (a, b), parameters) * b_dot)
    moved = [dot is not None for dot in rest]
    if any(moved):
        given = [dot for dot in rest if dot is not None]
        terms.append(integral(a, b, *parameters, *given, integrand=integrand.tangent(moved)))
    return sum(terms[1:], terms[0]) if terms else None


def _integral_vjp(
    g: Cotangent, _out: Value, a: Any, b: Any, *parameters: Value, integrand: Integrand
) -> Any:
    a_bar = b_bar = None
    if integrand.moves[0]:
        a_bar = -np.sum(g * integrand.at_limit(0, (a, b), parameters))
    if integrand.moves[1]:
        b_bar = np.sum(g * integrand.at_limit(1, (a, b), parameters))
    bars: list[Any] = []
    if parameters:
        row = integral(a, b, *parameters, g, integrand=integrand.cotangent())
        start = 0
        for x in parameters:
            size = int(np.prod(x.shape))
            bars.append(np.reshape(row[start : start + size], x.shape))
            start += size
    return a_bar, b_bar, *bars


general(integral, jvp=_integral_jvp, vjp=_integral_vjp, name="scipy.integrate.quad")


__all__ = ["Integrand", "error", "integral"]
