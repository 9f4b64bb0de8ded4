"""The distributions of vectors and matrices: objects with SciPy's names and methods."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.stats

from tapegrad import general, primitive, unsupported
from tapegrad._core.values import lift
from tapegrad._errors import NotDifferentiableError
from tapegrad.scipy import _special as sp
from tapegrad.scipy._formula import by_formula
from tapegrad.scipy.stats import _matrices as m
from tapegrad.scipy.stats import _vectors as v
from tapegrad.scipy.stats._laws import slope
from tapegrad.scipy.stats._shared import OF_DRAWS
from tapegrad.scipy.stats._univariate import is_traced, restored_by


def _exp(formula: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args, **kwargs: np.exp(formula(*args, **kwargs))


def _densities(formula: Callable[..., Any], discrete: bool = False) -> dict[str, Any]:
    names = ("logpmf", "pmf") if discrete else ("logpdf", "pdf")
    return {names[0]: formula, names[1]: _exp(formula)}


def _student_pdf(*args: Any, allow_singular: bool = False, **kwargs: Any) -> Any:
    return np.exp(v.student_logpdf(*args, **kwargs))


FORMULAS: dict[str, dict[str, Any]] = {
    "dirichlet": {
        **_densities(v.dirichlet_logpdf),
        "mean": v.dirichlet_mean,
        "var": v.dirichlet_var,
        "cov": v.dirichlet_cov,
        "entropy": v.dirichlet_entropy,
    },
    "dirichlet_multinomial": {
        **_densities(v.dirichlet_multinomial_logpmf, discrete=True),
        "mean": v.dirichlet_multinomial_mean,
        "var": v.dirichlet_multinomial_var,
        "cov": v.dirichlet_multinomial_cov,
    },
    "invwishart": {
        **_densities(m.invwishart_logpdf),
        "mean": m.invwishart_mean,
        "mode": m.invwishart_mode,
        "var": m.invwishart_var,
        "entropy": m.invwishart_entropy,
        "rvs": m.invwishart_rvs,
    },
    "matrix_normal": {
        **_densities(m.matrix_normal_logpdf),
        "entropy": m.matrix_normal_entropy,
        "rvs": m.matrix_normal_rvs,
    },
    "matrix_t": _densities(m.matrix_t_logpdf),
    "multinomial": {
        **_densities(v.multinomial_logpmf, discrete=True),
        "mean": v.multinomial_mean,
        "cov": v.multinomial_cov,
    },
    "multivariate_hypergeom": {},
    "multivariate_normal": {
        **_densities(v.normal_logpdf),
        "entropy": v.normal_entropy,
        "rvs": v.normal_rvs,
    },
    "multivariate_t": {
        "logpdf": v.student_logpdf,
        "pdf": _student_pdf,
        "entropy": v.student_entropy,
        "rvs": v.student_rvs,
    },
    "normal_inverse_gamma": _densities(v.normal_inverse_gamma_logpdf),
    "random_table": {},
    "uniform_direction": {},
    "vonmises_fisher": {**_densities(v.fisher_logpdf), "entropy": v.fisher_entropy},
    "wishart": {
        **_densities(m.wishart_logpdf),
        "mean": m.wishart_mean,
        "mode": m.wishart_mode,
        "var": m.wishart_var,
        "entropy": m.wishart_entropy,
        "rvs": m.wishart_rvs,
    },
}

DRAWN = ("dirichlet", *(name for name, formulas in FORMULAS.items() if "rvs" in formulas))

_REASONS = {
    "cdf": "an integral that SciPy estimates at random points",
    "logcdf": "an integral that SciPy estimates at random points",
    "fit": "an optimum that SciPy searches: minimise the negative of logpdf(...).sum()",
    "rvs": "no path is known along which its draws move with the parameters",
}
_WHOLE = ("multivariate_hypergeom", "random_table", "uniform_direction")
# The arguments of the methods that are no arrays.
_SETTINGS = ("allow_singular", "size", "random_state", "seed", "rng", "n", "method", "dimensions")


_Generic: Any = type(scipy.stats.multivariate_normal).__base__


class Multivariate(_Generic):
    """A distribution of vectors or matrices of SciPy's, with derivatives.

    It is called as SciPy's object is: `multivariate_normal.logpdf(x, mean, cov)`, or frozen,
    `multivariate_normal(mean, cov).logpdf(x)`. Of plain values every method is SciPy's own. The
    densities have derivatives by points and parameters, the moments by parameters, and `rvs` of
    normal, t, Dirichlet and Wishart distributions by parameters, in the way that the docstring of
    `rvs` says; another method, given traced
    values, raises NotDifferentiableError. Matrices that are symmetric have symmetric gradients.

    >>> import numpy as np, tapegrad
    >>> from tapegrad.scipy import stats
    >>> tapegrad.grad(stats.multivariate_normal.logpdf)(np.array([1.0, 0.0]), np.zeros(2), 2.0)
    array([-0.5,  0. ])
    """

    def __call__(self, *args: Any, **kwds: Any) -> Any:
        given = inspect.signature(super().__call__).bind(*args, **kwds).arguments
        if is_traced(*args, **kwds):
            return FrozenMultivariate(self, given)
        frozen = super().__call__(*args, **kwds)
        theirs: Any = type(frozen)
        frozen.__class__ = _derived_frozen(theirs)
        frozen._of, frozen._given, frozen._made = self, given, None
        frozen._made = dict(vars(frozen))
        return frozen

    def __reduce__(self) -> Any:
        return restored_by(self, _derived)

    def __repr__(self) -> str:
        return f"<tapegrad.scipy.stats.{_NAMES.get(type(self), type(self).__name__)}>"


class FrozenMultivariate:
    """A distribution with its parameters, of which some are traced."""

    def __init__(self, dist: Multivariate, given: dict[str, Any]) -> None:
        self._of = object.__new__(type(dist))
        self._of.__dict__.update(dist.__dict__)
        self._given = {key: value for key, value in given.items() if key != "seed"}
        self.random_state = given.get("seed")

    @property
    def random_state(self) -> Any:
        """The state of its draws."""
        return self._of.random_state

    @random_state.setter
    def random_state(self, seed: Any) -> None:
        self._of.random_state = seed

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if callable(getattr(self._of, name, None)):
            return functools.partial(_call, self, name)
        if name in self._given:
            return self._given[name]
        raise AttributeError(f"{self!r} has no attribute {name!r}, as parameters are traced")

    def __repr__(self) -> str:
        return f"<frozen {self._of!r}>"


def _call(frozen: Any, name: str, *args: Any, **kwds: Any) -> Any:
    """A method of a distribution whose parameters are given."""
    method = getattr(frozen._of, name)
    names = inspect.signature(method).parameters
    held = vars(frozen)
    _refuse_changes(f"{type(frozen._of).__name__}.{name}", held)
    given = {key: held.get(key, x) for key, x in frozen._given.items() if key in names}
    free = [key for key in names if key not in given]
    return method(**given, **dict(zip(free, args, strict=False)), **kwds)


# Parameters that SciPy's frozen distributions read where they are held; others they turn into
# attributes of their own (a factor of a matrix), which decide.
_READ = frozenset("mean loc df alpha kappa mu row_spread _made _random_state random_state".split())


def _refuse_changes(call: str, held: dict[str, Any]) -> None:
    """Raise NotDifferentiableError where an attribute was set, on which derived ones depend."""
    made = held.get("_made")
    if made is None:
        return
    for name, value in held.items():
        before = made.get(name, made)
        same = before is value or isinstance(value, (int, float, str)) and before == value
        if name not in _READ and not same:
            raise NotDifferentiableError(
                f"scipy.stats.{call}: not differentiable after {name} was set. Freeze the "
                "distribution with the new value."
            )


def _method(owner: str, name: str, theirs: Any) -> Any:
    """A method of a class of SciPy's, which takes traced values too."""
    names = list(inspect.signature(theirs).parameters)[1:]

    @functools.wraps(theirs)
    def method(self: Any, *args: Any, **kwds: Any) -> Any:
        if not is_traced(*args, **kwds):
            return theirs(self, *args, **kwds)
        if type(self) not in _NAMES:
            raise NotDifferentiableError(
                f"scipy.stats.{owner}.{name}: not differentiable of {type(self).__name__}, which "
                "derives from its class."
            )
        given = {**dict(zip(names, args, strict=False)), **kwds}
        if "random_state" in names and given.get("random_state") is None:
            given["random_state"] = self._random_state
        settings = {key: value for key, value in given.items() if _is_setting(key, value)}
        arrays = {k: _array(x) for k, x in given.items() if k not in settings and x is not None}
        return _declared(owner, name)(*arrays.values(), keys=" ".join(arrays), **settings)

    if name == "rvs" and owner in DRAWN:
        method.__doc__ = f"{inspect.getdoc(theirs)}\n{OF_DRAWS}"
    return method


