"""A picture of what a function logs, written to a file: joins the tape and the drawing.

The one place outside the core that reads entries; `_tape` describes their two layouts.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad._cli._target import CommandError, name_of
from tapegrad._errors import describe
from tapegrad._picture import Row, render_dot, render_mermaid, render_svg
from tapegrad._reverse import Inputs, Selection, Stretch
from tapegrad._tape import PROJECT, READ, WRITE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tapegrad._tape import Entry

RENDERERS = {".svg": render_svg, ".dot": render_dot, ".mmd": render_mermaid}


def check_path(path: str) -> None:
    """Refuse a path that could not be written, before anything is computed."""
    if Path(path).suffix not in RENDERERS:
        raise CommandError(f"{path}: a picture's name ends in {', '.join(RENDERERS)}")
    if not Path(path).absolute().parent.is_dir():
        raise CommandError(f"{path}: no such folder")


def write_picture(path: str, title: str, f: Callable[..., Any], *args: Any) -> int:
    """Write the tape of `f(*args)` in the format that the path ends in; count its entries."""
    rows = list(tape_rows(f, *args))
    text = RENDERERS[Path(path).suffix](rows, title)
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}") from error
    return len(rows)


def tape_rows(f: Callable[..., Any], *args: Any) -> Iterator[Row]:
    """Run `f(*args)` traced; yield a row for each leaf of the arguments and each call logged."""
    selection = Selection(f"{name_of(f)}(...)", tuple(range(len(args))))
    inputs = Inputs(selection, args, {})
    with Stretch(name_of(f)) as stretch:
        traced = [stretch.input(leaf) for leaf in inputs.leaves]
        inputs.call(f, traced)
        stretch.finish()
        entries = list(stretch.entries)
    results: dict[int, Any] = {}  # what each slot holds: a value, or its shape and dtype alone
    for x in traced:
        results[x.slot] = x.value
        yield Row(x.slot, "input", (), describe(x.value))
    for entry in entries:
        slot, rule = entry[:2]
        parents = tuple(parent for parent in _parents(entry) if parent in results)
        results[slot] = _result(entry, results)
        yield Row(slot, rule.name, parents, _label(results[slot]))


def _parents(entry: Entry) -> tuple[int, ...]:
    if entry[6] is not None:
        return entry[5], entry[6]
    return entry[5] if isinstance(entry[5], tuple) else (entry[5],)


def _result(entry: Entry, results: dict[int, Any]) -> Any:
    """Find what an entry's slot holds, or something of its shape and dtype."""
    _, rule, out, x, y, _, _ = entry
    parents = [results[slot] for slot in _parents(entry) if slot in results]
    if rule is PROJECT:
        return parents[0][x]
    if rule is READ:
        # Of the whole only shape and dtype may be known: index zeros that take no memory.
        return np.broadcast_to(np.zeros((), x.dtype), x.shape)[y]
    if rule is WRITE:
        return x[0]
    # An elementwise call that keeps nothing has the shape and dtype of its arguments.
    return parents[0] if out is None else out


def _label(result: Any) -> str:
    return f"{len(result)} results" if isinstance(result, tuple) else describe(result)
