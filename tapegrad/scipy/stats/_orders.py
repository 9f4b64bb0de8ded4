"""Order statistics, directions and entropies of samples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tapegrad import stop_gradient
from tapegrad._core.values import lift
from tapegrad._errors import InputError
from tapegrad.scipy import _special as sp
from tapegrad.scipy.stats._sample import defines, given, kept


@defines
def iqr(
    x: Any,
    axis: Any = None,
    rng: tuple[float, float] = (25, 75),
    scale: Any = 1.0,
    nan_policy: str = "propagate",
    interpolation: Any = "linear",
    keepdims: bool = False,
) -> Any:
    if isinstance(scale, str):
        scale = 2 * sp.erfinv(0.5) * np.sqrt(2.0)
    x, where = given(x, axis, nan_policy) if axis is None else (lift(x), axis)
    low, high = (
        np.percentile(x, q, axis=where, method=interpolation, keepdims=keepdims)
        for q in sorted(rng)
    )
    return (high - low) / scale


@defines
def median_abs_deviation(
    x: Any,
    axis: int | None = 0,
    center: Callable[..., Any] = np.median,
    scale: Any = 1.0,
    nan_policy: str = "propagate",
    *,
    keepdims: bool = False,
) -> Any:
    if isinstance(scale, str):
        scale = 0.6744897501960817
    x, axis = given(x, axis, nan_policy)
    middle = np.expand_dims(center(x, axis=axis), axis)
    return np.median(abs(x - middle), axis=axis, keepdims=keepdims) / scale


@defines
def scoreatpercentile(
    a: Any,
    per: Any,
    limit: tuple[Any, ...] = (),
    interpolation_method: str = "fraction",
    axis: int | None = None,
) -> Any:
    a, axis = given(a, axis)
    if limit:
        at = stop_gradient(a)
        a = a[(at >= limit[0]) & (at <= limit[1])]
    method: Any = {"fraction": "linear"}.get(interpolation_method, interpolation_method)
    return np.percentile(a, per, axis=axis, method=method)


@defines
def lmoment(
    sample: Any,
    order: Any = None,
    *,
    axis: int | None = 0,
    sorted: bool = False,
    standardize: bool = True,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:
    sample, axis = given(sample, axis, nan_policy)
    x = np.moveaxis(sample, axis, -1)
    x = x if sorted else np.sort(x, axis=-1)
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
        found[r] = np.mean(x * weights, axis=-1)
    out = [found[r] / found[2] if standardize and r > 2 else found[r] for r in orders.tolist()]
    out = [kept(value, axis, keepdims) for value in out]
    return out[0] if order is not None and np.ndim(order) == 0 else np.stack(out)


def _circle(
    samples: Any, high: float, low: float, axis: int | None, nan_policy: str
) -> tuple[Any, Any, int]:
    samples, axis = given(samples, axis, nan_policy)
    angles = (samples - low) * 2 * np.pi / (high - low)
    return np.mean(np.sin(angles), axis=axis), np.mean(np.cos(angles), axis=axis), axis


@defines
def circmean(
    samples: Any,
    high: float = 2 * np.pi,
    low: float = 0,
    axis: int | None = None,
    nan_policy: str = "propagate",
    *,
    keepdims: bool = False,
) -> Any:
    sine, cosine, axis = _circle(samples, high, low, axis, nan_policy)
    angle = np.arctan2(sine, cosine)
    turned = np.where(angle < 0, angle + 2 * np.pi, angle)
    return kept(turned * (high - low) / (2 * np.pi) + low, axis, keepdims)


@defines
def circvar(
    samples: Any,
    high: float = 2 * np.pi,
    low: float = 0,
    axis: int | None = None,
    nan_policy: str = "propagate",
    *,
    keepdims: bool = False,
) -> Any:
    sine, cosine, axis = _circle(samples, high, low, axis, nan_policy)
    return kept(1 - np.hypot(sine, cosine), axis, keepdims)


@defines
def circstd(
    samples: Any,
    high: float = 2 * np.pi,
    low: float = 0,
    axis: int | None = None,
    nan_policy: str = "propagate",
    *,
    normalize: bool = False,
    keepdims: bool = False,
) -> Any:
    sine, cosine, axis = _circle(samples, high, low, axis, nan_policy)
    spread = np.sqrt(-2 * np.log(np.hypot(sine, cosine)))
    if not normalize:
        spread = spread * (high - low) / (2 * np.pi)
    return kept(spread, axis, keepdims)


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


@defines
def entropy(
    pk: Any,
    qk: Any = None,
    base: Any = None,
    axis: int | None = 0,
    *,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:
    flat = axis is None
    pk, axis = given(pk, axis, nan_policy)
    pk = pk / np.sum(pk, axis=axis, keepdims=True)
    if qk is None:
        terms = sp.entr(pk)
    else:
        qk = np.ravel(lift(qk)) if flat else lift(qk)
        terms = sp.rel_entr(pk, qk / np.sum(qk, axis=axis, keepdims=True))
    found = np.sum(terms, axis=axis, keepdims=keepdims)
    return found if base is None else found / np.log(base)


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
    return first + np.sum(1 / k) + np.log(m) - np.log(n + 1)


def _ebrahimi(x: Any, m: int) -> Any:
    n = np.shape(x)[-1]
    padded = np.concatenate(
        [np.repeat(x[..., :1], m, axis=-1), x, np.repeat(x[..., -1:], m, axis=-1)], axis=-1
    )
    i = np.arange(1, n + 1).astype(float)
    ends = np.where(i <= m, 1 + (i - 1) / m, 2.0)
    ends = np.where(i >= n - m + 1, 1 + (n - i) / m, ends)
    gaps = padded[..., 2 * m :] - padded[..., : -2 * m]
    return np.mean(np.log(n * gaps / (ends * m)), axis=-1)


_ENTROPIES = {"vasicek": _vasicek, "van es": _van_es, "ebrahimi": _ebrahimi}


@defines
def differential_entropy(
    values: Any,
    *,
    window_length: int | None = None,
    base: float | None = None,
    axis: int | None = 0,
    method: str = "auto",
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:
    values, axis = given(values, axis, nan_policy)
    x = np.sort(np.moveaxis(values, axis, -1), axis=-1)
    n = np.shape(x)[-1]
    m = int(np.floor(np.sqrt(n) + 0.5)) if window_length is None else window_length
    if method == "auto":
        method = "van es" if n <= 10 else "ebrahimi" if n <= 1000 else "vasicek"
    if method not in _ENTROPIES:
        raise InputError(
            f"scipy.stats.differential_entropy: expected a method among {sorted(_ENTROPIES)} "
            f"with traced values, got {method!r}."
        )
    found = _ENTROPIES[method](x, m)
    return kept(found if base is None else found / np.log(base), axis, keepdims)
