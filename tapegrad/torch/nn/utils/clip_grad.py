"""Gradients cut off: by the norm of all of them together, or each number by itself.

Knows tensors and their `grad`. Must not know modules or optimizers.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import GeneratorType

import numpy as np

from tapegrad._core.quiet import silence
from tapegrad._core.types import Value
from tapegrad._warning import warn
from tapegrad.torch._graph.modes import MODE, no_grad
from tapegrad.torch._graph.versions import count_write
from tapegrad.torch._ops.families import OPERATIONS
from tapegrad.torch._ops.reduce.norms import vector_norm
from tapegrad.torch._tensor.tensor import Tensor, of_value
from tapegrad.torch._tensor.writes import is_plain

Tensors = Tensor | Iterable[Tensor]


def _listed(tensors: Tensors) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def _gradients(parameters: Tensors) -> list[Tensor]:
    return [p.grad for p in _listed(parameters) if p.grad is not None]


def _arrays_of(tensors: list[Tensor]) -> list[Value] | None:
    """The arrays of tensors without history, all of one floating dtype; None for any others."""
    if MODE.get() is not None:
        return None
    kinds = set()
    arrays = []
    for tensor in tensors:
        value = tensor._value if tensor.node is None else None
        if type(value) is not np.ndarray:
            return None
        kinds.add(value.dtype.char)
        arrays.append(value)
    return arrays if len(kinds) == 1 and kinds <= {"f", "d"} else None


@silence()
def _length_of(x: Value) -> Value:
    """The norm of all elements, as np.linalg.norm computes it."""
    row = x.ravel("K")
    return np.sqrt(row.dot(row))


def get_total_norm(
    tensors: Tensors,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The norm of all elements of several tensors together, without history.

    tensors (Tensor or iterable of Tensor): The tensors.
    -> Tensor: The norm; 0 without tensors.
    RuntimeError: For a norm that is inf or NaN and `error_if_nonfinite`.

    >>> torch.nn.utils.get_total_norm([torch.tensor([3.0]), torch.tensor([4.0])])
    tensor(5.)
    """
    order = float(norm_type)
    found = _listed(tensors)
    if not found:
        return OPERATIONS["tensor"](0.0)
    arrays = _arrays_of(found) if order == 2 else None
    if arrays is not None:
        total = of_value(np.asarray(_length_of(np.array([_length_of(x) for x in arrays]))))
    else:
        with no_grad():
            total = vector_norm(OPERATIONS["stack"]([vector_norm(x, order) for x in found]), order)
    if error_if_nonfinite and not total.isfinite():
        raise RuntimeError(
            f"The total norm of order {order} for gradients from `parameters` is non-finite, so "
            "it cannot be clipped. To disable this error and scale the gradients by the "
            "non-finite norm anyway, set `error_if_nonfinite=False`"
        )
    return total


def clip_grads_with_norm_(
    parameters: Tensors, max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Multiply the gradients of parameters by max_norm / total_norm, if that is less than 1.

    total_norm: The norm that they have.

    >>> w = torch.ones(4, requires_grad=True)
    >>> (3 * w).sum().backward()
    >>> torch.nn.utils.clip_grads_with_norm_(w, 1.0, torch.tensor(6.0))
    >>> w.grad
    tensor([0.5000, 0.5000, 0.5000, 0.5000])
    """
    gradients = _gradients(parameters)
    arrays = _arrays_of([total_norm, *gradients])
    if arrays is not None and all(map(is_plain, gradients)):
        total, *rest = arrays
        with silence():
            factor = np.minimum(float(max_norm) / (total + 1e-6), 1)
            for gradient, array in zip(gradients, rest, strict=True):
                array *= factor
                count_write(gradient)
        return
    factor = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
    with no_grad():
        for gradient in gradients:
            gradient.mul_(factor)


def clip_grad_norm_(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale the gradients of parameters in place so that their norm is at most `max_norm`.

    The norm is that of all gradients together, as if they were one vector.

    -> Tensor: The norm, as it was before.
    RuntimeError: For a norm that is inf or NaN and `error_if_nonfinite`.

    >>> w = torch.ones(4, requires_grad=True)
    >>> (3 * w).sum().backward()
    >>> torch.nn.utils.clip_grad_norm_(w, 1.0), w.grad
    (tensor(6.), tensor([0.5000, 0.5000, 0.5000, 0.5000]))
    """
    found = _listed(parameters)
    if isinstance(parameters, GeneratorType) and not found:
        warn("`parameters` is an empty generator, no gradient clipping will occur.")
    total = get_total_norm(_gradients(found), norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(found, max_norm, total, foreach)
    return total


def clip_grad_norm(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The older name of `clip_grad_norm_`.

    -> Tensor: The norm, as it was before.
    RuntimeError: For a norm that is inf or NaN and `error_if_nonfinite`.
    FutureWarning: At each call.

    >>> import warnings
    >>> w = torch.ones(4, requires_grad=True)
    >>> (3 * w).sum().backward()
    >>> with warnings.catch_warnings(action="ignore"):
    ...     torch.nn.utils.clip_grad_norm(w, 1.0)
    tensor(6.)
    """
    warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of "
        "`torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


def clip_grad_value_(parameters: Tensors, clip_value: float, foreach: bool | None = None) -> None:
    """Cut the gradients of parameters off below -clip_value and above clip_value, in place.

    clip_value: The largest absolute value.

    >>> w = torch.ones(2, requires_grad=True)
    >>> (3 * w).sum().backward()
    >>> torch.nn.utils.clip_grad_value_(w, 1.0)
    >>> w.grad
    tensor([1., 1.])
    """
    value = float(clip_value)
    with no_grad():
        for gradient in _gradients(parameters):
            gradient.clamp_(min=-value, max=value)


__all__ = [
    "clip_grad_norm",
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "get_total_norm",
]
