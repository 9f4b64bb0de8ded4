"""tapegrad.scipy.interpolate: values are SciPy's, derivatives those of differences."""

from __future__ import annotations

import importlib
import pickle

import numpy as np
import pytest

pytest.importorskip("scipy")

import tapegrad
from tapegrad import BatchingError, NotDifferentiableError
from tapegrad.scipy.interpolate._refused import REFUSED
from tapegrad.testing import check_grads

# SciPy 1.18 warns of three functions, and so do ours of the same names.
pytestmark = pytest.mark.filterwarnings("ignore:.*removed in SciPy 1.20:DeprecationWarning")

S = importlib.import_module("scipy.interpolate")
T = importlib.import_module("tapegrad.scipy.interpolate")

RNG = np.random.default_rng(0)
X = np.cumsum(RNG.uniform(0.3, 1, 7))
Y = RNG.normal(size=(7, 2))
Q = np.array([[0.5, 1.7], [2.9, 3.6]]) + X[0] - 0.3
X20, Y20 = np.cumsum(RNG.uniform(0.3, 1, 20)), RNG.normal(size=(19, 2))
W20, Z20 = RNG.uniform(0.5, 1, 20), RNG.normal(size=20)
C = RNG.normal(size=(4, 6, 2))
KNOTS = np.r_[[0] * 4, 1.0, 2.0, 3.3, [4.0] * 4] + 0.1 * np.arange(11)
COEFFICIENTS = RNG.normal(size=(7, 2))
G1, G2 = np.cumsum(RNG.uniform(0.3, 1, 6)), np.cumsum(RNG.uniform(0.3, 1, 7))
V = RNG.normal(size=(6, 7, 2))
P = np.stack([RNG.uniform(g[0] + 0.01, g[-1] - 0.01, 5) for g in (G1, G2)], -1)
DATA, VALUES, ASKED = (RNG.normal(size=s) for s in ((9, 2), (9, 3), (4, 2)))
ND = RNG.normal(size=(3, 4, 2, 3, 2))
T1 = np.r_[[G1[0]] * 4, G1[1:-1], [G1[-1]] * 4]
T2 = np.r_[[G2[0]] * 3, G2[1:-1], [G2[-1]] * 3]

V8 = RNG.normal(size=(8, 8))

CASES = {}


def case(name, f, *args):
    """A function of SciPy's module, or of ours, and of arrays."""
    assert name not in CASES
    CASES[name] = f, args


def closed(y):
    return np.concatenate([y[:-1], y[:1]])


for bc in ("not-a-knot", "clamped", "natural"):
    for nu in range(3):
        case(f"cubic {bc} {nu}", lambda L, x, y, q, bc=bc, nu=nu:
             L.CubicSpline(x, y, bc_type=bc)(q, nu), X, Y, Q)  # fmt: skip
case(
    "cubic with values",
    lambda L, x, y, q, v: L.CubicSpline(x, y, bc_type=((1, v), (2, v * 2)))(q),
    X, Y, Q, Y[0],
)  # fmt: skip
for n in (3, 4, 5, 7):
    case(f"cubic periodic {n}", lambda L, x, y, q, n=n:
         L.CubicSpline(x[:n], closed(y[:n]), bc_type="periodic")(q * 1.5), X, Y, Q)  # fmt: skip
for n in (2, 3, 4):
    case(f"cubic of {n}", lambda L, x, y, q, n=n: L.CubicSpline(x[:n], y[:n])(q), X, Y, Q)
case("pchip", lambda L, x, y, q: L.PchipInterpolator(x, y)(q), X, Y, Q)
case("pchip axis", lambda L, x, y, q: L.PchipInterpolator(x, y.T, axis=1)(q, 1), X, Y, Q)
case("pchip_interpolate", lambda L, x, y, q: L.pchip_interpolate(x, y, q), X, Y, Q)
for method in ("akima", "makima"):
    case(method, lambda L, x, y, q, m=method: L.Akima1DInterpolator(x, y, method=m)(q), X, Y, Q)
case("hermite", lambda L, x, y, d, q: L.CubicHermiteSpline(x, y, d)(q), X, Y, Y**2, Q)
case("antiderivative", lambda L, x, y, q: L.CubicSpline(x, y).antiderivative(2)(q), X, Y, Q)
case("derivative", lambda L, x, y, q: L.CubicSpline(x, y).derivative()(q), X, Y, Q)
case("integrate", lambda L, x, y, q: L.CubicSpline(x, y).integrate(q[0, 0], q[1, 1]), X, Y, Q)
case(
    "integrate periodic",
    lambda L, x, y, q: L.CubicSpline(x, closed(y), bc_type="periodic").integrate(
        q[0, 0] - 3, q[1, 1] * 3
    ),
    X, Y, Q,
)  # fmt: skip
case("PPoly extend", lambda L, c, x, q: extended(L, c, x)(q), C, X, Q)
case("BPoly", lambda L, c, x, q: L.BPoly(c, x)(q, 1), C, X, Q)
case("BPoly antiderivative", lambda L, c, x, q: L.BPoly(c, x).antiderivative(2)(q), C, X, Q)
case("BPoly derivative", lambda L, c, x, q: L.BPoly(c, x).derivative(2)(q), C, X, Q)
case("from_bernstein_basis", lambda L, c, x: L.PPoly.from_bernstein_basis(L.BPoly(c, x)).c, C, X)
case("from_power_basis", lambda L, c, x: L.BPoly.from_power_basis(L.PPoly(c, x)).c, C, X)
for family in ("PPoly", "BPoly"):
    case(f"{family} down", lambda L, c, x, q, f=family:
         getattr(L, f)(c, x[::-1]).integrate(q[0, 0], q[1, 1]), C, X, Q)  # fmt: skip
