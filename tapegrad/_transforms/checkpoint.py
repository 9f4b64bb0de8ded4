"""Memory for time: checkpoint and checkpoint_sequence.

Knows vjp, jvp and how a custom function is logged. A checkpointed call keeps its arguments alone;
what happened inside it is computed again when a replay comes by.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from math import comb
from typing import Any

import numpy as np

from tapegrad._batched.level import VmapLevel
from tapegrad._core.forward_tape import ForwardTape
from tapegrad._core.tape import CURRENT
from tapegrad._core.types import Cotangent, Function, Tangent, Tree, Value
from tapegrad._core.values import (
    Mapped,
    Traced,
    innermost,
    is_inexact,
    level_of,
    snapshot,
    untraced,
)
from tapegrad._errors import BatchingError, InputError, RuleError, message, name_of
from tapegrad._transforms.custom import CustomCall, check_closure
from tapegrad._transforms.forward import jvp
from tapegrad._transforms.reverse import pull_once
from tapegrad._transforms.wrapper import Transformed
from tapegrad._tree import Structure, flatten, tree_map, unflatten


def checkpoint(f: Function) -> Function:
    """f, but a derivative keeps only its arguments, and runs it again when it is needed.

    Arguments and results are pytrees. f may branch on its arguments as it likes, and may contain
    other checkpointed calls; derivatives of any order, in both directions, are those of f. It must
    return the same when it runs again: RuleError is raised where a replay finds another result
    (random numbers drawn inside f: draw them outside), or where f closes over a traced value (pass
    it as an argument).

    >>> import tapegrad
    >>> tapegrad.grad(checkpoint(lambda x: np.sin(x) ** 2))(0.5) == np.sin(1.0)
    np.True_
    """

    def checkpointed(*args: Tree, **kwargs: Any) -> Any:
        leaves, structure = flatten((args, kwargs))
        inner = innermost(leaves)
        if isinstance(inner, Traced):
            return _Call(f, leaves, structure, inner).run()
        if _is_traced_below(leaves, inner):
            whole = _OfAllExamples(f, inner.vmap_level, leaves)
            args, kwargs = unflatten(structure, whole.values(leaves))
            return whole.examples(checkpoint(whole)(*args, **kwargs))
        return f(*args, **kwargs)

    return Transformed(checkpoint, f, {}, checkpointed)


def _is_traced_below(leaves: list[Value], inner: Value) -> bool:
    """Whether a transform around the vmap that `inner` belongs to differentiates the call."""
    while isinstance(inner, Mapped):
        vmap_level = inner.vmap_level
        leaves = [x.value if vmap_level.owns(x) else x for x in leaves]
        inner = innermost(leaves)
    return inner is not None


class _OfAllExamples:
    """A function inside vmap, as one of whole arrays: the axis of examples comes first in them.

    A replay of it comes after the vmap has returned, so each run opens a vmap of its own.
    """

    def __init__(self, f: Function, vmap_level: Any, leaves: list[Value]) -> None:
        self.f, self.vmap_level = f, vmap_level
        self.__name__ = name_of(f)
        self.mapped = [vmap_level.owns(leaf) for leaf in leaves]
        self.out_mapped: list[bool] = []

    def values(self, leaves: list[Value]) -> list[Any]:
        """Leaves as this function takes them."""
        return [x.value if self.vmap_level.owns(x) else x for x in leaves]

    def examples(self, out: Tree) -> Any:
        """A result of this function as the vmap shows it."""
        leaves, structure = flatten(out)
        wrap = self.vmap_level.wrap
        return unflatten(
            structure,
            [wrap(x) if is_one else x for x, is_one in zip(leaves, self.out_mapped, strict=True)],
        )

    def __call__(self, *args: Tree, **kwargs: Any) -> Any:
        leaves, structure = flatten((args, kwargs))
        vmap_level = VmapLevel(self.vmap_level.name, self.vmap_level.size)
        token = CURRENT.set(vmap_level)
        try:
            args, kwargs = unflatten(
                structure,
                [
                    vmap_level.wrap(x) if is_one else x
                    for x, is_one in zip(leaves, self.mapped, strict=True)
                ],
            )
            out, out_structure = flatten(self.f(*args, **kwargs))
            self.out_mapped = [vmap_level.owns(leaf) for leaf in out]
            out = [x.value if vmap_level.owns(x) else x for x in out]
            return unflatten(out_structure, out)
        finally:
            CURRENT.reset(token)
            vmap_level.open = False


class _Leaves:
    """Which leaves of a call are differentiated, and how to put others in their place."""

    def __init__(self, leaves: list[Value], structure: Structure) -> None:
        self.leaves, self.structure = leaves, structure
        self.moving = [
            i for i, leaf in enumerate(leaves) if isinstance(leaf, Traced) or is_inexact(leaf)
        ]
        # What does not move may be written to by the program before a replay comes by.
        self.fixed = [
            None if i in self.moving else snapshot(_own(x)) for i, x in enumerate(leaves)
        ]

    def arrays(self) -> list[Any]:
        return [self.leaves[i] for i in self.moving]

    def tree(self, arrays: Sequence[Value]) -> Any:
        filled = [_own(x) for x in self.fixed]
        for position, array in zip(self.moving, arrays, strict=True):
            filled[position] = array
        return unflatten(self.structure, filled)


class _Call:
    """One call of a checkpointed function under a transform."""

    def __init__(self, f: Function, leaves: list[Value], structure: Structure, inner: Traced):
        self.f = f
        self.name = f"checkpoint({name_of(f)})"
        self.given = _Leaves(leaves, structure)
        self.tape = inner.tape
        self.out_structure: Structure | None = None
        self.fixed_outputs: list[Any] = []
        self.sums: list[Any] = []

    def run(self) -> Any:
        rule = CustomCall(self.name, self._forward, self._pull, self._push)
        parts = iter(rule.apply_bound(self.given.arrays(), {}))
        assert self.out_structure is not None
        return unflatten(
            self.out_structure,
            [next(parts) if out is _MOVING else out for out in self.fixed_outputs],
        )

    def _outputs(self, arrays: Sequence[Value]) -> tuple[Any, ...]:
        args, kwargs = self.given.tree(arrays)
        leaves, self.out_structure = flatten(self.f(*args, **kwargs))
        leaves = [_as_scalar(leaf) for leaf in leaves]
        self.fixed_outputs = [_MOVING if is_inexact(leaf) else leaf for leaf in leaves]
        return tuple(leaf for leaf in leaves if is_inexact(leaf))

    def _forward(self, *arrays: Value) -> tuple[Any, ...]:
        # Each run gets arrays of its own, which tell whether f writes into its arguments.
        given = [snapshot(_own(x)) for x in arrays]
        out = self._outputs(given)
        check_closure(self.name, out, self.tape)
        for x, before in zip(given, arrays, strict=True):
            if type(x) is np.ndarray and not np.array_equal(x, before, equal_nan=True):
                raise RuleError(
                    f"{self.name}: it writes into an argument, which its replay cannot do to the "
                    "caller's array. Copy the argument first, and return what has changed."
                )
        self.sums = [_summary(part) for part in out]
        return out

    def _again(self, *arrays: Value) -> tuple[Any, ...]:
        out = self._outputs([snapshot(x) for x in arrays])
        _require_same(self.name, out, self.sums)
        return out

    def _pull(self, g: list[Cotangent], args: Sequence[Value]) -> Sequence[Any]:
        bars: Sequence[Any] = pull_once(self.name, self._again, args, g)
        return bars

    def _push(self, dots: Sequence[Tangent], args: Sequence[Value]) -> list[Any]:
        return list(jvp(self._again, tuple(args), tuple(dots))[1])


_MOVING = object()  # stands for a differentiable output


def _as_scalar(leaf: Value) -> Any:
    """A Python number that can be differentiated as NumPy's."""
    if isinstance(leaf, float):
        return np.float64(leaf)
    return np.complex128(leaf) if isinstance(leaf, complex) else leaf


