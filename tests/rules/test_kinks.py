"""Second and higher derivatives at the kinks of abs, hypot, norms, roots and deviations at 0.

The right values are those of the same function written without the kink, or limits by hand.
"""

from contextlib import suppress

import numpy as np
import pytest
from backends import BACKENDS

from tapegrad import (
    checkpoint,
    compile,
    grad,
    hessian,
    hvp,
    jacfwd,
    jacrev,
    jvp,
    vmap,
)

NORM = np.linalg.norm
ZERO = np.zeros(2)
EYE = np.eye(2)
PAIR = np.array([[1.0, -1.0], [-1.0, 1.0]])


def softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def matern(d):
    return (1 + np.sqrt(5) * d + 5 * d**2 / 3) * np.exp(-np.sqrt(5) * d)


def huber(x):
    return np.where(np.abs(x) < 1, np.abs(x) ** 2 / 2, np.abs(x) - 0.5)


# A function of two numbers, and its Hessian at 0.
SMOOTH = {
    "abs**2": (lambda x: np.sum(np.abs(x) ** 2), 2 * EYE),
    "fabs**2": (lambda x: np.sum(np.fabs(x) ** 2 * np.exp(x)), 2 * EYE),
    "abs * abs": (lambda x: np.sum(np.abs(x) * np.abs(x)), 2 * EYE),
    "abs of a difference, both ways": (lambda x: abs(x[0] - x[1]) * abs(x[1] - x[0]), 2 * PAIR),
    "abs of a square": (lambda x: np.sum(np.abs(x * x)), 2 * EYE),
    "cos of abs": (lambda x: np.sum(np.cos(np.abs(x))), -EYE),
    "log cosh": (lambda x: np.sum(np.abs(x) + np.log1p(np.exp(-2 * np.abs(x)))), EYE),
    "softplus": (lambda x: np.sum(softplus(x)), EYE / 4),
    "huber": (lambda x: np.sum(huber(x)), EYE),
    "matern": (lambda x: np.sum(matern(np.abs(x))), -5 / 3 * EYE),
    "matern of a distance": (lambda x: matern(np.sqrt((x[0] - x[1]) ** 2)), -5 / 3 * PAIR),
    "fft": (lambda x: np.sum(np.abs(np.fft.fft(x)) ** 2), 4 * EYE),
    "complex abs": (lambda x: np.abs(x[0] + 1j * x[1]) ** 2, 2 * EYE),
    "hypot": (lambda x: np.hypot(x[0], x[1]) ** 2, 2 * EYE),
    "hypot of rows": (
        lambda x: np.sum(np.hypot(x, np.zeros((3, 1))) ** 2),
        6 * EYE,
    ),
    "norm": (lambda x: NORM(x) ** 2, 2 * EYE),
    "norm * norm": (lambda x: NORM(x) * NORM(x), 2 * EYE),
    "root": (lambda x: np.sqrt(np.sum(x * x)) ** 2, 2 * EYE),
    "half power": (lambda x: (np.sum(x**2) ** 0.5) ** 2, 2 * EYE),
    "cosh of a root": (lambda x: np.cosh(np.sqrt(x @ x)), EYE),
    "std": (lambda x: np.std(x) ** 2, PAIR / 2),
    "nanstd": (lambda x: np.nanstd(x, ddof=1) ** 2, PAIR),
    "checkpoint": (lambda x: checkpoint(lambda x: np.sum(np.abs(x) ** 2))(x), 2 * EYE),
    # Kinks that stay: as the gradient, 0; and what is smooth beside them.
    "abs alone": (lambda x: np.sum(np.abs(x)), 0 * EYE),
    "root of a square alone": (lambda x: np.sum(np.sqrt(x * x)), 0 * EYE),
    "a kink and a square": (lambda x: np.sum(np.abs(x) + x * x), 2 * EYE),
    "square of a sum": (lambda x: np.sum(np.abs(x)) ** 2, 2 * EYE),
    "rows": (lambda x: np.sum(NORM(np.reshape(x, (2, 1)), axis=1)) ** 2, 2 * EYE),
}
with suppress(ImportError):
    from tapegrad.scipy import stats

    SMOOTH |= {
        "logistic": (lambda x: np.sum(stats.logistic.logpdf(x, 0.0)), -EYE / 2),
        "gennorm": (lambda x: np.sum(stats.gennorm.logpdf(x, 2.0)), -2 * EYE),
    }


def by_reverse_alone(f):
    return lambda x: np.stack([grad(lambda x, i=i: grad(f)(x)[i])(x) for i in range(x.size)])


def by_products(f):
    return lambda x: np.stack([hvp(f, (x,), (e,)) for e in np.eye(x.size, dtype=x.dtype)])


def by_two_tangents(f):
    def along(x, v, w):
        return jvp(lambda x: jvp(f, (x,), (v,))[1], (x,), (w,))[1]

    return lambda x: np.array([[along(x, v, w) for v in np.eye(2)] for w in np.eye(2)])


def by_examples(f):
    return lambda x: vmap(hessian(f))(np.stack([x + 1.0, x]))[1]


def within_examples(f):
    def one(x, i):
        return grad(lambda xs: np.sum(vmap(grad(f))(xs)[:, i]))(np.stack([x + 1.0, x]))[1]

    return lambda x: np.stack([one(x, i) for i in range(2)])


