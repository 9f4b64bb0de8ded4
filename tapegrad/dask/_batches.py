"""Argument of a loss: the batch, or the batches, of one partition.

Runs where the data lie, so all of it is sent there. Knows NumPy, pandas and xarray by what their
values say of themselves. A batch is not to be written into. Must not know Dask's graphs or losses.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from tapegrad._errors import InputError, describe, message
from tapegrad._tree import flatten, tree_map, unflatten


@dataclasses.dataclass(frozen=True)
class Trees:
    """A tree with one block of each collection; all blocks have the same rows."""

    template: Any  # the tree of the data, with the positions of the blocks for leaves

    def batches(self, blocks: list[Any], pieces: Any) -> Iterator[Any]:
        """The batches of a partition, from what the graph has of it and `pieces` of the client."""
        positions, structure = flatten(self.template)
        yield unflatten(structure, [_sealed(blocks[i]) for i in positions])

    def rows(self, batch: Any) -> int | None:
        """The number of rows of a batch, or None if it does not say."""
        found = _lengths(batch)
        if len(set(found)) > 1:
            raise InputError(
                message(
                    "the data",
                    "blocks with the same number of rows in each partition",
                    ", ".join(map(str, found)),
                    "Chunk the arrays alike along axis 0: x.rechunk({0: y.chunks[0]})",
                )
            )
        return found[0] if found else None


@dataclasses.dataclass(frozen=True)
class Values:
    """Whatever a delayed call or a future gives: a batch as it is."""

    def batches(self, blocks: list[Any], pieces: Any) -> Iterator[Any]:
        """See `Trees.batches`."""
        yield tree_map(_sealed, blocks[0])

    def rows(self, batch: Any) -> int | None:
        """See `Trees.rows`; None also if parts of the batch differ."""
        found = set(_lengths(batch))
        return found.pop() if len(found) == 1 else None


@dataclasses.dataclass(frozen=True)
class Items(Values):
    """The items of a partition of a bag, each of which is a batch."""

    def batches(self, blocks: list[Any], pieces: Any) -> Iterator[Any]:
        """See `Trees.batches`."""
        items: Iterable[Any] = blocks[0]
        yield from (tree_map(_sealed, item) for item in items)


@dataclasses.dataclass(frozen=True)
class Labelled:
    """A part of an xarray.Dataset along one dimension, with plain arrays in it.

    lazy, coordinates: `(name, dims, attrs)` of the variables whose blocks come from the graph, and
    the names of those that are coordinates. fixed: variables that every part has whole, as
    `(name, dims, values, attrs)`. array: the name of the variable that is the batch, and the name
    that it is to have, for a DataArray.
    """

    dimension: str
    lazy: tuple[Any, ...]
    fixed: tuple[Any, ...]
    coordinates: frozenset[Any]
    attrs: Any
    array: tuple[Any, Any] | None

    def batches(self, blocks: list[Any], pieces: Any) -> Iterator[Any]:
        """See `Trees.batches`. pieces: parts of the variables that the client has in memory."""
        import xarray

        found = [
            (name, xarray.Variable(dims, _sealed(block), attrs))
            for (name, dims, attrs), block in zip(self.lazy, blocks, strict=True)
        ]
        for name, dims, values, attrs in (*self.fixed, *pieces):
            found.append((name, xarray.Variable(dims, _sealed(values), attrs)))
        batch: Any = xarray.Dataset(
            {name: x for name, x in found if name not in self.coordinates},
            {name: x for name, x in found if name in self.coordinates},
            self.attrs,
        )
        yield batch if self.array is None else batch[self.array[0]].rename(self.array[1])

    def rows(self, batch: Any) -> int | None:
        """See `Trees.rows`."""
        return int(batch.sizes[self.dimension])


Source = Trees | Values | Labelled


def _sealed(leaf: Any) -> Any:
    """A block that a loss cannot write into: it may be the only copy of the data, in memory.

    A cluster that has sent an array to another worker gives it so, too. A table is copied when it
    is written into.
    """
    if type(leaf) is np.ndarray:
        leaf = leaf.view()
        leaf.flags.writeable = False
    elif type(leaf).__module__.partition(".")[0] == "pandas" and hasattr(leaf, "copy"):
        leaf = leaf.copy(deep=False)
    return leaf


def _lengths(batch: Any) -> list[int]:
    """Along axis 0, of all arrays and tables of a batch."""
    shapes = [getattr(leaf, "shape", ()) for leaf in flatten(batch)[0]]
    return [int(shape[0]) for shape in shapes if isinstance(shape, tuple) and shape]


def rows_unknown(call: str, batch: Any) -> InputError:
    """The error of a batch that has to be weighted and does not say how many rows it has."""
    return InputError(
        message(
            call,
            "batches of arrays with the same number of rows, for a mean over rows",
            describe(batch),
            'Pass weights=, a function of a batch, or combine="sum"',
        )
    )


__all__ = ["Items", "Labelled", "Source", "Trees", "Values", "rows_unknown"]
