"""The namespace `torch.nn.functional`.

Written by docs/torch_stubs.py from what is there at run time: change that, not this.
"""

from builtins import bool as _bool, bytes as _bytes, complex as _complex, float as _float
from builtins import int as _int, str as _str, type as _type
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, Any, Literal, NamedTuple, NoReturn, Self, TypeAlias, overload
import os

import numpy as np

from tapegrad.torch import return_types
from tapegrad.torch._dtypes import Size
from tapegrad.torch._dtypes import device as _device, dtype as _dtype
from tapegrad.torch._ops.create.generator import Generator
from tapegrad.torch._tensor.tensor import Tensor

# A number of Python, what stands for a tensor beside one, and integers one a dimension.
_Number: TypeAlias = _int | _float | _bool | _complex
_Operand: TypeAlias = Tensor | _Number | np.ndarray[Any, Any] | np.generic
_Sizes: TypeAlias = _int | Sequence[_int]
_Device: TypeAlias = _device | _str | _int

def adaptive_avg_pool1d(input: Tensor, output_size: _Sizes) -> Tensor:
    """Means over windows of signals, such that the result has the size `output_size`."""
def adaptive_avg_pool2d(input: Tensor, output_size: _Sizes) -> Tensor:
    """Means over windows of images, such that the result has the size `output_size`."""
def adaptive_avg_pool3d(input: Tensor, output_size: _Sizes) -> Tensor:
    """Means over windows of volumes, such that the result has the size `output_size`."""
@overload
def adaptive_max_pool1d(
    input: Tensor, output_size: Any, return_indices: Literal[False] = False
) -> Tensor: ...
@overload
def adaptive_max_pool1d(
    input: Tensor, output_size: Any, *, return_indices: Literal[True]
) -> tuple[Tensor, Tensor]:
    """Maxima over windows of signals, such that the result has the size `output_size`."""
def adaptive_max_pool1d_with_indices(
    input: Tensor, output_size: _Sizes, return_indices: _bool = True
) -> tuple[Tensor, Tensor]:
    """Maxima over windows of signals, such that there are `output_size`, and where they are."""
@overload
def adaptive_max_pool2d(
    input: Tensor, output_size: Any, return_indices: Literal[False] = False
) -> Tensor: ...
@overload
def adaptive_max_pool2d(
    input: Tensor, output_size: Any, *, return_indices: Literal[True]
) -> tuple[Tensor, Tensor]:
    """Maxima over windows of images, such that the result has the size `output_size`."""
def adaptive_max_pool2d_with_indices(
    input: Tensor, output_size: _Sizes, return_indices: _bool = True
) -> tuple[Tensor, Tensor]:
    """Maxima over windows of images, such that there are `output_size`, and where they are."""
@overload
def adaptive_max_pool3d(
    input: Tensor, output_size: Any, return_indices: Literal[False] = False
) -> Tensor: ...
@overload
def adaptive_max_pool3d(
    input: Tensor, output_size: Any, *, return_indices: Literal[True]
) -> tuple[Tensor, Tensor]:
    """Maxima over windows of volumes, such that the result has the size `output_size`."""
def adaptive_max_pool3d_with_indices(
    input: Tensor, output_size: _Sizes, return_indices: _bool = True
) -> tuple[Tensor, Tensor]:
    """Maxima over windows of volumes, such that there are `output_size`, and where they are."""
def affine_grid(
    theta: Tensor, size: Sequence[_int], align_corners: _bool | None = None
) -> Tensor:
    """A grid of the places that an affine map takes from, for `grid_sample`."""
def alpha_dropout(
    input: Tensor, p: _float = 0.5, training: _bool = False, inplace: _bool = False
) -> Tensor:
    """Dropout that keeps mean 0 and variance 1, for networks with selu."""
def avg_pool1d(
    input: Tensor,
    kernel_size: _Sizes,
    stride: _Sizes | None = None,
    padding: _Sizes | _str = 0,
    ceil_mode: _bool = False,
    count_include_pad: _bool = True,
) -> Tensor:
    """Means over windows of signals."""
def avg_pool2d(
    input: Tensor,
    kernel_size: _Sizes,
    stride: _Sizes | None = None,
    padding: _Sizes | _str = 0,
    ceil_mode: _bool = False,
    count_include_pad: _bool = True,
    divisor_override: _int | None = None,
) -> Tensor:
    """Means over windows of images."""
