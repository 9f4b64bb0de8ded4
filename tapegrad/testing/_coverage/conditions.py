"""The lines of a code object, and the places where it goes one of two ways.

Knows Python's bytecode by the names of its instructions. Must not know rules.

A place is a conditional jump: of `if`, `while`, `and`, `or`, a ternary, the condition of a
comprehension. Those that Python makes for `except`, `with` and `assert` are none: their other way
is an error. Loops are none: what never runs in them has lines of its own.
"""

from __future__ import annotations

import dis
import functools
import linecache
from collections.abc import Iterator
from types import CodeType
from typing import NamedTuple

# Instructions that are no part of what a line does.
_BEFORE = frozenset("RESUME MAKE_CELL COPY_FREE_VARS RETURN_GENERATOR CACHE NOP".split())
_OF_ERRORS = frozenset("CHECK_EXC_MATCH CHECK_EG_MATCH WITH_EXCEPT_START".split())


class Place(NamedTuple):
    """A conditional jump: what it asks, and which answer goes to which line."""

    offset: int
    target: int
    line: int
    asked: str  # the source of the condition
    jumps_if: bool  # the answer by which it jumps


def codes_of(code: CodeType) -> Iterator[CodeType]:
    """A code object and those of the functions within it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes_of(constant)


@functools.cache
def lines_of(code: CodeType) -> frozenset[int]:
    """The lines that can run, but for the one of `def`."""
    line, found = code.co_firstlineno, set()
    for at in dis.get_instructions(code):
        line = _line(at) or line
        if at.opname not in _BEFORE:
            found.add(line)
    if code.co_flags & 0x20 and len(found) > 1:  # a generator: the line of def has a POP_TOP
        found.discard(code.co_firstlineno)
    return frozenset(found)


@functools.cache
def places_of(code: CodeType) -> tuple[Place, ...]:
    """The places where the code goes one of two ways."""
    found, line, before = [], code.co_firstlineno, ""
    instructions = [at for at in dis.get_instructions(code) if at.opname != "CACHE"]
    for index, at in enumerate(instructions):
        line = _line(at) or line
        after = instructions[index + 1].opname if index + 1 < len(instructions) else ""
        if (
            at.opname.startswith(("POP_JUMP", "JUMP_IF"))
            and before not in _OF_ERRORS
            and not _is_assertion(instructions[index + 1 : index + 3], after)
        ):
            found.append(Place(at.offset, int(at.argval), line, *_question(code, at)))
        if at.opname not in ("TO_BOOL", "COPY", "NOT_TAKEN"):
            before = at.opname
    return tuple(found)


def _is_assertion(following: list[dis.Instruction], after: str) -> bool:
    names = [at.opname for at in following]
    raised = "LOAD_ASSERTION_ERROR" in names
    common = any(at.opname == "LOAD_COMMON_CONSTANT" for at in following)  # from Python 3.14 on
    return raised or common and "AssertionError" in " ".join(at.argrepr for at in following)


def _line(at: dis.Instruction) -> int | None:
    return None if at.positions is None else at.positions.lineno


def _question(code: CodeType, at: dis.Instruction) -> tuple[str, bool]:
    """Condition in the words of the source, and the answer by which it jumps."""
    where = at.positions
    assert where is not None
    if where.lineno is None:
        return "", "TRUE" in at.opname
    source = linecache.getline(code.co_filename, where.lineno)
    if where.lineno == where.end_lineno:
        part = source.encode()[where.col_offset : where.end_col_offset]
        text = part.decode(errors="replace").strip()
    else:
        text = source.strip()
    if not at.opname.endswith("NONE"):
        return text, "TRUE" in at.opname
    by_none = "NOT_NONE" not in at.opname
    if text.endswith("is not None"):
        return text, not by_none
    return text if text.endswith("is None") else f"{text} is None", by_none


def jumped(place: Place, destination: int) -> bool:
    """Whether the way from a place to a destination was the jump."""
    if place.target > place.offset:
        return destination >= place.target
    return destination <= place.offset


__all__ = ["Place", "codes_of", "jumped", "lines_of", "places_of"]
