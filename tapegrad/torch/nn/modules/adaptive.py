"""`torch.nn.modules.adaptive`: the adaptive softmax, under the name of PyTorch's file."""

from __future__ import annotations

from tapegrad.torch.nn._adaptive import AdaptiveLogSoftmaxWithLoss

__all__ = ["AdaptiveLogSoftmaxWithLoss"]
