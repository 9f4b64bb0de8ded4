"""Refusals that a program caught: a warning, or an error where the value has become another one.

Knows that a transform keeps what was refused within it, and how the function runs once more on
plain values. Must not know conversions, or what a transform does with its recording.

`try: return math.exp(x)` / `except TypeError: return 1.0` catches the error of a refused
conversion, and returns another value than on plain numbers. Only runs of the function tell. The
outermost transform makes them where a refusal was caught, since its arguments alone are plain:

- on plain values, once. The same value: a warning, since the derivative may lack a part.
- Another value, though the function is the same each time: the error that was caught, again. To
  know that it is the same it runs on traced values again, with its random generators put back.
- The same value, where packages asked and no line of the program's own: such code cannot be
  changed, and asks out of curiosity (`try: float(x)`). So nothing is said if the value is the same
  at a point nearby, too: then the function of traced values is that of plain ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any, NamedTuple, NoReturn

import numpy as np

from tapegrad._arrays.refusal import REPLAYING, Refusal
from tapegrad._block import contextmanager, setting, undoing
from tapegrad._core.quiet import silence
from tapegrad._core.recorded import refuse_program
from tapegrad._core.tape import CURRENT, hand_over
from tapegrad._core.types import Function, Tree, Value
from tapegrad._errors import ConversionWarning, RuleError, describe, mark
from tapegrad._transforms.draws import kept_states
from tapegrad._transforms.inputs import Inputs, own_copy
from tapegrad._transforms.recording import Recording
from tapegrad._tree import flatten, tree_map
from tapegrad._warning import warn

NEAR = 1e-3  # the distance of the point nearby, relative
AGREED = "and its value is that on plain values, but the derivative may lack a part"
UNKNOWN = "and its value differs from run to run, so that nobody knows whether it is the right one"
REPLAYED = "in a replay, and its derivative may lack a part"
RECORDED = "a conversion of a traced value was refused in it, and it went on without"

# Whether a function runs again, for a transform around that will say what there is to say.
_AGAIN: ContextVar[bool] = ContextVar("tapegrad_again", default=False)

_MARK = "_caught"  # of the error below, which no run again takes for the function's own


def heed(name: str, holder: Any, f: Function, inputs: Inputs, found: Tree) -> None:
    """Warn of refusals within a transform that has returned, or raise what was caught.

    Parameters
    ----------
    name : str
        Of the transform.
    holder : object
        The tape or vmap that keeps its refusals.
    f, inputs : callable, Inputs
        Its function and arguments.
    found : pytree
        The result of the function, untraced.
    """
    refusals = _heard(holder)
    if refusals:
        runs = _Runs(name, f, inputs)
        parts = [(found, lambda: runs.plain(inputs.leaves))]
        _judge(name, refusals, parts, lambda: [runs.traced(inputs.leaves)], runs)


def heed_examples(
    name: str,
    level: Any,
    f: Function,
    given: Any,
    parts: Sequence[tuple[Tree, Callable[[], Any]]],
    again: Callable[[], Sequence[Tree]],
) -> None:
    """The same for a vmap: of each example what was found, and a run on its plain values.

    again: the function for all examples at once, from the start. `given`: all arguments.
    """
    refusals = _heard(level)
    if refusals:
        restore = kept_states(f, flatten(given)[0])
        _judge(name, refusals, parts, again, _Restored(restore))


def heed_replay(name: str, holder: Any) -> None:
    """Warn of refusals in a replay (`replaying`)."""
    refusals = _heard(holder)
    if refusals:
        _warn(name, refusals, REPLAYED)


@contextmanager
def replaying(name: str) -> Iterator[None]:
    """Within it a replay runs a part of the program again, and may find another result.

    Then an error of a refused conversion that the program caught is raised again.
    """
    try:
        with setting(REPLAYING, True):
            yield
    except RuleError as error:
        holder: Any = CURRENT.get()
        refused = getattr(getattr(holder, "root", holder), "refused", None) or {}
        caught = [each for each in refused.values() if each.replayed]
        if not caught:
            raise
        made = caught[-1].again()
        text = f"{name}: the program caught an error of tapegrad's in a replay"
        raise type(made)(f"{text}, at {caught[-1].line}: {made}") from error


def _heard(holder: Any) -> list[Refusal]:
    """The refusals to judge here: none where a transform around will, or a run on plain values."""
    if hand_over(holder):
        return []
    refusals = [refusal for refusal in holder.refused.values() if refusal.ours]
    return [] if refusals and refuse_program(RECORDED) else refusals


# --- The verdict --------------------------------------------------------------------------------


def _judge(
    name: str,
    refusals: list[Refusal],
    parts: Sequence[tuple[Tree, Callable[[], Any]]],
    again: Callable[[], Sequence[Tree]],
    runs: _Restored,
) -> None:
    silent = all(refusal.is_library and not refusal.replayed for refusal in refusals)
    silent = silent and runs.agree_nearby()  # first: what the last run leaves outside is plain
    said = AGREED
    for at, (found, plain) in enumerate(parts):
        expected = runs.outcome(plain)
        if _same(found, expected):
            continue
        said = UNKNOWN
        second = runs.outcome(again)
        if isinstance(second, _Raised):
            break
        if _same(second[at], expected):  # the state that it reads has changed after the first run
            said = AGREED
            continue
        if not _same(second[at], found):
            third = runs.outcome(again)
            if isinstance(third, _Raised) or not _same(third[at], second[at]):
                break
        _raise(name, refusals[0], second[at], expected)
    if not silent or said is UNKNOWN:
        _warn(name, refusals, said)


def _raise(name: str, refusal: Refusal, found: Tree, expected: Any) -> NoReturn:
    made = refusal.again()
    error = type(made)(
        f"{name}: the program caught an error of tapegrad's, and "
        f"{_results(found, expected)} on plain values. At {refusal.line}: {made}"
    )
    mark(error, _MARK)
    raise error


def _warn(name: str, refusals: list[Refusal], said: str) -> None:
    if _AGAIN.get():
        return
    own = [refusal for refusal in refusals if not refusal.is_library] or refusals
    more = f" (and {len(own) - 1} more)" if len(own) > 1 else ""
    warn(
        f"{name}: the program caught an error of tapegrad's, {said}. At "
        f"{own[0].line}{more}: {own[0].again()}",
        ConversionWarning,
    )


def _results(found: Tree, expected: Any) -> str:
    """Found and expected results, in words."""
    if isinstance(expected, _Raised):
        return f"went on, where it raises {expected.kind}"
    pairs = zip(flatten(found)[0], flatten(expected)[0], strict=False)
    got, right = next(
        (pair for pair in pairs if not _same_leaf(*pair)), (describe(found), describe(expected))
    )
    if np.ndim(got) or np.ndim(right):
        return f"returned another {describe(got)} than"
    return f"returned {got}, where it returns {right}"


# --- Runs ---------------------------------------------------------------------------------------


class _Raised(NamedTuple):
    """The outcome of a run that raised an error."""

    kind: str


class _Restored:
    """Runs of one function, each with its random generators as they are now."""

    def __init__(self, restore: Callable[[], None]) -> None:
        self.restore = restore

    def outcome(self, run: Callable[[], Any]) -> Any:
        """Result of a run, or a mark that it raised an error."""
        with undoing(self.restore), setting(_AGAIN, True):
            try:
                return run()
            except Exception as error:
                if getattr(error, _MARK, False):
                    raise
                return _Raised(type(error).__name__)

    def agree_nearby(self) -> bool:
        """Whether nothing is lost: a vmap's values are all that there is."""
        return True


