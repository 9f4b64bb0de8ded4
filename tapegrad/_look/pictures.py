"""Pictures of a Wengert tape: SVG, Graphviz DOT and Mermaid text from a list of rows.

Knows rows of text and numbers, and nothing of arrays, rules or how a tape is stored: the
caller turns the rows of a tape into `Box` objects. Every function here is pure: it takes rows
and returns text.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

LIMIT = 200
"""How many rows a picture shows; of a longer tape, its beginning and its end."""


@dataclass(frozen=True, slots=True)
class Box:
    """One entry of the tape: a call, the slot that it filled and the slots that it read."""

    slot: int
    name: str
    parents: tuple[int, ...]
    label: str


@dataclass(frozen=True, slots=True)
class _Gap:
    """Stands for the rows that are left out in the middle of a long tape."""

    count: int
    slots: frozenset[int]

    @property
    def note(self) -> str:
        return f"{self.count:,} more entries, not drawn"


def _shorten(rows: Sequence[Box], limit: int) -> list[Box | _Gap]:
    """Keep the first and the last rows when there are more than `limit`, with a gap between."""
    if len(rows) <= limit:
        return list(rows)
    first = limit // 2
    last = len(rows) - (limit - first)
    hidden = rows[first:last]
    gap = _Gap(len(hidden), frozenset(row.slot for row in hidden))
    return [*rows[:first], gap, *rows[last:]]


def _positions(shown: Sequence[Box | _Gap]) -> dict[int, int]:
    """Map each slot to the place where it is drawn; all hidden slots share the gap's place."""
    places: dict[int, int] = {}
    for place, item in enumerate(shown):
        slots = item.slots if isinstance(item, _Gap) else (item.slot,)
        places.update(dict.fromkeys(slots, place))
    return places


def _edges(shown: Sequence[Box | _Gap]) -> Iterator[tuple[int, int]]:
    """Yield (place of a parent, place of the reader), once each, in the order of the readers."""
    places = _positions(shown)
    for place, item in enumerate(shown):
        if isinstance(item, _Gap):
            continue
        for parent in dict.fromkeys(places.get(slot) for slot in item.parents):
            if parent is not None:  # an argument from outside these rows has no place
                yield parent, place


def _kinds(rows: Sequence[Box]) -> Callable[[Box], str]:
    """Tell inputs (no parents), outputs (nothing reads them) and calls apart."""
    read = {slot for row in rows for slot in row.parents}

    def kind(row: Box) -> str:
        if not row.parents:
            return "input"
        return "call" if row.slot in read else "output"

    return kind


