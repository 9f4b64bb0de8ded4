"""`torch.nn.modules.batchnorm`: names that PyTorch has in this file.

Written by docs/torch_stubs.py from the table of what is not here: change that, not this.
"""

from builtins import bool as _bool, int as _int, str as _str
from typing import Any, NoReturn

from tapegrad.torch.nn import BatchNorm1d as BatchNorm1d
from tapegrad.torch.nn import BatchNorm2d as BatchNorm2d
from tapegrad.torch.nn import BatchNorm3d as BatchNorm3d
from tapegrad.torch.nn import LazyBatchNorm1d as LazyBatchNorm1d
from tapegrad.torch.nn import LazyBatchNorm2d as LazyBatchNorm2d
from tapegrad.torch.nn import LazyBatchNorm3d as LazyBatchNorm3d
SyncBatchNorm: Any
from tapegrad.torch.nn.normalization.modules import _BatchNorm as _BatchNorm
