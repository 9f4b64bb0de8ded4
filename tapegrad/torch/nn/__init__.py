"""`torch.nn`: modules, parameters, layers and losses."""

from __future__ import annotations

from tapegrad.torch.nn import functional, init, modules, parameter, utils
from tapegrad.torch.nn._containers import ModuleDict, ModuleList, Sequential
from tapegrad.torch.nn._layers import (
    AvgPool2d,
    BCELoss,
    BCEWithLogitsLoss,
    CosineSimilarity,
    CrossEntropyLoss,
    Dropout,
    Flatten,
    HuberLoss,
    Identity,
    KLDivLoss,
    L1Loss,
    Linear,
    LogSoftmax,
    MSELoss,
    NLLLoss,
    ReLU,
    Sigmoid,
    SmoothL1Loss,
    Softmax,
    Tanh,
)
from tapegrad.torch.nn._module import Module
from tapegrad.torch.nn._parameter import Buffer, Parameter
from tapegrad.torch.nn._parameter_containers import ParameterDict, ParameterList

__all__ = [
    "AvgPool2d",
    "BCELoss",
    "BCEWithLogitsLoss",
    "Buffer",
    "CosineSimilarity",
    "CrossEntropyLoss",
    "Dropout",
    "Flatten",
    "HuberLoss",
    "Identity",
    "KLDivLoss",
    "L1Loss",
    "Linear",
    "LogSoftmax",
    "MSELoss",
    "Module",
    "ModuleDict",
    "ModuleList",
    "NLLLoss",
    "Parameter",
    "ParameterDict",
    "ParameterList",
    "ReLU",
    "Sequential",
    "Sigmoid",
    "SmoothL1Loss",
    "Softmax",
    "Tanh",
    "functional",
    "init",
    "modules",
    "parameter",
    "utils",
]
