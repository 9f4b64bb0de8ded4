"""`Module`: a tree of parameters, buffers and other modules, and a function of them.

Knows parameters and the graph's hooks. Must not know any particular layer.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, Self

from tapegrad._core.types import Function
from tapegrad.torch import _dtypes
from tapegrad.torch._graph.hooks import Handle, Hooks
from tapegrad.torch._graph.modes import no_grad
from tapegrad.torch._tensor.tensor import Tensor, plain_of
from tapegrad.torch._tensor.writes import overwrite
from tapegrad.torch.nn._parameter import Buffer, Parameter


class IncompatibleKeys(NamedTuple):
    """The paths that a loaded state lacked, and the paths that only it had."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if self.missing_keys or self.unexpected_keys:
            return (
                f"_IncompatibleKeys(missing_keys={self.missing_keys}, "
                f"unexpected_keys={self.unexpected_keys})"
            )
        return "<All keys matched successfully>"


Named = Iterator[tuple[str, Any]]


class Module:
    """The base of all layers and models.

    A subclass calls `super().__init__()`, sets parameters and modules as attributes, and defines
    `forward`; calling the module calls that, with the hooks around it.

    >>> import tapegrad.torch as torch
    >>> class Twice(torch.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.layer = torch.nn.Linear(2, 2)
    ...     def forward(self, x):
    ...         return self.layer(self.layer(x))
    >>> [name for name, _ in Twice().named_parameters()]
    ['layer.weight', 'layer.bias']
    """

    training: bool
    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _modules: dict[str, Any]
    dump_patches = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args or kwargs:
            given = args[0] if args else next(iter(kwargs))
            raise TypeError(
                f"{type(self).__name__}.__init__() got an unexpected argument: {given!r}"
            )
        self.__dict__.update(
            training=True,
            _parameters={},
            _buffers={},
            _modules={},
            _non_persistent_buffers_set=set(),
            _forward_hooks=Hooks(),
            _forward_pre_hooks=Hooks(),
            _backward_hooks=Hooks(),
            _backward_pre_hooks=Hooks(),
            _state_dict_hooks=Hooks(),
            _load_state_dict_pre_hooks=Hooks(),
        )

    # -- calling ---------------------------------------------------------------------------------

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module computes; a subclass defines it."""
        raise NotImplementedError(
            f'Module [{type(self).__name__}] is missing the required "forward" function'
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        own = self.__dict__
        if not (
            own["_forward_hooks"]
            or own["_forward_pre_hooks"]
            or own["_backward_hooks"]
            or own["_backward_pre_hooks"]
        ):
            return self.forward(*args, **kwargs)
        return self._call_with_hooks(args, kwargs)

    def _call_with_hooks(self, args: Any, kwargs: Any) -> Any:
        for hook, with_kwargs in list(self._forward_pre_hooks.values()):
            if with_kwargs:
                changed = hook(self, args, kwargs)
                if changed is not None:
                    args, kwargs = changed
            else:
                changed = hook(self, args)
                if changed is not None:
                    args = changed if isinstance(changed, tuple) else (changed,)
        watch = None
        if self._backward_hooks or self._backward_pre_hooks:
            from tapegrad.torch.nn._hooks import BackwardWatch

            watch = BackwardWatch(self)
            args = watch.around_inputs(args)
        try:
            result = self.forward(*args, **kwargs)
        except BaseException:
            for hook, with_kwargs, always in list(self._forward_hooks.values()):
                if always:
                    hook(self, args, kwargs, None) if with_kwargs else hook(self, args, None)
            raise
        for hook, with_kwargs, _ in list(self._forward_hooks.values()):
            given = hook(self, args, kwargs, result) if with_kwargs else hook(self, args, result)
            result = result if given is None else given
        return result if watch is None else watch.around_outputs(result)

    def register_forward_pre_hook(
        self, hook: Function, *, prepend: bool = False, with_kwargs: bool = False
    ) -> Handle:
        """Call `hook(module, args)` before `forward`; it may return other arguments."""
        return _registered(self._forward_pre_hooks, (hook, with_kwargs), prepend)

    def register_forward_hook(
        self,
        hook: Function,
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> Handle:
        """Call `hook(module, args, output)` after `forward`; it may return another output."""
        return _registered(self._forward_hooks, (hook, with_kwargs, always_call), prepend)

    def register_full_backward_hook(self, hook: Function, prepend: bool = False) -> Handle:
        """Call `hook(module, grad_input, grad_output)` when the gradients of the inputs are known.

        It may return other gradients for the inputs.
        """
        return _registered(self._backward_hooks, hook, prepend)

    register_backward_hook = register_full_backward_hook

    def register_full_backward_pre_hook(self, hook: Function, prepend: bool = False) -> Handle:
        """Call `hook(module, grad_output)` when the gradients of the outputs are known."""
        return _registered(self._backward_pre_hooks, hook, prepend)

    # -- attributes ------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        for kind in ("_parameters", "_buffers", "_modules"):
            known = self.__dict__.get(kind)
            if known is not None and name in known:
                return known[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        if isinstance(value, (Parameter, Module, Buffer)):
            if "_parameters" not in own:
                kind = "parameters" if isinstance(value, Parameter) else "module"
                raise AttributeError(f"cannot assign {kind} before Module.__init__() call")
            for place in (own, own["_parameters"], own["_buffers"], own["_modules"]):
                place.pop(name, None)
            if isinstance(value, Parameter):
                self.register_parameter(name, value)
            elif isinstance(value, Module):
                own["_modules"][name] = value
            else:
                self.register_buffer(name, value, value.persistent)
            return
        for kind, word in (
            ("_parameters", "torch.nn.Parameter"),
            ("_modules", "torch.nn.Module"),
            ("_buffers", "torch.nn.Buffer, torch.Tensor"),
        ):
            known = own.get(kind)
            if known is None or name not in known:
                continue
            if value is not None and not (kind == "_buffers" and isinstance(value, Tensor)):
                label = {"_parameters": "parameter", "_modules": "child module"}.get(
                    kind, "buffer"
                )
                raise TypeError(
                    f"cannot assign '{_type_name(value)}' as {label} '{name}' ({word} or None "
                    "expected)"
                )
            known[name] = value
            return
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        for known in (self._parameters, self._buffers, self._modules):
            if name in known:
                del known[name]
                self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._parameters, *self._buffers, *self._modules})

    def _check_name(self, name: object, what: str) -> None:
        if not isinstance(name, str):
            raise TypeError(f"{what} name should be a string. Got {_type_name(name)}")
        if "." in name:
            raise KeyError(f'{what} name can\'t contain "."')
        if name == "":
            raise KeyError(f'{what} name can\'t be empty string ""')

    def register_parameter(self, name: str, param: object) -> None:
        """Add a parameter (or None in the place of one) under a name."""
        self._check_name(name, "parameter")
        if hasattr(self, name) and name not in self._parameters:
            raise KeyError(f"attribute '{name}' already exists")
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{_type_name(param)}' object to parameter '{name}' "
                "(torch.nn.Parameter or None required)"
            )
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: object, persistent: bool = True) -> None:
        """Add a tensor that is not trained; `state_dict` has it if it is persistent."""
        self._check_name(name, "buffer")
        if hasattr(self, name) and name not in self._buffers:
            raise KeyError(f"attribute '{name}' already exists")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{_type_name(tensor)}' object to buffer '{name}' "
                "(torch Tensor or None required)"
            )
        self._buffers[name] = tensor
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name: str, module: object) -> None:
        """Add a module (or None in the place of one) under a name."""
        if not isinstance(module, Module) and module is not None:
            raise TypeError(f"{_type_name(module)} is not a Module subclass")
        self._check_name(name, "module")
        if hasattr(self, name) and name not in self._modules:
            raise KeyError(f"attribute '{name}' already exists")
        self._modules[name] = module

    register_module = add_module

    def get_submodule(self, target: str) -> Any:
        """The module at a path such as "layers.0"."""
        found: Any = self
        for name in target.split(".") if target else ():
            if not hasattr(found, name):
                raise AttributeError(f"{type(found).__name__} has no attribute `{name}`")
            found = getattr(found, name)
            if not isinstance(found, Module):
                raise AttributeError(f"`{name}` is not an nn.Module")  # noqa: TRY004 - as PyTorch
        return found

    def get_parameter(self, target: str) -> Any:
        """The parameter at a path such as "layers.0.weight"."""
        path, _, name = target.rpartition(".")
        found = getattr(self.get_submodule(path), name)
        if not isinstance(found, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")  # noqa: TRY004 - as PyTorch
        return found

    def get_buffer(self, target: str) -> Any:
        """The buffer at a path."""
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return module._buffers[name]

    # -- walking ---------------------------------------------------------------------------------

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Named:
        """This module and all below it, each once, with their paths."""
        seen = set() if memo is None else memo
        if self in seen:
            return
        if remove_duplicate:
            seen.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                path = f"{prefix}.{name}" if prefix else name
                yield from module.named_modules(seen, path, remove_duplicate)

    def modules(self) -> Iterator[Any]:
        """This module and all below it."""
        return (module for _, module in self.named_modules())

    def named_children(self) -> Named:
        """The modules right below this one, with their names."""
        seen: set[Any] = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self) -> Iterator[Any]:
        """The modules right below this one."""
        return (module for _, module in self.named_children())

    def _named_members(
        self, kind: str, prefix: str, recurse: bool, remove_duplicate: bool
    ) -> Named:
        seen: set[Any] = set()
        modules = (
            self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
            if recurse
            else [(prefix, self)]
        )
        for path, module in modules:
            for name, value in module.__dict__[kind].items():
                if value is None or value in seen:
                    continue
                if remove_duplicate:
                    seen.add(value)
                yield (f"{path}.{name}" if path else name), value

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Named:
        """The parameters of this module and those below it, with their paths."""
        return self._named_members("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Any]:
        """The parameters of this module and those below it."""
        return (value for _, value in self.named_parameters(recurse=recurse))

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Named:
        """The buffers of this module and those below it, with their paths."""
        return self._named_members("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Any]:
        """The buffers of this module and those below it."""
        return (value for _, value in self.named_buffers(recurse=recurse))

    # -- changing --------------------------------------------------------------------------------

    def apply(self, fn: Callable[[Module], Any]) -> Self:
        """Call a function with every module below this one, and this one last."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def train(self, mode: bool = True) -> Self:
        """Set `training` here and below."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")  # noqa: TRY004 - as PyTorch
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """`train(False)`."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Let all parameters require grad, or none."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters; or make them zero."""
        for parameter in self.parameters():
            forget_gradient(parameter, set_to_none)

    def _apply(self, convert: Callable[[Tensor], Tensor]) -> Self:
        """Replace the values of parameters and buffers."""
        for module in self.modules():
            for parameter in module._parameters.values():
                if parameter is not None:
                    gradient = parameter._grad
                    parameter.data = convert(parameter.data)
                    if gradient is not None:
                        parameter.grad = convert(gradient)
            for name, buffer in module._buffers.items():
                if buffer is not None:
                    module._buffers[name] = convert(buffer)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Convert floating parameters and buffers to a dtype, in place."""
        given = kwargs.get("dtype")
        for value in args:
            if isinstance(value, _dtypes.dtype):
                given = value
            elif isinstance(value, Tensor):
                given = value.dtype
        if given is None:
            return self
        if not (given.is_floating_point or given.is_complex):
            raise TypeError(
                "nn.Module.to only accepts floating point or complex dtypes, but got desired "
                f"dtype={given}"
            )
        return self._apply(
            lambda tensor: tensor.to(given) if tensor._value.dtype.kind in "fc" else tensor
        )

    def type(self, dst_type: Any) -> Self:
        """Convert all parameters and buffers to a dtype."""
        return self._apply(lambda tensor: tensor.to(dst_type))

    def float(self) -> Self:
        """Convert floating parameters and buffers to float32."""
        return self.to(_dtypes.BY_NAME["float32"])

    def double(self) -> Self:
        """Convert floating parameters and buffers to float64."""
        return self.to(_dtypes.BY_NAME["float64"])

    def half(self) -> Self:
        """Convert floating parameters and buffers to float16."""
        return self.to(_dtypes.BY_NAME["float16"])

    def cpu(self) -> Self:
        """The module itself: the CPU is the only device."""
        return self

    # -- state -----------------------------------------------------------------------------------

    def state_dict(
        self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> Any:
        """All parameters and persistent buffers by path, detached unless `keep_vars`."""
        if args:  # the older form has positional arguments
            given: Any = (*args, *(destination, prefix, keep_vars)[len(args) :])
            destination, prefix, keep_vars = given
        found: Any = OrderedDict() if destination is None else destination
        if destination is None:
            found._metadata = OrderedDict()
        for name, value in (*self._parameters.items(), *self._buffers.items()):
            if value is not None and name not in self._non_persistent_buffers_set:
                found[prefix + name] = value if keep_vars else value.detach()
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(
                    destination=found, prefix=f"{prefix}{name}.", keep_vars=keep_vars
                )
        for hook in list(self._state_dict_hooks.values()):
            hook(self, found, prefix, {})
        return found

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> Any:
        """Copy values into parameters and buffers of the same paths.

        Returns missing_keys and unexpected_keys. RuntimeError where there are any and `strict`, or
        where a shape differs. assign: take the tensors themselves.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        own = self._own_state()
        missing = [path for path in own if path not in state_dict]
        unexpected = [path for path in state_dict if path not in own]
        errors = []
        if strict and unexpected:
            listed = ", ".join(f'"{path}"' for path in unexpected)
            errors.append(f"Unexpected key(s) in state_dict: {listed}. ")
        if strict and missing:
            listed = ", ".join(f'"{path}"' for path in missing)
            errors.append(f"Missing key(s) in state_dict: {listed}. ")
        for path, (module, name, value) in own.items():
            if path in state_dict:
                errors += _load(module, name, value, path, state_dict[path], assign)
        if errors:
            listed = "\n\t".join(errors)
            raise RuntimeError(
                f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{listed}"
            )
        return IncompatibleKeys(missing, unexpected)

    def _own_state(self) -> dict[str, tuple[Any, str, Any]]:
        """The module, the name and the value of each path of `state_dict`."""
        found = {}
        for path, module in self.named_modules(remove_duplicate=False):
            for name, value in (*module._parameters.items(), *module._buffers.items()):
                if value is not None and name not in module._non_persistent_buffers_set:
                    found[f"{path}.{name}" if path else name] = (module, name, value)
        return found

    # -- printing --------------------------------------------------------------------------------

    def extra_repr(self) -> str:
        """What `repr` shows of the module's settings."""
        return ""

    def _get_name(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [
            f"({name}): {_indented(repr(module))}" for name, module in self._modules.items()
        ]
        if len(lines) == 1 and not children:
            return f"{self._get_name()}({lines[0]})"
        if not lines and not children:
            return f"{self._get_name()}()"
        return f"{self._get_name()}(\n  " + "\n  ".join(lines + children) + "\n)"


def _type_name(value: object) -> str:
    kind = type(value)
    name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
    return name.replace("tapegrad.torch._tensor", "torch").replace("tapegrad.torch", "torch")


def _indented(text: str) -> str:
    return text.replace("\n", "\n  ")


def _registered(hooks: Hooks, entry: Any, prepend: bool) -> Handle:
    handle = hooks.add(entry)
    if prepend:
        rest = dict(hooks)
        last = rest.pop(handle.id)
        hooks.clear()
        hooks[handle.id] = last
        hooks.update(rest)
    return handle


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


def _load(
    module: Module, name: str, value: Tensor, path: str, given: object, assign: bool
) -> list[str]:
    """Load one entry of a state; return the errors found."""
    if not isinstance(given, Tensor):
        wrong = (
            f'While copying the parameter named "{path}", expected torch.Tensor or Tensor-like '
            f"object from checkpoint but received {type(given)}"
        )
        return [wrong]
    if given.shape != value.shape:
        wrong = (
            f"size mismatch for {path}: copying a param with shape {given.shape} from "
            f"checkpoint, the shape in current model is {value.shape}."
        )
        return [wrong]
    if not assign:
        with no_grad():
            overwrite(value, given.detach())
    elif name in module._parameters:
        if not isinstance(given, Parameter):
            given = Parameter(given, value.requires_grad)
        module._parameters[name] = given
    else:
        module._buffers[name] = given
    return []


__all__ = ["Module", "forget_gradient", "plain_of"]
