"""Names that a class or a module has from others: methods from above, tables of contents.

Knows how a function becomes a method, and what a module imports. Must not know any class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
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


def contents(names: dict[str, Any], *modules: str) -> Iterator[str]:
    """`__all__` of a module: what it imports of this package, and some modules within it.

    Type checkers and editors know the names from the stub beside the module.
    """
    homes = {name: str(getattr(value, "__module__", "")) for name, value in names.items()}
    public = {name for name in homes if not name.startswith("_")}
    own = {name for name in public if homes[name].startswith("tapegrad.torch")}
    yield from sorted(own.union(modules))
