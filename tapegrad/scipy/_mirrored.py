"""Classes and functions that are SciPy's of plain values, and have derivatives of others.

Must not know single ones.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from tapegrad._core.types import Function
from tapegrad._core.values import UNTRACED_TYPES, branch_on, innermost, itself, lift, raw_value
from tapegrad._errors import NotDifferentiableError
from tapegrad._tree import flatten, tree_map, unflatten
from tapegrad.scipy._copies import own_copy
from tapegrad.scipy._questions import holds_mapped

# Our classes by those of SciPy's that they derive from.
_CLASSES: dict[type, type] = {}


class Mirrored:
    """First base of a class derived from SciPy's class of the same name, `_theirs`.

    An object has SciPy's attributes, which may be set. A method is SciPy's where neither an
    attribute of `_differentiable` nor an argument is in a trace, so ours need not ask.
    """

    _theirs: Any = None
    _differentiable: tuple[str, ...] = ()
    _asking: tuple[str, ...] = ()  # methods of ours that ask, and call SciPy's
    _copied = False  # whether methods that are not here compute by a copy of SciPy's class
    _hooks: tuple[str, ...] = ()  # private methods of SciPy's that a user's class overrides

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "_theirs" not in vars(cls):  # a user's
            theirs = {name for name in dir(cls._theirs) if not name.startswith("__")}
            cls._hooks = (*cls._hooks, *sorted(theirs & {n for n in vars(cls) if n[0] == "_"}))
            return
        _CLASSES[cls._theirs] = cls
        for name in dir(cls._theirs):
            found = inspect.getattr_static(cls._theirs, name)
            ours = inspect.getattr_static(cls, name)
            if isinstance(found, property):
                if ours is found:
                    setattr(cls, name, _Attribute(name, found))
            elif _is_method(name, found) and name not in cls._asking:
                if ours is not found:
                    setattr(cls, name, _method_of_either(ours, found))
                elif cls._copied and name in vars(cls._theirs):
                    setattr(cls, name, _method_of_either(_by_copy(cls._theirs, found), found))

    def _is_plain(self, *values: Any) -> bool:
        return is_plain(self, *values)

    def _check(self, *args: Any, **kwargs: Any) -> None:
        """Raise what SciPy's class raises of these arguments."""
        plain = raw(args, kwargs)
        if plain is not None:
            self._theirs(*plain[0], **plain[1])

    @staticmethod
    def _in_copy(theirs: Any) -> Any:
        """An object of SciPy's or ours, as methods of a copy take it."""
        return theirs

    def _keep(self, **values: Any) -> None:
        """Set attributes, also those that SciPy keeps in another object, or lets nobody set."""
        self._asarray = np.asarray  # which SciPy's properties call
        self._xp = self._xp_internal = np  # which pickle asks for
        for name, value in values.items():
            if isinstance(getattr(type(self), name, None), _Attribute):
                self.__dict__[name] = value
            else:
                setattr(self, name, value)


class _Attribute:
    """A property of SciPy's, which may also hold a value in a trace."""

    def __init__(self, name: str, theirs: property) -> None:
        self.name, self.theirs, self.__doc__ = name, theirs, theirs.__doc__

    def __get__(self, owner: Any, kind: Any = None) -> Any:
        if owner is None:
            return self
        held = owner.__dict__
        return held[self.name] if self.name in held else self.theirs.__get__(owner, kind)

    def __set__(self, owner: Any, value: Any) -> None:
        if is_plain(value) or self.theirs.fset is None:
            self.theirs.__set__(owner, value)
            owner.__dict__.pop(self.name, None)
        else:
            owner.__dict__[self.name] = value


def of_plain(theirs: Function) -> Callable[[Function], Function]:
    """Decorate a function that is SciPy's, with results of our classes, where all is plain."""
    return functools.partial(_of_either, theirs=theirs)


