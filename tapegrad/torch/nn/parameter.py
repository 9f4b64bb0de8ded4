"""`torch.nn.parameter`: parameters and buffers, also such as have no shape yet.

Knows tensors. Must not know modules.
"""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn, Self

import numpy as np

from tapegrad._core.types import Value
from tapegrad.torch._dtypes import as_numpy, default_float, device, dtype, of_numpy, require_cpu
from tapegrad.torch._graph.node import new
from tapegrad.torch._graph.sharing import share
from tapegrad.torch._graph.versions import share_version
from tapegrad.torch._tensor.tensor import LEAF, Tensor, of_value, plain_of


class _Marked(type):
    """The type of classes whose instances may be of another class, with a mark."""

    _mark: str

    def __instancecheck__(cls, instance: object) -> bool:
        mark = cls.__dict__.get("_mark")  # subclasses have none
        if mark is not None and isinstance(instance, Tensor) and mark in instance.__dict__:
            return True
        return type.__instancecheck__(cls, instance)


class Parameter(Tensor, metaclass=_Marked):
    """A tensor that becomes a parameter of a module when it becomes its attribute.

    Of a tensor of a subclass the parameter is of that class, and `isinstance(_, Parameter)` knows
    it.

    data (Tensor): Whose memory the parameter shares; an empty one unless given.
    RuntimeError: For a tensor of integers or bools that requires grad.
    TypeError: If `requires_grad` is no bool.

    >>> torch.nn.Parameter(torch.tensor([1.0, 2.0]))
    Parameter containing:
    tensor([1., 2.], requires_grad=True)
    """

    __slots__ = ()
    _mark = "_is_param"

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Self:
        if not isinstance(requires_grad, (bool, np.bool_)):
            raise TypeError(
                "_make_subclass(): argument 'require_grad' (position 3) must be bool, not "
                f"{type(requires_grad).__name__}"
            )
        if data is None:
            data = of_value(np.zeros(0, np.float32))
        if isinstance(data, Parameter) or type(data) is Tensor:
            made: Any = new(cls)
        else:
            made = new(type(data))
            made._is_param = True
        made._value = plain_of(data)
        made.node = None
        share_version(data, made)
        share(data, made)
        if requires_grad:
            if made._value.dtype.kind not in "fcV":
                raise RuntimeError(
                    "Only Tensors of floating point and complex dtype can require gradients"
                )
            made.node = LEAF
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            copied = of_value(plain_of(self).copy("K"))  # the layout stays
            memo[id(self)] = type(self)(copied, self.requires_grad)
        return memo[id(self)]

    def __repr__(self) -> str:
        return f"Parameter containing:\n{super().__repr__()}"

    def __reduce__(self) -> Any:
        from tapegrad.torch._ops.object.memory import attributes_of

        return _restored, (type(self), plain_of(self), self.requires_grad, attributes_of(self))


def _restored(
    kind: type[Parameter], value: Value, requires_grad: bool, attributes: dict[str, Any]
) -> Any:
    made = kind(of_value(value), requires_grad)
    made.__dict__.update(attributes)
    return made


class Buffer(Tensor, metaclass=_Marked):
    """A tensor that becomes a buffer of a module when it becomes its attribute.

    It is a tensor of the class of `data`; `isinstance(_, Buffer)` knows it.

    data (Tensor): Whose memory the buffer shares; an empty one unless given.

    >>> module = torch.nn.Module()
    >>> module.mean = torch.nn.Buffer(torch.zeros(2))
    >>> list(module.state_dict())
    ['mean']
    """

    __slots__ = ()
    _mark = "_is_buffer"

    persistent: bool

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Self:
        if data is None:
            data = of_value(np.zeros(0, np.float32))
        made: Any = new(Tensor if isinstance(data, Parameter) else type(data))
        made._value = plain_of(data)
        made.node = LEAF if data.requires_grad else None
        share_version(data, made)
        share(data, made)
        made.persistent = persistent
        made._is_buffer = True
        return made


_ARRAY: Any = Tensor.__dict__["_value"]  # the slot, which the classes here hide
NO_SHAPE = (
    "Can't access the shape of an uninitialized parameter or buffer. This error usually happens "
    "in `load_state_dict` when trying to load an uninitialized parameter into an initialized one. "
    "Call `forward` to initialize the parameters before accessing their attributes."
)
NOT_SHARED = (
    "Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize the "
    "parameters before calling `module.share_memory()`."
)
USED = (
    "Attempted to use an uninitialized parameter in an operation. This error happens when you are "
    "using a `LazyModule` or explicitly manipulating `torch.nn.parameter.{}` objects. When using "
    "LazyModules Call `forward` with a dummy batch to initialize the parameters before calling "
    "torch functions"
)


