"""Data on Dask as partitions: the keys of their blocks in one graph, and how a batch is made.

Knows Dask's collections and xarray's. Must not know what is computed.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

from tapegrad._errors import InputError, describe, message
from tapegrad._tree import flatten, unflatten
from tapegrad.dask._batches import Items, Labelled, Source, Trees, Values
from tapegrad.dask._imports import dask_module, is_a


@dataclasses.dataclass(frozen=True)
class Partitions:
    """All partitions of the data, in their order.

    graph: a plain mapping that has the keys of `blocks`, one list a partition. rows: of each
    partition, NaN if that is not known. pieces: what the client itself has of each partition.
    client: that of futures among the data.
    """

    graph: dict[Any, Any]
    blocks: list[list[Any]]
    source: Source
    rows: Sequence[float]
    pieces: Sequence[Any]
    client: Any = None

    def __len__(self) -> int:
        return len(self.blocks)


@dataclasses.dataclass(frozen=True)
class _Column:
    """One collection: a key for each partition, and their rows."""

    keys: list[Any]
    rows: tuple[float, ...]
    name: str


def partitions_of(call: str, data: Any) -> Partitions:
    """The partitions of whatever a user may give as data; InputError for anything else."""
    dask_module(call)
    if isinstance(data, list) and data and all(map(_is_single, data)):
        return _of_singles(data)
    if is_a(data, "dask.bag", "Bag"):
        (bag,), graph = _optimized(call, [data])
        keys = _flat(bag.__dask_keys__())
        return _made(graph, [_Column(keys, (math.nan,) * len(keys), "the bag")], Items())
    if is_a(data, "xarray", "Dataset") or is_a(data, "xarray", "DataArray"):
        return _of_labelled(call, data)
    return _of_tree(call, data)


def _made(
    graph: dict[Any, Any],
    columns: list[_Column],
    source: Source,
    pieces: Sequence[Any] | None = None,
    client: Any = None,
) -> Partitions:
    blocks = [list(keys) for keys in zip(*(column.keys for column in columns), strict=True)]
    if pieces is None:
        pieces = [()] * len(blocks)
    return Partitions(graph, blocks, source, columns[0].rows, pieces, client)


# --- Delayed calls and futures ------------------------------------------------------------------


def is_future(value: Any) -> bool:
    """Whether a value is a future of a cluster."""
    return is_a(value, "distributed", "Future")


def _is_single(value: Any) -> bool:
    return is_a(value, "dask.delayed", "Delayed") or is_future(value)


def _of_singles(data: list[Any]) -> Partitions:
    delayed = [x for x in data if not is_future(x)]
    _, graph = _optimized("", delayed)
    futures = [x for x in data if is_future(x)]
    graph.update({x.key: x for x in futures})
    column = _Column([x.key for x in data], (math.nan,) * len(data), "the list")
    return _made(graph, [column], Values(), client=futures[0].client if futures else None)


# --- Arrays and tables --------------------------------------------------------------------------

KINDS = (
    "a Dask array, a tree of Dask arrays or dataframes, a bag, an xarray.Dataset or DataArray on "
    "Dask, or a list of delayed batches or futures"
)


def _of_tree(call: str, data: Any) -> Partitions:
    leaves, structure = flatten(data)
    if not leaves:
        raise InputError(message(call, KINDS, describe(data), "Pass the data of the batches"))
    for leaf in leaves:
        if not (is_a(leaf, "dask.array", "Array") or _is_frame(leaf)):
            advice = "Chunk it with dask.array.from_array(x, chunks=(rows, -1))"
            if _is_single(leaf):
                advice = "Pass a list of whole batches, each delayed"
            elif len(leaves) == 1:
                advice += ", or use tapegrad's transforms of plain arrays"
            raise InputError(message(call, KINDS, describe(leaf), advice))
        if is_a(leaf, "dask.array", "Array"):
            _check_axes(call, leaf)
    leaves, graph = _optimized(call, leaves)
    columns = [_column(leaf) for leaf in leaves]
    _check_alike(call, columns)
    template = unflatten(structure, list(range(len(leaves))))
    return _made(graph, columns, Trees(template))


def _is_frame(value: Any) -> bool:
    """Whether a value is a Dask dataframe or series, of any of Dask's implementations."""
    return type(value).__module__.startswith("dask.dataframe") and hasattr(value, "divisions")


def _check_axes(call: str, array: Any) -> None:
    if array.ndim == 0:
        advice = "Make it a parameter, or let the loss close over its plain value"
        raise InputError(message(call, "Dask arrays with an axis 0 of rows", "a scalar", advice))
    split = [axis for axis in range(1, array.ndim) if array.numblocks[axis] > 1]
    if split:
        got = f"{array.numblocks[split[0]]} chunks along axis {split[0]} of {describe(array)}"
        advice = "Rechunk it: x.rechunk({" + ", ".join(f"{axis}: -1" for axis in split) + "})"
        raise InputError(message(call, "chunks along axis 0 alone", got, advice))


def _column(leaf: Any) -> _Column:
    keys = _flat(leaf.__dask_keys__())
    if is_a(leaf, "dask.array", "Array"):
        return _Column(keys, tuple(leaf.chunks[0]), describe(leaf))
    return _Column(keys, (math.nan,) * len(keys), f"a {type(leaf).__name__}")


