"""The worked examples as notebooks, made from the scripts and executed.

    python docs/notebooks.py [NAME ...]    # into docs/_build/notebooks; all without a name

A cell of a script begins at a line `# %%`: the comment below it is text, the rest is code. Needs
`pip install 'tapegrad[docs,examples]'`.
"""

from __future__ import annotations

import ast
import re
import sys
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).parent
FOLDER = DOCS / "_build" / "notebooks"

# How each script ends, which a notebook does not need: it shows figures by itself.
ENDING = re.compile(
    r"""^ *if len\(sys\.argv\) > 1:  # a file for the picture
 *figure\.savefig\(sys\.argv\[1\]\)
 *else:
 *plt\.show\(\)
""",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Cell:
    """Text (Markdown) or code."""

    kind: str
    source: str


def cells(script: str) -> list[Cell]:
    """The cells of a script."""
    tree = ast.parse(script)
    text = ast.get_docstring(tree) or ""
    rest = "".join(script.splitlines(keepends=True)[tree.body[0].end_lineno :])
    rest = ENDING.sub("", rest)
    first, *others = re.split(r"^# %%\n", rest, flags=re.MULTILINE)
    title, _, about = text.partition("\n")
    about = "\n".join(line for line in about.splitlines() if "python docs/" not in line)
    found = [Cell("markdown", f"# {title.rstrip('.')}\n{about}".strip()), Cell("code", first)]
    for part in others:
        lines = part.splitlines()
        count = next((i for i, line in enumerate(lines) if not line.startswith("#")), len(lines))
        said = "\n".join(line.removeprefix("#").removeprefix(" ") for line in lines[:count])
        found += [Cell("markdown", said), Cell("code", "\n".join(lines[count:]))]
    found = [Cell(cell.kind, cell.source.strip("\n")) for cell in found]
    return [cell for cell in found if cell.source]


def notebook(script: str, *, execute: bool = True, timeout: int = 300):
    """A notebook of a script, as nbformat has it; executed, with what it prints and draws.

    Raises nbclient's CellExecutionError where a cell does.
    """
    import nbformat.v4 as v4

    makers = {"markdown": v4.new_markdown_cell, "code": v4.new_code_cell}
    made = v4.new_notebook(cells=[makers[cell.kind](cell.source) for cell in cells(script)])
    made.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    made.metadata["language_info"] = {"name": "python"}
    for place, cell in enumerate(made.cells):
        cell["id"] = f"cell-{place}"  # the same in each run
    if execute:
        from nbclient import NotebookClient

        NotebookClient(
            made, timeout=timeout, kernel_name="python3", coalesce_streams=True
        ).execute()
    return made


def main(names: list[str]) -> None:
    """Write the notebooks of some examples, or of all."""
    import nbformat

    FOLDER.mkdir(parents=True, exist_ok=True)
    for path in sorted((DOCS / "examples").glob("*.py")):
        if names and path.stem not in names:
            continue
        made = notebook(path.read_text(encoding="utf-8"))
        nbformat.write(made, FOLDER / f"{path.stem}.ipynb")
        print(FOLDER / f"{path.stem}.ipynb", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
