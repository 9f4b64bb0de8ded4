"""Declarations of the derivatives of primitives: `defvjp` and its kin.

Knows how a rule of HIPS's is called, and which functions of NumPy's a program may override. Must
not know transforms.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterable
from typing import Any

from tapegrad._errors import MissingRuleError, name_of
from tapegrad._warning import outside, warn
from tapegrad.autograd._calls import primitive_jvps, primitive_vjps
from tapegrad.autograd._derivatives import fallback_jvp, fallback_vjp
from tapegrad.autograd._nodes import subval
from tapegrad.autograd._spaces import (
    sum_outgrads,
    vspace,
)
from tapegrad.autograd.tracer import primitive as primitive_

Function = Callable[..., Any]


def _own(fun: Function) -> Function:
    """The primitive that a rule is for: fun, or one in its place in this package's namespaces.

    A function of NumPy or SciPy that gets a rule of the program's is replaced in the namespaces
    by a primitive, whose other derivative stays tapegrad's. Operators, methods, and references
    taken before keep tapegrad's rule, so a package that overrides one is warned, once.
    """
    if hasattr(fun, "_is_autograd_primitive") or not callable(fun):
        return fun
    found = OVERRIDES.get(fun)
    if found is not None:
        return found
    made: Any = primitive_(fun)
    namespaces = [
        module
        for name, module in list(sys.modules.items())
        if name.startswith("tapegrad.autograd.") and module is not None
    ]
    told = {own.declared_in for own in OVERRIDES.values()}
    program = outside(sys._getframe(1))
    package = "" if program is None else program.f_globals.get("__name__", "").partition(".")[0]
    made.declared_in = package
    OVERRIDES[fun] = made
    for module in namespaces:
        for name, value in list(vars(module).items()):
            if value is fun and not name.startswith("_"):
                setattr(module, name, made)
    if package not in told:
        warn(
            f"{name_of(fun)}: the derivative declared here holds for calls through "
            "tapegrad.autograd's namespaces from now on, and so do others that this package "
            "declares for functions of NumPy or SciPy. Operators and methods of arrays keep "
            "tapegrad's own. Decorate a function of your own with primitive to be sure."
        )
    return made


# By the function of NumPy or SciPy, the primitive with a program's own rule.
OVERRIDES: dict[Any, Any] = {}


def defvjp_argnums(fun: Function, vjpmaker: Function) -> None:
    """Declare one maker of a primitive's vjp for all arguments at once.

    Parameters
    ----------
    fun : callable
        The primitive.
    vjpmaker : callable
        `vjpmaker(argnums, ans, args, kwargs)` returns `vjp(g)`, which returns a cotangent for each
        of `argnums`.

    See Also
    --------
    defvjp : A maker for each argument.

    Examples
    --------
    >>> from tapegrad.autograd import grad
    >>> twice = primitive(lambda x: x + x)
    >>> defvjp_argnums(twice, lambda argnums, ans, args, kwargs: lambda g: [2 * g])
    >>> grad(twice)(3.0)
    np.float64(2.0)
    """
    own = _own(fun)
    primitive_vjps[own] = vjpmaker
    if own is not fun:
        primitive_jvps.setdefault(own, fallback_jvp(fun))


def defvjp_argnum(fun: Function, vjpmaker: Function) -> None:
    """Declare one maker of a primitive's vjp, which is told the argument.

    Parameters
    ----------
    fun : callable
        The primitive.
    vjpmaker : callable
        `vjpmaker(argnum, ans, args, kwargs)` returns `vjp(g)`, the cotangent of that argument.

    See Also
    --------
    defvjp : A maker for each argument.

    Examples
    --------
    >>> from tapegrad.autograd import grad
    >>> plus = primitive(lambda x, y: x + 2 * y)
    >>> defvjp_argnum(plus, lambda argnum, ans, args, kwargs: lambda g: (1 + argnum) * g)
    >>> grad(plus, 1)(3.0, 4.0)
    np.float64(2.0)
    """

    def vjp_argnums(argnums: Any, ans: Any, args: Any, kwargs: Any) -> Function:
        vjps = [vjpmaker(argnum, ans, args, kwargs) for argnum in argnums]
        return lambda g: [vjp(g) for vjp in vjps]

    defvjp_argnums(fun, vjp_argnums)


def defvjp(
    fun: Function, *vjpmakers: Function | None, argnums: Iterable[int] | None = None
) -> None:
    """Declare the vjp of a primitive by a maker for each argument.

    A function of NumPy or SciPy may be given too: calls of it through this package's namespaces
    then have that derivative.

    Parameters
    ----------
    fun : callable
        The primitive.
    *vjpmakers : callable or None
        `vjpmaker(ans, *args, **kwargs)` returns `vjp(g)`, the cotangent of its argument. None
        stands for a cotangent of zero.
    argnums : iterable of int, optional
        The positions that the makers are for, by default 0, 1, 2, ... A call differentiated by
        another argument raises MissingRuleError, a NotImplementedError.

    Raises
    ------
    TypeError
        If a maker is neither a function nor None.

    Warns
    -----
    UserWarning
        If the function is no primitive, as one of NumPy's.

    See Also
    --------
    defjvp : Declare a forward derivative.

    Examples
    --------
    >>> from tapegrad.autograd import grad
    >>> twice = primitive(lambda x: x + x)
    >>> defvjp(twice, lambda ans, x: lambda g: 2 * g)
    >>> grad(twice)(3.0)
    np.float64(2.0)
    """
    positions = itertools.count() if argnums is None else argnums
    makers = {
        argnum: translate_vjp(maker, fun, argnum)
        for argnum, maker in zip(positions, vjpmakers, strict=False)
    }

    def vjp_argnums(argnums: Any, ans: Any, args: Any, kwargs: Any) -> Function:
        _require(makers, argnums, fun, "VJP")
        vjps = [makers[argnum](ans, *args, **kwargs) for argnum in argnums]
        return lambda g: [vjp(g) for vjp in vjps]

    defvjp_argnums(fun, vjp_argnums)


def _require(makers: dict[int, Any], argnums: Any, fun: Function, what: str) -> None:
    missing = tuple(argnum for argnum in argnums if argnum not in makers)
    if missing:
        raise MissingRuleError(
            f"{name_of(fun)}: {what} wrt argnums {missing} not defined. Declare it with "
            f"def{what.lower()}(..., argnums=)."
        )


def translate_vjp(vjpfun: Function | None, fun: Function, argnum: int) -> Function:
    """The maker of a vjp; None is that of zeros.

    Parameters
    ----------
    vjpfun : callable or None
        What `defvjp` was given.
    fun : callable
        The primitive, for errors.
    argnum : int
        The position of the argument.

    Returns
    -------
    callable
        The maker.

    Raises
    ------
    TypeError
        If it is neither a function nor None.

    Examples
    --------
    >>> translate_vjp(None, abs, 0)(1.0, 1.0)(5.0)
    array(0.)
    """
    if vjpfun is None:
        return lambda ans, *args, **kwargs: lambda g: vspace(args[argnum]).zeros()
    if callable(vjpfun):
        return vjpfun
    raise TypeError(f"{name_of(fun)}: expected a VJP (a function, or None), got {vjpfun!r}")


def defjvp_argnums(fun: Function, jvpmaker: Function) -> None:
    """Declare the jvp of a primitive for all arguments at once.

    Parameters
    ----------
    fun : callable
        The primitive.
    jvpmaker : callable
        `jvpmaker(argnums, gs, ans, args, kwargs)` returns the tangent of the result; `gs` are
        those of the arguments `argnums`.

    See Also
    --------
    defjvp : A function for each argument.

    Examples
    --------
    >>> from tapegrad.autograd import deriv
    >>> twice = primitive(lambda x: x + x)
    >>> defjvp_argnums(twice, lambda argnums, gs, ans, args, kwargs: 2 * gs[0])
    >>> deriv(twice)(3.0)
    np.float64(2.0)
    """
    own = _own(fun)
    primitive_jvps[own] = jvpmaker
    if own is not fun:
        primitive_vjps.setdefault(own, fallback_vjp(fun))


def defjvp_argnum(fun: Function, jvpmaker: Function) -> None:
    """Declare the jvp of a primitive by one function, which is told the argument.

    Parameters
    ----------
    fun : callable
        The primitive.
    jvpmaker : callable
        `jvpmaker(argnum, g, ans, args, kwargs)` returns the part of the result's tangent by that
        argument.

    See Also
    --------
    defjvp : A function for each argument.

    Examples
    --------
    >>> from tapegrad.autograd import deriv
    >>> plus = primitive(lambda x, y: x + 2 * y)
    >>> defjvp_argnum(plus, lambda argnum, g, ans, args, kwargs: (1 + argnum) * g)
    >>> deriv(plus, 1)(3.0, 4.0)
    np.float64(2.0)
    """

    def jvp_argnums(argnums: Any, gs: Any, ans: Any, args: Any, kwargs: Any) -> Any:
        return sum_outgrads(
            jvpmaker(argnum, g, ans, args, kwargs) for argnum, g in zip(argnums, gs, strict=True)
        )

    defjvp_argnums(fun, jvp_argnums)


def defjvp(fun: Function, *jvpfuns: Any, argnums: Iterable[int] | None = None) -> None:
    """Declare the jvp of a primitive by a function for each argument.

    Where no vjp is declared, reverse mode transposes it, unless it calls the primitive itself, as
    "same" does.

    Parameters
    ----------
    fun : callable
        The primitive.
    *jvpfuns : callable, str or None
        `jvp(g, ans, *args, **kwargs)` returns the part of the result's tangent by its argument.
        "same": the function is linear in that argument. None stands for zeros.
    argnums : iterable of int, optional
        The positions, as for `defvjp`.

    Raises
    ------
    TypeError
        If one is neither a function, "same" nor None.

    See Also
    --------
    defvjp : Declare a reverse derivative.

    Examples
    --------
    >>> from tapegrad.autograd import deriv, grad
    >>> twice = primitive(lambda x: x + x)
    >>> defjvp(twice, lambda g, ans, x: 2 * g)
    >>> deriv(twice)(3.0), grad(twice)(3.0)
    (np.float64(2.0), np.float64(2.0))
    """
    positions = itertools.count() if argnums is None else argnums
    jvps = {
        argnum: translate_jvp(jvpfun, fun, argnum)
        for argnum, jvpfun in zip(positions, jvpfuns, strict=False)
    }

    def jvp_argnums(argnums: Any, gs: Any, ans: Any, args: Any, kwargs: Any) -> Any:
        _require(jvps, argnums, fun, "JVP")
        return sum_outgrads(
            jvps[argnum](g, ans, *args, **kwargs) for argnum, g in zip(argnums, gs, strict=True)
        )

    defjvp_argnums(fun, jvp_argnums)


def translate_jvp(jvpfun: Any, fun: Function, argnum: int) -> Function:
    """The function of a jvp.

    Parameters
    ----------
    jvpfun : callable, str or None
        What `defjvp` was given.
    fun : callable
        The primitive.
    argnum : int
        The position of the argument.

    Returns
    -------
    callable
        The function.

    Raises
    ------
    TypeError
        If it is neither a function, "same" nor None.

    Examples
    --------
    >>> translate_jvp("same", lambda x: 3 * x, 0)(2.0, 15.0, 5.0)
    6.0
    """
    if jvpfun is None:
        return lambda g, ans, *args, **kwargs: vspace(ans).zeros()
    if isinstance(jvpfun, str) and jvpfun == "same":
        return lambda g, ans, *args, **kwargs: fun(*subval(args, argnum, g), **kwargs)
    if callable(jvpfun):
        return jvpfun
    raise TypeError(f'{name_of(fun)}: expected a JVP (a function, "same" or None), got {jvpfun!r}')


def def_linear(fun: Function) -> None:
    """Declare that a function is linear in each argument, which says its jvp.

    Parameters
    ----------
    fun : callable
        The primitive. Its vjp is to be declared beside.

    See Also
    --------
    defjvp : Other functions.

    Examples
    --------
    >>> from tapegrad.autograd import deriv
    >>> product = primitive(lambda x, y: x * y)
    >>> def_linear(product)
    >>> deriv(product)(3.0, 4.0)
    np.float64(4.0)
    """
    defjvp_argnum(
        fun, lambda argnum, g, ans, args, kwargs: fun(*subval(args, argnum, g), **kwargs)
    )


# -- Deprecated declarations, as attributes of a primitive ---------------------------------------


def deprecated_defvjp(primitive_fun: Function) -> Function:
    """The deprecated declaration `f.defvjp(vjp, argnum=0)`.

    Parameters
    ----------
    primitive_fun : callable
        The primitive.

    Returns
    -------
    callable
        It takes `vjp(g, ans, vs, gvs, *args, **kwargs)` and a position, and warns.

    See Also
    --------
    defvjp : What to use.

    Examples
    --------
    >>> twice = primitive(lambda x: x + x)
    >>> declare = deprecated_defvjp(twice)
    >>> declare(lambda g, ans, vs, gvs, x: 2 * g)  # doctest: +SKIP
    """
    makers: dict[int, Function] = {}

    def defvjp_unstaged(vjpfun: Function, argnum: int = 0) -> None:
        _warn_deprecated("defvjp")

        def maker(ans: Any, *args: Any, **kwargs: Any) -> Function:
            return lambda g: vjpfun(g, ans, vspace(args[argnum]), vspace(g), *args, **kwargs)

        makers[argnum] = maker
        defvjp(primitive_fun, *makers.values(), argnums=tuple(makers))

    return defvjp_unstaged


def deprecated_defvjp_is_zero(primitive_fun: Function) -> Function:
    """The deprecated declaration `f.defvjp_is_zero(argnums)`.

    Parameters
    ----------
    primitive_fun : callable
        The primitive.

    Returns
    -------
    callable
        It takes positions, and warns.

    See Also
    --------
    defvjp : What to use.

    Examples
    --------
    >>> sign = primitive(lambda x: 1.0 if x > 0 else -1.0)
    >>> declare = deprecated_defvjp_is_zero(sign)
    >>> declare((0,))  # doctest: +SKIP
    """
    zeros: dict[int, None] = {}

    def defvjp_is_zero(argnums: Iterable[int] = (0,)) -> None:
        _warn_deprecated("defvjp_is_zero")
        zeros.update(dict.fromkeys(argnums))
        defvjp(primitive_fun, *zeros.values(), argnums=tuple(zeros))

    return defvjp_is_zero


def deprecated_defgrad(primitive_fun: Function) -> Function:
    """The deprecated declaration `f.defgrad(maker, argnum=0)`, with makers as `defvjp` takes them.

    Parameters
    ----------
    primitive_fun : callable
        The primitive.

    Returns
    -------
    callable
        It takes a maker and a position, and warns.

    See Also
    --------
    defvjp : What to use.

    Examples
    --------
    >>> twice = primitive(lambda x: x + x)
    >>> declare = deprecated_defgrad(twice)
    >>> declare(lambda ans, x: lambda g: 2 * g)  # doctest: +SKIP
    """
    makers: dict[int, Function] = {}

    def defgrad(gradfun: Function, argnum: int = 0) -> None:
        _warn_deprecated("defgrad")
        makers[argnum] = gradfun
        defvjp(primitive_fun, *makers.values(), argnums=tuple(makers))

    return defgrad


def _warn_deprecated(name: str) -> None:
    warn(f"f.{name} is deprecated. Use tapegrad.autograd.extend.defvjp(f, ...).")


def primitive_with_deprecation_warnings(f_raw: Function) -> Function:
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
        The function that is called in its place. It has the deprecated declarations `defvjp`,
        `defvjp_is_zero` and `defgrad` as attributes. A call raises MissingRuleError, a
        NotImplementedError, where a derivative is asked for and none is declared, unless tapegrad
        has a rule for `f_raw` itself.

    See Also
    --------
    tapegrad.autograd.extend.defvjp : Declare a reverse derivative.
    tapegrad.primitive : Rules of tapegrad's own forms.

    Examples
    --------
    >>> from tapegrad.autograd import grad
    >>> @primitive
    ... def cube(x):
    ...     return x * x * x
    >>> defvjp(cube, lambda ans, x: lambda g: 3 * x**2 * g)
    >>> grad(cube)(2.0)
    np.float64(12.0)
    """
    made: Any = primitive_(f_raw)
    made.defvjp = deprecated_defvjp(made)
    made.defvjp_is_zero = deprecated_defvjp_is_zero(made)
    made.defgrad = deprecated_defgrad(made)
    return made


