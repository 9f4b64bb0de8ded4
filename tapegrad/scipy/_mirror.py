"""How a module of ours mirrors one of SciPy's: its functions as primitives, the rest as it is.

Must not know single functions.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import scipy

from tapegrad._core.forms import composite, constant, unsupported
from tapegrad._core.rule import Rule
from tapegrad._core.types import Function
from tapegrad._errors import name_of
from tapegrad._transforms.primitives import primitive

OLDEST = (1, 17)  # before, linalg made vectors of what are batches since

if tuple(map(int, scipy.__version__.split(".")[:2])) < OLDEST:
    raise ImportError(
        f"tapegrad.scipy: expected SciPy {OLDEST[0]}.{OLDEST[1]} or newer, got "
        f"{scipy.__version__}. Install tapegrad[scipy]."
    )


def mirror(function: Callable[..., Any], module: str) -> primitive:
    """A function of SciPy's as a primitive of ours, which `module` holds by the same name.

    It is to be declared by a form of rules. Of plain values it is SciPy's function.

    module: the public module that offers it, "tapegrad.scipy.linalg": where pickle finds it, and
    what errors call it, without the "tapegrad."
    """
    made = primitive(function)
    vars(made).update(__module__=module, __qualname__=name_of(function))
    return made


def expressed_by(function: Function, definition: Function, **options: Any) -> Rule:
    """Declare a mirrored function by a definition, as `composite`, with SciPy's own defaults."""
    return composite(function, with_defaults(definition, function), **options)


def with_defaults(definition: Function, function: Function) -> Function:
    """A definition, for whose parameters without a default those of SciPy's function are taken."""
    theirs = inspect.signature(function).parameters
    left = {
        name: theirs[name].default
        for name, own in inspect.signature(definition).parameters.items()
        if own.default is own.empty and name in theirs and theirs[name].default is not own.empty
    }
    if not left:
        return definition
    order = list(theirs)

    @functools.wraps(definition)
    def complete(*args: Any, **kwargs: Any) -> Any:
        given = order[: len(args)]
        others = {name: value for name, value in left.items() if name not in given}
        return definition(*args, **{**others, **kwargs})

    return complete


def constant_or_refused(
    module: str, constants: Iterable[str], refused: Mapping[str, str]
) -> dict[str, Any]:
    """Functions of SciPy's that are constant, and those that have no derivative, mirrored.

    Those that this version of SciPy lacks are left out.

    module: as that of `mirror`
    refused: for each name why, and what to take
    """
    theirs = module.removeprefix("tapegrad.")
    plain = importlib.import_module(theirs)
    names = [name for name in (*constants, *refused) if hasattr(plain, name)]
    made = {name: mirror(getattr(plain, name), module) for name in names}
    for name, function in made.items():
        if name in refused:
            unsupported(function, reason=refused[name])
        else:
            constant(function, batch="loop")
    return made


def namespace(own: str, theirs: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and the `__dir__` of a module: names that it lacks are SciPy's.

    own, theirs: the modules' full names, `__name__` and "scipy.linalg"
    """
    found: types.ModuleType = importlib.import_module(theirs)

    def look_up(name: str) -> Any:
        try:
            return getattr(found, name)
        except AttributeError:
            raise AttributeError(f"module {own!r} has no attribute {name!r}") from None

    return look_up, lambda: dir(found)


def shared_names(own: str, theirs: str, *others: str) -> Iterator[str]:
    """The `__all__` of a module: what it has so far of SciPy's functions and classes, and others.

    own, theirs: as those of `namespace`
    """
    held = vars(sys.modules[own])
    names = dir(importlib.import_module(theirs))
    yield from others
    yield from (name for name in names if name[0] != "_" and callable(held.get(name)))


__all__ = [
    "constant_or_refused",
    "expressed_by",
    "mirror",
    "namespace",
    "shared_names",
    "with_defaults",
]
