"""Weights of convolutions with their channels last in memory.

Knows the classes of convolutions. The numbers and shapes are the same; what is another is strides.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.torch.nn.convolution.modules import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d


def convert_conv2d_weight_memory_format(module: Any, memory_format: Any) -> Any:
    """Store the weights of all 2d convolutions in a module in a memory format.

    memory_format: `torch.channels_last` or `torch.contiguous_format`.
    -> Module: The module itself.

    >>> layer = torch.nn.Conv2d(3, 8, 3)
    >>> layer = torch.nn.utils.convert_conv2d_weight_memory_format(layer, torch.channels_last)
    >>> layer.weight.stride()
    (27, 1, 9, 3)
    """
    return _converted(module, memory_format, (Conv2d, ConvTranspose2d))


def convert_conv3d_weight_memory_format(module: Any, memory_format: Any) -> Any:
    """Store the weights of all 3d convolutions in a module in a memory format.

    memory_format: `torch.channels_last_3d` or `torch.contiguous_format`.
    -> Module: The module itself.

    >>> layer = torch.nn.Conv3d(3, 8, 2)
    >>> layer = torch.nn.utils.convert_conv3d_weight_memory_format(layer, torch.channels_last_3d)
    >>> layer.weight.stride()
    (24, 1, 12, 6, 3)
    """
    return _converted(module, memory_format, (Conv3d, ConvTranspose3d))


def _converted(module: Any, memory_format: Any, kinds: tuple[type, ...]) -> Any:
    last = "channels_last" in str(memory_format)
    for layer in module.modules():
        if isinstance(layer, kinds):
            weight: Any = getattr(layer, "weight")  # noqa: B009 - of several classes
            value = weight._value
            if last:
                weight._value = np.moveaxis(np.moveaxis(value, 1, -1).copy(), -1, 1)
            else:
                weight._value = np.ascontiguousarray(value)
    return module


__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]
