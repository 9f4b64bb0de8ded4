"""`Array`, the traced ndarray: NumPy's protocols, reads, and views.

Knows the tape's logging and the registry. Must not know transforms or single rules: whatever has a
rule reaches it through NumPy's two protocols. `ufuncs` and `operators` add calls to its class.

A traced array is always floating or complex; results of other dtypes (comparisons, argmax, floor)
are untraced arrays. A write gives the array a new slot, so that the tape stays functional.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Literal

import numpy as np

from tapegrad._arrays.creation import CREATION
from tapegrad._arrays.interface import NdarrayInterface
from tapegrad._arrays.masked import MaskedElements, holds_condition, read, write
from tapegrad._arrays.memory import copy_like, laid_out_as, shares
from tapegrad._arrays.refusal import refuse
from tapegrad._arrays.writes import add_to_part, frozen_index, write_part
from tapegrad._core.entry import READ, Spec
from tapegrad._core.forms import UNSUPPORTED_MODULES, linear
from tapegrad._core.operands import as_arguments, as_operand, has_own_functions
from tapegrad._core.rule import REGISTRY, Rule
from tapegrad._core.tape import Tape
from tapegrad._core.types import Index, Params, Slot, Value
from tapegrad._core.values import (
    Mapped,
    Traced,
    asked_by_dask,
    batched_index_part,
    cast,
    class_shown,
    getitem,
    innermost,
    is_basic,
    is_inexact,
    memory_of,
    untraced,
)
from tapegrad._errors import NotDifferentiableError

Casting = Literal["no", "equiv", "safe", "same_kind", "unsafe"]


new = object.__new__  # setting the attributes one by one costs half of `Array(...)`

# ufunc -> (rule, whether x is kept, whether out is kept), learned at the first call.
UNARY: dict[np.ufunc, tuple[Rule, bool, bool]] = {}

# ufunc -> (its call with two operands, rule), likewise.
PAIRS: dict[np.ufunc, tuple[Callable[..., Any], Rule]] = {}
_UNKNOWN: tuple[Any, Any] = (None, None)


class Array(Traced, NdarrayInterface):
    """An array whose history is on a tape; it behaves as the ndarray that it stands for.

    Transforms make it; programs only meet it. `isinstance(x, tapegrad.Array)` tells that a value
    is being differentiated; `isinstance(x, np.ndarray)`, `isinstance(x, float)` and np.isscalar
    answer as for its value. Attributes: `value` (the untraced array), `shape`, `dtype` and the
    others of ndarray. `float(x)`, `np.asarray(x)` and writes of x into a plain array raise
    ConversionError.

    >>> import tapegrad
    >>> tapegrad.grad(lambda x: print(type(x).__name__, x.shape) or (x * x).sum())(np.ones(2))
    Array (2,)
    array([2., 2.])
    """

    __slots__ = ()

    call_ufunc: ClassVar[Callable[..., Any]]  # any call of a ufunc; `ufuncs` sets it

    @property  # type: ignore[misc]  # object's has a setter, ours needs none
    def __class__(self) -> Any:
        """That of the value if it is NumPy's: programs and NumPy's own code ask isinstance.

        Our own code that needs memory, or a number as it is, asks for the `type`: see `is_ndarray`
        and `is_plain_number`.
        """
        if asked_by_dask():
            return type(self)
        value = self.value
        kind = type(value)
        if kind is np.ndarray or kind is np.float64:  # the frequent cases
            return kind
        return class_shown(value) or type(self)

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
    def real(self, value: Value) -> None:
        self[...] = value + 1j * self.imag if self.dtype.kind == "c" else value

    @property
    def imag(self) -> Any:
        return np.imag(self)

    @imag.setter
    def imag(self, value: Value) -> None:
        if self.dtype.kind != "c":
            raise TypeError("array does not have imaginary part to set")
        self[...] = self.real + 1j * value

    @property
    def strides(self) -> tuple[int, ...]:
        return tuple(untraced(self).strides)

    @property
    def flags(self) -> Any:
        return untraced(self).flags

    # -- NumPy's protocols -----------------------------------------------------------------------

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, first: Value, /, *rest: Any, **kwargs: Any
    ) -> Any:
        # The short path: a one-argument function of a floating array keeps shape and dtype.
        if not rest and not kwargs and method == "__call__":
            short = UNARY.get(ufunc)
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
            call, rule = PAIRS.get(ufunc, _UNKNOWN)
            if call is not None:
                x, y = as_operand(first), as_operand(rest[0])
                if x is not NotImplemented and y is not NotImplemented:
                    return call(rule, x, y)
        return Array.call_ufunc(ufunc, method, (first, *rest), kwargs)

    def __array_function__(
        self,
        function: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        if not PLAIN_TYPES.issuperset(types):
            if isinstance(innermost((*args, *kwargs.values())), Mapped):
                return NotImplemented  # a vmap inside this array's transform comes first
            if any(map(has_own_functions, types)):
                return NotImplemented  # an array with units, say, which may hold a traced one
        rule = REGISTRY.get(function)
        if rule is None:
            if function in CREATION:
                return self._created(function, args, kwargs)
            raise no_rule(function)
        if rule.several or not PLAIN_TYPES.issuperset(types):
            args, kwargs = as_arguments(args, kwargs)
        if rule.view:
            arrays, params = rule.bind(args, kwargs)
            return as_view(rule, arrays[0], params)
        return rule.apply(*args, **kwargs)

    def _created(self, function: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
        """The result of np.zeros(shape, like=self), traced so that it can be written to."""
        made = CREATION[function](*args, **kwargs)
        if isinstance(made, Traced) or not is_inexact(made):
            return made
        return self.tape.wrap(made, -1)

    # -- indexing and writing --------------------------------------------------------------------

    def __getitem__(self, index: Index) -> Any:
        simple = type(index) is int
        if type(index) is slice and index.step is None:  # `writes._stays`, written out
            start, stop = index.start, index.stop
            simple = (start is None or type(start) is int) and (stop is None or type(stop) is int)
        if not simple:
            index = frozen_index(index)
            mapped = batched_index_part(index, self.tape.level)
            if mapped is not None:
                return mapped.look_up(self, index)  # by a vmap inside this array's transform
        value = self.value
        out = value[index] if simple else getitem(value, index)
        if not simple and type(out) is MaskedElements:
            return read(self, index)
        picked = not simple and isinstance(out, Mapped) and out.picked
        tape = self.tape
        slot = tape.fresh()
        spec = self.spec.family[out.shape]
        tape.log((slot, READ, None, self.spec, index, self.slot, None))
        kind = type(out)
        if simple and kind is np.ndarray or kind is not np.float64 and shares(out, value):
            if picked or self.slot in tape.buffers:
                out = copy_like(out)  # nothing else may hold the buffer, which is written in place
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

    def __setitem__(self, index: Index, value: Value) -> None:
        if not self.spec.shape and issubclass(type(untraced(self)), np.generic):
            kind = self.dtype.type.__name__
            raise TypeError(f"{kind!r} object does not support item assignment")
        index = frozen_index(index)
        if type(value) is MaskedElements or not is_basic(index) and holds_condition(index):
            write(self, index, value)
        else:
            write_part(self, index, value)

    def __delitem__(self, index: Index) -> None:
        raise ValueError("cannot delete array elements")

    def add_part(self, index: Index, value: Value) -> None:
        """`self[index] += value` in a replay that made this array: one entry."""
        if self.is_view or not isinstance(value, Traced) or value.tape is not self.tape:
            self[index] += value
        else:
            add_to_part(self, index, value)

    def rebind(self, new: Traced) -> None:
        """Give this array the state of another one, as an in-place operation does."""
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
        """As `numpy.ndarray.astype`; integer and boolean results are untraced arrays."""
        target = np.dtype(dtype)
        if not np.can_cast(self.dtype, target, casting):
            raise TypeError(f"Cannot cast array data from {self.dtype} to {target} by {casting!r}")
        if target.kind in "biu":
            return untraced(self).astype(target)
        if target.kind not in "fc":
            raise NotDifferentiableError(
                f"x.astype({target}): not differentiable (it would lose the derivative). Convert "
                "tapegrad.stop_gradient(x) instead."
            )
        if target == self.dtype and not copy:
            return self
        return ASTYPE.apply_bound([self], {"dtype": target})

    def view(self, *args: Any, **kwargs: Any) -> Any:
        """`x.view()` without arguments; other dtypes or classes would reinterpret memory."""
        kind = kwargs.get("type", args[0] if args else None)
        if isinstance(kind, type) and issubclass(kind, np.ndarray):
            refuse(f"x.view({kind.__name__})", "Stay with arrays.")
        if args or kwargs:
            raise NotDifferentiableError(
                "x.view(dtype): not differentiable (it reinterprets memory). Use x.astype(dtype)."
            )
        return self[...]

    # -- conversions that keep the derivative, or need none --------------------------------------

    def __bool__(self) -> bool:
        return bool(untraced(self))

    def __int__(self) -> int:
        return int(untraced(self))  # piecewise constant, as np.trunc

    def __repr__(self) -> str:
        return (
            f"Array({np.array2string(np.asarray(untraced(self)), separator=', ')}, {self.dtype})"
        )

    def __str__(self) -> str:
        return str(untraced(self))

    def __format__(self, spec: str) -> str:
        return format(untraced(self), spec)


Tape.array = Array


def _astype(x: Value, dtype: np.dtype[Any]) -> Any:
    return x.astype(dtype)


ASTYPE = linear(_astype, lambda g, _out, x, dtype: cast(g, x.dtype), name="astype", batch="align")


def no_rule(function: Any) -> NotDifferentiableError:
    """The error of a function without a derivative."""
    name = Rule(function).name
    reason = UNSUPPORTED_MODULES.get(getattr(function, "__module__", None) or "")
    if reason is not None:
        return NotDifferentiableError(f"{name}: not differentiable ({reason}).")
    return NotDifferentiableError(
        f"{name}: no derivative rule for it yet. Write it in terms of functions that have one, "
        "declare one with tapegrad.primitive, or pass tapegrad.stop_gradient(x) for a constant."
    )


# --- Views --------------------------------------------------------------------------------------


class View(Array):
    """A part or a rearrangement of another traced array, which shows later writes to that array.

    `value` and `slot` belong to the parent's present state: after a write to the parent, the next
    access takes the view again. A write to the view goes through to the parent.
    """

    __slots__ = ("params", "parent", "rule", "seen", "taken", "taken_slot", "taken_tape")

    is_view = True

    def __init__(
        self,
        value: Value,
        slot: Slot,
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
        self.seen = parent.slot  # serves as a version number, because slots are never reused

    @property  # type: ignore[misc]  # object's has a setter, ours needs none
    def __class__(self) -> Any:
        """As of the value when it was taken last: a write does not change the class."""
        return type(self) if asked_by_dask() else class_shown(self.taken) or type(self)

    def _take(self) -> None:
        """Take the view again, from the parent's present state."""
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

    def rebind(self, new: Traced) -> None:
        """Write the new state through to the parent, at its index or as a whole."""
        if self.rule is None:
            write_part(self.parent, self.params, new)
        else:
            (back,) = self.rule.pull(new, None, [self.parent.spec], self.params, [True])
            value = laid_out_as(self.parent.value, back.value)
            if value is not back.value:
                back = Array(value, back.slot, back.tape, back.spec)
            self.parent.rebind(back)

    def __reduce__(self) -> Any:
        return NdarrayInterface.__reduce__(self)


