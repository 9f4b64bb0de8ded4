"""Functions that close over values in a trace, as functions of these values.

Knows where a Python function keeps what it uses: cells, defaults, partial arguments, attributes,
names of its module. Must not know derivatives. A rule that runs a user's function later, on a tape
of its own, takes what this finds for arguments.
"""

from __future__ import annotations

import copy
import enum
import functools
import types
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._core.values import in_trace
from tapegrad._tree import LEAF, flatten, unflatten

_DEEPEST = 12


class Hoisted:
    """Traced values in any part of a tree of values, functions and objects.

    `values` are the values in a trace, each once. `filled(others)` is the same tree with others in
    their places. Functions and objects that hold some are made anew, so that what they hold
    besides is shared: a counter of calls in a cell goes on counting. A value that is kept where
    this does not look (a generator, an array of objects, a C extension) is not found: whoever
    calls the function must look whether its result is in a trace.

    `then()` is the same of functions that keep the variables that they close over now, and of
    objects that hold some with their attributes: a loop binds these anew, and a derivative is
    asked for after that.

    >>> import tapegrad
    >>> def slope(rate):
    ...     found = Hoisted(lambda t: rate * t)
    ...     return found.values[0] * found.filled([2.0])(5.0)
    >>> tapegrad.grad(slope)(3.0)
    np.float64(10.0)
    """

    def __init__(self, tree: Any) -> None:
        self.tree = tree
        self.values: list[Any] = []
        self._places: dict[int, int] = {}
        self._users: dict[int, list[int]] = {}  # by the id of a part, those that hold it
        self._seen: dict[int, Any] = {}  # keeps what has an id here alive
        self._look(tree, 0)
        self._holders = self._reached()

    def filled(self, values: Sequence[Any]) -> Any:
        """The tree with other values in the places of those found."""
        return _Filling(self, values, self._holders).of(self.tree)

    def again(self, values: Sequence[Any]) -> Hoisted:
        """The same of a tree with other values."""
        return Hoisted(self.filled(values))

    def then(self) -> Hoisted:
        """The same of functions that close over what they do now; the values are in this order."""
        closures: set[int] = set()
        _find_closures(self.tree, closures, {})
        reached = closures | self._holders
        if not reached:
            return self
        made = Hoisted(_Filling(self, self.values, reached, all_cells=True).of(self.tree))
        order = {id(x): i for i, x in enumerate(self.values)}
        if len(made.values) != len(self.values) or not all(id(x) in order for x in made.values):
            return self
        made.values = self.values
        made._places = {key: order[key] for key in made._places}
        return made

    def state(self) -> Any:
        """The tree as it is now, without its values, to be compared by ==.

        Equal ones are the same function of their values.
        """
        return _State(self).of(self.tree, 0)

    def _look(self, x: Any, depth: int) -> None:
        """Keep what is in a trace inside, and who holds whom."""
        if in_trace(x):
            if id(x) not in self._places:
                self._places[id(x)] = len(self.values)
                self.values.append(x)
            return
        if _is_plain(x) or depth > _DEEPEST or id(x) in self._seen:
            return
        self._seen[id(x)] = x
        for part in _parts(x):
            self._look(part, depth + 1)
            if id(part) in self._places or id(part) in self._seen:
                self._users.setdefault(id(part), []).append(id(x))

    def _reached(self) -> set[int]:
        """The ids of all that hold something in a trace, directly or not, in cycles too."""
        found: set[int] = set()
        waiting = list(self._places)
        while waiting:
            for user in self._users.get(waiting.pop(), ()):
                if user not in found:
                    found.add(user)
                    waiting.append(user)
        return found


def _find_closures(x: Any, found: set[int], seen: dict[int, Any], depth: int = 0) -> bool:
    """Add the ids of the user's closures, of what holds them, and of objects in them."""
    if in_trace(x) or _is_plain(x) or depth > _DEEPEST or id(x) in seen:
        return id(x) in found
    seen[id(x)] = x
    parts: Sequence[Any] = ()
    if isinstance(x, types.FunctionType):
        if _is_librarys(x):
            return False
        cells = [cell.cell_contents for cell in x.__closure__ or () if _is_full(cell)]
        parts = [*cells, *(x.__defaults__ or ()), *(x.__kwdefaults__ or {}).values()]
        if cells:
            found.add(id(x))
        found.update(id(part) for part in cells if _is_of_package(part, x))
    elif isinstance(x, types.MethodType):
        parts = [x.__func__]
        if _is_of_package(x.__self__, x.__func__):
            found.update((id(x.__self__), id(x)))
    elif isinstance(x, functools.partial):
        parts = [x.func, *x.args, *x.keywords.values()]
    else:
        leaves, structure = flatten(x)
        parts = leaves if structure is not LEAF else ()
    for part in parts:
        if _find_closures(part, found, seen, depth + 1):
            found.add(id(x))
    return id(x) in found


