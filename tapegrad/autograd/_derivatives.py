"""Derivatives of functions of one argument: `make_vjp(f, x)` and `make_jvp(f, x)`.

They are tapegrad's vjp and jvp in the order of HIPS autograd. Knows transforms. Must not know
declarations, nor the curried operators. Values of a class with a box and a space of its own go
through a trace with the nodes here, call by call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad._core.types import Tree
from tapegrad._core.values import is_array, is_inexact, is_plain_number
from tapegrad._transforms.forward import jvp as tapegrad_jvp
from tapegrad._transforms.reverse import IndependentOutputWarning, Pullback, run_with_map
from tapegrad._tree import LEAF, flatten, flatten_like, unflatten
from tapegrad._warning import warn
from tapegrad.autograd._boxes import (
    INDEPENDENT,
    Node,
    base_array,
    has_own_box,
    isbox,
    notrace_primitives,
    trace,
)
from tapegrad.autograd._calls import primitive_jvps, primitive_vjps
from tapegrad.autograd._nodes import subvals, toposort
from tapegrad.autograd._spaces import (
    SparseObject,
    add_outgrads,
    vspace,
)
from tapegrad.autograd.wrap_util import get_name

Function = Callable[..., Any]


def as_floats(x: Tree) -> Any:
    """A tree whose integers and truth values are floating numbers."""
    kind = type(x)
    if kind is float or (kind is np.ndarray and x.dtype.kind == "f"):
        return x  # the frequent cases
    leaves, structure = flatten(x)
    return unflatten(structure, map(_as_float, leaves))


def _as_float(leaf: Any) -> Any:
    leaf = base_array(leaf)
    if issubclass(type(leaf), (bool, int)):
        return float(leaf)
    if is_array(leaf) and leaf.dtype.kind in "biu":
        return leaf.astype(float)
    return leaf


def pull_back(
    fun: Function, x: Tree, *, copies: bool, check: Function | None = None
) -> tuple[Function, Any]:
    """`make_vjp`; without `copies` the vjp is to be called before arrays of the program change.

    `check(out)` raises for an output that the caller cannot use, before anything is warned of.
    """
    if type(x) in (float, np.float64):  # the frequent case
        leaves, structure = [x], LEAF
    else:
        leaves, structure = flatten(as_floats(x))
    if any(map(has_own_box, leaves)):
        return _pull_back_by_nodes(fun, x)

    def of_leaves(*leaves: Any) -> Any:
        return fun(unflatten(structure, leaves))

    of_leaves.__name__ = get_name(fun)
    run = fun if structure is LEAF else of_leaves
    out, pullback = run_with_map(Pullback, run, tuple(leaves), False, copies=copies)
    if check is not None:
        check(out)
    if not any(slot is not None for slot in pullback.out_slots):
        warn(INDEPENDENT, IndependentOutputWarning)

    def vjp(g: Tree) -> Any:
        return unflatten(structure, pullback(_fitted(g, out)))

    return vjp, out


def _pull_back_by_nodes(fun: Function, x: Tree) -> tuple[Function, Any]:
    """`pull_back` for values of a class that has a box and a space of the program's own."""
    value, node = trace(VJPNode.new_root(), fun, x)
    if node is None:
        return lambda g: vspace(x).zeros(), value
    return lambda g: backward_pass(g, node), value


def _fitted(g: Tree, out: Tree) -> Any:
    """A cotangent in the containers of an output, each part broadcast to its shape."""
    if type(g) is np.ndarray is type(out) and g.shape == out.shape:
        return g  # the frequent case
    likes, structure = flatten(out)
    parts = flatten(g)[0]
    if len(parts) != len(likes):
        parts = flatten_like(structure, g, "vjp(g)")  # which says what does not fit
    return unflatten(structure, map(_fitted_part, parts, likes))


def _fitted_part(part: Any, like: Any) -> Any:
    if type(part) is SparseObject:
        part = part.dense()
    if not is_inexact(like) or isbox(part) or not (is_array(part) or is_plain_number(part)):
        return part
    if np.size(part) == 1 and np.shape(part) != like.shape:
        part = np.reshape(part, ())
    return part if np.shape(part) == like.shape else np.broadcast_to(part, like.shape)


def make_vjp(fun: Function, x: Tree) -> tuple[Function, Any]:
    """The value of a function of one argument and the map from its cotangents to those of x.

    Parameters
    ----------
    fun : callable
        A function of one argument.
    x : pytree
        Numbers and arrays; integers count as floats.

    Returns
    -------
    vjp : callable
        `vjp(g)` takes a cotangent like the output, and may be called often.
    value : pytree
        What `fun(x)` returned.

    Warns
    -----
    tapegrad.IndependentOutputWarning
        If the output does not depend on x; the cotangent is then zero.

    See Also
    --------
    make_jvp : Forward mode.

    Examples
    --------
    >>> vjp, value = make_vjp(lambda x: x**2, 3.0)
    >>> float(value), float(vjp(1.0))
    (9.0, 6.0)
    """
    return pull_back(fun, x, copies=True)


def make_jvp(fun: Function, x: Tree) -> Function:
    """A function of one argument and its derivative along a tangent, in forward mode.

    Parameters
    ----------
    fun : callable
        A function of one argument.
    x : pytree
        Numbers and arrays; integers count as floats.

    Returns
    -------
    callable
        `jvp(v)` takes a tangent like x, runs `fun` and returns `(fun(x), tangent)`.

    See Also
    --------
    make_vjp : Reverse mode.

    Examples
    --------
    >>> make_jvp(lambda x: x**2, 3.0)(1.0)
    (np.float64(9.0), np.float64(6.0))
    """
    leaves, structure = flatten(as_floats(x))
    if any(map(has_own_box, leaves)):
        return lambda v: _push_by_nodes(fun, x, v)

    def of_leaves(*leaves: Any) -> Any:
        return fun(unflatten(structure, leaves))

    of_leaves.__name__ = get_name(fun)

    def jvp(v: Tree) -> Any:
        tangent = flatten(_fitted(v, unflatten(structure, leaves)))[0]
        return tapegrad_jvp(of_leaves, tuple(leaves), tuple(tangent))

    return jvp