for orders in (None, 3):
    case(f"from_derivatives {orders}", lambda L, x, y, o=orders:
         L.BPoly.from_derivatives(x, [y[i] for i in range(7)], orders=o).c,
         X, RNG.normal(size=(7, 3)))  # fmt: skip


def extended(L, c, x):
    p = L.PPoly(c, x)
    p.extend(c[1:, :2], x[:2] + 10)
    return p


for k in range(1, 6):
    case(f"spline {k}", lambda L, x, y, q, k=k: L.make_interp_spline(x, y, k)(q), X, Y, Q)
for bc in ("natural", "clamped"):
    case(f"spline {bc}", lambda L, x, y, q, bc=bc:
         L.make_interp_spline(x, y, bc_type=bc)(q, 1), X, Y, Q)  # fmt: skip
case(
    "spline with values",
    lambda L, x, y, q, v: L.make_interp_spline(x, y, bc_type=([(1, v)], [(2, v)]))(q),
    X, Y, Q, Y[0],
)  # fmt: skip
for k in (2, 3, 4, 5):
    for n in (7, 20):
        case(f"spline periodic {k} {n}", lambda L, x, y, q, k=k, n=n: L.make_interp_spline(
            x[:n], np.concatenate([y[: n - 1], y[:1]]), k, bc_type="periodic"
        )(q), X20, Y20, Q)  # fmt: skip
case(
    "make_lsq_spline",
    lambda L, x, y, w, t, q: L.make_lsq_spline(
        x, y, np.concatenate([*[x[:1]] * 4, t, *[x[-1:]] * 4]), 3, w
    )(q),
    X20, Z20, W20, X20[[4, 9, 14]] + 0.1, Q,
)  # fmt: skip
case(
    "make_smoothing_spline",
    lambda L, x, y, w, lam, q: L.make_smoothing_spline(x, y, w, lam)(q),
    X20, Z20, W20, np.float64(0.3), Q,
)  # fmt: skip
for nu in range(4):
    case(f"BSpline {nu}", lambda L, t, c, q, nu=nu: L.BSpline(t, c, 3)(q, nu),
         KNOTS, COEFFICIENTS, Q)  # fmt: skip
TC = KNOTS, COEFFICIENTS, Q
TC1 = KNOTS, COEFFICIENTS[:, 0], Q
case("BSpline derivative", lambda L, t, c, q: L.BSpline(t, c, 3).derivative(2)(q), *TC)
case("BSpline antiderivative", lambda L, t, c, q: L.BSpline(t, c, 3).antiderivative(2)(q), *TC)
for extrapolate in (True, False, "periodic"):
    case(f"BSpline integrate {extrapolate}", lambda L, t, c, q, e=extrapolate:
         L.BSpline(t, c, 3, e).integrate(q[0, 0], q[1, 1] + 0.2), *TC1)  # fmt: skip
case("basis_element", lambda L, t, q: L.BSpline.basis_element(t)(q), KNOTS[3:8], Q)
case("insert_knot", lambda L, t, c, q: L.BSpline(t, c, 3).insert_knot(q[0, 1], 2).c, *TC)
case("splint", lambda L, t, c, q: L.splint(q[0, 0], q[1, 1], (t, c, 3)), *TC1)
for ext in (0, 1, 3):
    case(f"splev {ext}", lambda L, t, c, q, e=ext: L.splev(q * 1.4, (t, c, 3), 0, e), *TC1)
case("spalde", lambda L, t, c, q: np.stack(L.spalde(q[0], (t, c, 3))), *TC1)
case("from_spline", lambda L, t, c, q: L.PPoly.from_spline((t, c, 3))(q), *TC1)
case(
    "from_power_basis of a spline",
    lambda L, x, y, q: L.BSpline.from_power_basis(L.CubicSpline(x, y[:, 0]))(q),
    X, Y, Q,
)  # fmt: skip

GRID = G1, G2, V, P
for method in ("linear", "nearest", "slinear", "cubic_legacy", "quintic_legacy", "pchip"):
    case(f"grid {method}", lambda L, a, b, v, q, m=method:
         L.RegularGridInterpolator((a, b), v, m)(q), *GRID)  # fmt: skip
case("grid of one coordinate", lambda L, a, v, q: L.RegularGridInterpolator(
    (a, [2.0]), v[:, :1], bounds_error=False, fill_value=None)(q), G1, V, P)  # fmt: skip
case("grid down", lambda L, a, b, v, q: L.RegularGridInterpolator((a[::-1], b), v)(q), *GRID)
for fill in (1.5, None):
    case(f"grid outside {fill}", lambda L, a, b, v, q, f=fill: L.RegularGridInterpolator(
        (a, b), v, bounds_error=False, fill_value=f)(q * 1.5), *GRID)  # fmt: skip
