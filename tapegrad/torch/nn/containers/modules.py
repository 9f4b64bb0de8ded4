"""Modules that hold modules.

Knows `Module`.
"""

from __future__ import annotations

import itertools
import operator
from collections import OrderedDict
from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from typing import Any, Self, SupportsIndex, overload

from tapegrad._warning import warn
from tapegrad.torch.nn.module.module import Module, indented


class _Listed(Module):
    """Modules in an order; those added later have the names "0", "1", ..."""

    def _name_at(self, index: SupportsIndex) -> str:
        return list(self._modules)[place_of(index, len(self))]

    def _of_slice(self, items: list[tuple[str, Any]]) -> Self:
        raise NotImplementedError

    @overload
    def __getitem__(self, index: SupportsIndex) -> Module: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: SupportsIndex | slice) -> Module | Self:
        if isinstance(index, slice):
            return self._of_slice(list(self._modules.items())[index])
        module: Module = self._modules[self._name_at(index)]
        return module

    def __setitem__(self, index: SupportsIndex, module: Any) -> None:
        setattr(self, self._name_at(index), module)

    def __delitem__(self, index: SupportsIndex | slice) -> None:
        names = list(self._modules)[index] if isinstance(index, slice) else [self._name_at(index)]
        for name in names:
            delattr(self, name)
        rest = list(self._modules.values())
        self._modules.clear()
        self._modules.update({str(place): module for place, module in enumerate(rest)})

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def append(self, module: Any) -> Self:
        """Add a module at the end.

        -> Module: Itself.
        """
        self.add_module(str(len(self)), module)
        return self

    def _make_place(self, index: int, module: Any) -> None:
        """Put a module under the name of a place, and those from there on one place further."""
        for place in range(len(self._modules), index, -1):
            self._modules[str(place)] = self._modules[str(place - 1)]
        self._modules[str(index)] = module

    @overload
    def pop(self, key: SupportsIndex) -> Module: ...
    @overload
    def pop(self, key: slice) -> Self: ...
    def pop(self, key: SupportsIndex | slice) -> Module | Self:
        """Remove a module, or those of a slice, and return it.

        key (int or slice): Which.
        -> Module: What was removed.
        IndexError: Beyond the ends.
        """
        found = self[key]
        del self[key]
        return found


