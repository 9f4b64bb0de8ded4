"""The names of a namespace as names of a module: programs look into a module's `__dict__`."""

from __future__ import annotations

import types
from typing import Any

from tapegrad.autograd._declarations import OVERRIDES


def names_of(namespace: types.ModuleType, module: dict[str, Any]) -> None:
    """Give a module the public names of a namespace that it does not define.

    Parameters
    ----------
    namespace : module
        Where the names are.
    module : dict
        The `__dict__` of the module that gets them.

    Examples
    --------
    >>> import math
    >>> names = {}
    >>> names_of(math, names)
    >>> names["pi"] == math.pi
    True
    """
    for name in dir(namespace):
        if not name.startswith("_") and name not in module:
            found = getattr(namespace, name)
            module[name] = OVERRIDES.get(found, found) if callable(found) else found


__all__ = ["names_of"]
