"""Arguments and results of `torch.autograd.functional`: tuples, leaves, and the strict checks.

Knows `autograd.grad`. Must not know which product or matrix is computed.

The functions have the names, parameters and error messages of PyTorch's private ones, because
libraries import them from `torch.autograd.functional`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._core.types import Tree
from tapegrad.torch._graph.tracing import is_differentiated
from tapegrad.torch._tensor.tensor import Tensor, of_value
from tapegrad.torch.autograd._passes import grad

Tensors = tuple[Tensor, ...]
STRICT = "This is not allowed in strict mode"


# --- Tuples -------------------------------------------------------------------------------------


def _as_tuple_nocheck(x: Any) -> tuple[Any, ...]:
    """A tuple or list as a tuple, anything else as a tuple of one."""
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


def _as_tuple(
    inp: Any, arg_name: str | None = None, fn_name: str | None = None
) -> tuple[bool, Tensors]:
    """Whether `inp` is a tuple, and its tensors as a tuple. TypeError for what is no tensor.

    arg_name, fn_name: for the message; without them nothing is checked.
    """
    is_tuple = isinstance(inp, tuple)
    parts = inp if isinstance(inp, tuple) else (inp,)
    if arg_name is None and fn_name is None:
        return is_tuple, tuple(parts)
    for position, part in enumerate(parts):
        if isinstance(part, Tensor):
            continue
        where = f"value at index {position}" if is_tuple else f"given {arg_name}"
        raise TypeError(
            f"The {arg_name} given to {fn_name} must be either a Tensor or a tuple of Tensors but "
            f"the {where} has type {type(part)}."
        )
    return is_tuple, tuple(parts)


def _tuple_postprocess(res: Any, to_unpack: bool | tuple[bool, ...]) -> Any:
    """Take single results out of their tuples; `to_unpack` says whether the user gave tuples.

    Two flags belong to a tuple of tuples: of the outer one, and of the inner ones.
    """
    if isinstance(to_unpack, tuple):
        outer, inner = to_unpack
        rows = res if inner else tuple(row[0] for row in res)
        return rows if outer else rows[0]
    return res if to_unpack else res[0]


# --- Leaves -------------------------------------------------------------------------------------


def _grad_preprocess(inputs: Sequence[Any], create_graph: bool, need_graph: bool) -> Tensors:
    """The inputs as tensors to differentiate by; with create_graph they keep their history.

    need_graph: let the others require grad too.
    """
    found = []
    for x in inputs:
        if isinstance(x, Tensor) and is_differentiated(x._value, forward=True):
            raise RuntimeError(
                "torch.autograd.functional inside of a function that is being transformed by "
                "torch.func, on a tensor that it differentiates by: use torch.func there."
            )
        if create_graph and isinstance(x, Tensor) and x.requires_grad:
            found.append(x.view_as(x))
        else:
            found.append(x.detach().requires_grad_(need_graph))
    return tuple(found)


def _grad_postprocess(inputs: Any, create_graph: bool) -> Any:
    """Results, in tuples or not, without history unless create_graph asks for it."""
    if isinstance(inputs, tuple):
        return tuple(_grad_postprocess(part, create_graph) for part in inputs)
    return inputs if create_graph else inputs.detach()


def _validate_v(v: Sequence[Tensor], other: Sequence[Tensor], is_other_tuple: bool) -> None:
    """Raise RuntimeError for vectors that have not the shapes of the tensors `other`."""
    if len(other) != len(v):
        if is_other_tuple:
            raise RuntimeError(
                f"v is a tuple of invalid length: should be {len(other)} but got {len(v)}."
            )
        raise RuntimeError("The given v should contain a single Tensor.")
    for position, (part, x) in enumerate(zip(v, other, strict=True)):
        if part.shape != x.shape:
            entry = f"Entry {position} in " if is_other_tuple else ""
            raise RuntimeError(
                f"{entry}v has invalid size: should be {x.shape} but got {part.shape}."
            )


# --- Strict mode --------------------------------------------------------------------------------

# What an absent gradient means, by the stage of the computation.
_INDEPENDENT = {
    "back": "The output of the user-provided function is independent of input {}. " + STRICT,
    "back_trick": "The gradient with respect to the input is independent of entry {} in the "
    "grad_outputs when using the double backward trick to compute forward mode gradients. "
    + STRICT,
    "double_back": "The jacobian of the user-provided function is independent of input {}. "
    + STRICT,
    "double_back_trick": "The hessian of the user-provided function is independent of entry {} in "
    "the grad_jacobian. " + STRICT + " as it prevents from using the double backward trick to "
    "replace forward mode AD",
}

# What a tensor without grad means, by what the tensors are.
_WITHOUT_GRAD = {
    "hessian": "The hessian of the user-provided function with respect to input {} is independent "
    "of the input. " + STRICT + ". You should ensure that your function is thrice differentiable "
    "and that the hessian depends on the inputs.",
    "jacobian": "While computing the hessian, found that the jacobian of the user-provided "
    "function with respect to input {} is independent of the input. " + STRICT + ". You should "
    "ensure that your function is twice differentiable and that the jacobian depends on the "
    "inputs (this would be violated by a linear function for example).",
    "grad_inputs": "The gradient with respect to input {} is independent of the inputs of the "
    "user-provided function. " + STRICT + ".",
    "outputs": "Output {} of the user-provided function does not require gradients. The outputs "
    "must be computed in a differentiable manner from the input when running in strict mode.",
}


def _check_requires_grad(inputs: Sequence[Any], input_type: str, strict: bool) -> None:
    """With `strict`, raise RuntimeError for a tensor that does not require grad.

    input_type: what the tensors are, "outputs", "grad_inputs", "jacobian" or "hessian".
    """
    if not strict:
        return
    if input_type not in _WITHOUT_GRAD:
        raise RuntimeError("Invalid input_type to _check_requires_grad")
    for position, part in enumerate(inputs):
        if part is None:
            raise RuntimeError(_INDEPENDENT["back"].format(position) + ".")
        if not part.requires_grad:
            raise RuntimeError(_WITHOUT_GRAD[input_type].format(position))


def _fill_in_zeros(
    grads: Sequence[Any], refs: Sequence[Tensor], strict: bool, create_graph: bool, stage: str
) -> Tensors:
    """Gradients, with zeros of the shapes of `refs` in place of None.

    With `strict` None is a RuntimeError, and with create_graph a gradient without history too.
    stage: "back", "back_trick", "double_back" or "double_back_trick", for the message.
    """
    if stage not in _INDEPENDENT:
        raise RuntimeError(f"Invalid stage argument '{stage}' to _fill_in_zeros")
    found: list[Tensor] = []
    for position, (gradient, x) in enumerate(zip(grads, refs, strict=False)):
        if gradient is None:
            if strict:
                raise RuntimeError(_INDEPENDENT[stage].format(position) + ".")
            gradient = of_value(np.zeros_like(x._value))
        elif strict and create_graph and not gradient.requires_grad:
            what = "hessian" if "double" in stage else "jacobian"
            raise RuntimeError(
                f"The {what} of the user-provided function is independent of input {position}. "
                f"{STRICT} when create_graph=True."
            )
        found.append(gradient)
    return tuple(found)


# --- Gradients ----------------------------------------------------------------------------------


def _autograd_grad(
    outputs: Sequence[Tensor | None],
    inputs: Sequence[Tensor],
    grad_outputs: Sequence[Any] | None = None,
    create_graph: bool = False,
    retain_graph: bool | None = None,
    is_grads_batched: bool = False,
) -> tuple[Any, ...]:
    """autograd.grad, with None for what does not depend on the inputs."""
    directions: Sequence[Any] = (None,) * len(outputs) if grad_outputs is None else grad_outputs
    pairs = [
        (out, v)
        for out, v in zip(outputs, directions, strict=True)
        if isinstance(out, Tensor) and out.requires_grad
    ]
    if not pairs:
        return (None,) * len(inputs)
    return grad(
        [out for out, _ in pairs],
        inputs,
        [v for _, v in pairs],
        retain_graph=retain_graph,
        create_graph=create_graph,
        allow_unused=True,
        is_grads_batched=is_grads_batched,
    )


def _construct_standard_basis_for(
    tensors: Sequence[Tensor], tensor_numels: Sequence[int]
) -> Tensors:
    """For each tensor the directions of all elements of all of them, of shape (total, numel)."""
    if len(tensors) != len(tensor_numels) or not tensors:
        raise AssertionError("expected as many numbers of elements as tensors, and at least one")
    total = sum(tensor_numels)
    starts = np.cumsum([0, *tensor_numels]).tolist()
    found = []
    for x, count, start in zip(tensors, tensor_numels, starts, strict=False):
        made = np.zeros((total, count), x._value.dtype)
        np.fill_diagonal(made[start:], 1)
        found.append(of_value(made))
    return tuple(found)


def single_of(name: str, outputs: Tree, is_tuple: bool) -> Tensor:
    """The one number that a user's function returned, as a tensor; else a RuntimeError."""
    if is_tuple:
        raise RuntimeError(f"The function given to {name} should return a single Tensor")
    if outputs[0].numel() != 1:
        raise RuntimeError(
            f"The Tensor returned by the function given to {name} should contain a single element"
        )
    found: Tensor = outputs[0]
    return found
