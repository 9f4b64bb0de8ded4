"""Parameters as functions of other parameters, computed whenever they are read.

Knows modules. Must not know any particular function (`parametrizations`).

The class of a module that has parametrizations is replaced by a subclass with a property for each:
reading one calls the modules in its `ParametrizationList`, assigning to it their inverses.
"""

from __future__ import annotations

import copyreg
from collections.abc import Iterator, Sequence
from contextlib import suppress
from copy import deepcopy
from typing import Any, NoReturn

from tapegrad._block import contextmanager
from tapegrad.torch._graph.modes import no_grad
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.nn.containers.modules import ModuleDict, ModuleList
from tapegrad.torch.nn.parameter import Parameter


class _Cache:
    """Values computed within `cached()`, by module and name."""

    depth = 0
    known: dict[tuple[int, str], Any]


_CACHE = _Cache()
_CACHE.known = {}


@contextmanager
def cached() -> Iterator[None]:
    """Context in which each parametrized tensor is computed once, when it is first read.

    For nets that read a weight several times in one pass, as recurrent ones do.

    Yields (None): Nothing.

    >>> layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 3))
    >>> with torch.nn.utils.parametrize.cached():
    ...     layer.weight is layer.weight
    True
    """
    depth = _CACHE.depth
    try:
        _CACHE.depth = depth + 1
        yield
    finally:
        _CACHE.depth = depth
        if not depth:
            _CACHE.known = {}


def _register(module: Any, name: str, tensor: Any) -> None:
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def _take_value(target: Tensor, source: Tensor) -> None:
    """Let a tensor have the memory of another one."""
    target.data = source.detach()


class ParametrizationList(ModuleList):
    """The modules that make a tensor, called one after another, and what they make it from.

    That is `original`, or `original0`, `original1`, ... where the inverse of the first one returns
    several tensors.

    modules (sequence of Module): The modules.
    original: The tensor that they make at first.
    ValueError: For no modules, and where shape or dtype change without `unsafe`.

    >>> layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 3))
    >>> type(layer.parametrizations.weight).__name__
    'ParametrizationList'
    """

    def __init__(self, modules: Sequence[Any], original: Tensor, unsafe: bool = False) -> None:
        if not modules:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        found: Any = original
        with no_grad():
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    with suppress(NotImplementedError):
                        found = module.right_inverse(found)
        self.is_tensor: bool = isinstance(found, Tensor)
        if not self.is_tensor and not isinstance(found, Sequence):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                f"Got {type(found).__name__}"
            )
        self.ntensors: int = 1 if self.is_tensor else len(found)
        if self.is_tensor:
            if dtype != found.dtype:
                raise ValueError(
                    "When `right_inverse` outputs one tensor, it may not change the dtype.\n"
                    f"original.dtype: {dtype}\nright_inverse(original).dtype: {found.dtype}"
                )
            _take_value(original, found)
            _register(self, "original", original)
        else:
            for place, part in enumerate(found):
                self._register_part(place, part, original)
        if not unsafe:
            self._check_same(shape, dtype)

    def _register_part(self, place: int, part: Any, original: Tensor) -> None:
        if not isinstance(part, Tensor):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                f"Got element {place} of the sequence with type {type(part).__name__}."
            )
        if isinstance(original, Parameter):
            part = Parameter(part, original.requires_grad)
        part.requires_grad_(original.requires_grad)
        _register(self, f"original{place}", part)

    def _check_same(self, shape: Any, dtype: Any) -> None:
        made = self()
        if not isinstance(made, Tensor):
            raise ValueError(f"A parametrization must return a tensor. Got {type(made).__name__}.")
        for what, old, new in (("dtype", dtype, made.dtype), ("shape", shape, made.shape)):
            if old != new:
                raise ValueError(
                    f"Registering a parametrization may not change the {what} of the tensor, "
                    f"unless `unsafe` flag is enabled.\nunparametrized {what}: {old}\n"
                    f"parametrized {what}: {new}"
                )

    def right_inverse(self, value: Any) -> None:
        """Set the original tensors so that the modules make a value of them.

        value (Tensor): The value.
        RuntimeError: Where one of the modules has no `right_inverse`.
        ValueError: For inverses of other dtypes, or that are no tensors.
        """
        with no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(
                        f"parametrization {type(module).__name__} does not implement "
                        "right_inverse."
                    )
                value = module.right_inverse(value)
            if self.is_tensor:
                self._set_one(value)
            else:
                self._set_several(value)

    def _set_one(self, value: Any) -> None:
        if not isinstance(value, Tensor):
            raise ValueError(f"`right_inverse` should return a tensor. Got {type(value).__name__}")
        if value.dtype != self.original.dtype:
            raise ValueError(
                f"The tensor returned by `right_inverse` has dtype {value.dtype} while `original` "
                f"has dtype {self.original.dtype}"
            )
        _take_value(self.original, value)

    def _set_several(self, values: Any) -> None:
        start = "'right_inverse' must return a sequence of tensors"
        if not isinstance(values, Sequence):
            raise ValueError(f"{start}. Got {type(values).__name__}.")
        if len(values) != self.ntensors:
            raise ValueError(
                f"{start} of length {self.ntensors}. Got a sequence of length {len(values)}."
            )
        for place, value in enumerate(values):
            original = getattr(self, f"original{place}")
            if not isinstance(value, Tensor):
                raise ValueError(f"{start}. Got element {place} of type {type(value).__name__}.")
            if original.dtype != value.dtype:
                raise ValueError(
                    f"Tensor {place} returned by `right_inverse` has dtype {value.dtype} while "
                    f"`original{place}` has dtype {original.dtype}"
                )
            _take_value(original, value)

    def forward(self) -> Any:
        """The tensor that the modules make of the original ones.

        -> Tensor: The tensor.
        """
        if self.is_tensor:
            originals = [self.original]
        else:
            originals = [getattr(self, f"original{place}") for place in range(self.ntensors)]
        first, *rest = self._modules.values()
        value = first(*originals)
        for module in rest:
            value = module(value)
        return value


