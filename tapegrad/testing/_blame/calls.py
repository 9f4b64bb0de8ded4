"""The calls that a program makes on traced values, at every level, with what each was given.

Knows by which attributes of which classes calls arrive, and which entries they log. Must not know
what is asked of a call later. Where nobody watches, nothing of this is in place.
"""

from __future__ import annotations

import functools
import operator
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tapegrad._arrays.traced import Array
from tapegrad._batched.array import Batched
from tapegrad._block import contextmanager
from tapegrad._compile.calls import Calls
from tapegrad._core.composite import Composite
from tapegrad._core.entry import Entry, parents_of
from tapegrad._core.replay import SparseBars, replay_backward
from tapegrad._core.rule import Rule, rule_of
from tapegrad._core.types import Cotangent
from tapegrad._core.values import Mapped, Traced
from tapegrad._errors import name_of
from tapegrad._look import replays
from tapegrad._look.calls import _ARITHMETIC, _operator_name
from tapegrad._look.forward_lines import _REPLAYS
from tapegrad._look.lines import Site, Sites
from tapegrad._look.nan_search import _run_all_steps, _run_once
from tapegrad._profile.switch import Place, Switch
from tapegrad._transforms.checkpoint import _CheckpointedCall
from tapegrad._transforms.custom import CustomCall, _Custom
from tapegrad._transforms.primitives import primitive
from tapegrad._transforms.sequence import _Sequence
from tapegrad._tree import flatten
from tapegrad.testing._blame.redone import Apply, OpaqueError, Redone, is_followed

Function = Callable[..., Any]
# The operation as users write it, and how it is made again, with its arguments.
Taken = tuple[str, Apply, tuple[Any, ...], dict[str, Any]]

# Functions whose results say nothing: memory as it was found.
UNINITIALISED: frozenset[Any] = frozenset((np.empty, np.empty_like))


class Call:
    """A call of the program: what it was given, its entries, and the calls of which it is made."""

    redone: Redone | None = None  # None: it cannot be made again by itself
    ran: Ran | None = None  # its entries, if they are all that it did
    own = False  # whether it was made where `Watch.own` says so

    def __init__(self, operation: str, site: int) -> None:
        self.operation, self.site = operation, site
        self.calls: list[Call] = []
        self.count = 0  # of results
        self.inner = False  # an operation of the user's own, in a transform within f
        self.registered = True  # whether the operation is one of the registry's


class Ran:
    """The entries of a call as they were logged: their replay gives the cotangents as it would."""

    def __init__(self, entries: list[Entry], given: list[int], results: list[int | None]) -> None:
        self.entries, self.given, self.results = entries, given, results

    def is_whole(self) -> bool:
        """Whether the entries depend on what was given alone."""
        made = {entry[0] for entry in self.entries} | {-1, *self.given}
        return all(slot in made for entry in self.entries for slot in parents_of(entry))

    def pull(self, bars: Sequence[Cotangent]) -> list[Cotangent]:
        """The cotangents of what was given; None for zeros."""
        table = SparseBars(0)
        for slot, bar in zip(self.results, bars, strict=True):
            if slot is not None and slot != -1:
                before = table[slot]
                table[slot] = bar if before is None else before + bar
        replay_backward(reversed(self.entries), table)
        return [table[slot] for slot in self.given]


