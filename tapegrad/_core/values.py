"""Stand-ins for arrays in a trace, and how it is asked and unwrapped.

Knows the two kinds of such values, `Traced` (at a slot of a tape) and `Mapped` (of a vmap), by
their base classes. Must not know tapes, entries, or the classes that `_arrays` and `_batched` make
of them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np


class Traced:
    """A value, and the slot of the tape where its derivative is addressed."""

    __slots__ = ("_value", "slot", "spec", "tape")

    tape: Any  # a `Tape`; of a view, that of its parent's present state
    spec: Any  # a `Spec`
    is_view = False  # whether it is part of another, which it is written through to

    def __init__(self, value: Any, slot: Any, tape: Any, spec: Any) -> None:
        self._value = value
        self.slot = slot
        self.tape = tape
        self.spec = spec

    if TYPE_CHECKING:  # what the class of traced values, `Tape.array`, adds

        @property
        def shape(self) -> tuple[int, ...]: ...

        @property
        def dtype(self) -> np.dtype[Any]: ...

        @property
        def ndim(self) -> int: ...

        @property
        def size(self) -> int: ...

        def __getitem__(self, index: Any) -> Any: ...

        def __setitem__(self, index: Any, value: Any) -> None: ...

        def astype(self, dtype: Any) -> Any: ...

        def copy(self, order: Any = ...) -> Any: ...

        def reshape(self, *shape: Any, **kwargs: Any) -> Any: ...

        def add_part(self, index: Any, value: Any) -> None: ...

        def write(self, index: Any, value: Any) -> None: ...


class Mapped:
    """A value of a vmap, which shows one example of many; `_batched.array` makes the class.

    Its `value` has the examples along axis 0. Of a traced and a mapped value the one with the
    greater level belongs to the inner transform, and is unwrapped first.
    """

    __slots__ = ()

    picked = False  # whether it is x[i] with an i of each example's own, x not changed since
    records = False  # whether it is no value of a vmap, but one whose calls are recorded

    if TYPE_CHECKING:
        _value: Any
        vmap_level: Any

        @property
        def level(self) -> float: ...

        def look_up(self, table: Any, index: Any) -> Any: ...
        def is_number(self) -> bool: ...
        def is_alone(self) -> bool: ...

        @property
        def shape(self) -> tuple[int, ...]: ...

        @property
        def dtype(self) -> np.dtype[Any]: ...

        @property
        def ndim(self) -> int: ...

        @property
        def size(self) -> int: ...

        def __getitem__(self, index: Any) -> Any: ...

        def __setitem__(self, index: Any, value: Any) -> None: ...

        def copy(self) -> Any: ...

        def add_part(self, index: Any, value: Any) -> None: ...

        def call_rule(self, rule: Any, arrays: list[Any], params: dict[str, Any]) -> Any: ...

        def adopt(self, buffer: Any) -> Any: ...

        def snapshot(self) -> Any: ...

        def answer(self, question: Any) -> Any: ...
        def assume(self, question: Any, answer: bool) -> bool: ...
        def by(self, function: Any, *args: Any) -> Any: ...
        def by_one(self, function: Any, *args: Any) -> Any: ...
        def assume_inside(self, question: Any, answer: bool) -> bool: ...
        def as_one(self, function: Any, *args: Any) -> Any: ...
        def strong(self) -> Any: ...

        def apply(self, function: Any, *args: Any) -> Any: ...


class Buffer:
    """A plain array that a program made inside a transform, or the value that it has become.

    `_arrays.buffers` makes the class. Whatever takes values of programs takes its `value`.
    """

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def value(self) -> Any: ...

        def become(self, other: Any) -> Any: ...


class Scatter:
    """A cotangent that is zero but for `value` added at `index`: never built as a full array."""

    __slots__ = ("_value", "index")

    def __init__(self, index: Any, value: Any) -> None:
        self.index = index
        self._value = value


def deepest_tape(values: Sequence[Any]) -> Any:
    """The tape of the innermost transform that any of these values belongs to, or None."""
    found = None
    for value in values:
        if isinstance(value, Traced) and (found is None or value.tape.level > found.level):
            found = value.tape
    return found


def innermost(values: Any) -> Any:
    """The traced or mapped value among these, also in lists, of the innermost transform."""
    found, highest = None, -1
    for value in values:
        if isinstance(value, Traced):  # first: to isinstance of other classes its answer is slow
            level = value.tape.level
        elif isinstance(value, Mapped):
            level = value.level
        elif isinstance(value, (list, tuple)):
            value = innermost(value)
            level = level_of(value)
        elif issubclass(type(value), Buffer):
            value = value.value
            level = level_of(value)
        else:
            continue
        if level > highest:
            found, highest = value, level
    return found


def lift(value: Any) -> Any:
    """A list or tuple with parts in a trace, stacked to one array; any other value unchanged."""
    if isinstance(value, (Traced, Mapped)):
        return value
    if isinstance(value, (list, tuple)) and innermost(value) is not None:
        return np.stack([lift(part) for part in value])
    return value.value if issubclass(type(value), Buffer) else value


def holds_traced(value: Any) -> bool:
    """Whether a value is traced, or a list or tuple with traced parts (batched ones do not count).

    `holds_in_trace` counts both.
    """
    if isinstance(value, (list, tuple)):
        return any(map(holds_traced, value))
    return isinstance(value, Traced)


def are_untraced(args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether the types of a call's arguments, and of their parts, say that none is traced."""
    return (_are_untraced(map(type, args)) or all(map(_is_untraced, args))) and (
        not kwargs or all(map(_is_untraced, kwargs.values()))
    )


