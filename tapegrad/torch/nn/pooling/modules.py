"""Poolings as modules.

Knows `Module` and the functions. Must not know how these are computed.
"""

from __future__ import annotations

from typing import Any

from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch._types import Sizes
from tapegrad.torch.nn import functional
from tapegrad.torch.nn.contents import own_names
from tapegrad.torch.nn.dimensions import classes, repeated
from tapegrad.torch.nn.module.layers import layers
from tapegrad.torch.nn.module.module import Module
from tapegrad.torch.nn.pooling.maxima import refuse_fractional


class _Windows(Module):
    _dims: int
    kernel_size: Sizes
    stride: Sizes
    padding: Sizes

    def _settle(self) -> None:
        self.stride = self.kernel_size if self.stride is None else self.stride

    def _repeat(self) -> None:
        """Keep a number for each dimension."""
        for name in ("kernel_size", "stride", "padding"):
            setattr(self, name, repeated(getattr(self, name), self._dims))


# --- Maxima -------------------------------------------------------------------------------------


class _MaxPool(_Windows):
    """Maxima over windows of {inputs}, {shape}."""


MaxPool1d, MaxPool2d, MaxPool3d = layers(
    "max_pool",
    _MaxPool,
    *("", "", ""),
    settings="kernel_size stride padding dilation return_indices ceil_mode",
    shows="kernel_size stride padding dilation ceil_mode",
)


class _MaxUnpool(_Windows):
    """Zeros but for the maxima that `MaxPool{nd}` found, which stand where they were."""

    def _settle(self) -> None:
        super()._settle()
        self._repeat()


MaxUnpool1d, MaxUnpool2d, MaxUnpool3d = layers(
    "max_unpool",
    _MaxUnpool,
    *("", "", ""),
    inputs="input indices output_size",
    shows="kernel_size stride padding",
)


class _FractionalMaxPool(Module):
    """Maxima over windows of {inputs} drawn at random, which are not implemented.

    *args: Those of PyTorch's class.
    **kwargs: Those of PyTorch's class.
    NotImplementedError: Always: its windows are drawn by a generator that NumPy has not.

    >>> try:
    ...     torch.nn.FractionalMaxPool{nd}(2, output_size=1)
    ... except NotImplementedError:
    ...     print("not implemented")
    not implemented
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        refuse_fractional(type(self).__name__)


FractionalMaxPool2d, FractionalMaxPool3d = classes(_FractionalMaxPool, "", "")


# --- Averages -----------------------------------------------------------------------------------


class _AvgPool(_Windows):
    """Means over windows of {inputs}, {shape}."""

    def _settle(self) -> None:
        super()._settle()
        if self._dims == 1:
            self._repeat()


AvgPool1d, AvgPool2d, AvgPool3d = layers(
    "avg_pool", _AvgPool, "", "", "", shows="kernel_size stride padding"
)


class _LPPool(Module):
    """Norms of windows of {inputs}: the sums of x**p to the power 1 / p."""

    _dims: int
    norm_type: float
    kernel_size: Sizes
    stride: Sizes
    ceil_mode: bool

    def forward(self, input: Tensor) -> Tensor:
        pool = getattr(functional, f"lp_pool{self._dims}d")
        way = float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode
        made: Tensor = pool(input, *way)
        return made


LPPool1d, LPPool2d, LPPool3d = layers(
    "lp_pool", _LPPool, "", "", "", shows="norm_type kernel_size stride ceil_mode"
)


# --- Adaptive windows ---------------------------------------------------------------------------


class _AdaptiveAvgPool(Module):
    """Means over as many windows of {inputs} as wanted."""


AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveAvgPool3d = layers(
    "adaptive_avg_pool",
    _AdaptiveAvgPool,
    *("", "", ""),
    shows="output_size",
)


class _AdaptiveMaxPool(Module):
    """Maxima over as many windows of {inputs} as wanted."""


AdaptiveMaxPool1d, AdaptiveMaxPool2d, AdaptiveMaxPool3d = layers(
    "adaptive_max_pool",
    _AdaptiveMaxPool,
    *("", "", ""),
    shows="output_size",
)


__all__ = list(own_names(__name__))
