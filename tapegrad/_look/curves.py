"""A curve as SVG: how a value went on, for notebooks.

Knows numbers. Must not know what they are of.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

WIDTH, HEIGHT, LEFT, EDGE = 420, 140, 70, 14
MOST = 500  # points that are drawn of a long curve


def curve_svg(values: Sequence[float], title: str, along: str) -> str:
    """The values in their order, on a logarithmic axis where all are positive and far apart.

    What is not finite is left out, and breaks the line. Empty for fewer than two finite values.

    >>> curve_svg([4.0, 2.0, 1.0], "loss", "step").startswith("<svg ")
    True
    >>> curve_svg([1.0], "loss", "step")
    ''
    """
    known = [(i, v) for i, v in enumerate(values) if math.isfinite(v)]
    if len(known) < 2:
        return ""
    least, most = min(v for _, v in known), max(v for _, v in known)
    logarithmic = least > 0 and most / least > 100
    low, high = (math.log(least), math.log(most)) if logarithmic else (least, most)
    across, down = (WIDTH - LEFT - EDGE) / (len(values) - 1), HEIGHT - 3 * EDGE
    span = high - low

    def point(i: int, v: float) -> str:
        height = (math.log(v) if logarithmic else v) - low
        share = height / span if 0 < span < math.inf else 0.5
        return f"{LEFT + i * across:.1f},{EDGE + down * (1 - share):.1f}"

    lines, before = [], None
    for i, v in _thinned(known):
        if before is None or any(not math.isfinite(x) for x in values[before:i]):
            lines.append("")
        lines[-1] += f" {point(i, v)}"
        before = i
    drawn = "".join(
        f'<polyline points="{line.strip()}" fill="none" stroke="#3366cc" stroke-width="1.5"/>'
        for line in lines
    )
    scale = f"{title}, logarithmic" if logarithmic else title
    bottom = EDGE + down

    def text(x: float, y: float, words: str, anchor: str) -> str:
        return f'<text x="{x}" y="{y}" text-anchor="{anchor}">{escape(words)}</text>'

    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" role="img" '
        f'font-family="sans-serif" font-size="10" fill="currentColor">'
        f"<title>{escape(scale)} by {escape(along)}</title>"
        f'<path d="M{LEFT},{EDGE} V{bottom} H{WIDTH - EDGE}" fill="none" stroke="currentColor"/>'
        f"{text(LEFT - 4, EDGE + 4, f'{most:.4g}', 'end')}"
        f"{text(LEFT - 4, bottom, f'{least:.4g}', 'end')}"
        f"{text(LEFT + 4, EDGE - 3, scale, 'start')}"
        f"{text(WIDTH - EDGE, bottom + EDGE, f'{along} {len(values)}', 'end')}"
        f"{drawn}</svg>"
    )


def _thinned(known: list[tuple[int, float]]) -> list[tuple[int, float]]:
    """Of many points, the least and the greatest of each stretch: peaks are seen."""
    if len(known) <= MOST:
        return known
    step = math.ceil(2 * len(known) / MOST)
    found = []
    for at in range(0, len(known), step):
        part = known[at : at + step]
        ends = {min(part, key=lambda p: p[1]), max(part, key=lambda p: p[1])}
        found += sorted(ends)
    return found


__all__ = ["curve_svg"]
