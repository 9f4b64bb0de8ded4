"""Calls that are planned: what shapes and parameters decide is decided once.

Most calls of a program come again: the same function, of arrays of the same shapes and dtypes,
with the same parameters. A rule may be declared with `plan=`, a function that gives for such a
call what to do with NumPy's own arrays: how to compute the cotangents and the tangent (and for a
function of one array the result), with no parameter to look at and no shape to compare. The
functions of the rule itself remain the definition: they serve every other call, arrays of other
libraries, batched and traced values, and a test compares the two.

Knows rules and specs. Must not know the class of traced arrays, nor which functions exist.
"""

from __future__ import annotations

import marshal
from collections.abc import Callable
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from tapegrad._core.entry import ABSENT, Spec, spec_of
from tapegrad._core.fast.rule_plans import one_from_rule, several_from_rule
from tapegrad._core.rule import ALL
from tapegrad._core.scatter import put_at, selects_once
from tapegrad._core.types import Cotangent, Index, Tangent, Value


class Kernels(NamedTuple):
    """Result of `plan=`: the kernels of a call with NumPy's arrays of one shape and dtype."""

    run: Callable[[Any], Any]  # the result, of the array
    pull: Callable[[Cotangent, Value, Value], Cotangent]  # from (g, out, x): of x's shape, dtype
    push: Callable[[Tangent, Value, Value], Tangent] | None = None  # from (x_dot, out, x)
    view: bool = False  # whether the result may be a view, also if the rule says nothing of views
    # From (bar, g): adds what `pull` gives to a cotangent, if that touches a few elements alone.
    add: Callable[[Cotangent, Cotangent], None] | None = None


class CallPlan(dict[str, Any]):
    """The parameters of a planned call, as its entry holds them, with the kernels of the call."""

    __slots__ = (
        "absorbs",
        "add",
        "given",
        "holds",
        "keeps_out",
        "keeps_x",
        "pull",
        "push",
        "rule",
        "run",
        "spec",
        "view",
    )

    rule: Any
    given: bytes | None  # the parameters as they were given, with their types
    spec: Spec  # of the result
    keeps_x: bool  # whether the derivatives read x
    keeps_out: bool
    holds: bool  # whether an entry holds arrays
    view: bool | str  # as of the rule
    run: Callable[[Any], Any]
    pull: Callable[[Cotangent, Value, Value], Cotangent]
    push: Callable[[Tangent, Value, Value], Tangent] | None
    add: Callable[[Cotangent, Cotangent], None] | None
    absorbs: bool  # whether `pull` is the rule's own, which may ask if zeros absorb


class KernelsAll(NamedTuple):
    """Result of `plan_all=`: the same of a call with several arrays."""

    pull: Callable[..., Any]  # from (g, out, *arrays): one cotangent each, None if not wanted
    # From (dots, out, *arrays), by ordinary products: where one makes a NaN, the rule is asked.
    push: Callable[..., Any] | None = None
    # `pull` by strong products, of a function with an infinite partial: asked where `pull` gives a
    # cotangent that is not finite.
    strong: Callable[..., Any] | None = None
    run: Callable[..., Any] | None = None  # the result, of the arrays; None: as the rule calls it
    # The result, and what `pull` gets after the arrays: what a call finds that its derivative
    # needs as well. The entry keeps it after the arrays, and whoever asks the rule drops it.
    keep: Callable[..., tuple[Any, Any]] | None = None


class CallPlanAll(dict[str, Any]):
    """The parameters of a planned call with several arrays, with the kernels of the call."""

    __slots__ = (
        "constants",
        "fixed",
        "given",
        "holds",
        "keep",
        "keeps",
        "keeps_out",
        "pull",
        "push",
        "rule",
        "run",
        "spec",
        "specs",
        "strong",
        "takes",
        "unread",
    )

    rule: Any
    given: bytes | None  # the parameters as they were given, with their types
    spec: Spec  # of the result
    specs: tuple[Spec, ...]  # of the arrays
    keeps: tuple[bool, ...]  # which arrays the derivatives read
    constants: tuple[int, ...]  # which arrays are not traced, and read by the derivatives
    unread: tuple[int, ...]  # which arrays no derivative reads
    fixed: int  # how many arrays come first that may be traced, and are constants still
    keeps_out: bool
    holds: bool  # whether an entry holds arrays
    run: Callable[..., Any]
    keep: Callable[..., tuple[Any, Any]] | None
    pull: Callable[..., Any]
    push: Callable[..., Any] | None
    strong: Callable[..., Any] | None
    takes: Callable[[Any], tuple[Any, ...]] | None  # the arrays of the arguments; None: all


