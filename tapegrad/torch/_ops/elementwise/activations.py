"""Activations: relu and its variants, sigmoids, softmax; those of `torch` and of `nn.functional`.

Knows PyTorch's derivatives at kinks: 0 at those of relu, hardtanh and the shrink functions.

Those that `torch.nn.functional` has take `inplace=True`: they write into their argument.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad._core.entry import Spec
from tapegrad._core.fast.call_plans import Kernels
from tapegrad._core.types import Cotangent, Tangent, Value
from tapegrad._core.values import untraced
from tapegrad.rules.masks import selected
from tapegrad.torch._dims import along_one, shaped, wrapped
from tapegrad.torch._docstrings.sections import completed
from tapegrad.torch._dtypes import as_numpy, require_kind
from tapegrad.torch._graph import modes
from tapegrad.torch._graph.error_node import refuse_node
from tapegrad.torch._graph.node import node_class
from tapegrad.torch._ops.call_plans import planning
from tapegrad.torch._ops.declare import (
    OPERATIONS,
    Operation,
    add_inplace,
    as_arrays,
    operation,
    private,
    register,
)
from tapegrad.torch._ops.elementwise.activation_checks import (
    bounds_for,
    check_dtype,
    refusing,
    require_one_dtype,
)
from tapegrad.torch._ops.elementwise.arithmetic import (
    cast,
    floating,
    quotient,
    refuse_truth,
    tanh_of,
)
from tapegrad.torch._ops.elementwise.functions import sigmoid_of
from tapegrad.torch._ops.fast import quiet, short_single
from tapegrad.torch._rules import special
from tapegrad.torch._rules.blockwise import (
    clipped,
    in_parts,
    softplus_of,
    sums_along,
    sums_of_products,
)
from tapegrad.torch._rules.declare import Declared, elementwise, general, with_names
from tapegrad.torch._rules.generated import generated_kernels
from tapegrad.torch._rules.symbols import is_own
from tapegrad.torch._tensor.short_writes import store_result
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch._tensor.writes import write
from tapegrad.torch._types import Dim, DType, Number

Decorator = Callable[[Any], Operation]
NUMBERS = (float, int)


def activation(
    label: str,
    *,
    everywhere: bool = False,
    method: bool = False,
    inplace: bool = True,
    by_result: bool = False,
    order: str = "",
) -> Decorator:
    """Declare a function of nn.functional, of arrays or with a rule: `Declared`.

    everywhere: it is one of torch as well; method: of Tensor. by_result: in place, PyTorch's node
    differentiates by the result, and has a name of its own. order: as of `operation`.
    """
    within = label.replace("Backward0", "Backward1") if by_result else label

    def decorate(compute: Any) -> Operation:
        if isinstance(compute, Declared):
            compute = with_names(compute)
        word, compute = compute.__name__, refusing(compute)
        public = everywhere and not inplace
        own = operation(label, method=method, function=public, planned=True, order=order)(compute)
        if not inplace:
            return own
        made: Any = own
        call = planning(
            with_inplace(made.__wrapped__, compute, within), _apart(made.trace, compute)
        )
        if everywhere:
            add_inplace(word, quiet(compute), within, {}, method=method, operation=own)
            register(method=False)(call)
        return call

    return decorate


def _apart(trace: Operation, compute: Operation) -> Operation:
    """The trace of an activation that takes `inplace=` as well, and writes nowhere."""
    names = (*inspect.signature(compute).parameters, "inplace")

    def traced(*args: Any, **kwargs: Any) -> Any:
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        if given.pop("inplace", False):
            raise TypeError("a write is not planned")
        return trace(**given)

    return traced


# Functions whose derivative PyTorch computes from the result, which does not tell the sign of x
# where the slope below 0 is negative, and the parameter that has the slope.
_SLOPES = {"leaky_relu": "negative_slope", "elu": "alpha", "celu": "alpha"}
NEGATIVE = (
    "{}: its derivative in place is computed from the result, which does not tell the sign of the "
    "argument where the slope is negative. Please call the out-of-place version instead."
)


def with_inplace(call: Operation, compute: Operation, label: str) -> Operation:
    """An activation that also takes `inplace=`, as the last of its parameters."""
    signature = inspect.signature(compute)
    names = (*signature.parameters, "inplace")
    last = inspect.Parameter(
        "inplace", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=False, annotation="bool"
    )
    evaluate = quiet(compute)

    @functools.wraps(compute)
    def within(*args: Any, **kwargs: Any) -> Any:
        if len(args) < len(names) and "inplace" not in kwargs:
            return call(*args, **kwargs)
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        if not given.pop("inplace", False):
            return call(**given)
        tensor = given.pop("input")
        if not store_result(tensor, call, (), given, node_class(label)):
            arrays = {name: as_arrays(value) for name, value in given.items()}
            sources = [value for value in given.values() if isinstance(value, Tensor)]
            write(tensor, lambda array: evaluate(array, **arrays), label, sources)
        slope = given.get(_SLOPES.get(compute.__name__, ""), 0)
        if tensor.node is not None and modes.is_logging() and slope < 0:
            refuse_node(tensor.node, NEGATIVE.format(compute.__name__))
        return tensor

    within.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[*signature.parameters.values(), last]
    )
    within.__doc__ = completed(within)
    return within


@elementwise("ThresholdBackward0", 0, 0)
def _following(_like: Value, slopes: Value) -> Value:
    """Slopes that are piecewise constant in an argument: on its graph, with derivatives of 0."""
    return slopes


def _kept(condition: Value, like: Value) -> Value:
    """A condition or slopes, from untraced values, in the dtype and on the graph of `like`."""
    slopes = condition.astype(like.dtype, copy=False)
    return slopes if is_own(like) else _following(like, slopes)


# --- relu ---------------------------------------------------------------------------------------


@elementwise(
    "ReluBackward0", lambda out, _x: _kept(~(untraced(out) <= 0), out), strong=True, selects=True
)
def relu_of(x: Value) -> Value:
    """max(x, 0), with the slope 0 at 0."""
    return clipped(x, 0, np.inf)


@operation("ReluBackward0", inplace=True, planned=True)
def relu(input: Value) -> Value:
    """`max(x, 0)`; the gradient at 0 is 0."""
    check_dtype("relu", input)
    return relu_of(input)


relu = register(replaces=relu)(short_single(relu_of, "ReluBackward0", relu, warns=False))


@elementwise(
    "HardtanhBackward0",
    lambda _out, x, low, high: _kept(~((untraced(x) <= low) | (untraced(x) >= high)), x),
    0,
    0,
    strong=True,
    selects=True,
)
def _between(x: Value, low: Value, high: Value) -> Value:
    return clipped(x, low, high)


@activation("HardtanhBackward0")
def hardtanh(input: Value, min_val: float = -1.0, max_val: float = 1.0) -> Value:
    """`x` clamped to [min_val, max_val]; the gradient at the bounds is 0.

    The bounds of integers are integers. ValueError for bounds in the wrong order.

    min_val: The lower bound.
    max_val: The upper bound.
    """
    return _between(input, *bounds_for(input, min_val, max_val))


@activation("HardtanhBackward0")
def relu6(input: Value) -> Value:
    """`x` clamped to [0, 6]."""
    return _between(input, *bounds_for(input, 0, 6))


def _is_fraction(slope: Value) -> bool:
    """Whether x or x * slope is the larger one according to the sign of x."""
    return isinstance(slope, (int, float)) and 0 < slope <= 1


def _leaky_slopes(x: Value, slope: Value) -> Value:
    if _is_fraction(slope) and is_own(x):
        return clipped((x > 0).astype(x.dtype), slope, np.inf)
    return np.where(x > 0, 1, slope)


@elementwise(
    "LeakyReluBackward0", lambda _out, x, slope: _kept(_leaky_slopes(untraced(x), slope), x), 0
)
def _leaky(x: Value, slope: Value) -> Value:
    # Choosing element by element costs far more than the larger one of two.
    return np.maximum(x, x * slope) if _is_fraction(slope) else selected(x > 0, x, x * slope)


@activation("LeakyReluBackward0", by_result=True)
def leaky_relu(input: Value, negative_slope: float = 0.01) -> Value:
    """`x`, and `negative_slope * x` below 0.

    negative_slope: The slope below 0.
    """
    return _leaky(input, negative_slope)


@elementwise(
    "PreluKernelBackward0",
    lambda _out, x, weight: selected(untraced(x) > 0, 1, weight),
    lambda _out, x, _weight: selected(untraced(x) > 0, 0, x),
)
def _prelu(x: Value, weight: Value) -> Value:
    return selected(x > 0, x, weight * x)


@activation("PreluKernelBackward0", everywhere=True, method=True, inplace=False)
def prelu(input: Value, weight: Value) -> Value:
    """`x`, and `weight * x` below 0: one weight, or one a channel (dimension 1).

    weight: One slope, or a vector of one a channel.
    -> Tensor: A value for each element, in the shape of `input`.
    """
    require_one_dtype(input, weight, "prelu")
    if weight.size != 1:
        channels = input.shape[1] if input.ndim > 1 else 1
        if weight.ndim != 1 or weight.size != channels:
            raise RuntimeError(
                "Mismatch of parameter numbers and input channel size. Found parameter numbers = "
                f"{weight.size} and channel size = {channels}."
            )
        weight = np.reshape(weight, (-1, *(1,) * (input.ndim - 2)))
    elif weight.ndim != input.ndim:
        weight = np.reshape(weight, (1,) * input.ndim)
    return _prelu(input, weight)


@activation("ThresholdBackward0", everywhere=True, by_result=True)
@elementwise(
    "ThresholdBackward0",
    lambda _out, x, limit, _v: _kept(~(untraced(x) <= limit), x),
    0,
    0,
    strong=True,
    selects=True,
)
def threshold(input: Value, threshold: float, value: float) -> Value:
    """`x` above a threshold, else a value.

    threshold: The number that an element must exceed to be kept.
    value: The number in place of the others.
    """
    return selected(input <= threshold, np.asarray(value, input.dtype), input)


# --- exponential units --------------------------------------------------------------------------


@in_parts
def _elu_slopes(x: Value, alpha: Number, scale: Number, recording: Number) -> Value:
    """Of arrays; where x is NaN the slope is that of large numbers."""
    low = np.exp(np.fmin(x, 0) * recording) * (alpha * scale * recording)
    return low if alpha * scale * recording == scale else selected(x <= 0, low, scale)


def _elu_slope(_out: Value, x: Value, alpha: Number, scale: Number, recording: Number) -> Value:
    if is_own(x):
        return _elu_slopes(x, alpha, scale, recording)
    below = untraced(x) <= 0
    low = np.exp(np.where(below, x, 0) * recording) * (alpha * scale * recording)
    return np.where(below, low, scale)


@elementwise("EluBackward0", _elu_slope, 0, 0, 0)
@in_parts
def _elu(x: Value, alpha: Number, scale: Number, recording: Number) -> Value:
    low = np.expm1(clipped(x, -np.inf, 0) * recording) * (alpha * scale)
    return clipped(x, 0, np.inf) * scale + low


@activation("EluBackward0", by_result=True)
def elu(input: Value, alpha: float = 1.0) -> Value:
    """`x`, and `alpha * (e**x - 1)` below 0.

    alpha: How far down the result goes.
    """
    return _elu(input, alpha, 1.0, 1.0)


@activation("CeluBackward0", everywhere=True, by_result=True)
def celu(input: Value, alpha: float = 1.0) -> Value:
    """`x`, and `alpha * (e**(x / alpha) - 1)` below 0.

    alpha: How far down the result goes; not 0.
    """
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return _elu(input, alpha, 1.0, 1.0 / alpha)


# From Klambauer et al. (2017), "Self-normalizing neural networks": they keep mean 0, variance 1.
_SELU = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


@activation("EluBackward0", everywhere=True, by_result=True)
def selu(input: Value) -> Value:
    """`elu`, scaled so that it keeps mean 0 and variance 1."""
    return _elu(input, *_SELU, 1.0)


@private("RreluWithNoiseBackward0", planned=True)
def _leaky_by(input: Value, slope: Value) -> Value:
    return _leaky(input, slope)


@register(method=False)
def rrelu(
    input: Tensor,
    lower: float = 1 / 8,
    upper: float = 1 / 3,
    training: bool = False,
    inplace: bool = False,
) -> Tensor:
    """Leaky relu with slopes drawn between two numbers; without training their mean.

    lower: The least slope below 0.
    upper: The greatest slope below 0.
    training: Whether the slopes are drawn, one an element.
    RuntimeError: If `lower` is above `upper`, or one of the two is not finite.
    """
    check_dtype("leaky_relu", input._value)
    for word, bound in (("lower", lower), ("upper", upper)):
        if not math.isfinite(bound):
            raise RuntimeError(f"rrelu: {word} bound must be finite, got {bound:g}")
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    slope: Any = (lower + upper) / 2
    if training:
        slope = OPERATIONS["rand_like"](input.detach()) * (upper - lower) + lower
    if inplace:
        label = "RreluWithNoiseBackward1"
        return write(input, lambda array: _leaky(array, as_arrays(slope)), label)
    return _leaky_by(input, slope)


def _written(word: str, call: Operation) -> Operation:
    def within(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return call(input, *args, **kwargs, inplace=True)

    within.__name__ = within.__qualname__ = word
    within.__doc__ = f"""`{word[:-1]}`, written into its argument.

    *args: The other arguments of `{word[:-1]}`.
    **kwargs: The same by name.
    -> Tensor: The argument itself.
    """
    within.__doc__ = completed(within, word=word)
    return within


elu_ = _written("elu_", elu)
hardtanh_ = _written("hardtanh_", hardtanh)
leaky_relu_ = _written("leaky_relu_", leaky_relu)
rrelu_ = register(method=False)(_written("rrelu_", rrelu))


# --- smooth units -------------------------------------------------------------------------------

_ROOT_HALF, _DENSITY = math.sqrt(0.5), 1 / math.sqrt(2 * math.pi)
_HALF_BITS = -0.5 / math.log(2)
_ROOT, _CUBE = math.sqrt(2 / math.pi), 0.044715


def _gelu_slope(_out: Value, x: Value) -> Value:
    return (_gelu_slopes_of_singles if special.is_many_singles(x) else _gelu_slopes)(x)


@in_parts
def _gelu_slopes(x: Value) -> Value:
    return 0.5 * special.erfc(-_ROOT_HALF * x) + x * (_DENSITY * np.exp(-0.5 * x * x))


@in_parts
def _gelu_slopes_of_singles(x: Value) -> Value:
    share = 0.5 + 0.5 * special.erf_of_singles(x, _ROOT_HALF)
    return share + x * (_DENSITY * np.exp2(_HALF_BITS * (x * x)))  # twice as fast as np.exp


@in_parts
def _gelu_of_singles(x: Value) -> Value:
    return x * (0.5 + 0.5 * special.erf_of_singles(x, _ROOT_HALF))


@in_parts
def _gelu_of_any(x: Value) -> Value:
    return x * (0.5 * special.erfc(-_ROOT_HALF * x))


@elementwise("GeluBackward0", _gelu_slope)
def _gelu(x: Value) -> Value:
    return (_gelu_of_singles if special.is_many_singles(x) else _gelu_of_any)(x)


def _share_by_tanh(x: Value, square: Value) -> Value:
    """The share of x that the gelu by tanh is."""
    return 0.5 + 0.5 * np.tanh(x * (_ROOT + (_ROOT * _CUBE) * square))


@in_parts
def _gelu_tanh_slopes(x: Value) -> Value:
    square = x * x
    share = _share_by_tanh(x, square)
    return share + share * (1 - share) * (x * (2 * _ROOT + (6 * _ROOT * _CUBE) * square))


@elementwise("GeluBackward0", lambda _out, x: _gelu_tanh_slopes(x))
@in_parts
def _gelu_tanh(x: Value) -> Value:
    return x * _share_by_tanh(x, x * x)


@activation("GeluBackward0", inplace=False)
def gelu(input: Value, approximate: str = "none") -> Value:
    """`x` times the normal distribution function of x; "tanh": approximately.

    approximate: "none", or "tanh" for a formula without the error function.
    """
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    return _gelu(input) if approximate == "none" else _gelu_tanh(input)


@in_parts
def _silu_slopes(x: Value) -> Value:
    part = sigmoid_of(x)
    return part * (1 + x * (1 - part))


@activation("SiluBackward0")
@elementwise("SiluBackward0", lambda _out, x: _silu_slopes(x))
@in_parts
def silu(input: Value) -> Value:
    """`x * sigmoid(x)`."""
    return input / (1 + np.exp(-input))


@in_parts
def _softplus_slopes(x: Value, beta: Number, limit: Number) -> Value:
    part = sigmoid_of(x * beta)
    return part if _is_whole(x, beta, limit) else selected(untraced(x) * beta > limit, 1, part)


def _is_whole(x: Value, beta: Number, limit: Number) -> bool:
    """Whether softplus(x) is x itself beyond the limit anyway, and its slope 1."""
    return x.dtype.char == "f" and beta == 1 and limit >= 20


@activation("SoftplusBackward0", inplace=False)
@elementwise(
    "SoftplusBackward0", lambda _out, x, beta, limit: _softplus_slopes(x, beta, limit), 0, 0
)
@in_parts
def softplus(input: Value, beta: float = 1.0, threshold: float = 20.0) -> Value:
    """`log(1 + e**(beta x)) / beta`; x itself where beta x is above a threshold.

    beta: How sharp the bend is.
    threshold: Where `beta * x` is above it, the result is x.
    """
    made = softplus_of(input * beta) / beta
    if _is_whole(input, beta, threshold):
        return made
    return selected(input * beta > threshold, input, made)


@in_parts
def _mish_slopes(x: Value) -> Value:
    inner = np.tanh(softplus_of(x))
    return inner + x * sigmoid_of(x) * (1 - inner * inner)


@activation("MishBackward0")
@elementwise("MishBackward0", lambda _out, x: _mish_slopes(x))
@in_parts
def mish(input: Value) -> Value:
    """`x * tanh(softplus(x))`."""
    return input * np.tanh(softplus_of(input))


@activation("LogSigmoidBackward0", inplace=False, order="contiguous")
@elementwise("LogSigmoidBackward0", lambda _out, x: sigmoid_of(-x))
@in_parts
def logsigmoid(input: Value) -> Value:
    """`log(sigmoid(x))`, without overflow."""
    return -softplus_of(-input)


@activation("DivBackward0", inplace=False)
def softsign(input: Value) -> Value:
    """`x / (1 + |x|)`."""
    x = floating(input)
    return quotient(x, np.absolute(x) + 1)


@activation("SubBackward0", inplace=False)
def tanhshrink(input: Value) -> Value:
    """`x - tanh(x)`."""
    refuse_truth(input, 0.0)
    x = floating(input)
    return x - tanh_of(x)


# --- piecewise units ----------------------------------------------------------------------------


@activation("HardsigmoidBackward0")
@elementwise(
    "HardsigmoidBackward0",
    lambda _out, x: ((untraced(x) > -3) & (untraced(x) < 3)).astype(x.dtype) / 6,
    strong=True,
    selects=True,
)
def hardsigmoid(input: Value) -> Value:
    """`x / 6 + 1 / 2`, clamped to [0, 1]."""
    return clipped(input + 3, 0, 6) / 6


@in_parts
def _hardswish_slopes(x: Value) -> Value:
    middle = selected(untraced(x) < 3, x / 3 + 0.5, 1)
    return selected(untraced(x) <= -3, 0, middle)


@activation("HardswishBackward0")
@elementwise("HardswishBackward0", lambda _out, x: _hardswish_slopes(x), strong=True, selects=True)
def hardswish(input: Value) -> Value:
    """`x * hardsigmoid(x)`."""
    return input * clipped(input + 3, 0, 6) / 6


def _beyond(_out: Value, x: Value, limit: Number) -> Value:
    return _kept(~((untraced(x) >= -limit) & (untraced(x) <= limit)), x)


@elementwise("SoftshrinkBackward0", _beyond, 0, strong=True, selects=True)
def _softshrink(x: Value, limit: Number) -> Value:
    return clipped(x - limit, 0, np.inf) + clipped(x + limit, -np.inf, 0)


@activation("SoftshrinkBackward0", inplace=False)
def softshrink(input: Value, lambd: float = 0.5) -> Value:
    """`x` moved towards 0 by lambd; 0 where |x| is at most lambd."""
    if lambd < 0:
        raise RuntimeError(f"lambda must be greater or equal to 0, but found to be {lambd}.")
    return _softshrink(input, lambd)


@activation("HardshrinkBackward0", everywhere=True, method=True, inplace=False)
@elementwise("HardshrinkBackward0", _beyond, 0, strong=True, selects=True)
def hardshrink(input: Value, lambd: float = 0.5) -> Value:
    """`x`, but 0 where |x| is at most lambd."""
    return selected((input >= -lambd) & (input <= lambd), np.asarray(0, input.dtype), input)


@activation("GluBackward0", inplace=False)
def glu(input: Value, dim: int = -1) -> Value:
    """The first half along a dimension times the sigmoid of the second half.

    input: Floating numbers, of an even size along `dim`.
    dim: The dimension that is halved.
    -> Tensor: The products, of half the size along `dim`.
    """
    if not input.ndim:
        raise RuntimeError("glu does not support 0-dimensional tensors")
    axis = wrapped(dim, input.ndim)
    size = input.shape[axis]
    if size % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {axis} is size {size}")
    before = (slice(None),) * axis
    first, second = input[*before, : size // 2], input[*before, size // 2 :]
    return first * sigmoid_of(second)


# --- softmax ------------------------------------------------------------------------------------


def _softmax_vjp(g: Cotangent, out: Value, _x: Value, axis: int) -> Cotangent:
    return (g - sums_of_products(g, out, axis)) * out


def _softmax_jvp(dots: Tangent, out: Value, _x: Value, axis: int) -> Tangent:
    return _softmax_vjp(dots[0], out, _x, axis)  # its Jacobian is symmetric


@general("SoftmaxBackward0", _softmax_vjp, _softmax_jvp)
def softmax_of(x: Value, axis: int) -> Value:
    """exp(x) over its sum along an axis."""
    if not x.size:
        return np.copy(x)
    powers = np.exp(x - np.maximum.reduce(x, axis, keepdims=True))
    powers /= sums_along(powers, axis)
    return powers


def _log_softmax_kernels(
    specs: Any, out: Spec, wanted: tuple[bool, ...], axis: int
) -> Kernels | None:
    """Of large arrays the powers are kept: a fifth of 256 x 784, 2 % of 64 x 256."""
    (x,) = specs
    if x.size < _MANY or x is not out or x.dtype.char not in "fd":
        return generated_kernels(log_softmax_of.rule, specs, out, wanted, {"axis": axis})

    def keep(x: Value) -> Any:
        shifted = x - np.maximum.reduce(x, axis, keepdims=True)
        powers = np.exp(shifted)
        totals = sums_along(powers, axis)
        shifted -= np.log(totals)
        return shifted, (powers, totals)

    def pull(g: Cotangent, _out: Value, _x: Value, kept: Any) -> Any:
        powers, totals = kept
        bar = powers * (sums_along(g, axis) / totals)
        return (np.subtract(g, bar, bar),)

    return Kernels(None, pull, keep=keep)


_MANY = 1 << 16  # elements


def _log_softmax_vjp(g: Cotangent, out: Value, _x: Value, axis: int) -> Cotangent:
    return g - np.exp(out) * sums_along(g, axis)


def _log_softmax_jvp(dots: Tangent, out: Value, _x: Value, axis: int) -> Tangent:
    return dots[0] - np.sum(np.exp(out) * dots[0], axis, keepdims=True)


@general("LogSoftmaxBackward0", _log_softmax_vjp, _log_softmax_jvp, kernels=_log_softmax_kernels)
def log_softmax_of(x: Value, axis: int) -> Value:
    """x less the logarithm of the sum of exp(x) along an axis."""
    if not x.size:
        return np.copy(x)
    shifted = x - np.maximum.reduce(x, axis, keepdims=True)
    return shifted - np.log(sums_along(np.exp(shifted), axis))


def _declare_softmax(word: str, function: Declared, label: str, doc: str) -> None:
    def compute(input: Value, dim: Dim, dtype: DType = None) -> Value:
        array = input if dtype is None else cast(input, as_numpy(dtype))
        array, axis = along_one(array, dim)
        last = "lastdim_" if axis == len(array.shape) - 1 else ""
        require_kind(array.dtype, f"{word}_{last}kernel_impl")
        return shaped(function(array, axis=axis), input.shape)

    compute.__name__ = word
    compute.__doc__ = f"""{doc}

    dim (int): The dimension along which the exponentials are added.
    -> Tensor: A tensor in the shape of `input`.
    """
    operation(label, name=word, planned=True, order="contiguous")(compute)


_SOFTMAX = "`exp(x)` over its sum along a dimension."
_LOG_SOFTMAX = "`log(softmax(x))`, without overflow."
_declare_softmax("softmax", softmax_of, "SoftmaxBackward0", _SOFTMAX)
_declare_softmax("log_softmax", log_softmax_of, "LogSoftmaxBackward0", _LOG_SOFTMAX)
