"""The functions that `torch.special` has alone: Bessel functions, polynomials, statistics.

Knows PyTorch's parameters, and which of them PyTorch does not differentiate: their results are
constants. Must not know how values are computed (`_rules`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad._core.values import untraced
from tapegrad.torch._docstrings.sections import told
from tapegrad.torch._ops.declare import operation, private
from tapegrad.torch._ops.elementwise.arithmetic import floating, promoted
from tapegrad.torch._rules import distribution_tails as tails
from tapegrad.torch._rules import special
from tapegrad.torch._rules.declare import Declared, elementwise, refused
from tapegrad.torch._tensor.tensor import Tensor

# The functions by their names in `torch.special`.
FUNCTIONS: dict[str, Any] = {}


def _special(label: Any, word: str, compute: Callable[..., Any], doc: str, value: str) -> None:
    """Declare a function; value: what it gives at 0.25, or at 1.5 and 2.0."""
    two = compute.__code__.co_argcount == 2
    at = "torch.tensor(1.5), torch.tensor(2.0)" if two else "torch.tensor(0.25)"
    compute.__doc__ = told(doc, f"special.{word}({at})", f"tensor({value})")
    FUNCTIONS[word] = private(label, name=f"special_{word}")(compute)


# --- Differentiable functions of one variable ---------------------------------------------------


def _declare_single(function: Declared, label: str, doc: str, value: str) -> None:
    def compute(input: Value) -> Value:
        return function(floating(input))

    _special(f"Special{label}Backward0", function.__name__, compute, doc, value)


_FIRST = "The modified Bessel function of the first kind, of order 1."
_declare_single(tails.entr, "Entr", "`-x log(x)`, 0 at 0, and minus infinity below.", "0.3466")
_declare_single(tails.erfcx, "Erfcx", "`exp(x**2) erfc(x)`.", "0.7703")
_declare_single(tails.i0e, "I0E", "`exp(-|x|) i0(x)`.", "0.7910")
_declare_single(tails.i1, "I1", _FIRST, "0.1260")
_declare_single(tails.i1e, "I1E", "`exp(-|x|) i1(x)`.", "0.0981")
_declare_single(tails.log_ndtr, "LogNdtr", "The logarithm of ndtr(x).", "-0.5130")
_declare_single(tails.ndtri, "Ndtri", "The inverse of ndtr.", "-0.6745")


def _ndtr(input: Value) -> Value:
    x = floating(input)
    return 0.5 * special.erfc(x * (-1 / math.sqrt(2)))


_special(
    "MulBackward1", "ndtr", _ndtr, "The normal distribution's probability of at most x.", "0.5987"
)


def _numbered(word: str) -> Callable[..., str]:
    """The label of a function of two, by which of them is a number."""

    def label(input: Any, other: Any, **_: Any) -> str:
        if isinstance(input, Tensor):
            return f"{word}Backward{0 if isinstance(other, Tensor) else 2}"
        return f"{word}Backward1"

    return label


def _floats(input: Value, other: Value) -> list[Value]:
    return [
        floating(part if hasattr(part, "dtype") else np.asarray(part))
        for part in promoted(input, other)
    ]


def _declare_pair(function: Declared, label: str, doc: str, value: str) -> None:
    def compute(input: Value, other: Value) -> Value:
        return function(*_floats(input, other))

    _special(_numbered(f"Special{label}"), function.__name__, compute, doc, value)


def _zeta_by_q(_out: Value, x: Value, q: Value) -> Value:
    return -x * _zeta(x + 1, q)


@elementwise(
    "SpecialZetaBackward0", refused("the derivative for 'zeta' is not implemented."), _zeta_by_q
)
def _zeta(x: Value, q: Value) -> Value:
    return tails.needs_scipy("zeta", "zeta", x, q)


_ZETA = "The Hurwitz zeta function: the sum of (k + q) ** -x over k >= 0."
_declare_pair(tails.xlog1py, "Xlog1Py", "`x log(1 + y)`, and 0 where x is 0.", "1.6479")
_declare_pair(_zeta, "Zeta", _ZETA, "1.6124")


@operation("MvlgammaBackward0", inplace=True)
def mvlgamma(input: Value, p: int) -> Value:
    """The logarithm of the gamma function of dimension p; RuntimeError at most (p - 1) / 2.

    p: The dimension, at least 1.
    RuntimeError: If p is less than 1.
    """
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    x = floating(input)
    parts = np.expand_dims(x, -1) + np.arange((1 - p) / 2, 0.25, 0.5).astype(x.dtype)
    return np.sum(special.lgamma(parts), -1) + p * (p - 1) * math.log(math.pi) / 4


FUNCTIONS["multigammaln"] = mvlgamma


# --- Functions that PyTorch does not differentiate ----------------------------------------------


def _fixed(word: str, function: Callable[[Value], Value], doc: str, value: str) -> None:
    """A function of one variable whose result is a constant."""
    evaluate = elementwise("NotDifferentiable", 0)(function)

    def compute(input: Value) -> Value:
        return evaluate(floating(untraced(input)))

    _special("NotDifferentiable", word, compute, doc, value)


def _of_scipy(word: str, name: str) -> Callable[[Value], Value]:
    return lambda x: tails.needs_scipy(word, name, x)


def _airy(x: Value) -> Value:
    function = special.scipy_function("airy")
    if function is None:
        return tails.needs_scipy("airy_ai", "airy", x)
    return np.asarray(function(x)[0]).astype(x.dtype)


def _spherical(x: Value) -> Value:
    return np.where(np.isinf(x), np.zeros_like(x), np.sinc(x / math.pi)).astype(x.dtype)


_KINDS = "The {} function of the {} kind, of order {}."
_MODIFIED = _KINDS.replace("The", "The modified")
for _word, _name, _doc, _value in (
    ("bessel_j0", "j0", _KINDS.format("Bessel", "first", 0), "0.9844"),
    ("bessel_j1", "j1", _KINDS.format("Bessel", "first", 1), "0.1240"),
    ("bessel_y0", "y0", _KINDS.format("Bessel", "second", 0), "-0.9316"),
    ("bessel_y1", "y1", _KINDS.format("Bessel", "second", 1), "-2.7041"),
    ("modified_bessel_i0", "i0", _MODIFIED.format("Bessel", "first", 0), "1.0157"),
    ("modified_bessel_i1", "i1", _MODIFIED.format("Bessel", "first", 1), "0.1260"),
    ("modified_bessel_k0", "k0", _MODIFIED.format("Bessel", "second", 0), "1.5415"),
    ("modified_bessel_k1", "k1", _MODIFIED.format("Bessel", "second", 1), "3.7470"),
    ("scaled_modified_bessel_k0", "k0e", "`exp(x) modified_bessel_k0(x)`.", "1.9793"),
    ("scaled_modified_bessel_k1", "k1e", "`exp(x) modified_bessel_k1(x)`.", "4.8113"),
):
    _fixed(_word, _of_scipy(_word, _name), _doc, _value)
_fixed("airy_ai", _airy, "The Airy function Ai.", "0.2912")
_fixed("spherical_bessel_j0", _spherical, "`sin(x) / x`, and 1 at 0.", "0.9896")


# --- Polynomials --------------------------------------------------------------------------------

# By the name: the polynomial of degree 1, and the next one of those of degrees k and k - 1.
_RECURRENCES: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "chebyshev_polynomial_t": (lambda x: x, lambda x, p, q, k: 2 * x * p - q),
    "chebyshev_polynomial_u": (lambda x: 2 * x, lambda x, p, q, k: 2 * x * p - q),
    "chebyshev_polynomial_v": (lambda x: 2 * x - 1, lambda x, p, q, k: 2 * x * p - q),
    "chebyshev_polynomial_w": (lambda x: 2 * x + 1, lambda x, p, q, k: 2 * x * p - q),
    "hermite_polynomial_h": (lambda x: 2 * x, lambda x, p, q, k: 2 * x * p - 2 * k * q),
    "hermite_polynomial_he": (lambda x: x, lambda x, p, q, k: x * p - k * q),
    "laguerre_polynomial_l": (
        lambda x: 1 - x,
        lambda x, p, q, k: ((2 * k + 1 - x) * p - k * q) / (k + 1),
    ),
    "legendre_polynomial_p": (
        lambda x: x,
        lambda x, p, q, k: ((2 * k + 1) * x * p - k * q) / (k + 1),
    ),
}


def _polynomial(word: str) -> Callable[..., Any]:
    shifted = word.startswith("shifted_")
    first, following = _RECURRENCES[word.removeprefix("shifted_")]

    def compute(input: Value, n: Value) -> Value:
        x, degree = (np.asarray(part) for part in _floats(untraced(input), untraced(n)))
        kind = x.dtype
        x = 2 * x - 1 if shifted else x
        degree = np.trunc(degree)
        before, last = np.ones(np.shape(x + degree), kind), first(x) + 0 * degree
        found = np.where(degree == 0, before, np.where(degree == 1, last, 0 * before))
        for k in range(1, int(np.max(degree, initial=0))):
            before, last = last, following(x, last, before, k)
            found = np.where(degree == k + 1, last, found)
        return np.asarray(found, kind)

    return compute


# Those of degree 2 at 1.5.
_VALUES = "3.5000 8. 5. 11. 7. 1.2500 -0.8750 2.8750 7. 15. 11. 19."
for _word, _value in zip(
    (*_RECURRENCES, *(f"shifted_chebyshev_polynomial_{kind}" for kind in "tuvw")),
    _VALUES.split(),
    strict=True,
):
    _title = _word.replace("_polynomial_", " polynomial ").replace("_", " ").capitalize()
    _special("NotDifferentiable", _word, _polynomial(_word), f"{_title} of degree n.", _value)
