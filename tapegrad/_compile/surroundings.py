"""What a function reaches from outside: closures, globals, defaults, attributes that it names.

Knows where Python keeps what a function refers to. Must not know programs.

A program holds what its function found outside when it was recorded. So each call looks at these
places again: numbers, strings and other objects must be the same, arrays must hold the same
elements; else the call belongs to another program.
"""

from __future__ import annotations

import collections
import functools
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np

from tapegrad._compile.holders import FOLLOWED
from tapegrad._core.types import Function
from tapegrad._transforms.wrapper import Transformed

# Packages whose functions hold nothing of a program's own.
_LIBRARIES = frozenset(("numpy", "tapegrad", "scipy", "autograd", "torch", "jax"))
_PLAIN = (bool, int, float, complex, str, bytes, type(None))
_DEEPEST = 12
_MOST = 4096  # places, beyond which a function is not followed

# How a place is read: a function without arguments that returns what is there now.
Place = Callable[[], Any]


class Missing:
    """Stands for a name that is not bound."""


class Surroundings:
    """The places from which a function may read what is not an argument."""

    def __init__(self, f: Function) -> None:
        self.f = f
        self.places: list[Place] | None = None  # found at the first call
        self.held: list[Any] = []  # what was found there then
        self.copies: list[Any] = []  # arrays of it, as they were then
        self.found: list[tuple[Place, Any, Any]] = []  # all these, of one place each
        self.changes = 0

    def version(self) -> int:
        """How often what is outside has changed: the same number if nothing has since."""
        if self.places is None:
            self._find()
        elif not self.are_same():
            self._find()
            self.changes += 1
        return self.changes

    def _find(self) -> None:
        found = search(self.f)
        self.places, self.held = found.places, found.held
        self.copies = [x.copy() if type(x) is np.ndarray else x for x in self.held]
        self.found = list(zip(self.places, self.held, self.copies, strict=True))

    def are_those(self, version: int) -> bool:
        """Whether what is outside is that of a version."""
        return version == self.changes and self.are_same()

    def are_same(self) -> bool:
        """Whether what is outside is what it was when it was found."""
        for place, held, copy in self.found:
            now = place()
            if now is not held and not _equal_plain(now, held):
                return False
            if type(copy) is _ARRAY and not _equal_arrays(now, copy):
                return False
        return True


_ARRAY = np.ndarray


def _equal_plain(a: Any, b: Any) -> bool:
    """Whether two numbers or strings are the same; of floats the bits count."""
    if type(a) is not type(b):
        return False
    if type(a) is np.ndarray:
        return True  # the elements are compared
    if isinstance(a, (float, complex)):
        return repr(a) == repr(b)
    return isinstance(a, (*_PLAIN, frozenset)) and bool(a == b)


def _equal_arrays(a: Any, b: Any) -> bool:
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.hasobject:
        return False
    same = a == b
    return bool(same.all()) or a.tobytes() == b.tobytes()  # nan differs from itself


def search(f: Function) -> _Search:
    """The places that a function reads, and what they hold."""
    found = _Search()
    found.follow(f, 0)
    return found


