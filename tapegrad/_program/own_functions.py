"""Functions of our own that are called with recorded values: call by call, or as one call.

Knows rules, and how their calls are planned. Must not know how a call is logged.

A call of a rule, or of its derivative, is made in the way in which a call that comes again is made
with NumPy's own arrays (`_core/fast/call_plans.py`): its calls of NumPy's are the program. A
kernel that does what only NumPy's own arrays allow gives way to the rule's own function. One that
asks for values is one call of the program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tapegrad._core.entry import Spec, spec_of
from tapegrad._core.fast.call_plans import (
    NUMBER,
    are_plain,
    as_given,
    is_plain,
    own_kernels,
    plan_spec,
)
from tapegrad._core.fit import are_absorbing, fit_cotangent, fit_tangent, is_finite
from tapegrad._core.recorded import call_keeping, fill, spread, state_of
from tapegrad._core.values import Buffer, Mapped, Traced
from tapegrad._program.calls import called, called_plainly, raw
from tapegrad._program.functions import bound_call, define, definition_of
from tapegrad._program.program import are_close
from tapegrad._program.recorded import Recorded
from tapegrad._program.recorder import NotRecordableError, Recorder

Function = Callable[..., Any]

# --- Functions ----------------------------------------------------------------------------------


def by_value(self: Recorded, function: Function, *args: Any) -> Any:
    """Result of a function of plain arrays: see `by`."""
    return by(self.recorder, function, args)


def by_one(self: Recorded, function: Function, *args: Any) -> Any:
    """Result of a function of plain arrays, as one call of the program."""
    if self.recorder.unfit is None and not _is_recordable(function(*raw(args))):
        return function(*args)
    return called(self.recorder, function, args, {})


def by(
    recorder: Recorder, function: Function, args: tuple[Any, ...], *, whole: bool = True
) -> Any:
    """The result of a function of our own for plain arrays, but for rounding.

    It runs with the recorded arrays. If it asks for no value, the calls that it makes are the
    program. Else it is one call of the program itself, or NotImplemented without `whole`.
    """
    if recorder.unfit is None and function not in recorder.opaque:
        expected = called_plainly(function, raw(args), {})
        if not _is_recordable(expected):
            return function(*args)
        again = False  # whether it only did something else than in the run before
        before, within = recorder.mark(), recorder.trial  # perhaps of another such function
        recorder.trial = True
        recorder.running.append(function)
        try:
            found = function(*args)
        except NotRecordableError as error:
            found, again = NotImplemented, error.args[-1] is True
        except Exception:  # noqa: BLE001 - it is not made for such arrays
            found = NotImplemented
        finally:
            recorder.running.pop()
            recorder.trial = within
        if _are_same(found, expected):
            return found
        recorder.roll_back(before)
        if not again:
            recorder.opaque.add(function)
    return called(recorder, function, args, {}) if whole else NotImplemented


def _is_recordable(value: Any) -> bool:
    """Whether what a function gives is arrays and numbers, or lists of them."""
    if isinstance(value, (tuple, list)):
        return all(map(_is_recordable, value))
    return value is None or isinstance(value, (np.ndarray, np.generic, float, complex, int))


def _are_same(found: Any, expected: Any) -> bool:
    """Whether recorded results are those that were expected, in class, and but for rounding."""
    if isinstance(expected, (tuple, list)):
        return (
            isinstance(found, (tuple, list))
            and len(found) == len(expected)
            and all(map(_are_same, found, expected))
        )
    return are_close(found._value if issubclass(type(found), Recorded) else found, expected)


# --- Rules --------------------------------------------------------------------------------------


class _Kernels(NamedTuple):
    """The kernels of a rule's calls with arrays of some shapes."""

    run: Function | None  # None: as the rule calls it
    pull: Function
    push: Function | None
    strong: bool  # whether the pull must be asked by strong products where it is not finite


