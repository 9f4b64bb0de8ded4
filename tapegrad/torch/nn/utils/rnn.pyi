"""`torch.nn.utils.rnn`: names that PyTorch has in this file.

Written by docs/torch_stubs.py from the table of what is not here: change that, not this.
"""

from builtins import bool as _bool, int as _int, str as _str
from typing import Any, NoReturn

from tapegrad.torch.nn.recurrent.packing import PackedSequence as PackedSequence
from tapegrad.torch.nn.recurrent.packing import invert_permutation as invert_permutation
from tapegrad.torch.nn.recurrent.packing import pack_padded_sequence as pack_padded_sequence
from tapegrad.torch.nn.recurrent.packing import pack_sequence as pack_sequence
from tapegrad.torch.nn.recurrent.packing import pad_packed_sequence as pad_packed_sequence
from tapegrad.torch.nn.recurrent.packing import pad_sequence as pad_sequence
from tapegrad.torch.nn.recurrent.packing import unpack_sequence as unpack_sequence
from tapegrad.torch.nn.recurrent.packing import unpad_sequence as unpad_sequence
