"""Integrals of functions: quad and its relatives, by limits, args and what functions close over.

Knows SciPy's routines and their arguments. Of plain values each is SciPy's.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.integrate

from tapegrad._batched.batching_rules import call_one_by_one
from tapegrad._core.forms import constant
from tapegrad._core.quiet import silence
from tapegrad._core.types import Function, Value
from tapegrad._core.values import (
    any_true,
    in_trace,
    innermost,
    is_mapped,
    lift,
    raw_value,
    untraced,
)
from tapegrad._errors import BatchingError, InputError, message
from tapegrad._transforms.closures import Hoisted
from tapegrad.scipy._mirror import mirror
from tapegrad.scipy._questions import holds_mapped
from tapegrad.scipy.integrate._integral import Integrand, error, integral

_MODULE = "tapegrad.scipy.integrate"
_TOLERANCES = ("epsabs", "epsrel", "limit", "points")


def as_float(x: Value) -> Any:
    """A value as an array of floats or complex numbers."""
    x = x if in_trace(x) else np.asarray(x)
    return x if x.dtype.kind in "fc" else x.astype(float)


def _as_double(x: Value) -> Any:
    """The same in double precision: beside a singularity single precision rounds onto it."""
    x = as_float(x)
    return x.astype(np.result_type(x.dtype, float)) if x.dtype.char in "efF" else x


def quad(
    func: Function,
    a: Any,
    b: Any,
    args: Any = (),
    full_output: Any = 0,
    epsabs: float = 1.49e-8,
    epsrel: float = 1.49e-8,
    limit: int = 50,
    points: Any = None,
    weight: Any = None,
    wvar: Any = None,
    **options: Any,
) -> Any:
    """Integrate a function of one variable, as SciPy's quad, with derivatives.

    They are those by the limits, args and what func closes over. A plain call is SciPy's.

    Parameters
    ----------
    func : callable
        The integrand, `func(x, *args)`; it is called with plain numbers.
    a, b : float
        The limits. An infinite one does not move.
    args : tuple, default ()
        Further arguments of the function, which may be traced.
    full_output : int, default 0
        Whether SciPy's further outputs are returned; they are plain.
    epsabs, epsrel : float, default 1.49e-8
        The absolute and the relative tolerance, of the derivatives' integrals too.
    limit : int, default 50
        The most intervals.
    points : sequence of float, optional
        Where the integrand is difficult. They may be traced, between finite limits: a jump of the
        integrand that moves with a parameter counts where it is one of the points. A jump that is
        neither a limit nor a point adds nothing to the derivative, as no value of the integrand's
        derivative tells of it.
    weight : str, optional
        SciPy's name of a weighting function; limits are then constants.
    wvar : float or tuple of float, optional
        Its parameters, which are constants.
    **options : object
        SciPy's others: wopts, maxp1, limlst, complex_func.

    Returns
    -------
    tuple
        The integral, SciPy's estimate of its error, which is plain, and what `full_output` adds.

    Raises
    ------
    InputError
        If wvar is traced, or a limit beside a weight, or points beside a weight or an infinite
        limit.
    BatchingError
        If points move under vmap.

    Warns
    -----
    UserWarning
        If the integral of a derivative does not converge; this derivative is NaN.

    See Also
    --------
    quad_vec : Of functions that return arrays.
    nquad : Over several variables.

    Notes
    -----
    By Leibniz's rule: the derivative of the integrand is integrated to the same tolerances, the
    limits count by the integrand there. Where this fails, because a singularity of the integrand
    moves with a limit, the variable is substituted so that neither moves. In reverse mode the
    integrand has to use the limit itself, as `1 / sqrt(b - x)` from 0 to b does; `jvp` and
    `hessian` need no such thing.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> half = lambda b: quad(lambda x: 1 / np.sqrt(b - x), 0, b)[0]  # 2 * sqrt(b)
    >>> bool(np.isclose(tapegrad.grad(half)(4.0), 0.5))
    True
    >>> gamma = lambda z: quad(lambda t: t ** (z - 1) * np.exp(-t), 0, np.inf)[0]
    >>> bool(np.isclose(tapegrad.grad(gamma)(3.0), 1.845568670197))
    True
    """
    options |= {"epsabs": epsabs, "epsrel": epsrel, "limit": limit, "points": points}
    options |= {"weight": weight, "wvar": wvar}
    return _quad(Hoisted((func, args)), a, b, full_output, options)


def _quad(
    hoisted: Any, a: Any, b: Any, full_output: Any, options: dict[str, Any], found: Any = None
) -> Any:
    """`hoisted`: of an integrand and its args; `found`: SciPy's result, where it is known."""
    points, weight, wvar = (options.get(name) for name in ("points", "weight", "wvar"))
    inner = innermost([a, b, *hoisted.values, wvar, points])
    if inner is None:
        func, args = hoisted.tree
        return scipy.integrate.quad(func, a, b, args, full_output, **options)
    _refuse_traced("scipy.integrate.quad", wvar=wvar)
    if in_trace(lift(points)):
        return _between_points(hoisted, a, b, full_output, options)
    if weight is not None:
        _refuse_traced("scipy.integrate.quad with a weight", a=a, b=b)
    if is_mapped(inner):

        def one(a: Value, b: Value, values: Any) -> Any:
            return _quad(hoisted.again(values), a, b, 0, options)

        return _one_by_one(inner, one, a, b, hoisted)
    return _traced_quad(hoisted, a, b, full_output, options, found=found)


