"""Members of a module, by name: parameters, buffers and other modules.

Knows which attribute goes into which table, and that whoever is assigned again keeps its place.
Must not know calls, states or dtypes.
"""

from __future__ import annotations

import inspect
from typing import Any

from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.nn.module.global_hooks import BUFFERS, MODULES, PARAMETERS, replaced_by_hooks
from tapegrad.torch.nn.parameter import Buffer, Parameter

EARLY = "cannot assign {} before Module.__init__() call"
TABLES = "_parameters", "_buffers", "_modules"
# Errors are told first of parameters, then of modules, then of buffers, as PyTorch does.
WORDS = {
    "_parameters": ("parameter", "torch.nn.Parameter or None"),
    "_modules": ("child module", "torch.nn.Module or None"),
    "_buffers": ("buffer", "torch.nn.Buffer, torch.Tensor or None"),
}


class Tables:
    """Attributes of modules: what is a parameter, a buffer or a module goes into a table."""

    training: bool
    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _modules: dict[str, Any]
    _non_persistent_buffers_set: set[str]

    def _get_name(self) -> str:
        return type(self).__name__

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        for kind in TABLES:
            known = own.get(kind)
            if known is not None and name in known:
                return known[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        if isinstance(value, (Tensor, Tables)):
            if isinstance(value, Parameter):
                self._make_room(name, "_parameters", "parameters")
                self.register_parameter(name, value)
                return
            if isinstance(value, Tables) and name not in own.get("_parameters", ()):
                self._make_room(name, "_modules", "module")
                own["_modules"][name] = replaced_by_hooks(MODULES, self, name, value)
                return
            if isinstance(value, Buffer) and not _holds(own, ("_parameters", "_modules"), name):
                self._set_buffer(name, value, value.persistent)
                return
        for kind, (word, wanted) in WORDS.items():
            known = own.get(kind)
            if known is None or name not in known:
                continue
            if kind == "_buffers" and (value is None or isinstance(value, Tensor)):
                self._set_buffer(name, value, name not in self._non_persistent_buffers_set)
            elif value is not None:
                raise TypeError(
                    f"cannot assign '{type_name(value)}' as {word} '{name}' ({wanted} expected)"
                )
            elif kind == "_parameters":
                self.register_parameter(name, None)
            else:
                known[name] = replaced_by_hooks(MODULES, self, name, None)
            return
        super().__setattr__(name, value)

    def _make_room(self, name: str, kind: str, word: str) -> None:
        """Take a name from all other tables; one that holds it already keeps its order."""
        own = self.__dict__
        if kind not in own:
            raise AttributeError(EARLY.format(word))
        own.pop(name, None)
        for other in TABLES:
            if other != kind:
                own[other].pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def _set_buffer(self, name: str, value: Tensor | None, persistent: bool) -> None:
        """Assign a buffer by `register_buffer`, which a subclass may have replaced."""
        own = type(self).register_buffer is not Tables.register_buffer
        if not own or "persistent" in inspect.signature(self.register_buffer).parameters:
            self.register_buffer(name, value, persistent)
        elif not persistent:
            raise RuntimeError(
                "Registering a non-persistent buffer on a Module subclass that implements "
                "register_buffer() without the persistent argument is not allowed."
            )
        else:
            self.register_buffer(name, value)

    def __delattr__(self, name: str) -> None:
        for known in (self._parameters, self._buffers, self._modules):
            if name in known:
                del known[name]
                if known is self._buffers:
                    self._non_persistent_buffers_set.discard(name)
                return
        super().__delattr__(name)

    def __dir__(self) -> list[str]:
        known = [*dir(type(self)), *self.__dict__, *self._parameters, *self._modules]
        return sorted(word for word in (*known, *self._buffers) if not word[0].isdigit())

    def _check_name(self, name: object, what: str, table: dict[str, Any]) -> None:
        if not isinstance(name, str):
            raise TypeError(f"{what} name should be a string. Got {type_name(name)}")
        taken = hasattr(self, name) and name not in table
        if taken and (what == "module" or ("." not in name and name)):
            raise KeyError(f"attribute '{name}' already exists")
        if "." in name:
            more = f", got: {name}" if what == "module" else ""
            raise KeyError(f'{what} name can\'t contain "."{more}')
        if name == "":
            raise KeyError(f'{what} name can\'t be empty string ""')

    def register_parameter(self, name: str, param: Any) -> None:
        """Add a parameter under a name.

        param (Parameter or None): The parameter, or None in the place of one.
        TypeError: For what is no `Parameter`.
        ValueError: For one that an operation made.
        KeyError: For a name that is taken, empty or contains a dot.
        """
        if "_parameters" not in self.__dict__:
            raise AttributeError(EARLY.format("parameter"))
        self._check_name(name, "parameter", self._parameters)
        if param is not None:
            if not isinstance(param, Parameter):
                raise TypeError(
                    f"cannot assign '{type_name(param)}' object to parameter '{name}' "
                    "(torch.nn.Parameter or None required)"
                )
            if param.grad_fn:
                raise ValueError(
                    f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must "
                    f"be created explicitly. To express '{name}' as a function of another Tensor, "
                    "compute the value in the forward() method."
                )
            param = replaced_by_hooks(PARAMETERS, self, name, param)
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Any, persistent: bool = True) -> None:
        """Add a tensor that is not trained under a name.

        tensor (Tensor or None): The tensor, or None in the place of one.
        TypeError: For what is no tensor.
        KeyError: For a name that is taken, empty or contains a dot.
        """
        if "_buffers" not in self.__dict__:
            raise AttributeError(EARLY.format("buffer"))
        self._check_name(name, "buffer", self._buffers)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{type_name(tensor)}' object to buffer '{name}' "
                "(torch Tensor or None required)"
            )
        self._buffers[name] = replaced_by_hooks(BUFFERS, self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name: str, module: Any) -> None:
        """Add a module under a name.

        TypeError: For what is no module.
        KeyError: For a name that is taken, empty or contains a dot.
        """
        if not isinstance(module, Tables) and module is not None:
            raise TypeError(f"{type_name(module)} is not a Module subclass")
        if "_modules" not in self.__dict__:
            raise AttributeError(EARLY.format("module"))
        self._check_name(name, "module", self._modules)
        self._modules[name] = replaced_by_hooks(MODULES, self, name, module)

    def register_module(self, name: str, module: Any) -> None:
        """Add a module under a name, as `add_module` does.

        name: The name.
        module (Module or None): The module, or None in the place of one.
        """
        self.add_module(name, module)


def _holds(own: dict[str, Any], kinds: tuple[str, ...], name: str) -> bool:
    return any(name in own.get(kind, ()) for kind in kinds)


def type_name(value: object) -> str:
    """The name of a value's type as PyTorch's messages have it."""
    if isinstance(value, Tensor):
        return str(value.type())
    kind = value if isinstance(value, type) else type(value)
    if kind.__module__ == "builtins":
        return kind.__qualname__
    module = kind.__module__
    if module.startswith("tapegrad.torch"):
        parts = module.removeprefix("tapegrad.").split(".")
        module = ".".join(part for part in parts if not part.startswith("_"))
    return f"{module}.{kind.__qualname__}"


__all__ = ["Tables", "type_name"]
