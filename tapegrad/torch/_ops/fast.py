"""The short paths, written out: frequent operations that make their entries themselves.

Knows the layout of entries, and the usual case: untraced arrays of floats, of one shape, with no
profiler. Must not know what the unusual cases are: they go to the general operation.

A helper between these lines costs 1.15x to 1.66x of a small operation, so there is none: functions
repeat each other here. Views are logged by `view_paths`. Operations of several steps have none: it
would be asked by the first calls of a shape alone, before they are planned.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tapegrad._core.entry import READ, spec_of
from tapegrad._core.forms import Elementwise
from tapegrad._core.quiet import errstate, silence, silently, silently_again, strictly
from tapegrad._core.rule import REGISTRY
from tapegrad._core.scatter_rows import FEW, read_elements
from tapegrad._core.types import Function, Index, Value
from tapegrad._core.values import getitem, is_mapped, is_plain_number
from tapegrad.torch import _dtypes
from tapegrad.torch._dtypes import BRAINS
from tapegrad.torch._formats import laid_out
from tapegrad.torch._graph.modes import MODE, PLAIN
from tapegrad.torch._graph.node import Node, new, node_class
from tapegrad.torch._graph.order import next_number
from tapegrad.torch._ops.create.data import from_operand
from tapegrad.torch._ops.declare import Operation, finish
from tapegrad.torch._ops.index.checks import ALL, are_below, sparse_grid
from tapegrad.torch._ops.making import node_for
from tapegrad.torch._ops.view_paths import announce
from tapegrad.torch._rules.affine import AFFINE
from tapegrad.torch._tensor.tensor import LEAF, Tensor, accumulator_of, array_of, ndarray, of_value
from tapegrad.torch._types import Dim, TensorLike

mode_of = MODE.get
ABSENT: Any = object()  # stands for an argument that is not there, or comes by its name
MATMUL = REGISTRY[np.matmul]
MM = node_class("MmBackward0")
ADDMM = node_class("AddmmBackward0")

# NumPy warns of overflow and invalid values where PyTorch does not. Sums, products and functions
# that are finite everywhere are computed without np.errstate, which costs more than they do.
quiet = silence()


def silenced(function: Function) -> Operation:
    """A function of NumPy's own arrays alone, without NumPy's warnings."""

    def call(*arrays: Any) -> Any:
        try:
            return silently(function, *arrays)
        except RuntimeError as error:
            return silently_again(error, function, *arrays)

    return call


# --- Operands -----------------------------------------------------------------------------------

# Numbers of Python's as arrays without dimensions, by dtype: as operands of a small array they
# cost half of what the numbers do.
_OPERANDS: dict[np.dtype[Any], dict[float, Value]] = {np.dtype(kind): {} for kind in "fd"}
operands_of = _OPERANDS.get
_MOST_OPERANDS = 1 << 12
_WHOLE = 1 << 24  # whole numbers that are floats of each dtype


def _operand(known: dict[float, Value], dtype: np.dtype[Any], number: float) -> Any:
    """A number as an operand beside arrays of a dtype; remembered unless 0, which has a sign."""
    if not number or number != number or not (type(number) is float or abs(number) < _WHOLE):
        return number
    if len(known) >= _MOST_OPERANDS:
        known.clear()
    with errstate(over="ignore"):
        known[number] = made = np.array(number, dtype)
    return made


def is_operand(other: TensorLike) -> bool:
    """Whether PyTorch's operators take a value as the other operand of a tensor."""
    return (
        is_plain_number(other)
        or isinstance(other, (Tensor, np.ndarray))
        or _dtypes.is_recorded_number(other)
    )


def full_like_number(tensor: Tensor, number: TensorLike) -> Tensor:
    """A number on the left of an operator, as a tensor of no dimensions."""
    if isinstance(number, Tensor):
        return number
    given = _dtypes.result_of([tensor._value, number])
    if _dtypes.is_recorded_number(number):
        return of_value(of_value(number)._value.astype(given))
    return of_value(np.asarray(number, given))


def operator_for(call: Operation, *, reflected: bool = False) -> Operation:
    def forward(self: Tensor, other: TensorLike) -> Any:
        if type(other) is not Tensor and type(other) is not float:
            if not is_operand(other):
                return NotImplemented
            if _dtypes.is_recorded_number(other):
                other = full_like_number(self, other)
            elif isinstance(other, np.ndarray) or issubclass(type(other), np.generic):
                other = from_operand(other)
        return call(self, other)

    def backward(self: Tensor, other: TensorLike) -> Any:
        if not is_operand(other):
            return NotImplemented
        return call(full_like_number(self, other), self)

    return backward if reflected else forward


