"""Matrices made of vectors, and equations with those of Toeplitz's kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.linalg

from tapegrad._core.types import Cotangent, Value
from tapegrad._core.values import any_true, untraced
from tapegrad.rules.matrices import column, row
from tapegrad.scipy.linalg._inputs import array, arrays, as_columns, checked, core, expressed

# --- Matrices whose elements are gathered


def _joined(c: Value, r: Value) -> Value:
    """The diagonals of a Toeplitz matrix, from the last one above to the last one below."""
    shape = np.broadcast_shapes(c.shape[:-1], r.shape[:-1])
    kind = np.result_type(c.dtype, r.dtype)
    c = np.broadcast_to(c, (*shape, c.shape[-1])).astype(kind)
    r = np.broadcast_to(r, (*shape, r.shape[-1])).astype(kind)
    return np.concatenate([r[..., :0:-1], c], -1)


def _of_diagonals(values: Value, rows: int, columns: int) -> Value:
    at = np.arange(rows)[:, None] - np.arange(columns) + columns - 1
    return values[..., at]


def _column_and_row(c: Value, r: Value = None) -> Sequence[Any]:
    c = np.atleast_1d(array(c))
    return c, np.conjugate(c) if r is None else np.atleast_1d(array(r))


def _toeplitz(c: Value, r: Value = None) -> Value:
    c, r = _column_and_row(c, r)
    if not c.shape[-1] or not r.shape[-1]:
        return np.zeros((*c.shape[:-1], c.shape[-1], r.shape[-1]), c.dtype)
    return _of_diagonals(_joined(c, r), c.shape[-1], r.shape[-1])


def _hankel(c: Value, r: Value = None) -> Value:
    c = np.ravel(array(c))
    r = np.zeros_like(c) if r is None else np.ravel(array(r))
    values = np.concatenate([c, r[1:]])
    return values[np.arange(len(c))[:, None] + np.arange(len(r))]


def _circulant(c: Value) -> Value:
    c = np.atleast_1d(array(c))
    count = c.shape[-1]
    at = np.arange(count)
    return c[..., (at[:, None] - at) % max(count, 1)]


def _block_diag(*arrs: Value) -> Value:
    if not arrs:
        return np.zeros((1, 0))
    blocks = [np.atleast_2d(array(block)) for block in arrs]
    lead = np.broadcast_shapes(*(block.shape[:-2] for block in blocks))
    total = sum(block.shape[-1] for block in blocks)
    rows, before = [], 0
    for block in blocks:
        block = np.broadcast_to(block, (*lead, *block.shape[-2:]))
        height, width = block.shape[-2:]
        left = np.zeros((*lead, height, before), block.dtype)
        right = np.zeros((*lead, height, total - before - width), block.dtype)
        rows.append(np.concatenate([left, block, right], -1))
        before += width
    return np.concatenate(rows, -2)


def _companion(a: Value) -> Value:
    a = np.atleast_1d(array(a))
    count = a.shape[-1] - 1
    if count < 1:
        raise ValueError("The length of `a` along the last axis must be at least 2.")
    if any_true(untraced(a)[..., 0] == 0):
        raise ValueError(
            "The first coefficient(s) of `a` (i.e. elements of `a[..., 0]`) must not be zero."
        )
    first = row(-a[..., 1:] / a[..., :1])
    below = np.broadcast_to(
        np.eye(count - 1, count, dtype=a.dtype), (*a.shape[:-1], count - 1, count)
    )
    return np.concatenate([first, below], -2)


def _leslie(f: Value, s: Value) -> Value:
    f, s = np.atleast_1d(array(f)), np.atleast_1d(array(s))
    if f.shape[-1] != s.shape[-1] + 1:
        raise ValueError(
            "Incorrect lengths for f and s. The length of s along the last axis must be one less "
            "than the length of f."
        )
    if not s.shape[-1]:
        raise ValueError("The length of s must be at least 1.")
    count = f.shape[-1]
    below = np.eye(count - 1, count, dtype=s.dtype) * column(s)
    lead = np.broadcast_shapes(f.shape[:-1], s.shape[:-1])
    first = np.broadcast_to(row(f), (*lead, 1, count))
    return np.concatenate([first, np.broadcast_to(below, (*lead, count - 1, count))], -2)


def _convolution_matrix(a: Value, n: int, mode: str = "full") -> Value:
    if n <= 0:
        raise ValueError("n must be a positive integer.")
    a = array(a)
    if not a.shape or not a.shape[-1]:
        raise ValueError("len(a) must be at least 1.")
    if mode not in ("full", "valid", "same"):
        raise ValueError("'mode' argument must be one of ('full', 'valid', 'same')")
    count = a.shape[-1]
    at = np.arange(count + n - 1)[:, None] - np.arange(n)
    inside = (at >= 0) & (at < count)
    whole = np.where(inside, a[..., np.where(inside, at, 0)], 0)
    if mode == "full":
        return whole
    cut = min(n, count) - 1
    first, last = (cut, cut) if mode == "valid" else (cut // 2, cut - cut // 2)
    return whole[..., first : count + n - 1 - last, :]


def _fiedler(a: Value) -> Value:
    a = np.atleast_1d(array(a))
    return np.abs(column(a) - row(a)) if a.size else np.zeros(0)


def _fiedler_companion(a: Value) -> Value:
    a = np.atleast_1d(array(a))
    if a.ndim > 1:
        return np.stack([_fiedler_companion(part) for part in a])
    if a.shape[0] < 2:
        return np.zeros(0, a.dtype)
    if any_true(untraced(a)[0] == 0):
        raise ValueError("Leading coefficient is zero.")
    # Where each coefficient goes, SciPy says of their numbers; its zeros and ones are constants.
    count = a.shape[0]
    marks = scipy.linalg.fiedler_companion(np.array([1.0, *range(2, count + 1)]))
    places = -marks.astype(int) * (marks < 0)
    ratios = -a / a[0]
    return np.where(
        places > 0,
        ratios[np.where(places > 0, places - 1, 0)],
        (marks * (marks > 0)).astype(a.dtype),
    )


def _khatri_rao(a: Value, b: Value) -> Value:
    a, b = array(a), array(b)
    if a.ndim < 2 or b.ndim < 2:
        raise ValueError("The both arrays should be 2-dimensional.")
    if a.shape[-1] != b.shape[-1]:
        raise ValueError("The number of columns for both arrays should be equal.")
    products = np.expand_dims(a, -2) * np.expand_dims(b, -3)
    return np.reshape(products, (*products.shape[:-3], a.shape[-2] * b.shape[-2], a.shape[-1]))


def _diagsvd(s: Value, M: int, N: int) -> Value:
    s = array(s)
    if s.shape[-1] not in (M, N):
        raise ValueError("Length of s must be M or N.")
    return np.eye(M, N, dtype=s.dtype) * (row(s) if s.shape[-1] == N else column(s))


toeplitz = expressed(scipy.linalg.toeplitz, _toeplitz)
hankel = expressed(scipy.linalg.hankel, _hankel)
circulant = expressed(scipy.linalg.circulant, _circulant)
block_diag = expressed(scipy.linalg.block_diag, _block_diag)
companion = expressed(scipy.linalg.companion, _companion)
leslie = expressed(scipy.linalg.leslie, _leslie)
convolution_matrix = expressed(scipy.linalg.convolution_matrix, _convolution_matrix)
fiedler = expressed(scipy.linalg.fiedler, _fiedler)
fiedler_companion = expressed(scipy.linalg.fiedler_companion, _fiedler_companion)
khatri_rao = expressed(scipy.linalg.khatri_rao, _khatri_rao)
diagsvd = expressed(scipy.linalg.diagsvd, _diagsvd)

__all__ = [
    "block_diag",
    "circulant",
    "clarkson_woodruff_transform",
    "companion",
    "convolution_matrix",
    "diagsvd",
    "fiedler",
    "fiedler_companion",
    "hankel",
    "khatri_rao",
    "leslie",
    "matmul_toeplitz",
    "solve_circulant",
    "solve_toeplitz",
    "toeplitz",
]

# --- Toeplitz: equations and products


def _pair(c_or_cr: Any) -> tuple[Any, Any]:
    c, r = _column_and_row(*(c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr,)))
    return c, r


def _plain_levinson(values: Value, b: Value) -> Value:
    count = (values.shape[-1] + 1) // 2
    pair = values[..., count - 1 :], values[..., count - 1 :: -1]
    return scipy.linalg.solve_toeplitz(pair, b, check_finite=False)


def _levinson_b(g: Cotangent, _out: Value, values: Value, _b: Value) -> Cotangent:
    return LEVINSON.apply_bound([values[..., ::-1], g], {})


def _levinson_values(g: Cotangent, out: Value, values: Value, b: Value) -> Cotangent:
    """The sums along the diagonals of -b_bar x^T, which are a convolution."""
    b_bar = _levinson_b(g, out, values, b)
    if len(b.shape) == 1:
        b_bar, out = column(b_bar), column(out)
    count = out.shape[-2]
    length = 2 * count - 1
    x, y = out[..., ::-1, :], b_bar
    product: Any
    if np.result_type(x.dtype, y.dtype).kind == "c":
        product = np.fft.ifft(np.fft.fft(x, length, -2) * np.fft.fft(y, length, -2), axis=-2)
    else:
        product = np.fft.rfft(x, length, -2) * np.fft.rfft(y, length, -2)
        product = np.fft.irfft(product, length, -2)
    return -np.sum(product, axis=-1)


LEVINSON = core(
    _plain_levinson,
    vjp=[_levinson_values, _levinson_b],
    name="scipy.linalg.solve_toeplitz",
    batch="(d),(m,k?)->(m,k?)",
)


def _solve_toeplitz(c_or_cr: Any, b: Value, check_finite: bool = True) -> Value:
    c, r = arrays(*_pair(c_or_cr), check_finite=check_finite)
    b = checked(b, check_finite)
    if c.shape[-1] != r.shape[-1] or c.shape[-1] != b.shape[0 if b.ndim == 1 else -2]:
        raise ValueError("Incompatible dimensions.")
    values = _joined(c, r)
    kind = np.result_type(values.dtype, b.dtype)
    return LEVINSON.apply_bound([values.astype(kind), b.astype(kind)], {})


def _matmul_toeplitz(
    c_or_cr: Any, x: Value, check_finite: bool = False, workers: int | None = None
) -> Value:
    c, r = arrays(*_pair(c_or_cr), check_finite=check_finite)
    x = checked(x, check_finite)
    kind = np.result_type(c.dtype, r.dtype, x.dtype)
    c, r, x = c.astype(kind), r.astype(kind), x.astype(kind)
    rows, columns = c.shape[-1], r.shape[-1]
    length = rows + columns - 1
    values = np.concatenate([c, r[..., :0:-1]], -1)
    real = np.result_type(values.dtype, x.dtype).kind != "c"
    forth: Any = np.fft.rfft if real else np.fft.fft

    def times(x: Value) -> Value:
        if x.shape[-2] != columns:
            raise ValueError("Incompatible dimensions.")
        spectrum = column(forth(values, axis=-1)) * forth(x, length, -2)
        whole = np.fft.irfft(spectrum, length, -2) if real else np.fft.ifft(spectrum, axis=-2)
        return whole[..., :rows, :]

    return as_columns(times, x)


def _solve_circulant(
    c: Value, b: Value, singular: str, tol: float | None, caxis: int, baxis: int, outaxis: int
) -> Value:
    c, b = np.atleast_1d(array(c)), np.atleast_1d(array(b))
    if c.shape[caxis] != b.shape[baxis]:
        raise ValueError(f"Shapes of c {c.shape} and b {b.shape} are incompatible")
    spectrum = np.fft.fft(np.moveaxis(c, caxis, -1), axis=-1)
    size = np.abs(untraced(spectrum))
    if tol is None:
        eps = np.finfo(np.float64).eps
        limit = size.max(axis=-1, keepdims=True) * c.shape[caxis] * eps
    else:
        limit = tol
    zero = size <= limit
    if any_true(zero) and singular == "raise":
        raise np.linalg.LinAlgError("near singular circulant matrix.")
    right = np.fft.fft(np.moveaxis(b, baxis, -1), axis=-1)
    ratio = np.where(zero, 0, right / np.where(zero, 1, spectrum))
    x = np.fft.ifft(ratio, axis=-1)
    x = x if "c" in (c.dtype.kind, b.dtype.kind) else np.real(x)
    return np.moveaxis(x, -1, outaxis)


solve_toeplitz = expressed(scipy.linalg.solve_toeplitz, _solve_toeplitz)
matmul_toeplitz = expressed(scipy.linalg.matmul_toeplitz, _matmul_toeplitz)
solve_circulant = expressed(scipy.linalg.solve_circulant, _solve_circulant)

# --- Sketches


def _clarkson_woodruff_transform(
    input_matrix: Value, sketch_size: int, rng: Any = None, *, seed: Any = None
) -> Value:
    """The product with the random matrix that SciPy draws."""
    a = array(input_matrix)
    word = {"rng": rng} if seed is None else {"seed": seed}
    sketch = scipy.linalg.clarkson_woodruff_transform(np.eye(a.shape[-2]), sketch_size, **word)
    return np.matmul(sketch, a)


clarkson_woodruff_transform = expressed(
    scipy.linalg.clarkson_woodruff_transform, _clarkson_woodruff_transform
)
