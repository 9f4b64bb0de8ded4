"""Creation functions: values, dtypes, shapes and errors as PyTorch's, call by call."""

from __future__ import annotations

import numpy as np
import pytest
from agreement import agree, numbers
from hypothesis import given
from hypothesis import strategies as st

import tapegrad.torch as torch

X = numbers(3)
NEGATIVE = np.ones(3)[::-1]
READ_ONLY = np.broadcast_to(1.0, 3)

CALLS = {
    # data
    "number": lambda t: t.tensor(2.5),
    "whole": lambda t: t.tensor(3),
    "bool": lambda t: t.tensor(True),
    "complex": lambda t: t.tensor(1 + 2j),
    "nested": lambda t: t.tensor([[1, 2], [3, 4]]),
    "mixed": lambda t: t.tensor([True, 2, 3.5]),
    "mixed complex": lambda t: t.tensor([1, 2j]),
    "bools": lambda t: t.tensor([True, False]),
    "empty": lambda t: t.tensor([]),
    "empty rows": lambda t: t.tensor([[], []], dtype=t.int64),
    "range": lambda t: t.tensor(range(3)),
    "tuple": lambda t: t.tensor((1.0, 2.0), dtype=t.float64, requires_grad=True),
    "dtype float": lambda t: t.tensor([1, 2], dtype=float),
    "dtype int": lambda t: t.tensor([1.9, -2.9], dtype=int),
    "NumPy scalar": lambda t: t.tensor(np.float64(1)),
    "NumPy scalars": lambda t: t.tensor([np.float16(1), 2.0]),
    "NumPy ints": lambda t: t.tensor([np.int32(1)]),
    "array": lambda t: t.tensor(np.arange(3, dtype=np.int16)),
    "array cast": lambda t: t.tensor(X, dtype=t.float32),
    "tensors inside": lambda t: t.tensor([t.tensor(1.0), t.tensor(2)]),
    "double inside": lambda t: t.tensor([t.ones((), dtype=t.float64), 2]),
    "wraps": lambda t: t.tensor(-1, dtype=t.uint8),
    "infinite": lambda t: t.tensor(1e40),
    "uneven": lambda t: t.tensor([[1, 2], [1, 2, 3]]),
    "too shallow": lambda t: t.tensor([[1, 2], 3]),
    "too deep": lambda t: t.tensor([1, [2]]),
    "string": lambda t: t.tensor("a"),
    "strings": lambda t: t.tensor(["a"]),
    "None": lambda t: t.tensor(None),
    "set": lambda t: t.tensor({1, 2}),
    "huge": lambda t: t.tensor(2**63),
    "overflow": lambda t: t.tensor([300], dtype=t.uint8),
    "not a number as whole": lambda t: t.tensor([float("nan")], dtype=t.int64),
    "complex as real": lambda t: t.tensor([1j], dtype=t.float32),
    "whole with grad": lambda t: t.tensor([1], requires_grad=True),
    "dtype string": lambda t: t.tensor(1, dtype="float32"),
    "vectors inside": lambda t: t.tensor([t.ones(2), t.ones(2)]),
    "objects": lambda t: t.tensor(np.array([None])),
    # the same memory
    "as_tensor": lambda t: t.as_tensor(X),
    "as_tensor list": lambda t: t.as_tensor([1, 2.0]),
    "as_tensor cast": lambda t: t.as_tensor(X, dtype=t.float32),
    "asarray": lambda t: t.asarray([1.0, 2.0], dtype=t.float64, requires_grad=True),
    "from_numpy": lambda t: t.from_numpy(X),
    "from_numpy list": lambda t: t.from_numpy([1]),
    "from_numpy negative": lambda t: t.from_numpy(NEGATIVE),
    "from_numpy text": lambda t: t.from_numpy(np.array("a")),
    "from_numpy order": lambda t: t.from_numpy(X.astype(">f8")),
    "as_tensor read-only": lambda t: t.as_tensor(READ_ONLY),
    "frombuffer": lambda t: t.frombuffer(bytearray(b"abcd"), dtype=t.uint8, offset=1),
    "from_dlpack": lambda t: t.from_dlpack(X),
    # shapes
    "zeros": lambda t: t.zeros(2, 3),
    "zeros tuple": lambda t: t.zeros((2, 3), dtype=t.int32),
    "zeros size": lambda t: t.zeros(size=(2, 3)),
    "zeros number": lambda t: t.zeros(()),
    "zeros tensor": lambda t: t.zeros(t.tensor(2), 3),
    "zeros none": lambda t: t.zeros(),
    "zeros negative": lambda t: t.zeros(2, -1),
    "zeros float": lambda t: t.zeros(2.5),
    "zeros bool": lambda t: t.zeros(True),
    "zeros whole with grad": lambda t: t.zeros(2, dtype=t.int32, requires_grad=True),
    "zeros out": lambda t: t.zeros(2, out=t.ones(2, dtype=t.float64)),
    "ones": lambda t: t.ones([2, 3], requires_grad=True),
    "empty shape": lambda t: t.empty(2, 3).shape == (2, 3),
    "empty_strided": lambda t: t.empty_strided((2, 3), (1, 2)).stride() == (1, 2),
    "full": lambda t: t.full((2,), 1),
    "full bool": lambda t: t.full((2,), True),
    "full float": lambda t: t.full((2, 2), 1.5),
    "full complex": lambda t: t.full((2,), 1j),
    "full tensor": lambda t: t.full((2,), t.tensor(2)),
    "full of grad": lambda t: t.full((2,), t.ones((), requires_grad=True)),
    "full int size": lambda t: t.full(2, 1.0),
    "scalar_tensor": lambda t: t.scalar_tensor(3),
    "eye": lambda t: t.eye(3),
    "eye wide": lambda t: t.eye(2, 3, dtype=t.int8),
    "eye negative": lambda t: t.eye(-1),
    "zeros_like": lambda t: t.zeros_like(t.ones(2, 3), requires_grad=True),
    "ones_like": lambda t: t.ones_like(t.ones(2, dtype=t.int8), dtype=t.float64),
    "full_like": lambda t: t.full_like(t.ones(2).int(), 3.7),
    "empty_like": lambda t: t.empty_like(t.ones(2, 3)).shape == (2, 3),
    "zeros_like list": lambda t: t.zeros_like([1]),
    "new_zeros": lambda t: t.ones(2, dtype=t.float64).new_zeros(2, 3),
    "new_ones": lambda t: t.ones(2).new_ones((2,), dtype=t.int8),
    "new_full": lambda t: t.ones(2).new_full((2,), 3, requires_grad=True),
    "new_empty": lambda t: t.ones(2).new_empty(3).shape == (3,),
    "new_tensor": lambda t: t.ones(2).new_tensor([1, 2]),
    # ranges
    "arange": lambda t: t.arange(5),
    "arange float": lambda t: t.arange(0, 1, 0.25),
    "arange end": lambda t: t.arange(5.0),
    "arange down": lambda t: t.arange(3, 0, -1),
    "arange cast": lambda t: t.arange(5, dtype=t.float64),
    "arange named": lambda t: t.arange(start=1, end=4, step=2),
    "arange tensor": lambda t: t.arange(t.tensor(3)),
    "arange wrong way": lambda t: t.arange(1, 0),
    "arange no step": lambda t: t.arange(0, 1, 0),
    "arange endless": lambda t: t.arange(0.0, float("inf")),
    "linspace": lambda t: t.linspace(0, 1, 7),
    "linspace one": lambda t: t.linspace(2, 3, steps=1),
    "linspace none": lambda t: t.linspace(0, 1, 0),
    "linspace whole": lambda t: t.linspace(0, 10, 5, dtype=t.int64),
    "linspace complex": lambda t: t.linspace(0, 1j, 3),
    "linspace negative": lambda t: t.linspace(0, 1, -1),
    "linspace missing": lambda t: t.linspace(0, 1),
    "logspace": lambda t: t.logspace(0, 2, 5),
    "logspace base": lambda t: t.logspace(-1, 2, 4, base=2, dtype=t.float64),
    "tril_indices": lambda t: t.tril_indices(3, 4, 1),
    "triu_indices": lambda t: t.triu_indices(3, 4, -1),
    # older constructors
    "Tensor": lambda t: t.Tensor(),
    "Tensor list": lambda t: t.Tensor([1, 2]),
    "Tensor tuple": lambda t: t.Tensor((2, 3)),
    "Tensor sizes": lambda t: t.Tensor(2, 3).shape == (2, 3),
    "Tensor size": lambda t: t.Tensor(t.Size([2, 3])).shape == (2, 3),
    "Tensor array": lambda t: t.Tensor(X),
    "Tensor tensor": lambda t: t.Tensor(t.ones(2, dtype=t.float64)),
    "Tensor float": lambda t: t.Tensor(2.0),
    "Tensor bool": lambda t: t.Tensor(True),
    "Tensor float size": lambda t: t.Tensor(2, 3.5),
    "Tensor grad": lambda t: t.Tensor(2, requires_grad=True),
    "LongTensor": lambda t: t.LongTensor([1.5, 2]),
    "IntTensor": lambda t: t.IntTensor([[1, 2], [3, 4]]),
    "DoubleTensor": lambda t: t.DoubleTensor([1, 2]),
    "ByteTensor": lambda t: t.ByteTensor([1, 255]),
    "BoolTensor": lambda t: t.BoolTensor([1, 0]),
    "FloatTensor size": lambda t: t.FloatTensor(size=(2, 3)).shape == (2, 3),
    "DoubleTensor of floats": lambda t: t.DoubleTensor(t.ones(2)),
    "new": lambda t: t.ones(2, dtype=t.float64).new([3, 4]),
    "isinstance": lambda t: isinstance(t.ones(2), t.FloatTensor),
    "not isinstance": lambda t: isinstance(t.ones(2), t.LongTensor),
    # questions
    "is_tensor": lambda t: (t.is_tensor(t.ones(1)), t.is_tensor(1)),
    "is_floating_point": lambda t: t.is_floating_point(t.ones(1)),
    "is_complex": lambda t: t.is_complex(t.ones(1, dtype=t.complex64)),
    "numel": lambda t: t.numel(t.ones(2, 3)),
    "is_nonzero": lambda t: t.is_nonzero(t.ones(1)),
    "is_same_size": lambda t: t.is_same_size(t.ones(2), t.ones(3)),
    "typename": lambda t: (t.typename(t.ones(2)), t.typename(3)),
    "can_cast": lambda t: t.can_cast(t.float32, t.int8),
    "promote_types": lambda t: str(t.promote_types(t.int8, t.float32)),
    "result_type": lambda t: str(t.result_type(t.ones(2), 1.0)),
}

