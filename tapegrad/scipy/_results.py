"""Classes of results of SciPy's in copies of its modules.

One that holds data alone is SciPy's there too. One with methods is derived there from SciPy's, and
has those of the copy, which take values in a trace. Objects of either are containers for
transforms; pickle writes them as SciPy's.

Knows how to tell a class of results. Must not know single ones, nor how copies are made.
"""

from __future__ import annotations

import copyreg
import dataclasses
import functools
import types
from collections.abc import Iterable
from typing import Any

from tapegrad._core.values import innermost
from tapegrad._tree import flatten, register
from tapegrad.scipy._examples import is_number, of_examples

_LOOKS = {"__dir__", "__getattr__", "__repr__", "__str__"}  # methods that compute nothing
_UNLIKE = ("Bunch", "DirectionalStats", "orthopoly1d")  # which no rule tells


def is_result(kind: type) -> bool:
    """Whether objects of a class of SciPy's are results: records, by their looks or their name."""
    is_record = hasattr(kind, "_asdict") or dataclasses.is_dataclass(kind)
    return is_record or kind.__name__.endswith("Result") or kind.__name__ in _UNLIKE


def result_class(own: Any, theirs: Any, names: dict[str, Any]) -> Any:
    """The class that a copy has in place of its own.

    own, theirs: the class in the copy, and SciPy's; names: those of the copy's module
    """
    written = {name: x for name, x in vars(own).items() if _is_written(x, names)}
    made = theirs
    if not written.keys() <= _LOOKS:
        members = {name: _of_examples(name, x) for name, x in written.items()}
        hidden = {"__module__": own.__module__, "__qualname__": own.__qualname__}
        made = type(own)(own.__name__, (theirs,), members | hidden | {"__doc__": theirs.__doc__})
        made.__reduce_ex__ = functools.partialmethod(_reduced, theirs)
        for member in written.values():
            _rebind(_function_of(member), theirs)
    for kind in {theirs, made} - _REGISTERED:
        if not issubclass(kind, tuple):
            register(kind, _parts, functools.partial(_whole, kind))
            _REGISTERED.add(kind)
    return made


def _function_of(member: Any) -> Any:
    """The function of a member of a class."""
    return getattr(member, "__func__", None) or getattr(member, "fget", None) or member


def _is_written(member: Any, names: dict[str, Any]) -> bool:
    """Whether a member is a function in the module's own code, and not of a generated class."""
    return getattr(_function_of(member), "__globals__", None) is names


def _of_examples(name: str, member: Any) -> Any:
    """A method, which looks at the numbers that it has."""
    if name.startswith("_") or not isinstance(member, types.FunctionType):
        return member

    @functools.wraps(member)
    def call(*args: Any, **kwargs: Any) -> Any:
        return of_examples(member, args, kwargs)

    return call


def _rebind(function: Any, theirs: type) -> None:
    """Make `super()` in a method that of SciPy's class, to which its object belongs."""
    free = function.__code__.co_freevars
    if "__class__" in free:
        function.__closure__[free.index("__class__")].cell_contents = theirs


def _reduced(self: Any, theirs: Any, protocol: Any) -> Any:
    """An object as one of SciPy's; in a trace, where `copy` alone asks, as it is."""
    if innermost(flatten(self)[0]) is not None:
        return theirs.__reduce_ex__(self, protocol)
    base: Any = next(kind for kind in (tuple, dict, object) if issubclass(theirs, kind))
    items = None if base is object else base(self)
    rebuild: Any = vars(copyreg)["_reconstructor"]  # object.__reduce_ex__'s own of protocol 1
    return rebuild, (theirs, base, items), vars(self)


# --- Results that are no tuples, as containers ---------------------------------------------------

_REGISTERED: set[type] = set()


def _held(x: Any) -> dict[str, Any]:
    if isinstance(x, dict):
        return x
    names = getattr(x, "__dataclass_fields__", None)
    return vars(x) if names is None else {name: vars(x)[name] for name in names if name in vars(x)}


def _parts(x: Any) -> tuple[Iterable[Any], Any]:
    held = _held(x)
    moving = [name for name, value in held.items() if any(map(is_number, flatten(value)[0]))]
    rest = tuple((name, value) for name, value in held.items() if name not in moving)
    return [held[name] for name in moving], (tuple(held), tuple(moving), rest)


def _whole(kind: Any, aux: Any, parts: Iterable[Any]) -> Any:
    order, moving, rest = aux
    held = dict(zip(moving, parts, strict=True)) | dict(rest)
    instance = kind.__new__(kind)
    own = instance if isinstance(instance, dict) else vars(instance)
    own.update({name: held[name] for name in order})
    return instance


__all__ = ["is_result", "result_class"]
