"""Metrics between the last axes of two arrays that broadcast. Must not know tables of pairs.

Where two points coincide, the gradient of a distance is 0, as that of a norm.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._core.types import Function, Value
from tapegrad._core.values import in_trace
from tapegrad.scipy import _special as sp


def root(squares: Value) -> Value:
    """The square root, with the slope 0 at 0."""
    zero = squares == 0
    return np.where(zero, 0, np.sqrt(np.where(zero, 1, squares)))


def quotient(a: Value, b: Value) -> Value:
    """a / b, and 0 where b is 0."""
    zero = b == 0
    return np.where(zero, 0, a / np.where(zero, 1, b))


def _weighted(x: Value, w: Value) -> Value:
    return x if w is None else w * x


def sqeuclidean(u: Value, v: Value, w: Value = None) -> Value:
    d = u - v
    return np.sum(_weighted(d * d, w), axis=-1)


def euclidean(u: Value, v: Value, w: Value = None) -> Value:
    return np.linalg.norm(u - v if w is None else root(w) * (u - v), axis=-1)


def cityblock(u: Value, v: Value, w: Value = None) -> Value:
    return np.sum(_weighted(np.absolute(u - v), w), axis=-1)


def chebyshev(u: Value, v: Value, w: Value = None) -> Value:
    d = np.absolute(u - v)
    return np.max(d if w is None else np.where(w > 0, d, 0), axis=-1)


def minkowski(u: Value, v: Value, p: float = 2, w: Value = None) -> Value:
    if p <= 0:
        raise ValueError(f"scipy.spatial.distance.minkowski: expected p above 0, got {p}.")
    if p == np.inf:
        return chebyshev(u, v, w)
    d = u - v
    if in_trace(p):  # the order of NumPy's norm is plain
        powers = np.sum(_weighted(np.absolute(d) ** p, w), axis=-1)
        zero = powers == 0
        return np.where(zero, 0, np.where(zero, 1, powers) ** (1 / p))
    if w is not None:
        d = (w if p == 1 else root(w) if p == 2 else w ** (1 / p)) * d
    return np.linalg.norm(d, p, axis=-1)


def canberra(u: Value, v: Value, w: Value = None) -> Value:
    terms = quotient(np.absolute(u - v), np.absolute(u) + np.absolute(v))
    return np.sum(_weighted(terms, w), axis=-1)


def braycurtis(u: Value, v: Value, w: Value = None) -> Value:
    apart = np.sum(_weighted(np.absolute(u - v), w), axis=-1)
    return apart / np.sum(_weighted(np.absolute(u + v), w), axis=-1)


def correlation(u: Value, v: Value, w: Value = None, centered: bool = True) -> Value:
    share = None if w is None else w / np.sum(w)
    if centered:
        u, v = (x - _mean(x, share) for x in (u, v))
    uv, uu, vv = (np.sum(_weighted(a * b, share), axis=-1) for a, b in ((u, v), (u, u), (v, v)))
    return np.clip(1 - uv / np.sqrt(uu * vv), 0, 2)


def _mean(x: Value, share: Value) -> Value:
    if share is None:
        return np.mean(x, axis=-1, keepdims=True)
    return np.sum(x * share, axis=-1, keepdims=True)


def cosine(u: Value, v: Value, w: Value = None) -> Value:
    return correlation(u, v, w, centered=False)


def mahalanobis(u: Value, v: Value, VI: Value) -> Value:
    d = u - v
    return root(np.sum(d @ VI * d, axis=-1))


def seuclidean(u: Value, v: Value, V: Value) -> Value:
    return euclidean(u, v, 1 / V)


def jensenshannon(
    p: Value, q: Value, base: Any = None, *, axis: int = -1, keepdims: bool = False
) -> Value:
    p, q = (x / np.sum(x, axis=axis, keepdims=True) for x in (p, q))
    m = (p + q) / 2
    total = np.sum(sp.rel_entr(p, m) + sp.rel_entr(q, m), axis=axis, keepdims=keepdims)
    total = total if base is None else total / np.log(base)
    # Of equal distributions the sum is rounding, of either sign.
    return root(np.where(total < 0, 0, total) / 2)


def hamming(u: Value, v: Value, w: Value = None) -> Value:
    """The share of elements that differ: a step of the points, smooth in the weights."""
    apart = (u != v) * 1.0
    if w is None:
        return np.mean(apart, axis=-1)
    return np.sum(apart * w, axis=-1) / np.sum(w)


METRICS: dict[str, Function] = {
    f.__name__: f
    for f in (
        braycurtis,
        canberra,
        chebyshev,
        cityblock,
        correlation,
        cosine,
        euclidean,
        hamming,
        jensenshannon,
        mahalanobis,
        minkowski,
        seuclidean,
        sqeuclidean,
    )
}
# Of truth values: they step.
STEPS = (
    "dice",
    "jaccard",
    "rogerstanimoto",
    "russellrao",
    "sokalmichener",
    "sokalsneath",
    "yule",
    "kulczynski1",
)
NICKNAMES = {
    **dict.fromkeys(("e", "eu", "euclid"), "euclidean"),
    **dict.fromkeys(("sqe", "sqeuclid"), "sqeuclidean"),
    **dict.fromkeys(("s", "se"), "seuclidean"),
    **dict.fromkeys(("c", "cb", "cblock"), "cityblock"),
    **dict.fromkeys(("ch", "cheb", "cheby", "chebychev"), "chebyshev"),
    **dict.fromkeys(("co",), "correlation"),
    **dict.fromkeys(("cos",), "cosine"),
    **dict.fromkeys(("js",), "jensenshannon"),
    **dict.fromkeys(("mah", "mahal"), "mahalanobis"),
    **dict.fromkeys(("m", "mi", "pnorm"), "minkowski"),
    **dict.fromkeys(("h", "ha", "hamm", "matching"), "hamming"),
    **dict.fromkeys(("j", "ja", "jacc"), "jaccard"),
}

__all__ = ["METRICS", "NICKNAMES", "STEPS", "jensenshannon", "quotient", "root"]