# --- The class of a parametrized module ----------------------------------------------------------


def _deepcopied(self: Any, memo: dict[int, Any]) -> Any:
    known = memo.get(id(self))
    if known is not None:
        return known
    made = memo[id(self)] = self.__new__(type(self))
    made.__dict__ = deepcopy(self.__dict__, memo)
    for slot in copyreg._slotnames(type(self)):  # type: ignore[attr-defined]
        if hasattr(self, slot):
            setattr(made, slot, deepcopy(getattr(self, slot), memo))
    return made


def _no_state(self: Any) -> NoReturn:
    raise RuntimeError(
        "Serialization of parametrized modules is only supported through state_dict(). See:\n"
        "https://pytorch.org/tutorials/beginner/saving_loading_models.html"
        "#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training"
    )


def _give_own_class(module: Any) -> None:
    kind = type(module)
    body: dict[str, Any] = {"__getstate__": _no_state}
    if not hasattr(kind, "__deepcopy__"):
        body["__deepcopy__"] = _deepcopied
    module.__class__ = type(f"Parametrized{kind.__name__}", (kind,), body)


def _give_property(module: Any, name: str) -> None:
    def read(self: Any) -> Any:
        made_by = self.parametrizations[name]
        if not _CACHE.depth:
            return made_by()
        key = (id(self), name)
        if _CACHE.known.get(key) is None:
            _CACHE.known[key] = made_by()
        return _CACHE.known[key]

    def write(self: Any, value: Any) -> None:
        self.parametrizations[name].right_inverse(value)

    setattr(type(module), name, property(read, write))


