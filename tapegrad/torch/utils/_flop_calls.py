"""The products of matrices and convolutions that PyTorch computes for a call, or backward.

Knows what PyTorch's operations call in turn on a CPU. Must not know how many operations on numbers
such a product takes, or who counts them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from tapegrad._core.entry import parents_of
from tapegrad.torch._dtypes import Size
from tapegrad.torch._graph.node import Node

Shape = tuple[int, ...]
FLASH = "_scaled_dot_product_flash_attention_for_cpu"


class Call(NamedTuple):
    """A call of one of PyTorch's operators: its arguments, or what has their shapes."""

    name: str
    args: tuple[Any, ...]
    out: Any = None


class Calls(NamedTuple):
    """What a call computes, and what its backward pass does, if its nodes do not tell.

    backward: None where the rule of each node tells.
    """

    forward: Sequence[Call]
    backward: Sequence[Call] | None = None


def _product_of(kind: str, lead: Shape, m: int, k: int, n: int) -> Call:
    return Call(kind, (Size((*lead, m, k)), Size((*lead, k, n))), Size((*lead, m, n)))


def _pulled(kind: str, lead: Shape, m: int, k: int, n: int, wanted: Any) -> list[Call]:
    """The gradients of the factors of a product that are wanted."""
    parts = [_product_of(kind, lead, m, n, k), _product_of(kind, lead, k, m, n)]
    return [part for part, is_wanted in zip(parts, wanted, strict=True) if is_wanted]


# --- Products -----------------------------------------------------------------------------------


def _folds(x: Any, y: Any) -> bool:
    """Whether PyTorch makes one matrix of the larger factor of matmul, rather than a stack."""
    larger, smaller = (x, y) if x.ndim >= y.ndim else (y, x)
    if larger.ndim < 3 or smaller.ndim > 2:
        return False
    if getattr(smaller, "requires_grad", True):  # unknown in a backward pass, where it mostly does
        return True
    if x.ndim == 2:
        return False
    strides, sizes = list(larger.stride()), list(larger.shape)
    if larger is y:
        strides[-2:], sizes[-2:] = strides[:-3:-1], sizes[:-3:-1]
    steps = zip(strides, strides[1:], sizes[1:], strict=False)
    return all(one == step * size for one, step, size in list(steps)[:-1])


def _sides(x: Any, y: Any, folds: bool) -> tuple[str, Shape, int, int, int] | None:
    """The operator of `x @ y`, the stack, and the sizes m, k, n; None where it is not counted."""
    a, b = tuple(x.shape), tuple(y.shape)
    if max(len(a), len(b)) <= 2 or folds:
        if len(b) == 1 or (len(a) == 1 and len(b) > 2):  # dot and mv
            return None
        rows = prod(a[:-1]) * (prod(b[:-2]) if len(b) > 2 else 1)
        return "mm", (), rows, a[-1], b[-1]
    a, b = (1, *a) if len(a) == 1 else a, (*b, 1) if len(b) == 1 else b
    return "bmm", (prod(np.broadcast_shapes(a[:-2], b[:-2])),), a[-2], a[-1], b[-1]


def _matmul(input: Any, other: Any, **_: Any) -> Calls:
    sides = _sides(input, other, _folds(input, other))
    return Calls([] if sides is None else [_product_of(*sides)])


def _linear(input: Any, weight: Any, bias: Any = None) -> Calls:
    m, k = prod(input.shape[:-1]), input.shape[-1]
    if weight.ndim == 1:
        return _matmul(input, weight)
    product = _product_of("mm", (), m, k, weight.shape[0])
    if bias is not None and input.is_contiguous():
        return Calls([Call("addmm", (bias, *product.args), product.out)])
    return Calls([product] if bias is None else [product, Call("add", (product.out, bias))])


def _contracted(a: Any, b: Any, dims: Any = 2) -> tuple[int, int, int]:
    axes = range(a.ndim - dims, a.ndim) if isinstance(dims, int) else list(dims[0])
    k = prod(a.shape[axis] for axis in axes)
    return prod(a.shape) // max(k, 1), k, prod(b.shape) // max(k, 1)


