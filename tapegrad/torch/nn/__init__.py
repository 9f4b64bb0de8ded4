"""`torch.nn`: modules, parameters, layers and losses.

A table of contents: each family lists its own.
"""

from __future__ import annotations

from tapegrad.torch._methods import name_constructors
from tapegrad.torch.nn import functional, grad, init, modules, parallel, parameter, utils
from tapegrad.torch.nn import native as native
from tapegrad.torch.nn.activation.modules import *
from tapegrad.torch.nn.attention.modules import *
from tapegrad.torch.nn.attention.transformers import *
from tapegrad.torch.nn.containers.modules import *
from tapegrad.torch.nn.containers.parameters import *
from tapegrad.torch.nn.convolution.modules import *
from tapegrad.torch.nn.distance.modules import *
from tapegrad.torch.nn.dropout.modules import *
from tapegrad.torch.nn.embedding.modules import *
from tapegrad.torch.nn.linear import *
from tapegrad.torch.nn.loss.adaptive import *
from tapegrad.torch.nn.loss.modules import *
from tapegrad.torch.nn.module.factory import factory_kwargs
from tapegrad.torch.nn.module.module import Module
from tapegrad.torch.nn.normalization.modules import *
from tapegrad.torch.nn.padding.modules import *
from tapegrad.torch.nn.parallel import DataParallel
from tapegrad.torch.nn.parameter import (
    Buffer,
    Parameter,
    UninitializedBuffer,
    UninitializedParameter,
)
from tapegrad.torch.nn.pooling.modules import *
from tapegrad.torch.nn.recurrent.modules import *
from tapegrad.torch.nn.upsampling.modules import *

__all__ = [
    "Buffer",
    "DataParallel",
    "Module",
    "Parameter",
    "UninitializedBuffer",
    "UninitializedParameter",
    "factory_kwargs",
    "functional",
    "grad",
    "init",
    "modules",
    "parallel",
    "parameter",
    "utils",
]
__all__ += [
    name for name, found in globals().items() if isinstance(found, type) and name not in __all__
]
__all__.sort()
name_constructors([globals()[name] for name in __all__])


def __dir__() -> list[str]:
    return __all__
