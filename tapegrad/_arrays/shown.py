"""`ShownNumber`: the text of a value in a trace. Must not know who asks for one."""

from __future__ import annotations


class ShownNumber(str):
    """A text that shows a value in a trace: whoever reads a number of it loses the derivative."""

    __slots__ = ()


__all__ = ["ShownNumber"]
