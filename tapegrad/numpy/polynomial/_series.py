"""The base of the classes of series, whose coefficients, domains and arguments may be traced.

They derive from NumPy's, which are built to be derived from: arithmetic and calculus call the
functions of a basis, here those of the class's own module. What NumPy's base class converts to
plain arrays itself is defined anew here.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Self

import numpy.polynomial
from numpy.polynomial import polyutils
from numpy.polynomial._polybase import ABCPolyBase

from tapegrad._core.types import Value
from tapegrad._core.values import holds_in_trace, untraced
from tapegrad._errors import NotDifferentiableError
from tapegrad.numpy.polynomial import _coefficients

_SIDES = numpy.array([-1.0, 1.0])  # what NumPy widens the domain of a single point by

getdomain = _coefficients.differentiable(polyutils.getdomain, _coefficients.getdomain)
mapdomain = _coefficients.differentiable(polyutils.mapdomain, _coefficients.mapdomain)
mapparms = _coefficients.differentiable(polyutils.mapparms, _coefficients.mapparms)


# The docstrings of the six classes go on with this; each has an example's slope of its own.
_WORDS = """

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
>>> from tapegrad.numpy.polynomial import {name}
>>> tapegrad.grad(lambda x: {name}([1.0, 2.0, 3.0])(x))(0.5)
np.float64({slope})
"""
_FUNCTIONS = "add sub mul div pow val int der fit line roots fromroots".split()


class Series(ABCPolyBase):
    """Base of the six classes. Methods without words here have those of NumPy's class."""

    def __init_subclass__(cls, prefix: str = "", slope: float = 0.0, **options: Any) -> None:
        """Give one of the six the functions of its module, whose names begin with the prefix.

        A class that a program derives from these has no prefix, and inherits.
        """
        super().__init_subclass__(**options)
        if prefix:
            functions = vars(sys.modules[cls.__module__])
            for name in _FUNCTIONS:
                setattr(cls, f"_{name}", staticmethod(functions[prefix + name]))
            words = _WORDS.format(name=cls.__name__, slope=slope)
            cls.__doc__ = cls.__doc__ and cls.__doc__ + words  # None under python -OO

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
