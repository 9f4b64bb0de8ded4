"""Draws a program before and after fusion: `python docs/fusion.py > docs/fusion.svg`.

To the left are the calls of NumPy's that a compiled function makes, in order; to the right the
loop nests and products that machine code makes of them, with what each stores. Both are read
from the program itself. A call has the colour of the loop nest that computes it.
"""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

import tapegrad
from tapegrad._native.bands import Band
from tapegrad._native.native_ops import Cast, NotFinite
from tapegrad._native.native_path import Path, paths_of
from tapegrad._native.regions import Array
from tapegrad._program.listing import line_of
from tapegrad._program.passes import optimized

LINE, TOP, GAP = 19, 64, 12  # heights
LEFT, RIGHT, WIDTH, LETTER = 14, 470, 860, 6.7
COLOURS = ("#d7e8f7", "#fbe3c6", "#dcefd5", "#f3d6e4", "#e4dcf4", "#fdf3c1", "#d3eeee", "#ead9c9")

STYLE = """
text { font: 11.5px ui-monospace, Menlo, Consolas, monospace; fill: #1b1f24 }
.head { font: 600 14px system-ui, sans-serif } .note { font: 12px system-ui, sans-serif }
.head, .note { fill: var(--ink, #1b1f24) } .wire { fill: none; stroke: #8893a0; opacity: 0.55 }
@media (prefers-color-scheme: dark) { svg { --ink: #d8dee6 } }
"""


def loss(w: Any, x: Any, y: Any) -> Any:
    r = np.tanh(x @ w) - y
    return np.sum(r**2) + 0.1 * np.sum(w * w)


def arguments() -> list[np.ndarray]:
    draw = np.random.default_rng(0)
    return [draw.standard_normal(shape) for shape in (300, (500, 300), 500)]


def program() -> tuple[list[tuple[int, Any]], Path]:
    """The calls of the loss's value and gradient after the passes, and their machine code."""
    inputs = arguments()
    fast = tapegrad.compile(tapegrad.value_and_grad(loss), backend="numpy")
    fast.program(*inputs)
    (recorded,) = fast.call.programs.values()
    (blocks,) = paths_of(optimized(recorded.root), 1)
    nodes = [pair for block, _ in blocks for pair in block.nodes]
    return nodes, Path(blocks, inputs)


def words_of(statements: list[Any]) -> list[str]:
    """The instructions of a loop nest: its elementwise functions, in order, and what is summed."""
    words: list[str] = []
    for s in statements:
        name = getattr(s.op, "__name__", "")
        if s.op is NotFinite:
            name = "is all of it finite?"
        elif s.reduces is not None:
            name = "sum" if s.op is Cast else f"sum of {name}"
        words.append(name)
    lines, line = [], ""
    for word in words:
        if len(line) + len(word) > 46:
            lines.append(line)
            line = ""
        line += word + "; "
    return [*lines, line.rstrip("; ")]


def frames_of(path: Path) -> list[tuple[str, list[str], set[int]]]:
    """Steps in order: a title, lines, and the memories that it computes."""
    found = []
    pieces: list[tuple[Any, str]] = []
    for _, _, _, step in path.steps:
        nests = step.nests if isinstance(step, Band) else [step]
        pieces += [(nest, ", by blocks" if len(nests) > 1 else "") for nest in nests]
    for piece, blocks in pieces:
        if isinstance(piece, list):
            shape = "x".join(map(str, piece[0].shape)) or "1"
            title = f"loop over {shape}{blocks}"
            stored = {id(s.out.memory) for s in piece if s.out.memory.kept}
            lines = [*words_of(piece), f"stores {len(stored)} of {len(piece)} results"]
            found.append((title, lines, {id(s.out.memory) for s in piece}))
        else:
            what = piece.node.function if piece.node is not None else piece.kind
            name = getattr(what, "__name__", str(what))
            out = piece.out
            how = "in tiles" if piece.kind == "routine" else "by NumPy"
            found.append((f"{name} {how}", [], {id(out.memory)} if out is not None else set()))
    return found


def text(x: float, y: float, words: str, kind: str = "") -> str:
    of = f' class="{kind}"' if kind else ""
    return f'<text x="{x:g}" y="{y:g}"{of}>{escape(words)}</text>'


def picture() -> str:
    nodes, path = program()
    frames = frames_of(path)
    parts: list[str] = []
    middles: list[float] = []
    y = TOP
    for k, (title, lines, _) in enumerate(frames):
        height = LINE * (1 + len(lines)) + 8
        colour = COLOURS[k % len(COLOURS)]
        parts.append(
            f'<rect x="{RIGHT}" y="{y}" width="{WIDTH - RIGHT - LEFT}" height="{height}" rx="5" '
            f'fill="{colour}" stroke="#8893a0"/>'
        )
        for i, line in enumerate([title, *lines]):
            parts.append(text(RIGHT + 9 + 9 * (i > 0), y + LINE * (i + 1) - 2, line))
        middles.append(y + height / 2)
        y += height + GAP
    right = y
    y = TOP
    shown = 0
    for at, node in nodes:
        value = path.lowered.values.get(at)
        home = id(value.memory) if type(value) is Array else 0
        where = [k for k, (_, _, memories) in enumerate(frames) if home in memories]
        line = line_of(at, node).split("  #")[0].rstrip()
        if line.startswith(f"v{at} = assume"):
            where = [len(frames) - 1]
        short = line.replace(", axis=None, dtype=None, keepdims=False", "")
        colour = COLOURS[where[0] % len(COLOURS)] if where else "#eeeeee"
        width = len(short) * LETTER + 16
        parts.append(
            f'<rect x="{LEFT}" y="{y}" width="{width:g}" height="{LINE - 2}" rx="3" '
            f'fill="{colour}"/>'
        )
        parts.append(text(LEFT + 8, y + LINE - 6, short))
        for k in where:
            start, end = LEFT + width, middles[k]
            parts.append(
                f'<path class="wire" d="M{start:g} {y + LINE / 2:g} C {RIGHT - 60} '
                f'{y + LINE / 2:g}, {RIGHT - 60} {end:g}, {RIGHT} {end:g}"/>'
            )
        y += LINE
        shown += 1
    height = max(y, right) + 10
    head = [
        text(LEFT, 24, f"NumPy's program: {shown} calls", "head"),
        text(LEFT, 44, "each a loop over memory, and a call in Python", "note"),
        text(RIGHT, 24, f"machine code: {len(frames)} steps in one call", "head"),
        text(RIGHT, 44, "what is not stored stays in registers", "note"),
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}">',
            f"<style>{STYLE}</style>",
            *head,
            *parts,
            "</svg>",
        ]
    )


if __name__ == "__main__":
    print(picture())
