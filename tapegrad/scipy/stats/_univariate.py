"""The distributions of one variable: objects of classes that derive from SciPy's.

Knows which methods have derivatives, free and frozen. Their formulas are in `_methods.py`
and in the tables of laws.
"""

from __future__ import annotations

import functools
import inspect
import types
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.stats

from tapegrad import unsupported
from tapegrad._core.values import Traced, are_untraced, innermost
from tapegrad._errors import InputError, NotDifferentiableError
from tapegrad._tree import flatten
from tapegrad.scipy.stats import _discrete, _half_line, _integrals, _intervals, _real_line
from tapegrad.scipy.stats._discrete_methods import DiscreteMethods
from tapegrad.scipy.stats._laws import Density
from tapegrad.scipy.stats._methods import ContinuousMethods, Methods, named, together
from tapegrad.scipy.stats._shared import OF_DRAWS

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

_MADE = (
    *("pdf", "logpdf", "pmf", "logpmf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf", "rvs"),
    *("mean", "var", "std", "entropy"),
)


def is_traced(*values: Any, **named: Any) -> bool:
    if any(isinstance(x, Traced) for x in values):  # the frequent case
        return True
    return not are_untraced(values, named) and innermost(flatten((values, named))[0]) is not None


_Generic: Any = scipy.stats.rv_continuous.__base__
_Continuous: Any = type(scipy.stats.norm())
_Discrete: Any = type(scipy.stats.poisson(1.0))
_Frozen: Any = _Continuous.__base__


def restored_by(found: Any, derive: Any) -> tuple[Any, ...]:
    """How pickle makes an object again whose class `derive` makes of one of SciPy's."""
    kind = type(found)
    theirs = vars(kind).get("_derived_from")  # a user's class has a name of its own
    made = (None, kind) if theirs is None else (derive, theirs)
    return _empty, made, found.__getstate__()


def _empty(derive: Any, kind: Any) -> Any:
    return object.__new__(kind if derive is None else derive(kind))


