"""Polynomials by their coefficients, the highest power first.

Where NumPy leaves out leading or trailing zeros, the values decide how many, and the derivative is
that of what remains. `np.poly1d` arguments give `np.poly1d` results, as in NumPy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._core.forms import composite, general, resolved_product
from tapegrad._core.types import Cotangent, Tangent, Value
from tapegrad._core.values import any_true, innermost, raw_value, untraced
from tapegrad._warning import warn
from tapegrad.rules.differences import as_array
from tapegrad.rules.least_squares import SOLUTION, residuals_of


def _given(p: Value) -> Value:
    """The coefficients as an array, of any dimension."""
    return as_array(p.coeffs if isinstance(p, np.poly1d) else p)


def _coefficients(p: Value) -> Value:
    return np.atleast_1d(_given(p))


def _like_arguments(result: Value, *args: Value) -> Value:
    return np.poly1d(result) if any(isinstance(arg, np.poly1d) for arg in args) else result


# --- Arithmetic


def _padded(p: Value, count: int) -> Value:
    if len(p) == count:
        return p
    return np.concatenate([np.zeros(count - len(p), p.dtype), p])


def _same_length(a1: Value, a2: Value) -> tuple[Value, Value]:
    p, q = _coefficients(a1), _coefficients(a2)
    count = max(len(p), len(q))
    return _padded(p, count), _padded(q, count)


def _polyadd(a1: Value, a2: Value) -> Value:
    p, q = _same_length(a1, a2)
    return _like_arguments(p + q, a1, a2)


def _polysub(a1: Value, a2: Value) -> Value:
    p, q = _same_length(a1, a2)
    return _like_arguments(p - q, a1, a2)


def _length_without_leading_zeros(p: Value, small: float = 0.0) -> int:
    """How many coefficients remain, at least one; under vmap as many as in any example."""
    magnitudes, length = np.absolute(untraced(p)), len(p)
    if not np.size(raw_value(magnitudes)):
        return length  # without examples, no coefficient is known to be zero
    while length > 1 and not any_true(~(magnitudes[len(p) - length] <= small)):
        length -= 1
    return length


def _polymul(a1: Value, a2: Value) -> Value:
    p, q = _coefficients(a1), _coefficients(a2)
    if p.ndim > 1 or q.ndim > 1:
        raise ValueError("Polynomial must be 1d only.")
    if p.size == 0 or q.size == 0:
        p, q = (x if x.size else np.zeros(1, x.dtype) for x in (p, q))
    # NumPy leaves out leading zeros before it multiplies. Multiplied first, they keep their
    # derivatives by the lower powers of the product.
    count = _length_without_leading_zeros(p) + _length_without_leading_zeros(q) - 1
    product = np.convolve(p, q)
    return _like_arguments(product[len(product) - count :], a1, a2)


def _polydiv(u: Value, v: Value) -> tuple[Value, Value]:
    """Long division."""
    p, q = _coefficients(u) + 0.0, _coefficients(v) + 0.0
    dtype = np.result_type(p.dtype, q.dtype)
    rest, scale, quotient = p.astype(dtype), 1.0 / q[0], []
    for _ in range(len(p) - len(q) + 1):
        factor = scale * rest[0]
        quotient.append(factor)
        taken = rest[1 : len(q)] - factor * q[1:]
        rest = np.concatenate([taken, rest[len(q) :]])
    remainder = _padded(rest, len(p))
    remainder = remainder[len(p) - _length_of_remainder(p, q, remainder) :]
    whole = np.stack(quotient) if quotient else np.zeros(1, dtype)
    return _like_arguments(whole, u, v), _like_arguments(remainder, u, v)


def _length_of_remainder(p: Value, q: Value, remainder: Value) -> int:
    """The length of NumPy's remainder, which leaves out leading coefficients near zero.

    Which are near zero depends on NumPy's rounding, so NumPy is asked wherever values are known.
    """
    if innermost([untraced(p), untraced(q)]) is None:
        return len(np.polydiv(untraced(p), untraced(q))[1])
    return _length_without_leading_zeros(remainder, 1e-8)


def _polyder(p: Value, m: int = 1) -> Value:
    if int(m) < 0:
        raise ValueError("Order of derivative must be positive (see polyint)")
    coefficients = _given(p)
    if coefficients.ndim == 0:
        raise TypeError("len() of unsized object")
    for _ in range(int(m)):
        coefficients = coefficients[:-1] * np.arange(len(coefficients) - 1, 0, -1)
    return _like_arguments(coefficients, p)


def _polyint(p: Value, m: int = 1, k: Value = None) -> Value:
    m = int(m)
    if m < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    constants = np.atleast_1d(as_array(np.zeros(m, float) if k is None else k))
    if len(constants) == 1 and m > 1:
        constants = np.broadcast_to(constants, (m,))
    if len(constants) < m:
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or >m.")
    coefficients = _given(p)
    for i in range(m):
        powers = np.arange(len(coefficients), 0, -1)
        coefficients = np.concatenate([coefficients / powers, constants[i : i + 1]])
    return _like_arguments(coefficients, p)


def _polyval(p: Value, x: Value) -> Value:
    """By Horner's scheme. For a polynomial x the result is the composition, a polynomial too."""
    coefficients = _given(p)
    if isinstance(x, np.poly1d):
        value: Any = np.poly1d(0)
    else:
        x = as_array(x)
        value = np.zeros(x.shape, x.dtype)
    for coefficient in coefficients:
        value = value * x + coefficient
    return value


