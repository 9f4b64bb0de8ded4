"""Recurrent networks as functions: `torch.lstm`, `gru`, `rnn_tanh`, `rnn_relu` and their cells.

Knows how layers and directions are put together. Must not know modules or packed sequences, of
which it gets the rows and the number of rows at each step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad._core.values import Traced, getitem
from tapegrad.torch._ops.call_plans import planning
from tapegrad.torch._ops.create.generator import draw_uniform
from tapegrad.torch._ops.declare import private, register
from tapegrad.torch._ops.linalg.checks import check_factors
from tapegrad.torch._rules.affine import AFFINE
from tapegrad.torch._rules.recurrent import recurrent
from tapegrad.torch._rules.recurrent_step import recurrent_step
from tapegrad.torch._tensor.tensor import Tensor, plain_of

Operation = Callable[..., Any]


def _gates(rows: Value, weight: Value, biases: Sequence[Value], mode: str) -> Value:
    """The products of all inputs with their weights, plus the biases that are added to them."""
    if not biases:
        return np.matmul(rows, np.swapaxes(weight, -1, -2))
    bias = biases[0] if mode == "GRU" else biases[0] + biases[1]
    return AFFINE.apply(bias, rows, weight)


def _direction(
    rows: Value,
    states: list[Value],
    weights: Sequence[Value],
    biased: bool,
    mode: str,
    sizes: tuple[int, ...],
    reverse: bool,
) -> tuple[Value, list[Value]]:
    """A layer in one direction: its outputs, and its last states."""
    w_ih, w_hh, *rest = weights
    biases, projection = (rest[:2], rest[2:]) if biased else ([], rest)
    more = projection
    if mode == "GRU":
        more = biases[1:] or [np.zeros(w_hh.shape[0], w_hh.dtype)]
    gates = _gates(rows, w_ih, biases, mode)
    found = recurrent([gates, *states, w_hh, *more], mode, sizes, reverse=reverse)
    out, *cells = found if mode == "LSTM" else (found,)
    return out, [_last(out, sizes, reverse), *cells]


def _last(out: Value, sizes: tuple[int, ...], reverse: bool) -> Value:
    """The row of each example that was computed last."""
    if reverse:
        return out[: sizes[0]]
    if sizes[0] == sizes[-1]:
        return out[out.shape[0] - sizes[0] :]
    counts = np.array(sizes)
    lengths = np.sum(counts[:, None] > np.arange(sizes[0]), 0)
    starts = np.cumsum(counts) - counts
    return getitem(out, starts[lengths - 1] + np.arange(sizes[0]))


def _dropped(x: Value, probability: float) -> Value:
    """Dropout between layers."""
    if probability >= 1:
        return x * 0
    kept = draw_uniform(x.shape, x.dtype) >= probability
    return x * (kept / (1 - probability)).astype(x.dtype)


@private("StackBackward0", name="rnn")
def _layers(
    input: Value,
    hx: Sequence[Value],
    params: Sequence[Value],
    mode: str,
    sizes: tuple[int, ...] | None,
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Value, ...]:
    """All layers. sizes: of a packed input's steps; else input is (time, batch, features)."""
    rows, packed = input, sizes is not None
    if sizes is None:
        whole = np.swapaxes(input, 0, 1) if batch_first else input
        steps, batch = whole.shape[:2]
        if not steps:
            raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
        rows = np.reshape(whole, (steps * batch, whole.shape[2]))
        sizes = (batch,) * steps
    directions = 2 if bidirectional else 1
    each = len(params) // (num_layers * directions)
    ends: list[list[Value]] = []
    for layer in range(num_layers):
        outs = []
        for way in range(directions):
            place = layer * directions + way
            weights = params[place * each : (place + 1) * each]
            states = [state[place] for state in hx]
            out, last = _direction(rows, states, weights, has_biases, mode, sizes, way == 1)
            outs.append(out)
            ends.append(last)
        rows = outs[0] if directions == 1 else np.concatenate(outs, 1)
        if dropout and train and layer < num_layers - 1:
            rows = _dropped(rows, dropout)
    if directions == 1 and isinstance(rows, Traced):
        rows = rows.copy()  # the rule keeps its own, which a program may not write into
    out = rows if packed else np.reshape(rows, (len(sizes), sizes[0], rows.shape[1]))
    if batch_first and not packed:
        out = np.swapaxes(out, 0, 1)
    return (out, *(np.stack(parts) for parts in zip(*ends, strict=True)))


def _network(name: str, mode: str, doc: str) -> None:
    def call(input: Tensor, hx: Any, params: Any, *options: Any, **words: Any) -> Any:
        sizes = None
        if options and not isinstance(options[0], (bool, int)):
            sizes = tuple(plain_of(hx).tolist())
            hx, params, options = params, options[0], options[1:]
            words.setdefault("batch_first", False)
        given = dict(zip(_OPTIONS, options, strict=False)) | words
        states = tuple(hx) if mode == "LSTM" else (hx,)
        return _layers(input, states, list(params), mode, sizes, **given)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = doc
    register(method=False)(call)


