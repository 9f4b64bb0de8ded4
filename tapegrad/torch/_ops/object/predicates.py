"""Queries about tensors and dtypes: kinds, sizes, the dtype that two have together.

Knows the rules of promotion. Must not know operations.
"""

from __future__ import annotations

from tapegrad.torch import _dtypes
from tapegrad.torch._ops.declare import register
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch._types import TensorLike


@register(method=False)
def is_tensor(obj: object) -> bool:
    """Whether an object is a tensor.

    obj: Any object.

    >>> torch.is_tensor([1.0])
    False
    """
    return isinstance(obj, Tensor)


@register(method=False)
def is_floating_point(input: Tensor) -> bool:
    """Whether the elements are real floats."""
    return input.is_floating_point()


@register(method=False)
def is_complex(input: Tensor) -> bool:
    """Whether the elements are complex."""
    return input.is_complex()


@register(method=False)
def numel(input: Tensor) -> int:
    """The number of elements.

    -> int: Their number.
    """
    return input.numel()


@register()
def is_nonzero(self: Tensor) -> bool:
    """Whether the one element of a tensor is not zero.

    RuntimeError: If there are more elements, or none.
    """
    return bool(self)


@register()
def is_same_size(self: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape.

    other: The other tensor.
    """
    return self.shape == other.shape


@register(method=False)
def result_type(tensor1: TensorLike, tensor2: TensorLike) -> _dtypes.dtype:
    """The dtype that two tensors or numbers come to have in an operation together.

    tensor1: One operand.
    tensor2: The other one.
    -> dtype: The common one.
    """
    operands = [x._value if isinstance(x, Tensor) else x for x in (tensor1, tensor2)]
    return _dtypes.of_numpy(_dtypes.result_of(operands))


@register(method=False)
def promote_types(type1: _dtypes.dtype, type2: _dtypes.dtype) -> _dtypes.dtype:
    """The smallest dtype that two are safely converted to.

    type1: One dtype.
    type2: The other one.
    -> dtype: The common one.
    """
    return _dtypes.of_numpy(_dtypes.join(type1.numpy, type2.numpy))


@register(method=False)
def can_cast(from_: _dtypes.dtype, to: _dtypes.dtype) -> bool:
    """Whether an operation in place may convert one dtype to another.

    from_: The dtype of the values.
    to: The dtype of the memory.
    """
    return _dtypes.can_store(from_.numpy, to.numpy)


@register(method=False)
def is_inference(input: Tensor) -> bool:
    """Whether a tensor was made in inference mode."""
    return input.is_inference()


@register()
def is_signed(self: Tensor) -> bool:
    """Whether the elements may be negative."""
    return self.dtype.is_signed


@register()
def is_conj(self: Tensor) -> bool:
    """False: conjugates are computed at once."""
    return False


@register()
def is_neg(self: Tensor) -> bool:
    """False: negatives are computed at once."""
    return False


@register(method=False)
def typename(obj: object) -> str:
    """`torch.FloatTensor` for a tensor; for other objects the name of their type.

    obj: Any object.
    -> str: The name.
    """
    if isinstance(obj, Tensor):
        return str(obj.type())
    kind = type(obj)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
