"""Whatever is public in jax.scipy, or has a rule in HIPS autograd's scipy, is differentiable here.

The tables are complete by `dir()` of those: every name has a call, or is one of constants. The
reference are differences of SciPy's own functions, for JAX compiles for a minute.
"""

from __future__ import annotations

import importlib
import types

import numpy as np
import pytest

pytest.importorskip("scipy")

from scipy_differences import differences_of

from tapegrad import grad
from tapegrad._core.forms import Unsupported
from tapegrad._core.rule import REGISTRY
from tapegrad.scipy import stats

pytestmark = pytest.mark.peers

RNG = np.random.default_rng(1)
A = RNG.standard_normal((4, 4)) + 4 * np.eye(4)
B = RNG.standard_normal((4, 2))
V = RNG.standard_normal(4)
W = RNG.standard_normal(3)
X = RNG.standard_normal(24)
GRID = RNG.standard_normal((5, 6))
POINTS = np.array([0.3, 0.9, 2.0])
LEVELS = np.array([0.2, 0.5, 0.7])
COUNTS = np.array([1.0, 2.0, 3.0])


def symmetric(a):
    return (a + a.T) / 2


# name: a function (module, numpy) -> function of the arguments, and these
LINALG = {
    "block_diag": (lambda m, n: m.block_diag, (A, V)),
    "cho_factor": (lambda m, n: lambda a: n.triu(m.cho_factor(a @ a.T)[0]), (A,)),
    "cho_solve": (lambda m, n: lambda a, b: m.cho_solve(m.cho_factor(a @ a.T), b), (A, B)),
    "cholesky": (lambda m, n: lambda a: m.cholesky(a @ a.T), (A,)),
    "circulant": (lambda m, n: m.circulant, (V,)),
    "companion": (lambda m, n: m.companion, (V + 3,)),
    "convolution_matrix": (lambda m, n: lambda v: m.convolution_matrix(v, 3), (V,)),
    "det": (lambda m, n: m.det, (A,)),
    "eigh": (lambda m, n: lambda a: m.eigh(symmetric(a))[1] ** 2, (A,)),
    "eigh_tridiagonal": (
        lambda m, n: lambda d, e: m.eigh_tridiagonal(d, e, eigvals_only=True),
        (V, W),
    ),
    "expm": (lambda m, n: lambda a: m.expm(a / 5), (A,)),
    "expm_frechet": (lambda m, n: lambda a, e: m.expm_frechet(a / 5, e)[1], (A, A.T)),
    "fiedler": (lambda m, n: m.fiedler, (V,)),
    "fiedler_companion": (lambda m, n: m.fiedler_companion, (V + 3,)),
    "funm": (lambda m, n: lambda a: n.real(m.funm(symmetric(a), n.exp)), (A / 3,)),
    "hankel": (lambda m, n: m.hankel, (V, W)),
    "inv": (lambda m, n: m.inv, (A,)),
    "leslie": (lambda m, n: m.leslie, (V, W)),
    "lu": (lambda m, n: lambda a: m.lu(a)[1], (A,)),
    "lu_factor": (lambda m, n: lambda a: m.lu_factor(a)[0], (A,)),
    "lu_solve": (lambda m, n: lambda a, b: m.lu_solve(m.lu_factor(a), b), (A, B)),
    "polar": (lambda m, n: lambda a: m.polar(a)[0], (A,)),
    "qr": (lambda m, n: lambda a: m.qr(a, mode="economic")[1], (A,)),
    "qr_multiply": (lambda m, n: lambda a, c: m.qr_multiply(a, c)[0], (A, A.T)),
    "rsf2csf": (lambda m, n: lambda t: n.real(m.rsf2csf(n.triu(t), n.eye(4))[0]), (np.triu(A),)),
    "schur": (lambda m, n: lambda a: m.schur(symmetric(a))[0], (A,)),
    "solve": (lambda m, n: m.solve, (A, B)),
    "solve_sylvester": (lambda m, n: m.solve_sylvester, (A, A.T + np.eye(4), A**2)),
    "solve_triangular": (lambda m, n: lambda a, b: m.solve_triangular(a, b, lower=True), (A, B)),
    "sqrtm": (lambda m, n: lambda a: n.real(m.sqrtm(a @ a.T)), (A,)),
    "svd": (lambda m, n: lambda a: m.svd(a)[0] ** 2, (A,)),
    "toeplitz": (lambda m, n: m.toeplitz, (V, W)),
}
SIGNAL = {
    "convolve": (lambda m, n: lambda x, y: m.convolve(x, y, mode="same"), (X, V)),
    "convolve2d": (lambda m, n: m.convolve2d, (GRID, B)),
    "correlate": (lambda m, n: m.correlate, (X, V)),
    "correlate2d": (lambda m, n: m.correlate2d, (GRID, B)),
    "csd": (lambda m, n: lambda x, y: abs(m.csd(x, y, nperseg=8)[1]) ** 2, (X, X[::-1])),
    "detrend": (lambda m, n: m.detrend, (X,)),
    "fftconvolve": (lambda m, n: m.fftconvolve, (X, V)),
    "istft": (
        lambda m, n: lambda r, i: m.istft(r + 1j * i, nperseg=8)[1],
        (RNG.standard_normal((5, 5)), RNG.standard_normal((5, 5))),
    ),
    "stft": (lambda m, n: lambda x: abs(m.stft(x, nperseg=8)[2]) ** 2, (X,)),
    "welch": (lambda m, n: lambda x: m.welch(x, nperseg=8)[1], (X,)),
}
OTHERS = {
    "integrate": {"trapezoid": (lambda m, n: m.trapezoid, (V, V + np.arange(4.0)))},
    "interpolate": {
        "RegularGridInterpolator": (
            lambda m, n: (
                lambda x, v: m.RegularGridInterpolator((n.arange(5.0), n.arange(6.0)), v)(x)
            ),
            (RNG.uniform(0, 4, (3, 2)), GRID),
        )
    },
    "ndimage": {
        "map_coordinates": (
            lambda m, n: lambda x, at: m.map_coordinates(x, [at[0], at[1]], order=1),
            (GRID, RNG.uniform(0, 4, (2, 3))),
        )
    },
}
HIPS = {  # those of its names that have a rule
    "integrate": {"odeint"},
    "linalg": {
        "solve_banded",
        "solve_sylvester",
        "solve_triangular",
        "sqrtm",
    },
    "signal": {"convolve"},
}
TABLES = {"linalg": LINALG, "signal": SIGNAL, **OTHERS}
# Of plain numbers alone; hessenberg has no derivative there either.
CONSTANT = {
    "linalg": set("dft hadamard helmert hessenberg hilbert invhilbert invpascal pascal".split()),
    "stats": {"mode", "rankdata"},
}
METHODS = "pdf logpdf pmf logpmf cdf logcdf sf logsf ppf isf entropy mean var rvs".split()


