"""Functions that programs call now and then: laws of each family, and PyTorch where it is."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from agreement import agree, numbers

import tapegrad.torch as torch

# --- Special functions --------------------------------------------------------------------------

SINGLE = "entr erfcx i0 i0e i1 i1e log_ndtr ndtr ndtri".split()
BY_SCIPY = "airy_ai bessel_j0 bessel_y1 modified_bessel_k0 scaled_modified_bessel_k1".split()
POLYNOMIALS = [word for word in dir(torch.special) if "polynomial" in word]
PLACES = np.array([0.03, 0.2, 0.5, 0.9, 0.97])


@pytest.mark.parametrize("word", SINGLE)
def test_derivatives_of_special_functions(word: str) -> None:
    x = torch.tensor(PLACES, requires_grad=True)
    assert torch.autograd.gradcheck(getattr(torch.special, word), x)


def test_identities_of_special_functions() -> None:
    s, x = torch.special, torch.tensor(np.array([-3.0, -0.4, 0.0, 0.7, 2.5]))
    near = {"rtol": 1e-12, "atol": 1e-14}
    torch.testing.assert_close(s.erfcx(x), torch.exp(x * x) * torch.erfc(x), **near)
    torch.testing.assert_close(s.log_ndtr(x), torch.log(s.ndtr(x)), **near)
    torch.testing.assert_close(s.ndtri(s.ndtr(x)), x, rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(s.i1e(x) * x.abs().exp(), s.i1(x), **near)
    torch.testing.assert_close(s.xlog1py(x, x.abs()), x * torch.log1p(x.abs()), **near)
    torch.testing.assert_close(s.multigammaln(x + 4, 1), torch.lgamma(x + 4), **near)
    angle = torch.tensor(PLACES)
    for n in range(5):
        made = s.chebyshev_polynomial_t(torch.cos(angle), n)
        torch.testing.assert_close(made, torch.cos(n * angle), **near)
        made = s.chebyshev_polynomial_u(torch.cos(angle), n)
        torch.testing.assert_close(made, torch.sin((n + 1) * angle) / torch.sin(angle), **near)


def test_what_pytorch_does_not_differentiate_is_constant() -> None:
    x = torch.tensor(PLACES, requires_grad=True)
    assert not torch.special.hermite_polynomial_h(x, 3).requires_grad
    assert not torch.special.spherical_bessel_j0(x).requires_grad


def test_without_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    from tapegrad.torch._rules import distribution_tails

    x = torch.tensor(np.linspace(-6.0, 9.0, 31))
    wanted = {
        word: getattr(torch.special, word)(x) for word in ("erfcx", "i0e", "i1e", "log_ndtr")
    }
    monkeypatch.setattr(distribution_tails, "scipy_function", lambda name: None)
    for word, values in wanted.items():
        torch.testing.assert_close(
            getattr(torch.special, word)(x), values, rtol=1e-11, atol=1e-15, msg=word
        )
    with pytest.raises(ImportError, match="pip install scipy"):
        torch.special.bessel_j0(x)


@pytest.mark.parametrize("word", [*SINGLE, "spherical_bessel_j0", *BY_SCIPY])
def test_special_functions_agree_with_pytorch(word: str) -> None:
    if word in BY_SCIPY and not find_spec("scipy"):
        pytest.skip("computed by SciPy, which is not installed")
    agree(lambda t, x: getattr(t.special, word)(x), PLACES, tolerance=1e-7)


@pytest.mark.parametrize("word", POLYNOMIALS)
@pytest.mark.parametrize("n", [0, 1, 4])
def test_polynomials_agree_with_pytorch(word: str, n: int) -> None:
    agree(lambda t, x: getattr(t.special, word)(x, n), PLACES)


# --- Factors ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_reflections_make_the_factor_of_qr(dtype: Any) -> None:
    a = torch.tensor(numbers(5, 3, dtype=dtype))
    packed, tau = torch.geqrf(a)
    q = torch.linalg.householder_product(packed, tau)
    torch.testing.assert_close(q @ packed[:3].triu(), a)
    torch.testing.assert_close(q.mH @ q, torch.eye(3, dtype=a.dtype))
    torch.testing.assert_close(torch.orgqr(packed, tau), q)
    whole = torch.ormqr(packed, tau, torch.eye(5, dtype=a.dtype))
    torch.testing.assert_close(whole[:, :3], q)
    back = torch.ormqr(packed, tau, a, transpose=True)
    torch.testing.assert_close(back, whole.mH @ a)
    right = torch.ormqr(packed, tau, a.mH, left=False)
    torch.testing.assert_close(right, a.mH @ whole)
    if dtype is np.float64:
        inputs = (packed.requires_grad_(), tau.requires_grad_())
        assert torch.autograd.gradcheck(torch.linalg.householder_product, inputs)


def test_older_lu() -> None:
    a = torch.tensor(numbers(2, 3, 3))
    factors, swaps = torch.lu(a)
    p, low, high = torch.lu_unpack(factors, swaps)
    torch.testing.assert_close(p @ low @ high, a)
    torch.testing.assert_close(
        torch.lu_solve(a, factors, swaps), torch.eye(3).double().expand_as(a)
    )
    assert torch.lu(a, get_infos=True)[2].tolist() == [0, 0]
    assert torch.linalg.lu_factor_ex(torch.zeros(2, 2)).info.item() == 1
    with pytest.raises(RuntimeError, match=r"U\[1,1\] is zero"):
        torch.linalg.lu_factor(torch.zeros(2, 2))
    with pytest.raises(RuntimeError, match="now removed"):
        torch.symeig(a)


def test_lu_under_vmap() -> None:
    a = torch.tensor(numbers(4, 3, 3))
    mapped = torch.func.vmap(lambda x: tuple(torch.linalg.lu(x)))(a)
    for one, whole in zip(mapped, torch.linalg.lu(a), strict=True):
        torch.testing.assert_close(one, whole)
    solved = torch.func.vmap(lambda x: torch.linalg.lu_solve(*torch.linalg.lu_factor(x), x @ x))(a)
    torch.testing.assert_close(solved, a)


def test_ldl() -> None:
    pytest.importorskip("scipy")
    a = torch.tensor(numbers(2, 4, 4))
    a = a + a.mT
    made = torch.linalg.ldl_factor(a)
    torch.testing.assert_close(torch.linalg.ldl_solve(*made, a @ a), a)


# --- Spectra ------------------------------------------------------------------------------------

SETTINGS: list[dict[str, Any]] = [
    {"n_fft": 8},
    {"n_fft": 8, "hop_length": 3, "normalized": True},
    {"n_fft": 7, "onesided": False},
    {"n_fft": 8, "win_length": 6, "pad_mode": "constant"},
]


@pytest.mark.parametrize("words", SETTINGS)
def test_signals_come_back_from_their_spectrograms(words: dict[str, Any]) -> None:
    x = torch.tensor(numbers(2, 40), requires_grad=True)
    width = words.get("win_length", words["n_fft"])
    window = torch.hamming_window(width, dtype=torch.float64)
    made = torch.stft(x, window=window, return_complex=True, **words)
    inverse = {word: value for word, value in words.items() if word != "pad_mode"}
    back = torch.istft(made, window=window, length=40, **inverse)
    torch.testing.assert_close(back, x)
    assert torch.autograd.gradcheck(
        lambda x: torch.stft(x, window=window, return_complex=True, **words),
        x[:1, :14].detach().requires_grad_(),
    )


@pytest.mark.parametrize("words", SETTINGS)
def test_spectrograms_agree_with_pytorch(words: dict[str, Any]) -> None:
    agree(lambda t, x: t.stft(x, return_complex=True, **words), numbers(2, 30))
    with pytest.raises(RuntimeError, match="requires the return_complex parameter"):
        torch.stft(torch.zeros(20), 8)


@pytest.mark.parametrize("word", ["hann", "hamming", "blackman", "bartlett", "kaiser"])
def test_windows(word: str) -> None:
    make = getattr(torch, f"{word}_window")
    whole = make(9, periodic=False, dtype=torch.float64)
    torch.testing.assert_close(whole, whole.flip(0))
    torch.testing.assert_close(make(8, dtype=torch.float64), whole[:-1])
    assert make(1).tolist() == [1.0]
    assert make(0).shape == (0,)
    with pytest.raises(RuntimeError, match="non-negative window_length"):
        make(-1)


# --- Counts, segments, distinct elements --------------------------------------------------------


def test_histograms() -> None:
    x = torch.arange(1.0, 7.0)
    made = torch.histogram(x, 4, range=(0.0, 8.0), weight=x)
    assert made.hist.tolist() == [1.0, 5.0, 9.0, 6.0]
    assert made.bin_edges.tolist() == [0.0, 2.0, 4.0, 6.0, 8.0]
    boxes = torch.histogramdd(torch.stack([x, x * x], 1), [2, 3])
    assert boxes.hist.tolist() == [[3.0, 0.0, 0.0], [0.0, 1.0, 2.0]]
    assert [len(edges) for edges in boxes.bin_edges] == [3, 4]


@pytest.mark.parametrize("word", ["sum", "mean", "max", "min", "prod"])
def test_segments(word: str) -> None:
    x = torch.tensor(numbers(6), requires_grad=True)
    made = torch.segment_reduce(x, word, lengths=torch.tensor([1, 3, 2]))
    parts = [x[:1], x[1:4], x[4:]]
    reduced = {"max": torch.amax, "min": torch.amin}.get(word, getattr(torch, word))
    torch.testing.assert_close(made, torch.stack([reduced(part, 0) for part in parts]))
    assert torch.autograd.gradcheck(
        lambda x: torch.segment_reduce(x, word, offsets=torch.tensor([0, 1, 4, 6])), x
    )


def test_distinct_elements_and_others() -> None:
    x = torch.tensor([3, 1, 3, 2])
    values, inverse, counts = torch._unique2(x, True, True, True)
    assert (values.tolist(), inverse.tolist(), counts.tolist()) == (
        [1, 2, 3],
        [2, 0, 2, 1],
        [1, 1, 2],
    )
    assert torch._unique(x)[1].numel() == 0
    assert torch.nonzero_static(x > 1, size=4).tolist() == [[0], [2], [3], [-1]]
    mantissa, exponent = torch.frexp(torch.tensor([0.0, -8.0, 0.3]))
    assert torch.ldexp(mantissa, exponent).tolist() == torch.tensor([0.0, -8.0, 0.3]).tolist()
    assert exponent.dtype is torch.int32


# --- Copies, lists, native names ----------------------------------------------------------------


def test_copies_of_views_do_not_share_memory() -> None:
    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    for word, args in {
        "t": (),
        "select": (0, 1),
        "unsqueeze": (0,),
        "slice": (0, 1),
        "view": ((6,),),
    }.items():
        made = getattr(torch, f"{word}_copy")(x, *args)
        assert made._base is None
        assert type(made.grad_fn).__name__.endswith("Backward0_copy")
    whole = torch.as_strided_scatter(x, torch.ones(2), (2,), (3,), 1)
    (gradient,) = torch.autograd.grad(whole.sum(), x)
    assert gradient.tolist() == [[1, 0, 1], [1, 0, 1]]
    assert torch.range(0, 3).tolist() == [0, 1, 2, 3]
    assert torch.fill(x, 2.0).sum().item() == 12


def test_lists_of_tensors() -> None:
    x, y = torch.tensor([1.0, 4.0]), torch.tensor([9.0])
    assert [part.tolist() for part in torch._foreach_sqrt([x, y])] == [[1, 2], [3]]
    assert [part.tolist() for part in torch._foreach_add([x, y], [y, y], alpha=2)] == [
        [19, 22],
        [27],
    ]
    assert [part.tolist() for part in torch._foreach_mul([x, y], [2.0, 3.0])] == [[2, 8], [27]]
    torch._foreach_addcdiv_([x], [x.clone()], [x.clone()], 0.5)
    assert x.tolist() == [1.5, 4.5]
    assert [part.item() for part in torch._foreach_norm([x, y], 1)] == [6.0, 9.0]
    with pytest.raises(RuntimeError, match="at least one tensor"):
        torch._foreach_add([], 1)
    with pytest.raises(RuntimeError, match="same number of tensors, got 2 and 1"):
        torch._foreach_add([x, y], [x])


def test_native_names() -> None:
    x = torch.tensor(numbers(4, 3), requires_grad=True)
    made, means, scales = torch.native_layer_norm(x, [3], None, None, 1e-5)
    torch.testing.assert_close(made, (x - means) * scales)
    kept = torch.native_dropout(x, 0.5, True)
    torch.testing.assert_close(kept[0], torch.where(kept[1], 2 * x, 0.0))
    bags = torch.embedding_bag(x, torch.tensor([0, 1, 2, 3]), torch.tensor([0, 2]), mode=1)
    torch.testing.assert_close(bags[0], torch.stack([x[:2].mean(0), x[2:].mean(0)]))
    made = torch.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-5)
    torch.testing.assert_close(made[0], (x - made[1]) * made[2])


def test_answers_of_numpy() -> None:
    x, leaf = torch.ones(2), torch.ones(2, requires_grad=True)
    assert np.allclose(x, [1.0, 1.0]) is True
    assert np.array_equal(x, x) is True
    assert np.size(x) == 2
    assert np.array2string(x) == "[1. 1.]"
    np.testing.assert_allclose(x, x)
    for call in (np.allclose, np.array_equal, np.array_equiv):
        with pytest.raises(
            RuntimeError, match=r"Can't call numpy\(\) on Tensor that requires grad"
        ):
            call(leaf, x)


def test_the_environment() -> None:
    assert torch.get_autocast_dtype("cpu") is torch.bfloat16
    assert not torch.is_autocast_enabled("cpu")
    assert torch.sym_max(1, 2.5) == 2.5
    assert torch.cond(True, lambda x: x + 1, lambda x: x, (torch.ones(1),)).item() == 2
    assert torch.while_loop(lambda i: i < 5, lambda i: (i + 1,), (torch.zeros(()),))[0].item() == 5
    x = torch.ones(2, 3)
    assert (x.is_cpu, x.sparse_dim(), x.dense_dim(), x.dim_order()) == (True, 0, 2, (0, 1))
    assert x.to_dense() is x
    with pytest.raises(RuntimeError, match="values expected sparse tensor layout but got Strided"):
        x.values()
    assert torch.get_default_device().type == "cpu"


def test_low_rank() -> None:
    torch.manual_seed(0)
    a = torch.tensor(numbers(8, 3)) @ torch.tensor(numbers(3, 5, seed=1))
    for x in (a, a.mT):
        u, s, v = torch.svd_lowrank(x, 3)
        torch.testing.assert_close(u @ torch.diag(s) @ v.mT, x)
        torch.testing.assert_close(s, torch.linalg.svdvals(x)[:3])
    u, s, v = torch.pca_lowrank(a, 3)
    torch.testing.assert_close(u @ torch.diag(s) @ v.mT, a - a.mean(0))
    torch.testing.assert_close(torch.frobenius_norm(a, (0, 1)), torch.linalg.norm(a))
    torch.testing.assert_close(torch.nuclear_norm(a), torch.linalg.svdvals(a).sum())
    made = torch.binomial(torch.full((500,), 8.0), torch.tensor(0.25))
    assert abs(made.mean().item() - 2) < 0.3
