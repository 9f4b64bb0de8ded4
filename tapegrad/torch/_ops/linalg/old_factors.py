"""Factors as LAPACK packs them: LU and LDL with their codes of success, and older names.

Knows how LU factors are packed, and SciPy for LDL. Must not know how LU is computed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad._core.values import is_mapped, untraced
from tapegrad.torch import return_types
from tapegrad.torch._ops.declare import deliver, operation, private, register
from tapegrad.torch._ops.linalg.checks import require_matrices
from tapegrad.torch._ops.linalg.triangular_factors import info_of, order_of, packed, permutation
from tapegrad.torch._tensor.tensor import Tensor

# --- LU -----------------------------------------------------------------------------------------


def require_pivots(word: str, factors: Value) -> None:
    """RuntimeError where U has a zero on its diagonal."""
    values = untraced(factors)
    if is_mapped(values):
        return
    info = info_of(values)
    if np.any(info):
        place = int(info.reshape(-1)[np.argmax(info.reshape(-1) != 0)])
        first = "" if not info.ndim else f"(Batch element {int(np.argmax(info != 0))}): "
        raise RuntimeError(
            f"{word}: {first}U[{place},{place}] is zero and using it on lu_solve would result in "
            "a division by zero. If you still want to perform the factorization, consider calling "
            "linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)"
        )


@private("LinalgLuFactorExBackward0", name="linalg_lu_factor_ex")
def lu_factor_ex(A: Value, *, pivot: bool = True, check_errors: bool = False) -> Any:
    """`lu_factor`, and the place of the first zero on the diagonal of U, 0 for none.

    A: Matrices (..., n, m).
    check_errors: Whether a zero on the diagonal of U is an error.
    -> named tuple: The matrices `LU`, the swaps `pivots`, and the places `info` (...).
    """
    factors, swaps = packed("torch.linalg.lu_factor_ex", A, pivot)
    if check_errors:
        require_pivots("torch.linalg.lu_factor_ex", factors)
    return return_types.linalg_lu_factor_ex(factors, swaps, info_of(untraced(factors)))


@private("LinalgLuFactorExBackward0", name="lu")
def _lu(input: Value, pivot: bool) -> Any:
    factors, swaps = packed("linalg.lu_factor", input, pivot)
    return return_types._lu_with_info(factors, swaps, info_of(untraced(factors)))


@register()
def lu(A: Tensor, pivot: bool = True, get_infos: bool = False, out: Any = None) -> Any:
    """The older form of `linalg.lu_factor`: LU and the swaps of rows, and codes if get_infos.

    A: Matrices (..., n, m).
    get_infos: Whether to return LAPACK's codes too.
    out (tuple of Tensors): Where the results are written.
    -> tuple of Tensors: LU, the swaps, and the codes if asked for.

    >>> LU, pivots = torch.lu(torch.tensor([[0.0, 2.0], [4.0, 0.0]]))
    >>> pivots
    tensor([2, 2], dtype=torch.int32)
    """
    made = _lu(A, pivot)
    asked = made if get_infos else (made[0], made[1])
    return asked if out is None else deliver(out, asked)


@operation("LuUnpackBackward0", method=False)
def lu_unpack(
    LU_data: Value, LU_pivots: Value, unpack_data: bool = True, unpack_pivots: bool = True
) -> Any:
    """P, L and U of what `linalg.lu_factor` returned; empty ones for what is not asked for.

    unpack_data: Whether L and U are wanted.
    unpack_pivots: Whether P is wanted.
    -> named tuple: The matrices `P`, `L` and `U`.

    >>> torch.lu_unpack(*torch.linalg.lu_factor(torch.tensor([[0.0, 2.0], [4.0, 0.0]]))).P
    tensor([[0., 1.],
            [1., 0.]])
    """
    swaps = untraced(LU_pivots)
    if swaps.dtype != np.int32:
        raise RuntimeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 "
            "dtype.\nNote: this function is intended to be used with the output produced by "
            "torch.linalg.lu_factor"
        )
    rows, columns = LU_data.shape[-2:]
    empty = np.zeros(0, LU_data.dtype)
    P, low, high = empty, empty, empty
    if unpack_pivots:
        P = permutation(order_of(swaps, rows), LU_data.dtype)
    if unpack_data:
        side = min(rows, columns)
        unit = np.eye(rows, side, dtype=LU_data.dtype)
        low = np.tril(LU_data[..., :, :side], -1) + unit
        high = np.triu(LU_data[..., :side, :])
    return return_types.lu_unpack(P, low, high)


# --- LDL, by SciPy's LAPACK ---------------------------------------------------------------------


def _lapack(word: str, kind: Any, hermitian: bool, ending: str) -> Callable[..., Any]:
    try:
        from scipy.linalg import lapack
    except ImportError:
        raise ImportError(
            f"torch.linalg.{word} is computed by SciPy, which is not installed: pip install scipy"
        ) from None
    letter = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}[kind.name]
    form = "he" if hermitian and kind.kind == "c" else "sy"
    found: Callable[..., Any] = getattr(lapack, f"{letter}{form}{ending}")
    return found


def _ldl(word: str, A: Value, hermitian: bool) -> tuple[Value, Value, Value]:
    require_matrices(f"torch.linalg.{word}", A, square=True)
    if untraced(A) is not A:
        raise NotImplementedError(f"the derivative for 'linalg_{word}' is not implemented.")
    call = _lapack(word, A.dtype, hermitian, "trf")
    flat = A.reshape(-1, *A.shape[-2:])
    parts = [call(matrix, lower=1) for matrix in flat]
    factors = np.array([part[0] for part in parts], A.dtype).reshape(A.shape)
    pivots = np.array([part[1] for part in parts], np.int32).reshape(A.shape[:-1])
    infos = np.array([part[2] for part in parts], np.int32).reshape(A.shape[:-2])
    return np.tril(factors) + np.triu(A, 1) * 0, pivots, infos


@private("NotImplemented", name="linalg_ldl_factor")
def ldl_factor(A: Value, *, hermitian: bool = False) -> Any:
    """The factors of a symmetric matrix L @ D @ L.mT as LAPACK packs them, and their pivots.

    A: Symmetric matrices (..., n, n).
    -> named tuple: The matrices `LD` (..., n, n), and the pivots `pivots` (..., n).
    """
    factors, pivots, infos = _ldl("ldl_factor", A, hermitian)
    _require_success("ldl_factor", infos)
    return return_types.linalg_ldl_factor(factors, pivots)


def _require_success(word: str, infos: Value) -> None:
    if np.any(infos > 0):
        raise RuntimeError(f"torch.linalg.{word}: the matrix is singular")


@private("NotImplemented", name="linalg_ldl_factor_ex")
def ldl_factor_ex(A: Value, *, hermitian: bool = False, check_errors: bool = False) -> Any:
    """`ldl_factor`, and LAPACK's code of success.

    A: Symmetric matrices (..., n, n).
    check_errors: Whether a singular matrix is an error.
    -> named tuple: The matrices `LD` (..., n, n), the pivots `pivots` (..., n), and the
        codes `info` (...).
    """
    made = _ldl("ldl_factor_ex", A, hermitian)
    if check_errors:
        _require_success("ldl_factor_ex", made[2])
    return return_types.linalg_ldl_factor_ex(*made)


@private("NotImplemented", name="linalg_ldl_solve")
def ldl_solve(LD: Value, pivots: Value, B: Value, *, hermitian: bool = False) -> Value:
    """X with `A @ X == B`, from what `ldl_factor(A)` returned.

    B: The right-hand sides (..., n, m).
    -> Tensor: The solutions (..., n, m).

    >>> LD, pivots = torch.linalg.ldl_factor(torch.tensor([[2.0, 0.0], [0.0, 4.0]]))
    >>> torch.linalg.ldl_solve(LD, pivots, torch.tensor([[2.0], [4.0]]))
    tensor([[1.],
            [1.]])
    """
    if untraced(LD) is not LD or untraced(B) is not B:
        raise NotImplementedError("the derivative for 'linalg_ldl_solve' is not implemented.")
    call = _lapack("ldl_solve", LD.dtype, hermitian, "trs")
    batch = np.broadcast_shapes(LD.shape[:-2], B.shape[:-2])
    factors = np.broadcast_to(LD, (*batch, *LD.shape[-2:])).reshape(-1, *LD.shape[-2:])
    places = np.broadcast_to(pivots, (*batch, pivots.shape[-1])).reshape(-1, pivots.shape[-1])
    right = np.broadcast_to(B, (*batch, *B.shape[-2:])).reshape(-1, *B.shape[-2:])
    made = [
        call(one, swap, b, lower=1)[0] for one, swap, b in zip(factors, places, right, strict=True)
    ]
    return np.array(made, B.dtype).reshape(*batch, *B.shape[-2:])


# --- Names that PyTorch has removed -----------------------------------------------------------

_REMOVED = {
    "eig": "`torch.linalg.eig` returns complex tensors of dtype `cfloat` or `cdouble` rather than "
    "real tensors mimicking complex tensors.",
    "lstsq": "`torch.lstsq` is deprecated in favor of `torch.linalg.lstsq`.",
    "matrix_rank": "Please use the `torch.linalg.matrix_rank` function instead. The parameter "
    "'symmetric' was renamed in `torch.linalg.matrix_rank()` to 'hermitian'.",
    "solve": "`torch.solve` is deprecated in favor of `torch.linalg.solve`. `torch.linalg.solve` "
    "has its arguments reversed and does not return the LU factorization.",
    "symeig": "The default behavior has changed from using the upper triangular portion of the "
    "matrix by default to using the lower triangular portion. Use `torch.linalg.eigh`.",
}


_NOT_HERE = """RuntimeError, as in PyTorch, which has removed it: see `linalg`.

*_args: Anything.
**_kwargs: Anything.
-> object: Nothing is ever returned.
RuntimeError: Always.

>>> torch.{word}(torch.eye(2))
Traceback (most recent call last):
    ...
RuntimeError: {message}
"""


def _remove(word: str) -> None:
    between = "\n" if word == "matrix_rank" else " "
    message = (
        f"This function was deprecated since version 1.9 and is now removed.{between}"
        f"{_REMOVED[word]}"
    )

    def removed(*_args: Any, **_kwargs: Any) -> Any:
        raise RuntimeError(message)

    removed.__name__ = removed.__qualname__ = word
    removed.__doc__ = _NOT_HERE.format(word=word, message=message)
    register(word, method=word != "matrix_rank")(removed)


for _word in _REMOVED:
    _remove(_word)
