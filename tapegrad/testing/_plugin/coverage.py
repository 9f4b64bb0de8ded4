"""The option --tapegrad-rule-coverage: one report of a session, also of one with several workers.

Knows pytest's sessions, and how pytest-xdist hands on what a worker has found. Must not know how
a report is made.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import pytest

from tapegrad.testing._coverage.block import rule_coverage
from tapegrad.testing._coverage.report import RuleCoverage

KEY = "tapegrad_rule_coverage"


def begin(config: pytest.Config) -> None:
    """Watch rules from now on: what test files do when they are imported counts too."""
    config.pluginmanager.register(_Session(config), "tapegrad-rule-coverage")


class _Session:
    """A session that is watched; of workers, each watches its own part."""

    def __init__(self, config: pytest.Config) -> None:
        self.path: str = config.option.tapegrad_rule_coverage
        asked = config.option.tapegrad_rule_coverage_of
        names = None if asked is None else [name.strip() for name in asked.split(",")]
        self.stack = ExitStack()
        self.report: RuleCoverage = self.stack.enter_context(rule_coverage(names))
        self.workers: list[str] = []

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        self.stack.close()
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output[KEY] = self.report.to_json()

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """A worker of pytest-xdist has ended; one that crashed has no report."""
        found = getattr(node, "workeroutput", {}).get(KEY)
        if found is not None:
            self.workers.append(found)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        self.stack.close()  # a session that was interrupted
        for text in self.workers:
            self.report.merge(RuleCoverage.from_json(text))
        terminalreporter.section("rule coverage")
        if self.path == "-":
            terminalreporter.write_line(str(self.report))
            return
        self.report.save(self.path)
        terminalreporter.write_line(str(self.report).partition("\n")[0])
        terminalreporter.write_line(f"written to {self.path}")

    def pytest_unconfigure(self) -> None:
        self.stack.close()
