"""bfloat16: promotion, rounding, sums in float32, gradients, files; without ml_dtypes."""

from __future__ import annotations

import io
import operator
import pickle
import sys
from typing import Any

import numpy as np
import pytest
from pytorch_answers import of_pytorch

import tapegrad.torch as torch
from tapegrad.torch import _dtypes

BRAIN = torch.bfloat16


@pytest.fixture
def _package() -> None:
    pytest.importorskip("ml_dtypes")


needs_package = pytest.mark.usefixtures("_package")


def brains(*numbers: float) -> Any:
    return torch.tensor(numbers, dtype=BRAIN)


def test_the_dtype_is_there_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    monkeypatch.setattr(_dtypes, "BRAINS", [])
    assert repr(BRAIN) == "torch.bfloat16"
    assert isinstance(BRAIN, torch.dtype)
    assert BRAIN.is_floating_point
    assert not BRAIN.is_complex
    assert BRAIN.itemsize == 2
    assert pickle.loads(pickle.dumps(BRAIN)) is BRAIN
    for call in (
        lambda: torch.ones(2, dtype=BRAIN),
        lambda: torch.ones(2).bfloat16(),
        lambda: torch.ones(2).to(BRAIN),
    ):
        with pytest.raises(ModuleNotFoundError, match="pip install ml_dtypes"):
            call()


def test_limits() -> None:
    info = torch.finfo(BRAIN)
    assert (info.bits, info.eps, info.max) == (16, 2.0**-7, 3.3895313892515355e38)
    assert info.tiny == 2.0**-126
    assert info.min == -info.max


@needs_package
def test_numbers_are_rounded_and_printed() -> None:
    x = brains(1.5, 2.25, -3.1)
    assert repr(x) == "tensor([ 1.5000,  2.2500, -3.0938], dtype=torch.bfloat16)"
    assert x.tolist() == [1.5, 2.25, -3.09375]
    assert x.element_size() == 2
    assert x.type() == "torch.BFloat16Tensor"
    with pytest.raises(TypeError, match="unsupported ScalarType BFloat16"):
        x.numpy()
    with pytest.raises(TypeError, match="unsupported ScalarType BFloat16"):
        np.sum(x)


OTHERS = {
    "number": (2.5, BRAIN),
    "whole": (3, BRAIN),
    "complex": (1j, torch.complex64),
    "float32": (torch.float32, torch.float32),
    "float64": (torch.float64, torch.float64),
    "float16": (torch.float16, torch.float32),
    "int64": (torch.int64, BRAIN),
    "bool": (torch.bool, BRAIN),
    "complex64": (torch.complex64, torch.complex64),
}


@needs_package
@pytest.mark.parametrize("word", OTHERS)
@pytest.mark.parametrize("call", [operator.add, operator.mul, operator.truediv, torch.where])
def test_promotion(word: str, call: Any) -> None:
    other, wanted = OTHERS[word]
    if isinstance(other, torch.dtype):
        other = torch.ones(2, dtype=other)
        assert torch.promote_types(BRAIN, other.dtype) is wanted
    x = brains(0.1, 3.0)
    if call is torch.where:
        assert torch.where(x > 1, x, other).dtype is wanted
        return
    made = call(x, other)
    assert made.dtype is wanted
    exact = call(x.float(), other).to(wanted)
    assert made.tolist() == exact.tolist()
    small = torch.tensor(1.5, dtype=torch.float64)
    assert call(x, small).dtype is BRAIN


@needs_package
def test_sums_and_products_are_computed_in_float32() -> None:
    assert torch.ones(5000, dtype=BRAIN).sum().item() == 4992  # 256 if added in 16 bits
    assert (torch.ones(5000, dtype=BRAIN) @ torch.ones(5000, dtype=BRAIN)).item() == 4992
    assert torch.ones(5000, dtype=BRAIN).mean().item() == 1
    x = torch.ones(1, dtype=BRAIN, requires_grad=True)
    x.expand(5000).sum().backward()
    assert x.grad.item() == 4992
    assert torch.ones(3, dtype=BRAIN).sum(dtype=torch.float32).dtype is torch.float32
    assert torch.ones(3).sum(dtype=BRAIN).dtype is BRAIN
    with pytest.raises(RuntimeError, match="to have the same dtype"):
        torch.ones(2, 2, dtype=BRAIN) @ torch.ones(2, 2)
    with pytest.raises(RuntimeError, match="Low precision dtypes not supported"):
        torch.linalg.inv(torch.eye(2, dtype=BRAIN))


