"""Objects of Python's own library: which of them hold what a program may read, and how it is seen.

Knows how the state of such an object is read, and which objects give another value each time that
they are asked, so that their state is not read without changing it. Must not know functions, nor
programs.
"""

from __future__ import annotations

import functools
import gc
import io
import operator
import os
import sys
import threading
import types
import weakref
from collections.abc import Callable
from typing import Any

# Modules and classes whose objects hold what a program has put there as attributes.
HOLDING = (
    "_weakrefset.",
    "argparse.",
    "collections.",
    "configparser.",
    "multiprocessing.sharedctypes.",
    "types.",
    "weakref.",
)
# Objects that other threads set, and for which threads wait, and where they keep what was set.
_WAITED_FOR = {
    "concurrent.futures._base.Future": ("_state", "_result", "_exception"),
    "threading.Event": ("_flag",),
}
# By these methods an object of Python's own library gives, or fetches, another value each time.
_ASKED = ("get", "recv", "send", "asend", "fetchone", "execute", "decompress")
_VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))
# Functions by which code reads the environment, or finds loggers.
ENVIRONMENT = frozenset(("getenv", "getenvb", "expandvars", "expanduser"))
DECIMALS = ("decimal", "_decimal")

Read = Callable[[], list[Any]]
Write = Callable[[list[Any]], None]
_LEVEL = operator.attrgetter("level")
_MODULES = sys.stdlib_module_names - {"__main__"}


def is_standard(module: str) -> bool:
    """Whether a module is of Python's own library."""
    return module.partition(".")[0] in _MODULES


def is_fixed(value: Any) -> bool:
    """Whether a value has its hash by what it holds, which then does not change."""
    by_value: Any = type(value).__hash__
    return by_value is not None and by_value is not object.__hash__


def holds_memory(value: Any) -> bool:
    """Whether a value is memory of its own that ctypes has made."""
    types_of_c: Any = sys.modules.get("_ctypes")
    if types_of_c is None:
        return False
    kinds = (types_of_c._SimpleCData, types_of_c.Structure, types_of_c.Union, types_of_c.Array)
    return isinstance(value, kinds)


def state_of(value: Any) -> tuple[Read, Write | None] | None:
    """How the state of an object is read, and put back, that is no attribute of it.

    None for other objects, and where nothing is to be put back.
    """
    kind = type(value)
    if issubclass(kind, threading.local):
        return (lambda: _items(value.__dict__)), (lambda was: _refill(value.__dict__, was))
    waited_for = _WAITED_FOR.get(f"{_module_of(kind)}.{kind.__qualname__}")
    if waited_for is not None:  # what other threads did is not undone
        return (lambda: [getattr(value, name) for name in waited_for]), None
    if value is os.environ or value is getattr(os, "environb", None):
        around = _Environment()
        return around, around.put_back
    if issubclass(kind, _VIEWS):
        return (lambda: list(value)), None
    if kind is functools._lru_cache_wrapper:
        return Cache(value), None
    if _module_of(kind) in DECIMALS and kind.__name__ == "Context":
        return functools.partial(_of_decimals, lambda: value), None
    logging: Any = sys.modules.get("logging")
    if logging is not None and issubclass(kind, logging.Logger):
        return _of_logger(value), None
    return None


def _items(held: dict[Any, Any]) -> list[Any]:
    return [*held.keys(), *held.values()]


def _refill(held: dict[Any, Any], was: list[Any]) -> None:
    half = len(was) // 2
    held.clear()
    held.update(zip(was[:half], was[half:], strict=True))


