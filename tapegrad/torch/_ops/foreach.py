"""`torch._foreach_add` and its kind: one operation on each tensor of a list.

Knows the operations by name. Must not know what they compute: optimizers of other libraries call
these, and here each is a loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tapegrad.torch._ops.declare import OPERATIONS, register
from tapegrad.torch._ops.reduce.norms import vector_norm
from tapegrad.torch._tensor.tensor import Tensor

_ONE = (
    "abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 "
    "neg reciprocal round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc"
).split()
_TWO = "add clamp_max clamp_min div maximum minimum mul pow sub lerp addcdiv addcmul".split()
_ALONE = "clone max mm".split()  # without a form in place
_METHODS = {"maximum": "clamp_min", "minimum": "clamp_max"}


def _require(tensors: Sequence[Tensor]) -> None:
    if not tensors:
        raise RuntimeError("Tensor list must have at least one tensor.")


def _spread(count: int, given: Any) -> list[Any]:
    """An argument for each tensor: that of its place in a list, or the same for all."""
    if not isinstance(given, (list, tuple)):
        return [given] * count
    if len(given) == count:
        return list(given)
    if given and isinstance(given[0], Tensor):
        raise RuntimeError(
            f"Tensor lists must have the same number of tensors, got {count} and {len(given)}"
        )
    raise RuntimeError("Tensor list must have same number of elements as scalar list.")


def _each(
    tensors: Sequence[Tensor], args: Sequence[Any], words: dict[str, Any]
) -> Iterator[tuple[Tensor, tuple[list[Any], dict[str, Any]]]]:
    """Each tensor with its arguments."""
    lists = [_spread(len(tensors), given) for given in (*args, *words.values())]
    for x, *given in zip(tensors, *lists, strict=True):
        yield x, (given[: len(args)], dict(zip(words, given[len(args) :], strict=True)))


def _called(word: str, tensor: Any, args: Sequence[Any], words: dict[str, Any]) -> Any:
    """One operation; the bounds of maximum and minimum may be numbers."""
    base = word.rstrip("_")
    if base in _METHODS and not isinstance(args[0], Tensor):
        word = word.replace(base, _METHODS[base])
    elif base in ("clamp_max", "clamp_min") and isinstance(args[0], Tensor):
        word = word.replace(base, {"clamp_max": "minimum", "clamp_min": "maximum"}[base])
    if base in ("addcdiv", "addcmul") and len(args) > 2:
        args, words = args[:2], {**words, "value": args[2]}
    if word.endswith("_") and not hasattr(Tensor, word):
        return tensor.copy_(_called(base, tensor, args, words))
    call = OPERATIONS[word] if word in OPERATIONS else getattr(Tensor, word)
    return call(tensor, *args, **words)


def _declare(word: str) -> None:
    def call(self: Sequence[Tensor], *args: Any, **words: Any) -> tuple[Any, ...]:
        if not isinstance(self, (list, tuple)):  # _foreach_pow(2.0, tensors)
            _require(args[0])
            return tuple(OPERATIONS[word](self, exponent) for exponent in args[0])
        _require(self)
        return tuple(_called(word, x, *given) for x, given in _each(self, args, words))

    def write(self: Sequence[Tensor], *args: Any, **words: Any) -> Any:
        _require(self)
        for x, given in _each(self, args, words):
            _called(f"{word}_", x, *given)
        return self

    _name(call, f"_foreach_{word}", f"`{word}` of each tensor of a list.")
    if word in _ALONE:
        return
    _name(write, f"_foreach_{word}_", f"`{word}_` of each tensor of a list.")


def _name(call: Callable[..., Any], name: str, doc: str) -> None:
    call.__name__ = call.__qualname__ = name
    call.__doc__ = doc
    register(name, method=False)(call)


for _word in (*_ONE, *_TWO, *_ALONE):
    _declare(_word)


@register(method=False)
def _foreach_copy_(
    self: Sequence[Tensor], src: Sequence[Tensor], non_blocking: bool = False
) -> Any:
    """Each tensor of `src` written into the one of its place."""
    _require(self)
    for tensor, given in zip(self, _spread(len(self), src), strict=True):
        tensor.copy_(given)
    return self


@register(method=False)
def _foreach_zero_(self: Sequence[Tensor]) -> Any:
    """Zeros written into each tensor of a list."""
    _require(self)
    for tensor in self:
        tensor.zero_()
    return self


@register(method=False)
def _foreach_norm(self: Sequence[Tensor], ord: Any = 2, dtype: Any = None) -> tuple[Tensor, ...]:
    """The vector norm of each tensor of a list."""
    _require(self)
    return tuple(vector_norm(tensor, ord, dtype=dtype) for tensor in self)


@register(method=False)
def _foreach_powsum(self: Sequence[Tensor], ord: Any = 2, dtype: Any = None) -> tuple[Tensor, ...]:
    """The sum of powers of the absolute values of each tensor of a list."""
    _require(self)
    return tuple((tensor.abs() ** ord).sum(dtype=dtype) for tensor in self)
