"""The methods and keywords of ufuncs (reduce, accumulate, outer, at, out=, where=, dtype=).

Knows how NumPy defines them in terms of functions that have rules. Must not know single rules, or
the class of traced arrays.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad._arrays.masked import holds_condition
from tapegrad._core.forms import Constant, Unsupported
from tapegrad._core.out import stretches, write_out
from tapegrad._core.rule import REGISTRY, Rule
from tapegrad._core.types import Function, Index, Value
from tapegrad._core.values import (
    Traced,
    branch_on,
    getitem,
    holds_traced,
    is_basic,
    is_mapped,
    itself,
    lift,
    untraced,
)
from tapegrad._errors import NotDifferentiableError
from tapegrad.rules.recurrence import accumulate, has_partials
from tapegrad.rules.reduction import log_of_sum
from tapegrad.rules.segments import reduceat
from tapegrad.rules.ufunc_at import can_sort, changed_at, has_rule, sorted_at

_REDUCTIONS: dict[np.ufunc, Callable[..., Any]] = {
    np.add: np.sum,
    np.multiply: np.prod,
    np.maximum: np.max,
    np.minimum: np.min,
}
# Those whose result a rule gives as it comes, also the sum of exponentials that has a function.
REDUCTIONS: dict[np.ufunc, Callable[..., Any]] = {**_REDUCTIONS, np.logaddexp: log_of_sum}
_ACCUMULATIONS: dict[np.ufunc, Callable[..., Any]] = {np.add: np.cumsum, np.multiply: np.cumprod}


def call_with_keywords(
    rule: Rule, ufunc: np.ufunc, inputs: tuple[Value, ...], kwargs: dict[str, Any]
) -> Any:
    """A ufunc call with any of NumPy's keywords."""
    kwargs = dict(kwargs)
    constant = isinstance(rule, (Constant, Unsupported))
    if constant and (kwargs.get("where", True) is True or not holds_traced(kwargs.get("out"))):
        return rule.apply(*inputs, **kwargs)
    out = kwargs.pop("out", None)
    where = kwargs.pop("where", True)
    inputs = tuple(map(lift, inputs))
    for name in ("order", "subok"):
        kwargs.pop(name, None)  # these only concern the memory layout
    casting = kwargs.pop("casting", "same_kind")
    requested = [kwargs.pop(name, None) for name in ("dtype", "signature", "sig")]
    if any(each is not None for each in requested):
        inputs = _cast_to_loop(ufunc, inputs, requested, casting)
    if out is not None and ufunc.signature is None:
        inputs = _broadcast_to_out(inputs, out)
    if kwargs:  # axis=, axes=, keepdims= of a ufunc with core dimensions
        result = call_along_axes(ufunc, ufunc, inputs, **kwargs)
    elif where is True:
        result = ufunc(*inputs)
    else:
        result = _where(ufunc(*_ones_where_false(inputs, where)), untraced(where), out)
    return result if out is None else write_out(out, result, rule.name, broadcast=True)


def _cast_to_loop(
    ufunc: np.ufunc, inputs: tuple[Value, ...], requested: list[Any], casting: Any
) -> tuple[Any, ...]:
    """Inputs cast to the dtypes of the loop that dtype= or signature= selects; else TypeError."""
    dtype, signature, sig = requested
    signature = signature if sig is None else sig
    if dtype is not None:
        signature = (None,) * ufunc.nin + (np.dtype(dtype),) * ufunc.nout
    given = [
        type(x) if type(x) in (int, float, complex) else getattr(x, "dtype", None) for x in inputs
    ]
    dtypes = [np.asarray(x).dtype if d is None else d for x, d in zip(inputs, given, strict=True)]
    loop = ufunc.resolve_dtypes(
        (*dtypes, *(None,) * ufunc.nout), signature=signature, casting=casting
    )
    return tuple(_as_type(x, taken) for x, taken in zip(inputs, loop, strict=False))


def _as_type(x: Value, dtype: np.dtype[Any]) -> Any:
    if not hasattr(x, "astype"):
        return np.asarray(x, dtype)
    if x.dtype.kind == "c" and dtype.kind != "c":
        return np.real(x).astype(dtype)
    return x.astype(dtype)


def _broadcast_to_out(inputs: tuple[Value, ...], out: Value) -> tuple[Any, ...]:
    """Inputs broadcast to the shape of a larger `out`, to which ufuncs broadcast as well."""
    targets = out if isinstance(out, tuple) else (out,)
    shape = np.broadcast_shapes(*map(np.shape, inputs))
    for target in targets:
        if target is not None and stretches(shape, target.shape):
            return (np.broadcast_to(inputs[0], target.shape), *inputs[1:])
    return inputs


