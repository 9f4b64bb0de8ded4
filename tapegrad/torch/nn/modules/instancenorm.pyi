"""`torch.nn.modules.instancenorm`: names that PyTorch has in this file.

Written by docs/torch_stubs.py from the table of what is not here: change that, not this.
"""

from builtins import bool as _bool, int as _int, str as _str
from typing import Any, NoReturn

from tapegrad.torch.nn import InstanceNorm1d as InstanceNorm1d
from tapegrad.torch.nn import InstanceNorm2d as InstanceNorm2d
from tapegrad.torch.nn import InstanceNorm3d as InstanceNorm3d
from tapegrad.torch.nn import LazyInstanceNorm1d as LazyInstanceNorm1d
from tapegrad.torch.nn import LazyInstanceNorm2d as LazyInstanceNorm2d
from tapegrad.torch.nn import LazyInstanceNorm3d as LazyInstanceNorm3d
from tapegrad.torch.nn.normalization.modules import _InstanceNorm as _InstanceNorm