def _own(x: Value) -> Any:
    return x.copy() if type(x) is np.ndarray else x


def _require_same(name: str, parts: Sequence[Value], before: Sequence[Any]) -> None:
    """Raise RuleError where results of a second run do not have the sums of the first."""
    same = len(parts) == len(before) and all(
        _agrees(_summary(part), was, part.dtype) for part, was in zip(parts, before, strict=True)
    )
    if not same:
        raise RuleError(
            f"{name}: it returned something else when a replay ran it again. Draw random numbers "
            "outside and pass them in, and change nothing that lies outside."
        )


def _summary(x: Value) -> tuple[float, float] | None:
    """The sum of an array and a bound of that of its sizes, to tell whether it is the same."""
    x = untraced(x)
    if type(x) is not np.ndarray and not isinstance(x, np.generic):
        return None
    flat: Any = x
    with np.errstate(all="ignore"):
        size = np.sqrt(np.vdot(flat, flat).real * float(x.size))  # without another array
        row = np.ravel(x)
        # Every second, third, ... element once more, so that another order is another sum.
        total = sum(k * np.sum(row[::k], dtype=_wide(x.dtype)) for k in (1, 2, 3, 5, 7))
        return total, size


def _wide(dtype: np.dtype[Any]) -> Any:
    return np.complex128 if dtype.kind == "c" else np.float64


