"""Draws the pictures of README.md and quickstart.md: `python docs/pictures.py`."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
FENCE = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def program_of(page: Path) -> str:
    return "\n".join(FENCE.findall(page.read_text(encoding="utf-8")))


def tape_of_the_readme() -> str:
    """The tape of the first example's `energy`, as a picture."""
    import tapegrad

    names: dict[str, Any] = {"__name__": "energy"}
    exec(compile(program_of(HERE.parent / "README.md"), "README.md", "exec"), names)  # noqa: S102
    return tapegrad.tape(names["energy"], names["x"], 2.0).to_svg()


def curve_of_the_quickstart() -> bytes:
    """The points and the curve that quickstart.md draws."""
    import matplotlib as mpl

    mpl.rcParams["svg.hashsalt"] = "tapegrad"
    mpl.rcParams["svg.fonttype"] = "none"
    program = program_of(HERE / "quickstart.md")
    program = program.replace('savefig("fit.svg")', 'savefig("fit.svg", metadata={"Date": None})')
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        exec(compile(program, "quickstart.md", "exec"), {"__name__": "__main__"})  # noqa: S102
        os.chdir(HERE)
        return (Path(folder) / "fit.svg").read_bytes()


def main() -> None:
    (HERE / "tape.svg").write_text(tape_of_the_readme(), encoding="utf-8")
    (HERE / "quickstart.svg").write_bytes(curve_of_the_quickstart())


if __name__ == "__main__":
    main()
