"""Calls of ufuncs on traced arrays: the short path, those with two operands, and all others.

Knows the class of traced arrays, the layouts of entries and the rules' forms. Must not know single
rules, or NumPy's keywords and methods of a ufunc.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad._arrays.refusal import refuse_unsupported
from tapegrad._arrays.ties import note_tie
from tapegrad._arrays.traced import Array, no_rule
from tapegrad._arrays.ufunc_methods import REDUCTIONS, call_method, call_with_keywords
from tapegrad._arrays.views import ARRAYS, PLAIN_TYPES
from tapegrad._core.entry import new, traced
from tapegrad._core.fast.call_plans import ABSENT, BOTH
from tapegrad._core.forms import Elementwise, Multilinear
from tapegrad._core.operands import as_operand, call_other
from tapegrad._core.rule import Rule, rule_of
from tapegrad._core.tape import Tape, require_numbers
from tapegrad._core.types import Value
from tapegrad._core.values import Mapped, Traced, innermost

# ufunc -> (rule, whether x is kept, whether out is kept), learned at the first call.
UNARY: dict[np.ufunc, tuple[Rule, bool, bool]] = {}

# The same of ufuncs whose result is real for complex arguments too: for real ones alone.
REAL: dict[np.ufunc, tuple[Rule, bool, bool]] = {}

# The same of ufuncs of SciPy and others, which lack loops of some dtypes, by the dtype too:
# wofz makes complex numbers of real ones, and most make float32 of float16.
LOOPS: dict[tuple[np.ufunc, np.dtype[Any]], tuple[Rule, bool, bool]] = {}
_FLOATS = frozenset(("e->e", "f->f", "d->d", "g->g"))

# ufunc -> (its call with two operands, rule), likewise.
PAIRS: dict[np.ufunc, tuple[Callable[..., Any], Rule]] = {}
_UNKNOWN: tuple[Any, Any] = (None, None)


def binary(rule: Elementwise, x: Value, y: Value) -> Any:
    """A two-argument elementwise call, logged in the short layout if nothing broadcasts."""
    if type(x) in ARRAYS and type(y) in ARRAYS and x.tape is y.tape:
        spec = x.spec
        if spec is not y.spec or rule.fused_vjp is not None:
            return _pair(rule, x, y)
        tape = x.tape  # views, which are frequent
        raw_x, raw_y, x_in, y_in = x._value, y._value, True, True
        x_slot, y_slot = x.slot, y.slot
    elif type(x) in ARRAYS and type(y) is np.ndarray:  # beside a constant: frequent as well
        tape, spec, x_in, y_in = x.tape, x.spec, True, False
        raw_x, raw_y, x_slot, y_slot = x._value, y, x.slot, ABSENT
    else:
        found = _resolved(rule, x, y)
        if type(found) is not tuple:
            return found
        tape, raw_x, raw_y, x_slot, y_slot, spec = found
        x_in, y_in = raw_x is not x, raw_y is not y
    out = rule.function(raw_x, raw_y)
    dtype = out.dtype
    if (
        dtype is not spec.dtype
        or out.shape != spec.shape
        or rule.fused_vjp is not None
        or (x_in and y_in and x.spec is not y.spec)
    ):
        if dtype is not spec.dtype:
            require_numbers(rule, out)
        return tape.record_pair(rule, out, raw_x, raw_y, x_slot, y_slot)
    x_kept, y_kept, out_kept = rule.keeps[x_in, y_in]
    slot = tape.fresh()
    tape.log(
        (
            slot,
            rule,
            out if out_kept else None,
            None if not x_kept else raw_x if x_in else tape.keep(raw_x),
            None if not y_kept else raw_y if y_in else tape.keep(raw_y),
            x_slot,
            y_slot,
        )
    )
    return traced(out, slot, tape, spec)


def product(rule: Multilinear, x: Value, y: Value) -> Any:
    """A two-argument product, such as np.matmul."""
    if type(x) in ARRAYS and type(y) in ARRAYS and x.tape is y.tape:
        return _pair(rule, x, y)
    found = _resolved(rule, x, y)
    if type(found) is not tuple:
        return found
    tape, raw_x, raw_y, x_slot, y_slot, _ = found
    out = rule.function(raw_x, raw_y)
    require_numbers(rule, out)
    return tape.record_pair(rule, out, raw_x, raw_y, x_slot, y_slot)


def _pair(rule: Any, x: Array, y: Array) -> Any:
    """A call of two arrays of one tape in the general layout: a bias, or a matrix product."""
    raw_x, raw_y = x._value, y._value
    out = rule.function(raw_x, raw_y)
    tape = x.tape
    x_slot, y_slot = x.slot, y.slot
    calls = rule.calls
    key = x.spec, y.spec
    plan = None if calls is None else calls.get(key)
    if plan is None or type(out) is not np.ndarray or x_slot is ABSENT or y_slot is ABSENT:
        if out.dtype is not x.spec.dtype:
            require_numbers(rule, out)
        made = tape.record_pair(rule, out, raw_x, raw_y, x_slot, y_slot)
        plan = None if calls is None else calls.get((*key, BOTH))
        if plan is not None:
            calls[key] = plan  # to be found without a look at the values
        return made
    keeps_x, keeps_y = plan.keeps
    spec = plan.spec
    slot = tape.fresh()
    tape.log(
        (
            slot,
            rule,
            out if plan.keeps_out else spec,
            (raw_x if keeps_x else x.spec, raw_y if keeps_y else y.spec),
            plan,
            (x_slot, y_slot),
            None,
        )
    )
    return traced(out, slot, tape, spec)


def _resolved(rule: Any, x: Value, y: Value) -> Any:
    """The tape of a call of two operands, their values and slots there, and a traced one's spec.

    Not a tuple: the result of the call, or NotImplemented, where there is none.
    """
    if type(x) in ARRAYS and type(y) is np.ndarray:  # beside a constant, the frequent cases
        return x.tape, x._value, y, x.slot, ABSENT, x.spec
    if type(y) in ARRAYS and type(x) is np.ndarray:
        return y.tape, x, y._value, ABSENT, y.slot, y.spec
    x_tape = x.tape if isinstance(x, Traced) else None
    y_tape = y.tape if isinstance(y, Traced) else None
    tape = x_tape or y_tape
    if tape is None:
        return rule.function(x, y)
    if y_tape is not None and y_tape.level > tape.level:
        tape = y_tape
    if x_tape is None and _is_inner(x, tape) or y_tape is None and _is_inner(y, tape):
        return NotImplemented
    root = tape.root
    x_in = x_tape is not None and x_tape.root is root
    y_in = y_tape is not None and y_tape.root is root
    return (
        tape,
        x._value if x_in else x,
        y._value if y_in else y,
        x.slot if x_in else ABSENT,
        y.slot if y_in else ABSENT,
        x.spec if x_in else y.spec,
    )


def _is_inner(other: Value, tape: Tape) -> bool:
    """Whether an operand belongs to a vmap inside the transform of a tape, which goes first."""
    return isinstance(other, Mapped) and other.level > tape.level


def array_ufunc(
    self: Array, ufunc: np.ufunc, method: str, first: Value, /, *rest: Any, **kwargs: Any
) -> Any:
    """`Array.__array_ufunc__`: the call of a ufunc, by the shortest path that serves it."""
    # The short path: a one-argument function of a floating array keeps shape and dtype.
    if not rest and not kwargs and method == "__call__":
        short = UNARY.get(ufunc)
        if short is None:
            if self.spec.dtype.kind == "f":
                short = REAL.get(ufunc)
            if short is None:
                short = LOOPS.get((ufunc, self.spec.dtype))
        if short is not None:
            rule, x_kept, out_kept = short
            x = self._value
            out = ufunc(x)
            tape = self.tape
            slot = tape.fresh()
            tape.log(
                (
                    slot,
                    rule,
                    out if out_kept else None,
                    x if x_kept else None,
                    None,
                    self.slot,
                    -1,
                )
            )
            spec = self.spec
            made = new(spec.kind)
            made._value = out
            made.slot = slot
            made.tape = tape
            made.spec = spec
            return made
    elif len(rest) == 1 and not kwargs and method == "__call__":
        call, rule = PAIRS.get(ufunc, _UNKNOWN)
        if call is not None:
            x, y = first, rest[0]
            if type(x) not in PLAIN_TYPES:
                x = as_operand(x)
            if type(y) not in PLAIN_TYPES:
                y = as_operand(y)
            if x is not NotImplemented and y is not NotImplemented:
                return call(rule, x, y)
    elif method == "reduce" and first is self and ufunc in REDUCTIONS:
        params = _plain_reduction(rest, kwargs)
        if params is not None and self.spec.ndim and self.spec.dtype.kind == "f":
            return self.__array_function__(REDUCTIONS[ufunc], (), (self,), params)
    return call_ufunc(ufunc, method, (first, *rest), kwargs)


def _plain_reduction(rest: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any] | None:
    """The axis and keepdims= of a call of `reduce` with no other option, else None."""
    if rest:
        if len(rest) > 1 or "axis" in kwargs:
            return None
        params = {"axis": rest[0], **kwargs}
    else:
        params = {"axis": 0, **kwargs}
    if len(params) != 1 and (len(params) != 2 or type(params.get("keepdims")) is not bool):
        return None
    axis = params["axis"]
    return params if axis is None or type(axis) is int or type(axis) is tuple else None


def call_ufunc(
    ufunc: np.ufunc, method: str, inputs: tuple[Value, ...], kwargs: dict[str, Any]
) -> Any:
    """Any other call of a ufunc: several arguments, keywords, methods."""
    if isinstance(innermost((*inputs, *kwargs.values())), Mapped):
        return NotImplemented
    rule = rule_of(ufunc)
    if rule is None:
        refuse_unsupported(no_rule(ufunc), [*inputs, *kwargs.values()])
    if method in ("__call__", "outer"):
        taken = tuple([as_operand(x) for x in inputs])
        if any(x is NotImplemented for x in taken):
            return call_other(ufunc, method, inputs, kwargs)
        inputs = taken
    if method != "__call__":
        return call_method(rule, ufunc, method, inputs, kwargs)
    if not kwargs:
        if len(inputs) == 2:
            call: Callable[..., Any] | None = None
            if isinstance(rule, Multilinear):
                call = product
            elif isinstance(rule, Elementwise):
                call = binary
            if call is not None:
                PAIRS[ufunc] = call, rule
                return call(rule, *inputs)
        if type(inputs[0]) in ARRAYS and _has_short_path(ufunc, rule, inputs[0].spec.dtype):
            return array_ufunc(inputs[0], ufunc, method, *inputs)  # so that all give the same bits
        if ufunc is np.equal or ufunc is np.not_equal:  # a number of NumPy's on the left
            return note_tie(rule.apply(*inputs), ufunc)
        return rule.apply(*inputs)
    return call_with_keywords(rule, ufunc, inputs, kwargs)


def _has_short_path(ufunc: np.ufunc, rule: Rule, dtype: np.dtype[Any]) -> bool:
    """Whether the short path serves a ufunc of arrays of a dtype, which it is told now."""
    if not isinstance(rule, Elementwise) or not rule.unary:
        return False
    x_kept, out_kept = rule.keeps[True,]
    short = rule, x_kept, out_kept
    if _FLOATS.issubset(ufunc.types):
        if rule.to_real:
            REAL[ufunc] = short
            return dtype.kind == "f"
        UNARY[ufunc] = short
        return True
    if ufunc.resolve_dtypes((dtype, None))[-1] != dtype:
        return False
    LOOPS[ufunc, dtype] = short
    return True


Array.__array_ufunc__ = array_ufunc

__all__ = ["binary", "product"]
