"""Programs of many fields: values, both modes, second derivatives and vmap of each.

The references are the plain run, differences of it, and a loop over the examples.
"""

from __future__ import annotations

import copy

import numpy as np
import pytest
from fields import PROGRAMS

from tapegrad import BatchingError, checkpoint, grad, hvp, jvp, linearize, vjp, vmap
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
        return np.array(x, dtype and np.result_type(dtype, *[1j] * np.iscomplexobj(x)))[()]

    return tree_map(fresh, copy.deepcopy(PROGRAMS[name].arguments))


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
    """The row of the narrowest argument."""
    kinds = [np.asarray(x).dtype for x in flatten(PROGRAMS[name].arguments)[0]]
    narrow = any(np.finfo(kind).bits == 32 for kind in kinds)
    return table["float32" if narrow else "float64"]


def largest_of(tree):
    return max(np.max(np.abs(x), initial=0.0) for x in leaves_of(tree))


def assert_near(got, expected, tolerance, size=1e-290):
    """Leaf by leaf, relative to the largest element of the leaf, or to `size` if that is more."""
    for a, b in zip(leaves_of(got), leaves_of(expected), strict=True):
        assert a.shape == b.shape
        scale = max(np.max(np.abs(b), initial=0.0), size)
        np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * scale)


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


@pytest.mark.part(2)
@each_program
def test_first_order(name):
    f = PROGRAMS[name].function
    plain = f(*arguments_of(name))
    along = direction(arguments_of(name), 1)
    cotangent = cotangent_of(plain)

    arguments = arguments_of(name)
    value, pullback = vjp(f, *arguments)
    assert_same(value, plain)
    assert_same(arguments, arguments_of(name))
    pulled = pullback(cotangent)
    for x_bar, x in zip(leaves_of(pulled), leaves_of(arguments), strict=True):
        assert x_bar.dtype == x.dtype
        assert x_bar.shape == x.shape
    value, pushed = jvp(f, arguments_of(name), along)
    assert_same(value, plain)

    wide = arguments_of(name, np.float64)
    expected = unflatten(flatten(plain)[1], difference(f, wide, along))
    assert largest_of(expected) > 0
    assert_near(pushed, expected, tolerance_of(DIFFERENCES, name))
    size = sum(
        np.sum(np.abs(a * b)) for a, b in zip(*map(leaves_of, (pulled, along)), strict=True)
    )
    gap = np.abs(inner(pulled, along) - inner(cotangent, expected))
    assert gap <= tolerance_of(DIFFERENCES, name) * size
    gap = np.abs(inner(pulled, along) - inner(cotangent, pushed))
    assert gap <= tolerance_of(ROUNDING, name) * size


@pytest.mark.part(8)
@each_program
def test_second_order(name):
    cotangent = cotangent_of(PROGRAMS[name].function(*arguments_of(name)))
    gradient = gradient_of(name, cotangent)
    along = direction(arguments_of(name), 3)
    product = hvp(scalar_of(name, cotangent), arguments_of(name), along)
    product = product if len(along) > 1 else (product,)
    wide = arguments_of(name, np.float64)
    expected = unflatten(flatten(wide)[1], difference(gradient, wide, along))
    # A block of zeros (a program linear in an argument) has no size of its own to be held to.
    size = largest_of(gradient(*wide))
    assert_near(product, expected, tolerance_of(DIFFERENCES, name), size)

    count = range(len(PROGRAMS[name].arguments))
    twice = grad(lambda *x: inner(gradient(*x), along), tuple(count))(*arguments_of(name))
    assert_near(twice, product, tolerance_of(ROUNDING, name), size)


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


@pytest.mark.part(6)
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


