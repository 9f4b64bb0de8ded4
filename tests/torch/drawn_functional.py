"""Programs that call functions with drawn arguments, valid ones and such that end in errors."""

from __future__ import annotations

from typing import Any

import drawn_arguments
import drawn_functional_calls
import drawn_layers
import drawn_tensor_calls
import numpy as np
from drawn import Draw, Transcript, family


def tensors(t: Any, value: Any, kind: str, grad: bool) -> Any:
    """Arrays as tensors, wherever they stand."""
    if isinstance(value, np.ndarray):
        made = t.from_numpy(value.copy())
        if made.dtype == t.float64:
            made = made.to(getattr(t, kind))
        return made.requires_grad_() if grad and made.is_floating_point() else made
    if isinstance(value, dict):
        return {key: tensors(t, part, kind, grad) for key, part in value.items()}
    if isinstance(value, (tuple, list)):
        return type(value)(tensors(t, part, kind, grad) for part in value)
    return value


def floating(t: Any, found: Any) -> list[Any]:
    if isinstance(found, (tuple, list)):
        return [part for item in found for part in floating(t, item)]
    return [found] if isinstance(found, t.Tensor) and found.requires_grad else []


def called(
    t: Any, log: Transcript, function: Any, call: drawn_arguments.Call, kind: str, order: int
) -> None:
    """Log what a call gives, the gradients of its tensors, and some second derivatives."""
    arguments, options = (tensors(t, part, kind, order > 0) for part in call)
    found = log.attempt(lambda: function(*arguments, **options), "gives")
    outputs = floating(t, found)
    leaves = [x for x in floating(t, [*arguments, *options.values()]) if x.is_leaf]
    if not outputs or not leaves:
        return

    def gradients(create: bool = order > 1) -> Any:
        total = sum((x * x).sum() for x in outputs)
        return t.autograd.grad(total, leaves, create_graph=create, allow_unused=True)

    first = log.attempt(gradients, "gradients")
    if first is not None and order > 1:
        total = [(g * g).sum() for g in first if g is not None and g.requires_grad]
        if total:
            log.attempt(
                lambda: [
                    g.detach()
                    for g in t.autograd.grad(sum(total), leaves, allow_unused=True)
                    if g is not None
                ],
                "second",
            )


def _program(t: Any, log: Transcript, draw: Draw, table: Any, names: Any, wrong: bool) -> None:
    name = draw.one(*names)
    call = table[name](draw)
    how = draw.one(*drawn_arguments.WRONG) if wrong else "nothing"
    call = drawn_arguments.spoiled(draw, call, how)
    log(name, how, [_plain(part) for part in call])
    kind, order = draw.one("float64", "float64", "float32"), draw.one(1, 2)
    called(t, log, _owner(t, table, name), call, kind, order)


def _owner(t: Any, table: Any, name: str) -> Any:
    if table is drawn_tensor_calls.METHODS:
        return lambda x, *rest, **options: getattr(
            x * 1 if isinstance(x, t.Tensor) and name.endswith("_") else x, name
        )(*rest, **options)
    if table is drawn_functional_calls.FUNCTIONAL:
        return getattr(t.nn.functional, name)
    return getattr(t.linalg if table is drawn_tensor_calls.LINALG else t, name)


