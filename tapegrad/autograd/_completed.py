"""Modules that also have the names of HIPS autograd's which nobody should need: see `_private`."""

from __future__ import annotations

import sys
import types
from typing import Any


class Completed(types.ModuleType):
    """A module that looks up in `_private` what it does not define."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        from tapegrad.autograd._private import private

        return private(self.__name__, name)


def complete(module: str) -> None:
    """Make a loaded module one of these.

    Parameters
    ----------
    module : str
        Its name.

    Examples
    --------
    >>> complete("tapegrad.autograd.core")
    """
    sys.modules[module].__class__ = Completed


__all__ = ["Completed", "complete"]
