"""Print the oldest releases that pyproject.toml admits of what users install: `numpy==2.1.*`."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

# Test tools are no user's business: the newest will do.
EXTRAS = ("dask", "examples", "scipy")


def oldest_packages() -> list[str]:
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    required = [*project["dependencies"], *(line for name in EXTRAS for line in extras[name])]
    return [re.sub(r">=([\d.]+)$", r"==\1.*", line) for line in required]


if __name__ == "__main__":
    print(*oldest_packages())