def _is_untraced(value: Any) -> bool:
    kind = type(value)
    if kind is list or kind is tuple:
        return _are_untraced(map(type, value))
    return kind in UNTRACED_TYPES or issubclass(kind, np.dtype)


def in_trace(value: Any) -> bool:
    """Whether a value stands for an array in a trace, or for one example of a vmap."""
    return isinstance(value, (Traced, Mapped))


def holds_in_trace(value: Any) -> bool:
    """Whether a value is in a trace, or a list or tuple with such parts."""
    if type(value) in UNTRACED_TYPES:
        return False
    if isinstance(value, (list, tuple)):
        return any(map(holds_in_trace, value))
    if issubclass(type(value), Buffer):
        value = value.value
    return isinstance(value, (Traced, Mapped))


def raw_value(value: Any) -> Any:
    """A value without tracing and vmaps: the examples of a vmap lie along leading axes."""
    while isinstance(value, (Traced, Mapped)):
        value = value._value
    return value


def without_traces(value: Any) -> Any:
    """A value without tracing, also within the examples of a vmap."""
    value = untraced(value)
    if is_mapped(value):
        return value.vmap_level.wrap(without_traces(value._value))
    return value


def in_place(value: Any, other: Any) -> Any:
    """Another value at the slots of one, whose derivatives are those of how that was computed."""
    if isinstance(value, Traced):
        return value.tape.array(in_place(value._value, other), value.slot, value.tape, value.spec)
    if is_mapped(value):
        inside = other._value if is_mapped(other) else other
        return value.vmap_level.wrap(in_place(value._value, inside))
    made = without_traces(other)
    return made if made.dtype == value.dtype else made.astype(value.dtype)


def shown_value(value: Any) -> Any:
    """`raw_value`, but a value whose calls are recorded stays one."""
    while isinstance(value, Traced) or is_mapped(value):
        value = value._value
    return value


def is_mapped(value: Any) -> bool:
    """Whether a value is one example of many: of a vmap."""
    return isinstance(value, Mapped) and not value.records


def unbatched(value: Any) -> Any:
    """A value without the vmaps around it, up to the first traced or plain one inside."""
    while isinstance(value, Mapped) and not value.records:
        value = value._value
    return value


def recorded_in(value: Any) -> Any:
    """The value inside all tracing and vmaps whose calls are recorded, or None."""
    while isinstance(value, (Traced, Mapped)):
        if not isinstance(value, Traced) and value.records:
            return value
        value = value._value
    return None


def records(value: Any) -> bool:
    """Whether the calls on a value are recorded, inside all tracing and vmaps."""
    return recorded_in(value) is not None


def is_recorded(value: Any) -> bool:
    """Whether a value stands for one of NumPy's whose calls are recorded."""
    return isinstance(value, Mapped) and value.records


def peeked(value: Any) -> Any:
    """The value of this run alone: for what is only shown, or asked of as one that is constant."""
    value = untraced(value)
    return value._value if is_recorded(value) else value


