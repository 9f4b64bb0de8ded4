"""`torch.nn.utils.fusion`: names that PyTorch has in this file.

Written by docs/torch_stubs.py from the table of what is not here: change that, not this.
"""

from builtins import bool as _bool, int as _int, str as _str
from typing import Any, NoReturn

fuse_conv_bn_eval: Any
fuse_conv_bn_weights: Any
fuse_linear_bn_eval: Any
fuse_linear_bn_weights: Any
