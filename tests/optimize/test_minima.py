"""tapegrad.optimize.minimize finds the literature's minima, in fewer runs than differences."""

from __future__ import annotations

import numpy as np
import pytest
from minima import DIFFERENCES, METHODS, MINIMA, is_least, ours, scipys, suitable

from tapegrad import grad

pytest.importorskip("scipy")

# They find it, but take seconds: docs/benchmarks/optimize.py has all.
LONG = [
    ("Brown badly scaled (MGH 4)", "trust-ncg"),
    ("Brown badly scaled (MGH 4)", "trust-krylov"),
    ("Brown badly scaled (MGH 4)", "trust-exact"),
    ("Powell badly scaled (MGH 3)", "trust-constr"),
    ("Powell badly scaled (MGH 3)", "trust-krylov"),
    ("Extended Powell singular (MGH 22), n=100", "BFGS"),
    ("Extended Powell singular (MGH 22), n=100", "SLSQP"),
    ("Griewank near 0, n=100", "BFGS"),
]
ALL = [(name, method) for name in MINIMA for method in METHODS if suitable(name, method)]
ALL = [pair for pair in ALL if pair not in LONG]
QUICK = [
    ("Beale (MGH 5)", "BFGS"),
    ("Helical valley (MGH 7)", "trust-krylov"),
    ("Chebyquad (MGH 35), n=8", "SLSQP"),
    ("Rastrigin near 0, n=50", "trust-ncg"),
    ("Extended Rosenbrock (MGH 21), n=1000", "L-BFGS-B"),
    ("Styblinski-Tang, n=50", "CG"),
    ("Wood (MGH 14)", "trust-exact"),
]


def marked(pairs):
    slow = pytest.mark.slow
    return [pytest.param(*pair, marks=[] if pair in QUICK else [slow]) for pair in pairs]


@pytest.mark.parametrize(("name", "method"), marked(ALL))
def test_a_suitable_method_finds_the_minimum(name, method):
    assert is_least(name, ours(name, method).fun)


SMALL = [pair for pair in ALL if pair[1] in DIFFERENCES[:4] and MINIMA[pair[0]][1].size <= 10]


@pytest.mark.parametrize(("name", "method"), marked(SMALL))
def test_it_takes_fewer_runs_than_scipys_differences(name, method):
    theirs = scipys(name, method)
    if is_least(name, theirs.fun):  # else it has stopped early
        assert ours(name, method).runs < theirs.nfev


@pytest.mark.parametrize("name", [name for name, (_, x, _) in MINIMA.items() if x.size <= 10])
def test_the_functions_are_differentiable_where_they_start(name):
    function, start, _ = MINIMA[name]
    start = start + 0.01
    direction = np.cos(np.arange(start.size))
    h = 1e-6
    slope = (function(start + h * direction) - function(start - h * direction)) / (2 * h)
    assert np.isclose(grad(function)(start) @ direction, slope, rtol=1e-4)
