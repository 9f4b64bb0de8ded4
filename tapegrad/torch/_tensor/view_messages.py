"""The messages for writes that views without a node of their own do not survive.

Knows how a view was made, and names of nodes. Must not know what a tensor is.
"""

from __future__ import annotations

from typing import Any

from tapegrad.torch._graph.node import Node
from tapegrad.torch._graph.versions import short_name


def made_view_text(view: Any, event: str, node: Node | None = None, position: int = 0) -> str:
    """The message for a view that has no node of its own, where it or its base was written to.

    event: what was written to. node, position: what made the view, if it has a node.
    """
    kind = view._creation_meta
    if node is None or kind in ("inference", "no_grad"):
        mode = "inference mode" if kind == "inference" else "no_grad mode"
        text = f"A view was created in {mode} and {event}"
        if node is not None:
            place = f"Output {position} of {short_name(node)} is a view of a view which was"
            text = f"{place} created in {mode} and {event}"
        text += " in normal mode" if kind == "inference" else " with grad mode enabled"
    else:
        text = f"Output {position} of {short_name(node)} is a view and {event}"
    if kind == "several":
        return (
            f"{text}. This view is the output of a function that returns multiple views. Such "
            "functions do not allow the output views to be modified inplace. You should replace "
            "the inplace operation by an out-of-place one."
        )
    if kind == "custom":
        return f"{text}. {CUSTOM}"
    block = "inference_mode" if kind == "inference" else "no_grad"
    return (
        f"{text}. Given that this use case is ambiguous and error-prone, it is forbidden. You can "
        "clarify your code by moving both the view and the inplace either both inside the "
        f"{block} block (if you don't want the inplace to be tracked) or both outside (if you "
        "want the inplace to be tracked)."
    )


CUSTOM = (
    "This view was created inside a custom Function (or because an input was returned as-is) and "
    "the autograd logic to handle view+inplace would override the custom backward associated with "
    "the custom Function, leading to incorrect gradients. This behavior is forbidden. You can fix "
    "this by cloning the output of the custom Function."
)


__all__ = ["made_view_text"]
