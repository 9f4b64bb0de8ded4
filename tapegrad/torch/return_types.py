"""Named tuples that operations return: `torch.return_types.max(values, indices)`."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from tapegrad._core.types import Value


def _shown(self: Any) -> str:
    parts = (f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
    return f"torch.return_types.{type(self).__name__}(\n" + ",\n".join(parts) + ")"


_DOC = """Result of `torch.{call}`.

Attributes
----------
{fields}

Examples
--------
>>> import tapegrad.torch as torch
>>> x = torch.tensor([[2.0, 1.0], [1.0, 3.0]])
>>> torch.{example}._fields
{names}
"""


def _named(word: str, example: str, **fields: str) -> Any:
    """A named tuple: its name, a call that returns it, and what its fields are.

    What a field is may begin with its type and a colon; most are tensors.
    """
    made: Any = namedtuple(word, list(fields))  # type: ignore[misc]  # noqa: PYI024 - as told
    setattr(made, "__repr__", _shown)  # noqa: B010 - mypy knows the class
    made.__module__ = __name__
    made.__doc__ = _DOC.format(
        call=example.partition("(")[0],
        fields="\n".join(_attribute(name, said) for name, said in fields.items()),
        example=example,
        names=repr(tuple(fields)),
    )
    return made


def _attribute(name: str, said: str) -> str:
    kind, _, meaning = said.rpartition(": ")
    return f"{name} : {kind or 'Tensor'}\n    {meaning}"


_PAIRS = (
    "cummax(x, 0) cummin(x, 0) kthvalue(x, 1) max(x, 0) median(x, 0) min(x, 0) mode(x, 0) "
    "nanmedian(x, 0) sort(x) topk(x, 1)"
)
for _call in _PAIRS.replace(") ", ")|").split("|"):
    _word = _call.partition("(")[0]
    globals()[_word] = _named(
        _word, _call, values="The values.", indices="Where they stand along the dimension, int64."
    )
aminmax = _named("aminmax", "aminmax(x)", min="The least value.", max="The greatest value.")

_INFO = "Not 0 where it failed, int32."
_PIVOTS = "Which rows were exchanged, int32."
frexp = _named(
    "frexp",
    "frexp(x)",
    mantissa="From 0.5 to before 1 in magnitude, or 0.",
    exponent="The powers of two that they are multiplied by, int32.",
)
geqrf = _named(
    "geqrf",
    "geqrf(x)",
    a="R on and above the diagonal, and below it the vectors of the reflections that make Q.",
    tau="The factors of the reflections.",
)
_COUNTS = "The counts, or the sums of the weights."
histogram = _named("histogram", "histogram(x, 3)", hist=_COUNTS, bin_edges="Where bins end.")
histogramdd = _named(
    "histogramdd",
    "histogramdd(x, [2, 2])",
    hist=_COUNTS,
    bin_edges="tuple of Tensor: Where bins end, by dimension.",
)
linalg_cholesky_ex = _named(
    "linalg_cholesky_ex", "linalg.cholesky_ex(x)", L="The lower factor.", info=_INFO
)
_EIGEN = {"eigenvalues": "The eigenvalues.", "eigenvectors": "The eigenvectors, as columns."}
linalg_eig = _named("linalg_eig", "linalg.eig(x)", **_EIGEN)
linalg_eigh = _named("linalg_eigh", "linalg.eigh(x)", **_EIGEN)
linalg_inv_ex = _named("linalg_inv_ex", "linalg.inv_ex(x)", inverse="The inverse.", info=_INFO)
linalg_lstsq = _named(
    "linalg_lstsq",
    "linalg.lstsq(x, x)",
    solution="The solution.",
    residuals="The sums of the squares of what is left over; empty if they were not computed.",
    rank="The rank of the matrix; empty if it was not computed.",
    singular_values="Its singular values; empty if they were not computed.",
)
_LD = {"LD": "Both factors in one matrix.", "pivots": _PIVOTS}
linalg_ldl_factor = _named("linalg_ldl_factor", "linalg.ldl_factor(x)", **_LD)
linalg_ldl_factor_ex = _named("linalg_ldl_factor_ex", "linalg.ldl_factor_ex(x)", **_LD, info=_INFO)
_PLU = {
    "P": "The permutation.",
    "L": "The lower factor, of the diagonal 1.",
    "U": "The upper factor.",
}
linalg_lu = _named("linalg_lu", "linalg.lu(x)", **_PLU)
_LU = {"LU": "Both factors in one matrix.", "pivots": _PIVOTS}
linalg_lu_factor = _named("linalg_lu_factor", "linalg.lu_factor(x)", **_LU)
linalg_lu_factor_ex = _named("linalg_lu_factor_ex", "linalg.lu_factor_ex(x)", **_LU, info=_INFO)
_QR = {"Q": "The factor of orthonormal columns.", "R": "The upper triangular factor."}
linalg_qr = _named("linalg_qr", "linalg.qr(x)", **_QR)
_SIGNED = {
    "sign": "The sign of the determinant.",
    "logabsdet": "The logarithm of its absolute value.",
}
linalg_slogdet = _named("linalg_slogdet", "linalg.slogdet(x)", **_SIGNED)
linalg_solve_ex = _named(
    "linalg_solve_ex", "linalg.solve_ex(x, x)", result="The solution.", info=_INFO
)
_LEFT = {"U": "The left singular vectors, as columns.", "S": "The singular values, falling."}
linalg_svd = _named(
    "linalg_svd", "linalg.svd(x)", **_LEFT, Vh="The right ones, as conjugated rows."
)
lu_unpack = _named("lu_unpack", "lu_unpack(*torch.linalg.lu_factor(x))", **_PLU)
qr = _named("qr", "qr(x)", **_QR)
slogdet = _named("slogdet", "slogdet(x)", **_SIGNED)
svd = _named("svd", "svd(x)", **_LEFT, V="The right ones, as columns.")
triangular_solve = _named(
    "triangular_solve",
    "triangular_solve(x, x)",
    solution="The solution.",
    cloned_coefficient="A copy of the matrix.",
)
_lu_with_info = _named("_lu_with_info", "lu(x, get_infos=True)", **_LU, info=_INFO)


def pair(word: str, values: Value, indices: Value) -> Any:
    """A named tuple of values and indices.

    word: The name of one that has these fields.
    values, indices (Tensor): The fields.
    -> tuple: `torch.return_types.<word>(values, indices)`.

    >>> torch.return_types.pair("max", torch.tensor(3.0), torch.tensor(1)).values
    tensor(3.)
    """
    return globals()[word](values, indices)
