"""Programs over hooks on the calls of modules."""

from __future__ import annotations

import warnings
from typing import Any

from module_programs import error_of, filled, program


@program
def forward_hooks(t: Any) -> Any:
    net = t.nn.Identity()
    seen: list[Any] = []
    kinds = [
        net.register_forward_pre_hook(lambda m, args: seen.append(("pre", args))),
        net.register_forward_pre_hook(lambda m, args: args[0] + 1),
        net.register_forward_pre_hook(
            lambda m, args, kwargs: seen.append(("words", args, kwargs)),
            with_kwargs=True,
            prepend=True,
        ),
        net.register_forward_hook(lambda m, args, out: seen.append(("out", args, out))),
        net.register_forward_hook(lambda m, args, out: out * 2, prepend=True),
        net.register_forward_hook(
            lambda m, args, kwargs, out: seen.append(("all", args, kwargs, out)), with_kwargs=True
        ),
    ]
    seen.append(net(3))
    wrong = net.register_forward_pre_hook(lambda m, args, kwargs: 3, with_kwargs=True)
    seen.append(error_of(lambda: net(3)))
    wrong.remove()
    wrong.remove()
    with net.register_forward_pre_hook(lambda m, args: (7,)):
        seen.append(net(3))
    for kind in kinds:
        kind.remove()
    return [seen, net(3), len(net._forward_hooks), len(net._forward_hooks_with_kwargs)]


@program
def always_called(t: Any) -> Any:
    class Fails(t.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: Any, how: str = "no") -> Any:
            if how == "fail":
                raise ValueError("failed")
            return x

    net, seen = Fails(), []  # type: ignore[var-annotated]

    def broken(m: Any, args: Any, out: Any) -> None:
        raise KeyError("hook")

    def words(m: Any, args: Any, kwargs: Any, out: Any) -> None:
        seen.append((args, kwargs, out))

    net.register_forward_hook(lambda m, args, out: seen.append(out), always_call=True)
    net.register_forward_hook(words, always_call=True, with_kwargs=True)
    net.register_forward_hook(lambda m, args, out: seen.append("not called"))
    last = net.register_forward_hook(broken, always_call=True)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        seen.append(error_of(lambda: net(1, how="fail")))
        seen.append(error_of(lambda: net(1)))
    last.remove()
    return [seen, [str(w.message) for w in told], net(2)]


@program
def hooks_of_all_modules(t: Any) -> Any:
    everywhere = t.nn.modules.module
    seen: list[Any] = []
    net = filled(t, t.nn.Sequential(t.nn.Linear(1, 1)))
    handles = [
        everywhere.register_module_forward_pre_hook(
            lambda m, args: seen.append(("pre", type(m).__name__))
        ),
        everywhere.register_module_forward_hook(
            lambda m, args, out: seen.append(("out", type(m).__name__, out.tolist()))
        ),
        everywhere.register_module_forward_hook(
            lambda m, args, kwargs, out: seen.append(("words", kwargs)), with_kwargs=True
        ),
        everywhere.register_module_full_backward_hook(
            lambda m, inputs, outputs: seen.append(("full", type(m).__name__, outputs[0].tolist()))
        ),
        everywhere.register_module_full_backward_pre_hook(
            lambda m, outputs: seen.append(("before", type(m).__name__))
        ),
        everywhere.register_module_buffer_registration_hook(
            lambda m, name, x: seen.append(("buffer", name))
        ),
        everywhere.register_module_module_registration_hook(
            lambda m, name, x: t.nn.Tanh() if name == "swapped" else None
        ),
        everywhere.register_module_parameter_registration_hook(
            lambda m, name, x: seen.append(("parameter", name))
        ),
    ]
    try:
        net[0].register_forward_hook(lambda m, args, out: seen.append("own, after"))
        x = t.ones(1, 1, dtype=t.float64, requires_grad=True)
        net(x).sum().backward()
        net.register_buffer("b", None)
        net.swapped = t.nn.ReLU()
        net.p = t.nn.Parameter(t.ones(1))
        seen.append(error_of(lambda: everywhere.register_module_backward_hook(lambda *_: None)))
    finally:
        for handle in handles:
            handle.remove()
    count = len(seen)
    net[:1](x)
    return [seen, type(net.swapped).__name__, len(seen) - count]


@program
def backward_hooks(t: Any) -> Any:
    seen: list[Any] = []

    def plain(values: Any) -> Any:
        return [None if v is None else v.tolist() for v in values]

    class Pair(t.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: Any, n: Any, y: Any) -> Any:
            return x * y, n, (x + y).sum()

    net = Pair()
    net.register_full_backward_hook(lambda m, i, o: seen.append(("last", plain(i), plain(o))))
    net.register_full_backward_hook(lambda m, i, o: (i[0] * 10, None, i[2]), prepend=True)
    net.register_full_backward_pre_hook(lambda m, o: seen.append(("pre", plain(o))))
    net.register_full_backward_pre_hook(
        lambda m, o: (o[0] if o[0] is None else o[0] * 2, None, o[2]), prepend=True
    )
    x = t.tensor([1.0, 2.0], requires_grad=True)
    y = t.tensor([3.0, 4.0], requires_grad=True)
    first, _, second = net(x, 5, y)
    (first.sum() + second).backward()
    seen += [x.grad.tolist(), y.grad.tolist(), type(first.grad_fn).__name__]
    net.register_full_backward_hook(lambda m, i, o: (i[0],))
    seen.append(error_of(lambda: net(x, 5, y)[2].backward()))
    other = t.nn.Identity()
    other.register_full_backward_pre_hook(lambda m, o: (o[0], o[0]))
    seen.append(error_of(lambda: other(x).sum().backward()))
    seen.append(error_of(lambda: other.register_backward_hook(lambda *_: None)))
    mixed = t.nn.Identity()
    mixed.register_full_backward_hook(lambda *_: None)
    seen.append(error_of(lambda: mixed.register_backward_hook(lambda *_: None)))
    return seen


@program
def backward_hooks_without_inputs(t: Any) -> Any:
    seen: list[Any] = []
    net = filled(t, t.nn.Linear(1, 1))
    net.register_full_backward_hook(lambda m, i, o: seen.append((i, o[0].tolist())))
    x = t.ones(1, 1, dtype=t.float64)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        net(x).sum().backward()
        net.register_full_backward_hook(lambda m, i, o: (t.ones(1),))
        seen.append(error_of(lambda: net(x).sum().backward()))
        as_list = t.nn.Identity()
        as_list.register_full_backward_hook(lambda *_: seen.append("never"))
        as_list([t.ones(1, requires_grad=True)])
    return [
        seen,
        sorted({str(w.message).split(" https")[0].split(". See")[0].rstrip(".") for w in told}),
    ]


@program
def old_backward_hooks(t: Any) -> Any:
    seen: list[Any] = []

    class Two(t.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: Any) -> Any:
            return x.exp().sin()

    told: list[Any] = []
    for net in (t.nn.Tanh(), Two()):
        net.register_backward_hook(
            lambda m, i, o: seen.append((type(m).__name__, len(i), [g.tolist() for g in o]))
        )
        x = t.tensor([1.0, 2.0], requires_grad=True)
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            net(x * 1).sum().backward()
            told += [(w.category.__name__, str(w.message)) for w in found]
    return [seen, told]