# --- The test for the usual case, and the entry that most operations make -----------------------


def is_short(tensor: TensorLike) -> bool:
    """Whether a short path may be taken: untraced real floats, no profiler or inference mode."""
    if type(tensor) is not Tensor:
        return False
    x = tensor._value
    if type(x) is not ndarray or x.dtype.char not in "fd":
        return False
    mode = mode_of()
    return mode is None or not (mode.grad or mode.inference or mode.watchers)


# --- Elementwise --------------------------------------------------------------------------------


def short_pair(  # noqa: C901 - the hot path, written out
    ufunc: Any,
    label: str,
    general: Operation,
    *,
    warns: bool,
    of_tensors: str = "",
    whole: bool = False,
) -> Any:
    """An operation of two tensors, or of one and a number; anything unusual is `general`'s.

    label: the name of the node; of_tensors: that of two tensors, where it is another. whole:
    whether whole numbers give one, as NumPy computes it. The result has an attribute `operator`:
    the same operation as a method, for Python's operator.
    """
    rule = REGISTRY.get(ufunc) or ufunc.rule
    assert isinstance(rule, Elementwise)
    ufunc = getattr(ufunc, "function", ufunc)
    function: Operation = silenced(ufunc) if warns else ufunc
    of_pair = general.of_pair  # type: ignore[attr-defined]
    node_type = node_class(label)
    type_of_pair = node_class(of_tensors or label)
    keeps_of_both = rule.keeps[True, True]
    keeps_of_x = rule.keeps[True, False]
    keeps_of_y = rule.keeps[False, True]

    def made(unusual: Operation) -> Operation:  # noqa: C901 - the hot path
        def operate(self: Tensor, other: TensorLike) -> Any:  # noqa: C901 - the hot path
            x = self._value
            x_node = self.node
            kind = type(other)
            if kind is float or kind is int:
                y: Any = other
                y_node: Any = None
                operand: Any = other
                known = operands_of(x.dtype)
                if known is not None:
                    operand = known.get(other)
                    if operand is None:
                        operand = _operand(known, x.dtype, other)
            elif isinstance(other, Tensor):
                operand = y = other._value
                y_node = other.node
                if type(y) is not ndarray or type(x) is not ndarray or x.dtype is not y.dtype:
                    return unusual(self, other)
                if x.shape != y.shape:  # the planned calls of two tensors that broadcast
                    found = None if mode_of() is not None else of_pair(self, other, x, y, False)
                    return unusual(self, other) if found is None else found
            else:
                return unusual(self, other)
            if type(x) is not ndarray or (BRAINS and x.dtype.kind == "V"):
                return unusual(self, other)
            mode = mode_of()
            if mode is not None and (mode.grad or mode.inference or mode.watchers):
                return unusual(self, other)
            constant = x_node is None and y_node is None
            if constant and x.dtype.kind != "f":
                if not whole or x.dtype.char != "l" or kind is float:
                    return unusual(self, other)
                if kind is int and not -_WHOLE <= other <= _WHOLE:
                    return unusual(self, other)
            out = function(x, operand)
            if type(out) is not ndarray:
                out = np.asarray(out)
            result: Tensor = new(Tensor)
            result._value = out
            if constant or mode is not None:
                result.node = None
                return result
            if x_node is LEAF:
                x_node = accumulator_of(self)
            if y_node is LEAF:
                y_node = accumulator_of(other)
            if y_node is None:
                x_kept, y_kept, out_kept = keeps_of_x
                y_node = -1
            elif x_node is None:
                x_kept, y_kept, out_kept = keeps_of_y
                x_node = -1
            else:
                x_kept, y_kept, out_kept = keeps_of_both
            result.node = node = new(node_type if kind is float or kind is int else type_of_pair)
            node._number = next_number()
            node._entry = (
                rule,
                out if out_kept else None,
                x if x_kept else None,
                y if y_kept else None,
                x_node,
                y_node,
            )
            return result

        return operate

    operate = made(general)

    def call(input: TensorLike, other: TensorLike = ABSENT, *rest: Any, **kwargs: Any) -> Any:
        if kwargs or rest or other is ABSENT or not isinstance(input, Tensor):
            others = () if other is ABSENT else (other, *rest)
            return general(input, *others, **kwargs)  # which may call it by another name
        return operate(input, other)

    call.operator = made(operator_for(general))  # type: ignore[attr-defined]
    return call


