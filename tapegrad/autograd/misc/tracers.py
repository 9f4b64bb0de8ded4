"""Traces that keep the graph of a computation: to run it again, or to look at it."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

from tapegrad._errors import OutputError
from tapegrad.autograd._nodes import subvals, toposort
from tapegrad.autograd.tracer import Node, trace
from tapegrad.autograd.wrap_util import wraps

Function = Callable[..., Any]


class ConstGraphNode(Node):
    """A call that can be repeated with other values of its traced arguments.

    Attributes
    ----------
    parents : list of ConstGraphNode
        The calls of which the traced arguments came.
    partial_fun : callable or None
        `partial_fun(values)` repeats the call; None at the input.

    Examples
    --------
    >>> import numpy as np
    >>> value, node = trace(ConstGraphNode.new_root(), lambda x: np.sin(x) * 2, 0.0)
    >>> float(node.partial_fun([3.0])), len(node.parents)
    (6.0, 1)
    """

    __slots__ = ("parents", "partial_fun")

    def __init__(
        self, value: Any, fun: Any, args: Any, kwargs: Any, parent_argnums: Any, parents: Any
    ) -> None:
        kept = subvals(args, ((i, None) for i in parent_argnums))

        def partial_fun(values: Any) -> Any:
            return fun(*subvals(kept, zip(parent_argnums, values, strict=True)), **kwargs)

        self.parents = parents
        self.partial_fun: Function | None = partial_fun

    def initialize_root(self) -> None:
        """The node of the input."""
        self.parents, self.partial_fun = [], None


def const_graph_unary(fun: Function) -> Function:
    """A function of one argument, of which Python runs once; later calls repeat its graph.

    Parameters
    ----------
    fun : callable
        The function.

    Returns
    -------
    callable
        The function of repeated calls. The first call raises OutputError if the output is
        independent of the input.

    See Also
    --------
    const_graph : The same of several arguments.

    Examples
    --------
    >>> import numpy as np
    >>> f = const_graph_unary(np.sin)
    >>> float(f(0.0)), float(f(np.pi / 2))
    (0.0, 1.0)
    """
    graph: list[Any] = []
    lock = threading.Lock()

    def call(x: Any) -> Any:
        with lock:
            if not graph:
                value, end = trace(ConstGraphNode.new_root(), fun, x)
                if end is None:
                    raise OutputError("const_graph: the output is independent of the input")
                graph.extend(list(toposort(end))[::-1])
                return value
        values = {graph[0]: x}
        for node in graph[1:]:
            values[node] = node.partial_fun([values[parent] for parent in node.parents])
        return values[graph[-1]]

    return call


def const_graph(fun: Function, *args: Any, **kwargs: Any) -> Function:
    """A function of which Python runs once, for the graph of its calls.

    Branches on values are those of the first call, and constants keep the values that they had:
    `tapegrad.compile` has neither restriction.

    Parameters
    ----------
    fun : callable
        The function.
    *args : object
        First arguments that are fixed.
    **kwargs : object
        Keywords that are fixed.

    Returns
    -------
    callable
        A function of the other positional arguments. Its first call raises OutputError if the
        output is independent of them.

    See Also
    --------
    tapegrad.compile : Programs with guards.

    Examples
    --------
    >>> import numpy as np
    >>> f = const_graph(lambda x, y: np.sin(x) + y)
    >>> f(0.0, 1.0) == 1.0 and f(0.0, 2.0) == 2.0
    np.True_
    """
    fixed = functools.partial(fun, *args, **kwargs)
    of_all = const_graph_unary(lambda args: fixed(*args))

    @wraps(fun)
    def call(*args: Any) -> Any:
        return of_all(args)

    return call


class FullGraphNode(Node):
    """A call with its value, and all that it takes to look at it.

    Attributes
    ----------
    value : object
        The result; None at the input.
    recipe : tuple
        The function, its arguments, its keywords, and pairs (position, parent).

    Examples
    --------
    >>> import numpy as np
    >>> node = full_graph(lambda x: np.sin(x) * 2, 0.0)
    >>> float(node.value), node.recipe[0].__name__
    (0.0, 'multiply')
    """

    __slots__ = ("recipe", "value")

    def __init__(
        self, value: Any, fun: Any, args: Any, kwargs: Any, parent_argnums: Any, parents: Any
    ) -> None:
        self.value = value
        pairs = list(zip(parent_argnums, parents, strict=True))
        self.recipe: tuple[Any, ...] = (fun, args, kwargs, pairs)

    def initialize_root(self) -> None:
        """The node of the input."""
        self.value, self.recipe = None, (lambda x: x, (), {}, [])


def full_graph(fun: Function, *args: Any, **kwargs: Any) -> Any:
    """The node of a call, with all calls behind it.

    Parameters
    ----------
    fun : callable
        The function.
    *args : object
        Its arguments, which are traced.
    **kwargs : object
        Its keywords, which are not.

    Returns
    -------
    FullGraphNode or None
        The node of the result; None, with a warning, if it does not depend on the arguments.

    Examples
    --------
    >>> import numpy as np
    >>> full_graph(lambda x: np.sin(x) * 2, 0.0).recipe[1]
    (np.float64(0.0), 2)
    """
    return trace(FullGraphNode.new_root(), lambda args: fun(*args, **kwargs), args)[1]


__all__ = [
    "ConstGraphNode",
    "FullGraphNode",
    "const_graph",
    "const_graph_unary",
    "full_graph",
]
