"""Functions of sparse matrices: exponentials times vectors, powers, norms."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

from tapegrad._core.types import Value
from tapegrad._core.values import any_true, branch_on, itself, untraced
from tapegrad._errors import NotDifferentiableError
from tapegrad.scipy.sparse._arithmetic import power_of
from tapegrad.scipy.sparse._arrays import SparseArray, matrix_of
from tapegrad.scipy.sparse._construct import mirrored

TERMS = 60  # of the series, more than a step of norm 1 needs in double precision


def _stepped(a: SparseArray, x: Value, size: float) -> Any:
    """exp(a) x by the series in steps of norm 1: its terms are products that a tape follows."""
    steps = max(1, int(np.ceil(size)))
    eps = np.finfo(np.result_type(a.dtype, x.dtype)).eps
    for _ in range(steps):
        term, total = x, x
        for count in range(1, TERMS):
            term = (a @ term) / (steps * count)
            total = total + term
            if count > 18 and not any_true(
                np.abs(untraced(term)) > eps / 64 * np.max(np.abs(untraced(total)), initial=0)
            ):
                break
        x = total
    return x


@mirrored(scipy.sparse.linalg.expm_multiply)
def expm_multiply(
    A: Any,
    B: Any,
    start: Any = None,
    stop: Any = None,
    num: int | None = None,
    endpoint: bool | None = None,
    traceA: Any = None,
) -> Any:
    if isinstance(A, scipy.sparse.linalg.LinearOperator):
        raise NotDifferentiableError(
            "scipy.sparse.linalg.expm_multiply of a LinearOperator: expected a matrix. Pass a "
            "sparse or a dense one."
        )
    a = matrix_of(A)
    x = B if hasattr(B, "shape") else np.asarray(B, float)
    norms = branch_on(
        itself, np.max(SparseArray(np.abs(untraced(a.data)), a.coords, a.shape).sum(axis=0))
    )
    size = float(np.max(norms, initial=0))
    if start is None and stop is None:
        return _stepped(a, x, size)
    times = np.linspace(
        start or 0.0, stop, num or 50, endpoint=True if endpoint is None else endpoint
    )
    states, before = [], 0.0
    for time in times:
        gap = float(time - before)
        x = _stepped(a * gap, x, size * abs(gap)) if gap else x
        states.append(x)
        before = time
    return np.stack(states)


@mirrored(scipy.sparse.linalg.matrix_power)
def matrix_power(A: Any, power: int) -> Any:
    return power_of(A, power)


@mirrored(scipy.sparse.linalg.norm)
def norm(x: Any, ord: Any = None, axis: Any = None) -> Any:
    a = matrix_of(x)._merged()
    if ord in (2, -2, "nuc"):
        raise NotDifferentiableError(
            f"scipy.sparse.linalg.norm with ord={ord!r}: not differentiable here. Use svds, or "
            "tapegrad.scipy.linalg.norm of A.toarray()."
        )
    if axis is None and ord in (None, "f", "fro"):
        return np.linalg.norm(a.data)
    if axis is None:
        if ord not in (1, -1, np.inf, -np.inf):
            raise ValueError("Invalid norm order for matrices.")
        sums = abs(a).sum(axis=0 if abs(ord) == 1 else 1)
        return np.max(sums) if ord > 0 else np.min(sums)
    return np.linalg.norm(a.toarray(), ord, axis)


_ADVICE = {
    "expm": "tapegrad.scipy.linalg.expm of A.toarray(), or expm_multiply(A, b)",
    "funm_multiply_krylov": "tapegrad.scipy.linalg.funm of A.toarray()",
    "inv": "spsolve(A, b), or tapegrad.scipy.linalg.inv of A.toarray()",
    "lobpcg": "eigsh",
    "lsmr": "tapegrad.scipy.linalg.lstsq of A.toarray(), or spsolve(A.T @ A, A.T @ b)",
    "lsqr": "tapegrad.scipy.linalg.lstsq of A.toarray(), or spsolve(A.T @ A, A.T @ b)",
    "onenormest": "norm(A, 1)",
    "spilu": "splu",
}


def _refused(name: str) -> Any:
    @mirrored(getattr(scipy.sparse.linalg, name))
    def refuse(*_: Any, **__: Any) -> Any:
        raise NotDifferentiableError(
            f"scipy.sparse.linalg.{name}: not differentiable. Use {_ADVICE[name]}."
        )

    return refuse


REFUSED = {name: _refused(name) for name in _ADVICE if hasattr(scipy.sparse.linalg, name)}

__all__ = ["REFUSED", "expm_multiply", "matrix_power", "norm"]