class Watch:
    """The calls of one run, in one thread."""

    def __init__(self) -> None:
        self.sites = Sites(sys._getframe(2))
        self.calls: list[Call] = []
        self.open: list[Call] = []
        self.is_own = False
        self.outermost = 0  # the level of the tape of the inputs
        self._begun: list[tuple[Any, int, list[Any]]] = []  # of open calls
        self._site_of: dict[int, int] = {}  # by the id of an entry
        self._entries: list[Any] = []  # keeps them alive, and so their ids
        self._forward: list[int | None] = [None]

    def site(self, call: Call) -> Site:
        """The user's frames that made a call, innermost first."""
        return self.sites.sites()[call.site] if call.site >= 0 else ()

    @contextmanager
    def as_own(self) -> Iterator[None]:
        """Calls within the block are marked as `own`."""
        try:
            self.is_own = True
            yield
        finally:
            self.is_own = False

    def begin(self, taken: Taken) -> Call:
        """A call begins."""
        operation, apply, args, kwargs = taken
        number = self.sites.within(sys._getframe(2), _REPLAYS, self._forward[-1])
        call = Call(operation, number)
        call.own = self.is_own
        tape, start, slots = None, 0, []
        try:
            call.redone = Redone(apply, args, kwargs)
            given = call.redone.variables
            slots = [_slot_of(x) for x in given]
            if all(isinstance(x, Traced) for x in given):
                tape = max((x.tape for x in given), key=lambda tape: tape.level)
                start = len(tape.entries)
        except OpaqueError:
            pass
        (self.open[-1].calls if self.open else self.calls).append(call)
        self.open.append(call)
        self._begun.append((tape, start, slots))
        return call

    def end(self, call: Call, result: Any, *, failed: bool = False) -> None:
        """The call that began last has ended."""
        self.open.pop()
        tape, start, slots = self._begun.pop()
        redone = call.redone
        if failed or result is NotImplemented or redone is None:
            call.redone = None
            return
        try:
            redone.written = [
                at for at, x in enumerate(redone.variables) if _slot_of(x) is not slots[at]
            ]
            results = redone.results(result, redone.variables)
            call.count = len(results)
        except Exception:  # noqa: BLE001 - a result of another kind
            call.redone = None
            return
        if tape is None or redone.levels or not all(type(slot) is int for slot in slots):
            return
        entries = tape.entries[start:]
        for entry in entries:
            self._site_of.setdefault(id(entry), call.site)
        self._entries.append(entries)
        root = tape.root
        same = all(x.tape.root is root for x in redone.variables)
        if same and all(is_raw(x._value) for x in redone.variables):
            ran = Ran(entries, slots, [_slot_on(x, root) for x in results])
            call.ran = ran if ran.is_whole() else None

    # The messages of replays.

    def before(self, entry: Entry, _cotangent: Cotangent, _bars: Any) -> None:
        if getattr(_LOCAL, "watch", None) is self:
            self._forward.append(self._site_of.get(id(entry), self._forward[-1]))

    def after(self, _entry: Entry, _cotangent: Cotangent, _bars: Any) -> None:
        self.left(_entry)

    def left(self, _entry: Entry) -> None:
        if getattr(_LOCAL, "watch", None) is self and len(self._forward) > 1:
            self._forward.pop()


def is_raw(value: Any) -> bool:
    """Whether a value is one of NumPy's own."""
    return type(value) is np.ndarray or isinstance(value, np.generic)


def level_of(x: Any) -> int:
    """The level of the innermost transform that traces a value."""
    while isinstance(x, Mapped):
        x = x._value
    level: int = x.tape.level if isinstance(x, Traced) else 0
    return level


def _slot_of(x: Any) -> Any:
    while not isinstance(x, Traced):
        x = x._value
    return x.slot


def _slot_on(x: Any, root: Any) -> int | None:
    if isinstance(x, Traced) and x.tape.root is root:
        slot: int = x.slot
        return slot
    return None


# --- Where calls arrive -------------------------------------------------------------------------


def _of_ufunc(_x: Any, ufunc: Any, method: str, *args: Any, **kwargs: Any) -> Taken | None:
    if "where" in kwargs and kwargs.get("out") is None:
        return None  # what is left out is not set
    rule = rule_of(ufunc)
    name = f"np.{ufunc.__name__}" if rule is None else rule.name
    operation = name if method == "__call__" else f"{name}.{method}"
    return operation, lambda args, kw: getattr(ufunc, method)(*args, **kw), args, kwargs


