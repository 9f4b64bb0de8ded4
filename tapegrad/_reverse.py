"""Reverse mode: vjp, grad, value_and_grad.

Knows how a transform opens a stretch of a tape, runs a function and replays the stretch backward.
Must not know rules, or how arrays log.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import Token
from typing import Any, Self

import numpy as np

from tapegrad._errors import (
    InputError,
    OutputError,
    ShapeMismatchError,
    describe,
    message,
    name_of,
)
from tapegrad._fitting import has_nan
from tapegrad._inputs import (
    Argnums,
    Inputs,
    Selection,
    own_copy,
)
from tapegrad._pushing import parents_of
from tapegrad._replay import SparseBars, replay_backward, replay_nested
from tapegrad._tape import (
    CURRENT,
    PROJECT,
    READ,
    Entry,
    Mapped,
    Tape,
    Traced,
    handle,
    is_array,
    is_inexact,
    spec_of,
)
from tapegrad._transformed import Transformed
from tapegrad._tree import flatten, flatten_like, tree_map
from tapegrad._warning import warn

Function = Callable[..., Any]


LARGE = 256  # elements from which adding in place is faster than making a new array


HUGE_BYTES = 1 << 18  # of an input, from which a replay frees what it has used


class IndependentOutputWarning(UserWarning):
    """The output of a differentiated function does not depend on its input."""


class _Enter:
    """The rule of an input's entry where the input is traced by an outer transform: identity."""

    name = "input"
    unary = True
    strong = False
    product = False
    x_partial = None
    y_partial = None


_ENTER = _Enter()