def avg_pool3d(
    input: Tensor,
    kernel_size: _Sizes,
    stride: _Sizes | None = None,
    padding: _Sizes | _str = 0,
    ceil_mode: _bool = False,
    count_include_pad: _bool = True,
    divisor_override: _int | None = None,
) -> Tensor:
    """Means over windows of volumes."""
def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: _bool = False,
    momentum: _float | None = 0.1,
    eps: _float = 1e-05,
) -> Tensor:
    """Each channel with mean 0 and variance 1 over the batch, times weight plus bias."""
def bilinear(
    input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None
) -> Tensor:
    """Products `input1 @ weight[k] @ input2` for every k, plus `bias`."""
def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: _bool | None = None,
    reduce: _bool | None = None,
    reduction: _str = 'mean',
) -> Tensor:
    """The binary cross entropy of probabilities with `target`."""
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: _bool | None = None,
    reduce: _bool | None = None,
    reduction: _str = 'mean',
    pos_weight: Tensor | None = None,
) -> Tensor:
    """As `binary_cross_entropy` of `sigmoid(input)`, without the rounding of sigmoid."""
def celu(input: Tensor, alpha: _float = 1.0, inplace: _bool = False) -> Tensor:
    """`x`, and `alpha * (e**(x / alpha) - 1)` below 0."""
def celu_(input: Tensor, alpha: _float = 1.0) -> Tensor:
    """`celu`, written into this tensor's own memory."""
def channel_shuffle(input: Tensor, groups: _int, *, out: Tensor | None = None) -> Tensor:
    """Channels in another order: the first of each group, then the second ones."""
def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _Sizes = 1,
    padding: _Sizes | _str = 0,
    dilation: _Sizes = 1,
    groups: _int = 1,
) -> Tensor:
    """Convolution of signals (cross-correlation): weighted sums over windows."""
def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _Sizes = 1,
    padding: _Sizes | _str = 0,
    dilation: _Sizes = 1,
    groups: _int = 1,
) -> Tensor:
    """Convolution of images (cross-correlation): weighted sums over windows."""
def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _Sizes = 1,
    padding: _Sizes | _str = 0,
    dilation: _Sizes = 1,
    groups: _int = 1,
) -> Tensor:
    """Convolution of volumes (cross-correlation): weighted sums over windows."""
def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _Sizes = 1,
    padding: _Sizes | _str = 0,
    output_padding: _Sizes = 0,
    groups: _int = 1,
    dilation: _Sizes = 1,
) -> Tensor:
    """Transposed convolution of signals: the derivative of `conv1d` by its input."""
def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _Sizes = 1,
    padding: _Sizes | _str = 0,
    output_padding: _Sizes = 0,
    groups: _int = 1,
    dilation: _Sizes = 1,
) -> Tensor:
    """Transposed convolution of images: the derivative of `conv2d` by its input."""
def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _Sizes = 1,
    padding: _Sizes | _str = 0,
    output_padding: _Sizes = 0,
    groups: _int = 1,
    dilation: _Sizes = 1,
) -> Tensor:
    """Transposed convolution of volumes: the derivative of `conv3d` by its input."""
def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: _float = 0,
    size_average: _bool | None = None,
    reduce: _bool | None = None,
    reduction: _str = 'mean',
) -> Tensor:
    """Losses 1 - cos of two vectors where target is 1, and max(0, cos - margin) where it is -1."""
def cosine_similarity(
    x1: Tensor, x2: Tensor, dim: _int = 1, eps: _float = 1e-08, *, out: Tensor | None = None
) -> Tensor:
    """The cosines of the angles between vectors along a dimension."""
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: _Operand | None = None,
    size_average: _bool | None = None,
    ignore_index: _int = -100,
    reduce: _bool | None = None,
    reduction: _str = 'mean',
    label_smoothing: _float = 0.0,
) -> Tensor:
    """The cross entropy of logits with classes, or with probabilities of classes."""
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | Sequence[_int],
    target_lengths: Tensor | Sequence[_int],
    blank: _int = 0,
    reduction: _str = 'mean',
    zero_infinity: _bool = False,
) -> Tensor:
    """The connectionist temporal classification loss, of labels without times."""
