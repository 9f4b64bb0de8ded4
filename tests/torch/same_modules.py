"""A module with the weights of PyTorch's gives the same outputs and gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from agreement import outline
from pytorch_answers import of_pytorch, same_numbers

import tapegrad.torch as torch

TOLERANCE = 1e-10


def weighted(library: Any, name: str, *args: Any, **options: Any) -> Any:
    """A module of a library in double precision, with drawn weights."""
    module = getattr(library.nn, name)(*args, **options).double()
    draw = np.random.default_rng(3)
    state = module.state_dict()
    for key, value in state.items():
        if value.is_floating_point() and "running" not in key:
            state[key] = library.from_numpy(0.5 * draw.normal(size=tuple(value.shape)))
    module.load_state_dict(state)
    return module


def module_agrees(
    name: str,
    *args: Any,
    inputs: Any,
    call: Callable[..., Any] | None = None,
    steps: int = 1,
    evaluate: bool = False,
    **options: Any,
) -> None:
    """Compare outputs, gradients of inputs and parameters, and buffers after some steps.

    call: `(library, module, *tensors)` to outputs, in place of `module(*tensors)`. evaluate:
    whether the modules are also called in evaluation.
    """

    def seen(library: Any) -> Any:
        module = weighted(library, name, *args, **options)
        state = {key: tuple(value.shape) for key, value in module.state_dict().items()}
        found = []
        for mode in (True, False)[: 1 + evaluate]:
            module.train(mode)
            found += [_called(library, module, call, inputs) for _ in range(steps)][-1]
        return repr(module), state, found

    shown, state, found = seen(torch)
    asked = f"{name} {args} {options} {outline(inputs)}"
    theirs_shown, theirs_state, theirs_found = of_pytorch(seen, digits=11, sums=True, asked=asked)
    if " x " not in theirs_shown:  # PyTorch shows equal layers of a list once
        assert shown == theirs_shown
    assert list(state.items()) == list(theirs_state.items())
    for x, y in zip(found, theirs_found, strict=True):
        assert (x is None) == (y is None)
        if x is not None:
            same_numbers(x, y, TOLERANCE)


def _called(library: Any, module: Any, call: Any, inputs: Any) -> list[Any]:
    tensors = [library.from_numpy(x.copy()) if isinstance(x, np.ndarray) else x for x in inputs]
    wanted = [x for x in tensors if x is not None and x.dtype == library.float64]
    for x in wanted:
        x.requires_grad_()
    outputs = flat(module(*tensors) if call is None else call(library, module, *tensors))
    module.zero_grad()
    total = sum(((place + 1) * x).sin().sum() for place, x in enumerate(outputs))
    total.backward()
    gradients = [x.grad for x in (*wanted, *module.parameters())]
    parts = [*outputs, *gradients, *module.buffers()]
    return [None if x is None else np.array(x.detach().numpy()) for x in parts]


def flat(found: Any) -> list[Any]:
    """The floating tensors in nested tuples."""
    if isinstance(found, (tuple, list)):
        return [part for item in found for part in flat(item)]
    return [] if found is None or not found.dtype.is_floating_point else [found]
