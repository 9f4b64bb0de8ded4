"""`torch.nn.modules.rnn`: names that PyTorch has in this file.

Written by docs/torch_stubs.py from the table of what is not here: change that, not this.
"""

from builtins import bool as _bool, int as _int, str as _str
from typing import Any, NoReturn

from tapegrad.torch.nn import GRU as GRU
from tapegrad.torch.nn import GRUCell as GRUCell
from tapegrad.torch.nn import LSTM as LSTM
from tapegrad.torch.nn import LSTMCell as LSTMCell
from tapegrad.torch.nn import RNN as RNN
from tapegrad.torch.nn import RNNBase as RNNBase
from tapegrad.torch.nn import RNNCell as RNNCell
from tapegrad.torch.nn import RNNCellBase as RNNCellBase
