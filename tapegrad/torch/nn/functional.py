"""`torch.nn.functional`: activations, losses, pooling and the like, as functions of tensors.

Knows in which module each function is: it is a table of contents. Must not know modules.
"""

from __future__ import annotations

from typing import Any

from tapegrad.torch._ops.declare import OPERATIONS
from tapegrad.torch._ops.elementwise import activations as _activations
from tapegrad.torch._ops.linalg.affine import linear
from tapegrad.torch.nn._activations import log_softmax, relu, sigmoid, softmax, softmin, tanh
from tapegrad.torch.nn._alignments import ctc_loss
from tapegrad.torch.nn._attention import multi_head_attention_forward, scaled_dot_product_attention
from tapegrad.torch.nn._classes import cross_entropy, nll_loss, one_hot
from tapegrad.torch.nn._convolutions import (
    conv1d,
    conv2d,
    conv3d,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
)
from tapegrad.torch.nn._distances import huber_loss, l1_loss, mse_loss, smooth_l1_loss
from tapegrad.torch.nn._embedding import embedding, embedding_bag
from tapegrad.torch.nn._folding import fold, unfold
from tapegrad.torch.nn._grids import affine_grid, grid_sample
from tapegrad.torch.nn._likelihoods import gaussian_nll_loss, poisson_nll_loss
from tapegrad.torch.nn._margins import (
    cosine_embedding_loss,
    hinge_embedding_loss,
    margin_ranking_loss,
    multi_margin_loss,
    multilabel_margin_loss,
    multilabel_soft_margin_loss,
    soft_margin_loss,
    triplet_margin_loss,
    triplet_margin_with_distance_loss,
)
from tapegrad.torch.nn._max_pooling import (
    adaptive_max_pool1d,
    adaptive_max_pool1d_with_indices,
    adaptive_max_pool2d,
    adaptive_max_pool2d_with_indices,
    adaptive_max_pool3d,
    adaptive_max_pool3d_with_indices,
    fractional_max_pool2d,
    fractional_max_pool3d,
    max_pool1d,
    max_pool1d_with_indices,
    max_pool2d,
    max_pool2d_with_indices,
    max_pool3d,
    max_pool3d_with_indices,
    max_unpool1d,
    max_unpool2d,
    max_unpool3d,
)
from tapegrad.torch.nn._noise import (
    alpha_dropout,
    dropout,
    dropout1d,
    dropout2d,
    dropout3d,
    feature_alpha_dropout,
    gumbel_softmax,
)
from tapegrad.torch.nn._normalizing import (
    batch_norm,
    group_norm,
    instance_norm,
    layer_norm,
    local_response_norm,
    rms_norm,
)
from tapegrad.torch.nn._padding import pad
from tapegrad.torch.nn._pooling import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    lp_pool1d,
    lp_pool2d,
    lp_pool3d,
)
from tapegrad.torch.nn._probabilities import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    kl_div,
)
from tapegrad.torch.nn._resampling import (
    interpolate,
    upsample,
    upsample_bilinear,
    upsample_nearest,
)
from tapegrad.torch.nn._shuffles import (
    channel_shuffle,
    native_channel_shuffle,
    pixel_shuffle,
    pixel_unshuffle,
)
from tapegrad.torch.nn._vectors import (
    bilinear,
    cosine_similarity,
    normalize,
    pairwise_distance,
    pdist,
)

# Those that are found as operations of the namespace `torch`, or beside them.
_ACTIVATIONS = (
    "celu celu_ elu elu_ gelu glu hardshrink hardsigmoid hardswish hardtanh hardtanh_ leaky_relu "
    "leaky_relu_ logsigmoid mish prelu relu6 relu_ rrelu rrelu_ selu selu_ silu softplus "
    "softshrink softsign tanhshrink threshold threshold_"
).split()


def __getattr__(name: str) -> Any:
    """Other activations are those of the namespace `torch`."""
    found = OPERATIONS.get(name)
    if found is None:
        found = getattr(_activations, name, None)
    if found is None or name.startswith("_"):
        raise AttributeError(f"module 'tapegrad.torch.nn.functional' has no attribute {name!r}")
    return found


__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool1d_with_indices",
    "adaptive_max_pool2d",
    "adaptive_max_pool2d_with_indices",
    "adaptive_max_pool3d",
    "adaptive_max_pool3d_with_indices",
    "affine_grid",
    "alpha_dropout",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "batch_norm",
    "bilinear",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "channel_shuffle",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "cosine_embedding_loss",
    "cosine_similarity",
    "cross_entropy",
    "ctc_loss",
    "dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "embedding",
    "embedding_bag",
    "feature_alpha_dropout",
    "fold",
    "fractional_max_pool2d",
    "fractional_max_pool3d",
    "gaussian_nll_loss",
    "grid_sample",
    "group_norm",
    "gumbel_softmax",
    "hinge_embedding_loss",
    "huber_loss",
    "instance_norm",
    "interpolate",
    "kl_div",
    "l1_loss",
    "layer_norm",
    "linear",
    "local_response_norm",
    "log_softmax",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "margin_ranking_loss",
    "max_pool1d",
    "max_pool1d_with_indices",
    "max_pool2d",
    "max_pool2d_with_indices",
    "max_pool3d",
    "max_pool3d_with_indices",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
    "mse_loss",
    "multi_head_attention_forward",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "native_channel_shuffle",
    "nll_loss",
    "normalize",
    "one_hot",
    "pad",
    "pairwise_distance",
    "pdist",
    "pixel_shuffle",
    "pixel_unshuffle",
    "poisson_nll_loss",
    "relu",
    "rms_norm",
    "scaled_dot_product_attention",
    "sigmoid",
    "smooth_l1_loss",
    "soft_margin_loss",
    "softmax",
    "softmin",
    "tanh",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
    "unfold",
    "upsample",
    "upsample_bilinear",
    "upsample_nearest",
]
__all__ += _ACTIVATIONS  # noqa: PLE0605 - a list of strings


def __dir__() -> list[str]:
    return sorted(__all__)
