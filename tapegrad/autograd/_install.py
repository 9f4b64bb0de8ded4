"""`import autograd` as another name of this package, for packages that import it themselves.

Knows how to tell the packages that recognise HIPS's boxes.
"""

from __future__ import annotations

import sys

from tapegrad._alias import Alias
from tapegrad._core.values import show_as
from tapegrad.autograd import numpy, tracer
from tapegrad.autograd._boxes import ArrayBox, Box, getval, isbox
from tapegrad.autograd.numpy import numpy_boxes

# The class that a traced array shows where autograd is looked for by a class's module.
_BOX = type("ArrayBox", (ArrayBox,), {"__module__": "autograd.numpy.numpy_boxes", "__slots__": ()})

# Packages that ask so and import nothing of autograd's.
_ASK_BY_CLASS = ("autoray", "pennylane")

_ALIAS = Alias({"autograd": "tapegrad.autograd"})

# Objects by which a package tells HIPS's boxes from arrays, under whatever names.
_TELLS = frozenset(map(id, (ArrayBox, Box, getval, isbox, numpy_boxes, tracer)))

# By package: how many modules there were when it was asked, and the answer.
_known: dict[str, tuple[int, bool]] = {}


def _box_in(module: str) -> type | None:
    """The class of a traced array for the code of a module: HIPS's box if its package knows boxes.

    To the code of all others a traced array is one of NumPy's, as to the code of programs.
    """
    package = module.partition(".")[0]
    if package in ("tapegrad", "numpy", "scipy"):
        return None
    known = _known.get(package)
    if known is None or (known[0] != len(sys.modules) and not known[1]):
        known = _known[package] = len(sys.modules), _tells_boxes(package)
    return _BOX if known[1] else None


def _tells_boxes(package: str) -> bool:
    if package in _ASK_BY_CLASS:
        return True
    start = package + "."
    return any(
        not _TELLS.isdisjoint(map(id, vars(module).values()))
        for name, module in tuple(sys.modules.items())
        if (name == package or name.startswith(start)) and hasattr(module, "__dict__")
    )


def install() -> None:
    """Make `import autograd`, and `import autograd.numpy` and the like, find this package.

    Call it before the packages that import autograd. Calling it again does nothing.

    Raises
    ------
    InputError
        If HIPS autograd has been imported already: its arrays are not tapegrad's.

    See Also
    --------
    uninstall : Take it back.

    Examples
    --------
    >>> install()  # doctest: +SKIP
    >>> import autograd.numpy as np  # doctest: +SKIP
    >>> from autograd import grad  # doctest: +SKIP
    >>> grad(lambda x: np.sin(x) * 2)(0.0)  # doctest: +SKIP
    np.float64(2.0)
    >>> uninstall()  # doctest: +SKIP
    """
    _ALIAS.install("tapegrad.autograd.install()")
    for name in dir(numpy):  # programs copy the namespace: `vars(autograd.numpy)`
        getattr(numpy, name)
    show_as(_box_in)


def uninstall() -> None:
    """Take `install()` back.

    The next `import autograd` finds what is installed by that name.

    Examples
    --------
    >>> from tapegrad.autograd import uninstall
    >>> uninstall()  # doctest: +SKIP
    """
    _ALIAS.uninstall()
    show_as(None)


__all__ = ["install", "uninstall"]
