"""The words of errors and warnings: programs match on them, so they are PyTorch's."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from pytorch_answers import of_pytorch

import tapegrad.torch as torch

# Each a function of the namespace, which ends in an error, and the beginning of its message.
Program = Callable[[Any], Any]


def leaf(T: Any, *shape: int) -> Any:
    return T.ones(*shape, dtype=T.float64, requires_grad=True)


def strict(name: str, of: Program, **options: Any) -> Program:
    return lambda T: getattr(T.autograd.functional, name)(
        lambda x: of(x).sum() if name[1:] in ("vp", "hp", "essian") else of(x),
        leaf(T, 2),
        **({} if name in ("jacobian", "hessian") else {"v": T.ones(2, dtype=T.float64)}),
        strict=True,
        **options,
    )


def with_view(make: Callable[[Any, Any], Any], use: Callable[[Any, Any], Any]) -> Program:
    def program(T: Any) -> Any:
        x = leaf(T, 4).clone()
        return use(x, make(T, x))

    return program


def in_mode(mode: str) -> Callable[[Any, Any], Any]:
    def make(T: Any, x: Any) -> Any:
        with getattr(T, mode)():
            return x[:2]

    return make


def changed(T: Any, write: Callable[[Any, Any], Any]) -> Any:
    x = T.ones(2, requires_grad=True)
    y = x * 2
    z = write(x, y)
    z.sum().backward()


def after_write(compute: Callable[[Any], Any], argument: bool) -> Program:
    def write(_x: Any, y: Any) -> Any:
        z = compute(y)
        (y if argument else z).add_(1)
        return z

    return lambda T: changed(T, write)


def hooked(hook: Callable[[Any, Any], Any]) -> Program:
    def program(T: Any) -> Any:
        x = T.ones(2, requires_grad=True)
        x.register_hook(lambda g: hook(T, g))
        x.sum().backward()

    return program


def dirty(make: Callable[[Any], Any], given: Callable[[Any], Any]) -> Program:
    def program(T: Any) -> Any:
        class Write(T.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.mark_dirty(given(x))
                return x.add_(1)

            @staticmethod
            def backward(ctx, g):
                return g

        return Write.apply(make(T))

    return program


INDEPENDENT = "The output of the user-provided function is independent of input 0. This is not"
TWICE = "While computing the hessian, found that the jacobian of the user-provided function"
SEVERAL = "is a view and is being modified inplace. This view is the output of a function that"
CHANGED = "one of the variables needed for gradient computation has been modified by an inplace "

PROGRAMS: dict[str, tuple[Program, str]] = {
    "strict, vjp of another leaf": (
        lambda T: T.autograd.functional.vjp(
            lambda x: leaf(T, 2) * 1, leaf(T, 2), T.ones(2, dtype=T.float64), strict=True
        ),
        INDEPENDENT,
    ),
    "strict, vjp of a linear function": (
        strict("vjp", lambda x: x * 2, create_graph=True),
        "The jacobian of the user-provided function is independent of input 0. This is not",
    ),
    "strict, vhp of a linear function": (strict("vhp", lambda x: x * 2), TWICE),
    "strict, hvp of a linear function": (strict("hvp", lambda x: x * 2), TWICE),
    "strict, jacobian of a constant": (
        strict("jacobian", lambda x: x.detach()),
        "Output 0 of the user-provided function does not require gradients.",
    ),
    "v of a vector": (
        lambda T: T.autograd.functional.vjp(lambda x: x * 2, leaf(T, 2)),
        "The vector v can only be None if the user-provided function returns a single Tensor",
    ),
    "v of an input": (
        lambda T: T.autograd.functional.jvp(lambda x: x * 2, leaf(T, 2)),
        "The vector v can only be None if the input to the user-provided function is a single",
    ),
    "v of another length": (
        lambda T: T.autograd.functional.vjp(lambda x: x * 2, leaf(T, 2), (T.ones(2), T.ones(2))),
        "The given v should contain a single Tensor.",
    ),
    "v of another shape": (
        lambda T: T.autograd.functional.vjp(lambda x: x * 2, leaf(T, 2), T.ones(3)),
        "v has invalid size: should be torch.Size([2]) but got torch.Size([3]).",
    ),
    "vhp of a vector": (
        lambda T: T.autograd.functional.vhp(lambda x: x * 2, leaf(T, 2), T.ones(2)),
        "The Tensor returned by the function given to vhp should contain a single element",
    ),
    "hessian of two": (
        lambda T: T.autograd.functional.hessian(lambda x: (x.sum(), x.sum()), leaf(T, 2)),
        "The function given to hessian should return a single Tensor",
    ),
    "an input that is no tensor": (
        lambda T: T.autograd.functional.jacobian(lambda x: x * 2, 3.0),
        "The inputs given to jacobian must be either a Tensor or a tuple of Tensors but the given",
    ),
    "one of several views": (
        with_view(lambda T, x: x.unbind()[1], lambda x, v: v.add_(1)),
        f"Output 1 of Unbind {SEVERAL}",
    ),
    "one of several views of a leaf": (
        lambda T: leaf(T, 4).chunk(2)[0].add_(1),
        f"Output 0 of Split {SEVERAL}",
    ),
    "base of several views": (
        with_view(lambda T, x: x.split(2)[0], lambda x, v: (x.add_(1), v.grad_fn)),
        "Output 0 of Split is a view and its base or another view of its base has been modified",
    ),
    "a view without gradients": (
        with_view(in_mode("no_grad"), lambda x, v: v.add_(1)),
        "A view was created in no_grad mode and is being modified inplace with grad mode enabled.",
    ),
    "a view of inference mode": (
        with_view(in_mode("inference_mode"), lambda x, v: v.add_(1)),
        "A view was created in inference mode and is being modified inplace in normal mode.",
    ),
    "a changed argument": (
        after_write(lambda y: y * y, argument=True),
        f"{CHANGED}operation: [torch.FloatTensor [2]], which is output 0 of Add, is at version 1",
    ),
    "a changed result": (
        after_write(lambda y: y.exp(), argument=False),
        f"{CHANGED}operation: [torch.FloatTensor [2]], which is output 0 of Exp, is at version 1",
    ),
    "a hook that changes the dtype": (
        hooked(lambda T, g: g.double()),
        "hook '<lambda>' has changed the type of value (was torch.FloatTensor got torch.Double",
    ),
    "a gradient of another shape": (
        lambda T: setattr(leaf(T, 2), "grad", T.ones(3, dtype=T.float64)),
        "attempting to assign a gradient of size '[3]' to a tensor of size '[2]'. Please",
    ),
    "an unused input": (
        lambda T: T.autograd.grad(leaf(T, 2).sum(), [leaf(T, 1)]),
        "The differentiated Tensor at index 0 appears to not have been used in the graph.",
    ),
    "no graph": (
        lambda T: T.ones(2).backward(),
        "element 0 of tensors does not require grad and does not have a grad_fn",
    ),
    "deleted data": (
        lambda T: delattr(T.ones(2), "data"),
        "Deleting tensor data is not allowed. Delete tensor instead!",
    ),
    "a write to a leaf that is a view": (
        dirty(lambda T: T.ones(2)[:1].requires_grad_(), lambda x: x),
        "a leaf Variable that requires grad has been used in an in-place operation.",
    ),
    "a dirty number": (
        dirty(lambda T: leaf(T, 2).clone(), lambda x: 3),
        "mark_dirty can only accept variables, but argument ",
    ),
    "a callback outside": (
        lambda T: T.autograd.Variable._execution_engine.queue_callback(print),
        "Final callbacks can only be installed during backward pass.",
    ),
    "resize of a leaf": (
        lambda T: leaf(T, 2).resize_(3),
        "cannot resize variables that require grad",
    ),
    "gradcheck of a shape that changes": (
        lambda T: T.autograd.gradcheck(lambda x: x[x > 1.0], leaf(T, 3)),
        "Expected `func` to return outputs with the same shape when inputs are perturbed on index",
    ),
    "gradcheck of a dtype that changes": (
        lambda T: T.autograd.gradcheck(
            lambda x: x.to(T.complex128) if x.sum().item() > 3 else x * 2, leaf(T, 3)
        ),
        "Expected `func` to return outputs with the same dtype when inputs are perturbed on index",
    ),
}


def message_of(T: Any, program: Program) -> tuple[str, str]:
    """The class and the message of the error in which a program ends."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            program(T)
        except (RuntimeError, TypeError, AssertionError) as error:
            return type(error).__name__, str(error)
    return "", ""


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_message(name: str) -> None:
    program, words = PROGRAMS[name]
    assert message_of(torch, program)[1].startswith(words)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_message_is_that_of_pytorch(name: str) -> None:
    program, words = PROGRAMS[name]
    kind, text = of_pytorch(lambda t: message_of(t, program))
    assert text.startswith(words)
    assert message_of(torch, program)[0] == kind


