"""`torch.nn.utils`: gradients cut off, parameters as one vector, and functions as parameters.

The files have PyTorch's names. Knows modules, and nothing of particular layers.
"""

from __future__ import annotations

from tapegrad.torch.nn.utils import parametrizations, parametrize, prune, rnn, stateless
from tapegrad.torch.nn.utils.clip_grad import (
    clip_grad_norm,
    clip_grad_norm_,
    clip_grad_value_,
    clip_grads_with_norm_,
    get_total_norm,
)
from tapegrad.torch.nn.utils.convert_parameters import parameters_to_vector, vector_to_parameters
from tapegrad.torch.nn.utils.init import skip_init
from tapegrad.torch.nn.utils.memory_format import (
    convert_conv2d_weight_memory_format,
    convert_conv3d_weight_memory_format,
)
from tapegrad.torch.nn.utils.spectral_norm import remove_spectral_norm, spectral_norm
from tapegrad.torch.nn.utils.weight_norm import remove_weight_norm, weight_norm

__all__ = [
    "clip_grad_norm",
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "convert_conv2d_weight_memory_format",
    "convert_conv3d_weight_memory_format",
    "get_total_norm",
    "parameters_to_vector",
    "parametrizations",
    "parametrize",
    "prune",
    "remove_spectral_norm",
    "remove_weight_norm",
    "rnn",
    "skip_init",
    "spectral_norm",
    "stateless",
    "vector_to_parameters",
    "weight_norm",
]


def __dir__() -> list[str]:
    return __all__
