"""Calls that are planned: what shapes and parameters decide is decided once.

Most calls of a program come again: the same function, of arrays of the same shapes and dtypes,
with the same parameters. A rule may be declared with `plan=`, a function that gives for such a
call what to do with NumPy's own arrays: how to compute the result, the cotangents and the tangent,
with no parameter to look at and no shape to compare. The functions of the rule itself remain the
definition: they serve every other call, arrays of other libraries, batched and traced values, and
a test compares the two.

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
from tapegrad._core.fit import zeros_absorbing
from tapegrad._core.rule import ALL
from tapegrad._core.scatter import put_at, selects_once
from tapegrad._core.types import Cotangent, Index, Value


class Kernels(NamedTuple):
    """Result of `plan=`: the kernels of a call with NumPy's arrays of these shapes and dtypes.

    A rule of one array has a single cotangent and a single tangent, others a sequence of each.
    """

    run: Callable[..., Any] | None  # the result, of the arrays; None: as the rule calls it
    # From (g, out, *arrays): of the arrays' shapes and dtypes; None for one that is not wanted.
    pull: Callable[..., Any]
    # From (dots, out, *arrays), by ordinary products: where one makes a NaN, the rule is asked.
    push: Callable[..., Any] | None = None
    view: bool = False  # whether the result may be a view, also if the rule says nothing of views
    # From (bar, g): adds what a single `pull` gives to a cotangent, if it touches few elements.
    add: Callable[[Cotangent, Cotangent], None] | None = None
    # `pull` where a zero cotangent absorbs an infinite partial. With several arrays it is asked
    # where `pull` gives a cotangent that is not finite.
    strong: Callable[..., Any] | None = None
    # The result, and what `pull` gets after the arrays: what a call finds that its derivative
    # needs as well. The entry keeps it after the arrays, and whoever asks the rule drops it.
    keep: Callable[..., tuple[Any, Any]] | None = None


class CallPlan(dict[str, Any]):
    """The parameters of a planned call, as its entry holds them, with the kernels of the call."""

    __slots__ = (
        "add",
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
        "single",
        "spec",
        "specs",
        "strong",
        "takes",
        "unread",
        "view",
    )

    rule: Any
    single: bool  # whether `pull` gives, and `push` gets, one value in place of a sequence
    given: bytes | None  # the parameters as they were given, with their types
    spec: Spec  # of the result
    specs: tuple[Spec, ...]  # of the arrays
    keeps: tuple[bool, ...]  # which arrays the derivatives read
    constants: tuple[int, ...]  # which arrays are not traced, and read by the derivatives
    unread: tuple[int, ...]  # which arrays no derivative reads
    fixed: int  # how many arrays come first that may be traced, and are constants still
    keeps_out: bool
    holds: bool  # whether an entry holds arrays
    view: bool | str  # as of the rule
    run: Callable[..., Any]
    pull: Callable[..., Any]
    push: Callable[..., Any] | None
    add: Callable[[Cotangent, Cotangent], None] | None
    strong: Callable[..., Any] | None
    keep: Callable[..., tuple[Any, Any]] | None
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


def learn(rule: Any, key: Any, call: Gathered, out: Value) -> CallPlan | None:
    """Remember, under a key, how to make a call that has been made."""
    _, raws, slots, others, named = call
    rest = tuple(map(_frozen, others))
    kwargs = {name: _frozen(value) for name, value in named.items()}
    if not are_plain((*rest, *kwargs.values())):
        return None
    wanted = tuple([slot != -1 for slot in slots])
    if rule.plans_one:
        wanted = (True,)
    elif True not in wanted:
        return None
    if rule.primitive is not None and not rule.plans_one and is_plain(out):
        return _learn_primitive(rule, key, call, out)
    found = _bound(rule, raws, rest, kwargs) if is_plain(out) else None
    plan = None
    if found is not None:
        target, params = found
        plan = plan_of(target, tuple(map(spec_of, raws)), wanted, spec_of(out), params)
    if plan is not None:
        plan.given = as_given(others, named)
    return remember(rule.calls, key, plan)


def _bound(
    rule: Any, raws: list[Any], rest: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, dict[str, Any]] | None:
    """The rule that a call comes to, and its parameters; None for a call that is not planned."""
    if rule.primitive is not None:
        found = rule.primitive(spec_of(raws[0]), *rest, **kwargs)
        return found and (found[0], found[2])
    arrays, params = rule.bind((*((raws,) if rule.sequence else raws), *rest), kwargs)
    if any(array is not None for array in arrays[len(raws) :]):
        return None  # a number in the place of another array, as np.var's mean
    params.pop("out", None)  # which is None
    return rule, params


def remember(calls: dict[Any, Any], key: Any, plan: CallPlan | None) -> CallPlan | None:
    """Remember what a call is planned as; None: it is left as it is."""
    if len(calls) >= _MOST:
        calls.clear()
    calls[key] = plan
    return plan


def _learn_primitive(rule: Any, key: Any, call: Gathered, out: Value) -> CallPlan | None:
    """The same of a call that comes to one of another rule, which is asked with their places."""
    _, raws, slots, names, _ = call
    places = [None if raw is None else at for at, raw in enumerate(raws)]
    count = len(places) - len(names)
    named = dict(zip(names, places[count:], strict=True))
    found = rule.primitive(*places[:count], **named)
    if found is None or found[0].plan is None:
        return remember(rule.calls, key, None)
    target, takes, params = found
    specs: Any = tuple([plan_spec(raws[at]) for at in takes])
    traced = [slots[at] != -1 for at in takes]
    constant = target.fixed if True in traced[: target.fixed] else 0
    wanted = (*(False,) * constant, *traced[constant:])
    plan = plan_of(target, specs, wanted, spec_of(out), params)
    if plan is not None:
        plan.fixed = constant
        if tuple(takes) != tuple(range(len(raws))):
            plan.takes = itemgetter(*takes)
    return remember(rule.calls, key, plan)


def plan_of(
    rule: Any, specs: tuple[Spec, ...], wanted: tuple[bool, ...], out: Spec, params: Any
) -> CallPlan | None:
    """The planned call of a rule, or None if the rule leaves it as it is."""
    single = rule.plans_one
    if not single and (True not in wanted or NUMBER in specs and not rule.numbers):
        return None  # of traced constants, to which nothing is pulled
    kernels = own_kernels(rule, specs, wanted, out, params)
    if kernels is None and single:
        kernels = from_rule(rule, specs[0], out, params)
    elif kernels is None:
        found = several_from_rule(rule, specs, wanted, out, params)
        kernels = found and Kernels(None, *found)
    if kernels is None:
        return None
    return planned(rule, kernels, specs, wanted, out, params, single=single)


def own_kernels(
    rule: Any, specs: tuple[Any, ...], wanted: tuple[bool, ...], out: Any, params: Any
) -> Kernels | None:
    """Kernels that a rule declares for a call by `plan=`; None where it leaves the call."""
    if rule.plan is None:
        return None
    if not rule.plans_one:
        found: Kernels | None = rule.plan(specs, out, wanted, **params)
        return found
    return rule.plan(specs[0], out, **params) if len(specs) == 1 else None


def from_rule(rule: Any, x: Spec, out: Spec, params: Any) -> Kernels | None:
    """The kernels of a call with one array that are the rule's own functions."""
    found = one_from_rule(rule, x, out, params)
    if found is None:
        return None
    pull = found[1]
    return Kernels(*found, strong=_absorbing(pull) if rule.form == "general" else None)


