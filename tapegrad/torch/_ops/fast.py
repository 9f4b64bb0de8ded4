"""The short paths, written out: frequent operations that make their entries themselves.

Knows the layout of entries, and the usual case: plain floats of one shape, and nobody who watches.
Must not know what the unusual cases are: they go to the general operation.

A helper between these lines costs 1.15x to 1.66x of a small operation, so there is none.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._core.entry import spec_of
from tapegrad._core.forms import Elementwise
from tapegrad._core.rule import REGISTRY, Rule
from tapegrad.torch import _dtypes
from tapegrad.torch._graph.modes import MODE
from tapegrad.torch._graph.node import new, node_class
from tapegrad.torch._graph.order import next_number
from tapegrad.torch._ops.declare import Operation
from tapegrad.torch._rules.affine import AFFINE
from tapegrad.torch._tensor.tensor import LEAF, Tensor, accumulator_of, ndarray, of_value

mode_of = MODE.get
MATMUL = REGISTRY[np.matmul]
MM = node_class("MmBackward0")
ADDMM = node_class("AddmmBackward0")

# NumPy warns of what PyTorch passes over in silence. Sums, products and functions that are finite
# everywhere go without the state that keeps NumPy quiet: it costs more than they do.
quiet = np.errstate(all="ignore")


def _is_operand(other: Any) -> bool:
    """Whether PyTorch's operators take a value beside a tensor."""
    if isinstance(other, (Tensor, int, float, complex, np.generic)):
        return True
    return isinstance(other, np.ndarray)


def _operator(call: Operation, *, reflected: bool = False) -> Operation:
    def forward(self: Any, other: Any) -> Any:
        if type(other) is not Tensor and type(other) is not float:
            if not _is_operand(other):
                return NotImplemented
            if isinstance(other, (np.ndarray, np.generic)):
                other = Tensor.from_operand(other)  # type: ignore[attr-defined]
        return call(self, other)

    def backward(self: Any, other: Any) -> Any:
        if not _is_operand(other):
            return NotImplemented
        return call(full_like_number(self, other), self)

    return backward if reflected else forward


def short_pair(  # noqa: C901 - the hot path, written out
    ufunc: Any,
    label: str,
    general: Operation,
    *,
    warns: bool,
    of_tensors: str = "",
) -> Operation:
    """An operation of two tensors, or of one and a number; anything unusual is `general`'s.

    label: the name of the node; of_tensors: that of two tensors, where it is another. The result
    has the same as a method for an operator in its attribute `operator`.
    """
    rule = REGISTRY.get(ufunc) or ufunc.rule
    assert isinstance(rule, Elementwise)
    ufunc = getattr(ufunc, "function", ufunc)
    function: Operation = quiet(ufunc) if warns else ufunc
    node_type = node_class(label)
    type_of_pair = node_class(of_tensors or label)
    keeps_of_both = rule.keeps[True, True]
    keeps_of_x = rule.keeps[True, False]
    keeps_of_y = rule.keeps[False, True]

    def made(unusual: Operation) -> Operation:
        def operate(self: Any, other: Any) -> Any:
            x = self.value
            x_node = self.node
            kind = type(other)
            if kind is float or kind is int:
                y: Any = other
                y_node: Any = None
            elif isinstance(other, Tensor):
                y = other.value
                y_node = other.node
                if type(y) is not ndarray or x.dtype is not y.dtype or x.shape != y.shape:
                    return unusual(self, other)
            else:
                return unusual(self, other)
            if type(x) is not ndarray:
                return unusual(self, other)
            mode = mode_of()
            if mode is not None and (mode.grad or mode.inference or mode.watchers):
                return unusual(self, other)
            constant = x_node is None and y_node is None
            if constant and x.dtype.kind != "f":
                return unusual(self, other)
            out = function(x, y)
            if type(out) is not ndarray:
                out = np.asarray(out)
            result: Tensor = new(Tensor)
            result.value = out
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

    def call(input: Any, other: Any, **kwargs: Any) -> Any:
        if kwargs or not isinstance(input, Tensor):
            return general(input, other, **kwargs)
        return operate(input, other)

    call.operator = made(_operator(general))  # type: ignore[attr-defined]
    return call


