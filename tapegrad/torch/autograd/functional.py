"""`torch.autograd.functional`: products with Jacobians and Hessians, and these themselves.

Knows `autograd.grad`. Must not know the graph.

Inputs and outputs are a tensor or a tuple of tensors. With `create_graph` the results can be
differentiated again, also with respect to the tensors from which the inputs were computed;
without, they have no history. With
`strict` an output that does not depend on an input is a RuntimeError, not a zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tapegrad
from tapegrad._core.types import Function, Tree
from tapegrad.torch._graph.modes import enable_grad
from tapegrad.torch._graph.tracing import is_differentiated
from tapegrad.torch._tensor.tensor import Tensor, array_of, of_value
from tapegrad.torch.autograd._passes import grad

Tensors = tuple[Tensor, ...]


# --- One call of a function of this module ------------------------------------------------------


class _Call:
    """A call of a function of this module: its name, for error messages, and its options."""

    def __init__(self, name: str, create_graph: bool, strict: bool) -> None:
        self.name, self.create_graph, self.strict = name, create_graph, strict

    # -- inputs and outputs ----------------------------------------------------------------------

    def as_tuple(self, given: object, what: str) -> tuple[Tensors, bool]:
        """A tensor or a tuple of tensors as a tuple, and whether it was a tuple."""
        is_tuple = isinstance(given, tuple)
        parts = given if isinstance(given, tuple) else (given,)
        for position, part in enumerate(parts):
            if not isinstance(part, Tensor):
                where = f"of type {type(part).__name__}"
                if is_tuple:
                    where = f"that contains a {type(part).__name__} at position {position}"
                raise TypeError(
                    f"The {what} given to {self.name} must be either a Tensor or a tuple of "
                    f"Tensors but got a value {where}."
                )
        return parts, is_tuple

    def leaves_of(self, inputs: Tree) -> tuple[Tensors, bool]:
        """The inputs as tensors that require grad; with create_graph they keep their history."""
        given, is_tuple = self.as_tuple(inputs, "inputs")
        found = []
        for x in given:
            if is_differentiated(x._value, forward=True):
                raise RuntimeError(
                    "torch.autograd.functional inside of a function that is being transformed by "
                    "torch.func, on a tensor that it differentiates by: use torch.func there."
                )
            if self.create_graph and x.requires_grad:
                found.append(x.view_as(x))
            else:
                found.append(x.detach().requires_grad_(True))
        return tuple(found), is_tuple

    def outputs_of(self, function: Function, inputs: Tensors) -> tuple[Tensors, bool]:
        """The outputs of the user's function; with `strict` they must require grad."""
        outputs, is_tuple = self.as_tuple(
            function(*inputs), "outputs of the user-provided function"
        )
        for position, out in enumerate(outputs):
            if self.strict and not out.requires_grad:
                raise RuntimeError(
                    f"{self.name}: Output {position} of the user-provided function does not "
                    "require gradients. The outputs must be computed in a differentiable manner "
                    "from the input when running in strict mode."
                )
        return outputs, is_tuple

    def scalar_of(self, function: Function, inputs: Tensors) -> Tensor:
        """The one number that the user's function returns, as a tensor."""
        outputs, is_tuple = self.outputs_of(function, inputs)
        if is_tuple or outputs[0].numel() != 1:
            raise RuntimeError(
                f"The function given to {self.name} should return a single Tensor with a single "
                "element."
            )
        return outputs[0]

    def finished(self, tensors: Tree, is_tuple: bool) -> Tree:
        """Results as the user gets them."""
        parts = tuple(_without_history(part, self.create_graph) for part in tensors)
        return parts if is_tuple else parts[0]

    # -- directions ------------------------------------------------------------------------------

    def direction(self, v: Tree, like: Tensors, what: str) -> Tensors:
        """The vector v; for a single number it is 1 if it is left out."""
        if v is None:
            if len(like) != 1 or like[0].numel() != 1:
                raise RuntimeError(
                    f"The vector v can only be None if the {what} given to {self.name} is a "
                    "single Tensor with a single element."
                )
            return (_one(like[0]),)
        parts, _ = self.as_tuple(v, "vector v")
        self._check_direction(parts, like, what)
        return parts

    def _check_direction(self, v: Tensors, like: Tensors, what: str) -> None:
        if len(v) != len(like):
            raise RuntimeError(
                f"{self.name}: v is a tuple of invalid length: should be {len(like)} but got "
                f"{len(v)}."
            )
        for position, (part, x) in enumerate(zip(v, like, strict=True)):
            if part.shape != x.shape:
                where = f"Entry {position} in v" if len(v) > 1 else "v"
                raise RuntimeError(
                    f"{self.name}: {where} has invalid size: should be {x.shape} (as the {what}) "
                    f"but got {part.shape}."
                )

    # -- products --------------------------------------------------------------------------------

    def pulled(self, outputs: Tensors, inputs: Tensors, v: Tree) -> Tensors:
        """The product of v and the Jacobian, with zeros where an input was not used."""
        found = _gradients(outputs, inputs, v, create_graph=self.create_graph)
        return self.filled(found, inputs)

    def pushed(self, outputs: Tensors, inputs: Tensors, v: Tensors) -> Tensors:
        """The product J v of the Jacobian: uJ is linear in u, and its own pullback of v is J v."""
        u = tuple(of_value(np.zeros_like(out._value)).requires_grad_(True) for out in outputs)
        transposed = _gradients(outputs, inputs, u, create_graph=True)
        if self.strict:
            self.filled(transposed, inputs, differentiable=True)
        pairs = [(g, part) for g, part in zip(transposed, v, strict=True) if g is not None]
        firsts, parts = tuple(g for g, _ in pairs), [part for _, part in pairs]
        return self.filled(_gradients(firsts, u, parts, create_graph=self.create_graph), outputs)

    def gradient_of(self, out: Tensor, inputs: Tensors) -> Tensors:
        """The gradient of a scalar, which can be differentiated again."""
        found = _gradients((out,), inputs, (_one(out),), create_graph=True)
        return self.filled(found, inputs, differentiable=True)

    def filled(
        self,
        gradients: Sequence[Tensor | None],
        like: Tensors,
        *,
        differentiable: bool | None = None,
    ) -> Tensors:
        """Gradients, with zeros in place of None, which with `strict` is an error.

        differentiable: whether they can be differentiated again, as `create_graph` says.
        """
        again = self.create_graph if differentiable is None else differentiable
        found = []
        for position, (gradient, x) in enumerate(zip(gradients, like, strict=True)):
            if gradient is None:
                if self.strict:
                    raise RuntimeError(
                        f"{self.name}: the output of the user-provided function is independent of "
                        f"input {position}. This is not allowed in strict mode."
                    )
                gradient = of_value(np.zeros_like(x._value))
            elif self.strict and again and not gradient.requires_grad:
                raise RuntimeError(
                    f"{self.name}: the derivative of the user-provided function by input "
                    f"{position} is independent of the inputs. This is not allowed in strict mode "
                    "when create_graph=True."
                )
            found.append(gradient)
        return tuple(found)


