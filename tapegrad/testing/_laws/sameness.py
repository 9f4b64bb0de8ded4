"""The laws that something changes nothing: vmap, checkpoint, compile, pickle, threads, a repeat.

Knows the transforms, and that results may differ by their rounding where they are computed in
another order. Each law takes a `Trial`, and returns its findings, or raises `Skipped`.
"""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad._compile.compiled import compile as compiled
from tapegrad._core.quiet import silence
from tapegrad._core.types import Value
from tapegrad._errors import BatchingError, describe
from tapegrad._transforms.checkpoint import checkpoint as checkpointed
from tapegrad._transforms.forward import jvp
from tapegrad._transforms.reverse import vjp
from tapegrad._transforms.vmap import vmap as mapped
from tapegrad.testing._laws.agreement import differ
from tapegrad.testing._laws.report import Finding, Skipped
from tapegrad.testing._laws.trial import Trial
from tapegrad.testing._measuring.directions import FlatFunction
from tapegrad.testing._measuring.leaves import inexact_leaves
from tapegrad.testing._measuring.lines import place_of

Both = tuple[tuple[Value, ...], tuple[Value, ...]]  # the value and the gradient


def _value_and_gradient(trial: Trial, function: FlatFunction, leaves: Sequence[Value]) -> Both:
    outs, pullback = vjp(function, *leaves)
    return tuple(outs), tuple(pullback(tuple(trial.bars)))


def _here(trial: Trial) -> Both:
    return tuple(trial.reverse[0]), trial.gradient


def _compared(
    trial: Trial,
    law: str,
    with_what: str,
    expected: Sequence[Value],
    got: Sequence[Value],
    names: Sequence[str],
    again: Callable[[Sequence[Value]], tuple[Sequence[Value], Sequence[Value]]],
) -> list[Finding]:
    """A finding where two computations of the same arrays differ by more than their rounding."""
    for name, one, two in zip(names, expected, got, strict=True):
        if describe(one) != describe(two):
            text = f"{name} {with_what} has another shape or dtype"
            text += f"\nexpected {describe(one)}\ngot      {describe(two)}"
            return [Finding(law, text, describe(one), describe(two))]

    def sides(leaves: Sequence[Value]) -> Any:
        return (list(expected), list(got)) if leaves is trial.leaves else again(leaves)

    options = trial.options
    natural = [*trial.sizes, *trial.gradient_sizes][: len(expected)]
    found = differ(
        sides,
        trial.leaves,
        natural=natural,
        coarse=lambda: trial.coarseness,
        rtol=options.rtol,
        atol=options.atol,
    )
    if found is None:
        return []
    number, index, _ = place_of(expected, found.at)
    at = f" at {list(index)}" if index else ""
    text = (
        f"{names[number]}{at} is another {with_what}\n"
        f"expected {found.left:.9g} ± {found.left_noise:.1g}\n"
        f"got      {found.right:.9g} ± {found.right_noise:.1g} (allowed {found.allowed:.1g})"
    )
    return [
        Finding(
            law,
            text,
            found.left,
            found.right,
            found.left_noise,
            found.right_noise,
            names[number],
            index,
        )
    ]


def _names(trial: Trial) -> list[str]:
    outs = [
        "the value" if len(trial.value) == 1 else f"result {i}" for i in range(len(trial.value))
    ]
    return outs + [f"the gradient by {name}" for name in trial.names]


def _unchanged(trial: Trial, law: str, with_what: str, function: FlatFunction) -> list[Finding]:
    """Value and gradient of a function that has to be the same as the trial's."""

    def again(leaves: Sequence[Value]) -> tuple[list[Value], list[Value]]:
        return (
            _joined(_value_and_gradient(trial, trial.function, leaves)),
            _joined(_value_and_gradient(trial, function, leaves)),
        )

    got = _joined(_value_and_gradient(trial, function, trial.copies()))
    return _compared(trial, law, with_what, _joined(_here(trial)), got, _names(trial), again)


def _joined(both: Both) -> list[Value]:
    return [*both[0], *both[1]]


def checkpoint(trial: Trial) -> list[Finding]:
    """Nothing is another when it is computed again in the backward pass."""
    whole = checkpointed(trial.tree)

    def function(*leaves: Value) -> tuple[Value, ...]:
        return inexact_leaves(whole(*leaves))

    return _unchanged(trial, "checkpoint", "under checkpoint", function)


