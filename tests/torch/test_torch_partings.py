"""Where drawn programs parted from PyTorch: what hooks of nodes see, first gradients, strides."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tapegrad.torch as torch
from tapegrad.torch.autograd import grad, graph


def test_the_condition_is_no_argument_of_a_choice() -> None:
    x, y = (torch.ones(2, requires_grad=True) for _ in range(2))
    made = torch.where(torch.tensor([True, False]), x, y)
    assert [type(node).__name__ for node, _ in made.grad_fn.next_functions] == (
        ["AccumulateGrad"] * 2
    )
    seen: list[Any] = []
    made.grad_fn.register_hook(lambda parts, _: seen.append(parts) or (parts[0] * 2, parts[1]))
    first, second = grad(made.sum(), (x, y), retain_graph=True)
    assert [part.tolist() for part in seen[0]] == [[1, 0], [0, 1]]
    assert (first.tolist(), second.tolist()) == ([2, 0], [0, 1])
    assert len(made.grad_fn(torch.ones(2))) == 2


def test_a_hook_sees_the_gradient_of_the_transposed_weight() -> None:
    layer, x = torch.nn.Linear(2, 3), torch.ones(1, 2, requires_grad=True)
    seen: list[Any] = []

    def double(parts: Any, _: Any) -> Any:
        seen.append([tuple(part.shape) for part in parts])
        return tuple(part * 2 for part in parts)

    made = layer(x)
    assert made.grad_fn(torch.ones(1, 3))[2].shape == (2, 3)
    made.grad_fn.register_hook(double)
    made.sum().backward()
    assert seen[0][1:] == [(1, 2), (2, 3)]
    assert layer.weight.grad.tolist() == [[2, 2]] * 3
    np.testing.assert_allclose(x.grad, 2 * layer.weight.detach().sum(0, keepdim=True))


@pytest.mark.parametrize("place", [0, 1])
def test_hooks_see_no_gradient_that_a_pass_leaves_out(place: int) -> None:
    leaves = [torch.ones(2, requires_grad=True) for _ in range(2)]
    made = leaves[0] * leaves[1]
    seen: list[Any] = []
    made.grad_fn.register_hook(lambda parts, _: seen.append([part is None for part in parts]))
    grad(made.sum(), leaves[place], retain_graph=True)
    made.sum().backward()
    assert seen == [[place == 1, place == 0], [False, False]]


def test_pre_hooks_of_a_module_run_after_the_node_of_its_output() -> None:
    layer = torch.nn.Linear(2, 2)
    seen: list[Any] = []
    layer.register_full_backward_pre_hook(lambda _, grads: tuple(g * 2 for g in grads))
    layer.register_backward_hook(lambda _, inner, outer: seen.append((inner[0], outer[0])))
    with pytest.warns(FutureWarning, match="non-full backward hook"):
        made = layer(torch.ones(1, 2, requires_grad=True))
    made.sum().backward()
    assert [part.tolist() for part in seen[0]] == [[[2, 2]], [[1, 1]]]


def test_a_first_gradient_with_a_graph_is_a_copy() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    inner = x * x
    inner.retain_grad()
    (inner * inner).sum().backward(create_graph=True)
    assert x.grad.grad_fn.name() == "torch::autograd::CopyBackwards"
    assert type(inner.grad.grad_fn).__name__ == "CloneBackward0"
    with torch.no_grad():
        x.grad.mul_(0)
    assert inner.grad.tolist() == [2, 8]
    assert grad(x.grad.sum(), x)[0].tolist() == [12, 48]


def test_what_a_function_returns_for_inputs_without_gradients_is_not_checked() -> None:
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            ctx.save_for_backward(*(saved if isinstance(saved, tuple) else (saved,)))
            return x * y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g[:1].expand(3), g

    saved: Any = ()
    x, y = torch.ones(2), torch.ones(2, requires_grad=True)
    assert grad(Product.apply(x, y).sum(), y)[0].tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="invalid gradient at index 0"):
        grad(Product.apply(y, y).sum(), y)
    saved = 3
    assert Product.apply(x, x).tolist() == [1, 1]
    with pytest.raises(TypeError, match="can only save variables, but argument 0 is of type int"):
        Product.apply(x, y)


def test_marking_as_dirty_counts_a_write() -> None:
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

    for x in (torch.ones(2), torch.ones(2, requires_grad=True) * 1):
        assert Doubled.apply(x)._version == 2


@pytest.mark.parametrize("hooks", [(3, lambda v: v), (lambda v: v, None)])
def test_hooks_of_saved_tensors_are_functions(hooks: Any) -> None:
    with pytest.raises(TypeError, match="must be callable"), graph.saved_tensors_hooks(*hooks):
        pass


@pytest.mark.parametrize(
    ("made", "strides"),
    [
        (lambda x: x[None], (6, 3, 1)),
        (lambda x: x.unsqueeze(1), (3, 3, 1)),
        (lambda x: x[..., None], (3, 1, 1)),
        (lambda x: x.unsqueeze(0)[:, 1], (6, 1)),
        (lambda x: x.t()[None], (3, 1, 3)),
        (lambda x: x.expand(4, 2, 3)[:1], (0, 3, 1)),
        (lambda x: torch.cat([x.t(), x.t()[:1]]), (2, 1)),
        (lambda x: torch.stack([x.t(), x.t()]), (6, 2, 1)),
        (lambda x: torch.where(x.t() > 0, x.t(), x.reshape(3, 2)), (1, 3)),
    ],
)
def test_strides(made: Any, strides: tuple[int, ...]) -> None:
    x = torch.arange(6.0).reshape(2, 3)
    assert made(x).stride() == strides
    assert made(x.requires_grad_()).stride() == strides


def test_the_order_of_a_write_s_errors() -> None:
    leaf = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="a view of a leaf Variable"):
        leaf.expand(3, 2).add_(1)
    with pytest.raises(RuntimeError, match=r"must match the existing size \(3\)"):
        leaf[:] = torch.ones(3)
    with pytest.raises(RuntimeError, match="a leaf Variable"):
        leaf.copy_(torch.ones(3))


def test_an_index_of_no_dimensions() -> None:
    x = torch.tensor(1.0)
    for index, text in (
        (0, "invalid index of a 0-dim tensor"),
        (slice(1, None), "slice.. cannot be applied"),
        ((slice(None), 1), "too many indices for tensor of dimension 0"),
        (torch.tensor([0]), "too many indices for tensor of dimension 0"),
    ):
        with pytest.raises(IndexError, match=text):
            x[index]
    for word in ("mT", "mH", "H"):
        with pytest.warns(UserWarning, match="deprecated on 0-D"):
            assert getattr(x, word) is x


def test_other_data_of_another_shape() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    y.data = torch.ones(3, 2)
    assert type(y.grad_fn).__name__ == "MulBackward0"
    y.sum().backward()
    assert x.grad.tolist() == [6, 12]


@pytest.mark.parametrize("layer", [torch.nn.Tanh(), torch.nn.Sigmoid()])
def test_an_activation_of_a_number(layer: Any) -> None:
    with pytest.raises(TypeError, match="must be Tensor, not int"):
        layer(3)
