"""`Array`, the traced ndarray: NumPy's protocols, reads, and views.

Knows the tape's logging and the registry. Must not know transforms or single rules: whatever has a
rule reaches it through NumPy's two protocols. `ufuncs` and `operators` add calls to its class.

A traced array is always floating or complex; results of other dtypes (comparisons, argmax, floor)
are untraced arrays. A write gives the array a new slot, so that the tape stays functional.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NoReturn

import numpy as np

from tapegrad._arrays.creation import CREATION
from tapegrad._arrays.interface import NdarrayInterface
from tapegrad._arrays.masked import MaskedElements, holds_condition, read, write
from tapegrad._arrays.memory import copy_like, laid_out_as, shares
from tapegrad._arrays.parts import as_slice, composed
from tapegrad._arrays.refusal import refuse
from tapegrad._arrays.writes import add_to_part, fitted, frozen_index, write_part
from tapegrad._core.entry import READ, Spec
from tapegrad._core.forms import UNSUPPORTED_MODULES, linear
from tapegrad._core.operands import as_arguments, as_operand, has_own_functions
from tapegrad._core.rule import REGISTRY, Rule
from tapegrad._core.settled import (
    NEW,
    NUMBER,
    Settled,
    gather,
    is_given,
    key_of,
    learn,
    learn_all,
    run_settled,
    settled_spec,
)
from tapegrad._core.tape import Tape
from tapegrad._core.types import Index, Params, Slot, Value
from tapegrad._core.values import (
    Mapped,
    Traced,
    all_basic,
    asked_by_holder,
    batched_index_part,
    cast,
    class_shown,
    copied_index,
    getitem,
    in_trace,
    innermost,
    is_basic,
    is_basic_part,
    is_inexact,
    is_ndarray,
    is_recorded_array,
    memory_of,
    snapshot,
    untraced,
)
from tapegrad._errors import NotDifferentiableError

Casting = Literal["no", "equiv", "safe", "same_kind", "unsafe"]


new = object.__new__  # setting the attributes one by one costs half of `Array(...)`

# ufunc -> (rule, whether x is kept, whether out is kept), learned at the first call.
UNARY: dict[np.ufunc, tuple[Rule, bool, bool]] = {}

# The same of ufuncs whose result is real for complex arguments too: for real ones alone.
REAL: dict[np.ufunc, tuple[Rule, bool, bool]] = {}

# ufunc -> (its call with two operands, rule), likewise.
PAIRS: dict[np.ufunc, tuple[Callable[..., Any], Rule]] = {}
_UNKNOWN: tuple[Any, Any] = (None, None)


class Array(Traced, NdarrayInterface):
    """An array whose history is on a tape; it behaves as the ndarray that it stands for.

    Transforms make it; programs only meet it. `isinstance(x, tapegrad.Array)` tells that a value
    is being differentiated; `isinstance(x, np.ndarray)`, `isinstance(x, float)` and np.isscalar
    answer as for its value. Its attributes are those of ndarray; the untraced value comes from
    `tapegrad.stop_gradient(x)` alone. `float(x)`, `np.asarray(x)` and writes of x into a plain
    array raise ConversionError.

    >>> import tapegrad
    >>> tapegrad.grad(lambda x: print(type(x).__name__, x.shape) or (x * x).sum())(np.ones(2))
    Array (2,)
    array([2., 2.])
    """

    __slots__ = ()

    call_ufunc: ClassVar[Callable[..., Any]]  # any call of a ufunc; `ufuncs` sets it

    if TYPE_CHECKING:
        parent: Any  # of a view: the array that it was made from
        root: Any  # and the one at the end, which is no view

    @property  # type: ignore[misc]  # object's has a setter, ours needs none
    def __class__(self) -> Any:
        """That of the value if it is NumPy's: programs and NumPy's own code ask isinstance.

        Our own code that needs memory, or a number as it is, asks for the `type`: see `is_ndarray`
        and `is_plain_number`.
        """
        if asked_by_holder():
            return type(self)
        value = self._value
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
        return self.spec.ndim

    @property
    def size(self) -> int:
        return self.spec.size

    @property
    def real(self) -> Any:
        return np.real(self) if self.dtype.kind == "c" else self

    @real.setter
    def real(self, value: Value) -> None:
        self.real[...] = value

    @property
    def imag(self) -> Any:
        return np.imag(self)

    @imag.setter
    def imag(self, value: Value) -> None:
        if self.dtype.kind != "c":
            raise TypeError("array does not have imaginary part to set")
        self.imag[...] = value

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
            if short is None and self.spec.dtype.kind == "f":
                short = REAL.get(ufunc)
            if short is not None:
                rule, x_kept, out_kept = short
                x = self._value
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
                made._value = out
                made.slot = slot
                made.tape = tape
                made.spec = self.spec
                return made
        elif len(rest) == 1 and not kwargs and method == "__call__":
            call, rule = PAIRS.get(ufunc, _UNKNOWN)
            if call is not None:
                x, y = first, rest[0]
                if type(x) not in PLAIN_TYPES:
                    x = as_operand(x)
                if type(y) not in PLAIN_TYPES:
                    y = as_operand(y)
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
        rule = REGISTRY.get(function)
        known: Any = None
        if rule is not None and args:
            if args[0] is self:
                known = rule.calls
            if rule.calls_of_all is not None and rule.gathers:
                return self._of_several(function, rule, types, args, kwargs)
        if known is not None:
            key: Any = (self.spec, args[1:], *kwargs.items())
            try:
                settled = known.get(key, NEW)
            except TypeError:  # an array, or a list, among the parameters
                others = key_of(args[1:], kwargs)
                if others is None:
                    return self._by_rule(function, rule, types, args, kwargs)
                key = (self.spec, others, None)
                settled = known.get(key, NEW)
            if settled is not NEW and settled is not None:
                slot = self.slot
                x = self._value
                if slot != -1 and is_given(settled, args[1:], kwargs):
                    if type(x) is np.ndarray:
                        return self._settled(settled, x, settled.run(x), slot)
                    if is_recorded_array(x):
                        return self._settled(settled, x, x.by(settled.run, x), slot)
            result = self._by_rule(function, rule, types, args, kwargs)
            if settled is NEW and isinstance(result, Array):
                return self._learned(rule, key, result, args, kwargs)
            return result
        if rule is not None and rule.primitive is not None:
            call = rule.primitive(*args, **kwargs)
            made = None if call is None else self._as_primitive(*call)
            if made is not None:
                return made
        return self._by_rule(function, rule, types, args, kwargs)

    def _learned(
        self, rule: Rule, key: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """The result of a call that has not come before: as all later ones make it."""
        x = self._value
        if type(x) is not np.ndarray and not is_recorded_array(x):
            return result
        settled = learn(rule, key, self.spec, result._value, args, kwargs)
        if settled is None or self.slot == -1:
            return result
        with np.errstate(all="ignore"):  # so that all calls give the same bits
            return self._settled(settled, x, run_settled(settled, [x]), self.slot)

    def _of_several(
        self,
        function: Callable[..., Any],
        rule: Rule,
        types: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        """The result of a call of several arrays, which is settled if it came before."""
        tape = self.tape
        call = gather(rule, tape, PLAIN_TYPES, args)
        if call is None:
            return self._by_rule(function, rule, types, args, kwargs)
        arrays, raws, slots, rest = call
        known: Any = rule.calls_of_all
        key: Any = (arrays, rest, *kwargs.items())
        try:
            settled = known.get(key, NEW)
        except TypeError:  # an array, or a list, among the parameters
            others = key_of(rest, kwargs)
            if others is None:
                return self._by_rule(function, rule, types, args, kwargs)
            key = (arrays, others, None)
            settled = known.get(key, NEW)
        if settled is None or settled is NEW or not is_given(settled, rest, kwargs):
            result = self._by_rule(function, rule, types, args, kwargs)
            if settled is not NEW or not isinstance(result, Array):
                return result
            settled = learn_all(rule, key, call, result._value, kwargs)
            if settled is None:
                return result
            with np.errstate(all="ignore"):  # so that all calls give the same bits
                out = run_settled(settled, raws)
        else:
            out = settled.run(*raws) if type(raws) is list else run_settled(settled, raws)
        return tape.log_settled(settled, settled.rule, out, raws, tuple(slots))

    def _as_primitive(self, rule: Rule, arrays: Sequence[Value], params: Params) -> Any:
        """The result of a settled call of a rule; None for any other call."""
        if rule.calls is not None:
            return self._alone(rule, params) if arrays[0] is self else None
        tape = self.tape
        raws: list[Value] = []
        slots: list[Slot] = []
        key: list[Any] = []
        wanted: list[bool] = []
        for array in arrays:
            kind = type(array)
            slot: Slot = -1
            if kind is float:
                spec: Spec | None = NUMBER
            elif kind is not np.ndarray and kind in PLAIN_TYPES:
                if array.tape is not tape:
                    return None
                slot = array.slot
                spec = array.spec
                array = array._value
                if type(array) is not np.ndarray:
                    spec = settled_spec(array)
            else:
                spec = settled_spec(array)
            raws.append(array)
            slots.append(slot)
            key.append(spec)
            wanted.append(slot != -1)
        known: Any = rule.calls_of_all
        if known is None:
            return None
        settled = known.get((*key, tuple(wanted), *params.items()))
        if settled is None:
            return None
        out = rule.implementation(*raws, **params)
        return tape.log_settled(settled, rule, out, raws, tuple(slots))

    def _alone(self, rule: Rule, params: Params) -> Any:
        """The same for a rule of one array, which is this one. It is learned here."""
        known: Any = rule.calls
        slot = self.slot
        x = self._value
        if type(x) is not np.ndarray and not is_recorded_array(x) or slot == -1:
            return None
        key = (self.spec, (), *params.items())
        settled = known.get(key, NEW)
        if settled is not NEW and settled is not None:
            return self._settled(settled, x, run_settled(settled, [x]), slot)
        result = rule.apply_bound([self], params)
        if settled is NEW:
            learn(rule, key, self.spec, result._value, (self,), params)
        return result

    def _by_rule(
        self,
        function: Callable[..., Any],
        rule: Rule | None,
        types: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        """The result of a call of a function by its rule, or an error if there is none."""
        alone = len(args) == 1 and args[0] is self and not kwargs
        if not alone and not PLAIN_TYPES.issuperset(types):
            if isinstance(innermost((*args, *kwargs.values())), Mapped):
                return NotImplemented  # a vmap inside this array's transform comes first
            if any(map(has_own_functions, types)):
                return NotImplemented  # an array with units, say, which may hold a traced one
        if rule is None:
            if function in CREATION:
                return self._created(function, args, kwargs)
            raise no_rule(function)
        if not alone and (rule.several or not PLAIN_TYPES.issuperset(types)):
            args, kwargs = as_arguments(args, kwargs)
        if rule.view:
            arrays, params = rule.bind(args, kwargs)
            return as_view(rule, arrays[0], params)
        return rule.apply(*args, **kwargs)

    def _settled(self, settled: Settled, x: Any, out: Any, slot: Slot) -> Any:
        """The result of a call of x that is settled."""
        tape = self.tape
        at = tape.fresh()
        rule = settled.rule
        spec = settled.spec
        if rule.singular is not None and rule.singular(out):
            tape.root.singular = True
        tape.log(
            (
                at,
                rule,
                out if settled.keeps_out else spec,
                (x if settled.keeps_x else self.spec,),
                settled,
                (slot,),
                None,
            )
        )
        if settled.view and (
            out.base is x
            or (out.base is not None and out.base is x.base)
            or (is_recorded_array(out) and shares(out, x))
        ):
            view = new(Part if settled.view == "part" else Rearrangement)
            view._taken = copy_like(out) if slot in tape.buffers and _copies(out, self) else out
            view.taken_slot = at
            view.spec = spec
            view.parent = self
            view.root = root = self.root if self.is_view else self
            view.params = settled
            view.seen = root.slot
            view.rule = rule
            view.numbers = None
            return view
        made = new(Array)
        made._value = out
        made.slot = at
        made.tape = tape
        made.spec = spec
        return made

    def _created(self, function: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
        """The result of np.zeros(shape, like=self), traced so that it can be written to."""
        made = CREATION[function](*args, **kwargs)
        if isinstance(made, Traced) or not is_inexact(made):
            return made
        return self.tape.wrap(made, -1)

    # -- indexing and writing --------------------------------------------------------------------

    def __getitem__(self, index: Index) -> Any:
        kind = type(index)
        advanced = False  # whether it has arrays: then the result is a copy
        if kind is slice and index.step is None:  # `writes._stays`, written out
            start, stop = index.start, index.stop
            simple = (start is None or type(start) is int) and (stop is None or type(stop) is int)
        elif kind is tuple and all_basic(index):
            simple = True
        elif kind is tuple or kind is np.ndarray:
            index, simple = self._settled_index(index)
            advanced = simple
        else:
            simple = kind is int
        if not simple:
            index = frozen_index(index)
            mapped = batched_index_part(index, self.tape.level)
            if mapped is not None:
                return mapped.look_up(self, index)  # by a vmap inside this array's transform
        value = self._value
        out = value[index] if simple else getitem(value, index)
        kind = type(out)
        tape = self.tape
        whole = self.slot
        spec = self.spec
        if simple and kind is np.ndarray and not advanced:
            pass  # a part of an array, the frequent case
        elif kind is MaskedElements:
            return read(self, index)
        elif kind is np.float64 or not shares(out, value):
            slot = tape.fresh()
            tape.log((slot, READ, None, spec, index, whole, None))
            return Array(out, slot, tape, spec.family[out.shape])
        made = new(View)
        made.spec = spec.family[out.shape]
        made.parent = self
        made.params = index
        if type(self) is Array:
            made.root = self
            made.seen = whole
        else:
            made.root = root = self.root
            made.seen = root.slot
        if kind is not np.ndarray and isinstance(out, Mapped) and out.picked:
            out = copy_like(out)
        elif whole in tape.buffers and _copies(out, self):
            # Read at the first use, which may never come: the read copies the elements.
            made.seen = None
            made._taken = _AN_ARRAY if isinstance(out, np.ndarray) else None
            return made
        made._taken = out
        made.taken_slot = slot = tape.fresh()
        tape.log((slot, READ, None, spec, index, whole, None))
        return made

    def _settled_index(self, index: Any) -> tuple[Any, bool]:
        """An index with copies of its arrays, and whether it has only these and basic parts.

        The program may write to the arrays later. Of another index nothing is copied here.
        """
        copied = copied_index(index) if type(index) is tuple else index.copy()
        if copied is None or type(self._value) is not np.ndarray:
            return index, False
        return copied, True

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
        self._value = new._value
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


_NO_SLOT = object()


class View(Array):
    """A part of another traced array, selected by an index; it shows later writes to that array.

    `value`, `slot` and `tape` belong to the present state of the `root`, the array at the end of a
    chain of views, which is none itself: after a write to the root, the next access takes the view
    again. A write to the view goes through to the root. A part of a part has the parent of that
    part, so that only views made by functions form chains; no method recurses along them.
    """

    __slots__ = ("_placed", "_taken", "params", "parent", "root", "seen", "taken_slot")

    is_view = True

    def __init__(self, value: Value, slot: Slot, spec: Spec, parent: Array, params: Any) -> None:
        """`params` is the index, and of a `Rearrangement` what its rule got."""
        self._taken = value
        self.taken_slot = slot
        self.spec = spec
        self.parent = parent
        self.root: Any = parent.root if parent.is_view else parent
        self.params = params
        self.seen = self.root.slot  # serves as a version number: slots are never reused

    @property  # type: ignore[misc]  # object's has a setter, ours needs none
    def __class__(self) -> Any:
        """As of the value when it was taken last: a write does not change the class."""
        return type(self) if asked_by_holder() else class_shown(self._taken) or type(self)

    # -- reading ---------------------------------------------------------------------------------

    @property
    def tape(self) -> Any:
        return self.root.tape

    @property
    def _value(self) -> Any:
        if self.root.slot is not self.seen:
            self._take()
        return self._taken

    @property
    def slot(self) -> Any:
        if self.root.slot is not self.seen:
            self._take()
        return self.taken_slot

    def _take(self) -> None:
        """Take the view again from the root's state, and before it those that it is taken from."""
        version = self.root.slot
        stale: list[tuple[View, Any, Any]] = []
        view: Any = self
        while view.is_view and view.seen is not version:
            source, at = view.placed() if view._is_deep(version) else (view.parent, None)
            if at is not None and getattr(view._taken, "shape", None) != at.shape:
                at = None  # its layout is not known
            if at is None:
                source = view.parent
            stale.append((view, source, at))
            view = source
        while stale:
            view, source, at = stale.pop()
            if at is None:
                view._taken, view.taken_slot = view._taken_from(source)
            else:
                view._taken, view.taken_slot = _elements_of(source, at, view._taken)
            view.seen = version

    def placed(self) -> tuple[Any, Any]:
        """The array before this view from which on it is known where its elements are, and where.

        That is the root, but for views with elements of their own (the real part of complex
        numbers), which are followed by None in place of positions, as they are not known. They are
        found once for each view, from those of its parent: a program may hold a long chain of
        views, and read or write to each.
        """
        unknown: list[View] = []
        view: Any = self
        while view.is_view and not hasattr(view, "_placed"):
            unknown.append(view)
            view = view.parent
        source: Any = view
        at: Any = None
        if view.is_view and view._placed is not None:
            source, at = view._placed
        while unknown:
            view = unknown.pop()
            at = view._selected(_positions(source.spec) if at is None else at)
            view._placed = None if at is None else (source, at)
            source = view if at is None else source
        return source, at

    def _selected(self, at: Any) -> Any:
        """Of the positions of the parent's elements those of the view's, or None."""
        return at[self.params] if is_basic(self.params) else None

    def _is_deep(self, version: Slot = _NO_SLOT) -> bool:
        """Whether so many views lie between this one and the root that none is asked.

        With a version of the root those count that are older.
        """
        view: Any = self
        for _ in range(DEEP):
            view = view.parent
            if not view.is_view or view.seen is version:
                return False
        return True

    def _taken_from(self, parent: Array) -> tuple[Any, Any]:
        """Value and slot of the view, of a parent whose state is the present one."""
        tape = parent.tape
        whole = parent.slot
        value = parent._value
        index = self.params
        out = value[index] if type(value) is np.ndarray else getitem(value, index)
        if (
            whole in tape.buffers
            and _copies(out, parent)
            or (isinstance(out, Mapped) and out.picked)
        ):
            out = copy_like(out)
        slot = tape.fresh()
        tape.log((slot, READ, None, parent.spec, index, whole, None))
        return out, slot

    def __getitem__(self, index: Index) -> Any:
        params = self.params
        kind = type(index)
        spec = self.spec
        ndim = spec.ndim
        if (
            self.root.slot is self.seen
            and spec.size <= FEW
            and (
                kind is int
                and ndim == 1
                or kind is tuple
                and len(index) == ndim
                and _INT.issuperset(map(type, index))
            )
        ):
            # A number of a small view that is up to date: to read it from the view is faster, also
            # in a replay, than from the root.
            taken = self._taken
            if type(taken) is not np.ndarray:
                return Array.__getitem__(self, index)
            tape = self.root.tape
            out = taken[index]
            slot = tape.fresh()
            tape.log((slot, READ, None, spec, index, self.taken_slot, None))
            return Array(out, slot, tape, spec.family[()])
        try:
            if kind is slice and type(params) is slice and index.step is None:
                parent = self.parent
                at: Any = range(parent.spec.shape[0])[params][index]
                step = at.step
                return parent[slice(at.start, at.stop) if step == 1 else as_slice(at)]
            at = None if _adds_axes(index) or _adds_axes(params) else self.place(index)
            if at is not None:
                return self.parent[at]
        except (IndexError, TypeError):  # as NumPy says it of the view
            pass
        return Array.__getitem__(self, index)

    def place(self, index: Index) -> Any:
        """The index of the parent for one of the view, if both are basic; else None."""
        kind = type(index)
        if kind is not int:
            index = frozen_index(index)
            if not is_basic(index):
                return None
        params = self.params
        if type(params) is int or is_basic(params):
            return composed(self.parent.spec.shape, params, index)
        return None

    # -- writing ---------------------------------------------------------------------------------

    def write(self, index: Index, value: Value) -> None:
        """`self[index] = value`, as a write to the root."""
        view: Any = self
        while view.is_view:
            source, at = view.parent, None
            if _is_placed(index) and view._is_deep():
                source, at = view.placed()
            if at is None:
                index, value = view._passed_on(index, value)
                view = view.parent
            else:
                value = fitted(view, ... if index is WHOLE else index, value)
                at = at if index is WHOLE else at[index]
                index, view = np.unravel_index(at, source.spec.shape), source
        if index is WHOLE:
            view.rebind(value)
        else:
            write_part(view, index, value)

    def _passed_on(self, index: Index, value: Value) -> tuple[Any, Any]:
        """The index and value of the write to the parent that a write to this view is."""
        if index is WHOLE:
            return self.params, value  # which may be None, the index of a new axis
        at = self.place(index)
        if at is None:
            at, value = self.params, self._replaced(index, value)
        return at, value

    def _replaced(self, index: Index, value: Value) -> Any:
        """The new state of the view after a write to it."""
        whole = snapshot(self)
        write_part(whole, index, value)
        return whole

    def __reduce__(self) -> Any:
        return NdarrayInterface.__reduce__(self)


