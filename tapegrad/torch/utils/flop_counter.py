"""How many floating point operations a program takes: `FlopCounterMode`, with PyTorch's formulas.

Knows the formulas by PyTorch's operators, and the table of modules. Must not know which operators
a call comes to; that is in `_flop_calls`.
"""

from __future__ import annotations

import functools
from bisect import bisect
from collections import defaultdict
from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Self
from weakref import WeakKeyDictionary

from tapegrad._core.tape import CURRENT
from tapegrad._warning import warn
from tapegrad.torch._absent.table import Operator
from tapegrad.torch._dtypes import Size
from tapegrad.torch._graph.modes import Watcher, change, current
from tapegrad.torch._graph.node import Node, made_since
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.autograd._recorded import label_of
from tapegrad.torch.utils._flop_calls import Call, is_product, of_node, of_operation
from tapegrad.torch.utils._pytree import tree_leaves, tree_map, tree_map_
from tapegrad.torch.utils.module_tracker import ModuleTracker

Formula = Callable[..., int]
Shape = Sequence[int]

flop_registry: dict[Any, Formula] = {}


def get_shape(i: Any) -> Any:
    """The shape of a tensor or an array; anything else as it is."""
    return Size(i.shape) if hasattr(i, "shape") else i


def shape_wrapper(f: Formula) -> Formula:
    """A formula that takes tensors, of one that takes their shapes."""

    @functools.wraps(f)
    def of_shapes(*args: Any, out_val: Any = None, **kwargs: Any) -> int:
        args, kwargs, shape = tree_map(get_shape, (args, kwargs, out_val))
        return f(*args, out_shape=shape, **kwargs)

    vars(of_shapes)["_get_raw"] = True  # so that a `custom_mapping` may have it
    return of_shapes


def register_flop_formula(targets: Any, get_raw: bool = False) -> Callable[[Formula], Formula]:
    """Decorator of formulas for operators, which all counters use from then on.

    targets: `torch.ops.aten.mm`, or a list of such.
    get_raw: Whether the formula takes the tensors and `out_val`, rather than their shapes and
        `out_shape`.
    -> callable: The decorator.
    ValueError: For a target that is no operator.
    RuntimeError: For one that has a formula.
    """

    def decorate(formula: Formula) -> Formula:
        made = formula if get_raw else shape_wrapper(formula)

        def register(target: Any) -> None:
            if not isinstance(target, Operator):
                raise ValueError(
                    "register_flop_formula(targets): expected each target to be OpOverloadPacket "
                    "(i.e. torch.ops.mylib.foo), JitFunction, or HigherOrderOperator, got "
                    f"{target} which is of type {type(target)}"
                )
            if target in flop_registry:
                raise RuntimeError(f"duplicate registrations for {target}")
            flop_registry[target] = made

        tree_map_(register, targets)
        return made

    return decorate


def _of(*names: str) -> Callable[[Formula], Formula]:
    return register_flop_formula([Operator(f"aten.{name}") for name in names])


# --- Formulas -----------------------------------------------------------------------------------


def _check(holds: bool, message: str) -> None:
    if not holds:
        raise AssertionError(message)


@_of("mm")
def mm_flop(a_shape: Shape, b_shape: Shape, *_: Any, out_shape: Any = None, **__: Any) -> int:
    """The operations of a product of matrices: a product and a sum each."""
    (m, k), (rows, n) = a_shape, b_shape
    _check(k == rows, f"matmul: inner dimensions must match (k == k2), got {k} and {rows}")
    return m * n * 2 * k


@_of("addmm")
def addmm_flop(
    self_shape: Shape, a_shape: Shape, b_shape: Shape, out_shape: Any = None, **_: Any
) -> int:
    """Those of a product of matrices that is added to another: the sum is not counted."""
    return mm_flop(a_shape, b_shape)


