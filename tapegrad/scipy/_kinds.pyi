"""Types of SciPy's functions for type checkers; at run time there is no such module.

An elementwise function of numbers returns a number, of an array an array. Arguments that are no
numbers (`out=`, `where=`) go by keyword.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array: TypeAlias = NDArray[Any]
Shape: TypeAlias = int | Sequence[int]

class _Ufunc:
    """Members of all ufuncs."""

    __name__: str
    @property
    def nin(self) -> int: ...
    @property
    def nout(self) -> int: ...
    @property
    def nargs(self) -> int: ...
    @property
    def types(self) -> list[str]: ...

class Elementwise(_Ufunc):
    """With one result: most ufuncs of scipy.special, the density of a distribution."""

    @overload
    def __call__(self, *args: float, out: None = None, **options: Any) -> np.float64: ...
    @overload
    def __call__(self, *args: complex, out: None = None, **options: Any) -> np.complex128: ...
    @overload
    def __call__(self, *args: ArrayLike, **options: Any) -> Array: ...

class ElementwisePair(_Ufunc):
    """With two results: `sici`."""

    @overload
    def __call__(
        self, *args: float, out: None = None, **options: Any
    ) -> tuple[np.float64, np.float64]: ...
    @overload
    def __call__(
        self, *args: complex, out: None = None, **options: Any
    ) -> tuple[np.complex128, np.complex128]: ...
    @overload
    def __call__(self, *args: ArrayLike, **options: Any) -> tuple[Array, Array]: ...

class ElementwiseFour(_Ufunc):
    """With four results: `airy`, `ellipj`."""

    @overload
    def __call__(
        self, *args: float, out: None = None, **options: Any
    ) -> tuple[np.float64, np.float64, np.float64, np.float64]: ...
    @overload
    def __call__(
        self, *args: complex, out: None = None, **options: Any
    ) -> tuple[np.complex128, np.complex128, np.complex128, np.complex128]: ...
    @overload
    def __call__(self, *args: ArrayLike, **options: Any) -> tuple[Array, Array, Array, Array]: ...

class Solution:
    """Result of `solve_ivp`."""

    t: Array
    y: Array
    sol: Callable[[ArrayLike], Array] | None
    t_events: list[Array] | None
    y_events: list[Array] | None
    nfev: int
    njev: int
    nlu: int
    status: int
    message: str
    success: bool
    def __getitem__(self, name: str) -> Any: ...
