"""`torch.ao.quantization`: tensors are not quantized.

Written by docs/torch_stubs.py from the table of what is not here: change that, not this.
"""

from builtins import bool as _bool, int as _int, str as _str
from typing import Any, NoReturn

from tapegrad.torch.quantization import DeQuantStub as DeQuantStub
from tapegrad.torch.quantization import FakeQuantize as FakeQuantize
from tapegrad.torch.quantization import QConfig as QConfig
from tapegrad.torch.quantization import QuantStub as QuantStub
from tapegrad.torch.quantization import QuantWrapper as QuantWrapper
from tapegrad.torch.quantization import convert as convert
from tapegrad.torch.quantization import default_qconfig as default_qconfig
from tapegrad.torch.quantization import fuse_modules as fuse_modules
from tapegrad.torch.quantization import get_default_qconfig as get_default_qconfig
from tapegrad.torch.quantization import prepare as prepare
from tapegrad.torch.quantization import prepare_qat as prepare_qat
from tapegrad.torch.quantization import quantize as quantize
from tapegrad.torch.quantization import quantize_dynamic as quantize_dynamic
