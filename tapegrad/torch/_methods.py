"""Names that a class or a module has from others: methods from above, tables of contents.

Knows how a function becomes a method, and what a module imports. Must not know any class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from types import FunctionType
from typing import Any

from tapegrad._core.types import Function


def method_of(cls: type, name: str) -> Callable[[Function], Function]:
    """Make the decorated function the method `name` of a class.

    >>> class Empty: ...
    >>> @method_of(Empty, "size")
    ... def _size(self):
    ...     return 0
    >>> Empty().size(), Empty.size.__qualname__
    (0, 'Empty.size')
    """

    def attach(function: Function) -> Function:
        function.__name__, function.__qualname__ = name, f"{cls.__name__}.{name}"
        setattr(cls, name, staticmethod(function) if name == "__new__" else function)
        return function

    return attach


# Private classes of PyTorch's whose constructors several of its classes share.
_SHARED = frozenset({"_DropoutNd", "_LazyNormBase"})


def name_constructors(kinds: Iterable[Any]) -> None:
    """Give classes constructors of their own name, which Python's errors of arguments show.

    kinds: of these, classes that have their constructor from a private class change.
    """
    for kind in kinds:
        if not isinstance(kind, type):
            continue
        home = next(base for base in kind.__mro__ if "__init__" in vars(base))
        if home is kind or home.__name__[0] != "_" or home.__name__ in _SHARED:
            continue
        own = vars(home)["__init__"]
        parts = own.__code__, own.__globals__, own.__name__, own.__defaults__, own.__closure__
        made: Any = method_of(kind, "__init__")(FunctionType(*parts))
        made.__kwdefaults__, made.__annotations__ = own.__kwdefaults__, own.__annotations__


def contents(names: dict[str, Any], *modules: str) -> Iterator[str]:
    """`__all__` of a module: what it imports of this package, and some modules within it.

    Type checkers and editors know the names from the stub beside the module.
    """
    homes = {name: str(getattr(value, "__module__", "")) for name, value in names.items()}
    public = {name for name in homes if not name.startswith("_")}
    own = {name for name in public if homes[name].startswith("tapegrad.torch")}
    yield from sorted(own.union(modules))
