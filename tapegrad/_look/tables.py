"""Tables of text: columns with titles, numbers to the right.

Knows how times and bytes are written. Must not know what the rows are of.
"""

from __future__ import annotations

import html
import shutil
import sys
from collections.abc import Callable, Sequence
from typing import Any

LIMIT = 60  # rows that a printed table shows; of a longer one, the first and the last
LONGEST = 80  # characters of a text in a table
SHORTEST = 8  # characters to which a narrow terminal may clip a text


def seconds(value: float | None) -> str:
    """A time: `1.25 ms`; empty for None."""
    if value is None:
        return ""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if value >= size:
            number = value / size
            return f"{number:.0f} {unit}" if number >= 100 else f"{number:.3g} {unit}"
    return f"{value * 1e9:.0f} ns"


def size(value: int) -> str:
    """A number of bytes: `1.5 MiB`; empty for none."""
    if not value:
        return ""
    number = float(value)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if number < 1024 or unit == "GiB":
            break
        number /= 1024
    return f"{number:.0f} {unit}" if unit == "B" or number >= 100 else f"{number:.3g} {unit}"


def table(
    titles: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: Sequence[bool],
    width: int | None = None,
) -> str:
    """Rows under titles. right: which columns have their texts at the right.

    width: characters of a line, to which the widest texts at the left are clipped.

    >>> print(table(("name", "calls"), [("np.sin", "2")], right=(False, True)))
    name    calls
    ------  -----
    np.sin      2
    """
    widths = [max(map(len, column)) for column in zip(titles, *rows, strict=True)]
    if width is not None:
        _narrow(widths, right, width)
    lines = [titles, ["-" * one for one in widths], *rows]
    return "\n".join(
        "  ".join(
            text.rjust(one) if to_right else clipped(text, one).ljust(one)
            for text, one, to_right in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in lines
    )


def table_html(
    titles: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[bool]
) -> str:
    """The same as a table of HTML, for notebooks.

    >>> table_html(("name", "calls"), [("f < g", "2")], right=(False, True)).count("f &lt; g")
    1
    """

    def line(kind: str, texts: Sequence[str]) -> str:
        sides = ("right" if to_right else "left" for to_right in right)
        cells = (
            f'<{kind} style="text-align:{side}">{html.escape(text)}</{kind}>'
            for text, side in zip(texts, sides, strict=True)
        )
        return f"<tr>{''.join(cells)}</tr>"

    body = "".join(line("td", row) for row in rows)
    return f"<table><thead>{line('th', titles)}</thead><tbody>{body}</tbody></table>"


def _narrow(widths: list[int], right: Sequence[bool], width: int) -> None:
    """Take from the widest columns of texts until a line fits, or all are as short as may be."""
    left = [place for place, to_right in enumerate(right) if not to_right]
    over = sum(widths) + 2 * (len(widths) - 1) - width
    while over > 0 and left:
        widest = max(left, key=widths.__getitem__)
        if widths[widest] <= SHORTEST:
            return
        widths[widest] -= 1
        over -= 1


def clipped(text: str, width: int = LONGEST) -> str:
    """A text in so many characters: of a longer one the beginning and the end.

    >>> print(clipped("parameters['encoder']['layers'][11]['w']", 20))
    parameter...11]['w']
    """
    if len(text) <= width:
        return text
    rest = max(width - 3, 0)
    last = rest // 2
    return (text[: rest - last] + "..." + text[len(text) - last :])[:width]


def listed(parts: Sequence[object], most: int = 6) -> str:
    """The first of several things, and how many more there are."""
    text = ", ".join(map(str, parts[:most]))
    return f"{text}, {len(parts) - most:,} more" if len(parts) > most else text


def terminal() -> int | None:
    """The width of the terminal that is printed to; None where it is none."""
    if sys.stdout is None or not hasattr(sys.stdout, "isatty") or not sys.stdout.isatty():
        return None
    return shutil.get_terminal_size().columns


def shortened(
    rows: Sequence[Any],
    limit: int | None = LIMIT,
    words: Callable[[Any], Sequence[str]] = list,
) -> list[Sequence[str]]:
    """The rows in words, or the first and the last of many; one between says how many are not."""
    if limit is None or len(rows) <= limit:
        return list(map(words, rows))
    first = limit // 2
    last = len(rows) - (limit - first)
    shown = [list(map(words, rows[:first])), list(map(words, rows[last:]))]
    columns = len(next(row for part in shown for row in part)) if limit else 1
    gap = [f"... {last - first:,} more", *[""] * (columns - 1)]
    return [*shown[0], gap, *shown[1]]


__all__ = [
    "LIMIT",
    "clipped",
    "listed",
    "seconds",
    "shortened",
    "size",
    "table",
    "table_html",
    "terminal",
]
