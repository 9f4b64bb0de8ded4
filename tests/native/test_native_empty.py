"""Axes without elements: a loop has at least one turn, so that nothing of theirs may be a loop."""

import warnings

import numpy as np
import pytest
from draws import draws
from hypothesis import given
from hypothesis import strategies as st

import tapegrad
from tapegrad import grad, jvp, vmap

pytest.importorskip("llvmlite")

SIDES = st.sampled_from([0, 0, 1, 3])
SHAPES = st.lists(SIDES, min_size=1, max_size=3).map(tuple).filter(lambda shape: 0 in shape)
LONG = 40  # elements, which are more than a vector has


def reduced(name):
    def draw(data):
        shape = data.draw(SHAPES)
        axis = data.draw(st.sampled_from([None, *range(-len(shape), len(shape))]))
        keepdims = data.draw(st.booleans())
        return [shape], lambda x: getattr(np, name)(x, axis=axis, keepdims=keepdims)

    return draw


def with_initial(name):
    def draw(data):
        shape = data.draw(SHAPES)
        axis = data.draw(st.sampled_from([None, *range(len(shape))]))
        where = data.draw(st.booleans())

        def f(x):
            options = {"where": x > 0.5} if where else {}
            return getattr(np, name)(x, axis=axis, initial=2.5, **options)

        return [shape], f

    return draw


def by_ufunc(ufunc, method):
    def draw(data):
        shape = data.draw(SHAPES)
        axis = data.draw(st.sampled_from(range(len(shape))))
        return [shape], lambda x: getattr(ufunc, method)(np.sin(x) * 2, axis=axis) * 1.0

    return draw


def along(name):
    def draw(data):
        shape = data.draw(SHAPES)
        axis = data.draw(st.sampled_from(range(len(shape))))
        return [shape], lambda x: np.sum(getattr(np, name)(x, axis=axis), axis=0) + 1

    return draw


def norm(data):
    shape = data.draw(SHAPES)
    order = data.draw(st.sampled_from([None, 1, 2, 3, np.inf]))
    axis = data.draw(st.sampled_from(range(len(shape))))
    return [shape], lambda x: np.linalg.norm(x, order, axis)


def product(name):
    def draw(data):
        rows, middle, columns = [data.draw(st.sampled_from([0, 1, 3, LONG])) for _ in range(3)]
        left = [(middle,), (rows, middle), (2, rows, middle)][data.draw(st.integers(0, 2))]
        right = [(middle,), (middle, columns)][data.draw(st.integers(0, 1))]
        return [left, right], lambda x, y: getattr(np, name)(x, y) + 1.0

    return draw


def contracted(data):
    i, j, k = [data.draw(st.sampled_from([0, 1, 3])) for _ in range(3)]
    out = data.draw(st.sampled_from(["ik", "k", "", "jik", "i", "ij"]))
    return [(i, j), (j, k)], lambda x, y: np.einsum(f"ij,jk->{out}", x, y)


def broadcast(data):
    shape = data.draw(SHAPES)
    beside = tuple(data.draw(st.sampled_from([1, n])) for n in shape)
    return [shape, beside], lambda x, y: np.prod(x + y, axis=-1) * np.sum(y) + np.sum(x * y)


def written(data):
    shape = data.draw(SHAPES)

    def f(x):
        y = np.zeros_like(x, shape=LONG)
        y[:2], y[2:2], y[3:], y[1:1] = np.sum(x), np.ravel(x), np.prod(x), 5.0
        y[np.array([], int)] += 3.0
        return y

    return [shape], f


def parts(data):
    n = data.draw(st.sampled_from([1, 3, LONG]))
    at = data.draw(st.integers(0, n))
    return [(n,)], lambda x: np.prod(x[at:at]) + np.sum(np.exp(x)[np.array([], int)]) + np.sum(x)


REDUCTIONS = (
    "sum prod mean var std any all count_nonzero nansum nanprod argmax argmin max min ptp"
).split()
CASES = {
    **{name: reduced(name) for name in REDUCTIONS},
    **{f"{name} with initial": with_initial(name) for name in ("sum", "prod", "max", "min")},
    **{
        f"{ufunc.__name__}.{method}": by_ufunc(ufunc, method)
        for ufunc in (np.add, np.multiply, np.logical_and, np.logical_or, np.maximum, np.logaddexp)
        for method in ("reduce", "accumulate")
        if method == "reduce" or ufunc.identity is not False
    },
    **{name: along(name) for name in ("cumsum", "cumprod", "sort", "diff", "flip")},
    **{name: product(name) for name in ("matmul", "dot", "inner")},
    "norm": norm,
    "einsum": contracted,
    "broadcast": broadcast,
    "writes": written,
    "parts": parts,
}


def total_of(f):
    return lambda *xs: np.sum(f(*xs) * 1.5)


def programs_of(f, count):
    total = total_of(f)
    gradient = grad(total, tuple(range(count)))
    return {
        "value": f,
        "gradient": gradient,
        "tangent": lambda *xs: jvp(total, xs, xs)[1],
        "of examples": lambda *xs: vmap(gradient)(*[np.stack([x, 1.1 * x]) for x in xs]),
    }


def leaves_of(result):
    return list(map(np.asarray, result if isinstance(result, tuple) else (result,)))


@pytest.mark.part(3)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
@draws(2, 150)
@given(data=st.data())
def test_a_program_over_axes_without_elements_is_the_function(case, data):
    shapes, f = case(data)
    dtype = data.draw(st.sampled_from(["d", "f"]))
    programs = programs_of(f, len(shapes))
    program = programs[data.draw(st.sampled_from(list(programs)))]
    numbers = np.linspace(0.2, 1.5, 4 * LONG * LONG)
    xs = [np.resize(numbers, shape).astype(dtype) for shape in shapes]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            wanted = leaves_of(program(*xs))
        except (ValueError, TypeError):
            return  # NumPy has no such call
        for backend in ("llvm", "numpy"):
            fast = tapegrad.compile(program, backend=backend)
            for _ in range(3):
                for got, right in zip(leaves_of(fast(*xs)), wanted, strict=True):
                    assert got.dtype == right.dtype
                    np.testing.assert_allclose(got, right, rtol=1e-5)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 3)])
def test_products_of_nothing_are_one(shape):
    """The loop ran once before it asked, and left what memory held."""
    for axis in (None, *range(len(shape))):
        fast = tapegrad.compile(lambda x, axis=axis: np.prod(x, axis=axis), backend="llvm")
        for _ in range(3):
            np.testing.assert_array_equal(
                fast(np.zeros(shape)), np.prod(np.zeros(shape), axis=axis)
            )
