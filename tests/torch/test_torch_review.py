"""Findings of a review by running programs beside PyTorch: each was wrong once."""

from __future__ import annotations

import numpy as np
import pytest

import tapegrad.torch as torch


def test_a_write_of_a_wider_dtype_gives_the_leaf_a_gradient_of_its_own_dtype():
    wide = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    narrow = torch.zeros(2)
    narrow += wide
    assert narrow.dtype is torch.float32
    assert narrow.grad_fn.name() == "AddBackward0"
    (narrow * 3).sum().backward()
    assert wide.grad.dtype is torch.float64
    assert wide.grad.tolist() == [3.0, 3.0]


def test_the_absolute_loss_of_complex_numbers_has_their_direction_for_a_gradient():
    z = torch.tensor([3.0 + 4.0j], dtype=torch.complex128, requires_grad=True)
    torch.nn.functional.l1_loss(z, torch.zeros(1, dtype=torch.complex128)).backward()
    assert np.allclose(z.grad.numpy(), [0.6 + 0.8j])


def test_a_view_that_alone_requires_grad_cannot_be_written_to():
    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    for write in (lambda: x.add_(1), lambda: x[0].add_(1), lambda: x.__setitem__(0, 1.0)):
        with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
            write()
    assert x.is_leaf
    with torch.no_grad():
        x.add_(1)
    assert x[0, 0].item() == 1.0


@pytest.mark.parametrize(
    ("number", "left", "expected"),
    [
        (np.float64(1.5), torch.tensor(1), torch.float32),
        (np.float64(1.5), torch.tensor(1.0), torch.float32),
        (np.float64(1.5), torch.tensor([1, 2]), torch.float32),
        (np.int64(2), torch.tensor([1], dtype=torch.int8), torch.int8),
        (np.complex128(2), torch.tensor([1.0]), torch.complex64),
        (np.bool_(True), torch.tensor([1], dtype=torch.int8), torch.int8),
    ],
)
def test_numpys_numbers_count_as_pythons(number, left, expected):
    assert (left * number).dtype is expected
    assert (number * left).dtype is expected
    assert torch.mul(left, number).dtype is expected


def test_numpys_numbers_fill_in_the_default_dtype():
    assert torch.full((2,), np.float64(2)).dtype is torch.float32
    assert torch.full((2,), np.int32(2)).dtype is torch.int64


def test_floats_stay_as_wide_beside_a_complex_tensor_of_no_dimensions():
    wide = torch.tensor(1j, dtype=torch.complex128)
    assert (torch.ones(2) * wide).dtype is torch.complex64
    assert (torch.ones(2, dtype=torch.float64) * wide).dtype is torch.complex128