def register_parametrization(
    module: Any, tensor_name: str, parametrization: Any, *, unsafe: bool = False
) -> Any:
    """Make a parameter or buffer of a module a function of another one of its shape and dtype.

    parametrization (Module): What computes it. If it has `right_inverse`, that is applied to the
        present value, and to values that are assigned; it may return several tensors, which are
        then the arguments. A second one is called with the result of the first.
    -> Module: The module itself.
    ValueError: Where there is no such tensor, and where shape or dtype change without `unsafe`.

    >>> class Symmetric(torch.nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).mT
    >>> layer = torch.nn.Linear(3, 3)
    >>> layer = torch.nn.utils.parametrize.register_parametrization(layer, "weight", Symmetric())
    >>> bool((layer.weight == layer.weight.mT).all())
    True
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            _check_next(module, tensor_name, parametrization)
        module.parametrizations[tensor_name].append(parametrization)
        module.parametrizations[tensor_name].unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        original = getattr(module, tensor_name)
        made_by = ParametrizationList([parametrization], original, unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _give_own_class(module)
            module.parametrizations = ModuleDict()
        _give_property(module, tensor_name)
        module.parametrizations[tensor_name] = made_by
    else:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element "
            f"with name '{tensor_name}'"
        )
    return module


def _check_next(module: Any, name: str, parametrization: Any) -> None:
    """Whether what is called after others keeps shape and dtype, and so does its inverse."""
    before = getattr(module, name)
    after = parametrization(before)
    if not isinstance(after, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(after).__name__}.")
    for what in ("dtype", "shape"):
        old, new = getattr(before, what), getattr(after, what)
        if old != new:
            raise ValueError(
                f"Registering a parametrization may not change the {what} of the tensor, unless "
                f"the `unsafe` flag is enabled.\nmodule.{name}.{what}: {old}\n"
                f"parametrization(module.{name}).{what}: {new}"
            )
    if not hasattr(parametrization, "right_inverse"):
        return
    try:
        inverse = parametrization.right_inverse(after)
    except NotImplementedError:
        return
    if not isinstance(inverse, Tensor):
        raise ValueError(
            f"parametrization.right_inverse must return a tensor. Got: {type(inverse).__name__}"
        )
    for what in ("dtype", "shape"):
        old, new = getattr(before, what), getattr(inverse, what)
        if old != new:
            raise ValueError(
                f"The tensor returned by parametrization.right_inverse must have the same {what} "
                f"as module.{name}, unless the `unsafe` flag is enabled.\n"
                f"module.{name}.{what}: {old}\nreturned {what}: {new}"
            )


def is_parametrized(module: Any, tensor_name: str | None = None) -> bool:
    """Whether a module has parametrizations, or one of a name.

    tensor_name: The name; any unless given.
    -> bool: Whether it has.

    >>> layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 3))
    >>> torch.nn.utils.parametrize.is_parametrized(layer, "bias")
    False
    """
    known = getattr(module, "parametrizations", None)
    if not isinstance(known, ModuleDict):
        return False
    return len(known) > 0 if tensor_name is None else tensor_name in known


def remove_parametrizations(module: Any, tensor_name: str, leave_parametrized: bool = True) -> Any:
    """Make a parametrized tensor a parameter or buffer again.

    leave_parametrized: Let it have its present value, not that of its original.
    -> Module: The module itself.
    ValueError: Where it is not parametrized, and where it has several originals and should have
        the value of one.

    >>> layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 3))
    >>> torch.nn.utils.parametrize.remove_parametrizations(layer, "weight")
    Linear(in_features=2, out_features=3, bias=True)
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    made_by = module.parametrizations[tensor_name]
    if made_by.is_tensor:
        original = made_by.original
        if leave_parametrized:
            with no_grad():
                value = getattr(module, tensor_name)
            _take_value(original, value)
    elif leave_parametrized:
        value = getattr(module, tensor_name)
        original = Parameter(value) if value.requires_grad else value
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is "
            "parametrized in terms of a sequence of tensors."
        )
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register(module, tensor_name, original)
    if not is_parametrized(module):
        del module.parametrizations
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Any) -> Any:
    """The class that a module had before it got parametrizations.

    -> type: The class.

    >>> layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 3))
    >>> type(layer).__name__
    'ParametrizedLinear'
    >>> torch.nn.utils.parametrize.type_before_parametrizations(layer).__name__
    'Linear'
    """
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Any, to_module: Any, tensor_name: str | None = None
) -> Any:
    """Give a module the parametrizations of another one, and their originals.

    from_module (Module): The module that has them.
    to_module (Module): The module that gets them.
    tensor_name: The name of the tensor; all unless given.
    -> Module: The module that got them.

    >>> layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 3))
    >>> other = torch.nn.Linear(2, 3)
    >>> torch.nn.utils.parametrize.transfer_parametrizations_and_params(layer, other, "weight")
    ParametrizedLinear(
      in_features=2, out_features=3, bias=True
      (parametrizations): ModuleDict(
        (weight): ParametrizationList(
          (0): _WeightNorm()
        )
      )
    )
    """
    if not is_parametrized(from_module):
        return to_module
    for name in list(from_module.parametrizations) if tensor_name is None else [tensor_name]:
        source = from_module.parametrizations[name]
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name)))
        for parametrization in source:
            register_parametrization(to_module, name, parametrization)
        target = to_module.parametrizations[name]
        words = ["original"] if source.is_tensor else list(_numbered(source))
        for word in words:
            setattr(target, word, getattr(source, word))
    return to_module


def _numbered(source: ParametrizationList) -> Iterator[str]:
    return (f"original{place}" for place in range(source.ntensors))


__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]


def __dir__() -> list[str]:
    return __all__