def call_rule(self: Recorded, rule: Any, arrays: list[Any], params: dict[str, Any]) -> Any:
    """Call a rule's function on bound arguments, some of which are recorded."""
    if rule.sequence:
        return rule.call(arrays, params)
    if params.get("kept") is not None:
        return call_keeping(self, rule, arrays, params)
    definition = definition_of(rule)
    if definition is not None:
        return by(self.recorder, definition, (tuple(arrays), params))
    arrays = list(map(_as_array, arrays))
    found = run_rule(self, rule, arrays, params)
    if found is not NotImplemented:
        return found
    return called(self.recorder, bound_call(rule), tuple(arrays), params)


def _as_array(x: Any) -> Any:
    """An object that is an array to NumPy as that array: each run may make another object."""
    kind = type(x)
    if kind.__module__ in ("numpy", "builtins") or isinstance(x, (Traced, Mapped, Buffer)):
        return x
    asks = hasattr(kind, "__array_ufunc__") or hasattr(kind, "__array_function__")
    return np.array(x) if hasattr(kind, "__array__") and not asks else x


def run_rule(self: Recorded, rule: Any, arrays: Sequence[Any], params: dict[str, Any]) -> Any:
    """The result of a rule's call as it is planned, or NotImplemented."""
    arrays = _present(rule, arrays)
    kernels = _kernels_of(rule, arrays, None, (True,) * len(arrays), params)
    # A way may call the function itself.
    if kernels is None or kernels.run is None or kernels.run in self.recorder.running:
        return NotImplemented
    return by(self.recorder, kernels.run, tuple(arrays), whole=False)


def _present(rule: Any, args: Sequence[Any]) -> Sequence[Any]:
    """The arrays of a call; of one that has its first alone, without those that are absent."""
    one = rule.plans_one and all(arg is None for arg in args[1:])
    return args[:1] if one else args


def pull_rule(
    self: Recorded,
    rule: Any,
    g: Any,
    out: Any,
    args: Sequence[Any],
    params: dict[str, Any],
    wanted: Sequence[bool],
) -> Any:
    """The cotangents of a rule's arguments."""
    kept = params.get("kept")
    if kept is not None:
        state, values = spread(state_of(kept), [g, out, *args])
        call = (state, tuple(values), g, out, args, {**params, "kept": type(kept)}, wanted)
        return by(self.recorder, _method_with_kept(rule, "pull"), call)
    given = _present(rule, args)
    kernels = None
    if _is_one(g) and (g.shape, g.dtype) == (out.shape, out.dtype):
        kernels = _kernels_of(rule, given, out, tuple(wanted[: len(given)]), params)
    if kernels is not None:
        bars = by(self.recorder, kernels.pull, (g, out, *given))
        bars = [bars] if len(given) == 1 and rule.plans_one else list(bars)
        bars += [None] * (len(args) - len(bars))  # of what is no array
        if not (kernels.strong and are_absorbing()) or all(
            bar is None or is_finite(bar) for bar in bars
        ):
            return bars
    return by(self.recorder, _method(rule, "pull"), (g, out, args, params, wanted))


def push_rule(
    self: Recorded,
    rule: Any,
    dots: Sequence[Any],
    out: Any,
    args: Sequence[Any],
    params: dict[str, Any],
) -> Any:
    """The tangent of a rule's result."""
    kept = params.get("kept")
    if kept is not None:
        state, values = spread(state_of(kept), [dots, out, *args])
        call = (state, tuple(values), dots, out, args, {**params, "kept": type(kept)})
        return by(self.recorder, _method_with_kept(rule, "push"), call)
    given = _present(rule, args)
    dots = dots[: len(given)]
    kernels = None
    if all(
        dot is None or (dot.shape, dot.dtype) == (arg.shape, arg.dtype)
        for dot, arg in zip(dots, given, strict=True)
        if _is_one(arg)
    ):
        wanted = tuple([dot is not None for dot in dots])
        kernels = _kernels_of(rule, given, out, wanted, params)
    if kernels is None or kernels.push is None:
        dots = [*dots, *[None] * (len(args) - len(dots))]
        return by(self.recorder, _method(rule, "push"), (dots, out, args, params))
    one = rule.plans_one and len(given) == 1
    return by(self.recorder, kernels.push, (dots[0] if one else dots, out, *given))


