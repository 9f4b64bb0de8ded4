"""`Transformed`, the callable that a transform returns: it passes for the function it was made of.

Knows how Python names, binds, copies and pickles functions. Must not know what a transform does.
"""

from __future__ import annotations

import functools
import sys
from types import MethodType
from typing import Any, Self

from tapegrad._core.types import Function


class Transformed(functools.partial[Any]):
    """What `transform(f, **options)` returns, as a callable with f's name, docstring, signature.

    It is pickled and copied as that call, so it can be wherever f can; `call` does the work. In a
    class body it is a method. A partial, for what it costs to call: nothing in Python.
    """

    def __new__(
        cls, transform: Function, f: Function, options: dict[str, Any], call: Function
    ) -> Self:
        made = super().__new__(cls, call)
        functools.update_wrapper(made, f, updated=())
        made._made, made.call = (transform, f, options), call
        return made

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    _made: tuple[Function, Function, dict[str, Any]]
    call: Function

    def __reduce__(self) -> Any:
        return found_by_name(self) or (_make, self._made)

    def __repr__(self) -> str:
        transform, f, _ = self._made
        return f"<{transform.__name__} of {getattr(f, '__qualname__', f)}>"


def _make(transform: Function, f: Function, options: dict[str, Any]) -> Any:
    return transform(f, **options)


def found_by_name(wrapper: Any) -> str | None:
    """The name under which a module holds a wrapper in place of its function, if one does.

    A decorated function must be pickled by that name: its function is not found by any.
    """
    name: str | None = getattr(wrapper, "__qualname__", None)
    if name is None:
        return None
    found: Any = sys.modules.get(getattr(wrapper, "__module__", ""))
    for part in name.split("."):
        found = getattr(found, part, None)
    return name if found is wrapper else None


__all__ = ["Transformed", "found_by_name"]
