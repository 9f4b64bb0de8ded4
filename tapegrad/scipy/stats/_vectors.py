"""Formulas of the distributions of vectors and matrices, by the names of SciPy's methods.

A formula takes a method's arguments by name, and is equal to it up to a constant. Matrices that
SciPy takes to be symmetric are so here: see docs/kinks.md. Draws are differentiated along a path
that keeps their distribution: with the standard normal numbers fixed that they were made of, where
these can be told from the draws; and what degrees of freedom and other shapes move by the implicit
function theorem (M. Figurnov, S. Mohamed and A. Mnih, "Implicit reparameterization gradients",
2018).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.stats

from tapegrad import NotDifferentiableError, elementwise, general, primitive, stop_gradient
from tapegrad._core.values import any_true
from tapegrad.rules.limits import are_close
from tapegrad.scipy import _special as sp
from tapegrad.scipy.stats._methods import ContinuousMethods
from tapegrad.scipy.stats._shared import LOG_2PI, LOG_PI
from tapegrad.scipy.stats._univariate import CONTINUOUS


def matrix_of(cov: Any, size: int) -> Any:
    """A covariance as SciPy takes it: a matrix, its diagonal, or a number."""
    if isinstance(cov, scipy.stats.Covariance):
        cov = cov.covariance
    if np.ndim(cov) == 0:
        return cov * np.eye(size)
    return np.diag(cov) if np.ndim(cov) == 1 else cov


def size_of(*arrays: Any) -> int:
    """The dimension of a distribution of vectors, from its parameters."""
    sizes = [np.shape(a)[-1] for a in arrays if a is not None and np.ndim(a) > 0]
    return sizes[0] if sizes else 1


def _rows(x: Any, size: int) -> Any:
    """Points as vectors along the last axis."""
    if np.ndim(x) == 0:
        return np.reshape(x, (1,))
    if np.ndim(x) == 1:
        return x[:, np.newaxis] if size == 1 else x[np.newaxis, :]
    return x


def log_det(factor: Any) -> Any:
    """Of a Cholesky factor: the log of the determinant of its matrix."""
    return 2 * np.sum(np.log(np.diagonal(factor, axis1=-2, axis2=-1)), axis=-1)


def _whitened(factor: Any, rows: Any) -> Any:
    """Vectors along the last axis, solved for by a factor."""
    flat = np.reshape(rows, (-1, np.shape(rows)[-1]))
    return np.reshape(np.linalg.solve(factor, flat.T).T, np.shape(rows))


def at_level(law: str) -> Any:
    """A function (y, *shapes) that is y; it moves with the shapes as a quantile does."""
    theirs = getattr(scipy.stats, law)
    methods = ContinuousMethods(theirs, CONTINUOUS[law])
    slopes = methods._slopes()

    @primitive
    def level(y: Any, *shapes: Any) -> Any:
        return np.broadcast_to(y, np.broadcast_shapes(np.shape(y), *map(np.shape, shapes))) + 0.0

    elementwise(level, 1, *[_of_out(slope) for slope in slopes])
    return level


def _of_out(slope: Any) -> Any:
    return lambda out, _y, *shapes: slope(out, *shapes)


_f_level = at_level("f")

# --- multivariate normal and t ----------------------------------------------------------------


def _gaussian(x: Any, mean: Any, cov: Any, allow_singular: bool) -> tuple[Any, Any, Any]:
    """The dimension of the support, the log of the determinant, and squared distances."""
    if isinstance(cov, scipy.stats.Covariance):
        cov = cov.covariance
    size = size_of(mean, cov)
    away = _rows(x, size) - (0.0 if mean is None else mean)
    matrix = matrix_of(cov, size)
    if not allow_singular:
        factor = np.linalg.cholesky(matrix)
        return size, log_det(factor), np.sum(_whitened(factor, away) ** 2, axis=-1)
    w, v = np.linalg.eigh(matrix)
    kept = stop_gradient(w) > 1e6 * np.finfo(float).eps * np.max(abs(stop_gradient(w)))
    safe = np.where(kept, w, 1.0)
    parts = np.where(kept, (away @ v) / np.sqrt(safe), 0.0)
    rest = np.where(kept, 0.0, stop_gradient(away @ v))
    inside = np.sum(rest**2, axis=-1) < 1e-6 * (1 + np.sum(stop_gradient(away) ** 2, axis=-1))
    distance = np.where(inside, np.sum(parts**2, axis=-1), 0.0)
    logs = np.where(inside, np.sum(np.log(safe)), 0.0)
    return np.sum(kept), logs, distance


def normal_logpdf(x: Any, mean: Any = None, cov: Any = 1.0, allow_singular: bool = False) -> Any:
    rank, logs, distance = _gaussian(x, mean, cov, allow_singular)
    return np.squeeze(-(rank * LOG_2PI + logs + distance) / 2)


def normal_entropy(mean: Any = None, cov: Any = 1.0) -> Any:
    size = size_of(mean, cov)
    return (size * (LOG_2PI + 1) + log_det(np.linalg.cholesky(matrix_of(cov, size)))) / 2


@primitive
def spread(matrix: Any) -> Any:
    """The factor f of a covariance f f^T by which NumPy draws: its vectors times deviations."""
    w, v = np.linalg.eigh(matrix)
    return v * np.sqrt(np.maximum(w, 0.0))


def _spread_vjp(g: Any, _out: Any, matrix: Any) -> tuple[Any]:
    """With t = v^T dmatrix v: df = v s, s_ij = t_ij sqrt(w_j) / (w_j - w_i).

    On the diagonal, and among equal values (where the draws of NumPy jump), t_ij is divided by
    sqrt(w_i) + sqrt(w_j): this too keeps the distribution.
    """
    w, v = np.linalg.eigh(matrix)
    if any_true(are_close(w, w)):
        raise NotDifferentiableError(
            "scipy.stats: draws are not differentiable by a covariance that is singular, as they "
            "move infinitely fast where it becomes regular. Draw standard numbers outside: "
            "mean + factor @ z."
        )
    deviations = np.sqrt(w)
    gap = w[np.newaxis, :] - w[:, np.newaxis]
    close = are_close(gap, w)
    apart = deviations[np.newaxis, :] / np.where(close, 1.0, gap)
    together = 1 / (deviations[np.newaxis, :] + deviations[:, np.newaxis])
    found = v @ (np.where(close, together, apart) * (v.T @ g)) @ v.T
    return ((found + found.T) / 2,)


general(spread, vjp=_spread_vjp)


def _moved(out: Any, mean: Any, matrix: Any) -> tuple[Any, Any]:
    """The standard numbers of draws, and the draws by them; vectors along the last axis."""
    size = np.shape(matrix)[-1]
    away = out - (0.0 if mean is None else stop_gradient(mean))
    factor = spread(matrix)
    fixed = stop_gradient(factor)
    squares = np.sum(fixed**2, axis=0)
    null = are_close(squares, squares)  # directions in which nothing is drawn
    standard = np.where(null, 0.0, np.reshape(away, (-1, size)) @ fixed)
    standard = standard / np.where(null, 1.0, squares)
    return standard, np.reshape(standard @ factor.T, np.shape(out))


def normal_rvs(out: Any, mean: Any = None, cov: Any = 1.0, **_options: Any) -> Any:
    _, draws = _moved(out, mean, matrix_of(cov, size_of(mean, cov)))
    return draws if mean is None else mean + draws


def student_logpdf(x: Any, loc: Any = None, shape: Any = 1.0, df: Any = 1.0) -> Any:
    size, logs, distance = _gaussian(x, loc, shape, False)
    is_normal = np.isinf(df)
    df = np.where(is_normal, 1.0, df)
    half = (df + size) / 2
    height = sp.gammaln(half) - sp.gammaln(df / 2) - size / 2 * (np.log(df) + LOG_PI) - logs / 2
    found = height - half * np.log1p(distance / df)
    return np.squeeze(np.where(is_normal, -(size * LOG_2PI + logs + distance) / 2, found))


def student_entropy(loc: Any = None, shape: Any = 1.0, df: Any = 1.0) -> Any:
    size = size_of(loc, shape)
    logs = log_det(np.linalg.cholesky(matrix_of(shape, size)))
    whole, half = (size + df) / 2, df / 2
    return (
        sp.gammaln(half)
        - sp.gammaln(whole)
        + size / 2 * (np.log(df) + LOG_PI)
        + whole * (sp.digamma(whole) - sp.digamma(half))
        + logs / 2
    )


def student_rvs(
    out: Any, loc: Any = None, shape: Any = 1.0, df: Any = 1.0, **_options: Any
) -> Any:
    size = size_of(loc, shape)
    standard, draws = _moved(out, loc, matrix_of(shape, size))
    if np.isfinite(stop_gradient(df)):  # the squared distance over the dimension is F distributed
        square = np.sum(standard**2, axis=-1) / size
        radius = np.sqrt(_f_level(square, float(size), df) / square)
        draws = draws * np.reshape(radius, (*np.shape(out)[:-1], 1) if np.ndim(out) else ())
    return draws if loc is None else loc + draws


# --- shares and counts ------------------------------------------------------------------------


def dirichlet_logpdf(x: Any, alpha: Any) -> Any:
    if np.shape(x)[0] == np.shape(alpha)[0] - 1:
        x = np.concatenate([x, 1 - np.sum(x, axis=0, keepdims=True)])
    norm = np.sum(sp.gammaln(alpha)) - sp.gammaln(np.sum(alpha))
    return np.squeeze(np.sum(sp.xlogy(alpha - 1, np.transpose(x)), axis=-1) - norm)


def dirichlet_mean(alpha: Any) -> Any:
    return alpha / np.sum(alpha)


def dirichlet_var(alpha: Any) -> Any:
    whole = np.sum(alpha)
    return alpha * (whole - alpha) / (whole**2 * (whole + 1))


def dirichlet_cov(alpha: Any) -> Any:
    whole = np.sum(alpha)
    share = alpha / whole
    return (np.diag(share) - np.outer(share, share)) / (whole + 1)


def dirichlet_entropy(alpha: Any) -> Any:
    whole = np.sum(alpha)
    norm = np.sum(sp.gammaln(alpha)) - sp.gammaln(whole)
    count = np.shape(alpha)[0]
    spread = (whole - count) * sp.digamma(whole)
    return norm + spread - np.sum((alpha - 1) * sp.digamma(alpha))


def _shares(p: Any) -> Any:
    """Probabilities as SciPy takes them: the last is what the others leave."""
    return np.concatenate([p[..., :-1], 1 - np.sum(p[..., :-1], axis=-1, keepdims=True)], axis=-1)


def multinomial_logpmf(x: Any, n: Any, p: Any) -> Any:
    x, n = stop_gradient(x), stop_gradient(n)
    return sp.gammaln(n + 1.0) + np.sum(sp.xlogy(x, _shares(p)) - sp.gammaln(x + 1.0), axis=-1)


def multinomial_mean(n: Any, p: Any) -> Any:
    return np.expand_dims(np.asarray(stop_gradient(n)), -1) * _shares(p)


def multinomial_cov(n: Any, p: Any) -> Any:
    p = _shares(p)
    outer = np.expand_dims(p, -1) * np.expand_dims(p, -2)
    whole = np.expand_dims(p, -1) * np.eye(np.shape(p)[-1])
    return np.asarray(stop_gradient(n))[..., np.newaxis, np.newaxis] * (whole - outer)


def dirichlet_multinomial_logpmf(x: Any, alpha: Any, n: Any) -> Any:
    x, n = stop_gradient(x), stop_gradient(n)
    whole = np.sum(alpha, axis=-1)
    counts = sp.gammaln(n + 1.0) - np.sum(sp.gammaln(x + 1.0), axis=-1)
    each = np.sum(sp.gammaln(x + alpha) - sp.gammaln(alpha), axis=-1)
    return sp.gammaln(whole) - sp.gammaln(n + whole) + counts + each


def dirichlet_multinomial_mean(alpha: Any, n: Any) -> Any:
    n = np.expand_dims(np.asarray(stop_gradient(n)), -1)
    return n * alpha / np.sum(alpha, axis=-1, keepdims=True)


def dirichlet_multinomial_var(alpha: Any, n: Any) -> Any:
    n = np.expand_dims(np.asarray(stop_gradient(n)), -1)
    whole = np.sum(alpha, axis=-1, keepdims=True)
    share = alpha / whole
    return n * share * (1 - share) * (n + whole) / (1 + whole)


def dirichlet_multinomial_cov(alpha: Any, n: Any) -> Any:
    n = np.asarray(stop_gradient(n))[..., np.newaxis, np.newaxis]
    whole = np.sum(alpha, axis=-1)[..., np.newaxis, np.newaxis]
    share = alpha / np.sum(alpha, axis=-1, keepdims=True)
    outer = np.expand_dims(share, -1) * np.expand_dims(share, -2)
    diagonal = np.expand_dims(share, -1) * np.eye(np.shape(alpha)[-1])
    return n * (n + whole) / (1 + whole) * (diagonal - outer)


# --- directions, and normal means with their variances ----------------------------------------


def _fisher_norm(size: int, kappa: Any) -> Any:
    half = size / 2
    bessel = np.log(sp.ive(half - 1, kappa)) + kappa
    return (half - 1) * np.log(kappa) - half * LOG_2PI - bessel


def fisher_logpdf(x: Any, mu: Any, kappa: Any = 1.0) -> Any:
    return _fisher_norm(np.shape(mu)[-1], kappa) + kappa * np.sum(x * mu, axis=-1)


def fisher_entropy(mu: Any, kappa: Any = 1.0) -> Any:
    half = np.shape(mu)[-1] / 2
    ratio = sp.ive(half, kappa) / sp.ive(half - 1, kappa)
    return -_fisher_norm(np.shape(mu)[-1], kappa) - kappa * ratio


def normal_inverse_gamma_logpdf(
    x: Any, s2: Any, mu: Any = 0.0, lmbda: Any = 1.0, a: Any = 1.0, b: Any = 1.0
) -> Any:
    height = (np.log(lmbda) - LOG_2PI - np.log(s2)) / 2 + a * np.log(b) - sp.gammaln(a)
    return height - (a + 1) * np.log(s2) - (2 * b + lmbda * (x - mu) ** 2) / (2 * s2)
