"""`Array`, the traced ndarray: operators, NumPy's protocols, in-place writes and views.

Knows the tape's logging and the registry. Must not know transforms or single rules: whatever has a
rule reaches it through NumPy's two protocols.

A traced array is always floating or complex; results of other dtypes (comparisons, argmax, floor)
are plain arrays. Writes rebind an array's slot, the tape stays functional.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from tapegrad._chosen import Chosen, holds_condition, read, write
from tapegrad._creation import CREATION
from tapegrad._errors import BatchingError, NotDifferentiableError
from tapegrad._fitting import cast
from tapegrad._forms import Elementwise, Multilinear, linear
from tapegrad._ndarray import NdarrayInterface, refuse
from tapegrad._rule import (
    REGISTRY,
    UNSUPPORTED_MODULES,
    Rule,
    innermost,
    lift,
    memory_of,
    plain,
    refuse_other_meaning,
)
from tapegrad._scattering import add_at
from tapegrad._tape import (
    ADD,
    READ,
    WRITE,
    Mapped,
    Spec,
    Tape,
    Traced,
    beside,
    beside_index,
    differing,
    handle,
    is_basic,
    is_inexact,
    is_ndarray,
    pick,
    require_numbers,
    spec_of,
    writable,
)
from tapegrad._ufunc_methods import call_method, call_with_keywords

Casting = Literal["no", "equiv", "safe", "same_kind", "unsafe"]


new = object.__new__  # with the attributes set one by one: half the price of `Array(...)`


class Array(Traced, NdarrayInterface):
    """An array whose history is on a tape; it behaves as the ndarray that it stands for.

    Transforms make it; programs only meet it. `isinstance(x, tapegrad.Array)` tells that a value
    is being differentiated; `isinstance(x, np.ndarray)` is as for the plain value. Attributes:
    `value` (the plain array), `shape`, `dtype` and the rest of ndarray's. `float(x)`,
    `np.asarray(x)` and writes of x into a plain array raise ConversionError.

    >>> import tapegrad
    >>> tapegrad.grad(lambda x: print(type(x).__name__, x.shape) or (x * x).sum())(np.ones(2))
    Array (2,)
    array([2., 2.])
    """

    __slots__ = ()

    @property  # type: ignore[misc]  # object's can be set, on no instance of ours
    def __class__(self) -> Any:
        """ndarray where it stands for one, for NumPy's Python code and programs ask isinstance.

        Code of ours that means memory asks `is_ndarray`.
        """
        return np.ndarray if isinstance(self.value, np.ndarray) else type(self)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.spec.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.spec.dtype

    @property
    def ndim(self) -> int:
        return len(self.spec.shape)

    @property
    def real(self) -> Any:
        return np.real(self) if self.dtype.kind == "c" else self

    @real.setter
    def real(self, value: Any) -> None:
        self[...] = value + 1j * self.imag if self.dtype.kind == "c" else value

    @property
    def imag(self) -> Any:
        return np.imag(self)

    @imag.setter
    def imag(self, value: Any) -> None:
        if self.dtype.kind != "c":
            raise TypeError("array does not have imaginary part to set")
        self[...] = self.real + 1j * value

    @property
    def strides(self) -> tuple[int, ...]:
        return tuple(plain(self).strides)

    @property
    def flags(self) -> Any:
        return plain(self).flags

    # -- NumPy's protocols -----------------------------------------------------------------------

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, first: Any, /, *rest: Any, **kwargs: Any
    ) -> Any:
        # The short path: a one-argument function of a floating array keeps shape and dtype.
        if not rest and not kwargs and method == "__call__":
            short = _UNARY.get(ufunc)
            if short is not None:
                rule, x_kept, out_kept = short
                x = self.value
                out = ufunc(x)
                tape = self.tape
                slot = tape.fresh()
                tape.log(
                    (
                        slot,
                        rule,
                        out if out_kept else None,
                        x if x_kept else None,
                        None,
                        self.slot,
                        -1,
                    )
                )
                made = new(Array)
                made.value = out
                made.slot = slot
                made.tape = tape
                made.spec = self.spec
                return made
        elif len(rest) == 1 and not kwargs and method == "__call__":
            call, rule = _PAIRS.get(ufunc, _UNKNOWN)
            if call is not None:
                return call(rule, as_operand(first), as_operand(rest[0]))
        return _ufunc(ufunc, method, (first, *rest), kwargs)

    def __array_function__(
        self,
        function: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        if len(types) > 1 and isinstance(innermost((*args, *kwargs.values())), Mapped):
            return NotImplemented  # a vmap inside this array's transform comes first
        rule = REGISTRY.get(function)
        if rule is None:
            if function in CREATION:
                return self._created(function, args, kwargs)
            raise _no_rule(function)
        if rule.view:
            arrays, params = rule.bind(args, kwargs)
            return as_view(rule, arrays[0], params)
        return rule.apply(*args, **kwargs)

    def _created(self, function: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
        """What np.zeros(shape, like=self) and its kin return: traced, so that writes reach it."""
        made = CREATION[function](*args, **kwargs)
        if isinstance(made, Traced) or not is_inexact(made):
            return made
        return self.tape.wrap(made, -1)

    # -- indexing and writing --------------------------------------------------------------------

    def __getitem__(self, index: Any) -> Any:
        simple = type(index) is int
        if type(index) is slice and index.step is None:  # `_stays`, written out
            start, stop = index.start, index.stop
            simple = (start is None or type(start) is int) and (stop is None or type(stop) is int)
        if not simple:
            index = _frozen_index(index)
            mapped = differing(index, self.tape.level)
            if mapped is not None:
                return mapped.look_up(self, index)  # by a vmap inside this array's transform
        value = self.value
        out = value[index] if simple else pick(value, index)
        if not simple and type(out) is Chosen:
            return read(self, index)
        picked = not simple and isinstance(out, Mapped) and out.picked
        tape = self.tape
        slot = tape.fresh()
        spec = self.spec.family[out.shape]
        tape.log((slot, READ, None, self.spec, index, self.slot, None))
        kind = type(out)
        if simple and kind is np.ndarray or kind is not np.float64 and _shares(out, value):
            if picked or self.slot in tape.buffers:
                out = _copy_like(out)  # the buffer stays ours alone, to be written in place
            made = new(View)
            made.taken = out
            made.taken_slot = slot
            made.taken_tape = tape
            made.spec = spec
            made.parent = self
            made.rule = None
            made.params = index
            made.seen = self.slot
            return made
        return Array(out, slot, tape, spec)

    def __setitem__(self, index: Any, value: Any) -> None:
        if not self.spec.shape and isinstance(plain(self), np.generic):
            kind = self.dtype.type.__name__
            raise TypeError(f"{kind!r} object does not support item assignment")
        index = _frozen_index(index)
        if type(value) is Chosen or not is_basic(index) and holds_condition(index):
            write(self, index, value)
        else:
            _write(self, index, value)

    def __delitem__(self, index: Any) -> None:
        raise ValueError("cannot delete array elements")

    def add_part(self, index: Any, value: Any) -> None:
        """`self[index] += value` of a replay, where this array is the replay's own: one entry."""
        tape = self.tape
        if isinstance(self, View) or not isinstance(value, Traced) or value.tape is not tape:
            self[index] += value
            return
        buffer = _exclusive_buffer(self)
        slot = tape.fresh()
        tape.log((slot, ADD, None, (self.spec, value.spec), index, (self.slot, value.slot), None))
        tape.buffers.discard(self.slot)
        tape.buffers.add(slot)
        self.value = add_at(buffer, index, value.value)
        self.slot = slot

    def _rebind(self, new: Traced) -> None:
        """Make this array the other one: what an in-place operation does to a name."""
        self.tape = new.tape
        self.value = new.value
        self.slot = new.slot

    def astype(
        self,
        dtype: Any,
        order: str = "K",
        casting: Casting = "unsafe",
        subok: bool = True,
        copy: bool = True,
    ) -> Any:
        """As `numpy.ndarray.astype`; integer and boolean results are plain arrays."""
        target = np.dtype(dtype)
        if not np.can_cast(self.dtype, target, casting):
            raise TypeError(f"Cannot cast array data from {self.dtype} to {target} by {casting!r}")
        if target.kind in "biu":
            return plain(self).astype(target)
        if target.kind not in "fc":
            raise NotDifferentiableError(
                f"x.astype({target}): not differentiable (it would lose the derivative). Convert "
                "tapegrad.stop_gradient(x) instead."
            )
        if target == self.dtype and not copy:
            return self
        return ASTYPE.apply_bound([self], {"dtype": target})

    def view(self, *args: Any, **kwargs: Any) -> Any:
        """`x.view()` alone; other dtypes or classes would reinterpret memory."""
        kind = kwargs.get("type", args[0] if args else None)
        if isinstance(kind, type) and issubclass(kind, np.ndarray):
            refuse(f"x.view({kind.__name__})", "Stay with arrays.")
        if args or kwargs:
            raise NotDifferentiableError(
                "x.view(dtype): not differentiable (it reinterprets memory). Use x.astype(dtype)."
            )
        return self[...]

    # -- conversions that keep or need no derivative ---------------------------------------------

    def __bool__(self) -> bool:
        return bool(plain(self))

    def __int__(self) -> int:
        return int(plain(self))  # piecewise constant, as np.trunc

    def __repr__(self) -> str:
        return f"Array({np.array2string(np.asarray(plain(self)), separator=', ')}, {self.dtype})"

    def __str__(self) -> str:
        return str(plain(self))

    def __format__(self, spec: str) -> str:
        return format(plain(self), spec)


