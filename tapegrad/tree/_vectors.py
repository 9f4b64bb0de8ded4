"""A tree as one vector, and back.

Written in functions that have rules, so it may be differentiated, mapped and compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tapegrad._core.types import Value
from tapegrad._core.values import cast, is_array, is_plain_number, is_scalar
from tapegrad._errors import InputError, ShapeMismatchError, describe, message
from tapegrad._tree import flatten, path_of, unflatten

if TYPE_CHECKING:
    from numpy.typing import NDArray

T = TypeVar("T")


def ravel(tree: T) -> tuple[NDArray[Any], Callable[[Value], T]]:
    """All elements of a tree in one vector, and the function that undoes it.

    Both directions can be differentiated, mapped and compiled.

    Parameters
    ----------
    tree : pytree
        A tree of numbers and arrays.

    Returns
    -------
    flat : ndarray
        A new vector of shape (n,), the leaves one after another in C order. Its dtype is that to
        which NumPy promotes those of the leaves; float64 if there are none.
    unravel : callable
        `unravel(vector)` gives each leaf its own shape and dtype again, numbers as NumPy scalars.
        It raises ShapeMismatchError for a vector of another length.

    Raises
    ------
    InputError
        If a leaf is neither a number nor an array of numbers.

    See Also
    --------
    flatten : The leaves themselves, and the structure.

    Examples
    --------
    >>> flat, unravel = ravel({"w": np.ones(2, np.float32), "n": 3})
    >>> flat
    array([1., 1., 3.])
    >>> unravel(flat)
    {'w': array([1., 1.], dtype=float32), 'n': np.int64(3)}
    """
    leaves, structure = flatten(tree)
    leaves = [_as_array(leaf, tree, i) for i, leaf in enumerate(leaves)]
    shapes = [tuple(leaf.shape) for leaf in leaves]
    dtypes = [leaf.dtype for leaf in leaves]
    scalars = [is_scalar(leaf) for leaf in leaves]
    ends = [0, *np.cumsum([int(np.prod(shape)) for shape in shapes], dtype=int).tolist()]
    whole = np.result_type(*dtypes) if dtypes else np.dtype(float)

    def unravel(flat: Value) -> T:
        if getattr(flat, "shape", None) != (ends[-1],):
            raise ShapeMismatchError(
                message(
                    "unravel", f"a vector of {ends[-1]}", describe(flat), "Ravel a tree like it"
                )
            )
        parts = []
        for i, (shape, dtype) in enumerate(zip(shapes, dtypes, strict=True)):
            part = cast(np.reshape(flat[ends[i] : ends[i + 1]], shape), dtype)
            parts.append(part[()] if scalars[i] else part)
        whole_tree: T = unflatten(structure, parts)
        return whole_tree

    if not leaves:
        return np.zeros(0), unravel
    rows = [np.ravel(cast(leaf, whole)) for leaf in leaves]
    return (rows[0].copy() if len(rows) == 1 else np.concatenate(rows)), unravel


def _as_array(leaf: Value, tree: Any, position: int) -> Any:
    if is_plain_number(leaf):
        return np.asarray(leaf)[()]
    if not is_array(leaf) or leaf.dtype.kind not in "biufc":
        path = path_of(tree, position)
        raise InputError(
            message(
                "tree.ravel",
                "leaves of numbers and arrays",
                describe(leaf) + (f" at {path}" if path else ""),
                'Carry it along in a static field: field(metadata={"static": True})',
            )
        )
    return leaf
