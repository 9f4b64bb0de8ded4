"""Where a name of SciPy's is found: in tapegrad's mirror of the module, or in SciPy itself."""

from __future__ import annotations

import functools
import importlib
import importlib.util
from collections.abc import Callable
from typing import Any

from tapegrad.autograd._declarations import OVERRIDES


@functools.cache
def _home(module: str) -> Any:
    """tapegrad's mirror of a module of SciPy's, or SciPy's own where there is none."""
    mirror = f"tapegrad.scipy.{module}"
    if importlib.util.find_spec(mirror) is not None:
        return importlib.import_module(mirror)
    return importlib.import_module(f"scipy.{module}")


def namespace(module: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a module with the names of SciPy's `module`."""

    def look_up(name: str) -> Any:
        if name.startswith("__") and name != "__all__":  # doctest asks every module, say
            raise AttributeError(name)
        found = getattr(_home(module), name)
        return OVERRIDES.get(found, found) if callable(found) else found

    return look_up, lambda: dir(_home(module))


def methods(distribution: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The same for a distribution's methods: `from autograd.scipy.stats.norm import logpdf`."""

    def look_up(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(getattr(_home("stats"), distribution), name)

    return look_up, lambda: dir(getattr(_home("stats"), distribution))


__all__ = ["methods", "namespace"]
