"""Names of HIPS autograd's SciPy modules, as `_private` has those of its NumPy modules.

Each is tapegrad's own derivative of the function that it is for. Must not know rules.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.autograd._derivatives import make_jvp, make_vjp
from tapegrad.autograd._nodes import subval
from tapegrad.autograd.scipy import integrate, linalg, signal, special, stats

Function = Callable[..., Any]


def _partial(fun: Function, argnum: int) -> Function:
    """The partial derivative of a function of each element, at `(*args)`."""

    def partial(*args: Any) -> Any:
        shape = np.broadcast_shapes(*map(np.shape, args))
        x = np.broadcast_to(args[argnum], shape) + 0.0
        return make_vjp(lambda x: fun(*subval(args, argnum, x)), x)[0](np.ones(shape))[()]

    return partial


def _grad_odeint(yt: Any, func: Function, y0: Any, t: Any, func_args: Any, **kwargs: Any) -> Any:
    def solved(given: Any) -> Any:
        return integrate.odeint(func, *given, **kwargs)

    vjp = make_vjp(solved, (y0, t, tuple(func_args)))[0]
    return lambda g: (None, *vjp(g))


def _vjp_sylvester(argnums: Any, ans: Any, args: Any, _: Any) -> Function:
    vjp = make_vjp(lambda given: linalg.solve_sylvester(*given), tuple(args))[0]

    def chosen(g: Any) -> Any:
        bars = vjp(g)
        return tuple(bars[argnum] for argnum in argnums)

    return chosen


def _jvp_sylvester(argnums: Any, dms: Any, ans: Any, args: Any, _: Any) -> Any:
    dots = [np.zeros(np.shape(x)) for x in args]
    for argnum, dot in zip(argnums, dms, strict=True):
        dots[argnum] = dot
    push = make_jvp(lambda given: linalg.solve_sylvester(*given), tuple(args))
    return push(tuple(dots))[1]


def _flip(a: Any, trans: Any) -> str:
    """The mode of `solve_triangular` that solves with the transpose."""
    if trans not in ("N", 0):
        return "N"
    return "H" if np.iscomplexobj(a) else "T"


def _covgrad(x: Any, mean: Any, cov: Any, allow_singular: bool = False) -> Any:
    def of_point(point: Any) -> Any:
        def density(cov: Any) -> Any:
            return stats.multivariate_normal.logpdf(point, mean, cov, allow_singular)

        return make_vjp(density, cov)[0](1.0)

    points = np.reshape(x, (-1, np.shape(x)[-1]))
    found = np.stack([of_point(point) for point in points])
    return np.reshape(found, (*np.shape(x)[:-1], *np.shape(cov)))


def _generalized_outer_product(x: Any) -> Any:
    return np.outer(x, x) if np.ndim(x) == 1 else x @ np.swapaxes(x, -1, -2)


def _solve(allow_singular: bool) -> Function:
    if allow_singular:
        return lambda A, x: np.linalg.pinv(A) @ x
    return np.linalg.solve


def _einsum_tensordot(A: Any, B: Any, axes: Any, reverse: bool = False) -> Any:
    return np.tensordot(A, B, axes)


def _compute_conv_size(A_size: int, B_size: int, mode: str) -> int:
    sizes = {"full": A_size + B_size - 1, "same": A_size, "valid": abs(A_size - B_size) + 1}
    if mode not in sizes:
        raise ValueError(f'expected mode "full", "valid" or "same", got {mode!r}')
    return sizes[mode]


def _flipped_idxs(ndim: int, axes: Any) -> tuple[slice, ...]:
    return tuple(slice(None, None, -1 if axis in axes else None) for axis in range(ndim))


def private_of_scipy(
    vjp_maker: Function, by_argnum: Function, jvp_maker: Function
) -> dict[str, dict[str, Any]]:
    """The names by module, made by the makers of `_private`."""
    of_t = functools.partial(_partial, stats.t.logpdf)
    of_beta = functools.partial(_partial, stats.beta.logpdf)
    of_gamma = functools.partial(_partial, stats.gamma.logpdf)
    return {
        "scipy.integrate": {"grad_odeint": _grad_odeint},
        "scipy.linalg": {
            "_vjp_sqrtm": vjp_maker(linalg.sqrtm),
            "_jvp_sqrtm": jvp_maker(linalg.sqrtm),
            "grad_solve_triangular": vjp_maker(linalg.solve_triangular),
            "grad_solve_banded": by_argnum(linalg.solve_banded),
            "_vjp_sylvester": _vjp_sylvester,
            "_jvp_sylvester": _jvp_sylvester,
            "_flip": _flip,
        },
        "scipy.signal": {
            "grad_convolve": by_argnum(signal.convolve),
            "einsum_tensordot": _einsum_tensordot,
            "compute_conv_size": _compute_conv_size,
            "flipped_idxs": _flipped_idxs,
        },
        "scipy.special": {
            "make_gammainc_vjp_arg1": lambda sign: vjp_maker(
                special.gammainc if sign > 0 else special.gammaincc, 1
            ),
            "make_grad_logsumexp": vjp_maker(special.logsumexp),
            "fwd_grad_logsumexp": jvp_maker(special.logsumexp),
            "root_pi": np.sqrt(np.pi),
            "inv_root_pi": 1 / np.sqrt(np.pi),
        },
        "scipy.stats.beta": {
            **{f"grad_beta_logpdf_arg{i}": of_beta(i) for i in range(3)},
            "beta": special.beta,
            "psi": special.psi,
        },
        "scipy.stats.chi2": {
            "grad_chi2_logpdf": _partial(stats.chi2.logpdf, 0),
            "gamma": special.gamma,
        },
        "scipy.stats.dirichlet": {"digamma": special.digamma},
        "scipy.stats.gamma": {
            **{f"grad_gamma_logpdf_arg{i}": of_gamma(i) for i in range(2)},
            "gamma": special.gamma,
            "psi": special.psi,
        },
        "scipy.stats.multivariate_normal": {
            "covgrad": _covgrad,
            "generalized_outer_product": _generalized_outer_product,
            "solve": _solve,
        },
        "scipy.stats.poisson": {"grad_poisson_logpmf": _partial(stats.poisson.logpmf, 1)},
        "scipy.stats.t": {
            "grad_tlogpdf_diff": of_t(0),
            "grad_tlogpdf_x": of_t(0),
            "grad_tlogpdf_df": of_t(1),
            "grad_tlogpdf_loc": of_t(2),
            "grad_tlogpdf_scale": of_t(3),
            "psi": special.psi,
        },
    }


__all__ = ["private_of_scipy"]