def _one_by_one(inner: Any, one: Function, a: Any, b: Any, hoisted: Any) -> Any:
    """The call of each example of a vmap. A limit that the integrand uses stays one value."""
    same = _same(a, b, hoisted)
    rest = [x for k, x in enumerate(hoisted.values) if k not in same]

    def example(*values: Value) -> Any:
        limits, others = values[:2], iter(values[2:])
        count = len(hoisted.values)
        filled = [limits[same[k]] if k in same else next(others) for k in range(count)]
        return one(*limits, filled)

    return call_one_by_one(inner.vmap_level, example, (a, b, *rest), {})


def _same(a: Any, b: Any, hoisted: Any) -> dict[int, int]:
    """Which values that a function closes over are limits, and which of the two."""
    ends = {id(a): 0, id(b): 1}
    return {k: ends[id(x)] for k, x in enumerate(hoisted.values) if id(x) in ends}


def _between_points(
    hoisted: Any, a: Any, b: Any, full_output: Any, options: dict[str, Any]
) -> Any:
    """An integral with points that move: those of the parts, whose limits they are."""
    points = options["points"]  # of a list each keeps its identity: it may be a parameter too
    points = points if isinstance(points, (list, tuple)) else np.reshape(points, (-1,))
    if any(map(holds_mapped, [*points, a, b, *hoisted.values])):
        raise BatchingError("scipy.integrate.quad: points that move, under vmap. Use a loop.")
    low, high = (float(raw_value(lift(end))) for end in (a, b))
    weighted = options.get("weight") is not None
    if weighted or not np.isfinite(low + high):
        raise InputError(
            message(
                "scipy.integrate.quad",
                "finite limits and no weight where points are traced",
                "a weight" if weighted else f"limits {low} and {high}",
                "Hold the points constant, or integrate each part by a call of its own",
            )
        )
    plain = np.array([float(raw_value(x)) for x in points])
    order = np.argsort(plain if low < high else -plain, kind="stable")
    inside = [k for k in order if min(low, high) < plain[k] < max(low, high)]
    still, fixed = hoisted.filled([raw_value(x) for x in hoisted.values])
    found = scipy.integrate.quad(
        still, low, high, fixed, full_output, **{**options, "points": plain}
    )
    ends = [a, *(points[k] for k in inside), b]
    rest = {**options, "points": None}
    parts = [
        _traced_quad(hoisted, *pair, 0, rest, sides=(i > 0, i < len(inside)))[0]
        for i, pair in enumerate(itertools.pairwise(ends))
    ]
    return sum(parts[1:], parts[0]), *found[1:]


def _refuse_traced(name: str, **values: Any) -> None:
    for key, value in values.items():
        if in_trace(lift(value)):
            raise InputError(
                message(name, f"a constant {key}", "a traced one", "It has no derivative here")
            )