@pytest.mark.slow
@each_program
def test_other_ways_to_the_same_derivatives(name):
    f, arguments = PROGRAMS[name].function, arguments_of(name)
    cotangent, along = cotangent_of(f(*arguments_of(name))), direction(arguments, 3)
    tolerance = tolerance_of(ROUNDING, name)
    _, pullback = vjp(f, *arguments)
    pulled = pullback(cotangent)
    assert_same(pullback(cotangent), pulled)
    assert_near(vjp(checkpoint(f), *arguments)[1](cotangent), pulled, tolerance)
    pushed = jvp(f, arguments, along)[1]  # one of several results may cancel to rounding
    assert_near(linearize(f, *arguments)[1](*along), pushed, tolerance, largest_of(pushed))

    scalar, every = scalar_of(name, cotangent), tuple(range(len(arguments)))
    product = jvp(grad(scalar, every), arguments, along)[1]
    size = largest_of(grad(scalar, every)(*arguments))
    reverse_over_forward = grad(lambda *x: jvp(scalar, x, along)[1], every)(*arguments)
    assert_near(reverse_over_forward, product, tolerance, size)
    checkpointed = jvp(grad(checkpoint(scalar), every), arguments, along)[1]
    assert_near(checkpointed, product, tolerance, size)
    forward_over_forward = jvp(lambda *x: jvp(scalar, x, along)[1], arguments, along)[1]
    pairs = zip(leaves_of(product), leaves_of(along), strict=True)
    bound = sum(np.sum(np.abs(a * b)) for a, b in pairs)
    assert np.abs(forward_over_forward - inner(product, along)) <= tolerance * bound
    assert_same(arguments, arguments_of(name))


@pytest.mark.slow
@each_program
def test_vmap_beside_other_transforms(name):
    f, arguments, unbatched = PROGRAMS[name]
    if unbatched is not None:
        return
    examples = examples_of(name)
    stacked = tree_map(lambda *x: np.stack(x), *examples)
    tolerance = tolerance_of(ROUNDING, name)
    cotangent = cotangent_of(f(*arguments_of(name)))
    scalar, every = scalar_of(name, cotangent), tuple(range(len(arguments)))

    def looped(function):
        return tree_map(lambda *x: np.stack(x), *[function(*copy.deepcopy(x)) for x in examples])

    gradients = looped(grad(scalar, every))
    assert_near(grad(lambda *x: np.sum(vmap(scalar)(*x)), every)(*stacked), gradients, tolerance)
    along = direction(arguments_of(name), 3)
    tangents = looped(lambda *x: jvp(f, x, along)[1])
    assert_near(vmap(lambda *x: jvp(f, x, along)[1])(*stacked), tangents, tolerance)
    alongs = tree_map(lambda d: np.stack([d] * EXAMPLES), along)
    assert_near(jvp(vmap(f), stacked, alongs)[1], tangents, tolerance)

    def product(*x):
        return jvp(grad(scalar, every), x, along)[1]

    assert_near(vmap(product)(*stacked), looped(product), tolerance, largest_of(gradients))
    twice = tree_map(lambda x: np.stack([x, x[::-1]]), (stacked, looped(f)))
    assert_near(vmap(vmap(f))(*twice[0]), twice[1], tolerance)


@pytest.mark.slow
@each_program
def test_float32(name):
    """Values and dtypes are those of the plain run where Python's numbers meet float32."""
    f, _, unbatched = PROGRAMS[name]
    plain = f(*arguments_of(name, np.float32))
    value, pullback = vjp(f, *arguments_of(name, np.float32))
    assert_same(value, plain)
    for x_bar in leaves_of(pullback(cotangent_of(plain))):
        assert x_bar.dtype in (np.float32, np.complex64)
    along = direction(arguments_of(name, np.float32), 1)
    value, tangent = jvp(f, arguments_of(name, np.float32), along)
    assert_same(value, plain)
    assert [x.dtype for x in leaves_of(tangent)] == [x.dtype for x in leaves_of(plain)]
    if unbatched is None:
        batch = vmap(f)(*tree_map(lambda x: x[None], arguments_of(name, np.float32)))
        assert [x.dtype for x in leaves_of(batch)] == [x.dtype for x in leaves_of(plain)]
