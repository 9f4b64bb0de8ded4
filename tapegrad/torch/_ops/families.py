"""All operations: importing this module lets each family register its own.

Knows which modules there are. `tapegrad.torch` takes `OPERATIONS` from here, so that none of these
modules is a name of that namespace: `torch.reshape` is the operation.
"""

from __future__ import annotations

import sys
from types import FunctionType

from tapegrad.torch._ops import foreach
from tapegrad.torch._ops.create import creation, fill, random, ranges, window_functions
from tapegrad.torch._ops.declare import OPERATIONS
from tapegrad.torch._ops.elementwise import (
    activations,
    arithmetic,
    comparison,
    functions,
    special_functions,
)
from tapegrad.torch._ops.index import getitem, masks, scatter, select
from tapegrad.torch._ops.linalg import (
    affine,
    contractions,
    householder,
    low_rank,
    old_factors,
    products,
    spectrograms,
)
from tapegrad.torch._ops.object import (
    conversion,
    memory,
    numpy_protocols,
    predicates,
    printing,
    subclasses,
)
from tapegrad.torch._ops.reduce import (
    cumulative,
    extrema,
    histograms,
    sorting,
    statistics,
    sums,
)
from tapegrad.torch._ops.shape import copies, grids, joining, reshape, slices

MODULES = (
    *(creation, random, fill, ranges, window_functions),
    *(activations, arithmetic, comparison, functions, special_functions),
    *(getitem, masks, scatter, select),
    *(affine, contractions, householder, low_rank, old_factors, products, spectrograms),
    *(conversion, memory, numpy_protocols, predicates, printing, subclasses),
    *(cumulative, extrema, histograms, sorting, statistics, sums),
    foreach,
    *(copies, grids, joining, reshape, slices),
)


def _name_for_pickle() -> None:
    """Let pickle find operations that their modules have not by name, as `torch.tanh`."""
    for name, call in OPERATIONS.items():
        if not isinstance(call, FunctionType):
            continue
        home = sys.modules.get(call.__module__)
        if getattr(home, call.__qualname__, None) is not call:
            call.__module__, call.__qualname__ = "tapegrad.torch", name


_name_for_pickle()

__all__ = ["MODULES", "OPERATIONS"]
