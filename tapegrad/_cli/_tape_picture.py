"""Writes the tape of a function to a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tapegrad._cli._target import CommandError
from tapegrad._look.view import FORMATS, TapeView, tape

if TYPE_CHECKING:
    from collections.abc import Collection

    from tapegrad._core.types import Function, Tree


def check_path(path: str, endings: Collection[str] = tuple(FORMATS)) -> None:
    """Refuse a path that could not be written, before anything is computed."""
    if Path(path).suffix.lower() not in endings:
        what = "a picture" if len(endings) > 1 else "a page"
        raise CommandError(f"{path}: {what}'s name ends in {', '.join(endings)}")
    if not Path(path).absolute().parent.is_dir():
        raise CommandError(f"{path}: no such folder")


def write_picture(path: str, title: str, f: Function, *args: Tree) -> int:
    """Write the tape of `f(*args)` in the format that the path ends in; count its entries."""
    view = tape(f, *args)
    view.title = title
    write_view(path, view)
    return len(view)


def write_view(path: str, view: TapeView) -> None:
    """Write a tape in the format that the path ends in."""
    try:
        view.save(path)
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}") from error
