"""Plans of functions of each element whose arguments broadcast, by sums that are known beforehand.

Knows the partials of such a rule, and binds them to shapes.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._core.elementwise import Elementwise
from tapegrad._core.entry import MINUS, Spec
from tapegrad._core.fast.call_plans import NUMBER, Kernels
from tapegrad._core.fast.paths import replaces
from tapegrad._core.fast.sums import summing, summing_products
from tapegrad._core.fit import FEW, Over, is_finite, multiplied
from tapegrad._core.quiet import SILENT, VARIABLE
from tapegrad._core.types import Cotangent, Function, Tangent, Value, Wanted


@replaces(Elementwise, "plan_of_form")
def plan_of_form(
    self: Elementwise, specs: tuple[Spec, ...], out: Spec, wanted: Wanted, /, **params: Any
) -> Kernels | None:
    """The kernels of a call whose arguments broadcast, by sums that are known beforehand."""
    if params or any(spec.dtype is not out.dtype and spec is not NUMBER for spec in specs):
        return None
    if self.fused_vjp is not None and not (out.shape and out.dtype.char in "fd"):
        return None
    sums = [
        summing(out.shape, spec.shape, out.dtype) if want else None
        for want, spec in zip(wanted, specs, strict=True)
    ]
    if self.broadcast_vjp is not None and out.shape and out.dtype.char in "fd":
        pull = self.broadcast_vjp(
            *[total if want else False for want, total in zip(wanted, sums, strict=True)]
        )
    else:
        products: list[Function | None] = [
            total and summing_products(out.shape, spec.shape, out.dtype, total)
            for total, spec in zip(sums, specs, strict=True)
        ]
        pull = _by_partials(self, operator.mul, wanted, sums, products)
    strong = _by_partials(self, self.times, wanted, sums) if self.strong else None
    if self.fused_vjp is not None:
        pull = _summed(self.fused_vjp(tuple(wanted)), sums, strong or pull)
    return Kernels(None, pull, _plan_push(self, out), strong=strong)


def _plan_push(self: Elementwise, out: Spec) -> Function:
    """The tangent of such a call: that of each argument is multiplied as a cotangent is."""
    if self.fused_vjp is None and len(self.partials) == 2:
        return _plan_push_of_two(self, out)
    shape, fused_vjp = out.shape, self.fused_vjp
    count = len(self.partials)
    alone: list[Function] = []
    if fused_vjp is not None:
        each = [tuple(at == i for i in range(count)) for at in range(count)]
        alone = [fused_vjp(wanted) for wanted in each]
        of_all = fused_vjp((True,) * count)
    one = out.dtype.type(1)

    def by_partials(dots: Sequence[Tangent], out: Value, *args: Value) -> Tangent:
        dot = self.push(dots, out, args, {})
        return dot if dot.shape == shape else np.broadcast_to(dot, shape)

    def push(dots: Sequence[Tangent], out: Value, *args: Value) -> Tangent:
        total = None
        for at, dot in enumerate(dots):
            if dot is None:
                continue
            terms = alone[at](dot, out, *args)
            if terms is None or self.strong and not is_finite(terms[at]):
                return by_partials(dots, out, *args)
            total = terms[at] if total is None else total + terms[at]
        return total

    def push_two(dots: Sequence[Tangent], out: Value, x: Value, y: Value) -> Tangent:
        x_dot, y_dot = dots
        if x_dot is None or y_dot is None:
            return push(dots, out, x, y)
        found = of_all(one, out, x, y)  # the partials
        if found is not None:
            by_x, by_y = found
            total = x_dot * by_x
            total += y_dot * by_y
            return total
        return by_partials(dots, out, x, y)

    if fused_vjp is None:
        return by_partials
    return push_two if count == 2 else push


def _plan_push_of_two(self: Elementwise, out: Spec) -> Function:
    """The same by two partials."""
    along_x, along_y = (_step(partial, operator.mul, None) for partial in self.partials)
    shape, dtype, small = out.shape, out.dtype, out.size <= FEW

    def push(dots: Sequence[Tangent], out: Value, x: Value, y: Value) -> Tangent:
        x_dot, y_dot = dots
        if x_dot is None:
            dot = along_y(y_dot, out, x, y)
        elif y_dot is None:
            dot = along_x(x_dot, out, x, y)
        else:
            dot = along_x(x_dot, out, x, y)
            dot = dot + along_y(y_dot, out, x, y)
        if dot.shape == shape:
            return dot
        if not small:
            return np.broadcast_to(dot, shape)
        made = np.empty(shape, dtype)  # at a tenth of the price of np.broadcast_to
        made[...] = dot
        return made

    return push


def _by_partials(
    self: Elementwise,
    times: Function,
    wanted: Wanted,
    sums: Sequence[Function | None],
    products: Sequence[Function | None] | None = None,
) -> Function:
    """The cotangents of a call with two arguments, or more, summed to their shapes.

    products: of the plain ones, their sums.
    """
    steps = [
        _step(partial, times, total, product) if want else None
        for partial, want, total, product in zip(
            self.partials, wanted, sums, products or (None,) * len(sums), strict=True
        )
    ]
    if len(steps) != 2:
        return lambda *call: [None if step is None else step(*call) for step in steps]
    by_x, by_y = steps

    def pull(g: Cotangent, out: Value, x: Value, y: Value) -> tuple[Cotangent, Cotangent]:
        return (
            None if by_x is None else by_x(g, out, x, y),
            None if by_y is None else by_y(g, out, x, y),
        )

    return pull


def _step(
    partial: Any, times: Function, total: Function | None, summed: Function | None = None
) -> Function:
    """The cotangent of one of several arguments, summed to its shape."""
    if partial is None:
        return (lambda g, *_: g) if total is None else (lambda g, *_: total(g))
    if partial is MINUS:
        return (lambda g, *_: -g) if total is None else (lambda g, *_: -total(g))
    if summed is not None and type(partial) is not Over:
        return lambda g, out, *args: summed(g, partial(out, *args))
    if total is None:
        return lambda g, out, *args: multiplied(times, g, partial, out, args)
    return lambda g, out, *args: total(multiplied(times, g, partial, out, args))


def _summed(
    fused_vjp: Function, sums: Sequence[Function | None], by_partials: Function
) -> Function:
    """The cotangents of a rule's own function, or by its partials, summed to their shapes."""
    none = all(total is None for total in sums)

    def pull(*call: Value) -> Sequence[Cotangent]:
        before = VARIABLE.get()
        try:
            VARIABLE.set(SILENT)  # where it would warn, the partials are asked as well
            found: Sequence[Cotangent] | None = fused_vjp(*call)
        finally:
            VARIABLE.set(before)
        if found is None:
            return by_partials(*call)
        if none:
            return found
        return [
            bar if bar is None or total is None else total(bar)
            for bar, total in zip(found, sums, strict=False)
        ]

    return pull


__all__: list[str] = []