@_of("bmm")
def bmm_flop(a_shape: Shape, b_shape: Shape, out_shape: Any = None, **_: Any) -> int:
    """Those of the products of two stacks of matrices."""
    (count, m, k), (others, rows, n) = a_shape, b_shape
    _check(
        count == others, f"bmm: batch dimensions must match (b == b2), got {count} and {others}"
    )
    _check(k == rows, f"bmm: inner dimensions must match (k == k2), got {k} and {rows}")
    return count * m * n * 2 * k


@_of("baddbmm")
def baddbmm_flop(
    self_shape: Shape, a_shape: Shape, b_shape: Shape, out_shape: Any = None, **_: Any
) -> int:
    """Those of stacks of products that are added to others: the sum is not counted."""
    return bmm_flop(a_shape, b_shape)


def conv_flop_count(
    x_shape: Shape, w_shape: Shape, out_shape: Shape, transposed: bool = False
) -> int:
    """Those of a convolution: each weight meets each place of the result once.

    x_shape: Of the input, with the examples.
    w_shape: Of the weight.
    out_shape: Of the result.
    transposed: Whether each weight meets each place of the input instead.
    -> int: The operations, without those of a bias.
    """
    places = (x_shape if transposed else out_shape)[2:]
    return prod(places) * prod(w_shape) * x_shape[0] * 2


@_of("convolution", "_convolution", "cudnn_convolution", "_slow_conv2d_forward")
def conv_flop(
    x_shape: Shape,
    w_shape: Shape,
    _bias: Any,
    _stride: Any,
    _padding: Any,
    _dilation: Any,
    transposed: bool,
    *_: Any,
    out_shape: Any = None,
    **__: Any,
) -> int:
    """Those of a convolution, from the arguments of its operator."""
    return conv_flop_count(x_shape, w_shape, out_shape, transposed=transposed)


@_of("convolution_backward")
def conv_backward_flop(
    grad_out_shape: Shape,
    x_shape: Shape,
    w_shape: Shape,
    _bias: Any,
    _stride: Any,
    _padding: Any,
    _dilation: Any,
    transposed: bool,
    _output_padding: Any,
    _groups: int,
    output_mask: Sequence[bool],
    out_shape: Any,
    **_: Any,
) -> int:
    """Those of the gradients of a convolution, which are convolutions themselves."""

    def swapped(shape: Shape) -> list[int]:
        return [shape[1], shape[0], *shape[2:]]

    count = 0
    if output_mask[0]:
        count += conv_flop_count(grad_out_shape, w_shape, out_shape[0], not transposed)
    if output_mask[1]:
        x, other = (grad_out_shape, x_shape) if transposed else (x_shape, grad_out_shape)
        count += conv_flop_count(swapped(x), swapped(other), swapped(out_shape[1]))
    return count


def _check_heads(query: Shape, *others: Shape) -> None:
    (_, heads, *_rest), (_, fewer, *_sizes) = query, others[0]
    _check(all(x[0] == query[0] for x in others), f"batches differ: {[query, *others]}")
    _check(
        heads >= fewer and heads % fewer == 0,
        f"sdpa_flop_count: query heads ({heads}) must be a multiple of key/value heads ({fewer})",
    )


def sdpa_flop_count(query_shape: Shape, key_shape: Shape, value_shape: Shape) -> int:
    """Those of attention: two products of matrices for each head."""
    _check_heads(query_shape, key_shape, value_shape)
    batch, heads, rows, size = query_shape
    columns = key_shape[2]
    return 2 * batch * heads * rows * columns * (size + value_shape[3])


@_of(
    "_scaled_dot_product_efficient_attention",
    "_scaled_dot_product_flash_attention",
    "_scaled_dot_product_cudnn_attention",
)
def sdpa_flop(
    query_shape: Shape,
    key_shape: Shape,
    value_shape: Shape,
    *_: Any,
    out_shape: Any = None,
    **__: Any,
) -> int:
    """Those of attention, from the arguments of its operator."""
    return sdpa_flop_count(query_shape, key_shape, value_shape)