def printed(value: Any) -> Any:
    """`peeked`, of what a function prints, which no program does."""
    recorded = recorded_in(value)
    if recorded is not None:
        recorded.tell_shown()
    return peeked(value)


def strong(value: Any) -> Any:
    """A float or complex number of Python's as one of NumPy's; any other value unchanged."""
    kind = type(value)
    if issubclass(kind, (float, complex)) and not issubclass(kind, np.generic):
        return np.float64(value) if issubclass(kind, float) else np.complex128(value)
    return value.strong() if is_recorded(value) else value


def is_plain_array(value: Any) -> bool:
    """Whether a value is NumPy's own array, or stands for one in a recorded run."""
    return type(value) is np.ndarray or isinstance(value, Mapped) and value.records


def is_numpy_number(value: Any) -> bool:
    """Whether a value is a scalar of NumPy's, or stands for a number in a recorded run."""
    return issubclass(type(value), np.generic) or is_recorded_number(value)


def is_recorded_number(value: Any) -> bool:
    """Whether a value stands for a number in a recorded run."""
    return isinstance(value, Mapped) and value.records and value.is_number()


def is_recorded_array(value: Any) -> bool:
    """Whether a value stands for an ndarray in a recorded run."""
    return isinstance(value, Mapped) and value.records and not value.is_number()


def transformed(values: Any) -> Any:
    """`innermost`, of values of a transform; None where there are only arrays and numbers."""
    found = innermost(values)
    return None if is_recorded(found) else found


def branch_on(question: Callable[[Any], Any], value: Any) -> Any:
    """Evaluate a predicate on the untraced value; `compile` records a branch.

    Every place where a rule or a replay looks at numbers, to go one way or another, asks by it,
    so that a value whose calls are recorded hears of the question.
    """
    while isinstance(value, (Traced, Mapped)):
        if not isinstance(value, Traced) and value.records:
            return value.answer(question)
        value = value._value
    return question(value)


def assume(question: Callable[[Any], bool], value: Any, answer: bool) -> bool:
    """`branch_on`, of a question whose answer is nearly always the same.

    A recorded program goes on as if it was, and asks once, at its end, about all of them. One for
    calls where it was not takes it for a branch, as `branch_on` does.
    """
    while isinstance(value, (Traced, Mapped)):
        if not isinstance(value, Traced) and value.records:
            return value.assume(question, answer)
        value = value._value
    return question(value)


def assume_inside(question: Callable[[Any], bool], value: Any, answer: bool) -> bool:
    """`assume` in the middle of a replay, at whose end the results are asked about.

    A value that is not finite in the middle makes one at the end, unless it was left out there.
    """
    while isinstance(value, (Traced, Mapped)):
        if not isinstance(value, Traced) and value.records:
            return value.assume_inside(question, answer)
        value = value._value
    return question(value)


def as_one(result: Any, function: Callable[..., Any], *args: Any) -> Any:
    """The result of a function of our own as one call of a program, where that is to have it.

    NotImplemented elsewhere. A program that takes answers for branches has none within such a
    call, and machine code computes what is right for each answer. `result`: a value of the same
    program.
    """
    return result.as_one(function, *args) if is_recorded(result) else NotImplemented


# How often `any_true` was asked: what a function did then may be another thing for other values.
ASKED = [0]


def any_true(condition: Any) -> bool:
    """Whether a condition holds for any element, of any example that a vmap maps over.

    For a rule that can save work, or a warning, where a case does not occur. Its result must
    be right wherever the case does occur, element by element.
    """
    ASKED[0] += 1
    if type(condition) is np.ndarray:
        return bool(np.count_nonzero(condition))  # a fifth of the price of np.any
    if type(condition) is np.bool_:
        return bool(condition)
    if isinstance(condition, (Traced, Mapped)):
        return bool(branch_on(any_true, condition))
    if not (is_numpy(condition) or isinstance(condition, bool)):
        return True  # an array of another library may be lazy, and is not computed
    return bool(np.any(condition))


def itself(value: Any) -> Any:
    """The question for the value of an array, where it decides how a derivative is made."""
    return value


def untraced(value: Any) -> Any:
    """A value without any tracing, also inside lists, tuples and dicts."""
    while isinstance(value, Traced):
        value = value._value
    if isinstance(value, (list, tuple)) and holds_traced(value):
        return type(value)(map(untraced, value))
    return value