def test_truth_values_have_no_difference_power_or_remainder():
    truth, number = torch.tensor([True]), torch.tensor([2])
    for call in (lambda: truth - number, lambda: number - truth, lambda: number - True):
        with pytest.raises(RuntimeError, match="with a bool tensor is not supported"):
            call()
    with pytest.raises(RuntimeError, match="with two bool tensors is not supported"):
        truth - truth
    for call in (lambda: truth**truth, lambda: truth // truth, lambda: truth % truth):
        with pytest.raises(NotImplementedError, match="not implemented for 'Bool'"):
            call()


def test_complex_numbers_have_no_order_and_no_remainder():
    z = torch.tensor([1j, 2.0])
    for call in (lambda: z < z, lambda: z >= z, lambda: z // 2, lambda: z % z):
        with pytest.raises(NotImplementedError, match="not implemented for 'ComplexFloat'"):
            call()
    assert (z == z).all()


def test_rounded_quotients_stay_on_the_graph_with_a_derivative_of_zero():
    x = torch.tensor([5.0, -5.0], requires_grad=True)
    for mode in ("floor", "trunc"):
        y = x.div(2.0, rounding_mode=mode)
        assert y.grad_fn.name() == "DivBackward2"
        (gradient,) = torch.autograd.grad(y.sum(), x)
        assert gradient.tolist() == [0.0, 0.0]


def test_a_number_minus_a_tensor_is_a_node_of_one_argument():
    x = torch.tensor([1.0], requires_grad=True)
    y = 3 - x
    assert len(y.grad_fn.next_functions) == 1
    assert y.grad_fn(torch.ones(1)).tolist() == [-1.0]


def test_names_of_the_nodes_that_pytorch_names_with_their_namespace():
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    assert y.grad_fn.next_functions[0][0].name() == "torch::autograd::AccumulateGrad"
    assert type(y.grad_fn.next_functions[0][0]).__name__ == "AccumulateGrad"
    y[0].zero_()
    assert y.grad_fn.name() == "torch::autograd::CopySlices"


def test_nodes_want_as_many_gradients_as_they_have_results():
    node = torch.ones(2, requires_grad=True).exp().grad_fn
    for gradients in ((), (torch.ones(2), torch.ones(2))):
        with pytest.raises(TypeError, match=f"expected 1 arguments, got {len(gradients)} instead"):
            node(*gradients)


def test_calls_that_lack_something_say_so():
    x = torch.ones(2, 3, requires_grad=True)
    with pytest.raises(RuntimeError, match="cannot be empty"):
        torch.autograd.grad(x.sum(), [])
    with pytest.raises(RuntimeError, match="must be floating point or complex"):
        x.data = torch.zeros(2, 3, dtype=torch.int64)
    with pytest.raises(IndexError, match=r"\[-2, 1\], but got 5"):
        x.size(5)
    with pytest.raises(RuntimeError, match="without overflow"):
        float(torch.tensor(1 + 2j))
    assert float(torch.tensor(2 + 0j)) == 2.0


def test_further_names():
    x = torch.tensor([1.0, 2.0, 4.0], dtype=torch.float64, requires_grad=True)
    assert not torch.detach(x).requires_grad
    with torch.inference_mode():
        assert torch.is_inference(torch.ones(1))
    assert torch.arange(3).apply_(lambda number: number * 2).tolist() == [0, 2, 4]
    assert torch.arange(3).map_(torch.arange(3), lambda a, b: a + b).tolist() == [0, 2, 4]
    with pytest.raises(RuntimeError, match="Can't call apply_"):
        x.apply_(abs)
    assert torch.vander(x)[2].tolist() == [16.0, 4.0, 1.0]
    assert torch.linalg.vander(x.float()).dtype is torch.float32
    assert x.expand(2, 3).sum_to_size(3).tolist() == [2.0, 4.0, 8.0]
    assert [part.tolist() for part in torch.unravel_index(torch.arange(3), (2, 2))] == [
        [0, 0, 1],
        [0, 1, 0],
    ]
    for function in (torch.vander, torch.i0, lambda v: torch.gradient(v)[0]):
        assert torch.autograd.gradcheck(function, (x,))
        assert torch.autograd.gradgradcheck(function, (x,))


def test_a_tensor_of_a_subclass_has_the_memory_and_the_history():
    class Labelled(torch.Tensor):
        label = "mine"

    x = torch.ones(2, requires_grad=True)
    y = (x * 2).as_subclass(Labelled)
    assert type(y) is Labelled
    assert y.label == "mine"
    (y * y).sum().backward()
    assert x.grad.tolist() == [8.0, 8.0]


@pytest.mark.parametrize("word", ["relu", "leaky_relu", "hardtanh", "relu6", "softshrink"])
def test_slopes_that_change_in_steps_stay_on_the_graph_with_zeros(word):
    function = getattr(torch.nn.functional, word)
    x = torch.tensor([1.5, -2.0, 0.1], dtype=torch.float64, requires_grad=True)
    weight = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(function(x * weight).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(slope.sum(), x)  # as for the Laplacian of a net
    assert second.tolist() == [0.0, 0.0, 0.0]
    assert torch.func.hessian(lambda v: function(v).sum())(x.detach()).abs().sum().item() == 0.0


def test_sums_at_places_named_often_are_one_node_with_all_derivatives():
    x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=torch.float64, requires_grad=True)
    rows = torch.tensor([[2.0, -1.0], [0.5, 1.5]], dtype=torch.float64, requires_grad=True)
    index = torch.tensor([1, 1])
    y = x.index_add(1, index, rows)
    assert y.tolist() == [[1.0, 3.0, 3.0], [4.0, 7.0, 6.0]]
    assert y.grad_fn.name() == "IndexAddBackward0"

    def added(a, b):
        return a.index_add(1, index, b) ** 2

    def scattered(a, b):
        return a.scatter_add(1, torch.tensor([[0, 0], [2, 1]]), b) ** 2

    for function in (added, scattered):
        inputs = (x, rows)
        assert torch.autograd.gradcheck(
            function, inputs, check_forward_ad=True, check_batched_grad=True
        )
        assert torch.autograd.gradgradcheck(function, inputs)
    stacked = torch.func.vmap(lambda row: torch.zeros(3).index_add(0, index, row))(rows.float())
    assert stacked.tolist() == [[0.0, 1.0, 0.0], [0.0, 2.0, 0.0]]


def test_out_takes_the_shape_of_the_result():
    out = torch.zeros(0)
    assert torch.add(torch.ones(3), 1, out=out) is out
    assert out.tolist() == [2.0, 2.0, 2.0]
    wide = torch.zeros(3, dtype=torch.float64)
    torch.mul(torch.ones(3), 2, out=wide)
    assert wide.dtype is torch.float64
    assert wide.tolist() == [2.0, 2.0, 2.0]
    full = torch.zeros(2)
    with pytest.warns(UserWarning, match="was resized"):
        torch.add(torch.ones(3), 1, out=full)
    assert full.shape == (3,)
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired"):
        torch.add(torch.ones(2), 1.5, out=torch.zeros(2, dtype=torch.int64))


def test_clones_keep_the_order_of_memory():
    x = torch.arange(6.0).reshape(2, 3).T
    assert x.clone().stride() == (1, 3)
    assert x.clone(memory_format=torch.contiguous_format).stride() == (2, 1)
    assert torch.ones(3, 1).expand(3, 4).clone().stride() == (4, 1)
    assert torch.ones(3).expand(2, 3).clone().stride() == (3, 1)
