"""Pytrees: containers come apart into leaves and together again."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapegrad import InputError, grad, register_pytree
from tapegrad._tree import (
    LEAF,
    flatten,
    flatten_like,
    paths_of,
    register,
    render,
    tree_map,
    unflatten,
)


class Pair(NamedTuple):
    left: object
    right: object


class Named(tuple):
    """A tuple with names and attributes, as results of SciPy's are."""

    _fields = ("first", "second")


@dataclass
class Model:
    w: object
    b: object = 0.0


@dataclass(frozen=True)
class Frozen:
    a: object
    b: object = field(default=None)


@dataclass(slots=True)
class Slotted:
    a: object


class Checked:
    """Not a container until it is registered."""

    def __init__(self, value, name):
        self.value, self.name = value, name


register(Checked, lambda c: ((c.value,), c.name), lambda name, children: Checked(*children, name))

KEYS = st.text("abc", max_size=2)
LEAVES = st.integers() | st.floats(allow_nan=False) | st.text("xyz", max_size=3)
TREES = st.recursive(
    LEAVES | st.none(),
    lambda children: st.one_of(
        st.lists(children, max_size=3),
        st.lists(children, max_size=3).map(tuple),
        st.dictionaries(KEYS, children, max_size=3),
        st.dictionaries(KEYS, children, max_size=3).map(OrderedDict),
        st.dictionaries(KEYS, children, max_size=3).map(lambda d: defaultdict(list, d)),
        st.builds(Pair, children, children),
        st.builds(Model, children, children),
        st.builds(Frozen, children),
    ),
    max_leaves=12,
)


@given(TREES)
def test_unflatten_undoes_flatten(tree):
    leaves, structure = flatten(tree)
    rebuilt = unflatten(structure, leaves)
    assert rebuilt == tree
    assert type(rebuilt) is type(tree)
    assert flatten(rebuilt) == (leaves, structure)


def test_a_tuple_with_names_keeps_its_attributes():
    tree = Named((1.0, np.ones(2)))
    tree.left, tree.count, tree.how = np.zeros(3), 3, "less"
    leaves, structure = flatten(tree)
    assert len(leaves) == 3
    hash(structure)
    rebuilt = unflatten(structure, [x * 2 + 1 for x in leaves])
    assert type(rebuilt) is Named
    assert rebuilt[0] == 3.0
    assert list(rebuilt.left) == [1, 1, 1]
    assert (rebuilt.count, rebuilt.how) == (3, "less")
    assert list(paths_of(tree)) == [".first", ".second", ".left"]


@given(TREES)
def test_structures_are_equal_where_containers_are(tree):
    _, structure = flatten(tree)
    assert flatten(tree_map(lambda _: 0, tree))[1] == structure
    assert flatten_like(structure, tree, "test") == flatten(tree)[0]


@given(TREES)
def test_tree_map_of_the_identity(tree):
    assert tree_map(lambda leaf: leaf, tree) == tree


@given(TREES)
def test_tree_map_over_two_trees(tree):
    leaves = flatten(tree)[0]
    pairs = tree_map(lambda a, b: {a, b}, tree, tree)
    assert flatten(pairs)[0] == [{leaf} for leaf in leaves]


@given(TREES)
def test_every_structure_can_be_rendered(tree):
    text = render(flatten(tree)[1])
    assert text.count("*") == len(flatten(tree)[0])


@given(TREES)
def test_a_tree_wrapped_once_more_does_not_match(tree):
    with pytest.raises(InputError):
        flatten_like(flatten([tree])[1], tree if not isinstance(tree, list) else (tree,), "f")


def test_leaves_come_from_left_to_right():
    tree = {"b": [1, (2, None)], "a": Pair(3, Model(4, {"z": 5}))}
    assert flatten(tree)[0] == [1, 2, 3, 4, 5]


def test_arrays_strings_and_unknown_objects_are_leaves():
    for leaf in (np.ones(3), "text", 1.0, object(), {1, 2}, np.float32(2), range(3)):
        assert flatten(leaf) == ([leaf], LEAF)


def test_none_is_an_empty_container():
    assert flatten(None)[0] == []
    assert unflatten(flatten(None)[1], []) is None


def test_dicts_match_by_key():
    structure = flatten({"a": 1, "b": 2})[1]
    assert flatten_like(structure, {"b": 20, "a": 10}, "f") == [10, 20]
    assert unflatten(structure, [1, 2]) == {"a": 1, "b": 2}


