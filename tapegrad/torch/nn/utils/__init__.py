"""`torch.nn.utils`: what is done with parameters and sequences beside modules."""

from __future__ import annotations

from tapegrad.torch.nn.utils import rnn

__all__ = ["rnn"]
