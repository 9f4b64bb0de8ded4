"""`Transformed`, the callable that a transform returns: it passes for the function it was made of.

Knows how Python names, binds, copies and pickles functions. Must not know what a transform does.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import MethodType
from typing import Any

Function = Callable[..., Any]


class Transformed:
    """What `transform(f, **options)` returns, as a callable with f's name, docstring, signature.

    It is pickled and copied as that call, so it can be wherever f can; `call` does the work. In a
    class body it is a method.
    """

    def __init__(
        self, transform: Function, f: Function, options: dict[str, Any], call: Function
    ) -> None:
        functools.update_wrapper(self, f, updated=())
        self._made = (transform, f, options)
        self.call = call

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.call(*args, **kwargs)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __reduce__(self) -> str | tuple[Any, ...]:
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
