"""What `numpy`, `math`, `scipy` and others mean in adopted code, and its `__import__`.

Knows which module of tapegrad lies over which: a name that ours lacks is the original's own. Must
not know how modules are found or executed.
"""

from __future__ import annotations

import builtins
import functools
import importlib
import types
from typing import Any

import numpy as np

from tapegrad._adopt import scalars
from tapegrad._adopt.scalars import as_complex, as_float, of_statistics, type_of
from tapegrad._adopt.source import PLAIN, RUNNING
from tapegrad._arrays.buffers import hold, value_of
from tapegrad._arrays.conversion import UNCONVERTED
from tapegrad._core import tape
from tapegrad._core.values import in_trace

# Modules that mean others in adopted code, with all that is below them.
ROOTS = frozenset(("numpy", "math", "cmath", "scipy", "statistics", "numba"))

_made: dict[str, Any] = {}


class Layered(types.ModuleType):
    """A module of ours over another: a name that ours lacks is the other's."""

    def __init__(self, plain: types.ModuleType, ours: Any) -> None:
        super().__init__(plain.__name__, plain.__doc__)
        held = self.__dict__
        held["_plain"], held["_ours"] = plain, ours
        for name in ("__path__", "__file__", "__version__", "__all__", "__spec__"):
            if hasattr(plain, name):
                held[name] = getattr(plain, name)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._plain, name)
        below = f"{self.__name__}.{name}"
        if isinstance(found, types.ModuleType) and found.__name__ == below:
            found = meaning(below)
        elif self._ours is not None:
            found = getattr(self._ours, name, found)
        self.__dict__[name] = found
        return found

    def __dir__(self) -> list[str]:
        return dir(self._plain)


class _Statistics:
    def __getattr__(self, name: str) -> Any:
        return of_statistics(name)


def meaning(name: str) -> Any:
    """What a module of one of the `ROOTS` means in adopted code; ImportError as usual."""
    found = _made.get(name)
    if found is None:
        plain = importlib.import_module(name)
        root = name.partition(".")[0]
        if name in ("numpy", "math", "cmath"):
            found = importlib.import_module(f"tapegrad.{name}")
        elif root == "statistics":
            found = Layered(plain, _Statistics())
        elif root == "numba":
            found = Layered(plain, _Numba) if name == root else plain
        else:
            try:
                ours = importlib.import_module(f"tapegrad.{name}")
            except ImportError:
                ours = None
            found = Layered(plain, ours)
        _made[name] = found
    return found


class _Numba:
    """numba's decorators that give the Python function itself."""

    @staticmethod
    def jit(*args: Any, **_: Any) -> Any:
        return args[0] if args and callable(args[0]) else lambda function: function

    njit = generated_jit = jit
    prange = range

    @staticmethod
    def vectorize(*args: Any, **_: Any) -> Any:
        from tapegrad.numpy import vectorize

        return vectorize(args[0]) if args and callable(args[0]) else vectorize


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


def _copy(x: Any, *args: Any, **kwargs: Any) -> Any:
    """`x.copy()` in adopted code: a new array can be filled."""
    return hold(x.copy, args, kwargs)


def _astype(x: Any, *args: Any, **kwargs: Any) -> Any:
    """`x.astype(dtype)` likewise; it may be x itself."""
    made = x.astype(*args, **kwargs)
    return made if made is x else hold(lambda: made, (), {})


def _method_array(method: Any) -> Any:
    """A method `__array__` of adopted code, for NumPy; our own conversions ask the program's."""

    @functools.wraps(method)
    def __array__(self: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N807
        made = value_of(method(self, *args, **kwargs))
        return np.asarray(made) if in_trace(made) else made  # which is refused by name

    setattr(__array__, UNCONVERTED, method)
    return __array__


@functools.cache
def plain_functions() -> frozenset[str]:
    """Functions of numbers and arrays alone: where no transform is open they are NumPy's own."""
    from tapegrad.numpy._holding import MAKING
    from tapegrad.numpy._lists import JOINING, LIFTED

    return frozenset(MAKING | JOINING | scalars.NAMES).union(*LIFTED.values())


_PLAIN_MODULES = {
    f"tapegrad.{name}": name for name in ("numpy", "numpy.linalg", "numpy.fft", "math", "cmath")
}


def plain_of(found: Any) -> Any:
    """What stands for a module or a function of ours where no transform is open."""
    if isinstance(found, Layered):
        return found._plain
    if isinstance(found, types.ModuleType):
        plain = _PLAIN_MODULES.get(found.__name__)
        return importlib.import_module(plain) if plain else found
    if isinstance(found, types.FunctionType):
        from tapegrad.numpy._holding import PLAIN_FUNCTIONS

        return PLAIN_FUNCTIONS.get(found) or scalars.PLAIN_FUNCTIONS.get(found, found)
    return found


def names_of_builtins() -> dict[str, Any]:
    """The builtins of adopted code."""
    return {
        **vars(builtins),
        "__import__": adopted_import,
        "__tapegrad_array__": _method_array,
        "__tapegrad_astype__": _astype,
        "__tapegrad_complex__": as_complex,
        "__tapegrad_copy__": _copy,
        "__tapegrad_float__": as_float,
        "__tapegrad_type__": type_of,
        PLAIN: plain_of,
        RUNNING: tape.RUNNING,
    }
