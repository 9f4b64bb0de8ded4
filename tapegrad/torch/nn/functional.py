"""`torch.nn.functional`: activations, losses, pooling and the like, as functions of tensors.

A table of contents: each family lists its own. Must not know modules.
"""

from __future__ import annotations

from typing import Any

from tapegrad.torch._ops.declare import OPERATIONS
from tapegrad.torch._ops.elementwise import activations
from tapegrad.torch._ops.linalg.affine import linear
from tapegrad.torch.nn.activation import functions as _activation
from tapegrad.torch.nn.attention import functions as _attention
from tapegrad.torch.nn.convolution import folding as _folding
from tapegrad.torch.nn.convolution import functions as _convolution
from tapegrad.torch.nn.distance import functions as _distance
from tapegrad.torch.nn.dropout import functions as _dropout
from tapegrad.torch.nn.embedding import functions as _embedding
from tapegrad.torch.nn.loss import alignments as _alignments
from tapegrad.torch.nn.loss import classes as _classes
from tapegrad.torch.nn.loss import distances as _distances
from tapegrad.torch.nn.loss import margins as _margins
from tapegrad.torch.nn.loss import probabilities as _probabilities
from tapegrad.torch.nn.normalization import functions as _normalization
from tapegrad.torch.nn.padding import functions as _padding
from tapegrad.torch.nn.pooling import functions as _pooling
from tapegrad.torch.nn.pooling import maxima as _maxima
from tapegrad.torch.nn.upsampling import functions as _upsampling
from tapegrad.torch.nn.upsampling import grids as _grids
from tapegrad.torch.nn.upsampling import shuffles as _shuffles

_FAMILIES = (
    _activation,
    _attention,
    _folding,
    _convolution,
    _distance,
    _dropout,
    _embedding,
    _alignments,
    _classes,
    _distances,
    _margins,
    _probabilities,
    _normalization,
    _padding,
    _pooling,
    _maxima,
    _upsampling,
    _grids,
    _shuffles,
)
# Those that are found as operations of the namespace `torch`, or beside them.
_ACTIVATIONS = (
    "celu celu_ elu elu_ gelu glu hardshrink hardsigmoid hardswish hardtanh hardtanh_ leaky_relu "
    "leaky_relu_ logsigmoid mish prelu relu6 relu_ rrelu rrelu_ selu selu_ silu softplus "
    "softshrink softsign tanhshrink threshold threshold_"
).split()


def __getattr__(name: str) -> Any:
    """Other activations are those of the namespace `torch`."""
    found = OPERATIONS.get(name)
    if found is None:
        found = getattr(activations, name, None)
    if found is None or name.startswith("_"):
        raise AttributeError(f"module 'tapegrad.torch.nn.functional' has no attribute {name!r}")
    return found


__all__ = ["linear", *_ACTIVATIONS]  # noqa: PLE0604 - a list of strings
for _family in _FAMILIES:
    __all__ += _family.__all__
    globals().update({name: getattr(_family, name) for name in _family.__all__})


def __dir__() -> list[str]:
    return sorted(__all__)
