"""dtypes, the usual ones first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.testing._strategies.asking import asked_words, refuse
from tapegrad.testing._strategies.drawing import hypothesis, noted
from tapegrad.testing._strategies.drawing import strategy as strategy_of
from tapegrad.testing._strategies.source import dtype_source

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

_CODES = {"f": "dfeg", "c": "DFG", "i": "lbhi", "u": "LBHI", "b": "?"}


def dtypes(
    kinds: str | tuple[str, ...] = ("f", "c"), *, half: bool = True, extended: bool = True
) -> SearchStrategy[np.dtype[Any]]:
    """A strategy for dtypes, float64 first.

    Parameters
    ----------
    kinds : str or tuple of str, default ("f", "c")
        Letters of `np.dtype.kind`. "f" is float64, float32, float16 and longdouble, "c"
        complex128, complex64 and clongdouble, "i" and "u" the integers of 1 to 8 bytes, "b" bool.
    half : bool, default True
        Whether float16 is among them.
    extended : bool, default True
        Whether longdouble and clongdouble are.

    Returns
    -------
    SearchStrategy of numpy.dtype
        The dtypes.

    Raises
    ------
    InputError
        For other kinds.

    Examples
    --------
    >>> from hypothesis import given
    >>> @given(dtypes("f", half=False, extended=False))
    ... def check(dtype):
    ...     assert dtype in (np.float32, np.float64)
    >>> check()
    """
    if isinstance(kinds, str):
        kinds = tuple(kinds)
    names = asked_words("dtypes", "kinds", kinds or "", tuple(_CODES))
    for name, value in (("half", half), ("extended", extended)):
        if not isinstance(value, bool):
            refuse("dtypes", f"True or False for {name}", repr(value), "Pass one of them")
    left_out = ("" if half else "e") + ("" if extended else "gG")
    found = [np.dtype(c) for name in names for c in _CODES[name] if c not in left_out]
    chosen = hypothesis().strategies.sampled_from(found)

    def make(draw: Any) -> np.dtype[Any]:
        dtype: np.dtype[Any] = draw(chosen)
        return noted(dtype, lambda: f"np.dtype({dtype_source(dtype)})")

    return strategy_of("dtypes", make)
