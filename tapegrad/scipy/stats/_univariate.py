"""The distributions of one variable: objects with SciPy's names, parameters and methods.

Knows how SciPy calls its methods, free and frozen. What they are differentiated by is in
`_methods.py` and in the tables of laws.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.stats

from tapegrad import unsupported
from tapegrad._core.values import are_untraced, innermost
from tapegrad._errors import InputError
from tapegrad._tree import flatten
from tapegrad.scipy.stats import _discrete, _half_line, _integrals, _intervals, _real_line
from tapegrad.scipy.stats._discrete_methods import DiscreteMethods
from tapegrad.scipy.stats._laws import Density
from tapegrad.scipy.stats._methods import ContinuousMethods, Methods, named

if TYPE_CHECKING:
    from tapegrad.scipy._kinds import Elementwise

CONTINUOUS: dict[str, Density] = {
    **_real_line.LAWS,
    **_half_line.LAWS,
    **_intervals.LAWS,
    **_integrals.LAWS,
}
DISCRETE: dict[str, Density] = _discrete.LAWS

# Distributions without a law, and why: calls of them on traced values say so.
WITHOUT: dict[str, str] = {
    "hypergeom": "its parameters are whole numbers",
    "irwinhall": "its parameter is a whole number",
    "kstwo": "its parameter is a whole number",
    "ksone": "its parameter is a whole number",
    "kstwobign": "it is a distribution of a test, of which no slope is known here",
    "landau": "no closed form of its density is known",
    "levy_stable": "no closed form of its density is known",
    "nchypergeom_wallenius": "no closed form of its probabilities is known",
    "nhypergeom": "its parameters are whole numbers",
    "poisson_binom": "no formula for its probabilities is here: convolve those of its trials",
    "randint": "its parameters are whole numbers",
    "studentized_range": "it is a distribution of a test, of which no slope is known here",
}

_REFUSED = {
    "fit": "an optimum that SciPy searches: minimise the negative of logpdf(data, ...).sum()",
    "expect": "of traced parameters: write np.sum(weights * function(nodes) * pdf(nodes, ...))",
    "fit_loc_scale": "estimates by SciPy's moments: compute them from np.mean and np.std",
    "support": "ends of a support: they are loc + scale * end",
}

_POINTS = ("pdf", "logpdf", "pmf", "logpmf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf", "rvs")
_OWN = (*_POINTS, "mean", "var", "std", "entropy", "_skewness", "_kurtosis")


def is_traced(*values: Any, **named: Any) -> bool:
    return not are_untraced(values, named) and innermost(flatten((values, named))[0]) is not None


class Distribution:
    """A distribution of SciPy's, with derivatives by points and parameters.

    It is called as SciPy's object is: `gamma.logpdf(x, a, loc=0, scale=1)`, `gamma(a).logpdf(x)`.
    Points and parameters are numbers or arrays that broadcast; results are of dtype float64, as
    SciPy's are. Of plain values every method is SciPy's own.

    pdf, logpdf, pmf, logpmf, cdf, logcdf, sf, logsf, ppf, isf, rvs, mean, var, std, median,
    interval, moment, stats, entropy, nnlf have derivatives; another method, given traced values,
    raises NotDifferentiableError. Whole numbers (points, location and sizes of a discrete
    distribution) are constants. The docstring of `rvs` says along which path a draw moves.

    >>> import numpy as np, tapegrad
    >>> from tapegrad.scipy import stats
    >>> tapegrad.grad(stats.norm.logpdf, (0, 1, 2))(1.0, 0.0, 2.0)
    (np.float64(-0.25), np.float64(0.25), np.float64(-0.375))
    >>> tapegrad.grad(lambda mu: stats.poisson.logpmf(3, mu))(2.0)
    np.float64(0.5)
    """

    if TYPE_CHECKING:  # what `__getattr__` makes
        pdf: Elementwise
        logpdf: Elementwise
        pmf: Elementwise
        logpmf: Elementwise
        cdf: Elementwise
        logcdf: Elementwise
        sf: Elementwise
        logsf: Elementwise
        ppf: Elementwise
        isf: Elementwise
        mean: Elementwise
        var: Elementwise
        std: Elementwise
        entropy: Elementwise

    def __init__(self, theirs: Any) -> None:
        self._theirs = theirs
        self.__doc__ = theirs.__doc__
        name = theirs.name
        law = CONTINUOUS[name] if name in CONTINUOUS else DISCRETE.get(name)
        continuous = isinstance(theirs, scipy.stats.rv_continuous)
        self._methods: Methods | None = None
        if law is not None:
            self._methods = (ContinuousMethods if continuous else DiscreteMethods)(theirs, law)

    def __getattr__(self, name: str) -> Any:
        """A method, made when it is asked for; other attributes are those of SciPy's object."""
        if name.startswith("__") or name in ("_theirs", "_methods"):
            raise AttributeError(name)
        made = self._made(name)
        if made is None:
            made = getattr(self._theirs, name)
        if callable(made):
            made = vars(self).setdefault(name, made)
        return made

    def _made(self, name: str) -> Any:
        theirs, methods = self._theirs, self._methods
        is_own = name in _OWN and (name.startswith("_") or hasattr(theirs, name))
        if methods is not None and is_own:
            return methods.make(name)
        reason = _REFUSED.get(name)
        if methods is None and is_own:
            reason = WITHOUT.get(theirs.name, "tapegrad knows no formula for it")
        if reason is None or name.startswith("_"):
            return None
        made = named(getattr(theirs, name), theirs.name, name)
        unsupported(made, reason=reason)
        return made

    def __call__(self, *args: Any, **kwds: Any) -> Frozen:
        return Frozen(self, args, kwds)

    def freeze(self, *args: Any, **kwds: Any) -> Frozen:
        """The distribution with its parameters given."""
        return Frozen(self, args, kwds)

    def __reduce__(self) -> Any:
        return _by_name, (self._theirs.name,)

    def __repr__(self) -> str:
        return f"<tapegrad.scipy.stats.{self._theirs.name}>"

    def median(self, *args: Any, **kwds: Any) -> Any:
        return self.ppf(0.5, *args, **kwds)

    def interval(self, confidence: Any, *args: Any, **kwds: Any) -> Any:
        """The ends of an interval of equal tails that has this probability."""
        if not is_traced(confidence, *args, **kwds):
            return self._theirs.interval(confidence, *args, **kwds)
        lower, upper = (1.0 - confidence) / 2, (1.0 + confidence) / 2
        return self.ppf(lower, *args, **kwds), self.ppf(upper, *args, **kwds)

    def stats(self, *args: Any, **kwds: Any) -> Any:
        """Mean, variance, skewness and excess kurtosis, by the letters in `moments=`."""
        if not is_traced(*args, **kwds):
            return self._theirs.stats(*args, **kwds)
        count = len(self._theirs.shapes.split(",")) if self._theirs.shapes else 0
        parameters = count + (1 if self._is_discrete else 2)
        letters = kwds.pop("moments", args[parameters] if len(args) > parameters else "mv")
        args = args[:parameters]
        kinds = {"m": "mean", "v": "var", "s": "_skewness", "k": "_kurtosis"}
        found = tuple(
            getattr(self, kind)(*args, **kwds)
            for letter, kind in kinds.items()
            if letter in letters
        )
        return found[0] if len(found) == 1 else found

    @property
    def _is_discrete(self) -> bool:
        return isinstance(self._theirs, scipy.stats.rv_discrete)

    def moment(self, order: Any, *args: Any, **kwds: Any) -> Any:
        """The moment of this order about zero, for orders 0 to 4."""
        if not is_traced(order, *args, **kwds):
            return self._theirs.moment(order, *args, **kwds)
        if not isinstance(order, (int, np.integer)) or not 0 <= order <= 4:
            raise InputError(
                f"scipy.stats.{self._theirs.name}.moment: expected an order of 0 to 4 with traced "
                f"parameters, got {order!r}. Other moments are integrals of x**order * pdf(x)."
            )
        if order == 0:
            return 1.0 + 0 * self.mean(*args, **kwds)
        mean = self.mean(*args, **kwds)
        if order == 1:
            return mean
        variance = self.var(*args, **kwds)
        second = variance + mean**2
        if order == 2:
            return second
        third = self._skewness(*args, **kwds) * variance**1.5
        if order == 3:
            return third + 3 * mean * variance + mean**3
        fourth = (self._kurtosis(*args, **kwds) + 3) * variance**2
        return fourth + 4 * mean * third + 6 * mean**2 * variance + mean**4

    def nnlf(self, theta: Any, x: Any) -> Any:
        """The negative of the log-likelihood of data x; theta holds shapes, loc and scale."""
        if not is_traced(theta, x):
            return self._theirs.nnlf(theta, x)
        density = self.logpmf if self._is_discrete else self.logpdf
        return -np.sum(density(np.ravel(x), *theta))


