"""`torch.optim`: steps that change parameters by their gradients.

Knows leaves, their gradients and versions. Must not know modules or the graph.

An update works on the arrays in place, and counts as one write to each parameter: a graph that
kept the parameter's old value refuses to run backward.
"""

from __future__ import annotations

from tapegrad.torch.optim._adam import Adam, AdamW
from tapegrad.torch.optim._optimizer import Optimizer
from tapegrad.torch.optim._sgd import SGD

__all__ = ["SGD", "Adam", "AdamW", "Optimizer"]