class Distribution(_Generic):
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

    if TYPE_CHECKING:  # which SciPy's classes have
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

        def __call__(self, *args: Any, **kwds: Any) -> Frozen: ...

    def freeze(self, *args: Any, **kwds: Any) -> Frozen:
        """The distribution with its parameters given."""
        kind = rv_discrete_frozen if self._is_discrete else rv_continuous_frozen
        return kind(self, *args, **kwds)

    # SciPy has tables by distribution, as that of fits in goodness_of_fit.
    def __eq__(self, other: object) -> bool:
        return other is self or other is _original(self) is not None

    def __hash__(self) -> int:
        return object.__hash__(_original(self) or self)

    def __reduce__(self) -> Any:
        return restored_by(self, _derived)

    def __repr__(self) -> str:
        return f"<tapegrad.scipy.stats.{self.name}>"

    def _rule(self, method: str) -> Any:
        """The method as a primitive."""
        theirs = _THEIRS.get(self.name, self)
        known = type(self) is _CLASSES.get(type(theirs))
        own, others = vars(self).keys(), vars(theirs).keys()
        if not own <= others:  # set on the object, as `_logpdf`
            known = known and not any(name in dir(type(self)) for name in own - others)
        if not known or (self.a, self.b) != (theirs.a, theirs.b):
            raise NotDifferentiableError(
                f"scipy.stats.{self.name}.{method}: not differentiable (tapegrad knows no formula "
                f"for it: {type(self).__name__} derives from a class of SciPy's, or has another "
                "support, or methods that were set on it)."
            )
        return _rule(self.name, method)

    def interval(self, confidence: Any, *args: Any, **kwds: Any) -> Any:
        """The ends of an interval of equal tails that has this probability."""
        if not is_traced(confidence, *args, **kwds):
            return super().interval(confidence, *args, **kwds)
        lower, upper = (1.0 - confidence) / 2, (1.0 + confidence) / 2
        return self.ppf(lower, *args, **kwds), self.ppf(upper, *args, **kwds)

    def stats(self, *args: Any, **kwds: Any) -> Any:
        """Mean, variance, skewness and excess kurtosis, by the letters in `moments=`."""
        if not is_traced(*args, **kwds):
            return super().stats(*args, **kwds)
        parameters = self.numargs + (1 if self._is_discrete else 2)
        letters = kwds.pop("moments", args[parameters] if len(args) > parameters else "mv")
        args = args[:parameters]
        kinds = {"m": "mean", "v": "var", "s": "_skewness", "k": "_kurtosis"}
        asked = [letter for letter in kinds if letter in letters]
        if len(asked) == 1:
            return self._rule(kinds[asked[0]])(*args, **kwds)
        with together("".join(asked)):
            return tuple(self._rule(kinds[letter])(*args, **kwds) for letter in asked)

    @property
    def _is_discrete(self) -> bool:
        return isinstance(self, scipy.stats.rv_discrete)

    def moment(self, order: Any, *args: Any, **kwds: Any) -> Any:
        """The moment of this order about zero, for orders 0 to 4."""
        if not is_traced(order, *args, **kwds):
            return super().moment(order, *args, **kwds)
        if not isinstance(order, (int, np.integer)) or not 0 <= order <= 4:
            raise InputError(
                f"scipy.stats.{self.name}.moment: expected an order of 0 to 4 with traced "
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
        third = self._rule("_skewness")(*args, **kwds) * variance**1.5
        if order == 3:
            return third + 3 * mean * variance + mean**3
        fourth = (self._rule("_kurtosis")(*args, **kwds) + 3) * variance**2
        return fourth + 4 * mean * third + 6 * mean**2 * variance + mean**4

    def nnlf(self, theta: Any, x: Any) -> Any:
        """The negative of the log-likelihood of data x; theta holds shapes, loc and scale."""
        if not is_traced(theta, x):
            return super().nnlf(theta, x)
        density = self.logpmf if self._is_discrete else self.logpdf
        return -np.sum(density(np.ravel(x), *theta))


def _original(found: Distribution) -> Any:
    """SciPy's distribution that one here stands for."""
    return _THEIRS[found.name] if DISTRIBUTIONS.get(found.name) is found else None


class Continuous(Distribution):
    """First base of the classes of continuous distributions."""

    # SciPy's own `fit` of a distribution calls that of its base, as `super(type(self), self).fit`.
    fit = scipy.stats.rv_continuous.fit


class Frozen(_Frozen):
    """First base of SciPy's classes of distributions with parameters, which may be traced."""

    if TYPE_CHECKING:  # which SciPy's classes have
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

    def __init__(self, dist: Any, *args: Any, **kwds: Any) -> None:
        if not is_traced(*args, **kwds):
            super().__init__(dist, *args, **kwds)
            return
        # A copy, for a random state of its own: SciPy makes one anew, which takes long.
        own = object.__new__(type(dist))
        vars(own).update(vars(dist), _random_state=np.random.mtrand._rand)
        if (seed := dist._ctor_param.get("seed")) is not None:
            own.random_state = seed
        self.dist, self.args, self.kwds, self.a, self.b = own, args, kwds, own.a, own.b

    def __repr__(self) -> str:
        return f"<frozen {self.dist!r}>"


class rv_continuous_frozen(Frozen, _Continuous):
    """A continuous distribution with its parameters."""


class rv_discrete_frozen(Frozen, _Discrete):
    """A discrete distribution with its parameters."""


@functools.cache
def methods_of(name: str) -> Methods | None:
    """The methods of the distribution of a name, by its law; None without one."""
    law = CONTINUOUS[name] if name in CONTINUOUS else DISCRETE.get(name)
    if law is None:
        return None
    continuous = isinstance(_THEIRS[name], scipy.stats.rv_continuous)
    return (ContinuousMethods if continuous else DiscreteMethods)(_THEIRS[name], law)


@functools.cache
def _rule(name: str, method: str) -> Any:
    """A method of the distribution of a name, as a primitive."""
    methods, reason = methods_of(name), _REFUSED.get(method)
    if reason is None and methods is not None:
        return methods.make(method)
    made = named(getattr(_THEIRS[name], method), name, method)
    unsupported(made, reason=reason or WITHOUT.get(name, "tapegrad knows no formula for it"))
    return made


def _method(theirs: Any, name: str) -> Any:
    """A method of a class of SciPy's, which takes traced values too."""

    @functools.wraps(theirs)
    def method(self: Any, *args: Any, **kwds: Any) -> Any:
        if not is_traced(*args, **kwds):
            return theirs(self, *args, **kwds)
        if name == "rvs" and kwds.get("random_state") is None:
            kwds["random_state"] = self._random_state
        return self._rule(name)(*args, **kwds)

    return method


def _derived(theirs: Any) -> type:
    """The class of a distribution of SciPy's, with derivatives."""
    made = _CLASSES.get(theirs)
    if made is None:
        names = [name for name in (*_MADE, *_REFUSED) if hasattr(theirs, name)]
        methods = {name: _method(getattr(theirs, name), name) for name in names}
        contents = {"__doc__": theirs.__doc__, "_derived_from": theirs, **methods}
        base: type = Distribution
        if issubclass(theirs, scipy.stats.rv_continuous):
            base = Continuous
            methods["rvs"].__doc__ = f"{inspect.getdoc(theirs.rvs)}\n{OF_DRAWS}"
        made = _CLASSES[theirs] = type(theirs.__name__, (base, theirs), contents)
    return made


def _copy(theirs: Any, kind: type) -> Any:
    """A distribution of SciPy's as one of a class of ours, with methods that it alone has."""
    made: Any = object.__new__(kind)
    made.__setstate__(theirs.__getstate__())
    for name, part in vars(theirs).items():
        if isinstance(part, types.MethodType) and part.__self__ is theirs:
            setattr(made, name, types.MethodType(part.__func__, made))
    return made


_CLASSES: dict[type, type] = {}
_THEIRS: dict[str, Any] = {}
DISTRIBUTIONS: dict[str, Distribution] = {}

for _name in dir(scipy.stats):
    _found = getattr(scipy.stats, _name)
    if isinstance(_found, (scipy.stats.rv_continuous, scipy.stats.rv_discrete)):
        _THEIRS[_found.name] = _found
        DISTRIBUTIONS[_name] = _copy(_found, _derived(type(_found)))

__all__ = [
    "CONTINUOUS",
    "DISCRETE",
    "DISTRIBUTIONS",
    "WITHOUT",
    "Distribution",
    "Frozen",
    "is_traced",
    "methods_of",
    "restored_by",
]
