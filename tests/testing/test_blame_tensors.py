"""gradcheck(..., blame=True): custom Functions that are wrong in each way are named."""

from __future__ import annotations

import numpy as np
import pytest

import tapegrad.torch as torch
from tapegrad.torch.autograd import Function, gradcheck, gradgradcheck
from tapegrad.torch.autograd.function import once_differentiable

Y = torch.tensor([0.2, 0.3, 0.9], dtype=torch.float64)


def tensor(values=(0.5, 1.5, 0.7)):
    return torch.tensor(list(values), dtype=torch.float64, requires_grad=True)


def kept(ctx, x):
    ctx.save_for_backward(x)
    return x**3


def right(ctx, g):
    (x,) = ctx.saved_tensors
    return 3 * x**2 * g


def wrong(ctx, g):
    (x,) = ctx.saved_tensors
    return 2 * x**2 * g


def kind_of(backward=right, forward=kept, **methods):
    """A Function `Cube`."""
    methods = {"forward": forward, "backward": backward, **methods}
    return type("Cube", (Function,), {k: staticmethod(v) for k, v in methods.items()})


def applied(kind):
    return lambda x: (kind.apply(x.sin() * 2).cos() + x).sum()


def error_of(check, f, *inputs, **options):
    with pytest.raises(Exception) as info:  # noqa: PT011 - whose type is not what is asked
        check(f, inputs or (tensor(),), blame=True, **options)
    return "\n".join((str(info.value), *getattr(info.value, "__notes__", ())))


def non_differentiable(ctx, x):
    out = kept(ctx, x)
    ctx.mark_non_differentiable(out)
    return out


def doubled_in_place(ctx, x):
    x *= 2
    ctx.mark_dirty(x)
    return x


def with_forward(ctx, x):
    ctx.save_for_forward(x)
    return kept(ctx, x)


@pytest.mark.part(2)
@pytest.mark.parametrize(
    "kind",
    [
        kind_of(wrong),
        kind_of(lambda ctx, g: None),  # where a gradient is needed
        kind_of(once_differentiable(wrong)),
        kind_of(right, non_differentiable),
        kind_of(lambda ctx, g: g, doubled_in_place),
        kind_of(
            wrong,
            lambda x: x**3,
            setup_context=lambda ctx, given, _: ctx.save_for_backward(*given),
        ),
    ],
)
def test_a_wrong_backward_is_named(kind):
    text = error_of(gradcheck, applied(kind))
    assert "The derivative of Cube" in text
    assert "vjp by argument 0, at element [0] of float64[3]" in text


def test_a_wrong_jvp_is_named():
    kind = kind_of(right, with_forward, jvp=wrong)
    assert gradcheck(applied(kind), (tensor(),), blame=True)
    text = error_of(gradcheck, applied(kind), check_forward_ad=True, check_backward_ad=False)
    assert "The derivative of Cube" in text
    assert "jvp by argument 0" in text


def test_a_wrong_double_backward_is_named():
    kind = kind_of(lambda ctx, g: 3 * ctx.saved_tensors[0].detach() ** 2 * g)
    assert gradcheck(applied(kind), (tensor(),), blame=True)
    text = error_of(gradgradcheck, applied(kind))
    assert "The derivative of Cube" in text
    assert "first derivatives are right" in text


def product(order):
    """A Function of two arguments that asks `needs_input_grad` of them in an order."""

    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x**2 * y

    def backward(ctx, g):
        x, y = ctx.saved_tensors
        first, second = (ctx.needs_input_grad[at] for at in order)
        return (2 * x * y * g if first else None, x**2 * g if second else None)

    return kind_of(backward, forward)


@pytest.mark.parametrize(
    ("of", "at"),
    [
        (lambda kind: lambda x: kind.apply(x.sin(), Y).cos(), 0),
        (lambda kind: lambda x: kind.apply(Y, x.exp()).cos(), 1),
    ],
)
def test_needs_input_grad_of_another_input_is_named_with_the_argument(of, at):
    assert gradcheck(of(product((0, 1))), (tensor(),), blame=True)
    text = error_of(gradcheck, of(product((1, 0))))
    assert "The derivative of Cube is wrong, within Cube.apply" in text
    assert f"vjp by argument {at}, at element [0]" in text


@pytest.mark.parametrize(
    ("kind", "check", "error"),
    [
        (kind_of(once_differentiable(right)), gradgradcheck, "RuntimeError"),
        (kind_of(lambda ctx, g: (g, g)), gradcheck, "RuntimeError"),
        (kind_of(lambda ctx, g: g.sum()), gradcheck, "RuntimeError"),
        (kind_of(lambda ctx, g: 1 / 0), gradcheck, "ZeroDivisionError"),
    ],
)
def test_a_derivative_that_raises_is_named(kind, check, error):
    text = error_of(check, applied(kind))
    assert f"The derivative of Cube.apply raises {error}, called in File" in text


def test_a_function_within_vmap_is_named():
    kind = kind_of(wrong)
    text = error_of(gradcheck, lambda x: torch.func.vmap(lambda y: kind.apply(y.sin()))(x))
    assert "The derivative of Cube" in text


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x[::2],
        lambda x: x.reshape(2, 2).T,
        lambda x: x.expand(2, 4),
    ],
)
def test_a_backward_that_is_wrong_for_a_layout_is_named(view):
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * g * (1 if x.is_contiguous() else 2)

    kind = kind_of(backward)
    text = error_of(gradcheck, lambda x: kind.apply(view(x)), tensor(np.linspace(0.1, 0.4, 4)))
    assert "The derivative of Cube" in text
