"""gaussian_kde: a density from points, differentiable by what it is asked at and by the points."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.stats

from tapegrad import stop_gradient
from tapegrad._core.values import lift
from tapegrad._errors import NotDifferentiableError
from tapegrad.scipy.stats._shared import LOG_2PI
from tapegrad.scipy.stats._univariate import is_traced


class gaussian_kde:
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
        self._theirs: Any = None
        if not is_traced(dataset, bw_method, weights):
            self._theirs = scipy.stats.gaussian_kde(dataset, bw_method, weights)
        self._set(dataset, weights)
        self.set_bandwidth(bw_method)

    def _set(self, dataset: Any, weights: Any) -> None:
        dataset = lift(dataset)
        dataset = np.asarray(dataset) if isinstance(dataset, (list, tuple)) else dataset
        self.dataset = np.atleast_2d(dataset)
        self.d, self.n = np.shape(self.dataset)
        if weights is None:
            self.weights = np.ones(self.n) / self.n
        else:
            weights = lift(weights)
            weights = np.asarray(weights) if isinstance(weights, (list, tuple)) else weights
            self.weights = weights / np.sum(weights)
        self.neff = 1 / np.sum(self.weights**2)

    def scotts_factor(self) -> Any:
        """Return the bandwidth's factor by Scott's rule, neff^(-1 / (d + 4)).

        Returns
        -------
        float
            The factor.
        """
        return self.neff ** (-1 / (self.d + 4))

    def silverman_factor(self) -> Any:
        """Return the bandwidth's factor by Silverman's rule, (neff (d + 2) / 4)^(-1 / (d + 4)).

        Returns
        -------
        float
            The factor.
        """
        return (self.neff * (self.d + 2) / 4) ** (-1 / (self.d + 4))

    def set_bandwidth(self, bw_method: Any = None) -> None:
        """Set the factor of the bandwidth, as SciPy's method does.

        Parameters
        ----------
        bw_method : {"scott", "silverman"}, number or callable, optional
            As of the class.
        """
        if self._theirs is not None and not is_traced(bw_method):
            self._theirs.set_bandwidth(bw_method)
        else:
            self._theirs = None
        if bw_method is None or (isinstance(bw_method, str) and bw_method == "scott"):
            self.factor = self.scotts_factor()
        elif isinstance(bw_method, str) and bw_method == "silverman":
            self.factor = self.silverman_factor()
        elif callable(bw_method) and not hasattr(bw_method, "shape"):
            self.factor = bw_method(self)
        else:
            self.factor = bw_method

    @property
    def covariance(self) -> Any:
        """The covariance of each kernel, shape (d, d)."""
        away = self.dataset - np.sum(self.dataset * self.weights, axis=1, keepdims=True)
        spread = (away * self.weights) @ away.T / (1 - np.sum(self.weights**2))
        return spread * self.factor**2

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
        if self._theirs is not None and not is_traced(x):
            return self._theirs.logpdf(x)
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
        if self._theirs is not None and not is_traced(points):
            return self._theirs.evaluate(points)
        return np.exp(self._log_density(points))

    __call__ = evaluate

    def pdf(self, x: Any) -> Any:
        """Return the density at points: another name of `evaluate`.

        Parameters
        ----------
        x : array_like, shape (d, m) or (m,)
            The points.

        Returns
        -------
        array, shape (m,)
            The densities.
        """
        return self.evaluate(x)

    def _log_density(self, points: Any) -> Any:
        points = lift(points)
        points = np.asarray(points) if isinstance(points, (list, tuple)) else points
        points = np.atleast_2d(points)
        d, m = np.shape(points)
        if d != self.d and d == 1 and m == self.d:
            points = np.reshape(points, (self.d, 1))
        elif d != self.d:
            raise ValueError(f"points have dimension {d}, dataset has dimension {self.d}")
        factor = np.linalg.cholesky(self.covariance)
        data, at = np.linalg.solve(factor, self.dataset), np.linalg.solve(factor, points)
        square = np.sum((at[:, :, np.newaxis] - data[:, np.newaxis, :]) ** 2, axis=0)
        logs = -square / 2 + np.log(self.weights)
        top = stop_gradient(np.max(logs, axis=1, keepdims=True))
        norm = self.d * LOG_2PI / 2 + np.sum(np.log(np.diagonal(factor)))
        return np.log(np.sum(np.exp(logs - top), axis=1)) + top[:, 0] - norm

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if self._theirs is None:
            raise NotDifferentiableError(
                f"scipy.stats.gaussian_kde.{name}: not differentiable. Pass "
                "tapegrad.stop_gradient(dataset), or compute with evaluate and logpdf."
            )
        return getattr(self._theirs, name)


__all__ = ["gaussian_kde"]
