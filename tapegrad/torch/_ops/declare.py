"""How an operation on tensors is made of a function of arrays, and how it gets its names.

Knows tensors, views and nodes. Must not know what operations exist.

An operation is written once, as a function of NumPy arrays with PyTorch's parameters:

    @operation("CosBackward0")
    def cos(input): return np.cos(input)

It then takes tensors, logs itself, names its node, and becomes a method of Tensor. Where the
arrays are traced by a functional transform the same code runs under that transform.

`register` is the only code that gives Tensor attributes and `torch` functions after they are made.
"""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable, Collection
from types import FunctionType
from typing import Any, TypeVar

import numpy as np

from tapegrad._core.entry import PROJECT
from tapegrad._core.quiet import silence
from tapegrad._core.types import Function, Params, Slot, Tree
from tapegrad._core.values import Traced, raw_value
from tapegrad._warning import warn
from tapegrad.torch._dims import clash_of
from tapegrad.torch._docstrings.sections import completed, in_place
from tapegrad.torch._dtypes import BRAINS, can_store, word_of
from tapegrad.torch._formats import laid_out
from tapegrad.torch._graph import modes
from tapegrad.torch._graph.node import Node, is_on_graph, made_since, node_class
from tapegrad.torch._graph.order import next_number
from tapegrad.torch._graph.tracing import is_above, is_differentiated, is_dual, tangent_of
from tapegrad.torch._graph.versions import count_write, owner_of
from tapegrad.torch._ops.call_plans import planning
from tapegrad.torch._ops.making import replace_value
from tapegrad.torch._rules.bfloat16 import concerns, in_single
from tapegrad.torch._tensor.short_writes import store_result
from tapegrad.torch._tensor.tensor import Tensor, array_of, ndarray, of_array, of_value
from tapegrad.torch._tensor.views import _link_views
from tapegrad.torch._tensor.writes import overwrite, require_apart, write
from tapegrad.torch._types import TensorLike

# The operations by name: what `torch.<name>` is.
OPERATIONS: dict[str, Callable[..., Any]] = {}

# The module that declares each: ORIGINS["Tensor.sum"], ORIGINS["torch.sum"].
ORIGINS: dict[str, str] = {}

# NumPy's words for parameters, where PyTorch takes them too.
SPELLINGS = {"axis": "dim", "keepdims": "keepdim", "x": "input", "x1": "input", "x2": "other"}


def as_arrays(value: Tree) -> Tree:
    """Tensors as arrays, also in lists, tuples and dicts."""
    if isinstance(value, Tensor):
        return array_of(value)
    if type(value) in (list, tuple):
        return type(value)([as_arrays(part) for part in value])
    return value