def dropout(
    input: Tensor, p: _float = 0.5, training: _bool = True, inplace: _bool = False
) -> Tensor:
    """Each element 0 with probability p, else divided by 1 - p."""
def dropout1d(
    input: Tensor, p: _float = 0.5, training: _bool = True, inplace: _bool = False
) -> Tensor:
    """Each channel of signals 0 with probability p, else divided by 1 - p."""
def dropout2d(
    input: Tensor, p: _float = 0.5, training: _bool = True, inplace: _bool = False
) -> Tensor:
    """Each channel of images 0 with probability p, else divided by 1 - p."""
def dropout3d(
    input: Tensor, p: _float = 0.5, training: _bool = True, inplace: _bool = False
) -> Tensor:
    """Each channel of volumes 0 with probability p, else divided by 1 - p."""
def elu(input: Tensor, alpha: _float = 1.0, inplace: _bool = False) -> Tensor:
    """`x`, and `alpha * (e**x - 1)` below 0."""
def elu_(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """`elu`, written into its argument."""
def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: _int | None = None,
    max_norm: _float | None = None,
    norm_type: _float = 2.0,
    scale_grad_by_freq: _bool = False,
    sparse: _bool = False,
) -> Tensor:
    """Rows of a matrix, looked up by whole numbers."""
def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: _float | None = None,
    norm_type: _float = 2,
    scale_grad_by_freq: _bool = False,
    mode: _str = 'mean',
    sparse: _bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: _bool = False,
    padding_idx: _int | None = None,
) -> Tensor:
    """Means, sums or maxima of bags of rows of a matrix."""
def feature_alpha_dropout(
    input: Tensor, p: _float = 0.5, training: _bool = False, inplace: _bool = False
) -> Tensor:
    """As `alpha_dropout`, of whole channels."""
def fold(
    input: Tensor,
    output_size: _Sizes,
    kernel_size: _Sizes,
    dilation: _Sizes = 1,
    padding: _Sizes | _str = 0,
    stride: _Sizes = 1,
) -> Tensor:
    """Images of the sums of windows given as columns: the transpose of `unfold`."""
def fractional_max_pool2d(*args: Any, **kwargs: Any) -> NoReturn:
    """Maxima over windows drawn at random, which are not implemented."""
def fractional_max_pool3d(*args: Any, **kwargs: Any) -> NoReturn:
    """Maxima over windows drawn at random, which are not implemented."""
def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | _float,
    full: _bool = False,
    eps: _float = 1e-06,
    reduction: _str = 'mean',
) -> Tensor:
    """The negative logarithm of the normal density of target, up to a constant."""
def gelu(input: Tensor, approximate: _str = 'none', *, out: Tensor | None = None) -> Tensor:
    """`x` times the normal distribution function of x; "tanh": approximately."""
def glu(input: Tensor, dim: _int = -1, *, out: Tensor | None = None) -> Tensor:
    """The first half along a dimension times the sigmoid of the second half."""
def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: _str = 'bilinear',
    padding_mode: _str = 'zeros',
    align_corners: _bool | None = None,
) -> Tensor:
    """Images, or volumes, read at the places of a grid."""
def group_norm(
    input: Tensor,
    num_groups: _int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: _float = 1e-05,
) -> Tensor:
    """Groups of channels of each example with mean 0 and variance 1, times weight plus bias."""
def gumbel_softmax(
    logits: Tensor, tau: _float = 1, hard: _bool = False, eps: _float = 1e-10, dim: _int = -1
) -> Tensor:
    """Softmax of logits plus Gumbel noise: a relaxed draw of a class along a dimension."""
def hardshrink(input: Tensor, lambd: _float = 0.5, *, out: Tensor | None = None) -> Tensor:
    """`x`, but 0 where |x| is at most lambd."""
def hardsigmoid(input: Tensor, inplace: _bool = False) -> Tensor:
    """`x / 6 + 1 / 2`, clamped to [0, 1]."""
def hardswish(input: Tensor, inplace: _bool = False) -> Tensor:
    """`x * hardsigmoid(x)`."""