def _plain(value: Any) -> Any:
    """A call without the numbers in its tensors, to be read."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{list(value.shape)}"
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, (tuple, list)):
        return [_plain(part) for part in value]
    return str(value)


@family
def functional(t: Any, log: Transcript, draw: Draw) -> None:
    """nn.functional with valid arguments, or one of them wrong."""
    table = drawn_functional_calls.FUNCTIONAL
    _program(t, log, draw, table, table, wrong=draw.chance(0.4))


@family
def errors_of_functions(t: Any, log: Transcript, draw: Draw) -> None:
    """torch, Tensor and linalg: what their functions refuse."""
    tables = (
        drawn_tensor_calls.TORCH,
        drawn_tensor_calls.TORCH,
        drawn_tensor_calls.METHODS,
        drawn_tensor_calls.LINALG,
    )
    table = draw.one(*tables)
    _program(t, log, draw, table, table, wrong=draw.chance(0.6))


@family
def errors_of_modules(t: Any, log: Transcript, draw: Draw) -> None:
    """Modules with wrong options, wrong inputs or wrong states."""
    shape = (2, draw.one(2, 4), *(draw.count(3, 5) for _ in range(draw.count(0, 3))))
    name, arguments, options = drawn_layers.layer(draw, shape)
    how = draw.one("arguments", "input", "input", "state", "freed", "attributes")
    if how == "arguments":
        wrong = draw.one("option", "value", "missing", "unknown")
        arguments, options = drawn_arguments.spoiled(draw, (list(arguments), options), wrong)
        log(wrong)
    log(name, how, str(arguments), str(options))
    layer = log.attempt(lambda: getattr(t.nn, name)(*arguments, **options), "made")
    if layer is None:
        return
    layer = layer.double()
    data = draw.numbers(*shape)
    if how == "input":
        (data, *_), _ = drawn_arguments.spoiled(
            draw, ([data], {}), draw.one("shape", "empty", "dtype", "value")
        )
        log("input", _plain(data))
    x = tensors(t, data, "float64", grad=True)
    with t.no_grad():
        for parameter in layer.parameters():
            parameter.copy_(t.from_numpy(np.asarray(draw.numbers(*parameter.shape))))
    if how == "state":
        _wrong_state(t, log, draw, layer)
        return
    if how == "attributes":
        _attributes(t, log, draw, layer)
        return
    out = log.attempt(lambda: layer(x), "out")
    out = out[0] if isinstance(out, tuple) else out
    if how == "freed" and out is not None:
        log.attempt(lambda: out.sum().backward())
        log.attempt(lambda: (out * out).sum().backward(), "again")


def _wrong_state(t: Any, log: Transcript, draw: Draw, layer: Any) -> None:
    net = t.nn.Sequential(layer, t.nn.Linear(2, 3))
    with t.no_grad():
        for parameter in net[1].parameters():
            parameter.fill_(0.5)
    state = net.state_dict()
    keys = draw.several(state, 0, 2)
    for key in keys:
        change = draw.one("gone", "renamed", "size", "kind")
        value = state.pop(key)
        if change == "renamed":
            state[f"other.{key}"] = value
        elif change == "size":
            state[key] = t.zeros(*value.shape, 2)
        elif change == "kind":
            state[key] = draw.one(3, "what", None)
    strict = draw.chance(0.7)
    log.attempt(lambda: net.load_state_dict(state, strict=strict), "loaded")
    log(net.state_dict())


def _attributes(t: Any, log: Transcript, draw: Draw, layer: Any) -> None:
    for what in draw.several(_ATTEMPTS, 3, 6):
        log.attempt(lambda what=what: _ATTEMPTS[what](t, layer), what)


_ATTEMPTS: dict[str, Any] = {
    "weight": lambda t, m: setattr(m, "weight", 3),
    "unknown": lambda t, m: m.what,
    "delete": lambda t, m: delattr(m, "what"),
    "parameter": lambda t, m: m.register_parameter("a.b", None),
    "no parameter": lambda t, m: m.register_parameter("p", t.ones(1)),
    "buffer": lambda t, m: m.register_buffer("b", 3),
    "twice": lambda t, m: (m.register_buffer("b", None), m.register_buffer("b", None)),
    "module": lambda t, m: m.add_module("m", 3),
    "train": lambda t, m: m.train(3),
    "to": lambda t, m: m.to(t.int64),
    "device": lambda t, m: m.to("cuda").state_dict(),
    "device name": lambda t, m: m.to("what"),
    "state": lambda t, m: m.load_state_dict(3),
    "submodule": lambda t, m: m.get_submodule("a.b"),
    "get": lambda t, m: m.get_parameter("what"),
    "call": lambda t, m: m(),
    "more": lambda t, m: m(t.ones(2, dtype=t.float64), 1, 2, 3, 4, 5, 6),
    "option": lambda t, m: m(t.ones(2, dtype=t.float64), what=3),
    "hook": lambda t, m: m.register_forward_hook(3),
    "string": lambda t, m: m("what"),
    "none": lambda t, m: m(None),
    "integer": lambda t, m: m(t.ones(2, 2, 4, dtype=t.int64)),
    "repr": lambda t, m: repr(m),
}