def public(module):
    return {
        name
        for name in dir(module)
        if not name.startswith("_") and callable(getattr(module, name))
    }


@pytest.mark.parametrize("name", TABLES)
def test_the_tables_hold_whatever_jax_has(name):
    module = pytest.importorskip("jax.scipy." + name)
    assert public(module) - CONSTANT.get(name, set()) <= set(TABLES[name])


@pytest.mark.parametrize(
    ("module", "name"), [(module, name) for module, table in TABLES.items() for name in table]
)
def test_what_jax_differentiates_has_the_gradients_of_differences(module, name):
    made, args = TABLES[module][name]
    ours = made(importlib.import_module("tapegrad.scipy." + module), np)
    scipys = made(importlib.import_module("scipy." + module), np)
    found = grad(lambda *p: np.sum(np.sin(ours(*p))), tuple(range(len(args))))(*args)
    for at, slope in enumerate(found):

        def moved(x, at=at):
            return np.sum(np.sin(scipys(*args[:at], x, *args[at + 1 :])))

        np.testing.assert_allclose(slope, differences_of(moved, args[at]), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("peer", ["jax.scipy.stats", "autograd.scipy.stats"])
def test_methods_of_distributions_that_others_differentiate(peer):
    module = pytest.importorskip(peer)
    for name in dir(module):
        theirs = getattr(module, name)
        if not isinstance(theirs, types.ModuleType) or name.startswith("_"):
            continue
        own = getattr(stats, name)
        for method in set(METHODS) & set(dir(theirs)):
            made = getattr(own, method)
            assert not isinstance(REGISTRY.get(made), Unsupported), (name, method)
    functions = {
        name for name in public(module) if not isinstance(getattr(module, name), types.ModuleType)
    }
    assert functions - CONSTANT["stats"] <= {"gaussian_kde", "sem", "tuple"}
    assert np.all(np.isfinite(grad(lambda x: stats.sem(x))(X)))


@pytest.mark.parametrize("name", HIPS)
def test_what_hips_autograd_differentiates_is_declared_here(name):
    module = pytest.importorskip("autograd.scipy." + name)
    own = importlib.import_module("tapegrad.scipy." + name)
    assert public(module) >= HIPS[name]
    assert set(own.__all__) >= HIPS[name]
