"""`check=n`: whether a program still gives what the function itself gives.

Knows results. Must not know when a call is checked.
"""

from __future__ import annotations

from typing import Any

from tapegrad._compile.arguments import array_of
from tapegrad._compile.equality import are_equal
from tapegrad._core.types import Function
from tapegrad._tree import flatten


def gives_the_same(f: Function, own: Any, found: Any) -> bool:
    """Whether the function gives what its program gave, and writes the same into its arguments.

    own: copies of the arguments, for the function. found: the program's result and the arguments
    after its call.
    """
    args, kwargs = own
    out = f(*args, **kwargs)
    leaves, structure = flatten((out, args, kwargs))
    others, other = flatten(found)
    return structure == other and are_equal(
        list(map(array_of, others)), list(map(array_of, leaves))
    )


__all__ = ["gives_the_same"]