def _traced_quad(
    hoisted: Any,
    a: Any,
    b: Any,
    full_output: Any,
    options: dict[str, Any],
    sides: tuple[bool, bool] = (False, False),
    found: Any = None,
) -> Any:
    """`sides`: the limits at which the integrand may jump."""
    shared: dict[str, Any] = hoisted.shared if isinstance(hoisted, _Level) else {}
    bound = hoisted.bound if isinstance(hoisted, _Level) else hoisted.then().filled

    def bind(parameters: Sequence[Value]) -> Function:
        func, args = bound(parameters)
        args = args if isinstance(args, tuple) else (args,)
        return lambda u, *outer: lift(func(u, *outer, *args))

    parameters = [_as_double(x) for x in hoisted.values]
    integrand = Integrand(
        "scipy.integrate.quad",
        bind,
        _routine_of_quad(options),
        (in_trace(a), in_trace(b)),
        of_slopes=_routine_of_slopes(options),
        points=() if options.get("points") is None else np.ravel(options["points"]).tolist(),
        same=_same(a, b, hoisted),
        sides=sides,
        **shared,
    )
    arrays = (_as_double(a), _as_double(b), *parameters)
    if any(map(holds_mapped, arrays)):
        return integral(*arrays, integrand=integrand), error(*arrays, integrand=integrand)
    plain = [raw_value(x) for x in arrays]
    if found is None:
        func, args = hoisted.filled([raw_value(x) for x in hoisted.values])
        ends = map(float, plain[:2])
        found = scipy.integrate.quad(func, *ends, args, full_output, **options)
    integrand.known = plain, found[:2]
    return integral(*arrays, integrand=integrand), *found[1:]


def _routine_of_quad(options: dict[str, Any]) -> Function:
    """How quad's integral is computed where it is not known."""

    def routine(f: Function, a: Any, b: Any) -> Any:
        a, b = float(a), float(b)
        made = {**options, "complex_func": np.iscomplexobj(f(_inside(a, b)))}
        return scipy.integrate.quad(lambda u: np.reshape(f(u), ())[()], a, b, **made)[:2]

    return routine


def _routine_of_slopes(options: dict[str, Any]) -> Function:
    """How the integrals of derivatives are computed: those of many elements by quad_vec first.

    quad_vec has one adaptive mesh for all elements, and calls the function for three times as many
    nodes as quad does where that is smooth. At a singularity it gives up, where quad finds the
    limit of its sums. A slope that quad does not vouch for is NaN.
    """
    tolerances = {name: options[name] for name in _TOLERANCES if options.get(name) is not None}
    vectorised = options.get("weight") is None
    first_node = (0.5, 1.0) if vectorised and options.get("points") is None else ()

    def routine(f: Function, a: Any, b: Any) -> Any:
        a, b = float(a), float(b)
        place = _inside(a, b, *first_node)
        with silence():
            first = np.asarray(f(place))
            if vectorised and first.size > _MANY:
                value, error, info = scipy.integrate.quad_vec(
                    f, a, b, norm="max", full_output=True, **tolerances
                )
                if info.success and np.all(np.isfinite(value)):
                    return value, error
            return _by_elements(f, a, b, (place, first), options)

    return routine


_MANY = 200  # elements: for so many quad's calls take longer than those of the integrand


def _by_elements(
    f: Function, a: float, b: float, known: tuple[float, Any], options: dict[str, Any]
) -> Any:
    """The integrals of all elements by quad, whose nodes serve all. `known`: one of the values."""
    place, first = known
    values = {place: np.ravel(first).tolist()}

    def at(u: float) -> Any:
        if u not in values:
            values[u] = np.ravel(f(u)).tolist()
        return values[u]

    def element(u: float, i: int, part: str) -> float:
        return float(getattr(at(u)[i], part))

    parts = ("real", "imag") if np.iscomplexobj(first) else ("real",)
    which = [(i, part) for i in range(first.size) for part in parts]
    found = [_vouched(element, a, b, {**options, "args": one}) for one in which]
    # One that is zero beside the others reaches no tolerance of its own.
    least = options.get("epsrel", 1.49e-8) * max((abs(x) for x, _ in found if x == x), default=0.0)
    if least > options.get("epsabs", 1.49e-8):
        for k, one in enumerate(which):
            if np.isnan(found[k][0]):
                found[k] = _vouched(element, a, b, {**options, "args": one, "epsabs": least})
    row = np.reshape([x for x, _ in found], (first.size, len(parts))) @ (1, 1j)[: len(parts)]
    error = max((bound for _, bound in found), default=0.0)
    return np.reshape(row, first.shape).astype(first.dtype), error


def _vouched(f: Function, a: float, b: float, options: dict[str, Any]) -> tuple[float, float]:
    """quad's integral of a real function and its error; NaN where quad doubts it.

    quad sums a divergent integral, as that of (1 - t)**-1.5, to a finite number, with a small
    error. It tells so by words alone. That it rounds is no doubt where the error is small all the
    same.
    """
    given = {**options, "complex_func": False, "full_output": 1}
    value, error, _, *words = scipy.integrate.quad(f, a, b, **given)
    if words and words[0].startswith("The maximum number of subdivisions"):
        given["limit"] = 10 * given.get("limit", 50)
        value, error, _, *words = scipy.integrate.quad(f, a, b, **given)
    bound = max(given.get("epsabs", 0.0), 1e-6 * abs(value))
    rounded = words and "oundoff" in words[0] and error <= bound
    doubted = (words and not rounded) or not np.isfinite(value)
    return (np.nan if doubted else value), error


