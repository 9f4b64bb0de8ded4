"""Modules that PyTorch keeps for old programs, and `factory_kwargs`.

Knows the modules that took their places.
"""

from __future__ import annotations

from typing import Any

from tapegrad._warning import warn
from tapegrad.torch.nn._layers import NLLLoss
from tapegrad.torch.nn._module import Module
from tapegrad.torch.nn._norm_layers import LocalResponseNorm


class NLLLoss2d(NLLLoss):
    """The older name of `NLLLoss` for images.

    Parameters
    ----------
    *args : object
        Those of `NLLLoss`.
    **kwargs : object
        Those of `NLLLoss`, by name.

    Warns
    -----
    FutureWarning
        At each construction.

    Examples
    --------
    >>> import tapegrad.torch as torch
    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     torch.nn.NLLLoss2d()
    NLLLoss2d()
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warn(
            "`NLLLoss2d` has been deprecated. Please use `NLLLoss` instead as a drop-in "
            "replacement and see https://pytorch.org/docs/main/nn.html#torch.nn.NLLLoss for more "
            "details.",
            FutureWarning,
        )
        super().__init__(*args, **kwargs)


class Container(Module):
    """A module made of modules given by name.

    Parameters
    ----------
    **kwargs : Module
        The modules.

    Warns
    -----
    FutureWarning
        At each construction.

    Examples
    --------
    >>> import tapegrad.torch as torch
    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     torch.nn.Container(first=torch.nn.Tanh())
    Container(
      (first): Tanh()
    )
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__()
        warn(
            "`nn.Container` is deprecated. All of its functionality is now implemented in "
            "`nn.Module`. Subclass that instead.",
            FutureWarning,
        )
        for name, module in kwargs.items():
            self.add_module(name, module)


class CrossMapLRN2d(LocalResponseNorm):
    """The older name of `LocalResponseNorm`, of images (n, channels, height, width).

    Parameters
    ----------
    size : int
        The number of channels over which squares are summed.
    alpha : float, default 0.0001
        The factor of the mean of the squares.
    beta : float, default 0.75
        The power.
    k : float, default 1
        The term that is added to it.

    Examples
    --------
    >>> import tapegrad.torch as torch
    >>> torch.nn.CrossMapLRN2d(2)(torch.ones(1, 4, 3, 3)).shape
    torch.Size([1, 4, 3, 3])
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__(size, alpha, beta, k)


def factory_kwargs(kwargs: dict[str, Any] | None) -> dict[str, Any]:
    """The keywords that make tensors: device, dtype and memory_format.

    Parameters
    ----------
    kwargs : dict or None
        Keywords; these may stand in a dict of their own under "factory_kwargs".

    Returns
    -------
    dict
        Those that are there.

    Raises
    ------
    TypeError
        For other keywords, and for one that is given twice.

    Examples
    --------
    >>> import tapegrad.torch as torch
    >>> torch.nn.factory_kwargs({"dtype": torch.float64})
    {'dtype': torch.float64}
    """
    if kwargs is None:
        return {}
    simple = ("device", "dtype", "memory_format")
    more = kwargs.keys() - {*simple, "factory_kwargs"}
    if more:
        raise TypeError(f"unexpected kwargs {more}")
    made = dict(kwargs.get("factory_kwargs", {}))
    for name in simple:
        if name in kwargs:
            if name in made:
                raise TypeError(f"{name} specified twice, in **kwargs and in factory_kwargs")
            made[name] = kwargs[name]
    return made


__all__ = ["Container", "CrossMapLRN2d", "NLLLoss2d", "factory_kwargs"]
