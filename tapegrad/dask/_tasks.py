"""Tasks that run where the data lie: the derivatives of one partition, and sums of such results.

Knows tapegrad's transforms. Must not know Dask: these are plain functions, which a graph names.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from tapegrad._block import contextmanager, setting
from tapegrad._core.tape import CURRENT
from tapegrad._core.types import Function
from tapegrad._core.values import in_trace
from tapegrad._errors import InputError, OutputError, RuleError, add_note, describe, message
from tapegrad._transforms.hessian_products import ggnvp, hvp, vhp
from tapegrad._transforms.jacobians import jacobian
from tapegrad._transforms.reverse import split_aux, value_and_grad
from tapegrad._tree import flatten, tree_map, unflatten
from tapegrad.dask._batches import Source, rows_unknown

FAN_IN = 8  # so many results are summed at once


class Part(NamedTuple):
    """Results of one or more batches: arrays to be combined, and those only collected."""

    weight: float
    leaves: list[Any]
    aux: list[Any]


class Place:
    """Knowledge of a task about its partition beside the blocks of the data.

    A class of its own, as Dask takes a tuple for a call and what equals a key for its value.
    """

    __slots__ = ("index", "pieces", "weight")

    def __init__(self, index: int, weight: float | None = None, pieces: Any = ()) -> None:
        self.index, self.weight, self.pieces = index, weight, pieces


class Form(NamedTuple):
    """Description of a Jacobian.

    mode: forward or reverse, the same for all partitions. leaves: `(shape, dtype)` of each output
    by each parameter, without the rows. template: the output, with positions for leaves.
    """

    mode: str
    leaves: list[tuple[tuple[int, ...], np.dtype[Any]]]
    template: Any


@dataclasses.dataclass(frozen=True, eq=False)
class Step:
    """All that the partitions share: it is sent once for each pass over the data.

    kind: a key of `_RUNS`. vector, outer: for products; the vector, and the loss of f's output.
    """

    call: str
    kind: str
    function: Function
    params: Any
    source: Source
    combine: str = "mean"
    weights: Callable[[Any], Any] | None = None
    has_aux: bool = False
    vector: Any = None
    outer: Function | None = None
    form: Form | None = None  # of a Jacobian


@contextmanager
def _task(step: Step, place: Place) -> Iterator[None]:
    """Base of all tasks of a partition: outside of any transform, and named in errors.

    The context of a task may be a copy of the caller's, where a tape is open. Its thread must not
    log there, nor may bits depend on it: a gradient within a transform rounds otherwise.
    """
    try:
        with setting(CURRENT, None):
            yield
    except Exception as error:
        add_note(error, f"{step.call}: in partition {place.index} of the data.")
        raise


def run_part(step: Step, blocks: list[Any], place: Place) -> Part | None:
    """The result of a partition, or None of one without rows."""
    found = None
    with _task(step, place):
        for batch in step.source.batches(blocks, place.pieces):
            part = _part_of(step, batch, place)
            if part is not None:
                found = part if found is None else _joined(step, [found, part])
    return found


def add_parts(step: Step, parts: list[Part | None]) -> Part | None:
    """The combination of results, in their order."""
    found = [part for part in parts if part is not None]
    if not found:
        return None
    return _joined(step, [Part(part.weight, part.leaves, []) for part in found])


def finish(total: Part | None, aux: list[Any]) -> tuple[Any, list[Any]]:
    """Message to the client."""
    return (None if total is None else total.leaves), [x for part in aux for x in part]


def aux_of(part: Part | None) -> list[Any]:
    """The auxiliary results of a partition; None stands for one without rows."""
    return [None] if part is None else part.aux


# --- One batch ----------------------------------------------------------------------------------


def _part_of(step: Step, batch: Any, place: Place) -> Part | None:
    rows = step.source.rows(batch)
    weight = _weight(step, batch, place, rows)
    if rows == 0 or weight == 0:
        return None
    leaves, aux = _RUNS[step.kind](step, batch, rows)
    if any(map(in_trace, leaves)):
        raise _closes_over(step)
    if step.combine == "sum" and weight != 1:
        leaves = [_scaled(leaf, weight) for leaf in leaves]
    return Part(weight, leaves, aux)


def _closes_over(step: Step) -> RuleError:
    return RuleError(
        f"{step.call}: the function depends on a traced value that is not among its parameters, "
        "by which it would not be differentiated. Make it a parameter."
    )


def _weight(step: Step, batch: Any, place: Place, rows: int | None) -> float:
    if place.weight is not None:
        return place.weight
    if step.weights is not None:
        return checked_weight(step.call, step.weights(batch))
    if step.combine == "sum":
        return 1.0
    if rows is None:
        raise rows_unknown(step.call, batch)
    return float(rows)


def checked_weight(call: str, weight: Any) -> float:
    """A weight that a user gave, as a number."""
    try:
        found = float(weight)
    except (TypeError, ValueError):
        found = math.nan
    if not 0 <= found < math.inf:
        expected = "weights that are finite numbers, not negative"
        raise InputError(message(call, expected, describe(weight), "Give one to each partition"))
    return found


def _own(params: Any) -> Any:
    """Parameters that a task may write into, as into traced ones: threads share the caller's."""
    return tree_map(lambda x: x.copy() if isinstance(x, np.ndarray) else x, params)