def hardtanh(
    input: Tensor, min_val: _float = -1.0, max_val: _float = 1.0, inplace: _bool = False
) -> Tensor:
    """`x` clamped to [min_val, max_val]; the gradient at the bounds is 0."""
def hardtanh_(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """`hardtanh`, written into its argument."""
def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: _float = 1.0,
    size_average: _bool | None = None,
    reduce: _bool | None = None,
    reduction: _str = 'mean',
) -> Tensor:
    """Losses `input` where target is 1, and max(0, margin - input) where it is -1."""
def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: _str = 'mean',
    delta: _float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:
    """Squares where input and target differ by at most `delta`, else absolute values."""
def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: _bool = True,
    momentum: _float = 0.1,
    eps: _float = 1e-05,
) -> Tensor:
    """Each channel of each example with mean 0 and variance 1, times weight plus bias."""
def interpolate(
    input: Tensor,
    size: _Sizes | None = None,
    scale_factor: _float | Sequence[_float] | None = None,
    mode: _str = 'nearest',
    align_corners: _bool | None = None,
    recompute_scale_factor: _bool | None = None,
    antialias: _bool = False,
) -> Tensor:
    """The spatial dimensions of a tensor in another size."""
def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: _bool | None = None,
    reduce: _bool | None = None,
    reduction: _str = 'mean',
    log_target: _bool = False,
) -> Tensor:
    """The Kullback-Leibler divergence of `target` from the probabilities exp(`input`)."""
def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: _bool | None = None,
    reduce: _bool | None = None,
    reduction: _str = 'mean',
    weight: Tensor | None = None,
) -> Tensor:
    """Absolute values of `input - target`, and their mean or sum."""
def layer_norm(
    input: Tensor,
    normalized_shape: _Sizes,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: _float = 1e-05,
) -> Tensor:
    """The last dimensions with mean 0 and variance 1 together, times weight plus bias."""
def leaky_relu(
    input: Tensor, negative_slope: _float = 0.01, inplace: _bool = False
) -> Tensor:
    """`x`, and `negative_slope * x` below 0."""
