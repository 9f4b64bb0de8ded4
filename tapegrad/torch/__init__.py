"""PyTorch's object API over tapegrad's tape: `import tapegrad.torch as torch`.

The namespace has the functions that the modules of operations register, and the names below.
"""

from __future__ import annotations

import warnings as _warnings
from math import e, inf, nan, pi
from typing import Any

from tapegrad.torch import _compiled as _compiled
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
    quasirandom,
    return_types,
    serialization,
    signal,
    special,
    testing,
    types,
    utils,
    version,
)
from tapegrad.torch import _programs as _programs
from tapegrad.torch import _settings as _settings
from tapegrad.torch import random as random
from tapegrad.torch._absent import FINDER as _FINDER
from tapegrad.torch._docstrings.sections import complete as _complete
from tapegrad.torch._dtypes import (
    Size,
    channels_last,
    channels_last_3d,
    contiguous_format,
    device,
    dtype,
    finfo,
    get_default_device,
    get_default_dtype,
    iinfo,
    layout,
    legacy_contiguous_format,
    memory_format,
    preserve_format,
    set_default_device,
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
from tapegrad.torch._install import install, uninstall
from tapegrad.torch._methods import contents as _contents
from tapegrad.torch._mixed_precision import GradScaler, autocast
from tapegrad.torch._ops.families import OPERATIONS
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.autograd.anomaly_mode import is_anomaly_check_nan_enabled, is_anomaly_enabled
from tapegrad.torch.func import vmap
from tapegrad.torch.torch_version import __version__ as __version__

# PyTorch never warns of NaNs. A filter costs nothing where a call does not warn; np.errstate would
# cost a tenth of a small operation.
_warnings.filterwarnings(
    "ignore",
    "(invalid value|overflow|underflow|divide by zero) encountered",
    RuntimeWarning,
    r"tapegrad\.torch\b",
)
_FINDER.extend()
_METHODS_ONLY = _FINDER.methods_only()


def __getattr__(name: str) -> Any:
    found: Any = OPERATIONS.get(name)
    if found is None:
        found = _dtypes.BY_NAME.get(_dtypes.ALIASES.get(name, name))
    if found is None:
        found = _FINDER.made("", name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """The public names, and those of any module."""
    known = {*OPERATIONS, *_dtypes.BY_NAME, *_dtypes.ALIASES, *_FINDER.names(""), *__all__}
    known -= _METHODS_ONLY
    dunders = {name for name in globals() if name.startswith("__")}
    return sorted({name for name in known if not name.startswith("_")} | dunders)


_MODULES = (
    "autograd distributions fft func linalg nn optim profiler quasirandom random return_types "
    "serialization signal special testing types utils version"
)
__all__ = list(_contents(globals(), "e", "inf", "nan", "pi", *_MODULES.split()))

_complete()
