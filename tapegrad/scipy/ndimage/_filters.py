"""Filters that are linear in the image, and the Gaussian ones by sigma too.

Each is an extension of the image, as its mode says, then sums over windows. Derivatives by the
image are exact for every mode, those by weights and by sigma come the same way. A filter's radius
is a whole number, and steps with sigma: the derivative is that within a step.
"""

from __future__ import annotations

import functools
import operator
from typing import Any

import numpy as np
import scipy.ndimage as ni

from tapegrad._core.forms import composite
from tapegrad._core.types import Function, Value
from tapegrad.scipy._mirror import expressed_by, mirror
from tapegrad.scipy.ndimage._images import (
    HERE,
    PADDED,
    as_array,
    as_image,
    axes_of,
    axes_of_window,
    extended,
    finished,
    for_each,
    number,
    window_widths,
)
from tapegrad.scipy.ndimage._windows import mean_along, running_mean, window_sums

correlate1d, convolve1d = mirror(ni.correlate1d, HERE), mirror(ni.convolve1d, HERE)
correlate, convolve = mirror(ni.correlate, HERE), mirror(ni.convolve, HERE)
gaussian_filter1d, gaussian_filter = (
    mirror(f, HERE) for f in (ni.gaussian_filter1d, ni.gaussian_filter)
)
uniform_filter1d, uniform_filter = (
    mirror(f, HERE) for f in (ni.uniform_filter1d, ni.uniform_filter)
)
prewitt, sobel, laplace = (mirror(f, HERE) for f in (ni.prewitt, ni.sobel, ni.laplace))
gaussian_laplace, gaussian_gradient_magnitude = (
    mirror(f, HERE) for f in (ni.gaussian_laplace, ni.gaussian_gradient_magnitude)
)
generic_laplace, generic_gradient_magnitude = (
    mirror(f, HERE) for f in (ni.generic_laplace, ni.generic_gradient_magnitude)
)

# --- correlations and convolutions


def _conjugated(weights: Value) -> Value:
    return np.conjugate(weights) if weights.dtype.kind == "c" else weights


def _complex_beside(x: Value, weights: Value) -> Value:
    if weights.dtype.kind == "c" and x.dtype.kind != "c":
        return x.astype(np.result_type(x.dtype, np.complex64))
    return x


def _correlated(x: Value, kernel: Value, modes: Any, cval: Any, origins: Any) -> Value:
    """The correlation with a kernel of as many axes as the image."""
    widths = [
        window_widths(count, origin)
        for count, origin in zip(kernel.shape, for_each(origins, x.ndim, "origin"), strict=True)
    ]
    x = _complex_beside(x, kernel)
    return window_sums(extended(x, widths, modes, cval), kernel.astype(_at_least(x, kernel)))


def _at_least(x: Value, kernel: Value) -> Any:
    """SciPy computes with weights in double precision; ours stay so."""
    return np.complex128 if kernel.dtype.kind == "c" else np.float64


def _along(x: Value, weights: Value, axis: int, mode: str, cval: Any, origin: int) -> Value:
    shape = [1] * x.ndim
    shape[axis] = weights.shape[0]
    origins = [0] * x.ndim
    origins[axis] = origin
    return _correlated(x, np.reshape(weights, shape), mode, cval, origins)


def _vector(weights: Any, name: str) -> Value:
    weights = as_array(weights)
    if weights.ndim != 1 or weights.shape[0] < 1:
        raise RuntimeError(f"scipy.ndimage.{name}: no filter weights given")
    return weights


def _correlate1d(
    input: Value, weights: Value, axis: int, output: Any, mode: str, cval: Any, origin: int
) -> Value:
    x, weights = as_image(input), _conjugated(_vector(weights, "correlate1d"))
    return finished(_along(x, weights, axis, mode, cval, origin), output)


def _convolve1d(
    input: Value, weights: Value, axis: int, output: Any, mode: str, cval: Any, origin: int
) -> Value:
    x, weights = as_image(input), _vector(weights, "convolve1d")
    origin = -origin - (weights.shape[0] % 2 == 0)
    return finished(_along(x, np.flip(weights), axis, mode, cval, origin), output)


def _kernel_over(weights: Value, axes: list[int], ndim: int, name: str) -> Value:
    weights = as_array(weights)
    if weights.ndim != len(axes) or 0 in weights.shape:
        raise RuntimeError(
            f"scipy.ndimage.{name}: expected weights of {len(axes)} axes, got {weights.shape}."
        )
    # SciPy takes the axes of weights in ascending order, whatever order `axes` has.
    return np.expand_dims(weights, [axis for axis in range(ndim) if axis not in axes])


def _over_axes(value: Any, axes: list[int], ndim: int, other: Any, name: str) -> list[Any]:
    spread = [other] * ndim
    for axis, own in zip(axes, for_each(value, len(axes), name), strict=True):
        spread[axis] = own
    return spread


