"""Dropout and Gumbel softmax, which draw random numbers while a model is trained.

Knows the generator by the operations that use it. Must not know modules.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapegrad._warning import warn
from tapegrad.torch._graph.modes import MODE
from tapegrad.torch._ops.declare import OPERATIONS, register
from tapegrad.torch._tensor.tensor import Tensor, of_value
from tapegrad.torch.nn.contents import own_names


def _check_probability(p: float, error: type[Exception] = ValueError) -> None:
    if not 0 <= p <= 1:
        shown = p if error is ValueError else f"{p:g}"
        raise error(f"dropout probability has to be between 0 and 1, but got {shown}")


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Each element 0 with probability p, else divided by 1 - p.

    ValueError: For another `p`.

    >>> x = F.dropout(torch.ones(1000), 0.5)
    >>> sorted(set(x.tolist()))
    [0.0, 2.0]
    >>> F.dropout(torch.ones(2), 0.5, training=False)
    tensor([1., 1.])
    """
    _check_probability(p)
    return _dropped(input, p, training, inplace)


def _dropped(input: Tensor, p: float, training: bool, inplace: bool) -> Any:
    if not training or p == 0:
        return input
    drawn = OPERATIONS["rand_like"](input.detach())
    value = drawn._value
    if p < 1 and MODE.get() is None and type(value) is np.ndarray and value.dtype.char in "fd":
        scale = of_value((value >= p).astype(value.dtype) / (1 - p))
    else:
        kept = drawn >= p
        scale = kept.to(input.dtype) / (1 - p) if p < 1 else kept.to(input.dtype) * 0
    return input.mul_(scale) if inplace else input * scale


# --- Whole channels -----------------------------------------------------------------------------


def _draw_kept(input: Tensor, p: float) -> Tensor:
    """1 with probability 1 - p, else 0, for each channel: (n, channels, 1, ...)."""
    if input.ndim < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    shape = (*input.shape[:2], *(1,) * (input.ndim - 2))
    drawn = OPERATIONS["rand"](shape, dtype=input.dtype)
    kept: Tensor = (drawn >= p).to(input.dtype)
    return kept


def _channels_dropped(input: Tensor, p: float, training: bool, inplace: bool) -> Any:
    if not training or p == 0 or not input.numel():
        return input
    scale = _draw_kept(input, p) / (1 - p) if p < 1 else input.new_zeros(())
    return input.mul_(scale) if inplace else input * scale


def _of_one(input: Tensor, p: float, training: bool, inplace: bool) -> Any:
    """Channels dropped of an example that has no dimension of a batch."""
    if inplace:
        return _channels_dropped(input.unsqueeze_(0), p, training, True).squeeze_(0)
    return _channels_dropped(input.unsqueeze(0), p, training, False).squeeze(0)


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Each channel of signals 0 with probability p, else divided by 1 - p.

    input: Signals, (n, channels, length) or (channels, length).
    ValueError: For another `p`.
    RuntimeError: For a tensor of other dimensions.

    >>> x = F.dropout1d(torch.ones(8, 3, 5))
    >>> (x == x[..., :1]).all().item()
    True
    """
    _check_probability(p)
    if input.ndim not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {input.ndim}D input. Note that "
            "dropout1d exists to provide channel-wise dropout on inputs with 1 spatial dimension, "
            "a channel dimension, and an optional batch dimension (i.e. 2D or 3D inputs)."
        )
    return (_channels_dropped if input.ndim == 3 else _of_one)(input, p, training, inplace)


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Each channel of images 0 with probability p, else divided by 1 - p.

    input: Images, (n, channels, height, width). Of three dimensions the second has the channels,
        with a warning.
    ValueError: For another `p`.
    RuntimeError: For less than two dimensions.

    >>> x = F.dropout2d(torch.ones(8, 3, 5, 5))
    >>> (x == x[..., :1, :1]).all().item()
    True
    """
    _check_probability(p)
    _warn_of_dimensions(input.ndim, 2)
    if input.ndim == 3:
        warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D "
            "dropout behavior is desired - input is interpreted as shape (N, C, L), where C is "
            "the channel dim. This behavior will change in a future release to interpret the "
            "input as one without a batch dimension, i.e. shape (C, H, W). To maintain the 1D "
            "channel-wise dropout behavior, please switch to using dropout1d instead."
        )
    return _channels_dropped(input, p, training, inplace)


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Each channel of volumes 0 with probability p, else divided by 1 - p.

    input: Volumes, (n, channels, depth, height, width) or without n. Others warn.
    ValueError: For another `p`.

    >>> x = F.dropout3d(torch.ones(8, 3, 2, 2, 2))
    >>> (x == x[..., :1, :1, :1]).all().item()
    True
    """
    _check_probability(p)
    _warn_of_dimensions(input.ndim, 3)
    return (_channels_dropped if input.ndim == 5 else _of_one)(input, p, training, inplace)


def _warn_of_dimensions(given: int, spatial: int) -> None:
    if given not in (spatial + 1, spatial + 2):
        word = f"dropout{spatial}d"
        warn(
            f"{word}: Received a {given}-D input to {word}, which is deprecated and will result "
            "in an error in a future release. To retain the behavior and silence this warning, "
            f"please use dropout instead. Note that {word} exists to provide channel-wise dropout "
            f"on inputs with {spatial} spatial dimensions, a channel dimension, and an optional "
            f"batch dimension (i.e. {spatial + 1}D or {spatial + 2}D inputs)."
        )


# --- Mean and variance kept ---------------------------------------------------------------------

# What selu tends to, far below 0: -1 times its alpha times its scale.
_LOWEST = 1.7580993408473766


def _set_to_lowest(input: Tensor, p: float, training: bool, inplace: bool, whole: bool) -> Any:
    """Elements (or whole channels) set to selu's lowest value; an affine map keeps the moments."""
    if not training or p == 0 or not input.numel():
        return input
    if p == 1:
        zero = input.new_zeros(())
        return input.mul_(zero) if inplace else input * zero
    if whole:
        kept = _draw_kept(input, p)
    else:
        kept = (OPERATIONS["rand_like"](input.detach()) >= p).to(input.dtype)
    scale = 1 / math.sqrt((_LOWEST**2 * p + 1) * (1 - p))
    shift = (kept - 1) * (_LOWEST * scale) + _LOWEST * scale * p
    return (input.mul_(kept * scale) if inplace else input * (kept * scale)).add_(shift)


def alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Any:
    """Dropout that keeps mean 0 and variance 1, for networks with selu.

    Each element is set, with probability p, to the value that selu tends to far below 0; then all
    are scaled and shifted.

    ValueError: For another `p`.
    Notes: G. Klambauer and others, Self-normalizing neural networks (2017).

    >>> x = F.alpha_dropout(torch.zeros(1000), 0.5, training=True)
    >>> len(set(x.tolist()))
    2
    """
    _check_probability(p)
    return _set_to_lowest(input, p, training, inplace, False)


def feature_alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Any:
    """As `alpha_dropout`, of whole channels.

    input: Of shape (n, channels, ...).
    ValueError: For another `p`.
    RuntimeError: For less than two dimensions.

    >>> x = F.feature_alpha_dropout(torch.zeros(8, 3, 5), training=True)
    >>> (x == x[..., :1]).all().item()
    True
    """
    _check_probability(p)
    return _set_to_lowest(input, p, training, inplace, True)


# --- The names in `torch` -----------------------------------------------------------------------


_HOW = {
    "dropout": "Each element 0 with probability p, else divided by 1 - p.",
    "feature_dropout": "Each channel 0 with probability p, else divided by 1 - p.",
    "alpha_dropout": "Dropout that keeps mean 0 and variance 1: `nn.functional.alpha_dropout`.",
    "feature_alpha_dropout": "As `alpha_dropout`, of whole channels.",
}
_OF_TORCH = """\
{how}

input: Of any shape, or for features (n, channels, ...).
p: The probability of being dropped, between 0 and 1.
train: Whether a model is trained; where it is not, the input is returned as it is.
-> Tensor: Of the shape of `input`.
RuntimeError: For another `p`.

>>> torch.{word}(torch.ones(1, 2), 0.5, False)
tensor([[1., 1.]])
"""


def _in_namespace(word: str, call: Any, *, whole: bool | None = None) -> None:
    """`torch.<word>(input, p, train)` and, with an underscore, in place."""

    def of(input: Tensor, p: float, train: bool) -> Any:
        _check_probability(p, RuntimeError)
        rest = () if whole is None else (whole,)
        return call(input, p, train, False, *rest)

    def within(input: Tensor, p: float, train: bool) -> Any:
        _check_probability(p, RuntimeError)
        rest = () if whole is None else (whole,)
        return call(input, p, train, True, *rest)

    for end, made in (("", of), ("_", within)):
        made.__name__ = made.__qualname__ = f"{word}{end}"
        how = f"`{word}`, written into its argument." if end else _HOW[word]
        made.__doc__ = _OF_TORCH.format(how=how, word=f"{word}{end}")
        register(method=False)(made)


_in_namespace("dropout", _dropped)
_in_namespace("feature_dropout", _channels_dropped)
_in_namespace("alpha_dropout", _set_to_lowest, whole=False)
_in_namespace("feature_alpha_dropout", _set_to_lowest, whole=True)


# --- Gumbel softmax -----------------------------------------------------------------------------


def gumbel_softmax(
    logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Any:
    """Softmax of logits plus Gumbel noise: a relaxed draw of a class along a dimension.

    logits: Logarithms of unnormalized probabilities.
    tau: The temperature.
    hard: Draw one class of each, with the derivative of the relaxed draw.
    eps: Without effect; another value warns.
    dim: The dimension of the classes.
    -> Tensor: Of the shape of `logits`; the sums along `dim` are 1.
    Notes: E. Jang and others, Categorical reparameterization with Gumbel-softmax (2017), equation
        2.

    >>> F.gumbel_softmax(torch.zeros(4, 3), hard=True).sum(-1)
    tensor([1., 1., 1., 1.])
    """
    if eps != 1e-10:
        warn("`eps` parameter is deprecated and has no effect.")
    noise = -OPERATIONS["empty_like"](logits.detach()).exponential_().log()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    drawn = soft.detach().argmax(dim, keepdim=True)
    picked = OPERATIONS["zeros_like"](logits.detach()).scatter_(dim, drawn, 1.0)
    return picked - soft.detach() + soft


__all__ = list(own_names(__name__))
