"""Padding as modules: constants, zeros, reflections, replications, and around a circle.

Knows `Module` and `nn.functional.pad`. Must not know how it is computed.
"""

from __future__ import annotations

from collections.abc import Iterable

from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.nn.module.module import Module
from tapegrad.torch.nn.padding.functions import pad


class _Padding(Module):
    """Pads the last dimensions: as many as `spatial`, with one width for all or two for each.

    padding (int or iterable of int): The width, or {borders}. Negative ones crop.
    """

    spatial: int
    mode: str

    def __init__(self, padding: int | Iterable[int]) -> None:
        super().__init__()
        self.padding: tuple[int, ...] = (
            tuple(padding) if isinstance(padding, Iterable) else (padding,) * (2 * self.spatial)
        )

    def forward(self, input: Tensor) -> Tensor:
        return pad(input, self.padding, self.mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _Constant(_Padding):
    _in_repr = "padding value"
    extra_repr = Module.extra_repr
    mode = "constant"

    def __init__(self, padding: int | Iterable[int], value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return pad(input, self.padding, "constant", self.value)


class _Zeros(_Constant):
    extra_repr = _Padding.extra_repr

    def __init__(self, padding: int | Iterable[int]) -> None:
        super().__init__(padding, 0.0)


class ConstantPad1d(_Constant):
    """A value before and after the last dimension.

    >>> torch.nn.ConstantPad1d((1, 2), 7.0)(torch.tensor([[1.0, 2.0]]))
    tensor([[7., 1., 2., 7., 7.]])
    """

    spatial = 1


class ConstantPad2d(_Constant):
    """A value around images.

    >>> torch.nn.ConstantPad2d((1, 0, 0, 1), 7.0)(torch.tensor([[[1.0, 2.0]]]))
    tensor([[[7., 1., 2.],
             [7., 7., 7.]]])
    """

    spatial = 2


class ConstantPad3d(_Constant):
    """A value around volumes.

    >>> torch.nn.ConstantPad3d(1, 7.0)(torch.ones(1, 2, 2, 2)).shape
    torch.Size([1, 4, 4, 4])
    """

    spatial = 3


class ZeroPad1d(_Zeros, ConstantPad1d):
    """Zeros before and after the last dimension.

    >>> torch.nn.ZeroPad1d(1)(torch.tensor([[1.0, 2.0]]))
    tensor([[0., 1., 2., 0.]])
    """


class ZeroPad2d(_Zeros, ConstantPad2d):
    """Zeros around images.

    >>> torch.nn.ZeroPad2d(1)(torch.tensor([[[1.0, 2.0]]]))
    tensor([[[0., 0., 0., 0.],
             [0., 1., 2., 0.],
             [0., 0., 0., 0.]]])
    """


class ZeroPad3d(_Zeros, ConstantPad3d):
    """Zeros around volumes.

    >>> torch.nn.ZeroPad3d(1)(torch.ones(1, 2, 2, 2)).shape
    torch.Size([1, 4, 4, 4])
    """


class ReflectionPad1d(_Padding):
    """Elements mirrored at the first and the last, which are not repeated.

    >>> torch.nn.ReflectionPad1d(1)(torch.tensor([[1.0, 2.0, 3.0]]))
    tensor([[2., 1., 2., 3., 2.]])
    """

    spatial = 1
    mode = "reflect"


class ReflectionPad2d(_Padding):
    """Images mirrored at their borders, which are not repeated.

    >>> torch.nn.ReflectionPad2d((1, 1, 0, 0))(torch.tensor([[[1.0, 2.0, 3.0]]]))
    tensor([[[2., 1., 2., 3., 2.]]])
    """

    spatial = 2
    mode = "reflect"


class ReflectionPad3d(_Padding):
    """Volumes mirrored at their borders, which are not repeated.

    >>> torch.nn.ReflectionPad3d(1)(torch.ones(1, 2, 2, 2)).shape
    torch.Size([1, 4, 4, 4])
    """

    spatial = 3
    mode = "reflect"


class ReplicationPad1d(_Padding):
    """The first and the last element repeated.

    >>> torch.nn.ReplicationPad1d(1)(torch.tensor([[1.0, 2.0, 3.0]]))
    tensor([[1., 1., 2., 3., 3.]])
    """

    spatial = 1
    mode = "replicate"


class ReplicationPad2d(_Padding):
    """The borders of images repeated.

    >>> torch.nn.ReplicationPad2d(1)(torch.tensor([[[1.0, 2.0]]]))
    tensor([[[1., 1., 2., 2.],
             [1., 1., 2., 2.],
             [1., 1., 2., 2.]]])
    """

    spatial = 2
    mode = "replicate"


class ReplicationPad3d(_Padding):
    """The borders of volumes repeated.

    >>> torch.nn.ReplicationPad3d(1)(torch.ones(1, 2, 2, 2)).shape
    torch.Size([1, 4, 4, 4])
    """

    spatial = 3
    mode = "replicate"


class _Circular(_Padding):
    """Elements from the opposite borders.

    A call raises ValueError for other than {ranks} dimensions.
    """

    mode = "circular"

    def forward(self, input: Tensor) -> Tensor:
        low, high = self.spatial + 1, self.spatial + 2
        if input.dim() not in (low, high):
            raise ValueError(f"expected {low}D or {high}D input (got {input.dim()}D input)")
        return pad(input, self.padding, "circular")


class CircularPad1d(_Circular):
    """Elements from the other end before the first and after the last.

    >>> torch.nn.CircularPad1d(1)(torch.tensor([[1.0, 2.0, 3.0]]))
    tensor([[3., 1., 2., 3., 1.]])
    """

    spatial = 1


class CircularPad2d(_Circular):
    """Elements from the opposite borders around images.

    >>> torch.nn.CircularPad2d((1, 1, 0, 0))(torch.tensor([[[1.0, 2.0, 3.0]]]))
    tensor([[[3., 1., 2., 3., 1.]]])
    """

    spatial = 2


class CircularPad3d(_Circular):
    """Elements from the opposite borders around volumes.

    >>> torch.nn.CircularPad3d(1)(torch.ones(1, 2, 2, 2)).shape
    torch.Size([1, 4, 4, 4])
    """

    spatial = 3


__all__ = [
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
]