def _is_of_package(x: Any, f: Any) -> bool:
    """Whether x is an object of a class of the same package as a function."""
    scope = getattr(f, "__globals__", {})
    if in_trace(x) or _is_plain(x) or isinstance(x, enum.Enum) or not _attributes(x):
        return False
    home = str(scope.get("__name__")).partition(".")[0]
    return home == type(x).__module__.partition(".")[0] != "tapegrad"


def _is_librarys(f: types.FunctionType) -> bool:
    module = f.__globals__.get("__name__") or ""
    return module.partition(".")[0] in ("numpy", "scipy", "tapegrad")


class _State:
    """One look at what a tree holds: values by their places, arrays and numbers by their bits.

    Functions are their code and what they read, objects their attributes.
    """

    def __init__(self, hoisted: Hoisted) -> None:
        self.places = hoisted._places
        self.seen: dict[int, int] = {}

    def of(self, x: Any, depth: int) -> Any:
        place = self.places.get(id(x))
        if place is not None:
            return "value", place
        if in_trace(x) or depth > _DEEPEST:
            return object()  # equal to nothing
        kind = type(x)
        if kind is float or kind is complex:
            return kind, repr(x)
        if _is_plain(x):
            return self._of_plain(x)
        if id(x) in self.seen:
            return "seen", self.seen[id(x)]
        self.seen[id(x)] = len(self.seen)
        if isinstance(x, types.FunctionType):
            return self._of_function(x, depth + 1)
        leaves, structure = flatten(x)
        if structure is not LEAF:
            return structure, self._of_all(leaves, depth)
        held = _parts(x)
        return (kind, self._of_all(held, depth)) if held else (kind, _Itself(x))

    def _of_all(self, parts: Sequence[Any], depth: int) -> list[Any]:
        return [self.of(part, depth + 1) for part in parts]

    def _of_plain(self, x: Any) -> Any:
        if isinstance(x, (np.ndarray, np.generic)) and not x.dtype.hasobject:
            return type(x), x.shape, x.dtype, np.asarray(x).strides, x.tobytes()
        return (type(x), x) if isinstance(x, (str, bytes, int)) else (type(x), _Itself(x))

    def _of_function(self, f: types.FunctionType, depth: int) -> Any:
        if _is_librarys(f):
            return types.FunctionType, _Itself(f)
        cells = f.__closure__ or ()
        held = [cell.cell_contents if _is_full(cell) else None for cell in cells]
        scope = f.__globals__
        names = [name for name in _names_in(f.__code__) if name in scope]
        held += [f.__defaults__, f.__kwdefaults__, vars(f) or None]
        held += [scope[name] for name in names]
        return f.__code__, self._of_all(held, depth)


class _Itself:
    """An object that is equal to itself alone, and stays alive."""

    def __init__(self, x: Any) -> None:
        self.x = x

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Itself) and self.x is other.x

    def __hash__(self) -> int:
        return id(self.x)


