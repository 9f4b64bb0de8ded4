"""Where NumPy's releases differ: each difference is stated here once, and nowhere else.

Knows which NumPy is installed. Must not know rules or values. Each entry names the oldest release
that no longer needs it: when `requires-python` and `numpy>=` in pyproject.toml reach that release,
the entry is deleted, and its uses with it.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

_RELEASE = re.match(r"(\d+)\.(\d+)", np.__version__)
assert _RELEASE is not None
INSTALLED = (int(_RELEASE[1]), int(_RELEASE[2]))

# The releases whose functions all have a decision (tests/rules/test_registry.py).
# Functions that a newer release adds are refused when they are called with a traced value.
KNOWN = ((2, 1), (2, 2), (2, 3), (2, 4), (2, 5))

# Each line goes when pyproject.toml asks for at least the release that it names.
BINCOUNT_TAKES_NONE = INSTALLED < (2, 3)  # np.bincount(minlength=None), with a warning
HAS_MATVEC = INSTALLED >= (2, 2)  # np.matvec and np.vecmat
INSERTS_BY_MASK = INSTALLED >= (2, 2)  # np.insert takes a boolean array for a mask; 0 and 1 before
TEXT_DISPATCHES = INSTALLED >= (2, 2)  # np.strings hands its calls over
TRIMS_AXES = INSTALLED >= (2, 2)  # np.trim_zeros takes arrays of several axes, and `axis`
NORM_OF_NOTHING_IS_ZERO = INSTALLED >= (2, 3)  # np.linalg.norm(empty, 2); an error before
HAS_TOSTRING = INSTALLED < (2, 3)  # ndarray.tostring, deprecated: the same as tobytes
COND_IS_REAL = INSTALLED >= (2, 3)  # np.linalg.cond of complex matrices; complex before
FORMATS_BY_STYLE = INSTALLED < (2, 4)  # np.array2string(style=), with a warning
TAKES_BIAS = INSTALLED < (2, 4)  # np.corrcoef(bias=, ddof=), with a warning
TRIMS_SEVERAL_AXES = INSTALLED >= (2, 4)  # np.trim_zeros takes a tuple for `axis`
PADS_BY_AXIS = INSTALLED >= (2, 4)  # np.pad takes a dict from axes to widths
POLYNOMIALS_DISPATCH = INSTALLED >= (2, 4)  # np.polynomial hands some calls over
CROSSES_PAIRS = INSTALLED < (2, 5)  # np.cross of vectors of 2 elements, with a warning
FIX_WARNS = INSTALLED >= (2, 5)  # np.fix is deprecated
HAS_VALND = INSTALLED >= (2, 5)  # polyvalnd, chebvalnd and their kin
SORTS_DESCENDING = INSTALLED >= (2, 5)  # np.sort and np.argsort take `descending`
MESHGRID_IS_TUPLE = INSTALLED >= (2, 5)  # also for sparse=True with copy=False: a list before
HAS_UFUNC_OF_PARTS = INSTALLED >= (2, 5)  # np._core.umath.real and imag
EIGVALS_STAY_COMPLEX = INSTALLED >= (2, 5)  # np.linalg.eig, eigvals: real where all were before

# Functions that NumPy has deprecated: np.in1d goes in 2.4, np.fix after 2.5. A program may have
# set such a name to another function of NumPy's, which has its own rule.
EXPIRING = [
    name for name in ("fix", "in1d") if getattr(getattr(np, name, None), "__name__", "") == name
]

# Keywords that NumPy takes with a warning, and traced calls do not, with what to do instead.
# Where the default may be written out (bias, ddof, interpolation) the rules refuse other values
# themselves. Delete at NumPy 2.4.
_DEPRECATED_KEYWORDS: dict[str, dict[str, str]] = {"reshape": {"newshape": "Write shape=."}}


def _empty_like(
    prototype: Any,
    /,
    dtype: Any = None,
    order: Any = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> None:
    """The parameters of np.empty_like."""


# Functions in C have no signature that `inspect` could read. Delete at NumPy 2.4.
_SIGNATURES: dict[str, Callable[..., Any]] = {
    "bincount": lambda x, /, weights=None, minlength=0: ...,
    "can_cast": lambda from_, to, casting="safe": ...,
    "concatenate": lambda arrays, /, axis=0, out=None, *, dtype=None, casting="same_kind": ...,
    "copyto": lambda dst, src, casting="same_kind", where=True: ...,
    "dot": lambda a, b, out=None: ...,
    "empty_like": _empty_like,
    "inner": lambda a, b, /: ...,
    "lexsort": lambda keys, axis=-1: ...,
    "may_share_memory": lambda a, b, /, max_work=0: ...,
    "min_scalar_type": lambda a, /: ...,
    "packbits": lambda a, /, axis=None, bitorder="big": ...,
    "putmask": lambda a, /, mask, values: ...,
    "ravel_multi_index": lambda multi_index, dims, mode="raise", order="C": ...,
    "result_type": lambda *arrays_and_dtypes: ...,
    "shares_memory": lambda a, b, /, max_work=-1: ...,
    "unpackbits": lambda a, /, axis=None, count=None, bitorder="big": ...,
    "unravel_index": lambda indices, shape, order="C": ...,
    "vdot": lambda a, b, /: ...,
    "where": lambda condition, x=None, y=None, /: ...,
}


def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """The signature of a function, from our own table where NumPy has none.

    Raises ValueError for a function in C, of another library, that says nothing of its arguments.
    """
    try:
        return inspect.signature(function)
    except ValueError:
        name = getattr(function, "__name__", "")
        if name not in _SIGNATURES or getattr(np, name, None) is not function:
            raise
        return inspect.signature(_SIGNATURES[name])


def refuse_deprecated(call: str, name: str, advice: str) -> NoReturn:
    """Raise TypeError for a parameter that NumPy 2.4 has dropped."""
    raise TypeError(
        f"{call}: the keyword {name!r} is deprecated, and not taken with traced values. {advice}"
    )


def deprecated_keywords(function: Callable[..., Any]) -> dict[str, str]:
    """The keywords of a NumPy function that traced calls do not take: what to do instead."""
    name = getattr(function, "__name__", "")
    known = INSTALLED < (2, 4) and getattr(np, name, None) is function
    return _DEPRECATED_KEYWORDS.get(name, {}) if known else {}
