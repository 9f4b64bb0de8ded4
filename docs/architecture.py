"""Draws the rooms of the package: `python docs/architecture.py > docs/architecture.svg`.

Rooms, and what they import, are read from the files as tests/package/test_layers.py reads them.
A room stands on a floor above all that it imports. An arrow leads from a room to one that it
imports; one that a path of other arrows implies is left out.
"""

from __future__ import annotations

import sys
from html import escape
from itertools import combinations, pairwise
from math import inf
from pathlib import Path
from statistics import mean
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "package"))

from test_layers import MODULES, TOWER, own_imports, room_of

# The words of a box below the name of its room.
WORDS = {
    "_allocator": "freed memory is kept",
    "_block": "what Ctrl-C undoes",
    "_errors": "exceptions, messages",
    "_config": "settings",
    "_numpy_versions": "NumPy's releases",
    "_alias": "second names",
    "_warning": "warnings",
    "_files": "regular files",
    "_progress": "bars",
    "_tree": "pytrees",
    "_profile": "times of calls",
    "_core": "tape, replays, rule forms",
    "rules": "derivatives of functions",
    "_arrays": "the traced array",
    "_batched": "the array inside vmap",
    "_transforms": "grad, jvp, vmap, ...",
    "_program": "calls as programs",
    "_native": "machine code",
    "_compile": "when they run",
    "_look": "what a run did",
    "_adopt": "what names mean",
    "torch._programs": "tensors in programs",
    "": "the public names",
    "math": "of numbers in a trace",
    "cmath": "of complex ones",
    "numpy": "what protocols miss",
    "sparse": "sparse Jacobians",
    "tree": "pytrees, in public",
    "implicit": "roots, minima, fixed points",
    "scipy": "SciPy with derivatives",
    "optimize": "minimisers over pytrees",
    "dask": "partitions, clusters",
    "testing": "checks of derivatives",
    "autograd": "HIPS autograd's names",
    "_cli": "demo, pictures",
    "__main__": "the command line",
    "torch._methods": "methods from above",
    "torch._dims": "dim arguments",
    "torch._dtypes": "dtypes, promotion",
    "torch._types": "parameters' types",
    "torch._docstrings": "shared sections",
    "torch._graph": "nodes, hooks, modes",
    "torch._rules": "functions of arrays",
    "torch._tensor": "Tensor, views, writes",
    "torch.return_types": "named tuples",
    "torch._ops": "operations on tensors",
    "torch._engine": "the backward pass",
    "torch.random": "the generator",
    "torch.linalg": "linear algebra",
    "torch.fft": "Fourier transforms",
    "torch.signal": "windows",
    "torch.special": "special functions",
    "torch.func": "transforms of tensors",
    "torch.autograd": "backward, Function",
    "torch.nn": "modules, losses",
    "torch.profiler": "profiles in steps",
    "torch.optim": "optimizers, schedules",
    "torch.distributions": "random variables",
    "torch.quasirandom": "Sobol sequences",
    "torch.serialization": "save, load",
    "torch.utils": "data, checkpoint",
    "torch.testing": "assert_close",
    "torch._absent": "what is not here",
    "torch._mixed_precision": "no-ops",
    "torch._install": "import torch",
    "torch.types": "for annotations",
    "torch.version": "the version",
    "torch.torch_version": "it compares",
    "torch._formats": "orders in memory",
    "torch._settings": "threads",
    "torch._compiled": "compile",
    "torch": "PyTorch's names",
}

MARGIN = 24
HEIGHT, STOREY = 40, 86  # of a box, and from floor to floor
GAP = 16  # between boxes
LANE = 14  # for an arrow that passes a floor
NAME, WORD = 7.9, 6.1  # how wide a letter is, of names and of words
SWEEPS = 16  # after so many nothing gets better

# A page of its own colour, so that the picture reads the same on light and on dark ones.
STYLE = (
    ".page{fill:#fbfbf9;stroke:#d5d5cf}"
    ".arrow{fill:none;stroke:#6b7480;stroke-width:1.2;marker-end:url(#tip)}"
    "marker path{fill:#6b7480}"
    ".private{fill:#e3edf7;stroke:#5b87b0}.public{fill:#fdeecb;stroke:#c2933a}"
    "text{text-anchor:middle;fill:#1d2329}"
    ".name{font:600 13px ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace}"
    ".words{font:11px system-ui,'DejaVu Sans',Arial,sans-serif;fill:#4a525b}"
)
TIP = (  # of an arrow
    '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
    'markerHeight="7" orient="auto"><path d="M0 0.5L8 4L0 7.5z"/></marker></defs>'
)


