"""Findings of a check: one `Result` a law, a `Report` of all, and the error of those that fail.

Knows words and numbers only.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

PASSED, SKIPPED, FAILED = "passed", "skipped", "failed"


@dataclass(frozen=True)
class Finding:
    """A law that does not hold.

    Parameters
    ----------
    law : str
        Its name.
    text : str
        What was expected, what came, and which side is uncertain by how much.
    expected, got : scalar or array, optional
        The two sides, where they are numbers.
    expected_error, got_error : float, default 0
        What each side may be off by.
    leaf : str, default ""
        The argument, where one could be named.
    index : tuple of int, default ()
        The element, where one could be named.

    See Also
    --------
    check : Asks for laws.

    Examples
    --------
    >>> Finding("jvp", "expected 1.0, got 2.0").law
    'jvp'
    """

    law: str
    text: str
    expected: Any = None
    got: Any = None
    expected_error: float = 0.0
    got_error: float = 0.0
    leaf: str = ""
    index: tuple[int, ...] = ()


class Result(NamedTuple):
    """Outcome of one law. notes: observations that are no failure, such as a kink."""

    law: str
    state: str  # "passed", "skipped" or "failed"
    reason: str = ""  # why a law was skipped
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()


class Skipped(Exception):  # noqa: N818 - it is no error
    """A law that cannot be asked of a function, with the reason."""


@dataclass
class Report:
    """Findings of `check`: which laws hold, which could not be asked, and other observations.

    Parameters
    ----------
    function : str
        Its name.
    seed : int, default 0
        Of the random directions.
    results : list of Result, optional
        One for each law that was asked for, in order.
    evaluations : int, default 0
        How often the function was called.
    seconds : float, default 0
        The time that all took.

    See Also
    --------
    check : Makes it.

    Examples
    --------
    >>> import numpy as np
    >>> from tapegrad.testing import check
    >>> report = check(np.abs, (0.0,), ("jvp", "adjoint"))
    >>> [result.law for result in report.results]
    ['jvp', 'adjoint']
    >>> report.notes
    ('a kink lies here: one-sided slopes -1 and 1',)
    """

    function: str
    seed: int = 0
    results: list[Result] = field(default_factory=list)
    evaluations: int = 0
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        """Whether no law failed."""
        return all(result.state != FAILED for result in self.results)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All laws that do not hold."""
        return tuple(finding for result in self.results for finding in result.findings)

    @property
    def skipped(self) -> dict[str, str]:
        """The laws that could not be asked, with the reasons."""
        return {each.law: each.reason for each in self.results if each.state == SKIPPED}

    @property
    def notes(self) -> tuple[str, ...]:
        """Observations that are no failure: kinks, noise; each once."""
        return tuple(dict.fromkeys(note for result in self.results for note in result.notes))

    def __str__(self) -> str:
        counted = {
            state: [result.law for result in self.results if result.state == state]
            for state in (PASSED, SKIPPED, FAILED)
        }
        numbers = f"({self.evaluations} evaluations, {self.seconds:.2g} s, seed {self.seed})"
        held, skipped, failed = (len(counted[state]) for state in (PASSED, SKIPPED, FAILED))
        words = f"{held} laws hold, {skipped} could not be asked, {failed} do not hold"
        lines = [f"check({self.function}): {words} {numbers}"]
        lines += [f"  holds: {', '.join(counted[PASSED])}"] if counted[PASSED] else []
        lines += [f"  could not be asked: {law}: {why}" for law, why in self.skipped.items()]
        lines += [f"  {note}" for note in self.notes]
        lines += [_indented(finding) for finding in self.findings]
        return "\n".join(lines)


def _indented(finding: Finding) -> str:
    return f"  {finding.law}: " + finding.text.replace("\n", "\n    ")


class LawError(AssertionError):
    """A function does not keep a law that derivatives have to keep.

    Parameters
    ----------
    report : Report
        What `check` found.
    blame : Blame, optional
        The operation whose own rule is wrong.
    cause : str, default ""
        What else may be the cause, in words.

    Attributes
    ----------
    law : str
        The name of the first law that fails.
    findings : tuple of Finding
        All of them.
    blame : Blame or None
        The operation whose own rule is wrong.
    report : Report
        What `check` found.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> from tapegrad.testing import check
    >>> wrong = tapegrad.custom_vjp(lambda x: x * x)
    >>> wrong.defvjp(lambda x: (x * x, x), lambda x, g: (g * x,))
    >>> try:
    ...     check(wrong, (3.0,), "gradient")
    ... except LawError as error:
    ...     print(error.law)
    gradient
    """

    __module__ = "tapegrad.testing"  # as the summaries of pytest name it

    def __init__(self, report: Report, blame: Any = None, cause: str = "") -> None:
        self.report = report
        self.findings: tuple[Finding, ...] = report.findings
        self.law: str = self.findings[0].law
        self.blame = blame
        super().__init__(_text(report, blame, cause))


SHOWN = 4  # findings in a message: the first ones are the causes of the others, as a rule


def _text(report: Report, blame: Any, cause: str) -> str:
    lines = [f"check({report.function}): {report.findings[0].law}: {report.findings[0].text}"]
    others = report.findings[1:]
    lines += [_indented(finding) for finding in others[: SHOWN - 1]]
    rest = [finding.law for finding in others[SHOWN - 1 :]]
    lines += [f"  and: {', '.join(dict.fromkeys(rest))}"] if rest else []
    lines += [f"  {note}" for note in report.notes[:SHOWN]]
    if blame is not None:
        lines.append(str(blame))
    lines += [cause] if cause else []
    held = sum(result.state == PASSED for result in report.results)
    lines.append(f"{held} other laws hold ({report.evaluations} evaluations, seed {report.seed}).")
    return "\n".join(lines)
