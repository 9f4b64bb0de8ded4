"""Images at other points: by coordinates, matrices, shifts, zooms and angles.

All are `map_coordinates` at points that are functions of the parameters, by which they have
derivatives then. The shape of a result is a whole number of elements, which steps with a zoom or
an angle: the derivative is that within a step.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.ndimage as ni

from tapegrad._core.forms import composite
from tapegrad._core.types import Function, Value
from tapegrad._core.values import in_trace, innermost
from tapegrad._transforms.closures import Hoisted
from tapegrad.scipy import _special as special
from tapegrad.scipy._mirror import expressed_by, mirror
from tapegrad.scipy.ndimage._images import HERE, as_array, as_image, finished, for_each, number
from tapegrad.scipy.ndimage._splines import interpolated, prefiltered

map_coordinates, affine_transform = (
    mirror(f, HERE) for f in (ni.map_coordinates, ni.affine_transform)
)
zoom, shift, rotate = (mirror(f, HERE) for f in (ni.zoom, ni.shift, ni.rotate))


def _at(
    x: Value,
    coordinates: Value,
    order: int,
    mode: str,
    cval: Any,
    prefilter: bool,
    output: Any = None,
) -> Value:
    """The image at points, in its own dtype or that of `output`.

    The weights of B-splines add up to one: a traced cval goes off the image, and onto the result.
    """
    if in_trace(cval):
        kind = x.dtype if output is None else output
        outside = cval if mode in ("constant", "grid-constant") else 0.0
        return finished(_at(x - outside, coordinates, order, mode, 0.0, prefilter) + outside, kind)
    c, before = prefiltered(x, order, mode, cval, prefilter)
    made = interpolated(c, coordinates, order, mode, cval, before)
    return finished(made, x.dtype if output is None else output)


def _smooth_or_not(x: Any) -> Any:
    """The image; one of integers is a constant that has derivatives by its coordinates alone."""
    x = as_array(x)
    return x if innermost([x]) is None and x.dtype.kind in "iub" else as_image(x)


def _result_kind(x: Value, output: Any) -> Any:
    if output is None and x.dtype.kind in "iub":
        raise TypeError(
            f"scipy.ndimage: a result of dtype {x.dtype}, as the input, has no derivative. Pass "
            "input.astype(np.float64), or output=np.float64."
        )
    return output


def _map_coordinates(
    input: Value,
    coordinates: Value,
    output: Any,
    order: int,
    mode: str,
    cval: Any,
    prefilter: bool,
) -> Value:
    x, points = _smooth_or_not(input), as_array(coordinates)
    if points.ndim < 2 or points.shape[0] != x.ndim:
        raise RuntimeError(
            "scipy.ndimage.map_coordinates: expected coordinates of shape "
            f"({x.ndim}, ...), got {points.shape}."
        )
    if points.dtype.kind == "c":
        raise TypeError("scipy.ndimage.map_coordinates: expected real coordinates.")
    return _at(x, points, order, mode, cval, prefilter, _result_kind(x, output))


def _grid(shape: Sequence[int]) -> Any:
    return np.indices(shape, np.float64)


def _affine_transform(
    input: Value,
    matrix: Value,
    offset: Value,
    output_shape: Any,
    output: Any,
    order: int,
    mode: str,
    cval: Any,
    prefilter: bool,
) -> Value:
    x, matrix = _smooth_or_not(input), as_array(matrix)
    ndim = x.ndim
    if matrix.ndim == 2 and matrix.shape[1] == ndim + 1 and matrix.shape[0] in (ndim, ndim + 1):
        if matrix.shape[0] == ndim + 1:
            expected = np.eye(ndim + 1)[-1]
            if not number(lambda m: bool(np.all(m == expected)), matrix[ndim], "the last row"):
                raise ValueError(
                    "scipy.ndimage.affine_transform: expected zeros and a one in the last row of "
                    "a homogeneous matrix."
                )
        offset, matrix = matrix[:ndim, ndim], matrix[:ndim, :ndim]
    if matrix.ndim not in (1, 2) or matrix.shape[0] != ndim:
        raise RuntimeError(
            f"scipy.ndimage.affine_transform: expected a matrix of {ndim} rows, got "
            f"{matrix.shape}."
        )
    shape = x.shape if output_shape is None else tuple(output_shape)
    offsets = for_each(offset, ndim, "offset")
    grid = _grid(shape)
    if matrix.ndim == 2:
        if matrix.shape[1] != len(shape):
            raise RuntimeError(
                f"scipy.ndimage.affine_transform: expected a matrix of {len(shape)} columns, got "
                f"{matrix.shape}."
            )
        points = np.tensordot(matrix, grid, 1)
    else:
        points = np.reshape(matrix, (-1,) + (1,) * len(shape)) * grid
    points = points + np.reshape(np.stack(offsets), (-1,) + (1,) * len(shape))
    return _at(x, points, order, mode, cval, prefilter, _result_kind(x, output))


def _shift(
    input: Value, shift: Value, output: Any, order: int, mode: str, cval: Any, prefilter: bool
) -> Value:
    x = _smooth_or_not(input)
    moves = np.stack(for_each(shift, x.ndim, "shift"))
    points = _grid(x.shape) - np.reshape(moves, (-1,) + (1,) * x.ndim)
    return _at(x, points, order, mode, cval, prefilter, _result_kind(x, output))


def _zoom(
    input: Value,
    zoom: Value,
    output: Any,
    order: int,
    mode: str,
    cval: Any,
    prefilter: bool,
    *,
    grid_mode: bool,
) -> Value:
    """The zoom decides about the shape, and only about that."""
    x = _smooth_or_not(input)
    factors = for_each(zoom, x.ndim, "zoom")
    shape = [
        number(lambda z, n=side: round(n * float(z)), factor, "zoom")
        for side, factor in zip(x.shape, factors, strict=True)
    ]
    if prefilter and all(number(lambda z: bool(z == 1), z, "zoom") for z in factors):
        return finished(np.copy(x), _result_kind(x, output))
    lines = []
    for side, made in zip(x.shape, shape, strict=True):
        at = np.arange(made, dtype=np.float64)
        if grid_mode and x.dtype.kind != "c":  # SciPy drops it for complex images
            lines.append((at + 0.5) * (side / made) - 0.5)
        else:
            lines.append(at * ((side - 1) / (made - 1) if made > 1 else 1.0))
    points = np.stack(np.meshgrid(*lines, indexing="ij"))
    return _at(x, points, order, mode, cval, prefilter, _result_kind(x, output))


def _rotate(
    input: Value,
    angle: Value,
    axes: Any,
    reshape: bool,
    output: Any,
    order: int,
    mode: str,
    cval: Any,
    prefilter: bool,
) -> Value:
    x = _smooth_or_not(input)
    if x.ndim < 2:
        raise ValueError("scipy.ndimage.rotate: expected an array of two axes or more.")
    plane = sorted(range(x.ndim)[int(axis)] for axis in axes)
    if len(plane) != 2 or plane[0] == plane[1]:
        raise ValueError(f"scipy.ndimage.rotate: expected two axes that differ, got {axes}.")
    cosine, sine = _direction(as_array(angle) * np.float64(1))
    turn = np.stack([np.stack([cosine, sine]), np.stack([-sine, cosine])])
    sides = np.array([x.shape[axis] for axis in plane])
    made = sides
    if reshape:
        made = np.array(number(lambda a: _bounds(float(a), sides), angle, "angle"))
    offset = (sides - 1) / 2 - turn @ ((made - 1) / 2)
    points = np.tensordot(turn, _grid(tuple(map(int, made))), 1) + np.reshape(offset, (2, 1, 1))
    if x.ndim == 2:
        return _at(x, points, order, mode, cval, prefilter, _result_kind(x, output))
    planes = np.moveaxis(x, plane, (-2, -1))
    lead = planes.shape[:-2]
    flat = np.reshape(planes, (-1, *planes.shape[-2:]))
    kind = _result_kind(x, output)
    turned = [
        _at(flat[i], points, order, mode, cval, prefilter, kind) for i in range(flat.shape[0])
    ]
    stacked = np.reshape(np.stack(turned), (*lead, *map(int, made)))
    return np.moveaxis(stacked, (-2, -1), plane)


def _direction(angle: Value) -> tuple[Value, Value]:
    """The cosine and the sine of degrees, exact at right angles."""
    turns = np.round(angle / 90)
    rest = np.deg2rad(angle - 90 * turns)
    cosine, sine = np.cos(rest), np.sin(rest)
    odd = turns % 2 == 1
    sign = np.where(turns % 4 < 2, 1, -1)
    return sign * np.where(odd, -sine, cosine), sign * np.where(odd, cosine, sine)


def _bounds(angle: float, sides: Any) -> tuple[int, int]:
    """The sides of a rectangle around the turned image."""
    cosine, sine = special.cosdg(angle), special.sindg(angle)
    turn = np.array([[cosine, sine], [-sine, cosine]])
    height, width = sides
    corners = turn @ [[0, 0, height, height], [0, width, 0, width]]
    first, second = (np.ptp(corners, axis=1) + 0.5).astype(int)
    return int(first), int(second)


def _geometric_transform(
    input: Value,
    mapping: Function,
    output_shape: Any = None,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
    extra_arguments: Any = (),
    extra_keywords: Any = None,
) -> Value:
    """The mapping is called once for each point, so that it may be any Python function."""
    if not callable(mapping):
        raise TypeError(
            "scipy.ndimage.geometric_transform: expected a Python function as mapping where there "
            "are derivatives."
        )
    x = _smooth_or_not(input)
    shape = x.shape if output_shape is None else tuple(output_shape)
    points = [
        np.stack([as_array(t) for t in mapping(index, *extra_arguments, **(extra_keywords or {}))])
        for index in np.ndindex(*shape)
    ]
    coordinates = np.reshape(np.stack(points, axis=-1), (x.ndim, *shape))
    return _at(x, coordinates, order, mode, cval, prefilter, _result_kind(x, output))


@functools.wraps(ni.geometric_transform)
def _by_mapping(input: Any, mapping: Any, *args: Any, **params: Any) -> Any:
    """Of plain arguments SciPy's function, unless the mapping closes over values in a trace."""
    if callable(mapping) and Hoisted(mapping).values:
        return _geometric_transform(input, mapping, *args, **params)
    return ni.geometric_transform(input, mapping, *args, **params)


geometric_transform = mirror(_by_mapping, HERE)

expressed_by(map_coordinates, _map_coordinates)
expressed_by(affine_transform, _affine_transform)
expressed_by(shift, _shift)
expressed_by(zoom, _zoom)
expressed_by(rotate, _rotate)
composite(geometric_transform, _geometric_transform)
