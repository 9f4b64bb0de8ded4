"""Tensors put together from parts: complex numbers, grids, products and choices of elements.

Knows PyTorch's forms of these in terms of NumPy's functions. Must not know how tensors are made.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad._warning import warn
from tapegrad.torch._dtypes import of_numpy, word_of
from tapegrad.torch._ops.declare import operation, private, register
from tapegrad.torch._rules import declare
from tapegrad.torch._tensor.tensor import Tensor


@declare.elementwise("ComplexBackward0", lambda _out, *_: 1, lambda _out, *_: 1j)
def _complex(real: Value, imag: Value) -> Value:
    made = np.empty(np.broadcast_shapes(real.shape, imag.shape), f"c{2 * real.dtype.itemsize}")
    made.real = real
    made.imag = imag
    return made


def _check_parts(first: Value, second: Value) -> None:
    kinds = (np.float32, np.float64)
    if first.dtype not in kinds or second.dtype not in kinds:
        raise RuntimeError(
            f"Expected both inputs to be Half, Float or Double tensors but got "
            f"{word_of(first.dtype)} and {word_of(second.dtype)}"
        )
    if first.dtype != second.dtype:
        raise RuntimeError(
            f"Expected object of scalar type {word_of(first.dtype)} but got scalar type "
            f"{word_of(second.dtype)} for second argument"
        )


@operation("ComplexBackward0", method=False, order="preserved")
def complex(real: Value, imag: Value) -> Value:  # noqa: A001
    """A complex tensor of a real and an imaginary part.

    real: The real parts, of a floating dtype.
    imag: The imaginary parts, of the same dtype; the shapes broadcast.
    """
    _check_parts(real, imag)
    return _complex(real, imag)


@operation("PolarBackward0", method=False, order="preserved")
def polar(abs: Value, angle: Value) -> Value:
    """A complex tensor of absolute values and angles.

    abs: The absolute values, of a floating dtype.
    angle: The angles in radians, of the same dtype; the shapes broadcast.
    """
    _check_parts(abs, angle)
    return _complex(abs * np.cos(angle), abs * np.sin(angle))


def _laid_along(array: Value, shape: tuple[int, ...], dim: int) -> Value:
    sides = [1] * len(shape)
    sides[dim] = array.size
    return np.broadcast_to(np.reshape(array, sides), shape)


@private("ExpandBackward0", view=True)
def _spread(input: Value, shape: tuple[int, ...], dim: int) -> Value:
    return _laid_along(input, shape, dim)


@register(method=False)
def meshgrid(*tensors: Tensor, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Tensors that each vary along a dimension of their own, all of one shape.

    *tensors: Vectors, or single elements.
    indexing: "ij", which is meant unless given, or "xy": the first two dimensions swapped.
    -> tuple of Tensors: Views, one for each vector.

    >>> x, y = torch.meshgrid(torch.tensor([1, 2]), torch.tensor([3, 4, 5]), indexing="ij")
    >>> x
    tensor([[1, 1, 1],
            [2, 2, 2]])
    """
    parts: Any = tensors[0] if len(tensors) == 1 and type(tensors[0]) in (list, tuple) else tensors
    if indexing is None:
        warn(
            "torch.meshgrid: in an upcoming release, it will be required to pass the indexing "
            "argument."
        )
    elif indexing not in ("ij", "xy"):
        raise RuntimeError(
            'torch.meshgrid: indexing must be one of "xy" or "ij", but received: ' + indexing
        )
    if not parts:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    for part in parts:
        if part.dim() > 1:
            raise RuntimeError(
                f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {part}"
            )
        if part.dtype != parts[0].dtype:
            raise RuntimeError("meshgrid expects all tensors to have the same dtype")
    dims = list(range(len(parts)))
    if indexing == "xy" and len(parts) > 1:
        dims[0], dims[1] = 1, 0
    shape = [0] * len(parts)
    for dim, part in zip(dims, parts, strict=True):
        shape[dim] = part.numel()
    return tuple(_spread(part, tuple(shape), dim) for dim, part in zip(dims, parts, strict=True))


@private("StackBackward0")
def _all_pairs(*arrays: Value) -> Value:
    shape = tuple(array.size for array in arrays)
    grids = [_laid_along(array, shape, dim) for dim, array in enumerate(arrays)]
    return np.stack([np.reshape(grid, -1) for grid in grids], 1)


@register(method=False)
def cartesian_prod(*tensors: Tensor) -> Tensor:
    """All ways to take one element of each tensor, one way a row.

    *tensors: Vectors.
    -> Tensor: (count, number of tensors), of a single vector itself.
    """
    parts: Any = tensors[0] if len(tensors) == 1 and type(tensors[0]) in (list, tuple) else tensors
    for part in parts:
        if part.dim() != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(part.shape)}")
        if part.dtype != parts[0].dtype:
            raise RuntimeError("meshgrid expects all tensors to have the same dtype")
    return parts[0] if len(parts) == 1 else _all_pairs(*parts)


@operation("StackBackward0", method=False)
def combinations(input: Value, r: int = 2, with_replacement: bool = False) -> Value:
    """All ways to choose `r` elements of a tensor of one dimension, one way a row.

    input: A vector.
    r: How many are chosen.
    with_replacement: Whether an element may be chosen again.
    -> Tensor: (count, r).
    """
    if len(input.shape) != 1:
        raise RuntimeError(
            f"Expect a 1D vector, but got shape {list(input.shape)} of {of_numpy(input.dtype)}"
        )
    choose: Any = itertools.combinations
    if with_replacement:
        choose = itertools.combinations_with_replacement
    rows = np.array(list(choose(range(input.size), r)), np.intp).reshape(-1, r)
    return np.stack([input[rows[:, column]] for column in range(r)], 1)
