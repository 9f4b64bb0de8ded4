"""`import torch` as another name of this layer, for packages that import it themselves."""

from __future__ import annotations

import sys

from tapegrad._alias import Alias
from tapegrad.torch._tensor.tensor import Tensor

HOME = "tapegrad.torch"
_TENSOR = Tensor.__module__
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
    here = sys.modules[HOME]
    here.__name__ = here.Tensor.__module__ = "torch"  # for packages that ask for them


def uninstall() -> None:
    """Take `install()` back.

    The next `import torch` finds what is installed by that name.

    >>> import tapegrad.torch
    >>> tapegrad.torch.uninstall()  # doctest: +SKIP
    """
    _ALIAS.uninstall()
    here = sys.modules[HOME]
    here.__name__, here.Tensor.__module__ = HOME, _TENSOR