# In place of the spec of an argument that is a Python number: its value decides nothing, and it
# gives way to the dtype of the arrays. No array has this spec.
NUMBER = Spec((), np.dtype(object), spec_of(np.empty((), object)).family)
_NUMBERS = frozenset((float, int))
_ARRAYS = frozenset((np.ndarray, np.float64, np.float32, np.complex128, np.complex64))


def plan_spec(arg: Value) -> Spec | None:
    """By what a call with several arrays is remembered; None for what plans no call."""
    kind = type(arg)
    if kind is np.ndarray or kind in _ARRAYS:
        return spec_of(arg)
    if kind in _NUMBERS:
        return NUMBER
    return None


# Arguments of these classes have a meaning of their own alone, and are told apart by `==`.
_PLAIN = frozenset((int, bool, type(None), str))
_MOST = 1 << 12  # calls that a rule remembers; programs with more shapes begin again
_LONGEST = 64  # items of a list that is part of a key


def learn(
    rule: Any, key: Any, x: Spec, out: Value, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> CallPlan | None:
    """Remember, under a key, how to make a call that has been made: of an array `x` first."""
    others, named = args[1:], kwargs
    args = (args[0], *map(_frozen, others))
    kwargs = {name: _frozen(value) for name, value in named.items()}
    if not are_plain((*args[1:], *kwargs.values())):
        return None
    if len(rule.calls) >= _MOST:
        rule.calls.clear()
    made = _plan_of(rule, x, spec_of(out), args, kwargs) if is_plain(out) else None
    if made is not None:
        made.given = as_given(others, named)
    rule.calls[key] = made
    return made


def as_given(others: tuple[Any, ...], kwargs: dict[str, Any]) -> bytes | None:
    """The parameters of a call with their types, which keys do not tell: 1.0 equals 1 and True."""
    return marshal.dumps((others, kwargs), 2) if others or kwargs else None


def is_given(plan: Any, others: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a call that was found by its key has the parameters of the planned call."""
    given = plan.given
    if given is None:
        return True
    try:
        found = marshal.dumps((others, kwargs), 2)
    except ValueError:  # numbers of NumPy's and other classes
        return False
    return found == given


def is_plain(out: Value) -> bool:
    """Whether a result plans its call: an array or float64 number of NumPy's."""
    kind = type(out)
    return kind is np.ndarray or kind is np.float64


def are_plain(others: tuple[Any, ...]) -> bool:
    """Whether parameters mean the same whenever they are equal."""
    return all(type(value) in _PLAIN or _is_plain_tuple(value) for value in others)


def _is_plain_tuple(value: Any) -> bool:
    return type(value) is tuple and all(
        type(part) in _PLAIN or _is_plain_tuple(part) for part in value
    )


NEW: Any = object()  # stands for a call that has not come before


def key_of(others: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The parameters of a call as a key, also with lists among them; None with other arrays.

    A list is told from a tuple: NumPy takes one or the other as an axis.
    """
    try:
        return (
            *map(_hashable, others),
            *zip(kwargs, map(_hashable, kwargs.values()), strict=True),
        )
    except TypeError:
        return None


def _hashable(value: Any) -> Any:
    kind = type(value)
    if kind is list or kind is tuple:
        if len(value) > _LONGEST:
            raise TypeError
        return (kind, *map(_hashable, value))
    hash(value)
    return value


def _frozen(value: Any) -> Any:
    """A parameter with tuples in place of lists, which the program may change later."""
    kind = type(value)
    return tuple(map(_frozen, value)) if kind is list or kind is tuple else value


# The arrays of a call of several, some of them traced: a key of such calls, the arrays untraced,
# their slots, and the other arguments, by position and by keyword.
Gathered = tuple[tuple[Any, ...], list[Any], list[Any], tuple[Any, ...], dict[str, Any]]

_NO_OTHERS: dict[str, Any] = {}


def gather(
    rule: Any, tape: Any, kinds: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Gathered | None:
    """The arrays of a call, if they are NumPy's or of one tape; `kinds`: the classes of traced.

    Numbers are among them if the rule may have all arguments, and None, which stands for one that
    is absent.
    """
    count = rule.leading_arrays
    if rule.sequence:
        arrays, rest = args[0], args[1:]
        if type(arrays) is not list and type(arrays) is not tuple:
            return None
    elif count != ALL:
        if len(args) < count:
            return None
        arrays, rest = args[:count], args[count:]
    elif kwargs:
        arrays, rest, kwargs = (*args, *kwargs.values()), tuple(kwargs), _NO_OTHERS
    else:
        arrays, rest = args, ()
    key: list[Any] = []
    raws, slots = [], []
    for array in arrays:
        kind = type(array)
        if kind is np.ndarray:
            raws.append(array)
            slots.append(-1)
            key.append(None)
            key.append(spec_of(array))
        elif kind in kinds and array.tape is tape:
            raw = array._value
            if type(raw) is not np.ndarray and (count != ALL or plan_spec(raw) is None):
                return None
            raws.append(raw)
            slot = array.slot
            slots.append(slot)
            key.append(slot is not ABSENT)
            key.append(array.spec)
        elif count == ALL:
            spec = NUMBER if kind is float else plan_spec(array)
            if spec is None and array is not None:
                return None
            raws.append(array)
            slots.append(-1)
            key.append(None)
            key.append(spec)
        else:
            return None
    return tuple(key), raws, slots, rest, kwargs


# Which of two arguments are traced.
BOTH, BY_X, BY_Y, NEITHER = (True, True), (True, False), (False, True), (False, False)


def learn_all(rule: Any, key: Any, call: Gathered, out: Value) -> CallPlanAll | None:
    """Remember, under a key, how to make a call of several arrays that has been made."""
    _, raws, slots, others, named = call
    wanted = tuple([slot != -1 for slot in slots])
    rest = tuple(map(_frozen, others))
    kwargs = {name: _frozen(value) for name, value in named.items()}
    if not are_plain((*rest, *kwargs.values())) or True not in wanted:
        return None
    if not is_plain(out):
        rule.calls_of_all[key] = None  # it is not asked for again
        return None
    if rule.primitive is not None:
        return _learn_primitive(rule, key, call, out)
    arrays = (raws,) if rule.sequence else raws
    _, params = rule.bind((*arrays, *rest), kwargs)
    made = plan_all(rule, key, tuple(map(spec_of, raws)), wanted, spec_of(out), params)
    if made is not None:
        made.given = as_given(others, named)
    return made


def _learn_primitive(rule: Any, key: Any, call: Gathered, out: Value) -> CallPlanAll | None:
    """The same of a call that comes to one of another rule, which is asked with their places."""
    _, raws, slots, names, _ = call
    places = [None if raw is None else at for at, raw in enumerate(raws)]
    count = len(places) - len(names)
    named = dict(zip(names, places[count:], strict=True))
    known = rule.calls_of_all
    known[key] = None
    found = rule.primitive(*places[:count], **named)
    if found is None or found[0].plan_all is None:
        return None
    target, takes, params = found
    specs: Any = tuple([plan_spec(raws[at]) for at in takes])
    traced = [slots[at] != -1 for at in takes]
    constant = target.fixed if True in traced[: target.fixed] else 0
    wanted = (*(False,) * constant, *traced[constant:])
    made = plan_all(target, key, specs, wanted, spec_of(out), params, known)
    if made is not None and tuple(takes) != tuple(range(len(raws))):
        made.takes = itemgetter(*takes)
    if made is not None:
        made.fixed = constant
    return made


def _plan_of(
    rule: Any, x: Spec, out: Spec, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> CallPlan | None:
    """The planned call, or None if the rule leaves it as it is."""
    if rule.primitive is not None:
        found = rule.primitive(x, *args[1:], **kwargs)
        if found is None:
            return None
        rule, _, params = found
    else:
        _, params = rule.bind(args, kwargs)
    kernels = None if rule.plan is None else rule.plan(x, out, **params)
    if kernels is not None:
        return plan_of_one(rule, kernels, out, params)
    kernels = from_rule(rule, x, out, params)
    if kernels is None:
        return None
    made = plan_of_one(rule, kernels, out, params)
    made.absorbs = rule.form == "general"
    return made


def from_rule(rule: Any, x: Spec, out: Spec, params: Any) -> Kernels | None:
    """The kernels of a call with one array that are the rule's own functions."""
    found = one_from_rule(rule, x, out, params)
    return None if found is None else Kernels(*found)


def plan_of_one(rule: Any, kernels: Kernels, out: Spec, params: Any) -> CallPlan:
    """A planned call of an array with these kernels."""
    found = CallPlan(params)
    (keeps,), found.keeps_out = rule.needed((True,))
    found.keeps_x, found.rule, found.spec, found.given = bool(keeps), rule, out, None
    found.holds = bool(keeps or found.keeps_out)
    found.run, found.pull, found.push, view, found.add = kernels
    found.view, found.absorbs = rule.view or view, False
    return found


def plan_all(
    rule: Any,
    key: Any,
    specs: tuple[Spec, ...],
    wanted: tuple[bool, ...],
    out: Spec,
    params: Any,
    known: dict[Any, Any] | None = None,
) -> CallPlanAll | None:
    """Remember, under a key, what a call with several arrays is planned as.

    `known`: what has come of the function that was called, if it is not the rule's own.
    """
    if known is None:
        known = rule.calls_of_all
        assert known is not None
    if len(known) >= _MOST:
        known.clear()
    numbers = NUMBER in specs and not rule.numbers
    none = numbers or True not in wanted  # traced constants: nothing is pulled to them
    kernels = None
    if not none:
        if rule.plan_all is not None:
            kernels = rule.plan_all(specs, out, wanted, **params)
        if kernels is None:
            made = several_from_rule(rule, specs, wanted, out, params)
            kernels = made and KernelsAll(*made)
    found = None
    if kernels is not None:
        found = plan_of_several(rule, kernels, specs, wanted, out, params)
    known[key] = found
    return found


def plan_of_several(
    rule: Any,
    kernels: KernelsAll,
    specs: tuple[Spec, ...],
    wanted: tuple[bool, ...],
    out: Spec,
    params: Any,
) -> CallPlanAll:
    """A planned call of several arrays with these kernels."""
    found = CallPlanAll(params)
    keeps, found.keeps_out = rule.needed(wanted)
    found.keeps, found.given = tuple(map(bool, keeps)), None
    found.holds = bool(found.keeps_out or True in found.keeps or kernels.keep is not None)
    found.spec, found.specs, found.rule = out, specs, rule
    arrays = [at for at, spec in enumerate(specs) if spec is not NUMBER]
    found.constants = tuple(at for at in arrays if keeps[at] and not wanted[at])
    found.unread = tuple(at for at in arrays if not keeps[at])
    found.pull, found.push, found.keep = kernels.pull, kernels.push, kernels.keep
    found.strong = kernels.strong or (kernels.pull if rule.strong else None)
    found.run, found.takes, found.fixed = kernels.run or _run_of(rule, params), None, 0
    return found


def _run_of(rule: Any, params: Any) -> Callable[..., Any]:
    """The call of a rule's function, of the arrays."""
    if rule.sequence:
        return lambda *given: rule.call(given, params)
    return partial(rule.implementation, **params) if params else rule.implementation


def placed(shape: tuple[int, ...], index: Index, g: Cotangent) -> Cotangent:
    """The cotangent of an array that was read at an index: zeros elsewhere, and sums."""
    bar = np.zeros(shape, g.dtype, like=g if isinstance(g, np.ndarray) else None)
    if selects_once(index):
        bar[index] = g
        return bar
    return put_at(bar, index, g)


__all__ = [
    "ABSENT",
    "ALL",
    "BOTH",
    "BY_X",
    "BY_Y",
    "NEITHER",
    "NEW",
    "NUMBER",
    "CallPlan",
    "CallPlanAll",
    "Gathered",
    "Kernels",
    "KernelsAll",
    "Spec",
    "are_plain",
    "as_given",
    "from_rule",
    "gather",
    "is_given",
    "is_plain",
    "key_of",
    "learn",
    "learn_all",
    "placed",
    "plan_all",
    "plan_of_one",
    "plan_of_several",
    "plan_spec",
]
