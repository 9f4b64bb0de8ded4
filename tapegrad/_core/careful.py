"""The replays of a program that has met an infinity or a NaN: which zeros absorb it.

Knows what a replay asks of a rule, and that a zero is structural where nothing depends on the
element in a whole neighbourhood. Must not know which functions exist, or what a transform is.

Beside each cotangent or tangent goes its reach: positive where the result depends on the element,
zero where it does not, as for a branch that was not taken. There the cotangent is zero, and stays
zero whatever it meets. Any other zero was computed, and zero times infinity is NaN. The reach goes
through the same rules: through linear ones as positive numbers drawn at random, which do not
cancel; through others at arguments moved a little, where a zero that only happened to be one is
none.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from tapegrad._block import contextmanager, undoing
from tapegrad._core.elementwise import add_up
from tapegrad._core.entry import (
    MINUS,
    NO_PARAMS,
    Entry,
    Mark,
    Opened,
    Outputs,
    Spec,
    opened,
    parents_of,
)
from tapegrad._core.fit import (
    fit_cotangent,
    fit_tangent,
    has_nan,
    is_finite,
    is_foreign,
    multiplied,
    zeros_absorbing,
)
from tapegrad._core.general import dense, watching
from tapegrad._core.infinities import (
    PARTS,
    drawn,
    either,
    has_others,
    has_some,
    has_zeros,
    joined,
    mapped,
    numbers_anew,
    product_of,
    selected,
    weighed,
)
from tapegrad._core.marks import pull_mark
from tapegrad._core.recorded import is_recording
from tapegrad._core.replay import SparseBars, Step, live_steps, push_entry
from tapegrad._core.scatter import accumulate
from tapegrad._core.tape import Tape, hand_over
from tapegrad._core.types import Cotangent, Params, Value, Values, Wanted
from tapegrad._core.values import (
    Traced,
    assume,
    in_place,
    is_numpy,
    raw_value,
    untraced,
    without_traces,
)

Pairs = list[Any]  # a cotangent or tangent and its reach, or None


def reach_of(g: Cotangent) -> Any:
    """The reach of a cotangent that is given: its zeros are those of results that do not count."""
    return (untraced(g) != 0) * 1.0


def replay_carefully(
    entries: Iterable[Entry],
    bars: SparseBars,
    reach: SparseBars,
    tape: Tape | None,
    settled: frozenset[Any] = frozenset(),
) -> None:
    """Push cotangents, and their reach, back through entries, from the last on.

    settled: see `settled_kinks`. With `tape` the kept values are wrapped with their slots again,
    so that the rules log themselves. The reach is of raw values: no derivative goes through it.
    """
    with numbers_anew():
        _replay(entries, bars, reach, tape, settled)


def _replay(
    entries: Iterable[Entry],
    bars: SparseBars,
    reach: SparseBars,
    tape: Tape | None,
    settled: frozenset[Any],
) -> None:
    start = bars.start
    owned: set[Any] = set()
    reached: set[Any] = set()
    for entry in entries:
        slot = entry[0]
        g = bars.pop(slot, None)
        if g is None:
            continue
        m = reach.pop(slot)
        if slot in settled:
            m = m * 0
        given, plain = opened(entry, tape), opened(entry)
        rule = given[0]
        if type(rule) is Mark:
            pull_mark(bars, owned, g, slot, given, start)
            pull_mark(reach, reached, m, slot, plain, start)
            continue
        call = Call.of(given, plain, start.__le__)
        pairs = zip(call.slots, call.args, call.raws, call.pull(g, m), strict=True)
        for at, like, raw, pair in pairs:
            if pair is None:
                continue
            bar, mask = pair
            if bars.first is None and _makes_nan((g, call.raw, *call.raws), bar):
                bars.first = rule
            if call.params is not NO_PARAMS:
                bar = fit_cotangent(dense(bar, like), like, rule)
                mask = _fitted(mask, raw, rule)
            accumulate(bars, owned, at, bar, like)
            accumulate(reach, reached, at, mask, raw)


def replay_forward_carefully(
    steps: Iterable[Step],
    dots: dict[Any, Any],
    reach: dict[Any, Any],
    tape: Tape | None,
    settled: frozenset[Any] = frozenset(),
) -> Any:
    """Push tangents, and their reach, forward through the entries that `live_steps` found.

    `dots` and `reach` have those of the inputs; settled: see `settled_kinks`. Returns the first
    rule that makes a NaN of numbers, or None.
    """
    with numbers_anew():
        return _replay_forward(steps, dots, reach, tape, settled)


def _replay_forward(
    steps: Iterable[Step],
    dots: dict[Any, Any],
    reach: dict[Any, Any],
    tape: Tape | None,
    settled: frozenset[Any],
) -> Any:
    entered = set(dots)
    first = None
    for entry, ended, _ in steps:
        slot = entry[0]
        if slot not in entered:
            plain = opened(entry)
            rule, out, args, _, slots = plain
            if type(rule) is Mark:
                dot = push_entry(entry, dots.get, tape)
                mask = push_entry(entry, reach.get)
            else:
                dot, mask = _pushed(opened(entry, tape), plain, dots, reach)
                if slot in settled and dot is not None:
                    mask = mask * 0
                    dot = selected(mask, dot)
            if dot is not None:
                dots[slot], reach[slot] = dot, mask
                if first is None and type(rule) is not Mark:
                    given = out, *args, *map(dots.get, slots)
                    first = rule if _makes_nan(given, dot) else None
        for at in ended:
            dots.pop(at, None)
            reach.pop(at, None)
    return first


def _pushed(
    given: Opened, plain: Opened, dots: dict[Any, Any], reach: dict[Any, Any]
) -> tuple[Any, Any]:
    call = Call.of(given, plain, dots.__contains__)
    if not any(call.wanted):
        return None, None
    rule, out = call.rule, call.raw
    dot, mask = call.push(
        [dots.get(at) for at in call.slots], [reach.get(at) for at in call.slots]
    )
    if call.params is NO_PARAMS:
        return dot, mask
    if isinstance(out, Outputs):
        pairs = zip(dot, mask, out, out.slots, strict=True)
        fitted = [
            (None, None)
            if part is None or at == -1
            else (fit_tangent(part, like, rule), fit_tangent(m, like, rule))
            for part, m, like, at in pairs
        ]
        return [part for part, _ in fitted], [m for _, m in fitted]
    return fit_tangent(dot, call.out, rule), fit_tangent(mask, out, rule)


def settled_kinks(entries: Sequence[Entry]) -> frozenset[Any]:
    """Of all entries of a program the slots of slopes at kinks with derivative 0, without a limit.

    These are opposite on both sides, and joined to the inputs and to the results by linear
    functions alone, so that their changes cancel: as the sign of x is in the gradient of |x|.
    """
    if not any(getattr(entry[1], "opposite", False) for entry in entries):
        return frozenset()
    curved: set[Any] = set()  # slots that are not linear in the inputs
    bent: set[Any] = set()  # those in which the results are not
    for entry in entries:
        if not _is_linear(entry) or any(at in curved for at in parents_of(entry)):
            curved.add(entry[0])
    for entry in reversed(entries):
        if entry[0] in bent or not _is_linear(entry):
            bent.update(parents_of(entry))
    return frozenset(
        entry[0]
        for entry in entries
        if getattr(entry[1], "opposite", False)
        and entry[0] not in bent
        and not any(at in curved for at in parents_of(entry))
    )


def _is_linear(entry: Entry) -> bool:
    """Whether no derivative of an entry reads a value that moves."""
    rule, _, _, _, slots = opened(entry)
    if type(rule) is Mark or getattr(rule, "function", entry) is None:  # the input of a transform
        return True
    wanted = [at != -1 for at in slots]
    reads, reads_out = rule.needs(wanted)
    return not reads_out and not any(r and w for r, w in zip(reads, wanted, strict=False))


def pull_function(
    function: Callable[[list[Any]], Any], values: Sequence[Value], g: Cotangent, m: Any
) -> Pairs:
    """The cotangents of a function's arguments with their reach, by a tape of its own."""
    with recorded(function, values) as (tape, slots, made):
        bars, reach = SparseBars(0), SparseBars(0)
        for part, bar, mask in zip(*(_as_list(x) for x in (made, g, m)), strict=True):
            at = part.slot if isinstance(part, Traced) and part.tape is tape else -1
            if bar is not None and at != -1:
                bars[at] = bar if at not in bars else bars[at] + bar
                reach[at] = mask if at not in reach else reach[at] + mask
        replay_carefully(reversed(tape.entries), bars, reach, None)
        return [None if bars[at] is None else (bars[at], reach[at]) for at in slots]