def _value(step: Step, batch: Any, rows: int | None) -> tuple[list[Any], list[Any]]:
    out = step.function(_own(step.params), batch)
    value, aux = split_aux(step.call, out) if step.has_aux else (out, None)
    dtype = np.result_type(value) if isinstance(value, float | np.generic | np.ndarray) else None
    if dtype is None or dtype.kind != "f" or np.size(value) != 1:
        expected = "a real scalar output"
        raise OutputError(message(step.call, expected, describe(value), "Reduce it with np.mean"))
    return [np.float64(value) if type(value) is float else value], [aux]


def _value_and_grad(step: Step, batch: Any, rows: int | None) -> tuple[list[Any], list[Any]]:
    found, gradient = value_and_grad(step.function, has_aux=step.has_aux)(step.params, batch)
    value, aux = found if step.has_aux else (found, None)
    value = np.float64(value) if type(value) is float else value
    return [value, *flatten(gradient)[0]], [aux]


def _product(step: Step, batch: Any, rows: int | None) -> tuple[list[Any], list[Any]]:
    """The Hessian times a vector, from either side: of complex parameters the two differ."""
    product = hvp if step.kind == "hvp" else vhp
    found = product(lambda p: step.function(p, batch), (step.params,), (step.vector,))
    return flatten(found)[0], []


def _gauss_newton(step: Step, batch: Any, rows: int | None) -> tuple[list[Any], list[Any]]:
    outer = step.outer
    loss = None if outer is None else lambda out: outer(out, batch)
    found = ggnvp(lambda p: step.function(p, batch), (step.params,), (step.vector,), loss)
    leaves = flatten(found)[0]
    if loss is None and step.combine == "mean":
        if rows is None:
            raise rows_unknown(step.call, batch)
        leaves = [_scaled(leaf, 1 / rows) for leaf in leaves]
    return leaves, []


_RUNS: dict[str, Callable[[Step, Any, int | None], tuple[list[Any], list[Any]]]] = {
    "value": _value,
    "value_and_grad": _value_and_grad,
    "hvp": _product,
    "vhp": _product,
    "ggnvp": _gauss_newton,
}


# --- Sums ---------------------------------------------------------------------------------------


def _joined(step: Step, parts: list[Part]) -> Part:
    """Sums, or means by the weights, from left to right.

    Means are taken of means: a float16 gradient times its number of rows may overflow.
    """
    weight = sum(part.weight for part in parts)
    if step.combine == "mean" and weight == math.inf:
        expected = "weights with a finite sum, for a mean"
        raise InputError(message(step.call, expected, "inf", "Divide all weights by the largest"))
    factors = [part.weight / weight if step.combine == "mean" else 1.0 for part in parts]
    columns = zip(*(part.leaves for part in parts), strict=True)
    leaves = [_sum_of(factors, column) for column in columns]
    return Part(weight, leaves, [x for part in parts for x in part.aux])