def _elements_of(source: Array, at: Any, before: Any) -> tuple[Any, Any]:
    """Value and slot of the elements at positions, in the memory layout of an array."""
    index = np.unravel_index(at, source.spec.shape)
    taken = laid_out_as(before, getitem(source._value, index))
    tape = source.tape
    slot = tape.fresh()
    tape.log((slot, READ, None, source.spec, index, source.slot, None))
    return taken, slot


def _is_placed(index: Index) -> bool:
    """Whether the positions that an index selects are those that it selects of positions."""
    if index is WHOLE or type(index) is np.ndarray or is_basic(index):
        return True
    return type(index) is tuple and all(
        type(part) is np.ndarray or is_basic_part(part) for part in index
    )


def _copies(part: Value, whole: Array) -> bool:
    """Whether a part of a buffer, which is written to in place, is copied when it is read.

    While a view of it lives, the next write copies the whole buffer, which then is written to in
    place. So where the part is at least half of the buffer, the copy may as well wait: there may
    be no other write.
    """
    return type(part) is not np.ndarray or 2 * part.size < whole.spec.size


def _positions(spec: Spec) -> Any:
    """The positions of the elements of an array, in its shape."""
    return np.arange(spec.size).reshape(spec.shape)


_NEW_AXES = frozenset((type(None), type(Ellipsis)))


