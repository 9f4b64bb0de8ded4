"""FITPACK's splines of one variable as (t, c, k), through data or fitted to it: splrep, splprep.

A spline that passes through its data (s=0), or is fitted to it with knots that are given, is
differentiable. One with s > 0 is not: FITPACK chooses its knots by the values.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.interpolate

from tapegrad._core.types import Value
from tapegrad._core.values import raw_value
from tapegrad._errors import NotDifferentiableError
from tapegrad.scipy._mirrored import of_plain, raw
from tapegrad.scipy.interpolate._basis import interpolating, not_a_knot
from tapegrad.scipy.interpolate._bsplines import BSpline
from tapegrad.scipy.interpolate._fits import make_lsq_spline
from tapegrad.scipy.interpolate._pieces import as_float


def refuse_smoothing(name: str) -> None:
    raise NotDifferentiableError(
        f"scipy.interpolate.{name}: with s > 0 the knots depend on the values and jump with them, "
        "so it has no derivative. Take s=0, or give the knots (LSQUnivariateSpline, "
        "make_lsq_spline), or make_smoothing_spline with lam."
    )


def _ended(x: Value, k: int, first: Any, last: Any) -> Any:
    """The knots of a spline through points, with its ends at first and last."""
    t = not_a_knot(x, k)
    low = t[: k + 1] if first is None else first + np.zeros(k + 1)
    high = t[t.shape[0] - k - 1 :] if last is None else last + np.zeros(k + 1)
    return np.concatenate([low, t[k + 1 : t.shape[0] - k - 1], high])


def spline_through(x: Value, y: Value, w: Any, ends: Any, k: int, inner: Any) -> Any:
    """(t, c) through points, or fitted with these inner knots."""
    if inner is None:
        t = _ended(x, k, *ends)
        return t, interpolating(x, y, t, k, [], [])
    low = (x[:1] if ends[0] is None else ends[0]) + np.zeros(k + 1)
    high = (x[-1:] if ends[1] is None else ends[1]) + np.zeros(k + 1)
    t = np.concatenate([low, as_float(inner), high])
    return t, make_lsq_spline(x, y, t, k, w).c


@of_plain(scipy.interpolate.splrep)
def splrep(
    x: Any,
    y: Any,
    w: Any = None,
    xb: Any = None,
    xe: Any = None,
    k: int = 3,
    task: int = 0,
    s: Any = None,
    t: Any = None,
    full_output: Any = 0,
    per: Any = 0,
    quiet: Any = 1,
) -> Any:
    """Make a spline of points, as SciPy's splrep, with derivatives where knots are fixed.

    They are those by x and y where s is 0, and by w and t too where the knots t are given.

    Parameters
    ----------
    x : array_like, shape (n,)
        The knots, ascending.
    y : array_like, shape (n,)
        The values.
    w : array_like, shape (n,), optional
        Weights of the values.
    xb, xe : float, optional
        The ends; x[0] and x[-1] by default.
    k : int, default 3
        The degree.
    task : int, default 0
        SciPy's; not 1 of traced values.
    s : float, optional
        How smooth it is; 0 by default without w.
    t : array_like, optional
        The inner knots, of a fit by least squares.
    full_output : int, default 0
        Of plain calls: whether SciPy's further outputs are returned.
    per : bool, default False
        Of plain calls: whether it is periodic.
    quiet : int, default 1
        Whether SciPy prints no messages.

    Returns
    -------
    tuple
        Knots, coefficients and degree.

    Raises
    ------
    NotDifferentiableError
        Of traced values with s > 0 (FITPACK chooses knots by the values), per, full_output or
        task=1.

    See Also
    --------
    make_splrep : The same as a BSpline.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> from tapegrad.scipy.interpolate import splev
    >>> x = np.arange(6.0)
    >>> by_values = tapegrad.grad(lambda y: splev(2.5, splrep(x, y)))(x)
    >>> bool(np.isclose(by_values @ x**2, 6.25))
    True
    """
    if full_output or per or task == 1:
        raise NotDifferentiableError(
            "scipy.interpolate.splrep: not differentiable with full_output, per or task=1. Take "
            "make_interp_spline with bc_type='periodic' for a periodic spline."
        )
    if t is None and (s or (s is None and w is not None)):
        refuse_smoothing("splrep")
    x, y = as_float(x), as_float(y)
    plain = raw(x, y, w, t)
    if plain is not None:
        ends = raw_value(xb), raw_value(xe)
        task = -1 if t is not None else task
        scipy.interpolate.splrep(*plain[:3], *ends, k, task, s, plain[3])
    t, c = spline_through(x, y, w, (xb, xe), k, t)
    return t, np.concatenate([c, np.zeros(k + 1)]), k


@of_plain(scipy.interpolate.splprep)
def splprep(
    x: Any,
    w: Any = None,
    u: Any = None,
    ub: Any = None,
    ue: Any = None,
    k: int = 3,
    task: int = 0,
    s: Any = None,
    t: Any = None,
    **options: Any,
) -> Any:
    """Make a spline curve of points, as SciPy's splprep, differentiable by x and u where s is 0.

    Parameters
    ----------
    x : sequence of array_like, each of shape (n,)
        The coordinates of the points.
    w : array_like, shape (n,), optional
        Weights of the values.
    u : array_like, shape (n,), optional
        The parameters; without them the lengths of the chords.
    ub, ue : float, optional
        The ends of the parameters.
    k : int, default 3
        The degree.
    task : int, default 0
        SciPy's; 0 of traced values.
    s : float, optional
        How smooth it is.
    t : array_like, optional
        Of plain calls: knots.
    **options : object
        SciPy's others, of plain calls: full_output, nest, per, quiet.

    Returns
    -------
    tuple
        A list of knots, coefficients (a list of arrays) and degree, and the parameters u.

    Raises
    ------
    NotDifferentiableError
        Of traced values with s > 0 (or None), per, full_output or task.

    See Also
    --------
    make_splprep : The same as a BSpline.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> from tapegrad.scipy.interpolate import splev
    >>> u = np.arange(6.0)
    >>> curve = lambda x: splev(2.5, splprep([x, u], u=u, s=0)[0])[0]
    >>> bool(np.isclose(tapegrad.grad(curve)(u) @ u**2, 6.25))
    True
    """
    if task or options.get("per") or options.get("full_output"):
        raise NotDifferentiableError(
            "scipy.interpolate.splprep: not differentiable with task, per or full_output."
        )
    if s != 0:
        refuse_smoothing("splprep")
    parts = [as_float(one) for one in x]
    points = np.stack(parts, axis=-1)
    u = _chords(points) if u is None else as_float(u)
    t = _ended(u, k, ub, ue)
    c = interpolating(u, points, t, k, [], [])
    return [t, [c[:, i] for i in range(len(parts))], k], u


def _chords(points: Value) -> Any:
    """The lengths of chords up to each point, from 0 to 1."""
    steps = np.sqrt(np.sum((points[1:] - points[:-1]) ** 2, axis=1))
    lengths = np.cumsum(steps)
    return np.concatenate([np.zeros(1), lengths / lengths[-1]])


@of_plain(scipy.interpolate.make_splrep)
def make_splrep(
    x: Any,
    y: Any,
    *,
    w: Any = None,
    xb: Any = None,
    xe: Any = None,
    k: int = 3,
    s: Any = 0,
    t: Any = None,
    **options: Any,
) -> Any:
    """Make a BSpline of points, as SciPy's make_splrep, differentiable by x and y where s is 0.

    Parameters
    ----------
    x : array_like, shape (n,)
        The knots, ascending.
    y : array_like, shape (n,)
        The values.
    w : array_like, shape (n,), optional
        Weights of the values.
    xb, xe : float, optional
        The ends; x[0] and x[-1] by default.
    k : int, default 3
        The degree.
    s : float, default 0
        How smooth it is.
    t : array_like, optional
        Of plain calls: knots.
    **options : object
        SciPy's others: bc_type, nest.

    Returns
    -------
    BSpline
        The spline.

    Raises
    ------
    NotDifferentiableError
        Of traced values with s > 0 (knots are chosen by the values), with knots t, or periodic.

    See Also
    --------
    make_lsq_spline : With knots that are given.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> x = np.arange(6.0)
    >>> by_values = tapegrad.grad(lambda y: make_splrep(x, y)(2.5))(x)
    >>> bool(np.isclose(by_values @ x**2, 6.25))
    True
    """
    if options.get("bc_type") == "periodic":
        raise NotDifferentiableError(
            "scipy.interpolate.make_splrep: not differentiable where periodic. Take "
            "make_interp_spline with bc_type='periodic'."
        )
    if s or t is not None:
        refuse_smoothing("make_splrep")
    x, y = as_float(x), as_float(y)
    t, c = spline_through(x, y, w, (xb, xe), k, None)
    return BSpline.construct_fast(t, c, k)


@of_plain(scipy.interpolate.make_splprep)
def make_splprep(
    x: Any,
    *,
    w: Any = None,
    u: Any = None,
    ub: Any = None,
    ue: Any = None,
    k: int = 3,
    s: Any = 0,
    t: Any = None,
    **options: Any,
) -> Any:
    """Make a BSpline curve of points, as SciPy's make_splprep, with derivatives where s is 0.

    They are those by x and u.

    Parameters
    ----------
    x : sequence of array_like, each of shape (n,)
        The coordinates of the points.
    w : array_like, shape (n,), optional
        Weights of the values.
    u : array_like, shape (n,), optional
        The parameters; without them the lengths of the chords.
    ub, ue : float, optional
        The ends of the parameters.
    k : int, default 3
        The degree.
    s : float, default 0
        How smooth it is.
    t : array_like, optional
        Of plain calls: knots.
    **options : object
        SciPy's others: bc_type, nest.

    Returns
    -------
    tuple
        The BSpline, whose values have the coordinates along axis 0, and the parameters u.

    Raises
    ------
    NotDifferentiableError
        Of traced values with s > 0 (knots are chosen by the values), with knots t, or periodic.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> u = np.arange(6.0)
    >>> curve = lambda x: make_splprep([x, u], u=u)[0](2.5)[0]
    >>> bool(np.isclose(tapegrad.grad(curve)(u) @ u**2, 6.25))
    True
    """
    if s or t is not None or options.get("bc_type") == "periodic":
        refuse_smoothing("make_splprep")
    points = np.stack([as_float(one) for one in x], axis=-1)
    u = _chords(points) if u is None else as_float(u)
    t = _ended(u, k, ub, ue)
    c = interpolating(u, points, t, k, [], [])
    return BSpline.construct_fast(t, c, k, axis=1), u


__all__ = [
    "make_splprep",
    "make_splrep",
    "refuse_smoothing",
    "spline_through",
    "splprep",
    "splrep",
]