def _of_either(ours: Function, theirs: Function) -> Function:
    @functools.wraps(ours)
    def call(*args: Any, **kwargs: Any) -> Any:
        if _are_plain(args) and (not kwargs or _are_plain(kwargs.values())):
            found = theirs(*args, **kwargs)
            return found if type(found) is np.ndarray else as_ours(found)
        owner: Any = args[0] if args else None
        if issubclass(type(owner), Mirrored) and owner._hooks:
            raise NotDifferentiableError(
                f"{_name_of(type(owner))}: not differentiable where a class derived from it "
                f"({type(owner).__name__}) overrides {', '.join(owner._hooks)}."
            )
        return ours(*args, **kwargs)

    return call


def _is_method(name: str, found: Any) -> bool:
    if not isinstance(found, classmethod | staticmethod) and not callable(found):
        return False
    return not name.startswith("_") or name.endswith("__") and name not in _OF_PYTHON


_OF_PYTHON = ("__new__", "__init_subclass__", "__class_getitem__", "__getstate__", "__setstate__")


def _method_of_either(ours: Any, theirs: Any) -> Any:
    """A method of ours that may be inherited, where it has asked for another of SciPy's."""
    own, plain = (getattr(method, "__func__", method) for method in (ours, theirs))
    made = _of_either(inspect.unwrap(own), plain)
    return type(ours)(made) if isinstance(ours, classmethod | staticmethod) else made


def _by_copy(theirs: type, method: Any) -> Any:
    plain: Any = getattr(method, "__func__", method)

    @functools.wraps(plain)
    def call(*args: Any, **kwargs: Any) -> Any:
        copied = vars(own_copy(theirs))[plain.__name__]
        given = [lift(x) for x in args], {name: lift(x) for name, x in kwargs.items()}
        args, kwargs = tree_map(_in_copy, given)
        return getattr(copied, "__func__", copied)(*args, **kwargs)

    del vars(call)["__wrapped__"]
    return call if plain is method else type(method)(call)


def _in_copy(value: Any) -> Any:
    kind = _CLASSES.get(type(value), type(value))
    return kind._in_copy(value) if issubclass(kind, Mirrored) else value


def _name_of(cls: Any) -> str:
    package = _CLASSES[cls._theirs].__module__.removeprefix("tapegrad.").partition("._")[0]
    return f"{package}.{cls._theirs.__name__}"


def is_plain(*values: Any) -> bool:
    """Whether no value, also in lists, tuples and objects of our classes, is in a trace."""
    return _are_plain(values)


def _are_plain(values: Iterable[Any]) -> bool:
    for value in values:
        kind = type(value)
        if kind in UNTRACED_TYPES:
            continue
        if issubclass(kind, (list, tuple)):
            if not _are_plain(value):
                return False
        elif issubclass(kind, Mirrored):
            held = value.__dict__  # which has no property that is SciPy's alone
            for name in value._differentiable:
                part = held.get(name)
                if type(part) not in UNTRACED_TYPES and not is_plain(part):
                    return False
        elif innermost((value,)) is not None:
            return False
    return True


def as_ours(theirs: Any) -> Any:
    """An object that SciPy made, of the class that derives from its class; also in a tuple."""
    kind = type(theirs)
    if kind in _CLASSES:
        theirs.__class__ = _CLASSES[kind]
    return tuple(map(as_ours, theirs)) if kind is tuple else theirs


def raw(*values: Any) -> list[Any] | None:
    """The values, and their parts, without any tracing, for SciPy's checks.

    None where a vmap maps over one.

    Not for what the result depends on: a recorded call would keep these values. See `asked`.
    """
    parts, structure = flatten(values)
    parts = [lift(x) for x in parts]
    if any(map(holds_mapped, parts)):
        return None
    return list(unflatten(structure, [raw_value(x) for x in parts]))


def asked(*values: Any) -> list[Any] | None:
    """The same for what the result depends on: a recorded call asks for them each time."""
    return None if any(map(holds_mapped, values)) else [branch_on(itself, x) for x in values]


__all__ = ["Mirrored", "as_ours", "asked", "holds_mapped", "is_plain", "of_plain", "raw"]
