"""Programs over hooks: of tensors, nodes, gradients, modules and saved values."""

from __future__ import annotations

from typing import Any

from drawn import Draw, Transcript, family, shown


def hook(t: Any, log: Transcript, draw: Draw, name: str) -> Any:
    """A hook of a tensor, which looks, changes, or goes wrong."""
    how = draw.one(
        "look", "look", "look", "double", "none", "clone", "raise", "dtype", "shape", "number"
    )
    how = how if draw.chance(0.6) else "look"

    def called(gradient: Any) -> Any:
        log(name, how, gradient)
        if how == "double":
            return gradient * 2
        if how == "clone":
            return gradient.clone()
        if how == "raise":
            raise ValueError(f"{name} fails")
        if how == "dtype":
            return gradient.float()
        if how == "shape":
            return gradient.sum()
        return 3 if how == "number" else None

    return called


STEPS: tuple[Any, ...] = (
    lambda t, x, y: x.sin(),
    lambda t, x, y: x * y,
    lambda t, x, y: x + 2 * y,
    lambda t, x, y: x.view(-1)[: x.numel()].view_as(x),
    lambda t, x, y: (x * y).exp() / 3,
    lambda t, x, y: x.clone().mul_(2),
    lambda t, x, y: x.t() @ y if x.dim() == 2 else x,
    lambda t, x, y: t.where(x > 0, x, y),
)


@family
def tensor_hooks(t: Any, log: Transcript, draw: Draw) -> None:
    """Hooks of tensors and nodes on a drawn graph, removed and added, over two passes."""
    leaves = [t.from_numpy(draw.numbers(2, 2)).requires_grad_() for _ in range(2)]
    values, handles = list(leaves), []
    for _ in range(draw.count(2, 5)):
        x, y = draw.one(*values), draw.one(*values)
        values.append(draw.one(*STEPS)(t, x, y))
    for place in range(draw.count(2, 6)):
        x, kind = (
            draw.one(*values),
            draw.one("hook", "hook", "post", "node", "pre", "retain", "grad_fn"),
        )
        made = hook(t, log, draw, f"{kind} {place}")
        handles.append(
            log.attempt(lambda x=x, kind=kind, made=made: _hooked(log, x, kind, made), kind)
        )
    multi = draw.one("all", "any", None, None)
    if multi:
        some = draw.several(values, 1, 3)

        def several(gradients: Any) -> None:
            log(multi, gradients)

        made = log.attempt(
            lambda: t.autograd.graph.register_multi_grad_hook(some, several, mode=multi)
        )
        handles.append(made)
    total = sum((v * v).sum() for v in values)
    how, keep = draw.one("backward", "backward", "grad", "inputs"), draw.chance(0.7)
    removed = draw.several([h for h in handles if h is not None], 0, 2)
    for passes in range(2):
        if passes:
            for handle in removed:
                handle.remove()
        log.attempt(lambda: _pass(t, total, leaves, how, keep), how)
        log([x.grad for x in leaves], [v.grad for v in values[2:] if v.retains_grad])


def _pass(t: Any, total: Any, leaves: Any, how: str, keep: bool) -> Any:
    if how == "grad":
        return t.autograd.grad(total, leaves, retain_graph=keep)
    return total.backward(retain_graph=keep, inputs=leaves[:1] if how == "inputs" else None)


def _hooked(log: Transcript, x: Any, kind: str, made: Any) -> Any:
    if kind == "hook":
        return x.register_hook(made)
    if kind == "post":
        return x.register_post_accumulate_grad_hook(lambda p: log("post", p.grad))
    if kind == "retain":
        return x.retain_grad()
    if kind == "node":
        return x.grad_fn.register_hook(lambda i, o: log("node", i, o))
    if kind == "pre":
        return x.grad_fn.register_prehook(lambda o: log("pre", o))
    names = [type(n).__name__ for n, _ in x.grad_fn.next_functions]
    return log(x.grad_fn.name(), names, [i for _, i in x.grad_fn.next_functions])


