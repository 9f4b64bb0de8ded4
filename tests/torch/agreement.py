"""The same call on our tensors and on PyTorch's: values, types, gradients, errors agree."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from pytorch_answers import Sums, of_pytorch, same_numbers

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
    theirs = of_pytorch(
        lambda pytorch: _seen(pytorch, call, inputs, order),
        digits=1 - math.floor(math.log10(min(tolerance, TOLERANCE["float32"]))),
        sums=True,
        asked=f"{order} {outline(inputs)}",
    )
    mine = _seen(torch, call, inputs, order)
    if "raised" in mine or "raised" in theirs:
        assert "raised" in mine, f"PyTorch raises {theirs['text']!r}, not so here"
        assert "raised" in theirs, f"only here: {mine['text']}"
        assert theirs["raised"][0] in mine["raised"], mine["text"]
        return
    assert mine["type"] == theirs["type"]
    for ours, other in zip(mine["parts"], theirs["parts"], strict=True):
        _same_part(ours, other, tolerance, name=name)
    for ours, other in itertools.zip_longest(mine["gradients"], theirs["gradients"], fillvalue=()):
        for place, (x, y) in enumerate(itertools.zip_longest(ours, other)):
            if x is None or y is None:
                _is_zero(x if y is None else y, tolerance)
            else:
                _same(x, y, f"gradient {place}", tolerance, nan=nan_gradients)


def _seen(library: Any, call: Call, inputs: Any, order: int) -> dict[str, Any]:
    """Result of a call with a library, or its error, as plain data."""
    try:
        tensors = [_made(library, x) for x in inputs]
        results = call(library, *tensors)
    except Exception as error:  # noqa: BLE001 - its type is compared
        return {"raised": _names(type(error)), "text": str(error)[:60]}
    parts = list(results) if isinstance(results, (tuple, list)) else [results]
    outputs = [x for x in parts if isinstance(x, library.Tensor) and x.requires_grad]
    wanted = [x for x in tensors if isinstance(x, library.Tensor) and x.requires_grad]
    return {
        "type": type(results).__name__,
        "parts": [_part(library, x) for x in parts],
        "gradients": list(_gradients(library, outputs, wanted, order)),
    }


def _names(kind: type) -> list[str]:
    """The builtin classes that an error is of, the nearest first: its own are each library's."""
    return [base.__name__ for base in kind.__mro__ if base.__module__ == "builtins"]


def _made(library: Any, x: Any) -> Any:
    if not isinstance(x, np.ndarray):
        return x
    made = library.from_numpy(x.copy())
    return made.requires_grad_() if x.dtype.kind in "fc" else made


def _part(library: Any, x: Any) -> Any:
    if not isinstance(x, library.Tensor):
        return x
    node = None if x.grad_fn is None else type(x.grad_fn).__name__
    return {"values": _array(x), "requires_grad": x.requires_grad, "node": node}


def _array(x: Any) -> Any:
    return np.array(x.detach().numpy(force=True))


def _gradients(library: Any, outputs: Any, wanted: Any, order: int) -> Iterator[list[Any]]:
    """The gradients of a weighted sum of the outputs, then those of a sum of them, and so on."""
    draw = np.random.default_rng(5)
    alike = outputs
    for level in range(1, order + 1):
        weights = [_weights(draw, x) for x in alike]  # also for a gradient that is absent
        pairs = [
            (x, library.from_numpy(w))
            for x, w in zip(outputs, weights, strict=True)
            if x is not None and x.requires_grad
        ]
        if not pairs or not wanted:
            return
        try:
            outputs = library.autograd.grad(
                [x for x, _ in pairs],
                wanted,
                [w for _, w in pairs],
                create_graph=level < order,
                allow_unused=True,
            )
        except RuntimeError as error:
            if "is not implemented" in str(error):  # of a gradient that is constant here
                return
            raise
        alike = wanted
        yield [None if x is None else _array(x) for x in outputs]


def _same_part(ours: Any, other: Any, tolerance: float, *, name: bool) -> None:
    if not isinstance(ours, dict):
        assert ours == other, "value"
        return
    _same(ours["values"], other["values"], "value", tolerance)
    assert ours["requires_grad"] == other["requires_grad"], "requires_grad"
    if name and other["node"] is not None:
        assert ours["node"] == other["node"]


def _same(x: Any, y: Any, what: str, tolerance: float, *, nan: bool = True) -> None:
    same_numbers(x, y, TOLERANCE.get(x.dtype.name, tolerance), what, nan=nan)


def _is_zero(gradient: Any, tolerance: float) -> None:
    """An absent gradient stands for zeros."""
    if isinstance(gradient, Sums):
        same_numbers(np.zeros(gradient.shape, gradient.dtype), gradient, tolerance)
    elif gradient is not None:
        np.testing.assert_allclose(gradient, 0, atol=tolerance)


def _weights(draw: Any, x: Any) -> Any:
    weights = draw.normal(size=x.shape)
    if x.dtype.is_complex:
        weights = weights + 1j * draw.normal(size=x.shape)
    return np.asarray(weights, _array(x).dtype)


def outline(inputs: Any) -> str:
    """Dtypes, shapes and a weighted sum of inputs: what changes when they do."""
    return " ".join(map(_outlined, inputs))


def _outlined(x: Any) -> str:
    if not isinstance(x, np.ndarray):
        return repr(x)
    with np.errstate(all="ignore"):
        total = (x.ravel() * np.sqrt(np.arange(1, x.size + 1))).sum()
    return f"{x.dtype}{list(x.shape)}{total:.6g}"


def numbers(*shape: int, seed: int = 0, dtype: Any = np.float64) -> Any:
    """Normal numbers, complex ones where the dtype is."""
    draw = np.random.default_rng(seed)
    made = draw.normal(size=shape)
    if np.dtype(dtype).kind == "c":
        made = made + 1j * draw.normal(size=shape)
    if np.dtype(dtype).kind in "iu":
        made = draw.integers(0 if np.dtype(dtype).kind == "u" else -5, 6, shape)
    return np.asarray(made > 0 if np.dtype(dtype).kind == "b" else made, dtype)
