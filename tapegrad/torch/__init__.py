"""PyTorch's object API over tapegrad's tape: `import tapegrad.torch as torch`.

The namespace has the functions that the modules of operations register, and the names below.
"""

from __future__ import annotations

from math import e, inf, nan, pi
from typing import Any

from tapegrad.torch import (
    _dtypes,
    amp,
    autograd,
    backends,
    cuda,
    distributions,
    fft,
    func,
    functional,
    linalg,
    nn,
    optim,
    profiler,
    return_types,
    serialization,
    special,
    testing,
    types,
    utils,
    version,
)
from tapegrad.torch import _environment as _environment
from tapegrad.torch import _names as _names
from tapegrad.torch import _programs as _programs
from tapegrad.torch import random as random
from tapegrad.torch._docstrings.sections import complete
from tapegrad.torch._dtypes import (
    Size,
    channels_last,
    channels_last_3d,
    contiguous_format,
    device,
    dtype,
    finfo,
    get_default_dtype,
    iinfo,
    layout,
    legacy_contiguous_format,
    memory_format,
    preserve_format,
    set_default_dtype,
    strided,
)
from tapegrad.torch._graph import long_graphs as long_graphs
from tapegrad.torch._graph.modes import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from tapegrad.torch._ops.families import OPERATIONS
from tapegrad.torch._settings import (
    are_deterministic_algorithms_enabled,
    get_float32_matmul_precision,
    get_num_interop_threads,
    get_num_threads,
    set_float32_matmul_precision,
    set_num_interop_threads,
    set_num_threads,
    use_deterministic_algorithms,
)
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.amp import GradScaler, autocast
from tapegrad.torch.autograd.anomaly_mode import is_anomaly_check_nan_enabled, is_anomaly_enabled
from tapegrad.torch.func import vmap
from tapegrad.torch.version import __version__ as __version__

newaxis = None


def __getattr__(name: str) -> Any:
    found: Any = OPERATIONS.get(name)
    if found is None:
        found = _dtypes.BY_NAME.get(_dtypes.ALIASES.get(name, name))
    if found is None:
        raise AttributeError(_names.missing(name))
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """The names that PyTorch has too, and those of any module."""
    known = {*globals(), *OPERATIONS, *_dtypes.BY_NAME, *_dtypes.ALIASES}
    return sorted(name for name in known if name in _names.PYTORCH or name.startswith("__"))


__all__ = [
    "GradScaler",
    "Size",
    "Tensor",
    "amp",
    "are_deterministic_algorithms_enabled",
    "autocast",
    "autograd",
    "backends",
    "channels_last",
    "channels_last_3d",
    "contiguous_format",
    "cuda",
    "device",
    "distributions",
    "dtype",
    "e",
    "enable_grad",
    "fft",
    "finfo",
    "func",
    "functional",
    "get_default_dtype",
    "get_float32_matmul_precision",
    "get_num_interop_threads",
    "get_num_threads",
    "iinfo",
    "inf",
    "inference_mode",
    "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "layout",
    "legacy_contiguous_format",
    "linalg",
    "memory_format",
    "nan",
    "newaxis",
    "nn",
    "no_grad",
    "optim",
    "pi",
    "preserve_format",
    "profiler",
    "return_types",
    "serialization",
    "set_default_dtype",
    "set_float32_matmul_precision",
    "set_grad_enabled",
    "set_num_interop_threads",
    "set_num_threads",
    "special",
    "strided",
    "testing",
    "types",
    "use_deterministic_algorithms",
    "utils",
    "version",
    "vmap",
]

complete()
