"""The search for what a function may read: through functions, objects and containers it reaches.

Knows where Python keeps what a function refers to, and how each such place is read and written.
Must not know programs, nor what a change means.

Code of libraries and installed packages is taken to be fixed, other than that of the package that
the function itself belongs to; what their objects hold is not, nor are the data in their classes.
"""

from __future__ import annotations

import array
import builtins
import collections
import contextvars
import functools
import importlib.util
import io
import os
import sys
import types
import weakref
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tapegrad._compile import standard
from tapegrad._compile.names import names_in, stored_by
from tapegrad._compile.places import (
    Cell,
    Elements,
    InClass,
    Items,
    Loose,
    Missing,
    Names,
    OfClass,
    OfFunction,
    OfLibrary,
    Place,
    Slots,
    entries,
)
from tapegrad._compile.standard import is_standard
from tapegrad._core.types import Function
from tapegrad._core.values import in_trace
from tapegrad._program.containers import FOLLOWED
from tapegrad._transforms.wrapper import Transformed

# Packages whose functions hold nothing of a program's own.
_LIBRARIES = frozenset(("numpy", "tapegrad", "scipy", "autograd", "torch", "jax"))
# Modules among these, and of Python's own, whose objects hold what a program has put there.
_HOLDING = (
    "numpy.",
    "scipy.",
    "tapegrad.numpy.",
    "tapegrad.scipy.",
    "tapegrad.torch",
    *standard.HOLDING,
)
# The file of functions that call numba's, but where a transform is open: then the Python function.
_OF_NUMBA = "tapegrad._adopt.jitted"
PLAIN = frozenset((bool, int, float, complex, str, bytes, type(None), type(Ellipsis)))
_MOST = 50_000  # values, beyond which a function's surroundings are not looked at


class Settings(NamedTuple):
    """The data of an installed package's class, by names, and those of tables among them."""

    kind: type
    names: list[str]
    tables: list[str]

    def read(self) -> dict[str, Any]:
        """A copy of the present state, to see what a call of f changes."""
        held = vars(self.kind)
        now = {name: held.get(name, Missing) for name in self.names}
        return now | {name: entries(now[name]) for name in self.tables} | {_NEW: len(held)}