def sdpa_backward_flop_count(
    grad_out_shape: Shape, query_shape: Shape, key_shape: Shape, value_shape: Shape
) -> int:
    """Those of the gradients of attention: four products, and one that is computed anew."""
    _check_heads(query_shape, key_shape, value_shape, grad_out_shape)
    batch, heads, rows, size = query_shape
    columns = key_shape[2]
    return 2 * batch * heads * rows * columns * (3 * size + 2 * value_shape[3])


@_of(
    "_scaled_dot_product_efficient_attention_backward",
    "_scaled_dot_product_flash_attention_backward",
    "_scaled_dot_product_cudnn_attention_backward",
)
def sdpa_backward_flop(
    grad_out_shape: Shape,
    query_shape: Shape,
    key_shape: Shape,
    value_shape: Shape,
    *_: Any,
    out_shape: Any = None,
    **__: Any,
) -> int:
    """Those of the gradients of attention, from the arguments of their operator."""
    return sdpa_backward_flop_count(grad_out_shape, query_shape, key_shape, value_shape)


# --- Counting -----------------------------------------------------------------------------------


class FlopCounterMode:
    """Context manager that counts the floating point operations of its block, as PyTorch does.

    Counted are products of matrices and convolutions, in forward and in backward passes, by module
    and by PyTorch's operator. PyTorch's attention on a CPU and its LSTM of float32 are operators
    of their own, which have no formula there either: `custom_mapping` may give one.

    mods: Not needed, as a warning says.
    depth: How deep modules are in the table; None for all.
    display: Whether the table is printed at the end of the block.
    custom_mapping (dict): Formulas by operator. They take the shapes of the arguments, and
        `out_shape`; one with an attribute `_get_raw` takes the tensors, and `out_val`.

    >>> import tapegrad.torch as torch
    >>> x = torch.ones(2, 3, requires_grad=True)
    >>> with torch.utils.flop_counter.FlopCounterMode(display=False) as counter:
    ...     (x @ torch.ones(3, 4)).sum().backward()
    >>> counter.get_total_flops()
    96
    """

    def __init__(
        self,
        mods: Any = None,
        depth: int | None = 2,
        display: bool = True,
        custom_mapping: dict[Any, Formula] | None = None,
    ) -> None:
        if mods is not None:
            warn("mods argument is not needed anymore, you can stop passing it")
        self.flop_counts: dict[str, dict[Any, int]] = defaultdict(lambda: defaultdict(int))
        self.depth, self.display = depth, display
        self.mode: _Counting | None = None
        self.mod_tracker = ModuleTracker()
        self.flop_registry = dict(flop_registry)
        for target, formula in (custom_mapping or {}).items():
            raw = getattr(formula, "_get_raw", False)
            self.flop_registry[target] = formula if raw else shape_wrapper(formula)

    def get_total_flops(self) -> int:
        """How many operations the block took.

        -> int: Their number.
        """
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """How many operations each module took, by PyTorch's operator.

        -> dict: By the name of a module, and `Global`; in it by operator.
        """
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """The operations as a table of modules.

        depth: How deep modules are in it; as of the counter unless given.
        -> str: The table.
        """
        most = self.depth if depth is None else depth
        every = self.get_total_flops()
        suffix = get_suffix_str(every)

        def rows_of(name: str, indent: int) -> list[list[str]]:
            counts = self.flop_counts[name]
            named = [(name, sum(counts.values()))]
            named += [(f" - {operator}", count) for operator, count in counts.items()]
            return [
                [
                    " " * indent + word,
                    convert_num_with_suffix(count, suffix) if suffix else str(count),
                    convert_to_percent_str(count, every),
                ]
                for word, count in named
            ]

        rows: list[list[str]] = []
        whole = False  # whether a module took all
        for name in sorted(self.flop_counts):
            level = name.count(".")
            if name != "Global" and (most is None or level < most):
                rows += rows_of(name, level)
                whole |= sum(self.flop_counts[name].values()) >= every
        if "Global" in self.flop_counts and not whole:
            rows = rows_of("Global", 0) + [[f" {row[0]}", *row[1:]] for row in rows]
        return _table(["Module", "FLOP", "% Total"], rows or [["Global", "0", "0%"]])

    def __enter__(self) -> Self:
        self.flop_counts.clear()
        self.mod_tracker.__enter__()
        self.mode = _Counting(self)
        change(watchers=(*current().watchers, self.mode))
        return self

    def __exit__(self, *_: object) -> None:
        watchers = tuple(one for one in current().watchers if one is not self.mode)
        change(watchers=watchers)
        self.mode = None
        self.mod_tracker.__exit__()
        if self.display:
            print(self.get_table(self.depth))

    def _count(self, call: Call) -> None:
        target = Operator(f"aten.{call.name}")
        formula = self.flop_registry.get(target)
        if formula is not None:
            count = formula(*call.args, out_val=call.out)
            for name in self.mod_tracker.parents:
                self.flop_counts[name][target] += count


