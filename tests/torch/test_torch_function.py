"""autograd.Function: contexts, gradients, errors, memory, transforms; as PyTorch's."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest
from transcripts import Log, compare, logged

import tapegrad.torch as torch
from tapegrad.torch import func
from tapegrad.torch.autograd import Function, gradcheck, gradgradcheck

PROGRAMS: dict[str, Any] = {}


def program(function: Any) -> Any:
    PROGRAMS[function.__name__] = function
    return function


def made(T: Any, backward: Any, forward: Any = None) -> Any:
    """A Function of a forward and a backward, given as plain functions."""

    class F(T.autograd.Function):
        @staticmethod
        def forward(ctx, *args):
            return args[0] * 2 if forward is None else forward(ctx, *args)

        @staticmethod
        def backward(ctx, *gradients):
            return backward(ctx, *gradients)

    return F


def saving(T: Any, compute: Any, derivative: Any) -> Any:
    """A Function that saves its argument and its result."""

    class Saving(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = compute(x)
            ctx.save_for_backward(x, None, y)
            return y

        @staticmethod
        def backward(ctx, g):
            x, nothing, y = ctx.saved_tensors
            assert nothing is None
            return derivative(x, y) * g

    return Saving


@program
def gradients(T: Any, log: Log) -> None:
    x = T.tensor([1.0, 2.0], requires_grad=True)
    y = T.ones(3, requires_grad=True)

    def run(backward: Any, *args: Any, text: str = "") -> None:
        x.grad = y.grad = None
        log.attempt(lambda: made(T, backward).apply(*args).sum().backward(), text)
        log(x.grad, y.grad)

    run(lambda _, g: g * 3, x)
    run(lambda _, g: (g, None), x, 3)
    run(lambda _, g: (g, None, None), x)  # None too many does no harm
    run(lambda _, g: (g, g), x, text="incorrect number of gradients (expected 1, got 2)")
    run(lambda _, g: g, x, y, text="incorrect number of gradients (expected 2, got 1)")
    run(lambda _, g: (g, g), x, 3, text="returned a gradient different than None at position 2")
    run(lambda _, g: T.ones(5), x, text="got [5] but expected shape compatible with [2]")
    run(lambda _, g: T.ones(1), x, text="got [1] but expected shape compatible with [2]")
    run(lambda _, g: T.ones(4, 2), x)
    run(lambda _, g: g.double(), x)
    run(lambda _, g: g.long(), x)
    run(lambda _, g: g * 1j, x)
    run(lambda _, g: 3.0, x, text="expected Variable or None (got float)")
    run(lambda _, g: None, x)
    run(lambda _, g: (None, T.ones(3)), x, y)


@program
def outputs(T: Any, log: Log) -> None:
    x = T.tensor([1.0, 2.0], requires_grad=True)

    def several(ctx: Any, x: Any, k: Any) -> Any:
        ctx.k = k
        return x * k, x.sum(), 5, "five"

    seen: list[Any] = []
    F = made(T, lambda ctx, *g: (seen.append(g), g[0] * ctx.k, None)[1:], several)
    a, b, c, d = F.apply(x, 3)
    log(a, b, c, d, a.output_nr, b.output_nr, a.grad_fn is b.grad_fn, a.grad_fn.k)
    log(a.grad_fn.name(), type(a.grad_fn).__name__, a.grad_fn.needs_input_grad)
    a.sum().backward()
    log(seen[0], x.grad)

    def constant(ctx: Any, x: Any) -> Any:
        b = x * 3
        ctx.mark_non_differentiable(b)
        return x * 2, b

    a, b = made(T, lambda ctx, *g: (seen.append(g), g[0])[1], constant).apply(x)
    log(a, b)
    a.sum().backward()
    log(seen[1])

    def bare(ctx: Any, x: Any) -> Any:
        ctx.set_materialize_grads(False)
        return x * 2, x * 3

    a, b = made(T, lambda ctx, *g: (seen.append(g), g[0])[1], bare).apply(x)
    a.sum().backward()
    log(seen[2])
    log(made(T, None, lambda _, x: [x * 2]).apply(x)[0])
    log(made(T, None, lambda _, x: x > 1).apply(x))
    log(made(T, None).apply(x.detach()))
    with T.no_grad():
        log(made(T, None).apply(x))


@program
def absent(T: Any, log: Log) -> None:
    """A backward that gives nothing: a Function further back gets zeros."""
    x = T.tensor([1.0, 2.0], requires_grad=True)
    none = made(T, lambda _, g: None)
    seen: list[Any] = []
    noting = made(T, lambda _, g: (seen.append(g), g)[1])
    none.apply(noting.apply(x)).sum().backward()
    log(x.grad, seen)
    x.grad = None
    none.apply(noting.apply(x) * 2).sum().backward()
    log(x.grad, seen)
    x.grad = None
    none.apply(x * 2).sum().backward()
    log(x.grad)


@program
def missing(T: Any, log: Log) -> None:
    x = T.tensor([1.0, 2.0], requires_grad=True)

    class Half(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    class Both(Half):
        @staticmethod
        def backward(ctx, g):
            return g

        @staticmethod
        def vjp(ctx, g):
            return g

    class ByVjp(Half):
        @staticmethod
        def vjp(ctx, g):
            return g * 5

    log.attempt(lambda: Half.apply(x).sum().backward(), "You must implement either the backward")
    log.attempt(lambda: Both.apply(x).sum().backward(), "You should only implement one of them")
    log(T.autograd.grad(ByVjp.apply(x).sum(), x))
    log.attempt(lambda: T.autograd.Function.apply(x), "You must implement the forward function")
    log.attempt(lambda: Half()(x), "Legacy autograd function with non-static forward method")
    log(Half.apply(x=x))


@program
def saved(T: Any, log: Log) -> None:
    x = T.tensor([1.0, 2.0], requires_grad=True)
    F = saving(T, lambda x: x.exp(), lambda x, y: y)
    y = F.apply(x)
    log(y.grad_fn.saved_tensors[2].grad_fn is y.grad_fn, y.grad_fn.saved_tensors)
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    log.attempt(lambda: y.sum().backward(), "Trying to backward through the graph a second time")
    log.attempt(lambda: y.grad_fn.saved_tensors, "Trying to backward through the graph")
    nothing = made(T, lambda _, g: g).apply(x)
    nothing.sum().backward()
    nothing.sum().backward()
    log(x.grad)
    y = F.apply(x)
    with T.no_grad():
        x.add_(1)
    log.attempt(lambda: y.sum().backward(), "is at version 1; expected version 0 instead")
    y = F.apply(x)
    y.detach().add_(1)
    log.attempt(lambda: y.sum().backward(), "which is output 0 of Saving, is at version 1")
    log.attempt(
        lambda: made(T, None, lambda ctx, x: ctx.save_for_backward(x, 3)).apply(x),
        "save_for_backward can only save variables, but argument 1 is of type int",
    )


@program
def repeated(T: Any, log: Log) -> None:
    """Derivatives of a backward: of arguments, of results, of one of several results."""
    x = T.tensor([0.5, 2.0], requires_grad=True)
    for F in (
        saving(T, lambda x: x * x * x, lambda x, y: 3 * x * x),
        saving(T, lambda x: x.exp(), lambda x, y: y),
    ):
        g = F.apply(x)
        for _ in range(3):
            (g,) = T.autograd.grad(g.sum(), x, create_graph=True)
            log(g)

    class Two(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            z = y * 2
            ctx.save_for_backward(y, z)
            return y, z

        @staticmethod
        def backward(ctx, g, k):
            y, z = ctx.saved_tensors
            return g * y + k * z

    y, z = Two.apply(x)
    (g,) = T.autograd.grad(y.sum() * 3 + z.sum(), x, create_graph=True)
    log(g, T.autograd.grad(g.sum(), x, retain_graph=True))
    (g,) = T.autograd.grad(y.sum(), x, create_graph=True)
    del y
    log(g, T.autograd.grad(g.sum() + z.sum(), x))


@program
def once(T: Any, log: Log) -> None:
    class Once(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        @T.autograd.function.once_differentiable
        def backward(ctx, g):
            assert not T.is_grad_enabled()
            return g * 2

    x = T.tensor([1.0, 2.0], requires_grad=True)
    w = T.ones(2, requires_grad=True)
    y = (Once.apply(x) * w).sum()
    log(T.autograd.grad(y, x, retain_graph=True))
    (g,) = T.autograd.grad(y, x, create_graph=True)
    log.attempt(lambda: g.sum().backward(), "trying to differentiate twice a function")


@program
def views_and_writes(T: Any, log: Log) -> None:
    x = T.tensor([1.0, 2.0], requires_grad=True)
    itself = made(T, lambda _, g: g * 5, lambda _, x: x)
    y = itself.apply(x)
    log(y is x, y._is_view(), y._base is x)
    log.attempt(lambda: y.add_(1), "This view was created inside a custom Function")
    w = x * 1
    y = itself.apply(w)
    log(T.autograd.grad(y.sum(), x, retain_graph=True))
    w.mul_(2)
    log.attempt(lambda: y.sum().backward(), "is a view and its base or another view")
    part = made(T, lambda _, g: T.ones(2), lambda _, x: x[:1])
    y = part.apply(x * 1)
    log(y._is_view(), y)
    log.attempt(lambda: y.add_(1), "is a view and is being modified inplace")

    def write(ctx: Any, x: Any) -> Any:
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    dirty = made(T, lambda _, g: g * 7, write)
    log.attempt(lambda: dirty.apply(x), "a leaf Variable that requires grad has been used")
    w = x * 1
    log(dirty.apply(w) is w, type(w.grad_fn).__name__, w._version, w)
    log(T.autograd.grad(w.sum(), x))
    w = x * 1
    v = w[:1]
    dirty.apply(v)
    log(w, v, T.autograd.grad(w.sum(), x))
    log.attempt(lambda: dirty.apply(x[:1]), "a view of a leaf Variable that requires grad")
    lost = made(T, None, lambda ctx, x: (write(ctx, x), x * 1)[1])
    log.attempt(lambda: lost.apply(x * 1), "Some elements marked as dirty")
    more = made(T, None, lambda ctx, x: (write(ctx, x), x * 3))
    log.attempt(lambda: more.apply((x * 1)[:1]), "your Function cannot return more than one")


@program
def complex_numbers(T: Any, log: Log) -> None:
    """Gradients in PyTorch's convention go through a backward as they are."""
    z = T.tensor([1 + 2j, -0.5j], requires_grad=True)
    F = saving(T, lambda x: x * x, lambda x, y: 2 * x.conj())
    loss = (F.apply(z) * (1 - 3j)).abs().sum()
    log(T.autograd.grad(loss, z))
    loss = ((z * z) * (1 - 3j)).abs().sum()
    log(T.autograd.grad(loss, z))