class UninitializedTensorMixin:
    """Base of tensors without a shape: every operation raises ValueError.

    They can be converted to another dtype, asked for it, and given a shape by `materialize`.

    >>> isinstance(torch.nn.UninitializedBuffer(), torch.nn.parameter.UninitializedTensorMixin)
    True
    """

    __slots__ = ()

    cls_to_become: ClassVar[type[Tensor]]
    requires_grad: Any
    node: Any

    @property
    def _value(self) -> Any:
        raise ValueError(USED.format(type(self).__name__))

    @_value.setter
    def _value(self, value: Any) -> None:
        _ARRAY.__set__(self, value)

    def materialize(
        self, shape: Any, device: device | str | None = None, dtype: dtype | None = None
    ) -> None:
        """Become a parameter or a tensor of a shape, whose values are anything.

        shape (int or tuple of int): The shape.
        dtype: The dtype; the one given before unless given here.
        """
        require_cpu(device)
        kind = _ARRAY.__get__(self).dtype if dtype is None else as_numpy(dtype)
        sides = shape if isinstance(shape, int) else tuple(shape)
        _ARRAY.__set__(self, np.empty(sides, kind))
        self.__class__ = self.cls_to_become  # type: ignore[assignment]

    @property
    def data(self) -> Tensor:
        """A tensor of no elements."""
        return of_value(_ARRAY.__get__(self))

    @data.setter
    def data(self, value: Tensor) -> None:
        _ARRAY.__set__(self, value.data._value)

    @property
    def dtype(self) -> dtype:
        """The dtype that the values will have."""
        return of_numpy(_ARRAY.__get__(self).dtype)

    @property
    def shape(self) -> NoReturn:
        """The shape, which is not known.

        Raises
        ------
        RuntimeError
            Always.
        """
        raise RuntimeError(NO_SHAPE)

    def size(self, dim: int | None = None) -> Any:
        """The size of what is held: no elements.

        dim: A dimension; all unless given.
        -> Size or int: That of one dimension without elements.
        """
        return self.data.size(dim)

    @property
    def ndim(self) -> int:
        """1, the rank of what is held."""
        return 1

    def numel(self) -> NoReturn:
        """The number of elements, which is not known.

        -> int: It does not return.
        ValueError: Always.
        """
        raise ValueError(USED.format(type(self).__name__))

    nelement = new_empty = numel

    def share_memory_(self) -> NoReturn:
        """Raise, as there is no memory to share.

        -> Tensor: It does not return.
        RuntimeError: Always.
        """
        raise RuntimeError(NOT_SHARED)

    def copy_(self, src: Any, non_blocking: bool = False) -> Any:
        """Copy what holds no elements, which changes nothing.

        src (Tensor): Another tensor without elements.
        non_blocking: Without effect.
        -> Tensor: Itself.
        """
        self.data.copy_(src.data if is_lazy(src) else src)
        return self

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    __str__ = __repr__

    def __reduce_ex__(self, protocol: Any) -> Any:
        return type(self), (self.requires_grad, None, self.dtype)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            made: Any = type(self)
            memo[id(self)] = made(self.requires_grad, None, self.dtype)
        return memo[id(self)]


_CONVERTED = """\
As `Tensor.{name}`, of which nothing but the dtype is known.

*args: The arguments of `Tensor.{name}`.
**kwargs: The same, by their names.
-> {what}
"""
_ONE_OF_ITS_KIND = "UninitializedParameter or UninitializedBuffer: One of another dtype."


def _converting(name: str) -> Any:
    def convert(self: Any, *args: Any, **kwargs: Any) -> Any:
        found = getattr(self.data, name)(*args, **kwargs)
        if not isinstance(found, Tensor):
            return found
        made: Any = type(self)(self.requires_grad, None, found.dtype)
        made.__dict__.update(self.__dict__)
        return made

    convert.__name__ = name
    what = "bool: What the dtype is." if name.startswith("is_") else _ONE_OF_ITS_KIND
    convert.__doc__ = _CONVERTED.format(name=name, what=what)
    return convert


for _name in (
    *("half", "float", "double", "bfloat16", "char", "short", "int", "long", "cpu", "cuda"),
    *("to", "type", "is_floating_point", "is_complex"),
):
    setattr(UninitializedTensorMixin, _name, _converting(_name))


def _made(cls: type, requires_grad: bool, dtype: dtype | None) -> Any:
    made: Any = new(cls)
    _ARRAY.__set__(made, np.empty(0, default_float() if dtype is None else as_numpy(dtype)))
    made.node = LEAF if requires_grad else None
    return made


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter whose shape the first call of a lazy module will tell.

    It goes with `to(dtype)` and the like, and no operation takes it.

    >>> w = torch.nn.UninitializedParameter(dtype=torch.float64)
    >>> w
    <UninitializedParameter>
    >>> w.materialize((2, 3))
    >>> w.shape
    torch.Size([2, 3])
    """

    __slots__ = ()
    cls_to_become = Parameter

    def __new__(
        cls,
        requires_grad: bool = True,
        device: device | str | None = None,
        dtype: dtype | None = None,
    ) -> Any:
        require_cpu(device)
        return _made(cls, requires_grad, dtype)


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    """A buffer whose shape the first call of a lazy module will tell; a tensor from then on.

    requires_grad (bool): Whether it requires grad.

    >>> b = torch.nn.UninitializedBuffer()
    >>> b.materialize((2, 3))
    >>> b.shape
    torch.Size([2, 3])
    """

    __slots__ = ()
    cls_to_become = Tensor

    persistent: bool
    _is_buffer: bool

    def __new__(
        cls,
        requires_grad: bool = False,
        device: device | str | None = None,
        dtype: dtype | None = None,
        persistent: bool = True,
    ) -> Any:
        require_cpu(device)
        made = _made(cls, requires_grad, dtype)
        made.persistent = persistent
        made._is_buffer = True
        return made


def is_lazy(param: object) -> bool:
    """Whether a parameter or buffer has no shape yet.

    param: A parameter or buffer, or anything else.
    -> bool: Whether it is one without a shape.

    >>> torch.nn.parameter.is_lazy(torch.nn.UninitializedParameter())
    True
    """
    return isinstance(param, UninitializedTensorMixin)


__all__ = [
    "Buffer",
    "Parameter",
    "UninitializedBuffer",
    "UninitializedParameter",
    "UninitializedTensorMixin",
    "is_lazy",
]
