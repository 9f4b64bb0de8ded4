"""checkpoint and checkpoint_sequence: derivatives in less memory, at the price of more time.

Knows vjp, jvp and how a custom function is logged. A checkpointed call keeps only its arguments,
and a replay computes its intermediate values again.
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
    Traced,
    innermost,
    is_inexact,
    is_mapped,
    is_plain_number,
    level_of,
    snapshot,
    untraced,
)
from tapegrad._errors import BatchingError, InputError, RuleError, message, name_of
from tapegrad._progress import Bar, Progress, current
from tapegrad._transforms.custom import CustomCall, check_closure
from tapegrad._transforms.forward import jvp
from tapegrad._transforms.outputs import require_known
from tapegrad._transforms.reverse import pull_once
from tapegrad._transforms.tracebacks import folding
from tapegrad._transforms.wrapper import Transformed
from tapegrad._tree import Structure, flatten, tree_map, unflatten


def checkpoint(f: Function) -> Function:
    """f, of which a derivative keeps only the arguments, and which it runs again when it needs to.

    Arguments and results are pytrees. f may branch on its arguments, and may contain other
    checkpointed calls. Derivatives of any order, in both directions, are those of f. f must return
    the same when it runs again. RuleError is raised if a replay gets another result (f draws
    random numbers: draw them outside), or if f closes over a traced value (pass it as an
    argument).

    >>> import tapegrad
    >>> tapegrad.grad(checkpoint(lambda x: np.sin(x) ** 2))(0.5) == np.sin(1.0)
    np.True_
    """

    @folding
    def checkpointed(*args: Tree, **kwargs: Any) -> Any:
        leaves, structure = flatten((args, kwargs))
        inner = innermost(leaves)
        if isinstance(inner, Traced):
            return _CheckpointedCall(f, leaves, structure, inner).run()
        if _is_traced_below(leaves, inner):
            whole = _OfWholeArrays(f, inner.vmap_level, leaves)
            args, kwargs = unflatten(structure, whole.values(leaves))
            return whole.examples(checkpoint(whole)(*args, **kwargs))
        return f(*args, **kwargs)

    return Transformed(checkpoint, f, {}, checkpointed)


def _is_traced_below(leaves: list[Value], inner: Value) -> bool:
    """Whether a transform around the vmap of `inner` differentiates the call."""
    while is_mapped(inner):
        vmap_level = inner.vmap_level
        leaves = [x._value if vmap_level.owns(x) else x for x in leaves]
        inner = innermost(leaves)
    return isinstance(inner, Traced)


class _OfWholeArrays:
    """A function inside vmap, as a function of arrays with the examples along axis 0.

    A replay may call it after the vmap has returned, so each run opens a vmap of its own.
    """

    def __init__(self, f: Function, vmap_level: Any, leaves: list[Value]) -> None:
        self.f, self.vmap_level = f, vmap_level
        self.__name__ = name_of(f)
        self.mapped = [vmap_level.owns(leaf) for leaf in leaves]
        self.out_mapped: list[bool] = []

    def values(self, leaves: list[Value]) -> list[Any]:
        """The leaves that this function takes, with the examples along axis 0."""
        return [x._value if self.vmap_level.owns(x) else x for x in leaves]

    def examples(self, out: Tree) -> Any:
        """A result of this function, batched by the vmap again."""
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
            out = [x._value if vmap_level.owns(x) else x for x in out]
            return unflatten(out_structure, out)
        finally:
            CURRENT.reset(token)
            vmap_level.open = False


class _Leaves:
    """The leaves of a call: which of them are differentiated, and how to replace those."""

    def __init__(self, leaves: list[Value], structure: Structure) -> None:
        self.leaves, self.structure = leaves, structure
        self.differentiable = [
            i for i, leaf in enumerate(leaves) if isinstance(leaf, Traced) or is_inexact(leaf)
        ]
        # The program may write to the other leaves before a replay, so they are copied.
        self.fixed = [
            None if i in self.differentiable else snapshot(_own_copy(x))
            for i, x in enumerate(leaves)
        ]

    def arrays(self) -> list[Any]:
        return [self.leaves[i] for i in self.differentiable]

    def tree(self, arrays: Sequence[Value]) -> Any:
        filled = [_own_copy(x) for x in self.fixed]
        for position, array in zip(self.differentiable, arrays, strict=True):
            filled[position] = array
        return unflatten(self.structure, filled)


class _CheckpointedCall:
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
            [next(parts) if out is _DIFFERENTIABLE else out for out in self.fixed_outputs],
        )

    def _outputs(self, arrays: Sequence[Value]) -> tuple[Any, ...]:
        args, kwargs = self.given.tree(arrays)
        leaves, self.out_structure = flatten(self.f(*args, **kwargs))
        for leaf in leaves:
            require_known(self.name, leaf, arrays)
        leaves = [_as_scalar(leaf) for leaf in leaves]
        self.fixed_outputs = [_DIFFERENTIABLE if is_inexact(leaf) else leaf for leaf in leaves]
        return tuple(leaf for leaf in leaves if is_inexact(leaf))

    def _forward(self, *arrays: Value) -> tuple[Any, ...]:
        # Each run gets copies, which show whether f writes into its arguments.
        given = [snapshot(_own_copy(x)) for x in arrays]
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

    def _recompute(self, *arrays: Value) -> tuple[Any, ...]:
        out = self._outputs([snapshot(x) for x in arrays])
        _require_same(self.name, out, self.sums)
        return out

    def _pull(self, g: list[Cotangent], args: Sequence[Value]) -> Sequence[Any]:
        bars: Sequence[Any] = pull_once(self.name, self._recompute, args, g)
        return bars

    def _push(self, dots: Sequence[Tangent], args: Sequence[Value]) -> list[Any]:
        return list(jvp(self._recompute, tuple(args), tuple(dots))[1])


_DIFFERENTIABLE = object()  # the place of a differentiable output


def _as_scalar(leaf: Value) -> Any:
    """A floating or complex Python number as a NumPy scalar; any other leaf unchanged."""
    if not is_plain_number(leaf):
        return leaf
    if isinstance(leaf, float):
        return np.float64(leaf)
    return np.complex128(leaf) if isinstance(leaf, complex) else leaf


def _own_copy(x: Value) -> Any:
    return x.copy() if type(x) is np.ndarray else x


def _require_same(name: str, parts: Sequence[Value], before: Sequence[Any]) -> None:
    """Raise RuleError if the results of a second run differ from the summaries of the first."""
    same = len(parts) == len(before) and all(
        _agree(_summary(part), was, part.dtype) for part, was in zip(parts, before, strict=True)
    )
    if not same:
        raise RuleError(
            f"{name}: it returned something else when a replay ran it again. Draw random numbers "
            "outside and pass them in, and change nothing that lies outside."
        )


def _summary(x: Value) -> tuple[float, float] | None:
    """Sums over an array, and a bound for them, by which two runs are compared."""
    x = untraced(x)
    if type(x) is not np.ndarray and not issubclass(type(x), np.generic):
        return None
    flat: Any = x
    with np.errstate(all="ignore"):
        # This bounds sum(abs(x)) without another array.
        size = np.sqrt(np.vdot(flat, flat).real * float(x.size))
        row = np.ravel(x)
        # Every second, third, ... element is added again, so that another order gives another sum.
        total = sum(k * np.sum(row[::k], dtype=_wide(x.dtype)) for k in (1, 2, 3, 5, 7))
        return total, size


def _wide(dtype: np.dtype[Any]) -> Any:
    return np.complex128 if dtype.kind == "c" else np.float64


def _agree(now: Any, before: Any, dtype: np.dtype[Any]) -> bool:
    """Whether two summaries agree up to rounding (a traced run may sum in another order)."""
    if now is None or before is None or not np.isfinite(before[1]):
        return True
    return bool(abs(now[0] - before[0]) <= 1e4 * np.finfo(dtype).eps * before[1])


# --- A sequence of steps ------------------------------------------------------------------------


@folding
def checkpoint_sequence(
    step: Function,
    state: Tree,
    n: int,
    *args: Tree,
    snapshots: int = 20,
    progress: Progress = None,
) -> Any:
    """The state after n times `state = step(state, *args)`, differentiable in little memory.

    A reverse derivative stores at most `snapshots` states (the first among them) and the
    intermediate values of one step. It computes the other states again, on the binomial schedule
    that needs the fewest steps. Let r be the least number for which comb(snapshots + r, r) >= n.
    Besides the n steps that it differentiates, it runs r*n - comb(snapshots + r, r - 1) steps, and
    those from the last snapshot to the end, whose state is the result (Griewank and Walther,
    Algorithm 799: revolve, ACM TOMS 26, 2000). A forward derivative stores one state, `hvp` the
    snapshots and their tangents, other second derivatives every step.

    The state and args are pytrees, and both are differentiated. The containers of the state stay
    the same from step to step, and its integers stay integers. `step` must not close over traced
    values: pass them in args.

    progress: a bar (tqdm) after two seconds in a terminal or notebook (None), at once (True),
    never (False), or a class like tqdm. A replay has a bar of its own, for the steps that it
    differentiates.

    Raises InputError for a negative n or less than one snapshot, and RuleError as `checkpoint`
    does.

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
            options = {"snapshots": snapshots, "progress": progress}
            return _mapped_sequence(step, state, n, args, options, inner.vmap_level)
        with Bar(name, progress, n) as bar:
            for _ in bar.over(range(n)):
                state = step(state, *args)
        return state
    sequence = _Sequence(name, step, n, snapshots, progress, state, args, inner)
    return sequence.run()


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


