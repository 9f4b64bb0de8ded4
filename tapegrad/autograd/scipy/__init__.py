"""SciPy's namespaces by the names of HIPS autograd's: those of `tapegrad.scipy`.

A function without a derivative there is SciPy's own. `signal.convolve` is HIPS's, of its own
signature.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_MODULES = ("integrate", "linalg", "misc", "signal", "special", "stats")

__all__ = list(_MODULES)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
