"""Memory for time: checkpoint and checkpoint_sequence.

Knows vjp, jvp and how a custom function is logged. A checkpointed call keeps its arguments alone;
what happened inside it is computed again when a replay comes by.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import comb
from typing import Any

import numpy as np

from tapegrad._custom import CustomCall, check_closure
from tapegrad._errors import InputError, RuleError, message, name_of
from tapegrad._forward import jvp
from tapegrad._reverse import pull_once
from tapegrad._rule import innermost, plain
from tapegrad._tape import Traced, handle, is_inexact
from tapegrad._transformed import Transformed
from tapegrad._tree import Structure, flatten, unflatten

Function = Callable[..., Any]


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

    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = flatten((args, kwargs))
        inner = innermost(leaves)
        if not isinstance(inner, Traced):
            return f(*args, **kwargs)
        call = _Call(f, leaves, structure, inner)
        return call.run()

    return Transformed(checkpoint, f, {}, checkpointed)


class _Leaves:
    """Which leaves of a call are differentiated, and how to put others in their place."""

    def __init__(self, leaves: list[Any], structure: Structure) -> None:
        self.leaves, self.structure = leaves, structure
        self.moving = [
            i for i, leaf in enumerate(leaves) if isinstance(leaf, Traced) or is_inexact(leaf)
        ]
        # What does not move may be written to by the program before a replay comes by.
        self.fixed = [None if i in self.moving else handle(x) for i, x in enumerate(leaves)]

    def arrays(self) -> list[Any]:
        return [self.leaves[i] for i in self.moving]

    def tree(self, arrays: Sequence[Any]) -> Any:
        filled = list(self.fixed)
        for position, array in zip(self.moving, arrays, strict=True):
            filled[position] = array
        return unflatten(self.structure, filled)


class _Call:
    """One call of a checkpointed function under a transform."""

    def __init__(self, f: Function, leaves: list[Any], structure: Structure, inner: Traced):
        self.f = f
        self.name = f"checkpoint({name_of(f)})"
        self.given = _Leaves(leaves, structure)
        self.root = inner.tape.root
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

    def _outputs(self, arrays: Sequence[Any]) -> tuple[Any, ...]:
        args, kwargs = self.given.tree(arrays)
        leaves, self.out_structure = flatten(self.f(*args, **kwargs))
        leaves = [np.float64(leaf) if isinstance(leaf, float) else leaf for leaf in leaves]
        self.fixed_outputs = [_MOVING if is_inexact(leaf) else leaf for leaf in leaves]
        return tuple(leaf for leaf in leaves if is_inexact(leaf))

    def _forward(self, *arrays: Any) -> tuple[Any, ...]:
        # Each run gets arrays of its own: f may write into its arguments.
        out = self._outputs([handle(_own(x)) for x in arrays])
        check_closure(self.name, out, self.root)
        self.sums = [_summary(part) for part in out]
        return out

    def _again(self, *arrays: Any) -> tuple[Any, ...]:
        out = self._outputs([handle(x) for x in arrays])
        for part, before in zip(out, self.sums, strict=True):
            if not _agrees(_summary(part), before, part.dtype):
                raise RuleError(
                    f"{self.name}: it returned something else when a replay ran it again. Draw "
                    "random numbers outside and pass them in, and change nothing that lies "
                    "outside."
                )
        return out

    def _pull(self, g: list[Any], args: Sequence[Any]) -> Sequence[Any]:
        bars: Sequence[Any] = pull_once(self.name, self._again, args, g)
        return bars

    def _push(self, dots: Sequence[Any], args: Sequence[Any]) -> list[Any]:
        return list(jvp(self._again, tuple(args), tuple(dots))[1])


_MOVING = object()  # stands for a differentiable output


def _own(x: Any) -> Any:
    return x.copy() if type(x) is np.ndarray else x


def _summary(x: Any) -> tuple[float, float] | None:
    """The sum of an array and that of its sizes, to tell whether it is the same again."""
    x = plain(x)
    if type(x) is not np.ndarray and not isinstance(x, np.generic):
        return None
    with np.errstate(all="ignore"):
        return np.sum(x, dtype=_wide(x.dtype)), np.sum(np.abs(x), dtype=np.float64)


def _wide(dtype: np.dtype[Any]) -> Any:
    return np.complex128 if dtype.kind == "c" else np.float64


def _agrees(now: Any, before: Any, dtype: np.dtype[Any]) -> bool:
    """Whether two summaries differ by rounding alone (a traced run may sum in another order)."""
    if now is None or before is None or not np.isfinite(before[1]):
        return True
    return bool(abs(now[0] - before[0]) <= 1e4 * np.finfo(dtype).eps * before[1])


# --- A sequence of steps ------------------------------------------------------------------------


def checkpoint_sequence(
    step: Function, state: Any, n: int, *args: Any, snapshots: int = 20
) -> Any:
    """The state after n times `state = step(state, *args)`, differentiable in little memory.

    A reverse derivative stores at most `snapshots` states (the first among them) and one step's
    own intermediate values, and computes the others again, on the binomial schedule that needs the
    fewest steps: with r the least number for which comb(snapshots + r, r) >= n, it runs
    r*n - comb(snapshots + r, r - 1) steps besides the n that it differentiates, and those from the
    last snapshot to the end, whose state is the result (Griewank and Walther, Algorithm 799:
    revolve, ACM TOMS 26, 2000). A forward derivative stores one
    state. States and args are pytrees, and are differentiated both; a state's containers, shapes
    and dtypes stay the same from step to step. `step` must not close over traced values: pass them
    in args. Second derivatives store every step.

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
        for _ in range(n):
            state = step(state, *args)
        return state
    sequence = _Sequence(name, step, n, snapshots, state, args, inner)
    return sequence.run()


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
        state: Any,
        args: Any,
        inner: Traced,
    ) -> None:
        self.name, self.step, self.n, self.snapshots = name, step, n, snapshots
        leaves, structure = flatten(state)
        self.state = _Leaves(leaves, structure)
        self.args = _Leaves(*flatten(args))
        self.root = inner.tape.root
        self.stored: list[tuple[int, Any]] = []
        self.final: Any = None

    def run(self) -> Any:
        rule = CustomCall(self.name, self._forward, self._pull, self._push)
        parts = rule.apply_bound([*self.state.arrays(), *self.args.arrays()], {})
        return self._tree((list(parts), self.final[1]))

    # A state is (differentiable leaves, the other leaves).

    def _tree(self, state: tuple[list[Any], list[Any]]) -> Any:
        moving, others = iter(state[0]), iter(state[1])
        return unflatten(
            self.state.structure,
            [
                next(moving) if i in self.state.moving else next(others)
                for i in range(len(self.state.leaves))
            ],
        )

    def _first(self, arrays: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        others = [x for i, x in enumerate(self.state.fixed) if i not in self.state.moving]
        return list(arrays), others

    def _advance(self, state: Any, args: Sequence[Any], steps: int) -> Any:
        for _ in range(steps):
            state = self._stepped(state, args)
        return state

    def _stepped(self, state: Any, args: Sequence[Any]) -> Any:
        moving, others = state
        given = self._tree(([handle(_own(x)) for x in moving], others))
        leaves, structure = flatten(self.step(given, *self.args.tree(args)))
        if structure != self.state.structure:
            raise RuleError(
                f"{self.name}: a step must return a state with the containers of the one it got."
            )
        out = [np.float64(x) if isinstance(x, float) else x for x in leaves]
        chosen = [out[i] for i in self.state.moving]
        return chosen, [x for i, x in enumerate(out) if i not in self.state.moving]

    def _forward(self, *arrays: Any) -> tuple[Any, ...]:
        """The first sweep: on the way, it leaves the snapshots that the reversal starts from."""
        count = len(self.state.moving)
        args = arrays[count:]
        state = self._first(arrays[:count])
        self.stored = self._sweep(state, args, 0, self.n, self.snapshots)
        begin, last = self.stored[-1]
        self.final = self._advance(last, args, self.n - begin)
        check_closure(self.name, self.final[0], self.root)
        return tuple(self.final[0])

    def _sweep(
        self, state: Any, args: Sequence[Any], begin: int, end: int, snapshots: int
    ) -> list[tuple[int, Any]]:
        stored = [(begin, state)]
        while snapshots > 1 and end - begin > 1:
            jump = first_jump(end - begin, snapshots)
            state, begin, snapshots = self._advance(state, args, jump), begin + jump, snapshots - 1
            stored.append((begin, state))
        return stored

    def _pull(self, g: list[Any], arrays: Sequence[Any]) -> list[Any]:
        count = len(self.state.moving)
        state, args = self._first(arrays[:count]), arrays[count:]
        if innermost(arrays) is not None or not self.stored:
            stored = self._sweep(state, args, 0, self.n, self.snapshots)
        else:
            stored, self.stored = self.stored, []  # a second pull sweeps again
        bars: tuple[list[Any], list[Any]] = (list(g), [None] * len(args))
        end = self.n
        while stored:
            begin, state = stored.pop()
            free = self.snapshots - len(stored)
            bars = self._reverse(state, args, end - begin, free, bars)
            end = begin
        return [*bars[0], *bars[1]]

    def _reverse(
        self, state: Any, args: Sequence[Any], steps: int, snapshots: int, bars: Any
    ) -> Any:
        """Cotangents through so many steps after a stored state, which is one of the snapshots."""
        while steps > 1:
            if snapshots == 1:
                bars = self._pull_step(self._advance(state, args, steps - 1), args, bars)
                steps -= 1
                continue
            jump = first_jump(steps, snapshots)
            later = self._advance(state, args, jump)
            bars = self._reverse(later, args, steps - jump, snapshots - 1, bars)
            del later
            steps = jump
        return self._pull_step(state, args, bars) if steps else bars

    def _pull_step(self, state: Any, args: Sequence[Any], bars: Any) -> Any:
        moving, others = state
        count = len(moving)

        def one(*arrays: Any) -> tuple[Any, ...]:
            return tuple(self._stepped((list(arrays[:count]), others), arrays[count:])[0])

        found = pull_once(self.name, one, [*moving, *args], bars[0])
        before = bars[1]
        sums = [
            new if old is None else old + new
            for old, new in zip(before, found[count:], strict=True)
        ]
        return list(found[:count]), sums

    def _push(self, dots: Sequence[Any], arrays: Sequence[Any]) -> list[Any]:
        count = len(self.state.moving)
        state, args = self._first(arrays[:count]), arrays[count:]
        state_dots, args_dots = list(dots[:count]), tuple(dots[count:])
        for _ in range(self.n):
            others = state[1]

            def one(*given: Any, others: Any = others) -> Any:
                out = self._stepped((list(given[:count]), others), given[count:])
                return tuple(out[0]), out[1]

            moved, moved_dots, others = jvp(
                one, (*state[0], *args), (*state_dots, *args_dots), has_aux=True
            )
            state, state_dots = (list(moved), others), list(moved_dots)
        return state_dots


__all__ = ["checkpoint", "checkpoint_sequence", "first_jump"]
