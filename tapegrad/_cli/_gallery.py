"""`demo --list` and `demo NAME`: the worked examples of the documentation, which a wheel carries.

Knows where the examples are, and how one is run. Must not know any of them.
"""

from __future__ import annotations

import ast
import runpy
import sys
from pathlib import Path

import tapegrad
from tapegrad._cli._target import CommandError

_PACKAGES = Path(tapegrad.__file__).parents[1]


def folder() -> Path:
    """Where the examples are: beside an installed package, or in the docs of a checkout."""
    for place in (_PACKAGES / "_tapegrad_examples", _PACKAGES / "docs" / "examples"):
        if place.is_dir():
            return place
    raise CommandError("the examples are not installed here: install tapegrad from its wheel")


def examples() -> dict[str, Path]:
    """The examples by name."""
    return {path.stem: path for path in sorted(folder().glob("*.py"))}


def title(path: Path) -> str:
    """The first line of an example's text."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return text.partition("\n")[0].rstrip(".")


def print_list() -> None:
    """Print a line for each example, and what to do with it."""
    found = examples()
    width = max(map(len, found))
    for name, path in found.items():
        print(f"{name:{width}}  {title(path)}")
    print(f"\nTheir sources are in {folder()}")
    print("python -m tapegrad demo NAME runs one, and draws its picture.")


def run_example(name: str, picture: str) -> int:
    """Run an example as a program of its own, and return the exit status.

    What it prints goes where prints go; an error of its own goes through.
    """
    path = examples().get(name)
    if path is None:
        raise CommandError(f"no example {name!r}: python -m tapegrad demo --list has their names")
    before = sys.argv
    sys.argv = [str(path), picture]
    try:
        runpy.run_path(str(path), run_name="__main__")
    except ModuleNotFoundError as error:
        raise CommandError(
            f"{name} needs {error.name}: python -m pip install 'tapegrad[examples]'"
        ) from error
    finally:
        sys.argv = before
    print(f"picture in {picture}, source in {path}")
    return 0


__all__ = ["examples", "folder", "print_list", "run_example", "title"]
