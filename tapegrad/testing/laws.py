"""The laws of derivatives, one function each, with the arguments of `tapegrad.testing.check`.

Each takes a function and a tuple of its arguments, raises `tapegrad.testing.LawError` where the
law does not hold, and returns a `Report`. Options are those of `check`, by keyword.

>>> import numpy as np
>>> from tapegrad.testing import laws
>>> laws.symmetric_hessian(lambda x: np.sum(x**3), (np.array([0.5, 1.5]),)).passed
True
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tapegrad._core.types import Function, Tree
from tapegrad.testing._laws.check import LAWS, check
from tapegrad.testing._laws.report import Report

Law = Callable[..., Report]

DOCSTRING = """Check that {words}

Parameters
----------
f : callable
    Returns a pytree; its floating and complex parts are looked at.
args : tuple of pytree
    Its arguments. Floating and complex arrays and numbers in them move, all else is constant.
**options : object
    Options of `tapegrad.testing.check`: `kinks`, `blame`, `differences`, `seed` and so on.

Returns
-------
Report
    What was found and noticed.

Raises
------
LawError
    If the law does not hold.

See Also
--------
tapegrad.testing.check : All laws in one report.

Examples
--------
>>> import numpy as np
>>> from tapegrad.testing import laws
>>> laws.{name}(lambda x: np.sum(np.sin(x)), (np.array([0.5, 1.5]),)).passed
True
"""


def _law(name: str) -> Law:
    def law(f: Function, args: Sequence[Tree], **options: Any) -> Report:
        return check(f, args, name, **options)

    law.__name__ = law.__qualname__ = name
    words = " ".join((LAWS[name].__doc__ or "").split())
    if words.partition(" ")[0].isalpha():  # no formula
        words = words[0].lower() + words[1:]
    law.__doc__ = DOCSTRING.format(name=name, words=words)
    return law


gradient: Law = _law("gradient")
jvp: Law = _law("jvp")
adjoint: Law = _law("adjoint")
linearity: Law = _law("linearity")
mixed_modes: Law = _law("mixed_modes")
symmetric_hessian: Law = _law("symmetric_hessian")
vmap: Law = _law("vmap")
checkpoint: Law = _law("checkpoint")
compile: Law = _law("compile")  # noqa: A001 - the name of what it is about
pickle: Law = _law("pickle")
chain_rule: Law = _law("chain_rule")
dtype_and_shape: Law = _law("dtype_and_shape")
unmutated: Law = _law("unmutated")
deterministic: Law = _law("deterministic")
threads: Law = _law("threads")
finite: Law = _law("finite")

__all__ = [
    "adjoint",
    "chain_rule",
    "checkpoint",
    "compile",
    "deterministic",
    "dtype_and_shape",
    "finite",
    "gradient",
    "jvp",
    "linearity",
    "mixed_modes",
    "pickle",
    "symmetric_hessian",
    "threads",
    "unmutated",
    "vmap",
]
