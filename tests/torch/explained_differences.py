"""Where the two libraries part in drawn programs, and why: one table.

A row is a name, a test of an entry (ours, PyTorch's) and where it stands, and the reason. A
difference that no row explains is a defect. Where one of them goes on and the other has stopped,
what follows is not compared.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

Place = tuple[Any, ...]
Row = tuple[str, Callable[[Any, Any, "Where"], bool], str]


class Where:
    """The transcripts around a difference: the family, and the entry that it is in, of both.

    program: our transcript, in which the names of what was called are to be found; before: its
    entries before that one.
    """

    def __init__(
        self, family: str, ours: Any, theirs: Any, place: str, program: Sequence[Any] = ()
    ) -> None:
        self.family, self.ours, self.theirs, self.place = family, ours, theirs, place
        self.program = program
        at = re.match(r"\[(\d+)\]", place)
        self.before = program[: int(at[1])] if at else ()

    def says(self, *words: str) -> bool:
        """Whether each word is in what the program logged of itself."""
        told = list(_strings(self.program))
        return all(any(word in string for string in told) for word in words)

    def values(self) -> Any:
        """The values of our tensor in which the difference is, None where it is in none."""
        found: Any = self.ours
        for step in re.findall(r"\[(\d+)\]", self.place)[1:-1]:
            if not isinstance(found, list) or int(step) >= len(found):
                return None
            found = found[int(step)]
        return found[6] if isinstance(found, list) and found[:1] == ["tensor"] else None

    def is_of_graph(self) -> bool:
        """Whether what differs is requires_grad, is_leaf or the node of a tensor."""
        return self.values() is not None and self.place[-3:] in ("[3]", "[4]", "[5]")

    def within(self, label: str) -> bool:
        return any(isinstance(e, list) and e[:1] == [label] for e in (self.ours, self.theirs))


def _strings(entry: Any) -> Iterator[str]:
    if isinstance(entry, str):
        yield entry
    elif isinstance(entry, (list, tuple)):
        for part in entry:
            yield from _strings(part)
    elif isinstance(entry, dict):
        for key, part in entry.items():
            yield str(key)
            yield from _strings(part)


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
    r"|got an unexpected keyword|takes .* positional arg|not supported between instances"
    r"|object is not)"
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


COPY = "_has_compatible_shallow_copy_type"

# The lists of PyTorch's profiler for one call of a program, and of ours: the name that
# an event has here, and its place. PyTorch composes these calls of others, in C++ or in Python.
COMPOSED = [
    (tuple(theirs.split()), ours)
    for theirs, ours in (
        ("broadcast_tensors mse_loss", {1: "mse_loss"}),
        ("empty to lift_fresh detach_", {2: "lift_fresh"}),
        ("unsqueeze unsqueeze", {0: "unsqueeze"}),  # x[None, None]
        ("linalg_vector_norm clamp_min expand_as div", {0: "normalize"}),
        (
            f"empty detach empty detach uniform_ uniform_ to {COPY} {COPY} to {COPY} {COPY}",
            {4: "uniform_", 5: "uniform_", 6: "to", 9: "to"},  # Linear(2, 3).double()
        ),
    )
]


def composed(ours: Any, theirs: Any) -> bool:
    """Whether lists of events are the same but for the parts of composed calls."""
    if not (isinstance(ours, list) and isinstance(theirs, list) and len(ours) < len(theirs)):
        return False
    names = [str(event[0] if isinstance(event, list) and event else event) for event in theirs]
    names = [name.removeprefix("aten::") for name in names]
    found, start = [], 0
    while start < len(theirs):
        for parts, kept in COMPOSED:
            if tuple(names[start : start + len(parts)]) == parts:
                found += [_renamed(theirs[start + i], f"aten::{name}") for i, name in kept.items()]
                start += len(parts)
                break
        else:
            found.append(theirs[start])
            start += 1
    return len(found) == len(ours) and all(
        x == y
        or (isinstance(x, list) and x[0] == y[0] and shapes(x[1], y[1]))
        or (isinstance(x, list) and x == ["aten::lift_fresh", [[]]] and x[0] == y[0])
        for x, y in zip(ours, found, strict=True)
    )


def _renamed(event: Any, name: str) -> Any:
    return name if isinstance(event, str) else [name, event[1]]


def shapes(ours: Any, theirs: Any) -> bool:
    """Whether lists of shapes are the same but for the empty ones and lists of tensors."""

    def known(listed: list[Any]) -> list[Any]:
        return [shape for shape in listed if shape and not isinstance(shape[0], list)]

    return known(ours) == known(theirs)


def _is_shape(part: Any) -> bool:
    return isinstance(part, list) and all(isinstance(side, (int, list)) for side in part)


SIXTH = float(np.float32(1) / np.float32(6)) * 6  # PyTorch's for float64, over the real one


def arrays(ours: Any, theirs: Any, kind: str) -> bool:
    pair = (ours, theirs)
    return all(isinstance(x, np.ndarray) and x.dtype.name == kind for x in pair)


def is_scaled_by_sixths(ours: Any, theirs: Any) -> bool:
    """Whether PyTorch's gradients are ours times its sixth, once for each layer that they pass."""
    return any(np.allclose(ours * SIXTH**k, theirs, 1e-11, 1e-14) for k in (1, 2, 3, 4))


