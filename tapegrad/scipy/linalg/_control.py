"""Matrix equations of control: Sylvester, Lyapunov, Riccati.

A solution x of F(x, p) = 0 moves with p so that F stays zero: the derivative solves an equation of
the same kind, with the cotangent on its right side.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

from tapegrad._core.forms import transpose_at
from tapegrad._core.types import Cotangent, Value
from tapegrad._core.values import any_true, untraced
from tapegrad._errors import NotDifferentiableError
from tapegrad.rules.matrices import adjoint, conjugated, hermitian_part, transposed
from tapegrad.scipy.linalg._inputs import arrays, checked, core, expressed

# --- Sylvester: a x + x b = q


def _plain_sylvester(a: Value, b: Value, q: Value) -> Value:
    return scipy.linalg.solve_sylvester(a, b, q)


def sylvester(a: Value, b: Value, q: Value) -> Any:
    """The solution x of a x + x b = q."""
    kind = np.result_type(a.dtype, b.dtype, q.dtype)
    return SYLVESTER.apply_bound([a.astype(kind), b.astype(kind), q.astype(kind)], {})


def _sylvester_vjp(
    g: Cotangent, out: Value, a: Value, b: Value, _q: Value
) -> tuple[Cotangent, ...]:
    found = sylvester(transposed(a), transposed(b), g)
    flipped = transposed(out)
    return -np.matmul(found, flipped), -np.matmul(flipped, found), found


SYLVESTER = core(
    _plain_sylvester,
    vjp=_sylvester_vjp,
    name="scipy.linalg.solve_sylvester",
    batch="(m,m),(n,n),(m,n)",
)


def _solve_sylvester(a: Value, b: Value, q: Value) -> Value:
    return sylvester(*arrays(a, b, q, check_finite=False))


def _solve_continuous_lyapunov(a: Value, q: Value) -> Value:
    a, q = arrays(a, q, check_finite=False)
    return sylvester(a, adjoint(a), q)


solve_sylvester = expressed(scipy.linalg.solve_sylvester, _solve_sylvester)
solve_continuous_lyapunov = expressed(
    scipy.linalg.solve_continuous_lyapunov, _solve_continuous_lyapunov
)
solve_lyapunov = solve_continuous_lyapunov

# --- Discrete Lyapunov: a x a^H - x + q = 0


def _plain_discrete(a: Value, q: Value, method: str | None = None) -> Value:
    return scipy.linalg.solve_discrete_lyapunov(a, q, method=method)


def discrete(a: Value, q: Value, method: str | None = None) -> Any:
    """The solution x of a x a^H - x + q = 0."""
    kind = np.result_type(a.dtype, q.dtype)
    return DISCRETE.apply_bound([a.astype(kind), q.astype(kind)], {"method": method})


def _discrete_vjp(
    g: Cotangent, out: Value, a: Value, _q: Value, method: str | None = None
) -> tuple[Cotangent, Cotangent]:
    found = discrete(transposed(a), g, method)
    first = np.matmul(np.matmul(found, conjugated(a)), transposed(out))
    second = conjugated(np.matmul(np.matmul(transposed(found), a), out))
    return first + second, found


DISCRETE = core(
    _plain_discrete,
    arrays=2,
    vjp=_discrete_vjp,
    name="scipy.linalg.solve_discrete_lyapunov",
    batch="(m,m),(m,m)",
)


def _solve_discrete_lyapunov(a: Value, q: Value, method: str | None = None) -> Value:
    a, q = arrays(a, q, check_finite=False)
    return discrete(a, q, method)


solve_discrete_lyapunov = expressed(scipy.linalg.solve_discrete_lyapunov, _solve_discrete_lyapunov)

# --- Riccati: q and r are Hermitian by promise


def _gain(x: Value, a: Value, b: Value, r: Value, e: Value, s: Value) -> Value:
    """Of the continuous equation: inv(r) (b^H x e + s^H)."""
    return np.linalg.solve(r, np.matmul(np.matmul(adjoint(b), x), e) + adjoint(s))


def _discrete_gain(x: Value, a: Value, b: Value, r: Value, e: Value, s: Value) -> Value:
    """Of the discrete equation: inv(r + b^H x b) (b^H x a + s^H)."""
    left = np.matmul(adjoint(b), x)
    return np.linalg.solve(r + np.matmul(left, b), np.matmul(left, a) + adjoint(s))


def _continuous_residual(
    x: Value, a: Value, b: Value, q: Value, r: Value, e: Value, s: Value
) -> Value:
    half = np.matmul(np.matmul(adjoint(a), x), e)
    left = np.matmul(np.matmul(adjoint(e), x), b) + s
    return half + adjoint(half) - np.matmul(left, _gain(x, a, b, r, e, s)) + q


def _discrete_residual(
    x: Value, a: Value, b: Value, q: Value, r: Value, e: Value, s: Value
) -> Value:
    inner = np.matmul(np.matmul(adjoint(a), x), a) - np.matmul(np.matmul(adjoint(e), x), e)
    left = np.matmul(np.matmul(adjoint(a), x), b) + s
    return inner - np.matmul(left, _discrete_gain(x, a, b, r, e, s)) + q


def _require_solution(
    residual: Callable[..., Value], balanced: bool, x: Value, *given: Value
) -> None:
    """Raise where x does not solve the equation, as it is then another function of the rest."""
    x, a, b, q, r, e, s = map(untraced, (x, *given))
    left = np.max(np.abs(residual(x, a, b, q, r, e, s)), initial=0)
    images = [np.matmul(np.matmul(adjoint(a), x), other) for other in (a, e)]
    size = np.max(np.abs(q), initial=0) + max(np.max(np.abs(y), initial=0) for y in images)
    if not any_true(left <= np.finfo(x.dtype).eps ** 0.25 * size):
        advice = (
            "as it may with e= and balanced=True. Pass balanced=False."
            if balanced
            else "as it may where its matrices differ much in size. Scale states and inputs."
        )
        raise NotDifferentiableError(
            "scipy.linalg: not differentiable where SciPy's solution of a Riccati equation leaves "
            f"a residual of {float(left):.2g}, {advice}"
        )


def _by_residual(
    residual: Callable[..., Value],
    gain: Callable[..., Value],
    adjoint_equation: Callable[[Value, Value], Value],
) -> Callable[..., Any]:
    """The vjp of a solution.

    With k = (a - b gain) inv(e) is dF = e^H (k^H dx + dx k) e, or e^H (k^H dx k - dx) e.
    """

    def vjp(
        g: Cotangent,
        out: Value,
        a: Value,
        b: Value,
        q: Value,
        r: Value,
        e: Value,
        s: Value,
        balanced: bool = True,
    ) -> list[Cotangent]:
        x = hermitian_part(out)
        _require_solution(residual, balanced, x, a, b, q, r, e, s)
        closed = a - np.matmul(b, gain(x, a, b, r, e, s))
        closed = transposed(np.linalg.solve(transposed(e), transposed(closed)))
        found = adjoint_equation(closed, hermitian_part(g))
        found = np.linalg.solve(conjugated(e), found)
        found = transposed(np.linalg.solve(e, transposed(found)))
        bars = transpose_at(
            lambda given: [residual(x, *given)], [a, b, q, r, e, s], [-hermitian_part(found)]
        )
        bars = [
            np.zeros(p.shape, p.dtype) if bar is None else bar
            for p, bar in zip((a, b, q, r, e, s), bars, strict=True)
        ]
        bars[2], bars[3] = hermitian_part(bars[2]), hermitian_part(bars[3])
        return bars

    return vjp


def _plain_care(
    a: Value, b: Value, q: Value, r: Value, e: Value, s: Value, balanced: bool = True
) -> Value:
    return scipy.linalg.solve_continuous_are(a, b, q, r, e, s, balanced)


def _plain_dare(
    a: Value, b: Value, q: Value, r: Value, e: Value, s: Value, balanced: bool = True
) -> Value:
    return scipy.linalg.solve_discrete_are(a, b, q, r, e, s, balanced)


def _adjoint_continuous(k: Value, g: Cotangent) -> Value:
    """The y of sum(y * (k^H x + x k)) = sum(g * x) for all x."""
    return sylvester(conjugated(k), transposed(k), g)


def _adjoint_discrete(k: Value, g: Cotangent) -> Value:
    """The y of sum(y * (k^H x k - x)) = sum(g * x) for all x."""
    return discrete(conjugated(k), -g)


CARE = core(
    _plain_care,
    vjp=_by_residual(_continuous_residual, _gain, _adjoint_continuous),
    arrays=6,
    name="scipy.linalg.solve_continuous_are",
)
DARE = core(
    _plain_dare,
    vjp=_by_residual(_discrete_residual, _discrete_gain, _adjoint_discrete),
    arrays=6,
    name="scipy.linalg.solve_discrete_are",
)


def _riccati(rule: Any, given: tuple[Value, ...], balanced: bool) -> Value:
    a, b, q, r = arrays(*given[:4])
    e, s = given[4:]
    e = np.eye(a.shape[-1], dtype=a.dtype) if e is None else checked(e)
    s = np.zeros(b.shape, b.dtype) if s is None else checked(s)
    return rule.apply_bound([a, b, q, r, e, s], {"balanced": balanced})


def _solve_continuous_are(
    a: Value, b: Value, q: Value, r: Value, e: Value = None, s: Value = None, balanced: bool = True
) -> Value:
    return _riccati(CARE, (a, b, q, r, e, s), balanced)


def _solve_discrete_are(
    a: Value, b: Value, q: Value, r: Value, e: Value = None, s: Value = None, balanced: bool = True
) -> Value:
    return _riccati(DARE, (a, b, q, r, e, s), balanced)


solve_continuous_are = expressed(scipy.linalg.solve_continuous_are, _solve_continuous_are)
solve_discrete_are = expressed(scipy.linalg.solve_discrete_are, _solve_discrete_are)

__all__ = [
    "solve_continuous_are",
    "solve_continuous_lyapunov",
    "solve_discrete_are",
    "solve_discrete_lyapunov",
    "solve_lyapunov",
    "solve_sylvester",
    "sylvester",
]
