"""How an operator on functions of one argument becomes one with `argnum`.

Must not know tapes: an operator gets a function of one argument, and its value.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import MethodType
from typing import Any

from tapegrad._errors import InputError, describe, message
from tapegrad._transforms.tracebacks import folding
from tapegrad._transforms.wrapper import found_by_name
from tapegrad.autograd._nodes import subvals

Operator = Callable[..., Any]


def get_name(f: Any) -> str:
    """The `__name__` of a function.

    Parameters
    ----------
    f : object
        The function.

    Returns
    -------
    str
        Its name, or words in place of it.

    Examples
    --------
    >>> get_name(len), get_name(1)
    ('len', '[unknown name]')
    """
    return getattr(f, "__name__", "[unknown name]")


def get_doc(f: Any) -> str:
    """The docstring of a function.

    Parameters
    ----------
    f : object
        The function.

    Returns
    -------
    str
        The docstring; empty without one.

    Examples
    --------
    >>> get_doc(lambda: 0)
    ''
    """
    return getattr(f, "__doc__", "") or ""


def wraps(
    fun: Any, namestr: str = "{fun}", docstr: str = "{doc}", **kwargs: Any
) -> Callable[[Any], Any]:
    """A decorator that gives a function the name and docstring of another, within some words.

    Parameters
    ----------
    fun : callable
        The other function.
    namestr : str, default "{fun}"
        The name: a format with `fun` and the keywords.
    docstr : str, default "{doc}"
        The docstring: a format with `fun`, `doc` and the keywords.
    **kwargs : object
        What else the formats name.

    Returns
    -------
    callable
        The decorator; it leaves alone what cannot be named.

    Examples
    --------
    >>> @wraps(len, namestr="my_{fun}")
    ... def f():
    ...     pass
    >>> f.__name__
    'my_len'
    """

    def named(f: Any) -> Any:
        try:
            f.__name__ = namestr.format(fun=get_name(fun), **kwargs)
            f.__doc__ = docstr.format(fun=get_name(fun), doc=get_doc(fun), **kwargs)
        except (AttributeError, KeyError, ValueError, TypeError):
            pass  # a callable that cannot be named, or braces in a docstring
        return f

    return named


def wrap_nary_f(fun: Any, op: Any, argnum: Any) -> Callable[[Any], Any]:
    """The decorator that names what an operator makes of a function.

    Parameters
    ----------
    fun : callable
        The function.
    op : callable
        The operator.
    argnum : int, tuple of int or list of int
        What the operator works by.

    Returns
    -------
    callable
        The decorator.

    Examples
    --------
    >>> wrap_nary_f(len, abs, 0)(lambda: 0).__name__
    'abs_of_len_wrt_argnum_0'
    """
    return wraps(
        fun,
        "{op}_of_{fun}_wrt_argnum_{argnum}",
        "    {op} of function {fun} with respect to argument number {argnum}: it takes the\n"
        "    arguments that {fun} takes.\n    ",
        op=get_name(op),
        argnum=argnum,
    )


class Operated:
    """`operator(fun, argnum, ...)`: called with the arguments of fun; pickled as that call."""

    def __init__(
        self,
        made: tuple[Operator, Operator],
        fun: Callable[..., Any],
        argnum: Any,
        options: tuple[Any, ...],
        named: dict[str, Any],
    ) -> None:
        self._operators, self._fun, self._argnum = made, fun, argnum
        self._options, self._named = options, named
        if hasattr(fun, "__module__"):
            self.__module__ = fun.__module__
        wrap_nary_f(fun, made[0], argnum)(self)

    @folding
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        fun, argnum = self._fun, self._argnum
        if len(args) == 1 and not kwargs and argnum == 0:  # the frequent case
            return self._operators[0](fun, args[0], *self._options, **self._named)
        single = isinstance(argnum, int)
        positions = [argnum] if single else list(argnum)
        if not all(-len(args) <= position < len(args) for position in positions):
            raise InputError(
                message(
                    f"{get_name(self._operators[0])}({get_name(fun)})",
                    f"argnum within the {len(args)} positional arguments",
                    repr(argnum),
                    "Pass that argument by position",
                )
            )

        def unary(x: Any) -> Any:
            given = [x] if single else x
            return fun(*subvals(args, zip(positions, given, strict=True)), **kwargs)

        unary.__name__ = get_name(fun)
        x = args[argnum] if single else tuple(args[position] for position in positions)
        return self._operators[0](unary, x, *self._options, **self._named)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __reduce__(self) -> Any:
        made = functools.partial(self._operators[1], **self._named)
        return found_by_name(self) or (made, (self._fun, self._argnum, *self._options))

    def __repr__(self) -> str:
        return f"<{self.__name__}>"

    __name__: str


def unary_to_nary(unary_operator: Operator) -> Operator:
    """An operator on functions of one argument as one with `argnum`.

    Parameters
    ----------
    unary_operator : callable
        `operator(f, x, ...)` of a function of one argument, and its value.

    Returns
    -------
    callable
        `operator(fun, argnum=0, ...)`, which returns a function of the arguments of `fun`.
        `argnum` is an integer, or a tuple or list of them: f and x are then of a tuple. What else
        it is called with goes on to the operator.

    Examples
    --------
    >>> @unary_to_nary
    ... def doubled(f, x):
    ...     return f(2 * x)
    >>> doubled(lambda x, y: x - y, 1)(10, 3)
    4
    """

    @functools.wraps(unary_operator)
    def nary_operator(
        fun: Callable[..., Any], argnum: Any = 0, *options: Any, **named: Any
    ) -> Operated:
        if type(argnum) not in (int, tuple, list):
            raise InputError(
                message(
                    f"{get_name(unary_operator)}(f, argnum)",
                    "an integer, or a tuple or list of them",
                    describe(argnum),
                    "The arguments of f come in a second call",
                )
            )
        return Operated((unary_operator, nary_operator), fun, argnum, options, named)

    del nary_operator.__wrapped__  # whose signature is another
    own = _signature(unary_operator)
    if own is not None:
        nary_operator.__signature__ = own  # type: ignore[attr-defined]
    return nary_operator


def _signature(unary_operator: Operator) -> inspect.Signature | None:
    """`(fun, argnum=0, ...)` with the options of an operator; None where it does not show them."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    first = [inspect.Parameter("fun", kind), inspect.Parameter("argnum", kind, default=0)]
    try:
        options = list(inspect.signature(unary_operator).parameters.values())[2:]
        return inspect.Signature([*first, *options])
    except (TypeError, ValueError):
        return None


__all__ = ["get_doc", "get_name", "unary_to_nary", "wrap_nary_f", "wraps"]
