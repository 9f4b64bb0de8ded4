"""The names in a function's code: globals, attributes, modules.

Knows Python's instructions. Must not know what the names stand for.
"""

from __future__ import annotations

import dis
import functools
import types
from typing import Any, NamedTuple


class Names(NamedTuple):
    """Names in code, inner functions included."""

    globals: tuple[str, ...]
    attributes: frozenset[str]  # and texts that may be names
    imported: tuple[tuple[str, int], ...]  # modules, with the level of relative ones
    parts: tuple[tuple[str, str], ...]  # a name, of a global or a module, and an attribute of it
    stores: bool  # whether it sets any attribute


_OF_GLOBALS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS", "STORE_GLOBAL")
_OF_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")


@functools.cache
def names_in(code: types.CodeType) -> Names:
    """The names in code."""
    scan = _Scan()
    waiting = [code]
    while waiting:
        part = waiting.pop()
        waiting += [x for x in part.co_consts if isinstance(x, types.CodeType)]
        scan.attributes.update(part.co_names)
        scan.attributes.update(x for x in part.co_consts if type(x) is str and _is_name(x))
        scan.look_at(part)
    return Names(
        tuple(scan.names),
        frozenset(scan.attributes),
        tuple(scan.imported),
        tuple(scan.parts),
        scan.stores,
    )


@functools.cache
def stored_by(code: types.CodeType) -> frozenset[str]:
    """The names of the attributes that code sets."""
    found = dis.get_instructions(code)
    return frozenset(x.argval for x in found if x.opname == "STORE_ATTR")


def _is_name(text: str) -> bool:
    return text.replace(".", "_").isidentifier()


class _Scan:
    """The names found so far."""

    def __init__(self) -> None:
        self.names: dict[str, None] = {}
        self.attributes: set[str] = set()
        self.imported: dict[tuple[str, int], None] = {}
        self.parts: dict[tuple[str, str], None] = {}
        self.stores = False
        self.modules: dict[str, str] = {}  # by the names that imports within the code give them

    def look_at(self, code: types.CodeType) -> None:
        before: list[Any] = [0, 0]  # the arguments of the last two instructions
        loaded: str | None = None  # the name that the last one loaded
        module: str | None = None  # that is being imported
        imports = False  # whether the last one was the import of a module
        for instruction in dis.get_instructions(code):
            operation, value = instruction.opname, instruction.argval
            name, imported = None, False
            if operation.startswith(_OF_GLOBALS):
                self.names[value] = None
                name = value
            elif operation.startswith(_OF_ATTRIBUTES):
                if loaded is not None:
                    self.parts[self.modules.get(loaded, loaded), value] = None
            elif operation.startswith("LOAD_") and operation != "LOAD_CONST":
                last = value[-1] if type(value) is tuple and value else value
                name = last if type(last) is str else None
            elif operation == "STORE_ATTR":
                self.stores = True
            elif operation.startswith("IMPORT_NAME"):
                level = before[-2] if type(before[-2]) is int else 0
                self.imported[value, level] = None
                module, imported = value, True
            elif operation.startswith("IMPORT_FROM") and module is not None:
                self.parts[module, value] = None
            elif operation.startswith("STORE_") and imports and module is not None:
                self.modules.setdefault(value, module.partition(".")[0])
            loaded, imports = name, imported
            before = [before[-1], value]


__all__ = ["Names", "names_in", "stored_by"]