primitive = primitive_with_deprecation_warnings


def identity_vjp(argnums: Any, *args: Any) -> Function:
    """The maker of the identity's vjp.

    Parameters
    ----------
    argnums : sequence of int
        The positions.
    *args : object
        What else a maker gets.

    Returns
    -------
    callable
        The identity.

    Examples
    --------
    >>> identity_vjp((0,), 1.0, (1.0,), {})(5.0)
    5.0
    """
    return lambda g: g


def identity_jvp(g: Any, *args: Any, **kwargs: Any) -> Any:
    """The jvp of the identity.

    Parameters
    ----------
    g : pytree
        The tangent.
    *args : object
        What else a jvp gets.
    **kwargs : object
        Keywords of the call.

    Returns
    -------
    pytree
        The tangent.

    Examples
    --------
    >>> identity_jvp(5.0, 1.0, 1.0)
    5.0
    """
    return g


__all__ = [
    "OVERRIDES",
    "def_linear",
    "defjvp",
    "defjvp_argnum",
    "defjvp_argnums",
    "defvjp",
    "defvjp_argnum",
    "defvjp_argnums",
    "deprecated_defgrad",
    "deprecated_defvjp",
    "deprecated_defvjp_is_zero",
    "identity_jvp",
    "identity_vjp",
    "primitive",
    "primitive_with_deprecation_warnings",
    "translate_jvp",
    "translate_vjp",
]
