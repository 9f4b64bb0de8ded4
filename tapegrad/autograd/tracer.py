"""Primitives, and traces with nodes of a program's own, by the names of HIPS autograd.

`primitive` makes a function that is not traced inside; `core` declares its derivatives. Must not
know which functions are primitives.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from tapegrad._core.rule import rule_of
from tapegrad._core.values import Traced, in_trace, is_mapped
from tapegrad._errors import NotDifferentiableError
from tapegrad._tree import flatten
from tapegrad.autograd._boxes import (
    Box,
    Node,
    TraceStack,
    call_boxed,
    getval,
    isbox,
    new_box,
    notrace_primitives,
    trace,
    trace_stack,
)
from tapegrad.autograd._calls import PLAIN, PrimitiveCall, primitive_jvps, primitive_vjps
from tapegrad.autograd._completed import complete
from tapegrad.autograd._likeness import Place
from tapegrad.autograd._nodes import subval, subvals, toposort

Function = Callable[..., Any]

# By the function that it wraps, the primitive made last.
trace_primitives_map: dict[Any, Function] = {}

box_type_mappings, box_types = Box.type_mappings, Box.types


def primitive(f_raw: Function) -> Function:
    """A function that is not traced inside: `defvjp` or `defjvp` declares its derivative.

    The function gets untraced values. Positional arguments may be containers of arrays, whose
    cotangents are containers like them; keyword arguments have no derivatives, unless they can go
    by position.

    Parameters
    ----------
    f_raw : callable
        The function.

    Returns
    -------
    callable
        The function that is called in its place. A call raises MissingRuleError, a
        NotImplementedError, where a derivative is asked for and none is declared, unless tapegrad
        has a rule for `f_raw` itself.

    See Also
    --------
    tapegrad.autograd.extend.defvjp : Declare a reverse derivative.
    tapegrad.primitive : Rules of tapegrad's own forms.

    Examples
    --------
    >>> from tapegrad.autograd import grad
    >>> from tapegrad.autograd.core import defvjp
    >>> @primitive
    ... def cube(x):
    ...     return x * x * x
    >>> defvjp(cube, lambda ans, x: lambda g: 3 * x**2 * g)
    >>> grad(cube)(2.0)
    np.float64(12.0)
    """

    @functools.wraps(f_raw)
    def f_wrapped(*args: Any, **kwargs: Any) -> Any:
        alone, traced = True, False  # whether no argument is a container, whether one is traced
        for value in (*args, *kwargs.values()) if kwargs else args:
            kind = type(value)
            if kind not in PLAIN:
                traced = True
                if not issubclass(kind, Traced):
                    alone = False
                    break
        if not traced:
            return f_raw(*args, **kwargs)  # the frequent case
        if alone and not kwargs and f_wrapped in primitive_vjps:
            return PrimitiveCall(f_wrapped, args, kwargs).call_traced()  # the other one
        leaves = flatten(args)[0]
        if kwargs and any(map(_is_traced, flatten(kwargs)[0])):
            args, kwargs = _by_position(f_raw, args, kwargs)
            leaves = flatten(args)[0]
        if not any(map(_is_traced, leaves)):
            return f_raw(*args, **kwargs)
        if any(issubclass(type(leaf), Box) for leaf in leaves):
            found = call_boxed(f_wrapped, args, kwargs)
            if found is not NotImplemented:
                return found
        declared = f_wrapped in primitive_vjps or f_wrapped in primitive_jvps
        if not declared and _has_rule(f_raw):
            return f_raw(*args, **kwargs)
        return PrimitiveCall(f_wrapped, args, kwargs).call_traced()

    f_wrapped.fun = f_raw  # type: ignore[attr-defined]  # HIPS's name of it
    f_wrapped._is_autograd_primitive = True  # type: ignore[attr-defined]
    trace_primitives_map[f_raw] = f_wrapped
    return f_wrapped


def find_top_boxed_args(args: Any) -> tuple[list[tuple[int, Any]], float, Any, bool]:
    """The arguments of a call that are in the innermost trace.

    Parameters
    ----------
    args : sequence
        The arguments.

    Returns
    -------
    boxed : list of tuple
        Pairs (position, box).
    level : float
        The level of the trace; -1 without boxes.
    node_class : type or None
        The class of its nodes; None for the values of a derivative, which have none.
    constant : bool
        False.

    Examples
    --------
    >>> find_top_boxed_args((1.0, 2.0))
    ([], -1, None, False)
    """
    boxed = [(i, arg) for i, arg in enumerate(args) if isbox(arg)]
    levels = [arg._trace for _, arg in boxed]
    top = max(levels, default=-1)
    found = [pair for pair, level in zip(boxed, levels, strict=True) if level == top]
    kind = type(found[0][1]._node) if found else Place
    return found, top, None if kind is Place else kind, False


def _is_traced(leaf: Any) -> bool:
    kind = type(leaf)
    return issubclass(kind, (Traced, Box)) or is_mapped(leaf)


def _has_rule(function: Any) -> bool:
    """Whether tapegrad differentiates a function by itself."""
    try:
        return rule_of(getattr(function, "__wrapped__", function)) is not None
    except TypeError:  # what has no hash
        return False


def _by_position(
    function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """A call with traced keyword arguments, by position: derivatives are declared by position."""
    try:
        bound = inspect.signature(function).bind(*args, **kwargs)
    except ValueError:  # no signature
        bound = None
    if bound is not None:
        bound.apply_defaults()
    if bound is None or any(map(in_trace, flatten(bound.kwargs)[0])):
        names = [name for name, value in kwargs.items() if in_trace(value)]
        raise NotDifferentiableError(
            f"{getattr(function, '__name__', 'primitive')}: traced values by keyword ({names}) "
            "have no derivative. Pass them by position."
        )
    return bound.args, bound.kwargs


def notrace_primitive(f_raw: Function) -> Function:
    """A function that gets untraced arguments, and has no derivative.

    Parameters
    ----------
    f_raw : callable
        The function.

    Returns
    -------
    callable
        The function that is called in its place.

    Examples
    --------
    >>> from tapegrad.autograd import grad
    >>> rounded = notrace_primitive(round)
    >>> grad(lambda x: x * rounded(x))(2.2)
    np.float64(2.0)
    """

    @functools.wraps(f_raw)
    def f_wrapped(*args: Any, **kwargs: Any) -> Any:
        return f_raw(*map(getval, args), **{name: getval(x) for name, x in kwargs.items()})

    f_wrapped._is_primitive = True  # type: ignore[attr-defined]
    return f_wrapped


def register_notrace(trace_type: type, primitive_fun: Function) -> None:
    """Call a function without a node, in traces with nodes of one class.

    Parameters
    ----------
    trace_type : type
        The class of nodes.
    primitive_fun : callable
        The function.

    Examples
    --------
    >>> import numpy as np
    >>> class Quiet(Node):
    ...     __slots__ = ()
    >>> register_notrace(Quiet, np.floor)
    """
    notrace_primitives[trace_type].add(primitive_fun)


complete(__name__)

__all__ = [
    "Box",
    "Node",
    "TraceStack",
    "box_type_mappings",
    "box_types",
    "find_top_boxed_args",
    "getval",
    "isbox",
    "new_box",
    "notrace_primitive",
    "notrace_primitives",
    "primitive",
    "register_notrace",
    "subval",
    "subvals",
    "toposort",
    "trace",
    "trace_primitives_map",
    "trace_stack",
]
