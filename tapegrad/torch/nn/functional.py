"""`torch.nn.functional`: activations, losses, pooling and the like, as functions of tensors.

Knows the rules of losses and pooling. Must not know modules.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad._rule import of_all_examples, plain
from tapegrad._tape import spec_of
from tapegrad.torch._affine import linear
from tapegrad.torch._call import OPERATIONS, operation
from tapegrad.torch._dtypes import word_of
from tapegrad.torch._elementwise import _xlogy
from tapegrad.torch._graph import new, next_number, node_class
from tapegrad.torch._modes import MODE
from tapegrad.torch._pointwise import promoted
from tapegrad.torch._tensor import LEAF, Tensor, accumulator_of, ndarray, of_value
from tapegrad.torch.nn import _losses, _pooling
from tapegrad.torch.nn._losses import reduced

mode_of = MODE.get
Operation = Callable[..., Any]


def _private(label: Any, **options: Any) -> Callable[[Operation], Operation]:
    """An operation that is neither `torch.<name>` nor a method."""
    return operation(label, function=False, method=False, **options)


def _word_of(size_average: Any, reduce: Any, reduction: str) -> str:
    """The reduction, also from the old arguments for it."""
    if size_average is None and reduce is None:
        return reduction
    averaged = size_average is None or size_average
    summed = reduce is None or reduce
    word = "none" if not summed else "mean" if averaged else "sum"
    warnings.warn(
        f"size_average and reduce args will be deprecated, please use reduction='{word}' instead.",
        UserWarning,
        stacklevel=3,
    )
    return word


# --- Activations --------------------------------------------------------------------------------


def _activation(name: str) -> Operation:
    def call(input: Any, *args: Any, inplace: bool = False, **kwargs: Any) -> Any:
        found = OPERATIONS[f"{name}_" if inplace else name]
        return found(input, *args, **kwargs)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"`torch.{name}`; with inplace, written into its argument."
    return call


relu = _activation("relu")
tanh = _activation("tanh")
sigmoid = _activation("sigmoid")


def _along(word: str) -> Operation:
    def call(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
        if dim is None:
            dim = _implicit_dim(word, input.ndim)
        return OPERATIONS[word](input, dim, dtype=dtype)

    call.__name__ = call.__qualname__ = word
    call.__doc__ = f"{word} along a dimension."
    return call


def _implicit_dim(word: str, ndim: int) -> int:
    warnings.warn(
        f"Implicit dimension choice for {word} has been deprecated. Change the call to include "
        "dim=X as an argument.",
        UserWarning,
        stacklevel=4,
    )
    return 0 if ndim in (0, 1, 3) else 1


softmax = _along("softmax")
log_softmax = _along("log_softmax")


def softmin(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """`softmax(-input)`."""
    return softmax(-input, dim, dtype=dtype)


def __getattr__(name: str) -> Any:
    """Other activations are those of the namespace `torch`."""
    from tapegrad.torch import _activations

    found = OPERATIONS.get(name)
    if found is None:
        found = getattr(_activations, name, None)
    if found is None or name.startswith("_"):
        raise AttributeError(f"module 'tapegrad.torch.nn.functional' has no attribute {name!r}")
    return found


# --- Distances ----------------------------------------------------------------------------------


def _pair(rule: Any, input: Any, target: Any, word: str, reduction: str, **params: Any) -> Any:
    x, y = promoted(input, target)
    if x.shape != y.shape:
        try:
            shape = np.broadcast_shapes(x.shape, y.shape)
        except ValueError:
            raise _broadcast_error(x.shape, y.shape) from None
        warnings.warn(
            f"Using a target size (torch.Size({list(y.shape)})) that is different to the input "
            f"size (torch.Size({list(x.shape)})). This will likely lead to incorrect results due "
            "to broadcasting. Please ensure they have the same size.",
            UserWarning,
            stacklevel=5,
        )
        x, y = np.broadcast_to(x, shape), np.broadcast_to(y, shape)
    if x.dtype.kind not in "fc":
        raise RuntimeError(f'"{word}" not implemented for integers')
    return rule.apply(x, y, **params, **_reduction(reduction))


def _reduction(word: str) -> dict[str, str]:
    return {} if word == "mean" else {"reduction": word}


def _broadcast_error(x: Any, y: Any) -> RuntimeError:
    for axis in range(1, min(len(x), len(y)) + 1):
        if x[-axis] != y[-axis] and 1 not in (x[-axis], y[-axis]):
            break
    return RuntimeError(
        f"The size of tensor a ({x[-axis]}) must match the size of tensor b ({y[-axis]}) at "
        f"non-singleton dimension {max(len(x), len(y)) - axis}"
    )


@_private("MseLossBackward0", name="mse_loss")
def _mse(input: Any, target: Any, reduction: str, weight: Any = None) -> Any:
    if weight is None:
        return _pair(_losses.MSE, input, target, "mse", reduction)
    losses = _pair(_losses.MSE, input, target, "mse", "none") * weight
    return np.sum(losses) / np.sum(weight) if reduction == "mean" else reduced(losses, reduction)


MSE_NODE = node_class("MseLossBackward0")


def mse_loss(
    input: Any,
    target: Any,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    weight: Any = None,
) -> Any:
    """The mean of the squares of `input - target`; reduction: "mean", "sum" or "none".

    >>> import tapegrad.torch as torch
    >>> torch.nn.functional.mse_loss(torch.tensor([1.0, 2.0]), torch.tensor([0.0, 0.0]))
    tensor(2.5000)
    """
    x = input.value if type(input) is Tensor else None
    y = target.value if type(target) is Tensor else None
    if (
        reduction == "mean"
        and size_average is reduce is weight is None
        and type(x) is ndarray
        and type(y) is ndarray
        and x.dtype is y.dtype
        and x.shape == y.shape
        and x.dtype.kind == "f"
        and x.size
    ):
        mode = mode_of()
        if mode is None or not (mode.grad or mode.inference or mode.watchers):
            apart = np.subtract(x, y).ravel()
            out = np.asarray(apart.dot(apart) / x.dtype.type(x.size))
            if mode is None and (input.node is not None or target.node is not None):
                return _logged_pair(_losses.MSE, MSE_NODE, out, input, target)
            return of_value(out)
    return _mse(input, target, _word_of(size_average, reduce, reduction), weight)


def _logged_pair(rule: Any, kind: Any, out: Any, input: Any, target: Any) -> Tensor:
    """The mean loss of two tensors: the frequent case, whose entry is made here."""
    x_node, y_node = input.node, target.node
    if x_node is LEAF:
        x_node = accumulator_of(input)
    elif x_node is None:
        x_node = -1
    if y_node is LEAF:
        y_node = accumulator_of(target)
    elif y_node is None:
        y_node = -1
    result: Tensor = new(Tensor)
    result.value = out
    result.node = node = new(kind)
    node._number = next_number()
    node._entry = rule, spec_of(out), (input.value, target.value), {}, (x_node, y_node), None
    return result


_L1_LABELS = {"mean": "MeanBackward0", "sum": "SumBackward0", "none": "AbsBackward0"}


@_private(lambda input, target, reduction, *_: _L1_LABELS.get(reduction, "AbsBackward0"))
def _l1(input: Any, target: Any, reduction: str, weight: Any = None) -> Any:
    if np.iscomplexobj(plain(input)) or np.iscomplexobj(plain(target)):
        losses = np.absolute(input - target)  # whose slope is more than a sign
    elif weight is None:
        return _pair(_losses.L1, input, target, "l1", reduction)
    else:
        losses = _pair(_losses.L1, input, target, "l1", "none")
    if weight is None:
        return reduced(losses, reduction)
    losses = losses * weight
    return np.sum(losses) / np.sum(weight) if reduction == "mean" else reduced(losses, reduction)


def l1_loss(
    input: Any,
    target: Any,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    weight: Any = None,
) -> Any:
    """The mean of the absolute values of `input - target`."""
    return _l1(input, target, _word_of(size_average, reduce, reduction), weight)


@_private("SmoothL1LossBackward0")
def _smooth_l1(input: Any, target: Any, reduction: str, beta: float) -> Any:
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    return _pair(_losses.SMOOTH_L1, input, target, "smooth_l1", reduction, beta=beta)


def smooth_l1_loss(
    input: Any,
    target: Any,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Any:
    """Squares where the two differ by less than beta, else absolute values."""
    return _smooth_l1(input, target, _word_of(size_average, reduce, reduction), beta)


@_private("HuberLossBackward0")
def _huber(input: Any, target: Any, reduction: str, delta: float) -> Any:
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    return _pair(_losses.HUBER, input, target, "huber", reduction, delta=delta)


def huber_loss(
    input: Any, target: Any, reduction: str = "mean", delta: float = 1.0, weight: Any = None
) -> Any:
    """Squares where the two differ by at most delta, else delta times absolute values."""
    if weight is None:
        return _huber(input, target, reduction, delta)
    losses = _huber(input, target, "none", delta) * weight
    if reduction == "mean":
        return losses.sum() / weight.sum()
    return losses.sum() if reduction == "sum" else losses


# --- Probabilities ------------------------------------------------------------------------------


_KL_LABELS = {"mean": "MeanBackward0", "batchmean": "DivBackward0", "none": "SubBackward0"}


@_private(lambda _x, _y, word, _: _KL_LABELS.get(word, "SumBackward0"), name="kl_div")
def _kl(input: Any, target: Any, reduction: str, log_target: bool) -> Any:
    x, y = promoted(input, target)
    losses = np.exp(y) * (y - x) if log_target else _xlogy(y, y) - y * x
    if reduction == "batchmean":
        return np.sum(losses) / (x.shape[0] if x.shape else 1)
    return reduced(losses, reduction)


def kl_div(
    input: Any,
    target: Any,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Any:
    """The divergence of probabilities `target` from those whose logarithms are `input`."""
    word = _word_of(size_average, reduce, reduction)
    if word == "mean":
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size."
            "'batchmean' divides only by the batch size, and aligns with the KL div math "
            "definition.'mean' will be changed to behave the same as 'batchmean' in the next "
            "major release.",
            UserWarning,
            stacklevel=2,
        )
    return _kl(input, target, word, log_target)


@_private("BinaryCrossEntropyBackward0")
def _binary(input: Any, target: Any, weight: Any, reduction: str) -> Any:
    if input.shape != target.shape:
        raise ValueError(
            f"Using a target size (torch.Size({list(target.shape)})) that is different to the "
            f"input size (torch.Size({list(input.shape)})) is deprecated. Please ensure they have "
            "the same size."
        )
    if input.dtype != target.dtype:
        raise RuntimeError("Found dtype of target that differs from that of input")
    value = of_all_examples(input)
    if np.any((value < 0) | (value > 1)):
        raise RuntimeError("all elements of input should be between 0 and 1")
    if weight is None:
        return _losses.BINARY.apply(input, target, **_reduction(reduction))
    losses = _losses.BINARY.apply(input, target, reduction="none") * weight
    return reduced(losses, reduction)


def binary_cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    """The cross entropy of probabilities `input` with those of `target`, of one class each."""
    return _binary(input, target, weight, _word_of(size_average, reduce, reduction))


@_private("BinaryCrossEntropyWithLogitsBackward0")
def _with_logits(input: Any, target: Any, weight: Any, pos_weight: Any, reduction: str) -> Any:
    if input.shape != target.shape:
        raise ValueError(
            f"Target size (torch.Size({list(target.shape)})) must be the same as input size "
            f"(torch.Size({list(input.shape)}))"
        )
    x, y = promoted(input, target)
    params = {} if pos_weight is None else {"pos_weight": plain(pos_weight)}
    if weight is None:
        return _losses.WITH_LOGITS.apply(x, y, **params, **_reduction(reduction))
    losses = _losses.WITH_LOGITS.apply(x, y, reduction="none", **params) * weight
    return reduced(losses, reduction)


def binary_cross_entropy_with_logits(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    pos_weight: Any = None,
) -> Any:
    """`binary_cross_entropy` of `sigmoid(input)`, without its rounding."""
    word = _word_of(size_average, reduce, reduction)
    return _with_logits(input, target, weight, pos_weight, word)


# --- Classes ------------------------------------------------------------------------------------


def _nll_label(input: Any, _target: Any, _weight: Any, _ignored: int, reduction: str) -> str:
    if input.ndim <= 2:
        return "NllLossBackward0"
    return "ViewBackward0" if input.ndim != 4 and reduction == "none" else "NllLoss2DBackward0"


def _check_classes(x: Any, target: Any) -> None:
    if target.dtype.kind not in "iu":
        raise RuntimeError(
            f"expected target dtype to be Long or Byte, but got {word_of(target.dtype)}"
        )
    if len(x.shape) == 0:
        raise ValueError("Expected input to have at least 1 dimension")
    batch = x.shape[:1] if len(x.shape) > 1 else ()
    if len(x.shape) > 1 and target.shape[:1] != batch:
        given = target.shape[0] if target.shape else 0
        raise ValueError(
            f"Expected input batch_size ({x.shape[0]}) to match target batch_size ({given})."
        )
    if tuple(target.shape) != (*batch, *x.shape[2:]):
        raise RuntimeError(
            f"Expected target size {[*batch, *x.shape[2:]]}, got {list(target.shape)}"
        )


@_private(_nll_label, name="nll_loss")
def _nll(input: Any, target: Any, weight: Any, ignore_index: int, reduction: str) -> Any:
    _check_classes(input, target)
    return _nll_of_arrays(input, target, weight, ignore_index, reduction)


def _nll_of_arrays(x: Any, target: Any, weight: Any, ignore_index: int, reduction: str) -> Any:
    if len(x.shape) == 1:
        x, target = np.expand_dims(x, 0), np.expand_dims(target, 0)
        loss, _ = _losses.picked_losses(x, target, weight, reduction, ignore_index)
        return loss[0] if reduction == "none" else loss
    return _losses.picked_losses(x, target, weight, reduction, ignore_index)[0]


def nll_loss(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    """The mean of `-input` at the classes of `target`: input holds logarithms of probabilities.

    input: (n, classes, ...) or (classes). target: (n, ...) of integers. weight: a number a class.
    """
    word = _word_of(size_average, reduce, reduction)
    return _nll(input, target, weight, ignore_index, word)


def _cross_entropy_label(
    input: Any, target: Any, weight: Any, ignored: int, reduction: str, smoothing: float
) -> str:
    if target.is_floating_point():
        return "DivBackward1" if reduction == "mean" else "NegBackward0"
    return "AddBackward0" if smoothing else _nll_label(input, target, weight, ignored, reduction)


@_private(_cross_entropy_label, name="cross_entropy")
def _cross_entropy(
    input: Any,
    target: Any,
    weight: Any,
    ignore_index: int,
    reduction: str,
    label_smoothing: float,
) -> Any:
    axis = 1 if len(input.shape) > 1 else 0
    if target.dtype.kind == "f":
        return _soft_cross_entropy(input, target, weight, reduction, label_smoothing, axis)
    _check_classes(input, target)
    scores = _losses.log_probabilities(input, axis)
    if not label_smoothing:
        return _nll_of_arrays(scores, target, weight, ignore_index, reduction)
    if axis == 0:
        scores, target = np.expand_dims(scores, 0), np.expand_dims(target, 0)
    hard, counts = _losses.picked_losses(scores, target, weight, reduction, ignore_index)
    weighted = scores if weight is None else scores * _beside_classes(weight, scores, 1)
    valid = target != ignore_index
    even = -np.where(valid, np.sum(weighted, axis=1), 0)
    even = np.sum(even) / np.sum(counts) if reduction == "mean" else reduced(even, reduction)
    share = label_smoothing / scores.shape[1]
    made = (1 - label_smoothing) * hard + share * even
    return made[0] if axis == 0 and reduction == "none" else made


def _beside_classes(weight: Any, scores: Any, axis: int) -> Any:
    return np.reshape(weight, (-1, *(1,) * (len(scores.shape) - 1 - axis)))


def _soft_cross_entropy(
    x: Any, target: Any, weight: Any, reduction: str, label_smoothing: float, axis: int
) -> Any:
    if x.shape != target.shape:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if label_smoothing:
        target = target * (1 - label_smoothing) + label_smoothing / x.shape[axis]
    scores = _losses.log_probabilities(x, axis) * target
    if weight is not None:
        scores = scores * _beside_classes(weight, scores, axis)
    if reduction == "mean":
        return -np.sum(scores) / (math.prod(x.shape) / x.shape[axis])
    return -np.sum(scores, axis=axis) if reduction == "none" else -reduced(scores, reduction)


NLL_NODE = node_class("NllLossBackward0")


def cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """The cross entropy of logits with classes, or with probabilities of classes.

    input: (n, classes, ...) or (classes). target: (n, ...) of integers, or of the shape of input.
    weight: one number a class. ignore_index: a class that does not count. Returns the mean (each
    element by its weight), the sum, or the losses of shape (n, ...) with reduction="none".

    >>> import tapegrad.torch as torch
    >>> logits = torch.tensor([[2.0, 0.0], [0.0, 0.0]])
    >>> torch.nn.functional.cross_entropy(logits, torch.tensor([0, 1]))
    tensor(0.4100)
    """
    if type(input) is Tensor and type(target) is Tensor:
        made = _short_cross_entropy(
            input,
            target,
            weight is size_average is reduce is None
            and reduction == "mean"
            and ignore_index < 0
            and not label_smoothing,
        )
        if made is not None:
            return made
    word = _word_of(size_average, reduce, reduction)
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    return _cross_entropy(input, target, weight, ignore_index, word, label_smoothing)


def _short_cross_entropy(input: Any, target: Any, usual: bool) -> Tensor | None:
    """The mean over rows of logits, all of whose classes count; None for anything else."""
    x, classes = input.value, target.value
    if (
        not usual
        or type(x) is not ndarray
        or type(classes) is not ndarray
        or classes.dtype.char != "l"
        or x.ndim != 2
        or classes.ndim != 1
        or x.dtype.kind != "f"
        or len(x) != len(classes)
        or not x.size
    ):
        return None
    if np.maximum.reduce(classes.view(np.uint64)) >= x.shape[1]:  # negative ones are large there
        return None
    mode = mode_of()
    if mode is not None and (mode.grad or mode.inference or mode.watchers):
        return None
    losses, probabilities = _losses.class_losses(x, classes)
    out = np.asarray(np.add.reduce(losses) / x.dtype.type(len(x)))
    x_node = input.node
    if mode is not None or x_node is None:
        return of_value(out)
    if x_node is LEAF:
        x_node = accumulator_of(input)
    result: Tensor = new(Tensor)
    result.value = out
    result.node = node = new(NLL_NODE)
    node._number = next_number()
    kept = {"kept": probabilities}
    node._entry = _losses.CLASSES, spec_of(out), (x, classes), kept, (x_node, -1), None
    return result


# --- Pooling ------------------------------------------------------------------------------------


def _two(value: Any) -> tuple[int, int]:
    if isinstance(value, (tuple, list)):
        return (int(value[0]), int(value[-1]))
    return (int(value), int(value))


@_private("AvgPool2DBackward0")
def _avg_pool2d(
    input: Any,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Any:
    if len(input.shape) not in (3, 4):
        raise RuntimeError("non-empty 3D or 4D (batch mode) tensor expected for input")
    kernel, pads = _two(kernel_size), _two(padding)
    steps = kernel if stride is None or stride in ((), []) else _two(stride)
    if 0 in steps:
        raise RuntimeError("stride should not be zero")
    if any(2 * pad > side for pad, side in zip(pads, kernel, strict=True)):
        raise RuntimeError("pad should be at most half of effective kernel size")
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    rows, columns = (
        _pooling.windows_of(*along, ceil_mode)
        for along in zip(input.shape[-2:], kernel, steps, pads, strict=True)
    )
    if rows.number < 1 or columns.number < 1:
        raise RuntimeError(
            f"Given input size: ({'x'.join(map(str, input.shape[-3:]))}). Calculated output size: "
            f"({input.shape[-3]}x{rows.number}x{columns.number}). Output size is too small"
        )
    total = _pooling.sums(input, rows=rows, columns=columns)
    if divisor_override is not None:
        return total / divisor_override
    down = rows.extents(padded=count_include_pad)
    along = columns.extents(padded=count_include_pad)
    if np.ptp(down) == 0 == np.ptp(along):
        return total * (1 / float(down[0] * along[0]))
    return total / np.multiply.outer(down, along).astype(input.dtype)


def avg_pool2d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Any:
    """Means over windows of images (n, channels, height, width), or (channels, height, width).

    kernel_size, stride (as kernel_size unless given) and padding: an int or two. ceil_mode: the
    windows that reach beyond the edge count. count_include_pad: so do the zeros of the padding.
    """
    return _avg_pool2d(
        input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


# --- Shapes, noise, directions ------------------------------------------------------------------

_MODES: dict[str, Any] = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def _pad_label(_input: Any, pad: Any, mode: str, _value: Any) -> str:
    if mode == "constant":
        return "ConstantPadNdBackward0"
    if mode == "circular":
        return "CopySlices"
    word = {"reflect": "Reflection", "replicate": "Replication"}.get(mode, "Constant")
    return f"{word}Pad{len(pad) // 2}DBackward0"


@_private(_pad_label)
def _pad(input: Any, pad: Any, mode: str, value: Any) -> Any:
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pad) // 2 > len(input.shape):
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got "
            f"padding length {len(pad)} and input of dimension {len(input.shape)}"
        )
    if mode != "constant" and mode not in _MODES:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    pairs = [(int(pad[i]), int(pad[i + 1])) for i in range(0, len(pad), 2)][::-1]
    lead = len(input.shape) - len(pairs)
    cut = [slice(None)] * lead
    for (before, after), side in zip(pairs, input.shape[lead:], strict=True):
        if side + before + after < 0:
            raise RuntimeError(
                f"The input size {side}, plus negative padding {before} and {after} resulted in a "
                "negative output size"
            )
        cut.append(slice(max(0, -before), side - max(0, -after)))
    widths = [(0, 0)] * lead + [(max(0, a), max(0, b)) for a, b in pairs]
    cropped = input[tuple(cut)]
    if mode in _MODES:
        return np.pad(cropped, widths, _MODES[mode])
    return np.pad(cropped, widths, constant_values=0 if value is None else value)


def pad(input: Any, pad: Any, mode: str = "constant", value: Any = None) -> Any:
    """The tensor with elements before and after: of the last dimension first.

    mode: "constant" (`value`, else 0), "reflect", "replicate" or "circular". Negative widths crop.
    """
    return _pad(input, pad, mode, value)


@_private("NotDifferentiable")
def one_hot(tensor: Any, num_classes: int = -1) -> Any:
    """Rows that are 1 at the given classes, else 0: int64 of shape (..., num_classes)."""
    if tensor.dtype != np.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    value = of_all_examples(tensor)
    if value.size and value.min() < 0:
        raise RuntimeError("Class values must be non-negative.")
    if num_classes == -1:
        if not value.size:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        num_classes = int(value.max()) + 1
    elif value.size and value.max() >= num_classes:
        raise RuntimeError("Class values must be smaller than num_classes.")
    return (np.expand_dims(tensor, -1) == np.arange(num_classes)).astype(np.int64)


def _bounded_norm(x: Any, p: float, axis: int, eps: float) -> Any:
    length = np.linalg.norm(x, p, axis, keepdims=True)
    return np.where(plain(length) >= eps, length, np.asarray(eps, length.dtype))


@_private("DivBackward0")
def _normalize(input: Any, p: float, dim: Any, eps: float) -> Any:
    return input / _bounded_norm(input, p, dim, eps)


def normalize(
    input: Any, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Any = None
) -> Any:
    """The tensor over its p-norm along a dimension, which counts as at least eps."""
    made = _normalize(input, p, dim, eps)
    return made if out is None else out.copy_(made)


@operation("SumBackward1", method=False)
def cosine_similarity(x1: Any, x2: Any, dim: int = 1, eps: float = 1e-8) -> Any:
    """The cosines of the angles between vectors along a dimension."""
    x, y = promoted(x1, x2)
    return np.sum(
        (x / _bounded_norm(x, 2, dim, eps)) * (y / _bounded_norm(y, 2, dim, eps)), axis=dim
    )


def dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Each element 0 with probability p, else over 1 - p; the tensor itself if not training."""
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0:
        return input
    kept = OPERATIONS["rand_like"](input.detach()) >= p
    scale = kept.to(input.dtype) / (1 - p) if p < 1 else kept.to(input.dtype) * 0
    return input.mul_(scale) if inplace else input * scale


def bilinear(input1: Any, input2: Any, weight: Any, bias: Any = None) -> Any:
    """`input1 @ weight[k] @ input2` for every k, plus bias."""
    made = OPERATIONS["einsum"]("...i,kij,...j->...k", input1, weight, input2)
    return made if bias is None else made + bias


__all__ = ["linear"]
