"""`Recorded`, the array that a function gets while its calls are recorded: the outermost one.

Knows what Python, and the engine, ask of a value, and which values share memory. Must not know how
a call is logged, how a program runs, or transforms.

It has the value of an ordinary run, and a position in the log. Transforms and vmaps inside the
function hold it as they hold a plain array. Whatever NumPy is asked to do with it is done with
the value, and logged. Where Python must know a value (`bool(x)`) it gets it, and the log says so.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from tapegrad._arrays.caller import is_formatting
from tapegrad._arrays.interface import Container, Flat, NumberInterface
from tapegrad._core.operands import leaves_it_to_us
from tapegrad._core.values import Mapped, class_for_holder
from tapegrad._program.functions import (
    SHAPED_BY_VALUES,
    attribute,
    bits_of,
    method,
    set_flat,
)
from tapegrad._program.program import HOLE, Ref, Step
from tapegrad._program.recorder import NotRecordableError, Recorder

_READS_MEMORY = (
    "it hands a value to code that reads its memory (np.array of a list, a write into a plain "
    "array, a library in C): join values with np.stack, and make buffers with np.zeros_like"
)

_READS_WHOLE_NUMBERS = (
    "it hands whole numbers to code that reads their memory: to read a plain array `a` at places "
    "`i` that it computes, write np.asarray(a, like=i)[i], or np.take"
)


_MOST_BYTES = 1 << 12  # that code may read as the answer of a question


class Memory:
    """Memory that recorded arrays share: the position of its state in the log, and a count."""

    __slots__ = ("__weakref__", "at", "owner", "version", "viewed_by")

    def __init__(self, at: int, owner: Any) -> None:
        self.at = at
        self.owner = owner  # the array that the others are views of
        self.version = 0  # how often it was written to
        self.viewed_by: Any = None  # a function whose view of it lies where values say


class Recorded(Mapped):
    """A value of a recorded run: an array, a NumPy scalar, or a number of Python's."""

    __slots__ = ("_at", "_value", "memory", "recorder", "seen", "steps")

    def __new__(cls, value: Any, *_: Any) -> Any:
        return object.__new__(RecordedArray if isinstance(value, np.ndarray) else RecordedNumber)

    vmap_level = None  # no transform keeps what it is refused
    level = -0.75  # below every transform and vmap, and the graph of tensors
    records = True

    called: ClassVar[Callable[..., Any]]  # `calls`: the result of a call
    mutated: ClassVar[Callable[..., Any]]  # `calls`: a call that writes
    call_rule: ClassVar[Callable[..., Any]]  # `own_functions`
    pull_rule: ClassVar[Callable[..., Any]]  # `own_functions`
    push_rule: ClassVar[Callable[..., Any]]  # `own_functions`
    by: ClassVar[Callable[..., Any]]  # `own_functions`
    by_one: ClassVar[Callable[..., Any]]  # `own_functions`
    __array_ufunc__: ClassVar[Callable[..., Any]]  # `protocols`
    __array_function__: ClassVar[Callable[..., Any]]  # `protocols`
    __getitem__: ClassVar[Callable[..., Any]]  # `protocols`
    __setitem__: ClassVar[Callable[..., Any]]  # `protocols`

    def __init__(
        self,
        value: Any,
        at: int,
        recorder: Recorder,
        memory: Memory | None = None,
        steps: tuple[Step, ...] = (),
    ) -> None:
        self._value = value
        self._at = at
        self.recorder = recorder
        self.memory = Memory(at, value) if memory is None else memory
        self.steps = steps
        self.seen = self.memory.version

    @property  # type: ignore[misc]  # object's has a setter, ours needs none
    def __class__(self) -> Any:
        """That of its value: see `Array.__class__`."""
        return class_for_holder(type(self)) or type(self._value)

    @property
    def at(self) -> int:
        """The position of its present value in the log."""
        memory = self.memory
        if self.seen != memory.version:
            self.seen = memory.version
            self._at = self._taken_again()
        return self._at

    def _taken_again(self) -> int:
        at = self.memory.at
        value: Any = self.memory.owner
        for function, args, kwargs in self.steps:
            raw_args = tuple([value if arg is HOLE else arg for arg in args])
            value = function(*raw_args, **kwargs)
            args = tuple([Ref(at) if arg is HOLE else arg for arg in args])
            at = self.recorder.log(function, args, kwargs, value, shares=at)
        return at

    # -- attributes ------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        return getattr(self._value, "shape", ())

    @shape.setter
    def shape(self, shape: Any) -> None:
        self._value.view().shape = shape  # raises where that is no view
        self._become(self.apply(method("reshape"), shape))

    @property
    def dtype(self) -> Any:
        value = self._value
        return value.dtype if hasattr(value, "dtype") else np.dtype(type(value))

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return int(getattr(self._value, "size", 1))

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        return tuple(self._value.strides)

    @property
    def flags(self) -> Any:
        return self._value.flags

    @property
    def base(self) -> Any:
        return self.memory if self.steps else None

    @property
    def device(self) -> str:
        return "cpu"

    @property
    def T(self) -> Any:
        return self.apply(attribute("T"))

    @property
    def mT(self) -> Any:
        return self.apply(attribute("mT"))

    @property
    def real(self) -> Any:
        return self.apply(attribute("real"))

    @real.setter
    def real(self, value: Any) -> None:
        self.real[...] = value

    @property
    def imag(self) -> Any:
        return self.apply(attribute("imag"))

    @imag.setter
    def imag(self, value: Any) -> None:
        self.imag[...] = value

    # -- asked by rules and tapes ----------------------------------------------------------------

    def is_number(self) -> bool:
        """Whether it is a number, which cannot be written to."""
        return not isinstance(self._value, np.ndarray)

    def strong(self) -> Any:
        """Itself; a number of Python's as one of NumPy's."""
        kind = type(self._value)
        if kind is float:
            return self.apply(np.float64)
        return self.apply(np.complex128) if kind is complex else self

    def is_alone(self) -> bool:
        """Whether it may be written to in place: never, as the log remembers it."""
        return False

    def look_up(self, table: Any, index: Any) -> Any:
        """`table[index]` of an array that is not recorded, for a recorded index."""
        return Recorded.called(self.recorder, operator.getitem, (table, settled_index(index)), {})

    def keep(self, function: Any, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """The results of a call, whose number depends on values."""
        SHAPED_BY_VALUES.add(function)
        return Recorded.called(self.recorder, function, args, params)

    def adopt(self, buffer: Any) -> Any:
        """A copy of a buffer, into which recorded values can be written."""
        return Recorded.called(self.recorder, np.array, (buffer,), {})

    def snapshot(self) -> Any:
        """Its present state: no write changes it later. It has no gaps, as the tape's copies."""
        if not isinstance(self._value, np.ndarray):
            return self
        made = self._value.copy("K")
        if made.strides != self._value.strides:
            return self.apply(method("copy"), "K")
        return Recorded(made, self.at, self.recorder)

    def resize(self, shape: tuple[int, ...], refcheck: bool = True) -> None:
        """As `numpy.ndarray.resize`, to a shape of the same size: by a replay that made it."""
        self._become(self.apply(method("reshape"), shape))

    def _become(self, other: Recorded) -> None:
        self._value, self._at, self.memory = other._value, other._at, other.memory
        self.steps, self.seen = other.steps, other.seen

    def add_part(self, index: Any, value: Any) -> None:
        """`self[index] += value` of a basic index, in a replay that made this array."""
        if value.ndim > 1 and 2 * value.size >= self.size:
            # NumPy copies the rows of a part, and adds all of two arrays, faster than rows.
            whole = Recorded.called(self.recorder, np.zeros_like, (self,), {})
            whole[index] = value
            self += whole
            return
        part = self[index]
        if part.is_number():
            self[index] = part + value
        else:
            part += value

    # -- reads and writes ------------------------------------------------------------------------

    def setflags(self, write: Any = None, align: Any = None, uic: Any = None) -> None:
        raise NotRecordableError("it sets the flags of an array")

    def tobytes(self, order: Any = "C") -> bytes:
        self.recorder.give_up(_READS_MEMORY)
        return bytes(self._value.tobytes(order))

    @property
    def flat(self) -> Any:
        return Flat(self)

    @flat.setter
    def flat(self, value: Any) -> None:
        Recorded.mutated(self, set_flat, (value,), {})

    # -- what Python asks for --------------------------------------------------------------------

    def apply(self, function: Callable[..., Any], *args: Any) -> Any:
        """The recorded result of a function of this value and others."""
        return Recorded.called(self.recorder, function, (self, *args), {})

    def answer(self, question: Callable[..., Any]) -> Any:
        answer = question(self._value)
        self.recorder.ask(question, self.at, answer)
        return answer

    def assume(self, question: Callable[[Any], bool], answer: bool) -> bool:
        """Answer to a predicate; the program asks it later if that was expected."""
        recorder = self.recorder
        if recorder.careful:
            return self._answered_carefully(question, answer)
        found = question(self._value)
        recorder.assume(question, self.at, found, answer)
        return found

    def _answered_carefully(self, question: Callable[[Any], bool], usual: bool) -> bool:
        """The answer that decides a branch; or one that is right in all cases."""
        return not usual if self.recorder.assumes_worst else bool(self.answer(question))

    def assume_inside(self, question: Callable[[Any], bool], answer: bool) -> bool:
        """`assume`, where the end of the transform asks about what comes of this value."""
        if self.recorder.careful:
            return self._answered_carefully(question, answer)
        found = question(self._value)
        if found is not answer:
            self.recorder.assume(question, self.at, found, answer)
        return found

    def as_one(self, function: Callable[..., Any], *args: Any) -> Any:
        """A call of a function of our own: see `values.as_one`."""
        recorder = self.recorder
        if not recorder.careful or recorder.assumes_worst:
            return NotImplemented
        if any(isinstance(arg, Mapped) and not arg.records for arg in args):
            return NotImplemented
        return Recorded.called(recorder, getattr(function, "__wrapped__", function), args, {})

    def __bool__(self) -> bool:
        return bool(self.answer(bool))

    def __int__(self) -> int:
        return int(self.answer(int))

    def __float__(self) -> float:
        if is_formatting():
            self.tell_shown()
            return float(self._value)
        return float(self.answer(float))

    def __complex__(self) -> complex:
        return complex(self.answer(complex))

    def __index__(self) -> int:
        return int(self.answer(operator.index))

    def item(self, *index: Any) -> Any:
        """A number of Python's, still recorded."""
        return self.apply(method("item"), *index)

    def tolist(self) -> Any:
        """Nested lists of recorded numbers."""
        if isinstance(self._value, np.ndarray) and self.shape:
            return [self[i].tolist() for i in range(self.shape[0])]
        return self.item()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if leaves_it_to_us():
            return np.empty((), object)
        if self.dtype.kind in "biu" and self.nbytes <= _MOST_BYTES and copy is not False:
            return self._by_answer(dtype, copy)
        whole = self.dtype.kind in "iu"
        self.recorder.give_up(_READS_WHOLE_NUMBERS if whole else _READS_MEMORY)
        # The memory itself, as of a plain array: as_strided reaches beyond a view of it.
        return np.array(self._value, dtype, copy=copy)

    def _by_answer(self, dtype: Any, copy: bool | None) -> np.ndarray[Any, Any]:
        """Truth values or whole numbers, as a mask of a plain array: what follows is a branch.

        It is no memory of the value's: neither may be written to then.
        """
        self.answer(bits_of)
        made = np.array(self._value, dtype, copy=True)
        if copy is None:
            made.flags.writeable = False
            self.memory.viewed_by = np.asarray
        return made

    def __getattr__(self, name: str) -> Any:
        """Attributes of its value alone: f might ask whether there is such a thing."""
        found = getattr(object.__getattribute__(self, "_value"), name)
        if name.startswith("__"):  # NumPy looks for ways to read memory, and gets `__array__`
            raise AttributeError(name)
        self.recorder.give_up(f"it uses x.{name}")
        return found

    def __round__(self, digits: int | None = None) -> Any:
        if digits is None:
            return self.answer(round)
        return self.apply(round, digits)

    def __hash__(self) -> int:
        return int(self.answer(hash))

    def tell_shown(self) -> None:
        """Say that it is printed."""
        self.recorder.give_up("it prints, or formats, a value")

    def __repr__(self) -> str:
        self.tell_shown()
        return repr(self._value)

    def __str__(self) -> str:
        self.tell_shown()
        return str(self._value)

    def __format__(self, spec: str) -> str:
        self.tell_shown()
        return format(self._value, spec)

    def __reduce__(self) -> Any:
        self.recorder.give_up("it pickles a value")
        return self._value.__reduce__()

    def __copy__(self) -> Any:
        return self.apply(method("copy"))

    def __deepcopy__(self, _memo: Any) -> Any:
        return self.apply(method("copy"))

    def __array_namespace__(self, *, api_version: Any = None) -> Any:
        return np.empty(0).__array_namespace__(api_version=api_version)


class RecordedNumber(NumberInterface, Recorded):
    """A number of a recorded run."""

    __slots__ = ()


class RecordedArray(Container, Recorded):
    """An array of a recorded run."""

    __slots__ = ()


for _kind in (RecordedNumber, RecordedArray):
    _kind.__name__ = _kind.__qualname__ = "Recorded"


def settled_index(index: Any) -> Any:
    """An index whose slices have integers for bounds: the shape of a part depends on them."""
    kind = type(index)
    if kind is slice:
        if not is_settled(index):
            parts = (index.start, index.stop, index.step)
            return slice(*[part if part is None else operator.index(part) for part in parts])
    elif kind is tuple:
        return tuple([settled_index(part) for part in index])
    return index


def is_settled(index: slice) -> bool:
    """Whether none of a slice's bounds is recorded."""
    return (
        not issubclass(type(index.start), Recorded)
        and not issubclass(type(index.stop), Recorded)
        and not issubclass(type(index.step), Recorded)
    )


__all__ = ["Recorded", "RecordedArray", "RecordedNumber", "is_settled", "settled_index"]