def _inside(a: float, b: float, share: float = 0.3819660112501051, step: float = 0.7) -> float:
    """A point between two limits, either of which may be infinite; no middle, which is special."""
    if np.isfinite(a) and np.isfinite(b):
        return (1 - share) * a + share * b
    if np.isfinite(a):
        return a + step if b > 0 else a - step
    if np.isfinite(b):
        return b + step if a > 0 else b - step
    return step


def quad_vec(
    f: Function,
    a: Any,
    b: Any,
    epsabs: float = 1e-200,
    epsrel: float = 1e-8,
    norm: str = "2",
    cache_size: float = 100e6,
    limit: int = 10000,
    workers: Any = 1,
    points: Any = None,
    quadrature: Any = None,
    full_output: bool = False,
    *,
    args: Any = (),
) -> Any:
    """Integrate a function that returns arrays, as SciPy's quad_vec, with derivatives.

    They are those by the limits, args and what f closes over, as of `quad`. A plain call is
    SciPy's.

    Parameters
    ----------
    f : callable
        The integrand, `f(x, *args)`, which returns an array.
    a, b : float
        The limits. An infinite one does not move.
    epsabs, epsrel : float, default 1e-200 and 1e-8
        The absolute and the relative tolerance.
    norm : {"2", "max"}, default "2"
        Of the error.
    cache_size : float, default 100e6
        Bytes of values to keep.
    limit : int, default 10000
        The most intervals.
    workers : int or callable, default 1
        How many processes call f, or what maps it; one for the derivatives.
    points : sequence of float, optional
        Where the integrand is difficult; constants.
    quadrature : str, optional
        SciPy's name of the rule.
    full_output : bool, default False
        Whether SciPy's further outputs are returned.
    args : tuple, default ()
        Further arguments of the function, which may be traced.

    Returns
    -------
    tuple
        The integral, an array, SciPy's estimate of its error, and what `full_output` adds.

    Raises
    ------
    InputError
        If points are traced.

    See Also
    --------
    quad : Of functions that return numbers.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> powers = lambda p: quad_vec(lambda t: t**p, 0.0, 1.0)[0]
    >>> np.round(np.diag(tapegrad.jacrev(powers)(np.array([1.0, 3.0]))), 6)
    array([-0.25  , -0.0625])
    """
    options: dict[str, Any] = {"epsabs": epsabs, "epsrel": epsrel, "norm": norm, "limit": limit}
    options |= {"cache_size": cache_size, "workers": workers}
    options |= {"points": points, "quadrature": quadrature}
    hoisted = Hoisted((f, args))
    inner = innermost([a, b, *hoisted.values])
    if inner is None:
        return scipy.integrate.quad_vec(f, a, b, full_output=full_output, args=args, **options)
    _refuse_traced("scipy.integrate.quad_vec", points=points)
    if is_mapped(inner):

        def one(a: Value, b: Value, values: Any) -> Any:
            f, args = hoisted.filled(values)
            return quad_vec(f, a, b, args=args, **options)

        return _one_by_one(inner, one, a, b, hoisted)

    then = hoisted.then()

    def bind(parameters: Sequence[Value]) -> Function:
        f, args = then.filled(parameters)
        args = args if isinstance(args, tuple) else (args,)
        return lambda u: as_float(lift(f(u, *args)))

    def routine(f: Function, a: Any, b: Any) -> Any:
        return scipy.integrate.quad_vec(f, float(a), float(b), **{**options, "workers": 1})

    def of_slopes(f: Function, a: Any, b: Any) -> Any:
        a, b, given = float(a), float(b), {**options, "workers": 1, "full_output": True}
        with silence():
            value, error, info = scipy.integrate.quad_vec(f, a, b, **given)
            if info.success and np.all(np.isfinite(value)):
                return value, error
            of_quad = {"epsrel": max(epsrel, 1e-10), "limit": 50, "points": points}
            place = _inside(a, b)
            return _by_elements(f, a, b, (place, np.asarray(f(place))), of_quad)

    integrand = Integrand(
        "scipy.integrate.quad_vec",
        bind,
        routine,
        (in_trace(a), in_trace(b)),
        of_slopes=of_slopes,
        points=() if points is None else np.ravel(points).tolist(),
        same=_same(a, b, hoisted),
    )
    arrays = tuple(map(_as_double, (a, b, *hoisted.values)))
    if any(map(holds_mapped, arrays)):
        return integral(*arrays, integrand=integrand), error(*arrays, integrand=integrand)
    plain = [raw_value(x) for x in arrays]
    f, args = hoisted.filled([raw_value(x) for x in hoisted.values])
    found = scipy.integrate.quad_vec(
        f, float(plain[0]), float(plain[1]), full_output=full_output, args=args, **options
    )
    integrand.known = plain, found[:2]
    return integral(*arrays, integrand=integrand), *found[1:]