class Search:
    """The places that a function may read, and the arrays and generators in them.

    ran: code that has run in calls of f. Of its package, if that is installed, no other is
    followed: on a path of a program the same code runs.
    counted: by the id of an installed package's class, names of data that calls of f change
    themselves, as counters of objects. They are not looked at.
    state: keys of variables that calls of f change, and hand on to the next call. Nor are these.
    lean: whether of a library's objects is looked at what most functions read alone.
    """

    def __init__(
        self,
        f: Any,
        ran: set[types.CodeType] | None = None,
        counted: Mapping[int, set[str]] = types.MappingProxyType({}),
        state: frozenset[Any] = frozenset(),
        *,
        lean: bool = False,
    ) -> None:
        self.ran = ran
        self.counted = counted
        self.state = state
        self.lean = lean
        self.settings: list[Settings] = []
        self.places: list[Place] = []
        self.arrays: list[Any] = []
        self.random: list[Any] = []
        self.caches: list[standard.Cache] = []
        self.unseen: str | None = None  # why not all that it may read can be looked at
        self.root = _package(_unwrapped(f))  # installed or not, it is looked at
        self.names: set[str] = set()  # of attributes, in all code that was found
        self.known: dict[int, Any] = {}
        self.asked: set[tuple[int, str]] = set()  # names that these are looked at for
        self.modules: list[Any] = []  # that code may read attributes of
        self.looked_for: set[str] = set()  # names, in as many modules as follows
        self.looked_at = 0
        self.by_text = False  # whether own modules were looked at for all names
        self.stores = False  # whether some code sets attributes
        self.bare: list[Any] = []  # functions without attributes, which they may get
        self.classes: set[int] = set()  # by id, those that are looked at
        self.used: set[str] = set()  # names of attributes, in code other than constructors
        self.doubtful: list[tuple[str, Any]] = []  # of classes, that may be used up
        self.finds_loggers = self.counts_decimals = False  # by functions of Python's own
        self.count = 0
        self.waiting: list[Any] = [f]
        while self.waiting and self.unseen is None:
            self._follow(self.waiting.pop())
            if self.count > _MOST:
                self.unseen = _TOO_MUCH
            if not self.waiting:
                self._of_modules()
                self._of_names()
            if not self.waiting and (self.stores or self._asks_for_missing()):
                for function in self.bare:
                    self._hold(Items(function.__dict__, function))
                self.bare = []
        if "random" in self.names and "numpy.random" in sys.modules:
            self.random.append(_global_generator())

    def _follow(self, value: Any) -> None:
        kind = type(value)
        if kind in PLAIN or kind in _NOTHING or value is Loose or in_trace(value):
            return
        if issubclass(kind, np.generic) and not (
            hasattr(value, "__dict__") or (issubclass(kind, np.void) and value.dtype.names)
        ):
            return
        if id(value) in self.known:
            return
        self.known[id(value)] = value
        for of, way in self._ways:
            if issubclass(kind, of):
                way(self, value)
                if kind is not of and of in _BUILTIN:
                    self._class(kind)
                    self._attributes(value)
                return
        self._object(value)

    def _hold(self, place: Place, *, names: Any = None) -> None:
        """A place with values, which are followed.

        names: of these values, where one that is used up is followed only if its name is used.
        """
        if self.state:
            place.loosen(self.state)
        values = place.read()
        self.count += len(values)
        self.places.append(place)
        if names is None:
            self.waiting.extend(values)
            return
        for name, value in zip(names, values, strict=False):
            kind = type(value)
            if kind not in PLAIN and kind not in _FUNCTIONS and standard.is_spent(value):
                self.doubtful.append((name, value))
            else:
                self.waiting.append(value)

    # -- containers ------------------------------------------------------------------------------

    def _dict(self, value: Any) -> None:
        self._hold(Items(value))
        if isinstance(value, collections.defaultdict):
            put_back = functools.partial(_set_factory, value)
            self._hold(Place(lambda: [value.default_factory], put_back))

    def _list(self, value: Any) -> None:
        self._hold(Elements(value))

    def _tuple(self, value: Any) -> None:  # whoever holds it holds its parts
        self.count += len(value)
        self.waiting.extend(tuple.__iter__(value))

    def _deque(self, value: Any) -> None:
        self._hold(Place(lambda: list(value), functools.partial(_refill, value, value.extend)))

    def _set(self, value: Any) -> None:
        self._hold(Place(lambda: list(value), functools.partial(_refill, value, value.update)))

    def _frozen(self, value: Any) -> None:
        self._hold(Place(lambda: list(value)))

    def _bytes(self, value: Any) -> None:
        def write(was: list[Any]) -> None:
            np.frombuffer(value, np.uint8)[:] = np.frombuffer(was[0], np.uint8)

        self._hold(Place(lambda: [bytes(value)], write))

    def _mapping(self, value: Any) -> None:
        self._hold(Place(lambda: [*value.keys(), *value.values()]))

    # -- what NumPy's arrays and generators are ---------------------------------------------------

    def _array(self, value: Any) -> None:
        other = type(value) is not np.ndarray
        if other or value.dtype == object:  # of these a view, or the elements, are compared
            self._hold(Place(lambda: [value.shape, value.strides, value.dtype.str]))
        if value.dtype == object:
            self._hold(Place(lambda: list(np.asarray(value).flat)))
        else:
            self.arrays.append(np.ndarray.view(value, np.ndarray) if other else value)
        if other:
            self._class(type(value))
            self._attributes(value)

    def _record(self, value: Any) -> None:
        """An element of a structured array: a number of NumPy's that can be written to."""

        def write(was: list[Any]) -> None:
            (before,) = np.frombuffer(was[0], value.dtype)
            for name in value.dtype.names:
                value[name] = before[name]

        put_back = None if value.dtype.hasobject else write
        self._hold(Place(lambda: [value.tobytes()], put_back))

    # -- functions -------------------------------------------------------------------------------

    def _transformed(self, value: Any) -> None:
        self.waiting.extend((value._made[1], *value._made[2].values()))

    def _partial(self, value: Any) -> None:
        self.waiting.extend((value.func, value.args, value.keywords))
        self._attributes(value)

    def _method(self, value: Any) -> None:
        self.waiting.append(value.__self__)
        self.waiting.append(getattr(value, "__func__", None))

    def _function(self, f: Any) -> None:
        if self._is_fixed(f) or f.__globals__.get("__name__") == _OF_NUMBA:
            self.waiting.append(getattr(f, "__wrapped__", None))
            for cell in f.__closure__ or ():  # as of a decorator: a function of the program's
                self.waiting += [x for x in Cell(cell).read() if isinstance(x, types.FunctionType)]
            if f.__name__ in standard.ENVIRONMENT and is_standard(_module_of(f)):
                self.waiting.append(os.environ)
            elif f.__name__ == "getLogger" and _module_of(f) == "logging":
                self.finds_loggers = True
            return
        is_unused = self.ran is not None and f.__code__ not in self.ran
        if is_unused and _home(f.__globals__) == self.root:
            return
        for cell in f.__closure__ or ():
            self._hold(Cell(cell))
        self._hold(OfFunction(f))
        if f.__dict__:
            self._hold(Items(f.__dict__, f))
        else:
            self.bare.append(f)
        self._code(f.__code__, f.__globals__)

    def _code(self, code: types.CodeType, known: dict[str, Any]) -> None:
        """Names that code reads or sets: globals, and modules that it imports itself."""
        found = names_in(code)
        self.names |= found.attributes
        constructs = code.co_name in _CONSTRUCTORS
        if not constructs:
            self.used |= found.attributes
        self.stores |= found.stores
        looked = [name for name in found.globals if self._is_looked_at(name, known)]
        if not _BY_GLOBALS.isdisjoint((*found.globals, *found.attributes)):
            looked = [name for name in known if not _is_own(name)]  # any of them may be meant
            self._hold(Place(lambda: [len(known)]))
        if looked:
            self._names(known, looked, constructs=constructs)
        for name, level in found.imported:
            package = known.get("__package__") or ""
            try:
                name = importlib.util.resolve_name("." * level + name, package)
            except ImportError:
                continue
            for part in {name, name.partition(".")[0]}:
                if not _of_library(part):
                    self._hold(Place(functools.partial(_module_named, part)))
        for name, attribute in found.parts:
            module = known.get(name, sys.modules.get(name))
            if isinstance(module, types.ModuleType) and is_standard(module.__name__):
                self._part(module, attribute)

    def _is_looked_at(self, name: str, known: dict[str, Any]) -> bool:
        """Whether a name that code reads or sets is one of its module's."""
        found = known.get(name, Missing)
        if isinstance(found, types.ModuleType) and _of_library(found.__name__):
            if found.__name__ == "random":
                self.random.append(found._inst)
            return True  # another may get its name, as of `xp`
        of_python = vars(builtins).get(name, Missing) if found is Missing else Missing
        if of_python is Missing:
            return True
        if not isinstance(of_python, (types.BuiltinFunctionType, type)) and not _is_own(name):
            self._names(vars(builtins), [name])  # where a program has put it
        return not _is_own(name)  # a global of the name may hide Python's

    def _part(self, module: types.ModuleType, name: str) -> None:
        """The object of a module of Python's own library under a name."""
        value = vars(module).get(name, Missing)
        if isinstance(value, _FOLLOWED_ALONE):
            self.waiting.append(value)
        elif not standard.is_fixed(value):
            self._names(vars(module), [name])

    def _names(
        self, holder: dict[str, Any], names: list[str], *, constructs: bool = False
    ) -> None:
        """The values of some names of a module, or a function's globals.

        constructs: whether these are the names in a constructor, whose counters do not count.
        """
        self._hold(Names(holder, names), names=names if constructs else None)

    # -- modules, classes, objects ---------------------------------------------------------------

    def _module(self, value: Any) -> None:
        """A module that is no library's: what it holds under names that code asks for."""
        self._of_decimals(value.__name__)
        if not _of_library(value.__name__):
            self.modules.append(value)

    def _asks_for_missing(self) -> bool:
        """Whether some code goes on where an attribute is missing, which there may be later."""
        return not self.names.isdisjoint(_BY_TEXT) or not self.names.isdisjoint(_BY_MISSING)

    def _of_modules(self) -> None:
        """The objects of modules under names that some code asks for."""
        fresh = self.names - self.looked_for  # the others were looked for in all earlier modules
        self.looked_for |= fresh
        earlier, self.looked_at = self.looked_at, len(self.modules)
        by_text = not self.names.isdisjoint(_BY_TEXT)
        if by_text and not self.by_text:
            earlier, self.by_text = 0, True
        if not fresh and earlier == len(self.modules):
            return
        for at, module in enumerate(list(self.modules)):
            held = vars(module)
            if at < earlier:
                names = sorted(fresh & held.keys())
            else:
                every = by_text and not self._is_installed(module.__name__)
                names = [
                    x
                    for x in held
                    if x in self.names or x == "__getattr__" or every and not x.startswith("__")
                ]
            names = [x for x in names if (id(module), x) not in self.asked]
            if names:
                self.asked.update((id(module), x) for x in names)
                self._names(held, names)
            is_open = "__getattr__" in held or self._asks_for_missing()
            if is_open and (id(module), _NEW) not in self.asked:
                self.asked.add((id(module), _NEW))
                self._hold(Place(functools.partial(_number_of, held)))

    def _of_names(self) -> None:
        """Objects that functions of Python's own library find by a text; used ones of classes."""
        if self.finds_loggers:
            self.finds_loggers = False
            self.waiting += standard.loggers(self.names)
            self._hold(Place(standard.count_of_loggers))
        if not self.names.isdisjoint(_BY_IMPORT):
            for name in self.names:
                found = sys.modules.get(name)
                if isinstance(found, types.ModuleType) and id(found) not in self.known:
                    self._hold(Place(functools.partial(_module_named, name)))
        used = [value for name, value in self.doubtful if name in self.used]
        if used:  # once: with them waiting, the search goes on
            self.doubtful = [pair for pair in self.doubtful if pair[0] not in self.used]
            self.waiting += used

    def _of_decimals(self, module: str) -> None:
        """Context of the arithmetic of decimal numbers."""
        if module in standard.DECIMALS and not self.counts_decimals:
            self.counts_decimals = True
            self._hold(Place(standard.context_of_decimals))

    def _class(self, value: Any) -> None:
        self._of_decimals(_module_of(value))
        if id(value) in self.classes:
            return
        for kind in (*value.__mro__, *type(value).__mro__):
            if id(kind) in self.classes or _of_library(_module_of(kind)):
                continue
            self.classes.add(id(kind))
            held = vars(kind)
            if self._is_installed(_module_of(kind)):
                self._settings(kind)
                continue
            names = [
                x
                for x, part in list(held.items())
                if not _is_own(x) or callable(part) or x == "__match_args__"
            ]
            self._hold(InClass(kind, names), names=names)

    def _settings(self, kind: type) -> None:
        """The data of an installed package's class, which a program may set; its code is fixed."""
        held = vars(kind)
        counted = self.counted.get(id(kind), set()) | {
            name
            for made in map(held.get, _CONSTRUCTORS)
            if isinstance(made, types.FunctionType)
            for name in stored_by(made.__code__)
            if type(held.get(name)) is int  # a counter of objects, as a rule
        }
        names = [x for x, part in list(held.items()) if x not in counted and _is_setting(x, part)]
        tables = [x for x in names if type(held[x]) in _TABLES]
        self.count += len(names)
        self.places.append(InClass(kind, names, tables, count=_NEW not in counted))
        self.settings.append(Settings(kind, names, tables))
        arrays = [held[x] for x in names if type(held[x]) is np.ndarray]
        self.waiting += [x for x in arrays if x.nbytes <= _SMALL]

    def _descriptor(self, value: Any) -> None:
        for name in ("fget", "fset", "func", "__func__", "args", "keywords", "dispatcher"):
            self.waiting.append(getattr(value, name, None))

    def _object(self, value: Any) -> None:
        kind = type(value)
        for followed, how in FOLLOWED.items():
            if issubclass(kind, followed):
                self._class(kind)
                self._hold(OfLibrary(value, how.lean or how if self.lean else how))
                return
        module = _module_of(kind)
        if module.startswith("numpy.random") or _is_pythons(value):
            self.random.append(value)
            return
        if kind.__bases__ == _NO_BASES and not _of_library(module):  # the frequent case
            self._class(kind)
            self._attributes(value)
            return
        if self._is_seen(value):
            return
        holding = f"{module}.{kind.__qualname__}".startswith(_HOLDING)
        if standard.is_spent(value, holding=holding):
            self.unseen = _SPENT.format(kind.__name__)
            return
        if _of_library(module) and not holding:
            for name in ("function", "__wrapped__"):  # a primitive, a custom function, a cache
                self.waiting.append(getattr(value, name, None))
            if module.startswith("tapegrad."):  # the rules of a custom function
                parts = list(getattr(value, "__dict__", {}).values())
                self.waiting += [x for x in parts if type(x) in _FUNCTIONS]
            return
        self._class(kind)
        self._attributes(value)

    def _is_seen(self, value: Any) -> bool:
        """Whether an object of Python's own library is looked at in a way of its own."""
        state = standard.state_of(value)
        if state is not None:
            self._class(type(value))
            self._hold(Place(*state))
            if isinstance(state[0], standard.Cache):
                self.caches.append(state[0])
            self.waiting.append(getattr(value, "__wrapped__", None))
        elif standard.holds_memory(value):
            self._class(type(value))
            self._bytes(value)
        else:
            self._of_decimals(_module_of(type(value)))
            return False
        return True

    def _attributes(self, value: Any) -> None:
        held = getattr(value, "__dict__", None)
        if type(held) is dict:
            self._hold(Items(held, value))
        if not _of_library(_module_of(type(value))):
            self._hold(OfClass(value))
        slots = [
            slot
            for kind in type(value).__mro__
            if "__slots__" in vars(kind)
            for slot in list(vars(kind).values())
            if type(slot) is types.MemberDescriptorType
        ]
        if slots:
            self._hold(Slots(value, slots))

    def _reference(self, value: Any) -> None:
        self._hold(Place(lambda: [value()]))

    def _variable(self, value: Any) -> None:
        self._hold(Place(lambda: [value.get(None)]))

    # -- what is fixed ----------------------------------------------------------------------------

    def _is_fixed(self, value: Any) -> bool:
        """Whether a function or class is the code of a library, or of an installed package."""
        if isinstance(value, types.FunctionType) and "__name__" not in value.__globals__:
            return False  # of `exec`: it has no module
        name = _module_of(value)
        return _of_library(name) or self._is_installed(name)

    def _is_installed(self, name: str) -> bool:
        package = name.partition(".")[0]
        return package != self.root and _is_installed(package)

    _ways: ClassVar[tuple[tuple[type, Callable[..., None]], ...]] = (
        (Transformed, _transformed),
        (functools.partial, _partial),
        (types.MethodType, _method),
        (types.FunctionType, _function),
        (types.BuiltinMethodType, _method),
        (types.MethodWrapperType, _method),
        (super, _method),
        (np.ndarray, _array),
        (np.void, _record),
        (dict, _dict),
        (list, _list),
        (tuple, _tuple),
        (set, _set),
        (frozenset, _frozen),
        (collections.deque, _deque),
        (bytearray, _bytes),
        (array.array, _bytes),
        (memoryview, _bytes),
        (types.MappingProxyType, _mapping),
        (types.ModuleType, _module),
        (type, _class),
        (property, _descriptor),
        (classmethod, _descriptor),
        (staticmethod, _descriptor),
        (functools.cached_property, _descriptor),
        (functools.partialmethod, _descriptor),
        (functools.singledispatchmethod, _descriptor),
        (weakref.ReferenceType, _reference),
        (contextvars.ContextVar, _variable),
    )


