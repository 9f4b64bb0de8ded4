"""`Module`: a tree of parameters, buffers and other modules, and a function of them.

Knows its parts: `_tables` for attributes, `_walks` for paths, `_calls` for hooks around `forward`,
`_state` for states; and conversions of what a module holds. Must not know any particular layer.
"""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import TYPE_CHECKING, Any, Self, cast

from tapegrad._warning import warn
from tapegrad.torch import _dtypes
from tapegrad.torch._graph.hooks import Hooks
from tapegrad.torch._graph.modes import no_grad
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch._tensor.writes import overwrite
from tapegrad.torch.nn.module.calls import Calls
from tapegrad.torch.nn.module.state import State
from tapegrad.torch.nn.module.traversal import Walks

COMPLEX = (
    "Complex modules are a new feature under active development whose design may change, and some "
    "modules might not work as expected when using complex tensors as parameters or buffers."
)


def _tables_of_hooks() -> dict[str, Any]:
    return {
        "_backward_pre_hooks": Hooks(),
        "_backward_hooks": Hooks(),
        "_is_full_backward_hook": None,
        "_forward_hooks": Hooks(),
        "_forward_hooks_with_kwargs": OrderedDict(),
        "_forward_hooks_always_called": OrderedDict(),
        "_forward_pre_hooks": Hooks(),
        "_forward_pre_hooks_with_kwargs": OrderedDict(),
        "_state_dict_hooks": Hooks(),
        "_state_dict_pre_hooks": Hooks(),
        "_load_state_dict_pre_hooks": Hooks(),
        "_load_state_dict_post_hooks": Hooks(),
    }


