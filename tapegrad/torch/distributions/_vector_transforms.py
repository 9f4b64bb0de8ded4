"""Transforms of vectors and matrices.

Knows `Transform`. Must not know distributions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tapegrad.torch._dtypes import finfo
from tapegrad.torch._ops.families import OPERATIONS
from tapegrad.torch.distributions import constraints
from tapegrad.torch.distributions._formulas import formulas
from tapegrad.torch.distributions._number_transforms import SigmoidTransform, softplus
from tapegrad.torch.distributions._transform import Transform
from tapegrad.torch.nn.padding.functions import pad

Shape = Sequence[int]
_arange = OPERATIONS["arange"]


class SoftmaxTransform(Transform):
    """The shares exp(x) / exp(x).sum(-1); log is taken for its inverse.

    >>> torch.distributions.SoftmaxTransform()(torch.tensor([0.0, 0.0]))
    tensor([0.5000, 0.5000])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    _formulas = formulas(
        _inverse=lambda self, y: y.log(),
        forward_shape=lambda self, shape: _with_last(shape, 0),
        inverse_shape=lambda self, shape: _with_last(shape, 0),
    )

    def _call(self, x: Any) -> Any:
        powers = (x - x.max(-1, True)[0]).exp()
        return powers / powers.sum(-1, True)


class StickBreakingTransform(Transform):
    """Shares of a stick of which part after part is broken off: one more than x has numbers.

    >>> torch.distributions.StickBreakingTransform()(torch.zeros(3))
    tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """

    bijective = True
    domain = constraints.real_vector
    codomain = constraints.simplex
    _formulas = formulas(
        forward_shape=lambda self, shape: _with_last(shape, 1),
        inverse_shape=lambda self, shape: _with_last(shape, -1),
    )

    def _offsets(self, x: Any) -> Any:
        return x.shape[-1] + 1 - _arange(1, x.shape[-1] + 1, dtype=x.dtype)

    def _call(self, x: Any) -> Any:
        z = SigmoidTransform()(x - self._offsets(x).log())
        left = (1 - z).cumprod(-1)
        return pad(z, (0, 1), value=1) * pad(left, (1, 0), value=1)

    def _inverse(self, y: Any) -> Any:
        shares = y[..., :-1]
        offsets = y.shape[-1] - _arange(1, shares.shape[-1] + 1, dtype=y.dtype)
        left = (1 - shares.cumsum(-1)).clamp(min=finfo(y.dtype).tiny)
        return shares.log() - left.log() + offsets.log()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        x = x - self._offsets(x).log()
        return (-x - softplus(-x) + y[..., :-1].log()).sum(-1)


def _with_last(shape: Shape, more: int) -> Any:
    """A shape whose last size is another."""
    if len(shape) < 1:
        raise ValueError("Too few dimensions on input")
    return (*shape[:-1], shape[-1] + more) if more else shape


class LowerCholeskyTransform(Transform):
    """The lower triangle of a matrix, and exp of its diagonal.

    >>> torch.distributions.LowerCholeskyTransform()(torch.tensor([[0.0, 1.0], [2.0, 0.0]]))
    tensor([[1., 0.],
            [2., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky
    _formulas = formulas(
        _call=lambda self, x: x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed(),
        _inverse=lambda self, y: y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed(),
    )


class PositiveDefiniteTransform(Transform):
    """The product of what `LowerCholeskyTransform` gives and its transpose.

    >>> torch.distributions.PositiveDefiniteTransform()(torch.tensor([[0.0, 1.0], [2.0, 0.0]]))
    tensor([[1., 2.],
            [2., 5.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite
    _formulas = formulas(
        _inverse=lambda self, y: LowerCholeskyTransform().inv(OPERATIONS["cholesky"](y))
    )

    def _call(self, x: Any) -> Any:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT


class CorrCholeskyTransform(Transform):
    """Vectors of n (n - 1) / 2 numbers to the factors of correlations of n variables.

    Notes
    -----
    tanh makes them partial correlations, which are the shares, with signs, of what is left of each
    row: D. Lewandowski, D. Kurowicka, H. Joe (2009), Generating random correlation matrices based
    on vines and extended onion method.

    >>> factor = torch.distributions.CorrCholeskyTransform()(torch.tensor([0.5]))
    >>> factor @ factor.T
    tensor([[1.0000, 0.4621],
            [0.4621, 1.0000]])
    """

    bijective = True
    domain = constraints.real_vector
    codomain = constraints.corr_cholesky

    def _call(self, x: Any) -> Any:
        eps = finfo(x.dtype).eps
        partial = x.tanh().clamp(min=-1 + eps, max=1 - eps)
        rows = _as_lower(partial)
        left = (1 - rows**2).sqrt().cumprod(-1)
        whole = rows + OPERATIONS["eye"](rows.shape[-1], dtype=rows.dtype)
        return whole * pad(left[..., :-1], [1, 0], value=1)

    def _inverse(self, y: Any) -> Any:
        left = pad((1 - (y * y).cumsum(-1))[..., :-1], [1, 0], value=1)
        partial = _below(y) / _below(left).sqrt()
        return (partial.log1p() - (-partial).log1p()) / 2

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        rest = 1 - (y * y).cumsum(-1)
        # Of each row below the second, what is left where its numbers but the first begin.
        of_rows = 0.5 * _below(rest, -2).log().sum(-1)
        of_tanh = -2 * (x + softplus(-2 * x) - math.log(2.0)).sum(-1)
        return of_rows + of_tanh

    def forward_shape(self, shape: Shape) -> Any:
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        side = round((0.25 + 2 * shape[-1]) ** 0.5 + 0.5)
        if side * (side - 1) // 2 != shape[-1]:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return (*shape[:-1], side, side)

    def inverse_shape(self, shape: Shape) -> Any:
        if len(shape) < 2:
            raise ValueError("Too few dimensions on input")
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        side = shape[-1]
        return (*shape[:-2], side * (side - 1) // 2)


def _as_lower(vector: Any) -> Any:
    """A matrix with numbers below its diagonal, row by row."""
    count = vector.shape[-1]
    side = round((0.25 + 2 * count) ** 0.5 + 0.5)
    if side * (side - 1) // 2 != count:
        raise ValueError(
            f"The size of last dimension is {count} which cannot be expressed as the lower "
            "triangular part of a square D x D matrix."
        )
    made = vector.new_zeros((*vector.shape[:-1], side, side))
    rows, columns = OPERATIONS["tril_indices"](side, side, -1)
    made[..., rows, columns] = vector
    return made


def _below(matrix: Any, diagonal: int = -1) -> Any:
    """The numbers below a diagonal, row by row."""
    rows, columns = OPERATIONS["tril_indices"](matrix.shape[-2], matrix.shape[-1], diagonal)
    return matrix[..., rows, columns]