class _Filling:
    """One replacement of all values, in which each holder is made anew once.

    Functions and objects are made before their parts are, so that they may be in cycles (as a
    function that calls itself). A list that holds itself keeps what is in a trace, which the
    caller sees.
    """

    def __init__(
        self,
        hoisted: Hoisted,
        values: Sequence[Any],
        holders: set[int],
        *,
        all_cells: bool = False,
    ) -> None:
        """`holders`: the ids of what is made anew; `all_cells`: cells that hold none of it too."""
        self.hoisted, self.values = hoisted, values
        self.holders, self.all_cells = holders, all_cells
        self.made: dict[int, Any] = {}
        self.cells: dict[int, types.CellType] = {}  # which functions share

    def of(self, x: Any) -> Any:
        place = self.hoisted._places.get(id(x))
        if place is not None:
            return self.values[place]
        if id(x) not in self.holders:
            return x
        if id(x) not in self.made:
            self.made[id(x)] = x  # a cycle of containers keeps the old one: see the class
            self.made[id(x)] = self._rebuilt(x)
        return self.made[id(x)]

    def _rebuilt(self, x: Any) -> Any:
        if isinstance(x, types.FunctionType):
            return self._function(x)
        if isinstance(x, types.MethodType):
            return types.MethodType(self.of(x.__func__), self.of(x.__self__))
        if isinstance(x, functools.partial):
            args, keywords = tuple(map(self.of, x.args)), x.keywords
            return functools.partial(
                self.of(x.func), *args, **{name: self.of(part) for name, part in keywords.items()}
            )
        leaves, structure = flatten(x, lambda part: part is not x and not self._is_touched(part))
        if structure is not LEAF:
            return unflatten(structure, list(map(self.of, leaves)))
        made = self.made[id(x)] = _blank(x)
        for name, part in _attributes(x).items():
            object.__setattr__(made, name, self.of(part))
        return made

    def _function(self, f: types.FunctionType) -> Any:
        cells = f.__closure__
        new = []
        if cells is not None:
            new = [cell for cell in cells if self._changes(cell) and id(cell) not in self.cells]
            self.cells.update({id(cell): types.CellType() for cell in new})
            cells = tuple(self.cells.get(id(cell), cell) for cell in cells)
        names = [name for name, x in _globals_of(f).items() if self._holds(x)]
        scope = dict(f.__globals__) if names else f.__globals__
        made = types.FunctionType(f.__code__, scope, f.__name__, None, cells)
        self.made[id(f)] = made
        for cell in new:
            self.cells[id(cell)].cell_contents = self.of(cell.cell_contents)
        scope.update({name: self.of(f.__globals__[name]) for name in names})
        if f.__defaults__ is not None:
            made.__defaults__ = tuple(map(self.of, f.__defaults__))
        if f.__kwdefaults__ is not None:
            made.__kwdefaults__ = {name: self.of(x) for name, x in f.__kwdefaults__.items()}
        made.__qualname__, made.__doc__, made.__module__ = f.__qualname__, f.__doc__, f.__module__
        vars(made).update({name: self.of(x) for name, x in vars(f).items()})
        return made

    def _is_touched(self, container: Any) -> bool:
        """Whether a container is made anew: others, which may have more than parts, stay."""
        return any(map(self._holds, flatten(container)[0]))

    def _holds(self, x: Any) -> bool:
        return in_trace(x) or id(x) in self.holders

    def _changes(self, cell: Any) -> bool:
        return _is_full(cell) and (self.all_cells or self._holds(cell.cell_contents))


_PLAIN = (str, bytes, int, float, complex, type(None), type, types.ModuleType, types.CodeType)

# Packages whose objects hold nothing of a trace, and much else that their threads change while one
# looks: a cluster's client leads to all that its scheduler knows.
_ENGINES = frozenset(("distributed", "threading", "_thread", "asyncio", "logging"))


def _is_plain(x: Any) -> bool:
    kind = type(x)
    return (
        issubclass(kind, _PLAIN)
        or kind.__module__ == "numpy"
        or str(kind.__module__).partition(".")[0] in _ENGINES
        or kind is types.BuiltinFunctionType
        or kind is types.MethodWrapperType
        or kind is Hoisted  # what it found is of another call, and is never used again
    )


def _is_full(cell: Any) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return False
    return True


def _parts(x: Any) -> list[Any]:
    """Contents of an object, as far as it can be made anew with other parts."""
    if isinstance(x, types.FunctionType):
        cells = [cell.cell_contents for cell in x.__closure__ or () if _is_full(cell)]
        named = [*(x.__kwdefaults__ or {}).values(), *vars(x).values()]
        return [*cells, *(x.__defaults__ or ()), *named, *_globals_of(x).values()]
    if isinstance(x, types.MethodType):
        return [x.__func__, x.__self__]
    if isinstance(x, functools.partial):
        return [x.func, *x.args, *x.keywords.values()]
    leaves, structure = flatten(x)
    if structure is not LEAF:
        return leaves
    return list(_attributes(x).values())


def _globals_of(f: types.FunctionType) -> dict[str, Any]:
    """The names of its module that a function uses, but for modules, classes and numbers."""
    scope = f.__globals__
    if _is_librarys(f):
        return {}
    return {
        name: scope[name]
        for name in _names_in(f.__code__)
        if name in scope and not _is_plain(scope[name])
    }


def _names_in(code: types.CodeType) -> list[str]:
    """The names that a function uses, and the functions in its body."""
    inner = [_names_in(x) for x in code.co_consts if isinstance(x, types.CodeType)]
    return [*code.co_names, *(name for names in inner for name in names)]


def _blank(x: Any) -> Any:
    """An object of the same class whose attributes are still to be set."""
    try:
        return object.__new__(type(x))
    except TypeError:  # of a class over one of Python's own, as SimpleNamespace
        return copy.copy(x)


_HOLDING = frozenset(("scipy.optimize._constraints",))  # bounds, and functions of the user's


def _attributes(x: Any) -> dict[str, Any]:
    """The attributes of an instance of a class of the user's own."""
    kind = type(x)
    root = kind.__module__.partition(".")[0]
    if root in ("builtins", "numpy", "scipy", "functools") and kind.__module__ not in _HOLDING:
        return {}
    found = dict(getattr(x, "__dict__", {}))
    for base in kind.__mro__:
        slots = vars(base).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__") and hasattr(x, name):
                found[name] = getattr(x, name)
    return found


__all__ = ["Hoisted"]
