"""How a custom Function is called, and how its node runs in a backward pass.

Knows nodes, saved tensors, views and the rules of the core. Must not know more of a user's
Function than its static methods.

Outside of functional transforms a call makes one node, which is also the `ctx` of its forward and
backward. Within a transform the call is a rule of the core, logged on the tape of its arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from tapegrad._batched.level import VmapLevel
from tapegrad._core.entry import Outputs, Spec, parents_of, spec_of
from tapegrad._core.fast.call_plans import CallPlan
from tapegrad._core.fit import fit_cotangent, zeros_of
from tapegrad._core.forms import General
from tapegrad._core.rule import Rule
from tapegrad._core.types import Cotangent, Params, Slot, Tangent, Value, Values, Wanted
from tapegrad._core.values import innermost, is_mapped, is_plain_array
from tapegrad._warning import warn
from tapegrad.torch._engine.saved import output_node, save
from tapegrad.torch._graph import modes
from tapegrad.torch._graph.modes import MODE
from tapegrad.torch._graph.node import FunctionNode, Node, is_on_graph, new, reachable, title
from tapegrad.torch._graph.order import next_number
from tapegrad.torch._graph.tracing import PLAIN, is_above, is_dual
from tapegrad.torch._graph.versions import count_write
from tapegrad.torch._tensor.gradients import as_gradient, conjugated
from tapegrad.torch._tensor.tensor import (
    LEAF,
    Tensor,
    array_below,
    array_of,
    ndarray,
    node_of,
    of_array,
    of_value,
)
from tapegrad.torch._tensor.views import link_view
from tapegrad.torch._tensor.writes import raise_made, rebase


class _Calling(Rule):
    """The placeholder rule in the entry of a Function's node; `_rule_for()` makes the real one."""

    form = "custom"

    def push(self, dots: Sequence[Tangent], out: Value, args: Values, params: Params) -> Tangent:
        """Give NaN: a limit cannot be taken through a user's backward."""
        parts = out if isinstance(out, tuple) else (out,)
        made = [None if part is None else np.full(part.shape, np.nan) for part in parts]
        return made if isinstance(out, tuple) else made[0]


def _no_function() -> None:
    """The function of `_Calling`, which is never called."""


ABSENT = -1  # the node of an argument that has none; compared by identity
CALLING = _Calling(_no_function, name="autograd.Function")


class Backward:
    """The rule of a Function's node for one replay."""

    form = "custom"
    strong = False
    in_order = False
    unary = False
    singular = None

    def __init__(self, node: Slot) -> None:
        self.node = node

    @property
    def name(self) -> str:
        """The Function's name, for errors."""
        return title(self.node)

    def planned(self) -> CallPlan:
        """The same for a replay that runs planned calls."""
        kernels = CallPlan()
        kernels.single, kernels.strong, kernels.pull = False, None, self.pull_planned
        return kernels

    def pull_planned(self, g: Cotangent, out: Value, *args: Value) -> Sequence[Cotangent]:
        """`pull`, which looks at the usual gradients once, and fits them."""
        node = self.node
        given = _run(node, g, out) if type(g) is list else node._run(as_gradient(g))
        if type(given) is Tensor and given.node is None and len(node.needs_input_grad) == 1:
            value, (like,) = given._value, args  # the frequent case
            if type(value) is ndarray and value.dtype is like.dtype and value.shape == like.shape:
                return (conjugated(value),)
        if type(given) is not tuple:
            given = (given,)
        found = self._usual(given, args)
        if found is not None:
            return found
        found = self._with_zeros(checked(node, given, args), args)
        return [
            None if bar is None else fit_cotangent(bar, like, self)
            for bar, like in zip(found, args, strict=True)
        ]

    def _usual(self, given: tuple[Any, ...], args: Values) -> list[Cotangent] | None:
        """Gradients that are untraced arrays like their arguments; None if one is not so."""
        node = self.node
        places = node._places
        if len(given) != len(node.needs_input_grad):
            return None
        if len(places) < len(given) and any(
            gradient is not None and place not in places for place, gradient in enumerate(given)
        ):
            return None
        found: list[Cotangent] = []
        for place, like, parent in zip(places, args, node._entry[4], strict=True):
            gradient: Any = given[place]
            if parent is ABSENT and gradient is None:
                found.append(None)
                continue
            if type(gradient) is not Tensor or gradient.node is not None or parent is ABSENT:
                return None
            value = gradient._value
            if type(value) is not ndarray or value.dtype is not like.dtype:
                return None
            if value.shape != like.shape or value.dtype.kind != "f":
                return None
            found.append(value)
        return found

    def pull(
        self, g: Cotangent, out: Value, args: Values, params: Params, wanted: Wanted
    ) -> Sequence[Cotangent]:
        """Run the user's backward on tensors."""
        node = self.node
        outputs = out if isinstance(out, tuple) else (out,)
        found = run_backward(node, g if isinstance(g, list) else [g], outputs, args)
        return self._with_zeros(found, args)

    def _with_zeros(self, found: list[Cotangent], args: Values) -> list[Cotangent]:
        """The cotangents of arguments, with zeros in place of None where that is expected."""
        for position, parent in enumerate(parents_of(self.node._entry)):
            if parent is ABSENT:
                found[position] = None
            elif found[position] is None and _expects_zeros(parent):
                found[position] = zeros_of(args[position])
        return found