WITH_TENSORS = {
    "as_tensor keeps": lambda t, x: t.as_tensor(x) is x,
    "as_tensor cast": lambda t, x: t.as_tensor(x, dtype=t.float32),
    "asarray copy": lambda t, x: t.asarray(x, copy=True, requires_grad=True),
    "complex": lambda t, x: t.complex(x, 2 * x),
    "complex broadcast": lambda t, x: t.complex(x, x[:, None]),
    "polar": lambda t, x: t.polar(x * x, x),
    "complex dtypes": lambda t, x: t.complex(x, x.float()),
    "complex whole": lambda t, x: t.complex(x.long(), x.long()),
    "meshgrid": lambda t, x: t.meshgrid(x, 2 * x[:2], indexing="ij"),
    "meshgrid list": lambda t, x: t.meshgrid([x, x[0], x[:2]], indexing="xy"),
    "meshgrid indexing": lambda t, x: t.meshgrid(x, x, indexing="k"),
    "meshgrid matrix": lambda t, x: t.meshgrid(x, x[:, None], indexing="ij"),
    "meshgrid dtypes": lambda t, x: t.meshgrid(x, x.float(), indexing="ij"),
    "cartesian_prod": lambda t, x: t.cartesian_prod(x, x * 2, x[:2]),
    "cartesian_prod one": lambda t, x: t.cartesian_prod(x) is x,
    "combinations": lambda t, x: t.combinations(x),
    "combinations again": lambda t, x: t.combinations(x, 2, with_replacement=True),
    "zeros_like": lambda t, x: t.zeros_like(x),
    "new_tensor": lambda t, x: x.new_tensor([1, 2]),
    "zero_": lambda t, x: (x * 2).zero_(),
    "fill_": lambda t, x: (x * 2).fill_(3),
    "fill_ tensor": lambda t, x: (x * 2).fill_(x[0]),
    "fill_ vector": lambda t, x: (x * 2).fill_(x),
    "fill_ complex": lambda t, x: (x * 2).fill_(1j),
    "fill_ leaf": lambda t, x: x.fill_(1),
    "fill_ whole": lambda t, x: x.long().fill_(2.7),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_creation(call):
    agree(call)


@pytest.mark.parametrize("call", WITH_TENSORS.values(), ids=WITH_TENSORS)
def test_creation_from_tensors(call):
    agree(call, X)


NUMBERS = st.one_of(
    st.booleans(),
    st.integers(-(2**40), 2**40),
    st.floats(width=32),
    st.complex_numbers(max_magnitude=100),
    st.sampled_from([np.float32(2), np.int16(3), np.float64(0.5)]),
)


@st.composite
def nested_lists(draw):
    sides = draw(st.lists(st.integers(1, 3), max_size=3))
    count = int(np.prod(sides, dtype=int))
    leaves = np.empty(count, object)
    leaves[:] = draw(st.lists(NUMBERS, min_size=count, max_size=count))
    return leaves.reshape(sides).tolist()


@pytest.mark.peers("torch")
@given(nested_lists())
def test_tensors_of_drawn_data(data):
    agree(lambda t: t.tensor(data))


@pytest.mark.peers("torch")
@given(st.floats(-1e3, 1e3), st.floats(-1e3, 1e3), st.integers(0, 40), st.booleans())
def test_linspace_has_pytorchs_numbers(start, end, steps, double):
    pytorch = pytest.importorskip("torch")
    kind = "float64" if double else "float32"
    ours = torch.linspace(start, end, steps, dtype=getattr(torch, kind))
    theirs = pytorch.linspace(start, end, steps, dtype=getattr(pytorch, kind))
    limit = 1e-12 if double else 1e-5
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), limit, limit * 1e3)


