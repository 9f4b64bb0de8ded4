"""Padding as modules: constants, zeros, reflections, replications, and around a circle.

Knows `Module` and `nn.functional.pad`. Must not know how it is computed.
"""

from __future__ import annotations

from collections.abc import Iterable

from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.nn.contents import own_names
from tapegrad.torch.nn.dimensions import classes
from tapegrad.torch.nn.module.module import Module
from tapegrad.torch.nn.padding.functions import pad


class _Padding(Module):
    """Pads the last dimensions: as many as `_dims`, with one width for all or two for each.

    padding (int or iterable of int): The width, or {borders}. Negative ones crop.
    """

    _in_repr = "=padding"
    _dims: int
    _mode: str

    def __init__(self, padding: int | Iterable[int]) -> None:
        super().__init__()
        self.padding: tuple[int, ...] = (
            tuple(padding) if isinstance(padding, Iterable) else (padding,) * (2 * self._dims)
        )

    def forward(self, input: Tensor) -> Tensor:
        return pad(input, self.padding, self._mode)


class _ConstantPad(_Padding):
    _in_repr = "padding value"

    def __init__(self, padding: int | Iterable[int], value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return pad(input, self.padding, "constant", self.value)


ConstantPad1d, ConstantPad2d, ConstantPad3d = classes(
    _ConstantPad,
    """A value before and after the last dimension.

    >>> torch.nn.ConstantPad1d((1, 2), 7.0)(torch.tensor([[1.0, 2.0]]))
    tensor([[7., 1., 2., 7., 7.]])
    """,
    """A value around images.

    >>> torch.nn.ConstantPad2d((1, 0, 0, 1), 7.0)(torch.tensor([[[1.0, 2.0]]]))
    tensor([[[7., 1., 2.],
             [7., 7., 7.]]])
    """,
    """A value around volumes.

    >>> torch.nn.ConstantPad3d(1, 7.0)(torch.ones(1, 2, 2, 2)).shape
    torch.Size([1, 4, 4, 4])
    """,
)


class _ZeroPad(_ConstantPad):
    _in_repr = "=padding"

    def __init__(self, padding: int | Iterable[int]) -> None:
        super().__init__(padding, 0.0)


ZeroPad1d, ZeroPad2d, ZeroPad3d = classes(
    _ZeroPad,
    """Zeros before and after the last dimension.

    >>> torch.nn.ZeroPad1d(1)(torch.tensor([[1.0, 2.0]]))
    tensor([[0., 1., 2., 0.]])
    """,
    """Zeros around images.

    >>> torch.nn.ZeroPad2d(1)(torch.tensor([[[1.0, 2.0]]]))
    tensor([[[0., 0., 0., 0.],
             [0., 1., 2., 0.],
             [0., 0., 0., 0.]]])
    """,
    """Zeros around volumes.

    >>> torch.nn.ZeroPad3d(1)(torch.ones(1, 2, 2, 2)).shape
    torch.Size([1, 4, 4, 4])
    """,
    also=(ConstantPad1d, ConstantPad2d, ConstantPad3d),
)


class _ReflectionPad(_Padding):
    _mode = "reflect"


ReflectionPad1d, ReflectionPad2d, ReflectionPad3d = classes(
    _ReflectionPad,
    """Elements mirrored at the first and the last, which are not repeated.

    >>> torch.nn.ReflectionPad1d(1)(torch.tensor([[1.0, 2.0, 3.0]]))
    tensor([[2., 1., 2., 3., 2.]])
    """,
    """Images mirrored at their borders, which are not repeated.

    >>> torch.nn.ReflectionPad2d((1, 1, 0, 0))(torch.tensor([[[1.0, 2.0, 3.0]]]))
    tensor([[[2., 1., 2., 3., 2.]]])
    """,
    """Volumes mirrored at their borders, which are not repeated.

    >>> torch.nn.ReflectionPad3d(1)(torch.ones(1, 2, 2, 2)).shape
    torch.Size([1, 4, 4, 4])
    """,
)


class _ReplicationPad(_Padding):
    _mode = "replicate"


ReplicationPad1d, ReplicationPad2d, ReplicationPad3d = classes(
    _ReplicationPad,
    """The first and the last element repeated.

    >>> torch.nn.ReplicationPad1d(1)(torch.tensor([[1.0, 2.0, 3.0]]))
    tensor([[1., 1., 2., 3., 3.]])
    """,
    """The borders of images repeated.

    >>> torch.nn.ReplicationPad2d(1)(torch.tensor([[[1.0, 2.0]]]))
    tensor([[[1., 1., 2., 2.],
             [1., 1., 2., 2.],
             [1., 1., 2., 2.]]])
    """,
    """The borders of volumes repeated.

    >>> torch.nn.ReplicationPad3d(1)(torch.ones(1, 2, 2, 2)).shape
    torch.Size([1, 4, 4, 4])
    """,
)


class _CircularPad(_Padding):
    """Elements from the opposite borders.

    A call raises ValueError for other than {ranks} dimensions.
    """

    _mode = "circular"

    def forward(self, input: Tensor) -> Tensor:
        low, high = self._dims + 1, self._dims + 2
        if input.dim() not in (low, high):
            raise ValueError(f"expected {low}D or {high}D input (got {input.dim()}D input)")
        return super().forward(input)


CircularPad1d, CircularPad2d, CircularPad3d = classes(
    _CircularPad,
    """Elements from the other end before the first and after the last.

    >>> torch.nn.CircularPad1d(1)(torch.tensor([[1.0, 2.0, 3.0]]))
    tensor([[3., 1., 2., 3., 1.]])
    """,
    """Elements from the opposite borders around images.

    >>> torch.nn.CircularPad2d((1, 1, 0, 0))(torch.tensor([[[1.0, 2.0, 3.0]]]))
    tensor([[[3., 1., 2., 3., 1.]]])
    """,
    """Elements from the opposite borders around volumes.

    >>> torch.nn.CircularPad3d(1)(torch.ones(1, 2, 2, 2)).shape
    torch.Size([1, 4, 4, 4])
    """,
)


__all__ = list(own_names(__name__))
