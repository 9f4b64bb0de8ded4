"""Lists and dicts of parameters. Other values than tensors may be among them.

Knows `Module` and `Parameter`. Must not know layers.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, KeysView, Mapping
from typing import Any, NoReturn, Self, SupportsIndex, overload

from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.nn.containers.modules import pairs_of, place_of
from tapegrad.torch.nn.module.module import Module
from tapegrad.torch.nn.parameter import Parameter


class ParameterList(Module):
    """A list of parameters, which are parameters of this module; tensors become parameters.

    values (iterable): The parameters; other values than tensors may be among them.

    >>> torch.nn.ParameterList([torch.ones(2, 3)])
    ParameterList(  (0): Parameter containing: [torch.float32 of size 2x3])
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def _name_at(self, index: SupportsIndex) -> str:
        return str(place_of(index, len(self)))

    @overload
    def __getitem__(self, index: SupportsIndex) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: SupportsIndex | slice) -> Any:
        if not isinstance(index, slice):
            return getattr(self, self._name_at(index))
        made = type(self)()
        for place in range(*index.indices(len(self))):
            made.append(self[place])
        return made

    def __setitem__(self, index: SupportsIndex, param: Any) -> None:
        setattr(self, self._name_at(index), _as_parameter(param))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter([self[place] for place in range(len(self))])

    def __iadd__(self, parameters: Iterable[Any]) -> Self:
        return self.extend(parameters)

    def append(self, value: Any) -> Self:
        """Add a value at the end; a tensor becomes a parameter.

        value: The value.
        -> ParameterList: Itself.
        """
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values: Any) -> Self:
        """Add values at the end; tensors become parameters.

        values (iterable): The values.
        -> ParameterList: Itself.
        TypeError: For what is not iterable, and for a tensor.
        """
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(
                "ParameterList.extend should be called with an iterable, but got "
                f"{type(values).__name__}"
            )
        for value in values:
            self.append(value)
        return self

    def extra_repr(self) -> str:
        return "\n".join(
            _line(str(place), value, str(getattr(value, "dtype", "")))
            for place, value in enumerate(self)
        )

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """A dict of parameters, which are parameters of this module; tensors become parameters.

    parameters (mapping or iterable): Parameters by name, or pairs of a name and one; other values
        than tensors may be among them.

    >>> weights = torch.nn.ParameterDict({"w": torch.ones(2)})
    >>> list(weights.keys())
    ['w']
    """

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key: str) -> Any:
        return getattr(self, _name(key))

    def __setitem__(self, key: str, value: Any) -> None:
        self._keys[key] = None
        setattr(self, _name(key), _as_parameter(value))

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, _name(key))

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._keys)

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def copy(self) -> ParameterDict:
        """Another dict of the same parameters.

        -> ParameterDict: The copy.
        """
        return ParameterDict(OrderedDict(self.items()))

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The value of a key, which is set to `default` if it was not there.

        default: What is set.
        """
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Remove all values."""
        for key in list(self._keys):
            del self[key]

    def pop(self, key: str) -> Any:
        """Remove a value and return it.

        AttributeError: Where there is none.
        """
        found = self[key]
        del self[key]
        return found

    def popitem(self) -> tuple[str, Any]:
        """Remove the last value and return it with its name.

        -> tuple: The name and the value.
        KeyError: Where there is none.
        """
        key, _ = self._keys.popitem()
        self._keys[key] = None
        return key, self.pop(key)

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a name, or `default`.

        default: What is returned where there is none.
        """
        if key not in self:
            return default
        return self[key]

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """A dict with the same value for several names.

        keys (iterable of str): The names.
        default: The value.
        -> ParameterDict: The dict.
        """
        return ParameterDict((key, default) for key in keys)

    def keys(self) -> KeysView[str]:
        """The names."""
        return self._keys.keys()

    def items(self) -> Iterator[tuple[str, Any]]:
        """Names and values.

        -> iterator: Pairs, in order.
        """
        return ((key, self[key]) for key in self._keys)

    def values(self) -> Iterator[Any]:
        """The values.

        -> iterator: The values, in order.
        """
        return (self[key] for key in self._keys)

    def update(self, parameters: Any) -> None:
        """Add values from a mapping or pairs; those of a plain dict in the order of their names.

        parameters (mapping or iterable): Values by name, or pairs of a name and one.
        TypeError: For what is not iterable, or has elements that are not.
        ValueError: For elements that are no pairs.
        """
        ordered = isinstance(parameters, (OrderedDict, ParameterDict))
        if isinstance(parameters, Mapping) and not ordered:
            parameters = sorted(parameters.items())
        for key, value in pairs_of(parameters, ParameterDict, "ParameterDict", "ParametersDict"):
            self[key] = value

    def extra_repr(self) -> str:
        return "\n".join(
            _line(key, value, value.type() if isinstance(value, Tensor) else "")
            for key, value in self.items()
        )

    def __call__(self, input: Any) -> NoReturn:
        raise RuntimeError("ParameterDict should not be called.")

    def __or__(self, other: ParameterDict) -> ParameterDict:
        made = self.copy()
        made.update(other)
        return made

    def __ror__(self, other: ParameterDict) -> ParameterDict:
        made = other.copy()
        made.update(self)
        return made

    def __ior__(self, other: ParameterDict) -> Self:
        self.update(other)
        return self


def _as_parameter(value: Any) -> Any:
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        return Parameter(value)
    return value


def _name(key: object) -> str:
    if not isinstance(key, str):
        raise TypeError(
            "Index given to ParameterDict cannot be used as a key as it is not a string (type is "
            f"'{type(key).__name__}'). Open an issue on github if you need non-string keys."
        )
    return key


def _line(word: str, value: Any, kind: str) -> str:
    """Repr of one value in a container."""
    if not isinstance(value, Tensor):
        return f"  ({word}): Object of type: {type(value).__name__}"
    what = "Parameter" if isinstance(value, Parameter) else "Tensor"
    size = "x".join(map(str, value.shape))
    return f"  ({word}): {what} containing: [{kind} of size {size}]"


__all__ = ["ParameterDict", "ParameterList"]