composite(np.polyadd, _polyadd)
composite(np.polysub, _polysub)
composite(np.polymul, _polymul)
composite(np.polydiv, _polydiv)
composite(np.polyder, _polyder)
composite(np.polyint, _polyint)
composite(np.polyval, _polyval)

# --- Powers


def _vander_slopes(x: Value, N: int | None, increasing: bool) -> Value:
    """The derivative of each element by its x: k x**(k - 1) in the column of x**k."""
    count = len(x) if N is None else N
    if count < 2:
        return np.zeros((len(x), count), x.dtype)
    slopes = np.vander(x, count - 1, increasing=True) * np.arange(1, count)
    slopes = np.concatenate([np.zeros((len(x), 1), x.dtype), slopes], axis=1)
    return slopes if increasing else slopes[:, ::-1]


general(
    np.vander,
    vjp=[
        lambda g, _out, x, N=None, increasing=False: np.sum(
            g * _vander_slopes(x, N, increasing), axis=1
        )
    ],
    jvp=lambda dots, _out, x, N=None, increasing=False: (
        dots[0][:, None] * _vander_slopes(x, N, increasing)
    ),
    batch=lambda x, N=None, increasing=False: np.reshape(
        np.vander(np.reshape(x, -1), x.shape[1] if N is None else N, increasing),
        (*x.shape, x.shape[1] if N is None else N),
    ),
)

# --- Roots, and the polynomial with given roots


def _roots_slope(out: Value, p: Value) -> Value:
    """-1 over the slope of the polynomial at each root: infinite where roots coincide."""
    return -1.0 / np.polyval(np.polyder(p), out)


def _roots_vjp(g: Cotangent, out: Value, p: Value) -> Cotangent:
    """A coefficient of x**k moves a root r by -r**k / p'(r), even a zero that NumPy leaves out."""
    powers = np.vander(out, len(p))
    return np.matmul(resolved_product(g, _roots_slope(out, p)), powers)


def _roots_jvp(dots: Sequence[Tangent], out: Value, p: Value) -> Tangent:
    moved = np.matmul(np.vander(out, len(p)), dots[0])
    return resolved_product(moved, _roots_slope(out, p))


ROOTS = general(lambda p: np.roots(p), vjp=[_roots_vjp], jvp=_roots_jvp, name="np.roots")
composite(np.roots, lambda p: _roots(p))


def _roots(p: Value) -> Value:
    coefficients = _coefficients(p)
    if coefficients.ndim != 1:
        raise ValueError("Input must be a rank-1 array.")
    return ROOTS.apply_bound([coefficients], {})


def _characteristic(a: Value) -> Value:
    return np.poly(a)