def _check_alike(call: str, columns: list[_Column]) -> None:
    """Raise InputError for collections whose partitions are known to differ."""
    first = columns[0]
    for other in columns[1:]:
        differ = len(first.rows) != len(other.rows) or any(
            a != b and not (math.isnan(a) or math.isnan(b))
            for a, b in zip(first.rows, other.rows, strict=True)
        )
        if differ:
            got = " and ".join(f"{_shown(x.rows)} of {x.name}" for x in (first, other))
            advice = "Rechunk one like the other: y.rechunk({0: x.chunks[0]})"
            raise InputError(message(call, "the same chunks along axis 0", got, advice))


def _shown(rows: tuple[float, ...]) -> str:
    few = ", ".join("?" if math.isnan(n) else str(int(n)) for n in rows[:4])
    return f"({few}{', ...' if len(rows) > 4 else ''}), {len(rows)} in number,"


# --- xarray -------------------------------------------------------------------------------------


def _of_labelled(call: str, data: Any) -> Partitions:
    array = None
    if is_a(data, "xarray", "DataArray"):
        # A name that no coordinate has; the batch gets its own name again.
        inner = "values of " + " ".join(map(str, data.coords))
        array = (inner, data.name)
        data = data.to_dataset(name=inner)
    lazy = {name: x for name, x in data.variables.items() if is_a(x.data, "dask.array", "Array")}
    dimension, sizes = _rows_of_dataset(call, data, lazy)
    arrays, graph = _optimized(call, [x.data for x in lazy.values()])
    columns = []
    for variable, found in zip(lazy.values(), arrays, strict=True):
        keys = _flat(found.__dask_keys__())
        if dimension not in variable.dims:
            keys = keys * len(sizes)
        columns.append(_Column(keys, sizes, ""))
    fixed: list[Any] = []
    cut: list[Any] = []
    for name, variable in data.variables.items():
        if name not in lazy:
            place = cut if dimension in variable.dims else fixed
            place.append((name, variable.dims, variable.values, variable.attrs))
    source = Labelled(
        dimension,
        tuple((name, x.dims, x.attrs) for name, x in lazy.items()),
        tuple(fixed),
        frozenset(data.coords),
        data.attrs,
        array,
    )
    return _made(graph, columns, source, _pieces(dimension, sizes, cut))


def _rows_of_dataset(call: str, data: Any, lazy: dict[Any, Any]) -> tuple[Any, tuple[float, ...]]:
    """The dimension along which a dataset is chunked, and its chunks."""
    if not lazy:
        advice = 'Chunk it: ds.chunk({"row": 1000}), or use tapegrad on its values'
        raise InputError(message(call, "xarray on Dask", "no variable on Dask", advice))
    try:
        chunks = dict(data.chunksizes)
    except ValueError as error:
        got = "variables that are chunked differently"
        advice = "Call ds.unify_chunks()"
        raise InputError(message(call, "chunks alike", got, advice)) from error
    split = [name for name, sizes in chunks.items() if len(sizes) > 1]
    if len(split) > 1:
        got = f"chunks along {', '.join(map(repr, split))}"
        advice = f"Put the others in one chunk: ds.chunk({{{split[1]!r}: -1}})"
        raise InputError(message(call, "chunks along one dimension, the rows", got, advice))
    dimension = split[0] if split else next(iter(lazy.values())).dims[0]
    return dimension, tuple(chunks[dimension])


def _pieces(dimension: Any, sizes: tuple[float, ...], cut: list[Any]) -> list[Any]:
    """The part of each variable in memory that belongs to each partition."""
    pieces, start = [], 0
    for size in map(int, sizes):
        rows = slice(start, start + size)
        start += size
        pieces.append(
            tuple(
                (
                    name,
                    dims,
                    values[tuple(rows if d == dimension else slice(None) for d in dims)],
                    a,
                )
                for name, dims, values, a in cut
            )
        )
    return pieces


# --- Graphs -------------------------------------------------------------------------------------


def _flat(keys: Any) -> list[Any]:
    """The keys of a collection in order; Dask nests them in lists, one level an axis."""
    if not isinstance(keys, list):
        return [keys]
    return [key for inner in keys for key in _flat(inner)]


def _each_optimized(call: str, collections: list[Any]) -> list[Any]:
    """The collections after Dask's own optimisation: arrays, bags and delayed calls together.

    Dataframes have a method of their own. `dask.optimize` gives one whose keys may lead past its
    last steps: in Dask 2026.8 the partitions of `df[df.y > 0]` were those of `df`.
    """
    frames = {i for i, x in enumerate(collections) if _is_frame(x) and hasattr(x, "optimize")}
    others = [x for i, x in enumerate(collections) if i not in frames]
    rest = iter(dask_module(call).optimize(*others) if others else ())
    return [x.optimize() if i in frames else next(rest) for i, x in enumerate(collections)]


def _optimized(call: str, collections: list[Any]) -> tuple[list[Any], dict[Any, Any]]:
    """The collections after Dask's own optimisation, and one plain graph for all."""
    if not collections:
        return [], {}
    found = _each_optimized(call, collections)
    graphs = {}
    for collection in found:
        graph = collection.__dask_graph__()
        graphs[id(graph)] = graph
    merged: dict[Any, Any] = {}
    for graph in graphs.values():
        merged.update(graph)
    # Of data that a client has persisted, Dask leaves the futures out, as the cluster knows them.
    # A key that is not in the graph would be taken for a value.
    for before, after in zip(collections, found, strict=True):
        missing = [key for key in _flat(after.__dask_keys__()) if key not in merged]
        if missing:
            whole = before.__dask_graph__()
            merged.update({key: whole[key] for key in missing})
    return found, merged


__all__ = ["Partitions", "is_future", "partitions_of"]