_NEW = ""  # stands for the names that a class gets
_TABLES = frozenset((dict, list, tuple))
_FEW = 100  # entries of a table of settings
_SMALL = 1 << 20  # bytes of an array of them
_NO_BASES = (object,)
# By these names are made at run time: of attributes, of globals, of modules.
_BY_TEXT = ("getattr", "vars", "__dict__", "attrgetter", "eval", "exec")
_BY_MISSING = ("hasattr", "AttributeError")
_BY_GLOBALS = frozenset(("globals", "eval", "exec", "__globals__", "f_globals"))
_BY_IMPORT = ("import_module", "__import__")
_CONSTRUCTORS = frozenset(("__init__", "__new__", "__post_init__"))
_TOO_MUCH = "what it may read from outside is too much to look at in each call"
_SPENT = (
    "it may take a value from a {} outside, which gives another one each time. Take it outside, "
    "and pass it"
)
_FUNCTIONS = (types.FunctionType, types.MethodType, functools.partial)
# Types that modules of Python's own library are not seen to hold anew: streams are, in a print.
_FOLLOWED_ALONE = (*_FUNCTIONS, types.BuiltinFunctionType, type, types.ModuleType, io.IOBase)
_NOTHING = frozenset((type(NotImplemented), types.CodeType, range, slice, np.dtype, np.ufunc))
# Classes that a program's own classes may be derived from, with attributes beside.
_BUILTIN = frozenset((dict, list, tuple, set, frozenset, collections.deque, bytearray))