def short_single(ufunc: Any, label: str, general: Operation, *, warns: bool) -> Operation:
    """An operation of one tensor, by a ufunc or a `Declared`; anything unusual is `general`'s."""
    rule = REGISTRY.get(ufunc) or ufunc.rule
    assert isinstance(rule, Elementwise)
    ufunc = getattr(ufunc, "function", ufunc)
    function: Operation = silenced(ufunc) if warns else ufunc
    node_type = node_class(label)
    x_kept, out_kept = rule.keeps[True,]

    def call(input: TensorLike, *, out: Any = None) -> Any:
        x = input._value if isinstance(input, Tensor) else None
        if type(x) is not ndarray or out is not None or x.dtype.kind != "f":
            return general(input) if out is None else general(input, out=out)
        mode = mode_of()
        if mode is not None and (mode.grad or mode.inference or mode.watchers):
            return general(input)
        out = function(x)
        if type(out) is not ndarray:
            out = np.asarray(out)
        result: Tensor = new(Tensor)
        result._value = out
        x_node = input.node
        if mode is not None or x_node is None:
            result.node = None
            return result
        if x_node is LEAF:
            x_node = accumulator_of(input)
        result.node = node = new(node_type)
        node._number = next_number()
        node._entry = (rule, out if out_kept else None, x if x_kept else None, None, x_node, -1)
        return result

    return call


def short_division(ufunc: np.ufunc, general: Operation, of_floats: Function) -> Operation:
    """A division of whole numbers, or of floats without history, that is rounded or its rest."""

    def call(input: TensorLike, other: TensorLike = ABSENT, *rest: Any, **kwargs: Any) -> Any:
        x = input._value if type(input) is Tensor else None
        if type(x) is not ndarray or kwargs or rest or MODE.get() not in PLAIN:
            others = () if other is ABSENT else (other, *rest)
            return general(input, *others, **kwargs)
        kind, y = type(other), other
        if kind is Tensor:
            y = other._value
            if type(y) is not ndarray or x.dtype is not y.dtype or other.node is not None:
                return general(input, other)
        elif not (kind is int and -_WHOLE <= other <= _WHOLE) and not (
            kind is float and x.dtype.kind == "f"
        ):
            return general(input, other)
        try:
            if x.dtype.char == "l":
                out = strictly(ufunc, x, y)
            elif x.dtype.char in "fd" and input.node is None:
                out = silently(of_floats, x, y)
            else:
                return general(input, other)
        except (FloatingPointError, RuntimeError, ValueError):
            return general(input, other)  # says what is wrong, if anything is
        result: Tensor = new(Tensor)
        result._value, result.node = out if type(out) is ndarray else np.asarray(out), None
        return result

    return call


def short_comparison(ufunc: np.ufunc, general: Operation) -> Operation:
    """A comparison of two tensors of one dtype, or of floats or int64 with a number."""

    def call(input: TensorLike, other: TensorLike, **kwargs: Any) -> Any:
        x = input._value if type(input) is Tensor else None
        if type(x) is not ndarray or kwargs or MODE.get() not in PLAIN:
            return general(input, other, **kwargs)
        kind = type(other)
        if kind is Tensor:
            y = other._value
            if type(y) is not ndarray or x.dtype is not y.dtype or x.dtype.kind == "c":
                return general(input, other)
        elif (kind is float or kind is int) and x.dtype.kind == "f":
            known = operands_of(x.dtype)
            y = other if known is None else known.get(other, other)
        elif kind is int and x.dtype.char == "l" and -_WHOLE <= other <= _WHOLE:
            y = other
        else:
            return general(input, other)
        try:
            out = ufunc(x, y)
        except ValueError:
            return general(input, other)  # says how the shapes differ
        result: Tensor = new(Tensor)
        result._value, result.node = out if type(out) is ndarray else np.asarray(out), None
        return result

    return call


