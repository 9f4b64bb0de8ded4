"""The methods and attributes of ndarray that NumPy's functions express.

Knows NumPy's names alone: each method calls the function of that name on `self`, which NumPy hands
to the traced array's protocols. Must not know tapes, slots or rules.
"""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Callable, Iterator
from functools import partial
from types import FunctionType
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import numpy as np

from tapegrad._arrays.caller import asking_place, is_by_name, is_formatting
from tapegrad._arrays.refusal import holder_of, keep_refusal, refuse, refuse_conversion
from tapegrad._core.operands import as_operand, leaves_it_to_us
from tapegrad._core.types import Index, Value
from tapegrad._core.values import is_scalar, refuse_sparse_power, snapshot, untraced
from tapegrad._errors import ConversionError, MemoryAttributeError, NotDifferentiableError
from tapegrad._numpy_versions import HAS_TOSTRING
from tapegrad._warning import is_tapegrad

Order = Literal["K", "A", "C", "F"]

# Methods whose NumPy function takes the array first, and then the same arguments.
_SAME_AS_FUNCTION = (
    "all any argmax argmin argpartition argsort cumprod "
    "cumsum diagonal dot max mean min nonzero prod put ravel repeat round searchsorted "
    "squeeze std sum swapaxes take trace var"
).split()


def _method(name: str) -> Callable[..., Any]:
    function = getattr(np, name)

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return function(self, *args, **kwargs)

    method.__name__ = name
    method.__qualname__ = f"Array.{name}"
    method.__doc__ = f"As `numpy.ndarray.{name}`, differentiable where `numpy.{name}` is."
    return method


def _of_memory(name: str, advice: str) -> Any:
    """An attribute that would expose memory; reading it raises MemoryAttributeError."""

    def attribute(_: Any) -> NoReturn:
        raise MemoryAttributeError(
            f"x.{name}: expected a plain array, got a value inside a transform, whose memory is "
            f"not the program's. {advice}"
        )

    return property(attribute)


class Flat:
    """The value of `x.flat`: the elements in C order, to read, to write and to iterate over."""

    __slots__ = ("array",)

    def __init__(self, array: Value) -> None:
        self.array = array

    def __len__(self) -> int:
        return int(self.array.size)

    def __iter__(self) -> Iterator[Any]:
        return iter(np.ravel(self.array))

    def __getitem__(self, index: Index) -> Any:
        found = np.ravel(self.array)[index]
        return found.copy() if found.shape else found

    def __setitem__(self, index: Index, value: Value) -> None:
        shape = self.array.shape
        self.array[np.unravel_index(np.arange(len(self))[index], shape)] = value

    def copy(self) -> Any:
        """A one-dimensional copy."""
        return np.ravel(self.array).copy()


class Container:
    """Members of arrays that numbers lack: length, elements in turn, a search among them.

    Python's abstract classes (`Iterable`, `Sized`) ask the class of a value for these methods, so
    that numbers have a class without them.
    """

    __slots__ = ()

    def __len__(self: Any) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        length: int = self.shape[0]
        return length

    def __iter__(self: Any) -> Iterator[Any]:
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(self.shape[0]))

    def __contains__(self: Any, value: Value) -> bool:
        return bool((self == value).any())

    def __delitem__(self, index: Index) -> None:
        raise ValueError("cannot delete array elements")


