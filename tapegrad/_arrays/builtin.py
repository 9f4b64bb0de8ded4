"""Functions of ours that stand for functions in C. Must not know which."""

from __future__ import annotations

from typing import Any


class Builtin(staticmethod):  # type: ignore[type-arg]
    """A function in the place of a builtin: as an attribute of a class it takes no `self`.

    Classes hold functions of NumPy's and of `math`, as in `class Row: __getitem__ = np.array`.
    """

    def __eq__(self, other: object) -> bool:
        """Whether it is the same, or the function that it stands for, as the key of a table."""
        other = other.stands_for if type(other) is Builtin else other
        return self.stands_for is other

    def __hash__(self) -> int:
        return hash(self.stands_for)

    @property
    def stands_for(self) -> Any:
        return getattr(self.__func__, "__wrapped__", self.__func__)

    def __reduce__(self) -> Any:
        return self.__name__  # pickle finds it in its module


__all__ = ["Builtin"]
