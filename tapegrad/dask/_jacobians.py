"""jacobian: by the rows of the data, which stay on Dask.

Knows how a Dask array is made of tasks. Must not know losses.
"""

from __future__ import annotations

import dataclasses
import uuid
from typing import Any

import numpy as np

from tapegrad._core.types import Function
from tapegrad._errors import InputError, message, name_of
from tapegrad._transforms.tracebacks import folding
from tapegrad._transforms.wrapper import require_function
from tapegrad._tree import flatten, unflatten
from tapegrad.dask._differentiable import refuse_traced
from tapegrad.dask._imports import dask_module
from tapegrad.dask._partitions import Partitions, partitions_of
from tapegrad.dask._passes import Where, client_of
from tapegrad.dask._scalars import checked_params
from tapegrad.dask._tasks import Form, Place, Step, jacobian_form, jacobian_part


@folding
def jacobian(
    f: Function, params: Any, data: Any, *, client: Any = None, scheduler: Any = None
) -> Any:
    """The Jacobian of a function with an output for each row of the data, as Dask arrays.

    Nothing is computed but one run of f on the first partition that has rows, for shapes and
    dtypes; the rows are computed when Dask is asked for them.

    Parameters
    ----------
    f : callable
        `f(params, batch)` returns an array with as many rows as its batch, or a pytree of such
        arrays.
    params : pytree
        As in `value_and_grad`.
    data : object
        As in `value_and_grad`.
    client : distributed.Client, optional
        The cluster on which the one run is made.
    scheduler : str or callable, optional
        What makes the one run where there is no client, as in `value_and_grad`.

    Returns
    -------
    pytree of dask.array.Array
        The containers of the output, which hold those of `params`. An output of shape (rows, ...)
        by a parameter of shape s gives an array of shape (rows, ...) + s, with the chunks of the
        data along axis 0 (of unknown sizes, NaN, where those of the data are).

    Raises
    ------
    InputError
        For data without rows, or of another kind.
    OutputError
        For an output without rows. Where it is one of a later partition it is raised when Dask
        computes.
    NotDifferentiableError
        If the parameters are traced.
    ImportError
        If Dask is missing (extra `tapegrad[dask]`).

    See Also
    --------
    value_and_grad : A scalar loss.

    Notes
    -----
    Mode and dtype are the same for all rows: forward mode, with the output's dtype, if the
    parameters have fewer elements than the output of the first partition, and otherwise reverse
    mode, with the parameter's.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> x = da.from_array(np.arange(6.0).reshape(3, 2), chunks=(2, -1))
    >>> rows = jacobian(lambda w, x: np.sin(x @ w), np.zeros(2), x)
    >>> rows
    dask.array<jacobian, shape=(3, 2), dtype=float64, chunksize=(2, 2), chunktype=numpy.ndarray>
    >>> (rows.T @ rows).compute()
    array([[20., 26.],
           [26., 35.]])
    """
    require_function("dask.jacobian", f)
    call = f"dask.jacobian({name_of(f)})"
    inputs, structure = checked_params(call, params)
    refuse_traced(call, inputs.leaves)
    partitions = partitions_of(call, data)
    step = Step(call, "jacobian", f, unflatten(structure, inputs.leaves), partitions.source)
    form = _form_of(step, partitions, Where(client, scheduler))
    arrays = _arrays(dataclasses.replace(step, form=form), form, partitions)
    positions, out_structure = flatten(form.template)
    each = structure.leaf_count
    trees = [unflatten(structure, arrays[each * i : each * (i + 1)]) for i in positions]
    return unflatten(out_structure, trees)


def _form_of(step: Step, partitions: Partitions, where: Where) -> Form:
    """Description of the Jacobian by the first partition with rows."""
    client = client_of(step.call, where, partitions)
    delayed = dask_module(step.call, "dask.delayed")
    name = f"jacobian-form-{uuid.uuid4().hex}"
    for i, (blocks, pieces) in enumerate(zip(partitions.blocks, partitions.pieces, strict=True)):
        if partitions.rows[i] == 0:
            continue
        graph = {
            **partitions.graph,
            f"step-{name}": step,
            (name, i): (jacobian_form, f"step-{name}", blocks, Place(i, pieces=pieces)),
        }
        asked = delayed.Delayed((name, i), graph)
        if client is not None:
            found: Form | None = client.compute(asked).result()
        else:
            found = asked.compute(scheduler=where.scheduler)
        if found is not None:
            return found
    expected = "data with rows, which show what the function returns"
    raise InputError(message(step.call, expected, "none", "Look at the data"))


def _arrays(step: Step, form: Form, partitions: Partitions) -> list[Any]:
    """A Dask array for each output and parameter; a partition's are made by one task."""
    array = dask_module(step.call, "dask.array")
    graphs = dask_module(step.call, "dask.highlevelgraph")
    unique = uuid.uuid4().hex
    rows = f"jacobian-rows-{unique}"
    layer: dict[Any, Any] = {f"step-{unique}": step}
    for i, (blocks, pieces) in enumerate(zip(partitions.blocks, partitions.pieces, strict=True)):
        layer[rows, i] = (jacobian_part, f"step-{unique}", blocks, Place(i, pieces=pieces))
    layers = {"data": partitions.graph, rows: layer}
    dependencies: dict[str, set[str]] = {"data": set(), rows: {"data"}}
    found = []
    for position, (shape, dtype) in enumerate(form.leaves):
        name = f"jacobian-{uuid.uuid4().hex}"
        zeros = (0,) * len(shape)
        own = {
            (name, i, *zeros): (_leaf, (rows, i), _Position(position))
            for i in range(len(partitions))
        }
        graph = graphs.HighLevelGraph({**layers, name: own}, {**dependencies, name: {rows}})
        chunks = (tuple(partitions.rows), *((n,) for n in shape))
        meta = np.empty((0,) * (len(shape) + 1), dtype)
        found.append(array.Array(graph, name, chunks, dtype=dtype, meta=meta))
    return found


class _Position:
    """A position in a list; Dask might take the number itself for the key of a task."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number


def _leaf(leaves: list[Any], position: _Position) -> Any:
    return leaves[position.number]


__all__ = ["jacobian"]
