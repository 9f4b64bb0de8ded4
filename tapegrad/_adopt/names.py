"""Meanings of `numpy`, `math`, `scipy` and others in adopted code, and its `__import__`.

Knows which module of tapegrad lies over which: a name that ours lacks is the original's own. Must
not know how modules are found or executed.
"""

from __future__ import annotations

import builtins
import copy
import functools
import importlib
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad._adopt import caches, jitted, scalars
from tapegrad._adopt.messages import SHOWN, UNSEEN
from tapegrad._adopt.plain import MADE, Class, plain_of
from tapegrad._adopt.scalars import (
    as_complex,
    as_float,
    as_type,
    has_attribute,
    of_statistics,
    type_of,
)
from tapegrad._adopt.source import PLAIN, RUNNING
from tapegrad._adopt.texts import as_text, by_format, by_percent, by_spec, shown, unseen
from tapegrad._adopt.triangles import TRIANGLES, Triangles
from tapegrad._arrays.buffers import hold, value_of
from tapegrad._arrays.conversion import UNCONVERTED, gather
from tapegrad._core import tape
from tapegrad._core.values import holds_in_trace, in_trace
from tapegrad.numpy import _holding, _lists

# Modules that mean others in adopted code, with all that is below them.
ROOTS = frozenset(("numpy", "math", "cmath", "scipy", "statistics", "numba", "functools"))

# Modules whose `vars` programs take functions from, by name.
_LOOKED_INTO = ("numpy", "math", "cmath")


def layered(plain: types.ModuleType, find: Callable[[str], Any]) -> types.ModuleType:
    """A module over another: what it holds, `find` gives by name, once.

    It is of the very type of modules, whose attributes Python reads three times as fast as those
    of a class derived from it.
    """
    made = types.ModuleType(plain.__name__, plain.__doc__)
    held = vars(made)
    for name in ("__path__", "__file__", "__version__", "__all__", "__spec__"):
        if name in vars(plain):  # one that is looked up may warn
            held[name] = vars(plain)[name]

    def name_of(name: str) -> Any:
        found = held[name] = find(name)
        return found

    held.update({"_plain": plain, "__getattr__": name_of, "__dir__": lambda: dir(plain)})
    return made


def over(plain: types.ModuleType, ours: Any) -> types.ModuleType:
    """A module of ours over another: a name that ours lacks is the other's."""

    def find(name: str) -> Any:
        found = getattr(plain, name)
        below = f"{plain.__name__}.{name}"
        if isinstance(found, types.ModuleType) and found.__name__ == below:
            return meaning(below)
        if ours is None:
            return found
        made = getattr(ours, name, found)
        is_class = isinstance(found, type) and not isinstance(made, type)
        return Class(found, made) if is_class else made

    return layered(plain, find)


class _Statistics:
    def __getattr__(self, name: str) -> Any:
        return of_statistics(name)


def meaning(name: str) -> Any:
    """The meaning of a module of one of the `ROOTS` in adopted code; ImportError as usual."""
    found = MADE.get(name)
    if found is None:
        plain = importlib.import_module(name)
        root = name.partition(".")[0]
        if name in ("math", "cmath"):
            found = importlib.import_module(f"tapegrad.{name}")
        elif root == "numba":
            found = over(plain, jitted.Numba) if name == root else plain
        else:
            found = over(plain, _ours(name, root))
        if name in _LOOKED_INTO:
            for part, value in list(vars(plain).items()):
                if callable(value):
                    getattr(found, part)
        MADE[name] = found
    return found


def _ours(name: str, root: str) -> Any:
    """A module of ours that lies over one with this name."""
    if root == "statistics":
        return _Statistics()
    if root == "functools":
        return caches
    try:
        if name in TRIANGLES:
            return Triangles(f"tapegrad.{name}", TRIANGLES[name])
        return importlib.import_module(f"tapegrad.{name}")
    except ImportError:
        return None


def adopted_import(
    name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0
) -> Any:
    """`__import__` in adopted code."""
    if level == 0:
        root = name.partition(".")[0]
        if root in ROOTS:
            found = meaning(name)
            if not fromlist:
                return meaning(root)
            for part in fromlist:
                if part != "*" and not hasattr(found, part):
                    try:
                        setattr(found, part, meaning(f"{name}.{part}"))
                    except ImportError:
                        break  # the import statement says what is missing
            return found
    return builtins.__import__(name, globals, locals, fromlist, level)


def _copy(x: Any, /, *args: Any, **kwargs: Any) -> Any:
    """`x.copy()` in adopted code: a new array can be filled."""
    return _new(x.copy(*args, **kwargs), x, args)


def _astype(x: Any, /, *args: Any, **kwargs: Any) -> Any:
    """`x.astype(dtype)` likewise; it may be x itself."""
    return _new(x.astype(*args, **kwargs), x, args)


def _new(made: Any, x: Any, args: tuple[Any, ...]) -> Any:
    """The result of a method of x. Only NumPy's own is known to make a new array."""
    whole = args[0] if args and x is copy else x  # copy.copy(x)
    return hold(lambda: made, (), {}) if type(whole) is np.ndarray and made is not whole else made


def _dot(x: Any, /, *args: Any, **kwargs: Any) -> Any:
    """`x.dot(y)` in adopted code: the method of a plain array takes plain ones only."""
    if type(x) is np.ndarray and (holds_in_trace(args) or kwargs):
        return np.dot(x, *map(value_of, args), **kwargs)
    return x.dot(*args, **kwargs)


def _meant(found: Any, helper: Any) -> Any:
    """The meaning of a name of a builtin where a star import may have bound it anew."""
    return helper if getattr(builtins, getattr(found, "__name__", ""), None) is found else found


def _array_of(parts: Any) -> Any:
    """A list that a ufunc gets in adopted code: with parts in a trace one array."""
    return gather(value_of(parts), "np.array") if holds_in_trace(parts) else parts


def _method_array(method: Any) -> Any:
    """A method `__array__` of adopted code, for NumPy; our own conversions ask the program's."""

    @functools.wraps(method)
    def array(self: Any, *args: Any, **kwargs: Any) -> Any:
        made = method(self, *args, **kwargs)
        if type(made) is np.ndarray:
            return made
        made = value_of(made)
        return np.asarray(made) if in_trace(made) else made  # which is refused by name

    setattr(array, UNCONVERTED, method)
    return array


@functools.cache
def plain_functions() -> frozenset[str]:
    """Functions of numbers and arrays alone: where no transform is open they are NumPy's own."""
    known = _holding.MAKING | _lists.JOINING | scalars.NAMES
    return frozenset(known).union(*_lists.LIFTED.values())


def names_of_builtins() -> dict[str, Any]:
    """The builtins of adopted code."""
    return {
        **vars(builtins),
        "__import__": adopted_import,
        "__tapegrad_array__": _method_array,
        "__tapegrad_astype__": _astype,
        "__tapegrad_complex__": as_complex,
        "__tapegrad_copy__": _copy,
        "__tapegrad_dot__": _dot,
        "__tapegrad_float__": as_float,
        "__tapegrad_as_type__": as_type,
        "__tapegrad_format__": by_format,
        "__tapegrad_hasattr__": has_attribute,
        "__tapegrad_list__": _array_of,
        "__tapegrad_meant__": _meant,
        "__tapegrad_percent__": by_percent,
        "__tapegrad_spec__": by_spec,
        "__tapegrad_str__": as_text,
        "__tapegrad_type__": type_of,
        SHOWN: shown,
        UNSEEN: unseen,
        PLAIN: plain_of,
        RUNNING: tape.RUNNING,
    }
