"""`torch.nn.modules`: the modules under the names of PyTorch's files."""

from __future__ import annotations

from tapegrad.torch.nn.modules import batchnorm, container, lazy, module
from tapegrad.torch.nn.modules.container import (
    ModuleDict,
    ModuleList,
    ParameterDict,
    ParameterList,
    Sequential,
)
from tapegrad.torch.nn.modules.module import Module

__all__ = [
    "Module",
    "ModuleDict",
    "ModuleList",
    "ParameterDict",
    "ParameterList",
    "Sequential",
    "batchnorm",
    "container",
    "lazy",
    "module",
]
