"""`torch.nn.modules.rnn`: recurrent layers, under the name of PyTorch's file."""

from __future__ import annotations

from tapegrad.torch.nn.recurrent.modules import (
    GRU,
    LSTM,
    RNN,
    GRUCell,
    LSTMCell,
    RNNBase,
    RNNCell,
    RNNCellBase,
)

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNBase", "RNNCell", "RNNCellBase"]
