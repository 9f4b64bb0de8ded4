"""NumPy's functions called on tensors: values, history, writes and views."""

from __future__ import annotations

import numpy as np
import pytest

import tapegrad.torch as torch


def leaf(*values):
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


A = np.array([1.0, 2.0, 3.0])

FUNCTIONS = {
    "sin": (np.sin, np.cos),
    "sum": (np.sum, np.ones_like),
    "mean": (lambda x: np.mean(x, axis=0), lambda x: np.full(3, 1 / 3)),
    "logaddexp": (lambda x: np.logaddexp(x, x * 0), lambda x: 1 / (1 + np.exp(-x))),
    "reduce": (np.multiply.reduce, lambda x: np.prod(x) / x),
    "accumulate": (np.add.accumulate, lambda x: np.array([3.0, 2.0, 1.0])),
    "outer": (lambda x: np.multiply.outer(x, A), lambda x: np.full(3, A.sum())),
    "stack": (lambda x: np.stack([x, 2 * x]), lambda x: np.full(3, 3.0)),
    "concatenate": (lambda x: np.concatenate((x, A)), np.ones_like),
    "dot": (lambda x: np.dot(x, A), lambda x: A),
    "einsum": (lambda x: np.einsum("i,i->", x, x), lambda x: 2 * x),
    "where": (lambda x: np.where(x > 1, x, 0), lambda x: (x > 1) * 1.0),
    "linalg": (np.linalg.norm, lambda x: x / np.linalg.norm(x)),
    "fft": (lambda x: np.fft.fft(x)[..., 0].real, np.ones_like),
    "clip": (lambda x: np.clip(x, 1.5, 5), lambda x: (x > 1.5) * 1.0),
    "dtype": (lambda x: np.multiply(x, x, dtype=np.float64), lambda x: 2 * x),
}


@pytest.mark.parametrize(("function", "slope"), FUNCTIONS.values(), ids=FUNCTIONS)
def test_functions_of_tensors_give_tensors_with_history(function, slope):
    x = leaf(*A)
    y = function(x)
    assert type(y) is torch.Tensor
    np.testing.assert_allclose(y.detach().numpy(), function(A), 1e-12)
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), slope(A), 1e-12)


def test_functions_keep_numpys_dtypes_and_names():
    assert np.sqrt(torch.tensor([4, 9])).dtype == torch.float64
    assert np.sin(torch.ones(2)).dtype == torch.float32
    assert np.sin(leaf(1.0)).grad_fn.name() == "SinBackward0"
    assert np.argmax(leaf(1.0, 3.0, 2.0)).item() == 1


LEFT = {
    "+": (lambda a, x: a + x, np.ones_like),
    "-": (lambda a, x: a - x, lambda a: -np.ones_like(a)),
    "*": (lambda a, x: a * x, lambda a: a),
    "/": (lambda a, x: a / x, lambda a: -1 / a),
    "**": (lambda a, x: a**x, lambda a: a**a * np.log(a)),
    "@": (lambda a, x: a @ x, lambda a: a),
}


@pytest.mark.parametrize(("call", "slope"), LEFT.values(), ids=LEFT)
def test_arrays_on_the_left_of_an_operator(call, slope):
    x = leaf(*A)
    y = call(A, x)
    assert type(y) is torch.Tensor
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), slope(A), 1e-12)


def test_comparisons_with_arrays():
    array, x = A, torch.tensor([1.0, 5.0, 2.0])
    assert (array < x).tolist() == [False, True, False]
    assert (x >= array).tolist() == [True, True, False]
    assert (array == x).dtype == torch.bool


def test_promotion_beside_arrays_is_pytorchs():
    x = torch.ones(2)
    assert (np.float64(2) * x).dtype == (x * np.float64(2)).dtype == torch.float32
    assert (np.ones(2) * x).dtype == (x * np.ones(2)).dtype == torch.float64
    assert (np.ones(2, np.float32) + torch.ones(2, dtype=torch.int64)).dtype == torch.float32


def test_arrays_of_other_things_are_refused():
    with pytest.raises(TypeError):
        np.array(["a"]) + torch.ones(1)


def test_results_go_into_tensors():
    x, out = leaf(1.0, 2.0), torch.zeros(2, dtype=torch.float64)
    made = np.multiply(x, x, out=out)
    assert made is out
    assert out._version == 1
    out.sum().backward()
    assert x.grad.tolist() == [2, 4]
    total = torch.zeros((), dtype=torch.float64)
    np.sum(x, out=total)
    assert total.requires_grad
    assert total.item() == 3


def test_results_go_where_they_are_wanted():
    x, out = leaf(1.0, 4.0), torch.full((2,), 7.0, dtype=torch.float64)
    np.sqrt(x, out=out, where=np.array([False, True]))
    assert out.tolist() == [7, 2]
    out.sum().backward()
    assert x.grad.tolist() == [0, 0.25]


def test_two_results_into_tensors():
    whole, part = torch.zeros(2), torch.zeros(2)
    np.modf(torch.tensor([1.5, 2.25]), out=(part, whole))
    assert (part.tolist(), whole.tolist()) == ([0.5, 0.25], [1, 2])


def test_out_keeps_numpys_casting_rule():
    with pytest.raises(TypeError, match="same_kind"):
        np.add(torch.ones(2), 1, out=torch.zeros(2, dtype=torch.int64))
    with pytest.raises(RuntimeError, match="leaf"):
        np.add(torch.ones(2), 1, out=torch.ones(2, requires_grad=True))


def test_results_into_arrays_need_tensors_without_history():
    array = np.ones(2)
    array += torch.ones(2)
    assert type(array) is np.ndarray
    assert array.tolist() == [2, 2]
    with pytest.raises(RuntimeError, match=r"detach\(\)\.numpy\(\)"):
        array += leaf(1.0, 1.0)


def test_functions_that_write_into_a_tensor():
    source = leaf(5.0, 6.0)
    x = torch.zeros(4, dtype=torch.float64)
    np.put(x, [1, 3], source)
    assert x._version == 1
    np.add.at(x, [1, 1], source)
    x.sum().backward()
    assert x.tolist() == [0, 16, 0, 6]
    assert source.grad.tolist() == [2, 2]
    np.copyto(x.detach(), np.ones(4))
    assert x.tolist() == [1, 1, 1, 1]
    array = np.zeros(2)
    np.copyto(array, torch.ones(2))
    assert array.tolist() == [1, 1]


def test_views_share_memory_and_versions():
    x = torch.zeros(2, 3)
    y = np.transpose(x)
    assert y._base is x
    y.fill_(2)
    assert x.tolist() == [[2] * 3] * 2
    assert x._version == 1
    first, _ = np.split(x, 2)
    assert first._base is x


def test_a_write_to_a_view_that_numpy_made_reaches_the_graph():
    x = leaf(1.0, 2.0, 3.0, 4.0)
    y = x * 1
    np.reshape(y, (2, 2)).mul_(3)
    y.sum().backward()
    assert x.grad.tolist() == [3, 3, 3, 3]


def test_without_grad_nothing_is_logged():
    x = leaf(1.0, 2.0)
    with torch.no_grad():
        assert not np.sin(x).requires_grad


def test_within_transforms():
    from tapegrad.torch import func

    x = torch.tensor([1.0, 2.0], dtype=torch.float64)
    found = func.grad(lambda x: np.sum(np.sin(x) * A[:2]))(x)
    np.testing.assert_allclose(found.numpy(), np.cos(x.numpy()) * A[:2])
    rows = func.vmap(lambda row: np.sum(row * row))(torch.ones(3, 2))
    assert rows.tolist() == [2, 2, 2]
