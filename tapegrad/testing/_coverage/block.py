"""`rule_coverage`: a block that watches which rules are used, and how much of them runs.

Knows the parts: what runs, by whom rules are used, and the report of both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from types import FunctionType
from typing import Any

from tapegrad._block import contextmanager, undoing
from tapegrad._errors import InputError, describe, message
from tapegrad.testing._coverage.conditions import codes_of, lines_of, places_of
from tapegrad.testing._coverage.execution import WATCH, Seen
from tapegrad.testing._coverage.functions import (
    Declared,
    all_rules,
    declared,
    functions_of,
    helpers_of,
)
from tapegrad.testing._coverage.report import Branch, FunctionCoverage, OneRule, RuleCoverage
from tapegrad.testing._coverage.uses import EXPECTED, TOLD, Uses


@contextmanager
def rule_coverage(modules: str | Sequence[str] | None = None) -> Iterator[RuleCoverage]:
    """Watch which rules are used within a block, by what, and how much of them runs.

    Parameters
    ----------
    modules : str or sequence of str, optional
        The modules whose rules count, and with each those within it: "tapegrad.rules",
        "mylibrary"; None (the default) for all.

    Yields
    ------
    RuleCoverage
        The report, which is filled in when the block ends. It has a row for each rule: those of
        tapegrad's registry, which has each `tapegrad.primitive` too, and custom functions
        (custom_vjp, custom_jvp) that modules hold or the block has called.

    Raises
    ------
    InputError
        If modules are no names.

    Notes
    -----
    A row says by which transforms the rule was used (vjp, jvp, linearize, vmap; a call, for those
    without a rule of derivatives), by which arguments and with which dtypes, and which lines and
    branches of its functions have run: partials, transposes, vjps, jvps, definitions, and the
    functions of the same module that they call. All threads count.

    From Python 3.12 on the lines are told by `sys.monitoring`, each once: tests of tapegrad's own
    rules take 1.1 to 1.5 times their processor time. Before, they are told by `sys.settrace`,
    which slows all Python code (those tests take 2.2 to 3.3 times as long), and is left to a
    debugger or coverage.py if one has it: a note in the report says so. Calls that are known from
    before the block are looked up anew. Blocks may be nested.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> with rule_coverage("tapegrad.rules") as report:
    ...     _ = tapegrad.grad(np.sin)(1.0)
    >>> [row.missing() for row in report.rules if row.name == "np.sin"]
    [['never by jvp, linearize, vmap']]
    """
    if isinstance(modules, str):
        modules = (modules,)
    if modules is not None and not all(isinstance(name, str) for name in modules):
        raise InputError(
            message("rule_coverage", "names of modules", describe(modules), 'Pass "mylibrary"')
        )
    report, uses, seen, met = RuleCoverage(), Uses(), Seen(), _Met(modules)
    try:
        with undoing(partial(WATCH.close, seen)):
            WATCH.open(seen)
            for rule in all_rules():
                met.meet(rule)
            with TOLD.by(uses, met.meet):
                yield report
    finally:
        for rule in all_rules():
            met.meet(rule)
        made = _report(met.rules.items(), uses, seen)
        RuleCoverage.__init__(report, made.rules, made.helpers, made.notes)


class _Met:
    """The rules that a report is about; what they are made of is watched from then on."""

    def __init__(self, modules: Sequence[str] | None) -> None:
        self.modules = modules
        self.rules: dict[Declared, Any] = {}
        self.known: dict[int, Any] = {}  # by id, what was met before

    def meet(self, rule: Any) -> None:
        if self.known.get(id(rule)) is rule:
            return
        self.known[id(rule)] = rule
        key = declared(rule)
        if key in self.rules or not self._is_asked(key.module):
            return
        self.rules[key] = rule
        own = [one.written for one in functions_of(rule)]
        for function in (*own, *helpers_of(own)):
            WATCH.add(function.__code__)

    def _is_asked(self, module: str) -> bool:
        return self.modules is None or any(
            module == name or module.startswith(f"{name}.") for name in self.modules
        )


def _report(rules: Iterable[tuple[Declared, Any]], uses: Uses, seen: Seen) -> RuleCoverage:
    rows, owned, functions = [], set(), []
    for key, rule in rules:
        own = functions_of(rule)
        functions += [one.written for one in own]
        owned |= {one.written.__code__ for one in own}
        rows.append(
            OneRule(
                *key,
                EXPECTED.get(key.form, ()),
                getattr(rule, "declared", None),
                uses.sides.get(key, {}),
                uses.dtypes.get(key, set()),
                [_coverage(one.label, one.written, seen) for one in own],
            )
        )
    helpers = {one.__code__: one for one in helpers_of(functions) if one.__code__ not in owned}
    beside = [_coverage(one.__qualname__, one, seen) for one in helpers.values()]
    return RuleCoverage(rows, beside, [seen.unwatched] if seen.unwatched else [])


def _coverage(label: str, function: FunctionType, seen: Seen) -> FunctionCoverage:
    """Executed part of a function, and of those within it."""
    code = function.__code__
    lines: set[int] = set()
    ran: set[int] = set()
    branches = []
    for part in codes_of(code):
        lines |= lines_of(part)
        ran |= seen.lines.get(part, set()) & lines_of(part)
        ways = seen.ways.get(part, set())
        for place in places_of(part):
            answers = {
                place.jumps_if if made else not place.jumps_if
                for made in (True, False)
                if (place.offset, made) in ways
            }
            branches.append(Branch(place.line, place.asked, answers))
    return FunctionCoverage(label, code.co_filename, code.co_firstlineno, lines, ran, branches)


__all__ = ["rule_coverage"]
