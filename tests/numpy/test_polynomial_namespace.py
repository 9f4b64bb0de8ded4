"""`tapegrad.numpy.polynomial`: NumPy's values, and derivatives by every argument."""

from __future__ import annotations

import numpy as np
import pytest

import tapegrad.numpy
from tapegrad import NotDifferentiableError, grad, vjp
from tapegrad.testing import check_grads

OURS, THEIRS = tapegrad.numpy.polynomial, np.polynomial
PREFIXES = {
    "polynomial": "poly",
    "chebyshev": "cheb",
    "legendre": "leg",
    "hermite": "herm",
    "hermite_e": "herme",
    "laguerre": "lag",
}
CLASSES = ["Polynomial", "Chebyshev", "Legendre", "Hermite", "HermiteE", "Laguerre"]

random = np.random.default_rng(0)
FIVE, THREE, C3 = random.normal(size=5), random.normal(size=3), random.normal(size=(3, 2, 4))
X, Y = random.uniform(-1, 1, 6), random.normal(size=6)

FUNCTIONS = [
    ("val", lambda f: f, (X, FIVE)),
    ("val", lambda f: f, (0.3, C3)),
    ("val", lambda f: f, (X, C3)),
    ("val", lambda f: lambda x, c: f(x, c, tensor=False), (X[:2], C3[:, :, 0])),
    ("val", lambda f: lambda x, c: f([x[0], 1.0], [c[0], c[1], 2.0]), (X, FIVE)),
    ("val", lambda f: f, (X + 0.5j, THREE - 1j)),
    ("val2d", lambda f: f, (X, Y, C3)),
    ("val3d", lambda f: f, (X, Y, X * Y, C3)),
    ("grid2d", lambda f: f, (X, Y[:2], C3)),
    ("grid3d", lambda f: f, (X[:2], Y[:3], X[:2], C3)),
    ("vander", lambda f: lambda x: f(x, 4), (X,)),
    ("vander", lambda f: lambda x: f(x, 0), (X,)),
    ("vander2d", lambda f: lambda x, y: f(x, y, [2, 3]), (X, Y)),
    ("vander3d", lambda f: lambda x, y: f(x, y, x, [1, 2, 3]), (X, Y)),
    *(("der", lambda f, m=m: lambda c, s: f(c, m, s), (FIVE, 1.3)) for m in (0, 1, 2, 6)),
    ("der", lambda f: lambda c: f(c, axis=1), (C3,)),
    *(
        ("int", lambda f, m=m: lambda c, s, b: f(c, m, [0.3, 0.2][:m], b, s), (FIVE, 1.3, 0.4))
        for m in (0, 1, 2)
    ),
    ("int", lambda f: lambda c, k: f(c, 1, k, axis=-1), (C3, 0.7)),
    ("mulx", lambda f: f, (FIVE,)),
    ("line", lambda f: f, (1.2, 0.7)),
    ("add", lambda f: f, (FIVE, THREE)),
    ("sub", lambda f: f, (THREE, FIVE)),
    ("mul", lambda f: f, (FIVE, THREE)),
    ("div", lambda f: f, (FIVE, THREE)),
    ("div", lambda f: f, (THREE, FIVE)),
    ("div", lambda f: f, (FIVE, THREE[:1])),
    *(("pow", lambda f, k=k: lambda c: f(c, k), (FIVE,)) for k in (0, 1, 3)),
    ("fromroots", lambda f: f, (FIVE,)),
    ("trim", lambda f: lambda c: f(c, 0.5), (FIVE,)),
    ("companion", lambda f: f, (FIVE,)),
    ("companion", lambda f: f, (THREE[:2],)),
    ("roots", lambda f: f, (FIVE,)),
    ("roots", lambda f: f, (THREE[:2],)),
    ("roots", lambda f: f, (THREE + 1j,)),
    ("fit", lambda f: lambda x, y: f(x, y, 3), (X, Y)),
    ("fit", lambda f: lambda x, y, w: f(x, y, [0, 3], w=w), (X, Y, X + 2)),
    ("fit", lambda f: lambda x, y: f(x, y, 2), (X, random.normal(size=(6, 2)))),
]


def check_same(ours, theirs, args):
    """NumPy's values and dtypes, and derivatives to second order."""
    found, expected = vjp(ours, *args)[0], theirs(*args)
    pairs = zip(*([v] if not isinstance(v, tuple) else v for v in (found, expected)), strict=True)
    for mine, numpys in pairs:
        np.testing.assert_allclose(mine, numpys, rtol=1e-10, atol=1e-10)
        assert np.shape(mine) == np.shape(numpys)
        assert np.asarray(mine).dtype == np.asarray(numpys).dtype
    check_grads(ours, args, order=2)


@pytest.mark.part(9)
@pytest.mark.parametrize("module", PREFIXES)
@pytest.mark.parametrize(("name", "use", "args"), FUNCTIONS)
def test_functions(module, name, use, args):
    name = PREFIXES[module] + name
    functions = [getattr(getattr(space, module), name) for space in (OURS, THEIRS)]
    check_same(*map(use, functions), args)


