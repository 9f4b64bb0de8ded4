"""`ExponentialFamily`: densities exp(<t(x), theta> - A(theta) + k(x)).

Knows that entropies and divergences follow from A, the log of the normalizer, and its gradient
(F. Nielsen, R. Nock (2010), Entropies and cross-entropies of exponential families). Must not know
any one family.
"""

from __future__ import annotations

from typing import Any

from tapegrad.torch import autograd
from tapegrad.torch._graph.modes import enable_grad
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.distributions.distribution import Distribution


class ExponentialFamily(Distribution):
    """The base of distributions that give their natural parameters and `_log_normalizer` of them.

    `_mean_carrier_measure` is the mean of k(x), for densities exp(<t(x), theta> - A(theta) +
    k(x)).

    batch_shape (sequence of int): The shape of the batch.
    event_shape (sequence of int): The shape of one draw.
    Notes: Entropies and divergences follow from A and its gradient: F. Nielsen, R. Nock (2010),
        Entropies and cross-entropies of exponential families.

    >>> isinstance(torch.distributions.Exponential(2.0), torch.distributions.ExponentialFamily)
    True
    """

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Any) -> Any:
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> float:
        raise NotImplementedError

    def _normalizer(self) -> tuple[Any, tuple[Any, ...], Any]:
        """A, the natural parameters, and the gradient of A by them: the means of t(x)."""
        with enable_grad():
            params = tuple(
                value if value.requires_grad else value.detach().requires_grad_()
                for value in self._natural_params
            )
            found = self._log_normalizer(*params)
            grads = autograd.grad(found.sum(), params, create_graph=True)
        return found, params, grads

    def _summed(self, value: Any) -> Any:
        """The sum over the dimensions of an event that a term has, of the shape of the batch."""
        extra = value.dim() - len(self._batch_shape)
        return value.sum(tuple(range(-extra, 0))) if extra > 0 else value

    def entropy(self) -> Tensor:
        """The mean of `-log_prob` over draws.

        -> Tensor: Of shape `batch_shape`.
        """
        found, params, grads = self._normalizer()
        result = found - self._mean_carrier_measure
        for value, slope in zip(params, grads, strict=True):
            result = result - self._summed(value * slope)
        return result


__all__ = ["ExponentialFamily"]
