"""NumPy's namespace by the name of HIPS autograd's: `import tapegrad.autograd.numpy as np`.

It is `tapegrad.numpy`, where `np.array([x, y])` and `np.mean([x, y])` are differentiable too, and
HIPS's own names. Plain `import numpy as np` is differentiable as well.

>>> import tapegrad.autograd.numpy as np
>>> from tapegrad.autograd import grad
>>> grad(lambda x: np.sum(np.array([x, x**2])))(3.0)
np.float64(7.0)
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

import tapegrad.numpy as _namespace
from tapegrad.autograd._completed import Completed
from tapegrad.autograd.numpy import numpy_boxes as numpy_boxes
from tapegrad.autograd.numpy import numpy_vspaces as numpy_vspaces
from tapegrad.autograd.numpy import numpy_wrapper

if TYPE_CHECKING:  # the names and types are NumPy's
    from numpy import *  # noqa: F403
else:
    from tapegrad.autograd.numpy.numpy_wrapper import array as array
    from tapegrad.autograd.numpy.numpy_wrapper import where as where

    custom_where = where

__version__ = numpy_wrapper.numpy_version  # type: ignore[misc]  # NumPy's is final

# Modules of ours, loaded when asked for; `random` is NumPy's own behind a name of ours.
_MODULES = ("fft", "linalg", "numpy_jvps", "numpy_vjps", "random")

__all__ = list(_namespace.__all__)


class _Namespace(Completed):
    """This module. Programs copy what is in its `__dict__`, which holds no `__getattr__` so."""

    def __getattr__(self, name: str) -> Any:
        if name in _MODULES:
            return import_module(f"{__name__}.{name}")
        try:
            found = getattr(numpy_wrapper, name)
        except AttributeError:
            return super().__getattr__(name)
        globals()[name] = found  # the next access finds it without this call
        return found

    def __dir__(self) -> list[str]:
        return sorted({*dir(np), *dir(numpy_wrapper), *_MODULES})


sys.modules[__name__].__class__ = _Namespace