def _sum_of(factors: list[float], leaves: Sequence[Any]) -> Any:
    total = _scaled(leaves[0], factors[0])
    for factor, leaf in zip(factors[1:], leaves[1:], strict=True):
        total += _scaled(leaf, factor)  # in place: `_scaled` made it
    return total


def _scaled(leaf: Any, factor: float) -> Any:
    """A new array of the same kind: NumPy makes a scalar of an array without axes."""
    found = leaf * factor
    return np.asarray(found) if isinstance(leaf, np.ndarray) else found


# --- Jacobians ----------------------------------------------------------------------------------


def jacobian_part(step: Step, blocks: list[Any], place: Place) -> list[Any]:
    """Rows of the Jacobian: one array for each output and parameter, in the order of leaves."""
    form = step.form
    assert form is not None
    with _task(step, place):
        parts = [
            _jacobian_leaves(step, batch)
            for batch in step.source.batches(blocks, place.pieces)
            if step.source.rows(batch) != 0
        ]
    if not parts:
        return [np.zeros((0, *shape), dtype) for shape, dtype in form.leaves]
    columns = zip(*parts, strict=True)
    return [column[0] if len(column) == 1 else np.concatenate(column) for column in columns]


def _jacobian_leaves(step: Step, batch: Any) -> list[Any]:
    rows, form = step.source.rows(batch), step.form
    assert form is not None

    def of_params(params: Any) -> Any:
        return flatten(_rows_of(step, batch, rows, params))[0]

    found = flatten(jacobian(of_params, mode=form.mode, progress=False)(step.params))[0]
    if any(map(in_trace, found)):
        raise _closes_over(step)
    if [leaf.shape[1:] for leaf in found] != [shape for shape, _ in form.leaves]:
        expected = f"rows of the Jacobian of the shapes {[shape for shape, _ in form.leaves]}"
        got = ", ".join(map(describe, found))
        advice = "Return outputs of one shape, but for the rows, for all batches"
        raise OutputError(message(step.call, expected, got, advice))
    # A batch may come to another dtype than the first.
    return [x.astype(dtype, copy=False) for x, (_, dtype) in zip(found, form.leaves, strict=True)]


def _rows_of(step: Step, batch: Any, rows: int | None, params: Any) -> Any:
    """Result of the function, which has a row for each row of its batch."""
    out = step.function(params, batch)
    for leaf in flatten(out)[0]:
        shape = getattr(leaf, "shape", ())
        if not shape or (rows is not None and shape[0] != rows):
            expected = "outputs with one row for each row of the batch"
            advice = "Return one, or use value_and_grad of a scalar loss"
            got = describe(leaf) + ("" if rows is None else f" of a batch of {rows} rows")
            raise OutputError(message(step.call, expected, got, advice))
    return out


def jacobian_form(step: Step, blocks: list[Any], place: Place) -> Form | None:
    """Description of a Jacobian, by one run of the function; None of a partition without rows."""
    with _task(step, place):
        for batch in step.source.batches(blocks, place.pieces):
            rows = step.source.rows(batch)
            if rows != 0:
                return _form_of(step, _rows_of(step, batch, rows, _own(step.params)))
    return None


def _form_of(step: Step, out: Any) -> Form:
    leaves, structure = flatten(out)
    params = [np.asarray(x) for x in flatten(step.params)[0]]
    few = sum(x.size for x in params) < sum(leaf.size for leaf in leaves)
    mode = "forward" if few else "reverse"
    found = [((*y.shape[1:], *x.shape), _dtype(mode, y, x)) for y in leaves for x in params]
    return Form(mode, found, unflatten(structure, list(range(len(leaves)))))


def _dtype(mode: str, out: Any, param: Any) -> np.dtype[Any]:
    """That of a Jacobian: forward mode gives the output's, reverse mode the parameter's."""
    if mode == "forward":
        return np.dtype(out.dtype)
    is_complex = out.dtype.kind == "c" and param.dtype.kind != "c"
    return np.result_type(param.dtype, np.complex64) if is_complex else np.dtype(param.dtype)


__all__ = [
    "FAN_IN",
    "Form",
    "Part",
    "Place",
    "Step",
    "add_parts",
    "aux_of",
    "checked_weight",
    "finish",
    "jacobian_form",
    "jacobian_part",
    "run_part",
]
