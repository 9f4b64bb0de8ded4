"""Modules and names of PyTorch's with nothing to do here, made of the table when asked for.

Knows how a row of the table becomes a function, a class or a constant. Must not know which names
there are, nor tensors.
"""

from __future__ import annotations
import __future__

import ast
import contextlib
import functools
import importlib
import importlib.abc
import importlib.machinery
import linecache
import re
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

HOME = "tapegrad.torch"
REFUSED = ("refused", "raise ")  # how an answer begins that is none

_PLAIN = (bool, int, float, str, tuple, list, dict)
_HEADING = re.compile(r"^\[(\+?)([\w.]*?)(\.\*)?\] (?!\|)(.*)$")
_ENTRY = re.compile(r"([\w.]+)(\([^()]*(?:\(\)[^()]*)*\))?")
_PARAMETER = re.compile(r"^(\**\w+)(?:=(.+))?$")


class Row(NamedTuple):
    """The columns of the table for a name."""

    answer: str  # an expression, `raise ...`, `refused` or `from` a module
    parameters: str | None  # in parentheses; None of what is not called
    summary: str
    example: str

    def kind(self) -> str:
        """The word for the type of the answer: `bool`, `NoReturn`, or `Any`."""
        return "NoReturn" if is_refused(self) else _type_of(self)


class Section(NamedTuple):
    """A module of the table: what it is for, and its rows by name."""

    about: str
    rows: dict[str, Row]
    extends: bool  # a module that is there: these are names that it has not


def read(table: str) -> dict[str, Section]:
    """The sections of a table by the names of their modules: table.py says how it is written."""
    sections: dict[str, Section] = {}
    known, package = Section("", {}, True), ""
    for line in table.replace("\n    ", " ").splitlines():
        heading = _HEADING.match(line)
        if heading is not None:
            extends, space, several, about = heading.groups()
            known, package = Section(about, {}, bool(extends)), f"{space}." if several else ""
            if not package:
                sections[space] = known
        elif line:
            answer, names, summary, example = [*map(str.strip, line.split(" | ")), "", ""][:4]
            if package and ":" in names:
                for file, name in (pair.split(":") for pair in names.split()):
                    known = sections.setdefault(package + file, Section(known.about, {}, False))
                    known.rows[name] = Row(answer, None, summary, example)
                continue
            if package:
                file, _, answer = answer.partition(" ")
                known = sections.setdefault(package + file, Section(known.about, {}, False))
            for name, parameters in _ENTRY.findall(names):
                known.rows[name] = Row(answer, parameters or None, summary, example)
    return sections


def is_refused(row: Row | None) -> bool:
    """Whether a row says why its name is not here."""
    return row is not None and row.answer.startswith(REFUSED)


# --- From rows to what they say -----------------------------------------------------------------


def answer_of(space: str, name: str, section: Section, tools: dict[str, Any]) -> Any:
    """The function, class or constant that a row describes.

    space: the module's name without `tapegrad.torch`. tools: the names that answers may use.
    """
    row = section.rows[name]
    tools = {**tools, "name": name}
    if row.answer.startswith("from "):
        place, _, theirs = row.answer.removeprefix("from ").partition(" as ")
        full = place if place[0] != "." else f"{HOME}{place.rstrip('.')}"
        return getattr(importlib.import_module(full), theirs or name)
    if row.parameters is None and not is_refused(row):
        return eval(row.answer, tools)  # noqa: S307 - the table's own text
    a_class = is_refused(row) and name[0].isupper()
    parameters = (row.parameters or "(*args, **kwargs)")[1:-1]
    bases: tuple[Any, ...] = ()
    if a_class:
        bases = (eval(row.parameters, tools),) if row.parameters else ()  # noqa: S307
        parameters = "*args, **kwargs"
    body = row.answer if row.answer.startswith("raise ") else f"return {row.answer}"
    full = f"torch.{space}.{name}" if space else f"torch.{name}"
    if row.answer.startswith("refused"):
        why = row.answer.removeprefix("refused").strip() or section.about
        body = f"raise NotImplementedError({f'{full}: {why}'!r})"
    if space == "Tensor":
        parameters = f"self, {parameters}"
    named = "__init__" if a_class else name
    scope = dict(tools)
    text = f"def {named}({'self, ' * a_class}{parameters}) -> {row.kind()}:\n    {body}"
    linecache.cache[f"<{full}>"] = len(text), None, text.splitlines(keepends=True), f"<{full}>"
    future = __future__.annotations.compiler_flag
    exec(compile(text, f"<{full}>", "exec", future), scope)  # noqa: S102 - as dataclasses do
    made = scope.pop(named)  # so that `isinstance` calls Python's
    made.__module__ = f"{HOME}.{space}".rstrip(".")
    if a_class:
        made.__qualname__ = f"{name}.__init__"
        words = {
            "__module__": made.__module__,
            "__init__": made,
            "__class_getitem__": classmethod(types.GenericAlias),
        }
        made = type(name, bases, words)
    made.__doc__ = _document(full, section, row, parameters)
    return made


