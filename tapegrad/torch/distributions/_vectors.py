"""The normal distribution of vectors.

Knows Cholesky factors. Must not know other families.
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
from tapegrad.torch.distributions.distribution import Distribution, constrained

Shape = Sequence[int]


def factor_of_inverse(precision: Any) -> Any:
    """The lower factor of the inverse of a matrix, from the factor of the matrix reversed."""
    factor = linalg.cholesky(precision.flip((-2, -1))).flip((-2, -1)).mT
    eye = OPERATIONS["eye"](precision.shape[-1], dtype=precision.dtype)
    return linalg.solve_triangular(factor, eye.expand(factor.shape), upper=False)


def _factor(name: str, matrix: Any) -> Any:
    """The lower factor of a covariance that is given by a matrix of a name."""
    if name == "scale_tril":
        return matrix
    return linalg.cholesky(matrix) if name == "covariance_matrix" else factor_of_inverse(matrix)


class _ByMatrix(Distribution):
    """A distribution given by a covariance, its inverse or its lower factor.

    covariance_matrix (Tensor, shape (..., n, n)): The covariance.
    precision_matrix (Tensor, shape (..., n, n)): Instead of it: its inverse.
    scale_tril (Tensor, shape (..., n, n)): Instead of it: its lower factor.
    """

    covariance_matrix: Tensor
    precision_matrix: Tensor
    scale_tril: Tensor

    def _taken(self, error: type[Exception] = ValueError, **matrices: Any) -> tuple[str, Any]:
        """The one matrix that is given, with its name."""
        named = [(name, matrix) for name, matrix in matrices.items() if matrix is not None]
        if len(named) != 1:
            raise error(f"Exactly one of {' or '.join(matrices)} may be specified.")
        return named[0]

    def __getattr__(self, name: str) -> Any:
        if name == "scale_tril":
            found = self._unbroadcasted_scale_tril
        elif name == "covariance_matrix":
            found = self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT
        elif name == "precision_matrix":
            found = OPERATIONS["cholesky_inverse"](self._unbroadcasted_scale_tril)
        else:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return found.expand((*self._batch_shape, *found.shape[-2:]))

    def _half_log_determinant(self) -> Any:
        return self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)


class MultivariateNormal(_ByMatrix, _Centered):
    """Normal vectors of a mean and one of covariance, precision, or a lower factor.

    loc (Tensor, shape (..., n)): The mean.
    ValueError: If not one of the three matrices is given, or something has too few dimensions; for
        a matrix that is not of its kind, unless `validate_args` is False.

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
    arg_constraints = constrained(
        loc=constraints.real_vector,
        covariance_matrix=constraints.positive_definite,
        precision_matrix=constraints.positive_definite,
        scale_tril=constraints.lower_cholesky,
    )
    _formulas = formulas(
        variance=lambda p: (
            p._unbroadcasted_scale_tril.pow(2).sum(-1).expand((*p._batch_shape, *p._event_shape))
        )
    )

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
        name, matrix = self._taken(
            covariance_matrix=covariance_matrix,
            precision_matrix=precision_matrix,
            scale_tril=scale_tril,
        )
        if matrix.dim() < 2:
            raise ValueError(
                f"{name} must be at least two-dimensional, with optional leading batch dimensions"
            )
        batch = OPERATIONS["broadcast_shapes"](matrix.shape[:-2], loc.shape[:-1])
        self.loc = loc.expand((*batch, loc.shape[-1]))
        self.__dict__[name] = matrix.expand((*batch, *matrix.shape[-2:]))
        super().__init__(batch, self.loc.shape[-1:], validate_args)
        self._unbroadcasted_scale_tril = _factor(name, matrix)

    def _expanded(self, batch_shape: Shape) -> MultivariateNormal:
        rows = (*batch_shape, *self._event_shape)
        factor = self.scale_tril.expand((*rows, *self._event_shape))
        return MultivariateNormal(self.loc.expand(rows), scale_tril=factor, validate_args=False)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        z = normal(self.loc, self._extended_shape(sample_shape))
        return self.loc + (self._unbroadcasted_scale_tril @ z.unsqueeze(-1)).squeeze(-1)

    def log_prob(self, value: Any) -> Tensor:
        difference = (self._checked(value) - self.loc).unsqueeze(-1)
        batch = OPERATIONS["broadcast_shapes"](
            difference.shape[:-2], self._unbroadcasted_scale_tril.shape[:-2]
        )
        factor = self._unbroadcasted_scale_tril.expand(
            (*batch, *self._unbroadcasted_scale_tril.shape[-2:])
        )
        difference = difference.expand((*batch, *difference.shape[-2:]))
        z = linalg.solve_triangular(factor, difference, upper=False)
        size = self._event_shape[0]
        squares = z.squeeze(-1).pow(2).sum(-1)
        return -0.5 * (size * math.log(2 * math.pi) + squares) - self._half_log_determinant()

    def entropy(self) -> Tensor:
        size = self._event_shape[0]
        found = 0.5 * size * (1.0 + math.log(2 * math.pi)) + self._half_log_determinant()
        return found.expand(self._batch_shape)