def memory_of(value: Any) -> Any:
    """The array that a value is in memory, and of a batched value that of one example."""
    value, inside = untraced(value), 0
    while isinstance(value, Mapped):
        value, inside = untraced(value._value), inside + (not value.records)
    if inside and all(value.shape[:inside]) and is_ndarray(value):
        return value[(0,) * inside]
    return value  # also where there are no examples, and nothing to share


def is_scalar(x: Any) -> bool:
    """Whether a traced value stands for a NumPy scalar, which never changes, not for an array.

    One example of a vmap is a number or a 0-d array by what made it, as NumPy decides.
    """
    is_view = False
    while isinstance(x, Traced):
        is_view = is_view or x.is_view
        x = x._value
    if isinstance(x, Mapped):
        return x.is_number() and (x.records or not is_view)
    return isinstance(x, np.generic)


def writable(value: Any) -> Any:
    """The value in a form that can be written to at an index: NumPy scalars become arrays."""
    if issubclass(type(value), Traced) and not value.shape:
        return np.copy(value)
    return np.asarray(value) if issubclass(type(value), np.generic) else value


def level_of(value: Any) -> float:
    """The level of the transform that a value belongs to; -1 if it belongs to none."""
    if isinstance(value, Traced):
        level: int = value.tape.level
        return level
    return value.level if isinstance(value, Mapped) else -1


def lift_to_level_of(buffer: Any, value: Any) -> Any:
    """A buffer lifted to the level of `value`, so that the value can be written into it."""
    if level_of(buffer) < level_of(value):
        if isinstance(value, Mapped):
            return value.adopt(buffer)
        if isinstance(buffer, Traced) and buffer.tape.root is value.tape.root:
            return buffer  # of the same tape: a write gives it the value's level
        return value.tape.wrap(lift_to_level_of(buffer, value._value), -1)
    return buffer


def lift_to_level_of_index(buffer: Any, index: Any) -> Any:
    """A buffer lifted to the level of the vmap whose examples differ in the index, if any."""
    mapped = batched_index_part(index, level_of(buffer))
    return buffer if mapped is None else lift_to_level_of(buffer, mapped)


def getitem(value: Any, index: Any) -> Any:
    """`value[index]`; all examples of a vmap may share the array, and differ in the index."""
    mapped = batched_index_part(index, level_of(value))
    return value[index] if mapped is None else mapped.look_up(value, index)


def batched_index_part(index: Any, level: float) -> Mapped | None:
    """The part of an index that differs between the examples of a vmap inside this level."""
    for part in index if type(index) is tuple else (index,):
        if not isinstance(part, Traced) and isinstance(part, Mapped) and part.level > level:
            return part
    return None


def snapshot(value: Any) -> Any:
    """The present state of a value: later writes to the value do not change the snapshot."""
    if isinstance(value, Mapped):
        return value.snapshot()
    if not isinstance(value, Traced):
        return value
    return value.tape.array(value._value, value.slot, value.tape, value.spec)


def own_copy(array: Any) -> Any:
    """A copy that can be written to, and lies backwards in memory where an array does."""
    if min(array.strides, default=0) >= 0:
        return array.copy("K")
    turned = tuple([slice(None, None, -1 if step < 0 else 1) for step in array.strides])
    return array[turned].copy("K")[turned]


_POSITIONS = (int, slice, type(None), type(Ellipsis), np.int64)
PLAIN_PARTS = frozenset((int, slice, type(None), type(Ellipsis)))


def is_basic(index: Any) -> bool:
    """Whether an index has only integers, slices, None and Ellipsis: each element at most once."""
    if type(index) in _POSITIONS:
        return True
    parts = index if type(index) is tuple else (index,)
    if PLAIN_PARTS.issuperset(map(type, parts)):  # the frequent case, without a generator
        return True
    return all(type(part) in _POSITIONS or issubclass(type(part), np.integer) for part in parts)


_PLAIN_BOUNDS = frozenset((int, type(None)))


def all_basic(index: tuple[Any, ...]) -> bool:
    """Whether all parts of an index are basic and immutable: most tuples that programs write."""
    for part in index:
        if type(part) is slice:
            start, stop, step = part.start, part.stop, part.step
            if (
                (start is not None and type(start) is not int)
                or (stop is not None and type(stop) is not int)
                or (step is not None and type(step) is not int)
            ):
                return False
        elif type(part) not in PLAIN_PARTS:
            return False
    return True


