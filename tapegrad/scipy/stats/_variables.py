"""Random variables: the classes of SciPy's newer interface, Normal, Uniform and their like.

Knows which methods of theirs are those of a distribution, whose derivatives are formulas; all
others, and what is computed with variables, SciPy's code computes, adopted. Of plain values each
is SciPy's own. Must not know how code is adopted.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.stats

from tapegrad._core.values import any_true, lift, raw_value
from tapegrad._errors import NotDifferentiableError
from tapegrad._transforms.closures import Hoisted
from tapegrad._tree import flatten, unflatten
from tapegrad.scipy._copies import BY_COPY, own_copy
from tapegrad.scipy._examples import is_number, of_examples
from tapegrad.scipy._formula import by_formula
from tapegrad.scipy.stats._methods import named
from tapegrad.scipy.stats._shared import unknown
from tapegrad.scipy.stats._univariate import DISTRIBUTIONS, Distribution, is_traced

# The methods, by the names that the distributions have for them.
_OF_POINTS = {
    "pdf": "pdf",
    "logpdf": "logpdf",
    "pmf": "pmf",
    "logpmf": "logpmf",
    "cdf": "cdf",
    "logcdf": "logcdf",
    "ccdf": "sf",
    "logccdf": "logsf",
    "icdf": "ppf",
    "iccdf": "isf",
}
_OF_PARAMETERS = {
    "mean": "mean",
    "variance": "var",
    "standard_deviation": "std",
    "median": "median",
    "entropy": "entropy",
}
_MOMENTS = {"skewness": "s", "kurtosis": "k"}
_ORDERS = range(5)  # whose moments are those of the distribution
_OF_LAWS = _OF_POINTS | _OF_PARAMETERS | _MOMENTS | {"moment": "moment"}


class _Classes(type):
    """Classes with the attributes of SciPy's; one that derives from them derives from SciPy's."""

    def __new__(cls, name: str, bases: tuple[Any, ...], contents: dict[str, Any]) -> Any:
        if "_kind" in contents or not any("_kind" in vars(base) for base in bases):
            return super().__new__(cls, name, bases, contents)
        kinds = tuple(vars(base).get("_kind", base) for base in bases)
        return type(kinds[0])(name, kinds, contents)  # whose formulas are its own

    def __getattr__(cls, name: str) -> Any:
        kind = vars(cls).get("_kind")
        if kind is None or name.startswith("__"):
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")
        return getattr(kind, name)

    def __eq__(cls, other: object) -> bool:
        """Whether it is this class or the one of SciPy's whose place it takes."""
        return cls is other or other is vars(cls).get("_kind", cls)

    def __hash__(cls) -> int:
        return hash(vars(cls).get("_kind")) if "_kind" in vars(cls) else type.__hash__(cls)