class Frozen:
    """A distribution with its parameters, which may be traced: its methods take points alone."""

    if TYPE_CHECKING:  # what `__getattr__` makes
        pdf: Elementwise
        logpdf: Elementwise
        pmf: Elementwise
        logpmf: Elementwise
        cdf: Elementwise
        logcdf: Elementwise
        sf: Elementwise
        logsf: Elementwise
        ppf: Elementwise
        isf: Elementwise
        mean: Elementwise
        var: Elementwise
        std: Elementwise
        median: Elementwise
        entropy: Elementwise

    def __init__(self, dist: Distribution, args: tuple[Any, ...], kwds: dict[str, Any]) -> None:
        self.dist, self.args, self.kwds = dist, args, kwds
        self._frozen = None if is_traced(*args, **kwds) else dist._theirs(*args, **kwds)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name in ("dist", "args", "kwds"):
            raise AttributeError(name)
        if name in _POINTS:
            return self._of_points(name)
        if self._frozen is not None:
            return getattr(self._frozen, name)
        method = getattr(self.dist, name)
        if not callable(method):
            return method
        return lambda *args, **kwds: method(*args, *self.args, **{**self.kwds, **kwds})

    def _of_points(self, name: str) -> Any:
        method = getattr(self.dist, name)
        if name == "rvs":
            return self._draw
        return lambda x: method(x, *self.args, **self.kwds)

    def _draw(self, size: Any = None, random_state: Any = None) -> Any:
        if self._frozen is not None:
            return self._frozen.rvs(size=size, random_state=random_state)
        return self.dist.rvs(*self.args, **self.kwds, size=size, random_state=random_state)

    def interval(self, confidence: Any) -> Any:
        return self.dist.interval(confidence, *self.args, **self.kwds)

    def moment(self, order: int) -> Any:
        return self.dist.moment(order, *self.args, **self.kwds)

    def stats(self, moments: str = "mv") -> Any:
        return self.dist.stats(*self.args, **self.kwds, moments=moments)

    def __reduce__(self) -> Any:
        return Frozen, (self.dist, self.args, self.kwds)

    def __repr__(self) -> str:
        return f"<frozen {self.dist!r}>"


DISTRIBUTIONS: dict[str, Distribution] = {}


def _by_name(name: str) -> Distribution:
    return DISTRIBUTIONS[name]


for _name in dir(scipy.stats):
    _found = getattr(scipy.stats, _name)
    if isinstance(_found, (scipy.stats.rv_continuous, scipy.stats.rv_discrete)):
        DISTRIBUTIONS[_name] = Distribution(_found)

__all__ = [
    "CONTINUOUS",
    "DISCRETE",
    "DISTRIBUTIONS",
    "WITHOUT",
    "Distribution",
    "Frozen",
    "is_traced",
]