def call_along_axes(
    ufunc: np.ufunc,
    call: Function,
    inputs: tuple[Value, ...],
    axis: Any = None,
    axes: Any = None,
    keepdims: Any = False,
) -> Any:
    """A call with axis=, axes= or keepdims=: the core dimensions are moved to the end, and back.

    `call` is the ufunc, with the rest of its keywords. NumPy's errors for axes that do not fit.
    """
    options = {"axis": axis, "axes": axes, "keepdims": keepdims or None}
    ones = [np.ones((1,) * len(x.shape)) if hasattr(x, "shape") else x for x in inputs]
    ufunc(*ones, **{name: value for name, value in options.items() if value is not None})
    given = [(axis,)] * ufunc.nin if axes is None else [*map(_as_tuple, axes)]
    if axes is None and axis is None:
        given = [(-1,)] * ufunc.nin
    back = given[ufunc.nin] if len(given) > ufunc.nin else given[0] if keepdims else ()
    moved = [
        np.moveaxis(x, positions, tuple(range(-len(positions), 0)))
        for x, positions in zip(inputs, given, strict=False)
    ]
    result = call(*moved)
    if keepdims:
        result = np.expand_dims(result, -1)
    return np.moveaxis(result, tuple(range(-len(back), 0)), back)


def _as_tuple(positions: Index) -> tuple[int, ...]:
    return positions if isinstance(positions, tuple) else (positions,)


def _ones_where_false(inputs: tuple[Value, ...], where: Value) -> list[Any]:
    """Inputs with 1 where `where` is false, so that no warning or infinity comes from there."""
    where = untraced(where)
    return [np.where(where, x, 1) for x in inputs]


def _where(result: Value, where: Value, out: Value) -> Any:
    # Without out= NumPy leaves the other elements uninitialised; here they are zero.
    old = out[0] if isinstance(out, tuple) else out
    return np.where(where, result, 0 if old is None else old)


def call_method(
    rule: Rule, ufunc: np.ufunc, method: str, inputs: tuple[Value, ...], kwargs: dict[str, Any]
) -> Any:
    """`ufunc.method(*inputs, **kwargs)` on traced values."""
    if isinstance(rule, Unsupported):
        return rule.apply(*inputs, **kwargs)
    if method == "at":
        return _at(ufunc, *inputs)
    kwargs = dict(kwargs)
    if holds_traced(kwargs.get("where")):
        rule.refuse_parameter("where")
    out = kwargs.pop("out", None)
    inputs = tuple(map(lift, inputs))
    if method == "outer":
        result = _outer(ufunc, *inputs, **kwargs)
    elif method == "reduce" and ufunc in _REDUCTIONS:
        result = _known_reduction(ufunc, *inputs, **kwargs)
    elif method == "reduce" and ufunc is np.logaddexp and _is_log_of_sum(*inputs, **kwargs):
        result = _log_of_sum(*inputs, **kwargs)
    elif method == "accumulate" and ufunc in _ACCUMULATIONS:
        result = _ACCUMULATIONS[ufunc](*inputs, **{"axis": 0, **kwargs})
    else:
        result = _of_steps(ufunc, method, inputs, kwargs)
    return result if out is None else write_out(out, result, f"{rule.name}.{method}")


def _known_reduction(
    ufunc: np.ufunc, array: Any, axis: Any = 0, dtype: Any = None, **options: Any
) -> Any:
    """A reduction that has a rule of its own: np.sum for np.add.reduce."""
    array = array if dtype is None else array.astype(dtype)
    given = {
        name: value
        for name, value in options.items()
        if value is not _DEFAULTS[name] and value is not None
    }
    return _REDUCTIONS[ufunc](array, axis=axis, **given)


def _is_log_of_sum(x: Any, axis: Any = 0, dtype: Any = None, **options: Any) -> bool:
    """Whether a call of `np.logaddexp.reduce` is one that `log_of_sum` has a rule for."""
    return (
        isinstance(x, Traced)
        and bool(x.shape)
        and x.dtype.kind == "f"
        and dtype is None
        and not options.keys() - {"keepdims"}
    )


def _log_of_sum(x: Any, axis: Any = 0, dtype: Any = None, keepdims: bool = False) -> Any:
    axis = axis if axis is None or isinstance(axis, tuple) else operator.index(axis)
    params = {"axis": axis, "keepdims": bool(keepdims)}
    return x.__array_function__(log_of_sum, (), (x,), params)


