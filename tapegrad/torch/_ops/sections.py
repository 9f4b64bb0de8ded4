"""Docstrings of operations that tables declare: sections that all operations of a kind share.

A table gives the summary and the numbers of an example. Knows no operation.
"""

from __future__ import annotations

_OF_ONE = """\
{summary}

Parameters
----------
input : Tensor
    Numbers, of any shape{kinds}. Integers and bools are taken as the default dtype.

Returns
-------
Tensor
    A value for each element, in the shape of `input`.
{raises}
Examples
--------
>>> import tapegrad.torch as torch
>>> torch.{call}(torch.tensor({argument}))
tensor({result})
"""

_OF_TWO = """\
{summary}

Parameters
----------
input : Tensor
    The first operands, of any shape{kinds}.
other : Tensor
    The second operands; the shapes broadcast, and the dtypes are promoted to one.

Returns
-------
Tensor
    {returns}

Examples
--------
>>> import tapegrad.torch as torch
>>> torch.{call}({arguments})
tensor({result})
"""

_IN_PLACE = """\
`{word}`, written into this tensor's own memory.
{parameters}
Returns
-------
Tensor
    This tensor itself.
"""

_REFUSES_COMPLEX = """
Raises
------
NotImplementedError
    For complex numbers.
"""


def of_one(summary: str, call: str, argument: str, result: str, *, real_only: bool = False) -> str:
    """The docstring of an elementwise function of one tensor.

    argument, result: what the example gives, and what it prints. real_only: complex numbers are
    refused.
    """
    return _OF_ONE.format(
        summary=summary,
        kinds="" if real_only else ", real or complex",
        raises=_REFUSES_COMPLEX if real_only else "",
        call=call,
        argument=argument,
        result=result,
    )


def of_two(
    summary: str,
    call: str,
    arguments: tuple[str, str],
    result: str,
    *,
    kinds: str = "",
    returns: str = "A value for each pair of elements, in the shape to which the two broadcast.",
) -> str:
    """The docstring of an elementwise function of two tensors that broadcast.

    arguments, result: what the example gives, and what it prints. kinds: what the first may be,
    after a comma.
    """
    return _OF_TWO.format(
        summary=summary,
        kinds=kinds,
        returns=returns,
        call=call,
        arguments=", ".join(f"torch.tensor({argument})" for argument in arguments),
        result=result,
    )


def in_place(word: str, docstring: str | None) -> str:
    """The docstring of `word_`, with the section Parameters of that of `word`, if it has one."""
    head, _, rest = (docstring or "").partition("\nParameters\n----------\n")
    if not head or not rest:
        return f"`{word}`, written into this tensor's own memory."
    section = "\nParameters\n----------\n" + rest.partition("\n\n")[0] + "\n"
    return _IN_PLACE.format(word=word, parameters=section)


__all__ = ["in_place", "of_one", "of_two"]