# --- Several dimensions -------------------------------------------------------------------------


def nquad(
    func: Function, ranges: Any, args: Any = None, opts: Any = None, full_output: bool = False
) -> Any:
    """Integrate over several variables, as SciPy's nquad, with derivatives.

    They are those by numbers in ranges, args and what functions close over. A plain call is
    SciPy's.

    Parameters
    ----------
    func : callable
        The integrand, `func(x0, ..., xn, *args)`.
    ranges : sequence
        For each variable a pair of limits, or a function of the later variables and args that
        returns one.
    args : tuple, optional
        Further arguments of the function, which may be traced.
    opts : dict, callable or sequence of these, optional
        Options of `quad` for each variable, or of all.
    full_output : bool, default False
        Whether SciPy's further outputs are returned; they are plain.

    Returns
    -------
    tuple
        The integral, SciPy's estimate of its error, which is plain (NaN under vmap), and what
        `full_output` adds.

    See Also
    --------
    quad : What each of the integrals within each other is.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> area = lambda side: nquad(lambda x, y: x * y, [(0.0, side), (0.0, 1.0)])[0]
    >>> bool(np.isclose(tapegrad.grad(area)(2.0), 1.0))
    True
    """
    hoisted = Hoisted((func, ranges, args, opts))
    if not hoisted.values:
        return scipy.integrate.nquad(func, ranges, args, opts, full_output)
    inner = innermost(hoisted.values)
    if is_mapped(inner):

        def one(*values: Value) -> Any:
            return nquad(*hoisted.filled(values))

        return call_one_by_one(inner.vmap_level, one, tuple(hoisted.values), {})
    found = None
    if not any(map(holds_mapped, hoisted.values)):
        plain = hoisted.filled([raw_value(x) for x in hoisted.values])
        found = scipy.integrate.nquad(*plain, full_output)
    value = _Nest(hoisted).integral(hoisted.tree, (), hoisted.values, found)
    return (value, np.nan) if found is None else (value, *found[1:])


class _Nest:
    """Integrals within each other, over the last variable outmost.

    Knows what the parameters of each are: traced ones among the variables of those around it, and
    what the functions close over. The slopes of the integrand are one program for all.
    """

    def __init__(self, hoisted: Hoisted) -> None:
        self.whole = hoisted.then()
        func, ranges, args, _ = hoisted.tree
        used = Hoisted((func, args))
        order = {id(x): i for i, x in enumerate(hoisted.values)}
        self.used = [order[id(x)] for x in used.values]
        self.inmost, self.depth = used.then(), len(ranges)
        self.programs: dict[Any, Any] = {}

    def integral(self, tree: Any, outer: Any, parameters: Any, found: Any = None) -> Any:
        """The integral inside of some variables; `found`: SciPy's result, where it is known."""
        func, ranges, args, opts = tree
        depth = self.depth - len(outer) - 1
        args = (*outer, *_as_tuple(args))
        limits = ranges[depth]
        low, high = limits(*args) if callable(limits) else limits
        options = {} if opts is None else opts if isinstance(opts, dict) else opts[depth]
        options = dict(options(*args) if callable(options) else options)
        if "points" in options:
            options["points"] = [x for x in options["points"] if low <= x <= high]
        if depth == 0:
            parameters = [parameters[i] for i in self.used]
        else:
            func, args = self.within(tree, parameters), outer
        level = _Level(self, (func, args), outer, parameters)
        return _quad(level, low, high, 0, options, found)[0]

    def within(self, tree: Any, parameters: Any) -> Function:
        """The integral as the integrand of those around it."""
        return lambda *outer: self.integral(tree, outer, parameters)

    def integrand(self, depth: int, parameters: Any) -> tuple[Function, Any]:
        """The integrand at a depth, of its variable and those around it, and its further args."""
        if depth:
            return self.within(self.whole.filled(parameters), parameters), ()
        func, args = self.inmost.filled(parameters)
        return func, _as_tuple(args)


