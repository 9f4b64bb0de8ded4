"""The state of a module: parameters and persistent buffers by path, saved and loaded.

Knows the tables of modules, and the hooks on states. Must not know calls or files.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, NamedTuple, Never, TypeVar, overload

from tapegrad._core.types import Function
from tapegrad._warning import warn
from tapegrad.torch._graph.hooks import Handle
from tapegrad.torch._graph.modes import no_grad
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch._tensor.writes import overwrite
from tapegrad.torch.nn.module.attributes import Tables
from tapegrad.torch.nn.module.hooks import BoundHook
from tapegrad.torch.nn.parameter import Parameter, is_lazy

Destination = TypeVar("Destination")  # where a caller has the state put
EXTRA = "_extra_state"
UNREACHABLE = (
    "Reached a code path in Module.{} that should never be called. A module that keeps more state "
    "than tensors defines both get_extra_state and set_extra_state."
)


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


class State(Tables):
    """Saving and loading of a module's state."""

    _version = 1  # goes into the metadata; a subclass that changes what it holds counts it up
    _state_dict_hooks: OrderedDict[int, Any]
    _state_dict_pre_hooks: OrderedDict[int, Any]
    _load_state_dict_pre_hooks: OrderedDict[int, Any]
    _load_state_dict_post_hooks: OrderedDict[int, Any]

    # -- hooks -----------------------------------------------------------------------------------

    def register_state_dict_pre_hook(self, hook: Function) -> Handle:
        """Call `hook(module, prefix, keep_vars)` before `state_dict` takes what this one holds.

        hook: What is called.
        """
        return Handle.adding(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Any) -> Handle:
        """Call `hook(module, state_dict, prefix, local_metadata)` after `state_dict`.

        hook (callable): What is called; it may change the state in place, and has to return None.
        """
        hook._from_public_api = True
        return Handle.adding(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook: Function) -> Handle:
        """Like `register_state_dict_post_hook`, of a hook that may return another state."""
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was "
                "previously registered via register_state_dict_post_hook"
            )
        return Handle.adding(self._state_dict_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook: Function) -> Handle:
        """Call a hook before `load_state_dict` loads what this module holds.

        hook: It is called as `hook(module, state_dict, prefix, local_metadata, strict,
            missing_keys, unexpected_keys, error_msgs)`, and may change the state in place.
        """
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(
        self, hook: Function, with_module: bool = False
    ) -> Handle:
        bound = BoundHook(hook, self if with_module else None)
        return Handle.adding(self._load_state_dict_pre_hooks, bound)

    def register_load_state_dict_post_hook(self, hook: Function) -> Handle:
        """Call `hook(module, incompatible_keys)` after the state was loaded here and below.

        hook: What is called; it may change the lists of keys in place, and has to return None.
        """
        return Handle.adding(self._load_state_dict_post_hooks, hook)

    # -- saving ----------------------------------------------------------------------------------

    def get_extra_state(self) -> Any:
        """State besides tensors; a subclass may define it.

        -> object: What `set_extra_state` takes.
        """
        raise RuntimeError(UNREACHABLE.format("get_extra_state()"))

    def set_extra_state(self, state: Any) -> None:
        """Take what `get_extra_state` returned; a subclass may define it.

        state: What `get_extra_state` returned.
        """
        raise RuntimeError(UNREACHABLE.format("set_extra_state()"))

    @overload
    def state_dict(
        self, *args: Never, prefix: str = "", keep_vars: bool = False
    ) -> OrderedDict[str, Any]: ...
    @overload
    def state_dict(
        self, *args: Never, destination: Destination, prefix: str = "", keep_vars: bool = False
    ) -> Destination: ...
    @overload
    def state_dict(
        self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> Any: ...
    def state_dict(
        self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> Any:
        """All parameters and persistent buffers by path, which share memory with the module's own.

        *args: The older form of the following, with a warning.
        destination (mapping): Where they are put; a new one unless given.
        keep_vars: Give the tensors themselves, not detached ones.
        -> mapping: Tensors by their paths.
        RuntimeError: Where a post hook returns something.
        """
        if args:
            warn(
                "Positional args are being deprecated, use kwargs instead. Refer to "
                "https://pytorch.org/docs/main/generated/torch.nn.Module.html"
                "#torch.nn.Module.state_dict for details.",
                FutureWarning,
            )
            destination = args[0] if destination is None else destination
            prefix = args[1] if len(args) > 1 and prefix == "" else prefix
            keep_vars = args[2] if len(args) > 2 and keep_vars is False else keep_vars
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata
        for hook in list(self._state_dict_pre_hooks.values()):
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(
                    destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars
                )
        for hook in list(self._state_dict_hooks.values()):
            given = hook(self, destination, prefix, metadata)
            if given is None:
                continue
            if getattr(hook, "_from_public_api", False):
                raise RuntimeError("state_dict post-hook must return None")
            destination = given
        return destination

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Put what this module holds itself into a state; a subclass may replace it."""
        for name, value in self._own_state().items():
            destination[prefix + name] = value if keep_vars else value.detach()
        if type(self).get_extra_state is not State.get_extra_state:
            destination[prefix + EXTRA] = self.get_extra_state()

    def _own_state(self) -> dict[str, Any]:
        held = {**self._parameters, **self._buffers}
        passing = self._non_persistent_buffers_set
        return {
            name: value
            for name, value in held.items()
            if value is not None and name not in passing
        }

    # -- loading ---------------------------------------------------------------------------------

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> IncompatibleKeys:
        """Copy values into parameters and buffers of the same paths.

        state_dict (mapping): Tensors by their paths.
        strict: Whether all paths have to be the same.
        assign: Take the tensors themselves.
        -> IncompatibleKeys: Lists of paths: `missing_keys`, `unexpected_keys`.
        RuntimeError: Where paths are missing or unexpected and `strict`, and where a shape
            differs.
        TypeError: For what is no mapping.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        metadata = getattr(state_dict, "_metadata", None)
        state: Any = OrderedDict(state_dict)  # hooks may change it
        if metadata is not None:
            state._metadata = metadata
        loading = _Loading(metadata, assign)
        loading.load(self, state, "")
        errors = loading.errors
        if strict:
            errors = [
                f"{word} key(s) in state_dict: {', '.join(map(_quoted, keys))}. "
                for word, keys in (
                    ("Missing", loading.missing),
                    ("Unexpected", loading.unexpected),
                )
                if keys
            ] + errors
        if errors:
            listed = "\n\t".join(errors)
            raise RuntimeError(
                f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{listed}"
            )
        return IncompatibleKeys(loading.missing, loading.unexpected)

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Load what this module holds itself; a subclass may replace it."""
        for hook in list(self._load_state_dict_pre_hooks.values()):
            hook(
                state_dict,
                prefix,
                local_metadata,
                strict,
                missing_keys,
                unexpected_keys,
                error_msgs,
            )
        assign = local_metadata.get("assign_to_params_buffers", False)
        own = self._own_state()
        for name, value in own.items():
            path = prefix + name
            if path in state_dict:
                error_msgs += _load(self, name, value, path, state_dict[path], assign)
            elif strict:
                missing_keys.append(path)
        extra = prefix + EXTRA
        if type(self).set_extra_state is not State.set_extra_state:
            if extra in state_dict:
                self.set_extra_state(state_dict[extra])
            elif strict:
                missing_keys.append(extra)
        elif strict and extra in state_dict:
            unexpected_keys.append(extra)
        if strict:
            for path in state_dict:
                if path.startswith(prefix) and path != extra:
                    name, dot, _ = path[len(prefix) :].partition(".")
                    if name not in (self._modules if dot else own):
                        unexpected_keys.append(path)


class _Loading:
    """One call of `load_state_dict`."""

    def __init__(self, metadata: Any, assign: bool) -> None:
        self.metadata = metadata
        self.assign = assign
        self.missing: list[str] = []
        self.unexpected: list[str] = []
        self.errors: list[str] = []

    def load(self, module: Any, state: Any, prefix: str) -> None:
        """Load a module and those below it from the part of a state whose paths have a prefix."""
        local = {} if self.metadata is None else self.metadata.get(prefix[:-1], {})
        if self.assign:
            local["assign_to_params_buffers"] = True
        module._load_from_state_dict(
            state, prefix, local, True, self.missing, self.unexpected, self.errors
        )
        for name, child in module._modules.items():
            if child is not None:
                below = f"{prefix}{name}."
                part = {path: value for path, value in state.items() if path.startswith(below)}
                self.load(child, part, below)
        keys = IncompatibleKeys(self.missing, self.unexpected)
        for hook in list(module._load_state_dict_post_hooks.values()):
            if hook(module, keys) is not None:
                raise AssertionError(
                    "Hooks registered with ``register_load_state_dict_post_hook`` are not "
                    "expected to return new values, if incompatible_keys need to be modified, it "
                    "should be done inplace."
                )


def _load(
    module: Tables, name: str, value: Tensor, path: str, given: Any, assign: bool
) -> list[str]:
    """Load one entry of a state; return the errors found."""
    if not isinstance(given, Tensor):
        wrong = (
            f'While copying the parameter named "{path}", expected torch.Tensor or Tensor-like '
            f"object from checkpoint but received {type(given)}"
        )
        return [wrong]
    if is_lazy(value) and is_lazy(given):
        return []
    if value.shape == () and given.shape == (1,):  # as older versions of PyTorch saved scalars
        given = given[0]
    if given.shape != value.shape:
        wrong = (
            f"size mismatch for {path}: copying a param with shape {given.shape} from "
            f"checkpoint, the shape in current model is {value.shape}."
        )
        return [wrong]
    try:
        with no_grad():
            if assign:
                setattr(module, name, _as_assigned(given, value))
            else:
                if value.is_meta and not given.is_meta:
                    warn(f"for {path}: {_NO_OP}")
                overwrite(value, given.detach())
    except Exception as error:  # noqa: BLE001 - all errors are told together
        wrong = (
            f'While copying the parameter named "{path}", whose dimensions in the model are '
            f"{value.size()} and whose dimensions in the checkpoint are {given.size()}, an "
            f"exception occurred : {error.args}."
        )
        return [wrong]
    return []


_NO_OP = (
    "copying from a non-meta parameter in the checkpoint to a meta parameter in the current "
    "model, which is a no-op. (Did you mean to pass `assign=True` to assign items in the state "
    "dictionary to their corresponding key in the module instead of copying them in place?)"
)


def _as_assigned(given: Tensor, value: Tensor) -> Tensor:
    """A tensor of a state as a parameter, where it replaces one."""
    if not isinstance(value, Parameter):
        return given
    if isinstance(given, Parameter):
        return given.requires_grad_(value.requires_grad)
    made: Tensor = Parameter(given, value.requires_grad)
    return made


def _quoted(path: str) -> str:
    return f'"{path}"'


__all__ = ["IncompatibleKeys", "State"]