def pickle_law(trial: Trial) -> list[Finding]:
    """A copy of the function by pickle is the same function."""
    try:
        copy = pickle.loads(pickle.dumps(trial.f))  # noqa: S301 - the caller's own function
    except Exception as error:  # noqa: BLE001 - of any object
        words = str(error).splitlines() or [type(error).__name__]
        raise Skipped(f"the function does not pickle: {words[0]}") from None

    def function(*leaves: Value) -> tuple[Value, ...]:
        trial.evaluations += 1
        return inexact_leaves(copy(*trial.arguments(leaves)))

    return _unchanged(trial, "pickle", "of the unpickled function", function)


def compile_law(trial: Trial) -> list[Finding]:
    """Value and gradient are the same when compiled: recorded, and as a program."""

    def both(*leaves: Value) -> Both:
        return _value_and_gradient(trial, trial.function, leaves)

    program = compiled(both)
    for _ in range(3):  # the third call runs the program
        got = _joined(program(*trial.copies()))
        findings = _compared(
            trial,
            "compile",
            "under compile",
            _joined(_here(trial)),
            got,
            _names(trial),
            lambda leaves: (_joined(both(*leaves)), _joined(program(*leaves))),
        )
        if findings:
            return findings
    return []


def vmap(trial: Trial) -> list[Finding]:
    """The results and gradients over a batch are those of a loop over its examples."""
    if not trial.leaves:
        raise Skipped("no argument is floating or complex")

    sizes = [2.0**-10, -(2.0**-10)]

    def rows_of(leaves: Sequence[Value]) -> list[Sequence[Value]]:
        return [leaves, *(_beside(trial, leaves, size) for size in sizes)]

    def both(*leaves: Value) -> Both:
        return _value_and_gradient(trial, trial.function, leaves)

    def whole(leaves: Sequence[Sequence[Value]]) -> list[Value]:
        stacked = [
            np.stack([np.asarray(x) for x in column]) for column in zip(*leaves, strict=True)
        ]
        return _joined(mapped(both)(*stacked))

    def loop(leaves: Sequence[Sequence[Value]]) -> list[Value]:
        each = [_joined(both(*map(_array_copy, row))) for row in leaves]
        return [np.stack([np.asarray(x) for x in column]) for column in zip(*each, strict=True)]

    def again(leaves: Sequence[Value]) -> tuple[list[Value], list[Value]]:
        rows = rows_of(leaves)
        return loop(rows), whole(rows)

    rows = rows_of(trial.leaves)
    try:
        expected = loop(rows)
    except Exception:  # noqa: BLE001 - outside of the domain: each library has its errors
        sizes = [0.0, 0.0]
        rows = rows_of(trial.leaves)
        expected = loop(rows)
    if any(np.ndim(part) == 0 or part.shape[0] != 3 for part in expected):
        raise Skipped("its results differ in shape from example to example")
    try:
        got = whole(rows)
    except BatchingError as error:
        raise Skipped(str(error)) from None
    return _compared(trial, "vmap", "under vmap", expected, got, _names(trial), again)


def _beside(trial: Trial, leaves: Sequence[Value], size: float) -> tuple[Value, ...]:
    return tuple(
        _like(x + np.asarray(size).astype(dot.real.dtype) * dot, x)
        for x, dot in zip(leaves, trial.dots, strict=True)
    )


def _like(value: Value, like: Value) -> Value:
    value = np.asarray(value).astype(like.dtype)
    return value if isinstance(like, np.ndarray) else value[()]


def _array_copy(leaf: Value) -> Value:
    return leaf.copy() if isinstance(leaf, np.ndarray) else leaf


# --- Side effects --------------------------------------------------------------------------------


def unmutated(trial: Trial) -> list[Finding]:
    """Neither the function nor its derivatives write to what they are given."""
    runs: dict[str, Callable[[tuple[Value, ...]], object]] = {
        "the function": lambda leaves: trial.function(*leaves),
        "its vjp": lambda leaves: vjp(trial.function, *leaves)[1](tuple(trial.bars)),
        "its jvp": lambda leaves: jvp(trial.function, leaves, tuple(trial.dots)),
    }
    constants = [leaf for i, leaf in enumerate(trial.everything) if i not in trial.places]
    kept = [np.array(leaf) if isinstance(leaf, np.ndarray) else None for leaf in constants]
    for who, run in runs.items():
        leaves = trial.copies()
        try:
            run(leaves)
        except Exception:
            if who == "the function":
                raise
            continue  # the law of that mode says so
        for name, leaf, given in zip(trial.names, trial.leaves, leaves, strict=True):
            if not _same_bits(leaf, given):
                return [_written("unmutated", who, name, leaf, given)]
        for leaf, before in zip(constants, kept, strict=True):
            if before is not None and not _same_bits(before, leaf):
                return [_written("unmutated", who, f"a constant ({describe(leaf)})", before, leaf)]
    return []