def _as_tuple(args: Any) -> Any:
    return () if args is None else tuple(args)


class _Level:
    """The integrand of one integral of a nest, in the place of what `Hoisted` tells of it.

    Its function takes the variables around it that are in no trace by `shared["outer"]`.
    """

    def __init__(self, nest: _Nest, tree: Any, outer: Any, parameters: Any) -> None:
        self.nest, self.tree, self.depth = nest, tree, nest.depth - len(outer) - 1
        self.moving = tuple(map(in_trace, outer))
        self.values = [*(u for u in outer if in_trace(u)), *parameters]
        self.shared: dict[str, Any] = {
            "outer": tuple(u for u in outer if not in_trace(u)),
            "programs": None if self.depth else nest.programs,
            "path": (self.moving,),
        }

    def filled(self, values: Any) -> Any:
        func, args = self.bound(values)
        return func, (*self.shared["outer"], *args)

    def bound(self, values: Any) -> tuple[Function, Any]:
        """The function of the variable and of those around it that are in no trace."""
        func, args = self.nest.integrand(self.depth, values[sum(self.moving) :])
        if not any(self.moving):
            return func, args
        return lambda u, *outer: func(u, *self._merged(values, outer)), args

    def again(self, values: Any) -> _Level:
        """The same of other values."""
        outer = self._merged(values, self.shared["outer"])
        return _Level(self.nest, self.filled(values), outer, values[sum(self.moving) :])

    def _merged(self, values: Any, outer: Any) -> Any:
        """The variables around it, of which some are values and some constants."""
        moved, still = iter(values), iter(outer)
        return (*(next(moved if moves else still) for moves in self.moving), *still)


def dblquad(
    func: Function,
    a: Any,
    b: Any,
    gfun: Any,
    hfun: Any,
    args: Any = (),
    epsabs: float = 1.49e-8,
    epsrel: float = 1.49e-8,
) -> Any:
    """Integrate over two variables, as SciPy's dblquad, with derivatives.

    They are those by a, b, gfun, hfun, args and what functions close over. A plain call is
    SciPy's.

    Parameters
    ----------
    func : callable
        The integrand, `func(y, x, *args)`.
    a, b : float
        The limits of x.
    gfun, hfun : float or callable
        The limits of y, numbers or functions of x.
    args : tuple, default ()
        Further arguments of the function, which may be traced.
    epsabs, epsrel : float, default 1.49e-8
        The absolute and the relative tolerance.

    Returns
    -------
    tuple of float
        The integral, and SciPy's estimate of its error, which is plain.

    See Also
    --------
    nquad : Over any number of variables.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> triangle = lambda side: dblquad(lambda y, x: 1.0, 0.0, side, 0.0, lambda x: x)[0]
    >>> bool(np.isclose(tapegrad.grad(triangle)(3.0), 3.0))
    True
    """
    given = (func, a, b, gfun, hfun, args)
    if not Hoisted(given).values:
        return scipy.integrate.dblquad(*given, epsabs, epsrel)

    def across(*u: Any) -> Any:
        return tuple(f(u[0]) if callable(f) else f for f in (gfun, hfun))

    options = {"epsabs": epsabs, "epsrel": epsrel}
    return nquad(func, [across, (a, b)], args, options)


def tplquad(
    func: Function,
    a: Any,
    b: Any,
    gfun: Any,
    hfun: Any,
    qfun: Any,
    rfun: Any,
    args: Any = (),
    epsabs: float = 1.49e-8,
    epsrel: float = 1.49e-8,
) -> Any:
    """Integrate over three variables, as SciPy's tplquad, with derivatives.

    They are those by the limits, args and what functions close over. A plain call is SciPy's.

    Parameters
    ----------
    func : callable
        The integrand, `func(z, y, x, *args)`.
    a, b : float
        The limits of x.
    gfun, hfun : float or callable
        The limits of y, numbers or functions of x.
    qfun, rfun : float or callable
        The limits of z, numbers or functions of x and y.
    args : tuple, default ()
        Further arguments of the function, which may be traced.
    epsabs, epsrel : float, default 1.49e-8
        The absolute and the relative tolerance.

    Returns
    -------
    tuple of float
        The integral, and SciPy's estimate of its error, which is plain.

    See Also
    --------
    nquad : Over any number of variables.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> box = lambda side: tplquad(lambda z, y, x: x, 0.0, side, 0.0, 1.0, 0.0, 2.0)[0]
    >>> bool(np.isclose(tapegrad.grad(box)(3.0), 6.0))
    True
    """
    given = (func, a, b, gfun, hfun, qfun, rfun, args)
    if not Hoisted(given).values:
        return scipy.integrate.tplquad(*given, epsabs, epsrel)

    def inmost(y: Any, x: Any, *_: Any) -> Any:
        return tuple(f(x, y) if callable(f) else f for f in (qfun, rfun))

    def middle(x: Any, *_: Any) -> Any:
        return tuple(f(x) if callable(f) else f for f in (gfun, hfun))

    return nquad(func, [inmost, middle, (a, b)], args, {"epsabs": epsabs, "epsrel": epsrel})


