"""Random variables: the classes of SciPy's newer interface, Normal, Uniform and their like.

Each is one of the distributions in other words. Of plain values it is SciPy's own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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


class Variable:
    """A random variable with parameters by keyword, which may be traced.

    pdf, logpdf, pmf, logpmf, cdf, logcdf, ccdf, logccdf, icdf and iccdf of one point, mean,
    variance, standard_deviation, median, entropy, skewness and kurtosis have derivatives. Of plain
    values each is SciPy's.

    Parameters
    ----------
    **parameters : array_like
        Those of SciPy's class, which broadcast; with plain values its options too.

    Raises
    ------
    NotDifferentiableError
        Of another method, or of arithmetic, with traced values.
    TypeError
        If there are options beside traced values.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> from tapegrad.scipy import stats
    >>> tapegrad.grad(lambda mu: stats.Normal(mu=mu, sigma=2.0).logpdf(1.0))(0.0)
    np.float64(0.25)
    """

    _kind: Any  # SciPy's class
    _dist: Distribution
    _names: tuple[str, ...]
    _arguments: Callable[..., dict[str, Any]]

    def __init__(self, **parameters: Any) -> None:
        options = {name: value for name, value in parameters.items() if name not in self._names}
        given = {name: value for name, value in parameters.items() if name in self._names}
        self._theirs: Any = None
        if not is_traced(given):
            self._theirs = self._kind(**parameters)
            given = {name: getattr(self._theirs, name) for name in self._names}
        elif options:
            raise TypeError(
                f"{self._kind.__name__}: expected the parameters {self._names}, got "
                f"{sorted(options)} beside traced values."
            )
        self._given = parameters
        self._frozen = self._dist(**type(self)._arguments(**given))

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """SciPy's class, of plain values: its functions take the variable as one of their own."""
        return type(self) if vars(self).get("_theirs") is None else self._kind

    def __reduce__(self) -> Any:
        return _restored, (type(self), self._given)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            theirs = None if name.startswith("__") else vars(self).get("_theirs")
            if theirs is None:
                raise AttributeError(name)
            return getattr(theirs, name)  # what SciPy's functions ask of a variable
        theirs = None if self._theirs is None else getattr(self._theirs, name)
        if theirs is not None and not callable(theirs):
            return theirs

        def method(*args: Any, **kwds: Any) -> Any:
            if theirs is not None and not is_traced(*args, **kwds):
                return theirs(*args, **kwds)
            return self._differentiable(name, args, kwds)

        return method

    def _differentiable(self, name: str, args: tuple[Any, ...], kwds: dict[str, Any]) -> Any:
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
            f"scipy.stats.{self._kind.__name__}.{name}: this call is not differentiable. Use "
            f"tapegrad.scipy.stats.{self._dist.name}, or pass tapegrad.stop_gradient(...) "
            "of what is a constant."
        )

    def _plain(self, operation: str) -> Any:
        if self._theirs is None:
            raise NotDifferentiableError(
                f"scipy.stats.{self._kind.__name__}: {operation} of a variable with traced "
                "parameters is not differentiable. Shift and scale its parameters."
            )
        return self._theirs

    def __add__(self, other: Any) -> Any:
        return self._plain("a sum") + other

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._plain("a difference") - other

    def __rsub__(self, other: Any) -> Any:
        return other - self._plain("a difference")

    def __mul__(self, other: Any) -> Any:
        return self._plain("a product") * other

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return self._plain("a quotient") / other

    def __neg__(self) -> Any:
        return -self._plain("a negative")

    def __pow__(self, other: Any) -> Any:
        return self._plain("a power") ** other

    def __abs__(self) -> Any:
        return abs(self._plain("an absolute value"))

    def __repr__(self) -> str:
        if self._theirs is not None:
            return repr(self._theirs)
        return f"<tapegrad.scipy.stats.{self._kind.__name__}>"


def _restored(kind: Any, parameters: dict[str, Any]) -> Any:
    return kind(**parameters)


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


def _docstring(kind: Any, names: tuple[str, ...]) -> Any:
    name = kind.__name__
    if name not in _EXAMPLES:  # of make_distribution, by which SciPy's text says what it is
        return kind.__doc__
    given, mean = _EXAMPLES[name]
    text = _DOCSTRING.format(name=name, parameters=", ".join(names) or "none")
    return text + _EXAMPLE.format(name=name, given=given, mean=mean)


def _class(
    kind: Any, dist: Distribution, names: tuple[str, ...], arguments: Callable[..., Any]
) -> type[Variable]:
    contents = {
        "_kind": kind,
        "_dist": dist,
        "_names": names,
        "_arguments": staticmethod(arguments),
        "__doc__": _docstring(kind, names),
        "__module__": "tapegrad.scipy.stats",
        "__qualname__": kind.__name__,
    }
    return type(kind.__name__, (Variable,), contents)


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
    if own is None or own != dist:
        return scipy.stats.make_distribution(dist)
    kind = scipy.stats.make_distribution(theirs)
    names = tuple(theirs.shapes.replace(" ", "").split(",")) if theirs.shapes else ()
    return _class(kind, own, names, dict)


__all__ = ["VARIABLES", "Variable", "make_distribution"]
