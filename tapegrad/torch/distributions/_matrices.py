"""Random matrices: Wishart's, and factors of correlations.

Knows factors of matrices. Must not know other families but those of their parts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tapegrad._warning import warn
from tapegrad.torch import linalg
from tapegrad.torch._dtypes import finfo
from tapegrad.torch._graph.modes import no_grad
from tapegrad.torch._ops.families import OPERATIONS
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.distributions import constraints
from tapegrad.torch.distributions._formulas import formulas
from tapegrad.torch.distributions._gammas import Beta, Chi2
from tapegrad.torch.distributions._location import normal
from tapegrad.torch.distributions._vectors import _ByMatrix, _factor
from tapegrad.torch.distributions.distribution import (
    Distribution,
    ExponentialFamily,
    broadcast,
    constrained,
)

Shape = Sequence[int]
_arange, _where = OPERATIONS["arange"], OPERATIONS["where"]


def multivariate_log_gamma(x: Any, size: int) -> Any:
    """log of the multivariate gamma function of matrices of a size."""
    halves = _arange(size, dtype=x.dtype) / 2
    found = (x.unsqueeze(-1) - halves).lgamma().sum(-1)
    return found + size * (size - 1) / 4 * math.log(math.pi)


def _multivariate_digamma(x: Any, size: int) -> Any:
    return (x.unsqueeze(-1) - _arange(size, dtype=x.dtype) / 2).digamma().sum(-1)


class Wishart(_ByMatrix, ExponentialFamily):
    """Sums of the outer products of `df` normal vectors with themselves.

    Draws are made by Bartlett's decomposition.

    df (Tensor or float): The degrees of freedom, greater than n - 1.
    covariance_matrix (Tensor, shape (..., n, n)): The covariance of the vectors.
    AssertionError: If not one of the three matrices is given.
    ValueError: If the matrix is a vector or a number, or `df` too small; for a matrix that is not
        of its kind, unless `validate_args` is False.
    UserWarning: If `df` is below n: draws are likely to be singular.

    >>> p = torch.distributions.Wishart(3.0, torch.eye(2))
    >>> p.mean
    tensor([[3., 0.],
            [0., 3.]])
    >>> p.log_prob(torch.eye(2))
    tensor(-3.5310)
    """

    has_rsample = True
    support = constraints.positive_definite
    arg_constraints = constrained(
        covariance_matrix=constraints.positive_definite,
        precision_matrix=constraints.positive_definite,
        scale_tril=constraints.lower_cholesky,
        df=constraints.greater_than(0),
    )
    _formulas = formulas(
        mean=lambda p: p._scale * p.covariance_matrix,
        _natural_params=lambda p: (-p.precision_matrix / 2, (p.df - p._event_shape[-1] - 1) / 2),
        _mean_carrier_measure=lambda p: 0,
    )

    def __init__(
        self,
        df: Any,
        covariance_matrix: Any = None,
        precision_matrix: Any = None,
        scale_tril: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        name, matrix = self._taken(
            AssertionError,
            covariance_matrix=covariance_matrix,
            precision_matrix=precision_matrix,
            scale_tril=scale_tril,
        )
        if matrix.dim() < 2:
            raise ValueError(
                "scale_tril must be at least two-dimensional, with optional leading batch "
                "dimensions"
            )
        if not isinstance(df, Tensor):
            df = OPERATIONS["tensor"](float(df), dtype=matrix.dtype)
        batch = OPERATIONS["broadcast_shapes"](matrix.shape[:-2], df.shape)
        event = matrix.shape[-2:]
        if bool((df <= event[-1] - 1).any()):
            raise ValueError(
                f"Value of df={_shown(df)} expected to be greater than ndim - 1 = {event[-1] - 1}."
            )
        self.df: Tensor | Any = df.expand(batch)
        self.__dict__[name] = matrix.expand((*batch, *event))
        bound = constraints.greater_than(event[-1] - 1)
        self.__dict__["arg_constraints"] = {**type(self).arg_constraints, "df": bound}
        super().__init__(batch, event, validate_args)
        if bool((self.df < event[-1]).any()):
            warn(
                "Low df values detected. Singular samples are highly likely to occur for ndim - 1 "
                "< df < ndim."
            )
        self._unbroadcasted_scale_tril = _factor(name, matrix)

    def _expanded(self, batch_shape: Shape) -> Wishart:
        given = [word for word in self.arg_constraints if word in self.__dict__ and word != "df"]
        word = given[0]
        matrix = self.__dict__[word].expand((*batch_shape, *self._event_shape))
        return Wishart(self.df.expand(batch_shape), **{word: matrix}, validate_args=False)

    @property
    def _scale(self) -> Any:
        """df with dimensions for a matrix."""
        return self.df.unsqueeze(-1).unsqueeze(-1)

    @property
    def mode(self) -> Tensor:
        factor = self._scale - self._event_shape[-1] - 1
        return _where(factor > 0, factor, math.nan) * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        matrix = self.covariance_matrix
        diagonal = matrix.diagonal(dim1=-2, dim2=-1)
        outer = diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2)
        return self._scale * (matrix.pow(2) + outer)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        size = self._event_shape[-1]
        freedom = self.df.unsqueeze(-1) - _arange(size, dtype=self.df.dtype)
        lengths = Chi2(freedom, validate_args=False).rsample(sample_shape).sqrt()
        below = normal(self._unbroadcasted_scale_tril, self._extended_shape(sample_shape)).tril(-1)
        factor = self._unbroadcasted_scale_tril @ (below + lengths.diag_embed())
        return factor @ factor.mT

    def log_prob(self, value: Any) -> Tensor:
        value = self._checked(value)
        df, size = self.df, self._event_shape[-1]
        normalizer = df * (size * math.log(2.0) / 2 + self._half_log_determinant())
        normalizer = normalizer + multivariate_log_gamma(df / 2, size)
        powers = (df - size - 1) / 2 * linalg.slogdet(value)[1]
        # The precision is symmetric, so the trace of its product with a matrix is a sum.
        trace = (self.precision_matrix * value.mT).sum((-2, -1))
        return powers - trace / 2 - normalizer

    def _log_normalizer(self, *natural_params: Any) -> Any:
        x, y = natural_params
        size = self._event_shape[-1]
        shape = y + (size + 1) / 2
        found = shape * (-linalg.slogdet(-2 * x)[1] + math.log(2.0) * size)
        return found + multivariate_log_gamma(shape, size)

    def entropy(self) -> Tensor:
        df, size = self.df, self._event_shape[-1]
        return (
            (size + 1) * (size * math.log(2.0) / 2 + self._half_log_determinant())
            + multivariate_log_gamma(df / 2, size)
            - (df - size - 1) / 2 * _multivariate_digamma(df / 2, size)
            + df * size / 2
        )


def _shown(value: Any) -> Any:
    return value.item() if value.numel() == 1 else value


class LKJCholesky(Distribution):
    """Lower factors of correlations, of densities by powers of the determinant.

    dim: The size of the matrices, at least 2.
    concentration (Tensor or float): 1 is uniform over correlations; the greater, the closer they
        are to the identity. Positive.
    ValueError: If `dim` is below 2; for a `concentration` out of its range, unless `validate_args`
        is False.
    Notes: D. Lewandowski, D. Kurowicka, H. Joe (2009), Generating random correlation matrices
        based on vines and extended onion method: draws are made row by row, as the onion is.

    >>> p = torch.distributions.LKJCholesky(2)
    >>> p.log_prob(torch.eye(2))
    tensor(-0.6931)
    """

    arg_constraints = constrained(concentration=constraints.positive)
    support = constraints.corr_cholesky

    def __init__(
        self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None
    ) -> None:
        if dim < 2:
            raise ValueError(
                f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}."
            )
        self.dim = dim
        (self.concentration,) = broadcast(concentration)
        super().__init__(self.concentration.shape, (dim, dim), validate_args)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        size = self.dim
        with no_grad():
            rows = _arange(size, dtype=self.concentration.dtype)
            before = (rows - 1).clamp(min=0)  # the first row has none: any number will do
            rest = (self.concentration + 0.5 * (size - 2)).unsqueeze(-1) - 0.5 * before
            shares = Beta((0.5 * before + 0.5).expand(rest.shape), rest, validate_args=False)
            drawn = shares.sample(sample_shape).unsqueeze(-1)
            z = normal(rest, self._extended_shape(sample_shape)).tril(-1)
            length = z.norm(dim=-1, keepdim=True)
            directions = z / _where(length == 0, 1.0, length)
            made = drawn.sqrt() * directions
            left = (1 - (made**2).sum(-1)).clamp(min=finfo(made.dtype).tiny)
            return made + left.sqrt().diag_embed()

    def log_prob(self, value: Any) -> Tensor:
        diagonal = self._checked(value).diagonal(dim1=-1, dim2=-2)[..., 1:]
        size, rows = self.dim, self.dim - 1
        order = _arange(2, size + 1, dtype=self.concentration.dtype)
        powers = 2 * (self.concentration - 1).unsqueeze(-1) + size - order
        found = (powers * diagonal.log()).sum(-1)
        alpha = self.concentration + 0.5 * rows
        constant = 0.5 * rows * math.log(math.pi) - alpha.lgamma() * rows
        return found - constant - multivariate_log_gamma(alpha - 0.5, rows)
