"""FITPACK's splines of one variable as objects: UnivariateSpline and its kin."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.interpolate
from numpy.typing import NDArray

from tapegrad._core.types import Value
from tapegrad.scipy.interpolate._bsplines import (
    spalde,
    splantider,
    splder,
    splev,
    splint,
    sproot,
)
from tapegrad.scipy.interpolate._fitpack import refuse_smoothing, spline_through
from tapegrad.scipy.interpolate._mirrored import Mirrored, raw
from tapegrad.scipy.interpolate._pieces import (
    as_float,
    is_plain,
)


class _Univariate(Mirrored):
    """Base of FITPACK's classes of one variable: a spline and what is outside."""

    def _hold(self, x: Value, y: Value, tck: tuple[Any, Any, int], ext: Any) -> None:
        self._data = x, y
        self._tck = tck
        self.ext = {"extrapolate": 0, "zeros": 1, "raise": 2, "const": 3}.get(ext, ext)

    @property
    def _eval_args(self) -> Any:
        plain = self.__dict__.get("_plain")
        return self._tck if plain is None else plain._eval_args

    def __call__(self, x: Any, nu: int = 0, ext: Any = None) -> NDArray[Any]:
        """The value, or the derivative `nu`, at points."""
        if self._is_plain(x):
            return self._plain(x, nu, ext)
        ext = (self.ext if self._plain is None else self._plain.ext) if ext is None else ext
        ext = {"extrapolate": 0, "zeros": 1, "raise": 2, "const": 3}.get(ext, ext)
        return splev(x, self._eval_args, nu, ext)

    def get_knots(self) -> Any:
        """Return the inner knots and both ends.

        Returns
        -------
        array
            The knots.
        """
        if self._plain is not None:
            return self._plain.get_knots()
        t, _, k = self._tck
        return t[k : t.shape[0] - k]

    def get_coeffs(self) -> Any:
        """Return the coefficients.

        Returns
        -------
        array, shape (n,)
            The coefficients.
        """
        if self._plain is not None:
            return self._plain.get_coeffs()
        t, c, k = self._tck
        return c[: t.shape[0] - k - 1]

    def get_residual(self) -> Any:
        """Return the sum of squares of the distances to the data.

        Returns
        -------
        float
            The sum.
        """
        if self._plain is not None:
            return self._plain.get_residual()
        x, y = self._data
        return np.sum((self(x) - y) ** 2)

    def integral(self, a: Any, b: Any) -> Any:
        """Return the integral from a to b, zero outside of the knots.

        Parameters
        ----------
        a, b : float
            The limits.

        Returns
        -------
        float
            The integral.
        """
        if self._is_plain(a, b):
            return self._plain.integral(a, b)
        return splint(a, b, self._eval_args)

    def derivatives(self, x: Any) -> Any:
        """Return the value and all derivatives at one point.

        Parameters
        ----------
        x : float
            The point.

        Returns
        -------
        array, shape (k + 1,)
            The value, the first derivative and so on.
        """
        if self._is_plain(x):
            return self._plain.derivatives(x)
        return spalde(x, self._eval_args)

    def roots(self) -> Any:
        """Return the roots of a cubic spline.

        Returns
        -------
        array, shape (roots,)
            The roots, which move with the data.
        """
        return self._plain.roots() if self._plain is not None else sproot(self._tck)

    def derivative(self, n: int = 1) -> Any:
        """Return the derivative as a spline of the same methods.

        Parameters
        ----------
        n : int, default 1
            How many times.

        Returns
        -------
        UnivariateSpline
            The derivative.
        """
        return self._changed(splder, "derivative", n)

    def antiderivative(self, n: int = 1) -> Any:
        """Return the integral as a spline of the same methods.

        Parameters
        ----------
        n : int, default 1
            How many times.

        Returns
        -------
        UnivariateSpline
            The integral.
        """
        return self._changed(splantider, "antiderivative", n)

    def _changed(self, function: Any, name: str, n: int) -> Any:
        made = object.__new__(UnivariateSpline)
        if self._plain is not None:
            made._plain = getattr(self._plain, name)(n)
            return made
        x, y = self._data
        made._hold(x, y, function(self._tck, n), self.ext)
        return made


