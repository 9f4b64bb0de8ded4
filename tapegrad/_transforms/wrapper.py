"""`Transformed`, the callable that a transform returns, with the name and signature of f.

Knows how Python names, binds, copies and pickles functions. Must not know what a transform does.
"""

from __future__ import annotations

import functools
import sys
from types import MethodType
from typing import Any, Self

from tapegrad._core.types import Function
from tapegrad._errors import InputError, describe, message


class Transformed(functools.partial[Any]):
    """The result of `transform(f, **options)`: a callable with f's name, docstring and signature.

    It is pickled and copied as that call, so wherever f can be. In a class body it is a method.
    `call` does the work. It is a partial because a call of a partial runs no Python code.
    """

    def __new__(
        cls, transform: Function, f: Function, options: dict[str, Any], call: Function
    ) -> Self:
        require_function(transform.__name__, f)
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


def require_function(transform: str, f: Any) -> None:
    """Raise InputError for what cannot be called, such as the result of a call of f."""
    if not callable(f):
        raise InputError(
            message(
                f"{transform}(f)",
                "a function",
                describe(f),
                f"Pass the function itself: {transform}(f), not {transform}(f(x))",
            )
        )


def _make(transform: Function, f: Function, options: dict[str, Any]) -> Any:
    return transform(f, **options)


def found_by_name(wrapper: Any) -> str | None:
    """The name by which a module holds a wrapper in place of the wrapped function, or None.

    A decorated function must be pickled by that name, because the module holds no other.
    """
    name: str | None = getattr(wrapper, "__qualname__", None)
    if name is None:
        return None
    found: Any = sys.modules.get(getattr(wrapper, "__module__", ""))
    for part in name.split("."):
        found = getattr(found, part, None)
    return name if found is wrapper else None


__all__ = ["Transformed", "found_by_name", "require_function"]
