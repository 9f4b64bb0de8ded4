"""Admissible results of a function inside a transform: values whose derivative is known.

Knows which values are traced, and which are plain numbers and arrays. Must not know tapes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tapegrad._core.operands import elements_of, follows_numpy, library_of, name_of_kind
from tapegrad._core.types import Value
from tapegrad._core.values import in_trace, is_array, is_ndarray, is_numpy, raw_value
from tapegrad._errors import OutputError, describe, message

# Types that tell of arrays, and hold none: the results of np.array2string, np.result_type.
_WORDS = (str, bytes, type, np.dtype)


def require_known(call: str, leaf: Value, inputs: Sequence[Value]) -> None:
    """Raise OutputError for an output that may hide a traced value.

    It is a constant, of derivative zero, if it is a number or an array of numbers, of NumPy or of
    the library that made the `inputs`. An object of another library (a lazy array, one with
    labels), or an array of objects, may hold a traced value, whose derivative would be lost.
    """
    kind = type(leaf)
    if in_trace(leaf) or kind in (float, int, complex, bool) or isinstance(leaf, _WORDS):
        return
    if is_array(leaf) and leaf.dtype.kind != "O" and follows_numpy(kind):
        if is_numpy(leaf) or any(type(raw_value(x)) is kind for x in inputs):
            return
        got, advice = f"a {name_of_kind(kind)}", "Return a traced array, or it as aux"
    elif is_ndarray(leaf) and leaf.dtype.kind == "O":
        got, advice = describe(leaf), "Build it with np.stack, or return it as aux"
    elif is_array(leaf) or library_of(kind) != "builtins":
        got, advice = f"a {name_of_kind(kind)}", f"Return {elements_of(kind)}, or it as aux"
    else:
        got, advice = describe(leaf), "Return it as aux"
    raise OutputError(
        message(
            call,
            "floating or complex outputs, or plain numbers and arrays as constants",
            got,
            f"{advice} (has_aux=True)",
        )
    )


__all__ = ["require_known"]
