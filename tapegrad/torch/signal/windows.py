"""`torch.signal.windows`: weights that fall off at both ends, for spectra.

Knows their formulas. Must not know how tensors are computed with.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad.torch import _dtypes
from tapegrad.torch._ops.create.creation import finish
from tapegrad.torch._ops.create.data import numpy_dtype
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch._types import Device, DType

Shape = Callable[[Value], Value]


def _window(shape_of: Callable[..., Shape]) -> Callable[..., Tensor]:
    """A window of the shape that a function of `M`, `sym` and parameters of its own returns.

    The shape is a function of the places, from 0.
    """
    name = shape_of.__name__

    def window(
        M: int,
        *,
        sym: bool = True,
        dtype: DType = None,
        layout: Any = None,
        device: Device = None,
        requires_grad: bool = False,
        **own: Any,
    ) -> Tensor:
        shape = shape_of(M, sym, **own)
        _dtypes.require_strided(name, layout)
        given = numpy_dtype(name, dtype) or _dtypes.default_float()
        if M < 0:
            raise ValueError(f"{name} requires non-negative window length, got M={M}")
        kind = _dtypes.of_numpy(given)
        if not kind.is_floating_point:
            raise ValueError(f"{name} expects floating point dtypes, got: {kind}")
        value = shape(np.arange(M, dtype=np.float64)) if M > 1 else np.ones(M)
        return finish(value.astype(given), name, device=device, requires_grad=requires_grad)

    known = inspect.signature(window)
    points, *shared, _ = known.parameters.values()
    parameters = inspect.signature(shape_of).parameters.values()
    settings = [each for each in parameters if each.kind is each.KEYWORD_ONLY]
    window.__dict__["__signature__"] = known.replace(parameters=[points, *settings, *shared])
    window.__name__ = window.__qualname__ = name
    window.__doc__ = shape_of.__doc__
    return window


def _cosines(factors: Iterable[float], M: int, sym: bool) -> Shape:
    turn = 2 * math.pi / (M - sym or 1)
    terms = [*enumerate(map(float, factors))]
    return lambda k: sum((-1) ** i * a * np.cos(i * turn * k) for i, a in terms)


@_window
def bartlett(M: int, sym: bool) -> Shape:
    """A triangle, 0 at both ends.

    ValueError: For a negative number of points, a dtype that is none of floats.

    >>> torch.signal.windows.bartlett(5)
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    width = M - sym or 1
    return lambda k: 1 - np.abs(2 * k / width - 1)


@_window
def blackman(M: int, sym: bool) -> Shape:
    """Three cosines: 0.42 - 0.5 cos(x) + 0.08 cos(2 x).

    ValueError: For a negative number of points, a dtype that is none of floats.

    >>> torch.signal.windows.blackman(5).shape
    torch.Size([5])
    """
    return _cosines((0.42, 0.5, 0.08), M, sym)


@_window
def cosine(M: int, sym: bool) -> Shape:
    """Half of a wave of the sine.

    ValueError: For a negative number of points, a dtype that is none of floats.

    >>> torch.signal.windows.cosine(2)
    tensor([0.7071, 0.7071])
    """
    turn = math.pi / (M + (not sym) or 1)
    return lambda k: np.sin(turn * (k + 0.5))


@_window
def exponential(M: int, sym: bool, *, center: float | None = None, tau: float = 1.0) -> Shape:
    """An exponential that falls off from a center.

    center (float): Where the weight is 1: the middle; another one of periodic windows alone.
    tau (float): How far from it the weight is 1 / e.
    ValueError: For a negative number of points, a dtype that is none of floats, no positive
        `tau`, and a `center` of a symmetric window.

    >>> torch.signal.windows.exponential(3)
    tensor([0.3679, 1.0000, 0.3679])
    """
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    middle = (M - sym) / 2 if center is None else center
    return lambda k: np.exp(-np.abs(k - middle) / tau)


@_window
def gaussian(M: int, sym: bool, *, std: float = 1.0) -> Shape:
    """The density of a normal distribution, 1 in the middle.

    std (float): The standard deviation.
    ValueError: For a negative number of points, a dtype that is none of floats, and no positive
        `std`.

    >>> torch.signal.windows.gaussian(3)
    tensor([0.6065, 1.0000, 0.6065])
    """
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    middle = (M - sym) / 2
    return lambda k: np.exp(-(((k - middle) / std) ** 2) / 2)


@_window
def general_cosine(M: int, sym: bool, *, a: Iterable[float]) -> Shape:
    """Cosines with factors: a[0] - a[1] cos(x) + a[2] cos(2 x) - ...

    a (iterable of floats): The factors.
    ValueError: For a negative number of points, a dtype that is none of floats, and no factors.

    >>> torch.signal.windows.general_cosine(3, a=[0.5, 0.5])
    tensor([0., 1., 0.])
    """
    factors = [*a]
    if not factors:
        raise ValueError("Coefficients cannot be empty")
    return _cosines(factors, M, sym)


@_window
def general_hamming(M: int, sym: bool, *, alpha: float = 0.54) -> Shape:
    """One cosine: alpha - (1 - alpha) cos(x).

    alpha (float): The factor.
    ValueError: For a negative number of points, a dtype that is none of floats.

    >>> torch.signal.windows.general_hamming(3, alpha=0.5)
    tensor([0., 1., 0.])
    """
    return _cosines((alpha, 1 - alpha), M, sym)


@_window
def hamming(M: int, sym: bool) -> Shape:
    """One cosine: 0.54 - 0.46 cos(x).

    ValueError: For a negative number of points, a dtype that is none of floats.

    >>> torch.signal.windows.hamming(3)
    tensor([0.0800, 1.0000, 0.0800])
    """
    return _cosines((0.54, 0.46), M, sym)


@_window
def hann(M: int, sym: bool) -> Shape:
    """One cosine: (1 - cos(x)) / 2.

    ValueError: For a negative number of points, a dtype that is none of floats.

    >>> torch.signal.windows.hann(3)
    tensor([0., 1., 0.])
    """
    return _cosines((0.5, 0.5), M, sym)


@_window
def kaiser(M: int, sym: bool, *, beta: float = 12.0) -> Shape:
    """A Bessel function of a half circle, with nearly all of its energy in the main lobe.

    beta (float): How narrow it is.
    ValueError: For a negative number of points, a dtype that is none of floats, and a negative
        `beta`.

    >>> torch.signal.windows.kaiser(5).shape
    torch.Size([5])
    """
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    width = M - sym or 1

    def shape(k: Value) -> Value:
        height = np.sqrt(np.maximum(1 - (2 * k / width - 1) ** 2, 0))
        return np.asarray(np.i0(beta * height) / np.i0(beta))

    return shape


@_window
def nuttall(M: int, sym: bool) -> Shape:
    """Four cosines, whose side lobes are low.

    ValueError: For a negative number of points, a dtype that is none of floats.

    >>> torch.signal.windows.nuttall(5).shape
    torch.Size([5])
    """
    return _cosines((0.3635819, 0.4891775, 0.1365995, 0.0106411), M, sym)


__all__ = [
    "bartlett",
    "blackman",
    "cosine",
    "exponential",
    "gaussian",
    "general_cosine",
    "general_hamming",
    "hamming",
    "hann",
    "kaiser",
    "nuttall",
]
