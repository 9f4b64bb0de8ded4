"""Recurrent networks, cells and packed sequences: as PyTorch's, and by themselves."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from agreement import numbers
from pytorch_answers import of_pytorch
from same_modules import module_agrees, weighted

import tapegrad.torch as torch
from tapegrad.torch import func, nn
from tapegrad.torch.nn.utils import rnn

NETWORKS = ["RNN", "GRU", "LSTM"]
KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "deep": {"num_layers": 2, "bidirectional": True},
    "no bias": {"bias": False, "batch_first": True, "num_layers": 2},
    "both": {"bidirectional": True, "batch_first": True},
    "projected": {"proj_size": 2, "num_layers": 2, "bidirectional": True},
    "projected once": {"proj_size": 3, "bias": False},
    "relu": {"nonlinearity": "relu", "num_layers": 2},
}
X, ROW = numbers(4, 5, 3), numbers(5, 3, seed=1)
LENGTHS = {"sorted": [4, 4, 2, 1, 1], "not sorted": [1, 3, 2, 4, 1], "equal": [4] * 5}


def fits(name: str, kind: str) -> bool:
    """Whether a network has the parameters of a kind."""
    return (kind != "relu" or name == "RNN") and (
        not kind.startswith("projected") or name == "LSTM"
    )


CASES = [(name, kind) for name in NETWORKS for kind in KINDS if fits(name, kind)]


def states(name: str, kind: str, *, batch: int | None) -> list[Any]:
    """First states of a network."""
    options = KINDS[kind]
    layers = options.get("num_layers", 1) * (2 if options.get("bidirectional") else 1)
    lead = (layers,) if batch is None else (layers, batch)
    h = numbers(*lead, options.get("proj_size", 4), seed=5)
    return [h, numbers(*lead, 4, seed=6)] if name == "LSTM" else [h]


def called(t: Any, m: Any, x: Any, *hx: Any) -> Any:
    """A network with its states."""
    return m(x, hx if len(hx) > 1 else hx[0])


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_networks(name: str, kind: str) -> None:
    options = KINDS[kind]
    module_agrees(name, 3, 4, inputs=[X], **options)
    module_agrees(name, 3, 4, inputs=[ROW], **options)
    batch = 4 if options.get("batch_first") else 5
    given = states(name, kind, batch=batch)
    module_agrees(name, 3, 4, inputs=[X, *given], call=called, **options)
    given = states(name, kind, batch=None)
    module_agrees(name, 3, 4, inputs=[ROW, *given], call=called, **options)


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_networks_of_packed_sequences(name: str, kind: str) -> None:
    options = dict(KINDS[kind])
    first = options.pop("batch_first", False)
    given = states(name, kind, batch=5)
    x = X.transpose(1, 0, 2).copy() if first else X
    for order, lengths in LENGTHS.items():

        def call(
            t: Any, m: Any, x: Any, *hx: Any, order: str = order, lengths: Any = lengths
        ) -> Any:
            utils = t.nn.utils.rnn
            packed = utils.pack_padded_sequence(
                x, lengths, batch_first=first, enforce_sorted=order != "not sorted"
            )
            out, last = called(t, m, packed, *hx)
            return utils.pad_packed_sequence(out, padding_value=0.5, total_length=6)[0], last

        module_agrees(name, 3, 4, inputs=[x, *given], call=call, **options)


@pytest.mark.parametrize("name", ["RNNCell", "GRUCell", "LSTMCell"])
@pytest.mark.parametrize("bias", [True, False])
def test_cells(name: str, bias: bool) -> None:
    h, c = numbers(2, 4, seed=2), numbers(2, 4, seed=3)
    for x, more in ((numbers(2, 3), (h, c)), (numbers(3), (h[0], c[0]))):
        module_agrees(name, 3, 4, bias, inputs=[x])
        given = more if name == "LSTMCell" else more[:1]
        module_agrees(name, 3, 4, bias, inputs=[x, *given], call=called)


def test_networks_as_functions() -> None:
    def seen(library: Any) -> list[Any]:
        module, found = weighted(library, "LSTM", 3, 4, 2), []
        x, h = library.from_numpy(X.copy()), library.zeros(2, 5, 4, dtype=library.float64)
        weights = list(module.parameters())
        options = (True, 2, 0.0, False, False)
        found += library.lstm(x, (h, h), weights, *options, False)
        packed = library.nn.utils.rnn.pack_padded_sequence(x, LENGTHS["sorted"])
        found += library.lstm(packed.data, packed.batch_sizes, (h, h), weights, *options)
        found += library.lstm_cell(x[0], (h[0], h[1]), *weights[:4])
        return [part.detach().numpy() for part in found]

    for mine, theirs in zip(seen(torch), of_pytorch(seen), strict=True):
        np.testing.assert_allclose(mine, theirs, 1e-10, 1e-10)


# --- Without PyTorch ----------------------------------------------------------------------------


def network(name: str, *sizes: int, **options: Any) -> Any:
    torch.manual_seed(1)
    return getattr(nn, name)(*sizes, **options).double()


@pytest.mark.part(3)
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("RNN", {"nonlinearity": "relu"}),
        ("RNN", {"bidirectional": True}),
        ("GRU", {}),
        ("GRU", {"bias": False}),
        ("LSTM", {}),
        ("LSTM", {"proj_size": 1, "bias": False}),
    ],
)
def test_networks_against_differences(name: str, options: Any) -> None:
    module = network(name, 2, 2, **options)
    x = torch.from_numpy(numbers(2, 2, 2)).requires_grad_()
    weights = list(module.parameters())
    names = [name for name, _ in module.named_parameters()]

    def call(x: Any, *weights: Any) -> Any:
        out, last = func.functional_call(module, dict(zip(names, weights, strict=True)), (x,))
        return (out, *last) if name == "LSTM" else (out, last)

    given = (x, *weights)
    assert torch.autograd.gradcheck(call, given, check_forward_ad=True, fast_mode=True)
    assert torch.autograd.gradgradcheck(call, given, fast_mode=True)


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_is_its_cell_step_by_step(name: str) -> None:
    module, cell = network(name, 3, 4), network(f"{name}Cell", 3, 4)
    for (_, x), y in zip(module.named_parameters(), cell.parameters(), strict=True):
        y.data.copy_(x.data)
    x = torch.from_numpy(X.copy())
    state = None
    for place, part in enumerate(x):
        state = cell(part, state)
        h = state[0] if name == "LSTM" else state
        np.testing.assert_allclose(
            module(x)[0][place].detach().numpy(), h.detach().numpy(), 1e-12, 1e-12
        )


@pytest.mark.parametrize("name", NETWORKS)
def test_packed_sequences_are_as_each_alone(name: str) -> None:
    module = network(name, 3, 4, 2, bidirectional=True)
    parts = [torch.from_numpy(numbers(count, 3, seed=count)) for count in (2, 4, 1, 3)]
    out, _ = module(rnn.pack_sequence(parts, enforce_sorted=False))
    for part, found in zip(parts, rnn.unpack_sequence(out), strict=True):
        np.testing.assert_allclose(
            found.detach().numpy(), module(part)[0].detach().numpy(), 1e-10, 1e-12
        )


def test_networks_map_over_examples_and_parameters() -> None:
    module = network("LSTM", 3, 4)
    x = torch.from_numpy(X.copy())
    whole = module(x)[0]
    mapped = func.vmap(lambda part: module(part)[0], in_dims=1, out_dims=1)(x)
    np.testing.assert_allclose(mapped.detach().numpy(), whole.detach().numpy(), 1e-10, 1e-12)
    slope = func.grad(lambda x: module(x)[0].sin().sum())(x)
    y = x.clone().requires_grad_()
    module(y)[0].sin().sum().backward()
    np.testing.assert_allclose(slope.detach().numpy(), y.grad.numpy(), 1e-10, 1e-12)


def test_two_backward_passes_through_one_call() -> None:
    module = network("GRU", 3, 4)
    x = torch.from_numpy(X.copy()).requires_grad_()
    out = module(x)[0].sum()
    out.backward(retain_graph=True)
    first = x.grad.clone()
    out.backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * first.numpy())


def test_dropout_is_between_layers_and_in_training_alone() -> None:
    module = network("LSTM", 3, 8, num_layers=2, dropout=0.5)
    x = torch.from_numpy(X.copy())
    assert not module(x)[0].equal(module(x)[0])
    module.eval()
    assert module(x)[0].equal(module(x)[0])
    with pytest.warns(UserWarning, match="dropout option adds dropout after all but last"):
        nn.LSTM(3, 4, dropout=0.5)


def test_packing_and_padding() -> None:
    parts = [torch.arange(n) + 10 * n for n in (2, 3, 1)]
    packed = rnn.pack_sequence(parts, enforce_sorted=False)
    assert packed.data.tolist() == [30, 20, 10, 31, 21, 32]
    assert packed.batch_sizes.tolist() == [3, 2, 1]
    assert packed.sorted_indices.tolist() == [1, 0, 2]
    assert packed.unsorted_indices.tolist() == [1, 0, 2]
    padded, lengths = rnn.pad_packed_sequence(packed, batch_first=True, padding_value=-1)
    assert padded.tolist() == [[20, 21, -1], [30, 31, 32], [10, -1, -1]]
    assert lengths.tolist() == [2, 3, 1]
    assert padded.equal(rnn.pad_sequence(parts, batch_first=True, padding_value=-1))
    left = rnn.pad_sequence(parts, batch_first=True, padding_side="left")
    assert left.tolist() == [[0, 20, 21], [30, 31, 32], [0, 0, 10]]
    for given, found in zip(parts, rnn.unpad_sequence(padded, lengths, True), strict=True):
        assert given.equal(found)
    assert packed.double().data.dtype is torch.float64
    assert packed.to(torch.int64) is packed
    data, sizes, *_ = packed
    assert data is packed.data
    assert sizes is packed.batch_sizes


def test_gradients_reach_the_parts_of_a_packed_sequence() -> None:
    parts = [torch.ones(n, 2, dtype=torch.float64, requires_grad=True) for n in (3, 1)]
    packed = rnn.pack_sequence(parts)
    (packed.data * torch.arange(4.0)[:, None]).sum().backward()
    assert parts[0].grad[:, 0].tolist() == [0, 2, 3]
    assert parts[1].grad.tolist() == [[1, 1]]


def test_names_of_parameters() -> None:
    module = nn.LSTM(3, 4, bidirectional=True, proj_size=2)
    names = "weight_ih weight_hh bias_ih bias_hh weight_hr".split()
    expected = [f"{name}_l0{end}" for end in ("", "_reverse") for name in names]
    assert list(module.state_dict()) == expected
    assert len(module.all_weights) == 2
    assert module.all_weights[1][4] is module.weight_hr_l0_reverse
    assert repr(module) == "LSTM(3, 4, proj_size=2, bidirectional=True)"


TIME = torch.ones(5, 2, 3)
WRONG: dict[str, tuple[Any, Any, str]] = {
    "rank": (lambda: nn.LSTM(3, 4)(TIME[0, 0]), ValueError, "LSTM: Expected input to be 2D or 3D"),
    "size": (
        lambda: nn.GRU(4, 4)(TIME),
        RuntimeError,
        r"input.size\(-1\) must be equal to input_size. Expected 4, got 3",
    ),
    "dtype": (
        lambda: nn.RNN(3, 4)(TIME.double()),
        ValueError,
        r"RNN input dtype \(torch.float64\) does not match weight dtype \(torch.float32\)",
    ),
    "state": (
        lambda: nn.GRU(3, 4)(TIME, torch.ones(1, 3, 4)),
        RuntimeError,
        r"Expected hidden size \(1, 2, 4\), got \[1, 3, 4\]",
    ),
    "states": (
        lambda: nn.LSTM(3, 4)(TIME, (torch.ones(1, 2, 4), torch.ones(1, 2, 5))),
        RuntimeError,
        r"Expected hidden\[1\] size \(1, 2, 4\), got \[1, 2, 5\]",
    ),
    "ranks": (
        lambda: nn.LSTM(3, 4)(TIME, (torch.ones(2, 4), torch.ones(2, 4))),
        RuntimeError,
        r"For batched 3-D input, hx and cx should also be 3-D but got \(2-D, 2-D\) tensors",
    ),
    "empty": (
        lambda: nn.LSTM(3, 4)(TIME[:0]),
        RuntimeError,
        "Expected sequence length to be larger than 0 in RNN",
    ),
    "projection": (lambda: nn.GRU(3, 4, proj_size=2), ValueError, "only supported for LSTM"),
    "wide": (lambda: nn.LSTM(3, 4, proj_size=4), ValueError, "smaller than hidden_size"),
    "hidden": (lambda: nn.LSTM(3, 0), ValueError, "hidden_size must be greater than zero"),
    "layers": (lambda: nn.LSTM(3, 4, 0), ValueError, "num_layers must be greater than zero"),
    "kind": (lambda: nn.LSTM(3, 4.0), TypeError, "hidden_size should be of type int, got: float"),  # type: ignore[arg-type]
    "nonlinearity": (
        lambda: nn.RNN(3, 4, nonlinearity="x"),
        ValueError,
        "Unknown nonlinearity 'x'. Select from 'tanh' or 'relu'",
    ),
    "cell": (
        lambda: nn.LSTMCell(3, 4)(TIME),
        ValueError,
        "LSTMCell: Expected input to be 1D or 2D, got 3D instead",
    ),
    "cell size": (
        lambda: nn.GRUCell(3, 4)(TIME[0], torch.ones(3, 4)),
        RuntimeError,
        "Input batch size 2 doesn't match hidden0 batch size 3",
    ),
    "sorted": (
        lambda: rnn.pack_padded_sequence(TIME, [2, 3]),
        RuntimeError,
        "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True",
    ),
    "lengths": (
        lambda: rnn.pack_padded_sequence(TIME, [3, 0]),
        RuntimeError,
        "Length of all samples has to be greater than 0",
    ),
    "count": (
        lambda: rnn.pack_padded_sequence(TIME, [3]),
        RuntimeError,
        r"Expected `len\(lengths\)` to be equal to batch_size, but got 1 \(batch_size=2\)",
    ),
    "total": (
        lambda: rnn.pad_packed_sequence(rnn.pack_sequence([TIME]), total_length=2),
        ValueError,
        "Expected total_length to be at least the length of the longest sequence",
    ),
    "nothing": (lambda: rnn.pad_sequence([]), RuntimeError, "received an empty list of sequences"),
    "side": (
        lambda: rnn.pad_sequence([TIME], padding_side="x"),
        RuntimeError,
        "Expected padding_side to be one of left or right, but got x",
    ),
}


@pytest.mark.parametrize("word", WRONG)
def test_errors_of_recurrent_networks(word: str) -> None:
    call, error, words = WRONG[word]
    with warnings.catch_warnings(), pytest.raises(error, match=words):
        call()
