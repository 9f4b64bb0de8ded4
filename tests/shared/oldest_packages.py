"""Print the oldest releases that pyproject.toml admits of what users install: `numpy==2.1.*`.

They have to have wheels for the Python that runs this; where the oldest have none, the first that
has is printed, and said on the standard error.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

# Test tools are no user's business: the newest will do.
EXTRAS = ("dask", "examples", "fast", "scipy")

# The first releases with wheels for a Python, where they are newer than pyproject.toml asks for.
FIRST_WHEELS = {
    (3, 14): {"matplotlib": "3.10", "numpy": "2.3", "scikit-learn": "1.7"},
}


def oldest_packages(python: tuple[int, int] = sys.version_info[:2]) -> list[str]:
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    project = tomllib.loads(text)["project"]
    extras = project["optional-dependencies"]
    required = [*project["dependencies"], *(line for name in EXTRAS for line in extras[name])]
    # Extras may ask for the same.
    return list(dict.fromkeys(oldest(requirement, python) for requirement in required))


def oldest(requirement: str, python: tuple[int, int]) -> str:
    """The oldest release of a requirement that a Python can install, as pip names it."""
    parts = re.fullmatch(r"([\w-]+)(\[[\w,]+\])?>=([\d.]+)", requirement)
    if parts is None:
        raise ValueError(f"pyproject.toml: expected NAME>=VERSION, got {requirement!r}")
    name, extra, asked = parts.groups(default="")
    known = [FIRST_WHEELS[p] for p in sorted(FIRST_WHEELS) if p <= python]
    wheels = known[-1].get(name, asked) if known else asked
    release = max(asked, wheels, key=lambda version: tuple(map(int, version.split("."))))
    if release != asked:
        message = f"{name} {asked} has no wheels for Python {'.'.join(map(str, python))}"
        print(f"{message}: {release}", file=sys.stderr)
    return f"{name}{extra}=={release}.*"


if __name__ == "__main__":
    print(*oldest_packages())
