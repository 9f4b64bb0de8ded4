"""`Array`, the traced ndarray or number: its attributes, writes and conversions.

Knows the tape. Must not know transforms, views, or single rules: whatever has a rule reaches it
through NumPy's two protocols. `ufuncs`, `functions`, `reads` and `operators` add to its class.

A traced array is always floating or complex; results of other dtypes (comparisons, argmax, floor)
are untraced arrays. A write gives the array a new slot, so that the tape stays functional.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NoReturn

import numpy as np

from tapegrad._arrays.interface import Container, NdarrayInterface, NumberInterface
from tapegrad._arrays.masked import MaskedElements, holds_condition, write
from tapegrad._arrays.refusal import of_extension, refuse, refuse_conversion
from tapegrad._arrays.reprs import described
from tapegrad._arrays.writes import add_to_part, frozen_index, write_part
from tapegrad._core.entry import stand_for
from tapegrad._core.forms import UNSUPPORTED_MODULES, linear
from tapegrad._core.rule import Rule
from tapegrad._core.types import Index, Value
from tapegrad._core.values import (
    Traced,
    cast,
    class_for_holder,
    class_shown,
    is_basic,
    untraced,
)
from tapegrad._errors import NotDifferentiableError

Casting = Literal["no", "equiv", "safe", "same_kind", "unsafe"]


class Array(Traced, NdarrayInterface):
    """An array whose history is on a tape; it behaves as the ndarray that it stands for.

    Transforms make it; programs only meet it. `isinstance(x, tapegrad.Array)` tells that a value
    is being differentiated; `isinstance(x, np.ndarray)`, `isinstance(x, float)` and np.isscalar
    answer as for its value. Its attributes and methods are those of ndarray; the untraced value
    comes from `tapegrad.stop_gradient(x)` alone. `float(x)`, `np.asarray(x)` and writes of x into
    a plain array raise ConversionError.

    Attributes
    ----------
    shape, ndim, size
        As of `numpy.ndarray`.
    dtype : numpy.dtype
        Always floating or complex.

    See Also
    --------
    stop_gradient : The value.

    Examples
    --------
    >>> import tapegrad
    >>> def loss(x):
    ...     print(repr(x))
    ...     return (x * x).sum()
    >>> tapegrad.grad(loss)(np.ones(2))
    Array([1., 1.], float64, traced by grad(loss))
    array([2., 2.])
    """

    __slots__ = ()

    # Calls and reads, which make views; the files of these names set them.
    __array_ufunc__: ClassVar[Callable[..., Any]]  # `ufuncs`
    __array_function__: ClassVar[Callable[..., Any]]  # `functions`
    __getitem__: ClassVar[Callable[..., Any]]  # `reads`
    _add_any: ClassVar[Callable[..., Any]]  # `operators`: x + y where there is no shorter path
    _mul_any: ClassVar[Callable[..., Any]]
    _pow_any: ClassVar[Callable[..., Any]]

    if TYPE_CHECKING:
        parent: Any  # of a view: the array that it was made from
        root: Any  # and the one at the end, which is no view

    @property  # type: ignore[misc]  # object's has a setter, ours needs none
    def __class__(self) -> Any:
        """That of the value if it is NumPy's: programs and NumPy's own code ask isinstance.

        Our own code that needs memory, or a number as it is, asks for the `type`: see `is_ndarray`
        and `is_plain_number`.
        """
        shown = class_for_holder(type(self))
        if shown is not None:
            return shown
        value = self._value
        kind = type(value)
        if kind is np.ndarray or kind is np.float64:  # the frequent cases
            return kind
        return class_shown(value) or type(self)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.spec.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.spec.dtype

    @property
    def ndim(self) -> int:
        return self.spec.ndim

    @property
    def size(self) -> int:
        return self.spec.size

    @property
    def real(self) -> Any:
        return np.real(self) if self.dtype.kind == "c" else self

    @real.setter
    def real(self, value: Value) -> None:
        self.real[...] = value

    @property
    def imag(self) -> Any:
        return np.imag(self)

    @imag.setter
    def imag(self, value: Value) -> None:
        if self.dtype.kind != "c":
            raise TypeError("array does not have imaginary part to set")
        self.imag[...] = value

    @property
    def strides(self) -> tuple[int, ...]:
        return tuple(untraced(self).strides)

    @property
    def flags(self) -> Any:
        return untraced(self).flags

    # -- NumPy's protocols -----------------------------------------------------------------------

    # -- indexing and writing --------------------------------------------------------------------

    def add_part(self, index: Index, value: Value) -> None:
        """`self[index] += value`, as one entry, in a replay that made this array.

        Parameters
        ----------
        index : index
            As in brackets.
        value : array_like
            What is added.
        """
        if self.is_view or not isinstance(value, Traced) or value.tape is not self.tape:
            self[index] += value
        else:
            add_to_part(self, index, value)

    def rebind(self, new: Traced) -> None:
        """Give this array the state of another one, as an in-place operation does.

        Parameters
        ----------
        new : Array
            The other one, on the same tape or on one within.
        """
        self.tape = new.tape
        self._value = new._value
        self.slot = new.slot

    def astype(
        self,
        dtype: Any,
        order: str = "K",
        casting: Casting = "unsafe",
        subok: bool = True,
        copy: bool = True,
    ) -> Any:
        """As `numpy.ndarray.astype`; integer and boolean results are untraced arrays."""
        target = np.dtype(dtype)
        if not np.can_cast(self.dtype, target, casting):
            raise TypeError(f"Cannot cast array data from {self.dtype} to {target} by {casting!r}")
        if target.kind in "biu":
            return untraced(self).astype(target)
        if target.kind not in "fc":
            raise NotDifferentiableError(
                f"x.astype({target}): not differentiable (it would lose the derivative). Convert "
                "tapegrad.stop_gradient(x) instead."
            )
        if target == self.dtype and not copy:
            return self
        return ASTYPE.apply_bound([self], {"dtype": target})

    def view(self, *args: Any, **kwargs: Any) -> Any:
        """`x.view()` without arguments; other dtypes or classes would reinterpret memory."""
        kind = kwargs.get("type", args[0] if args else None)
        if isinstance(kind, type) and issubclass(kind, np.ndarray):
            refuse(self, f"x.view({kind.__name__})", "Stay with arrays.")
        if args or kwargs:
            raise NotDifferentiableError(
                "x.view(dtype): not differentiable (it reinterprets memory). Use x.astype(dtype)."
            )
        return self[...]

    # -- conversions that keep the derivative, or need none --------------------------------------

    def __bool__(self) -> bool:
        return bool(untraced(self))

    def __int__(self) -> int:
        return int(untraced(self))  # piecewise constant, as np.trunc

    def __repr__(self) -> str:
        return described("Array", self)

    def __str__(self) -> str:
        return str(untraced(self))

    def __format__(self, spec: str) -> str:
        return format(untraced(self), spec)


class Elements(Container, Array):
    """A traced array."""

    __slots__ = ()

    @property
    def shape(self) -> tuple[int, ...]:
        return self.spec.shape

    @shape.setter
    def shape(self, wanted: Any) -> None:
        """Give the array another shape in place; its views would not know."""
        made: Any = np.reshape(self, wanted)
        if made.shape == self.shape:
            return
        if self.is_view or any(
            getattr(type(x), "is_view", False) and x.parent is self and x is not made
            for x in gc.get_referrers(self)
        ):
            raise NotDifferentiableError(
                f"x.shape = {wanted}: expected a traced array that is no view and has none. Write "
                "x = x.reshape(shape)."
            )
        self._value, self.slot, self.spec = made._value, made.slot, made.spec

    def __setitem__(self, index: Index, value: Value) -> None:
        index = frozen_index(index)
        if type(value) is MaskedElements or not is_basic(index) and holds_condition(index):
            write(self, index, value)
        else:
            write_part(self, index, value)


class ZeroDimensional(Elements):
    """A traced array without axes, as np.copy makes it: it can be written to, and is no number."""

    __slots__ = ()


class Number(NumberInterface, Array):
    """A traced number, which NumPy's arithmetic gives for arrays without axes."""

    __slots__ = ()

    @property
    def is_integer(self) -> Callable[[], bool]:
        """As of numpy.floating: whether the value is a whole number."""
        return untraced(self).is_integer

    @property
    def hex(self) -> Callable[[], str]:
        """As of numpy.floating: a text takes the value."""
        return untraced(self).hex

    @property
    def as_integer_ratio(self) -> Callable[[], NoReturn]:
        """As of numpy.floating, but it raises: integers carry no derivative."""
        _ = untraced(self).as_integer_ratio  # complex numbers have none
        return lambda: refuse_conversion(self, "ratio")


for _kind in (Elements, ZeroDimensional, Number):
    _kind.__name__ = _kind.__qualname__ = "Array"


stand_for(Number, Elements, ZeroDimensional)


def _astype(x: Value, dtype: np.dtype[Any]) -> Any:
    return x.astype(dtype)


ASTYPE = linear(_astype, lambda g, _out, x, dtype: cast(g, x.dtype), name="astype", batch="align")


def no_rule(function: Any) -> NotDifferentiableError:
    """The error of a function without a derivative."""
    name = Rule(function).name
    reason = UNSUPPORTED_MODULES.get(getattr(function, "__module__", None) or "")
    if reason is not None:
        return NotDifferentiableError(f"{name}: not differentiable ({reason}).")
    compiled = of_extension(name)
    return NotDifferentiableError(
        f"{name}: no derivative rule for it. {compiled}."
        if compiled
        else f"{name}: no derivative rule for it yet. Write it in terms of functions that have "
        "one, declare one with tapegrad.primitive, or pass tapegrad.stop_gradient(x) for a "
        "constant."
    )