def _adds_axes(index: Index) -> bool:
    """Whether an index has new axes or an Ellipsis: then a part of the part reads the part."""
    if type(index) is tuple:
        return not _NEW_AXES.isdisjoint(map(type, index))
    return index is None or index is Ellipsis


class Rearrangement(View):
    """A view made by a function's rule: a transpose, a reshape, a diagonal."""

    __slots__ = ("numbers", "rule")

    def __init__(
        self, value: Value, slot: Slot, spec: Spec, parent: Array, params: Any, rule: Rule
    ) -> None:
        View.__init__(self, value, slot, spec, parent, params)
        self.rule = rule
        self.numbers: Any = None  # of the parent's elements, by their positions in the view

    def _taken_from(self, parent: Array) -> tuple[Any, Any]:
        fresh = as_view(self.rule, parent, self.params)
        return fresh._value, fresh.slot

    def __getitem__(self, index: Index) -> Any:
        return Array.__getitem__(self, index)

    def place(self, index: Index) -> None:
        """None: elements next to each other in the view need not be so in the parent."""

    def _selected(self, at: Any) -> Any:
        parent = self.parent
        if self.dtype != parent.dtype or self.params.get("order") == "K":
            return None  # a component of complex numbers, or an order that memory decides
        return self.rule.call([at], self.params)

    def _passed_on(self, index: Index, value: Value) -> tuple[Any, Any]:
        rule, parent = self.rule, self.parent
        if self.dtype != parent.dtype:
            if index is WHOLE:
                index = ...
            value = fitted(self, index, value)
            return index, REPLACED[rule.function].apply_bound([parent[index], value], {})
        at = self._number(... if index is WHOLE else index)
        if at is not None:
            return at, value
        whole = value if index is WHOLE else self._replaced(index, value)
        (back,) = rule.pull(whole, None, [parent.spec], self.params, [True])
        room = laid_out_as(parent._value, back._value)
        return WHOLE, back if room is back._value else Array(room, back.slot, back.tape, back.spec)

    def _number(self, index: Index) -> Any:
        """The index of the parent's elements that an index of this view selects, if known."""
        parent = self.parent
        partial = self.spec.size != parent.spec.size
        if not partial and (not is_basic(index) or self.params.get("order") == "K"):
            return None
        if self.numbers is None:
            order = np.arange(parent.spec.size).reshape(parent.spec.shape)
            self.numbers = self.rule.call([order], self.params)
        at = self.numbers[index]
        if at.shape and not partial:
            return None  # the transpose of the whole is faster than a write by numbers
        found = np.unravel_index(at, parent.spec.shape)
        return found if at.shape else (*map(int, found), *(() if found else (...,)))


