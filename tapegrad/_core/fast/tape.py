"""Logging of planned calls: calls of several arrays whose shapes and parameters came before.

Knows how a tape logs, and does the same with the specs that are known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._core.entry import ABSENT, ReplayedRule, spec_of
from tapegrad._core.fast.call_plans import (
    BOTH,
    BY_X,
    BY_Y,
    NEITHER,
    NUMBER,
    CallPlan,
    is_plain,
    plan_of,
    plan_spec,
    remember,
)
from tapegrad._core.fast.paths import replaces
from tapegrad._core.tape import Tape, spec_or_value
from tapegrad._core.types import Params, Slot, Value
from tapegrad._core.values import Traced

_by_definition = Tape.record


@replaces(Tape, "record")
def record(
    self: Tape,
    rule: ReplayedRule,
    out: Value,
    args: list[Value],
    slots: list[Slot],
    params: Params,
) -> Any:
    """`Tape.record`, of calls that are planned too."""
    if rule.calls is not None and not rule.plans_one:
        wanted = tuple([slot != -1 for slot in slots])
        if True in wanted:
            made = _record_planned(self, rule, out, args, slots, wanted, params)
            if made is not None:
                return made
    return _by_definition(self, rule, out, args, slots, params)


def _record_planned(
    self: Tape,
    rule: ReplayedRule,
    out: Value,
    args: Sequence[Value],
    slots: Sequence[Slot],
    wanted: tuple[bool, ...],
    params: Params,
) -> Traced | None:
    """`record` of a call of several arrays that is planned; None if it is not."""
    calls: Any = rule.calls
    specs: Any = tuple(map(plan_spec, args))
    if None in specs:
        return None
    if type(out) is not np.ndarray and type(out) is not np.float64 and not is_plain(out):
        return None
    key: Any = (*specs, wanted)
    if params:
        key = (*key, *params.items())
    try:
        plan = calls.get(key, False)
    except TypeError:  # an array among the parameters
        return None
    if plan is False:
        if out.dtype.kind not in "fc":
            return None
        plan = plan_of(rule, specs, wanted, spec_of(out), params)
        remember(calls, key, plan)
    if plan is None:
        return None
    return self.log_planned(plan, rule, out, list(args), tuple(slots))


def log_planned(
    self: Tape,
    plan: CallPlan,
    rule: ReplayedRule,
    out: Value,
    args: list[Value],
    slots: tuple[Slot, ...],
) -> Traced:
    """Log a planned call of several arrays, and wrap its result. It changes `args`."""
    for at in plan.constants:
        args[at] = self.keep(args[at])
    for at in plan.unread:
        args[at] = plan.specs[at]
    slot = self.fresh()
    spec = plan.spec
    shown = out if plan.keeps_out else spec
    self.log((slot, rule, shown, tuple(args), plan, slots, None))
    return self.array(out, slot, self, spec)


Tape.log_planned = log_planned


@replaces(Tape, "record_pair")
def record_pair(
    self: Tape, rule: ReplayedRule, out: Value, x: Value, y: Value, x_slot: Slot, y_slot: Slot
) -> Traced:
    """`record` for two arguments, one result and no parameters, at half the cost."""
    if x_slot is ABSENT:
        wanted = NEITHER if y_slot is ABSENT else BY_Y
    else:
        wanted = BY_X if y_slot is ABSENT else BOTH
    slots = (x_slot, y_slot)
    calls = rule.calls
    plan: Any = None
    x_spec = y_spec = None
    if calls is not None:
        x_spec = spec_of(x) if type(x) is np.ndarray else plan_spec(x)
        y_spec = spec_of(y) if type(y) is np.ndarray else plan_spec(y)
        plan = calls.get((x_spec, y_spec, wanted), False)
        if plan is False:
            made = _record_planned(self, rule, out, (x, y), slots, wanted, {})
            if made is not None:
                return made
            plan = None
    if plan is None:
        (x_needed, y_needed), out_needed = rule.needed(wanted)
        params: Params = {}
        spec = spec_of(out)
        if not x_needed:
            x = spec_or_value(x)
        if not y_needed:
            y = spec_or_value(y)
    else:
        (x_needed, y_needed), out_needed = plan.keeps, plan.keeps_out
        params = plan
        spec = plan.spec
        if not x_needed and x_spec is not NUMBER:
            x = x_spec
        if not y_needed and y_spec is not NUMBER:
            y = y_spec
    if x_needed and x_slot is ABSENT:
        x = self.keep(x)
    if y_needed and y_slot is ABSENT:
        y = self.keep(y)
    slot = self.fresh()
    self.log((slot, rule, out if out_needed else spec, (x, y), params, slots, None))
    return self.array(out, slot, self, spec)


__all__ = ["log_planned"]
