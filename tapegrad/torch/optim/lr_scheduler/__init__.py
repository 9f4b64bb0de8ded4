"""`torch.optim.lr_scheduler`: learning rates that change from step to step."""

from __future__ import annotations

from tapegrad.torch._methods import contents as _contents
from tapegrad.torch._methods import name_constructors as _name_constructors
from tapegrad.torch.optim.lr_scheduler._composed import ChainedScheduler, SequentialLR
from tapegrad.torch.optim.lr_scheduler._cyclic import CyclicLR, OneCycleLR
from tapegrad.torch.optim.lr_scheduler._of_epoch import (
    ConstantLR,
    CosineAnnealingLR,
    CosineAnnealingWarmRestarts,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)
from tapegrad.torch.optim.lr_scheduler._plateau import ReduceLROnPlateau
from tapegrad.torch.optim.lr_scheduler._scheduler import EPOCH_IS_DEPRECATED, LRScheduler

_LRScheduler = LRScheduler  # its older name
EPOCH_DEPRECATION_WARNING = EPOCH_IS_DEPRECATED  # PyTorch's name

__all__ = list(_contents(globals()))
__dir__ = __all__.copy
_name_constructors([LambdaLR, MultiplicativeLR])
