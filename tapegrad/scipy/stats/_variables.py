"""Random variables: the classes of SciPy's newer interface, Normal, Uniform and their like.

Each is one of the distributions in other words. Of plain values it is SciPy's own.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, cast

import scipy.stats

from tapegrad._errors import NotDifferentiableError
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


_ARITHMETIC = (
    *("__add__", "__radd__", "__sub__", "__rsub__", "__mul__", "__rmul__", "__truediv__"),
    *("__rtruediv__", "__pow__", "__rpow__", "__neg__", "__abs__"),
)


class Variable:
    """A random variable with parameters by keyword: SciPy's, of a class that derives from SciPy's.

    Its methods take traced values: see `TracedVariable`, which it is with traced parameters.
    """

    __slots__ = ()  # an object of SciPy's becomes one of this class

    _kind: Any  # SciPy's class
    _dist: Distribution
    _names: tuple[str, ...]
    _arguments: Callable[..., dict[str, Any]]

    def __new__(cls, *args: Any, **parameters: Any) -> Any:
        if is_traced(*args, **parameters):
            return TracedVariable(cls, parameters)
        made = cls._kind(*args, **parameters)
        own, theirs = cast("tuple[Any, Any]", (cls, type(made)))
        made.__class__ = _derived(own, theirs)
        return made

    def __init__(self, *args: Any, **parameters: Any) -> None:
        """Do nothing: SciPy's has set the attributes."""

    def __reduce__(self) -> Any:
        made = vars(type(self)).get("_derived_from", (type(self), self._kind))
        return _empty, made, self.__getstate__()

    def _traced(self, name: str, args: tuple[Any, ...], kwds: dict[str, Any]) -> Any:
        parameters = {name: getattr(self, name) for name in self._names}
        return getattr(TracedVariable(type(self), parameters), name)(*args, **kwds)


@functools.cache
def _derived(own: Any, theirs: Any) -> Any:
    """Our class of objects of SciPy's class, which may be one derived from that of `own`."""
    if theirs is own._kind:
        return own
    contents = {
        "__module__": own.__module__,
        "__slots__": (),
        "__init__": Variable.__init__,
        "_derived_from": (own, theirs),
    }
    return type(theirs.__name__, (theirs, own), contents)


def _empty(own: Any, theirs: Any) -> Any:
    return object.__new__(_derived(own, theirs))


class TracedVariable:
    """A random variable of which a parameter is traced.

    pdf, logpdf, pmf, logpmf, cdf, logcdf, ccdf, logccdf, icdf and iccdf of one point, mean,
    variance, standard_deviation, median, entropy, skewness and kurtosis have derivatives; another
    method, and arithmetic, raise NotDifferentiableError.
    """

    def __init__(self, kind: Any, parameters: dict[str, Any]) -> None:
        if options := sorted(set(parameters) - set(kind._names)):
            raise TypeError(
                f"{kind._kind.__name__}: expected the parameters {kind._names}, got "
                f"{options} beside traced values."
            )
        self._of, self._parameters = kind, parameters
        self._frozen = kind._dist(**kind._arguments(**parameters))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(self._of._kind, name):
            raise AttributeError(name)
        if name in self._parameters:
            return self._parameters[name]
        return functools.partial(self._differentiable, name)

    def _differentiable(self, name: str, *args: Any, **kwds: Any) -> Any:
        kwds = {key: value for key, value in kwds.items() if key != "method"}
        if name in _OF_POINTS and len(args) == 1 and not kwds:
            return getattr(self._frozen, _OF_POINTS[name])(args[0])
        if name in _OF_PARAMETERS and not args and not kwds:
            return getattr(self._frozen, _OF_PARAMETERS[name])()
        if name == "skewness" and not args and not kwds:
            return self._frozen.stats("s")
        if name == "kurtosis" and not args and set(kwds) <= {"convention"}:
            excess = self._frozen.stats("k")
            return excess if kwds.get("convention") == "excess" else excess + 3
        raise NotDifferentiableError(
            f"scipy.stats.{self._of._kind.__name__}.{name}: this call is not differentiable. Use "
            f"tapegrad.scipy.stats.{self._of._dist.name}, or pass tapegrad.stop_gradient(...) "
            "of what is a constant."
        )

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self._parameters.items())
        return f"{self._of._kind.__name__}({given})"