def short_single(ufunc: Any, label: str, general: Operation, *, warns: bool) -> Operation:
    """An operation of one tensor, by a ufunc or a `Declared`; anything unusual is `general`'s."""
    rule = REGISTRY.get(ufunc) or ufunc.rule
    assert isinstance(rule, Elementwise)
    ufunc = getattr(ufunc, "function", ufunc)
    function: Operation = quiet(ufunc) if warns else ufunc
    node_type = node_class(label)
    x_kept, out_kept = rule.keeps[True,]

    def call(input: Any, *, out: Any = None) -> Any:
        x = input.value if isinstance(input, Tensor) else None
        if type(x) is not ndarray or out is not None or x.dtype.kind != "f":
            return general(input) if out is None else general(input, out=out)
        mode = mode_of()
        if mode is not None and (mode.grad or mode.inference or mode.watchers):
            return general(input)
        out = function(x)
        if type(out) is not ndarray:
            out = np.asarray(out)
        result: Tensor = new(Tensor)
        result.value = out
        x_node = input.node
        if mode is not None or x_node is None:
            result.node = None
            return result
        if x_node is LEAF:
            x_node = accumulator_of(input)
        result.node = node = new(node_type)
        node._number = next_number()
        node._entry = (
            rule,
            out if out_kept else None,
            x if x_kept else None,
            None,
            x_node,
            -1,
        )
        return result

    return call


def full_like_number(tensor: Any, number: Any) -> Any:
    """A number on the left of an operator, as a tensor of no dimensions."""
    if isinstance(number, Tensor):
        return number
    given = _dtypes.result_of([tensor.value, number])
    return of_value(np.asarray(number, given))


def _logged_product(input: Any, other: Any, x: Any, y: Any, logs: bool) -> Tensor:
    """The product of two matrices: the frequent case, whose entry is made here."""
    result: Tensor = new(Tensor)
    result.value = out = np.matmul(x, y)
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


def _logged_affine(input: Any, weight: Any, bias: Any, out: Any, logs: bool) -> Tensor:
    result: Tensor = new(Tensor)
    result.value = out
    x_node, w_node, b_node = input.node, weight.node, bias.node
    if not logs or (x_node is None and w_node is None and b_node is None):
        result.node = None
        return result
    x, w = input.value, weight.value
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
    kept = spec_of(bias.value), x, w
    node._entry = AFFINE, spec_of(out), kept, {}, (b_node, x_node, w_node), None
    return result


def logged(
    tensor: Tensor, out: Any, rule: Rule, node_type: Any, kept: tuple[Any, ...], params: Any
) -> Tensor:
    """The result of a rule of one tensor, with the node that the rule itself would log.

    kept: the argument, or its shape and dtype where the rule reads no more; then the numbers that
    are arguments too.
    """
    result: Tensor = new(Tensor)
    result.value = value = out if type(out) is ndarray else np.asarray(out)
    x_node = tensor.node
    if x_node is None or mode_of() is not None:
        result.node = None
        return result
    if x_node is LEAF:
        x_node = accumulator_of(tensor)
    result.node = node = new(node_type)
    node._number = next_number()
    numbers = len(kept) - 1
    out_kept = value if rule.needed((True, *(False,) * numbers))[1] else spec_of(value)
    node._entry = (rule, out_kept, kept, params, (x_node, *(-1,) * numbers), None)
    return result


def is_short(tensor: Any) -> bool:
    """Whether an operation may log itself: real floats, and nobody who watches."""
    if type(tensor) is not Tensor:
        return False
    x = tensor.value
    if type(x) is not ndarray or x.dtype.char not in "fd":
        return False
    mode = mode_of()
    return mode is None or not (mode.grad or mode.inference or mode.watchers)


def _logged_pair(rule: Any, kind: Any, out: Any, input: Any, target: Any) -> Tensor:
    """The mean loss of two tensors: the frequent case, whose entry is made here."""
    x_node, y_node = input.node, target.node
    if x_node is LEAF:
        x_node = accumulator_of(input)
    elif x_node is None:
        x_node = -1
    if y_node is LEAF:
        y_node = accumulator_of(target)
    elif y_node is None:
        y_node = -1
    result: Tensor = new(Tensor)
    result.value = out
    result.node = node = new(kind)
    node._number = next_number()
    node._entry = rule, spec_of(out), (input.value, target.value), {}, (x_node, y_node), None
    return result


__all__ = [
    "full_like_number",
    "is_short",
    "logged",
    "mode_of",
    "quiet",
    "short_pair",
    "short_single",
]
