"""Saved attributes of nodes: numbers under PyTorch's names, and saved tensors with hooks."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import tapegrad.torch as torch
from tapegrad.torch.serialization import _pytorch

CALLS: dict[str, tuple[Any, dict[str, Any]]] = {
    "pow": (lambda x: x**2.5, {"exponent": 2.5}),
    "sum": (lambda x: x.sum(0), {"dim": (0,), "keepdim": False, "self_sym_sizes": (2, 3)}),
    "mean": (lambda x: x.mean(), {"self_sym_numel": 6, "self_sym_sizes": (2, 3)}),
    "select": (lambda x: x[:, 1], {"dim": 1, "index": 1, "self_sym_sizes": (2, 3)}),
    "slice": (lambda x: x[1:], {"dim": 0, "start": 1, "step": 1}),
    "transpose": (lambda x: x.transpose(0, 1), {"dim0": 0, "dim1": 1}),
    "permute": (lambda x: x.permute(1, 0), {"dims": (1, 0)}),
    "cat": (lambda x: torch.cat([x, x], 1), {"dim": 1}),
    "clamp": (lambda x: x.clamp(1, 2), {"min": 1, "max": 2}),
    "softmax": (lambda x: x.softmax(0), {"dim": 0}),
    "mm": (lambda x: x @ x.t(), {"self_sym_sizes": (2, 3), "self_sym_strides": (3, 1)}),
    "addmm": (lambda x: torch.addmm(x, x[:, :2], x, beta=2, alpha=3), {"alpha": 3, "beta": 2}),
    "var": (lambda x: x.var(0), {"correction": 1, "dim": (0,), "keepdim": False}),
    "leaky_relu": (lambda x: torch.nn.functional.leaky_relu(x, 0.2), {"negative_slope": 0.2}),
    "lerp": (lambda x: torch.lerp(x, x, 0.3), {"weight": 0.3}),
    "flip": (lambda x: x.flip(0), {"dims": (0,)}),
    "roll": (lambda x: x.roll(1), {"shifts": (1,), "dims": ()}),
}


def _saved(library: Any, word: str) -> dict[str, Any]:
    x = library.arange(6.0).reshape(2, 3).requires_grad_()
    call = CALLS[word][0]
    node = eval_with(library, call)(x).grad_fn
    return {name: getattr(node, f"_saved_{name}") for name in CALLS[word][1]}


def eval_with(library: Any, call: Any) -> Any:
    """The same function with another library's `torch`."""
    return type(call)(call.__code__, {"torch": library})


@pytest.mark.parametrize("word", CALLS)
def test_numbers_that_nodes_keep(word: str) -> None:
    assert _saved(torch, word) == CALLS[word][1]


@pytest.mark.peers("torch")  # the table has its answers
@pytest.mark.parametrize("word", CALLS)
def test_the_names_are_those_of_pytorch(word: str) -> None:
    pytorch = pytest.importorskip("torch")
    assert _saved(pytorch, word) == CALLS[word][1]


def test_the_names_are_listed() -> None:
    x = torch.ones(2, requires_grad=True)
    names = dir((x**3).grad_fn)
    assert {"_saved_self", "_saved_exponent", "_raw_saved_self"} <= set(names)
    with pytest.raises(AttributeError, match="_saved_nothing"):
        _ = (x**3).grad_fn._saved_nothing


@pytest.mark.parametrize("call", [lambda x: x * x.detach(), torch.exp, lambda x: x.sum() ** 2])
def test_hooks_of_one_saved_tensor(call: Any) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (wanted,) = torch.autograd.grad(call(x).sum(), x)
    out = call(x)
    word = "result" if "Exp" in type(out.grad_fn).__name__ else "self"
    word = "other" if "Mul" in type(out.grad_fn).__name__ else word
    saved = getattr(out.grad_fn, f"_raw_saved_{word}")
    calls = []
    saved.register_hooks(
        lambda value: calls.append("pack") or value.tolist(),
        lambda held: calls.append("unpack") or torch.tensor(held),
    )
    assert calls == ["pack"]
    assert isinstance(saved.data, (list, float))
    (gradient,) = torch.autograd.grad(out.sum(), x)
    assert calls == ["pack", "unpack"]
    torch.testing.assert_close(gradient, wanted)


def test_errors_of_saved_tensors() -> None:
    x = torch.ones(2, requires_grad=True)
    saved = (x * x).grad_fn._raw_saved_self
    with pytest.raises(TypeError, match="incompatible function arguments"):
        saved.register_hooks(1, 2)
    with pytest.raises(RuntimeError, match="modifying its input in place"):
        saved.register_hooks(lambda value: value.add_(1), lambda value: value)
    saved.register_hooks(lambda value: value, lambda value: value)
    with pytest.raises(RuntimeError, match="hooks have already been set"):
        saved.register_hooks(lambda value: value, lambda value: value)
    with pytest.raises(RuntimeError, match="value None is forbidden"):
        (x * 2.0).grad_fn._raw_saved_self.register_hooks(lambda v: v, lambda v: v)
    out = x.exp()
    saved = out.grad_fn._raw_saved_result
    out.sum().backward()
    with pytest.raises(RuntimeError, match="after it has been freed"):
        saved.register_hooks(lambda value: value, lambda value: value)


def test_the_saved_tensors_of_a_function_take_hooks():
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x, None)
            return x**3

        @staticmethod
        def backward(ctx, g):
            return g * 3 * ctx.saved_tensors[0] ** 2

    x = torch.ones(2, requires_grad=True)
    y = Cube.apply(x)
    first, second = y.grad_fn._raw_saved_tensors
    assert isinstance(first, torch.autograd.SavedTensor)
    assert first.data is x
    assert first.unpack() is x
    assert second.unpack() is None
    with pytest.raises(RuntimeError, match="with value None is forbidden"):
        second.register_hooks(abs, abs)
    for hooks in ((abs,), (1, 1)):
        with pytest.raises(TypeError, match="incompatible function arguments"):
            first.register_hooks(*hooks)
    first.register_hooks(lambda x: 2 * x, lambda x: x)
    assert first.data.tolist() == [2, 2]
    with pytest.raises(RuntimeError, match="already been set"):
        first.register_hooks(abs, abs)
    y.sum().backward()
    assert x.grad.tolist() == [12, 12]
    with pytest.raises(RuntimeError, match="after they have already been freed"):
        _ = y.grad_fn._raw_saved_tensors
    with pytest.raises(RuntimeError, match="after it has been freed"):
        first.register_hooks(abs, abs)
    with pytest.raises(RuntimeError, match="create a SavedTensor object from Python is forbidden"):
        torch.autograd.SavedTensor()


class Plain:
    """An object that has no `__setstate__`."""


def test_a_state_in_a_file_is_no_method_and_no_class():
    made = Plain()
    for state in ({"__setstate__": print}, {"x": 1}):
        _pytorch._build(made, state)
    assert vars(made) == {"__setstate__": print, "x": 1}
    with pytest.raises(pickle.UnpicklingError, match="may not set __class__"):
        _pytorch._build(made, (None, {"__class__": int}))