case("interpn", lambda L, a, b, v, q: L.interpn((a, b), v, q), *GRID)
case(
    "interpn splinef2d",
    lambda L, a, b, v, q: L.interpn((a, b), v[..., 0], q, "splinef2d"),
    *GRID,
)
case(
    "rectangle at points",
    lambda L, a, b, v, q: L.RectBivariateSpline(a, b, v[..., 0], kx=2).ev(q[:, 0], q[:, 1], 1),
    *GRID,
)
case(
    "rectangle on a grid",
    lambda L, a, b, v, q: L.RectBivariateSpline(a, b, v[..., 0])(a[:3] + 0.1, b[:2] + 0.1, 0, 1),
    *GRID,
)
case(
    "rectangle integral",
    lambda L, a, b, v: L.RectBivariateSpline(a, b, v[..., 0]).integral(1.0, 2.0, 0.5, 3.0),
    *GRID[:3],
)
case("NdPPoly", lambda L, c, a, b, q: L.NdPPoly(c, (a, b))(q, (1, 1)), ND, G1[:3], G2[:4], P)
case(
    "NdPPoly antiderivative",
    lambda L, c, a, b, q: L.NdPPoly(c, (a, b)).antiderivative((1, 0))(q),
    ND, G1[:3], G2[:4], P,
)  # fmt: skip
case(
    "NdPPoly integrate",
    lambda L, c, a, b: L.NdPPoly(c, (a, b)).integrate(((0.5, 1.0), (0.6, 2.0))),
    ND, G1[:3], G2[:4],
)  # fmt: skip
case("NdBSpline", lambda L, c, q: L.NdBSpline((T1, T2), c, (3, 2))(q, nu=(1, 0)),
     RNG.normal(size=(8, 8)), P)  # fmt: skip

SCATTERED = DATA, VALUES, ASKED
for kernel in ("linear", "thin_plate_spline", "cubic", "quintic", "multiquadric",
               "inverse_multiquadric", "inverse_quadratic", "gaussian"):  # fmt: skip
    case(f"rbf {kernel}", lambda L, y, d, x, k=kernel:
         L.RBFInterpolator(y, d, kernel=k, epsilon=1.3, smoothing=0.1)(x), *SCATTERED)  # fmt: skip
case(
    "rbf smoothing",
    lambda L, y, d, x, s: L.RBFInterpolator(y, d, smoothing=s, degree=-1)(x),
    *SCATTERED, np.full(9, 0.2),
)  # fmt: skip
for function in ("multiquadric", "inverse", "gaussian", "linear", "cubic", "thin_plate"):
    case(f"Rbf {function}", lambda L, y, d, x, f=function: L.Rbf(
        y[:, 0], y[:, 1], d[:, 0], function=f, smooth=0.1)(x[:, 0], x[:, 1]),
        *SCATTERED)  # fmt: skip
case("triangles", lambda L, y, d, x: L.LinearNDInterpolator(y, d, fill_value=0.0)(x * 0.3),
     *SCATTERED)  # fmt: skip
case("nearest", lambda L, d: L.NearestNDInterpolator(DATA, d)(ASKED), VALUES)
case("griddata", lambda L, y, d, x: L.griddata(y, d[:, 0], x * 0.3, fill_value=0.0), *SCATTERED)
case("griddata of one", lambda L, x, y, q: L.griddata(x, y, q, "cubic"), X, Y[:, 0], Q)

for kind in ("linear", "nearest", "nearest-up", "zero", "slinear", "quadratic", "cubic",
             "previous", "next", 5):  # fmt: skip
    case(f"interp1d {kind}", lambda L, x, y, q, k=kind: L.interp1d(x, y, k, axis=0)(q), X, Y, Q)
case(
    "interp1d fill",
    lambda L, x, y, q: L.interp1d(x, y, axis=0, bounds_error=False, fill_value=(1.0, 2.0))(
        q * 2 - 1
    ),
    X, Y, Q,
)  # fmt: skip
case(
    "interp1d extrapolate",
    lambda L, x, y, q: L.interp1d(x[::-1], y, axis=0, fill_value="extrapolate")(q * 2 - 1),
    X, Y, Q,
)  # fmt: skip
for k in (2, 3, 4):
    case(f"through points {k}", lambda L, x, y, q, k=k:
         L.InterpolatedUnivariateSpline(x, y[:, 0], k=k)(q, 1), X, Y, Q)  # fmt: skip
case(
    "UnivariateSpline",
    lambda L, x, y, q: L.UnivariateSpline(x, y[:, 0], s=0, k=4).antiderivative()(q),
    X, Y, Q,
)  # fmt: skip
case(
    "LSQUnivariateSpline",
    lambda L, x, y, q, t: L.LSQUnivariateSpline(x, y[:, 0], t).integral(q[0, 0], q[1, 1]),
    X, Y, Q, X[3:4] + 0.1,
)  # fmt: skip
case(
    "LSQUnivariateSpline residual",
    lambda L, x, y, w, t: L.LSQUnivariateSpline(x, y, t, w).get_residual(),
    X20, Z20, W20, X20[[6, 12]] + 0.1,
)  # fmt: skip
case(
    "LSQUnivariateSpline of knots in a list",
    lambda L, x, y, q, t: L.LSQUnivariateSpline(x, y[:, 0], [t, X[4] + 0.1])(q),
    X, Y, Q, X[3] + 0.1,
)  # fmt: skip
case("splrep", lambda L, x, y, q: L.splev(q, L.splrep(x, y[:, 0])), X, Y, Q)
case("splrep with knots", lambda L, x, y, t, q: L.splev(q, L.splrep(x, y[:, 0], t=t)),
     X, Y, X[3:4] + 0.1, Q)  # fmt: skip