class Variable(metaclass=_Classes):
    """A random variable of SciPy's newer interface, whose parameters may be traced.

    Of plain values it is SciPy's. Given traced ones, pdf, cdf, icdf and their kin of one point,
    mean, variance, standard_deviation, median, entropy, skewness and kurtosis have the derivatives
    of the distribution; other methods, and what is computed with variables, `2 * X + 1` or
    `truncate(X, 0, 1)`, those of the steps that SciPy takes.

    Parameters
    ----------
    *args, **parameters : object
        Those of SciPy's class.

    Raises
    ------
    NotDifferentiableError
        Of draws with traced parameters; of a class that `make_distribution` makes, of any method
        but the first ones.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> from tapegrad.scipy import stats
    >>> tapegrad.grad(lambda mu: stats.Normal(mu=mu, sigma=2.0).logpdf(1.0))(0.0)
    np.float64(0.25)
    >>> tapegrad.grad(lambda mu: (stats.Normal(mu=mu, sigma=2.0) * 3.0).mean())(0.0)
    np.float64(3.0)
    """

    __array_ufunc__ = None  # an array on the left leaves its operators to those of a variable

    _kind: Any  # SciPy's class, or a function that makes a variable

    def __init__(self, *args: Any, **parameters: Any) -> None:
        self._given = args, parameters
        self._set: dict[str, Any] = {}  # attributes of SciPy's, as tol
        self._theirs: Any = None
        if not _is_moving(self._given):
            self._theirs = self._made(self._kind, "_theirs")

    def _made(self, make: Any, form: str) -> Any:
        """The variable by SciPy's class or its copy, of variables in this form."""
        leaves, structure = flatten(self._given)
        leaves = [getattr(x, form) if is_variable(x) else x for x in leaves]
        args, parameters = unflatten(structure, leaves)
        return make(*args, **parameters)

    @property
    def _copied(self) -> Any:
        """The variable of the copy of SciPy's code, in which values may be traced."""
        made = self._made(own_copy(self._kind), "_copied")
        for name, value in self._set.items():
            setattr(made, name, value)
        return made

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """SciPy's class, of plain values: its functions take the variable as one of their own."""
        theirs = vars(self).get("_theirs")
        return type(self) if theirs is None else type(theirs)

    def __reduce__(self) -> Any:
        return _restored, (type(self), *self._given, self._set)

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_"):
            object.__setattr__(self, name, value)
            return
        if self._theirs is not None:
            setattr(self._theirs, name, value)
        self._set[name] = value

    def __getattr__(self, name: str) -> Any:
        theirs = vars(self).get("_theirs")
        if name.startswith("_"):
            if name.startswith("__") or theirs is None:
                raise AttributeError(name)
            return getattr(theirs, name)  # what SciPy's functions ask of a variable
        if theirs is None:
            return self._differentiable(name)
        found = getattr(theirs, name)
        if not callable(found):
            return found

        def method(*args: Any, **kwds: Any) -> Any:
            call = self._differentiable(name) if is_traced(*args, **kwds) else found
            return call(*args, **kwds)

        return method

    def _differentiable(self, name: str) -> Any:
        """An attribute whose values, or those of whose arguments, may be traced."""
        if name == "sample":
            raise NotDifferentiableError(
                f"scipy.stats.{self._kind.__name__}.sample: draws are not differentiable. Use "
                "icdf of constant draws from the uniform distribution."
            )
        if not callable(getattr(scipy.stats.Normal, name, None)):
            return getattr(self._copied, name)

        def method(*args: Any, **kwds: Any) -> Any:
            return _called(self, name, *args, **kwds)

        return method

    def __repr__(self) -> str:
        if self._theirs is not None:
            return repr(self._theirs)
        return f"<tapegrad.scipy.stats.{self._kind.__name__}>"

    def __str__(self) -> str:
        return repr(self) if self._theirs is None else str(self._theirs)


def _array(value: Any) -> Any:
    """A list or tuple as an array, traced if a part of it is."""
    value = lift(value)
    return np.asarray(value) if isinstance(value, list | tuple) else value


def _called(variable: Any, name: str, *args: Any, **kwds: Any) -> Any:
    """A method by the copy of SciPy's code, which looks at numbers: of each example of a vmap."""
    return of_examples(_call_copied, (variable, name, *args), kwds)


def _call_copied(variable: Any, name: str, *args: Any, **kwds: Any) -> Any:
    """The same of one example; what is NaN has a derivative of NaN."""
    result = getattr(variable._copied, name)(*args, **kwds)
    if not is_number(result):
        return result
    nowhere = np.isnan(result)
    if not any_true(nowhere):
        return result
    moving = Hoisted((variable, args, kwds)).values
    moving = [x if x.shape == np.shape(result) else np.sum(x) for x in moving]
    return np.where(nowhere, unknown(*moving), result)


def is_variable(x: Any) -> bool:
    return issubclass(type(x), Variable)


def _is_moving(given: Any) -> bool:
    """Whether values among arguments are traced, or parameters of variables there."""
    leaves, _ = flatten(given)
    return is_traced(leaves) or any(is_variable(x) and x._theirs is None for x in leaves)


class Computed(Variable):
    """The result of a function of SciPy's, or of an operator, on variables."""

    def __init__(self, kind: Any, *args: Any, **options: Any) -> None:
        self._kind = kind
        super().__init__(*args, **options)

    def __reduce__(self) -> Any:
        args, options = self._given
        return _restored, (Computed, (self._kind, *args), options, self._set)


def _operated(x: Any, name: str, *others: Any) -> Any:
    return getattr(x, name)(*others)


def _operator(name: str) -> Callable[..., Any]:
    def operator(self: Variable, *others: Any) -> Any:
        return Computed(_operated, self, name, *others)

    operator.__name__ = name
    return operator


for _name in "add radd sub rsub mul rmul truediv rtruediv pow rpow neg abs".split():
    setattr(Variable, f"__{_name}__", _operator(f"__{_name}__"))


