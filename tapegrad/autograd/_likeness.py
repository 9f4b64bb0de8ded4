"""The values of derivatives as boxes: for isinstance, in their attributes, and by their nodes.

HIPS has one class of boxes for derivatives and for traces with nodes of a program's own. Here the
values of a derivative are tapegrad's arrays; this module makes them alike to programs. Knows both
kinds of them, and NumPy's subclasses. Must not know the classes of boxes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from inspect import getattr_static
from typing import Any

import numpy as np

from tapegrad._core.operands import forget, take_base
from tapegrad._core.values import Mapped, Traced, level_of


class ShowsTraced(type):
    """Boxes of arrays are the values of derivatives, too: for isinstance, and in what they have.

    An attribute that a program adds to `ArrayBox` or `Box` is one of each traced array, but for
    the two protocols by which NumPy calls a box: a traced array has its own.
    """

    def __instancecheck__(cls, instance: Any) -> bool:
        kind = type(instance)
        if vars(cls).get("_of_arrays") and issubclass(kind, (Traced, Mapped)):
            return True
        return issubclass(kind, cls)

    def __call__(cls, value: Any, trace: int, node: Any) -> Any:
        if type(node) is Place:
            return node.box(value)
        return super().__call__(value, trace, node)

    def __setattr__(cls, name: str, value: Any) -> None:
        if callable(value) and not hasattr(value, "__get__"):
            value = _bound(value)  # a ufunc is a function in HIPS, and so a method
        super().__setattr__(name, value)
        if vars(cls).get("_of_arrays") and name not in ("__array_ufunc__", "__array_function__"):
            if isinstance(value, classmethod):  # of the class that it was given to
                value = staticmethod(value.__get__(None, cls))
            for kind in _kinds_of_traced():
                if getattr_static(kind, name, _NOTHING) is not value:
                    _covered.setdefault((kind, name), vars(kind).get(name, _NOTHING))
                    setattr(kind, name, value)

    def __delattr__(cls, name: str) -> None:
        super().__delattr__(name)
        for kind in _kinds_of_traced():
            own = _covered.pop((kind, name), None)
            if own is _NOTHING:
                delattr(kind, name)
            elif own is not None:
                setattr(kind, name, own)


def _bound(function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return function(self, *args, **kwargs)

    return method


def _kinds_of_traced() -> Iterator[type]:
    kinds: list[type] = [Traced, Mapped]
    for kind in kinds:
        kinds += kind.__subclasses__()
        yield kind


_NOTHING = object()
# By class of traced values and name, the attribute that one of `ArrayBox` hides.
_covered: dict[tuple[type, str], Any] = {}


class Place:
    """The node of a value of a derivative: where it is on the tape."""

    __slots__ = ("_of",)

    def __init__(self, of: Any) -> None:
        self._of = of

    def box(self, value: Any) -> Any:
        """The traced value at this place, with an untraced one like its own."""
        of = self._of
        if value is of._value:
            return of
        if not issubclass(type(of), Traced) or np.shape(value) != of.shape:
            raise TypeError(
                f"ArrayBox(value, trace, node): expected the value of the node, of shape "
                f"{of.shape}, got one of shape {np.shape(value)}. Compute with the "
                "traced value instead."
            )
        return type(of)(value, of.slot, of.tape, of.spec)


# As of a box of a trace with nodes: `ArrayBox(x._value, x._trace, x._node)` is x.
for _name, _read in {"_node": Place, "_trace": level_of}.items():
    setattr(Traced, _name, property(_read))
    setattr(Mapped, _name, property(_read))


class BoxesByType(dict[type, Any]):
    """Box of the values of a class. A subclass of ndarray in here gives way to traced arrays.

    Its arrays are constants of a derivative then, and its own arithmetic is not asked: boxes have
    priority over it in HIPS, and it could not read a traced array. The classes of traced arrays
    are in here, as those of boxes are.
    """

    def __missing__(self, kind: type) -> Any:
        if issubclass(kind, (Traced, Mapped)):
            return self[np.ndarray]
        raise KeyError(kind)

    def __contains__(self, kind: object) -> bool:
        if super().__contains__(kind):
            return True
        return isinstance(kind, type) and issubclass(kind, (Traced, Mapped))

    def get(self, kind: type, default: Any = None) -> Any:
        try:
            return self[kind]
        except KeyError:
            return default

    def __setitem__(self, kind: type, box: Any) -> None:
        if issubclass(kind, np.ndarray) and kind is not np.ndarray:
            take_base(kind)
            own: Any = kind.__array_ufunc__
            if own is not np.ndarray.__array_ufunc__ and not hasattr(own, "__wrapped__"):
                kind.__array_ufunc__ = _giving_way(own)  # type: ignore[method-assign]
        super().__setitem__(kind, box)

    def __delitem__(self, kind: type) -> None:
        super().__delitem__(kind)
        if issubclass(kind, np.ndarray):
            forget(kind)
            own: Any = vars(kind).get("__array_ufunc__")
            if hasattr(own, "__wrapped__"):
                kind.__array_ufunc__ = own.__wrapped__  # type: ignore[method-assign]


def _is_in_trace(x: Any) -> bool:
    kind = type(x)
    return issubclass(kind, (Traced, Mapped)) or isinstance(kind, ShowsTraced)


def _giving_way(own: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(own)
    def array_ufunc(self: Any, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        values = (*inputs, *(kwargs.get("out") or ()))
        if any(
            issubclass(type(x), (Traced, Mapped)) or type(type(x)) is ShowsTraced for x in values
        ):
            return NotImplemented
        return own(self, ufunc, method, *inputs, **kwargs)

    return array_ufunc


__all__ = ["BoxesByType", "Place", "ShowsTraced"]
