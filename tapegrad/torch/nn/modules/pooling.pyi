"""`torch.nn.modules.pooling`: names that PyTorch has in this file.

Written by docs/torch_stubs.py from the table of what is not here: change that, not this.
"""

from builtins import bool as _bool, int as _int, str as _str
from typing import Any, NoReturn

from tapegrad.torch.nn import AdaptiveAvgPool1d as AdaptiveAvgPool1d
from tapegrad.torch.nn import AdaptiveAvgPool2d as AdaptiveAvgPool2d
from tapegrad.torch.nn import AdaptiveAvgPool3d as AdaptiveAvgPool3d
from tapegrad.torch.nn import AdaptiveMaxPool1d as AdaptiveMaxPool1d
from tapegrad.torch.nn import AdaptiveMaxPool2d as AdaptiveMaxPool2d
from tapegrad.torch.nn import AdaptiveMaxPool3d as AdaptiveMaxPool3d
from tapegrad.torch.nn import AvgPool1d as AvgPool1d
from tapegrad.torch.nn import AvgPool2d as AvgPool2d
from tapegrad.torch.nn import AvgPool3d as AvgPool3d
from tapegrad.torch.nn import FractionalMaxPool2d as FractionalMaxPool2d
from tapegrad.torch.nn import FractionalMaxPool3d as FractionalMaxPool3d
from tapegrad.torch.nn import LPPool1d as LPPool1d
from tapegrad.torch.nn import LPPool2d as LPPool2d
from tapegrad.torch.nn import LPPool3d as LPPool3d
from tapegrad.torch.nn import MaxPool1d as MaxPool1d
from tapegrad.torch.nn import MaxPool2d as MaxPool2d
from tapegrad.torch.nn import MaxPool3d as MaxPool3d
from tapegrad.torch.nn import MaxUnpool1d as MaxUnpool1d
from tapegrad.torch.nn import MaxUnpool2d as MaxUnpool2d
from tapegrad.torch.nn import MaxUnpool3d as MaxUnpool3d