def _without_history(tensor: Tree, create_graph: bool) -> Tree:
    if isinstance(tensor, tuple):
        return tuple(_without_history(part, create_graph) for part in tensor)
    return tensor if create_graph else tensor.detach()


def _one(like: Tensor) -> Tensor:
    """The direction 1 of a single number; RuntimeError for a complex one, which has none."""
    if like.is_complex():
        raise RuntimeError(
            f"grad can be implicitly created only for real scalar outputs but got {like.dtype}"
        )
    return of_value(np.ones_like(like._value))


def _gradients(
    outputs: Tensors, inputs: Tensors, directions: Sequence[Tensor], *, create_graph: bool
) -> tuple[Any, ...]:
    """autograd.grad, with None for what does not depend on the inputs."""
    pairs = [(out, v) for out, v in zip(outputs, directions, strict=True) if out.requires_grad]
    if not pairs:
        return (None,) * len(inputs)
    return grad(
        [out for out, _ in pairs],
        inputs,
        [v for _, v in pairs],
        retain_graph=True,
        create_graph=create_graph,
        allow_unused=True,
    )


# --- Products -----------------------------------------------------------------------------------


def vjp(
    func: Function, inputs: Tree, v: Tree = None, create_graph: bool = False, strict: bool = False
) -> tuple[Tree, Tree]:
    """`(func(*inputs), vJ)`: the product of a vector v and the Jacobian.

    v has the shapes of the outputs, and may be left out for a single number.

    >>> import tapegrad.torch as torch
    >>> torch.autograd.functional.vjp(lambda x: x**2, torch.tensor([1.0, 2.0]), torch.ones(2))
    (tensor([1., 4.]), tensor([2., 4.]))
    """
    call = _Call("vjp", create_graph, strict)
    with enable_grad():
        leaves, is_tuple = call.leaves_of(inputs)
        outputs, out_is_tuple = call.outputs_of(func, leaves)
        direction = call.direction(v, outputs, "outputs")
        found = call.pulled(outputs, leaves, direction)
    return call.finished(outputs, out_is_tuple), call.finished(found, is_tuple)