Tape.array = Array


def _astype(x: Any, dtype: np.dtype[Any]) -> Any:
    return x.astype(dtype)


ASTYPE = linear(_astype, lambda g, _out, x, dtype: cast(g, x.dtype), name="astype", batch="align")


def _no_rule(function: Any) -> NotDifferentiableError:
    name = Rule(function).name
    reason = UNSUPPORTED_MODULES.get(getattr(function, "__module__", None) or "")
    if reason is not None:
        return NotDifferentiableError(f"{name}: not differentiable ({reason}).")
    return NotDifferentiableError(
        f"{name}: no derivative rule for it yet. Write it in terms of functions that have one, "
        "declare one with tapegrad.primitive, or pass tapegrad.stop_gradient(x) for a constant."
    )


# --- Elementwise calls --------------------------------------------------------------------------

# ufunc -> (rule, whether x is kept, whether out is kept), learned at the first call.
_UNARY: dict[np.ufunc, tuple[Rule, bool, bool]] = {}


# ufunc -> (binary or product, rule), likewise.
_PAIRS: dict[np.ufunc, tuple[Callable[..., Any], Rule]] = {}
_UNKNOWN: tuple[Any, Any] = (None, None)


def binary(rule: Elementwise, x: Any, y: Any) -> Any:
    """A two-argument elementwise call: logged in the short layout where nothing broadcasts."""
    if type(x) is Array is type(y) and x.tape is y.tape and x.spec is not y.spec:
        out = rule.function(x.value, y.value)  # the frequent case of a bias
        return x.tape.record_pair(rule, out, x.value, y.value, x.slot, y.slot)
    x_tape = x.tape if isinstance(x, Traced) else None
    y_tape = y.tape if isinstance(y, Traced) else None
    tape = x_tape or y_tape
    if tape is None:
        return rule.function(x, y)
    if y_tape is not None and y_tape.level > tape.level:
        tape = y_tape
    if x_tape is None and _is_inner(x, tape) or y_tape is None and _is_inner(y, tape):
        return NotImplemented
    root = tape.root
    x_in = x_tape is not None and x_tape.root is root
    y_in = y_tape is not None and y_tape.root is root
    raw_x, raw_y = x.value if x_in else x, y.value if y_in else y
    x_slot, y_slot = x.slot if x_in else -1, y.slot if y_in else -1
    spec = x.spec if x_in else y.spec
    out = rule.function(raw_x, raw_y)
    if (
        out.shape != spec.shape
        or out.dtype is not spec.dtype
        or (x_in and y_in and x.spec is not y.spec)
    ):
        if out.dtype is not spec.dtype:
            require_numbers(rule, out)
        return tape.record_pair(rule, out, raw_x, raw_y, x_slot, y_slot)
    x_kept, y_kept, out_kept = rule.keeps[x_in, y_in]
    slot = tape.fresh()
    tape.log(
        (
            slot,
            rule,
            out if out_kept else None,
            None if not x_kept else raw_x if x_in else tape.keep(raw_x),
            None if not y_kept else raw_y if y_in else tape.keep(raw_y),
            x_slot,
            y_slot,
        )
    )
    return Array(out, slot, tape, spec)


