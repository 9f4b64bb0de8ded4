"""`torch.backends`: switches that scripts set, which change nothing.

Written by docs/torch_stubs.py from the table of what is not here: change that, not this.
"""

from builtins import bool as _bool, int as _int, str as _str
from typing import Any, NoReturn

from tapegrad.torch.backends import cpu as cpu
from tapegrad.torch.backends import cuda as cuda
from tapegrad.torch.backends import cudnn as cudnn
from tapegrad.torch.backends import mkl as mkl
from tapegrad.torch.backends import mkldnn as mkldnn
from tapegrad.torch.backends import mps as mps
from tapegrad.torch.backends import nnpack as nnpack
from tapegrad.torch.backends import openmp as openmp
from tapegrad.torch.backends import opt_einsum as opt_einsum
from tapegrad.torch.backends import quantized as quantized
from tapegrad.torch.backends import xnnpack as xnnpack
fp32_precision: _bool
