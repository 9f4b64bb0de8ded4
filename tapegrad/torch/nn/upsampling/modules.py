"""Changes of resolution as modules.

Knows `Module` and the functions. Must not know how these are computed.
"""

from __future__ import annotations

from typing import Any

from tapegrad.torch.nn.contents import own_names
from tapegrad.torch.nn.module.layers import layer
from tapegrad.torch.nn.module.module import Module

# --- Moved --------------------------------------------------------------------------------------


@layer("pixel_shuffle", shows="upscale_factor")
class PixelShuffle(Module):
    """Groups of r * r channels become pixels."""


@layer("pixel_unshuffle", shows="downscale_factor")
class PixelUnshuffle(Module):
    """Pixels become groups of r * r channels."""


@layer("channel_shuffle", shows="groups")
class ChannelShuffle(Module):
    """Channels of all groups alternate."""


# --- Resized ------------------------------------------------------------------------------------


@layer("interpolate", "size scale_factor mode align_corners recompute_scale_factor")
class Upsample(Module):
    """Lines, images and volumes in another size.

    See also tapegrad.torch.nn.functional.interpolate: The same as a function.

    >>> torch.nn.Upsample(scale_factor=2)(torch.tensor([[[1.0, 2.0]]]))
    tensor([[[1., 1., 2., 2.]]])
    """

    size: Any
    scale_factor: Any
    mode: str

    def _settle(self) -> None:
        self.name: str = type(self).__name__
        factor = self.scale_factor
        if isinstance(factor, tuple):
            self.scale_factor = tuple(map(float, factor))
        else:
            self.scale_factor = float(factor) if factor else None

    def extra_repr(self) -> str:
        name = "size" if self.scale_factor is None else "scale_factor"
        return f"{name}={getattr(self, name)!r}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """As `Upsample` of images, by the nearest elements.

    >>> torch.nn.UpsamplingNearest2d(size=(1, 4))(torch.tensor([[[[1.0, 2.0]]]]))
    tensor([[[[1., 1., 2., 2.]]]])
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Bilinear `Upsample` of images, with aligned corners.

    >>> torch.nn.UpsamplingBilinear2d(size=(1, 3))(torch.tensor([[[[1.0, 2.0]]]]))
    tensor([[[[1.0000, 1.5000, 2.0000]]]])
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)


__all__ = list(own_names(__name__))
