"""Programs of many fields: values, both modes, second derivatives and vmap of each.

The references are the plain run, differences of it, and a loop over the examples.
"""

from __future__ import annotations

import copy

import numpy as np
import pytest
from fields import PROGRAMS

from tapegrad import BatchingError, grad, hvp, jvp, vjp, vmap
from tapegrad._tree import flatten, tree_map, unflatten

# Relative to the largest element of what is compared, by the real dtype of the program's results.
# Differences are taken in float64, of a program in float32 too.
DIFFERENCES = {"float64": 1e-6, "float32": 1e-3}
ROUNDING = {"float64": 1e-9, "float32": 1e-3}
STEP = 2e-4
EXAMPLES = 3

each_program = pytest.mark.parametrize("name", PROGRAMS)


def arguments_of(name, dtype=None):
    """Fresh copies, so that a program that writes to its arguments changes only its own."""

    def fresh(x):
        return np.array(x, widened(x) if dtype == "wide" else None)[()]

    return tree_map(fresh, copy.deepcopy(PROGRAMS[name].arguments))


def widened(x):
    return np.result_type(x, np.float64)


def direction(tree, seed):
    """A random direction in the space of a tree, as long in each leaf as the leaf itself."""
    random = np.random.default_rng(seed)

    def along(x):
        x = np.asarray(x)
        drawn = random.normal(size=x.shape)
        if x.dtype.kind == "c":
            drawn = drawn + 1j * random.normal(size=x.shape)
        return (drawn * (np.max(np.abs(x), initial=0.0) or 1.0)).astype(x.dtype)[()]

    return tree_map(along, tree)


def cotangent_of(tree):
    """A random cotangent that makes of each leaf, whatever its unit, a number near 1."""

    def against(x):
        size = np.max(np.abs(x), initial=0.0) or 1.0
        return (np.asarray(x) / size**2).astype(np.asarray(x).dtype)[()]

    return direction(tree_map(against, tree), 2)


def moved(tree, along, step):
    return tree_map(lambda x, d: x + step * d, tree, along)


def leaves_of(tree):
    return [np.asarray(x) for x in flatten(tree)[0]]


def inner(one, other):
    """The real pairing of two trees of equal structure: that of the adjoint identity."""
    pairs = zip(flatten(one)[0], flatten(other)[0], strict=True)
    return sum(np.sum(np.real(a * b)) for a, b in pairs)


def difference(f, arguments, along):
    """The derivative of f in a direction: Richardson's extrapolation of central differences."""

    def central(step):
        ahead = leaves_of(f(*moved(arguments, along, step)))
        behind = leaves_of(f(*moved(arguments, along, -step)))
        return [(a - b) / (2 * step) for a, b in zip(ahead, behind, strict=True)]

    coarse, fine = central(STEP), central(STEP / 2)
    return [(4 * b - a) / 3 for a, b in zip(coarse, fine, strict=True)]


def tolerance_of(table, name):
    kinds = [np.asarray(x).dtype for x in flatten(PROGRAMS[name].arguments)[0]]
    narrow = any(np.finfo(kind).bits == 32 for kind in kinds)
    return table["float32" if narrow else "float64"]


def assert_near(got, expected, tolerance):
    got, expected = leaves_of(got), leaves_of(expected)
    assert len(got) == len(expected)
    for a, b in zip(got, expected, strict=True):
        assert a.shape == b.shape
        scale = np.max(np.abs(b), initial=0.0)
        np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * scale + 1e-300)


