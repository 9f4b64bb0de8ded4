"""Programs over modules: what they hold, in which order, and their states.

A program gets the library and returns plain Python values; what it raises counts, too.
"""

from __future__ import annotations

import copy
import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

PROGRAMS: dict[str, Callable[[Any], Any]] = {}


def program(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Compare a program under both libraries."""
    PROGRAMS[function.__name__] = function
    return function


def error_of(call: Callable[[], Any]) -> str:
    """Error of a call: its type and its message."""
    try:
        found = call()
    except Exception as error:  # noqa: BLE001 - its type is compared
        return f"{type(error).__name__}: {error}"
    return f"no error: {type(found).__name__.removeprefix('Removable')}"


def names_of(module: Any) -> list[str]:
    return [*module.state_dict(), *(name for name, _ in module.named_parameters())]


def filled(t: Any, module: Any) -> Any:
    """The module in double precision, with the same numbers in both libraries."""
    draw = np.random.default_rng(0)
    module = module.double()
    with t.no_grad():
        for p in module.parameters():
            p.copy_(t.from_numpy(draw.normal(size=tuple(p.shape))))
    return module


# --- Order --------------------------------------------------------------------------------------


@program
def assigned_again(t: Any) -> Any:
    layers = t.nn.Sequential(t.nn.Linear(2, 3), t.nn.ReLU(), t.nn.Linear(3, 1))
    layers[0] = t.nn.Linear(2, 3, bias=False)
    net = t.nn.Module()
    net.a, net.b = t.nn.Parameter(t.ones(1)), t.nn.Parameter(t.ones(2))
    net.first, net.second = t.nn.Linear(1, 1), t.nn.Identity()
    net.register_buffer("x", t.ones(1))
    net.register_buffer("y", t.ones(1), persistent=False)
    net.a, net.x, net.first = t.nn.Parameter(t.ones(3)), t.ones(4), t.nn.Linear(2, 2)
    seen = [names_of(layers), list(layers._modules), names_of(net), [tuple(net.x.shape)]]
    net.y = t.zeros(7)  # stays out of the state
    net.x = None
    net.first = None
    del net.b
    net.b = t.nn.Linear(1, 1)
    net.count = 3
    net.count = t.nn.Parameter(t.ones(1))  # a plain attribute no longer
    return [*seen, names_of(net), list(net._modules), list(net._buffers)]


@program
def tied_weights(t: Any) -> Any:
    net = t.nn.Module()
    net.embed, net.body, net.head = t.nn.Linear(3, 3), t.nn.Linear(3, 3), t.nn.Linear(3, 3)
    net.head.weight = net.embed.weight
    twice = t.nn.Sequential(net.body, net.head, net.body)
    return [
        names_of(net),
        [name for name, _ in net.named_parameters(remove_duplicate=False)],
        names_of(twice),
        [name for name, _ in twice.named_modules(remove_duplicate=False)],
        [name for name, _ in twice.named_modules()],
        [name for name, _ in twice.named_children()],
        net.state_dict()["head.weight"].data_ptr() == net.embed.weight.data_ptr(),
    ]


@program
def walks(t: Any) -> Any:
    net = t.nn.Sequential(OrderedDict(a=t.nn.Linear(1, 2), b=t.nn.Sequential(t.nn.Linear(2, 2))))
    net.register_buffer("count", t.zeros(()))
    net.register_parameter("none", None)
    return [
        [name for name, _ in net.named_parameters(prefix="net")],
        [name for name, _ in net.named_parameters(recurse=False)],
        [name for name, _ in net.named_buffers(prefix="net", recurse=False)],
        [name for name, _ in net.named_modules(prefix="net")],
        [type(m).__name__ for m in net.modules()],
        [name for name in dir(net) if name in ("a", "b", "count", "none", "forward", "0")],
        error_of(lambda: net.get_submodule("b.0.x")),
        error_of(lambda: net.get_submodule("b.0.weight")),
        error_of(lambda: net.get_submodule("b.1")),
        error_of(lambda: net.get_parameter("b.0.weights")),
        error_of(lambda: net.get_parameter("count")),
        error_of(lambda: net.get_buffer("a.weight")),
        error_of(lambda: net.get_buffer("nothing")),
        net.get_submodule("") is net,
    ]


@program
def submodules_set(t: Any) -> Any:
    net = t.nn.Sequential(t.nn.Sequential(t.nn.Linear(1, 2), t.nn.ReLU()), t.nn.Linear(2, 1))
    net.set_submodule("0.0", t.nn.Linear(1, 2, bias=False))
    net.set_submodule("more", t.nn.Identity())
    return [
        repr(net),
        error_of(lambda: net.set_submodule("", t.nn.Identity())),
        error_of(lambda: net.set_submodule("0.7", t.nn.Identity(), strict=True)),
        error_of(lambda: net.set_submodule("0.0.weight", t.nn.Identity())),
        error_of(lambda: net.set_submodule("7.7", t.nn.Identity())),
        error_of(lambda: net.set_submodule("0", 3)),
    ]


@program
def refused(t: Any) -> Any:
    def early(kind: Callable[[], Any]) -> Callable[[], Any]:
        class Early(t.nn.Module):  # type: ignore[misc, name-defined]
            def __init__(self) -> None:
                self.x = kind()

        return Early

    net = t.nn.Linear(2, 2)
    net.register_buffer("count", t.zeros(1))
    net.child = t.nn.Identity()
    x = t.ones(1, requires_grad=True)
    return [
        error_of(early(lambda: t.nn.Parameter(t.ones(1)))),
        error_of(early(lambda: t.nn.Identity())),
        error_of(early(lambda: t.nn.Buffer(t.ones(1)))),
        error_of(lambda: setattr(net, "weight", t.ones(1))),
        error_of(lambda: setattr(net, "weight", 3)),
        error_of(lambda: setattr(net, "count", "x")),
        error_of(lambda: setattr(net, "child", 3.5)),
        error_of(lambda: net.register_parameter(3, None)),
        error_of(lambda: net.register_parameter("a.b", None)),
        error_of(lambda: net.register_parameter("", None)),
        error_of(lambda: net.register_parameter("training", None)),
        error_of(lambda: net.register_parameter("p", t.ones(1))),
        error_of(lambda: net.register_parameter("p", 3)),
        error_of(lambda: net.register_buffer(3, None)),
        error_of(lambda: net.register_buffer("a.b", None)),
        error_of(lambda: net.register_buffer("", None)),
        error_of(lambda: net.register_buffer("weight", None)),
        error_of(lambda: net.register_buffer("q", [1])),
        error_of(lambda: net.add_module("weight", None)),
        error_of(lambda: net.add_module("a.b", None)),
        error_of(lambda: net.add_module("", None)),
        error_of(lambda: net.add_module(3, t.nn.Identity())),
        error_of(lambda: net.add_module("m", 3)),
        error_of(lambda: delattr(net, "nothing")),
        error_of(lambda: net.nothing),
        error_of(lambda: net.train("yes")),
        error_of(lambda: net.to(t.int32)),
        error_of(lambda: t.nn.Module(3)),
        error_of(lambda: t.nn.Module(x=3)),
        error_of(lambda: t.nn.Module()(1)),
        error_of(lambda: t.nn.Module.__new__(t.nn.Module)(1)).replace("_backward", "_forward"),
        error_of(lambda: net.register_parameter("q", _grown(t, x))),
    ]


def _grown(t: Any, x: Any) -> Any:
    """A parameter that is no leaf."""
    made = t.nn.Parameter(t.ones(1))
    with t.no_grad():
        pass
    made.data = t.ones(1)
    return made.mul_(x) if not made.requires_grad else t.nn.Parameter(t.ones(1))


@program
def deleted(t: Any) -> Any:
    net = t.nn.Linear(2, 2)
    net.register_buffer("b", t.ones(1), persistent=False)
    net.child = t.nn.Identity()
    del net.weight, net.b, net.child
    net.b = t.ones(1)  # a plain attribute now
    return [names_of(net), list(net._non_persistent_buffers_set), "b" in net.__dict__]


@program
def buffers(t: Any) -> Any:
    net = t.nn.Module()
    net.a = t.nn.Buffer(t.ones(2))
    net.b = t.nn.Buffer(t.ones(2), persistent=False)
    net.a = t.zeros(3)
    net.c = t.ones(1)
    x = t.nn.Buffer(t.ones(1))
    return [
        [name for name, _ in net.named_buffers()],
        list(net.state_dict()),
        [isinstance(x, t.nn.Buffer), isinstance(t.ones(1), t.nn.Buffer), type(x) is t.Tensor],
        isinstance(copy.deepcopy(x), t.nn.Buffer),
        x.persistent,
    ]


@program
def a_buffer_without_persistent(t: Any) -> Any:
    class Old(t.nn.Module):  # type: ignore[misc, name-defined]
        def register_buffer(self, name: str, tensor: Any) -> None:
            super().register_buffer(name, tensor)

    net = Old()
    net.register_buffer("a", t.ones(1))
    net.a = t.zeros(2)
    return [
        list(net.state_dict()),
        error_of(lambda: setattr(net, "b", t.nn.Buffer(t.ones(1), persistent=False))),
    ]


# --- Conversions --------------------------------------------------------------------------------


@program
def conversions(t: Any) -> Any:
    net = t.nn.Sequential(t.nn.Linear(2, 2))
    net.register_buffer("count", t.zeros(1, dtype=t.int64))
    net.register_buffer("mean", t.zeros(1))
    net(t.ones(1, 2)).sum().backward()

    def dtypes() -> list[str]:
        weight = net[0].weight
        values = (weight, weight.grad, net.count, net.mean)
        return [str(x.dtype) for x in values] + [str(weight.requires_grad)]

    weight = net[0].weight
    seen = [dtypes()]
    for convert in (
        lambda: net.double(),
        lambda: net.half(),
        lambda: net.float(),
        lambda: net.to(t.float64),
        lambda: net.to("cpu", t.float32),
        lambda: net.to(t.ones(1, dtype=t.float64)),
        lambda: net.to(dtype=t.float32),
        lambda: net.to("cpu"),
        lambda: net.to(t.device("cpu"), non_blocking=True),
        lambda: net.type(t.float64),
        lambda: net.cpu(),
        lambda: net.share_memory(),
    ):
        assert convert() is net
        seen.append(dtypes())
    return [*seen, net[0].weight is weight, weight.is_leaf]


@program
def gradients(t: Any) -> Any:
    net = filled(t, t.nn.Sequential(t.nn.Linear(2, 2), t.nn.Linear(2, 1)))
    x = t.ones(1, 2, dtype=t.float64)
    (grad,) = t.autograd.grad(net(x).sum() ** 2, [net[0].weight], create_graph=True)
    net[0].weight.grad = grad * 1
    net.zero_grad(set_to_none=False)
    seen = [net[0].weight.grad.tolist(), net[0].weight.grad.requires_grad, net[1].weight.grad]
    net.requires_grad_(False)
    frozen = net(x).requires_grad
    net[1].requires_grad_(True)
    return [*seen, frozen, [p.requires_grad for p in net.parameters()]]


# --- State --------------------------------------------------------------------------------------


class _Extra:
    @staticmethod
    def made(t: Any) -> Any:
        class Extra(t.nn.Module):  # type: ignore[misc, name-defined]
            _version = 3

            def __init__(self) -> None:
                super().__init__()
                self.w = t.nn.Parameter(t.ones(2))
                self.words = ["a"]

            def get_extra_state(self) -> Any:
                return self.words

            def set_extra_state(self, state: Any) -> None:
                self.words = state

        return Extra()


@program
def states(t: Any) -> Any:
    net = t.nn.Sequential(t.nn.Linear(1, 1), _Extra.made(t))
    destination: Any = OrderedDict()
    state = net.state_dict()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        old = net.state_dict(OrderedDict(), "old.", True)
    other = t.nn.Sequential(t.nn.Linear(1, 1), _Extra.made(t))
    net[1].words = ["b"]
    other.load_state_dict(net.state_dict())
    return [
        list(state),
        type(state).__name__,
        {path: dict(known) for path, known in state._metadata.items()},
        list(net.state_dict(prefix="net.", destination=destination)),
        hasattr(destination, "_metadata"),
        [x.requires_grad for x in state.values() if isinstance(x, t.Tensor)],
        net.state_dict(keep_vars=True)["0.weight"] is net[0].weight,
        [list(old), old["old.0.weight"].requires_grad],
        other[1].words,
        error_of(lambda: net.load_state_dict(net[0].state_dict())),
        error_of(lambda: net[0].load_state_dict({**net[0].state_dict(), "_extra_state": 1})),
        error_of(lambda: net[0].get_extra_state()).split(":")[0],
    ]


@program
def wrong_states(t: Any) -> Any:
    net = t.nn.Sequential(t.nn.Linear(2, 3), t.nn.Sequential(t.nn.Linear(3, 1)))
    state = net.state_dict()
    broken = {**state, "x": t.ones(1), "1.0.y.z": t.ones(1), "7.weight": t.ones(1)}
    del broken["0.bias"]
    wrong_size = {**state, "0.weight": t.ones(3), "1.0.bias": 3.5}
    found = net.load_state_dict(broken, strict=False)
    return [
        error_of(lambda: net.load_state_dict(broken)),
        error_of(lambda: net.load_state_dict(wrong_size)),
        error_of(lambda: net.load_state_dict(wrong_size, strict=False)),
        error_of(lambda: net.load_state_dict([1])),
        [found.missing_keys, found.unexpected_keys],
        repr(found),
        str(net.load_state_dict(state)),
        list(broken),
    ]


@program
def assigned_states(t: Any) -> Any:
    net = t.nn.Linear(2, 2)
    net.register_buffer("count", t.zeros(()))
    weight = net.weight
    state = {
        "bias": t.zeros(2, dtype=t.float64),
        "weight": t.nn.Parameter(t.zeros(2, 2), requires_grad=False),
        "count": t.ones(1),  # a scalar of one element
    }
    net.load_state_dict(state)
    seen = [net.weight is weight, str(net.bias.dtype), net.count.tolist()]
    net.load_state_dict(state, assign=True)
    return [
        *seen,
        net.weight is state["weight"],
        net.weight.requires_grad,
        str(net.bias.dtype),
        isinstance(net.bias, t.nn.Parameter),
        net.count.tolist(),
        [name for name, _ in net.named_parameters()],
    ]


@program
def state_hooks(t: Any) -> Any:
    net = t.nn.Sequential(t.nn.Linear(1, 1))
    seen: list[Any] = []
    net[0].register_state_dict_pre_hook(lambda m, prefix, keep: seen.append([prefix, keep]))
    post = net[0].register_state_dict_post_hook(
        lambda m, state, prefix, local: state.pop(prefix + "bias") and None
    )
    state = net.state_dict()
    post.remove()
    net._register_state_dict_hook(lambda m, state, prefix, local: OrderedDict(a=len(state)))
    replaced = dict(net.state_dict())

    def before(state: Any, prefix: str, local: Any, strict: bool, *lists: Any) -> None:
        seen.append([sorted(state), prefix, sorted(local), strict, lists])
        state[prefix + "bias"] = t.ones(1)

    net[0]._register_load_state_dict_pre_hook(before)
    net[0].register_load_state_dict_pre_hook(lambda m, *rest: seen.append(type(m).__name__))
    net.register_load_state_dict_post_hook(lambda m, keys: seen.append(list(keys.missing_keys)))
    net.load_state_dict(state)
    after = net.register_load_state_dict_post_hook(lambda m, keys: 3)
    wrong = error_of(lambda: net.load_state_dict(state))
    after.remove()
    net.register_load_state_dict_post_hook(lambda m, keys: keys.unexpected_keys.clear())
    net.load_state_dict({**state, "more": t.ones(1)})

    def hook(*_: Any) -> Any:
        return 3

    net[0].register_state_dict_post_hook(hook)
    return [
        seen,
        list(state),
        replaced,
        net[0].bias.tolist(),
        wrong,
        error_of(lambda: net.state_dict()),
        error_of(lambda: net._register_state_dict_hook(hook)),
    ]
