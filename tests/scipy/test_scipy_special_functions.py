"""Bessel, elliptic, hypergeometric and such functions: values of derivatives, ends, refusals."""

from __future__ import annotations

import zlib

import numpy as np
import pytest

mp = pytest.importorskip("mpmath")
sp = pytest.importorskip("scipy.special")
CASES = pytest.importorskip("special_functions_oracle").CASES
special = pytest.importorskip("tapegrad.scipy").special

from tapegrad import NotDifferentiableError, grad, hessian, jvp, vmap  # noqa: E402


def drawn(name, ranges, count, at):
    """As many points at which SciPy has a value: where that is NaN, so is the derivative."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    while count:
        point = []
        for low, high in ranges:
            if isinstance(low, int):
                point.append(int(rng.integers(low, high)))
            elif low > 0 and high / low > 50:
                point.append(float(np.exp(rng.uniform(np.log(low), np.log(high)))))
            else:
                point.append(float(rng.uniform(low, high)))
        if not np.isnan(at(*point)):
            count -= 1
            yield point


def worst_of(name, value, ranges, count):
    """The error by all arguments, relative to the derivative, or to a thousandth of the value."""
    name, _, result = name.partition(":")
    ufunc = getattr(sp, name)

    def at(*args):
        out = ufunc(*args)
        return out[int(result)] if result else out

    worst = 0.0
    for point in drawn(name, ranges, count, at):
        numbers = [mp.mpf(x) if isinstance(x, float) else x for x in point]
        for place, (low, _) in enumerate(ranges):
            if isinstance(low, int):
                continue

            def along(x, place=place, point=point):
                return at(*point[:place], x, *point[place + 1 :])

            found = jvp(along, (point[place],), (1.0,))[1]
            with mp.workdps(30):
                expected = mp.diff(
                    lambda x, place=place, numbers=numbers: value(
                        *numbers[:place], x, *numbers[place + 1 :]
                    ),
                    numbers[place],
                )
                expected = expected if np.iscomplexobj(found) else mp.re(expected)
                if float(expected.real) == found:  # both are infinite
                    continue
                scale = max(abs(expected), abs(along(point[place])) / 1000)
                worst = max(worst, float(abs(found - expected) / scale))
    return worst


each_case = pytest.mark.parametrize(
    ("name", "value", "ranges"), [(name, value, ranges) for name, value, *ranges in CASES]
)


@pytest.mark.part(4)
@each_case
def test_the_derivatives_are_those_of_mpmath(name, value, ranges):
    assert worst_of(name, value, ranges, 1) < 1e-10


@pytest.mark.slow
@each_case
def test_the_derivatives_are_those_of_mpmath_at_many_points(name, value, ranges):
    assert worst_of(name, value, ranges, 3) < 1e-10


SECOND = [
    (sp.jv, mp.besselj, (1.3, 2.7)),
    (sp.yv, mp.bessely, (0.4, 1.7)),
    (sp.iv, mp.besseli, (2.6, 3.1)),
    (sp.kv, mp.besselk, (1.2, 0.8)),
    (sp.hyp1f1, mp.hyp1f1, (0.7, 1.9, -1.2)),
    (sp.hyp2f1, mp.hyp2f1, (0.7, 1.2, 2.3, 0.4)),
    (sp.hyperu, mp.hyperu, (0.7, 1.9, 1.3)),
    (sp.eval_legendre, mp.legendre, (2.4, 0.3)),
    (sp.ellipkinc, mp.ellipf, (0.9, 0.4)),
    (sp.elliprd, mp.elliprd, (0.5, 0.5, 0.5)),
    (sp.elliprj, mp.elliprj, (0.5, 1.5, 0.7, 0.5)),
]


@pytest.mark.part(3)
@pytest.mark.parametrize(("ufunc", "value", "point"), SECOND)
def test_second_derivatives_by_parameters_are_those_of_mpmath(ufunc, value, point):
    found = hessian(lambda p: ufunc(*p))(np.array(point))
    for row in range(len(point)):
        for column in range(row + 1):
            orders = [(i == row) + (i == column) for i in range(len(point))]
            with mp.workdps(30):
                expected = float(mp.diff(value, point, tuple(orders)))
            assert np.isclose(found[row, column], expected, rtol=1e-9, atol=1e-12)
            assert np.isclose(found[row, column], found[column, row], rtol=1e-9, atol=1e-12)


PI, INF = np.pi, np.inf
AT_ENDS = [
    (sp.j1, (0.0,), (0.5,)),
    (sp.jv, (0.0, 0.0), (-INF, 0)),
    (sp.jv, (2.0, 0.0), (0, 0)),
    (sp.jv, (1.0, 0.0), (0, 0.5)),
    (sp.iv, (1.0, 0.0), (0, 0.5)),
    (sp.y0, (0.0,), (INF,)),
    (sp.k0, (0.0,), (-INF,)),
    (sp.i0e, (0.0,), (0,)),
    (sp.beip, (0.0,), (0.5,)),
    (sp.struve, (0.0, 0.0), (None, 2 / PI)),
    (sp.ellipk, (0.0,), (PI / 8,)),
    (sp.ellipe, (0.0,), (-PI / 8,)),
    (sp.ellipk, (1.0,), (INF,)),
    (sp.ellipe, (1.0,), (-INF,)),
    (sp.ellipkm1, (1.0,), (-PI / 8,)),
    (sp.ellipkinc, (PI / 2, 0.0), (1, PI / 8)),
    (sp.elliprg, (0.0, 1.0, 1.0), (PI / 8, None, None)),
    (sp.exp1, (0.0,), (-INF,)),
    (sp.expn, (2, 0.0), (None, -INF)),
    (sp.expn, (3, 0.0), (None, -1)),
    (sp.wrightomega, (-INF,), (0,)),
    (sp.hyp1f1, (0.5, 1.5, 0.0), (0, 0, 1 / 3)),
    (sp.hyp2f1, (0.5, 1.5, 2.0, 0.0), (0, 0, 0, 3 / 8)),
    (sp.eval_legendre, (3, 1.0), (None, 6)),
    (sp.eval_legendre, (3, -1.0), (None, 6)),
    (sp.eval_chebyt, (4, -1.0), (None, -16)),
    (sp.lpmv, (0, 2.0, 1.0), (None, None, 3)),
    (sp.lpmv, (1, 2.0, 1.0), (None, None, INF)),
    (sp.lpmv, (2, 2.0, -1.0), (None, None, 6)),
    (sp.wright_bessel, (1.0, 1.0, 0.0), (0, None, 1)),
]


@pytest.mark.parametrize(("ufunc", "args", "expected"), AT_ENDS)
def test_the_derivative_at_an_end_is_the_limit(ufunc, args, expected):
    for place, wanted in enumerate(expected):
        if wanted is not None:
            with np.errstate(all="ignore"):
                found = grad(ufunc, place)(*args)
            assert np.isclose(found, wanted, rtol=1e-11, atol=1e-12), place


def test_integrals_of_quotients_are_smooth_at_zero():
    assert hessian(lambda z: sp.sici(z)[0])(0.0) == 0
    third = grad(grad(grad(lambda z: sp.sici(z)[0])))(0.0)
    assert np.isclose(third, -1 / 3)
    assert np.isclose(grad(grad(lambda z: sp.it2j0y0(z)[0]))(0.0), 0.25)


def test_characteristic_values_by_q_and_c():
    """By their functions: da/dq is the mean of 2 cos(2x) over ce**2 (Hellmann and Feynman)."""
    x = np.linspace(0, 180, 64, endpoint=False)
    for m, q in ((0, 0.7), (2, 1.5), (3, 12.0)):
        wave = sp.mathieu_cem(m, q, x)[0]
        expected = 2 * np.mean(wave**2 * np.cos(2 * np.radians(x))) / np.mean(wave**2)
        assert np.isclose(grad(sp.mathieu_a, 1)(m, q), expected, rtol=1e-10)
    nodes, weights = np.polynomial.legendre.leggauss(60)
    for value, wave, sign in ((sp.pro_cv, sp.pro_ang1, 1), (sp.obl_cv, sp.obl_ang1, -1)):
        squares = wave(1, 3, 2.5, nodes)[0] ** 2 * weights
        expected = sign * 2 * 2.5 * np.sum(squares * nodes**2) / np.sum(squares)
        assert np.isclose(grad(value, 2)(1, 3, 2.5), expected, rtol=1e-10)


def test_derivatives_by_an_order_follow_vmap():
    v, z = np.array([0.3, 1.2]), np.array([1.5, 4.0])
    found = vmap(grad(sp.jv, (0, 1)))(v, z)
    one_by_one = [grad(sp.jv, (0, 1))(a, b) for a, b in zip(v, z, strict=True)]
    np.testing.assert_allclose(np.stack(found, -1), one_by_one, rtol=1e-12)


def test_what_stands_for_a_whole_number_is_refused():
    for ufunc, args in [
        (sp.kn, (2.0, 1.0)),
        (sp.expn, (2.0, 1.0)),
        (sp.lpmv, (1.0, 2.0, 0.5)),
        (sp.mathieu_cem, (1.0, 0.5, 30.0)),
        (sp.pro_ang1, (0.0, 1.0, 1.0, 0.5)),
        (special.polygamma, (1.0, 2.0)),
    ]:
        with pytest.raises(NotDifferentiableError, match="whole number"):
            jvp(lambda n, f=ufunc, a=args: f(n, *a[1:]), (args[0],), (1.0,))


def test_a_derivative_that_is_not_known_is_nan_with_a_warning():
    with pytest.warns(RuntimeWarning, match="scipy.special.pro_rad2: its derivative is NaN"):
        found = grad(lambda x: sp.pro_rad2(1, 2, 1.5, x)[0])(1.45)
    assert np.isnan(found)  # SciPy's value is wrong there
    with np.errstate(invalid="ignore"):
        found = jvp(lambda b: sp.hyp1f1(0.5, b, 1.0), (-1.0,), (1.0,))[1]
    assert np.isnan(found)  # a pole


def test_where_scipys_hypergeometric_functions_are_wrong_derivatives_are_right_or_nan():
    with np.errstate(invalid="ignore"):
        by_z = grad(sp.hyp0f1, 1)(-195.2, -13.3)  # SciPy says 0
        assert np.isclose(by_z, float(mp.diff(mp.hyp0f1, (-195.2, -13.3), (0, 1))), rtol=1e-10)
        point = (24.263288879225687, -0.11153963870740036, -53.92290719858891, 0.2134595535095602)
        for place in range(4):
            with mp.workdps(30):
                orders = [int(i == place) for i in range(4)]
                expected = float(mp.diff(mp.hyp2f1, point, orders))
            assert np.isclose(grad(sp.hyp2f1, place)(*point), expected, rtol=1e-10)
        point = (3.173901430779063, 25.454285960682437, -2.4186979824839105, -160.0912657569477)
        for place in range(4):
            direction = [float(i == place) for i in range(4)]
            assert np.isnan(jvp(sp.hyp2f1, point, tuple(direction))[1])


def test_a_function_with_the_characteristic_value_given_says_what_to_write():
    with pytest.raises(NotDifferentiableError, match="pro_ang1, which computes it"):
        jvp(lambda c: sp.pro_ang1_cv(0, 1, c, 2.5, 0.3)[0], (1.0,), (1.0,))


# --- functions that SciPy writes in Python


def test_logsumexp_at_infinities():
    x = np.array([1.0, -INF, 2.0])
    assert np.allclose(grad(special.logsumexp)(x), special.softmax(x))
    for ends in ([1.0, INF], [-INF, -INF], [INF, INF]):
        assert np.array_equal(grad(special.logsumexp)(np.array(ends)), [0, 0])
    assert np.array_equal(grad(special.logsumexp)(np.array([-INF, 1.0, 1.0])), [0, 0.5, 0.5])
    weighted = grad(lambda x, b: special.logsumexp(x, b=b), (0, 1))
    by_x, by_b = weighted(np.array([0.0, 800.0]), np.array([1.0, 2.0]))
    assert np.allclose([by_x, by_b], [[0, 1], [0, 0.5]])
    y = np.array([0.0, 1.0])
    traced = jvp(lambda y: special.logsumexp(y, b=[1, -1], return_sign=True), (y,), (y,))[0]
    assert np.array_equal(traced, special.logsumexp(y, b=[1, -1], return_sign=True))


def test_weights_of_logsumexp_that_have_fewer_axes():
    x, b = np.array([[0.0, 1.0], [2.0, -1.0]]), np.array([1.0, 3.0])
    found = jvp(lambda x, b: special.logsumexp(x, 1, b), (x, b), (x, b))[1]
    terms = b * np.exp(x)
    np.testing.assert_allclose(found, np.sum(terms * (x + 1), 1) / np.sum(terms, 1))


def test_functions_take_lists_as_scipy_does():
    assert np.allclose(
        grad(lambda x: special.logsumexp([x, 1.0]))(0.0), grad(np.logaddexp, 0)(0.0, 1.0)
    )
    both = grad(lambda x: special.logsumexp((x, 1.0 + 0j), axis=(0,)).real)(0.0)
    assert np.isclose(both, special.expit(-1.0))
    assert grad(lambda z: special.jvp([1.0], z)[0])(0.5) == grad(lambda z: special.jvp(1.0, z))(
        0.5
    )


def test_polynomial_objects_are_traced():
    for make in (sp.legendre, sp.chebyt, sp.hermite, sp.laguerre, sp.sh_legendre):
        p = make(3)
        assert np.isclose(grad(p)(0.3), p.deriv()(0.3), rtol=1e-10)


def test_plain_calls_are_scipys_own():
    assert special.comb(5, 2, exact=True) == 10
    assert isinstance(special.factorial(5, exact=True), int)
    assert special.legendre_p(2, 0.3, diff_n=1).shape == (2,)
    assert special.ai_zeros is sp.ai_zeros
    with pytest.raises(NotDifferentiableError, match="exact=False"):
        grad(lambda n: special.comb(n, 2, exact=True))(5.0)
    with pytest.raises(NotDifferentiableError, match="mathieu_cem"):
        grad(lambda q: special.mathieu_even_coef(3, q)[0])(1.0)
