"""`torch.types`: names for what parameters of functions of tensors take, for annotations."""

# ruff: noqa: PYI042, PYI047 - the names are PyTorch's, for those who import them

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import IO, TypeAlias

from tapegrad.torch import _dtypes
from tapegrad.torch._dtypes import Size
from tapegrad.torch._tensor.tensor import Tensor

Number: TypeAlias = int | float | bool
FileLike: TypeAlias = str | os.PathLike[str] | IO[bytes]
Device: TypeAlias = _dtypes.device | str | int | None

# Python's and PyTorch's types where a module has parameters of these names.
_bool: TypeAlias = bool
_bytes: TypeAlias = bytes
_complex: TypeAlias = complex
_float: TypeAlias = float
_int: TypeAlias = int
_str: TypeAlias = str
_device: TypeAlias = _dtypes.device
_dtype: TypeAlias = _dtypes.dtype
_layout: TypeAlias = _dtypes.layout
_size: TypeAlias = Size | list[int] | tuple[int, ...]

_TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]
_TensorOrOptionalTensors: TypeAlias = Tensor | Sequence[Tensor | None]

# What a number is to `isinstance`.
_Number = (bool, int, float)

__all__ = ["Device", "FileLike", "Number", "Size", "Tensor"]