class NdarrayInterface:
    """The interface of ndarray in terms of NumPy's functions; `Array` adds the tape."""

    __slots__ = ()

    if TYPE_CHECKING:  # `Array` adds these, or they are set below

        @property
        def shape(self) -> tuple[int, ...]: ...

        @property
        def dtype(self) -> np.dtype[Any]: ...

        @property
        def tape(self) -> Any: ...

        def __getitem__(self, index: Index) -> Any: ...

        def __setitem__(self, index: Index, value: Value) -> None: ...

        # NumPy calls this for its functions; methods with this array alone call it at once.
        def __array_function__(
            self, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
        ) -> Any: ...

    # -- attributes ------------------------------------------------------------------------------

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize

    @property
    def T(self) -> Any:
        return self.__array_function__(np.transpose, (), (self,), {})

    @property
    def mT(self) -> Any:
        if len(self.shape) < 2:  # also inside vmap, where the array has an axis more
            raise ValueError("matrix transpose with ndim < 2 is undefined")
        return np.matrix_transpose(self)

    @property
    def flat(self) -> Flat:
        return Flat(self)

    @flat.setter
    def flat(self, value: Value) -> None:
        values = np.ravel(value)
        self.flat[:] = values[np.arange(self.size) % values.size]

    @property
    def base(self) -> None:
        return None

    data = _of_memory("data", "Use tapegrad.stop_gradient(x).data.")
    ctypes = _of_memory("ctypes", "Use tapegrad.stop_gradient(x).ctypes.")
    strides = _of_memory("strides", "Inside vmap no example has strides of its own.")
    flags = _of_memory("flags", "Inside vmap no example has flags of its own.")

    @property
    def device(self) -> str:
        return "cpu"

    # -- methods with a signature of their own ---------------------------------------------------

    def reshape(self, *shape: Any, **kwargs: Any) -> Any:
        """As `numpy.ndarray.reshape`: the sizes as one tuple or one by one; None: as they are."""
        wanted: Any = shape
        if len(shape) == 1:
            wanted = shape[0]
            if wanted is None:
                wanted = self.shape
            elif isinstance(wanted, (int, np.integer)):
                wanted = shape
        elif not shape:
            return np.reshape(self, **kwargs)
        return self.__array_function__(np.reshape, (), (self, wanted), kwargs)

    def transpose(self, *axes: Any) -> Any:
        """As `numpy.ndarray.transpose`: the axes as one tuple, one by one, or none."""
        wanted: Any = axes or None
        if len(axes) == 1 and not isinstance(axes[0], (int, np.integer)):
            wanted = axes[0]
        return self.__array_function__(np.transpose, (), (self, wanted), {})

    def copy(self, order: Order = "C") -> Any:
        """As `numpy.ndarray.copy`: in C order, whereas `numpy.copy` keeps the array's order.

        The copy of a number is a number, which an in-place operation does not change, whereas
        `numpy.copy` makes a 0-d array of it.
        """
        return snapshot(self) if is_scalar(self) else np.copy(self, order)

    def flatten(self, order: Order = "C") -> Any:
        """A one-dimensional copy."""
        return np.ravel(self, order).copy()

    def item(self, *index: Index) -> Any:
        """The single element (or the one at an index), still traced: a number."""
        if not index:
            if self.size != 1:
                raise ValueError("can only convert an array of size 1 to a scalar")
            return self[(0,) * len(self.shape)]
        where = index[0] if len(index) == 1 else index
        if isinstance(where, tuple):
            return self[where]
        return self.reshape(-1)[where]

    def tolist(self) -> Any:
        """Nested lists of traced numbers."""
        return [self[i].tolist() for i in range(self.shape[0])] if self.shape else self[()]

    def conjugate(self, *out: Value) -> Any:
        """As `numpy.ndarray.conjugate`: of a real array itself, and no copy as numpy.conjugate."""
        return np.conjugate(self, *out) if out or self.dtype.kind == "c" else self

    conj = conjugate

    def clip(self, min: Value = None, max: Value = None, out: Value = None, **kwargs: Any) -> Any:
        """As `numpy.ndarray.clip`."""
        options = kwargs if out is None else {**kwargs, "out": out}
        return np.clip(self, min, max, **options)

    def compress(self, condition: Value, axis: Any = None, out: Value = None) -> Any:
        """As `numpy.ndarray.compress`."""
        options = {} if out is None else {"out": out}
        return np.compress(condition, self, axis, **options)

    def choose(self, *_: Any, **__: Any) -> NoReturn:
        """Always raises, as for every floating array: only integers select choices."""
        raise TypeError("x.choose(choices): expected an array of integers, got a floating one.")

    def to_device(self, device: str, /, *, stream: Any = None) -> Any:
        """The array itself, for the only device, "cpu"; ValueError for another."""
        if device != "cpu":
            raise ValueError(f"Unsupported device: {device!r}. Expected 'cpu'.")
        return self

    def __array_namespace__(self, *, api_version: Any = None) -> Any:
        """`tapegrad.numpy`, which follows the same version of the Array API standard as NumPy."""
        np.empty(0).__array_namespace__(api_version=api_version)  # raises for unknown versions
        # Imported by name on demand, because that namespace imports this package.
        return importlib.import_module("tapegrad.numpy")

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: Any = None,
        dl_device: Any = None,
        copy: Any = None,
    ) -> NoReturn:
        """Always raises: another library would see the memory without the derivative."""
        refuse_conversion(self, "dlpack")

    def __dlpack_device__(self) -> tuple[int, int]:
        """The type and number of the device in DLPack's words: the CPU."""
        return (1, 0)

    def fill(self, value: Value) -> None:
        """Set every element; the result no longer depends on the old values."""
        self[...] = value

    def sort(self, axis: int = -1, *args: Any, **kwargs: Any) -> None:
        """Sort in place; `kind` and `order` may come by position."""
        self[...] = np.sort(self, axis, *args, **kwargs)

    def partition(self, kth: Any, axis: int = -1, *args: Any, **kwargs: Any) -> None:
        """Partition in place; `kind` and `order` may come by position."""
        self[...] = np.partition(self, kth, axis, *args, **kwargs)

    def resize(self, *_: Any, **__: Any) -> NoReturn:
        """Always raises, as NumPy does for an array with other references."""
        raise ValueError(
            "x.resize(shape): cannot resize a traced array in place. np.resize(x, shape) makes "
            "another that repeats x, np.pad one that ends in zeros."
        )

    # -- protocols of the language ---------------------------------------------------------------

    def __float__(self) -> float:
        if is_formatting():
            return float(untraced(self))
        return refuse_conversion(self, "float")

    def __complex__(self) -> complex:
        refuse_conversion(self, "complex")

    def __index__(self) -> int:
        refuse_sparse_power()
        refuse_conversion(self, "index")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if leaves_it_to_us():
            return np.empty((), object)
        return refuse_conversion(self, "array")

    def __hash__(self) -> int:
        text = (
            "hash(x), as for the key of a dict or an element of a set: unhashable type: a value "
            "inside a transform, like every array. Use a name or a position as the key."
        )
        if is_tapegrad(sys._getframe(1).f_code.co_filename):  # it asks whether there is a hash
            raise ConversionError(text)
        error = partial(ConversionError, text)
        return keep_refusal(holder_of(self), asking_place(), error, not self.shape)

    def __reduce__(self) -> NoReturn:
        refuse(self, "pickle.dumps(x)", "Pickle tapegrad.stop_gradient(x).")

    def __dask_tokenize__(self) -> NoReturn:
        """Always raises: what a graph of Dask holds is computed later, without the derivative."""
        refuse(
            self,
            "a Dask array made with x",
            "Call NumPy's functions and operators on the Dask array and x, not those of "
            "dask.array; for plain numbers use tapegrad.stop_gradient(x).",
        )

    def tobytes(self, *_: Any, **__: Any) -> NoReturn:
        """Always raises: bytes carry no derivative."""
        refuse(self, "x.tobytes()", "Use tapegrad.stop_gradient(x).tobytes().")

    if HAS_TOSTRING:
        tostring = tobytes

    def tofile(self, *_: Any, **__: Any) -> NoReturn:
        """Always raises: a file carries no derivative."""
        refuse(self, "x.tofile()", "Use tapegrad.stop_gradient(x).tofile(...).")

    def dump(self, *_: Any, **__: Any) -> NoReturn:
        """Always raises: a file carries no derivative."""
        refuse(self, "x.dump()", "Use tapegrad.stop_gradient(x).dump(...).")

    dumps = dump

    def setflags(self, *_: Any, **__: Any) -> NoReturn:
        """Always raises: a program cannot change the memory of a traced array."""
        raise NotDifferentiableError(
            "x.setflags(): expected a plain array, got a value inside a transform, whose memory "
            "is not the program's. Copy x where it must not change."
        )

    def _reinterpreted(self, *_: Any, **__: Any) -> NoReturn:
        """Always raises: bytes carry no derivative."""
        raise NotDifferentiableError(
            "x.byteswap(), x.getfield() or x.setfield(): not differentiable (it reinterprets "
            "memory). Use x.astype(dtype), x.real and x.imag, or tapegrad.stop_gradient(x)."
        )

    byteswap = getfield = setfield = _reinterpreted

    def __copy__(self) -> Any:
        return self.copy("K")

    def __deepcopy__(self, _memo: dict[int, Any]) -> Any:
        return self.copy("K")

    def __round__(self, decimals: int | None = None) -> Any:
        rounded = np.round(self, decimals or 0)
        return int(rounded) if decimals is None else rounded

    def __floor__(self) -> int:
        return math.floor(np.floor(self))

    def __ceil__(self) -> int:
        return math.ceil(np.ceil(self))

    def __trunc__(self) -> int:
        return int(np.trunc(self))

    def __invert__(self) -> Any:
        return np.invert(self)  # NumPy's TypeError, as for every floating array

    def __divmod__(self, other: Value) -> Any:
        return np.floor_divide(self, other), np.remainder(self, other)

    def __rdivmod__(self, other: Value) -> Any:
        return np.floor_divide(other, self), np.remainder(other, self)