@program
def nodes(T: Any, log: Log) -> None:
    x = T.tensor([1.0, 2.0], requires_grad=True)
    y = T.ones(2)
    F = made(T, lambda ctx, g: (g * 2, None, None), lambda ctx, a, n, b: a + b)
    z = F.apply(x, 3, y)
    log([(e is None, i) for e, i in z.grad_fn.next_functions], z.grad_fn.needs_input_grad)
    z.grad_fn.register_prehook(lambda gs: (log("before", gs), (gs[0] * 10,))[1])
    z.grad_fn.register_hook(lambda inner, outer: log("after", inner[0], outer))
    z.register_hook(lambda g: log("tensor", g))
    z.sum().backward()
    log(x.grad)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_see_what_they_see_with_pytorch(name):
    compare(PROGRAMS[name])


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_run(name):
    assert logged(PROGRAMS[name])


class Power(Function):
    """A Function with everything that the transforms ask for."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x, k=3):
        return x**k

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.k = inputs
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * ctx.k * x ** (ctx.k - 1), None

    @staticmethod
    def jvp(ctx, tangent, _):
        (x,) = ctx.saved_tensors
        return tangent * ctx.k * x ** (ctx.k - 1)


class Plain(Function):
    """The same without a setup_context and a jvp."""

    @staticmethod
    def forward(ctx, x, k=3):
        ctx.save_for_backward(x)
        ctx.k = k
        return x**k

    backward = Power.backward


X = torch.tensor([0.5, 2.0, -1.0], dtype=torch.float64)


@pytest.mark.parametrize("F", [Power, Plain])
def test_within_functional_transforms(F):
    x, ones = X, torch.ones(3, dtype=torch.float64)
    np.testing.assert_allclose(
        func.grad(lambda x: F.apply(x).sum())(x).numpy(), 3 * X.numpy() ** 2
    )
    twice = func.grad(lambda a: func.grad(lambda x: F.apply(x).sum())(a).sum())(x)
    np.testing.assert_allclose(twice.numpy(), 6 * X.numpy())
    primal, tangent = func.jvp(lambda x: F.apply(x, 2), (x,), (ones,))
    np.testing.assert_allclose(primal.numpy(), X.numpy() ** 2)
    np.testing.assert_allclose(tangent.numpy(), 2 * X.numpy())
    np.testing.assert_allclose(func.vmap(F.apply)(x).numpy(), X.numpy() ** 3)
    np.testing.assert_allclose(func.vmap(func.grad(F.apply))(x).numpy(), 3 * X.numpy() ** 2)
    for transform in (func.jacrev, func.jacfwd):
        np.testing.assert_allclose(transform(F.apply)(x).numpy(), np.diag(3 * X.numpy() ** 2))
    hessian = func.hessian(lambda x: F.apply(x).sum())(x)
    np.testing.assert_allclose(hessian.numpy(), np.diag(6 * X.numpy()))


def test_a_transform_of_a_tensor_that_requires_grad():
    x = X.clone().requires_grad_()
    inner = func.grad(lambda x: Power.apply(x).sum())(x)
    (found,) = torch.autograd.grad(inner.sum(), x)
    np.testing.assert_allclose(found.numpy(), 6 * X.numpy())


def test_vmap_of_ones_own():
    seen = []

    class Times(Function):
        @staticmethod
        def forward(x, y):
            return x * y

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            return g * y, g * x

        @staticmethod
        def vmap(info, in_dims, x, y):
            seen.append((info.batch_size, in_dims))
            return Times.apply(x, y), 0

    x, y = torch.ones(4, 3) * 2, torch.ones(3) * 5
    made = func.vmap(Times.apply, (0, None))(x, y)
    assert seen == [(4, (0, None))]
    assert made.tolist() == [[10.0] * 3] * 4
    slope = func.vmap(func.grad(lambda a, b: Times.apply(a, b).sum()), (0, None))(x, y)
    assert slope.tolist() == [[5.0] * 3] * 4


@pytest.mark.parametrize("F", [Power, Plain])
def test_gradcheck_and_gradgradcheck(F):
    x = X.clone().requires_grad_()
    assert gradcheck(F.apply, (x,))
    assert gradgradcheck(F.apply, (x,))


@pytest.mark.parametrize("several", [False, True])
def test_a_node_dies_with_its_outputs_by_counting_references(several):
    class Exp(Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(x, y)
            return (y, x * 2) if several else y

        @staticmethod
        def backward(ctx, g, *_):
            return g

    x = torch.ones(3, requires_grad=True)
    gc.collect()
    gc.disable()
    try:
        y = Exp.apply(x)
        y = y[0] if several else y
        held = y.grad_fn.saved_tensors
        node, value = weakref.ref(y.grad_fn), weakref.ref(held[1]._value)
        del held
        assert node() is not None
        del y
        assert node() is None
        assert value() is None
    finally:
        gc.enable()


def test_what_is_saved_is_freed_by_a_backward_pass():
    class Big(Function):
        @staticmethod
        def forward(ctx, x):
            middle = x * 2
            ctx.save_for_backward(middle)
            ctx.middle = weakref.ref(middle._value)
            return middle * 2

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0]

    x = torch.ones(3, requires_grad=True)
    y = Big.apply(x)
    assert y.grad_fn.middle() is not None
    y.sum().backward()
    assert y.grad_fn.middle() is None


def test_saved_variables_is_the_old_name():
    F = saving(torch, lambda x: x * 2, lambda x, y: 2)
    node = F.apply(torch.ones(2, requires_grad=True)).grad_fn
    with pytest.warns(DeprecationWarning, match="use 'saved_tensors'"):
        assert len(node.saved_variables) == 3


def test_an_instance_is_made_with_a_warning():
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        Power()


def test_grads_batched_go_through_a_function():
    x = X.clone().requires_grad_()
    y = Power.apply(x)
    batch = torch.eye(3, dtype=torch.float64)
    (rows,) = torch.autograd.grad(y, x, batch, is_grads_batched=True)
    np.testing.assert_allclose(rows.numpy(), np.diag(3 * X.numpy() ** 2))


def test_attributes_of_a_context():
    class Named(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.name, ctx.metadata_of = "mine", {"a": 1}
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            assert ctx.name == "mine"
            return g, g

    x = torch.ones(2, requires_grad=True)
    y = Named.apply(x)
    assert y.grad_fn.name == "mine"
    with pytest.raises(RuntimeError, match="function NamedBackward returned an incorrect"):
        y.sum().backward()


@pytest.mark.parametrize("name", ["_number", "_entry", "_hooks"])
def test_a_name_that_the_graph_needs_is_refused(name):
    F = made(torch, None, lambda ctx, x: (setattr(ctx, name, 5), x * 2)[1])
    with pytest.raises(
        AttributeError, match="an attribute of ctx has a name that the graph needs"
    ):
        F.apply(torch.ones(2, requires_grad=True))


# --- Forward mode, as PyTorch's own tests expect it ---------------------------------------------


def _dual_call(function: Any, x: Any) -> Any:
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x, torch.ones_like(x))
        return torch.autograd.forward_ad.unpack_dual(function(dual)).tangent


@pytest.mark.parametrize(
    ("jvp", "text"),
    [
        (lambda t: t[:2], None),
        (lambda t: t[:2].clone(), "jvp is not returning a view."),
        (lambda t: t[:2].clone()[:], "jvp is not returning a view of the given grad input."),
    ],
)
def test_the_tangent_of_a_view_is_a_view_of_the_tangent(jvp, text):
    class View(Function):
        @staticmethod
        def forward(ctx, x):
            return x[:2]

        @staticmethod
        def jvp(ctx, t):
            return jvp(t)

    x = torch.rand(4)
    if text is None:
        assert _dual_call(View.apply, x).tolist() == [1, 1]
        return
    with pytest.raises(RuntimeError, match=text):
        _dual_call(View.apply, x)
    if "given" in text:
        with pytest.raises(RuntimeError, match="a view of the same base as the given grad input"):
            _dual_call(lambda x: View.apply(x.view_as(x)), x)


@pytest.mark.parametrize("in_place", [True, False])
def test_the_tangent_of_what_is_written_is_written(in_place):
    class Doubled(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def jvp(ctx, t):
            return t.mul_(2) if in_place else t * 2

    def call(x):
        return Doubled.apply(x.clone())

    if in_place:
        assert _dual_call(call, torch.rand(2)).tolist() == [2, 2]
        return
    with pytest.raises(RuntimeError, match="not modifying the forward mode gradients inplace"):
        _dual_call(call, torch.rand(2))


def test_a_jvp_has_what_was_saved_for_forward_alone():
    seen = []

    class Copy(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.clone()

        @staticmethod
        def jvp(ctx, t):
            seen.append(ctx.saved_tensors)
            return t

    _dual_call(Copy.apply, torch.ones(2))
    assert seen == [()]


def test_a_function_without_derivatives_misses_a_jvp():
    class Alone(Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

    with pytest.raises(NotImplementedError, match="must implement the jvp function"):
        _dual_call(Alone.apply, torch.ones(2))


def test_a_view_from_a_function_is_not_written_with_grad():
    class View(Function):
        @staticmethod
        def forward(ctx, x):
            return x.view_as(x)

    view = View.apply(torch.rand(1, 2))
    with pytest.raises(RuntimeError, match="This view was created inside a custom Function"):
        view += torch.rand(1, requires_grad=True)
    with torch.no_grad():
        view = View.apply(torch.rand(1, 2))
    with pytest.raises(RuntimeError, match=r"in no_grad mode .* Given that this use case is"):
        view += torch.rand(1, requires_grad=True)
