"""PyTorch's object API over tapegrad's tape: `import tapegrad.torch as torch`.

Each module of operations registers what it declares; that is what this namespace offers, beside
the names below.
"""

from __future__ import annotations

from typing import Any

from tapegrad.torch import (
    _activations,
    _affine,
    _comparison,
    _contractions,
    _conversion,
    _creation,
    _cumulative,
    _dtypes,
    _elementwise,
    _extrema,
    _further,
    _grids,
    _indexing,
    _joining,
    _masks,
    _memory,
    _parts,
    _pointwise,
    _printing,
    _products,
    _protocols,
    _questions,
    _random,
    _random_writes,
    _ranges,
    _reductions,
    _scatter,
    _selecting,
    _shape,
    _sorting,
    _statistics,
    autograd,
    func,
    linalg,
    nn,
    optim,
    random,
    return_types,
    special,
)
from tapegrad.torch._call import OPERATIONS
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
from tapegrad.torch._modes import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from tapegrad.torch._tensor import Tensor
from tapegrad.torch.autograd.anomaly_mode import (
    is_anomaly_check_nan_enabled,
    is_anomaly_enabled,
)
from tapegrad.torch.func import vmap

# Modules of operations, imported for what they declare.
MODULES = (
    _activations,
    _affine,
    _comparison,
    _contractions,
    _cumulative,
    _elementwise,
    _extrema,
    _further,
    _pointwise,
    _products,
    _reductions,
    _shape,
    _parts,
    _indexing,
    _joining,
    _masks,
    _scatter,
    _selecting,
    _sorting,
    _statistics,
    _conversion,
    _memory,
    _creation,
    _grids,
    _printing,
    _protocols,
    _random,
    _random_writes,
    _ranges,
    _questions,
    random,
)


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
    "dtype",
    "enable_grad",
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
    "return_types",
    "set_default_dtype",
    "set_grad_enabled",
    "special",
    "strided",
    "vmap",
]