def _push_by_nodes(fun: Function, x: Tree, v: Tree) -> tuple[Any, Any]:
    """A call of `make_jvp` for values of a class that has a box and a space of its own."""
    value, node = trace(JVPNode.new_root(v), fun, x)
    return value, vspace(value).zeros() if node is None else node.g


def fallback_vjp(fun: Function) -> Function:
    """tapegrad's own vjp of a function, as a maker."""

    def maker(argnums: Any, ans: Any, args: Any, kwargs: Any) -> Function:
        def call(parts: Any) -> Any:
            return fun(*subvals(args, zip(argnums, parts, strict=True)), **kwargs)

        return make_vjp(call, tuple(args[i] for i in argnums))[0]

    return maker


def fallback_jvp(fun: Function) -> Function:
    """tapegrad's own jvp of a function, as a maker."""

    def maker(argnums: Any, gs: Any, ans: Any, args: Any, kwargs: Any) -> Any:
        def call(parts: Any) -> Any:
            return fun(*subvals(args, zip(argnums, parts, strict=True)), **kwargs)

        return make_jvp(call, tuple(args[i] for i in argnums))(tuple(gs))[1]

    return maker


class VJPNode(Node):
    """A node with the vjp of its call, for `backward_pass`.

    Attributes
    ----------
    parents : list of VJPNode
        The nodes of the traced arguments.
    vjp : callable
        `vjp(g)` returns the cotangents of the parents.

    Examples
    --------
    >>> value, node = trace(VJPNode.new_root(), lambda x: x * 3.0, 2.0)
    >>> [float(bar) for bar in node.vjp(1.0)]
    [3.0]
    """

    __slots__ = ("parents", "vjp")

    def __init__(
        self, value: Any, fun: Any, args: Any, kwargs: Any, parent_argnums: Any, parents: Any
    ) -> None:
        self.parents = parents
        maker = primitive_vjps.get(fun) or fallback_vjp(fun)
        self.vjp = maker(parent_argnums, value, args, kwargs)

    def initialize_root(self) -> None:
        """The node of the input."""
        self.parents, self.vjp = [], lambda g: ()


class JVPNode(Node):
    """A node with the tangent of its value.

    Attributes
    ----------
    g : pytree
        The tangent.

    Examples
    --------
    >>> value, node = trace(JVPNode.new_root(1.0), lambda x: x * 3.0, 2.0)
    >>> float(node.g)
    3.0
    """

    __slots__ = ("g",)

    def __init__(
        self, value: Any, fun: Any, args: Any, kwargs: Any, parent_argnums: Any, parents: Any
    ) -> None:
        gs = [parent.g for parent in parents]
        maker = primitive_jvps.get(fun) or fallback_jvp(fun)
        self.g = maker(parent_argnums, gs, value, args, kwargs)

    def initialize_root(self, g: Any) -> None:
        """The node of the input, with its tangent.

        Parameters
        ----------
        g : pytree
            The tangent.
        """
        self.g = g


def backward_pass(g: Any, end_node: Any) -> Any:
    """The cotangent of the input of a trace of `VJPNode`, from that of its result.

    Parameters
    ----------
    g : pytree
        The cotangent of the result.
    end_node : VJPNode
        The node of the result.

    Returns
    -------
    pytree
        The cotangent of the input.

    Examples
    --------
    >>> value, node = trace(VJPNode.new_root(), lambda x: x * x, 3.0)
    >>> float(backward_pass(1.0, node))
    6.0
    """
    bars: dict[Any, Any] = {end_node: (g, False)}
    bar: Any = g
    for node in toposort(end_node):
        bar = bars.pop(node)[0]
        for parent, part in zip(node.parents, node.vjp(bar), strict=True):
            bars[parent] = add_outgrads(bars.get(parent), part)
    return bar


# Functions of NumPy whose derivative is zero wherever it exists: results are not traced.
nograd_functions = [
    np.floor, np.ceil, np.round, np.rint, np.around, np.trunc, np.all, np.any, np.argmax,
    np.argmin, np.argpartition, np.argsort, np.argwhere, np.nonzero, np.flatnonzero,
    np.count_nonzero, np.searchsorted, np.sign, np.ndim, np.shape, np.floor_divide,
    np.logical_and, np.logical_or, np.logical_not, np.logical_xor, np.isfinite, np.isinf, np.isnan,
    np.isneginf, np.isposinf, np.allclose, np.isclose, np.array_equal, np.array_equiv, np.greater,
    np.greater_equal, np.less, np.less_equal, np.equal, np.not_equal, np.iscomplexobj,
    np.iscomplex, np.size, np.isscalar, np.isreal, np.zeros_like, np.ones_like, np.empty_like,
    np.full_like, np.result_type,
]  # fmt: skip
for _kind in (VJPNode, JVPNode):
    notrace_primitives[_kind].update(nograd_functions)

__all__ = [
    "JVPNode",
    "VJPNode",
    "as_floats",
    "backward_pass",
    "fallback_jvp",
    "fallback_vjp",
    "make_jvp",
    "make_vjp",
    "nograd_functions",
    "pull_back",
]