HALF = np.array([0.2, 0.6])
case("splprep", lambda L, y: np.stack(L.splev(HALF, L.splprep([y[:, 0], y[:, 1]], s=0)[0])), Y)
if hasattr(S, "make_splrep"):
    case("make_splrep", lambda L, x, y, q: L.make_splrep(x, y[:, 0])(q), X, Y, Q)
    case("make_splprep", lambda L, y: L.make_splprep([y[:, 0], y[:, 1]])[0](HALF), Y)
case(
    "bisplev",
    lambda L, c: L.bisplev(G1[1:4] + 0.1, G2[2:4] + 0.1, (T1, T2, c, 3, 2), 1, 0),
    RNG.normal(size=64),
)
case("krogh", lambda L, x, y, q: L.KroghInterpolator(x, y)(q), X, Y, Q)
case("krogh all", lambda L, x, y, q: L.KroghInterpolator(x, y.T, axis=1).derivatives(q), X, Y, Q)
case(
    "krogh again, traced",
    lambda L, x, y, q: L.KroghInterpolator(x[np.array([0, 0, 1, 1, 1, 2])], y[:6])(q),
    X[:3], Y, Q,
)  # fmt: skip
case("krogh again", lambda L, y, q: L.KroghInterpolator([0, 0, 1, 1, 1, 2, 3], y)(q), Y, Q)
case("barycentric", lambda L, x, y, q: L.BarycentricInterpolator(x, y)(q), X, Y, Q)
case("barycentric derivative", lambda L, x, y, q:
     L.BarycentricInterpolator(x, y).derivative(q), X, Y, Q)  # fmt: skip
if hasattr(S, "FloaterHormannInterpolator"):
    case("floater", lambda L, x, y, q: L.FloaterHormannInterpolator(x, y, d=2)(q), X, Y, Q)
    LINE = np.linspace(0, 5, 40)
    case("AAA", lambda L, q: L.AAA(LINE, np.exp(LINE))(q), Q)
case("lagrange", lambda L, x, y, q: np.polyval(L.lagrange(x[:4], y[:4, 0]).c, q), X, Y, Q)
case("pade", lambda L, a: np.concatenate([p.c for p in L.pade(a, 2)]), RNG.normal(size=6))
case("taylor", lambda L, x: L.approximate_taylor_polynomial(np.exp, x, 3, 0.5).c, np.float64(0.3))

each_case = pytest.mark.parametrize("name", CASES)


@pytest.mark.part(3)
@each_case
def test_values_are_those_of_scipy_and_derivatives_those_of_differences(name):
    f, args = CASES[name]
    if not name.startswith("barycentric"):  # SciPy's takes its nodes in random order
        assert np.array_equal(f(T, *args), f(S, *args), equal_nan=True)
    assert_derivatives(f, args)


def assert_derivatives(f, args):
    """The value is that of SciPy, the tangent that of differences, and its transpose agrees."""
    expected = f(S, *args)
    rng = np.random.default_rng(1)
    dots = [rng.normal(size=np.shape(x)) for x in args]
    out, dot = tapegrad.jvp(lambda *a: f(T, *a), args, tuple(dots))
    np.testing.assert_allclose(out, expected, rtol=1e-9, atol=1e-10)

    def moved(h):
        return f(S, *(x + h * d for x, d in zip(args, dots, strict=True)))

    h = 1e-5
    slope = (8 * (moved(h) - moved(-h)) - moved(2 * h) + moved(-2 * h)) / (12 * h)
    np.testing.assert_allclose(dot, slope, rtol=2e-5, atol=2e-5 * (1 + np.max(np.abs(slope))))
    _, pull = tapegrad.vjp(lambda *a: f(T, *a), *args)
    g = np.where(np.isfinite(out), rng.normal(size=np.shape(out)), 0.0)
    bars = pull(g)
    total = sum(np.sum(b * d) for b, d in zip(bars, dots, strict=True))
    np.testing.assert_allclose(total, np.sum(g * np.where(g == 0, 0, dot)), rtol=1e-7, atol=1e-8)


ENDS = {
    "not-a-knot": "not-a-knot",
    "clamped": "clamped",
    "natural": "natural",
    "periodic": "periodic",
    "slopes": ((1, 0.3), (1, -0.2)),
    "curvatures": ((2, 0.3), (2, -0.2)),
    "slope and curvature": ((1, 0.3), (2, -0.2)),
    "curvature and slope": ((2, 0.3), (1, -0.2)),
    "slope and knot": ((1, 0.3), "not-a-knot"),
    "knot and curvature": ("not-a-knot", (2, 0.3)),
}


@pytest.mark.parametrize("count", [2, 3, 4])
@pytest.mark.parametrize("ends", ENDS)
def test_cubic_splines_of_few_points_for_each_condition_at_the_ends(ends, count):
    def f(L, x, y, q):
        y = closed(y) if ends == "periodic" else y
        return L.CubicSpline(x, y[:, 0], bc_type=ENDS[ends])(q, 1)

    x = X[:count]
    assert_derivatives(f, (x, Y[:count], x[0] + (x[-1] - x[0]) * np.array([0.2, 0.7])))


