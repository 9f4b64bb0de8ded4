"""`NumpyBuffer`: a plain array made inside a transform, into which traced values can be written.

Knows NumPy's protocols, and how a plain array becomes a value in a trace. Must not know tapes,
rules, or which functions make buffers.

A buffer holds a plain array until a value in a trace is written into it, and is that array to
everybody: it converts, indexes, formats and pickles. From then on it holds the value in a trace
that the array has become. Operations are those of what it holds; plain results are buffers again,
because a program may write into them, too. A view knows how it was made from its parent, and is
made again when the parent has become another value.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tapegrad._arrays.caller import asking_place
from tapegrad._arrays.conversion import listed
from tapegrad._arrays.interface import Flat
from tapegrad._arrays.refusal import holder_of, keep_refusal
from tapegrad._core.locks import LOCKS
from tapegrad._core.recorded import is_recording
from tapegrad._core.refcounts import ALONE, references
from tapegrad._core.tape import CURRENT
from tapegrad._core.types import Index, Value
from tapegrad._core.values import (
    UNTRACED_TYPES,
    Buffer,
    Traced,
    batched_index_part,
    getitem,
    holds_in_trace,
    in_trace,
    innermost,
    is_basic,
    is_mapped,
    lift,
    lift_to_level_of,
)
from tapegrad._errors import ConversionError
from tapegrad._tree import stand_for

_HANDED_OUT = (
    "z[...] = x: z was made inside the transform, and code that knows no traced values holds its "
    "memory, by np.asarray(z), say: it would not see x. Give it a copy, or adopt its package."
)
_OF_MEMORY = ("base", "ctypes", "data")
# Functions that write into their first argument.
_WRITERS = frozenset(
    (np.copyto, np.put, np.place, np.putmask, np.put_along_axis, np.fill_diagonal)
)
_UNSET = frozenset(("empty", "empty_like"))
_WRITING_METHODS: dict[str, Callable[..., Any]] = {
    "fill": lambda x, value: operator.setitem(x, ..., value),
    "put": np.put,
}


_are_untraced = UNTRACED_TYPES.issuperset


def hold(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of a function of NumPy's, or of ours: a new array is a buffer in a transform."""
    if not is_inside():
        return function(*args, **kwargs)
    given = (*args, *kwargs.values()) if kwargs else args
    if not _are_untraced(map(type, given)) and any(map(_holds_buffer, given)):
        return _call(function, args, kwargs)
    made = function(*args, **kwargs)
    if issubclass(type(made), Buffer):
        return made
    if type(made) is not np.ndarray or made.dtype.kind not in "fc":
        return made
    base = made.base
    if base is not None and type(base) is not np.ndarray:
        return made  # memory of another object
    for arg in given:
        if made is arg or base is not None and _may_share(made, arg):
            return made  # an array of the program's, or a view of one
    if getattr(function, "__name__", "") in _UNSET:
        made.fill(0)  # what is there by chance would be another constant in each run
    return NumpyBuffer(made)


def _may_share(made: Any, arg: Any) -> bool:
    """Whether an array may be memory of an argument, which may be an object with an array."""
    kind = type(arg)
    if kind is list or kind is tuple:
        return any(_may_share(made, part) for part in arg)
    if kind is np.ndarray:
        return np.may_share_memory(made, arg)
    return not (kind.__module__ == "builtins" or issubclass(kind, (np.generic, np.dtype)))


