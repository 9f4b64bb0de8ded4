"""A function that was written for NumPy, with another library's functions in place of NumPy's.

Knows Python's functions: their globals, closures and signatures. Must not know libraries.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from typing import Any

import numpy as np

Function = Callable[..., Any]


def takes_namespace(f: Function) -> bool:
    """Whether a function has a parameter `xp`."""
    try:
        return "xp" in inspect.signature(f).parameters
    except (TypeError, ValueError):
        return False


def within(f: Function, namespace: Any) -> Function:
    """The function, given `xp`, or with `np` meaning the namespace in it and what it calls.

    A function is copied with the modules that its globals and its closure name replaced, and so
    are the functions of the same module that it may call.
    """
    if takes_namespace(f):
        if next(iter(inspect.signature(f).parameters)) == "xp":
            return lambda *args: f(namespace, *args)
        return lambda *args: f(*args, xp=namespace)
    if namespace is np or not isinstance(f, types.FunctionType):
        return f
    return _Copies(f.__globals__, namespace).of(f)


class _Copies:
    """Copies of the functions of one module."""

    def __init__(self, names: dict[str, Any], namespace: Any) -> None:
        self.original = names
        self.namespace = namespace
        self.names = dict(names)
        self.made: dict[int, Function] = {}
        for name, found in names.items():
            self.names[name] = self.replaced(found)

    def replaced(self, found: Any) -> Any:
        """Stand-in for an object: NumPy's modules and this module's functions have others."""
        if isinstance(found, types.ModuleType):
            return _module_like(found, self.namespace)
        if isinstance(found, types.FunctionType) and found.__globals__ is self.original:
            return self.of(found)
        return found

    def of(self, f: types.FunctionType) -> Function:
        """A copy of a function, once."""
        if id(f) in self.made:
            return self.made[id(f)]
        cells = tuple(types.CellType() for _ in f.__closure__ or ())
        copy = types.FunctionType(f.__code__, self.names, f.__name__, f.__defaults__, cells)
        copy.__kwdefaults__ = f.__kwdefaults__
        copy.__dict__.update(f.__dict__)
        self.made[id(f)] = copy
        for cell, before in zip(cells, f.__closure__ or (), strict=True):
            try:
                cell.cell_contents = self.replaced(before.cell_contents)
            except ValueError:  # it is not set yet
                continue
        return copy


def _module_like(module: types.ModuleType, namespace: Any) -> Any:
    """`np.linalg` is the namespace's `linalg`; modules that are not NumPy's are themselves."""
    first, *rest = module.__name__.split(".")
    if first != "numpy":
        return module
    found = namespace
    for name in rest:
        found = getattr(found, name, None)
    return module if found is None else found