def _written(law: str, who: str, name: str, before: Value, after: Value) -> Finding:
    at = np.argwhere(np.asarray(before != after))
    index = tuple(int(i) for i in at[0]) if len(at) and np.ndim(before) else ()
    where = f" at {list(index)}" if index else ""
    text = f"{who} writes to {name}{where}\nexpected {before[index]}\ngot      {after[index]}"
    return Finding(law, text, before[index], after[index], leaf=name, index=index)


def _same_bits(one: Value, two: Value) -> bool:
    """Also of signed zeros; of a long double some bytes hold nothing."""
    if describe(one) != describe(two):
        return False
    one, two = np.asarray(one), np.asarray(two)
    if one.dtype.char in "gG":
        return np.array_equal(one, two, equal_nan=True)
    return one.dtype.kind == "O" or one.tobytes() == two.tobytes()


def deterministic(trial: Trial) -> list[Finding]:
    """A second call gives the same result, and so does a traced one; and a second gradient."""
    first, second = trial.value, trial.function(*trial.copies())
    if [describe(x) for x in first] != [describe(np.array(x)[()]) for x in second]:
        text = "the function returns something else each time\n"
        text += f"expected {', '.join(map(describe, first))}\n"
        return [Finding("deterministic", text + f"got      {', '.join(map(describe, second))}")]
    for number, (one, two) in enumerate(zip(first, second, strict=True)):
        if not _same_bits(np.array(one), np.array(two)):
            return [_other("the function", f"result {number}", one, two)]
    outs = trial.reverse[0]

    def again(leaves: Sequence[Value]) -> tuple[Sequence[Value], Sequence[Value]]:
        return trial.function(*leaves), tuple(vjp(trial.function, *leaves)[0])

    if len(outs) == len(first):
        findings = _compared(
            trial,
            "deterministic",
            "under vjp",
            first,
            outs,
            _names(trial)[: len(first)],
            again,
        )
        if findings:
            return findings
    return _unchanged(trial, "deterministic", "the second time", trial.function)


def _other(who: str, what: str, one: Value, two: Value) -> Finding:
    apart = np.asarray(one != two) & ~(np.isnan(one) & np.isnan(two))
    at = np.argwhere(apart)
    index = tuple(int(i) for i in at[0]) if len(at) and np.ndim(one) else ()
    where = f" at {list(index)}" if index else ""
    text = (
        f"{who} gives another result each time (it keeps a state, or draws random numbers): "
        f"{what}{where}\nexpected {np.asarray(one)[index]!r}, as the first time"
        f"\ngot      {np.asarray(two)[index]!r}"
    )
    return Finding("deterministic", text, one[index], two[index], index=index)


def threads(trial: Trial) -> list[Finding]:
    """The function and its vjp give the same in two threads at once as alone."""
    if deterministic(trial):
        raise Skipped("the function gives another result each time, also alone")
    expected, got = _joined(_here(trial)), []

    def again(leaves: Sequence[Value]) -> tuple[list[Value], list[Value]]:
        both = _joined(_value_and_gradient(trial, trial.function, leaves))
        return both, both  # alone: by how much rounding changes it

    errors: list[BaseException] = []
    barrier = threading.Barrier(2)

    def work() -> None:
        try:
            barrier.wait()
            with silence():
                got.append(_joined(_value_and_gradient(trial, trial.function, trial.copies())))
        except BaseException as error:  # noqa: BLE001 - raised again below, by the caller's thread
            errors.append(error)

    workers = [threading.Thread(target=work) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if errors:
        text = f"in a thread beside another it raises {type(errors[0]).__name__}: {errors[0]}"
        return [Finding("threads", text)]
    for result in got:
        findings = _compared(
            trial, "threads", "beside another thread", expected, result, _names(trial), again
        )
        if findings:
            return findings
    return []
