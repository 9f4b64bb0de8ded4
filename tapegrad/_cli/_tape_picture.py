"""Writes a picture of the tape of a function to a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tapegrad._cli._picture import Row, render_dot, render_mermaid, render_svg
from tapegrad._cli._target import CommandError
from tapegrad._transforms.rows import tape_rows

if TYPE_CHECKING:
    from tapegrad._core.types import Function, Tree

RENDERERS = {".svg": render_svg, ".dot": render_dot, ".mmd": render_mermaid}


def check_path(path: str) -> None:
    """Refuse a path that could not be written, before anything is computed."""
    if Path(path).suffix not in RENDERERS:
        raise CommandError(f"{path}: a picture's name ends in {', '.join(RENDERERS)}")
    if not Path(path).absolute().parent.is_dir():
        raise CommandError(f"{path}: no such folder")


def write_picture(path: str, title: str, f: Function, *args: Tree) -> int:
    """Write the tape of `f(*args)` in the format that the path ends in; count its entries."""
    rows = [Row(*row) for row in tape_rows(f, *args)]
    text = RENDERERS[Path(path).suffix](rows, title)
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}") from error
    return len(rows)
