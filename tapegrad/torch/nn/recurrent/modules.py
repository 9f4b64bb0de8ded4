"""Recurrent networks and cells as modules: RNN, LSTM, GRU, RNNCell, LSTMCell, GRUCell.

Knows their parameters and the checks of their inputs. Must not know how steps are computed.
"""

from __future__ import annotations

import math
import numbers
from typing import TYPE_CHECKING, Any, TypeVar

from tapegrad._warning import warn
from tapegrad.torch._dtypes import device, dtype
from tapegrad.torch._ops.declare import OPERATIONS
from tapegrad.torch._tensor.tensor import Tensor, plain_of
from tapegrad.torch.nn import init
from tapegrad.torch.nn.module.factory import add_parameters, filled
from tapegrad.torch.nn.module.module import Module
from tapegrad.torch.nn.recurrent import functions as _recurrent
from tapegrad.torch.nn.recurrent.packing import PackedSequence

# Steps, and what has their outputs.
Steps = TypeVar("Steps", Tensor, PackedSequence)
Pair = tuple[Tensor, Tensor]
_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


class RNNBase(Module):
    """The base of RNN, LSTM and GRU: their parameters, and the order of their states.

    The parameters of layer k are weight_ih_lk, weight_hh_lk, bias_ih_lk, bias_hh_lk, for an LSTM
    with proj_size weight_hr_lk; those of the other direction have the suffix `_reverse`. All are
    drawn uniformly between -s and s, where s = 1 / sqrt(hidden_size).

    mode ({"LSTM", "GRU", "RNN_TANH", "RNN_RELU"}): What a step is.
    num_layers: How many layers there are, each over the outputs of the last.
    batch_first: Take and return (batch, time, size) in place of (time, batch, size).
    dropout: The probability of dropout between layers while training.
    bidirectional: Go through sequences in both directions.
    proj_size: The size to which the state of an LSTM is projected; 0 for none.
    ValueError: For sizes and probabilities out of range, and another mode.
    TypeError: For sizes that are no ints, and flags that are no bools.

    >>> torch.nn.RNNBase("GRU", 3, 4)(torch.ones(5, 2, 3))[0].shape
    torch.Size([5, 2, 4])
    """

    _in_repr = (
        "=input_size =hidden_size proj_size? num_layers? bias? batch_first? dropout? "
        "bidirectional?"
    )

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: device | str | None = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__()
        if not isinstance(input_size, int):
            raise TypeError(f"input_size should be of type int, got: {type(input_size).__name__}")
        for name, flag in (("bias", bias), ("batch_first", batch_first)):
            if not isinstance(flag, bool):
                raise TypeError(f"{name} should be of type bool, got: {type(flag).__name__}")
        if input_size <= 0:
            raise ValueError("input_size must be greater than zero")
        self._check_sizes(hidden_size, num_layers, dropout, proj_size)
        if mode not in _GATES:
            raise ValueError(f"Unrecognized RNN mode: {mode}")
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout: float = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._flat_weights_names: list[str] = []
        self._all_weights: list[list[str]] = []
        rows = _GATES[mode] * hidden_size
        real = proj_size or hidden_size
        directions = 2 if bidirectional else 1
        for layer in range(num_layers):
            columns = input_size if layer == 0 else real * directions
            shapes = {"weight_ih": (rows, columns), "weight_hh": (rows, real)}
            if bias:
                shapes.update(bias_ih=(rows,), bias_hh=(rows,))  # type: ignore[arg-type]
            if proj_size:
                shapes["weight_hr"] = (proj_size, hidden_size)
            for end in ("", "_reverse")[:directions]:
                names = [f"{word}_l{layer}{end}" for word in shapes]
                named = dict(zip(names, shapes.values(), strict=True))
                add_parameters(self, dtype, device, **named)
                self._all_weights.append(names)
                self._flat_weights_names += names
        self.reset_parameters()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_flat_weights": self._flat_weights}  # PyTorch's has them

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({name: state[name] for name in state if name != "_flat_weights"})

    @staticmethod
    def _check_sizes(hidden_size: int, num_layers: int, dropout: float, proj_size: int) -> None:
        given: Any = dropout
        number = isinstance(given, numbers.Number) and not isinstance(given, bool)
        if not number or not 0 <= given <= 1:
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an "
                "element being zeroed"
            )
        if dropout > 0 and num_layers == 1:
            warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero "
                f"dropout expects num_layers greater than 1, but got dropout={dropout} and "
                f"num_layers={num_layers}"
            )
        if not isinstance(hidden_size, int):
            raise TypeError(
                f"hidden_size should be of type int, got: {type(hidden_size).__name__}"
            )
        if hidden_size <= 0:
            raise ValueError("hidden_size must be greater than zero")
        if num_layers <= 0:
            raise ValueError("num_layers must be greater than zero")
        if proj_size < 0:
            raise ValueError(
                "proj_size should be a positive integer or zero to disable projections"
            )
        if proj_size >= hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")

    @property
    def _flat_weights(self) -> list[Any]:
        return [getattr(self, name) for name in self._flat_weights_names]

    @property
    def all_weights(self) -> list[list[Any]]:
        """The parameters of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def flatten_parameters(self) -> None:
        """Do nothing: there is no library that wants the parameters in one piece of memory."""

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        bound = 1.0 / math.sqrt(self.hidden_size)
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    # -- checks ----------------------------------------------------------------------------------

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """Raise for an input of another dtype or size.

        ValueError: For another dtype.
        RuntimeError: For another number of dimensions, and another size.
        """
        weight = self._flat_weights[0].dtype
        if input.dtype != weight:
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({weight}). Convert "
                f"input: input.to({weight}), or convert model: model.to({input.dtype})"
            )
        expected = 3 if batch_sizes is None else 2
        if input.ndim != expected:
            raise RuntimeError(f"input must have {expected} dimensions, got {input.ndim}")
        if input.shape[-1] != self.input_size:
            raise RuntimeError(
                "input.size(-1) must be equal to input_size. Expected "
                f"{self.input_size}, got {input.shape[-1]}"
            )

    def get_expected_hidden_size(
        self, input: Tensor, batch_sizes: Tensor | None
    ) -> tuple[int, int, int]:
        """The shape of the state h.

        -> tuple of int: The layers times directions, the examples, and the size.
        """
        return self._state_shape(input, batch_sizes, self.proj_size or self.hidden_size)

    def _state_shape(
        self, input: Tensor, batch_sizes: Tensor | None, size: int
    ) -> tuple[int, int, int]:
        if batch_sizes is not None:
            batch = int(plain_of(batch_sizes)[0])
        else:
            batch = input.shape[0 if self.batch_first else 1]
        return self.num_layers * (2 if self.bidirectional else 1), batch, size

    def check_hidden_size(
        self,
        hx: Tensor,
        expected_hidden_size: tuple[int, int, int],
        msg: str = "Expected hidden size {}, got {}",
    ) -> None:
        """Raise for a state of another shape.

        expected_hidden_size (tuple of int): The shape.
        msg: The text of the error, with places for both shapes.
        RuntimeError: For another shape.
        """
        if tuple(hx.shape) != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.shape)))

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Raise for an input or a state that does not fit.

        hidden (Tensor): The state.
        ValueError: For an input of another dtype.
        RuntimeError: For other shapes.
        """
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """The state with its examples in another order.

        -> Tensor: The state.
        """
        return hx if permutation is None else _permuted(hx, permutation)

    # -- calling ---------------------------------------------------------------------------------

    def _initial(self, input: Tensor, batch_sizes: Tensor | None) -> Any:
        """The state before the first step: zeros."""
        shape = self.get_expected_hidden_size(input, batch_sizes)
        return filled(shape, 0, input.dtype)

    def _require_rank(self, hx: Any, batched: bool) -> None:
        """RuntimeError for a state with batch beside an input without one, or the other way."""
        if hx.ndim != (3 if batched else 2):
            words = (3, "batched") if batched else (2, "unbatched")
            raise RuntimeError(
                f"For {words[1]} {words[0]}-D input, hx should also be {words[0]}-D but got "
                f"{hx.ndim}-D tensor"
            )

    def _each(self, hx: Any, change: Any) -> Any:
        """A state changed: one tensor, or for an LSTM two."""
        return change(hx)

    def forward(self, input: Any, hx: Any = None) -> Any:
        """The outputs of the last layer for all steps, and the last states of all layers.

        input (Tensor or PackedSequence): Of shape (time, batch, input_size), with batch_first
            (batch, time, input_size), or without batch (time, input_size).
        hx (Tensor or tuple of Tensor): The first states, zeros unless given: (layers * directions,
            batch, hidden_size), for an LSTM a pair of them.
        -> tuple: The outputs, as `input` is, with a last dimension of directions * hidden_size;
            and the last states, as `hx`.
        ValueError: For an input of another dtype or other dimensions.
        RuntimeError: For other shapes.
        """
        if isinstance(input, PackedSequence):
            data, sizes, order, back = input
            hx = self._initial(data, sizes) if hx is None else self.permute_hidden(hx, order)
            self.check_forward_args(data, hx, sizes)
            out, hidden = self._call(data, hx, sizes)
            return PackedSequence(out, sizes, order, back), self.permute_hidden(hidden, back)
        if input.ndim not in (2, 3):
            raise ValueError(
                f"{type(self).__name__}: Expected input to be 2D or 3D, got {input.ndim}D instead"
            )
        batched = input.ndim == 3
        place = 0 if self.batch_first else 1
        whole = input if batched else input.unsqueeze(place)
        if hx is None:
            hx = self._initial(whole, None)
        else:
            self._require_rank(hx, batched)
            if not batched:
                hx = self._each(hx, lambda state: state.unsqueeze(1))
        self.check_forward_args(whole, hx, None)
        out, hidden = self._call(whole, hx, None)
        if not batched:
            out = out.squeeze(place)
            hidden = self._each(hidden, lambda state: state.squeeze(1))
        return out, hidden

    def _call(self, input: Tensor, hx: Any, sizes: Tensor | None) -> tuple[Any, Any]:
        states = hx if self.mode == "LSTM" else (hx,)
        given: Any = None if sizes is None else tuple(plain_of(sizes).tolist())
        out, *last = _recurrent._layers(
            input,
            tuple(states),
            self._flat_weights,
            self.mode,
            given,
            self.bias,
            self.num_layers,
            self.dropout,
            self.training,
            self.bidirectional,
            self.batch_first,
        )
        return out, tuple(last) if self.mode == "LSTM" else last[0]