def _absorbing(pull: Callable[..., Any]) -> Callable[..., Any]:
    """The pull of a rule whose functions may ask if zeros absorb."""

    def strong(*call: Any) -> Any:
        with zeros_absorbing():
            return pull(*call)

    return strong


def planned(
    rule: Any,
    kernels: Kernels,
    specs: tuple[Spec, ...],
    wanted: tuple[bool, ...],
    out: Spec,
    params: Any,
    *,
    single: bool = False,
) -> CallPlan:
    """A planned call with these kernels."""
    plan = CallPlan(params)
    keeps, plan.keeps_out = rule.needed(wanted)
    plan.keeps, plan.given, plan.single = tuple(map(bool, keeps)), None, single
    plan.holds = bool(plan.keeps_out or True in plan.keeps or kernels.keep is not None)
    plan.spec, plan.specs, plan.rule = out, specs, rule
    arrays = [at for at, spec in enumerate(specs) if spec is not NUMBER]
    plan.constants = tuple(at for at in arrays if keeps[at] and not wanted[at])
    plan.unread = tuple(at for at in arrays if not keeps[at])
    run, plan.pull, plan.push, view, plan.add, plan.strong, plan.keep = kernels
    if plan.strong is None and rule.strong and not single:
        plan.strong = plan.pull
    plan.view = rule.view or view
    plan.run, plan.takes, plan.fixed = run or _run_of(rule, params), None, 0
    return plan


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
    "Gathered",
    "Kernels",
    "Spec",
    "are_plain",
    "as_given",
    "from_rule",
    "gather",
    "is_given",
    "is_plain",
    "key_of",
    "learn",
    "own_kernels",
    "placed",
    "plan_of",
    "plan_spec",
    "planned",
    "remember",
]