def _expects_zeros(parent: Node) -> bool:
    """Whether a Function on which `parent` depends gets zeros in place of absent gradients."""
    if parent._entry is None:
        return False
    return any(isinstance(n, FunctionNode) and n._fills for n in reachable([parent]))


def run_backward(
    node: Slot, bars: Sequence[Cotangent], outputs: Sequence[Value], inputs: Sequence[Value]
) -> list[Cotangent]:
    """The cotangents of a Function's tensor arguments, from those of its outputs."""
    return checked(node, _run(node, bars, outputs), inputs)


def _run(node: Slot, bars: Sequence[Cotangent], outputs: Sequence[Value]) -> Any:
    """Results of a user's backward for the cotangents of several outputs."""
    if node._fills and any(bar is None for bar in bars):
        bars = [
            zeros_of(like) if bar is None and like is not None else bar
            for bar, like in zip(bars, outputs, strict=True)
        ]
    return node._run(*[None if bar is None else as_gradient(bar) for bar in bars])


def checked(node: Slot, given: Any, inputs: Sequence[Value]) -> list[Cotangent]:
    """Results of a user's backward, as the cotangents of the tensors among the arguments."""
    gradients = list(given) if isinstance(given, tuple) else [given]
    places, count = node._places, len(node.needs_input_grad)
    if len(gradients) > count and all(g is None for g in gradients[count:]):
        del gradients[count:]
    if len(gradients) != count:
        raise RuntimeError(
            f"function {title(node)} returned an incorrect number of gradients (expected {count}, "
            f"got {len(gradients)})"
        )
    for position, gradient in enumerate(gradients if len(places) < count else ()):
        if gradient is not None and position not in places:
            raise RuntimeError(
                f"function {title(node)} returned a gradient different than None at position "
                f"{position + 1}, but the corresponding forward input was not a Variable"
            )
    return [
        _checked(node, edge, gradients[place], inputs[edge]) for edge, place in enumerate(places)
    ]


def _checked(node: Slot, edge: int, gradient: object, like: Value) -> Cotangent:
    """The gradient that a user's backward returned for one argument, as a cotangent."""
    if gradient is None:
        return None
    if not isinstance(gradient, Tensor):
        kind = type(gradient).__name__
        raise RuntimeError(f"expected Variable or None (got {kind})")
    if not node.needs_input_grad[node._places[edge]]:
        return None
    value = gradient._value
    if (
        gradient.node is None
        and type(like) is Spec
        and type(value) is ndarray
        and value.dtype is like.dtype
        and value.shape == like.shape
        and value.dtype.kind == "f"
    ):
        return value  # the frequent case
    bar = conjugated(_array_beside([like], gradient))
    shape = bar.shape
    if shape != like.shape and not _shrinks(shape, like.shape):
        raise RuntimeError(
            f"Function {title(node)} returned an invalid gradient at index {edge} - got "
            f"{list(shape)} but expected shape compatible with {list(like.shape)}"
        )
    if bar.dtype.kind == "c" and like.dtype.kind != "c":
        raise RuntimeError(
            f"Function {title(node)} returned an invalid gradient at index {edge} - got a complex "
            "one for a real input"
        )
    return bar


def _array_beside(arrays: Values, tensor: Tensor) -> Value:
    """The array of a tensor; on the tape above the graph only if one of the given arrays is."""
    return array_of(tensor) if any(map(is_above, arrays)) else array_below(tensor)


