"""Functions of ours that stand for functions in C. Must not know which."""

from __future__ import annotations

from typing import Any


class Builtin(staticmethod):  # type: ignore[type-arg]
    """A function in the place of a builtin: as an attribute of a class it takes no `self`.

    Classes hold functions of NumPy's and of `math`, as in `class Row: __getitem__ = np.array`.
    """

    def __reduce__(self) -> Any:
        return self.__name__  # pickle finds it in its module


__all__ = ["Builtin"]
