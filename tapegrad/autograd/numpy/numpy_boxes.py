"""`ArrayBox`, for `isinstance(x, ArrayBox)`: whether an array is traced."""

from __future__ import annotations

from tapegrad.autograd._boxes import METHODS, ArrayBox, Box, SequenceBox
from tapegrad.autograd._completed import complete
from tapegrad.autograd.tracer import trace_primitives_map

nondiff_methods = "all any argmax argmin argpartition argsort nonzero round searchsorted".split()
diff_methods = [name for name in METHODS if name not in nondiff_methods]

complete(__name__)

__all__ = [
    "ArrayBox",
    "Box",
    "SequenceBox",
    "diff_methods",
    "nondiff_methods",
    "trace_primitives_map",
]