class _Environment:
    """Which of the environments seen so far there is: comparing it costs less than reading it."""

    def __init__(self) -> None:
        self.held: dict[Any, Any] = os.environ._data  # type: ignore[attr-defined]
        self.seen = [self.held.copy()]
        self.now = 0

    def __call__(self) -> list[Any]:
        if self.held != self.seen[self.now]:
            if self.held not in self.seen:
                self.seen.append(self.held.copy())
            self.now = self.seen.index(self.held)
        return [self.now]

    def put_back(self, was: list[Any]) -> None:
        """Set it by its own mapping, which tells the system."""
        around: Any = os.environ
        before = self.seen[was[0]]
        for key in self.held.keys() - before.keys():
            del around[around.decodekey(key)]
        for key, value in before.items():
            if self.held.get(key) != value:
                around[around.decodekey(key)] = around.decodevalue(value)


def context_of_decimals() -> list[Any]:
    """Context of the arithmetic of decimal numbers."""
    return _of_decimals(sys.modules["decimal"].getcontext)


def _of_decimals(context: Callable[[], Any]) -> list[Any]:
    c = context()
    return [c.prec, c.rounding, c.Emin, c.Emax, c.clamp, c.capitals, *c.traps.values()]


def _of_logger(logger: Any) -> Read:
    """The levels by which a logger decides."""
    chain = [logger]
    while chain[-1].parent is not None:
        chain.append(chain[-1].parent)
    manager = logger.manager
    return lambda: [manager.disable, logger.disabled, *map(_LEVEL, chain)]


class Cache:
    """How often a cache has been cleared: then it counts its calls from zero again."""

    def __init__(self, cache: Any) -> None:
        self.cache = cache
        self.counts = (0, 0)
        self.times = 0

    def __call__(self) -> list[Any]:
        hits, misses, *_ = self.cache.cache_info()
        if hits < self.counts[0] or misses < self.counts[1]:
            self.times += 1
        self.counts = (hits, misses)
        return [self.times]

    def filled(self) -> int:
        """How often it has been filled since it was cleared."""
        misses: int = self.cache.cache_info().misses
        return misses

    def values(self) -> list[Any]:
        """What it holds."""
        held = gc.get_referents(self.cache)
        return [*held, *[x for table in held if type(table) is dict for x in table.values()]]

    def empty(self) -> None:
        """Clear it, which is no change."""
        self.cache.cache_clear()
        self.counts = (0, 0)


def loggers(names: set[str]) -> list[Any]:
    """The loggers of such names, and their root."""
    logging: Any = sys.modules["logging"]
    known = logging.root.manager.loggerDict
    found = [known[name] for name in names if name in known]
    return [logging.root, *[x for x in found if isinstance(x, logging.Logger)]]


def count_of_loggers() -> list[Any]:
    """How many there are: one that a call makes is looked at in the next."""
    logging: Any = sys.modules["logging"]
    return [len(logging.root.manager.loggerDict)]


def is_spent(value: Any, *, holding: bool = False) -> bool:
    """Whether an object gives another value each time, and nothing of it is read without that.

    Iterators, generators, files that can be read, queues, connections. Iterators whose class a
    program writes in Python are not: they keep their place in attributes. `holding`: whether what
    the object holds is looked at.
    """
    kind = type(value)
    streams = (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__)  # which may be files
    if issubclass(kind, weakref.ProxyTypes) or any(value is stream for stream in streams):
        return False
    standard = is_standard(_module_of(kind)) and not holding
    if issubclass(kind, io.IOBase):
        try:
            return standard and bool(value.readable())
        except ValueError:  # closed
            return False
    following = getattr(kind, "__next__", None)
    if following is not None:
        return standard or type(following) is not types.FunctionType
    if not standard or issubclass(kind, type):
        return False
    return any(callable(getattr(kind, name, None)) for name in _ASKED)


def _module_of(kind: Any) -> str:
    name = getattr(kind, "__module__", None)
    return name if type(name) is str else "builtins"


__all__ = [
    "DECIMALS",
    "ENVIRONMENT",
    "HOLDING",
    "Cache",
    "Read",
    "Write",
    "context_of_decimals",
    "count_of_loggers",
    "holds_memory",
    "is_fixed",
    "is_spent",
    "is_standard",
    "loggers",
    "state_of",
]
