"""Extrema: of all elements, along a dimension with their indices, cumulative.

Where several elements tie, `amax`, `amin` and the extrema of everything share the gradient evenly;
along a dimension the element whose index is returned gets it all.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._core.scatter_rows import read_elements
from tapegrad._core.types import Function, Index, Value
from tapegrad._core.values import getitem, untraced
from tapegrad.torch import return_types
from tapegrad.torch._dims import along_one, axes_of, shaped
from tapegrad.torch._docstrings.sections import told
from tapegrad.torch._dtypes import REAL, require_kind
from tapegrad.torch._ops.declare import OPERATIONS, operation, register
from tapegrad.torch._ops.fast import short_reading
from tapegrad.torch._ops.index.checks import sparse_grid
from tapegrad.torch._tensor.tensor import Tensor, ndarray
from tapegrad.torch._types import Dim, TensorLike
from tapegrad.torch.return_types import aminmax as aminmax_type
from tapegrad.torch.return_types import pair


def taken(array: Value, places: Value, axis: int) -> Value:
    """The elements at places along an axis; one index an element, as np.take_along_axis."""
    index = list(sparse_grid(places.shape))
    index[axis] = places
    return _read(array, tuple(index))


def _read(array: Value, index: Index) -> Value:
    return (read_elements if type(array) is np.ndarray else getitem)(array, index)


def taken_one(array: Value, places: Value, axis: int, keepdim: bool) -> tuple[Value, Value]:
    """The element at one place along an axis, and the place; without the axis unless keepdim."""
    if keepdim:
        places = np.expand_dims(places, axis)
        return taken(array, places, axis), places
    index = sparse_grid(places.shape)
    return _read(array, (*index[:axis], places, *index[axis:])), places


def require_elements(array: Value, dim: Dim, word: str) -> None:
    """Raise PyTorch's error for no elements, of which there is no extremum."""
    if array.size:
        return
    if dim is None:
        raise RuntimeError(
            f"{word}(): Expected reduction dim to be specified for input.numel() == 0. Specify "
            "the reduction dim with the 'dim' argument."
        )
    axes = axes_of(dim, array.ndim)
    for axis in axes if isinstance(axes, tuple) else (axes,):
        if axis is not None and not array.shape[axis]:
            raise IndexError(f"{word}(): Expected reduction dim {axis} to have non-zero size.")


def _declare_extreme(word: str, reduce: Function) -> None:
    def compute(input: Value, dim: Dim = (), keepdim: bool = False) -> Value:
        require_kind(input.dtype, f"{word}_cpu", REAL)
        whole = isinstance(dim, (tuple, list)) and not dim
        require_elements(input, None if whole else dim, word)
        return reduce(input, axis=axes_of(dim, input.ndim), keepdims=keepdim)

    compute.__doc__ = told(
        f"The {_WORDS[word]} element; elements that tie share the gradient.",
        f"{word}({_MATRIX}, 1)",
        f"tensor({'[5., 4.]' if word == 'amax' else '[1., 2.]'})",
        "dim: The dimensions that are reduced; all if empty.",
    )
    operation(f"{word.capitalize()}Backward0", name=word, planned=True)(compute)


_MATRIX = "torch.tensor([[1.0, 5.0], [4.0, 2.0]])"
_WORDS = {"amax": "largest", "amin": "smallest", "max": "largest", "min": "smallest"}
_declare_extreme("amax", np.max)
_declare_extreme("amin", np.min)


@operation("AminmaxBackward0", planned=True)
def aminmax(input: Value, *, dim: Dim = None, keepdim: bool = False) -> Any:
    """The smallest and the largest element, as a named tuple (min, max).

    dim (int): The dimension that is reduced; all unless given.
    -> named tuple: The smallest elements `min`, and the largest `max`.
    """
    require_kind(input.dtype, "aminmax_cpu", REAL)
    require_elements(input, dim, "aminmax")
    axis = axes_of(dim, input.ndim)
    return aminmax_type(
        np.min(input, axis=axis, keepdims=keepdim), np.max(input, axis=axis, keepdims=keepdim)
    )


# --- max, min: three functions of one name ------------------------------------------------------


def _places_of_largest(x: Value, axis: int) -> Value:
    return x.argmax(axis) if type(x) is ndarray else np.argmax(x, axis)


def _places_of_smallest(x: Value, axis: int) -> Value:
    return x.argmin(axis) if type(x) is ndarray else np.argmin(x, axis)


