"""Padding: elements before and after those of a tensor.

Knows PyTorch's modes, and what NumPy calls them. Must not know modules.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad.torch._ops.declare import private
from tapegrad.torch._tensor.tensor import Tensor

_MODES: dict[str, Any] = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def _pad_label(_input: Tensor, pad: Sequence[int], mode: str, _value: Value) -> str:
    if mode == "constant":
        return "ConstantPadNdBackward0"
    if mode == "circular":
        return "CopySlices"
    word = {"reflect": "Reflection", "replicate": "Replication"}.get(mode, "Constant")
    return f"{word}Pad{len(pad) // 2}DBackward0"


@private(_pad_label)
def _pad(input: Value, pad: Sequence[int], mode: str, value: Value) -> Value:
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pad) // 2 > len(input.shape):
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got "
            f"padding length {len(pad)} and input of dimension {len(input.shape)}"
        )
    if mode != "constant" and mode not in _MODES:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    pairs = [(int(pad[i]), int(pad[i + 1])) for i in range(0, len(pad), 2)][::-1]
    lead = len(input.shape) - len(pairs)
    cut = [slice(None)] * lead
    for (before, after), side in zip(pairs, input.shape[lead:], strict=True):
        if side + before + after < 0:
            raise RuntimeError(
                f"The input size {side}, plus negative padding {before} and {after} resulted in a "
                "negative output size"
            )
        cut.append(slice(max(0, -before), side - max(0, -after)))
    widths = [(0, 0)] * lead + [(max(0, a), max(0, b)) for a, b in pairs]
    cropped = input[tuple(cut)]
    if mode in _MODES:
        return np.pad(cropped, widths, _MODES[mode])
    return np.pad(cropped, widths, constant_values=0 if value is None else value)


def pad(
    input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None
) -> Any:
    """The tensor padded before and after; the widths begin with the last dimension.

    mode: "constant" (`value`, else 0), "reflect", "replicate" or "circular". Negative widths crop.
    """
    return _pad(input, pad, mode, value)
