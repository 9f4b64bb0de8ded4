"""The native back end is within four units in the last place of NumPy, operation by operation.

Each operation is called with arrays of many shapes, and with NaNs, infinities and denormals among
their elements. Drawn programs return all that they compute on the way, and each value is compared
with what NumPy makes of the native values before it.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from draws import draws
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("llvmlite")

from test_native import runner_of

import tapegrad

NAN, INF = np.nan, np.inf
SPECIAL = [0.0, -0.0, NAN, INF, -INF, 5e-324, -1e-310, 1.0, -1.0, 0.5, 2.0, 1e300, -3.0, 1e-30]
ONE = {
    name: getattr(np, name)
    for name in (
        "negative absolute sqrt square reciprocal floor ceil trunc rint sign exp expm1 exp2 log "
        "log2 log10 log1p sin cos tan sinh cosh tanh arcsin arccos arctan arcsinh arccosh arctanh "
        "cbrt deg2rad rad2deg isnan isfinite conjugate"
    ).split()
}
TWO = {
    name: getattr(np, name)
    for name in (
        "add subtract multiply divide maximum minimum fmax fmin power arctan2 hypot "
        "copysign heaviside remainder floor_divide less equal"
    ).split()
}
MOST = 4  # units in the last place
SHAPES = [(3, 4), (), (1,), (0,), (17,), (2, 1, 5), (40,)]
DTYPES = ["float64", "float32"]


def filled(draw, shape, dtype):
    """Numbers of many sizes, every fifth of which is special."""
    size = int(np.prod(shape))
    x = draw.standard_normal(size) * 10.0 ** draw.integers(-3, 3, size)
    at = draw.random(size) < 0.2
    x[at] = draw.choice(SPECIAL, int(at.sum()))
    with np.errstate(all="ignore"):
        return x.reshape(shape).astype(dtype)


def assert_within(got, expected, most):
    """Equal NaNs and infinities, and else at most so many units in the last place apart."""
    assert type(got) is type(expected)
    a, b = np.asarray(got), np.asarray(expected)
    assert (a.dtype, a.shape) == (b.dtype, b.shape)
    if b.dtype.kind != "f":
        np.testing.assert_array_equal(a, b)
        return
    np.testing.assert_array_equal(np.isnan(a), np.isnan(b))
    with np.errstate(all="ignore"):
        unit = np.spacing(np.maximum(np.abs(b), np.finfo(b.dtype).tiny))
        apart = np.abs(a.astype(np.longdouble) - b) / unit
    known = np.isfinite(b) & np.isfinite(a)
    worst = np.max(apart, initial=0, where=known)
    assert worst <= most, worst
    # Beyond the largest number it may be that or infinity.
    near = np.abs(np.where(np.isfinite(a), a, b)) > np.finfo(b.dtype).max * 0.999
    assert np.all(known | np.isnan(b) | (a == b) | near)


def natively(f, *args):
    fast = tapegrad.compile(f, backend="llvm")
    with np.errstate(all="ignore"):
        for _ in range(3):
            got = fast(*args)
    assert runner_of(fast).paths
    return got


@pytest.mark.parametrize("dtype", DTYPES)
def test_operations_of_one(dtype):
    """All of them in one program for each shape."""
    assert_operations_of_one(dtype, SHAPES[:1])


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
def test_operations_of_one_for_all_shapes(dtype):
    assert_operations_of_one(dtype, SHAPES)


def assert_operations_of_one(dtype, shapes):
    draw = np.random.default_rng(1)
    for shape in shapes:
        x = filled(draw, shape, dtype)
        got = natively(lambda x: tuple(f(x) for f in ONE.values()), x)
        for name, y in zip(ONE, got, strict=True):
            with np.errstate(all="ignore"):
                assert_within(y, ONE[name](x), MOST)


PAIRS = [((3, 4), (4,)), ((), ()), ((3, 1), (1, 4)), ((40,), ()), ((0, 3), (3,))]


@pytest.mark.parametrize("dtype", DTYPES)
def test_operations_of_two(dtype):
    assert_operations_of_two(dtype, PAIRS[:1])


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
def test_operations_of_two_for_all_shapes(dtype):
    assert_operations_of_two(dtype, PAIRS)


def assert_operations_of_two(dtype, pairs):
    draw = np.random.default_rng(2)
    for a, b in pairs:
        x, y = filled(draw, a, dtype), filled(draw, b, dtype)
        got = natively(lambda x, y: tuple(f(x, y) for f in TWO.values()), x, y)
        for name, z in zip(TWO, got, strict=True):
            with np.errstate(all="ignore"):
                assert_within(z, TWO[name](x, y), MOST)


@st.composite
def programs(draw):
    """Shapes and a dtype of two arguments, and steps: a function, and which values it takes."""
    shapes = draw(st.sampled_from([((3, 4), (4,)), ((), (1,)), ((17,), ()), ((2, 1, 5), (3, 1))]))
    names = st.sampled_from([*ONE, *TWO, *TWO])
    steps = draw(st.lists(st.tuples(names, st.integers(0, 9), st.integers(0, 9)), max_size=12))
    return shapes, draw(st.sampled_from(DTYPES)), steps


def run(steps, values, natives=None):
    """All values of a program; with `natives`, each made from those before it."""
    made = list(values)
    for name, i, j in steps:
        known = made if natives is None else natives
        i, j = i % len(made), j % len(made)
        if name in ONE:
            made.append(ONE[name](known[i] * 1.0 if known[i].dtype == bool else known[i]))
        else:
            a, b = (x * 1.0 if x.dtype == bool else x for x in (known[i], known[j]))
            made.append(TWO[name](a, b))
    return made


def assert_each_step_is_near(program, seed):
    shapes, dtype, steps = program
    draw = np.random.default_rng(seed)
    args = [filled(draw, shape, dtype) for shape in shapes]
    if not steps:
        return
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        got = natively(lambda *xs: tuple(run(steps, xs)[2:]), *args)
        expected = run(steps, args, [*args, *got])[2:]
    for a, b in zip(got, expected, strict=True):
        assert_within(a, b, MOST)


@draws(4, 300)
@given(programs(), st.integers(0, 2**16))
def test_drawn_programs(program, seed):
    assert_each_step_is_near(program, seed)