_DEFAULTS = {"keepdims": False, "initial": np._NoValue, "where": True}


def _of_steps(
    ufunc: np.ufunc, method: str, inputs: tuple[Value, ...], kwargs: dict[str, Any]
) -> Any:
    """A method as steps of the ufunc itself, made together where its rule has partials.

    NumPy's own call comes first where it is cheap beside the rest, for its errors, and because a
    result that is not floating is constant. A floating result depends on x even for a constant
    function, because the method starts with an element of x.
    """
    dtype = kwargs.pop("dtype", None)
    x = inputs[0]
    if not _is_short(ufunc, method, x, dtype):
        named = {name: untraced(value) for name, value in kwargs.items()}
        plain = map(untraced, inputs)
        known = getattr(ufunc, method)(*plain, dtype=dtype, **named)
        if known.dtype.kind not in "fc":
            return known
    return _STEPS[method](ufunc, x if dtype is None else x.astype(dtype), *inputs[1:], **kwargs)


def _is_short(ufunc: np.ufunc, method: str, x: Value, dtype: Any) -> bool:
    """Whether the function that computes a method calls NumPy's on values as they are."""
    return (
        method != "reduce"
        and dtype is None
        and bool(getattr(x, "ndim", 0))
        and has_partials(ufunc)
        and not isinstance(REGISTRY[ufunc], Constant)
    )


def _fold(
    ufunc: np.ufunc,
    x: Value,
    axis: Any = 0,
    keepdims: bool = False,
    initial: Value = np._NoValue,
    where: Value = True,
) -> Any:
    """The reduction over axes, from `initial` or the ufunc's identity if there is one."""
    given = range(x.ndim) if axis is None else _as_tuple(axis)
    axes = tuple(sorted(at % x.ndim for at in given)) if x.ndim else ()
    rows = np.moveaxis(x, axes, range(len(axes)))
    rest = rows.shape[len(axes) :]
    start = ufunc.identity if initial is np._NoValue else initial
    if issubclass(type(start), (int, float)):
        start = x.dtype.type(start)
    steps = math.prod(x.shape[at] for at in axes)
    rows = np.reshape(rows, (steps, *rest))
    mask = None
    if where is not True:
        mask = np.moveaxis(np.broadcast_to(untraced(where), x.shape), axes, range(len(axes)))
        mask = mask.reshape(steps, *rest)
    if mask is None and steps > 1 and has_partials(ufunc):
        if start is not None:
            rows = np.concatenate([ufunc(start, rows[:1]), rows[1:]])
        total, first = accumulate(ufunc, rows)[-1], steps
    else:
        total, first = (rows[0], 1) if start is None else (start, 0)
    for i in range(first, steps):
        stepped = ufunc(total, rows[i])
        total = stepped if mask is None else np.where(mask[i], stepped, total)
    if np.shape(total) != rest:
        total = np.broadcast_to(total, rest)
    return np.expand_dims(total, axes) if keepdims else total


def _accumulate(ufunc: np.ufunc, x: Value, axis: int = 0) -> Any:
    if has_partials(ufunc) and x.ndim:
        return accumulate(ufunc, x, axis)
    x = np.moveaxis(x, axis, 0)
    parts = [x[0]] if x.shape[0] else []
    for i in range(1, x.shape[0]):
        parts.append(ufunc(parts[-1], x[i]))
    return np.moveaxis(np.stack(parts), 0, axis) if parts else x.copy()


def _reduceat(ufunc: np.ufunc, x: Value, indices: Index, axis: int = 0) -> Any:
    if has_partials(ufunc) and x.ndim:
        return reduceat(ufunc, x, untraced(indices), axis)
    x = np.moveaxis(x, axis, 0)
    starts = [int(i) for i in untraced(indices)]
    ends = [*starts[1:], x.shape[0]]
    parts = [
        _part(ufunc, x[start:end]) if start < end else x[start]
        for start, end in zip(starts, ends, strict=True)
    ]
    return np.moveaxis(np.stack(parts), 0, axis)


def _part(ufunc: np.ufunc, x: Value) -> Any:
    known = _REDUCTIONS.get(ufunc)
    return _fold(ufunc, x, initial=None) if known is None else known(x, axis=0)


_STEPS: dict[str, Callable[..., Any]] = {
    "reduce": _fold,
    "accumulate": _accumulate,
    "reduceat": _reduceat,
}


