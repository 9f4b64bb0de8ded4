"""Writes into all elements: `zero_`, `fill_`, and draws: `uniform_`, `normal_` and their like.

Knows how a write is logged, and the distributions. Must not know where the numbers come from.

As in PyTorch, the gradient through such a write is 0 for what the tensor was computed from.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._core.forms import General
from tapegrad._core.quiet import silence
from tapegrad._core.types import Value
from tapegrad._core.values import innermost, untraced
from tapegrad.torch._dtypes import word_of
from tapegrad.torch._graph.node import node_class
from tapegrad.torch._ops.create.generator import (
    Generator,
    bounds_of,
    draw_normal,
    draw_uniform,
    draw_whole,
    exact,
    source,
)
from tapegrad.torch._ops.declare import register
from tapegrad.torch._tensor.short_writes import is_held, store_number
from tapegrad.torch._tensor.tensor import Tensor, array_of, plain_of
from tapegrad.torch._tensor.writes import write
from tapegrad.torch._types import Number, TensorLike


def replaced(old: Value, new: Value) -> Value:
    """`new` in the shape of `old`. It stays on the graph of `old`, with a derivative of zero."""
    if innermost([old, new]) is None:
        return np.broadcast_to(new, old.shape)
    return _REPLACED.apply_bound([old, new], {})


def _replaced(old: Value, new: Value) -> Value:
    return np.broadcast_to(new, old.shape).copy()


# The old values get zeros without a history, as from PyTorch's fill.
_REPLACED = General(
    _replaced,
    vjp=[
        lambda _g, _out, old, _new: np.zeros(old.shape, old.dtype),
        lambda g, _out, _old, _new: g,
    ],
    batch="align",
    name="fill",
)
ZERO, FILL = node_class("ZeroBackward0"), node_class("FillBackward2")


@register()
def zero_(self: Tensor) -> Tensor:
    """Write zeros into this tensor."""
    if store_number(self, 0, _REPLACED, ZERO):
        return self
    return write(self, lambda old: replaced(old, np.zeros((), old.dtype)), "ZeroBackward0")


@register()
def fill_(self: Tensor, value: TensorLike) -> Tensor:
    """Write a number, or a tensor of no dimensions, into all elements of this tensor.

    value (number or Tensor): The number, or a tensor of no dimensions.
    """
    if not isinstance(value, Tensor):
        if is_held(value, self) and store_number(self, value, _REPLACED, FILL):
            return self
        given = filled_as(value, self._value.dtype)
        return write(self, lambda old: replaced(old, given), "FillBackward2")
    if value._value.shape:
        raise RuntimeError(
            "fill_ only supports 0-dimension value tensor but got tensor with "
            f"{value._value.ndim} dimensions."
        )
    array = array_of(value)

    def compute(old: Value) -> Value:
        new = np.real(array) if array.dtype.kind == "c" and old.dtype.kind != "c" else array
        return replaced(old, new.astype(old.dtype))

    return write(self, compute, "FillBackward3", [value])


# The names of dtypes in PyTorch's message, where they are others than NumPy's.
C_NAMES = {
    **{f"{sign}int{bits}": f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "int32": "int",
    "bfloat16": "c10::BFloat16",
    "float16": "c10::Half",
    "float32": "float",
    "float64": "double",
    "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
}


BRAIN_MAX = 2.0**127 * (2 - 2.0**-7)  # the greatest bfloat16


def _holds(given: np.dtype[Any], number: Any) -> bool:
    """Whether a number lies in the range of a dtype. Negative ones may wrap in unsigned dtypes."""
    kind = given.kind
    if kind == "V":  # bfloat16 reaches as far as float32, nearly
        return bool(not np.isfinite(number) or abs(number) <= BRAIN_MAX)
    if kind == "b":
        return True
    if issubclass(type(number), (complex, np.complexfloating)):
        part = np.zeros(0, given).real.dtype
        real, imag = number.real, number.imag
        return _holds(part, real) and (_holds(part, imag) if kind == "c" else not imag)
    if kind in "iu":
        most, least = np.iinfo(given).max, np.iinfo(given).min
        if kind == "u" and isinstance(number, (int, np.integer)):
            least = -most
        return bool(least <= number <= most)
    if kind not in "fc":
        return True
    largest = float(np.finfo(given).max)
    if isinstance(number, (int, np.integer)):
        return bool(-largest <= int(number) <= largest)
    return bool(not np.isfinite(number) or abs(number) <= largest)


def filled_as(value: Number, given: np.dtype[Any]) -> Value:
    """A Python number as an array of no dimensions; RuntimeError if the dtype cannot hold it."""
    number = untraced(value)
    if type(number) is int and not -(2**63) <= number < 2**64:
        raise OverflowError("int too big to convert")
    if not _holds(given, number):
        word = C_NAMES.get(given.name, given.name)
        raise RuntimeError(f"value cannot be converted to type {word} without overflow")
    if issubclass(type(number), complex) and given.kind not in "bc":
        number = number.real
    with silence():
        return np.asarray(number).astype(given)


def _into(self: Tensor, label: str, drawn: Value) -> Tensor:
    new = np.asarray(drawn).astype(self._value.dtype)
    return write(self, lambda old: replaced(old, new), label)


def _form(self: Tensor) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """The shape and the dtype of numbers to draw."""
    return self._value.shape, self._value.dtype


@register()
def uniform_(
    self: Tensor,
    from_: float = 0.0,
    to: float = 1.0,
    *,
    generator: Generator | None = None,
    **words: Any,
) -> Tensor:
    """Write uniform numbers from `from` to before `to`.

    from_: The lower bound, included.
    to: The upper bound, not included.
    **words: `from` by its name.
    """
    low = words.pop("from", from_)
    if words:
        raise TypeError(f"uniform_() got an unexpected keyword argument {next(iter(words))!r}")
    if low > to:
        raise RuntimeError(
            f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={to:g}"
        )
    drawn = low + (to - low) * draw_uniform(*_form(self), generator)
    return _into(self, "UniformBackward0", drawn)


def _require_scale(call: str, word: str, scale: float) -> None:
    if not scale > 0:
        raise RuntimeError(f"{call} expects {word} > 0.0, but found {word}={scale:g}")


@register()
def normal_(
    self: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Generator | None = None
) -> Tensor:
    """Write normal numbers.

    mean: The mean.
    std: The standard deviation.
    """
    if std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    return _into(self, "NormalBackward0", mean + std * draw_normal(*_form(self), generator))


@register()
def log_normal_(
    self: Tensor, mean: float = 1.0, std: float = 2.0, *, generator: Generator | None = None
) -> Tensor:
    """Write numbers whose logarithms are normal.

    mean: The mean of the logarithms.
    std: Their standard deviation.
    """
    _require_scale("log_normal_", "std", std)
    drawn = np.exp(mean + std * draw_normal(*_form(self), generator))
    return _into(self, "LogNormalBackward0", drawn)


def _require_continuous(self: Tensor, name: str) -> None:
    if self._value.dtype.kind not in "fV":
        raise RuntimeError(
            f"{name} distribution is a continuous probability distribution. dtype must be a "
            f"floating point but you specified {word_of(self._value.dtype)}"
        )


@register()
def exponential_(
    self: Tensor, lambd: float = 1.0, *, generator: Generator | None = None
) -> Tensor:
    """Write exponential numbers of rate `lambd`, which are never 0.

    lambd: The rate.
    """
    _require_continuous(self, "Exponential")
    if not lambd > 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")

    shape, given = _form(self)
    drawn = source(generator).standard_exponential(shape, exact(given))
    return _into(self, "ExponentialBackward0", np.maximum(drawn, np.finfo(given).tiny) / lambd)


@register()
def cauchy_(
    self: Tensor, median: float = 0.0, sigma: float = 1.0, *, generator: Generator | None = None
) -> Tensor:
    """Write Cauchy numbers.

    median: The median.
    sigma: The half width at half of the height.
    """
    _require_continuous(self, "Cauchy")
    _require_scale("cauchy_", "sigma", sigma)
    drawn = median + sigma * source(generator).standard_cauchy(self._value.shape)
    return _into(self, "CauchyBackward0", drawn)


@register()
def geometric_(self: Tensor, p: float, *, generator: Generator | None = None) -> Tensor:
    """Write geometric numbers: how many trials of probability `p` it takes to succeed.

    p: The probability of success.
    """
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    return _into(self, "GeometricBackward0", source(generator).geometric(p, self._value.shape))


@register()
def bernoulli_(self: Tensor, p: TensorLike = 0.5, *, generator: Generator | None = None) -> Tensor:
    """Write ones with the probability `p`, a number or a tensor, else zeros.

    p (float or Tensor): The probability of a one.
    """
    of_tensor = isinstance(p, Tensor)
    chance = plain_of(p) if of_tensor else p
    if not np.all((chance >= 0) & (chance <= 1)):
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={chance}")
    label = "BernoulliBackward1" if of_tensor else "BernoulliBackward2"
    return _into(self, label, source(generator).random(self._value.shape) < chance)


@register()
def random_(
    self: Tensor, *args: Any, generator: Generator | None = None, to: Number = None, **words: Any
) -> Tensor:
    """Write whole numbers: `random_(to)`, `random_(from, to)`, or all that the dtype holds.

    *args (int): `to`, or `from` and `to`.
    to (int): The upper bound, not included.
    **words: `from` by its name.
    """
    if len(args) == 2 and args[1] is None:
        args = args[0], _end_of(self._value.dtype)
    low, high, _ = (
        bounds_of("random_", args, words.pop("from", None), to, 0)
        if args or to is not None
        else (0, _end_of(self._value.dtype), ())
    )
    if words:
        raise TypeError(f"random_() got an unexpected keyword argument {next(iter(words))!r}")
    drawn = draw_whole(low, high, *_form(self), generator)
    return _into(self, f"RandomBackward{2 if not args else len(args) % 2}", drawn)


def _end_of(given: np.dtype[Any]) -> int:
    """The first whole number that a dtype does not hold exactly."""
    if given.kind == "b":
        return 2
    if given.kind in "iu":
        return int(np.iinfo(given).max) + (0 if given.itemsize == 8 else 1)
    return 2 ** (int(np.finfo(given).nmant) + 1) + 1
