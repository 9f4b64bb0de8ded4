"""torch.testing: the messages of assert_close, drawn tensors, and what scripts ask for."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
from pytorch_answers import of_pytorch

import tapegrad.torch as torch
from tapegrad.torch._absent import table

nan = float("nan")
# Pairs, and options; each library makes its own tensors of them.
CLOSE: list[Any] = [
    (lambda t: (t.tensor([1.0, 2.0]), t.tensor([1.0, 2.0 + 1e-6])), {}),
    (lambda t: (t.tensor([1.0, 2.0]), t.tensor([1.0, 2.5])), {}),
    (lambda t: (t.tensor([1.0, 2.0]), t.tensor([1.0, 2.5])), {"rtol": 0.0, "atol": 0.0}),
    (lambda t: (t.tensor([1.0, 2.0]), t.tensor([1.0, 2.5])), {"rtol": 0.3, "atol": 0.1}),
    (lambda t: (t.tensor([[1, 2], [3, 4]]), t.tensor([[1, 2], [5, 0]])), {}),
    (lambda t: (t.tensor([True, False]), t.tensor([True, True])), {}),
    (lambda t: (t.tensor(1.0), t.tensor(2.0)), {}),
    (lambda t: (t.tensor([nan]), t.tensor([nan])), {}),
    (lambda t: (t.tensor([nan]), t.tensor([nan])), {"equal_nan": True}),
    (lambda t: (t.tensor([1.0]), t.tensor([1.0, 1.0])), {}),
    (lambda t: (t.tensor([1.0]), t.tensor([1])), {}),
    (lambda t: (t.tensor([1.0]), t.tensor([1])), {"check_dtype": False}),
    (lambda t: (t.tensor([1.0], dtype=t.float64), t.tensor([1.00001])), {"check_dtype": False}),
    (lambda t: (t.ones(2, 3).T, t.ones(3, 2)), {"check_stride": True}),
    (lambda t: (t.ones(2, 3).T, t.ones(3, 2)), {}),
    (lambda t: (t.tensor([1 + 1j]), t.tensor([1 + 2j])), {}),
    (lambda t: ([t.ones(2), 1], [t.ones(2), 2]), {}),
    (lambda t: ({"a": [1.0, t.ones(1)]}, {"a": [1.0, t.zeros(1)]}), {}),
    (lambda t: ({"a": 1}, {"b": 1}), {}),
    (lambda t: ([1], [1, 2]), {}),
    (lambda t: (1.0, 1.0 + 1e-9), {}),
    (lambda t: (1.0, 1.1), {}),
    (lambda t: (1, 2), {}),
    (lambda t: (1, 1.0), {}),
    (lambda t: (1, 1.0), {"check_dtype": False}),
    (lambda t: (None, None), {}),
    (lambda t: (None, 1), {}),
    (lambda t: (True, False), {}),
    (lambda t: (t.ones(1), 1.0), {}),
    (lambda t: ("a", "a"), {}),
    (lambda t: (np.ones(2), np.zeros(2)), {}),
    (lambda t: (t.ones(0), t.ones(0)), {}),
    (lambda t: (t.ones(2), t.zeros(2)), {"msg": "other text"}),
    (lambda t: (t.ones(2), t.zeros(2)), {"msg": lambda text: "before " + text}),
    (lambda t: (t.ones(2), t.ones(2)), {"rtol": 0.1}),
]


def message(t: Any, place: int) -> tuple[str, str] | None:
    make, options = CLOSE[place]
    try:
        t.testing.assert_close(*make(t), **options)
    except (AssertionError, TypeError, ValueError) as error:
        return type(error).__name__, str(error)
    return None


@pytest.mark.parametrize("place", range(len(CLOSE)))
def test_messages_are_those_of_pytorch(place: int) -> None:
    mine, theirs = message(torch, place), of_pytorch(lambda t: message(t, place))
    if mine is not None and theirs is not None:
        mine = mine[0], mine[1].replace("tapegrad.torch._tensor.tensor.Tensor", "torch.Tensor")
    assert mine == theirs


def test_messages() -> None:
    assert message(torch, 0) is None
    kind, text = message(torch, 1) or ("", "")
    assert kind == "AssertionError"
    assert text == (
        "Tensor-likes are not close!\n\nMismatched elements: 1 / 2 (50.0%)\n"
        "Greatest absolute difference: 0.5 at index (1,) (up to 1e-05 allowed)\n"
        "Greatest relative difference: 0.20000000298023224 at index (1,) (up to 1.3e-06 allowed)"
    )
    kind, text = message(torch, 17) or ("", "")
    assert text.endswith("The failure occurred for item ['a'][1]")
    with pytest.raises(ValueError, match="must be either specified or omitted, but got no atol"):
        torch.testing.assert_close(1, 1, rtol=0.1)


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.int8, torch.uint8, torch.bool, torch.complex64]
)
def test_drawn_tensors(dtype: Any) -> None:
    x = torch.testing.make_tensor((20, 30), dtype=dtype)
    assert x.dtype is dtype
    assert x.shape == (20, 30)
    assert len(x.unique()) > 1 if not dtype.is_complex else True
    if not dtype.is_complex and dtype is not torch.bool:
        assert -9 <= x.min().item() <= x.max().item() <= 9
        y = torch.testing.make_tensor(50, dtype=dtype, low=0, high=3, exclude_zero=True)
        assert 0 < y.min().item() <= y.max().item() <= 3
    y = torch.testing.make_tensor(3, 4, dtype=dtype, noncontiguous=True)
    assert not y.is_contiguous()
    with pytest.raises(ValueError, match="low"):
        torch.testing.make_tensor(2, dtype=torch.float32, low=3, high=1)


# --- What scripts ask for at their top ----------------------------------------------------------


def test_there_is_no_gpu() -> None:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    assert str(device) == "cpu"
    assert torch.cuda.device_count() == 0
    torch.cuda.manual_seed_all(1)
    torch.cuda.empty_cache()
    assert not torch.backends.mps.is_available()
    with pytest.raises(AssertionError, match="not compiled with CUDA"):
        torch.cuda.current_device()
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False
    torch.backends.cuda.matmul.allow_tf32 = True


def test_threads_are_put_back_to_what_the_environment_said() -> None:
    pools = pytest.importorskip("threadpoolctl").threadpool_info
    before = [pool["num_threads"] for pool in pools()]
    torch.utils.benchmark.Timer("1 + 1", num_threads=3).timeit(1)
    assert [pool["num_threads"] for pool in pools()] == before


def test_settings_and_constants() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    assert torch.get_num_threads() == 1
    torch.set_num_threads(before)
    with pytest.raises(RuntimeError, match="positive integer"):
        torch.set_num_threads(0)
    assert (torch.pi, torch.e, torch.inf, torch.newaxis) == (math.pi, math.e, math.inf, None)
    assert math.isnan(torch.nan)
    assert tuple(map(int, torch.__version__.split("+")[0].split("."))) >= (2, 0)
    torch.use_deterministic_algorithms(True)
    assert torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(False)
    torch.set_float32_matmul_precision("high")


def test_what_has_no_effect_says_so_once() -> None:
    table._SAID.clear()
    x = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([x], lr=1.0)
    with pytest.warns(UserWarning, match="GradScaler has no effect"):
        scaler = torch.amp.GradScaler()
    with pytest.warns(UserWarning, match="autocast has no effect"):
        block = torch.autocast("cpu", dtype=torch.float16)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with torch.cuda.amp.autocast(), block:
            loss = (x**2).sum()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
        torch.autocast("cuda")(lambda: None)()
    assert x.tolist() == [-1.0, -1.0]


def test_a_name_that_pytorch_has_and_we_have_not() -> None:
    with pytest.raises(NotImplementedError, match=r"torch\.sparse_coo_tensor: tensors are dense"):
        torch.sparse_coo_tensor([[0]], [1.0])
    with pytest.raises(AttributeError, match=r"has no attribute 'no_such_name'$"):
        getattr(torch, "no_such_" + "name")