def _agrees(now: Any, before: Any, dtype: np.dtype[Any]) -> bool:
    """Whether two summaries differ by rounding alone (a traced run may sum in another order)."""
    if now is None or before is None or not np.isfinite(before[1]):
        return True
    return bool(abs(now[0] - before[0]) <= 1e4 * np.finfo(dtype).eps * before[1])


# --- A sequence of steps ------------------------------------------------------------------------


def checkpoint_sequence(
    step: Function, state: Tree, n: int, *args: Tree, snapshots: int = 20
) -> Any:
    """The state after n times `state = step(state, *args)`, differentiable in little memory.

    A reverse derivative stores at most `snapshots` states (the first among them) and one step's
    own intermediate values, and computes the others again, on the binomial schedule that needs the
    fewest steps: with r the least number for which comb(snapshots + r, r) >= n, it runs
    r*n - comb(snapshots + r, r - 1) steps besides the n that it differentiates, and those from the
    last snapshot to the end, whose state is the result (Griewank and Walther, Algorithm 799:
    revolve, ACM TOMS 26, 2000). A forward derivative stores one state, `hvp` the snapshots and
    their tangents, other second derivatives every step.

    States and args are pytrees, and are differentiated both; a state's containers stay the same
    from step to step, and what is a whole number stays one. `step` must not close over traced
    values: pass them in args.

    Raises InputError for a negative n or less than one snapshot, and as `checkpoint` does.

    >>> import tapegrad
    >>> def decay(x, rate):
    ...     return checkpoint_sequence(lambda x, rate: x * rate, x, 100, rate, snapshots=5)
    >>> bool(np.isclose(tapegrad.grad(decay)(1.0, 0.99), 0.99**100))
    True
    """
    name = f"checkpoint_sequence({name_of(step)})"
    if n < 0 or snapshots < 1:
        raise InputError(
            message(
                name,
                "n >= 0 steps and at least one snapshot",
                f"n={n}, snapshots={snapshots}",
                "The first state is a snapshot too",
            )
        )
    leaves, structure = flatten((state, args))
    inner = innermost(leaves)
    if not isinstance(inner, Traced):
        if _is_traced_below(leaves, inner):
            return _mapped_sequence(step, state, n, args, snapshots, inner.vmap_level)
        for _ in range(n):
            state = step(state, *args)
        return state
    sequence = _Sequence(name, step, n, snapshots, state, args, inner)
    return sequence.run()


def _mapped_sequence(
    step: Function, state: Tree, n: int, args: Tree, snapshots: int, vmap_level: Any
) -> Any:
    """checkpoint_sequence inside vmap: one of whole arrays."""
    # What is differentiated has an axis of examples from the start, as it will have at the end.
    state = tree_map(
        lambda x: (
            x
            if vmap_level.owns(x) or not is_inexact(_as_scalar(x))
            else vmap_level.wrap(vmap_level.front(x))
        ),
        state,
    )
    leaves, structure = flatten((state, args))
    whole = _OfAllExamples(_with_examples(step, vmap_level), vmap_level, leaves)
    state, args = unflatten(structure, whole.values(leaves))
    final = checkpoint_sequence(whole, state, n, *args, snapshots=snapshots)
    shown, structure = flatten(final)
    return unflatten(
        structure,
        [
            vmap_level.wrap(x) if is_one else x
            for x, is_one in zip(shown, whole.mapped, strict=False)
        ],
    )