def no_tensor(entry: Any) -> str:
    """The class of what an error says is no tensor."""
    told = re.search(r"must be Tensor, not (\w+)|'(\w+)' object has no attribute", text(entry))
    return "" if told is None else told[1] or told[2]


def without_numbers(entry: Any) -> str:
    return re.sub(r"\d+ \(", "(", text(entry))


UNUSED = "appears to not have been used in the graph"
CHANGED = "modified by an inplace operation"
OVERLAP = "some elements of the input tensor and the written-to tensor refer to a single memory"


def leaves(entries: Sequence[Any]) -> list[Any]:
    """The tensors among the entries that require grad and have no node."""
    tensors = [entry[1] for entry in entries if entry[:1] == [""] and len(entry) == 2]
    return [x for x in tensors if isinstance(x, list) and x[3:6] == [True, True, None]]


def state(entry: Any) -> Any:
    """Data of an entry of the family graphs on a tensor, or six times nothing."""
    found = entry[-1] if isinstance(entry, list) and entry else None
    known = isinstance(found, list) and len(found) == 6 and isinstance(found[0], list)
    return found if known else [[None] * 7, None, None, None, [], None]


def of_view_without_grad(where: Where) -> bool:
    """Whether we gave the derivative 2 x of the sum of x * x by a view x made in no_grad mode."""
    found = where.ours[1] if len(where.ours) == 2 and where.ours[:1] == [""] else None
    if where.family != "graphs" or not isinstance(found, list) or len(found) != 1:
        return False
    return any(
        x[2] == found[0][2] and np.allclose(found[0][6], 2 * x[6]) for x in leaves(where.before)
    )


