"""The graph of a tensor after a write: nodes, hooks, shapes, versions, beside PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from transcripts import Log, compare

import tapegrad.torch as torch

Write = Callable[[Any, Any], Any]

FAILING: dict[str, Write] = {
    "add_ of another shape": lambda t, v: v.add_(t.ones(5)),
    "copy_ of another shape": lambda t, v: v.copy_(t.ones(5)),
    "a place beyond": lambda t, v: v.__setitem__(7, 1.0),
    "rows of another shape": lambda t, v: v.__setitem__(slice(0, 2), t.ones(7)),
    "a number that is none": lambda t, v: v.mul_("a"),
    "a mask of another shape": lambda t, v: v.masked_fill_(t.ones(7, dtype=t.bool), 1.0),
    "index_fill_": lambda t, v: v.index_fill_(0, t.tensor([9]), 1.0),
    "index_copy_": lambda t, v: v.index_copy_(0, t.tensor([9]), t.ones(1)),
    "scatter_": lambda t, v: v.scatter_(0, t.tensor([9]), 1.0),
    "put_": lambda t, v: v.put_(t.tensor([9]), t.ones(1)),
    "clamp_": lambda t, v: v.clamp_(t.ones(7)),
    "addcmul_": lambda t, v: v.addcmul_(t.ones(7), t.ones(2)),
    "renorm_": lambda t, v: v.renorm_(2, 0, 1.0),
    "normal_": lambda t, v: v.normal_(0, -1),
    "unsqueeze_": lambda t, v: v.unsqueeze_(5),
    "transpose_": lambda t, v: v.transpose_(0, 3),
    "as_strided_": lambda t, v: v.as_strided_((9,), (1,)),
}


@pytest.mark.parametrize("of_base", [False, True])
@pytest.mark.parametrize("fail", FAILING.values(), ids=list(FAILING))
def test_a_failed_write_changes_nothing(fail: Write, of_base: bool) -> None:
    def program(t: Any, log: Log) -> None:
        x = t.arange(4.0).requires_grad_()
        base = x * 2
        view = base[1:3]
        called: list[Any] = []
        view.register_hook(lambda g: called.append(["view", g.tolist()]))
        base.register_hook(lambda g: called.append(["base", g.tolist()]))
        view.grad_fn.register_hook(lambda _, g: called.append(["node", g[0].tolist()]))
        view.retain_grad()
        log.attempt(lambda: fail(t, base if of_base else view))
        log(view.grad_fn.name(), base.grad_fn.name(), view._version)
        (view * view).sum().backward()
        log(called, x.grad, view.grad)

    compare(program)


@pytest.mark.parametrize("mode", ["enable_grad", "no_grad", "inference_mode"])
@pytest.mark.parametrize("which", ["base", "view", "other"])
@pytest.mark.parametrize("kind", ["hook", "node hook", "prehook", "retain_grad"])
def test_hooks_of_a_view_that_was_written_over(kind: str, which: str, mode: str) -> None:
    def program(t: Any, log: Log) -> None:
        x = t.arange(4.0).requires_grad_()
        base = x * 2
        view, other = base[1:3], base[2:]
        node, called = view.grad_fn, []
        if kind == "hook":
            view.register_hook(lambda g: called.append(g.tolist()))
        elif kind == "node hook":
            node.register_hook(lambda _, g: called.append(g[0].tolist()))
        elif kind == "prehook":
            node.register_prehook(lambda g: called.append(g[0].tolist()))
        else:
            view.retain_grad()
        with getattr(t, mode)():
            {"base": base, "view": view, "other": other}[which].mul_(3)
        log(view.grad_fn is node, view.grad_fn.name(), node.name())
        (view * 1).sum().backward()
        log(called, x.grad, view.grad if kind == "retain_grad" else None)

    compare(program)


RESHAPING: dict[str, Write] = {
    "unsqueeze_": lambda t, y: y.unsqueeze_(0),
    "squeeze_": lambda t, y: y.squeeze_(),
    "squeeze_ of a dimension": lambda t, y: y.squeeze_(1),
    "transpose_": lambda t, y: y.transpose_(0, 1),
    "swapaxes_": lambda t, y: y.swapaxes_(0, 1),
    "t_": lambda t, y: y.t_(),
    "as_strided_": lambda t, y: y.as_strided_((2,), (1,)),
    "as_strided_ of more dimensions": lambda t, y: y.as_strided_((1, 3, 1), (1, 1, 1)),
    "resize_": lambda t, y: y.resize_(6),
    "data": lambda t, y: setattr(y, "data", t.ones(2)),
    "larger data": lambda t, y: setattr(y, "data", t.ones(2, 3, 1)),
}


@pytest.mark.parametrize("kind", ["result", "base", "view", "hooks", "one of several"])
@pytest.mark.parametrize("reshape", RESHAPING.values(), ids=list(RESHAPING))
def test_another_shape_without_history(reshape: Write, kind: str) -> None:
    """The gradient is summed to the shape of the node, or is an error; a view is another view."""

    def program(t: Any, log: Log) -> None:
        x = t.tensor([[0.0], [1.0], [2.0]], requires_grad=True)
        y = x * 2
        called: list[Any] = []
        if kind == "base":
            other = y[1:]
        elif kind == "view":
            y = y[:, :]
        elif kind == "one of several":
            y, other = t.stack([y, y]).unbind()
        elif kind == "hooks":
            y.retain_grad()
            y.register_hook(lambda g: called.append(g.tolist()))
        with t.no_grad():
            log.attempt(lambda: [reshape(t, y), None][1])
        log(list(y.shape), y.requires_grad)
        log.attempt(lambda: y.grad_fn.name())
        if kind == "base":
            log.attempt(lambda: other.sum().backward(retain_graph=True))
        log.attempt(lambda: (y * y).sum().backward(retain_graph=True))
        log(x.grad, called, y.grad if kind == "hooks" else None)

    compare(program)


@pytest.mark.parametrize("kind", ["result", "view"])
def test_a_retained_gradient_after_a_change_of_shape(kind: str) -> None:
    def program(t: Any, log: Log) -> None:
        x = t.arange(6.0).reshape(2, 3).requires_grad_()
        y = x * 2
        y = y if kind == "result" else y[:, 1:]
        y.retain_grad()
        y.transpose_(0, 1)
        log(list(y.shape), y.grad_fn.name())
        (y[0] ** 2).sum().backward()
        log(x.grad, y.grad)

    compare(program)


def test_the_error_of_a_gradient_that_does_not_fit() -> None:
    x = torch.ones(3, 1, requires_grad=True)
    y = x * 2
    with torch.no_grad():
        y.squeeze_()
    with pytest.raises(
        RuntimeError,
        match=r"the result of MulBackward0 returned an invalid gradient at index 0 - got \[3\] "
        r"but expected shape compatible with \[3, 1\]: the shape .* without history",
    ):
        y.sum().backward()
    assert x.grad is None


def test_detach_within_inference_mode_does_nothing() -> None:
    def program(t: Any, log: Log) -> None:
        x = t.ones(2, requires_grad=True)
        y = x * 2
        with t.inference_mode():
            y.detach_()
            y[:1].detach_()
        log(y.requires_grad, y.grad_fn.name())

    compare(program)


AFTER_DETACH: dict[str, Write] = {
    "mul_": lambda t, x: x.mul_(2),
    "a write to a view": lambda t, x: _without_grad(t, lambda: x[:1].mul_(2)),
    "no_grad": lambda t, x: _without_grad(t, lambda: x.mul_(2)),
    "copy_": lambda t, x: x.copy_(t.ones(2, 2)),
    "unsqueeze_": lambda t, x: x.unsqueeze_(0),
    "requires_grad_": lambda t, x: _without_grad(t, lambda: x.requires_grad_().mul_(2)),
}


def _without_grad(t: Any, write: Callable[[], object]) -> None:
    with t.no_grad():
        write()


@pytest.mark.parametrize("write", AFTER_DETACH.values(), ids=list(AFTER_DETACH))
def test_views_of_a_detached_tensor_lose_its_history_with_a_write(write: Write) -> None:
    def program(t: Any, log: Log) -> None:
        w = t.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
        x = w * 1.5
        views = x.t(), x.view(4), x[:1][0]
        for view in views:
            view.register_hook(lambda g: log("hook", g))
        x.detach_()
        write(t, x)
        for view in views:
            log(view.requires_grad, view.is_leaf, view.grad_fn.name())
            (view * view).sum().backward()
        log(w.grad, x.grad)

    compare(program)


def test_what_renorm_refuses() -> None:
    def program(t: Any, log: Log) -> None:
        for call in (
            lambda: t.renorm(t.ones(3), 2, 0, 1.0),
            lambda: t.renorm(t.ones(2, 3), 2, 0, -1.5),
            lambda: t.renorm(t.ones(2, 3), 0, 0, 1.0),
            lambda: t.renorm(t.ones(2, 3), 1j, 0, 1.0),
        ):
            try:
                log(call())
            except RuntimeError as error:
                log(str(error))

    compare(program)


def test_take_along_dim_counts_from_the_end() -> None:
    def program(t: Any, log: Log) -> None:
        x = t.arange(6.0).reshape(2, 3).requires_grad_()
        y = t.take_along_dim(x, t.tensor([[-1, 0], [-3, 1]]), 1)
        (y * t.tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
        log(y, x.grad)
        log.attempt(lambda: t.take_along_dim(x, t.tensor([-1])))

    compare(program)
