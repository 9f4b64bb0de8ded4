"""FITPACK's splines of one variable as objects: UnivariateSpline and its kin."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.interpolate
from numpy.typing import NDArray

from tapegrad._core.types import Value
from tapegrad.scipy._mirrored import Mirrored, raw
from tapegrad.scipy.interpolate._bsplines import spalde, splantider, splder, splev, splint, sproot
from tapegrad.scipy.interpolate._fitpack import refuse_smoothing, spline_through
from tapegrad.scipy.interpolate._pieces import as_float

_OUTSIDE = {"extrapolate": 0, "zeros": 1, "raise": 2, "const": 3}


class UnivariateSpline(Mirrored, scipy.interpolate.UnivariateSpline):
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
    _differentiable = ("_eval_args",)

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
        if s != 0:
            refuse_smoothing("UnivariateSpline")
        _interpolate(self, x, y, w, bbox, k, ext)

    def _hold(self, x: Value, y: Value, w: Any, tck: tuple[Any, Any, int], ext: Any) -> None:
        self.__dict__.update(vars(UnivariateSpline._from_tck(tck, _OUTSIDE.get(ext, ext))))
        self._points = x, y, 1.0 if w is None else as_float(w)

    def _set_class(self, cls: Any) -> None:
        super()._set_class(cls)
        if type(self) in (UnivariateSpline, InterpolatedUnivariateSpline, LSQUnivariateSpline):
            self.__class__ = globals()[cls.__name__]

    def __call__(self, x: Any, nu: int = 0, ext: Any = None) -> NDArray[Any]:
        """The value, or the derivative `nu`, at points."""
        ext = self.ext if ext is None else ext
        return splev(x, self._eval_args, nu, _OUTSIDE.get(ext, ext))

    def get_residual(self) -> Any:
        """Return the sum of squares of the weighted distances to the data.

        Returns
        -------
        float
            The sum.
        """
        x, y, w = self._points
        return np.sum((w * (self(x) - y)) ** 2)

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
        return spalde(x, self._eval_args)

    def roots(self) -> Any:
        """Return the roots of a cubic spline.

        Returns
        -------
        array, shape (roots,)
            The roots, which move with the data.
        """
        return sproot(self._eval_args)

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
        ext = 1 if self.ext == _OUTSIDE["const"] else self.ext
        return UnivariateSpline._from_tck(splder(self._eval_args, n), ext)

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
        return UnivariateSpline._from_tck(splantider(self._eval_args, n), self.ext)

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
        refuse_smoothing("UnivariateSpline")


class InterpolatedUnivariateSpline(
    UnivariateSpline, scipy.interpolate.InterpolatedUnivariateSpline
):
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
        _interpolate(self, x, y, w, bbox, k, ext)


def _interpolate(spline: Any, x: Any, y: Any, w: Any, bbox: Any, k: int, ext: Any) -> None:
    x, y = as_float(x), as_float(y)
    plain = raw(x, y, w)
    if plain is not None:
        scipy.interpolate.InterpolatedUnivariateSpline(*plain, list(bbox), k, ext)
    t, c = spline_through(x, y, w, bbox, k, None)
    spline._hold(x, y, w, (t, c, k), ext)


class LSQUnivariateSpline(UnivariateSpline, scipy.interpolate.LSQUnivariateSpline):
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
        self._check(x, y, t, w, bbox, k, ext)
        x, y, t = as_float(x), as_float(y), as_float(t)
        t, c = spline_through(x, y, w, bbox, k, t)
        self._hold(x, y, w, (t, c, k), ext)


__all__ = ["InterpolatedUnivariateSpline", "LSQUnivariateSpline", "UnivariateSpline"]