@pytest.mark.part(3)
@pytest.mark.parametrize("module", PREFIXES)
@pytest.mark.parametrize("x", [X, X.reshape(2, 3), 0.3, np.array(0.3), X + 0.5j], ids=np.shape)
@pytest.mark.parametrize("c", [FIVE, C3], ids=np.shape)
@pytest.mark.parametrize("options", [{}, {"tensor": False}], ids=str)
def test_plain_numpys_values_by_their_points(module, x, c, options):
    if options:
        c = np.resize(c, (c.shape[0], *np.shape(x)))
    function = getattr(getattr(np.polynomial, module), PREFIXES[module] + "val")
    call = lambda x: function(x, c, **options)  # noqa: E731
    check_same(call, call, (x,))


@pytest.mark.parametrize("x", [X, X.reshape(2, 3), np.float64(0.3), X + 0.5j], ids=np.shape)
@pytest.mark.parametrize("roots", [FIVE, C3[:, 0], [0.5, 2.0]], ids=np.shape)
def test_plain_numpys_polynomials_by_their_roots(x, roots):
    call = lambda x: np.polynomial.polynomial.polyvalfromroots(x, roots)  # noqa: E731
    check_same(call, call, (x,))


@pytest.mark.parametrize("module", PREFIXES)
def test_plain_numpys_functions_inside_vmap(module):
    function = getattr(getattr(np.polynomial, module), PREFIXES[module] + "val")
    rows = X.reshape(2, 3)
    found = tapegrad.vmap(lambda x: function(x, C3))(rows)
    np.testing.assert_allclose(found, np.stack([function(row, C3) for row in rows]), rtol=1e-12)
    numbers = tapegrad.vmap(lambda x: function(x, C3))(X)
    np.testing.assert_allclose(numbers, np.stack([function(x, C3) for x in X]), rtol=1e-12)


@pytest.mark.parametrize("module", list(PREFIXES)[1:])
def test_changes_of_basis_and_weights(module):
    prefix = PREFIXES[module]
    for name in (f"poly2{prefix}", f"{prefix}2poly"):
        check_same(
            getattr(getattr(OURS, module), name), getattr(getattr(THEIRS, module), name), (FIVE,)
        )
    weight = f"{prefix}weight"
    check_same(
        getattr(getattr(OURS, module), weight), getattr(getattr(THEIRS, module), weight), (X,)
    )


def test_what_single_modules_have():
    check_same(OURS.polynomial.polyvalfromroots, THEIRS.polynomial.polyvalfromroots, (X, FIVE))
    check_same(
        lambda a: OURS.chebyshev.chebinterpolate(lambda x: np.sin(a * x), 4),
        lambda a: THEIRS.chebyshev.chebinterpolate(lambda x: np.sin(a * x), 4),
        (1.2,),
    )
    for name, args in {
        "mapdomain": (X, np.array([-1.0, 2.0]), np.array([0.5, 3.0])),
        "mapparms": (np.array([-1.0, 2.0]), np.array([0.5, 3.0])),
        "getdomain": (X,),
        "trimcoef": (FIVE,),
    }.items():
        check_same(getattr(OURS.polyutils, name), getattr(THEIRS.polyutils, name), args)
    assert OURS.chebyshev.chebpts2 is THEIRS.chebyshev.chebpts2
    assert OURS.chebyshev.Chebyshev is OURS.Chebyshev


PROGRAMS = [
    (lambda K, _: lambda c, x: K(c)(x), (FIVE, X)),
    (lambda K, _: lambda c, d, x: K(c, d)(x), (FIVE, np.array([-2.0, 3.0]), X)),
    (lambda K, _: lambda c, w, x: K(c, None, w)(x), (FIVE, np.array([-2.0, 3.0]), X)),
    (lambda K, _: lambda a, b: (K(a) * K(b) + K(b) - 2 * K(a) + 1.0).coef, (FIVE, THREE)),
    (lambda K, _: lambda a, b: (K(a) * K(THREE) - K(b)).coef, (FIVE, THREE)),
    (lambda K, _: lambda a, b: tuple(q.coef for q in divmod(K(a), K(b))), (FIVE, THREE)),
    (lambda K, _: lambda a: (-(K(a) ** 2)).coef, (FIVE,)),
    (lambda K, _: lambda a, s: (s * K(a) / s + s - K(a) * s).coef, (FIVE, 1.3)),
    (lambda K, _: lambda a, b: K(a, [-2, 3]).integ(1, [0.5], b).coef, (FIVE, 0.4)),
    (lambda K, _: lambda a: K(a, [-2, 3]).deriv(2).coef, (FIVE,)),
    (lambda K, _: lambda a: K(a, [-2, 3]).roots(), (THREE,)),
    (lambda K, _: lambda x, y: (K.fit(x, y, 3).coef, K.fit(x, y, 2).domain), (X, Y)),
    (lambda K, _: lambda x, y: K.fit(x, y, 2, domain=[], w=x + 2).coef, (X, Y)),
    (lambda K, _: lambda r: K.fromroots(r).coef, (THREE,)),
    (lambda K, _: lambda r: K.fromroots(r, domain=None).coef, (THREE,)),
    (lambda K, _: lambda a, b: K(a)(K(b)).coef, (THREE, THREE)),
    (lambda K, _: lambda a: K(a, [-2, 3]).convert().coef, (THREE,)),
    (lambda K, space: lambda a: K(a, [-2, 3]).convert(kind=space.Legendre).coef, (THREE,)),
    (lambda K, space: lambda a: space.Chebyshev.cast(K(a, [-2, 3])).coef, (THREE,)),
    (lambda K, _: lambda a: K(a, [-2, 3]).linspace(4), (THREE,)),
    (lambda K, _: lambda a: K(a).trim(0.4).coef, (FIVE,)),
    (lambda K, _: lambda a: K(a).cutdeg(2).copy().coef, (FIVE,)),
]


