"""Common code of the rules of scipy.linalg: how functions are mirrored, and their inputs.

SciPy's functions read lists, refuse what is not finite, and may overwrite their arguments. In a
trace they read lists and refuse as SciPy's do; nothing is overwritten.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad._core.forms import Constant, general
from tapegrad._core.rule import Rule, register
from tapegrad._core.types import Value
from tapegrad._core.values import any_true, lift, untraced
from tapegrad._errors import NotDifferentiableError
from tapegrad._transforms.primitives import primitive
from tapegrad.rules.matrices import column
from tapegrad.scipy._mirror import expressed_by, mirror

HOME = "tapegrad.scipy.linalg"


def expressed(function: Callable[..., Any], definition: Callable[..., Any]) -> primitive:
    """A function of SciPy's, mirrored and expressed by functions that have rules."""
    made = mirror(function, HOME)
    expressed_by(made, definition)
    return made


def _in_double(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of SciPy's that refuses long doubles, as NumPy's do."""

    @functools.wraps(function)
    def plain(*given: Value, **params: Any) -> Any:
        for x in given:
            if x is not None and x.dtype.char in "gG":  # SciPy would round them without a word
                raise TypeError(f"array type {x.dtype} is unsupported in linalg")
        return function(*given, **params)

    return plain


def core(function: Callable[..., Any], **options: Any) -> Rule:
    """The rule of a function on plain arrays, which it is to be called by: `rule.apply_bound`."""
    return general(primitive(_in_double(function)), **options)


def fixed(function: Callable[..., Any], **options: Any) -> Rule:
    """The same for a function of plain arrays, or stacks of them, without a derivative."""
    made = primitive(_in_double(function))
    options.setdefault("batch", made)
    return register(Constant(made, **options))


def array(x: Value) -> Any:
    """An argument as an array: lists are read, and integers count as floating numbers."""
    x = lift(x)
    x = x if hasattr(x, "shape") else np.asarray(x)
    return x if x.dtype.kind in "fc" else np.asarray(x, float)


def arrays(*given: Value, check_finite: bool = True) -> Sequence[Any]:
    """Arguments as arrays, all of them finite if that is to be checked."""
    found = [array(x) for x in given]
    if check_finite:
        for x in found:
            if any_true(~np.isfinite(untraced(x))):
                raise ValueError("array must not contain infs or NaNs")
    return found


def checked(x: Value, check_finite: bool = True) -> Any:
    """The same for one argument."""
    return arrays(x, check_finite=check_finite)[0]


def refuse(function: str, case: str, advice: str) -> NotDifferentiableError:
    """The error of a case without a derivative."""
    return NotDifferentiableError(
        f"scipy.linalg.{function}: not differentiable with {case}. {advice}"
    )


def as_columns(solve: Callable[[Value], Value], b: Value) -> Any:
    """Result of a function of matrices for a right side, which may be one vector."""
    return solve(column(b))[..., 0] if len(b.shape) == 1 else solve(b)


__all__ = [
    "HOME",
    "array",
    "arrays",
    "as_columns",
    "checked",
    "core",
    "expressed",
    "fixed",
    "refuse",
]
