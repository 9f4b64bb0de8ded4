"""The plain package's modules, functions and classes in the place of adopted code's.

Knows which plain ones ours lie over. Must not know how adopted code comes by its names.
"""

from __future__ import annotations

import functools
import importlib
import sys
import types
from typing import Any

from tapegrad._adopt import scalars
from tapegrad._arrays.builtin import Builtin
from tapegrad.numpy import _holding

# Modules that mean others in adopted code, by name.
MADE: dict[str, Any] = {}


class Class:
    """A class of the original, whose instances a function of ours makes."""

    def __init__(self, plain: type, make: Any) -> None:
        self._plain, self._make = plain, make
        functools.update_wrapper(self, plain, updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._make(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._plain, name)

    def __instancecheck__(self, x: Any) -> bool:
        return isinstance(x, self._plain)

    def __subclasscheck__(self, kind: type) -> bool:
        return issubclass(kind, self._plain)

    def __mro_entries__(self, _bases: Any) -> tuple[type, ...]:
        return (self._plain,)

    def __eq__(self, other: object) -> bool:
        return self._plain is (other._plain if isinstance(other, Class) else other)

    def __hash__(self) -> int:
        return hash(self._plain)

    def __or__(self, other: Any) -> Any:
        return self._plain | other

    def __ror__(self, other: Any) -> Any:
        return other | self._plain


_PLAIN_MODULES = {
    f"tapegrad.{name}": name for name in ("numpy", "numpy.linalg", "numpy.fft", "math", "cmath")
}


def plain_of(found: Any) -> Any:
    """The plain module or function in the place of ours where no transform is open."""
    if isinstance(found, types.ModuleType):
        plain = _PLAIN_MODULES.get(found.__name__)
        return importlib.import_module(plain) if plain else vars(found).get("_plain", found)
    if isinstance(found, (types.FunctionType, Builtin)):
        return _holding.PLAIN_FUNCTIONS.get(found) or scalars.PLAIN_FUNCTIONS.get(found, found)
    return found


def as_in_plain(found: Any) -> Any:
    """The plain package's value in the place of an adopted module's, whoever may call it."""
    if isinstance(found, Class):
        return found._plain
    plain = plain_of(found)
    name = getattr(found, "__name__", None)
    if plain is found and isinstance(name, str) and callable(found):
        for home, module in list(MADE.items()):
            if vars(module).get(name) is found:
                return getattr(sys.modules[home], name)
    return plain


__all__ = ["MADE", "Class", "as_in_plain", "plain_of"]
