"""Conditions at the solutions of SciPy's solvers, read from their arguments.

Knows SciPy's names of arguments, its bounds and constraints. Must not know results or transforms.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.optimize

from tapegrad._core.types import Function, Value
from tapegrad._core.values import in_trace, lift, raw_value
from tapegrad._errors import BatchingError
from tapegrad._transforms.reverse import vjp
from tapegrad.implicit._minima import Minimisation, start_of_multipliers
from tapegrad.implicit._unknowns import as_vector

Arguments = dict[str, Any]

_NEAR = 1e-4  # how far from a bound or constraint that holds SciPy's methods may stop


class Conditions:
    """Equations of a point x, for its derivatives. z: x, with multipliers where there are any."""

    symmetric = False
    lenient = False  # whether the solver ends with its budget, and then says that it has failed

    def __init__(self, function: Function, of: Function, size: float) -> None:
        self.function, self.of = function, of  # the user's, and what it is of x alone
        self.size = size  # of what the solution was searched in; 0 where that is not known

    def unknowns(self, x: Any) -> Any:
        """z with multipliers of zero."""
        return x

    def settled(self, z: Any) -> Any:
        """z with its multipliers, of plain values."""
        return z

    def point(self, z: Any) -> Any:
        """The x of z."""
        return z

    def equations(self, z: Any) -> Any:
        """The residual, which is zero at the solution."""
        raise NotImplementedError

    def weakness_at(self, z: Any) -> str:
        """Why there is no derivative, or nothing."""
        return ""

    def outputs(self, x: Any, found: Any) -> dict[Any, Any]:
        """Other parts of a result that are known as functions of x, by name or place."""
        return {}


# --- Arguments ----------------------------------------------------------------------------------


def function_of(given: Arguments) -> tuple[Function, Function]:
    """The user's function, and the same of x alone, whose results are arrays."""
    function = next(given[name] for name in ("f", "func", "fun", "F") if name in given)
    args, kwargs = as_tuple(given.get("args", ())), given.get("kwargs") or {}
    first = _returns_slopes(given)

    def of(x: Value) -> Any:
        out = function(x, *args, **kwargs)
        return as_array(out[0] if first else out)

    return function, of


def as_tuple(args: Any) -> tuple[Any, ...]:
    return args if isinstance(args, tuple) else (args,)


def as_array(out: Any) -> Any:
    out = lift(out)
    return out if in_trace(out) else np.asarray(out)


def _returns_slopes(given: Arguments) -> bool:
    """Whether a function returns its derivatives too, as `jac=True` says."""
    if "approx_grad" in given:
        return given["fprime"] is None and not given["approx_grad"]
    flags = (given.get("jac"), given.get("fprime"), given.get("fprime2"))
    return any(flag is not None and flag is not False and _is_flag(flag) for flag in flags)


def _is_flag(value: Any) -> bool:
    return not callable(value) and not isinstance(value, str) and bool(value)


_PLACES = ("x0", "xin", "p0", "a", "b", "x1", "x2", "bracket", "brack", "bounds")


def size_of(given: Arguments) -> float:
    """How large the numbers are with which a search starts."""
    found = [0.0]
    for name in _PLACES:
        value: Any = given.get(name)
        found += _sizes([value.lb, value.ub] if hasattr(value, "lb") else value)
    return max(found)


def _sizes(value: Any) -> list[float]:
    if isinstance(value, list | tuple):
        return [size for part in value for size in _sizes(part)]
    value = raw_value(value)
    if not isinstance(value, int | float | np.generic | np.ndarray):
        return []
    known = np.abs(np.ravel(value))
    return known[np.isfinite(known)].tolist()


class Bounds(scipy.optimize.Bounds):
    """SciPy's Bounds, of traced values too."""

    def __init__(self, lb: Any = -np.inf, ub: Any = np.inf, keep_feasible: Any = False) -> None:
        super().__init__(lift(lb), lift(ub), keep_feasible)


