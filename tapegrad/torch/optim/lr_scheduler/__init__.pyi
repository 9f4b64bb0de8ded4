"""The namespace `torch.optim.lr_scheduler`.

Written by docs/torch_stubs.py from what is there at run time: change that, not this.
"""

from tapegrad.torch.optim.lr_scheduler._composed import ChainedScheduler as ChainedScheduler
from tapegrad.torch.optim.lr_scheduler._composed import SequentialLR as SequentialLR
from tapegrad.torch.optim.lr_scheduler._cyclic import CyclicLR as CyclicLR
from tapegrad.torch.optim.lr_scheduler._cyclic import OneCycleLR as OneCycleLR
from tapegrad.torch.optim.lr_scheduler._of_epoch import ConstantLR as ConstantLR
from tapegrad.torch.optim.lr_scheduler._of_epoch import CosineAnnealingLR as CosineAnnealingLR
from tapegrad.torch.optim.lr_scheduler._of_epoch import CosineAnnealingWarmRestarts as CosineAnnealingWarmRestarts
from tapegrad.torch.optim.lr_scheduler._of_epoch import ExponentialLR as ExponentialLR
from tapegrad.torch.optim.lr_scheduler._of_epoch import LambdaLR as LambdaLR
from tapegrad.torch.optim.lr_scheduler._of_epoch import LinearLR as LinearLR
from tapegrad.torch.optim.lr_scheduler._of_epoch import MultiplicativeLR as MultiplicativeLR
from tapegrad.torch.optim.lr_scheduler._of_epoch import MultiStepLR as MultiStepLR
from tapegrad.torch.optim.lr_scheduler._of_epoch import PolynomialLR as PolynomialLR
from tapegrad.torch.optim.lr_scheduler._of_epoch import StepLR as StepLR
from tapegrad.torch.optim.lr_scheduler._plateau import ReduceLROnPlateau as ReduceLROnPlateau
from tapegrad.torch.optim.lr_scheduler._scheduler import LRScheduler as LRScheduler