def push_function(
    function: Callable[[list[Any]], Any],
    values: Sequence[Value],
    dots: Sequence[Any],
    reach: Sequence[Any],
    most: float = np.inf,
) -> tuple[Any, Any]:
    """The tangent of a function's result with its reach, by a tape of its own; None for zeros.

    most: the numbers that the recording may have, beyond which there is an OverflowError.
    """
    with recorded(function, values) as (tape, slots, made):
        if sum(getattr(entry[2], "size", 1) for entry in tape.entries) > most:
            raise OverflowError("a recording is longer than it may be")
        if not isinstance(made, Traced) or made.tape is not tape or made.slot == -1:
            return None, None
        end = made.slot
        table, masks = dict(zip(slots, dots, strict=True)), dict(zip(slots, reach, strict=True))
        replay_forward_carefully(live_steps(tape.entries, slots, (end,)), table, masks, None)
        return table.get(end), masks.get(end)


@contextmanager
def recorded(function: Callable[[list[Any]], Any], values: Sequence[Value]) -> Iterator[Any]:
    """A run of a function on a tape of its own: the tape, the inputs' slots, the result."""
    tape = Tape("a definition")
    try:
        with undoing(tape.close):
            inputs = [tape.wrap(value, tape.fresh()) for value in values]
            slots = [x.slot for x in inputs]
            yield tape, slots, function(inputs)
    finally:
        if tape.root.refused is not None:
            hand_over(tape.root)


