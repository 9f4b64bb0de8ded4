"""Runs quickstart.md and keeps the picture that it draws: `python docs/pictures.py`."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

import matplotlib as mpl

HERE = Path(__file__).parent
FENCE = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def main() -> None:
    mpl.rcParams["svg.hashsalt"] = "tapegrad"
    mpl.rcParams["svg.fonttype"] = "none"
    program = "\n".join(FENCE.findall((HERE / "quickstart.md").read_text(encoding="utf-8")))
    program = program.replace('savefig("fit.svg")', 'savefig("fit.svg", metadata={"Date": None})')
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        exec(compile(program, "quickstart.md", "exec"), {"__name__": "__main__"})  # noqa: S102
        (HERE / "quickstart.svg").write_bytes(Path("fit.svg").read_bytes())
        os.chdir(HERE)


if __name__ == "__main__":
    main()
