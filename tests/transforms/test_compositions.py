"""Every transform in every composition, on programs of every kind, against complex analysis.

A transform here takes a program to the derivative of it in the direction Y, once or twice or not
at all (vmap, checkpoint, custom functions), so that any tower of transforms is a known derivative
along a line. Cauchy's formula gives that from values of the plain program at complex points: no
derivative of tapegrad's is in it, and it loses no digits to differences.
"""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np
import pytest

from tapegrad import (
    BatchingError,
    RuleError,
    checkpoint,
    checkpoint_sequence,
    custom_jvp,
    custom_vjp,
    grad,
    hessian,
    hvp,
    jacfwd,
    jacrev,
    jvp,
    linear_transpose,
    linearize,
    vjp,
    vmap,
)
from tapegrad._core.tape import CURRENT

X = np.array([0.6, -1.1, 0.9])
Y = np.array([0.7, 0.25, -0.5])
Z = np.array([0.3, 0.8, -0.4])
MATRIX = np.array([[0.5, -0.3, 0.2], [0.1, 0.4, -0.6], [-0.2, 0.3, 0.7]])

# --- Programs: three numbers to two -------------------------------------------------------------


def elementwise(x):
    return (np.sin(x) * x[::-1] - np.exp(-x / 2))[1:]


def products(x):
    h = np.tanh(MATRIX @ x)
    return np.stack([h @ x, np.sum(np.linalg.solve(MATRIX + np.outer(h, x), h))])


def writes(x):
    buffer = np.zeros(5, x.dtype, like=x)
    buffer[1:4] = x * x
    buffer[::2] += np.cos(x)
    view = buffer[:3].reshape(3, 1)[1:, 0]
    view *= x[0]
    buffer[0] = np.sum(view)
    part = buffer[np.array([0, 3])].copy()
    part[1:] -= buffer[4]
    return part


def branches(x):
    y = x * 1.0
    for i in range(3):
        y = np.sin(y) + x[i] if x[i] > 0 else y * x
    return y[:2] if np.sum(x) < 10.0 else y[1:]


def containers(x):
    layers = [{"w": MATRIX * x[0], "b": x}, {"w": MATRIX, "b": np.sin(x)}]

    def layer(state, parameters):
        h, total = state
        h = np.tanh(parameters["w"] @ h + parameters["b"])
        return h, total + np.sum(h)

    state = (x, 0.0)
    for parameters in layers:
        state = layer(state, parameters)
    return np.stack([state[0][1], state[1]])


def sequence(x):
    def step(state, rate):
        return state + rate * np.sin(state)

    return checkpoint_sequence(step, x, 4, x[0], snapshots=2)[:2]


PROGRAMS = {f.__name__: f for f in (elementwise, products, writes, branches, containers, sequence)}

# --- The derivative along Y, by every transform -------------------------------------------------


def parts_of(f):
    """The outputs of a program as scalar functions."""
    return [lambda x, i=i: f(x)[i] for i in range(2)]


def by_vjp(f):
    # The transpose of the pullback, which is linear, is the pushforward.
    return lambda x: vjp(lambda g: vjp(f, x)[1](g)[0], np.zeros(2))[1](Y)[0]


def by_vmap(f):
    # One example is the point twice, and others must not get in its way.
    return lambda x: np.array([0.25, 0.0, 0.75]) @ vmap(f)(np.stack([x, 0.9 * X, x]))


def by_custom_vjp(f):
    custom = custom_vjp(f)
    custom.defvjp(lambda x: (f(x), x), lambda x, g: vjp(f, x)[1](g))
    return custom


def by_custom_jvp(f):
    custom = custom_jvp(f)
    custom.defjvp(lambda primals, tangents: jvp(f, primals, tangents))
    return custom


ONCE = {
    "grad": lambda f: lambda x: np.stack([grad(part)(x) @ Y for part in parts_of(f)]),
    "vjp": by_vjp,
    "jvp": lambda f: lambda x: jvp(f, (x,), (Y,))[1],
    "linearize": lambda f: lambda x: linearize(f, x)[1](Y),
    "jacrev": lambda f: lambda x: jacrev(f)(x) @ Y,
    "jacfwd": lambda f: lambda x: jacfwd(f)(x) @ Y,
}
TWICE = {
    "hessian": lambda f: lambda x: np.stack([Y @ hessian(p)(x) @ Y for p in parts_of(f)]),
    "hvp": lambda f: lambda x: np.stack([Y @ hvp(p, (x,), (Y,)) for p in parts_of(f)]),
}
NEVER = {
    "vmap": by_vmap,
    "checkpoint": checkpoint,
    "custom_vjp": by_custom_vjp,
    "custom_jvp": by_custom_jvp,
}
TRANSFORMS = {**ONCE, **TWICE, **NEVER}
ORDER = {name: 1 if name in ONCE else 2 if name in TWICE else 0 for name in TRANSFORMS}


