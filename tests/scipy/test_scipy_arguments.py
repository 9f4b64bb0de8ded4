"""Arguments that were taken and ignored with traced values: they act as SciPy's do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("scipy")

import scipy.integrate
import scipy.sparse
import scipy.stats

import tapegrad
import tapegrad.scipy.integrate as integrate
import tapegrad.scipy.sparse as sparse
import tapegrad.scipy.stats as stats
from tapegrad.scipy.cluster import vq
from tapegrad.scipy.signal import savgol_coeffs, windows
from tapegrad.scipy.spatial import geometric_slerp

Call = Callable[..., Any]


def _gradient(f: Call, x: Any) -> Any:
    return tapegrad.grad(lambda x: np.sum(f(x)))(x)


@pytest.mark.parametrize(
    "call",
    [vq.whiten, lambda x: vq.vq(x, np.ones((2, 2)))[1], lambda x: vq.vq(np.ones((3, 2)), x)],
)
def test_numbers_that_are_not_finite_are_refused_unless_asked(call: Call) -> None:
    x = np.array([[1.0, np.inf], [2.0, 0.0]])
    with pytest.raises(ValueError, match="infs or NaNs"):
        tapegrad.vjp(call, x)


@pytest.mark.parametrize("mean", ["gmean", "hmean"])
def test_means_are_computed_in_the_dtype(mean: str) -> None:
    x = np.array([1.0, 2.0, 5.0])
    value, _ = tapegrad.vjp(lambda x: getattr(stats, mean)(x, dtype=np.float32), x)
    assert value.dtype == np.float32
    assert value == getattr(scipy.stats, mean)(x, dtype=np.float32)


def test_ends_of_an_arc_lie_on_a_sphere_and_are_not_opposite() -> None:
    end, t = np.array([0.0, 1.0]), np.array([0.5])
    with pytest.raises(ValueError, match="unit n-sphere"):
        _gradient(lambda x: geometric_slerp(x, end, t), np.array([2.0, 0.0]))
    with pytest.warns(UserWarning, match="antipodes"):
        _gradient(lambda x: geometric_slerp(x, end, t, tol=0.1), np.array([0.01, -(0.9999**0.5)]))


def test_windows_are_numpys() -> None:
    for call in (
        lambda s, **words: windows.gaussian(5, s, **words),
        lambda s, **words: savgol_coeffs(5, 2, delta=s, **words),
    ):
        with pytest.raises(ValueError, match="Unsupported device"):
            _gradient(lambda s, call=call: call(s, device="gpu"), 1.0)
        assert np.isfinite(_gradient(lambda s, call=call: call(s, xp=np, device="cpu"), 1.0))


def test_a_table_is_printed_as_scipy_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    y = np.arange(5.0) ** 3
    scipy.integrate.romb(y, show=True)
    expected = capsys.readouterr().out
    _gradient(lambda y: integrate.romb(y, show=True), y)
    assert capsys.readouterr().out == expected


def test_copies_and_dtypes_of_sparse_arrays() -> None:
    seen: list[Any] = []

    def f(data: Any) -> Any:
        a = sparse.csr_array((data, ([0, 1], [0, 1])), shape=(2, 2))
        seen.extend(
            [a.tocsr(copy=True).data is a.data, a.tocsr().data is a.data, a.T.data is a.data]
        )
        seen.append(a.power(2, dtype=np.float32).dtype)
        return np.sum(a.power(2).data)

    tapegrad.grad(f)(np.array([1.0, 2.0]))
    assert seen == [False, True, True, np.float32]
