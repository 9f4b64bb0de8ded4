"""`@adopt` on a function or a class of one's own: its names are read through to its module's.

Knows code objects, closures and syntax trees. Must not know packages.
"""

from __future__ import annotations

import ast
import dis
import functools
import inspect
import itertools
import sys
import textwrap
import types
import weakref
from collections.abc import Iterator, KeysView
from typing import Any

from tapegrad._adopt.names import ROOTS, meaning, names_of_builtins
from tapegrad._adopt.source import REPLACED, rewritten
from tapegrad._errors import InputError, message

_GLOBALS = "__tapegrad_globals__"  # the module's own names, which `global` statements write to
_NAMES = "__tapegrad_names__"  # where the module holds them as adopted functions see them


class Builtins(dict[str, Any]):
    """The builtins of adopted functions.

    The body of a class, and `eval`, look for a global name in what `Names` itself holds alone, and
    then here: names of the module come first.
    """

    names: Names

    def __getitem__(self, name: str) -> Any:
        return self.names[name] if name in self.names.plain else super().__getitem__(name)


class Names(dict[str, Any]):
    """The global names of adopted functions: those of their module, as adopted code sees them.

    It holds none of them, so that a name that the module binds anew is seen.
    """

    def __init__(self, plain: dict[str, Any]) -> None:
        builtins = Builtins(names_of_builtins())
        builtins.names = self
        super().__init__(__builtins__=builtins, **{_GLOBALS: plain})
        self.plain, self.builtins = plain, builtins
        self.seen: dict[str, tuple[Any, Any]] = {}  # by name, a value and what it means

    def __missing__(self, name: str) -> Any:
        plain = self.plain
        if name not in plain and name in self.builtins:
            # At once: an error that is caught costs more.
            return dict.__getitem__(self.builtins, name)
        value = plain[name]
        seen = self.seen.get(name)
        if seen is None or seen[0] is not value:
            self.seen[name] = seen = (value, _as_seen(value, plain))
        return seen[1]

    def __setitem__(self, name: str, value: Any) -> None:
        self[_GLOBALS][name] = value

    def __delitem__(self, name: str) -> None:
        del self[_GLOBALS][name]

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or name in self[_GLOBALS]

    def __iter__(self) -> Iterator[str]:
        yield from super().__iter__()
        yield from self[_GLOBALS].keys() - super().keys()

    def __len__(self) -> int:
        return len(list(iter(self)))

    def keys(self) -> Any:
        return KeysView(self)

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self else default  # noqa: SIM401 - it is what `get` is

    def pop(self, name: str, *default: Any) -> Any:
        return self[_GLOBALS].pop(name, *default)


# The adopted functions of plain ones. They refer to these by their modules alone.
_ADOPTED: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()


def _names_of(plain: dict[str, Any]) -> Names:
    found = plain.get(_NAMES)
    if found is None or found[_GLOBALS] is not plain:  # a copy of another's
        found = plain[_NAMES] = Names(plain)
    return found


def adopted(target: Any) -> Any:
    """A function as adopted code; a class, whose methods become so."""
    if isinstance(target, types.FunctionType):
        return _function(target)
    if isinstance(target, type):
        for name, held in list(vars(target).items()):
            made = _member(held)
            if made is not held:
                setattr(target, name, made)
        return target
    if isinstance(target, functools.partial):
        return functools.partial(adopted(target.func), *target.args, **target.keywords)
    if isinstance(target, types.MethodType):
        return types.MethodType(_function(target.__func__), target.__self__)
    raise InputError(
        message(
            "adopt",
            "a function, a class, or names of packages",
            type(target).__name__,
            'Write @tapegrad.adopt over a function, or tapegrad.adopt("package")',
        )
    )


def _member(held: Any) -> Any:
    if isinstance(held, types.FunctionType):
        return _function(held)
    if isinstance(held, (staticmethod, classmethod)):
        made = _member(held.__func__)
        return held if made is held.__func__ else type(held)(made)
    if isinstance(held, property):
        return property(*[part and _member(part) for part in (held.fget, held.fset, held.fdel)])
    return held


def _function(plain: Any) -> Any:
    if isinstance(plain.__globals__, Names):
        return plain  # it is adopted
    found = _ADOPTED.get(plain)
    if found is None:
        found = _ADOPTED[plain] = _made(plain)
    return found


