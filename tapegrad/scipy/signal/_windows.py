"""Windows by their parameters; lengths are whole numbers, and windows of these alone SciPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.signal as ss
from scipy.signal import windows as sw

from tapegrad import stop_gradient
from tapegrad._core.forms import composite
from tapegrad._core.types import Function, Value
from tapegrad._core.values import innermost
from tapegrad.scipy._mirror import expressed_by, mirror
from tapegrad.scipy.signal._arrays import HERE, as_array, require_numpy

WINDOWS = "tapegrad.scipy.signal.windows"

gaussian, general_gaussian, general_cosine, general_hamming = (
    mirror(f, WINDOWS)
    for f in (sw.gaussian, sw.general_gaussian, sw.general_cosine, sw.general_hamming)
)
kaiser, kaiser_bessel_derived, exponential, tukey = (
    mirror(f, WINDOWS) for f in (sw.kaiser, sw.kaiser_bessel_derived, sw.exponential, sw.tukey)
)
get_window = mirror(ss.get_window, HERE)


def _of_length(M: int, sym: bool, window: Function) -> Value:
    """`window(n)` at n = 0, 1, ...; one that is not symmetric leaves out the last of one more."""
    if M < 0 or int(M) != M:
        raise ValueError(f"scipy.signal.windows: expected a whole number from 0, got {M}.")
    if M <= 1:
        return np.ones(int(M))
    count = int(M) if sym else int(M) + 1
    return window(np.arange(count, dtype=np.float64))[: int(M)]


def _gaussian(
    M: int, std: Value, sym: bool = True, *, xp: Any = None, device: Any = None
) -> Value:
    require_numpy(xp, device)
    return _of_length(M, sym, lambda n: np.exp(-(((n - n[-1] / 2) / std) ** 2) / 2))


def _general_gaussian(
    M: int, p: Value, sig: Value, sym: bool = True, *, xp: Any = None, device: Any = None
) -> Value:
    require_numpy(xp, device)
    return _of_length(
        M, sym, lambda n: np.exp(-0.5 * np.absolute((n - n[-1] / 2) / sig) ** (2 * p))
    )


def _general_cosine(M: int, a: Value, sym: bool = True) -> Value:
    a = as_array(a)

    def window(n: Any) -> Value:
        angle = np.linspace(-np.pi, np.pi, n.size)
        return np.cos(angle[:, None] * np.arange(a.shape[0])) @ a

    return _of_length(M, sym, window)


def _general_hamming(
    M: int, alpha: Value, sym: bool = True, *, xp: Any = None, device: Any = None
) -> Value:
    require_numpy(xp, device)
    return _general_cosine(M, np.stack([as_array(alpha), 1 - as_array(alpha)]), sym)


def _kaiser(M: int, beta: Value, sym: bool = True, *, xp: Any = None, device: Any = None) -> Value:
    require_numpy(xp, device)

    def window(n: Any) -> Value:
        middle = n[-1] / 2
        return np.i0(beta * np.sqrt(1 - ((n - middle) / middle) ** 2)) / np.i0(beta * 1.0)

    return _of_length(M, sym, window)


def _kaiser_bessel_derived(
    M: int, beta: Value, *, sym: bool = True, xp: Any = None, device: Any = None
) -> Value:
    require_numpy(xp, device)
    if not sym or M < 1 or M % 2:
        raise ValueError(
            "scipy.signal.windows.kaiser_bessel_derived: expected an even length and sym=True, "
            f"got {M} and sym={sym}."
        )
    sums = np.cumsum(_kaiser(M // 2 + 1, beta))
    half = np.sqrt(sums[:-1] / sums[-1])
    return np.concatenate([half, np.flip(half)])


def _exponential(M: int, center: Value, tau: Value, sym: bool, *, xp: Any, device: Any) -> Value:
    require_numpy(xp, device)
    if sym and center is not None:
        raise ValueError("scipy.signal.windows.exponential: a center needs sym=False.")

    def window(n: Any) -> Value:
        middle = n[-1] / 2 if center is None else center
        return np.exp(-np.absolute(n - middle) / tau)

    return _of_length(M, sym, window)


def _tukey(
    M: int, alpha: Value = 0.5, sym: bool = True, *, xp: Any = None, device: Any = None
) -> Value:
    """Without a decision about alpha, so that each example of a vmap may have its own."""
    require_numpy(xp, device)
    whole, none = stop_gradient(alpha) >= 1, stop_gradient(alpha) <= 0
    taper = np.where(whole, 1.0, np.where(none, 0.5, alpha))

    def window(n: Any) -> Value:
        from_end = np.minimum(n, n[-1] - n)
        rising = 0.5 * (1 + np.cos(np.pi * (2 * from_end / (taper * n[-1]) - 1)))
        inside = (from_end <= np.floor(stop_gradient(taper) * n[-1] / 2.0)) & ~none
        return np.where(inside, rising, 1.0)

    return _of_length(M, sym, window)


composite(gaussian, _gaussian, batch="loop")
composite(general_gaussian, _general_gaussian, batch="loop")
composite(general_cosine, _general_cosine, batch="loop")
composite(general_hamming, _general_hamming, batch="loop")
composite(kaiser, _kaiser, batch="loop")
composite(kaiser_bessel_derived, _kaiser_bessel_derived, batch="loop")
expressed_by(exponential, _exponential, batch="loop")
composite(tukey, _tukey, batch="loop")

_BY_NAME = {
    "gaussian": gaussian,
    "gauss": gaussian,
    "gss": gaussian,
    "general_gaussian": general_gaussian,
    "general gaussian": general_gaussian,
    "general_cosine": general_cosine,
    "general cosine": general_cosine,
    "general_hamming": general_hamming,
    "general hamming": general_hamming,
    "kaiser": kaiser,
    "ksr": kaiser,
    "tukey": tukey,
    "tuk": tukey,
    "exponential": exponential,
    "poisson": exponential,
}


def _get_window(
    window: Any, Nx: int, fftbins: bool = True, *, xp: Any = None, device: Any = None
) -> Value:
    """The window of a tuple of a name and parameters; a number alone is the beta of Kaiser's."""
    require_numpy(xp, device)
    if not isinstance(window, tuple):
        return kaiser(Nx, window, not fftbins)
    name, *parameters = window
    for ending, periodic in (("_periodic", True), ("_symmetric", False)):
        if name.endswith(ending):
            name, fftbins = name.removesuffix(ending), periodic
    if name not in _BY_NAME:
        raise ValueError(
            f"scipy.signal.get_window: the window {name!r} has no derivative by its parameters."
        )
    return _BY_NAME[name](Nx, *parameters, sym=not fftbins)


composite(get_window, _get_window, batch="loop")


def window_of(window: Any, size: int) -> Value:
    """The window that a spectrum names: as an array, or as `get_window` takes it."""
    if isinstance(window, (str, tuple)):
        if innermost([window]) is None:
            return ss.get_window(window, size)
        return _get_window(window, size)
    return as_array(window)


__all__ = ["WINDOWS", "window_of"]
