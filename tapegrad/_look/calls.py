"""Calls on traced and batched arrays, told to who watches them.

Knows by which attributes of which classes a program's calls arrive. Must not know what the
watchers do. Where nobody watches, nothing of this is in place, and nothing is paid.

Only the outermost call is told: np.var, and not the sums of which it is made. What a user's own
function does within a call (of `custom_vjp`, `checkpoint`) belongs to that call.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

from tapegrad._arrays.traced import Array, Elements, Number
from tapegrad._batched.array import Batched, BatchedNumber
from tapegrad._block import contextmanager, undoing
from tapegrad._core.rule import rule_of
from tapegrad._errors import name_of
from tapegrad._profile.switch import Place, Switch
from tapegrad._transforms.checkpoint import _CheckpointedCall
from tapegrad._transforms.custom import _Custom
from tapegrad._transforms.primitives import primitive
from tapegrad._transforms.sequence import _Sequence

Function = Callable[..., Any]


class Watcher(Protocol):
    """Watcher of calls, each in the thread that makes it."""

    def begin(self, name: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """A call begins; `name(*args)` is the operation as users write it: np.sin."""

    def end(self, result: Any, error: BaseException | None) -> None:
        """The call that began last in this thread has ended, by a result or an error."""


_ARITHMETIC = (
    "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift divmod neg pos abs "
    "invert lt le eq ne gt ge"
).split()
READ, WRITE = "x[...]", "x[...] ="
_IN_PLACE = frozenset(f"__i{name}__" for name in _ARITHMETIC)
_OPERATORS = [f"__{side}{name}__" for name in _ARITHMETIC for side in ("", "r", "i")]
_SIGNS = {
    "truediv": "divide",
    "sub": "subtract",
    "mul": "multiply",
    "pow": "power",
    "mod": "remainder",
    "neg": "negative",
    "pos": "positive",
    "abs": "absolute",
    "floordiv": "floor_divide",
    "lt": "less",
    "le": "less_equal",
    "eq": "equal",
    "ne": "not_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "left_shift",
    "rshift": "right_shift",
}

_OPEN = threading.local()  # `inside`: whether this thread is within a call that was told
_WATCHERS: dict[object, Watcher] = {}  # by their blocks
_LOCK = threading.RLock()


def _told(function: Function, name: Function) -> Function:
    """A function that tells the watchers of its outermost calls."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if getattr(_OPEN, "inside", False):
            return function(*args, **kwargs)
        begun: list[Watcher] = []
        result, failed = None, None
        try:
            _OPEN.inside = True
            for watcher in tuple(_WATCHERS.values()):
                watcher.begin(name, args, kwargs)
                begun.append(watcher)
            result = function(*args, **kwargs)
        except BaseException as error:
            failed = error
            raise
        finally:
            _OPEN.inside = False
            while begun:
                begun.pop().end(result, failed)
        return result

    return call


def _operator_name(method: str) -> str:
    bare = method.strip("_")
    if bare not in _ARITHMETIC:
        bare = bare[1:]
    return f"np.{_SIGNS.get(bare, bare)}"


class _Named:
    """The name of what an attribute does, whatever it is given."""

    def __init__(self, name: str, *, writes: bool = False) -> None:
        self.name, self.writes = name, writes

    def __call__(self, *_args: Any) -> str:
        return self.name


class _Power(_Named):
    """The name of `x ** y`: squares have a rule of their own, as the tape says."""

    def __call__(self, *args: Any) -> str:
        return "np.square" if type(args[1]) is int and args[1] == 2 else self.name


def _of_ufunc(_x: Any, ufunc: Any, method: str, *_args: Any) -> str:
    rule = rule_of(ufunc)
    name = f"np.{ufunc.__name__}" if rule is None else rule.name
    return name if method == "__call__" else f"{name}.{method}"


def _of_function(_x: Any, function: Function, *_args: Any) -> str:
    rule = rule_of(function)
    return name_of(function) if rule is None else rule.name


def _of_own(call: Any, *_args: Any) -> str:
    return name_of(getattr(call, "function", call))


class Given(NamedTuple):
    """Arguments of a call, as users write it."""

    read: list[Any]  # the arguments; those in `written` too, if what they held counts
    written: Any = None  # what the call writes to, if it does: y of y += 1, out=y, y[0] = 1


def given_to(name: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Given:
    """Arguments of the call that a watcher is told of: see `Watcher.begin`."""
    if name is _of_ufunc:  # (self, ufunc, method, *args)
        read, written = list(args[3:]), args[3] if args[2] == "at" else None
    elif name is _of_function:  # (self, function, types, args, kwargs)
        read, kwargs, written = list(args[3]), args[4], None
    else:
        read = list(args)
        written = args[0] if isinstance(name, _Named) and name.writes else None
    out = kwargs.get("out")
    filled = out is not None and kwargs.get("where", True) is True  # what it held is lost
    read += [kwargs[key] for key in kwargs if key != "out" or not filled]
    return Given(read, written if out is None else out)


def places(wrap: Callable[[Function, Function], Function]) -> Iterator[Place]:
    """The functions by which calls arrive: `wrap(function, name)`, see `Watcher.begin`."""
    for kind in (Array, Elements, Number, Batched, BatchedNumber):
        found: dict[str, Function] = {
            "__array_ufunc__": _of_ufunc,
            "__array_function__": _of_function,
            "__getitem__": _Named(READ),
            "__setitem__": _Named(WRITE, writes=True),
            "astype": _Named("astype"),
        }
        found |= {
            method: (_Power if method in ("__pow__", "__ipow__") else _Named)(
                _operator_name(method), writes=method in _IN_PLACE
            )
            for method in _OPERATORS
        }
        for attribute, name in found.items():
            held = vars(kind).get(attribute)
            if held is not None:
                yield Place(kind, attribute, wrap(held, name))
    for owner, attribute, name in (
        (primitive, "__call__", _of_own),
        (_Custom, "__call__", _of_own),
        (_CheckpointedCall, "run", _Named("checkpoint")),
        (_Sequence, "run", _Named("checkpoint_sequence")),
    ):
        yield Place(owner, attribute, wrap(vars(owner)[attribute], name))


_SWITCH = Switch()


@contextmanager
def watched(watcher: Watcher) -> Iterator[None]:
    """Tell `watcher` of the calls of all threads within the block. Blocks may be nested."""
    block = object()

    def leave() -> None:
        with _LOCK:
            _WATCHERS.pop(block, None)
            if not _WATCHERS:
                _SWITCH.restore()

    with undoing(leave):
        with _LOCK:
            if not _WATCHERS:
                _SWITCH.put(places(_told))
            _WATCHERS[block] = watcher
        yield


__all__ = ["READ", "WRITE", "Given", "Watcher", "given_to", "places", "watched"]
