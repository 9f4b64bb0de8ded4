"""checkpoint_sequence: derivatives of a repeated step, from stored states.

Knows vjp, jvp, the schedules, and where states are stored. Must not know how a schedule is found,
nor the format of files.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from operator import index, sub
from typing import Any

from tapegrad._core.forward_tape import ForwardTape
from tapegrad._core.tape import CURRENT
from tapegrad._core.types import Cotangent, Function, Tangent, Tree, Value, Wanted
from tapegrad._core.values import Traced, innermost, is_inexact, level_of, snapshot
from tapegrad._errors import BatchingError, InputError, RuleError, describe, message, name_of
from tapegrad._progress import Bar, Progress, current
from tapegrad._transforms.caught import replaying
from tapegrad._transforms.checkpoint import (
    _as_scalar,
    _is_traced_below,
    _Leaves,
    _OfWholeArrays,
    _own_copy,
    _require_same,
    _summary,
)
from tapegrad._transforms.custom import CustomCall, check_closure
from tapegrad._transforms.disk_options import Disk, chosen_disk
from tapegrad._transforms.forward import jvp
from tapegrad._transforms.reverse import pull_once
from tapegrad._transforms.schedule import best_files, disk_positions, first_jump
from tapegrad._transforms.state_files import StateFiles, StoredStates, size_of
from tapegrad._transforms.tracebacks import folding
from tapegrad._tree import flatten, tree_map, unflatten


@folding
def checkpoint_sequence(
    step: Function,
    state: Tree,
    n: int,
    *args: Tree,
    snapshots: int | None = None,
    progress: Progress = None,
    disk: str | os.PathLike[str] | None = None,
    disk_cost: tuple[float, float] | None = None,
    disk_states: int | None = None,
) -> Any:
    """The state after n times `state = step(state, *args)`, differentiable in little memory.

    A reverse derivative stores at most `snapshots` states (the first among them) and the
    intermediate values of one step, and computes the other states again. A forward derivative
    stores one state, `hvp` the snapshots and their tangents, other second derivatives every step.

    Parameters
    ----------
    step : callable
        Function `step(state, *args)` that returns the next state, with the containers of the
        state; integers stay integers. It must not close over traced values: pass them in `args`.
    state : pytree
        The first state.
    n : int
        How many steps; 0 returns the state.
    *args : pytree
        What each step gets; differentiated, as the state is.
    snapshots : int, optional
        The most states in memory at a time, the first among them. By default 20; with `disk` as
        many as take 4 MB, but 3 at least and 20 at most.
    progress : bool or class, optional
        A bar (tqdm) after two seconds in a terminal or notebook (None), at once (True), never
        (False), or a class like tqdm. A replay has a bar of its own, for the steps that it
        differentiates.
    disk : str or PathLike, optional
        An existing directory. A reverse derivative then stores states in files too, in a directory
        of its own there, which is removed when the derivative is taken, after an error, and when
        Python exits. In memory there are `snapshots` states at most, besides the first. The arrays
        of a state, of any dtype but object, go to files; values of an outer transform stay in
        memory, and the schedule is then the one without files. The derivative is the same to the
        bit.
    disk_cost : tuple of float, optional
        What writing and reading a state take, in steps; by default both are measured, by two steps
        that are run in addition. The number of files is the best for that, with each state written
        when the first sweep passes it, and read once.
    disk_states : int, optional
        The most files at a time. By default as many as fill half of what is free.

    Returns
    -------
    pytree
        The last state.

    Raises
    ------
    InputError
        For a negative n, less than one snapshot, and a state with objects for the disk.
    RuleError
        As `checkpoint` does.
    OSError
        FileNotFoundError, PermissionError, ... for a directory or file that cannot be written,
        before a step is run or the result is returned.

    See Also
    --------
    checkpoint : One call.

    Notes
    -----
    The schedule is the binomial one, which needs the fewest steps. Let r be the least number for
    which comb(snapshots + r, r) >= n. Besides the n steps that it differentiates, the derivative
    runs r*n - comb(snapshots + r, r - 1) steps, and those from the last snapshot to the end, whose
    state is the result (Griewank and Walther, Algorithm 799: revolve, ACM TOMS 26, 2000).

    Examples
    --------
    >>> import numpy as np
    >>> import tapegrad
    >>> def decay(x, rate):
    ...     return checkpoint_sequence(lambda x, rate: x * rate, x, 100, rate, snapshots=5)
    >>> bool(np.isclose(tapegrad.grad(decay)(1.0, 0.99), 0.99**100))
    True
    >>> import tempfile
    >>> def on_disk(x, rate, path):
    ...     step = lambda x, rate: x * rate
    ...     return checkpoint_sequence(step, x, 100, rate, snapshots=5, disk=path)
    >>> with tempfile.TemporaryDirectory() as path:
    ...     bool(tapegrad.grad(on_disk)(1.0, 0.99, path) == tapegrad.grad(decay)(1.0, 0.99))
    True
    """
    name = f"checkpoint_sequence({name_of(step)})"
    n = _whole(name, n)
    if n < 0 or (snapshots is not None and snapshots < 1):
        raise InputError(
            message(
                name,
                "n >= 0 steps and at least one snapshot",
                f"n={n}, snapshots={snapshots}",
                "The first state is a snapshot too",
            )
        )
    chosen = chosen_disk(name, disk, disk_cost, disk_states)
    leaves, structure = flatten((state, args))
    inner = innermost(leaves)
    if not isinstance(inner, Traced):
        if _is_traced_below(leaves, inner):
            options = {
                "snapshots": snapshots,
                "progress": progress,
                "disk": disk,
                "disk_cost": disk_cost,
                "disk_states": disk_states,
            }
            return _mapped_sequence(step, state, n, args, options, inner.vmap_level)
        with Bar(name, progress, n) as bar:
            for _ in bar.over(range(n)):
                state = step(state, *args)
        return state
    sequence = _Sequence(name, step, n, snapshots, progress, state, args, inner)
    sequence.disk = chosen
    return sequence.run()


def _whole(name: str, n: Any) -> int:
    """The number of steps, which is what an index may be."""
    try:
        return index(n)
    except TypeError:
        raise InputError(
            message(
                name,
                "the number of steps as the third argument",
                describe(n),
                "What each step gets comes after it: (step, state, n, *args)",
            )
        ) from None


def _mapped_sequence(
    step: Function, state: Tree, n: int, args: Tree, options: dict[str, Any], vmap_level: Any
) -> Any:
    """checkpoint_sequence inside vmap, as one of arrays with the examples along axis 0."""
    # A differentiable leaf gets its axis of examples now, because it has one at the end.
    state = tree_map(
        lambda x: (
            x
            if vmap_level.owns(x) or not is_inexact(_as_scalar(x))
            else vmap_level.wrap(vmap_level.front(x))
        ),
        state,
    )
    leaves, structure = flatten((state, args))
    whole = _OfWholeArrays(_with_examples(step, vmap_level), vmap_level, leaves)
    state, args = unflatten(structure, whole.values(leaves))
    final = checkpoint_sequence(whole, state, n, *args, **options)
    shown, structure = flatten(final)
    return unflatten(
        structure,
        [
            vmap_level.wrap(x) if is_one else x
            for x, is_one in zip(shown, whole.mapped, strict=False)
        ],
    )


def _with_examples(step: Function, like: Any) -> Function:
    """A step that batches a leaf of its result if the leaf was batched in the state before."""

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


def _sums(state: Tree) -> list[Any]:
    return [_summary(x) for x in state[0]]


# The default number of snapshots. Who gives a disk is short of memory, so that large states are
# few in memory: with three, a fourth of them in files lets each step run less than three times.
MOST, LEAST = 20, 3
BUDGET = 4_000_000  # bytes


class _Call(CustomCall):
    """The rule of a call. It keeps the first state, and not the last one, which is found again."""

    def needs(self, wanted: Wanted) -> tuple[Sequence[bool], bool]:
        return [True] * len(wanted), False


class _Sequence:
    """One call of checkpoint_sequence under a reverse or forward transform.

    A state is a pair: the list of its differentiable leaves, and that of its other leaves.
    """

    def __init__(
        self,
        name: str,
        step: Function,
        n: int,
        snapshots: int | None,
        progress: Progress,
        state: Tree,
        args: Tree,
        inner: Traced,
    ) -> None:
        self.name, self.step, self.n, self.given = name, step, n, snapshots
        self.snapshots = MOST if snapshots is None else snapshots
        self.progress = progress
        leaves, structure = flatten(state)
        self.state = _Leaves([_as_scalar(leaf) for leaf in leaves], structure)
        self.args = _Leaves(*flatten(args))
        self.tape = inner.tape
        self.disk: Disk | None = None
        self.stored: list[tuple[int, Any]] = []
        self.files: StateFiles | None = None
        self.filed = StoredStates()  # of earlier states than those of `stored`
        self.level: float = -1  # the level of the outer transform that the stored states belong to
        self.others: list[Any] = []  # of the final state, the leaves that are not differentiable
        self.sums: list[Any] = []  # the summaries of the final state

    def run(self) -> Any:
        rule = _Call(self.name, self._forward, self._pull, self._push)
        parts = rule.apply_bound([*self.state.arrays(), *self.args.arrays()], {})
        return self._tree((list(parts), self.others))

    def _tree(self, state: tuple[list[Tree], list[Tree]]) -> Any:
        differentiable, others = iter(state[0]), iter(state[1])
        return unflatten(
            self.state.structure,
            [
                next(differentiable) if i in self.state.differentiable else next(others)
                for i in range(len(self.state.leaves))
            ],
        )

    def _first(self, arrays: Sequence[Value]) -> tuple[list[Any], list[Any]]:
        others = [x for i, x in enumerate(self.state.fixed) if i not in self.state.differentiable]
        return list(arrays), others

    def _advance(self, state: Tree, args: Sequence[Tree], steps: int, counted: int = 0) -> Any:
        bar = current()
        for _ in range(steps):
            given, state = [self._copied(state)], None  # one state less in memory during the step
            state = self._stepped(given, args)
            bar.step(counted)
        return state

    def _copied(self, state: Tree) -> Any:
        """A state as a step gets it, which may write into it."""
        differentiable, others = state
        return self._tree(
            ([snapshot(_own_copy(x)) for x in differentiable], list(map(_own_copy, others)))
        )

    def _stepped(self, given: list[Tree], args: Sequence[Tree]) -> Any:
        """The state after the only one in a list, which is empty then."""
        leaves, structure = flatten(self.step(given.pop(), *self.args.tree(args)))
        if structure != self.state.structure:
            raise RuleError(
                f"{self.name}: a step must return a state with the containers of the one it got."
            )
        out = [_as_scalar(x) for x in leaves]
        chosen = [out[i] for i in self.state.differentiable]
        others = [x for i, x in enumerate(out) if i not in self.state.differentiable]
        if not all(map(is_inexact, chosen)) or any(map(is_inexact, others)):
            raise RuleError(
                f"{self.name}: floating and whole numbers must keep their places in the state. "
                "Start a sum with 0.0, not 0."
            )
        return chosen, others

    def _forward(self, *arrays: Value) -> tuple[Any, ...]:
        """The first sweep, which stores the snapshots that the reversal starts from."""
        count = len(self.state.differentiable)
        self.level = level_of(innermost(arrays))
        args = arrays[count:]
        state = self._first(arrays[:count])
        with Bar(self.name, self.progress, self.n):
            if isinstance(self.tape, ForwardTape):  # it pushes, and never pulls
                final = self._advance(state, args, self.n, counted=1)
            else:
                self.stored = self._sweep_all(state, args, counted=1)
                begin, last = self.stored[-1]
                final = self._advance(last, args, self.n - begin, counted=1)
        check_closure(self.name, final[0], self.tape)
        self.sums, self.others = _sums(final), final[1]
        return tuple(final[0])

    def _sweep_all(self, state: Tree, args: Sequence[Tree], counted: int = 0) -> Any:
        """The states that are stored in memory; earlier ones are in files, if there is a disk."""
        on_disk = self.disk is not None and innermost([*state[0], *args]) is None
        if self.given is None:
            few = max(BUDGET // size_of([*state[0], *state[1]]), LEAST)
            self.snapshots = min(few, MOST) if on_disk else MOST
        if not on_disk:
            return self._sweep(state, args, 0, self.n, self.snapshots, counted)
        assert self.disk is not None
        self.files = files = StateFiles(self.name, self.disk.directory)
        try:
            positions, begin = self._positions(files, state, args), 0
            for position in positions:
                if begin:
                    self.filed.push(begin, files.write([*state[0], *state[1]]))
                state = self._advance(state, args, position - begin, counted)
                begin = position
            return self._sweep(state, args, begin, self.n, self.snapshots, counted)
        except BaseException:
            self._drop_files()
            raise

    def _positions(self, files: StateFiles, state: Tree, args: Sequence[Tree]) -> Iterable[int]:
        """Before which steps a state is stored in a file, but for the last, in memory."""
        assert self.disk is not None
        leaves = [*state[0], *state[1]]
        files.require_writable(leaves)
        size = size_of(leaves)
        limit = files.free // (2 * size) if self.disk.states is None else self.disk.states
        most = self.disk.cost
        if most is None:
            if self.n <= self.snapshots:
                return [0]  # no step is run again
            most = self._measured(files, state, args)
        count = best_files(self.n, self.snapshots, sum(most), limit)
        files.require_space(count * size)
        return disk_positions(self.n, self.snapshots, count)

    def _measured(
        self, files: StateFiles, state: Tree, args: Sequence[Tree]
    ) -> tuple[float, float]:
        """Cost of writing and reading the first state, in steps."""
        times: list[list[float]] = []
        for _ in range(2):  # the first may compile, or fill a cache
            times.append([time.perf_counter()])
            self._advance(state, args, 1)
            times[-1].append(time.perf_counter())
            stored = files.write([*state[0], *state[1]])
            times[-1].append(time.perf_counter())
            for leaf in files.read(stored):
                _own_copy(leaf)
            times[-1].append(time.perf_counter())
            files.remove(stored)
        step, write, read = map(min, *(map(sub, each[1:], each) for each in times))
        return write / max(step, 1e-9), read / max(step, 1e-9)

    def _drop_files(self) -> None:
        files, self.files, self.filed = self.files, None, StoredStates()
        if files is not None:
            files.close()

    def _sweep(
        self,
        state: Tree,
        args: Sequence[Tree],
        begin: int,
        end: int,
        snapshots: int,
        counted: int = 0,
    ) -> list[tuple[int, Any]]:
        stored = [(begin, state)]
        while snapshots > 1 and end - begin > 1:
            jump = first_jump(end - begin, snapshots)
            state = self._advance(state, args, jump, counted)
            begin, snapshots = begin + jump, snapshots - 1
            stored.append((begin, state))
        return stored

    def _pull(self, g: list[Cotangent], arrays: Sequence[Value]) -> list[Any]:
        with self._replay_bar():
            return self._pull_all(g, arrays)

    def _replay_bar(self) -> Bar:
        return Bar(f"{self.name}: derivative", self.progress, self.n)

    def _pull_all(self, g: list[Cotangent], arrays: Sequence[Value]) -> list[Any]:
        count = len(self.state.differentiable)
        state, args = self._first(arrays[:count]), arrays[count:]
        stored, self.stored = self.stored, []
        try:
            if not stored or level_of(innermost(arrays)) != self.level:
                # A second pull, or one that an outer transform logs, with states of its own.
                del stored
                self._drop_files()
                stored = self._sweep_all(state, args)
            # Cotangents of the state and of args, in one list: no frame keeps earlier ones.
            bars: list[list[Any]] = [list(g), [None] * len(args)]
            g.clear()  # the caller's list, of copies for this call: one state less in memory
            end, after = self.n, self.sums
            while stored:
                begin, last = stored.pop()
                free = self.snapshots - len(stored)
                self._reverse(last, args, end - begin, free, bars, after)
                end, after = begin, _sums(last)
                del last
            for begin, last in self._read_back():
                self._reverse(last, args, end - begin, self.snapshots, bars, after)
                end, after = begin, _sums(last)
                del last
            self._reverse(state, args, end, self.snapshots, bars, after)
            return [*bars[0], *bars[1]]
        finally:
            self._drop_files()

    def _read_back(self) -> Iterator[tuple[int, Any]]:
        """The states in files, from the last one on. A file goes when the next one is wanted."""
        files, count = self.files, len(self.state.differentiable)
        while self.filed:
            assert files is not None
            begin, stored = self.filed.pop()
            leaves = files.read(stored)
            yield begin, (leaves[:count], leaves[count:])
            del leaves
            files.remove(stored)

    def _reverse(
        self,
        state: Tree,
        args: Sequence[Tree],
        steps: int,
        snapshots: int,
        bars: list[list[Cotangent]],
        after: Sequence[Any] | None,
    ) -> None:
        """Pull cotangents back through `steps` steps after a stored state.

        The stored state counts as one of the `snapshots`. `after` are the summaries of the state
        at the end, which show whether a step is random.
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
        differentiable, others = state
        count = len(differentiable)

        def one(*arrays: Value) -> tuple[Any, ...]:
            with replaying(self.name):
                copied = self._copied((list(arrays[:count]), others))
                out = self._stepped([copied], arrays[count:])[0]
                if after is not None:
                    _require_same(self.name, out, after)
            return tuple(out)

        found = pull_once(self.name, one, [*differentiable, *args], bars[0])
        current().step()
        bars[0] = list(found[:count])
        bars[1] = [
            new if old is None else old + new
            for old, new in zip(bars[1], found[count:], strict=True)
        ]

    def _push(self, dots: Sequence[Tangent], arrays: Sequence[Value]) -> list[Any]:
        count = len(self.state.differentiable)
        state, args = self._first(arrays[:count]), arrays[count:]
        state_dots, args_dots = list(dots[:count]), tuple(dots[count:])
        with self._replay_bar() as bar, replaying(self.name):
            for _ in bar.over(range(self.n)):
                others = state[1]

                def one(*given: Value, others: Value = others) -> Any:
                    copied = self._copied((list(given[:count]), others))
                    out = self._stepped([copied], given[count:])
                    return tuple(out[0]), out[1]

                moved, moved_dots, others = jvp(
                    one, (*state[0], *args), (*state_dots, *args_dots), has_aux=True
                )
                state, state_dots = (list(moved), others), list(moved_dots)
            _require_same(self.name, state[0], self.sums)
        return state_dots


__all__ = ["checkpoint_sequence"]
