"""A module with the weights of PyTorch's gives the same outputs and gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapegrad.torch as torch

TOLERANCE = 1e-10


def pair(name: str, *args: Any, **options: Any) -> tuple[Any, Any, Any]:
    """PyTorch, its module in double precision, and ours with its weights."""
    pytorch = pytest.importorskip("torch")
    theirs = getattr(pytorch.nn, name)(*args, **options).double()
    ours = getattr(torch.nn, name)(*args, **options).double()
    draw = np.random.default_rng(3)
    state = theirs.state_dict()
    for key, value in state.items():
        if value.is_floating_point() and "running" not in key:
            state[key] = pytorch.from_numpy(0.5 * draw.normal(size=tuple(value.shape)))
    theirs.load_state_dict(state)
    ours_state = ours.state_dict()
    assert list(ours_state) == list(state)
    for key, value in state.items():
        assert tuple(ours_state[key].shape) == tuple(value.shape)
    ours.load_state_dict({key: torch.from_numpy(x.numpy().copy()) for key, x in state.items()})
    if " x " not in repr(theirs):  # PyTorch shows equal layers of a list once
        assert repr(ours) == repr(theirs)
    return pytorch, theirs, ours


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
    pytorch, theirs, ours = pair(name, *args, **options)
    for mode in (True, False)[: 1 + evaluate]:
        found = []
        for library, module in ((pytorch, theirs), (torch, ours)):
            module.train(mode)
            found.append([_called(library, module, call, inputs) for _ in range(steps)][-1])
        for x, y in zip(*found, strict=True):
            assert (x is None) == (y is None)
            if x is not None:
                assert x.dtype == y.dtype
                np.testing.assert_allclose(y, x, TOLERANCE, TOLERANCE)


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