def _module(t: Any, draw: Draw) -> Any:
    class Body(t.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.inner = t.nn.Sequential(t.nn.Linear(2, 2), t.nn.Tanh())
            self.other = t.nn.Linear(2, 2)

        def forward(self, x: Any, scale: float = 1.0, fail: bool = False) -> Any:
            if fail:
                raise ValueError("the body fails")
            return self.other(self.inner(x)) * scale

    net = Body().double()
    with t.no_grad():
        for p in net.parameters():
            p.copy_(t.from_numpy(draw.numbers(*p.shape)))
    return net


def _module_hook(
    t: Any, log: Transcript, draw: Draw, place: int
) -> tuple[str, dict[str, Any], Any]:
    kind = draw.one(
        "forward_pre", "forward", "full_backward", "full_backward_pre", "forward", "backward"
    )
    options: dict[str, Any] = {}
    if kind in ("forward", "forward_pre"):
        options = draw.some({"prepend": (True, False), "with_kwargs": (True, False)})
    if kind == "forward":
        options |= draw.some({"always_call": (True, False)})
    elif kind.startswith("full"):
        options = draw.some({"prepend": (True, False)})
    what = draw.one("look", "look", "look", "change", "raise", "wrong", "nothing")
    what = what if draw.chance(0.6) else "look"

    def called(module: Any, *seen: Any) -> Any:
        log(place, kind, what, type(module).__name__, [shown(part) for part in seen])
        if what == "raise":
            raise KeyError("hook")
        if what == "wrong":
            return 3  # PyTorch goes round for ever with a string
        if what != "change":
            return None
        if kind == "forward_pre":
            return (seen[0], {"scale": 3.0}) if options.get("with_kwargs") else (seen[0][0] * 2,)
        if kind == "forward":
            return seen[-1] * 2
        if kind == "full_backward_pre":
            return tuple(g * 2 for g in seen[0])
        return tuple(g if g is None else g * 2 for g in seen[0])

    return kind, options, called


@family
def module_hooks(t: Any, log: Transcript, draw: Draw) -> None:
    """Hooks of modules of every kind: their order, what they see and change, and removal."""
    net = _module(t, draw)
    places = [net, net.inner, net.inner[0], net.other]
    handles = []
    for place in range(draw.count(2, 6)):
        kind, options, called = _module_hook(t, log, draw, place)
        module = draw.one(*places)
        name = f"register_{kind}_hook"
        handles.append(
            log.attempt(lambda m=module, n=name, o=options, c=called: getattr(m, n)(c, **o), name)
        )
    x = t.from_numpy(draw.numbers(3, 2))
    x.requires_grad_(draw.chance(0.7))
    calls = [draw.one({}, {}, {"scale": 2.0}, {"fail": True}) for _ in range(3)]
    removed = [draw.several([h for h in handles if h is not None], 0, 2) for _ in range(3)]
    for options, gone in zip(calls, removed, strict=True):
        out = log.attempt(lambda o=options: net(x, **o), "out")
        if isinstance(out, t.Tensor):
            log.attempt(lambda o=out: (o * o).sum().backward(), "backward")
        log(x.grad, [p.grad for p in net.parameters()])
        for handle in gone:
            handle.remove()
    log([len(m._forward_hooks) for m in places], [len(m._backward_hooks) for m in places])


@family
def saved_values(t: Any, log: Transcript, draw: Draw) -> None:
    """saved_tensors_hooks: what is packed and unpacked, nested, changed, refused."""
    x, y = (t.from_numpy(draw.numbers(2, 2)).requires_grad_() for _ in range(2))
    what = draw.one("look", "look", "numpy", "double", "raise", "wrong", "inplace", "disabled")
    nested, weights = draw.chance(0.3), t.from_numpy(draw.numbers(2, 2))
    packed: list[Any] = []

    def pack(v: Any) -> Any:
        packed.append([list(v.shape), v.detach().clone()])
        if what == "numpy":
            return v.detach().numpy().copy()
        if what == "raise":
            raise ValueError("pack fails")
        if what == "inplace":
            v.mul_(2)
        return v

    def unpack(v: Any) -> Any:
        packed.append("unpacked")
        if what == "numpy":
            return t.from_numpy(v)
        if what == "double":
            return v * 2
        return 3 if what == "wrong" else v

    steps = [draw.one(*STEPS) for _ in range(draw.count(1, 3))]

    def program() -> Any:
        with t.autograd.graph.saved_tensors_hooks(pack, unpack):
            if nested:
                with t.autograd.graph.saved_tensors_hooks(lambda v: v * 2, lambda v: v / 2):
                    z = x.exp() * y
            else:
                z = x * y
            if what == "disabled":
                with t.autograd.graph.disable_saved_tensors_hooks("no hooks here"):
                    return z
            for step in steps:
                z = step(t, z, y)
        return (z * weights).sum()

    total = log.attempt(program, what)
    log(len(packed))
    keep = draw.chance()
    if isinstance(total, t.Tensor):
        for _ in range(2):
            log.attempt(lambda: total.backward(retain_graph=keep), "backward")
            log(x.grad, y.grad, packed.count("unpacked"))