def _with_examples(step: Function, like: Any) -> Function:
    """A step whose results have an axis of examples wherever the state before had one."""

    def stepped(state: Tree, *args: Tree) -> Any:
        before = flatten(state)[0]
        vmap_level = CURRENT.get()
        leaves, structure = flatten(step(state, *args))
        if len(leaves) == len(before):
            leaves = [
                vmap_level.wrap(vmap_level.front(x)) if vmap_level.owns(was) else x
                for x, was in zip(leaves, before, strict=True)
            ]
            for x, was in zip(leaves, before, strict=True):
                if vmap_level.owns(x) and not vmap_level.owns(was):
                    raise BatchingError(
                        f"{like.name}: a whole number in the state of checkpoint_sequence came to "
                        "differ from example to example. Start with one for each example."
                    )
        return unflatten(structure, leaves)

    stepped.__name__ = name_of(step)
    return stepped


@functools.cache
def _capacity(snapshots: int, repeats: int) -> int:
    """How many steps can be reversed with so many snapshots, each step run `repeats` times."""
    return comb(snapshots + repeats, repeats) if repeats >= 0 else 0


def first_jump(steps: int, snapshots: int) -> int:
    """How far from a snapshot the next one belongs, for the fewest steps in all."""
    if snapshots == 1:
        return steps
    repeats = 0
    while _capacity(snapshots, repeats) < steps:
        repeats += 1
    # What is right of the jump has a snapshot less, what is left of it a repeat less.
    jump = min(_capacity(snapshots, repeats - 1), steps - _capacity(snapshots - 1, repeats - 1))
    return max(jump, steps - _capacity(snapshots - 1, repeats), 1)


def _sums(state: Tree) -> list[Any]:
    return [_summary(x) for x in state[0]]


