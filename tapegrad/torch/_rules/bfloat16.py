"""bfloat16: numbers of 16 bits with the exponent of float32, from the package ml_dtypes.

Knows the two conversions, with derivatives. Must not know tensors.

NumPy's functions of these numbers add in 16 bits and make float32 beside Python's numbers. So an
operation computes in float32, as PyTorch's kernels do, and its result is rounded once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from tapegrad._core.forms import Linear
from tapegrad._core.types import Params, Tree, Value
from tapegrad.torch import _dtypes
from tapegrad.torch._dtypes import FLOAT32, is_brain
from tapegrad.torch._rules.declare import ruled


def _narrow_bar(g: Value, _out: Value, _x: Value) -> Value:
    return narrowed(g)


@ruled("ToCopyBackward0", Linear, [_narrow_bar])
def widened(x: Value) -> Value:
    """bfloat16 as float32, which holds each of these numbers."""
    return x.astype(FLOAT32)


@ruled("ToCopyBackward0", Linear, [lambda g, _out, _x: widened(g)])
def narrowed(x: Value) -> Value:
    """float32 rounded to the nearest bfloat16."""
    return x.astype(_dtypes.BRAIN.numpy)


def converted(array: Value, given: np.dtype[Any]) -> Value:
    """An array of another dtype, of which one may be bfloat16."""
    if array.dtype == given:
        return array
    if is_brain(array.dtype):
        array = widened(array)
    if not is_brain(given):
        return array if array.dtype == given else array.astype(given)
    return narrowed(array if array.dtype == FLOAT32 else array.astype(FLOAT32))


# --- Computing in float32 -----------------------------------------------------------------------


def _leaves(values: Iterable[Tree]) -> Iterator[Value]:
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _leaves(value)
        else:
            yield value


def _holds_brain(value: Value) -> bool:
    if isinstance(value, _dtypes.dtype):
        return value is _dtypes.BRAIN
    return is_brain(value if isinstance(value, np.dtype) else getattr(value, "dtype", None))


def concerns(args: Iterable[Tree], params: Params) -> bool:
    """Whether an argument is of bfloat16, or names it as a dtype."""
    return any(map(_holds_brain, _leaves((*args, *params.values()))))


def _as_single(value: Tree) -> Tree:
    if type(value) in (list, tuple):
        return type(value)([_as_single(part) for part in value])
    if not isinstance(value, (list, tuple)) and _holds_brain(value):
        if isinstance(value, (_dtypes.dtype, np.dtype)):
            return FLOAT32
        return widened(value)
    return value


def _rounded(made: Tree) -> Tree:
    if isinstance(made, (list, tuple)):
        parts = [_rounded(part) for part in made]
        return type(made)(*parts) if hasattr(made, "_fields") else type(made)(parts)
    dtype = getattr(made, "dtype", None)
    if dtype != FLOAT32:
        return made
    return narrowed(made if hasattr(made, "shape") and hasattr(made, "ndim") else np.asarray(made))


# Operations whose factors must have one dtype.
_PRODUCTS = frozenset(
    "addbmm addmm addmv baddbmm bmm conv1d conv2d conv3d conv_transpose1d conv_transpose2d "
    "conv_transpose3d dot inner linear matmul mm mv vdot".split()
)
# Those of linalg that take 16 bits, and others that do not.
_ANY_PRECISION = frozenset("cross vecdot vander matmul multi_dot diagonal".split())
_PRECISE = frozenset("cdist quantile nanquantile".split())


def _check(word: str, module: str, arrays: list[Value]) -> None:
    """RuntimeError where PyTorch does not take bfloat16."""
    room = module.rpartition(".")[2]
    name = word.removeprefix(f"{room}_")
    if name in _PRECISE or (room in ("linalg", "fft") and name not in _ANY_PRECISION):
        name = name if name in _PRECISE else f"{room}.{name}"
        raise RuntimeError(f"{name}: Low precision dtypes not supported. Got BFloat16")
    if word in _PRODUCTS:
        for other in arrays:
            if not is_brain(other.dtype):
                kind = {"float32": "float", "float64": "double", "float16": "c10::Half"}
                raise RuntimeError(
                    "expected m1 and m2 to have the same dtype, but got: c10::BFloat16 != "
                    f"{kind.get(other.dtype.name, other.dtype.name)}"
                )


def in_single(
    compute: Callable[..., Any], word: str, args: tuple[Any, ...], params: Params
) -> Any:
    """`compute` in float32; results that PyTorch has in bfloat16 are rounded to it."""
    leaves = list(_leaves((*args, *params.values())))
    named = [x for x in leaves if isinstance(x, (_dtypes.dtype, np.dtype))]
    arrays = [x for x in leaves if hasattr(x, "dtype") and hasattr(x, "shape")]
    _check(word, compute.__module__, arrays)
    made = compute(
        *[_as_single(arg) for arg in args],
        **{word: _as_single(value) for word, value in params.items()},
    )
    if named:
        return _rounded(made) if _holds_brain(named[0]) else made
    if arrays and is_brain(_dtypes.result_of(arrays)):
        return _rounded(made)
    return made


# --- Views --------------------------------------------------------------------------------------


def _summed(g: Value, shape: tuple[int, ...]) -> Value:
    """A cotangent summed to the shape of what was repeated."""
    lead = g.ndim - len(shape)
    axes = [i + lead for i, side in enumerate(shape) if side == 1 != g.shape[i + lead]]
    axes = [*range(lead), *axes]
    return narrowed(np.sum(widened(g), tuple(axes)).reshape(shape)) if axes else g


@ruled("ExpandBackward0", Linear, [lambda g, _out, x, shape: _summed(g, x.shape)], batch="axis")
def repeated(x: Value, shape: tuple[int, ...]) -> Value:
    """`np.broadcast_to`, whose cotangents are summed in float32."""
    return np.broadcast_to(x, shape)