def _call(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of a function called with buffers."""
    if function in _WRITERS:
        _prepare(args[0], [*args[1:], *kwargs.values()])
    target = kwargs.get("out")
    if target is not None:
        _prepare(target, [*args, *kwargs.values()])
    values = tuple(map(value_of, args))
    named = {name: value_of(value) for name, value in kwargs.items()}
    made = function(*values, **named)
    if issubclass(type(target), Buffer):
        return target

    values, named = tuple(map(_kept, values)), {name: _kept(v) for name, v in named.items()}

    def again(whole: Any, at: int, pick: Callable[[Any], Any]) -> Any:
        return pick(function(*values[:at], whole, *values[at + 1 :], **named))

    return _result(made, again, args)


def _kept(x: Any) -> Any:
    """An argument for a view that is made again: the program may change its list, of a shape."""
    return list(x) if type(x) is list else x


def _is_kept(root: NumpyBuffer) -> bool:
    """Whether others than a buffer hold its memory, or views of it."""
    own = root._own
    if type(own) is not np.ndarray or not own.flags.writeable:
        return False  # it is in a trace, or locked as a constant of a derivative
    if references(own) > ALONE:
        return True
    memory = own.base
    return memory is not None and references(memory) > ALONE


def _lifted(own: Any, other: Any) -> Any:
    """A value lifted to all levels that another in a trace belongs to."""
    own = lift_to_level_of(own, other)
    if is_mapped(other) and is_mapped(own) and own.level == other.level:
        inside = _lifted(own._value, other._value) if in_trace(other._value) else own._value
        if inside is not own._value:
            return own.vmap_level.wrap(inside)
    return own


def _prepare(target: Any, others: list[Any]) -> None:
    """Make a buffer one into which results of others can be written."""
    inner = innermost(map(value_of, others))
    if inner is not None and issubclass(type(target), Buffer):
        target.become(inner)


def _result(made: Any, again: Callable[..., Any] | None = None, args: tuple[Any, ...] = ()) -> Any:
    """A result for the program: a plain new array, or a view of a buffer's, as a buffer.

    again(value, position, pick): what `pick` takes of the same call with another value there.
    """
    kind = type(made)
    if kind is tuple or kind is list:
        return kind([_result(part, _of_part(again, at), args) for at, part in enumerate(made)])
    is_view = isinstance(made, Traced) and made.is_view
    if not is_view and (kind is not np.ndarray or made.dtype.kind not in "fc"):
        return made
    if again is None:
        return made if is_view else NumpyBuffer(made)
    for at, arg in enumerate(args):
        if type(arg) is NumpyBuffer:
            value = arg.value
            if made is value:
                return arg
            if is_view or type(value) is np.ndarray and np.may_share_memory(made, value):
                return NumpyBuffer(made, arg, functools.partial(_again, again, at))
        elif _may_share(made, arg):
            return made
    return made if is_view else NumpyBuffer(made)


def _again(again: Callable[..., Any], at: int, whole: Any) -> Any:
    return again(whole, at, _itself)


def _itself(x: Any) -> Any:
    return x


def _of_part(again: Callable[..., Any] | None, part: int) -> Callable[..., Any] | None:
    if again is None:
        return None
    return lambda whole, at, pick: again(whole, at, lambda made: pick(made[part]))


def is_inside() -> bool:
    """Whether a transform is open in this thread or task, or a program is recorded."""
    return CURRENT.get() is not None or is_recording()


class NumpyBuffer(Buffer):
    """An array of NumPy's made inside a transform; see the module.

    `np.zeros` of adopted code and of `tapegrad.numpy` returns one.
    """

    __slots__ = ("__weakref__", "_derive", "_handed_out", "_of", "_own", "_parent", "_shape")

    _own: Any  # the value; of a view, what was last made of the parent's
    _parent: NumpyBuffer | None
    _derive: Callable[[Any], Any]  # of a view: its value by that of its parent
    _of: Any  # of a view: the parent's value in a trace that its own was made of
    _shape: tuple[int, ...]  # of a view: the shape that its parent had when it was made
    _handed_out: bool  # whether other code than NumPy's functions got the memory

    def __init__(
        self,
        value: Value,
        parent: NumpyBuffer | None = None,
        derive: Callable[[Any], Any] | None = None,
    ) -> None:
        self._parent, self._handed_out = parent, False
        if parent is None or derive is None:
            self._own = value
        else:
            self._derive, self._of, self._shape = derive, None, parent.shape

    @property
    def value(self) -> Any:
        """The plain array, or the value in a trace that it has become."""
        parent = self._parent
        if parent is None:
            return self._own
        whole = parent.value
        if type(whole) is not np.ndarray and whole is self._of:
            return self._own
        shaped = whole if whole.shape == self._shape else whole.reshape(self._shape)
        found = self._derive(shaped)
        if type(whole) is not np.ndarray:  # nothing keeps plain memory but its owner: see `become`
            self._own, self._of = found, whole
        return found

    def _root(self) -> NumpyBuffer:
        root = self
        while root._parent is not None:
            root = root._parent
        return root

    def hand_out(self) -> Any:
        """The value, for code that may keep the memory."""
        self._root()._handed_out = True
        return self.value

    def become(self, other: Value) -> Any:
        """The value, made one into which `other`, a value in a trace, can be written."""
        root = self._root()
        if root._handed_out and _is_kept(root):
            error = functools.partial(ConversionError, _HANDED_OUT)
            keep_refusal(holder_of(other), asking_place(), error)
        own = root._own
        if type(own) is np.ndarray and not own.flags.writeable and id(own) not in LOCKS:
            raise ValueError("assignment destination is read-only")  # by the program, as NumPy
        root._own = _lifted(own, other)
        return self.value

    @property  # type: ignore[misc]  # object's has a setter, ours needs none
    def __class__(self) -> Any:
        return self.value.__class__

    # -- NumPy's protocols -----------------------------------------------------------------------

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.hand_out(), dtype, copy=copy)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        target = kwargs.pop("out", None)
        others = [value_of(x) for x in inputs]
        kwargs = {name: value_of(value) for name, value in kwargs.items()}
        if method == "at":
            _prepare(inputs[0], others[1:])
            getattr(ufunc, method)(value_of(inputs[0]), *others[1:], **kwargs)
            return None
        if target is None:
            return _result(getattr(ufunc, method)(*others, **kwargs))
        targets = target if isinstance(target, tuple) else (target,)
        for each in targets:
            _prepare(each, [*others, *kwargs.values()])
        kwargs["out"] = tuple(map(value_of, targets))
        made = getattr(ufunc, method)(*others, **kwargs)
        made = made if type(made) is tuple else (made,)
        given = [
            _result(part) if each is None else each
            for each, part in zip(targets, made, strict=True)
        ]
        return tuple(given) if len(given) > 1 else given[0]

    def __array_function__(
        self, function: Callable[..., Any], _types: Any, args: Any, kwargs: dict[str, Any]
    ) -> Any:
        return _call(function, args, kwargs)

    # -- reads and writes ------------------------------------------------------------------------

    def __getitem__(self, index: Index) -> Any:
        index = value_of(index)
        value = self.value
        part = getitem(value, index)
        kind = type(part)
        if kind is np.float64 or not getattr(part, "shape", ()) and part is not value:
            return part  # a number
        if not is_basic(index):
            return _result(part)
        return NumpyBuffer(part, self, lambda whole: whole[index])

    def __setitem__(self, index: Index, value: Value) -> None:
        index, value = value_of(index), value_of(listed(value))
        if holds_in_trace(value):
            value = lift(value)
            self.become(value)
        inside = batched_index_part(index, -1)
        if inside is not None:
            self.become(inside)
        self.value[index] = value

    def __len__(self) -> int:
        return len(self.value)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self.value)))

    def __contains__(self, value: Value) -> bool:
        return value_of(value) in self.value

    # -- attributes and methods ------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__array_") or name == "__buffer__":
            raise AttributeError(name)  # the memory is not the whole value
        found = getattr(self.hand_out() if name in _OF_MEMORY else self.value, name)
        if callable(found) and not in_trace(found):
            return _Method(self, name)
        return _result(found, lambda whole, _at, _pick: getattr(whole, name), (self,))

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape

    @shape.setter
    def shape(self, wanted: Any) -> None:
        made = self.value.reshape(wanted)
        if self._parent is not None:
            derive, shape = self._derive, made.shape
            self._derive = lambda whole: derive(whole).reshape(shape)
            self._own = self._of = None
        else:
            self._own = made

    @property
    def real(self) -> Any:
        return self.__getattr__("real")

    @real.setter
    def real(self, value: Any) -> None:
        self.real[...] = value

    @property
    def imag(self) -> Any:
        return self.__getattr__("imag")

    @imag.setter
    def imag(self, value: Any) -> None:
        self.imag[...] = value

    @property
    def dtype(self) -> Any:
        return self.value.dtype

    @property
    def flat(self) -> Flat:
        return Flat(self)

    @flat.setter
    def flat(self, value: Value) -> None:
        values = np.ravel(value)
        self.flat[:] = values[np.arange(self.size) % values.size]

    def __bool__(self) -> bool:
        return bool(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __float__(self) -> float:
        return float(self.value)

    def __complex__(self) -> complex:
        return complex(self.value)

    def __index__(self) -> int:
        return operator.index(self.value)

    def __hash__(self) -> int:
        return hash(self.value)

    def __repr__(self) -> str:
        return repr(self.value)

    def __str__(self) -> str:
        return str(self.value)

    def __format__(self, spec: str) -> str:
        return format(self.value, spec)

    def __copy__(self) -> Any:
        return NumpyBuffer(self.value.copy())

    def __deepcopy__(self, _memo: Any) -> Any:
        return NumpyBuffer(self.value.copy())

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.value.__reduce_ex__(protocol)

    def __divmod__(self, other: Value) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Value) -> Any:
        return other // self, other % self

    def __abs__(self) -> Any:
        return _result(abs(self.value))

    def __neg__(self) -> Any:
        return _result(-self.value)

    def __pos__(self) -> Any:
        return _result(+self.value)


class _Method:
    """A method of a buffer's value, such as `x.copy` or `x.reshape`, bound to the buffer."""

    __slots__ = ("buffer", "name")

    def __init__(self, buffer: NumpyBuffer, name: str) -> None:
        self.buffer, self.name = buffer, name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        buffer, name = self.buffer, self.name
        target = kwargs.get("out")
        if target is not None:
            _prepare(target, [buffer, *args, *kwargs.values()])
        args = tuple(map(value_of, args))
        kwargs = {key: value_of(value) for key, value in kwargs.items()}
        write = _WRITING_METHODS.get(name)
        if write is not None:
            write(buffer, *args, **kwargs)
            return None

        made = getattr(buffer.value, name)(*args, **kwargs)
        if issubclass(type(target), Buffer):
            return target
        args, kwargs = tuple(map(_kept, args)), {key: _kept(v) for key, v in kwargs.items()}

        def call(whole: Any) -> Any:
            return getattr(whole, name)(*args, **kwargs)

        return _result(made, lambda whole, _at, pick: pick(call(whole)), (buffer,))


def value_of(x: Any) -> Any:
    """The value of a buffer, also in lists, tuples and dicts; any other value unchanged."""
    kind = type(x)
    if issubclass(kind, Buffer):
        return x.value
    if (kind is list or kind is tuple) and _holds_buffer(x):
        return kind(map(value_of, x))
    if kind is dict:
        return {name: value_of(value) for name, value in x.items()}
    return x


def _holds_buffer(x: Any) -> bool:
    kind = type(x)
    if kind is list or kind is tuple:
        return any(map(_holds_buffer, x))
    return issubclass(kind, Buffer)


def _operator(name: str) -> None:
    """Give buffers `__name__`, `__rname__` and `__iname__`."""
    function, written = getattr(operator, name), getattr(operator, f"i{name}")

    def forward(self: Any, other: Value) -> Any:
        return _result(function(self.value, lift(value_of(other))))

    def reflected(self: Any, other: Value) -> Any:
        return _result(function(lift(value_of(other)), self.value))

    def in_place(self: Any, other: Value) -> Any:
        other = lift(value_of(other))
        value = self.become(other) if in_trace(other) else self.value
        made = written(value, other)
        if made is not value:
            self[...] = made
        return self

    for method, start in ((forward, ""), (reflected, "r"), (in_place, "i")):
        method.__name__ = f"__{start}{name}__"
        setattr(NumpyBuffer, method.__name__, method)


def _comparison(name: str) -> None:
    function = getattr(operator, name)
    setattr(NumpyBuffer, f"__{name}__", lambda self, other: function(self.value, value_of(other)))


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"):
    _operator(_name)
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    _comparison(_name)
# To a transform, as an argument or a result, a buffer is the value that it holds.
stand_for(NumpyBuffer, NumpyBuffer.hand_out)


__all__ = ["NumpyBuffer", "hold", "is_inside", "value_of"]
