"""`debug_nans`: the first operation, forward or backward, that makes a NaN or an infinity.

Knows how calls, tapes and replays are watched. Must not know single rules. Where no block is open,
nothing of this is in place, and nothing is paid.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from tapegrad._block import contextmanager, undoing
from tapegrad._compile.calls import Calls
from tapegrad._core import forward_tape
from tapegrad._core.careful import replay_forward_carefully
from tapegrad._core.entry import Entry, parents_of
from tapegrad._core.forward_tape import ForwardTape, tangent_at
from tapegrad._core.quiet import VARIABLE
from tapegrad._core.replay import replay_forward
from tapegrad._core.types import Cotangent
from tapegrad._errors import NonFiniteError
from tapegrad._look import calls, replays, tapes
from tapegrad._look.findings import arrays_of, error_of, is_bad
from tapegrad._look.lines import Site, Sites
from tapegrad._look.rows import operation_of
from tapegrad._look.searches import LAYERS, Layer
from tapegrad._profile.switch import Place, Switch
from tapegrad._transforms import forward, jacobians
from tapegrad._transforms.checkpoint import _CheckpointedCall
from tapegrad._transforms.recording import Recording
from tapegrad._transforms.sequence import _Sequence


class _Pass:
    """One replay, or one run of `jvp`: the first entry that made something that is not finite."""

    def __init__(self, tape: Any) -> None:
        self.tape = tape
        self.is_replay = not isinstance(tape, ForwardTape)
        self.depth = 0  # entries that are being replayed: those of replays within do not count
        self.first: Callable[[], NonFiniteError] | None = None


class _Bad(NamedTuple):
    """An array that is not finite, and whether its infinities count, or its NaNs alone."""

    array: Any
    infinities: bool


class _Badness:
    """Whether values have a NaN, and whether they have one or an infinity."""

    def __init__(self, values: Iterable[Any]) -> None:
        arrays = [array for value in values for array in arrays_of(value)]
        self.nan = any(is_bad(array, infinities=False) for array in arrays)
        self.any = self.nan or any(is_bad(array, infinities=True) for array in arrays)

    def unexplained(self, bad: list[Any], infinities: bool) -> _Bad | None:
        """Of arrays that are not finite, the first that such values do not explain, or None.

        An infinity is made of finite numbers, a NaN of numbers that are no NaN.
        """
        if self.nan:
            return None
        if self.any:  # inf - inf
            bad, infinities = [array for array in bad if is_bad(array, infinities=False)], False
        return _Bad(bad[0], infinities) if bad else None


class _Call:
    """A call on traced or batched arrays that has begun."""

    before: _Badness | None = None

    def __init__(self, name: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.name, self.args = name, args
        self.read, self.written = calls.given_to(name, args, kwargs)
        if self.written is not None:  # what it reads there will be gone
            self.before = _Badness(self.read)
            self.read = [_copied(value) for value in self.read]

    def unexplained(self, bad: list[Any], infinities: bool) -> _Bad | None:
        """See `_Badness`."""
        return (self.before or _Badness(self.read)).unexplained(bad, infinities)


def _bad(value: Any, infinities: bool) -> list[Any]:
    return [array for array in arrays_of(value) if is_bad(array, infinities=infinities)]


def _copied(value: Any) -> Any:
    arrays = arrays_of(value)
    return [array.copy() for array in arrays] if arrays else value


class _Local(threading.local):
    """Position of a thread."""

    def __init__(self) -> None:
        self.calls: list[tuple[_Call, Any]] = []
        self.passes: list[_Pass] = []


class _Search:
    """Watches calls, replays and tangents."""

    infinities = True

    def __init__(self) -> None:
        self.local = _Local()
        self.sites = Sites()

    def _made(self, value: Any, given: Iterable[Any]) -> _Bad | None:
        """The array of a value that has a NaN or infinity which none of the given explains."""
        infinities = self.infinities  # which a block that ends elsewhere may change
        bad = _bad(value, infinities)
        return _Badness(given).unexplained(bad, infinities) if bad else None

    # -- calls -----------------------------------------------------------------------------------

    def begin(self, name: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        # A warning of NumPy's is an error here.
        silent: Any = {"invalid": "ignore"}
        if self.infinities:
            silent |= {"divide": "ignore", "over": "ignore"}
        self.local.calls.append((_Call(name, args, kwargs), VARIABLE.get()))
        np.seterr(**silent)

    def end(self, result: Any, error: BaseException | None) -> None:
        call, before = self.local.calls.pop()
        VARIABLE.set(before)
        now = self.local.passes[-1] if self.local.passes else None
        if error is not None or now is not None and (now.depth or now.is_replay):
            return  # what a replay does is its derivative's, and may be repaired
        infinities = self.infinities
        found = _bad(call.written if result is None else result, infinities)
        bad = call.unexplained(found, infinities) if found else None
        if bad is None:
            return
        where = self.sites.site()
        operation = call.name(*call.args)
        raise error_of(
            f"{operation} made",
            operation,
            bad.array,
            [arg for arg in call.read if arrays_of(arg)],
            where,
            infinities=bad.infinities,
        )

    # -- replays ---------------------------------------------------------------------------------

    def before(self, entry: Entry, _cotangent: Cotangent, bars: Any) -> None:
        if self.local.passes:
            self.local.passes[-1].depth += 1

    def after(self, entry: Entry, cotangent: Cotangent, bars: Any) -> None:
        if not self.local.passes:
            return
        now = self.local.passes[-1]
        now.depth -= 1
        if now.depth or now.first is not None:
            return
        given = cotangent if isinstance(cotangent, list) else [cotangent]
        bar_of = bars.get if hasattr(bars, "get") else bars.__getitem__
        kept = [part for part in entry[2:5] if part is not None]
        for at in parents_of(entry):
            bad = None if at is None or at == -1 else self._made(bar_of(at), [*given, *kept])
            if bad is not None:
                now.first = self._backward(entry, bad, given, tapes.site_of(now.tape, entry[0]))
                return

    def left(self, _entry: Entry) -> None:
        if self.local.passes:
            self.local.passes[-1].depth -= 1

    def _backward(
        self, entry: Entry, bad: _Bad, given: list[Any], site: Site, *, backward: bool = True
    ) -> Callable[[], NonFiniteError]:
        """The error of a derivative, which is made if what is not finite reaches a result."""
        operation = operation_of(entry)
        array = bad.array.copy()  # the replay goes on with its own
        args = [*(entry[3] if isinstance(entry[3], tuple) else entry[3:5]), entry[2]]
        what = "cotangent of the result" if backward else "tangent"
        others = [(what, part) for part in given if part is not None]
        others = [(name, [array.copy() for array in arrays_of(part)]) for name, part in others]

        def error() -> NonFiniteError:
            return error_of(
                f"The derivative of {operation} made",
                operation,
                array,
                [arg for arg in args if arrays_of(arg)],
                site,
                infinities=bad.infinities,
                backward=backward,
                others=others,
            )

        return error

    @contextmanager
    def opened(self, tape: Any) -> Iterator[_Pass]:
        """A pass that is this thread's innermost within the block."""
        now = _Pass(tape)
        passes = self.local.passes
        try:
            passes.append(now)
            yield now
        finally:
            passes.pop()

    def places(self) -> Iterator[Place]:
        """The functions that end or begin a pass."""
        pull = Recording.pull
        push, push_carefully = forward.Pushforward._pushed, forward.Pushforward._pushed_carefully
        run = forward._run
        search = self

        def watched_pull(self: Recording, slots: Any, bars: Any, *rest: Any, **more: Any) -> Any:
            with search.opened(self.tape) as now:
                found = pull(self, slots, bars, *rest, **more)
                if found is not None and search._made(found, bars) is not None and now.first:
                    raise now.first()
                return found

        def watching(pulled: Callable[..., Any]) -> Callable[..., Any]:
            def watched_pulled(self: Recording, *args: Any) -> Any:
                if search.local.passes:  # the block may be younger than this thread's pass
                    search.local.passes[-1].first = None  # of the pass before, which did not do
                return pulled(self, *args)

            return watched_pulled

        def watched_run(name: str, f: Any, inputs: Any, dots: Any, tape: Any, aux: bool) -> Any:
            with search.opened(tape) as now:
                made = run(name, f, inputs, dots, tape, aux)
                found = [dot for _, dot in made[0]]
                last = not any(is_bad(array, infinities=False) for array in arrays_of(found))
                if last and search._made(found, dots) is not None and now.first:
                    raise now.first()
                return made

        def watched_push(self: Any, leaves: list[Any]) -> Any:
            with search.opened(self.recording.tape):
                return push(self, leaves)

        def watched_careful_push(self: Any, leaves: list[Any]) -> Any:
            with search.opened(self.recording.tape) as now:
                dots, *rest = push_carefully(self, leaves)
                found = [dots.get(slot) for slot in self.out_slots]
                if search._made(found, leaves) is not None and now.first:
                    raise now.first()
                return dots, *rest

        yield Place(Recording, "pull", watched_pull)
        for name in ("_pulled", "_pulled_carefully"):
            yield Place(Recording, name, watching(vars(Recording)[name]))
        yield Place(forward, "_run", watched_run)
        yield Place(forward.Pushforward, "_pushed", watched_push)
        yield Place(forward.Pushforward, "_pushed_carefully", watched_careful_push)
        yield Place(forward, "replay_forward", self._steps(replay_forward))
        yield Place(forward, "replay_forward_carefully", self._steps(replay_forward_carefully))
        # A plain run is not watched, and may raise for a NaN that it made long before.
        yield Place(jacobians, "_output", jacobians._traced_output)
        # Compiled and checkpointed functions run as written, so that their calls are seen.
        yield Place(Calls, "__call__", lambda self, *args, **kwargs: self.f(*args, **kwargs))
        yield Place(_CheckpointedCall, "run", _run_once)
        yield Place(_Sequence, "run", _run_all_steps)
        yield Place(forward_tape, "_push", self._pushing(forward_tape._push))

    # -- tangents --------------------------------------------------------------------------------

    def _pushing(self, push: Callable[[Entry], None]) -> Callable[[Entry], None]:
        def watched(entry: Entry) -> None:
            passes = self.local.passes
            now = passes[-1] if passes else None
            if now is None or now.depth or now.is_replay:
                push(entry)
                return
            now.depth += 1
            try:
                dots = [tangent_at(at) for at in parents_of(entry) if at != -1]
                push(entry)
            finally:
                now.depth -= 1
            bad = None if now.first else self._made(tangent_at(entry[0]), dots)
            if bad is not None:
                site = self.sites.site()
                now.first = self._backward(entry, bad, dots, site, backward=False)

        return watched

    def _steps(self, replay: Callable[..., None]) -> Callable[..., None]:
        """A replay of tangents, step by step."""

        def told(steps: Iterable[Any], dots: dict[Any, Any]) -> Iterator[Any]:
            now = self.local.passes[-1] if self.local.passes else None
            for step in steps:
                entry = step[0]
                given = [dots.get(at) for at in parents_of(entry)]
                yield step
                bad = None if now is None or now.first else self._made(dots.get(entry[0]), given)
                if now is not None and bad is not None:
                    site = tapes.site_of(now.tape, entry[0])
                    now.first = self._backward(entry, bad, given, site, backward=False)

        def watched(steps: Iterable[Any], dots: dict[Any, Any], *args: Any, **more: Any) -> None:
            replay(told(steps, dots), dots, *args, **more)

        return watched


