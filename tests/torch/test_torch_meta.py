"""The device "meta": shapes and dtypes without data, and blocks of a default device."""

from __future__ import annotations

import copy
import threading
import warnings

import pytest

import tapegrad.torch as torch
from tapegrad.torch import nn

LAYERS = [
    lambda **on: nn.Linear(3, 4, **on),
    lambda **on: nn.Conv2d(1, 2, 3, **on),
    lambda **on: nn.ConvTranspose1d(1, 2, 3, **on),
    lambda **on: nn.Bilinear(1, 2, 3, **on),
    lambda **on: nn.PReLU(**on),
    lambda **on: nn.BatchNorm2d(3, **on),
    lambda **on: nn.LayerNorm(3, **on),
    lambda **on: nn.GroupNorm(1, 3, **on),
    lambda **on: nn.Embedding(5, 3, padding_idx=0, **on),
    lambda **on: nn.LSTM(2, 3, **on),
    lambda **on: nn.GRUCell(2, 3, **on),
    lambda **on: nn.MultiheadAttention(4, 2, **on),
    lambda **on: nn.Transformer(8, 2, 1, 1, 16, **on),
]


@pytest.mark.parametrize("make", LAYERS)
def test_a_layer_gets_its_values_later(make) -> None:
    layer = make(device="meta")
    tensors = [*layer.parameters(), *layer.buffers()]
    assert all(tensor.is_meta for tensor in tensors)
    with torch.device("meta"):
        assert all(p.is_meta for p in make().parameters())
    right = make()
    assert [t.shape for t in tensors] == [t.shape for t in [*right.parameters(), *right.buffers()]]
    empty = make(device="meta").to_empty(device="cpu")
    assert not any(p.is_meta for p in empty.parameters())
    assert layer.load_state_dict(right.state_dict(), assign=True) == (
        [],
        [],
    )
    for mine, other in zip(layer.parameters(), right.parameters(), strict=True):
        assert mine is other or torch.equal(mine, other)


MADE = [
    lambda: torch.empty(2, 3, device="meta"),
    lambda: torch.randn(2, 3, device=torch.device("meta")),
    lambda: torch.tensor([[1.0, 2.0, 3.0]] * 2, device="meta"),
    lambda: torch.full((2, 3), 3.0, device="meta"),
    lambda: torch.normal(0.0, 1.0, (2, 3), device="meta"),
    lambda: torch.ones(2, 3).to("meta"),
    lambda: torch.rand_like(torch.ones(2, 3, device="meta")),
    lambda: torch.fft.fftfreq(6, device="meta").new_empty(2, 3),
    lambda: torch.empty_like(torch.ones(2, 3, device="meta")),
    lambda: torch.ones(1, device="meta").new_zeros(2, 3),
    lambda: torch.ones(2, 3, device="meta").zero_().normal_().fill_(3).add_(1),
    lambda: torch.ones(2, 3, device="meta").copy_(torch.ones(3)),
    lambda: torch.ones(4, 2, 3, device="meta")[0],
    lambda: copy.deepcopy(torch.ones(2, 3, device="meta")),
    lambda: nn.init.kaiming_uniform_(torch.ones(2, 3, device="meta")),
    lambda: nn.init.trunc_normal_(torch.ones(2, 3, device="meta")),
    lambda: nn.init.sparse_(torch.ones(2, 3, device="meta"), 0.5),
]


@pytest.mark.parametrize("make", MADE)
def test_tensors_without_data(make) -> None:
    x = make()
    assert (x.is_meta, x.shape, x.dtype) == (True, (2, 3), torch.float32)
    assert (str(x.device), x.stride(), x.numel(), x.nbytes) == ("meta", (3, 1), 6, 24)
    assert repr(x) == "tensor(..., device='meta', size=(2, 3))"


x = torch.ones(2, 2, device="meta")
NEED_NUMBERS = [
    lambda: x.tolist(),
    lambda: x.numpy(),
    lambda: x.cpu(),
    lambda: x[0, 0].item(),
    lambda: bool(x[0, 0]),
    lambda: x + x,
    lambda: torch.ones(2) * x,
    lambda: x == x,
    lambda: torch.count_nonzero(x),
    lambda: 1.0 in x,
    lambda: x.sum(),
    lambda: x.argmax(),
    lambda: torch.cat([x, torch.ones(2, 2)]),
    lambda: torch.mm(torch.ones(2, 2), x),
    lambda: torch.equal(x, x),
    lambda: torch.nonzero(x),
    lambda: torch.softmax(x, 0),
    lambda: torch.where(x > 0, x, x),
    lambda: torch.ones(2, 2).copy_(x),
    lambda: torch.ones(3)[torch.zeros(2, dtype=torch.int64, device="meta")],
    lambda: torch.zeros_like(x, device="cpu"),
    lambda: nn.functional.mse_loss(torch.ones(2, 2), x),
    lambda: nn.Linear(2, 2, device="meta")(torch.ones(1, 2)),
    lambda: nn.Linear(2, 2, device="meta").to("cpu"),
    lambda: nn.Conv1d(1, 1, 1, device="meta")(torch.ones(1, 1, 2)),
    lambda: nn.Linear(2, 2)(x),
]


@pytest.mark.parametrize("call", NEED_NUMBERS)
def test_what_needs_numbers_is_refused(call) -> None:
    with pytest.raises(NotImplementedError, match="meta tensor"):
        call()


def test_a_state_without_a_place_is_told() -> None:
    layer = nn.Linear(2, 2, device="meta")
    with pytest.warns(UserWarning, match="for (weight|bias): copying from a non-meta parameter"):
        layer.load_state_dict(nn.Linear(2, 2).state_dict())
    assert layer.weight.is_meta


def test_blocks_of_a_device() -> None:
    @torch.device("meta")
    def made() -> torch.Tensor:
        with torch.device("cpu"):
            assert not torch.ones(1).is_meta
        return torch.ones(1)

    assert made().is_meta
    seen: list[bool] = []
    with torch.device("meta"):
        other = threading.Thread(target=lambda: seen.append(torch.ones(1).is_meta))
        other.start()
        other.join()
    assert seen == [False]
    with torch.device("meta"):
        assert torch.get_default_device() == torch.device("meta")
        assert not torch.zeros(1, device="cpu").is_meta
    torch.set_default_device("meta")
    assert torch.ones(1).is_meta
    torch.set_default_device(None)
    assert not torch.ones(1).is_meta
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with torch.device("cpu"):
            assert torch.ones(1).item() == 1.0


def test_other_devices_have_names_and_no_tensors() -> None:
    assert str(torch.device("cuda", 1)) == "cuda:1"
    with pytest.raises(RuntimeError, match="expected the device 'cpu', got 'cuda:1'"):
        torch.ones(2, device=torch.device("cuda", 1))
    with pytest.raises(RuntimeError, match="Expected one of cpu, cuda, ipu"):
        torch.device("gpu")
