"""State machines for tapegrad's own two interfaces: examples to copy for a library of yours.

A machine is a subclass of `tapegrad.testing.GraphMachine`, which says in lines of Python how the
library is used. `TapegradMachine` writes functions and differentiates them; `TorchMachine` does
the same with tensors, in PyTorch's names. They need the extra `tapegrad[test]`.

>>> from hypothesis import settings
>>> from hypothesis.stateful import run_state_machine_as_test
>>> few = settings(max_examples=1, stateful_step_count=5, deadline=None)
>>> run_state_machine_as_test(TapegradMachine, settings=few)
"""

from __future__ import annotations

from typing import ClassVar

from tapegrad.testing._machines.machine import GraphMachine
from tapegrad.testing._machines.shrinking import GraphError

__all__ = ["GraphError", "GraphMachine", "TapegradMachine", "TorchMachine"]


PRODUCT = """\
g = lambda leaves: np.sum(f(*leaves) * cotangent)
found = tapegrad.{0}(g, (leaves,), (directions,))
curvature = sum(np.sum(along * part) for along, part in zip(directions, found))"""
FORWARD_TWICE = """\
g = lambda *leaves: np.sum(f(*leaves) * cotangent)
slope = lambda *leaves: tapegrad.jvp(g, leaves, directions)[1]
curvature = tapegrad.jvp(slope, leaves, directions)[1]"""


class TapegradMachine(GraphMachine):
    """Functions of NumPy under `tapegrad.vjp` and `tapegrad.jvp`, plain and transformed.

    See Also
    --------
    GraphMachine : What its attributes mean.

    Examples
    --------
    >>> from hypothesis import settings
    >>> from hypothesis.stateful import run_state_machine_as_test
    >>> few = settings(TapegradMachine.TestCase.settings, max_examples=1, stateful_step_count=5)
    >>> run_state_machine_as_test(TapegradMachine, settings=few)
    """

    imports = "import tapegrad"
    operations: ClassVar = {
        **{
            text: text
            for text in (
                "np.sin({0})",
                "{0} * {1}",
                "{0} + {1}",
                "{0} - {1}",
                "np.exp({0} * 0.5)",
                "np.tanh({0})",
                "{0} / (1.5 + {1} * {1})",
                "np.maximum({0}, {1})",
                "np.abs({0})",
                "np.sum({0})",
                "np.mean({0}, axis=-1, keepdims=True)",
                "np.cumsum({0}, axis=-1)",
                "np.concatenate([np.ravel({0}), np.ravel({1})])",
                "np.where({0} > 0.0, {0}, {1})",
                "np.sort({0}, axis=-1)",
                "{0}[..., [0, -1, 0]]",
                "np.dot({0}, {1})",
                "np.roll({0}, 1, axis=-1)",
                "{0}.copy()",
                "np.stack([{0}, {0} * {1}])",
                "np.sin({0}) if np.sum({1}) > 0.0 else {0} * 0.5",
            )
        },
        # Transforms within the program, and what they are in closed form.
        "tapegrad.grad(lambda y: np.sum(np.sin(y)))({0})": "np.cos({0})",
        "tapegrad.hvp(lambda y: np.sum(y * y * y), ({0},), ({1}.reshape({0}.shape),))": (
            "6.0 * {0} * {1}.reshape({0}.shape)"
        ),
        "tapegrad.checkpoint(lambda y: np.sin(y) * y)({0})": "np.sin({0}) * {0}",
        "tapegrad.jvp(np.tanh, ({0},), ({0},))[1]": "(1.0 - np.tanh({0}) ** 2) * {0}",
        "tapegrad.vmap(lambda y: np.sin(y) * np.sum(y))({0})": "np.stack([np.sin(y) * np.sum(y) "
        "for y in {0}])",
    }
    views = (
        "{0}[..., ::-1]",
        "{0}.T",
        "{0}[:1]",
        "{0}[..., -2:]",
        "{0}.reshape(-1)",
        "{0}[..., ::2]",
        "{0}[None]",
        "{0}[0]",
        "{0}.swapaxes(0, -1)",
    )
    writes = (
        "{0}[...] = {1}",
        "{0}[..., :1] = {1}[..., :1]",
        "{0} *= {1}",
        "{0} += {1}",
        "{0}[0] = 0.5",
        "{0}[..., [-1]] = {1}[..., -1:]",
        "{0}[..., :2] -= {1}[..., :2]",
        "{0}[{0} > 0.5] *= 0.5",
        "np.sin({0}, out={0})",
    )
    detach = "tapegrad.stop_gradient({0}).copy()"  # of a plain array it is the array itself
    detach_shares = False
    write_constants = False  # a plain array cannot carry a derivative
    overlapping_writes = True
    vjp = "value, pull = tapegrad.vjp(f, *leaves)\ngradients = pull(cotangent)"
    jvp = (
        "value, slope = tapegrad.jvp(f, leaves, directions)",
        "value, push = tapegrad.linearize(f, *leaves)\nslope = push(*directions)",
    )
    second = (*(PRODUCT.format(name) for name in ("hvp", "vhp")), FORWARD_TWICE)
    functions = ("f", "tapegrad.checkpoint(f)")


