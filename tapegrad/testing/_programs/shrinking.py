"""`shrink`: the smallest program that still fails, of one that fails, without Hypothesis.

A program is statements. Those that a failure does not need are cut out, by halves as delta
debugging does; what they had assigned becomes an argument with the value that it had. So each
statement that stays sees the values that it saw before. Must not know how a program is drawn.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad._errors import InputError, message
from tapegrad.testing._programs.building import Builder, in_other_names
from tapegrad.testing._programs.program import Made, Program, Statement


def shrink(program: Program, fails: Callable[[Program], bool], *, most: int = 1000) -> Program:
    """Find the smallest program that still fails, of one that fails.

    Statements are cut out by halves, and what they assigned becomes an argument with the value
    that it had; then statements in between are left out; at last arguments are rounded.

    Parameters
    ----------
    program : Program
        A program that fails, made by `programs`.
    fails : callable
        `fails(program)` says whether a program fails; what it raises is raised.
    most : int, default 1000
        How often `fails` is called at most once the program is known to fail. For a program of 30
        statements it takes about 15 calls where the failure needs one of them, up to 100 where it
        needs three.

    Returns
    -------
    Program
        A program that fails.

    Raises
    ------
    InputError
        If the program does not fail, or was not made by `programs`.

    See Also
    --------
    programs : Random programs.

    Examples
    --------
    >>> import numpy as np
    >>> from tapegrad.testing import programs, shrink
    >>> from hypothesis import find
    >>> def fails(program):
    ...     return "np.tanh" in program.operations
    >>> shrink(find(programs(20), fails), fails).operations
    ('np.tanh',)
    """
    if program.made is None:
        raise InputError(
            message("shrink", "a program that programs() made", repr(program.__name__), "Draw one")
        )
    if not fails(program):
        raise InputError(
            message("shrink", "a program that fails", "fails(program) is False", "Pass another")
        )
    return _Shrinking(program, fails, most).shrunk()


class _Shrinking:
    """The smallest program so far, and how often `fails` may still be asked."""

    def __init__(self, program: Program, fails: Callable[[Program], bool], most: int) -> None:
        self.program = program
        self.fails = fails
        self.left = most
        self.seen = {program.source}

    @property
    def made(self) -> Made:
        made = self.program.made
        assert made is not None
        return made

    def shrunk(self) -> Program:
        size = None
        while size != (size := _size(self.program)):
            self._cut_by_halves()
            self._leave_out(_bypassed)
        self._leave_out(_rounded)
        return self.program

    def _accepts(self, candidate: Program | None, *, smaller: bool = True) -> bool:
        """Whether the candidate fails, and so is the smallest so far."""
        if candidate is None or candidate.source in self.seen or self.left <= 0:
            return False
        if smaller and _size(candidate) >= _size(self.program):
            return False
        self.seen.add(candidate.source)
        self.left -= 1
        if not self.fails(candidate):
            return False
        self.program = candidate
        return True

    def _cut_by_halves(self) -> None:
        """Delta debugging: one part of the statements, or all but one part, smaller each time."""
        parts = 2
        while (count := len(self.made.statements)) and parts <= 2 * count:
            bounds = np.unique(np.linspace(0, count, min(parts, count) + 1).astype(int))
            chunks = [set(range(a, b)) for a, b in itertools.pairwise(bounds)]
            every = set(range(count))
            if any(self._accepts(_kept(self.program, chunk)) for chunk in chunks):
                parts = 2
            elif any(self._accepts(_kept(self.program, every - chunk)) for chunk in chunks):
                parts = max(parts - 1, 2)
            elif parts >= count:
                return
            else:
                parts *= 2

    def _leave_out(self, candidates: Callable[[Program], Iterator[Program | None]]) -> None:
        """Accept candidates as long as there are any that fail."""
        smaller = candidates is not _rounded
        while any(
            self._accepts(candidate, smaller=smaller) for candidate in candidates(self.program)
        ):
            pass


def _size(program: Program) -> tuple[int, int, int]:
    assert program.made is not None
    lines = sum(len(statement.lines) for statement in program.made.statements)
    return len(program.made.statements), lines, len(program.args)


def _built(
    program: Program, args: Sequence[tuple[str, Value]], statements: Sequence[Statement]
) -> Program | None:
    """The program of these; None if it does not run."""
    assert program.made is not None
    used = {name for statement in statements for name in statement.reads}
    args = [arg for arg in args if arg[0] in used] or list(args[:1])
    names = [name for name, _ in args]
    builder = Builder([value for _, value in args], True, program.given, names, empty=True)
    if not all(builder.append(statement) for statement in statements):
        return None
    return builder.program((0,), program.made.output)


def _kept(program: Program, kept: set[int]) -> Program | None:
    """The program with these statements alone; what others assigned become arguments."""
    made = program.made
    assert made is not None
    args = list(zip(made.names, program.args, strict=True))
    before = Builder(program.args, True, program.given, made.names)
    bound = {name for name, _ in args}
    renamed: dict[str, str] = {}
    statements: list[Statement] = []
    groups = _groups(program)
    written = {groups[s.writes] for k, s in enumerate(made.statements) if k in kept and s.writes}
    for at, statement in enumerate(made.statements):
        if at in kept:
            for name in statement.reads:
                if name in bound:
                    continue
                bound.add(name)
                new = _unused([arg for arg, _ in args])
                args.append((new, _copied(before.space[name])))
                if groups[name] in written:
                    line = f"{name} = {new}.copy()"
                    statements.append(Statement((line,), name, None, (new,), (), "copy"))
                else:
                    renamed[name] = new
            bound.add(statement.name or "")
            statements.append(in_other_names(statement, renamed))
        before.run(statement)
    return _built(program, args, statements)


def _groups(program: Program) -> dict[str, int]:
    """Which variables share memory, by a number for each."""
    assert program.made is not None
    builder = Builder(program.args, True, program.given, program.made.names)
    for statement in program.made.statements:
        builder.run(statement)
    return {variable.name: variable.group for variable in builder.variables}


def _copied(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else value


def _unused(names: Sequence[str]) -> str:
    return next(name for k in range(1, len(names) + 2) if (name := f"a{k}") not in names)


def _bypassed(program: Program) -> Iterator[Program | None]:
    """The program without one statement, of whose operands one stands for its result."""
    assert program.made is not None
    statements = program.made.statements
    args = list(zip(program.made.names, program.args, strict=True))
    for at, statement in enumerate(statements):
        if statement.name is None:
            continue
        for name in statement.reads:
            renamed = {statement.name: name}
            rest = [in_other_names(one, renamed) for one in statements[at + 1 :]]
            yield _built(program, args, [*statements[:at], *rest])


def _rounded(program: Program) -> Iterator[Program | None]:
    """The program with one argument rounded to two decimals."""
    assert program.made is not None
    args = list(zip(program.made.names, program.args, strict=True))
    for at, (name, value) in enumerate(args):
        rounded = np.round(value, 2)
        if not np.array_equal(rounded, value):
            other = [*args[:at], (name, rounded), *args[at + 1 :]]
            yield _built(program, other, program.made.statements)


__all__ = ["shrink"]
