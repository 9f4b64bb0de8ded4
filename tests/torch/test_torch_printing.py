"""How tensors print: as PyTorch's, to the character."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from pytorch_answers import of_pytorch

import tapegrad.torch as torch

DTYPES = "float32 float64 float16 int64 int32 uint8 int8 bool complex64 complex128".split()
PLAIN = st.floats(-1e5, 1e5).map(lambda x: round(x, 3))
WHOLE = st.integers(-(10**6), 10**6).map(float)
SPECIAL = st.sampled_from([0.0, -0.0, 1.0, 0.5, np.nan, np.inf, -np.inf, 1e-5, 1e9, 123456.0, 1e3])
NUMBERS = st.one_of(
    PLAIN, WHOLE, SPECIAL, st.floats(allow_nan=True, allow_infinity=True, width=32)
)


@st.composite
def drawn_arrays(draw):
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    shape = draw(arrays.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=6))
    elements = draw(st.sampled_from([PLAIN, WHOLE, SPECIAL, NUMBERS]))
    if dtype.kind in "iub":
        return draw(arrays.arrays(dtype, shape))
    with np.errstate(all="ignore"):
        if dtype.kind == "f":
            return np.asarray(draw(arrays.arrays(np.float64, shape, elements=elements)), dtype)
        real, imag = (draw(arrays.arrays(np.float64, shape, elements=elements)) for _ in "ab")
        made = np.empty(shape, np.complex128)
        made.real, made.imag = real, imag
        return made.astype(dtype)


def both(array):
    pytorch = pytest.importorskip("torch")
    return torch.from_numpy(array), pytorch.from_numpy(array)


@pytest.mark.peers("torch")
@given(drawn_arrays(), st.booleans())
def test_repr(array, grad):
    ours, theirs = both(array)
    if grad and array.dtype.kind in "fc":
        ours, theirs = ours.requires_grad_(), theirs.requires_grad_()
    assert repr(ours) == str(ours) == repr(theirs)


@pytest.mark.peers("torch")
@given(
    st.integers(900, 3000),
    st.sampled_from(DTYPES),
    st.sampled_from([(-1,), (2, -1), (-1, 2), (3, -1, 2), (-1, 1, 1, 5)]),
    st.integers(0, 2**32 - 1),
)
def test_repr_of_many_elements(size, dtype, shape, seed):
    size -= size % 30
    draw = np.random.default_rng(seed)
    scale = 10.0 ** draw.integers(-5, 5)
    array = np.asarray(draw.normal(size=size) * scale)
    if np.dtype(dtype).kind == "c":
        array = array + 1j * draw.normal(size=size)
    with np.errstate(all="ignore"):
        ours, theirs = both(array.astype(dtype).reshape(shape))
    assert repr(ours) == repr(theirs)


OPTIONS = [
    {"precision": 2},
    {"profile": "full"},
    {"profile": "short"},
    {"sci_mode": True},
    {"sci_mode": False},
    {"linewidth": 40},
    {"threshold": 5, "edgeitems": 1},
    {"threshold": 5, "edgeitems": 0},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_options(options):
    arrays_ = [
        np.linspace(0, 3, 1200, dtype=np.float32),
        np.array([1e10, 1e-10, -3.0]),
        np.ones((7, 2)),
        np.array([1, 2j], np.complex64),
    ]

    def shown(t):
        try:
            t.set_printoptions(**options)
            return [repr(t.from_numpy(array)) for array in arrays_]
        finally:
            t.set_printoptions(profile="default")

    assert shown(torch) == of_pytorch(shown)


def test_unknown_profile():
    with pytest.raises(ValueError, match="profile"):
        torch.set_printoptions(profile="long")


def test_the_forms_that_programs_rely_on():
    x = torch.tensor([1.0], requires_grad=True)
    assert repr(x) == "tensor([1.], requires_grad=True)"
    assert repr(x.exp()) == "tensor([2.7183], grad_fn=<ExpBackward0>)"
    assert repr(torch.tensor(2.0) / 3) == "tensor(0.6667)"
    assert repr(torch.tensor([1, 2])) == "tensor([1, 2])"
    assert repr(torch.tensor([1.0], dtype=torch.float64)) == "tensor([1.], dtype=torch.float64)"
    assert repr(torch.zeros(0, 3)) == "tensor([], size=(0, 3))"
    assert repr(torch.zeros(0, dtype=torch.int64)) == "tensor([], dtype=torch.int64)"
    assert repr(torch.tensor([[1.5, -2.0], [np.nan, np.inf]])) == (
        "tensor([[ 1.5000, -2.0000],\n        [    nan,     inf]])"
    )


def test_format():
    assert f"{torch.tensor(1.5):.3f} {torch.tensor(3)} {torch.ones(2)}" == (
        "1.500 3 tensor([1., 1.])"
    )
    with pytest.raises(TypeError):
        format(torch.ones(2), ".3f")


def test_a_subclass_prints_its_name():
    class Named(torch.Tensor):
        pass

    assert repr(Named([1.0])) == "Named([1.])"


def test_within_a_transform_the_value_is_shown():
    from tapegrad.torch import func

    shown = []

    def f(x):
        shown.append(re.sub(r"lvl=\d+", "lvl=1", repr(x)))
        return (x * x).sum()

    func.grad(f)(torch.ones(2))
    assert shown == ["GradTrackingTensor(lvl=1, value=\n    tensor([1., 1.])\n)"]
    func.vmap(f)(torch.ones(2, 2))
    assert shown[1] == (
        "BatchedTensor(lvl=1, bdim=0, value=\n    tensor([[1., 1.],\n            [1., 1.]])\n)"
    )