class Stretch:
    """The part of a tape that one run of a function logs; a context manager around the run.

    A reverse transform inside another shares its tape. Where nothing in the stretch depends on the
    outer one, the stretch is replayed raw and removed from the tape when it closes.
    """

    __slots__ = (
        "dependent",
        "end",
        "entries",
        "first",
        "huge",
        "large",
        "linked",
        "shared",
        "singular",
        "start",
        "tape",
        "token",
    )

    def __init__(self, name: str, *, copies: bool = False) -> None:
        outer = CURRENT.get()
        self.shared = type(outer) is Tape
        self.tape = Tape(name, copies=copies, parent=outer if self.shared else None)
        self.first = len(self.tape.entries)
        self.start = self.end = self.tape.fresh()
        self.entries: list[Entry] = self.tape.entries
        self.singular = False  # whether a rule in the replay needs to take a limit
        self.dependent = False  # whether an outer transform can differentiate what is logged here
        self.large = False  # whether an input is
        self.huge = False  # whether one is so large that memory is freed during the replay
        self.linked = False  # whether an input is traced by one
        self.token: Token[Tape | None] | None = None

    def __enter__(self) -> Self:
        self.token = CURRENT.set(self.tape)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: object
    ) -> None:
        if self.token is not None:
            CURRENT.reset(self.token)
        if isinstance(error, ValueError) and "read-only" in str(error) and self.tape.locked:
            error.add_note(
                f"{self.tape.name} locks large plain arrays that a derivative depends on while it "
                "runs. Write into a copy, or make the buffer anew each time."
            )
        if self.shared and not self.dependent and not self._depends_on_outer():
            del self.tape.entries[self.first :]
        self.tape.close(verify=kind is None)

    def input(self, leaf: Any) -> Traced:
        """A leaf as an input: the same value at a slot of this stretch."""
        tape = self.tape
        slot = tape.fresh()
        if type(leaf) is np.ndarray:
            if leaf.size > LARGE:
                self.large = True
                self.huge = self.huge or leaf.nbytes > HUGE_BYTES
            return tape.array(tape.keep_input(leaf), slot, tape, spec_of(leaf))
        if isinstance(leaf, Traced) and leaf.tape.root is tape.root:
            leaf.tape.require_open()
            tape.log((slot, _ENTER, None, None, None, leaf.slot, -1))
            # The outer replay goes through this entry, the stretch's own ends before it.
            self.first = len(tape.entries)
            self.linked = self.linked or leaf.slot != -1
            return tape.array(leaf.value, slot, tape, leaf.spec)
        return tape.wrap(handle(leaf), slot)

    def finish(self, out: Any) -> None:
        """The function has returned `out`: what is logged from here on is not in the stretch."""
        if type(out) is not self.tape.array:
            for leaf in flatten(out)[0]:
                if isinstance(leaf, Traced):
                    leaf.slot  # noqa: B018 - a view takes the present state of its parent now
        self.end = self.tape.fresh()
        self.singular = self.tape.root.singular
        if self.shared:
            self.entries = self.tape.entries[self.first :]
            self.dependent = self._depends_on_outer()

    def _depends_on_outer(self) -> bool:
        start = self.start
        return self.linked or any(
            slot != -1 and slot < start
            for entry in self.tape.entries[self.first :]
            for slot in parents_of(entry)
        )

    def owns(self, value: Any) -> bool:
        """Whether a value's derivative is in this stretch."""
        if not isinstance(value, Traced):
            return False
        value.tape.require_open()
        return bool(value.tape.root is self.tape.root and value.slot >= self.start)

    def strip(self, value: Any) -> Any:
        """A value as the surroundings may see it: plain, or traced by an outer transform."""
        if not isinstance(value, Traced):
            return value
        value.tape.require_open()
        if value.tape is not self.tape:
            return value
        outer = self.tape.parent
        if outer is None or (not self.dependent and value.slot >= self.start):
            return value.value
        return outer.array(value.value, value.slot, outer, value.spec)

    @property
    def surroundings(self) -> Tape | None:
        """The tape on which a replay logs: the outer one, if it can differentiate the replay."""
        return self.tape.parent if self.dependent else None

    def pull(
        self,
        slots: list[int],
        bars: list[Any],
        inputs: list[int],
        value: Any = None,
        *,
        consume: bool = False,
    ) -> list[Any] | None:
        """The cotangents at the slots of inputs, from those of outputs.

        Where `value`, the only output and a scalar, is NaN, NaNs stay NaN. `consume` frees on the
        way what entries keep; None then says that they would be needed again.
        """
        with np.errstate(all="ignore"):
            found = self._pulled(slots, bars, inputs, careful=False, consume=consume)
            if not any(map(has_nan, found)):
                return found
            while isinstance(value, Traced):
                value = value.value
            if not isinstance(value, Mapped) and has_nan(value):
                return found
            if consume and not self.singular:
                return None
            # It may be zero times an infinity or a NaN, in a branch that was not taken.
            careful = self._pulled(slots, bars, inputs, careful=True)
            if not has_nan(value):
                return careful
            unknown = np.reshape(np.isnan(value), ())  # for some examples of a vmap, perhaps
            return [
                bar if bar is None else np.where(unknown, before, bar)
                for before, bar in zip(found, careful, strict=True)
            ]

    def _pulled(
        self,
        slots: list[int],
        bars: list[Any],
        inputs: list[int],
        *,
        careful: bool,
        consume: bool = False,
    ) -> list[Any]:
        raw = not self.shared and not self.singular
        table: Any = [None] * self.end if raw else SparseBars(self.start)
        for slot, bar in zip(slots, bars, strict=True):
            before = table[slot]
            table[slot] = bar if before is None else before + bar
        # Infinities at singular points are for the strong product to judge, not for warnings.
        if raw:
            replay_backward(
                self.entries, table, consume=consume, large=self.large, careful=careful
            )
            return [table[slot] for slot in inputs]
        # A transform inside a rule belongs to the tape on which this replay logs, if to any.
        token = CURRENT.set(self.surroundings)
        try:
            if self.singular and not self.dependent:
                self._pull_singular(table, careful=careful)
            else:
                replay_nested(self.entries, table, self.surroundings, careful=careful)
        finally:
            CURRENT.reset(token)
        return [table[slot] for slot in inputs]

    def _pull_singular(self, table: SparseBars, *, careful: bool) -> None:
        """A replay that nothing differentiates, but traced: a rule in it takes a limit.

        The replay logs on a replica of the tape, where `derivatives_along` finds how cotangents
        came about.
        """
        tape = self.tape.replica(self.entries, self.end)
        try:
            replay_nested(self.entries, table, tape, careful=careful)
            for slot, bar in table.items():
                if isinstance(bar, Traced) and bar.tape is tape:
                    table[slot] = bar.value
        finally:
            tape.close()


# --- Transforms ---------------------------------------------------------------------------------


