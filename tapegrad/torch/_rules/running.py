"""Running sums, of large arrays block by block.

Knows NumPy arrays. Must not know dimensions as PyTorch names them.

PyTorch adds up numbers of single precision in double precision, and so do neither NumPy nor
blocks; but the errors of blocks are less than half of those of one sum that grows.
"""

from __future__ import annotations

import numpy as np

from tapegrad._core.linear import Linear
from tapegrad._core.settled import Spec, Ways
from tapegrad._core.sums import running_sums, runs_by_blocks
from tapegrad._core.types import Cotangent, Value
from tapegrad.rules.cumulative import cumsum_transpose, settled_cumsum
from tapegrad.torch._graph.names import name_nodes
from tapegrad.torch._rules.declare import Declared


def _running_sum(x: Value, axis: int = -1) -> Value:
    """`np.cumsum` along an axis."""
    if type(x) is np.ndarray and x.ndim and runs_by_blocks(x.shape, axis, x.dtype):
        return running_sums(x)
    return np.cumsum(x, axis)


def _transpose(g: Cotangent, _out: Value, x: Value, axis: int = -1) -> Cotangent:
    return cumsum_transpose(g, _out, x, axis)


def _settled(x: Spec, out: Spec, /, axis: int = -1) -> Ways | None:
    ways: Ways | None = settled_cumsum(x, out, axis)
    blocks = ways is not None and runs_by_blocks(x.shape, axis, x.dtype)
    return ways._replace(run=running_sums) if ways is not None and blocks else ways


running_sum = Declared(_running_sum)
running_sum.rule = Linear(running_sum, [_transpose], name="cumsum", batch="axis", settle=_settled)
name_nodes(running_sum.rule, "CumsumBackward0")

__all__ = ["running_sum"]