def _permuted(x: Tensor, permutation: Tensor) -> Any:
    return OPERATIONS["index_select"](x, 1, permutation)


class RNN(RNNBase):
    """Recurrent units: the new state is a tanh, or relu, of an affine map of input and state.

    It is `h = tanh(x @ W_ih.T + b_ih + h @ W_hh.T + b_hh)`.

    *args: Those of `RNNBase` after its first, but for `proj_size`; the fourth is the nonlinearity.
    **kwargs: The same by name; `nonlinearity` is "tanh" or "relu".
    ValueError: For another nonlinearity, for `proj_size`, and what `RNNBase` refuses.

    >>> out, state = torch.nn.RNN(3, 4)(torch.ones(5, 2, 3))
    >>> out.shape, state.shape
    (torch.Size([5, 2, 4]), torch.Size([1, 2, 4]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        if len(args) > 3:
            nonlinearity, args = args[3], (*args[:3], *args[4:])
        else:
            nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'."
            )
        super().__init__(f"RNN_{nonlinearity.upper()}", *args, **kwargs)
        self.nonlinearity = nonlinearity

    if TYPE_CHECKING:

        def forward(self, input: Steps, hx: Tensor | None = None) -> tuple[Steps, Tensor]: ...


class GRU(RNNBase):
    """Gated recurrent units; the rows of the weights are those of the gates r, z, n.

    The gates are `r = sigmoid(W_ir x + b_ir + W_hr h + b_hr)`, z likewise, and `n = tanh(W_in x +
    b_in + r (W_hn h + b_hn))`; the new state is `(1 - z) n + z h`.

    *args: Those of `RNNBase` after its first, but for `proj_size`.
    ValueError: For `proj_size`, and what `RNNBase` refuses.

    >>> out, state = torch.nn.GRU(3, 4, bidirectional=True)(torch.ones(5, 2, 3))
    >>> out.shape, state.shape
    (torch.Size([5, 2, 8]), torch.Size([2, 2, 4]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", *args, **kwargs)

    if TYPE_CHECKING:

        def forward(self, input: Steps, hx: Tensor | None = None) -> tuple[Steps, Tensor]: ...


class LSTM(RNNBase):
    """Long short-term memory; the rows of the weights are those of the gates i, f, g, o.

    The cell is f c + i g, the state o tanh(c), where i, f and o are sigmoids and g a tanh of
    affine maps of x and h. With proj_size the state is W_hr (o tanh(c)).

    *args: Those of `RNNBase` after its first.
    ValueError: For what `RNNBase` refuses.

    >>> out, (state, cell) = torch.nn.LSTM(3, 4)(torch.ones(5, 2, 3))
    >>> out.shape, state.shape, cell.shape
    (torch.Size([5, 2, 4]), torch.Size([1, 2, 4]), torch.Size([1, 2, 4]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    if TYPE_CHECKING:

        def forward(self, input: Steps, hx: Pair | None = None) -> tuple[Steps, Pair]: ...

    def get_expected_cell_size(
        self, input: Tensor, batch_sizes: Tensor | None
    ) -> tuple[int, int, int]:
        """The shape of the cell c.

        -> tuple of int: The layers times directions, the examples, and the size.
        """
        return self._state_shape(input, batch_sizes, self.hidden_size)

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Raise for an input or a pair of states that does not fit.

        hidden (tuple of Tensor): The states.
        ValueError: For an input of another dtype.
        RuntimeError: For other shapes.
        """
        self.check_input(input, batch_sizes)
        for place, shape in enumerate(
            (
                self.get_expected_hidden_size(input, batch_sizes),
                self.get_expected_cell_size(input, batch_sizes),
            )
        ):
            words = f"Expected hidden[{place}] size {{}}, got {{}}"
            self.check_hidden_size(hidden[place], shape, words)

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """Both states with their examples in another order.

        hx (tuple of Tensor): The states.
        -> tuple of Tensor: The states.
        """
        if permutation is None:
            return hx
        return _permuted(hx[0], permutation), _permuted(hx[1], permutation)

    def _initial(self, input: Tensor, batch_sizes: Tensor | None) -> Any:
        cell = self.get_expected_cell_size(input, batch_sizes)
        return super()._initial(input, batch_sizes), filled(cell, 0, input.dtype)

    def _require_rank(self, hx: Any, batched: bool) -> None:
        ranks = hx[0].ndim, hx[1].ndim
        if ranks != ((3, 3) if batched else (2, 2)):
            words = (3, "batched") if batched else (2, "unbatched")
            raise RuntimeError(
                f"For {words[1]} {words[0]}-D input, hx and cx should also be {words[0]}-D but "
                f"got ({ranks[0]}-D, {ranks[1]}-D) tensors"
            )

    def _each(self, hx: Any, change: Any) -> Any:
        return change(hx[0]), change(hx[1])


# --- Cells --------------------------------------------------------------------------------------


class RNNCellBase(Module):
    """The base of the cells: weight_ih, weight_hh, bias_ih and bias_hh.

    num_chunks: How many gates there are.

    >>> torch.nn.RNNCellBase(3, 4, True, 1).weight_ih.shape
    torch.Size([4, 3])
    """

    _in_repr = "=input_size =hidden_size bias?"

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: device | str | None = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = num_chunks * hidden_size
        row = (rows,) if bias else None
        weights = {"weight_ih": (rows, input_size), "weight_hh": (rows, hidden_size)}
        add_parameters(self, dtype, device, **weights, bias_ih=row, bias_hh=row)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def _rows(self, x: Tensor, what: str) -> Any:
        """An input or a state as a matrix."""
        if x.ndim not in (1, 2):
            raise ValueError(
                f"{type(self).__name__}: Expected {what} to be 1D or 2D, got {x.ndim}D instead"
            )
        return x if x.ndim == 2 else x.unsqueeze(0)

    def _step(self, function: Any, input: Tensor, hx: Any) -> Any:
        rows = self._rows(input, "input")
        if hx is None:
            state = filled((rows.shape[0], self.hidden_size), 0, input.dtype)
        else:
            state = self._rows(hx, "hidden")
        out = function(rows, state, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        return out if input.ndim == 2 else out.squeeze(0)


class RNNCell(RNNCellBase):
    """One step of an RNN, of inputs (batch, input_size) or (input_size,).

    The state is (batch, hidden_size) or (hidden_size,), zeros unless given.

    nonlinearity ({"tanh", "relu"}): What the state is.

    >>> torch.nn.RNNCell(3, 4)(torch.ones(2, 3)).shape
    torch.Size([2, 4])
    """

    _in_repr = f"{RNNCellBase._in_repr} nonlinearity?"

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: device | str | None = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        if self.nonlinearity not in ("tanh", "relu"):
            self._rows(input, "input")
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        tanh = self.nonlinearity == "tanh"
        return self._step(
            _recurrent.rnn_tanh_cell if tanh else _recurrent.rnn_relu_cell, input, hx
        )


class _Cell(RNNCellBase):
    _chunks: int

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: device | str | None = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, self._chunks, device, dtype)


class GRUCell(_Cell):
    """One step of a GRU, of inputs (batch, input_size) or (input_size,).

    The state is (batch, hidden_size) or (hidden_size,), zeros unless given.

    >>> torch.nn.GRUCell(3, 4)(torch.ones(2, 3)).shape
    torch.Size([2, 4])
    """

    _chunks = 3

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._step(_recurrent.gru_cell, input, hx)


class LSTMCell(_Cell):
    """One step of an LSTM, of inputs (batch, input_size) or (input_size,).

    The states, a pair, are (batch, hidden_size) or (hidden_size,), zeros unless given.

    >>> state, cell = torch.nn.LSTMCell(3, 4)(torch.ones(2, 3))
    >>> state.shape, cell.shape
    (torch.Size([2, 4]), torch.Size([2, 4]))
    """

    _chunks = 4

    def forward(self, input: Tensor, hx: Any = None) -> tuple[Tensor, Tensor]:
        rows = self._rows(input, "input")
        if hx is None:
            zeros = filled((rows.shape[0], self.hidden_size), 0, input.dtype)
            states: Any = (zeros, zeros)
        elif isinstance(hx, Tensor):
            states = hx
        else:
            for place, state in enumerate(hx):
                if state.ndim not in (1, 2):
                    raise ValueError(
                        f"LSTMCell: Expected hx[{place}] to be 1D or 2D, got {state.ndim}D instead"
                    )
            states = tuple(self._rows(state, "hidden") for state in hx)
        h, c = _recurrent.lstm_cell(
            rows, states, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh
        )
        return (h, c) if input.ndim == 2 else (h.squeeze(0), c.squeeze(0))


__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNBase", "RNNCell", "RNNCellBase"]
