"""How tensors print: PyTorch's form, with 4 digits after the point.

Knows PyTorch's rules of width, scientific notation and summaries. Must not know operations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np

from tapegrad._block import contextmanager
from tapegrad._core.types import Value
from tapegrad._core.values import Traced, is_mapped, printed
from tapegrad.torch import _dtypes
from tapegrad.torch._graph.tracing import is_dual
from tapegrad.torch._ops.declare import register
from tapegrad.torch._tensor.duals import unpack_dual
from tapegrad.torch._tensor.meta import is_meta
from tapegrad.torch._tensor.tensor import LEAF, Tensor, ndarray, of_value
from tapegrad.torch._types import Number

PROFILES: dict[str, dict[str, Any]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": float("inf"), "edgeitems": 3, "linewidth": 80},
}
PRINT_OPTS = SimpleNamespace(**PROFILES["default"], sci_mode=None)  # packages read it
OPTIONS: dict[str, Any] = vars(PRINT_OPTS)


@register(method=False)
def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors print.

    precision: Digits after the point.
    threshold: More elements than this are summarised.
    edgeitems: How many are shown at each end of a summary.
    linewidth: Characters a line.
    profile: "default", "short", or "full" (no summaries), which the others then change.
    sci_mode: Whether numbers are in scientific notation; where PyTorch finds it useful unless
        given.

    >>> torch.set_printoptions(precision=2)
    >>> torch.tensor([1.0, 1 / 3])
    tensor([1.00, 0.33])
    >>> torch.set_printoptions(profile="default")
    """
    if profile is not None:
        if profile not in PROFILES:
            raise ValueError(f"expected a profile of {', '.join(PROFILES)}, got {profile!r}")
        OPTIONS.update(PROFILES[profile])
    given = {
        "precision": precision,
        "threshold": threshold,
        "edgeitems": edgeitems,
        "linewidth": linewidth,
    }
    OPTIONS.update({word: value for word, value in given.items() if value is not None})
    OPTIONS["sci_mode"] = sci_mode


@contextmanager
def printoptions(**options: Any) -> Iterator[None]:
    """Print tensors in a way within a block, of which `set_printoptions` has the words.

    **options: What `set_printoptions` takes.

    >>> with torch._tensor_str.printoptions(precision=2):
    ...     print(torch.tensor(1 / 3))
    tensor(0.33)
    """
    known = {**OPTIONS}
    set_printoptions(**options)
    try:
        yield
    finally:
        OPTIONS.clear()
        OPTIONS.update(known)


# Numbers for which plain notation would lose digits or waste columns.
LARGEST_RATIO = 1000.0
LARGEST = 1.0e8
SMALLEST = 1.0e-4


class _Form:
    """How the numbers of one real array are written, all to the same width."""

    def __init__(self, array: Value) -> None:
        self.whole = True
        self.scientific = False
        self.real = array.dtype.kind == "f"
        shown = array.reshape(-1)
        if self.real:
            shown = shown.astype(np.float64)
            shown = shown[np.isfinite(shown) & (shown != 0)]
            self._choose(shown)
        self.width = max([1, *(len(self._written(number)) for number in shown.tolist())])

    def _choose(self, numbers: Value) -> None:
        if not numbers.size:
            return
        self.whole = bool(np.all(numbers == np.ceil(numbers)))
        sizes = np.abs(numbers)
        largest, smallest = float(sizes.max()), float(sizes.min())
        self.scientific = OPTIONS["sci_mode"]
        if self.scientific is None:
            self.scientific = (
                largest / smallest > LARGEST_RATIO or largest > LARGEST or smallest < SMALLEST
            )

    def _written(self, number: Number) -> str:
        if not self.real:
            return str(number)
        precision = OPTIONS["precision"]
        if self.scientific:
            return f"{number:.{precision}e}"
        if self.whole:
            return f"{number:.0f}" + ("." if np.isfinite(number) else "")
        return f"{number:.{precision}f}"

    def __call__(self, number: Number) -> str:
        return self._written(number).rjust(self.width)


def _writer_of(array: Value) -> tuple[Callable[[Number], str], int]:
    """How an element is written, and how wide."""
    if array.dtype.kind != "c":
        form = _Form(array)
        return form, form.width
    first, second = _Form(array.real), _Form(array.imag)

    def write(number: Number) -> str:
        imaginary = f"{second(number.imag)}j".lstrip()
        sign = "" if imaginary[0] in "+-" else "+"
        return first(number.real) + sign + imaginary

    return write, first.width + second.width + 1


def _edges(array: Value) -> Value:
    """The elements of a summary."""
    edge = OPTIONS["edgeitems"]
    for dim, side in enumerate(array.shape):
        if side > 2 * edge:
            kept = [*range(edge), *range(side - edge, side)]
            array = array.take(kept, axis=dim)
    return array


