"""`Batched`, the array that a function sees inside `vmap`: one example, standing for all of them.

Knows how NumPy's protocols reach the batching words of rules, and how indices and writes act on a
leading axis of examples. Must not know single functions, tapes or transforms.

Its value has the examples along axis 0, which it does not show. The value may be traced, or
batched by an outer vmap: whatever belongs to the innermost transform is unwrapped first.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from tapegrad._batching import (
    call_batched,
    call_one_by_one,
    call_with_signature,
    map_results,
    refuse_param,
)
from tapegrad._chosen import Chosen, holds_condition, read, write
from tapegrad._creation import CREATION
from tapegrad._errors import BatchingError, LeakedValueError
from tapegrad._forms import Composite, Unsupported
from tapegrad._memory import ALONE, is_view, references
from tapegrad._ndarray import NdarrayInterface
from tapegrad._rule import (
    REGISTRY,
    Rule,
    innermost,
    lift,
    memory_of,
    refuse_other_meaning,
    write_out,
)
from tapegrad._tape import (
    Mapped,
    Traced,
    beside,
    differing,
    is_ndarray,
    level_of,
    next_level,
    pick,
    spec_of,
)


class Mapping:
    """One call of vmap: how many examples there are, and whether it is still running."""

    __slots__ = ("level", "name", "open", "size")

    def __init__(self, name: str, size: int) -> None:
        self.name = name
        self.size = size
        self.level = next_level()
        self.open = True

    def require_open(self) -> None:
        """Raise LeakedValueError if the vmap has returned."""
        if not self.open:
            raise LeakedValueError(
                f"value from {self.name} used after {self.name} returned. A batched value lives "
                "as long as its vmap: return it from the function."
            )

    def front(self, value: Any) -> Any:
        """A value with the examples along axis 0: its own, or itself for each."""
        if isinstance(value, Batched) and value.mapping is self:
            return value.value
        if not hasattr(value, "shape"):
            value = np.asarray(value)
        return np.broadcast_to(value, (self.size, *value.shape))

    def wrap(self, value: Any) -> Any:
        """A result with the examples along axis 0, as the function sees it."""
        return Batched(value, self)


def _shifted(axis: int, ndim: int) -> int:
    if not -ndim <= axis < ndim:
        raise np.exceptions.AxisError(axis, ndim)
    return axis % ndim + 1


class Batched(NdarrayInterface, NDArrayOperatorsMixin, Mapped):
    """One example of an array inside `vmap`; operations on it are operations on all of them.

    Transforms make it; programs only meet it. `shape`, `dtype` and the rest are those of one
    example. `bool(x)`, `float(x)`, `int(x)` and `x` as the index of a plain array raise
    BatchingError, because each example may have another value.
    """

    __slots__ = ("mapping", "value")

    def __init__(self, value: Any, mapping: Mapping) -> None:
        self.value = value
        self.mapping = mapping

    @property  # type: ignore[misc]  # object's can be set, on no instance of ours
    def __class__(self) -> Any:
        """ndarray where each example is an array of NumPy's: see `Array.__class__`."""
        value = self.value
        if type(value) is np.ndarray and value.ndim > 1:  # the frequent case
            return np.ndarray
        is_number = len(value.shape) == 1 and not is_view(value)
        return type(self) if is_number or not isinstance(value, np.ndarray) else np.ndarray

    @property
    def level(self) -> int:
        return self.mapping.level

    @property
    def shape(self) -> tuple[int, ...]:
        shape: tuple[int, ...] = self.value.shape
        return shape[1:]

    @property
    def dtype(self) -> np.dtype[Any]:
        dtype: np.dtype[Any] = self.value.dtype
        return dtype

    @property
    def ndim(self) -> int:
        return len(self.value.shape) - 1

    @property
    def real(self) -> Any:
        return Batched(self.value.real, self.mapping)

    @real.setter
    def real(self, value: Any) -> None:
        self.real[...] = value

    @property
    def imag(self) -> Any:
        return Batched(self.value.imag, self.mapping)

    @imag.setter
    def imag(self, value: Any) -> None:
        self.imag[...] = value

    # -- what rules and tapes ask for ------------------------------------------------------------

    def call_rule(self, rule: Rule, arrays: list[Any], params: dict[str, Any]) -> Any:
        """A rule's function on normalised arguments, some of which are batched by this vmap."""
        mapping = self.mapping
        mapping.require_open()
        result = call_batched(mapping, rule, arrays, params)
        if rule.view and self.is_number() and isinstance(result, Batched):
            return result.handle()  # a number has no memory that others could see
        return result

    def is_number(self) -> bool:
        """Whether each example is a number, which nothing can be written into."""
        return len(self.value.shape) == 1 and not is_view(self.value)

    def look_up(self, table: Any, index: Any) -> Any:
        """`table[index]` of an array that all examples share, by their own indices."""
        self.mapping.require_open()
        if holds_condition(index):
            return read(table, index)
        return _picked(table, index, self._look_up)

    def _look_up(self, table: Any, index: Any) -> Any:
        shared = Batched(self.mapping.front(table), self.mapping)
        places = _places(shared, list(index) if type(index) is tuple else [index])
        return Batched(pick(np.reshape(table, -1), places.value), self.mapping)

    def adopt(self, buffer: Any) -> Any:
        """A buffer that batched values can be written into: a copy of it for each example."""
        return Batched(self.mapping.front(buffer).copy(), self.mapping)

    def add_part(self, index: Any, value: Any) -> None:
        """`self[index] += value` of a replay, where this array is the replay's own."""
        if self._holds(value) and type(value.value) is np.ndarray is type(self.value):
            part, added = self[index].value, value.value
            if part.shape == added.shape and part.ndim > 1:  # of one axis it would be a copy
                part += added
                return
        self[index] = self[index] + value

    def handle(self) -> Any:
        """A copy, which writes through this array do not reach; in memory as this one."""
        value = self.value
        if isinstance(value, Mapped):
            return Batched(value.handle(), self.mapping)
        if type(value) is not np.ndarray:
            return Batched(value.copy("K"), self.mapping)
        if value.flags.c_contiguous:
            return Batched(value.copy(), self.mapping)
        order = sorted(range(value.ndim - 1), key=lambda i: -abs(value.strides[i + 1]))
        axes = (0, *(i + 1 for i in order))
        return Batched(
            np.transpose(np.transpose(value, axes).copy(), np.argsort(axes)), self.mapping
        )

    # -- NumPy's protocols -----------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, /, *inputs: Any, **kwargs: Any) -> Any:
        mapping = self.mapping
        if len(inputs) == 1 and not kwargs and method == "__call__" and mapping.open:
            return map_results(mapping, ufunc(self.value))  # the frequent case
        inner = innermost(inputs if not kwargs else (*inputs, *kwargs.values()))
        if not isinstance(inner, Batched):
            return NotImplemented  # a transform inside this vmap comes first
        mapping = inner.mapping
        mapping.require_open()
        for x in inputs:
            if type(x) is not Batched and type(x) is not np.ndarray:
                refuse_other_meaning(x)
        if method != "__call__":
            return _UFUNC_METHODS[method](mapping, ufunc, *inputs, **kwargs)
        out = kwargs.pop("out", None)
        where = kwargs.pop("where", True)
        if where is not True:  # nothing to warn of, and nothing kept, where it does not hold
            inputs = tuple(np.where(where, x, 1) if hasattr(x, "shape") else x for x in inputs)
        if ufunc is np.matmul and not kwargs:
            return _matmul(mapping, *inputs)
        if ufunc.signature is not None:
            call: Callable[..., Any] = lambda *arrays: ufunc(*arrays, **kwargs)  # noqa: E731
            result = call_with_signature(mapping, ufunc.signature, call, list(inputs))
        else:
            result = map_results(mapping, _call_aligned(mapping, ufunc, inputs, kwargs))
            if where is not True:
                result = _where_computed(where, result, out)
        return result if out is None else write_out(out, result, f"np.{ufunc.__name__}")

    def __array_function__(
        self,
        function: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        rule = REGISTRY.get(function)
        if rule is None and function in CREATION:
            return self._created(function, args, kwargs)
        inner = innermost((*args, *kwargs.values()))
        if not isinstance(inner, Batched):
            return NotImplemented
        if rule is None:
            raise BatchingError(
                f"{Rule(function).name}: no rule for it inside vmap. Write it in terms of "
                "functions that have one, or loop over the examples."
            )
        if isinstance(rule, Composite) and rule.batch == "loop":
            inner.mapping.require_open()
            return call_one_by_one(inner.mapping, function, args, kwargs)
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
        """What np.zeros(shape, like=self) and its kin return: one for each example."""
        self.mapping.require_open()
        kwargs.pop("like", None)
        made = CREATION[function](*args, **kwargs)
        shares = function in (np.asarray, np.asanyarray)
        if level_of(made) >= self.level or shares and level_of(made) >= 0:
            return made  # can be indexed by any example, as every traced array
        if shares:  # by the examples, to be read alone
            return Batched(self.mapping.front(made), self.mapping)
        return self.adopt(made)

    # -- indexing and writing --------------------------------------------------------------------

    def __getitem__(self, index: Any) -> Any:
        self.mapping.require_open()
        parts = _parts_of(index, self)
        if parts is None:
            rest = index if type(index) is tuple else (index,)
            found = self.value[(slice(None), *rest)]
            if not all(map(_is_basic_part, rest)):
                found = _laid_out(found, self, rest)
            if len(found.shape) == 1 and Ellipsis not in rest or self.is_number():
                found = found.copy()  # a number, which writes do not change
            return Batched(found, self.mapping)
        if holds_condition(index):
            return read(self, index)
        inside = differing(index, self.level)
        if inside is not None:
            return inside.look_up(self, index)  # by a vmap inside this one
        return _picked(self, index, _look_up_own)

    def __setitem__(self, index: Any, value: Any) -> None:
        self.mapping.require_open()
        if isinstance(value, (list, tuple)):
            value = np.stack(value) if innermost(value) is not None else np.asarray(value)
        if type(value) is Chosen or holds_condition(index):
            write(self, index, value)
            return
        written = (value, *index) if type(index) is tuple else (value, index)
        if differing(written, self.level) is not None:
            raise BatchingError(
                f"{self.mapping.name}: a value of an inner vmap cannot be written into an array "
                "that all of that one's examples share. Make the array inside, with "
                "np.array(x, like=v) of such a value v."
            )
        if isinstance(value, Traced) and level_of(value) > self.level:
            raise BatchingError(
                f"{self.mapping.name}: a value that a transform inside it traces cannot be "
                "written into an array from outside that transform, which carries no derivative "
                "of its own. Make the array inside, with np.array(x, like=v) of such a value v."
            )
        self._make_room(value)
        parts = _parts_of(index, self)
        if parts is None:
            rest = index if type(index) is tuple else (index,)
            target = (slice(None), *rest)
            rank = len(self.value[target].shape) - 1
            self.value[target] = _fitted(self.mapping, value, rank)
            return
        places = _places(self, parts)
        rank = places.ndim
        size = self.mapping.size
        self._make_room(places)  # where they differ for a vmap around this one
        flat = _in_rows(self.value).copy()
        if self._holds(places):
            target = (_rows(places.value, size), places.value)
        else:
            target = (slice(None), places)
        flat[target] = _fitted(self.mapping, value, rank)
        self.value[...] = np.reshape(flat, self.value.shape)

    def _holds(self, index: Any) -> bool:
        """Whether it is this vmap whose examples differ in a value."""
        return isinstance(index, Batched) and index.mapping is self.mapping

    def _make_room(self, value: Any) -> None:
        """Let the examples hold a value that a transform around this vmap traces."""
        inner = value.value if self._holds(value) else value
        if level_of(inner) > level_of(self.value):
            self._refuse_views()
            self.value = beside(self.value, inner)

    def _refuse_views(self) -> None:
        """Raise where other arrays see this memory, which is about to be left for a traced one."""
        value = self.value
        if getattr(value, "base", None) is not None or references(value) > ALONE:
            raise BatchingError(
                f"{self.mapping.name}: the first value of a transform or vmap around this one "
                "cannot be written into an array that has views, nor through one of them. Make "
                "the array x from such a value v before: x = x + np.zeros_like(v)."
            )

    def astype(self, dtype: Any, *args: Any, **kwargs: Any) -> Any:
        """As `numpy.ndarray.astype`."""
        if np.dtype(dtype).kind not in "biufc":
            raise BatchingError(
                f"{self.mapping.name}: expected a dtype of numbers for a batched value, got "
                f"{np.dtype(dtype)}. An object array or text of it would hide what differs."
            )
        return Batched(self.value.astype(dtype, *args, **kwargs), self.mapping)

    def view(self, *args: Any) -> Any:
        """As `numpy.ndarray.view`, of each example."""
        return Batched(self.value.view(*args), self.mapping)

    def copy(self, order: Any = "C") -> Any:
        """A copy, of which each example is in C order in memory unless `order` says otherwise."""
        if order != "C":
            return np.copy(self, order)
        return Batched(self.value.copy(), self.mapping)

    # -- conversions, which have no single answer ------------------------------------------------

    def _refuse(self, call: str, advice: str) -> NoReturn:
        raise BatchingError(
            f"{self.mapping.name}: {call} of a batched value; each example may have another one. "
            f"{advice}"
        )

    def __bool__(self) -> bool:
        raise BatchingError(
            f"{self.mapping.name}: bool() of a batched value; each example may branch "
            "differently. Use np.where."
        )

    def __int__(self) -> int:
        self._refuse("int()", "Keep it as an array: x.astype(int).")

    def __float__(self) -> float:
        self._refuse(
            "float(), or a write into a plain array,",
            "Arithmetic and NumPy functions take batched values; an array to write them into is "
            "made with np.zeros(shape, like=x) or np.array(a, like=x).",
        )

    def __complex__(self) -> complex:
        self._refuse("complex()", "Use x.astype(complex).")

    def __index__(self) -> int:
        self._refuse(
            "operator.index(), as for range(x), a shape or the index of a plain array,",
            "To look up values use np.asarray(table, like=x)[x], and a[x + np.arange(n)] for "
            "a[x:x + n]. Sizes must be the same for all examples: compute with the largest, and "
            "np.where(np.arange(size) < x, y, 0).",
        )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if self.dtype.kind == "b":
            advice = (
                "Use np.where(x, table, 0) for table[x], np.sum(table, where=x) for a sum of it, "
                "np.where(x, v, table) for table[x] = v"
            )
        elif self.dtype.kind in "iu":
            advice = (
                "Use np.asarray(table, like=x)[x] for table[x] or np.take(table, x), "
                "np.array(table, like=x) for a table to write into"
            )
        else:
            advice = (
                "Use np.zeros(shape, like=x), np.full(shape, x, like=x) or np.array(a, like=x) "
                "for an array to write into"
            )
        self._refuse(
            "np.asarray(x), or a plain array indexed by it or written into,",
            f"{advice}, np.stack for np.array([...]).",
        )

    def choose(self, choices: Any, out: Any = None, mode: Any = "raise") -> Any:
        """As `numpy.ndarray.choose`."""
        return np.choose(self, choices, mode=mode, **({} if out is None else {"out": out}))

    def item(self, *index: Any) -> Any:
        """The single element (or the one at an index), still batched."""
        return NdarrayInterface.item(self, *index).copy()

    def __contains__(self, value: Any) -> bool:
        self._refuse("x in array", "Use np.any(array == x).")

    def __repr__(self) -> str:
        return f"Batched({self.mapping.size} of {self.value!r})"

    def __str__(self) -> str:
        return repr(self)

    def __format__(self, spec: str) -> str:
        if spec:
            self._refuse(f"format(x, {spec!r})", "Print it as it is, or after the vmap.")
        return repr(self)

    def __floor__(self) -> int:
        self._refuse("math.floor()", "Use np.floor.")

    def __ceil__(self) -> int:
        self._refuse("math.ceil()", "Use np.ceil.")

    def __trunc__(self) -> int:
        self._refuse("math.trunc()", "Use np.trunc.")


def _look_up_own(array: Batched, index: Any) -> Batched:
    """Elements of each example, by indices that differ between its examples or an outer vmap's."""
    places = _places(array, list(index) if type(index) is tuple else [index])
    value, mapping = array.value, array.mapping
    if not isinstance(places, Batched):
        if type(value) is np.ndarray:
            return Batched(_laid_out(np.take(_in_rows(value), places, 1), array, index), mapping)
        return Batched(_laid_out(_in_rows(value)[:, places], array, index), mapping)
    if places.mapping is not mapping:
        return Batched(pick(_in_rows(value), (slice(None), places)), mapping)
    if type(value) is np.ndarray and len(value) > 1 and not value.strides[0]:
        return Batched(pick(np.reshape(value[0], -1), places.value), mapping)  # for all
    flat = _in_rows(value)
    return Batched(pick(flat, (_rows(places.value), places.value)), mapping)


def _read_part(array: Batched, index: Any) -> Any:
    return Batched(array.value, array.mapping)[index]


def _picked(array: Any, index: Any, look_up: Callable[[Any, Any], Batched]) -> Batched:
    found = look_up(array, index)
    parts = index if type(index) is tuple else (index,)
    if len(found.value.shape) > 1 and all(_is_basic_part(x) or _is_place(x) for x in parts):
        return Picked(found, array, index, look_up)
    return found.handle() if isinstance(found.value, Picked) else found


_REARRANGED = ()  # stands for the index of x[i].T and the like


def _is_place(part: Any) -> bool:
    return isinstance(part, Mapped) and not isinstance(part, Chosen) and not part.shape


class Picked(Batched):
    """`x[i]` by a number i of each example's own, which NumPy makes a view of x.

    As the places differ it is no view of memory: it is looked up again when it is used, and a
    write into it goes to x.
    """

    __slots__ = ("found", "index", "kind", "look_up_again", "parent", "seen", "spec")

    picked = True

    def __init__(
        self, found: Batched, parent: Any, index: Any, look_up: Callable[[Any, Any], Batched]
    ) -> None:
        self.mapping, self.spec, self.kind = found.mapping, spec_of(found), found.__class__
        self.parent, self.index, self.look_up_again = parent, index, look_up
        self.found, self.seen = found.value, _version(parent)

    @property  # type: ignore[misc]  # object's can be set, on no instance of ours
    def __class__(self) -> Any:
        """As for its value, without a look at what that is by now."""
        return self.kind

    @property
    def shape(self) -> tuple[int, ...]:
        return self.spec.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.spec.dtype

    @property
    def ndim(self) -> int:
        return self.spec.ndim

    @property
    def value(self) -> Any:
        version = _version(self.parent)
        if version is None or version is not self.seen:
            self.found, self.seen = self.look_up_again(self.parent, self.index).value, version
        if type(self.found) is np.ndarray:
            self.found.flags.writeable = False  # what is a view of it cannot write to the parent
        return self.found

    def call_rule(self, rule: Rule, arrays: list[Any], params: dict[str, Any]) -> Any:
        """As of other arrays; but views of this one are for reading alone."""
        if not rule.view or arrays[0] is not self:
            return super().call_rule(rule, arrays, params)

        def rearranged(array: Picked, _: Any) -> Any:
            return Batched(array.value, array.mapping).call_rule(rule, [array], params)

        return _picked(self, _REARRANGED, rearranged)

    def __getitem__(self, index: Any) -> Any:
        return _picked(self, index, _read_part)

    def __setitem__(self, index: Any, value: Any) -> None:
        if self.index is _REARRANGED:
            self._refuse(
                "a write into a rearranged x[i]", "Write into x[i] itself, or copy it before."
            )
        whole = self.copy()
        whole[index] = value
        self.parent[self.index] = whole

    def view(self, *args: Any) -> Any:
        """As `numpy.ndarray.view`, of each example."""
        return super().view(*args) if args else self[...]

    @property
    def real(self) -> Any:
        return super().real

    @real.setter
    def real(self, value: Any) -> None:
        self[...] = value + 1j * self.imag if self.dtype.kind == "c" else value

    @property
    def imag(self) -> Any:
        return super().imag

    @imag.setter
    def imag(self, value: Any) -> None:
        self[...] = self.real + 1j * value


def _version(value: Any) -> Any:
    """What is another object when a traced value has been written to; None for plain memory."""
    while isinstance(value, Mapped):
        value = value.parent if isinstance(value, Picked) else value.value
    return value.slot if isinstance(value, Traced) else None


def _operator(name: str, ufunc: np.ufunc, function: Callable[[Any, Any], Any]) -> None:
    """Give Batched an operator; two examples of one rank, or a number, go the short way."""

    def forward(self: Batched, other: Any) -> Any:
        mapping = self.mapping
        kind = type(other)
        if mapping.open:
            if kind is Batched:
                if other.mapping is mapping and len(self.value.shape) == len(other.value.shape):
                    return Batched(function(self.value, other.value), mapping)
            elif kind is float or kind is int:
                return Batched(function(self.value, other), mapping)
        if getattr(kind, "__array_ufunc__", 0) is None:
            return NotImplemented
        return ufunc(self, other)

    def reflected(self: Batched, other: Any) -> Any:
        if self.mapping.open and (type(other) is float or type(other) is int):
            return Batched(function(other, self.value), self.mapping)
        if getattr(type(other), "__array_ufunc__", 0) is None:
            return NotImplemented
        return ufunc(other, self)

    for method, prefix in ((forward, ""), (reflected, "r")):
        method.__name__ = f"__{prefix}{name}__"
        method.__qualname__ = f"Batched.{method.__name__}"
        setattr(Batched, method.__name__, method)


_operator("add", np.add, operator.add)
_operator("sub", np.subtract, operator.sub)
_operator("mul", np.multiply, operator.mul)
_operator("truediv", np.divide, operator.truediv)
_operator("pow", np.power, operator.pow)


def _in_place(name: str, ufunc: np.ufunc) -> None:
    """`x += y`: a write into an array, but a new value for a number, as NumPy's are."""

    def method(self: Batched, other: Any) -> Any:
        if self.is_number():
            return ufunc(self, other)
        return ufunc(self, other, out=(self,))

    method.__name__ = f"__i{name}__"
    method.__qualname__ = f"Batched.{method.__name__}"
    setattr(Batched, method.__name__, method)


for _name, _ufunc in (
    ("add", np.add),
    ("sub", np.subtract),
    ("mul", np.multiply),
    ("truediv", np.divide),
    ("floordiv", np.floor_divide),
    ("mod", np.remainder),
    ("pow", np.power),
    ("and", np.bitwise_and),
    ("or", np.bitwise_or),
    ("xor", np.bitwise_xor),
    ("lshift", np.left_shift),
    ("rshift", np.right_shift),
):
    _in_place(_name, _ufunc)


def _example(value: Any) -> Any:
    """Something with the shape and dtype of one example."""
    return np.zeros(value.shape, value.dtype) if isinstance(value, Batched) else value


def _where_computed(where: Any, result: Any, out: Any) -> Any:
    """Results of a ufunc with where=: elsewhere those of out=, or zero."""
    if isinstance(result, tuple):
        olds = out if isinstance(out, tuple) else (None,) * len(result)
        return tuple(
            np.where(where, part, 0 if old is None else old)
            for part, old in zip(result, olds, strict=True)
        )
    old = out[0] if isinstance(out, tuple) else out
    return np.where(where, result, 0 if old is None else old)


def _holds_batched(value: Any) -> bool:
    if isinstance(value, Mapped):  # the frequent case
        return False
    return isinstance(value, (list, tuple)) and any(
        isinstance(part, Mapped) or _holds_batched(part) for part in value
    )


# --- Elementwise calls --------------------------------------------------------------------------


def _rank(value: Any) -> int:
    return len(value.shape) if hasattr(value, "shape") else np.ndim(value)


def _fitted(mapping: Mapping, value: Any, rank: int) -> Any:
    """A value of up to `rank` axes beside others with their examples along axis 0."""
    if not (isinstance(value, Batched) and value.mapping is mapping):
        return value
    inner = value.value
    missing = rank - (len(inner.shape) - 1)
    if missing > 0:
        return np.reshape(inner, (mapping.size, *(1,) * missing, *inner.shape[1:]))
    if missing < 0:  # a write of (1, n) into n places
        return np.reshape(inner, (mapping.size, *inner.shape[1 - missing :]))
    return inner


def _call_aligned(
    mapping: Mapping, ufunc: np.ufunc, inputs: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    inputs = tuple(np.stack(x) if _holds_batched(x) else x for x in inputs)
    rank = max(map(_rank, inputs))
    return ufunc(*[_fitted(mapping, x, rank) for x in inputs], **kwargs)


def _matmul(mapping: Mapping, x: Any, y: Any) -> Any:
    """np.matmul; where one matrix serves all examples, as one product with all of their rows."""
    if not isinstance(x, Batched) and getattr(x, "ndim", 0) == 2 and y.shape[1:] in ((), (1,)):
        columns = _in_rows(y.value)
        return mapping.wrap(
            np.reshape(
                np.matmul(columns, np.swapaxes(x, 0, 1)), (mapping.size, x.shape[0], *y.shape[1:])
            )
        )
    shared = not isinstance(y, Batched) and getattr(y, "ndim", 0) in (1, 2)
    if shared and x.ndim == 1 and y.ndim == 2:
        return mapping.wrap(np.matmul(x.value, y))
    if shared and x.ndim == 2:
        rows = np.reshape(x.value, (mapping.size * x.shape[0], x.shape[1]))
        made = (mapping.size, x.shape[0], *y.shape[1:])
        return mapping.wrap(np.reshape(np.matmul(rows, y), made))
    return call_with_signature(mapping, "(m?,n),(n,k?)->(m?,k?)", np.matmul, [x, y])


def _reduce(
    mapping: Mapping,
    ufunc: np.ufunc,
    array: Any,
    axis: Any = 0,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    value = mapping.front(array)
    ndim = value.ndim - 1
    axes = range(ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    options: dict[str, Any] = {"dtype": dtype, "keepdims": keepdims}
    if initial is not None:
        if isinstance(initial, Mapped):
            refuse_param(f"np.{ufunc.__name__}.reduce", "initial")
        options["initial"] = initial
    if where is not True:
        options["where"] = _fitted(mapping, where, ndim)
    shifted = tuple(_shifted(a, ndim) for a in axes)
    return _done(mapping, ufunc.reduce(value, axis=shifted, **options), out)


def _accumulate(
    mapping: Mapping,
    ufunc: np.ufunc,
    array: Any,
    axis: int = 0,
    dtype: Any = None,
    out: Any = None,
) -> Any:
    value = mapping.front(array)
    return _done(mapping, ufunc.accumulate(value, _shifted(axis, value.ndim - 1), dtype), out)


def _reduceat(
    mapping: Mapping,
    ufunc: np.ufunc,
    array: Any,
    indices: Any,
    axis: int = 0,
    dtype: Any = None,
    out: Any = None,
) -> Any:
    value = mapping.front(array)
    shifted = _shifted(axis, value.ndim - 1)
    return _done(mapping, ufunc.reduceat(value, indices, shifted, dtype), out)


def _outer(mapping: Mapping, ufunc: np.ufunc, x: Any, y: Any, **kwargs: Any) -> Any:
    x = x if hasattr(x, "shape") else np.asarray(x)
    y = y if hasattr(y, "shape") else np.asarray(y)
    return ufunc(np.reshape(x, x.shape + (1,) * y.ndim), y, **kwargs)


def _at(mapping: Mapping, ufunc: np.ufunc, x: Any, index: Any, *operands: Any) -> None:
    """`ufunc.at` of each example: the places of all of them are named in one call."""
    if not (isinstance(x, Batched) and x.mapping is mapping):
        raise BatchingError(
            f"np.{ufunc.__name__}.at: a batched value cannot be written into, nor choose the "
            "places of, an array that all examples share. Make the array inside the vmap, with "
            "np.zeros(shape, like=v) or np.array(x, like=v) of a batched v."
        )
    if holds_condition(index):  # each place once
        x[index] = ufunc(x[index], *operands)
        return
    if isinstance(x, Picked):
        whole = x.copy()
        _at(mapping, ufunc, whole, index, *operands)
        x[...] = whole
        return
    operands = tuple(map(lift, operands))
    for operand in operands:
        x._make_room(operand)
    places = _places(x, list(index) if type(index) is tuple else [index])
    x._make_room(places)  # where they differ for a vmap around this one
    where = mapping.front(places)
    values = [_fitted(mapping, operand, _rank(places)) for operand in operands]
    flat = _in_rows(x.value).copy()
    ufunc.at(flat, (np.broadcast_to(_rows(where), where.shape), where), *values)
    x.value[...] = np.reshape(flat, x.value.shape)


def _done(mapping: Mapping, value: Any, out: Any) -> Any:
    result = Batched(value, mapping)
    return result if out is None else write_out(out, result, "reduce")


_UFUNC_METHODS: dict[str, Callable[..., Any]] = {
    "reduce": _reduce,
    "accumulate": _accumulate,
    "reduceat": _reduceat,
    "outer": _outer,
    "at": _at,
}

# --- Indices ------------------------------------------------------------------------------------


def _parts_of(index: Any, array: Batched) -> list[Any] | None:
    """The parts of an index that needs a table of places; None where NumPy's own index will do.

    That is the case for integers, slices, None and Ellipsis, and for arrays in one place.
    """
    parts = list(index) if type(index) is tuple else [index]
    arrays = [i for i, part in enumerate(parts) if _is_array_index(part)]
    if not arrays:
        return None
    batched = any(isinstance(parts[i], Batched) for i in arrays)
    if not batched and len(parts) == 1 and not isinstance(parts[0], (list, tuple)):
        return None
    return parts


def _is_basic_part(part: Any) -> bool:
    return isinstance(part, (int, np.integer, slice, type(None), type(Ellipsis)))


def _laid_out(found: Any, array: Any, index: Any) -> Any:
    """Elements picked by an array, in memory as NumPy has those of one example.

    On that depends of what reshapes they are views.
    """
    if not len(found):
        return found
    one = memory_of(Batched(found, array.mapping))
    wanted = memory_of(array)
    if not is_ndarray(one) or not is_ndarray(wanted):
        return found
    strides = wanted[index].strides
    if one.strides == strides:
        return found
    return _in_order(found, sorted(range(one.ndim), key=lambda i: -abs(strides[i])))


def _in_order(found: Any, order: list[int]) -> Any:
    """An array that nobody else has, with its last axes in memory in an order."""
    if type(found) is np.ndarray:
        ahead = found.ndim - len(order)
        axes = (*range(ahead), *(ahead + i for i in order))
        return np.transpose(np.ascontiguousarray(np.transpose(found, axes)), np.argsort(axes))
    if not hasattr(found, "parent"):
        found.value = _in_order(found.value, order)
    return found


def _is_array_index(part: Any) -> bool:
    return not _is_basic_part(part)


def _places(array: Batched, parts: list[Any]) -> Any:
    """Where the indexed elements stand in a flattened example, laid out as the result is."""
    lifted = [np.stack(part) if _holds_batched(part) else part for part in parts]
    if not any(isinstance(part, Batched) for part in lifted):
        return np.reshape(np.arange(array.size), array.shape)[tuple(lifted)]
    return _strided_places(array, _spelled_out(array, lifted))


def _spelled_out(array: Batched, parts: list[Any]) -> list[Any]:
    """One part an axis (and the Nones): no Ellipsis, no conditions, nothing left away."""
    spelled: list[Any] = []
    for part in parts:
        if holds_condition(part):
            raise BatchingError(
                f"{array.mapping.name}: indexing by a batched condition; each example may pick "
                "another number of elements. Use np.where(condition, x, 0)."
            )
        if isinstance(part, (list, tuple)):
            part = np.asarray(part)
        if is_ndarray(part) and part.dtype.kind == "b":
            spelled += np.nonzero(part)
        else:
            spelled.append(part)
    used = sum(part is not None and part is not Ellipsis for part in spelled)
    rest = [slice(None)] * (array.ndim - used)
    if not any(part is Ellipsis for part in spelled):
        return spelled + rest
    cut = next(i for i, part in enumerate(spelled) if part is Ellipsis)
    return [*spelled[:cut], *rest, *spelled[cut + 1 :]]


def _strided_places(array: Batched, parts: list[Any]) -> Any:
    """The sum of index times stride over the axes, each index along its own axes of the result.

    Array indices share axes of the result: where they stand if they stand together, else in front.
    """
    advanced = [i for i, part in enumerate(parts) if not isinstance(part, (slice, type(None)))]
    shared = max(_rank(parts[i]) for i in advanced)
    together = advanced == list(range(advanced[0], advanced[-1] + 1))
    first = advanced[0] if together else -1
    rank = shared + sum(i not in advanced for i in range(len(parts)))
    position, at = (0, 0) if together else (shared, 0)
    axis = 0
    places: Any = 0
    for i, part in enumerate(parts):
        if i == first:
            at, position = position, position + shared
        if part is None:
            position += 1
            continue
        size = array.shape[axis]
        stride = math.prod(array.shape[axis + 1 :])
        axis += 1
        if isinstance(part, slice):
            index, start = np.arange(size)[part], position
            position += 1
        else:
            index, start = _in_bounds(part, size, axis - 1), at + shared - _rank(part)
        shape = (*np.shape(index), *(1,) * (rank - start - _rank(index)))
        places = places + np.reshape(index, shape) * stride
    return np.reshape(places, (1,) * (rank - _rank(places)) + np.shape(places))


def _in_bounds(index: Any, size: int, axis: int) -> Any:
    raw = index
    while isinstance(raw, Mapped):
        raw = raw.value
    if not isinstance(raw, Traced) and np.any((raw < -size) | (raw >= size)):
        raise IndexError(f"index out of bounds for axis {axis} with size {size}")
    return np.where(index < 0, index + size, index)


def _in_rows(value: Any) -> Any:
    """The elements of each example in a row."""
    return np.reshape(value, (value.shape[0], math.prod(value.shape[1:])))


def _rows(places: Any, size: int | None = None) -> Any:
    """The number of each example, beside its places."""
    count = places.shape[0] if size is None else size
    return np.reshape(np.arange(count), (count, *(1,) * (len(places.shape) - 1)))


def batched_leaves(leaves: Iterable[Any], mapping: Mapping) -> list[bool]:
    """Which of the leaves belong to a vmap."""
    return [isinstance(leaf, Batched) and leaf.mapping is mapping for leaf in leaves]


__all__ = ["Batched", "Mapping", "Traced"]
