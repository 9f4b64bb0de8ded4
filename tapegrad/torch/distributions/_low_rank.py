"""Normal vectors whose covariance is a diagonal plus a matrix of low rank.

Knows the identities for such matrices: nothing of the size of the covariance is factored.
Must not know other families.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tapegrad.torch import linalg
from tapegrad.torch._ops.families import OPERATIONS
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.distributions import constraints
from tapegrad.torch.distributions._formulas import formulas
from tapegrad.torch.distributions._location import _Centered, normal
from tapegrad.torch.distributions.distribution import constrained

Shape = Sequence[int]
_broadcast_shapes, _eye = OPERATIONS["broadcast_shapes"], OPERATIONS["eye"]


class LowRankMultivariateNormal(_Centered):
    """Normal vectors of covariance cov_factor @ cov_factor.T + cov_diag.

    loc (Tensor, shape (..., n)): The mean.
    cov_factor (Tensor, shape (..., n, rank)): The factor of the part of low rank.
    cov_diag (Tensor, shape (..., n)): The diagonal that is added, positive.
    ValueError: For shapes that do not fit; for a parameter out of its range, unless
        `validate_args` is False.
    Notes: Products with the inverse go through a matrix of the size of the rank, by the matrix
        determinant lemma and Woodbury's identity.

    >>> factor = torch.tensor([[1.0], [2.0]])
    >>> p = torch.distributions.LowRankMultivariateNormal(torch.zeros(2), factor, torch.ones(2))
    >>> p.covariance_matrix
    tensor([[2., 2.],
            [2., 5.]])
    >>> p.log_prob(torch.zeros(2))
    tensor(-2.7338)
    """

    has_rsample = True
    support = constraints.real_vector
    arg_constraints = constrained(
        loc=constraints.real_vector,
        cov_factor=constraints.independent(constraints.real, 2),
        cov_diag=constraints.independent(constraints.positive, 1),
    )
    _formulas = formulas(variance=lambda p: p.cov_factor.pow(2).sum(-1) + p.cov_diag)

    def __init__(
        self, loc: Any, cov_factor: Any, cov_diag: Any, validate_args: bool | None = None
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError(
                "cov_factor must be at least two-dimensional, with optional leading batch "
                "dimensions"
            )
        if cov_factor.shape[-2:-1] != event:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {event[0]} x m")
        if cov_diag.shape[-1:] != event:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event}")
        try:
            batch = _broadcast_shapes(loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])
        except RuntimeError as error:
            raise ValueError(
                f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, "
                f"cov_diag {cov_diag.shape}"
            ) from error
        self.loc = loc.expand((*batch, *event))
        self.cov_factor = cov_factor.expand((*batch, *cov_factor.shape[-2:]))
        self.cov_diag = cov_diag.expand((*batch, *event))
        super().__init__(batch, event, validate_args)

    def _capacitance(self) -> Any:
        """The factor of 1 + W.T D^-1 W, of the size of the rank."""
        w = self.cov_factor
        inner = w.mT @ (w / self.cov_diag.unsqueeze(-1))
        return linalg.cholesky(inner + _eye(w.shape[-1], dtype=w.dtype))

    @property
    def scale_tril(self) -> Tensor:
        """The lower factor of the covariance."""
        root = self.cov_diag.sqrt().unsqueeze(-1)
        scaled = self.cov_factor / root
        inner = scaled @ scaled.mT + _eye(scaled.shape[-2], dtype=scaled.dtype)
        return root * linalg.cholesky(inner)

    @property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        return self.cov_factor @ self.cov_factor.mT + self.cov_diag.diag_embed()

    @property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        scaled = self.cov_factor.mT / self.cov_diag.unsqueeze(-2)
        inner = linalg.solve_triangular(self._capacitance(), scaled, upper=False)
        return self.cov_diag.reciprocal().diag_embed() - inner.mT @ inner

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        w = self.cov_factor
        z = normal(self.loc, (*shape[:-1], w.shape[-1]))
        along = (w @ z.unsqueeze(-1)).squeeze(-1)
        return self.loc + along + self.cov_diag.sqrt() * normal(self.loc, shape)

    def squares(self, difference: Any) -> Any:
        """The squared length of vectors, measured by the inverse of the covariance.

        difference (Tensor, shape (..., n)): The vectors, as differences from the mean.
        -> Tensor: The squared lengths, of shape (...).
        """
        scaled = self.cov_factor.mT / self.cov_diag.unsqueeze(-2)
        inner = scaled @ difference.unsqueeze(-1)
        factor = self._capacitance()
        batch = _broadcast_shapes(inner.shape[:-2], factor.shape[:-2])
        factor = factor.expand((*batch, *factor.shape[-2:]))
        inner = inner.expand((*batch, *inner.shape[-2:]))
        z = linalg.solve_triangular(factor, inner, upper=False).squeeze(-1)
        return (difference.pow(2) / self.cov_diag).sum(-1) - z.pow(2).sum(-1)

    def log_determinant(self) -> Any:
        """The logarithm of the determinant of the covariance.

        -> Tensor: Of shape `batch_shape`.
        """
        diagonal = self._capacitance().diagonal(dim1=-2, dim2=-1)
        return 2 * diagonal.log().sum(-1) + self.cov_diag.log().sum(-1)

    def log_prob(self, value: Any) -> Tensor:
        size = self._event_shape[0] * math.log(2 * math.pi)
        squares = self.squares(self._checked(value) - self.loc)
        return -0.5 * (size + self.log_determinant() + squares)

    def entropy(self) -> Tensor:
        size = self._event_shape[0] * (1.0 + math.log(2 * math.pi))
        return 0.5 * (size + self.log_determinant())
