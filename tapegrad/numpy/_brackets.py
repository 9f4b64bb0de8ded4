"""Objects to index: `r_` and `c_` join what is in the brackets, `mgrid` and `ogrid` span grids.

Parts, and the bounds of ranges, may be traced.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tapegrad._arrays.conversion import array
from tapegrad._arrays.creation import arange
from tapegrad._core.types import Index, Value
from tapegrad._core.values import holds_in_trace, is_plain_number
from tapegrad._errors import NotDifferentiableError


class _Layout(NamedTuple):
    """The axis that joins the parts, how many axes each gets at least, where its own begin."""

    axis: int
    ndmin: int
    first: int

    def with_directive(self, directive: str) -> _Layout:
        """The layout that a string in front of the parts asks for, such as "0,2,-1"."""
        if directive in ("r", "c"):
            raise NotDifferentiableError(
                f"np.r_[{directive!r}, ...]: np.matrix cannot carry a derivative. Leave the "
                "letter away, or use np.stack."
            )
        try:
            numbers = [int(number) for number in directive.split(",")]
        except ValueError:
            raise ValueError(f"unknown special directive {directive!r}") from None
        return _Layout(*numbers, *self[len(numbers) :])

    def place(self, part: Value) -> Value:
        """A part with as many axes as asked for, its own at the positions that the layout says."""
        missing = self.ndmin - part.ndim
        if missing <= 0:
            return part
        before = self.first if self.first >= 0 else self.first + missing + 1
        return part.reshape((1,) * before + part.shape + (1,) * (missing - before))


class Concatenator:
    """Join the parts in its brackets, as `numpy.r_` and `numpy.c_`, traced or not.

    The bounds of ranges may be traced too.

    Parameters
    ----------
    plain : object
        NumPy's own, for parts without tracing.
    layout : tuple
        The axis that joins, how many axes each part gets at least, and where its own begin.

    Examples
    --------
    >>> import tapegrad
    >>> import tapegrad.numpy as tnp
    >>> tapegrad.grad(lambda x: (tnp.r_[x, 0.0, 2 * x] ** 2).sum())(1.0)
    np.float64(10.0)
    """

    def __init__(self, plain: Any, layout: _Layout) -> None:
        self.plain = plain  # NumPy's own, for parts without tracing
        self.layout = layout

    def __getitem__(self, key: Index) -> Value:
        parts = key if isinstance(key, tuple) else (key,)
        if not any(map(_is_traced, parts)):
            return self.plain[key]
        layout = self.layout
        if isinstance(parts[0], str):
            layout, parts = layout.with_directive(parts[0]), parts[1:]
        if any(isinstance(part, str) for part in parts):
            raise ValueError("special directives must be the first entry.")
        arrays = [_range(part) if isinstance(part, slice) else array(part) for part in parts]
        weak = [
            part if is_plain_number(part) else made.dtype
            for part, made in zip(parts, arrays, strict=True)
        ]
        dtype = np.result_type(*weak)
        placed = [layout.place(made.astype(dtype, copy=False)) for made in arrays]
        return np.concatenate(placed, axis=layout.axis)

    def __len__(self) -> int:
        return 0


def _is_traced(part: Index) -> bool:
    if isinstance(part, slice):
        return holds_in_trace([part.start, part.stop, part.step])
    return holds_in_trace(part)


def _range(part: slice) -> Value:
    """`start:stop:step` as np.arange, `start:stop:5j` as five numbers with both ends."""
    start = 0 if part.start is None else part.start
    step = 1 if part.step is None else part.step
    if isinstance(step, complex):
        return np.linspace(start, part.stop, int(abs(step)))
    return arange(start, part.stop, step)


class Grid:
    """Span a grid of the ranges in its brackets, as `numpy.mgrid` and `numpy.ogrid`.

    The bounds of ranges may be traced.

    Parameters
    ----------
    plain : object
        NumPy's own, for bounds without tracing.
    sparse : bool
        Whether there is an array for each axis that is 1 along the others, as of `ogrid`.

    Examples
    --------
    >>> import tapegrad
    >>> import tapegrad.numpy as tnp
    >>> tapegrad.grad(lambda x: tnp.mgrid[0:x:3j].sum())(2.0)
    np.float64(1.5)
    """

    def __init__(self, plain: Any, *, sparse: bool) -> None:
        self.plain = plain  # NumPy's own, for bounds without tracing
        self.sparse = sparse

    def __getitem__(self, key: Index) -> Value:
        if not any(map(_is_traced, key if isinstance(key, tuple) else (key,))):
            return self.plain[key]
        if isinstance(key, slice):
            return _range(key)
        axes = [_range(part) for part in key]
        dtype = np.result_type(*(axis.dtype for axis in axes))
        axes = [axis.astype(dtype, copy=False) for axis in axes]
        grid = np.meshgrid(*axes, indexing="ij", sparse=self.sparse)
        return tuple(grid) if self.sparse else np.stack(grid)


mgrid = Grid(np.mgrid, sparse=False)
ogrid = Grid(np.ogrid, sparse=True)
r_ = Concatenator(np.r_, _Layout(0, 1, -1))
c_ = Concatenator(np.c_, _Layout(-1, 2, 0))
