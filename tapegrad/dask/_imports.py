"""Dask's modules, imported when they are first needed.

Must not know what is computed with them. `import tapegrad.dask` alone loads none of them.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any


def dask_module(call: str, name: str = "dask") -> Any:
    """A module of Dask; ImportError with the extra to install where Dask is missing."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f"{call}: it runs on Dask. Install tapegrad[dask].") from error


def is_a(value: Any, module: str, name: str) -> bool:
    """Whether a value is of a class of a module; one that nobody has imported has no values."""
    kind = getattr(sys.modules.get(module), name, None)
    return isinstance(kind, type) and isinstance(value, kind)


__all__ = ["dask_module", "is_a"]