_OPTIONS = "has_biases num_layers dropout train bidirectional batch_first".split()
_ALL = """\
All layers of a network, {what}.

input: The steps: (time, batch, size), or the data of a PackedSequence.
hx (Tensor or sequence of Tensor): The first states, for an LSTM two; of packed data the sizes of
    its steps.
params (sequence of Tensor): The parameters of all layers; of packed data the first states.
*options: The arguments has_biases, num_layers, dropout, train, bidirectional and batch_first; of
    packed data the parameters first, and no batch_first.
**words: These options by their names.
-> tuple of Tensor: The outputs of the last layer, and the last states of all layers.

>>> layer = torch.nn.{layer}
>>> x, h = torch.ones(5, 2, 3), torch.zeros(1, 2, 4)
>>> weights = list(layer.parameters())
>>> torch.{name}(x, {states}, weights, True, 1, 0.0, False, False, False)[0].shape
torch.Size([5, 2, 4])
"""
for _name, _mode, _what, _layer, _states in (
    ("lstm", "LSTM", "an LSTM", "LSTM(3, 4)", "(h, h)"),
    ("gru", "GRU", "a GRU", "GRU(3, 4)", "h"),
    ("rnn_tanh", "RNN_TANH", "an RNN with tanh", "RNN(3, 4)", "h"),
    ("rnn_relu", "RNN_RELU", "an RNN with relu", 'RNN(3, 4, nonlinearity="relu")', "h"),
):
    _told = _ALL.format(name=_name, what=_what, layer=_layer, states=_states)
    _network(_name, _mode, _told)


# --- Cells --------------------------------------------------------------------------------------


@private("AddBackward0", name="rnn_cell", planned=True)
def _one_step(mode: str, *arrays: Value) -> Any:
    """One step of a network: its new state, or for an LSTM its new states."""
    return recurrent_step(arrays, mode)


def _check_cell(input: Tensor, states: Sequence[Tensor], w_ih: Tensor, w_hh: Tensor) -> None:
    """Raise RuntimeError for sizes that do not fit."""
    if input.shape[1] != w_ih.shape[1]:
        raise RuntimeError(
            f"input has inconsistent input_size: got {input.shape[1]} expected {w_ih.shape[1]}"
        )
    check_factors(input._value, w_ih._value)
    check_factors(states[0]._value, w_hh._value)
    for place, state in enumerate(states):
        if input.shape[0] != state.shape[0]:
            raise RuntimeError(
                f"Input batch size {input.shape[0]} doesn't match hidden{place} batch size "
                f"{state.shape[0]}"
            )
        if state.shape[1] != w_hh.shape[1]:
            raise RuntimeError(
                f"hidden{place} has inconsistent hidden_size: got {state.shape[1]}, expected "
                f"{w_hh.shape[1]}"
            )


_CELL = """\
One step of a network, {what}.

input: Of shape (batch, input size).
hx (Tensor or tuple of Tensor): The state, (batch, size), for an LSTM two.
w_ih: The weight of the input, (gates * size, input size).
w_hh: The weight of the state, (gates * size, size).
b_ih: A bias, (gates * size,).
b_hh: The other bias, given if `b_ih` is.
-> Tensor or tuple of Tensor: The new state, for an LSTM (h, c).
RuntimeError: For sizes that do not fit.
TypeError: For one state of an LSTM.

>>> cell = torch.nn.{layer}
>>> h = torch.zeros(2, 4)
>>> made = torch.{name}(torch.ones(2, 3), {states}, cell.weight_ih, cell.weight_hh)
>>> made{first}.shape
torch.Size([2, 4])
"""


def _cell(name: str, mode: str, what: str, layer: str) -> Operation:
    def call(
        input: Tensor,
        hx: Any,
        w_ih: Tensor,
        w_hh: Tensor,
        b_ih: Tensor | None = None,
        b_hh: Tensor | None = None,
    ) -> Any:
        if mode == "LSTM" and isinstance(hx, Tensor):
            raise TypeError(
                f"{name}(): argument 'hx' (position 2) must be tuple of Tensors, not Tensor"
            )
        states = tuple(hx) if mode == "LSTM" else (hx,)
        biases = () if b_ih is None else (b_ih, b_hh)
        return step(mode, input, *states, w_ih, w_hh, *biases)

    def checked(_mode: str, input: Tensor, *others: Any) -> Any:
        count = 2 if mode == "LSTM" else 1
        _check_cell(input, others[:count], *others[count : count + 2])
        return _one_step(mode, input, *others)

    step = planning(checked, _one_step.trace)  # type: ignore[attr-defined]

    call.__name__ = call.__qualname__ = name
    states, first = ("(h, h)", "[0]") if mode == "LSTM" else ("h", "")
    call.__doc__ = _CELL.format(name=name, what=what, layer=layer, states=states, first=first)
    register(method=False)(call)
    return call


lstm_cell = _cell("lstm_cell", "LSTM", "an LSTM", "LSTMCell(3, 4)")
gru_cell = _cell("gru_cell", "GRU", "a GRU", "GRUCell(3, 4)")
rnn_tanh_cell = _cell("rnn_tanh_cell", "RNN_TANH", "an RNN with tanh", "RNNCell(3, 4)")
rnn_relu_cell = _cell("rnn_relu_cell", "RNN_RELU", "an RNN with relu", "RNNCell(3, 4)")
