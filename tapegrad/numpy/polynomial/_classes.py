"""The classes of `numpy.polynomial`, whose coefficients, domains and arguments may be traced.

They derive from NumPy's, which are built to be derived from: arithmetic and calculus call the
functions of a basis, here those of `tapegrad.numpy.polynomial`. What NumPy's base class converts
to plain arrays itself is defined anew here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy.polynomial
from numpy.polynomial import polyutils
from numpy.polynomial._polybase import ABCPolyBase

from tapegrad._core.types import Value
from tapegrad._core.values import holds_in_trace, untraced
from tapegrad._errors import NotDifferentiableError
from tapegrad.numpy.polynomial import (
    _coefficients,
    chebyshev,
    hermite,
    hermite_e,
    laguerre,
    legendre,
    polynomial,
)

_SIDES = numpy.array([-1.0, 1.0])  # what NumPy widens the domain of a single point by

getdomain = _coefficients.differentiable(polyutils.getdomain, _coefficients.getdomain)
mapdomain = _coefficients.differentiable(polyutils.mapdomain, _coefficients.mapdomain)
mapparms = _coefficients.differentiable(polyutils.mapparms, _coefficients.mapparms)


class _Differentiable(ABCPolyBase):
    """Base of the six classes. Methods without words here have those of NumPy's class."""

    if TYPE_CHECKING:  # NumPy's stubs have no hooks, and fixed domains
        coef: Any
        domain: Any
        window: Any
        symbol: str
        _val: Any
        _roots: Any
        _fit: Any
        _fromroots: Any

    def __init__(
        self, coef: Value, domain: Value = None, window: Value = None, symbol: str = "x"
    ) -> None:
        super().__init__(untraced(coef), untraced(domain), untraced(window), symbol)
        if holds_in_trace(coef):
            self.coef = _coefficients.coefficients(coef)
        if holds_in_trace(domain):
            self.domain = _coefficients.coefficients(domain)
        if holds_in_trace(window):
            self.window = _coefficients.coefficients(window)

    def _with(self, coef: Value) -> Self:
        return type(self)(coef, self.domain, self.window, self.symbol)

    def _get_coefficients(self, other: Value) -> Any:
        """NumPy's check of an operand, which takes NumPy's own class of this basis too."""
        if type(other) in type(self).__mro__:
            other = type(self)(other.coef, other.domain, other.window, other.symbol)
        return super()._get_coefficients(other)  # type: ignore[misc] # not in NumPy's stubs

    def __call__(self, arg: Value) -> Value:
        """The value at points, or the composition with another polynomial."""
        return self._val(mapdomain(arg, self.domain, self.window), self.coef)

    def __truediv__(self, other: Value) -> Any:
        if holds_in_trace(other) and other.ndim == 0:
            return self._with(self.coef / other)
        return super().__truediv__(other)

    def roots(self) -> Value:
        return mapdomain(self._roots(self.coef), self.window, self.domain)

    def trim(self, tol: Value = 0) -> Self:
        return self._with(
            _coefficients.trim(self.coef, tol)
            if holds_in_trace(self.coef)
            else polyutils.trimcoef(self.coef, tol)
        )

    @classmethod
    def fit(
        cls,
        x: Value,
        y: Value,
        deg: Any,
        domain: Value = None,
        rcond: Value = None,
        full: bool = False,
        w: Value = None,
        window: Value = None,
        symbol: str = "x",
    ) -> Any:
        if not any(map(holds_in_trace, (x, y, domain, w, window))):
            base: Any = super()
            return base.fit(x, y, deg, domain, rcond, full, w, window, symbol)
        if full:
            raise NotDifferentiableError(
                f"{cls.__name__}.fit: full=True is not differentiable. Fit without it."
            )
        if domain is None:
            domain = getdomain(x)
            if untraced(domain)[0] == untraced(domain)[1]:
                domain = domain + _SIDES
        elif isinstance(domain, list) and not domain:
            domain = cls.domain
        window = cls.window if window is None else window
        coef = cls._fit(mapdomain(x, domain, window), y, deg, w=w, rcond=rcond, full=False)
        return cls(coef, domain, window, symbol)

    @classmethod
    def fromroots(
        cls, roots: Value, domain: Value = (), window: Value = None, symbol: str = "x"
    ) -> Any:
        if not any(map(holds_in_trace, (roots, domain, window))):
            domain = [] if isinstance(domain, tuple) and not domain else domain
            return super().fromroots(roots, domain, window, symbol)
        roots = _coefficients.coefficients(roots)
        if domain is None:
            domain = getdomain(roots)
        elif isinstance(domain, (list, tuple)) and not domain:
            domain = cls.domain
        window = cls.window if window is None else window
        offset, scale = mapparms(domain, window)
        coef = cls._fromroots(offset + scale * roots) / scale ** len(roots)
        return cls(coef, domain, window, symbol)