@pytest.mark.part(6)
@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize(("program", "args"), PROGRAMS)
def test_classes(name, program, args):
    check_same(program(getattr(OURS, name), OURS), program(getattr(THEIRS, name), THEIRS), args)


def test_polynomials_of_plain_numbers_are_numpys():
    ours, theirs = OURS.Legendre([1, 2, 3]), THEIRS.Legendre([1, 2, 3])
    assert isinstance(ours, THEIRS.Legendre)
    assert str(ours) == str(theirs)
    np.testing.assert_array_equal(ours(X), theirs(X))
    assert ours + theirs == ours * 2
    np.testing.assert_array_equal((theirs + ours).coef, [2, 4, 6])


def test_a_trailing_zero_has_a_derivative():
    # A series may come padded; its top coefficients count all the same.
    padded = np.array([1.0, 0.0, 0.0])
    (bar,) = vjp(lambda c: OURS.chebyshev.chebval(0.3, c), padded)[1](1.0)
    np.testing.assert_allclose(bar, [1, 0.3, 2 * 0.09 - 1])
    (bar,) = vjp(lambda c: OURS.polynomial.polymul(c, [3.0, 4.0]), padded[:2])[1](np.ones(2))
    np.testing.assert_allclose(bar, [7, 3])


@pytest.mark.parametrize("module", PREFIXES)
@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("int", (np.zeros(1),)),
        ("sub", (FIVE, FIVE)),
        ("mul", (np.array([1.0, 0.0]), THREE)),
        ("mulx", (np.zeros(2),)),
        ("div", (np.append(THREE, 0.0), THREE)),
        ("div", (np.append(FIVE, 0.0), THREE)),
        ("trim", (np.zeros(2),)),
        ("roots", (np.append(THREE, 0.0),)),
    ],
)
def test_results_are_cut_where_numpy_cuts_them(module, name, args):
    name = PREFIXES[module] + name
    found = vjp(getattr(getattr(OURS, module), name), *args)[0]
    expected = getattr(getattr(THEIRS, module), name)(*args)
    for ours, theirs in (
        zip(np.atleast_2d(found), np.atleast_2d(expected), strict=True)
        if (not isinstance(found, tuple))
        else zip(found, expected, strict=True)
    ):
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, atol=1e-12)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda c: OURS.polynomial.polydiv(FIVE, c * [1, 1, 0]), NotDifferentiableError),
        (lambda c: OURS.polynomial.polydiv(FIVE, c * 0), ZeroDivisionError),
        (lambda c: OURS.chebyshev.chebcompanion(c * [1, 1, 0]), NotDifferentiableError),
        (lambda c: OURS.polynomial.polyfit(c, c, 4), NotDifferentiableError),
        (lambda c: OURS.polynomial.polyfit(c, c, 1, full=True), NotDifferentiableError),
        (lambda c: OURS.polynomial.polypow([1.0, 2.0], c[0]), NotDifferentiableError),
        (lambda c: OURS.polynomial.polyval2d(c, c[:2], C3), ValueError),
        (lambda c: OURS.polynomial.polyder(c, -1), ValueError),
        (lambda c: OURS.polynomial.polyint(c, 1, [1, 2]), ValueError),
        (lambda c: OURS.polynomial.polyadd(c[:0], c), ValueError),
        (lambda c: OURS.polynomial.polymul(c[None], c), ValueError),
        (lambda c: OURS.Polynomial(c, [1, 2, 3]), ValueError),
        (lambda c: OURS.Polynomial(c) + OURS.Chebyshev(c), TypeError),
        (lambda c: THEIRS.Polynomial(c), tapegrad.ConversionError),
        (lambda c: THEIRS.Polynomial([1.0, 2.0])(c), tapegrad.ConversionError),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_what_has_no_derivative_raises(call, error):
    with pytest.raises(error):
        grad(lambda c: [call(c), np.sum(c)][1])(THREE)
