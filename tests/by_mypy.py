"""Programs checked by mypy as a user does it.

Knows mypy's command. Must not know what is checked.
"""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# Without the errors of packages that are installed.
SETTINGS = """\
[mypy]
strict = true
[mypy-tapegrad.*]
follow_imports = silent
"""


# Scripts of scientists, who write no types, and use packages that have none.
OF_SCRIPTS = SETTINGS.replace("strict = true", "ignore_missing_imports = true")


@pytest.fixture(scope="session")
def by_mypy(tmp_path_factory):
    """What mypy prints of some files, whose imports are read once for all tests."""
    return runner(tmp_path_factory.mktemp("mypy"), SETTINGS)


@pytest.fixture(scope="session")
def scripts_by_mypy(tmp_path_factory):
    """The same of scripts."""
    return runner(tmp_path_factory.mktemp("mypy"), OF_SCRIPTS, "--show-column-numbers")


def runner(folder, text, *options):
    """A function that runs mypy with the text of some settings."""
    pytest.importorskip("mypy", reason="mypy comes with the extra `lint`")
    settings = folder / "mypy.ini"
    settings.write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--config-file", settings]
    command += ["--cache-dir", folder / "cache", *options]

    def run(*files):
        return subprocess.run(
            [*command, *files], cwd=ROOT, capture_output=True, text=True, check=False
        )

    return run


__all__ = ["by_mypy", "scripts_by_mypy"]