def spread(found: Sequence[Any], wanted: Wanted) -> list[Any]:
    """One for each argument, None for those that are not wanted."""
    rest = iter(found)
    return [next(rest) if want else None for want in wanted]


def _as_list(value: Any) -> Any:
    return value if isinstance(value, (list, tuple)) else [value]


class Call:
    """A call of a rule: its values as a replay gives them, and raw ones for its reach."""

    def __init__(
        self,
        rule: Any,
        out: Value,
        args: Values,
        raw: Value,
        raws: Values,
        params: Params,
        wanted: Wanted,
        slots: Sequence[Any] = (),
    ) -> None:
        self.rule, self.params, self.wanted = rule, params, wanted
        self.definition_at = getattr(rule, "definition_at", None)  # of a function by others
        # A constant of this replay may be traced by another one, which its zeros are no zeros for.
        self.slots = slots
        self.fixed = [
            at == -1 and not isinstance(raw, Traced) for at, raw in zip(slots, raws, strict=False)
        ]
        self.out, self.args = out, args
        self.raw, self.raws = raw, raws

    @classmethod
    def of(cls, given: Opened, plain: Opened, has: Any) -> Call:
        """The call of an entry; has: whether a slot has a cotangent, or a tangent."""
        rule, out, args, params, slots = given
        wanted = [at != -1 and bool(has(at)) for at in slots]
        return cls(rule, out, args, plain[1], plain[2], params, wanted, slots)

    # -- backward --------------------------------------------------------------------------------

    def pull(self, g: Cotangent, m: Any) -> Pairs:
        """The cotangents of the arguments with their reach, None for those that have none."""
        form = getattr(self.rule, "form", "elementwise")
        places = enumerate(self.wanted)
        if form == "elementwise":
            return [self._times(g, m, at) if want else None for at, want in places]
        if self.definition_at is not None:
            definition, values = self.definition_at(self.out, self.args, self.params, self.wanted)
            return spread(pull_function(definition, values, g, m), self.wanted)
        bars = self.pulled(g, self.out, self.args)
        if form == "custom":  # how it mixes elements is its author's
            return [bar if bar is None else (bar, np.ones(bar.shape)) for bar in bars]
        masks = self._reach(self.pulled, m, bars, self.raw)
        if form == "multilinear":
            bars = [
                bar if bar is None or _is_finite(bar) else self._product_back(bar, g, m, at)
                for at, bar in enumerate(bars)
            ]
        elif has_others(g):
            bars = self._through(self.pulled, g, bars)
        if form == "general":
            bars = self._but_of_zeros(self.pulled, g, m, bars)
        return [
            bar if bar is None else (selected(mask, bar), mask)
            for bar, mask in zip(bars, masks, strict=True)
        ]

    def _times(self, g: Cotangent, m: Any, position: int) -> tuple[Any, Any]:
        """A cotangent or tangent times a partial, and its reach."""
        partial = self.rule.partials[position]
        if partial is None:
            return g, m
        if partial is MINUS:
            return -g, m
        product = multiplied(operator.mul, g, partial, self.out, self.args)
        dead = self._structural(position)
        if dead is not None:
            m = np.where(dead, 0.0, m)
        return selected(m, product), m

    def _structural(self, position: int) -> Any:
        """Where a partial is zero in a whole neighbourhood; None for nowhere."""
        rule = self.rule
        if rule.selects is True or rule.selects and rule.selects[position]:
            return untraced(rule.partials[position](self.out, *self.args)) == 0
        other = rule.zeros[position] if rule.zeros else None
        if other is None or not self.fixed[other]:
            return None
        return untraced(self.raws[other]) == 0

    def pulled(self, g: Cotangent, out: Value, args: Values) -> list[Any]:
        """The cotangents of the wanted arguments, whatever g holds."""
        with zeros_absorbing():
            found = self.rule.pull(g, out, args, self.params, self.wanted)
        return [
            None if bar is None or not want else dense(bar, like)
            for bar, like, want in zip(found, args, self.wanted, strict=True)
        ]

    def _product_back(self, bar: Cotangent, g: Cotangent, m: Any, position: int) -> Any:
        """The cotangent of one argument of a product, where there are infinities or NaNs."""
        only = [at == position for at in range(len(self.args))]

        def multiplied(parts: Values) -> Any:
            return self.rule.pull(parts[0], self.raw, parts[1:], self.params, only)[position]

        factors = [untraced(g), *self.raws]
        alive = [untraced(m) != 0, *self._alive()]
        alive[position + 1] = None  # not read: a product is linear in it
        return in_place(bar, product_of(multiplied, factors, alive))

    # -- forward ---------------------------------------------------------------------------------

    def push(self, dots: Sequence[Any], reach: Sequence[Any]) -> tuple[Any, Any]:
        """The tangent of the result with its reach; `wanted` says which arguments have one."""
        form = getattr(self.rule, "form", "elementwise")
        places = [at for at, dot in enumerate(dots) if dot is not None]
        if form == "elementwise":
            terms = [self._times(dots[at], reach[at], at) for at in places]
            return add_up([dot for dot, _ in terms]), add_up([m for _, m in terms])
        if self.definition_at is not None:
            wanted = [dot is not None for dot in dots]
            given = [[part for part in parts if part is not None] for parts in (dots, reach)]
            definition, values = self.definition_at(self.out, self.args, self.params, wanted)
            return push_function(definition, values, given[0], given[1])
        dot = self._pushed(dots, self.out, self.args)
        if form == "custom":
            return dot, _ones_like(dot)
        mask = self._reach(self._pushed, list(reach), dot, self.raws)
        if form == "multilinear":
            if not _is_finite(dot):
                made = [self._product_ahead(dots[at], reach[at], at) for at in places]
                dot = in_place(dot, add_up(made))
        elif has_others(list(dots)):
            dot = self._through(self._pushed, list(dots), dot)
        if form == "general":
            dot = self._but_of_zeros(self._pushed, list(dots), list(reach), dot)
        if isinstance(dot, (list, tuple)):
            pairs = zip(dot, mask, strict=True)
            return [d if d is None else selected(m, d) for d, m in pairs], mask
        return selected(mask, dot), mask

    def _pushed(self, dots: Sequence[Any], out: Value, args: Values) -> Any:
        with zeros_absorbing():
            return self.rule.push(dots, out, args, self.params)

    def _product_ahead(self, dot: Any, m: Any, position: int) -> Any:
        """The tangent of a product by one argument, where there are infinities or NaNs."""

        def multiplied(parts: Values) -> Any:
            return self.rule.call(list(parts), self.params)

        factors, alive = list(self.raws), self._alive()
        factors[position], alive[position] = untraced(dot), untraced(m) != 0
        return product_of(multiplied, factors, alive)

    def _but_of_zeros(self, through: Callable[..., Any], g: Any, m: Any, found: Any) -> Any:
        """The result of a function linear in g, NaN where a computed zero meets an infinity.

        The rule has let all zeros of g absorb: it is asked once more, for numbers in their place.
        """
        if self.rule.singular is not None:  # it takes limits of what is zero by zero
            return found
        zeros = mapped(lambda part, mask: (untraced(part) == 0) & (mask != 0), g, m)
        if not has_some(zeros):
            return found
        with watching():
            met = through(drawn(zeros), self.out, self.args)

        def unless(x: Any, y: Any) -> Any:
            return in_place(x, np.where(np.isfinite(untraced(y)), without_traces(x), np.nan))

        return mapped(unless, found, met)

    # -- the reach -------------------------------------------------------------------------------

    def _reach(self, through: Callable[..., Any], m: Any, found: Any, likes: Any) -> Any:
        """The reach of what a function of (g, out, args), linear in g, returns: `found` for a g.

        An element that is not zero is reached: without zeros nobody but a program asks more.
        likes: the values whose cotangents, or tangents, g has.
        """
        if not is_recording() and not has_zeros(found):
            return mapped(_all, found)
        lazy = any(type(x) is not Spec and is_foreign(x) for x in self.raws)
        if lazy and self.rule.form != "linear":
            return mapped(_all, through(m, self.raw, self.raws))  # these arguments are not moved
        return mapped(reach_of, self._spread(through, mapped(_drawn_like, m, likes)))

    def _spread(self, through: Callable[..., Any], weights: Any) -> Any:
        """The part that is not zero wherever positive weights reach, here or at arguments nearby.

        Here too, as a tie gives a share to each: nearby one of them alone has it all.
        """
        with watching():  # which tells of the tangents of this call, not of those that are drawn
            here = through(weights, self.raw, self.raws)
            if self.rule.form == "linear":
                return here
            return mapped(either, here, through(weights, *self.moved()))

    def moved(self) -> tuple[Value, Values]:
        """The result and the arguments, moved a little; factors of a product are drawn anew."""
        rule, product = self.rule, self.rule.form == "multilinear"
        args = []
        for x, alive in zip(self.raws, self._alive(), strict=True):
            if type(x) is Spec or not hasattr(x, "dtype") or x.dtype.kind not in "fc":
                args.append(x)
            elif product:
                args.append(drawn(alive))
            else:
                step = drawn(np.ones(x.shape)) * MOVE
                args.append(x + ((np.abs(x) + _least(x)) * step).astype(x.dtype))
        out = self.raw
        if not product and type(out) is not Spec:
            with suppress(Exception):  # outside of the domain, say
                moved = rule.call(args, self.params)
                if isinstance(out, Outputs):
                    moved = Outputs(moved)
                    moved.slots = out.slots
                return moved, args
            return out, self.raws
        return out, args

    def _alive(self) -> list[Any]:
        """Of each argument where it is no structural zero: a constant may be one."""
        return [
            None
            if type(x) is Spec or not hasattr(x, "shape")
            else untraced(x) != 0
            if fixed
            else np.ones(x.shape, bool)
            for x, fixed in zip(self.raws, self.fixed, strict=True)
        ]

    def _through(self, through: Callable[..., Any], g: Any, plain: Any) -> Any:
        """The result of a function linear in g where g has infinities or NaNs: see `joined`.

        plain: the same by plain arithmetic.
        """
        finite, signs, infinite, nan = (mapped(part, g) for part in PARTS)
        here = self.raw, self.raws
        made = mapped(
            joined,
            through(finite, *here),
            through(signs, *here),
            self._spread(through, mapped(weighed, infinite)),
            self._spread(through, mapped(weighed, nan)),
        )
        return mapped(in_place, plain, made)


