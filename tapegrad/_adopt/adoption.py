"""`adopt`: from now on these packages, or this function, compute with tapegrad's names.

Knows `sys.modules` and `sys.meta_path`. Must not know what names mean in adopted code.
"""

from __future__ import annotations

import importlib
import sys
import types
from typing import Any

from tapegrad._adopt.functions import adopted
from tapegrad._adopt.loading import Finder
from tapegrad._errors import InputError, message
from tapegrad._warning import warn

_FINDER = Finder()
# The modules of each adopted package that were there before, by name.
_BEFORE: dict[str, dict[str, types.ModuleType]] = {}


class AdoptWarning(UserWarning):
    """A package was imported before it was adopted: what holds its objects keeps the plain ones."""


class Adoption:
    """Packages that are adopted, until `undo`; a context manager that ends so."""

    def __init__(self, packages: tuple[str, ...]) -> None:
        self.packages = packages

    def __enter__(self) -> Any:
        """The adopted package, or a tuple of several."""
        modules = tuple(importlib.import_module(name) for name in self.packages)
        return modules[0] if len(modules) == 1 else modules

    def __exit__(self, *_: object) -> None:
        undo(*self.packages)

    def __repr__(self) -> str:
        return f"adopt({', '.join(map(repr, self.packages))})"


def adopt_packages(packages: tuple[str, ...]) -> Adoption:
    for name in packages:
        root = name.partition(".")[0]
        if root in _REFUSED:
            raise InputError(message(f"adopt({name!r})", "a package of NumPy code", name, _REFUSED[root]))
        if not name or not all(part.isidentifier() for part in name.split(".")):
            raise InputError(message(f"adopt({name!r})", "the name of a package", name, 'Pass "filterpy"'))
    for name in packages:
        count = _FINDER.packages.get(name, 0)
        _FINDER.packages[name] = count + 1
        if not count:
            _BEFORE[name] = _taken(name)
            if _BEFORE[name]:
                warn(
                    f"adopt({name!r}): {name} was imported before. Objects of it, and names taken "
                    f"from it, stay plain where they are: import again what you use, or adopt "
                    "first.",
                    AdoptWarning,
                )
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)
    importlib.invalidate_caches()
    return Adoption(packages)


_REFUSED = {
    "numpy": "Its functions have rules: import tapegrad.numpy as np",
    "scipy": "Import tapegrad.scipy",
    "math": "Import tapegrad.math",
    "tapegrad": "It is tapegrad itself",
}


def undo(*packages: str) -> None:
    """Load these packages as usual from now on; without names, all of them.

    Objects of adopted packages stay what they are.

    Parameters
    ----------
    *packages : str
        Names that were given to `adopt`.

    Raises
    ------
    InputError
        For a name that is not adopted.
    """
    for name in packages or tuple(_FINDER.packages):
        count = _FINDER.packages.get(name, 0)
        if not count:
            known = ", ".join(_FINDER.packages) or "none"
            raise InputError(message(f"adopt.undo({name!r})", "an adopted package", name, f"Adopted: {known}"))
        if count > 1:
            _FINDER.packages[name] = count - 1
            continue
        del _FINDER.packages[name]
        _taken(name)
        sys.modules.update(_BEFORE.pop(name))
    if not _FINDER.packages and _FINDER in sys.meta_path:
        sys.meta_path.remove(_FINDER)


def _taken(package: str) -> dict[str, types.ModuleType]:
    """The modules of a package, removed from `sys.modules`."""
    start = f"{package}."
    names = [name for name in list(sys.modules) if name == package or name.startswith(start)]
    return {name: sys.modules.pop(name) for name in names}


class Adopt:
    """What `tapegrad.adopt` is: `adopt(*packages)`, `@adopt` and `adopt.undo`."""

    undo = staticmethod(undo)

    def __call__(self, *targets: Any) -> Any:
        if targets and all(isinstance(target, str) for target in targets):
            return adopt_packages(targets)
        if len(targets) == 1:
            return adopted(targets[0])
        raise InputError(
            message(
                "adopt", "names of packages, or one function", f"{len(targets)} arguments",
                'Write tapegrad.adopt("filterpy"), or @tapegrad.adopt over a function',
            )
        )

    def __repr__(self) -> str:
        return "<function tapegrad.adopt>"


adopt = Adopt()
