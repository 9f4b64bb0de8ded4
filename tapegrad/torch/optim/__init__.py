"""`torch.optim`: steps that change parameters by their gradients.

Knows leaves, their gradients and versions. Must not know modules or the graph.

An update works on the arrays in place, and counts as one write to each parameter: a graph that
kept the parameter's old value refuses to run backward.
"""

from __future__ import annotations

from tapegrad.torch._methods import contents as _contents
from tapegrad.torch.optim import lr_scheduler as lr_scheduler
from tapegrad.torch.optim import swa_utils as swa_utils
from tapegrad.torch.optim.adadelta import Adadelta
from tapegrad.torch.optim.adafactor import Adafactor
from tapegrad.torch.optim.adagrad import Adagrad
from tapegrad.torch.optim.adam import Adam, Adamax, AdamW, NAdam, RAdam, SparseAdam
from tapegrad.torch.optim.asgd import ASGD
from tapegrad.torch.optim.lbfgs import LBFGS
from tapegrad.torch.optim.muon import Muon
from tapegrad.torch.optim.optimizer import Optimizer
from tapegrad.torch.optim.rmsprop import RMSprop
from tapegrad.torch.optim.rprop import Rprop
from tapegrad.torch.optim.sgd import SGD

__all__ = list(_contents(globals(), "lr_scheduler", "swa_utils"))
__dir__ = __all__.copy
