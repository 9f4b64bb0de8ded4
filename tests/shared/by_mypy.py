"""Programs checked by mypy as a user does it.

Knows mypy's command. Must not know what is checked.
"""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Without the errors of packages that are installed, and without types of those that have none.
# Modules of a package `gallery` are scripts of scientists, who write no types.
SETTINGS = """\
[mypy]
strict = true
ignore_missing_imports = true
[mypy-tapegrad.*]
follow_imports = silent
[mypy-gallery.*]
disallow_any_generics = false
disallow_incomplete_defs = false
disallow_subclassing_any = false
disallow_untyped_calls = false
disallow_untyped_decorators = false
disallow_untyped_defs = false
check_untyped_defs = false
warn_return_any = false
"""


@pytest.fixture(scope="session")
def by_mypy(tmp_path_factory):
    """Output of mypy on some files, whose imports are read once for all tests."""
    pytest.importorskip("mypy", reason="mypy comes with the extra `lint`")
    folder = tmp_path_factory.mktemp("mypy")
    settings = folder / "mypy.ini"
    settings.write_text(SETTINGS, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--config-file", settings]
    command += ["--cache-dir", folder / "cache"]

    def run(*files):
        return subprocess.run(
            [*command, *files], cwd=ROOT, capture_output=True, text=True, check=False
        )

    return run


__all__ = ["by_mypy"]
