"""tapegrad.tree: the public functions on pytrees, and the laws that they obey."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pytest
from draws import draws
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tapegrad import InputError, ShapeMismatchError, compile, grad, jacobian, jvp, tree, vmap
from tapegrad._tree import flatten_like


class Pair(NamedTuple):
    left: object
    right: object


@dataclass
class Layer:
    scale: object
    name: str = field(default="", metadata={"static": True})


NUMBERS = st.integers(-9, 9) | st.floats(-1e3, 1e3)
ARRAYS = hnp.arrays(
    st.sampled_from([np.float32, np.float64, np.int64, np.complex128, np.bool_]),
    hnp.array_shapes(min_dims=0, max_dims=2, max_side=3),
)


def trees(leaves):
    return st.recursive(
        leaves | st.none(),
        lambda children: st.one_of(
            st.lists(children, max_size=3),
            st.lists(children, max_size=3).map(tuple),
            st.dictionaries(st.text("abc", max_size=2), children, max_size=3),
            st.builds(Pair, children, children),
            st.builds(Layer, children),
        ),
        max_leaves=6,
    )


MODEL = {"hidden": [Layer(np.array([1.0, 2.0]), "first"), 3.0], "out": Pair(4.0, None)}


@given(trees(NUMBERS))
@draws(15, 300)
def test_flatten_and_unflatten_are_inverse(x):
    leaves, structure = tree.flatten(x)
    assert tree.unflatten(structure, leaves) == x
    assert tree.leaves(x) == leaves
    assert tree.structure(x) == structure
    assert structure.leaf_count == len(leaves)


@given(trees(NUMBERS))
@draws(15, 300)
def test_map_keeps_identity_and_composition(x):
    def f(leaf):
        return (leaf, "f")

    def g(leaf):
        return [leaf]

    assert tree.map(lambda leaf: leaf, x) == x
    composed = tree.map(lambda leaf: g(f(leaf)), x)
    structure = tree.structure(x)
    stepwise = tree.map(g, tree.map(f, x), is_leaf=lambda y: isinstance(y, tuple) and "f" in y)
    assert composed == stepwise
    assert flatten_like(structure, composed, "test") == [[(leaf, "f")] for leaf in tree.leaves(x)]


@given(trees(NUMBERS))
@draws(15, 300)
def test_paths_lead_to_the_leaves(x):
    for path, leaf in tree.leaves_with_path(x):
        assert eval(f"x{path}", {"x": x}) is leaf
    pairs, structure = tree.flatten_with_path(x)
    assert [leaf for _, leaf in pairs] == tree.leaves(x)
    assert (
        tree.map_with_path(lambda _, leaf: leaf, x)
        == x
        == tree.unflatten(structure, [leaf for _, leaf in pairs])
    )


@given(trees(ARRAYS))
@draws(15, 300)
def test_ravel_and_unravel_are_inverse(x):
    flat, unravel = tree.ravel(x)
    assert flat.ndim == 1
    assert flat.size == tree.size(x)
    back = unravel(flat)
    for now, was in zip(tree.leaves(back), tree.leaves(x), strict=True):
        assert now.dtype == was.dtype
        assert now.shape == was.shape
        exact = was.dtype == np.int64 and flat.dtype != np.int64
        assert exact or np.array_equal(now, was, equal_nan=True)
    again = tree.ravel(back)[0]
    assert again.dtype == flat.dtype


def test_paths_read_as_programs():
    paths = [str(path) for path, _ in tree.leaves_with_path(MODEL)]
    assert paths == ["['hidden'][0].scale", "['hidden'][1]", "['out'].left"]
    path = tree.leaves_with_path(MODEL)[0][0]
    assert tuple(path) == ("hidden", 0, "scale")


MATRIX = np.arange(6.0).reshape(2, 3)
each_tree_of_arrays = pytest.mark.parametrize(
    "x",
    [
        MATRIX[0],
        MATRIX,
        MATRIX.T,
        MATRIX[:, ::2],
        {"a": MATRIX},
        [MATRIX[:0]],
        [MATRIX, MATRIX[0]],
    ],
    ids=["a vector", "rows", "columns", "gaps", "in a dict", "empty", "two"],
)


@each_tree_of_arrays
@pytest.mark.parametrize(
    "function",
    [
        lambda x: tree.ravel(x)[0],
        lambda x: tree.add(x, x),
        lambda x: tree.scale(1, x),
        lambda x: tree.add_scaled(x, 0, x),
        tree.zeros_like,
        tree.ones_like,
    ],
    ids=["ravel", "add", "scale", "add_scaled", "zeros_like", "ones_like"],
)
def test_results_are_new_arrays(function, x):
    made = tree.leaves(function(x))
    assert not any(np.shares_memory(a, b) for a in made for b in tree.leaves(x))


@each_tree_of_arrays
def test_a_write_into_the_vector_of_a_tree_leaves_the_tree_as_it_was(x):
    def total(x):
        x = tree.map(lambda leaf: leaf * 1, x)
        flat, _ = tree.ravel(x)
        flat[...] = 7
        return sum(np.sum(leaf * leaf) for leaf in tree.leaves(x))

    gradient = grad(total)(x)
    for slope, leaf in zip(tree.leaves(gradient), tree.leaves(x), strict=True):
        np.testing.assert_array_equal(slope, 2 * leaf)


def test_ravel_is_differentiable_both_ways():
    x = {"a": np.array([[1.0, 2.0]]), "b": np.float64(3.0)}
    flat, unravel = tree.ravel(x)
    gradient = grad(lambda x: np.sum(tree.ravel(x)[0] ** 3))(x)
    assert np.array_equal(gradient["a"], 3 * x["a"] ** 2)
    assert gradient["b"] == 27.0
    back = grad(lambda v: unravel(v)["b"] ** 2 + np.sum(unravel(v)["a"]))(flat)
    assert np.array_equal(back, [1.0, 1.0, 6.0])
    jacobian_of = jacobian(lambda v: tree.ravel(unravel(v))[0])
    assert np.array_equal(jacobian_of(flat), np.eye(3))
    _, dot = jvp(lambda x: tree.ravel(x)[0], (x,), ({"a": np.ones((1, 2)), "b": 2.0},))
    assert np.array_equal(dot, [1.0, 1.0, 2.0])


def test_ravel_inside_vmap_and_compile():
    xs = {"a": np.arange(6.0).reshape(3, 2), "b": np.ones(3)}
    rows = vmap(lambda x: tree.ravel(x)[0] * 2)(xs)
    assert np.array_equal(rows, 2 * np.column_stack([xs["a"], xs["b"]]))
    compiled = compile(grad(lambda x: tree.norm(x, squared=True)))
    for _ in range(3):
        assert np.array_equal(compiled(xs)["a"], 2 * xs["a"])


def test_ravel_keeps_dtypes_in_gradients():
    x = (np.ones(2, np.float32), 1.0)
    gradient = grad(lambda x: np.sum(tree.ravel(x)[0]))(x)
    assert [g.dtype for g in gradient] == [np.float32, np.float64]


def test_a_tree_that_differs_is_refused_by_its_path():
    with pytest.raises(InputError, match=r"tree.map: .*'y'\]\[1\]"):
        tree.map(max, {"x": 1, "y": (1, [2])}, {"y": (1, (2,)), "x": 1})
    with pytest.raises(InputError, match=r"expected the structure \(\*, \*\), got \(\*\)\."):
        tree.map(max, (1, 2), (1,))
    with pytest.raises(InputError, match=r"expected 2 leaves, for \(\*, \*\), got 3"):
        tree.unflatten(tree.structure((1, 2)), [1, 2, 3])
    with pytest.raises(InputError, match="a structure and its leaves"):
        tree.unflatten([1], [1])
    with pytest.raises(InputError, match=r"str 'x' at \['a'\]"):
        tree.ravel({"a": "x"})
    with pytest.raises(ShapeMismatchError, match="a vector of 2, got float64"):
        tree.ravel((1.0, 2.0))[1](np.zeros(3))
    with pytest.raises(InputError, match="at least one leaf"):
        tree.reduce(max, None)
    with pytest.raises(InputError, match="outer structure with leaves"):
        tree.transpose([], None, [])


def test_folds():
    x = {"a": np.array([True, False]), "b": [1, 2.0]}
    assert not tree.all(x)
    assert tree.any(x)
    assert tree.all(None)
    assert not tree.any(())
    assert tree.reduce(lambda n, _: n + 1, x, 0) == 3
    assert tree.reduce(lambda a, b: a - b, (5, 1, 1)) == 3


def test_is_leaf_stops_at_a_container():
    x = {"a": (1, 2), "b": [3]}
    assert tree.leaves(x, is_leaf=lambda y: isinstance(y, tuple)) == [(1, 2), 3]
    assert tree.map(len, x, is_leaf=lambda y: isinstance(y, tuple | list)) == {"a": 2, "b": 1}
    assert tree.leaves([None, 1], is_leaf=lambda y: y is None) == [None, 1]


@given(st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), min_size=1, max_size=4))
def test_transpose_twice_is_the_identity(rows):
    inner, outer = tree.structure(rows[0]), tree.structure([0] * len(rows))
    turned = tree.transpose(outer, inner, rows)
    assert tree.transpose(inner, outer, turned) == rows


def test_arithmetic():
    a, b = {"x": np.array([1.0, 2.0]), "y": 2.0}, {"y": 3.0, "x": np.array([0.5, 1.0])}
    assert tree.vdot(a, b) == 1 * 0.5 + 2 * 1 + 2 * 3
    assert tree.norm(a) == 3.0
    assert tree.norm(a, 1) == 5.0
    assert tree.norm(a, np.inf) == 2.0
    assert tree.norm(a, squared=True) == 9.0
    assert tree.norm(()) == 0.0
    assert np.array_equal(tree.add(a, b)["x"], [1.5, 3.0])
    assert tree.subtract(a, b)["y"] == -1.0
    assert tree.scale(2, a)["y"] == 4.0
    assert tree.add_scaled(a, 2, b)["y"] == 8.0
    assert grad(tree.norm)(a)["y"] == 2 / 3
    assert tree.vdot((1j,), (1j,)) == 1.0
    assert tree.zeros_like(a)["y"] == 0
    assert np.array_equal(tree.ones_like(a)["x"], [1, 1])


def test_classes_are_registered_by_methods_or_by_names():
    @tree.register_class
    class Point:
        def __init__(self, x, y, unit):
            self.x, self.y, self.unit = x, y, unit

        def tree_flatten(self):
            return (self.x, self.y), self.unit

        @classmethod
        def tree_unflatten(cls, unit, children):
            return cls(*children, unit)

    @tree.register_class(children=["p"], static=["n"])
    class Holder:
        def __init__(self, p):
            self.p, self.n = p, 7

    moved = grad(lambda h: h.p.x**2 * h.p.y)(Holder(Point(3.0, 2.0, "m")))
    assert (moved.p.x, moved.p.y, moved.p.unit, moved.n) == (12.0, 9.0, "m", 7)
    with pytest.raises(InputError, match="a type without a registration"):
        tree.register_class(children=["p"])(Holder)
    with pytest.raises(InputError, match="names of attributes, or methods"):
        tree.register_class(type("Bare", (), {}))


def test_tensors_are_leaves():
    import tapegrad.torch as torch

    x = {"w": torch.ones(2, requires_grad=True)}
    (2 * tree.map(lambda t: t.sum(), x)["w"]).backward()
    assert x["w"].grad.tolist() == [2.0, 2.0]