class _Runs(_Restored):
    """Runs of a function on plain and on traced values, which change no array of the caller."""

    def __init__(self, name: str, f: Function, inputs: Inputs) -> None:
        super().__init__(kept_states(f, flatten((inputs.args, inputs.kwargs))[0]))
        self.name, self.f, self.inputs = name, f, inputs

    def _call(self, leaves: list[Value]) -> Any:
        from copy import copy  # a millisecond, which few programs need

        inputs = copy(self.inputs)
        inputs.args = tree_map(_own_copy, inputs.args)
        inputs.kwargs = tree_map(_own_copy, inputs.kwargs)
        return inputs.call(self.f, leaves)

    def plain(self, leaves: Sequence[Value]) -> Any:
        return self._call([own_copy(leaf) for leaf in leaves])

    def traced(self, leaves: Sequence[Value]) -> Any:
        def stripped(recording: Recording) -> Any:
            out = self._call(list(recording.inputs(leaves)))
            recording.finish(out)
            return tree_map(recording.strip, out)

        return Recording(self.name).run(stripped)

    def agree_nearby(self) -> bool:
        """Whether traced and plain values give the same beside the point as well."""
        try:
            plain = self.outcome(lambda: self.plain(self._nearby()))
            traced = self.outcome(lambda: self.traced(self._nearby()))
        except Exception:  # noqa: BLE001 - of a transform inside, which is not right there
            return False
        return not isinstance(traced, _Raised) and _same(traced, plain)

    def _nearby(self) -> list[Any]:
        return [_beside(leaf, at) for at, leaf in enumerate(self.inputs.leaves)]


def _own_copy(leaf: Value) -> Any:
    return own_copy(leaf) if isinstance(leaf, np.ndarray) else leaf


def _beside(leaf: Value, seed: int) -> Any:
    """A point beside a leaf, in a direction that no program has in mind."""
    part = NEAR * np.random.default_rng(seed).uniform(0.5, 1, np.shape(leaf))
    return (leaf + part * np.where(leaf == 0, 1, np.abs(leaf))).astype(leaf.dtype)[()]


# --- Values -------------------------------------------------------------------------------------


def _same(found: Tree, expected: Any) -> bool:
    """Whether two results are the same, but for rounding. Results that cannot be compared are."""
    if isinstance(expected, _Raised):
        return False
    leaves, structure = flatten(found)
    others, other_structure = flatten(expected)
    return structure == other_structure and all(map(_same_leaf, leaves, others))


def _same_leaf(found: Value, expected: Value) -> bool:
    x, y = _number(found), _number(expected)
    if x is None or y is None:
        if isinstance(found, str) and isinstance(expected, str):
            return found == expected
        return x is y
    if x.shape != y.shape:
        return False
    kinds = [each.dtype for each in (x, y) if each.dtype.kind in "fc"]
    if not kinds:
        return np.array_equal(x, y)
    # Half of the digits: another order of a sum costs few of them, another function most.
    small = max(float(np.sqrt(np.finfo(kind).eps)) for kind in kinds)
    with silence():
        size = np.abs(y)
        scale = np.max(size, initial=0, where=np.isfinite(size))
        near = np.abs(x - y) <= small * size + 100 * small**2 * scale
        return bool(np.all(near | (x == y) | (np.isnan(x) & np.isnan(y))))


def _number(leaf: Value) -> Any:
    """A leaf as an array of numbers, or None."""
    if not isinstance(leaf, (np.ndarray, np.generic, float, int, complex)):
        return None
    array = np.asarray(leaf)
    return array if array.dtype.kind in "biufc" else None


__all__ = ["heed", "heed_examples", "heed_replay"]
