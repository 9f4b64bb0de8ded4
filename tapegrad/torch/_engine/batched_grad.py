"""`is_grads_batched` of `autograd.grad`: many cotangents through one graph.

Knows passes and the core's vmap. Must not know operations.

The pass runs once, on batched cotangents: rules are written for one cotangent, and NumPy computes
all of them. Hooks and custom Functions get batched tensors. If a function cannot be batched, there
is one pass per example.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tapegrad import BatchingError, vmap
from tapegrad._core.tape import attempting
from tapegrad._core.types import Cotangent
from tapegrad.torch._engine.backward_pass import BackwardPass
from tapegrad.torch._engine.node_run import free
from tapegrad.torch._graph.node import Node
from tapegrad.torch._tensor.gradients import conjugated
from tapegrad.torch._tensor.tensor import Tensor, array_below, node_of

ABSENT = np.zeros(())  # stands for the cotangent of a node that the pass did not reach


def batched_grad(
    outputs: Sequence[Tensor],
    wanted: Sequence[Node],
    gradients: Tensor | Sequence[Tensor] | None,
    keep: bool,
    create: bool,
) -> list[Cotangent]:
    """The cotangents of the wanted nodes, with the examples along axis 0.

    gradients: one tensor per output, with one more dimension in front than the output has.
    """
    gradients = (gradients,) if isinstance(gradients, Tensor) else gradients
    if gradients is None or any(gradient is None for gradient in gradients):
        raise RuntimeError("is_grads_batched=True needs grad_outputs, one tensor for each output")
    gradients = tuple(gradients)
    if len(gradients) != len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(gradients)} gradients")
    pairs = enumerate(zip(outputs, gradients, strict=True))
    nodes = [_checked(output, gradient, position) for position, (output, gradient) in pairs]
    bars = [conjugated(array_below(gradient)) for gradient in gradients]
    passes: list[BackwardPass] = []

    def one(*parts: Cotangent) -> list[Cotangent]:
        roots = [
            (node, bar if bar.dtype == y._value.dtype else bar.astype(y._value.dtype))
            for node, bar, y in zip(nodes, parts, outputs, strict=True)
        ]
        work = BackwardPass(roots, wanted, keep=True, create=create, accumulate=False)
        passes.append(work)
        work.run()
        return [work.captured.get(node, ABSENT) for node in wanted]

    try:
        with attempting():
            found = vmap(one)(*bars)
    except BatchingError:  # a rule needs untraced values: one pass per example
        rows = [one(*parts) for parts in zip(*bars, strict=True)]
        found = [np.stack(column) for column in zip(*rows, strict=True)]
    if not keep:
        free(node for node in passes[-1].nodes if node._entry is not None)
    return [
        bar if node in passes[-1].captured else None
        for node, bar in zip(wanted, found, strict=True)
    ]


def _checked(output: Tensor, gradient: object, position: int) -> Node:
    if not isinstance(gradient, Tensor):
        raise TypeError(
            f"gradients can be either Tensors or None, but got {type(gradient).__name__}"
        )
    if gradient._value.shape[1:] != output._value.shape or not gradient._value.shape:
        raise RuntimeError(
            f"If `is_grads_batched=True`, we interpret the first dimension of each grad_output "
            f"as the batch dimension. The sizes of the remaining dimensions are expected to match "
            f"the shape of corresponding output, but a mismatch was detected: "
            f"grad_output[{position}] has a shape of {gradient.shape} and output[{position}] has "
            f"a shape of {output.shape}. If you only want some tensors in `grad_output` to be "
            "considered batched, consider using vmap."
        )
    node = node_of(output)
    if node is None:
        raise RuntimeError(
            f"element {position} of tensors does not require grad and does not have a grad_fn"
        )
    return node