def copied_index(index: tuple[Any, ...]) -> Any:
    """An index of arrays and basic parts with copies of the arrays; None for any other index."""
    parts = []
    for part in index:
        kind = type(part)
        if kind is np.ndarray:
            part = part.copy()
        elif kind is slice:
            if not _PLAIN_BOUNDS.issuperset((type(part.start), type(part.stop), type(part.step))):
                return None
        elif kind not in PLAIN_PARTS:
            return None
        parts.append(part)
    return tuple(parts)


def is_basic_part(part: Any) -> bool:
    """Whether a part of an index is none of arrays, lists and conditions; True and False pass."""
    return issubclass(type(part), (int, np.integer, slice, type(None), type(Ellipsis)))


def is_array(value: Any) -> bool:
    """Whether a value has a dtype and a shape (NumPy's scalar types have, and are none)."""
    return isinstance(getattr(value, "dtype", None), np.dtype) and hasattr(value, "shape")


# Where libraries ask for the class of what their own arrays hold, or meet, and the module of each
# that asks. Dask takes what is an ndarray into a graph, where a derivative would be lost; what is
# none has the operation to itself. xarray converts NumPy's scalars, and holds any other array.
# mpmath takes a float whose mantissa it cannot get for nan, and refuses what is no number.
# scipy.sparse hands the memory of an ndarray to its products, and leaves those with anything else
# to the reflected operator.
_ASKERS = ("dask.array.chunk_types", "mpmath.", "scipy.sparse.", "xarray.")
_LIBRARIES = ("scipy.sparse", "xarray", "dask.array", "mpmath")
_ON_BEHALF = ("isscalar", "__instancecheck__")  # functions that ask for their caller
_modules = sys.modules
# The class of another library's arrays for the code of a module that asks for it, by its name.
_shown_in: list[Callable[[str], type | None]] = []
# The answer to a function that asks, by the id of its code, which is kept as well: a class, True
# for the type of the value, None for what programs are shown.
_asking: dict[int, tuple[type | bool | None, Any]] = {}


def show_as(shown: Callable[[str], type | None] | None) -> None:
    """Set what the code of a module is shown as the `__class__` of any value in a trace."""
    _shown_in[:] = () if shown is None else (shown,)
    _asking.clear()


def class_for_holder(kind: type) -> type | None:
    """The `__class__` that one of these libraries is shown where it asks; None for programs.

    It is the type of the value, `kind`, or the class of another library's arrays. To be called by
    `__class__` itself, which each isinstance asks: lookups alone where none of them is imported.
    """
    if not _shown_in:
        for library in _LIBRARIES:
            if library in _modules:
                break
        else:
            return None
    frame: Any = sys._getframe(2)
    code = frame.f_code
    known = _asking.get(id(code))
    if known is None:
        while frame.f_code.co_name in _ON_BEHALF:
            frame = frame.f_back
        known = _shown_to(frame.f_globals.get("__name__") or ""), code
        if frame.f_code is code:  # what asks by itself always asks for one module
            if len(_asking) > 4096:  # programs that make functions
                _asking.clear()
            _asking[id(code)] = known
    if known[0] and code.co_name in _ASK_ABOUT_NUMBERS:
        refuse_sparse_power(frame)
    shown = known[0]
    return kind if shown is True else shown  # type: ignore[return-value]  # it is never False


def _shown_to(name: str) -> type | bool | None:
    """View of a value for the code of a module: see `_asking`."""
    if name.startswith(_ASKERS):
        return True
    return _shown_in[0](name) if _shown_in else None


_ASK_ABOUT_NUMBERS = frozenset(("isscalar", "isdense"))
_POWERS = frozenset(("__pow__", "power", "matrix_power"))


def refuse_sparse_power(frame: Any = None) -> None:
    """Raise an error if SciPy asks whether the power of a sparse matrix is a number.

    Its own words for one that is traced are that it is no scalar. It catches TypeErrors, which
    most errors of ours are, so that this one is of SciPy's class.
    """
    frame = frame or sys._getframe(2)
    while frame.f_code.co_name in _ON_BEHALF:
        frame = frame.f_back
    while frame is not None and frame.f_globals.get("__name__", "").startswith("scipy.sparse."):
        if frame.f_code.co_name in _POWERS:
            raise NotImplementedError(
                "A ** x of a sparse matrix A: expected a number that is no traced value. For the "
                "powers of its elements call tapegrad.scipy.sparse.csr_array((A.data ** x, "
                "A.indices, A.indptr), A.shape), or write A.toarray() ** x."
            )
        frame = frame.f_back