class Polynomial(_Differentiable, numpy.polynomial.Polynomial):
    """A series in powers, as `numpy.polynomial.Polynomial`.

    Coefficients, domain, window, points, roots and data to fit may be traced.

    Parameters
    ----------
    coef : array_like
        The coefficients, that of the lowest degree first.
    domain, window : array_like, optional
        Two bounds each: points are mapped from the domain to the window. By default those of
        NumPy's class, which are the same.
    symbol : str, default "x"
        The variable, for print.

    Examples
    --------
    >>> import tapegrad
    >>> from tapegrad.numpy.polynomial import Polynomial
    >>> tapegrad.grad(lambda x: Polynomial([1.0, 2.0, 3.0])(x))(0.5)
    np.float64(5.0)
    """

    _add = staticmethod(polynomial.polyadd)
    _sub = staticmethod(polynomial.polysub)
    _mul = staticmethod(polynomial.polymul)
    _div = staticmethod(polynomial.polydiv)
    _pow = staticmethod(polynomial.polypow)
    _val = staticmethod(polynomial.polyval)
    _int = staticmethod(polynomial.polyint)
    _der = staticmethod(polynomial.polyder)
    _fit = staticmethod(polynomial.polyfit)
    _line = staticmethod(polynomial.polyline)
    _roots = staticmethod(polynomial.polyroots)
    _fromroots = staticmethod(polynomial.polyfromroots)


class Chebyshev(_Differentiable, numpy.polynomial.Chebyshev):
    """A series in Chebyshev polynomials, as `numpy.polynomial.Chebyshev`.

    Coefficients, domain, window, points, roots and data to fit may be traced.

    Parameters
    ----------
    coef : array_like
        The coefficients, that of the lowest degree first.
    domain, window : array_like, optional
        Two bounds each: points are mapped from the domain to the window. By default those of
        NumPy's class, which are the same.
    symbol : str, default "x"
        The variable, for print.

    Examples
    --------
    >>> import tapegrad
    >>> from tapegrad.numpy.polynomial import Chebyshev
    >>> tapegrad.grad(lambda x: Chebyshev([1.0, 2.0, 3.0])(x))(0.5)
    np.float64(8.0)
    """

    _add = staticmethod(chebyshev.chebadd)
    _sub = staticmethod(chebyshev.chebsub)
    _mul = staticmethod(chebyshev.chebmul)
    _div = staticmethod(chebyshev.chebdiv)
    _pow = staticmethod(chebyshev.chebpow)
    _val = staticmethod(chebyshev.chebval)
    _int = staticmethod(chebyshev.chebint)
    _der = staticmethod(chebyshev.chebder)
    _fit = staticmethod(chebyshev.chebfit)
    _line = staticmethod(chebyshev.chebline)
    _roots = staticmethod(chebyshev.chebroots)
    _fromroots = staticmethod(chebyshev.chebfromroots)


class Legendre(_Differentiable, numpy.polynomial.Legendre):
    """A series in Legendre polynomials, as `numpy.polynomial.Legendre`.

    Coefficients, domain, window, points, roots and data to fit may be traced.

    Parameters
    ----------
    coef : array_like
        The coefficients, that of the lowest degree first.
    domain, window : array_like, optional
        Two bounds each: points are mapped from the domain to the window. By default those of
        NumPy's class, which are the same.
    symbol : str, default "x"
        The variable, for print.

    Examples
    --------
    >>> import tapegrad
    >>> from tapegrad.numpy.polynomial import Legendre
    >>> tapegrad.grad(lambda x: Legendre([1.0, 2.0, 3.0])(x))(0.5)
    np.float64(6.5)
    """

    _add = staticmethod(legendre.legadd)
    _sub = staticmethod(legendre.legsub)
    _mul = staticmethod(legendre.legmul)
    _div = staticmethod(legendre.legdiv)
    _pow = staticmethod(legendre.legpow)
    _val = staticmethod(legendre.legval)
    _int = staticmethod(legendre.legint)
    _der = staticmethod(legendre.legder)
    _fit = staticmethod(legendre.legfit)
    _line = staticmethod(legendre.legline)
    _roots = staticmethod(legendre.legroots)
    _fromroots = staticmethod(legendre.legfromroots)


