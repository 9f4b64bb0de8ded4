"""`import autograd` as another name of this package, for packages that import it themselves.

Knows how Python finds modules. Must not know what the modules hold.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
from collections.abc import Sequence

from tapegrad._core.values import show_as
from tapegrad._errors import InputError, message
from tapegrad.autograd._boxes import ArrayBox

NAME = "autograd"
HOME = "tapegrad.autograd"


# The class that a traced array shows where autograd is looked for by a class's module.
_BOX = type("ArrayBox", (ArrayBox,), {"__module__": "autograd.numpy.numpy_boxes", "__slots__": ()})

# What asks so, and for `isinstance(x, np.ndarray)` to tell HIPS's boxes from arrays. Code of other
# packages sees traced arrays as arrays of NumPy's, as code of programs does.
_ASK_BY_CLASS = ("autoray.", "pennylane.")


class _Alias(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds `autograd.x` as `tapegrad.autograd.x`: the same module, of two names."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname.partition(".")[0] != NAME:
            return None
        home = HOME + fullname.removeprefix(NAME)
        found = importlib.util.find_spec(home)
        if found is None:
            return None
        package = found.submodule_search_locations is not None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=package)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        module = importlib.import_module(HOME + spec.name.removeprefix(NAME))
        self._own[spec.name] = module.__spec__
        _name_loaded()
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        """Nothing is to be run; the import system has taken the module's own spec away."""
        spec = module.__spec__
        if spec is not None and spec.name in self._own:
            module.__spec__ = self._own.pop(spec.name)

    def __init__(self) -> None:
        self._own: dict[str, importlib.machinery.ModuleSpec | None] = {}


_ALIAS = _Alias()


def _name_loaded() -> None:
    """Give each module here that is loaded its other name.

    One that the import system loads anew it also makes an attribute of its package, in place of
    what may stand there: `autograd.misc.flatten` is a function, whose module has the same name.
    """
    for name, module in list(sys.modules.items()):
        if name.startswith(f"{HOME}."):
            sys.modules.setdefault(NAME + name.removeprefix(HOME), module)


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
    here = sys.modules[HOME]
    found = sys.modules.get(NAME)
    if found is not None and found is not here:
        where = getattr(found, "__file__", None) or "without a file"
        raise InputError(
            message(
                "tapegrad.autograd.install()",
                "that no other autograd is imported",
                f"one ({where})",
                "Call install() first, before anything that imports autograd",
            )
        )
    sys.modules[NAME] = here
    _name_loaded()
    if _ALIAS not in sys.meta_path:
        sys.meta_path.insert(0, _ALIAS)
    show_as(dict.fromkeys(_ASK_BY_CLASS, _BOX))


def uninstall() -> None:
    """Take `install()` back.

    The next `import autograd` finds what is installed by that name.

    Examples
    --------
    >>> from tapegrad.autograd import uninstall
    >>> uninstall()  # doctest: +SKIP
    """
    if _ALIAS in sys.meta_path:
        sys.meta_path.remove(_ALIAS)
    show_as({})
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == NAME and _is_ours(name, module):
            del sys.modules[name]


def _is_ours(name: str, module: object) -> bool:
    return module is sys.modules.get(HOME + name.removeprefix(NAME))


__all__ = ["install", "uninstall"]
