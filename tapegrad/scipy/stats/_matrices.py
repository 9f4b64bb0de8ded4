"""Formulas of the distributions of matrices: the other half of `_vectors.py`, which see."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad import stop_gradient
from tapegrad.scipy import _special as sp
from tapegrad.scipy.stats._shared import LOG_2, LOG_2PI, LOG_PI
from tapegrad.scipy.stats._vectors import at_level, log_det, matrix_of, size_of

_chi_level = at_level("chi")


def log_multigamma(a: Any, size: int) -> Any:
    """scipy.special.multigammaln."""
    terms = [sp.gammaln(a - j / 2) for j in range(size)]
    return size * (size - 1) / 4 * LOG_PI + sum(terms[1:], terms[0])


# --- matrices of normal and t variables -------------------------------------------------------


def _two_sided(x: Any, mean: Any, row: Any, col: Any) -> tuple[int, int, Any, Any, Any]:
    rows, cols = np.shape(x)[-2:]
    away = x if mean is None else x - mean
    row_factor = np.linalg.cholesky(matrix_of(row, rows))
    col_factor = np.linalg.cholesky(matrix_of(col, cols))
    half = np.linalg.solve(row_factor, away)
    white = np.swapaxes(np.linalg.solve(col_factor, np.swapaxes(half, -1, -2)), -1, -2)
    return rows, cols, row_factor, col_factor, white


def matrix_normal_logpdf(X: Any, mean: Any = None, rowcov: Any = 1.0, colcov: Any = 1.0) -> Any:
    rows, cols, row, col, white = _two_sided(X, mean, rowcov, colcov)
    logs = rows * cols * LOG_2PI + cols * log_det(row) + rows * log_det(col)
    return np.squeeze(-(logs + np.sum(white**2, axis=(-2, -1))) / 2)


def matrix_normal_entropy(rowcov: Any = 1.0, colcov: Any = 1.0) -> Any:
    rows, cols = size_of(rowcov), size_of(colcov)
    row = np.linalg.cholesky(matrix_of(rowcov, rows))
    col = np.linalg.cholesky(matrix_of(colcov, cols))
    return (rows * cols * (LOG_2PI + 1) + cols * log_det(row) + rows * log_det(col)) / 2


def matrix_normal_rvs(
    out: Any, mean: Any = None, rowcov: Any = 1.0, colcov: Any = 1.0, **_options: Any
) -> Any:
    fixed = None if mean is None else stop_gradient(mean)
    *_, row, col, white = _two_sided(out, fixed, rowcov, colcov)
    draws = row @ stop_gradient(white) @ col.T
    return draws if mean is None else mean + draws


def matrix_t_logpdf(
    X: Any, mean: Any = None, row_spread: Any = 1.0, col_spread: Any = 1.0, df: Any = 1.0
) -> Any:
    rows, cols, row, col, white = _two_sided(X, mean, row_spread, col_spread)
    inner = np.eye(rows) + white @ np.swapaxes(white, -1, -2)
    logs = log_det(np.linalg.cholesky(inner))
    power = (df + rows + cols - 1) / 2
    height = log_multigamma(power, cols) - log_multigamma((df + cols - 1) / 2, cols)
    height = height - rows * cols / 2 * LOG_PI - (cols * log_det(row) + rows * log_det(col)) / 2
    return np.squeeze(height - power * logs)


# --- Wishart ----------------------------------------------------------------------------------


def _square(scale: Any) -> Any:
    return np.reshape(scale, (1, 1)) if np.ndim(scale) == 0 else matrix_of(scale, size_of(scale))


def _stack(x: Any, size: int) -> Any:
    """Matrices along the last two axes; SciPy has them along the first two."""
    if np.ndim(x) == 0:
        return x * np.eye(size)
    if np.ndim(x) == 1:
        return np.reshape(x, (-1, 1, 1)) if size == 1 else np.diag(x)
    return x if np.ndim(x) == 2 else np.moveaxis(x, -1, 0)


def wishart_logpdf(x: Any, df: Any, scale: Any) -> Any:
    scale = _square(scale)
    size = np.shape(scale)[-1]
    x = _stack(x, size)
    logs = log_det(np.linalg.cholesky(x))
    traces = np.trace(np.linalg.solve(scale, x), axis1=-2, axis2=-1)
    of_scale = log_det(np.linalg.cholesky(scale))
    height = df * size / 2 * LOG_2 + df / 2 * of_scale + log_multigamma(df / 2, size)
    return np.squeeze((df - size - 1) / 2 * logs - traces / 2 - height)


def invwishart_logpdf(x: Any, df: Any, scale: Any) -> Any:
    scale = _square(scale)
    size = np.shape(scale)[-1]
    x = _stack(x, size)
    logs = log_det(np.linalg.cholesky(x))
    traces = np.trace(np.linalg.solve(x, scale), axis1=-2, axis2=-1)
    of_scale = log_det(np.linalg.cholesky(scale))
    height = df * size / 2 * LOG_2 - df / 2 * of_scale + log_multigamma(df / 2, size)
    return np.squeeze(-(df + size + 1) / 2 * logs - traces / 2 - height)


def wishart_mean(df: Any, scale: Any) -> Any:
    return np.squeeze(df * _square(scale))


def wishart_mode(df: Any, scale: Any) -> Any:
    scale = _square(scale)
    return np.squeeze((df - np.shape(scale)[-1] - 1) * scale)


def wishart_var(df: Any, scale: Any) -> Any:
    scale = _square(scale)
    diagonal = np.diagonal(scale)
    return np.squeeze(df * (scale**2 + np.outer(diagonal, diagonal)))


def wishart_entropy(df: Any, scale: Any) -> Any:
    scale = _square(scale)
    size = np.shape(scale)[-1]
    logs = log_det(np.linalg.cholesky(scale))
    slopes = [sp.digamma((df - j) / 2) for j in range(size)]
    return (
        (size + 1) / 2 * logs
        + size * (size + 1) / 2 * LOG_2
        + log_multigamma(df / 2, size)
        - (df - size - 1) / 2 * sum(slopes[1:], slopes[0])
        + df * size / 2
    )


def invwishart_mean(df: Any, scale: Any) -> Any:
    scale = _square(scale)
    return np.squeeze(scale / (df - np.shape(scale)[-1] - 1))


def invwishart_mode(df: Any, scale: Any) -> Any:
    scale = _square(scale)
    return np.squeeze(scale / (df + np.shape(scale)[-1] + 1))


def invwishart_var(df: Any, scale: Any) -> Any:
    scale = _square(scale)
    diagonal = np.diagonal(scale)
    left = df - np.shape(scale)[-1]
    top = (left + 1) * scale**2 + (left - 1) * np.outer(diagonal, diagonal)
    return np.squeeze(top / (left * (left - 1) ** 2 * (left - 3)))


def invwishart_entropy(df: Any, scale: Any) -> Any:
    scale = _square(scale)
    size = np.shape(scale)[-1]
    logs = log_det(np.linalg.cholesky(scale))
    slopes = [sp.digamma((df - j) / 2) for j in range(size)]
    return (
        log_multigamma(df / 2, size)
        + df * size / 2
        + (size + 1) / 2 * (logs - LOG_2)
        - (df + size + 1) / 2 * sum(slopes[1:], slopes[0])
    )


def _halved(draws: Any, factor: Any) -> Any:
    """The triangles t of draws `factor @ t @ t.T @ factor.T`, as constants."""
    half = np.linalg.solve(stop_gradient(factor), draws)
    return np.linalg.cholesky(np.linalg.solve(stop_gradient(factor), np.swapaxes(half, -1, -2)))


def _moved_by(df: Any, t: Any) -> Any:
    """Triangles with chi variables on their diagonals, moving with the degrees of freedom."""
    diagonal = np.diagonal(t, axis1=-2, axis2=-1)
    moved = _chi_level(diagonal, df)
    return t + np.eye(np.shape(t)[-1]) * np.expand_dims(moved - diagonal, -1)


def _squared(factor: Any, t: Any, out: Any) -> Any:
    whole = factor @ t
    return np.reshape(whole @ np.swapaxes(whole, -1, -2), np.shape(out))


def wishart_rvs(out: Any, df: Any, scale: Any, **_options: Any) -> Any:
    """By Bartlett's decomposition, as SciPy draws."""
    factor = np.linalg.cholesky(_square(scale))
    size = np.shape(factor)[-1]
    t = _halved(np.reshape(out, (-1, size, size)), factor)
    return _squared(factor, _moved_by(df - np.arange(float(size)), t), out)


def invwishart_rvs(out: Any, df: Any, scale: Any, **_options: Any) -> Any:
    """The same with inverses of such triangles, whose diagonals begin with the fewest degrees."""
    factor = np.linalg.cholesky(_square(scale))
    size = np.shape(factor)[-1]
    t = np.linalg.inv(_halved(np.reshape(out, (-1, size, size)), factor))
    moved = _moved_by(df - np.arange(float(size))[::-1], t)
    return _squared(factor, np.linalg.inv(moved), out)
