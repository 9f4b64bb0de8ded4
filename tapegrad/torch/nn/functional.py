"""`torch.nn.functional`: activations, losses, pooling and the like, as functions of tensors.

A table of contents: each family lists its own. Must not know modules.
"""

from __future__ import annotations

import inspect
from typing import Any

from tapegrad.torch._ops.declare import OPERATIONS
from tapegrad.torch._ops.elementwise import activations
from tapegrad.torch._ops.linalg.affine import linear
from tapegrad.torch.nn.activation.functions import *
from tapegrad.torch.nn.attention.functions import *
from tapegrad.torch.nn.convolution.folding import *
from tapegrad.torch.nn.convolution.functions import *
from tapegrad.torch.nn.distance.functions import *
from tapegrad.torch.nn.dropout.functions import *
from tapegrad.torch.nn.embedding.functions import *
from tapegrad.torch.nn.loss.alignments import *
from tapegrad.torch.nn.loss.classes import *
from tapegrad.torch.nn.loss.distances import *
from tapegrad.torch.nn.loss.margins import *
from tapegrad.torch.nn.loss.probabilities import *
from tapegrad.torch.nn.normalization.functions import *
from tapegrad.torch.nn.padding.functions import *
from tapegrad.torch.nn.pooling.functions import *
from tapegrad.torch.nn.pooling.maxima import *
from tapegrad.torch.nn.upsampling.functions import *
from tapegrad.torch.nn.upsampling.grids import *
from tapegrad.torch.nn.upsampling.shuffles import *

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


_FUNCTIONS = [name for name, found in globals().items() if inspect.isfunction(found)]
__all__ = ["linear"]
__all__ += [name for name in (*_ACTIVATIONS, *_FUNCTIONS) if name[0] != "_" and name != "linear"]


def __dir__() -> list[str]:
    return sorted(__all__)
