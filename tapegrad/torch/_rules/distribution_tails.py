"""Functions of one real variable from statistics: the normal distribution's tails, entropies, I1.

Knows SciPy, which computes them fastest where it is installed, and methods with NumPy alone.
"""

from __future__ import annotations

import math

import numpy as np

from tapegrad._core.quiet import silence
from tapegrad._core.types import Function, Value
from tapegrad.torch._rules.declare import elementwise
from tapegrad.torch._rules.special import by_number, inverse_of_erf, scipy_function

ROOT_PI = math.sqrt(math.pi)
ROOT_2 = math.sqrt(2)


def needs_scipy(word: str, name: str, *arrays: Value) -> Value:
    """A function of SciPy's, in the dtype of the first array; ImportError without SciPy."""
    function = scipy_function(name)
    if function is None:
        raise ImportError(
            f"torch.special.{word} is computed by SciPy, which is not installed: pip install scipy"
        )
    return np.asarray(function(*arrays)).astype(arrays[0].dtype)


def _evaluate(name: str, fallback: Function, x: Value) -> Value:
    function = scipy_function(name)
    with silence():
        made = fallback(x.astype(np.float64)) if function is None else function(x)
    return np.asarray(made).astype(x.dtype)


# --- The scaled error function ------------------------------------------------------------------


def _scaled_error(x: float) -> float:
    if math.isinf(x):
        return 0.0 if x > 0 else math.inf
    if x < 8:
        return math.erfc(x) * math.exp(x * x) if x > -26 else math.inf
    total = term = 1.0
    for n in range(1, 25):  # the asymptotic series, whose terms fall to rounding
        term *= -(2 * n - 1) / (2 * x * x)
        total += term
    return total / (x * ROOT_PI)


@elementwise("SpecialErfcxBackward0", lambda out, x: 2 * x * out - 2 / ROOT_PI)
def erfcx(x: Value) -> Value:
    """exp(x**2) erfc(x), without overflow or cancellation."""
    return _evaluate("erfcx", by_number(_scaled_error), x)


# --- The normal distribution --------------------------------------------------------------------


def _log_tail(x: float) -> float:
    if x == -math.inf:
        return x
    if x < -1:
        return math.log(_scaled_error(-x / ROOT_2) / 2) - x * x / 2
    return math.log1p(-math.erfc(x / ROOT_2) / 2)


@elementwise(
    "SpecialLogNdtrBackward0", lambda _out, x: (ROOT_2 / ROOT_PI) / erfcx(x * (-1 / ROOT_2))
)
def log_ndtr(x: Value) -> Value:
    """The logarithm of the normal distribution's probability of at most x."""
    return _evaluate("log_ndtr", by_number(_log_tail), x)


@elementwise(
    "SpecialNdtriBackward0", lambda out, _x: ROOT_2 * ROOT_PI * np.exp(out * out / 2), strong=True
)
def ndtri(x: Value) -> Value:
    """The quantile of the normal distribution: the inverse of ndtr."""
    return _evaluate("ndtri", lambda p: ROOT_2 * inverse_of_erf(2 * p - 1), x)


# --- Entropies and products with logarithms -----------------------------------------------------


def _entropy_by_x(_out: Value, x: Value) -> Value:
    return np.where(x >= 0, -(np.log(x) + 1), np.asarray(np.nan, x.dtype))


@elementwise("SpecialEntrBackward0", _entropy_by_x, strong=True)
def entr(x: Value) -> Value:
    """-x log(x), 0 at 0, and minus infinity below."""
    inside = -x * np.log(np.where(x > 0, x, 1))
    return np.where(x >= 0, inside, np.where(np.isnan(x), x, -np.inf)).astype(x.dtype)


def _xlog1py_by_x(_out: Value, x: Value, y: Value) -> Value:
    return np.where((x == 0) & (y <= -1), np.zeros_like(y), np.log1p(y))


@elementwise("SpecialXlog1PyBackward0", _xlog1py_by_x, lambda _out, x, y: x / (y + 1), strong=True)
def xlog1py(x: Value, y: Value) -> Value:
    """x log(1 + y), and 0 where x is 0 unless y is NaN."""
    return np.where((x == 0) & ~np.isnan(y), np.zeros_like(x * y), x * np.log1p(y))


# --- Modified Bessel functions of the first kind ------------------------------------------------


def _i0e_by_x(out: Value, x: Value) -> Value:
    return i1e(x) - np.sign(x) * out


def _i1_by_x(out: Value, x: Value) -> Value:
    safe = np.where(x == 0, np.ones_like(x), x)
    return np.where(x == 0, np.full_like(x, 0.5), np.i0(safe) - out / safe)


def _i1e_by_x(out: Value, x: Value) -> Value:
    safe = np.where(x == 0, np.ones_like(x), x)
    return np.where(x == 0, np.full_like(x, 0.5), i0e(safe) - out * (np.sign(safe) + 1 / safe))


def _quadrature(order: int) -> Function:
    """The integral of exp(|x| (cos t - 1)) cos(order t), by the rule of trapezoids."""

    def call(x: Value) -> Value:
        flat = np.abs(np.ravel(x))
        count = 64 + 4 * int(np.sqrt(np.max(flat, initial=1, where=np.isfinite(flat))) + 1)
        angles = (np.arange(8 * count) + 0.5) * (math.pi / (8 * count))
        parts = np.exp(flat[:, None] * (np.cos(angles) - 1)) * np.cos(order * angles)
        made = np.mean(parts, -1).reshape(np.shape(x))
        return made * np.sign(x) if order else made

    return call


@elementwise("SpecialI0EBackward0", _i0e_by_x)
def i0e(x: Value) -> Value:
    """exp(-|x|) times the modified Bessel function of order 0."""
    return _evaluate("i0e", _quadrature(0), x)


@elementwise("SpecialI1EBackward0", _i1e_by_x)
def i1e(x: Value) -> Value:
    """exp(-|x|) times the modified Bessel function of order 1."""
    return _evaluate("i1e", _quadrature(1), x)


@elementwise("SpecialI1Backward0", _i1_by_x)
def i1(x: Value) -> Value:
    """The modified Bessel function of order 1."""
    return _evaluate("i1", lambda given: _quadrature(1)(given) * np.exp(np.abs(given)), x)