class Part(Rearrangement):
    """A view that NumPy makes read-only: a diagonal, windows, the imaginary part of reals."""

    __slots__ = ()

    def _selected(self, _at: Any) -> None:
        return None

    def _passed_on(self, index: Index, value: Value) -> NoReturn:
        raise ValueError(f"{self.rule.name}: its result cannot be written to. Copy it first.")


ARRAYS = frozenset({Array, View, Rearrangement, Part})

# Of arguments of these types, none has a turn before a traced array, nor has to be converted.
PLAIN_TYPES = ARRAYS | {np.ndarray}

for _kind in (View, Rearrangement, Part):
    _kind.__name__ = _kind.__qualname__ = "Array"

_INT = frozenset((int,))
FEW = 1024  # elements of a view whose cotangent is cheap to collect apart
DEEP = 4  # views between a view and its root, from which on the root alone is asked
WHOLE = object()  # the index of a write that replaces all of an array, in place of its value
_AN_ARRAY = np.empty(0)  # says of a view that has not been taken that its value is an array


def as_view(rule: Rule, parent: Value, params: Params) -> Any:
    """The result of a rule whose NumPy function may return a view: a `View` if it does."""
    if params.get("order") == "A" and isinstance(parent, Traced):
        # The memory layout decides now, because a replay does not know it.
        params = {**params, "order": "F" if memory_of(parent).flags.fnc else "C"}
    out = rule.apply_bound([parent], params)
    if not isinstance(out, Array) or not isinstance(parent, Array):
        return out
    read_only = rule.view == "part" and not params.get("writeable")
    if rule.function is np.imag and out.shape and parent.dtype.kind != "c":
        read_only = True  # zeros that NumPy makes for it
    elif out.tape is not parent.tape or not shares(out._value, parent._value):
        return out
    kind = Part if read_only else Rearrangement
    value = out._value
    if parent.slot in out.tape.buffers and _copies(value, parent):
        value = copy_like(value)
    return kind(value, out.slot, out.spec, parent, params, rule)


# --- Components of complex arrays ---------------------------------------------------------------


def _replaced(part: str, keep: Callable[[Any], Any], take: Callable[[Any], Any]) -> Rule:
    """The rule of z with another real or imaginary part, which is linear in both."""

    def replace(z: Value, value: Value) -> Any:
        if in_trace(z) or in_trace(value):
            return rule.apply_bound([z, value], {})
        made = np.array(z)
        setattr(made, part, value)
        return made if is_ndarray(z) else made[()]

    rule = linear(
        replace,
        lambda g, _out, _z, _value: keep(g),
        lambda g, _out, _z, _value: take(g),
        name=f"z.{part} =",
        batch="align",
    )
    return rule


def _times_i(x: Value) -> Any:
    return x * 1j


# What a write to np.real(z)[i] makes of z[i].
REPLACED = {
    np.real: _replaced("real", lambda g: _times_i(np.imag(g)), np.real),
    np.imag: _replaced("imag", lambda g: np.real(g) + 0j, lambda g: -np.imag(g)),
}
