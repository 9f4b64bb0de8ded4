"""`torch.nn.attention`: attention and transformers; names that choose how it is computed."""

from __future__ import annotations

from functools import partial

from tapegrad.torch._absent import FINDER

__getattr__ = partial(FINDER.attribute, "nn.attention")
