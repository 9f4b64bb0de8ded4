"""`torch.autograd.functional`: derivatives of functions of tensors, called by name.

Knows `autograd.grad`. Must not know the graph.

Inputs and outputs are a tensor or a tuple of tensors. With `create_graph` the results can be
differentiated again, also by what the inputs were made from; without, they have no history. With
`strict` an output that does not depend on an input is a RuntimeError, not a zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tapegrad
from tapegrad.torch._graph.modes import enable_grad
from tapegrad.torch._graph.tracing import is_differentiated
from tapegrad.torch._tensor.tensor import Tensor, array_of, of_value
from tapegrad.torch.autograd._passes import grad

Function = Callable[..., Any]
Tensors = tuple[Tensor, ...]


# --- Inputs and outputs -------------------------------------------------------------------------


def _as_tuple(given: Any, name: str, call: str) -> tuple[Tensors, bool]:
    """Tensors as a tuple, and whether they came as one."""
    is_tuple = isinstance(given, tuple)
    parts = given if isinstance(given, tuple) else (given,)
    for position, part in enumerate(parts):
        if not isinstance(part, Tensor):
            where = f"of type {type(part).__name__}"
            if is_tuple:
                where = f"that contains a {type(part).__name__} at position {position}"
            raise TypeError(
                f"The {name} given to {call} must be either a Tensor or a tuple of Tensors but "
                f"got a value {where}."
            )
    return parts, is_tuple


def _as_inputs(inputs: Tensors, *, create_graph: bool) -> Tensors:
    """Inputs that the function can be differentiated by: connected to what they came from."""
    found = []
    for x in inputs:
        if is_differentiated(x.value, forward=True):
            raise RuntimeError(
                "torch.autograd.functional inside of a function that is being transformed by "
                "torch.func, on a tensor that it differentiates by: use torch.func there."
            )
        if create_graph and x.requires_grad:
            found.append(x.view_as(x))
        else:
            found.append(x.detach().requires_grad_(True))
    return tuple(found)


def _finished(tensors: Any, is_tuple: bool, *, create_graph: bool) -> Any:
    """Results as the user gets them."""
    parts = tuple(_without_history(part, create_graph) for part in tensors)
    return parts if is_tuple else parts[0]


def _without_history(tensor: Any, create_graph: bool) -> Any:
    if isinstance(tensor, tuple):
        return tuple(_without_history(part, create_graph) for part in tensor)
    return tensor if create_graph else tensor.detach()


def _call(function: Function, inputs: Tensors, call: str) -> tuple[Tensors, bool]:
    return _as_tuple(function(*inputs), "outputs of the user-provided function", call)


def _check_direction(v: Tensors, like: Tensors, name: str, call: str) -> None:
    if len(v) != len(like):
        raise RuntimeError(
            f"{call}: v is a tuple of invalid length: should be {len(like)} but got {len(v)}."
        )
    for position, (part, x) in enumerate(zip(v, like, strict=True)):
        if part.shape != x.shape:
            where = f"Entry {position} in v" if len(v) > 1 else "v"
            raise RuntimeError(
                f"{call}: {where} has invalid size: should be {x.shape} (as the {name}) but got "
                f"{part.shape}."
            )


def _direction(v: Any, like: Tensors, is_tuple: bool, name: str, call: str) -> Tensors:
    """The vector v, which may be left away where there is a single number."""
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(
                f"The vector v can only be None if the {name} given to {call} is a single Tensor "
                "with a single element."
            )
        return (_one(like[0]),)
    parts, _ = _as_tuple(v, "vector v", call)
    _check_direction(parts, like, name, call)
    return parts


def _one(like: Tensor) -> Tensor:
    """The direction of a single number, which a complex one has none of."""
    if like.is_complex():
        raise RuntimeError(
            f"grad can be implicitly created only for real scalar outputs but got {like.dtype}"
        )
    return of_value(np.ones_like(like.value))


def _filled(
    gradients: Any, inputs: Tensors, *, strict: bool, call: str, create_graph: bool
) -> Tensors:
    """Gradients, with zeros where an input was not used; with `strict` an error."""
    found = []
    for position, (gradient, x) in enumerate(zip(gradients, inputs, strict=True)):
        if gradient is None:
            if strict:
                raise RuntimeError(
                    f"{call}: the output of the user-provided function is independent of input "
                    f"{position}. This is not allowed in strict mode."
                )
            gradient = of_value(np.zeros_like(x.value))
        elif strict and create_graph and not gradient.requires_grad:
            raise RuntimeError(
                f"{call}: the derivative of the user-provided function by input {position} is "
                "independent of the inputs. This is not allowed in strict mode when "
                "create_graph=True."
            )
        found.append(gradient)
    return tuple(found)


def _check_dependent(outputs: Tensors, call: str, *, strict: bool) -> None:
    for position, out in enumerate(outputs):
        if strict and not out.requires_grad:
            raise RuntimeError(
                f"{call}: Output {position} of the user-provided function does not require "
                "gradients. The outputs must be computed in a differentiable manner from the "
                "input when running in strict mode."
            )


def _gradients(
    outputs: Tensors, inputs: Tensors, directions: Any, *, create_graph: bool
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
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """`(func(*inputs), vJ)`: the product of a vector v and the Jacobian.

    v has the shapes of the outputs, and may be left out for a single number.

    >>> import tapegrad.torch as torch
    >>> torch.autograd.functional.vjp(lambda x: x**2, torch.tensor([1.0, 2.0]), torch.ones(2))
    (tensor([1., 4.]), tensor([2., 4.]))
    """
    with enable_grad():
        given, is_tuple = _as_tuple(inputs, "inputs", "vjp")
        leaves = _as_inputs(given, create_graph=create_graph)
        outputs, out_is_tuple = _call(func, leaves, "vjp")
        _check_dependent(outputs, "vjp", strict=strict)
        direction = _direction(v, outputs, out_is_tuple, "outputs", "vjp")
        found = _filled(
            _gradients(outputs, leaves, direction, create_graph=create_graph),
            leaves,
            strict=strict,
            call="vjp",
            create_graph=create_graph,
        )
    return (
        _finished(outputs, out_is_tuple, create_graph=create_graph),
        _finished(found, is_tuple, create_graph=create_graph),
    )


def _pushed(
    outputs: Tensors, inputs: Tensors, v: Tensors, call: str, *, strict: bool, create_graph: bool
) -> tuple[Any, ...]:
    """The product of the Jacobian and v: the transpose of the transposed product, linear in u."""
    u = tuple(of_value(np.zeros_like(out.value)).requires_grad_(True) for out in outputs)
    transposed = _gradients(outputs, inputs, u, create_graph=True)
    if strict:
        _filled(transposed, inputs, strict=True, call=call, create_graph=True)
    pairs = [(g, part) for g, part in zip(transposed, v, strict=True) if g is not None]
    return _gradients(
        tuple(g for g, _ in pairs), u, [part for _, part in pairs], create_graph=create_graph
    )


def jvp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """`(func(*inputs), Jv)`: the product of the Jacobian and a vector v.

    v has the shapes of the inputs, and may be left out for a single number.

    >>> import tapegrad.torch as torch
    >>> torch.autograd.functional.jvp(lambda x: x**2, torch.tensor([1.0, 2.0]), torch.ones(2))
    (tensor([1., 4.]), tensor([2., 4.]))
    """
    with enable_grad():
        given, is_tuple = _as_tuple(inputs, "inputs", "jvp")
        leaves = _as_inputs(given, create_graph=create_graph)
        direction = _direction(v, leaves, is_tuple, "inputs", "jvp")
        outputs, out_is_tuple = _call(func, leaves, "jvp")
        _check_dependent(outputs, "jvp", strict=strict)
        found = _filled(
            _pushed(outputs, leaves, direction, "jvp", strict=strict, create_graph=create_graph),
            outputs,
            strict=strict,
            call="jvp",
            create_graph=create_graph,
        )
    return (
        _finished(outputs, out_is_tuple, create_graph=create_graph),
        _finished(found, out_is_tuple, create_graph=create_graph),
    )


def vhp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """`(func(*inputs), vH)`: the product of a vector v and the Hessian of a scalar function."""

    def pulled(first: Tensors, leaves: Tensors, direction: Tensors) -> tuple[Any, ...]:
        return _gradients(first, leaves, direction, create_graph=create_graph)

    return _second_product("vhp", pulled, func, inputs, v, create_graph, strict)


def hvp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """`(func(*inputs), Hv)`: the product of the Hessian of a scalar function and a vector v."""

    def pushed(first: Tensors, leaves: Tensors, direction: Tensors) -> tuple[Any, ...]:
        return _pushed(first, leaves, direction, "hvp", strict=strict, create_graph=create_graph)

    return _second_product("hvp", pushed, func, inputs, v, create_graph, strict)


def _second_product(
    call: str,
    product: Callable[[Tensors, Tensors, Tensors], tuple[Any, ...]],
    func: Function,
    inputs: Any,
    v: Any,
    create_graph: bool,
    strict: bool,
) -> tuple[Any, Any]:
    """The value of a scalar function, and a product of its Hessian with v.

    product: that of the Jacobian of the gradient with v, from the gradient, the inputs and v.
    """
    with enable_grad():
        given, is_tuple = _as_tuple(inputs, "inputs", call)
        leaves = _as_inputs(given, create_graph=create_graph)
        direction = _direction(v, leaves, is_tuple, "inputs", call)
        outputs, first = _scalar_gradient(func, leaves, call, strict=strict)
        found = _filled(
            product(first, leaves, direction),
            leaves,
            strict=strict,
            call=call,
            create_graph=create_graph,
        )
    return (
        _finished(outputs, False, create_graph=create_graph),
        _finished(found, is_tuple, create_graph=create_graph),
    )


def _scalar_gradient(
    func: Function, leaves: Tensors, call: str, *, strict: bool
) -> tuple[Tensors, Tensors]:
    outputs, is_tuple = _call(func, leaves, call)
    _check_dependent(outputs, call, strict=strict)
    if is_tuple or outputs[0].numel() != 1:
        raise RuntimeError(
            f"The function given to {call} should return a single Tensor with a single element."
        )
    first = _gradients(outputs, leaves, (_one(outputs[0]),), create_graph=True)
    return outputs, _filled(first, leaves, strict=strict, call=call, create_graph=True)


# --- Matrices -----------------------------------------------------------------------------------


def jacobian(
    func: Function,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian: for each output and input a tensor of shape `out.shape + input.shape`.

    A tensor for one output and one input; a tuple for several of one kind; a tuple of tuples for
    several of both. vectorize: all rows in one batched pass. strategy: "reverse-mode", or
    "forward-mode" (with vectorize), which is cheaper for many outputs and few inputs.

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
    with enable_grad():
        given, is_tuple = _as_tuple(inputs, "inputs", "jacobian")
        leaves = _as_inputs(given, create_graph=create_graph)
        outputs, out_is_tuple = _call(func, leaves, "jacobian")
        _check_dependent(outputs, "jacobian", strict=strict)
        if strict and vectorize:
            raise RuntimeError(
                "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not "
                "supported together. Please either set `strict=False` or `vectorize=False`."
            )
        if vectorize:
            found = _batched_jacobian_rows(outputs, leaves, create_graph=create_graph)
        else:
            found = [
                _jacobian_rows(y, leaves, strict=strict, create_graph=create_graph)
                for y in outputs
            ]
    parts = tuple(_finished(row, is_tuple, create_graph=create_graph) for row in found)
    return parts if out_is_tuple else parts[0]


def _jacobian_rows(out: Tensor, inputs: Tensors, *, strict: bool, create_graph: bool) -> Tensors:
    """The Jacobian of one output, a backward pass an element."""
    from tapegrad.torch._ops.declare import OPERATIONS

    flat = out.reshape(-1)
    lists: list[list[Tensor]] = [[] for _ in inputs]
    for position in range(out.numel()):
        basis = np.zeros(flat.shape, flat.value.dtype)
        basis[position] = 1
        if out.requires_grad:
            _one(out)  # the elements of complex outputs have no direction
        row = _gradients((flat,), inputs, (of_value(basis),), create_graph=create_graph)
        filled = _filled(row, inputs, strict=strict, call="jacobian", create_graph=create_graph)
        for parts, part in zip(lists, filled, strict=True):
            parts.append(part)
    return tuple(
        OPERATIONS["stack"](parts).reshape(tuple(out.shape) + tuple(x.shape))
        if parts
        else of_value(np.zeros(tuple(out.shape) + tuple(x.shape), x.value.dtype))
        for parts, x in zip(lists, inputs, strict=True)
    )


def _batched_jacobian_rows(
    outputs: Tensors, inputs: Tensors, *, create_graph: bool
) -> list[Tensors]:
    """The Jacobians of all outputs by one batched pass, an example for each element."""
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
        of_value(np.zeros((total, *x.shape), x.value.dtype)) if part is None else part
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
    """The directions along the elements of an output, among `total` ones."""
    made = np.zeros((total, out.numel()), out.value.dtype)
    np.fill_diagonal(made[start:], 1)
    return made.reshape(total, *out.shape)


def _jacobian_forward(func: Function, inputs: Any, strict: bool, vectorize: bool) -> Any:
    """The Jacobian in forward mode: on the graph wherever the inputs are, as PyTorch's."""
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
    given, is_tuple = _as_tuple(inputs, "inputs", "jacobian")
    structures = []

    def of_tuple(*xs: Tensor) -> Tensors:
        outputs, out_is_tuple = _call(func, xs, "jacobian")
        structures.append(out_is_tuple)
        return outputs

    xs = [array_of(x) for x in given]
    rows = tapegrad.jacfwd(forward(of_tuple), argnums=tuple(range(len(given))))(*xs)
    parts = tuple(_finished(tensors(row), is_tuple, create_graph=True) for row in rows)
    return parts if structures[0] else parts[0]


