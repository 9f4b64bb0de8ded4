"""`torch.nn.modules.adaptive`: the adaptive softmax, under the name of PyTorch's file."""

from __future__ import annotations

from tapegrad.torch.nn.loss.adaptive import AdaptiveLogSoftmaxWithLoss

__all__ = ["AdaptiveLogSoftmaxWithLoss"]
