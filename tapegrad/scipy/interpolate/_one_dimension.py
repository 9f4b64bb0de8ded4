"""interp1d: values between samples of one variable, by lines, steps or splines."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.interpolate
from numpy.typing import NDArray

from tapegrad._core.types import Value
from tapegrad._core.values import lift, raw_value, untraced
from tapegrad.scipy._mirrored import Mirrored, as_ours, is_plain, raw
from tapegrad.scipy.interpolate._fits import make_interp_spline
from tapegrad.scipy.interpolate._pieces import as_float, beside, places, rows

_SPLINES = {"zero": 0, "slinear": 1, "quadratic": 2, "cubic": 3}


class interp1d(Mirrored, scipy.interpolate.interp1d):
    """Interpolant of one variable, as SciPy's interp1d, with derivatives.

    They are those by points asked, x, y and fill_value. At a knot the derivative is that of the
    piece at its right.

    Parameters
    ----------
    x : array_like, shape (n,)
        The knots.
    y : array_like
        The values; their axis `axis` has length n.
    kind : str or int, default "linear"
        "linear", "nearest", "nearest-up", "zero", "slinear", "quadratic", "cubic", "previous",
        "next", or the degree of a spline.
    axis : int, default -1
        The axis of y along which x varies.
    copy : bool, default True
        Whether a plain call copies its data.
    bounds_error : bool, optional
        Whether points outside raise ValueError; they do by default, unless there is a fill_value.
    fill_value : array_like, pair of array_like or "extrapolate", default NaN
        The value outside, or those below and above.
    assume_sorted : bool, default False
        Whether x ascends already.

    Attributes
    ----------
    x : array, shape (n,)
        The knots, ascending.
    y : array
        The values.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> tapegrad.grad(interp1d([0.0, 1.0, 2.0], [0.0, 1.0, 4.0]))(1.5)
    np.float64(3.0)
    """

    _theirs = scipy.interpolate.interp1d
    _differentiable = ("x", "y", "_y", "_spline", "fill_value")
    _asking = ("__init__",)

    def __init__(
        self,
        x: Any,
        y: Any,
        kind: Any = "linear",
        axis: int = -1,
        copy: bool = True,
        bounds_error: Any = None,
        fill_value: Any = np.nan,
        assume_sorted: bool = False,
    ) -> None:
        fills = fill_value if isinstance(fill_value, tuple) else (fill_value,)
        options = {"bounds_error": bounds_error, "assume_sorted": assume_sorted}
        if is_plain(x, y):
            given = raw(*fills)
            if is_plain(*fills):
                super().__init__(x, y, kind, axis, copy, fill_value=fill_value, **options)
                return
            if given is not None:
                fill = tuple(given) if isinstance(fill_value, tuple) else given[0]
                super().__init__(x, y, kind, axis, copy, fill_value=fill, **options)
                self.fill_value = fill_value
                return
        self._check(x, y, kind, axis, **options)
        x, y = as_float(x), as_float(y)
        self.axis = axis % y.ndim
        y = np.moveaxis(y, axis, 0)
        if not assume_sorted:
            order = np.argsort(untraced(x), kind="mergesort")
            x, y = rows(x, order), rows(y, order)
        self._y_axis, self._y_extra_shape = self.axis, y.shape[1:]
        self.x, self.y = x, np.moveaxis(y, 0, self.axis)
        self._y = np.reshape(y, (y.shape[0], -1))
        self._kind, self.bounds_error = kind, bounds_error
        degree = _SPLINES.get(kind, kind) if isinstance(kind, str) else int(kind)
        if not isinstance(degree, str):
            self._kind, self._spline = "spline", make_interp_spline(x, self._y, degree)
        self.fill_value = fill_value
        if self.bounds_error is None:
            self.bounds_error = True

    def __call__(self, x: Any) -> NDArray[Any]:
        """Values at points."""
        x, shape = as_float(x), self._y_extra_shape
        points = np.reshape(x, (-1,))
        out = np.reshape(self._at(points), (*points.shape, *shape))
        if not isinstance(self.fill_value, str):
            out = self._filled(points, out, len(shape))
        out = np.reshape(out, (*x.shape, *shape))
        axis = self._y_axis
        if axis:
            order, n = list(range(out.ndim)), x.ndim
            order = order[n : n + axis] + order[:n] + order[n + axis :]
            out = np.transpose(out, order)
        return out

    def _filled(self, points: Value, out: Value, rank: int) -> Any:
        still, ends = untraced(points), (untraced(self.x[0]), untraced(self.x[-1]))
        below, above = still < ends[0], still > ends[1]
        if self.bounds_error and np.any(raw_value(below | above)):
            raise ValueError("A value in x_new is outside of the interpolation range.")
        fills = self.fill_value
        fills = fills if isinstance(fills, tuple) and len(fills) == 2 else (fills, fills)
        kind = out.dtype  # into which SciPy writes what is outside
        for where, fill in zip((below, above), fills, strict=True):
            out = np.where(beside(where, rank), lift(fill), out)
        return out if out.dtype == kind else out.astype(kind)

    def _at(self, points: Value) -> Any:
        kind, x, y = self._kind, self.x, self._y
        last = x.shape[0] - 1
        if kind == "spline":
            if self._spline.k:
                return as_ours(self._spline)(points)
            at = places(untraced(x), points, 0, last)  # left of the first knot too
            return rows(y, at)
        if kind == "linear":
            y = np.reshape(self.y, (-1, 1)) if self.y.ndim == 1 else y  # which SciPy reads
            at = places(x, points, 0, last - 1)
            low, high = rows(x, at), rows(x, at + 1)
            share = beside((points - low) / (high - low), y.ndim - 1)
            return rows(y, at) + share * (rows(y, at + 1) - rows(y, at))
        still = untraced(x)
        if kind == "next":
            at = last - places(-still[::-1], -untraced(points), -1, last)
            outside = at > last
        elif kind == "previous":
            at = places(still, points, -1, last)
            outside = at < 0
        else:
            middle = (still[1:] + still[:-1]) / 2
            if kind == "nearest":  # a tie goes to the left, and with nearest-up to the right
                at = last - 1 - places(-middle[::-1], -untraced(points), -1, last)
            else:
                at = places(middle, points, -1, last) + 1
            outside = at < 0
        found = rows(y, np.clip(at, 0, last))
        return np.where(beside(outside, y.ndim - 1), np.nan, found)


__all__ = ["interp1d"]
