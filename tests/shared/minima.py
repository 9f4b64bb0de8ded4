"""Test functions of minimisation, from the literature, with where they start and what is least.

J. More, B. Garbow, K. Hillstrom (1981), Testing unconstrained optimization software, ACM TOMS 7
(MGH and a number), and the usual collections. Each is (function, start, least value).
"""

from __future__ import annotations

import warnings

import numpy as np


def squares(*residuals):
    return sum(np.sum(r**2) for r in residuals)


def rosenbrock(x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def extended_rosenbrock(x):
    return squares(10 * (x[1::2] - x[::2] ** 2), 1 - x[::2])


def freudenstein_roth(x):
    a, b = x[0], x[1]
    return squares(-13 + a + ((5 - b) * b - 2) * b, -29 + a + ((b + 1) * b - 14) * b)


def powell_badly_scaled(x):
    return squares(1e4 * x[0] * x[1] - 1, np.exp(-x[0]) + np.exp(-x[1]) - 1.0001)


def brown_badly_scaled(x):
    return squares(x[0] - 1e6, x[1] - 2e-6, x[0] * x[1] - 2)


def beale(x):
    i = np.arange(1.0, 4.0)
    return squares(np.array([1.5, 2.25, 2.625]) - x[0] * (1 - x[1] ** i))


def jennrich_sampson(x):
    i = np.arange(1.0, 11.0)
    return squares(2 + 2 * i - np.exp(i * x[0]) - np.exp(i * x[1]))


def helical_valley(x):
    turn = np.arctan2(x[1], x[0]) / (2 * np.pi)
    return squares(10 * (x[2] - 10 * turn), 10 * (np.hypot(x[0], x[1]) - 1), x[2])


def box_3d(x):
    t = np.arange(1.0, 11.0) / 10
    return squares(np.exp(-t * x[0]) - np.exp(-t * x[1]) - x[2] * (np.exp(-t) - np.exp(-10 * t)))


def powell_singular(x):
    a, b, c, d = x[::4], x[1::4], x[2::4], x[3::4]
    return (
        squares(a + 10 * b)
        + 5 * squares(c - d)
        + squares((b - 2 * c) ** 2)
        + 10 * squares((a - d) ** 2)
    )


def wood(x):
    a, b, c, d = x[0], x[1], x[2], x[3]
    return (
        100 * (b - a**2) ** 2
        + (1 - a) ** 2
        + 90 * (d - c**2) ** 2
        + (1 - c) ** 2
        + 10 * (b + d - 2) ** 2
        + (b - d) ** 2 / 10
    )


def trigonometric(x):
    n = x.size
    i = np.arange(1.0, n + 1)
    return squares(n - np.sum(np.cos(x)) + i * (1 - np.cos(x)) - np.sin(x))


def penalty_1(x):
    return 1e-5 * squares(x - 1) + (np.sum(x**2) - 0.25) ** 2


def variably_dimensioned(x):
    i = np.arange(1.0, x.size + 1)
    total = np.sum(i * (x - 1))
    return squares(x - 1) + total**2 + total**4


def broyden_tridiagonal(x):
    below, above = np.pad(x[:-1], (1, 0)), np.pad(x[1:], (0, 1))
    return squares((3 - 2 * x) * x - below - 2 * above + 1)


def chebyquad(x):
    n = x.size
    before, now = np.ones(n), 2 * x - 1
    residuals = []
    for i in range(1, n + 1):
        integral = 0.0 if i % 2 else -1 / (i**2 - 1)
        residuals.append(np.mean(now) - integral)
        before, now = now, 2 * (2 * x - 1) * now - before
    return sum(r**2 for r in residuals)


def booth(x):
    return (x[0] + 2 * x[1] - 7) ** 2 + (2 * x[0] + x[1] - 5) ** 2


def himmelblau(x):
    return (x[0] ** 2 + x[1] - 11) ** 2 + (x[0] + x[1] ** 2 - 7) ** 2


def dixon_price(x):
    i = np.arange(2.0, x.size + 1)
    return (x[0] - 1) ** 2 + np.sum(i * (2 * x[1:] ** 2 - x[:-1]) ** 2)


def zakharov(x):
    total = np.sum(0.5 * np.arange(1, x.size + 1) * x)
    return np.sum(x**2) + total**2 + total**4


def styblinski_tang(x):
    return np.sum(x**4 - 16 * x**2 + 5 * x) / 2


def rastrigin(x):
    return 10 * x.size + np.sum(x**2 - 10 * np.cos(2 * np.pi * x))


def ackley(x):
    spread = np.sqrt(np.mean(x**2) + 1e-12)  # smooth at its minimum, and so not exactly zero there
    return 20 + np.e - 20 * np.exp(-0.2 * spread) - np.exp(np.mean(np.cos(2 * np.pi * x)))


def griewank(x):
    i = np.arange(1.0, x.size + 1)
    return np.sum(x**2) / 4000 - np.prod(np.cos(x / np.sqrt(i))) + 1


MINIMA = {
    "Rosenbrock (MGH 1)": (rosenbrock, np.array([-1.2, 1.0]), 0.0),
    "Freudenstein-Roth (MGH 2)": (freudenstein_roth, np.array([6.0, 5.0]), 0.0),
    "Powell badly scaled (MGH 3)": (powell_badly_scaled, np.array([0.0, 1.0]), 0.0),
    "Brown badly scaled (MGH 4)": (brown_badly_scaled, np.array([1.0, 1.0]), 0.0),
    "Beale (MGH 5)": (beale, np.array([1.0, 1.0]), 0.0),
    "Jennrich-Sampson (MGH 6)": (jennrich_sampson, np.array([0.3, 0.4]), 124.36218235561),
    "Helical valley (MGH 7)": (helical_valley, np.array([-1.0, 0.1, 0.0]), 0.0),
    "Box 3-D (MGH 12)": (box_3d, np.array([0.0, 10.0, 20.0]), 0.0),
    "Powell singular (MGH 13)": (powell_singular, np.array([3.0, -1.0, 0.0, 1.0]), 0.0),
    "Wood (MGH 14)": (wood, np.array([-3.0, -1.0, -3.0, -1.0]), 0.0),
    "Extended Rosenbrock (MGH 21), n=1000": (
        extended_rosenbrock,
        np.tile([-1.2, 1.0], 500),
        0.0,
    ),
    "Extended Powell singular (MGH 22), n=100": (
        powell_singular,
        np.tile([3.0, -1.0, 0.0, 1.0], 25),
        0.0,
    ),
    "Penalty I (MGH 23), n=10": (penalty_1, np.arange(1.0, 11.0), 7.08765e-5),
    "Variably dimensioned (MGH 25), n=10": (
        variably_dimensioned,
        1 - np.arange(1.0, 11.0) / 10,
        0.0,
    ),
    "Trigonometric (MGH 26), n=10": (trigonometric, np.full(10, 0.1), 0.0),
    "Broyden tridiagonal (MGH 30), n=1000": (broyden_tridiagonal, -np.ones(1000), 0.0),
    "Chebyquad (MGH 35), n=8": (chebyquad, np.arange(1.0, 9.0) / 9, 3.51687e-3),
    "Booth": (booth, np.array([0.0, 0.0]), 0.0),
    "Himmelblau": (himmelblau, np.array([1.0, 1.0]), 0.0),
    "Dixon-Price, n=10": (dixon_price, np.ones(10), 0.0),
    "Zakharov, n=10": (zakharov, np.full(10, 0.5), 0.0),
    "Styblinski-Tang, n=50": (styblinski_tang, np.full(50, -2.5), -39.16616570377142 * 50),
    "Rastrigin near 0, n=50": (rastrigin, np.linspace(-0.1, 0.2, 50), 0.0),
    "Ackley near 0, n=10": (ackley, np.linspace(-0.1, 0.2, 10), 20 - 20 * np.exp(-2e-7)),
    "Griewank near 0, n=100": (griewank, np.linspace(-0.5, 1.0, 100), 0.0),
}

# Other minima of these, where a method may come to rest as well.
LOCAL = {
    "Freudenstein-Roth (MGH 2)": [48.98425367924004],
    "Trigonometric (MGH 26), n=10": [2.795061e-5],
    "Dixon-Price, n=10": [2 / 3],
    "Broyden tridiagonal (MGH 30), n=1000": [0.712528],
}

# Of SciPy's methods those that take gradients, with tolerances by which they do not stop early.
METHODS = {
    "CG": {"gtol": 1e-8},
    "BFGS": {"gtol": 1e-8},
    "L-BFGS-B": {"ftol": 1e-16, "gtol": 1e-8, "maxfun": 10**6},
    "SLSQP": {"ftol": 1e-16},
    "Newton-CG": {"xtol": 1e-12},
    "trust-ncg": {"gtol": 1e-8},
    "trust-krylov": {"gtol": 1e-8},
    "trust-exact": {"gtol": 1e-8},
    "trust-constr": {"gtol": 1e-9, "xtol": 1e-14},
}
MATRICES = ("BFGS", "SLSQP", "trust-exact", "trust-constr")  # they keep n x n numbers
DIFFERENCES = ("CG", "BFGS", "L-BFGS-B", "SLSQP", "trust-constr")  # SciPy can make their gradients

# Where a method is not suitable, although its gradients are exact.
UNSUITABLE = {
    ("Powell badly scaled (MGH 3)", "Newton-CG"): "it stops early: its tolerance is on x alone",
    ("Brown badly scaled (MGH 4)", "SLSQP"): "its first step leaves the range of its line search",
    ("Jennrich-Sampson (MGH 6)", "L-BFGS-B"): "its first step lands on a plateau",
    ("Jennrich-Sampson (MGH 6)", "SLSQP"): "its first step lands on a plateau",
    ("Variably dimensioned (MGH 25), n=10", "CG"): "its line search fails",
    ("Powell singular (MGH 13)", "Newton-CG"): "it does not end at a singular Hessian",
    ("Extended Powell singular (MGH 22), n=100", "Newton-CG"): "the same",
    ("Penalty I (MGH 23), n=10", "Newton-CG"): "it does not end at a Hessian that is nearly so",
}


def suitable(name, method):
    """Whether a method is meant to find the least value."""
    large = MINIMA[name][1].size > 200
    return (name, method) not in UNSUITABLE and not (large and method in MATRICES)


def is_least(name, value):
    """Whether a value is that of a minimum, to 1e-6."""
    known = [MINIMA[name][2], *LOCAL.get(name, [])]
    return min(abs(value - least) / (1 + abs(least)) for least in known) < 1e-6


def ours(name, method):
    """The result of tapegrad.optimize."""
    from tapegrad import optimize

    function, start, _ = MINIMA[name]
    options = {"maxiter": 3000, **METHODS[method]}
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return optimize.minimize(function, start, method=method, options=options)


def scipys(name, method):
    """SciPy's result with its own differences."""
    import scipy.optimize

    function, start, _ = MINIMA[name]
    options = {"maxiter": 3000, **METHODS[method]}
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return scipy.optimize.minimize(function, start, method=method, options=options)