def _type_of(row: Row) -> str:
    try:
        value = ast.literal_eval(row.answer)
    except (SyntaxError, ValueError):
        return "Any"
    return "None" if value is None else type(value).__name__ if type(value) in _PLAIN else "Any"


def _entries(parameters: str, meaning: str) -> tuple[list[str], int]:
    """The entries of parameters in a docstring, and how many have to be given."""
    entries, needed = [], 0
    for part in filter(None, map(str.strip, parameters.split(","))):
        found = _PARAMETER.match(part)
        if found is None or part == "self":
            continue
        kind = "object"
        if found[2] not in (None, "None"):
            kind = type(ast.literal_eval(found[2])).__name__
        default = {None: "", "None": ", optional"}.get(found[2], f", default {found[2]}")
        needed += default == "" and found[1][0] != "*"
        entries.append(f"{found[1].replace('*', chr(92) + '*')} : {kind}{default}\n    {meaning}")
    return entries, needed


def _document(full: str, section: Section, row: Row, parameters: str) -> str:
    """The docstring of a row, with its sections."""
    summary = row.summary or f"{section.about[0].upper()}{section.about[1:]}"
    raises = ""
    if row.answer.startswith("raise "):
        raises = row.answer.removeprefix("raise ").partition("(")[0]
    elif is_refused(row):
        raises = "NotImplementedError"
    if not row.summary and raises:
        summary = f"Raise {raises}: {section.about}"
    elif not row.summary and row.answer == "None":
        summary = f"Do nothing: {section.about}"
    elif not row.summary and _type_of(row) != "Any":
        summary = f"Return {row.answer}: {section.about}"
    looked = not raises and row.answer != "None"
    entries, needed = _entries(parameters, "Its value." if looked else "Not looked at.")
    parts = [summary]
    parts += ["Parameters\n----------\n" + "\n".join(entries)] if entries else []
    if not raises and row.answer != "None":
        known = _type_of(row)
        value = f"{row.answer}, always." if known != "Any" else "The value."
        parts.append(f"Returns\n-------\n{known if known != 'Any' else 'object'}\n    {value}")
    if raises:
        parts.append(f"Raises\n------\n{raises}\n    Always.")
    example = row.example
    if not example and not full.startswith("torch.Tensor."):
        call = f"{full}({', '.join('0' * needed)})"
        if row.answer == "Block()":
            example = f"with {call}:\n...     pass"
        shown = "" if row.answer in ("None", *REFUSED) or raises else row.answer
        if not raises and _type_of(row) != "Any":
            example = f"{call} -> {shown}"
        elif raises:
            example = f"{call} -> Traceback (most recent call last):\n    ...\n{raises}: ..."
    if example:
        call, _, shown = example.partition(" -> ")
        lines = ["Examples\n--------", ">>> import tapegrad.torch as torch", f">>> {call}", shown]
        parts.append("\n".join(filter(None, lines)))
    return "\n\n".join(parts) + "\n"


# --- Modules ------------------------------------------------------------------------------------


_EMPTY = Section("", {}, True)


