"""Arguments: `dim`, which may be negative, shapes that broadcast, and those of a wrong type.

Knows PyTorch's errors. Must not know tensors.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, SupportsIndex

from tapegrad._core.types import Value


def mistyped(call: str, name: str, place: int, wanted: str, given: Any) -> TypeError:
    """The error for an argument of another type. place: its number, or 0 where it is not told."""
    where = f" (position {place})" if place else ""
    kind = type(given).__name__
    return TypeError(f"{call}(): argument '{name}'{where} must be {wanted}, not {kind}")


def wrapped(dim: SupportsIndex, ndim: int) -> int:
    """A `dim` as a position from the left; a 0-d tensor counts as having one dimension."""
    place = operator.index(dim)
    count = ndim or 1
    if not -count <= place < count:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-count}, {count - 1}], "
            f"but got {place})"
        )
    return int(place % count)


def axes_of(
    dim: SupportsIndex | tuple[SupportsIndex, ...] | list[SupportsIndex] | None, ndim: int
) -> Any:
    """NumPy's axis for a `dim`: None for all, an int, or a tuple."""
    if dim is None:
        return None
    if not isinstance(dim, (tuple, list)):
        place = wrapped(dim, ndim)
        return place if ndim else None
    places: tuple[int, ...] = ()
    for part in dim:
        place = wrapped(part, ndim)
        if place in places:
            raise RuntimeError(f"dim {place} appears multiple times in the list of dims")
        places = (*places, place)
    return places if ndim and places else None


def clash_of(x: Sequence[int], y: Sequence[int]) -> RuntimeError | None:
    """PyTorch's error for two shapes that do not broadcast; None if they do."""
    for back, (a, b) in enumerate(zip(x[::-1], y[::-1], strict=False), start=1):
        if a != b and 1 not in (a, b):
            return RuntimeError(
                f"The size of tensor a ({a}) must match the size of tensor b ({b}) at "
                f"non-singleton dimension {max(len(x), len(y)) - back}"
            )
    return None


def misfit_text(place: list[int], shape: list[int]) -> str:
    """PyTorch's message for a value that does not broadcast to the place that it is written to."""
    if len(shape) > len(place):
        return (
            f"expand(torch.Tensor{{{shape}}}, size={place}): the number of sizes provided "
            f"({len(place)}) must be greater or equal to the number of dimensions in the tensor "
            f"({len(shape)})"
        )
    for back in range(1, len(shape) + 1):
        if shape[-back] not in (1, place[-back]):
            return (
                f"The expanded size of the tensor ({place[-back]}) must match the existing size "
                f"({shape[-back]}) at non-singleton dimension {len(place) - back}.  Target sizes: "
                f"{place}.  Tensor sizes: {shape}"
            )
    return f"shape mismatch: value of shape {shape} for a place of shape {place}"


def along_one(array: Value, dim: SupportsIndex) -> tuple[Value, int]:
    """The array, of shape (1,) if it was 0-d, and the position of `dim` in it."""
    place = wrapped(dim, array.ndim)
    return (array if array.ndim else array.reshape(1)), place


def by_name(word: str, name: str, given: tuple[Any, ...], words: dict[str, Any]) -> Any:
    """Value given as many arguments or as one by name; TypeError for other names."""
    if not words:
        return given
    other = next((key for key in words if key != name), None)
    if other is not None or given:
        raise TypeError(f"{word}() got an unexpected keyword argument {other or name!r}")
    return (words[name],)


def shaped(array: Value, shape: tuple[int, ...]) -> Value:
    """The array in a shape; the same array if it has that shape."""
    return array if array.shape == shape else array.reshape(shape)
