"""`torch.autograd.functional`: products with Jacobians and Hessians, and these themselves.

Knows `autograd.grad`. Must not know the graph.

Inputs and outputs are a tensor or a tuple of tensors. With `create_graph` the results can be
differentiated again, also with respect to the tensors from which the inputs were computed;
without, they have no history. With
`strict` an output that does not depend on an input is a RuntimeError, not a zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

import tapegrad
from tapegrad._core.types import Function, Tree
from tapegrad._progress import Bar, current
from tapegrad._transforms.room import require_room, written
from tapegrad._transforms.tracebacks import folding
from tapegrad.torch._graph.modes import enable_grad
from tapegrad.torch._tensor.tensor import Tensor, array_of, of_value
from tapegrad.torch.autograd._arguments import (
    Tensors,
    _as_tuple,
    _as_tuple_nocheck,
    _autograd_grad,
    _check_requires_grad,
    _construct_standard_basis_for,
    _fill_in_zeros,
    _grad_postprocess,
    _grad_preprocess,
    _tuple_postprocess,
    _validate_v,
    single_of,
)

In = TypeVar("In")  # a tensor or a tuple of tensors, which the gradients are, too
Out = TypeVar("Out")
OUTPUTS = "outputs of the user-provided function"


def _one(like: Tensor) -> Tensor:
    """The direction 1 of a single number; RuntimeError for a complex one, which has none."""
    if like.is_complex():
        raise RuntimeError(
            f"grad can be implicitly created only for real scalar outputs but got {like.dtype}"
        )
    return of_value(np.ones_like(like._value))


# --- Products -----------------------------------------------------------------------------------


@folding
def vjp(
    func: Callable[..., Out],
    inputs: In,
    v: Tree = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Out, In]:
    """The value, and the product of a vector v and the Jacobian.

    v (Tensor or tuple of Tensor): Of the shapes of the outputs; may be left out for a single real
        number, and is 1 then.
    -> tuple: `func(*inputs)`, and vJ, of the structure and shapes of the inputs.
    TypeError: If an input or output is no tensor.
    RuntimeError: If v does not fit, or is left out where it must not be; with `strict`, see there.

    >>> torch.autograd.functional.vjp(lambda x: x**2, torch.tensor([1.0, 2.0]), torch.ones(2))
    (tensor([1., 4.]), tensor([2., 4.]))
    """
    with enable_grad():
        is_tuple, given = _as_tuple(inputs, "inputs", "vjp")
        leaves = _grad_preprocess(given, create_graph, True)
        out_is_tuple, outputs = _as_tuple(func(*leaves), OUTPUTS, "vjp")
        _check_requires_grad(outputs, "outputs", strict)
        if v is None:
            if len(outputs) != 1 or outputs[0].numel() != 1:
                raise RuntimeError(
                    "The vector v can only be None if the user-provided function returns a single "
                    "Tensor with a single element."
                )
            direction: Tensors = (_one(outputs[0]),)
        else:
            direction = _direction(v, outputs, out_is_tuple, "vjp")
        found = _autograd_grad(outputs, leaves, direction, create_graph, retain_graph=True)
        found = _fill_in_zeros(found, leaves, strict, create_graph, "back")
    return _finished(outputs, out_is_tuple, found, is_tuple, create_graph)


@folding
def jvp(
    func: Callable[..., Out],
    inputs: In,
    v: Tree = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Out, Out]:
    """The value, and the product of the Jacobian and a vector v.

    -> tuple: `func(*inputs)`, and Jv, of the structure and shapes of the outputs.
    TypeError: If an input or output is no tensor.
    RuntimeError: If v does not fit, or is left out where it must not be; with `strict`, see there.
    See also tapegrad.torch.func.jvp: In forward mode, where this runs two backward passes.

    >>> torch.autograd.functional.jvp(lambda x: x**2, torch.tensor([1.0, 2.0]), torch.ones(2))
    (tensor([1., 4.]), tensor([2., 4.]))
    """
    with enable_grad():
        is_tuple, given = _as_tuple(inputs, "inputs", "jvp")
        leaves = _grad_preprocess(given, create_graph, True)
        direction = _input_direction(v, leaves, is_tuple, "jvp")
        out_is_tuple, outputs = _as_tuple(func(*leaves), OUTPUTS, "jvp")
        _check_requires_grad(outputs, "outputs", strict)
        u = _zeros_like(outputs)
        pulled = _autograd_grad(outputs, leaves, u, create_graph=True)
        _check_requires_grad(pulled, "grad_inputs", strict)
        found = _pushed(pulled, u, direction, create_graph)
        found = _fill_in_zeros(found, outputs, strict, create_graph, "back_trick")
    return _finished(outputs, out_is_tuple, found, out_is_tuple, create_graph)


@folding
def vhp(
    func: Callable[..., Tensor],
    inputs: In,
    v: Tree = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Tensor, In]:
    """The value of a scalar function, and the product of a vector v and its Hessian.

    func (callable): Takes the inputs, and returns a tensor of one real number.
    -> tuple: `func(*inputs)`, and vH, of the structure and shapes of the inputs.
    TypeError: If an input or output is no tensor.
    RuntimeError: If there are other outputs, or v does not fit or is left out where it must not
        be; with `strict`, see there.
    See also hvp: The same product by one more backward pass.

    >>> x, v = torch.tensor([1.0, 2.0]), torch.ones(2)
    >>> torch.autograd.functional.vhp(lambda x: (x**3).sum(), x, v)
    (tensor(9.), tensor([ 6., 12.]))
    """
    with enable_grad():
        out, leaves, is_tuple, direction = _scalar_call(
            "vhp", func, inputs, v, create_graph, strict
        )
        jac = _autograd_grad((out,), leaves, (_one(out),), create_graph=True)
        _check_requires_grad(jac, "jacobian", strict)
        found = _autograd_grad(jac, leaves, direction, create_graph, retain_graph=True)
        found = _fill_in_zeros(found, leaves, strict, create_graph, "double_back")
    return _finished((out,), False, found, is_tuple, create_graph)


@folding
def hvp(
    func: Callable[..., Tensor],
    inputs: In,
    v: Tree = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Tensor, In]:
    """The value of a scalar function, and the product of its Hessian and a vector v.

    func (callable): Takes the inputs, and returns a tensor of one real number.
    -> tuple: `func(*inputs)`, and Hv, of the structure and shapes of the inputs.
    TypeError: If an input or output is no tensor.
    RuntimeError: If there are other outputs, or v does not fit or is left out where it must not
        be; with `strict`, see there.
    See also vhp: The same product by fewer backward passes, as the Hessian is symmetric.

    >>> x, v = torch.tensor([1.0, 2.0]), torch.ones(2)
    >>> torch.autograd.functional.hvp(lambda x: (x**3).sum(), x, v)
    (tensor(9.), tensor([ 6., 12.]))
    """
    with enable_grad():
        out, leaves, is_tuple, direction = _scalar_call(
            "hvp", func, inputs, v, create_graph, strict
        )
        jac = _autograd_grad((out,), leaves, (_one(out),), create_graph=True)
        _check_requires_grad(jac, "jacobian", strict)
        u = _zeros_like(leaves)
        doubled = _autograd_grad(jac, leaves, u, create_graph=True)
        _check_requires_grad(jac, "hessian", strict)
        found = _pushed(doubled, u, direction, create_graph)
        found = _fill_in_zeros(found, leaves, strict, create_graph, "double_back_trick")
    return _finished((out,), False, found, is_tuple, create_graph)


def _scalar_call(
    name: str, func: Function, inputs: Tree, v: Tree, create_graph: bool, strict: bool
) -> tuple[Tensor, Tensors, bool, Tensors]:
    """The value of a scalar function, its inputs, whether these were a tuple, and the vector v."""
    is_tuple, given = _as_tuple(inputs, "inputs", name)
    leaves = _grad_preprocess(given, create_graph, True)
    direction = _input_direction(v, leaves, is_tuple, name)
    out_is_tuple, outputs = _as_tuple(func(*leaves), OUTPUTS, name)
    _check_requires_grad(outputs, "outputs", strict)
    return single_of(name, outputs, out_is_tuple), leaves, is_tuple, direction


def _direction(v: Tree, like: Tensors, is_tuple: bool, name: str) -> Tensors:
    """The vector v as a tuple, of the shapes of the tensors `like`."""
    _, parts = _as_tuple(v, "v", name)
    parts = _grad_preprocess(parts, create_graph=True, need_graph=False)
    _validate_v(parts, like, is_tuple)
    return parts


def _input_direction(v: Tree, leaves: Tensors, is_tuple: bool, name: str) -> Tensors:
    """The vector v of the shapes of the inputs; 1 for a single number where it is left out."""
    if v is not None:
        return _direction(v, leaves, is_tuple, name)
    if len(leaves) != 1 or leaves[0].numel() != 1:
        raise RuntimeError(
            "The vector v can only be None if the input to the user-provided function is a single "
            "Tensor with a single element."
        )
    return (_one(leaves[0]),)


def _zeros_like(tensors: Tensors) -> Tensors:
    return tuple(of_value(np.zeros_like(x._value)).requires_grad_(True) for x in tensors)


def _pushed(
    pulled: Sequence[Tensor | None], u: Tensors, v: Tensors, create_graph: bool
) -> tuple[Any, ...]:
    """J v: what was pulled back from u is linear in u, and its own pullback of v is J v."""
    return _autograd_grad(pulled, u, v, create_graph, retain_graph=True)


def _finished(
    outputs: Tensors, out_is_tuple: bool, found: Tensors, is_tuple: bool, create_graph: bool
) -> tuple[Tree, Tree]:
    """The outputs and the product as the user gets them."""
    return (
        _tuple_postprocess(_grad_postprocess(outputs, create_graph), out_is_tuple),
        _tuple_postprocess(_grad_postprocess(found, create_graph), is_tuple),
    )


# --- Matrices -----------------------------------------------------------------------------------


@folding
def jacobian(
    func: Function,
    inputs: Tree,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Tree:
    """The Jacobian: for each output and input a tensor of shape `out.shape + input.shape`.

    strategy ({"reverse-mode", "forward-mode"}): Forward mode is cheaper for many outputs and few
        inputs; it needs `vectorize`.
    -> Tensor or tuple: A tensor for one output and one input, a tuple if either are several, and a
        tuple with a tuple for each output if both are.
    TypeError: If an input or output is no tensor.
    RuntimeError: For complex outputs, unless `vectorize` is True; if `strict` comes with
        `vectorize`; with `strict`, see there.
    AssertionError: For another strategy.
    NotImplementedError: For forward mode with `create_graph`, or without `vectorize`.
    See also hessian: Of a scalar function the second derivatives.

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
    if create_graph and strategy == "forward-mode":
        raise NotImplementedError(
            "torch.autograd.functional.jacobian: `create_graph=True` and `strategy="
            '"forward-mode"` are not supported together (yet). Please either set '
            '`create_graph=False` or `strategy="reverse-mode"`.'
        )
    if strategy == "forward-mode":
        return _jacfwd(func, inputs, strict, vectorize)
    with enable_grad():
        is_tuple, given = _as_tuple(inputs, "inputs", "jacobian")
        leaves = _grad_preprocess(given, create_graph, True)
        out_is_tuple, outputs = _as_tuple(func(*leaves), OUTPUTS, "jacobian")
        _check_requires_grad(outputs, "outputs", strict)
        if strict and vectorize:
            raise RuntimeError(
                "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not "
                "supported together. Please either set `strict=False` or `vectorize=False`."
            )
        _require_room(outputs, leaves)
        if vectorize:
            found = _batched_jacobian_rows(outputs, leaves, create_graph=create_graph)
        else:
            with Bar("jacobian", total=sum(y.numel() for y in outputs)):
                found = [
                    _jacobian_rows(y, leaves, strict, create_graph, number)
                    for number, y in enumerate(outputs)
                ]
    return _tuple_postprocess(
        _grad_postprocess(tuple(found), create_graph), (out_is_tuple, is_tuple)
    )


