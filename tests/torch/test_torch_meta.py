"""The device "meta": shapes and dtypes without data, and blocks of a default device."""

from __future__ import annotations

import copy
import threading
import warnings

import pytest
from tables import all_rows

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


VIEWS = {
    "view": lambda x: x.view(2, 6),
    "view of a transpose": lambda x: x.t().view(4, 1, 3),
    "reshape": lambda x: x.reshape(2, -1),
    "reshape with a copy": lambda x: x.t().reshape(2, 6),
    "flatten": lambda x: x.flatten(),
    "unflatten": lambda x: x.unflatten(1, (2, 2)),
    "t": lambda x: x.t(),
    "T": lambda x: x.T,
    "permute": lambda x: x.permute(1, 0),
    "transpose": lambda x: x.transpose(0, 1),
    "movedim": lambda x: x.movedim(0, 1),
    "expand": lambda x: x[:1].expand(5, 4),
    "broadcast_to": lambda x: x.broadcast_to(2, 3, 4),
    "unsqueeze": lambda x: x.unsqueeze(1),
    "squeeze": lambda x: x[:, :1].squeeze(1),
    "rows": lambda x: x[1:],
    "steps": lambda x: x[::2, 1:3],
    "row": lambda x: x[-1],
    "column": lambda x: x[:, 1],
    "element": lambda x: x[1, 2],
    "new dimension": lambda x: x[..., None],
    "positions": lambda x: x[[2, 0]],
    "select": lambda x: x.select(1, 2),
    "narrow": lambda x: x.narrow(1, 1, 2),
    "diagonal": lambda x: x.diagonal(1),
    "unbind": lambda x: x.unbind(1)[2],
    "split": lambda x: x.split(2)[1],
    "chunk": lambda x: x.chunk(2, 1)[1],
    "unfold": lambda x: x.unfold(1, 2, 1),
    "view of a view": lambda x: x[1:].t()[1:, 0],
    "detach": lambda x: x.detach()[1:],
    "contiguous": lambda x: x.t().contiguous(),
    "clone": lambda x: x.t().clone(),
}


@pytest.mark.parametrize("requires_grad", [False, True])
def test_views_lie_where_those_of_numbers_do(requires_grad) -> None:
    with all_rows() as row:
        for name, view in VIEWS.items():
            with row(name):
                mine = view(torch.empty(3, 4, device="meta", requires_grad=requires_grad))
                other = view(torch.ones(3, 4, requires_grad=requires_grad))
                assert mine.is_meta
                assert (mine.shape, mine.stride()) == (other.shape, other.stride())
                assert mine.storage_offset() == other.storage_offset()
                assert mine.is_contiguous() == other.is_contiguous()
                names = [x.grad_fn and x.grad_fn.name() for x in (mine, other)]
                assert names[0] == names[1]


def test_other_shapes_of_meta_tensors_are_refused_as_those_of_numbers() -> None:
    x = torch.empty(3, 4, device="meta")
    with pytest.raises(RuntimeError, match="not compatible with input tensor's size and stride"):
        x.t().view(2, 6)
    with pytest.raises(RuntimeError, match="is invalid for input of size 12"):
        x.view(5, -1)
    with pytest.raises(IndexError):
        x[3]
    assert x[:1].expand(10**12, 4)[1:].t().shape == (4, 10**12 - 1)
    assert x.view(torch.int32).dtype == torch.int32
    x[0].add_(1.0)
    x[1:] = 2.0


x = torch.ones(2, 2, device="meta")
NEED_NUMBERS = [
    lambda: x.tolist(),
    lambda: x.as_strided((2,), (1,)),
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
