"""Calls of operations that are planned: what shapes and parameters decide is decided once.

Most calls of a program come again: the same operation, of tensors of the same shapes and dtypes,
with the same parameters. Of an operation that is declared with `planned=True` such a call is one
call of one rule, which is found out when the call comes for the second time: the operation's
function runs on traced arrays of the graph, and where it has logged one entry, of the arrays that
it was given, the later calls make that entry without it. What they remember is how the result is
computed, which values the entry keeps, and how its replay computes the cotangents. The core has
such kernels for many rules (`tapegrad._core.fast.call_plans`); for the others they are made here.

An operation is planned if its shapes, dtypes and parameters alone decide which rule it calls, and
if it refuses no values. Anything unusual is left to the general call: traced and batched arrays,
profilers, hooks of saved tensors, inference mode, parameters that are not plain, calls that warn.

Knows by what a call is told from others. Must not know how it is learned (`learning`) and made
(`making`), nor which operations exist.
"""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad import Array
from tapegrad._core.fast.paths import remembered, replaces
from tapegrad._core.types import Value
from tapegrad._warning import COUNT as WARNINGS
from tapegrad.torch._dtypes import Size
from tapegrad.torch._dtypes import dtype as torch_dtype
from tapegrad.torch._graph.modes import MODE, UNLOGGED
from tapegrad.torch._ops import learning
from tapegrad.torch._ops.kernels import Call
from tapegrad.torch._ops.making import Make, made_by
from tapegrad.torch._tensor.tensor import Tensor, ndarray, of_value

mode_of = MODE.get

_MOST = 1 << 12  # calls that an operation remembers; programs with more begin again
# Parameters of these classes are told apart by their class and `==`.
_DTYPES = {type(np.dtype(letter)) for letter in "?bBhHiIlLqQefdFD"}
_PLAIN = frozenset((int, bool, float, str, type(None), torch_dtype, *_DTYPES))
_SEQUENCES = frozenset((tuple, list, Size))
_IN_TUPLES = frozenset((int, bool, str, type(None)))


def learned(*_call: Any) -> Make | None:
    """None: no call is planned, and the general call serves all. `learning` has the fast path."""
    return None


replaces(sys.modules[__name__], "learned")(learning.learned)


