"""Forward mode: jvp, linearize.

Knows that tangents are pushed with each operation as it runs (jvp), or through a recording made
before (linearize). Must not know rules, or how arrays log.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from tapegrad._arrays.refusal import explained
from tapegrad._core.careful import reach_of, replay_forward_carefully, settled_kinks
from tapegrad._core.entry import Spec
from tapegrad._core.fast.backward import replay_backward
from tapegrad._core.fit import any_nan, has_nan, is_finite, is_foreign, zeros_of
from tapegrad._core.forward_tape import Cell, ForwardTape, tangent_at
from tapegrad._core.quiet import SILENT, VARIABLE, silence
from tapegrad._core.recorded import (
    leave_where,
    may_be_nan,
    recorded_too,
)
from tapegrad._core.replay import SparseBars, Step, live_steps, replay_forward
from tapegrad._core.tape import CURRENT, RUNNING, Tape, hand_over
from tapegrad._core.types import Function, Tangent, Tree, Value
from tapegrad._core.values import (
    Traced,
    any_true,
    in_place,
    is_array,
    raw_value,
    untraced,
    without_traces,
)
from tapegrad._errors import InputError, message, name_of
from tapegrad._transforms.caught import heed
from tapegrad._transforms.inputs import Inputs, Selection, as_cotangent, own_copy
from tapegrad._transforms.outputs import require_known
from tapegrad._transforms.recording import Recording, tell_of_nan
from tapegrad._transforms.reverse import (
    LinearMap,
    as_tangent,
    run_with_map,
    split_aux,
)
from tapegrad._transforms.tracebacks import fold
from tapegrad._transforms.wrapper import require_function
from tapegrad._tree import LEAF, Structure, flatten, flatten_like, tree_map, unflatten
from tapegrad._warning import COUNT


def jvp(f: Function, primals: Tree, tangents: Tree, has_aux: bool = False) -> Any:
    """`(f(*primals), out_dot)`: the output and its derivative in the direction of the tangents.

    One pass, whose memory does not grow with the length of f. f is called a second time where its
    result or the tangent has a NaN, where a kink asks for a limit, and where f catches a
    ConversionError.

    Parameters
    ----------
    f : callable
        Function of as many positional arguments as there are primals. It returns a pytree of
        arrays.
    primals : tuple or list of pytree
        Where f is called: floating or complex arrays or scalars, in containers.
    tangents : tuple or list of pytree
        The direction: of the structure, shapes and dtypes of the primals.
    has_aux : bool, default False
        Whether f returns `(out, aux)`.

    Returns
    -------
    out : pytree
        The result of f, untraced.
    out_dot : pytree
        The derivative, like `out`.
    aux : pytree
        With `has_aux` alone: the second result of f.

    Raises
    ------
    ConversionError
        As from `grad`, with its warning.
    InputError
        Where primals or tangents are in no tuple, or a tangent is not like its primal.
    ShapeMismatchError
        Where the shape of a tangent is not that of its primal.

    See Also
    --------
    linearize : The same for many directions, with one run of f.
    vjp : Reverse mode.

    Examples
    --------
    >>> jvp(lambda x: x**3, (2.0,), (1.0,))
    (np.float64(8.0), np.float64(12.0))
    """
    try:
        return _pushed(f, primals, tangents, has_aux)
    except BaseException as error:
        fold(error)
        raise


def _pushed(f: Function, primals: Tree, tangents: Tree, has_aux: bool) -> Any:
    name = f"jvp({name_of(f)})"
    require_function("jvp", f)
    require_tuple(name, primals)
    inputs = Inputs(Selection.of_all(name, len(primals)), tuple(primals), {})
    dots = _tangent_leaves(name, inputs, tangents)
    if any(map(is_foreign, dots)):  # no test tells whether it has a NaN
        out, pushforward, *rest = linearize(f, *primals, has_aux=has_aux)
        return (out, tree_map(_of_library, pushforward(*tangents), out), *rest)
    tape = ForwardTape(name)
    run = _run(name, f, inputs, dots, tape, has_aux)
    unknown = _has_nan(run[0])
    if tape.root.singular or unknown:
        # Limits and structural zeros need a recording of f, not only the tangents: f runs again.
        out, pushforward, *rest = linearize(f, *primals, has_aux=has_aux)
        return (out, tree_map(_as_number, pushforward(*tangents), out), *rest)
    pairs, structure, aux = run
    if structure is LEAF:
        ((out, out_dot),) = pairs
    else:
        out = unflatten(structure, [primal for primal, _ in pairs])
        out_dot = unflatten(structure, [tangent for _, tangent in pairs])
    if tape.root.refused is not None:
        heed(name, tape.root, f, inputs, (out, aux) if has_aux else out)
    return (out, out_dot, aux) if has_aux else (out, out_dot)


def _of_library(dot: Tangent, like: Value) -> Any:
    """Zeros of the library that a result is of."""
    return zeros_of(like) if is_foreign(like) and not is_foreign(dot) else dot


def _has_nan(pairs: list[tuple[Any, Any]]) -> bool:
    """Whether a result or its tangent may be NaN."""
    if len(pairs) == 1:
        out, dot = pairs[0]
        if type(out) is type(dot) is np.float64:  # the frequent case
            return bool(out != out or dot != dot)
    before = VARIABLE.get()
    try:
        VARIABLE.set(SILENT)  # squares may overflow
        return may_be_nan([dot for _, dot in pairs]) or any_nan(
            [out for out, _ in pairs if not is_foreign(out)]  # which may be lazy
        )
    finally:
        VARIABLE.set(before)


def _run(
    name: str, f: Function, inputs: Inputs, dots: list[Any], tape: ForwardTape, has_aux: bool
) -> tuple[list[tuple[Any, Any]], Structure, Any]:
    """The leaves of f's result with their tangents, their structure, and the auxiliary result."""
    outer, warns = CURRENT.get(), VARIABLE.get()
    RUNNING.append(None)
    try:
        try:
            CURRENT.set(tape)
            traced = []
            for leaf, dot in zip(inputs.leaves, dots, strict=True):
                cell = Cell()
                cell.tangent = float(dot) if type(dot) is np.float64 else dot
                traced.append(tape.wrap(tape.keep_input(leaf), cell))
            out = inputs.call(f, traced)
            out, aux = split_aux(name, out) if has_aux else (out, None)
            leaves, structure = flatten(out)
            for leaf in leaves:
                require_known(name, leaf, inputs.leaves)
            pairs = [_primal_and_tangent(leaf, tape) for leaf in leaves]
            if has_aux:
                aux = tree_map(lambda leaf: _primal_and_tangent(leaf, tape)[0], aux)
        finally:
            CURRENT.set(outer)
    except Exception as error:
        refusal = explained(error, tape.root)
        if refusal is None:
            raise
        raise refusal from refusal.__cause__
    except BaseException:  # an interrupt, maybe while a tangent was pushed, silently
        VARIABLE.set(warns)
        raise
    finally:
        try:
            tape.close()
        except BaseException:
            tape.close()
            raise
        RUNNING.pop()
        if tape.root.refused is not None:
            hand_over(tape.root)
    return pairs, structure, aux


