"""`torch.nn.modules.padding`: names that PyTorch has in this file.

Written by docs/torch_stubs.py from the table of what is not here: change that, not this.
"""

from builtins import bool as _bool, int as _int, str as _str
from typing import Any, NoReturn

from tapegrad.torch.nn import CircularPad1d as CircularPad1d
from tapegrad.torch.nn import CircularPad2d as CircularPad2d
from tapegrad.torch.nn import CircularPad3d as CircularPad3d
from tapegrad.torch.nn import ConstantPad1d as ConstantPad1d
from tapegrad.torch.nn import ConstantPad2d as ConstantPad2d
from tapegrad.torch.nn import ConstantPad3d as ConstantPad3d
from tapegrad.torch.nn import ReflectionPad1d as ReflectionPad1d
from tapegrad.torch.nn import ReflectionPad2d as ReflectionPad2d
from tapegrad.torch.nn import ReflectionPad3d as ReflectionPad3d
from tapegrad.torch.nn import ReplicationPad1d as ReplicationPad1d
from tapegrad.torch.nn import ReplicationPad2d as ReplicationPad2d
from tapegrad.torch.nn import ReplicationPad3d as ReplicationPad3d
from tapegrad.torch.nn import ZeroPad1d as ZeroPad1d
from tapegrad.torch.nn import ZeroPad2d as ZeroPad2d
from tapegrad.torch.nn import ZeroPad3d as ZeroPad3d