def product(rule: Multilinear, x: Any, y: Any) -> Any:
    """A two-argument product, such as np.matmul."""
    if type(x) is Array is type(y) and x.tape is y.tape:
        out = rule.function(x.value, y.value)
        return x.tape.record_pair(rule, out, x.value, y.value, x.slot, y.slot)
    x_tape = x.tape if isinstance(x, Traced) else None
    y_tape = y.tape if isinstance(y, Traced) else None
    tape = x_tape or y_tape
    if tape is None:
        return rule.function(x, y)
    if y_tape is not None and y_tape.level > tape.level:
        tape = y_tape
    if x_tape is None and _is_inner(x, tape) or y_tape is None and _is_inner(y, tape):
        return NotImplemented
    root = tape.root
    x_in = x_tape is not None and x_tape.root is root
    y_in = y_tape is not None and y_tape.root is root
    raw_x, raw_y = x.value if x_in else x, y.value if y_in else y
    out = rule.function(raw_x, raw_y)
    require_numbers(rule, out)
    return tape.record_pair(
        rule, out, raw_x, raw_y, x.slot if x_in else -1, y.slot if y_in else -1
    )


def _is_inner(other: Any, tape: Tape) -> bool:
    """Whether an operand belongs to a vmap inside the transform of a tape, and so comes first."""
    return isinstance(other, Mapped) and other.level > tape.level