def require_tuple(name: str, primals: Tree, what: str = "primal") -> None:
    """Raise InputError for primals, or arguments, that are not in a tuple or a list."""
    if not isinstance(primals, (tuple, list)):
        raise InputError(
            message(
                name, f"{what}s in a tuple", type(primals).__name__, f"Write (x,) for one {what}"
            )
        )


def require_one_each(name: str, primals: Tree, vectors: Tree, what: str) -> None:
    """Raise InputError for vectors that are not in a tuple, one for each of the primals."""
    if isinstance(vectors, (tuple, list)) and len(vectors) == len(primals):
        return
    got = type(vectors).__name__
    if isinstance(vectors, (tuple, list)):
        got = f"{got} of {len(vectors)}"
    raise InputError(
        message(
            name,
            f"a tuple of {len(primals)} {what}s, one a primal",
            got,
            f"Pass a {what} of the primal's shape for each",
        )
    )


def _as_number(dot: Any, like: Any) -> Any:
    """A tangent of a number of NumPy's as such a number: a linear map knows its shape alone."""
    return dot[()] if isinstance(like, np.generic) and isinstance(dot, np.ndarray) else dot


def _tangent_leaves(name: str, inputs: Inputs, tangents: Tree) -> list[Any]:
    require_one_each(name, inputs.structures, tangents, "tangent")
    leaves: list[Any] = []
    for structure, tangent in zip(inputs.structures, tangents, strict=True):
        if structure is LEAF:
            leaves.append(tangent)
        else:
            leaves += flatten_like(structure, tangent, name)
    for i, like in enumerate(inputs.leaves):
        leaves[i] = recorded_too(as_tangent(leaves[i], like, name, "tangent"))
    return leaves


