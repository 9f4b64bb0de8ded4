"""Tensors in compiled functions: how they are opened and made, and what calls depend on besides.

Knows tensors, modes and modules. Must not know how calls are recorded, nor how programs run.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np

from tapegrad._block import contextmanager
from tapegrad._core.recorded import RECORDING
from tapegrad._core.types import Value
from tapegrad._core.values import is_plain_array
from tapegrad._program.containers import (
    CONTAINERS,
    FOLLOWED,
    NOTING,
    STATES,
    Container,
    Followed,
)
from tapegrad._program.recorded import Recorded
from tapegrad._program.recorder import NotRecordableError
from tapegrad.torch._dtypes import default_float
from tapegrad.torch._graph import modes
from tapegrad.torch._graph.node import GUARD, new
from tapegrad.torch._graph.versions import count_write
from tapegrad.torch._tensor.tensor import LEAF, Tensor, plain_of
from tapegrad.torch.autograd.forward_ad import LEVEL
from tapegrad.torch.nn.module.global_hooks import CALLS
from tapegrad.torch.nn.module.module import Module
from tapegrad.torch.nn.parameter import Parameter

# Attributes that a tensor may have besides its array, and a function does not read.
_PLAIN = frozenset(
    (
        "_accumulator",
        "_attr_version",
        "_base",
        "_creation_meta",
        "_entered",
        "_inference",
        "_is_argument",
        "_memory",
        "_of_call",
        "_stands_in",
        "_version_of",
        "_view_fn",
        "_views",
    )
)


def _open(tensor: Tensor) -> tuple[Value, Any] | None:
    """The array of a constant or a leaf, and whether it requires grad, and is of inference."""
    node, value = tensor.node, tensor._value
    if node is not None and node is not LEAF:
        return None
    if value.dtype.kind not in "biufc" or not is_plain_array(value):
        return None
    own = tensor.__dict__
    if own:
        if not own.keys() <= _PLAIN:
            return None
        if "_stands_in" in own:
            return value, (True, tensor._inference, True)
    return value, (node is LEAF, tensor._inference)


RETURNS_LEAF = "it leaves a tensor that requires grad, and that it has not made itself"


def stand_in(leaf: Tensor) -> Tensor:
    """A leaf that stands for an argument with a history, while calls are recorded."""
    leaf.__dict__["_stands_in"] = True
    return leaf


def _maker(kind: type[Tensor]) -> Any:
    def make(rest: Any, array: Value) -> Tensor:
        requires_grad, inference, *stands_in = rest
        made: Tensor = new(kind)
        made._value = array if isinstance(array, np.ndarray) else np.asarray(array)
        made.node = LEAF if requires_grad else None
        if inference:
            made._inference = True
        if issubclass(type(array), Recorded):
            made._of_call = True
        if stands_in:
            stand_in(made)
        return made

    return make


def is_from_outside(leaf: Tensor) -> bool:
    """Whether a leaf was there before the recorded call: one made in it holds what it computes."""
    recording = RECORDING.get()
    holders = frozenset() if recording is None else recording.holders
    return leaf._of_call or id(leaf) in holders or not issubclass(type(leaf._value), Recorded)


def _refusal(tensor: Tensor) -> str | None:
    if tensor.node is not None and tensor.node is not LEAF:
        return (
            "it leaves a tensor that has a grad_fn: call backward() inside, return "
            "torch.autograd.grad(...), or pass tensors that do not require grad"
        )
    if tensor.__dict__.get("_grad") is not None:
        return "it fills `grad` of a tensor: return torch.autograd.grad(...)"
    if _open(tensor) is None:
        return "it leaves a tensor with attributes"
    return RETURNS_LEAF if tensor.node is LEAF and is_from_outside(tensor) else None


def _state() -> Any:
    """The modes of this thread, and the default dtype; None where each call must be seen."""
    mode = modes.MODE.get()
    if CALLS or LEVEL.get() is not None:
        return None
    if mode is None:
        return (default_float(), True, False)
    if mode.anomaly is not None or mode.saved or mode.watchers or mode.floor:
        return None
    return (default_float(), mode.grad, mode.inference)


def _read_tensor(tensor: Tensor) -> list[Any]:
    value, node, *rest = _read_most(tensor)
    return [value, node, rest[0], tensor._grad, *rest[1:]]


def _read_most(tensor: Tensor) -> list[Any]:
    try:
        value = tensor._value
    except ValueError as error:  # of a lazy module
        raise NotRecordableError(str(error)) from None
    return [value, tensor.node, tensor.requires_grad, *_hooks_of(tensor)]


def _hooks_of(tensor: Tensor) -> list[Any]:
    """The tables of hooks that have some."""
    tables = [getattr(holder, name) for holder, name in _places_of_hooks(tensor)]
    return [table for table in tables if table]


def _places_of_hooks(tensor: Tensor) -> list[tuple[Any, str]]:
    """What has the hooks of a leaf, or of another tensor, and under which name."""
    node = tensor.node
    places = [] if node is None or node is LEAF else [(node, "_hooks")]
    if tensor._is_hooked:
        places += [(tensor, "_hooks"), (tensor, "_after")]
        own = None if tensor._hooked_node is None else tensor._hooked_node()
        if own is not None:
            places += [(own, name) for name in ("_hooks", "_prehooks", "_posthooks")]
    return places


def _write_tensor(tensor: Tensor, was: list[Any]) -> None:
    tensor._grad = was[3]
    _write_most(tensor, was)


def _write_most(tensor: Tensor, was: list[Any]) -> None:
    """Values that a run has written into an array are taken out by `Recording.put_back`."""
    tensor._value, tensor.node = was[:2]
    for table in _hooks_of(tensor):
        if all(table is not part for part in was):
            table.clear()


def _name_in_tensor(_: Tensor, at: int) -> str | None:
    return {0: "_value", 3: "_grad"}.get(at)


def _name_in_most(_: Tensor, at: int) -> str | None:
    return None if at else "_value"


def _terms_of_tensor(tensor: Tensor, held: list[Any], named: Any) -> list[tuple[Any, str]]:
    grad = held[3]
    term = grad, f"{named(tensor)}._grad is {named(grad)}"
    return [*_terms_of_most(tensor, held, named), term]


def _terms_of_most(tensor: Tensor, held: list[Any], named: Any) -> list[tuple[Any, str]]:
    pairs = [("_value", held[0]), ("node", held[1])]  # the node says whether it requires grad
    terms = [(part, f"{named(tensor)}.{name} is {named(part)}") for name, part in pairs]
    own = watched = None
    if tensor._is_hooked:
        watched = tensor._hooked_node
        own = None if watched is None else watched()  # which a look at it must not keep
        terms.append((watched, f"{named(tensor)}._hooked_node is {named(watched)}"))
    else:
        terms.append((tensor, f"not {named(tensor)}._is_hooked"))
    for holder, name in _places_of_hooks(tensor):
        place = f"{named(watched) + '()' if holder is own else named(holder)}.{name}"
        table = getattr(holder, name)
        if table and any(table is part for part in held):
            terms.append((table, f"{place} is {named(table)}"))
        else:
            terms.append((tensor, f"not {place}"))
    return terms


class _Gradient:
    """The gradient of a tensor, while runs are recorded that may not look at it.

    It stands in the class in the place of the default: no other read pays for it.
    """

    def __get__(self, tensor: Tensor | None, kind: Any = None) -> Tensor | None:
        if tensor is None:
            return None
        self._ask()
        return tensor.__dict__.get("_grad")

    def __set__(self, tensor: Tensor, value: Tensor | None) -> None:
        self._ask()
        tensor.__dict__["_grad"] = value

    def __delete__(self, tensor: Tensor) -> None:
        self._ask()
        tensor.__dict__.pop("_grad", None)

    def _ask(self) -> None:
        recording = RECORDING.get()
        if recording is not None:
            recording.reads_all()


def _asking(usual: Any) -> Any:
    """A method or property that tells an argument with a history from the leaf in its place."""
    ask: Any = usual.fget if isinstance(usual, property) else usual

    def asked(tensor: Tensor) -> Any:
        if "_stands_in" in tensor.__dict__:
            raise NotRecordableError("it asks where an argument is from, as is_leaf tells")
        return ask(tensor)

    return property(asked) if isinstance(usual, property) else asked


_USUAL = {
    name: vars(Tensor)[name] for name in ("grad_fn", "is_leaf", "retain_grad", "retains_grad")
}
_ASKING = {name: _asking(usual) for name, usual in _USUAL.items()}

_NOTING: set[object] = set()  # an item for each run that is recorded now, of all threads


@contextmanager
def _noting() -> Generator[None]:
    run = object()
    try:
        with GUARD:
            _NOTING.add(run)
            Tensor._grad = _Gradient()  # type: ignore[assignment]
            for name, asking in _ASKING.items():
                setattr(Tensor, name, asking)
        yield
    finally:
        with GUARD:
            _NOTING.discard(run)
            if not _NOTING:
                Tensor._grad = None
                for name, usual in _USUAL.items():
                    setattr(Tensor, name, usual)


def _version(tensor: Tensor) -> int:
    return 0 if tensor._version_of is None else tensor._version_of.count


# Attributes of modules for hooks, mostly empty, or to be saved.
_TABLES = tuple(name for name in vars(Module()) if "hook" in name)
_UNREAD = frozenset((*_TABLES, "_non_persistent_buffers_set"))


def _read_module(module: Module) -> list[Any]:
    own = module.__dict__
    names = [name for name in own if name not in _UNREAD]
    hooks = [table for table in map(own.get, _TABLES) if table]
    return [len(names), *names, *[own[name] for name in names], *hooks]


def _write_module(module: Module, was: list[Any]) -> None:
    own, count = module.__dict__, was[0]
    names = was[1 : 1 + count]
    for name in [name for name in own if name not in _UNREAD and name not in names]:
        del own[name]
    own.update(zip(names, was[1 + count : 1 + 2 * count], strict=True))


def _terms_of_module(module: Module, held: list[Any], named: Any) -> list[tuple[Any, str]]:
    own, count = module.__dict__, held[0]
    names, values = held[1 : 1 + count], held[1 + count : 1 + 2 * count]
    hooks = held[1 + 2 * count :]
    if [name for name in own if name not in _UNREAD] != names:
        return [(None, "False")]
    items = named(own)
    terms = [
        (own, f"{named(module)}.__dict__ is {items}"),
        (own, f"[*{items}] == {named([*own])}"),
    ]
    terms += [
        (part, f"{items}[{name!r}] is {named(part)}")
        for name, part in zip(names, values, strict=True)
    ]
    for name in _TABLES:
        if name in own:
            table = f"{items}[{name!r}]"
            is_held = any(own[name] is part for part in hooks)
            terms.append((own, f"{table} is {named(own[name])}" if is_held else f"not {table}"))
    return terms


def _name_in_module(module: Module, at: int) -> str | None:
    names = [name for name in module.__dict__ if name not in _UNREAD]
    return names[at - 1 - len(names)] if len(names) < at <= 2 * len(names) else None


for _kind in (Tensor, Parameter):
    CONTAINERS[_kind] = Container(_open, _maker(_kind), _refusal, count_write, plain_of)
STATES.append(_state)
_LEAN = Followed(_read_most, _write_most, _name_in_most, _version, count_write, _terms_of_most)
FOLLOWED[Tensor] = Followed(
    _read_tensor, _write_tensor, _name_in_tensor, _version, count_write, _terms_of_tensor, _LEAN
)
NOTING.append(_noting)
FOLLOWED[Module] = Followed(
    _read_module, _write_module, _name_in_module, lambda _: 0, lambda _: None, _terms_of_module
)

__all__: list[str] = []