def short_logic(ufunc: np.ufunc, general: Operation) -> Operation:
    """A function of one or two tensors of truth values or whole numbers.

    The second operand of a bitwise function may be a number.
    """
    takes_numbers = ufunc.__name__.startswith("bitwise")

    def of_one(input: TensorLike, **kwargs: Any) -> Any:
        x = input._value if type(input) is Tensor else None
        if type(x) is not ndarray or kwargs or x.dtype.char not in "?l" or MODE.get() not in PLAIN:
            return general(input, **kwargs)
        result: Tensor = new(Tensor)
        result._value, result.node = np.asarray(ufunc(x)), None
        return result

    def of_two(input: TensorLike, other: TensorLike, **kwargs: Any) -> Any:
        x = input._value if type(input) is Tensor else None
        if type(x) is not ndarray or kwargs or MODE.get() not in PLAIN:
            return general(input, other, **kwargs)
        kind, y = type(other), other
        if kind is Tensor:
            y = other._value
            if type(y) is not ndarray or x.dtype is not y.dtype or x.shape != y.shape:
                return general(input, other)
        elif kind is not int or not takes_numbers or not -_WHOLE <= other <= _WHOLE:
            return general(input, other)
        if x.dtype.char not in ("?l" if kind is Tensor else "l"):
            return general(input, other)
        result: Tensor = new(Tensor)
        result._value, result.node = np.asarray(ufunc(x, y)), None
        return result

    return of_one if ufunc.nin == 1 else of_two


def short_truth(ufunc: np.ufunc, general: Operation) -> Operation:
    """Whether all or any truth values of a tensor are true, of everything or along a dimension."""
    reduce = ufunc.reduce

    def call(input: TensorLike, *args: Any, **kwargs: Any) -> Any:
        x = input._value if type(input) is Tensor else None
        if type(x) is not ndarray or kwargs or x.dtype.kind != "b" or MODE.get() not in PLAIN:
            return general(input, *args, **kwargs)
        if not args:
            axis = None
        elif len(args) == 1 and type(args[0]) is int and -x.ndim <= args[0] < x.ndim:
            (axis,) = args
        else:
            return general(input, *args)
        result: Tensor = new(Tensor)
        result._value, result.node = np.asarray(reduce(x, axis)), None
        return result

    return call


# --- Products -----------------------------------------------------------------------------------


def logged_product(input: Tensor, other: Tensor, x: Value, y: Value, logs: bool) -> Tensor:
    """The product of two matrices: the frequent case, whose entry is made here."""
    result: Tensor = new(Tensor)
    result._value = out = np.matmul(x, y)
    x_node, y_node = input.node, other.node
    if not logs or (x_node is None and y_node is None):
        result.node = None
        return result
    kept_x, kept_y = x, y
    if x_node is LEAF:
        x_node = accumulator_of(input)
    elif x_node is None:
        x_node, kept_y = -1, spec_of(y)
    if y_node is LEAF:
        y_node = accumulator_of(other)
    elif y_node is None:
        y_node, kept_x = -1, spec_of(x)
    result.node = node = new(MM)
    node._number = next_number()
    node._entry = MATMUL, spec_of(out), (kept_x, kept_y), {}, (x_node, y_node), None
    return result


def logged_affine(input: Tensor, weight: Tensor, bias: Tensor, out: Value, logs: bool) -> Tensor:
    result: Tensor = new(Tensor)
    result._value = out
    x_node, w_node, b_node = input.node, weight.node, bias.node
    if not logs or (x_node is None and w_node is None and b_node is None):
        result.node = None
        return result
    x, w = input._value, weight._value
    if x_node is LEAF:
        x_node = accumulator_of(input)
    elif x_node is None:
        x_node, w = -1, spec_of(w)
    if w_node is LEAF:
        w_node = accumulator_of(weight)
    elif w_node is None:
        w_node, x = -1, spec_of(x)
    if b_node is LEAF:
        b_node = accumulator_of(bias)
    elif b_node is None:
        b_node = -1
    result.node = node = new(ADDMM)
    node._number = next_number()
    kept = spec_of(bias._value), x, w
    node._entry = AFFINE, spec_of(out), kept, {}, (b_node, x_node, w_node), None
    return result


# --- Joins and reads at positions ---------------------------------------------------------------


def are_positions(index: Value, size: int) -> bool:
    """Whether an untraced array has positions of a dimension alone, none counted from its end."""
    return index.dtype.char == "l" and bool(index.shape and index.size) and are_below(index, size)


def chosen(self: Tensor, index: Index, label: type[Node]) -> Tensor:
    """A copy of the elements at an index, which the node keeps: nothing may write to it later."""
    value = self._value
    mode = MODE.get()
    if type(value) is not ndarray or mode is not None or _differs(index):
        start = next_number()
        found: Tensor = finish(getitem(array_of(self), index), self, label, view=False)
        if mode is not None:
            announce(found, mode, start, label, self)
        return found
    return chosen_here(self, value, index, label)


