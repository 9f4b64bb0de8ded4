"""`torch.nn.modules`: the layers, in modules with the names of PyTorch's files."""

from __future__ import annotations

from functools import partial

from tapegrad.torch._absent import FINDER

__getattr__ = partial(FINDER.attribute, "nn.modules")