ROWS: tuple[Row, ...] = (
    (
        "views made in no_grad mode",
        lambda a, b, w: not text(a) and UNUSED in text(b) and of_view_without_grad(w),
        (
            "A view of a leaf that is made without grad requires grad, and has no node. Here it "
            "is a leaf of its own; PyTorch loses its gradient, even that of itself by itself."
        ),
    ),
    (
        "passes that fail",
        lambda a, b, w: (
            w.family == "graphs"
            and a is None
            and w.place.count("[") == 3
            and bool(text(w.before[-1]))
            and any(CHANGED in text(entry) for entry in w.before)
        ),
        (
            "A pass is refused before it starts, and changes no gradient; PyTorch has added to "
            "those of some leaves when it comes to the changed value."
        ),
    ),
    (
        "operands that overlap",
        lambda a, b, w: (
            OVERLAP in text(b)
            and (
                not text(a)
                or re.search(r"match the broadcast shape|size of tensor a .* must match", text(a))
                is not None
            )
        ),
        (
            "The operand of a write in place is read before anything is written, so that memory "
            "which overlaps does no harm; where the shapes do not fit, that is what is wrong."
        ),
    ),
    (
        "versions of products",
        lambda a, b, w: (
            w.family == "graphs"
            and type(a) is type(b) is int
            and (a, b) == (0, 1)
            and w.place.endswith("][1]")
            and state(w.ours)[0][5] == "SqueezeBackward4"
        ),
        (
            "PyTorch squeezes the product of a vector and a matrix in place, and counts that as a "
            "write to the result."
        ),
    ),
    (
        "memory order of two operands",
        lambda a, b, w: (
            w.family == "graphs"
            and re.search(r"\]\[(4\]\[\d|5)\]$", w.place) is not None
            and state(w.ours)[5] is True
            and sorted(state(w.ours)[4]) == sorted(state(w.theirs)[4])
            and any(entry[:1] == ["binary"] and entry[1] in tuple("+-*/") for entry in w.before)
        ),
        (
            "Of two operands in different orders in memory NumPy makes a result in C order; "
            "PyTorch's, and views of it, are in the order of the first."
        ),
    ),
    (
        "derivatives of once_differentiable",
        lambda a, b, w: (
            w.family == "functions"
            and "trying to differentiate twice" in text(a)
            and b[:1] == ["gradients"]
            and all(part is None for part in b[1])
        ),
        (
            "Its second derivative is an error. PyTorch raises that for a pass to all leaves; "
            "asked for some inputs, with allow_unused, it answers that there is no derivative."
        ),
    ),
    (
        "conditions that a hook changed",
        lambda a, b, w: (
            w.family == "saved_values"
            and a == ["backward", None]
            and "where expected condition to be a boolean tensor" in text(b)
        ),
        (
            "The rule of np.where takes what a hook returns for the condition as NumPy does, "
            "where all but zero is true; that of PyTorch checks its dtype."
        ),
    ),
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
        "truth of flags",
        lambda a, b, w: not text(a) and re.search(r"must be bool, not \w+$", text(b)) is not None,
        "A flag is tested for truth, as Python's are: any object does.",
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
        lambda a, b, w: names(a, b) and w.says(NODES.get((a, b), "no such pair")),
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
        "parts of profiled calls",
        lambda a, b, w: w.family == "profiles" and composed(a, b),
        "A call is one event where PyTorch composes it of others, which its profiler lists.",
    ),
    (
        "shapes of profiled constants",
        lambda a, b, w: (
            w.family == "profiles"
            and all(isinstance(x, list) and all(_is_shape(s) for s in x) for x in (a, b))
            and shapes(a, b)
        ),
        (
            "PyTorch lists an empty shape for each parameter of its C++ function that is no "
            "tensor, or a list of tensors; here those that the call gave are listed."
        ),
    ),
    (
        "shapes of profiled lists",
        lambda a, b, w: (
            w.family == "profiles"
            and (
                (_event(w)[0] == "aten::lift_fresh" and a in ([], [[]]))
                or (_event(w)[0] == "aten::einsum" and b == [])
            )
        ),
        (
            "torch.tensor is given a list, which has no shape, where PyTorch's event is of its "
            "result; einsum is given tensors, where PyTorch's event is of a list of them."
        ),
    ),
    (
        "declarations of PyTorch",
        lambda a, b, w: (
            both_fail(a, b)
            and text(b).startswith(text(a) + "\nDeclaration: profiler::_record_function")
        ),
        "The text ends with a declaration in C++, which is not here.",
    ),
    (
        "nodes of transforms",
        lambda a, b, w: w.family == "transforms" and names(a, b) and (a, b) in TRANSFORMED,
        (
            "The result of a transform is on the graph by NumPy's primitives that computed it; "
            "PyTorch has nodes of its batching rules and of its own derivatives."
        ),
    ),
    (
        "cotangents of constants",
        lambda a, b, w: (
            "Mismatch in shape: grad_output" in text(a)
            and isinstance(b, list)
            and b[0] == "vjp, pulled"
            and not any(part[6].any() for part in b[1])
        ),
        (
            "A cotangent of a wrong shape is refused; PyTorch does not look at it where the "
            "output does not depend on the input."
        ),
    ),
    (
        "rounding in LBFGS",
        lambda a, b, w: (
            (
                re.search(r"\.al\[\d+\]\[6\]$", w.place) is not None
                and getattr(a, "dtype", None) == getattr(b, "dtype", None) == np.float32
                and bool(np.allclose(a, b, 2e-2, 1e-6))
            )
            or (
                w.place.endswith(".prev_loss")
                and isinstance(a, float)
                and isinstance(b, float)
                and bool(np.isclose(a, b, 1e-6, 0))
            )
        ),
        "Weights of differences of gradients, in single precision near the minimum.",
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
    (
        "a wrong number of weights that require grad",
        lambda a, b, w: (
            "weight tensor should be defined either for all" in text(a)
            and "not differentiable with respect to argument 'weight'" in text(b)
        ),
        "Losses of classes can be differentiated by the weights here, so their number is wrong.",
    ),
    (
        "a sixth in single precision",
        lambda a, b, w: (
            arrays(a, b, "float64") and w.says("ardsigmoid") and is_scaled_by_sixths(a, b)
        ),
        (
            "PyTorch multiplies the gradient of hardsigmoid by float32's 1/6 in double precision "
            "too, which is wrong from the eighth digit on."
        ),
    ),
    (
        "zeros in single precision",
        lambda a, b, w: (
            arrays(a, b, "float32")
            and w.family == "stacks"
            and w.says("LayerNorm")
            and max(np.abs(a).max(), np.abs(b).max()) < 1e-6
        ),
        (
            "These gradients are 0 but for rounding: of a norm of one element, or of a shift of "
            "all classes; in double precision both libraries are below 1e-14."
        ),
    ),
    (
        "no fast path to miss",
        lambda a, b, w: (
            w.within("warned")
            and (a, b) == ([], ["UserWarning"])
            and w.says("TransformerEncoder(")
        ),
        (
            "PyTorch warns that its nested tensors cannot be used with these options; here no "
            "options are slower than others."
        ),
    ),
    (
        "warned once a process",
        lambda a, b, w: (
            w.within("warned")
            and (a, b) == (["UserWarning"], [])
            and any(map(w.says, ("__float__", "__int__", "chain_matmul", "RMSNorm", "rms_norm")))
        ),
        (
            "PyTorch gives these warnings once in a process; here Python's filters decide how "
            "often they are shown."
        ),
    ),
    (
        "one of several wrong indices",
        lambda a, b, w: (
            "Found an invalid max index" in text(a) and without_numbers(a) == without_numbers(b)
        ),
        "PyTorch names the index that its threads found last; here it is the first.",
    ),
    (
        "scale_grad_by_freq differentiated again",
        lambda a, b, w: (
            arrays(a, b, a.dtype.name if isinstance(a, np.ndarray) else "")
            and w.within("second")
            and w.says("scale_grad_by_freq", "EmbeddingBackward0")
        ),
        (
            "The gradient is linear, its derivative the transpose: PyTorch's lacks the division "
            "by frequencies."
        ),
    ),
    (
        "one example without its axis",
        lambda a, b, w: (
            not text(a)
            and re.search(r"size mismatch \(got input: \[\d+\], target: \[1\]\)", text(b))
            is not None
        ),
        "PyTorch takes a target of shape (1,) for one example, and fails to go backward.",
    ),
    (
        "no tensor",
        lambda a, b, w: (
            text(b).startswith("AttributeError") and no_tensor(a) == no_tensor(b) != ""
        ),
        (
            "What is no tensor is told by the first attribute that PyTorch's Python code misses; "
            "here by the name of the argument, or another attribute of the same class."
        ),
    ),
    (
        "residuals that are not there",
        lambda a, b, w: w.says("lstsq") and w.is_of_graph() and w.values().shape == (0,),
        "An empty tensor in their place; PyTorch's has a node, although nothing can pass it.",
    ),
    (
        "zeros with a node",
        lambda a, b, w: (
            any(map(w.says, ("SignBackward0", "FloorBackward0", "CeilBackward0")))
            and (
                (w.within("gradients") and w.is_of_graph() and not w.values().any())
                or (w.ours[0], w.theirs[0]) == ("second", "warned")  # which can go on here alone
            )
        ),
        (
            "The gradient of a step is 0 times what arrives, and stays on its graph; PyTorch's is "
            "a constant."
        ),
    ),
    (
        "text of a text",
        lambda a, b, w: (
            'can only concatenate tuple (not "str") to tuple' in text(b)
            and text(a).endswith("is not valid")
        ),
        "PyTorch fails to put a wrong reduction into its message.",
    ),
)


