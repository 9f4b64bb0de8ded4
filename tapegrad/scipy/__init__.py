"""SciPy's namespace, with derivatives of what NumPy's protocols cannot reach: extra `scipy`.

The ufuncs of `scipy.special` are differentiable as they are. SciPy's other functions make plain
arrays of what they are given: `from tapegrad.scipy import linalg` offers them with derivatives,
under the same names. Called on plain arrays they are SciPy's own. Whatever has no derivative here
is SciPy's own object. Each module is imported when it is asked for.

Must not know tapes or replays: everything here is declared by the forms of rules, or made of
functions that have rules.

>>> import numpy as np, tapegrad
>>> from tapegrad.scipy import special
>>> tapegrad.grad(special.expit)(0.0)
np.float64(0.25)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

# Modules of ours, named as SciPy's, loaded when asked for.
_MODULES = (
    "cluster",
    "constants",
    "differentiate",
    "fft",
    "integrate",
    "interpolate",
    "linalg",
    "ndimage",
    "optimize",
    "signal",
    "sparse",
    "spatial",
    "special",
    "stats",
)

__all__ = list(_MODULES)

if TYPE_CHECKING:
    from tapegrad.scipy import cluster as cluster
    from tapegrad.scipy import constants as constants
    from tapegrad.scipy import differentiate as differentiate
    from tapegrad.scipy import fft as fft
    from tapegrad.scipy import integrate as integrate
    from tapegrad.scipy import interpolate as interpolate
    from tapegrad.scipy import linalg as linalg
    from tapegrad.scipy import ndimage as ndimage
    from tapegrad.scipy import optimize as optimize
    from tapegrad.scipy import signal as signal
    from tapegrad.scipy import sparse as sparse
    from tapegrad.scipy import spatial as spatial
    from tapegrad.scipy import special as special
    from tapegrad.scipy import stats as stats
else:

    def __getattr__(name: str) -> Any:
        if name in _MODULES:
            from importlib import import_module

            return import_module(f"{__name__}.{name}")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
