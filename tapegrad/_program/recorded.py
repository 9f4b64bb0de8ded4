"""`Recorded`, the array that a function gets while its calls are recorded: the outermost one.

Knows how NumPy's protocols and Python's operators reach a value, and which values share memory.
Must not know how a program runs, or transforms.

It has the value of an ordinary run, and a position in the log. Transforms and vmaps inside the
function hold it as they hold a plain array. Whatever NumPy is asked to do with it is done with
the value, and logged. Where Python must know a value (`bool(x)`) it gets it, and the log says so.
"""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable, Iterator
from typing import Any, cast

import numpy as np

from tapegrad._arrays.interface import Flat
from tapegrad._core.composite import Composite
from tapegrad._core.recorded import RECORDING, as_recorded, call_keeping
from tapegrad._core.rule import REGISTRY
from tapegrad._core.values import Mapped, asked_by_holder, innermost
from tapegrad._errors import LeakedValueError
from tapegrad._program.functions import (
    CALLING,
    IN_ARGUMENT,
    MUTATORS,
    SHAPED_BY_VALUES,
    STATIC,
    add_part,
    attribute,
    bound_call,
    definition_of,
    method,
    method_of_ufunc,
    nth,
    out_of,
    set_flat,
    shape_is_known,
    shapes_of,
    without_writing,
)
from tapegrad._program.program import CONSTANT, HOLE, Ref, Step, alike, own_copy
from tapegrad._program.recorder import NotRecordableError, Recorder, name_of_function

_READS_MEMORY = (
    "it hands a value to code that reads its memory (np.array of a list, a write into a plain "
    "array, a library in C): join values with np.stack, and make buffers with np.zeros_like"
)
_INTO_PLAIN = "it writes a value into a plain array: make that with np.zeros_like"

# A call as it is logged: the function, arguments with references, keywords likewise.
Logged = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]


class Memory:
    """Memory that recorded arrays share: the position of its state in the log, and a count."""

    __slots__ = ("__weakref__", "at", "owner", "version")

    def __init__(self, at: int, owner: Any) -> None:
        self.at = at
        self.owner = owner  # the array that the others are views of
        self.version = 0  # how often it was written to


