"""The older names of types and constructors: `torch.Tensor(2, 3)`, `torch.LongTensor([1, 2])`.

Knows how their arguments are told apart. Must not know operations.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._core.types import Params, Tree
from tapegrad._warning import warn
from tapegrad.torch import _dtypes
from tapegrad.torch._methods import method_of
from tapegrad.torch._ops.create.data import numbers_as_array
from tapegrad.torch._ops.declare import register
from tapegrad.torch._tensor.tensor import Tensor, of_value
from tapegrad.torch._types import DType


def legacy_tensor(*args: Any, **kwargs: Any) -> Tensor:
    """Result of `torch.Tensor(...)`: sizes, a sequence of data, or a tensor to share."""
    return _made(args, kwargs, _dtypes.default_float(), any_dtype=True)


@method_of(Tensor, "__new__")
def _new(cls: type, *args: Any, **kwargs: Any) -> Tensor:
    """`Tensor(...)`, and that of a subclass."""
    made = legacy_tensor(*args, **kwargs) if args or kwargs else of_value(np.zeros(0, np.float32))
    if cls is not Tensor:
        made.__class__ = cls
    return made


def _made(
    args: tuple[Any, ...], kwargs: Params, given: np.dtype[Any], *, any_dtype: bool = False
) -> Tensor:
    _dtypes.require_cpu(kwargs.pop("device", None))
    for word in ("size", "data", "other"):
        if word in kwargs:
            args = (kwargs.pop(word), *args)
            if word == "size":
                args = (_dtypes.Size(args[0]),)
    if kwargs:
        raise TypeError(
            f"new() got unexpected keyword arguments: {', '.join(sorted(kwargs))}. Use "
            "torch.tensor(data, dtype=..., requires_grad=...)."
        )
    if not args:
        return of_value(np.zeros(0, given))
    first = args[0]
    if len(args) == 1 and not isinstance(first, (int, _dtypes.Size)) or isinstance(first, bool):
        return _of_data(first, given, any_dtype)
    if isinstance(first, _dtypes.Size):
        args = tuple(first)
    for position, side in enumerate(args, 1):
        if isinstance(side, bool) or not hasattr(side, "__index__"):
            raise TypeError(
                f"new(): argument 'size' failed to unpack the object at pos {position} with "
                f'error "type must be tuple of ints,but got {type(side).__name__}"'
            )
    return of_value(np.zeros([side.__index__() for side in args], given))


def _of_data(data: Tree, given: np.dtype[Any], any_dtype: bool) -> Tensor:
    if isinstance(data, Tensor):
        if not any_dtype and data._value.dtype != given:
            raise TypeError(f"expected a tensor of {given.name}, got one of {data.dtype}")
        return data.detach()
    if isinstance(data, np.ndarray) and data.ndim:
        return of_value(np.array(data, given))
    if not hasattr(data, "__len__") or isinstance(data, (str, dict, set, np.ndarray)):
        raise TypeError(f"new(): data must be a sequence (got {type(data).__name__})")
    return of_value(numbers_as_array(data, given))


class _TensorType(type):
    """The class of `torch.FloatTensor` and its kin: `isinstance` asks for the dtype."""

    given: np.dtype[Any]

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor) and instance._value.dtype == cls.given

    def __call__(cls, *args: Any, **kwargs: Any) -> Tensor:
        return _made(args, kwargs, cls.given)

    @property
    def dtype(cls) -> _dtypes.dtype:
        """The dtype of its instances."""
        return _dtypes.of_numpy(cls.given)

    def __repr__(cls) -> str:
        return f"<class 'torch.{cls.__name__}'>"


TYPES: dict[str, Any] = {}
for _known in _dtypes.BY_NAME.values():
    if _known is _dtypes.BRAIN:  # its arrays need another package
        continue
    _word = f"{_dtypes.word_of(_known.numpy)}Tensor"
    TYPES[_word] = _TensorType(
        _word,
        (),
        {"given": _known.numpy, "__doc__": f"Tensors of {_known}.", "__module__": "torch"},
    )
    register(_word, method=False, module=__name__)(TYPES[_word])


def type_dtype(given: DType | str) -> np.dtype[Any]:
    """The dtype for a `torch.dtype`, a type of tensors, or its name."""
    if isinstance(given, _TensorType):
        return given.given
    if isinstance(given, str):
        found = TYPES.get(given.removeprefix("torch."))
        if given == "torch.Tensor":
            return _dtypes.default_float()
        if found is None or not given.startswith("torch."):
            raise ValueError(f"invalid type: {given!r}")
        return found.given
    if given is Tensor:
        return _dtypes.default_float()
    return _dtypes.as_numpy(given)


@register(method=False)
def set_default_tensor_type(t: DType | str) -> None:
    """Older name of `set_default_dtype`, for a type of tensors.

    t (type, dtype or str): A floating dtype, a type like `torch.DoubleTensor`, or its name.
    TypeError: If it is not floating.
    UserWarning: Always.

    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     torch.set_default_tensor_type(torch.FloatTensor)
    >>> torch.get_default_dtype()
    torch.float32
    """
    warn(
        "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use "
        "torch.set_default_dtype() as alternative."
    )
    _dtypes.set_default_dtype(_dtypes.of_numpy(type_dtype(t)))


@register(function=False)
def new(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """A tensor of this one's dtype, of sizes or data: an older form of `new_tensor`.

    *args: Sizes, or data.
    **kwargs: PyTorch's other parameters.
    """
    return _made(args, kwargs, self._value.dtype)