def leaky_relu_(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """`leaky_relu`, written into its argument."""
def linear(input: Tensor, weight: _Operand, bias: Tensor | None = None) -> Tensor:
    """`input @ weight.T + bias`, as one node of the graph."""
def local_response_norm(
    input: Tensor, size: _int, alpha: _float = 0.0001, beta: _float = 0.75, k: _float = 1.0
) -> Tensor:
    """Each element divided by (k + alpha * mean of squares)**beta over neighbouring channels."""
def log_softmax(
    input: Tensor, dim: _int | None = None, _stacklevel: _int = 3, dtype: _dtype | None = None
) -> Tensor:
    """The log_softmax along a dimension."""
def logsigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`log(sigmoid(x))`, without overflow."""
def lp_pool1d(
    input: Tensor,
    norm_type: _float,
    kernel_size: _Sizes,
    stride: _Sizes | None = None,
    ceil_mode: _bool = False,
) -> Tensor:
    """Norms of windows of signals: the sums of x**p to the power 1 / p."""
def lp_pool2d(
    input: Tensor,
    norm_type: _float,
    kernel_size: _Sizes,
    stride: _Sizes | None = None,
    ceil_mode: _bool = False,
) -> Tensor:
    """Norms of windows of images: the sums of x**p to the power 1 / p."""
def lp_pool3d(
    input: Tensor,
    norm_type: _float,
    kernel_size: _Sizes,
    stride: _Sizes | None = None,
    ceil_mode: _bool = False,
) -> Tensor:
    """Norms of windows of volumes: the sums of x**p to the power 1 / p."""
def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: _float = 0,
    size_average: _bool | None = None,
    reduce: _bool | None = None,
    reduction: _str = 'mean',
) -> Tensor:
    """Losses max(0, margin - target * (input1 - input2)), of which of two ranks higher."""
@overload
def max_pool1d(
    input: Tensor,
    kernel_size: _Sizes,
    stride: _Sizes | None = None,
    padding: _Sizes = 0,
    dilation: _Sizes = 1,
    ceil_mode: _bool = False,
    return_indices: Literal[False] = False,
) -> Tensor: ...
@overload
def max_pool1d(
    input: Tensor,
    kernel_size: _Sizes,
    stride: _Sizes | None = None,
    padding: _Sizes = 0,
    dilation: _Sizes = 1,
    ceil_mode: _bool = False,
    *,
    return_indices: Literal[True],
) -> tuple[Tensor, Tensor]:
    """Maxima over windows of signals."""
def max_pool1d_with_indices(
    input: Tensor,
    kernel_size: _Sizes,
    stride: _Sizes | None = None,
    padding: _Sizes | _str = 0,
    dilation: _Sizes = 1,
    ceil_mode: _bool = False,
    return_indices: _bool = True,
) -> tuple[Tensor, Tensor]:
    """Maxima over windows of signals, and where they are."""
@overload
def max_pool2d(
    input: Tensor,
    kernel_size: _Sizes,
    stride: _Sizes | None = None,
    padding: _Sizes = 0,
    dilation: _Sizes = 1,
    ceil_mode: _bool = False,
    return_indices: Literal[False] = False,
) -> Tensor: ...
@overload
def max_pool2d(
    input: Tensor,
    kernel_size: _Sizes,
    stride: _Sizes | None = None,
    padding: _Sizes = 0,
    dilation: _Sizes = 1,
    ceil_mode: _bool = False,
    *,
    return_indices: Literal[True],
) -> tuple[Tensor, Tensor]:
    """Maxima over windows of images."""
def max_pool2d_with_indices(
    input: Tensor,
    kernel_size: _Sizes,
    stride: _Sizes | None = None,
    padding: _Sizes | _str = 0,
    dilation: _Sizes = 1,
    ceil_mode: _bool = False,
    return_indices: _bool = True,
) -> tuple[Tensor, Tensor]:
    """Maxima over windows of images, and where they are."""
@overload
def max_pool3d(
    input: Tensor,
    kernel_size: _Sizes,
    stride: _Sizes | None = None,
    padding: _Sizes = 0,
    dilation: _Sizes = 1,
    ceil_mode: _bool = False,
    return_indices: Literal[False] = False,
) -> Tensor: ...
@overload
def max_pool3d(
    input: Tensor,
    kernel_size: _Sizes,
    stride: _Sizes | None = None,
    padding: _Sizes = 0,
    dilation: _Sizes = 1,
    ceil_mode: _bool = False,
    *,
    return_indices: Literal[True],
) -> tuple[Tensor, Tensor]:
    """Maxima over windows of volumes."""
def max_pool3d_with_indices(
    input: Tensor,
    kernel_size: _Sizes,
    stride: _Sizes | None = None,
    padding: _Sizes | _str = 0,
    dilation: _Sizes = 1,
    ceil_mode: _bool = False,
    return_indices: _bool = True,
) -> tuple[Tensor, Tensor]:
    """Maxima over windows of volumes, and where they are."""
def max_unpool1d(
    input: Tensor,
    indices: Tensor,
    kernel_size: _Sizes,
    stride: _Sizes | None = None,
    padding: _Sizes | _str = 0,
    output_size: Sequence[_int] | None = None,
) -> Tensor:
    """Zeros but for the maxima that `max_pool1d` found, which stand where they were."""
def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: _Sizes,
    stride: _Sizes | None = None,
    padding: _Sizes | _str = 0,
    output_size: Sequence[_int] | None = None,
) -> Tensor:
    """Zeros but for the maxima that `max_pool2d` found, which stand where they were."""
def max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size: _Sizes,
    stride: _Sizes | None = None,
    padding: _Sizes | _str = 0,
    output_size: Sequence[_int] | None = None,
) -> Tensor:
    """Zeros but for the maxima that `max_pool3d` found, which stand where they were."""
def mish(input: Tensor, inplace: _bool = False) -> Tensor:
    """`x * tanh(softplus(x))`."""
def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: _bool | None = None,
    reduce: _bool | None = None,
    reduction: _str = 'mean',
    weight: _Operand | None = None,
) -> Tensor:
    """Squares of `input - target`, and their mean or sum."""
def multi_head_attention_forward(
    query: Any,
    key: Any,
    value: _Operand,
    embed_dim_to_check: _int,
    num_heads: _int,
    in_proj_weight: Any,
    in_proj_bias: Any,
    bias_k: Any,
    bias_v: Any,
    add_zero_attn: _bool,
    dropout_p: _float,
    out_proj_weight: Any,
    out_proj_bias: Any,
    training: _bool = True,
    key_padding_mask: Any = None,
    need_weights: _bool = True,
    attn_mask: Any = None,
    use_separate_proj_weight: _bool = False,
    q_proj_weight: Any = None,
    k_proj_weight: Any = None,
    v_proj_weight: Any = None,
    static_k: Any = None,
    static_v: Any = None,
    average_attn_weights: _bool = True,
    is_causal: _bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Attention with several heads, from the weights that project to them."""
def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: _int = 1,
    margin: _float = 1.0,
    weight: Tensor | None = None,
    size_average: _bool | None = None,
    reduce: _bool | None = None,
    reduction: _str = 'mean',
) -> Tensor:
    """How far scores of other classes come within a margin of that of the class of `target`."""
