"""A module as a tree: the paths of parameters, buffers and modules, and walks over them.

Knows the tables of modules. Must not know calls or states.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.nn.module.attributes import Tables
from tapegrad.torch.nn.parameter import Parameter

Named = Iterator[tuple[str, Any]]


class Walks(Tables):
    """Queries of a module about the modules below it."""

    # -- by path ---------------------------------------------------------------------------------

    def get_submodule(self, target: str) -> Any:
        """The module at a path such as "layers.0"; itself for an empty path.

        -> Module: The module.
        AttributeError: Where there is nothing, or something else.
        """
        found: Any = self
        for name in target.split(".") if target else ():
            found = _named(found, name)
            if not isinstance(found, Walks):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return found

    def set_submodule(self, target: str, module: Any, strict: bool = False) -> None:
        """Put a module at a path such as "layers.0", in place of the one that is there.

        module (Module): The module.
        strict: Raise where there is none.
        AttributeError: Where there is none and `strict`, and where there is something else.
        ValueError: For an empty path, and for what is no module.
        """
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Walks):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict or hasattr(parent, name):
            known = _named(parent, name)
            if not isinstance(known, Walks):
                raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at a path such as "layers.0.weight".

        -> Parameter: The parameter.
        AttributeError: Where there is none.
        """
        path, _, name = target.rpartition(".")
        found = _named(self.get_submodule(path), name)
        if not isinstance(found, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return found

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at a path.

        -> Tensor: The buffer.
        AttributeError: Where there is none.
        """
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        found: Tensor = _named(module, name)
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return found

    # -- one after another -----------------------------------------------------------------------

    def named_modules(
        self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Named:
        """This module and all below it, with their paths.

        memo (set): The modules that are left out.
        Yields (tuple): A path and a module.
        """
        seen: set[Any] = set() if memo is None else memo
        if self in seen:
            return
        if remove_duplicate:
            seen.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                path = f"{prefix}.{name}" if prefix else name
                yield from module.named_modules(seen, path, remove_duplicate)

    def modules(self, remove_duplicate: bool = True) -> Iterator[Any]:
        """This module and all below it.

        Yields (Module): One after another.
        """
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_children(self) -> Named:
        """The modules right below this one, with their names.

        Yields (tuple): A name and a module.
        """
        seen: set[Any] = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self) -> Iterator[Any]:
        """The modules right below this one.

        Yields (Module): One after another.
        """
        for _, module in self.named_children():
            yield module

    def _named_members(
        self, get_members_fn: Any, prefix: str = "", recurse: bool = True, *, once: bool = True
    ) -> Named:
        seen: set[Any] = set()
        modules: Any = [(prefix, self)]
        if recurse:
            modules = self.named_modules(prefix=prefix, remove_duplicate=once)
        for path, module in modules:
            for name, value in get_members_fn(module):
                if value is None or value in seen:
                    continue
                if once:
                    seen.add(value)
                yield (f"{path}.{name}" if path else name), value

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """The parameters of this module and those below it, with their paths.

        Yields (tuple): A path and a parameter.
        """
        members = _members_of("_parameters")
        yield from self._named_members(members, prefix, recurse, once=remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """The parameters of this module and those below it.

        Yields (Parameter): One after another.
        """
        for _, value in self.named_parameters(recurse=recurse):
            yield value

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """The buffers of this module and those below it, with their paths.

        Yields (tuple): A path and a buffer.
        """
        members = _members_of("_buffers")
        yield from self._named_members(members, prefix, recurse, once=remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers of this module and those below it.

        Yields (Tensor): One after another.
        """
        for _, value in self.named_buffers(recurse=recurse):
            yield value


def _named(module: Walks, name: str) -> Any:
    if not hasattr(module, name):
        raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
    return getattr(module, name)


def _members_of(kind: str) -> Any:
    return lambda module: module.__dict__[kind].items()


__all__ = ["Named", "Walks"]
