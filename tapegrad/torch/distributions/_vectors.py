"""The normal distribution of vectors.

Knows Cholesky factors. Must not know other families.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from tapegrad.torch import linalg
from tapegrad.torch._ops.families import OPERATIONS
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.distributions import constraints
from tapegrad.torch.distributions._location import normal
from tapegrad.torch.distributions.distribution import Distribution

Shape = Sequence[int]


def _factor_of_inverse(precision: Any) -> Any:
    """The lower factor of the inverse of a matrix, from the factor of the matrix reversed."""
    factor = linalg.cholesky(precision.flip((-2, -1))).flip((-2, -1)).mT
    eye = OPERATIONS["eye"](precision.shape[-1], dtype=precision.dtype)
    return linalg.solve_triangular(factor, eye.expand(factor.shape), upper=False)


class MultivariateNormal(Distribution):
    """Normal vectors of a mean and one of covariance, precision, or a lower factor.

    Parameters
    ----------
    loc : Tensor, shape (..., n)
        The mean.
    covariance_matrix : Tensor, shape (..., n, n), optional
        The covariance.
    precision_matrix : Tensor, shape (..., n, n), optional
        Instead of it: its inverse.
    scale_tril : Tensor, shape (..., n, n), optional
        Instead of it: its lower factor.

    Raises
    ------
    ValueError
        If not one of the three matrices is given, or something has too few dimensions; for a
        matrix that is not of its kind, unless `validate_args` is False.

    >>> covariance = torch.tensor([[1.0, 0.0], [0.0, 4.0]])
    >>> p = torch.distributions.MultivariateNormal(torch.zeros(2), covariance)
    >>> p.log_prob(torch.zeros(2)), p.variance
    (tensor(-2.5310), tensor([1., 4.]))
    >>> p.scale_tril
    tensor([[1., 0.],
            [0., 2.]])
    """

    has_rsample = True
    support = constraints.real_vector
    arg_constraints: ClassVar[dict[str, constraints.Constraint]] = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }

    covariance_matrix: Tensor
    precision_matrix: Tensor
    scale_tril: Tensor

    def __init__(
        self,
        loc: Any,
        covariance_matrix: Any = None,
        precision_matrix: Any = None,
        scale_tril: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        given = {
            "covariance_matrix": covariance_matrix,
            "precision_matrix": precision_matrix,
            "scale_tril": scale_tril,
        }
        named = [(name, matrix) for name, matrix in given.items() if matrix is not None]
        if len(named) != 1:
            raise ValueError(
                "Exactly one of covariance_matrix or precision_matrix or scale_tril may be "
                "specified."
            )
        ((name, matrix),) = named
        if matrix.dim() < 2:
            raise ValueError(
                f"{name} must be at least two-dimensional, with optional leading batch dimensions"
            )
        batch = OPERATIONS["broadcast_shapes"](matrix.shape[:-2], loc.shape[:-1])
        self.loc = loc.expand((*batch, loc.shape[-1]))
        self.__dict__[name] = matrix.expand((*batch, *matrix.shape[-2:]))
        super().__init__(batch, self.loc.shape[-1:], validate_args)
        if name == "scale_tril":
            self._factor = matrix
        elif name == "covariance_matrix":
            self._factor = linalg.cholesky(matrix)
        else:
            self._factor = _factor_of_inverse(matrix)

    def __getattr__(self, name: str) -> Any:
        shape = (*self._batch_shape, *self._event_shape, *self._event_shape)
        if name == "scale_tril":
            return self._factor.expand(shape)
        if name == "covariance_matrix":
            return (self._factor @ self._factor.mT).expand(shape)
        if name == "precision_matrix":
            return OPERATIONS["cholesky_inverse"](self._factor).expand(shape)
        raise AttributeError(f"'MultivariateNormal' object has no attribute {name!r}")

    def expand(self, batch_shape: Shape, _instance: Any = None) -> MultivariateNormal:
        rows = (*batch_shape, *self._event_shape)
        factor = self.scale_tril.expand((*rows, *self._event_shape))
        return MultivariateNormal(self.loc.expand(rows), scale_tril=factor, validate_args=False)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return self._factor.pow(2).sum(-1).expand((*self._batch_shape, *self._event_shape))

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        z = normal(self.loc, self._extended_shape(sample_shape))
        return self.loc + (self._factor @ z.unsqueeze(-1)).squeeze(-1)

    def log_prob(self, value: Any) -> Tensor:
        difference = (self._checked(value) - self.loc).unsqueeze(-1)
        batch = OPERATIONS["broadcast_shapes"](difference.shape[:-2], self._factor.shape[:-2])
        factor = self._factor.expand((*batch, *self._factor.shape[-2:]))
        difference = difference.expand((*batch, *difference.shape[-2:]))
        z = linalg.solve_triangular(factor, difference, upper=False)
        size = self._event_shape[0]
        squares = z.squeeze(-1).pow(2).sum(-1)
        return -0.5 * (size * math.log(2 * math.pi) + squares) - self._half_log_determinant()

    def _half_log_determinant(self) -> Any:
        return self._factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def entropy(self) -> Tensor:
        size = self._event_shape[0]
        found = 0.5 * size * (1.0 + math.log(2 * math.pi)) + self._half_log_determinant()
        return found.expand(self._batch_shape)


__all__ = ["MultivariateNormal"]