def assert_same(got, expected):
    for a, b in zip(leaves_of(got), leaves_of(expected), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


def scalar_of(name, cotangent):
    """The program's output paired with a cotangent, and curved: linear programs bend too."""
    function = PROGRAMS[name].function

    def scalar(*arguments):
        paired = inner(function(*arguments), cotangent)
        return paired + paired**2 / 2

    return scalar


def gradient_of(name, cotangent):
    count = len(PROGRAMS[name].arguments)
    return grad(scalar_of(name, cotangent), tuple(range(count)))


@each_program
def test_first_order(name):
    f = PROGRAMS[name].function
    plain = f(*arguments_of(name))
    along = direction(arguments_of(name), 1)
    cotangent = cotangent_of(plain)

    value, pullback = vjp(f, *arguments_of(name))
    assert_same(value, plain)
    pulled = pullback(cotangent)
    for x_bar, x in zip(leaves_of(pulled), leaves_of(arguments_of(name)), strict=True):
        assert x_bar.dtype == x.dtype
        assert x_bar.shape == x.shape
    value, pushed = jvp(f, arguments_of(name), along)
    assert_same(value, plain)

    wide = arguments_of(name, "wide")
    expected = unflatten(flatten(plain)[1], difference(f, wide, along))
    assert max(np.max(np.abs(x), initial=0.0) for x in leaves_of(expected)) > 0
    assert_near(pushed, expected, tolerance_of(DIFFERENCES, name))
    size = sum(
        np.sum(np.abs(a * b)) for a, b in zip(*map(leaves_of, (pulled, along)), strict=True)
    )
    gap = np.abs(inner(pulled, along) - inner(cotangent, expected))
    assert gap <= tolerance_of(DIFFERENCES, name) * size
    gap = np.abs(inner(pulled, along) - inner(cotangent, pushed))
    assert gap <= tolerance_of(ROUNDING, name) * size


@each_program
def test_second_order(name):
    cotangent = cotangent_of(PROGRAMS[name].function(*arguments_of(name)))
    gradient = gradient_of(name, cotangent)
    along = direction(arguments_of(name), 3)
    product = hvp(scalar_of(name, cotangent), arguments_of(name), along)
    if len(PROGRAMS[name].arguments) == 1:
        product = (product,)
    wide = arguments_of(name, "wide")
    expected = unflatten(flatten(wide)[1], difference(gradient, wide, along))
    # A block of zeros (a program linear in an argument) has no size of its own to be held to.
    size = max(np.max(np.abs(x), initial=0.0) for x in leaves_of(gradient(*wide)))
    for a, b in zip(leaves_of(product), leaves_of(expected), strict=True):
        scale = max(np.max(np.abs(b), initial=0.0), size)
        np.testing.assert_allclose(a, b, rtol=0, atol=tolerance_of(DIFFERENCES, name) * scale)

    count = range(len(PROGRAMS[name].arguments))
    twice = grad(lambda *x: inner(gradient(*x), along), tuple(count))(*arguments_of(name))
    for a, b in zip(leaves_of(twice), leaves_of(product), strict=True):
        scale = max(np.max(np.abs(b), initial=0.0), size)
        np.testing.assert_allclose(a, b, rtol=0, atol=tolerance_of(ROUNDING, name) * scale)


def examples_of(name):
    """The arguments, and two that differ from them by a few percent in each element."""

    def near(x, d):
        x = np.asarray(x)
        return (x * (1 + 0.02 * np.tanh(np.real(d / (np.max(np.abs(x)) or 1))))).astype(x.dtype)[
            ()
        ]

    original = arguments_of(name)
    changed = [tree_map(near, original, direction(original, seed)) for seed in (4, 5)]
    return [original, *changed]


@each_program
def test_vmap(name):
    f, arguments, unbatched = PROGRAMS[name]
    examples = examples_of(name)
    stacked = tree_map(lambda *x: np.stack(x), *examples)
    if unbatched is not None:
        with pytest.raises(BatchingError):
            vmap(f)(*copy.deepcopy(stacked))
        return
    looped = [f(*copy.deepcopy(x)) for x in examples]
    expected = tree_map(lambda *x: np.stack(x), *looped)
    assert_near(vmap(f)(*copy.deepcopy(stacked)), expected, tolerance_of(ROUNDING, name))

    gradient = gradient_of(name, cotangent_of(looped[0]))
    looped = [gradient(*copy.deepcopy(x)) for x in examples]
    expected = tree_map(lambda *x: np.stack(x), *looped)
    assert_near(vmap(gradient)(*copy.deepcopy(stacked)), expected, tolerance_of(ROUNDING, name))