@pytest.mark.parametrize("wrong", [42, (1, 0.0), [(1, 0.0)], ((1, 0.0), None)])
@pytest.mark.parametrize("name", ["CubicSpline", "make_interp_spline"])
def test_conditions_that_are_none_have_the_error_of_scipy(name, wrong):
    def error(f, *args):
        with pytest.raises((ValueError, TypeError)) as caught:
            f(*args)
        return type(caught.value), str(caught.value)

    expected = error(lambda: getattr(S, name)(X, Y, bc_type=wrong))
    f = getattr(T, name)
    assert error(lambda: f(X, Y, bc_type=wrong)) == expected
    assert error(tapegrad.grad(lambda y: f(X, y, bc_type=wrong)(1.0)[0]), Y) == expected


def test_our_solver_is_scipys_for_values_on_a_grid():
    grid, values = (np.arange(5.0), np.arange(6.0)), np.random.default_rng(3).normal(size=(5, 6))
    at = np.array([[1.3, 2.4], [0.2, 4.7]])
    solvers = [importlib.import_module(f"{L.__name__[:-11]}sparse.linalg").spsolve for L in (S, T)]
    expected, found = (
        L.RegularGridInterpolator(grid, values, "cubic", solver=solver)(at)
        for L, solver in zip((S, T), solvers, strict=True)
    )
    np.testing.assert_array_equal(found, expected)


OF_FEW = {
    "pchip": (2, lambda L, x, y: L.PchipInterpolator(x, y)),
    "akima": (2, lambda L, x, y: L.Akima1DInterpolator(x, y)),
    "makima": (2, lambda L, x, y: L.Akima1DInterpolator(x, y, method="makima")),
    "krogh": (1, lambda L, x, y: L.KroghInterpolator(x, y)),
    "barycentric": (2, lambda L, x, y: L.BarycentricInterpolator(x, y)),
    "interp1d": (2, lambda L, x, y: L.interp1d(x, y, fill_value="extrapolate")),
    **{
        f"make_interp_spline {k}": (k + 1, lambda L, x, y, k=k: L.make_interp_spline(x, y, k))
        for k in range(4)
    },
}


@pytest.mark.parametrize("more", [0, 1])
@pytest.mark.parametrize("name", OF_FEW)
def test_interpolation_of_the_fewest_points(name, more):
    fewest, made = OF_FEW[name]
    x = X[: fewest + more]
    q = x[0] + (x[-1] - x[0]) * np.array([0.2, 0.7])
    assert_derivatives(lambda L, x, y, q: made(L, x, y)(q), (x, Y[: fewest + more, 0], q))


def test_fits_of_several_columns_are_mapped():
    y = RNG.normal(size=(3, 9, 2))
    knots = [0.0] * 3 + [4.5] + [8.0] * 3
    found = tapegrad.vmap(lambda y: T.make_lsq_spline(np.arange(9.0), y, knots, 2)(1.5))(y)
    expected = [S.make_lsq_spline(np.arange(9.0), one, knots, 2)(1.5) for one in y]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_value_outside_has_the_dtype_of_those_within():
    x, y, q = (v.astype(np.float32) for v in (X, Y[:, 0], Q))
    found = tapegrad.vjp(lambda y: T.interp1d(x, y)(q), y)[0]
    assert found.dtype == S.interp1d(x, y)(q).dtype == np.float32


REFUSED_UNDER_VMAP = (
    "PPoly extend",
    "insert_knot",
    "triangles",
    "griddata",
    "lagrange",
    "pade",
    "taylor",
)


@pytest.mark.slow
@each_case
def test_second_order_and_vmap(name):
    f, args = CASES[name]
    call = lambda *a: f(T, *a)  # noqa: E731
    check_grads(call, args)
    if name.startswith(REFUSED_UNDER_VMAP) or name == "AAA":
        return
    batches = [np.stack([x, x * 1.01]) for x in args]
    found = tapegrad.vmap(call)(*batches)
    expected = np.stack([call(*(b[i] for b in batches)) for i in range(2)])
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-9)


def test_every_public_name_has_a_decision():
    modules = {"fitpack", "fitpack2", "interpnd", "interpolate", "ndgriddata", "polyint", "rbf"}
    # interp2d was removed from SciPy; BivariateSpline is SciPy's base, of which nobody makes one.
    others = modules | {"dfitpack", "interp2d", "test", "BivariateSpline"}
    public = {name for name in dir(S) if not name.startswith("_")} - others
    assert public == set(T.__all__) | set(REFUSED)
    assert not set(T.__all__) & set(REFUSED)
    for found in REFUSED.values():
        assert pickle.loads(pickle.dumps(found)) is found
    for name in public:
        assert getattr(T, name) is not getattr(S, name)


@pytest.mark.parametrize(
    "call",
    [
        lambda y: T.UnivariateSpline(X20, y, s=1.0)(1.0),
        lambda y: T.splrep(X20, y, s=1.0),
        lambda y: T.make_smoothing_spline(X20, y)(1.0),
        lambda y: T.RBFInterpolator(X20[:, None], y, neighbors=3)(np.ones((1, 1))),
        lambda y: T.SmoothBivariateSpline(X20, X20**2, y),
        lambda y: T.bisplrep(X20, X20**2, y),
        lambda y: T.CloughTocher2DInterpolator(RNG.normal(size=(20, 2)), y),
    ],
)
def test_what_jumps_is_refused(call):
    with pytest.raises(NotDifferentiableError, match=r"scipy\.interpolate"):
        tapegrad.grad(lambda y: call(y))(Z20)


