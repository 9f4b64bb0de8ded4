"""`torch.compile`: functions of tensors that run as programs, also where results have a history.

Knows nodes, and compiled calls. Must not know operations, nor how a program is made.

A program computes arrays. Where a function returns tensors with a grad_fn, its program also
returns the arrays that their graph keeps; a `Form` is that graph without them. The results get one
node, whose backward is a program of these arrays and of the gradients: there the graph of the form
stands again, over recorded values, and a backward pass through it is recorded.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from tapegrad._block import setting
from tapegrad._compile.worth import FASTER
from tapegrad._core.entry import Mark, Outputs, Spec, parents_of
from tapegrad._core.fast.call_plans import CallPlan
from tapegrad._core.recorded import RECORDING
from tapegrad._core.rule import Rule
from tapegrad._core.tape import CURRENT
from tapegrad._errors import name_of
from tapegrad._program.recorded import Recorded
from tapegrad._program.recorder import NotRecordableError
from tapegrad._tree import flatten, unflatten
from tapegrad._tree import register as register_tree
from tapegrad.torch._engine.saved import Saved
from tapegrad.torch._graph import modes
from tapegrad.torch._graph.node import (
    AccumulateGrad,
    FunctionNode,
    Node,
    new,
    reachable,
)
from tapegrad.torch._graph.order import next_number
from tapegrad.torch._graph.versions import Version, written_version
from tapegrad.torch._methods import method_of
from tapegrad.torch._ops.declare import register
from tapegrad.torch._programs import RETURNS_LEAF, is_from_outside, stand_in
from tapegrad.torch._rules.declare import Found, Kept
from tapegrad.torch._tensor.tensor import LEAF, Tensor, accumulator_of, of_value
from tapegrad.torch.autograd._passes import grad
from tapegrad.torch.autograd.function import BackwardCFunction, Function
from tapegrad.torch.nn.module.module import Module

# Classes of the parameters of calls, which hold no values of a call's own.
_FIXED = (
    *(type(None), bool, int, float, complex, str, bytes, slice, range, type, np.dtype, np.ufunc),
    np.generic,
    *(type(Ellipsis), types.BuiltinFunctionType, types.FunctionType, Spec, Kept, Found),
    *(Mark, Rule, CallPlan),
)
_HISTORY = "it returns a tensor whose history has {}"


class _Array(NamedTuple):
    """Stands in a form for an array that the program returns."""

    at: int


class _OfLeaf(NamedTuple):
    """Stands in a form for the array of a tensor that was there before the call."""

    at: int


class _Of(NamedTuple):
    """Stands in a form for a node: of an earlier one, or of a leaf."""

    at: int


class _OfTensor(NamedTuple):
    """Stands in a form for a tensor that was there before the call."""

    at: int


class _Constant(NamedTuple):
    """Stands in a form for a tensor without history."""

    array: Any


class _Saved(NamedTuple):
    """Stands in a form for a tensor that a custom Function has saved: see `Saved`."""

    kept: Any
    node: Any
    output: int | None

    def again(self, made: Callable[[Any], Any]) -> Saved:
        """The saved tensor, with what `made` makes of the parts."""
        saved: Saved = new(Saved)
        saved.hooks = saved.packed = saved.place = None
        saved.version, saved.count = Version(), 0
        saved.kept, saved.node, saved.output = made(self.kept), made(self.node), self.output
        return saved


_PLACES = (_Array, _OfLeaf, _Of, _OfTensor)
_WHOLE = (*_PLACES, _Constant, _Saved)


# The class of a node, its entry, and what a custom Function keeps in it.
_Entry = tuple[type, Any, dict[str, Any]]


class Form:
    """A graph without its arrays: its nodes in order of time, after those of its leaves.

    leaves: the tensors at which it ends, and those whose arrays it keeps: the position of one
    among the arguments, or the tensor itself. results: for each leaf of the function's result the
    number of its node, or None for a constant; of an argument that is returned, -1 - its position.
    """

    def __init__(
        self, leaves: list[Any], entries: list[_Entry], results: list[int | None]
    ) -> None:
        self.leaves, self.entries, self.results = leaves, entries, results
        self.kept = sorted({part.at for x in entries for part in _parts(x[1:], _OfLeaf)})
        self.is_plain = all(x is None for x in results)
        self.backward: Any = None  # the calls of its backward

    def __eq__(self, other: object) -> bool:
        """Whether it is of the same operations on the same leaves."""
        return (
            isinstance(other, Form)
            and self.results == other.results
            and len(self.leaves) == len(other.leaves)
            and all(
                a is b or (type(a) is type(b) is int and a == b)
                for a, b in zip(self.leaves, other.leaves, strict=True)
            )
            and list(map(_joints, self.entries)) == list(map(_joints, other.entries))
        )

    __hash__ = object.__hash__

    def leaves_of(self, given: Sequence[Tensor]) -> list[Tensor]:
        """The leaves of a call with these tensors among its arguments."""
        return [given[x] if type(x) is int else x for x in self.leaves]

    def graph(self, leaves: Sequence[Any], values: Sequence[Any], kept: Any) -> list[Node]:
        """Its nodes again, over these tensors, their arrays, and those that it keeps."""
        nodes = [_node_of(x) for x in leaves]

        def made(part: Any) -> Any:
            kind = type(part)
            if kind is _Of:
                return nodes[part.at]
            if kind is _Array:
                return kept[part.at]
            if kind is _OfTensor:
                return leaves[part.at]
            if kind is _Constant:
                return of_value(made(part.array))
            if kind is _Saved:
                return part.again(made)
            if kind is Kept or kind is Found:
                return kind()  # what one call finds is of no use to another
            return values[part.at] if kind is _OfLeaf else part

        for kind, entry, own in self.entries:
            node: Any = new(kind)
            node._number = next_number()
            node._entry = _mapped(entry, made)
            if own:
                node.__dict__.update(_mapped(own, made))
            nodes.append(node)
        return nodes


def _node_of(leaf: Tensor) -> Any:
    if leaf.node is None:
        return -1
    return accumulator_of(leaf) if leaf.node is LEAF else leaf.node


def _mapped(part: Any, change: Callable[[Any], Any]) -> Any:
    """A part of an entry with other values, nodes and arrays in it."""
    kind = type(part)
    if issubclass(kind, tuple) and kind not in _WHOLE and kind is not Outputs:
        parts = [_mapped(x, change) for x in part]
        return tuple(parts) if kind is tuple else kind(*parts)  # as of a named tuple
    if kind is Outputs:
        outputs = Outputs(_mapped(x, change) for x in part)
        outputs.slots = (-1,) * len(outputs)
        return outputs
    if kind is dict:
        return {key: _mapped(x, change) for key, x in part.items()}
    return [_mapped(x, change) for x in part] if kind is list else change(part)


def _parts(part: Any, kind: type) -> list[Any]:
    found: list[Any] = []

    def look(x: Any) -> None:
        if type(x) is kind:
            found.append(x)
        elif type(x) in _WHOLE[len(_PLACES) :]:
            for inner in x:
                look(inner)

    _mapped(part, look)
    return found


def _joints(made: _Entry) -> Any:
    """What makes two entries the same operation: its rule, and where its values are from."""
    kind, entry, own = made
    return kind, entry[0], [_parts((entry, own), place) for place in _PLACES]


class _Apart(NamedTuple):
    """The result of a call, whose tensors are taken from their graph."""

    out: Any  # with the arrays of tensors that have a node
    kept: list[Any]  # arrays of the graph
    form: Form


register_tree(
    _Apart,
    lambda x: ((x.out, *x.kept), x.form),
    lambda form, children: _Apart(children[0], list(children[1:]), form),  # type: ignore[index]
)


# The arguments of a call, where leaves stand for those that have a history.
_GIVEN: ContextVar[Any] = ContextVar("_GIVEN", default=None)


class _Whole:
    """The result of a call that is not recorded."""

    def __init__(self, out: Any) -> None:
        self.out = out


class _Joint:
    """A function with what its results need for their derivatives."""

    def __init__(self, f: Callable[..., Any]) -> None:
        self.f = f
        self.__name__ = name_of(f)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if RECORDING.get() is None:
            given = _GIVEN.get()
            if given is None:
                return _Whole(self.f(*args, **kwargs))
            with setting(_GIVEN, None):
                return _Whole(self.f(*given[0], **given[1]))
        start = next_number()
        out = self.f(*args, **kwargs)
        given = [x for x in flatten((args, kwargs))[0] if isinstance(x, Tensor)]
        return _taken_apart(out, given, start)


class _Taking:
    """The graph of results as a form, and the arrays that it keeps.

    start: a number that nodes of the call are later than.
    """

    def __init__(self, results: list[Any], given: list[Tensor], start: int) -> None:
        places = {id(x): at for at, x in enumerate(given)}
        is_given = [id(x) in places for x in results]
        roots = [x for x, known in zip(results, is_given, strict=True) if not known]
        nodes = reachable([x.node for x in roots if _has_node(x)])
        if any(x._number < start and not isinstance(x, AccumulateGrad) for x in nodes):
            raise NotRecordableError(_HISTORY.format("nodes from before the call"))
        recording = RECORDING.get()
        known = places.keys() | (frozenset() if recording is None else recording.holders)
        # Nobody sees the gradient of a leaf that the call has made itself.
        ends = [
            node
            for node in _ends(nodes)
            if id(node.variable) in known or type(node.variable._value) is np.ndarray
        ]
        leaves = [node.variable for node in ends]
        if nodes and not leaves:
            raise NotRecordableError(_HISTORY.format("an end only in tensors of its own"))
        if any(x._of_call and id(x) not in places for x in leaves):
            raise NotRecordableError("it differentiates by a tensor that is another in each call")
        leaves += [x for x in given if all(x is not y for y in leaves)]
        self.numbers = {id(node): at for at, node in enumerate(ends)}  # of nodes
        self.of_leaf = {id(x._value): at for at, x in enumerate(leaves)}
        self.kept: list[Any] = []
        self.known: dict[int, int] = {}  # positions among these, by id
        self.at_leaf = {id(x): at for at, x in enumerate(leaves)}
        entries: list[_Entry] = []
        for node in nodes:
            if not isinstance(node, AccumulateGrad):
                entry = self._entry(node)
                self.numbers[id(node)] = len(leaves) + len(entries)
                entries.append(entry)
        found: list[int | None] = []
        for at, x in enumerate(results):
            number = None
            if is_given[at]:
                number, results[at] = -1 - places[id(x)], False
            elif isinstance(x, Tensor) and x.node is LEAF and is_from_outside(x):
                raise NotRecordableError(RETURNS_LEAF)
            elif _has_node(x):
                number, results[at] = self.numbers[id(x.node)], x._value
            found.append(number)
        self.form = Form([places.get(id(x), x) for x in leaves], entries, found)

    def _entry(self, node: Node) -> _Entry:
        own = {name: x for name, x in node.__dict__.items() if name != "_metadata"}
        if own and (node._watched or not isinstance(node, FunctionNode)):
            raise NotRecordableError(_HISTORY.format("hooks"))
        kept = {name: _mapped(x, lambda x: self._part(x, node)) for name, x in own.items()}
        return type(node), _mapped(node._entry, lambda x: self._part(x, node)), kept

    def _saved(self, x: Saved, node: Node) -> Any:
        if x.hooks is not None:
            raise NotRecordableError(_HISTORY.format("hooks of saved tensors"))
        at = self.at_leaf.get(id(x.kept))
        kept = self._part(x.kept, node) if at is None else _OfTensor(at)
        tensor = isinstance(x.kept, Tensor)
        return _Saved(kept, None if tensor else self._part(x.node, node), x.output)

    def _part(self, x: Any, node: Node) -> Any:
        if isinstance(x, Node):
            at = self.numbers.get(id(x))
            return -1 if at is None else _Of(at)
        if type(x) is Saved:
            return self._saved(x, node)
        if isinstance(x, Tensor) and x.node is None:
            return _Constant(self._part(x._value, node))
        if issubclass(type(x), (Recorded, np.ndarray)):
            version = written_version(x)
            if version is not None and version.times and version.times[-1] >= node._number:
                raise NotRecordableError(_HISTORY.format("an array that was written to since"))
            if id(x) in self.of_leaf:
                return _OfLeaf(self.of_leaf[id(x)])
            if id(x) not in self.known:
                self.known[id(x)] = len(self.kept)
                self.kept.append(x)
            return _Array(self.known[id(x)])
        if not isinstance(x, _FIXED):
            raise NotRecordableError(_HISTORY.format(f"a {type(x).__name__}"))
        return x


def _ends(nodes: list[Node]) -> list[AccumulateGrad]:
    """The nodes of leaves, in the order in which they are used first."""
    used = [x for node in nodes if node._entry for x in parents_of(node._entry)]
    return list(dict.fromkeys(x for x in used if isinstance(x, AccumulateGrad)))


def _taken_apart(out: Any, given: list[Tensor], start: int) -> _Apart:
    results, structure = flatten(out)
    taking = _Taking(results, given, start)
    return _Apart(unflatten(structure, results), taking.kept, taking.form)


def _has_node(x: Any) -> bool:
    return isinstance(x, Tensor) and x.node is not None and x.node is not LEAF


class CompiledFunction(Function):
    """The results of a program, whose backward is one too."""

    @staticmethod
    def forward(ctx: Any, calls: Compiled, apart: _Apart, values: Any, *leaves: Tensor) -> Any:
        ctx.calls, ctx.form, ctx.kept, ctx.leaves = calls, apart.form, apart.kept, leaves
        ctx.values = [x._value for x in leaves]  # a program may give a leaf another array
        ctx._fills = False  # of gradients that are not there none are made
        ctx.save_for_backward(*[leaves[at] for at in apart.form.kept])
        outs = tuple([of_value(x) for x in values])
        return outs if len(outs) > 1 else outs[0]

    @staticmethod
    def backward(ctx: Any, *bars: Tensor | None) -> Any:
        _ = ctx.saved_tensors  # raises where one was written to since
        form, leaves, values = ctx.form, ctx.leaves, ctx.values
        wanted = [at for at, need in enumerate(ctx.needs_input_grad[3:]) if need]
        if modes.current().grad:
            found = _pulled(form, leaves, values, ctx.kept, bars, wanted, create_graph=True)
        else:
            if form.backward is None:
                form.backward = ctx.calls.like(_backward_of(form))
            arrays = [None if x is None else x._value for x in bars]
            found = form.backward(values, ctx.kept, arrays, wanted)
        grads: list[Any] = [None] * len(leaves)
        for at, x in zip(wanted, found, strict=True):
            grads[at] = x if x is None or isinstance(x, Tensor) else of_value(x)
        return (None, None, None, *grads)


def _release(node: Any) -> None:
    """Forget the arrays, too, after a backward pass: a loss that is kept holds no graph."""
    BackwardCFunction._release(node)
    for name in ("kept", "leaves", "values"):
        node.__dict__.pop(name, None)


_class: Any = CompiledFunction._backward_cls
_class._release = _release


def _backward_of(form: Form) -> Callable[..., Any]:
    """The backward of a form as a function of arrays, which reads nothing else."""

    def backward(values: Any, kept: Any, bars: Any, wanted: list[int]) -> Any:
        leaves = [of_value(x, LEAF if at in wanted else None) for at, x in enumerate(values)]
        given = [None if x is None else of_value(x) for x in bars]
        found = _pulled(form, leaves, values, kept, given, wanted)
        return [None if x is None else x._value for x in found]

    # Their code is looked at, as that of other functions is.
    made: Any = backward
    custom = {kind for kind, _, own in form.entries if own}
    made.__wrapped__ = tuple([getattr(kind, "_forward_cls", None) for kind in custom])
    return backward


def _pulled(
    form: Form,
    leaves: Any,
    values: Any,
    kept: Any,
    bars: Any,
    wanted: list[int],
    *,
    create_graph: bool = False,
) -> list[Any]:
    """The gradients of the leaves at some positions, from those of the results with a node."""
    nodes = form.graph(leaves, values, kept)
    numbers = [at for at in form.results if at is not None and at >= 0]
    pairs = [(nodes[at], bar) for at, bar in zip(numbers, bars, strict=True) if bar is not None]
    outs = [of_value(bar._value, node) for node, bar in pairs]
    inputs = [leaves[at] for at in wanted]
    given = [bar for _, bar in pairs]
    return list(grad(outs, inputs, given, create_graph=create_graph, allow_unused=True))


class Compiled:
    """A function of tensors, whose calls run as programs."""

    def __init__(self, f: Callable[..., Any], backend: str, *, fullgraph: bool) -> None:
        self.f, self.backend, self.fullgraph = f, backend, fullgraph
        self.calls = self.like(_Joint(f))
        # Whether programs are faster, of modules that take as long as a call; None: they are.
        self.turns = _Turns() if backend == "auto" and not fullgraph else None
        for name in ("__module__", "__name__", "__qualname__", "__doc__"):
            if hasattr(f, name):
                setattr(self, name, getattr(f, name))
        self.__wrapped__ = self._torchdynamo_orig_callable = f

    def like(self, f: Callable[..., Any]) -> Any:
        """The calls of a function with the same options."""
        from tapegrad._compile.calls import Calls  # here, as few programs need it

        return Calls(f, self.backend, 0, alerts=self.fullgraph)

    def __get__(self, instance: Any, kind: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __reduce__(self) -> Any:
        return _made_again, (self.f, self.backend, self.fullgraph)

    def __repr__(self) -> str:
        return f"<torch.compile of {self.f!r}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if CURRENT.get() is not None or RECORDING.get() is not None:
            return self.f(*args, **kwargs)
        turns = self.turns
        if turns is None or not modes.is_logging():
            return self._called(args, kwargs)[0]
        if turns.is_own():
            return turns.own(self.f, args, kwargs)
        start = perf_counter()
        out, has_node = self._called(args, kwargs)
        if has_node and self._is_settled():
            turns.programs.append(perf_counter() - start)
            if turns.are_faster():
                self.turns = None
        return out

    def _is_settled(self) -> bool:
        """Whether it is known what runs the programs: no machine code is to come."""
        calls = self.calls.functional or self.calls
        made = [x for x in [*calls.programs.values()] if x.runner is not None]
        return all(x.is_final and x.trial is None for x in made)

    def _called(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, bool]:
        """The result of a call, and whether a program has made it, and its node."""
        stand_ins: dict[int, Tensor] = {}  # leaves for the arguments that have a history
        structure: Any = None
        leaves, tensors = list[Any](), list(args)
        if kwargs or not all(type(x) is Tensor and not _has_node(x) for x in args):  # are rarer
            leaves, structure = flatten((args, kwargs))
            tensors = [x for x in leaves if isinstance(x, Tensor)]
            computed = [x for x in tensors if _has_node(x)]
            # A pass inside runs hooks of an argument, and fills `grad` where that is retained.
            if modes.is_logging() and not any(x.node._watched for x in computed):
                stand_ins = {id(x): stand_in(x.detach().requires_grad_()) for x in computed}
        if stand_ins:
            inner, named = unflatten(structure, [stand_ins.get(id(x), x) for x in leaves])
            with setting(_GIVEN, (args, kwargs)):
                found = self.calls(*inner, **named)
        else:
            found = self.calls(*args, **kwargs)
        return self._closed(found, tensors) if type(found) is _Apart else (found.out, False)

    def _closed(self, apart: _Apart, given: list[Tensor]) -> tuple[Any, bool]:
        """The result of a program, with tensors of one node."""
        form = apart.form
        if form.is_plain:
            return apart.out, False
        results, structure = flatten(apart.out)
        for at, number in enumerate(form.results):
            if number is not None and number < 0:
                results[at] = given[-1 - number]
        places = [at for at, x in enumerate(form.results) if x is not None and x >= 0]
        if places:
            values = [results[at] for at in places]
            made = CompiledFunction.apply(self, apart, values, *form.leaves_of(given))
            for at, x in zip(places, made if len(places) > 1 else (made,), strict=True):
                results[at] = x
        return unflatten(structure, results), bool(places)


class _Turns:
    """Calls by programs, and by the function itself, timed until it is known which are faster.

    `Calls` measures what a program gains. A node and the look at its leaves cost some 30 us more.
    """

    COUNT = 8  # of either kind

    def __init__(self) -> None:
        self.programs: list[float] = []  # seconds of each
        self.others: list[float] = []

    def is_own(self) -> bool:
        """Whether the function itself makes this call."""
        return len(self.programs) >= self.COUNT

    def own(self, f: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """A call of the function itself."""
        if len(self.others) == self.COUNT:
            return f(*args, **kwargs)
        start = perf_counter()
        out = f(*args, **kwargs)
        self.others.append(perf_counter() - start)
        if len(self.others) == self.COUNT and min(self.others) > FASTER * min(self.programs):
            self.programs.clear()  # the next calls are programs'
        return out

    def are_faster(self) -> bool:
        """Whether programs have been found to be faster."""
        return len(self.others) == self.COUNT


def _made_again(f: Callable[..., Any], backend: str, fullgraph: bool) -> Compiled:
    return Compiled(f, backend, fullgraph=fullgraph)


class OptimizedModule(Module):
    """A module whose calls run as programs, as `torch.compile(module)` makes it.

    Its parameters, settings and attributes are those of the module, `_orig_mod`.

    >>> model = torch.compile(torch.nn.Linear(2, 3))
    >>> type(model).__name__, type(model._orig_mod).__name__, model.in_features
    ('OptimizedModule', 'Linear', 2)
    """

    _orig_mod: Module

    def __init__(self, module: Module, compiled: Callable[..., Any]) -> None:
        super().__init__()
        del self.training
        self.forward = compiled
        self._orig_mod = module

    def __getattr__(self, name: str) -> Any:
        module = self.__dict__["_modules"].get("_orig_mod")
        return module if name == "_orig_mod" else getattr(module, name)

    def __setattr__(self, name: str, value: Any) -> None:
        module = self.__dict__.get("_modules", {}).get("_orig_mod")
        if module is None:
            super().__setattr__(name, value)
        else:
            setattr(module, name, value)

    def __delattr__(self, name: str) -> None:
        module = self.__dict__["_modules"].get("_orig_mod")
        if module is None:
            super().__delattr__(name)
        else:
            delattr(module, name)


_BACKENDS = {
    "inductor": "auto",
    "eager": "eager",
    "aot_eager": "eager",
    **{name: name for name in ("auto", "llvm", "numpy")},
}


@register("compile", method=False)
def compile_model(
    model: Callable[..., Any] | None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable[..., Any] = "inductor",
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    disable: bool = False,
    name: str | None = None,
) -> Any:
    """A module or function whose calls run as programs, with the results of the eager calls.

    The first calls are recorded, later ones run as NumPy's calls, or as machine code with the
    extra `fast`, as `tapegrad.compile` says. Results have one node, `CompiledFunctionBackward`,
    whose backward is a program too. A whole training step, with `backward()` and the optimizer's
    step in it, is fastest. Results share no memory with each other.

    model (Module or callable): What is compiled; without it a decorator is returned.
    fullgraph: Raise EagerWarning where a call would run as it is, in the place of a warning.
    dynamic (bool): Ignored: each shape has a program.
    backend (str): "inductor" or "auto": machine code where it is faster, once it is built;
        "llvm": machine code at once; "numpy": programs of NumPy's calls; "eager", "aot_eager":
        the model as it is.
    mode (str): Ignored, as are `options` and `name`.
    options (dict): Ignored.
    disable: Return the model itself.
    name (str): Ignored.
    -> OptimizedModule or callable: The compiled model, over the same parameters, or the decorator.
    RuntimeError: For another backend; for "llvm" without the extra.
    EagerWarning: Once for a function that cannot be a program, with the reason.

    >>> square = torch.compile(lambda x: (x * x).sum(), backend="numpy")
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> torch.autograd.grad(square(x), x)
    (tensor([2., 4.]),)
    """
    if model is None:
        known: Any = {"fullgraph": fullgraph, "backend": backend, "disable": disable}
        return lambda f: compile_model(f, **known)
    chosen = _BACKENDS.get(backend) if isinstance(backend, str) else None
    if chosen is None:
        raise RuntimeError(
            f"invalid backend {backend!r}: there is no compiler to hand a graph to. Backends are "
            f"{', '.join(_BACKENDS)}"
        )
    if not callable(model):
        raise RuntimeError(f"torch.compile expects a module or a function, got {model!r}")
    if disable or chosen == "eager":
        return model
    given: Any = model
    if isinstance(given, OptimizedModule):
        given = given._orig_mod
    if chosen == "llvm":
        from tapegrad._compile.background import require_llvm

        require_llvm()
    made = Compiled(given, chosen, fullgraph=fullgraph)
    return OptimizedModule(given, made) if isinstance(given, Module) else made


@method_of(Module, "compile")
def _compile_in_place(self: Module, *args: Any, **kwargs: Any) -> None:
    """Let calls of this module run as programs: see `torch.compile`.

    *args: Options of `torch.compile`.
    **kwargs: Options of `torch.compile`.
    """
    forward = self.__dict__.get("forward")
    plain = getattr(forward, "f", None) or self.forward
    self.__dict__["forward"] = compile_model(plain, *args, **kwargs)


__all__ = ["OptimizedModule"]
