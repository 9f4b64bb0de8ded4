"""Base of classes that are SciPy's where nothing is in a trace, and have derivatives elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._core.values import branch_on, itself, raw_value
from tapegrad._errors import NotDifferentiableError
from tapegrad._tree import flatten, unflatten
from tapegrad.scipy.interpolate._pieces import holds_mapped, is_plain

# The classes of this package by those of SciPy's that they derive from.
_CLASSES: dict[type, type] = {}


class Mirrored:
    """First base of a class derived from SciPy's class of the same name, `_theirs`.

    An object has SciPy's attributes, which may be set, and a method calls that of SciPy's where
    neither an attribute of `_differentiable` nor an argument is in a trace.
    """

    _theirs: Any = None
    _differentiable: tuple[str, ...] = ()
    _hooks: tuple[str, ...] = ()  # private methods of SciPy's that a user's class overrides

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "_theirs" not in vars(cls):  # a user's
            theirs = {name for name in dir(cls._theirs) if not name.startswith("__")}
            cls._hooks = (*cls._hooks, *sorted(theirs & {n for n in vars(cls) if n[0] == "_"}))
            return
        _CLASSES[cls._theirs] = cls
        for name in dir(cls._theirs):
            if isinstance(found := getattr(cls._theirs, name, None), property):
                setattr(cls, name, _Attribute(name, found))

    def _is_plain(self, *values: Any) -> bool:
        held = self.__dict__  # which has no property that is SciPy's alone
        plain = is_plain(*values, *[held[name] for name in self._differentiable if name in held])
        if self._hooks and not plain:
            raise NotDifferentiableError(
                f"scipy.interpolate.{self._theirs.__name__}: not differentiable where a class "
                f"derived from it ({type(self).__name__}) overrides {', '.join(self._hooks)}."
            )
        return plain

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


def as_ours(theirs: Any) -> Any:
    """An object that SciPy made, of the class that derives from its class."""
    ours = _CLASSES.get(type(theirs))
    if ours is not None:
        theirs.__class__ = ours
    return theirs


def raw(*values: Any) -> list[Any] | None:
    """The values, and their parts, without any tracing, for SciPy's checks.

    None where a vmap maps over one.

    Not for what the result depends on: a recorded call would keep these values. See `asked`.
    """
    parts, structure = flatten(values)
    if any(map(holds_mapped, parts)):
        return None
    return list(unflatten(structure, [raw_value(x) for x in parts]))


def asked(*values: Any) -> list[Any] | None:
    """The same for what the result depends on: a recorded call asks for them each time."""
    return None if any(map(holds_mapped, values)) else [branch_on(itself, x) for x in values]


__all__ = ["Mirrored", "as_ours", "asked", "raw"]
