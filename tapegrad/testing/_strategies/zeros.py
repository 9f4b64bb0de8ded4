"""Arrays that are mostly zeros, and SciPy's sparse formats."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad.testing._strategies.arrays import Elements
from tapegrad.testing._strategies.asking import (
    Shape,
    asked_dtype,
    asked_number,
    asked_shape,
    asked_words,
    refuse,
)
from tapegrad.testing._strategies.drawing import Choices, Draw, codes, drawn, is_strategy, noted
from tapegrad.testing._strategies.drawing import strategy as strategy_of
from tapegrad.testing._strategies.grids import Field
from tapegrad.testing._strategies.layouts import ALL_LAYOUTS, LAYOUTS, noted_layout
from tapegrad.testing._strategies.shapes import shapes
from tapegrad.testing._strategies.source import array_source

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

FORMATS = ("csr", "csc", "coo", "lil", "dok", "dia", "bsr")


def _asked_density(call: str, density: Any) -> float:
    found = asked_number(call, "density", density)
    if not 0 <= found <= 1:
        refuse(call, "a density from 0 to 1", repr(density), "Pass such a number")
    return found


def _mostly_zeros(draw: Draw, shape: Shape, dtype: np.dtype[Any], density: float) -> Value:
    """Distinct elements, of which the density's share is kept at most, and zeros."""
    size = math.prod(shape)
    chances = np.frombuffer(codes(draw, size), np.uint8)
    values = Elements(("real",), Field(-2, 2)).drawn(draw, (size,), dtype, 1)[0]
    kept = np.argsort(-chances.astype(int), kind="stable")[: int(density * size)]
    kept = kept[chances[kept] >= max(1, 256 - int(256 * density))]
    found = np.zeros(size, dtype)
    found[kept] = values[kept]
    return found.reshape(shape)


def sparse_arrays(
    dtype: Any = np.float64,
    shape: Any = None,
    *,
    density: float = 0.4,
    layouts: tuple[str, ...] = LAYOUTS,
) -> SearchStrategy[Any]:
    """A strategy for NumPy arrays that are mostly zeros; all zeros first.

    The elements that are not zero are distinct, and between -2 and 2.

    Parameters
    ----------
    dtype : dtype or SearchStrategy of such, default float64
        Floating or complex.
    shape : tuple of int or SearchStrategy of such, optional
        Of `shapes()` by default.
    density : float, default 0.4
        The largest share of the elements that are not zero, from 0 to 1.
    layouts : tuple of str, default ("C", "F", "strided", "reversed")
        Memory orders, as of `arrays`.

    Returns
    -------
    SearchStrategy of numpy.ndarray
        The arrays.

    Raises
    ------
    InputError
        For another density, dtype or shape.

    Examples
    --------
    >>> from hypothesis import given
    >>> @given(sparse_arrays(shape=(4, 5), density=0.25))
    ... def check(x):
    ...     assert np.count_nonzero(x) <= 5
    >>> check()
    """
    call = "sparse_arrays"
    share = _asked_density(call, density)
    names = asked_words(call, "layouts", layouts, ALL_LAYOUTS)
    shape = shapes() if shape is None else shape
    shape = shape if is_strategy(shape) else asked_shape(call, shape)
    dtype = dtype if is_strategy(dtype) else asked_dtype(call, dtype)

    def make(draw: Draw) -> Any:
        sides = asked_shape(call, drawn(draw, shape))
        kind = asked_dtype(call, drawn(draw, dtype))
        layout = Choices.drawn(draw, 1).among(names)
        return noted_layout(_mostly_zeros(draw, sides, kind, share), layout)

    return strategy_of(call, make)


def scipy_sparse_arrays(
    dtype: Any = np.float64,
    shape: Any = None,
    *,
    density: float = 0.4,
    formats: str | tuple[str, ...] = FORMATS,
    matrices: bool = False,
) -> SearchStrategy[Any]:
    """A strategy for SciPy's sparse arrays, as `tapegrad.scipy.sparse` takes them.

    Parameters
    ----------
    dtype : dtype or SearchStrategy of such, default float64
        Floating or complex, of those that SciPy's formats have (no float16).
    shape : tuple of int or SearchStrategy of such, optional
        Two sides of 1 or more; 1 to 4 by default.
    density : float, default 0.4
        The largest share of the elements that are stored, from 0 to 1.
    formats : str or tuple of str, optional
        All of these by default: "csr", "csc", "coo", "lil", "dok", "dia", "bsr".
    matrices : bool, default False
        Whether they are `csr_matrix` and its kin instead of `csr_array`.

    Returns
    -------
    SearchStrategy of scipy.sparse.sparray or scipy.sparse.spmatrix
        The sparse arrays or matrices.

    Raises
    ------
    InputError
        For another density, format, dtype or shape.
    ImportError
        If SciPy is missing; it names the extra `scipy`.

    Examples
    --------
    >>> from hypothesis import given
    >>> @given(scipy_sparse_arrays(shape=(3, 4), formats="csr"))
    ... def check(a):
    ...     assert a.format == "csr" and a.shape == (3, 4)
    >>> check()
    """
    call = "scipy_sparse_arrays"
    share = _asked_density(call, density)
    names = asked_words(call, "formats", formats, FORMATS)
    shape = shapes(2, 2, 1, 4) if shape is None else shape
    try:
        import scipy.sparse
    except ImportError as error:
        raise ImportError(
            f"tapegrad.testing.{call}: it needs SciPy. Install tapegrad[scipy]."
        ) from error

    def of_shape(given: Any) -> Shape:
        found = asked_shape(call, given)
        if len(found) != 2 or 0 in found:
            refuse(call, "a shape of two sides of 1 or more", str(found), "Pass shape=(m, n)")
        return found

    def of_dtype(given: Any) -> np.dtype[Any]:
        found = asked_dtype(call, given)
        if found.char == "e":
            refuse(call, "a dtype of SciPy's sparse formats", str(found), "Pass np.float32")
        return found

    shape = shape if is_strategy(shape) else of_shape(shape)
    dtype = dtype if is_strategy(dtype) else of_dtype(dtype)

    def make(draw: Draw) -> Any:
        sides, kind = of_shape(drawn(draw, shape)), of_dtype(drawn(draw, dtype))
        name = Choices.drawn(draw, 1).among(names) + ("_matrix" if matrices else "_array")
        dense = _mostly_zeros(draw, sides, kind, share)
        found = getattr(scipy.sparse, name)(dense)
        return noted(found, lambda: f"scipy.sparse.{name}({array_source(dense)})")

    return strategy_of(call, make)