def _frozen_method(name: str, theirs: Any) -> Any:
    @functools.wraps(theirs)
    def method(self: Any, *args: Any, **kwds: Any) -> Any:
        if is_traced(*args, **kwds):
            return _call(self, name, *args, **kwds)
        return theirs(self, *args, **kwds)

    return method


def _public(theirs: type) -> dict[str, Any]:
    """The methods of a class."""
    names = [name for name in dir(theirs) if not name.startswith("_")]
    return {name: f for name in names if inspect.isfunction(f := getattr(theirs, name))}


def _class(theirs: type, bases: tuple[Any, ...], contents: dict[str, Any]) -> Any:
    about = {"__doc__": theirs.__doc__, "_derived_from": theirs}
    return type(theirs.__name__, (*bases, theirs), {**about, **contents})


@functools.cache
def _derived_frozen(theirs: Any) -> Any:
    methods = {name: _frozen_method(name, f) for name, f in _public(theirs).items()}
    return _class(theirs, (), {"__reduce__": _reduce_frozen, **methods})


def _reduce_frozen(frozen: Any) -> Any:
    return restored_by(frozen, _derived_frozen)


def _array(x: Any) -> Any:
    x = lift(x)
    return np.asarray(x) if type(x) in (list, tuple) else x


def _is_setting(key: str, value: Any) -> bool:
    return key in _SETTINGS or isinstance(value, scipy.stats.Covariance)


