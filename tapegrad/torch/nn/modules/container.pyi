"""`torch.nn.modules.container`: names that PyTorch has in this file.

Written by docs/torch_stubs.py from the table of what is not here: change that, not this.
"""

from builtins import bool as _bool, int as _int, str as _str
from typing import Any, NoReturn

from tapegrad.torch.nn import ModuleDict as ModuleDict
from tapegrad.torch.nn import ModuleList as ModuleList
from tapegrad.torch.nn import ParameterDict as ParameterDict
from tapegrad.torch.nn import ParameterList as ParameterList
from tapegrad.torch.nn import Sequential as Sequential
