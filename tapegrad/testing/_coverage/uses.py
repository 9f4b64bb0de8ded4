"""By which transforms rules have been used, at which of their arguments, and with which dtypes.

Knows how calls, vmaps and replays come to a rule. Must not know the functions of a rule.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import Any

from tapegrad._batched import array as batched_arrays
from tapegrad._batched.array import Batched
from tapegrad._block import contextmanager, undoing
from tapegrad._core import forward_tape
from tapegrad._core.entry import Entry, Outputs, parents_of
from tapegrad._core.forms import Composite, Constant, Unsupported
from tapegrad._core.rule import Rule, declared_rule, declared_rules, rule_of
from tapegrad._look import replays
from tapegrad._profile.switch import Place, Switch
from tapegrad._transforms.custom import CustomCall, _Custom
from tapegrad._transforms.primitives import ContainerCall
from tapegrad.testing._coverage.functions import Declared, declared

# The sides from which rules of a form are used: calls, cotangents, tangents as the function runs,
# tangents by a recording of it, and batches of examples.
_ALL = ("vjp", "jvp", "linearize", "vmap")
EXPECTED: dict[str, tuple[str, ...]] = {
    "elementwise": _ALL,
    "linear": _ALL,
    "multilinear": _ALL,
    "general": _ALL,
    "custom_vjp": _ALL,
    "custom_jvp": _ALL,
    "composite": ("call", "vmap"),
    "constant": ("call", "vmap"),
    "unsupported": ("call",),
}


class Uses:
    """Observations of each rule: sides with positions of arguments, and dtypes."""

    def __init__(self) -> None:
        self.sides: dict[Declared, dict[str, set[int]]] = {}
        self.dtypes: dict[Declared, set[str]] = {}

    def note(self, key: Declared, side: str, positions: Any = (), dtype: str = "") -> None:
        self.sides.setdefault(key, {}).setdefault(side, set()).update(positions)
        if dtype:
            self.dtypes.setdefault(key, set()).add(dtype)


class _Told:
    """Told of all uses; tells those that look at something, and of rules that are new."""

    def __init__(self) -> None:
        self.uses: tuple[Uses, ...] = ()
        self.news: Callable[[Any], None] = lambda _rule: None
        self.known: dict[int, tuple[Any, Declared]] = {}  # by id, with what has it
        self.watching: Any = None

    @contextmanager
    def by(self, uses: Uses, news: Callable[[Any], None]) -> Iterator[None]:
        def leave() -> None:
            self.uses = tuple([one for one in self.uses if one is not uses])
            if not self.uses:
                self.watching.close()
                self.known.clear()

        with undoing(leave):
            if not self.uses:
                self.news = news
                self.watching = self._watched()
                next(self.watching)
            self.uses = (*self.uses, uses)
            yield

    def _watched(self) -> Generator[None]:
        for rule in declared_rules():  # calls that came before are looked at anew
            for calls in (rule.calls,):
                if calls is not None:
                    calls.clear()
        steps, places = replays.steps_watched(_Steps(self)), Switch().holding_places(self._places)
        with replays.watched(self), steps, places:
            yield

    # -- one use ---------------------------------------------------------------------------------

    def note(self, rule: Any, side: str, positions: Any = (), dtype: str = "") -> None:
        key = self.key_of(rule)
        if key is not None:
            for uses in self.uses:
                uses.note(key, side, positions, dtype)

    def key_of(self, rule: Any) -> Declared | None:
        """How what was declared is named, of which this is a rule; None for marks of the tape."""
        found = self.known.get(id(rule))
        if found is not None and found[0] is rule:
            return found[1]
        if isinstance(rule, CustomCall):
            rule = _custom_of(rule)
        elif isinstance(rule, ContainerCall):
            rule = rule.rule
        if not isinstance(rule, _Custom) and (
            not isinstance(rule, Rule) or declared_rule(rule.function) is not rule
        ):
            return None
        key = declared(rule)
        if id(rule) not in self.known:
            self.known[id(rule)] = rule, key
            self.news(rule)
        return key

    def note_entry(self, entry: Entry, side: str, cotangent: Any = None) -> None:
        positions = [at for at, slot in enumerate(parents_of(entry)) if _is_slot(slot)]
        self.note(entry[1], side, positions, _dtype_of(entry[2]) or _dtype_of(cotangent))

    # -- replays ---------------------------------------------------------------------------------

    def before(self, entry: Entry, cotangent: Any, _bars: Any) -> None:
        self.note_entry(entry, "vjp", cotangent)

    def after(self, entry: Entry, _cotangent: Any, _bars: Any) -> None:
        pass

    def left(self, entry: Entry) -> None:
        pass

    # -- calls -----------------------------------------------------------------------------------

    def _places(self) -> Iterator[Place]:
        yield Place(forward_tape, "_push", self._pushing(forward_tape._push))
        for form in (Composite, Constant, Unsupported):
            yield Place(form, "apply", self._calling(vars(form)["apply"]))
        yield Place(
            batched_arrays, "call_batched", self._batching(vars(batched_arrays)["call_batched"])
        )
        for attribute in ("__array_ufunc__", "__array_function__"):
            yield Place(Batched, attribute, self._mapping(vars(Batched)[attribute]))
        yield Place(_Custom, "_mapped", self._mapping_custom(vars(_Custom)["_mapped"]))

    def _pushing(self, push: Callable[[Entry], None]) -> Callable[[Entry], None]:
        def noted(entry: Entry) -> None:
            self.note_entry(entry, "jvp")
            push(entry)

        return noted

    def _calling(self, apply: Callable[..., Any]) -> Callable[..., Any]:
        def noted(rule: Rule, *args: Any, **kwargs: Any) -> Any:
            self.note(rule, "call")
            return apply(rule, *args, **kwargs)

        return noted

    def _batching(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def noted(level: Any, rule: Rule, arrays: Any, params: Any) -> Any:
            self.note(rule, "vmap")
            return call(level, rule, arrays, params)

        return noted

    def _mapping(self, protocol: Callable[..., Any]) -> Callable[..., Any]:
        def noted(x: Any, function: Any, *args: Any, **kwargs: Any) -> Any:
            rule = rule_of(function)
            if rule is not None:
                self.note(rule, "vmap")
            return protocol(x, function, *args, **kwargs)

        return noted

    def _mapping_custom(self, mapped: Callable[..., Any]) -> Callable[..., Any]:
        def noted(custom: Any, *args: Any) -> Any:
            self.note(custom, "vmap")
            return mapped(custom, *args)

        return noted


class _Steps:
    """Told of the entries of a replay of tangents."""

    def __init__(self, told: _Told) -> None:
        self.told = told

    def before(self, entry: Entry, _cotangent: Any, _bars: Any) -> None:
        self.told.note_entry(entry, "linearize")

    def after(self, entry: Entry, _cotangent: Any, _bars: Any) -> None:
        pass

    def left(self, entry: Entry) -> None:
        pass


def _dtype_of(value: Any) -> str:
    """The name of the dtype of a value, or of the first of several; "" where none is known."""
    for part in value if isinstance(value, (Outputs, list)) else (value,):
        found = getattr(getattr(part, "dtype", None), "name", "")
        if found:
            return str(found)
    return ""


def _is_slot(slot: Any) -> bool:
    return slot is not None and not (type(slot) is int and slot < 0)


def _custom_of(rule: CustomCall) -> Any:
    """The custom function of whose call this is the rule."""
    for cell in getattr(rule._pull or rule._push, "__closure__", None) or ():
        custom = getattr(cell.cell_contents, "custom", None)
        if isinstance(custom, _Custom):
            return custom
    return None


TOLD = _Told()

__all__ = ["EXPECTED", "TOLD", "Uses"]