@functools.cache
def _declared(owner: str, name: str) -> Any:
    """The method as a primitive of the arrays among its arguments, named by `keys`."""
    theirs = getattr(getattr(scipy.stats, owner), name)

    def call(*arrays: Any, keys: str, **settings: Any) -> Any:
        # SciPy takes no array for a number, not even one of no dimension.
        given = [x[()] if np.ndim(x) == 0 and hasattr(x, "dtype") else x for x in arrays]
        return theirs(**dict(zip(keys.split(), given, strict=True)), **settings)

    made = primitive(call)
    vars(made).update(
        __module__="tapegrad.scipy.stats",
        __name__=f"{owner}.{name}",
        __qualname__=f"{owner}.{name}",
    )
    formula = FORMULAS[owner].get(name)
    if owner == "dirichlet" and name == "rvs":
        general(made, vjp=_dirichlet_draws)
    elif formula is None:
        whole = owner in _WHOLE or (name == "rvs" and "multinomial" in owner)
        reason = "it is a distribution of whole numbers" if whole else _REASONS.get(name)
        unsupported(made, reason=reason or "tapegrad knows no formula for it")
    else:
        by_formula(made, _by_keys(formula), reads_out=name == "rvs", batch="loop")
    return made


def _by_keys(formula: Callable[..., Any]) -> Callable[..., Any]:
    def named(*arrays: Any, keys: str, **settings: Any) -> Any:
        names = keys.split()
        count = len(arrays) - len(names)
        given = dict(zip(names, arrays[count:], strict=True))
        return formula(*arrays[:count], **given, **settings)

    return named


def _dirichlet_draws(g: Any, out: Any, alpha: Any, **_settings: Any) -> tuple[Any]:
    """A share has a beta distribution, and the others keep their proportions to each other."""
    rest = np.sum(alpha) - alpha
    by_a = slope(sp.betainc, 0)(alpha, rest, out)
    density = np.exp(
        sp.xlogy(alpha - 1, out) + sp.xlog1py(rest - 1, -out) - sp.betaln(alpha, rest)
    )
    along = g - np.sum(g * out, axis=-1, keepdims=True)
    return (-by_a / density / (1 - out) * along,)


MULTIVARIATE: dict[str, Multivariate] = {}
_NAMES: dict[type, str] = {}
_CLASSES: dict[type, Any] = {}


def _derived(theirs: Any) -> Any:
    """The class of a distribution of SciPy's, with derivatives."""
    return _CLASSES[theirs]


def _add(name: str) -> None:
    found = getattr(scipy.stats, name, None)
    if found is None:
        return
    kind = type(found)
    methods = {word: _method(name, word, f) for word, f in _public(kind).items()}
    made = _CLASSES[kind] = _class(kind, (Multivariate,), methods)
    _NAMES[made], MULTIVARIATE[name] = name, object.__new__(made)
    MULTIVARIATE[name].__dict__.update(found.__dict__)


for _name in FORMULAS:
    _add(_name)

__all__ = ["MULTIVARIATE", "Multivariate"]