def test_mark_dirty_of_what_is_no_input_warns() -> None:
    class Mark(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.clone()
            ctx.mark_dirty(y)
            return y

        @staticmethod
        def backward(ctx, g):
            return g

    with pytest.warns(UserWarning, match=re.escape("ctx.mark_dirty() received a tensor that was")):
        Mark.apply(leaf(torch, 2))


def test_anomaly_mode_tells_of_changed_values_and_of_both_calls() -> None:
    program = after_write(lambda y: y * y, argument=True)
    with (
        torch.autograd.set_detect_anomaly(True),
        pytest.warns(UserWarning, match="Error detected in MulBackward0"),
        pytest.raises(RuntimeError, match="Good luck!"),
    ):
        program(torch)

    class Inner(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            return g * float("nan")

    class Outer(Inner):
        @staticmethod
        def backward(ctx, g):
            return Inner.apply(g.clone())

    x, v = (torch.ones(2, requires_grad=True) for _ in range(2))
    with torch.autograd.set_detect_anomaly(True):
        (g,) = torch.autograd.grad(Outer.apply(x), x, v, create_graph=True)
        with pytest.warns() as told, pytest.raises(RuntimeError, match="returned nan values"):
            torch.autograd.grad(g.sum(), v)
    first, second = [str(warning.message) for warning in told]
    assert first.startswith("Error detected in InnerBackward")
    assert second.strip().startswith("Previous calculation was induced by OuterBackward")


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("Conv2d", "Conv2d"),
        ("ConvTranspose1d", "ConvTranspose1d"),
        ("LazyConv3d", "LazyConv3d"),
        ("ReflectionPad1d", "ReflectionPad1d"),
        ("ConstantPad2d", "ConstantPad2d"),
        ("ZeroPad3d", "ZeroPad3d"),
        ("GRUCell", "GRUCell"),
        ("BatchNorm2d", "BatchNorm2d"),
        ("TransformerEncoderLayer", "TransformerEncoderLayer"),
        ("Dropout2d", "_DropoutNd"),  # as PyTorch's
        ("LazyBatchNorm1d", "_LazyNormBase"),
        ("InstanceNorm1d", "InstanceNorm1d"),
    ],
)
def test_errors_of_arguments_show_the_class_that_pytorch_shows(name, shown):
    kind = getattr(torch.nn, name)
    with pytest.raises(TypeError, match=rf"^{shown}\.__init__\(\) got an unexpected keyword"):
        kind(1, no_such_word=3)
