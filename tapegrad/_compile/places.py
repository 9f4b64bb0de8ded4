"""Places from which a function may read what is no argument: how each is read, put back, tested.

Knows the objects in which Python keeps values. Must not know what a function refers to
(`search.py`), nor what a change means.

Each place writes the source of its own test: whether it holds the very objects that it held. A
call of a compiled function runs all of these as one expression, see `guards.py`.
"""

from __future__ import annotations

import functools
import gc
import types
from collections import OrderedDict
from collections.abc import Callable, Container
from operator import is_
from typing import Any, NamedTuple

from tapegrad._compile.standard import Read, Write
from tapegrad._program.containers import Followed

FEW = 16  # values of a container, each of which has a term of its own

Named = Callable[[Any], str]  # the name that an object has in the source
Terms = list[str]


class Missing:
    """Stands for a name that is not bound."""


class Loose:
    """Stands for a value that is state of the function: it may be another in each call."""


class Variable(NamedTuple):
    """One value outside: how it is read (`Missing` where it is not bound), bound, and unbound."""

    key: tuple[int, Any]  # of its holder, and in that
    holder: Any  # whose id is no other's as long as it is held
    read: Callable[[], Any]
    write: Callable[[Any], None]
    delete: Callable[[], Any]
    source: Callable[[Named], str] | None = None  # an expression that reads it, where it is bound
    version: Callable[[], int] = lambda: 0  # how often its array was written into
    written: Callable[[], None] = lambda: None  # says that it was, once more


class Place:
    """A place that is read by one function, and put back by another."""

    def __init__(self, read: Read, write: Write | None = None) -> None:
        self.read = read
        self.write = write or _nowhere

    def variable(self, _at: int) -> Variable | None:
        """The value that is read at a position; None if it cannot be bound alone."""
        return None

    def loosen(self, state: Container[Any]) -> None:
        """Read `Loose` in the place of each variable whose key is among those."""
        read, write = self.read, self.write
        found = [(at, self.variable(at)) for at in range(len(read()))]
        loose = {at: one for at, one in found if one is not None and one.key in state}
        if not loose:
            return

        def without() -> list[Any]:
            return [Loose if at in loose else x for at, x in enumerate(read())]

        def put_back(was: list[Any]) -> None:
            write([loose[at].read() if x is Loose else x for at, x in enumerate(was)])

        self.read, self.write = without, put_back

    def terms(self, held: list[Any], named: Named, same: Any) -> Terms:
        """Expressions that are all true if it holds what it held.

        same: whether two lists are, by values that are made anew each time they are read.
        """
        return [f"{named(same)}({named(self.read)}(), {named(held)})"]


class Cell(Place):
    """A variable of an enclosing function."""

    def __init__(self, cell: types.CellType) -> None:
        self.cell = cell
        super().__init__(self._contents, self._fill)

    def _contents(self) -> list[Any]:
        try:
            return [self.cell.cell_contents]
        except ValueError:  # not bound yet
            return [Missing]

    def _fill(self, was: list[Any]) -> None:
        if was[0] is not Missing:
            self.cell.cell_contents = was[0]
        else:
            del self.cell.cell_contents

    def variable(self, _at: int) -> Variable:
        cell = self.cell
        return Variable(
            (id(cell), 0),
            cell,
            lambda: self._contents()[0],
            functools.partial(setattr, cell, "cell_contents"),
            functools.partial(self._fill, [Missing]),
            lambda named: f"{named(cell)}.cell_contents",
        )

    def terms(self, held: list[Any], named: Named, same: Any) -> Terms:
        if held[0] is Missing:
            return super().terms(held, named, same)
        return [f"{named(self.cell)}.cell_contents is {named(x)}" for x in held if x is not Loose]


class Names(Place):
    """Some names of a module, or of a function's globals."""

    def __init__(self, holder: dict[str, Any], names: list[str]) -> None:
        self.holder, self.names = holder, names
        super().__init__(self._values, self._put_back)

    def _values(self) -> list[Any]:
        return [self.holder.get(name, Missing) for name in self.names]

    def _put_back(self, was: list[Any]) -> None:
        for name, value in zip(self.names, was, strict=True):
            if value is not Missing:
                self.holder[name] = value
            else:
                self.holder.pop(name, None)

    def variable(self, at: int) -> Variable:
        return _of_dict(self.holder, self.names[at])

    def terms(self, held: list[Any], named: Named, same: Any) -> Terms:
        return _of_names(named(self.holder), self.names, held, named)