def limits_of(bounds: Any, x: Any) -> Any:
    """Lower and upper bounds as arrays like x, of pairs or SciPy's Bounds."""
    if hasattr(bounds, "lb"):
        return like((bounds.lb, bounds.ub), x)
    if np.ndim(x) == 0:  # of a minimum of one variable
        return like(bounds, x)
    pairs = list(bounds)
    ends = [
        lift([absent if pair[which] is None else pair[which] for pair in pairs])
        for which, absent in ((0, -np.inf), (1, np.inf))
    ]
    return like(ends, x)


def is_free(bounds: Any) -> bool:
    """Whether there are no bounds."""
    return bounds is None or isinstance(bounds, list | tuple) and not bounds


def like(ends: Sequence[Any], x: Any) -> Any:
    """Lower and upper bounds in the shape of x."""
    return [np.broadcast_to(as_array(end) * 1.0, np.shape(x)) for end in ends]


# --- Roots --------------------------------------------------------------------------------------


class Roots(Conditions):
    """f(x) = 0, or f(x) = x; of more equations than unknowns the least squares."""

    def __init__(self, given: Arguments, *, fixed: bool = False) -> None:
        self.fixed = fixed
        super().__init__(*function_of(given), size_of(given))

    def equations(self, z: Any) -> Any:
        out = self.of(z)
        if self.fixed:
            return out - z
        return out if np.size(out) == np.size(z) else vjp(self.of, z)[1](out)[0]

    def outputs(self, x: Any, found: Any) -> dict[Any, Any]:
        left = self.of(x)
        if np.size(left) != np.size(x):
            return {"fun": left}
        return {name: part for name, part in _parts(found).items() if name in ("fun", "fvec")}


def _parts(found: Any) -> dict[str, Any]:
    """The named parts of a result."""
    parts: dict[str, Any] = {}
    for group in found if isinstance(found, tuple) else (found,):
        if isinstance(group, dict):
            parts |= group
    return parts


def fixed_points(given: Arguments) -> Roots:
    """f(x) = x."""
    return Roots(given, fixed=True)


# --- Minima -------------------------------------------------------------------------------------


class Minimum(Minimisation, Conditions):
    """The conditions of a minimum, free or constrained.

    at: where a tuple of results has the value.
    """

    def __init__(
        self,
        function: Function,
        of: Function,
        size: float,
        limits: Function | None = None,
        constraints: Sequence[Any] = (),
        at: int | None = None,
    ) -> None:
        Conditions.__init__(self, function, of, size)
        self.limits, self.at = limits, at
        self.parts = [of, *_conditions(constraints)]
        self.constrained = bool(constraints)
        self.symmetric = limits is None and not constraints

    def functions(self, values: Any = (), args: Any = ()) -> list[Any]:
        """The function and the constraints."""
        return self.parts

    def _bounds(self, x: Any) -> Any:
        return None if self.limits is None else self.limits(x)

    def unknowns(self, x: Any) -> Any:
        if not self.constrained:
            return x
        return (x, *(np.zeros(0 if f is None else np.size(f(x))) for f in self.parts[1:]))

    def settled(self, z: Any) -> Any:
        if not self.constrained:
            return z
        x = z[0]
        return (x, *start_of_multipliers(self.parts, self._bounds(x), x, near=_NEAR))

    def point(self, z: Any) -> Any:
        return z[0] if self.constrained else z

    def equations(self, z: Any) -> Any:
        return self.residual(z, self._bounds(self.point(z)), (), [])

    def weakness_at(self, z: Any) -> str:
        return "" if self.symmetric else self.weakness(z, self._bounds(self.point(z)), (), [])

    def outputs(self, x: Any, found: Any) -> dict[Any, Any]:
        value = self.of(x)
        made: dict[Any, Any] = {"fun": value}
        if self.at is not None:
            made[self.at] = value
        if self.symmetric:  # the gradient is zero, and stays it
            made |= {name: part for name, part in _parts(found).items() if name in ("jac", "grad")}
        return made