def _clip(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


# -- SVG ---------------------------------------------------------------------------------------

ROW_HEIGHT = 26
BOX_HEIGHT = 20
CHARACTER = 7.3  # the advance of a monospaced character at 12 px, a little on the wide side
TITLE_CHARACTER = 9.2  # the same at 15 px and bold
MARGIN = 16
HEADER = 78
NAME_WIDTH = 40
LABEL_WIDTH = 34
HUES = ("#3b82c4", "#c2693d", "#4d9a5b", "#a8609e", "#93822b", "#4a93a0")

# Plain colours rather than CSS variables, which some programs that draw SVG do not know. The
# second set is for readers who ask for dark pages.
STYLE = """
text { font: 12px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace; fill: #1f2733; }
.page { fill: #ffffff; }
.title { font-size: 15px; font-weight: 700; }
.faint { fill: #667085; }
.name { font-weight: 700; }
.box { fill: #f3f5f8; stroke: #c9d1dc; }
.gap { fill: none; stroke: #c9d1dc; stroke-dasharray: 4 4; }
.input { fill: #2f8f5b; }
.call { fill: #3b6fb6; }
.output { fill: #c2541c; }
.arc { fill: none; stroke-width: 1.4; stroke-opacity: 0.75; }
@media (prefers-color-scheme: dark) {
text { fill: #e6e9ef; }
.page { fill: #14181f; }
.faint { fill: #98a2b3; }
.box { fill: #1f2530; stroke: #3a4453; }
.gap { stroke: #3a4453; }
.input { fill: #57c78c; }
.call { fill: #76a9ea; }
.output { fill: #f09360; }
}
"""


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where the columns of a picture lie, in pixels: arcs, slot, name, label."""

    arcs: float
    slot: float
    name: float
    label: float
    right: float
    height: float

    @classmethod
    def of(cls, shown: Sequence[Box | _Gap], title: str, subtitle: str) -> _Layout:
        rows = [item for item in shown if isinstance(item, Box)]
        reach = max((_reach(child - parent) for parent, child in _edges(shown)), default=0.0)
        arcs = MARGIN + reach + 8
        digits = max((len(str(row.slot)) for row in rows), default=1)
        names = max((len(_clip(row.name, NAME_WIDTH)) for row in rows), default=0)
        labels = max((len(_clip(row.label, LABEL_WIDTH)) for row in rows), default=0)
        slot = arcs + 14 + digits * CHARACTER
        name = slot + 12
        label = name + (names + 2) * CHARACTER
        right = label + labels * CHARACTER + 12
        needed = max(len(title) * TITLE_CHARACTER, len(subtitle) * CHARACTER)
        height = HEADER + max(1, len(shown)) * ROW_HEIGHT + MARGIN
        return cls(arcs, slot, name, label, max(right, MARGIN + needed), height)


def _reach(distance: int) -> float:
    """How far to the left an arc swings; grows slowly, so that long arcs stay on the page."""
    return 12.0 * math.sqrt(distance)


def render_svg(rows: Sequence[Box], title: str, *, limit: int = LIMIT) -> str:
    """Draw a tape as an SVG document: time runs downwards, an arc leads from argument to call.

    Args:
        rows: the entries in the order of time; parents that are not among them are not drawn.
        title: the heading, also the picture's accessible name.
        limit: how many rows to draw at most; a longer tape shows its beginning and its end.

    Returns:
        The text of a complete, self-contained SVG file, readable on light and dark pages.

    Example:
        >>> rows = [Box(0, "input", (), "float64[3]"), Box(1, "sin", (0,), "float64[3]")]
        >>> render_svg(rows, "sin(x)").startswith("<svg ")
        True
    """
    shown = _shorten(rows, limit)
    count = f"{len(rows):,} {'entry' if len(rows) == 1 else 'entries'}"
    subtitle = f"{count}; time runs downwards, arcs lead from arguments"
    layout = _Layout.of(shown, title, subtitle)
    kind = _kinds(rows)
    width = layout.right + MARGIN
    size = f'width="{width:.0f}" height="{layout.height:.0f}"'
    box = f'viewBox="0 0 {width:.0f} {layout.height:.0f}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" {size} {box}>',
        f"<title>{escape(title)}</title>",
        f"<style>{STYLE}</style>",
        '<rect class="page" width="100%" height="100%"/>',
        _text(MARGIN, 28, title, "title"),
        _text(MARGIN, 46, subtitle, "faint"),
        *_legend(),
        *(_arc(layout, parent, child) for parent, child in _edges(shown)),
        *(_item(layout, place, item, kind) for place, item in enumerate(shown)),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _text(x: float, y: float, text: str, classes: str, anchor: str = "start") -> str:
    end = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{classes}"{end}>{escape(text)}</text>'


def _legend() -> Iterator[str]:
    x = float(MARGIN)
    for kind in ("input", "call", "output"):
        yield f'<rect class="{kind}" x="{x:.1f}" y="56" width="4" height="12"/>'
        yield _text(x + 9, 66, kind, "faint")
        x += (len(kind) + 3) * CHARACTER


def _middle(place: int) -> float:
    return HEADER + (place + 0.5) * ROW_HEIGHT


def _arc(layout: _Layout, parent: int, child: int) -> str:
    """Draw an arc that leaves its parent low and arrives at its reader high, with an arrowhead."""
    x, start, end = layout.arcs, _middle(parent) + 4, _middle(child) - 4
    swing = x - _reach(child - parent) * 4 / 3  # a cubic reaches 3/4 of the way to its controls
    hue = HUES[parent % len(HUES)]
    bend = f"C{swing:.1f} {start:.1f} {swing:.1f} {end:.1f}"
    path = f"M{x:.1f} {start:.1f}{bend} {x - 3:.1f} {end:.1f}"
    head = f"M{x - 5:.1f} {end - 3:.1f}L{x:.1f} {end:.1f}L{x - 5:.1f} {end + 3:.1f}Z"
    return f'<path class="arc" stroke="{hue}" d="{path}"/><path fill="{hue}" d="{head}"/>'


def _item(layout: _Layout, place: int, item: Box | _Gap, kind: Callable[[Box], str]) -> str:
    middle = _middle(place)
    corner = f'x="{layout.arcs:.1f}" y="{middle - BOX_HEIGHT / 2:.1f}" height="{BOX_HEIGHT}"'
    frame = f'{corner} width="{layout.right - layout.arcs:.1f}" rx="3"'
    baseline = middle + 4
    if isinstance(item, _Gap):
        note = _text(layout.name, baseline, f"⋮ {item.note}", "faint")
        return f'<g><rect class="gap" {frame}/>{note}</g>'
    return "".join(
        (
            f"<g><title>{escape(f'{item.slot}: {item.name} {item.label}')}</title>",
            f'<rect class="box" {frame}/>',
            f'<rect class="{kind(item)}" {corner} width="4"/>',
            _text(layout.slot, baseline, str(item.slot), "faint", "end"),
            _text(layout.name, baseline, _clip(item.name, NAME_WIDTH), "name"),
            _text(layout.label, baseline, _clip(item.label, LABEL_WIDTH), "faint"),
            "</g>",
        )
    )


# -- Graphviz and Mermaid ----------------------------------------------------------------------


def render_dot(rows: Sequence[Box], title: str, *, limit: int = LIMIT) -> str:
    r"""Write a tape as a Graphviz digraph; the arguments are those of `render_svg`.

    Example:
        >>> print(render_dot([Box(0, "input", (), "float64[3]")], "x"))
        digraph tape {
          label="x"; labelloc=t; rankdir=TB;
          node [shape=box, style=rounded, fontname=monospace];
          n0 [label="0: input\nfloat64[3]"];
        }
        <BLANKLINE>
    """
    shown = _shorten(rows, limit)
    lines = [
        "digraph tape {",
        f"  label={_quoted(title)}; labelloc=t; rankdir=TB;",
        "  node [shape=box, style=rounded, fontname=monospace];",
    ]
    for place, item in enumerate(shown):
        if isinstance(item, _Gap):
            lines.append(f"  n{place} [label={_quoted(item.note)}, style=dashed];")
        else:
            lines.append(f"  n{place} [label={_quoted(*_captions(item))}];")
    lines += [f"  n{parent} -> n{child};" for parent, child in _edges(shown)]
    return "\n".join([*lines, "}"]) + "\n"


def render_mermaid(rows: Sequence[Box], title: str, *, limit: int = LIMIT) -> str:
    """Write a tape as a Mermaid flowchart; the arguments are those of `render_svg`.

    Example:
        >>> print(render_mermaid([Box(0, "input", (), "float64[3]")], "x"))
        ---
        title: "x"
        ---
        flowchart TD
          n0["0: input<br/>float64[3]"]
        <BLANKLINE>
    """
    shown = _shorten(rows, limit)
    lines = ["---", f"title: {_quoted(title)}", "---", "flowchart TD"]
    for place, item in enumerate(shown):
        captions = (item.note,) if isinstance(item, _Gap) else _captions(item)
        text = "<br/>".join(_entities(caption) for caption in captions)
        lines.append(f'  n{place}["{text}"]')
    lines += [f"  n{parent} --> n{child}" for parent, child in _edges(shown)]
    return "\n".join(lines) + "\n"


def _captions(row: Box) -> tuple[str, ...]:
    first = f"{row.slot}: {_clip(row.name, NAME_WIDTH)}"
    return (first, _clip(row.label, LABEL_WIDTH)) if row.label else (first,)


def _quoted(*lines: str) -> str:
    """Quote lines as one string for DOT and for Mermaid's YAML header, which agree on this."""
    safe = (line.replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    return '"' + "\\n".join(safe) + '"'


_ENTITIES = str.maketrans({c: f"#{ord(c)};" for c in '#&<>"'})


def _entities(text: str) -> str:
    """Escape what ends a Mermaid string or would be read as markup in one."""
    return text.translate(_ENTITIES)
