"""`torch.nn.modules.conv`: names that PyTorch has in this file.

Written by docs/torch_stubs.py from the table of what is not here: change that, not this.
"""

from builtins import bool as _bool, int as _int, str as _str
from typing import Any, NoReturn

from tapegrad.torch.nn import Conv1d as Conv1d
from tapegrad.torch.nn import Conv2d as Conv2d
from tapegrad.torch.nn import Conv3d as Conv3d
from tapegrad.torch.nn import ConvTranspose1d as ConvTranspose1d
from tapegrad.torch.nn import ConvTranspose2d as ConvTranspose2d
from tapegrad.torch.nn import ConvTranspose3d as ConvTranspose3d
from tapegrad.torch.nn import LazyConv1d as LazyConv1d
from tapegrad.torch.nn import LazyConv2d as LazyConv2d
from tapegrad.torch.nn import LazyConv3d as LazyConv3d
from tapegrad.torch.nn import LazyConvTranspose1d as LazyConvTranspose1d
from tapegrad.torch.nn import LazyConvTranspose2d as LazyConvTranspose2d
from tapegrad.torch.nn import LazyConvTranspose3d as LazyConvTranspose3d
from tapegrad.torch.nn.convolution.modules import _ConvNd as _ConvNd
from tapegrad.torch.nn.convolution.modules import _ConvTransposeNd as _ConvTransposeNd