class TorchMachine(GraphMachine):
    """Tensors of `tapegrad.torch`: versions, hooks, retained graphs, accumulated gradients.

    With `imports = "import torch"` the same machine tests PyTorch.

    See Also
    --------
    GraphMachine : What its attributes mean.

    Examples
    --------
    >>> from hypothesis import settings
    >>> from hypothesis.stateful import run_state_machine_as_test
    >>> few = settings(TorchMachine.TestCase.settings, max_examples=1, stateful_step_count=5)
    >>> run_state_machine_as_test(TorchMachine, settings=few)
    """

    imports = "import tapegrad.torch as torch"
    operations: ClassVar = {
        "torch.sin({0})": "np.sin({0})",
        "{0} * {1}": "{0} * {1}",
        "{0} + {1}": "{0} + {1}",
        "torch.exp({0} * 0.5)": "np.exp({0} * 0.5)",
        "torch.tanh({0})": "np.tanh({0})",
        "{0} / (1.5 + {1} * {1})": "{0} / (1.5 + {1} * {1})",
        "torch.maximum({0}, {1})": "np.maximum({0}, {1})",
        "torch.relu({0})": "np.maximum({0}, 0.0)",
        "{0}.sum()": "np.sum({0})",
        "{0}.mean(-1, keepdim=True)": "np.mean({0}, axis=-1, keepdims=True)",
        "{0}.cumsum(-1)": "np.cumsum({0}, axis=-1).reshape({0}.shape)",
        "torch.cat([{0}.reshape(-1), {1}.reshape(-1)])": "np.concatenate([{0}.ravel(), "
        "{1}.ravel()])",
        "torch.where({0} > 0.0, {0}, {1})": "np.where({0} > 0.0, {0}, {1})",
        "{0}[..., [0, -1, 0]]": "{0}[..., [0, -1, 0]]",
        "{0}.flip(0)": "np.flip({0}, 0).copy()",
        "{0}.clone()": "{0}.copy()",
        "torch.sqrt(torch.abs({0}) + 0.5)": "np.sqrt(np.abs({0}) + 0.5)",
    }
    views: ClassVar = {
        "{0}[:1]": "{0}[:1]",
        "{0}[..., -1:]": "{0}[..., -1:]",
        "{0}.mT": "{0}.mT",
        "{0}.reshape(-1)": "{0}.reshape(-1)",
        "{0}[..., ::2]": "{0}[..., ::2]",
        "{0}[None]": "{0}[None]",
        "{0}[0]": "{0}[0, ...]",
        "{0}.narrow(-1, 0, 1)": "{0}[..., :1]",
    }
    writes: ClassVar = {
        "{0}[...] = {1}": "{0}[...] = {1}",
        "{0}.mul_({1})": "{0}[...] *= {1}",
        "{0}.add_({1})": "{0}[...] += {1}",
        "{0}[..., :1] = {1}[..., :1]": "{0}[..., :1] = {1}[..., :1]",
        "{0}.zero_()": "{0}[...] = 0.0",
        "{0}.sin_()": "{0}[...] = np.sin({0})",
        "{0}[0] = 0.5": "{0}[0] = 0.5",
        "{0} *= 2.0": "{0}[...] *= 2.0",
        "{0}.copy_({1})": "{0}[...] = {1}",
        "{0}.clamp_(min=-1.0)": "{0}[...] = np.maximum({0}, -1.0)",
    }
    leaf = "torch.tensor({array}, dtype=torch.float64, requires_grad=True)"
    constant = "torch.tensor({array}, dtype=torch.float64)"
    value = "{0}.detach()"
    backward = (
        "{0}.backward(torch.tensor({cotangent}, dtype=torch.float64), retain_graph={retain})"
    )
    gradient = "{0}.grad"
    zero = "{0}.grad = None"
    detach = "{0}.detach()"
    no_grad = "torch.no_grad()"
    hook = "{0}.register_hook(lambda g: g * {factor})"
    retain = "{0}.retain_grad()"
    refuses = (RuntimeError,)
