"""Hypothesis strategies for arguments at which functions are smooth.

Knows Hypothesis, which is imported at the first call: it belongs to the extra `tapegrad[test]`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad._errors import InputError, message

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

LAYOUTS = ("C", "F", "strided", "reversed")


def _hypothesis() -> Any:
    try:
        import hypothesis.extra.numpy
        import hypothesis.strategies
    except ImportError as error:
        raise ImportError(
            "tapegrad.testing: its strategies need Hypothesis. Install tapegrad[test]."
        ) from error
    return hypothesis


def shapes(
    min_dims: int = 0, max_dims: int = 3, min_side: int = 0, max_side: int = 3
) -> SearchStrategy[tuple[int, ...]]:
    """A strategy for shapes: 0-d, sides of 1 and empty arrays among them.

    Raises ImportError, naming the extra to install, where Hypothesis is missing.

    >>> from hypothesis import given
    >>> @given(shapes(min_dims=1, max_dims=2))
    ... def check(shape):
    ...     assert 1 <= len(shape) <= 2
    >>> check()
    """
    found: SearchStrategy[tuple[int, ...]] = _hypothesis().extra.numpy.array_shapes(
        min_dims=min_dims, max_dims=max_dims, min_side=min_side, max_side=max_side
    )
    return found


def arrays(
    dtype: Any = np.float64,
    shape: Any = None,
    *,
    low: float = -2.0,
    high: float = 2.0,
    phase: float = 0.5,
    layouts: tuple[str, ...] = LAYOUTS,
    hermitian: bool = False,
) -> SearchStrategy[Any]:
    """A strategy for floating or complex arrays between two bounds, fit for `check_rule`.

    No two elements are equal, and none is a round number such as 0 or 1, so that functions with
    kinks and ties are differentiable there. `shape` is a shape or a strategy for one. Arrays
    drawn with different phases (between 0 and 1) share no element. `layouts` are
    the memory orders to draw from: "C", "F", "strided" (every second element of a larger array),
    "reversed" (negative strides). 0-d arrays may come as NumPy scalars. For complex dtypes the
    bounds hold for both parts. `hermitian`: symmetric or Hermitian matrices, where elements are
    equal in pairs; the last two sides of the shape must be the same.

    Raises InputError for Hermitian matrices that would not be square.
    Raises ImportError, naming the extra to install, where Hypothesis is missing.

    >>> from hypothesis import given
    >>> from tapegrad.testing import check_rule
    >>> @given(arrays(shape=(2, 3), low=0.1))
    ... def check(x):
    ...     check_rule(np.sqrt, x)
    >>> check()
    """
    st = _hypothesis().strategies
    if shape is None:
        shape = shapes()
    drawn = shape if isinstance(shape, st.SearchStrategy) else st.just(shape)
    made: SearchStrategy[Any] = st.builds(
        make_array,
        drawn,
        st.just(np.dtype(dtype)),
        st.integers(0, 2**32 - 1),
        st.sampled_from(layouts),
        st.just((low, high)),
        st.just(phase),
    )
    return made.map(_hermitian) if hermitian else made


def _hermitian(values: Any) -> Any:
    """The matrices that lower triangles make, in the memory layout of the values."""
    if values.ndim < 2 or values.shape[-1] != values.shape[-2]:
        raise InputError(
            message(
                "tapegrad.testing.arrays",
                "the shape of square matrices, for hermitian=True",
                str(values.shape),
                "Pass shape=(..., n, n)",
            )
        )
    below = np.tril(values, -1)
    diagonal = values.real * np.eye(values.shape[-1], dtype=values.real.dtype)
    values[...] = below + np.conjugate(np.swapaxes(below, -1, -2)) + diagonal
    return values


def make_array(
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    seed: int,
    layout: str,
    bounds: tuple[float, float],
    phase: float,
) -> Value:
    """An array of distinct values from a grid, in random order and in a memory layout."""
    random = np.random.default_rng(seed)
    values = _grid_points(random, shape, bounds, phase)
    if dtype.kind == "c":
        values = values + 1j * _grid_points(random, shape, bounds, phase)
    return laid_out(values.astype(dtype), layout)


def _grid_points(
    random: np.random.Generator, shape: tuple[int, ...], bounds: tuple[float, float], phase: float
) -> Value:
    size = int(np.prod(shape, dtype=np.intp))
    low, high = bounds
    count = max(64, 1 << size.bit_length())  # a power of two: 0 lies between points of (-a, a)
    # An irrational shift: no point of one phase lies on the finer grid of another.
    places = random.permutation(count)[:size] + (3 * phase + np.sqrt(2) - 1) / 4
    return (low + places * ((high - low) / count)).reshape(shape)


def laid_out(values: Value, layout: str) -> Value:
    """Equal values in another memory layout; a 0-d array not in C order becomes a scalar."""
    if layout == "C":
        return values
    if values.ndim == 0:
        return values[()]
    if layout == "F":
        return np.asfortranarray(values)
    if layout == "strided":
        wide = np.repeat(values, 2, axis=-1)
        return wide[..., ::2]
    backward = (slice(None, None, -1),) * values.ndim
    return np.ascontiguousarray(values[backward])[backward]
