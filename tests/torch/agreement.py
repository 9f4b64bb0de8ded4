"""The same call on our tensors and on PyTorch's: values, types, gradients, errors agree."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapegrad.torch as torch

Call = Callable[..., Any]
TOLERANCE = {"float16": 2e-2, "float32": 3e-5, "complex64": 3e-5}


def agree(
    call: Call,
    *inputs: Any,
    order: int = 1,
    name: bool = True,
    nan_gradients: bool = True,
    tolerance: float = 1e-10,
) -> None:
    """Run `call(torch, *tensors)` with both libraries and compare all that can be seen.

    Floating inputs require grad. order: how often it is differentiated. name: whether the name of
    the node has to agree. nan_gradients: whether gradients have to be NaN where PyTorch's are.
    tolerance: of numbers in double precision.
    """
    pytorch = pytest.importorskip("torch")
    mine, mine_failed = _attempt(call, torch, inputs)
    with warnings.catch_warnings():
        theirs, theirs_failed = _attempt(call, pytorch, inputs)
    if theirs_failed is not None or mine_failed is not None:
        assert mine_failed is not None, f"PyTorch raises {theirs_failed!r}, not so here"
        assert theirs_failed is not None, f"only here: {mine_failed!r}"
        assert isinstance(mine_failed, _as_expected(type(theirs_failed))), repr(mine_failed)
        return
    (tensors, results), (their_tensors, their_results) = mine, theirs
    assert type(results).__name__ == type(their_results).__name__
    pairs = list(zip(_parts(results), _parts(their_results), strict=True))
    for ours, other in pairs:
        _same(ours, other, "value", tolerance)
        if isinstance(ours, torch.Tensor):
            assert ours.requires_grad == other.requires_grad, "requires_grad"
            if name and other.grad_fn is not None:
                assert type(ours.grad_fn).__name__ == type(other.grad_fn).__name__
    outputs = [(x, y) for x, y in pairs if isinstance(x, torch.Tensor) and x.requires_grad]
    wanted = [x for x in tensors if x.requires_grad]
    their_wanted = [x for x in their_tensors if x.requires_grad]
    if outputs and wanted:
        _same_gradients(pytorch, outputs, wanted, their_wanted, order, nan_gradients, tolerance)


def _attempt(call: Call, library: Any, inputs: Any) -> Any:
    try:
        tensors = [_made(library, x) for x in inputs]
        if library is not torch:
            warnings.simplefilter("ignore")
        return (tensors, call(library, *tensors)), None
    except Exception as error:  # noqa: BLE001 - its type is compared
        return None, error


def _made(library: Any, x: Any) -> Any:
    if not isinstance(x, np.ndarray):
        return x
    made = library.from_numpy(x.copy())
    return made.requires_grad_() if x.dtype.kind in "fc" else made


def _as_expected(kind: type) -> Any:
    return kind if kind.__module__ == "builtins" else RuntimeError


def _parts(results: Any) -> list[Any]:
    return list(results) if isinstance(results, (tuple, list)) else [results]


def _same(ours: Any, other: Any, what: str, tolerance: float, *, nan: bool = True) -> None:
    if not isinstance(ours, torch.Tensor):
        assert ours == other, what
        return
    x, y = ours.detach().numpy(), other.detach().numpy(force=True)
    assert x.dtype == y.dtype, f"{what}: {x.dtype}, PyTorch has {y.dtype}"
    assert x.shape == y.shape, f"{what}: {x.shape}, PyTorch has {y.shape}"
    tolerance = TOLERANCE.get(x.dtype.name, tolerance)
    if not nan:
        y = np.where(np.isfinite(y), y, x)
    np.testing.assert_allclose(x, y, tolerance, tolerance, err_msg=what)


def _same_gradients(
    pytorch: Any,
    outputs: Any,
    wanted: Any,
    their_wanted: Any,
    order: int,
    nan: bool,
    tolerance: float,
) -> None:
    draw = np.random.default_rng(5)
    weights = [_weights(draw, x) for x, _ in outputs]
    create = order > 1
    ours = torch.autograd.grad(
        [x for x, _ in outputs],
        wanted,
        [torch.from_numpy(w.copy()) for w in weights],
        create_graph=create,
        allow_unused=True,
    )
    theirs = pytorch.autograd.grad(
        [y for _, y in outputs],
        their_wanted,
        [pytorch.from_numpy(w.copy()) for w in weights],
        create_graph=create,
        allow_unused=True,
    )
    following = []
    for place, (x, y) in enumerate(zip(ours, theirs, strict=True)):
        if x is None or y is None:
            _is_zero(x if y is None else y)
            continue
        _same(x, y, f"gradient {place}", tolerance, nan=nan)
        if x.requires_grad and y.requires_grad:
            following.append((x, y))
    if create and following:
        _same_gradients(pytorch, following, wanted, their_wanted, order - 1, nan, tolerance)


def _is_zero(gradient: Any) -> None:
    """An absent gradient stands for zeros."""
    assert gradient is None or not gradient.detach().numpy().any()


def _weights(draw: Any, x: Any) -> Any:
    weights = draw.normal(size=x.shape)
    if x.dtype.is_complex:
        weights = weights + 1j * draw.normal(size=x.shape)
    return np.asarray(weights, x.detach().numpy().dtype)


def numbers(*shape: int, seed: int = 0, dtype: Any = np.float64) -> Any:
    """Normal numbers, complex ones where the dtype is."""
    draw = np.random.default_rng(seed)
    made = draw.normal(size=shape)
    if np.dtype(dtype).kind == "c":
        made = made + 1j * draw.normal(size=shape)
    if np.dtype(dtype).kind in "iu":
        made = draw.integers(0 if np.dtype(dtype).kind == "u" else -5, 6, shape)
    return np.asarray(made > 0 if np.dtype(dtype).kind == "b" else made, dtype)