def _drawn_like(m: Any, like: Any) -> Any:
    """Numbers drawn where a reach is positive; of complex values both components."""
    return drawn(m) if like.dtype.kind != "c" else drawn(m) + 1j * drawn(m)


MOVE = 1e-5  # of an argument and 1: beyond what rounding makes of a zero


def _least(x: Any) -> Any:
    """The least size of an element that is not zero: a step beyond it would change an order."""
    if type(x) is not np.ndarray:
        return 1
    size = np.abs(x)
    known = size[np.isfinite(size) & (size > 0)]
    return known.min() if known.size else 1


def _ones_like(value: Any) -> Any:
    return mapped(lambda part: np.ones(part.shape), value)


def _all(bar: Any) -> Any:
    """The reach of all elements, of the library that an array is of."""
    return (np.isfinite(untraced(bar)) | True) * 1.0


def _fitted(mask: Any, raw: Value, rule: Any) -> Any:
    if mask.shape != raw.shape or mask.dtype != raw.dtype:
        mask = fit_cotangent(reach_of(mask), raw, rule)  # that of complex numbers is real again
    return mask


def _is_finite(bar: Cotangent) -> bool:
    bar = untraced(bar)
    return is_foreign(bar) or bool(assume(is_finite, bar, False))


def _makes_nan(given: Any, bar: Any) -> bool:
    """Whether a step has made a NaN of numbers; of recorded and lazy ones nobody asks."""
    return _holds_nan(bar) and not any(map(_holds_nan, given))


def _holds_nan(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_holds_nan, value))
    value = raw_value(value)
    return is_numpy(value) and has_nan(value)


__all__ = [
    "Call",
    "pull_function",
    "push_function",
    "reach_of",
    "recorded",
    "replay_carefully",
    "replay_forward_carefully",
    "settled_kinks",
    "spread",
]