class _Counting(Watcher):
    """Counts the calls that it is told of."""

    def __init__(self, counter: FlopCounterMode) -> None:
        self.counter = counter
        # What nodes do in a backward pass, where their rules do not tell.
        self.known: WeakKeyDictionary[Node, Sequence[Call] | None] = WeakKeyDictionary()
        self.spans: list[int] = []  # the numbers of the nodes that passes made: begins and ends

    def called(self, name: str, args: Any, kwargs: Any, made: Any, start: int) -> None:
        label = label_of(name)
        if label is None:
            return
        if CURRENT.get() is not None:
            raise NotImplementedError(
                "FlopCounterMode: operations within transforms of torch.func are not counted. "
                "Leave the block before the transform, or use Tensor.backward()."
            )
        calls = of_operation(label.removeprefix("aten::"), args, kwargs, made)
        for call in calls.forward:
            self.counter._count(call)
        roots = [x.node for x in tree_leaves(made) if isinstance(x, Tensor) and x.node is not None]
        for node in made_since(roots, start):
            if node not in self.known and (node in roots or is_product(node)):
                planned = calls.backward
                self.known[node] = planned if planned is None or node in roots else ()

    def ran(self, node: Node, needed: Any, start: int, end: int) -> None:
        if end > start:
            self.spans += [start, end]
        logged = bisect(self.spans, node._number) % 2 == 1
        planned = self.known.get(node)
        for call in of_node(node, needed, logged=logged) if planned is None else planned:
            self.counter._count(call)


# --- The table ----------------------------------------------------------------------------------

suffixes = ["", "K", "M", "B", "T"]


def get_suffix_str(number: int) -> str:
    """The suffix with which a number has two to four digits before the point."""
    return suffixes[max(0, min(len(suffixes) - 1, (len(str(number)) - 2) // 3))]


def convert_num_with_suffix(number: int, suffix: str) -> str:
    """A number in units of a suffix."""
    return f"{number / 1000 ** suffixes.index(suffix):.3f}{suffix}"


def convert_to_percent_str(num: int, denom: int) -> str:
    """A part in percent; `0%` of nothing."""
    return f"{num / denom:.2%}" if denom else "0%"


def _table(header: list[str], rows: list[list[str]]) -> str:
    """Rows under a header: the first column to the left, others to the right."""
    widths = [
        max(len(word) + 2, *map(len, column))
        for word, column in zip(header, zip(*rows, strict=True), strict=True)
    ]
    lines = [header, ["-" * width for width in widths], *rows]
    aligned = (
        [f"{cell:{'<' if place == 0 else '>'}{widths[place]}}" for place, cell in enumerate(line)]
        for line in lines
    )
    return "\n".join("  ".join(cells).rstrip() for cells in aligned)


__all__ = ["FlopCounterMode", "register_flop_formula"]