@functools.cache
def _capacity(snapshots: int, repeats: int) -> int:
    """The number of steps that can be reversed if each of them runs `repeats` times."""
    return comb(snapshots + repeats, repeats) if repeats >= 0 else 0


def first_jump(steps: int, snapshots: int) -> int:
    """The distance from a snapshot to the next one that needs the fewest steps in all."""
    if snapshots == 1:
        return steps
    repeats = 0
    while _capacity(snapshots, repeats) < steps:
        repeats += 1
    # The steps after the jump have one snapshot less, those before it one repeat less.
    jump = min(_capacity(snapshots, repeats - 1), steps - _capacity(snapshots - 1, repeats - 1))
    return max(jump, steps - _capacity(snapshots - 1, repeats), 1)


def _sums(state: Tree) -> list[Any]:
    return [_summary(x) for x in state[0]]


class _Sequence:
    """One call of checkpoint_sequence under a reverse or forward transform.

    A state is a pair: the list of its differentiable leaves, and that of its other leaves.
    """

    def __init__(
        self,
        name: str,
        step: Function,
        n: int,
        snapshots: int,
        progress: Progress,
        state: Tree,
        args: Tree,
        inner: Traced,
    ) -> None:
        self.name, self.step, self.n, self.snapshots = name, step, n, snapshots
        self.progress = progress
        leaves, structure = flatten(state)
        self.state = _Leaves([_as_scalar(leaf) for leaf in leaves], structure)
        self.args = _Leaves(*flatten(args))
        self.tape = inner.tape
        self.stored: list[tuple[int, Any]] = []
        self.level: float = -1  # the level of the outer transform that the stored states belong to
        self.final: Any = None
        self.sums: list[Any] = []  # the summaries of the final state

    def run(self) -> Any:
        rule = CustomCall(self.name, self._forward, self._pull, self._push)
        parts = rule.apply_bound([*self.state.arrays(), *self.args.arrays()], {})
        return self._tree((list(parts), self.final[1]))

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
            state = self._stepped(state, args)
            bar.step(counted)
        return state

    def _stepped(self, state: Tree, args: Sequence[Tree]) -> Any:
        differentiable, others = state
        given = self._tree(([snapshot(_own_copy(x)) for x in differentiable], others))
        leaves, structure = flatten(self.step(given, *self.args.tree(args)))
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
                self.final = self._advance(state, args, self.n, counted=1)
            else:
                self.stored = self._sweep(state, args, 0, self.n, self.snapshots, counted=1)
                begin, last = self.stored[-1]
                self.final = self._advance(last, args, self.n - begin, counted=1)
        check_closure(self.name, self.final[0], self.tape)
        self.sums = _sums(self.final)
        return tuple(self.final[0])

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
        if not stored or level_of(innermost(arrays)) != self.level:
            # This is a second pull, or one that an outer transform logs, with states of its own.
            del stored
            stored = self._sweep(state, args, 0, self.n, self.snapshots)
        # Cotangents of the state and of args, in one list, so that no frame keeps earlier ones.
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
            out = self._stepped((list(arrays[:count]), others), arrays[count:])[0]
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
        with self._replay_bar() as bar:
            for _ in bar.over(range(self.n)):
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
