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
    from tapegrad.numpy._brackets import c_ as c_
    from tapegrad.numpy._brackets import mgrid as mgrid
    from tapegrad.numpy._brackets import ogrid as ogrid
    from tapegrad.numpy._brackets import r_ as r_
    from tapegrad.numpy._iteration import ndenumerate as ndenumerate
    from tapegrad.numpy._iteration import nditer as nditer
    from tapegrad.numpy._iteration import testing as testing
    from tapegrad.numpy._vectorize import vectorize as vectorize

from tapegrad._arrays import conversion, creation
from tapegrad.numpy import _iteration, _lists
from tapegrad.numpy._holding import MAKING, making

__all__ = list(np.__all__)

# Modules of ours, loaded when asked for.
_MODULES = ("fft", "linalg", "polynomial")


def __getattr__(name: str) -> Any:
    """Names not defined here: NumPy's own, or that with lists of traced values made arrays."""
    if name in _MODULES:
        from importlib import import_module

        return import_module(f"{__name__}.{name}")
    if name == "special" and "scipy.special" in sys.modules:
        # The Array API's extension of this name, which SciPy asks for: SCIPY_ARRAY_API=1.
        from importlib import import_module

        return import_module("tapegrad.scipy.special")
    if name in _iteration.WRITING:
        found = _iteration.by_values(getattr(np, name))
    elif name in MAKING:
        ours = getattr(conversion, name, None) or getattr(creation, name, None)
        found = making(getattr(np, name), ours)
    else:
        found = _lists.look_up(np, name)
    globals()[name] = found  # the next access finds it without this call
    return found


def __dir__() -> list[str]:
    return dir(np)
