"""Order statistics, directions and entropies of samples."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.stats

from tapegrad import stop_gradient
from tapegrad._core.values import lift
from tapegrad._errors import InputError
from tapegrad.scipy import _special as sp
from tapegrad.scipy.stats._sample import defines, given, reduces


def _scaled(spread: Any, scale: Any, normal: Any) -> Any:
    if isinstance(scale, str):
        if scale.lower() != "normal":
            raise ValueError(f"{scale} not a valid scale value.")
        scale = normal
    return spread / scale


@reduces("x")
def iqr(
    x: Any, rng: tuple[float, float] = (25, 75), scale: Any = 1.0, interpolation: Any = "linear"
) -> Any:
    low, high = (np.percentile(x, q, axis=-1, method=interpolation) for q in sorted(rng))
    return _scaled(high - low, scale, float(2 * sp.erfinv(0.5) * np.sqrt(2.0)))


@reduces("x")
def median_abs_deviation(
    x: Any, center: Callable[..., Any] | None = None, scale: Any = 1.0
) -> Any:
    middle = np.expand_dims((center or np.median)(x, axis=-1), -1)
    return _scaled(np.median(abs(x - middle), axis=-1), scale, 0.6744897501960817)


@defines
def scoreatpercentile(
    a: Any, per: Any, limit: tuple[Any, ...], interpolation_method: str, axis: int | None
) -> Any:
    a, axis = given(a, axis)
    if limit:
        at = stop_gradient(a)
        a = a[(at >= limit[0]) & (at <= limit[1])]
    method: Any = {"fraction": "linear"}.get(interpolation_method, interpolation_method)
    return np.percentile(a, per, axis=axis, method=method)


@reduces("sample")
def lmoment(sample: Any, order: Any = None, sorted: bool = False, standardize: bool = True) -> Any:
    x = sample if sorted else np.sort(sample, axis=-1)
    n = np.shape(x)[-1]
    orders = np.arange(1, 5) if order is None else np.atleast_1d(np.asarray(order))
    rank = np.arange(1.0, n + 1)
    found = {}
    for r in {*orders.tolist(), 2}:
        k = np.arange(r)
        signs = (-1.0) ** (r - 1 - k) * sp.comb(r - 1, k) * sp.comb(r - 1 + k, k)
        weights = sum(
            sign * sp.comb(rank - 1, j) / sp.comb(n - 1, j)
            for sign, j in zip(signs, k, strict=True)
        )
        found[r] = np.mean(x * weights.astype(x.dtype), axis=-1)
    out = [found[r] / found[2] if standardize and r > 2 else found[r] for r in orders.tolist()]
    return out[0] if order is not None and np.ndim(order) == 0 else out


ModeResult: Any = type(scipy.stats.mode([0.0]))  # public as a result alone


@reduces("a")
def mode(a: Any) -> Any:
    """The mode moves with one of the equal elements."""
    a = np.sort(a, axis=-1)
    at, index = stop_gradient(a), np.arange(a.shape[-1])
    begins = (at[..., 1:] != at[..., :-1]) & (at[..., :-1] == at[..., :-1])
    begins = np.concatenate([np.ones_like(at[..., :1], dtype=bool), begins], axis=-1)
    run = index - np.maximum.accumulate(np.where(begins, index, 0), axis=-1)
    last = np.argmax(run, axis=-1)[..., np.newaxis]
    return ModeResult(np.take_along_axis(a, last, axis=-1)[..., 0], np.max(run, axis=-1) + 1)


def _circle(samples: Any, high: float, low: float) -> tuple[Any, Any]:
    angles = (samples - low) * 2 * np.pi / (high - low)
    return np.mean(np.sin(angles), axis=-1), np.mean(np.cos(angles), axis=-1)


@reduces("samples")
def circmean(samples: Any, high: float = 2 * np.pi, low: float = 0) -> Any:
    angle = np.arctan2(*_circle(samples, high, low))
    turned = np.where(angle < 0, angle + 2 * np.pi, angle)
    return turned * (high - low) / (2 * np.pi) + low


@reduces("samples")
def circvar(samples: Any, high: float = 2 * np.pi, low: float = 0) -> Any:
    return 1 - np.hypot(*_circle(samples, high, low))


@reduces("samples")
def circstd(samples: Any, high: float = 2 * np.pi, low: float = 0, normalize: bool = False) -> Any:
    spread = np.sqrt(-2 * np.log(np.hypot(*_circle(samples, high, low))))
    return spread if normalize else spread * (high - low) / (2 * np.pi)


class Directions(NamedTuple):
    """The result of directional_stats."""

    mean_direction: Any
    mean_resultant_length: Any


@defines
def directional_stats(samples: Any, *, axis: int = 0, normalize: bool = True) -> Directions:
    samples = np.moveaxis(lift(samples), axis, 0)
    if normalize:
        samples = samples / np.linalg.norm(samples, axis=-1, keepdims=True)
    mean = np.mean(samples, axis=0)
    length = np.linalg.norm(mean, axis=-1, keepdims=True)
    return Directions(mean / length, length[..., 0])


def _in_base(entropy: Any, base: Any) -> Any:
    if base is None:
        return entropy
    plain = type(base) in (int, float)  # and leaves a dtype as it is
    return entropy / (math.log(base) if plain else np.log(base))


@reduces("pk", "qk")
def entropy(pk: Any, qk: Any = None, base: Any = None) -> Any:
    pk = pk / np.sum(pk, axis=-1, keepdims=True)
    qk = None if qk is None else qk / np.sum(qk, axis=-1, keepdims=True)
    return _in_base(np.sum(sp.entr(pk) if qk is None else sp.rel_entr(pk, qk), axis=-1), base)


def _vasicek(x: Any, m: int) -> Any:
    n = np.shape(x)[-1]
    padded = np.concatenate(
        [np.repeat(x[..., :1], m, axis=-1), x, np.repeat(x[..., -1:], m, axis=-1)], axis=-1
    )
    return np.mean(np.log(n / (2 * m) * (padded[..., 2 * m :] - padded[..., : -2 * m])), axis=-1)


def _van_es(x: Any, m: int) -> Any:
    n = np.shape(x)[-1]
    gaps = x[..., m:] - x[..., :-m]
    first = np.sum(np.log((n + 1) / m * gaps), axis=-1) / (n - m)
    k = np.arange(m, n + 1)
    return first + float(np.sum(1 / k) + np.log(m) - np.log(n + 1))


def _ebrahimi(x: Any, m: int) -> Any:
    n = np.shape(x)[-1]
    padded = np.concatenate(
        [np.repeat(x[..., :1], m, axis=-1), x, np.repeat(x[..., -1:], m, axis=-1)], axis=-1
    )
    i = np.arange(1, n + 1).astype(float)
    ends = np.where(i <= m, 1 + (i - 1) / m, 2.0)
    ends = np.where(i >= n - m + 1, 1 + (n - i) / m, ends)
    gaps = padded[..., 2 * m :] - padded[..., : -2 * m]
    return np.mean(np.log(n * gaps / (ends * m).astype(x.dtype)), axis=-1)


_ENTROPIES = {"vasicek": _vasicek, "van es": _van_es, "ebrahimi": _ebrahimi}


@reduces("values")
def differential_entropy(
    values: Any, window_length: int | None = None, base: Any = None, method: str = "auto"
) -> Any:
    n = np.shape(values)[-1]
    m = int(np.floor(np.sqrt(n) + 0.5)) if window_length is None else window_length
    if method == "auto":
        method = "van es" if n <= 10 else "ebrahimi" if n <= 1000 else "vasicek"
    if method not in _ENTROPIES:
        raise InputError(
            f"scipy.stats.differential_entropy: expected a method among {sorted(_ENTROPIES)} "
            f"with traced values, got {method!r}."
        )
    if not 2 <= 2 * m < n:
        return np.sum(values, axis=-1) * np.nan
    return _in_base(_ENTROPIES[method](np.sort(values, axis=-1), m), base)
