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
from tapegrad._warning import warn
from tapegrad.autograd._calls import primitive_jvps, primitive_vjps
from tapegrad.autograd._derivatives import fallback_jvp, fallback_vjp
from tapegrad.autograd._spaces import (
    sum_outgrads,
    vspace,
)
from tapegrad.autograd.tracer import primitive as primitive_
from tapegrad.autograd.util import subval

Function = Callable[..., Any]


def _own(fun: Function) -> Function:
    """The primitive that a rule is for: fun, or one in its place in this package's namespaces.

    A function of NumPy or SciPy that gets a rule of the program's is replaced in the namespaces
    by a primitive, whose other derivative stays tapegrad's. Operators, methods, and references
    taken before keep tapegrad's rule, so a program that overrides one is warned.
    """
    if hasattr(fun, "_is_autograd_primitive") or not callable(fun):
        return fun
    found = OVERRIDES.get(fun)
    if found is not None:
        return found
    made = primitive_(fun)
    namespaces = [
        module
        for name, module in list(sys.modules.items())
        if name.startswith("tapegrad.autograd.") and module is not None
    ]
    OVERRIDES[fun] = made
    for module in namespaces:
        for name, value in list(vars(module).items()):
            if value is fun and not name.startswith("_"):
                setattr(module, name, made)
    warn(
        f"{name_of(fun)}: the derivative declared here holds for calls through "
        "tapegrad.autograd's namespaces from now on. Operators and methods of arrays keep "
        "tapegrad's own. Decorate a function of your own with primitive to be sure."
    )
    return made


# By the function of NumPy or SciPy, the primitive with a program's own rule.
OVERRIDES: dict[Any, Function] = {}


def defvjp_argnums(fun: Function, vjpmaker: Function) -> None:
    """Declare `vjpmaker(argnums, ans, args, kwargs)`: it returns `vjp(g)`, one cotangent each."""
    own = _own(fun)
    primitive_vjps[own] = vjpmaker
    if own is not fun:
        primitive_jvps.setdefault(own, fallback_jvp(fun))


def defvjp_argnum(fun: Function, vjpmaker: Function) -> None:
    """Declare `vjpmaker(argnum, ans, args, kwargs)` for each argument: it returns `vjp(g)`."""

    def vjp_argnums(argnums: Any, ans: Any, args: Any, kwargs: Any) -> Function:
        vjps = [vjpmaker(argnum, ans, args, kwargs) for argnum in argnums]
        return lambda g: [vjp(g) for vjp in vjps]

    defvjp_argnums(fun, vjp_argnums)


def defvjp(
    fun: Function, *vjpmakers: Function | None, argnums: Iterable[int] | None = None
) -> None:
    """Declare `vjpmaker(ans, *args, **kwargs)`, one an argument: each returns `vjp(g)`.

    None stands for a cotangent of zero. `argnums`: the positions that the makers are for, by
    default 0, 1, 2, ... A call differentiated by another argument raises NotImplementedError.
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
    """The maker of a vjp; None is that of zeros."""
    if vjpfun is None:
        return lambda ans, *args, **kwargs: lambda g: vspace(args[argnum]).zeros()
    if callable(vjpfun):
        return vjpfun
    raise TypeError(f"{name_of(fun)}: expected a VJP (a function, or None), got {vjpfun!r}")


def defjvp_argnums(fun: Function, jvpmaker: Function) -> None:
    """Declare `jvpmaker(argnums, gs, ans, args, kwargs)`: it returns the result's tangent."""
    own = _own(fun)
    primitive_jvps[own] = jvpmaker
    if own is not fun:
        primitive_vjps.setdefault(own, fallback_vjp(fun))


