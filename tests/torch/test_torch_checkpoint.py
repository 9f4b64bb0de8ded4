"""torch.utils.checkpoint: the same values and gradients, computed twice and kept once."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext, suppress
from typing import Any

import numpy as np
import pytest

import tapegrad.torch as torch
from tapegrad.torch import nn
from tapegrad.torch.utils.checkpoint import (
    CheckpointError,
    DefaultDeviceType,
    checkpoint,
    checkpoint_sequential,
    detach_variable,
    get_device_states,
    set_checkpoint_debug_enabled,
    set_checkpoint_early_stop,
)

MODES = [False, True]


def net() -> Any:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 4), nn.Sigmoid(), nn.Linear(4, 2)
    )


def gradients(model: Any, run: Any) -> list[Any]:
    x = torch.ones(5, 3, requires_grad=True)
    model.zero_grad()
    out = run(model, x)
    (out**2).sum().backward()
    return [out.detach().numpy(), x.grad.numpy(), *(p.grad.numpy() for p in model.parameters())]


@pytest.mark.parametrize("reentrant", MODES)
@pytest.mark.parametrize("segments", [1, 2, 3, 5])
def test_gradients_are_those_without(reentrant: bool, segments: int) -> None:
    model = net()
    plain = gradients(model, lambda model, x: model(x))
    whole = gradients(model, lambda model, x: checkpoint(model, x, use_reentrant=reentrant))
    parts = gradients(
        model, lambda model, x: checkpoint_sequential(model, segments, x, use_reentrant=reentrant)
    )
    for one, two, three in zip(plain, whole, parts, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-6)
        np.testing.assert_allclose(one, three, rtol=1e-6)


@pytest.mark.parametrize("reentrant", MODES)
def test_a_segment_runs_twice_and_draws_the_same_numbers(reentrant: bool) -> None:
    drawn = []

    def segment(x: Any, scale: float) -> Any:
        drawn.append(torch.rand(3))
        return x * drawn[-1] * scale

    x = torch.ones(3, requires_grad=True)
    y = checkpoint(segment, x, 2.0, use_reentrant=reentrant)
    assert len(drawn) == 1
    following = torch.rand(1).item()
    state = torch.get_rng_state()
    y.sum().backward()
    assert len(drawn) == 2
    assert drawn[0].tolist() == drawn[1].tolist()
    assert following != drawn[1][0].item()
    assert torch.get_rng_state().equal(state)
    np.testing.assert_allclose(x.grad.numpy(), 2 * drawn[0].numpy())
    y = checkpoint(segment, x, 2.0, use_reentrant=reentrant, preserve_rng_state=False)
    y.sum().backward()
    assert drawn[2].tolist() != drawn[3].tolist()


@pytest.mark.parametrize("reentrant", MODES)
def test_several_inputs_and_outputs(reentrant: bool) -> None:
    def segment(x: Any, flag: bool, y: Any) -> Any:
        return x * y, (x + y if flag else x - y)

    x, y = torch.tensor([2.0], requires_grad=True), torch.tensor([5.0])
    product, total = checkpoint(segment, x, True, y, use_reentrant=reentrant)
    (product * total).backward()
    assert x.grad.tolist() == [5.0 * 7.0 + 10.0]
    assert y.grad is None


def test_a_graph_that_is_kept_is_computed_again_each_time() -> None:
    calls = []

    def segment(x: Any, power: int = 2) -> Any:
        calls.append(1)
        return (x**power).sin()

    x = torch.tensor([0.5], dtype=torch.float64, requires_grad=True)
    y = checkpoint(segment, x, use_reentrant=False, power=3).sum()
    for _ in range(2):
        y.backward(retain_graph=True)
    assert len(calls) == 3
    (first,) = torch.autograd.grad(y, x, retain_graph=True)
    np.testing.assert_allclose(first.item(), np.cos(0.125) * 0.75)
    np.testing.assert_allclose(x.grad.item(), 2 * np.cos(0.125) * 0.75)


def test_without_reentrance_by_a_part_of_the_inputs() -> None:
    model = net()
    out = checkpoint(model, torch.ones(2, 3), use_reentrant=False)
    (grad,) = torch.autograd.grad(out.sum(), model[0].bias)
    (plain,) = torch.autograd.grad(model(torch.ones(2, 3)).sum(), model[0].bias)
    np.testing.assert_allclose(grad.numpy(), plain.numpy(), rtol=1e-6)


def changing(first: Any, then: Any) -> Any:
    """A segment that does something else from its second run on."""
    calls: list[int] = []

    def segment(x: Any) -> Any:
        calls.append(1)
        return (first if len(calls) == 1 else then)(x)

    return segment


OTHERWISE = [
    (lambda x: x.sin().cos(), lambda x: x.sin(), {}, "A different number of tensors was saved"),
    (
        lambda x: x.sin(),
        lambda x: x.sin().cos(),
        {"early_stop": False},
        "save more tensors during",
    ),
    (lambda x: x.sin(), lambda x: x.double().sin(), {}, "'dtype': torch.float64"),
    (lambda x: x.sin(), lambda x: x[:1].sin(), {"debug": True}, "in <lambda>|:<lambda>:"),
]


@pytest.mark.parametrize(("first", "then", "options", "words"), OTHERWISE)
def test_a_segment_that_does_otherwise_is_found(
    first: Any, then: Any, options: dict[str, Any], words: str
) -> None:
    x = torch.ones(2, requires_grad=True)
    out = checkpoint(changing(first, then), x, use_reentrant=False, **options).sum()
    with pytest.raises(CheckpointError, match=words):
        out.backward()


def test_what_is_not_looked_at() -> None:
    x = torch.ones(2, requires_grad=True)
    more = changing(lambda x: x.sin(), lambda x: x.sin().cos().exp())
    checkpoint(more, x, use_reentrant=False).sum().backward()  # ends before the cosine
    np.testing.assert_allclose(x.grad.numpy(), np.cos(1.0), rtol=1e-6)
    x.grad = None
    other = changing(lambda x: x.sin(), lambda x: x.double().sin())
    checkpoint(other, x, use_reentrant=False, determinism_check="none").sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.cos(1.0), rtol=1e-6)


def test_a_second_run_ends_early_unless_told_otherwise() -> None:
    calls: list[str] = []

    def segment(x: Any) -> Any:
        y = x.sin()
        calls.append("sine")
        z = y.exp()
        calls.append("end")
        return z * 2

    def run(early: bool | None = None, **options: Any) -> list[str]:
        calls.clear()
        x = torch.ones(3, requires_grad=True)
        setting = set_checkpoint_early_stop(early) if early is not None else nullcontext()
        with setting:
            y = checkpoint(segment, x, use_reentrant=False, **options)
        y.sum().backward()
        return calls[2:]

    assert run() == ["sine"]
    assert run(early_stop=False) == ["sine", "end"]
    assert run(early=False) == ["sine", "end"]
    assert run(early=True, early_stop=False) == ["sine"]


def test_debugging_everywhere() -> None:
    x = torch.ones(2, requires_grad=True)
    segment = changing(lambda x: x.sin().cos(), lambda x: x.sin())
    with set_checkpoint_debug_enabled(True):
        out = checkpoint(segment, x, use_reentrant=False).sum()
    with pytest.raises(CheckpointError, match="Tensors saved during recomputation"):
        out.backward()
    with pytest.raises(ValueError, match="debug=True is incompatible with non-default"):
        checkpoint(
            torch.sin, x, use_reentrant=False, debug=True, context_fn=lambda: (nullcontext(),) * 2
        )


def test_contexts_of_both_runs() -> None:
    seen: list[str] = []

    @contextmanager
    def noting(word: str) -> Any:
        seen.append(word)
        yield

    x = torch.ones(2, requires_grad=True)
    out = checkpoint(
        torch.sin, x, use_reentrant=False, context_fn=lambda: (noting("one"), noting("two"))
    )
    assert seen == ["one"]
    out.sum().backward()
    assert seen == ["one", "two"]

    def failing(x: Any) -> Any:
        raise KeyError

    contexts = suppress(KeyError), nullcontext()
    with pytest.raises(RuntimeError, match="suppressed an exception raised during"):
        checkpoint(failing, x, use_reentrant=False, context_fn=lambda: contexts)


def test_reentrant_segments_need_a_whole_pass() -> None:
    x = torch.ones(2, requires_grad=True)
    out = checkpoint(torch.sin, x, use_reentrant=True).sum()
    assert type(checkpoint(torch.sin, x, use_reentrant=True).grad_fn).__name__ == (
        "CheckpointFunctionBackward"
    )
    with pytest.raises(RuntimeError, match=r"is incompatible with \.grad"):
        torch.autograd.grad(out, x, retain_graph=True)


def test_the_small_functions() -> None:
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    again, one = detach_variable((y, 1))
    assert again.is_leaf
    assert again.requires_grad
    assert one == 1
    with pytest.raises(RuntimeError, match="Only tuple of tensors is supported"):
        detach_variable([y])
    assert get_device_states(x) == ([], [])
    assert DefaultDeviceType.get_device_type() == "cpu"
    with pytest.raises(ValueError, match="must not be zero"):
        checkpoint_sequential([torch.sin], 2, x, use_reentrant=False)


def test_refused_calls_and_warnings() -> None:
    x = torch.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match="use_reentrant parameter should be passed explicitly"):
        checkpoint(torch.exp, x)
    with pytest.raises(ValueError, match="Unexpected keyword arguments: other"):
        checkpoint(torch.exp, x, use_reentrant=True, other=1)
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
        checkpoint(torch.exp, torch.ones(2), use_reentrant=True)
    with pytest.raises(ValueError, match="determinism_check should be one of"):
        checkpoint(torch.exp, x, use_reentrant=False, determinism_check="x")
    with pytest.raises(ValueError, match="only supported when use_reentrant=False"):
        checkpoint(torch.exp, x, use_reentrant=True, debug=True)
    with torch.no_grad():
        assert not checkpoint(torch.exp, x, use_reentrant=False).requires_grad