def _set_factory(value: Any, was: list[Any]) -> None:
    value.default_factory = was[0]


def _refill(value: Any, fill: Any, was: list[Any]) -> None:
    value.clear()
    fill(was)


def _is_setting(name: str, value: Any) -> bool:
    """Whether it is data in a class: a number, a text, an array, or a small table of such."""
    if _is_own(name):
        return False
    kind = type(value)
    if kind in _TABLES:
        parts = value.values() if kind is dict else value
        return 0 < len(value) <= _FEW and all(map(_is_datum, parts))
    return _is_datum(value)


def _is_datum(value: Any) -> bool:
    kind = type(value)
    return kind in PLAIN or kind is np.ndarray or issubclass(kind, np.generic)


def _is_own(name: str) -> bool:
    """Whether a name of a class is Python's."""
    return name.startswith("__") and name.endswith("__")


def _number_of(held: dict[str, Any]) -> list[Any]:
    return [len(held)]


def _module_named(name: str) -> list[Any]:
    return [sys.modules.get(name)]


def _unwrapped(f: Any) -> Any:
    while True:
        if isinstance(f, Transformed):
            f = f._made[1]
        elif isinstance(f, functools.partial):
            f = f.func
        else:
            return f


def is_of_installed(f: Any) -> bool:
    """Whether a function, or the one inside its transforms, is of an installed package."""
    package = _package(_unwrapped(f))
    return not _of_library(package) and _is_installed(package)


