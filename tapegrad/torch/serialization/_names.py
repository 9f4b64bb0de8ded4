"""Names in files: PyTorch's of the layer's classes and functions, and those that a user trusts.

A file says `torch.nn.modules.linear.Linear`, here and in PyTorch. Must not know pickles.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from functools import cache
from types import FunctionType
from typing import Any, Self

from tapegrad.torch._absent import FINDER
from tapegrad.torch._absent.modules import HOME

# The modules that have names of PyTorch's files, where the layer has other files.
_FILES = ("nn.modules.", "optim.", "distributions.", "utils.data.", "utils.hooks")


def home_of(module: str) -> str:
    """The layer's name of a module of PyTorch's, others as they are."""
    inner = module == "torch" or module.startswith("torch.")
    return HOME + module.removeprefix("torch") if inner else module


def object_of(module: str, name: str) -> Any:
    """The object that a file names."""
    found = importlib.import_module(home_of(module))
    for word in name.split("."):
        found = getattr(found, word)
    return found


def is_ours(thing: Any) -> bool:
    """Whether a class or a function is one of the layer's, which PyTorch names otherwise."""
    module = getattr(thing, "__module__", None)
    return (
        isinstance(thing, (type, FunctionType))
        and isinstance(module, str)
        and (module == HOME or module.startswith(f"{HOME}."))
    )


def name_of(thing: Any) -> tuple[str, str]:
    """The module and the name of a class or a function in a file: PyTorch's, of ours.

    LookupError of what has no name by which it can be found.
    """
    module, name = thing.__module__, thing.__qualname__
    if not is_ours(thing):
        return module, name
    everywhere = [(place, name) for place in ("torch.nn.functional", "torch")]
    home = f"torch{module.removeprefix(HOME)}"
    for place, word in (*_places().get(name, ()), *everywhere, (home, name)):
        try:
            found = object_of(place, word)
        except (ImportError, AttributeError):
            continue
        if found is thing:
            return place, word
    raise LookupError(f"no module of torch has {module}.{name}")


@cache
def _places() -> dict[str, list[tuple[str, str]]]:
    """Modules of PyTorch's, and names there, by the layer's names of what they have."""
    found: dict[str, list[tuple[str, str]]] = {}
    for space, section in FINDER.sections.items():
        if space.startswith(_FILES):
            for name, row in section.rows.items():
                ours = row.answer.partition(" as ")[2] or name
                found.setdefault(ours, []).append((f"torch.{space}", name))
    return found


# --- What a user trusts --------------------------------------------------------------------------

_trusted: dict[str, Any] = {}  # by full names


def _named(each: Any) -> tuple[str, Any]:
    if not isinstance(each, tuple):
        if not callable(each):
            raise TypeError(
                "add_safe_globals: expected classes and functions, or pairs of one and its full "
                f"path in the file, got {type(each).__name__}"
            )
        return ".".join(name_of(each)), each
    if len(each) != 2:
        raise ValueError(
            "Expected tuple of length 2 (global, str of callable full path), but got tuple of "
            f"length: {len(each)}"
        )
    thing, full = each
    if not callable(thing) or not isinstance(full, str):
        raise TypeError(
            "Expected item in tuple to be of form (global, str of callable full path), got "
            f"({type(thing).__name__}, {type(full).__name__})"
        )
    return full, thing


def trusted(full: str) -> Any:
    """The class or function of a name that a user has named; None of others."""
    return _trusted.get(full)


def is_trusted(thing: Any) -> bool:
    """Whether a user has named a class or a function."""
    return any(thing is each for each in _trusted.values())


def add_safe_globals(safe_globals: Iterable[Any]) -> None:
    """Name classes and functions that files for `load(weights_only=True)` may use.

    What a file says is passed to them: name none that does harm with some arguments. Of a class
    `__new__` and `__setstate__` are called.

    safe_globals (list of callable): The classes and functions; or pairs of one and its full path
        in the file, where that is not `module.name`.
    TypeError: For what is neither.
    ValueError: For tuples of another length than two.
    See also safe_globals: Names them within a block only.

    >>> torch.serialization.add_safe_globals([torch.nn.Linear])
    >>> torch.serialization.get_safe_globals()
    [<class 'tapegrad.torch.nn.linear.Linear'>]
    >>> torch.serialization.clear_safe_globals()
    """
    _trusted.update(map(_named, safe_globals))


def get_safe_globals() -> list[Any]:
    """The classes and functions that `add_safe_globals` has named.

    -> list: Each of them.

    >>> torch.serialization.get_safe_globals()
    []
    """
    return list(_trusted.values())


def clear_safe_globals() -> None:
    """Take all names of `add_safe_globals` back.

    >>> torch.serialization.clear_safe_globals()
    """
    _trusted.clear()


class safe_globals:
    """Context manager that names classes and functions for files within its block.

    safe_globals (list of callable): As of `add_safe_globals`.
    See also add_safe_globals: Names them from then on.

    >>> with torch.serialization.safe_globals([torch.nn.Linear]):
    ...     len(torch.serialization.get_safe_globals())
    1
    >>> torch.serialization.get_safe_globals()
    []
    """

    def __init__(self, safe_globals: Iterable[Any]) -> None:
        self.safe_globals = list(safe_globals)

    def __enter__(self) -> Self:
        self._before = dict(_trusted)
        add_safe_globals(self.safe_globals)
        return self

    def __exit__(self, *_: object) -> None:
        _trusted.clear()
        _trusted.update(self._before)


__all__ = [
    "add_safe_globals",
    "clear_safe_globals",
    "get_safe_globals",
    "home_of",
    "is_ours",
    "is_trusted",
    "name_of",
    "object_of",
    "safe_globals",
    "trusted",
]
