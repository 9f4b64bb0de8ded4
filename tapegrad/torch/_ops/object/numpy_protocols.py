"""NumPy's functions called on tensors: they are logged, and return tensors.

Knows NumPy's two protocols. Must not know single functions, but those that write into an argument.

NumPy's functions keep NumPy's meaning, and operators have PyTorch's, also with an array on the
left. NumPy cannot tell `array + tensor` from `np.add(array, tensor)`: both have PyTorch's meaning.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from tapegrad._core.quiet import silence
from tapegrad._core.types import Function, Params, Tree, Value
from tapegrad._core.values import in_trace
from tapegrad.torch._dtypes import BRAINS
from tapegrad.torch._graph.names import name_of
from tapegrad.torch._ops.create.data import from_operand
from tapegrad.torch._ops.declare import as_arrays, private, register
from tapegrad.torch._ops.object.conversion import numpy as numpy_of
from tapegrad.torch._rules.bfloat16 import concerns
from tapegrad.torch._tensor.tensor import Tensor, array_of, ndarray
from tapegrad.torch._tensor.writes import write
from tapegrad.torch._types import TensorLike

_OPERATORS: dict[np.ufunc, Callable[[Any, Any], Any]] = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.true_divide: operator.truediv,
    np.floor_divide: operator.floordiv,
    np.remainder: operator.mod,
    np.power: operator.pow,
    np.matmul: operator.matmul,
    np.less: operator.lt,
    np.less_equal: operator.le,
    np.greater: operator.gt,
    np.greater_equal: operator.ge,
    np.equal: operator.eq,
    np.not_equal: operator.ne,
    np.bitwise_and: operator.and_,
    np.bitwise_or: operator.or_,
    np.bitwise_xor: operator.xor,
    np.left_shift: operator.lshift,
    np.right_shift: operator.rshift,
}
# Functions that write into their first argument, and its name.
_WRITERS = {
    np.copyto: "dst",
    np.put: "a",
    np.place: "arr",
    np.putmask: "a",
    np.fill_diagonal: "a",
    np.put_along_axis: "arr",
}
# Functions that answer yes or no about the numbers: RuntimeError for tensors that require grad.
_ANSWERS = (np.allclose, np.array_equal, np.array_equiv)


class _Named:
    """Stands for a rule in `name_of`, which reads its name alone."""

    def __init__(self, name: str) -> None:
        self.name = name


@functools.cache
def _operation(function: Function) -> Function:
    """A function of NumPy as an operation on tensors, whose results may be views."""

    def compute(*args: Any, **kwargs: Any) -> Value:
        if BRAINS and concerns(args, kwargs):
            raise TypeError("Got unsupported ScalarType BFloat16")
        return function(*args, **kwargs)

    word = getattr(function, "__name__", type(function).__name__)
    label = name_of(_Named(word))
    return private(label, view=True, name=word)(compute)


def _holds_tensor(value: Tree) -> bool:
    if isinstance(value, (tuple, list)):
        return any(map(_holds_tensor, value))
    return isinstance(value, Tensor)


def _tensors_in(values: Tree) -> list[Tensor]:
    found: list[Tensor] = []
    for value in values:
        if isinstance(value, (tuple, list)):
            found += _tensors_in(value)
        elif isinstance(value, Tensor):
            found.append(value)
    return found


@register("__array_ufunc__", function=False)
def array_ufunc(
    self: Tensor, ufunc: np.ufunc, method: str, *inputs: TensorLike, **kwargs: Any
) -> Any:
    """NumPy's hook for ufuncs and their methods."""
    if method == "at":
        return _at(ufunc, *inputs)
    out = kwargs.pop("out", None)
    if out is not None:
        return _into(getattr(ufunc, method), inputs, kwargs, out)
    if method != "__call__":
        return _operation(getattr(ufunc, method))(*inputs, **kwargs)
    if len(inputs) == 2 and not kwargs and isinstance(inputs[0], (ndarray, np.generic)):
        known = _OPERATORS.get(ufunc)
        if known is not None and not in_trace(inputs[0]):
            return known(from_operand(inputs[0]), inputs[1])
    return _operation(ufunc)(*inputs, **kwargs)


