"""`torch.nn.modules.dropout`: names that PyTorch has in this file.

Written by docs/torch_stubs.py from the table of what is not here: change that, not this.
"""

from builtins import bool as _bool, int as _int, str as _str
from typing import Any, NoReturn

from tapegrad.torch.nn import AlphaDropout as AlphaDropout
from tapegrad.torch.nn import Dropout as Dropout
from tapegrad.torch.nn import Dropout1d as Dropout1d
from tapegrad.torch.nn import Dropout2d as Dropout2d
from tapegrad.torch.nn import Dropout3d as Dropout3d
from tapegrad.torch.nn import FeatureAlphaDropout as FeatureAlphaDropout
