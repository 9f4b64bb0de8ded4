"""Calls of NumPy's functions on traced arrays: those that came before, and those by rule.

Knows the registry, how settled calls are remembered and logged, and which results are views. Must
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
from tapegrad._core.entry import new, traced
from tapegrad._core.operands import as_arguments, has_own_functions
from tapegrad._core.quiet import silence
from tapegrad._core.rule import REGISTRY, Rule
from tapegrad._core.settled import (
    ABSENT,
    NEW,
    Settled,
    gather,
    is_given,
    key_of,
    learn,
    learn_all,
)
from tapegrad._core.types import Slot
from tapegrad._core.values import Mapped, Traced, innermost, is_inexact


def array_function(
    self: Array,
    function: Callable[..., Any],
    types: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """`Array.__array_function__`: the call of a function, which is settled if it came before."""
    rule = REGISTRY.get(function)
    known: Any = None
    if rule is not None and args:
        if args[0] is self:
            known = rule.calls
        if rule.calls_of_all is not None and rule.gathers:
            return _of_several(self, function, rule, types, args, kwargs)
    if known is not None:
        key: Any = (self.spec, args[1:], *kwargs.items())
        try:
            settled = known.get(key, NEW)
        except TypeError:  # an array, or a list, among the parameters
            others = key_of(args[1:], kwargs)
            if others is None:
                return _by_rule(self, function, rule, types, args, kwargs)
            key = (self.spec, others, None)
            settled = known.get(key, NEW)
        if settled is not NEW and settled is not None:
            slot = self.slot
            x = self._value
            if type(x) is np.ndarray and slot != -1 and is_given(settled, args[1:], kwargs):
                return _settled(self, settled, x, slot)
        result = _by_rule(self, function, rule, types, args, kwargs)
        if settled is NEW and isinstance(result, Array):
            x = self._value
            if type(x) is np.ndarray:
                settled = learn(rule, key, self.spec, result._value, args, kwargs)
                if settled is not None and self.slot != -1:
                    with silence():  # so that all calls give the same bits
                        return _settled(self, settled, x, self.slot)
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
    """The result of a call of several arrays, which is settled if it came before."""
    tape = self.tape
    call = gather(rule, tape, PLAIN_TYPES, args, kwargs)
    if call is None:
        return _by_rule(self, function, rule, types, args, kwargs)
    arrays, raws, slots, rest, named = call
    known: Any = rule.calls_of_all
    key: Any = (arrays, rest, *named.items())
    try:
        settled = known.get(key, NEW)
    except TypeError:  # an array, or a list, among the parameters
        others = key_of(rest, named)
        if others is None:
            return _by_rule(self, function, rule, types, args, kwargs)
        key = (arrays, others, None)
        settled = known.get(key, NEW)
    if settled is None or settled is NEW or not is_given(settled, rest, named):
        result = _by_rule(self, function, rule, types, args, kwargs)
        if settled is not NEW or not isinstance(result, Array):
            return result
        if learn_all(rule, key, call, result._value) is None:
            return result
        with silence():  # so that all calls give the same bits
            return _of_several(self, function, rule, types, args, kwargs)
    if settled.takes is not None:
        raws, slots = list(settled.takes(raws)), settled.takes(slots)
    if settled.fixed:
        slots = [*[ABSENT] * settled.fixed, *slots[settled.fixed :]]
    out = settled.run(*raws)
    return tape.log_settled(settled, settled.rule, out, raws, tuple(slots))


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


def _settled(self: Array, settled: Settled, x: Any, slot: Slot) -> Any:
    """The result of a call that is settled."""
    out = settled.run(x)
    tape = self.tape
    at = tape.fresh()
    rule = settled.rule
    spec = settled.spec
    if rule.singular is not None and rule.singular(out):
        tape.root.singular = True
    tape.log(
        (
            at,
            rule,
            out if settled.keeps_out else spec,
            (x if settled.keeps_x else self.spec,),
            settled,
            (slot,),
            None,
        )
    )
    if settled.view and (out.base is x or (out.base is not None and out.base is x.base)):
        view = new(Part if settled.view == "part" else Rearrangement)
        view._taken = copy_like(out) if slot in tape.buffers and copies(out, self) else out
        view.taken_slot = at
        view.spec = spec
        view.parent = self
        view.root = root = self.root if self.is_view else self
        view.params = settled
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
