"""`torch.nn.modules.linear`: names that PyTorch has in this file.

Written by docs/torch_stubs.py from the table of what is not here: change that, not this.
"""

from builtins import bool as _bool, int as _int, str as _str
from typing import Any, NoReturn

from tapegrad.torch.nn import Bilinear as Bilinear
from tapegrad.torch.nn import Identity as Identity
from tapegrad.torch.nn import LazyLinear as LazyLinear
from tapegrad.torch.nn import Linear as Linear
from tapegrad.torch.nn.attention.modules import NonDynamicallyQuantizableLinear as NonDynamicallyQuantizableLinear
