"""`import torch` as another name of this layer, for packages that import it themselves."""

from __future__ import annotations

import sys

from tapegrad._alias import Alias

HOME = "tapegrad.torch"
_ALIAS = Alias({"torch": HOME, "functorch": "tapegrad.torch._functorch"})


def install() -> None:
    """Make `import torch`, and `import torch.nn` and the like, find this layer.

    Call it before the packages that import torch. Calling it again does nothing.

    InputError: If PyTorch has been imported already: its tensors are not tapegrad's.
    See also uninstall: Take it back.

    >>> import tapegrad.torch
    >>> tapegrad.torch.install()  # doctest: +SKIP
    >>> import torch  # doctest: +SKIP
    >>> torch is tapegrad.torch  # doctest: +SKIP
    True
    """
    _ALIAS.install("tapegrad.torch.install()")
    sys.modules[HOME].__name__ = "torch"  # packages that replace functions ask for it


def uninstall() -> None:
    """Take `install()` back.

    The next `import torch` finds what is installed by that name.

    >>> import tapegrad.torch
    >>> tapegrad.torch.uninstall()  # doctest: +SKIP
    """
    _ALIAS.uninstall()
    sys.modules[HOME].__name__ = HOME