def jvp(
    func: Function, inputs: Tree, v: Tree = None, create_graph: bool = False, strict: bool = False
) -> tuple[Tree, Tree]:
    """`(func(*inputs), Jv)`: the product of the Jacobian and a vector v.

    v has the shapes of the inputs, and may be left out for a single number.

    >>> import tapegrad.torch as torch
    >>> torch.autograd.functional.jvp(lambda x: x**2, torch.tensor([1.0, 2.0]), torch.ones(2))
    (tensor([1., 4.]), tensor([2., 4.]))
    """
    call = _Call("jvp", create_graph, strict)
    with enable_grad():
        leaves, is_tuple = call.leaves_of(inputs)
        direction = call.direction(v, leaves, "inputs")
        outputs, out_is_tuple = call.outputs_of(func, leaves)
        found = call.pushed(outputs, leaves, direction)
    return call.finished(outputs, out_is_tuple), call.finished(found, out_is_tuple)


def vhp(
    func: Function, inputs: Tree, v: Tree = None, create_graph: bool = False, strict: bool = False
) -> tuple[Tree, Tree]:
    """`(func(*inputs), vH)`: the product of a vector v and the Hessian of a scalar function."""
    call = _Call("vhp", create_graph, strict)
    return _second_product(call, call.pulled, func, inputs, v)


def hvp(
    func: Function, inputs: Tree, v: Tree = None, create_graph: bool = False, strict: bool = False
) -> tuple[Tree, Tree]:
    """`(func(*inputs), Hv)`: the product of the Hessian of a scalar function and a vector v."""
    call = _Call("hvp", create_graph, strict)
    return _second_product(call, call.pushed, func, inputs, v)


def _second_product(
    call: _Call,
    product: Callable[[Tensors, Tensors, Tensors], Tensors],
    func: Function,
    inputs: Tree,
    v: Tree,
) -> tuple[Tree, Tree]:
    """The value of a scalar function, and a product of its Hessian with v.

    product: multiplies the Jacobian of the gradient with v, given the gradient, inputs and v.
    """
    with enable_grad():
        leaves, is_tuple = call.leaves_of(inputs)
        direction = call.direction(v, leaves, "inputs")
        out = call.scalar_of(func, leaves)
        found = product(call.gradient_of(out, leaves), leaves, direction)
    return call.finished((out,), False), call.finished(found, is_tuple)


# --- Matrices -----------------------------------------------------------------------------------


