"""SciPy's own modules as adopted code: copies that nobody else sees.

Much of SciPy is Python over few compiled functions. A copy of such a module is executed as that of
an adopted package is. The private modules of SciPy that it imports are copies too, and the public
ones have the functions of `tapegrad.scipy`; the functions of compiled modules are SciPy's. Nothing
is entered in `sys.modules` or `sys.meta_path`.

Knows SciPy's modules and how adopted code is executed. Must not know single functions: one that
has to be another in a copy is declared elsewhere (`in_place_of`).
"""

from __future__ import annotations

import collections
import importlib
import importlib.machinery
import importlib.util
import sys
import threading
import types
from typing import Any

import tapegrad.numpy
from tapegrad._adopt.loading import AdoptedModule, Loader, execute
from tapegrad._adopt.names import adopted_import, layered, over
from tapegrad._block import setting
from tapegrad._core.forms import Unsupported
from tapegrad._core.rule import REGISTRY
from tapegrad._core.tape import CURRENT
from tapegrad._core.types import Function
from tapegrad.scipy._results import is_result, result_class

# SciPy's modules as adopted code sees them, by name, and the copies.
_SEEN: dict[str, Any] = {}
_COPIES: dict[str, Any] = {}
_LOCK = threading.RLock()
# Functions and classes in copies where these see ours, by SciPy's.
_REPLACED: dict[Any, Any] = {}
# Private functions of ours in place of those of the same name in a copy, by the copy's name.
_IN_PLACE: dict[str, list[Function]] = {}
# SciPy's names for NumPy's functions, until SciPy 1.17 and since.
_ARRAYS = ("scipy._lib.array_api_compat.numpy", "scipy._external.array_api_compat.numpy")
# The attribute of a function that computes by a copy.
BY_COPY = "_computes_by_copy"


def in_place_of(module: str) -> Function:
    """Declare a function that a copy of a module uses in place of its own of the same name."""

    def declare(function: Function) -> Function:
        _IN_PLACE.setdefault(module, []).append(function)
        return function

    return declare


def _public(plain: types.ModuleType) -> Any:
    """A public module as copies see it: functions of ours, or SciPy's in the copies."""

    def find(name: str) -> Any:
        found = getattr(plain, name)
        if isinstance(found, types.ModuleType):
            return _seen(found.__name__) if _is_scipys(found.__name__) else found
        ours = getattr(_ours(plain.__name__), name, found)
        return copy_of(found) if ours is found or not _is_known(ours) else ours

    return layered(plain, find)


def copy_of(found: Any) -> Any:
    """The function or class of SciPy's in the copy of its module; others as they are."""
    home = getattr(found, "__module__", None)
    if not (isinstance(home, str) and _is_scipys(home) and callable(found)) or _is_error(found):
        return found
    return getattr(module_copy(home), getattr(found, "__name__", ""), found)


def own_copy(found: Any) -> Any:
    """The same, also where copies see a function or class of ours instead."""
    seen = copy_of(found)
    return _REPLACED.get(found, seen)


def module_copy(name: str) -> Any:
    """The copy of a module; that of a compiled one has the same functions."""
    made = _COPIES.get(name)
    if made is not None:
        return made
    with _LOCK, setting(CURRENT, None):  # arrays that it makes belong to no transform
        return _COPIES.get(name) or _made(name)


def _made(name: str) -> Any:
    plain = importlib.import_module(name)
    file = getattr(plain, "__file__", None) or ""
    if not file.endswith(".py"):  # compiled: a copy may set its attributes
        made: Any = types.ModuleType(name, plain.__doc__)
        vars(made).update(vars(plain))
    elif name in _ARRAYS:
        made = over(plain, tapegrad.numpy)
        made.clip = _clip
    elif hasattr(plain, "__path__") and _is_public(name):
        made = _public(plain)
    else:
        made = AdoptedModule(name, plain.__doc__)
        names = ("__path__", "__file__", "__package__", "__spec__", "__loader__")
        vars(made).update({key: vars(plain)[key] for key in names if key in vars(plain)})
        _COPIES[name] = made  # modules may import each other
        try:
            loader = Loader(importlib.machinery.SourceFileLoader(name, file))
            execute(loader.get_code(name), vars(made), _import, _Bound(made, plain))
        except BaseException:
            del _COPIES[name]
            raise
        _put_ours(made, plain)
    _COPIES[name] = made
    parent, _, last = name.rpartition(".")
    if parent:
        holder = _seen(parent)
        if holder is not sys.modules.get(parent):
            vars(holder)[last] = _seen(name)
    return made


