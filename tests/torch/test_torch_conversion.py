"""From tensors to numbers, arrays, other dtypes, copies and pickles: as PyTorch, call by call."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from agreement import agree, numbers

import tapegrad.torch as torch

X = numbers(3)
NUMBERS = np.array([1.5, -2.0, 0.0])

CALLS = {
    "item": lambda t, x: x[0].item(),
    "item many": lambda t, x: x.item(),
    "tolist": lambda t, x: (x * 2).tolist(),
    "tolist number": lambda t, x: x[1].tolist(),
    "bool": lambda t, x: (bool(x[0]), bool(x[2]), bool(x[:1])),
    "bool many": lambda t, x: bool(x),
    "bool none": lambda t, x: bool(x[:0]),
    "int": lambda t, x: int(x.detach()[1]),
    "float": lambda t, x: float(x.detach()[:1]),
    "complex": lambda t, x: complex(x.detach()[0]),
    "float many": lambda t, x: float(x),
    "int many": lambda t, x: int(x),
    "index": lambda t, x: [1, 2, 3][t.tensor(1)],
    "index vector": lambda t, x: [1, 2, 3][t.tensor([True])],
    "index float": lambda t, x: [1, 2, 3][x[0]],
    "len": lambda t, x: len(x),
    "len number": lambda t, x: len(x[0]),
    "iter": lambda t, x: [y.item() for y in x],
    "iter number": lambda t, x: list(x[0]),
    "reversed": lambda t, x: list(reversed(x.detach())),
    "contains": lambda t, x: (1.5 in x, 7 in x, x[0] in x),
    "contains string": lambda t, x: "a" in x,
    "numpy": lambda t, x: x.numpy(),
    "asarray": lambda t, x: np.asarray(x),
    "numpy no grad": lambda t, x: x.detach().numpy().tolist(),
    "numpy force": lambda t, x: x.numpy(force=True).tolist(),
    "__array__": lambda t, x: x.detach().__array__(np.float32).dtype.name,
    "np.array list": lambda t, x: np.array([x]),
    "to same": lambda t, x: x.to(t.float64) is x,
    "to": lambda t, x: x.to(t.float32),
    "to named": lambda t, x: x.to(dtype=t.float32),
    "to device": lambda t, x: x.to("cpu") is x,
    "to device dtype": lambda t, x: x.to("cpu", t.float32),
    "to other": lambda t, x: x.to(t.ones(2)),
    "to copy": lambda t, x: x.to(t.float64, copy=True),
    "to copy positional": lambda t, x: x.to("cpu", t.float64, False, True),
    "to long": lambda t, x: x.to(t.int64),
    "to complex": lambda t, x: x.to(t.complex64),
    "to bool": lambda t, x: x.to(t.bool),
    "float()": lambda t, x: x.float(),
    "double()": lambda t, x: x.double() is x,
    "half()": lambda t, x: x.half(),
    "int()": lambda t, x: x.int(),
    "long()": lambda t, x: x.long(),
    "short()": lambda t, x: x.short(),
    "char()": lambda t, x: x.char(),
    "byte()": lambda t, x: x.abs().byte(),
    "bool()": lambda t, x: x.bool(),
    "cfloat()": lambda t, x: x.cfloat(),
    "cdouble()": lambda t, x: x.cdouble(),
    "type": lambda t, x: x.type(),
    "type dtype": lambda t, x: x.type(t.float32),
    "type name": lambda t, x: x.type("torch.IntTensor"),
    "type class": lambda t, x: x.type(t.FloatTensor),
    "type wrong": lambda t, x: x.type("foo"),
    "type_as": lambda t, x: x.type_as(t.ones(1)),
    "cpu": lambda t, x: x.cpu() is x,
    "contiguous": lambda t, x: x.contiguous() is x,
    "contiguous copy": lambda t, x: t.stack([x, x]).T.contiguous(),
    "strides": lambda t, x: t.stack([x, x]).T.contiguous().stride(),
    "is_contiguous": lambda t, x: (x.is_contiguous(), t.stack([x, x]).T.is_contiguous()),
    "stride": lambda t, x: (t.zeros(2, 3).stride(), t.zeros(2, 3).T.stride(-1)),
    "stride empty": lambda t, x: (t.zeros(2, 0, 3).stride(), t.zeros(0).stride()),
    "stride out": lambda t, x: x.stride(5),
    "storage_offset": lambda t, x: (x[1:].storage_offset(), t.zeros(2, 3)[1, 1:].storage_offset()),
    "data_ptr": lambda t, x: x[1:].data_ptr() - x.data_ptr(),
    "storage": lambda t, x: x.untyped_storage().nbytes(),
    "is_cuda": lambda t, x: (x.is_cuda, x.is_sparse, x.is_quantized, x.is_meta),
    "deepcopy": lambda t, x: copy.deepcopy(x),
    "deepcopy graph": lambda t, x: copy.deepcopy(x * 2),
    "copy": lambda t, x: (copy.copy(x).requires_grad, copy.copy(x * 2).is_leaf),
    "pickle": lambda t, x: pickle.loads(pickle.dumps(x)).requires_grad,
    "pickle graph": lambda t, x: pickle.loads(pickle.dumps(x * 2)).is_leaf,
}


@pytest.mark.filterwarnings("ignore:Converting a tensor with requires_grad")  # before the error
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_conversions(call):
    agree(call, NUMBERS)


def test_complex_to_real_takes_the_real_part():
    agree(lambda t, x: x.imag, np.array([1 + 2j]))
    agree(lambda t, x: x.to(t.complex64), np.array([1 + 2j]))


def test_numpy_shares_memory():
    x = torch.zeros(2)
    array = x.numpy()
    array[0] = 3
    assert x.tolist() == [3, 0]
    assert np.asarray(x).base is not None
    assert x.detach().data_ptr() == x.data_ptr()
    array.resize(2, 1, refcheck=False)  # in place
    assert x.shape == (2,)


def test_array_protocol_takes_dtype_and_copy():
    x = torch.zeros(2)
    assert np.asarray(x, np.float64).dtype == np.float64
    assert not np.shares_memory(np.array(x, copy=True), x.numpy())
    assert np.shares_memory(np.array(x, copy=False), x.numpy())
    with pytest.raises(ValueError, match="copy"):
        np.asarray(x, np.float64, copy=False)


def test_numbers_of_what_requires_grad_warn():
    x = torch.tensor(2.0, requires_grad=True)
    with pytest.warns(UserWarning, match="requires_grad=True"):
        assert float(x) == 2
    with pytest.warns(UserWarning, match="requires_grad=True"):
        assert int(x) == 2
    assert x.item() == 2


def test_copies_keep_what_users_set():
    x = torch.ones(2, requires_grad=True)
    x.note = ["mine"]
    x.grad = torch.full((2,), 2.0)
    same = copy.deepcopy(x)
    assert same.note == ["mine"]
    assert same.note is not x.note
    assert same.grad.tolist() == [2, 2]
    assert same.grad is not x.grad
    assert not np.shares_memory(same.detach().numpy(), x.detach().numpy())
    read = pickle.loads(pickle.dumps(x))
    assert read.note == ["mine"]
    assert read.is_leaf
    assert copy.copy(x).data_ptr() == x.data_ptr()


def test_one_deepcopy_of_a_tensor_that_is_named_twice():
    x = torch.ones(2)
    first, second = copy.deepcopy([x, x])
    assert first is second


def test_pickles_keep_subclasses():
    assert type(pickle.loads(pickle.dumps(Named([1.0])))) is Named


class Named(torch.Tensor):
    pass


def test_storages_are_equal_where_memory_is():
    x = torch.zeros(4)
    assert x.untyped_storage() == x.detach().untyped_storage()
    assert x.untyped_storage() != torch.zeros(4).untyped_storage()
    assert len({x.untyped_storage(), x.detach().untyped_storage()}) == 1


def test_within_a_transform():
    """PyTorch's own rules: a value may be looked at where it is one, but not kept."""
    from tapegrad.torch import func

    def f(x):
        assert x[0].item() == 1
        assert x.tolist() == [1, 2]
        assert bool(x[0] > 0)
        return (x.double() ** 2).sum() if x.is_contiguous() else x.sum()

    assert func.grad(f)(torch.tensor([1.0, 2.0])).tolist() == [2, 4]
    with pytest.raises(RuntimeError):
        func.grad(lambda x: torch.from_numpy(x.numpy()).sum())(torch.ones(2))
    for look in (torch.Tensor.item, torch.Tensor.tolist, bool, torch.Tensor.numpy):
        with pytest.raises(RuntimeError):
            func.vmap(look)(torch.ones(2))
    with pytest.raises(TypeError, match="transform"):
        func.grad(lambda x: len(pickle.dumps(x)) * x.sum())(torch.ones(2))