class Place(NamedTuple):
    """A room on its floor, or the way of an arrow (from, to) through a floor."""

    floor: int
    room: str | tuple[str, str]


def imports_of_rooms() -> dict[str, set[str]]:
    """The rooms that each room imports."""
    found: dict[str, set[str]] = {room: set() for room in TOWER}
    for name in MODULES:
        found[room_of(name)] |= {room_of(imported) for imported in own_imports(name)}
    return {room: imported - {room} for room, imported in found.items()}


def needed_arrows(imported: dict[str, set[str]]) -> list[tuple[str, str]]:
    """The imports that no path of others implies, in the order of the tower."""
    below: dict[str, set[str]] = {}
    for room in TOWER:
        below[room] = imported[room].union(*(below[other] for other in imported[room]))
    return [
        (room, other)
        for room in TOWER
        for other in TOWER
        if other in imported[room] and not any(other in below[via] for via in imported[room])
    ]


def floors_of(arrows: list[tuple[str, str]]) -> dict[str, int]:
    """As low as the imports let a room stand; what few others import stands right below those."""
    floors: dict[str, int] = {}
    for room in TOWER:
        floors[room] = 1 + max((floors[b] for a, b in arrows if a == room), default=-1)
    for room in reversed(TOWER):
        above = [floors[a] for a, b in arrows if b == room]
        if above and len(above) > sum(a == room for a, _ in arrows):
            floors[room] = min(above) - 1
    return floors


def links_of(
    arrows: list[tuple[str, str]], floors: dict[str, int]
) -> dict[tuple[str, str], list[Place]]:
    """The places that each arrow goes through, from the top down."""
    return {
        (a, b): [
            Place(floors[a], a),
            *(Place(floor, (a, b)) for floor in range(floors[a] - 1, floors[b], -1)),
            Place(floors[b], b),
        ]
        for a, b in arrows
    }


def width_of(place: Place) -> float:
    if isinstance(place.room, tuple):
        return LANE
    return max(len(title_of(place.room)) * NAME, len(WORDS[place.room]) * WORD) + 18


def title_of(room: str) -> str:
    return room or "tapegrad"


Rows = list[list[Place]]
Steps = list[tuple[Place, Place]]  # what is linked, from a floor to the one below


def crossings(rows: Rows, steps: Steps) -> int:
    """How often arrows cross between neighbouring floors."""
    at = {place: x for row in rows for x, place in enumerate(row)}
    total = 0
    for floor in range(1, len(rows)):
        lines = [(at[a], at[b]) for a, b in steps if a.floor == floor]
        total += sum((a - c) * (b - d) < 0 for (a, b), (c, d) in combinations(lines, 2))
    return total


def arranged(rows: Rows, steps: Steps) -> dict[Place, float]:
    """The middle of each place, with few crossings, and among those with short arrows."""
    best, least = {}, (inf, inf)
    for sweep in range(SWEEPS):
        upward = sweep % 2 == 0
        # On every other pair of sweeps, places that no neighbour tells apart change sides.
        rows = [row[:: 1 if sweep % 4 < 2 else -1] for row in rows]
        for floor in range(1, len(rows)) if upward else range(len(rows) - 2, -1, -1):
            at = {place: x for x, place in enumerate(rows[floor - 1 if upward else floor + 1])}
            rows[floor] = _by_neighbours(rows[floor], at, steps)
        _swap(rows, steps)
        x = spread(rows, steps)
        cost = crossings(rows, steps), round(sum(abs(x[a] - x[b]) for a, b in steps))
        if cost < least:
            best, least = x, cost
    return best


def _by_neighbours(row: list[Place], at: dict[Place, int], steps: Steps) -> list[Place]:
    """A floor sorted by where the places on the floor beside it stand that each is linked with."""
    means = {}
    for x, place in enumerate(row):
        ends = [at[b] for a, b in steps if a == place and b in at]
        ends += [at[a] for a, b in steps if b == place and a in at]
        means[place] = sum(ends) / len(ends) if ends else x
    return sorted(row, key=means.__getitem__)


def _swap(rows: Rows, steps: Steps) -> None:
    """Let neighbours trade places as long as that leaves fewer crossings."""
    fewest, before = crossings(rows, steps), None
    while fewest != before:
        before = fewest
        for row in rows:
            for x in range(len(row) - 1):
                row[x : x + 2] = row[x + 1], row[x]
                count = crossings(rows, steps)
                if count < fewest:
                    fewest = count
                else:
                    row[x : x + 2] = row[x + 1], row[x]


