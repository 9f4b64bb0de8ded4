"""`vectorize`: a function of numbers as one of arrays, whose elements may be traced."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from tapegrad._arrays.conversion import array, asarray
from tapegrad._core.tape import RUNNING
from tapegrad._core.types import Function, Value
from tapegrad._core.values import holds_in_trace, is_ndarray


class vectorize(np.vectorize):
    """A function of numbers as one of arrays, as `numpy.vectorize`; the numbers may be traced.

    The function is called once for each element, in a Python loop; the derivative takes as many
    steps.

    Parameters
    ----------
    pyfunc : callable, optional
        The function; without it the result is a decorator.
    otypes : str or list of dtype, optional
        The dtypes of the results. By default each is that of the first value.
    doc : str, optional
        The docstring of the result; by default that of the function.
    excluded : set of str or int, optional
        Arguments, by position or name, that are passed as they are.
    cache : bool, default False
        Without effect for traced values, for each of which the function is called once anyway.
    signature : str, optional
        The axes that the function takes, such as `"(m),(m)->()"`.

    Examples
    --------
    >>> import tapegrad
    >>> import tapegrad.numpy as tnp
    >>> relu = tnp.vectorize(lambda x: x if x > 0 else 0.0)
    >>> tapegrad.grad(lambda x: relu(x).sum())(np.array([-1.0, 2.0]))
    array([0., 1.])
    """

    pyfunc: Any
    otypes: Any
    signature: Any

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function over the broadcast arguments."""
        if self.pyfunc is np._NoValue:  # a decorator with options: this call brings the function
            super().__call__(*args, **kwargs)
            return self
        if not RUNNING and not holds_in_trace([*args, *kwargs.values()]):
            return super().__call__(*args, **kwargs)  # which keeps subclasses of ndarray
        kept = self.excluded
        positions = [i for i in range(len(args)) if i not in kept]
        names = [name for name in kwargs if name not in kept]
        arrays = [asarray(args[i]) for i in positions] + [asarray(kwargs[name]) for name in names]

        def call(*elements: Value) -> Any:
            replaced = list(args)
            for i, element in zip(positions, elements, strict=False):
                replaced[i] = element
            named = dict(zip(names, elements[len(positions) :], strict=True))
            return self.pyfunc(*replaced, **{**kwargs, **named})

        if self.signature is not None:
            return self._over_cores(call, arrays)
        shape = np.broadcast_shapes(*(x.shape for x in arrays))
        results = [
            call(*each) for each in zip(*(_elements(x, shape) for x in arrays), strict=True)
        ]
        if not arrays:
            return call()
        if not results and not self.otypes:
            raise ValueError("cannot call `vectorize` on size 0 inputs unless `otypes` is set")
        return self._collected(results, shape)

    def _collected(self, results: list[Any], shape: tuple[int, ...]) -> Value | tuple[Value, ...]:
        """The results of all calls as one array, or a tuple of arrays."""
        several = isinstance(results[0], tuple) if results else len(self.otypes) > 1
        columns = list(zip(*results, strict=True)) if several else [results]
        if not results:
            columns = [()] * max(len(self.otypes), 1)
        outs = []
        for position, column in enumerate(columns):
            # As in NumPy, the first result decides the dtype of all.
            dtype = self.otypes[position] if self.otypes else asarray(column[0]).dtype.char
            outs.append(_joined(list(column), dtype).reshape(shape))
        return tuple(outs) if several else outs[0]

    def _over_cores(self, call: Function, arrays: list[Value]) -> Value | tuple[Value, ...]:
        """The function of subarrays, whose axes the signature names."""
        cores, out_cores = _parsed(self.signature)
        if len(cores) != len(arrays):
            raise TypeError(
                f"wrong number of positional arguments: expected {len(cores)}, got {len(arrays)}"
            )
        sizes: dict[str, int] = {}
        for x, core in zip(arrays, cores, strict=True):
            _check_core(x, core, sizes)
        loops = [x.shape[: x.ndim - len(core)] for x, core in zip(arrays, cores, strict=True)]
        shape = np.broadcast_shapes(*loops)
        whole = [
            np.broadcast_to(x, shape + x.shape[x.ndim - len(core) :])
            for x, core in zip(arrays, cores, strict=True)
        ]
        results = [call(*(x[at] for x in whole)) for at in np.ndindex(*shape)]
        if not results:
            raise ValueError("cannot call `vectorize` with a signature on size 0 inputs")
        columns = list(zip(*results, strict=True)) if len(out_cores) > 1 else [results]
        outs = []
        for position, (column, core) in enumerate(zip(columns, out_cores, strict=True)):
            parts = [asarray(part) for part in column]
            for part in parts:
                _check_core(part, core, sizes, exact=True)
            dtype = self.otypes[position] if self.otypes else parts[0].dtype
            outs.append(np.stack(parts).reshape(shape + parts[0].shape).astype(dtype))
        return tuple(outs) if len(out_cores) > 1 else outs[0]


def _elements(x: Value, shape: tuple[int, ...]) -> Iterator[Value]:
    """The numbers of a broadcast array: traced ones, or Python's own as NumPy passes them."""
    whole = np.broadcast_to(x, shape)
    return iter(whole.astype(object).ravel() if is_ndarray(x) else np.ravel(whole))


def _joined(column: list[Value], dtype: Any) -> Value:
    if holds_in_trace(column):
        return array(column, dtype)
    objects = np.empty(len(column), object)  # lists among the results stay as they are
    objects[:] = column
    return objects.astype(dtype)


def _parsed(signature: str) -> tuple[list[list[str]], list[list[str]]]:
    """`(n),(n,m)->(m)` as the names of axes of each argument and of each result."""
    sides = signature.replace(" ", "").split("->")
    groups = [re.findall(r"\(([\w,]*)\)", side) for side in sides]
    ins, outs = (
        [[name for name in group.split(",") if name] for group in side] for side in groups
    )
    return ins, outs


def _check_core(x: Value, core: list[str], sizes: dict[str, int], *, exact: bool = False) -> None:
    """Raise ValueError where the last axes of x are not as the signature has them."""
    if x.ndim < len(core) or (exact and x.ndim != len(core)):
        raise ValueError(
            f"{x.ndim}-dimensional argument does not have enough dimensions for all core "
            f"dimensions {tuple(core)}"
        )
    for name, size in zip(core, x.shape[x.ndim - len(core) :], strict=True):
        if sizes.setdefault(name, size) != size:
            raise ValueError(
                f"inconsistent size for core dimension {name!r}: {size} vs {sizes[name]}"
            )
