"""The page of a tape: one file of HTML that shows its rows, and needs no network.

Knows where the parts of the page are, and how they become one text. Must not know views, or what
is in the columns.

The parts are in `page_parts/`: page.html with places for the others, page.css, and the programs,
which are joined in the order of SCRIPTS.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cache
from html import escape
from importlib.resources import files

from tapegrad._look.columns import Columns
from tapegrad._look.rows import Row

SCRIPTS = ("tape.js", "lines.js", "drawing.js", "panels.js", "page.js")
_PLACE = re.compile(r"\{\{(\w+)\}\}")


def render(title: str, rows: Sequence[Row]) -> str:
    """A whole HTML file as text, for any browser of the last years.

    >>> render("loss", [Row(0, "input", name="x")]).startswith("<!doctype html>")
    True
    """
    columns = Columns(rows)
    header = {"title": title, "count": len(rows), **columns.header()}
    return _filled(
        _part("page.html"),
        title=escape(title),
        style=_part("page.css"),
        header=_in_script(json.dumps(header, separators=(",", ":"))),
        columns=columns.bytes(),
        script="\n".join(map(_part, SCRIPTS)),
    )


def frame(page: str, title: str, count: int) -> str:
    """A page of `count` rows inside another, as notebooks show it.

    The page has its own styles and names, and cannot reach what is around it.
    """
    height = min(600, 340 + 20 * count)
    return (
        f'<iframe sandbox="allow-scripts" title="Tape of {escape(title)}" '
        f'style="width:100%;height:{height}px;border:1px solid #8884;border-radius:8px" '
        f'srcdoc="{escape(page)}"></iframe>'
    )


@cache
def _part(name: str) -> str:
    return files("tapegrad._look").joinpath("page_parts", name).read_text(encoding="utf-8")


def _filled(template: str, **texts: str) -> str:
    """The template with texts at its places; places within a text stay as they are."""
    return _PLACE.sub(lambda match: texts[match[1]], template)


def _in_script(text: str) -> str:
    """JSON that no parser of HTML takes for the end of the script that it is in."""
    return text.replace("<", "\\u003c")


__all__ = ["SCRIPTS", "frame", "render"]