def _tensordot(a: Any, b: Any, dims: Any = 2, **_: Any) -> Calls:
    return Calls([_product_of("mm", (), *_contracted(a, b, dims))])


def _inner(input: Any, other: Any, **_: Any) -> Calls:
    if not (input.ndim and other.ndim):
        return Calls([])
    return Calls([_product_of("mm", (), *_contracted(input, other.T, 1))])


def _needs(x: Any) -> bool:
    return bool(getattr(x, "requires_grad", False))


def _multi_dot(tensors: Sequence[Any], **_: Any) -> Calls:
    sizes = [tensors[0].shape[0], *(x.shape[-1] for x in tensors)]
    if tensors[0].ndim == 1:
        sizes[0] = 1
    if tensors[-1].ndim == 1:
        sizes[-1] = 1
    forward: list[Call] = []
    backward: list[Call] = []
    best: dict[tuple[int, int], tuple[int, int]] = {}  # by the first and last factor
    for first in range(len(tensors) - 1, -1, -1):
        best[first, first] = 0, first
        for last in range(first + 1, len(tensors)):
            best[first, last] = min(
                (
                    best[first, at][0]
                    + best[at + 1, last][0]
                    + sizes[first] * sizes[at + 1] * sizes[last + 1],
                    at,
                )
                for at in range(first, last)
            )

    def multiply(first: int, last: int) -> bool:
        if first == last:
            return _needs(tensors[first])
        at = best[first, last][1]
        wanted = multiply(first, at), multiply(at + 1, last)
        m, k, n = sizes[first], sizes[at + 1], sizes[last + 1]
        forward.append(_product_of("mm", (), m, k, n))
        backward.extend(_pulled("mm", (), m, k, n, wanted))
        return any(wanted)

    multiply(0, len(tensors) - 1)
    return Calls(forward, backward)


def _matrix_power(input: Any, n: int, **_: Any) -> Calls:
    # Two products of a cube, and those of squares and of what they are multiplied with.
    count = abs(n).bit_length() + abs(n).bit_count() - 2 if n else 0
    *lead, rows, _columns = input.shape
    stack = (prod(lead),) if lead else ()
    return Calls([_product_of("bmm" if lead else "mm", stack, rows, rows, rows)] * count)


# --- Sums of products ---------------------------------------------------------------------------