PRODUCTS = "Take jvp or vjp of this module for products with vectors"


def _require_room(outputs: Tensors, inputs: Tensors) -> None:
    """Raise OutOfMemoryError where the Jacobian cannot fit into memory."""
    outs, xs = [array_of(x) for x in outputs], [array_of(x) for x in inputs]
    require_room("torch.autograd.functional.jacobian", outs, xs, PRODUCTS, forward=False)


def _jacobian_rows(
    out: Tensor, inputs: Tensors, strict: bool, create_graph: bool, number: int
) -> Tensors:
    """The Jacobian of output `number`, by one backward pass for each element."""
    from tapegrad.torch._ops.declare import OPERATIONS

    flat = out.reshape(-1)
    lists: list[list[Tensor]] = [[] for _ in inputs]
    for position in current().over(range(out.numel())):
        basis = np.zeros(flat.shape, flat._value.dtype)
        basis[position] = 1
        if out.requires_grad:
            _one(out)  # raises for complex outputs, which have no direction
        pulled = _autograd_grad(
            (flat,), inputs, (of_value(basis),), create_graph, retain_graph=True
        )
        for place, (parts, part) in enumerate(zip(lists, pulled, strict=True)):
            if part is None and strict:
                raise RuntimeError(
                    f"Output {number} of the user-provided function is independent of input "
                    f"{place}. This is not allowed in strict mode."
                )
            if strict and create_graph and not part.requires_grad:
                raise RuntimeError(
                    "The jacobian of the user-provided function is independent of input "
                    f"{number}. This is not allowed in strict mode when create_graph=True."
                )
            parts.append(of_value(np.zeros_like(inputs[place]._value)) if part is None else part)
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
    found: Any = (None,) * len(inputs)
    if total:
        basis = [
            of_value(rows._value.reshape(total, *out.shape))
            for rows, out in zip(
                _construct_standard_basis_for(outputs, counts), outputs, strict=True
            )
        ]
        found = _autograd_grad(
            outputs, inputs, basis, create_graph, retain_graph=True, is_grads_batched=True
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


def _jacfwd(func: Function, inputs: Tree, strict: bool = False, vectorize: bool = False) -> Tree:
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
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian isonly"
            " implemented for `vectorize=True`."
        )
    is_tuple, given = _as_tuple(inputs, "inputs", "jacobian")
    structures = []

    def of_tuple(*xs: Tensor) -> Tensors:
        out_is_tuple, outputs = _as_tuple(func(*xs), OUTPUTS, "jacobian")
        structures.append(out_is_tuple)
        return outputs

    xs = [array_of(x) for x in given]
    with written("torch.autograd.functional.jacobian", PRODUCTS):
        rows = tapegrad.jacfwd(forward(of_tuple), argnums=tuple(range(len(given))))(*xs)
    found = tuple(tuple(_as_tuple_nocheck(tensors(row))) for row in rows)
    return _tuple_postprocess(found, (structures[0], is_tuple))


