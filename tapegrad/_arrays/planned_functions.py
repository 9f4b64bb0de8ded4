"""Calls of NumPy's functions on traced arrays that came before: they are planned.

Knows how planned calls are remembered and logged. It does what `functions` does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad._arrays.functions import by_rule
from tapegrad._arrays.memory import copy_like
from tapegrad._arrays.traced import Array
from tapegrad._arrays.views import PLAIN_TYPES, Part, Rearrangement, copies
from tapegrad._core.entry import ABSENT, new, traced
from tapegrad._core.fast.call_plans import (
    NEW,
    CallPlan,
    gather,
    is_given,
    key_of,
    learn,
)
from tapegrad._core.fast.paths import replaces
from tapegrad._core.quiet import silence
from tapegrad._core.rule import REGISTRY, Rule
from tapegrad._core.types import Slot


@replaces(Array, "__array_function__")
def array_function(
    self: Array,
    function: Callable[..., Any],
    types: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """`functions.array_function`: the call is planned if it came before."""
    rule = REGISTRY.get(function)
    if rule is None or rule.calls is None or not args:
        return by_rule(self, function, rule, types, args, kwargs)
    if rule.leading_arrays:
        return _of_several(self, function, rule, types, args, kwargs)
    if not rule.plans_one or args[0] is not self:
        return by_rule(self, function, rule, types, args, kwargs)
    calls: Any = rule.calls
    key: Any = (self.spec, args[1:], *kwargs.items())
    try:
        plan = calls.get(key, NEW)
    except TypeError:  # an array, or a list, among the parameters
        others = key_of(args[1:], kwargs)
        if others is None:
            return by_rule(self, function, rule, types, args, kwargs)
        key = (self.spec, others, None)
        plan = calls.get(key, NEW)
    x, slot = self._value, self.slot
    known = plan is not NEW and plan is not None and type(x) is np.ndarray and slot != -1
    if known and is_given(plan, args[1:], kwargs):
        return _planned(self, plan, x, slot)
    result = by_rule(self, function, rule, types, args, kwargs)
    if plan is NEW and isinstance(result, Array) and type(x) is np.ndarray:
        plan = learn(rule, key, (key, [x], [slot], args[1:], kwargs), result._value)
        if plan is not None and slot != -1:
            with silence():  # so that all calls give the same bits
                return _planned(self, plan, x, slot)
    return result


def _of_several(
    self: Array,
    function: Callable[..., Any],
    rule: Rule,
    types: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """The result of a call of several arrays, which is planned if it came before."""
    tape = self.tape
    call = gather(rule, tape, PLAIN_TYPES, args, kwargs)
    if call is None:
        return by_rule(self, function, rule, types, args, kwargs)
    arrays, raws, slots, rest, named = call
    known: Any = rule.calls
    key: Any = (arrays, rest, *named.items())
    try:
        plan = known.get(key, NEW)
    except TypeError:  # an array, or a list, among the parameters
        others = key_of(rest, named)
        if others is None:
            return by_rule(self, function, rule, types, args, kwargs)
        key = (arrays, others, None)
        plan = known.get(key, NEW)
    if plan is None or plan is NEW or not is_given(plan, rest, named):
        result = by_rule(self, function, rule, types, args, kwargs)
        if plan is not NEW or not isinstance(result, Array):
            return result
        if learn(rule, key, call, result._value) is None:
            return result
        with silence():  # so that all calls give the same bits
            return _of_several(self, function, rule, types, args, kwargs)
    if plan.takes is not None:
        raws, slots = list(plan.takes(raws)), plan.takes(slots)
    if plan.fixed:
        slots = [*[ABSENT] * plan.fixed, *slots[plan.fixed :]]
    out = plan.run(*raws)
    return tape.log_planned(plan, plan.rule, out, raws, tuple(slots))


def _planned(self: Array, plan: CallPlan, x: Any, slot: Slot) -> Any:
    """The result of a call that is planned."""
    out = plan.run(x)
    tape = self.tape
    at = tape.fresh()
    rule = plan.rule
    spec = plan.spec
    if rule.singular is not None and rule.singular(out):
        tape.root.singular = True
    tape.log(
        (
            at,
            rule,
            out if plan.keeps_out else spec,
            (x if plan.keeps[0] else self.spec,),
            plan,
            (slot,),
            None,
        )
    )
    if plan.view and (out.base is x or (out.base is not None and out.base is x.base)):
        view = new(Part if plan.view == "part" else Rearrangement)
        view._taken = copy_like(out) if slot in tape.buffers and copies(out, self) else out
        view.taken_slot = at
        view.spec = spec
        view.parent = self
        view.root = root = self.root if self.is_view else self
        view.params = plan
        view.seen = root.slot
        view.rule = rule
        view.numbers = None
        return view
    if not spec.shape:
        return traced(out, at, tape, spec)
    made = new(spec.kind)
    made._value = out
    made.slot = at
    made.tape = tape
    made.spec = spec
    return made


__all__: list[str] = []