class Module(Calls, State, Walks):
    """The base of all layers and models.

    A subclass calls `super().__init__()`, sets parameters and modules as attributes, and defines
    `forward`; calling the module calls that, with the hooks around it.

    *args: None, unless the subclass sets `call_super_init`: the next class then gets them.
    **kwargs: None, likewise.
    TypeError: For arguments that no next class gets.

    >>> class Twice(torch.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.layer = torch.nn.Linear(2, 2)
    ...     def forward(self, x):
    ...         return self.layer(self.layer(x))
    >>> [name for name, _ in Twice().named_parameters()]
    ['layer.weight', 'layer.bias']
    """

    dump_patches = False
    # The attributes that `extra_repr` shows: `=` before one leaves out its name, `!` after it
    # quotes a string, `?` leaves it out where it is as by default.
    _in_repr = ""
    call_super_init = False  # whether __init__ goes on to the next class, with the arguments

    if TYPE_CHECKING:  # what `Walks` finds, which knows no Module; `torch._compiled` has compile

        def compile(self, *args: Any, **kwargs: Any) -> None: ...
        def get_submodule(self, target: str) -> Module: ...
        def modules(self, remove_duplicate: bool = True) -> Iterator[Module]: ...
        def children(self) -> Iterator[Module]: ...
        def named_children(self) -> Iterator[tuple[str, Module]]: ...
        def named_modules(
            self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True
        ) -> Iterator[tuple[str, Module]]: ...

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init:
            start = f"{type(self).__name__}.__init__()"
            if kwargs:
                raise TypeError(
                    f"{start} got an unexpected keyword argument '{next(iter(kwargs))}'"
                )
            if args:
                raise TypeError(
                    f"{start} takes 1 positional argument but {len(args) + 1} were given"
                )
        self.__dict__.update(
            training=True,
            _parameters={},
            _buffers={},
            _non_persistent_buffers_set=set(),
            **_tables_of_hooks(),
            _modules={},
        )
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for name, table in {**_tables_of_hooks(), "_non_persistent_buffers_set": set()}.items():
            self.__dict__.setdefault(name, table)

    # -- changing --------------------------------------------------------------------------------

    def apply(self, fn: Callable[[Any], Any]) -> Self:
        """Call a function with every module below this one, and this one last.

        fn (callable): The function of a module.
        """
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def train(self, mode: bool = True) -> Self:
        """Set `training` here and below.

        mode: Whether the model is trained.
        ValueError: For what is no bool.
        """
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """Set `training` to False, here and below."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Let all parameters require grad, or none.

        requires_grad: Whether they do.
        """
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters; or make them zero.

        set_to_none: Let `grad` be None, not zeros.
        """
        for parameter in self.parameters():
            forget_gradient(parameter, set_to_none)

    # -- converting ------------------------------------------------------------------------------

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Replace the values of parameters, their gradients, and buffers."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        for parameter in self._parameters.values():
            if parameter is None:
                continue
            gradient = parameter._grad
            with no_grad():
                parameter.data = fn(parameter)
                if gradient is not None:
                    gradient.data = fn(gradient)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Convert floating parameters and buffers to a dtype, in place.

        *args: A dtype; a device, "cpu", and perhaps a dtype; or a tensor that has the dtype.
        **kwargs: The same as `dtype`, `device` and `tensor`; and `memory_format`, the order in
            memory of those of four and five dimensions.
        TypeError: For a dtype of integers.
        RuntimeError: For another device, and for `copy`.
        """
        if "copy" in kwargs:
            raise RuntimeError(".to() does not accept copy argument")
        device, given = _wanted(args, kwargs)
        order = kwargs.get("memory_format")
        if given is not None:
            if not (given.is_floating_point or given.is_complex):
                raise TypeError(
                    "nn.Module.to only accepts floating point or complex dtypes, but got desired "
                    f"dtype={given}"
                )
            if given.is_complex:
                warn(COMPLEX)

        def convert(tensor: Tensor) -> Tensor:
            floating = tensor.is_floating_point() or tensor.is_complex()
            wanted = given if floating else None
            if order is None or tensor.dim() not in (4, 5):
                return cast(Tensor, tensor.to(device, dtype=wanted))
            return cast(Tensor, tensor.to(device, dtype=wanted, memory_format=order))

        return self._apply(convert)

    def type(self, dst_type: Any) -> Self:
        """Convert all parameters and buffers to a dtype.

        dst_type (dtype or str): The dtype.
        """
        return self._apply(lambda tensor: tensor.type(dst_type))

    def float(self) -> Self:
        """Convert floating parameters and buffers to float32."""
        return self._as_floats("float32")

    def double(self) -> Self:
        """Convert floating parameters and buffers to float64."""
        return self._as_floats("float64")

    def half(self) -> Self:
        """Convert floating parameters and buffers to float16."""
        return self._as_floats("float16")

    def bfloat16(self) -> Self:
        """Convert floating parameters and buffers to bfloat16, where the tensors can."""
        return self._apply(lambda tensor: tensor.bfloat16() if _is_float(tensor) else tensor)

    def _as_floats(self, name: str) -> Self:
        given = _dtypes.BY_NAME[name]
        return self._apply(lambda tensor: tensor.to(given) if _is_float(tensor) else tensor)

    def cpu(self) -> Self:
        """Do nothing: the CPU is the only device."""
        return self._apply(lambda tensor: tensor.cpu())

    def cuda(self, device: Any = None) -> Self:
        """Raise, as the CPU is the only device.

        device (device or int): The device.
        -> Module: It does not return.
        RuntimeError: Always.
        """
        _dtypes.require_cpu("cuda" if device is None else device)
        return self._apply(lambda tensor: tensor.cuda(device))

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """Replace all values by memory that is not filled.

        device (device): The device, "cpu".
        """
        return self._apply(lambda tensor: tensor.new_empty(tensor.shape, device=device), recurse)

    def share_memory(self) -> Self:
        """Do nothing: threads share memory, and processes do not."""
        return self._apply(lambda tensor: tensor.share_memory_())

    # -- printing --------------------------------------------------------------------------------

    def extra_repr(self) -> str:
        """Settings of the module for `repr`.

        -> str: The settings, without the name of the class.
        """
        return ", ".join(filter(None, (_shown(self, word) for word in self._in_repr.split())))

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        if len(lines) == 1 and not self._modules:
            return f"{self._get_name()}({lines[0]})"
        lines += [f"({name}): {indented(repr(module))}" for name, module in self._modules.items()]
        if not lines:
            return f"{self._get_name()}()"
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"