def test_tensor_copies_and_from_numpy_shares():
    array = np.zeros(2)
    copied, shared = torch.tensor(array), torch.from_numpy(array)
    array[0] = 1
    assert copied.tolist() == [0, 0]
    assert shared.tolist() == [1, 0]
    shared.fill_(5)
    assert array.tolist() == [5, 5]
    assert torch.as_tensor(array).numpy().base is not None


def test_an_array_in_arithmetic_is_what_it_was_then():
    array = np.array([1.0, 2.0])
    x = torch.tensor([3.0, 4.0], requires_grad=True, dtype=torch.float64)
    y = (x * array).sum()
    array[:] = 0
    y.backward()
    assert x.grad.tolist() == [1, 2]


def test_the_default_dtype_is_that_of_python_floats():
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        assert torch.tensor(1.0).dtype == torch.float64
        assert torch.zeros(2).dtype == torch.Tensor(2).dtype == torch.float64
        assert torch.tensor(1j).dtype == torch.complex128
    finally:
        torch.set_default_dtype(before)


def test_set_default_tensor_type_says_the_new_name():
    with pytest.warns(UserWarning, match="set_default_dtype"):
        torch.set_default_tensor_type(torch.FloatTensor)
    assert torch.get_default_dtype() == torch.float32


def test_writes_to_a_read_only_array_are_refused():
    with pytest.warns(UserWarning, match="not writable"):
        x = torch.from_numpy(READ_ONLY)
    with pytest.raises(RuntimeError):
        x.fill_(1)


def test_a_tensor_of_a_tensor_is_a_copy_with_a_warning():
    x = torch.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match="copy construct"):
        y = torch.tensor(x)
    assert not y.requires_grad
    y.fill_(3)
    assert x.tolist() == [1, 1]
    with pytest.warns(UserWarning, match=r"tensor\.new_tensor"):
        x.new_tensor(y)


def test_asarray_refuses_a_copy():
    with pytest.raises(ValueError, match="copy"):
        torch.asarray([1.0], copy=False)


def test_only_the_cpu():
    assert torch.zeros(2, device="cpu").device == torch.device("cpu")
    with pytest.raises(RuntimeError, match="NumPy"):
        torch.zeros(2, device="cuda")