UNARY = (
    "abs cos cumsum0 erf exp floor log1p logsumexp0 mean neg relu rsqrt sigmoid softmax0 sort "
    "sqrt std tanh var"
).split()


@needs_package
@pytest.mark.parametrize("word", UNARY)
def test_functions_are_those_of_float32_rounded(word: str) -> None:
    x = brains(0.3, 1.25, 7.0, 0.011)
    args = (0,) if word.endswith("0") else ()
    call = operator.methodcaller(word.rstrip("0"), *args)
    made, exact = call(x), call(x.float())
    parts = zip(made, exact, strict=True) if isinstance(made, tuple) else [(made, exact)]
    for ours, wide in parts:
        if wide.is_floating_point():
            assert ours.dtype is BRAIN
            assert ours.tolist() == wide.to(BRAIN).tolist()


@needs_package
def test_writes() -> None:
    x = brains(1.0, 2.0, 3.0)
    x += torch.tensor([0.1, 0.2, 0.3])
    x[0] = 7.3
    x[1:] = torch.tensor([2.2, 3.3])
    x.mul_(2.5).clamp_(-1, 8)
    assert x.dtype is BRAIN
    assert x.tolist() == [8.0, 5.5, 8.0]
    x.copy_(torch.tensor([0.1, 0.2, 0.3]))
    assert x.tolist() == brains(0.1, 0.2, 0.3).tolist()


@needs_package
def test_gradients_have_the_dtype_of_their_tensors() -> None:
    x = brains(1.5, -2.25).requires_grad_()
    w = torch.tensor([0.5, 3.0], requires_grad=True)
    out = (x * 3 * w + x.float()[[0, 0]]).sum()
    assert out.dtype is torch.float32
    out.backward()
    assert x.grad.dtype is BRAIN
    assert x.grad.tolist() == [3.5, 9.0]
    assert w.grad.tolist() == [4.5, -6.75]
    x = brains(2.0).requires_grad_()
    (first,) = torch.autograd.grad((x * x * x).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    assert (first.item(), second.item()) == (12.0, 12.0)


@needs_package
@pytest.mark.parametrize("rule", ["SGD", "Adam", "AdamW", "RMSprop"])
def test_a_layer_learns(rule: str) -> None:
    torch.manual_seed(0)
    layer = torch.nn.Linear(3, 1).to(BRAIN)
    x = torch.randn(16, 3, dtype=BRAIN)
    target = x @ torch.ones(3, 1, dtype=BRAIN)
    optimizer = getattr(torch.optim, rule)(layer.parameters(), lr=0.02)
    losses = []
    for _ in range(40):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(layer(x), target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 2
    assert {part.dtype for part in layer.parameters()} == {BRAIN}
    for state in optimizer.state.values():
        assert all(part.dtype in (BRAIN, torch.float32) for part in state.values())


@needs_package
def test_files(tmp_path: Any) -> None:
    whole = torch.arange(6.0).reshape(2, 3).to(BRAIN)
    file = io.BytesIO()
    torch.save({"whole": whole, "part": whole[1], "dtype": BRAIN}, file)
    file.seek(0)
    found = torch.load(file)
    assert found["dtype"] is BRAIN
    assert found["part"].dtype is BRAIN
    found["whole"][1, 0] = 9
    assert found["part"].tolist() == [9, 4, 5]
    pytest.importorskip("safetensors")
    path = tmp_path / "some.safetensors"
    torch.save({"x": whole, "y": torch.ones(2)}, path)
    made = torch.load(path)
    assert made["x"].dtype is BRAIN
    assert made["x"].tolist() == whole.tolist()
    assert made["y"].dtype is torch.float32


@needs_package
def test_files_of_pytorch() -> None:
    def saved(t: Any) -> bytes:
        file = io.BytesIO()
        t.save({"x": t.tensor([1.5, -2.25], dtype=t.bfloat16)}, file)
        return file.getvalue()

    found = torch.load(io.BytesIO(of_pytorch(saved)))["x"]
    assert found.dtype is BRAIN
    assert found.tolist() == [1.5, -2.25]
