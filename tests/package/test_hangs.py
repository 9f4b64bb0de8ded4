"""Processes of their own: a test that hangs ends its; sub-interpreters; no docstrings."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
HANGS = """
import time


def test_ends():
    pass


def test_waits():
    time.sleep(60)
"""


@pytest.mark.slow
def test_a_test_that_hangs_is_named(tmp_path):
    (tmp_path / "test_hanging.py").write_text(HANGS, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-v", "-p", "conftest", "--hang-seconds", "1"]
    found = subprocess.run(
        [*command, "-c", os.devnull, "--rootdir", str(tmp_path), str(tmp_path)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (TESTS, TESTS / "shared")))},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert found.returncode != 0
    assert "test_ends PASSED" in found.stdout
    assert "in test_waits" in found.stderr


ELSEWHERE = {
    "a sub-interpreter": """
import sys
try:
    import _interpreters as interpreters
    made = interpreters.create("legacy")
    run = interpreters.exec
except ImportError:
    import _xxsubinterpreters as interpreters
    made, run = interpreters.create(isolated=False), interpreters.run_string
run(made, "import sys; sys.path[:] = %r; import tapegrad; import numpy as np; "
    "print(tapegrad.grad(lambda x: np.cbrt(x**3))(0.0))" % sys.path)
""",
    "no docstrings": "import tapegrad.testing; print(1.0)",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ELSEWHERE)
def test_it_works_in(name):
    options = ["-OO"] if name == "no docstrings" else []
    found = subprocess.run(
        [sys.executable, "-W", "ignore", *options, "-c", ELSEWHERE[name]],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert float(found.stdout) == 1.0, found.stderr