class OfLaw(Variable):
    """A random variable whose distribution has formulas for derivatives."""

    _dist: Distribution
    _names: tuple[str, ...]
    _arguments: Callable[..., dict[str, Any]]
    _methods: dict[Any, Any]  # as primitives, by name and the names of parameters

    def __init__(self, **parameters: Any) -> None:
        super().__init__(**parameters)

    @property
    def _copied(self) -> Any:
        if self._kind is not getattr(scipy.stats, self._kind.__name__, None):  # made
            raise NotDifferentiableError(
                f"scipy.stats.{self._kind.__name__}: this call is not differentiable. Use "
                f"tapegrad.scipy.stats.{self._dist.name}, or pass tapegrad.stop_gradient(...) "
                "of what is a constant."
            )
        return super()._copied

    def _differentiable(self, name: str) -> Any:
        given = self._given[1]
        if self._theirs is not None:
            given = {key: getattr(self._theirs, key) for key in self._names}
        if name in given:
            return given[name]
        if name not in _OF_LAWS or not given.keys() <= set(self._names):
            return super()._differentiable(name)

        def method(*args: Any, **kwds: Any) -> Any:
            options = {key: value for key, value in kwds.items() if key != "method"}
            points = args
            if name == "moment" and len(args) <= 2:
                options.update(zip(("order", "kind"), args, strict=False))
                points = ()
            if not _is_of_law(name, len(points), options):
                return _called(self, name, *args, **kwds)
            whole = isinstance(self._dist, scipy.stats.rv_discrete)
            if whole and name in _OF_POINTS and not name.startswith("ic"):
                _require_whole(f"scipy.stats.{self._kind.__name__}.{name}", args[0])
            rule = _method_of(type(self), name, tuple(given))
            return rule(*map(_array, (*points, *given.values())), **options)

        return method


def _is_of_law(name: str, points: int, options: dict[str, Any]) -> bool:
    """Whether a call has a formula; SciPy's steps have the derivatives of others."""
    if points != (name in _OF_POINTS):
        return False
    if name == "moment":
        order, kind = options.get("order", 1), options.get("kind", "raw")
        return order in _ORDERS and kind == "raw" and options.keys() <= {"order", "kind"}
    return not options or (name == "kurtosis" and options.keys() == {"convention"})


def _method_of(kind: type[OfLaw], name: str, names: tuple[str, ...]) -> Any:
    """A method as a primitive of points and parameters, which are of these names.

    The value is that of SciPy's class, and NaN for parameters outside of their domain.
    """
    known = kind._methods.get((name, names))
    if known is not None:
        return known
    points = name in _OF_POINTS

    def value(*arrays: Any, **options: Any) -> Any:
        variable = kind._kind(**dict(zip(names, arrays[points:], strict=True)))
        return getattr(variable, name)(*arrays[:points], **options)

    def formula(out: Any, *arrays: Any, order: int = 1, **_options: Any) -> Any:
        nowhere = np.isnan(out)
        if not any_true(~nowhere):
            return unknown(*arrays)
        arguments = kind._arguments(**dict(zip(names, arrays[points:], strict=True)))
        frozen: Any = kind._dist(**arguments)
        if name in _MOMENTS:
            result = frozen.stats(_MOMENTS[name])
        else:
            at = (order,) if name == "moment" else arrays[:points]
            result = getattr(frozen, _OF_LAWS[name])(*at)
        return np.where(nowhere, unknown(*arrays), result) if any_true(nowhere) else result

    rule = named(value, kind._kind.__name__, name)
    by_formula(rule, formula, arrays=points + len(names), reads_out=True)
    kind._methods[name, names] = rule
    return rule


def _require_whole(name: str, points: Any) -> None:
    """Refuse points at which SciPy's formulas of a discrete law interpolate."""
    points = raw_value(_array(points))
    if np.any((points != np.floor(points)) & ~np.isnan(points)):
        raise NotDifferentiableError(
            f"{name}: expected whole numbers where values are traced, got others. Between them "
            "SciPy interpolates: pass np.floor(x) for the law's own value."
        )


def _restored(
    kind: Any, args: tuple[Any, ...], parameters: dict[str, Any], settings: dict[str, Any]
) -> Any:
    made = kind(*args, **parameters)
    for name, value in settings.items():
        setattr(made, name, value)
    return made


_DOCSTRING = """SciPy's {name}, a random variable, with derivatives by its parameters.

Methods are those of SciPy's class, differentiable by their arguments and the parameters, as is
what arithmetic and `truncate`, `exp`, `log`, `abs`, `order_statistic` and `Mixture` make of it.

Parameters
----------
**parameters : array_like
    Of SciPy's class: {parameters}, and its options.

Raises
------
NotDifferentiableError
    Of draws with traced parameters.
"""
_EXAMPLE = """
Examples
--------
>>> from tapegrad.scipy import stats
>>> float(stats.{name}({given}).mean())
{mean}
"""
# Parameters, and the mean that they have.
_EXAMPLES = {
    "Normal": ("mu=1.0, sigma=2.0", 1.0),
    "Uniform": ("a=0.0, b=2.0", 1.0),
    "Logistic": ("", 0.0),
    "Binomial": ("n=4, p=0.25", 1.0),
}


