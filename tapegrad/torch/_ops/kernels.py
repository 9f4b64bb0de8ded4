"""The kernels of a planned call: its function, and how its replay computes the cotangents.

The core has such kernels for many rules (`_core/fast/call_plans.py`), and rules of several steps
for their own calls (`_rules.declare`); for the others they are made here.

Knows rules and specs. Must not know tensors, nor the steps of a call (`making`).
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

from tapegrad._core.entry import MINUS, Outputs, Spec, spec_of
from tapegrad._core.fast.call_plans import (
    NUMBER,
    CallPlan,
    Kernels,
    own_kernels,
    plan_spec,
    planned,
)
from tapegrad._core.fast.sums import summing
from tapegrad._core.fit import fit_cotangent, multiplied
from tapegrad._core.forms import Elementwise
from tapegrad._core.rule import Rule
from tapegrad._core.scatter import scatter
from tapegrad._core.types import Cotangent, Function, Params, Value
from tapegrad._core.values import Scatter
from tapegrad.rules.index import WHERE
from tapegrad.torch._rules.declare import Declared, Fused
from tapegrad.torch._tensor.tensor import ndarray

Call = Callable[..., Any]


def function_of(rule: Rule, params: Params) -> Call:
    """The rule's function of arrays, with the parameters of a call."""
    function = rule.implementation
    if isinstance(function, Declared):
        function = function.function
    if rule.sequence:
        return lambda *arrays: function(arrays, **params)
    return functools.partial(function, **params) if params else function


def plan_one(rule: Rule, x: Spec, out: Spec, params: Params) -> CallPlan | None:
    """The planned call of a rule of one array that declares kernels; None for what it leaves."""
    kernels = own_kernels(rule, (x,), (True,), out, params)
    if kernels is None:
        return None
    return planned(rule, kernels, (x,), (True,), out, params, single=True)


def plan_spread(rule: Rule, x: Spec, out: Spec, params: Params) -> CallPlan:
    """The planned call of `rule`, which broadcasts an array: its cotangents are sums."""
    total = summing(out.shape, x.shape, out.dtype)
    pull = (lambda g, *_: (g,)) if total is None else (lambda g, *_: (total(g),))
    return planned(rule, Kernels(None, pull), (x,), (True,), out, params)


def kernels_of(
    rule: Rule, specs: list[Any], wanted: tuple[bool, ...], out: Any, params: Params
) -> tuple[CallPlan, Call | None]:
    """The kernels of a call, and its function if that is among them."""
    whole = all(type(spec) is Spec for spec in specs)
    several = type(out) is Outputs
    if rule.plans_one and whole and len(specs) == 1 and not several:
        one = plan_one(rule, specs[0], out, params)
        if one is not None:
            return one, one.run
    found: Kernels | None = None
    if isinstance(rule, Fused):
        found = rule.kernels(specs, out, wanted, **params)
        if found is not None:
            made = planned(rule, found, tuple(specs), wanted, out, params)
            made.strong = found.strong  # else they need none
            return made, found.keep or found.run
    if rule.plan is not None and not rule.plans_one:
        given = tuple(map(_spec_for, specs))
        dtype = out[0].dtype if several else out.dtype
        if all(_is_known(rule, spec, dtype) for spec in given):
            found = own_kernels(rule, given, wanted, out, params)
    if found is None:
        found = Kernels(None, _pull_of(rule, specs, wanted, out, params))
    return planned(rule, found, tuple(specs), wanted, out, params), found.run


def _spec_for(given: Any) -> Any:
    """The spec of an argument that is a constant, or its own; None for what has none."""
    if type(given) is Spec:
        return given
    return spec_of(given) if type(given) is ndarray else plan_spec(given)


def _is_known(rule: Rule, spec: Any, dtype: Any) -> bool:
    """Whether the core plans calls of a rule with such an argument."""
    if spec is NUMBER:
        return rule.numbers
    return spec is not None and (spec.dtype is dtype or (rule is WHERE and spec.dtype.char == "?"))


def _pull_of(
    rule: Rule, specs: list[Any], wanted: tuple[bool, ...], out: Spec, params: Params
) -> Call:
    """The pull of a rule that has no kernels of its own, for calls with these specs."""
    at = wanted.index(True)
    if isinstance(rule, Elementwise) and wanted.count(True) == 1 and specs[at] is out:
        return _pull_elementwise(rule, at, specs)

    def pull(g: Cotangent, out: Value, *args: Value) -> list[Cotangent]:
        bars = list(rule.pull(g, out, args, params, wanted))
        for position, bar in enumerate(bars):
            if bar is None:
                continue
            like = specs[position]
            if type(bar) is Scatter:
                whole: list[Any] = [None]
                scatter(whole, set(), 0, bar.index, bar._value, like)
                bars[position] = whole[0]
            elif bar.shape != like.shape or bar.dtype is not like.dtype:
                bars[position] = fit_cotangent(bar, like, rule)
        return bars

    return pull


def _pull_elementwise(rule: Elementwise, at: int, specs: list[Any]) -> Call:
    """The pull of an elementwise rule by one argument, which has the shape of the result."""
    partial: Function | None = rule.partials[at]
    spec: Spec = specs[at]
    before, after = (None,) * at, (None,) * (len(specs) - at - 1)
    if partial is None:
        return lambda g, *_: (*before, g, *after)
    if partial is MINUS:
        return lambda g, *_: (*before, -g, *after)
    times = rule.times if rule.strong else operator.mul

    def pull(g: Cotangent, out: Value, *args: Value) -> tuple[Cotangent, ...]:
        bar = multiplied(times, g, partial, out, args)
        if bar.dtype is not spec.dtype:  # a partial may be computed in double precision
            bar = bar.astype(spec.dtype)
        return (*before, bar, *after)

    return pull


# --- Making the call ----------------------------------------------------------------------------
