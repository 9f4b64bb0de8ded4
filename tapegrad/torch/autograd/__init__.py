"""`torch.autograd`: backward passes, checks, and functions with user-defined derivatives."""

from __future__ import annotations

from tapegrad.torch._graph.modes import enable_grad, inference_mode, no_grad, set_grad_enabled
from tapegrad.torch.autograd._passes import backward, grad
from tapegrad.torch.autograd.anomaly_mode import detect_anomaly, set_detect_anomaly
from tapegrad.torch.autograd.function import Function
from tapegrad.torch.autograd.variable import Variable

from tapegrad.torch.autograd import forward_ad, function, functional, grad_mode, graph  # isort: skip
from tapegrad.torch.autograd.gradcheck import gradcheck, gradgradcheck  # isort: skip
from tapegrad.torch.autograd._saved_tensor import SavedTensor as SavedTensor  # isort: skip
from tapegrad.torch.autograd import profiler, profiler_util  # isort: skip

__all__ = [
    "Function",
    "Variable",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "forward_ad",
    "function",
    "functional",
    "grad",
    "grad_mode",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "no_grad",
    "profiler",
    "profiler_util",
    "set_detect_anomaly",
    "set_grad_enabled",
]
__dir__ = __all__.copy
