"""Parametrizations: orthogonal matrices, weights of given norms, or of spectral norm 1.

Knows modules and linear algebra. Must not know how a module comes by them (`parametrize`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.torch import linalg
from tapegrad.torch._graph.modes import no_grad
from tapegrad.torch._ops.families import OPERATIONS
from tapegrad.torch._ops.reduce.norms import norm_except_dim, weight_of
from tapegrad.torch._tensor.tensor import Tensor, of_value, plain_of
from tapegrad.torch._tensor.writes import overwrite
from tapegrad.torch.nn.distance.functions import normalize
from tapegrad.torch.nn.module.module import Module
from tapegrad.torch.nn.utils.parametrize import register_parametrization
from tapegrad.torch.nn.utils.spectral_norm import as_matrix, default_dim

MAPS = "matrix_exp", "cayley", "householder"

# --- Orthogonal matrices -------------------------------------------------------------------------


def _eye(count: int, like: Tensor) -> Any:
    return OPERATIONS["eye"](count, dtype=like.dtype)


def _is_orthogonal(q: Tensor) -> bool:
    eps = 10.0 * q.size(-2) * float(np.finfo(plain_of(q).dtype).eps)
    return bool(OPERATIONS["allclose"](q.mH @ q, _eye(q.size(-1), q), atol=eps))


def _made_orthogonal(a: Tensor) -> Any:
    """The orthogonal factor of a, with the signs for which the other one has a positive diagonal.

    For normal numbers it is uniform among orthogonal matrices: F. Mezzadri (2006).
    """
    q, r = linalg.qr(a)
    return q * r.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


def _householder_product(vectors: Tensor, tau: Tensor) -> Any:
    """The first columns of the product of reflections I - tau v v^T.

    vectors: (..., n, k), of which only what is below the diagonal counts; tau: (..., k).
    """
    n, k = vectors.size(-2), vectors.size(-1)
    one = _eye(n, vectors)[:, :k]
    columns = vectors.tril(-1) + one
    product = one
    for place in reversed(range(k)):
        v = columns[..., place : place + 1]
        product = product - tau[..., place, None, None] * (v @ (v.mT @ product))
    return product


class _Orthogonal(Module):
    """A square matrix, or some of its columns, from any matrix of the same shape."""

    base: Any

    def __init__(self, weight: Tensor, orthogonal_map: str, *, use_trivialization: bool) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map == "householder":
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Any) -> Any:
        wide = X.size(-2) < X.size(-1)
        tall = X.mT if wide else X
        made = (
            self._reflected(tall) if self.orthogonal_map == "householder" else self._rotated(tall)
        )
        if hasattr(self, "base"):
            made = self.base @ made
        return made.mT if wide else made

    def _rotated(self, x: Any) -> Any:
        """The exponential, or the Cayley transform, of a skew-symmetric matrix."""
        n, k = x.size(-2), x.size(-1)
        x = x.tril()
        if n != k:
            zeros = x.new_zeros(*x.shape[:-1], n - k)
            x = OPERATIONS["cat"]([x, zeros], dim=-1)
        skew = x - x.mH
        if self.orthogonal_map == "matrix_exp":
            made = OPERATIONS["matrix_exp"](skew)
        else:
            one = _eye(n, skew)
            made = linalg.solve(one - 0.5 * skew, one + 0.5 * skew)
        return made[..., :k]

    def _reflected(self, x: Any) -> Any:
        below = x.tril(diagonal=-1)
        tau = 2.0 / (1.0 + (below * below).sum(dim=-2))
        signs = x.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)
        return _householder_product(below, tau) * signs

    def right_inverse(self, Q: Any) -> Any:
        """Matrix of which `forward` makes an orthogonal one, or the one next to a matrix."""
        if Q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of "
                f"shape {Q.shape}."
            )
        with no_grad():
            wide = Q.size(-2) < Q.size(-1)
            tall = Q.mT if wide else Q
            if hasattr(self, "base"):
                self.base = self._completed(tall)
                made = OPERATIONS["zeros_like"](Q)
                made.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
                return made
            if self.orthogonal_map != "householder":
                raise NotImplementedError(
                    "It is not possible to assign to the matrix exponential or the Cayley "
                    "parametrizations when use_trivialization=False."
                )
            made = _reflections(tall)
            return made.mT if wide else made

    def _completed(self, q: Any) -> Any:
        """An orthogonal square matrix whose first columns are those of q, if they can be."""
        n, k = q.size(-2), q.size(-1)
        if n == k:
            return q.clone() if _is_orthogonal(q) else _made_orthogonal(q)
        more = OPERATIONS["randn"](*q.shape[:-1], n - k, dtype=q.dtype)
        return _made_orthogonal(OPERATIONS["cat"]([q, more], dim=-1))


def _reflections(q: Tensor) -> Any:
    """The vectors of the reflections whose product is q, with signs on the diagonal."""
    raw, tau = np.linalg.qr(plain_of(q), mode="raw")
    made = np.swapaxes(raw, -1, -2).copy()
    places = np.arange(made.shape[-1])
    signs = np.sign(made[..., places, places])
    made[..., places, places] = np.where(tau == 0.0, -signs, signs)
    return of_value(made)


def orthogonal(
    module: Any,
    name: str = "weight",
    orthogonal_map: str | None = None,
    *,
    use_trivialization: bool = True,
) -> Any:
    """Make a weight of a module an orthogonal matrix, or a batch of them.

    It has orthonormal rows if it has more columns, else orthonormal columns.

    name: The name of the weight.
    orthogonal_map ({"matrix_exp", "cayley", "householder"}): How it is made of any matrix; the
        first for square and complex ones, else the last, unless given.
    use_trivialization: Apply the map at the present value, which makes all of them assignable.
    -> Module: The module itself.
    ValueError: For no such weight, for less than two dimensions, and another word.
    Notes: M. Lezcano-Casado, Trivializations for gradient-based optimization on manifolds (2019).

    >>> layer = torch.nn.utils.parametrizations.orthogonal(torch.nn.Linear(3, 3))
    >>> torch.allclose(layer.weight @ layer.weight.T, torch.eye(3), atol=1e-5)
    True
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.ndim < 2:
        raise ValueError(
            f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions."
        )
    if orthogonal_map is None:
        square = weight.size(-2) == weight.size(-1)
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    if orthogonal_map not in MAPS:
        raise ValueError(
            'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: '
            f"{orthogonal_map}"
        )
    made_by = _Orthogonal(weight, orthogonal_map, use_trivialization=use_trivialization)
    return register_parametrization(module, name, made_by, unsafe=True)


