"""`torch.nn.modules.normalization`: names that PyTorch has in this file.

Written by docs/torch_stubs.py from the table of what is not here: change that, not this.
"""

from builtins import bool as _bool, int as _int, str as _str
from typing import Any, NoReturn

from tapegrad.torch.nn import CrossMapLRN2d as CrossMapLRN2d
from tapegrad.torch.nn import GroupNorm as GroupNorm
from tapegrad.torch.nn import LayerNorm as LayerNorm
from tapegrad.torch.nn import LocalResponseNorm as LocalResponseNorm
from tapegrad.torch.nn import RMSNorm as RMSNorm
