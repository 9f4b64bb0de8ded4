"""value, value_and_grad, grad, hvp, ggnvp: a scalar loss over all partitions.

Knows what users pass. Must not know graphs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypedDict, TypeVar, Unpack, overload

import numpy as np

from tapegrad._core.types import Function, Value
from tapegrad._core.values import in_trace, untraced
from tapegrad._errors import InputError, describe, message, name_of
from tapegrad._progress import Progress
from tapegrad._transforms.inputs import Inputs, Selection
from tapegrad._transforms.tracebacks import folding
from tapegrad._transforms.wrapper import require_function
from tapegrad._tree import flatten, flatten_like, unflatten
from tapegrad.dask._batches import Items
from tapegrad.dask._differentiable import Objective, refuse_traced
from tapegrad.dask._imports import is_a
from tapegrad.dask._partitions import Partitions, partitions_of
from tapegrad.dask._passes import Where, run_pass
from tapegrad.dask._tasks import Place, Step, checked_weight

Weights = Sequence[float] | Callable[[Any], Any] | None
P = TypeVar("P")
R = TypeVar("R")
Aux = TypeVar("Aux")


class Options(TypedDict, total=False):
    """The parameters that do not change the type of a result."""

    combine: str
    weights: Weights
    client: Any
    scheduler: Any
    retries: int | None
    progress: Progress


@overload
def value_and_grad(
    loss: Callable[..., R],
    params: P,
    data: Any,
    *,
    has_aux: Literal[False] = False,
    **options: Unpack[Options],
) -> tuple[R, P]: ...
@overload
def value_and_grad(
    loss: Callable[..., tuple[R, Aux]],
    params: P,
    data: Any,
    *,
    has_aux: Literal[True],
    **options: Unpack[Options],
) -> tuple[tuple[R, Aux], P]: ...
@folding
def value_and_grad(
    loss: Function,
    params: Any,
    data: Any,
    *,
    combine: str = "mean",
    weights: Weights = None,
    has_aux: bool = False,
    client: Any = None,
    scheduler: Any = None,
    retries: int | None = None,
    progress: Progress = None,
) -> Any:
    """The value and the gradient of a loss over all partitions of the data.

    Sums are taken in a fixed order: the same chunks give the same bits with any scheduler and any
    number of workers. The result can be differentiated, up to second derivatives.

    Parameters
    ----------
    loss : callable
        `loss(params, batch)` returns a real number. It is called where the data lie, with one
        partition: plain arrays in the containers of `data`, a pandas table, an xarray.Dataset. It
        is not called on batches without rows, or of the weight 0.
    params : pytree
        Arrays or numbers of a floating or complex dtype, in memory.
    data : object
        A Dask array, or a pytree of them chunked alike along axis 0 (and not along others); a Dask
        bag, whose items are batches; a Dask dataframe; an xarray.Dataset or DataArray on Dask,
        chunked along one dimension; a list of delayed batches or of futures.
    combine : {"mean", "sum"}, default "mean"
        "mean" if the loss is a mean over the rows of its batch: the result is the mean over all
        rows, also of unequal partitions. "sum" adds the losses.
    weights : sequence of float or callable, optional
        In place of the numbers of rows, a number for each partition or a function of a batch; with
        "sum" each loss is multiplied by its own.
    has_aux : bool, default False
        Whether the loss returns `(value, aux)`. Each aux comes to the caller: keep them small.
    client : distributed.Client, optional
        The cluster on which to run.
    scheduler : str or callable, optional
        "threads", "processes", "synchronous", or what else Dask takes; by default what Dask's
        configuration says.
    retries : int, optional
        How often a cluster runs a failed task again.
    progress : bool or type, optional
        A bar as elsewhere, see `tapegrad.jacobian`; with a client True shows distributed's.

    Returns
    -------
    value : scalar
        The loss; with `has_aux` `(value, [aux, ...])`, the aux of each batch in order, None for a
        partition without rows.
    gradient : pytree
        The gradient, with the containers, shapes and dtypes of `params`, as of `tapegrad.grad`.

    Raises
    ------
    InputError
        For other data, chunks that differ, or no rows at all under "mean"; for weights that do not
        fit, and parameters on Dask or of another dtype; for `has_aux` inside another transform.
    OutputError
        If the loss is not a real scalar.
    RuleError
        If the loss closes over a traced value.
    ImportError
        If Dask is missing (extra `tapegrad[dask]`).
    Exception
        Whatever the loss raises, with a note that names the partition.

    See Also
    --------
    grad : The gradient alone.
    hvp : Products with the Hessian.
    value : The loss alone, to be minimised.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> import tapegrad.dask
    >>> x = da.from_array(np.array([[1.0], [2.0], [3.0]]), chunks=(2, -1))
    >>> def loss(w, x):
    ...     return np.mean((x @ w) ** 2)
    >>> value, gradient = tapegrad.dask.value_and_grad(loss, np.array([3.0]), x)
    >>> float(round(value, 12)), gradient.round(12)
    (42.0, array([28.]))
    """
    where = Where(client, scheduler, retries, progress)
    work = _Work("value_and_grad", loss, params, data, combine, weights, where, has_aux)
    found = work.objective.value_and_grad(work.leaves)
    value = (found[0], work.aux) if has_aux else found[0]
    return value, work.tree(found[1:])


@overload
def value(
    loss: Callable[..., R],
    params: P,
    data: Any,
    *,
    has_aux: Literal[False] = False,
    **options: Unpack[Options],
) -> R: ...
@overload
def value(
    loss: Callable[..., tuple[R, Aux]],
    params: P,
    data: Any,
    *,
    has_aux: Literal[True],
    **options: Unpack[Options],
) -> tuple[R, Aux]: ...
@folding
def value(
    loss: Function,
    params: Any,
    data: Any,
    *,
    combine: str = "mean",
    weights: Weights = None,
    has_aux: bool = False,
    client: Any = None,
    scheduler: Any = None,
    retries: int | None = None,
    progress: Progress = None,
) -> Any:
    """The loss over all partitions of the data.

    It may be differentiated by `params`, and so minimised: `tapegrad.grad`, `tapegrad.optimize`.
    Where it is, one pass gives its value with its gradient. What is raised is as in
    `value_and_grad`.

    Parameters
    ----------
    loss : callable
        `loss(params, batch)` returns a real number, as in `value_and_grad`.
    params : pytree
        As in `value_and_grad`.
    data : object
        As in `value_and_grad`.
    combine : {"mean", "sum"}, default "mean"
        As in `value_and_grad`.
    weights : sequence of float or callable, optional
        As in `value_and_grad`.
    has_aux : bool, default False
        As in `value_and_grad`.
    client : distributed.Client, optional
        As in `value_and_grad`.
    scheduler : str or callable, optional
        As in `value_and_grad`.
    retries : int, optional
        As in `value_and_grad`.
    progress : bool or type, optional
        As in `value_and_grad`.

    Returns
    -------
    scalar
        The loss, or with `has_aux` `(value, [aux, ...])`.

    See Also
    --------
    value_and_grad : With the gradient; it describes the parameters.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> import tapegrad
    >>> x = da.from_array(np.array([1.0, 2.0, 6.0]), chunks=2)
    >>> def distance(m):
    ...     return value(lambda m, x: np.mean((x - m) ** 2), m, x)
    >>> float(round(tapegrad.grad(distance)(1.0), 12))
    -4.0
    """
    where = Where(client, scheduler, retries, progress)
    work = _Work("value", loss, params, data, combine, weights, where, has_aux)
    found = work.objective.value(work.leaves)
    return (found, work.aux) if has_aux else found


@overload
def grad(
    loss: Callable[..., R],
    params: P,
    data: Any,
    *,
    has_aux: Literal[False] = False,
    **options: Unpack[Options],
) -> P: ...
@overload
def grad(
    loss: Callable[..., tuple[R, Aux]],
    params: P,
    data: Any,
    *,
    has_aux: Literal[True],
    **options: Unpack[Options],
) -> tuple[P, Aux]: ...
@folding
def grad(
    loss: Function,
    params: Any,
    data: Any,
    *,
    combine: str = "mean",
    weights: Weights = None,
    has_aux: bool = False,
    client: Any = None,
    scheduler: Any = None,
    retries: int | None = None,
    progress: Progress = None,
) -> Any:
    """The gradient of a loss over all partitions of the data.

    What is raised is as in `value_and_grad`.

    Parameters
    ----------
    loss : callable
        `loss(params, batch)` returns a real number, as in `value_and_grad`.
    params : pytree
        As in `value_and_grad`.
    data : object
        As in `value_and_grad`.
    combine : {"mean", "sum"}, default "mean"
        As in `value_and_grad`.
    weights : sequence of float or callable, optional
        As in `value_and_grad`.
    has_aux : bool, default False
        As in `value_and_grad`.
    client : distributed.Client, optional
        As in `value_and_grad`.
    scheduler : str or callable, optional
        As in `value_and_grad`.
    retries : int, optional
        As in `value_and_grad`.
    progress : bool or type, optional
        As in `value_and_grad`.

    Returns
    -------
    pytree
        The gradient, or with `has_aux` `(gradient, [aux, ...])`.

    See Also
    --------
    value_and_grad : With the value; it describes the parameters.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> x = da.from_array(np.arange(4.0), chunks=2)
    >>> grad(lambda w, x: np.sum(w * x), 2.0, x, combine="sum")
    np.float64(6.0)
    """
    where = Where(client, scheduler, retries, progress)
    work = _Work("grad", loss, params, data, combine, weights, where, has_aux)
    found = work.tree(work.objective.gradient(work.leaves))
    return (found, work.aux) if has_aux else found


@folding
def hvp(
    loss: Function,
    params: P,
    data: Any,
    vector: Any,
    *,
    combine: str = "mean",
    weights: Weights = None,
    client: Any = None,
    scheduler: Any = None,
    retries: int | None = None,
    progress: Progress = None,
) -> P:
    """The Hessian of a loss over all partitions times a vector.

    What is raised is as in `value_and_grad`.

    Parameters
    ----------
    loss : callable
        `loss(params, batch)` returns a real number, as in `value_and_grad`.
    params : pytree
        As in `value_and_grad`.
    data : object
        As in `value_and_grad`.
    vector : pytree
        The vector, with the containers and shapes of `params`.
    combine : {"mean", "sum"}, default "mean"
        As in `value_and_grad`.
    weights : sequence of float or callable, optional
        As in `value_and_grad`.
    client : distributed.Client, optional
        As in `value_and_grad`.
    scheduler : str or callable, optional
        As in `value_and_grad`.
    retries : int, optional
        As in `value_and_grad`.
    progress : bool or type, optional
        As in `value_and_grad`.

    Returns
    -------
    pytree
        The product, like `params`. It can be differentiated by the vector alone.

    Raises
    ------
    InputError
        If the vector is not like `params`.
    NotDifferentiableError
        If it is differentiated by `params`.

    See Also
    --------
    ggnvp : Products with the Gauss-Newton matrix.
    value_and_grad : It describes the parameters, and what else is raised.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> x = da.from_array(np.array([1.0, 2.0, 3.0]), chunks=2)
    >>> hvp(lambda w, x: np.sum(x) * w**3, 2.0, x, 1.0, combine="sum")
    np.float64(72.0)
    """
    where = Where(client, scheduler, retries, progress)
    work = _Work("hvp", loss, params, data, combine, weights, where)
    return work.tree(work.objective.product("hvp", work.leaves, work.like_params(vector)))


@folding
def ggnvp(
    f: Function,
    params: P,
    data: Any,
    vector: Any,
    loss: Function | None = None,
    *,
    combine: str = "mean",
    weights: Weights = None,
    client: Any = None,
    scheduler: Any = None,
    retries: int | None = None,
    progress: Progress = None,
) -> P:
    """The Gauss-Newton matrix over all partitions times a vector: J^T H J v.

    It is `tapegrad.ggnvp` over data. Nothing here can be differentiated.

    Parameters
    ----------
    f : callable
        `f(params, batch)` returns the outputs of a batch, whose Jacobian is J.
    params : pytree
        As in `value_and_grad`.
    data : object
        As in `value_and_grad`.
    vector : pytree
        The vector v, with the containers and shapes of `params`.
    loss : callable, optional
        `loss(outputs, batch)` returns a real number, whose Hessian is H, and a mean over rows with
        `combine="mean"`. By default half the sum of squares of the outputs, or under "mean" that
        over the number of rows.
    combine : {"mean", "sum"}, default "mean"
        As in `value_and_grad`.
    weights : sequence of float or callable, optional
        As in `value_and_grad`.
    client : distributed.Client, optional
        As in `value_and_grad`.
    scheduler : str or callable, optional
        As in `value_and_grad`.
    retries : int, optional
        As in `value_and_grad`.
    progress : bool or type, optional
        As in `value_and_grad`.

    Returns
    -------
    pytree
        The product, like `params`.

    Raises
    ------
    InputError
        If the vector is not like `params`, or batches under "mean" do not say their rows.
    NotDifferentiableError
        If the parameters or the vector are traced.

    See Also
    --------
    hvp : Products with the Hessian.
    value_and_grad : It describes the parameters, and what else is raised.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> x = da.from_array(np.array([1.0, 2.0, 3.0]), chunks=2)
    >>> ggnvp(lambda w, x: w * x, 2.0, x, 1.0, combine="sum")
    np.float64(14.0)
    """
    where = Where(client, scheduler, retries, progress)
    work = _Work("ggnvp", f, params, data, combine, weights, where)
    if loss is not None:
        require_function("dask.ggnvp", loss)
    vectors = work.like_params(vector)
    refuse_traced(work.call, [*work.leaves, *vectors])
    return work.tree(work.run("ggnvp", work.leaves, vectors, loss))


class _Work:
    """A function of parameters and data as a user passed it, checked before anything runs."""

    def __init__(
        self,
        transform: str,
        function: Function,
        params: Any,
        data: Any,
        combine: str,
        weights: Weights,
        where: Where,
        has_aux: bool = False,
    ) -> None:
        require_function(f"dask.{transform}", function)
        self.call = f"dask.{transform}({name_of(function)})"
        self.function, self.where = function, where
        self.combine, self.has_aux = combine, has_aux
        self.inputs, self.structure = checked_params(self.call, params)
        self.leaves = self.inputs.leaves
        self.partitions = partitions_of(self.call, data)
        if combine not in ("mean", "sum"):
            advice = "A loss that is a mean over the rows of its batch is combined by the mean"
            raise InputError(message(self.call, 'combine="mean" or "sum"', repr(combine), advice))
        self.weights, self.places = _weighted(self.call, weights, self.partitions)
        self.objective = Objective(self.call, self.run)
        self.aux: list[Any] = []
        if has_aux and any(map(in_trace, self.leaves)):
            got = "traced or batched parameters"
            advice = "Take value_and_grad without has_aux inside another transform"
            raise InputError(message(self.call, "plain parameters, for has_aux=True", got, advice))

    def tree(self, leaves: Sequence[Any]) -> Any:
        """Leaves in the containers of the parameters."""
        return unflatten(self.structure, leaves)

    def like_params(self, vector: Any) -> list[Any]:
        """The leaves of a tree that has to be like the parameters."""
        found = flatten_like(self.structure, vector, self.call)
        for leaf, x in zip(found, self.leaves, strict=True):
            if np.shape(leaf) != np.shape(x):
                expected = f"a vector like the parameters, with {describe(x)}"
                advice = "Pass a tree with the shapes of params"
                raise InputError(message(self.call, expected, describe(leaf), advice))
        return found

    def run(
        self,
        kind: str,
        leaves: Sequence[Value],
        vector: Sequence[Value] | None = None,
        outer: Function | None = None,
    ) -> list[Any]:
        """The leaves of what a pass of this kind gives."""
        step = Step(
            self.call,
            kind,
            self.function,
            self.tree(leaves),
            self.partitions.source,
            self.combine,
            self.weights,
            self.has_aux,
            None if vector is None else self.tree(vector),
            outer,
        )
        found, self.aux = run_pass(step, self.partitions, self.places, self.where)
        return self._of_nothing(kind) if found is None else list(found)

    def _of_nothing(self, kind: str) -> list[Any]:
        """Value of a sum over no rows."""
        if self.combine == "mean":
            advice = 'Look at the data, or pass combine="sum"'
            raise InputError(message(self.call, "rows, for a mean over them", "none", advice))
        zeros = [np.zeros_like(x) if isinstance(x, np.ndarray) else x * 0 for x in self.leaves]
        zeros = [untraced(x) for x in zeros]
        if kind == "value":
            return [np.float64(0)]
        return [np.float64(0), *zeros] if kind == "value_and_grad" else zeros


def checked_params(call: str, params: Any) -> tuple[Inputs, Any]:
    """The parameters as inputs of a transform, which refuses integers, and their structure."""
    for leaf in flatten(params)[0]:
        if is_a(leaf, "dask.array", "Array"):
            advice = "Pass x.compute(): parameters are sent to where the data lie"
            raise InputError(message(call, "parameters in memory", "a Dask array", advice))
    inputs = Inputs(Selection(call, 0), (params,), {})
    return inputs, flatten(params)[1]


def _weighted(
    call: str, weights: Weights, partitions: Partitions
) -> tuple[Callable[[Any], Any] | None, list[Place]]:
    """The function that weights batches, if any, and what each task knows of its partition."""
    if weights is None or callable(weights):
        given: list[float | None] = [None] * len(partitions)
    else:
        listed = list(weights)
        if isinstance(partitions.source, Items):
            expected = "weights= as a function of a batch: a partition of a bag has several"
            raise InputError(message(call, expected, describe(weights), "Pass weights=len, say"))
        if len(listed) != len(partitions):
            expected = f"one weight for each of {len(partitions)} partitions"
            advice = "Pass a number for each, or a function of a batch"
            raise InputError(message(call, expected, f"{len(listed)}", advice))
        given = [checked_weight(call, weight) for weight in listed]
    places = [
        Place(i, w, p) for i, (w, p) in enumerate(zip(given, partitions.pieces, strict=True))
    ]
    return (weights if callable(weights) else None), places


__all__ = ["checked_params", "ggnvp", "grad", "hvp", "value", "value_and_grad"]