def _of_function(
    _x: Any, function: Function, _types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Taken | None:
    if function in UNINITIALISED:
        return None
    rule = rule_of(function)
    operation = name_of(function) if rule is None else rule.name
    return operation, lambda args, kw: function(*args, **kw), args, kwargs


def _of_own(call: Any, *args: Any, **kwargs: Any) -> Taken:
    rule = rule_of(call)
    operation = name_of(call.function) if rule is None else rule.name
    return operation, lambda args, kw: call(*args, **kw), args, kwargs


def _of_rule(rule: Rule, *args: Any, **kwargs: Any) -> Taken:
    return rule.name, lambda args, kw: rule.apply(*args, **dict(kw)), args, kwargs


def _of_bound(rule: Rule, arrays: list[Any], params: dict[str, Any]) -> Taken | None:
    if isinstance(rule, CustomCall):
        return None  # made for one call, of which it keeps residuals
    bound = tuple(arrays), dict(params)
    return rule.name, lambda args, kw: rule.apply_bound(list(args), dict(kw)), *bound


def _of_read(x: Any, index: Any) -> Taken:
    return "x[...]", lambda args, _: args[0][args[1]], (x, index), {}


def _of_write(x: Any, index: Any, value: Any) -> Taken:
    def write(args: tuple[Any, ...], _: dict[str, Any]) -> None:
        args[0][args[1]] = args[2]

    return "x[...] =", write, (x, index, value), {}


def _of_astype(x: Any, *args: Any, **kwargs: Any) -> Taken:
    return "astype", lambda args, kw: args[0].astype(*args[1:], **kw), (x, *args), kwargs


def _of_operator(method: str) -> Callable[..., Taken]:
    """How a call of an operator's method is made again."""
    name, bare = _operator_name(method), method.strip("_")
    function: Any = divmod if bare.endswith("divmod") else getattr(operator, method, None)
    if function is None:  # __radd__
        plain: Any = getattr(operator, f"__{bare[1:]}__")
        return lambda x, y: (name, lambda args, _: plain(*args), (y, x), {})
    if function is divmod and bare.startswith("r"):
        return lambda x, y: (name, lambda args, _: function(*args), (y, x), {})
    return lambda *args: (name, lambda args, _: function(*args), args, {})


_COMPARED = ("lt", "le", "gt", "ge", "eq", "ne")
_OPERATORS = [
    f"__{side}{name}__" for name in _ARITHMETIC if name not in _COMPARED for side in ("", "r", "i")
]


def _kinds(kind: type) -> Iterator[type]:
    yield kind
    subclasses: list[type] = type.__subclasses__(kind)
    for sub in subclasses:
        yield from _kinds(sub)


def _places() -> Iterator[Place]:
    methods: dict[str, Callable[..., Taken | None]] = {
        "__array_ufunc__": _of_ufunc,
        "__array_function__": _of_function,
        "__getitem__": _of_read,
        "__setitem__": _of_write,
        "astype": _of_astype,
    }
    for kind in (*_kinds(Array), *_kinds(Batched)):
        for name in (*methods, *_OPERATORS):
            held = vars(kind).get(name)
            if held is not None:
                yield Place(kind, name, _told(held, methods.get(name) or _of_operator(name)))
    for owner, name, take in (
        (primitive, "__call__", _of_own),
        (_Custom, "__call__", _of_own),
        (Rule, "apply", _of_rule),
        (Composite, "apply", _of_rule),
        (Rule, "apply_bound", _of_bound),
    ):
        yield Place(owner, name, _told(vars(owner)[name], take))
    # Compiled and checkpointed functions run as written, so that their calls are seen.
    yield Place(Calls, "__call__", lambda self, *args, **kwargs: self.f(*args, **kwargs))
    yield Place(_CheckpointedCall, "run", _run_once)
    yield Place(_Sequence, "run", _run_all_steps)


_LOCAL = threading.local()  # `watch`: that of this thread, while it does not look itself


def _told(function: Function, take: Callable[..., Taken | None]) -> Function:
    """A function whose calls on traced values are noted by the thread's watch."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        watch: Watch | None = getattr(_LOCAL, "watch", None)
        if watch is None:
            return function(*args, **kwargs)
        _LOCAL.watch = None
        try:
            taken = take(*args, **kwargs)
            if taken is not None and any(map(is_followed, flatten(taken[2:])[0])):
                now = watch.begin(taken)
                now.registered = take is not _of_own or isinstance(args[0], primitive)
                if take is _of_own and now.redone is not None:
                    deepest = max(map(level_of, now.redone.variables))
                    now.inner = deepest > watch.outermost > 0
            else:
                now = None
        finally:
            _LOCAL.watch = watch
        if now is None:
            return function(*args, **kwargs)
        result, failed = None, True
        try:
            result = function(*args, **kwargs)
            failed = False
        finally:
            _LOCAL.watch = None
            try:
                watch.end(now, result, failed=failed)
            finally:
                _LOCAL.watch = watch
        return result

    return call


_LOCK = threading.RLock()


@contextmanager
def watched(watch: Watch) -> Iterator[None]:
    """Note the calls that this thread makes within the block."""
    before = getattr(_LOCAL, "watch", None)
    with _LOCK, Switch().holding_places(_places), replays.watched(watch):
        try:
            _LOCAL.watch = watch
            yield
        finally:
            _LOCAL.watch = before


@contextmanager
def unwatched() -> Iterator[None]:
    """Note nothing that this thread does within the block."""
    before = getattr(_LOCAL, "watch", None)
    try:
        _LOCAL.watch = None
        yield
    finally:
        _LOCAL.watch = before


__all__ = ["Call", "Ran", "Watch", "level_of", "unwatched", "watched"]