def test_kinds_of_dicts_are_kept():
    ordered = unflatten(*reversed(flatten(OrderedDict(b=1, a=2))))
    assert list(ordered.items()) == [("b", 1), ("a", 2)]
    counts = unflatten(*reversed(flatten(defaultdict(int, a=1))))
    assert counts["new"] == 0


def test_dataclasses_need_no_constructor():
    @dataclass
    class Picky:
        a: float

        def __post_init__(self):
            if not isinstance(self.a, float):
                raise TypeError

    assert unflatten(flatten(Picky(1.0))[1], ["anything"]).a == "anything"


def test_dataclasses_without_some_of_their_fields():
    @dataclass
    class Growing:
        a: float
        b: float
        c: str = field(metadata={"static": True})

    growing = object.__new__(Growing)
    growing.b = 2.0
    leaves, structure = flatten(growing)
    assert leaves == [2.0]
    assert vars(unflatten(structure, [3.0])) == {"b": 3.0}
    growing.a = growing.c = 1.0
    assert structure != flatten(growing)[1]


@pytest.mark.parametrize("kind", [Model, Frozen, Slotted])
def test_dataclasses_of_all_kinds(kind):
    tree = kind(1.5)
    leaves, structure = flatten(tree)
    assert leaves[0] == 1.5
    assert unflatten(structure, leaves) == tree


def test_subclasses_of_containers_that_are_not_registered_are_leaves():
    class Strange(list):
        pass

    strange = Strange([1, 2])
    assert flatten(strange) == ([strange], LEAF)


def test_registered_types():
    leaves, structure = flatten([Checked(1.0, "w"), Checked(2.0, "b")])
    assert leaves == [1.0, 2.0]
    assert [c.name for c in unflatten(structure, leaves)] == ["w", "b"]


def test_aux_data_must_match():
    structure = flatten(Checked(1.0, "w"))[1]
    with pytest.raises(InputError):
        flatten_like(structure, Checked(1.0, "b"), "f")


def test_registration_after_the_first_sight_as_a_leaf():
    class Late:
        def __init__(self, x):
            self.x = x

    late = Late(1.0)
    assert flatten(late)[0] == [late]
    register_pytree(Late, lambda t: ((t.x,), None), lambda _, children: Late(*children))
    assert flatten(late)[0] == [1.0]
    gradient = grad(lambda t: np.sum(t.x**2))(Late(np.array([1.0, 2.0])))
    np.testing.assert_array_equal(gradient.x, [2.0, 4.0])


def test_a_type_is_registered_once():
    with pytest.raises(InputError, match="without a registration"):
        register(Checked, lambda c: ((), None), lambda *_: None)
    with pytest.raises(InputError):
        register(dict, lambda c: ((), None), lambda *_: None)


@pytest.mark.parametrize(
    ("tree", "other"),
    [
        ((1, 2), (1, 2, 3)),
        ((1, 2), [1, 2]),
        ({"a": 1}, {"b": 1}),
        ({"a": 1}, {"a": 1, "b": 2}),
        ([1, [2]], [1, 2]),
        (None, 1),
        (Pair(1, 2), (1, 2)),
        (Model(1), Frozen(1)),
        ([], [1]),
        ({"a": 1}, [1]),
        ((1,), 1),
        ([None], [1]),
    ],
)
def test_other_structures_do_not_match(tree, other):
    with pytest.raises(InputError, match="structure"):
        flatten_like(flatten(tree)[1], other, "call")


def test_extra_children_below_a_leaf_are_no_mismatch():
    # A leaf takes whatever stands in its place: the caller checks what it is.
    assert flatten_like(LEAF, [1, 2], "call") == [[1, 2]]


def test_rendering():
    structure = flatten(((1.0, [2.0, None]), {"a": Pair(1, 2)}))[1]
    assert render(structure) == "((*, [*, None]), {'a': Pair(*, *)})"


@given(st.lists(st.lists(st.floats(-3, 3), min_size=1, max_size=3), min_size=1, max_size=3))
def test_gradients_have_the_structure_of_their_arguments(rows):
    tree = {"rows": [np.array(row) for row in rows], "pair": Pair(1.5, None), "model": Model(2.0)}

    def f(t):
        return (
            sum(np.sum(row**2) for row in t["rows"]) * t["pair"].left + t["model"].w * t["model"].b
        )

    gradient = grad(f)(tree)
    assert flatten(gradient)[1] == flatten(tree)[1]
    for bar, row in zip(gradient["rows"], tree["rows"], strict=True):
        np.testing.assert_allclose(bar, 3 * row)
    assert gradient["model"] == Model(0.0, 2.0)
