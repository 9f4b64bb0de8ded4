"""Names of nodes: the `SinBackward0` of a rule.

Must not know nodes.
"""

from __future__ import annotations

import re
from typing import Any

_NAMED: dict[Any, str] = {}


# Operations that have one name in NumPy and another in PyTorch.
_WORDS = {
    "multiply": "Mul",
    "subtract": "Sub",
    "true_divide": "Div",
    "divide": "Div",
    "negative": "Neg",
    "absolute": "Abs",
    "power": "Pow",
    "strong_product": "Mul",
    "matmul": "Mm",
    "maximum": "Maximum",
    "astype": "ToCopy",
    "concatenate": "Cat",
    "broadcast_to": "Expand",
    "take_along_axis": "Gather",
    "x[...]": "Index",
}


def name_nodes(rule: Any, name: str) -> None:
    """Set the name of a rule's nodes, for calls in which the operation does not give one."""
    _NAMED[rule] = name


def name_of(rule: Any) -> str:
    """`LogaddexpBackward0` for np.logaddexp."""
    found = _NAMED.get(rule)
    if found is None:
        if getattr(rule, "form", None) == "custom":
            return f"{rule.name}Backward"  # made for one call, so not stored
        given = rule.name if "[" in rule.name else rule.name.rpartition(".")[2]
        known = _WORDS.get(given)
        if known is None:
            known = "".join(word[:1].upper() + word[1:] for word in re.split(r"\W|_", given))
        found = f"{known}Backward0"
        _NAMED[rule] = found
    return found


__all__ = ["name_nodes", "name_of"]
