"""Sums and searches along axes, as statements: contractions, norms, traces, running sums, argmax.

Knows what these calls of NumPy's mean. Must not know loops. `None` stands for a call that is to
be made by Python.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad._native.native_ops import BOOL, Cast, Scan, Where, can_cast, is_known
from tapegrad._native.regions import (
    Array,
    Call,
    Number,
    Statements,
    dense,
    is_uniform,
    view_of,
)
from tapegrad._program.functions import METHODS
from tapegrad._program.program import Node

FEW_PRODUCTS = 1 << 13  # multiplications, below which a contraction is a loop nest of its own
INDEX = np.dtype("i8")


def einsum(path: Statements, at: int, node: Node) -> Array | None:
    """`np.einsum` of one or two operands."""
    if not node.args or type(node.args[0]) is not str or set(node.kwargs) - {"optimize"}:
        return None
    found = _letters(node.args[0])
    operands = [path.operand(arg) for arg in node.args[1:]]
    if found is None or len(found[0]) != len(operands):
        return None
    letters, out = found
    given: list[Array] = []
    for x, names in zip(operands, letters, strict=True):
        if type(x) is not Array or len(names) != len(x.shape) or x.dtype != node.dtype:
            return None
        given.append(x)
    if node.dtype.kind != "f":
        return None
    while len(given) > 2:  # from the left, what is not needed later summed at once
        rest = "".join(letters[2:]) + out
        both = "".join(dict.fromkeys(letters[0] + letters[1]))
        kept = "".join(name for name in both if name in rest)
        made = _contracted(path, at, node, given[:2], letters[:2], kept)
        if made is None:
            return None
        given, letters = [made, *given[2:]], [kept, *letters[2:]]
    return _contracted(path, at, node, given, letters, out)


def _contracted(
    path: Statements, at: int, node: Node, given: list[Array], letters: list[str], out: str
) -> Array | None:
    """The sum of products of one or two arrays over the letters that are not in the result."""
    lengths: dict[str, int] = {}
    for x, names in zip(given, letters, strict=True):
        for name, n in zip(names, x.shape, strict=True):
            if lengths.setdefault(name, n) != n:
                return None
    order = (*out, *[name for name in lengths if name not in out])
    domain = tuple([lengths[name] for name in order])
    if len(given) == 2 and np.prod(domain, dtype=float) > FEW_PRODUCTS:
        return _by_matmul(path, at, node, given, letters, out, lengths)
    over = [_along(x, names, order, domain) for x, names in zip(given, letters, strict=True)]
    shape = domain[: len(out)]
    memory = path.new(shape, dense(shape, node.strides), node.dtype)
    strides = (*memory.strides, *[0] * (len(order) - len(out)))
    ufunc = np.multiply if len(over) == 2 else Cast
    reduces = np.add if len(order) > len(out) else None
    path.stated(ufunc, over, node.dtype, Array(memory, 0, strides, domain), reduces)
    return memory.whole()


def _letters(text: str) -> tuple[list[str], str] | None:
    text = text.replace(" ", "")
    if "." in text:
        return None
    inputs, arrow, out = text.partition("->")
    if not arrow:
        joined = inputs.replace(",", "")
        out = "".join(sorted(name for name in set(joined) if joined.count(name) == 1))
    return (inputs.split(","), out) if len(set(out)) == len(out) else None


def _along(x: Array, names: str, order: tuple[str, ...], domain: tuple[int, ...]) -> Array:
    """An operand over all letters; one that comes twice walks a diagonal."""
    steps = dict.fromkeys(order, 0)
    for name, s, n in zip(names, x.strides, x.shape, strict=True):
        steps[name] += s if n > 1 else 0
    return Array(x.memory, x.offset, tuple(steps.values()), domain)


def _by_matmul(
    path: Statements,
    at: int,
    node: Node,
    given: list[Array],
    letters: list[str],
    out: str,
    lengths: dict[str, int],
) -> Array | None:
    """A contraction as a product of matrices, if each group of letters is at most one letter."""
    a, b = letters
    if len(set(a)) < len(a) or len(set(b)) < len(b):
        return None
    both = [name for name in a if name in b]
    batch = [name for name in both if name in out]
    inner = [name for name in both if name not in out]
    rows = [name for name in a if name not in b]
    columns = [name for name in b if name not in a]
    alone = {name for name in (*rows, *columns) if name not in out}
    if alone or len(inner) != 1 or len(rows) > 1 or len(columns) > 1 or len(batch) > 2:
        return None
    if any(x.memory.constant is not None for x in given):
        return None
    middle = lengths[inner[0]]
    orders = ((*batch, *(rows or ["\n"]), *inner), (*batch, *inner, *(columns or ["\n"])))
    args = []
    for x, names, order in zip(given, letters, orders, strict=True):
        shape = tuple([lengths.get(name, 1) for name in order])
        steps = dict(zip(names, x.strides, strict=True))
        args.append(Array(x.memory, x.offset, tuple([steps.get(n, 0) for n in order]), shape))
    shape = (*args[0].shape[:-1], args[1].shape[-1])
    if middle == 0:
        return None
    made = path.new(shape, dense(shape, ()), node.dtype)
    made.kept = True
    call = Call("into", at, node, list(args))
    call.out = made.whole()
    path.place(call, args)
    made.writers.append(call)
    path.alias(made)
    steps = dict(zip((*orders[0][:-1], orders[1][-1]), made.strides, strict=True))
    shape = tuple([lengths[name] for name in out])
    return Array(made, 0, tuple([steps[name] for name in out]), shape)


def inner(path: Statements, node: Node) -> tuple[Array, Array] | None:
    """The factors whose product `np.inner` and `np.vdot` are."""
    if len(node.args) != 2 or node.kwargs:
        return None
    found = []
    for arg in node.args:
        x = path.operand(arg)
        if type(x) is not Array or not x.shape:
            return None
        if node.function is np.vdot:
            flat = flattened(path, x)
            if flat is None:
                return None
            x = flat
        found.append(x)
    a, b = found
    if len(b.shape) > 2 or len(a.shape) > 2:
        return None
    if len(b.shape) == 2:
        b = Array(b.memory, b.offset, b.strides[::-1], b.shape[::-1])
    return a, b


def flattened(path: Statements, x: Array) -> Array | None:
    """The elements in a row: a view, or a copy."""
    if len(x.shape) == 1:
        return x
    if x.memory.constant is not None:
        return None
    found = view_of(x, lambda y: y.reshape(-1))
    if found is None:
        rows = path.new(x.shape, dense(x.shape, ()), x.dtype)
        path.stated(Cast, [x], x.dtype, rows.whole())
        path.alias(rows)
        found = Array(rows, 0, (1,), (rows.size,))
    return found


def trace(path: Statements, node: Node) -> Array | None:
    """`np.trace`, and sums of other diagonals."""
    x = path.operand(node.args[0]) if node.args else None
    if type(x) is not Array or x.memory.constant is not None or x.dtype != node.dtype:
        return None
    if any(type(arg) is not int for arg in (*node.args[1:], *node.kwargs.values())):
        return None
    line = view_of(x, lambda y: np.diagonal(y, *node.args[1:], **node.kwargs))
    if line is None or 0 in line.shape:
        return None
    memory = path.memory(node)
    out = Array(memory, 0, (*memory.strides, 0), line.shape)
    path.stated(Cast, [line], node.dtype, out, np.add)
    return memory.whole()


def norm(path: Statements, node: Node) -> Array | None:
    """`np.linalg.norm` of real numbers, the usual one."""
    kwargs = dict(zip(("x", "ord", "axis", "keepdims"), node.args, strict=False)) | node.kwargs
    x = path.operand(kwargs.pop("x", None))
    kwargs = {k: v for k, v in kwargs.items() if v is not None}
    keep = kwargs.pop("keepdims", False)
    axis = kwargs.pop("axis", None)
    if kwargs or type(x) is not Array or x.dtype != node.dtype or x.dtype.kind != "f":
        return None
    if type(axis) is tuple and len(axis) == 1:
        (axis,) = axis
    if axis is not None and type(axis) is not int or keep not in (True, False):
        return None
    rank = len(x.shape)
    axes = set(range(rank)) if axis is None else {axis % rank}
    squares = path.new(node.shape, dense(node.shape, ()), node.dtype)
    out = over_kept(squares.whole(), axes, x.shape)
    path.stated(np.square, [x], x.dtype, out, np.add)
    return path.stated(np.sqrt, [squares.whole()], x.dtype, path.memory(node).whole())


def over_kept(x: Array, axes: set[int], shape: tuple[int, ...]) -> Array:
    """The result of a reduction, over what is reduced."""
    if len(x.shape) == len(shape):
        strides = tuple([0 if i in axes else s for i, s in enumerate(x.strides)])
    else:
        kept = iter(x.strides)
        strides = tuple([0 if i in axes else next(kept) for i in range(len(shape))])
    return Array(x.memory, x.offset, strides, shape)


def running(path: Statements, node: Node) -> Array | None:
    """`np.cumsum`, `np.cumprod`, and `accumulate` of ufuncs."""
    function, (first, *rest) = node.function, node.args
    owner: Any = getattr(function, "__self__", None)
    if isinstance(owner, np.ufunc):
        ufunc, axis = owner, 0
    else:
        name = METHODS.get(function) or function.__name__
        ufunc, axis = (np.add if name == "cumsum" else np.multiply), None
    kwargs = {k: v for k, v in node.kwargs.items() if v is not None}
    axis = rest[0] if rest else kwargs.pop("axis", axis)
    x = path.operand(first)
    if kwargs or len(rest) > 1 or type(x) is not Array or not x.shape:
        return None
    if ufunc not in (np.add, np.multiply, np.maximum, np.minimum):
        return None
    if axis is None:
        flat = flattened(path, x)
        if flat is None:
            return None
        x, axis = flat, 0
    if type(axis) is not int or not can_cast(x.dtype, node.dtype) or node.dtype == BOOL:
        return None
    axis %= len(x.shape)
    if not is_known(ufunc, node.dtype):
        return None
    memory = path.memory(node)
    if x.shape[axis] == 1:
        return path.stated(Cast, [x], node.dtype, memory.whole())
    among = sum(n != 1 for n in x.shape[:axis])  # statements have no axes of length one
    out = Array(memory, 0, memory.strides, node.shape)
    return path.stated(Scan(ufunc, among), [x], node.dtype, out)


def place_of_extremum(path: Statements, node: Node) -> Array | None:
    """`np.argmax` and `np.argmin`: the least index at which an element equals the extremum."""
    kwargs = dict(node.kwargs)
    keep = kwargs.pop("keepdims", False)
    axis = node.args[1] if len(node.args) > 1 else kwargs.pop("axis", None)
    x = path.operand(node.args[0])
    if kwargs or len(node.args) > 2 or type(x) is not Array or not x.shape:
        return None
    if keep not in (False, True) or not isinstance(axis, int | None):
        return None
    if x.dtype == BOOL:
        small = np.dtype("i1")
        x = path.stated(Cast, [x], small, path.new(x.shape, dense(x.shape, ()), small).whole())
    name = METHODS.get(node.function) or node.function.__name__
    ufunc = np.maximum if name == "argmax" else np.minimum
    rank = len(x.shape)
    axes = set(range(rank)) if axis is None else {axis % rank}
    best = path.new(node.shape, dense(node.shape, ()), x.dtype)
    path.stated(Cast, [x], x.dtype, over_kept(best.whole(), axes, x.shape), ufunc)
    best_over = over_kept(best.whole(), axes, x.shape)
    found = path.new(x.shape, dense(x.shape, ()), BOOL)
    path.stated(np.equal, [x, best_over], x.dtype, found.whole())
    if x.dtype.kind == "f":
        missing = path.new(x.shape, dense(x.shape, ()), BOOL)
        path.stated(np.isnan, [x], x.dtype, missing.whole())
        either = path.new(x.shape, dense(x.shape, ()), BOOL)
        path.stated(np.logical_or, [found.whole(), missing.whole()], BOOL, either.whole())
        found = either
    count = x.shape[axis] if axis is not None else int(np.prod(x.shape))
    numbers = path.operand(np.arange(count))
    if type(numbers) is not Array:
        numbers = None
    if numbers is None:
        return None
    strides, step = [0] * rank, 1
    for i in reversed(range(rank)):
        if i in axes:
            strides[i] = step if x.shape[i] > 1 else 0
            step *= x.shape[i]
    if numbers.memory.shape == ():  # of one element
        places: Any = Number(0, INDEX)
    else:
        places = Array(numbers.memory, numbers.offset, tuple(strides), x.shape)
    chosen = path.new(x.shape, dense(x.shape, ()), INDEX)
    path.stated(Where, [found.whole(), places, Number(count, INDEX)], INDEX, chosen.whole())
    memory = path.memory(node)
    path.stated(
        Cast, [chosen.whole()], INDEX, over_kept(memory.whole(), axes, x.shape), np.minimum
    )
    return memory.whole()


def diff(path: Statements, node: Node) -> Array | None:
    """`np.diff`."""
    bound = dict(zip(("a", "n", "axis"), node.args, strict=False)) | node.kwargs
    x = path.operand(bound.pop("a"))
    n, axis = bound.pop("n", 1), bound.pop("axis", -1)
    if any(v is not np._NoValue for v in bound.values()) or type(x) is not Array:
        return None
    if type(n) is not int or type(axis) is not int or x.dtype != node.dtype or x.dtype == BOOL:
        return None
    if x.memory.constant is not None or n < 1:
        return None
    lead = (slice(None),) * (axis % len(x.shape))
    for _ in range(n):
        parts = [view_of(x, lambda y, p=p: y[(*lead, p)]) for p in (slice(1, None), slice(-1))]
        shape = parts[0].shape if parts[0] is not None else ()
        x = path.stated(
            np.subtract, parts, node.dtype, path.new(shape, dense(shape, ()), node.dtype).whole()
        )
    return x


def variance(path: Statements, node: Node) -> Array | None:
    """`np.var` and `np.std`: the mean square of what is left without the mean."""
    kwargs = {k: v for k, v in node.kwargs.items() if v is not None and v is not np._NoValue}
    if len(node.args) > 2:
        return None
    axis = node.args[1] if len(node.args) > 1 else kwargs.pop("axis", None)
    less, keep = kwargs.pop("ddof", 0), kwargs.pop("keepdims", False)
    x = path.operand(node.args[0])
    if kwargs or type(x) is not Array or x.dtype != node.dtype or x.dtype.kind != "f":
        return None
    if type(less) is not int or keep not in (False, True) or is_uniform(x):
        return None
    rank = len(x.shape)
    axes = set(range(rank))
    if axis is not None:
        given = axis if type(axis) is tuple else (axis,)
        if any(type(i) is not int for i in given):
            return None
        axes = {i % rank for i in given}
    count = 1
    for i in axes:
        count *= x.shape[i]
    if count <= less:
        return None

    def mean(op: Any, y: Array, out: Any, divisor: int) -> Array:
        total = path.new(node.shape, dense(node.shape, ()), x.dtype)
        path.stated(op, [y], x.dtype, over_kept(total.whole(), axes, x.shape), np.add)
        return path.stated(np.divide, [total.whole(), Number(divisor, int)], x.dtype, out.whole())

    middle = mean(Cast, x, path.new(node.shape, dense(node.shape, ()), x.dtype), count)
    rest = path.new(x.shape, dense(x.shape, x.strides), x.dtype)
    path.stated(np.subtract, [x, over_kept(middle, axes, x.shape)], x.dtype, rest.whole())
    name = METHODS.get(node.function) or node.function.__name__
    if name == "var":
        return mean(np.square, rest.whole(), path.memory(node), count - less)
    found = mean(
        np.square, rest.whole(), path.new(node.shape, dense(node.shape, ()), x.dtype), count - less
    )
    return path.stated(np.sqrt, [found], x.dtype, path.memory(node).whole())


BY_FUNCTION: dict[Any, Callable[[Statements, Node], Array | None]] = {
    np.trace: trace,
    np.diff: diff,
    np.var: variance,
    np.std: variance,
    np.linalg.norm: norm,
    np.cumsum: running,
    np.cumprod: running,
    np.argmax: place_of_extremum,
    np.argmin: place_of_extremum,
}
BY_METHOD: dict[str, Any] = {
    "trace": trace,
    "var": variance,
    "std": variance,
    "cumsum": running,
    "cumprod": running,
    "argmax": place_of_extremum,
    "argmin": place_of_extremum,
}


def meaning(function: Any) -> Callable[[Statements, Node], Array | None] | None:
    """Lowering of a call of a function, or of a method."""
    owner: Any = getattr(function, "__self__", None)
    if isinstance(owner, np.ufunc) and function.__name__ == "accumulate":
        return running
    return BY_FUNCTION.get(function) or BY_METHOD.get(METHODS.get(function, ""))


__all__ = ["einsum", "inner", "meaning"]
