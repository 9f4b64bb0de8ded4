"""`arrays`: elements by domain, in memory by layout."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tapegrad._core.types import Value
from tapegrad.testing._strategies.asking import (
    Shape,
    asked_dtype,
    asked_shape,
    asked_words,
    refuse,
)
from tapegrad.testing._strategies.domains import (
    BOUNDS,
    asked_domain,
    asked_field,
    code_count,
    elements,
    with_special,
)
from tapegrad.testing._strategies.drawing import Draw, codes, is_strategy
from tapegrad.testing._strategies.drawing import strategy as strategy_of
from tapegrad.testing._strategies.grids import Field
from tapegrad.testing._strategies.layouts import ALL_LAYOUTS, LAYOUTS, noted_layout
from tapegrad.testing._strategies.shapes import shapes

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


class Elements(NamedTuple):
    """Requirements on elements: of any shape and dtype."""

    words: tuple[str, ...]
    field: Field

    def drawn(self, draw: Draw, shape: Shape, dtype: np.dtype[Any], layouts: int) -> Any:
        """Values in C order, and one of so many layouts: of one string of choices."""
        size = math.prod(shape)
        if dtype.kind in "iub":
            raw = codes(draw, 1 + size)
            return self._integers(raw[1:], dtype).reshape(shape), raw[0] * layouts >> 8
        # Every part reads its own choices; what is past the layout belongs to the elements.
        count = code_count(self.words, size)
        complex_ = dtype.kind == "c"
        raw = codes(draw, 1 + count * (1 + complex_))
        real = dtype.type(0).real.dtype
        values = self._part(raw[1 : 1 + count], real, size, self.field)
        if complex_:
            # Of one grid, a + bi and b + ai would be of one absolute value: a tie of maxima.
            other = self.field._replace(phase=(self.field.phase + 0.115) % 1)
            parts = np.empty(size, dtype)
            parts.real, parts.imag = values, self._part(raw[1 + count :], real, size, other)
            values = parts
        values = values.reshape(shape)
        if "sorted" in self.words and values.ndim:
            values.sort(axis=-1)
        return values, raw[0] * layouts >> 8

    def _part(self, raw: bytes, real: np.dtype[Any], size: int, field: Field) -> Value:
        values = elements(raw, self.words, field, real, size)
        return with_special(raw, self.words, values)

    def _integers(self, raw: bytes, dtype: np.dtype[Any]) -> Value:
        """Integers between the bounds, 0 first, then 1, -1, 2, ...; they may repeat."""
        if dtype.kind == "b":
            return np.frombuffer(raw, np.uint8) >= 128
        low, high = math.ceil(self.field.low), math.floor(self.field.high)
        choices = sorted(range(low, high + 1), key=lambda n: (abs(n), n < 0))
        return np.array([choices[code * len(choices) >> 8] for code in raw], dtype)


def arrays(
    dtype: Any = np.float64,
    shape: Any = None,
    *,
    low: float | None = None,
    high: float | None = None,
    phase: float = 0.5,
    layouts: tuple[str, ...] = LAYOUTS,
    hermitian: bool = False,
    domain: str | tuple[str, ...] = "real",
    away_from: Any = (),
    margin: float = 0.01,
) -> SearchStrategy[Any]:
    """A strategy for arrays between two bounds, fit for `check_rule`.

    No two elements are equal, nor are absolute values of complex ones (as far as the dtype can
    tell them apart), and none is a round number
    such as 0 or 1, so that functions with kinks and ties are differentiable there. Failing
    examples shrink to small shapes and to short decimals of small magnitude, element by element.

    Parameters
    ----------
    dtype : dtype or SearchStrategy of such, default float64
        Floating, complex, integer or bool. For complex dtypes bounds and domains hold for both
        parts. Integers and booleans may repeat.
    shape : tuple of int or SearchStrategy of such, optional
        Of `shapes()` by default. 0-d arrays may come as NumPy scalars.
    low, high : float, optional
        Bounds; those of the domain where they are left away.
    phase : float, default 0.5
        A number from 0 to 1. Arrays of float64 drawn with phases that are 0.01 or more apart share
        no element, unless their bounds are so close together that decimals of 15 digits cannot
        tell them apart; narrower dtypes may round two elements to one, and integers, booleans and
        subnormal numbers are the same in every phase.
    layouts : tuple of str, default ("C", "F", "strided", "reversed")
        The memory orders to draw from: also "rolled", "unaligned", "readonly"; see `layouts`.
    hermitian : bool, default False
        Whether they are symmetric or Hermitian matrices, where elements are equal in pairs.
    domain : str or tuple of str, default "real"
        A word, or several:

        - "real" (-2 to 2), "positive" (above 0, to 2), "negative" (-2 to below 0), "unit" (between
          0 and 1): bounds, where `low` and `high` are left away
        - "distinct": an InputError where the dtype has too few numbers between the bounds
        - "sorted": ascending along the last axis
        - "ties": some elements are equal, on purpose, where there are two or more
        - "nan", "infinite", "nonfinite": some elements, at least one, are NaN, or infinities of
          either sign, or any of them
        - "subnormal": elements are subnormal numbers
    away_from : float or sequence of float, default ()
        Numbers, such as the places of kinks, to which no element is close.
    margin : float, default 0.01
        How far elements stay from `away_from`.

    Returns
    -------
    SearchStrategy of numpy.ndarray
        The arrays.

    Raises
    ------
    InputError
        For what contradicts itself: bounds without room, Hermitian matrices that would not be
        square, sorted complex numbers, words that exclude each other.
    ImportError
        If Hypothesis is missing; it names the extra to install.

    See Also
    --------
    tapegrad.testing.check_rule : What the arrays are made for.
    tapegrad.testing.strategies : Matrices, views, indices, pytrees.

    Examples
    --------
    >>> from hypothesis import given
    >>> from tapegrad.testing import check_rule
    >>> @given(arrays(shape=(2, 3), low=0.1))
    ... def check(x):
    ...     check_rule(np.sqrt, x)
    >>> check()
    >>> @given(arrays(domain=("unit", "sorted"), away_from=0.5, margin=0.1))
    ... def check(x):
    ...     assert np.all(np.abs(x - 0.5) >= 0.1)
    ...     assert np.all(np.diff(np.atleast_1d(x)) > 0)
    >>> check()
    """
    words = asked_domain("arrays", domain)
    names = asked_words("arrays", "layouts", layouts, ALL_LAYOUTS)
    asked = Elements(words, asked_field("arrays", words, (low, high), phase, away_from, margin))
    if hermitian and set(words) - {*BOUNDS, "distinct"}:
        refuse(
            "arrays", "bounds alone as the domain, for hermitian=True", repr(domain), "Drop one"
        )
    if shape is None:
        shape = shapes()

    def of_dtype(dtype: Any) -> np.dtype[Any]:
        found = asked_dtype("arrays", dtype, "fciub")
        if "sorted" in words and found.kind == "c":
            refuse("arrays", "a real dtype, for sorted elements", str(found), "Pass np.float64")
        if found.kind in "iub" and set(words) - {*BOUNDS}:
            refuse("arrays", f"a floating dtype, for domain={domain!r}", str(found), "Pass one")
        if found.kind in "iu" and math.ceil(asked.field.low) > math.floor(asked.field.high):
            refuse("arrays", "an integer between low and high", "none", "Pass wider bounds")
        if found.kind == "u" and asked.field.low < 0:
            refuse("arrays", "low of 0 or more, for unsigned integers", str(low), "Pass low=0")
        return found

    def of_shape(shape: Any) -> Shape:
        found = asked_shape("arrays", shape)
        if hermitian and (len(found) < 2 or found[-1] != found[-2]):
            words = "the shape of square matrices, for hermitian=True"
            refuse("arrays", words, str(found), "Pass shape=(..., n, n)")
        return found

    dtype = dtype if is_strategy(dtype) else of_dtype(dtype)
    shape = shape if is_strategy(shape) else of_shape(shape)
    if "distinct" in words and not is_strategy(dtype) and not is_strategy(shape):
        size = math.prod(shape)
        elements(bytes(size), words, asked.field, dtype.type(0).real.dtype, size)

    def make(draw: Draw) -> Any:
        sides = of_shape(draw(shape)) if not isinstance(shape, tuple) else shape
        kind = of_dtype(draw(dtype)) if not isinstance(dtype, np.dtype) else dtype
        values, layout = asked.drawn(draw, sides, kind, len(names))
        if hermitian:
            values = as_hermitian(values)
        return noted_layout(values, names[layout])

    return strategy_of("arrays", make)


def as_hermitian(values: Value) -> Value:
    """The matrices that lower triangles make."""
    below = np.tril(values, -1)
    diagonal = values.real * np.eye(values.shape[-1], dtype=values.real.dtype)
    return below + np.conjugate(np.swapaxes(below, -1, -2)) + diagonal
