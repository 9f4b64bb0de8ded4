"""`torch.nn.modules.container`: lists and dicts of modules and parameters."""

from __future__ import annotations

from tapegrad.torch.nn.containers.modules import ModuleDict, ModuleList, Sequential
from tapegrad.torch.nn.containers.parameters import ParameterDict, ParameterList

__all__ = ["ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]