class InClass(Place):
    """Names in a class, how many there are, and the classes that it is derived from.

    tables: those of names whose entries are looked at too, where the names are settings of an
    installed package: these are no state. count: whether the number matters.
    """

    def __init__(
        self, kind: type, names: list[str], tables: list[str] | None = None, *, count: bool = True
    ) -> None:
        self.kind, self.held, self.names, self.count = kind, vars(kind), names, count
        self.tables, self.are_settings = tables or [], tables is not None
        self.all = frozenset(self.held)
        super().__init__(self._values, self._put_back)

    def _values(self) -> list[Any]:
        found = [self.held.get(name, Missing) for name in self.names]
        for name in self.tables:
            found += entries(self.held.get(name))
        found.append(self.kind.__mro__)
        if self.count:
            found.append(len(self.held))
        return found if self.are_settings else [*found, *self._new()]

    def _new(self) -> list[str]:
        """The names that the class has got since."""
        return [name for name in self.held if name not in self.all and not name.startswith("__")]

    def _put_back(self, was: list[Any]) -> None:
        for name, part in zip(self.names, was, strict=False):
            if part is not self.held.get(name, Missing):
                if part is Missing:
                    delattr(self.kind, name)
                else:
                    setattr(self.kind, name, part)
        if not self.are_settings:
            for name in self._new():
                if name not in was[len(self.names) + 2 :]:
                    delattr(self.kind, name)

    def variable(self, at: int) -> Variable | None:
        if self.are_settings or at >= len(self.names):
            return None
        kind, held, name = self.kind, self.held, self.names[at]
        return Variable(
            (id(kind), name),
            kind,
            lambda: held.get(name, Missing),
            functools.partial(setattr, kind, name),
            functools.partial(delattr, kind, name),
        )

    def terms(self, held: list[Any], named: Named, same: Any) -> Terms:
        if self.tables:
            return super().terms(held, named, same)
        # A class shows its names through a proxy, behind which they are read in half the time.
        behind = gc.get_referents(self.held)
        names = behind[0] if len(behind) == 1 and type(behind[0]) is dict else self.held
        terms = _of_names(named(names), self.names, held, named)
        terms.append(f"{named(self.kind)}.__mro__ is {named(held[len(self.names)])}")
        if self.count:
            terms.append(f"len({named(names)}) == {held[len(self.names) + 1]}")
        return terms


class Items(Place):
    """The keys and values of a dict.

    owner: the object whose attributes they are, which may be given another dict.
    """

    def __init__(self, items: dict[Any, Any], owner: Any = None) -> None:
        self.items, self.owner = items, owner
        # One with an order of its own is read by that.
        self.of: Any = OrderedDict if issubclass(type(items), OrderedDict) else dict
        super().__init__(self._values, self._put_back)

    def _now(self) -> Any:
        return self.items if self.owner is None else self.owner.__dict__

    def _values(self) -> list[Any]:
        now = self._now()
        return [*self.of.keys(now), *self.of.values(now)]

    def _put_back(self, was: list[Any]) -> None:
        now, half = self._now(), len(was) // 2
        self.of.clear(now)
        self.of.update(now, zip(was[:half], was[half:], strict=True))

    def variable(self, at: int) -> Variable | None:
        now = self._now()
        keys = list(self.of.keys(now))
        return _of_dict(now, keys[at - len(keys)]) if at >= len(keys) else None

    def terms(self, held: list[Any], named: Named, same: Any) -> Terms:
        half = len(held) // 2
        keys, values = held[:half], held[half:]
        if type(self.items) is not dict or not all(type(key) is str for key in keys):
            return super().terms(held, named, same)
        items = named(self.items)
        terms = [] if self.owner is None else [f"{named(self.owner)}.__dict__ is {items}"]
        if not keys:
            return [*terms, f"not {items}"]
        terms.append(f"[*{items}] == {named(keys)}")  # the order, too
        if half > FEW and Loose not in values:
            return [*terms, _all_identical(f"{items}.values()", values, named)]
        return [*terms, *_of_names(items, keys, values, named)]


class Elements(Place):
    """The elements of a list."""

    def __init__(self, elements: list[Any]) -> None:
        self.elements = elements
        read: Read = functools.partial(list.copy, elements)
        super().__init__(read, functools.partial(list.__setitem__, elements, slice(None)))

    def variable(self, at: int) -> Variable:
        elements = self.elements
        return Variable(
            (id(elements), at),
            elements,
            lambda: elements[at] if at < len(elements) else Missing,
            functools.partial(list.__setitem__, elements, at),
            functools.partial(list.__delitem__, elements, at),
            lambda named: f"{named(elements)}[{at}]",
        )

    def terms(self, held: list[Any], named: Named, same: Any) -> Terms:
        if type(self.elements) is not list:
            return super().terms(held, named, same)
        elements = named(self.elements)
        if not held:
            return [f"not {elements}"]
        terms = [f"len({elements}) == {len(held)}"]
        if len(held) > FEW and Loose not in held:
            return [*terms, _all_identical(elements, held, named)]
        return terms + [
            f"{elements}[{i}] is {named(x)}" for i, x in enumerate(held) if x is not Loose
        ]


