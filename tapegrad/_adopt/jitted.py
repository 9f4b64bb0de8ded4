"""Functions of adopted code that numba compiles: its own outside of transforms, Python's inside.

Knows numba's decorators, and code objects. numba compiles the code that the package has, not ours,
with global names that mean what they mean in the plain package. Must not know how modules are
found.
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import inspect
import sys
import types
import weakref
from collections.abc import Callable
from typing import Any

from tapegrad._adopt.plain import as_in_plain
from tapegrad._adopt.source import PLAIN
from tapegrad._core.tape import RUNNING
from tapegrad._core.values import Buffer, holds_in_trace
from tapegrad.numpy._vectorize import vectorize


class _Jitted:
    """All that is known of one function that numba compiles."""

    def __init__(self, function: Any, python: Any, decorator: tuple[Any, ...]) -> None:
        self.function, self.python = function, python
        self.decorator = decorator
        self.made: Any = None  # numba's function, once it is asked for
        self.waiting: list[Any] | None = None  # cells to fill with it, while it is being made
        self.cell: Any = None  # of the function below that runs outside of transforms
        self.call: Any = None  # a weak reference to the function that adopted code has

    def first_call(self, *args: Any, **kwargs: Any) -> Any:
        self.cell.cell_contents = self.compiled()
        return self.cell.cell_contents(*args, **kwargs)

    def instead(self, error: Exception, *args: Any, **kwargs: Any) -> Any:
        """The function to call in place of numba's, which has raised; or the error again."""
        parts = (*args, *kwargs.values())
        if holds_in_trace(parts) or any(issubclass(type(part), Buffer) for part in parts):
            return self.python
        refuses = isinstance(error, _numbas_errors())
        fresh = [state for state in map(_state, parts) if state and state.made is None]
        if fresh and (refuses or isinstance(error, TypeError)):
            for state in fresh:  # from now on numba knows the types of these arguments
                state.compiled()
            return self.call()
        if refuses:
            self.cell.cell_contents = self.python  # another attempt would take as long
            return self.python
        raise  # noqa: PLE0704 - the error that is being handled

    def compiled(self) -> Any:
        """numba's function, or the Python one where numba makes none."""
        with _numbas_lock():
            if self.made is None and self.waiting is None:
                self.waiting = []
                try:
                    self.made = self._make()
                finally:
                    waiting, self.waiting = self.waiting, None
                for cell in waiting:
                    cell.cell_contents = self.made
        return self.made

    def _make(self) -> Any:
        plain = original(self.function)
        if plain is None:
            return self.python
        try:
            made = _decorated(plain, *self.decorator)
        except _numbas_errors():
            return self.python
        if made is plain:  # as it is with NUMBA_DISABLE_JIT
            return self.python
        call = self.call()
        # By these numba takes the function as an argument of others.
        for name in ("_numba_type_", "get_compile_result"):
            if call is not None and hasattr(made, name):
                setattr(call, name, getattr(made, name))
        return made


# By the functions that adopted code has.
_JITTED: weakref.WeakKeyDictionary[Any, _Jitted] = weakref.WeakKeyDictionary()

_TEMPLATE = """
def made(_running, _compiled, _python, _instead):
    def call({parameters}):
        if _running:
            return _python({arguments})
        try:  # which costs nothing, where a look at the arguments costs as much as a short call
            return _compiled({arguments})
        except Exception as _error:
            _other = _instead(_error, {arguments})
        return _other({arguments})
    return call
"""


def jitted(function: Any, python: Any, *decorator: Any) -> Any:
    """A function that numba's decorators made, for adopted code.

    Outside of transforms it calls what numba's own decorator makes of the original function, and
    inside of them, or with a value that has leaked from one, the Python function.

    python: what is called inside transforms. decorator: the name of numba's, and its arguments.
    """
    state = _Jitted(function, python, decorator)
    outer = _outer(_parameters(function) if python is function else None)
    call = outer(RUNNING, state.first_call, python, state.instead)
    at = call.__code__.co_freevars.index("_compiled")
    state.cell, state.call = call.__closure__[at], weakref.ref(call)
    functools.update_wrapper(call, function)
    call.py_func = function
    _JITTED[call] = state
    return call


