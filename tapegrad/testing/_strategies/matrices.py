"""Matrices by structure: each keeps it to the rounding of its dtype, in any memory layout."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad.testing._strategies.arrays import Elements, as_hermitian
from tapegrad.testing._strategies.asking import (
    Shape,
    asked_count,
    asked_dtype,
    asked_number,
    asked_shape,
    asked_words,
    matrix_shape,
    refuse,
    square_shape,
)
from tapegrad.testing._strategies.drawing import Choices, Draw, drawn, is_strategy
from tapegrad.testing._strategies.drawing import strategy as strategy_of
from tapegrad.testing._strategies.grids import Field
from tapegrad.testing._strategies.layouts import ALL_LAYOUTS, LAYOUTS, noted_layout
from tapegrad.testing._strategies.shapes import shapes, square_shapes
from tapegrad.testing._strategies.spectra import (
    adjoint,
    repeated,
    rounded,
    spectrum,
    unitary,
    wide,
)

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

Make = Callable[[Draw, Shape, np.dtype[Any]], Value]


def _matrices(
    call: str,
    dtype: Any,
    shape: Any,
    layouts: tuple[str, ...],
    make: Make,
    *,
    square: bool = True,
    kinds: str = "fc",
    fits: Callable[[Shape, np.dtype[Any]], None] = lambda shape, dtype: None,
) -> SearchStrategy[Any]:
    """A strategy for what `make` makes; the arguments are checked now where they are known."""
    names = asked_words(call, "layouts", layouts, ALL_LAYOUTS)
    if shape is None:
        shape = square_shapes() if square else shapes(min_dims=2, min_side=1)

    def of_shape(given: Any) -> Shape:
        found = asked_shape(call, given)
        return square_shape(call, found) if square else matrix_shape(call, found)

    def of_dtype(given: Any) -> np.dtype[Any]:
        return asked_dtype(call, given, kinds)

    shape = shape if is_strategy(shape) else of_shape(shape)
    dtype = dtype if is_strategy(dtype) else of_dtype(dtype)
    if isinstance(shape, tuple) and isinstance(dtype, np.dtype):
        fits(shape, dtype)

    def drawn_matrices(draw: Draw) -> Any:
        sides, kind = of_shape(drawn(draw, shape)), of_dtype(drawn(draw, dtype))
        fits(sides, kind)
        layout = Choices.drawn(draw, 1).among(names) if len(names) > 1 else names[0]
        return noted_layout(make(draw, sides, kind), layout)

    return strategy_of(call, drawn_matrices)


def _asked_condition(call: str, condition: Any, least: float = 1.0) -> float:
    found = asked_number(call, "condition", condition)
    if found < least:
        refuse(call, f"a condition number of {least:g} or more", repr(condition), "Pass one")
    return found


def _resolves(call: str, condition: float) -> Callable[[Shape, np.dtype[Any]], None]:
    """Whether a dtype can hold matrices of such a condition number."""

    def fits(_shape: Shape, dtype: np.dtype[Any]) -> None:
        most = 0.1 / float(np.finfo(dtype).eps)
        if condition > most:
            refuse(
                call,
                f"a condition number of at most {most:.0e}, for {dtype}",
                f"{condition:g}",
                "Lower it, or pass a wider dtype",
            )

    return fits


def _simple(low: float, high: float) -> Elements:
    return Elements(("real",), Field(low, high))


# --- By elements --------------------------------------------------------------------------------


def symmetric_matrices(
    dtype: Any = np.float64,
    shape: Any = None,
    *,
    low: float = -2.0,
    high: float = 2.0,
    layouts: tuple[str, ...] = LAYOUTS,
) -> SearchStrategy[Any]:
    """A strategy for symmetric matrices, Hermitian ones of complex dtypes, to the last bit.

    No two elements of the lower triangle are equal.

    Parameters
    ----------
    dtype : dtype or SearchStrategy of such, default float64
        Floating or complex.
    shape : tuple of int or SearchStrategy of such, optional
        (..., n, n); by default n is 1 to 3, with no stack or one of 1 or 2.
    low, high : float, default -2 and 2
        Bounds of the elements, of both parts of complex ones.
    layouts : tuple of str, default ("C", "F", "strided", "reversed")
        Memory orders, as of `arrays`.

    Returns
    -------
    SearchStrategy of numpy.ndarray
        The matrices, of shape (..., n, n).

    Raises
    ------
    InputError
        If the shape is not of square matrices, or the bounds have no room.

    Examples
    --------
    >>> from hypothesis import given
    >>> @given(symmetric_matrices(np.complex128, (2, 3, 3)))
    ... def check(a):
    ...     assert np.array_equal(a, np.conj(np.swapaxes(a, -1, -2)))
    >>> check()
    """
    least, most = asked_number("symmetric_matrices", "low", low), float(high)
    if not least < most:
        refuse("symmetric_matrices", "low below high", f"{low} and {high}", "Exchange them")
    elements = _simple(least, most)

    def make(draw: Draw, shape: Shape, dtype: np.dtype[Any]) -> Value:
        return as_hermitian(elements.drawn(draw, shape, dtype, 1)[0])

    return _matrices("symmetric_matrices", dtype, shape, layouts, make)


def triangular_matrices(
    dtype: Any = np.float64,
    shape: Any = None,
    *,
    lower: bool | None = None,
    unit_diagonal: bool = False,
    layouts: tuple[str, ...] = LAYOUTS,
) -> SearchStrategy[Any]:
    """A strategy for triangular matrices that can be inverted.

    The elements of the diagonal are between 0.5 and 2 in magnitude, or 1; the others between -1
    and 1, in both parts of complex ones.

    Parameters
    ----------
    dtype : dtype or SearchStrategy of such, default float64
        Floating or complex.
    shape : tuple of int or SearchStrategy of such, optional
        (..., n, n); by default n is 1 to 3, with no stack or one of 1 or 2.
    lower : bool, optional
        Lower ones (True), upper ones (False), either (None, the default).
    unit_diagonal : bool, default False
        Whether the diagonal is 1.
    layouts : tuple of str, default ("C", "F", "strided", "reversed")
        Memory orders, as of `arrays`.

    Returns
    -------
    SearchStrategy of numpy.ndarray
        The matrices, of shape (..., n, n).

    Raises
    ------
    InputError
        If the shape is not of square matrices, or `lower` is none of these.

    Examples
    --------
    >>> from hypothesis import given
    >>> @given(triangular_matrices(shape=(3, 3), lower=True))
    ... def check(a):
    ...     assert np.array_equal(a, np.tril(a))
    ...     assert np.all(np.abs(np.diag(a)) >= 0.5)
    >>> check()
    """
    elements, diagonals = _simple(-1, 1), _simple(0.5, 2)
    if lower not in (True, False, None):
        refuse("triangular_matrices", "True, False or None for lower", repr(lower), "Pass one")

    def make(draw: Draw, shape: Shape, dtype: np.dtype[Any]) -> Value:
        side = shape[-1]
        values = elements.drawn(draw, shape, dtype, 1)[0]
        below = Choices.drawn(draw, 1).below(2) == 0 if lower is None else lower
        values = np.tril(values, -1) if below else np.triu(values, 1)
        real = dtype.type(0).real.dtype
        diagonal = np.ones(shape[:-1], real)
        if not unit_diagonal:
            diagonal = diagonals.drawn(draw, shape[:-1], real, 1)[0]
            signs = Choices.drawn(draw, diagonal.size)
            flips = [signs.flag() for _ in range(diagonal.size)]
            diagonal = np.where(
                np.reshape(np.array(flips, bool), diagonal.shape), -diagonal, diagonal
            )
        values[..., range(side), range(side)] = diagonal
        return values

    return _matrices("triangular_matrices", dtype, shape, layouts, make)


def stochastic_matrices(
    dtype: Any = np.float64,
    shape: Any = None,
    *,
    axis: int = -1,
    layouts: tuple[str, ...] = LAYOUTS,
) -> SearchStrategy[Any]:
    """A strategy for matrices of positive elements whose sums along an axis are 1.

    Parameters
    ----------
    dtype : dtype or SearchStrategy of such, default float64
        Floating.
    shape : tuple of int or SearchStrategy of such, optional
        (..., m, n); by default 2 or 3 sides of 1 to 3.
    axis : int, default -1
        -1 for rows that sum to 1, -2 for columns.
    layouts : tuple of str, default ("C", "F", "strided", "reversed")
        Memory orders, as of `arrays`.

    Returns
    -------
    SearchStrategy of numpy.ndarray
        The matrices, of shape (..., m, n).

    Raises
    ------
    InputError
        For another axis, a complex dtype, and sums of no elements.

    Examples
    --------
    >>> from hypothesis import given
    >>> @given(stochastic_matrices(shape=(2, 3)))
    ... def check(p):
    ...     assert np.allclose(p.sum(axis=-1), 1) and np.all(p > 0)
    >>> check()
    """
    elements = _simple(0.1, 2)
    if axis not in (-1, -2):
        refuse("stochastic_matrices", "axis -1 (rows) or -2 (columns)", repr(axis), "Pass one")

    def fits(shape: Shape, _dtype: np.dtype[Any]) -> None:
        if shape[axis] == 0:
            refuse(
                "stochastic_matrices",
                "sums of one element or more",
                str(shape),
                "Pass a longer side",
            )

    def make(draw: Draw, shape: Shape, dtype: np.dtype[Any]) -> Value:
        values = elements.drawn(draw, shape, wide(dtype), 1)[0]
        return rounded(values / values.sum(axis=axis, keepdims=True), dtype)

    return _matrices(
        "stochastic_matrices", dtype, shape, layouts, make, square=False, kinds="f", fits=fits
    )


# --- By spectrum --------------------------------------------------------------------------------


def orthogonal_matrices(
    dtype: Any = np.float64, shape: Any = None, *, layouts: tuple[str, ...] = LAYOUTS
) -> SearchStrategy[Any]:
    """A strategy for orthogonal matrices, unitary ones of complex dtypes; the identity first.

    Determinants of 1 and of -1 are among them.

    Parameters
    ----------
    dtype : dtype or SearchStrategy of such, default float64
        Floating or complex.
    shape : tuple of int or SearchStrategy of such, optional
        (..., n, n); by default n is 1 to 3, with no stack or one of 1 or 2.
    layouts : tuple of str, default ("C", "F", "strided", "reversed")
        Memory orders, as of `arrays`.

    Returns
    -------
    SearchStrategy of numpy.ndarray
        The matrices, of shape (..., n, n).

    Raises
    ------
    InputError
        If the shape is not of square matrices.

    Examples
    --------
    >>> from hypothesis import given
    >>> @given(orthogonal_matrices(shape=(3, 3)))
    ... def check(q):
    ...     assert np.allclose(q.T @ q, np.eye(3))
    >>> check()
    """

    def make(draw: Draw, shape: Shape, dtype: np.dtype[Any]) -> Value:
        return rounded(unitary(draw, shape[:-2], shape[-1], dtype), dtype)

    return _matrices("orthogonal_matrices", dtype, shape, layouts, make)


def positive_definite_matrices(
    dtype: Any = np.float64,
    shape: Any = None,
    *,
    condition: float = 10.0,
    layouts: tuple[str, ...] = LAYOUTS,
) -> SearchStrategy[Any]:
    """A strategy for symmetric or Hermitian positive definite matrices of a condition number.

    The eigenvalues are distinct, the least is 1 and the largest `condition`, up to rounding; that
    of a matrix of one row is anywhere between. They shrink to diagonal matrices.

    Parameters
    ----------
    dtype : dtype or SearchStrategy of such, default float64
        Floating or complex.
    shape : tuple of int or SearchStrategy of such, optional
        (..., n, n); by default n is 1 to 3, with no stack or one of 1 or 2.
    condition : float, default 10
        The condition number.
    layouts : tuple of str, default ("C", "F", "strided", "reversed")
        Memory orders, as of `arrays`.

    Returns
    -------
    SearchStrategy of numpy.ndarray
        The matrices, of shape (..., n, n).

    Raises
    ------
    InputError
        If the condition number is below 1, or above a tenth of the reciprocal of the dtype's
        resolution, or the shape is not of square matrices.

    Examples
    --------
    >>> from hypothesis import given
    >>> @given(positive_definite_matrices(shape=(3, 3), condition=100.0))
    ... def check(a):
    ...     assert np.isclose(np.linalg.cond(a), 100)
    >>> check()
    """
    call = "positive_definite_matrices"
    condition = _asked_condition(call, condition)

    def make(draw: Draw, shape: Shape, dtype: np.dtype[Any]) -> Value:
        values = spectrum(draw, shape[:-2], shape[-1], condition)
        return _around(draw, values, shape, dtype)

    return _matrices(call, dtype, shape, layouts, make, fits=_resolves(call, condition))


def degenerate_matrices(
    dtype: Any = np.float64,
    shape: Any = None,
    *,
    multiplicity: int | None = None,
    layouts: tuple[str, ...] = LAYOUTS,
) -> SearchStrategy[Any]:
    """A strategy for symmetric or Hermitian matrices with eigenvalues that are equal.

    Different eigenvalues are 0.25 or more apart, and none is larger than n + 2. Equal ones are
    equal up to rounding.

    Parameters
    ----------
    dtype : dtype or SearchStrategy of such, default float64
        Floating or complex.
    shape : tuple of int or SearchStrategy of such, optional
        (..., n, n) of two rows or more.
    multiplicity : int, optional
        How often one of the eigenvalues stands, 2 or more; the others stand once. Left away, any
        number of them stands any number of times, at least one twice.
    layouts : tuple of str, default ("C", "F", "strided", "reversed")
        Memory orders, as of `arrays`.

    Returns
    -------
    SearchStrategy of numpy.ndarray
        The matrices, of shape (..., n, n).

    Raises
    ------
    InputError
        If the matrices have fewer rows than the multiplicity, or that is below 2.

    Examples
    --------
    >>> from hypothesis import given
    >>> @given(degenerate_matrices(shape=(3, 3), multiplicity=2))
    ... def check(a):
    ...     gaps = np.diff(np.linalg.eigvalsh(a))
    ...     assert np.sum(gaps < 1e-12) == 1
    >>> check()
    """
    call = "degenerate_matrices"
    if multiplicity is not None:
        asked_count(call, "multiplicity", multiplicity, 2)
    least = multiplicity or 2
    if shape is None:
        shape = square_shapes(min_side=least, max_side=max(3, least + 1))

    def fits(shape: Shape, _dtype: np.dtype[Any]) -> None:
        if shape[-1] < least:
            refuse(call, f"matrices of {least} rows or more", str(shape), "Pass a larger shape")

    def make(draw: Draw, shape: Shape, dtype: np.dtype[Any]) -> Value:
        values = repeated(draw, shape[:-2], shape[-1], multiplicity)
        return _around(draw, values, shape, dtype)

    return _matrices(call, dtype, shape, layouts, make, fits=fits)


def full_rank_matrices(
    dtype: Any = np.float64,
    shape: Any = None,
    *,
    condition: float = 10.0,
    layouts: tuple[str, ...] = LAYOUTS,
) -> SearchStrategy[Any]:
    """A strategy for matrices of full rank and a condition number, square or not.

    The singular values are distinct, the least is 1 and the largest `condition`, up to rounding.

    Parameters
    ----------
    dtype : dtype or SearchStrategy of such, default float64
        Floating or complex.
    shape : tuple of int or SearchStrategy of such, optional
        (..., m, n); by default 2 or 3 sides of 1 to 3.
    condition : float, default 10
        The condition number.
    layouts : tuple of str, default ("C", "F", "strided", "reversed")
        Memory orders, as of `arrays`.

    Returns
    -------
    SearchStrategy of numpy.ndarray
        The matrices, of shape (..., m, n).

    Raises
    ------
    InputError
        If the condition number is below 1, or above a tenth of the reciprocal of the dtype's
        resolution, or the shape has fewer than two dimensions.

    Examples
    --------
    >>> from hypothesis import given
    >>> @given(full_rank_matrices(shape=(3, 2), condition=5.0))
    ... def check(a):
    ...     assert np.isclose(np.linalg.cond(a), 5)
    >>> check()
    """
    call = "full_rank_matrices"
    condition = _asked_condition(call, condition)

    def make(draw: Draw, shape: Shape, dtype: np.dtype[Any]) -> Value:
        return _between(draw, shape, dtype, min(shape[-2:]), condition)

    return _matrices(
        call, dtype, shape, layouts, make, square=False, fits=_resolves(call, condition)
    )


def low_rank_matrices(
    dtype: Any = np.float64,
    shape: Any = None,
    *,
    rank: int = 1,
    condition: float = 10.0,
    layouts: tuple[str, ...] = LAYOUTS,
) -> SearchStrategy[Any]:
    """A strategy for matrices of a rank below their sides, up to rounding.

    The singular values that are not zero are distinct, the least is 1 and the largest
    `condition`.

    Parameters
    ----------
    dtype : dtype or SearchStrategy of such, default float64
        Floating or complex.
    shape : tuple of int or SearchStrategy of such, optional
        (..., m, n), both larger than `rank`.
    rank : int, default 1
        How many singular values are not zero.
    condition : float, default 10
        The largest of these by the least.
    layouts : tuple of str, default ("C", "F", "strided", "reversed")
        Memory orders, as of `arrays`.

    Returns
    -------
    SearchStrategy of numpy.ndarray
        The matrices, of shape (..., m, n).

    Raises
    ------
    InputError
        If sides are not larger than the rank, or the condition number is below 1, or above a tenth
        of the reciprocal of the dtype's resolution.

    Examples
    --------
    >>> from hypothesis import given
    >>> @given(low_rank_matrices(shape=(3, 4), rank=2))
    ... def check(a):
    ...     assert np.linalg.matrix_rank(a) == 2
    >>> check()
    """
    call = "low_rank_matrices"
    condition = _asked_condition(call, condition)
    asked_count(call, "rank", rank)
    if shape is None:
        shape = shapes(min_dims=2, min_side=rank + 1, max_side=rank + 3)
    resolves = _resolves(call, condition)

    def fits(shape: Shape, dtype: np.dtype[Any]) -> None:
        resolves(shape, dtype)
        if min(shape[-2:]) <= rank:
            refuse(
                call, f"matrices of more than {rank} rows and columns", str(shape), "Lower rank"
            )

    def make(draw: Draw, shape: Shape, dtype: np.dtype[Any]) -> Value:
        return _between(draw, shape, dtype, rank, condition)

    return _matrices(call, dtype, shape, layouts, make, square=False, fits=fits)


def _around(draw: Draw, values: Value, shape: Shape, dtype: np.dtype[Any]) -> Value:
    """The Hermitian matrices of these eigenvalues."""
    vectors = unitary(draw, shape[:-2], shape[-1], dtype)
    product = (vectors * values.astype(wide(dtype))[..., None, :]) @ adjoint(vectors)
    return rounded(product, dtype, hermitian=True)


def _between(draw: Draw, shape: Shape, dtype: np.dtype[Any], rank: int, condition: float) -> Value:
    """Matrices of so many singular values from 1 to the condition."""
    *stack, rows, columns = shape
    values = spectrum(draw, tuple(stack), rank, condition).astype(wide(dtype))
    left = unitary(draw, tuple(stack), rows, dtype)[..., :, :rank]
    right = unitary(draw, tuple(stack), columns, dtype)[..., :rank, :]
    return rounded((left * values[..., None, :]) @ right, dtype)


__all__ = [
    "degenerate_matrices",
    "full_rank_matrices",
    "low_rank_matrices",
    "orthogonal_matrices",
    "positive_definite_matrices",
    "stochastic_matrices",
    "symmetric_matrices",
    "triangular_matrices",
]