def _primal_and_tangent(leaf: Value, tape: Tape) -> tuple[Any, Any]:
    if isinstance(leaf, Traced):
        if leaf.tape is tape:
            dot = tangent_at(leaf.slot) if isinstance(leaf.slot, Cell) else None
            return leaf._value, own_copy(as_cotangent(dot, leaf._value))
        leaf.tape.require_open()
    return leaf, zeros_of(leaf) if is_array(leaf) else 0.0


class Pushforward(LinearMap):
    """The result of `linearize`; it can be called with tangents of the primals many times."""

    __slots__ = ("steps",)

    transform = "linearize"

    def __init__(
        self,
        name: str,
        recording: Recording,
        inputs: Inputs,
        leaves: list[Value],
        structure: Structure,
    ) -> None:
        super().__init__(name, recording, inputs, leaves, structure)
        self.steps: list[Step] | None = None  # set by the first call

    def __call__(self, *tangents: Tree) -> Any:
        """The output's tangent, with its containers, shapes and dtypes.

        Parameters
        ----------
        *tangents : pytree
            One per primal, with its containers and shapes.

        Returns
        -------
        pytree
            New arrays.

        Raises
        ------
        InputError
            Where a tangent is not like its primal.
        ShapeMismatchError
            Where a shape is not that of its primal.
        """
        try:
            return self._out_dot(tangents)
        except BaseException as error:
            fold(error)
            raise

    def _out_dot(self, tangents: tuple[Tree, ...]) -> Any:
        leaves = _tangent_leaves(f"pushforward of {self.name}", self.inputs, tangents)
        told, rule = COUNT[0], None
        with silence():
            if self.recording.singular:
                dots = self._transposed(leaves)
            else:
                dots = self._pushed(leaves)
                results = [dots[slot] for slot in self.out_slots if slot in dots]
                if self.nan is not None or any_nan(results):
                    dots, reach, rule = self._pushed_carefully(leaves)
                    dots = self._resolved(leaves, dots)
                    self._spread_nan(dots, reach)
        if rule is not None and told == COUNT[0]:
            self._tell_of_nan(rule, leaves, dots)
        out_dots = [None if slot is None else dots.get(slot) for slot in self.out_slots]
        parts = [
            own_copy(as_cotangent(dot, like)) if isinstance(like, Spec) else 0.0
            for dot, like in zip(out_dots, self.out_leaves, strict=True)
        ]
        return unflatten(self.structure, parts)

    def _tell_of_nan(self, rule: Any, leaves: list[Value], dots: dict[Any, Any]) -> None:
        """Warn of a NaN that finite tangents have come to, in results that are none themselves."""
        if all(map(is_finite, map(raw_value, leaves))):
            nan = zip(self.out_slots, self.nan or itertools.repeat(None), strict=False)
            found = [dots[slot] for slot, known in nan if known is None and slot in dots]
            tell_of_nan(self.name, rule, found)

    def _pushed_carefully(self, leaves: list[Value]) -> tuple[Any, Any, Any]:
        """By a replay that tells structural zeros from others; the reach; who made NaN."""
        assert self.steps is not None
        dots: dict[Any, Any] = dict(zip(self.slots, leaves, strict=True))
        reach = {slot: reach_of(dot) for slot, dot in dots.items()}
        settled = settled_kinks([entry for entry, _, _ in self.steps])
        tape = self.recording.surroundings
        rule = replay_forward_carefully(self.steps, dots, reach, tape, settled)
        return dots, reach, rule

    def _spread_nan(self, dots: dict[Any, Any], reach: dict[Any, Any]) -> None:
        """Make the tangents of NaNs NaN, where these depend on the input."""
        for slot, nan in zip(self.out_slots, self.nan or (), strict=False):
            if nan is not None and slot in dots:
                dot = dots[slot]
                known = np.where(nan & (reach[slot] != 0), np.nan, without_traces(dot))
                dots[slot] = in_place(dot, known)

    def _pushed(self, leaves: list[Value]) -> dict[Any, Any]:
        """Tangents by slot, among them those of the outputs."""
        recording = self.recording
        if self.steps is None:
            self.steps = live_steps(recording.entries, self.slots, self.out_slots)
        dots: dict[Any, Any] = dict(zip(self.slots, leaves, strict=True))
        replay_forward(self.steps, dots, recording.surroundings, self.slots)
        return dots

    def _resolved(self, leaves: list[Value], dots: dict[Any, Any]) -> dict[Any, Any]:
        """Tangents in which a NaN, of zero times infinity, is its limit where there is one."""
        if leave_where(has_nan, map(dots.get, self.out_slots)):
            return dots
        assert self.steps is not None
        entries = [entry for entry, _, _ in self.steps if entry[0] not in self.slots]
        inputs = list(zip(self.slots, leaves, strict=True))
        nan = dict(zip(self.out_slots, self.nan or (), strict=False))
        results = [(at, dots[at]) for at in dict.fromkeys(self.out_slots) if at in dots]
        if all(nan.get(at) is not None and _is_nan_at(dot, nan[at]) for at, dot in results):
            return dots  # as the results are
        from tapegrad._core.limits import resolved_ahead  # few programs meet a NaN

        known = resolved_ahead(entries, inputs, results)
        return dots | {at: dot for (at, _), dot in zip(results, known, strict=True)}

    def _transposed(self, leaves: list[Value]) -> dict[Any, Any]:
        """Tangents by slot, by transposing the pullback, in which rules can take limits."""
        recording, outer = self.recording, self.recording.surroundings
        tape = outer or recording.tape.replica(recording.entries, recording.end)
        first, start = len(tape.entries), tape.fresh()
        table, given = SparseBars(recording.start), {}
        for slot, like in zip(self.out_slots, self.out_leaves, strict=True):
            if slot is not None and slot not in given:
                zeros = np.zeros(like.shape, like.dtype)
                given[slot] = table[slot] = tape.wrap(zeros, tape.fresh())
        replay_backward(reversed(recording.entries), table, tape)
        second = SparseBars(start)
        for slot, dot in zip(self.slots, leaves, strict=True):
            bar = table[slot]
            if isinstance(bar, Traced) and bar.tape.root is tape.root and bar.slot >= start:
                second[bar.slot] = dot if second[bar.slot] is None else second[bar.slot] + dot
        replay_backward(reversed(tape.entries[first:]), second, outer)
        if outer is None:
            tape.close()
        return {slot: second[bar.slot] for slot, bar in given.items()}