def _run_once(call: _CheckpointedCall) -> Any:
    args, kwargs = call.given.tree(call.given.arrays())
    return call.f(*args, **kwargs)


def _run_all_steps(sequence: _Sequence) -> Any:
    first = sequence._first(sequence.state.arrays())
    return sequence._tree(sequence._advance(first, sequence.args.arrays(), sequence.n))


class _Blocks:
    """The open blocks, in all threads and tasks; all of them have one search."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.open: list[list[bool]] = []  # whether infinities count, each in a list of its own
        self.search = _Search()

    @contextmanager
    def one_more(self, infinities: bool) -> Iterator[None]:
        """A block, which need not end after those that began later."""
        mine = [infinities]

        def leave() -> None:
            with self.lock:
                self.open[:] = [one for one in self.open if one is not mine]
                if self.open:
                    self.search.infinities = any(one for [one] in self.open)
                else:
                    self.watching.close()

        with undoing(leave):
            with self.lock:
                if not self.open:
                    self.search = _Search()
                    self.watching = self._watched()
                    next(self.watching)
                self.open.append(mine)
                self.search.infinities = any(one for [one] in self.open)
            yield

    def _watched(self) -> Generator[None]:
        places = Switch().holding_places(self.search.places)
        watched = calls.watched(self.search), replays.watched(self.search)
        with tapes.noted(), watched[0], watched[1], places:
            yield


_BLOCKS = _Blocks()


@contextmanager
def debug_nans(*, infinities: bool = True) -> Iterator[None]:
    """Within the block, raise at the first operation that makes a NaN or an infinity.

    It is also a decorator. It watches what transforms trace, in all threads: the results of calls,
    the cotangents and tangents of their derivatives.

    Parameters
    ----------
    infinities : bool, default True
        Whether an infinity counts as well; False looks for NaNs alone.

    Yields
    ------
    None
        Nothing is bound by `with`.

    Raises
    ------
    NonFiniteError
        At the operation. It names it, the user's line, the ranges of the arguments and the
        element; for a derivative the line is that of the forward call.

    Notes
    -----
    Cotangents that a replay repairs (of a branch that `np.where` does not take, docs/kinks.md) are
    no errors: what counts is what reaches a result. A NaN that comes in with the inputs, or with a
    constant, is made by no operation, and nothing is raised for what comes of it. Compiled and
    checkpointed functions run as they are written.

    Blocks may be nested, and open in several threads: while any of them counts infinities, all do.
    Operations on tensors (`tapegrad.torch`) are watched in the thread or task of the block alone.
    Everything is slower within: each result is looked at.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> try:
    ...     with tapegrad.debug_nans():
    ...         tapegrad.grad(lambda x: np.sum(np.log(x)))(np.array([1.0, 0.0]))
    ... except tapegrad.NonFiniteError as error:
    ...     print(error.operation, error.index, error.value)
    np.log (1,) -inf
    """
    before = VARIABLE.get()
    try:
        with _BLOCKS.one_more(infinities), _layers(LAYERS, infinities=_BLOCKS.search.infinities):
            yield
    except Exception:
        raise
    except BaseException:  # an interrupt, maybe between the begin and the end of a call
        VARIABLE.set(before)
        raise


@contextmanager
def _layers(layers: Sequence[Layer], *, infinities: bool) -> Iterator[None]:
    """The blocks of all layers, one within another."""
    if not layers:
        yield
        return
    with layers[0](infinities), _layers(layers[1:], infinities=infinities):
        yield


__all__ = ["debug_nans"]
