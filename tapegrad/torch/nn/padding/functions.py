"""Padding: elements before and after those of a tensor.

Knows PyTorch's modes, and what NumPy calls them. Must not know modules.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad.torch._ops.declare import private, register
from tapegrad.torch._rules.padding import extended
from tapegrad.torch._tensor.tensor import Tensor

_MODES: dict[str, Any] = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def _pad_label(_input: Tensor, pad: Sequence[int], mode: str, _value: Value) -> str:
    if mode == "constant":
        return "ConstantPadNdBackward0"
    if mode == "circular":
        return "CopySlices"
    word = {"reflect": "Reflection", "replicate": "Replication"}.get(mode, "Constant")
    return f"{word}Pad{len(pad) // 2}DBackward0"


@private(_pad_label, planned=True)
def _pad(input: Value, pad: Sequence[int], mode: str, value: Value) -> Value:
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pad) // 2 > len(input.shape):
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got "
            f"padding length {len(pad)} and input of dimension {len(input.shape)}"
        )
    if mode != "constant" and value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if mode != "constant":
        _check_dimensions(len(input.shape), len(pad))
    if mode != "constant" and mode not in _MODES:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    pairs = [(int(pad[i]), int(pad[i + 1])) for i in range(0, len(pad), 2)][::-1]
    lead = len(input.shape) - len(pairs)
    widths = [(0, 0)] * lead + [(max(0, a), max(0, b)) for a, b in pairs]
    if mode == "constant":
        _check_crop(input.shape[lead:], pairs)
        return np.pad(
            _cropped(input, pairs), widths, constant_values=0 if value is None else value
        )
    if mode == "circular":
        _check_wrap(input.shape[lead:], pairs)
        return extended(_cropped(input, pairs), widths=tuple(widths[lead:]), mode="wrap")
    _check_borders(input.shape, pairs, mode)
    made = extended(input, widths=tuple(widths[lead:]), mode=_MODES[mode])
    return _cropped(made, pairs)


def _cropped(x: Value, pairs: list[tuple[int, int]]) -> Value:
    """Part of the last axes that negative widths leave."""
    if min(map(min, pairs), default=0) >= 0:
        return x
    lead = len(x.shape) - len(pairs)
    cut = [slice(None)] * lead
    for (before, after), side in zip(pairs, x.shape[lead:], strict=True):
        cut.append(slice(max(0, -before), side - max(0, -after)))
    return x[tuple(cut)]


def _check_dimensions(ndim: int, widths: int) -> None:
    if widths not in (2, 4, 6) or ndim not in (widths // 2 + 1, widths // 2 + 2):
        raise NotImplementedError(
            f"Padding size {widths} is not supported for {ndim}D input tensor.\n"
            "Supported combinations for non-constant padding:\n"
            "  - 2D or 3D input: padding size = 2 (pads last dimension)\n"
            "  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n"
            "  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)"
        )


def _check_crop(sides: Sequence[int], pairs: list[tuple[int, int]]) -> None:
    for (before, after), side in zip(pairs, sides, strict=True):
        if side + min(before, 0) + min(after, 0) < 0:
            raise RuntimeError("narrow(): length must be non-negative.")


def _check_wrap(sides: Sequence[int], pairs: list[tuple[int, int]]) -> None:
    for (before, after), side in zip(pairs, sides, strict=True):
        if before > side or after > side:
            raise RuntimeError("Padding value causes wrapping around more than once.")
        if side + before + after < 0:
            raise RuntimeError("Negative padding value is resulting in an empty dimension")
        if max(before, after) > 0 >= side + min(before, 0) + min(after, 0) and side:
            raise RuntimeError("Padding value causes wrapping around more than once.")


def _check_borders(shape: Sequence[int], pairs: list[tuple[int, int]], mode: str) -> None:
    count = len(pairs)
    lead = len(shape) - count
    if 0 in shape[-count - 1 :]:
        raise RuntimeError(
            f"Expected {count + 1}D or {count + 2}D (batch mode) tensor with possibly 0 batch "
            f"size and other non-zero dimensions for input, but got: {list(shape)}"
        )
    for place in range(count - 1, -1, -1):
        before, after = pairs[place]
        if mode == "reflect" and max(before, after) >= shape[lead + place]:
            raise RuntimeError(
                f"Argument #{4 + 2 * (count - 1 - place)}: Padding size should be less than the "
                f"corresponding input dimension, but got: padding ({before}, {after}) at "
                f"dimension {lead + place} of input {list(shape)}"
            )
    names = "DHW"[-count:]
    made = [side + sum(pair) for side, pair in zip(shape[lead:], pairs, strict=True)]
    if min(made) < 1:
        given = " ".join(f"{name}: {side}" for name, side in zip(names, shape[lead:], strict=True))
        wanted = " ".join(f"{name}: {side}" for name, side in zip(names, made, strict=True))
        raise RuntimeError(f"input ({given}) is too small. Calculated output {wanted}")


def pad(
    input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None
) -> Any:
    """The tensor with elements before and after those of its dimensions.

    input: Of any shape, for "constant"; for the others with at most two dimensions before those
        that are padded.
    mode ({"constant", "reflect", "replicate", "circular"}): What is put there: `value`, the
        elements mirrored at the border, those at the border, or those of the other end.
    value: What is put there in the mode "constant"; 0 unless given.
    -> Tensor: Of the same number of dimensions.
    RuntimeError: For widths that do not fit.
    NotImplementedError: For another mode, and dimensions that the mode does not have.

    >>> F.pad(torch.tensor([[1.0, 2.0, 3.0]]), (1, 2))
    tensor([[0., 1., 2., 3., 0., 0.]])
    >>> F.pad(torch.tensor([[1.0, 2.0, 3.0]]), (1, 2), mode="reflect")
    tensor([[2., 1., 2., 3., 2., 1.]])
    """
    return _pad(input, pad, mode, value)


@register(method=False)
def constant_pad_nd(input: Tensor, pad: Sequence[int], value: float = 0) -> Any:
    """The tensor with one value before and after the elements of its dimensions.

    input: Of any shape.
    value: What is put there.
    -> Tensor: Of the same number of dimensions.
    RuntimeError: For widths that do not fit.

    >>> torch.constant_pad_nd(torch.tensor([1, 2]), (1, 2), 7)
    tensor([7, 1, 2, 7, 7])
    """
    return _pad(input, pad, "constant", value)


__all__ = ["pad"]
