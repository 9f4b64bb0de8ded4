"""Draws the shapes of docs/which-transform.md: `python docs/shapes.py` writes docs/shapes/*.svg.

A picture is a row of parts. Blue is what goes in, orange what comes out, and a dashed outline is a
matrix that is never built. Lines and letters have the colour of the page's text (`currentColor`),
so that a page in dark mode shows them too; it has to hold the picture itself, not a link to it.
"""

from __future__ import annotations

from pathlib import Path

PLACE = Path(__file__).parent / "shapes"
CELL, GAP, TOP = 13, 16, 26
BLUE, ORANGE = "#4a90d9", "#e8833a"

# A part is a word, or (rows, columns, colour, label): colour None for a matrix that is not built,
# "diagonal" for a matrix of which the diagonal alone is.
PICTURES = {
    "grad": [
        (4, 1, BLUE, "x"),
        "→ f →",
        (1, 1, BLUE, "y"),
        "grad(f)(x) =",
        (4, 1, ORANGE, "as x"),
    ],
    "jacobian": [
        (4, 1, BLUE, "x"),
        "→ f →",
        (3, 1, BLUE, "y"),
        "jacobian(f)(x) =",
        (3, 4, ORANGE, "y by x"),
    ],
    "jvp": [(3, 4, None, "Jacobian"), "·", (4, 1, BLUE, "x_dot"), "=", (3, 1, ORANGE, "as y")],
    "vjp": [(1, 3, BLUE, "y_bar"), "·", (3, 4, None, "Jacobian"), "=", (1, 4, ORANGE, "as x")],
    "hessian": [
        (4, 1, BLUE, "x"),
        "→ f →",
        (1, 1, BLUE, "y"),
        "hessian(f)(x) =",
        (4, 4, ORANGE, "x by x"),
    ],
    "hvp": [(4, 4, None, "Hessian"), "·", (4, 1, BLUE, "v"), "=", (4, 1, ORANGE, "as x")],
    "elementwise": [
        (4, 1, BLUE, "x"),
        "→ f →",
        (4, 1, BLUE, "y"),
        "elementwise_grad(f)(x) =",
        (4, 1, ORANGE, "as x"),
    ],
    "vmap": [
        (5, 3, BLUE, "examples"),
        "→ vmap(f) →",
        (5, 1, ORANGE, "one each"),
        "vmap(grad(f)) =",
        (5, 3, ORANGE, "one row each"),
    ],
    "sparse": [
        (4, 1, BLUE, "x"),
        "→ f →",
        (4, 1, BLUE, "y"),
        "sparse.jacobian(f)(x) =",
        (4, 4, "diagonal", "few entries"),
    ],
}
TITLES = {
    "grad": "grad: an array in, a number out, a gradient of the array's shape",
    "jacobian": "jacobian: an array in, an array out, a matrix of all partial derivatives",
    "jvp": "jvp: the Jacobian, which is not built, times a column",
    "vjp": "vjp: a row times the Jacobian, which is not built",
    "hessian": "hessian: an array in, a number out, a square matrix",
    "hvp": "hvp: the Hessian, which is not built, times a column",
    "elementwise": "elementwise_grad: one derivative an element",
    "vmap": "vmap: a function of one row, for all rows; with grad a gradient a row",
    "sparse": "sparse.jacobian: a matrix of which few entries are stored",
}


def grid(left: float, middle: float, rows: int, columns: int, colour: str | None) -> list[str]:
    """The cells of an array around a middle line."""
    top = middle - rows * CELL / 2
    if colour is None:
        size = f'width="{columns * CELL}" height="{rows * CELL}"'
        line = 'fill="none" stroke="currentColor" stroke-dasharray="3 3"'
        return [f'<rect x="{left}" y="{top}" {size} {line}/>']
    cells = []
    for row in range(rows):
        for column in range(columns):
            fill = colour
            if colour == "diagonal":
                fill = ORANGE if abs(row - column) <= 1 and row >= column else "none"
            cells.append(
                f'<rect x="{left + column * CELL}" y="{top + row * CELL}" width="{CELL}" '
                f'height="{CELL}" fill="{fill}" stroke="currentColor" stroke-width="0.7"/>'
            )
    return cells


def drawn(name: str) -> str:
    """The text of a picture."""
    parts = PICTURES[name]
    tallest = max(part[0] for part in parts if not isinstance(part, str))
    middle = TOP + tallest * CELL / 2
    left, shapes = 8.0, []
    for part in parts:
        if isinstance(part, str):
            width = 7.2 * len(part)
            shapes.append(
                f'<text x="{left + width / 2}" y="{middle + 4}" text-anchor="middle">{part}</text>'
            )
        else:
            rows, columns, colour, label = part
            width = max(columns * CELL, 6.4 * len(label))
            inset = (width - columns * CELL) / 2
            shapes += grid(left + inset, middle, rows, columns, colour)
            shapes.append(
                f'<text x="{left + width / 2}" y="{middle - rows * CELL / 2 - 6}" '
                f'text-anchor="middle" font-size="11">{label}</text>'
            )
        left += width + GAP
    size = f"{left:.0f} {TOP + tallest * CELL + 8:.0f}"
    width, height = size.split()
    lines = "\n".join(shapes)
    return (
        f'<svg class="shape" role="img" xmlns="http://www.w3.org/2000/svg" width="{width}" '
        f'height="{height}" viewBox="0 0 {size}" font-size="12" fill="currentColor" '
        f'font-family="monospace">\n<title>{TITLES[name]}</title>\n{lines}\n</svg>\n'
    )


def main() -> None:
    PLACE.mkdir(exist_ok=True)
    for name in PICTURES:
        (PLACE / f"{name}.svg").write_text(drawn(name), encoding="utf-8")


if __name__ == "__main__":
    main()