def _made(plain: Any) -> Any:
    code = _rewritten_code(plain)
    if code is None:
        code = plain.__code__
        if any(
            step.opname in ("STORE_GLOBAL", "DELETE_GLOBAL") for step in dis.get_instructions(code)
        ):
            raise InputError(
                message(
                    f"adopt({plain.__name__})",
                    "a function whose source can be read",
                    "one with a global statement and no source",
                    "Put it into a file",
                )
            )
    cells = dict(zip(plain.__code__.co_freevars, plain.__closure__ or (), strict=True))
    made = types.FunctionType(
        code,
        _names_of(plain.__globals__),
        plain.__name__,
        plain.__defaults__,
        tuple([cells[name] for name in code.co_freevars]),
    )
    made.__kwdefaults__ = plain.__kwdefaults__
    functools.update_wrapper(made, plain)
    del vars(made)["__wrapped__"]  # it stands in the place of the plain one
    return made


class _Stores(ast.NodeTransformer):
    """Writes to global names as writes to the module's own."""

    def __init__(self, names: set[str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> Any:
        if node.id not in self.names or isinstance(node.ctx, ast.Load):
            return node
        held = ast.Name(_GLOBALS, ast.Load())
        made = ast.Subscript(held, ast.Constant(node.id), node.ctx)
        return ast.copy_location(made, node)


def _rewritten_code(plain: Any) -> types.CodeType | None:
    """The code with the calls of converting builtins replaced; None where there is no source."""
    try:
        lines, first = inspect.getsourcelines(plain)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError, IndentationError):
        return None
    node = tree.body[0]
    if (
        not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        or node.name != plain.__code__.co_name
    ):
        return None  # a lambda, in the middle of a line
    node.decorator_list = []
    stored = {
        name for part in ast.walk(node) if isinstance(part, ast.Global) for name in part.names
    }
    free = plain.__code__.co_freevars
    body: Any = rewritten(
        node, own=frozenset((*free, *REPLACED.keys() & plain.__globals__.keys()))
    )
    if stored:
        body = _Stores(stored).visit(body)
    owner = _class_of(plain.__code__.co_qualname)
    if owner:  # so that private names, as `self.__x`, are those of the class
        body = ast.ClassDef(owner, [], [], [body], [])
    if free:  # so that they are free in the function
        arguments = ast.arguments([], [ast.arg(name) for name in free], None, [], [], None, [])
        body = ast.FunctionDef("__outer__", arguments, [body], [], None)
    module = ast.Module([body], [])
    ast.fix_missing_locations(module)
    ast.increment_lineno(module, first - 1)
    flags = plain.__code__.co_flags & _FUTURE
    code = compile(module, plain.__code__.co_filename, "exec", flags, dont_inherit=True)
    return _find(code, plain.__code__)


def _class_of(qualname: str) -> str:
    """The name of the innermost class around a function, or ""."""
    parts = qualname.split(".")
    pairs = list(itertools.pairwise(parts))
    return next((a for a, b in reversed(pairs) if "<locals>" not in (a, b)), "")


_FUTURE = 0x1000000  # from __future__ import annotations


def _find(code: types.CodeType, wanted: types.CodeType) -> types.CodeType | None:
    for held in code.co_consts:
        if isinstance(held, types.CodeType):
            if held.co_name == wanted.co_name and set(held.co_freevars) == set(wanted.co_freevars):
                return held.replace(co_qualname=wanted.co_qualname)
            found = _find(held, wanted)
            if found is not None:
                return found
    return None


def _as_seen(value: Any, plain: dict[str, Any]) -> Any:
    """A global of a module as adopted code sees it."""
    if isinstance(value, types.ModuleType):
        name = value.__name__
        if name.partition(".")[0] in ROOTS and sys.modules.get(name) is value:
            return meaning(name)
        return value
    if isinstance(value, types.FunctionType) and value.__globals__ is plain:
        return _function(value)
    home = getattr(value, "__module__", None) or ""
    if not isinstance(home, str):
        return value
    if type(value).__name__ == "ufunc":
        return value
    if home.partition(".")[0] in ROOTS and callable(value):
        return _of_library(value, home)
    return value


def _of_library(value: Any, home: str) -> Any:
    """A function taken from one of the modules that mean others: what its name means there."""
    name = getattr(value, "__name__", "")
    while home:
        module = sys.modules.get(home)
        if module is not None and getattr(module, name, None) is value:
            return getattr(meaning(home), name)
        home = home.rpartition(".")[0]
    return value
