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
from tapegrad._adopt.names import ROOTS
from tapegrad._errors import InputError, message
from tapegrad._warning import warn

_FINDER = Finder()
# The modules of each adopted package that were there before, by name.
_BEFORE: dict[str, dict[str, types.ModuleType]] = {}


class AdoptWarning(UserWarning):
    """A package was imported before it was adopted: what holds its objects keeps those.

    Import again what you use of it, or adopt it first.
    """


class Adoption:
    """Packages that are adopted, until `adopt.undo`; a context manager that ends so.

    Parameters
    ----------
    packages : tuple of str
        Their names.

    Examples
    --------
    >>> import tapegrad
    >>> with tapegrad.adopt("colorsys") as colorsys:
    ...     round(float(tapegrad.grad(lambda r: colorsys.rgb_to_yiq(r, 0.5, 0.5)[0])(0.2)), 3)
    0.3
    """

    def __init__(self, packages: tuple[str, ...]) -> None:
        self.packages = packages

    def __enter__(self) -> Any:
        """The adopted package, or a tuple of several."""
        try:
            modules = tuple([importlib.import_module(name) for name in self.packages])
        except BaseException:
            undo(*self.packages)
            raise
        return modules[0] if len(modules) == 1 else modules

    def __exit__(self, *_: object) -> None:
        undo(*self.packages)

    def __repr__(self) -> str:
        return f"adopt({', '.join(map(repr, self.packages))})"


def adopt_packages(packages: tuple[str, ...]) -> Adoption:
    """Adopt packages by their names."""
    for name in packages:
        advice = _why_not(name.partition(".")[0])
        if advice:
            raise InputError(message(f"adopt({name!r})", "a package of NumPy code", name, advice))
        if not name or not all(part.isidentifier() for part in name.split(".")):
            raise InputError(
                message(f"adopt({name!r})", "the name of a package", name, 'Pass "filterpy"')
            )
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


def _why_not(root: str) -> str:
    """The reason why a package is not adopted, as advice; "" for others."""
    if root in ("cmath", "math", "numpy", "scipy"):
        return f"It has derivatives without it: import tapegrad.{root}"
    if root in ROOTS:
        return "In adopted code it has the meaning that it needs"
    if root == "tapegrad":
        return "It is tapegrad itself"
    return "It is code in C" if root in sys.builtin_module_names else ""


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
            raise InputError(
                message(f"adopt.undo({name!r})", "an adopted package", name, f"Adopted: {known}")
            )
        if count > 1:
            _FINDER.packages[name] = count - 1
            continue
        del _FINDER.packages[name]
        _taken(name)
        before = _BEFORE.pop(name)
        sys.modules.update(before)
        _bind_in_parent(name, before.get(name))
    if not _FINDER.packages and _FINDER in sys.meta_path:
        sys.meta_path.remove(_FINDER)


def _taken(package: str) -> dict[str, types.ModuleType]:
    """The modules of a package, removed from `sys.modules`."""
    start = f"{package}."
    names = [name for name in list(sys.modules) if name == package or name.startswith(start)]
    return {name: sys.modules.pop(name) for name in names}


def _bind_in_parent(name: str, module: types.ModuleType | None) -> None:
    """Make a module the attribute of its parent again, from which `import a.b as b` takes it."""
    parent, _, last = name.rpartition(".")
    holder = sys.modules.get(parent)
    if module is not None and holder is not None:
        setattr(holder, last, module)
    elif holder is not None:
        vars(holder).pop(last, None)  # the next import sets it


class Adopt:
    """Let packages, or a function of your own, compute with tapegrad's numpy, math and scipy.

    Parameters
    ----------
    *targets : str or callable
        Names of packages or modules that are to be adopted from now on, with what is below them;
        or one function or class of your own, which is adopted: `@tapegrad.adopt`.

    Returns
    -------
    Adoption or callable
        For names a context manager that gives the adopted package (a tuple of several) and ends
        the adoption; without `with` it lasts. For a function another one, for a class itself.

    Raises
    ------
    InputError
        For what is no name, function or class; for NumPy, SciPy and tapegrad; for a function with
        a `global` statement whose source cannot be read.

    Warns
    -----
    AdoptWarning
        Where a package was imported before: what holds its objects keeps those.

    See Also
    --------
    tapegrad.numpy : The namespace that `numpy` means in adopted code.
    primitive : Declare the derivative of a call that only takes plain values.

    Notes
    -----
    In adopted code `import numpy`, `math`, `cmath`, `statistics` and `scipy` give tapegrad's
    namespaces over the originals, calls of `float` and `complex` keep a traced value, and a
    function that numba compiles is the Python function inside a transform. Arrays that the code
    makes there can be filled with traced values. Outside of a transform values are those of the
    plain package. Other modules see nothing. `adopt.undo(*packages)` ends the adoption of these,
    or of all.

    Examples
    --------
    >>> import math
    >>> import numpy as np, tapegrad
    >>> @tapegrad.adopt
    ... def decay(rate):
    ...     table = np.zeros(3)
    ...     for i in range(3):
    ...         table[i] = math.exp(-float(rate) * i)
    ...     return table.sum()
    >>> tapegrad.grad(decay)(0.0)
    np.float64(-3.0)
    """

    __name__ = __qualname__ = "adopt"

    undo = staticmethod(undo)

    def __call__(self, *targets: Any) -> Any:
        if targets and all(isinstance(target, str) for target in targets):
            return adopt_packages(targets)
        if len(targets) == 1:
            return adopted(targets[0])
        raise InputError(
            message(
                "adopt",
                "names of packages, or one function",
                f"{len(targets)} arguments",
                'Write tapegrad.adopt("filterpy"), or @tapegrad.adopt over a function',
            )
        )

    def __repr__(self) -> str:
        return "<function tapegrad.adopt>"


adopt = Adopt()