def spread(rows: Rows, steps: Steps) -> dict[Place, float]:
    """The middle of each place: near what it is linked with, and clear of its neighbours."""
    ends: dict[Place, list[Place]] = {place: [] for row in rows for place in row}
    for a, b in steps:
        ends[a].append(b)
        ends[b].append(a)
    x = {}
    for row in rows:
        side_by_side = _clear(row, [0.0] * len(row), [1] * len(row))
        x.update(zip(row, [at - mean(side_by_side) for at in side_by_side], strict=True))
    for _ in range(SWEEPS):
        for row in [*rows, *reversed(rows)]:
            wanted = [mean(x[end] for end in ends[p]) if ends[p] else x[p] for p in row]
            x.update(zip(row, _clear(row, wanted, [1 + len(ends[p]) for p in row]), strict=True))
    return x


def _clear(row: list[Place], wanted: list[float], weights: list[int]) -> list[float]:
    """Middles in the order of the row, as near to the wanted ones as the widths allow."""
    offsets = [0.0]
    for a, b in pairwise(row):
        offsets.append(offsets[-1] + (width_of(a) + width_of(b)) / 2 + GAP)
    groups: list[tuple[float, int, int]] = []  # of places that touch: wishes, weights, number
    for wish, offset, weight in zip(wanted, offsets, weights, strict=True):
        group = (wish - offset) * weight, weight, 1
        while groups and groups[-1][0] / groups[-1][1] > group[0] / group[1]:
            total, heavy, count = groups.pop()
            group = group[0] + total, group[1] + heavy, group[2] + count
        groups.append(group)
    starts = [total / weight for total, weight, count in groups for _ in range(count)]
    return [start + offset for start, offset in zip(starts, offsets, strict=True)]


def picture() -> str:
    """The SVG of all rooms."""
    arrows = needed_arrows(imports_of_rooms())
    floors = floors_of(arrows)
    links = links_of(arrows, floors)
    places = dict.fromkeys(Place(floors[room], room) for room in TOWER)
    places |= dict.fromkeys(place for way in links.values() for place in way)
    rows: Rows = [[] for _ in range(1 + max(floors.values()))]
    for place in places:
        rows[place.floor].append(place)
    steps = [step for way in links.values() for step in pairwise(way)]
    x = arranged(rows, steps)
    left = min(x[place] - width_of(place) / 2 for place in places) - MARGIN
    x = {place: round(middle - left, 1) for place, middle in x.items()}
    width = round(max(x[place] + width_of(place) / 2 for place in places) + MARGIN)
    height = 2 * MARGIN + HEIGHT + STOREY * (len(rows) - 1)
    size = f'width="{width}" height="{height}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" {size}>',
        "<title>The rooms of tapegrad, each above those that it imports</title>",
        "<!-- Written by docs/architecture.py: change that, not this. -->",
        f"<style>{STYLE}</style>",
        TIP,
        f'<rect class="page" {size} rx="10"/>',
        *(_arrow(way, x, len(rows)) for way in links.values()),
        *(_box(Place(floors[room], room), x, len(rows)) for room in TOWER),
        "</svg>",
    ]
    return "\n".join(lines)


def _top(floor: int, count: int) -> int:
    """The upper edge of the boxes on a floor."""
    return MARGIN + STOREY * (count - 1 - floor)


def _arrow(way: list[Place], x: dict[Place, float], count: int) -> str:
    """A line that is straight where it passes a floor, and bends between floors."""
    y = _top(way[0].floor, count) + HEIGHT
    path = f"M{x[way[0]]:g} {y}"
    for place, below in pairwise(way):
        y, end = _top(place.floor, count) + HEIGHT, _top(below.floor, count)
        middle = (y + end) // 2
        path += f"C{x[place]:g} {middle} {x[below]:g} {middle} {x[below]:g} {end}"
        if below is not way[-1]:
            path += f"V{end + HEIGHT}"
    return f'<path class="arrow" d="{path}"/>'


def _box(place: Place, x: dict[Place, float], count: int) -> str:
    room = str(place.room)
    width, top = round(width_of(place), 1), _top(place.floor, count)
    private = room.rpartition(".")[2].startswith("_") and room != "__main__"
    return (
        f'<rect class="{"private" if private else "public"}" x="{x[place] - width / 2:g}" '
        f'y="{top}" width="{width:g}" height="{HEIGHT}" rx="6"/>'
        f'<text class="name" x="{x[place]:g}" y="{top + 17}">{escape(title_of(room))}</text>'
        f'<text class="words" x="{x[place]:g}" y="{top + 32}">{escape(WORDS[room])}</text>'
    )


if __name__ == "__main__":
    print(picture())