def in_a_tree(f):
    """A program of a tree of its numbers."""
    return lambda tree: f(joined(tree))


def split(x):
    return {"a": x[:1], "b": (x[1:2], [x[2:]])}


def joined(tree):
    return np.concatenate([tree["a"], tree["b"][0], tree["b"][1][0]], axis=-1)


def second(tree):
    """The matrix of a Hessian of a tree of arrays."""
    rows = (tree["a"], tree["b"][0], tree["b"][1][0])
    return np.concatenate([joined(row) for row in rows])


def rebuilt(custom):
    """A transform of programs of trees, for programs of arrays."""
    return lambda f: lambda x: custom(in_a_tree(f))(split(x))


TREE_TRANSFORMS = {
    "grad": lambda f: (
        lambda x: np.stack([joined(grad(in_a_tree(part))(split(x))) @ Y for part in parts_of(f)])
    ),
    "vjp": lambda f: (
        lambda x: vjp(lambda g: vjp(in_a_tree(f), split(x))[1](g)[0], np.zeros(2))[1](split(Y))[0]
    ),
    "jvp": lambda f: lambda x: jvp(in_a_tree(f), (split(x),), (split(Y),))[1],
    "linearize": lambda f: lambda x: linearize(in_a_tree(f), split(x))[1](split(Y)),
    "jacrev": lambda f: lambda x: joined(jacrev(in_a_tree(f))(split(x))) @ Y,
    "jacfwd": lambda f: lambda x: joined(jacfwd(in_a_tree(f))(split(x))) @ Y,
    "hessian": lambda f: (
        lambda x: np.stack(
            [Y @ second(hessian(in_a_tree(part))(split(x))) @ Y for part in parts_of(f)]
        )
    ),
    "hvp": lambda f: (
        lambda x: np.stack(
            [Y @ joined(hvp(in_a_tree(p), (split(x),), (split(Y),))) for p in parts_of(f)]
        )
    ),
    "vmap": lambda f: (
        lambda x: vmap(in_a_tree(f), in_axes=({"a": 0, "b": (0, [None])},))(
            {"a": np.stack([x[:1], x[:1]]), "b": (np.stack([x[1:2], x[1:2]]), [x[2:]])}
        )[1]
    ),
    "checkpoint": rebuilt(checkpoint),
    "custom_vjp": rebuilt(by_custom_vjp),
    "custom_jvp": rebuilt(by_custom_jvp),
}


PAIRS = list(itertools.product(TRANSFORMS, repeat=2))
TRIPLES = list(itertools.product(TRANSFORMS, repeat=3))
SOME_TRIPLES = TRIPLES[::7]

# --- The reference ------------------------------------------------------------------------------

RADIUS = 0.2  # of a circle on which no program has a pole, or takes another branch
CIRCLE = RADIUS * np.exp(2j * np.pi * np.arange(32) / 32)


@functools.cache
def by_cauchy(f, order):
    """The derivative of f at X along Y, and how far off it may be: found once for all towers."""
    if order == 0:
        return f(X), 1e-14
    values = np.stack([f(X + t * Y) for t in CIRCLE])
    weights = math.factorial(order) * CIRCLE**-order
    accuracy = math.factorial(order) * RADIUS**-order * np.max(np.abs(values)) * 1e-14
    return np.real(np.mean(values.T * weights, axis=1)), accuracy


def check(names, program, transforms=TRANSFORMS):
    """That a tower of transforms, the last one outermost, is the derivative that it should be."""
    f = PROGRAMS[program]
    for name in names:
        f = transforms[name](f)
    if program == "branches" and "vmap" in names:
        with pytest.raises(BatchingError, match="each example may branch"):
            f(X)
        return
    expected, accuracy = by_cauchy(PROGRAMS[program], sum(ORDER[name] for name in names))
    np.testing.assert_allclose(f(X), expected, rtol=1e-12, atol=accuracy)


def test_the_reference():
    f = lambda x: np.stack([np.sum(np.exp(x)), x[0] ** 3])  # noqa: E731
    for order in range(7):
        found, accuracy = by_cauchy(f, order)
        expected = [
            np.exp(X) @ Y**order,
            math.perm(3, order) * X[0] ** max(3 - order, 0) * Y[0] ** order,
        ]
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=accuracy)


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("name", TRANSFORMS)
def test_single_transforms(name, program):
    check([name], program)
    check([name], program, TREE_TRANSFORMS)


@pytest.mark.part(9)
@pytest.mark.parametrize("names", PAIRS, ids="-".join)
def test_pairs(names):
    for program in PROGRAMS:
        check(names, program)