def _parameters(function: Any) -> str | None:
    """The names of a function's parameters; None where there are others than simple ones."""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount]
    is_simple = not (
        code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
        or code.co_posonlyargcount
        or code.co_kwonlyargcount
        or function.__defaults__  # numba tells a default from a value that is given
        or any(name.startswith("_") for name in names)
    )
    return ", ".join(names) if is_simple else None


@functools.cache
def _outer(parameters: str | None) -> Any:
    """The function around one with these parameters; any others cost twice as much in a call."""
    text = "*args, **kwargs" if parameters is None else parameters
    names: dict[str, Any] = {"__name__": __name__}
    source = _TEMPLATE.format(parameters=text, arguments=text)
    exec(compile(source, __file__, "exec", dont_inherit=True), names)  # noqa: S102 - our own
    return names["made"]


def _decorated(function: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of numba's own decorator for a function."""
    return getattr(sys.modules["numba"], name)(*args, **kwargs)(function)


def _numbas_errors() -> Any:
    return getattr(sys.modules.get("numba.core.errors"), "NumbaError", ())


def _numbas_lock() -> Any:
    """numba's own lock: with another one, two threads could wait for each other."""
    holder = sys.modules.get("numba.core.compiler_lock")
    return getattr(holder, "global_compiler_lock", contextlib.nullcontext())


class Numba:
    """numba's decorators in adopted code."""

    @staticmethod
    def jit(*args: Any, **kwargs: Any) -> Any:
        return _decorator("jit", lambda function: function, args, kwargs)

    @staticmethod
    def njit(*args: Any, **kwargs: Any) -> Any:
        return _decorator("njit", lambda function: function, args, kwargs)

    @staticmethod
    def vectorize(*args: Any, **kwargs: Any) -> Any:
        return _decorator("vectorize", vectorize, args, kwargs)

    @staticmethod
    def prange(*args: Any) -> range:
        return range(*args)

    @staticmethod
    def generated_jit(*args: Any, **_: Any) -> Any:
        return args[0] if args and callable(args[0]) else lambda function: function

    @staticmethod
    def guvectorize(*args: Any, **kwargs: Any) -> Any:
        return _of_original("guvectorize", args, kwargs)

    @staticmethod
    def cfunc(*args: Any, **kwargs: Any) -> Any:
        return _of_original("cfunc", args, kwargs)


def _decorator(
    name: str, python: Callable[[Any], Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """A decorator, or with a function as the first argument what it makes of that."""

    def decorate(function: Any) -> Any:
        if not isinstance(function, types.FunctionType):
            return function
        return jitted(function, python(function), name, args, kwargs)

    if args and callable(args[0]):
        function, args = args[0], args[1:]
        return decorate(function)
    return decorate


def _of_original(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A decorator whose result is numba's own everywhere, from the code of the package."""

    def decorate(function: Any) -> Any:
        plain = original(function) if isinstance(function, types.FunctionType) else None
        return _decorated(plain or function, name, args, kwargs)

    return decorate


# -- what numba compiles -------------------------------------------------------------------------


def original(function: Any) -> Any:
    """The function as the plain package has it, or None where its code is not found.

    Its code is that of the file, without calls replaced. Its global names, and those of functions
    around it, have the plain meanings.
    """
    code = _original_code(function)
    if code is None:
        return None
    held = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    if not held.keys() >= set(code.co_freevars):
        return None
    # None, not an empty tuple: numba's cache tells these apart.
    cells = tuple([_plain_cell(held[name]) for name in code.co_freevars]) or None
    made: Any = types.FunctionType(
        code,
        _Globals(function.__globals__),
        function.__name__,
        function.__defaults__,
        cells,
    )
    made.__kwdefaults__ = function.__kwdefaults__
    functools.update_wrapper(made, function)
    del made.__wrapped__
    return made


def _original_code(function: Any) -> types.CodeType | None:
    """The code of a function in the module as the plain loader compiles it."""
    names = function.__globals__
    loader = getattr(names.get("__spec__"), "loader", None)
    wanted = function.__code__
    if not hasattr(loader, "plain") or wanted.co_filename != names.get("__file__"):
        return None
    found = [code for code in _codes(loader, names["__name__"]) if _key(code) == _key(wanted)]
    return found[0] if len(found) == 1 else None  # two lambdas may be in one line


def _key(code: types.CodeType) -> Any:
    return code.co_qualname, code.co_firstlineno, code.co_varnames[: code.co_argcount]


@functools.lru_cache(8)  # the functions of a module are compiled one after another
def _codes(loader: Any, name: str) -> list[types.CodeType]:
    """All codes in a module that our loader has loaded, as the loader behind it compiles them."""
    try:
        waiting = [loader.plain.get_code(name)]
    except (ImportError, OSError, SyntaxError):
        return []
    found = []
    while waiting:
        code = waiting.pop()
        found.append(code)
        waiting += [part for part in code.co_consts if isinstance(part, types.CodeType)]
    return found


def _plain_cell(cell: Any) -> Any:
    """The cell, or another with the plain meaning of what it holds."""
    try:
        held = cell.cell_contents
    except ValueError:  # it is empty
        return cell
    being_made = _being_made(held)
    if being_made is not None:  # it calls itself
        made = types.CellType()
        being_made.append(made)
        return made
    plain = meant(held)
    return cell if plain is held else types.CellType(plain)


def name_all(names: dict[str, Any]) -> None:
    """Let pickle find the functions of a module that are bound to another name: `f = njit(g)`."""
    for name, value in names.items() if _JITTED else ():
        known = _state(value)
        if known is not None and value.__module__ == names["__name__"]:
            path = value.__qualname__
            value.__qualname__ = path if "." in path or names.get(path) is value else name


def _state(value: Any) -> _Jitted | None:
    return _JITTED.get(value) if type(value) is types.FunctionType else None


def _being_made(value: Any) -> list[Any] | None:
    """The cells that wait for numba's function, if that is just being made."""
    state = _state(value)
    return state.waiting if state is not None else None


class _Globals(dict[str, Any]):
    """The global names of a module with their plain meanings.

    They are read when numba asks for them, which is when it compiles, as in the plain package.
    """

    def __init__(self, adopted: dict[str, Any]) -> None:
        super().__init__(__builtins__=vars(builtins))
        self.adopted = adopted

    def __missing__(self, name: str) -> Any:
        value = self.adopted[name]
        if _being_made(value) is not None:
            raise KeyError(name)  # the plain package has not bound it yet either
        return meant(value)

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or name in self.adopted

    def get(self, name: str, default: Any = None) -> Any:
        try:
            return self[name]
        except KeyError:
            return default

    def copy(self) -> _Globals:
        made = _Globals(self.adopted)
        made.update(self)
        return made

    __copy__ = copy


def meant(value: Any) -> Any:
    """The plain package's value in the place of an adopted module's, for numba."""
    state = _state(value)
    if state is not None:
        return state.compiled()
    plain = as_in_plain(value)
    if plain is value and isinstance(value, types.ModuleType) and _is_adopted(value):
        return _view(value)
    return plain


def _is_adopted(module: types.ModuleType) -> bool:
    builtins = vars(module).get("__builtins__")
    return isinstance(builtins, dict) and PLAIN in builtins


_VIEWS: weakref.WeakKeyDictionary[types.ModuleType, types.ModuleType]
_VIEWS = weakref.WeakKeyDictionary()


def _view(module: types.ModuleType) -> types.ModuleType:
    """An adopted module for numba, which reads plain meanings from it.

    numba keeps one type for all modules that print alike: the plain package's must not.
    """
    found = _VIEWS.get(module)
    if found is None:
        names = vars(module)

        def find(name: str) -> Any:
            if name not in names:
                raise AttributeError(f"module {names['__name__']!r} has no attribute {name!r}")
            return meant(names[name])

        found = _VIEWS[module] = types.ModuleType(f"{module.__name__} adopted {id(module)}")
        vars(found)["__getattr__"] = find
    return found
