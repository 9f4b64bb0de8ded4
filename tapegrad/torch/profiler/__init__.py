"""`torch.profiler`: profiles in steps, on a schedule.

It also names what stands above the profiler and is to be recorded: `nn.functional`, optimizers.
"""

from __future__ import annotations

from typing import Any

from tapegrad.torch import nn as _nn
from tapegrad.torch.autograd._recorded import (
    record_functions,
    record_held,
    record_methods,
    record_modules,
)
from tapegrad.torch.autograd.profiler import KinetoStepTracker, kineto_available, record_function
from tapegrad.torch.nn import functional as _functional
from tapegrad.torch.optim import Optimizer as _Optimizer
from tapegrad.torch.profiler.profiler import (
    ProfilerAction,
    ProfilerActivity,
    profile,
    schedule,
    supported_activities,
    tensorboard_trace_handler,
)


def _title(method: str, optimizer: Any) -> str:
    return f"Optimizer.{method}#{type(optimizer).__name__}.{method}"


def _network_title(module: Any, *_: Any, **__: Any) -> str:
    return f"aten::{module.mode.lower()}"


record_functions(_functional)
record_held(_nn.Module)
record_modules(dict.fromkeys((_nn.RNN, _nn.GRU, _nn.LSTM), _network_title))
record_methods(_Optimizer, ("step", "zero_grad"), _title)

__all__ = [
    "KinetoStepTracker",
    "ProfilerAction",
    "ProfilerActivity",
    "kineto_available",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]
__dir__ = __all__.copy
