"""Classes whose members are formulas: functions of an object, in one table of the class.

Knows how a formula becomes a method or a property. Must not know distributions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

Formula = Callable[..., Any]


def formulas(**members: Formula) -> dict[str, Formula]:
    """The table of a class: each function takes the object first."""
    return members


class OfFormulas:
    """Base of classes with `_formulas`, which become members as if they were written out.

    A formula is a method as it is, or a property where the class that declares the name has one.
    `_makers` has, by name, functions from a formula to a method that does more.
    """

    _formulas: ClassVar[dict[str, Formula]] = {}
    _makers: ClassVar[dict[str, Callable[[Formula], Any]]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name, formula in cls.__dict__.get("_formulas", {}).items():
            member = cls._makers.get(name, _as_it_is)(formula)
            declared = getattr(cls, name, None)
            known = getattr(declared, "fget", declared)
            words = getattr(known, "__annotations__", {})
            member.__annotations__ = {key: word for key, word in words.items() if key != "self"}
            member.__name__, member.__module__ = name, cls.__module__
            member.__qualname__ = f"{cls.__qualname__}.{name}"
            setattr(cls, name, property(member) if isinstance(declared, property) else member)


def _as_it_is(formula: Formula) -> Any:
    return formula


__all__ = ["Formula", "OfFormulas", "formulas"]
