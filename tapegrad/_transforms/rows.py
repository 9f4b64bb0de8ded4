"""The rows of a tape, for pictures of it.

Knows the names of entries. Must not know how a picture is drawn.
"""

from __future__ import annotations

from typing import Any

from tapegrad._core.entry import kind_of_result, parents_of
from tapegrad._core.types import Function, Tree
from tapegrad._errors import describe, name_of
from tapegrad._transforms.inputs import Inputs, Selection
from tapegrad._transforms.recording import Recording


def tape_rows(f: Function, *args: Tree) -> list[tuple[int, str, tuple[int, ...], str]]:
    """The entries of a run of f: (slot, name, slots of the parents, dtype and shape).

    The arguments are floating. The inputs come first, without parents.

    >>> import numpy as np
    >>> for row in tape_rows(lambda x: np.sum(x * x), np.ones(2)):
    ...     print(row[1:])
    ('input', (), 'float64[2]')
    ('np.multiply', (0, 0), 'float64[2]')
    ('np.sum', (1,), 'float64 scalar')
    """
    selection = Selection.of_all(f"tape of {name_of(f)}", len(args))
    inputs = Inputs(selection, args, {})
    with Recording(selection.call) as recording:
        traced = recording.inputs(inputs.leaves)
        rows: list[tuple[int, str, tuple[int, ...], str]] = [
            (x.slot, "input", (), describe(x)) for x in traced
        ]
        kinds: dict[int, Any] = {x.slot: x.spec for x in traced}
        out = inputs.call(f, traced)
        recording.finish(out)
        for entry in recording.entries:
            parents = tuple(slot for slot in parents_of(entry) if slot >= 0)
            kinds[entry[0]] = kind = kind_of_result(entry, kinds)
            text = f"{len(kind)} results" if isinstance(kind, tuple) else describe(kind)
            rows.append((entry[0], entry[1].name, parents, text))
    return rows


__all__ = ["tape_rows"]