class _Absent:
    """An attribute of arrays that numbers lack."""

    def __set_name__(self, _kind: type, name: str) -> None:
        self.name = name

    def __get__(self, x: Any, _kind: Any = None) -> Any:
        if x is None:
            return self
        raise AttributeError(f"{x.dtype.type.__name__!r} object has no attribute {self.name!r}")


class _NotIterable(_Absent):
    """The `__iter__` of numbers: None for Python, which then says so; absent for `hasattr`."""

    def __get__(self, x: Any, kind: Any = None) -> Any:
        return super().__get__(x, kind) if x is None or is_by_name(sys._getframe(1)) else None


class _Unlisted(type):
    """The class of `NumberInterface` and its heirs: no list of their bases shows it.

    `isinstance(x, Iterable)` looks there for an `__iter__`.
    """

    @property
    def __mro__(cls) -> Any:
        return tuple([kind for kind in type.mro(cls) if kind is not NumberInterface])


class NumberInterface(metaclass=_Unlisted):
    """Members that NumPy's numbers lack of the interface of arrays.

    They have brackets (`x[()]`, `x[None]`), and are not iterable. Python takes what has brackets
    for iterable, unless its class has an `__iter__` which is None.
    """

    __slots__ = ()

    __iter__ = _NotIterable()
    dot, argpartition, partition, mT = _Absent(), _Absent(), _Absent(), _Absent()  # noqa: N815