class _Search:
    """Finds the places that a function reads, through functions and objects that it names."""

    def __init__(self) -> None:
        self.places: list[Place] = []
        self.held: list[Any] = []
        self.known: set[int] = set()

    def follow(self, value: Any, depth: int) -> None:
        """Find the places inside a value: of a function, an object, a container."""
        if id(value) in self.known or depth > _DEEPEST or len(self.places) > _MOST:
            return
        if isinstance(value, (*_PLAIN, np.generic, np.ndarray, types.ModuleType)):
            return
        self.known.add(id(value))
        for kind, way in self._ways:
            if isinstance(value, kind):
                way(self, value, depth)
                return
        self._object(value, depth)

    def _transformed(self, value: Any, depth: int) -> None:
        _, f, options = value._made
        self.follow(f, depth + 1)
        for option in options.values():
            self.follow(option, depth + 1)

    def _partial(self, value: Any, depth: int) -> None:
        self.follow(value.func, depth + 1)
        self._at(lambda: value.args, depth)
        self._at(lambda: value.keywords, depth)

    def _method(self, value: Any, depth: int) -> None:
        self.follow(value.__self__, depth + 1)
        self.follow(value.__func__, depth + 1)

    def _dict(self, value: Any, depth: int) -> None:
        for name in list(value):
            self._at(functools.partial(_item, value, name), depth)
        self._place(functools.partial(len, value))

    def _list(self, value: Any, depth: int) -> None:
        for position in range(len(value)):
            self._at(functools.partial(_element, value, position), depth)
        self._place(functools.partial(len, value))

    def _set(self, value: Any, depth: int) -> None:
        self._place(functools.partial(frozenset, value))

    def _bytes(self, value: Any, depth: int) -> None:
        self._place(functools.partial(bytes, value))

    def _property(self, value: Any, depth: int) -> None:
        for function in (value.fget, value.fset):
            self.follow(function, depth + 1)

    def _class(self, value: Any, depth: int) -> None:
        if _of_library(value):
            return
        for name, part in list(vars(value).items()):
            if not name.startswith("__"):
                self._at(functools.partial(_item, vars(value), name), depth)
            elif isinstance(part, types.FunctionType):
                self.follow(part, depth + 1)

    def _object(self, value: Any, depth: int) -> None:
        for kind, places_of in FOLLOWED.items():
            if isinstance(value, kind):
                for place in places_of(value):
                    self._at(place, depth)
                self.follow(type(value), depth + 1)
                return
        if _of_library(type(value)):
            for name in ("function", "__wrapped__", "func"):
                wrapped = getattr(value, name, None)
                if callable(wrapped):  # a primitive, a custom function, a method of a class
                    self.follow(wrapped, depth + 1)
            return
        self.follow(type(value), depth + 1)
        names = list(getattr(value, "__dict__", ()))
        for kind in type(value).__mro__:
            slots = kind.__dict__.get("__slots__", ())
            names += [slots] if isinstance(slots, str) else list(slots)
        for name in names:
            self._at(functools.partial(_attribute, value, name), depth)

    def _function(self, f: Any, depth: int) -> None:
        if _of_library(f):
            return
        names = _names_in(f.__code__)
        for cell in f.__closure__ or ():
            self._at(functools.partial(_contents, cell), depth, names)
        if f.__defaults__:
            self._at(lambda: f.__defaults__, depth)
        if f.__kwdefaults__:
            self._at(lambda: f.__kwdefaults__, depth)
        for name in names:
            if name in f.__globals__:
                self._at(functools.partial(_item, f.__globals__, name), depth, names)
        wrapped = getattr(f, "__wrapped__", None)
        if wrapped is not None:
            self.follow(wrapped, depth + 1)

    def _at(self, place: Place, depth: int, names: tuple[str, ...] | None = None) -> None:
        """Find a place, and those inside what it holds.

        `names`: those in the code that reads it, which are all that it can name of a module.
        """
        value = place()
        self._place(place)
        if not isinstance(value, types.ModuleType):
            self.follow(value, depth + 1)
        elif not _of_library(value) and depth <= _DEEPEST:
            held = vars(value)
            if names is None and id(value) in self.known:
                return
            self.known.add(id(value))
            for name in list(held) if names is None else names:
                if name in held and not name.startswith("__"):
                    self._at(functools.partial(_item, held, name), depth + 1, names)

    def _place(self, place: Place) -> None:
        self.places.append(place)
        self.held.append(place())

    _ways: ClassVar[tuple[Any, ...]] = (
        (Transformed, _transformed),
        (functools.partial, _partial),
        (types.MethodType, _method),
        (types.FunctionType, _function),
        ((dict, types.MappingProxyType), _dict),
        ((list, tuple, collections.deque), _list),
        ((set, frozenset), _set),
        (bytearray, _bytes),
        (property, _property),
        (type, _class),
    )


def _item(holder: dict[Any, Any], name: Any) -> Any:
    return holder.get(name, Missing)


def _element(holder: Any, position: int) -> Any:
    return holder[position] if position < len(holder) else Missing


def _attribute(holder: Any, name: str) -> Any:
    return getattr(holder, name, Missing)


def _contents(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not bound yet
        return Missing


def _of_library(value: Any) -> bool:
    """Whether a function, class or module is a library's, whose state is no part of a program."""
    is_module = isinstance(value, types.ModuleType)
    name = value.__name__ if is_module else getattr(value, "__module__", None)
    package = (name or "builtins").partition(".")[0]
    return package in _LIBRARIES or package in _standard_names()


@functools.cache
def _standard_names() -> frozenset[str]:
    return frozenset(sys.stdlib_module_names) - {"__main__"}


@functools.cache
def _names_in(code: types.CodeType) -> tuple[str, ...]:
    """The names that a function's code reads, inner functions included."""

    def names(code: types.CodeType) -> Iterator[str]:
        yield from code.co_names
        for part in code.co_consts:
            if isinstance(part, types.CodeType):
                yield from names(part)

    return tuple(dict.fromkeys(names(code)))


__all__ = ["Surroundings", "search"]
