"""Trees that are deeper than Python's stack, as arguments and results of everything."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import tapegrad
import tapegrad.torch as torch
from tapegrad import InputError, OutputError, tree
from tapegrad._tree import LEAF, TALL, Structure, flatten
from tapegrad.testing import check_grads

DEPTH = 1500  # more than the recursion limit
X = np.arange(3.0)


def nested(x, depth=DEPTH):
    """A leaf in lists, dicts and tuples around each other."""
    for level in range(depth):
        x = [[x], {"a": x}, (x,)][level % 3]
    return x


def leaf_of(found):
    while isinstance(found, (list, tuple, dict)):
        found = found["a"] if isinstance(found, dict) else found[0]
    return found


def total(t):
    return np.sum(leaf_of(t) ** 2)


def doubled(t):
    return tree.map(lambda x: x * 2.0, t)


def twice(f, *args):
    """The third result of a compiled function, which is a program's."""
    compiled = tapegrad.compile(f)
    return [compiled(*args) for _ in range(3)][-1]


PROGRAMS = {
    "grad": (lambda t: tapegrad.grad(total)(t), 2 * X),
    "value_and_grad": (lambda t: tapegrad.value_and_grad(total)(t)[1], 2 * X),
    "vjp": (lambda t: tapegrad.vjp(doubled, t)[1](t), 2 * X),
    "jvp": (lambda t: tapegrad.jvp(doubled, (t,), (t,))[1], 2 * X),
    "linearize": (lambda t: tapegrad.linearize(doubled, t)[1](t), 2 * X),
    "vmap": (lambda t: tapegrad.vmap(doubled, in_axes=(nested(0),), out_axes=nested(0))(t), 2 * X),
    "jacrev": (lambda t: tapegrad.jacrev(leaf_of)(t), np.eye(3)),
    "jacfwd": (lambda t: tapegrad.jacfwd(leaf_of)(t), np.eye(3)),
    "jacobian": (lambda t: tapegrad.jacobian(doubled)(t), 2 * np.eye(3)),
    "hessian": (lambda t: tapegrad.hessian(total)(t), 2 * np.eye(3)),
    "hvp": (lambda t: tapegrad.hvp(total, (t,), (t,)), 2 * X),
    "checkpoint": (
        lambda t: tapegrad.grad(lambda t: total(tapegrad.checkpoint(doubled)(t)))(t),
        8 * X,
    ),
    "compile": (lambda t: twice(doubled, t), 2 * X),
    "compile of grad": (lambda t: twice(tapegrad.grad(total), t), 2 * X),
    "has_aux": (lambda t: tapegrad.grad(lambda t: (total(t), t), has_aux=True)(t)[1], X),
    "stop_gradient": (tapegrad.stop_gradient, X),
    "tree.map": (lambda t: tree.map(np.add, t, t), 2 * X),
    "tree.map_with_path": (
        lambda t: tree.map_with_path(lambda path, x: x * len(path), t),
        DEPTH * X,
    ),
    "tree.flatten": (lambda t: tree.flatten(t, is_leaf=lambda part: part is X)[0], X),
    "tree.ravel": (lambda t: tree.ravel(t)[1](X), X),
    "tree.add": (lambda t: tree.add(t, t), 2 * X),
    "tree.transpose": (lambda t: tree.transpose(tree.structure((0,)), tree.structure(t), (t,)), X),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_deep_trees_are_trees(name):
    program, expected = PROGRAMS[name]
    assert sys.getrecursionlimit() <= DEPTH
    found = program(nested(X))
    assert np.array_equal(leaf_of(found[0] if name == "hvp" else found), expected)


def test_nothing_of_a_deep_tree_is_lost_in_a_program():
    found = twice(doubled, nested(X))
    assert tree.structure(found) == tree.structure(nested(X))


def test_tensors_in_deep_trees():
    x = torch.tensor(X)
    found = torch.func.grad(lambda t: (leaf_of(t) ** 2).sum())(nested(x))
    assert torch.equal(leaf_of(found), 2 * x)
    assert torch.equal(leaf_of(twice(lambda t: nested(leaf_of(t) * 2), nested(x))), 2 * x)


def test_checks_of_deep_trees():
    check_grads(total, (nested(X),))
    with tapegrad.debug_nans():
        assert np.array_equal(leaf_of(tapegrad.grad(total)(nested(X))), 2 * X)


def test_errors_name_the_place_in_a_deep_tree():
    with pytest.raises(InputError, match=r"got int 3 at .*\['a'\]\[0\]"):
        tapegrad.grad(total)(nested(3))
    with pytest.raises(OutputError, match=r"\.\.\."):
        tapegrad.grad(nested)(X)
    with pytest.raises(InputError, match="expected the structure"):
        tapegrad.vjp(doubled, nested(X))[1](nested(X, DEPTH - 1))


@pytest.mark.part(3)
@pytest.mark.parametrize("depth", [1, TALL - 1, TALL, TALL + 1, TALL + 2, 10_000])
def test_structures_of_any_height(depth):
    leaves, found = flatten(nested(X, depth))
    assert leaves == [X]
    assert found.leaf_count == 1
    assert found == flatten(nested(0, depth))[1]
    assert hash(found) == hash(flatten(nested(0, depth))[1])
    assert found != flatten(nested((0,), depth))[1]
    assert found != flatten(nested(0, depth + 3))[1]
    assert {found: 1}[flatten(nested(0, depth))[1]] == 1
    assert str(found).count("*") == 1
    assert leaf_of(tree.unflatten(found, [1])) == 1
    assert found.children[0] == flatten(leaf_of_one(nested(X, depth)))[1]


def leaf_of_one(t):
    """The tree within the outermost container."""
    return t["a"] if isinstance(t, dict) else t[0]


def test_parts_of_tall_structures_are_those_of_the_parts():
    found = flatten((nested(0, TALL + 1), nested(0, 2), 0))[1]
    low = flatten(nested(0, 2))[1]
    assert found.children[1] == low
    assert type(found.children[1]) is type(low) is Structure
    assert found.children[2] is LEAF
    assert hash(found.children[0]) == hash(flatten(nested(0, TALL + 1))[1])


def test_container_that_holds_itself_is_refused():
    cycle: list[object] = [1.0]
    cycle.append({"a": cycle})
    with pytest.raises(InputError, match="within itself"):
        tapegrad.grad(total)(cycle)