class _Sequence:
    """One call of checkpoint_sequence under a reverse or forward transform.

    A state is the list of its differentiable leaves and, in `others`, what else it holds.
    """

    def __init__(
        self,
        name: str,
        step: Function,
        n: int,
        snapshots: int,
        state: Tree,
        args: Tree,
        inner: Traced,
    ) -> None:
        self.name, self.step, self.n, self.snapshots = name, step, n, snapshots
        leaves, structure = flatten(state)
        self.state = _Leaves([_as_scalar(leaf) for leaf in leaves], structure)
        self.args = _Leaves(*flatten(args))
        self.tape = inner.tape
        self.stored: list[tuple[int, Any]] = []
        self.level = -1  # of the transform, around this one, that the stored states belong to
        self.final: Any = None
        self.sums: list[Any] = []  # of the final state

    def run(self) -> Any:
        rule = CustomCall(self.name, self._forward, self._pull, self._push)
        parts = rule.apply_bound([*self.state.arrays(), *self.args.arrays()], {})
        return self._tree((list(parts), self.final[1]))

    # A state is (differentiable leaves, the other leaves).

    def _tree(self, state: tuple[list[Tree], list[Tree]]) -> Any:
        moving, others = iter(state[0]), iter(state[1])
        return unflatten(
            self.state.structure,
            [
                next(moving) if i in self.state.moving else next(others)
                for i in range(len(self.state.leaves))
            ],
        )

    def _first(self, arrays: Sequence[Value]) -> tuple[list[Any], list[Any]]:
        others = [x for i, x in enumerate(self.state.fixed) if i not in self.state.moving]
        return list(arrays), others

    def _advance(self, state: Tree, args: Sequence[Tree], steps: int) -> Any:
        for _ in range(steps):
            state = self._stepped(state, args)
        return state

    def _stepped(self, state: Tree, args: Sequence[Tree]) -> Any:
        moving, others = state
        given = self._tree(([snapshot(_own(x)) for x in moving], others))
        leaves, structure = flatten(self.step(given, *self.args.tree(args)))
        if structure != self.state.structure:
            raise RuleError(
                f"{self.name}: a step must return a state with the containers of the one it got."
            )
        out = [_as_scalar(x) for x in leaves]
        chosen = [out[i] for i in self.state.moving]
        others = [x for i, x in enumerate(out) if i not in self.state.moving]
        if not all(map(is_inexact, chosen)) or any(map(is_inexact, others)):
            raise RuleError(
                f"{self.name}: floating and whole numbers must keep their places in the state. "
                "Start a sum with 0.0, not 0."
            )
        return chosen, others

    def _forward(self, *arrays: Value) -> tuple[Any, ...]:
        """The first sweep: on the way, it leaves the snapshots that the reversal starts from."""
        count = len(self.state.moving)
        self.level = level_of(innermost(arrays))
        args = arrays[count:]
        state = self._first(arrays[:count])
        if isinstance(self.tape, ForwardTape):
            self.final = self._advance(state, args, self.n)  # it is pushed, never pulled
        else:
            self.stored = self._sweep(state, args, 0, self.n, self.snapshots)
            begin, last = self.stored[-1]
            self.final = self._advance(last, args, self.n - begin)
        check_closure(self.name, self.final[0], self.tape)
        self.sums = _sums(self.final)
        return tuple(self.final[0])

    def _sweep(
        self, state: Tree, args: Sequence[Tree], begin: int, end: int, snapshots: int
    ) -> list[tuple[int, Any]]:
        stored = [(begin, state)]
        while snapshots > 1 and end - begin > 1:
            jump = first_jump(end - begin, snapshots)
            state, begin, snapshots = self._advance(state, args, jump), begin + jump, snapshots - 1
            stored.append((begin, state))
        return stored

    def _pull(self, g: list[Cotangent], arrays: Sequence[Value]) -> list[Any]:
        count = len(self.state.moving)
        state, args = self._first(arrays[:count]), arrays[count:]
        stored, self.stored = self.stored, []
        if not stored or level_of(innermost(arrays)) != self.level:
            # A second pull, or one that a transform around it logs: states of that transform.
            del stored
            stored = self._sweep(state, args, 0, self.n, self.snapshots)
        # Of the state and of the args. One object, so that no frame keeps earlier cotangents.
        bars: list[list[Any]] = [list(g), [None] * len(args)]
        end, after = self.n, self.sums
        while stored:
            begin, state = stored.pop()
            free = self.snapshots - len(stored)
            self._reverse(state, args, end - begin, free, bars, after)
            end, after = begin, _sums(state)
        return [*bars[0], *bars[1]]

    def _reverse(
        self,
        state: Tree,
        args: Sequence[Tree],
        steps: int,
        snapshots: int,
        bars: list[list[Cotangent]],
        after: Sequence[Any] | None,
    ) -> None:
        """Take cotangents through so many steps after a stored state, one of the snapshots.

        `after`: the sums of the state at the end, by which a step that is random is found out.
        """
        while steps > 1:
            if snapshots == 1:
                self._pull_step(self._advance(state, args, steps - 1), args, bars, after)
                steps, after = steps - 1, None
                continue
            jump = first_jump(steps, snapshots)
            later = self._advance(state, args, jump)
            self._reverse(later, args, steps - jump, snapshots - 1, bars, after)
            after = _sums(later)
            del later
            steps = jump
        if steps:
            self._pull_step(state, args, bars, after)

    def _pull_step(
        self,
        state: Tree,
        args: Sequence[Tree],
        bars: list[list[Cotangent]],
        after: Sequence[Any] | None,
    ) -> None:
        moving, others = state
        count = len(moving)

        def one(*arrays: Value) -> tuple[Any, ...]:
            out = self._stepped((list(arrays[:count]), others), arrays[count:])[0]
            if after is not None:
                _require_same(self.name, out, after)
            return tuple(out)

        found = pull_once(self.name, one, [*moving, *args], bars[0])
        bars[0] = list(found[:count])
        bars[1] = [
            new if old is None else old + new
            for old, new in zip(bars[1], found[count:], strict=True)
        ]

    def _push(self, dots: Sequence[Tangent], arrays: Sequence[Value]) -> list[Any]:
        count = len(self.state.moving)
        state, args = self._first(arrays[:count]), arrays[count:]
        state_dots, args_dots = list(dots[:count]), tuple(dots[count:])
        for _ in range(self.n):
            others = state[1]

            def one(*given: Value, others: Value = others) -> Any:
                out = self._stepped((list(given[:count]), others), given[count:])
                return tuple(out[0]), out[1]

            moved, moved_dots, others = jvp(
                one, (*state[0], *args), (*state_dots, *args_dots), has_aux=True
            )
            state, state_dots = (list(moved), others), list(moved_dots)
        return state_dots


__all__ = ["checkpoint", "checkpoint_sequence", "first_jump"]