def hessian(
    func: Function,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The Hessian of a scalar function: a tensor of shape `input.shape + input.shape`.

    For several inputs a tuple of tuples of tensors, one a pair of inputs.

    >>> import tapegrad.torch as torch
    >>> torch.autograd.functional.hessian(lambda x: (x**3).sum(), torch.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    given, is_tuple = _as_tuple(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')

    def single(*xs: Tensor) -> Tensor:
        outputs, out_is_tuple = _call(func, xs, "hessian")
        _check_dependent(outputs, "hessian", strict=strict)
        if out_is_tuple or outputs[0].numel() != 1:
            raise RuntimeError(
                "The function given to hessian should return a single Tensor with a single "
                "element."
            )
        _one(outputs[0])
        return outputs[0].reshape(())

    def gradient(*xs: Tensor) -> Any:
        if outer_jacobian_strategy == "forward-mode":
            from tapegrad.torch import func as transforms

            found = transforms.grad(single, argnums=tuple(range(len(xs))))(*xs)
        else:
            found = _jacobian_rows(single(*xs), xs, strict=strict, create_graph=True)
        return found if is_tuple else found[0]

    return jacobian(
        gradient,
        inputs,
        create_graph=create_graph,
        strict=strict,
        vectorize=vectorize,
        strategy=outer_jacobian_strategy,
    )