# --- Norms ---------------------------------------------------------------------------------------


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Any, weight_v: Any) -> Any:
        return weight_of(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Any) -> Any:
        """The lengths of a weight, and itself for their directions."""
        return norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """Make a weight of a module a length times a direction.

    The length is `parametrizations.<name>.original0`, the direction `original1`.

    name: The name of the weight.
    dim (int or None): The dimension along which the lengths are; None for one length of all.
    -> Module: The module itself.
    ValueError: For no such weight.
    Notes: T. Salimans, D. Kingma, Weight normalization (2016).

    >>> layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 3))
    >>> layer.parametrizations.weight.original0.shape
    torch.Size([3, 1])
    """
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def from_older(state_dict: Any, prefix: str, *_: Any) -> None:
        """Rename what `nn.utils.weight_norm` saved."""
        older = f"{prefix}{name}_g", f"{prefix}{name}_v"
        if all(path in state_dict for path in older):
            for place, path in enumerate(older):
                newer = f"{prefix}parametrizations.{name}.original{place}"
                state_dict[newer] = state_dict.pop(path)

    module._register_load_state_dict_pre_hook(from_older)
    return module


class _SpectralNorm(Module):
    _u: Any
    _v: Any

    def __init__(
        self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        super().__init__()
        ndim = weight.ndim
        if not -ndim <= dim < ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] but "
                f"got {dim})"
            )
        if n_power_iterations <= 0:
            raise ValueError(
                "Expected n_power_iterations to be positive, but got "
                f"n_power_iterations={n_power_iterations}"
            )
        self.dim = dim % ndim
        self.eps = eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = as_matrix(weight, self.dim)
            for word, side in zip(("_u", "_v"), matrix.shape, strict=True):
                start = matrix.new_empty(side).normal_(0, 1)
                self.register_buffer(word, normalize(start, dim=0, eps=eps))
            self._power_method(matrix, 15)

    def _power_method(self, matrix: Tensor, steps: int) -> None:
        with no_grad():
            for _ in range(steps):
                overwrite(self._u, normalize(matrix.mv(self._v), dim=0, eps=self.eps))
                overwrite(self._v, normalize(matrix.mH.mv(self._u), dim=0, eps=self.eps))

    def forward(self, weight: Any) -> Any:
        if weight.ndim == 1:
            return normalize(weight, dim=0, eps=self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()  # the next call writes into the buffers
        return weight / u.vdot(matrix.mv(v))

    def right_inverse(self, value: Any) -> Any:
        """The value itself, of which nothing says that its norm is 1."""
        return value


def spectral_norm(
    module: Any,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Any:
    """Divide a weight of a module by its largest singular value.

    Power iterations estimate it, some whenever the weight is read while training.

    name: The name of the weight.
    dim (int or None): The dimension of the outputs in the weight; 0 unless given, and 1 in
        transposed convolutions.
    -> Module: The module itself.
    ValueError: For no such weight.
    Notes: T. Miyato and others, Spectral normalization for generative adversarial networks (2018).

    >>> layer = torch.nn.utils.parametrizations.spectral_norm(torch.nn.Linear(2, 2))
    >>> layer.weight.shape
    torch.Size([2, 2])
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    along = default_dim(module) if dim is None else dim
    made_by = _SpectralNorm(weight, n_power_iterations, along, eps)
    return register_parametrization(module, name, made_by)


__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


def __dir__() -> list[str]:
    return __all__
