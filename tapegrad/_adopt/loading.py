"""How modules of adopted packages are found and executed.

Knows Python's import system. Must not know what names mean in adopted code.
"""

from __future__ import annotations

import ast
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
from collections.abc import MutableMapping, Sequence
from typing import Any

from tapegrad._adopt import cache, jitted
from tapegrad._adopt.names import adopted_import, names_of_builtins, plain_functions
from tapegrad._adopt.plain import plain_of
from tapegrad._adopt.source import is_plain_name, plain_name, rewritten


class Finder(importlib.abc.MetaPathFinder):
    """Finds the modules of adopted packages as the finders behind it do."""

    def __init__(self) -> None:
        self.packages: dict[str, int] = {}  # how many times each is adopted

    def covers(self, name: str) -> bool:
        """Whether a module is one of an adopted package."""
        while name:
            if name in self.packages:
                return True
            name = name.rpartition(".")[0]
        return False

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> Any:
        """The module's spec, with a loader that executes it as adopted code."""
        if not self.covers(name):
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            if finder is self or find is None:
                continue
            spec = find(name, path, target)
            if spec is not None:
                if hasattr(spec.loader, "get_source") and not isinstance(
                    spec.loader, importlib.machinery.ExtensionFileLoader
                ):
                    spec.loader = Loader(spec.loader)
                return spec
        return None


class Loader(importlib.abc.Loader):
    """Executes a module as adopted code; the rest is its own loader's."""

    def __init__(self, plain: Any) -> None:
        self.plain = plain

    def __getattr__(self, name: str) -> Any:
        return getattr(self.plain, name)

    def create_module(self, spec: Any) -> Any:
        return self.plain.create_module(spec)

    def get_code(self, name: str) -> Any:
        """The code of a module, with the calls of converting builtins replaced."""
        found = cache.read(self.plain, name)
        if found is not None:
            return found
        source = self.plain.get_source(name)
        if source is None:
            return self.plain.get_code(name)
        code = compiled(source, self.plain.get_filename(name))
        cache.write(self.plain, name, code)
        return code

    def exec_module(self, module: Any) -> None:
        code = self.get_code(module.__name__)
        if code is None:
            raise ImportError(f"cannot load the code of {module.__name__}", name=module.__name__)
        if type(module) is types.ModuleType:
            module.__class__ = AdoptedModule  # at once: the module may set its own names
        execute(code, vars(module))
        jitted.name_all(vars(module))
        if type(module) is AdoptedModule and not any(map(is_plain_name, vars(module))):
            module.__class__ = types.ModuleType  # type: ignore[assignment]


class AdoptedModule(types.ModuleType):
    """A module some names of which have another meaning outside of transforms.

    A name that is set from outside, as tests do to put another function in its place, is set in
    both meanings.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if plain_name(name) in self.__dict__:
            self.__dict__[plain_name(name)] = plain_of(value)


def compiled(source: str | bytes, file: str) -> Any:
    """The code of adopted source."""
    functions = plain_functions()
    try:
        tree = rewritten(ast.parse(source, file), functions)
    except RecursionError:  # a sum of some hundred terms; Python's own compiler takes it
        limit = sys.getrecursionlimit()
        try:
            sys.setrecursionlimit(limit + 20_000)
            tree = rewritten(ast.parse(source, file), functions)
        finally:
            sys.setrecursionlimit(limit)
    return compile(tree, file, "exec", dont_inherit=True)


def execute(
    code: Any,
    names: dict[str, Any],
    importing: Any = adopted_import,
    bound: MutableMapping[str, Any] | None = None,
) -> None:
    """Run a module's code as adopted code, with this `__import__`.

    bound: a mapping over the names, by which the code binds and reads them
    """
    names["__builtins__"] = {**names_of_builtins(), "__import__": importing}
    exec(code, names, bound)  # noqa: S102 - as the import system does