def _outer(ufunc: np.ufunc, x: Value, y: Value, **kwargs: Any) -> Any:
    x = x if isinstance(x, Traced) else np.asarray(x)
    y = y if isinstance(y, Traced) else np.asarray(y)
    return ufunc(x.reshape(x.shape + (1,) * y.ndim), y, **kwargs)


def _at(ufunc: np.ufunc, x: Value, index: Index, *operands: Value) -> None:
    """`x[index] = ufunc(x[index], *operands)`, as often as the index selects a position."""
    if not isinstance(x, Traced):
        raise NotDifferentiableError(
            f"np.{ufunc.__name__}.at: expected a traced array to write into, got a plain one, "
            "which cannot carry a derivative. Make it with np.zeros_like(x, shape=shape) of a "
            "traced x."
        )
    operands = tuple(lift(operand) for operand in operands)
    index = tuple(map(lift, index)) if type(index) is tuple else lift(index)
    if is_basic(index) or holds_condition(index):
        x[index] = ufunc(x[index], *operands)
        return
    positions = _positions(x.shape, index)
    flat = np.ravel(positions)
    values = [_one_each(operand, positions.shape) for operand in operands]
    mapped = is_mapped(flat)
    ruled = has_rule(ufunc, mapped=mapped)
    # Complex values for real elements are left over, for the error of their write.
    fits = len(values) == 1 and (values[0].dtype.kind != "c" or x.dtype.kind == "c")
    if fits and (ruled or not mapped and can_sort(ufunc, x, values[0])):
        if mapped or ruled and DENSE * flat.size >= x.size:
            if x.ndim == 1:
                x[...] = changed_at(ufunc, flat, x, values[0])
            else:
                x[...] = changed_at(ufunc, flat, x.reshape(-1), values[0]).reshape(x.shape)
            return
        distinct, numbers = np.unique(flat, return_inverse=True)
        where = np.unravel_index(distinct, x.shape)
        if distinct.size < flat.size:
            change = changed_at if ruled else sorted_at
            x[where] = change(ufunc, numbers, x[where], values[0])
            return
    # An index that repeats positions is split into rounds, each without repeats.
    if mapped:
        round_of = _rounds(branch_on(itself, flat).reshape(-1, flat.shape[0]), x.size)
    else:
        round_of = _occurrences_before(flat)
    for chosen in _by_rounds(round_of):
        where = np.unravel_index(flat[chosen], x.shape)
        x[where] = ufunc(x[where], *(value[chosen] for value in values))


def _positions(shape: tuple[int, ...], index: Index) -> Any:
    """The positions in a flat array that an index selects, as an array of our own.

    It is locked, so that a tape that keeps it neither copies it nor looks for writes.
    """
    whole = type(index) is np.ndarray and index.dtype.kind == "i" and index.size
    if len(shape) == 1 and whole and index.min() >= 0 and index.max() < shape[0]:
        positions = index.astype(np.intp)  # a third of the price of a look-up
    else:
        positions = getitem(np.arange(math.prod(shape)).reshape(shape), index)
    if type(positions) is np.ndarray:
        positions.flags.writeable = False
    return positions


def _one_each(operand: Value, shape: tuple[int, ...]) -> Any:
    """A row with the element of an operand for each position."""
    if len(shape) == 1 and getattr(operand, "shape", None) == shape:
        return operand
    return np.ravel(np.broadcast_to(operand, shape))


# A row is changed as a whole if it has at most so many elements for each position.
DENSE = 4


def _by_rounds(round_of: Index) -> list[Any]:
    """The numbers of the positions in each round, in their order."""
    order = np.argsort(round_of, kind="stable")
    last = int(round_of.max(initial=0))  # asked for: np.arange takes no recorded number
    starts = np.searchsorted(round_of[order], np.arange(1, last + 1))
    return np.split(order, starts) if len(order) else []


def _occurrences_before(flat: Index) -> Any:
    """For each position, how often it occurs before."""
    order = np.argsort(flat, kind="stable")
    ranked = flat[order]
    first = np.searchsorted(ranked, ranked, side="left")
    count = np.empty_like(order)
    count[order] = np.arange(order.size) - first
    return count


def _rounds(rows: Index, size: int) -> Any:
    """For each position its round: no example repeats a position in it, and the order is kept."""
    examples = np.arange(len(rows))
    following = np.zeros((len(rows), size), np.intp)
    rounds = np.zeros(rows.shape[1], np.intp)
    for entry, positions in enumerate(rows.T):
        rounds[entry] = following[examples, positions].max(initial=0)
        following[examples, positions] = rounds[entry] + 1
    return rounds


__all__ = ["call_along_axes", "call_method", "call_with_keywords"]