def jacobian(
    func: Function,
    inputs: Tree,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Tree:
    """The Jacobian: for each output and input a tensor of shape `out.shape + input.shape`.

    Returns a tensor for one output and one input, a tuple if either are several, and a tuple with
    a tuple for each output if both are. vectorize: all rows in one batched pass. strategy:
    "reverse-mode", or "forward-mode" (with vectorize), which is cheaper for many outputs and few
    inputs.

    >>> import tapegrad.torch as torch
    >>> torch.autograd.functional.jacobian(lambda x: x**2, torch.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your '
            'function has more outputs than inputs, "forward-mode" tends to be more performant. '
            'Otherwise, prefer to use "reverse-mode".'
        )
    if strategy == "forward-mode":
        return _jacobian_forward(func, inputs, strict, vectorize)
    call = _Call("jacobian", create_graph, strict)
    with enable_grad():
        leaves, is_tuple = call.leaves_of(inputs)
        outputs, out_is_tuple = call.outputs_of(func, leaves)
        if strict and vectorize:
            raise RuntimeError(
                "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not "
                "supported together. Please either set `strict=False` or `vectorize=False`."
            )
        if vectorize:
            found = _batched_jacobian_rows(outputs, leaves, create_graph=create_graph)
        else:
            found = [_jacobian_rows(call, y, leaves) for y in outputs]
    parts = tuple(call.finished(row, is_tuple) for row in found)
    return parts if out_is_tuple else parts[0]


def _jacobian_rows(call: _Call, out: Tensor, inputs: Tensors) -> Tensors:
    """The Jacobian of one output, by one backward pass for each element."""
    from tapegrad.torch._ops.declare import OPERATIONS

    flat = out.reshape(-1)
    lists: list[list[Tensor]] = [[] for _ in inputs]
    for position in range(out.numel()):
        basis = np.zeros(flat.shape, flat._value.dtype)
        basis[position] = 1
        if out.requires_grad:
            _one(out)  # raises for complex outputs, which have no direction
        filled = call.pulled((flat,), inputs, (of_value(basis),))
        for parts, part in zip(lists, filled, strict=True):
            parts.append(part)
    return tuple(
        OPERATIONS["stack"](parts).reshape(tuple(out.shape) + tuple(x.shape))
        if parts
        else of_value(np.zeros(tuple(out.shape) + tuple(x.shape), x._value.dtype))
        for parts, x in zip(lists, inputs, strict=True)
    )


def _batched_jacobian_rows(
    outputs: Tensors, inputs: Tensors, *, create_graph: bool
) -> list[Tensors]:
    """The Jacobians of all outputs, by one batched pass with an example for each element."""
    counts = [out.numel() for out in outputs]
    total = sum(counts)
    used = [place for place, out in enumerate(outputs) if out.requires_grad]
    found: Any = (None,) * len(inputs)
    if used and total:
        found = grad(
            [outputs[place] for place in used],
            inputs,
            [of_value(_basis(outputs[place], sum(counts[:place]), total)) for place in used],
            retain_graph=True,
            create_graph=create_graph,
            allow_unused=True,
            is_grads_batched=True,
        )
    columns = [
        of_value(np.zeros((total, *x.shape), x._value.dtype)) if part is None else part
        for part, x in zip(found, inputs, strict=True)
    ]
    ends = np.cumsum(counts).tolist()
    return [
        tuple(
            column[end - count : end].reshape(tuple(out.shape) + tuple(x.shape))
            for column, x in zip(columns, inputs, strict=True)
        )
        for out, count, end in zip(outputs, counts, ends, strict=True)
    ]


def _basis(out: Tensor, start: int, total: int) -> np.ndarray[Any, Any]:
    """The directions along the elements of an output, from row `start` of `total` rows."""
    made = np.zeros((total, out.numel()), out._value.dtype)
    np.fill_diagonal(made[start:], 1)
    return made.reshape(total, *out.shape)


def _jacobian_forward(func: Function, inputs: Tree, strict: bool, vectorize: bool) -> Tree:
    """The Jacobian in forward mode; it is on the graph if the inputs are, as in PyTorch."""
    from tapegrad.torch.func._arrays import forward, tensors

    if strict:
        raise RuntimeError(
            'torch.autograd.functional.jacobian: `strict=True` and `strategy="forward-mode"` are '
            "not supported together (yet). Please either set `strict=False` or "
            '`strategy="reverse-mode"`.'
        )
    if not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian is only "
            "implemented for `vectorize=True`."
        )
    call = _Call("jacobian", create_graph=True, strict=False)
    given, is_tuple = call.as_tuple(inputs, "inputs")
    structures = []

    def of_tuple(*xs: Tensor) -> Tensors:
        outputs, out_is_tuple = call.outputs_of(func, xs)
        structures.append(out_is_tuple)
        return outputs

    xs = [array_of(x) for x in given]
    rows = tapegrad.jacfwd(forward(of_tuple), argnums=tuple(range(len(given))))(*xs)
    parts = tuple(call.finished(tensors(row), is_tuple) for row in rows)
    return parts if structures[0] else parts[0]


def hessian(
    func: Function,
    inputs: Tree,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Tree:
    """The Hessian of a scalar function: a tensor of shape `input.shape + input.shape`.

    For several inputs a tuple of tuples with a tensor for each pair of inputs.

    >>> import tapegrad.torch as torch
    >>> torch.autograd.functional.hessian(lambda x: (x**3).sum(), torch.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    call = _Call("hessian", create_graph=True, strict=strict)
    of_gradient = _Call("jacobian", create_graph=True, strict=strict)
    _, is_tuple = call.as_tuple(inputs, "inputs")
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')

    def single(*xs: Tensor) -> Tensor:
        out = call.scalar_of(func, xs)
        _one(out)
        return out.reshape(())

    def gradient(*xs: Tensor) -> Any:
        if outer_jacobian_strategy == "forward-mode":
            from tapegrad.torch import func as transforms

            found = transforms.grad(single, argnums=tuple(range(len(xs))))(*xs)
        else:
            found = _jacobian_rows(of_gradient, single(*xs), xs)
        return found if is_tuple else found[0]

    return jacobian(
        gradient,
        inputs,
        create_graph=create_graph,
        strict=strict,
        vectorize=vectorize,
        strategy=outer_jacobian_strategy,
    )