@pytest.mark.parametrize("extrapolate", [False, True, "periodic"])
def test_design_matrices_are_scipys_with_traced_elements(extrapolate):
    x = np.array([KNOTS[3] + 0.3, KNOTS[4], KNOTS[5], KNOTS[-4]]) + (0.1 if extrapolate else 0)
    two = np.stack([x, x[::-1] - 0.1], axis=1)
    both = (KNOTS, KNOTS[1:])
    for points, knots, matrix in (
        (x, KNOTS, lambda f: f.BSpline.design_matrix),
        (two, both, lambda f: f.NdBSpline.design_matrix),
    ):
        degrees = 3 if points is x else (3, 2)
        plain = matrix(S)(points, knots, degrees, extrapolate)
        seen = []

        def f(points, knots, matrix=matrix, degrees=degrees, seen=seen):
            seen.append(matrix(T)(points, knots, degrees, extrapolate))
            return seen[-1].data

        value, _ = tapegrad.vjp(f, points, knots)
        for attribute in ("shape", "format"):
            assert getattr(seen[0], attribute) == getattr(plain, attribute)
        np.testing.assert_array_equal(seen[0].col, plain.indices)
        np.testing.assert_allclose(value, plain.data, rtol=1e-13, atol=1e-15)
        check_grads(lambda p, f=f, knots=knots: np.sin(f(p + 1e-3, knots)), (points - 2e-3,))
        with pytest.raises(NotDifferentiableError, match=r"inside vmap.*np\.eye"):
            tapegrad.vmap(lambda p, f=f, knots=knots: f(p, knots))(points[None])
    if extrapolate is False:
        with pytest.raises(ValueError, match="Out of bounds"):
            tapegrad.grad(lambda y: T.BSpline.design_matrix(y, KNOTS, 3).sum())(x + 100.0)


def test_roots_move_by_the_implicit_function_theorem():
    roots = lambda x, y: T.CubicSpline(x, y).roots()  # noqa: E731
    out, _ = tapegrad.vjp(roots, X, Y[:, 0])
    assert np.array_equal(out, S.CubicSpline(X, Y[:, 0]).roots())
    check_grads(roots, (X, Y[:, 0]))
    level = tapegrad.grad(lambda y: T.CubicSpline(X, Y[:, 0]).solve(y)[0])(0.1)
    spline = S.CubicSpline(X, Y[:, 0])
    assert np.isclose(level, 1 / spline(spline.solve(0.1)[0], 1))


def test_a_root_where_the_value_jumps_moves_with_the_break():
    c = np.array([[1.0, 1], [1, -2.0]])
    by_breaks = tapegrad.jacobian(lambda x: T.PPoly(c, x).roots())(np.array([0.0, 1, 2]))
    assert np.array_equal(by_breaks, [[1, 0, 0], [0, 1, 0], [0, 1, 0]])


def test_at_a_knot_the_piece_at_the_right_counts():
    x, y = np.array([0.0, 1, 2]), np.array([0.0, 1, 3])
    for f in (T.make_interp_spline(x, y, 1), T.interp1d(x, y), T.PPoly([[1.0, 2], [0, 1]], x)):
        assert tapegrad.grad(lambda q, f=f: f(q) + 0.0)(1.0) == 2
        assert tapegrad.grad(lambda q, f=f: f(q) + 0.0)(2.0) == 2


def test_barycentric_at_nodes():
    x, y = np.array([0.0, 1, 2, 3.5]), Y[:4]
    slopes = tapegrad.jvp(lambda q: T.BarycentricInterpolator(x, y)(q), (x,), (np.ones(4),))[1]
    np.testing.assert_allclose(slopes, S.KroghInterpolator(x, y).derivative(x), rtol=1e-10)


def test_triangulations_are_refused_under_vmap():
    with pytest.raises(BatchingError, match="LinearNDInterpolator"):
        tapegrad.vmap(lambda y: T.LinearNDInterpolator(y, VALUES)(ASKED))(np.stack([DATA] * 2))


def test_objects_answer_as_those_of_scipy():
    ours, theirs = T.CubicSpline(X, Y), S.CubicSpline(X, Y)
    assert np.array_equal(ours.c, theirs.c)
    assert ours.axis == theirs.axis
    assert ours.extrapolate == theirs.extrapolate
    assert np.array_equal(ours.derivative().c, theirs.derivative().c)
    with pytest.raises(ValueError, match="strictly increasing"):
        tapegrad.grad(lambda y: T.CubicSpline(X[::-1], y)(1.0))(Y[:, 0])
    spline = T.make_interp_spline(X, Y)
    plain = S.make_interp_spline(X, Y)
    assert all(np.array_equal(*pair) for pair in zip(spline.tck, plain.tck, strict=True))