def _docstring(kind: Any, names: tuple[str, ...]) -> Any:
    name = kind.__name__
    if name not in _EXAMPLES:  # of make_distribution, by which SciPy's text says what it is
        return kind.__doc__
    given, mean = _EXAMPLES[name]
    text = _DOCSTRING.format(name=name, parameters=", ".join(names) or "none")
    return text + _EXAMPLE.format(name=name, given=given, mean=mean)


def _class(
    kind: Any, dist: Distribution, names: tuple[str, ...], arguments: Callable[..., Any]
) -> type[OfLaw]:
    contents = {
        "_kind": kind,
        "_dist": dist,
        "_names": names,
        "_arguments": staticmethod(arguments),
        "_methods": {},
        "__doc__": _docstring(kind, names),
        "__module__": "tapegrad.scipy.stats",
        "__qualname__": kind.__name__,
    }
    return type(kind.__name__, (OfLaw,), contents)


_CLASSES: dict[str, tuple[str, tuple[str, ...], Callable[..., dict[str, Any]]]] = {
    "Normal": ("norm", ("mu", "sigma"), lambda mu=0.0, sigma=1.0: {"loc": mu, "scale": sigma}),
    "Uniform": ("uniform", ("a", "b"), lambda a, b: {"loc": a, "scale": b - a}),
    "Logistic": ("logistic", (), dict),
    "Binomial": ("binom", ("n", "p"), lambda n, p: {"n": n, "p": p}),
}
VARIABLES: dict[str, type[Variable]] = {
    name: _class(getattr(scipy.stats, name), DISTRIBUTIONS[dist], names, arguments)
    for name, (dist, names, arguments) in _CLASSES.items()
    if hasattr(scipy.stats, name)
}


_OF_MIXTURES = """A law that is one of several others, each with its weight.

Parameters
----------
components : sequence of random variables
    The laws, all continuous, of no dimensions.
weights : array_like, optional
    As many as components, with sum 1; equal unless given.

Examples
--------
>>> from tapegrad.scipy import stats
>>> mixture = stats.Mixture([stats.Normal(), stats.Normal(mu=2.0)], weights=[0.25, 0.75])
>>> float(mixture.mean())
1.5
"""

if hasattr(scipy.stats, "Mixture"):
    _contents = {
        "_kind": scipy.stats.Mixture,
        "__doc__": _OF_MIXTURES,
        "__signature__": inspect.signature(scipy.stats.Mixture),
        "__module__": "tapegrad.scipy.stats",
        "__qualname__": "Mixture",
    }
    VARIABLES["Mixture"] = type("Mixture", (Variable,), _contents)


def _computed_by(theirs: Any) -> Any:
    @functools.wraps(theirs)
    def function(*args: Any, **options: Any) -> Any:
        return Computed(theirs, *args, **options)

    function.__module__ = "tapegrad.scipy.stats"
    setattr(function, BY_COPY, True)
    return function


# Functions of variables.
OF_VARIABLES = {
    name: _computed_by(getattr(scipy.stats, name))
    for name in ("abs", "exp", "log", "order_statistic", "truncate")
    if hasattr(scipy.stats, name)
}


def make_distribution(dist: Any) -> Any:
    """Make the class of a distribution's random variables, as SciPy's make_distribution does.

    Parameters
    ----------
    dist : Distribution or rv_generic
        A distribution of this module, or of SciPy's; another object gives SciPy's own class, which
        takes plain values alone.

    Returns
    -------
    type
        The class; its parameters, by keyword, may be traced.

    Examples
    --------
    >>> import tapegrad
    >>> from tapegrad.scipy import stats
    >>> Gamma = make_distribution(stats.gamma)
    >>> round(float(tapegrad.grad(lambda a: Gamma(a=a).logpdf(1.0))(2.0)), 6)
    -0.422784
    """
    name = getattr(dist, "name", None) or ""
    theirs: Any = getattr(scipy.stats, name, None)
    own = DISTRIBUTIONS.get(name)
    if own is None or own != dist:
        return scipy.stats.make_distribution(dist)
    kind = scipy.stats.make_distribution(theirs)
    names = tuple(theirs.shapes.replace(" ", "").split(",")) if theirs.shapes else ()
    return _class(kind, own, names, dict)


__all__ = ["OF_VARIABLES", "VARIABLES", "Variable", "make_distribution"]