@folding
def hessian(
    func: Function,
    inputs: Tree,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Tree:
    """The Hessian of a scalar function: a tensor of shape `input.shape + input.shape`.

    func (callable): Takes the inputs, and returns a tensor of one real number.
    outer_jacobian_strategy ({"reverse-mode", "forward-mode"}): How the gradient is differentiated;
        "forward-mode" needs `vectorize`.
    -> Tensor or tuple: For several inputs a tuple of tuples with a tensor for each pair of inputs.
    TypeError: If an input or output is no tensor.
    RuntimeError: If there are other outputs; if `strict` comes with `vectorize`; with `strict`,
        see there.
    AssertionError: For another strategy.
    NotImplementedError: For forward mode with `create_graph`, or without `vectorize`.
    See also hvp: Its product with a vector, without the matrix.

    >>> torch.autograd.functional.hessian(lambda x: (x**3).sum(), torch.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    is_tuple, given = _as_tuple(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')

    def single(*xs: Tensor) -> Tensor:
        out_is_tuple, outputs = _as_tuple(func(*xs), OUTPUTS, "hessian")
        _check_requires_grad(outputs, "outputs", strict)
        out = single_of("hessian", outputs, out_is_tuple)
        _one(out)
        return out.reshape(())

    def gradient(*xs: Tensor) -> Any:
        if outer_jacobian_strategy == "forward-mode":
            from tapegrad.torch import func as transforms

            found = transforms.grad(single, argnums=tuple(range(len(xs))))(*xs)
        else:
            found = _autograd_grad((single(*xs),), xs, None, create_graph=True)
            found = _fill_in_zeros(found, xs, False, True, "back")
            _check_requires_grad(found, "jacobian", strict)
        return found if is_tuple else found[0]

    with written("torch.autograd.functional.hessian", "Take hvp or vhp of this module"):
        _require_room(given, given)
        return jacobian(
            gradient,
            inputs,
            create_graph=create_graph,
            strict=strict,
            vectorize=vectorize,
            strategy=outer_jacobian_strategy,
        )


__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]
__dir__ = __all__.copy