def _is_one(value: Any) -> bool:
    return not isinstance(value, (list, tuple, int, float)) and value is not None


def _method(rule: Any, name: str) -> Function:
    """A method of a rule as one object, by which it is known when it is called again."""
    return _made_once(rule, name, _new_method)


def _made_once(rule: Any, name: str, make: Callable[[Any, str], Function]) -> Function:
    """The result of `make(rule, name)`: one object a rule, which holds it."""
    known: dict[Any, Function] = vars(rule).setdefault("_recorded_methods", {})
    key = make, name
    if key not in known:
        known[key] = make(rule, name)
    return known[key]


def _new_method(rule: Any, name: str) -> Function:
    def method(*call: Any) -> Any:
        return getattr(rule, name)(*call)

    method.__qualname__ = f"{rule.name}.{name}"
    return method


def _method_with_kept(rule: Any, name: str) -> Function:
    """`_method`, where what a call has kept is among the arguments."""
    return _made_once(rule, name, _new_method_with_kept)


def _new_method_with_kept(rule: Any, name: str) -> Function:
    def method(
        state: Any, values: Any, g: Any, out: Any, args: Any, params: Any, *rest: Any
    ) -> Any:
        kept = params["kept"]()
        fill(kept, state, values, [g, out, *args])
        return getattr(rule, name)(g, out, args, {**params, "kept": kept}, *rest)

    method.__qualname__ = f"{rule.name}.{name}"
    return method


def _spec(value: Any) -> Spec | None:
    return value if type(value) is Spec else plan_spec(raw(value))


def _kernels_of(
    rule: Any, args: Sequence[Any], out: Any, wanted: tuple[bool, ...], params: dict[str, Any]
) -> _Kernels | None:
    """The kernels of a call, made once for its shapes; `out`: its result, None if not known."""
    if rule.plan is None or not are_plain(tuple(params.values())):
        return None
    specs = tuple(map(_spec, args))
    if None in specs or NUMBER in specs and not rule.numbers:
        return None
    of_out = None if out is None else _spec(out)
    if out is not None and of_out is None:
        return None
    key = (specs, of_out, wanted, as_given((), dict(params)))
    known = vars(rule).setdefault("_recorded_kernels", {})
    if key not in known:
        if out is None:
            made = called_plainly(rule.call, (raw(list(args)), params), {})
            of_out = spec_of(made) if is_plain(made) else None
        known[key] = None if of_out is None else _plan(rule, specs, of_out, wanted, params)
    found: _Kernels | None = known[key]
    return found


def _plan(
    rule: Any, specs: Any, out: Spec, wanted: tuple[bool, ...], params: dict[str, Any]
) -> _Kernels | None:
    one = rule.plans_one
    found = own_kernels(rule, specs, wanted, out, params)
    if found is None or not one and found.keep is not None:
        return None

    def run(*args: Any) -> Any:
        return rule.call(list(args), params)

    def pull(g: Any, out: Any, *args: Any) -> Any:
        bars = rule.pull(g, out, list(args), params, list(wanted))
        fitted = [
            None if bar is None else fit_cotangent(bar, like, rule)
            for bar, like in zip(bars, args, strict=True)
        ]
        return fitted[0] if one else fitted

    def push(dots: Any, out: Any, *args: Any) -> Any:
        dot = rule.push([dots] if one else dots, out, list(args), params)
        return fit_tangent(dot, out, rule)

    for function, definition in ((found.run, run), (found.pull, pull), (found.push, push)):
        define(function, definition)
    return _Kernels(
        found.run,
        found.pull,
        found.push,
        not one and (found.strong is not None or bool(rule.strong)),
    )


Recorded.call_rule = call_rule
Recorded.pull_rule = pull_rule
Recorded.push_rule = push_rule
Recorded.by = by_value
Recorded.by_one = by_one

__all__ = ["by", "call_rule", "run_rule"]