def _shrinks(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    """Whether an array of one shape can be summed to another shape, which broadcasts to it."""
    sides = zip(shape[::-1], to[::-1], strict=False)
    return len(to) <= len(shape) and all(b in (1, a) for a, b in sides)


# --- A call -------------------------------------------------------------------------------------


class Call(NamedTuple):
    """A call of a Function: its class, its arguments, and the places of the tensors."""

    function: Any
    args: tuple[Any, ...]
    places: tuple[int, ...]

    @property
    def tensors(self) -> list[Tensor]:
        return [self.args[place] for place in self.places]

    def context(self, args: Sequence[Any]) -> Any:
        """A fresh `ctx`."""
        tracked = [isinstance(arg, Tensor) and arg.node is not None for arg in args]
        return _context(self.function, self.places, tracked)


def _context(function: Any, places: Sequence[int], tracked: Sequence[bool]) -> Any:
    node = new(function._backward_cls)
    node._number = next_number()
    node._entry = None
    node._places = places
    node.needs_input_grad = tuple(tracked)
    return node


def _forward(function: Any, node: Slot, args: Sequence[Any]) -> Any:
    """Run the user's forward, and set up the context."""
    before = MODE.get()
    try:
        modes.stop_logging()
        if not function._has_setup():
            return function.forward(node, *args)
        output = function.forward(*args)
        function.setup_context(node, tuple(args), output)
        return output
    finally:
        MODE.set(before)


def call(function: type[Any], args: tuple[Any, ...]) -> Any:
    """`function.apply(*args)`."""
    tensors, places, tracked = [], [], []
    usual = True
    for place, arg in enumerate(args):
        if isinstance(arg, Tensor):
            tensors.append(arg)
            places.append(place)
            tracked.append(arg.node is not None)
            value = arg._value
            usual = usual and is_plain_array(value)
        else:
            tracked.append(False)
    if not usual:
        return _call_transformed(Call(function, args, tuple(places)))
    mode = MODE.get()
    logged = True in tracked and (mode is None or (mode.grad and not mode.inference))
    node = _context(function, places, tracked)
    parents = tuple([_parent_of(x) for x in tensors]) if logged else ()
    number = node._number
    given = _forward(function, node, args)
    own = node.__dict__
    if node._number != number or node._entry is not None or not RESERVED.isdisjoint(own):
        _raise_reserved(function)
    node._number = next_number()  # so that it is later than nodes of the forward
    if not logged or not _log_fresh(given, node, tensors, parents):
        given = _finished(given, node, tensors, parents, logged)
    if logged:
        if "to_save" in own:
            node._saved = save(node, own["to_save"])
        if mode is not None and mode.anomaly is not None:
            made = given if isinstance(given, tuple) else (given,)
            mode.anomaly.note(f"{function.__name__}.apply", args, made, [node])
    for name in _OF_FORWARD:
        if name in own:
            del own[name]
    return given


_OF_FORWARD = ("to_save", "_dirty", "_constant")  # what the forward tells by attributes of ctx


def _log_fresh(given: Any, node: Slot, inputs: list[Tensor], parents: tuple[Slot, ...]) -> bool:
    """Log a call whose results are tensors that the forward made; False for any other."""
    outputs = given if type(given) is tuple else (given,)
    if node._dirty or node._constant or not outputs:
        return False
    for output in outputs:
        if not isinstance(output, Tensor) or output._value.dtype.kind not in "fcV":
            return False
        for x in inputs:
            if output is x:
                return False
    several = len(outputs) > 1
    if several and len(set(map(id, outputs))) < len(outputs):
        return False
    likes = tuple([spec_of(x._value) for x in inputs])
    if not several:
        (output,) = outputs
        node._entry = CALLING, spec_of(output._value), likes, {}, parents, None
        output.node = node
        if output._base is not None:
            output._creation_meta = "custom"
        return True
    specs = Outputs([spec_of(output._value) for output in outputs])
    specs.slots = (ABSENT,) * len(outputs)
    node._entry = CALLING, specs, likes, {}, parents, None
    for position, output in enumerate(outputs):
        output.node = output_node(node, position)
        if output._base is not None:
            output._creation_meta = "several"
    return True


def _finished(
    given: Any, node: Slot, inputs: list[Tensor], parents: tuple[Slot, ...], logged: bool
) -> Any:
    """Results of a call from those of its forward, logged where it is to be."""
    several = isinstance(given, tuple)
    outputs = given if several else (given,)
    if logged:
        specs = tuple([spec_of(y._value) if isinstance(y, Tensor) else None for y in outputs])
        out: Any = specs[0]
        if len(specs) > 1 or out is None:
            out = Outputs(specs)
            out.slots = (-1,) * len(specs)
        likes = tuple([spec_of(x._value) for x in inputs])
        node._entry = CALLING, out, likes, {}, parents, None
    finished = _Results(node, inputs, logged, len(outputs)).finished(outputs)
    return tuple(finished) if several else finished[0]


# The attributes that the graph itself sets on a node: users' attributes may not have these names.
RESERVED = frozenset(
    "_number _entry _watched _hooks _prehooks _posthooks _retained _trace _packed".split()
)


def _raise_reserved(function: Any) -> NoReturn:
    raise AttributeError(
        f"{function.__name__}: an attribute of ctx has a name that the graph needs: "
        f"{', '.join(sorted(RESERVED))}. Choose another."
    )


def _parent_of(x: Tensor) -> Slot:
    if x.node is None:
        return ABSENT
    if x._inference:
        array_of(x)  # raises
    return node_of(x)


class _Results:
    """Gives the tensors that a forward returned their nodes in the graph."""

    def __init__(self, node: Slot, inputs: Sequence[Tensor], logged: bool, count: int) -> None:
        self.node = node
        self.inputs = inputs
        self.logged = logged
        self.count = count
        self.dirty = {id(x) for x in node._dirty}
        self.constant = {id(y) for y in node._constant}

    def finished(self, outputs: Sequence[Any]) -> list[Any]:
        """All results, with their nodes in the graph."""
        if self.dirty and not self.dirty <= {id(y) for y in outputs}:
            raise RuntimeError(
                "Some elements marked as dirty during the forward method were not returned as "
                "output. The inputs that are modified inplace must all be outputs of the Function."
            )
        inputs = {id(x) for x in self.inputs}
        if self.dirty - inputs:
            if self.logged:
                warn(
                    "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors "
                    "that have been mutated should be passed to ctx.mark_dirty()."
                )
            self.dirty &= inputs
        made: list[Any] = []
        traced: list[Tensor] = []
        known: dict[int, Tensor] = {}  # results by the id of what the forward returned
        for output in {id(y): y for y in outputs if id(y) in self.dirty}.values():
            count_write(output)
        for position, output in enumerate(outputs):
            if isinstance(output, Tensor):
                key = id(output)
                if key in known:  # the same tensor again has the place of the last one
                    output = known[key]
                    if isinstance(output.node, Node) and output.node is not self.node:
                        output.node = output_node(self.node, position)
                    made.append(output)
                    continue
                inner = any(output is x for x in self.inputs)
                if self._is_logged(output):
                    output = self._logged(output, position, inner)
                    traced.append(output)
                else:
                    output = self._constant(output, inner)
                if not inner or key in self.dirty:  # an argument gets an alias for each place
                    known[key] = output
            made.append(output)
        if len(traced) > 1:
            for output in traced:
                if output._base is not None:
                    output._creation_meta = "several"
        return made

    def _is_logged(self, output: Tensor) -> bool:
        return (
            self.logged and id(output) not in self.constant and output._value.dtype.kind in "fcV"
        )

    def _constant(self, output: Tensor, inner: bool) -> Tensor:
        if output.node is None:
            if inner and id(output) not in self.dirty:
                output = _alias(output)
            if output._creation_meta == "no_grad" and modes.is_grad_enabled():
                output._creation_meta = "custom"
            return output
        if inner:
            return output.detach()
        if output._base is None:
            output.node = None
        return output

    def _logged(self, output: Tensor, position: int, inner: bool) -> Tensor:
        entry_out = self.node._entry[1]
        place = output_node(self.node, position) if isinstance(entry_out, tuple) else self.node
        if id(output) in self.dirty:
            self._write(output, place)
            return output
        if inner:
            output = _alias(output)
        output.node = place
        if output._base is not None:
            output._creation_meta = "custom"
        return output

    def _write(self, output: Tensor, place: Node) -> None:
        """Let an argument that the forward wrote to have the node of this Function."""
        base = output._base
        own = output._maker is None
        if output.node is LEAF and own and (base is None or base.node is not LEAF):
            raise RuntimeError(
                "a leaf Variable that requires grad has been used in an in-place operation."
            )
        if base is not None and output._creation_meta is not None:
            raise_made(output)
        if base is not None and base.node is LEAF:
            raise RuntimeError(
                "a view of a leaf Variable that requires grad is being used in an in-place "
                "operation."
            )
        if base is not None and self.count > 1:
            raise RuntimeError(
                "If your Function modifies inplace an input that is a view of another Tensor, "
                "your Function cannot return more than one Tensor. This is not supported by the "
                "current autograd engine. You should either make sure the input is not a view "
                "(using .clone() for example) or make your Function only return one Tensor "
                "(potentially splitting it into two Functions: one doing the inplace that returns "
                "a single Tensor and a second one that does the other operations)."
            )
        for name in ("_grad", "_hooks", "_retains"):
            output.__dict__.pop(name, None)
        rebase(output, place)


def _alias(tensor: Tensor) -> Tensor:
    """Another tensor over the same memory."""
    made = of_value(tensor._value)
    link_view(made, tensor, _itself)
    return made


def _itself(base: Value) -> Value:
    return base


# --- Within functional transforms ---------------------------------------------------------------


class VmapInfo(NamedTuple):
    """Information for the static method `vmap` of a Function.

    Attribute batch_size (int): How many examples there are.
    Attribute randomness (str): "error", "different" or "same", as `torch.vmap` was told.

    >>> torch.autograd.function.VmapInfo(3, "error").batch_size
    3
    """

    batch_size: int
    randomness: str


class _Traced(General):
    """A call of a Function as a rule of the core."""

    form = "custom"

    def __init__(self, made: Call) -> None:
        super().__init__(self._evaluate, vjp=self._evaluate, arrays=0, name=made.function.__name__)
        self.made = made
        self.template: list[Any] = []  # the outputs, with None in place of tensors
        # For each output the place of the argument that it is, or is a view of.
        self.sources: list[int | None] = []
        self.several = False

    def needs(self, wanted: Wanted) -> tuple[Sequence[bool], bool]:
        return [True] * len(wanted), True

    def _args(self, arrays: Values) -> list[Any]:
        args = list(self.made.args)
        for place, array in zip(self.made.places, arrays, strict=True):
            args[place] = x = of_array(array)
            if is_dual(x._value) and not is_above(array):
                x._dual = PLAIN  # the tape above is already unwrapped
        return args

    def _evaluate(self, *arrays: Value) -> tuple[Value, ...]:
        args = self._args(arrays)
        given = call(self.made.function, tuple(args))
        self.several = isinstance(given, tuple)
        outputs = given if self.several else (given,)
        self.sources = [_source_of(y, args, self.made.places) for y in outputs]
        self.written = [any(y is args[place] for place in self.made.places) for y in outputs]
        self.template = [None if isinstance(y, Tensor) else y for y in outputs]
        return tuple(_array_beside(arrays, y) for y in outputs if isinstance(y, Tensor))

    def tensors(self, parts: Sequence[Value]) -> list[Any]:
        """The outputs of the call: tensors over `parts`, and what else the forward returned."""
        rest = iter(parts)
        return [of_array(next(rest)) if y is None else y for y in self.template]

    def _context(self, args: Values, out: Sequence[Value]) -> Any:
        made = self.made
        inputs = self._args(args)
        node = made.context(inputs)
        node.needs_input_grad = tuple(isinstance(arg, Tensor) for arg in inputs)
        if made.function._has_setup():
            outputs = self.tensors(out)
            before = MODE.get()
            try:
                modes.change(grad=False)
                given = tuple(outputs) if self.several else outputs[0]
                made.function.setup_context(node, tuple(inputs), given)
            finally:
                MODE.set(before)
        else:
            _forward(made.function, node, inputs)
        node._transformed = True
        return node

    def pull(
        self, g: Cotangent, out: Value, args: Values, params: Params, wanted: Wanted
    ) -> Sequence[Cotangent]:
        node = self._context(args, out)
        needed = dict(zip(self.made.places, wanted, strict=True))
        node.needs_input_grad = tuple(needed.get(i, False) for i in range(len(self.made.args)))
        bars, likes, rest = [], [], iter(zip(g, out, strict=True))
        for output in self.template:
            bar, like = next(rest) if output is None else (None, None)
            bars.append(bar)
            likes.append(like)
        found = run_backward(node, bars, likes, args)
        return [bar if want else None for bar, want in zip(found, wanted, strict=True)]

    def push(self, dots: Sequence[Tangent], out: Value, args: Values, params: Params) -> Tangent:
        function = self.made.function
        if not function._has_jvp():
            if not function._has_backward():
                function.jvp(None)  # raises
            return self._transposed_vjp(dots, out, args, params)
        node = self._context(args, out)
        given: list[Any] = [None] * len(self.made.args)
        for place, dot, like in zip(self.made.places, dots, args, strict=True):
            given[place] = of_array(zeros_of(like) if dot is None else dot)
        node.to_save = node._saved_forward
        tangents = function.jvp(node, *given)
        tangents = tangents if isinstance(tangents, tuple) else (tangents,)
        if len(tangents) != len(self.template):
            raise RuntimeError(
                f"{function.__name__}: the jvp returned {len(tangents)} tangents, expected "
                f"{len(self.template)}, one an output"
            )
        self._check_memory(dict(zip(self.made.places, dots, strict=True)), given, tangents)
        parts = [t for t, y in zip(tangents, self.template, strict=True) if y is None]
        return [
            zeros_of(like) if tangent is None else _array_beside(args, tangent)
            for tangent, like in zip(parts, out, strict=True)
        ]

    def _check_memory(
        self, dots: dict[int, Tangent], given: list[Any], tangents: Sequence[Any]
    ) -> None:
        """Raise RuntimeError where an output shares an argument's memory, and a tangent does not.

        dots: the tangents of arguments by place, and `given` as tensors.
        """
        for source, written, tangent in zip(self.sources, self.written, tangents, strict=True):
            if source is None or dots[source] is None or not isinstance(tangent, Tensor):
                continue
            if written and tangent is not given[source]:
                raise RuntimeError(
                    "An inplace custom Function is not modifying the forward mode gradients "
                    "inplace. If the forward is modifying an input inplace, then the jvp function "
                    "must modify the corresponding gradient inplace."
                )
            if written or tangent._base is given[source]:
                continue
            if tangent._base is None:
                raise RuntimeError(
                    "A custom Function's forward is returning a view (or an input as-is) but the "
                    "jvp is not returning a view."
                )
            of_view = self.made.args[source]._base is not None
            base = "same base as the given grad input" if of_view else "given grad input"
            raise RuntimeError(
                "A custom Function is returning a view but the jvp is not returning a view of the "
                f"{base}."
            )


def _source_of(output: object, args: Sequence[Any], places: Sequence[int]) -> int | None:
    """The place of the argument that an output is, or is a view of; None in a trace."""
    if isinstance(output, Tensor) and type(output._value) is ndarray:
        for place in places:
            if output is args[place] or output._base is args[place]:
                return place
    return None


def _call_transformed(made: Call) -> Any:
    below = all(x.node is None and not is_on_graph(x._dual) for x in made.tensors)
    arrays = [array_below(x) if below and is_dual(x._value) else array_of(x) for x in made.tensors]
    inner = innermost(arrays)
    if is_mapped(inner) and made.function._has_vmap():
        return _call_batched(made, inner, arrays)
    rule = _Traced(made)
    found = rule.apply_bound(arrays, {})
    outputs = rule.tensors(found)
    return tuple(outputs) if rule.several else outputs[0]


def _call_batched(made: Call, inner: Value, arrays: list[Value]) -> Any:
    """A call with batched tensors, which the user's own `vmap` computes."""
    vmap_level = inner.vmap_level
    args, dims = list(made.args), [None] * len(made.args)
    for place, array in zip(made.places, arrays, strict=True):
        if vmap_level.owns(array):
            array = array._value
            dims[place] = 0  # type: ignore[call-overload]
        args[place] = of_array(array)
    info = VmapInfo(vmap_level.size, "error")
    outputs, out_dims = made.function.vmap(info, tuple(dims), *args)
    several = isinstance(outputs, tuple)
    if not several:
        outputs, out_dims = (outputs,), (out_dims,)
    elif not isinstance(out_dims, tuple):
        out_dims = (out_dims,) * len(outputs)
    results = [
        _wrapped(vmap_level, output, dim) for output, dim in zip(outputs, out_dims, strict=True)
    ]
    return tuple(results) if several else results[0]


def _wrapped(vmap_level: VmapLevel, output: Any, dim: int | None) -> Any:
    if dim is None or not isinstance(output, Tensor):
        return output
    return of_array(vmap_level.wrap(np.moveaxis(array_of(output), dim, 0)))


__all__ = ["Backward", "VmapInfo", "call"]