def _conditions(constraints: Sequence[Any]) -> tuple[Function | None, Function | None]:
    """The equations and the inequalities, as functions of x."""
    if not constraints:
        return None, None
    rows = [_row(one) for one in constraints]

    def values(x: Value) -> list[Any]:
        made = []
        for function, lower, upper in rows:
            out = as_vector(as_array(function(x)))
            made.append((out, *like((lower, upper), out)))
        return made

    def equality(x: Value) -> Any:
        return _joined([(out - low)[_same(low, high)] for out, low, high in values(x)])

    def inequality(x: Value) -> Any:
        parts = []
        for out, low, high in values(x):
            free = ~_same(low, high)
            parts.append((out - low)[free & _is_finite(low)])
            parts.append((high - out)[free & _is_finite(high)])
        return _joined(parts)

    return equality, inequality


def _joined(parts: list[Any]) -> Any:
    return np.concatenate(parts)


def _same(low: Any, high: Any) -> Any:
    return _of_all(low, high, np.equal)


def _is_finite(end: Any) -> Any:
    return _of_all(end, end, lambda x, _: np.isfinite(x))


def _of_all(low: Any, high: Any, question: Function) -> Any:
    """The answer of bounds, which all examples of a vmap share."""
    shape = np.shape(low)
    found = np.asarray(question(raw_value(low), raw_value(high))).reshape(-1, *shape)
    if not (found == found[0]).all():
        raise BatchingError(
            "scipy.optimize: inside a vmap a constraint must be an equation, or have a lower or "
            "an upper bound, for all examples or for none."
        )
    return found[0]


def _row(one: Any) -> tuple[Function, Any, Any]:
    """A constraint as lower <= function(x) <= upper."""
    if isinstance(one, dict):
        args = as_tuple(one.get("args", ()))
        upper = 0.0 if one["type"].lower() == "eq" else np.inf
        return (lambda x: one["fun"](x, *args)), 0.0, upper
    if hasattr(one, "A"):
        return (lambda x: one.A @ x), one.lb, one.ub
    if hasattr(one, "fun"):
        return one.fun, one.lb, one.ub
    return (lambda x: x), one.lb, one.ub


def minima(*names: str, at: int | None = None, lenient: bool = False) -> Any:
    """A reader of the conditions of a minimum; names: the two arguments that are bounds of x."""

    def read(given: Arguments) -> Minimum:
        inner = given.get("minimizer_kwargs") or {}
        args = given.get("args") or inner.get("args", ())
        function, of = function_of({**inner, **given, "args": args})
        bounds = given.get("bounds", inner.get("bounds"))

        def value(x: Value) -> Any:
            return np.reshape(of(x), ())

        limits = None
        if names:
            limits = functools.partial(like, [given[name] for name in names])
        elif not is_free(bounds):
            limits = functools.partial(limits_of, bounds)
        constraints = [*_constraints(given), *_constraints(inner)]
        made = Minimum(function, value, size_of(given), limits, constraints, at)
        made.lenient = lenient
        return made

    return read


def _constraints(given: Arguments) -> list[Any]:
    """The constraints of a call, in SciPy's spellings old and new."""
    found = given.get("constraints") or ()
    listed = list(found) if isinstance(found, list | tuple) else [found]
    args = given.get("args", ())
    for kind, many, one in (("eq", "eqcons", "f_eqcons"), ("ineq", "ieqcons", "f_ieqcons")):
        functions = [*given.get(many, ()), given.get(one)]
        listed += [{"type": kind, "fun": f, "args": args} for f in functions if f is not None]
    cons = given.get("cons", ())
    if given.get("consargs") is not None:
        args = given["consargs"]
    functions = list(cons) if isinstance(cons, list | tuple) else [cons]
    return [*listed, *({"type": "ineq", "fun": f, "args": args} for f in functions)]


__all__ = [
    "Arguments",
    "Bounds",
    "Conditions",
    "Minimum",
    "Roots",
    "as_array",
    "as_tuple",
    "fixed_points",
    "function_of",
    "like",
    "limits_of",
    "minima",
    "size_of",
]
