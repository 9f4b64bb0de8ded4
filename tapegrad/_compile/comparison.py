"""`check=n`: whether a program still gives what the function itself gives.

Knows results, and how machine code may round. Must not know when a call is checked.
"""

from __future__ import annotations

from typing import Any

from tapegrad._compile.arguments import array_of
from tapegrad._compile.equality import are_equal, largest
from tapegrad._compile.signatures import signature_of
from tapegrad._compile.specializations import Specialization
from tapegrad._core.types import Function
from tapegrad._tree import flatten


def gives_the_same(
    f: Function, program: Specialization, before: list[Any], own: Any, found: Any, *, exact: bool
) -> bool:
    """Whether the function gives what its program gave, and writes the same into its arguments.

    before: the inputs before the call. own: copies of the arguments, for the function. found: the
    program's result and the arguments after its call. exact: whether to the bit; machine code may
    round otherwise.
    """
    args, kwargs = own
    out = f(*args, **kwargs)
    leaves, structure = flatten((out, args, kwargs))
    others, other = flatten(found)
    if structure != other:
        return False
    got, wanted = list(map(array_of, others)), list(map(array_of, leaves))
    if are_equal(got, wanted, exact=exact):
        return True
    if exact:
        return False
    scale = max(map(largest, wanted), default=0)
    close = are_equal(got, wanted, exact=False, scale=scale)
    return close and _only_rounds(program, before, out, own)


def _only_rounds(program: Specialization, before: list[Any], out: Any, own: Any) -> bool:
    """Whether machine code only rounds otherwise: NumPy's program gives what f gives.

    Of sums that cancel nothing is left but rounding.
    """
    usual = getattr(program.runner, "usual", None)
    if usual is None:
        return False
    try:
        found = flatten(usual.run(before))[0]
    except Exception:  # noqa: BLE001 - it is another program, then
        return False
    theirs: list[Any] = []
    signature_of(flatten(own)[0], theirs)
    written = sorted(program.written)
    got = [*map(array_of, found), *[before[i] for i in written]]
    wanted = [*map(array_of, flatten(out)[0]), *[theirs[i] for i in written]]
    return are_equal(got, wanted, exact=True)


__all__ = ["gives_the_same"]
