"""Random tensors: of a shape, like another one, of a distribution whose parameters are tensors.

Knows the distributions. Must not know where the numbers come from, or how memory is written to.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._core.quiet import errstate
from tapegrad._core.types import Function, Value
from tapegrad._core.values import Traced, any_true, is_mapped
from tapegrad.torch import _dtypes
from tapegrad.torch._dims import mistyped
from tapegrad.torch._dtypes import require_kind, word_of
from tapegrad.torch._formats import arranged_like
from tapegrad.torch._graph.node import is_on_graph
from tapegrad.torch._ops.create.creation import LIKE, OF_SHAPE, creation, shape_of, sized, template
from tapegrad.torch._ops.create.generator import (
    Generator,
    bounds_of,
    draw_normal,
    draw_uniform,
    draw_whole,
    source,
)
from tapegrad.torch._ops.declare import deliver, operation, private, register
from tapegrad.torch._tensor.tensor import Tensor, of_value, plain_of
from tapegrad.torch._types import Device, DType, MemoryFormat, Number, Sizes, TensorLike

# --- New tensors --------------------------------------------------------------------------------


def _declare_draw(word: str, draw: Function, what: str) -> Function:
    """Declare `word`, of a shape, and `word_like`, of another tensor's; returns the first."""

    def of_shape(
        *sizes: Sizes,
        size: Sizes = None,
        generator: Generator | None = None,
        dtype: np.dtype[Any] | None,
    ) -> Value:
        shape = sized(word, sizes, size)
        return draw(shape, np.dtype(dtype or _dtypes.default_float()), generator)

    def as_another(
        input: Tensor, *, generator: Generator | None = None, dtype: np.dtype[Any] | None
    ) -> Value:
        array = template(f"{word}_like", input)
        drawn = draw(array.shape, np.dtype(dtype or array.dtype), generator)
        return arranged_like(drawn, array)

    of_shape.__doc__ = f"{what}: `{word}(2, 3)` or `{word}((2, 3))`.\n\n{OF_SHAPE}"
    as_another.__doc__ = f"{what}, in the shape and dtype of a tensor.\n\n{LIKE}"
    creation(as_another, f"{word}_like")
    return creation(of_shape, word)


rand = _declare_draw("rand", draw_uniform, "Uniform numbers from 0 to before 1")
randn = _declare_draw("randn", draw_normal, "Normal numbers of mean 0 and variance 1")


@creation
def randint(
    *args: Any,
    low: Number = None,
    high: Number = None,
    size: Sizes = None,
    generator: Generator | None = None,
    dtype: np.dtype[Any] | None,
) -> Value:
    """Whole numbers from low to before high: `randint(high, size)`, `randint(low, high, size)`.

    *args (int or sequence of ints): The bounds, or the upper one, and the shape.
    low (int): The lower bound, included; 0 unless given.
    high (int): The upper bound, not included.
    size (sequence of ints): The shape by its name.
    """
    low, high, rest = bounds_of("randint", args, low, high, 1 if size is None else 0)
    size = rest[0] if rest else size
    if not _dtypes.is_sizes(size):
        raise mistyped("randint", "size", 2, "tuple of ints", size)
    shape = shape_of("randint", (size,))
    return draw_whole(low, high, shape, np.dtype(dtype or np.int64), generator)


@creation
def randperm(n: int, *, generator: Generator | None = None, dtype: np.dtype[Any] | None) -> Value:
    """The whole numbers from 0 to before n, in a random order.

    n: How many numbers.
    """
    (count,) = shape_of("randperm", (n,))
    return source(generator).permutation(count).astype(dtype or np.int64)


@creation
def randint_like(
    input: Tensor,
    *args: Any,
    low: Number = None,
    high: Number = None,
    generator: Generator | None = None,
    dtype: np.dtype[Any] | None,
) -> Value:
    """Whole numbers from low to before high, in the shape and dtype of a tensor.

    input: The tensor whose shape and dtype it has.
    *args (int): The bounds, or the upper one.
    low (int): The lower bound, included; 0 unless given.
    high (int): The upper bound, not included.
    """
    array = template("randint_like", input)
    low, high, _ = bounds_of("randint_like", args, low, high, 0)
    drawn = draw_whole(low, high, array.shape, np.dtype(dtype or array.dtype), generator)
    return arranged_like(drawn, array)


# --- Distributions whose parameters are tensors -------------------------------------------------


def _label_of_normal(mean: TensorLike, std: TensorLike = 1.0, *_: Any, **__: Any) -> str:
    both = isinstance(mean, Tensor), isinstance(std, Tensor)
    return {(True, False): "NormalBackward1", (False, True): "NormalBackward2"}.get(
        both, "NormalBackward3"
    )


@private(_label_of_normal)
def _normal_of_tensors(mean: Value, std: Value, generator: Generator | None = None) -> Value:
    """Normal numbers with PyTorch's derivative, 0: it does not differentiate the draw."""
    first = mean if hasattr(mean, "dtype") else std
    if any_true(np.less(std, 0)):
        if hasattr(std, "dtype"):
            raise RuntimeError("normal expects all elements of std >= 0.0")
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
    try:
        shape = np.broadcast_shapes(np.shape(mean), np.shape(std))
    except ValueError as error:
        raise RuntimeError(f"normal(): {error}") from None
    given = np.dtype(first.dtype)
    noise = draw_normal(shape, given, generator)
    made = noise * _value(std) + _value(mean)
    return _constant(made.astype(given), mean, std)