class Sequential(_Listed):
    """Modules called one after another, each with what the one before returned.

    *args (Module or OrderedDict): The modules, or one OrderedDict of them by name.

    >>> torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
    Sequential(
      (0): Linear(in_features=2, out_features=3, bias=True)
      (1): ReLU()
    )
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            for place, module in enumerate(args):
                self.add_module(str(place), module)

    def forward(self, input: Any) -> Any:
        value = input
        for module in self._modules.values():
            value = module(value)
        return value

    def _of_slice(self, items: list[tuple[str, Any]]) -> Self:
        return type(self)(OrderedDict(items))

    def extend(self, sequential: Iterable[Any]) -> Self:
        """Add modules at the end.

        sequential (iterable): The modules.
        -> Sequential: Itself.
        """
        for module in sequential:
            self.append(module)
        return self

    def insert(self, index: int, module: Any) -> Self:
        """Add a module before another one.

        -> Sequential: Itself.
        IndexError: Beyond the end.
        AssertionError: For what is no module.
        """
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        count = len(self)
        if not -count <= index <= count:
            raise IndexError(f"Index out of range: {index}")
        self._make_place(index + count if index < 0 else index, module)
        return self

    def __add__(self, other: Any) -> Sequential:
        return Sequential().extend(self).extend(_sequential(other))

    def __iadd__(self, other: Any) -> Self:
        return self.extend(list(_sequential(other)))

    def __mul__(self, other: Any) -> Sequential:
        return Sequential(*list(self) * self._factor(other))

    __rmul__ = __mul__

    def __imul__(self, other: Any) -> Self:
        return self.extend(list(self) * (self._factor(other) - 1))

    def _factor(self, other: Any) -> int:
        if not isinstance(other, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(other)}")
        if other <= 0:
            raise ValueError(f"Non-positive multiplication factor {other} for {type(self)}")
        return other


def _sequential(other: Any) -> Sequential:
    if not isinstance(other, Sequential):
        raise ValueError(
            f"add operator supports only objects of Sequential class, but {type(other)} is given."
        )
    return other


class ModuleList(_Listed):
    """A list of modules, which are its submodules.

    >>> torch.nn.ModuleList([torch.nn.Linear(2, 2) for _ in range(3)])
    ModuleList(
      (0-2): 3 x Linear(in_features=2, out_features=2, bias=True)
    )
    """

    def __init__(self, modules: Iterable[Any] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def _name_at(self, index: SupportsIndex) -> str:
        return str(place_of(index, len(self)))

    def _of_slice(self, items: list[tuple[str, Any]]) -> Self:
        return type(self)(module for _, module in items)

    def insert(self, index: int, module: Any) -> None:
        """Add a module before another one.

        index: The place.
        module (Module): The module.
        """
        self._make_place(index, module)

    def extend(self, modules: Iterable[Any]) -> Self:
        """Add modules at the end.

        -> ModuleList: Itself.
        TypeError: For what is not iterable.
        """
        if not isinstance(modules, Iterable):
            raise TypeError(
                "ModuleList.extend should be called with an iterable, but got "
                f"{type(modules).__name__}"
            )
        start = len(self)
        for place, module in enumerate(modules, start):
            self.add_module(str(place), module)
        return self

    def __add__(self, other: Iterable[Any]) -> ModuleList:
        return ModuleList(itertools.chain(self, other))

    def __iadd__(self, modules: Iterable[Any]) -> Self:
        return self.extend(modules)

    def __repr__(self) -> str:
        if not len(self):
            return f"{self._get_name()}()"
        lines = []
        start = 0
        for text, equal in itertools.groupby(map(repr, self)):
            count = len(list(equal))
            places = f"({start}): " if count == 1 else f"({start}-{start + count - 1}): {count} x "
            lines.append(indented(places + text, blank=True))
            start += count
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"


class ModuleDict(Module):
    """A dict of modules, which are its submodules.

    modules (mapping or iterable): Modules by name, or pairs of a name and one.

    >>> layers = torch.nn.ModuleDict({"first": torch.nn.Linear(2, 2)})
    >>> layers["first"]
    Linear(in_features=2, out_features=2, bias=True)
    """

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def update(self, modules: Any) -> None:
        """Add modules from a mapping or pairs.

        modules (mapping or iterable): Modules by name, or pairs of a name and one.
        TypeError: For what is not iterable, or has elements that are not.
        ValueError: For elements that are no pairs.
        """
        for name, module in pairs_of(modules, ModuleDict, "ModuleDict"):
            self[name] = module

    def __getitem__(self, key: str) -> Module:
        return self._modules[key]

    def __setitem__(self, key: str, module: Any) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Remove all modules."""
        self._modules.clear()

    def pop(self, key: str) -> Module:
        """Remove a module and return it.

        key: Its name.
        -> Module: The module.
        KeyError: Where there is none.
        """
        found = self[key]
        del self[key]
        return found

    def keys(self) -> KeysView[str]:
        """The names."""
        return self._modules.keys()

    def values(self) -> ValuesView[Module]:
        """The modules.

        -> dict_values: The modules, in order.
        """
        return self._modules.values()

    def items(self) -> ItemsView[str, Module]:
        """Names and modules.

        -> dict_items: Pairs, in order.
        """
        return self._modules.items()


def place_of(index: SupportsIndex, count: int) -> int:
    """An index as a place from the start; IndexError beyond the ends."""
    place = operator.index(index)
    if not -count <= place < count:
        raise IndexError(f"index {place} is out of range")
    return place % count


def pairs_of(given: Any, kind: type, word: str, method: str = "") -> Iterator[tuple[Any, Any]]:
    """Names and values of a mapping, or of an iterable of pairs."""
    if not isinstance(given, (Iterable, kind)):
        raise TypeError(
            f"{method or word}.update should be called with an iterable of key/value pairs, but "
            f"got {type(given).__name__}"
        )
    known: Any = given
    if isinstance(given, (Mapping, kind)):
        yield from list(known.items())
        return
    for place, pair in enumerate(known):
        if not isinstance(pair, Iterable):
            raise TypeError(
                f"{word} update sequence element #{place} should be Iterable; is"
                f"{type(pair).__name__}"
            )
        parts: Any = pair
        if len(parts) != 2:
            raise ValueError(
                f"{word} update sequence element #{place} has length {len(parts)}; 2 is required"
            )
        yield parts[0], parts[1]


class Container(Module):
    """A module made of modules given by name.

    **kwargs (Module): The modules.
    FutureWarning: At each construction.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     torch.nn.Container(first=torch.nn.Tanh())
    Container(
      (first): Tanh()
    )
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__()
        warn(
            "`nn.Container` is deprecated. All of its functionality is now implemented in "
            "`nn.Module`. Subclass that instead.",
            FutureWarning,
        )
        for name, module in kwargs.items():
            self.add_module(name, module)


__all__ = ["Container", "ModuleDict", "ModuleList", "Sequential"]