def _rows(
    array: Value, indent: int, summary: bool, write: Callable[[Number], str], width: int
) -> str:
    edge = OPTIONS["edgeitems"]
    if not array.ndim:
        return write(array.item())
    short = summary and len(array) > 2 * edge
    if array.ndim == 1:
        return _row(array, indent, short, write, width)
    parts = [*array[:edge], None, *array[len(array) - edge :]] if short else list(array)
    lines = [
        "..." if part is None else _rows(part, indent + 1, summary, write, width) for part in parts
    ]
    between = "," + "\n" * (array.ndim - 1) + " " * (indent + 1)
    return f"[{between.join(lines)}]"


def _row(
    array: Value, indent: int, short: bool, write: Callable[[Number], str], width: int
) -> str:
    edge = OPTIONS["edgeitems"]
    if short and not edge:
        words = ["..."]
    elif short:
        first, last = array[:edge].tolist(), array[len(array) - edge :].tolist()
        words = [*map(write, first), " ...", *map(write, last)]
    else:
        words = [*map(write, array.tolist())]
    in_line = max(1, (OPTIONS["linewidth"] - indent) // (width + 2))
    lines = [", ".join(words[at : at + in_line]) for at in range(0, len(words), in_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _numbers(array: Value, indent: int) -> str:
    if not array.size:
        return "[]"
    summary = array.size > OPTIONS["threshold"]
    write, width = _writer_of(_edges(array) if summary else array)
    return _rows(array, indent, summary, write, width)


def _tensor_str(self: Tensor, indent: int) -> str:
    """The elements of a tensor as `repr` shows them.

    indent: The column at which they begin.

    >>> import tapegrad.torch as torch
    >>> torch._tensor_str._tensor_str(torch.ones(2), 0)
    '[1., 1.]'
    """
    shown = self._value.astype(np.float32) if self._value.dtype.kind == "V" else self._value
    return _numbers(shown, indent)


def _remarks(tensor: Tensor) -> list[str]:
    array = tensor._value
    usual = [_dtypes.default_float()]
    if array.size:
        usual += [_dtypes.default_complex(), np.dtype(np.int64), np.dtype(bool)]
    remarks = []
    if (not array.size and array.ndim != 1) or (array.size and not OPTIONS["edgeitems"]):
        remarks.append(f"size={tuple(array.shape)}")
    if array.dtype not in usual:
        remarks.append(f"dtype={tensor.dtype}")
    node = tensor.node
    if node is LEAF:
        remarks.append("requires_grad=True")
    elif node is not None:
        found = tensor.grad_fn
        remarks.append(f"grad_fn=<{type(found).__name__}>")
    return remarks


@register("__repr__", "__str__", function=False)
def repr_of(tensor: Tensor) -> str:
    """A tensor as PyTorch prints it."""
    meta = is_meta(tensor._value)
    if type(tensor._value) is not ndarray and not meta:
        return _repr_traced(tensor)
    kind = type(tensor).__name__
    prefix = "tensor(" if kind in ("Tensor", "Parameter", "Variable") else f"{kind}("
    indent = len(prefix)
    if meta:
        text = f"{prefix}..., device='meta', size={tuple(tensor.shape)}"
    else:
        text = prefix + _tensor_str(tensor, indent)
    column = len(text) - text.rfind("\n") + 1
    for remark in _remarks(tensor):
        if column + len(remark) + 2 > OPTIONS["linewidth"]:
            text += ",\n" + " " * indent + remark
            column = indent + len(remark)
        else:
            text += ", " + remark
            column += len(remark) + 2
    return text + ")"


def _repr_traced(tensor: Tensor) -> str:
    """A tensor within a functional transform: the transform's name around what it stands for."""
    value = tensor._value
    if is_dual(value):
        primal, tangent = unpack_dual(tensor)
        text = repr_of(primal)
        return text if tangent is None else f"{text[:-1]}, tangent={repr_of(tangent)})"
    if not (isinstance(value, Traced) or is_mapped(value)):
        return repr_of(of_value(printed(value), tensor.node))
    if isinstance(value, Traced):
        inner, name, tape = value._value, "GradTrackingTensor", value.tape
        words = f"lvl={-2 if tape.is_closed() else tape.level}"  # as PyTorch's after the transform
    else:
        inner, name = value._value, "BatchedTensor"
        words = f"lvl={value.level}, bdim=0"
    text = repr_of(of_value(inner)).replace("\n", "\n    ")
    return f"{name}({words}, value=\n    {text}\n)"


@register("__format__", function=False)
def _format(self: Tensor, spec: str) -> str:
    if not self.dim() and type(self._value) is ndarray:
        return format(self._value.item(), spec)
    return object.__format__(self, spec)