def defjvp_argnum(fun: Function, jvpmaker: Function) -> None:
    """Declare `jvpmaker(argnum, g, ans, args, kwargs)`: the part of the tangent by an argument."""

    def jvp_argnums(argnums: Any, gs: Any, ans: Any, args: Any, kwargs: Any) -> Any:
        return sum_outgrads(
            jvpmaker(argnum, g, ans, args, kwargs) for argnum, g in zip(argnums, gs, strict=True)
        )

    defjvp_argnums(fun, jvp_argnums)


def defjvp(fun: Function, *jvpfuns: Any, argnums: Iterable[int] | None = None) -> None:
    """Declare `jvp(g, ans, *args, **kwargs)`, one an argument: its part of the result's tangent.

    "same": the function is linear in that argument. None stands for zeros. `argnums`: as for
    `defvjp`.
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
    """The function of a jvp: see `defjvp`."""
    if jvpfun is None:
        return lambda g, ans, *args, **kwargs: vspace(ans).zeros()
    if isinstance(jvpfun, str) and jvpfun == "same":
        return lambda g, ans, *args, **kwargs: fun(*subval(args, argnum, g), **kwargs)
    if callable(jvpfun):
        return jvpfun
    raise TypeError(f'{name_of(fun)}: expected a JVP (a function, "same" or None), got {jvpfun!r}')


def def_linear(fun: Function) -> None:
    """Declare that a function is linear in each argument."""
    defjvp_argnum(
        fun, lambda argnum, g, ans, args, kwargs: fun(*subval(args, argnum, g), **kwargs)
    )


# -- Deprecated declarations, as attributes of a primitive ---------------------------------------


def deprecated_defvjp(primitive_fun: Function) -> Function:
    """`f.defvjp(vjp, argnum=0)` with `vjp(g, ans, vs, gvs, *args, **kwargs)`."""
    makers: dict[int, Function] = {}

    def defvjp_unstaged(vjpfun: Function, argnum: int = 0) -> None:
        _warn_deprecated("defvjp")

        def maker(ans: Any, *args: Any, **kwargs: Any) -> Function:
            return lambda g: vjpfun(g, ans, vspace(args[argnum]), vspace(g), *args, **kwargs)

        makers[argnum] = maker
        defvjp(primitive_fun, *makers.values(), argnums=tuple(makers))

    return defvjp_unstaged


def deprecated_defvjp_is_zero(primitive_fun: Function) -> Function:
    """`f.defvjp_is_zero(argnums)`."""
    zeros: dict[int, None] = {}

    def defvjp_is_zero(argnums: Iterable[int] = (0,)) -> None:
        _warn_deprecated("defvjp_is_zero")
        zeros.update(dict.fromkeys(argnums))
        defvjp(primitive_fun, *zeros.values(), argnums=tuple(zeros))

    return defvjp_is_zero


def deprecated_defgrad(primitive_fun: Function) -> Function:
    """`f.defgrad(maker, argnum=0)`, with makers as `defvjp` takes them."""
    makers: dict[int, Function] = {}

    def defgrad(gradfun: Function, argnum: int = 0) -> None:
        _warn_deprecated("defgrad")
        makers[argnum] = gradfun
        defvjp(primitive_fun, *makers.values(), argnums=tuple(makers))

    return defgrad


def _warn_deprecated(name: str) -> None:
    warn(f"f.{name} is deprecated. Use tapegrad.autograd.extend.defvjp(f, ...).")


def primitive_with_deprecation_warnings(f_raw: Function) -> Function:
    """`primitive`, with the deprecated declarations as attributes."""
    made: Any = primitive_(f_raw)
    made.defvjp = deprecated_defvjp(made)
    made.defvjp_is_zero = deprecated_defvjp_is_zero(made)
    made.defgrad = deprecated_defgrad(made)
    return made


primitive = primitive_with_deprecation_warnings


def identity_vjp(argnums: Any, *args: Any) -> Function:
    """The vjp of the identity, as a maker."""
    return lambda g: g


def identity_jvp(g: Any, *args: Any, **kwargs: Any) -> Any:
    """The jvp of the identity."""
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
