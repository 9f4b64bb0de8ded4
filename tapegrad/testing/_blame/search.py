"""The search for the first operation whose own derivative is wrong.

Knows calls, each by itself, and the run in which they were made. Must not know single rules.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from typing import Any

import numpy as np

from tapegrad._block import contextmanager, setting
from tapegrad._core.quiet import silence
from tapegrad._core.rule import Rule
from tapegrad._core.tape import CURRENT
from tapegrad._core.types import Function, Tree, Value
from tapegrad._errors import name_of
from tapegrad._look.lines import Site
from tapegrad._look.rows import operation_of
from tapegrad._transforms.forward import jvp, require_tuple
from tapegrad._transforms.inputs import as_input
from tapegrad._transforms.reverse import vjp
from tapegrad._tree import flatten, unflatten
from tapegrad._warning import catching_warnings
from tapegrad.testing._blame.calls import Call, Watch, level_of, unwatched, watched
from tapegrad.testing._blame.culprit import Blame
from tapegrad.testing._blame.kinks import beside, is_at_kink
from tapegrad.testing._blame.trial import NOTHING, Outcome, Subject, Trial, subject_of
from tapegrad.testing._measuring.directions import FlatFunction, direction
from tapegrad.testing._measuring.leaves import inexact_leaves, moves

DEEPEST = 12  # calls within calls that are followed

# Vectors whose phases, or columns, the solver chooses: the derivative of the call alone is not
# determined where these have a say, though that of the program is. Where a vector jumps to its
# negative beside the point, elements that are zero there seem to have the other slope.
UNDETERMINED = ("eigh", "svd", "schur", "orth", "null_space", "rsf2csf", "qz", "ordqz", "qr")
# Made of a call that returns the vectors as well, under the same name.
OF_VECTORS = ("eigvalsh", "svdvals")


def blame(f: Function, args: Sequence[Tree], *, order: int = 2, seed: int = 0) -> Blame | None:
    """Find the first operation of `f(*args)` whose own derivative disagrees with differences.

    Each call that f makes is looked at by itself, at the values that it had: its cotangents and
    tangents, as they were recorded and as they are made again, against differences of that call
    alone; then the derivatives of these, for order=2. What is wrong within a call (np.multiply in
    np.var, an operation in the backward function of a `custom_vjp`, in a checkpointed call, a
    vmap, a transform inside f) is named, with the line of the program that comes to it. An
    operation that has a kink or a jump where it was called is not blamed for it, nor one that
    returns something else each time. Of an f that takes derivatives itself, an operation of the
    user's own that is wrong in these is named although f as it is computes its own derivative.

    Parameters
    ----------
    f : callable
        Returns a pytree; its floating and complex parts are looked at.
    args : tuple of pytree
        Its arguments, as for `check`: floating and complex arrays move.
    order : int, default 2
        1 for first derivatives alone, 2 for second ones too.
    seed : int, default 0
        Of the random directions.

    Returns
    -------
    Blame or None
        None says that no operation is wrong by itself: the derivatives of f are right as far as
        differences can tell, or f is noisy, discontinuous or changes with each call; or a
        transform is wrong, and not a rule.

    Raises
    ------
    InputError
        For args that are no tuple or list.

    See Also
    --------
    check : Whether the derivatives of f are right as a whole.

    Examples
    --------
    >>> import tapegrad
    >>> square = tapegrad.custom_vjp(lambda x: x * x)
    >>> square.defvjp(lambda x: (x * x, x), lambda x, g: (-2 * x * g,))
    >>> found = blame(lambda x: np.sum(np.sin(square(x))), (np.array([0.5, 1.5]),))
    >>> found.derivative, found.argument, found.order
    ('vjp', 'argument 0', 1)
    """
    require_tuple(f"blame({name_of(f)})", args, "argument")
    with quietly():
        whole = _flat(f, args)
        if whole is None:
            return None
        right = _is_right(*whole, order, seed)
        return first_culprit(*whole, order=order, seed=seed, inner=right)


def first_culprit(
    function: FlatFunction,
    leaves: Sequence[Value],
    *,
    order: int,
    seed: int,
    inner: bool = False,
) -> Blame | None:
    """`blame` of a function of leaves, also where its derivatives are right as a whole.

    inner: ask only the user's own operations of which f takes derivatives itself.
    """
    watch = Watch()

    def begun(*given: Value) -> tuple[Value, ...]:
        watch.outermost = max(map(level_of, given), default=0)
        return tuple(function(*given))

    with watched(watch), suppress(Exception):  # of a rule, perhaps: what was noted is looked at
        outs, pullback = vjp(begun, *leaves)
        random = np.random.default_rng(seed)
        pullback(tuple(direction(random, out) for out in outs))
    search = _Search(watch, seed)
    orders = range(1, order + 1)
    calls = [call for call in _all(watch.calls) if call.inner] if inner else watch.calls
    while calls:  # those within are asked where none around them is wrong as it is made again
        for each in orders:
            found = search.first(calls, each)
            if found is not None:
                return found
        calls = [part for call in calls for part in call.calls]
    return None


def _flat(f: Function, args: Sequence[Tree]) -> tuple[FlatFunction, list[Any]] | None:
    name = f"blame({name_of(f)})"
    everything, structure = flatten(tuple(args))
    places = [i for i, leaf in enumerate(everything) if moves(leaf)]
    leaves = [as_input(everything[i], name) for i in places]

    def of_leaves(*given: Value) -> tuple[Value, ...]:
        replaced = list(everything)
        for place, leaf in zip(places, given, strict=True):
            replaced[place] = leaf
        return inexact_leaves(f(*unflatten(structure, replaced)))

    return (of_leaves, leaves) if leaves else None


def _is_right(function: FlatFunction, leaves: Sequence[Value], order: int, seed: int) -> bool:
    """Whether differences of the whole function settle, and agree with its derivatives."""
    names = [""] * len(leaves)
    subjects = _subjects(subject_of(function, leaves, names), order, seed)
    return all(is_right(subject, seed) for subject in subjects)


def _derive(function: FlatFunction, leaves: Sequence[Value], random: np.random.Generator) -> None:
    """Run a function under vjp, replay the run, and run it under jvp."""
    outs, pullback = vjp(function, *leaves)
    pullback(tuple(direction(random, out) for out in outs))
    jvp(function, tuple(leaves), tuple(direction(random, leaf) for leaf in leaves))


@contextmanager
def quietly() -> Iterator[None]:
    """Outside of transforms, and without warnings: calls are made at other points as well."""
    with setting(CURRENT, None), catching_warnings(), silence():
        warnings.simplefilter("ignore")
        yield


def outcome_of(subject: Subject, seed: int) -> Outcome:
    """Verdict of a trial; nothing where the function, or a derivative of it, cannot be made."""
    try:
        with unwatched():
            return Trial(subject, np.random.default_rng(seed)).outcome()
    except Exception:  # noqa: BLE001 - of any function, at points that the program did not choose
        return NOTHING


def is_right(subject: Subject, seed: int) -> bool:
    """Whether a trial leaves no doubt; False where a function, or a derivative, cannot be made."""
    try:
        with unwatched():
            return Trial(subject, np.random.default_rng(seed)).is_right()
    except Exception:  # noqa: BLE001 - as in `outcome_of`
        return False


# --- Second derivatives -------------------------------------------------------------------------


def _subjects(subject: Subject, order: int, seed: int) -> Iterator[Subject]:
    yield subject
    if order > 1:
        for _, derived in _derived(subject, seed):
            yield derived


def _derived(subject: Subject, seed: int) -> Iterator[tuple[str, Subject]]:
    """The vjp and the jvp of a function, as functions of its leaves and of what they are given."""
    random = np.random.default_rng(seed)
    function, leaves = subject.function, subject.leaves
    count = len(leaves)

    def cotangents(*given: Value) -> tuple[Value, ...]:
        return tuple(vjp(function, *given[:count])[1](tuple(given[count:])))

    def tangents(*given: Value) -> tuple[Value, ...]:
        return tuple(jvp(function, tuple(given[:count]), tuple(given[count:]))[1])

    outs = function(*(x.copy() if type(x) is np.ndarray else x for x in leaves))
    bars = [direction(random, out) for out in outs]
    names = [*subject.names, *["the cotangent of the result"] * len(bars)]
    yield "vjp", subject_of(cotangents, [*leaves, *bars], names)
    dots = [direction(random, leaf) for leaf in leaves]
    names = [*subject.names, *(f"the tangent of {name}" for name in subject.names)]
    yield "jvp", subject_of(tangents, [*leaves, *dots], names)


# --- The search ---------------------------------------------------------------------------------


class _Search:
    """The calls of one run, asked one after another."""

    def __init__(self, watch: Watch, seed: int, depth: int = 0) -> None:
        self.watch, self.seed, self.depth = watch, seed, depth

    def first(self, calls: Sequence[Call], order: int) -> Blame | None:
        """The culprit within the first call whose derivatives of an order are wrong."""
        ask = self.asked_first if order == 1 else self.asked_second
        for call in calls:
            found = ask(call) if call.redone is not None else self.first(call.calls, order)
            if found is not None:
                return found
        return None

    def asked_first(self, call: Call) -> Blame | None:
        """Who is to blame if a call's cotangents or tangents are wrong."""
        subject = _subject(call)
        if subject is None:
            return None
        outcome = outcome_of(subject, self.seed)
        if outcome.wrong is None or not outcome.settled and _is_undetermined(call):
            return None
        if self.is_kink_alone(call, subject):
            return None
        inner = self.first(call.calls, 1) if self.depth < DEEPEST else None
        if inner is None:
            inner = self.inside(call, subject)
        if inner is not None:
            return _around(call, inner)
        return self._blame(call, outcome, "", 1)

    def asked_second(self, call: Call) -> Blame | None:
        """The same of the derivatives of its cotangents and tangents, which are right."""
        subject = _subject(call)
        if subject is None:
            return None
        for mode, derived in _derivatives(subject, self.seed):
            outcome = outcome_of(derived, self.seed)
            if outcome.wrong is None or not outcome.settled and _is_undetermined(call):
                continue
            if self.is_kink_alone(call, derived):
                continue
            inner = self.first(call.calls, 2) if self.depth < DEEPEST else None
            if inner is None:
                inner = self.inside(call, derived, registered=True)
            if inner is not None:
                return _around(call, inner)
            return self._blame(call, outcome, f" of its {mode}", 2)
        return None

    def is_kink_alone(self, call: Call, subject: Subject) -> bool:
        """Whether a call lies at a kink that no line shows, and is right at a point nearby.

        As np.copysign(x, x) at 0, which is x.
        """
        random = np.random.default_rng(self.seed)
        leaves = [beside(random, leaf) for leaf in subject.leaves]
        nearby = subject._replace(leaves=leaves, pulls=subject.pulls[-1:])
        if call.redone is None or not is_right(nearby, self.seed):
            return False
        with unwatched(), suppress(Exception):  # at points that the program did not choose
            return is_at_kink(call.redone, random)
        return False

    def inside(self, call: Call, subject: Subject, *, registered: bool = False) -> Blame | None:
        """The culprit among the calls that derivatives of a call make: of a subject made of it."""
        redone = call.redone
        if self.depth >= DEEPEST or redone is None:
            return None
        watch = Watch()
        redone.around = watch.as_own
        try:
            with watched(watch), suppress(Exception):
                _derive(subject.function, subject.leaves, np.random.default_rng(self.seed))
        finally:
            redone.around = nullcontext
        parts = [part for made in watch.calls if made.own for part in made.calls]
        others = [made for made in watch.calls if not made.own]
        if registered:
            parts = list(_but(call.operation, parts))
            others = [made for made in others if made.registered]
        for made in _all([*parts, *others]):
            made.site = call.site
        search = _Search(self.watch, self.seed, self.depth + 1)
        found = search.first([*parts, *others], 1)
        return search.first([*parts, *others], 2) if found is None and registered else found

    def _blame(self, call: Call, outcome: Outcome, suffix: str, order: int) -> Blame:
        blamed = blamed_for(call.operation, outcome, suffix, order, self.watch.site(call))
        entries = [] if call.ran is None else call.ran.entries
        if len(entries) == 1 and isinstance(entries[0][1], Rule):  # as x ** 2, which is a square
            blamed = _around(call, replace(blamed, operation=operation_of(entries[0])))
        return blamed


