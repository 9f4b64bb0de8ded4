"""Functions that make a BSpline: through points, by least squares, smoothed.

Systems are banded and solved in time proportional to their size, in derivatives as well.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.interpolate

from tapegrad._core.types import Value
from tapegrad._errors import NotDifferentiableError
from tapegrad.scipy._mirrored import of_plain, raw
from tapegrad.scipy.interpolate._basis import (
    basis_at,
    interpolating,
    not_a_knot,
    periodic,
    repeated,
)
from tapegrad.scipy.interpolate._bsplines import BSpline
from tapegrad.scipy.interpolate._pieces import as_float, banded, beside, put, rows


def _conditions(bc: Any, shape: tuple[int, ...]) -> list[tuple[int, Any]]:
    if bc is None:
        return []
    if isinstance(bc, str):
        known = {"clamped": 1, "natural": 2}
        if bc not in known:
            raise ValueError(f"Unknown boundary condition : {bc}")
        return [(known[bc], np.zeros(shape))]
    return [(order, as_float(value)) for order, value in bc]


@of_plain(scipy.interpolate.make_interp_spline)
def make_interp_spline(
    x: Any,
    y: Any,
    k: int = 3,
    t: Any = None,
    bc_type: Any = None,
    axis: int = 0,
    check_finite: bool = True,
) -> Any:
    """Make the BSpline through points, as SciPy's make_interp_spline, with derivatives.

    They are those by x, y, the knots t and values in bc_type. Where knots are not given, they move
    with x as SciPy places them.

    Parameters
    ----------
    x : array_like, shape (n,)
        The knots, ascending.
    y : array_like
        The values; their axis `axis` has length n.
    k : int, default 3
        The degree.
    t : array_like, shape (n + k + 1,), optional
        The knots.
    bc_type : str or pair, optional
        The conditions at both ends: "not-a-knot", "periodic", "clamped", "natural", or for each
        end pairs of an order and the value of that derivative.
    axis : int, default 0
        The axis of the values along which x varies.
    check_finite : bool, default True
        Whether a plain call looks for NaN and infinities.

    Returns
    -------
    BSpline
        The spline.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> x = np.linspace(0, 3, 7)
    >>> total = tapegrad.grad(lambda y: make_interp_spline(x, y, 5)(1.2))(x**2)
    >>> bool(np.isclose(np.sum(total * x**2), 1.44))
    True
    """
    x, y = as_float(x), as_float(y)
    t = None if t is None else as_float(t)
    plain = raw(x, y, t, bc_type)
    if plain is not None:  # raise what SciPy raises
        scipy.interpolate.make_interp_spline(*plain[:2], k, *plain[2:], axis)
    axis = axis % y.ndim
    y = np.moveaxis(y, axis, 0)
    if k == 0:
        return BSpline.construct_fast(np.concatenate([x, x[-1:]]), y, 0, axis=axis)
    if bc_type == "periodic":
        t, c = periodic(x, y, k)
        return BSpline.construct_fast(t, c, k, "periodic", axis)
    if bc_type is None or isinstance(bc_type, str):
        bc_type = None if bc_type == "not-a-knot" else bc_type
        bc_type = [bc_type, bc_type]
    left, right = (_conditions(end, y.shape[1:]) for end in bc_type)
    if t is None:
        t = repeated(x[:1], k, x, x[-1:]) if left or right else not_a_knot(x, k)
    return BSpline.construct_fast(t, interpolating(x, y, t, k, left, right), k, axis=axis)


@of_plain(scipy.interpolate.make_lsq_spline)
def make_lsq_spline(
    x: Any,
    y: Any,
    t: Any,
    k: int = 3,
    w: Any = None,
    axis: int = 0,
    check_finite: bool = True,
    **options: Any,
) -> Any:
    """Fit a BSpline by least squares, as SciPy's make_lsq_spline, with derivatives.

    They are those by x, y, the knots t and the weights w.

    Parameters
    ----------
    x : array_like, shape (n,)
        The knots, ascending.
    y : array_like
        The values; their axis `axis` has length n.
    t : array_like
        The knots.
    k : int, default 3
        The degree.
    w : array_like, shape (n,), optional
        Weights of the values.
    axis : int, default 0
        The axis of the values along which x varies.
    check_finite : bool, default True
        Whether a plain call looks for NaN and infinities.
    **options : object
        SciPy's others.

    Returns
    -------
    BSpline
        The spline.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> x, t = np.linspace(0, 1, 9), np.array([0.0, 0.0, 1.0, 1.0])
    >>> by_values = tapegrad.grad(lambda y: make_lsq_spline(x, y, t, 1)(0.5))(x)
    >>> bool(np.allclose(by_values, 1 / 9))
    True
    """
    x, y, t = as_float(x), as_float(y), as_float(t)
    w = np.ones(x.shape[0]) if w is None else as_float(w)
    given = raw(x, y, t, w)
    axis = axis % y.ndim
    y = np.moveaxis(y, axis, 0)
    found = None
    if given is not None:
        spline = scipy.interpolate.make_lsq_spline(*given[:3], k, given[3], axis, **options)
        found = spline.c
    return BSpline.construct_fast(t, _least_squares(x, y, t, k, w, found), k, axis=axis)


def _least_squares(x: Value, y: Value, t: Value, k: int, w: Value, found: Any) -> Any:
    """Coefficients by the normal equations, as what is to be added to those found already.

    So their value is as exact as SciPy's, which come from a QR decomposition.
    """
    count = t.shape[0] - k - 1
    values, ell = basis_at(t, count, k, x)
    weighted = values * np.expand_dims(w * w, -1)
    columns = np.expand_dims(ell, -1) + np.arange(-k, 1)
    left, right = np.expand_dims(columns, -1), np.expand_dims(columns, -2)
    at = (k + left - right) * count + right
    products = np.expand_dims(weighted, -1) * np.expand_dims(values, -2)
    ab = np.reshape(put(at, products, (2 * k + 1) * count), (2 * k + 1, count))
    flat = np.reshape(y, (y.shape[0], -1))
    known = np.zeros((count, flat.shape[1]))
    if found is not None:
        known = known + np.reshape(found, (-1, flat.shape[1]))
    residual = flat - np.sum(np.expand_dims(values, -1) * rows(known, columns), axis=1)
    pushed = np.expand_dims(weighted, -1) * np.expand_dims(residual, 1)
    width = flat.shape[1]
    cells = np.expand_dims(columns, -1) * width + np.arange(width)
    sides = np.reshape(put(cells, pushed, count * width), (count, width))
    c = known + banded(ab, sides, below=k, above=k)
    return np.reshape(c, (count, *y.shape[1:]))


@of_plain(scipy.interpolate.make_smoothing_spline)
def make_smoothing_spline(x: Any, y: Any, w: Any = None, lam: Any = None, *, axis: int = 0) -> Any:
    """Fit a smoothing spline, as SciPy's make_smoothing_spline, with derivatives.

    They are those by x, y, the weights w and lam.

    Parameters
    ----------
    x : array_like, shape (n,)
        The knots, ascending.
    y : array_like
        The values; their axis `axis` has length n.
    w : array_like, shape (n,), optional
        Weights of the values.
    lam : float, optional
        How smooth it is. Where it is left away, SciPy finds it by generalised cross validation, of
        plain values.
    axis : int, default 0
        The axis of the values along which x varies.

    Returns
    -------
    BSpline
        The spline, of degree 3.

    Raises
    ------
    NotDifferentiableError
        Of traced values without lam: the value that is found depends on them, and may jump.

    Notes
    -----
    Reinsch's algorithm (Numerische Mathematik 10, 1967).

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> x = np.arange(8.0)
    >>> by_values = tapegrad.grad(lambda y: make_smoothing_spline(x, y, lam=2.0)(3.5))(x)
    >>> bool(np.isclose(by_values @ x, 3.5))
    True
    """
    if lam is None:
        raise NotDifferentiableError(
            "scipy.interpolate.make_smoothing_spline: lam=None chooses lam by the values, and has "
            "no derivative. Pass lam, for example what a plain call has chosen."
        )
    x, y, lam = as_float(x), as_float(y), as_float(lam)
    w = np.ones(x.shape[0]) if w is None else as_float(w)
    plain = raw(x, y, w, lam)
    if plain is not None:
        options = {} if axis == 0 else {"axis": axis}
        scipy.interpolate.make_smoothing_spline(*plain, **options)
    axis = axis % y.ndim
    y = np.moveaxis(y, axis, 0)
    h = x[1:] - x[:-1]
    rank = y.ndim - 1
    slopes = (y[1:] - y[:-1]) / beside(h, rank)
    # Q has in column j the weights of the second difference at knot j + 1.
    q = np.stack([1 / h[:-1], -1 / h[:-1] - 1 / h[1:], 1 / h[1:]])
    inner = x.shape[0] - 2
    inverse = np.stack([1 / w[i : i + inner] for i in range(3)])
    bands = [np.sum(q * q * inverse, axis=0) * lam + (h[:-1] + h[1:]) / 3]
    one = lam * (q[1, :-1] * q[0, 1:] * inverse[1, :-1] + q[2, :-1] * q[1, 1:] * inverse[2, :-1])
    bands.append(one + h[1:-1] / 6)
    bands.append(lam * q[2, :-2] * q[0, 2:] * inverse[2, :-2])
    edges = [np.zeros(i) for i in range(3)]
    ab = np.stack(
        [
            np.concatenate([edges[2], bands[2]]),
            np.concatenate([edges[1], bands[1]]),
            bands[0],
            np.concatenate([bands[1], edges[1]]),
            np.concatenate([bands[2], edges[2]]),
        ]
    )
    bend = banded(ab, slopes[1:] - slopes[:-1], below=2, above=2)
    none = np.zeros_like(bend[:1])
    parts = [beside(q[i], rank) * bend for i in range(3)]
    pushed = (
        np.concatenate([parts[0], none, none])
        + np.concatenate([none, parts[1], none])
        + np.concatenate([none, none, parts[2]])
    )
    fitted = y - beside(lam / w, rank) * pushed
    t = repeated(x[:1], 3, x, x[-1:])
    natural = [(2, np.zeros(y.shape[1:]))]
    return BSpline.construct_fast(
        t, interpolating(x, fitted, t, 3, natural, natural), 3, axis=axis
    )


__all__ = ["make_interp_spline", "make_lsq_spline", "make_smoothing_spline"]
