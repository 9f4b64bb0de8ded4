"""`Batched`, the array that a function gets inside `vmap`: it stands for every example.

Knows how NumPy's protocols reach the batching words of rules, and how writes act on a leading axis
of examples. Must not know single functions, tapes or transforms.

Its value has the examples along axis 0, and its shape leaves that axis out. The value may be
traced, or batched by an outer vmap: the innermost transform unwraps its values first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NoReturn

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from tapegrad._arrays.creation import CREATION
from tapegrad._arrays.interface import NdarrayInterface, NumberInterface
from tapegrad._arrays.masked import MaskedElements, holds_condition, write
from tapegrad._arrays.reprs import described
from tapegrad._batched.batching_rules import call_batched, call_one_by_one, map_results
from tapegrad._batched.conversions import BatchedContainer, RefusedConversions
from tapegrad._batched.indexing import (
    flat_positions,
    in_rows,
    parts_of,
    row_numbers,
)
from tapegrad._batched.level import VmapLevel
from tapegrad._batched.ufuncs import call_ufunc
from tapegrad._core.forms import Composite, Unsupported
from tapegrad._core.operands import as_arguments, as_operand, call_other, has_own_functions
from tapegrad._core.out import write_out
from tapegrad._core.refcounts import ALONE, is_own, references
from tapegrad._core.rule import REGISTRY, Rule, rule_of
from tapegrad._core.types import Index, Params, Value
from tapegrad._core.values import (
    Mapped,
    Traced,
    batched_index_part,
    class_for_holder,
    class_shown,
    innermost,
    is_mapped,
    is_plain_array,
    is_recorded,
    level_of,
    lift_to_level_of,
    memory_of,
)
from tapegrad._errors import BatchingError

new: Any = object.__new__


class Batched(RefusedConversions, NdarrayInterface, NDArrayOperatorsMixin, Mapped):
    """One example of an array inside `vmap`; an operation on it acts on all examples.

    Transforms make it; programs only meet it. `shape`, `dtype` and the rest are those of one
    example. `bool(x)`, `float(x)`, `int(x)` and `x` as the index of a plain array raise
    BatchingError, because each example may have another value.
    """

    __slots__ = ("_value", "vmap_level")

    def __init__(self, value: Value, vmap_level: VmapLevel) -> None:
        self._value = value
        self.vmap_level = vmap_level

    __getitem__: ClassVar[Callable[..., Any]]  # `reads`
    look_up: ClassVar[Callable[..., Any]]  # `table[self]` of an array that all examples share

    @property  # type: ignore[misc]  # object's has a setter, ours needs none
    def __class__(self) -> Any:
        """That of each example if it is NumPy's: see `Array.__class__`."""
        shown = class_for_holder(type(self))
        if shown is not None:
            return shown
        value = self._value
        if type(value) is np.ndarray and value.ndim > 1:  # the frequent case
            return np.ndarray
        if class_shown(value) is None:
            return type(self)
        return value.dtype.type if self.is_number() else np.ndarray

    @property
    def level(self) -> int:
        return self.vmap_level.level

    @property
    def shape(self) -> tuple[int, ...]:
        shape: tuple[int, ...] = self._value.shape
        return shape[1:]

    @shape.setter
    def shape(self, wanted: Any) -> None:
        self._value = self.reshape(wanted)._value  # which shares memory

    @property
    def dtype(self) -> np.dtype[Any]:
        dtype: np.dtype[Any] = self._value.dtype
        return dtype

    @property
    def ndim(self) -> int:
        return len(self._value.shape) - 1

    @property
    def real(self) -> Any:
        return self.alike(self._value.real)

    @real.setter
    def real(self, value: Value) -> None:
        self.real[...] = value

    @property
    def imag(self) -> Any:
        return self.alike(self._value.imag)

    @imag.setter
    def imag(self, value: Value) -> None:
        self.imag[...] = value

    # -- called by rules and tapes ---------------------------------------------------------------

    def call_rule(self, rule: Rule, arrays: list[Value], params: Params) -> Any:
        """Call a rule's function on bound arguments, some of which this vmap batches."""
        vmap_level = self.vmap_level
        vmap_level.require_open()
        result = call_batched(vmap_level, rule, arrays, params)
        if rule.view and self.is_number() and isinstance(result, Batched):
            return result.snapshot()  # a number shares no memory
        if type(result) is not BatchedNumber:
            return result
        if rule.view == "number":
            return batched(result._value.copy(), vmap_level)
        return ZeroDimensional(result._value, vmap_level) if rule.fresh or rule.view else result

    def is_number(self) -> bool:
        """Whether each example is a number, which cannot be written to."""
        return len(self._value.shape) == 1

    def alike(self, value: Value) -> Any:
        """A batched array with another value; for a 0-d array it is a 0-d array."""
        return batched(value, self.vmap_level)

    def adopt(self, buffer: Value) -> Any:
        """A copy of a buffer for each example, into which batched values can be written."""
        made = self.vmap_level.front(buffer)
        memory = memory_of(buffer)
        known = type(memory) is np.ndarray and memory.ndim == made.ndim - 1
        if not known or memory.flags.c_contiguous:
            made = made.copy()
        else:  # the layout decides which reshapes are views
            order = sorted(range(memory.ndim), key=lambda i: -abs(memory.strides[i]))
            axes = (0, *(i + 1 for i in order))
            made = np.transpose(np.transpose(made, axes).copy(), np.argsort(axes))
        return (BatchedArray if len(made.shape) > 1 else ZeroDimensional)(made, self.vmap_level)

    def add_part(self, index: Index, value: Value) -> None:
        """`self[index] += value` in a replay that made this array."""
        if self.vmap_level.owns(value) and type(value._value) is np.ndarray is type(self._value):
            part, added = self[index]._value, value._value
            if part.shape == added.shape and part.ndim > 1:  # else the part is a copy
                part += added
                return
        self[index] = self[index] + value

    def snapshot(self) -> Any:
        """A copy in the same memory layout, which does not change with this array."""
        value = self._value
        if is_mapped(value):
            return batched(value.snapshot(), self.vmap_level)
        if not is_plain_array(value):
            keeps = isinstance(value, (np.ndarray, Traced))  # else its library decides the layout
            return batched(value.copy("K") if keeps else value.copy(), self.vmap_level)
        if value.flags.c_contiguous:
            return batched(value.copy(), self.vmap_level)
        order = sorted(range(value.ndim - 1), key=lambda i: -abs(value.strides[i + 1]))
        axes = (0, *(i + 1 for i in order))
        return batched(
            np.transpose(np.transpose(value, axes).copy(), np.argsort(axes)), self.vmap_level
        )

    # -- NumPy's protocols -----------------------------------------------------------------------

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, /, *inputs: Value, **kwargs: Any
    ) -> Any:
        vmap_level = self.vmap_level
        if len(inputs) == 1 and not kwargs and method == "__call__" and vmap_level.open:
            return map_results(vmap_level, ufunc(self._value))  # the frequent case
        inner = innermost(inputs if not kwargs else (*inputs, *kwargs.values()))
        if not isinstance(inner, Batched):
            return NotImplemented  # a transform inside this vmap goes first
        vmap_level = inner.vmap_level
        vmap_level.require_open()
        if method in ("__call__", "outer"):
            taken = tuple([x if type(x) in BATCHED else as_operand(x) for x in inputs])
            if any(x is NotImplemented for x in taken):
                return call_other(ufunc, method, inputs, kwargs)
            inputs = taken
        return call_ufunc(vmap_level, ufunc, method, inputs, kwargs)

    def __array_function__(
        self,
        function: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        rule = REGISTRY.get(function)
        if rule is None:
            if function in CREATION:
                return self._created(function, args, kwargs)
            rule = rule_of(function)
        inner = innermost((*args, *kwargs.values()))
        if not isinstance(inner, Batched) or len(types) > 1 and any(map(has_own_functions, types)):
            return NotImplemented
        if rule is None:
            raise BatchingError(
                f"{Rule(function).name}: no rule for it inside vmap. Write it in terms of "
                "functions that have one, or loop over the examples."
            )
        if rule.form != "constant":
            args, kwargs = as_arguments(args, kwargs)
        if isinstance(rule, Composite) and rule.batch == "loop":
            inner.vmap_level.require_open()
            return call_one_by_one(inner.vmap_level, function, args, kwargs)
        if (
            isinstance(rule, Unsupported)
            or isinstance(rule, Composite)
            and not callable(rule.batch)
            and rule.batch != "ragged"
        ):
            return rule.apply(*args, **kwargs)
        if rule.batch == "example":
            return function(*map(_example, args), **{k: _example(v) for k, v in kwargs.items()})
        arrays, params = rule.bind(args, kwargs)
        out = params.pop("out", None)
        result = inner.call_rule(rule, arrays, params)
        return result if out is None else write_out(out, result, rule.name)

    def _created(self, function: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
        """The result of np.zeros(shape, like=self) and the like: an array for each example."""
        self.vmap_level.require_open()
        kwargs.pop("like", None)
        made = CREATION[function](*args, **kwargs)
        shares = function in (np.asarray, np.asanyarray)
        if level_of(made) >= self.level or shares and level_of(made) >= 0:
            return made  # a traced array can already be indexed by a batched index
        if shares:  # all examples share the array, which they can only read
            return batched(self.vmap_level.front(made), self.vmap_level)
        if level_of(made) < level_of(self._value):
            # As by np.zeros_like: the values around this vmap can be written into its views too.
            made = np.array(made, like=self._value)
        return self.adopt(made)

    # -- writing ---------------------------------------------------------------------------------

    def __setitem__(self, index: Index, value: Value) -> None:
        self.vmap_level.require_open()
        if isinstance(value, (list, tuple)):
            value = np.stack(value) if innermost(value) is not None else np.asarray(value)
        if type(value) is MaskedElements or holds_condition(index):
            write(self, index, value)
            return
        written = (value, *index) if type(index) is tuple else (value, index)
        if batched_index_part(written, self.level) is not None:
            raise BatchingError(
                f"{self.vmap_level.name}: a value of an inner vmap cannot be written into an "
                "array that all of that one's examples share. Make the array inside, with "
                "x + np.zeros_like(v, shape=x.shape) of such a value v."
            )
        if isinstance(value, Traced) and level_of(value) > self.level:
            raise BatchingError(
                f"{self.vmap_level.name}: a value that a transform inside it traces cannot be "
                "written into an array from outside that transform, which carries no derivative "
                "of its own. Make the array inside, with x + np.zeros_like(v, shape=x.shape) of "
                "such a value v."
            )
        self.make_room(value)
        parts = parts_of(index, self)
        if parts is None:
            rest = index if type(index) is tuple else (index,)
            target = (slice(None), *rest)
            rank = len(self._value[target].shape) - 1
            self._value[target] = self.vmap_level.fitted(value, rank)
            return
        positions = flat_positions(self, parts)
        rank = positions.ndim
        size = self.vmap_level.size
        self.make_room(positions)  # an outer vmap may batch them
        flat = in_rows(self._value).copy()
        if self.vmap_level.owns(positions):
            target = (row_numbers(positions._value, size), positions._value)
        else:
            target = (slice(None), positions)
        flat[target] = self.vmap_level.fitted(value, rank)
        self._value[...] = np.reshape(flat, self._value.shape)

    def make_room(self, value: Value) -> None:
        """Wrap the examples for the outer transform of a value to be written into them, if any."""
        inner = value._value if self.vmap_level.owns(value) else value
        if level_of(inner) > level_of(self._value):
            if not self._is_unshared():
                if is_recorded(inner):
                    return  # the write reads its memory, and the run is not recorded further
                self._refuse_views()
            self._value = lift_to_level_of(self._value, inner)

    def is_alone(self) -> bool:
        """Whether no other array shares this memory."""
        value = self._value
        return references(value) <= ALONE and is_own(value)

    def _is_unshared(self) -> bool:
        """Whether no other array shares this memory, which a traced value is about to replace."""
        value = self._value
        return getattr(value, "base", None) is None and references(value) <= ALONE

    def _refuse_views(self) -> NoReturn:
        raise BatchingError(
            f"{self.vmap_level.name}: the first value of a transform or vmap around this one "
            "cannot be written into an array that has views, nor through one of them. Make "
            "the array x from such a value v before: x = x + np.zeros_like(v)."
        )

    def astype(self, dtype: Any, *args: Any, **kwargs: Any) -> Any:
        """As `numpy.ndarray.astype`."""
        if np.dtype(dtype).kind not in "biufc":
            raise BatchingError(
                f"{self.vmap_level.name}: expected a dtype of numbers for a batched value, got "
                f"{np.dtype(dtype)}. An object array or text of it would hide what differs."
            )
        return self.alike(self._value.astype(dtype, *args, **kwargs))

    def view(self, *args: Any) -> Any:
        """As `numpy.ndarray.view`, of each example."""
        return self.alike(self._value.view(*args))

    def copy(self, order: Any = "C") -> Any:
        """A copy; each example is in C order in memory unless `order` says otherwise."""
        if order != "C" and not self.is_number():
            return np.copy(self, order)
        return batched(self._value.copy(), self.vmap_level)

    def choose(self, choices: Value, out: Value = None, mode: Any = "raise") -> Any:
        """As `numpy.ndarray.choose`."""
        return np.choose(self, choices, mode=mode, **({} if out is None else {"out": out}))

    def item(self, *index: Index) -> Any:
        """The single element (or the one at an index), still batched."""
        return NdarrayInterface.item(self, *index).copy()

    def __repr__(self) -> str:
        return described("Batched", self)

    def __str__(self) -> str:
        return f"Batched({self.vmap_level.size} of {self._value!r})"


class BatchedArray(BatchedContainer, Batched):
    """One example of an array."""

    __slots__ = ()


def _of_floats(name: str, advice: str) -> Any:
    """A method of NumPy's floats, or of float64 alone, which refuses."""

    def attribute(self: Batched) -> Any:
        if not hasattr(self.dtype.type, name):
            raise AttributeError(f"{self.dtype.type.__name__!r} object has no attribute {name!r}")
        return lambda: self.refuse(f"x.{name}()", advice)

    return property(attribute)


class BatchedNumber(NumberInterface, Batched):  # type: ignore[metaclass]  # Batched has none
    """One example of a number."""

    __slots__ = ()

    is_integer = _of_floats("is_integer", "Use x == np.floor(x).")
    as_integer_ratio = _of_floats("as_integer_ratio", "Call it after the vmap.")
    hex = _of_floats("hex", "Call it after the vmap.")


BATCHED = frozenset((BatchedArray, BatchedNumber))
for _kind in BATCHED:
    _kind.__name__ = _kind.__qualname__ = "Batched"


def batched(value: Value, vmap_level: VmapLevel) -> Any:
    """A batched value; without axes it stands for numbers, and is no 0-d array."""
    if value.ndim > 1:
        made = new(BatchedArray)
        made._value = value
        made.vmap_level = vmap_level
        return made
    made = new(BatchedNumber)
    made._value = value  # written twice, as the interpreter adapts a line to one class
    made.vmap_level = vmap_level
    return made


VmapLevel.array = Batched
VmapLevel.batched = staticmethod(batched)


class ZeroDimensional(BatchedArray):
    """A 0-d array, as np.copy and np.zeros(()) make it: it can be written to, and have views.

    Any other batched value without axes stands for numbers, which can do neither.
    """

    __slots__ = ()

    def is_number(self) -> bool:
        return False

    def alike(self, value: Value) -> Any:
        return ZeroDimensional(value, self.vmap_level)

    def snapshot(self) -> Any:
        return ZeroDimensional(super().snapshot()._value, self.vmap_level)

    def copy(self, order: Any = "C") -> Any:
        return ZeroDimensional(super().copy(order)._value, self.vmap_level)


def _example(value: Value) -> Any:
    """Zeros of the shape and dtype of one example."""
    return np.zeros(value.shape, value.dtype) if isinstance(value, Batched) else value


__all__ = ["BATCHED", "Batched", "BatchedArray", "BatchedNumber", "ZeroDimensional", "batched"]
