"""PyTorch's object API over tapegrad's tape: `import tapegrad.torch as torch`.

The namespace has the functions that the modules of operations register, and the names below.
"""

from __future__ import annotations

from typing import Any

from tapegrad.torch import (
    _dtypes,
    autograd,
    distributions,
    fft,
    func,
    linalg,
    nn,
    optim,
    profiler,
    return_types,
    special,
)
from tapegrad.torch import random as random
from tapegrad.torch._dtypes import (
    Size,
    channels_last,
    contiguous_format,
    device,
    dtype,
    finfo,
    get_default_dtype,
    iinfo,
    preserve_format,
    set_default_dtype,
    strided,
)
from tapegrad.torch._graph.modes import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from tapegrad.torch._ops.families import OPERATIONS
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.autograd.anomaly_mode import (
    is_anomaly_check_nan_enabled,
    is_anomaly_enabled,
)
from tapegrad.torch.func import vmap


def __getattr__(name: str) -> Any:
    found: Any = OPERATIONS.get(name)
    if found is None:
        found = _dtypes.BY_NAME.get(_dtypes.ALIASES.get(name, name))
    if found is None:
        raise AttributeError(f"module 'tapegrad.torch' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *OPERATIONS, *_dtypes.BY_NAME, *_dtypes.ALIASES})


__all__ = [
    "Size",
    "Tensor",
    "autograd",
    "channels_last",
    "contiguous_format",
    "device",
    "distributions",
    "dtype",
    "enable_grad",
    "fft",
    "finfo",
    "func",
    "get_default_dtype",
    "iinfo",
    "inference_mode",
    "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "linalg",
    "nn",
    "no_grad",
    "optim",
    "preserve_format",
    "profiler",
    "return_types",
    "set_default_dtype",
    "set_grad_enabled",
    "special",
    "strided",
    "vmap",
]
