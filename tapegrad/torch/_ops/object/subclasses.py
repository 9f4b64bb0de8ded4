"""Operations that programs seldom use: Python functions of elements, subclasses, sum_to_size.

Knows how operations are declared. Nothing else may depend on it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad._core.types import Function, Tree, Value
from tapegrad.torch._docstrings.sections import told
from tapegrad.torch._graph.versions import count_write, share_version
from tapegrad.torch._ops.declare import operation, register
from tapegrad.torch._ops.elementwise.arithmetic import cast, floating
from tapegrad.torch._tensor.tensor import Tensor, of_value
from tapegrad.torch._tensor.writes import check_writable
from tapegrad.torch._types import Dim, Sizes


@register("detach", method=False)
def _detach(input: Tensor) -> Tensor:
    """The same memory without history.

    -> Tensor: A view: it shares the memory of `input`, and requires no grad.
    """
    return input.detach()


@register("detach_", method=False)
def _detach_(input: Tensor) -> Tensor:
    """Cut a tensor from the graph that made it."""
    return input.detach_()


def _declare_itself(word: str, what: str) -> None:
    def itself(input: Tensor) -> Tensor:
        return input

    itself.__name__ = itself.__qualname__ = word
    itself.__doc__ = told(
        f"The tensor itself: {what} are computed at once.",
        f"{word}(torch.tensor([1.0]))",
        "tensor([1.])",
        "-> Tensor: `input` itself.",
    )
    register(method=False)(itself)


_declare_itself("resolve_conj", "conjugates")
_declare_itself("resolve_neg", "negatives")


@register(function=False)
def apply_(self: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Replace each element by what a function of Python's makes of it; slow, and not logged.

    callable (callable): A function of one number.
    """
    return _by_python(self, "apply_", callable, self)


