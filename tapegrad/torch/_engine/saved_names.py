"""`_saved_self`, `_saved_other`, `_saved_result`: what nodes keep, under PyTorch's names.

Knows the layout of entries and the names of nodes. Must not know rules.

A node here keeps what its rule needs, which may be less than PyTorch's node keeps: then the
attribute is None.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._core.entry import PROJECT, Spec
from tapegrad._core.types import Value
from tapegrad.torch._engine.saved import TWICE
from tapegrad.torch._engine.saved_numbers import NUMBERS, parts_of
from tapegrad.torch._graph.node import FREED, AccumulateGrad, FunctionNode, Node
from tapegrad.torch._methods import method_of
from tapegrad.torch._tensor.tensor import Tensor, of_value

# The places of an entry: the result, an argument by its position, the shape of the first argument.
RESULT, SIZES = -1, -2
# The class of what `_raw_saved_self` returns: `autograd._saved_tensor` adds it.
RAW: list[Any] = []
_SELF = {"self": 0}
_RESULT = {"result": RESULT}
_PAIR = {"self": 0, "other": 1}
_SIZES = {"self_sym_sizes": SIZES}

# By the name of a node: the words after `_saved_`, and where the entry has what they name.
PLACES: dict[str, dict[str, int]] = {
    **dict.fromkeys(
        (f"{word}Backward0" for word in "Mul Div Maximum Minimum Atan2 Fmod Cross".split()), _PAIR
    ),
    **dict.fromkeys(
        (
            f"{word}Backward0"
            for word in (
                "Exp Exp2 Expm1 Tanh Sigmoid Sqrt Rsqrt Relu Reciprocal Tan Softmax LogSoftmax "
                "LogSigmoid Cummax LinalgInvEx"
            ).split()
        ),
        _RESULT,
    ),
    **dict.fromkeys(
        (
            f"{word}Backward0"
            for word in (
                "Log Log2 Log10 Log1P Sin Cos Asin Acos Atan Sinh Cosh Asinh Acosh Atanh Abs Erf "
                "Erfc Erfinv Gelu Silu Elu Selu Hardswish Hardtanh LeakyRelu Softplus Mish Sinc "
                "Digamma Lgamma Var Std Prod"
            ).split()
        ),
        _SELF,
    ),
    **dict.fromkeys(
        (
            f"{word}Backward{number}"
            for word in (
                "Sum Mean View Reshape UnsafeView Expand Slice Select Squeeze Index"
            ).split()
            for number in (0, 1)
        ),
        _SIZES,
    ),
    "AddmmBackward0": {"mat1": 1, "mat2": 2},
    "BmmBackward0": {"self": 0, "mat2": 1},
    "ClampBackward1": _SELF,
    "DotBackward0": {"self": 0, "tensor": 1},
    "HypotBackward0": {**_PAIR, "result": RESULT},
    "LogaddexpBackward0": _PAIR,
    "MaxBackward1": {"self": 0, "result": RESULT},
    "MinBackward1": {"self": 0, "result": RESULT},
    "MmBackward0": {"self": 0, "mat2": 1},
    "MseLossBackward0": {"self": 0, "target": 1},
    "MvBackward0": {"self": 0, "vec": 1},
    "PowBackward0": {"self": 0, "exponent": 1},
    "PowBackward1": {"self": 0, "exponent": 1, "result": RESULT},
    "WhereBackward0": {"condition": 0},
}


@method_of(Node, "__getattr__")
def _saved_attribute(self: Node, name: str) -> Any:
    """`_saved_self` and the like. RuntimeError after the pass that freed what the node kept."""
    kind = type(self).__name__
    if name == "_raw_saved_tensors" and isinstance(self, FunctionNode):
        return RAW[1](self)
    raw = name.startswith("_raw_saved_")
    word = name.removeprefix("_raw" if raw else "").removeprefix("_saved_")
    place = PLACES.get(kind, {}).get(word)
    reader = NUMBERS.get(kind, {}).get(word)
    if word == name or (place is None and (raw or reader is None)) or (raw and place == SIZES):
        raise AttributeError(f"'{kind}' object has no attribute '{name}'")
    if raw:
        return RAW[0](self, place)
    entry = self._entry
    if entry is None:  # one of several results: its parent has the entry
        return None
    if entry[1] is FREED:
        raise RuntimeError(TWICE)
    if place is None and reader is not None:
        entry = entry[4]._entry if entry[0] is PROJECT else entry
        return reader(parts_of(entry))
    return _part(self, entry, PLACES[kind][word])


@method_of(Node, "__dir__")
def _names(self: Node) -> list[str]:
    kind = type(self).__name__
    tensors = [word for word, place in PLACES.get(kind, {}).items() if place != SIZES]
    if kind == "PowBackward0":  # its exponent is a number
        tensors.remove("exponent")
    words = (*PLACES.get(kind, {}), *NUMBERS.get(kind, {}))
    return sorted(
        {
            *object.__dir__(self),
            *(f"_saved_{word}" for word in words),
            *(f"_raw_saved_{word}" for word in tensors),
        }
    )


def _part(node: Node, entry: tuple[Any, ...], place: int) -> Any:
    """Value that an entry keeps at a place, as a tensor with its node, or None."""
    _, out, x, y, x_node, y_node = entry
    if node._packed is not None:
        out, x, y = node._packed.unpacked(out, x, y)
    if place == RESULT:
        return _as_tensor(out, node)
    args: tuple[Value, ...]
    nodes: tuple[Any, ...]
    if y_node is not None:
        args, nodes = (x, y), (x_node, y_node)
    elif type(x_node) is tuple:
        args, nodes = x, x_node
    else:
        args, nodes = (x,), (x_node,)
    if place == SIZES:
        shape = getattr(args[0], "shape", None) if args else None
        return None if shape is None else tuple(shape)
    if place >= len(args):
        return None
    if type(node).__name__ == "PowBackward0" and place == 1:
        return args[1]  # a number, as it was given
    return _as_tensor(args[place], nodes[place])


def _as_tensor(value: Value, node: Any) -> Tensor | None:
    if value is None or type(value) is Spec:
        return None
    if isinstance(node, AccumulateGrad) and node.variable._value is value:
        leaf: Tensor = node.variable
        return leaf
    if isinstance(value, (bool, int, float, complex)):
        value = np.asarray(value)
    return of_value(value, node if isinstance(node, Node) else None)


__all__ = ["PLACES"]