def is_scalar(x: Any) -> bool:
    """Whether a traced value stands for a NumPy scalar, which never changes, not for an array.

    One example of a vmap counts as a number unless it is a view: that is what most programs mean.
    """
    is_view = False
    while isinstance(x, Traced):
        is_view = is_view or isinstance(x, View)
        x = x.value
    if isinstance(x, Mapped):
        return not is_view and x.is_number()
    return isinstance(x, np.generic)


def as_operand(other: Any) -> Any:
    """A list or tuple as an array, traced where it has traced parts; anything else as it is."""
    if isinstance(other, Traced):
        return other
    kind = type(other)
    if kind not in (list, tuple):
        if kind is not np.ndarray:
            refuse_other_meaning(other)
        return other
    lifted = lift(other)
    return np.asarray(other) if lifted is other else lifted


def _ufunc(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Any other call of a ufunc: several arguments, keywords, methods."""
    if isinstance(innermost((*inputs, *kwargs.values())), Mapped):
        return NotImplemented
    rule = REGISTRY.get(ufunc)
    if rule is None:
        raise _no_rule(ufunc)
    if method != "__call__":
        return call_method(rule, ufunc, method, inputs, kwargs)
    if not kwargs:
        if len(inputs) == 2:
            call: Callable[..., Any] | None = None
            if isinstance(rule, Multilinear):
                call = product
            elif isinstance(rule, Elementwise):
                call = binary
            if call is not None:
                _PAIRS[ufunc] = call, rule
                return call(rule, *map(as_operand, inputs))
        result = rule.apply(*inputs)
        if (
            isinstance(rule, Elementwise)
            and rule.unary
            and not rule.to_real
            and isinstance(result, Array)
        ):
            x_kept, out_kept = rule.keeps[True,]
            _UNARY[ufunc] = rule, x_kept, out_kept
        return result
    return call_with_keywords(rule, ufunc, inputs, kwargs)


# --- Views --------------------------------------------------------------------------------------


class View(Array):
    """A part or a rearrangement of another traced array, up to date whatever is written to it.

    `value` and `slot` are those of the parent's present state: when the parent has been written to
    since they were taken, they are taken again. Writes go through to the parent.
    """

    __slots__ = ("params", "parent", "rule", "seen", "taken", "taken_slot", "taken_tape")

    def __init__(
        self,
        value: Any,
        slot: Any,
        tape: Tape,
        spec: Spec,
        parent: Array,
        rule: Rule | None,
        params: Any,
    ) -> None:
        """`rule` and its `params` made the view; without a rule `params` is an index."""
        self.taken = value
        self.taken_slot = slot
        self.taken_tape = tape
        self.spec = spec
        self.parent = parent
        self.rule = rule
        self.params = params
        self.seen = parent.slot  # slots are never reused, so a slot is a version too

    @property  # type: ignore[misc]  # object's can be set, on no instance of ours
    def __class__(self) -> Any:
        """As for its value, without a look at what that is by now."""
        return np.ndarray if isinstance(self.taken, np.ndarray) else type(self)

    def _take(self) -> None:
        """Take the view anew from the parent's present state."""
        if self.rule is None:
            fresh = self.parent[self.params]
        else:
            fresh = as_view(self.rule, self.parent, self.params)
        self.taken_tape = fresh.tape
        self.taken = fresh.value
        self.taken_slot = fresh.slot
        self.seen = self.parent.slot

    @property
    def tape(self) -> Any:
        if self.parent.slot is not self.seen:
            self._take()
        return self.taken_tape

    @property
    def value(self) -> Any:
        if self.parent.slot is not self.seen:
            self._take()
        return self.taken

    @property
    def slot(self) -> Any:
        if self.parent.slot is not self.seen:
            self._take()
        return self.taken_slot

    def _rebind(self, new: Traced) -> None:
        """Write the new state through: into the parent's index, or over all of the parent."""
        if self.rule is None:
            _write(self.parent, self.params, new)
        else:
            (back,) = self.rule.pull(new, None, [self.parent.spec], self.params, [True])
            value = _laid_out_as(self.parent.value, back.value)
            if value is not back.value:
                back = Array(value, back.slot, back.tape, back.spec)
            self.parent._rebind(back)

    def __reduce__(self) -> Any:
        return NdarrayInterface.__reduce__(self)


class Part(View):
    """A view that cannot be written through: the real part of a complex array, windows."""

    __slots__ = ()

    def _rebind(self, new: Traced) -> None:
        if self.rule is not None and self.dtype == self.parent.dtype:
            raise ValueError(f"{self.rule.name}: its result cannot be written to. Copy it first.")
        raise NotDifferentiableError(
            "z.real[...] = v: writing into a part of a complex traced array is not supported. "
            "Assign the whole: z.real = r, or z[...] = v + 1j * z.imag."
        )


View.__name__ = View.__qualname__ = Part.__name__ = Part.__qualname__ = "Array"


def as_view(rule: Rule, parent: Any, params: dict[str, Any]) -> Any:
    """The result of a rule whose NumPy function may return a view; a view where it does."""
    if params.get("order") == "A" and isinstance(parent, Traced):
        # The layout in memory decides, which no replay will know.
        params = {**params, "order": "F" if memory_of(parent).flags.fnc else "C"}
    out = rule.apply_bound([parent], params)
    if not isinstance(out, Array) or not isinstance(parent, Array):
        return out
    if out.tape is not parent.tape or not _shares(out.value, parent.value):
        return out
    kind = Part if rule.view == "part" else View
    value = _copy_like(out.value) if parent.slot in out.tape.buffers else out.value
    return kind(value, out.slot, out.tape, out.spec, parent, rule, params)


def _copy_like(view: Any) -> Any:
    """A copy that reshape and ravel treat as the view: where one has to copy, so has the other."""
    if isinstance(view, (Traced, Mapped)):
        made = view.copy()
        made.value = _copy_like(view.value)
        return made
    if not is_ndarray(view) or view.flags.forc:
        return view.copy("K") if is_ndarray(view) else view.copy()
    shape, itemsize = view.shape, view.itemsize
    strides, step, natural = [0] * view.ndim, itemsize, itemsize
    for axis in sorted(range(view.ndim), key=lambda axis: abs(view.strides[axis])):
        # A gap of one element wherever the view has one, of any size.
        has_gap = shape[axis] > 1 and view.strides[axis] != natural
        strides[axis] = step + itemsize * has_gap
        step, natural = strides[axis] * shape[axis], view.strides[axis] * shape[axis]
    room = np.ndarray(shape, view.dtype, np.empty(step // itemsize, view.dtype), 0, strides)
    room[...] = view
    return room


def _laid_out_as(before: Any, value: Any) -> Any:
    """A value in memory as the one before it: a write does not change how an array lies there."""
    if isinstance(before, Mapped) and isinstance(value, Mapped):
        inner = _laid_out_as(before.value, value.value)
        if inner is value.value:
            return value
        made = value.copy()
        made.value = inner
        return made
    if (
        type(before) is type(value) is np.ndarray
        and before.shape == value.shape
        and before.strides != value.strides
    ):
        room = _copy_like(before)
        room[...] = value
        return room
    return value


def _shares(out: Any, value: Any) -> bool:
    """Whether a result is a view of the array that it was made from."""
    if isinstance(out, Traced):
        return isinstance(out, View)
    if out is value:
        return True
    if isinstance(out, Mapped):
        if not isinstance(value, Mapped) or out.picked:
            return out.picked
        if type(out.value) is np.ndarray and type(value.value) is np.ndarray:
            return np.may_share_memory(out.value, value.value)  # views of views, as a rule
        return _shares(out.value, value.value)
    base = getattr(out, "base", None)
    if base is not None and type(base) is not np.ndarray:
        base = getattr(base, "base", base)  # np.lib.stride_tricks has a holder in between
    return base is not None and (base is value or base is getattr(value, "base", None))


# --- Writes -------------------------------------------------------------------------------------


def _stays(index: slice) -> bool:
    """Whether a slice has bounds that a program cannot change later, as it can an array."""
    start, stop, step = index.start, index.stop, index.step
    return (
        (start is None or type(start) is int)
        and (stop is None or type(stop) is int)
        and (step is None or type(step) is int)
    )


def _frozen_index(index: Any) -> Any:
    """An index without tracing, and safe from later changes of the arrays in it."""
    if type(index) is tuple:
        return tuple(_frozen_index(part) for part in index)
    if type(index) is np.ndarray:
        return index.copy()
    if type(index) is slice and not _stays(index):
        return slice(*map(_frozen_index, (index.start, index.stop, index.step)))
    if isinstance(index, list):
        if innermost(index) is not None:
            return plain(lift(index))
        return np.array(index, None if index else np.intp)
    return plain(index) if isinstance(index, Traced) else index


def _write(x: Array, index: Any, value: Any) -> None:
    """`x[index] = value`, differentiably."""
    value = lift(value)
    if type(x) is not Array:  # a view
        whole = Array(x.value, x.slot, x.tape, x.spec)
        _write(whole, index, value)
        x._rebind(whole)
        return
    inside = differing((value, *index) if type(index) is tuple else (value, index), x.tape.level)
    if inside is not None:
        raise BatchingError(
            "x[...] = v: a value of a vmap cannot be written into an array from outside it, which "
            "all examples share. Make the array inside, with np.array(x, like=v) of such a value."
        )
    if isinstance(value, Traced) and value.tape.level > x.tape.level:
        if value.tape.root is not x.tape.root:
            # x is a constant of the inner transform that value belongs to, until it is written to.
            x.value, x.slot = handle(x), -1
        x.tape = value.tape
    value = _fitted(x, index, value)
    inner = isinstance(value, Traced) and value.tape.root is x.tape.root
    raw = value.value if inner else value
    buffer = beside_index(beside(writable(_exclusive_buffer(x)), raw), index)
    tape = x.tape
    buffer[index] = raw
    slot = tape.fresh()
    kept = (x.spec, spec_of(value) if hasattr(value, "shape") else None)
    tape.log((slot, WRITE, None, kept, index, (x.slot, value.slot if inner else -1), None))
    tape.buffers.discard(x.slot)
    tape.buffers.add(slot)
    x.value = buffer
    x.slot = slot


def _fitted(x: Array, index: Any, value: Any) -> Any:
    """The value of a write with no more axes than its place, and of a dtype that x can hold."""
    dtype = getattr(value, "dtype", None)
    is_complex = isinstance(value, complex) if dtype is None else dtype.kind == "c"
    if is_complex and x.dtype.kind != "c":
        raise TypeError(
            f"x[...] = v: expected real values for an array of {x.dtype}, got complex ones. Use "
            "v.real, or make x complex."
        )
    if isinstance(value, Traced) and value.ndim > 0:
        room = pick(plain(x), index).ndim
        if value.ndim > room:
            value = value.reshape(value.shape[value.ndim - room :])
    return value


def _exclusive_buffer(x: Array) -> Any:
    """The raw value of x for writing: itself where nobody else can hold it, else a copy."""
    value = x.value
    if isinstance(value, Traced):
        return handle(value)
    if type(value) is not np.ndarray:
        return value.handle() if isinstance(value, Mapped) else value.copy()
    if x.slot in x.tape.buffers and value.base is None and _references(value) <= _EXCLUSIVE:
        return value
    return value.copy("K")


_references: Callable[[Any], int] = getattr(sys, "getrefcount", lambda _: sys.maxsize)


def _exclusive_count() -> int:
    """References to a value that one array holds, as `_exclusive_buffer` counts them."""

    class Holder:
        __slots__ = ("value",)

        def __init__(self) -> None:
            self.value = np.empty(1)

    x = Holder()

    def count(x: Any) -> int:
        value = x.value
        return _references(value)

    return count(x)


_EXCLUSIVE = _exclusive_count()
