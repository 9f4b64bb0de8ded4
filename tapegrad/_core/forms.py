"""The seven forms in which a function is declared.

Knows the classes of the forms, each of which says in its file what it makes of cotangents and
tangents; those without a derivative are here. Must not know which functions exist, nor the class
of traced arrays.

Rules are plain NumPy code over `(out, *args, **params)`: arrays are positional, everything else
goes by keyword. A parameter whose name starts with an underscore is not read: the tape keeps only
its shape and dtype for the replay. A rule ignores broadcasting and dtypes, because the replay fits
the returned cotangent to its argument.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NoReturn

import numpy as np

from tapegrad._core.composite import Composite
from tapegrad._core.elementwise import (
    Elementwise,
    resolved_product,
    selecting_product,
    strong_product,
)
from tapegrad._core.entry import MINUS
from tapegrad._core.fit import Over, are_absorbing
from tapegrad._core.general import General, transpose_at, transpose_linear, watching
from tapegrad._core.linear import Linear, Multilinear
from tapegrad._core.out import write_out
from tapegrad._core.rule import Partial, Rule, register, rule_of
from tapegrad._core.types import Function
from tapegrad._core.values import Traced, untraced
from tapegrad._errors import NotDifferentiableError


class Constant(Rule):
    """A piecewise constant function: its derivative is zero, and its result is untraced."""

    form = "constant"

    def apply(self, *args: Any, **kwargs: Any) -> Any:
        args, kwargs = self.split_out(args, kwargs)
        out = kwargs.get("out")
        traced_out = any(
            isinstance(x, Traced) for x in (out if isinstance(out, tuple) else (out,))
        )
        if traced_out:
            kwargs.pop("out")
        named = {name: untraced(value) for name, value in kwargs.items()}
        result = self.implementation(*map(untraced, args), **named)
        if not traced_out:
            return result
        return write_out(out, result, self.name, broadcast=isinstance(self.function, np.ufunc))


class Unsupported(Rule):
    """A function without a derivative: a call of it on traced values is an error."""

    form = "unsupported"

    refuse: ClassVar[Callable[..., NoReturn]]  # set by `_arrays.refusal`: it raises the error

    def __init__(self, function: Function, reason: str, **options: Any) -> None:
        super().__init__(function, **options)
        self.reason = reason

    def apply(self, *args: Any, **kwargs: Any) -> Any:
        error = NotDifferentiableError(f"{self.name}: not differentiable ({self.reason}).")
        self.refuse(error, [*args, *kwargs.values()])


def elementwise(function: Function, *partials: Partial, **options: Any) -> Rule:
    """Declare an elementwise function by one partial per argument.

    Parameters
    ----------
    function : callable
        A `primitive`, or a ufunc.
    *partials : callable or int
        Function `(out, *args)` of broadcastable arrays, or 1 (or -1) where the partial is that.
        For a real result of a complex argument the partial is du/dx - i du/dy.
    **options
        `selects=True` where a partial of zero says that the result does not depend on the
        argument. `zeros=`, `name=`, `signature=` and others: docs/writing-a-rule.md.

    Returns
    -------
    Rule
        The declaration, which is registered.

    Raises
    ------
    RuleError
        Where there are more partials than arguments, or one does not take `(out, *args)`.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> @tapegrad.primitive
    ... def cube(x):
    ...     return x * x * x
    >>> tapegrad.elementwise(cube, lambda _, x: 3 * x**2)
    <elementwise cube>
    >>> tapegrad.grad(cube)(2.0)
    np.float64(12.0)
    """
    options.setdefault("batch", "align")
    return register(Elementwise(function, partials, **options))


def partials_of(function: Function) -> list[Function] | None:
    """The partials `(out, *args)` of an elementwise or constant function; else None.

    A constant function has no partials. Those that are constant return a number.
    """
    rule = rule_of(function)
    if isinstance(rule, Constant):
        return []
    if not isinstance(rule, Elementwise):
        return None
    return [_as_function(partial) for partial in rule.partials]


def is_selection(function: Function) -> bool:
    """Whether a zero partial of a function says that it does not depend on the argument."""
    return bool(getattr(rule_of(function), "selects", False))


def _as_function(partial: Any) -> Function:
    if partial is not None and partial is not MINUS:
        function: Function = partial
        return function
    number = 1 if partial is None else -1
    return lambda _out, *_args: number


def linear(function: Function, *transposes: Function | None, **options: Any) -> Rule:
    """Declare a linear function by its transposes, one per argument.

    Parameters
    ----------
    function : callable
        A `primitive`.
    *transposes : callable or None
        Function `(g, out, *args, **params)` that returns a cotangent. It gets only the shapes and
        dtypes of the arguments.
    **options
        `fixed=k`: the first k arrays are not differentiated, and transposes get their values.
        `variadic=True`: one transpose returns all cotangents and gets `wanted`, one truth value
        per argument. `sequence=True`: the first argument is a list of arrays. `batch=` and others:
        docs/writing-a-rule.md.

    Returns
    -------
    Rule
        The declaration, which is registered.

    Raises
    ------
    RuleError
        Where there are more transposes than arguments, or one does not take `(g, out, *args)`.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> @tapegrad.primitive
    ... def reverse(x):
    ...     return x[::-1]
    >>> tapegrad.linear(reverse, lambda g, _out, _x: g[::-1])
    <linear reverse>
    >>> tapegrad.grad(lambda x: reverse(x) @ np.array([1.0, 2.0]))(np.ones(2))
    array([2., 1.])
    """
    return register(Linear(function, transposes, **options))


def multilinear(function: Function, *transposes: Function, **options: Any) -> Rule:
    """Declare a product, which is linear in each array, by one transpose for each.

    Parameters
    ----------
    function : callable
        A `primitive`.
    *transposes : callable
        Function `(g, out, *args, **params)` that returns the cotangent of its argument.
    **options
        `variadic=True`, as for `linear`; `batch=` and others: docs/writing-a-rule.md.

    Returns
    -------
    Rule
        The declaration, which is registered.

    Raises
    ------
    RuleError
        Where there are more transposes than arguments, or one does not take `(g, out, *args)`.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> @tapegrad.primitive
    ... def inner(x, y):
    ...     return np.sum(x * y)
    >>> tapegrad.multilinear(inner, lambda g, _, _x, y: g * y, lambda g, _, x, _y: g * x)
    <multilinear inner>
    >>> tapegrad.grad(inner, (0, 1))(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    (array([3., 4.]), array([1., 2.]))
    """
    return register(Multilinear(function, transposes, **options))


def general(function: Function, **options: Any) -> Rule:
    """Declare any other function by a vjp, a jvp or both; one that is left out is derived.

    Parameters
    ----------
    function : callable
        A `primitive`.
    **options
        `vjp=`: functions `(g, out, *args, **params)`, one per argument, or one for all that
        returns a tuple. `jvp=`: a function `(dots, out, *args, **params)`, with None for an absent
        tangent. With several results, `g` and `out` are tuples, and the jvp returns one tangent
        (or None) for each. `hermitian=True`: the first argument is a matrix that is Hermitian (or
        symmetric) by promise, which has a derivative along Hermitian directions; these
        `tapegrad.testing` takes. `batch=` and others: docs/writing-a-rule.md.

    Returns
    -------
    Rule
        The declaration, which is registered.

    Raises
    ------
    RuleError
        With neither a vjp nor a jvp, or one that does not take `(g, out, *args)`, or
        `(dots, out, *args)`.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> @tapegrad.primitive
    ... def norm(x):
    ...     return np.sqrt(np.sum(x * x))
    >>> tapegrad.general(norm, vjp=[lambda g, out, x: g * x / out])
    <general norm>
    >>> tapegrad.grad(norm)(np.array([3.0, 4.0]))
    array([0.6, 0.8])
    """
    return register(General(function, **options))


def composite(function: Function, definition: Function, **options: Any) -> Rule:
    """Declare a function by an equivalent definition in terms of differentiable functions.

    Parameters
    ----------
    function : callable
        A `primitive`.
    definition : callable
        Function of the same arguments and with the same result, which is traced inside.
    **options
        `linear=True`: a planned call (`plan=`) is linear in its arrays together, but for those
        at the positions `fixed=`, which are constants. Others: docs/writing-a-rule.md.

    Returns
    -------
    Rule
        The declaration, which is registered.

    Raises
    ------
    RuleError
        Where the definition does not take the function's arguments.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> @tapegrad.primitive
    ... def sigmoid(x):
    ...     return 1 / (1 + np.exp(-x))
    >>> tapegrad.composite(sigmoid, lambda x: (np.tanh(x / 2) + 1) / 2)
    <composite sigmoid>
    >>> tapegrad.grad(sigmoid)(0.0)
    np.float64(0.25)
    """
    options.setdefault("batch", "align")
    return register(Composite(function, definition, **options))


def constant(*functions: Function, **options: Any) -> None:
    """Declare functions whose derivative is zero where it exists; their results are untraced.

    Parameters
    ----------
    *functions : callable
        A `primitive` each.
    **options
        `batch=` and others, for all of them: docs/writing-a-rule.md.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> @tapegrad.primitive
    ... def steps(x):
    ...     return np.floor(x)
    >>> tapegrad.constant(steps)
    >>> tapegrad.grad(lambda x: x * steps(x))(2.5)
    np.float64(2.0)
    """
    options.setdefault("batch", "align")
    for function in functions:
        register(Constant(function, **options))


def unsupported(*functions: Function, reason: str, **options: Any) -> None:
    """Declare functions that cannot be differentiated, and why.

    Parameters
    ----------
    *functions : callable
        A `primitive` each. A call of it on traced values raises NotDifferentiableError.
    reason : str
        Why, in the words of the error.
    **options
        `name=` and others, for all of them: docs/writing-a-rule.md.

    Examples
    --------
    >>> import tapegrad
    >>> @tapegrad.primitive
    ... def shown(x):
    ...     return str(x)
    >>> tapegrad.unsupported(shown, reason="it makes text")
    >>> try:
    ...     tapegrad.grad(shown)(1.0)
    ... except tapegrad.NotDifferentiableError as error:
    ...     print(error)
    shown: not differentiable (it makes text).
    """
    for function in functions:
        register(Unsupported(function, reason, **options))


# Modules whose functions have no derivatives, and why; by name, so that none is imported.
UNSUPPORTED_MODULES: dict[str, str] = {}


def unsupported_module(name: str, reason: str) -> None:
    """Declare every function of a module as `unsupported` does, without importing it."""
    UNSUPPORTED_MODULES[name] = reason


__all__ = [
    "UNSUPPORTED_MODULES",
    "Composite",
    "Constant",
    "Elementwise",
    "General",
    "Linear",
    "Multilinear",
    "Over",
    "Unsupported",
    "are_absorbing",
    "composite",
    "constant",
    "elementwise",
    "general",
    "is_selection",
    "linear",
    "multilinear",
    "partials_of",
    "resolved_product",
    "selecting_product",
    "strong_product",
    "transpose_at",
    "transpose_linear",
    "unsupported",
    "unsupported_module",
    "watching",
]