def _letters(equation: str, ranks: Sequence[int]) -> tuple[list[str], str]:
    """The letters of each operand and of the result; those of an ellipsis are capital Greek."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = []
    rest = ""
    for term, rank in zip(left.split(","), ranks, strict=True):
        count = rank - len(term.replace("...", ""))
        hidden = "".join(chr(0x391 + place) for place in range(count - 1, -1, -1))
        rest = max(rest, hidden, key=len) if "..." in term else rest
        terms.append(term.replace("...", hidden))
    if not arrow:
        every = left.replace(",", "").replace("...", "")
        right = "..." + "".join(sorted(x for x in set(every) if every.count(x) == 1))
    return terms, right.replace("...", rest)


def _einsum(equation: Any, *operands: Any) -> Calls:
    if not equation:
        numbers, arrays = operands[1::2], operands[::2][: len(operands) // 2]
        words = ["".join("..." if n is ... else chr(97 + n) for n in term) for term in numbers]
        equation = ",".join(words)
        if len(operands) % 2:
            equation += "->" + "".join("..." if n is ... else chr(97 + n) for n in operands[-1])
        operands = arrays
    terms, result = _letters(equation, [x.ndim for x in operands])
    sizes: dict[str, int] = {}
    for term, x in zip(terms, operands, strict=True):
        for letter, size in zip(term, x.shape, strict=True):
            sizes[letter] = max(size, sizes.get(letter, 1))
    own = [
        {letter for letter, size in zip(term, x.shape, strict=True) if size != 1}
        for term, x in zip(terms, operands, strict=True)
    ]
    forward: list[Call] = []
    backward: list[Call] = []
    left, needs = own[0], _needs(operands[0])
    for place in range(1, len(operands)):
        right = own[place]
        kept = set(result).union(*own[place + 1 :])
        summed = (left & right) - kept
        parts = (left & right) & kept, (left - right) & kept, summed, (right - left) & kept
        stack, m, k, n = (prod(sizes[letter] for letter in part) for part in parts)
        wanted = needs, _needs(operands[place])
        if summed:
            forward.append(_product_of("bmm", (stack,), m, k, n))
            backward += _pulled("bmm", (stack,), m, k, n, wanted)
        left, needs = (left | right) & kept, any(wanted)
    return Calls(forward, backward)


# --- Convolutions -------------------------------------------------------------------------------


def _batched(shape: Sequence[int], dims: int) -> Shape:
    return (1, *shape) if len(shape) == dims + 1 else tuple(shape)


def _convolution(input: Any, weight: Any, bias: Any, *moves: Any, made: Any) -> Calls:
    *settings, dims = moves
    stride, padding, dilation, groups = settings
    x, out = _batched(input.shape, dims), _batched(made.shape, dims)
    args = (x, weight, bias, stride, padding, dilation, False, 0, groups)
    return Calls([Call("convolution", args, out)])


def _transposed(input: Any, weight: Any, bias: Any, *moves: Any, made: Any) -> Calls:
    stride, padding, more, groups, dilation, dims = moves
    x, out = _batched(input.shape, dims), _batched(made.shape, dims)
    args = (x, weight, bias, stride, padding, dilation, True, more, groups)
    return Calls([Call("convolution", args, out)])


# --- Attention and recurrent networks -----------------------------------------------------------


def _attention(
    query: Any, key: Any, value: Any, mask: Any, dropout_p: float, causal: bool, *_: Any, made: Any
) -> Calls:
    parts = (query, key, value)
    same = {x.ndim for x in parts} == {4} and len({x.shape[-1] for x in parts}) == 1
    if same and not dropout_p and not _needs(mask) and all(x.numel() for x in parts):
        back = Call(f"{FLASH}_backward", (made, *parts, made), tuple(x.shape for x in parts))
        backward = [back] if any(map(_needs, parts)) else []
        return Calls([Call(FLASH, (*parts, dropout_p, causal), made)], backward)
    return _products_of_heads(query, key, value, "bmm")


def _heads(query: Any, key: Any, value: Any, mask: Any, _dropout: float, **_: Any) -> Calls:
    return _products_of_heads(query, key, value, "bmm" if mask is None else "baddbmm")


def _products_of_heads(query: Any, key: Any, value: Any, first: str) -> Calls:
    *lead, rows, size = query.shape
    columns = key.shape[-2]
    stack = (prod(lead),) if lead else ()
    scores = _product_of(first if lead else "mm", stack, rows, size, columns)
    if first == "baddbmm":
        scores = Call(first, (scores.out, *scores.args), scores.out)
    means = _product_of("bmm" if lead else "mm", stack, rows, columns, value.shape[-1])
    return Calls([scores, means])


def _step(x: Any, weight: Any, rows: int) -> Call:
    count, size = weight.shape
    product = _product_of("mm", (), rows, size, count)
    return Call("addmm", (Size((count,)), *product.args), product.out)


def _recurrent(
    input: Any,
    hx: Any,
    params: Sequence[Any],
    mode: str,
    sizes: Any,
    has_biases: bool,
    layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
    **_: Any,
) -> Calls:
    if mode == "LSTM" and sizes is None and input.dtype.itemsize == 4 and input.numel():
        return Calls([], [])  # PyTorch has one operator for the whole, which it does not count
    if sizes is None:
        steps, batch = input.shape[:2][:: -1 if batch_first else 1]
        sizes = (batch,) * steps
        flat = input.is_contiguous() and (not batch_first or 1 in (steps, batch))
    else:
        flat = True
    rows, ways = sum(sizes), 1 + bidirectional
    each = len(params) // (layers * ways)
    forward: list[Call] = []
    for place in range(layers * ways):
        weight, hidden = params[place * each : place * each + 2]
        whole = _step(input, weight, rows)
        if not (has_biases and (flat or place >= ways)):
            whole = Call("mm", whole.args[1:], whole.out)
        forward.append(whole)
        steps_of = [_step(hx, hidden, size) for size in sizes]
        if not has_biases:
            steps_of = [Call("mm", step.args[1:], step.out) for step in steps_of]
        forward += steps_of
    return Calls(forward)


def _cell(mode: str, input: Any, *rest: Any, **_: Any) -> Calls:
    hidden, *others = rest
    weights = others[1:3] if mode == "LSTM" else others[:2]
    rows = input.shape[0] if input.ndim == 2 else 1
    calls = [_step(input, weight, rows) for weight in weights]
    if others[-1] is None:
        calls = [Call("mm", call.args[1:], call.out) for call in calls]
    return Calls(calls)


def _itself(name: str) -> Callable[..., Calls]:
    return lambda *args, made, **kwargs: Calls([Call(name, (*args, *kwargs.values()), made)])


_OPERATIONS: dict[str, Callable[..., Calls]] = {
    **{name: _itself(name) for name in ("mm", "bmm", "addmm", "baddbmm")},
    "addbmm": lambda *_, **__: Calls([]),
    "matmul": _matmul,
    "linear": _linear,
    "tensordot": _tensordot,
    "inner": _inner,
    "multi_dot": _multi_dot,
    "matrix_power": _matrix_power,
    "einsum": _einsum,
    "convolution": _convolution,
    "conv_transpose": _transposed,
    "scaled_dot_product_attention": _attention,
    "weighted_heads": _heads,
    "rnn": _recurrent,
    "rnn_cell": _cell,
}


def of_operation(name: str, args: Any, kwargs: Any, made: Any) -> Calls:
    """The products of a call of an operation; those of others are not counted."""
    formula = _OPERATIONS.get(name.removesuffix("_"))
    if formula is None:
        return Calls([_itself(name)(*args, made=made, **kwargs).forward[0]], [])
    if formula in (_linear, _einsum):
        return formula(*args, **kwargs)
    return formula(*args, made=made, **kwargs)


# --- Backward passes ----------------------------------------------------------------------------


def _pull_product(_node: Node, x: Any, y: Any, wanted: Any, **_: Any) -> list[Call]:
    small = min(len(x.shape), len(y.shape)) <= 2 < max(len(x.shape), len(y.shape))
    sides = _sides(x, y, small)
    return [] if sides is None else _pulled(*sides, wanted)


def _pull_affine(_node: Node, _bias: Any, x: Any, weight: Any, wanted: Any) -> list[Call]:
    m, k = x.shape
    return _pulled("mm", (), m, k, weight.shape[0], wanted[1:])


def _pull_added(node: Node, _input: Any, x: Any, y: Any, wanted: Any, **_: Any) -> list[Call]:
    name = type(node).__name__
    if name in ("AddmvBackward0", "AddrBackward0") or len(y.shape) == 1:
        return []
    *lead, m, k = x.shape
    kind = "bmm" if lead or name == "AddbmmBackward0" else "mm"
    stack = (1,) if kind == "bmm" and not lead else tuple(lead)
    return _pulled(kind, stack, m, k, y.shape[-1], wanted[1:])


def _pull_tensordot(_node: Node, a: Any, b: Any, wanted: Any, axes: Any = 2) -> list[Call]:
    return _pulled("mm", (), *_contracted(_Ranked(a), _Ranked(b), axes), wanted)


class _Ranked:
    """What has a shape, a rank, and whether its gradient is wanted."""

    def __init__(self, x: Any, wanted: bool = False) -> None:
        self.shape, self.ndim, self.requires_grad = tuple(x.shape), len(x.shape), wanted


def _pull_einsum(_node: Node, *xs: Any, wanted: Any, subscripts: str, **_: Any) -> list[Call]:
    operands = [_Ranked(x, w) for x, w in zip(xs, wanted, strict=True)]
    return list(_einsum(subscripts, *operands).backward or ())


def _pull_convolution(
    node: Node, x: Any, weight: Any, bias: Any = None, *, wanted: Any, kernel: Any, **_: Any
) -> list[Call]:
    transposed = node._entry[0].name == "spread"
    g, moves = node._entry[1], (kernel.stride, kernel.before, kernel.dilation)
    mask = (*wanted, False)[:3]
    args = (g, x, weight, None, *moves, transposed, 0, kernel.groups, list(mask))
    return [Call("convolution_backward", args, (x, weight, bias))] if any(mask[:2]) else []


def _pull_gather(
    _node: Node, x: Any, g: Any, *, wanted: Any, kernel: Any, widths: Shape
) -> list[Call]:
    weight = (g.shape[1], x.shape[1] // kernel.groups, *widths)
    moves = (kernel.stride, kernel.before, kernel.dilation)
    return [Call("convolution", (x, weight, None, *moves, False), g)] * sum(wanted)


def _pull_recurrent(
    _node: Node, *xs: Any, wanted: Any, mode: str, sizes: Any, reverse: bool = False, **_: Any
) -> list[Call]:
    place = 3 if mode == "LSTM" else 2
    count, size = xs[place].shape
    calls = [_product_of("mm", (), count, rows, size) for rows in sizes] if wanted[place] else []
    steps = [_product_of("mm", (), rows, count, size) for rows in sizes]
    first = len(steps) - 1 if reverse else 0
    return calls + [step for at, step in enumerate(steps) if at != first or wanted[1]]


def _pull_step(_node: Node, *xs: Any, wanted: Any, mode: str, **_: Any) -> list[Call]:
    place = 3 if mode == "LSTM" else 2
    rows = xs[0].shape[0]
    calls = []
    for at in (0, 1):
        count, size = xs[place + at].shape
        calls += _pulled("mm", (), rows, size, count, (wanted[at], wanted[place + at]))
    return calls


_RULES: dict[str, Callable[..., list[Call]]] = {
    "np.matmul": _pull_product,
    "np.dot": _pull_product,
    "linear": _pull_affine,
    "addmm": _pull_added,
    "np.tensordot": _pull_tensordot,
    "np.inner": lambda node, a, b, wanted: _pull_tensordot(
        node, a, b, wanted, ([len(a.shape) - 1], [len(b.shape) - 1])
    ),
    "np.einsum": _pull_einsum,
    "convolve": _pull_convolution,
    "spread": _pull_convolution,
    "gather": _pull_gather,
    "recurrent": _pull_recurrent,
    "recurrent_step": _pull_step,
}


def is_product(node: Node) -> bool:
    """Whether the node of a call computes products in a backward pass."""
    return node._entry is not None and getattr(node._entry[0], "name", None) in _RULES


def of_node(node: Node, needed: Any, *, logged: bool) -> Iterator[Call]:
    """The products of a step of a backward pass.

    needed: the nodes whose gradients are; None for all. logged: whether a pass made the node.
    """
    entry = node._entry
    formula = _RULES.get(getattr(entry[0], "name", ""))
    if formula is None:
        return
    wanted = [p != -1 and (needed is None or p in needed) for p in parents_of(entry)]
    args, params = entry[2], entry[3]
    if entry[5] is not None:
        args, params = entry[2:4], {}
    calls = formula(node, *args[: len(wanted)], wanted=wanted, **params)
    for call in calls:
        if logged and call.name == "convolution_backward":
            g, x, weight, _, *moves, transposed, _, groups, mask = call.args
            once = Call("convolution", (x, weight, None, *moves, transposed, 0, groups), g)
            yield from [once] * sum(mask[:2])
        else:
            yield call


__all__ = ["FLASH", "Call", "Calls", "is_product", "of_node", "of_operation"]