def value_and_grad(
    f: Function,
    argnums: Argnums = None,
    *,
    argnames: str | Sequence[str] | None = None,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Transformed:
    """A function that returns `(f(...), gradient)`; for the options see `grad`.

    With `has_aux` it returns `((value, aux), gradient)`.

    >>> value, gradient = value_and_grad(lambda x: np.sum(x**2))(np.array([1.0, 2.0]))
    >>> float(value), gradient
    (5.0, array([2., 4.]))
    """
    run = _gradient_runner(f, argnums, argnames, has_aux, holomorphic)

    def evaluate(*args: Any, **kwargs: Any) -> Any:
        value, gradient, aux = run(args, kwargs)
        return ((value, aux), gradient) if has_aux else (value, gradient)

    return Transformed(
        value_and_grad,
        f,
        {
            "argnums": argnums,
            "argnames": argnames,
            "has_aux": has_aux,
            "holomorphic": holomorphic,
        },
        evaluate,
    )


def grad(
    f: Function,
    argnums: Argnums = None,
    *,
    argnames: str | Sequence[str] | None = None,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Transformed:
    """The gradient of a function with a real scalar output, by reverse mode.

    `argnums` says which positional arguments to differentiate by (an integer, or several for a
    tuple of gradients; by default the first), `argnames` which keyword arguments (a name, or
    several for a dict). Arguments are arrays or scalars of a floating or complex dtype, or pytrees
    of them; the gradient has their containers, shapes and dtypes. `has_aux`: f returns `(value,
    aux)`, and the result is `(gradient, aux)`. `holomorphic`: inputs and output are complex, and f
    is analytic.

    For a complex input x + iy of a real output u the gradient is du/dx - i du/dy.

    Raises InputError for integer inputs, OutputError for an output that is not a real scalar.
    Warns (IndependentOutputWarning) where the output does not depend on the inputs; the gradient
    is 0.

    >>> grad(lambda x, y: np.sum(x * y), argnums=(0, 1))(np.array([1.0, 2.0]), 3.0)
    (array([3., 3.]), np.float64(3.0))
    """
    run = _gradient_runner(f, argnums, argnames, has_aux, holomorphic)

    def gradient(*args: Any, **kwargs: Any) -> Any:
        _, result, aux = run(args, kwargs)
        return (result, aux) if has_aux else result

    return Transformed(
        grad,
        f,
        {
            "argnums": argnums,
            "argnames": argnames,
            "has_aux": has_aux,
            "holomorphic": holomorphic,
        },
        gradient,
    )


def _gradient_runner(
    f: Function,
    argnums: Argnums,
    argnames: str | Sequence[str] | None,
    has_aux: bool,
    holomorphic: bool,
) -> Callable[[tuple[Any, ...], dict[str, Any]], tuple[Any, Any, Any]]:
    """What grad and value_and_grad do at each call: value, gradient, aux."""
    name = f"grad({name_of(f)})"
    selection = Selection(f"{name}(...)", argnums, argnames)

    def run(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any, Any]:
        # A replay over huge arrays frees them on the way. In the rare case that it must be
        # repeated, with strong products, f runs again too.
        return attempt(args, kwargs, keep=False) or attempt(args, kwargs, keep=True)

    def attempt(args: tuple[Any, ...], kwargs: dict[str, Any], *, keep: bool) -> Any:
        inputs = Inputs(selection, args, kwargs)
        with Stretch(name) as stretch:
            traced = [stretch.input(leaf) for leaf in inputs.leaves]
            slots = [x.slot for x in traced]
            out = inputs.call(f, traced)
            aux = None
            if has_aux:
                out, aux = split_aux(name, out)
            stretch.finish((out, aux) if has_aux else out)
            bars = _pull_scalar(name, stretch, out, slots, inputs.leaves, holomorphic, keep)
            if bars is None:
                return None
            gradient = inputs.result(bars)
            value = stretch.strip(out)
            if has_aux:
                aux = tree_map(stretch.strip, aux)
        return value, gradient, aux

    return run


def split_aux(call: str, out: Any) -> tuple[Any, Any]:
    """The two results of a function with `has_aux`."""
    if isinstance(out, tuple) and len(out) == 2:
        return out
    raise OutputError(
        message(call, "a pair (value, aux), for has_aux=True", describe(out), "Return both")
    )


def _pull_scalar(
    name: str,
    stretch: Stretch,
    out: Any,
    slots: list[int],
    leaves: list[Any],
    holomorphic: bool,
    keep: bool,
) -> list[Any] | None:
    _check_scalar(name, out, leaves, holomorphic)
    if not stretch.owns(out):
        if not stretch.entries:
            warn(
                f"{name}: the output does not depend on the input; the gradient is zero.",
                IndependentOutputWarning,
            )
        return [None] * len(slots)
    one = np.ones(out.shape, out.dtype) if out.shape else out.dtype.type(1)
    consume = stretch.huge and not stretch.shared and not keep
    return stretch.pull([out.slot], [one], slots, out, consume=consume)


def _check_scalar(name: str, out: Any, leaves: list[Any], holomorphic: bool) -> None:
    dtype = getattr(out, "dtype", None)
    real = not holomorphic and dtype is not None and dtype.kind == "f"
    if real and (not out.shape or out.size == 1):
        return
    kind = "f" if isinstance(out, float) else "c" if isinstance(out, complex) else ""
    kind = dtype.kind if dtype is not None else kind
    wanted = "complex" if holomorphic else "real"
    if kind == ("c" if holomorphic else "f") and getattr(out, "size", 1) == 1:
        if holomorphic and not all(leaf.dtype.kind == "c" for leaf in leaves):
            raise InputError(
                message(
                    f"{name}(x)",
                    "complex inputs, for holomorphic=True",
                    ", ".join(map(describe, leaves)),
                    "Pass x.astype(complex)",
                )
            )
        return
    if kind == "c":
        advice = "Return a real number (np.abs, np.real), or pass holomorphic=True"
    elif holomorphic:
        advice = "Leave holomorphic=True away for a real output"
    else:
        advice = f"Reduce it with np.sum, or use jacobian({name[5:-1]})"
    raise OutputError(message(f"{name}(x)", f"a {wanted} scalar output", describe(out), advice))


class Pullback:
    """What `vjp` returns: call it with a cotangent of the output, as often as needed."""

    __slots__ = ("inputs", "name", "out_leaves", "out_slots", "slots", "stretch", "structure")

    def __init__(
        self, name: str, stretch: Stretch, inputs: Inputs, slots: list[int], out: Any
    ) -> None:
        self.name, self.stretch, self.inputs, self.slots = name, stretch, inputs, slots
        leaves, self.structure = flatten(out)
        self.out_slots = [leaf.slot if stretch.owns(leaf) else None for leaf in leaves]
        self.out_leaves = [spec_of(leaf) if is_array(leaf) else leaf for leaf in leaves]

    def __call__(self, out_bar: Any) -> tuple[Any, ...]:
        """One cotangent a primal, each with its primal's containers, shapes and dtypes.

        `out_bar` has the structure and shapes of the output; Python numbers stand for scalars.
        Raises InputError or ShapeMismatchError where it has not.
        """
        call = f"pullback of {self.name}"
        bars = flatten_like(self.structure, out_bar, call)
        slots, given = [], []
        for slot, bar, like in zip(self.out_slots, bars, self.out_leaves, strict=True):
            if is_inexact(like):
                bar = as_tangent(bar, like, call, "cotangent")
            if slot is not None:
                slots.append(slot)
                given.append(bar)
        found = self.stretch.pull(slots, given, self.slots)
        assert found is not None  # nothing was consumed
        return tuple(self.inputs.result(found, given))


def as_tangent(dot: Any, like: Any, call: str, what: str) -> Any:
    """A tangent or cotangent given by a user, checked against its value and cast to its dtype."""
    if isinstance(dot, (int, float, complex)) and not isinstance(dot, (bool, np.generic)):
        dot = np.complex128(dot) if isinstance(dot, complex) else np.float64(dot)
    if not is_array(dot) or dot.dtype.kind not in "iufc":
        raise InputError(
            message(call, f"a {what} like {describe(like)}", describe(dot), "Pass an array")
        )
    if like.dtype.kind != "c" and dot.dtype.kind == "c":
        raise InputError(
            message(call, f"a real {what}", describe(dot), f"Pass one like {describe(like)}")
        )
    if dot.shape != like.shape:
        raise ShapeMismatchError(
            message(
                call,
                f"a {what} of shape {like.shape}",
                describe(dot),
                f"Pass one like {describe(like)}",
            )
        )
    return dot if dot.dtype == like.dtype else dot.astype(like.dtype)


def vjp(f: Function, *primals: Any, has_aux: bool = False) -> Any:
    """`(f(*primals), pullback)`: the pullback takes a cotangent of the output to the primals'.

    Output and primals are pytrees of arrays. The pullback returns a tuple with one entry a primal,
    may be called many times, and keeps what it needs alive. With `has_aux` f returns `(out, aux)`,
    and vjp `(out, pullback, aux)`.

    >>> out, pullback = vjp(lambda x, y: x * y, np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    >>> pullback(np.array([1.0, 10.0]))
    (array([ 3., 40.]), array([ 1., 20.]))
    """
    # With copies: the pullback may be called after the program has changed its arrays.
    return run_with_pullback(f, primals, has_aux, copies=True)


def run_with_pullback(
    f: Function, primals: tuple[Any, ...], has_aux: bool, *, copies: bool
) -> Any:
    """`vjp`; without `copies` for a pullback that is used before anything else can run."""
    name = f"vjp({name_of(f)})"
    inputs = Inputs(Selection(name, tuple(range(len(primals)))), primals, {})
    with Stretch(name, copies=copies) as stretch:
        traced = [stretch.input(leaf) for leaf in inputs.leaves]
        slots = [x.slot for x in traced]
        out = inputs.call(f, traced)
        out, aux = split_aux(name, out) if has_aux else (out, None)
        stretch.finish((out, aux))
        pullback = Pullback(name, stretch, inputs, slots, out)
        out, aux = tree_map(lambda leaf: own_copy(stretch.strip(leaf)), (out, aux))
    return (out, pullback, aux) if has_aux else (out, pullback)


def pull_once(name: str, f: Function, primals: Sequence[Any], bars: Sequence[Any]) -> Any:
    """Cotangents of the primals from those of the arrays that f returns in a sequence.

    As a `vjp` whose pullback is called at once and once only, so that nothing has to be copied.
    """
    inputs = Inputs(Selection(name, tuple(range(len(primals)))), tuple(primals), {})
    with Stretch(name) as stretch:
        traced = [stretch.input(leaf) for leaf in inputs.leaves]
        slots = [x.slot for x in traced]
        out = f(*inputs.trees(traced))
        del traced
        stretch.finish(out)
        given = [(x.slot, bar) for x, bar in zip(out, bars, strict=True) if stretch.owns(x)]
        del out
        found = stretch.pull([at for at, _ in given], [bar for _, bar in given], slots)
        assert found is not None  # nothing was consumed
        return inputs.result(found, bars)


# --- Looking at a tape --------------------------------------------------------------------------


def tape_rows(f: Function, *args: Any) -> list[tuple[int, str, tuple[int, ...], str]]:
    """What a run of f on floating arguments logs: (slot, name, parents' slots, dtype and shape).

    The inputs come first, without parents.

    >>> for row in tape_rows(lambda x: np.sum(x * x), np.ones(2)):
    ...     print(row[1:])
    ('input', (), 'float64[2]')
    ('np.multiply', (1, 1), 'float64[2]')
    ('np.sum', (2,), 'float64 scalar')
    """
    selection = Selection(f"tape of {name_of(f)}", tuple(range(len(args))))
    inputs = Inputs(selection, args, {})
    with Stretch(selection.call) as stretch:
        traced = [stretch.input(leaf) for leaf in inputs.leaves]
        rows: list[tuple[int, str, tuple[int, ...], str]] = [
            (x.slot, "input", (), describe(x)) for x in traced
        ]
        kinds: dict[int, Any] = {x.slot: x.spec for x in traced}
        out = inputs.call(f, traced)
        stretch.finish(out)
        for entry in stretch.entries:
            parents = tuple(slot for slot in parents_of(entry) if slot >= 0)
            kinds[entry[0]] = kind = _kind_of_result(entry, kinds)
            text = f"{len(kind)} results" if isinstance(kind, tuple) else describe(kind)
            rows.append((entry[0], entry[1].name, parents, text))
    return rows


def _kind_of_result(entry: Entry, kinds: dict[int, Any]) -> Any:
    """Something with the shape and dtype of an entry's result."""
    _, rule, out, x, y, x_slot, y_slot = entry
    if y_slot is not None:
        known = (kinds.get(slot) for slot in (x_slot, y_slot))
        return next((kind for kind in known if kind is not None), out)
    if rule is PROJECT:
        return kinds[x_slot][x]
    if rule is READ:
        return np.broadcast_to(np.zeros((), x.dtype), x.shape)[y]
    return x[0] if out is None else out
