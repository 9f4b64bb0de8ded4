"""`torch.nn.modules.transformer`: names that PyTorch has in this file.

Written by docs/torch_stubs.py from the table of what is not here: change that, not this.
"""

from builtins import bool as _bool, int as _int, str as _str
from typing import Any, NoReturn

from tapegrad.torch.nn import Transformer as Transformer
from tapegrad.torch.nn import TransformerDecoder as TransformerDecoder
from tapegrad.torch.nn import TransformerDecoderLayer as TransformerDecoderLayer
from tapegrad.torch.nn import TransformerEncoder as TransformerEncoder
from tapegrad.torch.nn import TransformerEncoderLayer as TransformerEncoderLayer