def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: _bool | None = None,
    reduce: _bool | None = None,
    reduction: _str = 'mean',
) -> Tensor:
    """How far scores of other classes come within a margin of 1 of those of the target classes."""
def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: _bool | None = None,
    reduce: _bool | None = None,
    reduction: _str = 'mean',
) -> Tensor:
    """Means over classes of the binary cross entropies of logits with targets."""
def native_channel_shuffle(
    input: Tensor, groups: _int, *, out: Tensor | None = None
) -> Tensor:
    """As `channel_shuffle`."""
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: _bool | None = None,
    ignore_index: _int = -100,
    reduce: _bool | None = None,
    reduction: _str = 'mean',
) -> Tensor:
    """The negative logarithms of the probabilities of given classes."""
def normalize(
    input: Tensor,
    p: _float = 2.0,
    dim: _int = 1,
    eps: _float = 1e-12,
    out: Tensor | None = None,
) -> Tensor:
    """The tensor divided by its norms along a dimension, or by `eps` if that is larger."""
def one_hot(tensor: Tensor, num_classes: _int = -1, *, out: Tensor | None = None) -> Tensor:
    """Rows that are 1 at the given classes, else 0."""
def pad(
    input: Tensor, pad: Sequence[_int], mode: _str = 'constant', value: _float | None = None
) -> Tensor:
    """The tensor with elements before and after those of its dimensions."""
def pairwise_distance(
    x1: Tensor, x2: Tensor, p: _float = 2.0, eps: _float = 1e-06, keepdim: _bool = False
) -> Tensor:
    """The p-norms of `x1 - x2 + eps` along the last dimension."""
def pdist(input: Tensor, p: _float = 2.0, *, out: Tensor | None = None) -> Tensor:
    """The norms of the differences of all pairs of rows."""
def pixel_shuffle(
    input: Tensor, upscale_factor: _int, *, out: Tensor | None = None
) -> Tensor:
    """Groups of r * r channels become pixels."""
def pixel_unshuffle(
    input: Tensor, downscale_factor: _int, *, out: Tensor | None = None
) -> Tensor:
    """Pixels become groups of r * r channels: the inverse of `pixel_shuffle`."""
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: _bool = True,
    full: _bool = False,
    size_average: _bool | None = None,
    eps: _float = 1e-08,
    reduce: _bool | None = None,
    reduction: _str = 'mean',
) -> Tensor:
    """The negative logarithm of Poisson's probability of target, up to a constant."""
def prelu(input: Tensor, weight: _Operand, *, out: Tensor | None = None) -> Tensor:
    """`x`, and `weight * x` below 0: one weight, or one a channel (dimension 1)."""
def relu(input: Tensor, inplace: _bool = False) -> Tensor:
    """The values of `torch.relu`, of each element."""
def relu6(input: Tensor, inplace: _bool = False) -> Tensor:
    """`x` clamped to [0, 6]."""
def relu_(input: Tensor) -> Tensor:
    """`relu`, written into this tensor's own memory."""
def rms_norm(
    input: Tensor,
    normalized_shape: _Sizes,
    weight: Tensor | None = None,
    eps: _float | None = None,
) -> Tensor:
    """The last dimensions divided by the root of their mean square, times weight."""
def rrelu(
    input: Tensor,
    lower: _float = 0.125,
    upper: _float = 0.3333333333333333,
    training: _bool = False,
    inplace: _bool = False,
) -> Tensor:
    """Leaky relu with slopes drawn between two numbers; without training their mean."""