def _is_nan_at(dot: Tangent, places: Any) -> bool:
    """Whether a tangent has its NaNs at these places alone."""
    return not any_true(np.isnan(untraced(dot)) & ~places)


def linearize(f: Function, *primals: Tree, has_aux: bool = False) -> Any:
    """`(f(*primals), pushforward)`: the pushforward maps tangents of the primals to the output's.

    Parameters
    ----------
    f : callable
        Function of as many positional arguments as there are primals. It runs once.
    *primals : pytree
        Where f is called: floating or complex arrays or scalars, in containers.
    has_aux : bool, default False
        Whether f returns `(out, aux)`.

    Returns
    -------
    out : pytree
        The result of f, untraced.
    pushforward : callable
        Linear function of one tangent per primal that returns the tangent of `out`. It may be
        called many times, and keeps the values that it needs.
    aux : pytree
        With `has_aux` alone: the second result of f.

    Raises
    ------
    ConversionError
        As from `grad`, with its warning.
    InputError
        Where a primal is of integers, or (from the pushforward) a tangent is not like its primal.
    ShapeMismatchError
        From the pushforward, where the shape of a tangent is not that of its primal.

    See Also
    --------
    jvp : One direction, in memory that does not grow with the length of f.

    Examples
    --------
    >>> out, pushforward = linearize(np.sin, 0.0)
    >>> pushforward(1.0), pushforward(2.0)
    (array(1.), array(2.))
    """
    try:
        return run_with_map(Pushforward, f, primals, has_aux, copies=True)
    except BaseException as error:
        fold(error)
        raise


__all__ = ["jvp", "linearize", "require_one_each", "require_tuple"]
