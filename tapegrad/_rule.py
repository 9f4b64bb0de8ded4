"""What is known of a function: the class of rules, their registry, and how a call is bound.

Knows the tape's logging and replays. Must not know which functions exist (that is `rules/`), the
forms in which they are declared (`_forms`), nor the class of traced arrays.

One declaration serves every replay: the value (`rule.function`), the cotangent (`pull`), the
tangent (`push`), and how the function batches (`batch`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tapegrad._errors import BatchingError, NotDifferentiableError, name_of
from tapegrad._fitting import Scatter, cast
from tapegrad._numpy_versions import deprecated_keywords, signature_of
from tapegrad._pushing import derivatives_along
from tapegrad._tape import (
    Mapped,
    Spec,
    Tape,
    Traced,
    is_ndarray,
    is_numpy,
    level_of,
    pick,
    require_numbers,
    spec_of,
)

Function = Callable[..., Any]
Partial = Function | int | None

REGISTRY: dict[Function, Rule] = {}

# How a function batches, one word a declaration, which `_batching` explains. Otherwise a signature
# of core dimensions like "(m,m),(m,k)", or the batched function itself.
BATCH_WORDS = ("align", "axis", "flat", "shape", "example", "ragged", "loop")


_ONE = (True,)


class Rule:
    """What tapegrad knows of one function. The forms below are its subclasses."""

    form = "rule"
    unary = False
    strong = False
    fresh = False  # the result is an array of its own even where the argument is a number
    in_order = False  # the same elements in C order, but for order="F": a new shape
    product = False  # x * y: the replay takes the other factor without a call
    times: Function
    x_partial: Function | None = None
    y_partial: Function | None = None

    def __init__(
        self,
        function: Function,
        *,
        arrays: int | Sequence[str] = 1,
        sequence: bool = False,
        name: str | None = None,
        signature: str | None = None,
        batch: str | Function = "loop",
        view: bool | str = False,
        in_order: bool = False,
        fresh: bool = False,
        implementation: Function | None = None,
        singular: Function | None = None,
    ) -> None:
        self.function = function
        self.implementation = implementation or function  # the same on plain values, but faster
        self.name = name or _qualified_name(function)
        self.sequence = sequence  # the first argument is a sequence of arrays
        self.singular = singular  # tells of a result whether its cotangent is a limit
        self.batch = batch
        # NumPy may return a view of the first argument; "part": one that is not written through,
        # "number": of a 0-d array a number.
        self.view = view
        self.in_order, self.fresh = in_order, fresh
        self.deprecated = deprecated_keywords(function)
        self._arrays = arrays
        self._signature = signature
        self._names: tuple[str, ...] = ()
        self._array_names: tuple[str, ...] = ()
        self._needed: dict[tuple[bool, ...], tuple[Sequence[bool], bool]] = {}

    # -- calling ---------------------------------------------------------------------------------

    def apply(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function on arguments of which some are traced."""
        if not kwargs and len(args) == 1 and isinstance(args[0], Traced) and not self.sequence:
            return self._apply_one(args[0], {})
        out = kwargs.pop("out", None)
        arrays, params = self.bind(args, kwargs)
        out = params.pop("out", None) if out is None else out
        dtype = params.get("dtype")
        if dtype is not None and np.dtype(dtype).kind not in "fc":
            result = self.call([plain(array) for array in arrays], params)  # piecewise constant
            require_numbers(self, np.empty(0, dtype))
        else:
            result = self.apply_bound(arrays, params)
        return result if out is None else write_out(out, result, self.name)

    def apply_bound(self, arrays: list[Any], params: dict[str, Any]) -> Any:
        for name, value in params.items():
            if holds_traced(value):
                raise NotDifferentiableError(
                    f"{self.name}: not differentiable by its argument {name!r}. Pass "
                    "tapegrad.stop_gradient(...) of it if it is a constant."
                )
        if len(arrays) == 1 and isinstance(arrays[0], Traced) and not self.sequence:
            return self._apply_one(arrays[0], params)
        inner = innermost(arrays)
        if inner is None:
            return self.call(arrays, params)
        if not isinstance(inner, Traced):
            return inner.call_rule(self, arrays, params)
        tape = inner.tape
        raws, slots = [], []
        for array in arrays:
            if isinstance(array, Traced) and array.tape.root is tape.root:
                raws.append(array.value)
                slots.append(array.slot)
            else:
                raws.append(array)
                slots.append(-1)
        return tape.record(self, self.call(raws, params), raws, slots, params)

    def _apply_one(self, x: Traced, params: dict[str, Any]) -> Any:
        """The frequent case of one traced array."""
        raw, slot, tape = x.value, x.slot, x.tape
        out = self.implementation(raw, **params)
        kind = type(out)
        if kind is not np.ndarray and kind is not np.float64:
            if not hasattr(out, "dtype") and not isinstance(out, (tuple, list)):
                out = np.asarray(out)[()]  # a user's function may return Python numbers
            if isinstance(out, (tuple, list)):
                return tape.record(self, out, [raw], [slot], params)
        if slot == -1 or self.singular is not None:
            return tape.record(self, out, [raw], [slot], params)
        spec = spec_of(out)
        if spec.family is not x.spec.family and spec.dtype.kind not in "fc":
            require_numbers(self, out)
            return out  # np.sum(x, dtype=int): whole numbers are piecewise constant
        (needed,), out_needed = self.needed(_ONE)
        out_slot = tape.fresh()
        kept = (raw if needed else x.spec,)
        params = tape.keep_params(params) if params else params
        tape.log((out_slot, self, out if out_needed else spec, kept, params, (slot,), None))
        return tape.array(out, out_slot, tape, spec)

    def call(self, arrays: Sequence[Any], params: dict[str, Any]) -> Any:
        """The function on normalised arguments."""
        if self.sequence:
            return self.implementation(list(arrays), **params)
        if arrays and arrays[-1] is None:
            arrays = list(arrays)
            while arrays and arrays[-1] is None:
                arrays.pop()
        return self.implementation(*arrays, **params)

    def bind(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        """Arguments as a list of arrays, and the rest by keyword without what has its default."""
        if not self._names:
            self._learn_names()
        if len(args) > len(self._names):
            raise TypeError(
                f"{self.name}: expected at most {len(self._names)} positional arguments, "
                f"got {len(args)}."
            )
        params = dict(zip(self._names, args, strict=False))
        if kwargs:
            twice = params.keys() & kwargs.keys()
            if twice:
                raise TypeError(f"{self.name}: got two values for argument {min(twice)!r}.")
            if self.deprecated:
                self.refuse_deprecated(kwargs)
            params.update(kwargs)
        order = params.get("order")
        if type(order) is str and order in "cfak":
            params["order"] = order.upper()
        given = [params.pop(name, None) for name in self._array_names]
        if self.sequence:
            parts = [lift(part) for part in given[0]]
            return [x if hasattr(x, "shape") else np.asarray(x) for x in parts], params
        return [lift(array) for array in given], params

    def refuse_deprecated(self, kwargs: dict[str, Any]) -> None:
        """Raise TypeError for a keyword that NumPy is about to drop."""
        for name in self.deprecated.keys() & kwargs.keys():
            raise TypeError(
                f"{self.name}: the keyword {name!r} is deprecated, and not taken with traced "
                f"values. {self.deprecated[name]}"
            )

    def split_out(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The same call with an `out` that came by position, and what follows it, by keyword."""
        if len(args) < 2 or isinstance(self.function, np.ufunc):
            return args, kwargs
        if not self._names:
            self._learn_names()
        if "out" not in self._names[: len(args)]:
            return args, kwargs
        position = self._names.index("out")
        return args[:position], {
            **dict(zip(self._names[position:], args[position:], strict=False)),
            **kwargs,
        }

    def _learn_names(self) -> None:
        if isinstance(self.function, np.ufunc):
            names = [f"x{i + 1}" for i in range(self.function.nin)]
        elif self._signature is not None:
            names = [name.strip() for name in self._signature.split(",")]
        else:
            names = [
                parameter.name
                for parameter in signature_of(self.function).parameters.values()
                if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
            ]
        arrays = self._arrays
        self._array_names = tuple(names[:arrays] if isinstance(arrays, int) else arrays)
        self._names = tuple(names)

    def needed(self, wanted: tuple[bool, ...]) -> tuple[Sequence[bool], bool]:
        """`needs`, remembered."""
        found = self._needed.get(wanted)
        if found is None:
            found = self._needed[wanted] = self.needs(wanted)
        return found

    # -- replaying -------------------------------------------------------------------------------

    def needs(self, wanted: Sequence[bool]) -> tuple[Sequence[bool], bool]:
        """Which arguments, and whether the result, the derivatives by the wanted ones read."""
        return [True] * len(wanted), True

    def pull(
        self, g: Any, out: Any, args: Sequence[Any], params: dict[str, Any], wanted: Sequence[bool]
    ) -> Sequence[Any]:
        """One cotangent (or None) an argument."""
        raise NotImplementedError

    def push(
        self, dots: Sequence[Any], out: Any, args: Sequence[Any], params: dict[str, Any]
    ) -> Any:
        """The result's tangent from those of the arguments (None where there is none)."""
        raise NotImplementedError

    def push_plainly(
        self, dots: Sequence[Any], out: Any, args: Sequence[Any], params: dict[str, Any]
    ) -> Any:
        """`push` for tangents that are finite: products need not be strong ones."""
        return self.push(dots, out, args, params)

    def __repr__(self) -> str:
        return f"<{self.form} {self.name}>"


def _qualified_name(function: Function) -> str:
    module = getattr(function, "__module__", None) or ""
    if isinstance(function, np.ufunc):
        module = "numpy"
    prefix = "np" + module.removeprefix("numpy") + "." if module.startswith("numpy") else ""
    return prefix + name_of(function)


def deepest_tape(values: Sequence[Any]) -> Tape | None:
    """The tape of the innermost transform that any of these values belongs to."""
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
        else:
            continue
        if level > highest:
            found, highest = value, level
    return found


def lift(value: Any) -> Any:
    """A list or tuple with traced values in it as one traced array; anything else as it is."""
    if isinstance(value, (Traced, Mapped)):
        return value
    if isinstance(value, (list, tuple)) and innermost(value) is not None:
        return np.stack([lift(part) for part in value])
    return value


def holds_traced(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(holds_traced, value))
    return isinstance(value, Traced)


def of_all_examples(condition: Any) -> Any:
    """A condition without tracing; under vmap with the examples along leading axes."""
    while isinstance(condition, (Traced, Mapped)):
        condition = condition.value
    return condition


def somewhere(condition: Any) -> bool:
    """Whether a condition holds for any element, of any example that a vmap maps over.

    For a rule that can save work, or a warning, where a case does not occur. What it computes must
    be right wherever the case does occur, element by element.
    """
    condition = of_all_examples(condition)
    if not (is_numpy(condition) or isinstance(condition, bool)):
        return True  # an array of another library may be lazy, and is not computed
    return bool(np.any(condition))


def write_out(out: Any, result: Any, call: str, *, broadcast: bool = False) -> Any:
    """Deliver a traced result into `out=`, which must be traced too.

    `broadcast`: a larger `out` gets the result many times, as from ufuncs.
    """
    targets = out if isinstance(out, tuple) else (out,)
    results = result if isinstance(result, tuple) else (result,)
    delivered = list(results)
    for i, (target, part) in enumerate(zip(targets, results, strict=False)):
        if target is None:
            continue
        if not isinstance(target, (Traced, Mapped)) and isinstance(part, Mapped):
            raise BatchingError(
                f"{call}: expected a batched array for out= (or on the left of +=), got a plain "
                f"{type(target).__name__}, which all examples share. Leave out= away (x = x + y "
                "for x += y), or make the array with np.array(a, like=y) of a batched y."
            )
        if not isinstance(target, (Traced, Mapped)):
            raise NotDifferentiableError(
                f"{call}: expected a traced array for out=, got a plain {type(target).__name__}, "
                "which cannot carry a derivative. Leave out= away, or make the array with "
                "np.zeros_like(x) of a traced x."
            )
        if not np.can_cast(part.dtype, target.dtype, "same_kind"):
            raise TypeError(
                f"{call}: cannot cast the result from {part.dtype} to {target.dtype} for out=."
            )
        if target.shape != part.shape and not (broadcast and stretches(part.shape, target.shape)):
            raise ValueError(
                f"{call}: the result of shape {part.shape} does not fit out= of shape "
                f"{target.shape}."
            )
        target[...] = part
        delivered[i] = target
    return tuple(delivered) if isinstance(result, tuple) else delivered[0]


def stretches(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    """Whether an array of one shape broadcasts to another, larger one."""
    sides = zip(shape[::-1], to[::-1], strict=False)
    return shape != to and len(shape) <= len(to) and all(a in (1, b) for a, b in sides)


def plain(value: Any) -> Any:
    """A value without any tracing, also inside lists, tuples and dicts."""
    while isinstance(value, Traced):
        value = value.value
    if isinstance(value, (list, tuple)) and holds_traced(value):
        return type(value)(map(plain, value))
    return value


def refuse_other_meaning(operand: Any) -> None:
    """Raise NotDifferentiableError for an operand whose operators are not those of arrays."""
    kind = type(operand)
    if (
        issubclass(kind, (np.matrix, np.ma.MaskedArray))
        or hasattr(kind, "__array_priority__")
        and not hasattr(kind, "__array__")  # a sparse matrix
    ):
        raise NotDifferentiableError(
            f"x * {kind.__name__}: expected a plain array beside a traced one, got a "
            f"{kind.__name__}, whose operators mean something else. Pass np.asarray of it, or its "
            "toarray()."
        )


def memory_of(value: Any) -> Any:
    """The array that a value is in memory, and of a batched value that of one example."""
    value, inside = plain(value), 0
    while isinstance(value, Mapped):
        value, inside = plain(value.value), inside + 1
    if inside and all(value.shape[:inside]) and is_ndarray(value):
        return value[(0,) * inside]
    return value  # also where there are no examples, and nothing to share


# Modules whose functions all carry no derivative, and why: known without importing them.
UNSUPPORTED_MODULES: dict[str, str] = {}


def unsupported_module(name: str, reason: str) -> None:
    """Declare every function of a module as `unsupported` does, without importing it."""
    UNSUPPORTED_MODULES[name] = reason


def rules_of_form(form: str) -> Iterator[Rule]:
    """All declared rules of one form."""
    return (rule for rule in REGISTRY.values() if rule.form == form)


__all__ = [
    "REGISTRY",
    "BatchingError",
    "Rule",
    "Scatter",
    "Spec",
    "cast",
    "derivatives_along",
    "is_ndarray",
    "is_numpy",
    "memory_of",
    "of_all_examples",
    "pick",
    "plain",
    "somewhere",
    "spec_of",
    "unsupported_module",
]
