"""A program put together from rows of whole numbers, statement by statement.

Knows how a statement is tried at the program's arguments, which variables share memory, and which
statements count for the result. Must not know Hypothesis, nor which operations there are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad._core.quiet import silence
from tapegrad._core.types import Value
from tapegrad.testing._programs.called import HELPERS
from tapegrad.testing._programs.operations import (
    LARGEST,
    SMOOTH,
    Chooser,
    Draft,
    InapplicableError,
    Operation,
    Test,
    Variable,
)
from tapegrad.testing._programs.program import Made, Program, Statement, source_of, space_of

GREAT = 50.0  # larger values are scaled down, or refused
ARGUMENTS = ("x", "y", "z", "u", "v", "w")
WHOLE = ("n", "m", "k")  # those of whole numbers, which come first
REFUSED = (ValueError, TypeError, IndexError, np.linalg.LinAlgError, ArithmeticError)


class Builder:
    """Appends statements, each tried on the values of those before it."""

    def __init__(
        self,
        args: Sequence[Value],
        kinks: bool,
        given: dict[str, Any],
        names: Sequence[str] = ARGUMENTS,
        spare: Sequence[Callable[[Test], Value | None]] = (),
        empty: bool = False,
    ) -> None:
        self.empty = empty  # whether values without elements are of use
        self.args = tuple(args)
        self.names = tuple(names[: len(self.args)])
        self.present = len(self.args)  # whether they are read or not
        # Makers of more arguments: one that passes a test, for a statement that nothing else fits.
        # So a statement stays possible when those before it have gone.
        self.spare = spare
        self.kinks = kinks
        self.given = given  # the users' own functions, by their names in the program
        self.statements: list[Statement] = []
        self._restart()

    def _restart(self) -> None:
        """The variables anew, after a statement that was refused had written to one."""
        self.space = space_of(self.given)
        self.variables: list[Variable] = []
        self.helpers: set[str] = set()
        for at, (name, arg) in enumerate(zip(self.names, self.args, strict=True)):
            self._bind(at, name, arg)
        for statement in self.statements:
            self.run(statement)

    def _bind(self, at: int, name: str, arg: Value) -> Variable:
        """An argument as a variable; those of arguments come first."""
        value = arg.copy() if isinstance(arg, np.ndarray) else arg
        self.space[name] = value
        variable = Variable(name, np.asarray(value), -1 - at)
        self.variables.insert(at, variable)
        return variable

    def _new_argument(self, fits: Test) -> Variable | None:
        """One more argument, that fits; None if none of those that may be made does."""
        at = len(self.args)
        if at == self.present + len(self.spare):
            return None
        made = self.spare[at - self.present](lambda value: fits(np.asarray(value)))
        if made is None:
            return None
        self.args += (made,)
        self.names = (*self.names, ARGUMENTS[at - self.present])
        return self._bind(at, self.names[at], made)

    def _forget_arguments(self, count: int) -> None:
        """Take back what was made for a statement that was refused."""
        for name in self.names[count:]:
            del self.space[name]
        del self.variables[count : len(self.args)]
        self.args, self.names = self.args[:count], self.names[:count]

    def run(self, statement: Statement) -> None:
        """Run a statement, without a look at its values."""
        self._run(statement.lines, statement.helpers)
        self._assign(statement)

    def append(self, statement: Statement) -> bool:
        """Append a statement that another program had; False if it does not run here."""
        groups = {v.name: v.group for v in self.variables}
        if statement.writes is not None and groups.get(statement.writes, -1) < 0:
            return False  # it would write to an argument
        self.statements.append(statement)
        return self._tried(statement)

    def _run(self, lines: Sequence[str], helpers: Sequence[str]) -> None:
        for name in helpers:
            if name not in self.helpers:
                exec(HELPERS[name], self.space)  # noqa: S102 - text of ours
                self.helpers.add(name)
        with silence():
            exec("\n".join(lines), self.space)  # noqa: S102

    def _assign(self, statement: Statement) -> None:
        if statement.name is None:
            return
        value = self.space[statement.name]
        group = len(self.variables)
        if isinstance(value, np.ndarray):
            for other in self.variables:
                if isinstance(other.value, np.ndarray) and np.may_share_memory(value, other.value):
                    group = other.group
        self.variables.append(Variable(statement.name, value, group))

    def add(self, operation: Operation, row: Sequence[int]) -> bool:
        """Append a statement of this kind; False if none fits."""
        known = len(self.args)
        added = self._add(operation, row)
        if not added:
            self._forget_arguments(known)
        return added

    def _chooser(self, row: Sequence[int]) -> Chooser:
        room = len(self.args) < self.present + len(self.spare)
        return Chooser(self.variables, row, self._new_argument if room else None)

    def _add(self, operation: Operation, row: Sequence[int]) -> bool:
        choose = self._chooser(row)
        try:
            draft = operation.draft(choose)
        except InapplicableError:
            return False
        if draft.margin < SMOOTH and not self.kinks:
            return False
        draft = draft._replace(reads=tuple(choose.read))
        for scale in ("", "0.02 * "):
            statement = self._statement(draft, scale, operation.name)
            self.statements.append(statement)
            if self._tried(statement):
                return True
            self.statements.pop()
            if statement.writes is not None or draft.several_lines:
                self._restart()
            if draft.several_lines:
                break
        return False

    def _statement(self, draft: Draft, scale: str, operation: str) -> Statement:
        name = None
        if draft.writes is None:
            name = f"v{1 + sum(s.name is not None for s in self.statements)}"
        if draft.several_lines:
            text = draft.text.replace("{out}", name or "")
        else:
            text = f"{name} = {scale + '(' + draft.text + ')' if scale else draft.text}"
        lines = tuple(text.split("\n"))
        return Statement(lines, name, draft.writes, draft.reads, draft.helpers, operation)

    def _tried(self, statement: Statement) -> bool:
        """Whether the statement runs, to values of use."""
        try:
            self._run(statement.lines, statement.helpers)
        except REFUSED:
            return False
        if statement.name is None:
            assert statement.writes is not None
            return all(self._is_useful(self.space[v.name]) for v in self.variables if v.group >= 0)
        value = self.space[statement.name]
        if not isinstance(value, (np.ndarray, np.generic)) or not self._is_useful(value):
            return False
        self._assign(statement)
        return True

    def _is_useful(self, value: Value) -> bool:
        """Floating, not too large, and finite."""
        if value.dtype.kind not in "fc" or value.size > LARGEST:
            return False
        if not value.size:
            return self.empty
        greatest = np.max(np.abs(value))
        return bool(np.isfinite(greatest) and greatest <= GREAT)

    # -- the end ---------------------------------------------------------------------------------

    def program(self, row: Sequence[int], output: str) -> Program:
        """The program whose result is of what no statement has used, without dead statements."""
        if not self.variables:
            self._new_argument(lambda _: True)
        returned, needed, scalar = self._result(row, output)
        live = self._live(needed)
        renamed: dict[str, str] = {}
        final = []
        for statement in live:
            if statement.name is not None:
                renamed[statement.name] = f"v{1 + len(renamed)}"
            final.append(in_other_names(statement, renamed))
        lines = [line for statement in final for line in statement.lines]
        helpers = [h for statement in final for h in statement.helpers]
        names, args = self._read({*needed, *(name for s in final for name in s.reads)})
        source = source_of(names, lines, _renamed(returned, renamed), args, helpers, self.given)
        made = tuple(statement.operation for statement in final)
        kind = "scalar" if scalar else "array"
        return Program(source, args, made, self.given, Made(names, tuple(final), kind))

    def _read(self, wanted: set[str]) -> tuple[tuple[str, ...], tuple[Value, ...]]:
        """The arguments, without those that were made for statements that are dead."""
        pairs = list(zip(self.names, self.args, strict=True))
        kept = [pair for at, pair in enumerate(pairs) if at < self.present or pair[0] in wanted]
        return tuple(name for name, _ in kept), tuple(arg for _, arg in kept)

    def _result(self, row: Sequence[int], output: str) -> tuple[str, list[str], bool]:
        """Returned expression, the variables that it reads, and whether it is their sum."""
        choose = Chooser(self.variables, row)
        read: set[str] = set()
        for statement in self.statements:
            read.update(statement.reads)
            read.discard(statement.writes or "")  # what was written to is to be seen
        last = self.variables[-1]
        loose = [v for v in self.variables[len(self.args) :] if v.name not in read]
        if not loose:
            loose = [last]
        if output == "array" or output == "any" and choose.number(2) == 1:
            if len(loose) == 1:
                return loose[0].name, [loose[0].name], False
            return f"({', '.join(v.name for v in loose)})", [v.name for v in loose], False
        return " + ".join(_as_real_sum(v) for v in loose), [v.name for v in loose], True

    def _live(self, needed: Sequence[str]) -> list[Statement]:
        groups = {v.name: v.group for v in self.variables}
        wanted = set(needed)
        live = []
        for statement in reversed(self.statements):
            if statement.writes is not None:
                group = groups[statement.writes]
                if all(groups[name] != group for name in wanted):
                    continue
                wanted.add(statement.writes)
            elif statement.name not in wanted:
                continue
            live.append(statement)
            wanted.update(statement.reads)
        return live[::-1]


def _as_real_sum(variable: Variable) -> str:
    name, value = variable.name, variable.value
    if value.dtype.kind == "c":
        return f"np.sum({name}.real + 0.5 * {name}.imag)"
    return f"np.sum({name})" if value.ndim else name


_NAME = re.compile(r"\bv\d+\b")


def _renamed(line: str, names: dict[str, str]) -> str:
    return _NAME.sub(lambda found: names.get(found[0], found[0]), line)


def in_other_names(statement: Statement, names: dict[str, str]) -> Statement:
    """The statement with some of its variables named otherwise."""

    def other(name: str) -> str:
        return names.get(name, name)

    return statement._replace(
        lines=tuple(_renamed(line, names) for line in statement.lines),
        name=statement.name and other(statement.name),
        writes=statement.writes and other(statement.writes),
        reads=tuple(map(other, statement.reads)),
    )


__all__ = ["ARGUMENTS", "WHOLE", "Builder", "in_other_names"]
