"""Where the two libraries part in drawn programs, and why: one table.

A row is a name, a test of an entry (ours, PyTorch's) and where it stands, and the reason. A
difference that no row explains is a defect. Where one of them goes on and the other has stopped,
what follows is not compared.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

Place = tuple[Any, ...]
Row = tuple[str, Callable[[Any, Any, "Where"], bool], str]


class Where:
    """The transcripts around a difference: the family, and the entry that it is in, of both."""

    def __init__(self, family: str, ours: Any, theirs: Any, place: str) -> None:
        self.family, self.ours, self.theirs, self.place = family, ours, theirs, place

    def within(self, label: str) -> bool:
        return any(isinstance(e, list) and e[:1] == [label] for e in (self.ours, self.theirs))


def text(entry: Any) -> str:
    """The text of an error, or of the entry that holds one; nothing for what is no error."""
    if isinstance(entry, list) and entry[:1] == ["raised"]:
        entry = entry[1]
    if isinstance(entry, list) and entry[:1] == ["error"]:
        return f"{entry[1]}: {entry[2]}"
    return ""


def both_fail(ours: Any, theirs: Any) -> bool:
    return bool(text(ours)) and bool(text(theirs))


PARSER = re.compile(
    r"TypeError: .*(must be \S.*, not|received an invalid combination|missing \d+ required pos"
    r"|got an unexpected keyword|must be tuple of|takes .* positional arg|got multiple values"
    r"|failed to unpack|must be .*, but found|expected .* arguments|unrecognized keyword"
    r"|not supported between instances|expected Tensor as element|unsupported operand"
    r"|has no attribute|object is not|object cannot be|unexpected type|can only concatenate"
    r"|can't convert|got an invalid|argument must be|must be real number|only accepts)"
)


def names(ours: Any, theirs: Any) -> bool:
    """Whether these are names of nodes."""
    return all(
        x is None
        or isinstance(x, str)
        and re.fullmatch(
            r"\w+(Backward\w*|NotImplemented|Slices|Backwards|Accumulate\w*)|NotImplemented", x
        )
        for x in (ours, theirs)
    )


ROWS: tuple[Row, ...] = (
    (
        "words of the parser",
        lambda a, b, w: (
            both_fail(a, b)
            and PARSER.match(text(b)) is not None
            and text(a).startswith("TypeError")
        ),
        (
            "PyTorch's parser lists its overloads in the words of C++; a function here has "
            "one Python signature, whose TypeError names the argument in Python's words."
        ),
    ),
    (
        "numbers for tensors",
        lambda a, b, w: not text(a) and PARSER.match(text(b)) is not None,
        (
            "An operation is a function of what NumPy takes for an array, so numbers and lists do "
            "where PyTorch's parser wants a tensor, and a whole number where it wants a float."
        ),
    ),
    (
        "nodes of second derivatives",
        lambda a, b, w: names(a, b) and w.within("gradients"),
        (
            "The derivative of a rule is the derivative of its NumPy code, whose primitives are "
            "logged; PyTorch has hand-written nodes for some."
        ),
    ),
    (
        "derivatives that PyTorch lacks",
        lambda a, b, w: (
            not text(a)
            and re.search(
                r"derivative for .* is not implemented|not implemented for double backward"
                r"|does not support automatic differentiation|is not differentiable",
                text(b),
            )
            is not None
            or (names(a, b) and b == "NotImplemented")
        ),
        "Every rule here is differentiable to any order and in all its floating arguments.",
    ),
    (
        "assertions inside PyTorch",
        lambda a, b, w: (
            re.search(
                r"INTERNAL ASSERT|_will_engine_execute_node|report an enhancement request", text(b)
            )
            is not None
        ),
        (
            "PyTorch fails in an assertion of its own; here it is served, or fails for what is "
            "wrong with it."
        ),
    ),
    (
        "nodes of composed operations",
        lambda a, b, w: names(a, b) and (a, b) in NODES,
        (
            "Where a layer is one node in one library, several in the other, or a rule of one "
            "library makes views of its result, the last node has another name."
        ),
    ),
    (
        "empty windows",
        lambda a, b, w: not text(a) and "Expected grad_output to have non-zero size" in text(b),
        "The gradient of a sum over nothing is zero; PyTorch refuses to compute it.",
    ),
    (
        "order of LBFGS's state",
        lambda a, b, w: (
            isinstance(a, dict)
            and "prev_flat_grad" in a
            and isinstance(b, dict)
            and set(a) == set(b)
        ),
        "The same entries, which each library makes in the order in which it needs them.",
    ),
    (
        "one device",
        lambda a, b, w: "expected the device 'cpu'" in text(a),
        "Arrays are NumPy's: there is no other device, and the error says so.",
    ),
    (
        "what a rule keeps",
        lambda a, b, w: (
            (w.family == "saved_values" and type(a) is int and type(b) is int)
            or (not text(a) and "backward through the graph a second time" in text(b))
        ),
        "A rule here may keep other values than PyTorch's, and once what PyTorch keeps twice.",
    ),
)

# Names of nodes, ours and PyTorch's.
NODES = {
    ("StackBackward0", "CatBackward0"),  # recurrent layers
    ("StackBackward0", "TransposeBackward0"),
    ("NativeBatchNormBackward0", "ViewBackward0"),  # instance_norm
    ("AddBackward0", "ReluBackward0"),  # cells
    ("AddBackward0", "MulBackward0"),
    ("AddBackward0", "TanhBackward0"),
    ("ReluBackward0", "AsStridedBackward0"),  # in place, on a view
    ("SmoothL1LossBackward0", "MeanBackward0"),  # losses with beta 0
    ("_ReentrantBackward", "CheckpointFunctionBackward"),
}


def explanation(where: Where, ours: Any, theirs: Any) -> str | None:
    """The name of the row that explains a difference."""
    for name, test, _reason in ROWS:
        if test(ours, theirs, where):
            return name
    return None