WAYS = {
    "hessian": hessian,
    "reverse": by_reverse_alone,
    "products": by_products,
    "tangents": by_two_tangents,
    "jacfwd": lambda f: jacfwd(jacfwd(f)),
    "jacrev of jacfwd": lambda f: jacrev(jacfwd(f)),
    "vmap": by_examples,
    "within vmap": within_examples,
}


@pytest.mark.part(24)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", SMOOTH)
def test_hessians_at_zero(name, way):
    f, expected = SMOOTH[name]
    np.testing.assert_allclose(WAYS[way](f)(ZERO), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.part(8)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", ["abs**2", "softplus", "hypot", "norm", "root", "std", "fft"])
def test_compiled_hessians_at_zero(name, backend):
    f, expected = SMOOTH[name]
    compiled = compile(hessian(f), backend=backend)
    for x in (ZERO, ZERO + 0.5, ZERO, np.array([0.0, 0.5])):  # the branch goes either way
        np.testing.assert_allclose(compiled(x), hessian(f)(x), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(compiled(ZERO), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.part(3)
@pytest.mark.parametrize("name", SMOOTH)
def test_hessians_in_single_precision(name):
    f, expected = SMOOTH[name]
    found = hessian(f)(ZERO.astype(np.float32))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


# Of one number: derivatives of order 1 to 4.
HIGHER = {
    "cos of abs": (lambda x: np.cos(np.abs(x)), [0, -1, 0, 1]),
    "abs**4": (lambda x: np.abs(x) ** 4, [0, 0, 0, 24]),
    "root of 1 + abs**2": (lambda x: np.sqrt(1 + np.abs(x) ** 2), [0, 1, 0, -3]),
    "beside another factor": (lambda x: np.abs(x) ** 2 * np.exp(x), [0, 2, 6, 12]),
    "abs * abs": (lambda x: np.abs(x) * np.abs(x) * np.cosh(x), [0, 2, 0, 12]),
    "norm": (lambda x: NORM(np.stack([x, 2 * x])) ** 4, [0, 0, 0, 600]),
    "root": (lambda x: np.cosh(np.sqrt(x * x)), [0, 1, 0, 1]),
    "hypot": (lambda x: np.cosh(np.hypot(x, 0.0)), [0, 1, 0, 1]),
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*NaN in the derivative")
@pytest.mark.parametrize("name", HIGHER)
def test_higher_derivatives_at_zero(name):
    f, expected = HIGHER[name]
    for order, value in enumerate(expected, 1):
        f = grad(f)
        found = f(0.0)
        if order < 3 or name in ("cos of abs", "abs**4") or not np.isnan(found):
            np.testing.assert_allclose(found, value, rtol=1e-9, atol=1e-12)


def test_complex_numbers():
    def f(z):
        return np.sum(np.abs(z) ** 2)

    z, step = np.zeros(2, complex), np.array([1.0, 1.0j])
    slope, change = jvp(grad(f), (z,), (step,))
    np.testing.assert_allclose(slope, 0)
    np.testing.assert_allclose(change, 2 * np.conj(step))


def test_elements_beside_zeros():
    x = np.array([0.0, -0.5, 0.0, 2.0])
    found = hessian(lambda x: np.sum(np.abs(x) ** 3 * np.cos(np.abs(x))) + np.sum(np.abs(x) ** 2))(
        x
    )
    away = np.array([2.0, *[hessian(smooth)(at) for at in (0.5,)], 2.0, hessian(smooth)(2.0)])
    np.testing.assert_allclose(found, np.diag(away), rtol=1e-9)


def smooth(x):
    return x**3 * np.cos(x) + x**2


def test_the_slope_of_a_root_of_no_square_stays_infinite():
    with np.errstate(all="ignore"):
        assert hessian(np.sqrt)(0.0) == -np.inf
        assert hessian(lambda x: x**0.5)(0.0) == -np.inf


def test_a_distance_matrix_has_a_constant_diagonal():
    x = np.array([0.0, 1.0, 3.0])
    found = hessian(lambda x: np.sum(np.sqrt((x[:, None] - x) ** 2) ** 2))(x)
    np.testing.assert_allclose(found, hessian(lambda x: np.sum((x[:, None] - x) ** 2))(x))


# Of second order in all directions at 0, and with no Hessian there.
FLAT = {
    "hypot": lambda x: np.hypot(x[0] ** 2, x[1] ** 2),
    "norm": lambda x: NORM(x * x),
    "std": lambda x: np.std(x * x),
    "norm alone": NORM,
    "root alone": lambda x: np.sqrt(np.sum(x * x)),
}


@pytest.mark.part(3)
@pytest.mark.filterwarnings("ignore:.*NaN in the derivative")
@pytest.mark.parametrize("name", FLAT)
def test_without_a_hessian_there_are_derivatives_along_directions_alone(name):
    f = FLAT[name]
    assert not np.isfinite(by_reverse_alone(f)(ZERO)).all()
    if name[-5:] == "alone":
        assert not np.isfinite(hessian(f)(ZERO)).all()
        return
    for v in ([1.0, 0.0], [1.0, 2.0]):
        v = np.array(v)
        slope = [grad(f)(t * v) for t in (1e-3, -1e-3)]
        np.testing.assert_allclose(hvp(f, (ZERO,), (v,)), (slope[0] - slope[1]) / 2e-3, atol=1e-9)