@pytest.mark.part(4)
@pytest.mark.parametrize("names", PAIRS, ids="-".join)
def test_pairs_of_trees(names):
    check(names, "containers", TREE_TRANSFORMS)
    check(names, "writes", TREE_TRANSFORMS)


@pytest.mark.part(3)
@pytest.mark.parametrize("names", SOME_TRIPLES, ids="-".join)
def test_some_triples(names):
    if sum(ORDER[name] for name in names) < 5:
        check(names, list(PROGRAMS)[sum(map(len, names)) % len(PROGRAMS)])


@pytest.mark.scheduled
@pytest.mark.parametrize("names", TRIPLES, ids="-".join)
def test_triples(names):
    for program in PROGRAMS:
        check(names, program)
    check(names, "containers", TREE_TRANSFORMS)


# --- Laws of every composition ------------------------------------------------------------------

FIRST = [name for name in TRANSFORMS if ORDER[name] < 2]


def check_laws(f, program):
    """Laws of any function: here for one that is itself a tower of transforms."""
    weights = np.array([0.8, -1.3])
    out = f(X)
    matrix = jacrev(f)(X)
    np.testing.assert_allclose(jacfwd(f)(X), matrix, rtol=1e-9, atol=1e-11)

    again, out_dot = jvp(f, (X,), (Z,))
    np.testing.assert_allclose(again, out, rtol=1e-12)
    np.testing.assert_allclose(out_dot, matrix @ Z, rtol=1e-9, atol=1e-11)  # jvp = J t

    _, pullback = vjp(f, X)
    (bar,) = pullback(weights)
    np.testing.assert_allclose(bar, weights @ matrix, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(weights @ out_dot, bar @ Z, rtol=1e-9, atol=1e-11)  # adjoint

    _, push = linearize(f, X)
    np.testing.assert_allclose(push(Z), out_dot, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(
        push(2 * Z - 3 * Y), 2 * push(Z) - 3 * push(Y), rtol=1e-9, atol=1e-11
    )
    np.testing.assert_allclose(linear_transpose(push, Z)(weights)[0], bar, rtol=1e-9, atol=1e-11)

    second = hessian(lambda x: f(x) @ weights)(X)
    np.testing.assert_allclose(second, second.T, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(
        hvp(lambda x: f(x) @ weights, (X,), (Z,)), second @ Z, rtol=1e-8, atol=1e-9
    )
    if program == "branches":
        return
    points = np.stack([X, Z, X + 0.1 * Y])
    np.testing.assert_allclose(  # vmap = loop
        vmap(f)(points), [f(point) for point in points], rtol=1e-10, atol=1e-12
    )
    np.testing.assert_allclose(
        vmap(jacrev(f))(points), [jacrev(f)(point) for point in points], rtol=1e-9, atol=1e-11
    )
    np.testing.assert_allclose(
        vmap(f, chunk_size=2)(points), vmap(f)(points), rtol=1e-12, atol=1e-14
    )


@pytest.mark.part(3)
@pytest.mark.parametrize("name", FIRST)
@pytest.mark.parametrize("program", PROGRAMS)
def test_laws_of_single_transforms(program, name):
    if (program, name) != ("branches", "vmap"):
        check_laws(TRANSFORMS[name](PROGRAMS[program]), program)


@pytest.mark.scheduled
@pytest.mark.parametrize("names", list(itertools.product(FIRST, repeat=2)), ids="-".join)
@pytest.mark.parametrize("program", PROGRAMS)
def test_laws_of_pairs(program, names):
    if program == "branches" and "vmap" in names:
        pytest.skip("each example would take a branch of its own")
    f = PROGRAMS[program]
    for name in names:
        f = TRANSFORMS[name](f)
    check_laws(f, program)


def test_a_transform_inside_a_program_of_another():
    """The inner one's function closes over the outer one's value, and is handed it as well."""

    def energy(x):
        inner = grad(lambda y: np.sum(np.sin(y * x)))(x * x)
        along = jvp(lambda y: np.cos(y * inner), (x,), (inner,))[1]
        rows = vmap(lambda a: np.tanh(a @ x))(MATRIX)
        pushed = linearize(lambda y: y * x * along, x)[1](rows)
        return np.sum(checkpoint(np.exp)(pushed))

    def plain(x):
        inner = x * np.cos(x**3)
        along = -np.sin(x * inner) * inner * inner
        return np.sum(np.exp(x * along * np.tanh(MATRIX @ x)))

    for take in (grad, hessian, jacrev, lambda f: jacfwd(grad(f)), lambda f: jacrev(jacfwd(f))):
        np.testing.assert_allclose(take(energy)(X), take(plain)(X), rtol=1e-10, atol=1e-12)
    points = np.stack([X, Y, Z])
    np.testing.assert_allclose(
        vmap(hessian(energy))(points), vmap(hessian(plain))(points), rtol=1e-9, atol=1e-12
    )


def test_no_transform_mistakes_anothers_tangent_for_its_own():
    """Perturbation confusion: each pair of directions, with a value of the outer one inside."""
    first = {
        "grad": lambda f: grad(f),
        "jvp": lambda f: lambda x: jvp(f, (x,), (1.0,))[1],
        "linearize": lambda f: lambda x: linearize(f, x)[1](1.0),
        "vjp": lambda f: lambda x: vjp(f, x)[1](1.0)[0],
        "jacfwd": jacfwd,
        "vmap": lambda f: lambda x: vmap(grad(f))(np.stack([x, x]))[1],
        "checkpoint": lambda f: grad(checkpoint(f)),
    }
    for outer, inner in itertools.product(first, repeat=2):
        found = (
            first[outer](lambda x, inner=inner: x * first[inner](lambda y: x + y)(1.0))(1.0)
            if inner != "checkpoint"
            else first[outer](
                lambda x: x * grad(lambda p: checkpoint(lambda p: p[0] + p[1])(p))((1.0, x))[0]
            )(1.0)
        )
        assert found == 1.0, (outer, inner)


@pytest.mark.parametrize("declare", [by_custom_vjp, by_custom_jvp, checkpoint])
@pytest.mark.parametrize("inner", ["jvp", "grad", "vmap"])
def test_closing_over_an_inner_transforms_value(declare, inner):
    """The value of an inner transform in a function of an outer one's: refused, never detached."""

    def of(x):
        def mixed(y):
            return declare(lambda z: np.sin(z) * y)(x * 1.0)

        if inner == "jvp":
            return jvp(mixed, (Y,), (Z,))[1]
        if inner == "grad":
            return grad(lambda y: np.sum(mixed(y)))(Y)
        return vmap(mixed)(np.stack([Y, Z]))[0]

    for outer in (jacrev, jacfwd):
        with pytest.raises(RuleError, match="closes over a traced value"):
            outer(of)(X)


# --- Traces of a finished transform --------------------------------------------------------------

TRIPLED = custom_vjp(lambda x: 3 * x)
TRIPLED.defvjp(lambda x: (3 * x, None), lambda _, g: (3 * g,))
INNER = {  # of a function of an array to an array
    "grad": lambda f: lambda x: grad(lambda x: np.sum(f(x)))(x),
    "vjp": lambda f: lambda x: vjp(f, x)[1](x)[0],
    "jvp": lambda f: lambda x: jvp(f, (x,), (x,))[1],
    "linearize": lambda f: lambda x: linearize(f, x)[1](x),
    "jacrev": lambda f: lambda x: jacrev(f)(x),
    "jacfwd": lambda f: lambda x: jacfwd(f)(x),
    "hvp": lambda f: lambda x: hvp(lambda x: np.sum(f(x)), (x,), (x,)),
    "linear_transpose": lambda f: lambda x: linear_transpose(lambda t: f(t / t) * t, x)(x)[0],
    "vmap": lambda f: lambda x: vmap(f)(np.stack([x, x])),
    "checkpoint": checkpoint,
    "checkpoint_sequence": lambda f: lambda x: checkpoint_sequence(f, x, 3),
    "custom_vjp": lambda f: lambda x: TRIPLED(f(x)),
}
AROUND = {
    "nothing": lambda f, x: f(x[0]),
    "grad": lambda f, x: grad(lambda x: np.sum(f(x)))(x[0]),
    "jvp": lambda f, x: jvp(f, (x[0],), (x[1],)),
    "vmap": lambda f, x: vmap(f)(x),
    "grad of vmap": lambda f, x: grad(lambda x: np.sum(vmap(f)(x)))(x),
    "jvp of vmap": lambda f, x: jvp(vmap(f), (x,), (x,)),
    "vmap of grad": lambda f, x: vmap(grad(lambda x: np.sum(f(x))))(x),
    "grad of vmap of vmap": lambda f, x: grad(lambda x: np.sum(vmap(vmap(f))(x)))(x[None]),
    "grad of grad": lambda f, x: grad(lambda x: np.sum(grad(lambda x: np.sum(f(x)))(x)))(x[0]),
}


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("inner", INNER)
def test_a_transform_inside_leaves_the_one_around_it_as_it_was(inner, around):
    """Also where its function raises: the next transform asks for the innermost one."""
    seen = []

    def failing(x):
        np.sin(x)
        raise KeyError

    def program(x):
        before = CURRENT.get()
        made = INNER[inner](lambda x: np.sin(x) * x)(x)
        seen.append((before, CURRENT.get()))
        with pytest.raises(KeyError):
            INNER[inner](failing)(x)
        seen.append((before, CURRENT.get()))
        return np.sum(made) * x

    AROUND[around](program, np.stack([X, Y]))
    assert seen
    assert all(before is after for before, after in seen)
    assert CURRENT.get() is None