def _correlate(
    input: Value, weights: Value, output: Any, mode: Any, cval: Any, origin: Any, *, axes: Any
) -> Value:
    x = as_image(input)
    chosen = axes_of_window(axes, x.ndim)
    kernel = _conjugated(_kernel_over(weights, chosen, x.ndim, "correlate"))
    origins = _over_axes(origin, chosen, x.ndim, 0, "origin")
    modes = _over_axes(mode, chosen, x.ndim, "reflect", "mode")
    return finished(_correlated(x, kernel, modes, cval, origins), output)


def _convolve(
    input: Value, weights: Value, output: Any, mode: Any, cval: Any, origin: Any, *, axes: Any
) -> Value:
    x = as_image(input)
    chosen = axes_of_window(axes, x.ndim)
    kernel = np.flip(_kernel_over(weights, chosen, x.ndim, "convolve"))
    origins = _over_axes(origin, chosen, x.ndim, 0, "origin")
    modes = _over_axes(mode, chosen, x.ndim, "reflect", "mode")
    turned = [
        -own - (count % 2 == 0) if axis in chosen else 0
        for axis, (own, count) in enumerate(zip(origins, kernel.shape, strict=True))
    ]
    return finished(_correlated(x, kernel, modes, cval, turned), output)


expressed_by(correlate1d, _correlate1d)
expressed_by(convolve1d, _convolve1d)
expressed_by(correlate, _correlate)
expressed_by(convolve, _convolve)

# --- Gaussian filters


def _gaussian_kernel(sigma: Value, order: int, radius: int) -> Value:
    """The normalised Gaussian at whole numbers, times the Hermite polynomial of a derivative."""
    x = np.arange(-radius, radius + 1) / sigma
    bell = np.exp(-0.5 * x * x)
    bell = bell / np.sum(bell)
    if order == 0:
        return bell
    previous, polynomial = 0.0 * x, 0.0 * x + 1
    for k in range(order):  # He_(k+1) = x He_k - k He_(k-1), DLMF 18.9.1
        previous, polynomial = polynomial, x * polynomial - k * previous
    return bell * polynomial * (-1 / sigma) ** order


def _gaussian_radius(sigma: Value, truncate: float, radius: int | None) -> int:
    if radius is None:
        radius = number(lambda s: int(truncate * float(s) + 0.5), sigma, "sigma without radius=")
    if operator.index(radius) < 0:
        raise ValueError(f"scipy.ndimage: expected a radius from 0, got {radius}.")
    return radius


def _gaussian_filter1d(
    input: Value,
    sigma: Value,
    axis: int = -1,
    order: int = 0,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    truncate: float = 4.0,
    *,
    radius: int | None = None,
) -> Value:
    if order < 0:
        raise ValueError(f"scipy.ndimage: expected an order from 0, got {order}.")
    kernel = _gaussian_kernel(sigma, order, _gaussian_radius(sigma, truncate, radius))
    return finished(_along(as_image(input), np.flip(kernel), axis, mode, cval, 0), output)


def _gaussian_filter(
    input: Value,
    sigma: Value,
    order: Any = 0,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    truncate: float = 4.0,
    *,
    radius: Any = None,
    axes: Any = None,
) -> Value:
    x = as_image(input)
    chosen = axes_of(axes, x.ndim)
    count = len(chosen)
    given = zip(
        chosen,
        for_each(sigma, count, "sigma"),
        for_each(order, count, "order"),
        for_each(mode, count, "mode"),
        for_each(radius, count, "radius"),
        strict=True,
    )
    for axis, own, derivative, way, reach in given:
        if number(lambda s: float(s) > 1e-15, own, "sigma"):
            x = _gaussian_filter1d(
                x, own, axis, derivative, None, way, cval, truncate, radius=reach
            )
    return finished(x, output, input)


composite(gaussian_filter1d, _gaussian_filter1d)
composite(gaussian_filter, _gaussian_filter)

# --- means


def _uniform_filter1d(
    input: Value,
    size: int,
    axis: int = -1,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: int = 0,
) -> Value:
    x, size = as_image(input), operator.index(size)
    if size < 1:
        raise RuntimeError(f"scipy.ndimage: expected a size from 1, got {size}.")
    widths = [(0, 0)] * x.ndim
    widths[axis] = window_widths(size, origin)
    beyond = PADDED.get(mode)
    linear = beyond is not None and (
        beyond != "constant" or type(cval) in (int, float) and not cval
    )
    if linear and max(widths[axis]) < x.shape[axis]:
        return finished(mean_along(x, size=size, axis=axis, mode=mode, origin=origin), output)
    return finished(running_mean(extended(x, widths, mode, cval), size=size, axis=axis), output)