def noting_code(
    f: Any, call: Function, args: Any, kwargs: Any
) -> tuple[Any, set[types.CodeType] | None]:
    """The result of a call of f, and the code of its package that ran in it.

    It is None where another profiler is at work.
    """
    found: set[types.CodeType] = set()
    root = _package(_unwrapped(f))

    def note(frame: types.FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code not in found and _home(frame.f_globals) == root:
            found.add(frame.f_code)

    if sys.getprofile() is not None:
        return call(*args, **kwargs), None
    try:
        sys.setprofile(note)
        return call(*args, **kwargs), found
    finally:
        sys.setprofile(None)


def _home(known: dict[str, Any]) -> str:
    """The package of code with these globals, whatever a decorator says that it is."""
    return str(known.get("__name__")).partition(".")[0]


def _package(f: Any) -> str:
    """The package in which a function, or the class of an object, is defined."""
    return _module_of(f).partition(".")[0]


def _module_of(value: Any) -> str:
    name = getattr(value, "__module__", None)
    return name if type(name) is str else "builtins"


def _of_library(name: str) -> bool:
    """Whether a module belongs to a library whose state is no part of a program."""
    package = name.partition(".")[0]
    return package in _LIBRARIES or is_standard(package)


@functools.cache
def _is_installed(package: str) -> bool:
    """Whether a package was installed, by where it lies.

    `__main__` is the program, also where an installed tool runs it (`python -m pytest`).
    """
    if package == "__main__":
        return False
    module = sys.modules.get(package)
    where = [getattr(module, "__file__", None) or "", *map(str, getattr(module, "__path__", ()))]
    return any("site-packages" in path or "dist-packages" in path for path in where)


# -- Random generators ----------------------------------------------------------------------------


def _is_pythons(value: Any) -> bool:
    """Whether it is a generator of the module `random`, which has a state."""
    random: Any = sys.modules.get("random")  # not imported here: it costs a millisecond
    return (
        random is not None
        and isinstance(value, random.Random)
        and not isinstance(value, random.SystemRandom)
    )


def _global_generator() -> Any:
    numpys: Any = np.random
    return numpys.get_bit_generator()


def hidden_states(generators: tuple[Any, ...]) -> list[tuple[Any, Any, Any]]:
    """How the state of each generator is read and put back, and what it is now."""
    found = []
    for generator in generators:
        if _is_pythons(generator):
            read, write = generator.getstate, generator.setstate
        else:
            bits = getattr(generator, "bit_generator", None) or getattr(
                generator, "_bit_generator", generator
            )
            read = functools.partial(_bits_of, bits)
            write = functools.partial(_put_bits, bits)
        found.append((read, write, read()))
    return found


def _bits_of(bits: Any) -> Any:
    return _hashable(bits.state)


def _hashable(state: Any) -> Any:
    """The state of a generator, whose == is one truth value."""
    if isinstance(state, dict):
        return _Dict((key, _hashable(part)) for key, part in state.items())
    return _Words(state.dtype.str, state.tobytes()) if isinstance(state, np.ndarray) else state


class _Dict(tuple[Any, ...]):
    """A dict as its items."""


class _Words(NamedTuple):
    dtype: str
    bits: bytes


def _put_bits(bits: Any, was: Any) -> None:
    bits.state = _usual(was)


def _usual(state: Any) -> Any:
    if type(state) is _Dict:
        return {key: _usual(part) for key, part in state}
    return np.frombuffer(state.bits, state.dtype) if type(state) is _Words else state


__all__ = [
    "PLAIN",
    "Search",
    "Settings",
    "hidden_states",
    "is_of_installed",
    "noting_code",
]
