"""Names for what signatures mean where Python's types cannot say it.

Arrays come from any library that speaks NumPy's protocols, and a slot has another type in each
kind of tape. For the type checker most of these names are `Any`; for a reader they say which of
these things a parameter is. Must not know any class of tapegrad.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

# An array or scalar of any library. It may be traced (`Traced`), batched (`Mapped`) or neither.
# An entry keeps a `Spec` in place of a value of which a rule reads the shape and dtype alone.
Value = Any

# The arrays of a call, in the order of its arguments.
Values = Sequence[Value]

# For each of them, whether its derivative is asked for.
Wanted = Sequence[bool]

# The address of a value on a tape: an integer in reverse mode, a `Cell` in forward mode, a `Node`
# in the object layer. -1 stands for a constant, on which no derivative depends.
Slot = Any

# The derivative of the result by a value, of the value's shape and dtype. None stands for zeros;
# a `Scatter` holds one that is zero outside of an index.
Cotangent = Any

# The cotangents of a replay by slot: a list, or a `SparseBars` where the slots begin late.
Cotangents = Any

# The derivative of a value along the direction of the inputs' tangents. None stands for zeros.
Tangent = Any

# What is written between brackets in x[index].
Index = Any

# A pytree: a value, or a container (list, tuple, dict, registered class) of pytrees.
Tree = Any

# The arguments of a call that are not arrays, by keyword: axis=, keepdims=, mode=.
Params = dict[str, Any]

# A function of NumPy, a rule, or a function of the program.
Function = Callable[..., Any]

__all__ = [
    "Cotangent",
    "Cotangents",
    "Function",
    "Index",
    "Params",
    "Slot",
    "Tangent",
    "Tree",
    "Value",
    "Values",
    "Wanted",
]
