"""Reads of a traced array: `x[index]`, which is a view where NumPy's is.

Knows the entry of a read, and which indices are settled by their classes. Must not know rules.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._arrays.masked import MaskedElements, read
from tapegrad._arrays.memory import copy_like, shares
from tapegrad._arrays.traced import Array
from tapegrad._arrays.views import View, copies
from tapegrad._arrays.writes import frozen_index
from tapegrad._core.entry import READ, new, traced
from tapegrad._core.types import Index
from tapegrad._core.values import (
    Mapped,
    all_basic,
    batched_index_part,
    copied_index,
    getitem,
)

_AN_ARRAY = np.empty(0)  # says of a view that has not been taken that its value is an array


def read_part(self: Array, index: Index) -> Any:
    """`Array.__getitem__`: an entry of the tape, and a view if NumPy's is one."""
    kind = type(index)
    advanced = False  # whether it has arrays: then the result is a copy
    if kind is slice and index.step is None:  # `writes._stays`, written out
        start, stop = index.start, index.stop
        simple = (start is None or type(start) is int) and (stop is None or type(stop) is int)
    elif kind is tuple and all_basic(index):
        simple = True
    elif kind is tuple or kind is np.ndarray:
        index, simple = _settled_index(self, index)
        advanced = simple
    else:
        simple = kind is int
    if not simple:
        index = frozen_index(index)
        mapped = batched_index_part(index, self.tape.level)
        if mapped is not None:
            return mapped.look_up(self, index)  # by a vmap inside this array's transform
    value = self._value
    out = value[index] if simple else getitem(value, index)
    kind = type(out)
    tape = self.tape
    whole = self.slot
    spec = self.spec
    if simple and kind is np.ndarray and not advanced:
        pass  # a part of an array, the frequent case
    elif kind is MaskedElements:
        return read(self, index)
    elif kind is np.float64 or not shares(out, value):
        slot = tape.fresh()
        tape.log((slot, READ, None, spec, index, whole, None))
        return traced(out, slot, tape, spec.family[out.shape])
    made = new(View)
    made.spec = spec.family[out.shape]
    made.parent = self
    made.params = index
    if type(self) is spec.kind or not self.is_view:  # the frequent case, and 0-d arrays
        made.root = self
        made.seen = whole
    else:
        made.root = root = self.root
        made.seen = root.slot
    if kind is not np.ndarray and isinstance(out, Mapped) and out.picked:
        out = copy_like(out)
    elif whole in tape.buffers and copies(out, self):
        # Read at the first use, which may never come: the read copies the elements.
        made.seen = None
        made._taken = _AN_ARRAY if isinstance(out, np.ndarray) else None
        return made
    made._taken = out
    made.taken_slot = slot = tape.fresh()
    tape.log((slot, READ, None, spec, index, whole, None))
    return made


def _settled_index(self: Array, index: Any) -> tuple[Any, bool]:
    """An index with copies of its arrays, and whether it has only these and basic parts.

    The program may write to the arrays later. Of another index nothing is copied here.
    """
    copied = copied_index(index) if type(index) is tuple else index.copy()
    if copied is None or type(self._value) is not np.ndarray:
        return index, False
    return copied, True


Array.__getitem__ = read_part
