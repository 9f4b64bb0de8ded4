"""`torch.nn.functional`: activations, losses, pooling and the like, as functions of tensors.

Knows in which module each function is: it is a table of contents. Must not know modules.
"""

from __future__ import annotations

from typing import Any

from tapegrad.torch._ops.declare import OPERATIONS
from tapegrad.torch._ops.elementwise import activations as _activations
from tapegrad.torch._ops.linalg.affine import linear
from tapegrad.torch.nn._activations import log_softmax, relu, sigmoid, softmax, softmin, tanh
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
from tapegrad.torch.nn._noise import dropout
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
from tapegrad.torch.nn._vectors import bilinear, cosine_similarity, normalize


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
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "batch_norm",
    "bilinear",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "cosine_similarity",
    "cross_entropy",
    "dropout",
    "embedding",
    "embedding_bag",
    "fold",
    "fractional_max_pool2d",
    "fractional_max_pool3d",
    "group_norm",
    "huber_loss",
    "instance_norm",
    "kl_div",
    "l1_loss",
    "layer_norm",
    "linear",
    "local_response_norm",
    "log_softmax",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
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
    "nll_loss",
    "normalize",
    "one_hot",
    "pad",
    "relu",
    "rms_norm",
    "scaled_dot_product_attention",
    "sigmoid",
    "smooth_l1_loss",
    "softmax",
    "softmin",
    "tanh",
    "unfold",
]
