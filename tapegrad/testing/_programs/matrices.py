"""Products of arrays and linear algebra, of matrices that are conditioned well by construction.

Knows which shapes go together. Must not know how a program is put together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from tapegrad._core.types import Value
from tapegrad.testing._programs.operations import (
    LARGEST,
    Chooser,
    Draft,
    Operation,
    gap,
    is_matrix,
    is_real,
    is_square,
)

_EYE = "np.eye({n}, dtype={a}.dtype)"
DOMINANT = "({a} + 3.0 * " + _EYE + ")"
POSITIVE = "({a} @ {a}.T + " + _EYE + ")"
SYMMETRIC = "({a} + {a}.T + np.diag(np.arange({n})).astype({a}.dtype))"


def _conditioned(choose: Chooser) -> str:
    """A square matrix, and the other matrix that goes into LAPACK: `{n}`, `{a}` filled in."""
    return choose.pick(lambda x: is_real(x) and is_square(x) and x.shape[0] < 6)


def _of_square(name: str, text: str, *, spectrum: bool = False) -> Operation:
    """A function of one square matrix; `spectrum`: its eigenvalues must be apart."""

    def draft(choose: Chooser) -> Draft:
        a = _conditioned(choose)
        n = choose[a].shape[0]
        margin = _condition(choose[a], text)
        if spectrum:
            x = choose[a]
            margin = min(margin, gap(np.linalg.eigvalsh(x + x.T + np.diag(np.arange(n)))) / 5)
        return Draft(_filled(text, a, n), margin)

    return Operation(name, draft)


def _filled(text: str, a: str, n: int) -> str:
    parts = {"dominant": DOMINANT, "positive": POSITIVE, "symmetric": SYMMETRIC}
    for word, part in parts.items():
        text = text.replace("{" + word + "}", part)
    return text.replace("{a}", a).replace("{n}", str(n))


def _condition(x: Value, text: str) -> float:
    """The smallest singular value of what is inverted or factorised, by tenths."""
    if "{dominant}" in text:
        return float(np.min(np.linalg.svd(x + 3 * np.eye(len(x)), compute_uv=False))) / 10
    return float(np.inf)


def _product(
    name: str, text: str, fits: Callable[[Value, Value], bool], *, least: int = 1
) -> Operation:
    def draft(choose: Chooser) -> Draft:
        a = choose.pick(lambda x: x.ndim >= least and x.size > 0)
        x = choose[a]
        b = choose.pick(lambda y: y.size > 0 and fits(x, y))
        return Draft(text.format(a=a, b=b, n=x.ndim))

    return Operation(name, draft)


def _inner_sides(x: Value, y: Value) -> bool:
    if not (0 < x.ndim <= 2 and 0 < y.ndim <= 2):
        return False
    return bool(x.shape[-1] == y.shape[0 if y.ndim == 1 else -2])


def _last_sides(x: Value, y: Value) -> bool:
    return bool(y.ndim > 0 and x.shape[-1] == y.shape[-1] and x.size * y.size <= 8 * LARGEST)


def _same(x: Value, y: Value) -> bool:
    return bool(x.shape == y.shape)


def _small(x: Value, y: Value) -> bool:
    return bool(x.size * y.size <= LARGEST)


# einsum: the string, and whether it fits the two shapes.
EINSUMS: tuple[tuple[str, int, int], ...] = (
    ("i,i->", 1, 1),
    ("ij,j->i", 2, 1),
    ("ij,kj->ik", 2, 2),
    ("ij,ij->i", 2, 2),
    ("ij,ij->", 2, 2),
    ("i,j->ij", 1, 1),
    ("ij,jk->ki", 2, 2),
    ("...j,j->...", 2, 1),
)


def _einsum(choose: Chooser) -> Draft:
    string, left, right = choose.one_of(EINSUMS)
    a = choose.pick(lambda x: x.ndim == left and x.size > 0)
    sides = dict(zip(string.replace("...", "i")[:left], choose[a].shape, strict=True))
    letters = string.replace("...", "i").split("->")[0].split(",")[1]

    def fits(y: Value) -> bool:
        return y.ndim == right and all(
            sides.get(k, n) == n for k, n in zip(letters, y.shape, strict=True)
        )

    b = choose.pick(fits)
    return Draft(f'np.einsum("{string}", {a}, {b})')


def _solve(choose: Chooser) -> Draft:
    a = _conditioned(choose)
    n = choose[a].shape[0]
    b = choose.pick(lambda y: is_real(y) and y.ndim in (1, 2) and y.shape[0] == n)
    matrix = choose.one_of(("{dominant}", "{positive}"))
    return Draft(f"np.linalg.solve({_filled(matrix, a, n)}, {b})", _condition(choose[a], matrix))


def _diagonal(choose: Chooser) -> Draft:
    a = choose.pick(is_matrix)
    return Draft(
        choose.one_of(
            (
                f"np.trace({a})",
                f"np.diagonal({a})",
                f"np.diag({a})",
                f"np.tril({a})",
                f"np.triu({a})",
            )
        )
    )


def _diag_of(choose: Chooser) -> Draft:
    a = choose.pick(lambda x: x.ndim == 1 and 0 < x.size <= 5)
    return Draft(f"np.diag({a})")


def _singular_values(choose: Chooser) -> Draft:
    a = choose.pick(lambda x: is_real(x) and is_matrix(x))
    s = np.linalg.svd(choose[a], compute_uv=False)
    return Draft(f"np.linalg.svd({a}, compute_uv=False)", min(gap(s), float(np.min(s))) / 5)


def _orthogonal(choose: Chooser) -> Draft:
    a = choose.pick(lambda x: is_real(x) and is_matrix(x) and x.shape[0] >= x.shape[1])
    s = np.linalg.svd(choose[a], compute_uv=False)
    part = choose.one_of(("[0]", "[1]", ".Q"))
    return Draft(f"np.linalg.qr({a}){part}", float(np.min(s)) / 10)


def _convolve(choose: Chooser) -> Draft:
    a = choose.pick(lambda x: x.ndim == 1 and x.size > 0)
    b = choose.pick(lambda y: y.ndim == 1 and y.size > 0)
    mode = choose.one_of(("full", "same", "valid"))
    return Draft(f'np.convolve({a}, {b}, mode="{mode}")')


def _cross(choose: Chooser) -> Draft:
    a = choose.pick(lambda x: x.ndim > 0 and x.shape[-1] == 3)
    b = choose.pick(lambda y: y.shape == choose[a].shape)
    return Draft(f"np.cross({a}, {b})")


def operations() -> Iterator[Operation]:
    """The simplest first."""
    yield _product("@", "{a} @ {b}", _inner_sides)
    yield _product("np.matmul", "np.matmul({a}, {b})", _inner_sides)
    yield _product("np.dot", "np.dot({a}, {b})", _inner_sides)
    yield _product("np.inner", "np.inner({a}, {b})", _last_sides)
    yield _product("np.outer", "np.outer({a}, {b})", _small)
    yield _product("np.vdot", "np.vdot({a}, {b})", _same)
    yield _product("np.tensordot", "np.tensordot({a}, {b}, {n})", _same)
    yield _product("np.kron", "np.kron({a}, {b})", _small)
    yield Operation("np.einsum", _einsum)
    yield Operation("np.diagonal", _diagonal)
    yield Operation("np.diag", _diag_of)
    yield Operation("np.convolve", _convolve)
    yield Operation("np.cross", _cross)
    yield Operation("np.linalg.solve", _solve)
    yield _of_square("np.linalg.inv", "np.linalg.inv({dominant})")
    yield _of_square("np.linalg.det", "0.1 * np.linalg.det({dominant})")
    yield _of_square("np.linalg.slogdet", "np.linalg.slogdet({dominant})[1]")
    yield _of_square("np.linalg.cholesky", "np.linalg.cholesky({positive})")
    yield _of_square("np.linalg.eigvalsh", "np.linalg.eigvalsh({symmetric})", spectrum=True)
    yield _of_square("np.linalg.eigh", "np.linalg.eigh({symmetric})[1] ** 2", spectrum=True)
    yield _of_square("np.linalg.matrix_power", "np.linalg.matrix_power({a}, 2)")
    yield _of_square("np.linalg.pinv", "np.linalg.pinv({dominant})")
    yield Operation("np.linalg.svd", _singular_values)
    yield Operation("np.linalg.qr", _orthogonal)


__all__ = ["operations"]
