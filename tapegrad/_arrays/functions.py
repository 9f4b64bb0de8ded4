"""Calls of NumPy's functions on traced arrays: those that came before, and those by rule.

Knows the registry, how planned calls are remembered and logged, and which results are views. Must
not know single rules.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad._arrays.creation import CREATION
from tapegrad._arrays.memory import copy_like
from tapegrad._arrays.refusal import refuse_unsupported
from tapegrad._arrays.traced import Array, no_rule
from tapegrad._arrays.views import PLAIN_TYPES, Part, Rearrangement, as_view, copies
from tapegrad._core.call_plans import (
    ABSENT,
    NEW,
    CallPlan,
    gather,
    is_given,
    key_of,
    learn,
    learn_all,
)
from tapegrad._core.entry import new, traced
from tapegrad._core.operands import as_arguments, has_own_functions
from tapegrad._core.quiet import silence
from tapegrad._core.rule import REGISTRY, Rule
from tapegrad._core.types import Slot
from tapegrad._core.values import Mapped, Traced, innermost, is_inexact


def array_function(
    self: Array,
    function: Callable[..., Any],
    types: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """`Array.__array_function__`: the call of a function, which is planned if it came before."""
    rule = REGISTRY.get(function)
    known: Any = None
    if rule is not None and args:
        if args[0] is self:
            known = rule.calls
        if rule.calls_of_all is not None and rule.leading_arrays:
            return _of_several(self, function, rule, types, args, kwargs)
    if known is not None:
        key: Any = (self.spec, args[1:], *kwargs.items())
        try:
            plan = known.get(key, NEW)
        except TypeError:  # an array, or a list, among the parameters
            others = key_of(args[1:], kwargs)
            if others is None:
                return _by_rule(self, function, rule, types, args, kwargs)
            key = (self.spec, others, None)
            plan = known.get(key, NEW)
        if plan is not NEW and plan is not None:
            slot = self.slot
            x = self._value
            if type(x) is np.ndarray and slot != -1 and is_given(plan, args[1:], kwargs):
                return _planned(self, plan, x, slot)
        result = _by_rule(self, function, rule, types, args, kwargs)
        if plan is NEW and isinstance(result, Array):
            x = self._value
            if type(x) is np.ndarray:
                plan = learn(rule, key, self.spec, result._value, args, kwargs)
                if plan is not None and self.slot != -1:
                    with silence():  # so that all calls give the same bits
                        return _planned(self, plan, x, self.slot)
        return result
    return _by_rule(self, function, rule, types, args, kwargs)


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
        return _by_rule(self, function, rule, types, args, kwargs)
    arrays, raws, slots, rest, named = call
    known: Any = rule.calls_of_all
    key: Any = (arrays, rest, *named.items())
    try:
        plan = known.get(key, NEW)
    except TypeError:  # an array, or a list, among the parameters
        others = key_of(rest, named)
        if others is None:
            return _by_rule(self, function, rule, types, args, kwargs)
        key = (arrays, others, None)
        plan = known.get(key, NEW)
    if plan is None or plan is NEW or not is_given(plan, rest, named):
        result = _by_rule(self, function, rule, types, args, kwargs)
        if plan is not NEW or not isinstance(result, Array):
            return result
        if learn_all(rule, key, call, result._value) is None:
            return result
        with silence():  # so that all calls give the same bits
            return _of_several(self, function, rule, types, args, kwargs)
    if plan.takes is not None:
        raws, slots = list(plan.takes(raws)), plan.takes(slots)
    if plan.fixed:
        slots = [*[ABSENT] * plan.fixed, *slots[plan.fixed :]]
    out = plan.run(*raws)
    return tape.log_planned(plan, plan.rule, out, raws, tuple(slots))


def _by_rule(
    self: Array,
    function: Callable[..., Any],
    rule: Rule | None,
    types: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """The result of a call of a function by its rule, or an error if there is none."""
    alone = len(args) == 1 and args[0] is self and not kwargs
    if not alone and not PLAIN_TYPES.issuperset(types):
        if isinstance(innermost((*args, *kwargs.values())), Mapped):
            return NotImplemented  # a vmap inside this array's transform comes first
        if any(map(has_own_functions, types)):
            return NotImplemented  # an array with units, say, which may hold a traced one
    if rule is None:
        if function in CREATION:
            return _created(self, function, args, kwargs)
        refuse_unsupported(no_rule(function), [*args, *kwargs.values()])
    if not alone and (rule.several or not PLAIN_TYPES.issuperset(types)):
        args, kwargs = as_arguments(args, kwargs)
    if rule.view:
        arrays, params = rule.bind(args, kwargs)
        return as_view(rule, arrays[0], params)
    return rule.apply(*args, **kwargs)


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
            (x if plan.keeps_x else self.spec,),
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


def _created(self: Array, function: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
    """The result of np.zeros(shape, like=self), traced so that it can be written to."""
    made = CREATION[function](*args, **kwargs)
    if isinstance(made, Traced) or not is_inexact(made):
        return made
    return self.tape.wrap(made, -1)


Array.__array_function__ = array_function