def _method(name: str, theirs: Any) -> Any:
    @functools.wraps(theirs)
    def method(self: Any, *args: Any, **kwds: Any) -> Any:
        if is_traced(*args, **kwds):
            return self._traced(name, args, kwds)
        return theirs(self, *args, **kwds)

    return method


def _refused(name: str) -> Any:
    def operation(self: Any, *_: Any) -> Any:
        raise NotDifferentiableError(
            f"scipy.stats.{self._of._kind.__name__}.{name}: arithmetic of a variable with traced "
            "parameters is not differentiable. Shift and scale its parameters."
        )

    return operation


for _name in _ARITHMETIC:
    setattr(TracedVariable, _name, _refused(_name))


_DOCSTRING = """SciPy's {name}, a random variable, with derivatives by its parameters.

Methods are those of SciPy's class: pdf, cdf, icdf and their kin, and the moments, are
differentiable by the point and by the parameters.

Parameters
----------
**parameters : array_like
    Of SciPy's class: {parameters}. With plain values its options too.

Raises
------
NotDifferentiableError
    Of another method, or of arithmetic, with traced values.
TypeError
    If there are options beside traced values.
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


def _docstring(name: str, names: tuple[str, ...]) -> str:
    text = _DOCSTRING.format(name=name, parameters=", ".join(names) or "none")
    if name not in _EXAMPLES:
        return text
    given, mean = _EXAMPLES[name]
    return text + _EXAMPLE.format(name=name, given=given, mean=mean)


def _class(
    kind: Any, dist: Distribution, names: tuple[str, ...], arguments: Callable[..., Any]
) -> type[Variable]:
    methods = {
        name: _method(name, theirs)
        for name in dir(kind)
        if inspect.isfunction(theirs := getattr(kind, name))
        and (name in _ARITHMETIC or not name.startswith("_"))
    }
    contents = {
        **methods,
        "__slots__": (),
        "__new__": Variable.__new__,
        "__init__": Variable.__init__,
        "__reduce__": Variable.__reduce__,
        "_kind": kind,
        "_dist": dist,
        "_names": names,
        "_arguments": staticmethod(arguments),
        "__doc__": _docstring(kind.__name__, names),
        "__module__": "tapegrad.scipy.stats",
        "__qualname__": kind.__name__,
    }
    # SciPy's class first: so Python lets one of its objects become one of this class.
    return type(kind.__name__, (kind, Variable), contents)


_CLASSES: dict[str, tuple[str, tuple[str, ...], Callable[..., dict[str, Any]]]] = {
    "Normal": ("norm", ("mu", "sigma"), lambda mu=0.0, sigma=1.0: {"loc": mu, "scale": sigma}),
    "Uniform": ("uniform", ("a", "b"), lambda a, b: {"loc": a, "scale": b - a}),
    "Logistic": ("logistic", (), dict),
    "Binomial": ("binom", ("n", "p"), lambda n, p: {"n": n, "p": p}),
}
VARIABLES = {
    name: _class(getattr(scipy.stats, name), DISTRIBUTIONS[dist], names, arguments)
    for name, (dist, names, arguments) in _CLASSES.items()
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
    if own is None or not (dist is own or dist is theirs):
        return scipy.stats.make_distribution(dist)
    kind = scipy.stats.make_distribution(theirs)
    names = tuple(theirs.shapes.replace(" ", "").split(",")) if theirs.shapes else ()
    return _class(kind, own, names, dict)


__all__ = ["VARIABLES", "Variable", "make_distribution"]