@register(function=False)
def map_(self: Tensor, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """Replace each element by a function of it and of that of another tensor.

    tensor: The other tensor.
    callable (callable): A function of two numbers.
    """
    return _by_python(self, "map_", callable, self, tensor)


@register(function=False)
def map2_(self: Tensor, x: Tensor, y: Tensor, callable: Any) -> Tensor:
    """Write `callable(a, b, c)` of the elements of three tensors; not if one requires grad.

    x: The second tensor.
    y: The third one.
    callable (callable): A function of three numbers.
    """
    if self.requires_grad or x.requires_grad or y.requires_grad:
        raise RuntimeError(
            "Can't call map2_() on Variable that requires grad. Use var.detach().map2_() instead."
        )
    parts = zip(
        self.reshape(-1).tolist(),
        x.expand_as(self).reshape(-1).tolist(),
        y.expand_as(self).reshape(-1).tolist(),
        strict=True,
    )
    made = self.new_tensor([callable(*part) for part in parts])
    self.copy_(made.reshape(self.shape))
    return self


def _grad_dtype(self: Tensor) -> Any:
    """The dtype of the gradient: the tensor's own."""
    return self.dtype


register("grad_dtype", function=False)(property(_grad_dtype))


@register(function=False)
def module_load(self: Tensor, other: Tensor, assign: bool = False) -> Tensor:
    """Value that `load_state_dict` stores for this parameter: a detached tensor.

    other: The tensor that was loaded.
    assign: Whether the parameter becomes `other`, instead of getting its elements.
    -> Tensor: The tensor to store.
    """
    return other.detach() if assign else self.detach().copy_(other)


def _by_python(target: Tensor, word: str, function: Function, *sources: Tensor) -> Tensor:
    if any(source.requires_grad for source in sources):
        raise RuntimeError(
            f"Can't call {word}() on Variable that requires grad. Use var.detach().{word}() "
            "instead."
        )
    check_writable(target, tracked=False)
    value = target._value
    columns = [np.broadcast_to(source._value, value.shape).ravel().tolist() for source in sources]
    made = [function(*numbers) for numbers in zip(*columns, strict=True)]
    value[...] = np.asarray(made, value.dtype).reshape(value.shape)
    count_write(target)
    return target


@register(function=False)
def as_subclass(self: Tensor, cls: object) -> Tensor:
    """The same memory and history as a tensor of a subclass.

    cls (type): The subclass of Tensor.
    -> Tensor: A tensor of that class.
    """
    if not (isinstance(cls, type) and issubclass(cls, Tensor)):
        raise TypeError("cls must be a type that inherits from Tensor")
    made = of_value(self._value, self.view_as(self).node if self.requires_grad else None)
    share_version(self, made)
    made.__class__ = cls
    return made


def _make_subclass(cls: type, data: Tensor, require_grad: bool = False, **_: Any) -> Tensor:
    """A leaf of a subclass over the memory of a tensor, as packages make their parameters."""
    made: Tensor = as_subclass(data.detach(), cls).requires_grad_(require_grad)
    return made


register("_make_subclass", function=False, module=__name__)(staticmethod(_make_subclass))


@register()
def get_device(self: Tensor) -> int:
    """-1: tensors are in the CPU's memory.

    -> int: -1.
    """
    return -1


@operation("SumBackward1", function=False)
def sum_to_size(input: Value, *size: Sizes) -> Value:
    """The sum over the dimensions that broadcasting would add or stretch.

    *size: The shape, which has to broadcast to that of this tensor.
    -> Tensor: The sums.
    """
    shape = tuple(size[0]) if len(size) == 1 and not isinstance(size[0], int) else size
    extra = input.ndim - len(shape)
    fits = extra >= 0 and all(
        wanted in (1, side) for wanted, side in zip(shape, input.shape[extra:], strict=True)
    )
    if not fits:
        raise RuntimeError(
            f"size {{{list(shape)}}} is not expandable to size {{{list(input.shape)}}}."
        )
    axes = [
        axis
        for axis, side in enumerate(input.shape)
        if axis < extra or (shape[axis - extra] == 1 and side != 1)
    ]
    return np.sum(input, axis=tuple(axes), keepdims=True).reshape(shape) if axes else input


@operation("FlipBackward0", method=False)
def vander(x: Value, N: int | None = None, increasing: bool = False) -> Value:
    """Rows of the powers of each element, the highest first.

    x: A vector.
    N: The number of columns; the length of `x` unless given.
    increasing: Whether the lowest power comes first.
    -> Tensor: A matrix (len(x), N).
    """
    if N is not None and N < 0:
        raise RuntimeError("N must be non-negative.")
    if x.dtype.kind in "biu":
        x = x.astype(np.int64)
    powers = np.arange(x.shape[0] if N is None else N).astype(x.dtype)
    return np.expand_dims(x, -1) ** (powers if increasing else powers[::-1])


@operation("StackBackward0", method=False, order="contiguous")
def gradient(input: Value, *, spacing: Tree = 1, dim: Dim = None, edge_order: Any = 1) -> Any:
    """Central differences along each dimension, or those of `dim`.

    spacing (number, sequence of numbers or sequence of Tensors): The distance of
        neighbours, one for all or one a dimension, or the coordinates along each.
    dim: The dimensions; all unless given.
    edge_order (int): The order of the differences at the edges: 1 or 2.
    -> tuple of Tensors: The differences, a tensor for each dimension.
    """
    x = floating(input)
    axes = range(x.ndim) if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    steps = spacing if isinstance(spacing, (list, tuple)) else (spacing,) * len(axes)
    if len(steps) != len(axes):
        raise RuntimeError(
            "torch.gradient expected spacing to be unspecified, a scalar or a list of length "
            f"equal to the number of dimensions {len(axes)}, but got {len(steps)}"
        )
    return tuple(
        cast(np.gradient(x, step, axis=axis, edge_order=edge_order), x.dtype)
        for axis, step in zip(axes, steps, strict=True)
    )


@operation("I0Backward0", inplace=True)
def i0(input: Value) -> Value:
    """The modified Bessel function of the first kind, of order 0.

    -> Tensor: A value for each element, in the shape of `input`.
    """
    x = floating(input)
    return cast(np.i0(x), x.dtype).reshape(x.shape)


@register(method=False)
def unravel_index(indices: Tensor, shape: Sizes) -> tuple[Tensor, ...]:
    """The coordinates of flat positions in an array of a shape.

    indices: Whole numbers: positions in the flat array.
    shape: The shape of the array.
    -> tuple of Tensors: The coordinates, a tensor for each dimension.
    """
    sides = (shape,) if isinstance(shape, int) else tuple(shape)
    try:
        found = np.unravel_index(indices._value, sides)
    except ValueError as error:
        raise ValueError(str(error)) from None
    return tuple(of_value(np.asarray(part)) for part in found)
