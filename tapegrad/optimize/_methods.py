"""Arguments of each method of `scipy.optimize.minimize`, and which is chosen.

Must not know functions or trees.
"""

from __future__ import annotations

from typing import NamedTuple

from tapegrad._errors import InputError, message


class Method(NamedTuple):
    """Arguments of a method: gradients; Hessians dense, as products, or sparse; constraints."""

    gradient: bool = True
    hessians: tuple[str, ...] = ()
    bounds: bool = False
    constraints: bool = False


METHODS = {
    "Nelder-Mead": Method(gradient=False, bounds=True),
    "Powell": Method(gradient=False, bounds=True),
    "CG": Method(),
    "BFGS": Method(),
    "Newton-CG": Method(hessians=("dense", "hvp")),
    "L-BFGS-B": Method(bounds=True),
    "TNC": Method(bounds=True),
    "COBYLA": Method(gradient=False, bounds=True, constraints=True),
    "COBYQA": Method(gradient=False, bounds=True, constraints=True),
    "SLSQP": Method(bounds=True, constraints=True),
    "trust-constr": Method(hessians=("dense", "hvp", "sparse"), bounds=True, constraints=True),
    "dogleg": Method(hessians=("dense",)),
    "trust-ncg": Method(hessians=("dense", "hvp")),
    "trust-krylov": Method(hessians=("dense", "hvp")),
    "trust-exact": Method(hessians=("dense",)),
}

_BY_LOWER = {name.lower(): name for name in METHODS}

DENSE = 64  # up to so many parameters a Hessian is a matrix where products would do
LARGE = 500  # above so many parameters BFGS, with its matrix, gives way to L-BFGS-B


def chosen(call: str, method: str | None, size: int, *, bounds: bool, constraints: bool) -> str:
    """The method's name as SciPy writes it; by default as SciPy chooses."""
    if method is None:
        if constraints:
            return "SLSQP"
        return "L-BFGS-B" if bounds or size > LARGE else "BFGS"
    name = _BY_LOWER.get(str(method).lower())
    if name is None:
        raise InputError(
            message(call, f"a method of {', '.join(METHODS)}", repr(method), "Leave it away")
        )
    takes = METHODS[name]
    for word, given, able in (
        ("bounds", bounds, takes.bounds),
        ("constraints", constraints, takes.constraints),
    ):
        if given and not able:
            able_names = [n for n, m in METHODS.items() if getattr(m, word)]
            raise InputError(
                message(
                    call,
                    f"a method that takes {word}",
                    repr(name),
                    f"Choose one of {', '.join(able_names)}",
                )
            )
    return name


def hessian_form(call: str, method: str, form: str, size: int) -> str | None:
    """How a method gets its Hessian: "dense", "hvp", "sparse", or None if it takes none."""
    able = METHODS[method].hessians
    if form == "auto":
        if not able:
            return None
        return "dense" if size <= DENSE or "hvp" not in able else "hvp"
    if form not in able:
        raise InputError(
            message(
                call,
                f"a Hessian that {method} takes ({', '.join(able) or 'none'})",
                repr(form),
                "Leave hess away",
            )
        )
    return form


__all__ = ["METHODS", "Method", "chosen", "hessian_form"]