def _event(where: Where) -> Any:
    """The event of a profile that a place such as [5][0][2][1] is in; [None] where it is none."""
    entry = where.ours
    for index in re.findall(r"\[(\d+)\]", where.place)[1:3]:
        entry = entry[int(index)] if isinstance(entry, list) and entry else None
    return entry if isinstance(entry, list) and entry else [None]


# The same of what transforms return.
TRANSFORMED = {
    ("ReshapeBackward0", "ViewBackward0"),  # jacrev
    ("MulBackward0", "ViewBackward0"),  # grad of a product of all elements
    ("SumBackward0", "SumBackward1"),  # vmap of a sum
    ("DivBackward0", "SumBackward0"),  # autograd.functional.jvp of a mean
}

# Names of nodes, ours and PyTorch's.
# Names of nodes, ours and PyTorch's, and what the program has to have called.
NODES = {
    ("StackBackward0", "CatBackward0"): "bidirectional",
    ("StackBackward0", "TransposeBackward0"): "batch_first",
    ("StackBackward0", "TransposeBackward1"): "batch_first",
    ("NativeBatchNormBackward0", "ViewBackward0"): "nstance",  # instance_norm, InstanceNorm1d
    ("AddBackward0", "ReluBackward0"): "RNNCell",
    ("AddBackward0", "MulBackward0"): "Cell",
    ("AddBackward0", "TanhBackward0"): "RNNCell",
    ("ReluBackward0", "AsStridedBackward0"): "",  # in place, on a view
    ("SmoothL1LossBackward0", "MeanBackward0"): "",  # losses with beta 0
    ("_ReentrantBackward", "CheckpointFunctionBackward"): "",
}


def explanation(where: Where, ours: Any, theirs: Any) -> str | None:
    """The name of the row that explains a difference."""
    for name, test, _reason in ROWS:
        if test(ours, theirs, where):
            return name
    return None
