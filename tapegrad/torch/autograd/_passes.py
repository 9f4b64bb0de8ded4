"""`backward` and `grad`: derivatives of tensors by the leaves, or by named tensors.

Knows the engine. Must not know operations.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._core.entry import PROJECT
from tapegrad._core.types import Cotangent, Tree
from tapegrad._transforms.tracebacks import fold, folding
from tapegrad._warning import warn
from tapegrad.torch._engine.backward_pass import BackwardPass
from tapegrad.torch._graph.node import AccumulateGrad, GradientEdge, Node, fresh_node
from tapegrad.torch._methods import method_of
from tapegrad.torch._tensor.gradients import as_gradient, root_of
from tapegrad.torch._tensor.tensor import Tensor, node_of, of_value
from tapegrad.torch.autograd._within import grad_within, open_tape


@folding
def backward(
    tensors: Tree,
    grad_tensors: Tree = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Tree = None,
    inputs: Tree = None,
    *,
    retain_variables: bool | None = None,
) -> None:
    """Add to the `grad` of the leaves the derivatives of the sum of `tensors`.

    tensors (Tensor or sequence of Tensor): What is differentiated.
    grad_tensors (Tensor or sequence of Tensor or None, default None): The cotangent of each, of
        its shape; None, which is 1, for a tensor of one element.
    grad_variables (Tensor or sequence of Tensor): The old name of `grad_tensors`.
    -> None: The gradients are in `grad` of the leaves.
    RuntimeError: If `inputs` is empty, if there is no graph, or if its values were freed by a pass
        before.
    FutureWarning: If `grad_variables` is given.
    DeprecationWarning: If `retain_variables` is given.
    See also grad: Gradients as results, with no `grad` changed.

    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> torch.autograd.backward((x * x).sum())
    >>> x.grad
    tensor([2., 4.])
    """
    if grad_variables is not None:
        warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning)
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to "
                "`backward()`. Please only use `grad_tensors`."
            )
        grad_tensors = grad_variables
    if retain_variables is not None:
        warn("retain_variables is deprecated. Use retain_graph instead.", DeprecationWarning)
        retain_graph = retain_variables
    if inputs is not None:
        inputs = _sequence(inputs)
        if not inputs:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    if open_tape(_sequence(tensors)) is not None:
        raise RuntimeError(
            "backward() called inside a functorch transform. This is not supported, please use "
            "functorch.grad or functorch.vjp instead or call backward() outside of functorch "
            "transforms."
        )
    roots = _roots(tensors, grad_tensors)
    if create_graph:
        _warn_of_cycles()
    keep = create_graph if retain_graph is None else retain_graph
    for x in inputs or ():
        if isinstance(x, Tensor):
            x.retain_grad()  # as in PyTorch: later passes fill its `grad` too
    wanted = None if inputs is None else [_wanted_node(x) for x in inputs]
    BackwardPass(roots, wanted, keep=keep, create=create_graph, accumulate=True).run()


_WARNED: list[bool] = []  # once in a process, as in PyTorch


def _warn_of_cycles() -> None:
    if _WARNED:
        return
    _WARNED.append(True)
    warn(
        "Using backward() with create_graph=True will create a reference cycle between the "
        "parameter and its gradient which can cause a memory leak. We recommend using "
        "autograd.grad when creating the graph to avoid this. If you have to use this function, "
        "make sure to reset the .grad fields of your parameters to None after use to break the "
        "cycle and avoid the leak."
    )


@method_of(Tensor, "backward")
def _backward(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tree = None,
    *,
    retain_variables: bool | None = None,
) -> None:
    """Add to the `grad` of the leaves the derivative of this tensor.

    gradient: The cotangent of this tensor, of its shape; 1 for one element if it is left out.
    -> None: The gradients are in `grad` of the leaves.
    RuntimeError: Where there is no graph, where it was freed, or where a kept value was changed in
        place.
    DeprecationWarning: If `retain_variables` is given.

    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> (x**2).backward()
    >>> x.grad
    tensor(6.)
    """
    try:
        if gradient is None and inputs is None and not create_graph and retain_variables is None:
            node = node_of(self)  # the frequent case, as `backward` has it
            if node is not None:
                work = BackwardPass(
                    [(node, root_of(self, None))],
                    None,
                    keep=bool(retain_graph),
                    create=False,
                    accumulate=True,
                )
                work.run()
                return
        backward(
            self,
            gradient,
            retain_graph,
            create_graph,
            inputs=inputs,
            retain_variables=retain_variables,
        )
    except BaseException as error:
        fold(error)
        raise


@folding
def grad(
    outputs: Tree,
    inputs: Tree,
    grad_outputs: Tree = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor, ...]:
    """The derivatives of the sum of `outputs` by `inputs`; no `grad` is changed.

    outputs (Tensor or sequence of Tensor): What is differentiated.
    inputs (Tensor or sequence of Tensor): By what; leaves, or tensors that were computed on the
        way.
    grad_outputs (Tensor or sequence of Tensor or None, default None): The cotangent of each
        output, of its shape; None, which is 1, for one element.
    create_graph: Make the results differentiable.
    only_inputs: Ignored.
    allow_unused: Give None for an input on which the outputs do not depend; by default as
        `materialize_grads`.
    is_grads_batched: Whether `grad_outputs`, and so the results, have one more dimension in front.
    materialize_grads: Give zeros for an input on which the outputs do not depend.
    -> tuple of Tensor: One for each input, of its shape.
    RuntimeError: If `inputs` is empty, or the outputs do not depend on one and nothing allows
        that.
    ValueError: If `materialize_grads` is given with `allow_unused=False`.
    FutureWarning: If `only_inputs` is False.
    See also backward: Add the gradients to `grad`.

    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> (slope,) = torch.autograd.grad(x**3, x, create_graph=True)
    >>> torch.autograd.grad(slope, x)
    (tensor(12.),)
    """
    if not only_inputs:
        warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To "
            "accumulate gradient for other parts of the graph, please use "
            "torch.autograd.backward.",
            FutureWarning,
        )
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
            "allow_unused=False."
        )
    allow_unused = materialize_grads if allow_unused is None else allow_unused
    inputs = _sequence(inputs)
    if not inputs:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    keep = create_graph if retain_graph is None else retain_graph
    if is_grads_batched:
        from tapegrad.torch._engine.batched_grad import batched_grad

        wanted = [_wanted_node(x) for x in inputs]
        found = batched_grad(_sequence(outputs), wanted, grad_outputs, keep, create_graph)
    elif (tape := open_tape(_sequence(outputs))) is not None:
        outputs, gradients = _pairs(outputs, grad_outputs)
        found = grad_within(tape, outputs, gradients, inputs, create_graph)
    else:
        roots = _roots(outputs, grad_outputs)
        wanted = [_wanted_node(x) for x in inputs]
        work = BackwardPass(roots, wanted, keep=keep, create=create_graph, accumulate=False)
        work.run()
        found = [work.captured.get(node) for node in wanted]
    parts: Any = [
        _finished(bar, x, place, allow_unused, materialize_grads, create_graph)
        for place, (bar, x) in enumerate(zip(found, inputs, strict=True))
    ]
    return tuple(parts)  # None where that is allowed


def _finished(
    bar: Cotangent, x: Tensor, place: int, allow_unused: bool, materialize: bool, create: bool
) -> Tensor | None:
    if bar is not None:
        made = as_gradient(bar)
        if made.node is None:
            made._value = (
                made._value.copy()
            )  # the array may belong to another result, or to the caller
        elif isinstance(made.node, AccumulateGrad) and made._value is made.node.variable._value:
            return made.node.variable  # a leaf that the caller gave as the gradient
        return made
    if not allow_unused:
        raise RuntimeError(
            f"The differentiated Tensor at index {place} appears to not have been used in the "
            "graph. Set allow_unused=True if this is the desired behavior."
        )
    if not materialize:
        return None
    zeros = of_value(np.zeros_like(x._value))
    return zeros.requires_grad_() if create else zeros


def _sequence(given: Tree) -> Sequence[Any]:
    if isinstance(given, Tensor):
        return (given,)
    if isinstance(given, GradientEdge):
        given = (given,)
    found = tuple(given)
    for part in found:
        if isinstance(part, GradientEdge):
            return [_of_edge(part) if isinstance(part, GradientEdge) else part for part in found]
    return found


def _of_edge(edge: GradientEdge) -> Tensor:
    """A tensor at an edge of the graph: the leaf itself, or else one without elements to read.

    IndexError for a result that the node has not.
    """
    if edge.ownership_token is not None:
        token: Tensor = edge.ownership_token
        return token
    node = edge.node
    if isinstance(node, AccumulateGrad):
        leaf: Tensor = node.variable
        return leaf
    entry = node._entry
    kept: Any = None if entry is None else entry[1]
    several = isinstance(kept, tuple)
    if not 0 <= edge.output_nr < (len(kept) if several else 1):
        raise IndexError("tuple index out of range")
    spec = kept[edge.output_nr] if several else kept
    shape = getattr(spec, "shape", None)
    if shape is None:  # a node that keeps nothing of its result
        found = _result_of(node)
        shape, dtype = found if found is not None else ((), np.dtype(np.float32))
    else:
        dtype = spec.dtype
    value = np.broadcast_to(np.zeros((), dtype), shape)
    return of_value(value, _result_node(node, edge.output_nr) if several else node)


def _result_of(node: Node) -> tuple[Any, Any] | None:
    """The shape and dtype of the result of an elementwise node, from its arguments."""
    _, _, x, y, _, _ = node._entry
    kept = [part for part in (x, y) if hasattr(part, "shape")]
    if not kept:
        return None
    return np.broadcast_shapes(*(part.shape for part in kept)), kept[0].dtype


def _result_node(node: Node, position: int) -> Node:
    """A node of one of several results."""
    made = fresh_node()
    made._entry = PROJECT, None, position, len(node._entry[1]), node, None
    return made


def _pairs(tensors: Tree, gradients: Tree) -> tuple[Sequence[Any], Sequence[Any]]:
    """The tensors, and the cotangent of each or None."""
    tensors = _sequence(tensors)
    if gradients is None:
        gradients = (None,) * len(tensors)
    else:
        gradients = (gradients,) if isinstance(gradients, Tensor) else tuple(gradients)
    if len(gradients) != len(tensors):
        raise RuntimeError(f"got {len(tensors)} tensors and {len(gradients)} gradients")
    for position, (tensor, gradient) in enumerate(zip(tensors, gradients, strict=True)):
        if gradient is not None:
            _check_gradient(tensor, gradient, position)
    return tensors, gradients


def _roots(tensors: Tree, gradients: Tree) -> list[tuple[Node, Cotangent]]:
    tensors, gradients = _pairs(tensors, gradients)
    roots = []
    for position, (tensor, gradient) in enumerate(zip(tensors, gradients, strict=True)):
        node = node_of(tensor)
        if node is None:
            raise RuntimeError(
                f"element {position} of tensors does not require grad and does not have a grad_fn"
            )
        roots.append((node, root_of(tensor, gradient)))
    return roots


def _check_gradient(tensor: Tensor, gradient: object, position: int) -> None:
    if not isinstance(gradient, Tensor):
        raise TypeError(
            f"gradients can be either Tensors or None, but got {type(gradient).__name__}"
        )
    if gradient._value.shape != tensor._value.shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{position}] has a shape of {gradient.shape} and "
            f"output[{position}] has a shape of {tensor.shape}."
        )
    if (gradient._value.dtype.kind == "c") != (tensor._value.dtype.kind == "c"):
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same "
            f"dtype. Mismatch in dtype: grad_output[{position}] has a dtype of {gradient.dtype} "
            f"and output[{position}] has a dtype of {tensor.dtype}."
        )


def _wanted_node(x: object) -> Node:
    node = node_of(x) if isinstance(x, Tensor) else None
    if node is None:
        raise RuntimeError("One of the differentiated Tensors does not require grad")
    return node