def give_own_code(kind: type, base: type) -> None:
    """Give a class the methods of its base as copies.

    The interpreter adapts the code of a function to the class of what it meets, and does so again
    where another comes, so that programs with arrays and numbers would pay for each change.
    """
    for name, held in list(vars(base).items()):
        if isinstance(held, FunctionType) and name not in vars(kind):
            code, given = held.__code__.replace(), (held.__defaults__, held.__closure__)
            made = FunctionType(code, held.__globals__, name, *given)
            made.__kwdefaults__ = held.__kwdefaults__
            made.__qualname__ = held.__qualname__
            made.__doc__ = held.__doc__
            setattr(kind, name, made)


def _operator(name: str, function: Callable[..., Any], *, swap: bool = False) -> None:
    def method(self: Any, other: Value) -> Any:
        if (
            getattr(type(other), "__array_ufunc__", None) is None
            and as_operand(other) is NotImplemented
        ):
            return NotImplemented  # the other's class defines the operator itself
        return function(other, self) if swap else function(self, other)

    method.__name__ = name
    method.__qualname__ = f"Array.{name}"
    setattr(NdarrayInterface, name, method)


def _define_operators() -> None:
    operators = {
        "floordiv": np.floor_divide,
        "mod": np.remainder,
        # Operators on bits raise NumPy's TypeError, as for every floating array.
        "and": np.bitwise_and,
        "or": np.bitwise_or,
        "xor": np.bitwise_xor,
        "lshift": np.left_shift,
        "rshift": np.right_shift,
    }
    for name, function in operators.items():
        _operator(f"__{name}__", function)
        _operator(f"__r{name}__", function, swap=True)
    for name in _SAME_AS_FUNCTION:
        setattr(NdarrayInterface, name, _method(name))


_define_operators()
