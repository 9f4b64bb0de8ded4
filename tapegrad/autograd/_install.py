"""`import autograd` as another name of this package, for packages that import it themselves.

Knows the packages that recognise HIPS's boxes by their class.
"""

from __future__ import annotations

from tapegrad._alias import Alias
from tapegrad._core.values import show_as
from tapegrad.autograd._boxes import ArrayBox

# The class that a traced array shows where autograd is looked for by a class's module.
_BOX = type("ArrayBox", (ArrayBox,), {"__module__": "autograd.numpy.numpy_boxes", "__slots__": ()})

# What asks so, and for `isinstance(x, np.ndarray)` to tell HIPS's boxes from arrays. Code of other
# packages sees traced arrays as arrays of NumPy's, as code of programs does.
_ASK_BY_CLASS = ("autoray.", "pennylane.")

_ALIAS = Alias({"autograd": "tapegrad.autograd"})


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
    show_as(dict.fromkeys(_ASK_BY_CLASS, _BOX))


def uninstall() -> None:
    """Take `install()` back.

    The next `import autograd` finds what is installed by that name.

    Examples
    --------
    >>> from tapegrad.autograd import uninstall
    >>> uninstall()  # doctest: +SKIP
    """
    _ALIAS.uninstall()
    show_as({})


__all__ = ["install", "uninstall"]