def _shown(module: Module, word: str) -> str:
    """One attribute for `repr`, by a word of `_in_repr`."""
    name = word.strip("=!?")
    value = getattr(module, name)
    if name == "bias" and not isinstance(value, bool):
        value = value is not None
    if word[-1] == "?":
        usual = _default_of(type(module), name)
        if value == usual or (isinstance(value, tuple) and value == (usual,) * len(value)):
            return ""
    text = repr(value) if word[-1] == "!" else str(value)
    return text if word[0] == "=" else f"{name}={text}"


def _default_of(kind: type, name: str) -> Any:
    """The default of a setting of a layer; True for one that has to be given."""
    for each in kind.__mro__:
        make = vars(each).get("__init__")
        known = inspect.signature(make).parameters if isinstance(make, FunctionType) else {}
        if name in known and each.__module__.startswith("tapegrad.torch."):
            default = known[name].default
            return True if default is inspect.Parameter.empty else default
    return None


def indented(text: str, *, blank: bool = False) -> str:
    """A text whose lines after the first one begin two places further on, also `blank` ones."""
    first, *rest = text.split("\n")
    return "\n".join([first, *(f"  {line}" if blank or line.strip() else "" for line in rest)])


def _is_float(tensor: Tensor) -> bool:
    return tensor.is_floating_point()


def _check_order(args: tuple[Any, ...]) -> None:
    """Raise TypeError unless they are a device and a dtype, a dtype, or a tensor, then flags."""
    first, *rest = args or (None,)
    if not isinstance(first, (_dtypes.dtype, type, Tensor)):
        fits = first is None or isinstance(first, (str, int, _dtypes.device))
        fits = fits and (not rest or rest[0] is None or isinstance(rest[0], (_dtypes.dtype, type)))
        rest = rest[1:] if fits else [first]
    if not all(isinstance(flag, bool) for flag in rest):
        kinds = ", ".join(type(arg).__name__ for arg in args)
        raise TypeError(f"to() received an invalid combination of arguments - got ({kinds})")


def _wanted(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
    """The device and the dtype that the arguments of `to` ask for."""
    _check_order(args)
    device, given = kwargs.get("device"), None
    for value in (*args, kwargs.get("dtype"), kwargs.get("tensor")):
        if isinstance(value, (_dtypes.dtype, type)):  # `float` is double precision
            given = _dtypes.of_numpy(value) if isinstance(value, type) else value
        elif isinstance(value, Tensor):
            given = value.dtype
        elif isinstance(value, (str, _dtypes.device)):
            device = value
    if device is not None:
        _dtypes.require_cpu(device)
    return device, given


def _parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """The device, the dtype, whether not to wait and the memory format that `to` is asked for."""
    device, given = _wanted(args, kwargs)
    if device is None and any(isinstance(value, Tensor) for value in args):
        device = "cpu"
    waits = next((value for value in args if isinstance(value, bool)), False)
    place = None if device is None else _dtypes.device(device)
    return place, given, kwargs.get("non_blocking", waits), kwargs.get("memory_format")


def forget_gradient(parameter: Tensor, set_to_none: bool) -> None:
    """Drop the gradient of a parameter, or make it zero, without history."""
    own = parameter.__dict__
    gradient = own.get("_grad")
    if gradient is None:
        return
    if set_to_none:
        del own["_grad"]
        return
    if gradient.node is not None:
        gradient = parameter._grad = gradient.detach()
    with no_grad():
        overwrite(gradient, 0)


__all__ = ["Module", "forget_gradient", "indented"]
