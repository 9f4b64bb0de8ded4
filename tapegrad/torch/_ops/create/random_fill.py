"""Draws into a tensor's own memory: `uniform_`, `normal_` and their like.

Knows the distributions. Must not know where the numbers come from.

As in PyTorch, the gradient through such a write is 0 for what the tensor was computed from.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad.torch._dtypes import word_of
from tapegrad.torch._ops.create.fill import replaced
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
from tapegrad.torch._tensor.tensor import Tensor, plain_of
from tapegrad.torch._tensor.writes import write
from tapegrad.torch._types import Number, TensorLike


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
