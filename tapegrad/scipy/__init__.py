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

from typing import Any

# Modules of ours, named as SciPy's, loaded when asked for.
_MODULES = (
    "cluster",
    "fft",
    "integrate",
    "interpolate",
    "linalg",
    "ndimage",
    "signal",
    "sparse",
    "spatial",
    "special",
    "stats",
)

__all__ = list(_MODULES)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        from importlib import import_module

        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