class UnivariateSpline(_Univariate):
    """Spline of one variable, as SciPy's UnivariateSpline, with derivatives.

    They are those by points asked, and by x and y where s is 0.

    Parameters
    ----------
    x : array_like, shape (n,)
        The knots, ascending.
    y : array_like, shape (n,)
        The values.
    w : array_like, shape (n,), optional
        Weights of the values.
    bbox : pair of float, optional
        The ends of the spline; x[0] and x[-1] where they are None.
    k : int, default 3
        The degree.
    s : float, optional
        How smooth it is.
    ext : int or str, default 0
        Outside: 0 or "extrapolate", 1 or "zeros", 2 or "raise", 3 or "const".
    check_finite : bool, default False
        Whether a plain call looks for NaN and infinities.

    Raises
    ------
    NotDifferentiableError
        Of traced data where s is not 0: FITPACK chooses knots by the values.

    See Also
    --------
    LSQUnivariateSpline : With knots that are given.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> x = np.arange(6.0)
    >>> by_values = tapegrad.grad(lambda y: UnivariateSpline(x, y, s=0)(2.5))(x)
    >>> bool(np.isclose(by_values @ x**2, 6.25))
    True
    """

    _theirs = scipy.interpolate.UnivariateSpline

    def __init__(
        self,
        x: Any,
        y: Any,
        w: Any = None,
        bbox: Any = (None, None),
        k: int = 3,
        s: Any = None,
        ext: Any = 0,
        check_finite: bool = False,
    ) -> None:
        if is_plain(x, y, w):
            self._plain = self._theirs(x, y, w, list(bbox), k, s, ext, check_finite)
            return
        if s != 0:
            refuse_smoothing("UnivariateSpline")
        _interpolate(self, x, y, w, bbox, k, ext)

    def set_smoothing_factor(self, s: float) -> None:
        """Fit again with another smoothing factor, as SciPy does.

        Parameters
        ----------
        s : float
            The factor.

        Raises
        ------
        NotDifferentiableError
            Of traced data.
        """
        if self._plain is None:
            refuse_smoothing("UnivariateSpline")
        self._plain.set_smoothing_factor(s)


class InterpolatedUnivariateSpline(_Univariate):
    """Spline through points, as SciPy's InterpolatedUnivariateSpline, with derivatives.

    They are those by points asked, x and y.

    Parameters
    ----------
    x : array_like, shape (n,)
        The knots, ascending.
    y : array_like, shape (n,)
        The values.
    w : array_like, shape (n,), optional
        Weights, which do not count.
    bbox : pair of float, optional
        The ends of the spline; x[0] and x[-1] where they are None.
    k : int, default 3
        The degree.
    ext : int or str, default 0
        Outside: 0 or "extrapolate", 1 or "zeros", 2 or "raise", 3 or "const".
    check_finite : bool, default False
        Whether a plain call looks for NaN and infinities.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> x = np.arange(6.0)
    >>> by_values = tapegrad.grad(lambda y: InterpolatedUnivariateSpline(x, y)(2.5))(x)
    >>> bool(np.isclose(by_values @ x**2, 6.25))
    True
    """

    _theirs = scipy.interpolate.InterpolatedUnivariateSpline

    def __init__(
        self,
        x: Any,
        y: Any,
        w: Any = None,
        bbox: Any = (None, None),
        k: int = 3,
        ext: Any = 0,
        check_finite: bool = False,
    ) -> None:
        if is_plain(x, y, w):
            self._plain = self._theirs(x, y, w, list(bbox), k, ext, check_finite)
            return
        _interpolate(self, x, y, w, bbox, k, ext)


def _interpolate(spline: Any, x: Any, y: Any, w: Any, bbox: Any, k: int, ext: Any) -> None:
    x, y = as_float(x), as_float(y)
    plain = raw(x, y, w)
    if plain is not None:
        scipy.interpolate.InterpolatedUnivariateSpline(*plain, list(bbox), k, ext)
    t, c = spline_through(x, y, w, bbox, k, None)
    spline._hold(x, y, (t, c, k), ext)


class LSQUnivariateSpline(_Univariate):
    """Spline with given knots by least squares, as SciPy's LSQUnivariateSpline, with derivatives.

    They are those by points asked, x, y, w and the knots t.

    Parameters
    ----------
    x : array_like, shape (n,)
        The knots, ascending.
    y : array_like, shape (n,)
        The values.
    t : array_like
        The inner knots, ascending.
    w : array_like, shape (n,), optional
        Weights of the values.
    bbox : pair of float, optional
        The ends of the spline; x[0] and x[-1] where they are None.
    k : int, default 3
        The degree.
    ext : int or str, default 0
        Outside: 0 or "extrapolate", 1 or "zeros", 2 or "raise", 3 or "const".
    check_finite : bool, default False
        Whether a plain call looks for NaN and infinities.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> x = np.arange(8.0)
    >>> by_values = tapegrad.grad(lambda y: LSQUnivariateSpline(x, y, [3.5])(2.5))(x)
    >>> bool(np.isclose(by_values @ x**2, 6.25))
    True
    """

    _theirs = scipy.interpolate.LSQUnivariateSpline

    def __init__(
        self,
        x: Any,
        y: Any,
        t: Any,
        w: Any = None,
        bbox: Any = (None, None),
        k: int = 3,
        ext: Any = 0,
        check_finite: bool = False,
    ) -> None:
        if is_plain(x, y, t, w):
            self._plain = self._theirs(x, y, t, w, list(bbox), k, ext, check_finite)
            return
        x, y, t = as_float(x), as_float(y), as_float(t)
        plain = raw(x, y, t, w)
        if plain is not None:
            self._theirs(*plain, list(bbox), k, ext)
        t, c = spline_through(x, y, w, bbox, k, t)
        self._hold(x, y, (t, c, k), ext)


__all__ = [
    "InterpolatedUnivariateSpline",
    "LSQUnivariateSpline",
    "UnivariateSpline",
]