# An object, what is done to it, and where it is asked; `a` is 2.0 or traced.
SET = {
    "BSpline c": (lambda L: L.BSpline(KNOTS, COEFFICIENTS, 3), lambda f, a: _set(f, c=f.c * a), Q),
    "BSpline t": (lambda L: L.BSpline(KNOTS, COEFFICIENTS, 3), lambda f, a: _set(f, t=f.t * a), Q),
    "CubicSpline": (lambda L: L.CubicSpline(X, Y), lambda f, a: _set(f, c=f.c * a), Q),
    "PPoly": (lambda L: L.PPoly(C, X), lambda f, a: _set(f, x=f.x * a, extrapolate=False), Q),
    "BPoly": (lambda L: L.BPoly(C, X), lambda f, a: _set(f, c=f.c * a, extrapolate=False), Q + 1),
    "Pchip": (lambda L: L.PchipInterpolator(X, Y), lambda f, a: _set(f, c=f.c * a), Q),
    "Akima": (lambda L: L.Akima1DInterpolator(X, Y), lambda f, a: _set(f, x=f.x * a), Q),
    "Hermite": (lambda L: L.CubicHermiteSpline(X, Y, Y), lambda f, a: _set(f, c=f.c * a), Q),
    "derivative": (
        lambda L: L.CubicSpline(X, Y), lambda f, a: _set(f, c=f.c * a).antiderivative(), Q),
    "NdPPoly": (lambda L: L.NdPPoly(ND, (G1[:3], G2[:4])), lambda f, a: _set(f, c=f.c * a), P),
    "NdBSpline": (lambda L: L.NdBSpline((T1, T2), V8, (3, 2)),
                  lambda f, a: _set(f, extrapolate=False), P + 0.8),
    "grid": (lambda L: L.RegularGridInterpolator((G1, G2), V),
             lambda f, a: _set(f, fill_value=3.5 * a, bounds_error=False), P + 0.8),
    "grid cubic": (lambda L: L.RegularGridInterpolator((G1, G2), V, "cubic"),
                   lambda f, a: _set(f, fill_value=None, bounds_error=False), P + 0.8),
    "interp1d": (lambda L: L.interp1d(X, Y[:, 0]), lambda f, a: _set(f, y=f.y * a), Q),
    "interp1d x": (lambda L: L.interp1d(X, Y, axis=0), lambda f, a: _set(f, x=f.x * a), Q * 2),
    "interp1d fill": (
        lambda L: L.interp1d(X, Y, "quadratic", axis=0, bounds_error=False),
        lambda f, a: _set(f, fill_value=(-1.0, 4.0 * a)), Q * 2),
    "interp1d bounds": (lambda L: L.interp1d(X, Y, axis=0, fill_value=0.5),
                        lambda f, a: _set(f, bounds_error=False), Q * 2),
    "RBF": (lambda L: L.RBFInterpolator(DATA, VALUES), lambda f, a: _set(f, y=f.y * a), ASKED),
    "Rbf": (lambda L: L.Rbf(X, Y[:, 0]), lambda f, a: _set(f, nodes=f.nodes * a), Q),
    "Krogh": (lambda L: L.KroghInterpolator(X, Y), lambda f, a: _set(f, c=f.c * a), Q),
    "barycentric": (
        lambda L: L.BarycentricInterpolator(X, Y, rng=1), lambda f, a: _set(f, yi=f.yi * a), Q),
    "FloaterHormann": (
        lambda L: L.FloaterHormannInterpolator(X, Y),
        lambda f, a: _set(f, weights=f.weights * np.arange(1, 8.0) ** a), Q),
    "UnivariateSpline": (
        lambda L: L.UnivariateSpline(X, Y[:, 0]), lambda f, a: _set(f, ext=1), Q * 2),
    "LinearND": (lambda L: L.LinearNDInterpolator(DATA, VALUES),
                 lambda f, a: _set(f, values=f.values * a, fill_value=0.5 * a), ASKED),
    "NearestND": (lambda L: L.NearestNDInterpolator(DATA, VALUES),
                  lambda f, a: _set(f, values=f.values * a), ASKED),
    "RectBivariate": (
        lambda L: L.RectBivariateSpline(G1, G2, V[..., 0]),
        lambda f, a: _set(f, tck=(*f.tck[:2], f.tck[2] * a)), np.sort(P[:, 0])),
}  # fmt: skip


def _set(f, **attributes):
    for name, value in attributes.items():
        setattr(f, name, value)
    return f


@pytest.mark.parametrize("name", SET)
def test_attributes_may_be_set(name):
    make, change, at = SET[name]
    grid = (at,) if name == "RectBivariate" else ()

    def f(a, x, L=T):
        return change(make(L), a)(x, *grid)

    assert isinstance(make(T), type(make(S)))
    want = f(2.0, at, S)
    np.testing.assert_array_equal(f(2.0, at), want)
    value, slope = tapegrad.jvp(lambda a: f(a, at), (2.0,), (1.0,))
    np.testing.assert_allclose(value, want, rtol=1e-13, atol=1e-14)
    h = 1e-6
    difference = (f(2 + h, at, S) - f(2 - h, at, S)) / (2 * h)
    np.testing.assert_allclose(slope, np.nan_to_num(difference), rtol=1e-6, atol=1e-6)
    value = tapegrad.jvp(lambda x: f(2.0, x), (at,), (np.ones_like(at),))[0]
    np.testing.assert_allclose(value, want, rtol=1e-12, atol=1e-12)


def test_hooks_of_a_class_derived_from_ours():
    def make(L):
        class Doubled(L.PPoly):
            def _evaluate(self, x, nu, extrapolate, out):
                super()._evaluate(x, nu, extrapolate, out)
                out *= 2

        return Doubled(C, X)

    np.testing.assert_array_equal(make(T)(Q), make(S)(Q))
    assert type(make(T).derivative()).__name__ == "Doubled"
    if hasattr(S.PPoly, "_evaluate"):  # SciPy 1.18 asks a class within, and not this hook
        with pytest.raises(NotDifferentiableError, match=r"^scipy\.interpolate\.PPoly.*_evaluate"):
            tapegrad.grad(lambda x: make(T)(x)[0])(1.0)