def chosen_here(self: Tensor, value: Value, index: Index, label: type[Node]) -> Tensor:
    """`chosen` of an untraced array, outside of modes, at an index that is nobody's example's."""
    made: Tensor = new(Tensor)
    if type(index) is ndarray and index.dtype.char == "l" and value.flags.c_contiguous:
        made._value = value.take(index, 0)  # several times as fast, of few elements
    elif type(index) is tuple and value.flags.c_contiguous and _is_along_one(index):
        made._value = value.take(index[-1], len(index) - 1)  # twice as fast, and contiguous
    else:
        read = value[index] if value.size < FEW else read_elements(value, index)
        made._value = read if read.flags.c_contiguous else read.copy("C")
    made.node = None
    if self.node is not None:
        node = new(label)
        node._number = next_number()
        node._entry = READ, None, spec_of(value), index, node_for(self), None
        made.node = node
    return made


def _is_along_one(index: tuple[Any, ...]) -> bool:
    """Whether an index takes positions of one dimension, and all of those before it."""
    *before, last = index
    if type(last) is not ndarray or last.dtype.char != "l":
        return False
    return all(type(part) is slice and part == ALL for part in before)


def _differs(index: Index) -> bool:
    parts = index if type(index) is tuple else (index,)
    return any(is_mapped(part) for part in parts)


def short_lookup(general: Operation, index_for: Operation, label: str) -> Operation:
    """A read at the index that `index_for` makes of the arguments, logged here.

    What `index_for` returns None for, and calls inside of transforms, are `general`'s.
    """
    node = node_class(label)

    @functools.wraps(general)
    def call(input: TensorLike, *args: Any, **words: Any) -> Any:
        if words or not isinstance(input, Tensor) or MODE.get() is not None:
            return general(input, *args, **words)
        x = input._value
        found = index_for(x, *args) if type(x) is ndarray else None
        return general(input, *args) if found is None else chosen_here(input, x, found, node)

    return call


def short_reading(
    general: Operation,
    label: str,
    dim_at: int,
    default: Dim = -1,
    locate: tuple[Function, Any] | None = None,
    order: str = "contiguous",
) -> Operation:
    """Elements along a dimension, and their places: the read is logged here.

    general: an operation whose `compute` returns both. dim_at: where its parameter `dim` stands,
    with a default of its own. locate: of one that takes (input, dim, keepdim), the places along
    an axis of an array, and the class of the pair. order: of the results in memory, as of an
    operation.
    """
    compute: Operation = quiet(general.compute)  # type: ignore[attr-defined]
    node = node_class(label)

    @functools.wraps(general)
    def call(input: TensorLike, *args: Any, **words: Any) -> Any:
        if not is_short(input) or "out" in words or "axis" in words or MODE.get() is not None:
            return general(input, *args, **words)
        dim = args[dim_at] if dim_at < len(args) else words.get("dim", default)
        x = input._value
        ndim = x.ndim
        if type(dim) is not int or not -ndim <= dim < ndim or not x.size:
            return general(input, *args, **words)
        axis = dim % ndim
        if locate is not None and ndim > 1 and len(args) == 2 and not words:
            find, kind = locate
            places = find(x, axis)
            if args[1]:
                places = places.reshape((*x.shape[:axis], 1, *x.shape[axis + 1 :]))
            index = index_along(places, ndim, axis)
            values = x[index]
        else:
            found = compute(x, *args, **words)
            values, places = found
            kind = type(found)
            index = index_along(places, ndim, axis)
        values, places = np.asarray(values), np.asarray(places)
        if not (values.flags.c_contiguous and places.flags.c_contiguous and x.flags.c_contiguous):
            values, places = laid_out(values, x, order), laid_out(places, x, order)
        made: Tensor = new(Tensor)
        made._value, made.node = values, None
        if input.node is not None:
            made.node = made_by = new(node)
            made_by._number = next_number()
            made_by._entry = READ, None, spec_of(x), index, node_for(input), None
        return kind(made, of_value(places))

    return call


def index_along(places: Value, ndim: int, axis: int) -> tuple[Value, ...]:
    """The index of the elements at places along an axis, with a copy of the places."""
    index = list(sparse_grid(places.shape))
    if places.ndim == ndim:
        index[axis] = places.copy()
    else:
        index.insert(axis, places.copy())
    return tuple(index)
