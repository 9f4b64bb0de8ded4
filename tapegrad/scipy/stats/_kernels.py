"""gaussian_kde: a density from points, differentiable by what it is asked at and by the points."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import scipy.stats

from tapegrad import stop_gradient
from tapegrad._core.values import lift
from tapegrad._errors import NotDifferentiableError
from tapegrad.scipy.stats._shared import LOG_2PI
from tapegrad.scipy.stats._univariate import is_traced


class gaussian_kde(scipy.stats.gaussian_kde):
    """Density from points, as SciPy's gaussian_kde, with derivatives.

    By the points asked, the data set, the weights and the bandwidth: the covariance of the data
    and the bandwidth move with the data. Of plain values all is SciPy's own; its other methods
    (integrals, resample, marginal) are not differentiable, and raise if the data are traced.

    Parameters
    ----------
    dataset : array_like, shape (d, n) or (n,)
        The points of d dimensions, or of one.
    bw_method : {"scott", "silverman"}, number or callable, optional
        The bandwidth's factor, or how to find it; a function takes this object. "scott" by
        default.
    weights : array_like, shape (n,), optional
        Of the points; all alike by default.

    Attributes
    ----------
    dataset : array, shape (d, n)
        The points.
    d, n : int
        How many dimensions and points there are.
    weights : array, shape (n,)
        The weights, whose sum is 1.
    neff : float
        The effective number of points.
    factor : float
        The bandwidth's factor.

    Raises
    ------
    NotDifferentiableError
        Of another method, if the data are traced.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> from tapegrad.scipy import stats
    >>> data = np.array([-1.0, 0.0, 1.0])
    >>> tapegrad.grad(lambda x: stats.gaussian_kde(data).logpdf(x)[0])(np.array([0.0]))
    array([0.])
    """

    def __init__(self, dataset: Any, bw_method: Any = None, weights: Any = None) -> None:
        if not is_traced(dataset, weights):
            super().__init__(dataset, bw_method, weights)
            return
        self.dataset = np.atleast_2d(_array(dataset))
        self.d, self.n = np.shape(self.dataset)
        if weights is not None:
            weights = _array(weights)
            self._weights = weights / np.sum(weights)
            self._neff = 1 / np.sum(self._weights**2)
        self.set_bandwidth(bw_method)

    def set_bandwidth(self, bw_method: Any = None) -> None:
        """Set the factor of the bandwidth, as SciPy's method does.

        Parameters
        ----------
        bw_method : {"scott", "silverman"}, number or callable, optional
            As of the class.
        """
        if is_traced(bw_method):
            self.covariance_factor: Any = lambda: bw_method
            self._compute_covariance()
        else:
            super().set_bandwidth(bw_method)

    def _compute_covariance(self) -> None:
        if not is_traced(self.dataset, self.weights):
            super()._compute_covariance()
            return
        away = self.dataset - np.sum(self.dataset * self.weights, axis=1, keepdims=True)
        spread = (away * self.weights) @ away.T / (1 - np.sum(self.weights**2))
        self.factor = self.covariance_factor()
        self.covariance = spread * self.factor**2
        self.cho_cov = np.linalg.cholesky(self.covariance)

    def _is_plain(self, *values: Any) -> bool:
        return not is_traced(self.dataset, self.weights, self.cho_cov, *values)

    @property
    def inv_cov(self) -> Any:
        """The inverse of the covariance."""
        return super().inv_cov if self._is_plain() else np.linalg.inv(self.covariance)

    def logpdf(self, x: Any) -> Any:
        """Return the log of the density at points.

        Parameters
        ----------
        x : array_like, shape (d, m) or (m,)
            The points.

        Returns
        -------
        array, shape (m,)
            The logs.
        """
        if self._is_plain(x):
            return super().logpdf(x)
        return self._log_density(x)

    def evaluate(self, points: Any) -> Any:
        """Return the density at points, as a call does.

        Parameters
        ----------
        points : array_like, shape (d, m) or (m,)
            The points.

        Returns
        -------
        array, shape (m,)
            The densities.
        """
        if self._is_plain(points):
            return super().evaluate(points)
        return np.exp(self._log_density(points))

    __call__ = evaluate

    def _log_density(self, points: Any) -> Any:
        points = np.atleast_2d(_array(points))
        d, m = np.shape(points)
        if d != self.d and d == 1 and m == self.d:
            points = np.reshape(points, (self.d, 1))
        elif d != self.d:
            raise ValueError(f"points have dimension {d}, dataset has dimension {self.d}")
        factor = self.cho_cov
        data, at = np.linalg.solve(factor, self.dataset), np.linalg.solve(factor, points)
        square = np.sum((at[:, :, np.newaxis] - data[:, np.newaxis, :]) ** 2, axis=0)
        logs = -square / 2 + np.log(self.weights)
        top = stop_gradient(np.max(logs, axis=1, keepdims=True))
        norm = self.d * LOG_2PI / 2 + np.sum(np.log(np.diagonal(factor)))
        return np.log(np.sum(np.exp(logs - top), axis=1)) + top[:, 0] - norm


def _array(x: Any) -> Any:
    x = lift(x)
    return np.asarray(x) if isinstance(x, (list, tuple)) else x


def _of_plain(name: str) -> Any:
    theirs = getattr(scipy.stats.gaussian_kde, name)

    @functools.wraps(theirs)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        others = [x.dataset for x in args if isinstance(x, scipy.stats.gaussian_kde)]
        if not self._is_plain(*args, *kwargs.values(), *others):
            raise NotDifferentiableError(
                f"scipy.stats.gaussian_kde.{name}: not differentiable. Pass "
                "tapegrad.stop_gradient(dataset), or compute with evaluate and logpdf."
            )
        out = theirs(self, *args, **kwargs)
        if type(out) is scipy.stats.gaussian_kde:
            out.__class__ = gaussian_kde
        return out

    return method


for (
    _name
) in "integrate_gaussian integrate_box_1d integrate_box integrate_kde resample marginal".split():
    setattr(gaussian_kde, _name, _of_plain(_name))

__all__ = ["gaussian_kde"]
