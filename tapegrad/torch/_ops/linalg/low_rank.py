"""Singular values of low rank by random projections, norms and draws under older names.

Knows the operations by name. Must not know how they are computed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tapegrad.torch._ops.create.generator import Generator, source
from tapegrad.torch._ops.declare import OPERATIONS, register
from tapegrad.torch._ops.reduce.norms import matrix_norm, vector_norm
from tapegrad.torch._tensor.tensor import Tensor, of_value, plain_of


def _range_of(A: Tensor, q: int, niter: int) -> Tensor:
    """Orthonormal columns that nearly span what A maps to; constants, as the draws are."""
    x = A.detach()
    draws = OPERATIONS["randn"](*A.shape[:-2], A.shape[-1], q, dtype=A.dtype)
    made = OPERATIONS["qr"](x @ draws)[0]
    for _ in range(niter):
        made = OPERATIONS["qr"](x.mH @ made)[0]
        made = OPERATIONS["qr"](x @ made)[0]
    return made


@register(method=False)
def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """U, S and V of a matrix of rank q or nearly so: A is U @ diag(S) @ V.mH.

    A: Matrices (..., n, m).
    q: The rank.
    niter: Steps of subspace iteration.
    M: What is subtracted from A first.
    -> tuple of Tensors: U (..., n, q), S (..., q) and V (..., m, q).

    >>> U, S, V = torch.svd_lowrank(torch.diag(torch.tensor([3.0, 2.0, 0.0])), 2)
    >>> S.round(decimals=3)
    tensor([3., 2.])
    """
    q = 6 if q is None else q
    x = A if M is None else A - M
    flipped = x.shape[-2] < x.shape[-1]
    x = x.mH if flipped else x
    basis = _range_of(x, q, 2 if niter is None else niter)
    u, s, v = OPERATIONS["svd"](basis.mH @ x)
    u = basis @ u
    return (v, s, u) if flipped else (u, s, v)


@register(method=False)
def pca_lowrank(
    A: Tensor, q: int | None = None, center: bool = True, niter: int = 2
) -> tuple[Tensor, Tensor, Tensor]:
    """U, S and V of a matrix whose columns are centred unless told otherwise; q: at most 6.

    A: Matrices (..., n, m), of rows that are observations.
    q: The number of directions; min(6, n, m) unless given.
    niter: Steps of subspace iteration.
    -> tuple of Tensors: U (..., n, q), S (..., q) and V (..., m, q).

    >>> U, S, V = torch.pca_lowrank(torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), 1)
    >>> S.round(decimals=3)
    tensor([4.])
    """
    rows, columns = A.shape[-2:]
    q = min(6, rows, columns) if q is None else q
    if not 0 <= q <= min(rows, columns):
        raise ValueError(
            f"q(={q}) must be non-negative integer and not greater than min(m, n)="
            f"{min(rows, columns)}"
        )
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(A - A.mean(-2, keepdim=True) if center else A, q, niter)


@register(method=False)
def frobenius_norm(input: Tensor, dim: int | Sequence[int], keepdim: bool = False) -> Tensor:
    """The root of the sum of squares over one or two dimensions.

    dim (int or sequence of ints): One or two dimensions.
    """
    made: Tensor = vector_norm(input, 2, dim, keepdim)
    return made


@register(method=False)
def nuclear_norm(input: Tensor, dim: Sequence[int] | None = None, keepdim: bool = False) -> Tensor:
    """The sum of the singular values of matrices in two dimensions, the last unless given.

    input: Matrices, of a floating or complex dtype.
    dim (sequence of ints): The two dimensions of the matrices; the last ones unless
        given.
    """
    made: Tensor = matrix_norm(input, "nuc", (-2, -1) if dim is None else tuple(dim), keepdim)
    return made


@register(method=False)
def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor:
    """Numbers of successes in `count` trials of probability `prob`: constants.

    count: The numbers of trials, of a floating dtype.
    prob: The probabilities; the shapes broadcast.
    -> Tensor: Whole numbers, in the dtype of `count`.
    """
    trials, chance = np.broadcast_arrays(plain_of(count), plain_of(prob))
    if trials.dtype.kind != "f" or np.any(trials < 0):
        raise RuntimeError("binomial: expected counts that are floating and not negative")
    made = source(generator).binomial(trials.astype(np.int64), chance.astype(np.float64))
    return of_value(np.asarray(made).astype(trials.dtype))
