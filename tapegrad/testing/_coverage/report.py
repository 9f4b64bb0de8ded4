"""`RuleCoverage`: what of which rules has been exercised, as text, JSON and HTML.

Knows rows of what was there and what was seen, which reports of several processes add up. Must
not know rules, nor code objects.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

from tapegrad._errors import InputError, message

FORMAT = 1  # of the JSON


@dataclass
class Branch:
    """A condition, and the answers that it has had."""

    line: int
    asked: str
    answers: set[bool] = field(default_factory=set)

    def __str__(self) -> str:
        words = {True: "true", False: "false"}
        if not self.answers:
            return f"line {self.line}: never asked: {self.asked}"
        never = words[not next(iter(self.answers))]
        return f"line {self.line}: never {never}: {self.asked}"


@dataclass
class FunctionCoverage:
    """A function of a rule, or one that several rules call: its lines and conditions."""

    label: str
    file: str
    first: int
    lines: set[int]
    seen: set[int]
    branches: list[Branch]

    @property
    def missing(self) -> list[int]:
        """The lines that have not run."""
        return sorted(self.lines - self.seen)

    @property
    def unanswered(self) -> list[Branch]:
        """The conditions of lines that ran that have not had both answers."""
        return [one for one in self.branches if one.line in self.seen and len(one.answers) < 2]

    def add(self, other: FunctionCoverage) -> None:
        self.seen |= other.seen
        for mine, theirs in zip(self.branches, other.branches, strict=True):
            mine.answers |= theirs.answers


@dataclass
class OneRule:
    """Expectations of a rule and observations: its sides, arguments, dtypes and functions.

    positions: for each side the arguments by which it was asked. arguments: how many there are,
    if that is known.
    """

    name: str
    form: str
    module: str
    expected: tuple[str, ...]
    arguments: int | None
    positions: dict[str, set[int]] = field(default_factory=dict)
    dtypes: set[str] = field(default_factory=set)
    functions: list[FunctionCoverage] = field(default_factory=list)

    @property
    def is_exercised(self) -> bool:
        """Whether the rule was used at all, by any transform."""
        return bool(self.positions) or any(one.seen for one in self.functions)

    def missing(self) -> list[str]:
        """Lines on all that was not exercised, one each; empty where all was."""
        if not self.is_exercised:
            return ["never used"]
        absent = [side for side in self.expected if side not in self.positions]
        found = [f"never by {', '.join(absent)}"] if absent else []
        for side in ("vjp", "jvp"):
            if side in self.positions and self.arguments and self.arguments > 1:
                rest = set(range(self.arguments)) - self.positions[side]
                found += [f"{side}: never by argument {at}" for at in sorted(rest)]
        for one in self.functions:
            found += _gaps(one)
        return found


def _gaps(one: FunctionCoverage) -> Iterator[str]:
    where = f"{one.label} ({Path(one.file).name}:{one.first})"
    if not one.seen:
        yield f"{where}: never called"
        return
    if one.missing:
        yield f"{where}: lines never run: {_ranges(one.missing)}"
    for branch in one.unanswered:
        yield f"{where}: {branch}"


def _ranges(lines: list[int]) -> str:
    parts: list[list[int]] = []
    for line in lines:
        if parts and line == parts[-1][1] + 1:
            parts[-1][1] = line
        else:
            parts.append([line, line])
    return ", ".join(f"{a}" if a == b else f"{a}-{b}" for a, b in parts)


class RuleCoverage:
    """Which rules, and which lines and branches of them, have been exercised.

    `print` shows what was missing. Reports of several processes add up by `merge`.

    Parameters
    ----------
    rules : iterable of OneRule, default ()
        A row for each rule.
    helpers : iterable of FunctionCoverage, default ()
        Functions of the rules' modules that they call.
    notes : iterable of str, default ()
        What could not be watched, and why.

    Attributes
    ----------
    rules : list of OneRule
        Sorted by module and name.
    helpers : list of FunctionCoverage
        Sorted by file and line.
    notes : list of str
        The notes.

    See Also
    --------
    rule_coverage : Fills one in.

    Examples
    --------
    >>> from tapegrad.testing import rule_coverage
    >>> with rule_coverage("mylibrary") as report:
    ...     pass
    >>> report.figures()["rules"]
    (0, 0)
    """

    def __init__(
        self,
        rules: Iterable[OneRule] = (),
        helpers: Iterable[FunctionCoverage] = (),
        notes: Iterable[str] = (),
    ) -> None:
        self.rules: list[OneRule] = sorted(rules, key=lambda one: (one.module, one.name, one.form))
        self.helpers: list[FunctionCoverage] = sorted(
            helpers, key=lambda one: (one.file, one.first)
        )
        self.notes: list[str] = list(notes)

    # -- figures ---------------------------------------------------------------------------------

    def functions(self) -> list[FunctionCoverage]:
        """Return all functions of rules and helpers, each once.

        Returns
        -------
        list of FunctionCoverage
            With the lines and branches of each.
        """
        every = [function for rule in self.rules for function in rule.functions]
        return list({_place(one): one for one in (*every, *self.helpers)}.values())

    def figures(self) -> dict[str, tuple[int, int]]:
        """Count how many rules, sides, lines and branches were exercised, and of how many.

        Returns
        -------
        dict of str to tuple of int
            "rules", "sides", "lines" and "branches", each with those exercised and all of them.
        """
        rules, functions = self.rules, self.functions()
        sides = sum(len(set(one.expected) & one.positions.keys()) for one in rules)
        return {
            "rules": (sum(one.is_exercised for one in rules), len(rules)),
            "sides": (sides, sum(len(one.expected) for one in rules)),
            "lines": (
                sum(len(one.seen & one.lines) for one in functions),
                sum(len(one.lines) for one in functions),
            ),
            "branches": (
                sum(len(branch.answers) for one in functions for branch in one.branches),
                sum(2 * len(one.branches) for one in functions),
            ),
        }

    # -- as text ---------------------------------------------------------------------------------

    def __str__(self) -> str:
        return "\n".join(self._text())

    def _text(self) -> Iterator[str]:
        yield "rules of derivatives: " + ", ".join(
            f"{kind} {seen} of {total}" + (f" ({100 * seen / total:.1f} %)" if total else "")
            for kind, (seen, total) in self.figures().items()
        )
        for note in self.notes:
            yield f"note: {note}"
        never: dict[str, list[str]] = {}
        for rule in self.rules:
            if not rule.is_exercised:
                never.setdefault(rule.module, []).append(rule.name)
                continue
            gaps = rule.missing()
            if gaps:
                yield ""
                yield f"{rule.name} ({rule.form}, {rule.module})"
                yield from (f"  {gap}" for gap in gaps)
        beside = [gap for one in self.helpers for gap in _gaps(one)]
        if beside:
            yield ""
            yield "functions that rules call"
            yield from (f"  {gap}" for gap in beside)
        for module, names in never.items():
            yield ""
            yield f"never used, of {module}: {', '.join(names)}"

    # -- as data ---------------------------------------------------------------------------------

    def to_json(self) -> str:
        """Return the report as JSON, which `from_json` reads.

        Returns
        -------
        str
            The JSON.
        """
        data = {
            "format": FORMAT,
            "figures": self.figures(),
            "notes": self.notes,
            "rules": [asdict(one) for one in self.rules],
            "helpers": [asdict(one) for one in self.helpers],
        }
        return json.dumps(data, default=sorted, indent=1)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read a report that `to_json` has written.

        Parameters
        ----------
        text : str
            The JSON.

        Returns
        -------
        RuleCoverage
            The report.

        Raises
        ------
        InputError
            If it was written in another format, by another version.
        """
        data = json.loads(text)
        if data.get("format") != FORMAT:
            raise InputError(
                message(
                    "RuleCoverage.from_json",
                    f"format {FORMAT}",
                    repr(data.get("format")),
                    "Write the report again with this version",
                )
            )
        return cls(
            map(_rule_from, data["rules"]), map(_function_from, data["helpers"]), data["notes"]
        )

    def merge(self, other: RuleCoverage) -> None:
        """Add what another run of the same code has exercised.

        Parameters
        ----------
        other : RuleCoverage
            Its report.
        """
        rules = {(one.module, one.name, one.form): one for one in self.rules}
        for theirs in other.rules:
            mine = rules.setdefault((theirs.module, theirs.name, theirs.form), theirs)
            if mine is not theirs:
                for side, positions in theirs.positions.items():
                    mine.positions.setdefault(side, set()).update(positions)
                mine.dtypes |= theirs.dtypes
                mine.functions = _added(mine.functions, theirs.functions)
        notes = dict.fromkeys([*self.notes, *other.notes])
        helpers = _added(self.helpers, other.helpers)
        RuleCoverage.__init__(self, rules.values(), helpers, notes)

    def save(self, path: str | Path) -> None:
        """Write the report to a file.

        Parameters
        ----------
        path : str or Path
            JSON or HTML is written if the name ends in .json, .html or .htm, else text.
        """
        path = Path(path)
        text = str(self) + "\n"
        if path.suffix == ".json":
            text = self.to_json()
        elif path.suffix in (".html", ".htm"):
            from tapegrad.testing._coverage.page import page

            text = page(self)
        path.write_text(text, encoding="utf-8")


def _place(one: FunctionCoverage) -> tuple[str, int, int]:
    return one.file, one.first, hash(tuple((x.line, x.asked) for x in one.branches))


def _added(mine: list[FunctionCoverage], theirs: list[FunctionCoverage]) -> list[FunctionCoverage]:
    found = {(one.label, *_place(one)): one for one in mine}
    for one in theirs:
        known = found.setdefault((one.label, *_place(one)), one)
        if known is not one:
            known.add(one)
    return list(found.values())


def _function_from(data: dict[str, Any]) -> FunctionCoverage:
    branches = [Branch(one["line"], one["asked"], set(one["answers"])) for one in data["branches"]]
    sets = {name: set(data[name]) for name in ("lines", "seen")}
    return FunctionCoverage(**{**data, **sets, "branches": branches})


def _rule_from(data: dict[str, Any]) -> OneRule:
    return OneRule(
        **{
            **data,
            "expected": tuple(data["expected"]),
            "positions": {side: set(found) for side, found in data["positions"].items()},
            "dtypes": set(data["dtypes"]),
            "functions": [_function_from(one) for one in data["functions"]],
        }
    )


__all__ = ["Branch", "FunctionCoverage", "OneRule", "RuleCoverage"]
