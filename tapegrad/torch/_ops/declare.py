"""How an operation on tensors is made of a function of arrays.

Knows tensors, views and nodes. Must not know what operations exist.

An operation is written once, as a function of NumPy arrays with PyTorch's parameters:

    @operation("CosBackward0")
    def cos(input): return np.cos(input)

It then takes tensors, logs itself, names its node, and becomes a method of Tensor. Where the
arrays are traced by a functional transform the same code runs under that transform.
"""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad._core.entry import PROJECT
from tapegrad._core.values import Traced
from tapegrad._warning import warn
from tapegrad.torch._dims import clash_of
from tapegrad.torch._dtypes import can_store, word_of
from tapegrad.torch._graph import modes
from tapegrad.torch._graph.dual import is_above, tangent_of
from tapegrad.torch._graph.node import Node, is_on_graph, made_since, node_class
from tapegrad.torch._graph.order import next_number
from tapegrad.torch._graph.versions import count_write, owner_of
from tapegrad.torch._tensor.tensor import Tensor, array_of, ndarray, of_array, of_value
from tapegrad.torch._tensor.views import _link_views
from tapegrad.torch._tensor.writes import overwrite, write

# The operations by name: what `torch.<name>` is.
OPERATIONS: dict[str, Callable[..., Any]] = {}

# NumPy's words for parameters, where PyTorch takes them too.
SPELLINGS = {"axis": "dim", "keepdims": "keepdim", "x": "input", "x1": "input", "x2": "other"}


def as_arrays(value: Any) -> Any:
    """Tensors as arrays, also in lists, tuples and dicts."""
    if isinstance(value, Tensor):
        return array_of(value)
    if type(value) in (list, tuple):
        return type(value)([as_arrays(part) for part in value])
    return value


