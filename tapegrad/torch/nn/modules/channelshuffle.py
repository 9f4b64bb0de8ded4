"""`torch.nn.modules.channelshuffle`: shuffled channels, under the name of PyTorch's file."""

from __future__ import annotations

from tapegrad.torch.nn.upsampling.modules import ChannelShuffle

__all__ = ["ChannelShuffle"]
