"""Elements moved between channels and pixels: pixel_shuffle, its inverse, and channel_shuffle.

Knows PyTorch's shapes and errors. Must not know modules.
"""

from __future__ import annotations

import numpy as np

from tapegrad._core.types import Value
from tapegrad.torch._ops.declare import operation


@operation("PixelShuffleBackward0", method=False)
def pixel_shuffle(input: Value, upscale_factor: int) -> Value:
    """Groups of r * r channels become pixels.

    input: Of shape (..., channels * r * r, height, width).
    -> Tensor: Of shape (..., channels, height * r, width * r).
    RuntimeError: For less than three dimensions, and channels that r * r does not divide.

    >>> F.pixel_shuffle(torch.arange(4).reshape(4, 1, 1), 2)
    tensor([[[0, 1],
             [2, 3]]])
    """
    shape, factor = tuple(input.shape), int(upscale_factor)
    _check_image("pixel_shuffle", shape)
    if factor <= 0:
        raise RuntimeError(
            f"pixel_shuffle expects a positive upscale_factor, but got {upscale_factor}"
        )
    if shape[-3] % (factor * factor):
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square "
            f"of upscale_factor, but input.size(-3)={shape[-3]} is not divisible by "
            f"{factor * factor}"
        )
    lead, (height, width) = shape[:-3], shape[-2:]
    channels, n = shape[-3] // (factor * factor), len(shape) - 3
    parts = np.reshape(input, (*lead, channels, factor, factor, height, width))
    moved = np.transpose(parts, (*range(n), n, n + 3, n + 1, n + 4, n + 2))
    return np.reshape(moved, (*lead, channels, height * factor, width * factor))


@operation("PixelUnshuffleBackward0", method=False)
def pixel_unshuffle(input: Value, downscale_factor: int) -> Value:
    """Pixels become groups of r * r channels: the inverse of `pixel_shuffle`.

    input: Of shape (..., channels, height * r, width * r).
    -> Tensor: Of shape (..., channels * r * r, height, width).
    RuntimeError: For less than three dimensions, and sizes that r does not divide.

    >>> F.pixel_unshuffle(torch.arange(4).reshape(1, 2, 2), 2).shape
    torch.Size([4, 1, 1])
    """
    shape, factor = tuple(input.shape), int(downscale_factor)
    _check_image("pixel_unshuffle", shape)
    if factor <= 0:
        raise RuntimeError(
            f"pixel_unshuffle expects a positive downscale_factor, but got {downscale_factor}"
        )
    for word, place in (("height", -2), ("width", -1)):
        if shape[place] % factor:
            raise RuntimeError(
                f"pixel_unshuffle expects {word} to be divisible by downscale_factor, but "
                f"input.size({place})={shape[place]} is not divisible by {factor}"
            )
    lead, channels, n = shape[:-3], shape[-3], len(shape) - 3
    height, width = shape[-2] // factor, shape[-1] // factor
    parts = np.reshape(input, (*lead, channels, height, factor, width, factor))
    moved = np.transpose(parts, (*range(n), n, n + 2, n + 4, n + 1, n + 3))
    return np.reshape(moved, (*lead, channels * factor * factor, height, width))


def _check_image(word: str, shape: tuple[int, ...]) -> None:
    if len(shape) < 3:
        raise RuntimeError(
            f"{word} expects input to have at least 3 dimensions, but got input with {len(shape)} "
            "dimension(s)"
        )


@operation("ChannelShuffleBackward0", method=False)
def channel_shuffle(input: Value, groups: int) -> Value:
    """Channels in another order: the first of each group, then the second ones.

    input: Of shape (n, channels, ...), with at least three dimensions.
    -> Tensor: Of the shape of `input`.
    RuntimeError: For less than three dimensions, and groups that do not divide the channels.

    >>> F.channel_shuffle(torch.arange(4).reshape(1, 4, 1), 2).flatten()
    tensor([0, 2, 1, 3])
    """
    return _channels_shuffled(input, groups)


@operation("ChannelShuffleBackward0", method=False)
def native_channel_shuffle(input: Value, groups: int) -> Value:
    """As `channel_shuffle`.

    input: Of shape (n, channels, ...), with at least three dimensions.
    -> Tensor: Of the shape of `input`.
    RuntimeError: For less than three dimensions, and groups that do not divide the channels.

    >>> F.native_channel_shuffle(torch.arange(4).reshape(1, 4, 1), 2).flatten()
    tensor([0, 2, 1, 3])
    """
    return _channels_shuffled(input, groups)


def _channels_shuffled(x: Value, groups: int) -> Value:
    if len(x.shape) <= 2:
        raise RuntimeError(
            "channel_shuffle expects input with > 2 dims, but got input with sizes "
            f"{list(x.shape)}"
        )
    if groups <= 0:
        raise RuntimeError(
            f"Number of groups to divide channels in must be positive. Value of groups:{groups}"
        )
    channels = x.shape[1]
    if channels % groups:
        raise RuntimeError(
            "Number of channels must be divisible by groups. Got "
            f"{channels} channels and {groups} groups."
        )
    parts = np.reshape(x, (x.shape[0], groups, channels // groups, *x.shape[2:]))
    return np.reshape(np.swapaxes(parts, 1, 2), x.shape)


__all__ = ["channel_shuffle", "native_channel_shuffle", "pixel_shuffle", "pixel_unshuffle"]