def rrelu_(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """`rrelu`, written into its argument."""
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: _float = 0.0,
    is_causal: _bool = False,
    scale: _float | None = None,
    enable_gqa: _bool = False,
) -> Tensor:
    """Attention: means of values, weighted by a softmax of products of queries and keys."""
def selu(input: Tensor, inplace: _bool = False) -> Tensor:
    """`elu`, scaled so that it keeps mean 0 and variance 1."""
def selu_(input: Tensor) -> Tensor:
    """`selu`, written into this tensor's own memory."""
def sigmoid(input: Tensor, inplace: _bool = False) -> Tensor:
    """The values of `torch.sigmoid`, of each element."""
def silu(input: Tensor, inplace: _bool = False) -> Tensor:
    """`x * sigmoid(x)`."""
def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: _bool | None = None,
    reduce: _bool | None = None,
    reduction: _str = 'mean',
    beta: _float = 1.0,
) -> Tensor:
    """Squares where input and target differ by less than `beta`, else absolute values."""
def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: _bool | None = None,
    reduce: _bool | None = None,
    reduction: _str = 'mean',
) -> Tensor:
    """Losses log(1 + exp(-target * input)), with targets of 1 and -1."""
def softmax(
    input: Tensor, dim: _int | None = None, _stacklevel: _int = 3, dtype: _dtype | None = None
) -> Tensor:
    """The softmax along a dimension."""
def softmin(
    input: Tensor, dim: _int | None = None, _stacklevel: _int = 3, dtype: _dtype | None = None
) -> Tensor:
    """The softmax of `-input`."""
def softplus(
    input: Tensor, beta: _float = 1.0, threshold: _float = 20.0, *, out: Tensor | None = None
) -> Tensor:
    """`log(1 + e**(beta x)) / beta`; x itself where beta x is above a threshold."""
def softshrink(input: Tensor, lambd: _float = 0.5, *, out: Tensor | None = None) -> Tensor:
    """`x` moved towards 0 by lambd; 0 where |x| is at most lambd."""
def softsign(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`x / (1 + |x|)`."""
def tanh(input: Tensor, inplace: _bool = False) -> Tensor:
    """The values of `torch.tanh`, of each element."""
def tanhshrink(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`x - tanh(x)`."""
def threshold(
    input: Tensor, threshold: _float, value: _float, inplace: _bool = False
) -> Tensor:
    """`x` above a threshold, else a value."""
def threshold_(input: Tensor, threshold: _float, value: _float) -> Tensor:
    """`threshold`, written into this tensor's own memory."""
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: _float = 1.0,
    p: _float = 2,
    eps: _float = 1e-06,
    swap: _bool = False,
    size_average: _bool | None = None,
    reduce: _bool | None = None,
    reduction: _str = 'mean',
) -> Tensor:
    """Losses `max(0, margin + |anchor - positive| - |anchor - negative|)`, of norms."""
def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Any] | None = None,
    margin: _float = 1.0,
    swap: _bool = False,
    reduction: _str = 'mean',
) -> Tensor:
    """Losses max(0, margin + d(anchor, positive) - d(anchor, negative)), of any distance d."""
def unfold(
    input: Tensor,
    kernel_size: _Sizes,
    dilation: _Sizes = 1,
    padding: _Sizes | _str = 0,
    stride: _Sizes = 1,
) -> Tensor:
    """Windows of images as columns."""
def upsample(
    input: Tensor,
    size: _Sizes | None = None,
    scale_factor: _float | Sequence[_float] | None = None,
    mode: _str = 'nearest',
    align_corners: _bool | None = None,
) -> Tensor:
    """The older name of `interpolate`, with a warning."""
def upsample_bilinear(
    input: Tensor,
    size: _Sizes | None = None,
    scale_factor: _float | Sequence[_float] | None = None,
) -> Tensor:
    """Bilinear `interpolate` with aligned corners, with a warning."""
def upsample_nearest(
    input: Tensor,
    size: _Sizes | None = None,
    scale_factor: _float | Sequence[_float] | None = None,
) -> Tensor:
    """As `interpolate` with the nearest element, with a warning."""
