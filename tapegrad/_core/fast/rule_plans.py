"""Plans of calls that are made from a rule's own functions: the parameters are bound to them.

Knows the forms in which rules are declared. Must not know which functions exist. A call of a rule
that has no plan of its own, or whose plan leaves the call as it is, is planned here. Nothing is
derived again: the cotangents are those of the rule's own functions, and so is the tangent. What is
saved is to bind the arguments of the call, and to ask at each replay what its form is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from tapegrad._core.entry import Spec
from tapegrad._core.fit import fit_cotangent, fit_tangent
from tapegrad._core.general import General, dense
from tapegrad._core.linear import Linear, Multilinear
from tapegrad._core.rule import Rule
from tapegrad._core.types import Cotangent, Params, Tangent, Value
from tapegrad._core.values import Scatter

Function = Callable[..., Any]


def one_from_rule(
    rule: Rule, x: Spec, out: Spec, params: Params
) -> tuple[Function, Function, Function | None] | None:
    """The call of a rule with one array, its cotangent and its tangent; None for other rules."""
    back, along = _own_functions(rule)
    # Later writes that a view shows are told call by call.
    if back is None or rule.foreign or rule.singular is not None or rule.view:
        return None
    if params.get("order") in ("A", "K"):  # which the array's memory decides, call by call
        return None
    run = rule.implementation
    if params:
        run, back = partial(run, **params), partial(back, **params)
        along = along and partial(along, **params)
    push = None
    if along is not None:
        push = _fitted_tangent(lambda dot, out, x: along([dot], out, x), rule, out)
    elif not isinstance(rule, General):
        push = _fitted_tangent(lambda dot, _out, _x: run(dot), rule, out)
    return run, _fitted_cotangent(back, rule, x), push


def _own_functions(rule: Rule) -> tuple[Function | None, Function | None]:
    """The functions of a rule with one array: its cotangent, and its tangent if it has one."""
    if isinstance(rule, General):
        each = rule.vjp
        if type(each) is not list or len(each) != 1 or rule.hermitian:
            return None, None
        return each[0], rule.jvp
    if isinstance(rule, (Linear, Multilinear)) and not rule.variadic and not rule.fixed:
        return rule.transposes[0] if len(rule.transposes) == 1 else None, None
    return None, None


def _fitted_cotangent(back: Function, rule: Rule, x: Spec) -> Function:
    shape, dtype, spec = x.shape, x.dtype, x

    def pull(g: Cotangent, out: Value, x: Value) -> Cotangent:
        bar = back(g, out, x)
        if type(bar) is np.ndarray and bar.shape == shape and bar.dtype is dtype:
            return bar
        return _fitted(bar, spec, rule)

    return pull


def _as_array(bar: Cotangent, x: Value) -> Cotangent:
    if type(bar) is Scatter:
        return dense(bar, x)
    return bar if hasattr(bar, "shape") else np.asarray(bar)


def _fitted_tangent(along: Function, rule: Rule, out: Spec) -> Function:
    shape, dtype = out.shape, out.dtype

    def push(dot: Tangent, out: Value, x: Value) -> Tangent:
        made = along(dot, out, x)
        if made.shape == shape and made.dtype is dtype:
            return made
        return fit_tangent(made, out, rule)

    return push


def several_from_rule(
    rule: Rule, specs: tuple[Spec, ...], wanted: tuple[bool, ...], out: Spec, params: Params
) -> tuple[Function, Function] | None:
    """The cotangents and the tangent of a call with several arrays; None for other rules."""
    plain = isinstance(rule, (Linear, Multilinear))
    if not plain or rule.foreign or rule.singular is not None or rule.keyword_arrays:
        return None
    if len(specs) == 2 and isinstance(rule, Multilinear) and not rule.variadic:
        return _product_from_rule(rule, specs, wanted, out, params)
    given = list(wanted)

    def pull(g: Cotangent, out: Value, *xs: Value) -> list[Cotangent]:
        bars = list(rule.pull(g, out, xs, params, given))
        for at, bar in enumerate(bars):
            if bar is not None:
                bars[at] = _fitted(bar, specs[at], rule)
        return bars

    def push(dots: Sequence[Tangent], out: Value, *xs: Value) -> Tangent:
        made = rule.push(dots, out, xs, params)
        if made.shape == shape and made.dtype is dtype:
            return made
        return fit_tangent(made, out, rule)

    shape, dtype = out.shape, out.dtype
    return pull, push


def _product_from_rule(
    rule: Multilinear,
    specs: tuple[Spec, ...],
    wanted: tuple[bool, ...],
    out: Spec,
    params: Params,
) -> tuple[Function, Function]:
    """The same of a product of two arrays, whose tangent is the sum of two such products."""
    run = rule.implementation
    by_x, by_y = rule.transposes
    if params:
        run, by_x, by_y = (partial(each, **params) for each in (run, by_x, by_y))
    want_x, want_y = wanted
    (x_spec, y_spec), out_spec = specs, out
    x_shape, x_dtype, y_shape, y_dtype = x_spec.shape, x_spec.dtype, y_spec.shape, y_spec.dtype

    def pull(g: Cotangent, out: Value, x: Value, y: Value) -> tuple[Cotangent, Cotangent]:
        x_bar = y_bar = None
        if want_x:
            x_bar = by_x(g, out, x, y)
            # `_fitted`, written out: a product of small matrices costs little more than a call.
            if type(x_bar) is not np.ndarray or x_bar.shape != x_shape or x_bar.dtype != x_dtype:
                x_bar = _fitted(x_bar, x_spec, rule)
        if want_y:
            y_bar = by_y(g, out, x, y)
            if type(y_bar) is not np.ndarray or y_bar.shape != y_shape or y_bar.dtype != y_dtype:
                y_bar = _fitted(y_bar, y_spec, rule)
        return x_bar, y_bar

    def push(dots: Sequence[Tangent], out: Value, x: Value, y: Value) -> Tangent:
        x_dot, y_dot = dots
        if x_dot is None:
            made = run(x, y_dot)
        else:
            made = run(x_dot, y) if y_dot is None else run(x_dot, y) + run(x, y_dot)
        if made.shape == out_spec.shape and made.dtype is out_spec.dtype:
            return made
        return fit_tangent(made, out_spec, rule)

    return pull, push


def _fitted(bar: Cotangent, spec: Spec, rule: Rule) -> Cotangent:
    """A cotangent of an array with this spec."""
    if type(bar) is not np.ndarray:
        bar = _as_array(bar, spec)
    if bar.shape == spec.shape and bar.dtype is spec.dtype:
        return bar
    return fit_cotangent(bar, spec, rule)


__all__ = ["one_from_rule", "several_from_rule"]