def as_tensors(value: Tree) -> Tree:
    """Arrays as tensors, also those in lists, tuples and named tuples."""
    if isinstance(value, (tuple, list)):
        parts = [as_tensors(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if isinstance(value, (Traced, np.ndarray, np.generic)) or hasattr(value, "__array_function__"):
        return of_array(value)
    return value


# The name of a node, or a function that returns it for the arguments of a call: SumBackward1
# where there is a dim.
Label = str | Callable[..., str]
Operation = Callable[..., Any]
Given = TypeVar("Given")


# --- Names --------------------------------------------------------------------------------------


def register(
    *names: str,
    method: bool = True,
    function: bool = True,
    replaces: Operation | None = None,
    numpy_words: bool = False,
    module: str | None = None,
) -> Callable[[Given], Given]:
    """Add what is decorated to Tensor and to `torch`, under these names or else under its own.

    method, function: whether `Tensor` and `torch` have it. replaces: the operation that has the
    name so far, of which this is the short path; it takes over that one's docstring. numpy_words:
    keywords may be NumPy's, `axis` for `dim`. module: where it is declared, if what is decorated
    does not tell. RuntimeError for a name that anything else has.
    """

    def decorate(made: Given) -> Given:
        given: Any = made
        if replaces is not None:
            _take_place(given, replaces)
        if isinstance(given, FunctionType):
            word = names[0] if names else given.__name__
            given.__doc__ = completed(given, word=word if function else "")
        if numpy_words:
            given = with_numpy_words(given)
        origin = module or _module_of(given)
        for name in names or (given.__name__,):
            if method:
                _claim(f"Tensor.{name}", vars(Tensor).get(name), replaces, origin)
                setattr(Tensor, name, given)
            if function:
                _claim(f"torch.{name}", OPERATIONS.get(name), replaces, origin)
                OPERATIONS[name] = given
        return made

    return decorate


def _claim(key: str, known: object, replaces: Operation | None, origin: str) -> None:
    """Record which module declares a name; RuntimeError where something else has it."""
    if known is not None and known is not replaces:
        raise RuntimeError(
            f"register: {key} of {origin} is declared already, by "
            f"{ORIGINS.get(key, 'the class itself')}. Choose another name, or pass "
            "replaces=<the operation that has it> if that is meant."
        )
    ORIGINS[key] = origin


def _module_of(given: Any) -> str:
    module: str = (given.fget if isinstance(given, property) else given).__module__
    return module


def _take_place(call: Operation, general: Operation) -> None:
    """Give a short path the name, docstring, module and signature of the operation it replaces."""
    call.__name__ = call.__qualname__ = general.__name__
    call.__doc__, call.__module__ = general.__doc__, general.__module__
    call.__wrapped__ = general  # type: ignore[attr-defined]


def with_numpy_words(call: Operation, spellings: dict[str, str] | None = None) -> Operation:
    """A function that also takes NumPy's words for its parameters.

    spellings: its own words for them, where these are known.
    """
    own = _spellings_of(call) if spellings is None else spellings

    @functools.wraps(call)
    def translated(*args: Any, **kwargs: Any) -> Any:
        return call(*args, **{own.get(word, word): value for word, value in kwargs.items()})

    return translated


def alias(word: str, *others: str) -> None:
    """Register an operation, and the one in place, under further names."""
    for end in ("", "_"):
        call = OPERATIONS.get(f"{word}{end}")
        if call is not None:
            register(*(f"{other}{end}" for other in others))(call)


# --- Operations ---------------------------------------------------------------------------------


def operation(
    backward: Label,
    *,
    view: bool = False,
    several: bool = False,
    inplace: bool = False,
    method: bool = True,
    function: bool = True,
    name: str | None = None,
    exact: bool = False,
    planned: bool = False,
    first: str = "",
    order: str = "",
) -> Callable[[Function], Function]:
    """Make an operation on tensors of a function of arrays, and register it.

    backward: the name of its node. view: PyTorch returns a view of the first argument where it
    can. several: it returns several views, which must not be written to. inplace: there is a
    method with an underscore that writes the result into the first argument. method, function:
    whether `Tensor` and `torch` have it. exact: it takes bfloat16 as it is; others, but for views,
    compute in float32. planned: shapes, dtypes and parameters alone decide what it calls, and it
    refuses no values: see `call_plans`. first: the keywords that PyTorch's deprecated overloads
    take as numbers before the arrays: see `with_numbers_first`. order: of the result in memory, a
    word of `_formats.laid_out`; that of its family unless given.
    """

    def decorate(compute: Function) -> Function:
        if first:
            compute = with_numbers_first(compute, first.split())
        fixed = node_class(backward) if isinstance(backward, str) else None
        word = name or compute.__name__
        if "<locals>" in compute.__qualname__:  # Python's errors of arguments name it
            compute.__name__ = compute.__qualname__ = word
        example = word if function or not method else ""
        compute.__doc__ = completed(compute, view=view, several=several, word=example)
        evaluate = _as_pytorch_does(compute, word, exact=view or several or exact)
        spellings = _spellings_of(compute)
        settled = "" if view or several else order or _order_of(compute.__module__)

        @functools.wraps(compute)
        def call(*args: Any, **kwargs: Any) -> Any:
            out = kwargs.pop("out", None)
            if kwargs and not spellings.keys().isdisjoint(kwargs):
                kwargs = {spellings.get(word, word): value for word, value in kwargs.items()}
            mode = modes.MODE.get()
            start = next_number() if mode is not None else 0
            arrays = [as_arrays(arg) for arg in args]
            params = {word: as_arrays(value) for word, value in kwargs.items()}
            result = evaluate(*arrays, **params)
            source = args[0] if args else kwargs.get("input")
            label = fixed or class_for(backward, args, kwargs)
            made = finish(result, source, label, view or several)
            if (view or several) and isinstance(made, (Tensor, tuple, list)):
                rest, words = arrays[1:], {k: v for k, v in params.items() if k != "input"}
                _link_views(made, source, lambda base: compute(base, *rest, **words), several)
            elif settled:
                _settle(made, source, settled)
            if mode is not None:
                tell(mode, start, call.__name__, args, made, kwargs)
            return made if out is None else deliver(out, made)

        call.__name__ = call.__qualname__ = word
        made: Any = call
        if planned:
            trace: Any = with_numpy_words(evaluate, spellings)
            trace.compute = with_numpy_words(compute, spellings) if spellings else compute
            made = planning(call, trace)
            made.trace = trace
        made.compute = compute
        register(word, method=method, function=function)(made)
        if inplace:
            add_inplace(word, evaluate, backward, spellings)
        return made

    return decorate


_ORDERS = {
    "_ops.elementwise": "",
    "_ops.object": "",
    "nn.loss": "",
    "nn.dropout": "",
    "nn": "suggested",
}


def _order_of(module: str) -> str:
    """The memory order of results of a family: elementwise ones keep NumPy's, which is theirs."""
    room = module.removeprefix("tapegrad.torch.")
    for family, order in _ORDERS.items():
        if room.startswith(family):
            return order
    return "contiguous"


def _settle(made: Tree, source: TensorLike, order: str) -> None:
    """Lay results out in memory as PyTorch does, also in their entries."""
    if isinstance(made, tuple):
        for part in made:
            _settle(part, source, order)
        return
    if isinstance(source, (list, tuple)):
        arrays = [x._value for x in source if isinstance(x, Tensor)]
        if any(type(x) is ndarray and x.flags.c_contiguous for x in arrays):
            order = "contiguous"
        source = source[0] if source else None
    value = made._value if isinstance(made, Tensor) else None
    whole = source._value if isinstance(source, Tensor) else value
    if type(value) is not ndarray or type(whole) is not ndarray:
        return
    if value.flags.c_contiguous and (order == "contiguous" or whole.flags.c_contiguous):
        return
    settled = laid_out(value, whole, order)
    if settled is not value:
        replace_value(made, settled)


def private(
    backward: Label,
    *,
    view: bool = False,
    name: str | None = None,
    exact: bool = False,
    planned: bool = False,
    order: str = "",
) -> Callable[[Function], Function]:
    """Make an operation that is registered neither in `torch` nor as a method."""
    return operation(
        backward,
        view=view,
        method=False,
        function=False,
        name=name,
        exact=exact,
        planned=planned,
        order=order,
    )


_SAID: list[str] = []  # PyTorch warns of one deprecated overload, the first that is called
# Where numbers stand: `torch.addmm(beta, input, alpha, x, y)`, `input.addmm(beta, alpha, x, y)`.
_PLACES: dict[int, list[tuple[int, ...]]] = {1: [(1,)], 2: [(1,), (0,), (1, 2), (0, 2)]}


def with_numbers_first(compute: Function, words: list[str]) -> Function:
    """A function that also takes PyTorch's deprecated overloads: `input.addcmul(value, x, y)`.

    words: the keywords whose values stand before the arrays, of which the last may be left out.
    """
    parameters = inspect.signature(compute).parameters.values()
    arrays = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]

    @functools.wraps(compute)
    def either(*args: Any, **kwargs: Any) -> Any:
        if len(args) > len(arrays):
            numbers = [i for i, x in enumerate(args) if isinstance(x, (int, float, complex))]
            if (
                len(args) - len(numbers) == len(arrays)
                and tuple(numbers) in _PLACES[len(words)]
                and kwargs.keys().isdisjoint(words)
            ):
                kwargs |= dict(zip(words, (args[i] for i in numbers), strict=False))
                args = tuple(x for i, x in enumerate(args) if i not in numbers)
                _say_deprecated(compute.__name__, words[: len(numbers)], words, arrays[1:])
        return compute(*args, **kwargs)

    return either


def _say_deprecated(word: str, given: list[str], words: list[str], arrays: list[str]) -> None:
    if _SAID:
        return
    _SAID.append(word)
    tensors = [f"Tensor {name}" for name in arrays]
    before = ", ".join([*(f"Number {name}" for name in given), *tensors])
    after = ", ".join([*tensors, "*", *(f"Number {name} = 1" for name in words)])
    warn(
        f"This overload of {word} is deprecated:\n\t{word}({before})\nConsider using one of the "
        f"following signatures instead:\n\t{word}({after})"
    )


def _as_pytorch_does(compute: Function, word: str, *, exact: bool) -> Function:
    """A function without NumPy's warnings, and with PyTorch's error for shapes that do not fit."""

    @silence()
    @functools.wraps(compute)
    def evaluate(*args: Any, **kwargs: Any) -> Any:
        try:
            if BRAINS and not exact and concerns(args, kwargs):
                return in_single(compute, word, args, kwargs)
            return compute(*args, **kwargs)
        except ValueError as error:
            if "broadcast" not in str(error):
                raise
            raise _mismatch(error, [*args, *kwargs.values()]) from None
        except AttributeError as error:
            raise _no_tensor(compute, args, kwargs, error) from None

    return evaluate


def _no_tensor(compute: Function, args: Any, kwargs: Params, error: AttributeError) -> Exception:
    """PyTorch's error where the attribute that was missed is one of arrays."""
    bound = [*zip(inspect.signature(compute).parameters, args, strict=False), *kwargs.items()]
    for place, (name, value) in enumerate(bound, 1):
        parts = enumerate(value) if isinstance(value, (list, tuple)) else ()
        for number, part in parts:
            kind = type(part).__name__
            if str(error).startswith(f"'{kind}' object has no attribute"):
                return TypeError(
                    f"expected Tensor as element {number} in argument {place - 1}, but got {kind}"
                )
        kind = type(value).__name__
        if str(error).startswith(f"'{kind}' object has no attribute") and kind != "ndarray":
            word = compute.__name__.removeprefix("_")
            return TypeError(
                f"{word}(): argument '{name}' (position {place}) must be Tensor, not {kind}"
            )
    return error


def _mismatch(error: ValueError, arguments: list[Any]) -> RuntimeError:
    """PyTorch's error for arguments whose shapes do not broadcast."""
    shapes = [x.shape for x in arguments if isinstance(getattr(x, "shape", None), tuple)]
    for first, second in itertools.combinations(shapes, 2):
        found = clash_of(first, second)
        if found is not None:
            return found
    return RuntimeError(str(error))


def add_inplace(
    word: str,
    compute: Function,
    backward: Label,
    spellings: dict[str, str],
    *,
    method: bool = True,
    operation: Operation | None = None,
) -> None:
    """Register the operation `word_`, which writes into its first argument.

    operation: the same without the write; that which is registered as `word` unless given.
    """
    elementwise = "elementwise" in compute.__module__
    fixed = node_class(backward) if isinstance(backward, str) else None
    known = OPERATIONS if operation is None else {word: operation}

    def call(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        short = known.get(word)
        if short is not None:
            kind = fixed or class_for(backward, (self, *args), kwargs)
            if store_result(self, short, args, kwargs, kind):
                return self
        if kwargs and not spellings.keys().isdisjoint(kwargs):
            kwargs = {spellings.get(name, name): value for name, value in kwargs.items()}
        arrays = [as_arrays(arg) for arg in args]
        params = {name: as_arrays(value) for name, value in kwargs.items()}
        sources = [arg for arg in (*args, *kwargs.values()) if isinstance(arg, Tensor)]
        label = class_for(backward, (self, *args), kwargs).__name__
        if sources and elementwise:
            require_apart(self, sources, label)
        mode = modes.MODE.get()
        start = begin_write(mode, self) if mode is not None else 0
        write(self, lambda array: compute(array, *arrays, **params), label, sources)
        if mode is not None:
            tell(mode, start, call.__name__, (self, *args), self, kwargs)
        return self

    call.__name__ = call.__qualname__ = f"{word}_"
    call.__doc__ = in_place(word, compute.__doc__)
    call.__module__ = compute.__module__
    call.__wrapped__ = compute  # type: ignore[attr-defined] # has the parameters
    register(f"{word}_", method=method)(call)


def by_tensor(word: str, place: int, name: str) -> Label:
    """`FmodBackward1` where the argument at a place, or of a name, is a tensor, else 0."""

    def label(*args: Any, **words: Any) -> str:
        given = args[place] if len(args) > place else words.get(name)
        return f"{word}Backward{int(isinstance(given, Tensor))}"

    return label


def class_for(backward: Label, args: tuple[Any, ...], kwargs: Params) -> type[Node]:
    """The class of the node of a call."""
    return node_class(backward if isinstance(backward, str) else backward(*args, **kwargs))


def begin_write(mode: modes.Mode, tensor: Tensor) -> int:
    """Tell anomaly mode that a tensor is about to be written; the node number for `tell`."""
    if mode.anomaly is not None:
        mode.anomaly.begin_write(tensor)
    return next_number()


def tell(
    mode: modes.Mode, start: int, name: str, args: Any, made: Tree, kwargs: Params | None = None
) -> None:
    """Tell watchers, anomaly mode and the hooks of saved tensors of a call.

    start: a node number from before the call; nodes with later numbers belong to the call.
    """
    for watcher in mode.watchers:
        watcher.called(name, args, kwargs or {}, made, start)
    if mode.anomaly is None and not mode.saved:
        return
    parts = made if isinstance(made, (tuple, list)) else (made,)
    tensors = [part for part in parts if isinstance(part, Tensor)]
    tensors += [part._base for part in tensors if part._base is not None]
    nodes = made_since([part.node for part in tensors if isinstance(part.node, Node)], start)
    if mode.anomaly is not None:
        given = [arg for arg in args if arg is not made]  # a written one is another now
        mode.anomaly.note(name, given, made, nodes)
    if mode.saved:
        for node in nodes:
            mode.saved[-1].pack(node)


def _spellings_of(compute: Function) -> dict[str, str]:
    """NumPy's words for the parameters of a function that has PyTorch's."""
    code = getattr(compute, "__code__", None)
    names: Collection[str]
    if code is None or "__wrapped__" in vars(compute) or "__signature__" in vars(compute):
        names = inspect.signature(compute).parameters
    else:  # a tenth of the time
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return {word: mine for word, mine in SPELLINGS.items() if mine in names and word not in names}


def finish(result: Tree, source: TensorLike, label: type[Node], view: bool) -> Tree:
    """Make tensors of a result and name their node.

    view: whether they may share the memory of the source; else what does is copied.
    """
    if isinstance(result, (tuple, list)):
        parts = [finish(part, source, label, view) for part in result]
        return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
    if is_above(result):  # a dual value: its primal, then its tangent
        made = finish(result._value, source, label, view)
        made._dual = tangent_of(result)
        return made
    if is_on_graph(result):
        node, value = result.slot, result._value
        if isinstance(node, int):
            node = None
        elif isinstance(source, Tensor) and (node is source.node or source._accumulator_is(node)):
            if value is source._value:
                return source  # the operation returned its argument, as conj of real numbers
        else:
            _name(node, label)
        made = of_value(value, node)
    elif isinstance(result, (Traced, np.ndarray, np.generic)) or hasattr(
        result, "__array_function__"
    ):
        made = of_value(result)
    else:
        return result
    if not view and isinstance(source, Tensor):
        _own(made, source)
    return made


def _name(node: Slot, label: type[Node]) -> None:
    """Name the node of a call. Where the call has several results, that is their nodes' parent."""
    if node._entry is not None and node._entry[0] is PROJECT:
        node = node._entry[4]
    if type(node) is not label and type(node).__name__ != "AccumulateGrad":
        node.__class__ = label


def _own(made: Tensor, source: Tensor) -> None:
    """Copy a result that NumPy left in the memory of its argument, in a trace as elsewhere."""
    value, whole = made._value, source._value
    if type(value) is not ndarray or type(whole) is not ndarray:
        value, whole = raw_value(value), raw_value(whole)
    if type(value) is not ndarray or type(whole) is not ndarray:
        return
    if value is whole or (value.base is not None and owner_of(value) is owner_of(whole)):
        made._value = made._value.copy()


def deliver(out: Tree, made: Tree) -> Tree:
    """Write results into `out=`, as PyTorch does: nothing may require grad."""
    if isinstance(out, (tuple, list)):
        return (
            type(made)(*map(deliver, out, made))
            if hasattr(made, "_fields")
            else tuple(map(deliver, out, made))
        )
    values = made._value, out._value
    if made.node is not None or out.node is not None or any(map(is_differentiated, values)):
        raise RuntimeError(
            "functions with out=... arguments don't support automatic differentiation, but one of "
            "the arguments requires grad."
        )
    if any(is_dual(value) or is_differentiated(value, forward=True) for value in values):
        raise NotImplementedError(
            "Trying to use forward AD with a function that does not support it because it is an "
            "out= function"
        )
    if not can_store(made._value.dtype, out._value.dtype):
        raise RuntimeError(
            f"result type {word_of(made._value.dtype)} can't be cast to the desired output type "
            f"{word_of(out._value.dtype)}"
        )
    if out._value.shape != made._value.shape:
        _resize(out, made)
    else:
        overwrite(out, made)
    return out


def _resize(out: Tensor, made: Tensor) -> None:
    """Give `out` the shape of a result, with memory of its own."""
    if out.numel():
        warn(
            "An output with one or more elements was resized since it had shape "
            f"{list(out.shape)}, which does not match the required output shape "
            f"{list(made.shape)}. Pass a tensor of that shape, or an empty one."
        )
    out._value = made._value.astype(out._value.dtype)
    count_write(out)