def as_tensors(value: Any) -> Any:
    """Arrays as tensors, also in tuples, named ones too, and lists."""
    if isinstance(value, (tuple, list)):
        parts = [as_tensors(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if isinstance(value, (Traced, np.ndarray, np.generic)) or hasattr(value, "__array_function__"):
        return of_array(value)
    return value


# The name of a node, or what tells it from the arguments: SumBackward1 where there is a dim.
Label = str | Callable[..., str]
Operation = Callable[..., Any]


def operation(
    backward: Label,
    *,
    view: bool = False,
    several: bool = False,
    inplace: bool = False,
    method: bool = True,
    function: bool = True,
    name: str | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make an operation on tensors of a function of arrays, and register it.

    backward: the name of its node. view: PyTorch returns a view of the first argument where it
    can. several: it returns several views, which must not be written to. inplace: there is a
    method with an underscore that writes the result into the first argument. method, function:
    whether `Tensor` and `torch` have it.
    """

    def decorate(compute: Callable[..., Any]) -> Callable[..., Any]:
        fixed = node_class(backward) if isinstance(backward, str) else None
        evaluate = _as_pytorch_does(compute)
        spellings = _spellings_of(compute)

        @functools.wraps(compute)
        def call(*args: Any, **kwargs: Any) -> Any:
            out = kwargs.pop("out", None)
            if kwargs and not spellings.keys().isdisjoint(kwargs):
                kwargs = {spellings.get(word, word): value for word, value in kwargs.items()}
            mode = modes.MODE.get()
            if mode is not None and mode.watchers:
                for watcher in mode.watchers:
                    watcher(call.__name__, args)
            start = next_number() if mode is not None else 0
            arrays = [as_arrays(arg) for arg in args]
            params = {word: as_arrays(value) for word, value in kwargs.items()}
            result = evaluate(*arrays, **params)
            source = args[0] if args else kwargs.get("input")
            label = fixed or class_for(backward, args, kwargs)
            made = finish(result, source, label, view or several)
            if view or several:
                rest, words = arrays[1:], {k: v for k, v in params.items() if k != "input"}
                _link_views(made, source, lambda base: compute(base, *rest, **words), several)
            if mode is not None:
                tell(mode, start, call.__name__, args, made)
            return made if out is None else deliver(out, made)

        word = name or compute.__name__
        call.__name__ = call.__qualname__ = word
        call.compute = compute  # type: ignore[attr-defined]
        if function:
            OPERATIONS[word] = call
        if method:
            setattr(Tensor, word, call)
        if inplace:
            add_inplace(word, evaluate, backward, spellings)
        return call

    return decorate


def private(
    backward: Label, *, view: bool = False, name: str | None = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make an operation that neither `torch.<name>` nor a method is."""
    return operation(backward, view=view, method=False, function=False, name=name)


def _as_pytorch_does(compute: Callable[..., Any]) -> Callable[..., Any]:
    """A function without NumPy's warnings, and with PyTorch's error for shapes that do not fit."""

    @np.errstate(all="ignore")
    def evaluate(*args: Any, **kwargs: Any) -> Any:
        try:
            return compute(*args, **kwargs)
        except ValueError as error:
            if "broadcast" not in str(error):
                raise
            raise _mismatch(error, [*args, *kwargs.values()]) from None

    return evaluate


def _mismatch(error: ValueError, arguments: list[Any]) -> RuntimeError:
    """PyTorch's error for the shapes of arguments that NumPy does not stretch to each other."""
    shapes = [x.shape for x in arguments if isinstance(getattr(x, "shape", None), tuple)]
    for first, second in itertools.combinations(shapes, 2):
        found = clash_of(first, second)
        if found is not None:
            return found
    return RuntimeError(str(error))


def add_inplace(
    word: str, compute: Callable[..., Any], backward: Label, spellings: dict[str, str]
) -> None:
    """Give Tensor, and torch, the operation `word_`, which writes into its first argument."""

    def call(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if kwargs and not spellings.keys().isdisjoint(kwargs):
            kwargs = {spellings.get(name, name): value for name, value in kwargs.items()}
        arrays = [as_arrays(arg) for arg in args]
        params = {name: as_arrays(value) for name, value in kwargs.items()}
        sources = [arg for arg in (*args, *kwargs.values()) if isinstance(arg, Tensor)]
        label = class_for(backward, (self, *args), kwargs).__name__
        mode = modes.MODE.get()
        start = next_number() if mode is not None else 0
        write(self, lambda array: compute(array, *arrays, **params), label, sources)
        if mode is not None:
            tell(mode, start, call.__name__, args, self)
        return self

    call.__name__ = call.__qualname__ = f"{word}_"
    call.__doc__ = f"`{word}`, written into this tensor's own memory."
    setattr(Tensor, f"{word}_", call)
    OPERATIONS[f"{word}_"] = call


def class_for(backward: Label, args: tuple[Any, ...], kwargs: dict[str, Any]) -> type[Node]:
    """The class of the node of a call."""
    return node_class(backward if isinstance(backward, str) else backward(*args, **kwargs))


def tell(mode: modes.Mode, start: int, name: str, args: Any, made: Any) -> None:
    """Tell anomaly mode, and the hooks of saved tensors, of a call that has been logged.

    start: a number from before the call; the nodes of later ones are the call's.
    """
    if mode.anomaly is None and not mode.saved:
        return
    parts = made if isinstance(made, (tuple, list)) else (made,)
    tensors = [part for part in parts if isinstance(part, Tensor)]
    tensors += [part._base for part in tensors if part._base is not None]
    nodes = made_since([part.node for part in tensors if isinstance(part.node, Node)], start)
    if mode.anomaly is not None:
        mode.anomaly.note(name, args, made, nodes)
    if mode.saved:
        for node in nodes:
            mode.saved[-1].pack(node)


def _spellings_of(compute: Callable[..., Any]) -> dict[str, str]:
    """NumPy's words for the parameters of a function that has PyTorch's."""
    names = inspect.signature(compute).parameters
    return {word: mine for word, mine in SPELLINGS.items() if mine in names and word not in names}


def finish(result: Any, source: Any, label: type[Node], view: bool) -> Any:
    """The tensors of a result, with their node named; memory of their own unless a view."""
    if isinstance(result, (tuple, list)):
        parts = [finish(part, source, label, view) for part in result]
        return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
    if is_above(result):  # a dual tensor's: what it is made of, and its tangent
        made = finish(result.value, source, label, view)
        made._dual = tangent_of(result)
        return made
    if is_on_graph(result):
        node, value = result.slot, result.value
        if isinstance(node, int):
            node = None
        elif isinstance(source, Tensor) and (node is source.node or source._accumulator_is(node)):
            if value is source.value:
                return source  # nothing was done: x.contiguous(), x.to(x.dtype)
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


def _name(node: Any, label: type[Node]) -> None:
    """Name the node of a call, which is the parent of the nodes of several results."""
    if node._entry is not None and node._entry[0] is PROJECT:
        node = node._entry[4]
    if type(node) is not label and type(node).__name__ != "AccumulateGrad":
        node.__class__ = label


def _own(made: Tensor, source: Tensor) -> None:
    """Copy a result that NumPy left in the memory of its argument."""
    value, whole = made.value, source.value
    if type(value) is not ndarray or type(whole) is not ndarray:
        return
    if value is whole or (value.base is not None and owner_of(value) is owner_of(whole)):
        made.value = value.copy()


def deliver(out: Any, made: Any) -> Any:
    """Write results into `out=`, as PyTorch does: nothing may require grad."""
    if isinstance(out, (tuple, list)):
        return (
            type(made)(*map(deliver, out, made))
            if hasattr(made, "_fields")
            else tuple(map(deliver, out, made))
        )
    if made.node is not None or out.node is not None:
        raise RuntimeError(
            "functions with out=... arguments don't support automatic differentiation, but one of "
            "the arguments requires grad."
        )
    if not can_store(made.value.dtype, out.value.dtype):
        raise RuntimeError(
            f"result type {word_of(made.value.dtype)} can't be cast to the desired output type "
            f"{word_of(out.value.dtype)}"
        )
    if out.value.shape != made.value.shape:
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
            f"{list(made.shape)}. Pass a tensor of that shape, or an empty one.",
        )
    out.value = made.value.astype(out.value.dtype)
    count_write(out)


# --- Views --------------------------------------------------------------------------------------


def alias(word: str, *others: str) -> None:
    """Give an operation, its method and the one in place further names."""
    for other in others:
        OPERATIONS[other] = OPERATIONS[word]
        setattr(Tensor, other, getattr(Tensor, word))
        if f"{word}_" in OPERATIONS:
            OPERATIONS[f"{other}_"] = OPERATIONS[f"{word}_"]
            setattr(Tensor, f"{other}_", getattr(Tensor, f"{word}_"))


def _install(word: str, call: Operation, general: Operation) -> Operation:
    call.__name__ = call.__qualname__ = word
    call.__doc__ = general.__doc__
    call.compute = general.compute  # type: ignore[attr-defined]
    OPERATIONS[word] = call
    setattr(Tensor, word, call)
    return call


def offered(
    *words: str, function: bool = True, method: bool = True, plain: bool = False
) -> Callable[[Operation], Operation]:
    """Let torch and Tensor have a function of tensors, under its own name and others.

    plain: it has no parameters that NumPy has other words for.
    """

    def decorate(call: Operation) -> Operation:
        known = call.__code__.co_varnames

        @functools.wraps(call)
        def translated(*args: Any, **kwargs: Any) -> Any:
            if kwargs:
                for word in SPELLINGS.keys() & kwargs.keys():
                    if word not in known:
                        kwargs[SPELLINGS[word]] = kwargs.pop(word)
            return call(*args, **kwargs)

        given = call if plain else translated
        for word in (call.__name__, *words):
            if function:
                OPERATIONS[word] = given
            if method:
                setattr(Tensor, word, given)
        return call

    return decorate


def registered(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function a method of Tensor, and `torch.<its name>`."""
    name = function.__name__
    setattr(Tensor, name, function)
    OPERATIONS[name] = function
    return function


__all__ = ["alias", "offered", "registered"]
