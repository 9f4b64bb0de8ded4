"""Padding as modules: constants, zeros, reflections, replications, and around a circle.

Knows `Module` and `nn.functional.pad`. Must not know how it is computed.
"""

from __future__ import annotations

from collections.abc import Iterable

from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.nn._module import Module
from tapegrad.torch.nn._padding import pad


class _Padding(Module):
    """Pads the last dimensions: as many as `spatial`, with one width for all or two for each."""

    spatial: int
    mode: str

    def __init__(self, padding: int | Iterable[int]) -> None:
        super().__init__()
        self.padding = (
            tuple(padding) if isinstance(padding, Iterable) else (padding,) * (2 * self.spatial)
        )

    def forward(self, input: Tensor) -> Tensor:
        return pad(input, self.padding, self.mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _Constant(_Padding):
    mode = "constant"

    def __init__(self, padding: int | Iterable[int], value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_Constant):
    """A value before and after the last dimension: `nn.functional.pad`.

    padding: an int, or two. As everywhere here, a negative width crops.
    """

    spatial = 1


class ConstantPad2d(_Constant):
    """A value around images; padding: an int, or four (left, right, top, bottom)."""

    spatial = 2


class ConstantPad3d(_Constant):
    """A value around volumes; padding: an int, or six (left, right, top, bottom, front, back)."""

    spatial = 3


class ZeroPad1d(ConstantPad1d):
    """Zeros before and after the last dimension."""

    def __init__(self, padding: int | Iterable[int]) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad2d(ConstantPad2d):
    """Zeros around images."""

    def __init__(self, padding: int | Iterable[int]) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad3d(ConstantPad3d):
    """Zeros around volumes."""

    def __init__(self, padding: int | Iterable[int]) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ReflectionPad1d(_Padding):
    """Elements mirrored at the first and the last, which are not repeated."""

    spatial = 1
    mode = "reflect"


class ReflectionPad2d(_Padding):
    """Images mirrored at their borders, which are not repeated."""

    spatial = 2
    mode = "reflect"


class ReflectionPad3d(_Padding):
    """Volumes mirrored at their borders, which are not repeated."""

    spatial = 3
    mode = "reflect"


class ReplicationPad1d(_Padding):
    """The first and the last element repeated."""

    spatial = 1
    mode = "replicate"


class ReplicationPad2d(_Padding):
    """The borders of images repeated."""

    spatial = 2
    mode = "replicate"


class ReplicationPad3d(_Padding):
    """The borders of volumes repeated."""

    spatial = 3
    mode = "replicate"


class _Circular(_Padding):
    mode = "circular"

    def forward(self, input: Tensor) -> Tensor:
        low, high = self.spatial + 1, self.spatial + 2
        if input.dim() not in (low, high):
            raise ValueError(f"expected {low}D or {high}D input (got {input.dim()}D input)")
        return pad(input, self.padding, "circular")


class CircularPad1d(_Circular):
    """Elements from the other end; ValueError for other than 2 or 3 dimensions."""

    spatial = 1


class CircularPad2d(_Circular):
    """Elements from the opposite borders; ValueError for other than 3 or 4 dimensions."""

    spatial = 2


class CircularPad3d(_Circular):
    """Elements from the opposite borders; ValueError for other than 4 or 5 dimensions."""

    spatial = 3
