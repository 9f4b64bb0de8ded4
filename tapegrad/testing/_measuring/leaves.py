"""Which leaves of arguments and results take part: floating and complex ones.

Knows pytrees.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._core.types import Tree, Value
from tapegrad._tree import flatten


def inexact_leaves(out: Tree) -> tuple[Value, ...]:
    """The floating and complex parts of a result; Python numbers as NumPy's."""
    leaves = [
        np.asarray(leaf)[()] if issubclass(type(leaf), (float, complex)) else leaf
        for leaf in flatten(out)[0]
    ]
    return tuple(leaf for leaf in leaves if _is_inexact(leaf))


def moves(leaf: Any) -> bool:
    """Whether a leaf of the arguments is one by which to differentiate; others are constants."""
    return isinstance(leaf, (float, complex)) or _is_inexact(leaf)


def _is_inexact(leaf: Value) -> bool:
    dtype = getattr(leaf, "dtype", None)
    return isinstance(dtype, np.dtype) and dtype.kind in "fc"  # scalar types have dtype as well