def class_shown(value: Any) -> Any:
    """The `__class__` of what stands for a value of NumPy's: np.ndarray, or that of a number.

    None for a value of another library.
    """
    kind = value.__class__  # a value in a trace shows that of its own value
    if issubclass(kind, np.ndarray):
        return np.ndarray
    return kind if issubclass(kind, np.generic) else None


def is_ndarray(value: Any) -> bool:
    """Whether a value is itself an array of NumPy's, with memory.

    Not isinstance, for which traced and batched arrays pass as well.
    """
    return issubclass(type(value), np.ndarray)


def is_numpy(value: Any) -> bool:
    """Whether a value is itself an array or a scalar of NumPy's."""
    return issubclass(type(value), (np.ndarray, np.generic))


# Their types, for `type(value) in`: a NumPy scalar, which may be of a subclass, is none of them.
PYTHON_NUMBERS = frozenset((bool, int, float, complex))

# Types of values that are in no trace, and are no lists that could hold one that is.
_NUMBERS = [np.dtype(letter).type for letter in "?bhilqBHILQefdgFDG"]
UNTRACED_TYPES = frozenset((*PYTHON_NUMBERS, *_NUMBERS, np.ndarray, str, type(None), type))
_are_untraced = UNTRACED_TYPES.issuperset


def is_plain_number(value: Any) -> bool:
    """Whether a value is itself a number of Python's or NumPy's.

    Not isinstance, for which traced and batched numbers pass as well.
    """
    return issubclass(type(value), (int, float, complex, np.generic))


def is_inexact(value: Any) -> bool:
    """Whether a value has a floating or complex dtype: only such values are traced."""
    return is_array(value) and is_smooth(value.dtype)


def is_smooth(dtype: np.dtype[Any]) -> bool:
    """Whether a dtype is of floating or complex numbers, ml_dtypes' bfloat16 among them."""
    return dtype.kind in "fc" or (dtype.kind == "V" and dtype.name == "bfloat16")


def as_order(order: Any) -> Any:
    """A memory order as rules compare it: NumPy takes lower case, bytes, and its own strings."""
    text = order.decode("latin-1") if isinstance(order, bytes) else order
    return str(text).upper() if isinstance(text, str) and len(text) == 1 else order


def cast(value: Any, dtype: np.dtype[Any]) -> Any:
    """`value` as `dtype`; complex to real takes the real part, which is the transpose."""
    if value.dtype.kind == "c" and dtype.kind != "c":
        value = value.real
    return value if value.dtype == dtype else value.astype(dtype)


__all__ = [
    "ASKED",
    "PLAIN_PARTS",
    "PYTHON_NUMBERS",
    "UNTRACED_TYPES",
    "Buffer",
    "Mapped",
    "Scatter",
    "Traced",
    "all_basic",
    "any_true",
    "are_untraced",
    "as_one",
    "as_order",
    "assume",
    "assume_inside",
    "batched_index_part",
    "branch_on",
    "cast",
    "class_for_holder",
    "class_shown",
    "copied_index",
    "deepest_tape",
    "getitem",
    "holds_in_trace",
    "holds_traced",
    "in_trace",
    "innermost",
    "is_array",
    "is_basic",
    "is_basic_part",
    "is_inexact",
    "is_mapped",
    "is_ndarray",
    "is_numpy",
    "is_numpy_number",
    "is_plain_array",
    "is_plain_number",
    "is_recorded",
    "is_recorded_array",
    "is_recorded_number",
    "is_scalar",
    "is_smooth",
    "itself",
    "level_of",
    "lift",
    "lift_to_level_of",
    "lift_to_level_of_index",
    "memory_of",
    "own_copy",
    "peeked",
    "printed",
    "raw_value",
    "recorded_in",
    "records",
    "refuse_sparse_power",
    "show_as",
    "shown_value",
    "snapshot",
    "strong",
    "transformed",
    "unbatched",
    "untraced",
    "writable",
]