def cubature(f: Function, a: Any, b: Any, *, args: Any = (), **options: Any) -> Any:
    """Integrate over a box, as SciPy's cubature, with derivatives.

    They are those by the corners, args and what f closes over. A plain call is SciPy's.

    Parameters
    ----------
    f : callable
        The integrand, `f(x, *args)`, of points (count, ndim); it returns (count, ...).
    a, b : array_like, shape (ndim,)
        The corners. Corners that move are finite.
    args : tuple, default ()
        Further arguments of the function, which may be traced.
    **options : object
        SciPy's: rule, rtol, atol, max_subdivisions, workers, points.

    Returns
    -------
    object
        SciPy's result. Its estimate is traced, the rest is plain.

    Raises
    ------
    InputError
        If a corner is traced beside an infinite one, or beside points.
    BatchingError
        Under vmap.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> def total(rate):
    ...     f = lambda x: np.exp(-rate * np.sum(x, axis=-1))
    ...     return cubature(f, np.zeros(2), np.ones(2)).estimate
    >>> bool(np.isclose(tapegrad.grad(total)(1.0), 2 * (1 - np.exp(-1)) * (2 * np.exp(-1) - 1)))
    True
    """
    a, b = lift(a), lift(b)
    hoisted = Hoisted((f, args))
    inner = innermost([a, b, *hoisted.values])
    if inner is None:
        return scipy.integrate.cubature(f, a, b, args=args, **options)
    if in_trace(a) or in_trace(b):
        return _cubature_of_unit(f, a, b, args, options)
    if any(map(holds_mapped, hoisted.values)):
        raise BatchingError("scipy.integrate.cubature: not under vmap. Call it in a loop.")
    options = {**options, "workers": 1}

    then = hoisted.then()

    def bind(parameters: Sequence[Value]) -> Function:
        f, args = then.filled(parameters)
        args = args if isinstance(args, tuple) else (args,)
        return lambda u: f(u[None], *args)[0]

    def routine(f: Function, a: Any, b: Any) -> Any:
        found = scipy.integrate.cubature(lambda x: np.stack([f(u) for u in x]), a, b, **options)
        return found.estimate, found.error

    parameters = [as_float(x) for x in hoisted.values]
    f, args = hoisted.filled([raw_value(x) for x in hoisted.values])
    found = scipy.integrate.cubature(f, a, b, args=args, **options)
    corners = np.asarray(a), np.asarray(b)
    known = [*corners, *map(raw_value, parameters)], (found.estimate, found.error)
    integrand = Integrand("scipy.integrate.cubature", bind, routine, (False, False), known)
    found.estimate = integral(*corners, *parameters, integrand=integrand)
    return found


def _cubature_of_unit(f: Function, a: Any, b: Any, args: Any, options: dict[str, Any]) -> Any:
    """The same over the unit cube, where the corners are parameters of the integrand."""
    a, b = as_float(a), as_float(b)
    _refuse_traced("scipy.integrate.cubature with corners that move", points=options.get("points"))
    plain = [raw_value(x) for x in (a, b)]
    if options.get("points") is not None or not np.all(np.isfinite(plain)):
        raise InputError(
            message(
                "scipy.integrate.cubature",
                "finite corners and no points= where a corner is traced",
                "infinite ones" if options.get("points") is None else "points=",
                "Hold the corners constant, or transform the variables",
            )
        )
    args = args if isinstance(args, tuple) else (args,)

    def unit(s: Any) -> Any:
        values = f(a + (b - a) * s, *args)
        return values * np.prod(b - a)

    return cubature(unit, np.zeros(a.shape), np.ones(a.shape), **options)


