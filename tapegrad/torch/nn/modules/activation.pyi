"""`torch.nn.modules.activation`: names that PyTorch has in this file.

Written by docs/torch_stubs.py from the table of what is not here: change that, not this.
"""

from builtins import bool as _bool, int as _int, str as _str
from typing import Any, NoReturn

from tapegrad.torch.nn import CELU as CELU
from tapegrad.torch.nn import ELU as ELU
from tapegrad.torch.nn import GELU as GELU
from tapegrad.torch.nn import GLU as GLU
from tapegrad.torch.nn import Hardshrink as Hardshrink
from tapegrad.torch.nn import Hardsigmoid as Hardsigmoid
from tapegrad.torch.nn import Hardswish as Hardswish
from tapegrad.torch.nn import Hardtanh as Hardtanh
from tapegrad.torch.nn import LeakyReLU as LeakyReLU
from tapegrad.torch.nn import LogSigmoid as LogSigmoid
from tapegrad.torch.nn import LogSoftmax as LogSoftmax
from tapegrad.torch.nn import Mish as Mish
from tapegrad.torch.nn import MultiheadAttention as MultiheadAttention
from tapegrad.torch.nn import PReLU as PReLU
from tapegrad.torch.nn import RReLU as RReLU
from tapegrad.torch.nn import ReLU as ReLU
from tapegrad.torch.nn import ReLU6 as ReLU6
from tapegrad.torch.nn import SELU as SELU
from tapegrad.torch.nn import SiLU as SiLU
from tapegrad.torch.nn import Sigmoid as Sigmoid
from tapegrad.torch.nn import Softmax as Softmax
from tapegrad.torch.nn import Softmax2d as Softmax2d
from tapegrad.torch.nn import Softmin as Softmin
from tapegrad.torch.nn import Softplus as Softplus
from tapegrad.torch.nn import Softshrink as Softshrink
from tapegrad.torch.nn import Softsign as Softsign
from tapegrad.torch.nn import Tanh as Tanh
from tapegrad.torch.nn import Tanhshrink as Tanhshrink
from tapegrad.torch.nn import Threshold as Threshold
