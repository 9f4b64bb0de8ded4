"""Filters of Fourier transforms: products with a function of frequency."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.ndimage as ni

from tapegrad._core.forms import composite
from tapegrad._core.types import Function, Value
from tapegrad._core.values import holds_in_trace
from tapegrad._errors import NotDifferentiableError
from tapegrad.scipy._mirror import mirror
from tapegrad.scipy.ndimage._images import HERE, as_image, finished, for_each

fourier_gaussian, fourier_uniform = (
    mirror(ni.fourier_gaussian, HERE),
    mirror(ni.fourier_uniform, HERE),
)
fourier_ellipsoid, fourier_shift = (
    mirror(ni.fourier_ellipsoid, HERE),
    mirror(ni.fourier_shift, HERE),
)


def _frequencies(size: int, length: int) -> Any:
    """The frequencies of a transform of `size` elements; of `length` real ones if that is set."""
    if length >= 0:
        return np.arange(size) / length
    return np.fft.fftfreq(size)


def _by_axis(factor: Callable[[Value, Any], Value], name: str) -> Function:
    """The product of a factor of (parameter, frequency) along each axis."""

    def definition(
        input: Value, parameter: Value, n: int = -1, axis: int = -1, output: Any = None
    ) -> Value:
        x = as_image(input)
        axis = range(x.ndim)[axis]
        for own, value in enumerate(for_each(parameter, x.ndim, name)):
            frequency = _frequencies(x.shape[own], n if own == axis else -1)
            factors = np.reshape(factor(value, frequency), (-1,) + (1,) * (x.ndim - 1 - own))
            x = x * factors.astype(_kind(x, factors))
        return finished(x, output)

    return definition


def _kind(x: Value, factors: Value) -> Any:
    """The dtype of factors beside an image of single or double precision."""
    single = x.dtype in (np.float32, np.complex64)
    if factors.dtype.kind == "c":
        return np.complex64 if single else np.complex128
    return np.float32 if single else np.float64


def _gaussian(sigma: Value, frequency: Any) -> Value:
    return np.exp(-0.5 * (2 * np.pi * sigma * frequency) ** 2)


def _uniform(size: Value, frequency: Any) -> Value:
    # SciPy leaves nothing but the mean where the size is not positive.
    return np.where(size > 0, np.sinc(size * frequency), frequency == 0)


def _shifted(shift: Value, frequency: Any) -> Value:
    return np.exp(-2j * np.pi * shift * frequency)


_of_gaussian = _by_axis(_gaussian, "sigma")
_of_uniform = _by_axis(_uniform, "size")
_of_shift = _by_axis(_shifted, "shift")


def _fourier_gaussian(
    input: Value, sigma: Value, n: int = -1, axis: int = -1, output: Any = None
) -> Value:
    return _of_gaussian(input, sigma, n, axis, output)


def _fourier_uniform(
    input: Value, size: Value, n: int = -1, axis: int = -1, output: Any = None
) -> Value:
    return _of_uniform(input, size, n, axis, output)


def _fourier_shift(
    input: Value, shift: Value, n: int = -1, axis: int = -1, output: Any = None
) -> Value:
    return _of_shift(input, shift, n, axis, output)


def _fourier_ellipsoid(
    input: Value, size: Any, n: int = -1, axis: int = -1, output: Any = None
) -> Value:
    if holds_in_trace(size):
        raise NotDifferentiableError(
            "scipy.ndimage.fourier_ellipsoid: not differentiable by its argument 'size'. Pass "
            "tapegrad.stop_gradient(...) of it if it is a constant."
        )
    x = as_image(input)
    kind = np.float32 if x.dtype in (np.float32, np.complex64) else np.float64
    return finished(x * ni.fourier_ellipsoid(np.ones(x.shape, kind), size, n, axis), output)


composite(fourier_gaussian, _fourier_gaussian)
composite(fourier_uniform, _fourier_uniform)
composite(fourier_shift, _fourier_shift)
composite(fourier_ellipsoid, _fourier_ellipsoid)