def blamed_for(operation: str, outcome: Outcome, suffix: str, order: int, site: Site) -> Blame:
    """Text on an operation after a trial that found it wrong."""
    wrong = outcome.wrong
    assert wrong is not None
    return Blame(
        operation=operation,
        derivative=("vjp" if wrong.backward else "jvp") + suffix,
        order=order,
        argument=wrong.argument,
        element=wrong.element,
        expected=wrong.expected,
        got=wrong.got,
        kind=wrong.kind,
        site=site,
    )


def _all(calls: Sequence[Call]) -> Iterator[Call]:
    for call in calls:
        yield call
        yield from _all(call.calls)


def _but(operation: str, calls: Sequence[Call]) -> Iterator[Call]:
    """The calls; those that an operation is made of in place of calls of the operation."""
    for call in calls:
        if call.operation == operation:
            yield from _but(operation, call.calls)
        else:
            yield call


def _subject(call: Call) -> Subject | None:
    redone = call.redone
    if redone is None or not redone.leaves:
        return None
    if _is_undetermined(call) and any(x.dtype.kind == "c" for x in redone.leaves):
        return None
    ran = None if call.ran is None else call.ran.pull
    return subject_of(redone, redone.leaves, redone.names, ran)


def _is_undetermined(call: Call) -> bool:
    name = call.operation.rpartition(".")[2]
    return name in UNDETERMINED or name in OF_VECTORS and call.count > 1


def _derivatives(subject: Subject, seed: int) -> list[tuple[str, Subject]]:
    try:
        with unwatched():
            return list(_derived(subject, seed))
    except Exception:  # noqa: BLE001 - as in `_outcome`
        return []


def _around(call: Call, inner: Blame) -> Blame:
    """A culprit within a call, which is told unless it is the same operation."""
    within = inner.within
    if (within or (inner.operation,))[0] != call.operation:
        within = (call.operation, *within)
    return replace(inner, within=within)


__all__ = ["blame", "blamed_for", "first_culprit", "outcome_of", "quietly"]
