"""NumPy's namespace, with what its protocols cannot reach: creation, lists, indices, polynomials.

Plain `import numpy as np` is differentiable already. With `import tapegrad.numpy as np` the calls
that NumPy decides alone are differentiable too: `np.array([x, y])`, `np.full(3, x)`,
`np.mean([x, y])`, `np.r_[x, 0.0]`, `np.vectorize(f)(x)`, `np.polynomial.Polynomial([x, y])`. All
that is not named below is NumPy's own object.

Must not know tapes or transforms: everything here is made of functions that have rules.

>>> import tapegrad
>>> import tapegrad.numpy as np
>>> tapegrad.grad(lambda x: np.sum(np.array([x, [1.0, 2.0]]) ** 2))(np.ones(2))
array([2., 2.])
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:  # the names and types are NumPy's
    from numpy import *  # noqa: F403
else:
    from tapegrad._arrays.conversion import array as array
    from tapegrad._arrays.conversion import asanyarray as asanyarray
    from tapegrad._arrays.conversion import asarray as asarray
    from tapegrad._arrays.conversion import asarray_chkfinite as asarray_chkfinite
    from tapegrad._arrays.conversion import ascontiguousarray as ascontiguousarray
    from tapegrad._arrays.conversion import asfortranarray as asfortranarray
    from tapegrad._arrays.conversion import require as require
    from tapegrad._arrays.creation import arange as arange
    from tapegrad._arrays.creation import fromfunction as fromfunction
    from tapegrad._arrays.creation import fromiter as fromiter
    from tapegrad._arrays.creation import full as full
    from tapegrad.numpy._brackets import c_ as c_
    from tapegrad.numpy._brackets import mgrid as mgrid
    from tapegrad.numpy._brackets import ogrid as ogrid
    from tapegrad.numpy._brackets import r_ as r_
    from tapegrad.numpy._vectorize import vectorize as vectorize

from tapegrad.numpy import _lists

__all__ = list(np.__all__)

# Modules of ours, loaded when asked for.
_MODULES = ("fft", "linalg", "polynomial")


def __getattr__(name: str) -> Any:
    """What is not defined here: NumPy's own, or that with lists of traced values made arrays."""
    if name in _MODULES:
        from importlib import import_module

        return import_module(f"{__name__}.{name}")
    if name == "special" and "scipy.special" in sys.modules:
        # The Array API's extension of this name, which SciPy asks for: SCIPY_ARRAY_API=1.
        from importlib import import_module

        return import_module("tapegrad.scipy.special")
    found = _lists.look_up(np, name)
    globals()[name] = found  # the next access finds it without this call
    return found


def __dir__() -> list[str]:
    return dir(np)