class Part(View):
    """A view that cannot be written through: the real part of a complex array, windows."""

    __slots__ = ()

    def rebind(self, new: Traced) -> None:
        if self.rule is not None and self.dtype == self.parent.dtype:
            raise ValueError(f"{self.rule.name}: its result cannot be written to. Copy it first.")
        raise NotDifferentiableError(
            "z.real[...] = v: writing into a part of a complex traced array is not supported. "
            "Assign the whole: z.real = r, or z[...] = v + 1j * z.imag."
        )


# Of arguments of these types, none has a turn before a traced array.
PLAIN_TYPES = frozenset({Array, View, Part, np.ndarray})

View.__name__ = View.__qualname__ = Part.__name__ = Part.__qualname__ = "Array"


def as_view(rule: Rule, parent: Value, params: Params) -> Any:
    """The result of a rule whose NumPy function may return a view: a `View` if it does."""
    if params.get("order") == "A" and isinstance(parent, Traced):
        # The memory layout decides now, because a replay does not know it.
        params = {**params, "order": "F" if memory_of(parent).flags.fnc else "C"}
    out = rule.apply_bound([parent], params)
    if not isinstance(out, Array) or not isinstance(parent, Array):
        return out
    if out.tape is not parent.tape or not shares(out.value, parent.value):
        return out
    kind = Part if rule.view == "part" else View
    value = copy_like(out.value) if parent.slot in out.tape.buffers else out.value
    return kind(value, out.slot, out.tape, out.spec, parent, rule, params)
