"""A pytest plugin for `tests/plant_faults.py`: it records the lines of tests, or runs some tests.

Knows pytest and `sys.monitoring` (from Python 3.12 on). Must not know faults. The lines recorded
of a test are a lower bound: what an earlier test has cached, what runs while modules are imported
and what runs in other processes is not among them.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import sys
from array import array
from collections import defaultdict
from pathlib import Path
from types import CodeType
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("faults")
    group.addoption("--record-lines", metavar="FOLDER", help="write there what each test runs")
    group.addoption("--only-tests", metavar="FILE", help="run the tests that it names, in order")
    group.addoption("--tell", metavar="FILE", help="write there what happens, as it happens")


def pytest_configure(config: pytest.Config) -> None:
    if config.option.record_lines:
        recorder = Recorder(Path(config.option.record_lines), f"{config.rootpath}{os.sep}")
        config.pluginmanager.register(recorder)
    if config.option.only_tests:
        config.pluginmanager.register(Chosen(Path(config.option.only_tests)))
    if config.option.tell:
        config.pluginmanager.register(Teller(Path(config.option.tell)))


class Recorder:
    """The tests that pass, their seconds, and for each line of tapegrad those that run it."""

    TOOL = 4  # Hypothesis and tapegrad's own coverage of rules take 3, and coverage.py 1

    def __init__(self, folder: Path, root: str) -> None:
        self.folder, self.root, self.package = folder, root, f"{root}tapegrad{os.sep}"
        self.tests: list[tuple[str, float]] = []
        self.lines: dict[tuple[str, int], array[int]] = defaultdict(lambda: array("I"))
        self.now: list[tuple[str, int]] = []
        self.seconds, self.passed = 0.0, True
        events = sys.monitoring.events
        sys.monitoring.use_tool_id(self.TOOL, "the lines that tests run")
        sys.monitoring.register_callback(self.TOOL, events.PY_START, self._begun)
        sys.monitoring.register_callback(self.TOOL, events.LINE, self._ran)
        sys.monitoring.set_events(self.TOOL, events.PY_START)

    def _begun(self, code: CodeType, _offset: int) -> Any:
        if code.co_filename.startswith(self.package):
            sys.monitoring.set_local_events(self.TOOL, code, sys.monitoring.events.LINE)
        return sys.monitoring.DISABLE

    def _ran(self, code: CodeType, line: int) -> Any:
        self.now.append((code.co_filename, line))
        return sys.monitoring.DISABLE  # until the next test

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        self.now, self.seconds, self.passed = [], 0.0, True
        sys.monitoring.restart_events()
        result = yield
        if self.passed:
            for place in set(self.now):
                self.lines[place].append(len(self.tests))
            self.tests.append((item.nodeid, self.seconds))
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds += report.duration
        self.passed = self.passed and report.passed

    def pytest_sessionfinish(self) -> None:
        """Each worker of pytest-xdist writes a file; who distributes the tests has nothing to."""
        events = sys.monitoring.events
        for event in (events.PY_START, events.LINE):
            sys.monitoring.register_callback(self.TOOL, event, None)
        sys.monitoring.set_events(self.TOOL, events.NO_EVENTS)
        if not self.tests:
            return
        lines: dict[str, dict[int, array[int]]] = defaultdict(dict)
        for (name, line), tests in self.lines.items():
            lines[name.removeprefix(self.root).replace(os.sep, "/")][line] = tests
        name = os.environ.get("PYTEST_XDIST_WORKER", "alone")
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / f"{name}.part").write_bytes(pickle.dumps((self.tests, dict(lines))))


class Chosen:
    """The named tests alone run, in the order in which they are named, and without all memory."""

    MOST_BYTES = 12 << 30  # a fault may ask for more, of a machine that others use as well

    def __init__(self, names: Path) -> None:
        with contextlib.suppress(ImportError):  # Windows
            import resource

            _, hard = resource.getrlimit(resource.RLIMIT_AS)
            resource.setrlimit(resource.RLIMIT_AS, (self.MOST_BYTES, hard))
        self.order = {name: place for place, name in enumerate(json.loads(names.read_text()))}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        chosen = [item for item in items if item.nodeid in self.order]
        items[:] = sorted(chosen, key=lambda item: self.order[item.nodeid])


class Teller:
    """Tells whoever waits for this process what it did last: it may hang, or end all at once."""

    def __init__(self, path: Path) -> None:
        self.file = path.open("w", buffering=1, encoding="utf-8")

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        print("failed" if report.failed else "collected", report.nodeid, file=self.file)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        print("began", nodeid, file=self.file)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            print("failed", report.nodeid, file=self.file)