class Hermite(_Differentiable, numpy.polynomial.Hermite):
    """A series in physicists' Hermite polynomials, as `numpy.polynomial.Hermite`.

    Coefficients, domain, window, points, roots and data to fit may be traced.

    Parameters
    ----------
    coef : array_like
        The coefficients, that of the lowest degree first.
    domain, window : array_like, optional
        Two bounds each: points are mapped from the domain to the window. By default those of
        NumPy's class, which are the same.
    symbol : str, default "x"
        The variable, for print.

    Examples
    --------
    >>> import tapegrad
    >>> from tapegrad.numpy.polynomial import Hermite
    >>> tapegrad.grad(lambda x: Hermite([1.0, 2.0, 3.0])(x))(0.5)
    np.float64(16.0)
    """

    _add = staticmethod(hermite.hermadd)
    _sub = staticmethod(hermite.hermsub)
    _mul = staticmethod(hermite.hermmul)
    _div = staticmethod(hermite.hermdiv)
    _pow = staticmethod(hermite.hermpow)
    _val = staticmethod(hermite.hermval)
    _int = staticmethod(hermite.hermint)
    _der = staticmethod(hermite.hermder)
    _fit = staticmethod(hermite.hermfit)
    _line = staticmethod(hermite.hermline)
    _roots = staticmethod(hermite.hermroots)
    _fromroots = staticmethod(hermite.hermfromroots)


class HermiteE(_Differentiable, numpy.polynomial.HermiteE):
    """A series in probabilists' Hermite polynomials, as `numpy.polynomial.HermiteE`.

    Coefficients, domain, window, points, roots and data to fit may be traced.

    Parameters
    ----------
    coef : array_like
        The coefficients, that of the lowest degree first.
    domain, window : array_like, optional
        Two bounds each: points are mapped from the domain to the window. By default those of
        NumPy's class, which are the same.
    symbol : str, default "x"
        The variable, for print.

    Examples
    --------
    >>> import tapegrad
    >>> from tapegrad.numpy.polynomial import HermiteE
    >>> tapegrad.grad(lambda x: HermiteE([1.0, 2.0, 3.0])(x))(0.5)
    np.float64(5.0)
    """

    _add = staticmethod(hermite_e.hermeadd)
    _sub = staticmethod(hermite_e.hermesub)
    _mul = staticmethod(hermite_e.hermemul)
    _div = staticmethod(hermite_e.hermediv)
    _pow = staticmethod(hermite_e.hermepow)
    _val = staticmethod(hermite_e.hermeval)
    _int = staticmethod(hermite_e.hermeint)
    _der = staticmethod(hermite_e.hermeder)
    _fit = staticmethod(hermite_e.hermefit)
    _line = staticmethod(hermite_e.hermeline)
    _roots = staticmethod(hermite_e.hermeroots)
    _fromroots = staticmethod(hermite_e.hermefromroots)


class Laguerre(_Differentiable, numpy.polynomial.Laguerre):
    """A series in Laguerre polynomials, as `numpy.polynomial.Laguerre`.

    Coefficients, domain, window, points, roots and data to fit may be traced.

    Parameters
    ----------
    coef : array_like
        The coefficients, that of the lowest degree first.
    domain, window : array_like, optional
        Two bounds each: points are mapped from the domain to the window. By default those of
        NumPy's class, which are the same.
    symbol : str, default "x"
        The variable, for print.

    Examples
    --------
    >>> import tapegrad
    >>> from tapegrad.numpy.polynomial import Laguerre
    >>> tapegrad.grad(lambda x: Laguerre([1.0, 2.0, 3.0])(x))(0.5)
    np.float64(-6.5)
    """

    _add = staticmethod(laguerre.lagadd)
    _sub = staticmethod(laguerre.lagsub)
    _mul = staticmethod(laguerre.lagmul)
    _div = staticmethod(laguerre.lagdiv)
    _pow = staticmethod(laguerre.lagpow)
    _val = staticmethod(laguerre.lagval)
    _int = staticmethod(laguerre.lagint)
    _der = staticmethod(laguerre.lagder)
    _fit = staticmethod(laguerre.lagfit)
    _line = staticmethod(laguerre.lagline)
    _roots = staticmethod(laguerre.lagroots)
    _fromroots = staticmethod(laguerre.lagfromroots)