def qmc_quad(func: Function, a: Any, b: Any, **options: Any) -> Any:
    """Integrate by quasi-random points, as SciPy's qmc_quad, with derivatives.

    They are those by the corners and what func closes over, of the estimate at the points drawn.
    A plain call is SciPy's.

    Parameters
    ----------
    func : callable
        The integrand, of points (ndim, count) or (ndim,).
    a, b : array_like, shape (ndim,)
        The corners.
    **options : object
        SciPy's: n_estimates, n_points, qrng, log.

    Returns
    -------
    object
        SciPy's result: its integral is traced, its standard_error is plain.

    Raises
    ------
    InputError
        If `log` is true, or two corners are equal.
    BatchingError
        Under vmap.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> from scipy.stats import qmc
    >>> def total(scale):
    ...     halton = qmc.Halton(1, rng=np.random.default_rng(0))
    ...     return qmc_quad(lambda x: scale * x[0], 0.0, 1.0, n_points=64, qrng=halton).integral
    >>> bool(abs(tapegrad.grad(total)(2.0) - 0.5) < 0.01)
    True
    """
    a, b = lift(a), lift(b)
    hoisted = Hoisted(func)
    values = hoisted.values
    if innermost([a, b, *values]) is None:
        return scipy.integrate.qmc_quad(func, a, b, **options)
    if options.get("log"):
        raise InputError(message("scipy.integrate.qmc_quad", "log=False", "log=True", ""))
    if any(map(holds_mapped, [a, b, *values])):
        raise BatchingError("scipy.integrate.qmc_quad: not under vmap. Call it in a loop.")
    drawn: list[Any] = []
    plain = hoisted.filled([raw_value(x) for x in values])

    def noted(x: Any) -> Any:
        drawn.append(np.array(x))
        return plain(x)

    low, high = (as_float(x) for x in np.broadcast_arrays(raw_value(a), raw_value(b)))
    found = scipy.integrate.qmc_quad(noted, low, high, **options)
    if np.any(low == high):
        raise InputError(message("scipy.integrate.qmc_quad", "corners apart", "equal ones", ""))
    low, high = (np.reshape(x, (-1, 1)) for x in (low, high))
    a, b = (np.reshape(as_float(x), (-1, 1)) for x in (a, b))
    count = options.get("n_estimates", 8)
    if len(drawn) >= count and drawn[-1].ndim == 2 and drawn[-1].shape[0] == len(low):
        means = [np.mean(func(a + (b - a) * ((x - low) / (high - low)))) for x in drawn[-count:]]
    else:
        points = options.get("n_points", 1024)
        rows = drawn[-count * points :]
        means = [func(_row(a + (b - a) * ((x[:, None] - low) / (high - low)))) for x in rows]
    volume = np.prod((b - a) * np.ones_like(low))
    value = np.mean(np.stack(means)) * volume
    return type(found)(value, found.standard_error)


def _row(x: Value) -> Value:
    return x[:, 0]


# --- Rules with fixed nodes ----------------------------------------------------------------------


def fixed_quad(func: Function, a: Any, b: Any, args: Any = (), n: int = 5) -> Any:
    """Integrate by Gauss's rule of a fixed order, as SciPy's fixed_quad, with derivatives.

    They are those by the limits, args and what func closes over. A plain call is SciPy's.

    Parameters
    ----------
    func : callable
        The integrand, `func(x, *args)`, of an array of nodes along the last axis.
    a, b : float
        The limits, which are finite.
    args : tuple, default ()
        Further arguments of the function, which may be traced.
    n : int, default 5
        How many nodes.

    Returns
    -------
    tuple
        The integral, and None.

    Raises
    ------
    ValueError
        If a limit is infinite.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> bool(np.isclose(tapegrad.grad(lambda b: fixed_quad(np.cos, 0.0, b)[0])(1.0), np.cos(1.0)))
    True
    """
    if innermost([a, b, *Hoisted((func, args)).values]) is None:
        return scipy.integrate.fixed_quad(func, a, b, args, n)
    if any(any_true(np.isinf(untraced(end))) for end in (a, b)):
        raise ValueError("Gaussian quadrature is only available for finite limits.")
    from scipy.special import roots_legendre

    nodes, weights = roots_legendre(n)
    half = (b - a) / 2.0
    values = lift(func(half * (nodes + 1) + a, *args))
    return half * np.sum(weights * values, axis=-1), None


# --- No derivative -------------------------------------------------------------------------------

newton_cotes = mirror(scipy.integrate.newton_cotes, _MODULE)
constant(newton_cotes)

__all__ = [
    "as_float",
    "cubature",
    "dblquad",
    "fixed_quad",
    "newton_cotes",
    "nquad",
    "qmc_quad",
    "quad",
    "quad_vec",
    "tplquad",
]