def _declare_extremum(word: str, reduce: Function, locate: Function) -> None:
    label = word.capitalize()

    def whole(input: Value) -> Value:
        require_kind(input.dtype, f"{word}_cpu", REAL)
        require_elements(input, None, word)
        return reduce(input)

    def along(input: Value, dim: Dim, keepdim: bool = False) -> Any:
        require_kind(input.dtype, f"{word}_cpu", REAL)
        require_elements(input, dim, word)
        array, axis = along_one(input, dim)
        places = locate(untraced(array), axis)
        values, places = taken_one(array, places, axis, keepdim and input.ndim > 0)
        return pair(word, values, places)

    options: dict[str, Any] = {"method": False, "function": False, "name": word}
    of_all = operation(f"{label}Backward1", planned=True, **options)(whole)
    of_dim = operation(f"{label}Backward0", **options)(along)
    of_dim = short_reading(
        of_dim, f"{label}Backward0", 0, locate=(locate, getattr(return_types, word))
    )
    of_two = OPERATIONS[f"{word}imum"]

    def choose(input: TensorLike, dim: Dim = None, keepdim: bool = False, **words: Any) -> Any:
        other = words.pop("other", None) if words else None
        if isinstance(dim, Tensor) or other is not None:
            return of_two(input, dim if other is None else other, **words)
        dim = words.pop("axis", dim) if words else dim
        if dim is None:
            return of_all(input, **words)
        keepdim = words.pop("keepdims", keepdim) if words else keepdim
        return of_dim(input, dim, keepdim, **words)

    largest = _WORDS[word]
    choose.__doc__ = told(
        f"The {largest} element of all, or along a dimension; or elementwise, of two tensors.",
        f"{word}({_MATRIX}, 1).values",
        f"tensor({'[5., 4.]' if word == 'max' else '[1., 2.]'})",
        "input (Tensor): The tensor.",
        "dim (int or Tensor): The dimension that is reduced; or the other tensor, whose "
        "shape broadcasts.",
        "**words: `other` by its name, `out`, and NumPy's words.",
        f"-> Tensor or named tuple: The {largest} element; with `dim` the elements "
        "`values` and their positions `indices`.",
    )
    choose.__name__ = choose.__qualname__ = word
    register()(choose)


_declare_extremum("max", np.max, _places_of_largest)
_declare_extremum("min", np.min, _places_of_smallest)


def _declare_place(word: str, locate: Function) -> None:
    def compute(input: Value, dim: Dim = None, keepdim: bool = False) -> Value:
        x = untraced(input)
        if x.dtype.kind in "bc":
            kind = "bool" if x.dtype.kind == "b" else "complex"
            raise RuntimeError(f"{word}(): does not support {kind} input")
        if dim is None and not x.size:
            raise IndexError(
                f"{word}(): Expected reduction dim to be specified for input.numel() == 0. "
                "Specify the reduction dim with the 'dim' argument."
            )
        require_elements(x, dim, word)
        if dim is None or not x.ndim:
            axes_of(dim, x.ndim)
            places = locate(np.reshape(x, -1), axis=0)
            return np.reshape(places, (1,) * x.ndim) if keepdim else places
        axis = axes_of(dim, x.ndim)
        places = locate(x, axis=axis)
        return np.expand_dims(places, axis) if keepdim else places

    compute.__doc__ = told(
        f"Where the {_WORDS['a' + word[3:]]} element is, the first of those that tie.",
        f"{word}({_MATRIX}, 1)",
        f"tensor({'[1, 0]' if word == 'argmax' else '[0, 1]'})",
        "dim (int): The dimension that is reduced; the flat tensor unless given.",
        "-> Tensor: Positions (int64), without the dimension that is reduced.",
    )
    operation(f"{word.capitalize()}Backward0", name=word)(compute)


_declare_place("argmax", np.argmax)
_declare_place("argmin", np.argmin)


# --- Cumulative ---------------------------------------------------------------------------------


def _declare_running(word: str, ufunc: np.ufunc) -> None:
    def compute(input: Value, dim: Dim) -> Any:
        array, axis = along_one(input, dim)
        require_kind(array.dtype, f"{word}_cpu", REAL)
        x = untraced(array)
        if not x.shape[axis]:
            return pair(word, array, np.zeros(x.shape, np.int64))
        best = ufunc.accumulate(x, axis)
        positions = np.reshape(
            np.arange(x.shape[axis]), [-1 if i == axis else 1 for i in range(x.ndim)]
        )
        # The last of equal elements counts; a NaN stays the extremum until the next NaN.
        places = np.maximum.accumulate(((x == best) | (x != x)) * positions, axis)
        values = taken(array, places, axis)
        return pair(word, shaped(values, input.shape), shaped(places, input.shape))

    compute.__doc__ = told(
        f"The {_WORDS[word[3:]]} element so far, and where it is.",
        f"{word}(torch.tensor([2.0, 1.0, 3.0]), 0).values",
        f"tensor({'[2., 2., 3.]' if word == 'cummax' else '[2., 1., 1.]'})",
        "dim (int): The dimension, counted from either end.",
        "-> named tuple: The elements `values`, and their positions `indices`, in the "
        "shape of `input`.",
    )
    label = f"{word.capitalize()}Backward0"
    general = operation(label, name=word)(compute)
    register(replaces=general)(short_reading(general, label, 0))


_declare_running("cummax", np.maximum)
_declare_running("cummin", np.minimum)