def _uniform_filter(
    input: Value, size: Any, output: Any, mode: Any, cval: Any, origin: Any, *, axes: Any
) -> Value:
    x = as_image(input)
    chosen = axes_of(axes, x.ndim)
    count = len(chosen)
    given = zip(
        chosen,
        for_each(size, count, "size"),
        for_each(mode, count, "mode"),
        for_each(origin, count, "origin"),
        strict=True,
    )
    for axis, own, way, start in given:
        if own > 1:
            x = _uniform_filter1d(x, own, axis, None, way, cval, start)
    return finished(x, output, input)


composite(uniform_filter1d, _uniform_filter1d)
expressed_by(uniform_filter, _uniform_filter)

# --- differences


def _differences(smooth: list[int]) -> Function:
    """A central difference along an axis, smoothed along the others."""

    def definition(
        input: Value, axis: int = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0
    ) -> Value:
        x = as_image(input)
        axis = range(x.ndim)[axis]
        modes = for_each(mode, x.ndim, "mode")
        x = _along(x, np.array([-1.0, 0.0, 1.0]), axis, modes[axis], cval, 0)
        for other in range(x.ndim):
            if other != axis:
                x = _along(x, np.array(smooth, float), other, modes[other], cval, 0)
        return finished(x, output)

    return definition


composite(sobel, _differences([1, 2, 1]))
composite(prewitt, _differences([1, 1, 1]))


def _generic_laplace(
    input: Value,
    derivative2: Function,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    extra_arguments: Any = (),
    extra_keywords: Any = None,
    *,
    axes: Any = None,
) -> Value:
    terms = _by_axis(
        input, derivative2, mode, cval, extra_arguments, extra_keywords, axes, "derivative2"
    )
    total = functools.reduce(np.add, terms) if terms else as_image(input)
    return finished(total, output, input)


def _generic_gradient_magnitude(
    input: Value,
    derivative: Function,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    extra_arguments: Any = (),
    extra_keywords: Any = None,
    *,
    axes: Any = None,
) -> Value:
    terms = _by_axis(
        input, derivative, mode, cval, extra_arguments, extra_keywords, axes, "derivative"
    )
    if not terms:
        return finished(as_image(input), output, input)
    return finished(np.sqrt(functools.reduce(np.add, [term * term for term in terms])), output)


def _by_axis(
    input: Value,
    derivative: Function,
    mode: Any,
    cval: Any,
    extra: Any,
    keywords: Any,
    axes: Any,
    name: str,
) -> list[Value]:
    """Result of the function along each axis; it has to return, for nothing is written."""
    x = as_image(input)
    chosen = axes_of(axes, x.ndim)
    terms = []
    for axis, way in zip(chosen, for_each(mode, len(chosen), "mode"), strict=True):
        term = derivative(x, axis, None, way, cval, *extra, **(keywords or {}))
        if term is None:
            raise TypeError(
                f"scipy.ndimage: expected {name} to return its result, got None. It is called "
                "with output=None where there are derivatives."
            )
        terms.append(term)
    return terms


composite(generic_laplace, _generic_laplace)
composite(generic_gradient_magnitude, _generic_gradient_magnitude)


def _laplace(
    input: Value, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, *, axes: Any = None
) -> Value:
    def second(x: Value, axis: int, _output: Any, mode: str, cval: Any) -> Value:
        return _along(x, np.array([1.0, -2.0, 1.0]), axis, mode, cval, 0)

    return _generic_laplace(input, second, output, mode, cval, axes=axes)


def _gaussian_laplace(
    input: Value, sigma: Value, output: Any, mode: Any, cval: Any, *, axes: Any, **kwargs: Any
) -> Value:
    # SciPy filters along all axes, those not in `axes` with sigma 0.
    ndim = as_image(input).ndim
    sigma = _over_axes(sigma, axes_of_window(axes, ndim), ndim, 0.0, "sigma")
    return _generic_laplace(
        input, _gaussian_along(2), output, mode, cval, (sigma,), kwargs, axes=axes
    )


def _gaussian_gradient_magnitude(
    input: Value, sigma: Value, output: Any, mode: Any, cval: Any, *, axes: Any, **kwargs: Any
) -> Value:
    return _generic_gradient_magnitude(
        input, _gaussian_along(1), output, mode, cval, (sigma,), kwargs, axes=axes
    )


def _gaussian_along(order: int) -> Function:
    """A Gaussian filter whose derivative is taken along one axis."""

    def derivative(
        x: Value, axis: int, _output: Any, mode: str, cval: Any, sigma: Value, **kwargs: Any
    ) -> Value:
        orders = [order if own == axis else 0 for own in range(x.ndim)]
        return _gaussian_filter(x, sigma, orders, None, mode, cval, **kwargs)

    return derivative


composite(laplace, _laplace)
expressed_by(gaussian_laplace, _gaussian_laplace)
expressed_by(gaussian_gradient_magnitude, _gaussian_gradient_magnitude)