def planning(general: Call, trace: Call) -> Call:  # noqa: C901 - the hot path, written out
    """An operation of which calls that come again are planned.

    general: the operation. trace: what it computes, a function of arrays with its parameters.
    """
    known: dict[Any, Make] = {}
    pairs: dict[Any, Make] = {}  # the same of two tensors of one dtype and nothing else
    others: dict[Any, bool] = {}  # calls that came once: whether they may be planned
    remembered(known, pairs, others)
    ask, ask_pair = known.get, pairs.get

    def of_pair(first: Tensor, second: Tensor, x: Value, y: Value, off: bool) -> Any:
        """The call of two tensors over these arrays of one dtype; None if it is not planned."""
        free, other = off or first.node is None, off or second.node is None
        found = ask_pair((x.dtype, x.shape, x.strides, y.shape, y.strides, free, other))
        return None if found is None else found(first, second, x, y)

    @functools.wraps(general)
    def call(*args: Any, **kwargs: Any) -> Any:  # noqa: C901 - the hot path
        mode = mode_of()
        if mode is not None and mode is not UNLOGGED:
            return general(*args, **kwargs)
        off = mode is not None  # gradients: then no argument counts as one that requires grad
        are_two = False
        if not kwargs and args:  # the frequent calls, written out
            first = args[0]
            if isinstance(first, Tensor):
                x = first._value
                if type(x) is ndarray:
                    count = len(args)
                    if count == 1:
                        found = ask((x.dtype, x.shape, x.strides, off or first.node is None))
                        if found is not None:
                            return found(first, x)
                    elif count == 2:
                        _, second = args
                        kind = type(second)
                        if kind is int or (kind is float and second):
                            free = off or first.node is None
                            found = ask((x.dtype, x.shape, x.strides, free, kind, second))
                            if found is not None:
                                return found(first, x)
                        elif isinstance(second, Tensor):
                            y = second._value
                            if type(y) is ndarray and x.dtype is y.dtype:
                                made = of_pair(first, second, x, y, off)
                                if made is not None:
                                    return made
                                are_two = True
                    elif count == 3:
                        _, second, third = args
                        y = second._value if isinstance(second, Tensor) else None
                        if type(y) is ndarray:
                            z = third._value if isinstance(third, Tensor) else None
                            free, other = off or first.node is None, off or second.node is None
                            both = x.dtype, x.shape, x.strides, free, y.dtype, y.shape, y.strides
                            if type(z) is ndarray:
                                last = off or third.node is None
                                found = ask((*both, other, z.dtype, z.shape, z.strides, last))
                                if found is not None:
                                    return found(args, (x, y, z))
                            elif type(third) is float and third:
                                found = ask((*both, other, float, third))
                                if found is not None:
                                    return found(first, second, x, y)
        key: list[Any] = [len(args)] if kwargs else []
        tensors: list[Tensor] = []
        arrays: list[Value] = []
        for arg in (*args, *kwargs, *kwargs.values()) if kwargs else args:
            if isinstance(arg, Tensor):
                x = arg._value
                if type(x) is not ndarray:
                    return general(*args, **kwargs)
                key += x.dtype, x.shape, x.strides, off or arg.node is None
                tensors.append(arg)
                arrays.append(x)
                continue
            kind = type(arg)
            if kind in _PLAIN:
                key += kind, arg
                if kind is float and not arg:  # -0.0 == 0.0
                    key.append(math.copysign(1.0, arg))
            elif (kind is tuple or kind is list) and arg and isinstance(arg[0], Tensor):
                key.append(len(arg))
                for part in arg:
                    x = part._value if isinstance(part, Tensor) else None
                    if type(x) is not ndarray:
                        return general(*args, **kwargs)
                    key += x.dtype, x.shape, x.strides, off or part.node is None
                    arrays.append(x)
                tensors += arg
            elif kind in _SEQUENCES and _IN_TUPLES.issuperset(map(type, arg)):
                key += kind, *arg, len(arg)
            else:
                return general(*args, **kwargs)
        whole = tuple(key)
        found = ask(whole)
        if found is not None:
            return made_by(found, tensors, arrays)
        warned = WARNINGS[0]
        result = general(*args, **kwargs)
        came = others.get(whole)
        if came is None:
            if len(others) >= _MOST:
                others.clear()
                known.clear()
                pairs.clear()
            others[whole] = warned == WARNINGS[0]
        elif came:
            found = learned(trace, args, kwargs, tensors, result, off)
            others[whole] = False
            if found is not None:
                known[whole] = found
                if are_two:
                    (first, second), (x, y) = tensors, arrays
                    free, other = off or first.node is None, off or second.node is None
                    pairs[x.dtype, x.shape, x.strides, y.shape, y.strides, free, other] = found
        return result

    call.of_pair = of_pair  # type: ignore[attr-defined]
    return call


def laid_out(operation: Any, lay_out: Callable[[Value, Any], Value]) -> Call:
    """An operation whose result lies in memory as PyTorch's does, and is in no entry.

    lay_out: of the result and the arguments, makes an array of the same numbers.
    """
    general = operation.__wrapped__

    @functools.wraps(general)
    def call(*args: Any, **kwargs: Any) -> Any:
        made = general(*args, **kwargs)
        if type(made) is Tensor and type(made._value) is ndarray:
            made._value = lay_out(made._value, args)
        return made

    return planning(call, operation.trace)


def planned(function: Call) -> Call:
    """A function of tensors that calls operations, whose calls that come again are planned.

    What decides what it calls is as of an operation: shapes, dtypes and parameters alone.
    """

    def trace(*args: Any, **kwargs: Any) -> Any:
        made = function(
            *[_tensors(arg) for arg in args],
            **{word: _tensors(value) for word, value in kwargs.items()},
        )
        return made._value if type(made) is Tensor else None

    return planning(function, trace)


def _tensors(arg: Any) -> Any:
    """An argument with tensors in the place of arrays, also of those in a list."""
    if isinstance(arg, list):
        return [_tensors(part) for part in arg]
    return of_value(arg) if isinstance(arg, (Array, ndarray)) else arg