def _value(array: Value) -> Value:
    """The value of a traced array; a batched one keeps its examples."""
    if isinstance(array, Traced):
        return _value(array._value)
    if is_mapped(array):
        return array.vmap_level.wrap(_value(array._value))
    return array


def _constant(made: Value, *parameters: Value) -> Value:
    """A draw as a function of its parameters, with derivatives of zero by them."""
    for parameter in parameters:
        if is_on_graph(parameter):
            made = np.where(True, made, np.broadcast_to(parameter, made.shape).astype(made.dtype))
    return made


@register(method=False)
def normal(
    mean: TensorLike = 0.0,
    std: TensorLike = 1.0,
    size: Sizes = None,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: DType = None,
    device: Device = None,
    layout: MemoryFormat = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Normal numbers of a mean and a standard deviation: numbers with a size, or tensors.

    mean (float or Tensor): The mean.
    std (float or Tensor): The standard deviation, not negative.
    size (sequence of ints): The shape, where both are numbers.
    """
    if _dtypes.require_cpu(device) and size is not None:
        return randn(size, dtype=dtype, device=device, requires_grad=requires_grad)
    _dtypes.require_strided("normal", layout)
    if isinstance(mean, Tensor) or isinstance(std, Tensor):
        if size is not None or dtype is not None or requires_grad:
            raise TypeError(
                "normal(): size, dtype and requires_grad are for a mean and a standard deviation "
                "that are numbers, got a tensor"
            )
        made = _normal_of_tensors(mean, std, generator)
        return made if out is None else deliver(out, made)
    if std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    if size is None:
        raise TypeError("normal(): expected size= where mean and std are numbers, got None")
    noise = randn(size, generator=generator, dtype=dtype)
    value = noise._value
    value *= std
    value += mean
    if out is not None:
        noise = deliver(out, noise)
    return noise.requires_grad_(requires_grad)


@operation("BernoulliBackward0")
def bernoulli(input: Value, p: Value = None, *, generator: Generator | None = None) -> Value:
    """Zeros and ones; each element (or `p`) is the probability of a one.

    input: The probabilities, of a floating dtype.
    p (float): One probability for all elements.
    -> Tensor: Zeros and ones, in the shape and dtype of `input`.
    """
    require_kind(input.dtype, "bernoulli_tensor_cpu_p_")
    chance = _value(input) if p is None else p
    if any_true(np.less(chance, 0) | np.greater(chance, 1) | np.isnan(chance)):
        raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.")
    drawn = source(generator).random(input.shape)
    return _constant(np.less(drawn, chance).astype(input.dtype), input)


@operation("PoissonBackward0", method=False)
def poisson(input: Value, generator: Generator | None = None) -> Value:
    """Poisson numbers; each element is the rate of one.

    input: The rates, not negative.
    -> Tensor: Whole numbers, in the shape and dtype of `input`.
    """
    require_kind(input.dtype, "poisson_cpu")
    rate = _value(input)
    if any_true(np.less(rate, 0)):
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    drawn = np.asarray(source(generator).poisson(np.asarray(rate, np.float64)))
    return _constant(drawn.astype(input.dtype), input)


@register()
def multinomial(
    input: Tensor,
    num_samples: int,
    replacement: bool = False,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Indices drawn with the probabilities in each row of `input`, which need not sum to 1.

    input: Weights (n,) or (rows, n), not negative.
    num_samples: How many indices are drawn from each row.
    -> Tensor: Indices (num_samples,) or (rows, num_samples), int64.
    """
    weights = plain_of(input)
    if weights.dtype.kind == "V":
        weights = weights.astype(np.float32)
    if weights.dtype.kind != "f":
        raise RuntimeError(
            "multinomial only supports floating-point dtypes for input, got: "
            f"{word_of(weights.dtype)}"
        )
    if weights.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and num_samples > weights.shape[-1]:
        raise RuntimeError(
            "cannot sample n_sample > prob_dist.size(-1) samples without replacement"
        )
    if not np.all(np.isfinite(weights)) or np.any(weights < 0):
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    rows = weights.reshape(-1, weights.shape[-1]).astype(np.float64)
    largest = rows.max(-1, keepdims=True, initial=0.0)
    if np.any(largest <= 0):
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    # Sums and waiting times of very large and very small weights would overflow.
    drawn = _choose(rows / largest, num_samples, replacement, source(generator))
    made = of_value(drawn.reshape(*weights.shape[:-1], num_samples))
    return made if out is None else deliver(out, made)


def _choose(rows: Value, count: int, replacement: bool, draws: np.random.Generator) -> Value:
    """Draw `count` indices for each row of weights."""
    if replacement:
        sums = rows.cumsum(-1)
        marks = draws.random((len(rows), count)) * sums[:, -1:]
        found = [
            np.searchsorted(ends, row, side="right") for ends, row in zip(sums, marks, strict=True)
        ]
        last = [np.flatnonzero(row)[-1] for row in rows]  # where rounding passes the end
        return np.minimum(np.array(found, np.int64), np.array(last, np.int64)[:, None])
    # Of exponential waiting times with the weights as rates, the shortest is a draw by weight; the
    # next one is a draw from the rest, and so on.
    with errstate(divide="ignore", over="ignore"):
        waits = draws.standard_exponential(rows.shape) / rows
    return np.argsort(waits, -1, kind="stable")[:, :count].astype(np.int64)