class AbsentModule(types.ModuleType):
    """A module of the table, whose names are made when they are asked for."""

    def __getattr__(self, name: str) -> Any:
        own = vars(self)
        finder: Finder | None = own.get("__loader__")
        if not isinstance(finder, Finder):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return finder.attribute(self.__name__.removeprefix(HOME).lstrip("."), name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *vars(self).get("__all__", ())})


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules of a table, and makes them.

    tools: a function that returns the names that answers may use. fallback: for a module, the
    function that finds names that no row has. refused: modules of which any name is refused, and
    why.
    """

    def __init__(
        self,
        sections: dict[str, Section],
        tools: Callable[[], dict[str, Any]],
        fallback: dict[str, Callable[[str], Any]],
        refused: dict[str, str],
    ) -> None:
        self.refused = refused
        self.sections = sections
        self.tools = tools
        self.fallback = fallback

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not fullname.startswith(f"{HOME}."):
            return None
        space = fullname.removeprefix(f"{HOME}.")
        known = self.sections.get(space)
        if known is None and space not in self.refused or known is not None and known.extends:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return AbsentModule(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        space = module.__name__.removeprefix(f"{HOME}.")
        known = self.sections.get(space)
        about = self.refused[space] if known is None else known.about
        module.__doc__ = f"`torch.{space}`: {about}"
        names = sorted(name for name in self.names(space) if not name.startswith("_"))
        vars(module)["__all__"] = names

    def names(self, space: str) -> set[str]:
        """The names of a module, with those of the modules within."""
        rows = self.sections.get(space, _EMPTY).rows
        return {name for name in rows if rows[name].answer != "absent"} | {*self.inner(space)}

    def inner(self, space: str) -> list[str]:
        """The names of the modules within a module."""
        start = f"{space}." if space else ""
        names = [name.removeprefix(start) for name in self.sections if name.startswith(start)]
        private = ("_", "Tensor")  # the class is no module
        return [
            name for name in names if name and "." not in name and not name.startswith(private)
        ]

    def methods_only(self) -> set[str]:
        """The names that a tensor's methods have, and no functions."""
        rows = self.sections[""].rows
        return {name for name in rows if rows[name].answer == "absent"}

    def made(self, space: str, name: str) -> Any:
        """The object of a name of a module; AttributeError for one that it has not."""
        inner = f"{space}.{name}".lstrip(".")
        section = self.sections.get(space, _EMPTY)
        if name in section.rows and section.rows[name].answer != "absent":
            return answer_of(space, name, section, self.tools())
        if (inner in self.sections or inner in self.refused) and inner != "Tensor" and name:
            full = f"{HOME}.{inner}"
            return importlib.import_module(full)
        if space in self.fallback and not name.startswith("__"):
            with contextlib.suppress(*[AttributeError] * (space in self.refused)):
                return self.fallback[space](name)
        if space in self.refused and not name.startswith("_"):
            row = Row("refused", None, "", "")
            about = Section(self.refused[space], {name: row}, False)
            return answer_of(space, name, about, self.tools())
        raise AttributeError(f"module {f'{HOME}.{space}'.rstrip('.')!r} has no attribute {name!r}")

    def attribute(self, space: str, name: str) -> Any:
        """The same, made once: it becomes an attribute of the module."""
        found = self.made(space, name)
        setattr(sys.modules[f"{HOME}.{space}"], name, found)
        return found

    def install(self) -> None:
        """Let imports find the modules."""
        sys.meta_path.insert(0, self)

    def extend(self) -> None:
        """Let modules that are there find the names, and the modules within them, of the table."""
        modules = {*self.sections, *self.refused}
        for space in modules | {name.rpartition(".")[0] for name in modules}:
            module = sys.modules.get(f"{HOME}.{space}")
            if module is not None and not isinstance(module, AbsentModule):
                vars(module).setdefault("__getattr__", functools.partial(self.attribute, space))
                vars(module).setdefault("__path__", [])  # a package, too


__all__ = ["AbsentModule", "Finder", "Row", "Section", "is_refused", "read"]
