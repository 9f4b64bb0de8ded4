"""Discrete Fourier transforms: the four along one axis are linear, the others are made of them.

Their transposes are those of NumPy's (`tapegrad/rules/fft.py` says why), by SciPy's functions,
with the `workers` of the call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.fft as sf

from tapegrad._core.forms import composite, linear
from tapegrad._core.types import Cotangent, Function, Value
from tapegrad.scipy._mirror import expressed_by, mirror
from tapegrad.scipy.fft._axes import Sides, along, as_array, keeping, of_length, sides_and_axes

HERE = "tapegrad.scipy.fft"

fft, ifft = mirror(sf.fft, HERE), mirror(sf.ifft, HERE)
rfft, irfft = mirror(sf.rfft, HERE), mirror(sf.irfft, HERE)
hfft, ihfft = mirror(sf.hfft, HERE), mirror(sf.ihfft, HERE)

_OPPOSITE = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


def opposite(norm: Any) -> Any:
    """The scaling of the inverse transform."""
    try:
        return _OPPOSITE[norm]
    except KeyError:
        raise ValueError(
            f"scipy.fft: expected norm='backward', 'ortho' or 'forward', got {norm!r}."
        ) from None


# --- along one axis


def _symmetric_transpose(function: Function) -> Function:
    def transpose(
        g: Cotangent,
        _out: Value,
        _x: Value,
        n: int | None = None,
        axis: int = -1,
        norm: Any = None,
        overwrite_x: bool = False,
        workers: Any = None,
        plan: Any = None,
    ) -> Cotangent:
        return of_length(function(g, None, axis, norm, workers=workers), _x.shape[axis], axis)

    return transpose


def _weights(n: int, between: float, like: Value, axis: int) -> Value:
    """1 for the frequencies that stand for themselves alone, `between` for all others."""
    weights = np.full(n // 2 + 1, between, like.dtype.type(0).real.dtype)
    weights[0] = 1
    if n % 2 == 0:
        weights[-1] = 1
    return along(weights, like.ndim, axis)


def _rfft_transpose(
    g: Cotangent,
    _out: Value,
    _x: Value,
    n: int | None = None,
    axis: int = -1,
    norm: Any = None,
    overwrite_x: bool = False,
    workers: Any = None,
    plan: Any = None,
) -> Cotangent:
    n = _x.shape[axis] if n is None else n
    weighted = np.conjugate(g) * _weights(n, 0.5, g, axis)
    bar = irfft(weighted, n, axis, opposite(norm), workers=workers)
    return of_length(bar, _x.shape[axis], axis)


def _irfft_transpose(
    g: Cotangent,
    _out: Value,
    _x: Value,
    n: int | None = None,
    axis: int = -1,
    norm: Any = None,
    overwrite_x: bool = False,
    workers: Any = None,
    plan: Any = None,
) -> Cotangent:
    bar = np.conjugate(rfft(g, None, axis, opposite(norm), workers=workers))
    return of_length(bar * _weights(g.shape[axis], 2.0, g, axis), _x.shape[axis], axis)


linear(fft, _symmetric_transpose(fft), batch="axis", implementation=keeping(fft))
linear(ifft, _symmetric_transpose(ifft), batch="axis", implementation=keeping(ifft))
linear(rfft, _rfft_transpose, batch="axis", implementation=keeping(rfft))
linear(irfft, _irfft_transpose, batch="axis", implementation=keeping(irfft))


def _hfft(
    x: Value, n: int | None, axis: int, norm: Any, overwrite_x: bool, workers: Any, *, plan: Any
) -> Value:
    return irfft(np.conjugate(x), n, axis, opposite(norm), workers=workers)


def _ihfft(
    x: Value, n: int | None, axis: int, norm: Any, overwrite_x: bool, workers: Any, *, plan: Any
) -> Value:
    return np.conjugate(rfft(x, n, axis, opposite(norm), workers=workers))


expressed_by(hfft, _hfft)
expressed_by(ihfft, _ihfft)

# --- along several axes, one after the other

Ending = Callable[[Value, list[int], list[int], Any, Any], Value]


def _in_turn(
    function: Function, x: Value, sides: list[int], axes: list[int], norm: Any, workers: Any
) -> Value:
    for n, axis in zip(reversed(sides), reversed(axes), strict=True):
        x = function(x, n, axis, norm, workers=workers)
    return x


def _complex(function: Function) -> Ending:
    def transform(x: Value, sides: list[int], axes: list[int], norm: Any, workers: Any) -> Value:
        return _in_turn(function, x, sides, axes, norm, workers)

    return transform


def _from_real(x: Value, sides: list[int], axes: list[int], norm: Any, workers: Any) -> Value:
    x = rfft(x, sides[-1], axes[-1], norm, workers=workers)
    return _in_turn(fft, x, sides[:-1], axes[:-1], norm, workers)


def _to_real(x: Value, sides: list[int], axes: list[int], norm: Any, workers: Any) -> Value:
    x = _in_turn(ifft, x, sides[:-1], axes[:-1], norm, workers)
    return irfft(x, sides[-1], axes[-1], norm, workers=workers)


def _of_hermitian(x: Value, sides: list[int], axes: list[int], norm: Any, workers: Any) -> Value:
    return _to_real(np.conjugate(x), sides, axes, opposite(norm), workers)


def _to_hermitian(x: Value, sides: list[int], axes: list[int], norm: Any, workers: Any) -> Value:
    return np.conjugate(_from_real(x, sides, axes, opposite(norm), workers))


def _over_axes(name: str, transform: Ending, usual: Any, *, to_real: bool) -> Function:
    def definition(
        x: Value,
        s: Sides = None,
        axes: Sides = usual,
        norm: Any = None,
        overwrite_x: bool = False,
        workers: Any = None,
        *,
        plan: Any = None,
    ) -> Value:
        sides, chosen = sides_and_axes(f"scipy.fft.{name}", x, s, axes, to_real=to_real)
        return transform(x, sides, chosen, norm, workers) if chosen else x

    return definition


def _declared(name: str, transform: Ending, *, to_real: bool = False) -> tuple[Any, Any]:
    """The transforms along all axes and along two."""
    made = []
    for ending, usual in (("n", None), ("2", (-2, -1))):
        function = mirror(getattr(sf, name + ending), HERE)
        composite(function, _over_axes(name + ending, transform, usual, to_real=to_real))
        made.append(function)
    return made[0], made[1]


fftn, fft2 = _declared("fft", _complex(fft))
ifftn, ifft2 = _declared("ifft", _complex(ifft))
rfftn, rfft2 = _declared("rfft", _from_real)
irfftn, irfft2 = _declared("irfft", _to_real, to_real=True)
hfftn, hfft2 = _declared("hfft", _of_hermitian, to_real=True)
ihfftn, ihfft2 = _declared("ihfft", _to_hermitian)

# --- zero frequency to the middle, and back: SciPy's functions are NumPy's, for any array

fftshift, ifftshift = mirror(sf.fftshift, HERE), mirror(sf.ifftshift, HERE)
composite(fftshift, lambda x, axes=None: np.fft.fftshift(as_array(x), axes))
composite(ifftshift, lambda x, axes=None: np.fft.ifftshift(as_array(x), axes))