@register("__array_function__", function=False)
def array_function(
    self: Tensor, function: Function, types: Collection[type], args: Sequence[Any], kwargs: Params
) -> Any:
    """NumPy's hook for its other functions."""
    if function in _WRITERS:
        return _write_with(function, args, kwargs)
    if function in _ANSWERS:  # a truth value, which would hide that a derivative was lost
        return function(*_numpy_arrays(args), **_numpy_arrays(kwargs))
    out = kwargs.get("out")
    if out is not None:
        return _into(function, args, {k: v for k, v in kwargs.items() if k != "out"}, out)
    return _operation(function)(*args, **kwargs)


def _into(function: Function, args: Sequence[Any], kwargs: Params, out: Tree) -> Any:
    """A call whose results go into `out`: into tensors as writes, into arrays as NumPy does it."""
    targets = out if isinstance(out, tuple) else (out,)
    if not _holds_tensor(targets):
        arrays = _numpy_arrays(args)
        return function(*arrays, out=out, **_numpy_arrays(kwargs))
    kwargs = dict(kwargs)
    casting = kwargs.pop("casting", "same_kind")
    where = kwargs.pop("where", True) if len(targets) == 1 else True
    sources = _tensors_in((*args, *kwargs.values()))
    for position, target in enumerate(targets):
        if target is None:
            continue
        if not isinstance(target, Tensor):
            raise TypeError("out=: expected tensors only, got tensors and arrays together")

        def compute(old: Value, position: int = position) -> Value:
            arrays, params = as_arrays(tuple(args)), {k: as_arrays(v) for k, v in kwargs.items()}
            with silence():
                made = function(*arrays, **params)
            made = made[position] if isinstance(made, tuple) else made
            return _fitted(made, old, casting, as_arrays(where))

        write(target, compute, "CopyBackwards", sources)
    return targets[0] if len(targets) == 1 else targets


def _fitted(made: Value, old: Value, casting: Any, where: Value) -> Value:
    """A result in the dtype and shape of what it is written to."""
    made = made if hasattr(made, "astype") else np.asarray(made)
    if not np.can_cast(made.dtype, old.dtype, casting):
        raise TypeError(
            f"Cannot cast output from {made.dtype} to {old.dtype} with casting rule {casting!r}"
        )
    made = made if made.dtype == old.dtype else made.astype(old.dtype)
    made = made if made.shape == old.shape else np.broadcast_to(made, old.shape)
    return made if where is True else np.where(where, made, old)


def _numpy_arrays(value: Tree) -> Tree:
    """Tensors as plain arrays: RuntimeError where one requires grad."""
    if isinstance(value, Tensor):
        return numpy_of(value)
    if isinstance(value, (tuple, list)):
        return type(value)(map(_numpy_arrays, value))
    if isinstance(value, dict):
        return {word: _numpy_arrays(part) for word, part in value.items()}
    return value


def _at(ufunc: np.ufunc, target: TensorLike, *rest: Any) -> None:
    if not isinstance(target, Tensor):
        ufunc.at(target, *_numpy_arrays(rest))
        return
    _write_by(target, rest, lambda array, *given: ufunc.at(array, *given), {})


def _write_with(function: Function, args: Sequence[Any], kwargs: Params) -> Any:
    """A function that writes into its first argument."""
    kwargs = dict(kwargs)
    target, rest = (args[0], args[1:]) if args else (kwargs.pop(_WRITERS[function]), ())
    if not isinstance(target, Tensor):
        return function(target, *_numpy_arrays(rest), **_numpy_arrays(kwargs))
    return _write_by(target, rest, function, kwargs)


def _write_by(target: Tensor, rest: Sequence[Any], function: Function, kwargs: Params) -> None:
    """Write what a function does to a copy of a tensor's array."""
    sources = _tensors_in((*rest, *kwargs.values()))
    traced: list[Any] = [array for array in map(array_of, sources) if in_trace(array)]

    def compute(old: Value) -> Value:
        new = old.copy()
        if traced and type(new) is ndarray:  # only a traced array can hold traced values
            new = np.array(new, like=traced[0])
        arrays, params = as_arrays(tuple(rest)), {k: as_arrays(v) for k, v in kwargs.items()}
        function(new, *arrays, **params)
        return new

    write(target, compute, "CopySlices", sources)