class Recorded(Mapped):
    """A value of a recorded run: an array, a NumPy scalar, or a number of Python's."""

    __slots__ = ("_at", "_value", "memory", "recorder", "seen", "steps")

    level = -0.75  # below every transform and vmap, and the graph of tensors
    records = True

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
        return type(self) if asked_by_holder() else type(self._value)

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
        self._become(called(self.recorder, method("reshape"), (self, shape), {}))

    @property
    def dtype(self) -> Any:
        value = self._value
        return value.dtype if hasattr(value, "dtype") else np.dtype(type(value))

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return int(np.size(self._value))

    @property
    def itemsize(self) -> int:
        return int(self._value.itemsize)

    @property
    def nbytes(self) -> int:
        return int(self._value.nbytes)

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
        return called(self.recorder, attribute("T"), (self,), {})

    @property
    def mT(self) -> Any:
        return called(self.recorder, attribute("mT"), (self,), {})

    @property
    def real(self) -> Any:
        return called(self.recorder, attribute("real"), (self,), {})

    @real.setter
    def real(self, value: Any) -> None:
        self.real[...] = value

    @property
    def imag(self) -> Any:
        return called(self.recorder, attribute("imag"), (self,), {})

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
            return called(self.recorder, np.float64, (self,), {})
        return called(self.recorder, np.complex128, (self,), {}) if kind is complex else self

    def is_alone(self) -> bool:
        """Whether it may be written to in place: never, as the log remembers it."""
        return False

    def look_up(self, table: Any, index: Any) -> Any:
        """`table[index]` of an array that is not recorded, for a recorded index."""
        return called(self.recorder, operator.getitem, (table, settled_index(index)), {})

    def call_rule(self, rule: Any, arrays: list[Any], params: dict[str, Any]) -> Any:
        """Call a rule's function on bound arguments, some of which are recorded."""
        if rule.sequence:
            return rule.call(arrays, params)
        if params.get("kept") is not None:
            return call_keeping(self, rule, arrays, params)
        definition = definition_of(rule)
        if definition is not None:
            return by(self.recorder, definition, (tuple(arrays), params), exact=True)
        return called(self.recorder, bound_call(rule), tuple(arrays), params)

    def keep(self, function: Any, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """The results of a call, whose number depends on values."""
        SHAPED_BY_VALUES.add(function)
        return called(self.recorder, function, args, params)

    def adopt(self, buffer: Any) -> Any:
        """A copy of a buffer, into which recorded values can be written."""
        return called(self.recorder, np.array, (buffer,), {})

    def snapshot(self) -> Any:
        """Its present state: no write changes it later. It has no gaps, as the tape's copies."""
        if not isinstance(self._value, np.ndarray):
            return self
        made = self._value.copy("K")
        if made.strides != self._value.strides:
            return called(self.recorder, method("copy"), (self, "K"), {})
        return Recorded(made, self.at, self.recorder)

    def resize(self, shape: tuple[int, ...], refcheck: bool = True) -> None:
        """As `numpy.ndarray.resize`, to a shape of the same size: by a replay that made it."""
        self._become(called(self.recorder, method("reshape"), (self, shape), {}))

    def _become(self, other: Recorded) -> None:
        self._value, self._at, self.memory = other._value, other._at, other.memory
        self.steps, self.seen = other.steps, other.seen

    def add_part(self, index: Any, value: Any) -> None:
        """`self[index] += value` in a replay that made this array."""
        mutated(self, add_part, (index, value), {})

    # -- NumPy's protocols -----------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, /, *args: Any, **kwargs: Any) -> Any:
        if not is_ours((*args, *kwargs.values())):
            return NotImplemented
        if method == "at":
            self._written(args[0], method_of_ufunc(ufunc, "at"), args[1:], kwargs)
            return None
        function = ufunc if method == "__call__" else method_of_ufunc(ufunc, method)
        out = kwargs.pop("out", None)
        if out is None:
            return called(self.recorder, function, args, kwargs)
        return with_out(self.recorder, function, args, kwargs, out)

    def __array_function__(
        self, function: Callable[..., Any], types: Any, args: Any, kwargs: dict[str, Any]
    ) -> Any:
        if not is_ours((*args, *kwargs.values())):
            return NotImplemented
        if function in MUTATORS:
            position, name = MUTATORS[function]
            target = args[position] if position < len(args) else kwargs[name]
            rest = {key: value for key, value in kwargs.items() if key != name}
            self._written(target, function, args[1:] if args else (), rest)
            return None
        if function in IN_ARGUMENT:
            args, kwargs, kept = without_writing(function, args, kwargs)
            if kept is not None and type(kept) is Recorded and not kept.is_number():
                made = called(self.recorder, function, args, kwargs)
                mutated(kept, operator.setitem, (..., made), {})
                return kept if kept.shape else kept[()]
        if "like" in kwargs:
            kwargs = {key: value for key, value in kwargs.items() if key != "like"}
        out = kwargs.get("out")
        if out is not None:
            rest = {key: value for key, value in kwargs.items() if key != "out"}
            targets = out if type(out) is tuple else (out,)
            return with_out(self.recorder, function, args, rest, targets)
        if function in CALLING:
            return cast(Composite, REGISTRY[function]).definition(*args, **kwargs)
        return called(self.recorder, function, args, kwargs)

    def _written(
        self, target: Any, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        """A call that writes into its first argument, by this value, or at places of it."""
        if type(target) is Recorded:
            mutated(target, function, args, kwargs)
        else:
            self.recorder.give_up(_INTO_PLAIN)
            function(raw(target), *raw(args), **raw(kwargs))

    # -- reads and writes ------------------------------------------------------------------------

    def __getitem__(self, index: Any) -> Any:
        return called(self.recorder, operator.getitem, (self, settled_index(index)), {})

    def __setitem__(self, index: Any, value: Any) -> None:
        if (
            type(value) is Recorded
            and value.memory is self.memory
            and len(value.steps) == (len(self.steps) + 1)
        ):
            last = value.steps[-1]  # x[i] += v ends by x[i] = x[i]
            if last.function is operator.getitem and alike(last.args[1], settled_index(index)):
                return
        mutated(self, operator.setitem, (settled_index(index), value), {})

    def __delitem__(self, index: Any) -> None:
        raise ValueError("cannot delete array elements")

    def __len__(self) -> int:
        return len(self._value)

    def setflags(self, write: Any = None, align: Any = None, uic: Any = None) -> None:
        raise NotRecordableError("it sets the flags of an array")

    def tobytes(self, order: Any = "C") -> bytes:
        self.recorder.give_up(_READS_MEMORY)
        return bytes(self._value.tobytes(order))

    def __iter__(self) -> Iterator[Any]:
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(self.shape[0]))

    def __contains__(self, value: Any) -> bool:
        return bool(called(self.recorder, operator.eq, (self, value), {}).any())

    @property
    def flat(self) -> Any:
        return Flat(self)

    @flat.setter
    def flat(self, value: Any) -> None:
        mutated(self, set_flat, (value,), {})

    # -- what Python asks for --------------------------------------------------------------------

    def apply(self, function: Callable[..., Any], *args: Any) -> Any:
        """The recorded result of a function of this value and others."""
        return called(self.recorder, function, (self, *args), {})

    def answer(self, question: Callable[..., Any]) -> Any:
        answer = question(self._value)
        self.recorder.ask(question, self.at, answer)
        return answer

    def expect(self, question: Callable[[Any], bool], answer: bool) -> bool:
        """What a question is answered; the program asks it later if that was expected."""
        recorder = self.recorder
        if recorder.careful:
            return self._answered_carefully(question, answer)
        found = question(self._value)
        recorder.expect(question, self.at, found, answer)
        return found

    def _answered_carefully(self, question: Callable[[Any], bool], usual: bool) -> bool:
        """What decides a way to go on; or that which is right in all cases."""
        return not usual if self.recorder.assumes_worst else bool(self.answer(question))

    def trust(self, question: Callable[[Any], bool], answer: bool) -> bool:
        """`expect`, where the end of the transform asks about what comes of this value."""
        if self.recorder.careful:
            return self._answered_carefully(question, answer)
        found = question(self._value)
        if found is not answer:
            self.recorder.expect(question, self.at, found, answer)
        return found

    def as_one(self, function: Callable[..., Any], *args: Any) -> Any:
        """A call of a function of our own: see `values.as_one`."""
        recorder = self.recorder
        if not recorder.careful or recorder.assumes_worst:
            return NotImplemented
        if any(isinstance(arg, Mapped) and not arg.records for arg in args):
            return NotImplemented
        return called(recorder, getattr(function, "__wrapped__", function), args, {})

    def by(self, function: Callable[..., Any], *args: Any) -> Any:
        """What a function of plain arrays gives: see `by`."""
        return by(self.recorder, function, args)

    def by_one(self, function: Callable[..., Any], *args: Any) -> Any:
        """What a function of plain arrays gives, as one call of the program."""
        if self.recorder.unfit is None and not _is_recordable(function(*raw(args))):
            return function(*args)
        return called(self.recorder, function, args, {})

    def __bool__(self) -> bool:
        return bool(self.answer(bool))

    def __int__(self) -> int:
        return int(self.answer(int))

    def __float__(self) -> float:
        return float(self.answer(float))

    def __complex__(self) -> complex:
        return complex(self.answer(complex))

    def __index__(self) -> int:
        return int(self.answer(operator.index))

    def item(self, *index: Any) -> Any:
        """A number of Python's, still recorded."""
        return called(self.recorder, method("item"), (self, *index), {})

    def tolist(self) -> Any:
        """Nested lists of recorded numbers."""
        if isinstance(self._value, np.ndarray) and self.shape:
            return [part.tolist() for part in self]
        return self.item()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        self.recorder.give_up(_READS_MEMORY)
        return np.array(self._value, dtype)

    def __getattr__(self, name: str) -> Any:
        """What its value has and this class has not: f might ask whether there is such a thing."""
        found = getattr(object.__getattribute__(self, "_value"), name)
        if name.startswith("__"):  # NumPy looks for ways to read memory, and gets `__array__`
            raise AttributeError(name)
        self.recorder.give_up(f"it uses x.{name}")
        return found

    def __round__(self, digits: int | None = None) -> Any:
        if digits is None:
            return self.answer(round)
        return called(self.recorder, round, (self, digits), {})

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
        return called(self.recorder, method("copy"), (self,), {})

    def __deepcopy__(self, _memo: Any) -> Any:
        return called(self.recorder, method("copy"), (self,), {})

    def __array_namespace__(self, *, api_version: Any = None) -> Any:
        return np.empty(0).__array_namespace__(api_version=api_version)


def settled_index(index: Any) -> Any:
    """An index whose slices have integers for bounds: the shape of a part depends on them."""
    kind = type(index)
    if kind is slice:
        parts = (index.start, index.stop, index.step)
        if any(type(part) is Recorded for part in parts):
            return slice(*[part if part is None else operator.index(part) for part in parts])
    elif kind is tuple:
        return tuple([settled_index(part) for part in index])
    return index


def is_ours(values: tuple[Any, ...]) -> bool:
    """Whether no transform inside is to handle the call."""
    found = innermost(values)
    return found is None or type(found) is Recorded


# -- Calls ---------------------------------------------------------------------------------------


def raw(value: Any) -> Any:
    """Arguments with the values of what is recorded."""
    kind = type(value)
    if kind is Recorded:
        return value._value
    if kind is tuple or kind is list:
        return kind([raw(part) for part in value])
    if kind is dict:
        return {key: raw(part) for key, part in value.items()}
    if kind is slice:
        return slice(raw(value.start), raw(value.stop), raw(value.step))
    return value


def referred(value: Any) -> Any:
    """Arguments with references to what is recorded."""
    kind = type(value)
    if kind is Recorded:
        return Ref(value.at)
    if kind is tuple or kind is list:
        return kind([referred(part) for part in value])
    if kind is dict:
        return {key: referred(part) for key, part in value.items()}
    if kind is slice:
        return slice(referred(value.start), referred(value.stop), referred(value.step))
    return value


def _opened(args: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Arguments as `raw` and as `referred` give them, in one walk: most are no containers."""
    plain, given = [], []
    for x in args:
        if type(x) is Recorded:
            plain.append(x._value)
            given.append(Ref(x.at))
        else:
            plain.append(raw(x))
            given.append(referred(x))
    return tuple(plain), tuple(given)


def called(
    recorder: Recorder, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """The recorded result of a call."""
    if not recorder.open:
        raise LeakedValueError(
            "value from a compiled function used after that returned. Return it from the function."
        )
    plain, given = _opened(args)
    value = _tried(recorder, function, plain, raw(kwargs) if kwargs else kwargs)
    if function in STATIC:
        return value
    kind = type(value)
    if value is None or kind is str:
        recorder.give_up(f"it calls {name_of_function(function)}, which is no function of values")
        return value
    named = referred(kwargs) if kwargs else kwargs
    shaped = _shaped_by_values(function, args)
    if kind is tuple or kind is list or isinstance(value, tuple):
        at = recorder.log(function, given, named, value)
        if shaped:
            recorder.ask(shapes_of, at, shapes_of(value))
        return _parts(recorder, value, at, (function, given, named), args)
    call = (function, given, named)
    if shaped and kind is np.ndarray:
        at = recorder.log(*call, value, shaped=True)
        recorder.ask(shapes_of, at, shapes_of(value))
        return Recorded(own_copy(value), at, recorder)  # such a result is seldom a view
    return _logged(recorder, value, call, call, args)


def _tried(recorder: Recorder, function: Any, args: Any, kwargs: Any) -> Any:
    """The value of a call. One that raises is no node: who catches that takes a branch unseen."""
    try:
        return _called_plainly(function, args, kwargs)
    except (TypeError, AttributeError):  # as for all arguments of these kinds
        raise
    except Exception as error:
        if not recorder.trial:
            recorder.raised = True
            recorder.give_up(f"{name_of_function(function)} raises {type(error).__name__} in it")
        raise


def _parts(recorder: Recorder, value: Any, at: int, call: Logged, args: tuple[Any, ...]) -> Any:
    """The results of a call that returns several, some of which may be lists of them."""
    kind: Any = type(value)
    parts: list[Any] = []
    function, given, named = call
    for i, part in enumerate(value):
        of: Logged = (operator.getitem, (Ref(at), i), {})
        again = nth(function, i), given, named
        if part is None:
            parts.append(None)
        elif type(part) is list or type(part) is tuple:
            inner = recorder.log(*of, part)
            parts.append(_parts(recorder, part, inner, again, args))
        else:
            parts.append(_logged(recorder, part, of, again, args))
    return kind(*parts) if hasattr(kind, "_fields") else kind(parts)


def _called_plainly(function: Any, args: Any, kwargs: Any) -> Any:
    """What a function gives for plain values, of which nothing is recorded.

    A function of our own may run transforms, which must not make recorded arrays in there.
    """
    token = RECORDING.set(None)
    try:
        return function(*args, **kwargs)
    finally:
        RECORDING.reset(token)


def _shaped_by_values(function: Any, args: tuple[Any, ...]) -> bool:
    """Whether the shape of a call's result depends on values."""
    if function is operator.getitem:
        index = args[1]
        parts = index if isinstance(index, tuple) else (index,)
        return any(
            isinstance(part, list)
            or (type(part) is Recorded and part.dtype.kind == "b" and part.shape)
            for part in parts
        )
    if function in SHAPED_BY_VALUES:
        return function is not np.where or len(args) == 1
    return not shape_is_known(function)


def _logged(
    recorder: Recorder, value: Any, logged: Logged, call: Logged, args: tuple[Any, ...]
) -> Any:
    """A result as a recorded value; `call` is how a view is taken again."""
    kind = type(value)
    if kind is not np.ndarray:
        if not issubclass(kind, (np.generic, float, complex, int)):
            recorder.give_up(f"it makes a {kind.__name__}")
            return value
        return Recorded(value, recorder.log(*logged, value), recorder)
    if value.dtype.hasobject:
        recorder.give_up("it makes an array of objects")
    if value.base is None and not any(_is_or_leads_to(arg, value) for arg in args):
        return Recorded(value, recorder.log(*logged, value), recorder)
    for position, arg in enumerate(args):
        if type(arg) is Recorded and _share(value, arg._value):
            if value is arg._value:
                return arg
            at = recorder.log(*logged, value, shares=arg.at)
            function, given, named = call
            made = tuple([HOLE if i == position else x for i, x in enumerate(given)])
            step = Step(function, recorder.constants(made), recorder.constants(named))
            return Recorded(value, at, recorder, arg.memory, (*arg.steps, step))
    if any(type(arg) is np.ndarray and _share(value, arg) for arg in args):
        at = recorder.log(*logged, value, shares=CONSTANT)
        return Recorded(own_copy(value), at, recorder)  # a write must not change the constant
    return Recorded(value, recorder.log(*logged, value), recorder)


def _is_or_leads_to(arg: Any, value: Any) -> bool:
    arg = arg._value if type(arg) is Recorded else arg
    return arg is value or getattr(arg, "base", None) is value


def _share(a: Any, b: Any) -> bool:
    return type(b) is np.ndarray and (a is b or _owner(a) is _owner(b))


def _owner(array: Any) -> Any:
    """The object at the end of a chain of views."""
    while True:
        base = array.base
        if base is None:
            return array
        if type(base) is not np.ndarray:
            inner = getattr(base, "base", None)  # np.lib.stride_tricks puts a holder in between
            if type(inner) is not np.ndarray:
                return base
            base = inner
        array = base


def adopted(value: Any, recorder: Recorder) -> Any:
    """A plain array, or number of NumPy's, as one whose calls are recorded: a copy."""
    kind = type(value)
    if kind is not np.ndarray and not issubclass(kind, np.number):
        return value
    function: Any = own_copy if kind is np.ndarray else kind
    copy = function(value)
    return Recorded(copy, recorder.log(function, (value,), {}, copy), recorder)


_OUTSIDE = "it writes into a tensor that is no argument, as into a buffer of a module: pass it"


class Recording:
    """An open recording, by which the engine makes recorded arrays: see `_core/recorded.py`."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.careful, self.suspicious = recorder.careful, recorder.suspicious
        self.objects = False  # whether there are objects that hold recorded arrays
        self.entered: list[tuple[Any, str, Any]] = []  # see `enter`
        self.written: list[Any] = []  # references to objects whose plain arrays were written to

    def hold(self, value: Recorded) -> Recorded:
        """A value as an object holds it: an array, which can be written to."""
        self.objects = True
        return called(self.recorder, np.asarray, (value,), {}) if value.is_number() else value

    def enter(self, holder: Any, name: str) -> None:
        """Note that an object is about to get a recorded array in the place of a plain one."""
        self.entered.append((weakref.ref(holder), name, getattr(holder, name)))

    def put_back(self, results: list[Any], *, again: bool) -> None:
        """Give the objects that are left their arrays back, with what has been written there.

        But for the results. `again`: the function will be called again, and write itself.
        """
        kept = {id(None), *map(id, results)}
        if any(id(reference()) not in kept for reference in self.written):
            self.recorder.give_up(_OUTSIDE)
        entered, self.entered = self.entered, []
        for reference, name, array in entered:
            holder = reference()
            if holder is None or id(holder) in kept:
                continue
            value = getattr(holder, name)
            if type(value) is Recorded:
                if not again:
                    np.copyto(array, value._value)
                setattr(holder, name, array)
                self.recorder.give_up(_OUTSIDE)

    def adopt(self, value: Any) -> Any:
        """A plain array, or number of NumPy's, as one whose calls are recorded: a copy."""
        return adopted(value, self.recorder)

    def made(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """What one of NumPy's functions makes of arguments."""
        kwargs.pop("like", None)
        return called(self.recorder, function, args, kwargs)


def by(
    recorder: Recorder,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    *,
    exact: bool = False,
) -> Any:
    """What a function of plain arrays gives, bit by bit.

    It is a function of our own, as of a settled call, and may do with plain arrays what it does
    with no others. So it runs with the plain arrays, and then with the recorded ones: if that
    gives the same, and asks for no value, the calls that it made are the program; or else those of
    the same code as it runs for recorded values. Else it is one call of the program itself.
    `exact`: it may give the same by chance, and the first of these do not count.
    """
    if recorder.unfit is None and function not in recorder.opaque:
        expected = _called_plainly(function, raw(args), {})
        if not _is_recordable(expected):
            return function(*args)
        again = False  # whether it only did something else than in the run before
        same = as_recorded(function)
        for attempt in (same,) if exact else (function, same):
            before, within = recorder.mark(), recorder.trial  # perhaps of another such function
            recorder.trial = True
            try:
                found = attempt(*args)
            except NotRecordableError as error:
                found, again = NotImplemented, again or error.args[-1] is True
            except Exception:  # noqa: BLE001 - it is not made for such arrays
                found = NotImplemented
            finally:
                recorder.trial = within
            if _are_same(found, expected):
                return found
            recorder.roll_back(before)
        if not again:
            recorder.opaque.add(function)
    return called(recorder, function, args, {})


def _is_recordable(value: Any) -> bool:
    """Whether what a function gives is arrays and numbers, or lists of them."""
    if isinstance(value, (tuple, list)):
        return all(map(_is_recordable, value))
    return value is None or isinstance(value, (np.ndarray, np.generic, float, complex, int))


def _are_same(found: Any, expected: Any) -> bool:
    """Whether recorded results are those that were expected, in class and bits."""
    if isinstance(expected, (tuple, list)):
        return (
            isinstance(found, (tuple, list))
            and len(found) == len(expected)
            and all(map(_are_same, found, expected))
        )
    return alike(found._value if type(found) is Recorded else found, expected)


def mutated(
    target: Recorded, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """A call that writes into an array."""
    recorder = target.recorder
    if type(target._value) is not np.ndarray:
        function(target._value, *raw(args), **raw(kwargs))  # raises, as numbers cannot be written
        return
    memory = target.memory
    given, named = referred(args), referred(kwargs)
    whole = Ref(memory.at)
    _tried(recorder, function, (target._value, *raw(args)), raw(kwargs))
    steps = target.steps
    memory.at = recorder.log(function, (whole, *given), named, memory.owner, steps)
    memory.version += 1
    if not steps:
        target._at, target.seen = memory.at, memory.version


def with_out(
    recorder: Recorder, function: Any, args: Any, kwargs: Any, out: tuple[Any, ...]
) -> Any:
    """A call with `out=`: it writes into that, or those."""
    if len(out) == 1 and type(out[0]) is Recorded:
        mutated(out[0], out_of(function), args, kwargs)
        return out[0]
    if any(type(part) is not Recorded and part is not None for part in out):
        recorder.give_up(_INTO_PLAIN)
        raw_out = raw(out)
        return function(*raw(args), **raw(kwargs), out=raw_out if len(out) > 1 else raw_out[0])
    results = called(recorder, function, args, kwargs)
    delivered = []
    for target, part in zip(out, results, strict=True):
        if target is None:
            delivered.append(part)
            continue
        mutated(target, np.copyto, (part,), {"casting": "same_kind"})
        delivered.append(target)
    return type(results)(delivered)


__all__ = [
    "Recorded",
    "Recording",
    "adopted",
    "called",
    "is_ours",
    "mutated",
    "raw",
    "referred",
    "with_out",
]