@pytest.mark.parametrize("method", ["slinear", "cubic", "quintic"])
def test_the_traced_value_of_a_spline_on_a_grid_is_scipys(method):
    """SciPy solves for its coefficients to a tolerance."""
    grid = np.linspace(0, 4, 7)
    values = RNG.normal(size=(7, 7))
    at = np.array([[1.3, 2.2], [3.3, 0.1]])

    def f(v, x, L=T, g=grid):
        return L.RegularGridInterpolator((g, g), v, method)(x)

    want = f(values, at, S)
    for traced in (
        tapegrad.jvp(lambda x: f(values, x), (at,), (at,))[0],
        tapegrad.jvp(lambda v: f(v, at), (values,), (values,))[0],
        tapegrad.vmap(lambda v: f(v, at))(values[None])[0],
        tapegrad.jvp(lambda g: f(values, at, g=g), (grid,), (grid,))[0],
    ):
        np.testing.assert_allclose(traced, want, rtol=1e-13, atol=1e-13)


@pytest.mark.slow
def test_long_splines_are_solved_in_time_proportional_to_their_length():
    x = np.linspace(0, 1, 100_000)
    for make in (T.CubicSpline, T.make_interp_spline):
        bar = tapegrad.grad(lambda y, make=make: make(x, y)(0.3))(np.sin(x))
        assert np.isclose(np.sum(bar), 1)


# --- What the values decide is decided in each call of a program ---------------------------------

_X = np.array([0.0, 0.5, 1.3, 1.9, 2.6, 3.1, 4.0])
_Y = np.array([1.0, -1.0, 0.5, 2.0, -2.0, 0.3, 1.0])
_T = np.array([0.0, 0, 0, 0, 1, 2, 3, 4, 4, 4, 4])
_POINTS = np.random.default_rng(0).uniform(0, 4, (9, 2))
_ASKED = np.array([[1.5, 2.0], [2.2, 1.7]])


@pytest.mark.part(3)
@pytest.mark.parametrize(
    ("f", "first", "second"),
    [
        (lambda y: T.CubicSpline(_X, y).roots(), _Y, _Y + 0.4),
        (lambda y: T.CubicSpline(_X, y).roots(), _Y, _Y + 0.3 * np.sin(np.arange(7))),
        (lambda y: T.sproot((_T, np.append(y, np.zeros(4)), 3)), _Y, _Y + 0.3),
        (lambda x: T.RegularGridInterpolator((x,), _Y)(_X[1:4]), _X, _X[::-1]),
        (lambda x: T.PPoly(np.reshape(_POINTS, (3, 6)), x)(_X[1:4]), _X, _X[::-1]),
        (lambda x: T.krogh_interpolate(x, _Y, 0.7), _X, _X[[0, 0, 2, 3, 4, 5, 6]]),
        (lambda p: T.LinearNDInterpolator(p, _ASKED[0, 0] * p[:, 0])(_ASKED),
         _POINTS, _POINTS[::-1] ** 1.1),
        (lambda q: T.LinearNDInterpolator(_POINTS, _POINTS[:, 1] ** 2)(q),
         _ASKED, _ASKED[::-1]),
        (lambda q: q * T.NearestNDInterpolator(_POINTS, np.arange(9.0))(q)[:, None],
         _POINTS, _POINTS[::-1]),
        (lambda x: T.griddata(x, np.arange(9.0), _X[1:4]),
         _POINTS[:, 0], _POINTS[::-1, 0]),
    ],
)  # fmt: skip
def test_a_program_looks_again_at_what_the_result_depends_on(f, first, second):
    run = tapegrad.grad(lambda x: np.sum(f(x) ** 2))
    fast = tapegrad.compile(run, backend="numpy")
    for _ in range(4):
        fast(first)
    np.testing.assert_allclose(fast(second.copy()), run(second.copy()), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", ["zero", 0])
def test_steps_are_extrapolated_to_the_left(kind):
    def f(y):
        return T.interp1d(_X, y, kind, fill_value="extrapolate")(np.array([-0.3, 5.0]))

    np.testing.assert_array_equal(f(_Y), _Y[[0, -1]])
    value, pull = tapegrad.vjp(f, _Y)
    np.testing.assert_array_equal(value, f(_Y))
    np.testing.assert_array_equal(pull(np.array([2.0, 3.0]))[0], [2, 0, 0, 0, 0, 0, 3])


@pytest.mark.parametrize(("degree", "count"), [(1, 3), (2, 4), (3, 5), (1, 5), (3, 8)])
def test_the_integral_of_a_plain_spline_by_its_limits(degree, count):
    """Its coefficients are as many as its basis functions, and FITPACK's are more."""
    ends = [0.0] * degree, [1.0] * degree
    t = np.concatenate([ends[0], np.linspace(0, 1, count - degree + 1), ends[1]])
    spline = T.BSpline(t, np.arange(1.0, count + 1), degree)
    for f in (lambda b: spline.integrate(0.0, b), lambda b: T.splint(0.0, b, spline)):
        value, slope = tapegrad.value_and_grad(f)(0.4)
        assert np.isclose(value, f(0.4), rtol=1e-14)
        assert np.isclose(slope, spline(0.4), rtol=1e-13)


def test_methods_that_scipy_compiles_are_scipys_of_plain_values():
    points, asked = RNG.normal(size=(20, 2)), np.zeros((3, 2))
    for name in ("CloughTocher2DInterpolator", "LinearNDInterpolator"):
        plain = [getattr(kind, name)(points, points[:, 0] ** 2)(asked) for kind in (T, S)]
        np.testing.assert_array_equal(*plain)