class OfFunction(Place):
    """The code of a function, and its default values: tools that reload modules replace them."""

    def __init__(self, f: Any) -> None:
        self.f = f
        super().__init__(lambda: [f.__code__, f.__defaults__, f.__kwdefaults__])

    def terms(self, held: list[Any], named: Named, same: Any) -> Terms:
        f, (code, positional, by_name) = named(self.f), held
        terms = [f"{f}.__code__ is {named(code)}"]
        if positional is None and by_name is None:  # a call that gave all asks for none
            return terms
        terms.append(f"{f}.__defaults__ is {named(positional)}")
        return [*terms, f"{f}.__kwdefaults__ is {named(by_name)}"]


class OfClass(Place):
    """The class of an object, which may be given another one."""

    def __init__(self, owner: Any) -> None:
        self.owner = owner
        super().__init__(lambda: [type(owner)], self._put_back)

    def _put_back(self, was: list[Any]) -> None:
        self.owner.__class__ = was[0]

    def terms(self, held: list[Any], named: Named, same: Any) -> Terms:
        return [f"{named(type)}({named(self.owner)}) is {named(held[0])}"]


class OfLibrary(Place):
    """What a function may read of an object of a library, by a table."""

    def __init__(self, owner: Any, followed: Followed) -> None:
        self.owner, self.followed = owner, followed
        read, write = followed.read, followed.write
        super().__init__(functools.partial(read, owner), functools.partial(write, owner))

    def variable(self, at: int) -> Variable | None:
        owner, name = self.owner, self.followed.name(self.owner, at)
        if name is None:
            return None
        return Variable(
            (id(owner), name),
            owner,
            functools.partial(getattr, owner, name, Missing),
            functools.partial(object.__setattr__, owner, name),
            functools.partial(object.__delattr__, owner, name),
            lambda named: f"{named(owner)}.{name}",
            functools.partial(self.followed.version, owner),
            functools.partial(self.followed.written, owner),
        )

    def terms(self, held: list[Any], named: Named, same: Any) -> Terms:
        terms = self.followed.terms(self.owner, held, named)
        return [term for part, term in terms if part is not Loose]


class Slots(Place):
    """The values of an object that lie in slots."""

    def __init__(self, owner: Any, slots: list[Any]) -> None:
        self.owner, self.slots = owner, slots
        super().__init__(self._values, self._put_back)

    def _values(self) -> list[Any]:
        return [_slot(slot, self.owner) for slot in self.slots]

    def _put_back(self, was: list[Any]) -> None:
        for slot, part in zip(self.slots, was, strict=True):
            if part is not Missing:
                slot.__set__(self.owner, part)
            elif _slot(slot, self.owner) is not Missing:
                slot.__delete__(self.owner)

    def variable(self, at: int) -> Variable:
        owner, slot = self.owner, self.slots[at]
        return Variable(
            (id(owner), slot.__name__),
            owner,
            functools.partial(_slot, slot, owner),
            functools.partial(slot.__set__, owner),
            functools.partial(slot.__delete__, owner),
            lambda named: f"{named(slot.__get__)}({named(owner)})",
        )

    def terms(self, held: list[Any], named: Named, same: Any) -> Terms:
        if any(part is Missing for part in held):
            return super().terms(held, named, same)
        owner = named(self.owner)
        return [
            f"{named(slot.__get__)}({owner}) is {named(part)}"
            for slot, part in zip(self.slots, held, strict=True)
            if part is not Loose
        ]


def _of_dict(items: dict[Any, Any], key: Any) -> Variable:
    of: Any = OrderedDict if issubclass(type(items), OrderedDict) else dict
    return Variable(
        (id(items), key),
        items,
        functools.partial(dict.get, items, key, Missing),
        functools.partial(of.__setitem__, items, key),
        functools.partial(of.pop, items, key, None),
        (lambda named: f"{named(items)}[{named(key)}]") if type(items) is dict else None,
    )


def entries(table: Any) -> tuple[Any, ...]:
    """The contents of a table of settings."""
    if type(table) is dict:
        return (*table, *table.values())
    return tuple(table) if type(table) in (list, tuple) else ()


def _of_names(holder: str, names: list[str], held: list[Any], named: Named) -> Terms:
    return [
        f"{name!r} not in {holder}" if part is Missing else f"{holder}[{name!r}] is {named(part)}"
        for name, part in zip(names, held, strict=False)
        if part is not Loose
    ]


def _all_identical(now: str, held: list[Any], named: Named) -> str:
    return f"all(map({named(is_)}, {now}, {named(held)}))"


def _slot(slot: Any, owner: Any) -> Any:
    try:
        return slot.__get__(owner)
    except AttributeError:
        return Missing


def _nowhere(was: list[Any]) -> None:
    """State that cannot be put back."""


__all__ = [
    "Cell",
    "Elements",
    "InClass",
    "Items",
    "Loose",
    "Missing",
    "Named",
    "Names",
    "OfClass",
    "OfFunction",
    "OfLibrary",
    "Place",
    "Slots",
    "Variable",
    "entries",
]