def _characteristic_vjp(g: Cotangent, out: Value, a: Value) -> Cotangent:
    """By the coefficients of adj(t - a): tr(adj(t - a) a_dot) is minus the tangent at t.

    They are sums of powers of a, so equal eigenvalues do no harm: F. R. Gantmacher, "The theory of
    matrices" (1959), chapter IV, section 4.
    """
    power: Any = np.eye(len(a), dtype=out.dtype)
    total = -g[1] * power
    for k in range(2, len(a) + 1):
        power = np.matmul(a, power) + out[k - 1] * np.eye(len(a), dtype=out.dtype)
        total = total - g[k] * np.transpose(power)
    return total


CHARACTERISTIC = general(_characteristic, vjp=[_characteristic_vjp], name="np.poly")


def _poly(seq_of_zeros: Value) -> Value:
    zeros = _coefficients(seq_of_zeros)
    if zeros.ndim == 2 and zeros.shape[0] == zeros.shape[1] != 0:
        return CHARACTERISTIC.apply_bound([zeros], {})
    if zeros.ndim != 1:
        raise ValueError("input must be 1d or non-empty square 2d array.")
    if len(zeros) == 0:
        return 1.0
    zeros = zeros.astype(np.mintypecode(zeros.dtype.char))
    result: Any = np.ones(1, zeros.dtype)
    for zero in zeros:
        result = np.convolve(result, np.stack([np.ones((), zeros.dtype), -zero]))
    # A polynomial whose roots are conjugates of each other has real coefficients.
    values = untraced(zeros)
    if values.dtype.kind != "c" or any_true(np.sort(values) != np.sort(np.conjugate(values))):
        return result
    return np.real(result)


composite(np.poly, _poly)

# --- Fits


def _polyfit(
    x: Value,
    y: Value,
    deg: int,
    rcond: Value = None,
    full: bool = False,
    w: Value = None,
    cov: bool | str = False,
) -> Any:
    order = int(deg) + 1
    x, y = as_array(x) + 0.0, as_array(y) + 0.0
    _check_points(x, y, deg)
    if rcond is None:
        rcond = len(x) * np.finfo(x.dtype).eps
    powers, values = np.vander(x, order), y
    if w is not None:
        weights = _weights(w, y)
        powers = powers * weights[:, None]
        values = values * np.reshape(weights, (-1,) + (1,) * (y.ndim - 1))
    # Columns of equal norm give the system a better condition.
    scale = np.sqrt(np.sum(powers * powers, axis=0))
    powers = powers / scale
    solution, rank = SOLUTION.apply_bound([powers, values], {"rcond": rcond})
    residuals = residuals_of(powers, values, solution, rank)
    solution = np.transpose(np.transpose(solution) / scale)
    if full:
        return solution, residuals, rank, np.linalg.svdvals(powers), rcond
    if any_true(rank != order):
        warn("Polyfit may be poorly conditioned", np.exceptions.RankWarning)
    if not cov:
        return solution
    covariance = np.linalg.inv(np.matmul(np.transpose(powers), powers)) / np.outer(scale, scale)
    if cov == "unscaled":
        factor: Any = 1
    elif len(x) <= order:
        raise ValueError(
            "the number of data points must exceed order to scale the covariance matrix"
        )
    else:
        factor = residuals / (len(x) - order)
    return solution, (covariance if y.ndim == 1 else covariance[:, :, None]) * factor


def _check_points(x: Value, y: Value, deg: int) -> None:
    if deg < 0:
        raise ValueError("expected deg >= 0")
    if x.ndim != 1:
        raise TypeError("expected 1D vector for x")
    if x.size == 0:
        raise TypeError("expected non-empty vector for x")
    if y.ndim < 1 or y.ndim > 2:
        raise TypeError("expected 1D or 2D array for y")
    if x.shape[0] != y.shape[0]:
        raise TypeError("expected x and y to have same length")


def _weights(w: Value, y: Value) -> Value:
    weights = as_array(w) + 0.0
    if weights.ndim != 1:
        raise TypeError("expected a 1-d array for weights")
    if weights.shape[0] != y.shape[0]:
        raise TypeError("expected w and y to have the same length")
    return weights


composite(np.polyfit, _polyfit)
