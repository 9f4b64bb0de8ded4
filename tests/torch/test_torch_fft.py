"""`torch.fft`: values, dtypes, nodes, derivatives and errors as PyTorch's, and laws without it."""

from __future__ import annotations

import numpy as np
import pytest
from agreement import agree
from hypothesis import given, settings
from hypothesis import strategies as st
from pytorch_answers import of_pytorch

import tapegrad.torch as torch

ONE = "fft ifft rfft irfft hfft ihfft".split()
SEVERAL = "fft2 ifft2 rfft2 irfft2 hfft2 ihfft2 fftn ifftn rfftn irfftn hfftn ihfftn".split()
RNG = np.random.default_rng(0)
REAL = RNG.normal(size=(3, 4, 5))
COMPLEX = REAL + 1j * RNG.normal(size=(3, 4, 5))
OF_REAL = {"rfft", "ihfft", "rfft2", "rfftn", "ihfft2", "ihfftn"}


def inputs_of(name):
    return [REAL] if name in OF_REAL else [COMPLEX, REAL]


@pytest.mark.part(3)
@pytest.mark.parametrize("norm", [None, "ortho", "forward", "backward"])
@pytest.mark.parametrize(("n", "dim"), [(None, -1), (3, -1), (7, 1), (None, 0), (1, -1), (8, -3)])
@pytest.mark.parametrize("name", ONE)
def test_transforms_along_one_axis(name, n, dim, norm):
    for x in inputs_of(name):
        agree(lambda torch, x: getattr(torch.fft, name)(x, n, dim, norm), x, name=False, order=2)


@pytest.mark.parametrize(
    ("s", "dim"),
    [
        (None, None),
        ((3, 6), None),
        (None, (0, 2)),
        ((4, -1), (1, 2)),
        ((-1, 6), (0, -1)),
        ((2, 3, 4), (2, 0, 1)),
        ((5,), (1,)),
    ],
)
@pytest.mark.parametrize("name", SEVERAL)
def test_transforms_along_several_axes(name, s, dim):
    options = {"s": s} | ({} if dim is None else {"dim": dim})
    for x in inputs_of(name):
        agree(lambda torch, x: getattr(torch.fft, name)(x, **options), x, name=False)


@pytest.mark.parametrize("name", [*ONE, *SEVERAL])
def test_single_precision_and_names_of_nodes(name):
    for x in inputs_of(name):
        small = x.astype(np.complex64 if x.dtype.kind == "c" else np.float32)
        agree(lambda torch, x: getattr(torch.fft, name)(x), small, name=True)
    agree(lambda torch, x: getattr(torch.fft, name)(x), np.arange(12).reshape(3, 4), name=False)


@pytest.mark.parametrize("name", ["fftshift", "ifftshift"])
def test_shifts(name):
    for dim in (None, 0, (0, 2), -1):
        agree(lambda torch, x, dim=dim: getattr(torch.fft, name)(x, dim), REAL, name=False)


@pytest.mark.parametrize("name", ["fftfreq", "rfftfreq"])
def test_frequencies(name):
    for n in (1, 4, 7):
        agree(lambda torch, n=n: getattr(torch.fft, name)(n, 0.5, dtype=torch.float64))
        agree(lambda torch, n=n: getattr(torch.fft, name)(n))


CALLS = [
    lambda torch, z, x: torch.fft.rfft(z),
    lambda torch, z, x: torch.fft.rfft2(z),
    lambda torch, z, x: torch.fft.ihfft(z),
    lambda torch, z, x: torch.fft.fft(x, 0),
    lambda torch, z, x: torch.fft.fft(x, norm="none"),
    lambda torch, z, x: torch.fft.fft2(x, norm="none"),
    lambda torch, z, x: torch.fft.fft(x, dim=3),
    lambda torch, z, x: torch.fft.fftn(x, (2, 2), (0,)),
    lambda torch, z, x: torch.fft.fftn(x, (2, 2, 2, 2)),
    lambda torch, z, x: torch.fft.fftn(x, dim=(0, 0)),
    lambda torch, z, x: torch.fft.irfft(x[..., :1]),
    lambda torch, z, x: torch.fft.fft(x[0, 0, 0]),
]


@pytest.mark.parametrize("number", range(len(CALLS)))
def test_errors(number):
    def said(library):
        with pytest.raises((RuntimeError, IndexError)) as caught:
            CALLS[number](library, library.tensor(COMPLEX), library.tensor(REAL))
        return str(caught.value).split("\n")[0]

    assert said(torch) == of_pytorch(said)


@pytest.mark.part(3)
@pytest.mark.parametrize("name", [*ONE, *SEVERAL])
def test_derivatives_by_differences(name):
    for x in inputs_of(name):
        given = torch.tensor(x[:2, :3, :4]).requires_grad_()
        assert torch.autograd.gradcheck(getattr(torch.fft, name), given)
        assert torch.autograd.gradgradcheck(getattr(torch.fft, name), given)


@settings(max_examples=20, deadline=None)
@given(st.integers(2, 9), st.sampled_from([None, "ortho", "forward"]))
def test_the_inverse_gives_the_signal_back(n, norm):
    x = torch.tensor(RNG.normal(size=(3, n)))
    for there, back in (("rfft", "irfft"), ("ihfft", "hfft"), ("rfft2", "irfft2")):
        made = getattr(torch.fft, there)(x, norm=norm)
        size = n if back in ONE else (3, n)
        again = getattr(torch.fft, back)(made, size, norm=norm)
        np.testing.assert_allclose(again.numpy(), x.numpy(), atol=1e-12)
    z = torch.fft.ifft(torch.fft.fft(x, norm=norm), norm=norm)
    np.testing.assert_allclose(z.real.numpy(), x.numpy(), atol=1e-12)
