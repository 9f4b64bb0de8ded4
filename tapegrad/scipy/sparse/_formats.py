"""Names of SciPy's formats, and what SciPy's classes have for one of them alone.

Knows the elements and positions of `Stored`: they are the same in all.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from tapegrad._errors import MemoryAttributeError
from tapegrad.scipy.sparse._base import COMPRESSED, FORMATS, Stored, cast_within

# Attributes of an object, which its class does not have.
_PARTS = {"indices", "indptr", "offsets", "rows", "blocksize", "maxprint"}


class Formats(Stored):
    """The methods about formats, and about how the elements lie in memory."""

    def __getattr__(self, name: str) -> Any:
        kind = type(self).__name__
        if name in _PARTS or not name.startswith("_") and name in _of_some_format():
            raise MemoryAttributeError(
                f"{kind}.{name}: expected what is alike in all formats: data, row, col, coords "
                "and indexing. Take these, or A.plain() for a constant array of SciPy's, which "
                f"has {name} if its format has."
            )
        raise AttributeError(f"{kind!r} object has no attribute {name!r}")

    def asformat(self, format: str | None, copy: bool = False) -> Any:
        """Return the same array under the name of another format.

        Parameters
        ----------
        format : str or None
            "csr", "csc", "coo", "dia", "bsr", "lil" or "dok"; None keeps the format.
        copy : bool, default False
            Whether the elements are copied; they are shared otherwise.

        Returns
        -------
        SparseArray
            The array.

        Raises
        ------
        ValueError
            Of another format, or of one that SciPy lacks for this number of axes.
        """
        if format not in (None, *FORMATS):
            raise ValueError(f"Format {format} is unknown.")
        if format and self._format_of(self.shape, format) != format:
            raise ValueError(f"Cannot convert an array of {self.ndim} axes to {format} format")
        data, coords = np.copy(self.data) if copy else self.data, self.coords
        other = format or self.format
        if self.ndim == 2 and {self.format, other} == {"csr", "csc"}:  # duplicates stay, as there
            order = np.argsort(self.row if other == "csr" else self.col, kind="stable")
            data, coords = data[order], tuple(i[order] for i in coords)
        made = type(self)(data, coords, self.shape, other)
        return made._merged() if other in COMPRESSED and self.format not in COMPRESSED else made

    def tobsr(self, blocksize: Any = None, copy: bool = False) -> Any:
        """Return the same array under the name of the format bsr.

        Parameters
        ----------
        blocksize : (int, int), optional
            Changes nothing: elements are stored one by one.
        copy : bool, default False
            Whether the elements are copied; they are shared otherwise.

        Returns
        -------
        SparseArray
            The array.
        """
        return self.asformat("bsr", copy)

    def copy(self) -> Any:
        """Return the same array with elements of its own.

        Returns
        -------
        SparseArray
            The array.
        """
        return self._of_elements(np.copy(self.data))

    def astype(self, dtype: Any, casting: Any = "unsafe", copy: bool = True) -> Any:
        """Return the array with elements of another dtype.

        Parameters
        ----------
        dtype : dtype
            The dtype.
        casting : str, default "unsafe"
            What may be lost, as `numpy.can_cast` has it.
        copy : bool, default True
            Whether the elements of the same dtype are copied; they are shared otherwise.

        Returns
        -------
        SparseArray
            The array.

        Raises
        ------
        TypeError
            Of a dtype that `casting` forbids.
        """
        data = cast_within(self.data, np.dtype(dtype), casting)
        return self._of_elements(np.copy(data) if copy and data is self.data else data)

    # -- order in memory -------------------------------------------------------------------------

    def sum_duplicates(self) -> None:
        """Add up the elements of each position, and order them row by row; of csc by column."""
        whole = self._merged()
        self.data, self.coords = whole.data, whole.coords

    def eliminate_zeros(self) -> None:
        """Keep all elements: one that is 0 has a derivative."""

    def prune(self) -> None:
        """Keep all elements: none is beside those of `data`."""

    def sort_indices(self) -> None:
        """Keep the order of the elements, which nothing depends on."""

    def sorted_indices(self) -> Any:
        """Return a copy of one element a position, row by row; of csc by column.

        Returns
        -------
        SparseArray
            The array.
        """
        return self.copy()._merged()

    @property
    def has_sorted_indices(self) -> bool:
        """Whether there is one element a position, row by row; of csc by column."""
        return self._merged() is self

    @property
    def has_canonical_format(self) -> bool:
        """Whether there is one element a position, row by row; of csc by column."""
        return self._merged() is self

    def check_format(self, full_check: bool = True) -> None:
        """Raise if the elements do not fit their positions.

        Parameters
        ----------
        full_check : bool, default True
            Whether positions are compared with the shape.

        Raises
        ------
        ValueError
            If they do not.
        """
        if any(len(i) != self.data.shape[0] for i in self.coords):
            raise ValueError(f"expected as many elements as positions, got {self!r}")
        sides = zip(self.coords, self.shape, strict=True)
        if full_check and any(np.any((i < 0) | (i >= side)) for i, side in sides):
            raise ValueError(f"expected positions inside of {self.shape}")


def _to(format: str) -> Any:
    def method(self: Any, copy: bool = False) -> Any:
        return self.asformat(format, copy)

    method.__name__ = method.__qualname__ = f"to{format}"
    method.__doc__ = f"""Return the same array under the name of the format {format}.

        Parameters
        ----------
        copy : bool, default False
            Whether the elements are copied; they are shared otherwise.

        Returns
        -------
        SparseArray
            The array.
        """
    return method


for _format in FORMATS:
    if _format != "bsr":
        setattr(Formats, f"to{_format}", _to(_format))


def _of_some_format() -> set[str]:
    """The names that any of SciPy's classes has."""
    kinds = [getattr(scipy.sparse, f"{f}_{end}") for f in FORMATS for end in ("array", "matrix")]
    return {name for kind in kinds for name in dir(kind)}


__all__ = ["Formats"]
