"""`_saved_dim`, `_saved_exponent`: the numbers that nodes keep, under PyTorch's names.

Knows the layout of entries and the parameters of rules. Must not know tensors.

A number is read from what the entry of the node keeps anyway. Dimensions are counted from the
front, as they were wrapped before they were logged.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

Parts = tuple[Any, tuple[Any, ...], Any]  # the result, the arguments, and the parameters
Reader = Callable[[Parts], Any]


def parts_of(entry: tuple[Any, ...]) -> Parts:
    """The result, the arguments and the parameters of an entry in either layout."""
    _, out, x, y, x_node, y_node = entry
    if y_node is not None:
        return out, (x, y), {}
    if type(x_node) is tuple:
        return out, tuple(x), y
    return out, (x,), y


def _param(word: str, *, several: bool = False) -> Reader:
    def read(parts: Parts) -> Any:
        found = parts[2].get(word) if isinstance(parts[2], dict) else None
        if several and found is not None:
            return tuple(found) if isinstance(found, (tuple, list)) else (found,)
        return found

    return read


def _argument(place: int) -> Reader:
    return lambda parts: _plain(parts[1][place]) if place < len(parts[1]) else None


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") and not getattr(value, "shape", ()) else value


def _always(value: Any) -> Reader:
    return lambda _parts: value


def _shape(place: int) -> Reader:
    def read(parts: Parts) -> Any:
        shape = getattr(parts[1][place], "shape", None) if place < len(parts[1]) else None
        return None if shape is None else tuple(shape)

    return read


def _strides(place: int) -> Reader:
    def read(parts: Parts) -> Any:
        value = parts[1][place]
        if not hasattr(value, "strides"):
            return None
        return tuple(step // value.itemsize for step in value.strides)

    return read


def _count(parts: Parts) -> int:
    return math.prod(parts[1][0].shape)


def _index(parts: Parts) -> tuple[int, Any]:
    """The dimension of the one part of an index that takes something, and that part."""
    index = parts[2] if isinstance(parts[2], tuple) else (parts[2],)
    for dim, part in enumerate(index):
        if part is not Ellipsis and part != slice(None):
            return dim, part
    return 0, index[0] if index else slice(None)


def _bound(word: str) -> Reader:
    def read(parts: Parts) -> Any:
        dim, part = _index(parts)
        if not isinstance(part, slice):
            return None
        start, end, step = part.start, part.stop, part.step
        usual = {
            "start": start or 0,
            "end": parts[1][0].shape[dim] if end is None else end,
            "step": step or 1,
        }
        return usual[word]

    return read


def _swapped(which: int) -> Reader:
    def read(parts: Parts) -> Any:
        axes = parts[2]["axes"]
        moved = [dim for dim, axis in enumerate(axes) if dim != axis]
        return moved[which] if moved else 0

    return read


_DIM, _KEEP = _param("axis"), _param("keepdims")
_DIMS = _param("axis", several=True)
_REDUCED: dict[str, Reader] = {"dim": _DIMS, "keepdim": _KEEP}
_COUNT: dict[str, Reader] = {"self_sym_numel": _count}
_POWER = {"ord": _always(2), "dim": _DIMS, "keepdim": _KEEP}
_SPREAD = {"correction": _param("ddof"), "dim": _DIMS, "keepdim": _KEEP}

# By the name of a node: the words after `_saved_`, and how an entry tells them.
NUMBERS: dict[str, dict[str, Reader]] = {
    "AddBackward0": {"alpha": _always(1)},  # another alpha is a product of its own here
    "AddmmBackward0": {
        "alpha": _param("alpha"),
        "beta": _param("beta"),
        "mat1_sym_sizes": _shape(1),
        "mat1_sym_strides": _strides(1),
        "mat2_sym_sizes": _shape(2),
        "mat2_sym_strides": _strides(2),
    },
    "AmaxBackward0": {"dim": _DIMS, "keepdim": _KEEP},
    "AminBackward0": {"dim": _DIMS, "keepdim": _KEEP},
    "CatBackward0": {"dim": _DIM},
    "ClampBackward1": {"min": _argument(1), "max": _argument(2)},
    "ClampMaxBackward0": {"max": _argument(1)},
    "ClampMinBackward0": {"min": _argument(1)},
    "CumsumBackward0": {"dim": _DIM},
    "CumprodBackward0": {"dim": _DIM},
    "DiagonalBackward0": {
        "offset": _param("offset"),
        "dim1": _param("axis1"),
        "dim2": _param("axis2"),
    },
    "EluBackward0": {"alpha": _argument(1), "scale": _argument(2), "input_scale": _argument(3)},
    "FlipBackward0": {"dims": _param("axis", several=True)},
    "HardtanhBackward0": {"min_val": _argument(1), "max_val": _argument(2)},
    "LeakyReluBackward0": {"negative_slope": _argument(1)},
    "LerpBackward0": {"weight": _argument(2)},
    "LinalgVectorNormBackward0": _POWER,
    "LogSoftmaxBackward0": {"dim": _DIM},
    "LogcumsumexpBackward0": {"dim": _DIM},
    "LogsumexpBackward0": _REDUCED,
    "MeanBackward0": _COUNT,
    "MeanBackward1": {**_REDUCED, **_COUNT},
    "MmBackward0": {
        "self_sym_sizes": _shape(0),
        "self_sym_strides": _strides(0),
        "mat2_sym_sizes": _shape(1),
        "mat2_sym_strides": _strides(1),
    },
    "PermuteBackward0": {"dims": _param("axes", several=True)},
    "ProdBackward1": {"dim": _DIM, "keepdim": _KEEP},
    "RollBackward0": {
        "shifts": _param("shift", several=True),
        "dims": lambda parts: _DIMS(parts) or (),
    },
    "RsubBackward1": {"alpha": _always(1)},
    "SelectBackward0": {
        "dim": lambda parts: _index(parts)[0],
        "index": lambda parts: _index(parts)[1],
    },
    "SliceBackward0": {
        "dim": lambda parts: _index(parts)[0],
        "start": _bound("start"),
        "end": _bound("end"),
        "step": _bound("step"),
    },
    "SoftmaxBackward0": {"dim": _DIM},
    "SoftplusBackward0": {"beta": _argument(1), "threshold": _argument(2)},
    "StackBackward0": {"dim": _DIM},
    "StdBackward0": _SPREAD,
    "SubBackward0": {"alpha": _always(1)},
    "SumBackward1": _REDUCED,
    "TransposeBackward0": {"dim0": _swapped(0), "dim1": _swapped(1)},
    "UnbindBackward0": {"dim": _DIM},
    "VarBackward0": _SPREAD,
}

__all__ = ["NUMBERS", "parts_of"]
