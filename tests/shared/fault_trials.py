"""Tests of a copy of a checkout: which lines each runs, and which finds a fault that is planted.

Knows how tests are run. Must not know how faults are drawn.
"""

from __future__ import annotations

import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import time
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from fault_drawing import Fault

SILENCE = 60  # seconds in which nothing is told, after which a process is said to hang
START = "the start"  # what is said to have failed where no file of tests was imported
NO_TESTS = 5  # pytest's code, where the names of the chosen tests depend on what has the fault


class Map(NamedTuple):
    """The default tests, each with its seconds, and for each line those that run it."""

    tests: list[tuple[str, float]]
    lines: dict[str, dict[int, array[int]]]

    def running(self, fault: Fault) -> tuple[list[str], list[str]]:
        """The tests of a fault's own room that run its line, and those of all other rooms."""
        of_file = self.lines.get(fault.file, {})
        found = set(of_file.get(fault.line) or of_file.get(fault.statement) or ())
        own = {n for n, (name, _) in enumerate(self.tests) if is_of_room(name, fault.room)}
        if found:
            return self._ordered(found & own), self._ordered(found - own)
        near: set[int] = set().union(*of_file.values())
        return self._ordered(own & near) + self._ordered(own - near), self._ordered(near - own)

    def _ordered(self, tests: set[int]) -> list[str]:
        """The quickest case of each test, then all other cases."""
        seen: set[str] = set()
        first, later = [], []
        for name, _ in sorted((self.tests[n] for n in tests), key=lambda test: test[1]):
            function = name.partition("[")[0]
            (later if function in seen else first).append(name)
            seen.add(function)
        return first + later


def is_of_room(test: str, room: str) -> bool:
    """Whether a test is in the room's folder."""
    return test.startswith(f"tests/{room}/")


def merged(parts: Iterable[Path]) -> Map:
    """The map of what several workers have recorded."""
    whole = Map([], defaultdict(dict))
    for part in parts:
        tests, lines = pickle.loads(part.read_bytes())
        for file, of_file in lines.items():
            for line, ran in of_file.items():
                there = whole.lines[file].setdefault(line, array("I"))
                there.extend(n + len(whole.tests) for n in ran)
        whole.tests.extend(tests)
    return Map(whole.tests, dict(whole.lines))


class Copy:
    """A copy of a checkout, in which faults are planted and tests run."""

    def __init__(self, checkout: Path, place: Path) -> None:
        self.root, self.plugin, self.told = place / "copy", place / "plugin", place / "told"
        self.chosen, self.said = place / "chosen.json", place / "said"
        listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        found = subprocess.run(listed, cwd=checkout, check=True, capture_output=True, text=True)
        for file in sorted(set(found.stdout.split("\0")) - {""}):
            if (checkout / file).is_file():
                (self.root / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(checkout / file, self.root / file)
        self.plugin.mkdir()
        shutil.copy(Path(__file__).with_name("fault_plugin.py"), self.plugin)

    def pytest(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Starts pytest in the copy: what it imports, and what its programs import, is there."""
        path = os.pathsep.join(map(str, (self.root, self.plugin)))
        env = {**os.environ, "PYTHONPATH": path}
        env.pop("PYTHONDONTWRITEBYTECODE", None)  # each start would compile everything
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        command += ["-p", "fault_plugin", *arguments]
        with self.said.open("w") as said:
            return subprocess.Popen(
                command, cwd=self.root, env=env, stdout=said, stderr=said, start_new_session=True
            )

    @contextmanager
    def fault(self, fault: Fault) -> Iterator[None]:
        """Plants a fault, and takes it out again."""
        path = self.root / fault.file
        sound = path.read_bytes()
        try:
            rewrite(path, fault.planted(sound))
            yield
        finally:
            rewrite(path, sound)

    def finder(self, tests: list[str], limit: float) -> tuple[str | None, bool]:
        """The first test that fails, hangs or crashes, and whether there was time for all."""
        self.chosen.write_text(json.dumps(tests))
        self.told.unlink(missing_ok=True)
        files = sorted({name.partition("::")[0] for name in tests})
        options = [f"--only-tests={self.chosen}", f"--tell={self.told}"]
        process = self.pytest("-x", *options, *files)
        try:
            code = process.wait(limit)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        if code in (0, NO_TESTS):
            return None, True
        return self._last(in_time=code is not None)

    def _last(self, in_time: bool) -> tuple[str | None, bool]:
        """The test that failed, or during which the process ended or fell silent."""
        if not self.told.exists():
            return START, True
        lines = [line.split(" ", 1) for line in self.told.read_text().splitlines()]
        failed = [name for word, name in lines if word == "failed"]
        if failed:
            return failed[0], True
        if not in_time and time.time() - self.told.stat().st_mtime < SILENCE:
            return None, False
        return lines[-1][1] if lines else START, True


def rewrite(path: Path, data: bytes) -> None:
    """Writes a file so that Python sees a change: it compares whole seconds, and sizes."""
    last = path.stat().st_mtime
    path.write_bytes(data)
    os.utime(path, (last + 1, last + 1))


def tried(copy: Copy, fault: Fault, tests: list[str], limit: float) -> tuple[str | None, bool]:
    """The test that finds a fault and passes without it, and whether there was time for all."""
    end = time.monotonic() + limit
    while tests and (left := end - time.monotonic()) > 0:
        with copy.fault(fault):
            found, in_time = copy.finder(tests, left)
        if found is None:
            return None, in_time
        again = found if found in tests else tests[0]  # a file may not be importable
        without, _ = copy.finder([again], limit)
        if without is None:
            return found, True
        if without == START:
            raise RuntimeError(copy.said.read_text())
        print(f"fails without a fault: {again}", file=sys.stderr)
        tests = [name for name in tests if name != again]
    return None, not tests
