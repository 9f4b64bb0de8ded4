"""Convolutions of arrays, and the rules that make them differentiable.

Knows the forms of rules. Must not know tensors or modules, nor how sums over windows are computed
(`correlation`).

Three maps take two arrays each, and each is a derivative of the others: `convolve` of x and
weight, `spread` of g and weight (the derivative by x, and the transposed convolution), and
`gather` of x and g (the derivative by the weight). So derivatives of every order are among them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._core.forms import General, Linear, Multilinear
from tapegrad._core.types import Cotangent, Function, Tangent, Value, Wanted
from tapegrad.torch._graph.names import name_nodes
from tapegrad.torch._rules.correlation import correlate, correlate_input, correlate_weight
from tapegrad.torch._rules.declare import Declared, ruled
from tapegrad.torch._rules.im2col import folded, unfolded
from tapegrad.torch._rules.kernels import Kernel, Sizes


class _Biased(General):
    """A product of two arrays plus a bias, which has one number a channel or is None."""

    def __init__(self, made: Declared, transposes: Sequence[Function], batch: Function) -> None:
        self.transposes = transposes
        super().__init__(
            made,
            vjp=[self._pull_x, self._pull_weight, self._pull_bias],
            jvp=self._push,
            name=made.__name__,
            batch=batch,
        )
        self.convolution = made

    def _pull_x(
        self, g: Cotangent, _out: Value, x: Value, weight: Value, _bias: Value = None, **way: Any
    ) -> Cotangent:
        return self.transposes[0](g, x, weight, **way)

    def _pull_weight(
        self, g: Cotangent, _out: Value, x: Value, weight: Value, _bias: Value = None, **way: Any
    ) -> Cotangent:
        return self.transposes[1](g, x, weight, **way)

    def _pull_bias(
        self, g: Cotangent, _out: Value, _x: Value, _weight: Value, _bias: Value, **_way: Any
    ) -> Cotangent:
        return np.sum(g, axis=(0, *range(2, len(g.shape))))

    def needs(self, wanted: Wanted) -> tuple[Sequence[bool], bool]:
        return [wanted[1], wanted[0], *[False] * (len(wanted) - 2)], False

    def _push(
        self,
        dots: Sequence[Tangent],
        _out: Value,
        x: Value,
        weight: Value,
        _bias: Value = None,
        **way: Any,
    ) -> Tangent:
        x_dot, weight_dot, bias_dot = (*dots, None)[:3]
        if x_dot is not None and weight_dot is None:
            return self.convolution(x_dot, weight, bias_dot, **way)
        if weight_dot is not None:
            total = self.convolution(x, weight_dot, bias_dot, **way)
            return total if x_dot is None else total + self.convolution(x_dot, weight, None, **way)
        return np.broadcast_to(_beside(bias_dot, _out), _out.shape)


def _beside(bias: Value, out: Value) -> Value:
    return np.reshape(bias, (-1, *(1,) * (len(out.shape) - 2)))


def _convolve(x: Value, weight: Value, bias: Value = None, *, kernel: Kernel) -> Value:
    """Sums over windows of x (n, c, *sizes), times weight (o, c / groups, *kernel), plus bias."""
    return correlate(x, weight, bias, kernel)


def _spread(g: Value, weight: Value, bias: Value = None, *, kernel: Kernel, sizes: Sizes) -> Value:
    """The transpose of `convolve` by x, of spatial sizes `sizes`: weight (o, c / groups, ...)."""
    return correlate_input(g, weight, bias, kernel, sizes)


def _gather(x: Value, g: Value, *, kernel: Kernel, widths: Sizes) -> Value:
    """The transpose of `convolve` by the weight, of kernel sizes `widths`."""
    return correlate_weight(x, g, kernel, widths)


# --- Many examples ------------------------------------------------------------------------------


def _is_shared(x: Value) -> bool:
    """Whether all examples are one array in memory."""
    return type(x) is np.ndarray and len(x) > 1 and x.strides[0] == 0


def _as_channels(x: Value) -> Value:
    """The axis of examples joined with the channels: (b, n, c, ...) -> (n, b * c, ...)."""
    moved = np.moveaxis(x, 0, 1)
    count, examples, channels, *sizes = moved.shape
    return np.reshape(moved, (count, examples * channels, *sizes))


def _from_channels(x: Value, count: int) -> Value:
    split = np.reshape(x, (x.shape[0], count, x.shape[1] // count, *x.shape[2:]))
    return np.moveaxis(split, 1, 0)


def _joined(x: Value) -> Value:
    """The first two axes as one."""
    return np.reshape(x, (x.shape[0] * x.shape[1], *x.shape[2:]))


def _of_examples(
    made: Declared, x: Value, weight: Value, bias: Value, kernel: Kernel, **rest: Any
) -> Value:
    count = x.shape[0]
    if _is_shared(weight):
        out = made(_joined(x), weight[0], None, kernel=kernel, **rest)
        out = np.reshape(out, (count, x.shape[1], *out.shape[1:]))
    else:
        grouped = kernel._replace(groups=kernel.groups * count)
        out = made(_as_channels(x), _joined(weight), None, kernel=grouped, **rest)
        out = _from_channels(out, count)
    if bias is None:
        return out
    spatial = (1,) * (len(out.shape) - 3)
    return out + np.reshape(bias, (bias.shape[0], 1, bias.shape[1], *spatial))


def _gather_examples(x: Value, g: Value, kernel: Kernel, widths: Sizes) -> Value:
    count = x.shape[0]
    grouped = kernel._replace(groups=kernel.groups * count)
    made = gather(_as_channels(x), _as_channels(g), kernel=grouped, widths=widths)
    return np.reshape(made, (count, made.shape[0] // count, *made.shape[1:]))


# --- The rules ----------------------------------------------------------------------------------

convolve = Declared(_convolve)
spread = Declared(_spread)
gather = Declared(_gather)

convolve.rule = _Biased(
    convolve,
    [
        lambda g, x, weight, kernel: spread(g, weight, None, kernel=kernel, sizes=x.shape[2:]),
        lambda g, x, weight, kernel: gather(x, g, kernel=kernel, widths=weight.shape[2:]),
    ],
    lambda x, weight, bias=None, **way: _of_examples(convolve, x, weight, bias, **way),
)
spread.rule = _Biased(
    spread,
    [
        lambda x, _g, weight, kernel, sizes: convolve(x, weight, None, kernel=kernel),
        lambda x, g, weight, kernel, sizes: gather(x, g, kernel=kernel, widths=weight.shape[2:]),
    ],
    lambda g, weight, bias=None, **way: _of_examples(spread, g, weight, bias, **way),
)
gather.rule = Multilinear(
    gather,
    [
        lambda weight, _out, x, g, kernel, widths: spread(
            g, weight, None, kernel=kernel, sizes=x.shape[2:]
        ),
        lambda weight, _out, x, _g, kernel, widths: convolve(x, weight, None, kernel=kernel),
    ],
    name="gather",
    batch=_gather_examples,
)
for _made in (convolve, spread, gather):
    name_nodes(_made.rule, "ConvolutionBackward0")

# --- Windows as arrays --------------------------------------------------------------------------


def _each(x: Value, call: Function) -> Value:
    """A function of each example of arrays (b, n, ...)."""
    out = call(_joined(x))
    return np.reshape(out, (*x.shape[:2], *out.shape[1:]))


def _pull_unfold(g: Cotangent, _out: Value, x: Value, **way: Any) -> Cotangent:
    return fold(g, shape=x.shape[1:], **way)


def _unfold_examples(x: Value, **way: Any) -> Value:
    return _each(x, lambda joined: unfold(joined, **way))


def _fold_examples(g: Value, **way: Any) -> Value:
    return _each(g, lambda joined: fold(joined, **way))


@ruled("Im2ColBackward0", Linear, [_pull_unfold], batch=_unfold_examples)
def unfold(x: Value, *, widths: Sizes, kernel: Kernel) -> Value:
    """The windows of x (n, channels, *sizes): (n, channels * elements of a window, places)."""
    return unfolded(x, widths, kernel)


@ruled(
    "Col2ImBackward0",
    Linear,
    [lambda g, _out, _x, shape, **way: unfold(g, **way)],
    batch=_fold_examples,
)
def fold(g: Value, *, shape: Sizes, widths: Sizes, kernel: Kernel) -> Value:
    """The transpose of `unfold`: each of n windows' elements added up to (channels, *sizes)."""
    return folded(g, shape, widths, kernel)


__all__ = ["Kernel", "Sizes", "convolve", "fold", "gather", "spread", "unfold"]
