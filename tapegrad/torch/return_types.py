"""Named tuples that operations return: `torch.return_types.max(values, indices)`."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from tapegrad._core.types import Value


def _shown(self: Any) -> str:
    parts = (f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
    return f"torch.return_types.{type(self).__name__}(\n" + ",\n".join(parts) + ")"


def _named(word: str, fields: str) -> Any:
    made: Any = namedtuple(word, fields)  # type: ignore[misc]  # noqa: PYI024 - as told
    setattr(made, "__repr__", _shown)  # noqa: B010 - mypy knows the class
    made.__module__ = __name__
    return made


_PAIRS = "cummax cummin kthvalue max median min mode nanmedian sort topk"
for _word in _PAIRS.split():
    globals()[_word] = _named(_word, "values indices")
aminmax = _named("aminmax", "min max")

frexp = _named("frexp", "mantissa exponent")
geqrf = _named("geqrf", "a tau")
histogram = _named("histogram", "hist bin_edges")
histogramdd = _named("histogramdd", "hist bin_edges")
linalg_cholesky_ex = _named("linalg_cholesky_ex", "L info")
linalg_eig = _named("linalg_eig", "eigenvalues eigenvectors")
linalg_eigh = _named("linalg_eigh", "eigenvalues eigenvectors")
linalg_inv_ex = _named("linalg_inv_ex", "inverse info")
linalg_lstsq = _named("linalg_lstsq", "solution residuals rank singular_values")
linalg_ldl_factor = _named("linalg_ldl_factor", "LD pivots")
linalg_ldl_factor_ex = _named("linalg_ldl_factor_ex", "LD pivots info")
linalg_lu = _named("linalg_lu", "P L U")
linalg_lu_factor = _named("linalg_lu_factor", "LU pivots")
linalg_lu_factor_ex = _named("linalg_lu_factor_ex", "LU pivots info")
linalg_qr = _named("linalg_qr", "Q R")
linalg_slogdet = _named("linalg_slogdet", "sign logabsdet")
linalg_solve_ex = _named("linalg_solve_ex", "result info")
linalg_svd = _named("linalg_svd", "U S Vh")
lu_unpack = _named("lu_unpack", "P L U")
qr = _named("qr", "Q R")
slogdet = _named("slogdet", "sign logabsdet")
svd = _named("svd", "U S V")
triangular_solve = _named("triangular_solve", "solution cloned_coefficient")
_lu_with_info = _named("_lu_with_info", "LU pivots info")


def pair(word: str, values: Value, indices: Value) -> Any:
    """`torch.return_types.<word>(values, indices)`."""
    return globals()[word](values, indices)