def _clip(x: Any, /, min: Any = None, max: Any = None, **options: Any) -> Any:
    """That of the array API, whose bounds may be left out."""
    return tapegrad.numpy.clip(x, min, max, **options)


class _Bound(collections.UserDict[str, Any]):
    """The names of a copy as its code binds them: errors and results are of SciPy's classes."""

    def __init__(self, made: Any, plain: types.ModuleType) -> None:
        self.data, self.plain, self.home = vars(made), vars(plain), made.__name__

    def __setitem__(self, name: str, value: Any) -> None:
        self.data[name] = self._of_scipy(value, self.plain.get(name))

    def _of_scipy(self, own: Any, theirs: Any) -> Any:
        """The class that takes the place of one that the copy makes."""
        if not (isinstance(own, type) and isinstance(theirs, type)):
            return own
        if own.__module__ != self.home or theirs in own.__mro__:
            return own
        if _is_error(own) or _is_setting(own):
            return theirs
        return result_class(own, theirs, self.data) if is_result(own) else own


def _put_ours(made: Any, plain: types.ModuleType) -> None:
    """Functions and classes in a copy that have derivatives are ours."""
    for function in _IN_PLACE.get(made.__name__, ()):
        name = function.__name__
        if hasattr(plain, name):
            _REPLACED[getattr(plain, name)] = getattr(made, name)
            setattr(made, name, function)
    home = made.__name__
    while not _is_public(home):
        home = home.rpartition(".")[0]
    public, ours = sys.modules[home], _ours(home)
    for name, own in list(vars(made).items()):
        theirs = vars(plain).get(name)
        if theirs is None or getattr(own, "__module__", None) != made.__name__:
            continue
        if getattr(public, name, None) is theirs and not _has_private_keywords(own):
            known = getattr(ours, name, theirs)
            if known is not theirs and _is_known(known):
                _REPLACED[theirs] = own
                setattr(made, name, known)


def _has_private_keywords(function: Any) -> bool:
    """Whether it is decorated so that SciPy calls it with keywords that only SciPy knows."""
    code = getattr(function, "__code__", None)
    return code is not None and code.co_name == "axis_nan_policy_wrapper"


def _is_known(ours: Any) -> bool:
    """Whether a function of `tapegrad.scipy` has derivatives of its own."""
    if isinstance(ours, type):
        return True
    refused = isinstance(REGISTRY.get(ours), Unsupported) if callable(ours) else False
    return not refused and not hasattr(ours, BY_COPY)


def _is_error(found: Any) -> bool:
    return isinstance(found, type) and issubclass(found, BaseException)


def _is_setting(found: Any) -> bool:
    """Whether users make objects of this class, which functions ask for: `method=` of tests."""
    bases = getattr(found, "__mro__", ())
    return any(base.__name__ == "ResamplingMethod" for base in bases)


def _is_scipys(name: str) -> bool:
    return name == "scipy" or name.startswith("scipy.")


def _is_public(name: str) -> bool:
    return not any(part.startswith("_") for part in name.split("."))


def _ours(name: str) -> Any:
    """The module of `tapegrad.scipy` of the same name, or None."""
    if not _is_public(name):
        return None
    try:
        return importlib.import_module(f"tapegrad.{name}")
    except ImportError:
        return None


def _seen(name: str) -> Any:
    """A module of SciPy's as copies see it."""
    found = _SEEN.get(name)
    if found is None:
        covered = _ours(name) is not None
        plain = importlib.import_module(name)
        _SEEN[name] = found = _public(plain) if covered else module_copy(name)
    return found


def _import(
    name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0
) -> Any:
    """`__import__` in copies."""
    if level:
        name = importlib.util.resolve_name("." * level + name, globals["__package__"])
    if not _is_scipys(name):
        return adopted_import(name, globals, locals, fromlist)
    found = _seen(name)
    if not fromlist:
        return _seen("scipy")
    for part in fromlist:
        if part != "*" and not hasattr(found, part):
            try:
                setattr(found, part, _seen(f"{name}.{part}"))
            except ImportError:
                break  # the import statement says what is missing
    return found


__all__ = ["BY_COPY", "copy_of", "in_place_of", "module_copy", "own_copy"]
