"""PyTorch's object API over tapegrad's tape: `import tapegrad.torch as torch`.

Each module of operations registers what it declares; that is what this namespace offers, beside
the names below.
"""

from __future__ import annotations

from typing import Any

from tapegrad.torch import (
    _dtypes,
    autograd,
    func,
    linalg,
    nn,
    optim,
    random,
    return_types,
    special,
)
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
from tapegrad.torch._ops.create import creation, random_fill, ranges
from tapegrad.torch._ops.create import random as _random
from tapegrad.torch._ops.declare import OPERATIONS
from tapegrad.torch._ops.elementwise import activations, arithmetic, comparison, functions
from tapegrad.torch._ops.index import getitem, masks, scatter, select
from tapegrad.torch._ops.linalg import affine, contractions, products
from tapegrad.torch._ops.object import (
    conversion,
    memory,
    numpy_protocols,
    predicates,
    printing,
    subclasses,
)
from tapegrad.torch._ops.reduce import cumulative, extrema, sorting, statistics, sums
from tapegrad.torch._ops.shape import grids, joining, reshape, slices
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.autograd.anomaly_mode import (
    is_anomaly_check_nan_enabled,
    is_anomaly_enabled,
)
from tapegrad.torch.func import vmap

# Modules of operations, imported for what they declare.
MODULES = (
    activations,
    affine,
    comparison,
    contractions,
    cumulative,
    functions,
    extrema,
    subclasses,
    arithmetic,
    products,
    sums,
    reshape,
    slices,
    getitem,
    joining,
    masks,
    scatter,
    select,
    sorting,
    statistics,
    conversion,
    memory,
    creation,
    grids,
    printing,
    numpy_protocols,
    _random,
    random_fill,
    ranges,
    predicates,
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
