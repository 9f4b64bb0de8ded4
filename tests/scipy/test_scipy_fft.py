"""scipy.fft: laws of each transform, and the backend for SciPy's own functions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

pytest.importorskip("scipy")

import scipy.fft
from scipy_calls import Numbers, call, check_call, checked, uncalled, undecided

from tapegrad import grad, vjp, vmap
from tapegrad.scipy import fft

_NUMBERS = Numbers(1)
normal = _NUMBERS.normal
complex_normal = _NUMBERS.complex_normal
NORMS = (None, "ortho", "forward")
ALONG = [
    *(call(f, complex_normal(2, 5), n=4, axis=1, norm="ortho") for f in (fft.fft, fft.ifft)),
    *(call(f, normal(4, 2), n=5, axis=0) for f in (fft.rfft, fft.ihfft)),
    *(call(f, complex_normal(3, 2), n=5, axis=0) for f in (fft.irfft, fft.hfft)),
    *(call(f, normal(2, 4), axes=0) for f in (fft.fftshift, fft.ifftshift)),
    *(call(f, normal(2, 5), 0.3, 0.5, 0.2, 0.1) for f in (fft.fht, fft.ifht)),
]
OVER = [
    *(call(f, complex_normal(2, 3, 2), s=[3, -1], axes=(2, 0)) for f in (fft.fftn, fft.ifftn)),
    *(call(f, normal(2, 3, 2), s=[3, 3], axes=(2, 0)) for f in (fft.rfftn, fft.ihfftn)),
    *(call(f, complex_normal(2, 3, 2), s=[3, 3], axes=(2, 0)) for f in (fft.irfftn, fft.hfftn)),
    *(call(f, complex_normal(2, 3), norm="forward") for f in (fft.fft2, fft.ifft2)),
    *(call(f, normal(2, 3)) for f in (fft.rfft2, fft.ihfft2)),
    *(call(f, complex_normal(2, 3)) for f in (fft.irfft2, fft.hfft2)),
    *(call(f, normal(2, 3), s=[4], axes=[0]) for f in (fft.dctn, fft.idctn, fft.dstn, fft.idstn)),
]
COSINES = [fft.dct, fft.idct, fft.dst, fft.idst]
CALLS = [
    *ALONG,
    *OVER,
    *(call(f, normal(2, 4), 2, axis=0, norm="ortho") for f in COSINES),
]


@checked(CALLS)
def test_a_rule_keeps_the_laws(one):
    check_call(one)


def test_every_function_has_a_decision_and_a_call():
    helpers = {"fftfreq", "rfftfreq", "next_fast_len", "prev_fast_len", "fhtoffset"}
    workers = {"get_workers", "set_workers"}
    backends = {"register_backend", "set_backend", "set_global_backend", "skip_backend"}
    assert set(undecided(scipy.fft, fft)) <= helpers | workers | backends
    assert uncalled(fft, CALLS) == []


@pytest.mark.parametrize("f", COSINES, ids=lambda f: f.__name__)
def test_transposed_cosine_matrices_of_each_kind(f):
    words = itertools.product(range(1, 5), NORMS, (None, True, False), (2, 3, 4))
    for kind, norm, orthogonal, size in words:
        params = {"type": kind, "axis": 0, "norm": norm, "orthogonalize": orthogonal}
        matrix = f(np.eye(size), **params)
        _, pullback = vjp(lambda x, p=params: f(x, **p), np.eye(size))
        np.testing.assert_allclose(pullback(np.eye(size))[0], matrix.T, atol=1e-14)


def test_single_precision_stays():
    x = np.ones(4, np.float32)
    assert grad(lambda x: np.sum(fft.dct(x)))(x).dtype == np.float32
    assert grad(lambda x: np.sum(np.abs(fft.rfft(x))))(x).dtype == np.float32


def test_an_argument_inside_a_transform_is_not_overwritten():
    x = normal(4)
    before = x.copy()
    grad(lambda x: np.sum(np.abs(fft.fft(x + 0j, overwrite_x=True)) ** 2) + np.sum(x**2))(x)
    assert np.array_equal(x, before)


@pytest.mark.parametrize("transform", [fft.fft, fft.irfft, fft.dct])
def test_a_cotangent_is_not_overwritten(transform):
    x = normal(4) if transform is fft.dct else complex_normal(4)
    out, pull = vjp(lambda x: transform(x, overwrite_x=True), x)
    g = np.cos(np.arange(out.size)).astype(out.dtype)
    before = g.copy()
    pull(g)
    assert np.array_equal(g, before)


def test_examples_of_a_vmap_are_transformed_at_once():
    x = normal(3, 4)
    np.testing.assert_allclose(vmap(lambda x: fft.dct(x, 3))(x), scipy.fft.dct(x, 3))


def test_the_module_is_a_backend_of_scipy():
    x = normal(4)
    with pytest.raises(Exception, match="scipy"):
        grad(lambda x: np.sum(scipy.fft.dct(x)))(x)
    expected = grad(lambda x: fft.dct(x)[1])(x)
    with scipy.fft.set_backend(fft):
        assert np.array_equal(grad(lambda x: scipy.fft.dct(x)[1])(x), expected)
        assert np.array_equal(scipy.fft.fft(x), np.fft.fft(x))
