"""Methods that a class is given from above, by a module that the class must not know.

Knows how a function becomes a method. Must not know any class.
"""

from __future__ import annotations

from collections.abc import Callable

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
